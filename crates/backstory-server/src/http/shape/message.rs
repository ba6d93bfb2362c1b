//! Says in plain words what is wrong with JSON. The libraries that read it name types of this program.

use backstory_engine::model::text::truncate_echo;

/// What is expected where several forms are possible and none of them fits.
const ANY_FORM: &str = "one of the forms that /api/docs lists";

/// The place of a field below another place; an empty place is the whole body.
pub(super) fn join_place(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

/// Says where a text stops being JSON.
pub(super) fn describe_syntax_error(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    if error.is_eof() {
        return format!("the JSON ends too early, at line {line} column {column}");
    }
    let what = match without_position(error).as_str() {
        "expected ident" | "expected value" => "expected a value".to_owned(),
        what => what.replace('`', "'"),
    };
    format!("invalid JSON at line {line} column {column}: {what}")
}

/// Says what is wrong with the value at a place.
pub(super) fn describe_value_error(error: &serde_json::Error, place: &str) -> String {
    let said = without_position(error);
    let field = |start: &str| {
        let (name, _) = said.strip_prefix(start)?.split_once('`')?;
        Some(join_place(place, &truncate_echo(name)))
    };
    if let Some(field) = field("missing field `") {
        return format!("missing field '{field}'");
    }
    if let Some(field) = field("duplicate field `") {
        return format!("the field '{field}' is given twice");
    }
    if let Some(field) = field("unknown field `") {
        return format!("there is no field '{field}'");
    }
    let what = describe_mismatch(&said);
    if place.is_empty() { what } else { format!("{place}: {what}") }
}

/// What an error says without its line and column.
fn without_position(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match said.strip_suffix(&position) {
        Some(what) => what.to_owned(),
        None => said,
    }
}

fn describe_mismatch(said: &str) -> String {
    let parts = |start: &str| said.strip_prefix(start)?.rsplit_once(", expected ");
    if let Some((found, expected)) = parts("invalid type: ").or_else(|| parts("invalid value: ")) {
        return format!("expected {}, not {}", name_type(expected), name_value(found));
    }
    if let Some((length, expected)) = parts("invalid length ") {
        return format!("expected {}, not {length}", name_type(expected));
    }
    let variant = said.strip_prefix("unknown variant `").and_then(|rest| rest.rsplit_once("`, expected "));
    if let Some((value, known)) = variant {
        return format!("unknown value '{}'; expected {}", truncate_echo(value), known.replace('`', "'"));
    }
    match said {
        "expected value" => format!("expected {ANY_FORM}"),
        "trailing characters" => "the list has too many values".to_owned(),
        _ if said.starts_with("data did not match any variant") => format!("expected {ANY_FORM}"),
        _ => said.to_owned(),
    }
}

/// The name of a type in terms of JSON.
fn name_type(expected: &str) -> String {
    let length = ["a tuple of size ", "an array of length "].iter().find_map(|start| expected.strip_prefix(*start));
    if let Some(length) = length {
        return format!("a list of {length} values");
    }
    let name = match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number of 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a borrowed string" => "a string",
        "a sequence" => "a list",
        "a map" => "an object",
        "unit" => "null",
        _ if expected.starts_with("struct ") || expected.contains(" tagged enum ") => "an object",
        _ if expected.starts_with("enum ") => ANY_FORM,
        _ => expected,
    };
    name.to_owned()
}

/// The name of a value that was found, or the value if it is short.
fn name_value(found: &str) -> String {
    if let Some(text) = found.strip_prefix("string \"").and_then(|rest| rest.strip_suffix('"')) {
        return format!("'{}'", truncate_echo(text));
    }
    let kinds = ["integer `", "floating point `", "boolean `"];
    if let Some(value) = kinds.iter().find_map(|kind| found.strip_prefix(*kind)?.strip_suffix('`')) {
        return value.to_owned();
    }
    let name = match found {
        "sequence" => "a list",
        "map" => "an object",
        other => other,
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, de::DeserializeOwned};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only what cannot be read is looked at")]
    struct Request {
        limit: usize,
        state: Option<State>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only what cannot be read is looked at")]
    enum State {
        Open,
        Closed,
        Lines(u32, u32),
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only what cannot be read is looked at")]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }

    fn say<T: DeserializeOwned + std::fmt::Debug>(text: &str) -> String {
        describe_value_error(&serde_json::from_str::<T>(text).unwrap_err(), "")
    }

    #[test]
    fn values_of_other_types_are_told_in_terms_of_json() {
        assert_eq!(say::<usize>("-1"), "expected a whole number of 0 or more, not -1");
        assert_eq!(say::<usize>("\"many\""), "expected a whole number of 0 or more, not 'many'");
        assert_eq!(say::<u8>("300"), "expected a whole number from 0 to 255, not 300");
        assert_eq!(say::<f32>("null"), "expected a number, not null");
        assert_eq!(say::<bool>("1.5"), "expected true or false, not 1.5");
        assert_eq!(say::<String>("true"), "expected a string, not true");
        assert_eq!(say::<Vec<u8>>("{}"), "expected a list, not an object");
        assert_eq!(say::<BTreeMap<String, u8>>("[]"), "expected an object, not a list");
        assert_eq!(say::<(u32, u32)>("[1]"), "expected a list of 2 values, not 1");
        assert_eq!(say::<(u32, u32)>("[1, 2, 3]"), "the list has too many values");
        assert_eq!(say::<Request>("7"), "expected an object, not 7");
        assert_eq!(say::<State>("7"), "expected one of the forms that /api/docs lists");
        assert_eq!(say::<OneOrMany>("7"), "expected one of the forms that /api/docs lists");
        assert_eq!(say::<State>("\"new\""), "unknown value 'new'; expected one of 'open', 'closed', 'lines'");
    }

    #[test]
    fn fields_are_told_with_their_place() {
        let say = |text: &str| describe_value_error(&serde_json::from_str::<Request>(text).unwrap_err(), "filters[0]");
        assert_eq!(say("{}"), "missing field 'filters[0].limit'");
        assert_eq!(say("{\"limit\": 1, \"limit\": 1}"), "the field 'filters[0].limit' is given twice");
        assert_eq!(say("{\"limit\": true}"), "filters[0]: expected a whole number of 0 or more, not true");
    }

    #[test]
    fn what_is_no_json_is_told_by_line_and_column() {
        let say = |text: &str| describe_syntax_error(&serde_json::from_str::<serde_json::Value>(text).unwrap_err());
        assert_eq!(say("{"), "the JSON ends too early, at line 1 column 1");
        assert_eq!(say("nothing"), "invalid JSON at line 1 column 2: expected a value");
        assert_eq!(say("{\n  \"a\": 1 2}"), "invalid JSON at line 2 column 10: expected ',' or '}'");
    }
}
