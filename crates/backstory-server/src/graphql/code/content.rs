//! GraphQL types of code at a revision: directories, what files say, where their lines come from, what was said about
//! them, who knows them and what changes with them.

use async_graphql::{Context, Enum, InputObject, Result, SimpleObject};
use backstory_engine::{
    files::{
        self, CoChangeRequest, CommentsRequest, ContributorsRequest, DirectoryTree, FileRequest, LEAST_SUPPORT,
        TreeRequest,
    },
    model::{id::NodeId, lineage},
    trace,
};

use super::{
    super::{
        conversation::Discussion,
        edge::hundredths,
        issue::Issue,
        loaders,
        merge_request::MergeRequest,
        node::Node,
        page,
        person::Person,
        project::Project,
        scalar::{BigInt, DateTime},
        thread::Thread,
    },
    Commit, File, LineRange,
};

/// People, files or entities, unless the request says how many.
const DEFAULT_KNOWN: usize = 20;

/// A range of lines of a file, both ends included.
#[derive(InputObject)]
pub(crate) struct LineRangeInput {
    /// Number of the first line, from 1.
    first: u32,
    /// Number of the last line.
    last: u32,
}

impl LineRangeInput {
    /// First and last line.
    pub(crate) fn bounds(&self) -> (u32, u32) {
        (self.first, self.last)
    }
}

/// How fresh an answer is.
#[derive(SimpleObject)]
pub(crate) struct Indexed {
    /// Indexed commit at the head of the default branch; null if there is none.
    commit: Option<Commit>,
    /// When the repository was last fetched and indexed; null if it never was.
    synced_at: Option<DateTime>,
}

impl Indexed {
    pub(crate) fn of(project: &str, indexed: &trace::Indexed) -> Self {
        Self {
            commit: indexed.commit.map(|commit| Commit::new(project.to_owned(), commit.to_string())),
            synced_at: indexed.synced_at.map(DateTime::from),
        }
    }
}

/// A directory at a revision.
#[derive(SimpleObject)]
pub(crate) struct Tree {
    /// Project that the directory belongs to.
    project: Project,
    /// Path of the directory from the repository's root; empty for the root.
    path: String,
    /// Commit at which the directory has the entries.
    commit: Commit,
    /// How fresh the index is.
    indexed: Indexed,
    /// Entries of the directory: directories first, then the rest, each by name; at most 5,000.
    entries: Vec<TreeEntry>,
    /// How many entries are left out.
    left_out_count: usize,
}

/// What an entry of a directory is.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "files::TreeEntryKind")]
pub(crate) enum TreeEntryKind {
    /// A directory in the directory.
    Directory,
    /// An ordinary file.
    File,
    /// A file that can be executed.
    Executable,
    /// A symbolic link.
    SymbolicLink,
    /// A commit of another repository.
    Submodule,
}

/// An entry of a directory.
#[derive(SimpleObject)]
pub(crate) struct TreeEntry {
    /// Name of the entry in the directory.
    name: String,
    /// Path of the entry from the repository's root.
    path: String,
    /// Kind of the entry.
    kind: TreeEntryKind,
    /// Object name of the content; of a submodule, that of the commit.
    object: String,
    /// How many bytes the content has; null if it is not a file.
    bytes: Option<BigInt>,
    /// Programming language of the content; null if it is not code.
    language: Option<String>,
    /// Node of the file; null if it is not a file.
    file: Option<File>,
    /// Commit that changed the entry last; null unless the directory is that of an indexed head.
    last_commit: Option<Commit>,
}

impl From<files::TreeEntry> for TreeEntry {
    fn from(entry: files::TreeEntry) -> Self {
        Self {
            name: entry.name,
            path: entry.path,
            kind: entry.kind.into(),
            object: entry.object.to_string(),
            bytes: entry.bytes.map(BigInt::from),
            language: entry.language,
            file: entry.file.and_then(file_node),
            last_commit: entry.last_commit.and_then(|commit| commit_node(commit.id)),
        }
    }
}

impl From<DirectoryTree> for Tree {
    fn from(tree: DirectoryTree) -> Self {
        Self {
            commit: Commit::new(tree.project.clone(), tree.rev.to_string()),
            indexed: Indexed::of(&tree.project, &tree.indexed),
            project: Project::new(tree.project),
            path: tree.path,
            entries: tree.entries.into_iter().map(TreeEntry::from).collect(),
            left_out_count: tree.left_out,
        }
    }
}

/// What a file says at a revision.
#[derive(SimpleObject)]
pub(crate) struct FileContent {
    /// Commit at which the file has the content.
    commit: Commit,
    /// How fresh the index is.
    indexed: Indexed,
    /// Kind of the file.
    kind: TreeEntryKind,
    /// Object name of the content.
    blob: String,
    /// How many bytes the content has.
    bytes: BigInt,
    /// Programming language of the content; null if it is not code.
    language: Option<String>,
    /// How many lines the content has; null if it is not text that can be shown.
    line_count: Option<u32>,
    /// First and last line of `text`; null without any lines.
    lines: Option<LineRange>,
    /// Lines that were asked for, without the secrets in them; null if they are left out.
    text: Option<String>,
    /// SHA-256 of the whole text as it is shown, in hex; null if it is left out.
    text_hash: Option<String>,
    /// Why the text is left out; null if it is not.
    left_out: Option<TextLeftOut>,
    /// Where the lines of `text` come from; null without any lines.
    lineage: Option<FileLineage>,
}

