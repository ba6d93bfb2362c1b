//! Which file that a commit removed became the one it added, by git's own rules for one added file.

use std::{cmp::Reverse, collections::HashMap, sync::Arc};

use git2::Oid;

use super::{
    Error,
    objects::{Difference, Kind, Objects, RepoPath, Text},
};

/// Git's scores are parts of this.
const MAX_SCORE: u64 = 60_000;
/// Least score of a rename: half is the same.
const MIN_SCORE: u64 = 30_000;
/// Least score if only the directory changed and no other file of that name went away.
const MIN_SCORE_OF_SAME_NAME: u64 = 45_000;
/// Of how many removed files with the very same content the best is picked.
const MAX_IDENTICAL: usize = 101;
/// With more removed files than this, only the same content or the same name makes a rename.
const MAX_COMPARED: usize = 3000;
/// Git keeps this many best candidates.
const CANDIDATES: usize = 4;
/// Most texts whose pieces are kept; then all are dropped.
const MAX_KEPT: usize = 1000;
/// The modulus of git's hash of a piece of a text.
const HASH_BASE: u32 = 107_927;
/// Longest piece.
const MAX_PIECE: u32 = 64;

/// Hash and bytes of the pieces of a text, sorted by hash, each hash once.
type Pieces = Arc<[(u32, u32)]>;

#[derive(Default)]
pub(super) struct Renames {
    pieces: HashMap<Oid, Pieces>,
}

impl Renames {
    /// The path and content that the added file had before, if the differences say that it was renamed.
    pub(super) fn find(
        &mut self,
        objects: &mut Objects,
        differences: &[Difference],
        path: &[u8],
        content: Oid,
    ) -> Result<Option<(RepoPath, Oid)>, Error> {
        let removed: Vec<(&RepoPath, Oid)> = differences
            .iter()
            .filter_map(|difference| match (difference.old, difference.new) {
                (Some((Kind::File, id)), None) => Some((&difference.path, id)),
                _ => None,
            })
            .collect();
        let identical = removed.iter().filter(|(_, id)| *id == content).take(MAX_IDENTICAL);
        // The first of the best: `min_by_key` keeps the first of equals.
        if let Some((from, id)) = identical.min_by_key(|(from, _)| Reverse(name(from) == name(path))) {
            return Ok(Some((Arc::clone(from), *id)));
        }
        let mut same_name = removed.iter().filter(|(from, _)| name(from) == name(path));
        if let (Some((from, id)), None) = (same_name.next(), same_name.next())
            && self.similarity(objects, *id, content, MIN_SCORE_OF_SAME_NAME)? >= MIN_SCORE_OF_SAME_NAME
        {
            return Ok(Some((Arc::clone(from), *id)));
        }
        if removed.len() > MAX_COMPARED {
            return Ok(None);
        }
        let mut best: Vec<((u64, bool), usize)> = Vec::with_capacity(CANDIDATES);
        for (at, (from, id)) in removed.iter().enumerate() {
            let score = (self.similarity(objects, *id, content, MIN_SCORE)?, name(from) == name(path));
            if best.len() < CANDIDATES {
                best.push((score, at));
            } else if let Some(worst) = best.iter_mut().min_by_key(|(kept, _)| *kept)
                && worst.0 < score
            {
                *worst = (score, at);
            }
        }
        let found = best.into_iter().min_by_key(|(score, _)| Reverse(*score));
        Ok(found
            .filter(|((score, _), _)| *score >= MIN_SCORE)
            .map(|(_, at)| (Arc::clone(removed[at].0), removed[at].1)))
    }

    /// Git's estimate of how much of the larger text is from the other.
    fn similarity(&mut self, objects: &mut Objects, old: Oid, new: Oid, least: u64) -> Result<u64, Error> {
        let (Text::Lines(old_text), Text::Lines(new_text)) = (objects.text(old)?, objects.text(new)?) else {
            return Ok(0);
        };
        let (old_size, new_size) = (old_text.len() as u64, new_text.len() as u64);
        let larger = old_size.max(new_size);
        if larger == 0 || larger * (MAX_SCORE - least) < old_size.abs_diff(new_size) * MAX_SCORE {
            return Ok(0);
        }
        let old = self.pieces(old, &old_text);
        let new = self.pieces(new, &new_text);
        let (mut at, mut copied) = (0, 0u64);
        for (hash, bytes) in old.iter() {
            while new.get(at).is_some_and(|piece| piece.0 < *hash) {
                at += 1;
            }
            if let Some(piece) = new.get(at).filter(|piece| piece.0 == *hash) {
                copied += u64::from(piece.1.min(*bytes));
            }
        }
        Ok(copied * MAX_SCORE / larger)
    }

    fn pieces(&mut self, id: Oid, text: &[u8]) -> Pieces {
        if let Some(pieces) = self.pieces.get(&id) {
            return Arc::clone(pieces);
        }
        if self.pieces.len() >= MAX_KEPT {
            self.pieces.clear();
        }
        let pieces = pieces(text);
        self.pieces.insert(id, Arc::clone(&pieces));
        pieces
    }
}

/// The last part of a path.
fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// A text in pieces that end after a newline or at 64 bytes; the return before a newline does not count.
fn pieces(text: &[u8]) -> Pieces {
    let mut found = Vec::new();
    let (mut high, mut low, mut length) = (0u32, 0u32, 0u32);
    for (at, byte) in text.iter().enumerate() {
        if *byte == b'\r' && text.get(at + 1) == Some(&b'\n') {
            continue;
        }
        let before = high;
        high = (high << 7) ^ (low >> 25);
        low = (low << 7) ^ (before >> 25);
        high = high.wrapping_add(u32::from(*byte));
        length += 1;
        if length < MAX_PIECE && *byte != b'\n' {
            continue;
        }
        found.push((hash(high, low), length));
        (high, low, length) = (0, 0, 0);
    }
    if length > 0 {
        found.push((hash(high, low), length));
    }
    found.sort_unstable();
    found.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 += later.1;
        }
        same
    });
    found.into()
}

fn hash(high: u32, low: u32) -> u32 {
    high.wrapping_add(low.wrapping_mul(0x61)) % HASH_BASE
}
