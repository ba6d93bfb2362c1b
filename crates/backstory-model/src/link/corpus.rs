//! Compares the issues and changes of a project, and picks the most likely issue of each change.

use std::{
    collections::{BTreeSet, HashMap},
    sync::LazyLock,
};

use jiff::Timestamp;
use regex::Regex;

use super::{
    LinkCandidate, LinkableChange, LinkableIssue,
    features::{Features, MAX_NAMES, SharedName},
};
use crate::terms::{TermExtractor, TermId};

/// Most issues that are compared, the newest.
pub const MAX_ISSUES: usize = 10_000;
/// Most changes that are compared, the newest.
pub const MAX_CHANGES: usize = 20_000;
/// Longest text that is compared, in bytes; what follows is logs and listings.
const MAX_TEXT: usize = 12_000;
/// How often a word of the title counts.
const TITLE_COUNTS: u32 = 2;
/// Words that are told of those that are shared.
const MAX_SHARED: usize = 4;
/// Shortest name, in characters.
const MIN_NAME: usize = 4;
const SECONDS_A_DAY: f32 = 86_400.0;

/// What says nothing of the matter: comments of templates, addresses, references.
static NOISE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)<!--.*?-->|https?://\S+|(?:[\w.-]+/)*[\w.-]*[#!][0-9]+\b|\b(?i:gh|gl)-[0-9]+\b")
        .expect("the pattern is constant")
});

/// A text as it is compared.
#[derive(Debug, Default)]
struct Text {
    /// Its terms with what each counts, by term; the length of all is 1.
    terms: Vec<(TermId, f32)>,
    /// Names of code in it.
    names: BTreeSet<String>,
    /// Its vectors, each of length 1.
    vectors: Vec<Vec<f32>>,
}

/// Issues and changes of a project.
pub struct LinkCorpus {
    issues: Vec<(LinkableIssue, Text)>,
    changes: Vec<(LinkableChange, Text)>,
    /// Texts with a name, by name.
    named: HashMap<String, u32>,
    /// How a term is written, for people.
    written: HashMap<TermId, String>,
    /// Issues with a term, and what it counts there.
    with_term: HashMap<TermId, Vec<(u32, f32)>>,
}

