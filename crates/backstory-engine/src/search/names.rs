//! Expands the names in a filter: authors to all their user names and addresses, and a sentence for a name that no
//! document has.

use std::collections::BTreeSet;

use backstory_model::{
    filter::{Filter, is_same_name},
    text::truncate_echo,
};
use backstory_store::index::{Named, ProjectScope};

use crate::{
    error::{Error, Result, message},
    repository::people::{KnownPeople, is_shared_key},
    resources::Resources,
};

/// Longest name of a person or label, in characters: every name that is known is compared with it.
const MAX_NAME: usize = 200;
/// Most authors and most labels of a filter.
pub(crate) const MAX_NAMES: usize = 100;
/// Letters of a name for each of which there may be one typo, for the name with fewer typos to be nearer.
const LETTERS_PER_TYPO: usize = 3;
/// Most people that a part of a name may stand for besides the first.
const MAX_NEAR: usize = 5;
/// Names that are looked at to find the nearest one of somebody who wrote something.
const MAX_ALIKE: usize = 20;
/// Names that nothing has, of which each is told with the nearest one.
const MAX_ABSENT: usize = 10;

/// Adds to the authors of a filter their other user names and addresses. Says of each author and label that no
/// document has which one is nearest.
pub(crate) async fn expand_author_names(resources: &Resources, filter: &mut Filter) -> Result<Vec<String>> {
    if filter.authors.is_empty() && filter.labels.is_empty() {
        return Ok(Vec::new());
    }
    let asked = filter.clone();
    let (authors, absent) = resources.blocking(move |resources| resolve_names(resources, &asked)).await?;
    filter.authors = authors;
    Ok(absent)
}

/// All that the authors of a filter are called, and what to say of names that nothing has. Compares each with every
/// name that is known.
fn resolve_names(resources: &Resources, filter: &Filter) -> Result<(Vec<String>, Vec<String>)> {
    let index = resources.index();
    let known = |what: Named, names: &[String]| {
        if names.is_empty() { BTreeSet::new() } else { index.known_names(what, ProjectScope::of(filter)) }
    };
    let (people, labels) = (known(Named::Author, &filter.authors), known(Named::Label, &filter.labels));
    let (mut authors, mut absent, mut sentences) = (Vec::new(), Vec::new(), Vec::new());
    let everybody = if filter.authors.is_empty() { KnownPeople::default() } else { KnownPeople::load(resources)? };
    let wrote = |keys: &BTreeSet<String>| people.iter().any(|own| keys.iter().any(|key| is_same_name(own, key)));
    for author in &filter.authors {
        let mut keys = everybody.author_keys(author);
        if !wrote(&keys) {
            match find_by_part(&everybody, author) {
                PartOfName::One(name, found) if wrote(&found) => {
                    sentences.push(format!("'{}' is taken for {}", truncate_echo(author), truncate_echo(&name)));
                    keys.extend(found);
                }
                PartOfName::Several(names) => sentences.push(format!(
                    "nothing is by '{}' alone; did you mean {}?",
                    truncate_echo(author),
                    truncate_echo(&names.join(", "))
                )),
                PartOfName::One(..) | PartOfName::None => {
                    // People are known by name, documents by user name and address.
                    let names = people.iter().map(|name| &**name).chain(everybody.names());
                    let mut near = most_alike(author, names).into_iter();
                    let nearest = near.find(|name| people.contains(*name) || wrote(&everybody.author_keys(name)));
                    absent.push(("nothing is by", author, nearest.map(str::to_owned)));
                }
            }
        }
        authors.extend(keys);
    }
    let has = |label: &&String| labels.iter().any(|own| is_same_name(own, label));
    absent.extend(filter.labels.iter().filter(|label| !has(label)).map(|label| {
        let nearest = most_alike(label, labels.iter().map(|name| &**name)).first().map(|name| (*name).to_owned());
        ("nothing has the label", label, nearest)
    }));
    let told = |(what, name, nearest): (&str, &String, Option<String>)| {
        let nearest = nearest.map(|name| format!("; the nearest name is '{}'", truncate_echo(&name)));
        message(&format!("{what} '{}'{}", truncate_echo(name), nearest.unwrap_or_default()))
    };
    let sentences = sentences.iter().map(|sentence| message(sentence)).take(MAX_ABSENT);
    Ok((authors, sentences.chain(absent.into_iter().take(MAX_ABSENT).map(told)).collect()))
}

/// Whom a part of a name stands for.
enum PartOfName {
    /// Nobody.
    None,
    /// The person of that name, with all by which documents name them.
    One(String, BTreeSet<String>),
    /// People of these names.
    Several(Vec<String>),
}

/// Finds whom a word of a name stands for.
fn find_by_part(everybody: &KnownPeople, part: &str) -> PartOfName {
    let mut names = everybody.names_with_word(part).into_iter();
    let Some(first) = names.next() else { return PartOfName::None };
    let keys = everybody.author_keys(first);
    // What many share joins nobody.
    let own = |keys: &BTreeSet<String>| -> BTreeSet<String> {
        keys.iter().filter(|key| !is_shared_key(key)).cloned().collect()
    };
    let first_own = own(&keys);
    // Another name of the same person is none of another.
    let is_another = |name: &&str| own(&everybody.author_keys(name)).is_disjoint(&first_own);
    let others: Vec<&str> = names.filter(is_another).take(MAX_NEAR).collect();
    if others.is_empty() {
        return PartOfName::One(first.to_owned(), keys);
    }
    PartOfName::Several(std::iter::once(first).chain(others).map(str::to_owned).collect())
}

/// Refuses names that are too long, or too many of them.
///
/// # Errors
/// Which limit is exceeded, and by how much.
pub(crate) fn check_names(filter: &Filter) -> Result<()> {
    for (names, what) in [(&filter.authors, "authors"), (&filter.labels, "labels")] {
        if names.len() > MAX_NAMES {
            let count = names.len();
            return Err(Error::invalid(format!("{count} {what} were given; at most {MAX_NAMES} are allowed")));
        }
        names.iter().try_for_each(|name| check_name(name))?;
    }
    Ok(())
}

pub(crate) fn check_name(name: &str) -> Result<()> {
    let length = name.chars().count();
    if length > MAX_NAME {
        let message = format!("a name in the filter has {length} characters; at most {MAX_NAME} are allowed");
        return Err(Error::invalid(message));
    }
    Ok(())
}

/// The names that are most like one: those with the fewest typos first, unless all have too many.
fn most_alike<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let max_typos = name.chars().count().div_ceil(LETTERS_PER_TYPO);
    let rate = |other: &str| {
        let lower = other.to_lowercase();
        let typos = strsim::osa_distance(&name, &lower);
        let typos_left = (max_typos + 1).saturating_sub(typos);
        (typos_left, strsim::jaro_winkler(&name, &lower))
    };
    let mut rated: Vec<_> = known.map(|other| (rate(other), other)).collect();
    rated.sort_by(|(a, name), (b, other)| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(other.cmp(name)));
    rated.into_iter().take(MAX_ALIKE).map(|(_, other)| other).collect()
}
