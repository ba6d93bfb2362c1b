//! The index: documents for full-text search and passages for vector search, two LanceDB tables in one directory.
//!
//! It is a projection of the ledger: it can be deleted and made again. `documents` has a row for every document,
//! `passages` one for every piece of their texts that has a vector. A text is found by its words as soon as its document
//! is written, and by its meaning once its passages are.
//!
//! Neither table is synced to disk on commit, and the two are not written in one transaction. Every write is
//! therefore safe to repeat, and ordered: passages of a text that is going away go first, the document changes next,
//! and only then the ledger's sequence number is recorded, in the configuration that is part of the manifest of
//! `documents`. After a crash the same changes are applied again and find their work half done.
//!
//! **Rebuilding.** Open an index in a new directory, [apply](Index::apply) every thread, then page through
//! [`pending`](Index::pending): passages whose vector [`Vectors::find`] knows from the old directory go into
//! [`replace_passages`](Index::replace_passages) unchanged, the others are embedded. [`optimize`](Index::optimize), and
//! let the new directory replace the old one. `Vectors` opens whatever still has readable passages, also of another
//! version. An open index does not notice that its directory was renamed; open it where it will stay.

mod addresses;
mod by_name;
mod columns;
mod copy;
mod counts;
mod error;
mod facts;
mod filter;
mod image;
mod maintain;
mod maps;
mod names;
mod numbered;
mod options;
mod passages;
mod places;
mod quantized;
mod query;
mod ranking_data;
mod rows;
mod schema;
mod scratch;
mod spellings;
mod stats;
mod tables;
mod types;
mod vector_index;
mod vectors;
mod version_ids;
mod view;
mod views;
mod words;
mod write;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt,
    future::Future,
    io,
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use backstory_model::{
    terms::{QueryTerms, TermId},
    visibility::Visibility,
};
use jiff::Timestamp;
use lance_core::cache::QuickCacheBackend;
use lancedb::{Connection, Table};
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::OwnedMutexGuard;

pub(crate) use self::image::IMAGE;
pub use self::{
    error::{IndexError, IndexFormatVersion},
    facts::{Fingerprint, IdPage, Named},
    maintain::KEPT_VERSIONS,
    options::IndexOptions,
    query::MAX_QUERY_WORDS,
    types::{
        ApplyCounts, Coverage, DocumentFacts, KindCoverage, ModelTag, NewPassage, NewPassages, PassageId, PathPart,
        PendingDocument, ProjectScope, StoredDocument, StoredPassage, TextHit, ThreadDocuments, VectorHit,
    },
    vector_index::VECTORS_TO_INDEX,
    vectors::Vectors,
    version_ids::{split_version, version_id},
    view::{View, ViewThreads},
};
use self::{
    image::{Image, ImageWriter, Of, has_all_files, image_key},
    names::Names,
    passages::Passages,
    places::Places,
    schema::ID,
    stats::{Found, IndexStats},
    tables::damaged,
    vectors::DeletedVectorCache,
    version_ids::public_id,
    views::ViewCache,
};
use crate::guard::{Damage, catch_panic_async};

/// Fewest documents of which an image is written.
const DOCUMENTS_FOR_IMAGE: usize = 500;
/// Least time between two images of a process, as a multiple of what the first of them took,
const IMAGE_INTERVAL: u32 = 50;
/// but no more than this.
const MAX_IMAGE_INTERVAL: Duration = Duration::from_secs(10 * 60);
const SAVING: &str = "write the image of the index";
const REMOVING: &str = "delete the image of the index";
/// Key of the last applied sequence number in the configuration of `documents`.
const APPLIED_SEQ: &str = "backstory.applied_seq";
/// Key of the version that `passages` had when the sequence number was recorded.
const PASSAGES_VERSION: &str = "backstory.passages_version";

/// The open index of a data directory. Clones are the same index. One process may have it open.
///
/// A handle shows what its [visibility](Index::with_visibility) allows, as if nothing else existed.
#[derive(Clone)]
pub struct Index {
    shared: Arc<Shared>,
    visibility: Visibility,
    /// The state that it shows, if not the current one.
    view: Option<Arc<View>>,
}

