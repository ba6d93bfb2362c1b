//! A person: what waits for them, and their work over time.
//!
//! `waiting` finds what somebody should look at; `work` counts and lists what they did. A setting switches both off.

mod waiting;
mod work;

use backstory_model::id::{NodeId, ThreadId};
use backstory_store::lists::PersonRow;
use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};
use serde::{Deserialize, Serialize};

use crate::{
    code::CommitSummary,
    error::{Error, ErrorKind, Result},
    repository::people::KnownPeople,
    resources::Resources,
    search::names::check_name,
    threads::ThreadSummary,
    use_case::{UseCase, Weight},
};

/// Most entries of each list of an answer.
pub const MAX_LISTED: usize = 100;
/// Entries of each list unless the request says how many.
pub const DEFAULT_LISTED: usize = 10;
/// After how many days without a change something is stale unless the request says so.
pub const DEFAULT_STALE_DAYS: u32 = 30;
/// Most days after which something is stale.
pub const MAX_STALE_DAYS: u32 = 3650;
/// How far back work is counted unless the request says so, in days.
pub const DEFAULT_WORK_DAYS: i64 = 365;

/// Requests what waits for a person and what they did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PersonRequest {
    /// User name, with or without `@`, an e-mail address of commits, or a name that nobody else has; in any case. A part
    /// of a name or address that stands for nobody else will do.
    pub name: String,
    /// Full paths of projects; empty for all.
    #[serde(default)]
    pub projects: Vec<String>,
    /// From when on work is counted; a year before its end if absent.
    #[serde(default, deserialize_with = "backstory_model::time::read_instant")]
    pub after: Option<Timestamp>,
    /// Until when work is counted; now if absent.
    #[serde(default, deserialize_with = "backstory_model::time::read_instant")]
    pub before: Option<Timestamp>,
    /// After how many days without a change something is stale, at most 3,650.
    #[serde(default = "default_stale_days")]
    pub stale_days: u32,
    /// Most entries of each list, at most 100.
    #[serde(default = "default_listed")]
    pub limit: usize,
}

fn default_stale_days() -> u32 {
    DEFAULT_STALE_DAYS
}

fn default_listed() -> usize {
    DEFAULT_LISTED
}

/// A person: what waits for them, and what they did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PersonDetails {
    /// User name, or the address of somebody whom only commits know.
    pub person: String,
    /// Names that they are known by, sorted.
    pub names: Vec<String>,
    /// Addresses of their commits, sorted.
    pub identities: Vec<String>,
    /// What they did from `after` to `before`; in all if the request names neither.
    pub totals: WorkCounts,
    /// What waits for them now.
    pub waiting: Waiting,
    /// What they did in the time that was asked for.
    pub work: Work,
}

/// How much somebody did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkCounts {
    /// Issues that they opened.
    pub issues: u64,
    /// Merge requests that they opened.
    pub merge_requests: u64,
    /// Merge requests that they reviewed or were asked to review.
    pub reviews: u64,
    /// Discussions that they started.
    pub discussions: u64,
    /// Commits that they wrote, without merges.
    pub commits: u64,
}

impl WorkCounts {
    /// What was done in all of some months.
    fn of_months(months: &[Month]) -> Self {
        let mut sum = Self::default();
        for Month { counts, .. } in months {
            sum.issues += counts.issues;
            sum.merge_requests += counts.merge_requests;
            sum.reviews += counts.reviews;
            sum.discussions += counts.discussions;
            sum.commits += counts.commits;
        }
        sum
    }
}

/// What waits for somebody. Each list has the last changed first, but for `stale`, which has it last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waiting {
    /// Open issues and merge requests that are assigned to them.
    pub assigned: Vec<ThreadSummary>,
    /// Open merge requests that wait for their review: they were asked, did not approve, and did not write last.
    pub to_review: Vec<ThreadSummary>,
    /// Open issues and merge requests in which they are mentioned and have not written since.
    pub mentioned: Vec<WaitingNote>,
    /// Answers by others since they wrote last: in open issues and merge requests of theirs, and in unresolved discussions
    /// that they started elsewhere.
    pub replies: Vec<WaitingNote>,
    /// Open issues and merge requests of theirs, or assigned to them, that have not changed for long.
    pub stale: Vec<ThreadSummary>,
}

/// What somebody wrote that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingNote {
    /// The issue or merge request.
    pub thread: ThreadId,
    /// Its title.
    pub title: String,
    /// The newest note in question; the issue or merge request itself if its description is meant.
    pub id: NodeId,
    /// User name of who wrote it; null for a deleted account.
    pub author: Option<String>,
    /// When.
    pub at: Timestamp,
    /// The beginning of what it says itself, or quotes if it says nothing else, on one line.
    pub text: String,
    /// Address for people.
    pub url: String,
    /// How many notes there are since the person wrote last.
    pub notes: usize,
}

/// What somebody did in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Work {
    /// How much in each month in which there was something, the newest first.
    pub months: Vec<Month>,
    /// Directories that their commits changed, those with most commits first.
    pub areas: Vec<Area>,
    /// Issues and merge requests that they opened, the newest first.
    pub opened: Vec<ThreadSummary>,
    /// Merge requests that they reviewed or were asked to review, the last changed first.
    pub reviewed: Vec<ThreadSummary>,
    /// Discussions that they started, the last changed first.
    pub discussions: Vec<StartedDiscussion>,
    /// Commits that they wrote, the newest first.
    pub commits: Vec<CommitSummary>,
    /// Whether all of their work was counted: up to so many entries are.
    pub is_complete: bool,
}

