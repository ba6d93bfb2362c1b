//! The sync of one project of a forge.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
    time::Duration,
};

use backstory_model::{alias::Aliases, entity::ItemKind, id::ThreadKind, sight::Sight};
use backstory_sources::{
    forge::{Client, Details, ForgeError, List, PageStart, Payload, ThreadListing, ThreadsPage},
    redact::{Redactions, Redactor},
};
use backstory_store::ledger::{Changes, Cursor, Ledger, NewItem, Page, Retired, StoredItem};
use futures::{FutureExt, StreamExt, stream, stream::BoxStream};
use jiff::Timestamp;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{Report, Scope};
use crate::{
    Engine,
    error::{Error, ErrorKind, Result},
    settings::Forge,
    task::Reporter,
};

/// Items whose details are committed at once. A kill loses at most the fetches of two such steps.
const STEP: usize = 25;
/// Items whose details are fetched at the same time.
const CONCURRENCY: usize = 12;
/// Most items that are read again because something that they name is gone; a full sync reads the rest.
const MAX_BEREAVED: usize = 500;
/// A note may leave its parent's `updated_at` untouched for this long: GitLab moves it at most once a minute.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);
/// How far the `Date` header and `updated_at` of one forge may differ: several hosts, whole seconds.
const CLOCK_SKEW: Duration = Duration::from_secs(5);

/// The sync of one project.
pub(super) struct ProjectSync<'a> {
    pub(super) engine: &'a Engine,
    pub(super) forge: &'a Forge,
    client: &'a Client,
    pub(super) project: &'a str,
    reporter: &'a Reporter,
    pub(super) report: &'a mut Report,
    /// The latest time a cursor may take, known once the forge has answered.
    cap: Option<Timestamp>,
    /// Keys of issues and merge requests that were forgotten.
    forgotten: HashSet<String>,
    /// Names of people who were forgotten.
    aliases: Arc<Aliases>,
    /// Closed threads that changed last before this are not kept; known once the forge has answered.
    pub(super) horizon: Option<Timestamp>,
    /// Closed threads for which there was no room.
    pub(super) no_room: BTreeMap<String, Retired>,
    /// What is written while the next is fetched.
    committing: Option<JoinHandle<Result<Committed>>>,
    /// What the forge may say otherwise, without saying so, since something else is gone: a merge request that was to
    /// close an issue, a note that an issue was mentioned in another.
    pub(super) bereaved: BTreeSet<(ThreadKind, u64)>,
}

/// What a step wrote.
struct Committed {
    changes: Changes,
    redactions: Redactions,
}