struct Shared {
    path: PathBuf,
    model: ModelTag,
    options: IndexOptions,
    /// Of documents and of what they name.
    names: Names,
    connection: Connection,
    /// Search indexes that are held open, with a file each for every part.
    opened: Arc<QuickCacheBackend>,
    documents: Table,
    /// Which document each row of `documents` is.
    places: Places,
    passages: RwLock<Passages>,
    /// Held while writing.
    writer: Arc<tokio::sync::Mutex<()>>,
    stats: RwLock<Counted>,
    /// The image that is on the disk, if it is of what is known.
    image: Mutex<Option<SavedImage>>,
    remembered: Mutex<DeletedVectorCache>,
    /// How often documents changed since it was opened.
    changes: AtomicU64,
    views: ViewCache,
    damage: Damage,
}

/// An image that was written.
struct SavedImage {
    /// Empty if it is gone.
    key: String,
    /// When the tables had been tidied up, if it was made of those, and how long it took.
    tidied: Option<(Instant, Duration)>,
}

impl SavedImage {
    /// Whether it is too early for another one: each is written whole, and a server tidies up after every comment.
    fn is_recent(&self) -> bool {
        self.tidied.is_some_and(|(at, took)| at.elapsed() < MAX_IMAGE_INTERVAL.min(took * IMAGE_INTERVAL))
    }
}

/// The statistics, and whether they can be relied on.
struct Counted {
    stats: IndexStats,
    /// A write began and has not reported its end: if nobody is writing, it failed or was cancelled half way.
    writing: bool,
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("path", &self.shared.path).field("model", &self.shared.model).finish()
    }
}

impl Index {
    /// Opens the index in a directory, or creates it there. `model` is the one that makes the vectors; if those in
    /// the index are of another, [`model_changed`](Self::model_changed) says so and every document is pending.
    ///
    /// # Errors
    /// [`Damaged`](IndexError::Damaged), [`Newer`](IndexError::Newer) and [`Outdated`](IndexError::Outdated) say that
    /// it must be rebuilt, [`Lacking`](IndexError::Lacking) that it need not.
    pub async fn open(dir: &Path, model: ModelTag, options: IndexOptions) -> Result<Self, IndexError> {
        match catch_panic_async(Self::open_tables(dir, model, options)).await {
            Ok(opened) => opened.map_err(|error| error.at(dir)),
            Err(panic) => Err(damaged(dir, panic)),
        }
    }

    async fn open_tables(dir: &Path, model: ModelTag, options: IndexOptions) -> Result<Self, IndexError> {
        let (connection, opened) = tables::connect(dir, options.cache_bytes).await?;
        let documents = tables::open_documents(&connection, dir).await?;
        let names = Names::default();
        let passages = passages::open_passages(&connection, dir, &model, &names).await?;
        check_passages_version(dir, &documents, &passages.table).await?;
        let places = Places::new(ID, names.clone());
        let image = restore_image(dir, &model, (&documents, &places), &passages, &names).await?;
        let (Found { stats, stale }, image) = match image {
            Some((stats, key)) => (Found { stats, stale: Vec::new() }, Some(key)),
            // This reads a column of every file there is, so it also finds files that a power cut has taken.
            None => (load_stats((dir, &names), &documents, &places, &passages).await?, None),
        };
        let shared = Shared {
            path: dir.to_owned(),
            model,
            options,
            names,
            connection,
            opened,
            documents,
            places,
            passages: RwLock::new(passages),
            writer: Arc::default(),
            stats: RwLock::new(Counted { stats, writing: false }),
            image: Mutex::new(image.map(|key| SavedImage { key, tidied: None })),
            remembered: Mutex::default(),
            changes: AtomicU64::default(),
            views: ViewCache::default(),
            damage: Damage::default(),
        };
        let index = Self { shared: Arc::new(shared), visibility: Visibility::everything(), view: None };
        match index.delete_stale(&stale).await {
            // It can be read all the same; the next write tries again.
            Err(IndexError::Lacking { .. }) => index.counted_mut().writing = true,
            done => done?,
        }
        let writer = index.shared.writer.clone().lock_owned().await;
        index.save_image(writer, &[]).await;
        Ok(index)
    }

