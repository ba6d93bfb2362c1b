//! Lines of changelogs that say what a question about a change asks for, each with the version above it and its day.

use std::{
    collections::{HashMap, hash_map::Entry},
    ops::Range,
};

use backstory_model::{
    answer::Citation,
    change_question::{ChangeDirection, ChangeQuestion, StatedFit, is_aside, says_change},
    filter::{DocumentKind, Filter},
    reason::{gives_reason, may_explain},
    security::{FlagKind, security_flags},
    sentence::{are_of_paragraph, split_sentences},
};
use backstory_store::index::StoredDocument;
use jiff::civil::Date;

use super::{
    candidates::documents_of_kind,
    labels::{direction_above, is_underline},
};
use crate::{
    ask::release_names::ReleaseNames,
    citations::{CitedDocument, document_of_file},
    error::Result,
    resources::Resources,
};

/// Most sections of changelogs that are read.
const MAX_SECTIONS: usize = 40;
/// Lines below the heading of a version among which its day is looked for.
const HEADING_LINES: usize = 5;
/// Most lines above a line among which its heading is looked for.
const MAX_ABOVE: usize = 2_000;
/// What the names of changelogs begin with, in lower case.
const CHANGELOGS: [&str; 4] = ["change", "news", "history", "release"];
/// Most words of a label before a sentence: `Breaking change:`.
const MAX_LABEL: usize = 2;
/// What says that something warns.
const WARNING: [&str; 15] = [
    "remain", "remains", "raise", "raises", "emit", "emits", "issue", "issues", "show", "shows", "trigger", "triggers",
    "give", "gives", "warns",
];
/// What a sentence may begin with that says what was done against a fault, beside words that say that something changed.
const REPAIRING: [&str; 14] = [
    "avoid",
    "avoids",
    "check",
    "checks",
    "escape",
    "escapes",
    "limit",
    "limits",
    "prevent",
    "prevents",
    "reject",
    "rejects",
    "validate",
    "validates",
];
/// Words behind the name of a vulnerability among which is said that there is none.
const MAX_DENIAL: usize = 3;

/// A line of a changelog.
pub(super) struct ChangelogLine {
    /// Full path of the project.
    pub(super) project: String,
    /// The line.
    pub(super) citation: Citation,
    /// The version that it stands under, as it is written: `1.2.0`.
    pub(super) version: String,
    /// The day that stands beside the heading.
    pub(super) date: Option<Date>,
    /// The line with what it says of the reason, if it does.
    pub(super) reason: Option<Citation>,
    /// Whether it says just what is asked about, and not of a name among other words.
    is_exact: bool,
}

/// The line of a changelog that says what is asked about, under the heading of a version.
pub(super) async fn find_changelog_line(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
) -> Result<Option<ChangelogLine>> {
    let documents = documents_of_kind(resources, change, filter, DocumentKind::Section).await?;
    let (change, exclude) = (change.clone(), filter.exclude.clone());
    resources
        .blocking(move |resources| {
            let is_wanted = |document: &&StoredDocument| {
                let is_left_out = exclude.iter().any(|id| id.as_str() == &*document.facts.thread);
                document.path.as_deref().is_some_and(is_changelog) && !is_left_out
            };
            let mut lines: Vec<ChangelogLine> = Vec::new();
            let (mut files, mut releases) = (HashMap::new(), HashMap::new());
            for section in documents.iter().filter(is_wanted).take(MAX_SECTIONS) {
                let (Some(path), Some(within)) = (&section.path, section.lines) else { continue };
                let project = section.facts.project.to_string();
                // A file that is gone since it was indexed says nothing.
                let read = || document_of_file(resources, &project, path, None).ok().flatten();
                let file = files.entry((project.clone(), path.clone())).or_insert_with(read);
                let of_project = match releases.entry(project.clone()) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(ReleaseNames::read(resources, &project)?),
                };
                lines.extend(file.as_ref().and_then(|file| line_of_section(&change, of_project, file, within)));
            }
            if lines.iter().any(|line| line.is_exact) {
                lines.retain(|line| line.is_exact);
            }
            // Those without a day come last.
            let is_first = change.direction == ChangeDirection::Added;
            let (mut dated, undated): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.date.is_some());
            dated.sort_by_key(|line| line.date);
            let best = if is_first { dated.into_iter().next() } else { dated.into_iter().next_back() };
            Ok(best.or_else(|| undated.into_iter().next()))
        })
        .await
}

