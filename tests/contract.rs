//! The contract of the use cases: the schemas of their requests and answers.

use std::{collections::BTreeMap, fs, path::Path};

use backstory_engine::{
    use_case::{UseCase, json_schema},
    use_cases::{Visitor, visit_all},
};
use expect_test::expect_file;
use serde_json::Value;

use crate::support::Sandbox;

/// The schema of each use case, by its name.
#[derive(Default)]
struct Schemas(BTreeMap<&'static str, Value>);

impl Visitor for Schemas {
    fn visit<U: UseCase>(&mut self) {
        self.0.insert(U::NAME, json_schema::<U>());
    }
}

fn schemas() -> BTreeMap<&'static str, Value> {
    let mut schemas = Schemas::default();
    visit_all(&mut schemas);
    schemas.0
}

#[test]
fn schemas_in_the_repository_are_the_real_ones() {
    let schemas = schemas();
    for (name, schema) in &schemas {
        expect_file![format!("../schema/json/{name}.json")].assert_eq(&format!("{schema:#}\n"));
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/json");
    let mut files: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".json")?.to_owned()))
        .collect();
    files.sort();
    assert_eq!(files, Vec::from_iter(schemas.into_keys()), "files without a use case are to be deleted");
}

#[test]
fn every_reference_of_a_schema_leads_to_a_definition() {
    for (name, schema) in schemas() {
        let mut values = vec![&schema];
        while let Some(value) = values.pop() {
            match value {
                Value::Array(items) => values.extend(items),
                Value::Object(object) => {
                    if let Some(Value::String(reference)) = object.get("$ref") {
                        let pointer = reference.strip_prefix('#').unwrap();
                        assert!(schema.pointer(pointer).is_some(), "{name}: {reference}");
                    }
                    values.extend(object.values());
                }
                _ => {}
            }
        }
    }
}

#[test]
fn descriptions_show_numbers_and_null_instead_of_names_and_examples_of_the_sources() {
    let is_plain = |text: &str| !["[`", "MAX_", "MIN_", "`None`", "```"].iter().any(|name| text.contains(name));
    let schemas = schemas().into_iter().map(|(name, schema)| (name.to_owned(), schema));
    for (name, document) in schemas.chain([("openapi".to_owned(), backstory_server::openapi())]) {
        let mut values = vec![&document];
        while let Some(value) = values.pop() {
            match value {
                Value::String(text) => assert!(is_plain(text), "{name}: {text}"),
                Value::Array(items) => values.extend(items),
                Value::Object(object) => values.extend(object.values()),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }
    for line in include_str!("../schema/schema.graphql").lines() {
        assert!(is_plain(line), "schema.graphql: {line}");
    }
}

#[test]
fn requests_say_what_they_need() {
    let schemas = schemas();
    let required = |name: &str| -> Vec<String> {
        let request = &schemas[name]["properties"]["request"];
        let reference = request["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        let request = reference.map_or(request, |pointer| schemas[name].pointer(pointer).unwrap());
        let names = request["required"].as_array().cloned().unwrap_or_default();
        names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(required("search"), ["query"]);
    assert_eq!(required("retrieve"), ["query"]);
    assert_eq!(required("context"), ["about"]);
    assert_eq!(required("entity"), ["name"]);
    for name in ["jobs", "chats", "changes", "documents", "sync", "sync-status"] {
        assert!(required(name).is_empty(), "{name}");
    }
}

#[test]
fn schema_of_a_use_case_is_printed() {
    let sandbox = Sandbox::empty();
    assert_eq!(sandbox.run(&["schema", "trace"]).ok().json(), schemas()["trace"]);
    let error = sandbox.run(&["schema", "nothing"]).error(2).to_owned();
    assert!(
        error.starts_with("there is no use case 'nothing'; there are ") && error.contains(", ask, verify, "),
        "{error}"
    );
}
