//! An issue or merge request with its discussions and edges, and a discussion alone.

use std::ops::Not;

use backstory_model::{
    edge::Edge,
    entity::{Discussion, Item, MergeRequest, Note, NoteKind, Position, ProposedFile},
    id::{NodeId, ThreadId, ThreadKind},
    security::SecurityFlag,
};
use backstory_store::graph::{AdjacentEdge, Direction, InferredLink};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    generated::{ThreadNotes, results::notes_by_model},
    read::{find_person, load_discussions, load_item, not_found, thread_not_found},
    resources::{Resources, blocking},
    threads::ThreadSummary,
};

/// Most notes of an answer. Forges allow fewer on an issue or merge request.
const MAX_NOTES: usize = 10_000;
/// Most edges of a direction.
const MAX_EDGES: usize = 100;
/// Edges that start at an issue or merge request, as far as they are shown.
const OUT: [Edge; 8] = [
    Edge::Closes,
    Edge::Fixes,
    Edge::MergedAs,
    Edge::RelatesTo,
    Edge::Blocks,
    Edge::Duplicates,
    Edge::References,
    Edge::Mentions,
];
/// Edges that end there, as far as they are shown.
const IN: [Edge; 5] = [Edge::Closes, Edge::RelatesTo, Edge::Blocks, Edge::Duplicates, Edge::References];

/// An issue or merge request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadDetails {
    /// What lists show of it.
    #[serde(flatten)]
    pub summary: ThreadSummary,
    /// Which of the two.
    pub kind: ThreadKind,
    /// Name of the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author_name: Option<String>,
    /// Title of its milestone.
    pub milestone: Option<String>,
    /// User names of the assignees.
    pub assignees: Vec<String>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// User name of who closed it.
    pub closed_by: Option<String>,
    /// Text, Markdown.
    pub description: String,
    /// Whether it is confidential.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub confidential: bool,
    /// What only a merge request has.
    #[serde(flatten)]
    pub merge_request: Option<MergeRequestDetails>,
    /// What its title and text say of security, each with the line that says it; the title is line 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_flags: Vec<SecurityFlag>,
    /// Design notes that a language model wrote about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_notes: Option<ThreadNotes>,
    /// Its discussions, oldest first.
    pub discussions: Vec<DiscussionDetails>,
    /// Notes beyond the limit of an answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_notes: usize,
    /// Its edges.
    pub edges: ThreadEdges,
}

/// What only a merge request has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MergeRequestDetails {
    /// Whether it is a draft.
    pub draft: bool,
    /// User names of the reviewers.
    pub reviewers: Vec<String>,
    /// User names of who approved it.
    pub approved_by: Vec<String>,
    /// When it was merged.
    pub merged_at: Option<Timestamp>,
    /// User name of who merged it.
    pub merged_by: Option<String>,
    /// Files that it would change, by path; none once it is merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ProposedFile>,
}

impl From<&MergeRequest> for MergeRequestDetails {
    fn from(mr: &MergeRequest) -> Self {
        Self {
            draft: mr.draft,
            reviewers: mr.reviewers.clone(),
            approved_by: mr.approved_by.clone(),
            merged_at: mr.merged_at,
            merged_by: mr.merged_by.clone(),
            files: mr.files.clone(),
        }
    }
}

/// Edges of an issue or merge request, by type and other end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadEdges {
    /// Those that start there, at most 100.
    pub out: Vec<EdgeDetails>,
    /// Those that end there, at most 100.
    #[serde(rename = "in")]
    pub into: Vec<EdgeDetails>,
    /// Edges beyond these limits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: usize,
}

/// An edge at an issue or merge request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EdgeDetails {
    /// Its type.
    pub name: Edge,
    /// The node at its other end.
    pub id: NodeId,
    /// Whether it is inferred.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub inferred: bool,
    /// Confidence of an inferred edge, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
    /// Evidence for an inferred edge, a sentence each, the strongest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

impl EdgeDetails {
    fn stated(AdjacentEdge { edge, other }: AdjacentEdge) -> Self {
        Self { name: edge, id: other, inferred: false, confidence: None, evidence: vec![] }
    }

