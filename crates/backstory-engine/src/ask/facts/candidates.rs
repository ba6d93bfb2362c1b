//! Finds commits and merge requests that may have made a change: by the history of code, by what they say of themselves, and
//! by the lines of changelogs.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use backstory_model::{
    answer::Citation,
    change_question::{ChangeDirection, ChangeQuestion, StatedFit},
    entity::State,
    filter::{DocumentKind, Filter},
    id::NodeId,
    repository::EntityChangeKind,
    sentence::split_sentences,
};
use backstory_store::index::{ProjectScope, StoredDocument};
use jiff::{Timestamp, civil::Date};

use super::{MAX_TOLD, MadeChange, order_by_time};
use crate::{
    citations::{CitedDocument, document_of_file},
    code::changes_across_renames,
    error::Result,
    records::commit_record,
    removed::{Removals, find_symbols, removals_of_nodes},
    resources::Resources,
};

/// Most projects whose code is looked at.
const MAX_PROJECTS: usize = 20;
/// Most files and definitions of one name that are looked at.
const MAX_NODES: usize = 24;
/// Most definitions of one name that are counted.
const MAX_COUNTED: usize = 1_000;
/// Most bytes of a text that are looked at, the first ones.
const MAX_READ: usize = 20_000;
/// Most documents of a kind that are looked at.
const MAX_DOCUMENTS: usize = 200;
/// Most commits that are looked at to find one that is no merge.
const MAX_MERGES: usize = 20;
/// Most sections of changelogs that are read.
const MAX_SECTIONS: usize = 40;
/// Lines below the heading of a version among which its day is looked for.
const HEADING_LINES: usize = 5;
/// Most lines above a line among which its heading is looked for.
const MAX_ABOVE: usize = 2_000;
/// Most paths among which a file is looked for.
const MAX_PATHS: usize = 100_000;
/// Fewest marks that underline a heading.
const MIN_UNDERLINE: usize = 3;
/// What the names of changelogs begin with, in lower case.
const CHANGELOGS: [&str; 4] = ["change", "news", "history", "release"];

/// The commits that added or removed files and definitions of the name that a question gives, as the graph knows it.
pub(super) async fn changes_of_code(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let name = change.code_name.as_ref().or(change.names.first());
    let Some(name) = name.filter(|_| is_of_projects_alone(filter)) else { return Ok(Vec::new()) };
    let projects = projects_of(resources, filter).await?;
    let named = NamedCode { name, paths: &change.paths };
    match change.direction {
        ChangeDirection::Added => introductions(resources, named, &projects, missing).await,
        ChangeDirection::Removed => removals(resources, named, projects, missing).await,
        ChangeDirection::Fixed => Ok(Vec::new()),
    }
}

/// Whether a filter narrows nothing but the projects.
fn is_of_projects_alone(filter: &Filter) -> bool {
    let (project, projects) = (filter.project.clone(), filter.projects.clone());
    *filter == Filter { project, projects, ..Filter::default() }
}

/// The repositories that a filter lets through.
async fn projects_of(resources: &Resources, filter: &Filter) -> Result<Vec<String>> {
    let is_asked = |project: &String| match &filter.project {
        Some(own) => own == project,
        None => filter.projects.is_empty() || filter.projects.contains(project),
    };
    let entries = resources.with_ledger(|ledger| ledger.repositories()).await?;
    Ok(entries.into_iter().map(|entry| entry.project).filter(is_asked).take(MAX_PROJECTS).collect())
}

/// A name that a question gives, and the paths that it names beside it.
#[derive(Clone, Copy)]
struct NamedCode<'a> {
    name: &'a str,
    paths: &'a [String],
}

impl NamedCode<'_> {
    /// Those of nodes that lie in the paths that are named; all if none does.
    fn within_paths(&self, nodes: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        let is_within = |node: &NodeId| match node {
            NodeId::File { path, .. } | NodeId::Entity { path, .. } => {
                self.paths.iter().any(|end| format!("/{path}").ends_with(&format!("/{end}")))
            }
            _ => false,
        };
        let (within, others): (Vec<NodeId>, Vec<NodeId>) = nodes.into_iter().partition(is_within);
        if within.is_empty() { others } else { within }
    }

    /// What is said of so many nodes that have the name, if they are too many to tell which one is meant. A file of just this
    /// path is meant if there is one.
    fn describe_excess(&self, nodes: &[NodeId]) -> Option<String> {
        let is_other = |node: &&NodeId| !matches!(node, NodeId::File { path, .. } if path == self.name);
        let count = nodes.iter().filter(is_other).count();
        let name = self.name;
        (count > MAX_NODES).then(|| {
            format!("{count} definitions are called '{name}'; name one with its file, as '{name} in src/main.rs'")
        })
    }
}

