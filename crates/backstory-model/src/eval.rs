//! Evaluation of search by questions with known answers: the question file, what counts as found, metrics with their
//! uncertainty, and drift. Asking the questions belongs to `engine::eval`.

mod bounds;
pub mod changelog;
mod drift;
mod file;
mod measure;
mod pairs;
mod report;
mod source;

use serde::{Deserialize, Serialize};

pub use bounds::{Bounds, REFUSAL_GROUP};
pub use drift::{Drift, IndexState, MetricChange, RankChange, RetrieverSnapshot, Snapshot, TOP};
pub use file::{
    MAX_EXPECTED, MAX_FILE, MAX_IDENTIFIER_CHARS, MAX_QUESTION_CHARS, MAX_QUESTIONS, QuestionFile, parse_questions,
};
pub use measure::{Estimate, Metric, RESAMPLES, estimate, percentile};
pub use pairs::{CurvePoint, MAX_PAIRS, Pair, PairKind, PairReport, PairSource, Verdict, pairs};
pub use report::{Answer, AnsweredQuestion, Latency, Miss, RankedResult, Refusal, Report, RetrieverScore};
pub use source::{InvalidSource, Source};

/// A way of finding what answers a question. Declared in the order of the names, in which maps of them are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Retriever {
    /// Search as users have it.
    Fused,
    /// Links in the graph.
    Graph,
    /// Search by words.
    Lexical,
    /// Ranks by words and by meaning, fused reciprocally.
    Rrf,
    /// Search by meaning.
    Semantic,
}

impl Retriever {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 5] = [Self::Lexical, Self::Semantic, Self::Graph, Self::Rrf, Self::Fused];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Semantic => "semantic",
            Self::Graph => "graph",
            Self::Rrf => "rrf",
            Self::Fused => "fused",
        }
    }

    /// The leg of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|leg| leg.as_str() == name)
    }
}

/// A question whose answer is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    /// What it is called in reports; unique in a file.
    pub id: String,
    /// The question itself.
    pub question: String,
    /// What sort of question: `why`, `who`.
    #[serde(default)]
    pub kind: String,
    /// The sources that answer it, as they stand in the file; none if nothing does.
    pub gold: Vec<String>,
    /// The file that it is about.
    pub path: Option<String>,
    /// A line of that file.
    pub line_text: Option<String>,
    /// A function or type of that file.
    pub symbol: Option<String>,
}
