//! Counts the words of the lines that a commit adds or removes.

use std::{borrow::Cow, collections::HashMap};

use backstory_model::{
    commit::TouchedIdentifier,
    redaction::{SecretCounts, markers},
};

use crate::redact::redact;

/// Longest word that is taken for an identifier, in bytes; longer ones are data.
const MAX_WORD: usize = 64;
/// Most changed text of one file that is looked at, in bytes. A file with more is generated or copied from elsewhere, and
/// none of its words are taken.
const MAX_FILE: usize = 256 * 1024;
/// Most different words of one commit that are counted.
const MAX_DIFFERENT: usize = 50_000;

/// Counts the words of one commit, a file at a time.
#[derive(Debug, Default)]
pub(super) struct Identifiers {
    counts: HashMap<Box<str>, u32>,
    file: Vec<u8>,
    skipped: bool,
    secrets: SecretCounts,
}

impl Identifiers {
    /// Starts another file; the words of the one before are counted.
    pub(super) fn next_file(&mut self) {
        let file = std::mem::take(&mut self.file);
        if !self.skipped {
            self.count_file(&file);
        }
        self.file = file;
        self.file.clear();
        self.skipped = false;
    }

    /// Takes changed text of the file, without the sign before it. A line may come in parts.
    pub(super) fn take(&mut self, text: &[u8]) {
        if !self.skipped {
            self.skipped = self.file.len() + text.len() > MAX_FILE;
            self.file.extend_from_slice(if self.skipped { b"" } else { text });
        }
    }

    /// The most frequent words, at most `limit`; equally frequent ones in order of their letters.
    pub(super) fn finish(&mut self, limit: usize) -> Vec<TouchedIdentifier> {
        self.next_file();
        let counted = self.counts.drain().map(|(name, count)| TouchedIdentifier { name: name.into(), count });
        let mut all: Vec<TouchedIdentifier> = counted.collect();
        let order =
            |a: &TouchedIdentifier, b: &TouchedIdentifier| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name));
        if all.len() > limit && limit > 0 {
            all.select_nth_unstable_by(limit - 1, order);
        }
        all.truncate(limit);
        all.sort_unstable_by(order);
        all
    }

    /// The secrets that stood in the text since this was last asked.
    pub(super) fn take_secrets(&mut self) -> SecretCounts {
        std::mem::take(&mut self.secrets)
    }

    /// A secret is no word of a change.
    fn count_file(&mut self, text: &[u8]) {
        let shown = String::from_utf8_lossy(text);
        let (Cow::Owned(clean), found) = redact(&shown) else { return self.count(text) };
        for (rule, count) in found.iter() {
            *self.secrets.entry(rule.to_owned()).or_default() += count;
        }
        let (bytes, mut from) = (clean.as_bytes(), 0);
        for (marker, _) in markers(&clean) {
            self.count(&bytes[from..marker.start]);
            from = marker.end;
        }
        self.count(&bytes[from..]);
    }

    fn count(&mut self, text: &[u8]) {
        for word in text.split(|b| !is_part(*b)) {
            if word.len() < 2 || word.len() > MAX_WORD || word[0].is_ascii_digit() {
                continue;
            }
            let Ok(word) = std::str::from_utf8(word) else { continue };
            if !word.is_ascii() && !word.chars().all(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            if let Some(count) = self.counts.get_mut(word) {
                *count = count.saturating_add(1);
            } else if self.counts.len() < MAX_DIFFERENT && word.bytes().any(|b| b != b'_') {
                self.counts.insert(word.into(), 1);
            }
        }
    }
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&[u8]], limit: usize) -> Vec<(String, u32)> {
        let mut identifiers = Identifiers::default();
        for text in texts {
            identifiers.next_file();
            identifiers.take(text);
        }
        identifiers.finish(limit).into_iter().map(|found| (found.name, found.count)).collect()
    }

    #[test]
    fn words_are_counted_over_all_files_and_the_most_frequent_come_first() {
        let found = of(&[b"let user_id = getUserName(user_id);\n", b"user_id 42 0x1f x __ stra\xc3\x9fe \xff\n"], 10);
        let expected = [("user_id", 3), ("getUserName", 1), ("let", 1), ("stra\u{df}e", 1)];
        assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)));
        assert_eq!(of(&[b"b a c a\n", b"bb aa cc"], 2), [("aa".to_owned(), 1), ("bb".to_owned(), 1)]);
        assert_eq!(of(&[b"some words"], 0), []);
    }

    #[test]
    fn secrets_are_no_words_and_are_counted() {
        let token = format!("{}_{}", "ghp", "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8cB3dE5gH7");
        let mut identifiers = Identifiers::default();
        identifiers.take(format!("let token = \"{token}\";\n").as_bytes());
        let words: Vec<String> = identifiers.finish(10).into_iter().map(|found| found.name).collect();
        assert_eq!(words, ["let", "token"]);
        assert_eq!(identifiers.take_secrets(), [("github-token".to_owned(), 1)].into());
        assert!(identifiers.take_secrets().is_empty());
    }

    #[test]
    fn data_and_large_files_are_left_out() {
        let long = "a".repeat(MAX_WORD + 1);
        let large = "generated ".repeat(MAX_FILE / 10 + 1);
        assert_eq!(of(&[long.as_bytes(), large.as_bytes(), b"written"], 10), [("written".to_owned(), 1)]);
    }
}
