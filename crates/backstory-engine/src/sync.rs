//! Sync: what is new at the forges goes into the ledger, page by page, and from there into the projections.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use backstory_model::{entity::ItemKind, id::ThreadKind};
use backstory_sources::{
    forge::{
        Details, ForgeError, PageStart, Payload, ThreadListing, ThreadsPage,
        gitlab::{Client, stored_listing},
    },
    redact::{Redactions, redact_json},
};
use backstory_store::ledger::{Changes, Cursor, NewItem, Page, StoredItem};
use futures::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, stream};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    Engine,
    error::{Error, ErrorKind, Result},
    settings::Forge,
    task::{Reporter, Task, TaskKind},
};

/// Items whose details are fetched between two commits. A kill loses at most the fetches of one such step.
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
    /// Full paths of projects; all that are configured if empty.
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
}

impl Report {
    fn json(&self) -> Value {
        let changes: BTreeMap<&str, u64> = self.changes.0.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        json!({
            "changed": changes, "discussions_refetched": self.refetched, "confidential_left_out": self.confidential,
            "gone": self.gone, "redactions": self.redactions, "requests": self.requests, "retries": self.retries,
        })
    }
}

impl Engine {
    /// Starts a sync and records it. Another that is at work is in the way, unless `force` stops it.
    ///
    /// # Errors
    /// A sync is at work, or a project is not configured.
    pub async fn start_sync(&self, request: SyncRequest) -> Result<Task> {
        for project in &request.projects {
            if !self.settings().projects().any(|(_, known)| known == project) {
                return Err(unknown_project(project, self.settings().projects().map(|(_, known)| known)));
            }
        }
        if self.settings().projects().next().is_none() {
            return Err(Error::new(
                ErrorKind::Configuration,
                "there is no project to sync; name one under [[forge]] in the configuration ('backstory init' writes one)",
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
            let result = engine.sync(&request, &reporter, &mut report).await;
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
                let mut sync =
                    ProjectSync { engine: self, forge, client: &client, project, reporter, report, cap: None };
                let result = sync.run(request.full).await;
                let metrics = client.metrics();
                report.requests = metrics.requests;
                report.retries = metrics.retries;
                // What was committed before a failure is projected all the same.
                self.catch_up(Some(reporter)).await?;
                result?;
            }
        }
        if report.changes.total() > 0 {
            reporter.phase("optimising the index", None);
            self.index().optimize().await?;
        }
        Ok(())
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
}

impl ProjectSync<'_> {
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
        for payload in std::iter::once(own).chain(labels).chain(milestones) {
            kept.push((payload.kind, payload.key.clone()));
            page.items.push(self.item(payload, None));
        }
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
        let mut start = PageStart::Since(cursor.map(|cursor| cursor.updated_at));
        let mut latest = cursor;
        let mut listed = Vec::new();
        let mut first = true;
        loop {
            let page =
                self.client.threads_page(self.project, kind, &start).await.map_err(|error| self.explain(error))?;
            if first {
                self.reporter.phase(format!("{} {name}", self.project), page.total);
                first = false;
            }
            self.report.confidential += page.confidential.len() as u64;
            self.bury_confidential(kind, resource, &page.confidential).await?;
            listed.extend(page.threads.iter().map(|thread| thread.iid));
            let next = page.next.clone();
            self.page(kind, resource, page, full, &mut latest).await?;
            match next {
                Some(next) => start = PageStart::Next(next),
                None => break,
            }
        }
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
        for step in page.threads.chunks(STEP) {
            let mut changed = Vec::new();
            for listing in step {
                let mut listing = listing.clone();
                let redactions = redact_json(&mut listing.payload);
                if full || !self.is_current(resource, kind, &listing).await? {
                    self.count_redactions(&redactions);
                    changed.push(listing);
                }
            }
            let mut commit = Page { fetched_at: forge_time, ..Page::default() };
            for details in self.details(kind, resource, &changed).await? {
                self.add_thread(details, &mut commit);
            }
            if let Some(last) = step.last() {
                let read = Cursor { updated_at: last.updated_at, id: last.id };
                let capped = if read.updated_at > cap { Cursor { updated_at: cap, id: 0 } } else { read };
                if latest.is_none_or(|cursor| capped > cursor) {
                    *latest = Some(capped);
                    commit.cursor = Some((self.project.to_owned(), resource, capped));
                }
            }
            if !commit.items.is_empty() || commit.cursor.is_some() {
                let changes = self.engine.ledger_step(move |ledger| ledger.commit(&commit)).await?;
                self.report.changes.add(&changes);
            }
            self.reporter.advance(step.len() as u64);
        }
        // The graph follows while the next page is fetched; the end of the sync waits for it and reports what fails.
        let engine = self.engine.clone();
        tokio::spawn(async move { engine.catch_up_graph().await });
        Ok(())
    }

