//! Facets: how many of the candidates have each project, kind, author, label and directory.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::filter::{DocumentKind, Filter};
use backstory_store::index::DocumentFacts;
use serde::{Deserialize, Serialize};

use super::prepared_filter::PreparedFilter;
use crate::{error::Result, resources::Resources};

/// Most values of a facet.
pub const MAX_FACET_VALUES: usize = 20;

/// The candidates of a search, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facets {
    /// How many documents were counted: the candidates, which are the best of all that have words or a meaning like the
    /// query's.
    pub documents: usize,
    /// Whether there are more than the candidates, so that every count is at least so much.
    pub is_lower_bound: bool,
    /// By project, kind, author, label and path, in this order.
    pub facets: Vec<Facet>,
}

/// The candidates by one property.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facet {
    /// Its name: `project`, `kind`, `author`, `label` or `path`.
    pub name: String,
    /// The most frequent values, at most 20.
    pub values: Vec<FacetValue>,
    /// How many values were left out.
    pub left_out: usize,
}

/// How many candidates have a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FacetValue {
    /// What a filter takes: a name, of an author that of the person, or the beginning of a path.
    pub value: String,
    /// How many candidates have it.
    pub count: usize,
}

/// The candidates of a search that are counted.
pub(super) struct Countable {
    pub(super) ids: BTreeSet<String>,
    /// What is counted meets it.
    pub(super) filter: Filter,
    /// The kind that was asked for, if the filter lets another one through in its place: files for code.
    pub(super) asked_kind: Option<DocumentKind>,
    /// Whether there are more than these.
    pub(super) is_lower_bound: bool,
}

/// Counts candidates that meet their filter. One that only counts for what it is part of stands for that.
pub(super) async fn count(resources: &Resources, candidates: Countable) -> Result<Facets> {
    resources.blocking(move |resources| count_values(resources, &candidates)).await
}

fn count_values(resources: &Resources, candidates: &Countable) -> Result<Facets> {
    let Countable { ids, filter, asked_kind, is_lower_bound } = candidates;
    let index = resources.index();
    let mut facts = index.facts(ids.iter().map(String::as_str));
    let unread = facts.values().filter(|of| !facts.contains_key(&*of.thread));
    let wholes: BTreeSet<String> = unread.map(|of| of.thread.to_string()).collect();
    facts.extend(index.facts(wholes.iter().map(String::as_str)));
    let prepared = PreparedFilter::of(filter);
    let standing: BTreeSet<&str> = ids
        .iter()
        .filter_map(|id| {
            let of = facts.get(&**id)?;
            let whole = || facts.get_key_value(&*of.thread).filter(|(id, of)| prepared.is_met_by(id, of));
            if prepared.is_met_by(id, of) { Some(&**id) } else { whole().map(|(id, _)| *id) }
        })
        .collect();
    let counted: Vec<&DocumentFacts> = standing.iter().filter_map(|id| facts.get(id)).collect();
    let people = people_of(resources, counted.iter().filter_map(|of| of.author.as_deref()))?;
    let names = ["project", "kind", "author", "label", "path"];
    let mut counts: [BTreeMap<&str, usize>; 5] = Default::default();
    let begun = common_beginning(&filter.paths);
    for of in &counted {
        let directories: BTreeSet<&str> = of.paths().filter_map(|path| directory(path, begun)).collect();
        let values: [Vec<&str>; 5] = [
            vec![&*of.project],
            vec![asked_kind.unwrap_or(of.kind).as_str()],
            of.author.as_deref().and_then(|author| people.get(author)).map(String::as_str).into_iter().collect(),
            of.labels.iter().map(|label| &**label).collect(),
            directories.into_iter().collect(),
        ];
        for (counts, values) in counts.iter_mut().zip(values) {
            for value in values {
                *counts.entry(value).or_default() += 1;
            }
        }
    }
    let facets = names.into_iter().zip(counts).map(|(name, counts)| most_frequent(name, counts)).collect();
    Ok(Facets { documents: counted.len(), is_lower_bound: *is_lower_bound, facets })
}

/// The person whom each author is known to be: one who has several addresses is one person.
fn people_of<'a>(resources: &Resources, authors: impl Iterator<Item = &'a str>) -> Result<BTreeMap<&'a str, String>> {
    let lists = resources.ledger().lists();
    let mut people = BTreeMap::new();
    for author in authors.collect::<BTreeSet<_>>() {
        let person = lists.person_of(author, resources.visibility())?;
        people.insert(author, person.unwrap_or_else(|| author.to_owned()));
    }
    Ok(people)
}

/// The facet of a property with its most frequent values.
fn most_frequent(name: &str, counts: BTreeMap<&str, usize>) -> Facet {
    let left_out = counts.len().saturating_sub(MAX_FACET_VALUES);
    let mut values: Vec<(&str, usize)> = counts.into_iter().collect();
    // Equal ones stay in the order of their values.
    values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    values.truncate(MAX_FACET_VALUES);
    let value = |(value, count): (&str, usize)| FacetValue { value: value.to_owned(), count };
    Facet { name: name.to_owned(), values: values.into_iter().map(value).collect(), left_out }
}

/// The directories that all prefixes of a filter begin with, so that facets go one level deeper.
fn common_beginning(paths: &[String]) -> &str {
    match paths {
        [only] => &only[..only.rfind('/').map_or(0, |slash| slash + 1)],
        _ => "",
    }
}

/// The first directory of a path below another, or the file itself.
fn directory<'a>(path: &'a str, begun: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(begun)?;
    let end = rest.find('/').map_or(path.len(), |slash| begun.len() + slash + 1);
    path.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_counted_one_level_below_the_filter() {
        assert_eq!(directory("src/auth/token.rs", ""), Some("src/"));
        assert_eq!(directory("README.md", ""), Some("README.md"));
        let begun = |path: &str| common_beginning(&[path.to_owned()]).to_owned();
        assert_eq!((begun("src/"), begun("src/au"), begun("src")), ("src/".into(), "src/".into(), String::new()));
        assert_eq!(directory("src/auth/token.rs", "src/"), Some("src/auth/"));
        assert_eq!(directory("lib/a.rs", "src/"), None);
    }
}
