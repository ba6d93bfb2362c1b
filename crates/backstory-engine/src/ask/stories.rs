//! Reads the result groups of a search whole, and cuts them into the pieces that could be quoted.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use backstory_model::{
    filter::DocumentKind,
    id::NodeId,
    question::Question,
    sentence::{PieceKind, SentencePiece, split_sentences, stems},
};
use backstory_store::index::StoredDocument;

use crate::{
    citations::{CitedDocument, document_of_commit, document_of_file, documents_of_thread},
    error::{Error, Result},
    resources::Resources,
    search::{Definition, Hit},
};

/// Stories that are read.
const MAX_STORIES: usize = 6;
/// Pieces of one story that are looked at, the first ones.
const MAX_PIECES: usize = 4_000;
/// Shortest sentence below the first line of a commit's message that says more than that line, in bytes.
const LEAST_BODY: usize = 25;
/// Longest block of code that is quoted, in lines.
const MAX_CODE_LINES: usize = 12;

/// An issue, merge request, commit or file with all that belongs to it.
#[derive(Debug)]
pub(super) struct Story {
    /// Its node.
    pub(super) id: NodeId,
    /// Its texts.
    pub(super) documents: Vec<CitedDocument>,
    /// The pieces of its texts, in order.
    pub(super) passages: Vec<Passage>,
    /// How well it fits the question as a whole, 0 to 1, if the search told.
    pub(super) fit: Option<f32>,
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
    /// What it is of what it stands in, if that matters.
    pub(super) role: Role,
    /// Its content words.
    pub(super) stems: BTreeSet<String>,
}

/// What a piece is of the text that it stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing special.
    #[default]
    Anywhere,
    /// The first line of a commit's message.
    Subject,
    /// What a definition that the question asks for says of itself, or its beginning if it says nothing.
    Definition,
}

impl Story {
    /// The text of a passage.
    pub(super) fn text(&self, passage: &Passage) -> &str {
        &self.documents[passage.document].text[passage.range.clone()]
    }

    /// For each of its texts, the words of its title, of the story's own title and of who wrote it.
    pub(super) fn titles(&self) -> impl Iterator<Item = BTreeSet<String>> {
        let own = self.documents.first().map(|own| stems(&own.title)).unwrap_or_default();
        self.documents.iter().map(move |document| {
            let author = document.author.as_deref().map(stems).unwrap_or_default();
            own.iter().cloned().chain(stems(&document.title)).chain(author).collect()
        })
    }

    /// Which of a question's words its texts have, titles and authors among them.
    pub(super) fn found(&self, question: &Question) -> Vec<bool> {
        let texts = self.passages.iter().flat_map(|passage| passage.stems.iter().cloned());
        question.found_in(&texts.chain(self.titles().flatten()).collect())
    }
}

/// What to read of a story.
struct Wanted {
    id: String,
    /// Parts of a file that were found.
    parts: Vec<StoredDocument>,
    /// Lines of definitions that the question asks for.
    definitions: Vec<(u32, u32)>,
}

/// The stories that the best hits belong to, the best first, and those of definitions that are asked for, read whole
/// from ledger and clones. One that is gone since it was indexed is left out.
pub(super) async fn load_stories(
    resources: &Resources,
    hits: &[Hit],
    definitions: &[Definition],
) -> Result<Vec<Story>> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let parts = load_parts(resources, hits, definitions).await?;
    for definition in definitions {
        let Some(part) = parts.get(&definition.document) else { continue };
        if !wanted.iter().any(|known| known.id == definition.file) {
            wanted.push(Wanted::of(&definition.file));
        }
        if let Some(known) = wanted.iter_mut().find(|known| known.id == definition.file) {
            known.add(part);
            // What stands in something else is no more than a part of what that says of itself.
            known.definitions.extend(part.lines.filter(|_| definition.line.is_none()));
        }
    }
    for hit in hits {
        let thread = &*hit.document.facts.thread;
        if !wanted.iter().any(|known| known.id == thread) {
            if wanted.len() >= MAX_STORIES {
                continue;
            }
            wanted.push(Wanted::of(thread));
        }
        let Some(known) = wanted.iter_mut().find(|known| known.id == thread) else { continue };
        known.add(&hit.document);
        for passage in &hit.passages {
            if let Some(part) = parts.get(&passage.document) {
                known.add(part);
            }
        }
    }
    read_wanted(resources, wanted).await
}

/// Stories that no hit leads to, read whole from the ledger. One that is not there is left out.
pub(super) async fn load_stories_of(resources: &Resources, ids: &[NodeId]) -> Result<Vec<Story>> {
    let wanted = ids.iter().map(|id| Wanted::of(&id.to_string())).collect();
    read_wanted(resources, wanted).await
}

