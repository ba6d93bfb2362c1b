//! Syntax nodes of Kotlin.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, Name, NodeRole, NodeRule, Refine, define, named, refined};

const CLASSES: &[(&str, EntityKind)] = &[("interface", EntityKind::Interface), ("enum", EntityKind::Enum)];

pub(super) const ROWS: &[NodeRule] = &[
    ("line_comment", NodeRole::Comment),
    ("block_comment", NodeRole::Comment),
    ("annotation", NodeRole::Opaque),
    ("file_annotation", NodeRole::Opaque),
    ("class_declaration", refined(EntityKind::Class, Refine::Keyword(CLASSES))),
    ("object_declaration", define(EntityKind::Class)),
    ("companion_object", named(EntityKind::Class, Name::Fixed("Companion"))),
    ("function_declaration", define(EntityKind::Function)),
    ("secondary_constructor", named(EntityKind::Method, Name::Fixed("constructor"))),
    ("type_alias", named(EntityKind::TypeAlias, Name::Field("type"))),
    ("property_declaration", NodeRole::Bind(Binding::Descendant(EntityKind::Variable, "variable_declaration"))),
    ("delegation_specifiers", NodeRole::Base(SupertypeKind::Extends)),
    ("import", NodeRole::Import),
    ("call_expression", NodeRole::Call("")),
];
