//! Makes pairs of questions from what people wrote: asked once with everything and once without the answer, they show
//! whether search notices that the answer is gone.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::measure::Random;
use crate::{
    id::{ThreadId, ThreadKind, is_sha},
    text::words,
};

/// Most pairs that are made.
pub const MAX_PAIRS: usize = 1_000;
/// Words of a sentence that is asked about.
const SENTENCE: std::ops::RangeInclusive<usize> = 8..=30;
/// Words of it that no other story has.
const OWN_WORDS: usize = 2;
/// Length of a word that can tell a story from others, and of an identifier, in characters.
const OWN_WORD: usize = 6;
const IDENTIFIER: std::ops::RangeInclusive<usize> = 8..=60;

/// What a question is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PairKind {
    /// Why a title says what it says.
    Title,
    /// What was said about an identifier that one story has.
    Identifier,
    /// What was decided in an issue or merge request.
    Reference,
    /// Which merge request closed an issue.
    Link,
    /// Where a sentence stands that no other story has.
    Sentence,
}

impl PairKind {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Identifier => "identifier",
            Self::Reference => "reference",
            Self::Link => "link",
            Self::Sentence => "sentence",
        }
    }
}

/// An issue or merge request, as questions are made from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairSource {
    /// Which.
    pub id: ThreadId,
    /// Its title.
    pub title: String,
    /// The description and the notes of people, each in Markdown.
    pub texts: Vec<String>,
    /// Issues that it closes, or will.
    pub closes: Vec<ThreadId>,
    /// Whether it is closed itself.
    pub closed: bool,
}

/// A question with what answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// What it is made from.
    pub kind: PairKind,
    /// The question.
    pub question: String,
    /// References of what answers it: without these there is no answer.
    pub evidence: Vec<String>,
}

/// How a question was answered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether it was refused to answer.
    pub refused: bool,
    /// How sure the answer is, 0 to 1; a refusal has the sureness that was too little.
    pub confidence: f64,
}

/// What would be refused if answers that are less sure were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The least sureness of an answer that is given.
    pub confidence: f64,
    /// Share of the questions that would be refused with their evidence.
    pub before: f64,
    /// Share of them that would be refused without.
    pub after: f64,
}

/// How well it is noticed that an answer is gone.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PairReport {
    /// How many questions were asked.
    pub pairs: usize,
    /// Share of them that was refused with their evidence: wrongly.
    pub refused_before: f64,
    /// Share of them that was refused without: rightly.
    pub refused_after: f64,
    /// The same for every sureness that occurred, least first.
    pub curve: Vec<CurvePoint>,
}

impl PairReport {
    /// Sums up verdicts with the evidence and without.
    pub fn of(verdicts: &[(Verdict, Verdict)]) -> Self {
        let share = |count: usize| count as f64 / verdicts.len().max(1) as f64;
        let count = |is: &dyn Fn(&(Verdict, Verdict)) -> bool| share(verdicts.iter().filter(|of| is(of)).count());
        let mut levels: Vec<f64> = verdicts.iter().flat_map(|(a, b)| [a.confidence, b.confidence]).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let point = |confidence: f64| CurvePoint {
            confidence,
            before: count(&|(before, _)| before.confidence < confidence),
            after: count(&|(_, after)| after.confidence < confidence),
        };
        Self {
            pairs: verdicts.len(),
            refused_before: count(&|(before, _)| before.refused),
            refused_after: count(&|(_, after)| after.refused),
            curve: levels.into_iter().map(point).collect(),
        }
    }
}

