//! Syntax nodes of Bash.

use backstory_model::code::EntityKind;

use super::{Binding, Role, Row, define};

pub(super) const ROWS: &[Row] = &[
    ("comment", Role::Comment),
    ("function_definition", define(EntityKind::Function)),
    ("variable_assignment", Role::Bind(Binding::Field(EntityKind::Variable, "name"))),
    ("command", Role::Call("name")),
    ("raw_string", Role::Opaque),
    ("heredoc_body", Role::Opaque),
];
