//! What the walk does at each kind of syntax node, as one table per language; the tables are in `languages/`.

use std::sync::LazyLock;

use backstory_model::code::{EntityKind, Language, SupertypeKind};
use tree_sitter::Language as Grammar;

mod bash;
mod c;
mod csharp;
mod go;
mod java;
mod javascript;
mod kotlin;
mod php;
mod python;
mod ruby;
mod rust;

/// What a node is to the walk.
#[derive(Clone, Copy, Debug)]
pub(super) enum NodeRole {
    /// Nothing of itself; what is inside may be.
    Transparent,
    /// Nothing, and nothing inside is.
    Opaque,
    /// A comment.
    Comment,
    /// An attribute or decorator: it stands before a definition and is not part of it.
    Attribute,
    /// The definition inside begins where this begins, as with `export` or `template <…>`.
    Wrapper,
    /// A definition.
    Define(Definition),
    /// Constants or variables, if at the top level or in a type.
    Bind(Binding),
    /// A block that names what its content belongs to without defining it, as `impl`.
    Implement,
    /// A call: this field holds the callee, or the first child if it is empty.
    Call(&'static str),
    /// A call: these fields hold the receiver and the name.
    CallOn(&'static str, &'static str),
    /// The content of a macro call: words before parentheses are calls.
    Tokens,
    /// An import.
    Import,
    /// Names of types that the enclosing definition builds on.
    Base(SupertypeKind),
    /// The name of a type that the enclosing type embeds, if no name of a field is with it.
    Embed,
}

/// How a definition is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition {
    pub(super) kind: EntityKind,
    pub(super) name: Name,
    pub(super) refine: Refine,
}