impl LinkCorpus {
    /// Compares at most [`MAX_ISSUES`] and [`MAX_CHANGES`], the newest. Their order does not matter.
    pub fn new(mut issues: Vec<LinkableIssue>, mut changes: Vec<LinkableChange>) -> Self {
        issues.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| a.id.cmp(&b.id)));
        issues.truncate(MAX_ISSUES);
        changes.sort_by(|a, b| b.begun_at.cmp(&a.begun_at).then_with(|| a.id.cmp(&b.id)));
        changes.truncate(MAX_CHANGES);
        let mut reader = Reader::default();
        let mut of_issues: Vec<Text> =
            issues.iter_mut().map(|of| reader.read(&of.title, &of.text, std::mem::take(&mut of.vectors))).collect();
        let mut of_changes: Vec<Text> =
            changes.iter_mut().map(|of| reader.read(&of.title, &of.text, std::mem::take(&mut of.vectors))).collect();
        for text in of_issues.iter_mut().chain(&mut of_changes) {
            reader.weigh(text);
        }
        let mut with_term: HashMap<TermId, Vec<(u32, f32)>> = HashMap::new();
        for (at, text) in (0u32..).zip(&of_issues) {
            for (term, weight) in &text.terms {
                with_term.entry(*term).or_default().push((at, *weight));
            }
        }
        Self {
            issues: issues.into_iter().zip(of_issues).collect(),
            changes: changes.into_iter().zip(of_changes).collect(),
            named: reader.named,
            written: reader.written,
            with_term,
        }
    }

    /// The changes, the newest first.
    pub fn changes(&self) -> impl Iterator<Item = &LinkableChange> {
        self.changes.iter().map(|(change, _)| change)
    }

    /// The most likely issue of each of the changes, the newest change first, where its confidence is at least `least`.
    pub fn links<'a>(
        &'a self,
        wanted: impl Fn(&LinkableChange) -> bool + 'a,
        least: f32,
    ) -> impl Iterator<Item = (&'a LinkableChange, LinkCandidate)> + 'a {
        let wanted = self.changes.iter().filter(move |(change, _)| wanted(change));
        wanted.filter_map(move |(change, text)| Some((change, self.most_likely(change, text, least)?)))
    }

    /// Of equally likely ones the newest.
    fn most_likely(&self, change: &LinkableChange, text: &Text, least: f32) -> Option<LinkCandidate> {
        let words = self.words(text);
        let mut best: Option<LinkCandidate> = None;
        for (at, (issue, of_issue)) in self.issues.iter().enumerate() {
            if !was_open(issue, change) {
                continue;
            }
            let mut features = self.features(change, text, issue, of_issue, words[at]);
            let needed = best.as_ref().map_or(least, |best| best.score.confidence);
            if features.max_confidence() < needed {
                continue;
            }
            features.semantic = features.semantic.map(|_| nearest(&text.vectors, &of_issue.vectors));
            let score = features.score();
            if score.confidence >= least && best.as_ref().is_none_or(|best| score.value > best.score.value) {
                features.shared = self.shared(text, of_issue);
                best = Some(LinkCandidate { issue: issue.id.clone(), score: features.score() });
            }
        }
        best
    }

    /// Cosine of the words of a change with those of every issue.
    fn words(&self, text: &Text) -> Vec<f32> {
        let mut words = vec![0.0; self.issues.len()];
        for (term, weight) in &text.terms {
            for (at, of_issue) in self.with_term.get(term).into_iter().flatten() {
                words[*at as usize] += weight * of_issue;
            }
        }
        words
    }

    /// Everything but the vectors, which take longest.
    fn features(
        &self,
        change: &LinkableChange,
        text: &Text,
        issue: &LinkableIssue,
        of_issue: &Text,
        words: f32,
    ) -> Features {
        let before = || issue.comments.iter().filter(|(_, at)| *at < change.begun_at);
        let last = before().map(|(_, at)| *at).fold(issue.created_at, Ord::max);
        let semantic = (!text.vectors.is_empty() && !of_issue.vectors.is_empty()).then_some(0.0);
        let took_part = change.author.is_some() && before().any(|(author, _)| *author == change.author);
        let touched = self.touched(change, of_issue);
        Features { semantic, words, shared: vec![], touched, took_part, quiet_days: days(last, change.begun_at) }
    }

    fn touched(&self, change: &LinkableChange, of_issue: &Text) -> Vec<SharedName> {
        let names = of_issue.names.iter().filter(|name| change.touched.contains(*name));
        let mut touched: Vec<SharedName> = names
            .map(|name| SharedName {
                name: name.clone(),
                texts: self.named.get(name).copied().unwrap_or(1),
                of: self.texts(),
            })
            .collect();
        touched.sort_by(|a, b| a.texts.cmp(&b.texts).then_with(|| a.name.cmp(&b.name)));
        touched.truncate(MAX_NAMES);
        touched
    }

    fn texts(&self) -> u32 {
        u32::try_from(self.issues.len() + self.changes.len()).unwrap_or(u32::MAX)
    }

    /// The words that make two texts alike.
    fn shared(&self, one: &Text, other: &Text) -> Vec<String> {
        let mut shared: Vec<(f32, &str)> = Vec::new();
        for (term, weight) in &one.terms {
            if let Ok(at) = other.terms.binary_search_by_key(term, |(term, _)| *term) {
                let word = self.written.get(term).map_or("", String::as_str);
                shared.push((weight * other.terms[at].1, word));
            }
        }
        shared.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        shared.into_iter().take(MAX_SHARED).map(|(_, word)| word.to_owned()).collect()
    }
}

