//! Directory trees of a clone, read in process, and what differs between two of them.
//!
//! A tree of a few hundred bytes can unfold to any number of files, because directories with equal content are one
//! object. So what a directory unfolds to is counted before it is entered, once for each object: what two trees differ
//! in is found in time that is linear in their objects and in [`MAX_ENTRIES`], and directories beyond that are left out
//! by name.

use std::{cmp::Ordering, collections::HashMap, hash::Hash, sync::Arc};

use git2::{Oid, Repository};

/// Most entries that two trees are compared over, and that one is listed with, directories counted as often as they are
/// there.
pub(super) const MAX_ENTRIES: u64 = 1_000_000;
/// Most directories that lie in one another; what is deeper is left out.
pub(super) const MAX_DEPTH: usize = 256;
/// Most bytes of one directory; a larger one is left out.
const MAX_TREE_BYTES: usize = 64 << 20;
/// Most entries of trees that are kept in each of two generations.
const TREE_CACHE: usize = 100_000;
/// Most trees whose sizes are remembered; when there are more, all are forgotten.
const MAX_SIZES: usize = 500_000;

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
    pub(super) mode: i32,
}

/// A path of a repository, as git has it: any bytes but zero.
pub(super) type TreePath = Arc<[u8]>;

/// A path that two trees differ at; what is a directory on a side counts as nothing there.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    pub(super) path: TreePath,
    pub(super) old: Option<(Kind, Oid)>,
    pub(super) new: Option<(Kind, Oid)>,
}

/// What differs between two trees.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// In the order of paths.
    pub(super) found: Vec<Difference>,
    /// Directories that were not entered, with a slash at the end, because they are too deep or unfold too far; the empty
    /// path is all.
    pub(super) left_out: Vec<TreePath>,
    /// Whether some of these unfold too far.
    pub(super) are_too_many: bool,
    entries: u64,
}

/// A tree that cannot be read.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) id: Oid,
    pub(super) source: git2::Error,
}

/// A cache of two generations: when the younger is full it becomes the older, and what was older is dropped.
pub(super) struct TwoGenerationCache<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    weight: usize,
    limit: usize,
}

impl<K: Hash + Eq + Copy, V: Clone> TwoGenerationCache<K, V> {
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

/// The entries of a tree; none of one that has more than [`MAX_TREE_BYTES`].
type Content = Option<Arc<[Entry]>>;

/// The trees of a repository, those that were read last kept.
pub(super) struct Trees {
    trees: TwoGenerationCache<Oid, Content>,
    /// To how many entries a tree unfolds.
    sizes: HashMap<Oid, u64>,
    /// Over how many entries two trees are compared.
    compared: HashMap<(Oid, Oid), u64>,
}

impl Default for Trees {
    fn default() -> Self {
        Self { trees: TwoGenerationCache::new(TREE_CACHE), sizes: HashMap::new(), compared: HashMap::new() }
    }
}

impl Trees {
    /// The entries of a tree, as git orders them; none of one that is too large.
    pub(super) fn tree(&mut self, repository: &Repository, id: Oid) -> Result<Arc<[Entry]>, Unreadable> {
        Ok(self.content(repository, id)?.unwrap_or_else(|| Arc::new([])))
    }

    fn content(&mut self, repository: &Repository, id: Oid) -> Result<Content, Unreadable> {
        let weight = |content: &Content| content.as_ref().map_or(0, |tree| tree.len()) + 1;
        if let Some(content) = self.trees.get(id, weight) {
            return Ok(content);
        }
        let failed = |source| Unreadable { id, source };
        let (bytes, _) = repository.odb().and_then(|odb| odb.read_header(id)).map_err(failed)?;
        let content = if bytes > MAX_TREE_BYTES {
            None
        } else {
            let tree = repository.find_tree(id).map_err(failed)?;
            Some(tree.iter().map(|entry| entry_of(&entry)).collect())
        };
        self.trees.put(id, content.clone(), weight(&content));
        Ok(content)
    }

    /// To how many entries a tree unfolds.
    pub(super) fn size(&mut self, repository: &Repository, tree: Oid) -> Result<u64, Unreadable> {
        if self.sizes.len() > MAX_SIZES {
            self.sizes.clear();
        }
        let mut waiting = vec![tree];
        while let Some(at) = waiting.last().copied() {
            if self.sizes.contains_key(&at) {
                waiting.pop();
                continue;
            }
            let size = match self.content(repository, at)? {
                None => Some(u64::MAX),
                Some(entries) => self.sum(&entries, &mut waiting),
            };
            if let Some(size) = size {
                self.sizes.insert(at, size);
                waiting.pop();
            }
        }
        Ok(self.sizes.get(&tree).copied().unwrap_or(u64::MAX))
    }

