//! Judges whether the results can answer a question at all: a pure function of words, how many documents have them, and
//! which of them each result group and each of its passages has.

/// Least evidence of the best passage.
const LEAST_EVIDENCE: f32 = 0.285;
/// What the fit of its story counts of that; the rest is the fit of the passage itself.
const OF_STORY: f32 = 2.0 / 3.0;
/// How often the fit of a passage counts where that of its story is not known.
const ALONE: f32 = 1.9;
/// Share of the question's words that a story must have somewhere, or its fit does not count.
const LEAST_OF_STORY: f32 = 0.33;
/// The same of a short question, and of the number of its words: who asks why the cart was rewritten in Haskell does not ask about
/// whatever else has to do with Haskell.
const LEAST_OF_SHORT: f32 = 0.5;
/// Most content words of a short question.
const SHORT: usize = 4;
/// Cosine that few passages surpass that answer a question.
const NEAR: f32 = 0.8;
/// Share of a question's words from which a passage is about it, however far its meaning seems.
pub(super) const SURE: f32 = 0.75;
/// A name that more than one of so many documents have does not tell what a question is about,
const COMMON: u64 = 20;
/// unless it is in no more than so many.
const FEW: u64 = 3;
/// Words besides regular past forms that a text may say in other words: forms of verbs, words that ask, and words for the
/// project itself. That no document has one tells nothing of what a question is about.
const REPLACEABLE: &str = "appear appears avoid avoids bad benefit best better bought break breaks broke broken \
    brought built cause causes caveat caveats choose chooses chose chosen code codebase concern cost deal decide \
    decides deprecate deprecates deprecation difference downside downsides drawback drawbacks drawn drew driven \
    drove exist exists explain explains explanation fallen fell found goal good grew grown handle handles happen \
    happens held hidden idea important kind led left lost main maintainer maintainers mean means meant motivation \
    occur occurs opt overhaul paid pick picks pitfall pitfalls point possible prefer prefers problem program project \
    purpose rationale refactor refactoring repo repository rework reworking rewritten rewrote rose run runs safe \
    sent set shown software sold spent stood stop stops threw thrown told tradeoff tradeoffs understood upside \
    version work workaround workarounds works worse worst wrong";
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
    /// Whether it is common in English, or what was read has a word that begins like it: others may stand for it.
    pub is_familiar: bool,
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
    /// Whether a thing that no document mentions calls for more evidence: in questions, not in tasks, which may be to add
    /// it.
    pub is_strict: bool,
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

    /// Whether a story with these words of the question may be about it: those of the question before do not count.
    fn has_enough(&self, weights: &[f32], covered: &[bool]) -> bool {
        let own = if self.own > 0 { self.own } else { weights.len() };
        let own = own.min(weights.len()).min(covered.len());
        let (weights, covered) = (&weights[..own], &covered[..own]);
        if own > SHORT {
            return share(weights, covered) >= LEAST_OF_STORY;
        }
        let number = covered.iter().filter(|covered| **covered).count() as f32;
        share(weights, covered).min(number / own.max(1) as f32) >= LEAST_OF_SHORT
    }

    /// The passage that fits best: of those that are surely about the question, or of all. Words stand for the meaning where
    /// there is no vector. The fit of its story counts for one that has a word of the question.
    fn best<'a>(&self, weights: &[f32], candidates: &[&'a Candidate]) -> Option<Best<'a>> {
        let fit_of = |of: &Candidate| of.fit.map(|fit| if self.has_enough(weights, &of.covered) { fit } else { 0.0 });
        let passages = candidates.iter().flat_map(|of| of.passages.iter().map(move |passage| (passage, fit_of(of))));
        let measured = passages.map(|(passage, of_story)| {
            let share = share(weights, &passage.covered);
            let fit = share * passage.meaning.unwrap_or(share).clamp(0.0, 1.0);
            Best { passage, share, evidence: evidence(fit, of_story.filter(|_| share > 0.0)) }
        });
        let rank = |of: &Best<'_>| if of.share >= SURE { 1.0 + of.share } else { of.evidence };
        // Of equal ones the first.
        measured.reduce(|best, other| if rank(&other) > rank(&best) { other } else { best })
    }

    /// The words that no document has, with their places. What is found in a candidate is in one, whatever the counts say:
    /// who wrote a document is not among its words.
    fn words_of_no_document(&self, candidates: &[Candidate]) -> Vec<(usize, &QuestionWord)> {
        let is_found = |at: usize| candidates.iter().any(|candidate| candidate.covered.get(at) == Some(&true));
        self.words.iter().enumerate().filter(|(at, word)| word.documents == 0 && !is_found(*at)).collect()
    }

    /// The words that no document has and that stand for what the question itself is about. However near in meaning something
    /// else is: who asks about a rare thing means that one. Where no meaning is known, a common word counts as much.
    fn things_of_no_document(&self, candidates: &[Candidate]) -> Vec<&QuestionWord> {
        let mut passages = candidates.iter().flat_map(|candidate| &candidate.passages).peekable();
        if passages.peek().is_none() {
            return Vec::new();
        }
        let is_by_words = passages.all(|passage| passage.meaning.is_none());
        let nowhere = self.words_of_no_document(candidates).into_iter();
        let things = nowhere.filter(|(at, word)| self.is_about(*at, word) && (is_by_words || !word.is_familiar));
        things.map(|(_, word)| word).collect()
    }

    /// Whether a word that no document has stands for a thing that the question itself is about.
    fn is_about(&self, at: usize, word: &QuestionWord) -> bool {
        (self.own == 0 || at < self.own) && !is_replaceable(&word.word)
    }
}

