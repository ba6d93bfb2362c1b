//! The subject of an erasure: what a reference means, what its texts are, and which people only they name.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use backstory_model::{
    entity::{Item, ItemKind},
    id::{NodeId, is_address, is_username},
    sentence::split_sentences,
    visibility::Visibility,
};
use backstory_store::{
    ledger::{ErasureTarget, StoredItem},
    scan::Needles,
};
use serde_json::Value;

use crate::{
    error::{Error, Result},
    payload::{each_string, json_of},
    projection::thread_documents,
    records::{each_stored, parse_item},
    resources::Resources,
};

/// Characters of a piece of text that is looked for afterwards; one that is a syllable or a word counts as
/// [`SYLLABLE`].
const PIECE: usize = 24;
/// Fewest letters of a piece: it must be found nowhere by chance.
const LETTERS: usize = 14;
/// How many letters a character of the scripts of East Asia stands for.
const SYLLABLE: usize = 3;
/// The first of those.
const FIRST_SYLLABLE: char = '\u{2e80}';
/// Pieces that are looked for elsewhere before, so that enough are left,
const CANDIDATES: usize = 64;
/// and those that are looked for afterwards.
const PIECES: usize = 12;
/// Pieces by which quotations of its texts are recognized.
const QUOTABLE: usize = 4096;
/// How many times as many are kept while they are collected, as some come more than once.
const SPARE: usize = 8;
/// How far these are apart in a text, in bytes.
const STRIDE: usize = PIECE;
/// Most items that are looked at for what they quote.
const MAX_HOLDERS: usize = 10_000;
/// Most other items named that have a piece too.
const NAMED: usize = 10;
/// Names of what people write, in payloads of either forge and of commits.
const WRITTEN: [&str; 5] = ["title", "description", "body", "message", "subject"];

/// What is looked for when something was forgotten.
#[derive(Debug, Default)]
pub(super) struct TextProbes {
    /// Pieces of text that nothing else has.
    pub(super) pieces: Vec<String>,
    /// Other items that have some of its text, those with most of it: quotations, commit messages, files.
    pub(super) shared: Vec<String>,
    /// Keys of the profiles of people that nothing else names.
    pub(super) people: Vec<String>,
}

/// What a request erases.
#[derive(Debug)]
pub(super) enum Target {
    /// Something that is not kept.
    Kept(ErasureTarget),
    /// A person, by user name or address, whose names are replaced.
    Person(String),
}

/// What a reference means.
pub(super) fn parse(reference: &str) -> Result<Target> {
    let reference = reference.trim();
    match reference.parse() {
        Ok(NodeId::Thread(id)) => Ok(Target::Kept(ErasureTarget::Thread(id))),
        Ok(NodeId::Project(project)) => Ok(Target::Kept(ErasureTarget::Project(project))),
        Ok(NodeId::Person(name)) if is_username(&name) || is_address(&name) => Ok(Target::Person(name)),
        _ => Err(Error::invalid(format!(
            "'{}' cannot be forgotten",
            reference.chars().take(80).collect::<String>()
        ))
        .with_hint(
            "write an issue or merge request as group/project#12 or group/project!7, a project as group/project, or a \
             person as @user or @user@example.com",
        )),
    }
}

/// The texts of something, as far as nothing else has them, what quotes them, and the people whom nothing else names.
pub(super) fn texts_of(resources: &Resources, subject: &ErasureTarget) -> Result<TextProbes> {
    let (mut windows, mut passages) = (EvenSample::of(CANDIDATES), EvenSample::of(QUOTABLE));
    each_of(resources, subject, |item| {
        if let Some(json) = json_of(item) {
            each_written(&json, &mut |text| {
                windows_of(text).for_each(|window| windows.take(window));
                passages_of(text).for_each(|passage| passages.take(passage));
            });
        }
    })?;
    let candidates = sample_evenly(windows.taken, CANDIDATES);
    // What is quoted may be any part of a text.
    let quotable: Vec<String> = candidates.iter().cloned().chain(sample_evenly(passages.taken, QUOTABLE)).collect();
    let mut found = Found { pieces: prepare_probes(&quotable)?, ..Found::default() };
    each_stored(resources, |item| {
        if !is_of(item, subject) {
            found.look(|| format!("{}{}", item.project, shown_key(item)), item.payload.as_deref().unwrap_or_default());
        }
    })?;
    each_file(resources, subject, |id, text| found.look(|| id.to_owned(), text.as_bytes()))?;
    let shared = found.most_alike();
    let only_here = candidates.into_iter().enumerate().filter(|(place, _)| !found.elsewhere.contains_key(place));
    Ok(TextProbes {
        pieces: sample_evenly(only_here.map(|(_, piece)| piece).collect(), PIECES),
        shared,
        people: people_referenced_only_by(resources, subject.project(), |item| is_of(item, subject))?,
    })
}

