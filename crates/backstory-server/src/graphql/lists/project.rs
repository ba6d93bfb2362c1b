//! The lists of a project.

use async_graphql::{Context, Result};

use super::{
    super::{
        job::{self, JobConnection},
        names::JobStatus,
        release::{self, ReleaseConnection, ReleaseOrder},
    },
    BranchConnection, CodeDefinitionConnection, CodeDefinitionFilter, CodeEntityConnection, CommitConnection,
    DateRange, DiscussionConnection, DiscussionFilter, DiscussionOrder, FileConnection, IssueConnection,
    MergeRequestConnection, Paging, PersonConnection, TagConnection, TextFilter,
    code::{self, CodeEntityFilter, CodeEntityOrder, FileFilter, FileOrder},
    commits::{self, CommitFilter, CommitOrder},
    definitions, discussions,
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
        /// Issues of the project, the last changed first unless ordered otherwise.
        issues(filter: IssueFilter, order: IssueOrder, paging) -> IssueConnection {
            let query = threads::within_project(threads::issue_query(filter, order), &own.path)?;
            threads::issues(ctx, query, paging).await
        }

        /// Merge requests of the project, the last changed first unless ordered otherwise.
        merge_requests(filter: MergeRequestFilter, order: MergeRequestOrder, paging) -> MergeRequestConnection {
            let query = threads::within_project(threads::merge_request_query(filter, order), &own.path)?;
            threads::merge_requests(ctx, query, paging).await
        }

        /// Discussions of the project with notes of people, the one with the newest note first unless ordered
        /// otherwise.
        discussions(filter: DiscussionFilter, order: DiscussionOrder, paging) -> DiscussionConnection {
            let query = discussions::within_project(discussions::discussion_query(filter, order), &own.path)?;
            discussions::page_of(ctx, query, paging).await
        }

        /// Commits of the project's repository, the newest first unless ordered otherwise. With `from` or `to` only
        /// those of a range of revisions that has at most 20,000 commits.
        commits(
            filter: CommitFilter, order: CommitOrder, paging;
            #[graphql(desc = "Branch, tag or commit: commits that it reaches are left out.")] from: Option<String>,
            #[graphql(
                desc = "Branch, tag or commit: only commits that it reaches. The indexed head if only `from` is given."
            )]
            to: Option<String>
        ) -> CommitConnection {
            let mut query = commits::within_project(commits::commit_query(filter, order), &own.path)?;
            query.shas = commits::in_range(ctx, &own.path, from, to).await?;
            commits::commits(ctx, query, paging).await
        }

        /// Files of the project's repository at the indexed head, the most central first unless ordered otherwise.
        files(filter: FileFilter, order: FileOrder, paging) -> FileConnection {
            code::files(ctx, code::file_query(filter, order), Some(&own.path), paging).await
        }

        /// Code entities of the project's repository at the indexed head, the most central first unless ordered
        /// otherwise.
        entities(filter: CodeEntityFilter, order: CodeEntityOrder, paging) -> CodeEntityConnection {
            code::entities(ctx, code::entity_query(filter, order), Some(&own.path), paging).await
        }

        /// People that the project knows, each once, by name unless ordered otherwise; the edges say what they did in
        /// it.
        people(filter: PersonFilter, order: PersonOrder, paging) -> PersonConnection {
            people::people(ctx, filter, order, Some(&own.path), paging).await
        }

        /// Branches of the project's repository that are indexed, by name unless ordered otherwise.
        branches(filter: TextFilter, order: RefOrder, paging) -> BranchConnection {
            refs::branches(ctx, &own.path, filter, order, paging).await
        }

        /// Tags of the project's repository, by name unless ordered otherwise.
        tags(filter: TextFilter, order: RefOrder, paging) -> TagConnection {
            refs::tags(ctx, &own.path, filter, order, paging).await
        }

        /// Releases and tags of the project, the latest first unless ordered otherwise; only the latest 1,000.
        releases(filter: TextFilter, order: ReleaseOrder, paging) -> ReleaseConnection {
            release::releases(ctx, &own.path, filter, order, &paging).await
        }

        /// Labels of the project, by name unless ordered otherwise.
        labels(filter: TextFilter, order: LabelOrder, paging) -> LabelConnection {
            planning::labels(ctx, &own.path, filter, order, paging).await
        }

        /// Milestones of the project, by number unless ordered otherwise.
        milestones(filter: MilestoneFilter, order: MilestoneOrder, paging) -> MilestoneConnection {
            planning::milestones(ctx, &own.path, filter, order, paging).await
        }
    }
    also {
        /// What happened in the project in each day, week, month or year, oldest first: in all periods that a range
        /// with both ends touches, even if nothing happened. Without such a range, or if those are more than 1,000,
        /// from the first period in which something happened to the last: the newest 1,000, with the empty ones between
        /// them; if that makes more, the longest gaps are left out.
        async fn activity(
            &self,
            ctx: &Context<'_>,
            #[graphql(desc = "How long a period is.")] by: Period,
            #[graphql(
                desc = "Only what happened on days, in UTC, that lie at least partly in this range; all days if absent."
            )]
            time: Option<DateRange>,
        ) -> Result<Vec<Activity>> {
            groups::activity(ctx, vec![self.path.clone()], by, time).await
        }

        /// Code entities of the project's repository at a revision, by path and line: those of a file, or those of at
        /// most 500 files of a directory that are code by their names and that search reads. They are read from the
        /// clone; `entities` has those at the indexed head. Null, with an error, if there is no such path or revision.
        #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
        async fn definitions(
            &self,
            ctx: &Context<'_>,
            #[graphql(desc = "Path of a file or directory from the repository's root; the root if absent.", default)]
            path: String,
            #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
            #[graphql(desc = "Only code entities that meet all these conditions; all of them if absent.")]
            filter: Option<CodeDefinitionFilter>,
            #[graphql(
                desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
            )]
            first: Option<i32>,
            #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
            #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
            #[graphql(desc = "The startCursor of the next page.")] before: Option<String>,
        ) -> Result<Option<CodeDefinitionConnection>> {
            let paging = Paging { first, after, last, before };
            definitions(ctx, (self.path.clone(), path), rev, filter, &paging).await.map(Some)
        }

        /// Jobs of the project, those that a server has in its queue and those that it did, newest first.
        async fn jobs(
            &self,
            ctx: &Context<'_>,
            #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
            #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
            #[graphql(desc = "State of the jobs; all jobs if absent.")] status: Option<JobStatus>,
        ) -> Result<JobConnection> {
            job::list(ctx, first, after.as_deref(), status, vec![self.path.clone()]).await
        }
    }
}