/// Whether a text that answers may use another word instead of this one.
fn is_replaceable(word: &str) -> bool {
    let word = word.to_lowercase();
    word.ends_with("ed") || REPLACEABLE.split_whitespace().any(|known| known == word)
}

/// A story that may hold the answer: an issue, merge request, commit or file with all that belongs to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// Its reference.
    pub id: String,
    /// Which of the question's words its text has, in their order.
    pub covered: Vec<bool>,
    /// How well it fits as a whole by words and meaning, 0 to 1, as the search says; `None` if one of them did not count.
    pub fit: Option<f32>,
    /// Its passages.
    pub passages: Vec<PassageFit>,
}

/// How a passage stands to the question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassageFit {
    /// Which of the question's words it, what is beside it or its title has, in their order.
    pub covered: Vec<bool>,
    /// Cosine to the question, if there is a vector.
    pub meaning: Option<f32>,
}

/// Whether there is enough to answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Whether there is.
    pub answerable: bool,
    /// How many documents were searched, and references of the stories that were read.
    pub searched: (u64, Vec<String>),
    /// Why there is not, a sentence each.
    pub missing: Vec<String>,
    /// Places of the words of the question that the best passage lacks, unless it is surely about the question.
    pub lacking: Vec<usize>,
    /// How much evidence there is, 0 to 1: how well the best passage fits, which is the share of the question's words that it has
    /// times how near it is, and how well its story does.
    pub confidence: f32,
    /// References of the stories that have every rare name of the question: only these can answer it.
    pub about: Vec<String>,
    /// Words of the question that no document has, for which it is refused.
    pub nowhere: Vec<String>,
}

