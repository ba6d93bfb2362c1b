//! Judges whether the results can answer a question at all: a pure function of words, how many documents have them, and
//! which of them each result group has.

/// Least share of a question's words, weighted by rarity, that one story must have.
const LEAST_COVERAGE: f32 = 0.4;
/// Least share of them for a question whose meaning is near to what a story says, in other words.
const LEAST_NEAR_COVERAGE: f32 = 0.25;
/// Cosine from which a story says the same in other words.
const NEAR: f32 = 0.5;
/// What a word of the question before counts where the question that goes on from there has words of its own.
const OF_BEFORE: f32 = 0.4;

/// A content word of the question.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionWord {
    /// As it is written.
    pub word: String,
    /// Whether it names one thing.
    pub named: bool,
    /// How many documents have it; counting may stop at some hundreds.
    pub documents: u64,
}

/// What is asked, and of how much.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightedQuestion {
    /// The content words of the question, then those of the question before, if it goes on from one.
    pub words: Vec<QuestionWord>,
    /// How many of them are the question's own; 0 if all count alike.
    pub own: usize,
    /// How many documents were searched.
    pub documents: u64,
    /// Issues, merge requests and commits that the question names and that are not there.
    pub absent: Vec<String>,
    /// Whether one that it names was read: then that is what it is about.
    pub named: bool,
    /// What stands in quotation marks in the question and in no story.
    pub unsaid: Vec<String>,
}

impl WeightedQuestion {
    /// How much each word tells, in the order of the words: the rarer, the more, and one of the question before less.
    pub fn weights(&self) -> Vec<f32> {
        let all = self.documents.max(1) as f32;
        let weight = |(at, word): (usize, &QuestionWord)| {
            let share = if self.own > 0 && at >= self.own { OF_BEFORE } else { 1.0 };
            share * (1.0 + all / (1.0 + word.documents as f32)).ln()
        };
        self.words.iter().enumerate().map(weight).collect()
    }
}

/// A story that may hold the answer: an issue, merge request, commit or file with all that belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its reference.
    pub id: String,
    /// Which of the question's words its text has, in their order.
    pub covered: Vec<bool>,
    /// Cosine of its nearest sentence to the question, if vectors are there.
    pub nearest: Option<f32>,
}

/// Whether there is enough to answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Whether there is.
    pub answerable: bool,
    /// How many documents were searched, and references of the stories that were read.
    pub searched: (u64, Vec<String>),
    /// What was looked for and not found, for a person.
    pub missing: Vec<String>,
    /// How well the best story fits, 0 to 1: the share of the question's words that it has, times how near its nearest
    /// sentence is.
    pub confidence: f32,
}

/// Judges. Without a story there is no answer; nor where a thing that the question names occurs nowhere; nor where no
/// story has enough of its words.
pub fn judge(asked: &WeightedQuestion, candidates: &[Candidate]) -> Verdict {
    let searched = (asked.documents, candidates.iter().map(|candidate| candidate.id.clone()).collect());
    let confidence = confidence(asked, candidates);
    let refuse = |missing| Verdict { answerable: false, searched: (asked.documents, vec![]), missing, confidence };
    if !asked.absent.is_empty() {
        return refuse(asked.absent.iter().map(|id| format!("{id} is not in the index")).collect());
    }
    if !asked.unsaid.is_empty() {
        return refuse(asked.unsaid.iter().map(|quote| format!("\u{201c}{quote}\u{201d} is said nowhere")).collect());
    }
    if asked.named && !candidates.is_empty() {
        let searched = (asked.documents, candidates.iter().map(|candidate| candidate.id.clone()).collect());
        return Verdict { answerable: true, searched, missing: vec![], confidence };
    }
    if asked.words.is_empty() {
        return refuse(vec!["the question names nothing that could be looked for".to_owned()]);
    }
    let nowhere: Vec<&QuestionWord> = asked.words.iter().filter(|word| word.documents == 0).collect();
    let named: Vec<String> = (nowhere.iter())
        .filter(|word| word.named)
        .map(|word| format!("'{}' occurs in no document", word.word))
        .collect();
    if !named.is_empty() {
        return Verdict { searched, ..refuse(named) };
    }
    let Some(best) = best(asked, candidates) else {
        return refuse(vec!["no document has any of these words".to_owned()]);
    };
    let near = candidates.iter().filter_map(|candidate| candidate.nearest).fold(0.0, f32::max) >= NEAR;
    let least = if near { LEAST_NEAR_COVERAGE } else { LEAST_COVERAGE };
    if best.0 >= least {
        return Verdict { answerable: true, searched, missing: vec![], confidence };
    }
    let lacking = asked.words.iter().zip(&best.1.covered).filter(|(_, covered)| !**covered);
    let lacking: Vec<String> = lacking.map(|(word, _)| format!("'{}'", word.word)).collect();
    let missing = format!("nothing mentions {} together with the rest of the question", lacking.join(", "));
    Verdict { searched, ..refuse(vec![missing]) }
}

fn confidence(asked: &WeightedQuestion, candidates: &[Candidate]) -> f32 {
    let weights = asked.weights();
    let fit = |candidate: &Candidate| {
        let share = share(&weights, candidate);
        share * candidate.nearest.unwrap_or(share).clamp(0.0, 1.0)
    };
    candidates.iter().map(fit).fold(0.0, f32::max)
}

fn share(weights: &[f32], candidate: &Candidate) -> f32 {
    let total: f32 = weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    let covered = weights.iter().zip(&candidate.covered).filter(|(_, covered)| **covered);
    covered.map(|(weight, _)| weight).sum::<f32>() / total
}

/// The story with most of the words, and its share of them.
fn best<'a>(asked: &WeightedQuestion, candidates: &'a [Candidate]) -> Option<(f32, &'a Candidate)> {
    let weights = asked.weights();
    let scored = candidates.iter().map(|candidate| (share(&weights, candidate), candidate));
    scored.rev().max_by(|a, b| a.0.total_cmp(&b.0))
}
