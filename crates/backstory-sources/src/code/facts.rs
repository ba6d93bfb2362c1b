//! Facts of a file's syntax tree: its nodes, as the grammar names them. Which are told unless a request names them is data:
//! those that the language's table in `languages/` knows as definitions, bindings, imports and comments.

use backstory_model::code::{FileKind, Language, Lines};
use tree_sitter::{Parser, TreeCursor};

use super::{
    detect::detect,
    languages::{self, LanguageSpec, NodeRole},
    parse, rows,
};

/// Longest text of a fact, in bytes.
pub const MAX_FACT_TEXT: usize = 2_000;
/// Most nodes of a tree that are looked at.
const MAX_NODES: usize = 2_000_000;

/// A node of a syntax tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxFact {
    /// Its type in the grammar, `function_definition`.
    pub node_type: String,
    /// What it says, at most [`MAX_FACT_TEXT`] bytes.
    pub text: String,
    /// Whether that is not all.
    pub shortened: bool,
    /// Its lines.
    pub lines: Lines,
    /// The field of its parent that holds it, `name`.
    pub field: Option<String>,
}

/// The facts of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxFacts {
    /// In the order of the text, what contains others before them.
    pub facts: Vec<SyntaxFact>,
    /// How many there are besides.
    pub left_out: usize,
    /// Whether something in the file is no valid code of its language.
    pub syntax_errors: bool,
}

/// Why there are no facts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactsError {
    /// It is no code of a language with a grammar.
    #[error("it is not source code in a language with a grammar")]
    NoGrammar,
    /// The grammar has no such node.
    #[error("the grammar of {} has no node type '{name}'", language.name())]
    UnknownType {
        /// The language.
        language: Language,
        /// The name that was asked for.
        name: String,
    },
    /// It cannot be parsed within the limits.
    #[error("it is too large, or nested too deep, to be parsed")]
    TooLarge,
}

/// Name and version of the grammar that reads a language: its own version, or that of its tables if it names none.
pub fn grammar_version(language: Language) -> String {
    let grammar = &languages::spec(language).grammar;
    let name = grammar.name().map_or_else(|| language.name().to_lowercase(), str::to_owned);
    match grammar.metadata() {
        Some(version) => {
            let (major, minor, patch) = (version.major_version, version.minor_version, version.patch_version);
            format!("tree-sitter-{name} {major}.{minor}.{patch}")
        }
        None => format!("tree-sitter-{name} ABI {}", grammar.abi_version()),
    }
}

/// The nodes of a file that have one of these types, or those that the table of its language names if there are none.
///
/// # Errors
/// See [`FactsError`].
pub fn syntax_facts(path: &str, source: &str, types: &[String], most: usize) -> Result<SyntaxFacts, FactsError> {
    let FileKind::Code(language) = detect(path, source.as_bytes()) else { return Err(FactsError::NoGrammar) };
    let spec = languages::spec(language);
    let has = |name: &String| spec.grammar.id_for_node_kind(name, true) != 0;
    if let Some(name) = types.iter().find(|name| !has(name)) {
        return Err(FactsError::UnknownType { language, name: name.clone() });
    }
    let mut parser = Parser::new();
    parser.set_language(&spec.grammar).map_err(|_| FactsError::NoGrammar)?;
    let tree = parse(&mut parser, source, None).ok_or(FactsError::TooLarge)?;
    let mut found = SyntaxFacts { facts: Vec::new(), left_out: 0, syntax_errors: tree.root_node().has_error() };
    let mut cursor = tree.walk();
    for _ in 0..MAX_NODES {
        if is_wanted(spec, &cursor, types) {
            if found.facts.len() < most {
                found.facts.push(fact(source, &cursor));
            } else {
                found.left_out += 1;
            }
        }
        if !next(&mut cursor) {
            break;
        }
    }
    Ok(found)
}

/// Goes to the next node in the order of the text; whether there is one.
fn next(cursor: &mut TreeCursor<'_>) -> bool {
    if cursor.goto_first_child() {
        return true;
    }
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
    }
    true
}

fn is_wanted(spec: &LanguageSpec, cursor: &TreeCursor<'_>, types: &[String]) -> bool {
    let node = cursor.node();
    if !node.is_named() {
        return false;
    }
    if !types.is_empty() {
        return types.iter().any(|name| name == node.kind());
    }
    let role = spec.role(node.kind_id());
    matches!(role, NodeRole::Define(_) | NodeRole::Bind(_) | NodeRole::Implement | NodeRole::Import | NodeRole::Comment)
}

fn fact(source: &str, cursor: &TreeCursor<'_>) -> SyntaxFact {
    let node = cursor.node();
    let whole = source.get(node.byte_range()).unwrap_or_default();
    let text = &whole[..whole.floor_char_boundary(MAX_FACT_TEXT)];
    SyntaxFact {
        node_type: node.kind().to_owned(),
        text: text.to_owned(),
        shortened: text.len() < whole.len(),
        lines: rows::lines(node.start_position().row, rows::end_row(node)),
        field: cursor.field_name().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "import os\n\n\ndef load(key):\n    # Why.\n    return store(key)\n";

    fn told(types: &[&str]) -> Vec<(String, (u32, u32), Option<String>)> {
        let types: Vec<String> = types.iter().map(|name| (*name).to_owned()).collect();
        let found = syntax_facts("src/a.py", SOURCE, &types, 100).unwrap();
        let tell = |fact: SyntaxFact| (fact.node_type, (fact.lines.first, fact.lines.last), fact.field);
        found.facts.into_iter().map(tell).collect()
    }

    #[test]
    fn what_the_table_of_the_language_names_is_told() {
        let types: Vec<String> = told(&[]).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(types, ["import_statement", "function_definition", "comment"]);
    }

    #[test]
    fn nodes_of_given_types_have_lines_text_and_field() {
        let field = |name: &str| Some(name.to_owned());
        assert_eq!(
            told(&["identifier", "call"]),
            [
                ("identifier".to_owned(), (1, 1), None),
                ("identifier".to_owned(), (4, 4), field("name")),
                ("identifier".to_owned(), (4, 4), None),
                ("call".to_owned(), (6, 6), None),
                ("identifier".to_owned(), (6, 6), field("function")),
                ("identifier".to_owned(), (6, 6), None),
            ]
        );
        let call = syntax_facts("a.py", SOURCE, &["call".to_owned()], 1).unwrap();
        assert_eq!((call.facts[0].text.as_str(), call.left_out, call.syntax_errors), ("store(key)", 0, false));
        let some = syntax_facts("a.py", SOURCE, &["identifier".to_owned()], 2).unwrap();
        assert_eq!((some.facts.len(), some.left_out), (2, 3));
    }

    #[test]
    fn what_has_no_grammar_or_no_such_node_is_refused() {
        assert_eq!(syntax_facts("a.md", "# A\n", &[], 1), Err(FactsError::NoGrammar));
        let wrong = syntax_facts("a.py", SOURCE, &["function_item".to_owned()], 1).unwrap_err();
        assert_eq!(wrong.to_string(), "the grammar of Python has no node type 'function_item'");
    }

    #[test]
    fn every_grammar_has_a_version() {
        for language in Language::ALL {
            let version = grammar_version(language);
            assert!(
                version.starts_with("tree-sitter-") && version.ends_with(|c: char| c.is_ascii_digit()),
                "{version}"
            );
        }
    }
}
