//! What was written, so that it can be taken back: of each file the place, what stood there, and what was put there. No
//! file is copied, since configurations hold secrets.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown},
    path::{Component, Path, PathBuf},
};

use backstory_engine::{error::ErrorKind, model::digest::sha256_hex};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result, reason};

/// Who may read a file while it is written.
const PRIVATE_MODE: u32 = 0o600;
/// Who may read one that is created: it holds no secrets.
const CREATED_MODE: u32 = 0o644;
/// What of a file's permissions lets somebody write to it.
const WRITABLE: u32 = 0o222;
/// Most links that are followed to a file.
const MAX_LINKS: usize = 16;
/// Largest file that is edited.
const MAX_FILE: u64 = 16 << 20;

/// All that was written and not yet taken back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Receipt {
    /// In the order in which it was written.
    edits: Vec<Edit>,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edit {
    /// The file.
    pub(super) path: PathBuf,
    /// What was written into it.
    pub(super) what: EditKind,
    /// Directories that were created for it, the outermost first; none if the file was there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    directories: Vec<PathBuf>,
    /// Whether the file was created.
    created: bool,
    /// SHA-256 of the file afterwards.
    after: String,
    /// Where it differs from before, in bytes.
    offset: usize,
    /// What stood there.
    removed: String,
    /// What was put there.
    inserted: String,
}

/// What is written into a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EditKind {
    /// The entry of a server, below a key.
    Entry { key: String },
    /// A block of instructions.
    Block,
    /// A hook that runs a command.
    Hook { command: String },
    /// The whole file.
    Skill,
}

/// How taking back an edit went.
pub(super) enum UndoOutcome {
    /// The file is as it was.
    Exactly,
    /// The file has changed since: only what was written is gone.
    Partly,
    /// Nothing of it was there any more.
    Nothing,
}

impl Receipt {
    /// Reads it; an empty one if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let Some(text) = read_text(path)? else { return Ok(Self::default()) };
        serde_json::from_str(&text).map_err(|error| {
            let message = format!("{} cannot be understood: {error}; move it away", path.display());
            Failure::new(ErrorKind::Configuration, message)
        })
    }

    /// Writes it, or removes it if nothing is left.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        if self.edits.is_empty() {
            return match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot_write(path, &error)),
                _ => Ok(()),
            };
        }
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::new(ErrorKind::Internal, format!("the receipt: {error}")))?;
        create_directories(path)?;
        write_text(path, &text)
    }

    /// Whether a file has something of a kind that was written by this command.
    pub(super) fn has(&self, path: &Path, what: &EditKind) -> bool {
        self.edits.iter().any(|edit| edit.path == path && edit.what == *what)
    }

    /// Commands of hooks that were written into a file, but for one.
    pub(super) fn other_hooks<'a>(&'a self, path: &'a Path, command: &'a str) -> impl Iterator<Item = &'a str> {
        let of_file = self.edits.iter().filter(move |edit| edit.path == path);
        of_file.filter_map(move |edit| match &edit.what {
            EditKind::Hook { command: other } if other != command => Some(other.as_str()),
            EditKind::Hook { .. } | EditKind::Entry { .. } | EditKind::Block | EditKind::Skill => None,
        })
    }

    /// What was written, in that order.
    pub(super) fn edits(&self) -> impl Iterator<Item = &Edit> {
        self.edits.iter()
    }

    /// Writes a file and notes what differs.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write_file(
        &mut self,
        path: &Path,
        edit_kind: EditKind,
        old_text: Option<&str>,
        new_text: &str,
    ) -> Result<()> {
        let edit = Edit::between(path, edit_kind, old_text, new_text);
        let directories = create_directories(&follow_links(path))?;
        write_text(path, new_text)?;
        self.edits.push(Edit { directories, ..edit });
        Ok(())
    }

    /// Takes back the last edit that meets a condition, and says how that went; `None` if there is none. If a file cannot
    /// be written, or is not understood any more, the edit stays noted.
    pub(super) fn undo_last(
        &mut self,
        is_wanted: impl Fn(&Edit) -> bool,
        remove: impl Fn(&Edit, &str) -> Result<Option<String>>,
    ) -> Option<(Edit, Result<UndoOutcome>)> {
        let at = self.edits.iter().rposition(is_wanted)?;
        let edit = self.edits[at].clone();
        let undone = edit.undo(remove);
        if undone.is_ok() {
            self.edits.remove(at);
        }
        Some((edit, undone))
    }
}

impl Edit {
    /// What differs between a file before and after.
    pub(super) fn between(path: &Path, what: EditKind, old: Option<&str>, new: &str) -> Self {
        let before = old.unwrap_or_default();
        let mut start = before.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        while !(before.is_char_boundary(start) && new.is_char_boundary(start)) {
            start -= 1;
        }
        let longest = before.len().min(new.len()) - start;
        let same = before.bytes().rev().zip(new.bytes().rev()).take(longest).take_while(|(a, b)| a == b).count();
        let mut end = same;
        while !(before.is_char_boundary(before.len() - end) && new.is_char_boundary(new.len() - end)) {
            end -= 1;
        }
        Self {
            path: path.to_owned(),
            what,
            directories: Vec::new(),
            created: old.is_none(),
            after: sha256_hex(new),
            offset: start,
            removed: before[start..before.len() - end].to_owned(),
            inserted: new[start..new.len() - end].to_owned(),
        }
    }