/// What a section of a changelog says of a change; `None` if nothing, or if no heading above names a version.
fn line_of_section(
    change: &ChangeQuestion,
    releases: &ReleaseNames,
    document: &CitedDocument,
    lines: (u32, u32),
) -> Option<ChangelogLine> {
    let within = document.bytes_of(lines);
    let text = &document.text[within.clone()];
    let change = &change.within(&releases.project);
    let pieces: Vec<Range<usize>> = split_sentences(text).into_iter().map(|piece| piece.range).collect();
    let fit_of = |range: &Range<usize>| {
        let own = &text[range.clone()];
        let labeled = || fit_of_labeled(change, own, direction_above(&document.text, within.start + range.start)?);
        fit_of_line(change, own, &releases.project).or_else(labeled)
    };
    let find = |fit: StatedFit| pieces.iter().find(|range| fit_of(range) == Some(fit));
    let exact = find(StatedFit::Same);
    let range = exact.or_else(|| find(StatedFit::Named))?;
    let cite = |bytes: &Range<usize>| document.cite(0, within.start + bytes.start..within.start + bytes.end);
    let next = pieces.iter().find(|piece| piece.start >= range.end);
    let next = next.filter(|next| are_of_paragraph(text, range, next) && may_explain(&text[(*next).clone()]));
    let reason = match gives_reason(&text[range.clone()]) {
        true => Some(cite(range)),
        false => next.map(|next| cite(&(range.start..next.end))),
    };
    let (version, date) = version_above(&document.text[..within.start + range.start], releases)?;
    let (project, citation) = (releases.project.clone(), cite(range));
    Some(ChangelogLine { project, citation, version, date, reason, is_exact: exact.is_some() })
}

/// How a sentence of a project's changelog says what is asked about, as a whole or of a name among other words; `None` if it
/// does not.
fn fit_of_line(change: &ChangeQuestion, sentence: &str, project: &str) -> Option<StatedFit> {
    let fit = change.fit_of(sentence);
    let behind = behind_actor(sentence, project).and_then(|own| change.fit_of(own));
    let is_either = |wanted: StatedFit| [fit, behind].contains(&Some(wanted));
    let is_of_flaw = || change.direction == ChangeDirection::Fixed && tells_of_flaw(&change.subject, sentence, fit);
    let is_of_warning = || change.direction == ChangeDirection::Deprecated && tells_of_warning(&change.names, sentence);
    if is_either(StatedFit::Same) || is_of_flaw() {
        return Some(StatedFit::Same);
    }
    (is_either(StatedFit::Named) || is_of_warning()).then_some(StatedFit::Named)
}

/// How an item says what is asked about if what it stands under says what was done to all that it names. What is explained
/// behind a colon is named before it.
fn fit_of_labeled(change: &ChangeQuestion, item: &str, direction: ChangeDirection) -> Option<StatedFit> {
    if direction != change.direction {
        return None;
    }
    let head = item.split_once(": ").map(|(head, _)| head).filter(|head| head.contains('`'));
    let fit_of = |text: &str| change.fit_of(&format!("{}: {text}", direction.verb()));
    let mut fits = [Some(item), head].into_iter().flatten().filter_map(fit_of);
    fits.find(|fit| matches!(fit, StatedFit::Same | StatedFit::Named))
}

/// Whether a sentence says that the use of a name of code gives a warning: `these names remain with a DeprecationWarning`.
fn tells_of_warning(names: &[String], sentence: &str) -> bool {
    let [name] = names else { return false };
    let words: Vec<&str> = sentence.split(|c: char| !c.is_alphanumeric()).collect();
    let Some(at) = words.iter().position(|word| *word == "DeprecationWarning") else { return false };
    let has = |known: &[&str]| words[..at].iter().any(|word| known.iter().any(|one| word.eq_ignore_ascii_case(one)));
    sentence.contains(&format!("`{name}`")) && has(&WARNING) && !has(&["no", "not", "longer"])
}

/// Whether a sentence says that a vulnerability was dealt with: it fixes something and names it, or begins with it, as in
/// `CVE-2024-12345: keys were logged`. Each is one fault, whatever else is said of it.
fn tells_of_flaw(subject: &str, sentence: &str, fit: Option<StatedFit>) -> bool {
    let flaws = |text: &str| security_flags(text).into_iter().filter(|flag| flag.kind != FlagKind::Cwe);
    let Some(asked) = flaws(subject).next() else { return false };
    let is_named = flaws(sentence).any(|flag| flag.id == asked.id);
    let tells = |text: &str| begins_with_flaw(text, &asked.id) || ends_with_flaw(text, &asked.id);
    is_named && (matches!(fit, Some(StatedFit::Named | StatedFit::Part)) || openings(sentence).any(tells))
}