/// The commits that introduced what has a name, or had it. Of very many none is picked, and how many there are is said.
async fn introductions(
    resources: &Resources,
    named: NamedCode<'_>,
    projects: &[String],
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let name = named.name;
    let (mut nodes, mut left_out) = (BTreeSet::new(), Vec::new());
    for project in projects {
        nodes.extend(named_nodes(resources, project, name).await?);
        nodes.extend(find_symbols(resources, project, name, None, &mut left_out).await?);
    }
    // A whole name wins over the last part of others.
    let is_whole = |node: &NodeId| match node {
        NodeId::Entity { name: own, .. } => own == name,
        _ => true,
    };
    if nodes.iter().any(|node| is_whole(node) && matches!(node, NodeId::Entity { .. })) {
        nodes.retain(is_whole);
    }
    let nodes = named.within_paths(nodes);
    left_out.extend(named.describe_excess(&nodes));
    if !left_out.is_empty() {
        missing.append(&mut left_out);
        return Ok(Vec::new());
    }
    let mut found: Vec<(Timestamp, MadeChange)> = Vec::new();
    for node in nodes {
        let changes = changes_across_renames(resources, &node).await?;
        let first = changes.iter().rev().find(|change| change.kind == EntityChangeKind::Introduced);
        let (Some(first), Some(project)) = (first, node.project()) else { continue };
        let commit = NodeId::commit(project, &first.sha);
        if !found.iter().any(|(_, known)| known.node == commit) {
            let place = Some(place_of(&first.name));
            found.push((first.at, MadeChange { node: commit, place, sentence: None }));
        }
    }
    order_by_time(&mut found, ChangeDirection::Added, |(at, _)| *at);
    Ok(found.into_iter().map(|(_, made)| made).collect())
}

/// The files and definitions at the indexed head that have a name.
async fn named_nodes(resources: &Resources, project: &str, name: &str) -> Result<Vec<NodeId>> {
    let (own, name) = ([project.to_owned()], name.to_owned());
    resources.blocking(move |resources| Ok(find_named_nodes(resources, &own, &name))).await
}

fn find_named_nodes(resources: &Resources, project: &[String; 1], name: &str) -> Vec<NodeId> {
    let (index, scope) = (resources.index(), ProjectScope::Only(project));
    let is_called = |node: &NodeId| match node {
        NodeId::Entity { name: entity, .. } => {
            entity.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with(['.', ':']))
        }
        _ => false,
    };
    let definitions = index.definitions(name, scope, MAX_COUNTED).into_iter();
    let mut nodes: Vec<NodeId> = definitions.filter_map(|id| id.parse().ok()).filter(is_called).collect();
    if name.contains(['.', '/']) {
        let end = format!("/{name}");
        let paths = index.known_paths(scope, MAX_PATHS).into_iter().filter(|path| format!("/{path}").ends_with(&end));
        nodes.extend(paths.take(MAX_COUNTED).map(|path| NodeId::file(&project[0], &path)));
    }
    nodes
}

/// The commits that removed what had a name. Says where it still is, if none did.
async fn removals(
    resources: &Resources,
    named: NamedCode<'_>,
    projects: Vec<String>,
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let name = named.name;
    let mut made: Vec<(Timestamp, MadeChange)> = Vec::new();
    let mut present = Vec::new();
    for project in projects {
        let symbols = named.within_paths(find_symbols(resources, &project, name, None, missing).await?);
        let defined = named.within_paths(named_nodes(resources, &project, name).await?);
        let mut found = Removals { project, text: name.to_owned(), ..Removals::default() };
        removals_of_nodes(resources, symbols, MAX_TOLD, &mut found).await?;
        present.extend(found.present.into_iter().map(|occurrence| occurrence.path));
        present.extend(defined.iter().map(place_of));
        for removal in found.removals {
            let place = Some(removal.node.as_ref().map_or(removal.path, place_of));
            let change = MadeChange { node: removal.commit.id, place, sentence: None };
            made.push((removal.commit.date, change));
        }
    }
    if made.is_empty() && !present.is_empty() {
        present.dedup();
        present.truncate(MAX_TOLD);
        missing.push(format!("'{name}' is still there: {}", present.join(", ")));
    }
    order_by_time(&mut made, ChangeDirection::Removed, |(at, _)| *at);
    Ok(made.into_iter().map(|(_, made)| made).collect())
}

