//! Syntax nodes of JavaScript and TypeScript.

use backstory_model::code::{EntityKind, SupertypeKind};

use super::{Binding, NodeRole, NodeRule, define};

pub(super) const ROWS: &[NodeRule] = &[
    ("comment", NodeRole::Comment),
    ("html_comment", NodeRole::Comment),
    ("decorator", NodeRole::Attribute),
    ("export_statement", NodeRole::Wrapper),
    ("ambient_declaration", NodeRole::Wrapper),
    ("lexical_declaration", NodeRole::Wrapper),
    ("variable_declaration", NodeRole::Wrapper),
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
    ("variable_declarator", NodeRole::Bind(Binding::Declarator)),
    ("public_field_definition", NodeRole::Bind(Binding::Declarator)),
    ("field_definition", NodeRole::Bind(Binding::Declarator)),
    ("assignment_expression", NodeRole::Bind(Binding::Member)),
    ("import_statement", NodeRole::Import),
    ("extends_clause", NodeRole::Base(SupertypeKind::Extends)),
    ("extends_type_clause", NodeRole::Base(SupertypeKind::Extends)),
    ("implements_clause", NodeRole::Base(SupertypeKind::Implements)),
    ("call_expression", NodeRole::Call("function")),
    ("new_expression", NodeRole::Call("constructor")),
    ("string", NodeRole::Opaque),
    ("regex", NodeRole::Opaque),
    ("type_annotation", NodeRole::Opaque),
    ("type_arguments", NodeRole::Opaque),
    ("type_parameters", NodeRole::Opaque),
];
