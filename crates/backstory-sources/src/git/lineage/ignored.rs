//! Ignored revisions, which only reformat: which old line a line was before, and the file that lists such commits.

use std::collections::{BTreeSet, HashMap};

use git2::Oid;

use super::{
    Error,
    hunks::Hunk,
    objects::{Kind, Objects, Text},
};

/// The file at the root of a tree that lists commits to be ignored, one SHA-1 a line, `#` before a remark.
pub(super) const LIST: &str = ".git-blame-ignore-revs";
/// Most commits that can be ignored; what is listed beyond is not.
const MAX_IGNORED: usize = 10_000;
/// Most pairs of lines of a hunk that are compared; beyond, lines are matched in order.
const MAX_PAIRS: usize = 40_000;
/// Least part, in thousandths, that two lines must have in common to be one line before and after.
const MIN_LIKENESS: u32 = 300;

/// The commits that the trees of these commits list.
pub(super) fn ignored_revisions(objects: &mut Objects, tips: &[Oid]) -> Result<BTreeSet<Oid>, Error> {
    let mut found = BTreeSet::new();
    for tip in tips {
        let tree = objects.commit(*tip)?.tree;
        let Some((Kind::File, id)) = objects.entry(tree, LIST.as_bytes())? else { continue };
        let Text::Lines(text) = objects.text(id)? else { continue };
        for line in String::from_utf8_lossy(&text).lines() {
            let word = line.split('#').next().unwrap_or_default().trim();
            if found.len() < MAX_IGNORED && word.len() == 40 {
                found.extend(Oid::from_str(word));
            }
        }
    }
    Ok(found)
}

/// Pairs of new and old line, from 0, that are the same line before and after.
pub(super) fn same_lines(old: &[u8], new: &[u8], hunks: &[Hunk]) -> Vec<(u32, u32)> {
    let old: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let new: Vec<&[u8]> = new.split_inclusive(|byte| *byte == b'\n').collect();
    let mut pairs = Vec::new();
    for hunk in hunks {
        let (olds, news) = (hunk.old_lines as usize, hunk.new_lines as usize);
        let old_start = hunk.old_start as usize;
        let new_start = hunk.new_start as usize;
        let in_hunk = if olds == news || olds.saturating_mul(news) > MAX_PAIRS {
            (0..olds.min(news)).map(|at| (at, at)).collect()
        } else {
            let lines = (old.get(old_start..old_start + olds), new.get(new_start..new_start + news));
            let (Some(olds), Some(news)) = lines else { continue };
            alike(olds, news)
        };
        pairs.extend(in_hunk.into_iter().map(|(new, old)| (hunk.new_start + new as u32, hunk.old_start + old as u32)));
    }
    pairs
}

/// The pairs, new line first, in order on both sides, that have most in common.
fn alike(olds: &[&[u8]], news: &[&[u8]]) -> Vec<(usize, usize)> {
    let (olds, news): (Vec<_>, Vec<_>) =
        (olds.iter().map(|l| pairs_of(l)).collect(), news.iter().map(|l| pairs_of(l)).collect());
    let width = olds.len() + 1;
    let mut best = vec![0u32; width * (news.len() + 1)];
    let mut like = vec![0u32; olds.len() * news.len()];
    for (n, new) in news.iter().enumerate() {
        for (o, old) in olds.iter().enumerate() {
            let likeness = likeness(old, new);
            like[n * olds.len() + o] = likeness;
            let paired = if likeness >= MIN_LIKENESS { best[n * width + o] + likeness } else { 0 };
            best[(n + 1) * width + o + 1] = paired.max(best[n * width + o + 1]).max(best[(n + 1) * width + o]);
        }
    }
    let mut pairs = Vec::new();
    let (mut n, mut o) = (news.len(), olds.len());
    while n > 0 && o > 0 {
        let here = best[n * width + o];
        if here == best[(n - 1) * width + o] {
            n -= 1;
        } else if here == best[n * width + o - 1] {
            o -= 1;
        } else {
            n -= 1;
            o -= 1;
            pairs.push((n, o));
        }
    }
    pairs.reverse();
    pairs
}

/// How often each pair of neighboring bytes stands in a line, and how many there are.
struct PairsOfBytes {
    counts: HashMap<(u8, u8), u32>,
    total: u32,
}

fn pairs_of(line: &[u8]) -> PairsOfBytes {
    let line: Vec<u8> = line.iter().filter(|b| !b.is_ascii_whitespace()).map(u8::to_ascii_lowercase).collect();
    let mut counts = HashMap::new();
    for pair in line.windows(2) {
        *counts.entry((pair[0], pair[1])).or_default() += 1;
    }
    PairsOfBytes { counts, total: line.len().saturating_sub(1) as u32 }
}

/// What two lines have in common, in thousandths of the mean of both.
fn likeness(one: &PairsOfBytes, other: &PairsOfBytes) -> u32 {
    let shared: u32 = one.counts.iter().map(|(pair, count)| *count.min(other.counts.get(pair).unwrap_or(&0))).sum();
    (2000 * u64::from(shared) / u64::from((one.total + other.total).max(1))) as u32
}
