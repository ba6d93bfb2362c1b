//! Syncs one project of a forge: lists, fetches what differs, and commits it in steps with the cursor.
//!
//! The cursor never passes the start of the sync less a minute and the clock skew: a note can leave its parent's
//! `updated_at` untouched for that long. Repositories are in `repository::sync`.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
    time::Duration,
};

use backstory_model::{alias::Aliases, entity::ItemKind, id::ThreadKind};
use backstory_sources::forge::{
    Client, ForgeError, MAX_CONCURRENT_THREAD, MAX_LIST, PageStart, ThreadDetails, ThreadList, ThreadListing,
    ThreadsPage, UnreadableItem,
};
use backstory_store::ledger::{Cursor, IngestBatch, Ledger, NewQuarantined, Retired, StoredItem};
use futures::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use jiff::Timestamp;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{
    Part, Report, Scope,
    batch::BatchBuilder,
    number,
    write::{Committed, OF_PROJECT, ingest_batch, ingest_project},
};
use crate::{
    error::{Error, ErrorKind, Result},
    records::{clear_origin_cache, load_origin},
    resources::Resources,
    settings::Forge,
    task::Reporter,
};

/// Items whose details are committed at once. A kill loses at most the fetches of two such steps.
const STEP: usize = 25;
/// Items whose details are fetched at the same time.
const CONCURRENCY: usize = 12;
/// Most items that are read again because something that they name is gone; a full sync reads the rest.
const MAX_STALE_REFERRERS: usize = 500;
/// Most issues and merge requests that are tried again because something of them could not be read, first those that were
/// not tried for longest.
const MAX_RETRIED: usize = 500;
/// Most issues and merge requests that are put aside because an answer about them makes no sense or does not come: that many
/// are a fault of the forge.
const MAX_MALFORMED: usize = 20;
/// A note may leave its parent's `updated_at` untouched for this long: GitLab moves it at most once a minute.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);
/// How far the `Date` header and `updated_at` of one forge may differ: several hosts, whole seconds.
const CLOCK_SKEW: Duration = Duration::from_secs(5);

/// The sync of one project.
pub(super) struct ProjectSync<'a> {
    pub(super) resources: &'a Resources,
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
    pub(super) stale_referrers: BTreeSet<(ThreadKind, u64)>,
    /// What this sync put aside, by kind and key.
    pub(super) put_aside: BTreeSet<(ItemKind, String)>,
    /// Whether the cursor of the list that is read stays, since something before it cannot be told apart and so cannot be
    /// asked for by itself.
    is_held: bool,
    /// Issues and merge requests about which an answer made no sense or did not come.
    senseless: usize,
}

/// What is written at once.
#[derive(Default)]
struct Step {
    details: Vec<ThreadDetails>,
    unreadable: Vec<UnreadableItem>,
}

impl<'a> ProjectSync<'a> {
    pub(super) fn new(
        resources: &'a Resources,
        forge: &'a Forge,
        client: &'a Client,
        project: &'a str,
        reporter: &'a Reporter,
        report: &'a mut Report,
    ) -> Self {
        Self {
            resources,
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
            stale_referrers: BTreeSet::new(),
            put_aside: BTreeSet::new(),
            is_held: false,
            senseless: 0,
        }
    }

    /// Reads what there is; what was fetched before a failure is kept.
    pub(super) async fn run(mut self, scope: Scope, only: &[Part]) -> Result<()> {
        self.client.reset_usage();
        self.load_forgotten().await?;
        let scope = self.widen_scope_for_visibility(scope).await?;
        let all = ThreadList::of(self.forge.kind);
        let lists: Vec<ThreadList> = all.iter().copied().filter(|list| Part::has_list(only, *list)).collect();
        let read = self.read(scope, &lists).await;
        let read = read.and(self.reread_stale_referrers().await);
        let committed = self.committed().await;
        read.and(committed)?;
        if lists == all {
            self.record_confidential_sync().await?;
        }
        if scope != Scope::New {
            self.resources.with_ledger(|ledger| ledger.tombstone_unreferenced_people(Timestamp::now())).await?;
        }
        Ok(())
    }

