//! Traces a node that is not code: a commit, a merge request, an issue.

use backstory_model::{
    edge::Edge,
    entity::Item,
    id::{NodeId, ThreadId},
};

use super::{
    Evidence, Step, Trace, TraceNode,
    chain::follow_commit,
    reasons::{discussions_about, issues_of},
    solutions::solutions_of,
    steps::{issue_step, merge_request_step},
    target::resolve_place,
    words::CodeWords,
};
use crate::{
    error::{Error, Result},
    read::{forgotten_error, item_of_node, not_found, thread_not_found},
    records::{commit_record, resolve_thread_kind},
    resources::Resources,
};

/// What is behind a node that is no code.
pub(crate) fn trace_node(resources: &Resources, id: &NodeId) -> Result<Trace> {
    let mut trace = Trace { project: id.project().unwrap_or_default().to_owned(), ..Trace::default() };
    if let Ok(place) = resolve_place(resources, id.project(), None) {
        trace.indexed = place.indexed();
    }
    match &resolve_thread_kind(resources, id.clone())? {
        NodeId::Commit { project, sha } => {
            let Some(record) = commit_record(resources, project, sha)? else {
                return Err(forgotten_error(resources, id)?.unwrap_or_else(|| not_found("commit", &id.to_string())));
            };
            trace.rev = Some(record.commit.sha);
            let words = CodeWords::of(record.commit.title(), None);
            follow_commit(resources, project, &record, &[], &words, &mut trace)?;
        }
        NodeId::Thread(thread) => trace_thread(resources, thread, &mut trace)?,
        NodeId::Discussion { thread, .. } | NodeId::Note { thread, .. } => trace_thread(resources, thread, &mut trace)?,
        NodeId::Ticket(key) => trace_ticket(resources, key, &mut trace)?,
        other => {
            return Err(Error::invalid(format!("{other} has no reasons behind it"))
                .with_hint("ask about code, a commit, a merge request or an issue"));
        }
    }
    Ok(trace)
}

/// What fixes a ticket of another tracker; nothing else is known of it.
fn trace_ticket(resources: &Resources, key: &str, trace: &mut Trace) -> Result<()> {
    let id = NodeId::Ticket(key.to_owned());
    if !resources.graph().exists(&id)? {
        return Err(not_found("ticket", &id.to_string()));
    }
    trace.add(Step {
        edge: Edge::References,
        from: None,
        node: TraceNode::new(id.clone(), key, resources.settings().trackers.url_of(key)),
        evidence: Evidence::default(),
        confidence: None,
    });
    solutions_of(resources, &id, &CodeWords::of(key, None), trace)
}

fn trace_thread(resources: &Resources, thread: &ThreadId, trace: &mut Trace) -> Result<()> {
    let id: NodeId = thread.clone().into();
    match item_of_node(resources, &id)? {
        Some(Item::MergeRequest(mr)) => {
            let words = CodeWords::of(&mr.thread.title, None);
            trace.add(merge_request_step(&mr, Edge::MergedAs, None, &words));
            discussions_about(resources, &mr, &[], &words, trace)?;
            issues_of(resources, &[id], &words, trace)
        }
        Some(Item::Issue(issue)) => {
            let words = CodeWords::of(&issue.thread.title, None);
            trace.add(issue_step(&issue, Edge::References, None, &words));
            solutions_of(resources, &id, &words, trace)
        }
        _ => Err(thread_not_found(resources, "issue or merge request", thread)?),
    }
}