    fn inferred(link: InferredLink, at: &NodeId) -> Self {
        let AdjacentEdge { edge, other } = link.end(at);
        let (confidence, evidence) = (Some(link.confidence), link.evidence);
        Self { name: edge, id: other, inferred: true, confidence, evidence }
    }
}

/// A discussion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiscussionDetails {
    /// Its id.
    pub id: NodeId,
    /// Whether it is a single comment without replies.
    pub individual: bool,
    /// Whether it can be resolved.
    pub resolvable: bool,
    /// Whether it is resolved.
    pub resolved: bool,
    /// Whether it is confidential.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub confidential: bool,
    /// Address for people.
    pub url: String,
    /// Its notes, oldest first.
    pub notes: Vec<NoteDetails>,
}

impl From<&Discussion> for DiscussionDetails {
    fn from(discussion: &Discussion) -> Self {
        Self {
            id: discussion.node_id(),
            individual: discussion.individual,
            resolvable: discussion.is_resolvable(),
            resolved: discussion.is_resolved(),
            confidential: discussion.confidential,
            url: discussion.web_url.clone(),
            notes: discussion.notes.iter().map(|note| NoteDetails::new(discussion, note)).collect(),
        }
    }
}

/// A discussion alone, with the issue or merge request that it is part of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiscussionWithParent {
    /// The discussion.
    #[serde(flatten)]
    pub discussion: DiscussionDetails,
    /// The issue or merge request.
    pub parent: ThreadId,
    /// Title of the issue or merge request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_title: Option<String>,
}

/// A note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoteDetails {
    /// Its id.
    pub id: NodeId,
    /// Its kind.
    pub kind: NoteKind,
    /// User name of the author; null for a deleted account.
    pub author: Option<String>,
    /// Text, Markdown.
    pub body: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// User name of who resolved it.
    pub resolved_by: Option<String>,
    /// The lines of the diff that it comments on.
    pub position: Option<DiffPosition>,
    /// Address for people.
    pub url: String,
}

impl NoteDetails {
    fn new(discussion: &Discussion, note: &Note) -> Self {
        Self {
            id: discussion.note_id(note),
            kind: note.kind,
            author: note.author.clone(),
            body: note.body.clone(),
            created_at: note.created_at,
            resolved_by: note.resolved_by.clone(),
            position: note.position.as_ref().map(DiffPosition::from),
            url: discussion.note_url(note.id),
        }
    }
}

/// Lines of a diff, from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffPosition {
    /// Path before the change.
    pub old_path: String,
    /// Path after the change.
    pub new_path: String,
    /// First line before the change; null for added lines.
    pub old_line_start: Option<u32>,
    /// Last line before the change.
    pub old_line_end: Option<u32>,
    /// First line after the change; null for deleted lines.
    pub new_line_start: Option<u32>,
    /// Last line after the change.
    pub new_line_end: Option<u32>,
}

impl From<&Position> for DiffPosition {
    fn from(position: &Position) -> Self {
        let (old_line_start, old_line_end) = position.old_lines.unzip();
        let (new_line_start, new_line_end) = position.new_lines.unzip();
        Self {
            old_path: position.old_path.clone(),
            new_path: position.new_path.clone(),
            old_line_start,
            old_line_end,
            new_line_start,
            new_line_end,
        }
    }
}

pub(super) async fn thread_details(resources: &Resources, id: &ThreadId) -> Result<ThreadDetails> {
    let item = load_item(resources, id.clone().into()).await?;
    let summarize = |item: &Item| Some((ThreadSummary::from_item(item)?, item.as_thread()?.clone()));
    let Some((summary, thread)) = item.as_ref().and_then(summarize) else {
        let id = id.clone();
        return Err(resources.blocking(move |resources| thread_not_found(resources, id.kind.name(), &id)).await?);
    };
    let merge_request = match &item {
        Some(Item::MergeRequest(mr)) => Some(MergeRequestDetails::from(mr)),
        _ => None,
    };
    let author_name = match &thread.author {
        Some(author) => find_person(resources, author).await?.map(|person| person.name),
        None => None,
    };
    let milestone = match thread.milestone {
        Some(iid) => milestone_title(resources, &id.project, iid).await?,
        None => None,
    };
    let discussions = load_discussions(resources, vec![id.clone()]).await?.remove(id).unwrap_or_default();
    let mut discussions: Vec<DiscussionDetails> = discussions.iter().map(DiscussionDetails::from).collect();
    let omitted_notes = limit_notes(&mut discussions);
    let security_flags = thread.security_flags();
    Ok(ThreadDetails {
        summary,
        kind: id.kind,
        author_name,
        milestone,
        assignees: thread.assignees,
        closed_at: thread.closed_at,
        closed_by: thread.closed_by,
        description: thread.description,
        confidential: thread.confidential,
        merge_request,
        security_flags,
        model_notes: notes_by_model(resources, id.clone()).await?,
        discussions,
        omitted_notes,
        edges: thread_edges(resources, id.clone().into()).await?,
    })
}

