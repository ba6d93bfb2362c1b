//! Keys of tickets in other trackers, such as `PROJ-77`, by patterns that the user configures. No tracker is asked: a
//! ticket is what texts name.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::{Regex, RegexBuilder};

use crate::{digest::sha256, id::is_ticket_key, reference::fenced_code};

/// Most trackers.
pub const MAX_TRACKERS: usize = 20;
/// Most tickets of one text.
const MAX_TICKETS: usize = 200;
/// Longest text that is searched, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// Largest pattern when it is compiled, in bytes.
const MAX_PATTERN: usize = 256 << 10;
/// What an address has in place of a key.
pub const KEY_PLACEHOLDER: &str = "{key}";
/// How far before a key a verb is looked for, in bytes.
const VERB_REACH: usize = 40;

/// What is wrong with a tracker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTracker {
    /// The pattern is no regular expression, or too large a one.
    #[error("pattern: {0}")]
    Pattern(String),
    /// The pattern finds keys in texts that have none.
    #[error("pattern: '{0}' matches an empty text; write one like [A-Z][A-Z0-9]+-[0-9]+")]
    Empty(String),
    /// The address has no place for the key.
    #[error(
        "url: '{0}' is not an http address with {KEY_PLACEHOLDER} in it, like https://jira.example.com/browse/{{key}}"
    )]
    Url(String),
    /// There are too many.
    #[error("there are more than {MAX_TRACKERS} trackers; remove some")]
    TooMany,
}

/// How tickets of a tracker are written, and where they are.
#[derive(Clone, Debug)]
pub struct Tracker {
    pattern: Regex,
    url: String,
}

/// All trackers.
#[derive(Clone, Debug, Default)]
pub struct Trackers(Vec<Tracker>);

/// A ticket that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketMention {
    /// Its address.
    pub url: String,
    /// Whether the text says that it is fixed.
    pub is_fixed: bool,
}

/// A verb at the end of what stands before a key.
static FIXING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?-u:\b)(?:fix(?:e[sd]|ing)?|clos(?:e[sd]?|ing)|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)(?:\s+(?:issue|ticket)s?)?\s*:?\s+[\[(]?$",
    )
    .expect("the pattern is constant")
});

