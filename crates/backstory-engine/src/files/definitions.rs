//! Code entities at a revision: what files define there, read from the clone. Those at the indexed head are in the lists.

use backstory_model::{
    code::{Entity, EntityKind, FileKind, FileSelection, TestRole},
    commit::{FileMode, RepoPath, Sha},
};
use backstory_sources::{
    code::{Limits, analyze, detect, left_out_by_path, select},
    git::{directory::DirectoryEntry, objects::ObjectError},
};

use super::{text::read_whole, tree::MAX_ENTRIES};
use crate::{
    error::{Error, Result},
    resources::Resources,
    trace::{Revision, target::resolve_place},
};

/// Most files that are read for one answer.
pub const MAX_DEFINING_FILES: usize = 500;
/// Most bytes of these files.
const MAX_BYTES: u64 = 16 << 20;
/// Most code entities of one answer.
pub const MAX_DEFINITIONS: usize = 20_000;
/// Most directories and files that are looked at for one answer.
const MAX_STEPS: usize = 50_000;
/// Most names that are asked for at once.
const MAX_NAMES: usize = 100;

/// Requests the code entities of a file, or of the files of a directory that are code by their names and that search reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefinitionsRequest {
    /// Full path of the project; may be absent where there is only one repository.
    pub project: Option<String>,
    /// Path from the repository's root; the root if empty.
    pub path: String,
    /// Branch, tag or commit; the indexed head if absent.
    pub rev: Option<String>,
    /// Names, with or without what the entities stand in, in any case; all if there are none.
    pub names: Vec<String>,
    /// Kinds; all if there are none.
    pub kinds: Vec<EntityKind>,
    /// Whether they are tests; both if absent.
    pub test: Option<bool>,
}

/// Code entities at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definitions {
    /// Full path of the project.
    pub project: String,
    /// The commit at which they are like this.
    pub rev: Sha,
    /// The entities by path and line, at most [`MAX_DEFINITIONS`].
    pub definitions: Vec<Definition>,
    /// What was not read, a sentence each.
    pub left_out: Vec<String>,
}

/// A code entity at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Path of its file.
    pub path: String,
    /// What it is.
    pub entity: Entity,
}

/// Lists the code entities of a file or directory at a revision.
///
/// # Errors
/// There is no such path or revision, there are too many names, or the clone cannot be read.
pub(crate) async fn list_definitions(resources: &Resources, request: DefinitionsRequest) -> Result<Definitions> {
    resources.blocking(move |resources| find_definitions(resources, &request)).await
}

fn find_definitions(resources: &Resources, request: &DefinitionsRequest) -> Result<Definitions> {
    if request.names.len() > MAX_NAMES {
        let count = request.names.len();
        return Err(Error::invalid(format!("{count} names were given; at most {MAX_NAMES} are allowed")));
    }
    let place = resolve_place(resources, request.project.as_deref(), request.rev.as_deref())?;
    let path = request.path.trim_end_matches('/');
    let mut found = Definitions {
        project: place.project().to_owned(),
        rev: place.commit,
        definitions: Vec::new(),
        left_out: Vec::new(),
    };
    let is_directory = is_directory(&place, path)?;
    let files = if is_directory { list_sources(resources, &place, path, &mut found)? } else { vec![path.to_owned()] };
    let limits = Limits { bytes: usize::try_from(max_bytes(resources, &place)).unwrap_or(usize::MAX) };
    for file in files {
        let (content, bytes) = read_whole(resources, &place, &file)?;
        // What programs wrote is told only to those who ask for that file.
        let is_read = !is_directory || select(&file, &bytes, limits) == FileSelection::Include;
        let Some(text) = content.text.filter(|_| is_read) else { continue };
        let analysis = analyze(&file, text.as_bytes());
        let entities = analysis.code().map(|code| code.entities.as_slice()).unwrap_or_default();
        let mut wanted: Vec<&Entity> = entities.iter().filter(|entity| is_wanted(request, entity)).collect();
        wanted.sort_by_key(|entity| entity.lines.first);
        let room = MAX_DEFINITIONS - found.definitions.len();
        let is_full = wanted.len() > room;
        let definition = |entity: &Entity| Definition { path: file.clone(), entity: entity.clone() };
        found.definitions.extend(wanted.into_iter().take(room).map(definition));
        if is_full {
            found.left_out.push(format!("code entities beyond the first {MAX_DEFINITIONS}"));
            break;
        }
    }
    Ok(found)
}

