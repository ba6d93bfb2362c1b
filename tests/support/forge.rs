//! A GitLab, and a GitHub of the same projects, on 127.0.0.1, with a fixed clock, a log of what it was asked, and faults that can be switched on.

use std::{collections::BTreeMap, io, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use jiff::{Timestamp, tz::TimeZone};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use url::form_urlencoded;

use super::{
    fixture::{ACME, Project, Thread, World},
    stand_in::StandIn,
};

/// The token that is accepted; it is johndoe's.
pub(crate) const TOKEN: &str = "right-token";
/// What its clock shows at first.
const NOON: &str = "2024-06-03T12:00:00Z";

/// Spoiled values that are on the wire what no JSON value can be: a number, and half of a character in a text.
pub(crate) const TOO_LARGE_NUMBER: &str = "<too large a number>";
pub(crate) const HALF_CHARACTER: &str = "<half of a character>";

/// What can go wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// 429 with `Retry-After: 0`.
    RateLimited,
    /// 429 with so many seconds in `Retry-After`.
    Wait(u64),
    /// 403 as GitHub says it for requests that come too close together.
    SecondaryLimit,
    /// 403 as GitHub says it when all requests of the hour are used up.
    UsedUp,
    /// Another status.
    Status(u16),
    /// A complete answer whose JSON ends too early.
    Truncated,
    /// The connection breaks in the middle of the body.
    Reset,
}

/// A fault, and which requests it strikes: the next so many whose target has that text.
struct Switched {
    fault: Fault,
    target: String,
    times: usize,
}

/// The stand-in, until it is dropped.
pub(crate) struct Forge {
    /// Its address, without a slash at the end.
    pub(crate) url: String,
    shared: Arc<Shared>,
    open: watch::Sender<bool>,
    _server: StandIn,
}

struct Shared {
    world: Mutex<World>,
    log: Mutex<Vec<String>>,
    faults: Mutex<Vec<Switched>>,
    spoiled: Mutex<Vec<Spoiled>>,
    stuffed: Mutex<Vec<(String, Stuffing)>>,
    open: watch::Receiver<bool>,
}

/// A value that is told wrongly in every answer to a request whose target has that text.
struct Spoiled {
    target: String,
    pointer: String,
    value: Option<Value>,
}

/// An answer made to do harm.
#[derive(Clone, Debug)]
pub(crate) struct Stuffing {
    pub(crate) body: Bytes,
    /// Names and values of headers.
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Forge {
    /// Serves the usual fixture.
    pub(crate) fn start() -> Self {
        Self::start_with(ACME)
    }

    /// Serves a fixture, in the form of `fixtures/acme.json`.
    pub(crate) fn start_with(fixture: &str) -> Self {
        let (open, opened) = watch::channel(true);
        let mut shared = None;
        let server = StandIn::start(|url| {
            let own = shared.insert(Arc::new(Shared {
                world: Mutex::new(World::new(url, NOON.parse().unwrap(), fixture)),
                log: Mutex::default(),
                faults: Mutex::default(),
                spoiled: Mutex::default(),
                stuffed: Mutex::default(),
                open: opened,
            }));
            Router::new().fallback(answer).with_state(own.clone())
        });
        Self { url: server.url.clone(), shared: shared.unwrap(), open, _server: server }
    }

    /// What it was asked since the last call, `GET /api/v4/user`, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.log.lock())
    }

    /// Whether anybody waits at the closed door, see [`Self::hold`], or was here at all.
    pub(crate) fn was_asked(&self) -> bool {
        !self.shared.log.lock().is_empty()
    }

    /// Lets the next so many requests whose target has that text fail.
    pub(crate) fn fail(&self, fault: Fault, target: &str, times: usize) {
        self.shared.faults.lock().push(Switched { fault, target: target.to_owned(), times });
    }

    /// Tells the value at a JSON pointer wrongly, or not at all, wherever the target of the request has that text.
    pub(crate) fn spoil(&self, target: &str, pointer: &str, value: Option<Value>) {
        let spoiled = Spoiled { target: target.to_owned(), pointer: pointer.to_owned(), value };
        self.shared.spoiled.lock().push(spoiled);
    }

