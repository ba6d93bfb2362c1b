//! A language model on 127.0.0.1 that says what it was told to, over the protocols of OpenAI and Ollama.

use std::{collections::VecDeque, convert::Infallible, sync::Arc};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::stand_in::StandIn;

/// What the model does when it is asked.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    /// This.
    Text(String),
    /// The status, which passes if asked again when it is 429 or 5xx.
    Status(u16),
    /// This, and then the stream ends without its end.
    BreaksOff(String),
    /// Nothing, ever.
    Nothing,
    /// What is no answer.
    Garbage(String),
    /// Which passages answer best: those with these words, in that order.
    Preferred(Vec<String>),
    /// To ask somewhere else.
    Redirect(String),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Asked {
    /// The text of the message with that role.
    pub(crate) fn message(&self, role: &str) -> String {
        let messages = self.body["messages"].as_array().unwrap();
        messages.iter().find(|message| message["role"] == role).unwrap()["content"].as_str().unwrap().to_owned()
    }
}

/// The model, until it is dropped.
pub(crate) struct Model {
    /// Its address, without a slash at the end.
    pub(crate) url: String,
    shared: Arc<Shared>,
    _server: StandIn,
}

#[derive(Default)]
struct Shared {
    asked: Mutex<Vec<Asked>>,
    says: Mutex<VecDeque<Says>>,
    rules: Mutex<Vec<(String, String)>>,
}

impl Shared {
    /// What it says to a question for which there is a rule, if nothing was told it to say next.
    fn by_rule(&self, body: &Value) -> Option<Says> {
        let asked = body["messages"].as_array()?.last()?["content"].as_str()?;
        let rules = self.rules.lock();
        let (words, text) = rules.iter().rev().find(|(words, _)| asked.contains(words.as_str()))?;
        let passage = asked.split("<<<passage [").skip(1).position(|passage| passage.contains(words.as_str()));
        Some(Says::Text(text.replace("PASSAGE", &passage.map_or(0, |place| place + 1).to_string())))
    }
}

impl Model {
    /// One that has nothing to say yet.
    pub(crate) fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let router = Router::new().fallback(answer).with_state(shared.clone());
        let server = StandIn::start(|_| router);
        Self { url: server.url.clone(), shared, _server: server }
    }

    /// Tells it what to do next, in order.
    pub(crate) fn will(&self, says: impl IntoIterator<Item = Says>) -> &Self {
        self.shared.says.lock().extend(says);
        self
    }

    /// Tells it what to say next.
    pub(crate) fn say(&self, text: &str) -> &Self {
        self.will([Says::Text(text.to_owned())])
    }

    /// Tells it what to say whenever it is asked about something with these words, in which `PASSAGE` stands for the number
    /// of the passage that has them. Of several rules the last one counts.
    pub(crate) fn whenever(&self, words: &str, text: &str) -> &Self {
        self.shared.rules.lock().push((words.to_owned(), text.to_owned()));
        self
    }

    /// Tells it to say next that the passages with these words answer best, in that order, when it is to order some.
    pub(crate) fn prefer(&self, words: &[&str]) -> &Self {
        self.will([Says::Preferred(words.iter().map(|word| (*word).to_owned()).collect())])
    }

    /// What it was asked since the last call.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.shared.asked.lock())
    }

    /// The lines of the configuration that name it.
    pub(crate) fn config(&self, provider: &str) -> String {
        let path = if provider == "openai" { "/v1" } else { "" };
        format!("\n[llm]\nprovider = \"{provider}\"\nmodel = \"parrot\"\nbase_url = \"{}{path}\"\n", self.url)
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let (path, stream) = (uri.path().to_owned(), body["stream"] == true);
    let ollama = path == "/api/chat";
    let passages = body["documents"].as_array().cloned().unwrap_or_default();
    let says = shared.says.lock().pop_front().or_else(|| shared.by_rule(&body));
    shared.asked.lock().push(Asked { path, headers, body });
    match says.unwrap_or(Says::Status(404)) {
        Says::Text(text) if stream => parts(&text, ollama, true),
        Says::BreaksOff(text) => parts(&text, ollama, false),
        Says::Text(text) if ollama => {
            let message = json!({ "role": "assistant", "content": text });
            Json(json!({ "message": message, "done": true, "prompt_eval_count": 90, "eval_count": 10 })).into_response()
        }
        Says::Text(text) => {
            let choice =
                json!({ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" });
            Json(json!({ "choices": [choice], "usage": { "total_tokens": 100 } })).into_response()
        }
        Says::Status(status) => {
            let status = StatusCode::from_u16(status).unwrap();
            let error = json!({ "error": { "message": "the key sk-secret is not liked" } });
            (status, [(header::RETRY_AFTER, "0")], Json(error)).into_response()
        }
        Says::Preferred(words) => {
            let judged = |(index, passage): (usize, &Value)| {
                let at = words.iter().position(|word| passage.as_str().unwrap().contains(word));
                json!({ "index": index, "relevance_score": at.map_or(-9.0, |at| 9.0 - at as f64) })
            };
            let results: Vec<Value> = passages.iter().enumerate().map(judged).rev().collect();
            Json(json!({ "results": results })).into_response()
        }
        Says::Nothing => std::future::pending().await,
        Says::Garbage(text) => text.into_response(),
        Says::Redirect(to) => (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response(),
    }
}

/// A text in parts of a few letters, with the end of the stream or without.
fn parts(text: &str, ollama: bool, ends: bool) -> Response {
    let letters: Vec<char> = text.chars().collect();
    let mut lines: Vec<String> = letters.chunks(7).map(|part| line(&part.iter().collect::<String>(), ollama)).collect();
    if ends && ollama {
        lines.push(format!(
            "{}\n",
            json!({ "message": { "content": "" }, "done": true, "prompt_eval_count": 90, "eval_count": 10 })
        ));
    } else if ends {
        lines.push("data: [DONE]\n\n".to_owned());
    }
    let parts = lines.into_iter().map(|line| Ok::<_, Infallible>(Bytes::from(line)));
    Body::from_stream(futures::stream::iter(parts)).into_response()
}

fn line(text: &str, ollama: bool) -> String {
    if ollama {
        format!("{}\n", json!({ "message": { "role": "assistant", "content": text }, "done": false }))
    } else {
        format!(
            "data: {}\n\n",
            json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": null }] })
        )
    }
}
