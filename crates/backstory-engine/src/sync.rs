//! Sync: what is new at the forges and in repositories goes into the ledger, page by page, and from there into the projections.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use backstory_model::{entity::ItemKind, id::ThreadKind};
use backstory_sources::{
    forge::{
        Details, ForgeError, PageStart, Payload, ThreadListing, ThreadsPage,
        gitlab::{Client, stored_listing},
    },
    git::Cancel,
    redact::{Redactions, redact_json},
};
use backstory_store::ledger::{Changes, Cursor, NewItem, Page, StoredItem};
use futures::{FutureExt, StreamExt, stream, stream::BoxStream};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    Engine,
    error::{Error, ErrorKind, Result},
    settings::Forge,
    task::{Reporter, Task, TaskKind},
};

/// Items whose details are committed at once. A kill loses at most the fetches of two such steps.
const STEP: usize = 25;
/// Items whose details are fetched at the same time.
const CONCURRENCY: usize = 12;
/// A note may leave its parent's `updated_at` untouched for this long: GitLab moves it at most once a minute.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);
/// How far the `Date` header and `updated_at` of one forge may differ: several hosts, whole seconds.
const CLOCK_SKEW: Duration = Duration::from_secs(5);

/// What to sync.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncRequest {
    /// Full paths of projects; all that are configured or were added if empty.
    pub projects: Vec<String>,
    /// Read everything again, not only what is new.
    pub full: bool,
    /// Stop a sync that is at work and start over.
    pub force: bool,
}

/// What a sync did.
#[derive(Clone, Debug, Default)]
struct Report {
    changes: Changes,
    refetched: u64,
    confidential: u64,
    gone: u64,
    redactions: BTreeMap<String, u64>,
    requests: u64,
    retries: u64,
    projects: u64,
    repositories: u64,
}

impl Report {
    fn json(&self) -> Value {
        let changes: BTreeMap<&str, u64> = self.changes.0.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        json!({
            "changed": changes, "discussions_refetched": self.refetched, "confidential_left_out": self.confidential,
            "gone": self.gone, "redactions": self.redactions, "requests": self.requests, "retries": self.retries,
            "projects": self.projects, "repositories": self.repositories,
        })
    }
}

impl Engine {
    /// Starts a sync and records it. Another that is at work is in the way, unless `force` stops it.
    ///
    /// # Errors
    /// A sync is at work, or a project is not known.
    pub async fn start_sync(&self, request: SyncRequest) -> Result<Task> {
        let known = self.known_projects().await?;
        for project in &request.projects {
            if !known.contains(project) {
                return Err(unknown_project(project, &known));
            }
        }
        if known.is_empty() {
            return Err(Error::new(
                ErrorKind::Configuration,
                "there is nothing to sync; add a repository with 'backstory add PATH', or name a project under \
                 [[forge]] in the configuration ('backstory init' writes one)",
            ));
        }
        let command = if request.full { "sync --full" } else { "sync" };
        let engine = self.clone();
        let force = request.force;
        let task = self.tasks().start(TaskKind::Sync, force, Timestamp::now(), move |reporter| async move {
            let begun = engine.ledger_step(move |ledger| {
                // Only one sync is at work in this process, and only this process has the stores open: whatever is
                // still 'running' was stopped.
                ledger.fail_stale_runs(Timestamp::now())?;
                ledger.begin_run(command, Timestamp::now())
            });
            let run = begun.await?;
            let mut report = Report::default();
            let result = engine.recorded(engine.sync(&request, &reporter, &mut report)).await;
            let summary = report.json();
            let error = result.as_ref().err().map(ToString::to_string);
            let finished = summary.clone();
            engine
                .ledger_step(move |ledger| ledger.finish_run(run, error.as_deref(), &finished, Timestamp::now()))
                .await?;
            result.map(|()| summary)
        })?;
        let task = task.borrow().clone();
        Ok(task)
    }

