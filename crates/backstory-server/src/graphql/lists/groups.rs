//! Aggregates of lists: how many items have each value, how many there were in each period, and how long they took.

use async_graphql::{Context, Enum, Result, SimpleObject};
use backstory_engine::{
    lists::{
        self, CommitGroup, CommitQuery, DiscussionGroup, DiscussionQuery, DurationKind, EntityGroup, EntityQuery,
        FileGroup, FileQuery, GroupDurations, ThreadGroup, ThreadQuery, TimeRange,
    },
    model::id::{NodeId, ThreadKind},
};
use jiff::{civil::Date, tz::TimeZone};

use super::{
    super::{
        loaders,
        names::{ChangeType, DocumentType, EntityKind, State},
        node::Node,
        page::{self, DEFAULT_PAGE},
        scalar::DateTime,
        words::name_of,
    },
    DateRange, range,
};

/// How long a period is, in UTC.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::Period")]
pub(crate) enum Period {
    /// A day from midnight on, in UTC.
    Day,
    /// A week from Monday on.
    Week,
    /// A month of the calendar.
    Month,
    /// A year of the calendar.
    Year,
}

/// The values that the items of a list have.
#[derive(SimpleObject)]
pub(crate) struct Groups {
    /// The values, the most frequent first; at most as many as were asked for.
    groups: Vec<Group>,
    /// Whether all items of the list were counted and all values are in `groups`.
    complete: bool,
}

/// A value and how many items of a list have it.
#[derive(SimpleObject)]
pub(crate) struct Group {
    /// The value as text: the name of a value of `State`, `ChangeType`, `DocumentType` or `EntityKind`, a user name, a label,
    /// the number of a milestone, the full path of a project, a language.
    value: String,
    /// How many items of the list have the value.
    count: u64,
    /// The person, label, milestone or project that the value names; null if it names none, and for a label unless the
    /// list is of one project.
    node: Option<Node>,
    #[graphql(flatten)]
    durations: DurationFields,
}

/// How the items of a list are distributed over time.
#[derive(SimpleObject)]
pub(crate) struct ListActivity {
    /// The periods, oldest first. If the filter of the list bounds the time that counts at both ends, these are all
    /// periods that this range touches, including empty ones. Otherwise, or if those are more than 1,000, they run from
    /// the first period with items to the last: the newest 1,000 with items, and the empty ones between them. If that
    /// makes more than 1,000, the longest gaps are left out.
    periods: Vec<PeriodCount>,
    /// Whether all items of the list were counted and all periods with items are in `periods`.
    complete: bool,
}

/// How many items of a list were in a period.
#[derive(SimpleObject)]
pub(crate) struct PeriodCount {
    /// Beginning of the period.
    start: DateTime,
    /// How many items were in the period.
    count: u64,
    #[graphql(flatten)]
    durations: DurationFields,
}

/// How long several items took, in whole seconds, rounded down.
#[derive(SimpleObject)]
pub(crate) struct Durations {
    /// How many of the items were merged, closed or reviewed: the durations are theirs.
    count: u64,
    /// Middle duration, or the mean of the middle two; null if there are none.
    median: Option<u64>,
    /// Duration that nine of ten did not exceed, interpolated between the two nearest; null if there are none.
    p90: Option<u64>,
    /// Mean of the durations; null if there are none.
    mean: Option<u64>,
    /// Whether all merged, closed or reviewed items of the list were looked at: up to 100,000, where one in several groups
    /// counts once for each of them.
    complete: bool,
}

impl Durations {
    /// Those of a group.
    fn of_group(measured: &GroupDurations, group: &str) -> Self {
        let found = measured.groups.get(group).copied().unwrap_or_default();
        let lists::Durations { count, median, p90, mean } = found;
        Self { count, median, p90, mean, complete: measured.is_complete }
    }
}

/// What groups and periods have of how long their items took.
#[derive(Default, SimpleObject)]
struct DurationFields {
    /// How long the counted items took from when they were opened until they were merged; null unless the list is of merge
    /// requests.
    time_to_merge: Option<Durations>,
    /// How long the counted items took from when they were opened until their first review; null unless the list is of merge
    /// requests. Those that nobody has reviewed are not in it.
    time_to_first_review: Option<Durations>,
    /// How long the counted items took from when they were opened until they were closed; null unless the list is of issues.
    time_to_close: Option<Durations>,
}

/// How long the items of a list took, by group: the durations that an operation asks for.
#[derive(Default)]
struct MeasuredGroups {
    to_merge: Option<GroupDurations>,
    to_first_review: Option<GroupDurations>,
    to_close: Option<GroupDurations>,
}

