//! Sync: brings what is new at the forges and in repositories into the ledger, and from there into the projections. It
//! is the use case `sync`; what is read from one source is in `project` and in `repository::sync`.

mod batch;
mod gone;
mod project;
mod releases;
mod retention;
mod visibility;
mod write;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use backstory_model::{entity::ItemKind, id::ThreadKind};
use backstory_sources::{
    forge::{Client, ThreadList},
    git::Cancel,
};
use backstory_store::ledger::{ErasureTarget, IngestCounts, Ledger, Source, SyncFailure};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    catalog::{Forges, all_forges, forgotten, known_projects, list_forges, unknown_project},
    confidential::recompute_hidden_people,
    error::{Error, ErrorKind, Result},
    groups::{discover_projects, forges_with_groups},
    refresh::{catch_up, optimize_index, refresh_links, refresh_written, rewrite_projections},
    repository::{
        add::unregister_if_empty,
        mark_indexing,
        merged::update_merged_requests,
        people::{delete_noted_identities, link_people},
        sync::sync_repository,
    },
    resources::Resources,
    snapshot::with_snapshot,
    task::{Reporter, Task, TaskKind},
    use_case::{self, UseCase},
};
use project::ProjectSync;
use releases::reread_releases;
use retention::enforce_size_limit;

/// What is not kept any more is found nowhere at once, but taken out of the files at most so often: all are written again.
const CLEARED_EVERY: SignedDuration = SignedDuration::from_hours(24);

/// Time between two looks whether a forge has to be left alone.
const PAUSE_LOOK: Duration = Duration::from_millis(200);

/// How much a sync reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// What has changed since the last sync, according to the forge.
    #[default]
    New,
    /// What differs from what is known, of everything that the forge lists; what it does not list is gone.
    Reconcile,
    /// Everything, again.
    Full,
}

impl Scope {
    /// The command for it.
    fn command(self) -> &'static str {
        match self {
            Self::New => "sync",
            Self::Reconcile => "sync --reconcile",
            Self::Full => "sync --full",
        }
    }
}

/// What a sync can be limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Issues of the forge, with their discussions.
    Issues,
    /// Merge requests of the forge.
    MergeRequests,
    /// The git repository.
    Repository,
}

impl Part {
    /// Its name, for people.
    fn name(self) -> &'static str {
        match self {
            Self::Issues => "issues",
            Self::MergeRequests => "merge-requests",
            Self::Repository => "repository",
        }
    }

    /// Whether a list of a forge is among what is read. Where issues and merge requests are one list, it is read for
    /// either.
    fn has_list(only: &[Self], list: ThreadList) -> bool {
        let part = |kind: &ThreadKind| if *kind == ThreadKind::Issue { Self::Issues } else { Self::MergeRequests };
        only.is_empty() || list.kinds().iter().any(|kind| only.contains(&part(kind)))
    }
}

/// Starts a sync.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SyncRequest {
    /// Full paths of projects; all that are configured or were added if empty.
    pub projects: Vec<String>,
    /// How much of them.
    pub scope: Scope,
    /// Which parts; all if empty.
    pub only: Vec<Part>,
    /// Stop a sync that is running and start over.
    pub force: bool,
    /// Keep repositories that are new and cannot be read: the command that added them may be about to read them, and to report why
    /// they cannot be.
    pub keep_new: bool,
}

impl UseCase for SyncRequest {
    const NAME: &'static str = "sync";
    const SCOPE: use_case::Scope = use_case::Scope::Sync;
    type Answer = Task;

    async fn run(self, resources: &Resources) -> Result<Task> {
        start_sync(resources, self).await
    }
}

impl SyncRequest {
    fn wants(&self, project: &str) -> bool {
        self.projects.is_empty() || self.projects.iter().any(|wanted| wanted == project)
    }

    fn wants_forge(&self) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| *part != Part::Repository)
    }

    fn wants_repository(&self) -> bool {
        self.only.is_empty() || self.only.contains(&Part::Repository)
    }

    /// The command for it.
    fn command(&self) -> String {
        let mut command = self.scope.command().to_owned();
        for part in &self.only {
            command.push_str(" --only ");
            command.push_str(part.name());
        }
        command
    }

    /// The request that a run on record was for, by its command, which says nothing of projects.
    pub fn from_command(command: &str) -> Self {
        let mut scopes = [Scope::Reconcile, Scope::Full].into_iter();
        let scope = scopes.find(|scope| command.starts_with(scope.command())).unwrap_or_default();
        let named: Vec<&str> = command.split(" --only ").skip(1).collect();
        let parts = [Part::Issues, Part::MergeRequests, Part::Repository].into_iter();
        let only = parts.filter(|part| named.contains(&part.name())).collect();
        Self { scope, only, ..Self::default() }
    }
}