/// Why the text of a file is left out.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "files::TextLeftOut")]
pub(crate) enum TextLeftOut {
    /// The content is not text.
    Binary,
    /// The content has more than 4 MiB.
    TooLarge,
    /// The file is a symbolic link.
    SymbolicLink,
}

impl From<files::FileText> for FileContent {
    fn from(file: files::FileText) -> Self {
        Self {
            commit: Commit::new(file.project.clone(), file.rev.to_string()),
            indexed: Indexed::of(&file.project, &file.indexed),
            kind: file.kind.into(),
            blob: file.blob.to_string(),
            bytes: file.bytes.into(),
            language: file.language,
            line_count: file.line_count,
            lines: file.lines.map(LineRange::from),
            text: file.text,
            text_hash: file.text_hash,
            left_out: file.left_out.map(TextLeftOut::from),
            lineage: file.lineage.map(FileLineage::from),
        }
    }
}

/// Where lines of a file come from.
#[derive(SimpleObject)]
pub(crate) struct FileLineage {
    /// Consecutive lines that come from consecutive lines of one version of one file, in order and without gaps.
    spans: Vec<LineSpan>,
    /// What was not looked up, a sentence each; empty if everything was.
    left_out: Vec<String>,
}

/// Lines and where they come from.
#[derive(SimpleObject)]
pub(crate) struct LineSpan {
    /// First and last line of the span.
    lines: LineRange,
    /// Commit that wrote the lines.
    commit: Commit,
    /// File that the lines were written in, under the path that it had then.
    origin: File,
    /// First and last line of the span when they were written.
    origin_lines: LineRange,
    /// What blame passed over on the way from the lines to their origin.
    seen_through: Vec<SeenThrough>,
    /// Nearest merge request that introduced the commit; null if none did.
    merge_request: Option<MergeRequest>,
    /// Issues that the commit and the merge request close, or else those that they refer to.
    issues: Vec<Issue>,
    /// How many discussions are about the lines, wherever the lines were when they began.
    discussion_count: usize,
}

/// What blame passed over on the way from a line to its origin.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lineage::SeenThrough")]
pub(crate) enum SeenThrough {
    /// The line was moved.
    Moved,
    /// The line was copied.
    Copied,
    /// An ignored revision rewrote the line.
    IgnoredRevision,
}

impl From<files::FileLineage> for FileLineage {
    fn from(lineage: files::FileLineage) -> Self {
        Self { spans: lineage.spans.into_iter().filter_map(line_span).collect(), left_out: lineage.left_out }
    }
}

fn line_span(span: files::LineSpan) -> Option<LineSpan> {
    let project = span.commit.project()?.to_owned();
    Some(LineSpan {
        lines: LineRange::counted(span.start, span.lines),
        commit: commit_node(span.commit)?,
        origin: File::new(project, span.path),
        origin_lines: LineRange::counted(span.line, span.lines),
        seen_through: span.seen_through.into_iter().map(SeenThrough::from).collect(),
        merge_request: span.merge_request.map(MergeRequest::new),
        issues: span.issues.into_iter().map(Issue::new).collect(),
        discussion_count: span.discussions,
    })
}

/// A discussion about lines of a file.
#[derive(SimpleObject)]
pub(crate) struct FileComment {
    /// Discussion about the lines.
    discussion: Discussion,
    /// Issue or merge request that the discussion belongs to.
    thread: Thread,
    /// First and last line at the revision; null if the lines are gone.
    lines: Option<LineRange>,
    /// How the lines at the revision were found.
    carried: Carried,
    /// File that the discussion began on, under the path that it had then.
    original_file: File,
    /// First and last line when the discussion began; null on removed lines.
    original_lines: Option<LineRange>,
    /// Commit that has the original lines; null if that is not known.
    original_commit: Option<Commit>,
}

/// How the lines of a comment were found at another revision.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "files::Carried")]
pub(crate) enum Carried {
    /// The lines themselves were followed.
    Exact,
    /// The commit that the comment was written on is not in the clone; lines of its merge request near the position
    /// were used.
    Near,
    /// The lines are gone, or cannot be followed.
    Outdated,
}

/// A file or code entity that changes together with another.
#[derive(SimpleObject)]
pub(crate) struct CoChange {
    /// File or code entity that changes together with the other.
    node: Node,
    /// How many commits changed both; commits that change more than 30 files or entities do not count.
    support: u32,
    /// Share of the changes of the one that was asked about in which both changed, 0 to 1.
    confidence: f64,
}