    /// The sizes of entries together, if those of all directories among them are known; the others have to be found first.
    fn sum(&self, entries: &[Entry], waiting: &mut Vec<Oid>) -> Option<u64> {
        let before = waiting.len();
        let mut sum = entries.len() as u64;
        for entry in entries.iter().filter(|entry| entry.kind == Kind::Tree) {
            match self.sizes.get(&entry.id) {
                Some(size) => sum = sum.saturating_add(*size),
                None => waiting.push(entry.id),
            }
        }
        (waiting.len() == before).then_some(sum)
    }

    /// What differs between the trees, files one by one.
    pub(super) fn differences(
        &mut self,
        repository: &Repository,
        old: Option<Oid>,
        new: Option<Oid>,
    ) -> Result<Differences, Unreadable> {
        let mut differences = Differences::default();
        if old == new {
            return Ok(differences);
        }
        if self.compared.len() > MAX_SIZES {
            self.compared.clear();
        }
        for side in [old, new].into_iter().flatten() {
            if self.content(repository, side)?.is_none() {
                differences.left_out.push(Arc::new([]));
                differences.are_too_many = true;
                return Ok(differences);
            }
        }
        self.compare(repository, (old, new), &mut Vec::new(), 0, &mut differences)?;
        let found = &mut differences.found;
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
        Ok(differences)
    }

    fn compare(
        &mut self,
        repository: &Repository,
        (old, new): (Option<Oid>, Option<Oid>),
        path: &mut Vec<u8>,
        depth: usize,
        differences: &mut Differences,
    ) -> Result<(), Unreadable> {
        let (olds, news) = (self.side(repository, old)?, self.side(repository, new)?);
        for (old, new) in differing(&olds, &news) {
            let Some(either) = old.or(new) else { continue };
            let length = path.len();
            path.extend_from_slice(&either.name);
            if either.kind == Kind::Tree {
                path.push(b'/');
                let sides = (old.map(|entry| entry.id), new.map(|entry| entry.id));
                let entries = self.unfolded(repository, sides, depth + 1)?.saturating_add(1);
                let are_too_many = entries.saturating_add(differences.entries) > MAX_ENTRIES;
                if depth + 1 >= MAX_DEPTH || are_too_many {
                    differences.are_too_many |= are_too_many;
                    differences.left_out.push(path.as_slice().into());
                } else {
                    differences.entries += 1;
                    self.compare(repository, sides, path, depth + 1, differences)?;
                }
            } else {
                let side = |entry: Option<&Entry>| entry.map(|entry| (entry.kind, entry.id));
                differences.entries += 1;
                differences.found.push(Difference { path: path.as_slice().into(), old: side(old), new: side(new) });
            }
            path.truncate(length);
        }
        Ok(())
    }

    /// Over how many entries the trees are compared.
    fn unfolded(
        &mut self,
        repository: &Repository,
        (old, new): (Option<Oid>, Option<Oid>),
        depth: usize,
    ) -> Result<u64, Unreadable> {
        let (old, new) = match (old, new) {
            (Some(old), Some(new)) => (old, new),
            (Some(tree), None) | (None, Some(tree)) => return self.size(repository, tree),
            (None, None) => return Ok(0),
        };
        if old == new || depth >= MAX_DEPTH {
            return Ok(0);
        }
        if let Some(entries) = self.compared.get(&(old, new)) {
            return Ok(*entries);
        }
        let mut entries: u64 = 0;
        if let (Some(olds), Some(news)) = (self.content(repository, old)?, self.content(repository, new)?) {
            for (old, new) in differing(&olds, &news) {
                let is_tree = old.or(new).is_some_and(|entry| entry.kind == Kind::Tree);
                let sides = (old.map(|entry| entry.id), new.map(|entry| entry.id));
                let below = if is_tree { self.unfolded(repository, sides, depth + 1)? } else { 0 };
                entries = entries.saturating_add(below).saturating_add(1);
            }
        } else {
            entries = u64::MAX;
        }
        self.compared.insert((old, new), entries);
        Ok(entries)
    }

