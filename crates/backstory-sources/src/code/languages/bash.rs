//! Syntax nodes of Bash.

use backstory_model::code::EntityKind;

use super::{Binding, NodeRole, NodeRule, define};

pub(super) const ROWS: &[NodeRule] = &[
    ("comment", NodeRole::Comment),
    ("function_definition", define(EntityKind::Function)),
    ("variable_assignment", NodeRole::Bind(Binding::Field(EntityKind::Variable, "name"))),
    ("command", NodeRole::Call("name")),
    ("raw_string", NodeRole::Opaque),
    ("heredoc_body", NodeRole::Opaque),
];
