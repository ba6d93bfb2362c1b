//! Finds the definitions of the code that a query names, or whose place it asks for.

use std::{collections::HashSet, sync::LazyLock};

use backstory_model::{
    filter::{DocumentKind, Filter},
    id::NodeId,
    terms::QueryTerms,
};
use backstory_store::index::ProjectScope;
use regex::Regex;

use super::candidates::meets;
use crate::{error::Result, resources::Resources};

/// Names of a text that are looked up.
const MAX_NAMES: usize = 3;
/// Definitions of one name.
const MAX_DEFINITIONS: usize = 5;
/// Code that text search finds by a name, of which definitions come in the order of what is found.
const LOOKED_AT: usize = 50;
/// Definitions whose names end in a name, which are looked at whether or not text search finds them.
const MAX_NAMESAKES: usize = 1_000;
/// Longest name, in bytes.
const MAX_NAME: usize = 200;

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"`?[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|::|#|->)[A-Za-z_$~][A-Za-z0-9_$]*)*(?:\(\))?`?")
        .expect("the pattern is constant")
});

/// Names of a text that look like those of code, without what marks them: `load_session`, `Server.start`, `parse()`.
pub(crate) fn symbols(text: &str) -> Vec<&str> {
    let looks_like_code = |name: &&str| {
        let has_inner_capital =
            name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
        name.starts_with('`') || name.contains(['_', '#', ':', '.', '>', '(']) || has_inner_capital
    };
    let found = NAME.find_iter(text).map(|found| found.as_str()).filter(looks_like_code).map(bare);
    found.filter(|name| (2..=MAX_NAME).contains(&name.len())).take(MAX_NAMES).collect()
}

static NAMED_AS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:class|struct|enum|trait|interface|type|function|method|macro|constant|def|fn|func)\s+`?(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)",
    )
    .expect("the pattern is constant")
});

/// Names of a question about code: those that look like it, those after a word like `class`, and the only word.
pub(super) fn names_asked_for(text: &str) -> Vec<&str> {
    let mut names = symbols(text);
    let says_something = |name: &&str| !QueryTerms::of(name).terms.is_empty();
    let named = NAMED_AS.captures_iter(text).filter_map(|found| Some(found.name("name")?.as_str()));
    for name in named.filter(says_something).chain(only_name(text)) {
        if !names.contains(&name) && (2..=MAX_NAME).contains(&name.len()) {
            names.push(name);
        }
    }
    names.truncate(MAX_NAMES);
    names
}

/// The name if a text is nothing but one that looks like code.
pub(super) fn only_symbol(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_whole = NAME.find(text).is_some_and(|found| found.len() == text.len());
    symbols(text).into_iter().next().filter(|_| is_whole)
}

/// The name if a text is nothing but one that code could have.
pub(crate) fn only_name(text: &str) -> Option<&str> {
    let text = text.trim();
    let found = NAME.find(text).filter(|found| found.len() == text.len())?;
    Some(bare(found.as_str())).filter(|name| (2..=MAX_NAME).contains(&name.len()))
}

fn bare(name: &str) -> &str {
    name.trim_matches('`').trim_end_matches("()")
}

/// Whether an entity has this name, whole or without what it stands in.
fn is_called(entity: &str, name: &str) -> bool {
    // The second one of a name in a file ends in `~2`.
    let entity =
        entity.rsplit_once('~').filter(|(_, count)| count.parse::<u32>().is_ok()).map_or(entity, |(own, _)| own);
    entity.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with(['.', ':']))
}

/// A definition of code.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// Its reference.
    pub(crate) id: String,
    /// That of its file.
    pub(crate) file: String,
}

/// The definitions of a name that meet a filter, of whatever kinds it is; those with the whole name first.
pub(crate) async fn find_definitions(resources: &Resources, name: &str, filter: &Filter) -> Result<Vec<Definition>> {
    let projects = filter.projects.clone();
    let within =
        Filter { kinds: vec![DocumentKind::Code], project: filter.project.clone(), projects, ..Filter::default() };
    let index = resources.index();
    let filter = Filter { kinds: vec![], ..filter.clone() };
    let (path, own) = name.rsplit_once('#').map_or((None, name), |(path, own)| (Some(path), own));
    let own = own.replace("->", ".");
    let hits = index.search_text(&own, &within, LOOKED_AT).await?;
    // A name that is used in very many places is found there first.
    let namesakes = index.definitions(&own, ProjectScope::of(&within), MAX_NAMESAKES);
    let mut seen = HashSet::new();
    let ids = hits.iter().map(|hit| hit.document.as_str()).chain(namesakes.iter().map(|id| &**id));
    let ids: Vec<&str> = ids.filter(|id| seen.insert(*id)).collect();
    let facts = index.facts(ids.iter().copied());
    let mut found: Vec<(bool, Definition)> = Vec::new();
    for id in ids {
        let (Ok(NodeId::Entity { path: at, name: entity, .. }), Some(facts)) = (id.parse(), facts.get(id)) else {
            continue;
        };
        let is_it = is_called(&entity, &own) && path.is_none_or(|path| at.ends_with(path));
        if is_it && meets(&filter, id, facts) {
            let definition = Definition { id: id.to_owned(), file: facts.thread.to_string() };
            found.push((entity != own, definition));
        }
    }
    // Of equal ones in the order in which they were found.
    found.sort_by_key(|(is_part, _)| *is_part);
    Ok(found.into_iter().map(|(_, definition)| definition).take(MAX_DEFINITIONS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_code_are_told_from_words() {
        assert_eq!(symbols("where is load_session implemented, and Server.start?"), ["load_session", "Server.start"]);
        assert_eq!(symbols("what does `total` do, parse() or getUser"), ["total", "parse", "getUser"]);
        assert!(symbols("Why did we choose Redis over memcached?").is_empty());
        assert_eq!(only_symbol(" secp256k1_ecmult "), Some("secp256k1_ecmult"));
        assert_eq!(only_symbol("std::mem::take()"), Some("std::mem::take"));
        assert_eq!((only_symbol("redis"), only_symbol("load_session fails")), (None, None));
    }

    #[test]
    fn an_entity_is_called_by_its_name_or_its_last_part() {
        assert!(is_called("Server.start", "start") && is_called("auth::login~2", "login") && is_called("run", "run"));
        assert!(!is_called("Server.restart", "start") && !is_called("start_all", "start"));
    }
}
