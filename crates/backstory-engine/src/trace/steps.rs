//! Steps of a trace: what is quoted of commits, merge requests and issues.

use backstory_model::{
    commit::ChangeStatus,
    document::commit_url,
    edge::Edge,
    entity::{Issue, MergeRequest},
    id::NodeId,
    message,
    reference::ReferenceContext,
    repository::CommitRecord,
    sentence::own_blocks,
    text::snippet_of_blocks,
};
use backstory_store::graph::InferredLink;

use super::{Evidence, LineOrigin, Step, TraceNode, words::CodeWords};
use crate::{
    error::Result,
    records::{commit_record, repository_record},
    resources::Resources,
};

/// Length of quoted text, in characters.
const QUOTED: usize = 400;

pub(crate) fn commit_step(
    resources: &Resources,
    project: &str,
    record: &CommitRecord,
    origins: &[LineOrigin],
    words: &CodeWords,
) -> Result<Step> {
    let commit = &record.commit;
    let origin = origins.first();
    let change = commit
        .changes
        .iter()
        .find(|change| origin.is_some_and(|origin| change.path.as_str() == origin.path))
        .map(|change| change.status);
    let edge = match change {
        Some(ChangeStatus::Added | ChangeStatus::Copied) => Edge::Introduces,
        _ => Edge::Modifies,
    };
    let notes = message::design_notes(&commit.message);
    let body = message::Message::parse(&commit.message).body;
    // The reason that names the code, else the first reason, else the beginning.
    let best = notes.iter().max_by_key(|note| (words.shared(&note.text), std::cmp::Reverse(note.first_line)));
    let text = best.map_or(body.as_str(), |note| note.text.as_str());
    let node = commit_node(resources, project, record)?;
    Ok(Step {
        edge,
        from: None,
        evidence: Evidence {
            text: quote(text, words),
            url: node.url.clone(),
            path: origin.map(|origin| origin.path.clone()),
            lines: origin.map(|origin| (origin.line, origin.line + origin.lines - 1)),
            ..Evidence::default()
        },
        node,
        confidence: None,
    })
}

fn commit_node(resources: &Resources, project: &str, record: &CommitRecord) -> Result<TraceNode> {
    let repository = repository_record(resources, project)?;
    let sha = record.commit.sha.to_string();
    let url = repository.map(|repository| {
        commit_url(ReferenceContext { forge: repository.forge, project, forge_url: &repository.forge_url }, &sha)
    });
    let id = NodeId::commit(project, &sha);
    Ok(TraceNode::new(id, record.commit.title(), url.filter(|url| !url.is_empty())))
}

pub(crate) fn merge_step(resources: &Resources, project: &str, merge: &NodeId, from: &NodeId) -> Result<Option<Step>> {
    let NodeId::Commit { sha, .. } = merge else { return Ok(None) };
    let Some(record) = commit_record(resources, project, sha)? else { return Ok(None) };
    let node = commit_node(resources, project, &record)?;
    let evidence = Evidence { url: node.url.clone(), ..Evidence::default() };
    Ok(Some(Step { edge: Edge::MergedBy, from: Some(from.clone()), node, evidence, confidence: None }))
}

/// The same of a merge whose merge request is not known: its own message is all that tells why.
pub(crate) fn quoted_merge_step(
    resources: &Resources,
    project: &str,
    merge: &NodeId,
    from: &NodeId,
    words: &CodeWords,
) -> Result<Option<Step>> {
    let NodeId::Commit { sha, .. } = merge else { return Ok(None) };
    let Some(record) = commit_record(resources, project, sha)? else { return Ok(None) };
    let Some(mut step) = merge_step(resources, project, merge, from)? else { return Ok(None) };
    let body = message::Message::parse(&record.commit.message).body;
    step.evidence.text = quote(body.as_str(), words);
    Ok(Some(step))
}

fn merge_request_node(mr: &MergeRequest) -> TraceNode {
    TraceNode::new(mr.id.clone().into(), &*mr.thread.title, Some(mr.thread.web_url.clone()))
}

pub(crate) fn merge_request_step(mr: &MergeRequest, edge: Edge, from: Option<&NodeId>, words: &CodeWords) -> Step {
    Step {
        edge,
        from: from.cloned(),
        node: merge_request_node(mr),
        evidence: Evidence {
            text: quote(&mr.thread.description, words),
            url: Some(mr.thread.web_url.clone()),
            ..Evidence::default()
        },
        confidence: None,
    }
}

pub(crate) fn issue_step(issue: &Issue, edge: Edge, from: Option<&NodeId>, words: &CodeWords) -> Step {
    Step {
        edge,
        from: from.cloned(),
        node: TraceNode::new(issue.id.clone().into(), &*issue.thread.title, Some(issue.thread.web_url.clone())),
        evidence: quoted(&issue.thread.description, &issue.thread.web_url, words),
        confidence: None,
    }
}

pub(crate) fn solution_step(mr: &MergeRequest, edge: Edge, id: &NodeId, words: &CodeWords) -> Step {
    Step {
        edge,
        from: Some(id.clone()),
        node: merge_request_node(mr),
        evidence: quoted(&mr.thread.description, &mr.thread.web_url, words),
        confidence: None,
    }
}

/// A step as an inferred one.
pub(crate) fn inferred(mut step: Step, link: InferredLink) -> Step {
    step.confidence = Some(link.confidence);
    step.evidence.reasons = link.evidence;
    step
}

pub(crate) fn quoted(text: &str, url: &str, words: &CodeWords) -> Evidence {
    Evidence { text: quote(text, words), url: Some(url.to_owned()), ..Evidence::default() }
}

/// The part of the prose of a text that has most of the words, as far as its writer says it, with items of lists on lines of
/// their own; of code if there is no prose, and `None` if nothing is left.
pub(crate) fn quote(text: &str, words: &CodeWords) -> Option<String> {
    Some(snippet_of_blocks(&own_blocks(text), &words.query(), QUOTED)).filter(|text| !text.is_empty())
}
