//! Syntax nodes of Ruby.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, Role, Row, define};

pub(super) const ROWS: &[Row] = &[
    ("comment", Role::Comment),
    ("class", define(EntityKind::Class)),
    ("module", define(EntityKind::Module)),
    ("method", define(EntityKind::Function)),
    ("singleton_method", define(EntityKind::Function)),
    ("assignment", Role::Bind(Binding::Assignment)),
    ("superclass", Role::Base(SupertypeKind::Extends)),
    ("call", Role::CallOn("receiver", "method")),
    ("heredoc_body", Role::Opaque),
    ("regex", Role::Opaque),
];
