//! Questions about a change of the past: who added something, when it was removed, in which release it was fixed. And which
//! sentences say that, or the opposite.

mod words;

use std::collections::BTreeSet;

use words::{ChangeWord, TextWord, VerbForm, change_word, split_words};

use crate::{question::is_stop_word, text::stem};

/// Most words of a subject that is looked for.
const MAX_SUBJECT: usize = 8;
/// Most statements of one sentence that are looked at.
const MAX_STATEMENTS: usize = 16;

/// What a change did to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeDirection {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// It works again.
    Fixed,
}

impl ChangeDirection {
    /// The past form of the verb for it.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Fixed => "fixed",
        }
    }

    /// Whether one undoes the other.
    pub fn is_opposite(self, other: Self) -> bool {
        matches!((self, other), (Self::Added, Self::Removed) | (Self::Removed, Self::Added))
    }
}

/// What is asked about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeFact {
    /// Who made it.
    Author,
    /// When.
    Time,
    /// In which commit or merge request.
    Commit,
    /// In which release it shipped.
    Release,
}

/// How a sentence stands to a question about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatedFit {
    /// It begins with what is asked about: `Remove the cache`.
    Same,
    /// It says it among other things, or of a part: `Remove the old cache of pages, since …`.
    Part,
    /// It says the opposite: `Add the cache`.
    Opposite,
}

/// A question about a change of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeQuestion {
    /// What is asked about it; `None` if it is something else, such as the reason.
    pub fact: Option<ChangeFact>,
    /// What it did.
    pub direction: ChangeDirection,
    /// To what, as it is written.
    pub subject: String,
    /// Whether a word like `function` says that the subject is a name of code, or it looks like one.
    pub is_code: bool,
    /// The words that name the subject, as they are written, without those that any subject may have.
    pub names: Vec<String>,
    /// The same for comparing.
    core: BTreeSet<String>,
    /// Words that tell more: `from the parser`.
    context: BTreeSet<String>,
}

/// What a sentence says was done, and to what.
#[derive(Debug)]
struct Statement {
    direction: ChangeDirection,
    /// Whether the sentence begins with it.
    leads: bool,
    /// The words of each thing that it was done to.
    objects: Vec<BTreeSet<String>>,
}

impl ChangeQuestion {
    /// Reads a question; `None` if it does not ask about a change that was made. What happens again and again, as in `When is
    /// a session removed?`, is no such change.
    pub fn parse(text: &str) -> Option<Self> {
        let words = split_words(text);
        let (asks, fact) = find_asking_word(&words)?;
        let may_be_present = matches!(fact, Some(ChangeFact::Commit | ChangeFact::Release));
        let is_verb = |at: &usize| match change_word(&words[*at]).map(|word| word.form) {
            Some(VerbForm::Past | VerbForm::Base) => true,
            Some(VerbForm::Other) => may_be_present,
            Some(VerbForm::Noun) | None => false,
        };
        let verb = (asks..words.len()).find(is_verb)?;
        let ChangeWord { direction, form } = change_word(&words[verb])?;
        let before = &words[asks..verb];
        let has = |list: &str| before.iter().any(|word| is_among(list, &word.lower));
        let is_past = has(PAST) || (form == VerbForm::Past && !has(PRESENT));
        if !is_past && !may_be_present {
            return None;
        }
        let told = trim_fillers(before);
        let behind = &words[verb + 1..];
        let is_passive = has(PASSIVE) && !told.is_empty();
        let (subject, beside) = split_object(if is_passive { told } else { behind });
        let mut context = core_of(beside);
        if is_passive {
            context.extend(core_of(behind));
        }
        let core = core_of(subject);
        if core.is_empty() || core.len() > MAX_SUBJECT {
            return None;
        }
        let (first, last) = (subject.first()?, subject.last()?);
        let kind = subject.iter().any(|word| is_among(CODE_KINDS, &word.lower));
        let names: Vec<String> = names_of(subject).map(|word| word.text.to_owned()).collect();
        let is_code = names.len() == 1 && (kind || subject.iter().any(TextWord::looks_like_code));
        Some(Self {
            fact,
            direction,
            subject: text[first.range.start..last.range.end].to_owned(),
            is_code,
            names,
            core,
            context,
        })
    }

