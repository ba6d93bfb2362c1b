//! Selects the pieces that answer: by the words of the question, weighted by rarity; by similarity, for the best 48; by
//! their neighbors; by whether they sound like an answer of the kind that is asked for; and by how well the search ranks the
//! story that they are of. Up to five are quoted, with neighbors on the same subject.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::LazyLock,
    time::Duration,
};

use backstory_model::{
    question::{Question, QuestionKind},
    reason::{ReasonCue, gives_reason, may_explain, reason_cue},
    sentence::{PieceKind, are_of_paragraph, begins_list_item, has_only_links, is_foreign, word_overlap},
    text::words,
};
use regex::Regex;

use super::{
    evidence::share,
    stories::{Passage, Role, Story},
};
use crate::resources::Resources;

/// Most quotations of an answer.
pub(super) const MAX_QUOTES: usize = 5;
/// Pieces that are compared with the question by meaning.
const MAX_EMBEDDED: usize = 48;
/// Longest time for that.
const EMBED_TIME: Duration = Duration::from_secs(5);
/// A quotation has at least this share of the score that the first one has, whatever story it is of.
const LEAST_SHARE: f32 = 0.72;
/// Share of the best one's score that pieces keep at most which begin no quotation: they may still stand beside it.
const BEHIND: f32 = 0.7;
/// Pieces that share more of their words say the same.
const SAME: f32 = 0.7;
/// Longest quotation of several pieces, in bytes.
const MAX_QUOTE: usize = 500;
/// A piece joins one beside it that is quoted if it has at least this share of its score.
const JOINS: f32 = 0.5;
/// Shortest piece that says something, in characters.
const SHORT: usize = 25;
/// Fewest content words of a short sentence that says something, and most words of a short one.
const MIN_CONTENT: usize = 2;
const SHORT_WORDS: usize = 3;
/// The nearness of sentences to a question lies between these.
const FAR: f32 = 0.1;
const NEAR: f32 = 0.7;

/// What the parts of a score weigh.
const WORDS: f32 = 0.20;
const MEANING: f32 = 0.50;
const BESIDE: f32 = 0.15;
const STORY: f32 = 0.4;
const CUE: f32 = 0.06;
/// What a definition says of itself gains where the question asks for just that.
const DEFINITION: f32 = 0.6;
/// What the first line of a commit's message loses: it says what was done, as a title does.
const SUBJECT: f32 = 0.15;
/// Without vectors their weight goes to the words.
const WORDS_ALONE: f32 = WORDS + MEANING;

/// A piece and how well it answers.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    /// Which story.
    pub(super) story: usize,
    /// Which of its passages.
    pub(super) passage: usize,
    /// How well it answers; only comparable within one question.
    pub(super) score: f32,
    /// The same, whatever story it is of.
    alone: f32,
    /// Which of the question's words it, the pieces beside it or its title has.
    pub(super) around: Vec<bool>,
    /// How near its meaning is to the question's, if there are vectors.
    pub(super) meaning: Option<f32>,
    /// Share of the question's words that it has itself.
    own: f32,
}

/// The pieces of stories by the words of the question, the best first, whatever story they are of: whether there is an answer
/// at all depends on them.
pub(super) fn score_by_words(question: &Question, weights: &[f32], stories: &[Story]) -> Vec<Scored> {
    let mut scored: Vec<Scored> = Vec::new();
    for (place, story) in stories.iter().enumerate() {
        let found: Vec<Vec<bool>> = story.passages.iter().map(|passage| question.found_in(&passage.stems)).collect();
        let titles = story.titles().map(|stems| question.found_in(&stems)).collect::<Vec<_>>();
        for (at, passage) in story.passages.iter().enumerate() {
            let is_beside = |other: &usize| story.passages.get(*other).is_some_and(|o| o.document == passage.document);
            let mut around = found[at].clone();
            for other in [at.wrapping_sub(1), at + 1].into_iter().filter(is_beside) {
                unite(&mut around, &found[other]);
            }
            unite(&mut around, &titles[passage.document]);
            let own = share(weights, &found[at]);
            // A title does not speak for itself.
            let beside = if passage.role == Role::Subject { 0.0 } else { share(weights, &around) };
            let alone = WORDS_ALONE * own
                + BESIDE * beside
                + CUE * cue_score(question.kind, passage, story.text(passage))
                + if passage.role == Role::Definition { DEFINITION } else { 0.0 }
                - penalty(question.kind, passage, story.text(passage));
            let score = alone + STORY / (1 + place) as f32;
            scored.push(Scored { story: place, passage: at, score, alone, around, meaning: None, own });
        }
    }
    sort_by(&mut scored, |one| one.alone);
    scored
}