/// Judges. Without a story there is no answer; nor where a thing that the question names occurs nowhere, or in no story
/// that was found; nor where an uncommon word of it does, unless a passage is surely about the rest; nor where no passage and
/// its story fit well enough. Where no meaning is known and some other thing of a question occurs nowhere, a
/// passage must surely be about it. What a whole story has, over many pages, is not enough: a passage must have some of the
/// question's words, too.
pub fn judge(asked: &WeightedQuestion, candidates: &[Candidate]) -> Verdict {
    let ids = |of: &[&Candidate]| of.iter().map(|candidate| candidate.id.clone()).collect::<Vec<_>>();
    let all: Vec<&Candidate> = candidates.iter().collect();
    let weights = asked.weights();
    let confidence = asked.best(&weights, &all).map_or(0.0, |best| best.evidence);
    let nothing = Verdict { searched: (asked.documents, vec![]), confidence, ..Verdict::default() };
    let refuse = |missing: Vec<String>| Verdict { missing, ..nothing.clone() };
    if !asked.absent.is_empty() {
        return refuse(asked.absent.iter().map(|id| format!("{id} is not in the index")).collect());
    }
    if !asked.unsaid.is_empty() {
        let unsaid = |quote: &String| format!("\u{201c}{quote}\u{201d} is said in none of the texts that fit best");
        return refuse(asked.unsaid.iter().map(unsaid).collect());
    }
    let searched = (asked.documents, ids(&all));
    if asked.named && !candidates.is_empty() {
        return Verdict { answerable: true, searched, about: ids(&all), ..nothing };
    }
    if asked.words.is_empty() {
        return refuse(vec!["the question names nothing that could be looked for".to_owned()]);
    }
    let nowhere = asked.words_of_no_document(candidates);
    let refuse_words = |words: Vec<&QuestionWord>| Verdict {
        searched: searched.clone(),
        missing: words.iter().map(|word| occurs_nowhere(&word.word)).collect(),
        nowhere: words.iter().map(|word| word.word.clone()).collect(),
        ..nothing.clone()
    };
    let names: Vec<&QuestionWord> = nowhere.iter().map(|(_, word)| *word).filter(|word| word.named).collect();
    if !names.is_empty() {
        return refuse_words(names);
    }
    let few = (asked.documents / COMMON).max(FEW);
    let is_rare = |word: &QuestionWord| word.named && word.documents <= few;
    let lacks_name = |candidate: &Candidate| {
        asked.words.iter().zip(&candidate.covered).any(|(word, covered)| is_rare(word) && !covered)
    };
    let about: Vec<&Candidate> = all.iter().copied().filter(|candidate| !lacks_name(candidate)).collect();
    let best = asked.best(&weights, &about);
    let is_sure = best.as_ref().is_some_and(|best| best.share >= SURE);
    if asked.is_strict && !is_sure {
        let things = asked.things_of_no_document(candidates);
        if !things.is_empty() {
            return refuse_words(things);
        }
    }
    let Some(best) = best else {
        let names = asked.words.iter().filter(|word| is_rare(word)).map(|word| word.word.as_str());
        let names: Vec<&str> = names.collect();
        return match names.is_empty() || candidates.is_empty() {
            true => refuse(vec!["nothing that was searched has any of these words".to_owned()]),
            false => Verdict { searched, ..refuse(vec![occur_apart(&names)]) },
        };
    };
    if is_sure {
        return Verdict { answerable: true, searched, about: ids(&about), ..nothing };
    }
    let lacking = asked.words.iter().zip(&best.passage.covered).enumerate().filter(|(_, (_, covered))| !**covered);
    let (lacking, words): (Vec<usize>, Vec<&str>) = lacking.map(|(at, (word, _))| (at, word.word.as_str())).unzip();
    if best.evidence < LEAST_EVIDENCE {
        return Verdict { searched, ..refuse(vec![occur_apart(&words)]) };
    }
    Verdict { answerable: true, searched, about: ids(&about), lacking, ..nothing }
}

/// Says of a word that no document has it.
pub(super) fn occurs_nowhere(word: &str) -> String {
    format!("'{word}' occurs nowhere in what was indexed")
}

/// Says of words that no passage has them and the rest of the question.
pub(super) fn occur_apart(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    format!("nothing mentions {} together with the rest of the question", words.join(", "))
}

/// The share of a question's words that was found, by their weights, 0 to 1.
pub(super) fn share(weights: &[f32], covered: &[bool]) -> f32 {
    let total: f32 = weights.iter().sum();
    let found: f32 = weights.iter().zip(covered).filter(|(_, covered)| **covered).map(|(weight, _)| weight).sum();
    if total > 0.0 { found / total } else { 0.0 }
}