impl<'a> ProjectSync<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        forge: &'a Forge,
        client: &'a Client,
        project: &'a str,
        reporter: &'a Reporter,
        report: &'a mut Report,
    ) -> Self {
        Self {
            engine,
            forge,
            client,
            project,
            reporter,
            report,
            cap: None,
            forgotten: HashSet::new(),
            aliases: Arc::default(),
            horizon: None,
            no_room: BTreeMap::new(),
            committing: None,
            bereaved: BTreeSet::new(),
        }
    }

    /// Reads what there is; what was fetched before a failure is kept.
    pub(super) async fn run(mut self, scope: Scope) -> Result<()> {
        self.look_up_forgotten().await?;
        let scope = self.scope_by_sight(scope).await?;
        let read = self.read(scope).await;
        let read = read.and(self.read_bereaved().await);
        let committed = self.committed().await;
        read.and(committed)?;
        self.note_sight().await?;
        if scope != Scope::New {
            self.engine.ledger_step(|ledger| ledger.bury_unnamed_people(Timestamp::now())).await?;
        }
        Ok(())
    }

    /// Reads issues and merge requests, by kind and number, again.
    pub(super) async fn refetch(mut self, threads: &[(ThreadKind, u64)]) -> Result<()> {
        self.look_up_forgotten().await?;
        let read = self.read_again(threads).await;
        let read = read.and(self.read_bereaved().await);
        let committed = self.committed().await;
        read.and(committed)?;
        // A label or milestone may be as new as what has it.
        if self.report.changes.total() > 0 { self.project_level().await } else { Ok(()) }
    }

    /// What was forgotten need not be fetched; the ledger would not take it in. People who were are compared by their aliases,
    /// as the ledger has them.
    async fn look_up_forgotten(&mut self) -> Result<()> {
        let project = self.project.to_owned();
        let looked_up = move |ledger: &Ledger| Ok((ledger.forgotten_threads(&project)?, ledger.retired(&project)?));
        let (forgotten, no_room) = self.engine.ledger_step(looked_up).await?;
        self.no_room = no_room;
        (self.forgotten, self.aliases) = (forgotten.into_iter().collect(), self.engine.ledger().aliases());
        Ok(())
    }

    async fn read_bereaved(&mut self) -> Result<()> {
        let bereaved: Vec<_> = std::mem::take(&mut self.bereaved).into_iter().take(MAX_BEREAVED).collect();
        self.read_again(&bereaved).await
    }

    async fn read_again(&mut self, threads: &[(ThreadKind, u64)]) -> Result<()> {
        for (kind, iid) in threads {
            let list = if *kind == ThreadKind::Issue { List::Issues } else { List::MergeRequests };
            let key = format!("{}{iid}", kind.sigil());
            if self.forgotten.contains(&key) {
                continue;
            }
            let page = match self.client.thread_page(self.project, *kind, *iid).await {
                Ok(page) => page,
                Err(ForgeError::NotFound { .. }) => {
                    self.bury_threads(list, move |known| known == key).await?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            self.report.confidential += page.confidential.len() as u64;
            self.bury_confidential(&page.confidential).await?;
            if page.threads.is_empty() {
                self.bury_threads(list, move |known| known == key).await?;
            }
            self.begin_at(page.forge_time);
            for mut listing in page.threads {
                if self.is_too_old(&listing) {
                    continue;
                }
                self.aliases.replace(&mut listing.payload);
                match self.client.details(self.project, &listing).await {
                    Ok(details) => self.commit(vec![details], None, page.forge_time).await?,
                    Err(ForgeError::NotFound { .. }) => {
                        let key = self::key(&listing);
                        self.bury_threads(list, move |known| known == key).await?;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    async fn read(&mut self, scope: Scope) -> Result<()> {
        let project = self.project.to_owned();
        let known = self
            .engine
            .ledger_step({
                let project = project.clone();
                move |ledger| {
                    if scope == Scope::Full {
                        ledger.reset_cursors(&project)?;
                    }
                    ledger.item(&project, ItemKind::Project, "project")
                }
            })
            .await?;
        let fresh = scope != Scope::New || known.is_none();
        if fresh {
            self.project_level().await?;
        }
        let before = self.report.changes.total();
        for list in List::of(self.forge.kind) {
            self.threads(*list, scope).await?;
        }
        self.retire().await?;
        // Labels and milestones are asked for again when something moved: an unchanged project costs a request a list.
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
            page.items.push(item(self.engine.redactor(), self.project, payload, None, &mut redactions));
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

    /// What changed in one list since its cursor, or all of it.
    async fn threads(&mut self, list: List, scope: Scope) -> Result<()> {
        let project = self.project.to_owned();
        let (cursor, etag) = self
            .engine
            .ledger_step(move |ledger| {
                Ok((ledger.cursor(&project, list.cursor())?, ledger.etag(&project, list.cursor())?))
            })
            .await?;
        let phase = format!("{} {}", self.project, list.name());
        self.reporter.phase(phase.clone(), None);
        // A step of a sync that was stopped may still have written a cursor; a full read begins at the beginning.
        let cursor = cursor.filter(|_| scope != Scope::Full);
        let from = cursor.filter(|_| scope == Scope::New);
        let etag = etag.filter(|_| from.is_some());
        let start = PageStart::Since { since: from.map(|cursor| cursor.updated_at), etag };
        let mut latest = cursor;
        let mut listed = Vec::new();
        let (client, path) = (self.client, self.project);
        let mut page = client.threads_page(path, list, &start).await.map_err(|error| self.explain(error))?;
        let (whole, mut fetched, began) = (page.etag.take(), 0, page.forge_time);
        self.reporter.phase(phase, page.total);
        loop {
            self.report.confidential += page.confidential.len() as u64;
            self.bury_confidential(&page.confidential).await?;
            listed.extend(page.threads.iter().map(key));
            // The next page is on its way while what this one lists is fetched.
            let next = page.next.clone().map(PageStart::Next);
            let following = async {
                match &next {
                    Some(next) => client.threads_page(path, list, next).await.map(Some),
                    None => Ok(None),
                }
            };
            let (following, done) = tokio::join!(following, self.page(list, page, scope, &mut latest));
            fetched += done?;
            match following.map_err(|error| self.explain(error))? {
                Some(next) => page = next,
                None => break,
            }
        }
        self.committed().await?;
        if scope != Scope::New {
            self.bury_unlisted(list, listed, began).await?;
        }
        // Where all of the list is known, it need not be sent again while it stays as it is.
        if let Some(etag) = whole.filter(|_| scope == Scope::New && fetched == 0 && latest == cursor) {
            let project = self.project.to_owned();
            self.engine.ledger_step(move |ledger| ledger.put_etag(&project, list.cursor(), Some(&etag))).await?;
        }
        Ok(())
    }

    /// Reads what hangs on those of a page that changed; how many they are.
    async fn page(&mut self, list: List, page: ThreadsPage, scope: Scope, latest: &mut Option<Cursor>) -> Result<u64> {
        let forge_time = page.forge_time;
        let margin = TOUCH_INTERVAL + CLOCK_SKEW;
        let cap = *self.cap.get_or_insert(forge_time.checked_sub(margin).unwrap_or(forge_time));
        let end = page.threads.last().map(position);
        let all = page.threads.len() as u64;
        let mut wanted = page.threads;
        wanted.retain(|listing| !self.forgotten.contains(&key(listing)));
        self.begin_at(forge_time);
        wanted.retain(|listing| !self.is_too_old(listing) && (scope == Scope::Full || !self.has_no_room(listing)));
        for listing in &mut wanted {
            self.aliases.replace(&mut listing.payload);
        }
        let changed = if scope == Scope::Full { wanted } else { self.changed(wanted).await? };
        let fetching = changed.len() as u64;
        self.reporter.advance(all - fetching);
        let positions: Vec<Cursor> = changed.iter().map(position).collect();
        let mut steps = positions.chunks(STEP);
        let mut fetched = self.details(changed).chunks(STEP);
        while let Some(step) = fetched.next().await {
            let step: Vec<_> =
                step.into_iter().collect::<std::result::Result<_, _>>().map_err(|error| self.explain(error))?;
            let read = steps.next().and_then(|positions| positions.last().copied());
            let (details, gone) = split(step);
            if !gone.is_empty() {
                self.bury_threads(list, move |key| gone.contains(key)).await?;
            }
            let cursor = read.and_then(|read| self.advance(list.cursor(), read, cap, latest));
            self.commit(details, cursor, forge_time).await?;
        }
        if let Some(cursor) = end.and_then(|end| self.advance(list.cursor(), end, cap, latest)) {
            self.commit(vec![], Some(cursor), forge_time).await?;
        }
        Ok(fetching)
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
            if self.forge.sight() == Sight::Open {
                self.report.confidential += details.internal_notes;
            }
        }
        let (engine, project) = (self.engine.clone(), self.project.to_owned());
        let step = move || {
            let mut page = Page { fetched_at, cursor, ..Page::default() };
            let mut redactions = Redactions::default();
            for details in details {
                add_thread(engine.redactor(), &project, details, &mut page, &mut redactions);
            }
            Ok(Committed { changes: engine.ledger().commit(&page)?, redactions })
        };
        let engine = self.engine.clone();
        self.committing = Some(tokio::spawn(async move { engine.blocking(step).await }));
        Ok(())
    }

    /// Waits for what is being written.
    pub(super) async fn committed(&mut self) -> Result<()> {
        if let Some(committing) = self.committing.take() {
            let committed = committing.await??;
            self.report.changes.add(&committed.changes);
            self.count_redactions(&committed.redactions);
        }
        Ok(())
    }

    /// What hangs on the listed items, in their order; of one that was deleted since it was listed its key.
    fn details(&self, listings: Vec<ThreadListing>) -> BoxStream<'a, Fetched> {
        let (client, project, reporter) = (self.client, self.project, self.reporter);
        let fetch = move |listing: ThreadListing| {
            async move {
                let details = match client.details(project, &listing).await {
                    Err(ForgeError::NotFound { .. }) => Ok(Err(key(&listing))),
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
    async fn changed(&mut self, listings: Vec<ThreadListing>) -> Result<Vec<ThreadListing>> {
        let (project, client) = (self.project.to_owned(), self.client.clone());
        let redactor = self.engine.redactor().clone();
        self.engine
            .ledger_step(move |ledger| {
                let mut changed = Vec::new();
                for listing in listings {
                    let stored = ledger.item(&project, listing.kind.into(), &key(&listing))?;
                    let mut redacted = listing.clone();
                    redactor.redact_json(&mut redacted.payload);
                    if !stored.is_some_and(|stored| is_current(&stored, &client, &redacted)) {
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

    fn explain(&self, error: ForgeError) -> Error {
        let base_url = self.forge.web_url();
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

/// Its key in the ledger.
fn key(listing: &ThreadListing) -> String {
    format!("{}{}", listing.kind.sigil(), listing.iid)
}

/// Kind and number of the issue or merge request that an item is or belongs to, told from its key in the ledger.
pub(super) fn number(key: &str) -> Option<(ThreadKind, u64)> {
    let (thread, _discussion) = key.split_once('~').unwrap_or((key, ""));
    let kinds = [ThreadKind::Issue, ThreadKind::MergeRequest];
    kinds.into_iter().find_map(|kind| Some((kind, thread.strip_prefix(kind.sigil())?.parse().ok()?)))
}

fn position(listing: &ThreadListing) -> Cursor {
    Cursor { updated_at: listing.updated_at, id: listing.id }
}

fn add_thread(redactor: &Redactor, project: &str, details: Details, page: &mut Page, redactions: &mut Redactions) {
    let mut item = |payload, thread| item(redactor, project, payload, thread, redactions);
    let thread = details.thread.key.clone();
    page.complete_threads.push((project.to_owned(), thread.clone()));
    page.items.extend(details.people.into_iter().map(|person| item(person, None)));
    page.items.push(item(details.thread, Some(thread.clone())));
    let discussions = details.discussions.into_iter();
    page.items.extend(discussions.map(|discussion| item(discussion, Some(thread.clone()))));
}

/// A payload as it is stored, without the secrets in it.
fn item(
    redactor: &Redactor,
    project: &str,
    mut payload: Payload,
    thread: Option<String>,
    redactions: &mut Redactions,
) -> NewItem {
    let found = redactor.redact_json(&mut payload.json);
    redactions.merge(&found);
    NewItem {
        project: if payload.kind == ItemKind::Person { String::new() } else { project.to_owned() },
        kind: payload.kind,
        key: payload.key,
        thread,
        updated_at: payload.updated_at,
        secrets: found.iter().map(|(rule, count)| (rule.to_owned(), count)).collect(),
        confidential: payload.confidential,
        payload: payload.json.to_string().into_bytes(),
    }
}

fn is_current(stored: &StoredItem, client: &Client, listing: &ThreadListing) -> bool {
    let settled = stored.fetched_at.duration_since(listing.updated_at)
        > jiff::SignedDuration::try_from(TOUCH_INTERVAL + CLOCK_SKEW).unwrap_or(jiff::SignedDuration::MAX);
    let payload = stored.payload.as_deref().and_then(|json| serde_json::from_slice::<Value>(json).ok());
    settled && payload.is_some_and(|payload| client.has_listed(&payload, listing))
}