    async fn sync(&self, request: &SyncRequest, reporter: &Reporter, report: &mut Report) -> Result<()> {
        let wanted = |project: &str| request.projects.is_empty() || request.projects.iter().any(|p| p == project);
        for forge in &self.settings().forges {
            let client = Client::new(&forge.connection)?;
            for project in forge.projects.iter().filter(|project| wanted(project)) {
                let mut sync = ProjectSync {
                    engine: self,
                    forge,
                    client: &client,
                    project,
                    reporter,
                    report,
                    cap: None,
                    committing: None,
                };
                let result = sync.run(request.full).await;
                let committed = sync.committed().await;
                let metrics = client.metrics();
                report.requests = metrics.requests;
                report.retries = metrics.retries;
                // What was committed before a failure is projected all the same.
                self.catch_up(Some(reporter)).await?;
                result?;
                committed?;
                report.projects += 1;
            }
        }
        self.sync_repositories(request, reporter, report).await?;
        if report.changes.total() > 0 {
            reporter.phase("optimising the index", None);
            self.index().optimize().await?;
        }
        self.refresh_links().await
    }
}

impl Engine {
    /// Every project that can be synced: of a forge, of a repository, or of both.
    pub(crate) async fn known_projects(&self) -> Result<BTreeSet<String>> {
        let mut known: BTreeSet<String> = self.settings().projects().map(|(_, project)| project.to_owned()).collect();
        let repositories = self.ledger_step(|ledger| ledger.repositories()).await?;
        known.extend(repositories.into_iter().map(|entry| entry.project));
        Ok(known)
    }

    async fn sync_repositories(&self, request: &SyncRequest, reporter: &Reporter, report: &mut Report) -> Result<()> {
        let repositories = self.ledger_step(|ledger| ledger.repositories()).await?;
        let mut failed = None;
        for entry in repositories {
            if !request.projects.is_empty() && !request.projects.contains(&entry.project) {
                continue;
            }
            let (engine, own_reporter, full) = (self.clone(), reporter.clone(), request.full);
            let stop = StopOnDrop(Cancel::default());
            let (cancel, project, is_new) = (stop.0.clone(), entry.project.clone(), entry.synced_at.is_none());
            let done = self.blocking(move || engine.sync_repository(&entry, full, &own_reporter, &cancel)).await;
            match done {
                Ok(done) => {
                    report.repositories += 1;
                    report.changes.add(&done.changes);
                    report.gone += done.gone;
                    for (rule, count) in done.redactions {
                        *report.redactions.entry(rule).or_default() += count;
                    }
                }
                // One repository that cannot be read does not keep the others from being read.
                Err(error) => {
                    if is_new {
                        self.forget_failed(&project).await?;
                    }
                    let named = error.message.starts_with(&format!("{project} "));
                    let message = if named { error.message } else { format!("{project}: {error}") };
                    failed.get_or_insert(Error::new(error.kind, message));
                }
            }
        }
        // Also if nothing is new: an earlier sync may have ended before this.
        self.link_people().await?;
        self.catch_up(Some(reporter)).await?;
        failed.map_or(Ok(()), Err)
    }
}

/// Stops what runs on another thread when nobody waits for it any more.
struct StopOnDrop(Cancel);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The sync of one project.
struct ProjectSync<'a> {
    engine: &'a Engine,
    forge: &'a Forge,
    client: &'a Client,
    project: &'a str,
    reporter: &'a Reporter,
    report: &'a mut Report,
    /// The latest time a cursor may take, known once the forge has answered.
    cap: Option<Timestamp>,
    /// What is written while the next is fetched.
    committing: Option<JoinHandle<Result<Committed>>>,
}

/// What a step wrote.
struct Committed {
    changes: Changes,
    redactions: Redactions,
}

