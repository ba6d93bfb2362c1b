//! Replaces secrets in texts before anything is stored or shown: what is not stored cannot leak.
//!
//! `[redacted:<rule>:<length>]` replaces a secret of that many characters. The rules are data (`rules.toml`); [`scan`]
//! finds what matches them, in the text as written and as it reads ([`normalized`]); [`judge`] rejects what only looks
//! like a secret. The time is linear in the text, whatever it contains.

mod configured;
mod judge;
mod normalized;
mod rule;
mod scan;

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use backstory_model::{digest::sha256_hex, redaction::marker};
use serde_json::Value;

pub use configured::add_configured_secrets;
use scan::Finding;

/// Rounds until nothing is found. One that finds something may uncover another, by what it leaves at its edges.
const MAX_ROUNDS: usize = 8;
/// What in a line says that what stands there is no secret.
pub const INLINE_ALLOW: &str = "backstory:allow";
/// Most texts that may be allowed.
pub const MAX_ALLOWED: usize = 1000;

/// What was replaced: how many secrets of which kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redactions {
    counts: BTreeMap<&'static str, u64>,
}

impl Redactions {
    /// Whether nothing was replaced.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many secrets were replaced.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// How many of each kind, by its name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counts.iter().map(|(rule, count)| (*rule, *count))
    }

    /// Adds what was replaced elsewhere.
    pub fn merge(&mut self, other: &Self) {
        for (rule, count) in other.iter() {
            *self.counts.entry(rule).or_default() += count;
        }
    }
}

impl fmt::Display for Redactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        for (at, (rule, count)) in self.iter().enumerate() {
            write!(f, "{}{count} {rule}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// A kind of secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name, as markers have it.
    pub id: &'static str,
    /// What it is, for people.
    pub description: &'static str,
}

/// Every kind of secret that is known, in the order in which they count.
pub fn kinds() -> impl Iterator<Item = Kind> {
    let mut seen = std::collections::HashSet::new();
    rule::RULES
        .iter()
        .map(|rule| Kind { id: rule.id.as_str(), description: rule.description.as_str() })
        .chain([configured::KIND])
        .filter(move |kind| seen.insert(kind.id))
}

/// Replaces secrets, except those that somebody has looked at and allowed. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// SHA-256 of what is allowed, hexadecimal.
    allowed: Arc<[String]>,
}

impl Redactor {
    /// One that leaves the texts with these digests (SHA-256, 64 hexadecimal digits in lower case) as they are.
    pub fn new(allowed: Vec<String>) -> Self {
        Self { allowed: allowed.into() }
    }

    /// Replaces the secrets in a text. Doing it again changes nothing.
    pub fn redact<'t>(&self, text: &'t str) -> (Cow<'t, str>, Redactions) {
        self.replace(text, Lines::Joined)
    }

    /// Replaces the secrets in the text of a file, which keeps its number of lines: those of a secret that had several
    /// are empty. What is cut from such a text has no part of a secret in it.
    pub fn redact_file<'t>(&self, text: &'t str) -> (Cow<'t, str>, Redactions) {
        self.replace(text, Lines::Kept)
    }

    /// Replaces the secrets in every string and key of a value, however deep.
    pub fn redact_json(&self, value: &mut Value) -> Redactions {
        let mut redactions = Redactions::default();
        self.redact_value(value, &mut redactions);
        redactions
    }

    fn redact_value(&self, value: &mut Value, redactions: &mut Redactions) {
        match value {
            Value::String(text) => {
                if let (Cow::Owned(clean), found) = self.redact(text) {
                    *text = clean;
                    redactions.merge(&found);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item, redactions)),
            Value::Object(map) => {
                map.values_mut().for_each(|item| self.redact_value(item, redactions));
                for (key, clean) in self.renamed(map.keys(), redactions) {
                    if let Some(item) = map.remove(&key) {
                        map.insert(clean, item);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The keys with a secret in them, and what replaces each.
    fn renamed<'k>(
        &self,
        keys: impl Iterator<Item = &'k String>,
        redactions: &mut Redactions,
    ) -> Vec<(String, String)> {
        let mut renamed = Vec::new();
        for key in keys {
            if let (Cow::Owned(clean), found) = self.redact(key) {
                renamed.push((key.clone(), clean));
                redactions.merge(&found);
            }
        }
        renamed
    }

    fn replace<'t>(&self, text: &'t str, lines: Lines) -> (Cow<'t, str>, Redactions) {
        let mut redactions = Redactions::default();
        let mut current = Cow::Borrowed(text);
        for _ in 0..MAX_ROUNDS {
            let mut found = scan::findings(&current);
            if !self.allowed.is_empty() {
                found.retain(|finding| !self.allowed.contains(&sha256_hex(&current[finding.range.clone()])));
            }
            if found.is_empty() {
                break;
            }
            for finding in &found {
                *redactions.counts.entry(finding.rule).or_default() += 1;
            }
            current = Cow::Owned(replaced(&current, &found, lines));
        }
        (current, redactions)
    }
}

/// What replaces the lines of a secret that has several.
#[derive(Clone, Copy)]
enum Lines {
    Joined,
    Kept,
}

fn replaced(text: &str, findings: &[Finding], lines: Lines) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut from = 0;
    for Finding { rule, range } in findings {
        let secret = &text[range.clone()];
        clean.push_str(&text[from..range.start]);
        clean.push_str(&marker(rule, secret.chars().count()));
        if matches!(lines, Lines::Kept) {
            clean.extend(secret.matches('\n'));
        }
        from = range.end;
    }
    clean.push_str(&text[from..]);
    clean
}

/// Replaces every secret in a text, also what is allowed elsewhere: for messages and logs.
pub fn redact(text: &str) -> (Cow<'_, str>, Redactions) {
    Redactor::default().redact(text)
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
