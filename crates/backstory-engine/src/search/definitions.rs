//! Finds the definitions of the code that a query names, or whose place it asks for.

use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeSet,
};

use backstory_model::{
    code::{EntityKind, name_without_count, plain_name, plain_spelling},
    filter::{DocumentKind, Filter},
    id::NodeId,
};
use backstory_store::lists::{EntityQuery, EntityRow, MAX_PAGE, PageRequest};

use super::{
    code::worth_of_role,
    prepared_filter::PreparedFilter,
    symbols::{CodeName, NamedKind},
};
use crate::{error::Result, resources::Resources};

/// Definitions of one plain name that are looked at, the most central.
const MAX_NAMESAKES: usize = 20_000;
/// Definitions of one name that lead a search.
const MAX_DEFINITIONS: usize = 5;

/// How what was found is named, compared with what was looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameMatch {
    /// The same.
    #[default]
    Exact,
    /// In another spelling: `run_leader` for `runLeader`.
    Respelled,
    /// Like the end of it: `from_string` for `env.from_string`.
    End {
        /// How many of its last parts are the same; more are better.
        parts: Reverse<usize>,
        /// Whether one of these is in another spelling.
        is_respelled: bool,
    },
}

impl NameMatch {
    /// What a reader must know of definitions of a name that were found so.
    pub(crate) fn describe(self, name: &str) -> Option<String> {
        match self {
            Self::Exact => None,
            Self::Respelled => Some(format!("nothing is named {name} exactly; a different spelling is taken for it")),
            Self::End { parts: Reverse(parts), .. } => {
                let name_joined = joined(name);
                let mut end: Vec<&str> = name_joined.rsplit('.').take(parts).collect();
                end.reverse();
                Some(format!("nothing is named {name}; what is named {} is taken for it", end.join(".")))
            }
        }
    }
}

/// A definition of code.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// What is defined.
    pub(crate) id: NodeId,
    /// Reference of the document that has it: its own, or that of what it stands in.
    pub(crate) document: String,
    /// That of its file.
    pub(crate) file: String,
    /// Its first line, if it has no document of its own.
    pub(crate) line: Option<u32>,
    /// How much its file counts by the part that it plays, 0 to 1.
    pub(crate) worth: f32,
}

/// The definitions of a name, as far as they lead a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    /// The first ones, at most [`MAX_DEFINITIONS`]: those of what is no test, then those of the kind that is asked for, then those with the whole name, then those in a
    /// file that is named after it, then those that weigh most.
    pub(crate) first: Vec<Definition>,
    /// How many more there are; at least so many if they are very many.
    pub(crate) others: usize,
    /// How they are named.
    pub(crate) name_match: NameMatch,
}

/// The definitions of a name that meet a filter, of whatever kinds it is.
///
/// # Errors
/// The lists cannot be read.
pub(crate) async fn find_definitions<'a>(
    resources: &Resources,
    name: impl Into<CodeName<'a>>,
    filter: &Filter,
) -> Result<Definitions> {
    let asked = name.into();
    let (name, kind, is_strict, filter) = (asked.name.to_owned(), asked.kind, asked.is_strict, filter.clone());
    resources
        .blocking(move |resources| {
            let asked = CodeName { name: &name, kind, is_strict };
            let (mut first, name_match) = read_definitions(resources, asked, &filter)?;
            let others = first.len().saturating_sub(MAX_DEFINITIONS);
            first.truncate(MAX_DEFINITIONS);
            Ok(Definitions { first, others, name_match })
        })
        .await
}