impl MeasuredGroups {
    /// The durations of a group.
    fn fields(&self, group: &str) -> DurationFields {
        let durations = |measured: Option<&GroupDurations>| Some(Durations::of_group(measured?, group));
        DurationFields {
            time_to_merge: durations(self.to_merge.as_ref()),
            time_to_first_review: durations(self.to_first_review.as_ref()),
            time_to_close: durations(self.to_close.as_ref()),
        }
    }
}

/// What happened in a period.
#[derive(SimpleObject)]
pub(crate) struct Activity {
    /// Beginning of the period.
    start: DateTime,
    /// How many issues were opened.
    issues_opened: u64,
    /// How many issues were closed.
    issues_closed: u64,
    /// How many merge requests were opened.
    merge_requests_opened: u64,
    /// How many merge requests were merged.
    merge_requests_merged: u64,
    /// How many discussions were started.
    discussions_started: u64,
    /// How many commits were made, without merges.
    commits_made: u64,
}

impl From<lists::Activity> for Activity {
    fn from(of: lists::Activity) -> Self {
        Self {
            start: start_of(of.start),
            issues_opened: of.issues_opened,
            issues_closed: of.issues_closed,
            merge_requests_opened: of.merge_requests_opened,
            merge_requests_merged: of.merge_requests_merged,
            discussions_started: of.discussions,
            commits_made: of.commits,
        }
    }
}

/// What the values of groups are.
pub(super) enum Grouped {
    /// A value of its own.
    Value,
    /// States of issues and merge requests.
    States,
    /// Sorts of changes.
    ChangeTypes,
    /// What files are for.
    DocumentTypes,
    /// Kinds of code entities.
    EntityKinds,
    /// Keys of people.
    People,
    /// Names of labels of a project.
    Labels(String),
    /// Numbers of milestones of a project.
    Milestones(String),
    /// Full paths of projects.
    Projects,
}

impl Grouped {
    /// Labels, which are nodes only within one project.
    pub(super) fn labels(project: Option<&String>) -> Self {
        project.map_or(Self::Value, |project| Self::Labels(project.clone()))
    }

    /// Milestones.
    ///
    /// # Errors
    /// The list is not of one project, so their numbers mean nothing.
    pub(super) fn milestones(project: Option<&String>) -> Result<Self> {
        let message = "milestones have numbers within a project; restrict the list to one project to group by them";
        Ok(Self::Milestones(project.cloned().ok_or_else(|| page::invalid(message))?))
    }

    fn node(&self, value: &str) -> Option<Node> {
        Some(Node::from(match self {
            Self::Value | Self::States | Self::ChangeTypes | Self::DocumentTypes | Self::EntityKinds => return None,
            Self::People => NodeId::person(value),
            Self::Projects => NodeId::Project(value.to_owned()),
            Self::Labels(project) => NodeId::Label { project: project.clone(), name: value.to_owned() },
            Self::Milestones(project) => NodeId::Milestone { project: project.clone(), iid: value.parse().ok()? },
        }))
    }

    /// How the API writes a value that the lists have.
    fn name(&self, value: String) -> String {
        match self {
            Self::States => name_of::<State>(value),
            Self::ChangeTypes => name_of::<ChangeType>(value),
            Self::DocumentTypes => name_of::<DocumentType>(value),
            Self::EntityKinds => name_of::<EntityKind>(value),
            Self::Value | Self::People | Self::Labels(_) | Self::Milestones(_) | Self::Projects => value,
        }
    }
}

fn start_of(day: Date) -> DateTime {
    day.to_zoned(TimeZone::UTC).map(|start| start.timestamp()).unwrap_or_default().into()
}

fn groups(found: lists::Groups, node: &Grouped, first: Option<i32>, measured: &MeasuredGroups) -> Result<Groups> {
    let most = page::size(first, DEFAULT_PAGE)?;
    let complete = found.is_complete && found.groups.len() <= most;
    let group = |group: lists::GroupCount| Group {
        durations: measured.fields(&group.value),
        node: node.node(&group.value),
        value: node.name(group.value),
        count: group.count,
    };
    Ok(Groups { groups: found.groups.into_iter().take(most).map(group).collect(), complete })
}

fn periods(found: lists::Groups, measured: &MeasuredGroups) -> ListActivity {
    let count = |group: lists::GroupCount| {
        let durations = measured.fields(&group.value);
        Some(PeriodCount { start: start_of(group.value.parse().ok()?), count: group.count, durations })
    };
    ListActivity { periods: found.groups.into_iter().filter_map(count).collect(), complete: found.is_complete }
}

