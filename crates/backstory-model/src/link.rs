//! Inferred links: which issue a change is about, by words, names, people and time.
//!
//! A change is a merge request, or a commit that no merge request introduced. Of the issues that were open when it was
//! created, the most likely one is picked, with confidence and reasons. Everything here is a function of its arguments:
//! the same texts give the same links, in whatever order they were read. Links that a text states are in
//! [`reference`](crate::reference) and [`message`](crate::message).

mod corpus;
mod features;
mod recovered;

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::id::{NodeId, ThreadId};

pub use corpus::{LinkCorpus, MAX_CHANGES, MAX_ISSUES};
pub use features::{DEFAULT_CONFIDENCE, FeatureContribution, Features, LinkScore, SharedName};
pub use recovered::{LinkCurvePoint, LinkReport, LinkTrial, TrialResult};

/// A merge request, or a commit that none carried.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkableChange {
    /// Which one.
    pub id: NodeId,
    /// One line.
    pub title: String,
    /// Its description, then the messages of its commits.
    pub text: String,
    /// User name of who made it.
    pub author: Option<String>,
    /// When it was begun.
    pub begun_at: Timestamp,
    /// When it was merged or given up; `None` if it is under way.
    pub ended_at: Option<Timestamp>,
    /// Words of the lines it changes.
    pub touched: BTreeSet<String>,
    /// Vectors of its own text; none if there are none.
    pub vectors: Vec<Vec<f32>>,
}

/// An issue.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkableIssue {
    /// Which one.
    pub id: ThreadId,
    /// One line.
    pub title: String,
    /// Its description.
    pub text: String,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// Who commented on it, and when.
    pub comments: Vec<(Option<String>, Timestamp)>,
    /// Vectors of its own text; none if there are none.
    pub vectors: Vec<Vec<f32>>,
}

/// The most likely issue of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkCandidate {
    /// The issue.
    pub issue: ThreadId,
    /// How likely it is, and why.
    pub score: LinkScore,
}
