//! Parameters of addresses: what a type asks for in the path and the query, by its JSON Schema. The same schema is in the
//! document of the API, so that the two agree.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use backstory_engine::{error::ErrorKind, model::text::truncate_echo};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::super::{Refusal, shape::read_with_places};
use crate::error_table;

/// Most parameters of a query.
const MAX_PARAMETERS: usize = 200;

/// What a parameter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Flag,
    /// Several texts: the parameter is repeated, or they are separated by commas.
    List,
}

/// The parameters of a route, by their names.
#[derive(Clone, Debug)]
pub(super) struct Parameters {
    kinds: BTreeMap<String, Kind>,
    /// Of the document: name, schema and whether it must be there.
    pub(super) described: Vec<Described>,
}

/// A parameter as the document describes it.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) required: bool,
}

impl Parameters {
    /// Those that a type asks for.
    pub(super) fn of<P: JsonSchema>() -> Self {
        let mut settings = SchemaSettings::draft2020_12().for_deserialize();
        settings.inline_subschemas = true;
        let schema: Value = settings.into_generator().into_root_schema_for::<P>().into();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let described: Vec<Described> = properties
            .into_iter()
            .map(|(name, schema)| Described {
                required: required.contains(&Value::from(name.as_str())),
                name,
                schema: without_null(schema),
            })
            .collect();
        let kinds = described.iter().map(|parameter| (parameter.name.clone(), kind(&parameter.schema))).collect();
        Self { kinds, described }
    }

    /// Reads what a request has in its path and its query.
    ///
    /// # Errors
    /// A parameter is unknown, missing or wrong.
    pub(super) fn read<P: DeserializeOwned>(&self, path: &[(String, String)], query: &str) -> Result<P, Refusal> {
        let mut given: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        if form_urlencoded::parse(query.as_bytes()).nth(MAX_PARAMETERS).is_some() {
            return Err(invalid(format!("there are more than {MAX_PARAMETERS} parameters")));
        }
        let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes())
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        for (name, value) in path.iter().chain(&pairs) {
            // Some write `tags[]` for a parameter that is repeated.
            let name = name.strip_suffix("[]").unwrap_or(name);
            if !self.kinds.contains_key(name) {
                let known: Vec<&str> = self.kinds.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "there is none".to_owned() } else { known.join(", ") };
                return Err(invalid(format!("'{}' is not a parameter; known: {known}", truncate_echo(name))));
            }
            given.entry(name).or_default().push(value.clone());
        }
        let mut object = Map::new();
        for (name, values) in given {
            let kind = self.kinds.get(name).copied().unwrap_or(Kind::Text);
            object.insert(name.to_owned(), value(name, kind, values)?);
        }
        let missing = self.described.iter().find(|known| known.required && !object.contains_key(&known.name));
        if let Some(missing) = missing {
            return Err(invalid(format!("the parameter '{}' is missing", missing.name)));
        }
        let is_empty = |name: &str| object.get(name).and_then(Value::as_str).is_some_and(|text| text.trim().is_empty());
        if let Some(empty) = self.described.iter().find(|known| known.required && is_empty(&known.name)) {
            return Err(invalid(format!("the parameter '{}' is empty", empty.name)));
        }
        read_with_places(Value::Object(object)).map_err(|what| invalid(format!("wrong parameter: {what}")))
    }
}

/// A schema without null, which no address can hold: a parameter is left out instead.
fn without_null(mut schema: Value) -> Value {
    let is_null = |value: &Value| value == "null" || value["type"] == "null";
    for place in ["type", "anyOf"] {
        let Some(choices) = schema[place].as_array() else { continue };
        let left: Vec<Value> = choices.iter().filter(|choice| !is_null(choice)).cloned().collect();
        match (place, <[Value; 1]>::try_from(left)) {
            ("type", Ok([only])) => schema["type"] = only,
            (_, Ok([mut only])) => {
                // What is said of the parameter is worth more than what is said of its type.
                if let Some(description) = schema.get("description") {
                    only["description"] = description.clone();
                }
                return only;
            }
            (_, Err(_)) => {}
        }
    }
    schema
}

/// What a schema lets a parameter hold.
fn kind(schema: &Value) -> Kind {
    let is = |name: &str| {
        schema["type"] == name || schema["type"].as_array().is_some_and(|types| types.contains(&name.into()))
    };
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().find(|choice| choice["type"] != "null").map_or(Kind::Text, kind);
    }
    match () {
        () if is("array") => Kind::List,
        () if is("integer") || is("number") => Kind::Number,
        () if is("boolean") => Kind::Flag,
        () => Kind::Text,
    }
}

fn value(name: &str, kind: Kind, mut values: Vec<String>) -> Result<Value, Refusal> {
    if kind == Kind::List {
        let parts = values.iter().flat_map(|value| value.split(',')).map(str::trim).filter(|part| !part.is_empty());
        return Ok(parts.map(Value::from).collect());
    }
    let text = match (values.pop(), values.is_empty()) {
        (Some(text), true) => text,
        _ => return Err(invalid(format!("the parameter '{name}' is given twice"))),
    };
    let wrong =
        |what: &str| invalid(format!("the parameter '{name}' is '{}', which is not {what}", truncate_echo(&text)));
    match kind {
        Kind::Text | Kind::List => Ok(text.into()),
        Kind::Flag => text.parse::<bool>().map(Value::from).map_err(|_| wrong("true or false")),
        Kind::Number => {
            let number = text.parse::<i64>().map(Value::from);
            number.or_else(|_| text.parse::<f64>().map(Value::from)).map_err(|_| wrong("a number"))
        }
    }
}

fn invalid(message: String) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, error_table::code(ErrorKind::Invalid), message)
}