/// A path, or a path and the name of a symbol.
fn place_of(node: &NodeId) -> String {
    match node {
        NodeId::File { path, .. } => path.clone(),
        NodeId::Entity { path, name, .. } => format!("{path}#{name}"),
        other => other.to_string(),
    }
}

/// The commit, or else the merged merge request, that says of itself what is asked about; the one that is asked for.
pub(super) async fn changes_told_by(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
) -> Result<Vec<MadeChange>> {
    for kind in [DocumentKind::Commit, DocumentKind::MergeRequest] {
        let documents = documents_of_kind(resources, change, filter, kind).await?;
        let change = change.clone();
        let best = resources.blocking(move |resources| {
            let mut told: Vec<Told> = documents.iter().filter_map(|document| Told::of(&change, document)).collect();
            order_by_time(&mut told, change.direction, |one| one.at);
            // Equal ones stay in the order of time.
            told.sort_by_key(|one| std::cmp::Reverse(one.is_title));
            first_of_own(resources, told.into_iter().map(|one| one.made).collect())
        });
        if let Some(best) = best.await? {
            return Ok(vec![best]);
        }
    }
    Ok(Vec::new())
}

/// The first change that is no merge, which repeats what others say; the first one if all are.
fn first_of_own(resources: &Resources, mut made: Vec<MadeChange>) -> Result<Option<MadeChange>> {
    made.truncate(MAX_MERGES);
    let mut own = 0;
    for (at, one) in made.iter().enumerate() {
        let NodeId::Commit { project, sha } = &one.node else { continue };
        if commit_record(resources, project, sha)?.is_some_and(|record| !record.commit.is_merge()) {
            own = at;
            break;
        }
    }
    Ok(made.into_iter().nth(own))
}

/// A commit or merge request that says that it made a change.
struct Told {
    made: MadeChange,
    at: Timestamp,
    /// Whether its title says so.
    is_title: bool,
}

impl Told {
    fn of(change: &ChangeQuestion, document: &StoredDocument) -> Option<Self> {
        let node: NodeId = document.id.parse().ok()?;
        if document.facts.kind == DocumentKind::MergeRequest && document.facts.state != Some(State::Merged) {
            return None;
        }
        let says_so = |text: &str| change.fit_of(text) == Some(StatedFit::Same);
        let is_title = says_so(&document.title);
        let text = &document.text[..document.text.floor_char_boundary(MAX_READ)];
        let sentences = split_sentences(text).into_iter().map(|sentence| &text[sentence.range]);
        let sentence = if is_title { None } else { Some(sentences.into_iter().find(|text| says_so(text))?.to_owned()) };
        let made = MadeChange { node, place: None, sentence };
        Some(Self { made, at: document.facts.created_at, is_title })
    }
}

/// Documents of a kind that have words of the subject, the best by their words first.
async fn documents_of_kind(
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

/// A line of a changelog.
pub(super) struct ChangelogLine {
    /// Full path of the project.
    pub(super) project: String,
    /// The line.
    pub(super) citation: Citation,
    /// The version that it stands under, as it is written: `1.2.0`.
    pub(super) version: String,
    /// The day that stands beside the heading.
    pub(super) date: Option<Date>,
}

/// The line of a changelog that says what is asked about, under the heading of a version.
pub(super) async fn find_changelog_line(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
) -> Result<Option<ChangelogLine>> {
    let documents = documents_of_kind(resources, change, filter, DocumentKind::Section).await?;
    let (change, exclude) = (change.clone(), filter.exclude.clone());
    resources
        .blocking(move |resources| {
            let is_wanted = |document: &&StoredDocument| {
                let is_left_out = exclude.iter().any(|id| id.as_str() == &*document.facts.thread);
                document.path.as_deref().is_some_and(is_changelog) && !is_left_out
            };
            let mut lines: Vec<ChangelogLine> = Vec::new();
            let mut files = HashMap::new();
            for section in documents.iter().filter(is_wanted).take(MAX_SECTIONS) {
                let (Some(path), Some(within)) = (&section.path, section.lines) else { continue };
                let project = section.facts.project.to_string();
                // A file that is gone since it was indexed says nothing.
                let read = || document_of_file(resources, &project, path, None).ok().flatten();
                let file = files.entry((project.clone(), path.clone())).or_insert_with(read);
                lines.extend(file.as_ref().and_then(|file| line_of_section(&change, &project, file, within)));
            }
            // Those without a day come last.
            let is_first = change.direction == ChangeDirection::Added;
            let (mut dated, undated): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.date.is_some());
            dated.sort_by_key(|line| line.date);
            let best = if is_first { dated.into_iter().next() } else { dated.into_iter().next_back() };
            Ok(best.or_else(|| undated.into_iter().next()))
        })
        .await
}