/// At most `count` questions, of every kind as many as of the others as long as there are some. The same stories in any
/// order and the same seed make the same questions.
pub fn pairs(sources: &[PairSource], count: usize, seed: u64) -> Vec<Pair> {
    let mut sources: Vec<&PairSource> = sources.iter().collect();
    sources.sort_by(|a, b| a.id.cmp(&b.id));
    sources.dedup_by(|a, b| a.id == b.id);
    let corpus = Corpus::of(&sources);
    let mut kinds: BTreeMap<PairKind, Vec<Pair>> = BTreeMap::new();
    let mut asked = BTreeSet::new();
    for source in &sources {
        let new = corpus.questions(source).into_iter().filter(|(_, question)| asked.insert(question.clone()));
        for (kind, question) in new.collect::<Vec<_>>() {
            let evidence = corpus.evidence(&source.id);
            kinds.entry(kind).or_default().push(Pair { kind, question, evidence });
        }
    }
    let mut random = Random(seed);
    let mut left: Vec<Vec<Pair>> = kinds.into_values().collect();
    let mut drawn = Vec::new();
    let count = count.min(MAX_PAIRS);
    while drawn.len() < count && !left.is_empty() {
        for pairs in &mut left {
            if drawn.len() < count && !pairs.is_empty() {
                drawn.push(pairs.swap_remove(random.below(pairs.len())));
            }
        }
        left.retain(|pairs| !pairs.is_empty());
    }
    drawn
}

/// All stories: what is linked by closing is one.
struct Corpus {
    /// The first issue or merge request of the story that each is of.
    stories: BTreeMap<ThreadId, ThreadId>,
    /// Those that are closed.
    closed: BTreeSet<ThreadId>,
    /// The only story that has a word, in lower case, or an identifier, as it is; none if several have it.
    words: BTreeMap<String, Option<ThreadId>>,
    identifiers: BTreeMap<String, Option<ThreadId>>,
}

impl Corpus {
    fn of(sources: &[&PairSource]) -> Self {
        let mut corpus = Self {
            stories: BTreeMap::new(),
            closed: sources.iter().filter(|source| source.closed).map(|source| source.id.clone()).collect(),
            words: BTreeMap::new(),
            identifiers: BTreeMap::new(),
        };
        for source in sources {
            for other in &source.closes {
                corpus.join(&source.id, other);
            }
        }
        for source in sources {
            let story = corpus.story(&source.id);
            for text in source.texts.iter().chain([&source.title]) {
                for word in words(text).into_iter().filter(|word| word.chars().count() >= OWN_WORD) {
                    note(&mut corpus.words, word, &story);
                }
                for identifier in identifiers(text) {
                    note(&mut corpus.identifiers, identifier.to_owned(), &story);
                }
            }
        }
        corpus
    }

    fn story(&self, id: &ThreadId) -> ThreadId {
        self.stories.get(id).unwrap_or(id).clone()
    }

    fn join(&mut self, a: &ThreadId, b: &ThreadId) {
        let (a_story, b_story) = (self.story(a), self.story(b));
        let (first, second) = if a_story <= b_story { (a_story, b_story) } else { (b_story, a_story) };
        for id in [a, b] {
            self.stories.entry(id.clone()).or_insert_with(|| id.clone());
        }
        for story in self.stories.values_mut().filter(|story| **story == second) {
            *story = first.clone();
        }
    }

    /// References of all that is of the same story.
    fn evidence(&self, id: &ThreadId) -> Vec<String> {
        let story = self.story(id);
        let mut all: BTreeSet<String> =
            self.stories.iter().filter(|(_, of)| **of == story).map(|(id, _)| id.to_string()).collect();
        all.insert(id.to_string());
        all.into_iter().collect()
    }

    /// At most one question of each kind, of a merge request one for each issue that it closes.
    fn questions(&self, source: &PairSource) -> Vec<(PairKind, String)> {
        let mut questions = Vec::new();
        questions.extend(why(&source.title).map(|question| (PairKind::Title, question)));
        let own = |known: &BTreeMap<String, Option<ThreadId>>, word: &str| {
            known.get(word).is_some_and(|story| story.as_ref() == Some(&self.story(&source.id)))
        };
        let identifier = source.texts.iter().flat_map(|text| identifiers(text)).find(|id| own(&self.identifiers, id));
        questions.extend(identifier.map(|id| (PairKind::Identifier, format!("What was said about {id}?"))));
        if source.texts.len() > 1 {
            questions.push((PairKind::Reference, format!("What was decided in {}?", source.id.local_reference())));
        }
        if source.id.kind == ThreadKind::MergeRequest {
            let closed =
                |issue: &ThreadId| (PairKind::Link, format!("Which merge request closed {}?", issue.local_reference()));
            questions.extend(source.closes.iter().filter(|issue| self.closed.contains(issue)).map(closed));
        }
        let distinctive = |sentence: &&str| {
            let words = words(sentence);
            words.iter().filter(|word| own(&self.words, word)).count() >= OWN_WORDS
        };
        let sentence = source.texts.iter().skip(1).flat_map(|text| sentences(text)).find(distinctive);
        questions.extend(
            sentence.map(|said| {
                (PairKind::Sentence, format!("Where was it said that \"{}\"?", said.trim_end_matches('.')))
            }),
        );
        questions
    }
}

