//! Cuts a document into passages that fit the window of an embedding model. Each is complete in itself: it begins with
//! the document's header, and every piece of a note keeps its author. The passages of context packs are in
//! [`pack::chunk`](crate::pack::chunk).

use crate::document::Document;

/// Most tokens of one document that are embedded. Of a longer one the middle is left out: its first and its last
/// notes tell what was asked and what the outcome was.
pub const MAX_DOCUMENT_TOKENS: usize = 8000;
/// Most characters of a token.
const MAX_TOKEN: usize = 32;
/// Share of the window that the header may take, as a divisor.
const HEADER_SHARE: usize = 4;

/// How large chunks are, in tokens of the model that reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkLimits {
    /// Most tokens of a chunk.
    pub window: usize,
    /// Most tokens of all chunks of a document.
    pub document: usize,
}

/// The chunks of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Their texts, in order.
    pub texts: Vec<String>,
    /// How many were left out of the middle.
    pub left_out: usize,
}

/// Cuts a document. `count` tells how many tokens a text has; it must be nearly additive over text that is cut at
/// white space, as word pieces are.
pub fn split_into_chunks(document: &Document, limits: ChunkLimits, count: impl Fn(&str) -> usize) -> Chunks {
    let header = prefix_that_fits(&document.header, limits.window / HEADER_SHARE, &count).to_owned();
    let room = limits.window.saturating_sub(count(&header)).max(1);
    let mut chunker = Chunker { room, used: 0, open: String::new(), bodies: Vec::new() };
    for part in &document.parts {
        chunker.part(&part.attribution, &part.body, &count);
    }
    chunker.close();
    let mut texts: Vec<String> = chunker.bodies.iter().map(|body| format!("{header}\n\n{body}")).collect();
    if texts.is_empty() {
        texts.push(header);
    }
    let left_out = leave_out_the_middle(&mut texts, limits.document, &count);
    Chunks { texts, left_out }
}

/// Gathers parts and pieces of parts into bodies of at most `room` tokens.
struct Chunker {
    room: usize,
    used: usize,
    open: String,
    bodies: Vec<String>,
}

impl Chunker {
    fn part(&mut self, attribution: &str, body: &str, count: &impl Fn(&str) -> usize) {
        let lead = count(attribution);
        let room = self.room.saturating_sub(lead).max(1);
        for (text, tokens) in pieces(body, room, count) {
            if text.is_empty() && attribution.is_empty() {
                continue;
            }
            if self.used + lead + tokens > self.room {
                self.close();
            }
            if !self.open.is_empty() {
                self.open.push_str("\n\n");
            }
            if !attribution.is_empty() {
                self.open.push_str(attribution);
                self.open.push('\n');
            }
            self.open.push_str(&text);
            self.used += lead + tokens;
        }
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.bodies.push(std::mem::take(&mut self.open));
        }
        self.used = 0;
    }
}

/// A body whole if it fits, else cut into pieces of at most `room` tokens: between paragraphs if possible, else
/// between lines, else between words, else anywhere.
fn pieces(body: &str, room: usize, count: &impl Fn(&str) -> usize) -> Vec<(String, usize)> {
    let tokens = count(body);
    if tokens <= room {
        return vec![(body.to_owned(), tokens)];
    }
    let mut pieces = Vec::new();
    gather(body, &["\n\n", "\n", " "], room, count, &mut pieces);
    pieces
}

fn gather(
    text: &str,
    separators: &[&str],
    room: usize,
    count: &impl Fn(&str) -> usize,
    out: &mut Vec<(String, usize)>,
) {
    let Some((separator, finer)) = separators.split_first() else {
        return cut_anywhere(text, room, count, out);
    };
    let (mut open, mut used) = (String::new(), 0);
    for part in text.split(separator).filter(|part| !part.trim().is_empty()) {
        let tokens = count(part);
        if used + tokens > room && !open.is_empty() {
            out.push((std::mem::take(&mut open), used));
            used = 0;
        }
        if tokens > room {
            gather(part, finer, room, count, out);
            continue;
        }
        if !open.is_empty() {
            open.push_str(separator);
        }
        open.push_str(part);
        used += tokens;
    }
    if !open.is_empty() {
        out.push((open, used));
    }
}

/// Cuts a single word that is longer than a chunk.
fn cut_anywhere(mut text: &str, room: usize, count: &impl Fn(&str) -> usize, out: &mut Vec<(String, usize)>) {
    while !text.is_empty() {
        let piece = prefix_that_fits(text, room, count);
        let piece = if piece.is_empty() { &text[..text.chars().next().map_or(0, char::len_utf8)] } else { piece };
        out.push((piece.to_owned(), count(piece)));
        text = &text[piece.len()..];
    }
}

