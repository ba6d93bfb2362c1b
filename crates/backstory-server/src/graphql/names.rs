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
    /// What changed since the last sync, by the forge's word.
    New,
    /// Everything that the forge lists, and of that what differs from what is known; what it does not list is gone.
    Reconcile,
    /// Everything, again.
    Full,
}

/// What a sync can be narrowed to.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "Part")]
pub(crate) enum SyncPart {
    /// Issues of the forge, with their discussions; of GitHub merge requests too, as it has them in one list.
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
    /// Reads what is new.
    Sync,
    /// Compares everything that the forge lists with what is known, and reads what differs.
    Reconcile,
    /// Reads everything again.
    Full,
    /// Reads one issue or merge request again.
    Refetch,
}

/// How a job stands.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ledger::JobStatus")]
pub(crate) enum JobStatus {
    /// Waits for its turn, or for its next attempt.
    Queued,
    /// At work.
    Running,
    /// Ended well.
    Succeeded,
    /// Given up after an error.
    Failed,
    /// Somebody did not want it any more.
    Cancelled,
}

/// What was done to something that is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ledger::AuditAction")]
pub(crate) enum AuditAction {
    /// It was forgotten.
    Forget,
    /// It may be read again.
    Undo,
    /// `[retention]` does not keep some of it any more.
    Retire,
}

/// What was forgotten, may be read again or is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ledger::ForgottenKind")]
pub(crate) enum ForgottenKind {
    /// An issue or merge request.
    Thread,
    /// A project.
    Project,
    /// A person.
    Person,
}

/// How the work ended that reached a state of the index.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ledger::SnapshotStatus")]
pub(crate) enum SnapshotStatus {
    /// Well.
    Completed,
    /// With an error, after it had changed something.
    Failed,
}

/// Where an issue, merge request or milestone stands.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::entity::State")]
pub(crate) enum State {
    /// Being worked on.
    Opened,
    /// Closed without a merge.
    Closed,
    /// Merged.
    Merged,
    /// Locked while it is being merged.
    Locked,
}

/// What a document is for, the most binding first.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::document_type::DocumentType")]
pub(crate) enum DocumentType {
    /// It specifies how things must be.
    Spec,
    /// It is what others rely on: an interface, a schema.
    Contract,
    /// It records a decision.
    Adr,
    /// It explains.
    Doc,
    /// It is source code.
    Code,
    /// An issue.
    Issue,
    /// A merge request.
    MergeRequest,
    /// A discussion.
    Discussion,
    /// A commit.
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
    /// A file: what it says of itself, and what is in none of its parts.
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
    /// A note in a thread.
    Discussion,
    /// A note on lines of the diff.
    Diff,
}

/// What a search compares the query with.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "search::Mode")]
pub(crate) enum SearchMode {
    /// Words and meaning.
    Hybrid,
    /// Words (BM25).
    Lexical,
    /// Meaning (vectors).
    Semantic,
}

/// How the parts of a hit become its score.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::score::Profile")]
pub(crate) enum RankingProfile {
    /// Meaning and words count alike; who and where in the graph a little.
    Default,
    /// New and important things count much, words nothing.
    Gitmemory,
    /// Ranks by meaning and by words are fused, reciprocally with k = 60.
    Rrf,
}

/// What a commit does to a file.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::commit::ChangeStatus")]
pub(crate) enum ChangeStatus {
    /// It was not there before.
    Added,
    /// Its content or permissions change.
    Modified,
    /// It is not there any more.
    Deleted,
    /// It moves to another path, possibly with edits.
    Renamed,
    /// It is made from another file, which stays.
    Copied,
    /// It becomes another kind: file, symbolic link, submodule.
    TypeChanged,
}

/// Type of a change.
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
    /// Closes a hole.
    Security,
    /// Changes texts for people only.
    Documentation,
    /// Changes tests only.
    Test,
    /// Changes dependencies.
    Dependency,
    /// Changes settings, builds, pipelines and releases.
    Configuration,
    /// Removes what is dead, formats.
    Cleanup,
}

/// Why the content of a file is left out.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::code::LeftOutReason")]
pub(crate) enum LeftOutReason {
    /// It is not text.
    Binary,
    /// A program wrote it.
    Generated,
    /// It was written for another project.
    Vendored,
    /// It has more bytes than the limit.
    TooLarge,
    /// It has no bytes.
    Empty,
    /// The configuration says so.
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
    /// A function that is announced and defined elsewhere, as in a C header.
    Declaration,
    /// A class, object or record.
    Class,
    /// A struct.
    Struct,
    /// A union.
    Union,
    /// An enum.
    Enum,
    /// A trait.
    Trait,
    /// An interface or protocol.
    Interface,
    /// Another name for a type.
    TypeAlias,
    /// A module.
    Module,
    /// A namespace.
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
    /// All of them.
    All,
    /// The graph.
    Graph,
    /// The lists: what pages, totals and aggregates are read from.
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
    /// Takes something out of all stores for good.
    Forget,
}

/// How a task or a recorded run stands.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "task::TaskStatus")]
pub(crate) enum TaskStatus {
    /// At work.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended with an error.
    Failed,
}

/// Which of a node's edges.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "Direction")]
pub(crate) enum EdgeDirection {
    /// Those that start at the node.
    Out,
    /// Those that end at the node: their inverse.
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
    /// Issue → issue or merge request; means the same both ways.
    RelatesTo,
    /// Issue → issue.
    Blocks,
    /// Issue → issue.
    Duplicates,
    /// Commit → file or code entity whose lines it changes.
    Modifies,
    /// Commit → file or code entity that it adds.
    Introduces,
    /// Commit → file or code entity that it takes away.
    Removes,
    /// Merge request that is not merged → file that it would change.
    Proposes,
    /// File or code entity → what it became when it was renamed or moved.
    ReplacedBy,
    /// Commit → commit that builds on it.
    ParentOf,
    /// Commit → merge commit that brought it to the default branch.
    MergedBy,
    /// Commit → the tag of the first release that has it.
    ShippedIn,
    /// Person → commit that they made of another's change.
    Committed,
    /// Commit → issue, or commit that brought the fault.
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
    /// Of one unit of code.
    Unit,
    /// Of parts together.
    Integration,
    /// Of the whole, from outside.
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

/// Where a line of a diff stands.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::commit::LineKind")]
pub(crate) enum DiffLineKind {
    /// In both versions.
    Context,
    /// In the new version only.
    Added,
    /// In the old version only.
    Removed,
}

/// Why hunks of a file are left out.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "files::HunksLeftOut")]
pub(crate) enum HunksLeftOut {
    /// A version of it is not text.
    Binary,
    /// A version of it has more than 1 MiB.
    TooLarge,
    /// They have more lines than are shown of a file or of a commit.
    TooManyLines,
    /// It is a submodule.
    Submodule,
    /// The clone does not have a version of it.
    NotInClone,
}

/// Which rule told what sort of change a commit is.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::classify::Rule")]
pub(crate) enum ChangeRule {
    /// The subject's prefix, as in `fix(cart): …`.
    Prefix,
    /// What the files are for.
    Paths,
    /// The words of the subject.
    Words,
    /// What the diff looks like.
    Shape,
    /// Nothing spoke: the most common type.
    Default,
}
