//! A route: what it takes and answers, for the document of the API, and what answers it. Both are made from the same
//! types, so that they agree.

use std::{future::Future, sync::Arc, time::Duration};

use axum::{
    Extension,
    body::Body,
    extract::{RawPathParams, RawQuery, State, rejection::RawPathParamsRejection},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use backstory_engine::{
    error::{Error, ErrorKind},
    model::{
        access::{Caller, Scope},
        digest::sha256_hex,
    },
    use_case::UseCase,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    super::{App, Refusal, connections::Connection, execute::execute, is_json, shape::BodyShape},
    parameters::Parameters,
};
use crate::error_table;

/// What of a client's preferences was done.
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// Digits of an entity tag.
const ETAG_LENGTH: usize = 32;

/// What a type in an address or a body is.
pub(super) trait Input: DeserializeOwned + JsonSchema + Send + 'static {}
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Input for T {}

/// What an answer is.
pub(super) trait Output: Serialize + JsonSchema + Send + 'static {}
impl<T: Serialize + JsonSchema + Send + 'static> Output for T {}

/// What a route has in the document besides its types.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doc {
    /// Which part of the API it belongs to.
    pub(super) tag: &'static str,
    /// One sentence.
    pub(super) summary: &'static str,
    /// What a caller must be allowed to do.
    pub(super) scope: Scope,
}

/// Describes a type in the document.
pub(super) type Describe = fn(&mut SchemaGenerator) -> Schema;

/// See the module.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) doc: Doc,
    pub(super) parameters: Parameters,
    pub(super) body: Option<Describe>,
    pub(super) answer: Describe,
    pub(super) status: StatusCode,
    /// Other statuses of an answer that is no failure.
    pub(super) success_statuses: &'static [StatusCode],
    /// Other media types of the answer.
    pub(super) media_types: &'static [&'static str],
    /// Whether `Prefer: wait` puts the answer off.
    pub(super) waits: bool,
    pub(super) service: MethodRouter<App>,
}

impl Route {
    /// The same, with other media types of its answer.
    pub(super) fn with_media_types(self, media_types: &'static [&'static str]) -> Self {
        Self { media_types, ..self }
    }

    /// The same, with other statuses of an answer that is no failure.
    pub(super) fn with_success_statuses(self, success_statuses: &'static [StatusCode]) -> Self {
        Self { success_statuses, ..self }
    }

    /// The same, whose answer `Prefer: wait` puts off.
    pub(super) fn waits(self) -> Self {
        Self { waits: true, ..self }
    }
}

/// Who asks, and whom.
pub(super) struct Asked {
    pub(super) app: App,
    pub(super) caller: Caller,
    pub(super) headers: HeaderMap,
}

impl Asked {
    /// Answers a request of a use case.
    pub(super) async fn answer<U: UseCase>(&self, request: U) -> Result<U::Answer, Refusal> {
        Ok(execute(&self.app, &self.caller, request).await?)
    }
}

/// An answer.
pub(super) enum Reply {
    /// As JSON.
    Json(StatusCode, String),
    /// As JSON, after the client waited as long as it preferred at most.
    Waited(StatusCode, String, Duration),
    /// In another form.
    Other(Response),
}

impl Reply {
    /// JSON with a status.
    pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Result<Self, Refusal> {
        let text = serde_json::to_string(value).map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        Ok(Self::Json(status, text))
    }

    /// JSON with a status, after the client waited if it preferred that.
    pub(super) fn waited(status: StatusCode, value: &impl Serialize, time: Option<Duration>) -> Result<Self, Refusal> {
        Ok(match (Self::json(status, value)?, time) {
            (Self::Json(status, text), Some(time)) => Self::Waited(status, text, time),
            (reply, _) => reply,
        })
    }
}

/// Answers `GET`.
pub(super) fn get<P: Input, A: Output, F, Answering>(path: &'static str, doc: Doc, act: F) -> Route
where
    F: Fn(Asked, P) -> Answering + Clone + Send + Sync + 'static,
    Answering: Future<Output = Result<A, Refusal>> + Send,
{
    get_as::<P, A, _, _>(path, doc, &[], move |asked, parameters| {
        let answering = act(asked, parameters);
        async move { Reply::json(StatusCode::OK, &answering.await?) }
    })
}

/// Answers `GET`, also in other forms than JSON.
pub(super) fn get_as<P: Input, A: Output, F, Answering>(
    path: &'static str,
    doc: Doc,
    media_types: &'static [&'static str],
    act: F,
) -> Route
where
    F: Fn(Asked, P) -> Answering + Clone + Send + Sync + 'static,
    Answering: Future<Output = Result<Reply, Refusal>> + Send,
{
    let parameters = Parameters::of::<P>();
    let reader = Arc::new(parameters.clone());
    let service = on(
        MethodFilter::GET,
        move |State(app): State<App>,
              Extension(caller): Extension<Caller>,
              path: Result<RawPathParams, RawPathParamsRejection>,
              RawQuery(query): RawQuery,
              headers: HeaderMap| {
            let (reader, act) = (reader.clone(), act.clone());
            async move {
                let parameters: P = reader.read(&owned(path)?, query.as_deref().unwrap_or_default())?;
                let seen = headers.get(header::IF_NONE_MATCH).cloned();
                let reply = act(Asked { app, caller, headers }, parameters).await?;
                Ok::<_, Refusal>(respond(reply, seen.as_ref()))
            }
        },
    );
    let (method, status, answer) = (Method::GET, StatusCode::OK, describe::<A> as Describe);
    Route {
        method,
        path,
        doc,
        parameters,
        body: None,
        answer,
        status,
        success_statuses: &[],
        media_types,
        waits: false,
        service,
    }
}

