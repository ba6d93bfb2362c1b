//! What shipped: the releases of a project, and the commits, merge requests, issues and people between two of them.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    edge::Edge,
    entity::{Item, ItemKind, State},
    id::{NodeId, ThreadId, ThreadKind},
    repository::{Record, RepositoryItem},
    text::truncate_echo,
};
use backstory_sources::git::{command::Cancel, graph::CommitGraph};
use backstory_store::{
    graph::Direction,
    lists::{CommitKind, CommitRow, ThreadRow},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    clones::{clone_path, find_git},
    code::CommitSummary,
    error::{Error, ErrorKind, Result},
    records::{commit_record, parse_item},
    releases::{Release, find_release},
    resources::Resources,
    trace::target::{Revision, resolve_place},
    use_case::{UseCase, Weight},
};

/// Most releases of a list.
pub const MAX_RELEASES: usize = 1_000;
/// Most commits that are looked at between two releases.
pub const MAX_COMMITS: usize = 20_000;
/// Most commits that are named.
pub const MAX_NAMED: usize = 1_000;
/// Most commits that are told with their titles.
pub const MAX_TOLD: usize = 50;
/// Rows that are read from the lists at once.
const BATCH: usize = 500;

/// Requests the releases of a project, the latest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListReleases {
    /// Full path of the project.
    pub project: String,
    /// Most of them, at most 1,000; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

impl UseCase for ListReleases {
    const NAME: &'static str = "releases";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Vec<Release>;

    async fn run(self, resources: &Resources) -> Result<Vec<Release>> {
        resources.blocking(move |resources| list_releases(resources, &self)).await
    }
}

/// Requests what shipped between two releases, or first shipped in one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShippedRequest {
    /// Full path of the project; may be absent where there is only one repository.
    pub project: Option<String>,
    /// Tag, branch or commit whose commits do not count; if absent, what no earlier release has counts.
    pub from: Option<String>,
    /// Tag, branch or commit whose commits count.
    pub to: String,
}

impl UseCase for ShippedRequest {
    const NAME: &'static str = "shipped";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Shipped;

    async fn run(self, resources: &Resources) -> Result<Shipped> {
        resources.blocking(move |resources| find_shipped(resources, &self)).await
    }
}

/// What shipped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shipped {
    /// Full path of the project.
    pub project: String,
    /// What does not count.
    pub from: Option<String>,
    /// What counts.
    pub to: String,
    /// How many commits, without merges.
    pub count: u64,
    /// The first 1,000 of these commits, children before their parents.
    pub commits: Vec<NodeId>,
    /// The first 50 of these commits with their titles, without merges.
    #[serde(default)]
    pub told_commits: Vec<CommitSummary>,
    /// The merge requests that introduced them, the last merged first.
    pub merge_requests: Vec<ShippedThread>,
    /// The issues that merge requests and commits close, by number.
    pub issues: Vec<ShippedThread>,
    /// Who wrote the commits, those with most of them first.
    pub contributors: Vec<ShippedContributor>,
    /// What was not read, a sentence each.
    pub missing: Vec<String>,
}

/// An issue or merge request that shipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShippedThread {
    /// Its id.
    pub id: ThreadId,
    /// One-line title.
    pub title: String,
    /// Where it stands.
    pub state: State,
    /// User name of the author; null for a deleted account.
    pub author: Option<String>,
    /// When it was merged or closed.
    pub ended_at: Option<Timestamp>,
}

/// Somebody who wrote commits that shipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShippedContributor {
    /// The person: of several identities the one that they are merged to.
    pub person: NodeId,
    /// How many commits.
    pub commits: u64,
}

/// The commits that shipped, as far as they are looked at.
struct ShippedCommits {
    /// At most [`MAX_COMMITS`], children before their parents.
    rows: Vec<CommitRow>,
    /// Whether there are more.
    has_more: bool,
    /// How many the lists do not have.
    unindexed: usize,
}