/// Adds words that another text has.
fn unite(words: &mut [bool], others: &[bool]) {
    words.iter_mut().zip(others).for_each(|(word, other)| *word |= other);
}

/// Compares the best pieces with the question by meaning, and orders them by that and by their stories; the others stay
/// behind them. False if they could not be compared; then words alone decide.
pub(super) async fn add_meaning(resources: &Resources, query: &str, stories: &[Story], scored: &mut [Scored]) -> bool {
    let nearest = scored.len().min(MAX_EMBEDDED);
    let (best, _) = scored.split_at_mut(nearest);
    let passage = |one: &Scored| &stories[one.story].passages[one.passage];
    let texts: Vec<String> = best.iter().map(|one| stories[one.story].text(passage(one)).to_owned()).collect();
    let vectors = async {
        let query = resources.embedder().embed_query(query).await.ok()?;
        Some((query, resources.embedder().embed_documents(&texts).await.ok()?))
    };
    let Ok(Some((query, vectors))) = tokio::time::timeout(EMBED_TIME, vectors).await else {
        order(scored);
        return false;
    };
    for (one, vector) in best.iter_mut().zip(&vectors) {
        let nearness = resources.embedder().nearness(query.iter().zip(vector).map(|(a, b)| a * b).sum());
        let meaning = ((nearness - FAR) / (NEAR - FAR)).clamp(0.0, 1.0);
        let gained = MEANING * (meaning - one.own);
        one.score += gained;
        one.alone += gained;
        one.meaning = Some(nearness);
    }
    order(best);
    true
}

/// Orders by how well they answer, the best first; how well the search ranks their stories counts, too.
pub(super) fn order(scored: &mut [Scored]) {
    sort_by(scored, |one| one.score);
}

fn sort_by(scored: &mut [Scored], value: impl Fn(&Scored) -> f32) {
    scored.sort_by(|a, b| value(b).total_cmp(&value(a)).then_with(|| (a.story, a.passage).cmp(&(b.story, b.passage))));
}

/// Whether a quotation may begin with a piece: a title is near to the question and says nothing about it, nor does `nit:`.
pub(super) fn is_quotable(one: &Scored, stories: &[Story]) -> bool {
    let story = &stories[one.story];
    let passage = &story.passages[one.passage];
    passage.kind != PieceKind::Heading && one.alone > 0.0 && !is_bare(passage, story.text(passage))
}

/// Whether a piece is a sentence of hardly a word, or a row of badges. In some scripts no blanks divide words.
fn is_bare(passage: &Passage, text: &str) -> bool {
    let is_prose = passage.kind == PieceKind::Prose && passage.role != Role::Definition;
    let is_short = text.is_ascii() && text.split_whitespace().count() <= SHORT_WORDS;
    let says_little = is_short && passage.stems.len() < MIN_CONTENT && !gives_reason(text);
    is_prose && (says_little || has_only_links(text))
}

/// Puts pieces behind those that may begin a quotation; `leads` tells of each whether it may.
pub(super) fn restrict_leads(scored: &mut [Scored], leads: &[bool]) {
    let first = scored.iter().zip(leads).find(|(_, leads)| **leads);
    let (score, alone) = first.map_or((0.0, 0.0), |(one, _)| (one.score, one.alone));
    for (one, _) in scored.iter_mut().zip(leads).filter(|(_, leads)| !**leads) {
        one.score = one.score.min(BEHIND * score);
        one.alone = one.alone.min(BEHIND * alone);
    }
    order(scored);
}

/// What to quote: pieces that stand together in one document.
#[derive(Clone, Debug)]
pub(super) struct Quote {
    /// Which story.
    pub(super) story: usize,
    /// The first and the last of its passages.
    pub(super) passages: (usize, usize),
    /// Which of the story's documents, and which bytes of it.
    place: (usize, Range<usize>),
    stems: BTreeSet<String>,
}

impl Quote {
    /// Which of the story's documents, and which bytes of it.
    pub(super) fn place(&self) -> (usize, Range<usize>) {
        self.place.clone()
    }

