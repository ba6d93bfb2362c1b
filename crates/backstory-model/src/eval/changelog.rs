//! Makes questions from a changelog: the words of an entry, and the issue or merge request that it names, by which the
//! commit can be found. Nothing else is read from it.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use crate::terms::TermExtractor;

/// Most entries of one file.
pub const MAX_ENTRIES: usize = 20_000;
/// An entry that names more is about no single change.
const MAX_NUMBERS: usize = 4;
/// Words that may stand around references at the beginning of an entry: `BUG #12:`.
const MAX_HEAD: usize = 40;
/// Longest question, in characters.
const MAX_QUESTION: usize = 300;

/// An entry that names issues or requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Their numbers, in order.
    pub numbers: Vec<u64>,
    /// Its first sentence, without markup and without any reference.
    pub question: String,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:#|\bgh-|/(?:issues|pull|merge_requests|work_items)/|[{:](?:issue|pr|pull|bug|gh)[}:]`)(?P<number>[0-9]{1,9})\b",
    )
});
/// What is left out of a question or replaced by what it shows, in this order.
static MARKUP: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let rules = [
        (r"[{:](?:issue|pr|pull|bug|gh|ghsa)[}:]`[^`]*`", ""),
        (r"(?::[a-z:]+:|\{[a-z:]+\})`[~!]?(?P<title>[^`<]*?)\s*(?:<[^`>]*>)?`", "$title"),
        (r"`(?P<title>[^`<]*?)\s*<https?://[^>]*>`_+", "$title"),
        (r"\[(?P<title>[^\]]*)\]\([^)]*\)", "$title"),
        (r"\[#[0-9]+\](?:\[\])?", ""),
        (r"https?://\S+", ""),
        (r"(?i)(?:\b[\w.-]+/[\w.-]+)?#[0-9]+\b|\bgh-[0-9]+\b", ""),
        (r"[(\[][\s,;]*[)\]]", ""),
        (r"`+", ""),
        (r"\s+", " "),
        (r"^\W*\*\*\w+:?\*\*:?", ""),
        (r"(?i)^\W*(?:fix(?:es|ed)?|closes?d?)\s*:", ""),
        (r"^[\s:,;*-]+|[\s,;*-]+$", ""),
    ];
    rules.map(|(rule, with)| (pattern(rule), with)).into()
});
static SENTENCE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^(?P<first>.{30,}?[^.\s]{2}[.!?:])\s+[\p{Lu}`'"(]"#));
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\(?#[0-9]+\)?|^\w+(?:\([^)]*\))?!?:"));

/// The entries of a changelog in Markdown or reStructuredText that name one to four numbers: items of its lists that
/// begin at the margin.
pub fn entries(changelog: &str) -> Vec<Entry> {
    items(changelog).iter().filter_map(|item| entry(item)).take(MAX_ENTRIES).collect()
}

fn items(changelog: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut open = false;
    for line in changelog.lines() {
        if let Some(text) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
            items.push(text.to_owned());
            open = true;
        } else if !line.is_empty() && !line.starts_with([' ', '\t']) {
            open = false;
        } else if let Some(item) = items.last_mut().filter(|_| open) {
            item.push('\n');
            item.push_str(line.trim());
        }
    }
    items
}

fn entry(item: &str) -> Option<Entry> {
    let (head, text) = apart(item).unwrap_or((item, item));
    let found = NUMBER.captures_iter(head).filter_map(|found| found["number"].parse().ok());
    let numbers: BTreeSet<u64> = found.collect();
    if numbers.is_empty() || numbers.len() > MAX_NUMBERS {
        return None;
    }
    let text = shown(text);
    let sentence =
        SENTENCE.captures(&text).map_or(text.as_str(), |found| found.name("first").map_or("", |s| s.as_str()));
    let question: String = sentence.chars().take(MAX_QUESTION).collect();
    Some(Entry { numbers: numbers.into_iter().collect(), question: question.trim().to_owned() })
}

/// References before the text, and the text: `[BUG #12](…): what was wrong`.
fn apart(item: &str) -> Option<(&str, &str)> {
    let ends = item.match_indices(':').map(|(at, _)| at);
    let mut ends = ends.filter(|at| item[at + 1..].starts_with(char::is_whitespace));
    let at = ends.find(|at| NUMBER.is_match(&item[..*at]))?;
    (shown(&item[..at]).len() <= MAX_HEAD).then(|| (&item[..at], &item[at + 1..]))
}

/// What a reader sees of a text.
fn shown(text: &str) -> String {
    MARKUP.iter().fold(text.to_owned(), |text, (rule, with)| rule.replace_all(&text, *with).into_owned())
}

/// How much the wording of a question is that of a commit message, 0 to 1: the largest share of common words, of all
/// words of both, that it has with the subject, with a line or with subject and first paragraph; 1 if the message has
/// it word for word.
pub fn overlap(question: &str, message: &str, terms: &mut TermExtractor) -> f32 {
    if flat(message).contains(&flat(question)) {
        return 1.0;
    }
    let own: BTreeSet<_> = terms.distinct(question).into_iter().collect();
    let paragraphs: Vec<&str> = message.split("\n\n").take(2).collect();
    let beginning = paragraphs.join(" ");
    let mut most = 0.0f32;
    for text in message.lines().chain([beginning.as_str()]) {
        let other: BTreeSet<_> = terms.distinct(&REFERENCE.replace_all(text, "")).into_iter().collect();
        let all = own.union(&other).count();
        if !other.is_empty() && all > 0 {
            #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
            let share = own.intersection(&other).count() as f32 / all as f32;
            most = most.max(share);
        }
    }
    most
}

fn flat(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(changelog: &str) -> Vec<(Vec<u64>, String)> {
        entries(changelog).into_iter().map(|entry| (entry.numbers, entry.question)).collect()
    }

    #[test]
    fn reads_entries_as_projects_write_them() {
        for (text, numbers, question) in [
            (
                "* [BUG #12](https://example.com/acme/shop/issues/12),\n  [BUG #7](https://example.com/acme/shop/pull/7):\n  Fix `--all` in\n  carts.\n",
                vec![7, 12],
                "Fix --all in carts.",
            ),
            (
                "- **fixed:** Carts of `Guest`s expire ([#31])\n\n[#31]: https://x/31\n",
                vec![31],
                "Carts of Guests expire",
            ),
            (
                "- {class}`Cart` takes a `limit` as a parameter. Limits are optional. {issue}`5` {pr}`6`\n",
                vec![5, 6],
                "Cart takes a limit as a parameter.",
            ),
            (
                "- `#9 <https://example.com/issues/9>`_: Fixed :class:`shop.Cart` which lost ``items``.\n\n  More.\n",
                vec![9],
                "Fixed shop.Cart which lost items.",
            ),
            ("- Ask for `pip>=2` ([#8](https://x.com/a/b/pull/8)).\n", vec![8], "Ask for pip>=2 ."),
        ] {
            assert_eq!(told(text), [(numbers, question.to_owned())], "{text}");
        }
        assert!(told("- Nothing is named\n- [#1] [#2] [#3] [#4] [#5] too much\nText about #6\n").is_empty());
    }

    #[test]
    fn overlap_is_told_by_words() {
        let of = |question: &str, message: &str| overlap(question, message, &mut TermExtractor::default());
        assert!((of("Carts lose items", "fix: carts lost\n\nwe saw: Carts lose items!") - 1.0).abs() < 1e-6);
        assert!((of("carts expire early", "Expiring of carts (#12)") - 2.0 / 3.0).abs() < 1e-6);
        assert!(of("carts expire early", "Something else") == 0.0);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,80}", other in "[-*# \\n:0-9a-z`<>\\[\\]()é]{0,80}") {
            entries(&text);
            entries(&format!("- {other}"));
            overlap(&text, &other, &mut TermExtractor::default());
        }
    }
}