    /// What was put there, for people.
    pub(super) fn inserted(&self) -> &str {
        &self.inserted
    }

    fn undo(&self, remove: impl Fn(&Self, &str) -> Result<Option<String>>) -> Result<UndoOutcome> {
        let Some(text) = read_text(&self.path)? else { return Ok(UndoOutcome::Nothing) };
        if sha256_hex(&text) == self.after {
            if self.created {
                fs::remove_file(follow_links(&self.path)).map_err(|error| cannot_write(&self.path, &error))?;
                for directory in self.directories.iter().rev() {
                    // It has something else in it.
                    let _ = fs::remove_dir(directory);
                }
                return Ok(UndoOutcome::Exactly);
            }
            let end = self.offset + self.inserted.len();
            if text.get(self.offset..end) == Some(self.inserted.as_str()) {
                write_text(&self.path, &format!("{}{}{}", &text[..self.offset], self.removed, &text[end..]))?;
                return Ok(UndoOutcome::Exactly);
            }
        }
        match remove(self, &text)? {
            Some(without) => {
                write_text(&self.path, &without)?;
                Ok(UndoOutcome::Partly)
            }
            None => Ok(UndoOutcome::Nothing),
        }
    }
}

/// The text of a file; `None` if there is none.
///
/// # Errors
/// It cannot be read, or is too large.
pub(super) fn read_text(path: &Path) -> Result<Option<String>> {
    let cannot_read = |why: String| Failure::configuration(format!("{} cannot be read: {why}", path.display()));
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot_read(reason(&error))),
        Ok(found) if !found.is_file() || found.len() > MAX_FILE => {
            return Err(cannot_read("it is not a file, or too large".to_owned()));
        }
        Ok(_) => {}
    }
    fs::read_to_string(path).map(Some).map_err(|error| cannot_read(reason(&error)))
}

/// The file that a path leads to, also if it is not there.
fn follow_links(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&target) else { break };
        target = target.with_file_name("").join(next);
    }
    target
}

/// Refuses a file that a path leads to outside of a directory, through links in it.
///
/// # Errors
/// It is outside, or its place cannot be found.
pub(super) fn require_below(root: &Path, path: &Path) -> Result<()> {
    let target = follow_links(path);
    let is_below = || -> Option<bool> {
        let parent = target.ancestors().skip(1).find(|directory| directory.exists())?;
        // What is not there yet is created, and must not lead up again.
        let mut missing = target.strip_prefix(parent).ok()?.components();
        let leads_down = missing.all(|part| matches!(part, Component::Normal(_)));
        Some(leads_down && parent.canonicalize().ok()?.starts_with(root.canonicalize().ok()?))
    };
    if is_below() == Some(true) {
        return Ok(());
    }
    let message = format!("{} points outside of {}", path.display(), root.display());
    let hint = "replace the link with a file, or use --scope user".to_owned();
    Err(Failure { hint: Some(hint), ..Failure::configuration(message) })
}

/// Replaces a file in one step, with the permissions and the owner that it has. A link is followed: what it leads to is
/// replaced. A file that nobody may write to is somebody's decision, and left alone.
fn write_text(path: &Path, text: &str) -> Result<()> {
    let target = follow_links(path);
    let failed = |error: io::Error| cannot_write(path, &error);
    let known = fs::metadata(&target).ok();
    if known.as_ref().is_some_and(|known| known.permissions().mode() & WRITABLE == 0) {
        let message = format!("{} cannot be written: it is read-only", path.display());
        return Err(Failure {
            hint: Some("make it writable, or edit it by hand".to_owned()),
            ..Failure::configuration(message)
        });
    }
    let mode = known.as_ref().map_or(CREATED_MODE, |known| known.permissions().mode());
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".backstory-{}", std::process::id()));
    let beside = target.with_file_name(name);
    let write = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(PRIVATE_MODE).open(&beside)?;
        file.write_all(text.as_bytes())?;
        let own = file.metadata()?;
        if let Some(known) = known.filter(|known| (known.uid(), known.gid()) != (own.uid(), own.gid())) {
            fchown(&file, Some(known.uid()), Some(known.gid()))?;
        }
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(&beside, &target)
    };
    write().map_err(|error| {
        // It may not be there.
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}

/// Creates the directories of a file; those that were not there, the outermost first.
fn create_directories(path: &Path) -> Result<Vec<PathBuf>> {
    let missing = path.ancestors().skip(1).take_while(|directory| !directory.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent).map_err(|error| cannot_write(path, &error))?,
        None => return Ok(missing),
    }
    Ok(missing)
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::configuration(format!("{} cannot be written: {}", path.display(), reason(error)))
}
