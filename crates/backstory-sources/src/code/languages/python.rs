//! Syntax nodes of Python.

use backstory_model::code::EntityKind;

use super::{Binding, NodeRole, NodeRule, define};

pub(super) const ROWS: &[NodeRule] = &[
    ("comment", NodeRole::Comment),
    ("decorator", NodeRole::Attribute),
    ("decorated_definition", NodeRole::Wrapper),
    ("function_definition", define(EntityKind::Function)),
    ("class_definition", define(EntityKind::Class)),
    ("assignment", NodeRole::Bind(Binding::Assignment)),
    ("import_statement", NodeRole::Import),
    ("import_from_statement", NodeRole::Import),
    ("future_import_statement", NodeRole::Opaque),
    ("call", NodeRole::Call("function")),
    // A formatted string holds expressions, so strings are looked into.
    ("string_content", NodeRole::Transparent),
];
