//! The enumerations of the GraphQL API: those of model and engine, under the same names.

use async_graphql::Enum;
use backstory_engine::{
    Part, Projection as EngineProjection, Scope, explore, files, graph::Direction, ledger, model, search, task,
};

/// Kind of a forge.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::reference::Forge")]
pub(crate) enum Forge {
    /// GitLab, self-hosted or not.
    #[graphql(name = "GITLAB")]
    GitLab,
    /// GitHub, its enterprise cloud or a server.
    #[graphql(name = "GITHUB")]
    GitHub,
}

/// How much a sync reads.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "Scope")]
pub(crate) enum SyncScope {
    /// What has changed since the last sync, according to the forge.
    New,
    /// What differs from what is known, of everything that the forge lists; what it does not list is gone.
    Reconcile,
    /// Everything that the forge lists, again.
    Full,
}

/// What a sync can be limited to.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "Part")]
pub(crate) enum SyncPart {
    /// Issues of the forge, with their discussions; for GitHub also merge requests, since it lists both together.
    Issues,
    /// Merge requests of the forge.
    MergeRequests,
    /// The git repository.
    Repository,
}

/// What a job does.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ledger::JobKind")]
pub(crate) enum JobKind {
    /// Reads what is new at the forge and in the repository.
    Sync,
    /// Compares everything that the forge lists with what is known, and reads what differs.
    Reconcile,
    /// Reads everything again.
    Full,
    /// Reads one issue or merge request again.
    Refetch,
}

/// State of a job.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ledger::JobStatus")]
pub(crate) enum JobStatus {
    /// The job waits for its turn, or for its next attempt.
    Queued,
    /// The job is running.
    Running,
    /// The job ended well.
    Succeeded,
    /// The job was given up after an error.
    Failed,
    /// Somebody cancelled the job.
    Cancelled,
}

/// What was done to something that is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ledger::AuditAction")]
pub(crate) enum AuditAction {
    /// The subject was forgotten.
    Forget,
    /// The subject may be read again.
    Undo,
    /// Some of the subject is not kept any more, because of the setting `[retention]`.
    Retire,
}

/// Kind of what was forgotten, may be read again or is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ledger::ForgottenKind")]
pub(crate) enum ForgottenKind {
    /// An issue or merge request.
    Thread,
    /// A project with everything in it.
    Project,
    /// A person, whose name is replaced.
    Person,
}

/// How the work ended that reached a state of the index.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ledger::SnapshotStatus")]
pub(crate) enum SnapshotStatus {
    /// The work ended well.
    Completed,
    /// The work ended with an error, after it had changed something.
    Failed,
}

/// State of an issue, merge request or milestone.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::entity::State")]
pub(crate) enum State {
    /// The issue, merge request or milestone is open.
    Opened,
    /// The issue or milestone was closed, or the merge request without a merge.
    Closed,
    /// The merge request was merged.
    Merged,
    /// The merge request is locked while it is being merged.
    Locked,
}

/// What a document is for, the most binding first.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::document_type::DocumentType")]
pub(crate) enum DocumentType {
    /// A specification of how things must be.
    Spec,
    /// A contract that others rely on: an interface, a schema.
    Contract,
    /// A record of a decision.
    Adr,
    /// An explanation for people.
    Doc,
    /// Source code of a program or test.
    Code,
    /// An issue with its description.
    Issue,
    /// A merge request with its description.
    MergeRequest,
    /// A discussion with its notes.
    Discussion,
    /// A commit with its message.
    Commit,
}

/// Kind of a document that search finds.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::filter::DocumentKind")]
pub(crate) enum DocumentKind {
    /// An issue: its title and description.
    Issue,
    /// A merge request: its title and description.
    MergeRequest,
    /// A discussion: its notes.
    Discussion,
    /// A commit: its message.
    Commit,
    /// A file: what it says about itself, and what is in none of its parts.
    File,
    /// A code entity: a function, a type.
    Code,
    /// A section of a document.
    Section,
}

/// Kind of a note.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::entity::NoteKind")]
pub(crate) enum NoteKind {
    /// A comment on its own.
    Comment,
    /// A note in a discussion.
    Discussion,
    /// A note on lines of the diff.
    Diff,
}

