//! What search ranks for a question: the one place that knows what its results look like.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{filter::Filter, id::NodeId};

use crate::{
    Engine,
    error::Result,
    search::{MAX_LIMIT, Mode, SearchRequest},
};

/// A result: what was found, with all that it stands for.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) score: f64,
    /// Itself, what it is part of, and its parts that were found.
    pub(super) nodes: Vec<NodeId>,
}

impl Engine {
    /// What search finds, best first, at most `depth`: issues, merge requests, commits and files, each with its parts
    /// that were found.
    pub(super) async fn ranked(
        &self,
        project: &str,
        question: &str,
        mode: Mode,
        depth: usize,
        warnings: &mut BTreeSet<String>,
    ) -> Result<Vec<Found>> {
        let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
        // Parts are hits of their own, so more hits are needed than there are results.
        let request = SearchRequest { query: question.to_owned(), filter, mode, limit: MAX_LIMIT };
        let response = self.search(request).await?;
        warnings.extend(response.warnings);
        let mut found: Vec<Found> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for hit in response.hits {
            let whole = hit.document.facts.thread.to_string();
            let place = *places.entry(whole.clone()).or_insert_with(|| {
                let nodes = whole.parse().into_iter().collect();
                found.push(Found { id: whole, title: hit.document.title, score: f64::from(hit.score), nodes });
                found.len() - 1
            });
            found[place].nodes.extend(hit.document.id.parse::<NodeId>());
        }
        found.truncate(depth);
        Ok(found)
    }
}
