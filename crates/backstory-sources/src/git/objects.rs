//! Reads files, directories and ancestry in process. One [`Objects`] serves any number of threads.

use std::{
    collections::HashMap,
    ops::Range,
    path::{Path, PathBuf},
};

use backstory_model::commit::{FileMode, ObjectKind, RepoPath, Sha, Signature};
use git2::{ErrorCode, ObjectType, Oid, Repository};
use parking_lot::Mutex;

use super::{
    commit_object::{parse_commit, parse_links},
    refs::sha,
    trees::{self, MAX_DEPTH, Trees},
};

/// Most opened repositories that are kept for the next reader.
const MAX_IDLE: usize = 16;
/// Most directories and files that were left out of a list and are named.
const MAX_NAMED: usize = 5;

/// Why an object cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// It is not in the clone.
    #[error("object {0} is not in the clone")]
    Absent(Sha),
    /// The commit has no such path.
    #[error("commit {commit} has no '{path}'")]
    NoSuchPath {
        /// The commit.
        commit: Sha,
        /// The path.
        path: RepoPath,
    },
    /// It is another kind of object.
    #[error("object {id} is not a {wanted}")]
    OtherKind {
        /// The object.
        id: Sha,
        /// What was wanted.
        wanted: &'static str,
    },
    /// It is larger than the caller wants.
    #[error("object {id} has {size} bytes, more than the {limit} that are read")]
    TooLarge {
        /// The object.
        id: Sha,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// It is damaged, or the clone is.
    #[error("'{}' cannot be read: {said}", path.display())]
    Unreadable {
        /// The clone.
        path: PathBuf,
        /// What libgit2 says.
        said: String,
    },
}

/// What stands at a path of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The blob, the tree, or the commit of a submodule.
    pub id: Sha,
    /// Kind and permissions.
    pub mode: FileMode,
}

/// A file of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Path from the root of the tree.
    pub path: RepoPath,
    /// The blob, or the commit of a submodule.
    pub id: Sha,
    /// Kind and permissions.
    pub mode: FileMode,
    /// Bytes of the blob; `None` for a submodule and for a blob that is not in the clone.
    pub size: Option<u64>,
}

/// The files of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeListing {
    /// As git orders them.
    pub files: Vec<TreeFile>,
    /// Directories and files that are not among them, because they lie in more than 256 directories or are too many: how
    /// many.
    pub left_out: u64,
    /// The first of them.
    pub named: Vec<RepoPath>,
}

/// Lines of a text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The lines that were asked for and are there, with their line ends; what is not UTF-8 is replaced.
    pub text: String,
    /// Number of the first of them, from 1.
    pub first: usize,
    /// How many there are.
    pub count: usize,
    /// How many lines the file has.
    pub total: usize,
}

/// The objects of a bare repository. What a later fetch adds is seen.
pub struct Objects {
    path: PathBuf,
    idle: Mutex<Vec<Repository>>,
}

impl Objects {
    /// Opens a bare repository.
    ///
    /// # Errors
    /// If it is none.
    pub fn open(clone: &Path) -> Result<Self, ObjectError> {
        let objects = Self { path: clone.to_owned(), idle: Mutex::new(Vec::new()) };
        objects.with(|_| Ok(()))?;
        Ok(objects)
    }

    /// Calls with a repository that nobody else uses meanwhile.
    pub(super) fn with<T>(&self, call: impl FnOnce(&Repository) -> Result<T, ObjectError>) -> Result<T, ObjectError> {
        let idle = self.idle.lock().pop();
        let repository = match idle {
            Some(repository) => repository,
            None => super::open_clone(&self.path).map_err(|error| self.unreadable(&error))?,
        };
        let result = call(&repository);
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE {
            idle.push(repository);
        }
        result
    }

    pub(super) fn unreadable(&self, error: &git2::Error) -> ObjectError {
        ObjectError::Unreadable { path: self.path.clone(), said: error.message().to_owned() }
    }

