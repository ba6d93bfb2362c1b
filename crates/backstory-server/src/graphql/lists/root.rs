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
        /// All projects, unless otherwise ordered by path.
        projects(filter: TextFilter, order: ProjectOrder, paging) -> ProjectConnection {
            projects::projects(ctx, filter, order, paging).await
        }

        /// Issues, unless otherwise ordered the one that changed last first.
        issues(filter: IssueFilter, order: IssueOrder, paging) -> IssueConnection {
            threads::issues(ctx, known(ctx, threads::issue_query(filter, order)).await?, paging).await
        }

        /// Merge requests, unless otherwise ordered the one that changed last first.
        merge_requests(filter: MergeRequestFilter, order: MergeRequestOrder, paging) -> MergeRequestConnection {
            threads::merge_requests(ctx, known(ctx, threads::merge_request_query(filter, order)).await?, paging).await
        }

        /// Discussions with notes of people, unless otherwise ordered the one with the newest note first.
        discussions(filter: DiscussionFilter, order: DiscussionOrder, paging) -> DiscussionConnection {
            discussions::page_of(ctx, known(ctx, discussions::discussion_query(filter, order)).await?, paging).await
        }

        /// Commits, unless otherwise ordered the newest first.
        commits(filter: CommitFilter, order: CommitOrder, paging) -> CommitConnection {
            commits::commits(ctx, known(ctx, commits::commit_query(filter, order)).await?, paging).await
        }

        /// Files at the indexed heads, unless otherwise ordered the most central first.
        files(filter: FileFilter, order: FileOrder, paging) -> FileConnection {
            code::files(ctx, code::file_query(filter, order), None, paging).await
        }

        /// Code entities at the indexed heads, unless otherwise ordered the most central first.
        entities(filter: CodeEntityFilter, order: CodeEntityOrder, paging) -> CodeEntityConnection {
            code::entities(ctx, code::entity_query(filter, order), None, paging).await
        }

        /// People: users of forges and authors of commits, each once, unless otherwise ordered by name.
        people(filter: PersonFilter, order: PersonOrder, paging) -> PersonConnection {
            people::people(ctx, filter, order, None, paging).await
        }
    }
    also {
        /// The caller, and what they see.
        async fn viewer(&self) -> Viewer {
            Viewer
        }

        /// What happened in each day, week or month, oldest first; the newest 1,000 periods in which anything did.
        async fn activity(
            &self,
            ctx: &Context<'_>,
            #[graphql(desc = "How long a period is.")] by: Period,
            #[graphql(desc = "Full paths of projects; all if absent.")] projects: Option<Vec<String>>,
            #[graphql(desc = "Only what happened then, in whole days.")] time: Option<DateRange>,
        ) -> Result<Vec<Activity>> {
            let projects = projects.unwrap_or_default();
            loaders::engine(ctx)?.check_projects(&projects).await?;
            groups::activity(ctx, projects, by, time).await
        }
    }
}
