//! From an issue to what closed it.

use backstory_model::{edge::Edge, entity::Item, id::NodeId};
use backstory_store::graph::Direction;

use super::{
    Trace,
    chain::follow_commit,
    steps::{commit_step, inferred, solution_step},
    words::CodeWords,
};
use crate::{error::Result, read::item_of_node, records::commit_record, resources::Resources};

/// Merge requests and commits of an issue that are told.
const MAX_SOLUTIONS: usize = 5;

/// Adds what closed an issue: merge requests, then commits.
pub(crate) fn solutions_of(resources: &Resources, id: &NodeId, words: &CodeWords, trace: &mut Trace) -> Result<()> {
    for edge in [Edge::Closes, Edge::Fixes, Edge::RelatesTo, Edge::References] {
        let mut ends = resources.graph().edges(id, Direction::In, Some(edge))?;
        if edge == Edge::RelatesTo {
            ends.extend(resources.graph().edges(id, Direction::Out, Some(edge))?);
        }
        for end in ends.into_iter().take(MAX_SOLUTIONS) {
            match (&end.other, item_of_node(resources, &end.other)?) {
                (_, Some(Item::MergeRequest(mr))) => trace.add(solution_step(&mr, edge, id, words)),
                (NodeId::Commit { project, sha }, Some(_)) => {
                    if let Some(record) = commit_record(resources, project, sha)? {
                        let first = trace.chain.len();
                        follow_commit(resources, project, &record, &[], words, trace)?;
                        let own = trace.chain.get_mut(first).filter(|step| step.from.is_none());
                        if let Some(step) = own {
                            (step.edge, step.from) = (edge, Some(id.clone()));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    inferred_solutions_of(resources, id, words, trace)
}

/// Adds what probably has to do with an issue by inference, the most likely first.
fn inferred_solutions_of(resources: &Resources, id: &NodeId, words: &CodeWords, trace: &mut Trace) -> Result<()> {
    let mut links = resources.graph().inferred(id)?;
    links.retain(|link| link.to == *id);
    links.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.from.cmp(&b.from)));
    for link in links.into_iter().take(MAX_SOLUTIONS) {
        match (&link.from, item_of_node(resources, &link.from)?) {
            (_, Some(Item::MergeRequest(mr))) => {
                trace.add(inferred(solution_step(&mr, Edge::RelatesTo, id, words), link));
            }
            (NodeId::Commit { project, sha }, Some(_)) => {
                if let Some(record) = commit_record(resources, project, sha)? {
                    let mut step = commit_step(resources, project, &record, &[], words)?;
                    (step.edge, step.from) = (Edge::RelatesTo, Some(id.clone()));
                    trace.add(inferred(step, link));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
