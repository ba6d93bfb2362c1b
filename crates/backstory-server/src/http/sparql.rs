//! `/sparql`: the SPARQL 1.1 Protocol, queries only. `/graph/{ref}`: a node as RDF.

use std::sync::Arc;

use axum::{
    Extension, Router,
    body::Body,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing,
};
use backstory_engine::{
    error::{Error, ErrorKind},
    graph::sparql::ResultFormat,
    model::{access::Caller, id::NodeId},
    sparql::{DescribeRequest, SparqlRequest},
};
use url::form_urlencoded;

use super::{App, Refusal, connections::Connection, execute::execute};
use crate::error_table;

/// Where queries are asked.
const PATH: &str = "/sparql";
/// Below it are the nodes.
const NODES: &str = "/graph";

const FORM: &str = "application/x-www-form-urlencoded";
const QUERY: &str = "application/sparql-query";
const UPDATE: &str = "application/sparql-update";
/// Other names of formats in `Accept`.
const OTHER_NAMES: [(&str, ResultFormat); 4] = [
    ("application/json", ResultFormat::Json),
    ("application/xml", ResultFormat::Xml),
    ("text/xml", ResultFormat::Xml),
    ("text/plain", ResultFormat::NTriples),
];

/// The routes of queries and nodes.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route(PATH, routing::get(get).post(post))
        .route(&format!("{NODES}/{{*reference}}"), routing::get(node))
}

/// Answers `GET /sparql?query=…`.
async fn get(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let mut request = SparqlRequest::default();
    read_parameters(query.unwrap_or_default().as_bytes(), &mut request)?;
    answer(&app, &caller, request, &headers).await
}

