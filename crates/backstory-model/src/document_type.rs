//! What a document is for: whether it governs, documents, implements or discusses.

use serde::{Deserialize, Serialize};

use crate::document_kind::DocumentKind;

/// What a document is for, the most binding first. Its order is the order of a context pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DocumentType {
    /// It specifies how things must be.
    Spec,
    /// It is what others rely on: an interface, a schema.
    Contract,
    /// It records a decision.
    Adr,
    /// It explains.
    Doc,
    /// It is source code.
    Code,
    /// An issue.
    Issue,
    /// A merge request.
    MergeRequest,
    /// A discussion.
    Discussion,
    /// A commit.
    Commit,
}

/// Directories that hold documentation.
const DOCS: [&str; 4] = ["doc", "docs", "documentation", "design"];
/// Directories of specifications; elsewhere than in documentation they often hold tests, so only documents count there.
const SPECS: [&str; 6] = ["spec", "specs", "specification", "specifications", "rfc", "rfcs"];
/// Directories of contracts; elsewhere than in documentation they often hold code.
const CONTRACTS: [&str; 2] = ["contract", "contracts"];
/// Directories of decisions.
const DECISIONS: [&str; 4] = ["adr", "adrs", "decisions", "decision-records"];
/// Ends of names of documents.
const DOCUMENTS: [&str; 9] = ["md", "markdown", "mdx", "rst", "adoc", "asciidoc", "txt", "org", "tex"];
/// Beginnings of names of machine-readable contracts.
const INTERFACES: [&str; 3] = ["openapi", "swagger", "asyncapi"];

impl DocumentType {
    /// All, in order.
    pub const ALL: [Self; 9] = [
        Self::Spec,
        Self::Contract,
        Self::Adr,
        Self::Doc,
        Self::Code,
        Self::Issue,
        Self::MergeRequest,
        Self::Discussion,
        Self::Commit,
    ];

    /// Those that say how things must be.
    pub const GOVERNING: [Self; 3] = [Self::Spec, Self::Contract, Self::Adr];

    /// That of a document; `path` is that of its file, if it is of one.
    pub fn classify(kind: DocumentKind, path: Option<&str>) -> Self {
        match kind {
            DocumentKind::Issue => Self::Issue,
            DocumentKind::MergeRequest => Self::MergeRequest,
            DocumentKind::Discussion => Self::Discussion,
            DocumentKind::Commit => Self::Commit,
            DocumentKind::File | DocumentKind::Code | DocumentKind::Section => {
                let path = path.unwrap_or_default();
                let usual = if kind == DocumentKind::Section || is_document(path) { Self::Doc } else { Self::Code };
                governing(path).unwrap_or(usual)
            }
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Contract => "contract",
            Self::Adr => "adr",
            Self::Doc => "doc",
            Self::Code => "code",
            Self::Issue => "issue",
            Self::MergeRequest => "merge_request",
            Self::Discussion => "discussion",
            Self::Commit => "commit",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether it says how things must be: a specification, a contract or a decision.
    pub fn is_governing(self) -> bool {
        Self::GOVERNING.contains(&self)
    }
}

/// What a path tells of a file that governs.
fn governing(path: &str) -> Option<DocumentType> {
    let path = path.to_lowercase();
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let mut in_docs = false;
    for directory in directories.split('/') {
        let counts = in_docs || is_document(name);
        let found = match directory {
            of if DECISIONS.contains(&of) && counts => Some(DocumentType::Adr),
            of if SPECS.contains(&of) && counts => Some(DocumentType::Spec),
            of if CONTRACTS.contains(&of) && counts => Some(DocumentType::Contract),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        in_docs |= DOCS.contains(&directory);
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    if INTERFACES.contains(&stem) && matches!(extension, "json" | "yaml" | "yml") {
        return Some(DocumentType::Contract);
    }
    if !is_document(name) {
        return None;
    }
    let has = |word: &str| stem == word || stem.ends_with(&format!(".{word}"));
    let numbered = |word: &str| {
        let rest = stem.strip_prefix(word).and_then(|rest| rest.strip_prefix(['-', '_']));
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if has("adr") || numbered("adr") {
        Some(DocumentType::Adr)
    } else if has("spec") || has("specification") || has("rfc") || numbered("rfc") {
        Some(DocumentType::Spec)
    } else if has("contract") {
        Some(DocumentType::Contract)
    } else {
        None
    }
}

fn is_document(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, extension)| DOCUMENTS.contains(&extension.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_what_governs() {
        use DocumentType::{Adr, Code, Contract, Doc, Spec};
        for (path, expected) in [
            ("docs/spec/protocol.md", Spec),
            ("docs/specs/deep/er/wire.rst", Spec),
            ("docs/spec/grammar.bnf", Spec),
            ("text/rfcs/0123-name.md", Spec),
            ("rfcs/2024/one.txt", Spec),
            ("SPEC.md", Spec),
            ("crates/wire/wire.spec.md", Spec),
            ("rfc-0042-frames.md", Spec),
            ("docs/contracts/orders.yaml", Contract),
            ("contracts/README.md", Contract),
            ("api/openapi.yaml", Contract),
            ("docs/adr/0001-use-redis.md", Adr),
            ("doc/architecture/decisions/0002-x.md", Adr),
            ("adr/0003.md", Adr),
            ("notes/storage.adr.md", Adr),
            ("Docs/ADR/0004.MD", Adr),
            ("adr-0005-sharding.md", Adr),
            ("docs/design/adr/5.md", Adr),
            // Tests, code and ordinary documents by similar names.
            ("spec/models/user_spec.rb", Code),
            ("contracts/Token.sol", Code),
            ("src/spec.rs", Code),
            ("src/adr/parse.go", Code),
            ("user.spec.ts", Code),
            ("docs/guide.md", Doc),
            ("README.md", Doc),
            ("docs/address.md", Doc),
            ("special/x.md", Doc),
        ] {
            assert_eq!(DocumentType::classify(DocumentKind::File, Some(path)), expected, "{path}");
            assert_eq!(
                DocumentType::classify(DocumentKind::File, Some(path)).is_governing(),
                expected <= Adr,
                "{path}"
            );
        }
        assert_eq!(DocumentType::classify(DocumentKind::Section, Some("docs/guide.html")), Doc);
        assert_eq!(DocumentType::classify(DocumentKind::Code, Some("src/a.rs")), Code);
        assert_eq!(DocumentType::classify(DocumentKind::Discussion, None), DocumentType::Discussion);
    }

    #[test]
    fn the_order_is_that_of_a_pack() {
        let names: Vec<&str> = DocumentType::ALL.map(DocumentType::as_str).to_vec();
        let expected = ["spec", "contract", "adr", "doc", "code", "issue", "merge_request", "discussion", "commit"];
        assert_eq!(names, expected);
        assert!(DocumentType::ALL.is_sorted());
    }
}