/// What a search compares the query with.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "search::Mode")]
pub(crate) enum SearchMode {
    /// Words and meaning of documents.
    Hybrid,
    /// Words of documents, by BM25.
    Lexical,
    /// Meaning of documents, by vectors.
    Semantic,
}

/// How the parts of a hit become its score.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::score::Profile")]
pub(crate) enum RankingProfile {
    /// Meaning and words count alike, the author a little.
    Default,
    /// Meaning counts most, then age and importance, then the place in the graph; words count nothing.
    Gitmemory,
    /// Ranks by meaning and by words are fused, reciprocally with k = 60.
    Rrf,
}

/// What a commit does to a file.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::commit::ChangeStatus")]
pub(crate) enum ChangeStatus {
    /// The file was not there before.
    Added,
    /// The file's content or permissions change.
    Modified,
    /// The file is not there any more.
    Deleted,
    /// The file moves to another path, possibly with edits.
    Renamed,
    /// The file is a copy of another one, which stays.
    Copied,
    /// The entry becomes another kind: file, symbolic link, submodule.
    TypeChanged,
}

/// Type of change that a commit is.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::classify::ChangeType")]
pub(crate) enum ChangeType {
    /// Fixes incorrect behavior.
    Bugfix,
    /// Adds something new.
    Feature,
    /// Restructures without changing behavior.
    Refactor,
    /// Makes it faster or smaller.
    Performance,
    /// Closes a security hole.
    Security,
    /// Changes texts for people only.
    Documentation,
    /// Changes tests only.
    Test,
    /// Changes dependencies.
    Dependency,
    /// Changes settings, builds, pipelines and releases.
    Configuration,
    /// Removes dead code, or formats.
    Cleanup,
}

/// Why the content of a file is left out.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::code::LeftOutReason")]
pub(crate) enum LeftOutReason {
    /// The content is not text.
    Binary,
    /// A program wrote the content.
    Generated,
    /// The file was written for another project.
    Vendored,
    /// The content has more bytes than the limit.
    TooLarge,
    /// The content has no bytes.
    Empty,
    /// The configuration excludes the file.
    Excluded,
}

/// Kind of a code entity.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::code::EntityKind")]
pub(crate) enum EntityKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type.
    Method,
    /// A function that is declared here and defined elsewhere, as in a C header.
    Declaration,
    /// A class, object or record.
    Class,
    /// A struct, or record of fields.
    Struct,
    /// A union of fields.
    Union,
    /// An enumeration of values or variants.
    Enum,
    /// A trait that types implement.
    Trait,
    /// An interface or protocol.
    Interface,
    /// Another name for a type.
    TypeAlias,
    /// A module of code.
    Module,
    /// A namespace of definitions.
    Namespace,
    /// A macro that takes arguments.
    Macro,
    /// A constant at the top level or of a type.
    Constant,
    /// A variable or property at the top level or of a type.
    Variable,
    /// A named block of tests.
    TestSuite,
    /// A named test that is a call.
    TestCase,
}

/// What is rebuilt from the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "EngineProjection")]
pub(crate) enum Projection {
    /// Graph, lists and index.
    All,
    /// The graph of nodes and edges.
    Graph,
    /// The lists that pages, totals and aggregates are read from.
    Lists,
    /// The index that is searched.
    Index,
}

/// What a task does.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "task::TaskKind")]
pub(crate) enum TaskKind {
    /// Reads what is new at the forges and in the repositories.
    Sync,
    /// Gives every document its vectors.
    Embed,
    /// Rebuilds the graph, the lists or the index.
    Rebuild,
    /// Has a language model classify commits and write design notes.
    Enrich,
    /// Removes something from all stores for good.
    Forget,
}

/// State of a task or of a sync on record.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "task::TaskStatus")]
pub(crate) enum TaskStatus {
    /// The work is running.
    Running,
    /// The work ended well.
    Succeeded,
    /// The work ended with an error.
    Failed,
}

/// Direction of a node's edges.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "Direction")]
pub(crate) enum EdgeDirection {
    /// Edges that start at the node.
    Out,
    /// Edges that end at the node, which are their inverse.
    In,
}

