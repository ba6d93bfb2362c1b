//! The addresses of SPARQL, of nodes as RDF and of exports in the document of the API. Standards say what they take and
//! answer, or they stream, so they are no routes of the table.

use backstory_engine::{
    export::{ExportKind, TableFormat},
    graph::sparql::ResultFormat,
    model::{access::Scope, edge::Edge, entity::State},
};
use serde_json::{Map, Value, json};

use super::operation;

/// What the condition `after` of an export is, and how times are written.
const AFTER: &str = "Opened, started or committed at or after: `2024-03-15`, `2024-03`, `2024` or an instant; not for files \
                     and edges";

/// The path items, by path.
pub(super) fn paths() -> Map<String, Value> {
    let mut paths = Map::new();
    let graph = |summary: &str, id: &str| operation("graph", summary, Scope::Read, id);
    let mut get = graph("Answer a SPARQL 1.1 query", "get sparql");
    get["parameters"] = json!([
        parameter("query", true, "The query: SELECT, ASK, CONSTRUCT or DESCRIBE", &json!({ "type": "string" })),
        dataset("default-graph-uri", "IRIs of the graphs that are the default graph together; all if absent"),
        dataset("named-graph-uri", "IRIs of the graphs that GRAPH can ask; all if absent"),
    ]);
    get["responses"] = responses(&ResultFormat::ALL.map(ResultFormat::media_type));
    let mut post = graph("Answer a SPARQL 1.1 query that is in the body", "post sparql");
    post["parameters"] = json!([
        dataset("default-graph-uri", "As with GET, if the body is the query"),
        dataset("named-graph-uri", "As with GET, if the body is the query"),
    ]);
    post["requestBody"] = json!({ "required": true, "content": {
        "application/sparql-query": { "schema": { "type": "string" } },
        "application/x-www-form-urlencoded": { "schema": form() },
    } });
    post["responses"] = get["responses"].clone();
    paths.insert("/sparql".to_owned(), json!({ "get": get, "post": post }));

    let mut node = graph("A node and its edges as RDF, also in the terms of PROV", "get graph reference");
    let description = "`acme/shop%2312`, `acme/shop!7`, `acme/shop@1a2b3c4`, `acme/shop:src/a.rs`";
    node["parameters"] = json!([in_path("reference", description, &json!({ "type": "string" }))]);
    let formats = ResultFormat::ALL.into_iter().filter(|format| format.is_of_graphs());
    node["responses"] = responses(&formats.map(ResultFormat::media_type).collect::<Vec<_>>());
    paths.insert("/graph/{reference}".to_owned(), json!({ "get": node }));

    let mut export = operation("export", "A table, streamed", Scope::Read, "get api v1 export what");
    let what = json!({ "type": "string", "enum": ExportKind::ALL.map(ExportKind::as_str) });
    let mut parameters = vec![in_path("what", "Which table", &what)];
    parameters.extend(conditions());
    export["parameters"] = parameters.into();
    export["responses"] = responses(&TableFormat::ALL.map(TableFormat::media_type));
    paths.insert("/api/v1/export/{what}".to_owned(), json!({ "get": export }));
    paths
}

/// The conditions of exports.
fn conditions() -> Vec<Value> {
    let text = json!({ "type": "string" });
    let format = json!({ "type": "string", "enum": TableFormat::ALL.map(TableFormat::as_str), "default": "ndjson" });
    let edges = Edge::ALL.iter().map(|edge| edge.name());
    let list = |items: &Value| json!({ "type": "array", "items": items });
    let one_of = |names: Value| json!({ "type": "string", "enum": names });
    vec![
        parameter("format", false, "How it is written", &format),
        parameter("project", false, "Only of these projects", &list(&text)),
        parameter("state", false, "Issues and merge requests in one of these states", &list(&one_of(states()))),
        parameter("author", false, "By one of these; not for files and edges", &list(&text)),
        parameter("label", false, "Issues and merge requests with all of these labels", &list(&text)),
        parameter("path", false, "Discussions, commits and files of one of these paths", &list(&text)),
        parameter("edge", false, "Edges of one of these names", &list(&one_of(edges.collect()))),
        parameter("after", false, AFTER, &text),
        parameter("before", false, "Opened, started or committed before; not for files and edges", &text),
    ]
}

fn states() -> Value {
    State::ALL.iter().map(|state| state.as_str()).collect()
}

/// What a form has that is sent to `/sparql`.
fn form() -> Value {
    let graphs = json!({ "type": "array", "items": iri() });
    json!({
        "type": "object",
        "required": ["query"],
        "properties": { "query": { "type": "string" }, "default-graph-uri": graphs, "named-graph-uri": graphs },
    })
}

fn iri() -> Value {
    json!({ "type": "string", "format": "iri" })
}

fn dataset(name: &str, description: &str) -> Value {
    parameter(name, false, description, &json!({ "type": "array", "items": iri() }))
}

fn parameter(name: &str, required: bool, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "query", "required": required, "description": description, "schema": schema })
}

fn in_path(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "path", "required": true, "description": description, "schema": schema })
}

/// An answer in one of several media types.
fn responses(media_types: &[&str]) -> Value {
    let name = |media_type: &&str| media_type.split(';').next().unwrap_or_default().to_owned();
    let content: Map<String, Value> =
        media_types.iter().map(|media_type| (name(media_type), json!({ "schema": {} }))).collect();
    super::responses(&[200], content.into())
}