fn note(known: &mut BTreeMap<String, Option<ThreadId>>, word: String, story: &ThreadId) {
    let of = known.entry(word).or_insert_with(|| Some(story.clone()));
    if of.as_ref() != Some(story) {
        *of = None;
    }
}

/// Verbs that titles begin with, and what they become when it is done.
const VERBS: [(&str, &str); 32] = [
    ("add", "added"),
    ("allow", "allowed"),
    ("avoid", "avoided"),
    ("bump", "bumped"),
    ("cache", "cached"),
    ("change", "changed"),
    ("deprecate", "deprecated"),
    ("disable", "disabled"),
    ("document", "documented"),
    ("drop", "dropped"),
    ("enable", "enabled"),
    ("expose", "exposed"),
    ("fix", "fixed"),
    ("implement", "implemented"),
    ("improve", "improved"),
    ("introduce", "introduced"),
    ("limit", "limited"),
    ("move", "moved"),
    ("optimize", "optimized"),
    ("prevent", "prevented"),
    ("reduce", "reduced"),
    ("refactor", "refactored"),
    ("remove", "removed"),
    ("rename", "renamed"),
    ("replace", "replaced"),
    ("rework", "reworked"),
    ("retry", "retried"),
    ("simplify", "simplified"),
    ("split", "split"),
    ("support", "supported"),
    ("update", "updated"),
    ("use", "used"),
];
/// Words that begin what is said of the object of such a verb.
const JOINTS: [&str; 13] = [
    " to ",
    " with ",
    " from ",
    " by ",
    " in ",
    " into ",
    " for ",
    " on ",
    " as ",
    " when ",
    " if ",
    " instead ",
    " per ",
];

/// Words that belong to such a verb and not to its object.
const PARTICLES: [&str; 5] = ["up ", "out ", "off ", "down ", "back "];

/// `Why was the cart renamed to basket?` of `refactor: Rename the cart to basket`; none of a title that begins otherwise.
fn why(title: &str) -> Option<String> {
    let mut title = title.trim().trim_end_matches('.');
    while let Some((before, after)) = title.split_once(": ").filter(|(before, _)| !before.contains(' ')) {
        (_, title) = (before, after.trim_start());
    }
    let (verb, object) = title.split_once(' ')?;
    let (_, done) = VERBS.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(verb))?;
    let end = JOINTS.iter().filter_map(|joint| object.find(joint)).min().unwrap_or(object.len());
    let (object, rest) = object.split_at(end);
    let object = object.trim();
    let many = object.ends_with('s') && !object.ends_with("ss");
    let be = if many { "were" } else { "was" };
    let particle = PARTICLES.iter().any(|particle| object.starts_with(particle));
    (object.len() > 2 && !particle).then(|| format!("Why {be} {object} {done}{}?", rest.trim_end()))
}

