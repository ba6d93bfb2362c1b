//! Measures what a GraphQL document asks for before it is validated. Validation and execution follow every use of a
//! fragment, so a few kilobytes of fragments that use each other could otherwise keep them busy for hours.

use std::collections::{BTreeSet, HashMap};

use async_graphql::{
    Value,
    parser::types::{ExecutableDocument, Field, OperationType, Selection, SelectionSet},
};
use backstory_engine::{
    error::{Error, ErrorKind},
    model::role::ServerRole,
    use_case::Weight,
};

use super::limits::Limits;

/// Fields that answer about the schema.
const INTROSPECTION: [&str; 2] = ["__schema", "__type"];
/// Fields of introspection that are lists.
const INTROSPECTED_LISTS: [&str; 7] =
    ["types", "fields", "args", "inputFields", "interfaces", "possibleTypes", "enumValues"];
/// Fields of the query and mutation types that read, or take away, everything there is, or wait for a language model.
const LONG: [&str; 6] = ["check", "digest", "removeRepository", "ask", "sendMessage", "summarize"];
/// Fields that keep a processor busy for longer than a look at the stores.
const HEAVY: [&str; 19] = [
    "search",
    "chunks",
    "documents",
    "facts",
    "version",
    "content",
    "contributors",
    "hunks",
    "tree",
    "verify",
    "trace",
    "contextPack",
    "compareSnapshots",
    "history",
    "entity",
    "comments",
    "stats",
    "backup",
    "neighborhood",
];

/// Fields of the query, mutation and subscription types that every server answers, whatever its roles.
const ANY_ROLE: [&str; 13] = [
    "coverage",
    "task",
    "tasks",
    "taskProgress",
    "stopTask",
    "job",
    "jobs",
    "jobProgress",
    "repositories",
    "stats",
    "syncStatus",
    "backup",
    "webhookDeliveries",
];
/// The argument that is a `BigInt` where it is a number; elsewhere it is text, and validation refuses numbers.
const BIG_INTEGER: &str = "after";
/// Fields of the mutation type that answer questions.
const ANSWERING: [&str; 3] = ["createChat", "sendMessage", "summarize"];

/// What a selection asks for, with that of the fragments it uses.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    selections: usize,
    aliases: usize,
    depth: usize,
    /// Lists within each other, were this a part of introspection.
    lists: usize,
    /// Lists within each other in what is a part of introspection.
    introspected_lists: usize,
    weight: Weight,
}

impl Size {
    /// Of two selections beside each other.
    fn beside(self, other: Self) -> Self {
        Self {
            selections: self.selections.saturating_add(other.selections),
            aliases: self.aliases.saturating_add(other.aliases),
            depth: self.depth.max(other.depth),
            lists: self.lists.max(other.lists),
            introspected_lists: self.introspected_lists.max(other.introspected_lists),
            weight: self.weight.max(other.weight),
        }
    }
}

/// Refuses a document that exceeds the limits; says how much work it is.
///
/// # Errors
/// Which limit is exceeded, and by how much.
pub(super) fn examine(document: &ExecutableDocument, limits: &Limits) -> Result<Weight, Error> {
    let mut measure = Measure { document, limits, fragments: HashMap::new() };
    let mut total = Size::default();
    for (_, operation) in document.operations.iter() {
        total = total.beside(measure.set(&operation.node.selection_set.node, 0)?);
    }
    // Validation also visits fragments that no operation uses.
    for name in document.fragments.keys() {
        measure.fragment(name.as_str(), 0)?;
    }
    let split = "ask in several requests";
    let limited = [
        ("selects", total.selections, limits.selections, "fields", split),
        ("renames", total.aliases, limits.aliases, "fields", "ask in several requests, or for counts by 'groupBy'"),
        ("nests fields", total.depth, limits.depth, "levels deep", split),
        ("nests introspection", total.introspected_lists, limits.introspected_lists, "lists deep", split),
    ];
    for (verb, found, limit, unit, hint) in limited {
        if found > limit {
            let message = format!("the document {verb} {found} {unit}; at most {limit} are allowed");
            return Err(invalid(message).with_hint(hint));
        }
    }
    Ok(total.weight)
}

/// Returns the roles that a server must have for an operation of a document that is within the limits.
pub(super) fn required_roles(document: &ExecutableDocument, operation: Option<&str>) -> BTreeSet<ServerRole> {
    let mut roles = BTreeSet::new();
    for (name, definition) in document.operations.iter() {
        if operation.is_none() || name.map(|name| name.as_str()) == operation {
            let definition = &definition.node;
            add_roles(document, definition.ty, &definition.selection_set.node, &mut roles);
        }
    }
    roles
}

fn add_roles(
    document: &ExecutableDocument,
    operation: OperationType,
    set: &SelectionSet,
    roles: &mut BTreeSet<ServerRole>,
) {
    for item in &set.items {
        let inner = match &item.node {
            Selection::Field(field) => {
                roles.extend(role_of(operation, field.node.name.node.as_str()));
                continue;
            }
            Selection::InlineFragment(fragment) => Some(&fragment.node.selection_set),
            Selection::FragmentSpread(spread) => {
                document.fragments.get(&spread.node.fragment_name.node).map(|fragment| &fragment.node.selection_set)
            }
        };
        if let Some(inner) = inner {
            add_roles(document, operation, &inner.node, roles);
        }
    }
}

