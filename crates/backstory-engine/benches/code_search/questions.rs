//! Questions about the code of a repository at one commit, with the files that answer them.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;

use super::Result;

/// What a file answers a question with: 2 answers it, 1 helps.
pub(super) type Grades = BTreeMap<String, u32>;

/// A file of questions.
#[derive(Deserialize)]
pub(super) struct QuestionFile {
    /// The commit that the labels are of.
    pub(super) commit: String,
    pub(super) questions: Vec<Question>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Question {
    pub(super) id: String,
    /// How it is asked: `natural`, `architecture` or `symbol`.
    pub(super) kind: String,
    pub(super) question: String,
    /// Every file that answers, by its path; all others do not.
    pub(super) files: Grades,
}

impl QuestionFile {
    pub(super) fn read(path: &Path) -> Result<Self> {
        Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
    }
}
