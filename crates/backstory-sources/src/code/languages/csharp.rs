//! Syntax nodes of C#.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, Name, NodeRole, NodeRule, define, named};

pub(super) const ROWS: &[NodeRule] = &[
    ("comment", NodeRole::Comment),
    ("attribute_list", NodeRole::Opaque),
    ("namespace_declaration", define(EntityKind::Namespace)),
    ("class_declaration", define(EntityKind::Class)),
    ("record_declaration", define(EntityKind::Class)),
    ("struct_declaration", define(EntityKind::Struct)),
    ("interface_declaration", define(EntityKind::Interface)),
    ("enum_declaration", define(EntityKind::Enum)),
    ("delegate_declaration", define(EntityKind::TypeAlias)),
    ("method_declaration", define(EntityKind::Method)),
    ("constructor_declaration", define(EntityKind::Method)),
    ("destructor_declaration", define(EntityKind::Method)),
    ("operator_declaration", named(EntityKind::Method, Name::Field("operator"))),
    ("indexer_declaration", named(EntityKind::Method, Name::Fixed("this"))),
    ("local_function_statement", define(EntityKind::Function)),
    ("property_declaration", define(EntityKind::Variable)),
    ("event_declaration", define(EntityKind::Variable)),
    ("field_declaration", NodeRole::Bind(Binding::Descendant(EntityKind::Variable, "variable_declarator"))),
    ("event_field_declaration", NodeRole::Bind(Binding::Descendant(EntityKind::Variable, "variable_declarator"))),
    ("base_list", NodeRole::Base(SupertypeKind::Extends)),
    ("using_directive", NodeRole::Import),
    ("invocation_expression", NodeRole::Call("function")),
    ("object_creation_expression", NodeRole::Call("type")),
    ("string_literal", NodeRole::Opaque),
    ("verbatim_string_literal", NodeRole::Opaque),
    ("raw_string_literal", NodeRole::Opaque),
    ("parameter_list", NodeRole::Opaque),
];