/// What a sync did.
#[derive(Clone, Debug, Default)]
struct Report {
    changes: IngestCounts,
    refetched: u64,
    confidential: u64,
    gone: u64,
    /// Items that cannot be read.
    put_aside: u64,
    retired: u64,
    /// Bytes by which projects are too large although nothing is left that could leave.
    too_large: BTreeMap<String, u64>,
    requests: u64,
    retries: u64,
    projects: u64,
    repositories: u64,
    /// Of which projects something was read to the end, the forge or the repository,
    read: BTreeSet<String>,
    /// and of which something could not be.
    unread: BTreeSet<String>,
}

impl Report {
    fn json(&self) -> Value {
        let changes: BTreeMap<&str, u64> =
            self.changes.counts.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        let mut told = json!({
            "changed": changes, "discussions_refetched": self.refetched, "confidential_left_out": self.confidential,
            "gone": self.gone, "redactions": self.changes.secrets, "requests": self.requests, "retries": self.retries,
            "projects": self.projects, "repositories": self.repositories,
        });
        if self.put_aside > 0 {
            told["put_aside"] = json!(self.put_aside);
        }
        if self.retired > 0 {
            told["retired"] = json!(self.retired);
        }
        if !self.too_large.is_empty() {
            told["too_large"] = json!(self.too_large);
        }
        told
    }
}

/// Starts a sync and records it. Another that is at work is in the way, unless `force` stops it.
///
/// # Errors
/// A sync is at work, or a project is not known.
pub(crate) async fn start_sync(resources: &Resources, mut request: SyncRequest) -> Result<Task> {
    let known = known_projects(resources).await?;
    if !resources.visibility().allows_all_projects() {
        if request.force {
            let message = format!("{} sees only some projects and may not stop the sync of others", resources.actor());
            return Err(Error::new(ErrorKind::Forbidden, message));
        }
        // 'All' means those that the caller sees.
        if request.projects.is_empty() {
            request.projects = known.iter().cloned().collect();
        }
        if request.projects.is_empty() {
            return Err(Error::new(ErrorKind::NotFound, "there is no project to sync"));
        }
    }
    for project in &request.projects {
        if !known.contains(project) {
            return Err(unknown_project(project, &known));
        }
    }
    let has_groups = forges_with_groups(resources).await?.iter().any(|forge| forge.groups().next().is_some());
    if known.is_empty() && !has_groups {
        return Err(Error::new(ErrorKind::Configuration, "there is nothing to sync").with_hint(
            "add a repository with 'backstory add PATH', or name a project under [[forge]] in the configuration \
             ('backstory init' writes one)",
        ));
    }
    require_parts(resources, &request).await?;
    let (command, projects) = (request.command(), request.projects.clone());
    let force = request.force;
    resources.start_task(TaskKind::Sync, force, move |resources, reporter| async move {
        let begun = resources.with_ledger(move |ledger| {
            // Only one sync is at work in this process, and only this process has the stores open: whatever is
            // still 'running' was stopped.
            ledger.fail_stale_runs("stopped by 'sync --force', which began another", Timestamp::now())?;
            ledger.begin_run(&command, &projects, Timestamp::now())
        });
        let run = begun.await?;
        let mut report = Report::default();
        let result = with_snapshot(&resources, Box::pin(run_sync(&resources, &request, &reporter, &mut report))).await;
        let summary = report.json();
        let error = result.as_ref().err().map(ToString::to_string);
        let finished = summary.clone();
        resources
            .with_ledger(move |ledger| ledger.finish_run(run, error.as_deref(), &finished, Timestamp::now()))
            .await?;
        result.map(|()| summary)
    })
}