    fn side(&mut self, repository: &Repository, tree: Option<Oid>) -> Result<Arc<[Entry]>, Unreadable> {
        tree.map_or_else(|| Ok(Arc::new([]) as Arc<[Entry]>), |id| self.tree(repository, id))
    }
}

fn entry_of(entry: &git2::TreeEntry<'_>) -> Entry {
    let mode = entry.filemode_raw();
    let kind = match mode & 0o170_000 {
        0o040_000 => Kind::Tree,
        0o100_000 => Kind::File,
        _ => Kind::Other,
    };
    Entry { name: entry.name_bytes().into(), kind, id: entry.id(), mode }
}

/// The entries that differ between two trees, in git's order, those of one name together.
fn differing<'a>(
    olds: &'a [Entry],
    news: &'a [Entry],
) -> impl Iterator<Item = (Option<&'a Entry>, Option<&'a Entry>)> + 'a {
    let (mut at_old, mut at_new) = (0, 0);
    std::iter::from_fn(move || {
        loop {
            let order = match (olds.get(at_old), news.get(at_new)) {
                (Some(old), Some(new)) => compare(&old.name, old.kind, &new.name, new.kind == Kind::Tree),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return None,
            };
            let old = olds.get(at_old).filter(|_| order != Ordering::Greater);
            let new = news.get(at_new).filter(|_| order != Ordering::Less);
            at_old += usize::from(old.is_some());
            at_new += usize::from(new.is_some());
            if let (Some(old), Some(new)) = (old, new)
                && (old.id, old.mode) == (new.id, new.mode)
            {
                continue;
            }
            return Some((old, new));
        }
    })
}

/// Git's order of the entries of a tree.
pub(super) fn compare(name: &[u8], kind: Kind, other: &[u8], other_is_tree: bool) -> Ordering {
    let shared = name.len().min(other.len());
    name[..shared].cmp(&other[..shared]).then_with(|| {
        let end = |name: &[u8], is_tree: bool| name.get(shared).copied().unwrap_or(if is_tree { b'/' } else { 0 });
        let order = end(name, kind == Kind::Tree).cmp(&end(other, other_is_tree));
        // Equal only if both names end here; a file and a directory of one name differ above.
        order.then(name.len().cmp(&other.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Fixture;

    /// A tree of ten entries that are all the same tree, and so on, with a file in the end.
    fn bomb(origin: &Fixture, content: &str, levels: usize) -> Oid {
        let blob = origin.raw_object("blob", content);
        let mut line = format!("100644 blob {blob}");
        let mut tree = None;
        for _ in 0..levels {
            let entries: String = (0..10).map(|n| format!("{line}\t{n}\n")).collect();
            let id = String::from_utf8(origin.git_with(["mktree"], entries.as_bytes())).unwrap();
            line = format!("040000 tree {}", id.trim());
            tree = Some(Oid::from_str(id.trim()).unwrap());
        }
        tree.unwrap()
    }

    fn beside(origin: &Fixture, tree: Oid, file: &str) -> Oid {
        let blob = origin.raw_object("blob", file);
        let lines = format!("100644 blob {blob}\ta-file\n040000 tree {tree}\tbomb\n");
        Oid::from_str(String::from_utf8(origin.git_with(["mktree"], lines.as_bytes())).unwrap().trim()).unwrap()
    }

    #[test]
    fn what_unfolds_without_end_is_counted_and_left_out_by_name() {
        let origin = Fixture::new();
        let repository = Repository::open(origin.path()).unwrap();
        let mut trees = Trees::default();
        let (one, other) = (bomb(&origin, "1", 25), bomb(&origin, "2", 25));
        assert_eq!(trees.size(&repository, bomb(&origin, "1", 3)).unwrap(), 1110);
        assert_eq!(trees.size(&repository, one).unwrap(), u64::MAX);
        let (one, other) = (beside(&origin, one, "a"), beside(&origin, other, "b"));
        for sides in [(None, Some(one)), (Some(one), Some(other)), (Some(one), None)] {
            let found = trees.differences(&repository, sides.0, sides.1).unwrap();
            let paths: Vec<&[u8]> = found.found.iter().map(|found| &*found.path).collect();
            assert_eq!(paths, [b"a-file"]);
            assert_eq!(found.left_out, [TreePath::from(&b"bomb/"[..])]);
        }
        let small = beside(&origin, bomb(&origin, "1", 3), "a");
        let found = trees.differences(&repository, None, Some(small)).unwrap();
        assert_eq!((found.found.len(), found.left_out.len()), (1001, 0));
    }

    #[test]
    fn what_is_too_deep_is_left_out_by_name() {
        let origin = Fixture::new();
        let repository = Repository::open(origin.path()).unwrap();
        let mut tree = beside(&origin, bomb(&origin, "1", 1), "a");
        for _ in 0..MAX_DEPTH + 1000 {
            tree = beside(&origin, tree, "a");
        }
        let found = Trees::default().differences(&repository, None, Some(tree)).unwrap();
        assert_eq!(found.found.len(), MAX_DEPTH);
        assert_eq!(found.left_out.len(), 1);
        assert_eq!(*found.left_out[0], b"bomb/".repeat(MAX_DEPTH));
    }
}