    /// Tells "not there" from everything else that goes wrong.
    pub(super) fn error(&self, id: Sha) -> impl Fn(git2::Error) -> ObjectError + '_ {
        move |error| match error.code() {
            ErrorCode::NotFound => ObjectError::Absent(id),
            _ => self.unreadable(&error),
        }
    }

    /// What kind of object it is; `None` if it is not in the clone.
    ///
    /// # Errors
    /// If the clone cannot be read.
    pub fn kind(&self, id: Sha) -> Result<Option<ObjectKind>, ObjectError> {
        self.with(|repository| {
            let odb = repository.odb().map_err(|error| self.unreadable(&error))?;
            match odb.read_header(oid(id)) {
                Ok((_, ObjectType::Commit)) => Ok(Some(ObjectKind::Commit)),
                Ok((_, ObjectType::Tree)) => Ok(Some(ObjectKind::Tree)),
                Ok((_, ObjectType::Tag)) => Ok(Some(ObjectKind::Tag)),
                Ok(_) => Ok(Some(ObjectKind::Blob)),
                Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
                Err(error) => Err(self.unreadable(&error)),
            }
        })
    }

    /// Whether the clone has the object.
    ///
    /// # Errors
    /// If the clone cannot be read.
    pub fn exists(&self, id: Sha) -> Result<bool, ObjectError> {
        Ok(self.kind(id)?.is_some())
    }

    /// Whether a commit is the other or one of its ancestors.
    ///
    /// # Errors
    /// If one of them is not there.
    pub fn is_ancestor(&self, ancestor: Sha, commit: Sha) -> Result<bool, ObjectError> {
        if ancestor == commit {
            return Ok(true);
        }
        self.with(|repository| repository.graph_descendant_of(oid(commit), oid(ancestor)).map_err(self.error(commit)))
    }

    /// Who wrote a commit and when, and the first line of its message.
    ///
    /// # Errors
    /// If it is not there or no commit.
    pub fn author_and_subject(&self, commit: Sha) -> Result<(Signature, String), ObjectError> {
        self.with(|repository| {
            let odb = repository.odb().map_err(|error| self.unreadable(&error))?;
            let object = odb.read(oid(commit)).map_err(self.error(commit))?;
            let parsed = Some(object.data()).filter(|_| object.kind() == ObjectType::Commit).and_then(parse_commit);
            let parsed = parsed.ok_or(ObjectError::OtherKind { id: commit, wanted: "commit" })?;
            let title = parsed.message.trim_start().lines().next().unwrap_or_default().trim_end().to_owned();
            Ok((parsed.author, title))
        })
    }

    /// A file's content, of at most `limit` bytes.
    ///
    /// # Errors
    /// If it is not there, no blob, or larger.
    pub fn blob(&self, id: Sha, limit: u64) -> Result<Vec<u8>, ObjectError> {
        self.with(|repository| {
            let odb = repository.odb().map_err(|error| self.unreadable(&error))?;
            let (size, kind) = odb.read_header(oid(id)).map_err(self.error(id))?;
            if kind != ObjectType::Blob {
                return Err(ObjectError::OtherKind { id, wanted: "blob" });
            }
            let size = size as u64;
            if size > limit {
                return Err(ObjectError::TooLarge { id, size, limit });
            }
            Ok(odb.read(oid(id)).map_err(self.error(id))?.data().to_vec())
        })
    }

    /// What stands at a path of a commit.
    ///
    /// # Errors
    /// If there is no such commit or path.
    pub fn entry(&self, commit: Sha, path: &RepoPath) -> Result<Entry, ObjectError> {
        self.with(|repository| {
            let missing = || ObjectError::NoSuchPath { commit, path: path.clone() };
            let bytes = path.to_bytes();
            let mut tree = self.root(repository, commit)?;
            let mut parts = bytes.split(|b| *b == b'/').take(MAX_DEPTH).peekable();
            while let Some(part) = parts.next() {
                let (id, mode) = {
                    let entry = tree.iter().find(|entry| entry.name_bytes() == part).ok_or_else(missing)?;
                    (entry.id(), mode_of(&entry))
                };
                if parts.peek().is_none() {
                    return Ok(Entry { id: sha(id), mode });
                }
                tree = match repository.find_tree(id) {
                    Ok(tree) => tree,
                    Err(error) if mode == TREE => return Err(self.error(sha(id))(error)),
                    Err(_) => return Err(missing()),
                };
            }
            Err(missing())
        })
    }

    /// A file's content at a commit, of at most `limit` bytes. Of a symbolic link it is the target.
    ///
    /// # Errors
    /// If there is no such file, or it is larger.
    pub fn file(&self, commit: Sha, path: &RepoPath, limit: u64) -> Result<Vec<u8>, ObjectError> {
        let entry = self.entry(commit, path)?;
        if entry.mode.is_submodule() {
            return Err(ObjectError::OtherKind { id: entry.id, wanted: "blob" });
        }
        self.blob(entry.id, limit)
    }

    /// Reads lines of a file of at most `max_bytes`.
    ///
    /// Lines are numbered from 1, and the end of `line_numbers` is exclusive. Lines that the file does not have are
    /// dropped.
    ///
    /// # Errors
    /// As [`blob`](Self::blob).
    pub fn read_lines(&self, blob: Sha, line_numbers: Range<usize>, max_bytes: u64) -> Result<Lines, ObjectError> {
        let content = self.blob(blob, max_bytes)?;
        let first = line_numbers.start.max(1);
        let (mut at, mut number, mut from, mut to) = (0, 1, content.len(), content.len());
        while at < content.len() {
            if number == first {
                from = at;
            }
            if number == line_numbers.end {
                to = at;
            }
            at = memchr::memchr(b'\n', &content[at..]).map_or(content.len(), |end| at + end + 1);
            number += 1;
        }
        let total = number - 1;
        let to = to.max(from);
        let count = line_numbers.end.min(total + 1).saturating_sub(first);
        Ok(Lines { text: String::from_utf8_lossy(&content[from..to]).into_owned(), first, count, total })
    }

    /// The files of a commit's tree, at most `limit`. A directory that would pass it is left out whole, as is one that lies in
    /// more than 256 others.
    ///
    /// # Errors
    /// If a directory is not there.
    pub fn list(&self, commit: Sha, limit: usize) -> Result<TreeListing, ObjectError> {
        self.with(|repository| {
            let mut lister = Lister {
                repository,
                odb: repository.odb().map_err(|error| self.unreadable(&error))?,
                trees: Trees::default(),
                limit: limit as u64,
                sizes: HashMap::new(),
                listing: TreeListing::default(),
            };
            let root = self.root_id(repository, commit)?;
            lister.add(root, &mut Vec::new(), 0).map_err(|error| self.error(sha(error.id))(error.source))?;
            Ok(lister.listing)
        })
    }

    fn root<'repo>(&self, repository: &'repo Repository, commit: Sha) -> Result<git2::Tree<'repo>, ObjectError> {
        let tree = self.root_id(repository, commit)?;
        repository.find_tree(tree).map_err(self.error(sha(tree)))
    }

    /// The tree of a commit, whatever else the commit says.
    pub(super) fn root_id(&self, repository: &Repository, commit: Sha) -> Result<Oid, ObjectError> {
        let odb = repository.odb().map_err(|error| self.unreadable(&error))?;
        let object = odb.read(oid(commit)).map_err(self.error(commit))?;
        let links = Some(object.data()).filter(|_| object.kind() == ObjectType::Commit).and_then(parse_links);
        Ok(oid(links.ok_or(ObjectError::OtherKind { id: commit, wanted: "commit" })?.tree))
    }
}

