//! Objects of a clone as blame reads them: commits, trees and texts, each cached for as long as it is likely needed.
//! Reading for everyone else is in [`objects`](crate::git::objects).

use std::{collections::HashSet, path::Path, sync::Arc};

use backstory_model::commit::Sha;
use git2::{ObjectType, Oid, Repository};

pub(super) use super::super::trees::{Difference, Differences, Entry, Kind, TreePath as RepoPath, TwoGenerationCache};
use super::{
    super::{
        commit_object::parse_links,
        diff_cost::{self, DiffCost},
        refs::boundary,
        trees::{Trees, compare},
    },
    Error, Untraced,
};

/// Most bytes of texts that one cache keeps in each of its two generations.
const TEXT_CACHE: usize = 24 << 20;
/// How far into a file git looks for a zero byte, which makes it binary.
const BINARY_PROBE: usize = 8000;

/// An object's name as libgit2 has it.
pub(super) fn oid(hash: Sha) -> Oid {
    Oid::from_bytes(hash.as_bytes()).unwrap_or(Oid::ZERO_SHA1)
}

#[derive(Debug)]
pub(super) struct CommitInfo {
    pub(super) tree: Oid,
    pub(super) parents: Vec<Oid>,
    /// When it was made, in seconds since the epoch; 0 if it does not say.
    pub(super) at: i64,
}

/// The content of a file.
#[derive(Clone, Debug)]
pub(super) enum Text {
    Lines(Arc<[u8]>),
    Untraced(Untraced),
}

pub(super) struct Objects {
    repository: Repository,
    max_file_bytes: usize,
    /// Commits whose parents are not there.
    cut_off: HashSet<Oid>,
    trees: Trees,
    texts: TwoGenerationCache<Oid, Text>,
}

impl Objects {
    pub(super) fn open(path: &Path, max_file_bytes: usize) -> Result<Self, Error> {
        let repository =
            crate::git::open_clone(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
        let cut_off = boundary(repository.path()).into_iter().map(oid).collect();
        let texts = TwoGenerationCache::new(TEXT_CACHE);
        Ok(Self { repository, max_file_bytes, cut_off, trees: Trees::default(), texts })
    }

    /// Tree, parents and time of a commit. What it says of people does not matter, so it may be written in any way.
    pub(super) fn commit(&self, id: Oid) -> Result<CommitInfo, Error> {
        let failed = |source| Error::read("commit", id, source);
        let odb = self.repository.odb().map_err(failed)?;
        let object = odb.read(id).map_err(failed)?;
        let links = parse_links(object.data()).ok_or_else(|| failed(git2::Error::from_str("it names no tree")))?;
        let parents = if self.cut_off.contains(&id) { Vec::new() } else { links.parents };
        Ok(CommitInfo { tree: oid(links.tree), parents: parents.into_iter().map(oid).collect(), at: links.at })
    }

    pub(super) fn tree(&mut self, id: Oid) -> Result<Arc<[Entry]>, Error> {
        Ok(self.trees.tree(&self.repository, id)?)
    }

    /// What the path names in the tree.
    pub(super) fn entry(&mut self, tree: Oid, path: &[u8]) -> Result<Option<(Kind, Oid)>, Error> {
        let mut tree = self.tree(tree)?;
        let mut parts = path.split(|byte| *byte == b'/').peekable();
        while let Some(part) = parts.next() {
            let is_directory = parts.peek().is_some();
            // Git sorts a directory as if its name ended in a slash.
            let found = tree.binary_search_by(|entry| compare(&entry.name, entry.kind, part, is_directory));
            let found = found.or_else(|_| tree.binary_search_by(|entry| compare(&entry.name, entry.kind, part, true)));
            let Ok(at) = found else { return Ok(None) };
            let (kind, id) = (tree[at].kind, tree[at].id);
            match (is_directory, kind) {
                (true, Kind::Tree) => tree = self.tree(id)?,
                (true, _) => return Ok(None),
                (false, _) => return Ok(Some((kind, id))),
            }
        }
        Ok(None)
    }

    /// The content of a file, or why it is not traced.
    pub(super) fn text(&mut self, id: Oid) -> Result<Text, Error> {
        let weight = |text: &Text| if let Text::Lines(text) = text { text.len() + 64 } else { 64 };
        if let Some(text) = self.texts.get(id, weight) {
            return Ok(text);
        }
        let failed = |source| Error::read("file content", id, source);
        let odb = self.repository.odb().map_err(failed)?;
        let (size, kind) = odb.read_header(id).map_err(failed)?;
        let text = if kind != ObjectType::Blob || size > self.max_file_bytes {
            Text::Untraced(Untraced::TooLarge)
        } else {
            let object = odb.read(id).map_err(failed)?;
            let data = object.data();
            if data[..data.len().min(BINARY_PROBE)].contains(&0) {
                Text::Untraced(Untraced::Binary)
            } else {
                Text::Lines(data.into())
            }
        };
        self.texts.put(id, text.clone(), weight(&text));
        Ok(text)
    }

    /// What comparing the files takes.
    pub(super) fn load(&self, differences: &Differences) -> Result<DiffCost, git2::Error> {
        diff_cost::estimate(&self.repository.odb()?, differences)
    }

    /// What differs between the trees.
    pub(super) fn differences(&mut self, old: Option<Oid>, new: Option<Oid>) -> Result<Differences, Error> {
        Ok(self.trees.differences(&self.repository, old, new)?)
    }
}
