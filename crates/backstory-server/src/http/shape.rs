//! Refuses lists in place of objects in bodies of requests, and fields that an object does not have. A list of values would
//! be read as the fields in their order, which no schema describes; a misspelled field would not be read at all.

use std::collections::BTreeMap;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// Where objects must stand in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BodyShape {
    /// Whatever the type takes.
    Any,
    /// An object with these fields.
    Object(BTreeMap<String, BodyShape>),
    /// A list of such values.
    List(Box<BodyShape>),
}

impl BodyShape {
    /// That of a type.
    pub(super) fn of<T: JsonSchema>() -> Self {
        let mut settings = SchemaSettings::draft2020_12().for_deserialize();
        settings.inline_subschemas = true;
        let schema: Value = settings.into_generator().into_root_schema_for::<T>().into();
        Self::read(&schema)
    }

    fn read(schema: &Value) -> Self {
        for choices in ["anyOf", "oneOf"] {
            let Some(choices) = schema[choices].as_array() else { continue };
            let mut others = choices.iter().filter(|choice| choice["type"] != "null");
            return match (others.next(), others.next()) {
                (Some(only), None) => Self::read(only),
                // Which one is meant, the type tells.
                _ => Self::Any,
            };
        }
        let is = |name: &str| {
            schema["type"] == name || schema["type"].as_array().is_some_and(|types| types.contains(&name.into()))
        };
        if is("object") {
            // A map has keys of its own.
            let Some(fields) = schema["properties"].as_object() else { return Self::Any };
            return Self::Object(fields.iter().map(|(name, field)| (name.clone(), Self::read(field))).collect());
        }
        if is("array") && schema["items"].is_object() {
            return Self::List(Box::new(Self::read(&schema["items"])));
        }
        Self::Any
    }

    /// Says of a body that it holds a list instead of an object, or a field that is not known, and where.
    pub(super) fn fault_in(&self, body: &[u8]) -> Option<String> {
        let body = serde_json::from_slice(body).ok()?;
        let list = self.misplaced_list(&body).map(|place| format!("expected an object, not a list, at ${place}"));
        list.or_else(|| self.unknown_field(&body))
    }

    /// The first place of a value that has a field which is not known.
    fn unknown_field(&self, value: &Value) -> Option<String> {
        let (place, known) = self.place_of_unknown_field(value)?;
        let known = known.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        Some(format!("there is no field ${place}; known are {known}"))
    }

    fn place_of_unknown_field(&self, value: &Value) -> Option<(String, Vec<&str>)> {
        match (self, value) {
            (Self::Object(fields), Value::Object(values)) => values.iter().find_map(|(name, value)| {
                let (below, known) = match fields.get(name) {
                    Some(field) => field.place_of_unknown_field(value)?,
                    None => (String::new(), fields.keys().map(String::as_str).collect()),
                };
                Some((format!(".{name}{below}"), known))
            }),
            (Self::List(items), Value::Array(values)) => values.iter().enumerate().find_map(|(place, value)| {
                let (below, known) = items.place_of_unknown_field(value)?;
                Some((format!("[{place}]{below}"), known))
            }),
            _ => None,
        }
    }

    /// The first place of a value that holds a list instead of an object.
    fn misplaced_list(&self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Object(_), Value::Array(_)) => Some(String::new()),
            (Self::Object(fields), Value::Object(values)) => fields.iter().find_map(|(name, field)| {
                let below = field.misplaced_list(values.get(name)?)?;
                Some(format!(".{name}{below}"))
            }),
            (Self::List(items), Value::Array(values)) => values.iter().enumerate().find_map(|(place, value)| {
                let below = items.misplaced_list(value)?;
                Some(format!("[{place}]{below}"))
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Filter {
        author: Option<String>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Request {
        filter: Option<Filter>,
        filters: Vec<Filter>,
        lines: (u32, u32),
    }

    #[test]
    fn a_list_is_no_object() {
        let shape = BodyShape::of::<Request>();
        let place = |value: Value| shape.misplaced_list(&value);
        assert_eq!(place(json!({ "filter": { "author": null }, "filters": [{}], "lines": [1, 2] })), None);
        assert_eq!(place(json!([null, []])), Some(String::new()));
        assert_eq!(place(json!({ "filter": [null] })), Some(".filter".to_owned()));
        assert_eq!(place(json!({ "filters": [{}, []] })), Some(".filters[1]".to_owned()));
        assert_eq!(place(json!({ "filters": {}, "filter": null })), None, "the type refuses that");
    }

    #[test]
    fn a_field_that_is_not_known_is_told() {
        let shape = BodyShape::of::<Request>();
        assert_eq!(shape.unknown_field(&json!({ "filter": { "author": null }, "lines": [1, 2] })), None);
        let told = shape.unknown_field(&json!({ "filters": [{}, { "autor": "ann" }] }));
        assert_eq!(told.unwrap(), "there is no field $.filters[1].autor; known are 'author'");
        let map = BodyShape::of::<BTreeMap<String, u32>>();
        assert_eq!(map.unknown_field(&json!({ "any": 1 })), None);
    }
}
