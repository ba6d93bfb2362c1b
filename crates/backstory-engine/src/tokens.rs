//! Counts tokens like the language models that read context packs. It needs no network: the vocabulary is compiled in.

use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;

/// Who counts: the vocabulary of byte pairs of the GPT-4o, o and GPT-5 families. Others cut English and code into about
/// as many tokens.
pub const TOKENIZER: &str = "o200k_base";

/// Read when first used, since most commands count nothing.
static VOCABULARY: LazyLock<Option<CoreBPE>> = LazyLock::new(|| tiktoken_rs::o200k_base().ok());

/// How many tokens a text has.
pub fn count(text: &str) -> usize {
    // It is compiled in, so it can be read. If not, every byte counts: that is never too few.
    VOCABULARY.as_ref().map_or(text.len(), |vocabulary| vocabulary.encode_ordinary(text).len())
}