/// Lists the releases of a project.
fn list_releases(resources: &Resources, request: &ListReleases) -> Result<Vec<Release>> {
    if request.limit > MAX_RELEASES {
        return Err(Error::invalid(format!("{} releases were asked for; at most {MAX_RELEASES}", request.limit)));
    }
    let ledger = resources.ledger();
    let mut tags: BTreeSet<String> = ledger.keys(&request.project, ItemKind::Tag)?.into_iter().collect();
    tags.extend(ledger.keys(&request.project, ItemKind::Release)?);
    let mut releases = Vec::new();
    for tag in tags {
        releases.extend(find_release(resources, &request.project, &tag)?);
    }
    releases.sort_by(|a, b| (b.at, &b.tag).cmp(&(a.at, &a.tag)));
    releases.truncate(request.limit);
    Ok(releases)
}

/// Finds what shipped.
///
/// # Errors
/// A revision is not known, or a store or the clone cannot be read.
fn find_shipped(resources: &Resources, request: &ShippedRequest) -> Result<Shipped> {
    let project = request.project.as_deref();
    let to = resolve_place(resources, project, Some(&request.to))?;
    let mut shipped = Shipped {
        project: to.project().to_owned(),
        from: request.from.clone(),
        to: request.to.clone(),
        ..Shipped::default()
    };
    let ShippedCommits { rows, has_more, unindexed } = match &request.from {
        Some(from) => {
            let base = resolve_place(resources, Some(to.project()), Some(from))?;
            let mut names = commits_between(resources, &base, &to)?;
            if names.is_empty() {
                shipped.missing.push(explain_emptiness(resources, (from, &base), (&request.to, &to))?);
            }
            let has_more = names.len() > MAX_COMMITS;
            names.truncate(MAX_COMMITS);
            let rows = read_rows(resources, to.project(), &names)?;
            ShippedCommits { has_more, unindexed: names.len() - rows.len(), rows }
        }
        None => newest_of_release(resources, to.project(), &commits_of_release(resources, &to, &request.to)?)?,
    };
    if has_more {
        shipped.missing.push(format!("commits beyond the first {MAX_COMMITS}"));
    }
    if unindexed > 0 {
        shipped.missing.push(format!("{unindexed} commits that are not indexed"));
    }
    let without_merges = || rows.iter().filter(|row| row.kind != CommitKind::Merge);
    shipped.count = without_merges().count() as u64;
    shipped.commits = without_merges().take(MAX_NAMED).map(CommitRow::node_id).collect();
    for row in without_merges().take(MAX_TOLD) {
        let record = commit_record(resources, &row.project, &row.sha)?;
        shipped.told_commits.extend(record.map(|record| CommitSummary::new(&row.project, &record)));
    }
    add_threads(resources, &mut shipped, &rows)?;
    shipped.contributors = count_contributors(resources, &rows)?;
    Ok(shipped)
}

fn commits_between(resources: &Resources, from: &Revision, to: &Revision) -> Result<Vec<String>> {
    let clone = clone_path(resources, to.project());
    let git = find_git(resources)?;
    let found = CommitGraph::between(&git, &clone, from.commit, to.commit, MAX_COMMITS + 1, &Cancel::default())?;
    Ok(found.iter().map(ToString::to_string).collect())
}

/// Says why there are no commits between two revisions, each with its name.
fn explain_emptiness(
    resources: &Resources,
    (from_name, from): (&str, &Revision),
    (to_name, to): (&str, &Revision),
) -> Result<String> {
    let (from_name, to_name) = (truncate_echo(from_name), truncate_echo(to_name));
    if from.commit == to.commit {
        return Ok(format!("{from_name} and {to_name} are the same commit"));
    }
    let is_reversed = !commits_between(resources, to, from)?.is_empty();
    let hint = if is_reversed { format!("; did you mean {to_name}..{from_name}?") } else { String::new() };
    Ok(format!("{to_name} does not follow {from_name}, which has all of its commits{hint}"))
}

