//! Which merge requests a merge is of although their forge names another commit.
//!
//! Who merges on a machine of their own and pushes leaves the forge to guess: it takes the head of the merged branch
//! for the merge commit, or something older, or a commit that never came to any branch. The merge that brought such a
//! commit to the default branch is then the one of the request if its message names the request, or if it merged
//! exactly that commit and its message names no request. Where merges are nested, the innermost one counts.
//!
//! The answer is part of the item of the merge. It follows from commits, merges and merge requests alone, so forge and
//! repository may be read in any order. It is computed when one of them has changed, and only what differs is written.

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map};

use backstory_model::{
    commit::Sha,
    entity::{Item, ItemKind, MergeRequest},
    message::{IntroducingMention, MentionPattern, parse_introduction},
    reference::{Forge, ReferenceContext},
    repository::{Merge, Record, Repository, RepositoryItem},
};
use backstory_store::ledger::IngestBatch;
use jiff::Timestamp;

use super::{
    lock_repositories,
    sync_state::completed_sync,
    work::{Report, new_item},
};
use crate::{
    error::Result,
    records::{each_item, parse_if_readable, repository_record},
    resources::Resources,
};

/// Name of what the answer follows from, in the ledger.
const NAME: &str = "merged requests";
/// Merges that are written at once.
const BATCH: usize = 2_000;
/// Deepest nesting of merges that is followed.
const MAX_MERGES: usize = 4;

/// Brings the merge requests of each merge up to what ledger and forge say now. Nothing happens before a sync of the
/// repository has come to its end.
pub(crate) fn update_merged_requests(resources: &Resources, project: &str) -> Result<Report> {
    let _one_at_a_time = lock_repositories(resources);
    let mut report = Report::default();
    let (Some(basis), Some(repository)) = (completed_sync(resources, project)?, repository_record(resources, project)?)
    else {
        return Ok(report);
    };
    let ledger = resources.ledger();
    // Before anything is read, so that a request that comes meanwhile counts as new. One that was forgotten leaves no
    // change behind, but there is one less.
    let requests = ledger.last_change(project, ItemKind::MergeRequest)?;
    let count = ledger.keys(project, ItemKind::MergeRequest)?.len();
    let commits = ledger.last_change(project, ItemKind::Commit)?;
    let state = |merges: u64| format!("{requests} {count} {commits} {merges} {}", basis.default);
    let known = ledger.aggregate(project, NAME)?;
    if known.as_deref() == Some(state(ledger.last_change(project, ItemKind::Merge)?).as_bytes()) {
        return Ok(report);
    }
    let merges = read_merges(resources, project)?;
    let search = Search::new(resources, project, &repository, &merges);
    let mut found = search.find_merges(read_requests(resources, project)?, &basis.default)?;
    let mut changed = Vec::new();
    for merge in merges.values() {
        let requests: Vec<u64> = found.remove(&merge.sha).unwrap_or_default().into_iter().collect();
        if requests != merge.requests {
            changed.push(Merge { requests, ..merge.clone() });
        }
    }
    for batch in changed.chunks(BATCH) {
        let item = |merge: &Merge| new_item(resources, project, ItemKind::Merge, merge.sha.to_string(), merge);
        let items = batch.iter().map(item).collect();
        let page = IngestBatch { items, fetched_at: Timestamp::now(), ..IngestBatch::default() };
        report.changes.add(&ledger.ingest(&page)?);
    }
    // What was written just now is part of it.
    let state = state(ledger.last_change(project, ItemKind::Merge)?);
    ledger.put_aggregate(project, NAME, state.as_bytes())?;
    Ok(report)
}

/// The merge requests that a merge is known to be of.
pub(super) fn known_requests(resources: &Resources, project: &str, merge: Sha) -> Result<Vec<u64>> {
    let stored = resources.ledger().item(project, ItemKind::Merge, &merge.to_string())?;
    Ok(match stored.and_then(|stored| parse_if_readable(resources, &stored)) {
        Some(Item::Repository(RepositoryItem { record: Record::Merge(merge), .. })) => merge.requests,
        _ => Vec::new(),
    })
}