impl<'a> ProjectSync<'a> {
    async fn run(&mut self, full: bool) -> Result<()> {
        let project = self.project.to_owned();
        let known = self
            .engine
            .ledger_step({
                let project = project.clone();
                move |ledger| {
                    if full {
                        ledger.reset_cursors(&project)?;
                    }
                    ledger.item(&project, ItemKind::Project, "project")
                }
            })
            .await?;
        let fresh = full || known.is_none();
        if fresh {
            self.project_level().await?;
        }
        let before = self.report.changes.total();
        for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
            self.threads(kind, full).await?;
        }
        // Labels and milestones are asked for again when something moved: an unchanged project costs two requests.
        if !fresh && self.report.changes.total() > before {
            self.project_level().await?;
        }
        Ok(())
    }

    /// The project itself, its labels and milestones.
    async fn project_level(&mut self) -> Result<()> {
        self.reporter.phase(format!("{} labels and milestones", self.project), None);
        let own = self.client.project(self.project).await.map_err(|error| self.explain(error))?;
        let labels = self.client.labels(self.project).await?;
        let milestones = self.client.milestones(self.project).await?;
        let now = Timestamp::now();
        let mut kept: Vec<(ItemKind, String)> = Vec::new();
        let mut page = Page { fetched_at: now, ..Page::default() };
        let mut redactions = Redactions::default();
        for payload in std::iter::once(own).chain(labels).chain(milestones) {
            kept.push((payload.kind, payload.key.clone()));
            page.items.push(item(self.project, payload, None, &mut redactions));
        }
        self.count_redactions(&redactions);
        let project = self.project.to_owned();
        let changes = self
            .engine
            .ledger_step(move |ledger| {
                let changes = ledger.commit(&page)?;
                let mut gone = Vec::new();
                for kind in [ItemKind::Label, ItemKind::Milestone] {
                    for item in ledger.items_of(kind)?.into_iter().filter(|item| item.project == project) {
                        if !kept.contains(&(kind, item.key.clone())) {
                            gone.push((item.project, kind, item.key));
                        }
                    }
                }
                ledger.bury(&gone, now)?;
                Ok(changes)
            })
            .await?;
        self.report.changes.add(&changes);
        self.engine.forget_origins();
        Ok(())
    }

    /// Everything that changed in one list since its cursor.
    async fn threads(&mut self, kind: ThreadKind, full: bool) -> Result<()> {
        let (resource, name) = match kind {
            ThreadKind::Issue => (ItemKind::Issue, "issues"),
            ThreadKind::MergeRequest => (ItemKind::MergeRequest, "merge requests"),
        };
        let project = self.project.to_owned();
        let cursor = self.engine.ledger_step(move |ledger| ledger.cursor(&project, resource)).await?;
        self.reporter.phase(format!("{} {name}", self.project), None);
        // A step of a sync that was stopped may still have written a cursor; a full read begins at the beginning.
        let cursor = cursor.filter(|_| !full);
        let start = PageStart::Since(cursor.map(|cursor| cursor.updated_at));
        let mut latest = cursor;
        let mut listed = Vec::new();
        let (client, path) = (self.client, self.project);
        let mut page = client.threads_page(path, kind, &start).await.map_err(|error| self.explain(error))?;
        self.reporter.phase(format!("{} {name}", self.project), page.total);
        loop {
            self.report.confidential += page.confidential.len() as u64;
            self.bury_confidential(kind, resource, &page.confidential).await?;
            listed.extend(page.threads.iter().map(|thread| thread.iid));
            // The next page is on its way while what this one lists is fetched.
            let next = page.next.clone().map(PageStart::Next);
            let following = async {
                match &next {
                    Some(next) => client.threads_page(path, kind, next).await.map(Some),
                    None => Ok(None),
                }
            };
            let (following, done) = tokio::join!(following, self.page(kind, resource, page, full, &mut latest));
            done?;
            match following.map_err(|error| self.explain(error))? {
                Some(next) => page = next,
                None => break,
            }
        }
        self.committed().await?;
        if full {
            self.bury_unlisted(kind, resource, &listed).await?;
        }
        Ok(())
    }

    async fn page(
        &mut self,
        kind: ThreadKind,
        resource: ItemKind,
        page: ThreadsPage,
        full: bool,
        latest: &mut Option<Cursor>,
    ) -> Result<()> {
        let forge_time = page.forge_time;
        let margin = TOUCH_INTERVAL + CLOCK_SKEW;
        let cap = *self.cap.get_or_insert(forge_time.checked_sub(margin).unwrap_or(forge_time));
        let end = page.threads.last().map(position);
        let all = page.threads.len() as u64;
        let changed = if full { page.threads } else { self.changed(resource, kind, page.threads).await? };
        self.reporter.advance(all - changed.len() as u64);
        let positions: Vec<Cursor> = changed.iter().map(position).collect();
        let mut steps = positions.chunks(STEP);
        let mut fetched = self.details(kind, changed).chunks(STEP);
        while let Some(step) = fetched.next().await {
            let step: Vec<_> =
                step.into_iter().collect::<std::result::Result<_, _>>().map_err(|error| self.explain(error))?;
            let read = steps.next().and_then(|positions| positions.last().copied());
            let (details, gone) = split(step);
            if !gone.is_empty() {
                self.bury_threads(resource, move |key| gone.contains(key)).await?;
            }
            let cursor = read.and_then(|read| self.advance(resource, read, cap, latest));
            self.commit(details, cursor, forge_time).await?;
        }
        if let Some(cursor) = end.and_then(|end| self.advance(resource, end, cap, latest)) {
            self.commit(vec![], Some(cursor), forge_time).await?;
        }
        Ok(())
    }

    /// How far the cursor moves when everything up to `read` has been committed; `None` if it stays.
    fn advance(
        &self,
        resource: ItemKind,
        read: Cursor,
        cap: Timestamp,
        latest: &mut Option<Cursor>,
    ) -> Option<(String, ItemKind, Cursor)> {
        let capped = if read.updated_at > cap { Cursor { updated_at: cap, id: 0 } } else { read };
        if latest.is_some_and(|cursor| capped <= cursor) {
            return None;
        }
        *latest = Some(capped);
        Some((self.project.to_owned(), resource, capped))
    }

    /// Begins to write what was fetched, once the step before is written.
    async fn commit(
        &mut self,
        details: Vec<Details>,
        cursor: Option<(String, ItemKind, Cursor)>,
        fetched_at: Timestamp,
    ) -> Result<()> {
        self.committed().await?;
        for details in &details {
            self.report.refetched += details.discussions.len() as u64;
            self.report.confidential += details.internal_notes;
        }
        let (engine, project) = (self.engine.clone(), self.project.to_owned());
        let step = move || {
            let mut page = Page { fetched_at, cursor, ..Page::default() };
            let mut redactions = Redactions::default();
            for details in details {
                add_thread(&project, details, &mut page, &mut redactions);
            }
            Ok(Committed { changes: engine.ledger().commit(&page)?, redactions })
        };
        let engine = self.engine.clone();
        self.committing = Some(tokio::spawn(async move { engine.blocking(step).await }));
        Ok(())
    }

    /// Waits for what is being written.
    async fn committed(&mut self) -> Result<()> {
        if let Some(committing) = self.committing.take() {
            let committed = committing.await??;
            self.report.changes.add(&committed.changes);
            self.count_redactions(&committed.redactions);
        }
        Ok(())
    }

    /// What hangs on the listed items, in their order; of one that was deleted since it was listed its key.
    fn details(&self, kind: ThreadKind, listings: Vec<ThreadListing>) -> BoxStream<'a, Fetched> {
        let (client, project, reporter) = (self.client, self.project, self.reporter);
        let fetch = move |listing: ThreadListing| {
            async move {
                let details = match client.details(project, kind, &listing).await {
                    Err(ForgeError::NotFound { .. }) => Ok(Err(format!("{}{}", kind.sigil(), listing.iid))),
                    details => details.map(Ok),
                };
                reporter.advance(1);
                let pause = client.metrics().pause_ms;
                reporter.note((pause > 0).then(|| format!("rate limited, waiting {} s", pause.div_ceil(1000))));
                details
            }
            .boxed()
        };
        stream::iter(listings).map(fetch).buffered(CONCURRENCY).boxed()
    }

    /// Those of the listed items that the ledger has not exactly so, or fetched so soon after their last change that
    /// something can hide behind it.
    async fn changed(
        &mut self,
        resource: ItemKind,
        kind: ThreadKind,
        listings: Vec<ThreadListing>,
    ) -> Result<Vec<ThreadListing>> {
        let project = self.project.to_owned();
        self.engine
            .ledger_step(move |ledger| {
                let mut changed = Vec::new();
                for listing in listings {
                    let stored = ledger.item(&project, resource, &format!("{}{}", kind.sigil(), listing.iid))?;
                    let mut redacted = listing.clone();
                    redact_json(&mut redacted.payload);
                    if !stored.is_some_and(|stored| is_current(&stored, resource, &redacted)) {
                        changed.push(listing);
                    }
                }
                Ok(changed)
            })
            .await
    }

    fn count_redactions(&mut self, redactions: &Redactions) {
        for (rule, count) in redactions.iter() {
            *self.report.redactions.entry(rule.to_owned()).or_default() += count;
        }
    }

    /// A full list names everything there is: what the ledger has besides is gone.
    async fn bury_unlisted(&mut self, kind: ThreadKind, resource: ItemKind, listed: &[u64]) -> Result<()> {
        let listed: HashSet<String> = listed.iter().map(|iid| format!("{}{iid}", kind.sigil())).collect();
        self.bury_threads(resource, move |key| !listed.contains(key)).await
    }

    /// An issue that has become confidential is gone for those who read here.
    async fn bury_confidential(&mut self, kind: ThreadKind, resource: ItemKind, iids: &[u64]) -> Result<()> {
        if iids.is_empty() {
            return Ok(());
        }
        let confidential: HashSet<String> = iids.iter().map(|iid| format!("{}{iid}", kind.sigil())).collect();
        self.bury_threads(resource, move |key| confidential.contains(key)).await
    }

    /// Marks issues or merge requests as gone, with their discussions.
    async fn bury_threads(
        &mut self,
        resource: ItemKind,
        is_gone: impl Fn(&str) -> bool + Send + 'static,
    ) -> Result<()> {
        let project = self.project.to_owned();
        let gone = self
            .engine
            .ledger_step(move |ledger| {
                let mut gone = Vec::new();
                for item in ledger.items_of(resource)? {
                    if item.project == project && is_gone(&item.key) {
                        gone.extend(
                            ledger.thread(&project, &item.key)?.into_iter().map(|i| (i.project, i.kind, i.key)),
                        );
                    }
                }
                ledger.bury(&gone, Timestamp::now())
            })
            .await?;
        self.report.gone += gone;
        Ok(())
    }

    fn explain(&self, error: ForgeError) -> Error {
        let base_url = self.forge.connection.base_url.as_str().trim_end_matches('/');
        match error {
            ForgeError::NotFound { .. } => Error::new(
                ErrorKind::Configuration,
                format!("{} was not found at {base_url}: check its path, and that the token may read it", self.project),
            ),
            error => error.into(),
        }
    }
}

