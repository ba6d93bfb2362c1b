//! What a source file contains: entities, what they refer to, comments that explain, sections of documents. How it is
//! found belongs to `sources::code`.
//!
//! Lines are numbered from 1 and ranges include both ends. Everything is in the order of the file, so equal bytes under
//! equal paths give equal values.

use serde::{
    Deserialize, Serialize,
    de::{IntoDeserializer as _, value, value::StrDeserializer},
};

pub use crate::language::Language;

/// How a document marks its headings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocFormat {
    /// Markdown.
    Markdown,
    /// AsciiDoc.
    AsciiDoc,
    /// reStructuredText.
    ReStructuredText,
    /// No known marks: the whole is one section.
    Plain,
}

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// Source code.
    Code(Language),
    /// A document for people.
    Doc(DocFormat),
    /// Any other text.
    Text,
}

/// A range of lines, from 1, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lines {
    /// First line.
    pub first: u32,
    /// Last line, not before the first.
    pub last: u32,
}

impl Lines {
    /// The range from `first` to `last`, or `first` alone if `last` is before it.
    pub fn new(first: u32, last: u32) -> Self {
        Self { first, last: last.max(first) }
    }

    /// Whether the line is in the range.
    pub fn contains(self, line: u32) -> bool {
        self.first <= line && line <= self.last
    }

    /// How many lines it has.
    pub fn count(self) -> u32 {
        self.last - self.first + 1
    }
}

/// Kind of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type.
    Method,
    /// A function that is declared here and defined elsewhere, as in a C header.
    Declaration,
    /// A class, object or record.
    Class,
    /// A struct.
    Struct,
    /// A union.
    Union,
    /// An enum.
    Enum,
    /// A trait.
    Trait,
    /// An interface or protocol.
    Interface,
    /// Another name for a type.
    TypeAlias,
    /// A module.
    Module,
    /// A namespace.
    Namespace,
    /// A macro that takes arguments.
    Macro,
    /// A constant at the top level or of a type.
    Constant,
    /// A variable or property at the top level or of a type.
    Variable,
    /// A named block of tests, as `describe("…")`.
    TestSuite,
    /// A named test that is a call, as `it("…")`.
    TestCase,
}

impl EntityKind {
    /// Its name: `function`, `type_alias`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Declaration => "declaration",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Union => "union",
            Self::Enum => "enum",
            Self::Trait => "trait",
            Self::Interface => "interface",
            Self::TypeAlias => "type_alias",
            Self::Module => "module",
            Self::Namespace => "namespace",
            Self::Macro => "macro",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::TestSuite => "test_suite",
            Self::TestCase => "test_case",
        }
    }

    /// The kind with a name that [`Self::as_str`] gives.
    pub fn from_name(name: &str) -> Option<Self> {
        let name: StrDeserializer<'_, value::Error> = name.into_deserializer();
        Self::deserialize(name).ok()
    }

    /// Whether it can be called.
    pub fn is_callable(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Declaration | Self::Macro)
    }

    /// Whether it is a type.
    pub fn is_type(self) -> bool {
        matches!(
            self,
            Self::Class | Self::Struct | Self::Union | Self::Enum | Self::Trait | Self::Interface | Self::TypeAlias
        )
    }
}

/// What an entity has to do with tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestRole {
    /// Nothing.
    #[default]
    None,
    /// It is a test.
    Test,
    /// It holds tests.
    Container,
}

/// A definition in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// What it is.
    pub kind: EntityKind,
    /// Its name as written.
    pub name: String,
    /// Its name with those of what it stands in, as `Store.open` or `auth::login`. Unique in its file: the second one of
    /// a name ends in `~2`, the third in `~3`. The plain name is the implementation's if there are mere declarations of it.
    pub qualified_name: String,
    /// The whole definition, without the comments, attributes and decorators before it.
    pub lines: Lines,
    /// The line on which its name stands.
    pub name_line: u32,
    /// How it is declared, on one line.
    pub signature: String,
    /// Its doc comment or doc string, without markers.
    pub doc: Option<String>,
    /// What it belongs to: an index into the file's entities.
    pub parent: Option<u32>,
    /// What it has to do with tests.
    pub test: TestRole,
    /// Hash of its body, or of all but its name if it has none, with white space and comments disregarded. Equal in two
    /// files means moved or renamed, if `body_size` says that the body is more than trivial.
    pub body_hash: u64,
    /// Bytes that went into the hash.
    pub body_size: u32,
}

