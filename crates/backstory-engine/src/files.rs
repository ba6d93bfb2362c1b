//! Code at a revision: directories, the texts of files, where their lines come from and what was said about them. Why
//! lines are as they are is in [`trace`](crate::trace), how files and code entities changed in [`code`](crate::code).

mod chunks;
mod co_change;
mod comments;
mod contributors;
mod definitions;
mod diff;
mod introductions;
mod lineage;
mod text;
mod tree;

pub(crate) use self::{
    chunks::find_version, definitions::list_definitions, diff::diff_change, text::check_file_has_line,
};
pub use self::{
    chunks::{
        ChunksRequest, Fact, FactsRequest, FileChunk, FileChunks, FileFacts, FileVersion, MAX_FACTS, MAX_FILE_CHUNKS,
        MAX_NODE_TYPES,
    },
    co_change::{CoChangeAnswer, CoChangeRequest, CoChanged, LEAST_SUPPORT, MAX_CO_CHANGED},
    comments::{Carried, CommentPosition, CommentsRequest, FileComment, FileComments, MAX_COMMENTS},
    contributors::{Contributor, Contributors, ContributorsRequest, MAX_CONTRIBUTORS},
    definitions::{Definition, Definitions, DefinitionsRequest, MAX_DEFINING_FILES, MAX_DEFINITIONS},
    diff::{CommitDiff, DiffRequest, FileHunks, HunksLeftOut, MAX_CONTEXT, MAX_DIFFED_FILES},
    lineage::{FileLineage, LineSpan, OriginCommit, OriginIssue, OriginMergeRequest},
    text::{FileRequest, FileSymbol, FileText, Highlight, MAX_FILE_LINES, MAX_SYMBOLS, TextLeftOut},
    tree::{DirectoryTree, MAX_ENTRIES, TreeEntry, TreeEntryKind, TreeRequest},
};
