//! Facets: how many of the candidates have each project, kind, author, label and directory.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::filter::Filter;
use backstory_store::index::Index;
use serde::{Deserialize, Serialize};

use super::candidates::meets;

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
    /// What a filter takes: a name, or the beginning of a path.
    pub value: String,
    /// How many candidates have it.
    pub count: usize,
}

/// Counts candidates that meet a filter. One that only counts for what it is part of stands for that.
pub(super) fn count(index: &Index, ids: &BTreeSet<String>, filter: &Filter, is_lower_bound: bool) -> Facets {
    let mut facts = index.facts(ids.iter().map(String::as_str));
    let unread = facts.values().filter(|of| !facts.contains_key(&*of.thread));
    let wholes: BTreeSet<String> = unread.map(|of| of.thread.to_string()).collect();
    facts.extend(index.facts(wholes.iter().map(String::as_str)));
    let counted: BTreeSet<&str> = ids
        .iter()
        .filter_map(|id| {
            let of = facts.get(&**id)?;
            let whole = || facts.get_key_value(&*of.thread).filter(|(id, of)| meets(filter, id, of));
            if meets(filter, id, of) { Some(&**id) } else { whole().map(|(id, _)| *id) }
        })
        .collect();
    let names = ["project", "kind", "author", "label", "path"];
    let mut counts: [BTreeMap<&str, usize>; 5] = Default::default();
    let begun = common_beginning(&filter.paths);
    for of in counted.iter().filter_map(|id| facts.get(id)) {
        let directories: BTreeSet<&str> = of.paths().filter_map(|path| directory(path, begun)).collect();
        let values: [Vec<&str>; 5] = [
            vec![&*of.project],
            vec![of.kind.as_str()],
            of.author.as_deref().into_iter().collect(),
            of.labels.iter().map(|label| &**label).collect(),
            directories.into_iter().collect(),
        ];
        for (counts, values) in counts.iter_mut().zip(values) {
            for value in values {
                *counts.entry(value).or_default() += 1;
            }
        }
    }
    let facet = |(name, counts): (&str, BTreeMap<&str, usize>)| {
        let left_out = counts.len().saturating_sub(MAX_FACET_VALUES);
        let mut values: Vec<(&str, usize)> = counts.into_iter().collect();
        // Equal ones stay in the order of their values.
        values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        values.truncate(MAX_FACET_VALUES);
        let value = |(value, count): (&str, usize)| FacetValue { value: value.to_owned(), count };
        let values = values.into_iter().map(value).collect();
        Facet { name: name.to_owned(), values, left_out }
    };
    let facets = names.into_iter().zip(counts).map(facet).collect();
    Facets { documents: counted.len(), is_lower_bound, facets }
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
