//! Explains a search: every candidate with its ranks in each leg, before ranking.

use std::collections::{BTreeMap, HashMap};

use backstory_model::{document_kind::DocumentKind, id::NodeId};
use backstory_store::graph::GraphEdge;
use serde::{Deserialize, Serialize};

use super::{candidates::Candidates, expand::Relations};

/// Most candidates that are explained, those that legs rank best.
pub const MAX_EXPLAINED: usize = 500;

/// A document that words, meaning or the graph proposed, before it was ranked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CandidateRanks {
    /// Its reference.
    pub id: NodeId,
    /// What kind of document it is.
    pub kind: DocumentKind,
    /// Its place by words, from 1; none if they did not propose it.
    pub words: Option<u32>,
    /// Its place by meaning, from 1.
    pub vectors: Option<u32>,
    /// Its place by how strongly the graph ties it to the strongest candidates, or to what the search is near to, from 1.
    pub graph: Option<u32>,
    /// The edges by which the graph leads to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reached_by: Vec<GraphEdge>,
}

/// Every candidate, the best place in any leg first.
pub(super) fn candidate_ranks(
    found: &Candidates,
    relations: &Relations,
    kind_of: impl Fn(&str) -> Option<DocumentKind>,
) -> Vec<CandidateRanks> {
    let mut words: Vec<(&str, f32)> = found.words.iter().map(|hit| (hit.document.as_str(), hit.score)).collect();
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let vectors = found.passages.iter().map(|hit| hit.document.as_str());
    let mut graph: Vec<(&str, f32)> = relations
        .iter()
        .filter(|(id, _)| kind_of(id).is_some())
        .map(|(id, reached)| (id.as_str(), reached.strength))
        .collect();
    graph.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let legs =
        [places(words.into_iter().map(|(id, _)| id)), places(vectors), places(graph.into_iter().map(|(id, _)| id))];
    let mut best: BTreeMap<&str, u32> = BTreeMap::new();
    for (id, place) in legs.iter().flatten() {
        let known = best.entry(*id).or_insert(*place);
        *known = (*known).min(*place);
    }
    let mut ids: Vec<(&str, u32)> = best.into_iter().collect();
    // Equal ones stay in the order of their ids.
    ids.sort_by_key(|(_, place)| *place);
    let [words, vectors, graph] = legs;
    let ranks = |(id, _): (&str, u32)| {
        Some(CandidateRanks {
            id: id.parse().ok()?,
            kind: kind_of(id)?,
            words: words.get(id).copied(),
            vectors: vectors.get(id).copied(),
            graph: graph.get(id).copied(),
            reached_by: relations.get(id).map(|reached| reached.path.to_vec()).unwrap_or_default(),
        })
    };
    ids.into_iter().filter_map(ranks).take(MAX_EXPLAINED).collect()
}

fn places<'a>(ids: impl Iterator<Item = &'a str>) -> HashMap<&'a str, u32> {
    let mut places = HashMap::new();
    for id in ids {
        let next = u32::try_from(places.len() + 1).unwrap_or(u32::MAX);
        places.entry(id).or_insert(next);
    }
    places
}
