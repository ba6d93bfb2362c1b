//! Reads bodies of requests. Refuses lists in place of objects, which would be read as the fields in their order and no schema
//! describes, and fields that a request does not have in any of its forms, which would not be read at all.

use std::collections::BTreeMap;

use backstory_engine::model::text::truncate_echo;
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
        let choices = ["anyOf", "oneOf"].iter().filter_map(|choices| schema[*choices].as_array()).flatten();
        let choices: Vec<Self> = choices.filter(|choice| choice["type"] != "null").map(Self::of_schema).collect();
        let is = |name: &str| {
            schema["type"] == name || schema["type"].as_array().is_some_and(|types| types.contains(&name.into()))
        };
        if is("array") && schema["items"].is_object() {
            return Self::List(Box::new(Self::of_schema(&schema["items"])));
        }
        let has_any_field = !matches!(schema["additionalProperties"], Value::Null | Value::Bool(false));
        let own = schema["properties"].as_object().into_iter().flatten();
        let own: BTreeMap<String, Self> = own.map(|(name, field)| (name.clone(), Self::of_schema(field))).collect();
        if has_any_field || (choices.is_empty() && !is("object")) {
            return Self::Any;
        }
        choices.into_iter().try_fold(own, Self::join).map_or(Self::Any, Self::Object)
    }

    /// Fields with those of one of several choices; `None` if that is no object.
    fn join(mut fields: BTreeMap<String, Self>, choice: Self) -> Option<BTreeMap<String, Self>> {
        let Self::Object(others) = choice else { return None };
        for (name, other) in others {
            let known = fields.entry(name).or_insert_with(|| other.clone());
            // Which one is meant, the type tells.
            if *known != other {
                *known = Self::Any;
            }
        }
        Some(fields)
    }

    /// Reads a body of this shape.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(super) fn read_body<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, String> {
        let value: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if let Some(place) = self.misplaced_list(&value) {
            return Err(format!("expected an object, not a list, at ${place}"));
        }
        if let Some(field) = self.unknown_field(&value) {
            return Err(format!("there is no field '{field}'; /api/docs lists those that there are"));
        }
        // From the text, as a value has of two fields of a name only one.
        serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(body)).map_err(|error| {
            match error.path().to_string().as_str() {
                "." => error.inner().to_string(),
                place => format!("{}, at '{place}'", error.inner()),
            }
        })
    }

    /// The first field of a value that a request does not have.
    fn unknown_field(&self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Object(fields), Value::Object(values)) => values.iter().find_map(|(name, value)| {
                let Some(field) = fields.get(name) else { return Some(truncate_echo(name).into_owned()) };
                Some(format!("{name}.{}", field.unknown_field(value)?))
            }),
            (Self::List(items), Value::Array(values)) => values
                .iter()
                .enumerate()
                .find_map(|(place, value)| Some(format!("{place}.{}", items.unknown_field(value)?))),
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

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    #[serde(untagged)]
    enum About {
        Query { query: String },
        Target { target: String, rev: Option<u32> },
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Question {
        #[serde(flatten)]
        about: About,
        limit: Option<u32>,
        tags: Option<BTreeMap<String, String>>,
    }

    #[test]
    fn fields_beside_a_choice_are_known_and_places_are_told() {
        let shape = BodyShape::of::<Question>();
        let read = |body: Value| shape.read_body::<Question>(body.to_string().as_bytes()).map(drop);
        assert_eq!(read(json!({ "query": "x", "limit": 3, "tags": { "a": "b" } })), Ok(()));
        assert_eq!(read(json!({ "target": "x", "rev": 3 })), Ok(()));
        assert_eq!(
            read(json!({ "query": "x", "limits": 3 })).unwrap_err(),
            "there is no field 'limits'; /api/docs lists those that there are"
        );
        let shape = BodyShape::of::<Request>();
        let read = |body: Value| shape.read_body::<Request>(body.to_string().as_bytes()).map(drop);
        let wrong = read(json!({ "filters": [{ "author": 7 }], "lines": [1, 2] })).unwrap_err();
        assert!(wrong.starts_with("invalid type: integer `7`, expected a string at line 1"), "{wrong}");
        assert!(wrong.ends_with(", at 'filters[0].author'"), "{wrong}");
        let twice = br#"{ "filters": [], "lines": [1, 2], "filters": [] }"#;
        assert!(shape.read_body::<Request>(twice).map(drop).unwrap_err().starts_with("duplicate field `filters`"));
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
