//! Syntax nodes of Go.

use backstory_model::code::EntityKind;

use super::{Binding, Name, Refine, Role, Row, define, named, refined};

const TYPES: &[(&str, EntityKind)] = &[("struct_type", EntityKind::Struct), ("interface_type", EntityKind::Interface)];

pub(super) const ROWS: &[Row] = &[
    ("comment", Role::Comment),
    ("function_declaration", define(EntityKind::Function)),
    ("method_declaration", named(EntityKind::Method, Name::Receiver)),
    ("type_declaration", Role::Wrapper),
    ("const_declaration", Role::Wrapper),
    ("var_declaration", Role::Wrapper),
    ("type_spec", refined(EntityKind::TypeAlias, Refine::Field("type", TYPES))),
    ("type_alias", define(EntityKind::TypeAlias)),
    ("method_elem", define(EntityKind::Method)),
    ("const_spec", Role::Bind(Binding::Field(EntityKind::Constant, "name"))),
    ("var_spec", Role::Bind(Binding::Field(EntityKind::Variable, "name"))),
    ("field_declaration", Role::Embed),
    ("type_elem", Role::Embed),
    ("import_spec", Role::Import),
    ("call_expression", Role::Call("function")),
    ("interpreted_string_literal", Role::Opaque),
    ("raw_string_literal", Role::Opaque),
];
