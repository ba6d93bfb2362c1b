//! Cursors: where a page of a list ends, as text that clients hand back and need not understand. It has no character that
//! must be escaped in a document, an address or JSON.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Serialize, de::DeserializeOwned};

/// Longest cursor, in bytes: paths of files are among what ends pages.
const MAX_CURSOR: usize = 16 << 10;

/// The text of a position in a list.
pub(crate) fn encode(position: &impl Serialize) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(position).unwrap_or_default())
}

/// The position that a cursor stands for; `None` if it is not one of that kind.
pub(crate) fn decode<C: DeserializeOwned>(cursor: &str) -> Option<C> {
    if cursor.len() > MAX_CURSOR {
        return None;
    }
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_needs_no_escapes_and_is_read_strictly() {
        let position = ("issues Updated".to_owned(), 1_787_383_416_040_i64, "größe \"R\"".to_owned());
        let cursor = encode(&position);
        assert!(cursor.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter)), "{cursor}");
        assert_eq!(decode::<(String, i64, String)>(&cursor), Some(position));
        for wrong in ["", "x", "12", &format!("{cursor}="), &format!(" {cursor}"), &"a".repeat(MAX_CURSOR + 4)] {
            assert_eq!(decode::<(String, i64, String)>(wrong), None, "{wrong}");
        }
        assert_eq!(decode::<u64>(&cursor), None);
    }
}