/// Words with an underscore or a hump within.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let is_identifier = |word: &&str| {
        let hump =
            || word.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        IDENTIFIER.contains(&word.len())
            && word.is_ascii()
            && word.starts_with(|c: char| c.is_ascii_alphabetic())
            && (word.trim_matches('_').contains('_') || hump())
    };
    words_of(text).filter(is_identifier)
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Sentences of plain words, neither quoted from others nor code.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    let lines = text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence && !line.starts_with(['>', '|', '#', ' ', '\t'])
    });
    let plain = |sentence: &&str| {
        let words = sentence.split_whitespace().count();
        let names_commit =
            || words_of(sentence).any(|word| word.contains(|c: char| c.is_ascii_digit()) && is_sha(word));
        SENTENCE.contains(&words)
            && !names_commit()
            && sentence.starts_with(|c: char| c.is_uppercase())
            && !sentence.contains(['`', '"', '?', '[', '*', '<', '@', '#'])
            && !sentence.contains("://")
    };
    lines.flat_map(|line| line.split_inclusive(". ")).map(str::trim).filter(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(id: ThreadId, title: &str, texts: &[&str], closes: &[u64]) -> PairSource {
        PairSource {
            id,
            title: title.to_owned(),
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
            closes: closes.iter().map(|iid| ThreadId::issue("acme/shop", *iid)).collect(),
            closed: true,
        }
    }

    fn shop() -> Vec<PairSource> {
        vec![
            source(ThreadId::issue("acme/shop", 3), "Product pages are slow", &["load_product takes 900 ms"], &[]),
            source(
                ThreadId::merge_request("acme/shop", 1),
                "cache: Cache product pages in Redis",
                &[
                    "See load_product and expireByTag.",
                    "> Memcached forgets everything whenever somebody restarts the machine it runs on.\nI prefer this. \
                     Memcached forgets everything whenever somebody restarts the machine it runs on.",
                ],
                &[3],
            ),
            source(ThreadId::merge_request("acme/shop", 2), "Typos", &["product pages, machine"], &[]),
        ]
    }

    #[test]
    fn every_kind_is_made_with_the_whole_story_as_evidence() {
        let made = pairs(&shop(), 10, 1);
        let told: BTreeSet<(PairKind, &str)> = made.iter().map(|pair| (pair.kind, pair.question.as_str())).collect();
        let expected = [
            (PairKind::Title, "Why were product pages cached in Redis?"),
            (PairKind::Identifier, "What was said about load_product?"),
            (PairKind::Reference, "What was decided in !1?"),
            (PairKind::Link, "Which merge request closed #3?"),
            (
                PairKind::Sentence,
                "Where was it said that \"Memcached forgets everything whenever somebody restarts the machine it runs on\"?",
            ),
        ];
        assert_eq!(told, BTreeSet::from(expected));
        assert!(made.iter().all(|pair| pair.evidence == ["acme/shop!1", "acme/shop#3"]), "{made:#?}");
    }

    #[test]
    fn the_same_seed_makes_the_same_questions_whatever_the_order() {
        let (forth, mut back) = (shop(), shop());
        back.reverse();
        assert_eq!(pairs(&forth, 3, 7), pairs(&back, 3, 7));
        let kinds: BTreeSet<PairKind> = pairs(&forth, 5, 7).iter().map(|pair| pair.kind).collect();
        assert_eq!(kinds.len(), 5, "one of each");
        assert!(pairs(&[], 5, 7).is_empty());
    }

    #[test]
    fn titles_become_questions_if_they_begin_with_what_was_done() {
        let check = |title: &str, expected: Option<&str>| assert_eq!(why(title).as_deref(), expected, "{title}");
        check("refactor: Rename the cart to basket.", Some("Why was the cart renamed to basket?"));
        check("Draft: ci: drop old runners", Some("Why were old runners dropped?"));
        check("Add process", Some("Why was process added?"));
        check("Search shows products that are out of stock", None);
        check("Split up the cart", None);
        check("Fix", None);
        check("", None);
    }

    #[test]
    fn a_curve_tells_what_every_level_would_refuse() {
        let verdict = |confidence: f64| Verdict { refused: confidence < 0.5, confidence };
        let report = PairReport::of(&[(verdict(0.9), verdict(0.2)), (verdict(0.4), verdict(0.6))]);
        assert_eq!((report.pairs, report.refused_before, report.refused_after), (2, 0.5, 0.5));
        let curve: Vec<_> = report.curve.iter().map(|point| (point.confidence, point.before, point.after)).collect();
        assert_eq!(curve, [(0.2, 0.0, 0.0), (0.4, 0.0, 0.5), (0.6, 0.5, 0.5), (0.9, 0.5, 1.0)]);
        assert_eq!(PairReport::of(&[]), PairReport::default());
    }
}
