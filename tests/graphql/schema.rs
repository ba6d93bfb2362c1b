//! Rules that the schema as a whole keeps.

use std::collections::BTreeMap;

/// A field of an object type.
struct Field {
    object: String,
    is_of_node: bool,
    name: String,
    kind: String,
}

/// The fields of all object types of the schema in the repository, which another test keeps true. It is printed in one
/// way: fields begin after two spaces, arguments after four.
fn fields() -> Vec<Field> {
    let mut fields = Vec::new();
    let (mut object, mut pending, mut in_description) = (None, String::new(), false);
    for line in include_str!("../../schema/schema.graphql").lines() {
        if line.trim() == "\"\"\"" {
            in_description = !in_description;
        } else if let Some(header) = line.strip_prefix("type ") {
            let name = header.split(' ').next().unwrap().to_owned();
            let is_of_node = header.split([' ', '&']).any(|word| word == "Node");
            object = Some((name, is_of_node));
        } else if line == "}" {
            object = None;
        } else if let (Some((object, is_of_node)), Some(field)) = (&object, line.strip_prefix("  ")) {
            let is_field = !in_description && !field.starts_with([' ', '"']);
            let (name, kind) = match field.split_once(": ") {
                Some((")", kind)) => (std::mem::take(&mut pending), kind),
                Some((name, kind)) if is_field => (name.to_owned(), kind),
                _ => {
                    if is_field {
                        pending = field.trim_end_matches('(').to_owned();
                    }
                    continue;
                }
            };
            fields.push(Field { object: object.clone(), is_of_node: *is_of_node, name, kind: kind.to_owned() });
        }
    }
    fields
}

/// Otherwise `... on A { name } ... on B { name }` is refused by clients that validate: fields of the same name must
/// have the same type, whatever object they are of.
#[test]
fn fields_of_the_same_name_have_one_type_in_all_nodes() {
    let mut types: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for field in fields().into_iter().filter(|field| field.is_of_node) {
        types.entry(field.name).or_default().entry(field.kind).or_default().push(field.object);
    }
    assert!(types["id"]["ID!"].len() >= 14 && types["edges"]["EdgeConnection!"].len() >= 14, "{types:#?}");
    types.retain(|_, by_type| by_type.len() > 1);
    assert!(types.is_empty(), "{types:#?}");
}

/// An `Int` has 32 bits, and clients that are strict refuse more.
#[test]
fn what_may_be_large_is_no_int() {
    let large = ["bytes", "contentsBytes", "quads", "ledgerSeq", "graphSeq", "indexSeq"];
    let mut found = Vec::new();
    for field in fields() {
        if large.contains(&field.name.as_str()) && !field.kind.starts_with('[') {
            assert_eq!(field.kind.trim_end_matches('!'), "BigInt", "{}.{}", field.object, field.name);
            found.push(field.name);
        }
    }
    assert!(large.iter().all(|name| found.iter().any(|other| other == name)), "{found:?}");
}
