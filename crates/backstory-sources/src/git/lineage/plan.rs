//! What one commit did to one file: which of its lines come from which parent's file, by contents alone.
//!
//! A plan needs no blame, so plans can be made in any order and at the same time; joined from the first commit on they
//! give the blame.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    path::Path,
    sync::Arc,
};

use backstory_model::lineage::OriginFlags;
use git2::Oid;

use super::{
    Error, Mode, Untraced,
    blocks::{self, Blocks, Line, Wanted},
    hunks::{Hunk, hunks, line_count},
    ignored,
    objects::{CommitInfo, Differences, Kind, Objects, RepoPath, Text, TwoGenerationCache},
    renames::Renames,
};

/// Most pairs of texts of one commit whose hunks are kept for when they are needed again.
const MAX_KEPT_HUNKS: usize = 10_000;

/// Most lines of two texts together that are compared; what differs in more counts as rewritten.
const MAX_COMPARED: u32 = 1_000_000;
/// Most lines of texts that one cache keeps without their white space in each of its two generations.
const LINE_CACHE: usize = 300_000;

/// How the file at a path of a commit came about.
#[derive(Debug)]
pub(super) enum FilePlan {
    /// It is, byte for byte, that file of that parent.
    Same { parent: usize, path: RepoPath },
    /// Its lines come from here and there.
    Lines(Plan),
    /// It is no file whose lines are traced.
    Untraced(Untraced),
}

#[derive(Debug)]
pub(super) struct Plan {
    /// All lines in order.
    pub(super) pieces: Vec<PlannedLines>,
    /// What the first parent that has the file had in place of lines that are new.
    pub(super) compared: Option<Compared>,
    /// Whether lines that no parent has unchanged were looked for elsewhere.
    pub(super) is_whole: bool,
}

impl Plan {
    /// The pieces that have some of these lines, in order.
    pub(super) fn about(&self, lines: &Range<u32>) -> impl Iterator<Item = &PlannedLines> {
        let first = self.pieces.partition_point(|piece| piece.start + piece.lines <= lines.start);
        let end = lines.end;
        self.pieces[first..].iter().take_while(move |piece| piece.start < end)
    }
}

impl FilePlan {
    /// Whether it says where these lines come from.
    pub(super) fn tells(&self, lines: &Range<u32>) -> bool {
        match self {
            Self::Lines(plan) => plan.is_whole || plan.about(lines).all(|piece| piece.from.is_some()),
            Self::Same { .. } | Self::Untraced(_) => true,
        }
    }
}

/// Consecutive lines of the file.
#[derive(Clone, Debug)]
pub(super) struct PlannedLines {
    /// First line, from 0.
    pub(super) start: u32,
    pub(super) lines: u32,
    /// Where they come from; none if this commit wrote them.
    pub(super) from: Option<ParentLines>,
}

/// Lines of a parent's file.
#[derive(Clone, Debug)]
pub(super) struct ParentLines {
    pub(super) parent: usize,
    pub(super) path: RepoPath,
    /// First line there, from 0.
    pub(super) line: u32,
    pub(super) seen: OriginFlags,
}

#[derive(Debug)]
pub(super) struct Compared {
    pub(super) parent: usize,
    pub(super) path: RepoPath,
    pub(super) hunks: Vec<Hunk>,
}

/// A commit and what was found out about it as a whole.
pub(super) struct CommitContext {
    pub(super) id: Oid,
    pub(super) info: CommitInfo,
    parent_trees: Vec<Oid>,
    differences: Vec<Option<Arc<Differences>>>,
    /// Whether it changes more than is compared: then it is taken to have written all the files that it changes.
    is_too_much: Option<bool>,
    hunks: HashMap<(Oid, Oid), Arc<[Hunk]>>,
    blocks: Option<Arc<Blocks>>,
}

/// A file of a parent that lines may come from.
struct Ancestor {
    parent: usize,
    path: RepoPath,
    text: Arc<[u8]>,
    hunks: Arc<[Hunk]>,
}

pub(super) struct Planner {
    pub(super) objects: Objects,
    renames: Renames,
    lines: TwoGenerationCache<Oid, Arc<[Line]>>,
    mode: Mode,
    ignored: Arc<HashSet<Oid>>,
}

impl Planner {
    pub(super) fn open(
        repository: &Path,
        mode: Mode,
        ignored: Arc<HashSet<Oid>>,
        max_file_bytes: usize,
    ) -> Result<Self, Error> {
        let objects = Objects::open(repository, max_file_bytes)?;
        Ok(Self { objects, renames: Renames::default(), lines: TwoGenerationCache::new(LINE_CACHE), mode, ignored })
    }

