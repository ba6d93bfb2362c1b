//! Which code entities a commit changes: compares what its files contain before and after.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
    sync::Arc,
};

use backstory_model::{
    code::{EntityKind, FileKind},
    commit::{ChangeStatus, Commit, FileChange, FileVersion, RepoPath, Sha},
    repository::{EntityChange, EntityChangeKind, EntityRef},
};
use backstory_sources::{
    code::{IncrementalAnalyzer, detect, left_out_by_path},
    git::objects::{ObjectError, Objects},
};
use parking_lot::Mutex;

use crate::error::Result;

/// A larger version of a file is not looked into.
const MAX_BYTES: u64 = 1 << 20;
/// Versions of files and entities in them that are remembered; beyond that all are forgotten, and read again where needed.
const MAX_REMEMBERED: usize = 1_000_000;
/// A commit that changes more files than this moves code around, and its entities are not told.
const MAX_FILES: usize = 2_000;
/// Least bytes of a body for which an equal one is the same entity elsewhere.
const MIN_BODY: u32 = 60;
/// Most times as large one body may be as another of the same name for both to be one entity.
const MAX_GROWTH: u64 = 2;
/// Length of a name of one word that hardly two things have.
const DISTINCTIVE: usize = 10;
/// Most entities of a commit that are told.
const MAX_CHANGES: usize = 5_000;

/// What of an entity tells whether it changed.
#[derive(Debug)]
struct Outlined {
    name: String,
    kind: EntityKind,
    body_hash: u64,
    body_size: u32,
}

/// The entities of a version of a file, by name.
type Outline = Arc<Vec<Outlined>>;

/// What versions of files contain, remembered.
#[derive(Default)]
pub(super) struct Outlines {
    known: HashMap<(Sha, RepoPath), Outline>,
    remembered: usize,
}

impl Outlines {
    /// The entities that each of the commits changes, in their order.
    pub(super) fn changes(
        &mut self,
        objects: &Objects,
        commits: &[Commit],
        threads: usize,
    ) -> Result<Vec<Vec<EntityChange>>> {
        if self.remembered > MAX_REMEMBERED {
            *self = Self::default();
        }
        self.read(objects, commits, threads)?;
        Ok(commits.iter().map(|commit| self.of_commit(commit)).collect())
    }

    /// Reads the versions that are not known, those of one path one after the other.
    fn read(&mut self, objects: &Objects, commits: &[Commit], threads: usize) -> Result<()> {
        let mut wanted: BTreeMap<&RepoPath, Vec<Sha>> = BTreeMap::new();
        for change in commits.iter().filter(|commit| is_looked_into(commit)).flat_map(|commit| &commit.changes) {
            for (path, version) in sides(change) {
                let versions = wanted.entry(path).or_default();
                if !self.known.contains_key(&(version.id, path.clone())) && !versions.contains(&version.id) {
                    versions.push(version.id);
                }
            }
        }
        let mut queue: Vec<(&RepoPath, Vec<Sha>)> =
            wanted.into_iter().filter(|(_, versions)| !versions.is_empty()).collect();
        // The longest first, so that the threads end together.
        queue.sort_by_key(|(_, versions)| versions.len());
        let queue = Mutex::new(queue);
        let work = || {
            let mut read = Vec::new();
            loop {
                let next = queue.lock().pop();
                let Some((path, versions)) = next else { return Ok(read) };
                let mut history = IncrementalAnalyzer::new();
                for version in versions {
                    read.push(((version, path.clone()), outline(objects, &mut history, path, version)?));
                }
            }
        };
        let results: Vec<Result<Vec<_>>> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
            handles
                .into_iter()
                .map(|handle| {
                    handle
                        .join()
                        .unwrap_or_else(|_| Err(crate::error::Error::internal("reading code ended with a bug")))
                })
                .collect()
        });
        for result in results {
            for (version, outline) in result? {
                self.remembered += 1 + outline.len();
                self.known.insert(version, outline);
            }
        }
        Ok(())
    }

    fn of_commit(&self, commit: &Commit) -> Vec<EntityChange> {
        if !is_looked_into(commit) {
            return Vec::new();
        }
        let empty: Outline = Arc::default();
        let of = |path: &RepoPath, version: Option<FileVersion>| {
            version.and_then(|version| self.known.get(&(version.id, path.clone()))).unwrap_or(&empty)
        };
        let mut changes = Vec::new();
        for change in &commit.changes {
            let old_path = match change.status {
                ChangeStatus::Renamed => change.old_path.as_ref().unwrap_or(&change.path),
                _ => &change.path,
            };
            let before = if change.status == ChangeStatus::Copied { None } else { change.old };
            compare((old_path, of(old_path, before)), (&change.path, of(&change.path, change.new)), &mut changes);
        }
        join_moved(&mut changes);
        let mut told: Vec<EntityChange> = changes.into_iter().map(|found| found.change).collect();
        told.sort_by(|a, b| (&a.entity, a.change).cmp(&(&b.entity, b.change)));
        told.truncate(MAX_CHANGES);
        told
    }
}

fn is_looked_into(commit: &Commit) -> bool {
    !commit.is_merge() && commit.changes.len() <= MAX_FILES
}