fn read_merges(resources: &Resources, project: &str) -> Result<BTreeMap<Sha, Merge>> {
    let mut merges = BTreeMap::new();
    each_item(resources, project, ItemKind::Merge, usize::MAX, |item| {
        if let Item::Repository(RepositoryItem { record: Record::Merge(merge), .. }) = item {
            merges.insert(merge.sha, merge);
        }
    })?;
    Ok(merges)
}

fn read_requests(resources: &Resources, project: &str) -> Result<Vec<MergedRequest>> {
    let mut requests = Vec::new();
    each_item(resources, project, ItemKind::MergeRequest, usize::MAX, |item| {
        if let Item::MergeRequest(mr) = item {
            requests.extend(MergedRequest::of(&mr));
        }
    })?;
    Ok(requests)
}

/// A merge request that was merged.
struct MergedRequest {
    iid: u64,
    source_branch: String,
    target_branch: String,
    /// The commits that its forge says it was merged as or squashed to.
    named: Vec<Sha>,
    head: Option<Sha>,
}

impl MergedRequest {
    /// A confidential request is passed over: the item of a merge is shown to all.
    fn of(mr: &MergeRequest) -> Option<Self> {
        if mr.merged_at.is_none() || mr.thread.confidential {
            return None;
        }
        let sha = |name: &String| name.parse::<Sha>().ok();
        Some(Self {
            iid: mr.id.iid,
            source_branch: mr.source_branch.clone(),
            target_branch: mr.target_branch.clone(),
            named: [&mr.merge_commit_sha, &mr.squash_commit_sha].into_iter().flatten().filter_map(sha).collect(),
            head: mr.head_sha.as_ref().and_then(sha),
        })
    }

    /// The commits that its merge may have brought: what the forge names, then its head.
    fn commits(&self) -> impl Iterator<Item = Sha> + '_ {
        self.named.iter().copied().chain(self.head)
    }
}

/// What a commit says of how it came about.
#[derive(Default)]
struct CommitFacts {
    /// Whether the ledger has it and an indexed branch reaches it.
    is_indexed: bool,
    is_merge: bool,
    /// Whether its message names a request in the syntax of its forge.
    has_request: bool,
    /// The other parent of a merge with two parents.
    merged: Option<Sha>,
    /// The branch that was merged, as its message says.
    branch: Option<String>,
    /// Numbers of the requests that its message names, in the syntax of any forge: mirrors keep the messages.
    requests: BTreeSet<u64>,
}

/// Looks for the merges of requests.
struct Search<'a> {
    resources: &'a Resources,
    project: &'a str,
    repository: &'a Repository,
    merges: &'a BTreeMap<Sha, Merge>,
    /// The merge that brought each commit.
    brought_by: HashMap<Sha, Sha>,
    /// What was read of commits.
    facts: HashMap<Sha, CommitFacts>,
}

impl<'a> Search<'a> {
    fn new(
        resources: &'a Resources,
        project: &'a str,
        repository: &'a Repository,
        merges: &'a BTreeMap<Sha, Merge>,
    ) -> Self {
        let pairs = merges.values().flat_map(|merge| merge.brought.iter().map(|commit| (*commit, merge.sha)));
        Self { resources, project, repository, merges, brought_by: pairs.collect(), facts: HashMap::new() }
    }

    /// The numbers of the requests that each merge is of, where their forge names another commit.
    fn find_merges(
        mut self,
        requests: Vec<MergedRequest>,
        default_branch: &str,
    ) -> Result<BTreeMap<Sha, BTreeSet<u64>>> {
        let mut found: BTreeMap<Sha, BTreeSet<u64>> = BTreeMap::new();
        let mut unnamed = Vec::new();
        for request in requests {
            let is_brought = request.commits().any(|commit| self.brought_by.contains_key(&commit));
            if !is_brought || self.is_right(&request)? {
                continue;
            }
            if let Some(merge) = self.merge_that_names(&request)? {
                found.entry(merge).or_default().insert(request.iid);
            } else if request.target_branch == default_branch {
                // What was merged to another branch came to this one with more than it.
                unnamed.push(request);
            }
        }
        // A merge that names one request is not that of another that has the same head.
        let mut by_head = Vec::new();
        for request in unnamed {
            if let Some(merge) = self.merge_of_head(&request)?
                && !found.contains_key(&merge)
            {
                by_head.push((merge, request.iid));
            }
        }
        for (merge, iid) in by_head {
            found.entry(merge).or_default().insert(iid);
        }
        Ok(found)
    }

