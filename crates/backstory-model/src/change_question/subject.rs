//! What a change is about: the words that name something, without those that anything may have beside its name.

use std::collections::BTreeSet;

use super::words::TextWord;
use crate::{question::is_stop_word, text::stem};

/// Words around a subject that are none of it.
const FILLERS: &str = "was were been is are be being got get gets has have had did do does it that this they we you \
    someone somebody first initially originally finally again ever last actually completely recently then already \
    eventually in";
/// Words for kinds of code.
const CODE_KINDS: &str = "function method class struct enum trait macro interface constant module file type variable \
    decorator property exception";
/// Those of them for what has a file or directory of its own, which is called by its name.
const MODULE_KINDS: &str = "module package crate library file directory";
/// Kinds of things that something has: a `CMake option` is no CMake.
const PART_KINDS: &str = "option flag command parameter argument setting field variable constant bug";
/// Words for what a function takes.
const PARAMETER_KINDS: &str = "parameter param argument arg kwarg";
/// What is not of the program itself, with which a title may begin or a statement end: `travis: add the shop`, `remove the
/// shop from the docs`.
const SIDES: &str =
    "test ci travis cirrus appveyor bench benchmark example fuzz doc docs documentation man manpage readme changelog";
/// What the names of files end with that are not of the program itself.
const SIDE_FILES: &str = "yml yaml ini md rst adoc";
/// Words behind which is said where something was done.
const PLACING: &str = "in from on to into within across throughout inside";
/// Words that say of a thing or a place that it is not the first one.
const FURTHER: &str = "more other others another further additional older newer";
/// Words for how many that may stand before these.
const QUANTITIES: &str = "all some many several few one two three";
/// Words that say of a name of code what kind of thing it is, beside those that any subject may have.
const KINDS_OF_CODE: &str = "attribute member configuration config keyword value entry";
/// Words that any subject may have beside what names it.
const GENERIC: &str = "support feature function method class struct enum trait macro interface constant module file \
    type variable decorator property exception option flag command parameter argument setting field api endpoint code implementation handling \
    functionality capability ability possibility bug directory dependency dep crate package library use usage";
/// Those of them that `of` may join to the name.
const JOINED_BY_OF: &str = "support feature implementation handling functionality capability use usage";
/// Those of them that `on` may join to the name.
const JOINED_BY_ON: &str = "dependency dep";
/// Those of them that `to` may join to what they are for: `the option to sort rows`.
const JOINED_BY_TO: &str =
    "option flag setting parameter argument command ability capability possibility support feature functionality";
/// What a thing may be called beside, and still be it.
const MODIFIERS: &str = "new initial basic old deprecated unused obsolete legacy first simple optional builtin \
    built-in experimental native full official minimal preliminary proper explicit redundant unnecessary dead";
/// Words that end what a verb is about.
pub(super) const ENDS: &str = "to in from on with by at into when where if so because as that which while after before instead \
    via using during under per unless until since but for than without across among throughout within inside between";
/// Words for the project itself and for what a forge keeps: who made one is no change to what the project has.
const ITEMS: &str =
    "project repository repo codebase issue ticket request merge pull mr pr commit thread discussion milestone";

/// Whether a list has a word.
pub(super) fn is_among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

pub(super) fn is_article(word: &str) -> bool {
    matches!(word, "the" | "a" | "an" | "our" | "its" | "any")
}

pub(super) fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a word around a subject is none of it.
pub(super) fn is_filler(word: &TextWord<'_>) -> bool {
    is_among(FILLERS, &word.lower) || is_article(&word.lower)
}

