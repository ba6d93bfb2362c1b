//! Lists one directory of a commit's tree.

use backstory_model::commit::{FileMode, RepoPath, Sha};

use super::{
    objects::{ObjectError, Objects, oid},
    refs::sha,
    trees::Trees,
};

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Path from the root of the tree.
    pub path: RepoPath,
    /// The blob, the tree, or the commit of a submodule.
    pub id: Sha,
    /// Kind and permissions.
    pub mode: FileMode,
    /// Bytes of a blob; `None` for what is none or is not in the clone.
    pub size: Option<u64>,
}

/// The entries of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryListing {
    /// The first of them, as git orders them.
    pub entries: Vec<DirectoryEntry>,
    /// How many there are.
    pub total: usize,
}

impl Objects {
    /// The entries of a directory of a commit, at most `limit`; the empty path is the root. A directory of more than 64 MiB
    /// is empty.
    ///
    /// # Errors
    /// If there is no such commit or path, or something else is there.
    pub fn directory(&self, commit: Sha, path: &RepoPath, limit: usize) -> Result<DirectoryListing, ObjectError> {
        let prefix = path.to_bytes();
        let tree = if prefix.is_empty() {
            None
        } else {
            let entry = self.entry(commit, path)?;
            if entry.mode != FileMode::TREE {
                return Err(ObjectError::OtherKind { id: entry.id, wanted: "tree" });
            }
            Some(entry.id)
        };
        self.with(|repository| {
            let tree = match tree {
                Some(tree) => oid(tree),
                None => self.root_id(repository, commit)?,
            };
            let odb = repository.odb().map_err(|error| self.unreadable(&error))?;
            let all =
                Trees::default().tree(repository, tree).map_err(|error| self.error(sha(error.id))(error.source))?;
            let mut listing = DirectoryListing { entries: Vec::new(), total: all.len() };
            for entry in all.iter().take(limit) {
                let mode = FileMode::from_bits(u32::try_from(entry.mode).unwrap_or_default());
                let mut path = prefix.to_vec();
                if !path.is_empty() {
                    path.push(b'/');
                }
                path.extend_from_slice(&entry.name);
                let has_size = mode.is_file() || mode.is_symlink();
                let size = has_size.then(|| odb.read_header(entry.id).ok().map(|(size, _)| size as u64)).flatten();
                let path = RepoPath::from_bytes(&path);
                listing.entries.push(DirectoryEntry { path, id: sha(entry.id), mode, size });
            }
            Ok(listing)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Fixture;

    #[test]
    fn directories_are_listed_with_what_they_hold() {
        let mut origin = Fixture::new();
        origin.write("src/a.rs", "fn a() {}\n");
        origin.write("src/deep/b.rs", "fn b() {}\n");
        origin.write("README.md", "# A\n");
        let head = origin.commit_all("begin");
        let objects = Objects::open(&origin.git_dir()).unwrap();
        let list = |path: &str, limit| objects.directory(head, &RepoPath::from_escaped(path), limit);
        let shown = |listing: DirectoryListing| {
            let entries = listing.entries.into_iter();
            let entries: Vec<_> = entries.map(|entry| (entry.path.to_string(), entry.size)).collect();
            (entries, listing.total)
        };
        let root = vec![("README.md".to_owned(), Some(4)), ("src".to_owned(), None)];
        assert_eq!(shown(list("", 10).unwrap()), (root.clone(), 2));
        assert_eq!(shown(list("", 1).unwrap()), (root[..1].to_vec(), 2));
        let inner = vec![("src/a.rs".to_owned(), Some(10)), ("src/deep".to_owned(), None)];
        assert_eq!(shown(list("src", 10).unwrap()), (inner, 2));
        assert!(matches!(list("src/a.rs", 10), Err(ObjectError::OtherKind { .. })));
        assert!(matches!(list("lib", 10), Err(ObjectError::NoSuchPath { .. })));
    }
}
