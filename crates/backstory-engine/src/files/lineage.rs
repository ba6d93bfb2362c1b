//! Where the lines of a file come from: spans of lines with their commits, and the merge requests and issues of those.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use backstory_model::{
    code::Lines,
    commit::{Sha, Signature},
    edge::Edge,
    entity::{Item, State},
    id::{NodeId, ThreadId, ThreadKind},
    lineage::{Lineage, SeenThrough},
};
use backstory_store::{
    graph::Direction,
    lists::{DiscussionQuery, PageRequest},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    comments::FileComment,
    introductions::{Introductions, MAX_COMMITS},
};
use crate::{
    error::Result,
    read::item_of_node,
    records::commit_record,
    resources::Resources,
    trace::{Revision, signature_and_subject},
};

/// Most issues of a commit.
const MAX_ISSUES: usize = 5;

/// Where lines of a file come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileLineage {
    /// Spans in the order of the lines, without gaps.
    pub spans: Vec<LineSpan>,
    /// The commits of the spans, each once, the newest first.
    pub commits: Vec<OriginCommit>,
    /// The merge requests that introduced them, the newest first.
    pub merge_requests: Vec<OriginMergeRequest>,
    /// The issues of those commits and merge requests.
    pub issues: Vec<OriginIssue>,
    /// What was not looked up, a sentence each.
    pub left_out: Vec<String>,
}

/// Consecutive lines that come from consecutive lines of one commit and file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineSpan {
    /// First line in the file.
    pub start: u32,
    /// How many lines.
    pub lines: u32,
    /// The commit that wrote them.
    pub commit: NodeId,
    /// Path of the file then.
    pub path: String,
    /// First line then.
    pub line: u32,
    /// What was seen through.
    #[serde(default)]
    pub seen_through: Vec<SeenThrough>,
    /// The nearest merge request that introduced the commit.
    pub merge_request: Option<ThreadId>,
    /// Issues of the commit and the merge request: those they close, or else those they refer to.
    pub issues: Vec<ThreadId>,
    /// How many discussions stand on these lines, wherever the lines were when they began.
    pub discussions: usize,
}

/// A commit that wrote lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OriginCommit {
    /// Its id.
    pub id: NodeId,
    /// Object name.
    pub sha: Sha,
    /// First line of the message.
    pub title: String,
    /// Name of the author.
    pub author: String,
    /// When the change was written.
    pub date: Timestamp,
    /// How many of the lines it wrote.
    pub lines: u32,
    /// Whether it is in the index, and so a node that is known.
    pub known: bool,
}

/// A merge request that introduced commits that wrote lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OriginMergeRequest {
    /// Its id.
    pub id: ThreadId,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub state: State,
    /// User name of the author; null for a deleted account.
    pub author: Option<String>,
    /// When it was merged.
    pub merged_at: Option<Timestamp>,
    /// Address for people.
    pub url: String,
    /// How many discussions it has.
    pub discussions: u64,
}

/// An issue behind lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OriginIssue {
    /// Its id.
    pub id: ThreadId,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub state: State,
    /// Address for people.
    pub url: String,
}

/// Describes where lines come from.
pub(super) fn describe_lineage(
    resources: &Resources,
    place: &Revision,
    lineage: &Lineage,
    lines: Lines,
    introductions: &Introductions,
    comments: &[FileComment],
) -> Result<FileLineage> {
    let mut commits: BTreeMap<Sha, CommitOrigin> = BTreeMap::new();
    let mut described = FileLineage::default();
    for origin in lineage.origins(lines.first, lines.count()) {
        let sha = origin.source.commit;
        let commit = match commits.entry(sha) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(slot) => {
                slot.insert(describe_commit(resources, place, sha, introductions.merge_request(sha))?)
            }
        };
        commit.summary.lines += origin.lines;
        let last = origin.start + origin.lines - 1;
        described.spans.push(LineSpan {
            start: origin.start,
            lines: origin.lines,
            commit: commit.summary.id.clone(),
            path: origin.source.path.to_string(),
            line: origin.line,
            seen_through: origin.seen.each(),
            merge_request: introductions.merge_request(sha).cloned(),
            issues: commit.issues.clone(),
            discussions: comments.iter().filter(|comment| comment.is_on(origin.start, last)).count(),
        });
    }
    let threads: BTreeSet<&ThreadId> = commits.keys().filter_map(|sha| introductions.merge_request(*sha)).collect();
    for id in threads {
        described.merge_requests.extend(describe_merge_request(resources, id)?);
    }
    described.merge_requests.sort_by(|a, b| b.merged_at.cmp(&a.merged_at).then_with(|| b.id.cmp(&a.id)));
    let issues: BTreeSet<&ThreadId> = commits.values().flat_map(|commit| &commit.issues).collect();
    for id in issues {
        described.issues.extend(describe_issue(resources, id)?);
    }
    described.commits = commits.into_values().map(|commit| commit.summary).collect();
    described.commits.sort_by(|a, b| b.date.cmp(&a.date).then_with(|| a.sha.cmp(&b.sha)));
    let left_out = introductions.left_out();
    if left_out > 0 {
        described.left_out.push(format!(
            "the merge requests of {left_out} commits with few lines; those of {MAX_COMMITS} are looked up"
        ));
    }
    Ok(described)
}