    /// Whether the forge names the right commit: one that no merge brought, such as a squash, or a merge that names the
    /// request itself.
    fn is_right(&mut self, request: &MergedRequest) -> Result<bool> {
        for commit in &request.named {
            let is_brought = self.brought_by.contains_key(commit);
            if !is_brought && self.merges.contains_key(commit) {
                return Ok(true);
            }
            let facts = self.facts(*commit)?;
            if facts.is_indexed && (!is_brought || facts.is_merge && facts.requests.contains(&request.iid)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The innermost merge that brought a commit of the request and names the request. One with more parents brought
    /// several requests, whose commits could not be told apart.
    fn merge_that_names(&mut self, request: &MergedRequest) -> Result<Option<Sha>> {
        for mut commit in request.commits() {
            for _ in 0..MAX_MERGES {
                let Some(merge) = self.brought_by.get(&commit).copied() else { break };
                let facts = self.facts(merge)?;
                if facts.merged.is_some() && facts.requests.contains(&request.iid) {
                    return Ok(Some(merge));
                }
                commit = merge;
            }
        }
        Ok(None)
    }

    /// The merge that merged exactly the head of the request, or what its forge names, and names no request.
    fn merge_of_head(&mut self, request: &MergedRequest) -> Result<Option<Sha>> {
        let mut commits = request.head.into_iter().chain(request.named.iter().copied());
        let Some((head, merge)) = commits.find_map(|commit| Some((commit, *self.brought_by.get(&commit)?))) else {
            return Ok(None);
        };
        // That may be the merge of the request, which a merge of the whole branch brought.
        if self.facts(head)?.is_merge {
            return Ok(None);
        }
        let facts = self.facts(merge)?;
        // Who pulls merges the default branch itself into what they have.
        let is_of_target = |branch: &str| {
            branch
                .strip_suffix(request.target_branch.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let is_pull =
            request.source_branch != request.target_branch && facts.branch.as_deref().is_some_and(is_of_target);
        Ok((facts.merged == Some(head) && !facts.has_request && !is_pull).then_some(merge))
    }

    fn facts(&mut self, commit: Sha) -> Result<&CommitFacts> {
        let facts: &CommitFacts = match self.facts.entry(commit) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(new) => {
                new.insert(read_facts(self.resources, self.project, self.repository, commit)?)
            }
        };
        Ok(facts)
    }
}

fn read_facts(resources: &Resources, project: &str, repository: &Repository, commit: Sha) -> Result<CommitFacts> {
    let stored = resources.ledger().item(project, ItemKind::Commit, &commit.to_string())?;
    let Some(Item::Repository(RepositoryItem { record: Record::Commit(record), .. })) =
        stored.and_then(|stored| parse_if_readable(resources, &stored))
    else {
        return Ok(CommitFacts::default());
    };
    let (forge, message) = (repository.forge, &record.commit.message);
    let other_forge = if forge == Forge::GitHub { Forge::GitLab } else { Forge::GitHub };
    let context = |forge: Forge| ReferenceContext { forge, project, forge_url: &repository.forge_url };
    let (own, branches) = parse_introduction(message, context(forge));
    let (other, _) = parse_introduction(message, context(other_forge));
    let has_request = !own.is_empty();
    // In the syntax of another forge a number at the end of a title, say, may be that of an issue.
    let is_of_merge = |mention: &IntroducingMention| {
        use MentionPattern::{MergePullRequest, MergeScript, SeeMergeRequest};
        matches!(mention.pattern, MergePullRequest | MergeScript | SeeMergeRequest)
    };
    let mentions = own.into_iter().chain(other.into_iter().filter(is_of_merge));
    let requests = mentions.map(|mention| mention.request).filter(|request| request.project == project);
    let merged = match record.commit.parents.as_slice() {
        [_, merged] => Some(*merged),
        _ => None,
    };
    Ok(CommitFacts {
        is_indexed: !record.rewritten,
        is_merge: record.commit.is_merge(),
        has_request,
        merged,
        branch: branches.map(|branches| branches.source),
        requests: requests.map(|request| request.iid).collect(),
    })
}
