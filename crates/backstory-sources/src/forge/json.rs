//! Parses JSON within a bound on the memory that it takes. A list of zeros takes sixteen times as much in memory as on
//! the wire, and a list of small objects a hundred times as much, so a bound on bytes alone bounds little.

use std::{cell::Cell, fmt};

use serde::{
    Deserialize as _, Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value, json, value::RawValue};

/// What a value counts, in bytes: its own place, and that of a list that grows.
const VALUE: usize = 48;
/// What an object counts that has anything: the first node of its tree.
const OBJECT: usize = 640;
/// What an entry of an object counts besides its key and value.
const ENTRY: usize = 48;

/// How far into a body a value is looked for that cannot be read; what is around one that lies deeper is not read.
const MAX_SALVAGED_DEPTH: usize = 10;

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum JsonError {
    /// It is no JSON.
    Malformed(String),
    /// It takes more memory than it may.
    TooHeavy,
}

/// Reads a body that may take so much memory; says with it how much it takes, about.
///
/// A number that is too large for any type, or a text with half of a character, is replaced by an [`unreadable`] value, so
/// that only what needs it cannot be read.
pub(super) fn parse(body: &[u8], limit: usize) -> Result<(Value, usize), JsonError> {
    let scale = Scale { left: Cell::new(limit), is_over: Cell::new(false) };
    let mut from = serde_json::Deserializer::from_slice(body);
    let mut read = Weighed(&scale).deserialize(&mut from).and_then(|value| from.end().map(|()| value));
    if read.is_err() && !scale.is_over.get() {
        scale.left.set(limit);
        let text = String::from_utf8_lossy(body);
        let mut from = serde_json::Deserializer::from_str(&text);
        let salvaged = Salvaged { scale: &scale, depth: MAX_SALVAGED_DEPTH }.deserialize(&mut from);
        let salvaged = salvaged.and_then(|value| from.end().map(|()| value));
        // What is wrong with all of it was said by the first attempt.
        read = salvaged.or(read);
    }
    match read {
        Ok(value) => Ok((value, limit - scale.left.get())),
        Err(_) if scale.is_over.get() => Err(JsonError::TooHeavy),
        Err(error) => Err(JsonError::Malformed(error.to_string())),
    }
}

/// What stands in place of a text or number that cannot be read: nothing that expects either takes it.
fn unreadable() -> Value {
    json!({ "unreadable": true })
}

/// Reads a value that is JSON, part by part where the whole cannot be read.
#[derive(Clone, Copy)]
struct Salvaged<'a> {
    scale: &'a Scale,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Salvaged<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        let text = <&RawValue>::deserialize(from)?.get();
        let left = self.scale.left.get();
        let whole = Weighed(self.scale).deserialize(&mut serde_json::Deserializer::from_str(text));
        let parts = |_| {
            self.scale.left.set(left);
            let depth = self.depth.checked_sub(1).ok_or_else(|| serde_json::Error::custom("it lies too deep"))?;
            self.scale.add::<serde_json::Error>(VALUE)?;
            serde_json::Deserializer::from_str(text).deserialize_any(Self { depth, ..self })
        };
        let read = whole.or_else(|error| if self.scale.is_over.get() { Err(error) } else { parts(error) });
        read.or_else(|error| {
            if self.scale.is_over.get() {
                return Err(D::Error::custom(error));
            }
            self.scale.left.set(left);
            self.scale.add::<D::Error>(VALUE + OBJECT)?;
            Ok(unreadable())
        })
    }
}

impl<'de> Visitor<'de> for Salvaged<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = from.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            self.scale.add_entry::<A::Error>(&values, &key)?;
            let value = from.next_value_seed(self)?;
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

struct Scale {
    left: Cell<usize>,
    is_over: Cell<bool>,
}

impl Scale {
    fn add<E: serde::de::Error>(&self, weight: usize) -> Result<(), E> {
        match self.left.get().checked_sub(weight) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.is_over.set(true);
                Err(E::custom("it takes too much memory"))
            }
        }
    }

    fn add_entry<E: serde::de::Error>(&self, object: &Map<String, Value>, key: &str) -> Result<(), E> {
        self.add(if object.is_empty() { OBJECT } else { 0 })?;
        self.add(ENTRY + key.len())
    }
}

