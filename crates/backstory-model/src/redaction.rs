//! The markers that replace secrets in texts: `[redacted:<rule>:<length>]`. Finding secrets belongs to
//! `sources::redact`.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;

/// How every marker begins.
pub const MARKER_PREFIX: &str = "[redacted:";

static MARKER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[redacted:([a-z][a-z0-9-]{0,40}):([0-9]{1,9})\]").expect("the pattern is constant"));

/// The marker of a secret of so many characters.
pub fn marker(rule: &str, length: usize) -> String {
    format!("{MARKER_PREFIX}{rule}:{length}]")
}

/// Where markers stand in a text, in bytes, and the rule that each names.
pub fn markers(text: &str) -> impl Iterator<Item = (std::ops::Range<usize>, &str)> {
    // Most texts have none, and finding that out is cheaper than the expression.
    let text = if text.contains(MARKER_PREFIX) { text } else { "" };
    MARKER.captures_iter(text).filter_map(|found| Some((found.get(0)?.range(), found.get(1)?.as_str())))
}

/// How many places with secrets of which kind.
pub type SecretCounts = BTreeMap<String, u64>;

/// In how many places of these texts secrets of which kind were replaced.
pub fn count_markers<'a>(texts: impl IntoIterator<Item = &'a str>) -> SecretCounts {
    let mut counts = SecretCounts::new();
    for text in texts {
        for (_, rule) in markers(text) {
            *counts.entry(rule.to_owned()).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_counted_and_nothing_like_them_is() {
        let one = marker("jwt", 40);
        let text = format!("a {one} b {one} [redacted:] [redacted:JWT:4] [redacted:jwt:x]");
        assert_eq!(markers(&text).map(|(range, _)| &text[range]).collect::<Vec<_>>(), [&one, &one]);
        assert_eq!(
            count_markers([text.as_str(), &marker("password", 8)]),
            [("jwt".into(), 2), ("password".into(), 1)].into()
        );
    }
}
