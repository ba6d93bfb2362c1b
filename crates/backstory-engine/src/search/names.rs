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
    nearest::{may_be_meant, most_alike},
    repository::people::{KnownPeople, is_shared_key},
    resources::Resources,
};

/// Longest name of a person or label, in characters: every name that is known is compared with it.
const MAX_NAME: usize = 200;
/// Most authors and most labels of a filter.
pub(crate) const MAX_NAMES: usize = 100;
/// Most people that a part of a name may stand for besides the first.
const MAX_NEAR: usize = 5;
/// Names that are looked at to find the nearest one of somebody who wrote something.
const MAX_ALIKE: usize = 20;
/// Names that nothing has, of which each is told with the nearest one.
const MAX_ABSENT: usize = 10;

/// Authors and labels as they are known, and what to say of those that are not.
#[derive(Debug, Default)]
pub(crate) struct ResolvedNames {
    /// All that the authors are called: user names and addresses.
    pub(crate) authors: Vec<String>,
    /// The labels, as they are written.
    pub(crate) labels: Vec<String>,
    /// Whom a part of a name was taken for, a sentence each.
    pub(crate) taken: Vec<String>,
    /// Of each name that nothing has which one is nearest, a sentence each.
    pub(crate) absent: Vec<String>,
}

/// Adds to the authors of a filter their other user names and addresses. Says of each author and label that no
/// document has which one is nearest.
pub(crate) async fn expand_author_names(resources: &Resources, filter: &mut Filter) -> Result<Vec<String>> {
    let ResolvedNames { authors, taken, absent, .. } = resolve_names(resources, filter).await?;
    filter.authors = authors;
    Ok(taken.into_iter().chain(absent).collect())
}

/// All that the authors and labels of a filter are called, and what to say of names that nothing has.
pub(crate) async fn resolve_names(resources: &Resources, filter: &Filter) -> Result<ResolvedNames> {
    if filter.authors.is_empty() && filter.labels.is_empty() {
        return Ok(ResolvedNames::default());
    }
    let asked = filter.clone();
    resources.blocking(move |resources| compare_names(resources, &asked)).await
}

/// Compares each name with every one that is known.
fn compare_names(resources: &Resources, filter: &Filter) -> Result<ResolvedNames> {
    let index = resources.index();
    let known = |what: Named, names: &[String]| {
        if names.is_empty() { BTreeSet::new() } else { index.known_names(what, ProjectScope::of(filter)) }
    };
    let (people, labels) = (known(Named::Author, &filter.authors), known(Named::Label, &filter.labels));
    let (mut found, mut absent, mut unclear) = (ResolvedNames::default(), Vec::new(), Vec::new());
    let everybody = if filter.authors.is_empty() { KnownPeople::default() } else { KnownPeople::load(resources)? };
    let wrote = |keys: &BTreeSet<String>| people.iter().any(|own| keys.iter().any(|key| is_same_name(own, key)));
    for author in &filter.authors {
        let mut keys = everybody.author_keys(author);
        if !wrote(&keys) {
            match find_by_part(&everybody, author) {
                PartOfName::One(name, own) if wrote(&own) => {
                    found.taken.push(message(&format!(
                        "'{}' is taken for {}",
                        truncate_echo(author),
                        truncate_echo(&name)
                    )));
                    keys.extend(own);
                }
                PartOfName::Several(names) => unclear.push(message(&format!(
                    "nothing is by '{}' alone; did you mean {}?",
                    truncate_echo(author),
                    truncate_echo(&names.join(", "))
                ))),
                PartOfName::One(..) | PartOfName::None => {
                    // People are known by name, documents by user name and address.
                    let names = people.iter().map(|name| &**name).chain(everybody.names());
                    let mut near = most_alike(author, names, MAX_ALIKE).into_iter();
                    let nearest = near.find(|name| {
                        may_be_meant(author, name) && (people.contains(*name) || wrote(&everybody.author_keys(name)))
                    });
                    absent.push(("nothing is by", author, nearest.map(str::to_owned)));
                }
            }
        }
        found.authors.extend(keys);
    }
    for label in &filter.labels {
        let own = labels.iter().find(|own| is_same_name(own, label)).map(|own| (**own).to_owned());
        if own.is_none() {
            let nearest = most_alike(label, labels.iter().map(|name| &**name), 1).into_iter().next();
            let nearest = nearest.filter(|name| may_be_meant(label, name)).map(str::to_owned);
            absent.push(("nothing has the label", label, nearest));
        }
        found.labels.push(own.unwrap_or_else(|| label.clone()));
    }
    let told = |(what, name, nearest): (&str, &String, Option<String>)| {
        let nearest = nearest.map(|name| format!("; the nearest name is '{}'", truncate_echo(&name)));
        message(&format!("{what} '{}'{}", truncate_echo(name), nearest.unwrap_or_default()))
    };
    found.taken.truncate(MAX_ABSENT);
    found.absent = unclear.into_iter().chain(absent.into_iter().take(MAX_ABSENT).map(told)).collect();
    Ok(found)
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
