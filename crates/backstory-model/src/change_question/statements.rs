//! What a sentence says was added, removed or fixed.

use std::collections::BTreeSet;

use super::{
    ChangeDirection,
    subject::{
        ENDS, ObjectWord, begins_further, core_of, is_among, is_article, is_at_further_places, is_generic, is_number,
        is_purpose, joins_purpose, object_words, part_kinds, sides_behind, trim_fillers, whole_of,
    },
    words::{ChangeWord, TextWord, VerbForm, change_word},
};
use crate::question::is_stop_word;

/// Most statements of one sentence that are looked at.
const MAX_STATEMENTS: usize = 16;
/// Forms of `be`.
pub(super) const BE: &str = "was were been is are be being got";
/// What says that something is not done.
pub(super) const NEGATIONS: &str =
    "not don't dont doesn't didn't never no cannot can't won't without avoid instead shouldn't";
/// How the words begin without one of which a sentence says nothing of a change.
const BEGINNINGS: &str = "add introduc implement creat remov drop delet discontinu eliminat fix repair resolv correct \
    support feat deprecat";
/// Words directly behind which `deprecated` says what was done, and not what something is that follows it.
const BEFORE_DEPRECATED: &str =
    "was were been is are be being got has have had we that who which now also finally officially formally";

/// What a sentence says was done, and to what.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) direction: ChangeDirection,
    /// Whether the sentence begins with it.
    pub(super) leads: bool,
    /// The things that it was done to.
    pub(super) objects: Vec<StatedObject>,
    /// Words of the place where it was done that are not of the program itself: `docs` of `from the docs`.
    pub(super) sides: BTreeSet<String>,
    /// Whether it was done at further places, so that it was done before: `in other places`.
    pub(super) is_further: bool,
}

/// A thing that something was done to.
#[derive(Debug)]
pub(super) struct StatedObject {
    /// The words that name it.
    pub(super) core: BTreeSet<String>,
    /// These, and those for the kind of thing that it is.
    pub(super) whole: BTreeSet<String>,
    /// Those of the kinds that only something else has.
    pub(super) parts: BTreeSet<String>,
    /// All the words that it is called by.
    pub(super) words: Vec<ObjectWord>,
    /// Whether it is not the first of its kind: `more shells`.
    pub(super) is_further: bool,
}

/// Whether a sentence may say something of a change. Costs much less than to read it.
pub(super) fn may_say_change(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    BEGINNINGS.split_whitespace().any(|beginning| lower.contains(beginning))
}