/// How long the issues or merge requests of a list took, by group, as far as the operation asks the groups or periods for it.
/// `list` is the field that has these.
async fn measure(ctx: &Context<'_>, list: &str, query: &ThreadQuery, by: ThreadGroup) -> Result<MeasuredGroups> {
    let kinds: &[(&str, DurationKind)] = match query.kind {
        ThreadKind::Issue => &[("timeToClose", DurationKind::ToClose)],
        ThreadKind::MergeRequest => {
            &[("timeToMerge", DurationKind::ToMerge), ("timeToFirstReview", DurationKind::ToFirstReview)]
        }
    };
    let mut measured = MeasuredGroups::default();
    for (field, kind) in kinds {
        if !ctx.look_ahead().field(list).field(field).exists() {
            continue;
        }
        let durations = loaders::engine(ctx)?.measure_durations(query.clone(), *kind, Some(by)).await?;
        match kind {
            DurationKind::ToMerge => measured.to_merge = Some(durations),
            DurationKind::ToFirstReview => measured.to_first_review = Some(durations),
            DurationKind::ToClose => measured.to_close = Some(durations),
        }
    }
    Ok(measured)
}

/// How long the issues or merge requests of a list took.
pub(super) async fn thread_durations(ctx: &Context<'_>, query: ThreadQuery, kind: DurationKind) -> Result<Durations> {
    let measured = loaders::engine(ctx)?.measure_durations(query, kind, None).await?;
    Ok(Durations::of_group(&measured, ""))
}

pub(super) async fn threads(
    ctx: &Context<'_>,
    query: ThreadQuery,
    by: ThreadGroup,
    node: Grouped,
    first: Option<i32>,
) -> Result<Groups> {
    let measured = measure(ctx, "groups", &query, by).await?;
    groups(loaders::engine(ctx)?.group_threads(query, by).await?, &node, first, &measured)
}

pub(super) async fn thread_activity(ctx: &Context<'_>, query: ThreadQuery, by: ThreadGroup) -> Result<ListActivity> {
    let measured = measure(ctx, "periods", &query, by).await?;
    Ok(periods(loaders::engine(ctx)?.group_threads(query, by).await?, &measured))
}

pub(super) async fn discussions(
    ctx: &Context<'_>,
    query: DiscussionQuery,
    by: DiscussionGroup,
    node: Grouped,
    first: Option<i32>,
) -> Result<Groups> {
    groups(loaders::engine(ctx)?.group_discussions(query, by).await?, &node, first, &MeasuredGroups::default())
}

pub(super) async fn discussion_activity(
    ctx: &Context<'_>,
    query: DiscussionQuery,
    by: DiscussionGroup,
) -> Result<ListActivity> {
    Ok(periods(loaders::engine(ctx)?.group_discussions(query, by).await?, &MeasuredGroups::default()))
}

pub(super) async fn commits(
    ctx: &Context<'_>,
    query: CommitQuery,
    by: CommitGroup,
    node: Grouped,
    first: Option<i32>,
) -> Result<Groups> {
    groups(loaders::engine(ctx)?.group_commits(query, by).await?, &node, first, &MeasuredGroups::default())
}

pub(super) async fn commit_activity(ctx: &Context<'_>, query: CommitQuery, by: CommitGroup) -> Result<ListActivity> {
    Ok(periods(loaders::engine(ctx)?.group_commits(query, by).await?, &MeasuredGroups::default()))
}

pub(super) async fn files(
    ctx: &Context<'_>,
    query: FileQuery,
    by: FileGroup,
    node: Grouped,
    first: Option<i32>,
) -> Result<Groups> {
    groups(loaders::engine(ctx)?.group_files(query, by).await?, &node, first, &MeasuredGroups::default())
}

pub(super) async fn entities(
    ctx: &Context<'_>,
    query: EntityQuery,
    by: EntityGroup,
    node: Grouped,
    first: Option<i32>,
) -> Result<Groups> {
    groups(loaders::engine(ctx)?.group_entities(query, by).await?, &node, first, &MeasuredGroups::default())
}

/// What happened in projects, or in all, in each period of a time.
pub(super) async fn activity(
    ctx: &Context<'_>,
    projects: Vec<String>,
    by: Period,
    time: Option<DateRange>,
) -> Result<Vec<Activity>> {
    let time: TimeRange = range(time);
    let found = loaders::engine(ctx)?.activity(projects, by.into(), time).await?;
    // The newest ones.
    let skipped = found.len().saturating_sub(lists::MAX_GROUPS);
    Ok(found.into_iter().skip(skipped).map(Activity::from).collect())
}
