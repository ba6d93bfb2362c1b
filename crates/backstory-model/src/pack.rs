//! Context packs, as values: what an agent must know to answer a question about code, within a token budget, with
//! provenance for everything. Gathering the entries belongs to `engine::context`.

pub mod chunk;
mod entry;
mod fit;
mod hunks;
mod order;
mod render;
mod terms;
mod trim;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::digest::sha256_hex;

pub use chunk::Chunk;
pub use fit::fit_to_budget;
pub use hunks::matching_hunks;
pub use order::{compare_chunks, score_bucket};
pub use render::render;
pub use terms::QuestionTerms;
pub use trim::clip;

/// Tokens of a pack unless the request says how many.
pub const DEFAULT_TOKENS: usize = 4000;
/// Fewest tokens that may be asked for: a summary and what identifies the pack.
pub const MIN_TOKENS: usize = 200;
/// Most tokens that may be asked for.
pub const MAX_TOKENS: usize = 100_000;

/// Most sources of a kind that are named.
const MAX_SOURCES: usize = 100;

/// How a pack is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Format {
    /// For programs: everything, with the whole manifest.
    #[default]
    Json,
    /// To be read: the same without the hashes.
    #[cfg_attr(feature = "clap", value(alias = "md"))]
    Markdown,
}

/// What a pack may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Mode {
    /// Everything.
    #[default]
    All,
    /// Specifications, contracts and recorded decisions, and nothing else.
    #[cfg_attr(feature = "clap", value(alias = "governing_docs_only"))]
    GoverningDocsOnly,
}

/// A part of a pack that is a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// The items that matter most.
    KeyItems,
    /// What happened when.
    Timeline,
    /// Reasons that were given.
    DesignNotes,
    /// Code.
    CodeContext,
    /// Changes of code.
    ImportantDiffs,
    /// Tests.
    RelatedTests,
    /// Passages of what was found.
    Retrieved,
}

impl Section {
    /// All, in the order in which they get tokens.
    pub const ALL: [Self; 7] = [
        Self::KeyItems,
        Self::Timeline,
        Self::DesignNotes,
        Self::CodeContext,
        Self::ImportantDiffs,
        Self::RelatedTests,
        Self::Retrieved,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::KeyItems => "key_items",
            Self::Timeline => "timeline",
            Self::DesignNotes => "design_notes",
            Self::CodeContext => "code_context",
            Self::ImportantDiffs => "important_diffs",
            Self::RelatedTests => "related_tests",
            Self::Retrieved => "retrieved",
        }
    }

    /// So many of its entries, in words: `1 event`, `2 diffs`.
    fn count_entries(self, count: usize) -> String {
        let (one, many) = match self {
            Self::KeyItems => ("key item", "key items"),
            Self::Timeline => ("event", "events"),
            Self::DesignNotes => ("design note", "design notes"),
            Self::CodeContext => ("piece of code", "pieces of code"),
            Self::ImportantDiffs => ("diff", "diffs"),
            Self::RelatedTests => ("test", "tests"),
            Self::Retrieved => ("passage", "passages"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

/// What the pack is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metadata {
    /// What was asked, shortened if it is long.
    pub query: String,
    /// Full path of the project, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// When what it is made from was indexed: it is made from nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generated_at: Option<Timestamp>,
    /// Tokens of the pack as it is printed.
    pub token_count: usize,
    /// Most tokens it might have.
    pub token_budget: usize,
    /// Who counts the tokens.
    pub tokenizer: String,
    /// Id of the state of the index.
    pub snapshot: String,
}

/// An item that matters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KeyItem {
    /// Its reference.
    pub reference: String,
    /// What it is: `issue`, `merge_request`, `discussion`, `commit`.
    pub kind: String,
    /// Its title.
    pub title: String,
    /// Where it stands, of what has a state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The day it was begun.
    pub date: String,
    /// Who began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Type of change, of a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classification: Option<String>,
    /// How well it answers, 0 to 1.
    pub relevance: f64,
    /// What it has to do with other items.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// The words of it that matter most.
    pub excerpt: String,
    /// Its page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether only some may see it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confidential: bool,
    /// SHA-256 of its text.
    #[serde(skip)]
    pub content_hash: String,
    /// What it is made from.
    #[serde(skip)]
    pub sources: PackSources,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimelineEntry {
    /// The day.
    pub date: String,
    /// What happened.
    pub summary: String,
    /// References of the items it is told by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// Object names of the commits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// What it is made from.
    #[serde(skip)]
    pub sources: PackSources,
}

/// A reason that was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DesignNote {
    /// Where it stands: a reference.
    pub source: String,
    /// Who wrote it, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The language model that wrote it from what stands there; none if these are a person's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_by: Option<String>,
    /// Whether only some may see it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confidential: bool,
    /// Its words.
    pub note: String,
    /// Why it is told.
    pub relevance: String,
    /// What it is made from.
    #[serde(skip)]
    pub sources: PackSources,
}

/// Code.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CodeContext {
    /// Path of the file.
    pub path: String,
    /// Name of the function or type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// First and last line of the snippet.
    pub lines: (u32, u32),
    /// Full path of the project.
    pub repository: String,
    /// Object name of the commit at which it stands so.
    pub commit: String,
    /// The code.
    pub snippet: String,
    /// Which commit and merge request wrote it, and why.
    pub explanation: String,
    /// What it is made from.
    #[serde(skip)]
    pub sources: PackSources,
}

