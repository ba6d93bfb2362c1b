//! Diffs of two versions of a file, in hunks, for people.

use backstory_model::commit::{DiffLine, FileDiff, Hunk, LineKind, Sha};
use git2::{DiffLineType, DiffOptions, Patch};

use super::objects::{ObjectError, Objects};

/// Git takes a file for binary if there is a NUL in its first bytes, this many.
const BINARY_PREFIX: usize = 8000;

/// Which differences of white space count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whitespace {
    /// Every one.
    #[default]
    Counts,
    /// None: `git diff -w`.
    Ignored,
}

/// How versions are compared and how much of the result is wanted.
#[derive(Clone, Copy, Debug)]
pub struct TextDiffOptions {
    /// Lines shown around a change.
    pub context: u32,
    /// Whether white space counts.
    pub whitespace: Whitespace,
    /// Largest file that is compared, in bytes.
    pub max_bytes: u64,
    /// Most lines in all hunks together. A hunk that would pass it is left out, with all that follow.
    pub max_lines: usize,
}

impl Default for TextDiffOptions {
    fn default() -> Self {
        Self { context: 3, whitespace: Whitespace::Counts, max_bytes: 4 << 20, max_lines: 20_000 }
    }
}

impl Objects {
    /// Compares two blobs as git does, with its indent heuristic, once `clean` has made texts of them that may be shown: what
    /// is cut from a file then shows no part of a secret. `None` is a file that is not there.
    ///
    /// # Errors
    /// If a blob is not there or something else.
    pub fn text_diff(
        &self,
        old: Option<Sha>,
        new: Option<Sha>,
        options: TextDiffOptions,
        clean: &dyn Fn(&[u8]) -> String,
    ) -> Result<FileDiff, ObjectError> {
        let content = |id: Option<Sha>| id.map_or(Ok(Vec::new()), |id| self.blob(id, options.max_bytes));
        let (old, new) = match (content(old), content(new)) {
            (Err(ObjectError::TooLarge { .. }), Ok(_) | Err(ObjectError::TooLarge { .. }))
            | (Ok(_), Err(ObjectError::TooLarge { .. })) => return Ok(FileDiff::TooLarge),
            (old, new) => (old?, new?),
        };
        if is_binary(&old) || is_binary(&new) {
            return Ok(FileDiff::Binary);
        }
        compare(clean(&old).as_bytes(), clean(&new).as_bytes(), options).map_err(|error| self.unreadable(&error))
    }
}

fn is_binary(text: &[u8]) -> bool {
    memchr::memchr(0, &text[..text.len().min(BINARY_PREFIX)]).is_some()
}

