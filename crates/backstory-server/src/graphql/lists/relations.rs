//! What is linked with a file, as lists.

use super::{
    CodeEntityConnection, CommitConnection, DiscussionConnection, DiscussionFilter, DiscussionOrder,
    code::{self, CodeEntityFilter, CodeEntityOrder},
    commits::{self, CommitFilter, CommitOrder},
    discussions, restrict,
};

/// The commits, entities and discussions of a file.
pub(crate) struct FileRelations {
    project: String,
    path: String,
}

impl FileRelations {
    pub(in super::super) fn of(project: String, path: String) -> Self {
        Self { project, path }
    }
}

list_fields! {
    impl FileRelations as own, ctx {
        /// Commits that change the file under this path, the newest first unless ordered otherwise; `history` also
        /// knows its earlier names.
        commits(filter: CommitFilter, order: CommitOrder, paging) -> CommitConnection {
            let mut query = commits::within_project(commits::commit_query(filter, order), &own.project)?;
            restrict(&mut query.paths, "paths", &own.path)?;
            commits::commits(ctx, query, paging).await
        }

        /// Code entities of the file at the indexed head, the most central first unless ordered otherwise.
        entities(filter: CodeEntityFilter, order: CodeEntityOrder, paging) -> CodeEntityConnection {
            let mut query = code::entity_query(filter, order);
            restrict(&mut query.paths, "paths", &own.path)?;
            code::entities(ctx, query, Some(&own.project), paging).await
        }

        /// Discussions whose first note is on lines of the file, the one with the newest note first unless ordered
        /// otherwise; `comments` says where these lines are at a revision.
        discussions(filter: DiscussionFilter, order: DiscussionOrder, paging) -> DiscussionConnection {
            let mut query = discussions::within_project(discussions::discussion_query(filter, order), &own.project)?;
            restrict(&mut query.paths, "paths", &own.path)?;
            discussions::page_of(ctx, query, paging).await
        }
    }
}