/// A call: once per caller, callee and qualifier, at its first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Index of the entity that calls; `None` for code at the top level.
    pub from: Option<u32>,
    /// Name of what is called.
    pub name: String,
    /// What stands before the name, as `self`, `std::mem` or `client.session`; `…` if that is an expression.
    pub qualifier: Option<String>,
    /// Line of the first such call.
    pub line: u32,
}

/// An import of a file, module or package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// Module or path as written.
    pub module: String,
    /// What is taken from it by name: its name there and its name here.
    pub names: Vec<ImportedName>,
    /// Files that it may mean, most likely first, relative to the repository. One that begins with `**/` may stand in any
    /// directory.
    pub candidates: Vec<String>,
    /// Its line.
    pub line: u32,
}

/// A name that is imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedName {
    /// Its name in the module; `*` is the module itself or all of it.
    pub name: String,
    /// Its name in the file that imports it.
    pub local: String,
}

/// How a type builds on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SupertypeKind {
    /// It extends, includes or embeds it.
    Extends,
    /// It implements it.
    Implements,
}

/// A type that another builds on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supertype {
    /// Index of the type that builds on the other, if it is defined in this file.
    pub entity: Option<u32>,
    /// Name of the type that builds on the other.
    pub subject: String,
    /// How.
    pub kind: SupertypeKind,
    /// Name of the other as written, without type arguments.
    pub name: String,
    /// Line of the name.
    pub line: u32,
}

/// Why a comment is taken for an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplanationKind {
    /// Marked `NOTE`, `NB`, `IMPORTANT` or `WARNING`.
    Note,
    /// Marked `HACK`, `KLUDGE` or `WORKAROUND`.
    Hack,
    /// Marked `WHY`, `REASON` or `RATIONALE`.
    Why,
    /// Marked `SAFETY`, `INVARIANT` or `SECURITY`.
    Safety,
    /// Marked `XXX`.
    Xxx,
    /// Marked `FIXME` or `BUG`.
    Fixme,
    /// Marked `TODO`, with a reason.
    Todo,
    /// Not marked; it gives a reason.
    Reason,
    /// Not marked; it states what must or must not be done.
    Rule,
}

impl ExplanationKind {
    /// Its name: `note`, `safety`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Hack => "hack",
            Self::Why => "why",
            Self::Safety => "safety",
            Self::Xxx => "xxx",
            Self::Fixme => "fixme",
            Self::Todo => "todo",
            Self::Reason => "reason",
            Self::Rule => "rule",
        }
    }
}

/// A comment that explains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplanatoryComment {
    /// Why it is taken for one.
    pub kind: ExplanationKind,
    /// Its text, lines joined with line feeds, without comment markers.
    pub text: String,
    /// Where it stands.
    pub lines: Lines,
    /// Index of the entity that it stands in or directly before.
    pub entity: Option<u32>,
}

/// What a source file contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeAnalysis {
    /// The file's language.
    pub language: Language,
    /// What the file says about itself: the text of its module's doc comment.
    pub doc: Option<String>,
    /// Definitions, in the order in which they begin.
    pub entities: Vec<Entity>,
    /// Calls, by first occurrence.
    pub calls: Vec<Call>,
    /// Imports.
    pub imports: Vec<Import>,
    /// What types build on.
    pub heritage: Vec<Supertype>,
    /// Comments that explain.
    pub explanations: Vec<ExplanatoryComment>,
    /// Whether some of it could not be read as code of the language, as is common where macros stand for keywords; what
    /// is near may be missing.
    pub syntax_errors: bool,
    /// Whether a limit cut something off.
    pub truncated: bool,
}

/// A section of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Headings from the outermost to its own; empty for what stands before the first heading.
    pub path: Vec<String>,
    /// Its lines, up to the next heading of any level.
    pub lines: Lines,
}

/// What a record of a decision says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Its title.
    pub title: String,
    /// Its status as written, as `Accepted`.
    pub status: Option<String>,
    /// The lines of the decision itself, with its subsections.
    pub lines: Option<Lines>,
}

