//! The lists at the root of the schema.

use async_graphql::{Context, Result};

use super::{
    super::loaders,
    CodeEntityConnection, CommitConnection, DateRange, DiscussionConnection, DiscussionFilter, DiscussionOrder,
    FileConnection, IssueConnection, MergeRequestConnection, PersonConnection, TextFilter,
    code::{self, CodeEntityFilter, CodeEntityOrder, FileFilter, FileOrder},
    commits::{self, CommitFilter, CommitOrder},
    discussions,
    groups::{self, Activity, Period},
    known,
    people::{self, PersonFilter, PersonOrder},
    projects::{self, ProjectConnection, ProjectOrder},
    threads::{self, IssueFilter, IssueOrder, MergeRequestFilter, MergeRequestOrder},
    viewer::Viewer,
};

/// The lists of all projects.
pub(crate) struct RootLists;

list_fields! {
    impl RootLists as _own, ctx {
        /// All projects that the caller sees, by path unless ordered otherwise. Null, with an error, if the cursor or
        /// size of the page is wrong.
        projects(filter: TextFilter, order: ProjectOrder, paging) -> Option<ProjectConnection> {
            projects::projects(ctx, filter, order, paging).await.map(Some)
        }

        /// Issues, the last changed first unless ordered otherwise. Null, with an error, if the filter names a project
        /// that is not known, or the cursor or size of the page is wrong.
        issues(filter: IssueFilter, order: IssueOrder, paging) -> Option<IssueConnection> {
            threads::issues(ctx, known(ctx, threads::issue_query(filter, order)).await?, paging).await.map(Some)
        }

        /// Merge requests, the last changed first unless ordered otherwise. Null, with an error, if the filter names a
        /// project that is not known, or the cursor or size of the page is wrong.
        merge_requests(filter: MergeRequestFilter, order: MergeRequestOrder, paging) -> Option<MergeRequestConnection> {
            let query = known(ctx, threads::merge_request_query(filter, order)).await?;
            threads::merge_requests(ctx, query, paging).await.map(Some)
        }

        /// Discussions with notes of people, the one with the newest note first unless ordered otherwise. Null, with an
        /// error, if the filter names a project that is not known, or the cursor or size of the page is wrong.
        discussions(filter: DiscussionFilter, order: DiscussionOrder, paging) -> Option<DiscussionConnection> {
            let query = known(ctx, discussions::discussion_query(filter, order)).await?;
            discussions::page_of(ctx, query, paging).await.map(Some)
        }

        /// Commits, the newest first unless ordered otherwise. Null, with an error, if the filter names a project that
        /// is not known, or the cursor or size of the page is wrong.
        commits(filter: CommitFilter, order: CommitOrder, paging) -> Option<CommitConnection> {
            commits::commits(ctx, known(ctx, commits::commit_query(filter, order)).await?, paging).await.map(Some)
        }

        /// Files at the indexed heads, the most central first unless ordered otherwise. Null, with an error, if the
        /// filter names a project that is not known, or the cursor or size of the page is wrong.
        files(filter: FileFilter, order: FileOrder, paging) -> Option<FileConnection> {
            code::files(ctx, code::file_query(filter, order), None, paging).await.map(Some)
        }

        /// Code entities at the indexed heads, the most central first unless ordered otherwise. Null, with an error, if
        /// the filter names a project that is not known, or the cursor or size of the page is wrong.
        entities(filter: CodeEntityFilter, order: CodeEntityOrder, paging) -> Option<CodeEntityConnection> {
            code::entities(ctx, code::entity_query(filter, order), None, paging).await.map(Some)
        }

        /// People: users of forges and authors of commits, each once, by name unless ordered otherwise. The edges say
        /// what they did in the projects of the filter. Null, with an error, if the filter names a project that is not
        /// known, or the cursor or size of the page is wrong.
        people(filter: PersonFilter, order: PersonOrder, paging) -> Option<PersonConnection> {
            people::people(ctx, filter, order, None, paging).await.map(Some)
        }
    }
    also {
        /// The caller, and what they see; null, with an error, if that cannot be read.
        async fn viewer(&self) -> Option<Viewer> {
            Some(Viewer)
        }

        /// What happened in each day, week, month or year, oldest first: in all periods that a range with both ends
        /// touches, even if nothing happened. Without such a range, or if those are more than 1,000, from the first
        /// period in which something happened to the last: the newest 1,000, with the empty ones between them; if that
        /// makes more, the longest gaps are left out. Null, with an error, if a project is not known.
        async fn activity(
            &self,
            ctx: &Context<'_>,
            #[graphql(desc = "How long a period is.")] by: Period,
            #[graphql(desc = "Full paths of projects. All if absent or empty.")] projects: Option<Vec<String>>,
            #[graphql(
                desc = "Only what happened on days, in UTC, that lie at least partly in this range; all days if absent."
            )]
            time: Option<DateRange>,
        ) -> Result<Option<Vec<Activity>>> {
            let projects = projects.unwrap_or_default();
            loaders::engine(ctx)?.check_projects(&projects).await?;
            groups::activity(ctx, projects, by, time).await.map(Some)
        }
    }
}