/// All definitions of a name that meet a filter, those that are meant most probably first. Blocks.
///
/// # Errors
/// The lists cannot be read.
pub(crate) fn read_definitions<'a>(
    resources: &Resources,
    name: impl Into<CodeName<'a>>,
    filter: &Filter,
) -> Result<(Vec<Definition>, NameMatch)> {
    let CodeName { name, kind: wanted, is_strict } = name.into();
    let filter = Filter { kinds: vec![], ..filter.clone() };
    let prepared = PreparedFilter::of(&filter);
    let (path, written) = split_path(name);
    let own = joined(written);
    let mut namesakes = read_namesakes(resources, &own, &filter)?;
    namesakes.retain(|of| !is_strict || of.kind.is_none_or(|kind| wanted.has(kind)));
    let index = resources.index();
    let holders: Vec<Vec<String>> = namesakes.iter().map(|of| holders(&of.id, resources.has_view())).collect();
    let facts = index.facts(holders.iter().flatten().map(String::as_str));
    let mut found: Vec<(Rank, Definition)> = Vec::new();
    for (Namesake { id, importance, line, kind }, holders) in namesakes.into_iter().zip(&holders) {
        let NodeId::Entity { path: at, name, .. } = &id else { continue };
        let Some((document, facts)) = holders.iter().find_map(|holder| facts.get_key_value(holder.as_str())) else {
            continue;
        };
        if path.is_some_and(|path| !is_path(at, path)) || !prepared.is_met_by(document, facts) {
            continue;
        }
        let is_whole = name == written && path.is_none_or(|path| at == path);
        let entity = joined(name_without_count(name));
        let worth = worth_of_role(&[], facts);
        // `login~2` is the second one of its name in a file.
        let is_same = name == written || is_qualified_by(at, &entity, &own);
        let name_match = if is_same { NameMatch::Exact } else { compare_names(&entity, &own) };
        let (is_elsewhere, is_part) = (!is_file_of(at, &entity), entity != own);
        let is_other_kind = wanted != NamedKind::Any && kind.is_none_or(|kind| !wanted.has(kind));
        let rank = Rank { name_match, is_other: !is_whole, worth, is_other_kind, is_part, is_elsewhere, importance };
        let line = line.filter(|_| *document != holders[0]);
        let document = (*document).to_owned();
        let definition = Definition { document, file: facts.thread.to_string(), line, worth, id };
        found.push((rank, definition));
    }
    found.sort_by(|(a, one), (b, other)| a.compare(b).then_with(|| one.id.cmp(&other.id)));
    let name_match = found.first().map_or(NameMatch::Exact, |(rank, _)| rank.name_match);
    found.retain(|(rank, _)| rank.name_match == name_match);
    // Of a name with a path or a count, one is meant alone.
    if (path.is_some() || written != name_without_count(written)) && found.iter().any(|(rank, _)| !rank.is_other) {
        found.retain(|(rank, _)| !rank.is_other);
    }
    if matches!(name_match, NameMatch::End { .. }) && names_file(resources, written, &filter) {
        found.clear();
    }
    Ok((found.into_iter().map(|(_, definition)| definition).collect(), name_match))
}

/// What has the plain name of another.
struct Namesake {
    id: NodeId,
    /// How central it is, as far as that is known.
    importance: u64,
    /// Its first line, as far as that is known.
    line: Option<u32>,
    /// Its kind, as far as that is known.
    kind: Option<EntityKind>,
}

/// Everything whose plain name is that of a name.
fn read_namesakes(resources: &Resources, name: &str, filter: &Filter) -> Result<Vec<Namesake>> {
    let plain = plain_name(name);
    let projects = filter.project.iter().chain(&filter.projects).cloned().collect();
    let query = EntityQuery { spellings: vec![plain.clone()], projects, ..EntityQuery::default() };
    let namesake = |row: EntityRow| Namesake {
        kind: EntityKind::from_name(&row.kind),
        id: NodeId::entity(row.project, row.path, row.name),
        importance: row.importance,
        line: Some(row.lines.first),
    };
    let mut found: Vec<Namesake> = Vec::new();
    let mut page = PageRequest { first: MAX_PAGE, ..PageRequest::default() };
    loop {
        let read = resources.ledger().lists().entities(&query, &page, resources.visibility())?;
        found.extend(read.rows.into_iter().map(namesake));
        page.after = read.next.filter(|_| found.len() < MAX_NAMESAKES);
        if page.after.is_none() {
            break;
        }
    }
    let known: BTreeSet<NodeId> = found.iter().map(|of| of.id.clone()).collect();
    let versions = resources.index().definitions_of_versions(&plain).into_iter();
    let new = versions.filter_map(|id| id.parse().ok()).filter(|id| !known.contains(id));
    found.extend(new.map(|id| Namesake { id, importance: 0, line: None, kind: None }));
    Ok(found)
}

/// The references of the documents that could have the text of a definition, its own first. In another state of the files
/// only that is sure to have it.
fn holders(entity: &NodeId, only_own: bool) -> Vec<String> {
    let mut holders = vec![entity.to_string()];
    let NodeId::Entity { project, path, name } = entity else { return holders };
    if !only_own {
        let mut rest = name.as_str();
        while let Some(at) = rest.rfind(['.', ':']) {
            rest = rest[..at].trim_end_matches(':');
            holders.push(NodeId::entity(project, path, rest).to_string());
        }
        holders.push(NodeId::file(project, path).to_string());
    }
    holders
}

/// What definitions of one name are ordered by.
struct Rank {
    name_match: NameMatch,
    /// Whether it is not what is written, with path and count.
    is_other: bool,
    worth: f32,
    /// Whether it is not of the kind that is asked for.
    is_other_kind: bool,
    is_part: bool,
    /// Whether its file is named after something else.
    is_elsewhere: bool,
    importance: u64,
}

impl Rank {
    /// The better one first.
    fn compare(&self, other: &Self) -> Ordering {
        let named = self.name_match.cmp(&other.name_match);
        let named = named.then_with(|| other.worth.total_cmp(&self.worth));
        let named = named.then(self.is_other_kind.cmp(&other.is_other_kind));
        let named = named.then(self.is_part.cmp(&other.is_part)).then(self.is_elsewhere.cmp(&other.is_elsewhere));
        named.then(other.importance.cmp(&self.importance))
    }
}