    /// Reads issues and merge requests, by kind and number, again.
    pub(super) async fn refetch(mut self, threads: &[(ThreadKind, u64)]) -> Result<()> {
        self.load_forgotten().await?;
        let read = self.reread_threads(threads).await;
        let read = read.and(self.reread_stale_referrers().await);
        let committed = self.committed().await;
        read.and(committed)?;
        // A label or milestone may be as new as what has it.
        if self.report.changes.total() > 0 { self.project_level().await } else { Ok(()) }
    }

    /// Reads the project itself, its labels, milestones and releases again.
    pub(super) async fn reread_project(mut self) -> Result<()> {
        self.load_forgotten().await?;
        self.project_level().await
    }

    /// What was forgotten need not be fetched; the ledger would not take it in. People who were are compared by their aliases,
    /// as the ledger has them.
    async fn load_forgotten(&mut self) -> Result<()> {
        let project = self.project.to_owned();
        let looked_up = move |ledger: &Ledger| Ok((ledger.forgotten_threads(&project)?, ledger.retired(&project)?));
        let (forgotten, no_room) = self.resources.with_ledger(looked_up).await?;
        self.no_room = no_room;
        (self.forgotten, self.aliases) = (forgotten.into_iter().collect(), self.resources.ledger().aliases());
        Ok(())
    }

    async fn reread_stale_referrers(&mut self) -> Result<()> {
        let stale_referrers: Vec<_> =
            std::mem::take(&mut self.stale_referrers).into_iter().take(MAX_STALE_REFERRERS).collect();
        self.reread_threads(&stale_referrers).await
    }