/// What a section of a changelog says of a change; `None` if nothing, or if no heading above names a version.
fn line_of_section(
    change: &ChangeQuestion,
    project: &str,
    document: &CitedDocument,
    lines: (u32, u32),
) -> Option<ChangelogLine> {
    let within = document.bytes_of(lines);
    let text = &document.text[within.clone()];
    let pieces = split_sentences(text).into_iter().map(|piece| piece.range);
    let says_so = |range: &Range<usize>| change.fit_of(&text[range.clone()]) == Some(StatedFit::Same);
    let range = pieces.into_iter().find(says_so)?;
    let citation = document.cite(0, within.start + range.start..within.start + range.end);
    let (version, date) = version_above(&document.text[..within.start + range.start], project)?;
    Some(ChangelogLine { project: project.to_owned(), citation, version, date })
}

/// The version, and the day if there is one, that the last heading of a text with a version in it names.
fn version_above(text: &str, project: &str) -> Option<(String, Option<Date>)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_underline = |line: &&str| {
        ['=', '-', '~', '^'].iter().any(|mark| line.len() >= MIN_UNDERLINE && line.chars().all(|c| c == *mark))
    };
    for at in (0..lines.len()).rev().take(MAX_ABOVE) {
        let is_heading = lines[at].starts_with('#') || lines.get(at + 1).is_some_and(is_underline);
        if is_heading && let Some(version) = version_in(lines[at], project) {
            let below = lines[at + 1..].iter().take(HEADING_LINES).take_while(|line| !line.starts_with('#'));
            let date = date_in(lines[at]).or_else(|| below.copied().find_map(day_of_release));
            return Some((version, date));
        }
    }
    None
}

/// The version with which a heading begins, without a `v` before it: two numbers or more with dots between them. Before it
/// may stand the day, the project's name and words like `Version`; behind any other word it is of something else.
fn version_in(heading: &str, project: &str) -> Option<String> {
    const BEFORE: [&str; 10] =
        ["version", "release", "released", "releases", "changes", "changelog", "notes", "in", "for", "of"];
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '+' | '_' | '/');
    let name = project.rsplit('/').next().unwrap_or(project);
    for word in heading.split(|c: char| c.is_whitespace() || matches!(c, '@' | ',' | ':')) {
        let begins = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        let end = begins.find(|c| !is_part(c)).unwrap_or(begins.len());
        let word = begins[..end].trim_matches(['.', '-', '/']);
        let is_before = BEFORE.iter().chain([&name, &project]).any(|known| word.eq_ignore_ascii_case(known));
        if word.is_empty() || is_before || word.eq_ignore_ascii_case("v") || date_in(word).is_some() {
            continue;
        }
        let version = word.trim_start_matches(['v', 'V']).trim_start_matches('.');
        let mut numbers = version.split('.');
        let is_number = |part: Option<&str>| part.is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()));
        return (is_number(numbers.next()) && is_number(numbers.next())).then(|| version.to_owned());
    }
    None
}

/// The day that a line below a heading names, if it says nothing but the day or begins with `Released`.
fn day_of_release(line: &str) -> Option<Date> {
    let said = line.trim_matches(|c: char| !c.is_alphanumeric());
    let is_said =
        said.split(|c: char| !c.is_alphabetic()).next().is_some_and(|word| word.eq_ignore_ascii_case("released"));
    let date = date_in(said)?;
    (is_said || said == date.to_string()).then_some(date)
}

