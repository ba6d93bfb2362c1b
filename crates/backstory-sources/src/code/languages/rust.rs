//! Syntax nodes of Rust.

use backstory_model::code::EntityKind;

use super::{Refine, Role, Row, define, refined};

pub(super) const ROWS: &[Row] = &[
    ("line_comment", Role::Comment),
    ("block_comment", Role::Comment),
    ("attribute_item", Role::Attribute),
    ("inner_attribute_item", Role::Opaque),
    ("function_item", define(EntityKind::Function)),
    ("function_signature_item", define(EntityKind::Function)),
    ("struct_item", define(EntityKind::Struct)),
    ("enum_item", define(EntityKind::Enum)),
    ("union_item", define(EntityKind::Union)),
    ("trait_item", define(EntityKind::Trait)),
    ("type_item", define(EntityKind::TypeAlias)),
    ("associated_type", define(EntityKind::TypeAlias)),
    // `mod x;` is an import of the file that holds the module.
    ("mod_item", refined(EntityKind::Module, Refine::Has("body"))),
    ("macro_definition", define(EntityKind::Macro)),
    ("const_item", define(EntityKind::Constant)),
    ("static_item", define(EntityKind::Variable)),
    ("impl_item", Role::Implement),
    ("trait_bounds", Role::Opaque),
    ("use_declaration", Role::Import),
    ("call_expression", Role::Call("function")),
    ("macro_invocation", Role::Call("macro")),
    ("token_tree", Role::Tokens),
    ("string_literal", Role::Opaque),
    ("raw_string_literal", Role::Opaque),
    ("char_literal", Role::Opaque),
    ("macro_rule", Role::Opaque),
];
