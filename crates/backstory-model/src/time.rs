//! Time as the forges give it: instants with millisecond precision.

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde::{Deserialize as _, Deserializer, de::Error as _};

use crate::text::truncate_echo;

/// The calendar day of an instant, in UTC.
pub fn utc_date(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

/// The instant that is so many seconds after the epoch, or the first or last whole second that an instant can have: parts
/// of the last one are beyond what milliseconds can say.
pub fn saturate_seconds(seconds: i64) -> Timestamp {
    let seconds = seconds.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(seconds).unwrap_or_default()
}

/// Reads `2024-03-15`, `2024-03`, `2024` or a full RFC 3339 instant; a bare date is its first instant, in UTC.
///
/// # Errors
/// A sentence that names the text and the forms that are understood.
pub fn parse_instant(text: &str) -> Result<Timestamp, String> {
    let text = text.trim();
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant);
    }
    let dated = match text.len() {
        4 => format!("{text}-01-01"),
        7 => format!("{text}-01"),
        _ => text.to_owned(),
    };
    dated
        .parse::<Date>()
        .ok()
        .and_then(|date| date.to_zoned(TimeZone::UTC).ok())
        .map(|zoned| zoned.timestamp())
        .ok_or_else(|| {
            let text = truncate_echo(text);
            format!("'{text}' is not a date; write 2024-03-15, 2024-03, 2024 or 2024-03-15T10:00:00Z")
        })
}

/// Reads an instant that need not be there, as [`parse_instant`] does.
///
/// # Errors
/// Those of [`parse_instant`].
pub fn read_instant<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(value)?;
    text.map(|text| parse_instant(&text).map_err(D::Error::custom)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_days_months_years_and_instants() {
        for (text, instant) in [
            ("2024-03-15", "2024-03-15T00:00:00Z"),
            ("2024-03", "2024-03-01T00:00:00Z"),
            ("2024", "2024-01-01T00:00:00Z"),
            ("2024-03-15T10:00:00+02:00", "2024-03-15T08:00:00Z"),
        ] {
            assert_eq!(parse_instant(text).unwrap().to_string(), instant);
        }
    }

    #[test]
    fn an_instant_that_need_not_be_there_is_read_in_the_same_forms() {
        let read = |json: &str| read_instant(&mut serde_json::Deserializer::from_str(json));
        assert_eq!(read("null").unwrap(), None);
        assert_eq!(read("\"2024-03\"").unwrap(), Some(parse_instant("2024-03").unwrap()));
        assert!(read("\"last week\"").unwrap_err().to_string().contains("'last week' is not a date"));
    }

    #[test]
    fn seconds_beyond_what_an_instant_can_have_are_the_first_or_last_of_them() {
        for (seconds, instant) in [
            (5, "1970-01-01T00:00:05Z"),
            (253_402_300_800, "9999-12-30T22:00:00Z"),
            (i64::MAX, "9999-12-30T22:00:00Z"),
            (i64::MIN, "-009999-01-02T01:59:59Z"),
        ] {
            assert_eq!(saturate_seconds(seconds).to_string(), instant);
        }
    }

    #[test]
    fn refuses_what_is_no_date_and_says_what_is() {
        for text in ["", "yesterday", "2024-13-01", "15.03.2024", "2024-02-30"] {
            assert!(parse_instant(text).unwrap_err().contains("2024-03-15"), "{text}");
        }
        assert!(parse_instant(&"a b c ".repeat(4000)).unwrap_err().chars().count() < 300);
    }
}
