//! Reads bodies of requests. Refuses lists in place of objects, which would be read as the fields in their order and no schema
//! describes, and fields that a request does not have in any of its forms, which would not be read at all.

mod message;

use std::collections::BTreeMap;

use backstory_engine::model::text::truncate_echo;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserializer, de::DeserializeOwned};
use serde_json::Value;
use serde_path_to_error::Segment;

use message::{describe_syntax_error, describe_value_error, join_place};

/// Most fields that are named where another was given.
const MAX_LISTED: usize = 12;

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
        let value: Value = serde_json::from_slice(body).map_err(|error| describe_syntax_error(&error))?;
        if let Some(wrong) = self.misplaced_value(&value, "") {
            return Err(wrong);
        }
        if let Some(unknown) = self.unknown_field(&value, "") {
            let meant = self.place_of_field(unknown.name).map(|place| format!("did you mean '{place}'?"));
            let hint = meant.unwrap_or_else(|| match list_fields(unknown.known) {
                Some(list) => format!("there {} {list}", if unknown.known.len() == 1 { "is" } else { "are" }),
                None => "/api/docs lists those that there are".to_owned(),
            });
            return Err(format!("there is no field '{}'; {hint}", unknown.place));
        }
        // From the text, as a value has of two fields of a name only one.
        read_with_places(&mut serde_json::Deserializer::from_slice(body))
    }

    /// The first field of a value at a place that a request does not have.
    fn unknown_field<'v>(&'v self, value: &'v Value, place: &str) -> Option<UnknownField<'v>> {
        match (self, value) {
            (Self::Object(fields), Value::Object(values)) => values.iter().find_map(|(name, value)| {
                let place = join_place(place, &truncate_echo(name));
                match fields.get(name) {
                    Some(field) => field.unknown_field(value, &place),
                    None => Some(UnknownField { name, place, known: fields }),
                }
            }),
            (Self::List(items), Value::Array(values)) => values
                .iter()
                .enumerate()
                .find_map(|(number, value)| items.unknown_field(value, &format!("{place}[{number}]"))),
            _ => None,
        }
    }

    /// Where a request has a field of a name, or of one that is almost the same: the place with the fewest parts, and of those
    /// the first.
    fn place_of_field(&self, name: &str) -> Option<String> {
        let mut level = vec![(String::new(), self)];
        while !level.is_empty() {
            let mut below = Vec::new();
            for (place, shape) in level {
                match shape {
                    Self::Object(fields) => {
                        if let Some(field) = field_meant(fields, name) {
                            return Some(join_place(&place, field));
                        }
                        below.extend(fields.iter().map(|(field, shape)| (join_place(&place, field), shape)));
                    }
                    Self::List(items) => below.push((format!("{place}[0]"), items.as_ref())),
                    Self::Any => {}
                }
            }
            level = below;
        }
        None
    }

    /// Says what stands instead of an object at the first place below a place of a value where one must.
    fn misplaced_value(&self, value: &Value, place: &str) -> Option<String> {
        let (fields, what) = match (self, value) {
            (Self::Object(fields), Value::Object(values)) => {
                return fields
                    .iter()
                    .find_map(|(name, field)| field.misplaced_value(values.get(name)?, &join_place(place, name)));
            }
            (Self::List(items), Value::Array(values)) => {
                let values = values.iter().enumerate();
                let mut wrong =
                    values.map(|(number, value)| items.misplaced_value(value, &format!("{place}[{number}]")));
                return wrong.find_map(|wrong| wrong);
            }
            (Self::Object(fields), Value::Array(_)) => (fields, "a list".to_owned()),
            (Self::Object(fields), Value::String(text)) => (fields, format!("'{}'", truncate_echo(text))),
            (Self::Object(fields), Value::Number(_) | Value::Bool(_)) => (fields, value.to_string()),
            _ => return None,
        };
        let of = list_fields(fields).map(|list| format!(" of {list}")).unwrap_or_default();
        let wrong = format!("expected an object{of}, not {what}");
        Some(if place.is_empty() { wrong } else { format!("{place}: {wrong}") })
    }
}

/// A field that a request does not have.
struct UnknownField<'v> {
    name: &'v str,
    place: String,
    /// Those that there are in its place.
    known: &'v BTreeMap<String, BodyShape>,
}

