//! Syncs one repository: fetches, reads what is new, and writes it to the ledger. Forges are in `sync::project`.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
    thread,
};

use backstory_model::{
    commit::{Commit, RepoPath, Sha},
    entity::ItemKind,
    reference::ReferenceContext,
    repository::{CommitRecord, IndexedBranch, Merge, Repository},
    time::saturate_seconds,
};
use backstory_sources::git::{
    clone::{CloneLimits, CloneRequest, CloneSummary, clone, fetch},
    command::Cancel,
    graph::CommitGraph,
    history::{CommitSelection, HistoryOptions, history},
    refs::{self as git_refs, Refs},
};
use backstory_store::ledger::{Branches, ErasureTarget, IngestBatch, RepositoryEntry};
use jiff::Timestamp;

use super::{
    Tips,
    abbreviations::{AbbreviatedShas, abbreviated, known_of, resolve},
    add::{check_address, forge_of},
    aggregates::{CommitRange, changed_at},
    co_change::{self, co_changes},
    entities::Outlines,
    head::{update_head_files, update_head_links},
    left_out::record_left_out_commits,
    lineage::update_lineage,
    lock_repositories,
    merged::known_requests,
    named::update_abbreviations,
    people::{add_identities, note_possible_orphans},
    refs::{FilesAt, TipChanges, change_times, find_revisions, record_revisions, tips_of, update_revisions},
    shipments::update_shipments,
    summary::{CommitSummary, load_summaries},
    sync_state::{Checkpoint, FORMAT, SyncPlan, begin_sync, completed_sync, finish_sync},
    unreachable::{mark_unreachable, retire_commits},
    work::{BATCH, Report, RepositorySync},
};
use crate::{
    catalog::{forgotten, unknown_repository},
    clones::{clone_path, credential_for, find_git, open_objects},
    error::{Error, Result},
    records::{REPOSITORY, evict_repository_record, repository_record},
    resources::Resources,
    task::Reporter,
};

/// Merges, tags and the like that are written at once.
const SMALL_BATCH: usize = 2_000;
/// Name in the ledger of when the files of the default branch last changed.
const CHANGED_AT: &str = "changed_at";

/// Fetches a repository and brings the ledger to what it has. Ends early once `cancel` says so.
pub(crate) fn sync_repository(
    resources: &Resources,
    project: &str,
    full: bool,
    reporter: &Reporter,
    cancel: &Cancel,
) -> Result<Report> {
    let _one_at_a_time = lock_repositories(resources);
    // It may have been forgotten, removed or changed while another sync was at work.
    if resources.ledger().is_forgotten(&ErasureTarget::Project(project.to_owned()))? {
        return Err(forgotten(project));
    }
    let entry = resources.ledger().repository(project)?.ok_or_else(|| unknown_repository(resources, project))?;
    let mut work = RepositorySync::new(resources, project, reporter, cancel)?;
    work.run(&entry, full)?;
    Ok(work.report)
}

/// Brings the shipments of a repository to what its forge says of releases, which dates their tags. Nothing is fetched;
/// nothing happens before a sync of the repository has come to its end, which does the same.
pub(crate) fn recompute_shipments(
    resources: &Resources,
    project: &str,
    reporter: &Reporter,
    cancel: &Cancel,
) -> Result<Report> {
    let _one_at_a_time = lock_repositories(resources);
    let Some(basis) = completed_sync(resources, project)? else { return Ok(Report::default()) };
    let mut work = RepositorySync::new(resources, project, reporter, cancel)?;
    let refs = work.redact_refs(git_refs::read(&clone_path(resources, project))?);
    update_shipments(&mut work, &basis, &refs)?;
    Ok(work.report)
}

impl<'a> RepositorySync<'a> {
    fn new(resources: &'a Resources, project: &'a str, reporter: &'a Reporter, cancel: &'a Cancel) -> Result<Self> {
        Ok(Self {
            resources,
            project,
            git: find_git(resources)?,
            threads: thread::available_parallelism().map_or(1, usize::from),
            reporter,
            cancel,
            report: Report::default(),
        })
    }