    /// Whether a part of the same text is quoted by both.
    fn overlaps(&self, other: &Self) -> bool {
        let ((document, range), (of_other, beside)) = (&self.place, &other.place);
        self.story == other.story && document == of_other && range.start < beside.end && beside.start < range.end
    }

    /// Quotes what another does too, as long as it fits.
    fn merge(&mut self, other: Self) {
        let (range, beside) = (&self.place.1, &other.place.1);
        let whole = range.start.min(beside.start)..range.end.max(beside.end);
        if whole.len() <= MAX_QUOTE {
            self.place.1 = whole;
            self.stems.extend(other.stems);
        }
    }
}

/// What to quote, the best first: none that says what a better one says. What is beside a piece and also mentions
/// the question is quoted with it, because a reason often follows what it is the reason of.
pub(super) fn choose_quotes(scored: &[Scored], stories: &[Story], most: usize) -> Vec<Quote> {
    let passage = |one: &Scored| &stories[one.story].passages[one.passage];
    let alone: BTreeMap<(usize, usize), f32> = scored.iter().map(|one| ((one.story, one.passage), one.alone)).collect();
    let quotable = || scored.iter().filter(|one| is_quotable(one, stories));
    let least = quotable().next().map_or(0.0, |first| first.alone * LEAST_SHARE);
    let mut chosen: Vec<Quote> = Vec::new();
    for one in quotable().filter(|one| one.alone >= least) {
        let taken = |at: usize| {
            let within =
                |quote: &Quote| quote.story == one.story && (quote.passages.0..=quote.passages.1).contains(&at);
            chosen.iter().any(within)
        };
        if taken(one.passage) {
            continue;
        }
        let joins = |at: usize| !taken(at) && alone.get(&(one.story, at)).is_some_and(|s| *s >= JOINS * one.alone);
        let quote = extend_quote(one, &stories[one.story], joins, |at| !taken(at));
        let said = |known: &Quote| word_overlap(&known.stems, &passage(one).stems) > SAME;
        // Parts of a file lie in one another.
        if let Some(known) = chosen.iter_mut().find(|known| known.overlaps(&quote)) {
            known.merge(quote);
        } else if !chosen.iter().any(said) {
            chosen.push(quote);
        }
        if chosen.len() == most {
            break;
        }
    }
    chosen
}

/// Adds to quotations that give no reason the sentence behind them in their paragraph that may give it, as long as it fits.
pub(super) fn add_reasons(quotes: &mut [Quote], stories: &[Story]) {
    for at in 0..quotes.len() {
        let (quote, next) = (&quotes[at], quotes[at].passages.1 + 1);
        let has_next =
            |other: &Quote| other.story == quote.story && (other.passages.0..=other.passages.1).contains(&next);
        if !quotes.iter().any(has_next)
            && let Some(end) = end_of_reason(quote, &stories[quote.story])
        {
            (quotes[at].passages.1, quotes[at].place.1.end) = (next, end);
        }
    }
}

/// Where the sentence ends that stands behind a quotation in its paragraph and may give the reason that this does not.
fn end_of_reason(quote: &Quote, story: &Story) -> Option<usize> {
    let (own, next) = (&story.passages[quote.passages.1], story.passages.get(quote.passages.1 + 1)?);
    if next.document != own.document || own.kind != PieceKind::Prose || next.kind != PieceKind::Prose {
        return None;
    }
    let text = &story.documents[own.document].text;
    let is_beside = are_of_paragraph(text, &own.range, &next.range);
    let may_explain = may_explain(story.text(next)) && !story.text(next).trim_end().ends_with('?');
    let fits = next.range.end.saturating_sub(quote.place.1.start) <= MAX_QUOTE;
    (is_beside && may_explain && fits && !gives_reason(&text[quote.place.1.clone()])).then_some(next.range.end)
}

