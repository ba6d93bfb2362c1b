//! Counts tokens like the language models that read context packs. It needs no network: the vocabulary is compiled in.

use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;

/// Who counts: the vocabulary of byte pairs of the GPT-4o, o and GPT-5 families. Others cut English and code into about
/// as many tokens.
pub const TOKENIZER: &str = "o200k_base";

/// Read when first used, since most commands count nothing.
static VOCABULARY: LazyLock<Option<CoreBPE>> = LazyLock::new(|| tiktoken_rs::o200k_base().ok());

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_blanks_are_counted() {
        let blanks = format!("a{}b", " ".repeat(2_000_000));
        assert!((1..20_000).contains(&count(&blanks)), "{}", count(&blanks));
        assert_eq!(count("fn main() {}\n\n\n"), count("fn main() {}") + 1);
    }
}