/// Answers `POST /sparql` with a form or a query as its body.
async fn post(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Extension(connection): Extension<Arc<Connection>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if media_type == UPDATE {
        return Err(refuse_update());
    }
    if media_type != FORM && media_type != QUERY {
        let message = format!("send a query as Content-Type: {QUERY}, or a form as {FORM}");
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let body = app.bodies.read(body).await?;
    let _working = connection.hold_open();
    let mut request = SparqlRequest::default();
    if media_type == FORM {
        read_parameters(&body.bytes, &mut request)?;
    } else {
        read_parameters(query.unwrap_or_default().as_bytes(), &mut request)?;
        let text = String::from_utf8(body.bytes.clone());
        request.query = text.map_err(|_| refuse(StatusCode::BAD_REQUEST, "the query is not UTF-8".to_owned()))?;
    }
    drop(body);
    answer(&app, &caller, request, &headers).await
}

/// Answers `GET /graph/{ref}`.
async fn node(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(reference): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let id: NodeId = reference.parse().map_err(|error| Error::new(ErrorKind::Invalid, format!("{error}")))?;
    let formats = accepted(&headers)?;
    let format = if formats.is_empty() {
        ResultFormat::Turtle
    } else {
        let of_graphs = formats.into_iter().find(|format| format.is_of_graphs());
        of_graphs.ok_or_else(|| not_acceptable("a node is described in Turtle, N-Triples or JSON-LD"))?
    };
    let description = execute(&app, &caller, DescribeRequest { id, format }).await?;
    Ok(written(description.format, description.text))
}

async fn answer(app: &App, caller: &Caller, request: SparqlRequest, headers: &HeaderMap) -> Result<Response, Refusal> {
    if request.query.trim().is_empty() {
        return Err(refuse(StatusCode::BAD_REQUEST, "there is no query; send it as 'query'".to_owned()));
    }
    let request = SparqlRequest { formats: accepted(headers)?, ..request };
    let answer = execute(app, caller, request).await?;
    Ok(written(answer.format, answer.text))
}

fn written(format: ResultFormat, text: String) -> Response {
    let mut response = ([(header::CONTENT_TYPE, format.media_type())], text).into_response();
    // What it holds depends on the token and on what the client can read.
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept, Authorization, Cookie"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// Reads the parameters of the protocol; it has no others for queries.
fn read_parameters(text: &[u8], request: &mut SparqlRequest) -> Result<(), Refusal> {
    for (name, value) in form_urlencoded::parse(text) {
        match &*name {
            "query" if !request.query.is_empty() => {
                return Err(refuse(StatusCode::BAD_REQUEST, "send one query at a time".to_owned()));
            }
            "query" => request.query = value.into_owned(),
            "default-graph-uri" => request.default_graphs.push(value.into_owned()),
            "named-graph-uri" => request.named_graphs.push(value.into_owned()),
            "update" => return Err(refuse_update()),
            _ => {}
        }
    }
    Ok(())
}

/// The formats that `Accept` names, the best first; none if it takes any.
fn accepted(headers: &HeaderMap) -> Result<Vec<ResultFormat>, Refusal> {
    let mut ranges: Vec<(f32, &str)> = Vec::new();
    for value in headers.get_all(header::ACCEPT) {
        let Ok(value) = value.to_str() else { continue };
        for range in value.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let quality = parts.find_map(|part| part.strip_prefix("q=")).and_then(|quality| quality.parse().ok());
            ranges.push((quality.unwrap_or(1.0), name));
        }
    }
    ranges.retain(|(quality, name)| *quality > 0.0 && !name.is_empty());
    // Stable, so that of equal ones the first is the best.
    ranges.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut formats = Vec::new();
    for (_, name) in &ranges {
        let name = name.to_ascii_lowercase();
        if name == "*/*" {
            formats.extend(ResultFormat::ALL);
        } else if let Some(group) = name.strip_suffix("/*") {
            let is_of = |format: &ResultFormat| format.media_type().split('/').next() == Some(group);
            formats.extend(ResultFormat::ALL.into_iter().filter(is_of));
        }
        let media_type = |format: ResultFormat| format.media_type().split(';').next().unwrap_or_default();
        formats.extend(ResultFormat::ALL.into_iter().filter(|format| media_type(*format) == name));
        formats.extend(OTHER_NAMES.iter().filter(|(other, _)| *other == name).map(|(_, format)| *format));
    }
    if formats.is_empty() && !ranges.is_empty() {
        let known: Vec<&str> = ResultFormat::ALL.into_iter().map(ResultFormat::media_type).collect();
        return Err(not_acceptable(&format!("none of the formats in Accept is known; there are {}", known.join(", "))));
    }
    Ok(formats)
}

fn refuse_update() -> Refusal {
    let message = "updates are refused: the graph follows from what forges and repositories say";
    refuse(StatusCode::BAD_REQUEST, message.to_owned())
}

fn not_acceptable(message: &str) -> Refusal {
    refuse(StatusCode::NOT_ACCEPTABLE, message.to_owned())
}

fn refuse(status: StatusCode, message: String) -> Refusal {
    Refusal::new(status, error_table::code(ErrorKind::Invalid), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats(accept: &'static str) -> Vec<ResultFormat> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        accepted(&headers).map_err(|refusal| refusal.message).unwrap_or_default()
    }

    #[test]
    fn formats_are_tried_in_the_order_of_their_quality() {
        assert_eq!(formats("text/csv;q=0.5, application/json"), [ResultFormat::Json, ResultFormat::Csv]);
        assert_eq!(formats("*/*").len(), ResultFormat::ALL.len());
        assert_eq!(formats("application/ld+json"), [ResultFormat::JsonLd]);
        assert_eq!(formats("image/png"), []);
    }

    #[test]
    fn parameters_of_updates_are_refused() {
        let mut request = SparqlRequest::default();
        assert!(read_parameters(b"query=ASK%20%7B%7D&default-graph-uri=urn:a", &mut request).is_ok());
        assert_eq!((request.query.as_str(), request.default_graphs.len()), ("ASK {}", 1));
        assert!(read_parameters(b"update=CLEAR%20ALL", &mut request).is_err());
    }
}