    /// Answers requests whose target has that text with this.
    pub(crate) fn stuff(&self, target: &str, stuffing: Stuffing) {
        self.shared.stuffed.lock().push((target.to_owned(), stuffing));
    }

    /// Tells everything as it is again.
    pub(crate) fn repair(&self) {
        self.shared.spoiled.lock().clear();
        self.shared.stuffed.lock().clear();
        self.shared.faults.lock().clear();
    }

    /// Answers nothing until [`Self::release`].
    pub(crate) fn hold(&self) {
        self.open.send_replace(false);
    }

    /// Answers again.
    pub(crate) fn release(&self) {
        self.open.send_replace(true);
    }

    pub(super) fn write<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.shared.world.lock())
    }
}

impl Shared {
    fn fault(&self, target: &str) -> Option<Fault> {
        let mut faults = self.faults.lock();
        let struck = faults.iter_mut().find(|fault| fault.times > 0 && target.contains(&fault.target))?;
        struck.times -= 1;
        Some(struck.fault)
    }

    fn stuffing(&self, target: &str) -> Option<Stuffing> {
        let stuffed = self.stuffed.lock();
        stuffed.iter().find(|(part, _)| target.contains(part)).map(|(_, stuffing)| stuffing.clone())
    }

    fn spoil(&self, target: &str, json: &mut Value) {
        for spoiled in self.spoiled.lock().iter().filter(|spoiled| target.contains(&spoiled.target)) {
            spoil(json, &spoiled.pointer, spoiled.value.clone());
        }
    }
}

/// Puts a value in place of another, or takes that out; nothing happens if it is not there.
pub(crate) fn spoil(json: &mut Value, pointer: &str, value: Option<Value>) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    match (json.pointer_mut(parent), value) {
        (Some(Value::Object(map)), Some(value)) => drop(map.insert(name.to_owned(), value)),
        (Some(Value::Object(map)), None) => drop(map.remove(name)),
        (Some(Value::Array(items)), Some(value)) => {
            if let Some(item) = name.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
                *item = value;
            }
        }
        _ => {}
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let target = request.uri().to_string();
    shared.log.lock().push(format!("{} {target}", request.method()));
    // The sender is gone only when the test is over.
    let _ = shared.open.clone().wait_for(|open| *open).await;
    if let Some(Stuffing { body, headers }) = shared.stuffing(&target) {
        let mut response = Body::from(body).into_response();
        for (name, value) in headers {
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        return response;
    }
    let fault = shared.fault(&target);
    match fault {
        Some(Fault::RateLimited) => {
            return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "0")], "Retry later\n").into_response();
        }
        Some(Fault::Wait(seconds)) => {
            let after = [(header::RETRY_AFTER, seconds.to_string())];
            return (StatusCode::TOO_MANY_REQUESTS, after, "Retry later\n").into_response();
        }
        Some(Fault::SecondaryLimit) => {
            let body = r#"{"message": "You have exceeded a secondary rate limit."}"#;
            return (StatusCode::FORBIDDEN, [(header::RETRY_AFTER, "0")], body).into_response();
        }
        Some(Fault::UsedUp) => {
            let reset = shared.world.lock().now.as_second() + 3000;
            let date = shared.world.lock().date();
            let headers =
                [("x-ratelimit-remaining", "0".to_owned()), ("x-ratelimit-reset", reset.to_string()), ("date", date)];
            return (StatusCode::FORBIDDEN, headers, r#"{"message": "API rate limit exceeded"}"#).into_response();
        }
        Some(Fault::Status(status)) => {
            return (StatusCode::from_u16(status).unwrap(), "something is wrong").into_response();
        }
        _ => {}
    }
    let (status, headers, mut json) = shared.world.lock().answer(&request);
    shared.spoil(&target, &mut json);
    let mut body = if status == StatusCode::NOT_MODIFIED { String::new() } else { json.to_string() };
    for (value, wire) in [(TOO_LARGE_NUMBER, "1e400"), (HALF_CHARACTER, r#""\ud83d""#)] {
        body = body.replace(&format!("\"{value}\""), wire);
    }
    if fault == Some(Fault::Truncated) {
        body.truncate(body.len() / 2);
    }
    let body = if fault == Some(Fault::Reset) { broken(body) } else { Body::from(body) };
    let mut response = (status, headers, body).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Half of a body, then an error, at which the server closes the connection.
fn broken(mut body: String) -> Body {
    body.truncate(body.len() / 2);
    let parts = [Ok(Bytes::from(body)), Err(io::Error::from(io::ErrorKind::ConnectionReset))];
    Body::from_stream(futures::stream::iter(parts))
}

pub(super) type Answer = (StatusCode, HeaderMap, Value);

/// What follows `?`.
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn number(&self, name: &str, usual: usize) -> usize {
        self.get(name).map_or(usual, |text| text.parse().unwrap())
    }
}

