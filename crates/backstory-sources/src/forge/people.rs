//! Collects the people in a forge's responses, each once.

use std::collections::BTreeMap;

use backstory_model::entity::ItemKind;
use serde_json::{Map, Value};

use super::Payload;

/// People by the key they have in the ledger.
#[derive(Default)]
pub(super) struct PersonPayloads(BTreeMap<String, Payload>);

impl PersonPayloads {
    pub(super) fn add(&mut self, key: String, json: Value) {
        self.0
            .insert(key.clone(), Payload { kind: ItemKind::Person, key, updated_at: None, confidential: false, json });
    }

    /// Adds those who were met only where not everybody may look.
    pub(super) fn add_confidential(&mut self, insiders: Self) {
        for (key, person) in insiders.0 {
            self.0.entry(key).or_insert(Payload { confidential: true, ..person });
        }
    }

    pub(super) fn into_payloads(self) -> Vec<Payload> {
        self.0.into_values().collect()
    }
}

/// An object with these of its keys alone.
pub(super) fn select_keys(json: &Value, keys: &[&str]) -> Value {
    let kept = keys.iter().filter_map(|&key| Some((key.to_owned(), json.get(key)?.clone())));
    Value::Object(kept.collect::<Map<_, _>>())
}