    /// Whether anybody else has a handle of it.
    pub fn has_other_handles(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    /// What was found to be damaged since it was opened. It is of no use then and must be rebuilt.
    pub fn damage(&self) -> Option<&str> {
        self.shared.damage.get()
    }

    /// Does what reads or writes the tables, and remembers damage that it meets: whatever keeps them from answering,
    /// unless the machine lacks something.
    async fn guarded<T>(&self, call: impl Future<Output = Result<T, IndexError>>) -> Result<T, IndexError> {
        let done = match catch_panic_async(call).await {
            Ok(done) => done.map_err(|error| error.at(&self.shared.path)),
            Err(panic) => Err(damaged(&self.shared.path, panic)),
        };
        if let Err(IndexError::Damaged { reason, .. }) = &done {
            self.shared.damage.note(reason);
        }
        done
    }

    /// Returns a handle of the same index that shows what a visibility allows.
    #[must_use]
    pub fn with_visibility(&self, visibility: Visibility) -> Self {
        Self { visibility, ..self.clone() }
    }

    /// The model that it was opened for.
    pub fn model(&self) -> &ModelTag {
        &self.shared.model
    }

    /// How it is searched.
    pub fn options(&self) -> IndexOptions {
        self.shared.options
    }

    /// The model of the vectors that are stored, if it is not the one the index was opened for. They stay until the
    /// first vector of the new model is added, and take no part in a search.
    pub fn model_changed(&self) -> Option<ModelTag> {
        self.passages().foreign
    }

    /// The ledger's sequence number up to which changes have been applied; 0 for a new index.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn applied_seq(&self) -> Result<u64, IndexError> {
        self.guarded(async { Ok(recorded(&self.shared.documents, APPLIED_SEQ).await?.unwrap_or(0)) }).await
    }

    /// How much of the corpus has vectors. Costs nothing.
    pub fn coverage(&self) -> Coverage {
        self.coverage_of(ProjectScope::All)
    }

    /// How much of projects has vectors. Costs nothing.
    pub fn coverage_of(&self, projects: ProjectScope<'_>) -> Coverage {
        self.counted().stats.coverage(projects, self.selection())
    }

