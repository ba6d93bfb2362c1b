//! The lists of a person, under all names that are known to be theirs.

use async_graphql::{Context, Result};
use backstory_engine::{lists::ThreadQuery, model::entity::State};

use super::{
    CommitConnection, DiscussionConnection, DiscussionFilter, DiscussionOrder, IssueConnection, MergeRequestConnection,
    commits::{self, CommitFilter, CommitOrder},
    discussions, known, restrict,
    threads::{self, IssueFilter, IssueOrder, MergeRequestFilter, MergeRequestOrder, issue_query, merge_request_query},
};

/// The lists of a person.
pub(crate) struct PersonLists {
    username: String,
}

impl PersonLists {
    pub(in super::super) fn of(username: String) -> Self {
        Self { username }
    }

    /// A query of known projects, restricted to the person in one of its conditions.
    async fn theirs(
        &self,
        ctx: &Context<'_>,
        query: ThreadQuery,
        argument: &str,
        names: fn(&mut ThreadQuery) -> &mut Vec<String>,
    ) -> Result<ThreadQuery> {
        let mut query = known(ctx, query).await?;
        restrict(names(&mut query), argument, &self.username)?;
        Ok(query)
    }
}

list_fields! {
    impl PersonLists as own, ctx {
        /// Issues that the person opened, the last changed first unless ordered otherwise.
        issues(filter: IssueFilter, order: IssueOrder, paging) -> IssueConnection {
            let query = own.theirs(ctx, issue_query(filter, order), "authors", |query| &mut query.filter.authors).await?;
            threads::issues(ctx, query, paging).await
        }

        /// Merge requests that the person opened, the last changed first unless ordered otherwise.
        merge_requests(filter: MergeRequestFilter, order: MergeRequestOrder, paging) -> MergeRequestConnection {
            let query = merge_request_query(filter, order);
            let query = own.theirs(ctx, query, "authors", |query| &mut query.filter.authors).await?;
            threads::merge_requests(ctx, query, paging).await
        }

        /// Issues that are assigned to the person, the last changed first unless ordered otherwise.
        assigned_issues(filter: IssueFilter, order: IssueOrder, paging) -> IssueConnection {
            let query = issue_query(filter, order);
            let query = own.theirs(ctx, query, "assignees", |query| &mut query.filter.assignees).await?;
            threads::issues(ctx, query, paging).await
        }

        /// Merge requests that are assigned to the person, the last changed first unless ordered otherwise.
        assigned_merge_requests(filter: MergeRequestFilter, order: MergeRequestOrder, paging) -> MergeRequestConnection {
            let query = merge_request_query(filter, order);
            let query = own.theirs(ctx, query, "assignees", |query| &mut query.filter.assignees).await?;
            threads::merge_requests(ctx, query, paging).await
        }

        /// Merge requests that the person reviewed or was asked to review, the last changed first unless ordered
        /// otherwise.
        reviews(filter: MergeRequestFilter, order: MergeRequestOrder, paging) -> MergeRequestConnection {
            let query = merge_request_query(filter, order);
            let query = own.theirs(ctx, query, "reviewers", |query| &mut query.filter.reviewers).await?;
            threads::merge_requests(ctx, query, paging).await
        }

        /// Open merge requests that the person is asked to review and has not approved, even if they reviewed them, as
        /// the filter `reviewRequested` has them; the last changed first, unless ordered otherwise. What they reviewed
        /// without being asked is only in `reviews`.
        review_requests(filter: MergeRequestFilter, order: MergeRequestOrder, paging) -> MergeRequestConnection {
            let query = merge_request_query(filter, order);
            let mut query = own.theirs(ctx, query, "reviewRequested", |query| &mut query.filter.asked).await?;
            restrict(&mut query.filter.no_approver, "notApprovedBy", &own.username)?;
            query.filter.states = vec![State::Opened];
            threads::merge_requests(ctx, query, paging).await
        }

        /// Issues whose text or notes mention the person, the last changed first unless ordered otherwise.
        mentioned_in_issues(filter: IssueFilter, order: IssueOrder, paging) -> IssueConnection {
            let query = issue_query(filter, order);
            let query = own.theirs(ctx, query, "mentions", |query| &mut query.filter.mentioned).await?;
            threads::issues(ctx, query, paging).await
        }

        /// Merge requests whose text or notes mention the person, the last changed first unless ordered otherwise.
        mentioned_in_merge_requests(filter: MergeRequestFilter, order: MergeRequestOrder, paging)
            -> MergeRequestConnection
        {
            let query = merge_request_query(filter, order);
            let query = own.theirs(ctx, query, "mentions", |query| &mut query.filter.mentioned).await?;
            threads::merge_requests(ctx, query, paging).await
        }

        /// Discussions that the person started, the one with the newest note first unless ordered otherwise.
        discussions(filter: DiscussionFilter, order: DiscussionOrder, paging) -> DiscussionConnection {
            let mut query = known(ctx, discussions::discussion_query(filter, order)).await?;
            restrict(&mut query.authors, "authors", &own.username)?;
            discussions::page_of(ctx, query, paging).await
        }

        /// Commits that the person wrote, under any of their addresses, the newest first unless ordered otherwise.
        commits(filter: CommitFilter, order: CommitOrder, paging) -> CommitConnection {
            let mut query = known(ctx, commits::commit_query(filter, order)).await?;
            restrict(&mut query.authors, "authors", &own.username)?;
            commits::commits(ctx, query, paging).await
        }
    }
}
