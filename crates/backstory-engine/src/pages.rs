//! Pages, totals and aggregates of lists. Names in a query are checked, and read in any case. A list of a project of which
//! nothing is known is empty; where somebody names projects, [`check_projects`] says that one is not known.

mod absent;

use backstory_model::{commit::Sha, filter::is_same_name, id::NodeId, text::truncate_echo};
use backstory_sources::git::{command::Cancel, graph::CommitGraph};
use backstory_store::{
    index::{self, ProjectScope},
    lists::{
        Activity, CommitGroup, CommitQuery, DiscussionGroup, DiscussionQuery, DurationKind, EntityGroup, EntityQuery,
        FileGroup, FileQuery, GroupDurations, Groups, ListQuery, Named, Page, PageRequest, Period, PersonRow, RowQuery,
        ThreadGroup, ThreadQuery, TimeRange, Total,
    },
};

use crate::{
    catalog::check_project,
    clones::{clone_path, find_git},
    error::{Error, Result},
    read::load_items,
    resources::Resources,
    search::names::{MAX_NAMES, check_name},
    trace::target::resolve_place,
};

pub(crate) use absent::absent_names;

/// Longest path, or name of an entity, of a query, in bytes.
const MAX_TEXT: usize = 4 << 10;
/// Most commits of a range of revisions.
const MAX_RANGE: usize = 20_000;

/// Returns a page of a list.
///
/// # Errors
/// A name is too long, or a store cannot be read.
pub(crate) async fn list_rows<Q: RowQuery>(
    resources: &Resources,
    query: Q,
    request: PageRequest,
) -> Result<Page<Q::Row>> {
    let query = checked(resources, query).await?;
    resources.with_lists(move |lists, visibility| query.page(lists, &request, visibility)).await
}

/// Counts the rows of a list.
///
/// # Errors
/// A name is too long, or a store cannot be read.
pub(crate) async fn count_rows(resources: &Resources, query: ListQuery) -> Result<Total> {
    match query {
        ListQuery::Threads(query) => total(resources, *query).await,
        ListQuery::Discussions(query) => total(resources, *query).await,
        ListQuery::Commits(query) => total(resources, *query).await,
        ListQuery::Files(query) => total(resources, *query).await,
        ListQuery::Entities(query) => total(resources, *query).await,
        ListQuery::Refs(query) => total(resources, *query).await,
        ListQuery::Labels(query) => total(resources, *query).await,
        ListQuery::Milestones(query) => total(resources, *query).await,
        ListQuery::Projects(query) => total(resources, *query).await,
        ListQuery::People(query) => total(resources, *query).await,
    }
}

async fn total<Q: RowQuery>(resources: &Resources, query: Q) -> Result<Total> {
    let query = checked(resources, query).await?;
    resources.with_lists(move |lists, visibility| query.total(lists, visibility)).await
}

/// Groups issues or merge requests.
pub(crate) async fn group_threads(resources: &Resources, query: ThreadQuery, by: ThreadGroup) -> Result<Groups> {
    let query = checked(resources, query).await?;
    resources.with_lists(move |lists, visibility| lists.group_threads(&query, by, visibility)).await
}

/// Measures how long issues or merge requests took until something happened: of all of them, or by group.
pub(crate) async fn measure_durations(
    resources: &Resources,
    query: ThreadQuery,
    kind: DurationKind,
    by: Option<ThreadGroup>,
) -> Result<GroupDurations> {
    let query = checked(resources, query).await?;
    resources.with_lists(move |lists, visibility| lists.measure_durations(&query, kind, by, visibility)).await
}

/// Groups discussions.
pub(crate) async fn group_discussions(
    resources: &Resources,
    query: DiscussionQuery,
    by: DiscussionGroup,
) -> Result<Groups> {
    let query = checked(resources, query).await?;
    resources.with_lists(move |lists, visibility| lists.group_discussions(&query, by, visibility)).await
}

/// Groups commits.
pub(crate) async fn group_commits(resources: &Resources, query: CommitQuery, by: CommitGroup) -> Result<Groups> {
    let query = checked(resources, query).await?;
    resources.with_lists(move |lists, visibility| lists.group_commits(&query, by, visibility)).await
}

/// Groups files.
pub(crate) async fn group_files(resources: &Resources, query: FileQuery, by: FileGroup) -> Result<Groups> {
    let query = checked(resources, query).await?;
    resources.with_lists(move |lists, visibility| lists.group_files(&query, by, visibility)).await
}

/// Groups code entities.
pub(crate) async fn group_entities(resources: &Resources, query: EntityQuery, by: EntityGroup) -> Result<Groups> {
    let query = checked(resources, query).await?;
    resources.with_lists(move |lists, visibility| lists.group_entities(&query, by, visibility)).await
}

/// Returns what happened in projects, or in all, in each period of a time.
pub(crate) async fn activity(
    resources: &Resources,
    projects: Vec<String>,
    period: Period,
    time: TimeRange,
) -> Result<Vec<Activity>> {
    check_count(&projects, "projects")?;
    resources.with_lists(move |lists, visibility| lists.activity(&projects, period, time, visibility)).await
}

/// Finds whom a user name, an address or a name that nobody else has means, in any case.
///
/// # Errors
/// A store cannot be read.
pub(crate) async fn find_person(resources: &Resources, name: String) -> Result<Option<String>> {
    // Nobody has a name that no filter may have.
    if check_name(&name).is_err() {
        return Ok(None);
    }
    resources.with_lists(move |lists, visibility| lists.resolve_person(&name, visibility)).await
}