    /// What filters and ranking look at, of the documents that there are. Costs nothing.
    pub fn facts<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> HashMap<&'a str, DocumentFacts> {
        let counted = self.counted();
        let visible = |id| Some((id, counted.stats.facts.get_visible(id, self.selection())?));
        ids.into_iter().filter_map(visible).collect()
    }

    /// The documents of definitions that have a plain name, as `model::code::plain_name` writes it, among the versions that
    /// are shown in place of current documents.
    pub fn definitions_of_versions(&self, plain_name: &str) -> Vec<Arc<str>> {
        self.view.as_ref().map_or_else(Vec::new, |view| view.definitions(plain_name).to_vec())
    }

    /// The documents that are one of these nodes, or a part of one, and are wanted: at most so many, those of the nodes with the
    /// lowest ranks first, then by id; and how many there are.
    pub fn documents_of(
        &self,
        nodes: &[(&str, usize)],
        most: usize,
        is_wanted: impl Fn(&str, &DocumentFacts) -> bool,
    ) -> (Vec<Arc<str>>, usize) {
        self.counted().stats.facts.of_nodes(nodes, self.selection(), most, is_wanted)
    }

    /// The authors or labels of the documents of projects, as they are written. Costs some milliseconds.
    pub fn known_names(&self, what: Named, projects: ProjectScope<'_>) -> BTreeSet<Arc<str>> {
        self.counted().stats.facts.known(what, projects, self.selection())
    }

    /// Whether documents of projects belong to a file whose path starts with this, or to a commit that changes one. Costs
    /// some milliseconds.
    pub fn has_documents_below(&self, prefix: &str, projects: ProjectScope<'_>) -> bool {
        self.counted().stats.facts.has_below(prefix, projects, self.selection())
    }

    /// The paths of the files of projects: the first so many by name. Costs some milliseconds.
    pub fn known_paths(&self, projects: ProjectScope<'_>, most: usize) -> BTreeSet<String> {
        self.counted().stats.facts.paths(projects, self.selection(), most)
    }

    /// When the newest visible document was begun. Costs nothing.
    pub fn newest_created_at(&self) -> Option<Timestamp> {
        self.counted().stats.facts.newest(self.selection())
    }

    /// How many visible documents projects have, and in how many of them each term occurs. Costs nothing.
    pub fn document_frequencies(
        &self,
        projects: ProjectScope<'_>,
        terms: impl IntoIterator<Item = TermId>,
    ) -> (u64, Vec<u64>) {
        let counted = self.counted();
        let frequency = |term| counted.stats.frequency(projects, self.selection(), term);
        let of_terms = terms.into_iter().map(frequency).collect();
        (counted.stats.documents(projects, self.selection()), of_terms)
    }

    /// How the passages of documents stand to a query, of those that have vectors, in no particular order. Costs little.
    ///
    /// # Errors
    /// If the file that they are in cannot be read.
    pub async fn score_passages(
        &self,
        vector: &[f32],
        terms: &QueryTerms,
        documents: &[&str],
    ) -> Result<Vec<StoredPassage>, IndexError> {
        self.guarded(async {
            let found = {
                let counted = self.counted();
                let is_visible = |id: &&&str| counted.stats.facts.is_visible(id, self.selection());
                let rows: Vec<Arc<str>> = documents.iter().filter(is_visible).map(|id| self.row_id(id)).collect();
                counted.stats.ranking.find(&rows.iter().map(|row| &**row).collect::<Vec<_>>())
            };
            let (vector, terms) = (vector.to_vec(), terms.clone());
            let compared = tokio::task::spawn_blocking(move || {
                let mut passages = found.read()?.compare(&vector, &terms);
                passages.iter_mut().for_each(|passage| passage.document.truncate(public_id(&passage.document).len()));
                Ok::<_, IndexError>(passages)
            });
            compared.await.map_err(IndexError::store("read what ranking reads"))?
        })
        .await
    }

    /// Those of the documents that have vectors. Costs nothing.
    pub fn embedded<'a>(&self, documents: impl IntoIterator<Item = &'a str>) -> HashSet<String> {
        let counted = self.counted();
        let is_embedded = |id: &&str| {
            counted.stats.facts.is_visible(id, self.selection()) && counted.stats.ranking.count(&self.row_id(id)) > 0
        };
        documents.into_iter().filter(is_embedded).map(str::to_owned).collect()
    }

    /// Digest over the ids of all visible current documents, their texts and states: the same for every index that says the
    /// same. Costs nothing.
    pub fn digest(&self) -> String {
        self.counted().stats.facts.digest(&self.visibility)
    }

    /// Every visible current document and what it says, by id.
    pub fn fingerprints(&self) -> Vec<(String, Fingerprint)> {
        self.counted().stats.facts.fingerprints(&self.visibility)
    }

    /// Whether a document is wanted. Costs some milliseconds if none is.
    pub fn has_any(&self, is_wanted: impl Fn(&str, &DocumentFacts) -> bool) -> bool {
        self.counted().stats.facts.any(self.selection(), is_wanted)
    }

    /// The documents that are wanted, by id: at most `limit` of those after the id `after`, and how many there are in all.
    /// Costs some milliseconds.
    pub fn page(&self, after: Option<&str>, limit: usize, is_wanted: impl Fn(&str, &DocumentFacts) -> bool) -> IdPage {
        self.counted().stats.facts.page(self.selection(), after, limit, is_wanted)
    }

    /// Documents, visible or not, whose current text has no vectors of the current model, in the order of their ids: at most
    /// `limit` of those after the id `after`, so that one that cannot be embedded does not stand in the way of the others.
    pub fn pending(&self, after: Option<&str>, limit: usize) -> Vec<PendingDocument> {
        self.counted().stats.pending(after, limit)
    }

    /// The vectors that texts have in this index, by SHA-256 of the text, wherever the text occurs.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn vectors_by_text_hash(&self, text_hashes: &[String]) -> Result<HashMap<String, Vec<f32>>, IndexError> {
        self.guarded(async {
            let passages = self.passages();
            if passages.foreign.is_some() {
                return Ok(HashMap::new());
            }
            let mut found = vectors::find(&passages.table, text_hashes).await?;
            let remembered = self.remembered();
            for hash in text_hashes {
                if let Some(vector) = remembered.get(hash) {
                    found.entry(hash.clone()).or_insert_with(|| vector.clone());
                }
            }
            Ok(found)
        })
        .await
    }

    fn passages(&self) -> Passages {
        self.shared.passages.read().clone()
    }

    fn counted(&self) -> RwLockReadGuard<'_, Counted> {
        self.shared.stats.read()
    }

    fn counted_mut(&self) -> RwLockWriteGuard<'_, Counted> {
        self.shared.stats.write()
    }

    fn remembered(&self) -> MutexGuard<'_, DeletedVectorCache> {
        self.shared.remembered.lock()
    }

    /// Writes an image of what is known, unless there is one, or one was written a short time ago, or there are so few
    /// documents that none is needed. Who opens the index next reads the tables where that fails. Nobody writes until it is
    /// done, even if the caller no longer waits. `moved` are the places of tables that were written to since they were read.
    async fn save_image(&self, writer: OwnedMutexGuard<()>, moved: &[(&Table, &Places)]) {
        let saved = async {
            let passages = self.passages();
            if passages.foreign.is_some() || self.counted().stats.document_count() < DOCUMENTS_FOR_IMAGE {
                return Ok(());
            }
            let key = image_key(&self.shared.documents, &passages.table, &self.shared.model).await?;
            if self.shared.image.lock().as_ref().is_some_and(|saved| saved.key == key || saved.is_recent()) {
                return Ok(());
            }
            let (started, is_tidied) = (Instant::now(), !moved.is_empty());
            for (table, places) in moved {
                places.read_again(table).await?;
            }
            let index = self.clone();
            let writing = tokio::task::spawn_blocking(move || {
                let written = index.write_image(&passages, &key);
                let tidied = is_tidied.then(|| (Instant::now(), started.elapsed()));
                *index.shared.image.lock() = written.is_ok().then_some(SavedImage { key, tidied });
                drop(writer);
                written
            });
            writing.await.map_err(IndexError::store(SAVING))?.map_err(IndexError::store(SAVING))
        };
        if let Err(error) = saved.await {
            tracing::warn!(%error, "the next start has to read the whole index");
        }
    }

    fn write_image(&self, passages: &Passages, key: &str) -> io::Result<()> {
        let mut image = ImageWriter::default();
        let (file, length) = {
            let counted = self.counted();
            if counted.writing {
                return Err(io::Error::other("a write has failed"));
            }
            counted.stats.save(&mut image)
        };
        self.shared.places.save(&mut image, Of::Documents);
        passages.places.save(&mut image, Of::Passages);
        let names = self.shared.names.read();
        image.add_names(|name| names.of(name));
        drop(names);
        image.write(&self.shared.path, key, (&file, length))
    }

    /// Waits until nobody writes and says that a write begins, which nobody else does while the guard is held. If the one
    /// before did not end, what is known is read again.
    async fn begin_write(&self) -> Result<OwnedMutexGuard<()>, IndexError> {
        let (writer, path) = (self.shared.writer.clone().lock_owned().await, self.shared.path.clone());
        if let Some(saved) = self.shared.image.lock().as_mut() {
            saved.key.clear();
        }
        // Before anything else, whether one is known or not: what must be forgotten may be in it. Nobody writes another one
        // until it is gone, even if the caller no longer waits.
        let removing = tokio::task::spawn_blocking(move || image::remove(&path).map(|()| writer));
        let writer = removing.await.map_err(IndexError::store(REMOVING))?.map_err(IndexError::store(REMOVING))?;
        if std::mem::replace(&mut self.counted_mut().writing, true) {
            let Found { stats, stale } = load_stats(
                (&self.shared.path, &self.shared.names),
                &self.shared.documents,
                &self.shared.places,
                &self.passages(),
            )
            .await?;
            self.counted_mut().stats = stats;
            self.shared.changes.fetch_add(1, Ordering::AcqRel);
            self.delete_stale(&stale).await?;
        }
        Ok(writer)
    }

    fn end_write(&self) {
        self.counted_mut().writing = false;
    }
}

