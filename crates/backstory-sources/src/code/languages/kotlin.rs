//! Syntax nodes of Kotlin.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, Name, Refine, Role, Row, define, named, refined};

const CLASSES: &[(&str, EntityKind)] = &[("interface", EntityKind::Interface), ("enum", EntityKind::Enum)];

pub(super) const ROWS: &[Row] = &[
    ("line_comment", Role::Comment),
    ("block_comment", Role::Comment),
    ("annotation", Role::Opaque),
    ("file_annotation", Role::Opaque),
    ("class_declaration", refined(EntityKind::Class, Refine::Keyword(CLASSES))),
    ("object_declaration", define(EntityKind::Class)),
    ("companion_object", named(EntityKind::Class, Name::Fixed("Companion"))),
    ("function_declaration", define(EntityKind::Function)),
    ("secondary_constructor", named(EntityKind::Method, Name::Fixed("constructor"))),
    ("type_alias", named(EntityKind::TypeAlias, Name::Field("type"))),
    ("property_declaration", Role::Bind(Binding::Descendant(EntityKind::Variable, "variable_declaration"))),
    ("delegation_specifiers", Role::Base(SupertypeKind::Extends)),
    ("import", Role::Import),
    ("call_expression", Role::Call("")),
];