/// Words without those around a subject that are none of it.
pub(super) fn trim_fillers<'a, 'b>(mut words: &'a [TextWord<'b>]) -> &'a [TextWord<'b>] {
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

/// What follows a verb, divided into its object and what is said beside.
pub(super) fn split_object<'a, 'b>(words: &'a [TextWord<'b>]) -> (&'a [TextWord<'b>], &'a [TextWord<'b>]) {
    let words = trim_fillers(words);
    let mut end = words.len();
    for (at, word) in words.iter().enumerate().skip(1) {
        let goes_on = joins_purpose(words, at) && is_generic(&core_of(&words[..at]));
        if word.follows_stop || (is_among(ENDS, &word.lower) && !goes_on) {
            end = at;
            break;
        }
    }
    (&words[..end], &words[end..])
}

/// Words that name something: neither articles nor, where there are others, a kind of thing behind or before the name. One
/// within a name belongs to it: `command completion` is not `completion`.
pub(super) fn names_of<'a, 'b>(words: &'a [TextWord<'b>]) -> Vec<&'a TextWord<'b>> {
    let named: Vec<usize> = (0..words.len()).filter(|at| says_something(&words[*at])).collect();
    let is_kind = |at: usize| is_kind_of_thing(&words[at]) && !is_called_like_kind(words, at);
    let has_others = named.iter().any(|at| !is_kind(*at));
    let last = named.last().copied();
    let is_beside = |at: usize| Some(at) == last || leads_to_name(words, at);
    let is_left_out = |at: usize| has_others && is_kind(at) && is_beside(at);
    named.into_iter().filter(|at| !is_left_out(*at)).map(|at| &words[at]).collect()
}

