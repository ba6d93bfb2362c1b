//! Questions about a change of the past: who added something, when it was removed, in which release it was fixed. And which
//! sentences say that, or the opposite.

mod labels;
mod statements;
mod subject;
mod words;

use std::{borrow::Cow, collections::BTreeSet};

use statements::{BE, StatedObject, Statement, beginning_of, is_attribute, may_say_change, statements_of};
use subject::{
    ENDS, ObjectWord, begins_purpose, core_of, is_among, is_article, is_filler, is_generic, is_item, is_kind_of_code,
    is_number, is_purpose, is_side, last_part, may_be_definition, module_name, name_after_kind, names_of, owner_word,
    parameter_name, paths_in, says_further, split_object, split_owner, trim_fillers, whole_of,
};
use words::{ChangeWord, TextWord, VerbForm, change_word, split_words, writing_word};

pub use labels::direction_of_label;
pub use words::says_change;

use crate::{question::is_stop_word, text::stem};

/// Most words of a subject that is looked for.
const MAX_SUBJECT: usize = 8;

/// Most words that ask for a fact at the end of a question.
const MAX_ASKING: usize = 3;

/// What is done with what is used, by the project that uses it.
const USES: &str = "use used support supported need needed require required include included ship shipped";
const USING: &str = "using supporting needing requiring including shipping";

/// What a change did to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeDirection {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// It works again.
    Fixed,
    /// It is there, but is no longer to be used.
    Deprecated,
}

impl ChangeDirection {
    /// The past form of the verb for it.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Fixed => "fixed",
            Self::Deprecated => "deprecated",
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
    /// It begins with a name of code that is asked about, among words for what that is and whose: `Remove the Session
    /// load_rows attribute`.
    Named,
    /// It says it among other things, or of a part: `Remove the old cache of pages, since …`.
    Part,
    /// It says the opposite: `Add the cache`.
    Opposite,
}

/// A parameter of a function, as a question names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterName {
    /// Its own name.
    pub name: String,
    /// That of the function, if the question has one.
    pub function: Option<String>,
}

/// A question about a change of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeQuestion {
    /// What is asked about it; `None` if it is something else, such as the reason.
    pub fact: Option<ChangeFact>,
    /// What it did.
    pub direction: ChangeDirection,
    /// To what, as it is written, without marks of quotations and code.
    pub subject: String,
    /// The same with what is said beside it that belongs to it: `shell completion for PowerShell`.
    pub told: String,
    /// What else is said beside it, as of where or when: `from the shop`. Empty if nothing is.
    pub elsewhere: String,
    /// Whether a word like `function` behind it says that the subject is a name of code, or it looks like one.
    pub is_code: bool,
    /// The name that it may be in code: the last word of `function total`, as of `type hints`.
    pub code_name: Option<String>,
    /// Whether it asks who wrote it: texts of all sorts are written too, so nothing may be known of it as a change.
    pub is_written: bool,
    /// Paths that the question names beside the subject.
    pub paths: Vec<String>,
    /// The words that name the subject, as they are written, without those that any subject may have.
    pub names: Vec<String>,
    /// The name of a file or directory, if the subject is said to be a module, package or the like.
    pub module: Option<String>,
    /// The parameter that the subject is said to be, which no definition of that name is.
    pub parameter: Option<ParameterName>,
    /// What may be the definition that the subject was added to or removed from: `Session` in `added to Session`.
    pub owner: Option<String>,
    /// The names for comparing.
    core: BTreeSet<String>,
    /// These, and the words for the kind of thing that the subject is.
    whole: BTreeSet<String>,
    /// Words that tell more: `from the parser`.
    context: BTreeSet<String>,
    /// Whether it asks about what is not the first of its kind: `in other places`.
    is_further: bool,
}

impl ChangeQuestion {
    /// Reads a question; `None` if it does not ask about a change that was made. What happens again and again, as in `When is
    /// a session removed?`, is no such change.
    pub fn parse(text: &str) -> Option<Self> {
        let text = with_fact_first(text);
        Self::read(ended_use(&text).as_deref().unwrap_or(&text))
    }