/// What an edge says, from the node where it starts to the node where it ends.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::edge::Edge")]
pub(crate) enum EdgeName {
    /// Person → what they wrote: issue, merge request, discussion, note.
    Authored,
    /// Issue or merge request → person.
    AssignedTo,
    /// Issue or merge request → person, at some time.
    WasAssignedTo,
    /// Merge request → person, at some time.
    ReviewRequested,
    /// Person → merge request.
    Reviewed,
    /// Person → merge request.
    Approved,
    /// Person → discussion.
    Resolved,
    /// Merge request or commit → issue.
    Closes,
    /// Text → person.
    Mentions,
    /// Text → issue, merge request, commit.
    References,
    /// Note → discussion → issue or merge request → project; label or milestone → project.
    PartOf,
    /// Note → the note before it.
    RepliesTo,
    /// Note → file.
    CommentsOn,
    /// Issue or merge request → label.
    Labeled,
    /// Issue or merge request → milestone.
    InMilestone,
    /// Merge request → commit.
    MergedAs,
    /// Issue → issue or merge request; the same in both directions.
    RelatesTo,
    /// Issue → issue.
    Blocks,
    /// Issue → issue.
    Duplicates,
    /// Commit → file or code entity whose lines it changes.
    Modifies,
    /// Commit → file or code entity that it adds.
    Introduces,
    /// Commit → file or code entity that it removes.
    Removes,
    /// Merge request that is not merged → file that it would change.
    Proposes,
    /// File or code entity → what it became when it was renamed or moved.
    ReplacedBy,
    /// Commit → commit that builds on it.
    ParentOf,
    /// Commit → merge commit that introduced it to the default branch.
    MergedBy,
    /// Commit → the tag of the first release that has it.
    ShippedIn,
    /// Person → commit that they made of another's change.
    Committed,
    /// Commit → issue, or commit that introduced the fault.
    Fixes,
    /// Commit → commit or merge request that it undoes.
    Reverts,
    /// Commit → commit that it repeats.
    CherryPickOf,
    /// Branch or tag → commit.
    PointsAt,
    /// File or code entity → code entity in it.
    Contains,
    /// Code entity or file → code entity; found by name.
    Calls,
    /// File → file; found by name.
    Imports,
    /// Type → type; found by name.
    Implements,
    /// Type → type; found by name.
    Extends,
    /// File or code entity → test; found by name and calls.
    VerifiedBy,
    /// File or code entity → what often changes in the same commit.
    CoEvolvesWith,
    /// Person by address → person by user name, or by a smaller address.
    SameAs,
}

/// Kind of a test.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::test_files::TestKind")]
pub(crate) enum TestKind {
    /// Tests one unit of code.
    Unit,
    /// Tests several parts together.
    Integration,
    /// Tests the whole from outside.
    EndToEnd,
}

/// How an edge was found.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "explore::EdgeMethod")]
pub(crate) enum EdgeMethod {
    /// Somebody stated it, at the forge or in the repository.
    Stated,
    /// By the names of definitions, imports and test files.
    Names,
    /// By commits that change both.
    CoChange,
    /// By names and addresses of people.
    Identity,
    /// By words, names, people and time: it is inferred that a change has to do with an issue.
    Similarity,
}

/// Which versions a line of a diff is in.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::commit::LineKind")]
pub(crate) enum DiffLineKind {
    /// The line is in both versions.
    Context,
    /// The line is in the new version only.
    Added,
    /// The line is in the old version only.
    Removed,
}

/// Why hunks of a file are left out.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "files::HunksLeftOut")]
pub(crate) enum HunksLeftOut {
    /// A version of the file is not text.
    Binary,
    /// A version of the file has more than 1 MiB.
    TooLarge,
    /// The hunks have more lines than are shown of a file or of a commit.
    TooManyLines,
    /// The entry is a submodule.
    Submodule,
    /// The clone does not have a version of the file.
    NotInClone,
}

/// Rule that determined the type of change that a commit is.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::classify::Rule")]
pub(crate) enum ChangeRule {
    /// The prefix of the subject, as in `fix(cart): …`.
    Prefix,
    /// The purposes of the files that it changes.
    Paths,
    /// The words of the subject.
    Words,
    /// The shape of the diff.
    Shape,
    /// No rule matched, so it is the most common type.
    Default,
}
