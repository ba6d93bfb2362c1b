//! Finds blocks of lines that a commit moved or copied from files that it changed, as its first parent had them.
//!
//! Lines are compared without white space. Letters and digits give the score, as for `git blame -M` and `-C`.

use std::{
    collections::{BinaryHeap, HashMap, hash_map::DefaultHasher},
    hash::Hasher,
    sync::Arc,
};

use super::{hunks::Hunk, objects::RepoPath};

/// Least score of a block of several lines that was moved within the same file.
pub(super) const MIN_SCORE: u64 = 20;
/// Least score of a block that stood in another file, that stayed where it was, or that is a single line: idioms like
/// `if (status != OK) {` stand in many places, and somebody who writes one again does not copy it.
const MIN_SCORE_UNLIKELY: u64 = 40;
/// Most files, and most of their bytes, that blocks are looked for in for one commit.
const MAX_FILES: usize = 1000;
const MAX_BYTES: usize = 16 << 20;
/// A line that stood in more places than this starts no block; it can be part of one.
const MAX_PLACES: usize = 32;
/// Most blocks that are weighed for one file.
const MAX_BLOCKS: usize = 50_000;

/// A line without its white space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    hash: u64,
    /// How many letters and digits are before this line in its text.
    score_before: u64,
    score: u32,
}

/// The lines of a text.
pub(super) fn lines_of(text: &[u8]) -> Arc<[Line]> {
    let mut score_before = 0;
    let mut normal = Vec::new();
    text.split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            normal.clear();
            normal.extend(line.iter().copied().filter(|byte| !byte.is_ascii_whitespace() && *byte != 0x0b));
            let mut hasher = DefaultHasher::new();
            hasher.write(&normal);
            let score = normal.iter().filter(|byte| byte.is_ascii_alphanumeric()).count() as u32;
            let line = Line { hash: hasher.finish(), score_before, score };
            score_before += u64::from(score);
            line
        })
        .collect()
}

/// How many letters and digits a run of lines has, given by its start and length.
pub(super) fn score(lines: &[Line], (start, length): (u32, u32)) -> u64 {
    let end = (start as usize + length as usize).min(lines.len());
    if end <= start as usize {
        return 0;
    }
    let last = lines[end - 1];
    last.score_before + u64::from(last.score) - lines[start as usize].score_before
}

/// The file that blocks are looked for in.
pub(super) struct Wanted<'a> {
    pub(super) lines: &'a [Line],
    pub(super) path: &'a [u8],
    /// Its path in the first parent, if it was there.
    pub(super) same_file: Option<&'a RepoPath>,
}

/// How many leading parts two paths share.
fn shared_parts(one: &[u8], other: &[u8]) -> usize {
    let parts = |path| <[u8]>::split(path, |byte| *byte == b'/');
    parts(one).zip(parts(other)).take_while(|(one, other)| one == other).count()
}

/// Lines that stood elsewhere. In the order in which blocks are taken, the greatest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) file: usize,
    pub(super) old_start: u32,
    pub(super) new_start: u32,
    pub(super) lines: u32,
    /// Whether the commit took most of the lines away from where they stood.
    pub(super) moved: bool,
    score: u64,
    same_file: bool,
    /// How many leading parts the paths share.
    kinship: usize,
}

impl Ord for Block {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let weight = |block: &Self| (block.score, block.moved, block.same_file, block.kinship);
        let place = |block: &Self| (block.file, block.old_start, block.new_start, block.lines);
        weight(self).cmp(&weight(other)).then_with(|| place(other).cmp(&place(self)))
    }
}

impl PartialOrd for Block {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

struct SourceFile {
    path: RepoPath,
    lines: Arc<[Line]>,
    /// How many of the lines before each line the commit took away; one more entry than lines.
    removed_before: Vec<u32>,
}

/// Where every line of some files stood.
#[derive(Default)]
pub(super) struct Blocks {
    files: Vec<SourceFile>,
    bytes: usize,
    /// Hash, file and line, sorted; lines without letters and digits are left out.
    places: Vec<(u64, u32, u32)>,
}

impl Blocks {
    pub(super) fn can_hold(&self, bytes: usize) -> bool {
        self.files.len() < MAX_FILES && self.bytes + bytes <= MAX_BYTES
    }

