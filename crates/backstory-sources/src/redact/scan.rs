//! Finds what matches the rules: keywords in one pass over the text, expressions only around them.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use backstory_model::redaction::markers;
use memchr::{memchr, memmem, memrchr};
use regex::bytes::Captures;

use super::{
    INLINE_ALLOW,
    configured::{KIND, find_configured},
    judge::{MAX_JUDGED_BYTES, is_secret},
    normalized::NormalizedText,
    rule::{ContextSpan, RULES, Rule, SecretTest},
};

/// Stands for the number of a rule where a configured secret was found.
const CONFIGURED: usize = usize::MAX;
/// How far before a keyword a secret or its name may begin, in bytes.
const BEFORE: usize = 400;
/// How far after a keyword an assigned value may end.
const VALUE: usize = 800;
/// How far after a keyword the end of a token is looked for at first.
const TOKEN: usize = 4096;
/// How far around a keyword a rule of several lines looks.
const AROUND: usize = 8 << 10;
/// How much of a line is searched at once, in bytes. What matches and is longer is one secret as far as its bytes go on.
const REACH: usize = 8 << 10;
/// Longest match that is sure to be found wherever it begins.
const LONGEST: usize = 4 << 10;
/// A match that ends so near to where the search stopped might be a longer one.
const MARGIN: usize = 64;
/// Longest match in which something else is looked for when it was not a secret: its bytes are looked at again for each of them.
const AGAIN: usize = 256;

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
    let mut found = matches(text);
    let view = NormalizedText::of(text);
    if let Some(view) = &view {
        found.extend(matches(&view.text).into_iter().map(|(range, index)| (view.original(range), index)));
    }
    if !found.is_empty() {
        let allowed = allowed_lines(text.as_bytes());
        found.retain(|(range, _)| !is_in(&allowed, range.start));
    }
    found.extend(configured(text));
    if let Some(view) = &view {
        found.extend(configured(&view.text).into_iter().map(|(range, index)| (view.original(range), index)));
    }
    apart(found)
}

/// The configured secrets in a text, as [`matches`]; none that is part of a marker.
fn configured(text: &str) -> Vec<(Range<usize>, usize)> {
    let mut found = find_configured(text);
    if !found.is_empty() {
        let markers: Vec<Range<usize>> = markers(text).map(|(range, _)| range).collect();
        found.retain(|range| !cuts(&markers, range));
    }
    found.into_iter().map(|range| (range, CONFIGURED)).collect()
}

/// What the rules find in a text, each with its number, in the order of the rules.
fn matches(text: &str) -> Vec<(Range<usize>, usize)> {
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    let windows = windows(text.as_bytes());
    if windows.is_empty() {
        return found;
    }
    let markers: Vec<Range<usize>> = markers(text).map(|(range, _)| range).collect();
    for (index, window) in windows {
        search(text, &RULES[index], window, |range| {
            if !cuts(&markers, &range) {
                found.push((range, index));
            }
        });
    }
    found
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
        ContextSpan::Around => around(AROUND, AROUND),
        ContextSpan::Block => hit.start.saturating_sub(BEFORE)..text.len(),
        ContextSpan::Line => {
            let wide = around(BEFORE, if rule.is_named { VALUE } else { TOKEN });
            let start = memrchr(b'\n', &text[wide.start..hit.start]).map_or(wide.start, |at| wide.start + at + 1);
            let line = |from: usize| memchr(b'\n', &text[from..wide.end]).map_or(wide.end, |at| from + at + 1);
            start..line(line(hit.end))
        }
    }
}

/// Tells every secret that a rule finds in a window, in time linear in the window: each search stops after [`REACH`], and
/// goes on behind what was judged unless that is short.
fn search(text: &str, rule: &Rule, window: Range<usize>, mut tell: impl FnMut(Range<usize>)) {
    let (bytes, pattern) = (text.as_bytes(), rule.pattern());
    // What may have several lines begins with something that cannot stand in it.
    let reach = if rule.span == ContextSpan::Line { REACH } else { usize::MAX };
    let (mut at, mut end) = (window.start, window.end);
    while at < end {
        let stop = at.saturating_add(reach).min(end);
        let found = pattern.captures_at(&bytes[..stop], at);
        let Some((whole, found)) = found.and_then(|found| Some((found.get(0)?.range(), found))) else {
            if stop == end {
                return;
            }
            at = stop - LONGEST;
            continue;
        };
        if stop < end && whole.end + MARGIN > stop && whole.start > at {
            at = whole.start;
            continue;
        }
        // It may go on behind the window.
        if stop == end && whole.end == end && end < bytes.len() {
            end = (end + (end - window.start).min(reach)).min(bytes.len());
            continue;
        }
        let mut secret = secret_of(&found);
        if is_secret(rule, &found, &bytes[secret.clone()]) && has_context(rule, bytes, &secret) {
            if secret.end == stop {
                secret.end += bytes[stop..].iter().take_while(|byte| is_of_token(**byte)).count();
            }
        } else if whole.len() <= AGAIN {
            // Something else may begin inside of what was not a secret.
            at = secret.start.max(at + 1);
            continue;
        } else {
            let judged = (secret.start + secret.len().min(MAX_JUDGED_BYTES)).max(at + 1);
            let Some(inner) = inside(rule, &bytes[..stop], whole.start + 1..judged) else {
                at = judged;
                continue;
            };
            secret = inner;
        }
        at = secret.end.max(at + 1);
        tell(text.floor_char_boundary(secret.start)..text.ceil_char_boundary(secret.end));
    }
}

/// A token that begins at one of the places inside of a long one that was not a secret. Its shortest form is judged, so that the
/// time does not grow with how long all of them go on.
fn inside(rule: &Rule, bytes: &[u8], places: Range<usize>) -> Option<Range<usize>> {
    let (pattern, mut at) = (rule.pattern(), places.start);
    while rule.judge == SecretTest::Token && !rule.is_named && at < places.end {
        let end = pattern.shortest_match_at(bytes, at)?;
        let found = pattern.captures_at(&bytes[..end], at)?;
        let secret = secret_of(&found);
        if secret.start >= places.end {
            return None;
        }
        if is_secret(rule, &found, &bytes[secret.clone()]) && has_context(rule, bytes, &secret) {
            let longest = pattern.find_at(bytes, secret.start).filter(|longest| longest.start() == secret.start);
            return Some(secret.start..longest.map_or(secret.end, |longest| longest.end()));
        }
        at = secret.start.max(at) + 1;
    }
    None
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~+/=%".contains(&byte)
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
    let before = |at: usize| markers[..markers.partition_point(|marker| marker.start < at)].last();
    let inside = |at: usize| before(at).is_some_and(|marker| at < marker.end);
    inside(range.start) || inside(range.end) || before(range.start + 1) == Some(range)
}

/// Whether one of the ranges, which are in order and apart, has the place.
fn is_in(ranges: &[Range<usize>], at: usize) -> bool {
    ranges[..ranges.partition_point(|range| range.start <= at)].last().is_some_and(|range| at < range.end)
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
    let name = |index: usize| RULES.get(index).map_or(KIND.id, |rule| rule.id.as_str());
    found.into_iter().map(|(range, index)| Finding { rule: name(index), range }).collect()
}
