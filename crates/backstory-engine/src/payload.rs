//! The JSON of stored payloads.

use backstory_store::ledger::StoredItem;
use serde_json::Value;

/// The payload of an object.
pub(crate) fn json_of(item: &StoredItem) -> Option<Value> {
    item.payload.as_deref().and_then(|payload| serde_json::from_slice(payload).ok())
}

/// Shows every string, of which some are user names.
pub(crate) fn each_string(json: &Value, show: &mut impl FnMut(&str)) {
    match json {
        Value::String(text) => show(text),
        Value::Array(values) => values.iter().for_each(|value| each_string(value, show)),
        Value::Object(map) => map.values().for_each(|value| each_string(value, show)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
