//! Finds commits and merge requests that may have made a change: by the history of code, and by what they say of themselves.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    change_question::{ChangeDirection, ChangeQuestion, StatedFit, is_aside},
    code::{last_part_of_name, name_without_count},
    commit::{Commit, FileChange},
    edge::Edge,
    entity::{Item, State},
    file_role::{FileRole, file_role},
    filter::{DocumentKind, Filter},
    id::NodeId,
    repository::EntityChangeKind,
    sentence::split_sentences,
};
use backstory_store::{
    graph::Direction,
    index::{ProjectScope, StoredDocument},
};
use jiff::Timestamp;

use super::{
    MAX_TOLD, MadeChange,
    leftovers::{MAX_SOURCES, source_with_rest},
    order_by_time,
    values::{find_values, is_value},
    versions::MemberFate,
};
use crate::{
    catalog::repositories_of,
    error::Result,
    history::{GraphChangeRow, changes_across_renames, changes_of, find_removal, find_symbols},
    read::item_of_node,
    records::commit_record,
    releases::first_release,
    removed::{Removal, Removals, removals_of_nodes},
    resources::Resources,
    search::definitions::{NameMatch, is_path, read_definitions},
};

/// Most files and definitions of one name that are looked at.
pub(super) const MAX_NODES: usize = 24;
/// Most definitions of one name that are counted.
const MAX_COUNTED: usize = 1_000;
/// Most bytes of a text that are looked at, the first ones.
const MAX_READ: usize = 20_000;
/// Most documents of a kind that are looked at.
const MAX_DOCUMENTS: usize = 200;
/// Most commits that are looked at to find one that is no merge.
const MAX_MERGES: usize = 20;
/// Most commits of a merge among which the one is looked for that made a change.
const MAX_BROUGHT: usize = 50;
/// Most paths among which a file is looked for.
pub(super) const MAX_PATHS: usize = 100_000;

/// The commits that added or removed files and definitions of the name that a question gives, as the graph knows it.
pub(super) async fn changes_of_code(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let name = change.code_name.as_ref().or(change.names.first());
    let Some(name) = name.filter(|_| filter.is_of_projects_alone()) else { return Ok(Vec::new()) };
    let projects = repositories_of(resources, filter).await?;
    changes_of_named(resources, change.direction, NamedCode { name, paths: &change.paths }, projects, missing).await
}

/// The commits that added or removed what a name stands for.
pub(super) async fn changes_of_named(
    resources: &Resources,
    direction: ChangeDirection,
    named: NamedCode<'_>,
    projects: Vec<String>,
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    match direction {
        ChangeDirection::Added => introductions(resources, named, &projects, missing).await,
        ChangeDirection::Removed => removals(resources, named, projects, missing).await,
        ChangeDirection::Fixed | ChangeDirection::Deprecated => Ok(Vec::new()),
    }
}

/// A name that a question gives, and the paths that it names beside it.
#[derive(Clone, Copy)]
pub(super) struct NamedCode<'a> {
    pub(super) name: &'a str,
    pub(super) paths: &'a [String],
}

impl NamedCode<'_> {
    /// Those of nodes that lie in the paths that are named; all if none does.
    pub(super) fn within_paths(&self, nodes: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        let is_within = |node: &NodeId| match node {
            NodeId::File { path, .. } | NodeId::Entity { path, .. } => self.paths.iter().any(|end| is_path(path, end)),
            _ => false,
        };
        let (within, others): (Vec<NodeId>, Vec<NodeId>) = nodes.into_iter().partition(is_within);
        if within.is_empty() { others } else { within }
    }

    /// What is said of so many nodes that have the name, if they are too many to tell which one is meant, with the first of
    /// them as an example. A file of just this path is meant if there is one.
    fn describe_excess(&self, nodes: &[NodeId]) -> Option<String> {
        let is_own_path = |node: &NodeId| matches!(node, NodeId::File { path, .. } if path == self.name);
        let mut others = nodes.iter().filter(|node| !is_own_path(node)).peekable();
        let example = others.peek().copied()?;
        let count = others.count();
        if count <= MAX_NODES {
            return None;
        }
        // Counting ends there.
        let count = if count < MAX_COUNTED { count.to_string() } else { format!("at least {MAX_COUNTED}") };
        let name = self.name;
        Some(match example {
            NodeId::Entity { path, .. } => {
                format!("{count} definitions are called '{name}'; name one with its file, as '{name} in {path}'")
            }
            other => format!("{count} files are called '{name}'; name one with its path, as '{}'", place_of(other)),
        })
    }
}

