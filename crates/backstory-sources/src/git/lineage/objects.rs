//! Objects of a clone as lineage reads them: commits, trees and texts, each kept for as long as it is likely needed.

use std::{cmp::Ordering, collections::HashMap, hash::Hash, path::Path, sync::Arc};

use git2::{ObjectType, Oid, Repository};

use super::{Error, Untraced};

/// Most bytes of texts that one cache keeps in each of its two generations.
const TEXT_CACHE: usize = 24 << 20;
/// Most entries of trees that one cache keeps in each of its two generations.
const TREE_CACHE: usize = 100_000;
/// How far into a file git looks for a zero byte, which makes it binary.
const BINARY_PROBE: usize = 8000;
/// Deepest nesting of directories that is read; what is deeper is not seen.
const MAX_DEPTH: usize = 200;

/// What kind of thing a tree's entry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tree,
    File,
    /// A symbolic link or a submodule.
    Other,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: Box<[u8]>,
    pub(super) kind: Kind,
    pub(super) id: Oid,
    /// Git's mode; the kind says all that matters but for whether an entry changed.
    mode: i32,
}

#[derive(Debug)]
pub(super) struct CommitInfo {
    pub(super) tree: Oid,
    pub(super) parents: Vec<Oid>,
}

/// A path of a repository, as git has it: any bytes but zero.
pub(super) type RepoPath = Arc<[u8]>;

/// A path that two trees differ at; what is a directory on a side counts as nothing there.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    pub(super) path: RepoPath,
    pub(super) old: Option<(Kind, Oid)>,
    pub(super) new: Option<(Kind, Oid)>,
}

/// The content of a file.
#[derive(Clone, Debug)]
pub(super) enum Text {
    Lines(Arc<[u8]>),
    Untraced(Untraced),
}

/// A cache of two generations: when the younger is full it becomes the older, and what was older is dropped.
pub(super) struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    weight: usize,
    limit: usize,
}

impl<K: Hash + Eq + Copy, V: Clone> Recent<K, V> {
    pub(super) fn new(limit: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), weight: 0, limit }
    }

    pub(super) fn get(&mut self, key: K, weight: impl Fn(&V) -> usize) -> Option<V> {
        if let Some(value) = self.young.get(&key) {
            return Some(value.clone());
        }
        let value = self.old.remove(&key)?;
        self.put(key, value.clone(), weight(&value));
        Some(value)
    }

    pub(super) fn put(&mut self, key: K, value: V, weight: usize) {
        if self.weight + weight > self.limit {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
        self.weight += weight;
        self.young.insert(key, value);
    }
}

pub(super) struct Objects {
    repository: Repository,
    max_file_bytes: usize,
    trees: Recent<Oid, Arc<[Entry]>>,
    texts: Recent<Oid, Text>,
}

impl Objects {
    pub(super) fn open(path: &Path, max_file_bytes: usize) -> Result<Self, Error> {
        let repository = Repository::open(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
        Ok(Self { repository, max_file_bytes, trees: Recent::new(TREE_CACHE), texts: Recent::new(TEXT_CACHE) })
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(super) fn commit(&self, id: Oid) -> Result<CommitInfo, Error> {
        let commit = self.repository.find_commit(id).map_err(|source| Error::read("commit", id, source))?;
        Ok(CommitInfo { tree: commit.tree_id(), parents: commit.parent_ids().collect() })
    }

    pub(super) fn tree(&mut self, id: Oid) -> Result<Arc<[Entry]>, Error> {
        if let Some(tree) = self.trees.get(id, |tree| tree.len() + 1) {
            return Ok(tree);
        }
        let tree = self.repository.find_tree(id).map_err(|source| Error::read("tree", id, source))?;
        let entries: Arc<[Entry]> = tree
            .iter()
            .map(|entry| {
                let mode = entry.filemode_raw();
                let kind = match mode & 0o170_000 {
                    0o040_000 => Kind::Tree,
                    0o100_000 => Kind::File,
                    _ => Kind::Other,
                };
                Entry { name: entry.name_bytes().into(), kind, id: entry.id(), mode }
            })
            .collect();
        self.trees.put(id, Arc::clone(&entries), entries.len() + 1);
        Ok(entries)
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

    /// Every path that differs between the trees, in the order of paths.
    pub(super) fn differences(&mut self, old: Option<Oid>, new: Option<Oid>) -> Result<Vec<Difference>, Error> {
        let mut found = Vec::new();
        if old != new {
            self.compare_trees(old, new, &mut Vec::new(), 0, &mut found)?;
        }
        found.sort_by(|one: &Difference, other| one.path.cmp(&other.path));
        // A directory that became a file, or the reverse, yields its path once for each side.
        found.dedup_by(|later, kept| {
            let same = later.path == kept.path;
            if same {
                kept.old = kept.old.or(later.old);
                kept.new = kept.new.or(later.new);
            }
            same
        });
        Ok(found)
    }

    fn compare_trees(
        &mut self,
        old: Option<Oid>,
        new: Option<Oid>,
        prefix: &mut Vec<u8>,
        depth: usize,
        found: &mut Vec<Difference>,
    ) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Ok(());
        }
        let empty: Arc<[Entry]> = Arc::new([]);
        let olds = old.map_or(Ok(Arc::clone(&empty)), |id| self.tree(id))?;
        let news = new.map_or(Ok(empty), |id| self.tree(id))?;
        let (mut at_old, mut at_new) = (0, 0);
        while at_old < olds.len() || at_new < news.len() {
            let order = match (olds.get(at_old), news.get(at_new)) {
                (Some(old), Some(new)) => compare(&old.name, old.kind, &new.name, new.kind == Kind::Tree),
                (Some(_), None) => Ordering::Less,
                _ => Ordering::Greater,
            };
            let old = (order != Ordering::Greater).then(|| &olds[at_old]);
            let new = (order != Ordering::Less).then(|| &news[at_new]);
            at_old += usize::from(old.is_some());
            at_new += usize::from(new.is_some());
            if let (Some(old), Some(new)) = (old, new)
                && (old.id, old.mode) == (new.id, new.mode)
            {
                continue;
            }
            let Some(either) = old.or(new) else { continue };
            let length = prefix.len();
            prefix.extend_from_slice(&either.name);
            if either.kind == Kind::Tree {
                prefix.push(b'/');
                self.compare_trees(old.map(|e| e.id), new.map(|e| e.id), prefix, depth + 1, found)?;
            } else {
                let side = |entry: Option<&Entry>| entry.map(|entry| (entry.kind, entry.id));
                found.push(Difference { path: prefix.as_slice().into(), old: side(old), new: side(new) });
            }
            prefix.truncate(length);
        }
        Ok(())
    }
}

/// Git's order of the entries of a tree.
fn compare(name: &[u8], kind: Kind, other: &[u8], other_is_tree: bool) -> Ordering {
    let shared = name.len().min(other.len());
    name[..shared].cmp(&other[..shared]).then_with(|| {
        let end = |name: &[u8], is_tree: bool| name.get(shared).copied().unwrap_or(if is_tree { b'/' } else { 0 });
        let order = end(name, kind == Kind::Tree).cmp(&end(other, other_is_tree));
        // Equal only if both names end here; a file and a directory of one name differ above.
        order.then(name.len().cmp(&other.len()))
    })
}
