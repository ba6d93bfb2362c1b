//! Syntax nodes of Go.

use backstory_model::code::EntityKind;

use super::{Binding, Name, NodeRole, NodeRule, Refine, define, named, refined};

const TYPES: &[(&str, EntityKind)] = &[("struct_type", EntityKind::Struct), ("interface_type", EntityKind::Interface)];

pub(super) const ROWS: &[NodeRule] = &[
    ("comment", NodeRole::Comment),
    ("function_declaration", define(EntityKind::Function)),
    ("method_declaration", named(EntityKind::Method, Name::Receiver)),
    ("type_declaration", NodeRole::Wrapper),
    ("const_declaration", NodeRole::Wrapper),
    ("var_declaration", NodeRole::Wrapper),
    ("type_spec", refined(EntityKind::TypeAlias, Refine::Field("type", TYPES))),
    ("type_alias", define(EntityKind::TypeAlias)),
    ("method_elem", define(EntityKind::Method)),
    ("const_spec", NodeRole::Bind(Binding::Field(EntityKind::Constant, "name"))),
    ("var_spec", NodeRole::Bind(Binding::Field(EntityKind::Variable, "name"))),
    ("field_declaration", NodeRole::Embed),
    ("type_elem", NodeRole::Embed),
    ("import_spec", NodeRole::Import),
    ("call_expression", NodeRole::Call("function")),
    ("interpreted_string_literal", NodeRole::Opaque),
    ("raw_string_literal", NodeRole::Opaque),
];