/// Finds a person by user name or address, in any case, with what they did in projects, or in all.
///
/// # Errors
/// The name is too long, a project is not known, or a store cannot be read.
pub(crate) async fn find_contributor(
    resources: &Resources,
    name: String,
    projects: Vec<String>,
) -> Result<Option<PersonRow>> {
    check_name(&name)?;
    check_projects(resources, &projects).await?;
    resources.with_lists(move |lists, visibility| lists.person(&name, &projects, visibility)).await
}

/// The names of the commits that a revision of a project's repository reaches, the indexed head if none is given, without
/// those that another one reaches. At most 20,000, indexed or not.
///
/// # Errors
/// A revision is not known, there are more commits, or the clone cannot be read.
pub(crate) async fn commits_in_range(
    resources: &Resources,
    project: String,
    from: Option<String>,
    to: Option<String>,
) -> Result<Vec<String>> {
    let read = move |resources: &Resources| -> Result<Vec<String>> {
        let tip = resolve_place(resources, Some(&project), to.as_deref())?.commit;
        let base = from.map(|from| resolve_place(resources, Some(&project), Some(&from))).transpose()?;
        let (git, clone, cancel) = (find_git(resources)?, clone_path(resources, &project), Cancel::default());
        let most = MAX_RANGE + 1;
        let found: Vec<Sha> = match base {
            Some(base) => CommitGraph::between(&git, &clone, base.commit, tip, most, &cancel)?,
            None => CommitGraph::newest(&git, &clone, &[tip], most, &cancel)?.into_iter().collect(),
        };
        if found.len() > MAX_RANGE {
            let message = format!("the range has more than {MAX_RANGE} commits");
            return Err(Error::invalid(message).with_hint("name revisions that are nearer to each other"));
        }
        Ok(found.iter().map(ToString::to_string).collect())
    };
    resources.blocking(read).await
}

/// A query whose limits are kept, with its names as they are written and its paths as the lists have them.
async fn checked<Q: RowQuery>(resources: &Resources, mut query: Q) -> Result<Q> {
    check_count(query.projects(), "projects")?;
    for texts in query.texts() {
        check_count(texts, "values")?;
        if let Some(long) = texts.iter().find(|text| text.len() > MAX_TEXT) {
            let shown = truncate_echo(long);
            return Err(Error::invalid(format!("'{shown}' in the filter is longer than {MAX_TEXT} bytes")));
        }
    }
    if let Some(paths) = query.paths() {
        normalize_paths(paths);
    }
    let mut has_names = false;
    for (named, names) in query.names() {
        check_count(names, if named == Named::Person { "people" } else { "labels" })?;
        names.iter().try_for_each(|name| check_name(name))?;
        has_names |= !names.is_empty();
    }
    if !has_names {
        return Ok(query);
    }
    resources
        .blocking(move |resources| {
            let own = query.projects().to_vec();
            let projects = if own.len() == 1 { ProjectScope::Only(&own) } else { ProjectScope::All };
            for (named, names) in query.names() {
                for name in names {
                    *name = known_spelling(resources, named, projects, name)?;
                }
            }
            Ok(query)
        })
        .await
}

/// Drops the `/` at the end of the paths of directories, which no row has. The whole repository among them is no condition.
pub(crate) fn normalize_paths(paths: &mut Vec<String>) {
    for path in paths.iter_mut() {
        let plain = path.trim_start_matches("./").trim_end_matches('/');
        *path = if plain == "." { String::new() } else { plain.to_owned() };
    }
    if paths.iter().any(String::is_empty) {
        paths.clear();
    }
}

/// A name as it is written, whatever case it is asked for in; of a person's address, or name that nobody else has, the user
/// name or address that stands for the person.
fn known_spelling(resources: &Resources, named: Named, projects: ProjectScope<'_>, name: &str) -> Result<String> {
    if named == Named::Person {
        let person = resources.ledger().lists().resolve_person(name, resources.visibility())?;
        if let Some(person) = person {
            return Ok(person);
        }
    }
    // The lists compare letters of ASCII in any case themselves.
    if name.is_ascii() {
        return Ok(name.to_owned());
    }
    let what = if named == Named::Person { index::Named::Author } else { index::Named::Label };
    let known = resources.index().known_names(what, projects);
    if known.contains(name) {
        return Ok(name.to_owned());
    }
    let other = known.iter().find(|own| is_same_name(own, name));
    Ok(other.map_or_else(|| name.to_owned(), ToString::to_string))
}

fn check_count(names: &[String], what: &str) -> Result<()> {
    if names.len() > MAX_NAMES {
        let count = names.len();
        return Err(Error::invalid(format!("{count} {what} were given; at most {MAX_NAMES} are allowed")));
    }
    Ok(())
}

/// Refuses projects of which nothing is known.
///
/// # Errors
/// There are too many of them, or one is not known.
pub(crate) async fn check_projects(resources: &Resources, projects: &[String]) -> Result<()> {
    check_count(projects, "projects")?;
    for project in projects {
        // What was read is listed, also of a project that is not configured.
        if load_items(resources, vec![NodeId::Project(project.clone())]).await?.is_empty() {
            check_project(resources, Some(project)).await?;
        }
    }
    Ok(())
}