/// Whether a passage with these words of the question, of a story that fits so well, could answer it if its meaning were near.
pub(super) fn may_fit(weights: &[f32], covered: &[bool], of_story: Option<f32>) -> bool {
    evidence(share(weights, covered) * NEAR, of_story) >= LEAST_EVIDENCE
}

/// How much evidence a passage is that fits so well, 0 to 1. A sentence may say in other words what its story says in those of
/// the question.
fn evidence(fit: f32, of_story: Option<f32>) -> f32 {
    of_story.map_or((ALONE * fit).min(1.0), |of_story| OF_STORY.mul_add(of_story, (1.0 - OF_STORY) * fit))
}

/// A passage with the share of the question's words that it has, and how much evidence it is.
struct Best<'a> {
    passage: &'a PassageFit,
    share: f32,
    evidence: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Redis` is a rare name, the others are words of some documents.
    fn question(words: &[(&str, u64)]) -> WeightedQuestion {
        let word = |(word, documents): &(&str, u64)| QuestionWord {
            word: (*word).to_owned(),
            named: word.starts_with(char::is_uppercase),
            documents: *documents,
            is_familiar: *word != "vtable",
        };
        WeightedQuestion { words: words.iter().map(word).collect(), documents: 1000, ..WeightedQuestion::default() }
    }

    fn story(id: &str, passages: &[(&[bool], Option<f32>)]) -> Candidate {
        let mut covered = vec![false; passages.first().map_or(0, |(words, _)| words.len())];
        for (words, _) in passages {
            covered.iter_mut().zip(*words).for_each(|(all, one)| *all |= one);
        }
        let fit =
            |(covered, meaning): &(&[bool], Option<f32>)| PassageFit { covered: covered.to_vec(), meaning: *meaning };
        Candidate { id: id.to_owned(), covered, fit: None, passages: passages.iter().map(fit).collect() }
    }

    #[test]
    fn words_must_stand_together() {
        let asked = question(&[("password", 9), ("hash", 9), ("salt", 9)]);
        let apart =
            story("a", &[(&[true, false, false], None), (&[false, true, false], None), (&[false, false, true], None)]);
        assert!(!judge(&asked, &[apart]).answerable);
        let together = judge(&asked, &[story("a", &[(&[true, true, true], Some(0.0))])]);
        assert!(together.answerable && together.lacking.is_empty());
    }

    #[test]
    fn a_rare_name_must_be_in_the_story_that_answers() {
        let asked = question(&[("Redis", 3), ("chosen", 90), ("cache", 80)]);
        let about_another = story("a", &[(&[false, true, true], Some(0.9))]);
        let verdict = judge(&asked, std::slice::from_ref(&about_another));
        assert_eq!(verdict.missing, ["nothing mentions 'Redis' together with the rest of the question"]);
        let verdict = judge(&asked, &[about_another, story("b", &[(&[true, false, true], Some(0.6))])]);
        assert_eq!((verdict.answerable, verdict.about), (true, vec!["b".to_owned()]));
        assert!(
            !judge(&question(&[("Kafka", 0), ("cache", 80)]), &[story("a", &[(&[false, true], Some(0.9))])]).answerable
        );
    }

    #[test]
    fn fewer_words_do_if_the_meaning_is_near() {
        let asked = question(&[("banned", 4), ("floats", 40), ("timing", 40)]);
        let judged = |meaning| judge(&asked, &[story("a", &[(&[false, true, false], meaning)])]);
        assert!(judged(Some(0.7)).answerable && !judged(Some(0.3)).answerable && !judged(None).answerable);
        assert_eq!(judged(Some(0.7)).lacking, [0, 2]);
        assert_eq!(
            judged(None).missing,
            ["nothing mentions 'banned', 'timing' together with the rest of the question"]
        );
    }

    #[test]
    fn how_well_a_story_fits_counts_more_than_one_sentence_of_it() {
        let asked = question(&[("banned", 40), ("floats", 40), ("timing", 40)]);
        let judged = |fit, meaning| {
            let of = Candidate { fit, ..story("a", &[(&[false, true, false], Some(meaning))]) };
            judge(&asked, &[Candidate { covered: vec![true, true, false], ..of }])
        };
        assert!(!judged(None, 0.3).answerable && judged(Some(0.41), 0.3).answerable);
        assert!(judged(None, 0.6).answerable && !judged(Some(0.3), 0.6).answerable);
        assert!((judged(Some(0.41), 0.3).confidence - 0.3066).abs() < 1e-3);
        assert!((judged(None, 0.3).confidence - 0.19).abs() < 1e-3);
    }

    #[test]
    fn a_story_that_lacks_most_of_a_short_question_does_not_answer_it() {
        let of = |id, covered: &[bool]| Candidate { fit: Some(0.6), ..story(id, &[(covered, Some(0.4))]) };
        // Another story cannot stand for one that has the rare name.
        let asked = question(&[("Haskell", 3), ("cart", 90), ("rewritten", 80)]);
        assert!(!judge(&asked, &[of("a", &[false, true, true]), of("b", &[true, false, false])]).answerable);
        assert!(judge(&asked, &[of("a", &[true, true, false])]).answerable);
        // A long one may be answered in other words.
        let words = ["banned", "floats", "timing", "integers", "header", "benchmark"].map(|word| (word, 40));
        assert!(judge(&question(&words), &[of("a", &[true, true, false, false, false, false])]).answerable);
        assert!(!judge(&question(&words), &[of("a", &[true, false, false, false, false, false])]).answerable);
        // Nor does a sentence answer that has none of its words.
        let silent = Candidate { covered: vec![true; 6], ..of("a", &[false; 6]) };
        assert!(!judge(&question(&words), &[silent]).answerable);
        // What was asked before makes no short question long.
        let words = [("Haskell", 3), ("cart", 90), ("rewritten", 80), ("payments", 80), ("retried", 80)];
        let judged = |own| {
            let asked = WeightedQuestion { own, ..question(&words) };
            judge(&asked, &[of("a", &[true, false, false, false, false])]).answerable
        };
        assert!(judged(0) && !judged(3));
    }

    #[test]
    fn without_vectors_a_thing_that_no_document_has_must_be_made_up_for() {
        let judged = |words: &[(&str, u64)], covered: &[bool], meaning, own| {
            let asked = WeightedQuestion { documents: 30, own, is_strict: true, ..question(words) };
            judge(&asked, &[story("a", &[(covered, meaning)])])
        };
        let asked = [("redis", 2), ("vtable", 0)];
        let refused = judged(&asked, &[true, false], None, 0);
        assert_eq!(
            (refused.answerable, refused.missing),
            (false, vec!["'vtable' occurs nowhere in what was indexed".to_owned()])
        );
        // Near in meaning is not enough for a rare thing, but for a common word.
        assert_eq!(judged(&asked, &[true, false], Some(0.7), 0).nowhere, ["vtable"]);
        assert!(judged(&[("redis", 2), ("garden", 0)], &[true, false], Some(0.7), 0).answerable);
        // Sure by the other words; found under another form; of the question before; said otherwise.
        let many = [("redis", 2), ("pages", 2), ("expire", 2), ("tags", 2), ("restart", 2), ("vtable", 0)];
        assert!(judged(&many, &[true, true, true, true, true, false], None, 0).answerable);
        assert!(judged(&asked, &[true, true], None, 0).answerable);
        assert!(judged(&asked, &[true, false], None, 1).answerable);
        for word in ["preferred", "chosen", "sent"] {
            assert!(judged(&[("redis", 2), (word, 0)], &[true, false], None, 0).answerable, "{word}");
        }
        // A task may be to add it.
        let task = WeightedQuestion { documents: 30, ..question(&asked) };
        assert!(judge(&task, &[story("a", &[(&[true, false], None)])]).answerable);
    }
}
