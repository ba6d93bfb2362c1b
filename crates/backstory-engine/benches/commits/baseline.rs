//! BM25 (k1 1.2, b 0.75) over messages and paths of all commits, by the same full-text engine and tokenizer.

use std::{collections::HashSet, path::Path};

use backstory_engine::{
    index::{Index, IndexOptions, ModelTag, ThreadDocuments},
    model::{
        classify::is_changelog,
        commit::{Commit, Sha},
        document::Document,
        filter::{DocumentKind, Filter},
        message::Message,
    },
};

use super::{
    Result,
    measure::DEPTH,
    questions::{Question, Repository},
};

/// Commits that are written at once.
const BATCH: usize = 1000;

pub(super) struct Baseline(Index);

impl Baseline {
    /// Rebuilt each time.
    pub(super) async fn build(directory: &Path, repository: &Repository) -> Result<Self> {
        if directory.exists() {
            std::fs::remove_dir_all(directory)?;
        }
        let index =
            Index::open(directory, ModelTag { name: "none".to_owned(), dimension: 1 }, IndexOptions::default()).await?;
        for (seq, commits) in (1..).zip(repository.commits.chunks(BATCH)) {
            let documents = commits
                .iter()
                .map(|commit| ThreadDocuments { thread: commit.sha.to_string(), documents: vec![document(commit)] });
            index.apply(documents.collect(), seq).await?;
        }
        index.optimize().await?;
        Ok(Self(index))
    }

    /// Rank of the first commit that answers, from 1.
    pub(super) async fn rank(&self, question: &Question) -> Result<Option<usize>> {
        let hits = self.0.search_text(&question.text, &Filter::default(), DEPTH).await?;
        let found: Vec<Option<Sha>> = hits.iter().map(|hit| hit.document.parse().ok()).collect();
        let gold: HashSet<Sha> = question.gold.iter().copied().collect();
        Ok(found.iter().position(|sha| sha.is_some_and(|sha| gold.contains(&sha))).map(|at| at + 1))
    }
}

fn document(commit: &Commit) -> Document {
    let message = Message::parse(&commit.message);
    let paths = commit.changes.iter().map(|change| change.path.as_str()).filter(|path| !is_changelog(path));
    let paths = paths.collect::<Vec<_>>().join("\n");
    Document {
        id: commit.sha.to_string(),
        kind: DocumentKind::Commit,
        project: "baseline".to_owned(),
        parent: None,
        title: message.subject.clone(),
        url: String::new(),
        author: None,
        labels: vec![],
        state: None,
        created_at: commit.author.at,
        updated_at: commit.committer.at,
        header: message.subject.clone(),
        parts: vec![],
        whole_text: format!("{}\n\n{}\n\n{paths}", message.subject, message.body),
        path: None,
        changed: vec![],
        lines: None,
        importance: 0.0,
        confidential: false,
    }
}
