//! Candidates from the graph: what is near to the strongest of those that words and meaning proposed.
//!
//! Why they stand behind the others is in decision 0030 in `docs/decisions`.

use std::collections::{BTreeMap, HashMap, HashSet};

use backstory_model::{filter::Filter, id::NodeId};
use serde::{Deserialize, Serialize};

use super::{
    candidates::score_passages,
    evidence::Candidate,
    facts_of,
    order::{RankingContext, build_candidates},
    prepared_filter::PreparedFilter,
};
use crate::{
    error::Result,
    resources::Resources,
    walk::{Bounds, Crowd, Reached, walk},
};

/// The strongest candidates, whose neighborhood is walked.
pub(super) const EXPANDED: usize = 40;
/// Bounds of that walk. Over a node that leads to more than fifty others an answer is found by chance only.
const BOUNDS: Bounds = Bounds { alternatives: 50, crowd: Crowd::Avoid, frontier: 150, nodes: 1_000 };
/// Most candidates that only the graph found, the most strongly tied ones.
const MAX_FOUND: usize = 100;
/// How strongly what the best hit leads to is tied to the query.
const OF_BEST: f32 = 0.5;
/// How steeply that falls with the scores of others: half the score counts a sixteenth. If it fell as the scores do, the
/// neighbors of forty hits would hide those of the one that is meant.
const STEEPNESS: i32 = 4;

/// Whether neighbors of the strongest candidates are candidates too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Expansion {
    /// They are, where words and meaning count. They stand behind the first hits, unless the relationship has a weight.
    #[default]
    Neighbors,
    /// They are not.
    None,
}

/// How documents are tied to what a query names or finds, by id.
pub(super) type Relations = BTreeMap<String, Reached>;

/// Walks from what a query names and from the strongest candidates.
pub(super) async fn relate(resources: &Resources, ranked: &[(&str, f32)], named: &[NodeId]) -> Result<Relations> {
    let strongest: Vec<(NodeId, f32)> =
        ranked.iter().take(EXPANDED).filter_map(|(id, score)| Some((id.parse().ok()?, *score))).collect();
    let best = strongest.first().map_or(1.0, |(_, score)| *score).max(f32::MIN_POSITIVE);
    let mut start: Vec<(NodeId, f32)> = named.iter().map(|id| (id.clone(), 1.0)).collect();
    let strength = |score: f32| OF_BEST * (score / best).clamp(0.0, 1.0).powi(STEEPNESS);
    start.extend(strongest.into_iter().map(|(id, score)| (id, strength(score))));
    let walked = resources.blocking(move |resources| walk(&resources.graph(), &start, BOUNDS)).await?;
    let mut relations: Relations =
        walked.nodes.into_iter().map(|(node, reached)| (node.to_string(), reached)).collect();
    relations.extend(named.iter().map(|id| (id.to_string(), Reached::start())));
    Ok(relations)
}

/// Candidates that are tied to the others and not among them.
pub(super) async fn graph_candidates(
    resources: &Resources,
    relations: &Relations,
    known: &HashSet<&str>,
    order: &mut RankingContext<'_>,
    filter: &Filter,
) -> Result<BTreeMap<String, Candidate>> {
    let index = resources.index();
    let mut ids: Vec<String> = relations.keys().filter(|id| !known.contains(id.as_str())).cloned().collect();
    let (facts, prepared) = (facts_of(&index, &ids), PreparedFilter::of(filter));
    ids.retain(|id| facts.get(id).is_some_and(|of| prepared.is_met_by(id, of) && !known.contains(&*of.thread)));
    ids.sort_by(|a, b| relations[b].strength.total_cmp(&relations[a].strength).then_with(|| a.cmp(b)));
    ids.truncate(MAX_FOUND);
    let wholes: Vec<String> = ids.iter().filter_map(|id| facts.get(id)).map(|of| of.thread.to_string()).collect();
    order.facts.extend(facts);
    order.facts.extend(facts_of(&index, &wholes));
    let measured = score_passages(resources, order.scale, order.vector, &ids).await?;
    let mut candidates = build_candidates(measured, &order.facts, &HashMap::new(), filter);
    candidates.retain(|id, _| !known.contains(id.as_str()));
    order.complete(&mut candidates);
    add_relations(&mut candidates, relations);
    Ok(candidates)
}

/// Tells candidates how strongly they, or those of their passages that are, are tied to the rest.
pub(super) fn add_relations(candidates: &mut BTreeMap<String, Candidate>, relations: &Relations) {
    for (id, candidate) in candidates {
        candidate.parts.relationship = relation_of(id, candidate, relations).map_or(0.0, |reached| reached.strength);
    }
}

/// What ties a candidate to the rest.
pub(super) fn relation_of<'a>(id: &str, candidate: &Candidate, relations: &'a Relations) -> Option<&'a Reached> {
    let own = relations.get(id);
    let of_passages = candidate.passages.iter().filter_map(|passage| relations.get(&passage.document));
    own.or_else(|| of_passages.max_by(|a, b| a.strength.total_cmp(&b.strength)))
}