/// Whether an issue could be what a change is about: it was not closed when that was begun, and there before it ended.
fn was_open(issue: &LinkableIssue, change: &LinkableChange) -> bool {
    issue.closed_at.is_none_or(|closed| closed > change.begun_at)
        && change.ended_at.is_none_or(|ended| issue.created_at < ended)
}

fn days(from: Timestamp, to: Timestamp) -> f32 {
    (to.duration_since(from).as_secs_f32() / SECONDS_A_DAY).max(0.0)
}

/// Cosine of the nearest two.
fn nearest(some: &[Vec<f32>], others: &[Vec<f32>]) -> f32 {
    let pairs = some.iter().flat_map(|one| others.iter().map(move |other| (one, other)));
    pairs.map(|(one, other)| one.iter().zip(other).map(|(a, b)| a * b).sum::<f32>()).fold(-1.0, f32::max)
}

/// Reads texts and counts in how many of them each term and name stands.
#[derive(Default)]
struct Reader {
    terms: TermExtractor,
    texts: u32,
    with_term: HashMap<TermId, u32>,
    named: HashMap<String, u32>,
    written: HashMap<TermId, String>,
}

impl Reader {
    fn read(&mut self, title: &str, text: &str, vectors: Vec<Vec<f32>>) -> Text {
        let (title, text) = (NOISE.replace_all(title, " "), NOISE.replace_all(beginning(text), " "));
        let mut counts: HashMap<TermId, u32> = HashMap::new();
        for (part, times) in [(&title, TITLE_COUNTS), (&text, 1)] {
            self.terms.each(part, |term, word| {
                *counts.entry(term).or_default() += times;
                write(&mut self.written, term, word);
            });
        }
        let names: BTreeSet<String> = [&title, &text].into_iter().flat_map(|part| names(part)).collect();
        self.texts += 1;
        counts.keys().for_each(|term| *self.with_term.entry(*term).or_default() += 1);
        for name in &names {
            *self.named.entry(name.clone()).or_default() += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "counts of words of a text are small")]
        let mut terms: Vec<(TermId, f32)> = counts.into_iter().map(|(term, count)| (term, count as f32)).collect();
        terms.sort_unstable_by_key(|(term, _)| *term);
        Text { terms, names, vectors: vectors.into_iter().filter_map(unit).collect() }
    }

    /// Turns counts into what each term counts, once all texts are read.
    fn weigh(&self, text: &mut Text) {
        for (term, count) in &mut text.terms {
            *count = (1.0 + count.ln()) * self.rarity(*term);
        }
        let length = text.terms.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        text.terms.iter_mut().filter(|_| length > 0.0).for_each(|(_, weight)| *weight /= length);
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of texts are far below 2^24")]
    fn rarity(&self, term: TermId) -> f32 {
        let (all, of) = (self.texts as f32, self.with_term.get(&term).copied().unwrap_or(0) as f32);
        (1.0 + (all - of + 0.5) / (of + 0.5)).ln()
    }
}

/// Of the forms of a word the shortest stands for all, rather in small letters, whichever was read first.
fn write(written: &mut HashMap<TermId, String>, term: TermId, word: &str) {
    let better = |known: &String| (word.len(), known.as_str()) < (known.len(), word);
    if written.get(&term).is_none_or(better) {
        written.insert(term, word.to_owned());
    }
}

/// Words that look like names of code: `snake_case`, `camelCase`, `CAPITALS`.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| is_name(word)).map(str::to_owned).collect()
}

fn is_name(word: &str) -> bool {
    let bytes = word.as_bytes();
    let hump = || bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let capitals = || bytes.iter().all(|byte| !byte.is_ascii_lowercase()) && bytes.iter().any(u8::is_ascii_uppercase);
    bytes.len() >= MIN_NAME && !bytes[0].is_ascii_digit() && (bytes.contains(&b'_') || hump() || capitals())
}