/// The versions of code that a change has, each with its path.
fn sides(change: &FileChange) -> impl Iterator<Item = (&RepoPath, FileVersion)> {
    let old_path = change.old_path.as_ref().unwrap_or(&change.path);
    let old = change.old.filter(|_| change.status != ChangeStatus::Copied);
    [(old_path, old), (&change.path, change.new)].into_iter().filter_map(|(path, version)| {
        let version = version.filter(|version| version.mode.is_file())?;
        let is_code = matches!(detect(path.as_str(), b""), FileKind::Code(_));
        (is_code && left_out_by_path(path.as_str()).is_none()).then_some((path, version))
    })
}

fn outline(objects: &Objects, history: &mut IncrementalAnalyzer, path: &RepoPath, version: Sha) -> Result<Outline> {
    let bytes = match objects.blob(version, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(ObjectError::TooLarge { .. } | ObjectError::Absent(_)) => return Ok(Outline::default()),
        Err(error) => return Err(error.into()),
    };
    let analysis = history.analyze(path.as_str(), &bytes);
    let entities = analysis.code().map(|code| &code.entities[..]).unwrap_or_default();
    let outlined = entities.iter().map(|entity| Outlined {
        name: entity.qualified_name.clone(),
        kind: entity.kind,
        body_hash: entity.body_hash,
        body_size: entity.body_size,
    });
    Ok(Arc::new(outlined.collect()))
}

/// A change, and the body by which the same entity is recognized elsewhere.
struct Found {
    change: EntityChange,
    body_hash: u64,
    body_size: u32,
}

fn compare((old_path, old): (&RepoPath, &Outline), (new_path, new): (&RepoPath, &Outline), changes: &mut Vec<Found>) {
    let before: HashMap<&str, &Outlined> = old.iter().map(|entity| (entity.name.as_str(), entity)).collect();
    let after: HashMap<&str, &Outlined> = new.iter().map(|entity| (entity.name.as_str(), entity)).collect();
    let named = |path: &RepoPath, name: &str| EntityRef { path: path.clone(), name: name.to_owned() };
    for entity in new.iter() {
        let known = before.get(entity.name.as_str());
        let moved = known.is_some() && old_path != new_path;
        let change = match known {
            None => EntityChangeKind::Introduced,
            Some(known) if known.body_hash != entity.body_hash || moved => EntityChangeKind::Modified,
            Some(_) => continue,
        };
        let from = moved.then(|| named(old_path, &entity.name));
        let change = EntityChange { entity: named(new_path, &entity.name), kind: entity.kind, change, from };
        changes.push(Found { change, body_hash: entity.body_hash, body_size: entity.body_size });
    }
    for entity in old.iter().filter(|entity| !after.contains_key(entity.name.as_str())) {
        let change = EntityChange {
            entity: named(old_path, &entity.name),
            kind: entity.kind,
            change: EntityChangeKind::Removed,
            from: None,
        };
        changes.push(Found { change, body_hash: entity.body_hash, body_size: entity.body_size });
    }
}

/// An entity that goes away in one place and appears in another with the same body has moved or got another name. So has
/// one with the same name and a body of much the same size: what is moved is often changed a little with it.
fn join_moved(changes: &mut Vec<Found>) {
    join_pairs(
        changes,
        |found| (found.body_size >= MIN_BODY).then_some((found.body_hash, found.change.kind)),
        |_, _| true,
    );
    let has_like_size = |one: &Found, other: &Found| {
        let (smaller, larger) = (one.body_size.min(other.body_size), one.body_size.max(other.body_size));
        u64::from(smaller) * MAX_GROWTH >= u64::from(larger)
    };
    join_pairs(
        changes,
        |found| {
            let (name, kind) = (&found.change.entity.name, found.change.kind);
            let is_known_by_name = found.body_size >= MIN_BODY && (kind.is_type() || is_distinctive(name));
            is_known_by_name.then(|| (name.clone(), kind))
        },
        has_like_size,
    );
}

/// Whether hardly two things in a commit would have a name without being the same: not `main`.
fn is_distinctive(name: &str) -> bool {
    name.contains(['.', ':', '_']) || name.len() >= DISTINCTIVE
}

/// Joins what goes away with what appears by the same key, where that is one each: of several it is not known which became
/// which.
fn join_pairs<K: Eq + Hash>(
    changes: &mut Vec<Found>,
    key_of: impl Fn(&Found) -> Option<K>,
    is_same: impl Fn(&Found, &Found) -> bool,
) {
    let mut removed: HashMap<K, Vec<usize>> = HashMap::new();
    let mut introduced: HashMap<K, Vec<usize>> = HashMap::new();
    for (at, found) in changes.iter().enumerate() {
        let Some(key) = key_of(found) else { continue };
        match found.change.change {
            EntityChangeKind::Removed => removed.entry(key).or_default().push(at),
            EntityChangeKind::Introduced => introduced.entry(key).or_default().push(at),
            EntityChangeKind::Modified => {}
        }
    }
    let mut gone = Vec::new();
    for (key, from) in removed {
        let ([from], Some([to])) = (from.as_slice(), introduced.get(&key).map(Vec::as_slice)) else { continue };
        if !is_same(&changes[*from], &changes[*to]) {
            continue;
        }
        let old = changes[*from].change.entity.clone();
        let new = &mut changes[*to].change;
        new.change = EntityChangeKind::Modified;
        new.from = Some(old);
        gone.push(*from);
    }
    gone.sort_unstable();
    for at in gone.into_iter().rev() {
        changes.remove(at);
    }
}
