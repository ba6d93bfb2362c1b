//! A server that gives the answers of another one, each asked for once, and can tell one value in one of them wrongly.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use parking_lot::Mutex;
use serde_json::Value;

use super::{forge::spoil, stand_in::StandIn};

/// Headers of an answer that are given on.
const KEPT: [&str; 6] = ["date", "link", "content-type", "x-next-page", "x-total", "x-page"];

/// A value in the answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// What was asked for, `/api/v4/projects/1?page=1`.
    pub(crate) target: String,
    /// JSON pointer.
    pub(crate) pointer: String,
    /// What stands there.
    pub(crate) value: Value,
}

#[derive(Clone)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

struct Shared {
    upstream: String,
    client: reqwest::Client,
    answers: Mutex<BTreeMap<String, Answer>>,
    wrong: Mutex<Option<(Place, Option<Value>)>>,
}

/// The server, until it is dropped.
pub(crate) struct Mirror {
    /// Its address, without a slash at the end.
    pub(crate) url: String,
    shared: Arc<Shared>,
    _server: StandIn,
}

impl Mirror {
    /// Gives the answers of the server at an address.
    pub(crate) fn of(upstream: &str) -> Self {
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            answers: Mutex::default(),
            wrong: Mutex::default(),
        });
        let router = Router::new().fallback(answer).with_state(shared.clone());
        let server = StandIn::start(|_| router);
        Self { url: server.url.clone(), shared, _server: server }
    }

    /// Tells what stands at a place wrongly; not at all without a value.
    pub(crate) fn break_at(&self, place: &Place, value: Option<Value>) {
        *self.shared.wrong.lock() = Some((place.clone(), value));
    }

    /// Tells everything as it is again.
    pub(crate) fn repair(&self) {
        *self.shared.wrong.lock() = None;
    }

    /// What was asked for, and the answer.
    pub(crate) fn answers(&self) -> BTreeMap<String, Value> {
        let answers = self.shared.answers.lock();
        let json = |answer: &Answer| serde_json::from_slice(&answer.body).unwrap_or_default();
        answers.iter().map(|(target, answer)| (target.clone(), json(answer))).collect()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let target = request.uri().to_string();
    let known = shared.answers.lock().get(&target).cloned();
    let Answer { status, headers, mut body } = match known {
        Some(known) => known,
        None => {
            let asked = shared.client.get(format!("{}{target}", shared.upstream));
            let mut headers = request.headers().clone();
            for name in [header::HOST, header::IF_NONE_MATCH, header::ACCEPT_ENCODING] {
                headers.remove(name);
            }
            let answered = asked.headers(headers).send().await.unwrap();
            let status = answered.status();
            let mut headers = HeaderMap::new();
            for name in KEPT {
                if let Some(value) = answered.headers().get(name) {
                    headers.insert(name, value.clone());
                }
            }
            let answer = Answer { status, headers, body: answered.bytes().await.unwrap() };
            shared.answers.lock().insert(target.clone(), answer.clone());
            answer
        }
    };
    let wrong = shared.wrong.lock().clone();
    if let Some((place, value)) = wrong.filter(|(place, _)| place.target == target) {
        let mut json: Value = serde_json::from_slice(&body).unwrap();
        spoil(&mut json, &place.pointer, value);
        body = json.to_string().into();
    }
    (status, headers, Body::from(body)).into_response()
}
