//! Syntax nodes of Rust.

use backstory_model::code::EntityKind;

use super::{NodeRole, NodeRule, Refine, define, refined};

pub(super) const ROWS: &[NodeRule] = &[
    ("line_comment", NodeRole::Comment),
    ("block_comment", NodeRole::Comment),
    ("attribute_item", NodeRole::Attribute),
    ("inner_attribute_item", NodeRole::Opaque),
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
    ("impl_item", NodeRole::Implement),
    ("trait_bounds", NodeRole::Opaque),
    ("use_declaration", NodeRole::Import),
    ("call_expression", NodeRole::Call("function")),
    ("macro_invocation", NodeRole::Call("macro")),
    ("token_tree", NodeRole::Tokens),
    ("string_literal", NodeRole::Opaque),
    ("raw_string_literal", NodeRole::Opaque),
    ("char_literal", NodeRole::Opaque),
    ("macro_rule", NodeRole::Opaque),
];