/// What somebody did in a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Month {
    /// Its first day.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub start: Date,
    /// What they did.
    pub counts: WorkCounts,
}

/// A directory in which somebody worked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Area {
    /// Full path of the project.
    pub project: String,
    /// Its path; empty for the root.
    pub path: String,
    /// How many of their commits changed something in it.
    pub commits: u64,
}

/// A discussion that somebody started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartedDiscussion {
    /// Its id.
    pub id: NodeId,
    /// The issue or merge request that it belongs to.
    pub thread: ThreadId,
    /// When it was started.
    pub created_at: Timestamp,
    /// When its last note was written.
    pub last_note_at: Timestamp,
    /// Its notes.
    pub notes: u64,
    /// Whether it is resolved; null if it cannot be.
    pub resolved: Option<bool>,
    /// The file that it is about.
    pub path: Option<String>,
}

impl UseCase for PersonRequest {
    const NAME: &'static str = "person";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = PersonDetails;

    async fn run(self, resources: &Resources) -> Result<PersonDetails> {
        person_details(resources, self).await
    }
}

/// Who is known by a user name, an address of commits, or a name or a part of one that stands for nobody else.
async fn find_person(resources: &Resources, request: &PersonRequest) -> Result<PersonRow> {
    let (name, projects) = (request.name.clone(), request.projects.clone());
    let row = resources.with_lists(move |lists, visibility| lists.person_in(&name, &projects, visibility)).await?;
    if let Some(row) = row {
        return Ok(row);
    }
    let (name, projects) = (request.name.clone(), request.projects.clone());
    let everybody = resources.blocking(move |resources| KnownPeople::load(resources, &projects)).await?;
    let meant = everybody.people_meant(&name);
    let projects = request.projects.clone();
    let rows = resources.with_lists(move |lists, visibility| {
        meant
            .iter()
            .map(|person| lists.person_in(person, &projects, visibility))
            .collect::<std::result::Result<Vec<_>, _>>()
    });
    let mut rows: Vec<PersonRow> = rows.await?.into_iter().flatten().collect();
    // Somebody may be meant by a user name and by an address.
    rows.sort_by(|a, b| a.person.cmp(&b.person));
    rows.dedup_by(|a, b| a.person == b.person);
    if rows.len() == 1 {
        return Ok(rows.remove(0));
    }
    let found: Vec<String> = rows.into_iter().map(|row| row.person).collect();
    Err(everybody.unclear_error(&name, &found))
}

/// Returns what waits for a person and what they did.
///
/// # Errors
/// It is switched off, the request makes no sense, nobody has that name, or a store failed.
async fn person_details(resources: &Resources, request: PersonRequest) -> Result<PersonDetails> {
    if !resources.settings().people.tracking {
        return Err(Error::new(ErrorKind::Unavailable, "what single people do is not shown by this server")
            .with_hint("'tracking = true' under [people] permits it"));
    }
    let names_time = request.after.is_some() || request.before.is_some();
    let request = check(request)?;
    for project in &request.projects {
        crate::catalog::check_project(resources, Some(project)).await?;
    }
    let row = find_person(resources, &request).await?;
    let request = PersonRequest { name: row.person.clone(), ..request };
    let work = work::read_work(resources, &request).await?;
    let in_all = WorkCounts {
        issues: row.issues,
        merge_requests: row.merge_requests,
        reviews: row.reviews,
        discussions: row.discussions,
        commits: row.commits,
    };
    Ok(PersonDetails {
        totals: if names_time { WorkCounts::of_months(&work.months) } else { in_all },
        waiting: waiting::find_waiting(resources, &request).await?,
        work,
        person: row.person,
        names: row.names,
        identities: row.identities,
    })
}

fn check(mut request: PersonRequest) -> Result<PersonRequest> {
    request.name = request.name.trim().trim_start_matches('@').to_owned();
    if request.name.is_empty() {
        return Err(Error::invalid("the name is empty").with_hint("write a user name, like @johndoe"));
    }
    check_name(&request.name)?;
    if request.limit > MAX_LISTED {
        return Err(Error::invalid(format!(
            "{} entries were asked for; at most {MAX_LISTED} are listed",
            request.limit
        )));
    }
    if request.stale_days > MAX_STALE_DAYS {
        let message = format!("stale_days is {}; it must be 0 to {MAX_STALE_DAYS}", request.stale_days);
        return Err(Error::invalid(message));
    }
    let end = request.before.unwrap_or_else(Timestamp::now);
    let after = *request.after.get_or_insert_with(|| days_before(end, DEFAULT_WORK_DAYS));
    match request.before {
        Some(before) if after >= before => {
            Err(Error::invalid(format!("no time is both after {after} and before {before}")))
        }
        _ => Ok(request),
    }
}

/// A time so many days ago.
fn days_ago(days: i64) -> Timestamp {
    days_before(Timestamp::now(), days)
}

/// A time so many days before another.
fn days_before(end: Timestamp, days: i64) -> Timestamp {
    let start = end.to_zoned(TimeZone::UTC).checked_sub(days.days());
    start.map_or(Timestamp::UNIX_EPOCH, |at| at.timestamp())
}