    pub(super) fn context(&mut self, id: Oid) -> Result<CommitContext, Error> {
        let info = self.objects.commit(id)?;
        let parent_trees: Vec<Oid> =
            info.parents.iter().map(|parent| Ok(self.objects.commit(*parent)?.tree)).collect::<Result<_, Error>>()?;
        let differences = vec![None; parent_trees.len().max(1)];
        let hunks = HashMap::new();
        Ok(CommitContext { id, info, parent_trees, differences, is_too_much: None, hunks, blocks: None })
    }

    /// What differs between a parent, or nothing if there is none, and the commit.
    pub(super) fn differences(&mut self, commit: &mut CommitContext, parent: usize) -> Result<Arc<Differences>, Error> {
        if let Some(differences) = &commit.differences[parent] {
            return Ok(Arc::clone(differences));
        }
        let old = commit.parent_trees.get(parent).copied();
        let found = Arc::new(self.objects.differences(old, Some(commit.info.tree))?);
        commit.differences[parent] = Some(Arc::clone(&found));
        Ok(found)
    }

    /// How the file came about that the commit has at the path, with that content.
    pub(super) fn step(
        &mut self,
        commit: &mut CommitContext,
        path: &RepoPath,
        content: Oid,
    ) -> Result<FilePlan, Error> {
        self.step_for(commit, path, content, None)
    }

    /// The same, if only some lines matter: where a parent has all of these unchanged, the others are not looked for.
    pub(super) fn step_for(
        &mut self,
        commit: &mut CommitContext,
        path: &RepoPath,
        content: Oid,
        lines: Option<&Range<u32>>,
    ) -> Result<FilePlan, Error> {
        let text = match self.objects.text(content)? {
            Text::Lines(text) => text,
            Text::Untraced(why) => return Ok(FilePlan::Untraced(why)),
        };
        let files = match self.ancestor_files(commit, path, content)? {
            Ancestors::Same { parent, path } => return Ok(FilePlan::Same { parent, path }),
            Ancestors::Files(files) => files,
        };
        let mut ancestors = Vec::with_capacity(files.len());
        let mut cover = LineCoverage::new(line_count(&text));
        for (parent, path, old) in files {
            let Text::Lines(old_text) = self.objects.text(old)? else { continue };
            let hunks = self.hunks(commit, (old, &old_text), (content, &text))?;
            cover.take_unchanged(
                &hunks,
                &ParentLines { parent, path: Arc::clone(&path), line: 0, seen: OriginFlags::NONE },
            );
            ancestors.push(Ancestor { parent, path, text: old_text, hunks });
        }
        if lines.is_some_and(|lines| !cover.has_free(lines)) {
            return Ok(FilePlan::Lines(Plan { pieces: cover.into_pieces(), compared: None, is_whole: false }));
        }
        let compared = ancestors.first().map(|first| Compared {
            parent: first.parent,
            path: Arc::clone(&first.path),
            hunks: if commit.info.parents.len() > 1 { cover.only_free(&first.hunks) } else { first.hunks.to_vec() },
        });
        let is_too_much = !ancestors.is_empty() && self.is_too_much(commit)?;
        if self.ignored.contains(&commit.id) && !is_too_much {
            for ancestor in &ancestors {
                let taken = ParentLines {
                    parent: ancestor.parent,
                    path: Arc::clone(&ancestor.path),
                    line: 0,
                    seen: OriginFlags::IGNORED,
                };
                for (line, old_line) in ignored::same_lines(&ancestor.text, &text, &ancestor.hunks) {
                    cover.take(line, 1, ParentLines { line: old_line, ..taken.clone() });
                }
            }
        }
        let may_be_moved = self.mode == Mode::SeeThrough && !is_too_much && !commit.info.parents.is_empty();
        if may_be_moved && !cover.free.is_empty() {
            let same_file = ancestors.first().filter(|first| first.parent == 0);
            let same_file = same_file.map(|first| Arc::clone(&first.path));
            self.take_blocks(commit, (path, content, &text), same_file.as_ref(), &mut cover)?;
        }
        Ok(FilePlan::Lines(Plan { pieces: cover.into_pieces(), compared, is_whole: true }))
    }

