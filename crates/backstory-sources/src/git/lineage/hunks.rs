//! Where two versions of a text differ, exactly as `git blame -w` sees it. Diffs for people are in
//! [`text_diff`](crate::git::text_diff).

use git2::{DiffOptions, Patch};

use super::Error;

/// Git compares the ends of two texts in blocks of this many bytes and leaves equal ones out of the diff.
const TAIL_BLOCK: usize = 1024;

/// Old lines that new lines stand in place of. Lines count from 0 here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old_start: u32,
    pub(super) old_lines: u32,
    pub(super) new_start: u32,
    pub(super) new_lines: u32,
}

/// The hunks between two texts, white space ignored, in order.
pub(super) fn hunks(old: &[u8], new: &[u8]) -> Result<Vec<Hunk>, Error> {
    let (old, new) = without_common_tail(old, new);
    if old.is_empty() || new.is_empty() {
        let hunk = Hunk { old_start: 0, old_lines: line_count(old), new_start: 0, new_lines: line_count(new) };
        let differs = hunk.old_lines + hunk.new_lines > 0;
        return Ok(differs.then_some(hunk).into_iter().collect());
    }
    let failed = |source| Error::Diff { source };
    let mut options = DiffOptions::new();
    options.context_lines(0).interhunk_lines(0).ignore_whitespace(true).indent_heuristic(true).force_text(true);
    let patch = Patch::from_buffers(old, None, new, None, Some(&mut options)).map_err(failed)?;
    let mut hunks = Vec::with_capacity(patch.num_hunks());
    for at in 0..patch.num_hunks() {
        let (hunk, _) = patch.hunk(at).map_err(failed)?;
        // A side without lines is told by the line before it.
        let start = |start: u32, lines: u32| if lines == 0 { start } else { start.saturating_sub(1) };
        hunks.push(Hunk {
            old_start: start(hunk.old_start(), hunk.old_lines()),
            old_lines: hunk.old_lines(),
            new_start: start(hunk.new_start(), hunk.new_lines()),
            new_lines: hunk.new_lines(),
        });
    }
    Ok(hunks)
}

/// What git leaves out before it compares: whole equal blocks at the end, but for the line that the first one begins
/// in. Texts that repeat themselves are otherwise matched differently.
fn without_common_tail<'a>(old: &'a [u8], new: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let equal = old.rchunks_exact(TAIL_BLOCK).zip(new.rchunks_exact(TAIL_BLOCK)).take_while(|(old, new)| old == new);
    let trimmed = TAIL_BLOCK * equal.count();
    let tail = &old[old.len() - trimmed..];
    let kept = tail.iter().position(|byte| *byte == b'\n').map_or(trimmed, |at| at + 1);
    let cut = trimmed - kept;
    (&old[..old.len() - cut], &new[..new.len() - cut])
}

/// How many lines a text has; the last one need not end in a newline.
pub(super) fn line_count(text: &[u8]) -> u32 {
    let newlines = text.iter().filter(|byte| **byte == b'\n').count();
    let open = usize::from(text.last().is_some_and(|byte| *byte != b'\n'));
    u32::try_from(newlines + open).unwrap_or(u32::MAX)
}
