//! Syntax nodes of Java.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, NodeRole, NodeRule, define};

pub(super) const ROWS: &[NodeRule] = &[
    ("line_comment", NodeRole::Comment),
    ("block_comment", NodeRole::Comment),
    ("annotation", NodeRole::Opaque),
    ("marker_annotation", NodeRole::Opaque),
    ("class_declaration", define(EntityKind::Class)),
    ("record_declaration", define(EntityKind::Class)),
    ("enum_declaration", define(EntityKind::Enum)),
    ("interface_declaration", define(EntityKind::Interface)),
    ("annotation_type_declaration", define(EntityKind::Interface)),
    ("method_declaration", define(EntityKind::Method)),
    ("annotation_type_element_declaration", define(EntityKind::Method)),
    ("constructor_declaration", define(EntityKind::Method)),
    ("compact_constructor_declaration", define(EntityKind::Method)),
    ("field_declaration", NodeRole::Bind(Binding::Descendant(EntityKind::Variable, "variable_declarator"))),
    ("constant_declaration", NodeRole::Bind(Binding::Descendant(EntityKind::Constant, "variable_declarator"))),
    ("import_declaration", NodeRole::Import),
    ("superclass", NodeRole::Base(SupertypeKind::Extends)),
    ("extends_interfaces", NodeRole::Base(SupertypeKind::Extends)),
    ("super_interfaces", NodeRole::Base(SupertypeKind::Implements)),
    ("method_invocation", NodeRole::CallOn("object", "name")),
    ("object_creation_expression", NodeRole::Call("type")),
    ("string_literal", NodeRole::Opaque),
    ("formal_parameters", NodeRole::Opaque),
];