async fn read_wanted(resources: &Resources, wanted: Vec<Wanted>) -> Result<Vec<Story>> {
    resources
        .blocking(move |resources| {
            let read = |wanted: Wanted| {
                let id: NodeId = (wanted.id.parse())
                    .map_err(|error| Error::internal(format!("the index names {}: {error}", wanted.id)))?;
                match load_story(resources, &id, &wanted) {
                    Ok(story) => Ok(story),
                    Err(error) => {
                        tracing::warn!(%id, %error, "a story is left out of an answer");
                        Ok(None)
                    }
                }
            };
            Ok(wanted.into_iter().map(read).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        })
        .await
}

/// Parts of files that were found beside those that hits show, and definitions.
async fn load_parts(
    resources: &Resources,
    hits: &[Hit],
    definitions: &[Definition],
) -> Result<BTreeMap<String, StoredDocument>> {
    let of_files = hits.iter().filter(|hit| hit.document.path.is_some());
    let found = of_files.flat_map(|hit| hit.passages.iter().map(|passage| passage.document.clone()));
    let ids: BTreeSet<String> = found.chain(definitions.iter().map(|definition| definition.document.clone())).collect();
    let documents = resources.index().documents(&ids.into_iter().collect::<Vec<_>>()).await?;
    Ok(documents.into_iter().map(|document| (document.id.clone(), document)).collect())
}

fn load_story(resources: &Resources, id: &NodeId, wanted: &Wanted) -> Result<Option<Story>> {
    let documents = match id {
        NodeId::Thread(thread) => documents_of_thread(resources, thread)?,
        NodeId::Commit { project, sha } => document_of_commit(resources, project, sha)?.into_iter().collect(),
        NodeId::File { project, path } => document_of_file(resources, project, path, None)?.into_iter().collect(),
        _ => vec![],
    };
    if documents.is_empty() {
        return Ok(None);
    }
    let mut passages = Vec::new();
    for (place, document) in documents.iter().enumerate() {
        let pieces = match document.file {
            Some(_) => pieces_of_file(document, &wanted.parts),
            None => split_sentences(&document.text),
        };
        let subject = match id {
            NodeId::Commit { .. } => document.text.lines().next().map_or(0, str::len),
            _ => 0,
        };
        // Where a message has a body, that says why.
        let says_more = pieces.iter().any(|piece| piece.range.start >= subject && piece.range.len() >= LEAST_BODY);
        let heading = if says_more { document.heading.max(subject) } else { document.heading };
        let is_title = |range: &Range<usize>| range.end <= heading || is_table_head(&document.text, range);
        passages.extend(pieces.into_iter().map(|piece| Passage {
            document: place,
            stems: stems(&document.text[piece.range.clone()]),
            kind: if is_title(&piece.range) { PieceKind::Heading } else { piece.kind },
            role: if piece.range.end <= subject { Role::Subject } else { Role::Anywhere },
            range: piece.range,
        }));
    }
    for lines in &wanted.definitions {
        mark_definition(&documents[0].bytes_of(*lines), &mut passages);
    }
    passages.truncate(MAX_PIECES);
    Ok(Some(Story { id: id.clone(), documents, passages, fit: None }))
}

impl Wanted {
    fn of(id: &str) -> Self {
        Self { id: id.to_owned(), parts: vec![], definitions: vec![] }
    }

    fn add(&mut self, part: &StoredDocument) {
        if !self.parts.iter().any(|known| known.id == part.id) {
            self.parts.push(part.clone());
        }
    }
}

/// Marks what a definition says of itself: the comment that it begins with, or that its first line is followed by; else
/// its beginning.
fn mark_definition(bytes: &Range<usize>, passages: &mut [Passage]) {
    let own: Vec<usize> = (0..passages.len())
        .filter(|at| {
            let range = &passages[*at].range;
            bytes.start <= range.start && range.end <= bytes.end
        })
        .collect();
    let says = own.iter().take(2).find(|at| passages[**at].kind == PieceKind::Prose);
    if let Some(at) = says.or(own.first()) {
        passages[*at].role = Role::Definition;
    }
}

/// Whether a piece of a text is the first row of a table, which names columns and says nothing.
fn is_table_head(text: &str, range: &Range<usize>) -> bool {
    let is_rule = |line: &str| {
        let line = line.trim();
        line.starts_with('|') && line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
    };
    text[range.clone()].starts_with('|') && text[range.end..].lines().nth(1).is_some_and(is_rule)
}

/// The pieces of those parts of a file that were found: sentences of sections, blocks of code.
fn pieces_of_file(document: &CitedDocument, hits: &[StoredDocument]) -> Vec<SentencePiece> {
    let mut parts: BTreeMap<(u32, u32), bool> = BTreeMap::new();
    for hit in hits {
        let Some(lines) = hit.lines else { continue };
        match hit.facts.kind {
            DocumentKind::Section => drop(parts.insert(lines, true)),
            DocumentKind::Code => drop(parts.insert(lines, false)),
            _ => {}
        }
    }
    let mut found: Vec<SentencePiece> = Vec::new();
    for (lines, prose) in parts {
        let range = document.bytes_of(lines);
        let text = &document.text[range.clone()];
        let pieces = if prose { split_sentences(text) } else { blocks(text) };
        for piece in pieces {
            let range = range.start + piece.range.start..range.start + piece.range.end;
            // Parts of a file lie in one another.
            if !found.iter().any(|known| known.range == range) {
                found.push(SentencePiece { range, kind: piece.kind });
            }
        }
    }
    found.sort_by_key(|piece| (piece.range.start, piece.range.end));
    found
}

/// Comments and blocks of code, which empty lines divide too, longer ones cut, with whole lines.
fn blocks(code: &str) -> Vec<SentencePiece> {
    let mut found = Vec::new();
    let mut comments = Comments::default();
    // Where the piece under way begins and ends, whether it is a comment, and its lines.
    let mut open: Option<(Range<usize>, bool, usize)> = None;
    let mut close = |open: &mut Option<(Range<usize>, bool, usize)>| {
        if let Some((range, is_comment, _)) = open.take() {
            let end = range.start + code[range.clone()].trim_end().len();
            found.push(SentencePiece {
                range: range.start..end,
                kind: if is_comment { PieceKind::Prose } else { PieceKind::Code },
            });
        }
    };
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let is_comment = comments.take(line);
        let says_nothing = match is_comment {
            true => !line.contains(char::is_alphanumeric),
            false => line.trim().is_empty(),
        };
        if open.as_ref().is_some_and(|(_, of, lines)| says_nothing || *of != is_comment || *lines == MAX_CODE_LINES) {
            close(&mut open);
        }
        if says_nothing {
            continue;
        }
        match &mut open {
            Some((open, _, lines)) => (open.end, *lines) = (range.end, *lines + 1),
            None => open = Some((range, is_comment, 1)),
        }
    }
    close(&mut open);
    found
}