    /// The files of the parents that the file is compared with, in the order in which lines are given to them.
    fn ancestor_files(
        &mut self,
        commit: &mut CommitContext,
        path: &RepoPath,
        content: Oid,
    ) -> Result<Ancestors, Error> {
        let mut files: Vec<(usize, RepoPath, Oid)> = Vec::new();
        let mut absent = Vec::new();
        for parent in 0..commit.parent_trees.len() {
            match self.objects.entry(commit.parent_trees[parent], path)? {
                Some((Kind::File, id)) if id == content => {
                    return Ok(Ancestors::Same { parent, path: Arc::clone(path) });
                }
                Some((Kind::File, id)) if files.iter().all(|file| file.2 != id) => {
                    files.push((parent, Arc::clone(path), id));
                }
                Some((Kind::File | Kind::Other, _)) => {}
                Some((Kind::Tree, _)) | None => absent.push(parent),
            }
        }
        for parent in absent {
            let differences = self.differences(commit, parent)?;
            let Some((from, id)) = self.renames.find(&mut self.objects, &differences.found, path, content)? else {
                continue;
            };
            if id == content {
                return Ok(Ancestors::Same { parent, path: from });
            }
            if files.iter().all(|file| file.0 > parent || file.2 != id) {
                files.push((parent, from, id));
            }
        }
        files.sort_by_key(|file| file.0);
        Ok(Ancestors::Files(files))
    }

    fn hunks(
        &mut self,
        commit: &mut CommitContext,
        old: (Oid, &[u8]),
        new: (Oid, &[u8]),
    ) -> Result<Arc<[Hunk]>, Error> {
        if let Some(hunks) = commit.hunks.get(&(old.0, new.0)) {
            return Ok(Arc::clone(hunks));
        }
        let (old_lines, new_lines) = (line_count(old.1), line_count(new.1));
        let found: Arc<[Hunk]> = if old_lines.saturating_add(new_lines) > MAX_COMPARED || self.is_too_much(commit)? {
            [Hunk { old_start: 0, old_lines, new_start: 0, new_lines }].into()
        } else {
            hunks(old.1, new.1)?.into()
        };
        if commit.hunks.len() < MAX_KEPT_HUNKS {
            commit.hunks.insert((old.0, new.0), Arc::clone(&found));
        }
        Ok(found)
    }
}

impl Planner {
    fn is_too_much(&mut self, commit: &mut CommitContext) -> Result<bool, Error> {
        if let Some(known) = commit.is_too_much {
            return Ok(known);
        }
        let differences = self.differences(commit, 0)?;
        let load =
            self.objects.load(&differences).map_err(|source| Error::read("files of commit", commit.id, source))?;
        commit.is_too_much = Some(load.exceeds_limits());
        Ok(load.exceeds_limits())
    }
}

enum Ancestors {
    Same { parent: usize, path: RepoPath },
    Files(Vec<(usize, RepoPath, Oid)>),
}

/// Which lines of a file have been given to somebody, and which are free yet. Lines count from 0.
pub(super) struct LineCoverage {
    pieces: Vec<PlannedLines>,
    /// Start and length of what is free, in order, without neighbors that touch.
    pub(super) free: Vec<(u32, u32)>,
}

impl LineCoverage {
    fn new(lines: u32) -> Self {
        Self { pieces: Vec::new(), free: if lines > 0 { vec![(0, lines)] } else { Vec::new() } }
    }

    /// Gives the free ones among the lines that no hunk touches.
    fn take_unchanged(&mut self, hunks: &[Hunk], from: &ParentLines) {
        let mut left = Vec::with_capacity(self.free.len());
        let mut at = 0;
        for (start, lines) in std::mem::take(&mut self.free) {
            let (end, mut line) = (start + lines, start);
            while line < end {
                while hunks.get(at).is_some_and(|hunk| hunk.new_start + hunk.new_lines <= line) {
                    at += 1;
                }
                // What is before the next hunk is as far from its old place as the end of the last one is.
                let ahead = at.checked_sub(1).map_or(0, |last| {
                    let last = hunks[last];
                    i64::from(last.old_start + last.old_lines) - i64::from(last.new_start + last.new_lines)
                });
                let next = hunks.get(at);
                let until = next.map_or(end, |hunk| hunk.new_start.clamp(line, end));
                if until > line {
                    let old = u32::try_from(i64::from(line) + ahead).unwrap_or(0);
                    let from = Some(ParentLines { line: old, ..from.clone() });
                    self.pieces.push(PlannedLines { start: line, lines: until - line, from });
                }
                let after = next.map_or(end, |hunk| (hunk.new_start + hunk.new_lines).clamp(until, end));
                if after > until {
                    left.push((until, after - until));
                }
                line = after;
            }
        }
        self.free = left;
    }

