//! Parses JSON within a bound on the memory that it takes. A list of zeros takes sixteen times as much in memory as on
//! the wire, and a list of small objects a hundred times as much, so a bound on bytes alone bounds little.

use std::{cell::Cell, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// What a value counts, in bytes: its own place, and that of a list that grows.
const VALUE: usize = 48;
/// What an object counts that has anything: the first node of its tree.
const OBJECT: usize = 640;
/// What an entry of an object counts besides its key and value.
const ENTRY: usize = 48;

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum JsonError {
    /// It is no JSON.
    Malformed(String),
    /// It takes more memory than it may.
    TooHeavy,
}

/// Reads a body that may take so much memory; says with it how much it takes, about.
pub(super) fn parse(body: &[u8], limit: usize) -> Result<(Value, usize), JsonError> {
    let scale = Scale { left: Cell::new(limit), is_over: Cell::new(false) };
    let mut from = serde_json::Deserializer::from_slice(body);
    let read = Weighed(&scale).deserialize(&mut from).and_then(|value| from.end().map(|()| value));
    match read {
        Ok(value) => Ok((value, limit - scale.left.get())),
        Err(_) if scale.is_over.get() => Err(JsonError::TooHeavy),
        Err(error) => Err(JsonError::Malformed(error.to_string())),
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
            self.0.add::<A::Error>(if values.is_empty() { OBJECT } else { 0 })?;
            self.0.add::<A::Error>(ENTRY + key.len())?;
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
    fn what_is_no_json_is_named_as_that() {
        for text in ["", "[1, 2", "[1, 2]]", "<html>", &"[".repeat(10_000)] {
            assert!(matches!(parse(text.as_bytes(), 1 << 20), Err(JsonError::Malformed(_))), "{text}");
        }
    }
}
