//! Null instead of what failed. The library leaves the keys of fields that fail out of the answer; the schema promises
//! null, in the nearest place that may be null.

use async_graphql::{
    Name, PathSegment, ServerError, Value,
    indexmap::IndexMap,
    parser::types::{OperationDefinition, SelectionSet},
    registry::{MetaType, MetaTypeName},
};

use super::selection::Selections;

/// Puts null into an answer where its errors say that something failed, or where that may be null that it belongs to.
pub(super) fn insert(
    selections: Selections<'_>,
    operation: &OperationDefinition,
    errors: &[ServerError],
    answer: &mut Value,
) {
    let paths = errors.iter().map(|error| error.path.as_slice()).filter(|path| !path.is_empty());
    paths.clone().for_each(|path| restore_objects(answer, path));
    let (root, sets) = (selections.root_type(operation.ty), [&operation.selection_set.node]);
    for path in paths {
        put_null(selections, answer, root, &sets, path);
    }
}

/// Makes objects again of those that the library makes null since all of their fields failed.
fn restore_objects(value: &mut Value, path: &[PathSegment]) {
    let Some((segment, rest)) = path.split_first() else { return };
    if let (PathSegment::Field(_), Value::Null) = (segment, &*value) {
        *value = Value::Object(IndexMap::new());
    }
    let inner = match (segment, value) {
        (PathSegment::Field(key), Value::Object(object)) => object.get_mut(key.as_str()),
        (PathSegment::Index(index), Value::List(items)) => items.get_mut(*index),
        _ => None,
    };
    if let Some(inner) = inner {
        restore_objects(inner, rest);
    }
}

/// Puts null where a path from a value leads, or as near to that as it may be. Returns whether the value had to be made null
/// but may not be.
fn put_null<'a>(
    selections: Selections<'a>,
    value: &mut Value,
    kind: &'a str,
    sets: &[&'a SelectionSet],
    path: &[PathSegment],
) -> bool {
    let is_lost = match path.split_first() {
        None => true,
        Some((PathSegment::Field(key), rest)) => match (&mut *value, find(selections, kind, sets, key)) {
            (Value::Object(object), Some((kind, sets))) => match object.get_mut(key.as_str()) {
                Some(inner) => put_null(selections, inner, kind, &sets, rest),
                None => {
                    object.insert(Name::new(key), Value::Null);
                    MetaTypeName::create(kind).is_non_null()
                }
            },
            // It has become null with something else that failed.
            _ => false,
        },
        Some((PathSegment::Index(index), rest)) => match value {
            Value::List(items) => {
                let item = items.get_mut(*index);
                item.is_some_and(|item| put_null(selections, item, item_type(kind), sets, rest))
            }
            _ => false,
        },
    };
    if is_lost {
        *value = Value::Null;
    }
    is_lost && MetaTypeName::create(kind).is_non_null()
}

/// The type of the field that has a key in objects of a type, and what is selected within it.
fn find<'a>(
    selections: Selections<'a>,
    kind: &'a str,
    sets: &[&'a SelectionSet],
    key: &str,
) -> Option<(&'a str, Vec<&'a SelectionSet>)> {
    let objects = selections.object_types(MetaTypeName::concrete_typename(kind));
    objects.into_iter().find_map(|object| {
        let fields = selections.registry.types.get(object).and_then(MetaType::fields)?;
        let selected = sets.iter().flat_map(|set| selections.fields(set, object));
        let selected: Vec<_> = selected.filter(|field| field.response_key().node.as_str() == key).collect();
        let meta = fields.get(selected.first()?.name.node.as_str())?;
        Some((meta.ty.as_str(), selected.iter().map(|field| &field.selection_set.node).collect()))
    })
}

/// The type of the items of a list.
fn item_type(kind: &str) -> &str {
    match MetaTypeName::create(kind) {
        MetaTypeName::NonNull(kind) => item_type(kind),
        MetaTypeName::List(kind) => kind,
        MetaTypeName::Named(kind) => kind,
    }
}
