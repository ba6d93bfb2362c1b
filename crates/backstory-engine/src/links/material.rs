//! The inputs of inferred links: the issues of a project, its merge requests with the messages and files of their
//! commits, the commits that no merge request introduced, and the stated links.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use backstory_model::{
    commit::Sha,
    edge::Edge,
    entity::{Discussion, Item, ItemKind, MergeRequest},
    id::{NodeId, ThreadId, ThreadKind},
    link::{LinkableChange, LinkableIssue, MAX_CHANGES, MAX_ISSUES},
    repository::{CommitRecord, Record},
};
use backstory_store::graph::Graph;

use crate::{
    error::Result,
    read::parse_discussions,
    records::{each_item, parse_item},
    resources::Resources,
};

/// Most commits of one merge request that count.
const MAX_COMMITS: usize = 200;
/// Longest text of a merge request's commits, in bytes.
const MAX_MESSAGES: usize = 6000;

/// What links of a project are found from.
pub(super) struct LinkInputs {
    pub(super) issues: Vec<LinkableIssue>,
    pub(super) changes: Vec<LinkableChange>,
    pub(super) stated: StatedLinks,
    /// When merge requests were merged.
    pub(super) merged: HashMap<NodeId, jiff::Timestamp>,
}

/// Links between changes and issues that are stated.
#[derive(Default)]
pub(super) struct StatedLinks {
    closes: HashMap<NodeId, BTreeSet<ThreadId>>,
    linked: HashMap<NodeId, BTreeSet<ThreadId>>,
}

impl StatedLinks {
    /// Whether a change is linked with any issue.
    pub(super) fn is_linked(&self, change: &NodeId) -> bool {
        self.linked.contains_key(change)
    }

    /// Whether a change closes any issue.
    pub(super) fn is_closing(&self, change: &NodeId) -> bool {
        self.closes.contains_key(change)
    }

    /// Whether a change is linked with an issue.
    pub(super) fn links(&self, change: &NodeId, issue: &ThreadId) -> bool {
        self.linked.get(change).is_some_and(|issues| issues.contains(issue))
    }

    /// Whether a change closes an issue.
    pub(super) fn closes(&self, change: &NodeId, issue: &ThreadId) -> bool {
        self.closes.get(change).is_some_and(|issues| issues.contains(issue))
    }
}

/// Merge requests, and which of their commits belong to which.
#[derive(Default)]
struct MergeRequestCommits {
    changes: Vec<LinkableChange>,
    merged: HashMap<NodeId, jiff::Timestamp>,
    carrier: HashMap<Sha, usize>,
}

/// Reads what links of a project are found from, which is nothing of other projects; without issues there is nothing to
/// find.
pub(super) async fn load_link_inputs(resources: &Resources, graph: &Graph, project: &str) -> Result<LinkInputs> {
    let resources = &resources.with_visibility(resources.visibility().within_project(project));
    let (graph, project) = (graph.with_visibility(resources.visibility().clone()), project.to_owned());
    let mut material = resources.blocking(move |resources| link_texts(resources, &graph, &project)).await?;
    let own = material.issues.iter().map(|issue| issue.id.to_string());
    let ids: Vec<String> = own.chain(material.changes.iter().map(|change| change.id.to_string())).collect();
    let mut vectors = resources.index().vectors_of(&ids).await?;
    for issue in &mut material.issues {
        issue.vectors = vectors.remove(&issue.id.to_string()).unwrap_or_default();
    }
    for change in &mut material.changes {
        change.vectors = vectors.remove(&change.id.to_string()).unwrap_or_default();
    }
    Ok(material)
}

fn link_texts(resources: &Resources, graph: &Graph, project: &str) -> Result<LinkInputs> {
    let issues = link_issues(resources, project)?;
    let (mut changes, mut stated, mut merged) = (vec![], StatedLinks::default(), HashMap::new());
    if !issues.is_empty() {
        let mut carried = link_requests(resources, project)?;
        link_commits(resources, project, &mut carried)?;
        stated = stated_pairs(resources, graph, project, &carried)?;
        (changes, merged) = (carried.changes, carried.merged);
    }
    Ok(LinkInputs { issues, changes, stated, merged })
}

