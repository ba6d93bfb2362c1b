//! Joins plans into blame: names as numbers, and a file's spans from its plan and its parents' spans.

use std::{collections::HashMap, sync::Arc};

use backstory_model::{
    commit::{self, Sha},
    lineage::{BlameOrigin, BlameSpan, BlameSpans, FileRevision, Lineage, ReplacedHunk, ReplacedHunks},
};
use git2::Oid;

use super::{
    Error, FileOutcome, Untraced,
    objects::{RepoPath, oid},
    plan::{Compared, Plan},
};

/// Most origins that are told of the old lines of one place.
const MAX_ORIGINS: usize = 64;
/// Most places that are told of one file of one commit.
const MAX_PLACES: usize = 5000;

/// What is known of a file at a commit.
#[derive(Clone, Debug)]
pub(super) enum BlameEntry {
    Traced(Arc<BlameSpans>),
    Untraced(Untraced),
    /// There is no regular file.
    Gone,
}

/// Paths and sources by number.
#[derive(Default)]
pub(super) struct Interner {
    path_ids: HashMap<RepoPath, u32>,
    paths: Vec<(RepoPath, Arc<str>)>,
    source_ids: HashMap<(Oid, u32), u32>,
    sources: Vec<(Oid, u32)>,
}

impl Interner {
    pub(super) fn path(&mut self, path: &RepoPath) -> u32 {
        if let Some(id) = self.path_ids.get(path) {
            return *id;
        }
        let id = self.paths.len() as u32;
        self.path_ids.insert(Arc::clone(path), id);
        self.paths.push((Arc::clone(path), commit::RepoPath::from_bytes(path).as_str().into()));
        id
    }

    /// The path in the form that can be printed.
    pub(super) fn text(&self, path: u32) -> &Arc<str> {
        &self.paths[path as usize].1
    }

    /// The path in the form that git has.
    pub(super) fn bytes(&self, path: u32) -> &[u8] {
        &self.paths[path as usize].0
    }

    pub(super) fn source(&mut self, commit: Oid, path: u32) -> u32 {
        *self.source_ids.entry((commit, path)).or_insert_with(|| {
            self.sources.push((commit, path));
            self.sources.len() as u32 - 1
        })
    }

    /// A new source that is not yet known.
    pub(super) fn add_placeholder(&mut self, commit: Oid, path: &RepoPath) -> u32 {
        let path = self.path(path);
        self.sources.push((commit, path));
        self.sources.len() as u32 - 1
    }

    fn named(&self, source: u32) -> FileRevision {
        let (commit, path) = self.sources[source as usize];
        FileRevision { commit: hash(commit), path: Arc::clone(self.text(path)) }
    }

    pub(super) fn to_public(&self, leaf: &BlameEntry) -> Option<FileOutcome> {
        match leaf {
            BlameEntry::Traced(spans) => {
                Some(FileOutcome::Traced(Arc::new(Lineage::new(spans, |source| self.named(source)))))
            }
            BlameEntry::Untraced(why) => Some(FileOutcome::Untraced(*why)),
            BlameEntry::Gone => None,
        }
    }

    pub(super) fn take_entry(&mut self, file: &FileOutcome) -> BlameEntry {
        match file {
            FileOutcome::Untraced(why) => BlameEntry::Untraced(*why),
            FileOutcome::Traced(lineage) => {
                let ids: Vec<u32> = lineage
                    .sources()
                    .iter()
                    .map(|source| {
                        let path = self.path(&bytes_of(&source.path));
                        self.source(oid(source.commit), path)
                    })
                    .collect();
                BlameEntry::Traced(Arc::new(lineage.spans().with_sources(|id| ids[id as usize])))
            }
        }
    }
}

/// The path that was printed so.
pub(super) fn bytes_of(printed: &str) -> RepoPath {
    commit::RepoPath::from_escaped(printed).to_bytes().into_owned().into()
}

pub(super) fn hash(id: Oid) -> Sha {
    let mut hash = [0; 20];
    hash.copy_from_slice(&id.as_bytes()[..20]);
    Sha::from_bytes(hash)
}

/// The spans of a file from its plan; `parent_file` gives what a parent, by its place, has at a path.
pub(super) fn spans(
    names: &mut Interner,
    (commit, path): (Oid, u32),
    plan: &Plan,
    mut parent_file: impl FnMut(&mut Interner, usize, &RepoPath) -> Result<BlameEntry, Error>,
) -> Result<BlameSpans, Error> {
    let own = names.source(commit, path);
    let mut spans = BlameSpans::default();
    let mut last: Option<(usize, &RepoPath, BlameEntry)> = None;
    for piece in &plan.pieces {
        if let Some(from) = &piece.from {
            let known = last.as_ref().is_some_and(|(parent, path, _)| (*parent, *path) == (from.parent, &from.path));
            if !known {
                last = Some((from.parent, &from.path, parent_file(names, from.parent, &from.path)?));
            }
            if let Some((_, _, BlameEntry::Traced(parent))) = &last {
                spans.push_slice(parent, from.line + 1, piece.lines, from.seen);
                continue;
            }
        }
        spans.push(piece.lines, own, piece.start + 1, backstory_model::lineage::OriginFlags::NONE);
    }
    Ok(spans)
}

/// What a commit replaced in a file whose old version had these spans; `resolved` says where they truly come from.
pub(super) fn replaced(
    names: &mut Interner,
    path: u32,
    compared: &Compared,
    old: &BlameSpans,
    mut resolved: impl FnMut(&mut Interner, BlameSpan) -> Result<Vec<BlameSpan>, Error>,
) -> Result<ReplacedHunks, Error> {
    let mut places = Vec::new();
    for hunk in compared.hunks.iter().take(MAX_PLACES) {
        let mut told = BlameSpans::default();
        for span in old.slice(hunk.old_start + 1, hunk.old_lines) {
            for part in resolved(names, span)? {
                told.push(part.lines, part.source, part.line, part.seen);
            }
        }
        let origin = |span: &BlameSpan| BlameOrigin {
            start: span.start + hunk.old_start,
            lines: span.lines,
            source: names.named(span.source),
            line: span.line,
            seen: span.seen,
        };
        places.push(ReplacedHunk {
            start: hunk.new_start + 1,
            lines: hunk.new_lines,
            old: told.as_slice().iter().take(MAX_ORIGINS).map(origin).collect(),
            capped: told.as_slice().len() > MAX_ORIGINS,
        });
    }
    let old_path = names.path(&compared.path);
    let (path, old_path) = (Arc::clone(names.text(path)), Arc::clone(names.text(old_path)));
    Ok(ReplacedHunks { path, old_path, replaced: places })
}
