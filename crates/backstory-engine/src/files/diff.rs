//! What a commit changes, in hunks, read from the clone.

use backstory_model::{
    commit::{ChangeStatus, FileChange, FileDiff, Hunk},
    id::NodeId,
    text::truncate_echo,
};
use backstory_sources::git::{
    objects::{ObjectError, Objects},
    text_diff::TextDiffOptions,
};
use serde::{Deserialize, Serialize};

use crate::{
    clones::{clean_text, open_objects},
    error::{Error, Result},
    read::not_found,
    records::commit_record,
    resources::Resources,
    use_case::{UseCase, Weight},
};

/// Most files of one answer.
pub const MAX_DIFFED_FILES: usize = 100;
/// Most lines around a change.
pub const MAX_CONTEXT: u32 = 100;
/// Largest file that is compared, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Most lines of the hunks of one file.
const MAX_FILE_LINES: usize = 5_000;
/// Most lines of the hunks of one answer.
const MAX_LINES: usize = 20_000;

/// Requests what a commit changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffRequest {
    /// The commit.
    pub id: NodeId,
    /// Paths after the commit, of a deleted file before it; all if empty.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Lines around a change, at most 100.
    #[serde(default)]
    pub context: u32,
}

impl UseCase for DiffRequest {
    const NAME: &'static str = "diff";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = CommitDiff;

    async fn run(self, resources: &Resources) -> Result<CommitDiff> {
        resources.blocking(move |resources| diff_commit(resources, &self)).await
    }
}

/// What a commit changes against its first parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommitDiff {
    /// The commit.
    pub id: NodeId,
    /// The files, in git's order; at most 100.
    pub files: Vec<FileHunks>,
    /// How many more it changes.
    pub left_out: usize,
}

/// What a commit changes in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileHunks {
    /// Path after the commit; of a deleted file, before it.
    pub path: String,
    /// Path before the commit if it is another: of a renamed or copied file.
    pub old_path: Option<String>,
    /// What happens to it.
    pub status: ChangeStatus,
    /// How much of a renamed or copied file stays, in percent.
    pub similarity: Option<u8>,
    /// Lines that it adds; null for a binary file.
    pub additions: Option<u32>,
    /// Lines that it removes; null for a binary file.
    pub deletions: Option<u32>,
    /// What differs, from top to bottom.
    pub hunks: Vec<Hunk>,
    /// Why there are no hunks, or not all.
    pub left_out: Option<HunksLeftOut>,
}

/// Why hunks of a file are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HunksLeftOut {
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

/// Returns what a commit changes, without the secrets in it.
///
/// # Errors
/// There is no such commit, a bound is exceeded, or the clone cannot be read.
fn diff_commit(resources: &Resources, request: &DiffRequest) -> Result<CommitDiff> {
    let name = request.id.to_string();
    let NodeId::Commit { project, sha } = &request.id else {
        return Err(Error::invalid(format!("{} is not a commit", truncate_echo(&name)))
            .with_hint("write group/project@1a2b3c4"));
    };
    if request.context > MAX_CONTEXT {
        return Err(Error::invalid(format!("{} lines of context; at most {MAX_CONTEXT}", request.context)));
    }
    let Some(record) = commit_record(resources, project, sha)? else { return Err(not_found("commit", &name)) };
    let commit = record.commit;
    let is_asked = |change: &&FileChange| {
        request.paths.is_empty() || request.paths.iter().any(|path| path == change.path.as_str())
    };
    let asked: Vec<&FileChange> = commit.changes.iter().filter(is_asked).collect();
    let objects = open_objects(resources, project)?;
    let mut lines_left = MAX_LINES;
    let mut files = Vec::new();
    for change in asked.iter().take(MAX_DIFFED_FILES) {
        let file = diff_change(resources, &objects, change, request.context, lines_left)?;
        lines_left -= file.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>().min(lines_left);
        files.push(file);
    }
    let left_out = asked.len() - files.len();
    Ok(CommitDiff { id: NodeId::commit(project, &commit.sha.to_string()), files, left_out })
}

/// What a commit changes in a file, without the secrets in it, in at most so many lines.
///
/// # Errors
/// The clone cannot be read.
pub(crate) fn diff_change(
    resources: &Resources,
    objects: &Objects,
    change: &FileChange,
    context: u32,
    lines_left: usize,
) -> Result<FileHunks> {
    let mut file = FileHunks {
        path: change.path.as_str().to_owned(),
        old_path: change.old_path.as_ref().map(|path| path.as_str().to_owned()),
        status: change.status,
        similarity: change.similarity,
        additions: change.lines.map(|lines| lines.insertions),
        deletions: change.lines.map(|lines| lines.deletions),
        hunks: Vec::new(),
        left_out: None,
    };
    if change.is_submodule() {
        file.left_out = Some(HunksLeftOut::Submodule);
        return Ok(file);
    }
    let options = TextDiffOptions {
        context,
        max_bytes: MAX_BYTES,
        max_lines: MAX_FILE_LINES.min(lines_left),
        ..TextDiffOptions::default()
    };
    let (old, new) = (change.old.map(|old| old.id), change.new.map(|new| new.id));
    match objects.text_diff(old, new, options, &|bytes| clean_text(resources, bytes)) {
        Ok(FileDiff::Text { hunks, left_out }) => {
            file.left_out = (left_out > 0).then_some(HunksLeftOut::TooManyLines);
            file.hunks = hunks;
        }
        Ok(FileDiff::Binary) => file.left_out = Some(HunksLeftOut::Binary),
        Ok(FileDiff::TooLarge) => file.left_out = Some(HunksLeftOut::TooLarge),
        Err(ObjectError::Absent(_)) => file.left_out = Some(HunksLeftOut::NotInClone),
        Err(error) => return Err(error.into()),
    }
    Ok(file)
}
