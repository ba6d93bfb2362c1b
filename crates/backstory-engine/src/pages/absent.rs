//! What to say of an empty list: which names, milestones and paths in its filter nothing has, and what is nearest to them.

use backstory_model::{filter::Filter, id::ThreadKind, text::truncate_echo};
use backstory_store::lists::{
    CommitQuery, Direction, DiscussionQuery, FileQuery, ListQuery, PageRequest, RowQuery, ThreadFilter, ThreadOrder,
    ThreadQuery,
};

use super::{list_rows, normalize_paths};
use crate::{
    error::{Result, message},
    repository::people::KnownPeople,
    resources::Resources,
    search::{describe_absent_paths, expand_author_names},
};

/// Most names, and most milestones, that are told of.
const MAX_ABSENT: usize = 10;

/// What a filter names.
#[derive(Debug, Default)]
struct Named {
    projects: Vec<String>,
    authors: Vec<String>,
    labels: Vec<String>,
    /// People other than authors.
    people: Vec<String>,
    milestones: Vec<u64>,
    paths: Vec<String>,
}

impl Named {
    fn of(query: ListQuery) -> Self {
        match query {
            ListQuery::Threads(query) => Self::of_threads(query.filter),
            ListQuery::Discussions(query) => Self {
                projects: query.thread.map_or(query.projects, |thread| vec![thread.project]),
                authors: query.authors,
                people: [query.participants, query.mentioned].concat(),
                paths: query.paths,
                ..Self::default()
            },
            ListQuery::Commits(query) => {
                Self { projects: query.projects, authors: query.authors, paths: query.paths, ..Self::default() }
            }
            ListQuery::Files(query) => Self { projects: query.projects, paths: query.paths, ..Self::default() },
            ListQuery::Entities(query) => Self { projects: query.projects, paths: query.paths, ..Self::default() },
            ListQuery::Refs(_)
            | ListQuery::Labels(_)
            | ListQuery::Milestones(_)
            | ListQuery::Projects(_)
            | ListQuery::People(_) => Self::default(),
        }
    }

    /// Whom or what issues or merge requests must not have makes no list empty.
    fn of_threads(filter: ThreadFilter) -> Self {
        let people =
            [filter.assignees, filter.reviewers, filter.approvers, filter.participants, filter.mentioned].concat();
        Self {
            projects: filter.projects,
            authors: filter.authors,
            labels: [filter.any_label, filter.all_labels].concat(),
            people,
            milestones: filter.milestones,
            paths: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        let names = [&self.authors, &self.labels, &self.people, &self.paths];
        names.iter().all(|names| names.is_empty()) && self.milestones.is_empty()
    }
}

/// Says of the people, labels, milestones and paths in the filter of an empty list that nothing has which ones are nearest,
/// as a search does. A list that is not known to be empty is looked at.
///
/// # Errors
/// A name is too long, or a store failed.
pub(crate) async fn absent_names<Q: RowQuery>(
    resources: &Resources,
    query: Q,
    is_known_empty: bool,
) -> Result<Vec<String>> {
    let mut named = Named::of(query.clone().into());
    normalize_paths(&mut named.paths);
    if named.is_empty() {
        return Ok(Vec::new());
    }
    if !is_known_empty {
        let one = PageRequest { first: 1, ..PageRequest::default() };
        if !list_rows(resources, query, one).await?.rows.is_empty() {
            return Ok(Vec::new());
        }
    }
    let mut filter = Filter {
        authors: named.authors.clone(),
        labels: named.labels.clone(),
        projects: named.projects.clone(),
        ..Filter::default()
    };
    let mut told = expand_author_names(resources, &mut filter).await?;
    told.extend(resources.blocking(move |resources| describe(resources, &named)).await?);
    Ok(told)
}

/// What to say of people other than authors, of milestones and of paths.
fn describe(resources: &Resources, named: &Named) -> Result<Vec<String>> {
    let mut told = describe_people(resources, &named.people)?;
    for milestone in named.milestones.iter().take(MAX_ABSENT) {
        let (projects, milestones) = (named.projects.clone(), vec![*milestone]);
        if !has_thread(resources, &ThreadFilter { projects, milestones, ..ThreadFilter::default() })? {
            told.push(format!("nothing is in a milestone with the number {milestone}"));
        }
    }
    let mut absent: Vec<&str> = Vec::new();
    for path in &named.paths {
        if !has_path(resources, &named.projects, path)? {
            absent.push(path);
        }
    }
    told.extend(describe_absent_paths(&resources.index(), &named.projects, &absent));
    Ok(told)
}

/// What to say of people of whom nothing is known.
fn describe_people(resources: &Resources, names: &[String]) -> Result<Vec<String>> {
    let (mut told, mut everybody) = (Vec::new(), None);
    for name in names.iter().map(|name| name.strip_prefix('@').unwrap_or(name)) {
        if told.len() == MAX_ABSENT || is_in_thread(resources, name)? {
            continue;
        }
        if everybody.is_none() {
            everybody = Some(KnownPeople::load(resources, &[])?);
        }
        let Some(everybody) = &everybody else { continue };
        if everybody.people_called(name).is_empty() {
            let nearest = everybody.nearest_to(name);
            let nearest = nearest.map(|name| format!("; the nearest name is '{}'", truncate_echo(name)));
            let what = format!("nobody is known as '{}'{}", truncate_echo(name), nearest.unwrap_or_default());
            told.push(message(&what));
        }
    }
    Ok(told)
}

/// Whether an issue or merge request names somebody; also those of whom nothing else is known.
fn is_in_thread(resources: &Resources, name: &str) -> Result<bool> {
    let name = || vec![name.to_owned()];
    for filter in [
        ThreadFilter { assignees: name(), ..ThreadFilter::default() },
        ThreadFilter { reviewers: name(), ..ThreadFilter::default() },
        ThreadFilter { approvers: name(), ..ThreadFilter::default() },
        ThreadFilter { participants: name(), ..ThreadFilter::default() },
        ThreadFilter { mentioned: name(), ..ThreadFilter::default() },
    ] {
        if has_thread(resources, &filter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_thread(resources: &Resources, filter: &ThreadFilter) -> Result<bool> {
    for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
        let (order, direction) = (ThreadOrder::Updated, Direction::Descending);
        let query = ThreadQuery { kind, filter: filter.clone(), order, direction };
        if has_row(resources, &query)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether there is a file at or below a path, or was one that commits changed or that discussions are on.
fn has_path(resources: &Resources, projects: &[String], path: &str) -> Result<bool> {
    let (projects, paths) = (projects.to_vec(), vec![path.to_owned()]);
    let files = FileQuery { projects: projects.clone(), paths: paths.clone(), ..FileQuery::default() };
    let commits = CommitQuery { projects: projects.clone(), paths: paths.clone(), ..CommitQuery::default() };
    let discussions = DiscussionQuery { projects, paths, ..DiscussionQuery::default() };
    Ok(has_row(resources, &files)? || has_row(resources, &commits)? || has_row(resources, &discussions)?)
}

fn has_row<Q: RowQuery>(resources: &Resources, query: &Q) -> Result<bool> {
    let one = PageRequest { first: 1, ..PageRequest::default() };
    Ok(!query.page(&resources.ledger().lists(), &one, resources.visibility())?.rows.is_empty())
}
