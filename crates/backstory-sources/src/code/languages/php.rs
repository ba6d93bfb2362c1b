//! Syntax nodes of PHP.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, Refine, Role, Row, define, refined};

pub(super) const ROWS: &[Row] = &[
    ("comment", Role::Comment),
    ("attribute_list", Role::Opaque),
    // Without a body it names what follows in the file, which is most of PHP: names stay short.
    ("namespace_definition", refined(EntityKind::Namespace, Refine::Has("body"))),
    ("class_declaration", define(EntityKind::Class)),
    ("interface_declaration", define(EntityKind::Interface)),
    ("trait_declaration", define(EntityKind::Trait)),
    ("enum_declaration", define(EntityKind::Enum)),
    ("function_definition", define(EntityKind::Function)),
    ("method_declaration", define(EntityKind::Method)),
    ("const_declaration", Role::Bind(Binding::Descendant(EntityKind::Constant, "name"))),
    ("property_declaration", Role::Bind(Binding::Descendant(EntityKind::Variable, "variable_name"))),
    ("base_clause", Role::Base(SupertypeKind::Extends)),
    ("class_interface_clause", Role::Base(SupertypeKind::Implements)),
    ("use_declaration", Role::Base(SupertypeKind::Extends)),
    ("namespace_use_declaration", Role::Import),
    ("include_expression", Role::Import),
    ("include_once_expression", Role::Import),
    ("require_expression", Role::Import),
    ("require_once_expression", Role::Import),
    ("function_call_expression", Role::Call("function")),
    ("member_call_expression", Role::CallOn("object", "name")),
    ("nullsafe_member_call_expression", Role::CallOn("object", "name")),
    ("scoped_call_expression", Role::CallOn("scope", "name")),
    ("object_creation_expression", Role::Call("")),
    ("string", Role::Opaque),
    ("heredoc", Role::Opaque),
    ("text", Role::Opaque),
];
