//! Syntax nodes of PHP.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, NodeRole, NodeRule, Refine, define, refined};

pub(super) const ROWS: &[NodeRule] = &[
    ("comment", NodeRole::Comment),
    ("attribute_list", NodeRole::Opaque),
    // Without a body it names what follows in the file, which is most of PHP: names stay short.
    ("namespace_definition", refined(EntityKind::Namespace, Refine::Has("body"))),
    ("class_declaration", define(EntityKind::Class)),
    ("interface_declaration", define(EntityKind::Interface)),
    ("trait_declaration", define(EntityKind::Trait)),
    ("enum_declaration", define(EntityKind::Enum)),
    ("function_definition", define(EntityKind::Function)),
    ("method_declaration", define(EntityKind::Method)),
    ("const_declaration", NodeRole::Bind(Binding::Descendant(EntityKind::Constant, "name"))),
    ("property_declaration", NodeRole::Bind(Binding::Descendant(EntityKind::Variable, "variable_name"))),
    ("base_clause", NodeRole::Base(SupertypeKind::Extends)),
    ("class_interface_clause", NodeRole::Base(SupertypeKind::Implements)),
    ("use_declaration", NodeRole::Base(SupertypeKind::Extends)),
    ("namespace_use_declaration", NodeRole::Import),
    ("include_expression", NodeRole::Import),
    ("include_once_expression", NodeRole::Import),
    ("require_expression", NodeRole::Import),
    ("require_once_expression", NodeRole::Import),
    ("function_call_expression", NodeRole::Call("function")),
    ("member_call_expression", NodeRole::CallOn("object", "name")),
    ("nullsafe_member_call_expression", NodeRole::CallOn("object", "name")),
    ("scoped_call_expression", NodeRole::CallOn("scope", "name")),
    ("object_creation_expression", NodeRole::Call("")),
    ("string", NodeRole::Opaque),
    ("heredoc", NodeRole::Opaque),
    ("text", NodeRole::Opaque),
];