    /// Reads a question that goes on from one before: `and when was it removed?`
    pub fn parse_after(text: &str, before: &str) -> Option<Self> {
        let subject = Self::parse(before)?.subject;
        let words = split_words(text);
        // Who did it stands before what it was done to, and is not meant.
        let pronoun = ["it", "that", "this", "them", "they"]
            .iter()
            .find_map(|pronoun| words.iter().find(|word| word.lower == *pronoun))
            .map(|word| word.range.clone())?;
        Self::parse(&format!("{}{subject}{}", &text[..pronoun.start], &text[pronoun.end..]))
    }

    /// What a sentence says of the change; `None` if nothing.
    pub fn fit_of(&self, sentence: &str) -> Option<StatedFit> {
        let words = split_words(sentence);
        let all: BTreeSet<String> = words.iter().map(TextWord::normal).collect();
        let statements = statements_of(&words);
        if statements.is_empty() && self.direction == ChangeDirection::Added && self.is_titled(&words) {
            return Some(StatedFit::Same);
        }
        let is_so = |statement: &&Statement| statement.direction == self.direction;
        let has_context = self.context.is_subset(&all);
        let mut fit = None;
        for statement in statements.iter().filter(is_so).filter(|_| has_context) {
            let is_exact = match self.direction {
                ChangeDirection::Fixed => self.core.is_subset(&all),
                ChangeDirection::Added | ChangeDirection::Removed => statement.objects.contains(&self.core),
            };
            if is_exact && statement.leads {
                return Some(StatedFit::Same);
            }
            if is_exact || statement.objects.iter().any(|object| self.core.is_subset(object)) {
                fit = Some(StatedFit::Part);
            }
        }
        let is_opposite = |statement: &Statement| {
            statement.direction.is_opposite(self.direction)
                && statement.objects.iter().any(|object| self.core.is_subset(object))
        };
        // What says both, such as `it was removed`, is no opposite.
        let says_both = statements.iter().any(|statement| is_so(&statement));
        fit.or_else(|| (!says_both && statements.iter().any(is_opposite)).then_some(StatedFit::Opposite))
    }
}

