//! Scalars of the GraphQL API.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use backstory_engine::model::time::parse_instant;
use jiff::Timestamp;

/// An instant.
#[derive(Clone, Copy)]
pub(crate) struct DateTime(Timestamp);

impl From<Timestamp> for DateTime {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl From<DateTime> for Timestamp {
    fn from(at: DateTime) -> Self {
        at.0
    }
}

/// An instant in UTC, in RFC 3339 format: `2024-03-15T10:00:00.123Z`. An argument may also be a date, which stands for
/// its first instant: `2024-03-15`, `2024-03` or `2024`.
#[Scalar(specified_by_url = "https://www.rfc-editor.org/rfc/rfc3339")]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::String(text) => Ok(Self(parse_instant(text)?)),
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}

/// The whole seconds between two instants; 0 if the second is earlier, as it may be of what a forge took over from another.
pub(super) fn seconds_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_secs()).unwrap_or(0)
}

/// A score or weight as its shortest decimal: 0.1 of 32 bits is 0.10000000149011612 of 64.
pub(super) fn decimal(score: f32) -> f64 {
    score.to_string().parse().unwrap_or_else(|_| f64::from(score))
}

/// A number of bytes, statements or changes.
pub(crate) struct BigInt(u64);

impl From<u64> for BigInt {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl From<BigInt> for u64 {
    fn from(number: BigInt) -> Self {
        number.0
    }
}

/// A whole number of up to 64 bits, as a JSON number, where 32 bits of `Int` may be too few.
#[Scalar]
impl ScalarType for BigInt {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::Number(number) => number.as_u64().map(Self).ok_or_else(|| "it is not a whole number".into()),
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_whole_and_not_negative() {
        let (from, to) = ("2024-03-10T09:00:00.500Z".parse().unwrap(), "2024-03-10T09:01:00Z".parse().unwrap());
        assert_eq!((seconds_between(from, to), seconds_between(to, from)), (59, 0));
    }

    #[test]
    fn scores_are_their_shortest_decimals() {
        for (score, expected) in [(0.1, "0.1"), (0.0, "0"), (1.0, "1"), (1.0 / 3.0, "0.33333334"), (1e-7, "0.0000001")]
        {
            assert_eq!(decimal(score).to_string(), expected, "{score}");
        }
    }
}