pub(super) fn refuse(status: StatusCode) -> Answer {
    let message = format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or_default());
    (status, HeaderMap::new(), json!({ "message": message }))
}

impl World {
    fn answer(&self, request: &Request) -> Answer {
        let path = request.uri().path();
        let decode = |part: &str| form_urlencoded::parse(format!("x={part}").as_bytes()).next().unwrap().1.into_owned();
        let parts: Vec<String> = path.split('/').skip(1).map(decode).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let query = request.uri().query().unwrap_or_default();
        let query = Query(form_urlencoded::parse(query.as_bytes()).into_owned().collect());
        let (status, mut headers, json) = match parts.as_slice() {
            ["api", "v4", rest @ ..] => {
                let token = request.headers().get("private-token").map(HeaderValue::as_bytes);
                if token == Some(TOKEN.as_bytes()) { self.api(rest, &query) } else { refuse(StatusCode::UNAUTHORIZED) }
            }
            // Public projects can be read without a token.
            ["api", "v3", rest @ ..] => {
                let token = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
                let right = format!("Bearer {TOKEN}");
                let may = token.is_none_or(|token| token == right.as_bytes());
                if may { self.github(rest, &query, request.headers()) } else { refuse(StatusCode::UNAUTHORIZED) }
            }
            _ => refuse(StatusCode::NOT_FOUND),
        };
        headers.insert(header::DATE, self.date().parse().unwrap());
        (status, headers, json)
    }

