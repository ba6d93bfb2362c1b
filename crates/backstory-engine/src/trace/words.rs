//! The words of the code that is asked about.

use std::collections::BTreeSet;

use backstory_model::text::words;

/// Shortest word that tells one thing from another.
const MIN_WORD: usize = 4;

/// Words of the code that is asked about, by which texts about it are recognized.
pub(crate) struct CodeWords {
    words: BTreeSet<String>,
    symbol: Option<String>,
}

/// Words that stand in code of any kind.
const COMMON: &[&str] = &[
    "bool",
    "case",
    "char",
    "class",
    "const",
    "else",
    "enum",
    "false",
    "float",
    "from",
    "func",
    "function",
    "here",
    "impl",
    "import",
    "include",
    "int32",
    "int64",
    "interface",
    "long",
    "match",
    "none",
    "null",
    "package",
    "private",
    "public",
    "return",
    "self",
    "short",
    "size",
    "static",
    "string",
    "struct",
    "switch",
    "that",
    "then",
    "this",
    "true",
    "type",
    "uint32",
    "uint64",
    "unsigned",
    "void",
    "when",
    "while",
    "with",
];

impl CodeWords {
    pub(crate) fn of(text: &str, symbol: Option<&str>) -> Self {
        let telling = |word: &String| word.chars().count() >= MIN_WORD && !COMMON.contains(&word.as_str());
        let symbol = symbol.map(|symbol| symbol.rsplit(['.', ':']).next().unwrap_or(symbol).to_lowercase());
        Self { words: words(text).into_iter().filter(telling).collect(), symbol }
    }

    /// How many of the words a text has.
    pub(super) fn shared(&self, text: &str) -> usize {
        let found: BTreeSet<String> = words(text).into_iter().collect();
        self.words.intersection(&found).count()
    }

    /// Whether a text names the symbol.
    pub(super) fn names_symbol(&self, text: &str) -> bool {
        self.symbol.as_ref().is_some_and(|symbol| words(text).contains(symbol))
    }

    /// The words as a query.
    pub(super) fn query(&self) -> String {
        let mut query = self.words.iter().cloned().collect::<Vec<_>>().join(" ");
        if let Some(symbol) = &self.symbol {
            query.push(' ');
            query.push_str(symbol);
        }
        query
    }
}