/// Keys of a project's profiles of those whom some of its items name and no others do.
pub(crate) fn people_referenced_only_by(
    resources: &Resources,
    project: &str,
    is_gone: impl Fn(&StoredItem) -> bool,
) -> Result<Vec<String>> {
    let resources = &resources.with_visibility(Visibility::of_projects([project]).with_confidential());
    let mut people: BTreeMap<String, String> = BTreeMap::new();
    for item in resources.ledger().items_of_kind(ItemKind::Person)? {
        if let Ok(Item::Person(person)) = parse_item(resources, &item) {
            people.insert(person.username, item.key);
        }
    }
    let mut named: BTreeSet<String> = BTreeSet::new();
    each_stored(resources, |item| {
        if item.kind != ItemKind::Person && is_gone(item) {
            each_string(&json_of(item).unwrap_or_default(), &mut |text| {
                if people.contains_key(text) {
                    named.insert(text.to_owned());
                }
            });
        }
    })?;
    let named: Vec<String> = named.into_iter().collect();
    let quoted: Vec<String> = named.iter().map(|username| format!("\"{username}\"")).collect();
    let (pieces, mut kept) = (prepare_probes(&quoted)?, BTreeSet::new());
    each_stored(resources, |item| {
        if item.kind == ItemKind::Person || is_gone(item) {
            return;
        }
        let found = pieces.matching_needles(item.payload.as_deref().unwrap_or_default());
        // Only a whole string is a name.
        if found.iter().any(|place| !kept.contains(named[*place].as_str())) {
            let known = |text: &str| named.binary_search_by(|name| name.as_str().cmp(text)).ok();
            each_string(&json_of(item).unwrap_or_default(), &mut |text| {
                kept.extend(known(text).map(|place| named[place].as_str()));
            });
        }
    })?;
    let only = named.iter().filter(|username| !kept.contains(username.as_str()));
    Ok(only.filter_map(|username| people.remove(username)).collect())
}

/// Shows every object that belongs to something.
fn each_of(resources: &Resources, subject: &ErasureTarget, mut show: impl FnMut(&StoredItem)) -> Result<()> {
    match subject {
        ErasureTarget::Thread(id) => {
            resources.ledger().thread(&id.project, &id.local_reference())?.iter().for_each(show)
        }
        ErasureTarget::Project(project) => each_stored(resources, |item| {
            if item.project == *project {
                show(item);
            }
        })?,
    }
    Ok(())
}

/// Shows the texts of the files at the indexed heads, which the ledger has not.
fn each_file(resources: &Resources, subject: &ErasureTarget, mut show: impl FnMut(&str, &str)) -> Result<()> {
    for entry in resources.ledger().repositories()? {
        if matches!(subject, ErasureTarget::Project(project) if *project == entry.project) {
            continue;
        }
        for key in resources.ledger().keys(&entry.project, ItemKind::File)? {
            let Some(item) = resources.ledger().item(&entry.project, ItemKind::File, &key)? else { continue };
            for document in thread_documents(resources, std::slice::from_ref(&item)) {
                show(&document.id, &document.text());
            }
        }
    }
    Ok(())
}

/// Where else pieces are.
#[derive(Default)]
struct Found {
    pieces: Needles,
    /// In how many items each piece is, by its place.
    elsewhere: BTreeMap<usize, usize>,
    /// Which pieces each item has; the first [`MAX_HOLDERS`] items.
    items: BTreeMap<String, BTreeSet<usize>>,
}

impl Found {
    fn look(&mut self, item: impl FnOnce() -> String, bytes: &[u8]) {
        let places = self.pieces.matching_needles(bytes);
        if places.is_empty() {
            return;
        }
        for place in &places {
            *self.elsewhere.entry(*place).or_default() += 1;
        }
        if self.items.len() < MAX_HOLDERS {
            self.items.entry(item()).or_default().extend(places);
        }
    }

    /// The items with most of the pieces. What many have is a template, and comes after what few have.
    fn most_alike(&self) -> Vec<String> {
        let is_rare = |place: &&usize| self.elsewhere.get(*place).is_none_or(|items| *items <= NAMED);
        let rank = |places: &BTreeSet<usize>| (places.iter().filter(is_rare).count(), places.len());
        let mut items: Vec<(&String, (usize, usize))> =
            self.items.iter().map(|(item, places)| (item, rank(places))).collect();
        // Equal ones stay in the order of their names.
        items.sort_by_key(|(_, shared)| std::cmp::Reverse(*shared));
        items.into_iter().take(NAMED).map(|(item, _)| item.clone()).collect()
    }
}

/// Pieces, made ready to be looked for.
pub(super) fn prepare_probes(pieces: &[String]) -> Result<Needles> {
    Needles::new(pieces.iter().map(String::as_str))
        .map_err(|error| Error::internal(format!("pieces of text cannot be looked for: {error}")))
}

fn is_of(item: &StoredItem, subject: &ErasureTarget) -> bool {
    item.project == subject.project()
        && match subject {
            ErasureTarget::Thread(id) => item.thread.as_deref() == Some(&id.local_reference()),
            ErasureTarget::Project(_) => true,
        }
}

