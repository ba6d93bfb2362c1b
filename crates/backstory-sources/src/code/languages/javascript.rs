//! Syntax nodes of JavaScript and TypeScript.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, Role, Row, define};

pub(super) const ROWS: &[Row] = &[
    ("comment", Role::Comment),
    ("html_comment", Role::Comment),
    ("decorator", Role::Attribute),
    ("export_statement", Role::Wrapper),
    ("ambient_declaration", Role::Wrapper),
    ("lexical_declaration", Role::Wrapper),
    ("variable_declaration", Role::Wrapper),
    ("function_declaration", define(EntityKind::Function)),
    ("generator_function_declaration", define(EntityKind::Function)),
    ("function_signature", define(EntityKind::Function)),
    ("class_declaration", define(EntityKind::Class)),
    ("abstract_class_declaration", define(EntityKind::Class)),
    ("interface_declaration", define(EntityKind::Interface)),
    ("type_alias_declaration", define(EntityKind::TypeAlias)),
    ("enum_declaration", define(EntityKind::Enum)),
    ("internal_module", define(EntityKind::Namespace)),
    ("module", define(EntityKind::Module)),
    ("method_definition", define(EntityKind::Method)),
    ("method_signature", define(EntityKind::Method)),
    ("abstract_method_signature", define(EntityKind::Method)),
    ("variable_declarator", Role::Bind(Binding::Declarator)),
    ("public_field_definition", Role::Bind(Binding::Declarator)),
    ("field_definition", Role::Bind(Binding::Declarator)),
    ("assignment_expression", Role::Bind(Binding::Member)),
    ("import_statement", Role::Import),
    ("extends_clause", Role::Base(SupertypeKind::Extends)),
    ("extends_type_clause", Role::Base(SupertypeKind::Extends)),
    ("implements_clause", Role::Base(SupertypeKind::Implements)),
    ("call_expression", Role::Call("function")),
    ("new_expression", Role::Call("constructor")),
    ("string", Role::Opaque),
    ("regex", Role::Opaque),
    ("type_annotation", Role::Opaque),
    ("type_arguments", Role::Opaque),
    ("type_parameters", Role::Opaque),
];