fn link_issues(resources: &Resources, project: &str) -> Result<Vec<LinkableIssue>> {
    let mut issues = Vec::new();
    each_item(resources, project, ItemKind::Issue, MAX_ISSUES * 2, |item| {
        if let Item::Issue(issue) = item {
            issues.push(issue);
        }
    })?;
    let with_comments = |issue: backstory_model::entity::Issue| {
        let items = resources.ledger().thread(project, &issue.id.local_reference())?;
        let backstory_model::entity::Issue { id, thread, .. } = issue;
        let mut discussions = parse_discussions(resources, &items);
        // A link of an open issue is shown to all, with the evidence for it.
        discussions.retain(|discussion| thread.confidential || !discussion.confidential);
        let comments = discussions.into_iter().flat_map(comments_of).collect();
        Ok(LinkableIssue {
            id,
            title: thread.title,
            text: thread.description,
            created_at: thread.created_at,
            closed_at: thread.closed_at,
            comments,
            vectors: vec![],
        })
    };
    issues.into_iter().map(with_comments).collect()
}

fn link_requests(resources: &Resources, project: &str) -> Result<MergeRequestCommits> {
    let mut brought: HashMap<Sha, Vec<Sha>> = HashMap::new();
    let mut merges: HashMap<u64, Vec<Sha>> = HashMap::new();
    each_item(resources, project, ItemKind::Merge, usize::MAX, |item| {
        if let Item::Repository(of) = item
            && let Record::Merge(merge) = of.record
        {
            for request in merge.requests {
                merges.entry(request).or_default().push(merge.sha);
            }
            brought.insert(merge.sha, merge.brought);
        }
    })?;
    let mut carried = MergeRequestCommits::default();
    each_item(resources, project, ItemKind::MergeRequest, MAX_CHANGES * 2, |item| {
        if let Item::MergeRequest(mr) = item {
            let merges = merges.get(&mr.id.iid).map(Vec::as_slice).unwrap_or_default();
            carried.add(mr, merges, &brought);
        }
    })?;
    Ok(carried)
}

/// Gives each merge request what its commits say and touch; a commit that none carried is a change of its own.
fn link_commits(resources: &Resources, project: &str, carried: &mut MergeRequestCommits) -> Result<()> {
    let usernames = usernames(resources)?;
    let mut messages: HashMap<usize, BTreeSet<String>> = HashMap::new();
    let mut own = Vec::new();
    each_item(resources, project, ItemKind::Commit, usize::MAX, |item| {
        let Item::Repository(of) = item else { return };
        let Record::Commit(record) = of.record else { return };
        match carried.carrier.get(&record.commit.sha) {
            Some(at) => {
                let change = &mut carried.changes[*at];
                change.touched.extend(record.commit.identifiers.iter().map(|found| found.name.clone()));
                // The message of a merge repeats the request.
                if !record.commit.is_merge() {
                    messages.entry(*at).or_default().insert(record.commit.message);
                }
            }
            None if record.commit.is_merge() || record.rewritten || own.len() >= MAX_CHANGES => {}
            None => own.push(commit_change(project, *record, &usernames)),
        }
    })?;
    for (at, messages) in messages {
        let change = &mut carried.changes[at];
        let mut room = MAX_MESSAGES;
        for message in messages.iter().take_while(|message| {
            let fits = message.len() <= room;
            room = room.saturating_sub(message.len());
            fits
        }) {
            change.text.push('\n');
            change.text.push_str(message);
        }
    }
    carried.changes.extend(own);
    Ok(())
}

/// User names by the keys of who made commits.
fn usernames(resources: &Resources) -> Result<BTreeMap<String, String>> {
    let mut usernames = BTreeMap::new();
    for stored in resources.ledger().items_of_kind(ItemKind::Identity)? {
        if let Ok(Item::Identity(identity)) = parse_item(resources, &stored)
            && let Some(person) = identity.same_as
        {
            usernames.insert(identity.key, person);
        }
    }
    Ok(usernames)
}

/// The issues that a project has.
fn issue_ids(resources: &Resources, project: &str) -> Result<HashSet<ThreadId>> {
    let keys = resources.ledger().keys(project, ItemKind::Issue)?;
    let iids = keys.iter().filter_map(|key| key.strip_prefix('#')?.parse().ok());
    Ok(iids.map(|iid| ThreadId::issue(project, iid)).collect())
}