/// What was fetched of a listed item, or its key if it is gone.
type Fetched = std::result::Result<std::result::Result<Details, String>, ForgeError>;

fn split(fetched: Vec<std::result::Result<Details, String>>) -> (Vec<Details>, HashSet<String>) {
    let mut gone = HashSet::new();
    let details = fetched.into_iter().filter_map(|fetched| fetched.map_err(|key| gone.insert(key)).ok()).collect();
    (details, gone)
}

fn position(listing: &ThreadListing) -> Cursor {
    Cursor { updated_at: listing.updated_at, id: listing.id }
}

fn add_thread(project: &str, details: Details, page: &mut Page, redactions: &mut Redactions) {
    let thread = details.thread.key.clone();
    page.complete_threads.push((project.to_owned(), thread.clone()));
    page.items.extend(details.people.into_iter().map(|person| item(project, person, None, redactions)));
    page.items.push(item(project, details.thread, Some(thread.clone()), redactions));
    let discussions = details.discussions.into_iter();
    page.items.extend(discussions.map(|discussion| item(project, discussion, Some(thread.clone()), redactions)));
}

/// A payload as it is stored, without the secrets in it.
fn item(project: &str, mut payload: Payload, thread: Option<String>, redactions: &mut Redactions) -> NewItem {
    let found = redact_json(&mut payload.json);
    redactions.merge(&found);
    NewItem {
        project: if payload.kind == ItemKind::Person { String::new() } else { project.to_owned() },
        kind: payload.kind,
        key: payload.key,
        thread,
        updated_at: payload.updated_at,
        redactions: found.total(),
        payload: payload.json.to_string().into_bytes(),
    }
}

fn is_current(stored: &StoredItem, resource: ItemKind, listing: &ThreadListing) -> bool {
    let field = match resource {
        ItemKind::Issue => "issue",
        _ => "merge_request",
    };
    let settled = stored.fetched_at.duration_since(listing.updated_at)
        > jiff::SignedDuration::try_from(TOUCH_INTERVAL + CLOCK_SKEW).unwrap_or(jiff::SignedDuration::MAX);
    let payload = stored.payload.as_deref().and_then(|json| serde_json::from_slice::<Value>(json).ok());
    settled && payload.is_some_and(|payload| payload.get(field) == Some(&stored_listing(listing)))
}

fn unknown_project(project: &str, known: &BTreeSet<String>) -> Error {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Error::invalid(format!("{project} is not known; known projects: {}", known.join(", ")))
}