/// What a sentence says was added, removed or fixed.
pub(super) fn statements_of(words: &[TextWord<'_>]) -> Vec<Statement> {
    let first = beginning_of(words);
    let is_revert_at = |at: usize| words.get(at).is_some_and(is_revert);
    let is_revert_before = first > 0 && is_revert_at(0);
    let reverts = is_revert_before || is_revert_at(first);
    // Where what is reverted begins.
    let own = if reverts && !is_revert_before { first + 1 } else { first };
    let stated = (first..words.len()).filter_map(|at| Some((at, statement_at(words, at, first)?)));
    let mut found = Vec::new();
    for (at, mut statement) in statement_of_prefix(words, first).map(|one| (own, one)).into_iter().chain(stated) {
        if found.len() == MAX_STATEMENTS {
            break;
        }
        if reverts {
            statement.direction = match statement.direction {
                ChangeDirection::Added => ChangeDirection::Removed,
                ChangeDirection::Removed => ChangeDirection::Added,
                ChangeDirection::Fixed | ChangeDirection::Deprecated => continue,
            };
            statement.leads = at == own;
        }
        found.push(statement);
    }
    found
}

fn is_revert(word: &TextWord<'_>) -> bool {
    matches!(word.lower.as_str(), "revert" | "reverts" | "reverted")
}

/// What the prefix of a title says of what follows it without a verb: `fix: crash of the parser`, `feat(ui)!: dark mode`,
/// `Removed: XML export`.
fn statement_of_prefix(words: &[TextWord<'_>], first: usize) -> Option<Statement> {
    let kind = match &words[..first] {
        [revert, kind, ..] if is_revert(revert) => kind,
        [kind, ..] => kind,
        [] => return None,
    };
    let direction = match kind.lower.as_str() {
        "feat" | "feature" | "features" => ChangeDirection::Added,
        "bugfix" | "hotfix" => ChangeDirection::Fixed,
        _ => change_word(kind).filter(|word| word.form != VerbForm::Noun)?.direction,
    };
    let word = words.get(first)?;
    let lower = word.lower.as_str();
    let is_attribute = direction == ChangeDirection::Removed && lower == "deprecated";
    let is_verb = (change_word(word).is_some_and(|word| word.form != VerbForm::Noun) && !is_attribute)
        || matches!(lower, "support" | "supports")
        || is_among(NEGATIONS, lower)
        || (is_stop_word(lower) && !is_article(lower) && lower != "new");
    (!is_verb).then(|| object_after(words, first, direction, true))
}

/// Whether `deprecated` only says what something is to which something else is done, as in `the deprecated cache was
/// removed`, in words of which the first one stands at `first`.
pub(super) fn is_attribute(words: &[TextWord<'_>], first: usize, at: usize) -> bool {
    let Some(next) = words.get(at + 1).filter(|_| words[at].lower == "deprecated") else { return false };
    if next.follows_stop || is_among(ENDS, &next.lower) || matches!(next.lower.as_str(), "and" | "or" | "but") {
        return false;
    }
    if at > first {
        return !is_among(BEFORE_DEPRECATED, &words[at - 1].lower);
    }
    let is_passive = |at: usize| {
        says_past(&words[at]) && words[at.saturating_sub(2)..at].iter().any(|word| is_among(BE, &word.lower))
    };
    let ends = |at: &usize| words[*at].follows_stop || words[*at].follows_comma;
    (at + 1..words.len()).take_while(|at| !ends(at)).any(is_passive)
}

fn says_past(word: &TextWord<'_>) -> bool {
    change_word(word).is_some_and(|word| word.form == VerbForm::Past)
}

/// What a word of a sentence says was done.
fn statement_at(words: &[TextWord<'_>], at: usize, first: usize) -> Option<Statement> {
    if is_purpose(words, at) || is_attribute(words, first, at) {
        return None;
    }
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    // `no longer supported`
    let is_ended = at >= first + 2 && (lower(at - 2), lower(at - 1), lower(at)) == ("no", "longer", "supported");
    let ChangeWord { direction, form } = match (lower(at), lower(at + 1)) {
        _ if is_ended => ChangeWord { direction: ChangeDirection::Removed, form: VerbForm::Past },
        // `support for TLS was removed` says nothing of what came.
        ("support", "for") if at == first && words[at + 1..].iter().any(says_past) => return None,
        ("support" | "supports", _) if at == first => {
            ChangeWord { direction: ChangeDirection::Added, form: VerbForm::Base }
        }
        ("longer", "support" | "supports") => {
            return Some(object_after(words, at + 2, ChangeDirection::Removed, at < first + 2));
        }
        _ => change_word(&words[at])?,
    };
    let is_negated = words[at.saturating_sub(2).max(first)..at].iter().any(|word| is_among(NEGATIONS, &word.lower));
    if is_negated && !is_ended {
        return None;
    }
    let before = &words[first..if is_ended { at - 2 } else { at }];
    // The clause that it stands in.
    let clause = match at > first && words[at].follows_stop {
        true => before.len(),
        false => (0..before.len()).rfind(|at| begins_clause(before, *at)).unwrap_or(0),
    };
    let before = &before[clause..];
    let is_passive = form == VerbForm::Past && before.iter().rev().take(2).any(|word| is_among(BE, &word.lower));
    let next = lower(at + 1);
    let ends = next.is_empty() || words[at + 1].follows_stop || (is_among(ENDS, next) && next != "for");
    if form == VerbForm::Past && !before.is_empty() && (is_passive || ends) {
        let subject = trim_fillers(before);
        let is_end = |at: &usize| is_among(ENDS, &subject[*at].lower) && !joins_purpose(subject, *at);
        let starts = (0..subject.len()).rfind(is_end);
        let own = &subject[starts.map_or(0, |at| at + 1)..];
        let leads = clause == 0 && starts.is_none();
        let behind = words.get(at + 1..).unwrap_or_default();
        let (sides, is_further) = (sides_behind(behind), is_at_further_places(behind));
        return Some(Statement { direction, leads, objects: objects_of(own), sides, is_further });
    }
    Some(object_after(words, at + 1, direction, at == first))
}

/// Whether a clause begins with a word: behind a stop, or behind a comma with a pronoun.
fn begins_clause(words: &[TextWord<'_>], at: usize) -> bool {
    let is_pronoun = |at: usize| {
        words
            .get(at)
            .is_some_and(|word| matches!(word.lower.as_str(), "it" | "they" | "we" | "this" | "that" | "which"))
    };
    let joins = matches!(words[at].lower.as_str(), "and" | "but" | "so");
    words[at].follows_stop || (words[at].follows_comma && (is_pronoun(at) || (joins && is_pronoun(at + 1))))
}

/// What is said of what follows a verb.
fn object_after(words: &[TextWord<'_>], from: usize, direction: ChangeDirection, leads: bool) -> Statement {
    let rest = words.get(from..).unwrap_or_default();
    let mut end = rest.len();
    let mut start = 0;
    for (at, word) in rest.iter().enumerate() {
        let is_joined = at > 0 && word.follows_stop;
        let is_verb = || change_word(word).is_some_and(|verb| verb.form != VerbForm::Noun);
        if is_joined || (at > start && is_verb() && !is_attribute(words, from, from + at)) {
            end = at;
            break;
        }
        if is_among(ENDS, &word.lower) {
            let restarts = joins_purpose(rest, at) && is_generic(&core_of(&rest[start..at]));
            if !restarts {
                end = at;
                break;
            }
            start = at + 1;
        }
    }
    let (own, behind) = (&rest[start.min(end)..end], &rest[end..]);
    // `further support for shells`
    let is_further = is_at_further_places(behind) || (start > 0 && begins_further(rest));
    Statement { direction, leads, objects: objects_of(own), sides: sides_behind(behind), is_further }
}

/// The things that are named one after the other: `Python 2.7 and 3.5` are `Python 2.7` and `Python 3.5`.
fn objects_of(words: &[TextWord<'_>]) -> Vec<StatedObject> {
    let mut objects: Vec<StatedObject> = Vec::new();
    let mut start = 0;
    for at in 0..=words.len() {
        let is_joint =
            words.get(at).is_none_or(|word| matches!(word.lower.as_str(), "and" | "or") || word.follows_comma);
        if !is_joint || (at == start && at < words.len()) {
            continue;
        }
        let own = &words[start..at];
        start = if words.get(at).is_some_and(|word| word.follows_comma) { at } else { at + 1 };
        let mut core = core_of(own);
        if !core.is_empty() && core.iter().all(|word| is_number(word)) {
            let before = objects.last().into_iter().flat_map(|object| &object.core);
            core.extend(before.filter(|word| !is_number(word)).cloned());
        }
        if !core.is_empty() {
            let whole = core.iter().cloned().chain(whole_of(own)).collect();
            let (parts, words, is_further) = (part_kinds(own), object_words(own), begins_further(own));
            objects.push(StatedObject { core, whole, parts, words, is_further });
        }
    }
    objects
}

/// Where a sentence begins behind what stands before its subject: `feat:`, `[docs]`, `#12`.
pub(super) fn beginning_of(words: &[TextWord<'_>]) -> usize {
    const MAX_PREFIX: usize = 3;
    let says_nothing = |at: usize| words[..at].iter().all(|word| change_word(word).is_none());
    let ends_prefix = |at: &usize| {
        let ends = words.get(*at).is_some_and(|word| word.follows_prefix);
        ends && (*at == 1 || words[1].follows_stop || says_nothing(*at))
    };
    (1..=MAX_PREFIX).rev().find(ends_prefix).unwrap_or(0)
}
