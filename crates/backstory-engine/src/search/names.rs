//! Expands the names in a filter: authors to all their user names and addresses, and a sentence for a name that no
//! document has.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use backstory_model::{
    filter::{Filter, is_same_name},
    id::NodeId,
    text::truncate_echo,
};
use backstory_store::index::{Named, ProjectScope};

use crate::{
    error::{Error, Result, message},
    nearest::{may_be_meant, most_alike},
    repository::people::{KnownPeople, PartialMatch},
    resources::Resources,
};

/// Longest name of a person or label, in characters: every name that is known is compared with it.
const MAX_NAME: usize = 200;
/// Most authors and most labels of a filter.
pub(crate) const MAX_NAMES: usize = 100;
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

/// A name that nothing has: what is said of it, the name, and the nearest one.
type AbsentName<'a> = (&'static str, &'a str, Option<String>);

/// Compares each name with every one that is known.
fn compare_names(resources: &Resources, filter: &Filter) -> Result<ResolvedNames> {
    let index = resources.index();
    let (mut found, mut absent) = (ResolvedNames::default(), Vec::new());
    if !filter.authors.is_empty() {
        let everybody = KnownPeople::load(resources, &[])?;
        let authors = index.known_names(Named::Author, ProjectScope::of(filter));
        compare_authors(&everybody, &authors, filter, &mut found, &mut absent);
    }
    if !filter.labels.is_empty() {
        let labels = index.known_names(Named::Label, ProjectScope::of(filter));
        for label in &filter.labels {
            let own = labels.iter().find(|own| is_same_name(own, label)).map(|own| (**own).to_owned());
            if own.is_none() {
                let nearest = most_alike(label, labels.iter().map(|name| &**name), 1).into_iter().next();
                let nearest = nearest.filter(|name| may_be_meant(label, name)).map(str::to_owned);
                absent.push(("nothing has the label", label.as_str(), nearest));
            }
            found.labels.push(own.unwrap_or_else(|| label.clone()));
        }
    }
    let told = |(what, name, nearest): AbsentName<'_>| {
        let nearest = nearest.map(|name| format!("; the nearest name is '{}'", truncate_echo(&name)));
        message(&format!("{what} '{}'{}", truncate_echo(name), nearest.unwrap_or_default()))
    };
    found.taken.truncate(MAX_ABSENT);
    found.absent.extend(absent.into_iter().take(MAX_ABSENT).map(told));
    Ok(found)
}

/// Compares each author with those who wrote something, and with what else they are called.
fn compare_authors<'a>(
    everybody: &KnownPeople,
    authors: &BTreeSet<Arc<str>>,
    filter: &'a Filter,
    found: &mut ResolvedNames,
    absent: &mut Vec<AbsentName<'a>>,
) {
    let writers: HashSet<String> = authors.iter().map(|own| own.to_lowercase()).collect();
    let wrote = |keys: &BTreeSet<String>| keys.iter().any(|key| writers.contains(&key.to_lowercase()));
    for author in &filter.authors {
        // No address begins with it either.
        let author = author.strip_prefix('@').unwrap_or(author);
        let mut keys = everybody.author_keys(author);
        if !wrote(&keys) {
            let mut by_part = everybody.find_by_part(author, wrote);
            if by_part.len() > 1 {
                let names: Vec<&str> = by_part.iter().map(|of| of.name.as_str()).collect();
                found.absent.push(message(&format!(
                    "nothing is by '{}' alone; did you mean {}?",
                    truncate_echo(author),
                    truncate_echo(&names.join(", "))
                )));
            } else if let Some(PartialMatch { name, keys: own }) = by_part.pop() {
                found.taken.push(message(&format!(
                    "'{}' is taken for {}",
                    truncate_echo(author),
                    truncate_echo(&name)
                )));
                keys.extend(own);
            } else {
                // People are known by name, documents by user name and address.
                let names = authors.iter().map(|name| &**name).chain(everybody.names());
                let is_writer = |name: &str| authors.contains(name) || wrote(&everybody.author_keys(name));
                let mut near = most_alike(author, names, MAX_ALIKE).into_iter();
                let nearest = near.find(|name| may_be_meant(author, name) && is_writer(name));
                absent.push(("nothing is by", author, nearest.map(str::to_owned)));
            }
        }
        found.authors.extend(keys);
    }
}

/// The node of a person that a search is near to, by whatever they are called.
///
/// # Errors
/// Nobody has that name, or several people do.
pub(super) async fn resolve_person(resources: &Resources, name: &str) -> Result<NodeId> {
    check_name(name)?;
    let name = name.to_owned();
    resources
        .blocking(move |resources| {
            let graph = resources.graph();
            let id = NodeId::person(name.as_str());
            if graph.exists(&id)? {
                return Ok(id);
            }
            let everybody = KnownPeople::load(resources, &[])?;
            let lists = resources.ledger().lists();
            let mut found = BTreeSet::new();
            for key in everybody.people_meant(&name) {
                // One project may know whose an address is, and another not.
                let person = lists.person_of(&key, resources.visibility())?.unwrap_or(key);
                if graph.exists(&NodeId::person(person.as_str()))? {
                    found.insert(person);
                }
            }
            let found: Vec<String> = found.into_iter().collect();
            match found.as_slice() {
                [only] => Ok(NodeId::person(only.as_str())),
                _ => Err(everybody.unclear_error(&name, &found)),
            }
        })
        .await
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