    async fn reread_threads(&mut self, threads: &[(ThreadKind, u64)]) -> Result<()> {
        for (kind, iid) in threads {
            let list = if *kind == ThreadKind::Issue { ThreadList::Issues } else { ThreadList::MergeRequests };
            let key = format!("{}{iid}", kind.sigil());
            if self.forgotten.contains(&key) {
                continue;
            }
            let page = match self.client.fetch_listing(self.project, *kind, *iid).await {
                Ok(page) => page,
                Err(ForgeError::NotFound { .. }) => {
                    self.tombstone_threads(list, move |known| known == key).await?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            self.report.confidential += page.confidential.len() as u64;
            self.tombstone_confidential(&page.confidential).await?;
            if page.threads.is_empty() && page.unreadable.is_empty() {
                self.tombstone_threads(list, move |known| known == key).await?;
            }
            self.begin_at(page.forge_time);
            self.commit(Step { unreadable: page.unreadable, ..Step::default() }, None, page.forge_time).await?;
            for mut listing in page.threads {
                if self.is_too_old(&listing) {
                    continue;
                }
                self.aliases.replace(&mut listing.payload);
                self.read_oversized(list, &listing, page.forge_time).await?;
            }
        }
        Ok(())
    }

    /// Reads what belongs to one item, however much it is.
    async fn read_oversized(&mut self, list: ThreadList, listing: &ThreadListing, forge_time: Timestamp) -> Result<()> {
        match self.client.details(self.project, listing, MAX_LIST).await {
            Ok(details) => {
                let step = Step { details: vec![details], ..Step::default() };
                self.commit(step, None, forge_time).await
            }
            Err(ForgeError::NotFound { .. }) => {
                let key = self::key(listing);
                self.tombstone_threads(list, move |known| known == key).await
            }
            Err(error) => {
                let unreadable = vec![self.describe_unreadable(listing, error)?];
                self.commit(Step { unreadable, ..Step::default() }, None, forge_time).await
            }
        }
    }

    /// An item about which an answer makes no sense, does not come or is too large: that is no fault of the others.
    fn describe_unreadable(&mut self, listing: &ThreadListing, error: ForgeError) -> Result<UnreadableItem> {
        self.senseless += usize::from(!matches!(error, ForgeError::TooLarge { .. }));
        if !error.is_limited_to_item() || self.senseless > MAX_MALFORMED {
            return Err(self.explain(error));
        }
        Ok(UnreadableItem {
            kind: listing.kind.into(),
            key: key(listing),
            has_key: true,
            field: String::new(),
            reason: error.to_string(),
            confidential: listing.is_confidential(),
        })
    }

    async fn read(&mut self, scope: Scope, lists: &[ThreadList]) -> Result<()> {
        let project = self.project.to_owned();
        let (known, is_aside) = self
            .resources
            .with_ledger(move |ledger| {
                if scope == Scope::Full {
                    ledger.reset_cursors(&project)?;
                }
                let known = ledger.item(&project, ItemKind::Project, "project")?;
                let is_aside = ledger.quarantine_of(&project)?.iter().any(|row| OF_PROJECT.contains(&row.of.kind));
                Ok((known, is_aside))
            })
            .await?;
        let fresh = scope != Scope::New || known.is_none() || is_aside;
        if fresh {
            self.project_level().await?;
        }
        let before = self.report.changes.total();
        for list in lists {
            self.threads(*list, scope).await?;
        }
        self.retry().await?;
        self.retire().await?;
        // Labels and milestones are asked for again when something moved: an unchanged project costs a request a list.
        if !fresh && self.report.changes.total() > before {
            self.project_level().await?;
        }
        Ok(())
    }

    /// Reads again what was put aside before and did not come by itself; what is read now, or is no more, is not aside any
    /// longer.
    async fn retry(&mut self) -> Result<()> {
        self.committed().await?;
        let project = self.project.to_owned();
        let mut waiting = self.resources.with_ledger(move |ledger| ledger.quarantine_of(&project)).await?;
        let is_new = |of: &NewQuarantined| self.put_aside.contains(&(of.kind, of.key.clone()));
        waiting.retain(|row| !OF_PROJECT.contains(&row.of.kind) && !is_new(&row.of));
        let mut threads = BTreeSet::new();
        waiting.retain(|row| match row.of.thread.as_deref().map(number) {
            // What cannot be told apart is before the cursors, which have stayed.
            None => true,
            Some(None) => false,
            Some(Some(thread)) => threads.contains(&thread) || threads.len() < MAX_RETRIED && threads.insert(thread),
        });
        self.reread_threads(&threads.into_iter().collect::<Vec<_>>()).await?;
        self.committed().await?;
        let read: Vec<_> = waiting.into_iter().map(|row| (row.of.kind, row.of.key)).collect();
        let read: Vec<_> = read.into_iter().filter(|of| !self.put_aside.contains(of)).collect();
        let project = self.project.to_owned();
        self.resources.with_ledger(move |ledger| ledger.release(&project, &read)).await
    }

    /// The project itself, its labels, milestones and releases.
    async fn project_level(&mut self) -> Result<()> {
        self.reporter.phase(format!("{} labels and milestones", self.project), None);
        let own = self.client.project(self.project).await.map_err(|error| self.explain(error))?;
        let labels = self.client.fetch_labels_with_groups(self.project).await?;
        let milestones = self.client.fetch_own_milestones(self.project).await?;
        let releases = self.client.releases(self.project).await?;
        let (project, kind) = (self.project.to_owned(), self.forge.kind);
        let parts = vec![labels, milestones, releases];
        let step = move |resources: &Resources| ingest_project(resources, kind, &project, own, parts);
        let committed = self.resources.blocking(step).await?;
        self.count(&committed);
        clear_origin_cache(self.resources);
        Ok(())
    }

    /// What changed in one list since its cursor, or all of it.
    async fn threads(&mut self, list: ThreadList, scope: Scope) -> Result<()> {
        let project = self.project.to_owned();
        let (cursor, etag) = self
            .resources
            .with_ledger(move |ledger| {
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
        let (mut listed, mut is_whole) = (Vec::new(), true);
        self.is_held = false;
        let (client, path) = (self.client, self.project);
        let mut page = client.threads_page(path, list, &start).await.map_err(|error| self.explain(error))?;
        let (whole, mut fetched, began) = (page.etag.take(), 0, page.forge_time);
        self.reporter.phase(phase, page.total);
        loop {
            self.report.confidential += page.confidential.len() as u64;
            self.tombstone_confidential(&page.confidential).await?;
            listed.extend(page.threads.iter().map(key));
            listed.extend(page.unreadable.iter().flat_map(|wrong| candidate_keys(&wrong.key)));
            is_whole &= page.unreadable.is_empty();
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
        if scope != Scope::New && !self.is_held {
            self.tombstone_unlisted(list, listed, began).await?;
        }
        // Where all of the list is known, it need not be sent again while it stays as it is.
        if let Some(etag) = whole.filter(|_| scope == Scope::New && is_whole && fetched == 0 && latest == cursor) {
            let project = self.project.to_owned();
            self.resources.with_ledger(move |ledger| ledger.put_etag(&project, list.cursor(), Some(&etag))).await?;
        }
        Ok(())
    }

    /// Reads what belongs to those of a page that changed; how many they are.
    async fn page(
        &mut self,
        list: ThreadList,
        page: ThreadsPage,
        scope: Scope,
        latest: &mut Option<Cursor>,
    ) -> Result<u64> {
        let forge_time = page.forge_time;
        let margin = TOUCH_INTERVAL + CLOCK_SKEW;
        let cap = *self.cap.get_or_insert(forge_time.checked_sub(margin).unwrap_or(forge_time));
        let end = page.threads.last().map(position);
        let all = page.threads.len() as u64;
        self.is_held |= page.unreadable.iter().any(|wrong| !wrong.has_key);
        self.commit(Step { unreadable: page.unreadable, ..Step::default() }, None, forge_time).await?;
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
        while let Some(fetched) = fetched.next().await {
            let read = steps.next().and_then(|positions| positions.last().copied());
            let step = self.step(list, fetched, forge_time).await?;
            let cursor = read.and_then(|read| self.advance(list.cursor(), read, cap, latest));
            self.commit(step, cursor, forge_time).await?;
        }
        if let Some(cursor) = end.and_then(|end| self.advance(list.cursor(), end, cap, latest)) {
            self.commit(Step::default(), Some(cursor), forge_time).await?;
        }
        Ok(fetching)
    }

    /// What to write of what was fetched. What was too much to be read beside others is read and written before.
    async fn step(&mut self, list: ThreadList, fetched: Vec<Fetched>, forge_time: Timestamp) -> Result<Step> {
        let mut step = Step::default();
        let mut gone = HashSet::new();
        for (listing, details) in fetched {
            match details {
                Ok(details) => step.details.push(details),
                Err(ForgeError::NotFound { .. }) => {
                    gone.insert(key(&listing));
                }
                Err(ForgeError::TooLarge { .. }) => self.read_oversized(list, &listing, forge_time).await?,
                Err(error) => step.unreadable.push(self.describe_unreadable(&listing, error)?),
            }
        }
        if !gone.is_empty() {
            self.tombstone_threads(list, move |key| gone.contains(key)).await?;
        }
        Ok(step)
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
        if self.is_held || latest.is_some_and(|cursor| capped <= cursor) {
            return None;
        }
        *latest = Some(capped);
        Some((self.project.to_owned(), resource, capped))
    }

    /// Begins to write what was fetched, once the step before is written.
    async fn commit(
        &mut self,
        step: Step,
        cursor: Option<(String, ItemKind, Cursor)>,
        fetched_at: Timestamp,
    ) -> Result<()> {
        self.committed().await?;
        if step.details.is_empty() && step.unreadable.is_empty() && cursor.is_none() {
            return Ok(());
        }
        for details in &step.details {
            self.report.refetched += details.count_human_discussions();
            if !self.forge.reads_confidential() {
                self.report.confidential += details.internal_notes;
            }
        }
        let project = self.project.to_owned();
        let write = move |resources: &Resources| {
            let origin = load_origin(resources, &project)?;
            let ledger = resources.ledger();
            let page = IngestBatch { fetched_at, cursor, ..IngestBatch::default() };
            let mut intake = BatchBuilder::new(resources.redactor(), &origin, page);
            for details in step.details {
                intake.thread(details, |kind, key| Ok(ledger.item(&project, kind, key)?.is_some()))?;
            }
            step.unreadable.into_iter().for_each(|wrong| intake.unreadable(wrong));
            ingest_batch(resources, intake)
        };
        let resources = self.resources.clone();
        self.committing = Some(tokio::spawn(async move { resources.blocking(write).await }));
        Ok(())
    }

    /// Waits for what is being written.
    pub(super) async fn committed(&mut self) -> Result<()> {
        if let Some(committing) = self.committing.take() {
            let committed = committing.await??;
            self.count(&committed);
        }
        Ok(())
    }

    fn count(&mut self, committed: &Committed) {
        self.report.changes.add(&committed.changes);
        for of in &committed.put_aside {
            // Counted once, however often it came.
            self.report.put_aside += u64::from(self.put_aside.insert(of.clone()));
        }
    }

    /// What belongs to the listed items, in their order.
    fn details(&self, listings: Vec<ThreadListing>) -> BoxStream<'a, Fetched> {
        let (client, project, reporter) = (self.client, self.project, self.reporter);
        let fetch = move |listing: ThreadListing| {
            let (client, project, reporter) = (client.clone(), project.to_owned(), reporter.clone());
            let fetched = async move {
                let details = client.details(&project, &listing, MAX_CONCURRENT_THREAD).await;
                reporter.advance(1);
                (listing, details)
            };
            // It goes on while nobody looks at the stream: it has some of the requests that may be under way, and an item
            // that is read by itself meanwhile needs one. It ends with its handle.
            let (fetching, handle) = fetched.remote_handle();
            drop(tokio::spawn(fetching));
            handle
        };
        stream::iter(listings).map(fetch).buffered(CONCURRENCY).boxed()
    }

    /// Those of the listed items that the ledger has not exactly so, or fetched so soon after their last change that
    /// something can hide behind it.
    async fn changed(&mut self, listings: Vec<ThreadListing>) -> Result<Vec<ThreadListing>> {
        let (project, client) = (self.project.to_owned(), self.client.clone());
        let redactor = self.resources.redactor().clone();
        self.resources
            .with_ledger(move |ledger| {
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

/// What was fetched of a listed item.
type Fetched = (ThreadListing, std::result::Result<ThreadDetails, ForgeError>);

/// The keys that an issue or merge request may have: which of the two it is may be what cannot be told.
fn candidate_keys(key: &str) -> Vec<String> {
    let number = number(key).map(|(_, iid)| [format!("#{iid}"), format!("!{iid}")]);
    number.into_iter().flatten().collect()
}

/// Its key in the ledger.
fn key(listing: &ThreadListing) -> String {
    format!("{}{}", listing.kind.sigil(), listing.iid)
}

fn position(listing: &ThreadListing) -> Cursor {
    Cursor { updated_at: listing.updated_at, id: listing.id }
}

fn is_current(stored: &StoredItem, client: &Client, listing: &ThreadListing) -> bool {
    let is_old_enough = stored.fetched_at.duration_since(listing.updated_at)
        > jiff::SignedDuration::try_from(TOUCH_INTERVAL + CLOCK_SKEW).unwrap_or(jiff::SignedDuration::MAX);
    let payload = stored.payload.as_deref().and_then(|json| serde_json::from_slice::<Value>(json).ok());
    is_old_enough && payload.is_some_and(|payload| client.matches_listing(&payload, listing))
}
