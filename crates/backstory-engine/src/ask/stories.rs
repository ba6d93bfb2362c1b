//! The stories that a search found, and the pieces of their texts that could be quoted.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use backstory_model::{
    filter::DocumentKind,
    id::NodeId,
    question::{Question, Term},
    sentence::{Piece, PieceKind, pieces, stems},
};
use backstory_store::index::StoredDocument;

use super::document::CitedDocument;
use crate::{
    Engine,
    error::{Error, Result},
    search::Hit,
};

/// Stories that are read.
pub(super) const MAX_STORIES: usize = 6;
/// Pieces of one story that are looked at, the first ones.
const MAX_PIECES: usize = 4_000;
/// Longest block of code that is quoted, in lines.
const MAX_CODE_LINES: usize = 12;

/// An issue, merge request, commit or file with all that belongs to it.
#[derive(Debug)]
pub(super) struct Story {
    /// Its node.
    pub(super) id: NodeId,
    /// How well the search ranks it, 1 for the best.
    pub(super) score: f32,
    /// Its texts.
    pub(super) documents: Vec<CitedDocument>,
    /// The pieces of its texts, in order.
    pub(super) passages: Vec<Passage>,
}

/// A piece of a text that could be quoted.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    /// Which of the story's documents.
    pub(super) document: usize,
    /// Bytes of it.
    pub(super) range: Range<usize>,
    /// What it is.
    pub(super) kind: PieceKind,
    /// Its content words.
    pub(super) stems: BTreeSet<String>,
}

impl Story {
    /// The text of a passage.
    pub(super) fn text(&self, passage: &Passage) -> &str {
        &self.documents[passage.document].text[passage.range.clone()]
    }

    /// Which of the terms its texts have, titles and authors among them.
    pub(super) fn covers(&self, terms: &[Term]) -> Vec<bool> {
        let mut all: BTreeSet<String> =
            self.passages.iter().flat_map(|passage| passage.stems.iter().cloned()).collect();
        for document in &self.documents {
            all.extend(stems(&document.title));
            all.extend(document.author.as_deref().map(stems).unwrap_or_default());
        }
        terms.iter().map(|term| has_stem(&all, &term.stem)).collect()
    }
}

/// Whether a text with these stems has a word; longer forms of a long word count.
pub(super) fn has_stem(stems: &BTreeSet<String>, stem: &str) -> bool {
    const LONG: usize = 5;
    if stems.contains(stem) {
        return true;
    }
    let next = stems.range(stem.to_owned()..).next();
    stem.chars().count() >= LONG && next.is_some_and(|next| next.starts_with(stem))
}

impl Engine {
    /// The stories that the best hits belong to, the best first, read whole from ledger and clones. One that is gone
    /// since it was indexed is left out.
    pub(super) async fn stories(&self, hits: &[Hit]) -> Result<Vec<Story>> {
        let mut found: Vec<(String, f32, Vec<StoredDocument>)> = Vec::new();
        let best = hits.first().map_or(1.0, |hit| hit.score).max(f32::MIN_POSITIVE);
        for hit in hits {
            let thread = &*hit.document.facts.thread;
            if let Some((.., documents)) = found.iter_mut().find(|(id, ..)| id == thread) {
                documents.push(hit.document.clone());
            } else if found.len() < MAX_STORIES {
                found.push((thread.to_owned(), hit.score / best, vec![hit.document.clone()]));
            }
        }
        let engine = self.clone();
        self.blocking(move || {
            let read = |(id, score, hits): (String, f32, Vec<StoredDocument>)| {
                let id: NodeId =
                    id.parse().map_err(|error| Error::internal(format!("the index names {id}: {error}")))?;
                match engine.story(&id, score, &hits) {
                    Ok(story) => Ok(story),
                    Err(error) => {
                        tracing::warn!(%id, %error, "a story is left out of an answer");
                        Ok(None)
                    }
                }
            };
            Ok(found.into_iter().map(read).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        })
        .await
    }

    fn story(&self, id: &NodeId, score: f32, hits: &[StoredDocument]) -> Result<Option<Story>> {
        let documents = match id {
            NodeId::Thread(thread) => self.documents_of_thread(thread)?,
            NodeId::Commit { project, sha } => self.document_of_commit(project, sha)?.into_iter().collect(),
            NodeId::File { project, path } => self.document_of_file(project, path, None)?.into_iter().collect(),
            _ => vec![],
        };
        if documents.is_empty() {
            return Ok(None);
        }
        let mut passages = Vec::new();
        for (place, document) in documents.iter().enumerate() {
            let pieces = if document.file.is_some() { pieces_of_file(document, hits) } else { pieces(&document.text) };
            passages.extend(pieces.into_iter().map(|piece| Passage {
                document: place,
                stems: stems(&document.text[piece.range.clone()]),
                kind: if piece.range.end <= document.heading { PieceKind::Heading } else { piece.kind },
                range: piece.range,
            }));
        }
        passages.truncate(MAX_PIECES);
        Ok(Some(Story { id: id.clone(), score, documents, passages }))
    }
}

/// The pieces of those parts of a file that were found: sentences of sections, blocks of code.
fn pieces_of_file(document: &CitedDocument, hits: &[StoredDocument]) -> Vec<Piece> {
    let mut parts: BTreeMap<(u32, u32), bool> = BTreeMap::new();
    for hit in hits {
        let Some(lines) = hit.lines else { continue };
        match hit.facts.kind {
            DocumentKind::Section => drop(parts.insert(lines, true)),
            DocumentKind::Code => drop(parts.insert(lines, false)),
            _ => {}
        }
    }
    let mut found: Vec<Piece> = Vec::new();
    for (lines, prose) in parts {
        let range = document.bytes_of(lines);
        let text = &document.text[range.clone()];
        let pieces = if prose { pieces(text) } else { blocks(text) };
        for piece in pieces {
            let range = range.start + piece.range.start..range.start + piece.range.end;
            // Parts of a file lie in one another.
            if !found.iter().any(|known| known.range == range) {
                found.push(Piece { range, kind: piece.kind });
            }
        }
    }
    found
}

/// Blocks of code that empty lines divide, longer ones cut, with whole lines.
fn blocks(code: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let (mut at, mut open, mut lines) = (0, None, 0);
    let mut close = |open: &mut Option<usize>, end: usize| {
        if let Some(start) = open.take() {
            let length = code[start..end].trim_end().len();
            found.push(Piece { range: start..start + length, kind: PieceKind::Code });
        }
    };
    for line in code.split_inclusive('\n') {
        if line.trim().is_empty() || lines == MAX_CODE_LINES {
            close(&mut open, at);
            lines = 0;
        }
        if !line.trim().is_empty() {
            open.get_or_insert(at);
            lines += 1;
        }
        at += line.len();
    }
    close(&mut open, at);
    found
}

/// The share of a question's words that a text has, by their weights, 0 to 1.
pub(super) fn coverage(question: &Question, weights: &[f32], stems: &BTreeSet<String>) -> f32 {
    let total: f32 = weights.iter().sum();
    let covered = question.terms.iter().zip(weights).filter(|(term, _)| has_stem(stems, &term.stem));
    let covered: f32 = covered.map(|(_, weight)| weight).sum();
    if total > 0.0 { covered / total } else { 0.0 }
}