    fn run(&mut self, entry: &RepositoryEntry, full: bool) -> Result<()> {
        self.reporter.phase(format!("{} fetching", self.project), None);
        let (state, mut repository) = self.fetch(entry)?;
        let clone = clone_path(self.resources, self.project);
        let refs = self.redact_refs(git_refs::read(&clone)?);
        let default = self.default_branch(&refs, &state)?;
        let tips = wanted(&refs, entry, &default);
        let revisions = find_revisions(self, entry, &refs);
        repository.default_branch = Some(RepoPath::from_escaped(&default));
        let window = self.resources.settings().retention.commits;
        repository.shallow |= window.is_some();
        let selection = self.resources.settings().repositories.file_rules_hash(self.project);
        let boundary = git_refs::boundary(&clone);
        let further = tips_of(&revisions);
        let basis = Checkpoint { tips, refs: further, default, boundary, window, selection, format: FORMAT };
        let (extent, done) = begin_sync(self.resources, self.project, &basis, full)?;
        self.put_repository(&repository)?;
        if extent > SyncPlan::Nothing {
            self.commits_and_code(&basis, extent, &done)?;
        }
        record_revisions(self, &revisions)?;
        self.branches(&basis.tips, &basis.default)?;
        self.tags(&refs)?;
        update_shipments(self, &basis, &refs)?;
        self.resources.ledger().record_indexed(self.project, &basis.tips, Timestamp::now())?;
        finish_sync(self.resources, self.project, basis)
    }

    /// Names of branches and tags are kept and shown like texts. Where two have become the same, the first one counts.
    fn redact_refs(&self, mut refs: Refs) -> Refs {
        let redactor = self.resources.redactor();
        let clean = |name: &mut RepoPath| {
            if let (Cow::Owned(clean), _) = redactor.redact(name.as_str()) {
                *name = RepoPath::from_escaped(&clean);
            }
        };
        refs.branches.iter_mut().for_each(|branch| clean(&mut branch.name));
        refs.branches.dedup_by(|next, kept| next.name == kept.name);
        refs.tags.iter_mut().for_each(|tag| clean(&mut tag.name));
        refs.tags.dedup_by(|next, kept| next.name == kept.name);
        refs
    }

    fn fetch(&mut self, entry: &RepositoryEntry) -> Result<(CloneSummary, Repository)> {
        let address = check_address(self.resources, &entry.address)?;
        let directory = clone_path(self.resources, self.project);
        let credential = credential_for(self.resources, &address);
        let request = CloneRequest {
            address: &address,
            directory: &directory,
            more_refs: &[],
            depth: entry.depth,
            credential: credential.as_ref(),
            limits: CloneLimits::default(),
        };
        let state = if directory.exists() {
            fetch(&self.git, request, self.cancel)
        } else {
            clone(&self.git, request, self.cancel)
        }?;
        let known = repository_record(self.resources, self.project)?;
        // Read once: what messages mean must not change while they are kept.
        let (forge, forge_url) = match &known {
            Some(known) => (known.forge, known.forge_url.clone()),
            None => forge_of(self.resources, entry, &address),
        };
        let repository = Repository {
            address: entry.address.clone(),
            forge,
            forge_url,
            default_branch: None,
            shallow: state.shallow,
        };
        Ok((state, repository))
    }

    fn default_branch(&self, refs: &Refs, state: &CloneSummary) -> Result<String> {
        if state.empty || refs.branches.is_empty() {
            return Err(Error::invalid(format!(
                "{} has no commit on any branch yet; there is nothing to index before the first one",
                self.project
            )));
        }
        // What the origin says now, not what an earlier HEAD of the clone was.
        let head = state.default_branch.as_deref().map(|name| self.resources.redactor().redact(name).0.into_owned());
        let is_there = |name: &String| refs.branches.iter().any(|branch| branch.name.as_str() == *name);
        // A HEAD that points nowhere: the usual names, then the first.
        let usual = ["main", "master", "trunk"].map(str::to_owned);
        let found = head.into_iter().chain(usual).find(is_there);
        Ok(found.unwrap_or_else(|| refs.branches[0].name.as_str().to_owned()))
    }

