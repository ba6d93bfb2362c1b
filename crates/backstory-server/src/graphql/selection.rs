//! What a document selects from objects of each type: which fragments apply to them, and the order of their fields.

use std::collections::HashMap;

use async_graphql::{
    Name, Positioned, Value,
    indexmap::IndexMap,
    parser::types::{
        ExecutableDocument, Field, FragmentDefinition, OperationDefinition, OperationType, Selection, SelectionSet,
        TypeCondition,
    },
    registry::{MetaType, MetaTypeName, Registry},
};

/// Selections of a document, read with the types of the schema.
#[derive(Clone, Copy)]
pub(super) struct Selections<'a> {
    pub(super) registry: &'a Registry,
    fragments: &'a HashMap<Name, Positioned<FragmentDefinition>>,
}

impl<'a> Selections<'a> {
    /// Of a document whose fragments do not use themselves.
    pub(super) fn new(registry: &'a Registry, document: &'a ExecutableDocument) -> Self {
        Self { registry, fragments: &document.fragments }
    }

    /// Returns the name of the type that an operation begins at.
    pub(super) fn root_type(&self, operation: OperationType) -> &'a str {
        match operation {
            OperationType::Query => &self.registry.query_type,
            OperationType::Mutation => self.registry.mutation_type.as_deref().unwrap_or_default(),
            OperationType::Subscription => self.registry.subscription_type.as_deref().unwrap_or_default(),
        }
    }

    /// Returns the names of the object types that values of a type have.
    pub(super) fn object_types(&self, name: &'a str) -> Vec<&'a str> {
        match self.registry.types.get(name) {
            Some(MetaType::Interface { possible_types, .. } | MetaType::Union { possible_types, .. }) => {
                possible_types.iter().map(String::as_str).collect()
            }
            _ => vec![name],
        }
    }

    /// Returns the fields that a selection set selects from objects of a type, with those of fragments that apply to
    /// it, in the order of the document.
    pub(super) fn fields(&self, set: &'a SelectionSet, object: &str) -> Vec<&'a Field> {
        let mut fields = Vec::new();
        self.add_fields(set, object, &mut fields);
        fields
    }

    fn add_fields(&self, set: &'a SelectionSet, object: &str, fields: &mut Vec<&'a Field>) {
        for item in &set.items {
            let (condition, inner) = match &item.node {
                Selection::Field(field) => {
                    fields.push(&field.node);
                    continue;
                }
                Selection::InlineFragment(fragment) => {
                    (fragment.node.type_condition.as_ref(), &fragment.node.selection_set)
                }
                Selection::FragmentSpread(spread) => match self.fragments.get(&spread.node.fragment_name.node) {
                    Some(fragment) => (Some(&fragment.node.type_condition), &fragment.node.selection_set),
                    None => continue,
                },
            };
            if condition.is_none_or(|condition| self.applies(&condition.node, object)) {
                self.add_fields(&inner.node, object, fields);
            }
        }
    }

    fn applies(&self, condition: &TypeCondition, object: &str) -> bool {
        self.registry.types.get(condition.on.node.as_str()).is_some_and(|kind| kind.is_possible_type(object))
    }

    /// Puts the keys of the answer to an operation into the order of the document. The library fills objects in the
    /// order in which fields are read.
    pub(super) fn order(self, operation: &'a OperationDefinition, answer: &mut Value) {
        let root = self.root_type(operation.ty);
        Orderer { selections: self, known: HashMap::new() }.order(answer, &[&operation.selection_set.node], root);
    }
}

/// What an object of a type has, in order: the selections within each key, and the type of its value.
type Shape<'a> = IndexMap<&'a str, (Vec<&'a SelectionSet>, &'a str)>;

/// Puts values into order.
struct Orderer<'a> {
    selections: Selections<'a>,
    /// The shapes that objects may have, by the addresses of their selection sets and their type.
    known: HashMap<(Vec<*const SelectionSet>, &'a str), std::rc::Rc<[Shape<'a>]>>,
}

impl<'a> Orderer<'a> {
    fn order(&mut self, value: &mut Value, sets: &[&'a SelectionSet], type_name: &'a str) {
        match value {
            Value::List(items) => items.iter_mut().for_each(|item| self.order(item, sets, type_name)),
            // The fields of a scalar that is an object were not selected.
            Value::Object(object) if sets.iter().any(|set| !set.items.is_empty()) => {
                let shapes = self.shapes(sets, type_name);
                let fits = |shape: &&Shape<'a>| object.keys().all(|key| shape.contains_key(key.as_str()));
                // An object does not say which type it has; the fewest fields that it can be of are those of its type.
                let Some(shape) = shapes.iter().filter(fits).min_by_key(|shape| shape.len()) else { return };
                let mut unordered = std::mem::take(object);
                for (key, (inner, type_name)) in shape {
                    if let Some((name, mut value)) = unordered.swap_remove_entry(*key) {
                        self.order(&mut value, inner, type_name);
                        object.insert(name, value);
                    }
                }
            }
            _ => {}
        }
    }

    fn shapes(&mut self, sets: &[&'a SelectionSet], type_name: &'a str) -> std::rc::Rc<[Shape<'a>]> {
        let key = (sets.iter().map(|set| std::ptr::from_ref(*set)).collect(), type_name);
        if let Some(shapes) = self.known.get(&key) {
            return shapes.clone();
        }
        let objects = self.selections.object_types(type_name);
        let shapes: std::rc::Rc<[Shape<'a>]> = objects.into_iter().map(|object| self.shape(sets, object)).collect();
        self.known.insert(key, shapes.clone());
        shapes
    }

    fn shape(&self, sets: &[&'a SelectionSet], object: &'a str) -> Shape<'a> {
        let fields = self.selections.registry.types.get(object).and_then(MetaType::fields);
        let mut shape = Shape::new();
        for field in sets.iter().flat_map(|set| self.selections.fields(set, object)) {
            let meta = fields.and_then(|fields| fields.get(field.name.node.as_str()));
            let type_name = meta.map_or("", |meta| MetaTypeName::concrete_typename(&meta.ty));
            let (inner, _) = shape.entry(field.response_key().node.as_str()).or_insert((Vec::new(), type_name));
            inner.push(&field.selection_set.node);
        }
        shape
    }
}
