//! What was said on the lines of a file, by merge request.

use std::collections::BTreeSet;

use backstory_model::{
    entity::Discussion,
    id::{NodeId, ThreadId, ThreadKind},
    sentence::own_lines_or_all,
    text::snippet,
};
use backstory_store::lists::{DiscussionQuery, DiscussionRow, PageRequest};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::requests::proposing;
use crate::{
    error::Result,
    read::{load_discussions, load_items},
    resources::Resources,
    threads::ThreadSummary,
};

/// Most discussions on a file that are looked at, the newest ones.
const MAX_DISCUSSIONS: usize = 200;
/// Most merge requests with discussions on a file that are told.
const MAX_MERGE_REQUESTS: usize = 50;
/// Length of a quoted note, in characters.
const QUOTED: usize = 160;

/// A merge request in which somebody wrote on a file, or that would change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiscussedMergeRequest {
    /// The merge request, merged, closed or in progress.
    pub merge_request: ThreadSummary,
    /// Discussions on lines of the file, oldest first; none if it only would change the file.
    pub discussions: Vec<FileDiscussion>,
}

/// A discussion on lines of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileDiscussion {
    /// Its id.
    pub id: NodeId,
    /// Path of the file then.
    pub path: String,
    /// First and last line, as the change left it then.
    pub lines: Option<(u32, u32)>,
    /// User name of who started it; null for a deleted account.
    pub author: Option<String>,
    /// When it was started.
    pub created_at: Timestamp,
    /// The beginning of what its first note says itself, or quotes if it says nothing else, on one line.
    pub text: String,
    /// Its notes.
    pub notes: usize,
    /// Address for people.
    pub url: String,
}

/// The merge requests in which somebody wrote on one of these files, then those that are not merged and would change one.
pub(super) async fn find_discussed_merge_requests(
    resources: &Resources,
    project: &str,
    names: BTreeSet<NodeId>,
) -> Result<Vec<DiscussedMergeRequest>> {
    let path = |name: &NodeId| match name {
        NodeId::File { path, .. } => Some(path.clone()),
        _ => None,
    };
    let paths: Vec<String> = names.iter().filter_map(path).collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let query = DiscussionQuery { projects: vec![project.to_owned()], paths, ..DiscussionQuery::default() };
    let page = PageRequest { first: MAX_DISCUSSIONS, after: None, ..PageRequest::default() };
    let rows = resources.with_lists(move |lists, visibility| lists.discussions(&query, &page, visibility)).await?.rows;
    let discussed = rows.iter().map(|row| &row.thread).filter(|thread| thread.kind == ThreadKind::MergeRequest);
    let proposed_by = proposing(resources, names).await?;
    let mut seen = BTreeSet::new();
    let first_seen = discussed.chain(proposed_by.iter().rev()).filter(|thread| seen.insert(*thread));
    let order: Vec<ThreadId> = first_seen.take(MAX_MERGE_REQUESTS).cloned().collect();
    let items = load_items(resources, order.iter().cloned().map(NodeId::from).collect()).await?;
    let all = load_discussions(resources, order.clone()).await?;
    let wanted: BTreeSet<NodeId> = rows.iter().map(DiscussionRow::node_id).collect();
    let mut found = Vec::new();
    for thread in order {
        let summary = items.get(&NodeId::from(thread.clone())).and_then(ThreadSummary::from_item);
        let Some(merge_request) = summary else { continue };
        let discussions = all.get(&thread).into_iter().flatten().filter(|of| wanted.contains(&of.node_id()));
        let discussions = discussions.filter_map(FileDiscussion::new).collect();
        found.push(DiscussedMergeRequest { merge_request, discussions });
    }
    Ok(found)
}

impl FileDiscussion {
    /// `None` if its first note is on no file.
    fn new(discussion: &Discussion) -> Option<Self> {
        let first = discussion.notes.first()?;
        let position = first.position.as_ref()?;
        Some(Self {
            id: discussion.node_id(),
            path: position.new_path.clone(),
            lines: position.new_lines,
            author: first.author.clone(),
            created_at: first.created_at,
            text: snippet(&own_lines_or_all(&first.body), "", QUOTED),
            notes: discussion.notes.len(),
            url: discussion.note_url(first.id),
        })
    }
}