/// Compares two texts as git does.
fn compare(old: &[u8], new: &[u8], options: TextDiffOptions) -> Result<FileDiff, git2::Error> {
    let mut how = DiffOptions::new();
    how.context_lines(options.context).indent_heuristic(true).force_text(true);
    how.ignore_whitespace(options.whitespace == Whitespace::Ignored);
    let patch = Patch::from_buffers(old, None, new, None, Some(&mut how))?;
    let mut hunks = Vec::new();
    let mut shown = 0;
    for index in 0..patch.num_hunks() {
        let (header, count) = patch.hunk(index)?;
        shown += count;
        if shown > options.max_lines {
            return Ok(FileDiff::Text { left_out: patch.num_hunks() - index, hunks });
        }
        let mut lines = Vec::with_capacity(count);
        for at in 0..count {
            let line = patch.line_in_hunk(index, at)?;
            let kind = match line.origin_value() {
                DiffLineType::Context => LineKind::Context,
                DiffLineType::Addition => LineKind::Added,
                DiffLineType::Deletion => LineKind::Removed,
                _ => continue,
            };
            let text = line.content().strip_suffix(b"\n").unwrap_or(line.content());
            lines.push(DiffLine { kind, text: String::from_utf8_lossy(text).into_owned() });
        }
        hunks.push(Hunk {
            old_start: header.old_start(),
            old_count: header.old_lines(),
            new_start: header.new_start(),
            new_count: header.new_lines(),
            lines,
        });
    }
    Ok(FileDiff::Text { hunks, left_out: 0 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::git::fixture::Fixture;

    fn as_it_is(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// As `git diff` prints hunks, without what it puts behind the second `@@`.
    fn printed(diff: &FileDiff) -> String {
        let FileDiff::Text { hunks, left_out: 0 } = diff else { return format!("{diff:?}") };
        let range = |start, count| if count == 1 { format!("{start}") } else { format!("{start},{count}") };
        let mut out = String::new();
        for hunk in hunks {
            let (old, new) = (range(hunk.old_start, hunk.old_count), range(hunk.new_start, hunk.new_count));
            out += &format!("@@ -{old} +{new} @@\n");
            for line in &hunk.lines {
                let sign = match line.kind {
                    LineKind::Context => ' ',
                    LineKind::Added => '+',
                    LineKind::Removed => '-',
                };
                out += &format!("{sign}{}\n", line.text);
            }
        }
        out
    }

    fn gits(fixture: &Fixture, old: Sha, new: Sha, more: &[&str]) -> String {
        let (old, new) = (old.to_string(), new.to_string());
        let text = fixture.git([&["diff", "--no-color"], more, &[&old, &new]].concat());
        let text = String::from_utf8_lossy(&text).into_owned();
        let hunks = text
            .split_inclusive('\n')
            .skip_while(|line| !line.starts_with("@@"))
            .filter(|line| !line.starts_with('\\'));
        hunks
            .map(|line| {
                if line.starts_with("@@") {
                    line.split_inclusive(" @@").next().unwrap().to_owned() + "\n"
                } else {
                    line.to_owned()
                }
            })
            .collect()
    }

    #[test]
    fn hunks_are_those_of_git() {
        let origin = Fixture::new();
        let old = "fn a() {\n    1\n}\n\nfn b() {\n    2\n}\n".repeat(5);
        let new =
            old.replacen("fn b() {\n    2\n}\n", "fn b() {\n    2\n}\n\nfn c() {\n    3\n}\n", 2).replacen("1", "7", 4)
                + "end";
        let spaced = old.replace("    1", "  1 ");
        let ids = [old.as_str(), &new, &spaced, "", "\r\nx\r\n"].map(|text| origin.raw_object("blob", text));
        let objects = Objects::open(&origin.git_dir()).unwrap();
        for (one, other) in [(0, 1), (1, 0), (0, 2), (3, 1), (1, 3), (4, 0), (0, 0)] {
            let (one, other) = (ids[one], ids[other]);
            let exact = objects.text_diff(Some(one), Some(other), TextDiffOptions::default(), &as_it_is).unwrap();
            assert_eq!(printed(&exact), gits(&origin, one, other, &[]));
            let options = TextDiffOptions { whitespace: Whitespace::Ignored, context: 0, ..Default::default() };
            let loose = objects.text_diff(Some(one), Some(other), options, &as_it_is).unwrap();
            assert_eq!(printed(&loose), gits(&origin, one, other, &["-w", "-U0"]));
        }
    }

    #[test]
    fn limits_and_files_that_are_no_text() {
        let origin = Fixture::new();
        let small = origin.raw_object("blob", "a\nb\n");
        let large = origin.raw_object("blob", "line\n".repeat(50_000));
        let binary = origin.raw_object("blob", b"a\0b");
        let objects = Objects::open(&origin.git_dir()).unwrap();
        let options = TextDiffOptions::default();
        let diff = |old, new, options| objects.text_diff(old, new, options, &as_it_is).unwrap();
        assert_eq!(diff(Some(small), Some(binary), options), FileDiff::Binary);
        let tight = TextDiffOptions { max_bytes: 100, ..options };
        assert_eq!(diff(Some(small), Some(large), tight), FileDiff::TooLarge);
        assert_eq!(diff(None, Some(large), options), FileDiff::Text { hunks: Vec::new(), left_out: 1 });
        let FileDiff::Text { hunks, .. } = diff(None, Some(small), options) else { panic!("it is text") };
        assert_eq!((hunks[0].old_start, hunks[0].old_count, hunks[0].new_start, hunks[0].new_count), (0, 0, 1, 2));
        let gone = Sha::from_bytes([7; 20]);
        assert!(
            matches!(objects.text_diff(Some(gone), None, options, &as_it_is), Err(ObjectError::Absent(id)) if id == gone)
        );
    }

    proptest! {
        #[test]
        fn hunks_lead_from_old_to_new(old in "([ab]{0,2}\n){0,12}", new in "([ab]{0,2}\n){0,12}", context in 0_u32..4) {
            let options = TextDiffOptions { context, ..Default::default() };
            let FileDiff::Text { hunks, .. } = compare(old.as_bytes(), new.as_bytes(), options).unwrap() else { panic!("it is text") };
            let lines: Vec<&str> = old.lines().collect();
            let (mut out, mut at) = (String::new(), 0);
            for hunk in &hunks {
                // Without lines of the old version, the hunk comes after the line that it names.
                let start = hunk.old_start as usize - usize::from(hunk.old_count > 0);
                lines[at..start].iter().for_each(|line| out += &format!("{line}\n"));
                at = start + hunk.old_count as usize;
                let kept = hunk.lines.iter().filter(|line| line.kind != LineKind::Removed);
                kept.for_each(|line| out += &format!("{}\n", line.text));
            }
            lines[at..].iter().for_each(|line| out += &format!("{line}\n"));
            prop_assert_eq!(out, new);
        }
    }
}
