//! Counts tokens like the language models that read context packs. It needs no network: the vocabulary is compiled in.

use std::{
    cell::RefCell,
    collections::HashMap,
    sync::{LazyLock, Once},
    thread,
};

use tiktoken_rs::CoreBPE;

/// Who counts: the vocabulary of byte pairs of the GPT-4o, o and GPT-5 families. Others cut English and code into about
/// as many tokens.
pub const TOKENIZER: &str = "o200k_base";

/// Read when first used, since most commands count nothing.
static VOCABULARY: LazyLock<Option<CoreBPE>> = LazyLock::new(|| tiktoken_rs::o200k_base().ok());

/// Begins to read the vocabulary beside what else is done, so that it is there when the first text is counted: it takes
/// longer than a search.
pub(crate) fn prepare() {
    static BEGUN: Once = Once::new();
    // Without another thread it is read when it is needed.
    BEGUN.call_once(|| {
        drop(thread::Builder::new().spawn(|| {
            LazyLock::force(&VOCABULARY);
        }));
    });
}

/// Longest run of blanks that is cut into tokens as it is: of some hundred thousand the tokenizer's patterns run out of stack.
const MAX_BLANKS: usize = 10_000;

/// How many tokens a text has; of one with a longer run of blanks than [`MAX_BLANKS`] bytes rather some more.
pub fn count(text: &str) -> usize {
    // It is compiled in, so it can be read. If not, every byte counts: that is never too few.
    let Some(vocabulary) = VOCABULARY.as_ref() else { return text.len() };
    let runs = text.split(|c: char| !c.is_whitespace());
    if runs.into_iter().all(|run| run.len() <= MAX_BLANKS) {
        return vocabulary.encode_ordinary(text).len();
    }
    let (mut rest, mut tokens) = (text, 0);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_BLANKS));
        tokens += vocabulary.encode_ordinary(piece).len();
        rest = after;
    }
    tokens
}

/// Longest piece whose count is remembered: longer ones are rare, and would be copied.
const MAX_REMEMBERED: usize = 1_000;

/// Counts texts that have most of their lines in common: each line is cut into tokens once.
#[derive(Default)]
pub(crate) struct LineCounter {
    known: RefCell<HashMap<Box<str>, usize>>,
}

impl LineCounter {
    /// What [`count`] says; no more of a text with a longer run of blanks than [`MAX_BLANKS`] bytes.
    pub(crate) fn count(&self, text: &str) -> usize {
        let mut known = self.known.borrow_mut();
        let mut tokens = 0;
        for piece in pieces(text) {
            tokens += match known.get(piece) {
                Some(count) => *count,
                None if piece.len() > MAX_REMEMBERED => count(piece),
                None => *known.entry(piece.into()).or_insert_with(|| count(piece)),
            };
        }
        tokens
    }
}

/// Lines, together with those after them where a token can reach beyond the end of a line: before blanks and slashes.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let ends = rest.match_indices('\n').map(|(at, _)| at + 1);
        let is_end = |end: &usize| rest[*end..].chars().next().is_none_or(|next| !next.is_whitespace() && next != '/');
        let end = ends.into_iter().find(is_end).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_have_as_many_tokens_as_the_text(
            text in "(([a-zA-Z]{1,9}|[0-9]{1,5}|'s|'LL|[;,.#/*()<>|—“ü̈漢-]{1,3})[ \t]{0,3}[\n\r]{0,3}[\u{a0}\u{2028} ]?){0,60}"
        ) {
            prop_assert_eq!(LineCounter::default().count(&text), count(&text));
        }
    }

    #[test]
    fn endless_blanks_are_counted() {
        let blanks = format!("a{}b", " ".repeat(2_000_000));
        assert!((1..20_000).contains(&count(&blanks)), "{}", count(&blanks));
        assert_eq!(count("fn main() {}\n\n\n"), count("fn main() {}") + 1);
    }
}
