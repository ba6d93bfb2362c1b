//! Proves a passage: reads it again from where it is kept, and compares its hash. Citations of answers are verified in
//! `ask::verify`.

use backstory_model::{
    commit::Sha,
    digest::sha256_hex,
    id::NodeId,
    pack::chunk::{ChunkRef, split_text},
};

use super::code::{lines_of, text_at};
use crate::{
    catalog::unknown_repository,
    error::{Error, Result},
    projection::documents_of,
    read::not_found,
    resources::Resources,
};

/// Where a passage is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the clone of the repository: lines of a file at a commit.
    Clone,
    /// In the ledger: the item as the forge or the repository told it.
    Ledger,
}

/// The result of proving a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkVerification {
    /// Id of the chunk, as it follows from what was asked.
    pub chunk_id: String,
    /// Where it was looked for.
    pub source: Source,
    /// What stands there now; `None` if it does not stand there any more.
    pub text: Option<String>,
    /// Whether it says what the chunk says.
    pub holds: bool,
}

/// Reads again what a chunk says, from the clone for lines of a file, else from the ledger, and compares hashes.
///
/// # Errors
/// The reference makes no sense, or a store failed. That the text is another now is no error.
pub(crate) async fn verify_chunk(resources: &Resources, chunk: &ChunkRef) -> Result<ChunkVerification> {
    let (first, last) = chunk.lines;
    if first == 0 || last < first {
        return Err(Error::invalid(format!(
            "{first}-{last} is not a range of lines; lines count from 1, the first one first"
        )));
    }
    let proof = |source, text: Option<String>| ChunkVerification {
        chunk_id: chunk.chunk_id(),
        source,
        holds: text.as_ref().is_some_and(|text| sha256_hex(text) == chunk.text_hash),
        text,
    };
    if let Some(path) = &chunk.path {
        return Ok(proof(Source::Clone, reread_lines(resources, chunk, path).await?));
    }
    Ok(proof(Source::Ledger, reread_text(resources, chunk).await?))
}

/// Lines of a file at the commit that the chunk names.
async fn reread_lines(resources: &Resources, chunk: &ChunkRef, path: &str) -> Result<Option<String>> {
    let commit = chunk.commit.as_deref().and_then(|commit| commit.parse::<Sha>().ok()).ok_or_else(|| {
        Error::invalid(format!("{path} needs the whole object name of the commit at which its lines are"))
    })?;
    let (project, path) = (chunk.repository.clone(), path.to_owned());
    let (lines, hash) = (chunk.lines, chunk.text_hash.clone());
    resources
        .blocking(move |resources| {
            if resources.ledger().repository(&project)?.is_none() {
                return Err(unknown_repository(resources, &project));
            }
            let Some(text) = text_at(resources, &project, commit, &path) else { return Ok(None) };
            let found = split_text(&lines_of(&text, lines));
            // A long line is cut into several pieces.
            let is_it = |text: &String| sha256_hex(text) == hash;
            let texts: Vec<String> = found.into_iter().map(|piece| piece.text).collect();
            let own = texts.iter().find(|text| is_it(text)).cloned();
            Ok(own.or_else(|| Some(texts.join("\n")).filter(|text| !text.is_empty())))
        })
        .await
}

/// A piece of the text of an item, rebuilt from the ledger.
async fn reread_text(resources: &Resources, chunk: &ChunkRef) -> Result<Option<String>> {
    let id: NodeId =
        chunk.document.parse().map_err(|error: backstory_model::id::InvalidId| Error::invalid(error.to_string()))?;
    let (project, thread) = match &id {
        NodeId::Thread(thread) | NodeId::Discussion { thread, .. } => {
            (thread.project.clone(), thread.local_reference())
        }
        NodeId::Commit { project, sha } => (project.clone(), format!("@{sha}")),
        _ => return Err(not_found("document", &chunk.document)),
    };
    let documents = documents_of(resources, vec![(project, thread)]).await?;
    let document = documents.into_iter().flat_map(|of| of.documents).find(|of| of.id == chunk.document);
    let text = document.map(|document| document.text());
    let index = chunk.index;
    Ok(text.and_then(|text| split_text(&text).into_iter().find(|piece| piece.index == index).map(|piece| piece.text)))
}
