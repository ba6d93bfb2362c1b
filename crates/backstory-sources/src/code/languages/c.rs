//! Syntax nodes of C, and what C++ adds to them.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, Definition, Name, NodeRole, NodeRule, Refine, define, named, refined};

pub(super) const ROWS: &[NodeRule] = &[
    ("comment", NodeRole::Comment),
    ("function_definition", named(EntityKind::Function, Name::Declarator)),
    ("struct_specifier", refined(EntityKind::Struct, Refine::Has("body"))),
    ("union_specifier", refined(EntityKind::Union, Refine::Has("body"))),
    ("enum_specifier", refined(EntityKind::Enum, Refine::Has("body"))),
    (
        "type_definition",
        NodeRole::Define(Definition { kind: EntityKind::TypeAlias, name: Name::Declarator, refine: Refine::Typedef }),
    ),
    ("declaration", NodeRole::Bind(Binding::Declarators)),
    ("preproc_function_def", define(EntityKind::Macro)),
    // A name without a value is a switch or an include guard.
    ("preproc_def", refined(EntityKind::Constant, Refine::Has("value"))),
    ("preproc_include", NodeRole::Import),
    ("call_expression", NodeRole::Call("function")),
    ("string_literal", NodeRole::Opaque),
    ("char_literal", NodeRole::Opaque),
    ("number_literal", NodeRole::Opaque),
    ("parameter_list", NodeRole::Opaque),
];

pub(super) const CPP_ROWS: &[NodeRule] = &[
    ("class_specifier", refined(EntityKind::Class, Refine::Has("body"))),
    ("namespace_definition", define(EntityKind::Namespace)),
    ("template_declaration", NodeRole::Wrapper),
    ("template_parameter_list", NodeRole::Opaque),
    ("alias_declaration", define(EntityKind::TypeAlias)),
    ("concept_definition", define(EntityKind::Interface)),
    ("field_declaration", NodeRole::Bind(Binding::Declarators)),
    ("base_class_clause", NodeRole::Base(SupertypeKind::Extends)),
    ("new_expression", NodeRole::Call("type")),
    ("raw_string_literal", NodeRole::Opaque),
];