/// What a document contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocAnalysis {
    /// How its headings are marked.
    pub format: DocFormat,
    /// Its sections.
    pub sections: Vec<Section>,
    /// What it decides, if it is the record of a decision.
    pub decision: Option<Decision>,
    /// Whether a limit cut something off.
    pub truncated: bool,
}

/// What a file contains, by its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentAnalysis {
    /// Source code.
    Code(CodeAnalysis),
    /// A document.
    Doc(DocAnalysis),
    /// Other text: it has lines and no more.
    Text,
}

/// What a file contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAnalysis {
    /// How many lines it has; one without a line feed at its end counts.
    pub line_count: u32,
    /// What they hold.
    pub content: ContentAnalysis,
}

impl FileAnalysis {
    /// What it contains if it is source code.
    pub fn code(&self) -> Option<&CodeAnalysis> {
        match &self.content {
            ContentAnalysis::Code(code) => Some(code),
            ContentAnalysis::Doc(_) | ContentAnalysis::Text => None,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> FileKind {
        match &self.content {
            ContentAnalysis::Code(code) => FileKind::Code(code.language),
            ContentAnalysis::Doc(doc) => FileKind::Doc(doc.format),
            ContentAnalysis::Text => FileKind::Text,
        }
    }
}

/// Why a file is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// It is not text.
    Binary,
    /// A program wrote it.
    Generated,
    /// It was written for another project.
    Vendored,
    /// It has more bytes than the limit.
    TooLarge,
    /// It has no bytes.
    Empty,
    /// The configuration says so.
    Excluded,
}

impl LeftOutReason {
    /// What is the case, in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Generated => "generated",
            Self::Vendored => "vendored",
            Self::TooLarge => "too large",
            Self::Empty => "empty",
            Self::Excluded => "excluded",
        }
    }
}

/// Whether a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSelection {
    /// It is.
    Include,
    /// It is not.
    LeftOut(LeftOutReason),
}

/// Lines that make one passage for search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// The lines.
    pub lines: Lines,
    /// Index of the entity that they are of; `None` for code at the top level and for text.
    pub entity: Option<u32>,
    /// Index of the section that they are of, in a document.
    pub section: Option<u32>,
}

/// The last part of the qualified name of a code entity: `start` of `Server.start`, `login` of `auth::login~2`, the second
/// one of its name in a file.
pub fn last_part_of_name(name: &str) -> &str {
    let name = name_without_count(name);
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// The qualified name of a code entity without the `~2` in which the second one of its name in a file ends.
pub fn name_without_count(name: &str) -> &str {
    let is_count = |count: &str| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit_once('~').filter(|(_, count)| is_count(count)).map_or(name, |(own, _)| own)
}

/// A name as it is whatever the convention that it is written in: `run_leader`, `runLeader` and `RunLeader` are the same.
pub fn plain_spelling(name: &str) -> String {
    let letters: String = name.chars().filter(|letter| !matches!(letter, '_' | '-' | '$')).collect();
    if letters.is_empty() { name.to_owned() } else { letters.to_lowercase() }
}

/// The last part of a qualified name in plain spelling: `start` of `Server.Start`, `runleader` of `Raft::run_leader~2`.
pub fn plain_name(name: &str) -> String {
    plain_spelling(last_part_of_name(name))
}

#[cfg(test)]
mod tests {
    use super::{last_part_of_name, name_without_count, plain_name, plain_spelling};

    #[test]
    fn conventions_of_spelling_do_not_count() {
        for name in ["run_leader", "runLeader", "RunLeader", "RUN_LEADER", "run-leader"] {
            assert_eq!(plain_spelling(name), "runleader", "{name}");
        }
        assert_eq!((plain_spelling("_"), plain_spelling("__")), ("_".to_owned(), "__".to_owned()));
        assert_eq!((plain_name("Raft::run_leader~2"), plain_name("run")), ("runleader".to_owned(), "run".to_owned()));
    }

    #[test]
    fn the_last_part_of_a_name_has_neither_what_holds_it_nor_a_count() {
        for (name, last) in
            [("Server.start", "start"), ("auth::login~2", "login"), ("run", "run"), ("a~b", "a~b"), ("x.~", "~")]
        {
            assert_eq!(last_part_of_name(name), last, "{name}");
        }
        assert_eq!((name_without_count("auth::login~2"), name_without_count("a~b")), ("auth::login", "a~b"));
    }
}
