//! Snapshots: states of the index, named by what they hold, so that the source of a context pack can be named, recorded
//! and compared.
//!
//! The id of a state is a hash over the digest of all documents (ids, texts, states), which the index has in memory,
//! the embedding model, the number of documents with vectors, and the indexed commits. It is the same wherever the same
//! was indexed. Whatever changes the index records the state it led to, with a fingerprint of eight bytes for each
//! document, so that two states can be compared (576 kB for 19,976 documents). The documents of an older state are not
//! kept.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use backstory_model::{digest::sha256_hex, sight::Sight};
use backstory_store::{
    index::{Coverage, Imprint},
    ledger::{Snapshot, SnapshotStats, SnapshotStatus},
};
use jiff::Timestamp;

use crate::{
    Engine,
    error::{Error, ErrorKind, Result},
};

/// States that are kept unless configured otherwise, besides those that are pinned.
pub const DEFAULT_KEPT: usize = 3;
/// Most states that may be kept.
pub const MAX_KEPT: usize = 1000;
/// Most documents of each kind that a comparison names; the others are counted.
pub const MAX_COMPARED: usize = 1000;
/// Hex digits of an id.
const DIGITS: usize = 16;
/// Fewest digits by which a state is found.
const MIN_DIGITS: usize = 4;

/// What the index holds at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its id: the same wherever the same was indexed.
    pub id: String,
    /// The indexed commit of each repository, by project.
    pub commits: BTreeMap<String, String>,
    /// How much there is.
    pub coverage: Coverage,
}

/// The states on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshots {
    /// What the index holds now.
    pub current: State,
    /// Newest first. The current one is not among them while vectors are being made.
    pub recorded: Vec<Snapshot>,
}

/// How one state differs from another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Id of the first.
    pub from: String,
    /// Id of the second.
    pub to: String,
    /// Documents that only the second has.
    pub added: Difference,
    /// Documents that only the first has.
    pub removed: Difference,
    /// Documents whose text or state is another.
    pub changed: Difference,
    /// How many documents are the same.
    pub unchanged: u64,
}

/// Documents that differ in one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// How many.
    pub count: u64,
    /// Their references, in order; the first [`MAX_COMPARED`].
    pub documents: Vec<String>,
}

impl Difference {
    fn add(&mut self, id: &str) {
        self.count += 1;
        if self.documents.len() < MAX_COMPARED {
            self.documents.push(id.to_owned());
        }
    }
}