/// Whether a text says what was done to the program and has a vulnerability in brackets behind that: `Check sizes (CVE-…)`.
fn ends_with_flaw(text: &str, id: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_done = says_change(first) || REPAIRING.iter().any(|known| first.eq_ignore_ascii_case(known));
    let (text, id) = (text.to_lowercase(), id.to_lowercase());
    is_done && !is_aside(&text) && text.contains(&format!("({id}"))
}

/// Whether a text begins with a vulnerability, and does not go on with that there is none.
fn begins_with_flaw(text: &str, id: &str) -> bool {
    let Some((own, behind)) = text.split_at_checked(id.len()) else { return false };
    let denies = |word: &str| word == "not" || word.ends_with("n't") || word.ends_with("n’t");
    own.eq_ignore_ascii_case(id) && !behind.split_whitespace().take(MAX_DENIAL).any(denies)
}

/// A sentence from its first word on, without signs before it, and what follows a label that it begins with: `Breaking: we
/// dropped X`.
fn openings(sentence: &str) -> impl Iterator<Item = &str> {
    let own = without_signs(sentence);
    let labeled = own.split_once([':', ']']).filter(|(label, _)| label.split_whitespace().count() <= MAX_LABEL);
    [Some(own), labeled.map(|(_, rest)| without_signs(rest))].into_iter().flatten()
}

fn without_signs(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// What stands behind the project as the one that does it: `dropped X` of `⚠️ Requests has officially dropped X`.
fn behind_actor<'a>(sentence: &'a str, project: &str) -> Option<&'a str> {
    let name = project.rsplit('/').next().unwrap_or(project);
    let is_any = |word: &str, known: &[&str]| known.iter().any(|one| word.eq_ignore_ascii_case(one));
    let is_name = |word: &str| is_any(word, &[name, "we", "we've", "we’ve"]);
    let is_article = |word: &str| is_any(word, &["the", "this"]);
    let is_kind = |word: &str| is_any(word, &["project", "library", "package", "release", "version"]);
    let is_beside_verb =
        |word: &str| matches!(word, "has" | "have" | "now" | "also" | "finally") || word.ends_with("ly");
    let behind = |text: &'a str| {
        let behind_name = behind_word(text, is_name);
        // As `this release` and `the Requests library`.
        let behind_kind = || {
            let rest = behind_word(text, is_article)?;
            behind_word(behind_word(rest, is_name).unwrap_or(rest), is_kind)
        };
        behind_name.or_else(behind_kind)
    };
    let mut rest = openings(sentence).find_map(behind)?;
    while let Some(next) = behind_word(rest, is_beside_verb) {
        rest = next;
    }
    Some(rest)
}

/// What stands behind the first word of a text, if that is one of some.
fn behind_word(text: &str, is_it: impl Fn(&str) -> bool) -> Option<&str> {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    is_it(word).then(|| rest.trim_start())
}

/// The version, and the day if there is one, that the last heading of a text with a version in it names.
fn version_above(text: &str, releases: &ReleaseNames) -> Option<(String, Option<Date>)> {
    let lines: Vec<&str> = text.lines().collect();
    for at in (0..lines.len()).rev().take(MAX_ABOVE) {
        let is_heading = lines[at].starts_with('#') || lines.get(at + 1).is_some_and(|below| is_underline(below));
        if is_heading && let Some(version) = version_in(lines[at], releases) {
            let below = lines[at + 1..].iter().take(HEADING_LINES).take_while(|line| !line.starts_with('#'));
            let date = date_in(lines[at]).or_else(|| below.copied().find_map(day_of_release));
            return Some((version, date));
        }
    }
    None
}

/// The version with which a heading begins, without a `v` before it: two numbers or more with dots between them, or one
/// that is known to be of a release. Before it may stand the day, the project's name and words like `Version`; behind any
/// other word it is of something else.
fn version_in(heading: &str, releases: &ReleaseNames) -> Option<String> {
    const BEFORE: [&str; 10] =
        ["version", "release", "released", "releases", "changes", "changelog", "notes", "in", "for", "of"];
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '+' | '_' | '/');
    let project = releases.project.as_str();
    let name = project.rsplit('/').next().unwrap_or(project);
    for word in heading.split(|c: char| c.is_whitespace() || matches!(c, '@' | ',' | ':')) {
        let begins = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        let end = begins.find(|c| !is_part(c)).unwrap_or(begins.len());
        let word = begins[..end].trim_matches(['.', '-', '/']);
        let is_before = BEFORE.iter().chain([&name, &project]).any(|known| word.eq_ignore_ascii_case(known));
        if word.is_empty() || is_before || word.eq_ignore_ascii_case("v") || date_in(word).is_some() {
            continue;
        }
        let version = word.trim_start_matches(['v', 'V']).trim_start_matches('.');
        let mut numbers = version.split('.');
        let is_number = |part: Option<&str>| part.is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()));
        if is_number(numbers.next()) && is_number(numbers.next()) {
            return Some(version.to_owned());
        }
        return release_in(heading, word, releases);
    }
    None
}