/// How people refer to an item.
fn shown_key(item: &StoredItem) -> String {
    match item.kind {
        ItemKind::Issue | ItemKind::MergeRequest | ItemKind::Discussion => item.key.clone(),
        ItemKind::Commit => format!("@{}", item.key),
        kind => format!(" {} {}", kind.as_str(), item.key),
    }
}

/// Shows everything that people wrote.
fn each_written(json: &Value, show: &mut impl FnMut(&str)) {
    match json {
        // What the forge notes by itself is the same everywhere.
        Value::Object(map) if map.get("system") != Some(&Value::Bool(true)) => {
            for (name, value) in map {
                match value {
                    Value::String(text) if WRITTEN.contains(&name.as_str()) => show(text),
                    other => each_written(other, show),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| each_written(value, show)),
        _ => {}
    }
}

/// A piece of the beginning, the middle and the end of a text.
fn windows_of(text: &str) -> impl Iterator<Item = String> {
    [0, text.len() / 2, text.len().saturating_sub(3 * PIECE)].into_iter().filter_map(move |from| window(text, from))
}

/// Pieces all over a text: the beginnings of its sentences, and others that are near enough to one another for a longer
/// quotation to have one.
fn passages_of(text: &str) -> impl Iterator<Item = String> {
    let sentences = split_sentences(text).into_iter().map(|sentence| sentence.range.start);
    sentences.chain((0..text.len()).step_by(STRIDE)).filter_map(move |from| window(text, from))
}

/// The first piece after a place that begins a word and is written the same in every file: no quotes, no line ends.
fn window(text: &str, from: usize) -> Option<String> {
    let from = text.ceil_char_boundary(from);
    let mut before = text[..from].chars().next_back();
    text[from..].char_indices().find_map(|(at, first)| {
        let is_in_word = before.replace(first).is_some_and(char::is_alphanumeric) && !is_syllable(first);
        if first.is_alphanumeric() && !is_in_word { piece(&text[from + at..]) } else { None }
    })
}

/// The piece that a text begins with, if it tells what it is of.
fn piece(text: &str) -> Option<String> {
    let (mut size, mut letters, mut is_of_words) = (0, 0, false);
    for (at, c) in text.char_indices() {
        if size >= PIECE {
            return (letters >= LETTERS && is_of_words).then(|| text[..at].to_owned());
        }
        let is_plain = matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '<' | '>' | '&');
        if !is_plain && !c.is_alphanumeric() {
            return None;
        }
        let weight = if is_syllable(c) { SYLLABLE } else { 1 };
        size += weight;
        letters += if c.is_alphabetic() { weight } else { 0 };
        // Words are apart where they are not written with syllables.
        is_of_words |= c == ' ' || is_syllable(c);
    }
    (size >= PIECE && letters >= LETTERS && is_of_words).then(|| text.to_owned())
}

fn is_syllable(c: char) -> bool {
    c >= FIRST_SYLLABLE && c.is_alphabetic()
}

/// Some of the pieces that come, from all over, however many there are.
struct EvenSample {
    taken: Vec<String>,
    most: usize,
    /// Of so many pieces one is taken.
    stride: usize,
    seen: usize,
}

impl EvenSample {
    /// A sample of at least so many, if there are as many.
    fn of(least: usize) -> Self {
        Self { taken: Vec::new(), most: least * SPARE, stride: 1, seen: 0 }
    }

    fn take(&mut self, piece: String) {
        if self.seen.is_multiple_of(self.stride) {
            self.taken.push(piece);
        }
        self.seen += 1;
        if self.taken.len() > self.most {
            let mut place = 0;
            self.taken.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride *= 2;
        }
    }
}

/// At most so many of them, each once, from all over.
fn sample_evenly(mut all: Vec<String>, most: usize) -> Vec<String> {
    let mut seen = HashSet::new();
    all.retain(|piece| seen.insert(piece.clone()));
    let step = all.len().div_ceil(most).max(1);
    all.into_iter().step_by(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_begin_a_word_and_tell_what_they_are_of() {
        for (text, from, expected) in [
            ("The order tables outgrew MySQL by far", 0, Some("The order tables outgrew")),
            ("The order tables outgrew MySQL by far", 5, Some("tables outgrew MySQL by ")),
            ("say \"hello\" to the quiet neighbours there", 0, Some("to the quiet neighbours ")),
            ("Заявки не должны теряться при сбое", 1, Some("не должны теряться при с")),
            ("每晚的报表会锁定订单表几分钟", 0, Some("每晚的报表会锁定")),
            ("每晚的报表，会锁定订单表几分钟", 4, Some("会锁定订单表几分")),
            ("0123456789 0123456789 0123456789", 0, None),
            ("averyveryveryverylongidentifier", 0, None),
            ("too short", 0, None),
        ] {
            assert_eq!(window(text, from).as_deref(), expected, "{text}");
        }
    }
}
