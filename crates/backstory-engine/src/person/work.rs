//! What somebody did in a time: counts by month, where they worked, and the newest of it.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    filter::is_same_name,
    id::{ThreadId, ThreadKind},
    visibility::Visibility,
};
use backstory_store::{
    ledger::LedgerError,
    lists::{
        self, CommitKind, CommitQuery, CommitRow, DiscussionQuery, DiscussionRow, Lists, Page, PageRequest, Period,
        ThreadFilter, ThreadOrder, ThreadQuery, ThreadRow, TimeRange,
    },
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::{Area, Month, PersonRequest, StartedDiscussion, Work, WorkCounts, waiting::summaries};
use crate::{code::CommitSummary, error::Result, records::commit_record, resources::Resources};

/// Most entries of a kind that are counted.
const MAX_COUNTED: usize = 10_000;
/// Most directories that are told.
const MAX_AREAS: usize = 20;
/// Deepest directories that are told apart.
const AREA_DEPTH: usize = 2;

/// Where the counts of a month have a number.
type Place = fn(&mut WorkCounts) -> &mut u64;

/// A merge request that somebody reviewed or was asked to review, and when they did.
struct Review {
    row: ThreadRow,
    at: Timestamp,
}

/// What the person of a request did.
pub(super) async fn read_work(resources: &Resources, request: &PersonRequest) -> Result<Work> {
    let time = TimeRange { from: request.after, to: request.before };
    let issues = opened(resources, request, ThreadKind::Issue, time).await?;
    let requests = opened(resources, request, ThreadKind::MergeRequest, time).await?;
    let (reviews, has_all_reviews) = reviewed(resources, request, time).await?;
    let discussions = discussions(resources, request, time).await?;
    let commits = commits(resources, request, time).await?;
    let mut months: BTreeMap<Date, WorkCounts> = BTreeMap::new();
    let mut count = |times: Vec<Timestamp>, place: Place| {
        for at in times {
            let start = Period::Month.start(at.to_zoned(TimeZone::UTC).date());
            *place(months.entry(start).or_default()) += 1;
        }
    };
    count(issues.iter().map(|row| row.created_at).collect(), |of| &mut of.issues);
    count(requests.iter().map(|row| row.created_at).collect(), |of| &mut of.merge_requests);
    count(reviews.iter().map(|review| review.at).collect(), |of| &mut of.reviews);
    count(discussions.iter().map(|row| row.created_at).collect(), |of| &mut of.discussions);
    count(commits.iter().map(|row| row.committed_at).collect(), |of| &mut of.commits);
    let read = [issues.len(), requests.len(), discussions.len(), commits.len()];
    let is_complete = has_all_reviews && read.iter().all(|read| *read < MAX_COUNTED);
    let areas = areas(&commits);
    let mut opened: Vec<ThreadRow> = issues.into_iter().chain(requests).collect();
    opened.sort_by_key(|row| std::cmp::Reverse(row.created_at));
    let newest = |rows: Vec<ThreadRow>| rows.into_iter().take(request.limit).map(|row| row.id).collect();
    Ok(Work {
        months: months.into_iter().rev().map(|(start, counts)| Month { start, counts }).collect(),
        areas,
        opened: summaries(resources, newest(opened)).await?,
        reviewed: summaries(resources, newest(reviews.into_iter().map(|review| review.row).collect())).await?,
        discussions: discussions.into_iter().take(request.limit).map(StartedDiscussion::from).collect(),
        commits: newest_commits(resources, commits, request.limit).await?,
        is_complete,
    })
}

impl From<DiscussionRow> for StartedDiscussion {
    fn from(row: DiscussionRow) -> Self {
        Self {
            id: row.node_id(),
            created_at: row.created_at,
            last_note_at: row.last_note_at,
            notes: row.notes,
            resolved: row.resolvable.then_some(row.resolved),
            path: row.path,
            thread: row.thread,
        }
    }
}

async fn opened(
    resources: &Resources,
    request: &PersonRequest,
    kind: ThreadKind,
    created: TimeRange,
) -> Result<Vec<ThreadRow>> {
    let filter = ThreadFilter {
        projects: request.projects.clone(),
        authors: vec![request.name.clone()],
        created,
        ..ThreadFilter::default()
    };
    threads(resources, ThreadQuery { kind, filter, order: ThreadOrder::Created, ..merge_requests() }).await
}

/// Merge requests that the person reviewed in that time, or was asked to review, and whether all were read. A review is given
/// with their first note; of an approval and of who was only asked no time is known, so it is that of the opening.
async fn reviewed(resources: &Resources, request: &PersonRequest, time: TimeRange) -> Result<(Vec<Review>, bool)> {
    let filter = ThreadFilter {
        projects: request.projects.clone(),
        reviewers: vec![request.name.clone()],
        created: TimeRange { from: None, ..time },
        updated: TimeRange { to: None, ..time },
        ..ThreadFilter::default()
    };
    let rows = threads(resources, ThreadQuery { filter, ..merge_requests() }).await?;
    let query = DiscussionQuery {
        projects: request.projects.clone(),
        participants: vec![request.name.clone()],
        ..DiscussionQuery::default()
    };
    let discussions = all_rows(resources, query, Lists::discussions).await?;
    let is_complete = rows.len() < MAX_COUNTED && discussions.len() < MAX_COUNTED;
    let given = first_notes(discussions, &request.name);
    let reviews = rows.into_iter().map(|row| Review { at: given.get(&row.id).copied().unwrap_or(row.created_at), row });
    Ok((reviews.filter(|review| time.contains(review.at)).collect(), is_complete))
}

/// When somebody wrote their first note on each merge request.
fn first_notes(discussions: Vec<DiscussionRow>, name: &str) -> BTreeMap<ThreadId, Timestamp> {
    let mut first = BTreeMap::new();
    for discussion in discussions {
        let is_own = |writer: &Option<String>| writer.as_ref().is_some_and(|writer| is_same_name(writer, name));
        let own = discussion.first_notes.iter().filter(|(writer, _)| is_own(writer));
        if let Some(at) = own.map(|(_, at)| *at).min() {
            let known = first.entry(discussion.thread).or_insert(at);
            *known = at.min(*known);
        }
    }
    first
}

fn merge_requests() -> ThreadQuery {
    ThreadQuery {
        kind: ThreadKind::MergeRequest,
        filter: ThreadFilter::default(),
        order: ThreadOrder::Updated,
        direction: lists::Direction::Descending,
    }
}

async fn threads(resources: &Resources, query: ThreadQuery) -> Result<Vec<ThreadRow>> {
    all_rows(resources, query, Lists::threads).await
}

async fn discussions(resources: &Resources, request: &PersonRequest, created: TimeRange) -> Result<Vec<DiscussionRow>> {
    let query = DiscussionQuery {
        projects: request.projects.clone(),
        authors: vec![request.name.clone()],
        created,
        ..DiscussionQuery::default()
    };
    all_rows(resources, query, Lists::discussions).await
}

async fn commits(resources: &Resources, request: &PersonRequest, committed: TimeRange) -> Result<Vec<CommitRow>> {
    let query = CommitQuery {
        projects: request.projects.clone(),
        kinds: vec![CommitKind::Commit],
        authors: vec![request.name.clone()],
        committed,
        ..CommitQuery::default()
    };
    all_rows(resources, query, Lists::commits).await
}

/// Reads a page of a list.
type ReadPage<Q, R> = fn(&Lists, &Q, &PageRequest, &Visibility) -> std::result::Result<Page<R>, LedgerError>;

/// The rows of a list, page by page, until there are [`MAX_COUNTED`].
async fn all_rows<Q, R>(resources: &Resources, query: Q, read: ReadPage<Q, R>) -> Result<Vec<R>>
where
    Q: Clone + Send + 'static,
    R: Send + 'static,
{
    let mut rows = Vec::new();
    let mut page = PageRequest { first: lists::MAX_PAGE, after: None, ..PageRequest::default() };
    loop {
        let (own, at) = (query.clone(), page.clone());
        let found = resources.with_lists(move |lists, visibility| read(lists, &own, &at, visibility)).await?;
        rows.extend(found.rows);
        page.after = found.next;
        if page.after.is_none() || rows.len() >= MAX_COUNTED {
            return Ok(rows);
        }
    }
}

/// The directories that commits changed, those with most commits first.
fn areas(commits: &[CommitRow]) -> Vec<Area> {
    let mut counts: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for commit in commits {
        let directories: BTreeSet<String> = commit.paths.iter().map(|path| directory_of(path)).collect();
        for directory in directories {
            *counts.entry((&commit.project, directory)).or_default() += 1;
        }
    }
    let area = |((project, path), commits): ((&str, String), u64)| Area { project: project.to_owned(), path, commits };
    let mut areas: Vec<Area> = counts.into_iter().map(area).collect();
    areas.sort_by(|a, b| b.commits.cmp(&a.commits).then_with(|| (&a.project, &a.path).cmp(&(&b.project, &b.path))));
    areas.truncate(MAX_AREAS);
    areas
}

/// The first directories that a file is in; empty for one in the root.
fn directory_of(path: &str) -> String {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    directory.split('/').take(AREA_DEPTH).collect::<Vec<_>>().join("/")
}

async fn newest_commits(resources: &Resources, rows: Vec<CommitRow>, limit: usize) -> Result<Vec<CommitSummary>> {
    resources
        .blocking(move |resources| {
            let mut commits = Vec::new();
            for row in rows.into_iter().take(limit) {
                let Some(record) = commit_record(resources, &row.project, &row.sha)? else { continue };
                commits.push(CommitSummary::new(&row.project, &record));
            }
            Ok(commits)
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_their_first_directories() {
        assert_eq!(directory_of("README.md"), "");
        assert_eq!(directory_of("src/main.rs"), "src");
        assert_eq!(directory_of("crates/engine/src/lib.rs"), "crates/engine");
    }
}
