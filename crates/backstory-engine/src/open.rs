//! Opens the stores of a data directory: creates what is absent, replaces a damaged projection by an empty one, and
//! brings everything that follows from the ledger up to date.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use backstory_model::tracker::Trackers;
use backstory_sources::code::{PassageLimits, PassageSize};
use backstory_store::{
    generations::Generations,
    graph::{Graph, GraphError},
    index::{Index, IndexError, IndexOptions, ModelTag, Vectors},
    ledger::Ledger,
};
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};

use crate::{
    backup::RESTORED,
    embed::Embedder,
    error::{Error, ErrorKind, Result},
    generation::remove_others,
    llm::ChatModel,
    provider::ProviderError,
    quarantine::recheck_stored,
    refresh::{catch_up, refresh_links, refresh_written},
    repository::people::move_people_to_projects,
    rerank::Reranker,
    resources::{LEDGER, Resources, Shared},
    settings::Settings,
    snapshot::record_snapshot,
    state::access::AccessState,
    task::Reporter,
    vectors::embed_pending,
};

/// The directories of graph and index, in the data directory.
const PROJECTIONS: [&str; 2] = ["graph", "index"];

/// Opens the stores of a data directory, for a reader who sees everything. What cannot be derived from the ledger is a
/// notice and no error.
///
/// # Errors
/// The ledger cannot be opened, or a store was written by a newer program.
pub(crate) async fn open_resources(data_dir: &Path, settings: Settings) -> Result<Resources> {
    let embedder = open_embedder(data_dir, &settings).await?;
    let chat_model = settings.llm.clone().map(ChatModel::open).transpose()?;
    let reranker = settings.rerank.clone().map(Reranker::open).transpose()?;
    let directory = data_dir.to_owned();
    let trackers = settings.trackers.clone();
    let (ledger, graphs, graph, indexes, mut notices) =
        tokio::task::spawn_blocking(move || open_stores(&directory, &trackers)).await??;
    notices.extend(embedder.unknown_because().map(describe_unknown_model));
    for unfinished in ledger.unfinished_erasures()? {
        notices.push(format!(
            "forgetting {unfinished} was cut off; run 'backstory forget' for the same once more, so that the disk \
             forgets it too"
        ));
    }
    let tag = ModelTag { name: embedder.model().to_owned(), dimension: embedder.dimension() };
    let restored = data_dir.join(RESTORED);
    let is_of_ledger = !restored.exists() && !is_of_another(&indexes, &ledger);
    let newest = if is_of_ledger { Some(ledger.last_seq()?) } else { None };
    let chunks = describe_passage_limits(&settings.chunks);
    let (index, known) = open_index(&indexes, (tag, settings.index), newest, &chunks, &mut notices).await?;
    record_ledger_id(&[&graphs, &indexes], &ledger);
    record_settings(&indexes, &chunks);
    if restored.exists() {
        std::fs::remove_file(&restored)
            .map_err(|error| Error::internal(format!("{} cannot be removed: {error}", restored.display())))?;
    }
    notices.extend(index.model_changed().map(|old| describe_new_model(&old.name, embedder.model())));
    let access = AccessState::new(ledger.tokens()?);
    let shared = Shared {
        settings,
        graphs,
        graph: RwLock::new(graph),
        indexes,
        index: RwLock::new(index),
        embedder,
        chat_model,
        reranker,
        tasks: Default::default(),
        access,
        work: Default::default(),
        projecting: Default::default(),
        uneven: Default::default(),
        origins: Default::default(),
        repositories: Default::default(),
        objects: Default::default(),
        git: Default::default(),
        reading: Default::default(),
        indexing: Default::default(),
        remembered: Default::default(),
        answers: Default::default(),
        co_changes: Default::default(),
        mentions: Default::default(),
        people: Default::default(),
        listing: Default::default(),
        annotating: Default::default(),
        repairs: Default::default(),
        data_dir: data_dir.to_owned(),
        notices: Mutex::new(notices),
    };
    let resources = Resources::new(shared, ledger);
    refresh_derived(&resources, known).await;
    Ok(resources)
}

