//! Syntax nodes of Ruby.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, NodeRole, NodeRule, define};

pub(super) const ROWS: &[NodeRule] = &[
    ("comment", NodeRole::Comment),
    ("class", define(EntityKind::Class)),
    ("module", define(EntityKind::Module)),
    ("method", define(EntityKind::Function)),
    ("singleton_method", define(EntityKind::Function)),
    ("assignment", NodeRole::Bind(Binding::Assignment)),
    ("superclass", NodeRole::Base(SupertypeKind::Extends)),
    ("call", NodeRole::CallOn("receiver", "method")),
    ("heredoc_body", NodeRole::Opaque),
    ("regex", NodeRole::Opaque),
];
