//! Conditions that the documents of a list or a search must meet.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use crate::document_kind::DocumentKind;
use crate::{document_type::DocumentType, entity::State, language::Language, time::read_instant};

/// Conditions that a document meets all of; an empty one is met by every document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Filter {
    /// Any of these kinds; empty for all.
    pub kinds: Vec<DocumentKind>,
    /// By any of these people: user names, names or addresses of commits, in any case, or parts of names that nobody
    /// else has; empty for all. Of a discussion, by those who began it.
    pub authors: Vec<String>,
    /// All of these labels, in whatever case; a discussion has those of what it belongs to.
    pub labels: Vec<String>,
    /// Of files whose paths begin in one of these ways, or commits that change such files; empty for all.
    pub paths: Vec<String>,
    /// Of files in any of these languages, by name or extension in any case, or commits that change such files; empty
    /// for all. Told by the extension of a file.
    pub languages: Vec<String>,
    /// For any of these purposes; empty for all.
    pub document_types: Vec<DocumentType>,
    /// Created at or after this instant, or the beginning of this day, month or year in UTC.
    #[serde(deserialize_with = "read_instant")]
    pub after: Option<Timestamp>,
    /// Created before this instant, or the beginning of this day, month or year in UTC.
    #[serde(deserialize_with = "read_instant")]
    pub before: Option<Timestamp>,
    /// Full path of the project. What is short in a query, like `#12`, is of it.
    pub project: Option<String>,
    /// Of any of these projects, by their full paths; empty for all.
    pub projects: Vec<String>,
    /// Any of these nodes, by their references, or a part of one: a discussion of an issue, a function of a file; empty
    /// for all.
    pub nodes: Vec<String>,
    /// State; a discussion has that of what it belongs to.
    pub state: Option<State>,
    /// None of these documents, nor their parts.
    pub exclude: Vec<String>,
    /// Branch, tag or commit of the project: only the files that are in its tree, as they are there, and the commits that it
    /// reaches. It must be indexed. The default branch, with all indexed commits, if absent.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Id of a recorded state of the index, or its first digits: what was in it, as it was. The current state if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
}

impl Filter {
    /// Extensions of the files of its languages.
    pub fn extensions(&self) -> Vec<&'static str> {
        let languages = self.languages.iter().filter_map(|name| Language::from_name(name));
        languages.flat_map(Language::searched_extensions).collect()
    }

    /// Whether it narrows nothing but the projects.
    pub fn is_of_projects_alone(&self) -> bool {
        let (project, projects) = (self.project.clone(), self.projects.clone());
        *self == Self { project, projects, ..Self::default() }
    }
}

/// Whether two names of people or labels are the same: their case does not count.
pub fn is_same_name(one: &str, other: &str) -> bool {
    one == other || lower_case(one) == lower_case(other)
}

/// A name in lower case, in which one that is held against many is prepared.
pub fn lower_case(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_projects_alone_has_no_other_condition() {
        let of_projects = Filter { project: Some("a/b".into()), projects: vec!["c/d".into()], ..Filter::default() };
        assert!(of_projects.is_of_projects_alone() && Filter::default().is_of_projects_alone());
        for narrower in [
            Filter { authors: vec!["ann".into()], ..of_projects.clone() },
            Filter { before: Some(Timestamp::UNIX_EPOCH), ..of_projects.clone() },
            Filter { exclude: vec!["a/b@c".into()], ..of_projects.clone() },
            Filter { revision: Some("v1".into()), ..of_projects.clone() },
        ] {
            assert!(!narrower.is_of_projects_alone(), "{narrower:?}");
        }
    }

    #[test]
    fn names_are_the_same_in_whatever_case() {
        for (one, other) in [("ann", "ann"), ("Ann", "aNN"), ("ÄNN", "änn"), ("ann-b_1", "ANN-B_1")] {
            assert!(is_same_name(one, other), "{one} {other}");
            assert_eq!(lower_case(one), one.to_lowercase());
        }
        assert!(!is_same_name("ann", "anna") && !is_same_name("ann", "änn"));
    }
}
