//! Syntax nodes of Python.

use backstory_model::code::EntityKind;

use super::{Binding, Role, Row, define};

pub(super) const ROWS: &[Row] = &[
    ("comment", Role::Comment),
    ("decorator", Role::Attribute),
    ("decorated_definition", Role::Wrapper),
    ("function_definition", define(EntityKind::Function)),
    ("class_definition", define(EntityKind::Class)),
    ("assignment", Role::Bind(Binding::Assignment)),
    ("import_statement", Role::Import),
    ("import_from_statement", Role::Import),
    ("future_import_statement", Role::Opaque),
    ("call", Role::Call("function")),
    // A formatted string holds expressions, so strings are looked into.
    ("string_content", Role::Transparent),
];