/// A change of code.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ImportantDiff {
    /// Full path of the project.
    pub repository: String,
    /// Object name of the commit.
    pub commit: String,
    /// Path of the file after it.
    pub path: String,
    /// The hunks that matter, as `git diff` prints them.
    pub diff: String,
    /// Which commit it is and why it matters.
    pub explanation: String,
    /// Hunks of the file that are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub hunks_left_out: u32,
    /// What it is made from.
    #[serde(skip)]
    pub sources: PackSources,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A test.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RelatedTest {
    /// Path of the file.
    pub path: String,
    /// Name of the test, if it is one of several in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it tests.
    pub description: String,
    /// What it is made from.
    #[serde(skip)]
    pub sources: PackSources,
}

/// What the pack is made from.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PackSources {
    /// References of commits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// Paths of files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// References of issues, merge requests and discussions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
}

impl PackSources {
    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what another names, each once and at most [`MAX_SOURCES`] of a kind.
    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.commits, &other.commits),
            (&mut self.files, &other.files),
            (&mut self.authors, &other.authors),
            (&mut self.items, &other.items),
        ];
        for (own, new) in pairs {
            for name in new {
                if own.len() < MAX_SOURCES && !own.contains(name) {
                    own.push(name.clone());
                }
            }
        }
    }
}

/// An item or chunk by its id and what it says by its hash.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HashedEntry {
    /// Reference of the item, or id of the chunk.
    pub id: String,
    /// SHA-256 of its text.
    pub content_hash: String,
}

/// What makes the same pack again, and shows what was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Manifest {
    /// Beginning of the SHA-256 of everything below, 32 hex digits.
    pub id: String,
    /// What was asked.
    pub query: String,
    /// How it was asked: every parameter by its name.
    pub parameters: BTreeMap<String, String>,
    /// Id of the state of the index.
    pub snapshot: String,
    /// When that state was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    /// The indexed commit of each repository.
    pub commits: BTreeMap<String, String>,
    /// Name of the embedding model.
    pub embedding_model: String,
    /// Documents of the index, and those of them that have vectors.
    pub documents: u64,
    /// Documents that have vectors.
    pub embedded: u64,
    /// Who counts the tokens.
    pub tokenizer: String,
    /// What each part of the score weighs.
    pub weights: BTreeMap<String, f64>,
    /// The items that were read.
    pub items: Vec<HashedEntry>,
    /// The chunks that are in the pack; the hash is that of their text.
    pub chunks: Vec<HashedEntry>,
    /// Entries of each section.
    pub counts: BTreeMap<Section, usize>,
    /// Whether all of it is printed with the pack; where it would take too much room its id stands for it.
    #[serde(skip)]
    pub whole: bool,
}

fn printed<S: Serializer>(manifest: &Manifest, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Short<'a> {
        id: &'a str,
    }
    if manifest.whole { manifest.serialize(serializer) } else { Short { id: &manifest.id }.serialize(serializer) }
}

impl Manifest {
    /// Names it by what it says.
    pub fn compute_id(&mut self) {
        self.id.clear();
        // Texts and numbers only: nothing that JSON could not hold.
        let text = serde_json::to_string(self).unwrap_or_default();
        self.id = sha256_hex(&text)[..32].to_owned();
    }
}

/// Everything an agent must know. As JSON, lists that are empty are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ContextPack {
    /// How it is printed.
    #[serde(skip)]
    pub format: Format,
    /// What it is.
    pub metadata: Metadata,
    /// The answer in a few sentences of those who gave it.
    pub summary: String,
    /// What happened when, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<TimelineEntry>,
    /// The items that matter most, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key_items: Vec<KeyItem>,
    /// Code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_context: Vec<CodeContext>,
    /// Changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub important_diffs: Vec<ImportantDiff>,
    /// Reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub design_notes: Vec<DesignNote>,
    /// Tests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_tests: Vec<RelatedTest>,
    /// What it is made from.
    #[serde(skip_serializing_if = "PackSources::is_empty")]
    pub provenance: PackSources,
    /// Passages of what was found, in the order of [`compare_chunks`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retrieved: Vec<Chunk>,
    /// What could not be found, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// How many entries of each section did not fit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<Section, usize>,
    /// What makes it again.
    #[serde(serialize_with = "printed")]
    pub manifest: Manifest,
}
