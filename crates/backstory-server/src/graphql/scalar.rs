//! Scalars of the GraphQL API.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use jiff::Timestamp;

/// An instant.
pub(crate) struct DateTime(Timestamp);

impl From<Timestamp> for DateTime {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

/// An instant in UTC, as RFC 3339 writes it: `2024-03-15T10:00:00.123Z`.
#[Scalar(specified_by_url = "https://www.rfc-editor.org/rfc/rfc3339")]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::String(text) => Ok(Self(text.parse()?)),
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}

/// A number of bytes, statements or changes.
pub(crate) struct BigInt(u64);

impl From<u64> for BigInt {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

/// A whole number of up to 64 bits, as a JSON number: what may exceed the 32 bits of `Int`.
#[Scalar]
impl ScalarType for BigInt {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::Number(number) => number.as_u64().map(Self).ok_or_else(|| "it is no whole number".into()),
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::from(self.0)
    }
}
