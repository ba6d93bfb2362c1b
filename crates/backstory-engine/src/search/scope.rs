//! The documents that a search is limited to, where it is near to nodes or within them: all of them are candidates, so
//! none is missed because others have more words or a nearer meaning.

use backstory_model::id::NodeId;

use super::{
    SearchRequest, candidates::candidate_filter, expand::Relations, paths::hint_at_nearest_file,
    prepared_filter::PreparedFilter,
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
    let nodes = if request.near.is_empty() {
        request.filter.nodes.iter().map(|node| (node.as_str(), 0)).collect()
    } else {
        rank_by_strength(&relations)
    };
    let candidates = PreparedFilter::of(&candidate_filter(&request.filter));
    let index = resources.index();
    let (documents, total) = index.documents_of(&nodes, MAX_DOCUMENTS, |id, facts| candidates.is_met_by(id, facts));
    if total > documents.len() {
        let rest = total - documents.len();
        left_out.push(format!("{rest} more documents of these nodes were not searched; the limit is {MAX_DOCUMENTS}"));
    }
    let documents = documents.into_iter().map(|id| id.to_string()).collect();
    Ok(Some(Scope { documents, relations, left_out }))
}

/// Nodes with their ranks, 0 for those that are tied most strongly; equally strong ones have the same.
fn rank_by_strength(relations: &Relations) -> Vec<(&str, usize)> {
    let mut strengths: Vec<f32> = relations.values().map(|reached| reached.strength).collect();
    strengths.sort_unstable_by(|a, b| b.total_cmp(a));
    strengths.dedup();
    let rank = |strength: f32| strengths.partition_point(|stronger| *stronger > strength);
    relations.iter().map(|(id, reached)| (id.as_str(), rank(reached.strength))).collect()
}

/// The nodes around some, and what bounds left out.
async fn walk_around(resources: &Resources, near: &[NodeId]) -> Result<(Relations, Vec<String>)> {
    let start: Vec<NodeId> = near.iter().map(subject_of).collect();
    resources
        .blocking(move |resources| {
            let graph = resources.graph();
            for id in &start {
                if !graph.exists(id)? {
                    let error = Error::new(ErrorKind::NotFound, format!("nothing is known about {id}"));
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
            relations.extend(start.iter().map(|id| (id.to_string(), Reached::start())));
            let nodes = BOUNDS.nodes;
            let left_out = walked.is_cut.then(|| format!("more is near than the {nodes} nodes that were searched"));
            Ok((relations, left_out.into_iter().collect()))
        })
        .await
}
