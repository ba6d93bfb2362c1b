//! Answers to questions, in the shape in which they are shown, saved and verified. How one is found belongs to
//! `engine::ask`.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{id::NodeId, place::format_place};

/// Digits of the name of a commit that are shown.
const SHORT_SHA: usize = 8;
/// What is said where nothing answers.
pub const REFUSAL_SENTENCE: &str = "I could not find this information in the repository based on the indexed files.";

/// How an answer came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Its statements are quotations.
    #[default]
    #[serde(alias = "EXTRACTIVE")]
    Extractive,
    /// A language model wrote its statements; each was checked against what it cites.
    #[serde(alias = "MODEL")]
    Model,
    /// Its statements say what is known of a change, as who made it, when, and in which release it shipped, or where
    /// something is defined. They cite what shows that.
    #[serde(alias = "FACTS")]
    Facts,
}

/// An answer. Each statement stands on citations; without an answer there is a refusal, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// The question.
    pub question: String,
    /// Whether it is answered.
    pub answered: bool,
    /// How well the evidence fits the question, 0 to 1.
    #[serde(default)]
    pub confidence: f32,
    /// How.
    pub method: Method,
    /// The language model that wrote it, and by which prompt.
    pub model: Option<Provenance>,
    /// What is said, in order.
    pub statements: Vec<Statement>,
    /// Where the decision stands.
    pub standing: Option<Standing>,
    /// What the statements cite, numbered from 1.
    pub citations: Vec<Citation>,
    /// Why there is no answer.
    pub refusal: Option<Refusal>,
    /// What the reader must know.
    pub warnings: Vec<String>,
}

impl Answer {
    /// The citation of a number.
    pub fn citation(&self, number: u32) -> Option<&Citation> {
        self.citations.iter().find(|citation| citation.number == number)
    }
}

/// Which language model wrote something, and with which prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Provenance {
    /// Provider and model: `openai:gpt-4o-mini`.
    pub name: String,
    /// Version of the prompt.
    pub prompt: u32,
}

/// A sentence or quotation and what it cites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Statement {
    /// The text, without the numbers of its citations.
    pub text: String,
    /// Numbers of its citations, at least one.
    pub citations: Vec<u32>,
}

/// Where a decision stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Standing {
    /// For a person: `merged in acme/shop!7 on 2024-03-22`.
    pub text: String,
    /// Reference of the item that says so.
    pub id: String,
    /// Its page at the forge.
    pub url: Option<String>,
}

/// Text that an answer stands on, and how to find it again.
///
/// The document is what the ledger or the clone has: of an issue or merge request its title, an empty line and its
/// description; of a note its text; of a commit its message; of a file its content at a commit, secrets replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Citation {
    /// Its number in the answer, from 1.
    pub number: u32,
    /// Reference of the document: `acme/shop#12`, `acme/shop!7#note_3`, `acme/shop@1a2b…`, `acme/shop:src/a.rs`.
    pub id: String,
    /// Title of the issue, merge request or commit; path of the file.
    pub title: String,
    /// Its page at the forge.
    pub url: Option<String>,
    /// User name, or address, of who wrote it; none for files, which many wrote.
    pub author: Option<String>,
    /// When it was written; of lines of a file, when the newest of them was.
    pub at: Timestamp,
    /// Of a file: the commit.
    pub commit: Option<String>,
    /// Of a file: its path.
    pub path: Option<String>,
    /// Of a file: first and last line, from 1.
    pub lines: Option<(u32, u32)>,
    /// First byte of the text in the document, from 0, and the one behind its last.
    pub bytes: (u64, u64),
    /// The text, verbatim.
    pub text: String,
    /// SHA-256 of the text, hex.
    pub hash: String,
    /// SHA-256 of the document, hex.
    pub document: String,
    /// Whether only some may see it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confidential: bool,
}

impl Citation {
    /// Where it stands, as a list of sources tells it: `src/a.rs:45-88`, or the address or reference of an item.
    pub fn source(&self) -> SourceEntry<'_> {
        SourceEntry(self)
    }

    /// Who wrote it, as people say it: `@alice`, or the name of who made a commit; none if that is not known.
    pub fn display_author(&self) -> Option<String> {
        let author = self.author.as_deref()?;
        Some(match self.id.parse() {
            Ok(NodeId::Note { .. } | NodeId::Thread(_)) => format!("@{author}"),
            _ => author.to_owned(),
        })
    }

    /// What it is of: `acme/shop!7 Use Redis`, `commit acme/shop@1a2b3c4d Add a cache`; of a file its lines.
    pub fn location(&self) -> String {
        match self.id.parse() {
            Ok(NodeId::Note { thread, .. } | NodeId::Thread(thread)) => format!("{thread} {}", self.title),
            Ok(NodeId::Commit { project, sha }) => {
                format!("commit {project}@{} {}", sha.get(..SHORT_SHA).unwrap_or(&sha), self.title)
            }
            _ => self.source().to_string(),
        }
    }
}

/// A citation in a list of sources.
pub struct SourceEntry<'a>(&'a Citation);

impl fmt::Display for SourceEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Citation { id, url, path, lines, .. } = self.0;
        match (path, url) {
            (Some(path), _) => f.write_str(&format_place(path, *lines)),
            (None, Some(url)) => f.write_str(url),
            (None, None) => f.write_str(id),
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// "I could not find this information in the repository based on the indexed files."
    pub sentence: String,
    /// What was searched, for a person.
    pub searched: String,
    /// What was looked for and not found, for a person.
    pub missing: Vec<String>,
}
