//! Which sentences give a reason, told by the words that join one to what it is the reason of, and which only say again
//! what a question presumes.

use std::{collections::BTreeSet, sync::LazyLock};

use crate::{
    question::Question,
    sentence::stems,
    text::{has_stem, stem},
};

/// Words that give a reason outright, within spaces; without a space at its end how such a word begins.
const OUTRIGHT: [&str; 22] = [
    " because ",
    " so that ",
    " in order to ",
    " to avoid ",
    " to prevent ",
    " otherwise ",
    " instead of ",
    " rather than ",
    " reason ",
    " reasons ",
    " due to ",
    " owing to ",
    " the problem ",
    " problem is ",
    " therefore ",
    " as a result ",
    " that is why ",
    " which is why ",
    " purpose",
    " rationale ",
    " motivat",
    " prevent",
];
/// Words that often stand where a reason is given.
const HINTS: [&str; 6] = [" as it ", " would ", " should ", " too ", " prefer", " that way "];
/// Words for what was said before.
const POINTERS: &str = "this that it which these they";
/// Those of them that may have a noun behind them: `this change breaks …`.
const DETERMINERS: &str = "this that these";
/// What something is done for.
const EFFECTS: &str = "fixes fixed prevents prevented allows allowed breaks broke avoids avoided lets makes made ensures \
    causes caused enables enabled saves saved simplifies simplified improves improved reduces reduced helps helped leads \
    led means meant";
/// Words behind a `since` that tell a time.
const TIMES: &str = "then version release first last yesterday beginning start day week month year january february march \
    april june july august september october november december";
/// Words behind a `since` among which those are.
const BEHIND_SINCE: usize = 3;
/// Words that tell what was done, or where it is told, and no reason for it.
const DONE: &str = "add added remove removed removal drop dropped delete deleted introduce introduced implement implemented \
    create created change changed replace replaced rename renamed move moved fix fixed merge merged update updated \
    deprecate deprecated deprecation revert reverted release version old note support commit request issue";
/// Fewest letters of a stem with which another one begins, for both to be of one word.
const MIN_BEGINNING: usize = 5;

/// How a sentence sounds like a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonCue {
    /// It says so: `because`.
    Outright,
    /// It says what something leads to, or what was so before: `this breaks …`, `since …`.
    Likely,
    /// It may: `too slow`.
    Hint,
}

/// How a sentence sounds like a reason; `None` if it does not.
pub fn reason_cue(text: &str) -> Option<ReasonCue> {
    cue_beyond(&plain_words(text), " ")
}

/// Whether a sentence that follows another one may give the reason of what that says: it has the words of a reason, or begins
/// with a word for what was said before, as `This is what the standard asks for`.
pub fn may_explain(text: &str) -> bool {
    let points = || text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).is_some_and(is_pointer);
    gives_reason(text) || points()
}

/// Whether a sentence has the words of a reason.
pub fn gives_reason(text: &str) -> bool {
    matches!(reason_cue(text), Some(ReasonCue::Outright | ReasonCue::Likely))
}

fn is_pointer(word: &str) -> bool {
    is_among(POINTERS, &word.to_lowercase())
}

/// What a sentence is to a question that asks for a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonFit {
    /// It gives a reason.
    Reason,
    /// It tells something else, which may be one.
    Other,
    /// It says again what the question presumes.
    Restatement,
}

/// A question that asks for a reason.
#[derive(Clone, Debug)]
pub struct ReasonQuestion {
    plain: String,
    /// Its content words, without their parts.
    terms: Vec<String>,
    stems: BTreeSet<String>,
}

impl ReasonQuestion {
    /// Reads a question.
    pub fn parse(text: &str) -> Self {
        let terms = Question::parse(text).terms.into_iter().map(|term| term.stem).collect();
        Self { plain: plain_words(text), terms, stems: stems(text) }
    }

    /// What a sentence is to it. What gives a reason in other sentences gives none where the question says it too: `why is
    /// a queue used instead of a cron job`.
    pub fn fit_of(&self, sentence: &str) -> ReasonFit {
        match cue_beyond(&plain_words(sentence), &self.plain) {
            Some(ReasonCue::Outright | ReasonCue::Likely) => ReasonFit::Reason,
            Some(ReasonCue::Hint) => ReasonFit::Other,
            None if self.is_restated_by(&stems(sentence)) => ReasonFit::Restatement,
            None => ReasonFit::Other,
        }
    }

    /// Whether a sentence with these content words has at least two thirds of the question's, and at most half as many
    /// others that tell something.
    fn is_restated_by(&self, sentence: &BTreeSet<String>) -> bool {
        let (mut shared, mut others) = (0, 0);
        for word in sentence {
            if has_form(&self.stems, word) {
                shared += 1;
            } else if tells_something(word) {
                others += 1;
            }
        }
        let found = self.terms.iter().filter(|own| has_form(sentence, own)).count();
        shared > 0 && found * 3 >= self.terms.len() * 2 && others * 2 <= shared
    }
}

/// Whether a word, or another form of it, is among stems: `deprecation` and `deprecate`.
fn has_form(stems: &BTreeSet<String>, word: &str) -> bool {
    let begins = |known: &String| known.chars().count() >= MIN_BEGINNING && word.starts_with(known.as_str());
    has_stem(stems, word) || stems.iter().any(begins)
}

