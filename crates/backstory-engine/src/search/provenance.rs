//! Where the best piece of each hit stands: the id that a context pack gives it too, by which it can be proved, its commit,
//! lines and tokens, and which model embedded its document.

use std::collections::{BTreeSet, HashMap};

use backstory_model::{
    commit::{RepoPath, Sha},
    digest::sha256_hex,
    document_type::DocumentType,
    id::NodeId,
    pack::chunk::{ChunkRef, TextPiece, split_text},
    text::words,
};
use backstory_store::index::StoredDocument;
use serde::{Deserialize, Serialize};

use super::Hit;
use crate::{
    clones::{MAX_TEXT, clean_text, open_objects},
    error::Result,
    records::repository_record,
    resources::Resources,
    tokens,
};

/// The piece of a hit's document that shares most words with the query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HitChunk {
    /// Its id, which follows from where it stands and what it says.
    pub chunk_id: String,
    /// What its document is for.
    pub document_type: DocumentType,
    /// Object name of the commit at which it stands so; null for what is not in the repository.
    pub commit: Option<String>,
    /// First and last line: of the file, else of the document's text.
    pub lines: (u32, u32),
    /// Its number among the pieces of the document, from 0.
    pub index: u32,
    /// How many tokens it has, in the vocabulary `o200k_base`.
    pub tokens: usize,
    /// Name of the model that embedded its document; null if no model has.
    pub embedding_model: Option<String>,
}

/// The chunks of hits, in their order; `None` of a file that cannot be read any more.
pub(super) async fn chunks_of(resources: &Resources, query: &str, hits: &[Hit]) -> Result<Vec<Option<HitChunk>>> {
    let documents: Vec<StoredDocument> = hits.iter().map(|hit| hit.document.clone()).collect();
    let wanted: BTreeSet<String> = words(query).into_iter().collect();
    resources
        .blocking(move |resources| {
            let index = resources.index();
            let embedded = index.embedded(documents.iter().map(|document| document.id.as_str()));
            let mut heads: HashMap<String, Option<Sha>> = HashMap::new();
            let mut chunks = Vec::with_capacity(documents.len());
            for document in &documents {
                let project = document.facts.project.to_string();
                let head = *heads.entry(project.clone()).or_insert_with(|| indexed_head(resources, &project));
                let chunk = best_chunk(resources, document, head, &wanted);
                chunks.push(chunk.map(|mut chunk| {
                    let model = embedded.contains(&document.id).then(|| index.model().name.clone());
                    chunk.embedding_model = model;
                    chunk
                }));
            }
            Ok(chunks)
        })
        .await
}

/// The commit of a project at which the documents are: that of the state that is shown, or the indexed one of its default
/// branch.
fn indexed_head(resources: &Resources, project: &str) -> Option<Sha> {
    if let Some(commit) = resources.state().and_then(|state| state.commits.get(project)) {
        return commit.parse().ok();
    }
    let entry = resources.ledger().repository(project).ok()??;
    let default = repository_record(resources, project).ok()??.default_branch.clone()?;
    entry.indexed.get(default.as_str()).copied()
}

fn best_chunk(
    resources: &Resources,
    document: &StoredDocument,
    head: Option<Sha>,
    wanted: &BTreeSet<String>,
) -> Option<HitChunk> {
    let (cut, commit) = pieces_of(resources, document, head)?;
    let shared = |piece: &&TextPiece| {
        let own: BTreeSet<String> = words(&piece.text).into_iter().collect();
        // Of equal ones the first.
        (wanted.intersection(&own).count(), std::cmp::Reverse(piece.index))
    };
    let piece = cut.iter().max_by_key(shared)?;
    let reference = ChunkRef {
        document: document.id.clone(),
        repository: document.facts.project.to_string(),
        commit,
        path: document.path.clone(),
        lines: piece.lines,
        index: piece.index,
        text_hash: sha256_hex(&piece.text),
    };
    Some(HitChunk {
        chunk_id: reference.chunk_id(),
        document_type: DocumentType::classify(document.facts.kind, document.path.as_deref()),
        commit: reference.commit,
        lines: piece.lines,
        index: piece.index,
        tokens: tokens::count(&piece.text),
        embedding_model: None,
    })
}

/// The pieces of a document; of a file with its lines at the indexed head, and that commit.
fn pieces_of(
    resources: &Resources,
    document: &StoredDocument,
    head: Option<Sha>,
) -> Option<(Vec<TextPiece>, Option<String>)> {
    let (Some(path), Some((first, last))) = (&document.path, document.lines) else {
        let commit = match document.id.parse() {
            Ok(NodeId::Commit { sha, .. }) => Some(sha),
            _ => None,
        };
        return Some((split_text(&document.text), commit));
    };
    let head = head?;
    let objects = open_objects(resources, &document.facts.project).ok()?;
    let bytes = objects.file(head, &RepoPath::from_escaped(path), MAX_TEXT).ok()?;
    let text = clean_text(resources, &bytes);
    let before = first.saturating_sub(1);
    let count = (last.saturating_sub(first) + 1) as usize;
    let lines: Vec<&str> = text.lines().skip(before as usize).take(count).collect();
    let mut cut = split_text(&lines.join("\n"));
    for piece in &mut cut {
        piece.lines = (piece.lines.0 + before, piece.lines.1 + before);
    }
    Some((cut, Some(head.to_string())))
}
