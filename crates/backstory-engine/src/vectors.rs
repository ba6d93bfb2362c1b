//! Gives documents their vectors, in the background or at once. The models are in [`embed`](crate::embed).

use std::collections::HashMap;

use backstory_model::{
    chunk::{self, ChunkLimits, MAX_DOCUMENT_TOKENS},
    digest::sha256_hex,
    document::Document,
};
use backstory_store::index::{Index, NewPassage, NewPassages, PendingDocument, Vectors};

use crate::{error::Result, projection::documents_of, resources::Resources, task::Reporter};

/// Documents that are embedded between two writes to the index.
pub(crate) const BATCH: usize = 128;

/// Passages that are embedded between two reports of progress.
const STEP: usize = 32;

/// What embedding did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EmbedReport {
    pub(crate) documents: u64,
    pub(crate) passages: u64,
    pub(crate) reused: u64,
    pub(crate) truncated: u64,
}

/// Embeds until every document has its vectors, those of an index that is being made, or of the current one, which may
/// be another from one moment to the next. With `known` only takes over what that has vectors for.
pub(crate) async fn embed_pending(
    resources: &Resources,
    new: Option<&Index>,
    known: Option<&Vectors>,
    reporter: &Reporter,
) -> Result<EmbedReport> {
    // What an older index has is still taken over.
    if resources.embedder().is_off() && known.is_none() {
        return Ok(EmbedReport::default());
    }
    let index = || new.cloned().unwrap_or_else(|| resources.index());
    let waiting = || {
        let coverage = index().coverage();
        coverage.documents.saturating_sub(coverage.embedded)
    };
    reporter.phase(if known.is_some() { "reusing vectors" } else { "embedding" }, Some(waiting()));
    let mut done = EmbedReport::default();
    let mut after: Option<String> = None;
    loop {
        let pending = index().pending(after.as_deref(), BATCH);
        let Some(last) = pending.last() else { break };
        after = Some(last.id.clone());
        let passages = embed_batch(resources, index, known, &pending, &mut done).await?;
        // Who writes a new one lets nobody else, and who replaces the current one waits for this.
        let _one_at_a_time = match new {
            Some(_) => None,
            None => Some(resources.shared.projecting.lock().await),
        };
        index().replace_passages(passages).await?;
        reporter.advance(pending.len() as u64);
        if known.is_none() {
            // Documents come and change meanwhile.
            reporter.set_remaining(waiting());
        }
    }
    if done.truncated > 0 {
        tracing::warn!(
            documents = done.truncated,
            limit = MAX_DOCUMENT_TOKENS,
            "the middle of long documents has no vectors; text search finds it"
        );
    }
    Ok(done)
}

/// Passages of pending documents, with their vectors.
async fn embed_batch(
    resources: &Resources,
    index: impl Fn() -> Index,
    known: Option<&Vectors>,
    pending: &[PendingDocument],
    done: &mut EmbedReport,
) -> Result<Vec<NewPassages>> {
    let mut cut = cut_documents(resources, pending).await?;
    let hashes: Vec<String> = cut.iter().flat_map(|c| c.chunks.iter().map(|chunk| chunk.hash.clone())).collect();
    let mut vectors = match known {
        // Those that cannot be read are rebuilt.
        Some(known) => known.find(&hashes).await.unwrap_or_default(),
        None => index().vectors_by_text_hash(&hashes).await?,
    };
    done.reused += vectors.len() as u64;
    if known.is_some() {
        cut.retain(|document| document.chunks.iter().all(|chunk| vectors.contains_key(&chunk.hash)));
    }
    embed_missing(resources, &cut, &mut vectors).await?;
    done.documents += cut.len() as u64;
    done.truncated += cut.iter().filter(|document| document.left_out > 0).count() as u64;
    done.passages += cut.iter().map(|document| document.chunks.len() as u64).sum::<u64>();
    Ok(cut.into_iter().map(|document| document.with_vectors(&vectors)).collect())
}

async fn embed_missing(
    resources: &Resources,
    cut: &[CutDocument],
    vectors: &mut HashMap<String, Vec<f32>>,
) -> Result<()> {
    let mut missing: HashMap<&str, &str> = HashMap::new();
    for chunk in cut.iter().flat_map(|document| &document.chunks) {
        if !vectors.contains_key(&chunk.hash) {
            missing.insert(&chunk.hash, &chunk.text);
        }
    }
    let mut missing: Vec<(&str, &str)> = missing.into_iter().collect();
    // Texts of like length share a batch, which wastes the least on padding.
    missing.sort_by_key(|(hash, text)| (text.len(), *hash));
    for step in missing.chunks(STEP) {
        let texts: Vec<String> = step.iter().map(|(_, text)| (*text).to_owned()).collect();
        let embedded = resources.embedder().embed_in_background(&texts).await?;
        vectors.extend(step.iter().map(|(hash, _)| (*hash).to_owned()).zip(embedded));
    }
    Ok(())
}

/// Cuts pending documents into chunks. One that changed meanwhile is left for the next round.
async fn cut_documents(resources: &Resources, pending: &[PendingDocument]) -> Result<Vec<CutDocument>> {
    let mut threads: Vec<(String, String)> = pending.iter().filter_map(|p| split_thread(&p.thread)).collect();
    threads.sort();
    threads.dedup();
    let documents = documents_of(resources, threads).await?;
    let wanted: HashMap<String, String> = pending.iter().map(|p| (p.id.clone(), p.content_hash.clone())).collect();
    resources
        .blocking(move |resources| {
            let limits = ChunkLimits { window: resources.embedder().window(), document: MAX_DOCUMENT_TOKENS };
            let cut = |document: Document| {
                let hash = wanted.get(&document.id).filter(|hash| **hash == document.content_hash())?.clone();
                let chunks =
                    chunk::split_into_chunks(&document, limits, |text| resources.embedder().count_tokens(text));
                let texts = chunks.texts.into_iter();
                let chunks_with_hash = texts.map(|text| Chunk { hash: sha256_hex(&text), text }).collect();
                Some(CutDocument { id: document.id, hash, chunks: chunks_with_hash, left_out: chunks.left_out })
            };
            Ok(documents.into_iter().flat_map(|thread| thread.documents).filter_map(cut).collect())
        })
        .await
}

pub(crate) struct Chunk {
    text: String,
    hash: String,
}

pub(crate) struct CutDocument {
    id: String,
    hash: String,
    chunks: Vec<Chunk>,
    left_out: usize,
}

impl CutDocument {
    fn with_vectors(self, vectors: &HashMap<String, Vec<f32>>) -> NewPassages {
        let passages = self.chunks.into_iter().filter_map(|chunk| {
            let vector = vectors.get(&chunk.hash)?.clone();
            Some(NewPassage { text: chunk.text, text_hash: chunk.hash, vector })
        });
        NewPassages { document: self.id, content_hash: self.hash, passages: passages.collect() }
    }
}

/// `acme/shop!7`, `acme/shop@1a2b3c4` or `acme/shop:src/a.rs` as project and key. The path of a project has none of these
/// characters, that of a file may have all of them.
fn split_thread(thread: &str) -> Option<(String, String)> {
    let at = thread.find(['#', '!', '@', ':'])?;
    Some((thread[..at].to_owned(), thread[at..].to_owned()))
}