fn is_wanted(request: &DefinitionsRequest, entity: &Entity) -> bool {
    let is_named = |name: &String| {
        let lower = name.to_lowercase();
        entity.name.to_lowercase() == lower || entity.qualified_name.to_lowercase() == lower
    };
    (request.names.is_empty() || request.names.iter().any(is_named))
        && (request.kinds.is_empty() || request.kinds.contains(&entity.kind))
        && request.test.is_none_or(|test| test == (entity.test == TestRole::Test))
}

/// Most bytes of a file that search reads.
fn max_bytes(resources: &Resources, place: &Revision) -> u64 {
    resources.settings().repositories.max_file_bytes(place.project())
}

fn is_directory(place: &Revision, path: &str) -> Result<bool> {
    if path.is_empty() {
        return Ok(true);
    }
    match place.objects.entry(place.commit, &RepoPath::from_escaped(path)) {
        Ok(entry) => Ok(entry.mode == FileMode::TREE),
        // Reading it says which paths are like it.
        Err(ObjectError::NoSuchPath { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The source files of a directory, in the order of their paths, as far as there is room for them.
fn list_sources(resources: &Resources, place: &Revision, path: &str, found: &mut Definitions) -> Result<Vec<String>> {
    let most = max_bytes(resources, place);
    let mut waiting = entries_of(place, &RepoPath::from_escaped(path), found)?;
    let (mut files, mut bytes, mut beyond, mut steps) = (Vec::new(), 0, 0_usize, 0);
    while let Some(entry) = waiting.pop() {
        steps += 1;
        if steps > MAX_STEPS || waiting.len() > MAX_STEPS {
            found.left_out.push(format!("what is beyond the first {MAX_STEPS} directories and files"));
            break;
        }
        let name = entry.path.as_str();
        if entry.mode == FileMode::TREE {
            if left_out_by_path(&format!("{name}/a")).is_none() {
                waiting.extend(entries_of(place, &entry.path, found)?);
            }
            continue;
        }
        let size = entry.size.unwrap_or(u64::MAX);
        if size > most || !is_source(resources, place, &entry) {
            continue;
        }
        if files.len() < MAX_DEFINING_FILES && bytes + size <= MAX_BYTES {
            files.push(name.to_owned());
            bytes += size;
        } else {
            beyond += 1;
        }
    }
    if beyond > 0 {
        found.left_out.push(format!("{beyond} files for which there was no room; ask for a directory with fewer"));
    }
    Ok(files)
}

/// The entries of a directory, the first one last.
fn entries_of(place: &Revision, path: &RepoPath, found: &mut Definitions) -> Result<Vec<DirectoryEntry>> {
    let listing = place.objects.directory(place.commit, path, MAX_ENTRIES)?;
    if listing.total > listing.entries.len() {
        let name = path.as_str();
        found.left_out.push(format!("entries beyond the first {MAX_ENTRIES} of directory '{name}'"));
    }
    Ok(listing.entries.into_iter().rev().collect())
}

/// Whether an entry of a directory is a file that is code and that search reads, as far as its path tells.
fn is_source(resources: &Resources, place: &Revision, entry: &DirectoryEntry) -> bool {
    let path = entry.path.as_str();
    entry.mode.is_file()
        && matches!(detect(path, &[]), FileKind::Code(_))
        && left_out_by_path(path).is_none()
        && !resources.settings().repositories.leaves_out(place.project(), path)
        && resources.redact_name(path) == path
}
