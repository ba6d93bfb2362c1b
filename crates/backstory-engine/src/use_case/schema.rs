//! JSON Schemas of use cases, generated from the types of their requests and answers.

pub use schemars::JsonSchema as HasSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::UseCase;

/// Returns the JSON Schema of an object that has a request as `request` and its answer as `answer`.
pub fn json_schema<U: UseCase>() -> Value {
    let settings = SchemaSettings::draft2020_12();
    json!({
        "$schema": settings.meta_schema,
        "title": U::NAME,
        "type": "object",
        "properties": {
            "request": property::<U>("request", settings.clone().for_deserialize()),
            "answer": property::<U::Answer>("answer", settings.for_serialize()),
        },
        "required": ["request", "answer"],
    })
}

/// The schema of a property, with the definitions that it refers to. What may be left out of a request may always be in
/// an answer, so the two share no definitions.
fn property<T: HasSchema>(name: &str, mut settings: SchemaSettings) -> Value {
    settings.definitions_path = format!("/properties/{name}/$defs").into();
    let mut generator = settings.into_generator();
    let mut schema = generator.subschema_for::<T>();
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema.into()
}
