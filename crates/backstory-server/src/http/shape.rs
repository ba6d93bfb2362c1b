//! Reads bodies of requests. Refuses lists in place of objects, which would be read as the fields in their order and no schema
//! describes, and fields that a request does not have, which would not be read at all.

use std::collections::BTreeMap;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
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
        Self::of_schema(&schema)
    }

    fn of_schema(schema: &Value) -> Self {
        for choices in ["anyOf", "oneOf"] {
            let Some(choices) = schema[choices].as_array() else { continue };
            let mut others = choices.iter().filter(|choice| choice["type"] != "null");
            return match (others.next(), others.next()) {
                (Some(only), None) => Self::of_schema(only),
                // Which one is meant, the type tells.
                _ => Self::Any,
            };
        }
        let is = |name: &str| {
            schema["type"] == name || schema["type"].as_array().is_some_and(|types| types.contains(&name.into()))
        };
        if is("object") {
            let fields = schema["properties"].as_object().into_iter().flatten();
            return Self::Object(fields.map(|(name, field)| (name.clone(), Self::of_schema(field))).collect());
        }
        if is("array") && schema["items"].is_object() {
            return Self::List(Box::new(Self::of_schema(&schema["items"])));
        }
        Self::Any
    }

    /// Reads a body of this shape.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read_body<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, String> {
        let mut unknown = None;
        let mut json = serde_json::Deserializer::from_slice(body);
        let read = serde_ignored::deserialize(&mut json, |field| {
            // Of fields that may be missing it says '?' beside their name.
            let names = || field.to_string().split('.').filter(|name| *name != "?").collect::<Vec<_>>().join(".");
            unknown.get_or_insert_with(names);
        });
        let read = read.and_then(|read| json.end().map(|()| read)).map_err(|error| error.to_string())?;
        if let Some(place) = serde_json::from_slice(body).ok().and_then(|body| self.misplaced_list(&body)) {
            return Err(format!("expected an object, not a list, at ${place}"));
        }
        match unknown {
            Some(field) => Err(format!("there is no field '{field}'; /api/docs lists those that there are")),
            None => Ok(read),
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
    fn a_field_that_is_not_known_is_told() {
        let shape = BodyShape::of::<Request>();
        let read = |body: Value| shape.read_body::<Request>(body.to_string().as_bytes()).map(drop);
        assert_eq!(read(json!({ "filters": [{ "author": null }], "lines": [1, 2] })), Ok(()));
        assert_eq!(
            read(json!({ "filters": [{}, { "autor": "ann" }], "lines": [1, 2] })).unwrap_err(),
            "there is no field 'filters.1.autor'; /api/docs lists those that there are"
        );
        assert_eq!(
            read(json!({ "filter": { "autor": "ann" }, "filters": [], "lines": [1, 2] })).unwrap_err(),
            "there is no field 'filter.autor'; /api/docs lists those that there are"
        );
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
}
