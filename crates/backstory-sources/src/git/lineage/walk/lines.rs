//! Follows some lines of one file back and no others: who asks about ten lines need not wait for those of the whole
//! file, which may have come from anywhere.

use std::{collections::HashMap, ops::Range, rc::Rc};

use backstory_model::lineage::{BlameSpans, OriginFlags};
use git2::Oid;

use super::{
    super::{
        Error,
        assemble::{BlameEntry, Interner},
        hunks::line_count,
        objects::{Kind, RepoPath, Text},
        plan::FilePlan,
    },
    BackwardWalk, Key, Place,
};

/// Lines of a file, and what they came from as if they were all it has.
pub(in super::super) struct Followed {
    /// How many lines the whole file has.
    pub(in super::super) file_lines: u32,
    pub(in super::super) entry: BlameEntry,
}

/// Consecutive lines that are not followed to the end yet.
struct Piece {
    /// The first of them among those that are wanted, from 0.
    at: u32,
    /// A version, by its index.
    version: usize,
    /// Where they are in that version, from 0.
    lines: Range<u32>,
    seen: OriginFlags,
}

/// Lines and the version that wrote them.
struct Written {
    at: u32,
    lines: u32,
    by: Key,
    /// First line in that version, from 0.
    line: u32,
    seen: OriginFlags,
}

/// A version of a file that lines pass through.
struct Version {
    key: Key,
    path: RepoPath,
    content: Oid,
    plan: Option<Rc<FilePlan>>,
}

#[derive(Default)]
struct Versions {
    all: Vec<Version>,
    by_key: HashMap<Key, usize>,
    /// Which version a commit's file is, which an older commit may have made; none if it is no file with lines.
    of: HashMap<Key, Option<usize>>,
}

/// What is being followed.
#[derive(Default)]
struct Progress {
    versions: Versions,
    open: Vec<Piece>,
    written: Vec<Written>,
}

impl BackwardWalk<'_> {
    /// Where lines of a commit's file come from; those that it does not have are left out.
    pub(in super::super) fn lines(
        &mut self,
        names: &mut Interner,
        (commit, path): (Oid, &RepoPath),
        wanted: Range<u32>,
    ) -> Result<Followed, Error> {
        let tree = self.planner.objects.commit(commit)?.tree;
        let nothing = |entry| Ok(Followed { file_lines: 0, entry });
        let Some((Kind::File, content)) = self.planner.objects.entry(tree, path)? else {
            return nothing(BlameEntry::Gone);
        };
        let file_lines = match self.planner.objects.text(content)? {
            Text::Lines(text) => line_count(&text),
            Text::Untraced(why) => return nothing(BlameEntry::Untraced(why)),
        };
        let mut progress = Progress::default();
        if let Some(version) = self.version(names, &mut progress.versions, commit, path)? {
            let lines = wanted.start.min(file_lines)..wanted.end.min(file_lines);
            progress.open.push(Piece { at: 0, version, lines, seen: OriginFlags::NONE });
        }
        while let Some(piece) = progress.open.pop() {
            if !piece.lines.is_empty() {
                self.follow(names, &mut progress, piece)?;
            }
        }
        progress.written.sort_unstable_by_key(|written| written.at);
        let mut spans = BlameSpans::default();
        for Written { lines, by: (commit, path), line, seen, .. } in progress.written {
            spans.push(lines, names.source(commit, path), line + 1, seen);
        }
        Ok(Followed { file_lines, entry: BlameEntry::Traced(spans.into()) })
    }

    /// Sends lines on to the versions that they came from, or says that they were written here.
    fn follow(&mut self, names: &mut Interner, progress: &mut Progress, piece: Piece) -> Result<(), Error> {
        let Progress { versions, open, written } = progress;
        let by = versions.all[piece.version].key;
        let (plan, parents) = self.plan(&mut versions.all[piece.version], &piece.lines)?;
        let plan = match &*plan {
            FilePlan::Lines(plan) => plan,
            FilePlan::Same { parent, path } => {
                match self.version(names, versions, parents[*parent], path)? {
                    Some(version) => open.push(Piece { version, ..piece }),
                    None => written.push(Written {
                        at: piece.at,
                        lines: piece.lines.end - piece.lines.start,
                        by,
                        line: piece.lines.start,
                        seen: piece.seen,
                    }),
                }
                return Ok(());
            }
            // Only files with lines become versions.
            FilePlan::Untraced(_) => return Ok(()),
        };
        for planned in plan.about(&piece.lines) {
            let start = planned.start.max(piece.lines.start);
            let lines = (planned.start + planned.lines).min(piece.lines.end) - start;
            let at = piece.at + (start - piece.lines.start);
            let before = match &planned.from {
                Some(from) => {
                    self.version(names, versions, parents[from.parent], &from.path)?.map(|found| (found, from))
                }
                None => None,
            };
            match before {
                Some((version, from)) => {
                    let line = from.line + (start - planned.start);
                    let seen = piece.seen.union(from.seen);
                    open.push(Piece { at, version, lines: line..line + lines, seen });
                }
                None => written.push(Written { at, lines, by, line: start, seen: piece.seen }),
            }
        }
        Ok(())
    }

    /// How a version came about, as far as these lines of it need to know, and the parents of its commit.
    fn plan(&mut self, version: &mut Version, lines: &Range<u32>) -> Result<(Rc<FilePlan>, Vec<Oid>), Error> {
        let mut context = self.planner.context(version.key.0)?;
        let known = version.plan.as_ref().filter(|plan| plan.tells(lines));
        let plan = match known {
            Some(plan) => Rc::clone(plan),
            None => Rc::new(self.planner.step_for(&mut context, &version.path, version.content, Some(lines))?),
        };
        version.plan = Some(Rc::clone(&plan));
        Ok((plan, context.info.parents))
    }

    /// The version of a file that a commit has; none if it is no file with lines.
    fn version(
        &mut self,
        names: &mut Interner,
        versions: &mut Versions,
        commit: Oid,
        path: &RepoPath,
    ) -> Result<Option<usize>, Error> {
        let asked = (commit, names.path(path));
        if let Some(known) = versions.of.get(&asked) {
            return Ok(*known);
        }
        let version = match self.place(names, commit, path)? {
            Place::Known(_) => None,
            Place::ToPlan { key, path, content, .. } => match self.planner.objects.text(content)? {
                Text::Untraced(_) => None,
                Text::Lines(_) => Some(*versions.by_key.entry(key).or_insert_with(|| {
                    versions.all.push(Version { key, path, content, plan: None });
                    versions.all.len() - 1
                })),
            },
        };
        versions.of.insert(asked, version);
        Ok(version)
    }
}