/// The known release of which a word of a heading is the first number, if the heading says nothing else: `Version 8`,
/// `v8 (2024-01-02)`.
fn release_in(heading: &str, word: &str, releases: &ReleaseNames) -> Option<String> {
    let says_more = |other: &str| other.contains(char::is_alphabetic) && other != word && !releases.is_leading(other);
    let version = word.trim_start_matches(['v', 'V']);
    let is_alone = !heading.split(|c: char| !c.is_alphanumeric()).any(says_more);
    (is_alone && releases.has(version)).then(|| version.to_owned())
}

/// The day that a line below a heading names, if it says nothing but the day or begins with `Released`.
fn day_of_release(line: &str) -> Option<Date> {
    let said = line.trim_matches(|c: char| !c.is_alphanumeric());
    let is_said =
        said.split(|c: char| !c.is_alphabetic()).next().is_some_and(|word| word.eq_ignore_ascii_case("released"));
    let date = date_in(said)?;
    (is_said || said == date.to_string()).then_some(date)
}

/// The day that a line names, as in `2024-03-15`.
fn date_in(line: &str) -> Option<Date> {
    const LENGTH: usize = "2024-03-15".len();
    let words = line.split(|c: char| !c.is_ascii_digit() && c != '-').map(|word| word.trim_matches('-'));
    words.filter(|word| word.len() == LENGTH).find_map(|word| word.parse().ok())
}