    fn put_repository(&mut self, repository: &Repository) -> Result<()> {
        let item = self.item(ItemKind::Repository, REPOSITORY.to_owned(), None, None, repository);
        self.ingest(&IngestBatch { items: vec![item], fetched_at: Timestamp::now(), ..IngestBatch::default() })?;
        evict_repository_record(self.resources, self.project);
        Ok(())
    }

    fn commits_and_code(&mut self, basis: &Checkpoint, extent: SyncPlan, done: &Checkpoint) -> Result<()> {
        let (tips, default) = (&basis.tips, basis.default.as_str());
        let now = basis.all_tips();
        let all: Vec<Sha> = now.iter().copied().collect();
        let mut graph = CommitGraph::read(&self.git, &clone_path(self.resources, self.project), &all, self.cancel)?;
        let before = done.all_tips();
        let stored = self.stored_commits()?;
        let (kept, comes_back) = self.window(basis, &mut graph, &before, &stored)?;
        let forward = extent == SyncPlan::Forward && before.iter().all(|tip| graph.contains(*tip));
        let indexed = if forward { graph.reachable_from(&before) } else { HashSet::new() };

        if extent == SyncPlan::Again {
            note_possible_orphans(self.resources)?;
        }
        let known = if extent == SyncPlan::Again { HashSet::new() } else { stored.clone() };
        let mut names = graph.order.clone();
        names.sort_unstable();
        let mut summaries = self.new_commits(&graph, (known, kept.clone()), &all, &names)?;
        match &kept {
            Some(kept) => retire_commits(self, kept, &stored)?,
            None => mark_unreachable(self, &graph, &stored, &basis.boundary)?,
        }
        let old_head = done.tips.get(default).copied().filter(|_| forward);
        self.merges(&graph, tips.get(default).copied(), old_head)?;

        self.reporter.phase(format!("{} line lineage", self.project), None);
        let from_scratch = extent == SyncPlan::Again || comes_back;
        update_lineage(self.resources, self.project, tips, from_scratch, kept.as_ref(), self.cancel)?;

        // Commits since the last complete sync, also those that an interrupted one wrote.
        let pending: Vec<Sha> = graph.order.iter().copied().filter(|commit| !indexed.contains(commit)).collect();
        let pending = load_summaries(self.resources, self.project, &pending, &mut summaries)?;
        let counted = CommitRange { before: &before, now: &now, new: &pending, forward };
        let (resources, project) = (self.resources, self.project);
        let mut every = || load_summaries(resources, project, &graph.order, &mut HashMap::new());
        update_abbreviations(self, &names, &counted, &mut every)?;
        record_left_out_commits(self, &counted, &mut every)?;
        let people = pending.iter().flat_map(|summary| summary.people.iter().cloned()).collect();
        add_identities(self.resources, self.project, people)?;
        if let Some(head) = tips.get(default) {
            let TipChanges { times, touched } = if now.len() == 1 && before.len() <= 1 {
                let times = changed_at(self.resources, self.project, CHANGED_AT, &counted, &mut every)?;
                TipChanges { times, touched: Vec::new() }
            } else {
                change_times(self, CHANGED_AT, (old_head, *head), &graph)?
            };
            let touched = pending.iter().flat_map(|summary| &summary.touched).chain(&touched).collect();
            update_head_files(self, old_head, *head, &touched, &times)?;
            update_head_links(self)?;
            let known = if forward { &done.refs } else { &Tips::new() };
            update_revisions(self, (known, &basis.refs), &FilesAt { commit: *head, times: &times }, &graph)?;
        }
        self.co_change(&counted, &mut every)
    }

