//! Finds what matches the rules: keywords in one pass over the text, expressions only around them.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use backstory_model::redaction::markers;
use memchr::{memchr, memmem, memrchr};
use regex::bytes::Captures;

use super::{
    INLINE_ALLOW,
    judge::is_secret,
    rule::{RULES, Rule, Span},
};

/// How far before a keyword a secret or its name may begin, in bytes.
const BEFORE: usize = 400;
/// How far after a keyword an assigned value may end.
const VALUE: usize = 800;
/// How far after a keyword the end of a token is looked for at first.
const TOKEN: usize = 4096;
/// How far around a keyword a rule of several lines looks.
const AROUND: usize = 8 << 10;

/// A secret and the rule that found it. Its range begins and ends at characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) rule: &'static str,
    pub(super) range: Range<usize>,
}

/// Which rules have which keyword.
struct Keywords {
    automaton: AhoCorasick,
    /// The rule of every pattern.
    rules: Vec<usize>,
}

static KEYWORDS: LazyLock<Keywords> = LazyLock::new(|| {
    let all = RULES.iter().enumerate().flat_map(|(index, rule)| rule.keywords.iter().map(move |word| (index, word)));
    let (rules, words): (Vec<usize>, Vec<&String>) = all.unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)
        .expect("the keywords are constant");
    Keywords { automaton, rules }
});

/// The secrets in a text, in order and apart from each other.
pub(super) fn findings(text: &str) -> Vec<Finding> {
    let windows = windows(text.as_bytes());
    if windows.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    let markers: Vec<Range<usize>> = markers(text).map(|(range, _)| range).collect();
    for (index, window) in windows {
        search(text, &RULES[index], window, |range| {
            if !cuts(&markers, &range) {
                found.push((range, index));
            }
        });
    }
    if !found.is_empty() {
        let allowed = allowed_lines(text.as_bytes());
        found.retain(|(range, _)| !allowed.iter().any(|line| line.contains(&range.start)));
    }
    apart(found)
}

/// Where rules must look, ordered by rule and place; those of one rule do not touch.
fn windows(text: &[u8]) -> Vec<(usize, Range<usize>)> {
    let mut windows: Vec<(usize, Range<usize>)> = Vec::new();
    let keywords = &*KEYWORDS;
    for hit in keywords.automaton.find_overlapping_iter(text) {
        let index = keywords.rules[hit.pattern().as_usize()];
        let window = window(text, hit.range(), &RULES[index]);
        windows.push((index, window));
    }
    windows.sort_unstable_by_key(|(index, window)| (*index, window.start));
    windows.dedup_by(|next, kept| {
        let touches = next.0 == kept.0 && next.1.start <= kept.1.end;
        if touches {
            kept.1.end = kept.1.end.max(next.1.end);
        }
        touches
    });
    windows
}

fn window(text: &[u8], hit: Range<usize>, rule: &Rule) -> Range<usize> {
    let around = |before: usize, after: usize| hit.start.saturating_sub(before)..(hit.end + after).min(text.len());
    match rule.span {
        Span::Around => around(AROUND, AROUND),
        Span::Block => hit.start.saturating_sub(BEFORE)..text.len(),
        Span::Line => {
            let wide = around(BEFORE, if rule.is_named { VALUE } else { TOKEN });
            let start = memrchr(b'\n', &text[wide.start..hit.start]).map_or(wide.start, |at| wide.start + at + 1);
            let line = |from: usize| memchr(b'\n', &text[from..wide.end]).map_or(wide.end, |at| from + at + 1);
            start..line(line(hit.end))
        }
    }
}

/// Tells every secret that a rule finds in a window.
fn search(text: &str, rule: &Rule, window: Range<usize>, mut tell: impl FnMut(Range<usize>)) {
    let (bytes, pattern) = (text.as_bytes(), rule.pattern());
    let (mut at, mut end) = (window.start, window.end);
    while at < end {
        let Some(found) = pattern.captures_at(&bytes[..end], at) else { return };
        let Some(whole) = found.get(0) else { return };
        // It may go on behind the window.
        if whole.end() == end && end < bytes.len() {
            end = (end + (end - window.start)).min(bytes.len());
            continue;
        }
        let secret = secret_of(&found);
        if is_secret(rule, &found, &bytes[secret.clone()]) && has_context(rule, bytes, &secret) {
            tell(text.floor_char_boundary(secret.start)..text.ceil_char_boundary(secret.end));
            at = secret.end.max(at + 1);
        } else {
            // Something else may begin inside of what was none.
            at = secret.start.max(at + 1);
        }
    }
}

fn secret_of(found: &Captures<'_>) -> Range<usize> {
    let named = found.name("secret").or_else(|| found.name("bare")).or_else(|| found.get(0));
    named.map_or(0..0, |part| part.range())
}

fn has_context(rule: &Rule, text: &[u8], secret: &Range<usize>) -> bool {
    rule.context().is_none_or(|context| {
        let around = secret.start.saturating_sub(BEFORE)..(secret.end + BEFORE).min(text.len());
        context.is_match(&text[around])
    })
}

/// Whether a range begins or ends inside of a marker, or is one.
fn cuts(markers: &[Range<usize>], range: &Range<usize>) -> bool {
    let inside = |marker: &Range<usize>, at: usize| marker.start < at && at < marker.end;
    markers.iter().any(|marker| marker == range || inside(marker, range.start) || inside(marker, range.end))
}

/// The lines that say of themselves that nothing in them is secret.
fn allowed_lines(text: &[u8]) -> Vec<Range<usize>> {
    let mut lines: Vec<Range<usize>> = Vec::new();
    for at in memmem::find_iter(text, INLINE_ALLOW) {
        if lines.last().is_some_and(|line| line.contains(&at)) {
            continue;
        }
        let start = memrchr(b'\n', &text[..at]).map_or(0, |at| at + 1);
        let end = memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
        lines.push(start..end);
    }
    lines
}

/// What overlaps becomes one; the rule that counts more names it.
fn apart(mut found: Vec<(Range<usize>, usize)>) -> Vec<Finding> {
    found.sort_unstable_by_key(|(range, index)| (range.start, *index));
    found.dedup_by(|next, kept| {
        let overlaps = next.0.start < kept.0.end;
        if overlaps {
            kept.0.end = kept.0.end.max(next.0.end);
            kept.1 = kept.1.min(next.1);
        }
        overlaps
    });
    found.into_iter().map(|(range, index)| Finding { rule: &RULES[index].id, range }).collect()
}