/// Tells that documents get new vectors.
fn describe_new_model(old: &str, new: &str) -> String {
    format!(
        "the embedding model was {old} and is now {new}; documents get new vectors in the background ('backstory embed' does it \
         at once), until then text search finds them"
    )
}

/// The embedder. A provider that must be asked about its model and does not answer keeps no command from the stores.
async fn open_embedder(data_dir: &Path, settings: &Settings) -> Result<Embedder> {
    match Embedder::open(settings.embedding.clone()).await {
        Ok(embedder) => Ok(embedder),
        Err(error @ ProviderError::Configuration { .. }) => Err(error.into()),
        Err(error) => {
            let stored = stored_model(&data_dir.join(PROJECTIONS[1])).await;
            Ok(Embedder::open_unasked(&settings.embedding, stored, error)?)
        }
    }
}

/// The model of the vectors that are stored, if there is an index that can be read. Nothing is created.
async fn stored_model(indexes: &Path) -> Option<ModelTag> {
    if !indexes.is_dir() {
        return None;
    }
    let generations = Generations::open(indexes.to_owned()).ok()?;
    if generations.irregular_file().is_some() {
        return None;
    }
    Vectors::model_in(&generations.current()).await
}

fn describe_unknown_model(reason: &ProviderError) -> String {
    format!(
        "the embedding model is not known: {}; until a command or server is started while it answers, texts are found by \
         their words alone",
        Error::from(reason.clone())
    )
}

/// Makes what follows from the ledger; what cannot be made is told.
async fn refresh_derived(resources: &Resources, known: Option<Vectors>) {
    let reason = "interrupted: the process that ran it ended";
    let stale = resources.with_ledger(move |ledger| ledger.fail_stale_runs(reason, Timestamp::now())).await;
    if let Ok(runs @ 1..) = stale {
        tracing::info!(runs, "marked runs of an ended process as failed");
    }
    notice_failure(resources, "runs of an ended process cannot be marked as failed", stale);
    let moved = resources.blocking(move_people_to_projects).await;
    notice_failure(resources, "people are not assigned to the projects that mention them", moved);
    notice_failure(
        resources,
        "the graph, the lists or the index are behind the ledger",
        catch_up(resources, None).await,
    );
    notice_failure(resources, "not all stored items were looked at", recheck_stored(resources).await);
    if let Some(known) = known {
        let reuse = async {
            embed_pending(resources, None, Some(&known), &Reporter::without_listener()).await?;
            resources.index().optimize().await?;
            Ok::<_, Error>(())
        };
        notice_failure(resources, "vectors of the former index are not used again", reuse.await);
    }
    notice_failure(resources, "inferred links are not up to date", refresh_links(resources).await);
    let written = refresh_written(resources).await;
    notice_failure(resources, "what language models wrote is not all in the graph", written);
    // A process that ended early may have left a state that is on no record.
    let recorded = record_snapshot(resources, Duration::ZERO, None).await;
    notice_failure(resources, "the state of the index is on no record", recorded);
}

fn notice_failure<T>(resources: &Resources, what: &str, result: Result<T>) {
    if let Err(error) = result {
        tracing::warn!(%error, "{what}");
        resources.notice(format!("{what}: {error}"));
    }
}

/// Whether a projection is on record as made from another ledger.
fn is_of_another(generations: &Generations, ledger: &Ledger) -> bool {
    let known = generations.ledger_id();
    // A ledger that cannot be written now may have no id yet.
    known.is_some_and(|known| ledger.id().is_ok_and(|id| id != known))
}

/// Records which ledger the projections are of. One that is on no record is taken for the ledger's.
fn record_ledger_id(projections: &[&Generations], ledger: &Ledger) {
    let Ok(id) = ledger.id() else { return };
    for generations in projections {
        if generations.ledger_id().as_ref() != Some(&id)
            && let Err(error) = generations.put_ledger_id(&id)
        {
            tracing::debug!(%error, "which ledger a projection is of is on no record");
        }
    }
}