    /// The commits that are kept, if not all are, which alone then are in the graph; and whether there may be some among
    /// them that had left.
    fn window(
        &self,
        basis: &Checkpoint,
        graph: &mut CommitGraph,
        before: &BTreeSet<Sha>,
        stored: &HashSet<Sha>,
    ) -> Result<(Option<HashSet<Sha>>, bool)> {
        let Some(count) = basis.window else { return Ok((None, false)) };
        let tips: Vec<Sha> = basis.all_tips().into_iter().collect();
        let clone = clone_path(self.resources, self.project);
        let kept = CommitGraph::newest(&self.git, &clone, &tips, count, self.cancel)?;
        let seen = graph.reachable_from(before);
        let comes_back = before.iter().any(|tip| !graph.contains(*tip))
            || kept.iter().any(|commit| seen.contains(commit) && !stored.contains(commit));
        graph.retain(&kept);
        Ok((Some(kept), comes_back))
    }

    fn stored_commits(&self) -> Result<HashSet<Sha>> {
        let keys = self.resources.ledger().keys(self.project, ItemKind::Commit)?;
        Ok(keys.iter().filter_map(|key| Sha::from_hex(key.as_bytes())).collect())
    }

    /// Reads and stores the commits that the ledger has not.
    fn new_commits(
        &mut self,
        graph: &CommitGraph,
        (known, kept): (HashSet<Sha>, Option<HashSet<Sha>>),
        tips: &[Sha],
        names: &[Sha],
    ) -> Result<HashMap<Sha, CommitSummary>> {
        let count = graph.order.iter().filter(|commit| !known.contains(*commit)).count();
        let mut summaries = HashMap::new();
        if count == 0 {
            return Ok(summaries);
        }
        self.reporter.phase(format!("{} commits", self.project), Some(count as u64));
        let is_known =
            move |sha| known.contains(&sha) || kept.as_ref().is_some_and(|kept: &HashSet<Sha>| !kept.contains(&sha));
        let wanted = CommitSelection { tips, except: &[], known: Some(Box::new(is_known)) };
        let clone = clone_path(self.resources, self.project);
        let mut commits = history(&self.git, &clone, wanted, HistoryOptions::default(), self.cancel)?;
        let mut outlines = Outlines::default();
        loop {
            let batch: Vec<Commit> = commits.by_ref().take(BATCH).collect::<std::result::Result<_, _>>()?;
            if batch.is_empty() {
                return Ok(summaries);
            }
            self.write_commits(batch, graph, names, &mut outlines, &mut summaries)?;
        }
    }

    fn write_commits(
        &mut self,
        commits: Vec<Commit>,
        graph: &CommitGraph,
        names: &[Sha],
        outlines: &mut Outlines,
        summaries: &mut HashMap<Sha, CommitSummary>,
    ) -> Result<()> {
        let objects = open_objects(self.resources, self.project)?;
        let repository = self.repository()?;
        let context =
            ReferenceContext { forge: repository.forge, project: self.project, forge_url: &repository.forge_url };
        let count = commits.len() as u64;
        let entities = outlines.changes(&objects, &commits, self.threads)?;
        let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
        for (commit, entities) in commits.into_iter().zip(entities) {
            let texts = abbreviated(&commit.message, context).into_iter();
            let named: AbbreviatedShas = texts.map(|text| (text.clone(), resolve(&text, names))).collect();
            let corrected = graph.corrected_time(commit.sha).map(saturate_seconds);
            let corrected_at = corrected.filter(|corrected| *corrected > commit.committer.at);
            let record = CommitRecord { commit, entities, named: known_of(&named), rewritten: false, corrected_at };
            let item = self.commit_item(&record);
            // Sums and names of people are made of what is stored, in which no secret is left.
            let stored = (!item.secrets.is_empty()).then(|| serde_json::from_slice(&item.payload).ok()).flatten();
            summaries.insert(record.commit.sha, CommitSummary::of(stored.as_ref().unwrap_or(&record), named));
            page.items.push(item);
        }
        self.ingest(&page)?;
        self.reporter.advance(count);
        Ok(())
    }