    /// What hangs on the listed items; one that was deleted since it was listed is gone.
    async fn details(
        &mut self,
        kind: ThreadKind,
        resource: ItemKind,
        listings: &[ThreadListing],
    ) -> Result<Vec<Details>> {
        let (client, project, reporter) = (self.client, self.project, self.reporter);
        let fetches = listings.iter().map(|listing| {
            async move {
                let details = match client.details(project, kind, listing).await {
                    Err(ForgeError::NotFound { .. }) => Ok(Err(format!("{}{}", kind.sigil(), listing.iid))),
                    details => details.map(Ok),
                };
                let pause = client.metrics().pause_ms;
                reporter.note((pause > 0).then(|| format!("rate limited, waiting {} s", pause.div_ceil(1000))));
                details
            }
            .boxed()
        });
        // Boxed and collected: the compiler cannot see that a stream of borrowing futures is Send.
        let fetches: Vec<BoxFuture<'_, _>> = fetches.collect();
        let fetched: Vec<std::result::Result<Details, String>> =
            stream::iter(fetches).buffered(CONCURRENCY).try_collect().await.map_err(|error| self.explain(error))?;
        let gone: HashSet<String> = fetched.iter().filter_map(|details| details.as_ref().err().cloned()).collect();
        if !gone.is_empty() {
            self.bury_threads(resource, move |key| gone.contains(key)).await?;
        }
        Ok(fetched.into_iter().flatten().collect())
    }

    /// Whether the ledger has exactly this, fetched so long after its last change that nothing can hide behind it.
    async fn is_current(&self, resource: ItemKind, kind: ThreadKind, listing: &ThreadListing) -> Result<bool> {
        let (project, key) = (self.project.to_owned(), format!("{}{}", kind.sigil(), listing.iid));
        let stored = self.engine.ledger_step(move |ledger| ledger.item(&project, resource, &key)).await?;
        Ok(stored.is_some_and(|stored| is_current(&stored, resource, listing)))
    }

    fn add_thread(&mut self, details: Details, page: &mut Page) {
        let thread = details.thread.key.clone();
        self.report.refetched += details.discussions.len() as u64;
        self.report.confidential += details.internal_notes;
        page.complete_threads.push((self.project.to_owned(), thread.clone()));
        page.items.extend(details.people.into_iter().map(|person| self.item(person, None)));
        page.items.push(self.item(details.thread, Some(thread.clone())));
        page.items
            .extend(details.discussions.into_iter().map(|discussion| self.item(discussion, Some(thread.clone()))));
    }

    fn item(&mut self, mut payload: Payload, thread: Option<String>) -> NewItem {
        let redactions = redact_json(&mut payload.json);
        self.count_redactions(&redactions);
        NewItem {
            project: if payload.kind == ItemKind::Person { String::new() } else { self.project.to_owned() },
            kind: payload.kind,
            key: payload.key,
            thread,
            updated_at: payload.updated_at,
            redactions: redactions.total(),
            payload: payload.json.to_string().into_bytes(),
        }
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
        let base_url = &self.forge.connection.base_url;
        match error {
            ForgeError::NotFound { .. } => Error::new(
                ErrorKind::Configuration,
                format!(
                    "{} was not found at {base_url}: check its path, and that the token may read it ({error})",
                    self.project
                ),
            ),
            error => error.into(),
        }
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

fn unknown_project<'a>(project: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.collect();
    Error::invalid(format!("{project} is not configured; known projects: {}", known.join(", ")))
}