#[derive(Clone, Copy)]
struct Weighed<'a>(&'a Scale);

impl<'de> DeserializeSeed<'de> for Weighed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.0.add(VALUE)?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Weighed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.0.add(value.len())?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = from.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            self.0.add_entry::<A::Error>(&values, &key)?;
            let value = from.next_value_seed(self)?;
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_is_what_serde_json_reads() {
        for text in [
            r#"[1, -2, 3.5, 1e3, true, null, "a\u00e9\n", {"b": [], "a": {}, "b": [0]}, 18446744073709551615]"#,
            r#"{"title": "x"}"#,
            "[]",
        ] {
            let (read, weight) = parse(text.as_bytes(), 1 << 20).unwrap();
            assert_eq!(read, serde_json::from_str::<Value>(text).unwrap());
            assert!(weight > 0 && weight < 4000, "{weight}");
        }
    }

    #[test]
    fn what_is_small_on_the_wire_and_large_in_memory_is_refused() {
        let zeros = format!("[{}0]", "0,".repeat(100_000));
        let objects = format!("[{}0]", r#"{"":0},"#.repeat(20_000));
        let nested = format!("[{}0]", "[[[[]]]],".repeat(20_000));
        for text in [zeros, objects, nested] {
            assert!(matches!(parse(text.as_bytes(), 2 << 20), Err(JsonError::TooHeavy)));
            assert!(parse(text.as_bytes(), 64 << 20).is_ok());
        }
        let text = json!("x".repeat(1000)).to_string();
        assert!(matches!(parse(text.as_bytes(), 500), Err(JsonError::TooHeavy)));
    }

    #[test]
    fn only_the_value_that_cannot_be_read_is_left_out() {
        for wrong in
            ["1e400", r#""\ud83d""#, r#""half \udc00 of it""#, &format!("{}0{}", "[".repeat(200), "]".repeat(200))]
        {
            let text = format!(r#"[{{"id": 1, "title": "x"}}, {{"id": 2, "author": {{"id": 3, "name": {wrong}}}}}]"#);
            let (read, weight) = parse(text.as_bytes(), 1 << 20).unwrap();
            assert_eq!(read[0], json!({ "id": 1, "title": "x" }), "{wrong}");
            assert_eq!((&read[1]["id"], &read[1]["author"]["id"]), (&json!(2), &json!(3)), "{wrong}");
            assert!(weight > 1000, "{wrong}: {weight}");
        }
        let (read, _) = parse(br#"[{"id": 1, "upvotes": 1e400}, {"id": 2}]"#, 1 << 20).unwrap();
        assert_eq!(read, json!([{ "id": 1, "upvotes": unreadable() }, { "id": 2 }]));
        let (read, _) = parse(br#"[{"id": 1, "\ud83d": 0}, {"id": 2}]"#, 1 << 20).unwrap();
        assert_eq!(read, json!([unreadable(), { "id": 2 }]));
        // What takes much memory takes no less where something cannot be read.
        for rest in ["0,".repeat(100_000), "1e400,".repeat(100_000), r#"{"":0},"#.repeat(20_000)] {
            let text = format!("[{rest}1e400]");
            assert!(matches!(parse(text.as_bytes(), 2 << 20), Err(JsonError::TooHeavy)), "{}", &text[..10]);
        }
        let deep = format!("[{}1e400{}, 1]", "[".repeat(100), "]".repeat(100));
        assert_eq!(parse(deep.as_bytes(), 1 << 20).unwrap().0[1], 1);
    }

    #[test]
    fn what_is_no_json_is_named_as_that() {
        for text in ["", "[1, 2", "[1, 2]]", "<html>", &"[".repeat(10_000)] {
            assert!(matches!(parse(text.as_bytes(), 1 << 20), Err(JsonError::Malformed(_))), "{text}");
        }
    }
}