async fn run_sync(
    resources: &Resources,
    request: &SyncRequest,
    reporter: &Reporter,
    report: &mut Report,
) -> Result<()> {
    let began = Timestamp::now();
    let failed =
        if request.wants_forge() { Box::pin(sync_forges(resources, request, reporter, report)).await? } else { None };
    let mut read = Ok(());
    if request.wants_repository() {
        read = sync_repositories(resources, request, reporter, report).await;
    }
    if request.only.is_empty() {
        read = read.and(Box::pin(reread_releases(resources, request.scope, reporter, report)).await);
    }
    // What was read in part is not known as a whole.
    if !request.only.is_empty() {
        report.read.clear();
    }
    let read = read.and(Box::pin(enforce_size_limits(resources, reporter, report)).await);
    // Also if something could not be read: what was read is known.
    let read = read.and(Box::pin(follow_merges(resources, request, reporter, report)).await);
    let whole: Vec<String> = report.read.difference(&report.unread).cloned().collect();
    let note = move |ledger: &Ledger| whole.iter().try_for_each(|project| ledger.record_synced(project, began));
    resources.with_ledger(note).await?;
    let read = failed.map_or(Ok(()), Err).and(read);
    // Also what an earlier sync took out, and though a project cannot be read.
    let is_cleared = Box::pin(purge_deleted_from_disk(resources, reporter)).await;
    read?;
    if !is_cleared? && report.changes.total() + report.retired > 0 {
        reporter.phase("optimizing the index", None);
        optimize_index(resources).await?;
    }
    refresh_links(resources).await?;
    refresh_written(resources).await
}

/// Reads what is wanted of the forges. A forge or project that cannot be read does not keep the others, and their code,
/// from being read: the first failure is told. That of a group is told only if everything is read: who asks for some
/// projects need not see others.
///
/// # Errors
/// A store failed.
async fn sync_forges(
    resources: &Resources,
    request: &SyncRequest,
    reporter: &Reporter,
    report: &mut Report,
) -> Result<Option<Error>> {
    let mut failed = discover_projects(resources).await?.filter(|_| request.projects.is_empty());
    let Forges { usable, unusable } = all_forges(resources).await?;
    for (project, error) in unusable.into_iter().filter(|(project, _)| request.wants(project)) {
        record_forge_outcome(resources, &project, Err(error), report, &mut failed).await?;
    }
    for forge in &usable {
        let wanted: Vec<&String> = forge.projects.iter().filter(|project| request.wants(project)).collect();
        if wanted.is_empty() {
            continue;
        }
        let client = Client::new(forge.kind, &forge.connection).map_err(Error::from);
        let (requests, retries) = (report.requests, report.retries);
        for project in wanted {
            if is_forgotten(resources, project).await? {
                failed = failed.or(Some(forgotten(project)));
                continue;
            }
            let result = match &client {
                Ok(client) => {
                    let read = ProjectSync::new(resources, forge, client, project, reporter, report);
                    let result = reporting_pauses(client, reporter, read.run(request.scope, &request.only)).await;
                    let metrics = client.metrics();
                    report.requests = requests + metrics.requests;
                    report.retries = retries + metrics.retries;
                    // What was committed before a failure is projected all the same.
                    update_profiles(resources).await?;
                    catch_up(resources, Some(reporter)).await?;
                    result
                }
                Err(error) => Err(error.clone()),
            };
            record_forge_outcome(resources, project, result, report, &mut failed).await?;
        }
    }
    Ok(failed)
}

/// Keeps on record how the reading of a project from its forge ended.
async fn record_forge_outcome(
    resources: &Resources,
    project: &str,
    result: Result<()>,
    report: &mut Report,
    failed: &mut Option<Error>,
) -> Result<()> {
    record_outcome(resources, project, Source::Forge, result.as_ref().err()).await?;
    match result {
        Ok(()) => {
            report.projects += 1;
            report.read.insert(project.to_owned());
        }
        Err(error) => {
            report.unread.insert(project.to_owned());
            // The address of what was asked for says which project it is; a forge that is not even asked has none.
            let is_named = [project, &project.replace('/', "%2F")].iter().any(|name| error.message.contains(name));
            let is_told = is_named || error.kind != ErrorKind::Configuration;
            failed.get_or_insert(if is_told { error } else { error.about(project) });
        }
    }
    Ok(())
}

/// Makes the projects that were read fit, now that all of each is known. One that cannot be made to does not keep the
/// others from it.
async fn enforce_size_limits(resources: &Resources, reporter: &Reporter, report: &mut Report) -> Result<()> {
    let mut failed = None;
    for forge in &list_forges(resources).await? {
        let mut to_fit = Vec::new();
        for project in &forge.projects {
            let path = project.clone();
            let has_limit = resources.settings().retention.bytes.is_some()
                || !resources.with_ledger(move |ledger| ledger.retired(&path)).await?.is_empty();
            if has_limit && report.read.contains(project) && !report.unread.contains(project) {
                to_fit.push(project);
            }
        }
        if to_fit.is_empty() {
            continue;
        }
        let client = Client::new(forge.kind, &forge.connection)?;
        let requests = report.requests;
        for project in to_fit {
            let fit = enforce_size_limit(resources, forge, &client, project, reporter, report);
            let fitted = reporting_pauses(&client, reporter, fit).await;
            catch_up(resources, Some(reporter)).await?;
            failed = failed.or(fitted.err());
        }
        report.requests = requests + client.metrics().requests;
    }
    failed.map_or(Ok(()), Err)
}

