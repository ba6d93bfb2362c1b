//! The ranks of a search for a question: the one place that knows what a result looks like.

use std::collections::BTreeSet;

use backstory_model::{filter::Filter, id::NodeId, score::Profile};

use crate::{
    error::Result,
    resources::Resources,
    search::{Hit, MAX_LIMIT, Mode, SearchRequest, search_documents},
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

/// What search finds, best first, at most `depth`: stories, each with all that belongs to it.
pub(super) async fn retrieve_by_search(
    resources: &Resources,
    project: &str,
    question: &str,
    (mode, profile): (Mode, Option<Profile>),
    depth: usize,
    warnings: &mut BTreeSet<String>,
) -> Result<Vec<Found>> {
    let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
    let ranking = profile.map(Into::into);
    let request = SearchRequest {
        query: question.to_owned(),
        filter,
        mode,
        limit: depth.min(MAX_LIMIT),
        ranking,
        rerank: true,
        ..SearchRequest::default()
    };
    let response = search_documents(resources, request).await?;
    warnings.extend(response.warnings);
    let found = |hit: Hit| {
        let whole = hit.document.facts.thread.to_string();
        let own = [whole.as_str(), hit.document.id.as_str()].into_iter().filter_map(|id| id.parse().ok());
        let nodes: BTreeSet<NodeId> = own.chain(hit.members.into_iter().map(|member| member.id)).collect();
        let (id, score) = (hit.document.id.clone(), f64::from(hit.score));
        Found { id, title: hit.document.title, score, nodes: nodes.into_iter().collect() }
    };
    Ok(response.hits.into_iter().map(found).collect())
}