/// The commits that introduced what has a name, or what had it if nothing has. Of very many none is picked, and how many
/// there are is said.
async fn introductions(
    resources: &Resources,
    named: NamedCode<'_>,
    projects: &[String],
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let name = named.name;
    let (mut present, mut past, mut left_out) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for project in projects {
        present.extend(named_nodes(resources, project, name).await?);
        past.extend(find_symbols(resources, project, name, None, &mut left_out).await?);
    }
    past.extend(present.iter().cloned());
    let mut nodes = named.within_paths(past);
    if nodes.iter().any(|node| present.contains(node)) {
        nodes.retain(|node| present.contains(node));
        // Those are symbols that are gone.
        left_out.clear();
    }
    retain_whole_names(&mut nodes, name);
    retain_sources(&mut nodes);
    left_out.extend(named.describe_excess(&nodes));
    if !left_out.is_empty() {
        missing.append(&mut left_out);
        return Ok(Vec::new());
    }
    let mut found: Vec<Introduction> = Vec::new();
    for one in introductions_of_nodes(resources, nodes, &present).await? {
        match found.iter_mut().find(|known| known.made.node == one.made.node) {
            None => found.push(one),
            Some(known) if known.made.removal.is_some() && one.made.removal.is_none() => *known = one,
            Some(_) => {}
        }
    }
    // Another version of a function, such as an overload, is no other function.
    found.sort_by_key(|one| one.at);
    let mut places = BTreeSet::new();
    found.retain(|one| one.made.removal.is_some() || places.insert(one.place.clone()));
    // What has another name since is still there.
    if found.iter().any(|one| one.made.removal.is_none()) {
        found.retain(|one| one.made.removal.is_none());
    }
    order_by_time(&mut found, ChangeDirection::Added, |one| one.at);
    Ok(found.into_iter().map(|one| one.made).collect())
}

/// How a definition came.
struct Introduction {
    at: Timestamp,
    /// Where the definition is now, or was last.
    place: String,
    made: MadeChange,
}

/// The commit that introduced each of these nodes, as far as it is known. Of what is neither a function nor a type it is that
/// before which its name was not there: a declaration may come later.
async fn introductions_of_nodes(
    resources: &Resources,
    nodes: Vec<NodeId>,
    present: &BTreeSet<NodeId>,
) -> Result<Vec<Introduction>> {
    let (mut found, mut values) = (Vec::new(), BTreeMap::new());
    for node in nodes {
        let changes = changes_across_renames(resources, &node).await?;
        let (Some(first), Some(project)) = (introduction(&node, &changes), node.project()) else { continue };
        let removal = match present.contains(&node) {
            true => None,
            false => find_removal(resources, node.clone()).await?,
        };
        let made = MadeChange {
            node: NodeId::commit(project, &first.sha),
            place: Some(place_of(&first.name)),
            sentence: None,
            removal: removal.map(|removal| NodeId::commit(project, &removal.sha)),
        };
        if is_value_of_commit(resources, &made.node, &first.name).await? {
            values.insert(node, made);
        } else {
            found.push(Introduction { at: first.at, place: place_of(&node), made });
        }
    }
    let gone = values.iter().filter(|(_, made)| made.removal.is_some()).map(|(node, _)| node.clone()).collect();
    for (node, fate) in find_values(resources, gone, ChangeDirection::Removed).await? {
        let Some(made) = values.get_mut(&node) else { continue };
        made.removal = commit_of(&node, &fate).map(|(_, commit)| commit);
    }
    let nodes = values.keys().cloned().collect();
    for (node, fate) in find_values(resources, nodes, ChangeDirection::Added).await? {
        let (Some((at, commit)), Some(made)) = (commit_of(&node, &fate), values.remove(&node)) else { continue };
        let place = place_of(&node);
        found.push(Introduction { at, made: MadeChange { node: commit, place: Some(place.clone()), ..made }, place });
    }
    Ok(found)
}

/// The commit that added or removed a value, and when.
fn commit_of(node: &NodeId, fate: &MemberFate) -> Option<(Timestamp, NodeId)> {
    let MemberFate::Changed { sha, at } = fate else { return None };
    Some((*at, NodeId::commit(node.project()?, sha)))
}

