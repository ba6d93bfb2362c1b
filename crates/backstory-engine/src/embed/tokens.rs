//! The vendored tokenizer of embedding models. It counts for every provider: other models' tokenizers split English and
//! code into about as many tokens, and few of them into more. Tokens of language models are in
//! [`tokens`](crate::tokens).

use std::sync::LazyLock;

use tokenizers::Tokenizer;

use crate::provider::ProviderError;

static TOKENIZER_JSON: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/all-minilm-l6-v2/tokenizer.json"));

/// Most bytes of a text that are looked at per token that is wanted. English has five to a token; a run of more than a
/// hundred characters without a break is a single token, whatever its length.
const MAX_BYTES_PER_TOKEN: usize = 128;
/// Opens every text that the model reads.
const CLS: i32 = 101;
/// Closes it.
const SEP: i32 = 102;

/// Parsed when first used, since most commands embed nothing.
static TOKENIZER: LazyLock<Result<Tokenizer, String>> = LazyLock::new(|| {
    let mut tokenizer = Tokenizer::from_bytes(TOKENIZER_JSON).map_err(|error| error.to_string())?;
    // The file asks for 128 tokens, always: texts are cut and padded here to what they need instead.
    tokenizer.with_padding(None).with_truncation(None).map_err(|error| error.to_string())?;
    Ok(tokenizer)
});

/// How many tokens a text has, without those that open and close it.
pub(super) fn count(text: &str) -> usize {
    // A text can only fail to be counted if the vendored file is broken, which embedding reports.
    encode(|tokenizer| tokenizer.encode_fast(text, false)).map_or(text.len() / 4, |encoding| encoding.len())
}

/// What the model reads: the tokens of a text, at most `window` of them, opened and closed.
pub(super) fn ids(text: &str, window: usize) -> Result<Vec<i32>, ProviderError> {
    let text = beginning(text, window);
    let encoding = encode(|tokenizer| tokenizer.encode_fast(text, false))?;
    let tokens = encoding.get_ids().iter().take(window).map(|&id| id.cast_signed());
    Ok(std::iter::once(CLS).chain(tokens).chain(std::iter::once(SEP)).collect())
}

/// The longest beginning of a text that has at most `window` tokens.
pub(super) fn fit(text: &str, window: usize) -> Result<&str, ProviderError> {
    let text = beginning(text, window);
    let encoding = encode(|tokenizer| tokenizer.encode(text, false))?;
    let end = encoding.get_offsets().get(window).map_or(text.len(), |&(start, _)| start);
    Ok(text[..text.floor_char_boundary(end)].trim_end())
}

/// Enough of a text to find `window` tokens in it.
fn beginning(text: &str, window: usize) -> &str {
    &text[..text.floor_char_boundary(window * MAX_BYTES_PER_TOKEN)]
}

fn encode<T>(with: impl FnOnce(&Tokenizer) -> tokenizers::Result<T>) -> Result<T, ProviderError> {
    let tokenizer = TOKENIZER.as_ref().map_err(ProviderError::bundled)?;
    with(tokenizer).map_err(ProviderError::bundled)
}