/// The role that a field of the query, mutation or subscription type needs.
fn role_of(operation: OperationType, field: &str) -> Option<ServerRole> {
    match operation {
        _ if ANY_ROLE.contains(&field) || field.starts_with("__") => None,
        OperationType::Mutation if field == "embed" => Some(ServerRole::Embed),
        OperationType::Mutation if !ANSWERING.contains(&field) => Some(ServerRole::Write),
        _ => Some(ServerRole::Read),
    }
}

/// Refuses text whose brackets are nested so deep that parsing it could exhaust the stack.
///
/// # Errors
/// The limit is exceeded.
pub(super) fn check_nesting(text: &str, limits: &Limits) -> Result<(), Error> {
    let mut depth = 0usize;
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            b'#' => rest = line_end(tail),
            b'"' => {
                rest = match tail {
                    [b'"', b'"', block @ ..] => block_string_end(block),
                    string => string_end(string),
                }
            }
            _ => {}
        }
        if depth > limits.nesting {
            return Err(invalid(format!("the document nests brackets more than {} deep", limits.nesting)));
        }
    }
    Ok(())
}

fn line_end(text: &[u8]) -> &[u8] {
    let length = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(text.len());
    &text[length..]
}

fn string_end(mut text: &[u8]) -> &[u8] {
    loop {
        match text {
            [b'\\', _, tail @ ..] => text = tail,
            [b'"' | b'\n', tail @ ..] => return tail,
            [_, tail @ ..] => text = tail,
            [] => return text,
        }
    }
}

fn block_string_end(mut text: &[u8]) -> &[u8] {
    loop {
        match text {
            [b'\\', b'"', b'"', b'"', tail @ ..] => text = tail,
            [b'"', b'"', b'"', tail @ ..] => return tail,
            [_, tail @ ..] => text = tail,
            [] => return text,
        }
    }
}

struct Measure<'a> {
    document: &'a ExecutableDocument,
    limits: &'a Limits,
    /// What each fragment asks for; `None` while it is being measured.
    fragments: HashMap<&'a str, Option<Size>>,
}

impl<'a> Measure<'a> {
    fn set(&mut self, set: &'a SelectionSet, level: usize) -> Result<Size, Error> {
        let mut total = Size::default();
        for item in &set.items {
            let size = match &item.node {
                Selection::Field(field) => self.field(&field.node, level)?,
                Selection::InlineFragment(fragment) => self.set(&fragment.node.selection_set.node, level)?,
                Selection::FragmentSpread(spread) => {
                    let mut size = self.fragment(spread.node.fragment_name.node.as_str(), level)?;
                    size.selections = size.selections.saturating_add(1);
                    size
                }
            };
            total = total.beside(size);
        }
        Ok(total)
    }

    fn field(&mut self, field: &'a Field, level: usize) -> Result<Size, Error> {
        let name = field.name.node.as_str();
        for (argument, value) in field.arguments.iter().filter(|(argument, _)| argument.node != BIG_INTEGER) {
            // What variables hold is not known here, and is read by the field.
            let value = value.node.clone().into_const_with::<()>(|_| Ok(Value::Null)).unwrap_or_default();
            check_integers(argument.node.as_str(), &value)?;
        }
        let mut size = self.set(&field.selection_set.node, level)?;
        size.selections = size.selections.saturating_add(1);
        size.aliases = size.aliases.saturating_add(usize::from(field.alias.is_some()));
        size.lists += usize::from(INTROSPECTED_LISTS.contains(&name));
        let own = match name {
            name if LONG.contains(&name) => Weight::Long,
            name if HEAVY.contains(&name) => Weight::Heavy,
            // Files and the like have a path too, which takes no arguments.
            "path" if !field.arguments.is_empty() => Weight::Heavy,
            _ => Weight::Light,
        };
        size.weight = size.weight.max(own);
        if INTROSPECTION.contains(&name) {
            size.introspected_lists = size.lists;
            size.depth = 0;
        }
        size.depth += 1;
        Ok(size)
    }

    /// Measures a fragment once. One that is not defined is refused by validation.
    fn fragment(&mut self, name: &str, level: usize) -> Result<Size, Error> {
        let Some((name, definition)) = self.document.fragments.get_key_value(name) else {
            return Ok(Size::default());
        };
        if let Some(measured) = self.fragments.get(name.as_str()) {
            return measured.ok_or_else(|| invalid(format!("the fragment {name} uses itself")));
        }
        if level > self.limits.nesting {
            return Err(invalid(format!("fragments use each other more than {} deep", self.limits.nesting)));
        }
        self.fragments.insert(name.as_str(), None);
        let size = self.set(&definition.node.selection_set.node, level + 1)?;
        self.fragments.insert(name.as_str(), Some(size));
        Ok(size)
    }
}

/// Refuses integers that GraphQL has not: fields that nobody reads would let them pass.
fn check_integers(argument: &str, value: &Value) -> Result<(), Error> {
    match value {
        Value::Number(number)
            if !number.is_f64() && number.as_i64().is_none_or(|number| i32::try_from(number).is_err()) =>
        {
            Err(invalid(format!("{argument}: {number} is not an Int; those are {} to {}", i32::MIN, i32::MAX)))
        }
        Value::List(values) => values.iter().try_for_each(|value| check_integers(argument, value)),
        Value::Object(fields) => fields.values().try_for_each(|value| check_integers(argument, value)),
        _ => Ok(()),
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
