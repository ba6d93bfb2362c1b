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
fn schema_of_a_use_case_is_printed() {
    let sandbox = Sandbox::empty();
    assert_eq!(sandbox.run(&["schema", "trace"]).ok().json(), schemas()["trace"]);
    let error = sandbox.run(&["schema", "nothing"]).error(2).to_owned();
    assert!(
        error.starts_with("there is no use case 'nothing'; there are ") && error.contains(", ask, verify, "),
        "{error}"
    );
}