/// Whether a word that may be for a kind of thing is the name of one of code: `Argument` of `the Argument class`.
fn is_called_like_kind(words: &[TextWord<'_>], at: usize) -> bool {
    let is_proper = words[at].range.start > 0 && words[at].text.starts_with(char::is_uppercase);
    is_proper && words.get(at + 1).is_some_and(is_kind_of_code)
}

/// Whether a word is more than an article, or than what a thing may be called beside. Of code any word is a name.
fn says_something(word: &TextWord<'_>) -> bool {
    let is_plain = || !is_stop_word(&word.lower) && !is_among(MODIFIERS, &word.lower);
    !word.is_value && (word.is_marked || is_plain())
}

/// Whether a word names nothing by itself, as an article, a kind of thing and what such may be called beside do not.
pub(super) fn names_nothing(word: &TextWord<'_>) -> bool {
    !word.is_marked && (is_filler(word) || is_kind_of_thing(word) || !says_something(word))
}

/// Whether the name of what a kind of thing is said to be follows it: `support for TLS`, `flag --quiet`, `class Session`,
/// `module "cart"`.
fn leads_to_name(words: &[TextWord<'_>], at: usize) -> bool {
    let Some(next) = words.get(at + 1) else { return false };
    let is_capital = |word: &TextWord<'_>| word.text.starts_with(char::is_uppercase);
    match next.lower.as_str() {
        "for" => true,
        "of" => is_among(JOINED_BY_OF, &words[at].lower),
        "on" => is_among(JOINED_BY_ON, &words[at].lower),
        "to" => is_kind_among(JOINED_BY_TO, &words[at]),
        _ => {
            let is_name = is_capital(next) && !is_capital(&words[at]);
            is_name || next.is_quoted || next.looks_like_code() || next.text.starts_with("--")
        }
    }
}

/// Whether a word may join what a thing is for to the words for it: `support for TLS`, `the option to sort rows`.
pub(super) fn joins_purpose(words: &[TextWord<'_>], at: usize) -> bool {
    let follows = |list: &str| at > 0 && is_kind_among(list, &words[at - 1]);
    match words[at].lower.as_str() {
        "for" => true,
        "to" => follows(JOINED_BY_TO),
        "on" => follows(JOINED_BY_ON),
        _ => false,
    }
}

/// Whether a `to` begins no clause but says what an option or ability is for, which may have a name: `the option to sort`,
/// `the flag --quiet to print less`.
pub(super) fn begins_purpose(words: &[TextWord<'_>], at: usize) -> bool {
    if words[at].lower != "to" || words.get(at + 1).is_none_or(|next| next.lower == "be") {
        return false;
    }
    match &words[..at] {
        [.., kind] if is_kind_among(JOINED_BY_TO, kind) => true,
        [.., kind, name] => {
            let is_name = name.text.starts_with("--") || name.looks_like_code();
            is_name && is_kind_among(JOINED_BY_TO, kind)
        }
        _ => false,
    }
}

/// Whether a verb only says what an option or ability is for: `the ability to remove labels`, `support for adding users`.
pub(super) fn is_purpose(words: &[TextWord<'_>], at: usize) -> bool {
    match &words[..at] {
        [.., kind, joint] if joint.lower == "for" => is_kind_among(JOINED_BY_TO, kind),
        [.., _] => begins_purpose(words, at - 1),
        [] => false,
    }
}

fn is_kind_of_thing(word: &TextWord<'_>) -> bool {
    is_kind_among(GENERIC, word)
}

/// Whether a list has a word or that of which it is the plural.
fn is_kind_among(list: &str, word: &TextWord<'_>) -> bool {
    let lower = word.lower.as_str();
    ["", "s", "es"].iter().any(|ending| lower.strip_suffix(ending).is_some_and(|word| is_among(list, word)))
}

/// Whether a word is for a kind of code.
pub(super) fn is_kind_of_code(word: &TextWord<'_>) -> bool {
    is_among(CODE_KINDS, &word.lower)
}

/// The name of what may be code, as a word for a kind of code and nothing else stands before it: `function total`. A
/// compound noun looks alike: `type hints`.
pub(super) fn name_after_kind(subject: &[TextWord<'_>]) -> Option<String> {
    let names = names_of(subject);
    let [kind, name] = names.as_slice() else { return None };
    let are_beside = subject.windows(2).any(|two| two[0].range == kind.range && two[1].range == name.range);
    (are_beside && is_kind_of_code(kind)).then(|| name.text.to_owned())
}

/// The name of a file or directory that is called a module, package or the like, before it or behind: `the cart module`,
/// `package cart`.
pub(super) fn module_name(subject: &[TextWord<'_>]) -> Option<String> {
    if !subject.iter().any(|word| is_kind_among(MODULE_KINDS, word)) {
        return None;
    }
    match names_of(subject).as_slice() {
        [name] => Some(name.text.to_owned()),
        [kind, name] if is_kind_among(MODULE_KINDS, kind) => Some(name.text.to_owned()),
        _ => None,
    }
}

/// The words for a parameter or a name of code, and those for what it is one of: `parameter timeout` and `of get`. Other words
/// are not divided.
pub(super) fn split_owner<'a, 'b>(subject: &'a [TextWord<'b>]) -> (&'a [TextWord<'b>], &'a [TextWord<'b>]) {
    let of = subject.iter().position(|word| word.lower == "of").unwrap_or(subject.len());
    let (own, owner) = subject.split_at(of);
    let is_of_code = || {
        let is_code = matches!(names_of(own).as_slice(), [name] if name.looks_like_code());
        is_code && owner_word(owner).is_some_and(may_be_definition)
    };
    if parameter_name(own).is_some() || is_of_code() { (own, owner) } else { subject.split_at(subject.len()) }
}

/// The name of what is called a parameter, before that word or behind it.
pub(super) fn parameter_name(subject: &[TextWord<'_>]) -> Option<String> {
    let is_parameter = |word: &TextWord<'_>| is_kind_among(PARAMETER_KINDS, word);
    let names = names_of(subject);
    let name = match names.as_slice() {
        [name] if subject.iter().any(is_parameter) => name,
        [kind, name] if is_parameter(kind) => name,
        _ => return None,
    };
    // `--quiet` is one of a command.
    (!is_parameter(name) && !name.text.starts_with("--")).then(|| name.text.to_owned())
}

/// The name of what has a part: `get` in `of the function get` and `to get`.
pub(super) fn owner_word<'a, 'b>(words: &'a [TextWord<'b>]) -> Option<&'a TextWord<'b>> {
    let leads = |word: &TextWord<'_>| matches!(word.lower.as_str(), "of" | "to" | "from" | "in");
    let at = words.iter().position(leads)?;
    words[at + 1..].iter().find(|word| !is_article(&word.lower) && !is_kind_of_code(word))
}

/// Whether a word may be the name of a definition where no word for a kind of code says that it is one.
pub(super) fn may_be_definition(word: &TextWord<'_>) -> bool {
    word.looks_like_code() || word.text.starts_with(char::is_uppercase)
}

/// The kinds of things among words that only something else has, if these do not name one by its own name, as in `option
/// --quiet` and `setting "quiet"`.
pub(super) fn part_kinds(words: &[TextWord<'_>]) -> BTreeSet<String> {
    let is_own_name = |word: &TextWord<'_>| word.is_quoted || word.looks_like_code() || word.text.starts_with("--");
    if words.iter().any(is_own_name) {
        return BTreeSet::new();
    }
    words.iter().filter(|word| is_kind_among(PART_KINDS, word)).map(TextWord::normal).collect()
}

/// Whether a word stands for what is not of the program itself: `docs`, `tests/cart.py`, `tox.ini`.
pub(super) fn is_side(word: &TextWord<'_>) -> bool {
    let is_one =
        |part: &str| ["", "s"].iter().any(|end| part.strip_suffix(end).is_some_and(|one| is_among(SIDES, one)));
    let is_within = || word.lower.contains('/') && word.lower.split('/').any(is_one);
    let is_file = || word.lower.rsplit_once('.').is_some_and(|(_, end)| is_among(SIDE_FILES, end));
    is_kind_among(SIDES, word) || is_within() || is_file()
}

/// Whether a word says of a thing or a place that it is not the first one.
pub(super) fn says_further(word: &TextWord<'_>) -> bool {
    is_among(FURTHER, &word.lower)
}

/// Whether words name a thing or a place that is not the first one: `more shells`, `the other places`. Before an adverb such a
/// word says something else: `more easily`.
pub(super) fn begins_further(words: &[TextWord<'_>]) -> bool {
    let leads = |word: &&TextWord<'_>| is_article(&word.lower) || is_among(QUANTITIES, &word.lower);
    let at = words.iter().take_while(leads).count();
    let is_adverb = || words.get(at + 1).is_some_and(|next| next.lower.ends_with("ly"));
    words.get(at).is_some_and(says_further) && !is_adverb()
}

/// Whether the words behind what something was done to say that it was done at further places: `in other places`, `to more
/// commands`.
pub(super) fn is_at_further_places(words: &[TextWord<'_>]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let is_joined = !first.follows_stop && !first.follows_comma;
    is_joined && is_among(PLACING, &first.lower) && begins_further(rest)
}

/// The words of the places that are named behind what something was done to, if these are not of the program itself:
/// `tox.ini` of `in tox.ini`. Where `to` says what for it names none: `to speed up tests`.
pub(super) fn sides_behind(words: &[TextWord<'_>]) -> BTreeSet<String> {
    let mut sides = BTreeSet::new();
    let (mut is_placed, mut is_to) = (false, false);
    let own = words.iter().enumerate().take_while(|(_, word)| !word.follows_stop && !word.follows_comma);
    for (at, word) in own {
        if is_among(ENDS, &word.lower) {
            (is_placed, is_to) = (is_among(PLACING, &word.lower), word.lower == "to");
            if word.lower == "for" {
                sides.extend(side_meant(&words[at + 1..]));
            }
        } else if is_placed && !is_article(&word.lower) {
            if is_side(word) {
                sides.insert(word.normal());
            }
            is_placed = !is_to;
        }
    }
    sides
}

/// The word for what is not of the program itself, if something was done for just that: `test` of `for the choice test`. What is
/// `for tests`, or `for running unit tests`, may be of the program.
fn side_meant(words: &[TextWord<'_>]) -> Option<String> {
    let ends = |word: &TextWord<'_>| {
        let is_joint = matches!(word.lower.as_str(), "and" | "or") || is_among(ENDS, &word.lower);
        word.follows_stop || word.follows_comma || is_joint
    };
    let end = words.iter().position(ends).unwrap_or(words.len());
    match &words[..end] {
        [first, .., last] if is_side(last) && !first.lower.ends_with("ing") => Some(last.normal()),
        _ => None,
    }
}

/// Whether the words are for the project itself, or for something that a forge keeps: `this project`, `issue 12`.
pub(super) fn is_item(words: &[TextWord<'_>]) -> bool {
    let says = words.iter().filter(|word| !is_stop_word(&word.lower));
    let names = says.map(|word| word.lower.as_str()).filter(|word| !is_number(word));
    let mut has_item = false;
    for name in names {
        if !is_among(ITEMS, name) && !name.strip_suffix('s').is_some_and(|one| is_among(ITEMS, one)) {
            return false;
        }
        has_item = true;
    }
    has_item
}

/// Paths among words: `src/cart.py`, `cart.py`.
pub(super) fn paths_in(words: &[TextWord<'_>]) -> Vec<String> {
    const MAX_EXTENSION: usize = 5;
    let is_path = |word: &&TextWord<'_>| {
        let extension = word.text.rsplit_once('.').map_or("", |(_, extension)| extension);
        let has_extension =
            (1..=MAX_EXTENSION).contains(&extension.len()) && extension.chars().all(char::is_alphabetic);
        word.text.contains('/') || has_extension
    };
    words.iter().filter(is_path).map(|word| word.text.to_owned()).collect()
}

/// The words that name something, for comparing.
pub(super) fn core_of(words: &[TextWord<'_>]) -> BTreeSet<String> {
    names_of(words).into_iter().map(TextWord::normal).collect()
}

/// The words that name something, for comparing, and those for kinds of things: in whatever order these stand, as in `the
/// cart module` and `module cart`, the same is meant.
pub(super) fn whole_of(words: &[TextWord<'_>]) -> BTreeSet<String> {
    words.iter().filter(|word| says_something(word)).map(TextWord::normal).collect()
}

/// A word of what a thing is called.
#[derive(Debug)]
pub(super) struct ObjectWord {
    /// In lower case.
    pub(super) lower: String,
    /// For comparing.
    pub(super) normal: String,
    /// Whether it looks like a name of code.
    pub(super) is_code: bool,
    /// Whether it has a capital letter, as the name of a type has.
    pub(super) is_proper: bool,
    /// Whether it only says what kind of thing something is.
    pub(super) is_kind: bool,
    /// Whether it is for what is not of the program itself.
    pub(super) is_side: bool,
}

/// The words that a thing is called by, without what it is one of: `of` and what follows.
pub(super) fn object_words(words: &[TextWord<'_>]) -> Vec<ObjectWord> {
    let own = words.iter().skip_while(|word| word.lower == "of").take_while(|word| word.lower != "of");
    let read = |word: &TextWord<'_>| ObjectWord {
        lower: word.lower.clone(),
        normal: word.normal(),
        is_code: word.looks_like_code(),
        is_proper: word.text.contains(char::is_uppercase),
        is_kind: is_kind_of_thing(word) || is_kind_among(KINDS_OF_CODE, word),
        is_side: is_side(word),
    };
    own.filter(|word| says_something(word)).map(read).collect()
}

/// The last part of a dotted name of code, for comparing: `close` of `Session.close`; all of any other word.
pub(super) fn last_part(name: &str) -> String {
    let last = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
    if is_number(name) || last.is_empty() {
        name.to_owned()
    } else if last != name && last.chars().all(char::is_alphabetic) {
        stem(last)
    } else {
        last.to_owned()
    }
}

/// Whether nothing but a kind of thing is named.
pub(super) fn is_generic(core: &BTreeSet<String>) -> bool {
    core.iter().all(|word| GENERIC.split_whitespace().any(|generic| stem(generic) == *word))
}
