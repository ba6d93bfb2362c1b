//! The lists of a project.

use async_graphql::{Context, Result};

use super::{
    super::release::{self, ReleaseConnection, ReleaseOrder},
    BranchConnection, CodeEntityConnection, CommitConnection, DateRange, DiscussionConnection, DiscussionFilter,
    DiscussionOrder, FileConnection, IssueConnection, MergeRequestConnection, PersonConnection, TagConnection,
    TextFilter,
    code::{self, CodeEntityFilter, CodeEntityOrder, FileFilter, FileOrder},
    commits::{self, CommitFilter, CommitOrder},
    discussions,
    groups::{self, Activity, Period},
    people::{self, PersonFilter, PersonOrder},
    planning::{self, LabelConnection, LabelOrder, MilestoneConnection, MilestoneFilter, MilestoneOrder},
    refs::{self, RefOrder},
    threads::{self, IssueFilter, IssueOrder, MergeRequestFilter, MergeRequestOrder},
};

/// The lists of a project.
pub(crate) struct ProjectLists {
    path: String,
}

impl ProjectLists {
    pub(in super::super) fn of(path: String) -> Self {
        Self { path }
    }
}

list_fields! {
    impl ProjectLists as own, ctx {
        /// Issues of the project, unless otherwise ordered the one that changed last first.
        issues(filter: IssueFilter, order: IssueOrder, paging) -> IssueConnection {
            let query = threads::within_project(threads::issue_query(filter, order), &own.path)?;
            threads::issues(ctx, query, paging).await
        }

        /// Merge requests of the project, unless otherwise ordered the one that changed last first.
        merge_requests(filter: MergeRequestFilter, order: MergeRequestOrder, paging) -> MergeRequestConnection {
            let query = threads::within_project(threads::merge_request_query(filter, order), &own.path)?;
            threads::merge_requests(ctx, query, paging).await
        }

        /// Discussions of the project with notes of people, unless otherwise ordered the one with the newest note first.
        discussions(filter: DiscussionFilter, order: DiscussionOrder, paging) -> DiscussionConnection {
            let query = discussions::within_project(discussions::discussion_query(filter, order), &own.path)?;
            discussions::page_of(ctx, query, paging).await
        }

        /// Commits of the project's repository, unless otherwise ordered the newest first.
        commits(filter: CommitFilter, order: CommitOrder, paging) -> CommitConnection {
            let query = commits::within_project(commits::commit_query(filter, order), &own.path)?;
            commits::commits(ctx, query, paging).await
        }

        /// Files of the project's repository at the indexed head, unless otherwise ordered the most central first.
        files(filter: FileFilter, order: FileOrder, paging) -> FileConnection {
            code::files(ctx, code::file_query(filter, order), Some(&own.path), paging).await
        }

        /// Code entities of the project's repository at the indexed head, unless otherwise ordered the most central first.
        entities(filter: CodeEntityFilter, order: CodeEntityOrder, paging) -> CodeEntityConnection {
            code::entities(ctx, code::entity_query(filter, order), Some(&own.path), paging).await
        }

        /// People whom the project knows, each once, unless otherwise ordered by name; the edges tell what they did in it.
        people(filter: PersonFilter, order: PersonOrder, paging) -> PersonConnection {
            people::people(ctx, filter, order, Some(&own.path), paging).await
        }

        /// Branches of the project's repository that are indexed, unless otherwise ordered by name.
        branches(filter: TextFilter, order: RefOrder, paging) -> BranchConnection {
            refs::branches(ctx, &own.path, filter, order, paging).await
        }

        /// Tags of the project's repository, unless otherwise ordered by name.
        tags(filter: TextFilter, order: RefOrder, paging) -> TagConnection {
            refs::tags(ctx, &own.path, filter, order, paging).await
        }

        /// Releases and tags of the project, unless otherwise ordered the latest first; of the latest 1,000.
        releases(filter: TextFilter, order: ReleaseOrder, paging) -> ReleaseConnection {
            release::releases(ctx, &own.path, filter, order, &paging).await
        }

        /// Labels of the project, unless otherwise ordered by name.
        labels(filter: TextFilter, order: LabelOrder, paging) -> LabelConnection {
            planning::labels(ctx, &own.path, filter, order, paging).await
        }

        /// Milestones of the project, unless otherwise ordered by number.
        milestones(filter: MilestoneFilter, order: MilestoneOrder, paging) -> MilestoneConnection {
            planning::milestones(ctx, &own.path, filter, order, paging).await
        }
    }
    also {
        /// What happened in the project in each day, week, month or year, oldest first; the newest 1,000 periods in which
        /// anything did.
        async fn activity(
            &self,
            ctx: &Context<'_>,
            #[graphql(desc = "How long a period is.")] by: Period,
            #[graphql(
                desc = "Only what happened on days that lie in this range at least in part, in UTC; all days if absent."
            )]
            time: Option<DateRange>,
        ) -> Result<Vec<Activity>> {
            groups::activity(ctx, vec![self.path.clone()], by, time).await
        }
    }
}