    /// Whether some of these lines are free.
    fn has_free(&self, lines: &Range<u32>) -> bool {
        let first = self.free.partition_point(|(start, length)| start + length <= lines.start);
        self.free.get(first).is_some_and(|(start, _)| *start < lines.end)
    }

    /// Gives lines that are free; lines that are not are left as they are.
    pub(super) fn take(&mut self, start: u32, lines: u32, from: ParentLines) {
        let at = self.free.partition_point(|(free, length)| free + length <= start);
        let Some(&(free, length)) = self.free.get(at) else { return };
        if free > start || free + length < start + lines || lines == 0 {
            return;
        }
        let before = (free, start - free);
        let after = (start + lines, free + length - start - lines);
        self.free.splice(at..=at, [before, after].into_iter().filter(|(_, length)| *length > 0));
        self.pieces.push(PlannedLines { start, lines, from: Some(from) });
    }

    /// The hunks cut down to the new lines that are free.
    fn only_free(&self, hunks: &[Hunk]) -> Vec<Hunk> {
        let mut found = Vec::new();
        for hunk in hunks {
            let end = hunk.new_start + hunk.new_lines;
            let first = self.free.partition_point(|(start, lines)| start + lines <= hunk.new_start);
            for &(start, lines) in self.free[first..].iter().take_while(|(start, _)| *start < end) {
                let (start, stop) = (start.max(hunk.new_start), (start + lines).min(end));
                found.push(Hunk { new_start: start, new_lines: stop - start, ..*hunk });
            }
        }
        found
    }

    fn into_pieces(mut self) -> Vec<PlannedLines> {
        self.pieces.extend(self.free.iter().map(|(start, lines)| PlannedLines {
            start: *start,
            lines: *lines,
            from: None,
        }));
        self.pieces.sort_unstable_by_key(|piece| piece.start);
        self.pieces
    }
}

impl Planner {
    /// Gives free lines that were moved or copied to where they were in the first parent.
    fn take_blocks(
        &mut self,
        commit: &mut CommitContext,
        (path, content, text): (&[u8], Oid, &[u8]),
        same_file: Option<&RepoPath>,
        cover: &mut LineCoverage,
    ) -> Result<(), Error> {
        let lines = self.lines(content, text);
        if cover.free.iter().all(|run| blocks::score(&lines, *run) < blocks::MIN_SCORE) {
            return Ok(());
        }
        let index = self.blocks(commit)?;
        let found = index.find(&Wanted { lines: &lines, path, same_file }, &cover.free);
        for block in found {
            let path = Arc::clone(index.path(block.file));
            let seen = if block.moved { OriginFlags::MOVED } else { OriginFlags::COPIED };
            cover.take(block.new_start, block.lines, ParentLines { parent: 0, path, line: block.old_start, seen });
        }
        Ok(())
    }

    fn lines(&mut self, id: Oid, text: &[u8]) -> Arc<[Line]> {
        let weight = |lines: &Arc<[Line]>| lines.len() + 1;
        if let Some(lines) = self.lines.get(id, weight) {
            return lines;
        }
        let lines = blocks::lines_of(text);
        self.lines.put(id, Arc::clone(&lines), weight(&lines));
        lines
    }

    /// The lines of the first parent's versions of the files that the commit changed, found once for the commit.
    fn blocks(&mut self, commit: &mut CommitContext) -> Result<Arc<Blocks>, Error> {
        if let Some(blocks) = &commit.blocks {
            return Ok(Arc::clone(blocks));
        }
        let mut index = Blocks::default();
        for difference in &self.differences(commit, 0)?.found {
            let Some((Kind::File, old)) = difference.old else { continue };
            let Text::Lines(old_text) = self.objects.text(old)? else { continue };
            if !index.can_hold(old_text.len()) {
                break;
            }
            let hunks = match difference.new {
                Some((Kind::File, new)) => match self.objects.text(new)? {
                    Text::Lines(new_text) => Some(self.hunks(commit, (old, &old_text), (new, &new_text))?),
                    Text::Untraced(_) => None,
                },
                _ => None,
            };
            let lines = self.lines(old, &old_text);
            index.add(Arc::clone(&difference.path), old_text.len(), lines, hunks.as_deref());
        }
        let index = Arc::new(index.finish());
        commit.blocks = Some(Arc::clone(&index));
        Ok(index)
    }
}