/// The change with which something came: of what is no test now, the one with which it came to the sources.
fn introduction<'a>(node: &NodeId, changes: &'a [GraphChangeRow]) -> Option<&'a GraphChangeRow> {
    let first = changes.iter().rev().find(|change| change.kind == EntityChangeKind::Introduced)?;
    if is_in_tests(node) || !is_in_tests(&first.name) {
        return Some(first);
    }
    changes.iter().rev().find(|change| change.kind != EntityChangeKind::Removed && !is_in_tests(&change.name))
}

/// Whether what a commit changed is neither a function nor a type.
async fn is_value_of_commit(resources: &Resources, commit: &NodeId, node: &NodeId) -> Result<bool> {
    let (NodeId::Commit { project, sha }, node) = (commit.clone(), node.clone()) else { return Ok(false) };
    resources
        .blocking(move |resources| {
            Ok(commit_record(resources, &project, &sha)?.is_some_and(|record| is_value(&record, &node)))
        })
        .await
}

/// Keeps the definitions that are in no test, if there are any.
pub(super) fn retain_sources(nodes: &mut Vec<NodeId>) {
    let is_definition = |node: &NodeId| matches!(node, NodeId::Entity { .. });
    if nodes.iter().any(|node| is_definition(node) && !is_in_tests(node)) {
        nodes.retain(|node| !is_definition(node) || !is_in_tests(node));
    }
}

fn is_in_tests(node: &NodeId) -> bool {
    match node {
        NodeId::File { path, .. } | NodeId::Entity { path, .. } => file_role(path) == FileRole::Test,
        _ => false,
    }
}

/// Keeps the definitions that have just this name, and no other ones of which it is the last part, if there are any.
pub(super) fn retain_whole_names(nodes: &mut Vec<NodeId>, name: &str) {
    let is_whole = |node: &NodeId| match node {
        NodeId::Entity { name: own, .. } => name_without_count(own) == name,
        _ => true,
    };
    if nodes.iter().any(|node| is_whole(node) && matches!(node, NodeId::Entity { .. })) {
        nodes.retain(is_whole);
    }
}

/// The files and definitions at the indexed head that have a name.
pub(super) async fn named_nodes(resources: &Resources, project: &str, name: &str) -> Result<Vec<NodeId>> {
    let (own, name) = ([project.to_owned()], name.to_owned());
    resources.blocking(move |resources| find_named_nodes(resources, &own, &name)).await
}

fn find_named_nodes(resources: &Resources, project: &[String; 1], name: &str) -> Result<Vec<NodeId>> {
    let filter = Filter { project: Some(project[0].clone()), ..Filter::default() };
    let (definitions, name_match) = read_definitions(resources, name, &filter)?;
    let definitions = if name_match == NameMatch::Exact { definitions } else { Vec::new() };
    let mut nodes: Vec<NodeId> = definitions.into_iter().map(|definition| definition.id).take(MAX_COUNTED).collect();
    // A module may be called by its file, without what that ends with.
    let is_module = nodes.is_empty() && name.contains('_');
    if is_module || name.contains(['.', '/']) {
        let stem = |path: &str| path.rsplit('/').next().and_then(|file| Some(file.rsplit_once('.')?.0.to_owned()));
        let is_meant = |path: &String| is_path(path, name) || (is_module && stem(path).as_deref() == Some(name));
        let known = resources.index().known_paths(ProjectScope::Only(project), MAX_PATHS);
        let paths = known.into_iter().filter(is_meant);
        nodes.extend(paths.take(MAX_COUNTED).map(|path| NodeId::file(&project[0], &path)));
    }
    Ok(nodes)
}