/// The links that items state between changes and issues that exist, in whatever way.
fn stated_pairs(
    resources: &Resources,
    graph: &Graph,
    project: &str,
    carried: &MergeRequestCommits,
) -> Result<StatedLinks> {
    let whole = |node: NodeId| match node {
        NodeId::Discussion { thread, .. } | NodeId::Note { thread, .. } => NodeId::Thread(thread),
        NodeId::Commit { project: of, sha } => {
            let carrier = sha.parse().ok().and_then(|sha: Sha| carried.carrier.get(&sha));
            match carrier.filter(|_| of == project) {
                Some(at) => carried.changes[*at].id.clone(),
                None => NodeId::Commit { project: of, sha },
            }
        }
        other => other,
    };
    let own = issue_ids(resources, project)?;
    let mut stated = StatedLinks::default();
    for edge in [Edge::Closes, Edge::Fixes, Edge::RelatesTo, Edge::References] {
        for (from, to) in graph.stated_edges(edge)? {
            let (from, to) = (whole(from), whole(to));
            let (change, issue) = if is_change(&from) { (from, to) } else { (to, from) };
            let NodeId::Thread(issue) = issue else { continue };
            if !is_change(&change) || issue.kind != ThreadKind::Issue {
                continue;
            }
            // A number that is only mentioned may be that of something else. Nobody looks whether another project has it.
            let is_closing = matches!(edge, Edge::Closes | Edge::Fixes);
            if !own.contains(&issue) && (issue.project == project || !is_closing) {
                continue;
            }
            if is_closing {
                stated.closes.entry(change.clone()).or_default().insert(issue.clone());
            }
            stated.linked.entry(change).or_default().insert(issue);
        }
    }
    Ok(stated)
}

impl MergeRequestCommits {
    /// Takes in a request that is merged as its forge says, or by merges that the forge does not name.
    fn add(&mut self, mr: MergeRequest, merges: &[Sha], brought: &HashMap<Sha, Vec<Sha>>) {
        let id = NodeId::Thread(mr.id);
        let thread = mr.thread;
        if let Some(at) = mr.merged_at {
            self.merged.insert(id.clone(), at);
            let merged_as = [mr.merge_commit_sha, mr.squash_commit_sha, mr.head_sha];
            let mut open: Vec<Sha> = merged_as.into_iter().flatten().filter_map(|sha| sha.parse().ok()).collect();
            open.extend(merges);
            let mut seen = HashSet::new();
            while let Some(sha) = open.pop() {
                if seen.len() < MAX_COMMITS && seen.insert(sha) {
                    self.carrier.entry(sha).or_insert(self.changes.len());
                    open.extend(brought.get(&sha).into_iter().flatten());
                }
            }
        }
        self.changes.push(LinkableChange {
            id,
            title: thread.title,
            text: thread.description,
            author: thread.author,
            begun_at: thread.created_at,
            ended_at: mr.merged_at.or(thread.closed_at),
            touched: BTreeSet::new(),
            vectors: vec![],
        });
    }
}

fn commit_change(project: &str, record: CommitRecord, usernames: &BTreeMap<String, String>) -> LinkableChange {
    let commit = record.commit;
    let key = backstory_model::repository::identity_key(&commit.author.name, &commit.author.email);
    let title = commit.title().to_owned();
    LinkableChange {
        id: NodeId::commit(project, &commit.sha.to_string()),
        text: commit.message.trim_start().strip_prefix(&title).unwrap_or(&commit.message).to_owned(),
        title,
        author: usernames.get(&key).cloned(),
        begun_at: commit.author.at,
        ended_at: Some(commit.committer.at),
        touched: commit.identifiers.into_iter().map(|found| found.name).collect(),
        vectors: vec![],
    }
}

fn comments_of(discussion: Discussion) -> impl Iterator<Item = (Option<String>, jiff::Timestamp)> {
    discussion.notes.into_iter().map(|note| (note.author, note.created_at))
}

fn is_change(node: &NodeId) -> bool {
    match node {
        NodeId::Thread(thread) => thread.kind == ThreadKind::MergeRequest,
        NodeId::Commit { .. } => true,
        _ => false,
    }
}