/// Brings which merge requests each merge is of up to all that was read of forge and repository.
async fn follow_merges(
    resources: &Resources,
    request: &SyncRequest,
    reporter: &Reporter,
    report: &mut Report,
) -> Result<()> {
    let repositories = resources.with_ledger(|ledger| ledger.repositories()).await?;
    let mut changes = IngestCounts::default();
    for entry in repositories.into_iter().filter(|entry| request.wants(&entry.project)) {
        let followed = resources.blocking(move |resources| update_merged_requests(resources, &entry.project)).await?;
        changes.add(&followed.changes);
    }
    report.changes.add(&changes);
    if changes.total() > 0 { catch_up(resources, Some(reporter)).await } else { Ok(()) }
}

/// What left the ledger leaves the disk too, unless something did lately; says whether it does.
async fn purge_deleted_from_disk(resources: &Resources, reporter: &Reporter) -> Result<bool> {
    let lately = Timestamp::now() - CLEARED_EVERY;
    if !resources.with_ledger(move |ledger| ledger.has_unpurged_data(lately)).await? {
        return Ok(false);
    }
    resources.with_ledger(|ledger| ledger.compact()).await?;
    rewrite_projections(resources, reporter).await?;
    resources.with_ledger(|ledger| ledger.record_purged(Timestamp::now())).await?;
    Ok(true)
}

/// Reads issues and merge requests again, by their kinds and numbers, with text searchable when it returns; counts
/// of what changed. Nothing happens to a project that was not read yet: its first sync will.
///
/// # Errors
/// No forge has the project, or the forge cannot be read. What was read before is kept.
pub(crate) async fn refetch(resources: &Resources, project: &str, threads: &[(ThreadKind, u64)]) -> Result<Value> {
    let forges = list_forges(resources).await?;
    let forge = forges.iter().find(|forge| forge.projects.iter().any(|known| known == project));
    let forge = forge.ok_or_else(|| Error::invalid(format!("no forge that is configured has {project}")))?;
    let path = project.to_owned();
    let known = resources.with_ledger(move |ledger| ledger.item(&path, ItemKind::Project, "project")).await?;
    let mut report = Report::default();
    if known.is_none() {
        return Ok(report.json());
    }
    let client = Client::new(forge.kind, &forge.connection)?;
    let reporter = Reporter::without_listener();
    let read = ProjectSync::new(resources, forge, &client, project, &reporter, &mut report).refetch(threads).await;
    // A sync that is reading a repository does it at its end.
    if !resources.shared.reading.is_locked() {
        let path = project.to_owned();
        let followed = resources.blocking(move |resources| update_merged_requests(resources, &path)).await?;
        report.changes.add(&followed.changes);
    }
    update_profiles(resources).await?;
    catch_up(resources, None).await?;
    read?;
    let metrics = client.metrics();
    (report.requests, report.retries) = (metrics.requests, metrics.retries);
    Ok(report.json())
}

/// Brings what follows from all that was read up to it, before it is projected.
async fn update_profiles(resources: &Resources) -> Result<()> {
    resources.blocking(recompute_hidden_people).await
}

async fn is_forgotten(resources: &Resources, project: &str) -> Result<bool> {
    let subject = ErasureTarget::Project(project.to_owned());
    resources.with_ledger(move |ledger| ledger.is_forgotten(&subject)).await
}