/// The commits that removed what had a name. Says where it still is, if none did.
async fn removals(
    resources: &Resources,
    named: NamedCode<'_>,
    projects: Vec<String>,
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let name = named.name;
    let mut made: Vec<(Timestamp, Vec<MadeChange>)> = Vec::new();
    let mut present = Vec::new();
    for project in projects {
        let symbols = named.within_paths(find_symbols(resources, &project, name, None, missing).await?);
        let defined = named.within_paths(named_nodes(resources, &project, name).await?);
        let mut found = Removals { project, text: name.to_owned(), ..Removals::default() };
        removals_of_nodes(resources, symbols, MAX_TOLD, &mut found).await?;
        present.extend(found.present.into_iter().map(|occurrence| occurrence.path));
        present.extend(defined.iter().map(place_of));
        made.extend(removing_commits(resources, found.removals, &mut present).await?);
    }
    if !present.is_empty() {
        let mut seen = BTreeSet::new();
        present.retain(|place: &String| seen.insert(place.clone()));
        let is_renamed = !present.iter().any(|place| is_called(place, name));
        let more = match present.len().saturating_sub(MAX_TOLD) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        present.truncate(MAX_TOLD);
        let when = match (is_renamed, made.is_empty()) {
            (true, true) => "called otherwise now",
            (true, false) => "called otherwise now, elsewhere",
            (false, true) => "there now",
            (false, false) => "there now, elsewhere or again",
        };
        missing.push(format!("'{name}' is {when}: {}{more}", present.join(", ")));
    }
    order_by_time(&mut made, ChangeDirection::Removed, |(at, _)| *at);
    Ok(made.into_iter().flat_map(|(_, made)| made).collect())
}

/// Whether a place is that of a file or definition with a name, and not of one that is called otherwise now.
fn is_called(place: &str, name: &str) -> bool {
    match place.split_once('#') {
        Some((_, own)) => last_part_of_name(own) == last_part_of_name(name) || place == name,
        None => is_path(place, name) || !name.contains(['.', '/']),
    }
}

/// The commits that removed things, those of each together, and when. Of what is neither a function nor a type it is that after
/// which its name was not there any more; if it is, that is noted.
async fn removing_commits(
    resources: &Resources,
    removals: Vec<Removal>,
    present: &mut Vec<String>,
) -> Result<Vec<(Timestamp, Vec<MadeChange>)>> {
    let mut values = Vec::new();
    for removal in &removals {
        if let Some(node) = &removal.node
            && is_value_of_commit(resources, &removal.commit.id, node).await?
        {
            values.push(node.clone());
        }
    }
    let fates: BTreeMap<NodeId, MemberFate> =
        find_values(resources, values, ChangeDirection::Removed).await?.into_iter().collect();
    let mut found = Vec::new();
    for Removal { node, commit, path, .. } in removals {
        let place = node.as_ref().map_or(path, place_of);
        let made = |node| MadeChange { node, place: Some(place.clone()), sentence: None, removal: None };
        let Some(node) = node else {
            found.push((commit.date, vec![made(commit.id)]));
            continue;
        };
        match fates.get(&node) {
            Some(MemberFate::There) => present.push(place_of(&node)),
            Some(fate) => found.extend(commit_of(&node, fate).map(|(at, commit)| (at, vec![made(commit)]))),
            None => {
                let commits = commits_removing(resources, &node, commit.id).await?;
                found.push((commit.date, commits.into_iter().map(made).collect()));
            }
        }
    }
    Ok(found)
}

/// The commit that removed something last, and those that removed a file on other branches: the one that shipped first before
/// the others.
async fn commits_removing(resources: &Resources, node: &NodeId, last: NodeId) -> Result<Vec<NodeId>> {
    let NodeId::File { project, path } = node.clone() else { return Ok(vec![last]) };
    let changes = changes_of(resources, node).await?;
    resources
        .blocking(move |resources| {
            let mut found = Vec::new();
            for change in changes.iter().take_while(|change| change.kind != EntityChangeKind::Introduced) {
                if change.kind != EntityChangeKind::Removed {
                    continue;
                }
                let Some(record) = commit_record(resources, &project, &change.sha)? else { continue };
                let is_rename = |file: &FileChange| file.old_path.as_ref().is_some_and(|old| old.as_str() == path);
                if record.commit.changes.iter().any(is_rename) {
                    continue;
                }
                let release = first_release(resources, &project, &change.sha)?;
                let shipped = release.and_then(|release| release.at).unwrap_or(Timestamp::MAX);
                found.push((shipped, change.at, NodeId::commit(&project, &change.sha)));
            }
            found.sort();
            Ok(if found.is_empty() { vec![last] } else { found.into_iter().map(|(.., commit)| commit).collect() })
        })
        .await
}

/// A path, or a path and the name of a symbol.
pub(super) fn place_of(node: &NodeId) -> String {
    match node {
        NodeId::File { path, .. } => path.clone(),
        NodeId::Entity { path, name, .. } => format!("{path}#{}", name_without_count(name)),
        other => other.to_string(),
    }
}

