//! Checks the variables of a request against the definitions of its operation before it is executed. The library reads them
//! where fields use them, so it would execute the rest of an operation that lacks one, and does not name one that is wrong.

use std::collections::BTreeMap;

use async_graphql::{
    Value, Variables,
    parser::types::{BaseType, OperationDefinition, Type},
    registry::MetaType,
};
use backstory_engine::{
    error::{Error, ErrorKind},
    model::text::truncate_echo,
};

/// The types of the schema, by name.
type Types = BTreeMap<String, MetaType>;

/// Refuses variables that an operation cannot be executed with.
///
/// # Errors
/// One that must have a value has none, or one has a value of another type.
pub(super) fn check(operation: &OperationDefinition, variables: &Variables, types: &Types) -> Result<(), Error> {
    for definition in &operation.variable_definitions {
        let definition = &definition.node;
        let (name, kind) = (&definition.name.node, &definition.var_type.node);
        let problem = match variables.get(name) {
            None if kind.nullable || definition.default_value.is_some() => None,
            None => Some(no_value(&format!("${name}"), kind)),
            Some(value) => find_mismatch(types, kind, value, &format!("${name}")),
        };
        if let Some(problem) = problem {
            return Err(problem);
        }
    }
    Ok(())
}

/// What in a value is not of a type; `None` if all of it is. `place` says where the value stands.
fn find_mismatch(types: &Types, kind: &Type, value: &Value, place: &str) -> Option<Error> {
    match (&kind.base, value) {
        (_, Value::Null) => (!kind.nullable).then(|| no_value(place, kind)),
        (BaseType::List(inner), Value::List(values)) => {
            let mut numbered = values.iter().enumerate();
            numbered.find_map(|(at, value)| find_mismatch(types, inner, value, &format!("{place}[{at}]")))
        }
        // One value stands for a list of it.
        (BaseType::List(inner), value) => find_mismatch(types, inner, value, place),
        (BaseType::Named(name), value) => find_mismatch_of_named(types, name.as_str(), value, place),
    }
}

/// The same of a type with a name; one that is not known is refused by validation.
fn find_mismatch_of_named(types: &Types, name: &str, value: &Value, place: &str) -> Option<Error> {
    match (types.get(name)?, value) {
        (MetaType::Scalar { is_valid: Some(is_valid), .. }, value) => {
            (!is_valid(value)).then(|| wrong_value(place, value, name))
        }
        (MetaType::Enum { enum_values, .. }, value) => {
            let is_known = match value {
                Value::Enum(word) => enum_values.contains_key(word.as_str()),
                Value::String(word) => enum_values.contains_key(word.as_str()),
                _ => false,
            };
            let names = || enum_values.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            (!is_known).then(|| wrong_value(place, value, name).with_hint(format!("its values are {}", names())))
        }
        (MetaType::InputObject { input_fields, .. }, Value::Object(fields)) => {
            fields.iter().find_map(|(field, value)| {
                // Validation refuses fields that the type has not, or lacks.
                let kind = Type::new(&input_fields.get(field.as_str())?.ty)?;
                find_mismatch(types, &kind, value, &format!("{place}.{field}"))
            })
        }
        (MetaType::InputObject { .. }, value) => Some(wrong_value(place, value, name)),
        _ => None,
    }
}

fn no_value(place: &str, kind: &Type) -> Error {
    Error::new(ErrorKind::Invalid, format!("the variable {place} has no value; its type is {kind}"))
}

fn wrong_value(place: &str, value: &Value, kind: &str) -> Error {
    let (value, place) = (value.to_string(), truncate_echo(place));
    let message = format!("the variable {place} is {}; its type is {kind}", truncate_echo(&value));
    Error::new(ErrorKind::Invalid, message)
}