    /// What each merge brought to the default branch.
    fn merges(&mut self, graph: &CommitGraph, tip: Option<Sha>, old: Option<Sha>) -> Result<()> {
        let before = old.map(|old| graph.commits_by_merge(old)).unwrap_or_default();
        let now = tip.map(|tip| graph.commits_by_merge(tip)).unwrap_or_default();
        let mut changed = Vec::new();
        for (merge, brought) in now.iter().filter(|(merge, brought)| before.get(*merge) != Some(*brought)) {
            // Which requests it is of is looked for once forge and repository are read.
            let requests = known_requests(self.resources, self.project, *merge)?;
            changed.push(Merge { sha: *merge, brought: brought.clone(), requests });
        }
        changed.sort_by_key(|merge| merge.sha);
        for batch in changed.chunks(SMALL_BATCH) {
            let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
            for merge in batch {
                page.items.push(self.item(ItemKind::Merge, merge.sha.to_string(), None, None, merge));
            }
            self.ingest(&page)?;
        }
        let stored = self.resources.ledger().keys(self.project, ItemKind::Merge)?;
        let is_gone = |key: &String| Sha::from_hex(key.as_bytes()).is_none_or(|sha| !now.contains_key(&sha));
        self.tombstone(ItemKind::Merge, stored.into_iter().filter(is_gone))
    }

    fn co_change(
        &mut self,
        counted: &CommitRange<'_>,
        all: &mut dyn FnMut() -> Result<Vec<CommitSummary>>,
    ) -> Result<()> {
        let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
        for name in [co_change::FILES, co_change::ENTITIES] {
            let pairs = co_changes(self.resources, self.project, name, counted, all)?;
            page.items.push(self.item(ItemKind::CoChange, name.to_owned(), None, None, &pairs));
        }
        self.ingest(&page)
    }

    fn branches(&mut self, tips: &Tips, default: &str) -> Result<()> {
        let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
        for (name, tip) in tips {
            let branch = backstory_model::commit::Branch { name: RepoPath::from_escaped(name), tip: *tip };
            let branch = IndexedBranch { branch, default: name == default };
            page.items.push(self.item(ItemKind::Branch, name.clone(), None, None, &branch));
        }
        self.ingest(&page)?;
        let stored = self.resources.ledger().keys(self.project, ItemKind::Branch)?;
        self.tombstone(ItemKind::Branch, stored.into_iter().filter(|name| !tips.contains_key(name)))
    }

    fn tags(&mut self, refs: &Refs) -> Result<()> {
        for batch in refs.tags.chunks(SMALL_BATCH) {
            let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
            for tag in batch {
                page.items.push(self.item(ItemKind::Tag, tag.name.as_str().to_owned(), None, None, tag));
            }
            self.ingest(&page)?;
        }
        let current: HashSet<&str> = refs.tags.iter().map(|tag| tag.name.as_str()).collect();
        let stored = self.resources.ledger().keys(self.project, ItemKind::Tag)?;
        self.tombstone(ItemKind::Tag, stored.into_iter().filter(|name| !current.contains(name.as_str())))
    }
}

/// The branches to index, with their tips. One that is gone keeps no others from being read.
fn wanted(refs: &Refs, entry: &RepositoryEntry, default: &str) -> Tips {
    let is_wanted = |name: &str| match &entry.branches {
        Branches::Default => name == default,
        Branches::Selected(names) => name == default || names.iter().any(|wanted| wanted == name),
        Branches::All => true,
    };
    let branches = refs.branches.iter().filter(|branch| is_wanted(branch.name.as_str()));
    branches.map(|branch| (branch.name.as_str().to_owned(), branch.tip)).collect()
}