/// The commit, or else the merged merge request, that says of itself what is asked about, as one of `fits` has it; the one
/// that is asked for. What removed only a part of it is told if that fits.
pub(super) async fn changes_told_by(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
    fits: &'static [StatedFit],
) -> Result<Vec<MadeChange>> {
    for kind in [DocumentKind::Commit, DocumentKind::MergeRequest] {
        let documents = documents_of_kind(resources, change, filter, kind).await?;
        let change = change.clone();
        let best = resources.blocking(move |resources| {
            let mut told: Vec<Told> = documents.iter().filter_map(|one| Told::of(&change, one, fits)).collect();
            order_by_time(&mut told, change.direction, |one| one.at);
            // Equal ones stay in the order of time.
            told.sort_by_key(|one| std::cmp::Reverse(one.is_title));
            let mut made: Vec<MadeChange> = told.into_iter().map(|one| one.made).take(MAX_MERGES).collect();
            let may_be_part = fits.contains(&StatedFit::Part);
            let mut left = MAX_SOURCES;
            while let Some(at) = first_of_own(resources, &made)? {
                let best = without_merge(resources, &change, made.remove(at))?;
                if may_be_part || source_with_rest(resources, &change, &best, &mut left)?.is_none() {
                    return Ok(Some(best));
                }
            }
            Ok(None)
        });
        if let Some(best) = best.await? {
            return Ok(vec![best]);
        }
    }
    Ok(Vec::new())
}

/// Which is the first change that is no merge, which repeats what others say; the first one if all are.
fn first_of_own(resources: &Resources, made: &[MadeChange]) -> Result<Option<usize>> {
    for (at, one) in made.iter().enumerate() {
        let NodeId::Commit { project, sha } = &one.node else { continue };
        if commit_record(resources, project, sha)?.is_some_and(|record| !record.commit.is_merge()) {
            return Ok(Some(at));
        }
    }
    Ok((!made.is_empty()).then_some(0))
}

/// What a merge only brought: the commit of it that says so, the first one that is called like the subject, the only one, the
/// merge request that it merged, or the last commit of the program itself if one person wrote them all. Who merged a change did
/// not make it. The merge itself, if none of these is known.
fn without_merge(resources: &Resources, change: &ChangeQuestion, made: MadeChange) -> Result<MadeChange> {
    let NodeId::Commit { project, sha } = &made.node else { return Ok(made) };
    if commit_record(resources, project, sha)?.is_none_or(|record| !record.commit.is_merge()) {
        return Ok(made);
    }
    let mut brought = commits_of_merge(resources, &made.node)?;
    brought.sort_by_key(|commit| commit.author.at);
    let elsewhere = change.without_context();
    let says_so = |commit: &&Commit| elsewhere.fit_of(commit.title()) == Some(StatedFit::Same);
    let is_called_so = |commit: &&Commit| elsewhere.is_named_by(commit.title());
    let own = brought.iter().find(says_so).or_else(|| brought.iter().find(is_called_so));
    let only = || brought.first().filter(|_| brought.len() == 1);
    let is_of_one = || brought.iter().all(|other| other.author.email == brought[0].author.email);
    let is_of_program = |commit: &&Commit| !is_aside(commit.title());
    let newest = || brought.iter().rfind(is_of_program).or(brought.last()).filter(|_| is_of_one());
    let node_of = |commit: &Commit| NodeId::commit(project, &commit.sha.to_string());
    let node = if let Some(commit) = own.or_else(only) {
        Some(node_of(commit))
    } else if let Some(request) = merged_request(resources, &made.node)? {
        Some(request)
    } else {
        newest().map(node_of)
    };
    Ok(match node {
        Some(node) => MadeChange { node, sentence: None, ..made },
        None => made,
    })
}

/// The commits that a merge brought and that are no merges; none if they are very many.
fn commits_of_merge(resources: &Resources, merge: &NodeId) -> Result<Vec<Commit>> {
    let ends = resources.graph().edges(merge, Direction::In, Some(Edge::MergedBy))?;
    let mut found = Vec::new();
    if ends.len() > MAX_BROUGHT {
        return Ok(found);
    }
    for end in &ends {
        let NodeId::Commit { project, sha } = &end.other else { continue };
        let record = commit_record(resources, project, sha)?;
        found.extend(record.map(|record| record.commit).filter(|commit| !commit.is_merge()));
    }
    Ok(found)
}

