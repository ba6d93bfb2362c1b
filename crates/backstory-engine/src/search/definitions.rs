//! Finds the definitions of the code that a query names, or whose place it asks for.

use std::{cmp::Ordering, sync::LazyLock};

use backstory_model::{code::plain_spelling, filter::Filter, id::NodeId, terms::QueryTerms};
use backstory_store::index::{DocumentFacts, ProjectScope};
use regex::Regex;

use super::{candidates::meets, code::worth_of_role};
use crate::resources::Resources;

/// Names of a text that are looked up.
const MAX_NAMES: usize = 3;
/// Definitions of one name that lead a search.
const MAX_DEFINITIONS: usize = 5;
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

/// What a text is if it is nothing but the beginning of a definition: `class Raft`, `type Raft struct {`,
/// `func (r *Raft) Start() error {`.
static DECLARATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x) ^\s*
        (?: (?: pub (?:\([a-z]+\))? | export | public | private | protected | static | abstract | final | async | default | unsafe ) \s+ )*
        (?: (?P<code> struct | enum | trait | impl | typedef | def | fn | func )
          | class | union | interface | type | module | function | method | macro )
        \s+ (?: \([^()]*\) \s* )? `? (?P<name> [A-Za-z_$][A-Za-z0-9_$]* ) `?
        (?P<mark> \s* (?: [({\[:<=;] | (?: struct | interface | enum | extends | implements )\b ) .* )? \s*$",
    )
    .expect("the pattern is constant")
});

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
pub(crate) fn only_symbol(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_whole = NAME.find(text).is_some_and(|found| found.len() == text.len());
    symbols(text).into_iter().next().filter(|_| is_whole)
}

/// The name if a text is nothing but the beginning of its definition. `type inference` and `function call` are words.
pub(super) fn declared_name(text: &str) -> Option<&str> {
    let found = DECLARATION.captures(text)?;
    let name = found.name("name")?.as_str();
    let is_code = found.name("code").is_some()
        || found.name("mark").is_some()
        || name.contains(|letter: char| letter == '_' || letter.is_uppercase());
    Some(name).filter(|name| is_code && (2..=MAX_NAME).contains(&name.len()))
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

/// The name of an entity without the `~2` in which the second one of a name in a file ends.
fn without_count(entity: &str) -> &str {
    entity.rsplit_once('~').filter(|(_, count)| count.parse::<u32>().is_ok()).map_or(entity, |(own, _)| own)
}

/// Whether an entity has this name, whole or without what it stands in.
fn is_called(entity: &str, name: &str) -> bool {
    without_count(entity).strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with(['.', ':']))
}

/// A definition of code.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// Its reference.
    pub(crate) id: String,
    /// That of its file.
    pub(crate) file: String,
}

/// The definitions of a name, as far as they lead a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    /// The first ones, at most [`MAX_DEFINITIONS`]: those of what is no test, then those with the whole name, then those that
    /// weigh most.
    pub(crate) first: Vec<Definition>,
    /// How many more there are.
    pub(crate) others: usize,
    /// Whether nothing has the name as it is written, but in another spelling: `runLeader` for `run_leader`.
    pub(crate) is_respelled: bool,
}

/// The definitions of a name that meet a filter, of whatever kinds it is.
pub(crate) fn find_definitions(resources: &Resources, name: &str, filter: &Filter) -> Definitions {
    let filter = Filter { kinds: vec![], ..filter.clone() };
    let (path, own) = name.rsplit_once('#').map_or((None, name), |(path, own)| (Some(path), own));
    let own = own.replace("->", ".");
    let plain = plain_qualified(&own);
    let index = resources.index();
    let is_wanted = |id: &str, facts: &DocumentFacts| {
        let Ok(NodeId::Entity { path: at, name: entity, .. }) = id.parse() else { return false };
        path.is_none_or(|path| at.ends_with(path))
            && is_called(&plain_qualified(&entity), &plain)
            && meets(&filter, id, facts)
    };
    let namesakes = index.definitions(&own, ProjectScope::of(&filter), usize::MAX, is_wanted);
    let facts = index.facts(namesakes.iter().map(|id| &**id));
    let mut exact: Vec<(Rank, Definition)> = Vec::new();
    let mut respelled = Vec::new();
    for id in &namesakes {
        let (Ok(NodeId::Entity { name: entity, .. }), Some(facts)) = (id.parse(), facts.get(&**id)) else { continue };
        let definition = Definition { id: id.to_string(), file: facts.thread.to_string() };
        let is_part = without_count(&entity) != own;
        let rank = Rank { worth: worth_of_role(&[], facts), is_part, importance: facts.importance };
        let found = if is_called(&entity, &own) { &mut exact } else { &mut respelled };
        found.push((rank, definition));
    }
    let is_respelled = exact.is_empty();
    let mut found = if is_respelled { respelled } else { exact };
    found.sort_by(|(a, one), (b, other)| a.compare(b).then_with(|| one.id.cmp(&other.id)));
    let others = found.len().saturating_sub(MAX_DEFINITIONS);
    let first = found.into_iter().map(|(_, definition)| definition).take(MAX_DEFINITIONS).collect();
    Definitions { first, others, is_respelled }
}

/// What definitions of one name are ordered by.
struct Rank {
    worth: f32,
    is_part: bool,
    importance: f32,
}

impl Rank {
    /// The better one first.
    fn compare(&self, other: &Self) -> Ordering {
        let worth = other.worth.total_cmp(&self.worth);
        worth.then(self.is_part.cmp(&other.is_part)).then(other.importance.total_cmp(&self.importance))
    }
}

/// A qualified name with its parts in plain spelling.
fn plain_qualified(name: &str) -> String {
    name.split_inclusive(['.', ':'])
        .map(|part| {
            let own = part.trim_end_matches(['.', ':']);
            format!("{}{}", plain_spelling(own), &part[own.len()..])
        })
        .collect()
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
    fn the_beginning_of_a_definition_names_it() {
        for text in [
            "class Raft",
            "type Raft struct {",
            "  pub fn Raft(",
            "export default class Raft extends Base {",
            "interface Raft",
            "def Raft(self, other):",
            "func (s *Server) Raft() error {",
            "pub(crate) struct Raft;",
            "fn Raft",
        ] {
            assert_eq!(declared_name(text), Some("Raft"), "{text}");
        }
        for text in
            ["Raft", "class of its own", "type Raft is slow", "which class Raft", "type inference", "function call"]
        {
            assert_eq!(declared_name(text), None, "{text}");
        }
        assert_eq!(plain_qualified("Http_Server.startAll"), "httpserver.startall");
        assert_eq!(plain_qualified("std::mem::take"), "std::mem::take");
    }

    #[test]
    fn an_entity_is_called_by_its_name_or_its_last_part() {
        assert!(is_called("Server.start", "start") && is_called("auth::login~2", "login") && is_called("run", "run"));
        assert!(!is_called("Server.restart", "start") && !is_called("start_all", "start"));
    }
}