/// Whether a path is another one or ends with it.
pub(crate) fn is_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// Whether a file is named after what a qualified name begins with: `connection.py` after `Connection.channel`.
fn is_file_of(path: &str, name: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.split('.').next().unwrap_or(file);
    let outer = name.split('.').find(|part| !part.is_empty()).unwrap_or(name);
    plain_spelling(stem) == plain_spelling(outer)
}

/// Whether a name has before that of an entity only parts of its path, in their order: `virtual.Channel` of
/// `transport/virtual/base.py`, `thread::scope` of `src/thread.rs`.
fn is_qualified_by(path: &str, entity: &str, name: &str) -> bool {
    let Some(before) = name.strip_suffix(entity).and_then(|rest| rest.strip_suffix('.')) else { return false };
    let without_extension = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let mut parts = without_extension.split('/').map(plain_spelling);
    before.split('.').map(plain_spelling).all(|wanted| parts.any(|part| part == wanted))
}

/// Whether what could be a name is that of a file: `package.json`.
fn names_file(resources: &Resources, name: &str, filter: &Filter) -> bool {
    let Filter { project, projects, .. } = filter.clone();
    let of_projects = PreparedFilter::of(&Filter { project, projects, ..Filter::default() });
    // The paths of commits may be gone.
    resources.index().has_any(|id, facts| {
        let is_of_file = facts.kind != DocumentKind::Commit && of_projects.is_met_by(id, facts);
        is_of_file && facts.paths().any(|path| is_path(path, name))
    })
}

/// The path before a name, as in `src/auth.rs#login`, and the name. `Server#start` is a name.
fn split_path(name: &str) -> (Option<&str>, &str) {
    let split = name.rsplit_once('#').filter(|(path, _)| path.contains(['/', '.']));
    split.map_or((None, name), |(path, own)| (Some(path), own))
}

/// A qualified name with points between its parts.
fn joined(name: &str) -> String {
    let name = name.replace("::", ".").replace('#', ".");
    // That of C++ is a name of its own.
    if name.ends_with("operator->") { name } else { name.replace("->", ".") }
}

/// Compares the name of an entity, whole or without what it stands in, with one in whose last part it is the same in plain
/// spelling.
fn compare_names(entity: &str, name: &str) -> NameMatch {
    let is_called =
        |entity: &str, name: &str| entity.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let plain = |name: &str| name.split('.').map(plain_spelling).collect::<Vec<_>>().join(".");
    let shared = |entity: &str, name: &str| {
        entity.rsplit('.').zip(name.rsplit('.')).take_while(|(own, wanted)| own == wanted).count()
    };
    if is_called(entity, name) {
        NameMatch::Exact
    } else if is_called(&plain(entity), &plain(name)) {
        NameMatch::Respelled
    } else {
        let parts = shared(&plain(entity), &plain(name));
        NameMatch::End { parts: Reverse(parts), is_respelled: shared(entity, name) < parts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_whole_or_in_part() {
        let end = |parts, is_respelled| NameMatch::End { parts: Reverse(parts), is_respelled };
        let compare = |entity: &str, name: &str| compare_names(&joined(name_without_count(entity)), &joined(name));
        for (entity, name, expected) in [
            ("Server.start", "start", NameMatch::Exact),
            ("Server.start", "Server::start", NameMatch::Exact),
            ("auth::login~2", "login", NameMatch::Exact),
            ("Http_Server.startAll", "HttpServer.start_all", NameMatch::Respelled),
            ("Environment.from_string", "env.from_string", end(1, false)),
            ("Environment.fromString", "env.from_string", end(1, true)),
            ("Backoff.new", "crossbeam::Backoff::new", end(2, false)),
        ] {
            assert_eq!(compare(entity, name), expected, "{entity} {name}");
        }
        assert!(is_path("src/a.rs", "a.rs") && is_path("src/a.rs", "src/a.rs") && !is_path("src/data.rs", "a.rs"));
        assert!(is_file_of("kombu/connection.py", "Connection") && is_file_of("src/thread_pool.rs", "ThreadPool.new"));
        assert!(!is_file_of("kombu/transport/qpid.py", "Connection"));
        assert!(is_qualified_by("kombu/transport/virtual/base.py", "Channel", "virtual.Channel"));
        assert!(is_qualified_by("src/thread.rs", "Scope.spawn", "thread.Scope.spawn"));
        assert!(!is_qualified_by("src/env.py", "from_string", "environment.from_string"));
        assert!(!is_qualified_by("src/base/virtual.py", "Channel", "virtual.base.Channel"));
        assert_eq!(split_path("src/auth.rs#login"), (Some("src/auth.rs"), "login"));
        assert_eq!(split_path("Server#start"), (None, "Server#start"));
    }

    #[test]
    fn what_has_no_document_stands_in_one() {
        let entity = NodeId::entity("a/b", "src/x.rs", "m::Server.start");
        let ids = ["a/b:src/x.rs#m::Server.start", "a/b:src/x.rs#m::Server", "a/b:src/x.rs#m", "a/b:src/x.rs"];
        assert_eq!(holders(&entity, false), ids);
        assert_eq!(holders(&entity, true), [entity.to_string()]);
    }
}
