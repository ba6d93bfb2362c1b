//! Which line of one version of a file each line of another is, as `git blame -w` sees it.

use super::{
    Error,
    hunks::{self, Hunk},
};

/// Which lines of an old version the lines of a new one are. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMap {
    /// In order.
    hunks: Vec<Hunk>,
    /// By how much the lines after each hunk are further down in the new version.
    shifts: Vec<i64>,
    /// Lines of the new version.
    lines: u32,
}

impl LineMap {
    /// Compares two versions; white space does not count.
    ///
    /// # Errors
    /// The versions cannot be compared.
    pub fn between(old: &[u8], new: &[u8]) -> Result<Self, Error> {
        let hunks = hunks::hunks(old, new)?;
        let (mut shifts, mut shift) = (Vec::with_capacity(hunks.len()), 0);
        for hunk in &hunks {
            shift += i64::from(hunk.new_lines) - i64::from(hunk.old_lines);
            shifts.push(shift);
        }
        Ok(Self { hunks, shifts, lines: hunks::line_count(new) })
    }

    /// How many lines the new version has.
    pub fn new_line_count(&self) -> u32 {
        self.lines
    }

    /// The old line that a new one is; `None` for a line that only the new version has.
    pub fn old_line(&self, new: u32) -> Option<u32> {
        let at = new.checked_sub(1).filter(|at| *at < self.lines)?;
        let begun = self.hunks.partition_point(|hunk| hunk.new_start <= at);
        let Some(last) = begun.checked_sub(1) else { return Some(new) };
        let hunk = &self.hunks[last];
        if at < hunk.new_start + hunk.new_lines {
            return None;
        }
        u32::try_from(i64::from(new) - self.shifts[last]).ok()
    }

    /// The new line that an old one became; `None` for a line that only the old version has.
    pub fn new_line(&self, old: u32) -> Option<u32> {
        let at = old.checked_sub(1)?;
        let begun = self.hunks.partition_point(|hunk| hunk.old_start <= at);
        let shift = match begun.checked_sub(1) {
            Some(last) if at < self.hunks[last].old_start + self.hunks[last].old_lines => return None,
            Some(last) => self.shifts[last],
            None => 0,
        };
        u32::try_from(i64::from(old) + shift).ok().filter(|line| *line <= self.lines)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_followed_over_insertions_and_deletions() {
        let map = LineMap::between(b"a\nb\nc\nd\n", b"new\na\nc\n  d\nlast\n").expect("a map");
        let old: Vec<_> = (1..=6).map(|line| map.old_line(line)).collect();
        assert_eq!(old, [None, Some(1), Some(3), Some(4), None, None]);
        let new: Vec<_> = (1..=4).map(|line| map.new_line(line)).collect();
        assert_eq!(new, [Some(2), None, Some(3), Some(4)]);
    }

    proptest! {
        #[test]
        fn lines_that_are_mapped_are_alike_and_in_order(
            old in prop::collection::vec("[ab]{0,2} ?", 0..30),
            new in prop::collection::vec("[ab]{0,2} ?", 0..30),
        ) {
            let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let map = LineMap::between(text(&old).as_bytes(), text(&new).as_bytes()).expect("a map");
            let mut last = 0;
            for line in 1..=map.new_line_count() {
                let Some(of) = map.old_line(line) else { continue };
                prop_assert!(of > last);
                last = of;
                prop_assert_eq!(old[of as usize - 1].trim(), new[line as usize - 1].trim());
                prop_assert_eq!(map.new_line(of), Some(line));
            }
        }
    }
}