/// The day that a line names, as in `2024-03-15`.
fn date_in(line: &str) -> Option<Date> {
    const LENGTH: usize = "2024-03-15".len();
    let words = line.split(|c: char| !c.is_ascii_digit() && c != '-').map(|word| word.trim_matches('-'));
    words.filter(|word| word.len() == LENGTH).find_map(|word| word.parse().ok())
}

fn is_changelog(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    CHANGELOGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changelogs_are_known_by_their_names_and_versions_by_their_numbers() {
        assert!(is_changelog("CHANGES.rst") && is_changelog("docs/changelog.md") && is_changelog("NEWS"));
        assert!(!is_changelog("docs/exchange.md") && !is_changelog("src/unchanged.rs"));
        for (heading, version) in [
            ("Version 2.4.1", Some("2.4.1")),
            ("[1.2.0] - 2020-01-01", Some("1.2.0")),
            ("v3.0-rc1 (unreleased)", Some("3.0-rc1")),
            ("## [v1.2.0](https://example.com/v1.2.0) (2020-01-01)", Some("1.2.0")),
            ("## 2024-01-02, Version 20.1.0 (Current)", Some("20.1.0")),
            ("Shop 2.1", Some("2.1")),
            ("# shop@2.1.0", Some("2.1.0")),
            ("acme/shop v2.1", Some("2.1")),
            ("Release notes for 4.0.0", Some("4.0.0")),
            ("**1.0.1**", Some("1.0.1")),
            ("### Python 3.8", None),
            ("### Support for 3.8", None),
            ("Unreleased", None),
            ("Unreleased (after 1.2.0)", None),
            ("What is new since 2019", None),
            ("", None),
        ] {
            assert_eq!(version_in(heading, "acme/shop").as_deref(), version, "{heading}");
        }
        assert_eq!(date_in("## 1.2.0 - 2020-01-31").map(|date| date.to_string()).as_deref(), Some("2020-01-31"));
        assert_eq!(date_in("Released on 31 January 2020"), None);
    }

    #[test]
    fn of_very_many_definitions_none_is_picked_unless_a_path_is_named() {
        let nodes: Vec<NodeId> =
            (0..30).map(|number| NodeId::entity("acme/shop", format!("src/{number}.py"), "run")).collect();
        let named = NamedCode { name: "run", paths: &[] };
        assert!(named.describe_excess(&nodes).unwrap().starts_with("30 definitions are called 'run'; "));
        assert_eq!(named.describe_excess(&nodes[..MAX_NODES]), None);
        let paths = ["7.py".to_owned()];
        let named = NamedCode { name: "run", paths: &paths };
        assert_eq!(named.within_paths(nodes.clone()), [NodeId::entity("acme/shop", "src/7.py", "run")]);
        let paths = ["9".to_owned()];
        assert_eq!(NamedCode { name: "run", paths: &paths }.within_paths(nodes.clone()), nodes);
    }

    #[test]
    fn a_line_belongs_to_the_last_version_above_it() {
        let kept = "# Changelog\n\n## [1.3.0] - 2021-02-03\n\n- One\n\n## [1.2.0] - 2020-01-01\n\n### Removed\n\n- ";
        let version_above = |text: &str| version_above(text, "acme/shop");
        assert_eq!(version_above(kept), Some(("1.2.0".to_owned(), date_in("2020-01-01"))));
        let underlined = "Version 2.0\n-----------\n\nReleased 2019-09-09\n\n-   Use 3.6\n-   ";
        assert_eq!(version_above(underlined), Some(("2.0".to_owned(), date_in("2019-09-09"))));
        assert_eq!(version_above("# Unreleased\n\n- "), None);
        let nested = "## 3.0.0\n### Python 3.8\n- ";
        assert_eq!(version_above(nested), Some(("3.0.0".to_owned(), None)));
        let prose = "## 3.0.0\n\nKeys made before 2020-01-01 are refused.\n- ";
        assert_eq!(version_above(prose), Some(("3.0.0".to_owned(), None)));
        for line in ["Released on 2020-01-01", "_2020-01-01_", "*Released: 2020-01-01*", "(2020-01-01)"] {
            let text = format!("## 3.0.0\n\n{line}\n\n- ");
            assert_eq!(version_above(&text), Some(("3.0.0".to_owned(), date_in("2020-01-01"))), "{line}");
        }
    }
}