    /// Adds a file as it was; the hunks say what happened to it, none that it was taken away.
    pub(super) fn add(&mut self, path: RepoPath, bytes: usize, lines: Arc<[Line]>, hunks: Option<&[Hunk]>) {
        let mut removed = vec![hunks.is_none(); lines.len()];
        for hunk in hunks.unwrap_or_default() {
            let start = (hunk.old_start as usize).min(lines.len());
            let end = (start + hunk.old_lines as usize).min(lines.len());
            removed[start..end].fill(true);
        }
        let mut removed_before = vec![0];
        let mut count = 0;
        removed_before.extend(removed.iter().map(|removed| {
            count += u32::from(*removed);
            count
        }));
        let file = self.files.len() as u32;
        let scoring = lines.iter().enumerate().filter(|(_, line)| line.score > 0);
        self.places.extend(scoring.map(|(at, line)| (line.hash, file, at as u32)));
        self.bytes += bytes;
        self.files.push(SourceFile { path, lines, removed_before });
    }

    #[must_use]
    pub(super) fn finish(mut self) -> Self {
        self.places.sort_unstable();
        self
    }

    pub(super) fn path(&self, file: usize) -> &RepoPath {
        &self.files[file].path
    }

    /// Blocks for the lines in the runs, each given by start and length; no line is in two blocks.
    pub(super) fn find(&self, wanted: &Wanted<'_>, runs: &[(u32, u32)]) -> Vec<Block> {
        let mut heap = BinaryHeap::new();
        for run in runs {
            if score(wanted.lines, *run) >= MIN_SCORE {
                self.weigh(wanted, *run, &mut heap);
            }
        }
        let mut taken = vec![false; wanted.lines.len()];
        let mut found = Vec::new();
        while let Some(block) = heap.pop() {
            let range = block.new_start as usize..(block.new_start + block.lines) as usize;
            if !taken[range.clone()].contains(&true) {
                taken[range].fill(true);
                found.push(block);
                continue;
            }
            // What is left of it between lines that greater blocks took is weighed again.
            let mut start = range.start;
            for part in taken[range].chunk_by(|one, other| one == other) {
                if !part[0] {
                    let skipped = start as u32 - block.new_start;
                    let run = (block.file, block.old_start + skipped, start as u32, part.len() as u32);
                    heap.extend(self.block(wanted, run));
                }
                start += part.len();
            }
        }
        found
    }

    /// Every longest block that holds a line of the run that stood in few places.
    fn weigh(&self, wanted: &Wanted<'_>, (start, length): (u32, u32), heap: &mut BinaryHeap<Block>) {
        let lines_wanted = wanted.lines;
        let (start, end) = (start as usize, start as usize + length as usize);
        // Where the last block ended for each file and distance between new and old line: no line is met twice.
        let mut ends: HashMap<(u32, i64), usize> = HashMap::new();
        for at in start..end {
            let hash = lines_wanted[at].hash;
            let first = self.places.partition_point(|place| place.0 < hash);
            let places = self.places[first..].iter().take_while(|place| place.0 == hash).take(MAX_PLACES + 1);
            if lines_wanted[at].score == 0 || places.clone().count() > MAX_PLACES {
                continue;
            }
            for &(_, file, line) in places {
                let diagonal = (file, at as i64 - i64::from(line));
                if ends.get(&diagonal).is_some_and(|end| *end > at) {
                    continue;
                }
                let lines = &self.files[file as usize].lines;
                let line = line as usize;
                let back = (1..=(at - start).min(line))
                    .take_while(|back| lines_wanted[at - back].hash == lines[line - back].hash)
                    .count();
                let ahead = (0..(end - at).min(lines.len() - line))
                    .take_while(|ahead| lines_wanted[at + ahead].hash == lines[line + ahead].hash)
                    .count();
                ends.insert(diagonal, at + ahead);
                if heap.len() < MAX_BLOCKS {
                    let run = (file as usize, (line - back) as u32, (at - back) as u32, (back + ahead) as u32);
                    heap.extend(self.block(wanted, run));
                }
            }
        }
    }

    /// The block, if it scores enough.
    fn block(&self, wanted: &Wanted<'_>, (file, old_start, new_start, lines): (usize, u32, u32, u32)) -> Option<Block> {
        let source = &self.files[file];
        let same_file = wanted.same_file == Some(&source.path);
        let kinship = shared_parts(wanted.path, &source.path);
        let score = score(wanted.lines, (new_start, lines));
        let removed_before = |line: u32| source.removed_before.get(line as usize).copied().unwrap_or_default();
        let removed = removed_before(old_start + lines).saturating_sub(removed_before(old_start));
        let moved = u64::from(removed) * 2 > u64::from(lines);
        let block = &wanted.lines[new_start as usize..(new_start + lines) as usize];
        let is_single = block.iter().filter(|line| line.score > 0).nth(1).is_none();
        let least = if same_file && moved && !is_single { MIN_SCORE } else { MIN_SCORE_UNLIKELY };
        (score >= least).then_some(Block { file, old_start, new_start, lines, moved, score, same_file, kinship })
    }
}
