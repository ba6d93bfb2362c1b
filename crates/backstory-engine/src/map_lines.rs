//! Finds lines of somebody's working tree at the indexed commit: past edits that are not committed, commits that the index
//! lacks, and those of another branch.
//!
//! The text is compared with the file at the newest commit that checkout and index share, and that file with the one at
//! the indexed head, both as blame compares versions. So a line is taken for the one that blame would name if the text
//! were committed.

use backstory_model::{
    commit::{ObjectKind, RepoPath, Sha},
    place::describe_lines,
};
use backstory_sources::git::{lineage::LineMap, objects::ObjectError};
use serde::{Deserialize, Serialize};

use crate::{
    clones::MAX_TEXT,
    error::{Error, Result},
    resources::Resources,
    trace::{Revision, check_range, target::resolve_place},
    use_case::{UseCase, Weight},
};

/// Most commits of a checkout that are looked at.
pub const MAX_COMMITS: usize = 1000;
/// Most paths that a file had before.
pub const MAX_EARLIER_PATHS: usize = 50;
/// Largest text of a file, in bytes.
pub const MAX_CHECKOUT_TEXT: usize = 4 << 20;

/// Asks where lines of a working tree are at the indexed commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MapLinesRequest {
    /// Full path of the project; may be absent where there is only one repository.
    pub project: Option<String>,
    /// Path of the file from the repository's root.
    pub path: String,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// The file as it is in the working tree.
    pub text: String,
    /// The file as it is at the checked out commit, if it is another text there.
    pub committed: Option<String>,
    /// The checked out commit and those below it, the newest first, at most 1,000.
    pub commits: Vec<Sha>,
    /// The paths that the file had before it was renamed there, the newest first, at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_paths: Vec<String>,
}

/// Where the lines are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MappedLines {
    /// The same lines at `rev`; null if all of them are new.
    pub lines: Option<(u32, u32)>,
    /// The path at which they are these, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The commit at which they are these; null for the indexed head.
    pub rev: Option<String>,
    /// Those of the lines that are new, as first and last line.
    pub new_lines: Vec<(u32, u32)>,
    /// What was done, a sentence each; empty if the file is as indexed.
    pub notes: Vec<String>,
}

impl UseCase for MapLinesRequest {
    const NAME: &'static str = "map-lines";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = MappedLines;

    async fn run(self, resources: &Resources) -> Result<MappedLines> {
        resources.blocking(move |resources| map_lines(resources, &self)).await
    }
}

/// Where lines of a text came from.
struct Followed {
    /// Line of the text, and the line that it is in the older one.
    pairs: Vec<(u32, u32)>,
    new: Vec<u32>,
}

fn map_lines(resources: &Resources, request: &MapLinesRequest) -> Result<MappedLines> {
    let (first, last) = request.lines;
    check_range(first, last)?;
    let is_too_long = |text: &String| text.len() > MAX_CHECKOUT_TEXT;
    let has_long_text = is_too_long(&request.text) || request.committed.as_ref().is_some_and(is_too_long);
    if has_long_text || request.commits.len() > MAX_COMMITS || request.earlier_paths.len() > MAX_EARLIER_PATHS {
        return Err(Error::invalid("these are not lines of a file that can be compared")
            .with_hint(format!("a file may have {} MiB", MAX_CHECKOUT_TEXT >> 20)));
    }
    let place = resolve_place(resources, request.project.as_deref(), None)?;
    let head = file_at(&place, place.commit, &request.path)?;
    if head.as_deref() == Some(request.text.as_bytes()) {
        return Ok(MappedLines { lines: Some(request.lines), ..MappedLines::default() });
    }
    let Some((ahead, base)) = find_base(&place, &request.commits)? else {
        let note = "this checkout shares no commit with the index; the lines are taken as those of the index";
        return Ok(MappedLines { lines: Some(request.lines), notes: vec![note.to_owned()], ..MappedLines::default() });
    };
    let Some((path, old)) = find_file(&place, base, request)? else {
        let mut mapped = unmapped(request);
        let base = base.short();
        mapped.notes.push(format!("{} is not at {base}, the newest commit that the index knows of", request.path));
        return Ok(mapped);
    };
    let followed = follow(&old, request)?;
    let mut mapped = MappedLines { new_lines: runs(&followed.new), ..MappedLines::default() };
    // At the indexed head, a file that was renamed since may still have its old path.
    let is_at_head = head.is_some();
    let head = if path == request.path { head } else { head.or(file_at(&place, place.commit, path)?) };
    if path != request.path {
        mapped.notes.push(format!("{} of this checkout is {path} at {}", request.path, base.short()));
    }
    mapped.notes.extend(describe_distance(&place, base, ahead));
    describe_new(request, &followed, &mut mapped)?;
    let at_base = span(followed.pairs.iter().map(|(_, old)| *old));
    let moved = match head.as_deref().filter(|_| base != place.commit) {
        Some(head) => {
            let map = LineMap::between(&old, head)?;
            span(followed.pairs.iter().filter_map(|(_, old)| map.new_line(*old)))
        }
        None if base == place.commit => at_base,
        None => None,
    };
    match (moved, at_base) {
        (Some(lines), _) => mapped.lines = Some(lines),
        (None, Some(lines)) => {
            mapped.lines = Some(lines);
            mapped.rev = Some(base.to_string());
            let (base, head) = (base.short(), place.commit.short());
            mapped.notes.push(format!("they are not at the indexed {head} any more; this is about them at {base}"));
        }
        (None, None) => {}
    }
    // The index may know of the same renaming, through a commit that this checkout lacks.
    if path != request.path && (mapped.rev.is_some() || !is_at_head) {
        mapped.path = Some(path.to_owned());
    }
    if let Some((from, to)) = mapped.lines.filter(|lines| *lines != request.lines) {
        let at = mapped.rev.as_ref().map_or_else(|| place.commit.short(), |_| base.short());
        mapped.notes.push(format!(
            "{} of this checkout: {} at {at}",
            describe_lines((first, last)),
            describe_lines((from, to))
        ));
    }
    Ok(mapped)
}