/// The merge request that a merge is of, if that is one and it was read.
fn merged_request(resources: &Resources, merge: &NodeId) -> Result<Option<NodeId>> {
    let ends = resources.graph().edges(merge, Direction::In, Some(Edge::MergedAs))?;
    let [end] = ends.as_slice() else { return Ok(None) };
    let is_read =
        matches!(item_of_node(resources, &end.other)?, Some(Item::MergeRequest(mr)) if mr.merged_at.is_some());
    Ok(is_read.then(|| end.other.clone()))
}

/// A commit or merge request that says that it made a change.
struct Told {
    made: MadeChange,
    at: Timestamp,
    /// Whether its title says so.
    is_title: bool,
}

impl Told {
    fn of(change: &ChangeQuestion, document: &StoredDocument, fits: &[StatedFit]) -> Option<Self> {
        let node: NodeId = document.id.parse().ok()?;
        if document.facts.kind == DocumentKind::MergeRequest && document.facts.state != Some(State::Merged) {
            return None;
        }
        let change = change.within(&document.facts.project);
        let says_so = |text: &str| change.fit_of(text).is_some_and(|fit| fits.contains(&fit));
        let is_title = says_so(&document.title);
        if !is_title && change.is_told_aside(&document.title) {
            return None;
        }
        let text = &document.text[..document.text.floor_char_boundary(MAX_READ)];
        let sentences = split_sentences(text).into_iter().map(|sentence| &text[sentence.range]);
        let sentence = if is_title { None } else { Some(sentences.into_iter().find(|text| says_so(text))?.to_owned()) };
        let made = MadeChange { node, place: None, sentence, removal: None };
        Some(Self { made, at: document.facts.created_at, is_title })
    }
}

/// Documents of a kind that have words of the subject, the best by their words first.
pub(super) async fn documents_of_kind(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
    kind: DocumentKind,
) -> Result<Vec<StoredDocument>> {
    if !filter.kinds.is_empty() && !filter.kinds.contains(&kind) {
        return Ok(Vec::new());
    }
    let query = format!("{} {}", change.names.join(" "), change.direction.verb());
    let within = Filter { kinds: vec![kind], exclude: Vec::new(), ..filter.clone() };
    let index = resources.index();
    let hits = index.search_text(&query, &within, MAX_DOCUMENTS).await?;
    let is_left_out = |id: &String| filter.exclude.contains(id);
    let ids: Vec<String> = hits.into_iter().map(|hit| hit.document).filter(|id| !is_left_out(id)).collect();
    Ok(index.documents(&ids).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_many_definitions_none_is_picked_unless_a_path_is_named() {
        let nodes: Vec<NodeId> =
            (0..30).map(|number| NodeId::entity("acme/shop", format!("src/{number}.py"), "run")).collect();
        let named = NamedCode { name: "run", paths: &[] };
        let said = "30 definitions are called 'run'; name one with its file, as 'run in src/0.py'";
        assert_eq!(named.describe_excess(&nodes).as_deref(), Some(said));
        assert_eq!((named.describe_excess(&nodes[..MAX_NODES]), named.describe_excess(&[])), (None, None));
        let many: Vec<NodeId> = nodes.iter().cycle().take(MAX_COUNTED).cloned().collect();
        assert!(named.describe_excess(&many).unwrap().starts_with("at least 1000 definitions are called 'run'; "));
        let files = (0..30).map(|number| NodeId::file("acme/shop", format!("src/{number}/mod.rs")));
        let files: Vec<NodeId> = [NodeId::file("acme/shop", "mod.rs")].into_iter().chain(files).collect();
        let said = "30 files are called 'mod.rs'; name one with its path, as 'src/0/mod.rs'";
        assert_eq!(NamedCode { name: "mod.rs", paths: &[] }.describe_excess(&files).as_deref(), Some(said));
        let paths = ["7.py".to_owned()];
        let named = NamedCode { name: "run", paths: &paths };
        assert_eq!(named.within_paths(nodes.clone()), [NodeId::entity("acme/shop", "src/7.py", "run")]);
        let mut several = vec![
            NodeId::entity("acme/shop", "src/a.py", "Job.run"),
            NodeId::entity("acme/shop", "src/b.py", "run~2"),
            NodeId::entity("acme/shop", "src/c.py", "Task.run"),
        ];
        retain_whole_names(&mut several, "run");
        assert_eq!(several, [NodeId::entity("acme/shop", "src/b.py", "run~2")]);
        let paths = ["9".to_owned()];
        assert_eq!(NamedCode { name: "run", paths: &paths }.within_paths(nodes.clone()), nodes);
    }
}