/// What stands between keys of a list.
static JOINT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^[\])]?\s*(?:,|&|and|,\s*and)\s*[\[(]?$").expect("the pattern is constant"));

impl Tracker {
    /// A tracker by a pattern of its keys and an address with [`KEY_PLACEHOLDER`] in it.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn new(pattern: &str, url: &str) -> Result<Self, InvalidTracker> {
        let compiled = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build();
        let compiled = compiled.map_err(|error| {
            let last = error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            InvalidTracker::Pattern(format!("'{pattern}' is not a regular expression: {last}"))
        })?;
        if compiled.is_match("") {
            return Err(InvalidTracker::Empty(pattern.to_owned()));
        }
        let is_address = url.starts_with("https://") || url.starts_with("http://");
        if !is_address || !url.contains(KEY_PLACEHOLDER) || url.contains(char::is_whitespace) {
            return Err(InvalidTracker::Url(url.to_owned()));
        }
        Ok(Self { pattern: compiled, url: url.to_owned() })
    }
}

impl Trackers {
    /// Trackers; where several patterns match, the first one counts.
    ///
    /// # Errors
    /// There are too many.
    pub fn new(trackers: Vec<Tracker>) -> Result<Self, InvalidTracker> {
        if trackers.len() > MAX_TRACKERS { Err(InvalidTracker::TooMany) } else { Ok(Self(trackers)) }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number that is another for other trackers; 0 without any.
    pub fn fingerprint(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let text: String = self.0.iter().map(|own| format!("{}\n{}\n", own.pattern.as_str(), own.url)).collect();
        // 63 bits, as RDF's integers are read into a signed number.
        sha256(text.as_bytes()).iter().take(8).fold(0u64, |sum, byte| sum << 8 | u64::from(*byte)) >> 1
    }

    /// The address of a ticket by its key; `None` if no tracker has such keys.
    pub fn url_of(&self, key: &str) -> Option<String> {
        let has = |tracker: &&Tracker| tracker.pattern.find(key).is_some_and(|found| found.as_str() == key);
        Some(self.0.iter().find(has)?.url.replace(KEY_PLACEHOLDER, key))
    }

    /// The tickets that a Markdown text names outside of code, by their keys.
    pub fn in_markdown(&self, text: &str) -> BTreeMap<String, TicketMention> {
        if self.is_empty() { BTreeMap::new() } else { self.find(text, &fenced_code(text)) }
    }

    /// The tickets that a text names that is no Markdown, by their keys.
    pub fn in_plain_text(&self, text: &str) -> BTreeMap<String, TicketMention> {
        self.find(text, &[])
    }

    fn find(&self, text: &str, code: &[std::ops::Range<usize>]) -> BTreeMap<String, TicketMention> {
        let text = &text[..text.floor_char_boundary(MAX_TEXT.min(text.len()))];
        let mut found: BTreeMap<String, TicketMention> = BTreeMap::new();
        for tracker in &self.0 {
            // Where the key before it ended, and whether that was fixed.
            let mut before: Option<(usize, bool)> = None;
            for key in tracker.pattern.find_iter(text) {
                // Spans and blocks are in order and apart.
                let before_it = code[..code.partition_point(|range| range.start <= key.start())].last();
                let is_code = before_it.is_some_and(|range| range.contains(&key.start()));
                if is_code || !is_whole_key(text, key.range()) {
                    continue;
                }
                let lead = &text[text.floor_char_boundary(key.start().saturating_sub(VERB_REACH))..key.start()];
                let goes_on = |(end, is_fixed): (usize, bool)| is_fixed && JOINT.is_match(&text[end..key.start()]);
                let is_fixed = FIXING.is_match(lead) || before.is_some_and(goes_on);
                before = Some((key.end(), is_fixed));
                let url = || tracker.url.replace(KEY_PLACEHOLDER, key.as_str());
                if found.len() < MAX_TICKETS || found.contains_key(key.as_str()) {
                    let known = found
                        .entry(key.as_str().to_owned())
                        .or_insert_with(|| TicketMention { url: url(), is_fixed: false });
                    known.is_fixed |= is_fixed;
                }
            }
        }
        found
    }
}

/// Whether a match can be a key and is not glued to what is around it: part of a word, a path or another key.
fn is_whole_key(text: &str, range: std::ops::Range<usize>) -> bool {
    let glued = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let (before, after) = (text[..range.start].chars().next_back(), text[range.end..].chars().next());
    is_ticket_key(&text[range]) && !before.is_some_and(|c| glued(c) || c == '/') && !after.is_some_and(glued)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jira() -> Trackers {
        let tracker = Tracker::new("[A-Z][A-Z0-9]+-[0-9]+", "https://jira.example.com/browse/{key}").unwrap();
        Trackers::new(vec![tracker]).unwrap()
    }

    fn found(text: &str) -> Vec<String> {
        let tell = |(key, ticket): (String, TicketMention)| if ticket.is_fixed { format!("fixes {key}") } else { key };
        jira().in_markdown(text).into_iter().map(tell).collect()
    }

    #[test]
    fn keys_are_found_where_they_stand_alone() {
        assert_eq!(found("PROJ-77: retry"), ["PROJ-77"]);
        assert_eq!(found("See [PROJ-7], OPS-12."), ["OPS-12", "PROJ-7"]);
        assert_eq!(found("xPROJ-77 PROJ-77x a/PROJ-77 PROJ-77-2 proj-77"), Vec::<String>::new());
        assert_eq!(found("`PROJ-1`\n```\nPROJ-2\n```\n"), Vec::<String>::new());
        assert_eq!(jira().url_of("PROJ-77").as_deref(), Some("https://jira.example.com/browse/PROJ-77"));
        assert_eq!(jira().url_of("77"), None);
        assert_eq!(jira().in_plain_text("`PROJ-1`")["PROJ-1"].url, "https://jira.example.com/browse/PROJ-1");
    }

    #[test]
    fn verbs_say_that_a_ticket_is_fixed() {
        let listed = found("Fixes PROJ-1, PROJ-2 and PROJ-3; see PROJ-4");
        assert_eq!(listed, ["fixes PROJ-1", "fixes PROJ-2", "fixes PROJ-3", "PROJ-4"]);
        assert_eq!(found("closes: [OPS-5]"), ["fixes OPS-5"]);
        assert_eq!(found("prefix OPS-5"), ["OPS-5"]);
        assert_eq!(found("This resolves ticket OPS-5."), ["fixes OPS-5"]);
    }

    #[test]
    fn other_trackers_have_another_fingerprint() {
        assert_eq!(Trackers::default().fingerprint(), 0);
        let other = Tracker::new("BUG[0-9]+", "https://bugs.example.com/{key}").unwrap();
        assert_ne!(jira().fingerprint(), Trackers::new(vec![other]).unwrap().fingerprint());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |pattern: &str, url: &str| Tracker::new(pattern, url).unwrap_err().to_string();
        assert!(wrong("(", "https://x/{key}").starts_with("pattern: '(' is not a regular expression"));
        assert!(wrong("[A-Z]*", "https://x/{key}").contains("matches an empty text"));
        assert!(wrong("[A-Z]+", "https://x/").starts_with("url: 'https://x/' is not an http address"));
        assert!(wrong("[A-Z]+", "ftp://x/{key}").starts_with("url: "));
    }
}