/// All lines are new.
fn unmapped(request: &MapLinesRequest) -> MappedLines {
    MappedLines { new_lines: vec![request.lines], ..MappedLines::default() }
}

/// The newest commit of a checkout that the clone has, and how many before it the clone lacks.
fn find_base(place: &Revision, commits: &[Sha]) -> Result<Option<(usize, Sha)>> {
    for (ahead, commit) in commits.iter().enumerate() {
        if place.objects.kind(*commit)? == Some(ObjectKind::Commit) {
            return Ok(Some((ahead, *commit)));
        }
    }
    Ok(None)
}

fn file_at(place: &Revision, commit: Sha, path: &str) -> Result<Option<Vec<u8>>> {
    match place.objects.file(commit, &RepoPath::from_escaped(path), MAX_TEXT) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ObjectError::NoSuchPath { .. } | ObjectError::OtherKind { .. } | ObjectError::TooLarge { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The file of a request at a commit, under the newest of its paths that the commit has.
fn find_file<'a>(place: &Revision, commit: Sha, request: &'a MapLinesRequest) -> Result<Option<(&'a str, Vec<u8>)>> {
    for path in std::iter::once(&request.path).chain(&request.earlier_paths) {
        if let Some(text) = file_at(place, commit, path)? {
            return Ok(Some((path, text)));
        }
    }
    Ok(None)
}

/// The lines of a request in an older version: first past what is not committed, then past commits, as blame goes.
fn follow(old: &[u8], request: &MapLinesRequest) -> Result<Followed> {
    let text = request.text.as_bytes();
    let (map, committed) = match request.committed.as_ref().map(String::as_bytes) {
        Some(committed) => (LineMap::between(committed, text)?, Some(LineMap::between(old, committed)?)),
        None => (LineMap::between(old, text)?, None),
    };
    let old_line = |line| {
        let line = map.old_line(line)?;
        committed.as_ref().map_or(Some(line), |committed| committed.old_line(line))
    };
    let (first, last) = request.lines;
    if first > map.new_line_count() {
        return Err(Error::invalid(format!("{} has no line {first} in this checkout", request.path))
            .with_hint(format!("it has {} lines", map.new_line_count())));
    }
    let mut followed = Followed { pairs: Vec::new(), new: Vec::new() };
    for line in first..=last.min(map.new_line_count()) {
        match old_line(line) {
            Some(old) => followed.pairs.push((line, old)),
            None => followed.new.push(line),
        }
    }
    Ok(followed)
}

/// Says how far a checkout is from the indexed commit.
fn describe_distance(place: &Revision, base: Sha, ahead: usize) -> Option<String> {
    let indexed = place.commit.short();
    match ahead {
        0 if base == place.commit => None,
        0 => Some(format!("this checkout is at {}, another commit than the indexed {indexed}", base.short())),
        1 => Some(format!("this checkout has a commit that the index lacks (indexed: {indexed})")),
        many => Some(format!("this checkout has {many} commits that the index lacks (indexed: {indexed})")),
    }
}

/// Says which lines are new, and whether they are committed.
fn describe_new(request: &MapLinesRequest, followed: &Followed, mapped: &mut MappedLines) -> Result<()> {
    if followed.new.is_empty() {
        return Ok(());
    }
    let is_edited = |line: &u32, map: &LineMap| map.old_line(*line).is_none();
    let edits = match &request.committed {
        Some(committed) => Some(LineMap::between(committed.as_bytes(), request.text.as_bytes())?),
        None => None,
    };
    for (from, to) in &mapped.new_lines {
        let uncommitted = edits.as_ref().is_some_and(|map| (*from..=*to).any(|line| is_edited(&line, map)));
        let why = if uncommitted { "not committed yet" } else { "from a commit that the index lacks" };
        let verb = if from == to { "is" } else { "are" };
        mapped.notes.push(format!("{} {verb} new: {why}", describe_lines((*from, *to))));
    }
    Ok(())
}

fn span(lines: impl Iterator<Item = u32>) -> Option<(u32, u32)> {
    lines.fold(None, |span: Option<(u32, u32)>, line| {
        Some(span.map_or((line, line), |(first, last)| (first.min(line), last.max(line))))
    })
}

/// Lines as runs of consecutive ones.
fn runs(lines: &[u32]) -> Vec<(u32, u32)> {
    lines.chunk_by(|one, next| one + 1 == *next).map(|run| (run[0], run[run.len() - 1])).collect()
}