/// Tells lines that are comments from others, in any language.
#[derive(Default)]
struct Comments {
    /// What ends the comment or text over several lines that is under way, and whether it is a comment.
    open: Option<(&'static str, bool)>,
}

impl Comments {
    /// Whether the next line is one.
    fn take(&mut self, line: &str) -> bool {
        const LINE: [&str; 5] = ["//", "--", ";;", "<!--", "%%"];
        const TEXTS: [&str; 2] = ["\"\"\"", "'''"];
        let line = line.trim();
        if let Some((end, is_comment)) = self.open {
            if line.contains(end) {
                self.open = None;
            }
            return is_comment;
        }
        if let Some(rest) = line.strip_prefix("/*") {
            self.open = (!rest.contains("*/")).then_some(("*/", true));
            return true;
        }
        for mark in TEXTS {
            let is_doc = line.trim_start_matches(['r', 'b', 'u']).starts_with(mark);
            if line.matches(mark).count() % 2 == 1 {
                self.open = Some((mark, is_doc));
            }
            if is_doc {
                return true;
            }
        }
        // `#include`, `#[derive]` and `--count` are code.
        let is_hash = line.strip_prefix('#').is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '#', ':']));
        is_hash
            || LINE.iter().any(|mark| {
                line.strip_prefix(mark)
                    .is_some_and(|rest| *mark != "--" || rest.is_empty() || rest.starts_with([' ', '-']))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_code_are_pieces_of_their_own() {
        let code = "// Start serves.\n//\n// It ends with the context.\nfunc Start() {\n\t// Thirty seconds.\n\tx := 30\n\n\tgo()\n}\n\
                    /* One\n   two. */\n#include <a.h>\n# hash\ndef f():\n    \"\"\"Does f.\n\n    At length.\n    \"\"\"\n    text = \"\"\"\n    # no comment\n    \"\"\"\n";
        let told: Vec<(PieceKind, &str)> =
            blocks(code).iter().map(|piece| (piece.kind, &code[piece.range.clone()])).collect();
        let (comment, plain) = (PieceKind::Prose, PieceKind::Code);
        let expected = [
            (comment, "// Start serves."),
            (comment, "// It ends with the context."),
            (plain, "func Start() {"),
            (comment, "\t// Thirty seconds."),
            (plain, "\tx := 30"),
            (plain, "\tgo()\n}"),
            (comment, "/* One\n   two. */"),
            (plain, "#include <a.h>"),
            (comment, "# hash"),
            (plain, "def f():"),
            (comment, "    \"\"\"Does f."),
            (comment, "    At length."),
            (plain, "    text = \"\"\"\n    # no comment\n    \"\"\""),
        ];
        assert_eq!(told, expected);
    }
}
