//! Finds commits and merge requests that may have made a change: by the history of code, by what they say of themselves, and
//! by the lines of changelogs.

use std::{collections::BTreeSet, ops::Range};

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
    citations::document_of_file,
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
    let Some(name) = change.names.first().filter(|_| is_of_projects_alone(filter)) else { return Ok(Vec::new()) };
    let projects = projects_of(resources, filter).await?;
    match change.direction {
        ChangeDirection::Added => introductions(resources, name, &projects).await,
        ChangeDirection::Removed => removals(resources, name, projects, missing).await,
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

/// The commits that introduced what has a name, or had it.
async fn introductions(resources: &Resources, name: &str, projects: &[String]) -> Result<Vec<MadeChange>> {
    let mut nodes = BTreeSet::new();
    for project in projects {
        nodes.extend(named_nodes(resources, project, name).await?);
        let mut unsaid = Vec::new();
        nodes.extend(find_symbols(resources, project, name, None, &mut unsaid).await?);
    }
    // A whole name wins over the last part of others.
    let is_whole = |node: &NodeId| match node {
        NodeId::Entity { name: own, .. } => own == name,
        _ => true,
    };
    if nodes.iter().any(|node| is_whole(node) && matches!(node, NodeId::Entity { .. })) {
        nodes.retain(is_whole);
    }
    let mut found: Vec<(Timestamp, MadeChange)> = Vec::new();
    for node in nodes.into_iter().take(MAX_NODES) {
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
    let definitions = index.definitions(name, scope, MAX_NODES).into_iter();
    let mut nodes: Vec<NodeId> = definitions.filter_map(|id| id.parse().ok()).filter(is_called).collect();
    if name.contains(['.', '/']) {
        let end = format!("/{name}");
        let paths = index.known_paths(scope, MAX_PATHS).into_iter().filter(|path| format!("/{path}").ends_with(&end));
        nodes.extend(paths.take(MAX_NODES).map(|path| NodeId::file(&project[0], &path)));
    }
    nodes
}

/// The commits that removed what had a name. Says where it still is, if none did.
async fn removals(
    resources: &Resources,
    name: &str,
    projects: Vec<String>,
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let mut made: Vec<(Timestamp, MadeChange)> = Vec::new();
    let mut present = Vec::new();
    for project in projects {
        let symbols = find_symbols(resources, &project, name, None, missing).await?;
        let defined = named_nodes(resources, &project, name).await?;
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
        let mut told: Vec<Told> = documents.iter().filter_map(|document| Told::of(change, document)).collect();
        order_by_time(&mut told, change.direction, |one| one.at);
        // Equal ones stay in the order of time.
        told.sort_by_key(|one| std::cmp::Reverse(one.is_title));
        let made: Vec<MadeChange> = told.into_iter().map(|one| one.made).collect();
        let best = resources.blocking(move |resources| first_of_own(resources, made)).await?;
        if let Some(best) = best {
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
        let sentences = split_sentences(&document.text).into_iter().map(|sentence| &document.text[sentence.range]);
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
            for document in documents.iter().filter(is_wanted).take(MAX_SECTIONS) {
                lines.extend(line_of_section(resources, &change, document)?);
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
    resources: &Resources,
    change: &ChangeQuestion,
    section: &StoredDocument,
) -> Result<Option<ChangelogLine>> {
    let (Some(path), Some(lines)) = (&section.path, section.lines) else { return Ok(None) };
    let project = section.facts.project.to_string();
    // A file that is gone since it was indexed says nothing.
    let Ok(Some(document)) = document_of_file(resources, &project, path, None) else { return Ok(None) };
    let within = document.bytes_of(lines);
    let text = &document.text[within.clone()];
    let pieces = split_sentences(text).into_iter().map(|piece| piece.range);
    let says_so = |range: &Range<usize>| change.fit_of(&text[range.clone()]) == Some(StatedFit::Same);
    let Some(range) = pieces.into_iter().find(says_so) else { return Ok(None) };
    let citation = document.cite(0, within.start + range.start..within.start + range.end);
    let Some((version, date)) = version_above(&document.text[..within.start + range.start]) else { return Ok(None) };
    Ok(Some(ChangelogLine { project, citation, version, date }))
}

/// The version, and the day if there is one, that the last heading of a text with a version in it names.
fn version_above(text: &str) -> Option<(String, Option<Date>)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_underline = |line: &&str| {
        ['=', '-', '~', '^'].iter().any(|mark| line.len() >= MIN_UNDERLINE && line.chars().all(|c| c == *mark))
    };
    for at in (0..lines.len()).rev().take(MAX_ABOVE) {
        let is_heading = lines[at].starts_with('#') || lines.get(at + 1).is_some_and(is_underline);
        if is_heading && let Some(version) = version_in(lines[at]) {
            return Some((version, lines[at..].iter().take(HEADING_LINES).find_map(|line| date_in(line))));
        }
    }
    None
}

/// The version that a heading names, without a `v` before it: two numbers or more with dots between them.
fn version_in(heading: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
    let words = heading.split(|c: char| !is_part(c)).map(|word| word.trim_matches(['.', '-']));
    let mut versions = words.map(|word| word.trim_start_matches(['v', 'V'])).filter(|word| {
        let mut numbers = word.split('.');
        let is_number = |part: Option<&str>| part.is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()));
        is_number(numbers.next()) && is_number(numbers.next())
    });
    versions.next().map(str::to_owned)
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
            ("Unreleased", None),
            ("What is new since 2019", None),
        ] {
            assert_eq!(version_in(heading).as_deref(), version, "{heading}");
        }
        assert_eq!(date_in("## 1.2.0 - 2020-01-31").map(|date| date.to_string()).as_deref(), Some("2020-01-31"));
        assert_eq!(date_in("Released on 31 January 2020"), None);
    }

    #[test]
    fn a_line_belongs_to_the_last_version_above_it() {
        let kept = "# Changelog\n\n## [1.3.0] - 2021-02-03\n\n- One\n\n## [1.2.0] - 2020-01-01\n\n### Removed\n\n- ";
        assert_eq!(version_above(kept), Some(("1.2.0".to_owned(), date_in("2020-01-01"))));
        let underlined = "Version 2.0\n-----------\n\nReleased 2019-09-09\n\n-   Use 3.6\n-   ";
        assert_eq!(version_above(underlined), Some(("2.0".to_owned(), date_in("2019-09-09"))));
        assert_eq!(version_above("# Unreleased\n\n- "), None);
    }
}
