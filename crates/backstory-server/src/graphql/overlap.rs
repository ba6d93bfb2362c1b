//! Whether the fields of each operation in `queries/` can be merged, as the specification and strict clients demand: what
//! stands under one name in an answer must be the same field with the same arguments, or, of objects that exclude each
//! other, at least of the same type. The library checks less.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use async_graphql::parser::{
    parse_query, parse_schema,
    types::{
        BaseType, ExecutableDocument, Field, OperationType, Selection, SelectionSet, ServiceDocument, Type, TypeKind,
        TypeSystemDefinition,
    },
};

/// The types of fields, by the type that they are of, and which types are objects.
struct Types {
    fields: HashMap<String, HashMap<String, Type>>,
    objects: Vec<String>,
}

impl Types {
    fn of(schema: &ServiceDocument) -> Self {
        let mut types = Self { fields: HashMap::new(), objects: Vec::new() };
        for definition in &schema.definitions {
            let TypeSystemDefinition::Type(definition) = definition else { continue };
            let name = definition.node.name.node.to_string();
            let fields = match &definition.node.kind {
                TypeKind::Object(object) => {
                    types.objects.push(name.clone());
                    &object.fields
                }
                TypeKind::Interface(interface) => &interface.fields,
                _ => continue,
            };
            let of = fields.iter().map(|field| (field.node.name.node.to_string(), field.node.ty.node.clone()));
            types.fields.insert(name, of.collect());
        }
        types
    }

    fn field(&self, parent: &str, name: &str) -> Option<&Type> {
        self.fields.get(parent)?.get(name)
    }

    /// Whether no object is of both types.
    fn exclude_each_other(&self, one: &str, other: &str) -> bool {
        one != other
            && self.objects.iter().any(|object| object == one)
            && self.objects.iter().any(|object| object == other)
    }
}

/// A field where it stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    parent: &'a str,
    field: &'a Field,
    kind: &'a Type,
}

struct Check<'a> {
    document: &'a ExecutableDocument,
    types: &'a Types,
    conflicts: Vec<String>,
}

impl<'a> Check<'a> {
    /// The fields of a selection on a type, by the name that they have in the answer.
    fn collect(&self, set: &'a SelectionSet, parent: &'a str, found: &mut BTreeMap<&'a str, Vec<Place<'a>>>) {
        for item in &set.items {
            match &item.node {
                Selection::Field(field) => {
                    let name = field.node.name.node.as_str();
                    if let Some(kind) = self.types.field(parent, name) {
                        let place = Place { parent, field: &field.node, kind };
                        found.entry(field.node.response_key().node.as_str()).or_default().push(place);
                    } else {
                        assert!(name.starts_with("__"), "{parent} has no field {name}");
                    }
                }
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref();
                    let on = on.map_or(parent, |condition| condition.node.on.node.as_str());
                    self.collect(&fragment.node.selection_set.node, on, found);
                }
                Selection::FragmentSpread(spread) => {
                    let fragment = &self.document.fragments[&spread.node.fragment_name.node].node;
                    self.collect(&fragment.selection_set.node, fragment.type_condition.node.on.node.as_str(), found);
                }
            }
        }
    }

    /// Checks selections that are merged into one object of the answer, each with the type that it is on.
    fn merge(&mut self, sets: &[(&'a SelectionSet, &'a str)]) {
        let mut found = BTreeMap::new();
        for (set, parent) in sets {
            self.collect(set, parent, &mut found);
        }
        for (name, places) in found {
            for (number, one) in places.iter().enumerate() {
                for other in &places[number + 1..] {
                    self.compare(name, *one, *other);
                }
            }
            let inner: Vec<_> =
                places.iter().map(|place| (&place.field.selection_set.node, base(&place.kind.base))).collect();
            if inner.iter().any(|(set, _)| !set.items.is_empty()) {
                self.merge(&inner);
            }
        }
    }

    fn compare(&mut self, name: &str, one: Place<'a>, other: Place<'a>) {
        let (first, second) = (one.field, other.field);
        let is_leaf = first.selection_set.node.items.is_empty();
        let is_alike = if is_leaf { one.kind == other.kind } else { shape(one.kind) == shape(other.kind) };
        let is_same = first.name.node == second.name.node && arguments(first) == arguments(second);
        if !is_alike || !(is_same || self.types.exclude_each_other(one.parent, other.parent)) {
            self.conflicts.push(format!("{name}: {}.{} and {}.{}", one.parent, first.name, other.parent, second.name));
        }
    }
}

fn base(of: &BaseType) -> &str {
    match of {
        BaseType::Named(name) => name.as_str(),
        BaseType::List(inner) => base(&inner.base),
    }
}

/// A type but for the name of what has fields.
fn shape(of: &Type) -> String {
    let inner = match &of.base {
        BaseType::Named(_) => "_".to_owned(),
        BaseType::List(inner) => format!("[{}]", shape(inner)),
    };
    if of.nullable { inner } else { inner + "!" }
}

fn arguments(of: &Field) -> BTreeMap<String, String> {
    of.arguments.iter().map(|(name, value)| (name.node.to_string(), value.node.to_string())).collect()
}

fn conflicts(text: &str) -> Vec<String> {
    let schema = parse_schema(super::sdl()).expect("the schema is valid");
    let document = parse_query(text).expect("the document is valid");
    let types = Types::of(&schema);
    let mut check = Check { document: &document, types: &types, conflicts: Vec::new() };
    for (_, operation) in document.operations.iter() {
        let root = match operation.node.ty {
            OperationType::Query => "Query",
            OperationType::Mutation => "Mutation",
            OperationType::Subscription => "Subscription",
        };
        check.merge(&[(&operation.node.selection_set.node, root)]);
    }
    check.conflicts
}

fn documents(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("the directory is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            documents(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn fields_of_every_operation_can_be_merged() {
    let mut found = Vec::new();
    documents(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../queries/graphql"), &mut found);
    assert!(found.len() > 45, "{}", found.len());
    for path in found {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        assert_eq!(conflicts(&text), Vec::<String>::new(), "{}", path.display());
    }
}

/// A document may ask any two nodes for the same field, since fields of one name have one type in all of them.
#[test]
fn conflicts_are_found() {
    for (text, is_fine) in [
        ("{ node(id: \"a\") { ... on Issue { title } ... on MergeRequest { title } } }", true),
        ("{ node(id: \"a\") { ... on Issue { labels { nodes { id } } } ... on Milestone { title } } }", true),
        ("{ node(id: \"a\") { ... on Issue { x: title } ... on Label { x: name } } }", false),
        ("{ node(id: \"a\") { ... on Issue { x: iid } ... on Issue { x: title } } }", false),
        ("{ issues(first: 1) { totalCount } issues(first: 2) { totalCount } }", false),
        ("{ issues { nodes { x: title } } ...More } fragment More on Query { issues { nodes { x: iid } } }", false),
    ] {
        assert_eq!(conflicts(text).is_empty(), is_fine, "{text}: {:?}", conflicts(text));
    }
}