const TREE: FileMode = FileMode::TREE;

struct Lister<'a> {
    repository: &'a Repository,
    odb: git2::Odb<'a>,
    trees: Trees,
    limit: u64,
    sizes: HashMap<Oid, Option<u64>>,
    listing: TreeListing,
}

impl Lister<'_> {
    fn add(&mut self, tree: Oid, path: &mut Vec<u8>, depth: usize) -> Result<(), trees::Unreadable> {
        for entry in self.trees.tree(self.repository, tree)?.iter() {
            let length = path.len();
            path.extend_from_slice(&entry.name);
            let mode = FileMode::from_bits(u32::try_from(entry.mode).unwrap_or_default());
            if mode == TREE {
                path.push(b'/');
                let size = self.trees.size(self.repository, entry.id)?;
                if depth + 1 < MAX_DEPTH && self.has_room(size) {
                    self.add(entry.id, path, depth + 1)?;
                } else {
                    self.leave_out(path);
                }
            } else if self.has_room(1) {
                let size = if mode.is_submodule() { None } else { self.size(entry.id) };
                let file = TreeFile { path: RepoPath::from_bytes(path), id: sha(entry.id), mode, size };
                self.listing.files.push(file);
            } else {
                self.leave_out(path);
            }
            path.truncate(length);
        }
        Ok(())
    }

    fn has_room(&self, entries: u64) -> bool {
        (self.listing.files.len() as u64).saturating_add(entries) <= self.limit
    }

    fn leave_out(&mut self, path: &[u8]) {
        self.listing.left_out += 1;
        if self.listing.named.len() < MAX_NAMED {
            self.listing.named.push(RepoPath::from_bytes(path));
        }
    }

    fn size(&mut self, id: Oid) -> Option<u64> {
        let odb = &self.odb;
        *self.sizes.entry(id).or_insert_with(|| odb.read_header(id).ok().map(|(size, _)| size as u64))
    }
}

fn mode_of(entry: &git2::TreeEntry<'_>) -> FileMode {
    FileMode::from_bits(u32::try_from(entry.filemode_raw()).unwrap_or_default())
}

/// The same name in libgit2's type.
pub(super) fn oid(sha: Sha) -> Oid {
    Oid::from_bytes(sha.as_bytes()).unwrap_or(Oid::ZERO_SHA1)
}

#[cfg(test)]
mod tests;