impl ChangeQuestion {
    /// Whether a title is the subject and what of it there is now, without a verb: `TLS support (#12)`.
    fn is_titled(&self, words: &[TextWord<'_>]) -> bool {
        let is_number = |word: &TextWord<'_>| word.lower.chars().all(|c| c.is_ascii_digit());
        let end = words.iter().rposition(|word| !is_number(word)).map_or(0, |last| last + 1);
        words[..end].last().is_some_and(|last| is_among(NOW_THERE, &last.lower)) && core_of(&words[..end]) == self.core
    }
}

/// What a title may end with that says of something that it is there now.
const NOW_THERE: &str = "support implementation";
const BE: &str = "was were been is are be being got";
const PASSIVE: &str = "was were been is are be being got get gets";
const PAST: &str = "was were been had has have did";
const PRESENT: &str = "is are does do gets get being";
/// Words around a subject that are none of it.
const FILLERS: &str = "was were been is are be being got get gets has have had did do does it that this they we you \
    someone somebody first initially originally finally again ever last actually completely recently then already \
    eventually in";
/// Words for kinds of code.
const CODE_KINDS: &str = "function method class struct enum trait macro interface constant module file type variable \
    decorator property exception";
/// Words that any subject may have beside what names it.
const GENERIC: &str = "support feature function method class struct enum trait macro interface constant module file \
    type variable decorator property exception option flag command parameter argument setting field api endpoint code implementation handling \
    functionality capability ability bug directory dependency";
/// What a thing may be called beside, and still be it.
const MODIFIERS: &str = "new initial basic old deprecated unused obsolete legacy first simple optional builtin \
    built-in experimental native full official minimal preliminary proper explicit redundant unnecessary dead";
/// Words that end what a verb is about.
const ENDS: &str = "to in from on with by at into when where if so because as that which while after before instead \
    via using during under per unless until since but for than without";
/// What says that something is not done.
const NEGATIONS: &str = "not don't dont doesn't didn't never no cannot can't won't without avoid instead shouldn't";

/// Where the part of a question begins that says what was done, and which fact it asks for.
fn find_asking_word(words: &[TextWord<'_>]) -> Option<(usize, Option<ChangeFact>)> {
    for (at, word) in words.iter().enumerate() {
        match word.lower.as_str() {
            "who" | "whom" => return Some((at + 1, Some(ChangeFact::Author))),
            "when" => return Some((at + 1, Some(ChangeFact::Time))),
            "why" | "how" => return Some((at + 1, None)),
            "which" | "what" => {
                let next = |more: usize| words.get(at + more).map_or("", |word| word.lower.as_str());
                let fact = match (next(1), next(2)) {
                    ("release" | "releases" | "version" | "versions" | "tag", _) => ChangeFact::Release,
                    ("merge", "commit") => ChangeFact::Commit,
                    ("merge" | "pull", "request" | "requests") => ChangeFact::Commit,
                    ("commit" | "commits" | "change" | "revision" | "mr" | "pr", _) => ChangeFact::Commit,
                    ("year" | "date" | "day" | "month", _) => ChangeFact::Time,
                    ("author" | "developer" | "maintainer" | "contributor" | "person" | "people", _) => {
                        ChangeFact::Author
                    }
                    _ => return Some((at + 1, None)),
                };
                let two = matches!(next(1), "merge" | "pull");
                return Some((at + if two { 3 } else { 2 }, Some(fact)));
            }
            _ => {}
        }
    }
    None
}

/// Words without those around a subject that are none of it.
fn trim_fillers<'a, 'b>(mut words: &'a [TextWord<'b>]) -> &'a [TextWord<'b>] {
    let is_filler = |word: &TextWord<'_>| is_among(FILLERS, &word.lower) || is_article(&word.lower);
    while let [first, rest @ ..] = words
        && is_filler(first)
    {
        words = rest;
    }
    while let [rest @ .., last] = words
        && is_filler(last)
    {
        words = rest;
    }
    words
}

/// Whether a list has a word.
fn is_among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

fn is_article(word: &str) -> bool {
    matches!(word, "the" | "a" | "an" | "our" | "its" | "any")
}

/// What follows a verb, divided into its object and what is said beside.
fn split_object<'a, 'b>(words: &'a [TextWord<'b>]) -> (&'a [TextWord<'b>], &'a [TextWord<'b>]) {
    let words = trim_fillers(words);
    let mut end = words.len();
    for (at, word) in words.iter().enumerate().skip(1) {
        let goes_on = word.lower == "for" && is_generic(&core_of(&words[..at]));
        if word.follows_stop || (is_among(ENDS, &word.lower) && !goes_on) {
            end = at;
            break;
        }
    }
    (&words[..end], &words[end..])
}

/// Words that name something, where there are others: neither articles nor words that any subject may have.
fn names_of<'a, 'b>(words: &'a [TextWord<'b>]) -> impl Iterator<Item = &'a TextWord<'b>> {
    let says = |word: &&TextWord<'_>| !is_stop_word(&word.lower) && !is_among(MODIFIERS, &word.lower);
    let has_others = words.iter().filter(says).any(|word| !is_kind_of_thing(word));
    words.iter().filter(says).filter(move |word| !has_others || !is_kind_of_thing(word))
}

fn is_kind_of_thing(word: &TextWord<'_>) -> bool {
    is_among(GENERIC, word.lower.strip_suffix('s').unwrap_or(&word.lower))
}

