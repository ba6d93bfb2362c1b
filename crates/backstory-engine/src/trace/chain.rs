//! From a commit to the merge request that introduced it, or the merge if that is not known, and from there to what was
//! said.

use backstory_model::{commit::Sha, edge::Edge, entity::Item, id::NodeId, repository::CommitRecord};

use super::{
    Evidence, LineOrigin, Step, Trace, TraceNode,
    reasons::{discussions_about, issues_of},
    steps::{commit_step, merge_request_step, merge_step, quoted_merge_step},
    words::CodeWords,
};
use crate::{
    error::Result,
    introduction::{IntroducingMergeRequest, merge_introducing, merge_requests_introducing},
    read::item_of_node,
    resources::Resources,
};

/// Merge requests of a commit that are followed.
const MAX_CARRIERS: usize = 2;

pub(crate) fn follow_commit(
    resources: &Resources,
    project: &str,
    record: &CommitRecord,
    origins: &[LineOrigin],
    words: &CodeWords,
    trace: &mut Trace,
) -> Result<()> {
    let own = commit_step(resources, project, record, origins, words)?;
    let id = own.node.id.clone();
    trace.add(own);
    if record.rewritten {
        trace.add_gap(format!("commit {} is on no indexed branch any more: history was rewritten", record.commit.sha));
    }
    let carriers = merge_requests_introducing(resources, project, record.commit.sha)?;
    let mut concerned = vec![id.clone()];
    if carriers.is_empty() {
        trace.miss_merge_request(&record.commit.sha.to_string()[..7]);
        if let Some(merge) = merge_introducing(resources, &id)?
            && let Some(step) = quoted_merge_step(resources, project, &merge, &id, words)?
        {
            trace.add(step);
            concerned.push(merge);
        }
    }
    for carrier in carriers.into_iter().take(MAX_CARRIERS) {
        let mut from = id.clone();
        if let Some(merge) = &carrier.merge {
            if let Some(step) = merge_step(resources, project, merge, &from)? {
                trace.add(step);
            }
            from = merge.clone();
        }
        follow_merge_request(resources, &carrier, &from, origins, words, trace)?;
        concerned.push(carrier.id.into());
    }
    issues_of(resources, &concerned, words, trace)
}

/// Goes on from a commit that has not been read yet, as far as issues and merge requests have been.
pub(super) fn follow_unread_commit(
    resources: &Resources,
    project: &str,
    commit: Sha,
    origins: &[LineOrigin],
    words: &CodeWords,
    trace: &mut Trace,
) -> Result<()> {
    let id = NodeId::commit(project, &commit.to_string());
    let origin = origins.first();
    let title = origin.map(|origin| origin.title.clone()).unwrap_or_default();
    let evidence = Evidence {
        path: origin.map(|origin| origin.path.clone()),
        lines: origin.map(|origin| (origin.line, origin.line + origin.lines.max(1) - 1)),
        ..Evidence::default()
    };
    let node = TraceNode::new(id.clone(), title, None);
    trace.add(Step { edge: Edge::Modifies, from: None, node, evidence, confidence: None });
    let mut concerned = vec![id.clone()];
    for carrier in merge_requests_introducing(resources, project, commit)?.into_iter().take(MAX_CARRIERS) {
        follow_merge_request(resources, &carrier, &id, origins, words, trace)?;
        concerned.push(carrier.id.into());
    }
    issues_of(resources, &concerned, words, trace)
}

fn follow_merge_request(
    resources: &Resources,
    carrier: &IntroducingMergeRequest,
    from: &NodeId,
    origins: &[LineOrigin],
    words: &CodeWords,
    trace: &mut Trace,
) -> Result<()> {
    let id: NodeId = carrier.id.clone().into();
    let Some(Item::MergeRequest(mr)) = item_of_node(resources, &id)? else {
        trace.add_gap(format!("merge request {id} carried it but is not in the index; sync its project to read it"));
        trace.add(Step {
            edge: carrier.edge,
            from: Some(from.clone()),
            node: TraceNode::new(id, String::new(), None),
            evidence: Evidence::default(),
            confidence: None,
        });
        return Ok(());
    };
    trace.add(merge_request_step(&mr, carrier.edge, Some(from), words));
    discussions_about(resources, &mr, origins, words, trace)
}