pub(super) async fn discussion_with_parent(
    resources: &Resources,
    id: &NodeId,
    parent: &ThreadId,
) -> Result<DiscussionWithParent> {
    let discussion = match load_item(resources, id.clone()).await? {
        Some(Item::Discussion(discussion)) if !discussion.notes.is_empty() => discussion,
        _ => return Err(not_found("discussion", &id.to_string())),
    };
    let mut discussion = DiscussionDetails::from(&discussion);
    discussion.notes.truncate(MAX_NOTES);
    let parent_item = load_item(resources, parent.clone().into()).await?;
    let parent_title = parent_item.as_ref().and_then(Item::as_thread).map(|thread| thread.title.clone());
    Ok(DiscussionWithParent { discussion, parent: parent.clone(), parent_title })
}

/// The discussion that a note is part of.
pub(super) async fn discussion_of_note(
    resources: &Resources,
    thread: &ThreadId,
    note: u64,
) -> Result<DiscussionWithParent> {
    let discussions = load_discussions(resources, vec![thread.clone()]).await?.remove(thread).unwrap_or_default();
    let found = discussions.iter().find(|discussion| discussion.notes.iter().any(|known| known.id == note));
    match found {
        Some(discussion) => discussion_with_parent(resources, &discussion.node_id(), thread).await,
        None => Err(not_found("note", &NodeId::Note { thread: thread.clone(), id: note }.to_string())),
    }
}

async fn milestone_title(resources: &Resources, project: &str, iid: u64) -> Result<Option<String>> {
    Ok(match load_item(resources, NodeId::Milestone { project: project.to_owned(), iid }).await? {
        Some(Item::Milestone(milestone)) => Some(milestone.title),
        _ => None,
    })
}

/// Reads the edges that are shown, inferred ones included.
async fn thread_edges(resources: &Resources, id: NodeId) -> Result<ThreadEdges> {
    let graph = resources.graph();
    blocking(move || {
        let (from_here, to_here): (Vec<_>, Vec<_>) = graph.inferred(&id)?.into_iter().partition(|link| link.from == id);
        let edges = |direction, types: &[Edge], links: Vec<InferredLink>| {
            let stated = graph.edges(&id, direction, None)?.into_iter().map(EdgeDetails::stated);
            let inferred = links.into_iter().map(|link| EdgeDetails::inferred(link, &id));
            let mut edges: Vec<EdgeDetails> =
                stated.chain(inferred).filter(|edge| types.contains(&edge.name)).collect();
            edges.sort_by(|a, b| (a.name, &a.id).cmp(&(b.name, &b.id)));
            Ok::<_, Error>(edges)
        };
        let (mut out, mut into) = (edges(Direction::Out, &OUT, from_here)?, edges(Direction::In, &IN, to_here)?);
        let found = out.len() + into.len();
        out.truncate(MAX_EDGES);
        into.truncate(MAX_EDGES);
        Ok(ThreadEdges { omitted: found - out.len() - into.len(), out, into })
    })
    .await
}

/// Keeps the first [`MAX_NOTES`] notes; returns how many it drops.
fn limit_notes(discussions: &mut Vec<DiscussionDetails>) -> usize {
    let (mut room, mut omitted) = (MAX_NOTES, 0);
    for discussion in discussions.iter_mut() {
        let count = discussion.notes.len();
        discussion.notes.truncate(room);
        room -= discussion.notes.len();
        omitted += count - discussion.notes.len();
    }
    discussions.retain(|discussion| !discussion.notes.is_empty());
    omitted
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