async fn sync_repositories(
    resources: &Resources,
    request: &SyncRequest,
    reporter: &Reporter,
    report: &mut Report,
) -> Result<()> {
    let repositories = resources.with_ledger(|ledger| ledger.repositories()).await?;
    let mut failed = None;
    for entry in repositories.into_iter().filter(|entry| request.wants(&entry.project)) {
        let (own_reporter, full) = (reporter.clone(), request.scope == Scope::Full);
        let stop = StopOnDrop(Cancel::default());
        let (cancel, project, is_new) = (stop.0.clone(), entry.project.clone(), entry.synced_at.is_none());
        let _indexing = mark_indexing(resources, &project);
        let name = project.clone();
        let done =
            resources.blocking(move |resources| sync_repository(resources, &name, full, &own_reporter, &cancel)).await;
        record_outcome(resources, &project, Source::Repository, done.as_ref().err()).await?;
        match done {
            Ok(done) => {
                report.repositories += 1;
                report.read.insert(project);
                report.changes.add(&done.changes);
                report.gone += done.gone;
                report.retired += done.retired;
            }
            // One repository that cannot be read does not keep the others from being read.
            Err(error) => {
                let is_forgotten = is_new && !request.keep_new && unregister_if_empty(resources, &project).await?;
                report.unread.insert(project.clone());
                let named = error.message.starts_with(&format!("{project} "));
                let mut error = if named { error } else { error.about(&project) };
                if is_forgotten {
                    error = error.with_hint("the repository was not kept, so add it again when that is put right");
                }
                // A request for a sync is not wrong about a repository that could be read before.
                if error.kind == ErrorKind::Invalid && !is_new {
                    error.kind = ErrorKind::NotFound;
                }
                failed.get_or_insert(error);
            }
        }
    }
    // Also if nothing is new: an earlier sync may have ended before this.
    resources.blocking(delete_noted_identities).await?;
    link_people(resources).await?;
    catch_up(resources, Some(reporter)).await?;
    failed.map_or(Ok(()), Err)
}

/// Refuses to sync parts that no project has which is asked for.
async fn require_parts(resources: &Resources, request: &SyncRequest) -> Result<()> {
    if request.only.is_empty() {
        return Ok(());
    }
    let repositories = resources.with_ledger(|ledger| ledger.repositories()).await?;
    let has_repository = repositories.iter().any(|entry| request.wants(&entry.project));
    let Forges { usable, unusable } = all_forges(resources).await?;
    let unusable = unusable.iter().map(|(project, _)| project);
    let has_forge =
        usable.iter().flat_map(|forge| &forge.projects).chain(unusable).any(|project| request.wants(project));
    if request.wants_repository() && has_repository || request.wants_forge() && has_forge {
        return Ok(());
    }
    Err(if has_repository {
        Error::invalid("what is asked for has a repository only, and no forge with issues or merge requests")
    } else {
        Error::invalid("what is asked for has no repository")
            .with_hint("'backstory add PATH --name GROUP/PROJECT' adds one")
    })
}

/// Keeps on record why something could not be read, until it can.
async fn record_outcome(resources: &Resources, project: &str, source: Source, error: Option<&Error>) -> Result<()> {
    let (project, error) = (project.to_owned(), error.map(ToString::to_string));
    resources
        .with_ledger(move |ledger| match error {
            Some(error) => ledger.note_failure(&SyncFailure { project, source, at: Timestamp::now(), error }),
            None => ledger.note_success(&project, source),
        })
        .await
}

/// Does what asks a forge, and reports when that waits because the forge limits requests or does not answer.
async fn reporting_pauses<T>(client: &Client, reporter: &Reporter, work: impl Future<Output = T>) -> T {
    let mut work = Box::pin(work);
    let begun = client.metrics();
    let (mut last, mut is_failing) = (begun, false);
    loop {
        if let Ok(done) = tokio::time::timeout(PAUSE_LOOK, &mut work).await {
            reporter.note(None);
            return done;
        }
        let now = client.metrics();
        // A request that is not sent again has been answered.
        is_failing = now.retries > last.retries || (is_failing && now.requests == last.requests);
        last = now;
        reporter.note(match now.pause_ms {
            0 if is_failing => Some(format!("the forge does not answer, tried {} times", now.retries - begun.retries)),
            0 => None,
            pause => Some(format!("rate limited, continuing in {} s", pause.div_ceil(1000))),
        });
    }
}

/// Stops what runs on another thread when nobody waits for it any more.
struct StopOnDrop(Cancel);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Kind and number of the issue or merge request that an item is or belongs to, told from its key in the ledger.
pub(crate) fn number(key: &str) -> Option<(ThreadKind, u64)> {
    let (thread, _discussion) = key.split_once('~').unwrap_or((key, ""));
    let kinds = [ThreadKind::Issue, ThreadKind::MergeRequest];
    kinds.into_iter().find_map(|kind| Some((kind, thread.strip_prefix(kind.sigil())?.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_tells_how_much_was_read() {
        for scope in [Scope::New, Scope::Reconcile, Scope::Full] {
            for only in [vec![], vec![Part::MergeRequests], vec![Part::Issues, Part::Repository]] {
                let request = SyncRequest { scope, only, ..SyncRequest::default() };
                assert_eq!(SyncRequest::from_command(&request.command()), request);
            }
        }
    }
}