/// Somebody who knows a file or directory.
#[derive(SimpleObject)]
pub(crate) struct Contributor {
    /// Person who knows the file or directory.
    person: Person,
    /// How many lines of the file the person wrote; null for a directory.
    line_count: Option<u32>,
    /// How many commits of the person changed the file or directory, without merges.
    commit_count: usize,
    /// How many lines the person's commits add, in all files.
    additions: BigInt,
    /// How many lines the person's commits remove, in all files.
    deletions: BigInt,
    /// When the person wrote their first commit that changed it; null without commits.
    first_at: Option<DateTime>,
    /// When the person wrote their last commit that changed it; null without commits.
    last_at: Option<DateTime>,
    /// How many merge requests with commits that changed it the person reviewed or approved.
    review_count: usize,
}

impl From<files::Contributor> for Contributor {
    fn from(of: files::Contributor) -> Self {
        let username = match of.person {
            NodeId::Person(username) => username,
            other => other.to_string(),
        };
        Self {
            person: Person::new(username),
            line_count: of.lines,
            commit_count: of.commits,
            additions: of.insertions.into(),
            deletions: of.deletions.into(),
            first_at: of.first_at.map(DateTime::from),
            last_at: of.last_at.map(DateTime::from),
            review_count: of.reviews,
        }
    }
}

pub(crate) fn commit_node(id: NodeId) -> Option<Commit> {
    match id {
        NodeId::Commit { project, sha } => Some(Commit::new(project, sha)),
        _ => None,
    }
}

fn file_node(id: NodeId) -> Option<File> {
    match id {
        NodeId::File { project, path } => Some(File::new(project, path)),
        _ => None,
    }
}

/// A directory at a revision.
pub(crate) async fn tree(ctx: &Context<'_>, project: String, path: String, rev: Option<String>) -> Result<Tree> {
    let wanted = ctx.look_ahead().field("entries").field("lastCommit").exists();
    let request = TreeRequest { project: Some(project), path, rev, last_commits: wanted };
    Ok(loaders::engine(ctx)?.answer(request).await?.into())
}

/// What a file says at a revision.
pub(super) async fn content(
    ctx: &Context<'_>,
    (project, path): (&str, &str),
    rev: Option<String>,
    lines: Option<LineRangeInput>,
) -> Result<FileContent> {
    let request = FileRequest {
        project: Some(project.to_owned()),
        path: path.to_owned(),
        rev,
        lines: lines.map(|lines| (lines.first, lines.last)),
        lineage: ctx.look_ahead().field("lineage").exists(),
        ..FileRequest::default()
    };
    Ok(loaders::engine(ctx)?.answer(request).await?.into())
}

/// The discussions about lines of a file.
pub(super) async fn comments(
    ctx: &Context<'_>,
    (project, path): (&str, &str),
    rev: Option<String>,
    lines: Option<LineRangeInput>,
    resolved: Option<bool>,
) -> Result<Vec<FileComment>> {
    let request = CommentsRequest {
        project: Some(project.to_owned()),
        path: path.to_owned(),
        rev,
        lines: lines.map(|lines| (lines.first, lines.last)),
        resolved,
    };
    let found = loaders::engine(ctx)?.answer(request).await?;
    let comment = |comment: files::FileComment| {
        let NodeId::Discussion { thread, id } = comment.discussion else { return None };
        Some(FileComment {
            discussion: Discussion::new(thread, id),
            thread: comment.thread.into(),
            lines: comment.lines.map(LineRange::from),
            carried: comment.carried.into(),
            original_file: File::new(project.to_owned(), comment.position.path),
            original_lines: comment.position.lines.map(LineRange::from),
            original_commit: comment.position.commit.map(|sha| Commit::new(project.to_owned(), sha)),
        })
    };
    Ok(found.comments.into_iter().filter_map(comment).collect())
}

/// What changes together with a file or code entity.
pub(super) async fn co_changes(
    ctx: &Context<'_>,
    id: &NodeId,
    first: Option<i32>,
    min_support: Option<i32>,
) -> Result<Vec<CoChange>> {
    let limit = page::size(first, DEFAULT_KNOWN)?;
    let min_support = min_support.map_or(Ok(LEAST_SUPPORT), |support| {
        let least = format!("'minSupport' is {support}; it must be {LEAST_SUPPORT} or more");
        u32::try_from(support).map_err(|_| page::invalid(least))
    })?;
    let request = CoChangeRequest { id: id.clone(), limit, min_support };
    let found = loaders::engine(ctx)?.answer(request).await?;
    let changed = found.changed.into_iter().map(|of| CoChange {
        node: of.id.into(),
        support: of.support,
        confidence: hundredths(of.confidence),
    });
    Ok(changed.collect())
}

/// Who knows a file or directory.
pub(crate) async fn contributors(
    ctx: &Context<'_>,
    project: &str,
    path: &str,
    first: Option<i32>,
) -> Result<Vec<Contributor>> {
    let limit = page::size(first, DEFAULT_KNOWN)?;
    let request = ContributorsRequest { project: Some(project.to_owned()), path: path.to_owned(), limit };
    let found = loaders::engine(ctx)?.answer(request).await?;
    Ok(found.people.into_iter().map(Contributor::from).collect())
}