/// Where the name of a definition stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name {
    /// In this field.
    Field(&'static str),
    /// Inside of the declarator, as in C.
    Declarator,
    /// In the field `name`, with the receiver's type before it, as in Go.
    Receiver,
    /// Nowhere: it is always this.
    Fixed(&'static str),
}

/// What decides whether it is a definition and of which kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refine {
    /// Nothing more.
    No,
    /// It is one only with this field.
    Has(&'static str),
    /// The kind of the node in a field decides, if it is listed.
    Field(&'static str, &'static [(&'static str, EntityKind)]),
    /// A child that is one of these words decides.
    Keyword(&'static [(&'static str, EntityKind)]),
    /// `typedef`: of a kind with what it names, if that is defined in place.
    Typedef,
}

/// How the names that a statement binds are found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Binding {
    /// In this field, which may come more than once.
    Field(EntityKind, &'static str),
    /// In C's declarators.
    Declarators,
    /// In the field `name`; a function or class as `value` makes it a function or class.
    Declarator,
    /// The left side of an assignment, if a plain word.
    Assignment,
    /// The last word of the left side, if the right side is a function or class.
    Member,
    /// In a child of this kind, or in a child of a child.
    Descendant(EntityKind, &'static str),
}

/// One row of a table.
pub(super) type NodeRule = (&'static str, NodeRole);

/// A definition whose name is in the field `name`.
const fn define(kind: EntityKind) -> NodeRole {
    NodeRole::Define(Definition { kind, name: Name::Field("name"), refine: Refine::No })
}

/// A definition that needs a second look.
const fn refined(kind: EntityKind, refine: Refine) -> NodeRole {
    NodeRole::Define(Definition { kind, name: Name::Field("name"), refine })
}

/// A definition whose name stands elsewhere than in the field `name`.
const fn named(kind: EntityKind, name: Name) -> NodeRole {
    NodeRole::Define(Definition { kind, name, refine: Refine::No })
}

/// A language as the walk sees it.
pub(super) struct LanguageSpec {
    pub(super) language: Language,
    pub(super) grammar: Grammar,
    /// By number of the node's kind.
    roles: Vec<NodeRole>,
}

impl LanguageSpec {
    fn new(language: Language, grammar: Grammar, rows: &[&[NodeRule]]) -> Self {
        let mut roles = vec![NodeRole::Transparent; grammar.node_kind_count()];
        // A name may have several numbers, and a later row replaces an earlier one.
        for (number, role) in roles.iter_mut().enumerate() {
            let number = u16::try_from(number).unwrap_or(u16::MAX);
            if !grammar.node_kind_is_named(number) {
                continue;
            }
            let kind = grammar.node_kind_for_id(number).unwrap_or_default();
            if let Some((_, found)) = rows.iter().rev().flat_map(|rows| rows.iter()).find(|(name, _)| *name == kind) {
                *role = *found;
            }
        }
        Self { language, grammar, roles }
    }

    /// What a node of that kind is.
    pub(super) fn role(&self, kind: u16) -> NodeRole {
        self.roles.get(usize::from(kind)).copied().unwrap_or(NodeRole::Transparent)
    }
}

fn grammar_and_rows(language: Language) -> (Grammar, Vec<&'static [NodeRule]>) {
    match language {
        Language::Rust => (tree_sitter_rust::LANGUAGE.into(), vec![rust::ROWS]),
        Language::Go => (tree_sitter_go::LANGUAGE.into(), vec![go::ROWS]),
        Language::Python => (tree_sitter_python::LANGUAGE.into(), vec![python::ROWS]),
        Language::TypeScript => (tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(), vec![javascript::ROWS]),
        Language::Tsx => (tree_sitter_typescript::LANGUAGE_TSX.into(), vec![javascript::ROWS]),
        Language::JavaScript => (tree_sitter_javascript::LANGUAGE.into(), vec![javascript::ROWS]),
        Language::Java => (tree_sitter_java::LANGUAGE.into(), vec![java::ROWS]),
        Language::C => (tree_sitter_c::LANGUAGE.into(), vec![c::ROWS]),
        Language::Cpp => (tree_sitter_cpp::LANGUAGE.into(), vec![c::ROWS, c::CPP_ROWS]),
        Language::CSharp => (tree_sitter_c_sharp::LANGUAGE.into(), vec![csharp::ROWS]),
        Language::Ruby => (tree_sitter_ruby::LANGUAGE.into(), vec![ruby::ROWS]),
        Language::Php => (tree_sitter_php::LANGUAGE_PHP.into(), vec![php::ROWS]),
        Language::Kotlin => (tree_sitter_kotlin_ng::LANGUAGE.into(), vec![kotlin::ROWS]),
        Language::Bash => (tree_sitter_bash::LANGUAGE.into(), vec![bash::ROWS]),
    }
}

/// The field of a type's definition that holds what it builds on, where no node of its own does.
pub(super) fn base_field(language: Language) -> Option<&'static str> {
    match language {
        Language::Rust => Some("bounds"),
        Language::Python => Some("superclasses"),
        _ => None,
    }
}

/// The language's place in [`Language::ALL`].
pub(super) fn position(language: Language) -> usize {
    language as usize
}

static SPECS: [LazyLock<LanguageSpec>; Language::ALL.len()] = {
    macro_rules! specs {
        ($($language:ident),*) => {
            [$(LazyLock::new(|| {
                let (grammar, rows) = grammar_and_rows(Language::$language);
                LanguageSpec::new(Language::$language, grammar, &rows)
            })),*]
        };
    }
    specs!(Rust, Go, Python, TypeScript, Tsx, JavaScript, Java, C, Cpp, CSharp, Ruby, Php, Kotlin, Bash)
};

/// The language as the walk sees it.
pub(super) fn spec(language: Language) -> &'static LanguageSpec {
    &SPECS[position(language)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_place_and_a_grammar_that_can_be_used() {
        for (at, language) in Language::ALL.into_iter().enumerate() {
            assert_eq!(position(language), at);
            assert_eq!(spec(language).language, language);
            tree_sitter::Parser::new().set_language(&spec(language).grammar).unwrap();
        }
    }

    #[test]
    fn every_row_names_a_node_and_fields_that_a_grammar_has() {
        // Languages that share rows: what one of them has not, another has.
        let shared = |language: Language| match language {
            Language::TypeScript | Language::Tsx => Language::JavaScript,
            Language::JavaScript => Language::TypeScript,
            Language::C => Language::Cpp,
            other => other,
        };
        for language in Language::ALL {
            let (grammar, rows) = grammar_and_rows(language);
            let (other, _) = grammar_and_rows(shared(language));
            for (kind, role) in rows.into_iter().flatten() {
                let known = [&grammar, &other].iter().any(|grammar| grammar.id_for_node_kind(kind, true) != 0);
                assert!(known, "{language:?} has no node {kind}");
                let field = match role {
                    NodeRole::Define(Definition { name: Name::Field(field), .. }) => *field,
                    NodeRole::Bind(Binding::Field(_, field)) | NodeRole::CallOn(_, field) => *field,
                    NodeRole::Call(field) if !field.is_empty() => *field,
                    _ => continue,
                };
                let known = [&grammar, &other].iter().any(|grammar| grammar.field_id_for_name(field).is_some());
                assert!(known, "{language:?} has no field {field}, which {kind} names");
            }
        }
    }
}
