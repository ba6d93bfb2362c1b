//! The addresses of other tools: a row for each, with the request, and what the answer must have besides what the document
//! of the API says.

mod atlas;
mod rag;
mod retrieval;

use serde_json::Value;

/// Whether an object has fields of these names, and no others of the tool's.
fn has(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some(), "{field} is missing: {value:#}");
    }
}