/// Whether a content word tells more than that something was done.
fn tells_something(word: &str) -> bool {
    static KNOWN: LazyLock<BTreeSet<String>> = LazyLock::new(|| DONE.split_whitespace().map(stem).collect());
    let number = word.strip_prefix('v').unwrap_or(word);
    !number.chars().all(|c| c.is_ascii_digit()) && !KNOWN.contains(word)
}

/// The words of a text in lower case, with a space before and behind each.
fn plain_words(text: &str) -> String {
    let mut plain = " ".to_owned();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        plain.push_str(&word.to_lowercase());
        plain.push(' ');
    }
    plain
}

/// How plain words sound like a reason, by words that others do not have.
fn cue_beyond(plain: &str, others: &str) -> Option<ReasonCue> {
    let has = |cues: &[&str]| cues.iter().any(|cue| plain.contains(cue) && !others.contains(cue));
    if has(&OUTRIGHT) {
        return Some(ReasonCue::Outright);
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    if gives_since(&words) || tells_effect(&words) {
        return Some(ReasonCue::Likely);
    }
    has(&HINTS).then_some(ReasonCue::Hint)
}

/// Whether a `since` among words tells a reason and no time: a text that ends with it means a time too.
fn gives_since(words: &[&str]) -> bool {
    let is_time = |word: &&str| {
        let number = word.strip_prefix('v').unwrap_or(word);
        is_among(TIMES, word) || number.starts_with(|c: char| c.is_ascii_digit())
    };
    let behind = (0..words.len()).filter(|at| words[*at] == "since").map(|at| &words[at + 1..]);
    let mut behind = behind.filter(|behind| !behind.is_empty());
    behind.any(|behind| !behind.iter().take(BEHIND_SINCE).any(is_time))
}

/// Whether words say what something leads to: `which breaks …`, `this change allows …`.
fn tells_effect(words: &[&str]) -> bool {
    let is_effect = |at: usize| words.get(at).is_some_and(|word| is_among(EFFECTS, word));
    (0..words.len()).any(|at| {
        let points = is_among(POINTERS, words[at]) && is_effect(at + 1);
        points || (is_among(DETERMINERS, words[at]) && is_effect(at + 2))
    })
}

fn is_among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_by_the_words_that_join_it() {
        use ReasonCue::{Hint, Likely, Outright};
        for (text, cue) in [
            ("It is a queue, because the bank drops connections.", Some(Outright)),
            ("Wait in order\nto spare the provider.", Some(Outright)),
            ("We have two reasons.", Some(Outright)),
            ("This prevents a double charge.", Some(Outright)),
            ("Nobody has used it since suppliers send spreadsheets.", Some(Likely)),
            ("It was a list, which broke the order.", Some(Likely)),
            ("That change allows short bursts.", Some(Likely)),
            ("The old cart was too slow.", Some(Hint)),
            ("The cart is locked since version 8.2.", None),
            ("Deprecated since v8", None),
            ("Nobody has used it since", None),
            ("A reasonable default", None),
            ("The cart locks its rows.", None),
            ("", None),
        ] {
            assert_eq!(reason_cue(text), cue, "{text}");
        }
    }

    #[test]
    fn what_points_at_the_sentence_before_may_give_its_reason() {
        for (text, may) in [
            ("This is consistent with the specification.", true),
            ("It relies on the directory of the process.", true),
            ("\"These\" are needed.", true),
            ("Carts are locked, because they were lost.", true),
            ("Carts are locked.", false),
            ("Italy has carts.", false),
            ("", false),
        ] {
            assert_eq!(may_explain(text), may, "{text}");
        }
    }

    #[test]
    fn what_only_says_again_what_is_asked_about_is_told_from_what_may_be_a_reason() {
        use ReasonFit::{Other, Reason, Restatement};
        let question = ReasonQuestion::parse("Why was MultiCommand deprecated?");
        for (sentence, fit) in [
            ("MultiCommand is deprecated", Restatement),
            ("Deprecate `MultiCommand` (#2590)", Restatement),
            ("`MultiCommand` is deprecated and will be removed in 9.0, use `Group` instead.", Restatement),
            ("MultiCommand is deprecated since version 8.2.", Restatement),
            ("The deprecation of MultiCommand", Restatement),
            ("MultiCommand is deprecated since each group can do the same.", Reason),
            ("MultiCommand was deprecated, as it was a copy of Group.", Other),
            ("Add MultiCommand", Other),
            ("A group can do all that it did.", Other),
            ("MultiCommand keeps its parameters, callbacks and help in separate lists.", Other),
            ("", Other),
        ] {
            assert_eq!(question.fit_of(sentence), fit, "{sentence}");
        }
    }

    #[test]
    fn a_word_that_the_question_has_too_gives_no_reason() {
        let question = ReasonQuestion::parse("Why is Redis used instead of memcached?");
        assert_eq!(question.fit_of("Redis is used instead of memcached."), ReasonFit::Restatement);
        let reason = "Redis is used instead of memcached, because it survives a restart.";
        assert_eq!(question.fit_of(reason), ReasonFit::Reason);
        let question = ReasonQuestion::parse("What was the reason to lock the cart?");
        assert_eq!(question.fit_of("Lock the cart"), ReasonFit::Restatement);
    }
}