/// The words that name something, for comparing.
fn core_of(words: &[TextWord<'_>]) -> BTreeSet<String> {
    names_of(words).map(TextWord::normal).collect()
}

/// Whether nothing but a kind of thing is named.
fn is_generic(core: &BTreeSet<String>) -> bool {
    core.iter().all(|word| GENERIC.split_whitespace().any(|generic| stem(generic) == *word))
}

/// What a sentence says was added, removed or fixed.
fn statements_of(words: &[TextWord<'_>]) -> Vec<Statement> {
    let first = beginning_of(words);
    let is_revert =
        words.get(first).is_some_and(|word| matches!(word.lower.as_str(), "revert" | "reverts" | "reverted"));
    let mut found = Vec::new();
    for at in first..words.len() {
        if found.len() == MAX_STATEMENTS {
            break;
        }
        let Some(mut statement) = statement_at(words, at, first) else { continue };
        if is_revert {
            statement.direction = match statement.direction {
                ChangeDirection::Added => ChangeDirection::Removed,
                ChangeDirection::Removed => ChangeDirection::Added,
                ChangeDirection::Fixed => continue,
            };
            statement.leads = at == first + 1;
        }
        found.push(statement);
    }
    found
}

/// What a word of a sentence says was done.
fn statement_at(words: &[TextWord<'_>], at: usize, first: usize) -> Option<Statement> {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let ChangeWord { direction, form } = match (lower(at), lower(at + 1)) {
        ("support" | "supports", _) if at == first => {
            ChangeWord { direction: ChangeDirection::Added, form: VerbForm::Base }
        }
        ("longer", "support" | "supports") => {
            return Some(object_after(words, at + 2, ChangeDirection::Removed, at < first + 2));
        }
        _ => change_word(&words[at])?,
    };
    if words[at.saturating_sub(2).max(first)..at].iter().any(|word| is_among(NEGATIONS, &word.lower)) {
        return None;
    }
    let before = &words[first..at];
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
        let starts = subject.iter().rposition(|word| word.lower != "for" && is_among(ENDS, &word.lower));
        let own = &subject[starts.map_or(0, |at| at + 1)..];
        return Some(Statement { direction, leads: clause == 0 && starts.is_none(), objects: objects_of(own) });
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
        if is_joined || (at > 0 && change_word(word).is_some_and(|verb| verb.form != VerbForm::Noun)) {
            end = at;
            break;
        }
        if is_among(ENDS, &word.lower) {
            let restarts = word.lower == "for" && is_generic(&core_of(&rest[start..at]));
            if !restarts {
                end = at;
                break;
            }
            start = at + 1;
        }
    }
    Statement { direction, leads, objects: objects_of(&rest[start.min(end)..end]) }
}

/// The things that are named one after the other: `Python 2.7 and 3.5` are `Python 2.7` and `Python 3.5`.
fn objects_of(words: &[TextWord<'_>]) -> Vec<BTreeSet<String>> {
    let mut objects: Vec<BTreeSet<String>> = Vec::new();
    let mut start = 0;
    for at in 0..=words.len() {
        let is_joint =
            words.get(at).is_none_or(|word| matches!(word.lower.as_str(), "and" | "or") || word.follows_comma);
        if !is_joint || (at == start && at < words.len()) {
            continue;
        }
        let own = &words[start..at];
        start = if words.get(at).is_some_and(|word| word.follows_comma) { at } else { at + 1 };
        let mut object = core_of(own);
        if !object.is_empty() && object.iter().all(|word| is_number(word)) {
            let before = objects.last().into_iter().flatten();
            object.extend(before.filter(|word| !is_number(word)).cloned());
        }
        if !object.is_empty() {
            objects.push(object);
        }
    }
    objects
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Where a sentence begins behind what stands before its subject: `feat:`, `[docs]`, `#12`.
fn beginning_of(words: &[TextWord<'_>]) -> usize {
    const MAX_PREFIX: usize = 3;
    let says_nothing = |at: usize| words[..at].iter().all(|word| change_word(word).is_none());
    let ends_prefix = |at: &usize| {
        let ends = words.get(*at).is_some_and(|word| word.follows_prefix);
        ends && (*at == 1 || words[1].follows_stop || says_nothing(*at))
    };
    (1..=MAX_PREFIX).rev().find(ends_prefix).unwrap_or(0)
}

#[cfg(test)]
mod tests;