impl Engine {
    /// What the index holds now.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn state(&self) -> Result<State> {
        let engine = self.clone();
        self.blocking(move || engine.state_now()).await
    }

    pub(crate) fn state_now(&self) -> Result<State> {
        let mut commits = BTreeMap::new();
        for entry in self.ledger().repositories()? {
            let default = self.repository_record(&entry.project)?.and_then(|of| of.default_branch.clone());
            let head = default.as_ref().and_then(|name| entry.indexed.get(name.as_str()));
            if let Some(head) = head.or(entry.indexed.values().next()) {
                commits.insert(entry.project, head.to_string());
            }
        }
        let index = self.index();
        let coverage = index.coverage();
        let model = self.model_tag();
        let mut text = format!(
            "backstory snapshot 1\n{}\n{} {}\n{}\n",
            index.digest(),
            model.name,
            model.dimension,
            coverage.embedded
        );
        for (project, commit) in &commits {
            text.push_str(&format!("{project} {commit}\n"));
        }
        Ok(State { id: sha256_hex(&text)[..DIGITS].to_owned(), commits, coverage })
    }

    /// Puts what the index holds on record, unless it is already or there is nothing, and forgets the oldest states.
    /// `error` is why the work failed that led here.
    pub(crate) async fn record_snapshot(&self, took: Duration, error: Option<&Error>) -> Result<()> {
        let engine = self.for_work();
        let last_error = error.map(ToString::to_string);
        self.blocking(move || {
            // What everybody sees is a state of its own, if it is not all there is.
            let open = engine.seeing(Sight::Open);
            let differs = open.state_now()?.id != engine.state_now()?.id;
            open.record_state(took, last_error.as_deref(), false)?;
            if differs {
                engine.record_state(took, last_error.as_deref(), true)?;
            }
            engine.prune_now().map(drop)
        })
        .await
    }

    fn record_state(&self, took: Duration, last_error: Option<&str>, confidential: bool) -> Result<()> {
        let State { id, commits, coverage } = self.state_now()?;
        if coverage.documents == 0 || self.ledger().snapshot(&id)?.is_some() {
            return Ok(());
        }
        let index = self.index();
        let snapshot = Snapshot {
            id,
            created_at: Timestamp::now(),
            status: if last_error.is_some() { SnapshotStatus::Failed } else { SnapshotStatus::Completed },
            ledger_seq: self.ledger().last_seq()?,
            model: self.model_tag().name,
            commits,
            stats: SnapshotStats {
                documents: coverage.documents,
                embedded: coverage.embedded,
                passages: coverage.passages,
                // What cannot be looked at is not worth failing for.
                bytes: index.size_on_disk().unwrap_or(0),
                duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            },
            pinned: false,
            last_error: last_error.map(str::to_owned),
            contents_bytes: 0,
            confidential,
        };
        self.ledger().put_snapshot(&snapshot, &index.imprints())?;
        Ok(())
    }

    /// Runs work that may change the index, and puts what it led to on record, also if it failed.
    pub(crate) async fn recorded<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let started = Instant::now();
        let done = work.await;
        self.record_snapshot(started.elapsed(), done.as_ref().err()).await?;
        done
    }

    /// The states on record.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn snapshots(&self) -> Result<Snapshots> {
        let engine = self.clone();
        self.blocking(move || Ok(Snapshots { current: engine.state_now()?, recorded: engine.ledger().snapshots()? }))
            .await
    }

    /// A state by its id, or by at least four of its first digits.
    ///
    /// # Errors
    /// There is none, or several.
    pub async fn snapshot(&self, id: &str) -> Result<Snapshot> {
        let (engine, id) = (self.clone(), id.to_owned());
        self.blocking(move || engine.snapshot_now(&id)).await
    }

    fn snapshot_now(&self, id: &str) -> Result<Snapshot> {
        let id = id.trim().to_ascii_lowercase();
        if id.len() < MIN_DIGITS || id.len() > DIGITS || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Error::invalid(format!(
                "'{}' is no id of a snapshot; write {MIN_DIGITS} to {DIGITS} hex digits, as 'backstory snapshots list' \
                 shows them",
                id.chars().take(80).collect::<String>()
            )));
        }
        let mut found = self.ledger().snapshots()?;
        found.retain(|known| known.id.starts_with(&id));
        match (found.pop(), found.len()) {
            (Some(only), 0) => Ok(only),
            (None, _) => Err(Error::new(
                ErrorKind::NotFound,
                format!("there is no snapshot {id}; 'backstory snapshots list' shows those that are kept"),
            )),
            (Some(_), _) => Err(Error::invalid(format!("several snapshots begin with {id}; write more digits"))),
        }
    }

    /// Pins a state, so that it is kept, or unpins it.
    ///
    /// # Errors
    /// There is none of that id.
    pub async fn pin_snapshot(&self, id: &str, pinned: bool) -> Result<Snapshot> {
        let (engine, id) = (self.clone(), id.to_owned());
        self.blocking(move || {
            let found = engine.snapshot_now(&id)?;
            engine.ledger().pin_snapshot(&found.id, pinned)?;
            Ok(Snapshot { pinned, ..found })
        })
        .await
    }

    /// Forgets the states that need not be kept, as each sync does; says which.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn prune_snapshots(&self) -> Result<Vec<String>> {
        let engine = self.clone();
        self.blocking(move || engine.prune_now()).await
    }

    /// Keeps the pinned ones, the current ones, and the newest of the others; of those with something confidential in them
    /// as many as of those without. Says which went, as far as they are seen.
    fn prune_now(&self) -> Result<Vec<String>> {
        let engine = self.for_work();
        let current = [engine.state_now()?.id, engine.seeing(Sight::Open).state_now()?.id];
        let kept = self.settings().snapshots.keep.max(1);
        let all = engine.ledger().snapshots()?;
        let mut gone = Vec::new();
        for confidential in [false, true] {
            let others = all.iter().filter(|of| !of.pinned && of.confidential == confidential);
            let others = others.filter(|of| !current.contains(&of.id));
            // The current one is one of those that are kept.
            let old: Vec<String> = others.skip(kept - 1).map(|of| of.id.clone()).collect();
            engine.ledger().forget_snapshots(&old)?;
            gone.extend(old.into_iter().filter(|_| self.sight().sees(confidential)));
        }
        Ok(gone)
    }

    /// How one state differs from another.
    ///
    /// # Errors
    /// One of them is not on record.
    pub async fn compare_snapshots(&self, from: &str, to: &str) -> Result<Comparison> {
        let (engine, from, to) = (self.clone(), from.to_owned(), to.to_owned());
        self.blocking(move || {
            let (from, to) = (engine.snapshot_now(&from)?.id, engine.snapshot_now(&to)?.id);
            let documents = |id: &str| {
                let gone = || Error::internal(format!("snapshot {id} has gone meanwhile"));
                engine.ledger().snapshot_documents(id)?.ok_or_else(gone)
            };
            let (old, new) = (documents(&from)?, documents(&to)?);
            Ok(Comparison { from, to, ..compared(&old, &new) })
        })
        .await
    }
}

/// Walks along both lists, which are ordered by id.
fn compared(old: &[(String, Imprint)], new: &[(String, Imprint)]) -> Comparison {
    let mut of = Comparison::default();
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    loop {
        match (old.peek(), new.peek()) {
            (None, None) => return of,
            (Some((a, _)), Some((b, _))) if a == b => {
                let same = old.next().map(|of| of.1) == new.next().map(|of| of.1);
                if same { of.unchanged += 1 } else { of.changed.add(a) }
            }
            (Some((a, _)), b) if b.is_none_or(|(b, _)| a < b) => {
                of.removed.add(a);
                old.next();
            }
            (_, Some((b, _))) => {
                of.added.add(b);
                new.next();
            }
            (Some(_), None) => return of,
        }
    }
}