    fn date(&self) -> String {
        self.now.to_zoned(TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    fn api(&self, parts: &[&str], query: &Query) -> Answer {
        match parts {
            ["user"] => (StatusCode::OK, HeaderMap::new(), self.person("johndoe")),
            ["groups", group, "projects"] => match self.of_group(group) {
                projects if projects.is_empty() => refuse(StatusCode::NOT_FOUND),
                projects => page(&projects, query, &self.url),
            },
            ["projects", project, rest @ ..] => {
                let known =
                    self.projects.iter().find(|known| known.path == *project || known.id.to_string() == *project);
                known
                    .and_then(|project| self.of_project(project, rest, query))
                    .unwrap_or_else(|| refuse(StatusCode::NOT_FOUND))
            }
            _ => refuse(StatusCode::NOT_FOUND),
        }
    }

    /// The projects of a group as its list shows them.
    pub(super) fn of_group(&self, group: &str) -> Vec<Value> {
        let is_in = |project: &&Project| project.path.strip_prefix(group).is_some_and(|rest| rest.starts_with('/'));
        self.projects.iter().filter(is_in).map(|project| project.json.clone()).collect()
    }

    fn of_project(&self, project: &Project, parts: &[&str], query: &Query) -> Option<Answer> {
        let object = |json: Value| Some((StatusCode::OK, HeaderMap::new(), json));
        match parts {
            [] => object(project.json.clone()),
            ["labels"] => Some(page(&project.labels, query, &self.url)),
            ["milestones"] => Some(page(&project.milestones, query, &self.url)),
            ["issues"] => Some(self.list(project, '#', query)),
            ["merge_requests"] => Some(self.list(project, '!', query)),
            [kind @ ("issues" | "merge_requests"), iid, rest @ ..] => {
                let sigil = if *kind == "issues" { '#' } else { '!' };
                let thread = project.threads.get(&format!("{sigil}{iid}"))?;
                match rest {
                    [] => object(thread.json.clone()),
                    ["approvals"] => object(json!({ "approved": true, "approved_by": thread.approved_by })),
                    [list] => Some(page(&self.of_thread(thread, list)?, query, &self.url)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn of_thread(&self, thread: &Thread, list: &str) -> Option<Vec<Value>> {
        match list {
            "discussions" => Some(thread.discussions.clone()),
            "diffs" => Some(thread.diffs.clone()),
            "closes_issues" | "closed_by" | "related_merge_requests" => {
                Some(thread.closing.iter().filter_map(|reference| self.by_reference(reference)).collect())
            }
            "links" => Some(
                thread
                    .links
                    .iter()
                    .filter_map(|(kind, reference)| {
                        let mut linked = self.by_reference(reference)?;
                        linked["link_type"] = json!(kind);
                        Some(linked)
                    })
                    .collect(),
            ),
            _ => None,
        }
    }

    fn by_reference(&self, reference: &str) -> Option<Value> {
        let threads = self.projects.iter().flat_map(|project| project.threads.values());
        threads.map(|thread| &thread.json).find(|json| json["references"]["full"] == reference).cloned()
    }

    fn list(&self, project: &Project, sigil: char, query: &Query) -> Answer {
        assert_eq!((query.get("order_by"), query.get("sort")), (Some("updated_at"), Some("asc")));
        let time = |json: &Value| json["updated_at"].as_str().unwrap().parse::<Timestamp>().unwrap();
        let key = |json: &Value| (time(json), json["id"].as_u64().unwrap());
        let since = query.get("updated_after").map(|since| since.parse::<Timestamp>().unwrap());
        let mut items: Vec<Value> = (project.threads.iter())
            .filter(|(short, thread)| short.starts_with(sigil) && since.is_none_or(|since| time(&thread.json) >= since))
            .filter(|(short, _)| query.get("iids[]").is_none_or(|iid| &short[1..] == iid))
            .map(|(_, thread)| thread.json.clone())
            .collect();
        items.sort_by_key(key);
        if query.get("with_labels_details") == Some("true") {
            for item in &mut items {
                let names = item["labels"].as_array().unwrap().clone();
                let label = |name: &Value| project.labels.iter().find(|label| label["name"] == *name).unwrap().clone();
                item["labels"] = names.iter().map(label).collect();
            }
        }
        // GitLab offers keyset paging for issues only, and takes no notice of it elsewhere.
        if sigil == '#' && query.get("pagination") == Some("keyset") {
            return keyset(&items, query, &self.url, key);
        }
        page(&items, query, &self.url)
    }
}

/// A numbered page.
fn page(items: &[Value], query: &Query, url: &str) -> Answer {
    let (number, size) = (query.number("page", 1), query.number("per_page", 20).min(100));
    let start = ((number - 1) * size).min(items.len());
    let end = (start + size).min(items.len());
    let next = if end < items.len() { (number + 1).to_string() } else { String::new() };
    let mut headers = HeaderMap::new();
    let mut set = |name: &'static str, value: String| headers.insert(name, value.parse().unwrap());
    set("x-total", items.len().to_string());
    set("x-total-pages", items.len().div_ceil(size).to_string());
    set("x-page", number.to_string());
    set("x-per-page", size.to_string());
    if !next.is_empty() {
        set("link", format!("<{url}/api/v4/x?page={next}&per_page={size}>; rel=\"next\""));
    }
    set("x-next-page", next);
    (StatusCode::OK, headers, json!(items[start..end]))
}

/// The page behind an item, whatever happens to the pages before.
fn keyset(items: &[Value], query: &Query, url: &str, key: impl Fn(&Value) -> (Timestamp, u64)) -> Answer {
    let size = query.number("per_page", 20).min(100);
    let after = query.get("cursor").map(|cursor| {
        let (time, id) = cursor.split_once('_').unwrap();
        (time.parse::<Timestamp>().unwrap(), id.parse::<u64>().unwrap())
    });
    let left: Vec<&Value> = items.iter().filter(|item| after.is_none_or(|after| key(item) > after)).collect();
    let found = &left[..size.min(left.len())];
    let mut headers = HeaderMap::new();
    if let Some(last) = found.last().filter(|_| found.len() < left.len()) {
        let (time, id) = key(last);
        let link = format!("<{url}/api/v4/x?pagination=keyset&per_page={size}&cursor={time}_{id}>; rel=\"next\"");
        headers.insert("link", link.parse().unwrap());
    }
    (StatusCode::OK, headers, json!(found))
}
