//! Passages of a context pack: where they are, what they say, and an id that follows from both. Passages with vectors
//! are in [`chunk`](crate::chunk).

use serde::{Deserialize, Serialize};

use super::PackSources;
use crate::{
    digest::{sha256, sha256_hex},
    document_type::DocumentType,
};

/// Longest piece, in bytes: some 300 tokens.
pub const MAX_PIECE: usize = 1200;
/// A blank line ends a piece that has at least so many bytes.
const ENOUGH: usize = 400;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPiece {
    /// Its number among the pieces of the text, from 0.
    pub index: u32,
    /// First and last line of the text, from 1. A line that is longer than a piece gives several of the same line.
    pub lines: (u32, u32),
    /// What it says, without blank lines around it.
    pub text: String,
}

/// Cuts a text into pieces of at most [`MAX_PIECE`] bytes: at blank lines if there are any, else at line ends, else
/// behind a sentence or word. The same text is always cut alike.
pub fn split_text(text: &str) -> Vec<TextPiece> {
    let mut cutter = Cutter::default();
    for (number, line) in (1..).zip(text.split('\n')) {
        let line = line.trim_end();
        if line.is_empty() {
            if cutter.open.len() >= ENOUGH {
                cutter.close();
            } else if !cutter.open.is_empty() {
                cutter.open.push('\n');
            }
            continue;
        }
        if !cutter.open.is_empty() && cutter.open.len() + line.len() >= MAX_PIECE {
            cutter.close();
        }
        let mut rest = line;
        while rest.len() > MAX_PIECE {
            let (head, tail) = rest.split_at(end_of_piece(rest));
            cutter.add(head.trim_end(), number);
            cutter.close();
            rest = tail.trim_start();
        }
        if !rest.is_empty() {
            cutter.add(rest, number);
        }
    }
    cutter.close();
    cutter.pieces
}

/// Where a line that is too long is cut: behind the last sentence that fits, else the last word, else anywhere.
fn end_of_piece(line: &str) -> usize {
    let most = line.floor_char_boundary(MAX_PIECE);
    let head = &line[..most];
    let sentence = head.rfind(". ").map(|at| at + 1).filter(|at| *at >= MAX_PIECE / 2);
    sentence.or_else(|| head.rfind(' ').filter(|at| *at > 0)).unwrap_or(most)
}

#[derive(Default)]
struct Cutter {
    pieces: Vec<TextPiece>,
    open: String,
    lines: (u32, u32),
}

impl Cutter {
    fn add(&mut self, text: &str, line: u32) {
        if self.open.is_empty() {
            self.lines.0 = line;
        } else {
            self.open.push('\n');
        }
        self.open.push_str(text);
        self.lines.1 = line;
    }

    fn close(&mut self) {
        let text = self.open.trim_end();
        if !text.is_empty() {
            let index = u32::try_from(self.pieces.len()).unwrap_or(u32::MAX);
            self.pieces.push(TextPiece { index, lines: self.lines, text: text.to_owned() });
        }
        self.open.clear();
    }
}

/// A piece of something that was found, with all that shows where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chunk {
    /// Its id, which follows from where it stands and what it says: see [`chunk_id`].
    pub chunk_id: String,
    /// What it is for.
    pub document_type: DocumentType,
    /// Reference of the document it is a piece of.
    pub document: String,
    /// Title of the document.
    pub title: String,
    /// Full path of the project.
    pub repository: String,
    /// Object name of the commit at which it stands so; `None` for what is not in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Path of the file; `None` for what is in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// First and last line, of the file, else of the document's text.
    pub lines: (u32, u32),
    /// Its number among the pieces of the document.
    pub index: u32,
    /// How well it answers, 0 to 1.
    pub score: f64,
    /// The model whose vectors took part in finding it; `None` if only its words did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding_model: Option<String>,
    /// Whether only some may see it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confidential: bool,
    /// Whether the document is a section of a file.
    #[serde(skip)]
    pub is_section: bool,
    /// SHA-256 of the whole text of the document it is a piece of.
    #[serde(skip)]
    pub content_hash: String,
    /// What it is made from.
    #[serde(skip)]
    pub sources: PackSources,
    /// What it says.
    pub text: String,
}