/// Takes over the image of a directory, if it has one of what its tables have now.
async fn restore_image(
    dir: &Path,
    model: &ModelTag,
    (documents, places): (&Table, &Places),
    passages: &Passages,
    names: &Names,
) -> Result<Option<(IndexStats, String)>, IndexError> {
    let key = image_key(documents, &passages.table, model).await?;
    let are_whole = has_all_files(dir, documents).await? && has_all_files(dir, &passages.table).await?;
    let (path, names, places, own) = (dir.to_owned(), names.clone(), places.clone(), passages.places.clone());
    let read = tokio::task::spawn_blocking(move || {
        let image = if are_whole { Image::read(&path, &key) } else { Ok(None) };
        let restored = image.and_then(|image| {
            let Some(image) = image else { return Ok(None) };
            // The names first: if they are not as they should be, nothing else is taken over.
            names.restore(&image)?;
            std::thread::scope(|scope| {
                let places = scope.spawn(|| {
                    places.restore(&image, Of::Documents)?;
                    own.restore(&image, Of::Passages)
                });
                let stats = IndexStats::restore(&image, &names);
                places.join().unwrap_or_else(|panic| resume_unwind(panic))?;
                Ok(Some((stats?, key)))
            })
        });
        match restored {
            Ok(Some(restored)) => return Some(restored),
            Ok(None) => {}
            Err(error) => tracing::info!(%error, "the image of the index is not used"),
        }
        if let Err(error) = image::remove(&path) {
            tracing::info!(%error, "an image of the index that is of no use cannot be deleted");
        }
        None
    });
    read.await.map_err(IndexError::store("read the image of the index"))
}