    fn read(text: &str) -> Option<Self> {
        let words = split_words(text);
        let (asks, fact) = find_asking_word(&words)?;
        let may_be_present = matches!(fact, Some(ChangeFact::Commit | ChangeFact::Release));
        let read_verb = |word: &TextWord<'_>| {
            change_word(word).or_else(|| writing_word(word).filter(|_| fact == Some(ChangeFact::Author)))
        };
        let is_verb = |at: &usize| match read_verb(&words[*at]).map(|word| word.form) {
            Some(VerbForm::Past | VerbForm::Base) => true,
            Some(VerbForm::Other) => may_be_present,
            Some(VerbForm::Noun) | None => false,
        };
        let is_beside = |at: &usize| is_purpose(&words, *at) || is_attribute(&words, asks, *at);
        let verb = (asks..words.len()).filter(|at| !is_beside(at)).find(is_verb)?;
        let ChangeWord { direction, form } = read_verb(&words[verb])?;
        let asked = &words[asks..verb];
        let has = |list: &str| asked.iter().any(|word| is_among(list, &word.lower));
        let is_past = asks == 0 || has(PAST) || (form == VerbForm::Past && !has(PRESENT));
        if !is_past && !may_be_present {
            return None;
        }
        let before = without_opening(asked);
        let behind = &words[verb + 1..];
        if !is_own_verb(fact, before, form, behind) {
            return None;
        }
        let told = trim_fillers(before);
        let is_passive = before.iter().any(|word| is_among(PASSIVE, &word.lower)) && !told.is_empty();
        let (subject, beside) = split_object(if is_passive { told } else { behind });
        let (subject, owner) = split_owner(subject);
        let (mut context, mut paths) = (core_of(beside), paths_in(beside));
        context.extend(core_of(owner));
        if is_passive {
            context.extend(core_of(behind));
            paths.extend(paths_in(behind));
        }
        let core = core_of(subject);
        let is_written = change_word(&words[verb]).is_none();
        let is_other_text = is_written && (is_generic(&core) || (!is_passive && !begins_name(behind)));
        if core.is_empty() || core.len() > MAX_SUBJECT || is_item(subject) || is_other_text {
            return None;
        }
        let last = subject.last()?;
        let own = if owner.is_empty() { length_of_own(beside, is_passive) } else { 0 };
        let names = names_of(subject);
        let is_code = matches!(names.as_slice(), [name] if name.looks_like_code() || is_kind_of_code(last));
        // A plain word without an article is a name: `who wrote escape`. So is one in quotation marks.
        let is_alone = is_written && subject.len() == 1 && behind.len() == 1;
        let plain_name = names.first().filter(|name| is_alone || (names.len() == 1 && name.is_quoted));
        let owner = [owner, beside, if is_passive { behind } else { &[] }].into_iter().find_map(owner_word);
        let function = owner.or_else(|| owner_word(behind)).map(|owner| owner.text.to_owned());
        let parameter = parameter_name(subject).map(|name| ParameterName { name, function });
        let code_name = name_after_kind(subject).or_else(|| plain_name.map(|name| name.text.to_owned()));
        Some(Self {
            fact,
            direction,
            subject: plain_text(text, subject, &[]),
            told: plain_text(text, subject, &beside[..own]),
            elsewhere: plain_text(text, said_elsewhere(if is_passive { behind } else { &beside[own..] }), &[]),
            is_code,
            code_name,
            is_written,
            paths,
            names: names.into_iter().map(|word| word.text.to_owned()).collect(),
            module: module_name(subject),
            parameter,
            owner: owner.filter(|word| may_be_definition(word)).map(|owner| owner.text.to_owned()),
            whole: whole_of(subject),
            core,
            context,
            is_further: words[asks..].iter().any(says_further),
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

    /// Takes words out of those that a sentence must have because the question says them beside its subject.
    pub fn leave_out_context(&mut self, text: &str) {
        for word in split_words(text) {
            self.context.remove(&word.normal());
        }
    }

    /// The question as one of a project: its texts need not name it.
    #[must_use]
    pub fn within(&self, project: &str) -> Self {
        let mut own = self.clone();
        own.leave_out_context(project.rsplit('/').next().unwrap_or(project));
        own
    }

    /// The question without what it says beside its subject.
    #[must_use]
    pub fn without_context(&self) -> Self {
        Self { context: BTreeSet::new(), ..self.clone() }
    }

    /// What a sentence says of the change; `None` if nothing.
    pub fn fit_of(&self, sentence: &str) -> Option<StatedFit> {
        if !may_say_change(sentence) {
            return None;
        }
        let words = split_words(sentence);
        let statements = statements_of(&words);
        if statements.is_empty() {
            let is_title = self.direction == ChangeDirection::Added && self.is_titled(&words);
            return is_title.then_some(StatedFit::Same);
        }
        let all: BTreeSet<String> = words.iter().map(TextWord::normal).collect();
        let has_core = |object: &StatedObject| self.core.is_subset(&object.whole);
        let is_same = |object: &StatedObject| {
            // What the question says beside its subject may be said within it: `Add PowerShell completion`.
            let is_own = |word: &&String| !self.context.contains(*word);
            let is_core = object.core == self.core || object.core.iter().filter(is_own).eq(&self.core);
            (is_core && object.parts.is_subset(&self.whole)) || object.whole == self.whole
        };
        let has_side = self.begins_aside(&words);
        let is_so = |statement: &&Statement| statement.direction == self.direction;
        let has_context = self.context.iter().all(|word| has_word(&all, word));
        let mut fit = None;
        for statement in statements.iter().filter(is_so).filter(|_| has_context) {
            // What was done to more of it, or at more places, had been done before.
            let is_first = |object: &&StatedObject| self.is_further || !(statement.is_further || object.is_further);
            let own: Vec<&StatedObject> = statement.objects.iter().filter(is_first).collect();
            let is_exact = own.iter().any(|object| match self.direction {
                ChangeDirection::Fixed => has_core(object) && !self.is_of_lesser(&object.whole),
                ChangeDirection::Added | ChangeDirection::Removed | ChangeDirection::Deprecated => is_same(object),
            });
            let is_aside = has_side || self.is_placed_aside(statement);
            if is_exact && statement.leads && !is_aside {
                return Some(StatedFit::Same);
            }
            let is_mentioned = self.direction == ChangeDirection::Fixed && self.core.is_subset(&all);
            let is_called_so = |object: &&StatedObject| self.is_name_of(object) || self.is_taken_by(object, &words);
            if statement.leads && !is_aside && own.iter().any(is_called_so) {
                fit = Some(StatedFit::Named);
            } else if is_exact || is_mentioned || statement.objects.iter().any(has_core) {
                fit = fit.or(Some(StatedFit::Part));
            }
        }
        let is_opposite = |statement: &Statement| {
            statement.direction.is_opposite(self.direction) && statement.objects.iter().any(has_core)
        };
        // What says both, such as `it was removed`, is no opposite.
        let says_both = statements.iter().any(|statement| is_so(&statement));
        fit.or_else(|| (!says_both && statements.iter().any(is_opposite)).then_some(StatedFit::Opposite))
    }
}

impl ChangeQuestion {
    /// Whether a sentence begins with what is not of the program itself, as `travis: add X` does, and the question does not say
    /// that.
    fn begins_aside(&self, words: &[TextWord<'_>]) -> bool {
        let sides = words[..beginning_of(words)].iter().filter(|word| is_side(word));
        sides.map(TextWord::normal).any(|side| self.is_other_side(&side))
    }

    /// Whether something was done to what is not of the program itself, as in `add X to the docs`, and the question does not
    /// say that.
    fn is_placed_aside(&self, statement: &Statement) -> bool {
        statement.sides.iter().any(|side| self.is_other_side(side))
    }

    fn is_other_side(&self, side: &str) -> bool {
        !self.whole.contains(side) && !self.context.contains(side)
    }

    /// Whether a title tells of the subject at further places, as `support X on more platforms` does, or in what is not of the
    /// program itself. What stands below it tells of no more than that.
    pub fn is_told_aside(&self, title: &str) -> bool {
        let words = split_words(title);
        let has_side = self.begins_aside(&words);
        let is_aside = |statement: &Statement| {
            let is_further = |object: &StatedObject| !self.is_further && (statement.is_further || object.is_further);
            let is_placed = has_side || self.is_placed_aside(statement);
            let mut own = statement.objects.iter().filter(|object| self.core.is_subset(&object.whole));
            statement.direction == self.direction && own.any(|object| is_placed || is_further(object))
        };
        statements_of(&words).iter().any(is_aside)
    }

    /// Whether a title has all the names of the subject and says nothing else of them than that: `dark mode of pages`. A number
    /// stands for those that begin with it: `Python 2` for `Python 2.7`.
    pub fn is_named_by(&self, title: &str) -> bool {
        let words = split_words(title);
        let is_so = |statement: &Statement| statement.direction == self.direction;
        let statements = statements_of(&words);
        let names: Vec<String> = words.iter().map(TextWord::normal).collect();
        let has = |name: &String| {
            let begins = |word: &String| word.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'));
            names.iter().any(|word| word == name || (is_number(name) && begins(word)))
        };
        let is_other = |word: &TextWord<'_>| is_side(word) && !self.whole.contains(&word.normal());
        let says_so = statements.is_empty() || statements.iter().any(is_so);
        says_so && self.core.iter().all(has) && !words.iter().any(is_other)
    }

    /// Whether what a thing is called has the subject, which is a name of code there or in the question, and else only words
    /// for what kind of thing that is or whose: `load_rows` in `Session load_rows attribute`. Of what is called support any words
    /// say in what.
    fn is_name_of(&self, object: &StatedObject) -> bool {
        let is_code_asked = self.is_code || self.parameter.is_some();
        let is_own = |word: &ObjectWord| {
            let is_end = || is_code_asked && word.is_code && self.core.contains(&last_part(&word.normal));
            self.core.contains(&word.normal) || is_end()
        };
        let own: Vec<&ObjectWord> = object.words.iter().filter(|word| is_own(word)).collect();
        let has = |name: &String| own.iter().any(|word| word.normal == *name || last_part(&word.normal) == *name);
        if !self.core.iter().all(has) || !(is_code_asked || own.iter().any(|word| word.is_code)) {
            return false;
        }
        let is_support = [&self.whole, &object.whole].iter().all(|words| words.contains("support"));
        // A name with a capital is that of a type, which is nobody's.
        let may_have_owner = !own.iter().any(|word| word.is_proper);
        // `PowerShell shell`
        let repeats = |word: &ObjectWord| own.iter().any(|name| name.lower.ends_with(&word.lower));
        let says_no_other =
            |word: &ObjectWord| word.is_kind || is_support || (may_have_owner && word.is_proper) || repeats(word);
        let mut others = object.words.iter().filter(|word| !is_own(word));
        others.all(|word| !word.is_side && says_no_other(word))
    }

    /// Whether a thing that a sentence names is the function of the parameter that is asked about, shown with that: `retries` of
    /// `load(retries: int)`.
    fn is_taken_by(&self, object: &StatedObject, words: &[TextWord<'_>]) -> bool {
        let Some(ParameterName { name, function: Some(function) }) = &self.parameter else { return false };
        let (name, function) = (name.to_lowercase(), last_part(&function.to_lowercase()));
        let is_function = |word: &str| last_part(word) == function;
        let shows = |two: &[TextWord<'_>]| is_function(&two[0].lower) && two[1].is_taken && two[1].lower == name;
        object.words.iter().any(|word| is_function(&word.lower)) && words.windows(2).any(shows)
    }

    /// Whether what was fixed is something about the subject that is not the subject: `typo in its documentation`.
    fn is_of_lesser(&self, object: &BTreeSet<String>) -> bool {
        let is_lesser = |word: &String| LESSER.split_whitespace().any(|lesser| stem(lesser) == *word);
        object.difference(&self.core).any(is_lesser)
    }

    /// Whether a title is the subject and what of it there is now, without a verb: `TLS support (#12)`.
    fn is_titled(&self, words: &[TextWord<'_>]) -> bool {
        let is_number = |word: &TextWord<'_>| word.lower.chars().all(|c| c.is_ascii_digit());
        let end = words.iter().rposition(|word| !is_number(word)).map_or(0, |last| last + 1);
        words[..end].last().is_some_and(|last| is_among(NOW_THERE, &last.lower)) && core_of(&words[..end]) == self.core
    }
}

/// Words of a text and those that follow them, as they are written, without marks of quotations and code.
fn plain_text(text: &str, words: &[TextWord<'_>], more: &[TextWord<'_>]) -> String {
    let Some((first, last)) = words.first().zip(more.last().or(words.last())) else { return String::new() };
    text[first.range.start..last.range.end].replace(['"', '`', '“', '”'], "")
}

/// How many of the words beside a subject belong to it, as `for PowerShell` does. Before the verb all of them do.
fn length_of_own(beside: &[TextWord<'_>], is_passive: bool) -> usize {
    let ends = |word: &TextWord<'_>| {
        let is_elsewhere = is_among(ENDS, &word.lower) && !is_among(BELONGING, &word.lower);
        word.follows_stop || word.follows_comma || (is_elsewhere && !is_passive)
    };
    beside.iter().position(ends).unwrap_or(beside.len())
}

/// Those of the words beside a subject that say where or when something was done to it.
fn said_elsewhere<'a, 'b>(words: &'a [TextWord<'b>]) -> &'a [TextWord<'b>] {
    let ends = |word: &TextWord<'_>| {
        word.follows_stop || word.follows_comma || matches!(word.lower.as_str(), "and" | "or" | "but")
    };
    let begins = words.first().is_some_and(|first| is_among(ENDS, &first.lower));
    let end = words.iter().position(ends).unwrap_or(words.len());
    if begins { &words[..end] } else { &[] }
}

/// Whether words for comparing have one, or a dotted name that ends with it or that it ends with.
fn has_word(words: &BTreeSet<String>, word: &str) -> bool {
    words.contains(word) || words.contains(&last_part(word)) || words.iter().any(|other| last_part(other) == word)
}

/// Whether a title tells of what is not of the program itself, such as its tests or documentation.
pub fn is_aside(title: &str) -> bool {
    split_words(title).iter().any(is_side)
}

/// What a title may end with that says of something that it is there now.
const NOW_THERE: &str = "support implementation";
/// What is fixed about something without a fault of the thing itself.
const LESSER: &str = "typo spelling grammar wording doc documentation docstring comment readme changelog test lint warning \
    formatting";
/// Words that join to a subject what belongs to it.
const BELONGING: &str = "for with without on when where if";
const PASSIVE: &str = "was were been is are be being got get gets";
const PAST: &str = "was were been had has have did";
const PRESENT: &str = "is are does do gets get being";
/// Words with which a clause within a question begins, or that ask of no change of the past.
const CLAUSES: &str = "to that who whom which when whether after before if until while because will would should shall \
    can could may might must cannot won't";
/// Words before the one that asks.
const LEAD: &str = "and so but then also ok okay since by in on at from now do does did you we anyone anybody someone know \
    remember can could tell me please say";
/// Who or what is meant by the one that a question asks for: `who was the first to add it`.
const ONES: &str = "one first person people developer developers maintainer maintainers contributor contributors author \
    commit release version";

/// A question that asks for a fact at its end, with that at its beginning: `was the leak fixed, and when?` is `when was the
/// leak fixed`. Of one that asks for a fact at both ends the beginning is left.
fn with_fact_first(text: &str) -> Cow<'_, str> {
    let words = split_words(text);
    let begin = (words.len().saturating_sub(MAX_ASKING)..words.len()).find(|at| is_asking(&words[*at..]));
    let Some(at) = begin else { return Cow::Borrowed(text) };
    let joints = words[..at].iter().rev().take_while(|word| is_among("and if so", &word.lower)).count();
    let is_joined = joints > 0 || words[at].follows_comma || words[at].follows_stop;
    let (before, end) = words.split_at(at - joints);
    let (Some(first), Some(end)) = (before.first().filter(|_| is_joined), end.first()) else {
        return Cow::Borrowed(text);
    };
    let own = text[..end.range.start].trim_end_matches([' ', ',', '.', ';', '?']);
    if is_among("was were has have had did", &first.lower) {
        let asked = text[words[at].range.start..].trim_end_matches([' ', '.', '?', '!']);
        return Cow::Owned(format!("{asked} {own}"));
    }
    let asks_first = find_asking_word(before).is_some_and(|(_, fact)| fact.is_some());
    Cow::Borrowed(if asks_first { own } else { text })
}

/// A question about the end of a use or of support, as one about a removal: of `why does the shop no longer use Redis?` it is
/// `why was Redis removed`.
fn ended_use(text: &str) -> Option<String> {
    let words = split_words(text);
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let aux = (0..words.len()).find(|at| is_among("do does did has have don't doesn't didn't", lower(*at)))?;
    find_asking_word(&words[..aux])?;
    let length = match (lower(words.len().saturating_sub(2)), lower(words.len() - 1)) {
        (_, "anymore") => 1,
        ("any", "more" | "longer") => 2,
        _ => 0,
    };
    let end = words.len() - length;
    let is_use = |at: usize| is_among(USES, lower(at));
    let is_negated = (aux..end).any(|at| lower(at) == "not" || lower(at).ends_with("n't"));
    let ends_at = |at: &usize| match (lower(at.wrapping_sub(2)), lower(at.wrapping_sub(1))) {
        ("no", "longer") => is_use(*at),
        (_, "stop" | "stopped") => is_among(USING, lower(*at)),
        _ => length > 0 && is_negated && is_use(*at),
    };
    let verb = (aux + 1..end).find(ends_at)?;
    let own = words.get(verb + 1..end).filter(|own| !own.is_empty())?;
    let (asked, subject) = (&text[..words[aux].range.start], plain_text(text, own, &[]));
    Some(format!("{asked}was {subject} removed"))
}

/// Whether words ask for a fact and say nothing else: `when`, `in which release`.
fn is_asking(words: &[TextWord<'_>]) -> bool {
    let words: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
    match words.as_slice() {
        ["when" | "who"] | ["since", "when"] | ["by", "whom"] => true,
        ["which" | "what", what] | ["in" | "since", "which" | "what", what] => {
            matches!(*what, "release" | "version" | "commit")
        }
        _ => false,
    }
}

/// Where the part of a question begins that says what was done, and which fact it asks for. The word that asks who or when
/// stands first: elsewhere it begins a clause. Whether something was done is told by when it was.
fn find_asking_word(words: &[TextWord<'_>]) -> Option<(usize, Option<ChangeFact>)> {
    if asks_whether(words) {
        return Some((0, Some(ChangeFact::Time)));
    }
    let asks = |word: &TextWord<'_>| is_among("who whom when why how which what", &word.lower);
    let at = words.iter().position(asks)?;
    let (length, fact) = read_asking_words(&words[at..]);
    let is_first = words[..at].iter().all(|word| is_among(LEAD, &word.lower));
    let must_be_first = matches!(fact, Some(ChangeFact::Author | ChangeFact::Time));
    (is_first || !must_be_first).then_some((at + length, fact))
}

/// Whether a question asks if something was added or removed, and nothing more: `was load_rows removed from the importer?` That
/// something is removed says of code alone that it is gone: of other things it is what happens again and again.
fn asks_whether(words: &[TextWord<'_>]) -> bool {
    let Some(first) = words.first() else { return false };
    let is_change = |word: &TextWord<'_>| {
        let change = change_word(word).filter(|change| matches!(change.form, VerbForm::Past | VerbForm::Base));
        change.filter(|change| matches!(change.direction, ChangeDirection::Added | ChangeDirection::Removed))
    };
    let found = words.iter().enumerate().skip(1).find_map(|(at, word)| Some((at, is_change(word)?.form)));
    let Some((verb, form)) = found else { return false };
    let behind = words.get(verb + 1).map(|word| word.lower.as_str());
    let tells_place = behind.is_none_or(|word| is_among("from in of to yet again already", word));
    let is_code = match &words[1..verb] {
        [.., last] => is_kind_of_code(last) || last.looks_like_code(),
        [] => false,
    };
    match first.lower.as_str() {
        "was" | "were" => form == VerbForm::Past && tells_place,
        "has" | "have" | "had" => {
            form == VerbForm::Past && tells_place && words[..verb].iter().any(|word| word.lower == "been")
        }
        "is" | "are" => form == VerbForm::Past && behind.is_none() && is_code,
        "did" => form == VerbForm::Base,
        _ => false,
    }
}

/// How many of these words ask, and for which fact.
fn read_asking_words(words: &[TextWord<'_>]) -> (usize, Option<ChangeFact>) {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    match lower(0) {
        "who" | "whom" => return (1, Some(ChangeFact::Author)),
        "when" => return (1, Some(ChangeFact::Time)),
        "which" | "what" => {}
        _ => return (1, None),
    }
    let fact = match (lower(1), lower(2)) {
        ("release" | "releases" | "version" | "versions" | "tag", _) => ChangeFact::Release,
        ("merge", "commit") => ChangeFact::Commit,
        ("merge" | "pull", "request" | "requests") => ChangeFact::Commit,
        ("commit" | "commits" | "change" | "revision" | "mr" | "pr", _) => ChangeFact::Commit,
        ("year" | "date" | "day" | "month", _) => ChangeFact::Time,
        ("author" | "developer" | "maintainer" | "contributor" | "person" | "people", _) => ChangeFact::Author,
        _ => return (1, None),
    };
    (if matches!(lower(1), "merge" | "pull") { 3 } else { 2 }, Some(fact))
}

/// Whether the words behind `who wrote` begin with what was written, and not with what it was written about or to.
fn begins_name(words: &[TextWord<'_>]) -> bool {
    words.first().is_some_and(|word| is_article(&word.lower) || word.looks_like_code() || !is_stop_word(&word.lower))
}

/// Words before a verb without what only leads to it: `was it that`, `was the first to`.
fn without_opening<'a, 'b>(words: &'a [TextWord<'b>]) -> &'a [TextWord<'b>] {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let length = match (lower(1), lower(2)) {
        ("it", "that" | "who" | "which") => 3,
        ("the", one) if is_among(ONES, one) && matches!(lower(3), "to" | "that" | "who" | "which") => 4,
        _ => return words,
    };
    if matches!(lower(0), "was" | "were" | "is") { &words[length..] } else { words }
}

/// Whether a verb is that of the question itself, by the words between it and those that ask, and not of a clause.
fn is_own_verb(fact: Option<ChangeFact>, before: &[TextWord<'_>], form: VerbForm, behind: &[TextWord<'_>]) -> bool {
    let before = match before {
        // A pronoun: `when was that removed?`
        [rest @ .., last] if last.lower == "that" && rest.iter().all(is_filler) => rest,
        _ => before,
    };
    let has = |list: &str| before.iter().any(|word| is_among(list, &word.lower));
    let begins_clause = |at: usize| is_among(CLAUSES, &before[at].lower) && !begins_purpose(before, at);
    if (0..before.len()).any(begins_clause) {
        return false;
    }
    let Some(first) = before.first() else { return true };
    if before.iter().all(is_filler) {
        return true;
    }
    match first.lower.as_str() {
        "did" | "do" | "does" => form == VerbForm::Base || has("get"),
        "was" | "were" | "is" | "are" | "has" | "have" | "had" => form == VerbForm::Past,
        // As `do you know when the cache was removed?`
        lower => {
            let be = before.iter().rposition(|word| is_among(BE, &word.lower));
            let ends = be.is_some_and(|be| before[be..].iter().all(is_filler));
            let is_alone = !behind.iter().any(|word| word.follows_comma);
            let may_be_so = fact != Some(ChangeFact::Author) && form == VerbForm::Past;
            may_be_so && ends && is_alone && lower != "of" && !is_among(ENDS, lower)
        }
    }
}

#[cfg(test)]
mod tests;