/// A commit that wrote lines, and its issues.
struct CommitOrigin {
    summary: OriginCommit,
    issues: Vec<ThreadId>,
}

fn describe_commit(
    resources: &Resources,
    place: &Revision,
    sha: Sha,
    merge_request: Option<&ThreadId>,
) -> Result<CommitOrigin> {
    let project = place.project();
    let record = commit_record(resources, project, &sha.to_string())?;
    let known = record.is_some();
    let (author, title): (Signature, String) = match record {
        Some(record) => (record.commit.author.clone(), record.commit.title().to_owned()),
        None => signature_and_subject(resources, place, sha)?,
    };
    let id = NodeId::commit(project, &sha.to_string());
    let issues = issues_behind(resources, &id, merge_request)?;
    let summary = OriginCommit { id, sha, title, author: author.name, date: author.at, lines: 0, known };
    Ok(CommitOrigin { summary, issues })
}

/// The issues that a commit or its merge request closes; if there are none, those that they refer to.
fn issues_behind(resources: &Resources, commit: &NodeId, merge_request: Option<&ThreadId>) -> Result<Vec<ThreadId>> {
    let nodes: Vec<NodeId> =
        [Some(commit.clone()), merge_request.map(|id| id.clone().into())].into_iter().flatten().collect();
    for edges in [&[Edge::Fixes, Edge::Closes][..], &[Edge::References]] {
        let mut issues: Vec<ThreadId> = Vec::new();
        for edge in edges {
            for node in &nodes {
                for end in resources.graph().edges(node, Direction::Out, Some(*edge))? {
                    // What is only mentioned may be a merge request.
                    if let NodeId::Thread(id) = end.other
                        && id.kind == ThreadKind::Issue
                        && issues.len() < MAX_ISSUES
                        && !issues.contains(&id)
                        && resources.graph().exists(&id.clone().into())?
                    {
                        issues.push(id);
                    }
                }
            }
        }
        if !issues.is_empty() {
            return Ok(issues);
        }
    }
    Ok(Vec::new())
}

fn describe_merge_request(resources: &Resources, id: &ThreadId) -> Result<Option<OriginMergeRequest>> {
    let Some(Item::MergeRequest(mr)) = item_of_node(resources, &id.clone().into())? else { return Ok(None) };
    let query = DiscussionQuery { thread: Some(id.clone()), ..DiscussionQuery::default() };
    let page = PageRequest { first: 1, with_total: true, ..PageRequest::default() };
    let total = resources.ledger().lists().discussions(&query, &page, resources.visibility())?.total;
    Ok(Some(OriginMergeRequest {
        id: mr.id,
        title: mr.thread.title,
        state: mr.thread.state,
        author: mr.thread.author,
        merged_at: mr.merged_at,
        url: mr.thread.web_url,
        discussions: total.map_or(0, |total| total.count),
    }))
}

fn describe_issue(resources: &Resources, id: &ThreadId) -> Result<Option<OriginIssue>> {
    let Some(Item::Issue(issue)) = item_of_node(resources, &id.clone().into())? else { return Ok(None) };
    let thread = issue.thread;
    Ok(Some(OriginIssue { id: issue.id, title: thread.title, state: thread.state, url: thread.web_url }))
}
