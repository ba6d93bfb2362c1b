//! The retrieved passages of a context pack; each can be proved.

use backstory_model::{
    commit::Sha,
    digest::sha256_hex,
    filter::DocumentKind,
    id::NodeId,
    pack::{
        Chunk,
        chunk::{ChunkRef, TextPiece, split_text},
        score_bucket,
    },
};

use super::{
    MAX_CHUNKS,
    code::Files,
    evidence::{Evidence, Found},
    items::sources_of,
    round_score,
};
use crate::{error::Result, resources::Resources};

/// Passages of one document.
const PER_DOCUMENT: usize = 2;
/// What the second passage of a document is worth of the first.
const SECOND: f32 = 0.6;
/// Longest beginning of the words that answer by which their passage is found, in characters.
const HINT: usize = 60;

/// The passages, in the order in which they are given room: the better tenth first, then what governs.
pub(super) fn retrieved(resources: &Resources, evidence: &Evidence, files: &mut Files<'_>) -> Result<Vec<Chunk>> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for found in &evidence.found {
        let head = files.head(&found.document.facts.project);
        let Some((pieces, commit)) = pieces_of(found, files, head) else { continue };
        for (worth, piece) in best_of(&pieces, found, evidence) {
            chunks.push(chunk(resources, found, piece, commit, found.relevance * worth));
        }
    }
    let mut chunks = apart(chunks);
    chunks.sort_by(|a, b| {
        let tenth = score_bucket(b.score).cmp(&score_bucket(a.score));
        tenth.then_with(|| (a.document_type, &a.chunk_id).cmp(&(b.document_type, &b.chunk_id)))
    });
    chunks.truncate(MAX_CHUNKS);
    Ok(chunks)
}

fn chunk(resources: &Resources, found: &Found, piece: &TextPiece, commit: Option<Sha>, score: f32) -> Chunk {
    let document = &found.document;
    let commit = match document.id.parse::<NodeId>() {
        Ok(NodeId::Commit { sha, .. }) => Some(sha),
        _ => commit.map(|commit| commit.to_string()),
    };
    let reference = ChunkRef {
        document: document.id.clone(),
        repository: document.facts.project.to_string(),
        commit,
        path: document.path.clone(),
        lines: piece.lines,
        index: piece.index,
        text_hash: sha256_hex(&piece.text),
    };
    Chunk {
        chunk_id: reference.chunk_id(),
        document_type: found.document_type,
        document: reference.document,
        title: document.title.clone(),
        repository: reference.repository,
        commit: reference.commit,
        // The path and the commit say where it is, for ever.
        url: Some(document.url.clone()).filter(|url| !url.is_empty() && document.path.is_none()),
        path: reference.path,
        lines: reference.lines,
        index: reference.index,
        score: round_score(score),
        embedding_model: found.by_meaning.then(|| resources.embedder().model().to_owned()),
        confidential: document.facts.confidential,
        is_section: document.facts.kind == DocumentKind::Section,
        content_hash: document.content_hash.clone(),
        sources: sources_of(found),
        text: piece.text.clone(),
    }
}

/// Those that share no lines with a better one, the better first: parts of a file lie in one another. Of equal ones the
/// longer is better.
fn apart(mut chunks: Vec<Chunk>) -> Vec<Chunk> {
    chunks.sort_by(|a, b| {
        let longer = b.text.len().cmp(&a.text.len());
        b.score.total_cmp(&a.score).then(longer).then_with(|| a.chunk_id.cmp(&b.chunk_id))
    });
    let mut kept: Vec<Chunk> = Vec::new();
    for chunk in chunks {
        let shares_lines = |known: &Chunk| {
            known.path.is_some()
                && (&known.repository, &known.path, &known.commit) == (&chunk.repository, &chunk.path, &chunk.commit)
                && known.lines.0 <= chunk.lines.1
                && chunk.lines.0 <= known.lines.1
        };
        if !kept.iter().any(|known| known.chunk_id == chunk.chunk_id || shares_lines(known)) {
            kept.push(chunk);
        }
    }
    kept
}

/// The pieces of a document; of code with lines as they are in the file, and the commit at which they are.
fn pieces_of(found: &Found, files: &mut Files<'_>, head: Option<Sha>) -> Option<(Vec<TextPiece>, Option<Sha>)> {
    let document = &found.document;
    let (Some(path), Some(lines)) = (&document.path, document.lines) else {
        return Some((split_text(&document.text), None));
    };
    let head = head?;
    let mut cut = split_text(&files.lines(&document.facts.project, head, path, lines)?);
    for piece in &mut cut {
        piece.lines = (piece.lines.0 + lines.0 - 1, piece.lines.1 + lines.0 - 1);
    }
    Some((cut, Some(head)))
}

/// The pieces that answer best: those that share most words with the question, and the one with the words that a trace or
/// search names.
fn best_of<'a>(pieces: &'a [TextPiece], found: &Found, evidence: &Evidence) -> Vec<(f32, &'a TextPiece)> {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let hint: String = found.hint.as_deref().map(|hint| plain(hint.trim_matches('…'))).unwrap_or_default();
    let hint: String = hint.chars().take(HINT).collect();
    let mut scored: Vec<(usize, &TextPiece)> = pieces
        .iter()
        .map(|piece| {
            let is_hinted = !hint.is_empty() && plain(&piece.text).contains(&hint);
            (evidence.terms.count_matches(&piece.text) + 2 * usize::from(is_hinted), piece)
        })
        .collect();
    // Of equal ones the first: it says what the document is about.
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.index.cmp(&b.1.index)));
    let best = scored.first().map_or(0, |(score, _)| *score);
    // A commit's message is told once; of others a second passage that answers nearly as well.
    let most = if found.document.facts.kind == DocumentKind::Commit { 1 } else { PER_DOCUMENT };
    scored.retain(|(score, _)| *score * 2 > best || best == 0);
    let worth = std::iter::once(1.0).chain(std::iter::repeat(SECOND));
    worth.zip(scored).map(|(worth, (_, piece))| (worth, piece)).take(if best == 0 { 1 } else { most }).collect()
}