/// A piece with those beside it in the same document that join it, as long as they fit; what follows comes first. What a
/// colon introduces joins if it is free: the next piece, or the items of a list. Between them stands nothing that others said.
fn extend_quote(one: &Scored, story: &Story, joins: impl Fn(usize) -> bool, is_free: impl Fn(usize) -> bool) -> Quote {
    let passages = &story.passages;
    let own = &passages[one.passage];
    let text = &story.documents[own.document].text;
    let (mut first, mut last) = (one.passage, one.passage);
    let is_there =
        |at: usize| passages.get(at).is_some_and(|o| o.document == own.document && o.kind != PieceKind::Heading);
    let is_introduced = |first: usize, at: usize| {
        let lead = (first..at).rev().find(|lead| text[passages[*lead].range.clone()].ends_with(':'));
        let is_of_list = |at: usize| {
            let before = text.get(passages[at - 1].range.end..passages[at].range.start);
            begins_list_item(text, passages[at].range.start) || before.is_some_and(|before| !before.contains('\n'))
        };
        lead.is_some_and(|lead| at == lead + 1 || (lead + 1..=at).all(is_of_list))
    };
    // Parts of a file may lie in one another, with nothing between them.
    let is_joined = |before: usize, after: usize| {
        let between = text.get(passages[before].range.end..passages[after].range.start);
        between.is_none_or(|between| !between.lines().any(is_foreign))
    };
    let fits = |first: usize, last: usize| {
        let (start, end) = (passages[first].range.start, passages[last].range.end);
        start < end && end - start <= MAX_QUOTE
    };
    let are_badges = |at: usize| has_only_links(&text[passages[at].range.clone()]);
    loop {
        let next = last + 1;
        let is_near = |at: usize| joins(at) && !are_badges(at);
        let follows = is_there(next) && (is_near(next) || (is_introduced(first, next) && is_free(next)));
        if follows && is_joined(last, next) && fits(first, next) {
            last = next;
        } else if first > 0
            && is_there(first - 1)
            && is_near(first - 1)
            && is_joined(first - 1, first)
            && fits(first - 1, last)
        {
            first -= 1;
        } else {
            break;
        }
    }
    let stems = passages[first..=last].iter().flat_map(|passage| passage.stems.iter().cloned()).collect();
    let place = (own.document, passages[first].range.start..passages[last].range.end);
    Quote { story: one.story, passages: (first, last), place, stems }
}

const DIRECTIONS: [&str; 18] = [
    "use ",
    "run ",
    "set ",
    "call ",
    "configure",
    "pass ",
    "add ",
    "build",
    "compile",
    "install",
    "define",
    "enable",
    "disable",
    "try ",
    "make ",
    "you can",
    "you need",
    "you could",
];
const ORIGINS: [&str; 11] = [
    "suggest",
    "propos",
    "thanks to",
    "idea",
    "maintainer",
    "written by",
    "credit",
    "contribut",
    "implemented by",
    "reported by",
    "i am ",
];
static TIMES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:(?:19|20)\d\d|v?\d+\.\d+(?:\.\d+)?|\d+ (?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)|january|february|march|april|june|july|august|september|october|november|december|yesterday|today)\b",
    )
    .expect("the pattern is constant")
});

/// Whether a text names a time or a version.
pub(super) fn tells_time(text: &str) -> bool {
    TIMES.is_match(text)
}

/// How much a piece sounds like an answer of the kind that is asked for, 0 to 1.
fn cue_score(kind: QuestionKind, passage: &Passage, text: &str) -> f32 {
    let lower = text.to_lowercase();
    let any = |cues: &[&str]| cues.iter().any(|cue| lower.contains(cue));
    match kind {
        QuestionKind::Why => match reason_cue(text) {
            Some(ReasonCue::Outright) => 1.0,
            Some(ReasonCue::Likely | ReasonCue::Hint) => 0.5,
            None => 0.0,
        },
        QuestionKind::How if passage.kind == PieceKind::Code => 0.8,
        QuestionKind::How if any(&DIRECTIONS) || text.contains('`') => 0.8,
        QuestionKind::Who if text.contains('@') || any(&ORIGINS) => 1.0,
        QuestionKind::When if TIMES.is_match(text) => 1.0,
        QuestionKind::What => 0.4,
        _ => 0.0,
    }
}

/// What makes a piece no answer: it asks, says next to nothing, is a title, or code where a reason is asked for.
fn penalty(kind: QuestionKind, passage: &Passage, text: &str) -> f32 {
    let mut fault = 0.0;
    if text.trim_end().ends_with('?') {
        fault += 0.15;
    }
    if text.chars().count() < SHORT || words(text).len() < 4 {
        fault += 0.12;
    }
    if passage.kind == PieceKind::Code && kind != QuestionKind::How && kind != QuestionKind::What {
        fault += 0.08;
    }
    if passage.kind == PieceKind::Heading {
        fault += 0.1;
    }
    if passage.role == Role::Subject {
        fault += SUBJECT;
    }
    fault
}
