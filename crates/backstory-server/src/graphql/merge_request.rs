//! The GraphQL type of merge requests; what they share with issues is in `thread`.

use async_graphql::{Context, ID, Object, Result, SimpleObject};
use backstory_engine::{
    graph::Direction,
    lists::{CommitQuery, PageRequest},
    model::{
        edge::Edge,
        entity::{self, Item, MergeRequest as MergeRequestItem},
        id::{NodeId, ThreadId, ThreadKind},
    },
};

use super::{
    code::{Commit, File, FileChangeConnection},
    edge,
    issue::Issue,
    lists::{MergeRequestLists, Paging},
    loaders,
    names::{ChangeStatus, State},
    node::linked,
    person::Person,
    planning::Milestone,
    project::Project,
    scalar::{DateTime, seconds_between},
    thread::{ThreadFields, shared_fields},
};

/// Deepest nesting of merges that is followed to the one that merged a merge request.
const MAX_MERGES: usize = 4;

/// A file that a merge request would change.
#[derive(SimpleObject)]
pub(crate) struct ProposedFile {
    /// The file under its path after the change; of a deleted file, before it.
    file: File,
    /// Path after the change; of a deleted file, before it.
    path: String,
    /// Path before the change; null if it is the same.
    old_path: Option<String>,
    /// What happens to the file.
    status: ChangeStatus,
}

/// A merge request.
pub(crate) struct MergeRequest {
    fields: ThreadFields,
}

impl MergeRequest {
    pub(super) fn new(id: ThreadId) -> Self {
        Self { fields: ThreadFields::new(id) }
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&MergeRequestItem) -> T) -> Result<Option<T>> {
        let item = loaders::item(ctx, self.fields.node_id().clone()).await?;
        Ok(match item.as_deref() {
            Some(Item::MergeRequest(mr)) => Some(read(mr)),
            _ => None,
        })
    }

    /// The commit that merged it: a merge of it that brought what the forge names, or else what the forge names.
    async fn merged_as(&self, ctx: &Context<'_>) -> Result<Option<Commit>> {
        let read = |mr: &MergeRequestItem| {
            (mr.merged_at, mr.merge_commit_sha.clone(), mr.squash_commit_sha.clone(), mr.head_sha.clone())
        };
        let Some((merged_at, named, squash, head)) = self.read(ctx, read).await? else { return Ok(None) };
        let project = &self.fields.id.project;
        let commit = |sha: String| Commit::new(project.clone(), sha);
        let node = |sha: &String| NodeId::commit(project, sha);
        let (own, squash) = (named.as_ref().map(node), squash.as_ref().map(node));
        let mut others = edge::ends(ctx, self.fields.node_id(), Direction::Out, Edge::MergedAs).await?;
        others.retain(|end| Some(end) != own.as_ref() && Some(end) != squash.as_ref());
        if merged_at.is_none() || others.is_empty() {
            return Ok(named.map(commit));
        }
        // If the index has what the forge names, it does not matter where the source branch has gone since.
        let is_indexed = match named.clone().map(commit) {
            Some(named) => named.is_merge(ctx).await?.is_some(),
            None => false,
        };
        let head = head.as_ref().filter(|_| !is_indexed).map(node);
        for mut brought in own.into_iter().chain(head) {
            for _ in 0..MAX_MERGES {
                let merges = edge::ends(ctx, &brought, Direction::Out, Edge::MergedBy).await?;
                let Some(merge) = merges.into_iter().next() else { break };
                if let NodeId::Commit { sha, .. } = &merge
                    && others.contains(&merge)
                {
                    return Ok(Some(commit(sha.clone())));
                }
                brought = merge;
            }
        }
        Ok(named.map(commit))
    }

    /// Whether it introduced one commit at most.
    async fn is_one_commit(&self, ctx: &Context<'_>) -> Result<bool> {
        let id = &self.fields.id;
        let query =
            CommitQuery { projects: vec![id.project.clone()], merge_requests: vec![id.iid], ..CommitQuery::default() };
        let two = PageRequest { first: 2, ..PageRequest::default() };
        let page = loaders::engine(ctx)?.with_lists(move |lists, visibility| lists.commits(&query, &two, visibility));
        Ok(page.await?.rows.len() < 2)
    }
}

// The interfaces `Node` and `Thread` ask each of their types for these; the API has them from the shared fields.
shared_fields!(MergeRequest {
    url: Option<String>,
    iid: u64,
    project: Project,
    title: Option<String>,
    description: Option<String>,
    state: Option<State>,
    author: Option<Person>,
    created_at: Option<DateTime>,
    updated_at: Option<DateTime>,
    closed_at: Option<DateTime>,
    confidential: bool,
    closed_by: Option<Person>,
    milestone: Option<Milestone>,
    assignees: Vec<Person>,
    last_note_at: Option<DateTime>,
    unresolved_count: Option<u64>,
    note_count: Option<u64>,
});

// The interface asks for what all nodes have.
linked!(MergeRequest, fields.links);

/// A merge request, or pull request, of a project.
#[Object]
impl MergeRequest {
    /// Id of the merge request as a node, `acme/shop!7`.
    pub(super) async fn id(&self) -> ID {
        self.fields.id.to_string().into()
    }