/// Names fields, if there are few of them.
fn list_fields(fields: &BTreeMap<String, BodyShape>) -> Option<String> {
    let mut names: Vec<String> = fields.keys().map(|name| format!("'{name}'")).collect();
    let last = names.pop().filter(|_| fields.len() <= MAX_LISTED)?;
    Some(if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) })
}

/// The field of a name, or else in another case, in the plural or in the singular.
fn field_meant<'a>(fields: &'a BTreeMap<String, BodyShape>, name: &str) -> Option<&'a str> {
    let is_plural = |one: &str, other: &str| one.strip_suffix('s').is_some_and(|one| one.eq_ignore_ascii_case(other));
    let is_alike =
        |field: &&String| field.eq_ignore_ascii_case(name) || is_plural(field, name) || is_plural(name, field);
    let exact = fields.get_key_value(name).map(|(field, _)| field);
    exact.or_else(|| fields.keys().find(is_alike)).map(String::as_str)
}

/// Reads a value.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn read_with_places<'de, T: DeserializeOwned>(
    deserializer: impl Deserializer<'de, Error = serde_json::Error>,
) -> Result<T, String> {
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let mut place = String::new();
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => place.push_str(&format!("[{index}]")),
                Segment::Map { key: name } | Segment::Enum { variant: name } => {
                    place = join_place(&place, &truncate_echo(name));
                }
                Segment::Unknown => {}
            }
        }
        describe_value_error(error.inner(), &place)
    })
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
            "there is no field 'filters[1].autor'; there is 'author'"
        );
        assert_eq!(
            read(json!({ "filter": { "autor": "ann" }, "filters": [], "lines": [1, 2] })).unwrap_err(),
            "there is no field 'filter.autor'; there is 'author'"
        );
        assert_eq!(
            read(json!({ "target": "x", "filters": [], "lines": [1, 2] })).unwrap_err(),
            "there is no field 'target'; there are 'filter', 'filters' and 'lines'"
        );
        assert_eq!(
            read(json!({ "author": "ann", "filters": [], "lines": [1, 2] })).unwrap_err(),
            "there is no field 'author'; did you mean 'filter.author'?"
        );
        assert_eq!(
            read(json!({ "filter": { "lines": [1, 2] } })).unwrap_err(),
            "there is no field 'filter.lines'; did you mean 'lines'?"
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
            "there is no field 'limits'; did you mean 'limit'?"
        );
        let shape = BodyShape::of::<Request>();
        let read = |body: Value| shape.read_body::<Request>(body.to_string().as_bytes()).map(drop);
        let wrong = read(json!({ "filters": [{ "author": 7 }], "lines": [1, 2] })).unwrap_err();
        assert_eq!(wrong, "filters[0].author: expected a string, not 7");
        let missing = read(json!({ "filters": [] })).unwrap_err();
        assert_eq!(missing, "missing field 'lines'");
        let twice = br#"{ "filters": [], "lines": [1, 2], "filters": [] }"#;
        let wrong = shape.read_body::<Request>(twice).map(drop).unwrap_err();
        assert_eq!(wrong, "the field 'filters' is given twice");
        let wrong = shape.read_body::<Request>(b"{").map(drop).unwrap_err();
        assert_eq!(wrong, "the JSON ends too early, at line 1 column 1");
    }

    #[test]
    fn what_is_no_object_is_told() {
        let shape = BodyShape::of::<Request>();
        let wrong = |value: Value| shape.misplaced_value(&value, "");
        assert_eq!(wrong(json!({ "filter": { "author": null }, "filters": [{}], "lines": [1, 2] })), None);
        let expected = "expected an object of 'filter', 'filters' and 'lines', not a list";
        assert_eq!(wrong(json!([null, []])).as_deref(), Some(expected));
        let filter = |place: &str, what: &str| Some(format!("{place}: expected an object of 'author', not {what}"));
        assert_eq!(wrong(json!({ "filter": [null] })), filter("filter", "a list"));
        assert_eq!(wrong(json!({ "filters": [{}, []] })), filter("filters[1]", "a list"));
        assert_eq!(wrong(json!({ "filters": [{}, "ann"] })), filter("filters[1]", "'ann'"));
        assert_eq!(wrong(json!({ "filter": 7 })), filter("filter", "7"));
        assert_eq!(wrong(json!({ "filters": {}, "filter": null })), None, "the type refuses that");
    }
}