/// The longest beginning of at most `room` tokens, found by bisection.
fn prefix_that_fits<'a>(text: &'a str, room: usize, count: &impl Fn(&str) -> usize) -> &'a str {
    // A token has at least one byte in every vocabulary, and at most a few dozen: do not count a megabyte.
    let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).take(room * MAX_TOKEN + 1).collect();
    if ends.len() <= room * MAX_TOKEN && count(text) <= room {
        return text;
    }
    let fits = ends.partition_point(|&end| count(&text[..end]) <= room);
    ends.truncate(fits);
    &text[..ends.last().copied().unwrap_or(0)]
}

/// Keeps chunks from both ends while they fit; says how many it dropped.
fn leave_out_the_middle(texts: &mut Vec<String>, room: usize, count: &impl Fn(&str) -> usize) -> usize {
    let tokens: Vec<usize> = texts.iter().map(|text| count(text)).collect();
    if tokens.iter().sum::<usize>() <= room {
        return 0;
    }
    let (mut head, mut tail, mut used) = (0, texts.len(), 0);
    while head < tail {
        let front = head <= texts.len() - tail;
        let next = if front { head } else { tail - 1 };
        // The first and the last are kept whatever they take.
        if used + tokens[next] > room && head > 0 && tail < texts.len() {
            break;
        }
        used += tokens[next];
        if front { head += 1 } else { tail -= 1 }
    }
    texts.drain(head..tail).count()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;
    use crate::{document::DocumentPart, entity::State, filter::DocumentKind};

    fn words(text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn document(parts: &[(&str, &str)]) -> Document {
        let part = |(attribution, body): &(&str, &str)| DocumentPart {
            attribution: (*attribution).into(),
            body: (*body).into(),
        };
        Document {
            id: "acme/shop!7~a1".into(),
            kind: DocumentKind::Discussion,
            project: "acme/shop".into(),
            parent: Some("acme/shop!7".into()),
            title: "Use JWT".into(),
            url: String::new(),
            author: None,
            labels: vec![],
            state: Some(State::Opened),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            header: "[MR !7: Use JWT] Discussion".into(),
            parts: parts.iter().map(part).collect(),
            whole_text: String::new(),
            path: None,
            changed: vec![],
            lines: None,
            importance: 0.0,
            confidential: false,
        }
    }

    #[test]
    fn short_document_is_one_chunk_equal_to_its_text() {
        let document = document(&[("@a (2024-03-15):", "one two"), ("@b (2024-03-16):", "three")]);
        let chunks = split_into_chunks(&document, ChunkLimits { window: 50, document: 100 }, words);
        assert_eq!(chunks.texts, [document.text()]);
    }

    #[test]
    fn every_piece_keeps_its_attribution_and_the_header() {
        let long = "one two three four five six seven eight nine ten. ".repeat(5);
        let document = document(&[("@a (2024-03-15):", &long), ("@b (2024-03-16):", "three")]);
        let chunks = split_into_chunks(&document, ChunkLimits { window: 24, document: 1000 }, words);
        assert!(chunks.texts.len() > 2);
        for text in &chunks.texts {
            assert!(text.starts_with("[MR !7: Use JWT] Discussion\n\n@"), "{text}");
            assert!(words(text) <= 24, "{text}");
        }
    }

    #[test]
    fn preserves_first_and_last_notes_when_truncating_middle() {
        let notes: Vec<(String, String)> =
            (0..100).map(|i| (format!("@u{i} (2024-03-15):"), format!("note{i} {}", "word ".repeat(10)))).collect();
        let parts: Vec<(&str, &str)> = notes.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let chunks = split_into_chunks(&document(&parts), ChunkLimits { window: 40, document: 200 }, words);
        assert!(chunks.left_out > 0);
        assert!(chunks.texts[0].contains("note0 "));
        assert!(chunks.texts.last().unwrap().contains("note99 "));
        assert!(chunks.texts.iter().map(|text| words(text)).sum::<usize>() <= 200);
    }

    proptest! {
        #[test]
        fn chunks_fit_and_lose_no_word(bodies in prop::collection::vec("([a-z]{1,6}[ \n]{1,2}){0,60}", 1..6), window in 24usize..64) {
            let parts: Vec<(&str, &str)> = bodies.iter().map(|body| ("@a (2024-03-15):", body.trim())).collect();
            let document = document(&parts);
            let chunks = split_into_chunks(&document, ChunkLimits { window, document: 100_000 }, words);
            for text in &chunks.texts {
                prop_assert!(words(text) <= window);
            }
            let body = |text: &str| text.replace("[MR !7: Use JWT] Discussion", "").replace("@a (2024-03-15):", "");
            let kept: Vec<String> =
                chunks.texts.iter().flat_map(|text| body(text).split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
            let all: Vec<String> = bodies.iter().flat_map(|body| body.split_whitespace().map(str::to_owned)).collect();
            prop_assert_eq!(kept, all);
        }
    }
}
