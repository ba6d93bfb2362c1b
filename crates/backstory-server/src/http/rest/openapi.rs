//! The document of the API in OpenAPI 3.1, made from the table of routes and from the JSON Schemas of all use cases.

mod data;

use std::sync::LazyLock;

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use backstory_engine::{
    model::access::Scope,
    use_case::UseCase,
    use_cases::{Visitor, visit_all},
};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    super::{API, problem::PROBLEM},
    prefer,
    route::Route,
    table,
};

/// Where the document is.
pub(super) const PATH: &str = "/openapi.json";
/// Where its definitions are.
const DEFINITIONS: &str = "/components/schemas";
/// What the name of a definition of requests ends with, if answers have another of that name.
const INPUT: &str = "Input";
/// What tools are told about the API.
const DESCRIPTION: &str = "Why is this code like this? Every use case is at `POST /api/v1/NAME`; resources are read with \
                           `GET`. Send a token as `Authorization: Bearer …`. Errors are problem details (RFC 9457) with \
                           `code` and `hint`. Lists have pages: hand `next` back as `cursor`.";

static DOCUMENT: LazyLock<String> = LazyLock::new(|| format!("{:#}\n", document()));

/// Answers with the document.
pub(super) async fn answer() -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str()).into_response()
}

/// The document of the API.
pub fn document() -> Value {
    let mut paths = Paths::new();
    for route in table() {
        paths.add(&route);
    }
    visit_all(&mut paths);
    paths.paths.extend(data::paths());
    let definitions = paths.definitions();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "backstory",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }, {}],
        "paths": paths.paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": { "Problem": problem() },
        },
    });
    write_pairs_as_lists(&mut document);
    document
}

fn problem() -> Value {
    json!({
        "description": "What went wrong",
        "content": { PROBLEM: { "schema": {
            "type": "object",
            "required": ["type", "title", "status", "detail", "code", "request_id"],
            "properties": {
                "type": { "type": "string" },
                "title": { "type": "string" },
                "status": { "type": "integer" },
                "detail": { "type": "string", "description": "What it concerns and what is wrong" },
                "code": { "type": "string", "description": "The kind of failure" },
                "hint": { "type": "string", "description": "What to do about it" },
                "request_id": { "type": "string", "description": "As in the log" },
            },
        } } },
    })
}

/// Describes arrays of so many equal items, such as a pair of lines, as lists of that length: many tools do not know
/// `prefixItems`.
fn write_pairs_as_lists(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Array(items)) = fields.get("prefixItems")
                && let [first, rest @ ..] = items.as_slice()
                && rest.iter().all(|item| item == first)
            {
                let first = first.clone();
                fields.remove("prefixItems");
                fields.insert("items".to_owned(), first);
            }
            fields.values_mut().for_each(write_pairs_as_lists);
        }
        Value::Array(values) => values.iter_mut().for_each(write_pairs_as_lists),
        _ => {}
    }
}

/// Paths, and the generators of what they refer to: requests may leave out what answers always have.
struct Paths {
    paths: Map<String, Value>,
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Paths {
    fn new() -> Self {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = DEFINITIONS.into();
        settings.meta_schema = None;
        let requests = settings.clone().for_deserialize().into_generator();
        Self { paths: Map::new(), requests, answers: settings.for_serialize().into_generator() }
    }

    fn add(&mut self, route: &Route) {
        let path = route.path.replace("{*", "{");
        let mut parameters: Vec<Value> = route
            .parameters
            .described
            .iter()
            .map(|parameter| {
                let is_of_path = path.contains(&format!("{{{}}}", parameter.name));
                let mut schema = parameter.schema.clone();
                let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
                json!({
                    "name": parameter.name,
                    "in": if is_of_path { "path" } else { "query" },
                    "required": is_of_path || parameter.required,
                    "description": description.unwrap_or_default(),
                    "schema": schema,
                })
            })
            .collect();
        if route.waits {
            parameters.push(prefer::describe());
        }
        let body = route.body.map(|describe| mark(describe(&mut self.requests).into()));
        let answer: Value = (route.answer)(&mut self.answers).into();
        let mut content = Map::new();
        content.insert("application/json".to_owned(), json!({ "schema": answer }));
        for media_type in route.media_types {
            content.insert((*media_type).to_owned(), json!({ "schema": { "type": "string" } }));
        }
        let method = route.method.as_str().to_lowercase();
        let mut operation = operation(route.doc.tag, route.doc.summary, route.doc.scope, &format!("{method} {path}"));
        operation["parameters"] = parameters.into();
        if let Some(schema) = body {
            operation["requestBody"] = request_body(schema);
        }
        let statuses =
            [route.status].into_iter().chain(route.success_statuses.iter().copied()).map(|status| status.as_u16());
        operation["responses"] = responses(&statuses.collect::<Vec<_>>(), content.into());
        self.insert(&path, &method, operation);
    }

    fn insert(&mut self, path: &str, method: &str, operation: Value) {
        let known = self.paths.entry(path.to_owned()).or_insert_with(|| json!({}));
        known[method] = operation;
    }

    /// What the paths refer to: definitions of answers, and of requests under names of their own.
    fn definitions(&mut self) -> Map<String, Value> {
        let mut all = self.answers.take_definitions(true);
        for (name, definition) in self.requests.take_definitions(true) {
            all.insert(format!("{name}{INPUT}"), mark(definition));
        }
        all.into_iter().collect()
    }
}

impl Visitor for Paths {
    fn visit<U: UseCase>(&mut self) {
        let schema = mark(self.requests.subschema_for::<U>().into());
        let answer: Value = self.answers.subschema_for::<U::Answer>().into();
        let path = format!("{API}/{}", U::NAME);
        let summary = schema
            .pointer("/$ref")
            .and_then(Value::as_str)
            .and_then(|reference| reference.rsplit('/').next()?.strip_suffix(INPUT).map(str::to_owned))
            .and_then(|name| Some(self.requests.definitions().get(&name)?["description"].as_str()?.to_owned()))
            .unwrap_or_else(|| U::NAME.to_owned());
        let mut operation = operation("use cases", &summary, U::SCOPE, &format!("post {path}"));
        operation["requestBody"] = request_body(schema);
        operation["responses"] = responses(&[200], json!({ "application/json": { "schema": answer } }));
        self.insert(&path, "post", operation);
    }
}

/// Renames the definitions that a schema of a request refers to.
fn mark(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match field {
                    Value::String(reference) if name == "$ref" => reference.push_str(INPUT),
                    other => *other = mark(other.take()),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| *value = mark(value.take())),
        _ => {}
    }
    schema
}

fn operation(tag: &str, summary: &str, scope: Scope, id: &str) -> Value {
    let name: String = id.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    json!({
        "operationId": name.trim_end_matches('_'),
        "tags": [tag],
        "summary": summary,
        "x-scope": scope.as_str(),
    })
}

#[expect(clippy::needless_pass_by_value, reason = "callers make it for the call")]
fn request_body(schema: Value) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}

#[expect(clippy::needless_pass_by_value, reason = "callers make it for the call")]
fn responses(statuses: &[u16], content: Value) -> Value {
    let mut responses = json!({ "default": { "$ref": "#/components/responses/Problem" } });
    for status in statuses {
        responses[status.to_string()] = json!({ "description": "The answer", "content": content });
    }
    responses
}