fn beginning(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A vector with the length 1; `None` if it has none.
fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|x| *x /= length);
    (length > 0.0 && length.is_finite()).then_some(vector)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::id::{NodeId, ThreadId};

    fn day(day: i64) -> Timestamp {
        Timestamp::from_second(day * 86_400).unwrap()
    }

    fn issue(iid: u64, text: &str, opened: i64, closed: Option<i64>) -> LinkableIssue {
        LinkableIssue {
            id: ThreadId::issue("acme/shop", iid),
            title: text.to_owned(),
            text: String::new(),
            created_at: day(opened),
            closed_at: closed.map(day),
            comments: vec![],
            vectors: vec![],
        }
    }

    fn change(sha: u64, text: &str, begun: i64) -> LinkableChange {
        LinkableChange {
            id: NodeId::commit("acme/shop", &format!("{sha:040x}")),
            title: text.to_owned(),
            text: "Fixes #12, see https://example.com/issues/12 <!-- what does it do? -->".to_owned(),
            author: None,
            begun_at: day(begun),
            ended_at: Some(day(begun + 2)),
            touched: BTreeSet::new(),
            vectors: vec![],
        }
    }

    fn found(corpus: &LinkCorpus) -> Vec<(String, u64, f32)> {
        let links = corpus.links(|_| true, 0.0);
        links.map(|(change, link)| (change.id.to_string(), link.issue.iid, link.score.value)).collect()
    }

    #[test]
    fn only_issues_that_were_open_then_are_looked_at() {
        let change = || vec![change(1, "basket total", 10)];
        let told = |issue: LinkableIssue| found(&LinkCorpus::new(vec![issue], change())).len();
        assert_eq!(told(issue(1, "basket total", 5, None)), 1);
        assert_eq!(told(issue(1, "basket total", 5, Some(9))), 0, "closed before");
        assert_eq!(told(issue(1, "basket total", 5, Some(11))), 1, "closed later");
        assert_eq!(told(issue(1, "basket total", 11, None)), 1, "opened while it was under way");
        assert_eq!(told(issue(1, "basket total", 13, None)), 0, "opened when it was done");
    }

    #[test]
    fn references_addresses_and_comments_of_templates_say_nothing() {
        let mut reader = Reader::default();
        let text = reader.read("Fixes group/shop#12", "See !7, GH-3, https://a.example/b <!-- describe -->", vec![]);
        let words: BTreeSet<&str> = text.terms.iter().map(|(term, _)| reader.written[term].as_str()).collect();
        assert_eq!(words, BTreeSet::from(["Fixes", "See"]));
    }

    #[test]
    fn names_of_code_are_told_from_words() {
        let told: BTreeSet<String> = names("ecdh_hash, getUser and MAX_LEN in HTTPS; not A_b, Word or 0x1F_2");
        assert_eq!(told.iter().map(String::as_str).collect::<Vec<_>>(), ["HTTPS", "MAX_LEN", "ecdh_hash", "getUser"]);
    }

    proptest! {
        #[test]
        fn order_in_which_they_were_read_does_not_matter(
            texts in prop::collection::vec(("[a-d]{1,2}( [a-d]{1,2}){0,4}", 0i64..20), 2..12), cut in 0usize..12,
        ) {
            let corpus = |turned: bool| {
                let numbered: Vec<_> = (1u64..).zip(&texts).collect();
                let (issues, changes) = numbered.split_at(cut.min(numbered.len()));
                let mut issues: Vec<LinkableIssue> = issues.iter().map(|(at, (text, day))| issue(*at, text, *day, None)).collect();
                let mut changes: Vec<LinkableChange> = changes.iter().map(|(at, (text, day))| change(*at, text, *day)).collect();
                if turned {
                    issues.reverse();
                    changes.reverse();
                }
                found(&LinkCorpus::new(issues, changes))
            };
            prop_assert_eq!(corpus(false), corpus(true));
        }
    }
}