/// Records how the files of the index are cut. What is on no record is taken for what is configured.
fn record_settings(indexes: &Generations, chunks: &str) {
    if indexes.settings().as_deref() != Some(chunks)
        && let Err(error) = indexes.put_settings(chunks)
    {
        tracing::debug!(%error, "how the files of the index are cut is on no record");
    }
}

/// The text by which the index records how its files are cut.
///
/// It is stored, so it does not follow the names of the types.
fn describe_passage_limits(limits: &PassageLimits) -> String {
    let PassageLimits { code, documentation, text, passages } = limits;
    let size = |size: &PassageSize| {
        let PassageSize { lines, characters, overlap } = size;
        format!("Size {{ lines: {lines}, characters: {characters}, overlap: {overlap} }}")
    };
    format!(
        "Limits {{ code: {}, documentation: {}, text: {}, passages: {passages} }}",
        size(code),
        size(documentation),
        size(text)
    )
}

/// What is said of a projection that has changes which the ledger has not.
const PROJECTION_AHEAD: &str =
    "has more than the ledger, or belongs to another one, so the ledger was replaced; it is rebuilt from the ledger";

type Opened = (Ledger, Generations, Graph, Generations, Vec<String>);

fn open_stores(directory: &Path, trackers: &Arc<Trackers>) -> Result<Opened> {
    let mut notices = Vec::new();
    let path = directory.join(LEDGER);
    let restored = directory.join(RESTORED).exists();
    let has_projections = PROJECTIONS.iter().any(|name| directory.join(name).is_dir());
    let unreadable = |error: io::Error| Error::internal(format!("{} cannot be read: {error}", path.display()));
    // The lock is of the directory, so through a link another process may have the same ledger open.
    if path.is_symlink() {
        let message = format!("{} is a link", path.display());
        let hint = "put the ledger itself in its place; if it should be elsewhere, move the whole data directory";
        return Err(Error::new(ErrorKind::Configuration, message).with_hint(hint));
    }
    // Opening a pipe would wait for a writer.
    if path.exists() && !path.is_file() {
        return Err(Error::new(ErrorKind::Configuration, format!("{} is not a file; remove it", path.display())));
    }
    if has_projections && !restored && Ledger::is_absent_or_blank(&path).map_err(unreadable)? {
        return Err(empty_ledger(directory));
    }
    let ledger = Ledger::open(&path)?;
    let graphs = generations(directory.join(PROJECTIONS[0]))?;
    let known = ledger.last_seq()?;
    let replaced = restored || is_of_another(&graphs, &ledger);
    let opened = match graphs.irregular_file() {
        Some(path) => Err(GraphError::Damaged(format!("{} is not a file", path.display()))),
        None => Graph::open(&graphs.current())
            .and_then(|graph| graph.with_trackers(trackers.clone()))
            .and_then(|graph| Ok((graph.applied_seq()?, graph))),
    };
    let (graph, because) = match opened {
        Ok((applied, _)) if applied > 0 && known == 0 && !restored => return Err(empty_ledger(directory)),
        Ok((applied, graph)) if replaced || applied > known => {
            drop(graph);
            (None, format!("the graph {PROJECTION_AHEAD}"))
        }
        Ok((_, graph)) => (Some(graph), String::new()),
        Err(GraphError::Damaged(reason)) => {
            (None, format!("the graph could not be opened and is rebuilt from the ledger: {reason}"))
        }
        Err(error) => return Err(error.into()),
    };
    let graph = match graph {
        Some(graph) => {
            notices.extend(graph.read_only().map(|why| format!("nothing can be added now: {why}")));
            graph
        }
        None => {
            notices.push(because);
            Graph::open(&fresh_generation(&graphs)?)?.with_trackers(trackers.clone())?
        }
    };
    let indexes = generations(directory.join(PROJECTIONS[1]))?;
    Ok((ledger, graphs, graph, indexes, notices))
}