/// What finds a chunk again and proves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRef {
    /// Reference of the document it is a piece of.
    pub document: String,
    /// Full path of the project.
    pub repository: String,
    /// Object name of the commit; of what is in the repository.
    pub commit: Option<String>,
    /// Path of the file; of what is in one.
    pub path: Option<String>,
    /// First and last line, of the file, else of the document's text.
    pub lines: (u32, u32),
    /// Its number among the pieces of the document.
    pub index: u32,
    /// SHA-256 of what it says.
    pub text_hash: String,
}

impl Chunk {
    /// What finds it again.
    pub fn reference(&self) -> ChunkRef {
        ChunkRef {
            document: self.document.clone(),
            repository: self.repository.clone(),
            commit: self.commit.clone(),
            path: self.path.clone(),
            lines: self.lines,
            index: self.index,
            text_hash: sha256_hex(&self.text),
        }
    }
}

impl ChunkRef {
    /// Id of the chunk.
    pub fn chunk_id(&self) -> String {
        let source = self.path.as_deref().unwrap_or(&self.document);
        chunk_id(&self.repository, self.commit.as_deref(), source, self.index, &self.text_hash)
    }
}

/// Id of a chunk: SHA-256 over repository, commit (nothing if there is none), path or reference of the document, number
/// and hash of the text, each followed by a NUL. The same text at the same place has the same id in every data directory.
pub fn chunk_id(repository: &str, commit: Option<&str>, source: &str, index: u32, text_hash: &str) -> String {
    let parts = [repository, commit.unwrap_or_default(), source, &index.to_string(), text_hash];
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(part.as_bytes());
        bytes.push(0);
    }
    hex::encode(sha256(&bytes))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_is_the_same_for_ever() {
        let id = chunk_id("acme/shop", Some("1a2b3c4d"), "src/a.rs", 2, &sha256_hex("fn main() {}"));
        expect!["231afed9d0005c1e65a111f8a88de60ebe6bfb1c23ff5f9f5542711f6994c46d"].assert_eq(&id);
    }

    #[test]
    fn every_part_of_an_id_counts_and_none_runs_into_the_next() {
        let ids = [
            chunk_id("a", None, "b", 0, "h"),
            chunk_id("ab", None, "", 0, "h"),
            chunk_id("a", Some("b"), "", 0, "h"),
            chunk_id("a", None, "b", 1, "h"),
            chunk_id("a", None, "b", 0, "i"),
            chunk_id("a", None, "b0", 0, "h"),
        ];
        let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }

    #[test]
    fn pieces_end_at_blank_lines_and_name_their_lines() {
        let paragraph = |word: &str| format!("{word} ").repeat(120);
        let text = format!("Title\n\n{}\n\n{}\nlast", paragraph("one"), paragraph("two"));
        let cut: Vec<(u32, (u32, u32), usize)> =
            split_text(&text).into_iter().map(|piece| (piece.index, piece.lines, piece.text.len())).collect();
        expect!["[(0, (1, 3), 486), (1, (5, 6), 484)]"].assert_eq(&format!("{cut:?}"));
        let line = "A sentence of some words. ".repeat(100);
        let cut = split_text(&line);
        assert_eq!(cut.len(), 3);
        assert!(cut.iter().all(|piece| piece.lines == (1, 1) && piece.text.ends_with('.')), "{cut:?}");
    }

    proptest! {
        #[test]
        fn pieces_are_short_and_lose_no_word(text in "([a-zü.]{1,9}[ \n]{1,3}){0,400}") {
            let cut = split_text(&text);
            let words: Vec<&str> = cut.iter().flat_map(|piece| piece.text.split_whitespace()).collect();
            prop_assert_eq!(words, text.split_whitespace().collect::<Vec<_>>());
            for (index, piece) in (0..).zip(&cut) {
                prop_assert!(piece.text.len() <= MAX_PIECE && piece.index == index);
                prop_assert!(piece.lines.0 >= 1 && piece.lines.0 <= piece.lines.1);
            }
        }

        #[test]
        fn pieces_of_lines_that_fit_are_those_lines(lines in prop::collection::vec("[a-z]{0,3}( [a-z]{1,9}){0,30}", 0..60)) {
            let text = lines.join("\n");
            for piece in split_text(&text) {
                let range = piece.lines.0 as usize - 1..piece.lines.1 as usize;
                let whole = lines[range].join("\n");
                let expected: Vec<&str> = whole.lines().map(str::trim_end).collect();
                prop_assert_eq!(piece.text, expected.join("\n"));
            }
        }
    }
}
