//! The documents that a search is limited to, where it is near to nodes or within them: all of them are candidates, so
//! none is missed because others have more words or a nearer meaning.

use std::{cmp::Ordering, sync::Arc};

use backstory_model::id::NodeId;

use super::{
    SearchRequest,
    candidates::{candidate_filter, meets},
    expand::Relations,
    paths::hint_at_nearest_file,
};
use crate::{
    error::{Error, ErrorKind, Result},
    resources::Resources,
    walk::{Bounds, Crowd, Reached, subject_of, walk},
};

/// Bounds of the walk around nodes that a search is near to.
const BOUNDS: Bounds = Bounds { alternatives: 1_000, crowd: Crowd::Cut, frontier: 300, nodes: 1_000 };
/// Most documents that a search is limited to.
const MAX_DOCUMENTS: usize = 1_000;
/// Most documents of the nodes, of which the most strongly tied are taken.
const MAX_READ: usize = 20_000;

/// What a search is limited to.
pub(super) struct Scope {
    /// The documents, those most strongly tied to the nodes first.
    pub(super) documents: Vec<String>,
    /// How they are tied to the nodes that the search is near to.
    pub(super) relations: Relations,
    /// What bounds left out, a sentence each.
    pub(super) left_out: Vec<String>,
}

/// Finds the documents that a request is limited to; `None` if that is all there are.
pub(super) async fn load_scope(resources: &Resources, request: &SearchRequest) -> Result<Option<Scope>> {
    if request.near.is_empty() && request.filter.nodes.is_empty() {
        return Ok(None);
    }
    let (relations, mut left_out) = walk_around(resources, &request.near).await?;
    let (nodes, strengths): (Vec<&str>, Vec<f32>) = if request.near.is_empty() {
        request.filter.nodes.iter().map(|node| (node.as_str(), 0.0)).unzip()
    } else {
        relations.iter().map(|(id, reached)| (id.as_str(), reached.strength)).unzip()
    };
    let index = resources.index();
    let candidates = candidate_filter(&request.filter);
    let documents = index.documents_of(&nodes, MAX_READ, |id, facts| meets(&candidates, id, facts));
    let tied = documents.into_iter().map(|(id, node)| (strengths[node], id));
    let mut tied: Vec<(f32, Arc<str>)> = tied.collect();
    if tied.len() > MAX_DOCUMENTS {
        let rest = tied.len() - MAX_DOCUMENTS;
        left_out.push(format!("{rest} more documents of these nodes were not searched; the limit is {MAX_DOCUMENTS}"));
        tied.select_nth_unstable_by(MAX_DOCUMENTS, by_strength);
        tied.truncate(MAX_DOCUMENTS);
    }
    tied.sort_unstable_by(by_strength);
    let documents = tied.into_iter().map(|(_, id)| id.to_string()).collect();
    Ok(Some(Scope { documents, relations, left_out }))
}

/// The most strongly tied first, equal ones by id.
fn by_strength(a: &(f32, Arc<str>), b: &(f32, Arc<str>)) -> Ordering {
    b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1))
}

/// The nodes around some, and what bounds left out.
async fn walk_around(resources: &Resources, near: &[NodeId]) -> Result<(Relations, Vec<String>)> {
    let start: Vec<NodeId> = near.iter().map(subject_of).collect();
    resources
        .blocking(move |resources| {
            let graph = resources.graph();
            for id in &start {
                if !graph.exists(id)? {
                    let error = Error::new(ErrorKind::NotFound, format!("nothing is known of {id}"));
                    return Err(match hint_at_nearest_file(resources, id) {
                        Some(hint) => error.with_hint(hint),
                        None => error,
                    });
                }
            }
            let begun: Vec<(NodeId, f32)> = start.iter().map(|id| (id.clone(), 1.0)).collect();
            let walked = walk(&graph, &begun, BOUNDS)?;
            let mut relations: Relations =
                walked.nodes.into_iter().map(|(node, reached)| (node.to_string(), reached)).collect();
            relations.extend(start.iter().map(|id| (id.to_string(), Reached { strength: 1.0, path: Vec::new() })));
            let nodes = BOUNDS.nodes;
            let left_out = walked.is_cut.then(|| format!("more is near than the {nodes} nodes that were searched"));
            Ok((relations, left_out.into_iter().collect()))
        })
        .await
}