fn is_changelog(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    CHANGELOGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn releases() -> ReleaseNames {
        ReleaseNames::new("acme/shop", &["v8.0.0".to_owned(), "v8.1.0".to_owned()])
    }

    #[test]
    fn who_does_it_in_a_changelog_is_the_project() {
        for (sentence, own) in [
            ("Shop has officially dropped support for Perl", Some("dropped support for Perl")),
            ("⚠️ Shop has officially dropped support for Perl. ⚠️", Some("dropped support for Perl. ⚠️")),
            ("**Breaking:** Shop no longer supports Perl", Some("no longer supports Perl")),
            ("[Breaking change] this release drops Perl", Some("drops Perl")),
            ("The Shop library finally dropped Perl", Some("dropped Perl")),
            ("We’ve dropped Perl", Some("dropped Perl")),
            ("We now support TLS", Some("support TLS")),
            ("Debian dropped Perl", None),
            ("As we said: we dropped Perl", None),
            ("The shopping cart was dropped", None),
            ("Shop", Some("")),
            ("", None),
        ] {
            assert_eq!(behind_actor(sentence, "acme/shop"), own, "{sentence}");
        }
    }

    #[test]
    fn a_line_that_names_a_vulnerability_first_says_that_it_was_fixed() {
        let question = ChangeQuestion::parse("when was CVE-2018-18074 fixed?").unwrap();
        for (sentence, is_told) in [
            ("CVE-2018-18074: headers were sent to other hosts.", true),
            ("**[CVE-2018-18074](https://example.com/CVE-2018-18074)** headers", true),
            ("(CVE-2018-18074)", true),
            ("Security: cve-2018-18074, found by Ann", true),
            ("Fixed CVE-2018-18074 by sending no headers", true),
            ("Fixed headers of other hosts (CVE-2018-18074)", true),
            ("Adds safe wrappers (CVE-2018-18074, #747) (Ann)", true),
            ("Check where headers go (CVE-2018-18074)", true),
            ("Adds tests of headers (CVE-2018-18074)", false),
            ("Older shops send headers (CVE-2018-18074)", false),
            ("CVE-2018-18074 does not affect the shop", false),
            ("CVE-2018-180745: cookies were sent.", false),
            ("Old versions have CVE-2018-18074", false),
            ("Fixed CVE-2018-1807", false),
        ] {
            assert_eq!(fit_of_line(&question, sentence, "acme/shop").is_some(), is_told, "{sentence}");
        }
        let added = ChangeQuestion::parse("who added CVE-2018-18074?").unwrap();
        assert_eq!(fit_of_line(&added, "CVE-2018-18074: headers were sent", "acme/shop"), None);
    }

    #[test]
    fn a_line_may_say_of_a_name_among_others_that_it_warns() {
        let question = ChangeQuestion::parse("when was load_rows deprecated?").unwrap();
        for (sentence, fit) in [
            ("Deprecate `load_rows`.", Some(StatedFit::Same)),
            ("Deprecate {meth}`Store.load_rows`.", Some(StatedFit::Named)),
            ("We deprecated the load_rows attribute", Some(StatedFit::Named)),
            (
                "The old names remain with a `DeprecationWarning` until 9.0: `rows` and `load_rows`.",
                Some(StatedFit::Named),
            ),
            ("`load_rows` raises a DeprecationWarning", Some(StatedFit::Named)),
            ("`load_rows` no longer raises a DeprecationWarning", None),
            ("Fix a DeprecationWarning of `load_rows`", None),
            ("The old names remain with a `DeprecationWarning`: `rows`", None),
        ] {
            assert_eq!(fit_of_line(&question, sentence, "acme/shop"), fit, "{sentence}");
        }
    }

    #[test]
    fn changelogs_are_known_by_their_names_and_versions_by_their_numbers() {
        assert!(is_changelog("CHANGES.rst") && is_changelog("docs/changelog.md") && is_changelog("NEWS"));
        assert!(!is_changelog("docs/exchange.md") && !is_changelog("src/unchanged.rs"));
        for (heading, version) in [
            ("Version 2.4.1", Some("2.4.1")),
            ("[1.2.0] - 2020-01-01", Some("1.2.0")),
            ("v3.0-rc1 (unreleased)", Some("3.0-rc1")),
            ("## [v1.2.0](https://example.com/v1.2.0) (2020-01-01)", Some("1.2.0")),
            ("## 2024-01-02, Version 20.1.0 (Current)", Some("20.1.0")),
            ("Shop 2.1", Some("2.1")),
            ("# shop@2.1.0", Some("2.1.0")),
            ("acme/shop v2.1", Some("2.1")),
            ("Release notes for 4.0.0", Some("4.0.0")),
            ("**1.0.1**", Some("1.0.1")),
            ("### Python 3.8", None),
            ("### Support for 3.8", None),
            ("Unreleased", None),
            ("Unreleased (after 1.2.0)", None),
            ("What is new since 2019", None),
            ("", None),
            ("## Version 8", Some("8")),
            ("## v8 (2024-01-02)", Some("8")),
            ("Shop 8", Some("8")),
            ("## 8", Some("8")),
            ("### v8 API", None),
            ("### Support for 8", None),
            ("## Version 9", None),
            ("## Python 8", None),
        ] {
            assert_eq!(version_in(heading, &releases()).as_deref(), version, "{heading}");
        }
        assert_eq!(date_in("## 1.2.0 - 2020-01-31").map(|date| date.to_string()).as_deref(), Some("2020-01-31"));
        assert_eq!(date_in("Released on 31 January 2020"), None);
    }

    #[test]
    fn a_line_belongs_to_the_last_version_above_it() {
        let kept = "# Changelog\n\n## [1.3.0] - 2021-02-03\n\n- One\n\n## [1.2.0] - 2020-01-01\n\n### Removed\n\n- ";
        let version_above = |text: &str| version_above(text, &releases());
        assert_eq!(version_above(kept), Some(("1.2.0".to_owned(), date_in("2020-01-01"))));
        let underlined = "Version 2.0\n-----------\n\nReleased 2019-09-09\n\n-   Use 3.6\n-   ";
        assert_eq!(version_above(underlined), Some(("2.0".to_owned(), date_in("2019-09-09"))));
        assert_eq!(version_above("# Unreleased\n\n- "), None);
        let nested = "## 3.0.0\n### Python 3.8\n- ";
        assert_eq!(version_above(nested), Some(("3.0.0".to_owned(), None)));
        let prose = "## 3.0.0\n\nKeys made before 2020-01-01 are refused.\n- ";
        assert_eq!(version_above(prose), Some(("3.0.0".to_owned(), None)));
        for line in ["Released on 2020-01-01", "_2020-01-01_", "*Released: 2020-01-01*", "(2020-01-01)"] {
            let text = format!("## 3.0.0\n\n{line}\n\n- ");
            assert_eq!(version_above(&text), Some(("3.0.0".to_owned(), date_in("2020-01-01"))), "{line}");
        }
    }
}