    /// Whether backstory has read the merge request. If it is only mentioned, whatever its id does not say is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        self.fields.known(ctx).await
    }

    /// Name of the branch that the changes are on.
    async fn source_branch(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |mr| mr.source_branch.clone()).await
    }

    /// Name of the branch that the changes go to.
    async fn target_branch(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |mr| mr.target_branch.clone()).await
    }

    /// Whether the merge request is a draft.
    async fn draft(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        self.read(ctx, |mr| mr.draft).await
    }

    /// People who were asked for a review or gave one.
    async fn reviewers(&self, ctx: &Context<'_>) -> Result<Vec<Person>> {
        Ok(people(self.read(ctx, |mr| mr.reviewers.clone()).await?))
    }

    /// People who approved the merge request.
    async fn approved_by(&self, ctx: &Context<'_>) -> Result<Vec<Person>> {
        Ok(people(self.read(ctx, |mr| mr.approved_by.clone()).await?))
    }

    /// When the merge request was merged; null if it is not.
    async fn merged_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.read(ctx, |mr| mr.merged_at.map(DateTime::from)).await?.flatten())
    }

    /// Person who merged the merge request; null if nobody did, or that is not known.
    async fn merged_by(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.read(ctx, |mr| mr.merged_by.clone()).await?.flatten().map(Person::new))
    }

    /// How many whole seconds passed from when the merge request was opened until it was merged; null if it is not merged.
    async fn time_to_merge(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        let read = |mr: &MergeRequestItem| Some(seconds_between(mr.thread.created_at, mr.merged_at?));
        Ok(self.read(ctx, read).await?.flatten())
    }

    /// How many whole seconds passed from when the merge request was opened until somebody else wrote the first note
    /// that is visible to everyone who can see it; null if nobody did. Notes of programs, which are recognized by names
    /// like `renovate[bot]`, do not count, nor do approvals without a note, since their time is not known.
    async fn time_to_first_review(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        let discussions = loaders::discussions(ctx, self.fields.id.clone()).await?;
        let read = |mr: &MergeRequestItem| {
            let reviewed_at = mr.first_reviewed_at(discussions.iter().map(|discussion| &**discussion))?;
            Some(seconds_between(mr.thread.created_at, reviewed_at))
        };
        Ok(self.read(ctx, read).await?.flatten())
    }

    /// Commit at the tip of the source branch.
    async fn head(&self, ctx: &Context<'_>) -> Result<Option<Commit>> {
        let sha = self.read(ctx, |mr| mr.head_sha.clone()).await?.flatten();
        Ok(sha.map(|sha| Commit::new(self.fields.id.project.clone(), sha)))
    }

    /// Commit that merged the merge request; null if there is none.
    async fn merge_commit(&self, ctx: &Context<'_>) -> Result<Option<Commit>> {
        self.merged_as(ctx).await
    }

    /// Commit that the merge request was squashed to; null if it was not.
    async fn squash_commit(&self, ctx: &Context<'_>) -> Result<Option<Commit>> {
        let sha = self.read(ctx, |mr| mr.squash_commit_sha.clone()).await?.flatten();
        Ok(sha.map(|sha| Commit::new(self.fields.id.project.clone(), sha)))
    }

    /// Files that the merge request changed, by the commit that it was merged as, in git's order. Null while it is not merged,
    /// if that commit is not in the index, and if it was merged as several commits.
    async fn changed_files(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
        #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
        #[graphql(desc = "The startCursor of the next page.")] before: Option<String>,
    ) -> Result<Option<FileChangeConnection>> {
        let paging = Paging { first, after, last, before };
        let squash = self.read(ctx, |mr| mr.squash_commit_sha.clone()).await?.flatten();
        let squash = squash.map(|sha| Commit::new(self.fields.id.project.clone(), sha));
        for commit in self.merged_as(ctx).await?.into_iter().chain(squash) {
            let Some(is_merge) = commit.is_merge(ctx).await? else { continue };
            if is_merge || self.is_one_commit(ctx).await? {
                return commit.page_of_changes(ctx, &paging).await;
            }
        }
        Ok(None)
    }

    /// Files that the merge request would change, by path; at most 1,000. There are none once it is merged: see
    /// `changedFiles`.
    async fn proposed_files(&self, ctx: &Context<'_>) -> Result<Option<Vec<ProposedFile>>> {
        let project = &self.fields.id.project;
        let file = |file: &entity::ProposedFile| ProposedFile {
            file: File::new(project.clone(), file.path.clone()),
            path: file.path.clone(),
            old_path: file.old_path.clone(),
            status: file.status.into(),
        };
        self.read(ctx, |mr| mr.files.iter().map(file).collect()).await
    }

    /// Issues that the merge request closed, or will when it is merged.
    async fn closes(&self, ctx: &Context<'_>) -> Result<Vec<Issue>> {
        let ends = edge::ends(ctx, self.fields.node_id(), Direction::Out, Edge::Closes).await?;
        let issues = ends.into_iter().filter_map(|end| match end {
            NodeId::Thread(id) if id.kind == ThreadKind::Issue => Some(Issue::new(id)),
            _ => None,
        });
        Ok(issues.collect())
    }

    #[graphql(flatten)]
    async fn lists(&self) -> MergeRequestLists {
        MergeRequestLists::of(self.fields.id.clone())
    }

    #[graphql(flatten)]
    async fn fields(&self) -> &ThreadFields {
        &self.fields
    }
}

fn people(usernames: Option<Vec<String>>) -> Vec<Person> {
    usernames.unwrap_or_default().into_iter().map(Person::new).collect()
}
