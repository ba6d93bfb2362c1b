//! Syntax nodes of C, and what C++ adds to them.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, Definition, Name, Refine, Role, Row, define, named, refined};

pub(super) const ROWS: &[Row] = &[
    ("comment", Role::Comment),
    ("function_definition", named(EntityKind::Function, Name::Declarator)),
    ("struct_specifier", refined(EntityKind::Struct, Refine::Has("body"))),
    ("union_specifier", refined(EntityKind::Union, Refine::Has("body"))),
    ("enum_specifier", refined(EntityKind::Enum, Refine::Has("body"))),
    (
        "type_definition",
        Role::Define(Definition { kind: EntityKind::TypeAlias, name: Name::Declarator, refine: Refine::Typedef }),
    ),
    ("declaration", Role::Bind(Binding::Declarators)),
    ("preproc_function_def", define(EntityKind::Macro)),
    // A name without a value is a switch or an include guard.
    ("preproc_def", refined(EntityKind::Constant, Refine::Has("value"))),
    ("preproc_include", Role::Import),
    ("call_expression", Role::Call("function")),
    ("string_literal", Role::Opaque),
    ("char_literal", Role::Opaque),
    ("number_literal", Role::Opaque),
    ("parameter_list", Role::Opaque),
];

pub(super) const CPP_ROWS: &[Row] = &[
    ("class_specifier", refined(EntityKind::Class, Refine::Has("body"))),
    ("namespace_definition", define(EntityKind::Namespace)),
    ("template_declaration", Role::Wrapper),
    ("template_parameter_list", Role::Opaque),
    ("alias_declaration", define(EntityKind::TypeAlias)),
    ("concept_definition", define(EntityKind::Interface)),
    ("field_declaration", Role::Bind(Binding::Declarators)),
    ("base_class_clause", Role::Base(SupertypeKind::Extends)),
    ("new_expression", Role::Call("type")),
    ("raw_string_literal", Role::Opaque),
];