/// Answers `POST` or `DELETE`, with a body unless it is `()`.
pub(super) fn change<P: Input, B: Input, A: Output, F, Answering>(
    method: Method,
    path: &'static str,
    doc: Doc,
    status: StatusCode,
    act: F,
) -> Route
where
    F: Fn(Asked, P, B) -> Answering + Clone + Send + Sync + 'static,
    Answering: Future<Output = Result<Reply, Refusal>> + Send,
{
    let parameters = Parameters::of::<P>();
    let reader = Arc::new(parameters.clone());
    let has_body = std::any::TypeId::of::<B>() != std::any::TypeId::of::<()>();
    let shape = Arc::new(BodyShape::of::<B>());
    let filter = if method == Method::DELETE { MethodFilter::DELETE } else { MethodFilter::POST };
    let service = on(
        filter,
        move |State(app): State<App>,
              Extension(caller): Extension<Caller>,
              Extension(connection): Extension<Arc<Connection>>,
              path: Result<RawPathParams, RawPathParamsRejection>,
              RawQuery(query): RawQuery,
              headers: HeaderMap,
              body: Body| {
            let (reader, shape, act) = (reader.clone(), shape.clone(), act.clone());
            async move {
                let parameters: P = reader.read(&owned(path)?, query.as_deref().unwrap_or_default())?;
                let body = app.bodies.read(body).await?;
                let working = connection.hold_open();
                let read: B = if has_body { read_body(&headers, &body.bytes, &shape)? } else { read_nothing()? };
                drop(body);
                let reply = act(Asked { app, caller, headers }, parameters, read).await?;
                Ok::<_, Refusal>(Connection::hold_until_sent(working, respond(reply, None)))
            }
        },
    );
    let body = has_body.then_some(describe::<B> as Describe);
    let answer = describe::<A> as Describe;
    Route {
        method,
        path,
        doc,
        parameters,
        body,
        answer,
        status,
        success_statuses: &[],
        media_types: &[],
        waits: false,
        service,
    }
}

fn describe<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn owned(path: Result<RawPathParams, RawPathParamsRejection>) -> Result<Vec<(String, String)>, Refusal> {
    let path = path.map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))?;
    Ok(path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

fn read_body<B: DeserializeOwned>(headers: &HeaderMap, bytes: &[u8], shape: &BodyShape) -> Result<B, Refusal> {
    if !is_json(headers) {
        let message = "send the request as Content-Type: application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error_table::code(ErrorKind::Invalid), message));
    }
    let wrong =
        |what: String| Error::new(ErrorKind::Invalid, format!("the body is not what this address takes: {what}"));
    Ok(shape.read_body(bytes).map_err(wrong)?)
}

fn read_nothing<B: DeserializeOwned>() -> Result<B, Refusal> {
    Ok(serde_json::from_str("null").map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?)
}

/// The answer, or that it is what the client has already.
fn respond(reply: Reply, seen: Option<&HeaderValue>) -> Response {
    let (status, text, waited) = match reply {
        Reply::Json(status, text) => (status, text, None),
        Reply::Waited(status, text, time) => (status, text, Some(time)),
        Reply::Other(response) => return response,
    };
    let mut response = if status == StatusCode::OK {
        let tag = format!("\"{}\"", sha256_hex(&text).chars().take(ETAG_LENGTH).collect::<String>());
        let is_seen = seen.and_then(|seen| seen.to_str().ok()).is_some_and(|seen| seen == "*" || seen.contains(&tag));
        let mut response =
            if is_seen { StatusCode::NOT_MODIFIED.into_response() } else { (status, text).into_response() };
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    } else {
        (status, text).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Some(applied) = waited.and_then(|time| HeaderValue::from_str(&format!("wait={}", time.as_secs())).ok()) {
        headers.insert(PREFERENCE_APPLIED, applied);
    }
    response
}
