//! Macros of C that take the place of keywords, as in `SHOP_API SHOP_INLINE int open(void)`.
//!
//! A parser that does not run the preprocessor treats them as types and what follows as errors: it takes longer, misses
//! definitions and cannot be used again for the next version. Blanks in their place change no position.

use std::borrow::Cow;

/// Fewest letters of such a macro.
const MIN_LENGTH: usize = 3;
/// Most words at the beginning of a line that are looked at.
const MAX_WORDS: usize = 12;

/// The source with blanks for words in capitals that at least two more words follow at the beginning of a line: one of
/// those is the type, so what is before it is none.
pub(super) fn blank_keyword_macros(source: &str) -> Cow<'_, str> {
    let mut out: Option<Vec<u8>> = None;
    let (mut at, mut directive) = (0, false);
    for line in source.as_bytes().split_inclusive(|byte| *byte == b'\n') {
        let start = at;
        at += line.len();
        let text = line.trim_ascii();
        let is_directive = directive || text.first() == Some(&b'#');
        directive = is_directive && text.last() == Some(&b'\\');
        if is_directive || !text.iter().take(80).any(u8::is_ascii_uppercase) {
            continue;
        }
        for (from, to) in keyword_like(line) {
            let out = out.get_or_insert_with(|| source.as_bytes().to_vec());
            out[start + from..start + to].fill(b' ');
        }
    }
    match out.map(String::from_utf8) {
        Some(Ok(blanked)) => Cow::Owned(blanked),
        _ => Cow::Borrowed(source),
    }
}

/// Where words of a line stand that are macros in place of keywords.
fn keyword_like(line: &[u8]) -> Vec<(usize, usize)> {
    let words = leading_words(line);
    let mut found = Vec::new();
    for (index, (from, to)) in words.iter().enumerate() {
        let word = &line[*from..*to];
        let of_type = index.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|(from, to)| {
            matches!(
                &line[*from..*to],
                b"struct" | b"union" | b"enum" | b"class" | b"typename" | b"goto" | b"namespace"
            )
        });
        if words.len() - index > 2 && !of_type && is_in_capitals(word) {
            found.push((*from, *to));
        }
    }
    found
}

fn is_in_capitals(word: &[u8]) -> bool {
    word.len() >= MIN_LENGTH
        && word[0].is_ascii_uppercase()
        && word.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// Words at the beginning of a line, with nothing but blanks and stars between them.
fn leading_words(line: &[u8]) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut from = None;
    for (at, byte) in line.iter().enumerate() {
        let in_word = byte.is_ascii_alphanumeric() || *byte == b'_';
        match (in_word, from) {
            (true, None) => from = Some(at),
            (false, Some(start)) => {
                words.push((start, at));
                from = None;
            }
            _ => {}
        }
        if (!in_word && !matches!(byte, b' ' | b'\t' | b'*')) || words.len() >= MAX_WORDS {
            return words;
        }
    }
    words.extend(from.map(|start| (start, line.len())));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_the_place_of_keywords_become_blanks() {
        for (source, expected) in [
            ("SHOP_API int open(void);\n", "         int open(void);\n"),
            ("static SHOP_INLINE void a(int b) {\n", "static             void a(int b) {\n"),
            ("BOOL open(void);\n", "BOOL open(void);\n"),
            ("static BOOL open(void);\n", "static BOOL open(void);\n"),
            ("struct NODE *next of;\n", "struct NODE *next of;\n"),
            ("#define SHOP_API int open\n", "#define SHOP_API int open\n"),
            ("#define A \\\n  SHOP_API int open\n", "#define A \\\n  SHOP_API int open\n"),
            ("  if (x) CHECK(y);\n", "  if (x) CHECK(y);\n"),
            ("/* é */\nAPI int é;\n", "/* é */\nAPI int é;\n"),
        ] {
            assert_eq!(blank_keyword_macros(source), expected);
        }
    }
}
