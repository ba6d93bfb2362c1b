//! Syntax nodes of Java.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, Role, Row, define};

pub(super) const ROWS: &[Row] = &[
    ("line_comment", Role::Comment),
    ("block_comment", Role::Comment),
    ("annotation", Role::Opaque),
    ("marker_annotation", Role::Opaque),
    ("class_declaration", define(EntityKind::Class)),
    ("record_declaration", define(EntityKind::Class)),
    ("enum_declaration", define(EntityKind::Enum)),
    ("interface_declaration", define(EntityKind::Interface)),
    ("annotation_type_declaration", define(EntityKind::Interface)),
    ("method_declaration", define(EntityKind::Method)),
    ("annotation_type_element_declaration", define(EntityKind::Method)),
    ("constructor_declaration", define(EntityKind::Method)),
    ("compact_constructor_declaration", define(EntityKind::Method)),
    ("field_declaration", Role::Bind(Binding::Descendant(EntityKind::Variable, "variable_declarator"))),
    ("constant_declaration", Role::Bind(Binding::Descendant(EntityKind::Constant, "variable_declarator"))),
    ("import_declaration", Role::Import),
    ("superclass", Role::Base(SupertypeKind::Extends)),
    ("extends_interfaces", Role::Base(SupertypeKind::Extends)),
    ("super_interfaces", Role::Base(SupertypeKind::Implements)),
    ("method_invocation", Role::CallOn("object", "name")),
    ("object_creation_expression", Role::Call("type")),
    ("string_literal", Role::Opaque),
    ("formal_parameters", Role::Opaque),
];