async fn load_stats(
    (dir, names): (&Path, &Names),
    documents: &Table,
    places: &Places,
    passages: &Passages,
) -> Result<Found, IndexError> {
    let of_model = passages.foreign.is_none().then_some((&passages.table, &passages.places));
    IndexStats::compute(dir, names, (documents, places), of_model).await
}

/// A number in the configuration of a table.
async fn recorded(table: &Table, key: &str) -> Result<Option<u64>, IndexError> {
    let native = table.as_native().ok_or_else(not_local)?;
    let manifest = native.manifest().await.map_err(IndexError::store("read the manifest"))?;
    Ok(manifest.config.get(key).and_then(|value| value.parse().ok()))
}

async fn record(table: &Table, values: [(&str, u64); 2]) -> Result<(), IndexError> {
    let native = table.as_native().ok_or_else(not_local)?;
    let values = values.map(|(key, value)| (key.to_owned(), value.to_string()));
    Box::pin(native.update_config(values)).await.map_err(IndexError::store("write to the manifest"))
}

fn not_local() -> IndexError {
    IndexError::Store { action: "read the manifest", reason: "the table is not in a directory".into() }
}

/// A power cut may take back the last commits of one table and not of the other. Passages that are older than the
/// documents say could belong to documents that are gone or have other labels by now.
async fn check_passages_version(dir: &Path, documents: &Table, passages: &Table) -> Result<(), IndexError> {
    let expected = recorded(documents, PASSAGES_VERSION).await?.unwrap_or(0);
    let found = passages.version().await.map_err(IndexError::store("read the manifest"))?;
    if found < expected {
        return Err(damaged(dir, format!("its passages are at version {found}, not {expected}")));
    }
    Ok(())
}