/// All commits that a tag is the first release of, by name, at most [`MAX_SHIPPED`](backstory_model::repository::MAX_SHIPPED).
fn commits_of_release(resources: &Resources, to: &Revision, tag: &str) -> Result<Vec<String>> {
    if find_release(resources, to.project(), tag)?.is_none() {
        return Err(Error::new(ErrorKind::Invalid, format!("'{tag}' is not a tag"))
            .with_hint("name two revisions, like v1..v2"));
    }
    let Some(stored) = resources.ledger().item(to.project(), ItemKind::Shipment, tag)? else { return Ok(Vec::new()) };
    match parse_item(resources, &stored)? {
        Item::Repository(RepositoryItem { record: Record::Shipment(shipment), .. }) => {
            Ok(shipment.commits.iter().map(ToString::to_string).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// The newest of the commits of a release, at most [`MAX_COMMITS`], children before their parents, as a corrected date is
/// later than those of the parents. All are read, since a release names them in no order of time.
fn newest_of_release(resources: &Resources, project: &str, names: &[String]) -> Result<ShippedCommits> {
    let (mut rows, mut indexed) = (Vec::new(), 0);
    for batch in names.chunks(BATCH) {
        let read = read_rows(resources, project, batch)?;
        indexed += read.len();
        rows.extend(read);
        if rows.len() >= 2 * MAX_COMMITS {
            keep_newest(&mut rows);
        }
    }
    keep_newest(&mut rows);
    Ok(ShippedCommits { rows, has_more: indexed > MAX_COMMITS, unindexed: names.len() - indexed })
}

fn keep_newest(rows: &mut Vec<CommitRow>) {
    rows.sort_by(|a, b| (b.committed_at, &b.sha).cmp(&(a.committed_at, &a.sha)));
    rows.truncate(MAX_COMMITS);
}

fn read_rows(resources: &Resources, project: &str, names: &[String]) -> Result<Vec<CommitRow>> {
    let lists = resources.ledger().lists();
    let mut rows = Vec::new();
    for batch in names.chunks(BATCH) {
        rows.extend(lists.find_commits(project, batch, resources.visibility())?);
    }
    Ok(rows)
}

/// Adds the merge requests of commits, and the issues that either close.
fn add_threads(resources: &Resources, shipped: &mut Shipped, rows: &[CommitRow]) -> Result<()> {
    let project = shipped.project.clone();
    let numbers: BTreeSet<u64> = rows.iter().filter_map(|row| row.merge_request).collect();
    let requests: Vec<ThreadId> =
        numbers.into_iter().map(|iid| ThreadId::merge_request(project.clone(), iid)).collect();
    let graph = resources.graph();
    let closers = requests.iter().cloned().map(NodeId::from).chain(rows.iter().map(CommitRow::node_id));
    let mut issues = BTreeSet::new();
    for closer in closers {
        for edge in [Edge::Closes, Edge::Fixes] {
            let closed = graph.edges(&closer, Direction::Out, Some(edge))?;
            issues.extend(closed.into_iter().filter_map(|end| match end.other {
                NodeId::Thread(id) if id.kind == ThreadKind::Issue => Some(id),
                _ => None,
            }));
        }
    }
    let issues: Vec<ThreadId> = issues.into_iter().collect();
    shipped.merge_requests = read_threads(resources, &requests)?;
    shipped.merge_requests.sort_by_key(|thread| std::cmp::Reverse(thread.ended_at));
    shipped.issues = read_threads(resources, &issues)?;
    Ok(())
}

fn read_threads(resources: &Resources, ids: &[ThreadId]) -> Result<Vec<ShippedThread>> {
    let lists = resources.ledger().lists();
    let mut threads = Vec::new();
    for batch in ids.chunks(BATCH) {
        let rows = lists.find_threads(batch, resources.visibility())?;
        threads.extend(rows.into_iter().map(|ThreadRow { id, title, state, author, merged_at, closed_at, .. }| {
            ShippedThread { id, title, state, author, ended_at: merged_at.or(closed_at) }
        }));
    }
    Ok(threads)
}

fn count_contributors(resources: &Resources, rows: &[CommitRow]) -> Result<Vec<ShippedContributor>> {
    let lists = resources.ledger().lists();
    let mut of_identities: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.kind != CommitKind::Merge) {
        *of_identities.entry(&row.author).or_default() += 1;
    }
    let mut of_people: BTreeMap<String, u64> = BTreeMap::new();
    for (key, commits) in of_identities {
        let person = lists.person_of(key, resources.visibility())?.unwrap_or_else(|| key.to_owned());
        *of_people.entry(person).or_default() += commits;
    }
    let mut contributors: Vec<ShippedContributor> = of_people
        .into_iter()
        .map(|(person, commits)| ShippedContributor { person: NodeId::person(person), commits })
        .collect();
    // By name already.
    contributors.sort_by_key(|contributor| std::cmp::Reverse(contributor.commits));
    Ok(contributors)
}