/// A ledger with nothing in it is no new one where projections hold what was read.
fn empty_ledger(directory: &Path) -> Error {
    let directory = directory.display();
    Error::internal(format!(
        "{directory}/{LEDGER} is empty, but the graph and the index beside it hold what it once had"
    ))
    .with_hint(format!(
        "restore a backup with 'backstory restore', or remove {directory}/graph and {directory}/index and run \
         'backstory sync' to read everything again"
    ))
}

fn generations(directory: PathBuf) -> Result<Generations> {
    let name = directory.display().to_string();
    let generations = Generations::open(directory).map_err(|error| {
        let error = Error::of_files(&format!("{name} cannot be used"), &error);
        if error.kind == ErrorKind::Internal { Error { kind: ErrorKind::Configuration, ..error } } else { error }
    })?;
    remove_others(&generations);
    Ok(generations)
}

/// Makes an empty generation current and returns its directory.
fn fresh_generation(generations: &Generations) -> Result<PathBuf> {
    let fresh = || {
        let fresh = generations.create_next()?;
        generations.activate(&fresh)?;
        Ok::<_, std::io::Error>(fresh)
    };
    fresh().map_err(|error| Error::of_files("a store cannot be rebuilt", &error))
}

/// The index; one that cannot be used, or has changes after the `newest`, or any if that is `None`, is replaced by an
/// empty one, and what vectors it has are handed over. So is one whose files were cut otherwise.
async fn open_index(
    indexes: &Generations,
    (tag, options): (ModelTag, IndexOptions),
    newest: Option<u64>,
    chunks: &str,
    notices: &mut Vec<String>,
) -> Result<(Index, Option<Vectors>)> {
    let old = indexes.current();
    if let Some(path) = indexes.irregular_file() {
        let path = path.display();
        notices.push(format!("the index could not be opened and is rebuilt from the ledger: {path} is not a file"));
        return Ok((Index::open(&fresh_generation(indexes)?, tag, options).await?, None));
    }
    match open_with_progress(&old, tag.clone(), options).await {
        Ok((index, applied)) => {
            // An empty one is as good as new.
            let is_cut_alike = indexes.settings().is_none_or(|known| known == chunks);
            if applied == 0 || (is_cut_alike && newest.is_some_and(|newest| applied <= newest)) {
                return Ok((index, None));
            }
            notices.push(if is_cut_alike {
                format!("the index {PROJECTION_AHEAD}")
            } else {
                "files are cut otherwise than when the index was made ([index.chunks]); it is rebuilt".to_owned()
            });
        }
        Err(IndexError::Damaged { reason, .. }) => {
            notices.push(format!("the index could not be opened and is rebuilt from the ledger: {reason}"));
        }
        Err(IndexError::Outdated { found, known, .. }) => {
            notices.push(format!("the index has format {found} of an older backstory and is rebuilt in {known}"));
        }
        Err(error) => return Err(error.into()),
    }
    let known = Vectors::open(&old, &tag).await.ok().flatten();
    Ok((Index::open(&fresh_generation(indexes)?, tag, options).await?, known))
}

/// An index and the ledger's sequence number that it has followed. Either may be what shows damage.
async fn open_with_progress(
    directory: &Path,
    tag: ModelTag,
    options: IndexOptions,
) -> std::result::Result<(Index, u64), IndexError> {
    let index = Index::open(directory, tag, options).await?;
    let applied = index.applied_seq().await?;
    Ok((index, applied))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passage_limits_are_described_as_indexes_have_them_on_record() {
        assert_eq!(
            describe_passage_limits(&PassageLimits::default()),
            "Limits { code: Size { lines: 60, characters: 0, overlap: 0 }, \
             documentation: Size { lines: 60, characters: 2000, overlap: 3 }, \
             text: Size { lines: 60, characters: 0, overlap: 10 }, passages: 5000 }"
        );
    }
}
