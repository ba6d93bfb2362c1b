//! Whether a commit that takes a text out of some files puts it into another one: the lines go there as they are, or
//! little changed. A text that only a changelog or a document mentions afterwards went nowhere.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use backstory_model::{
    classify::{PathKind, path_kind},
    file_role::{FileRole, file_role},
    text::words,
};
use backstory_sources::git::pickaxe::PickedFile;

/// Most lines whose words are compared, of those that went and of those that each file gained; of others only those that are
/// equal are found.
const MAX_COMPARED: usize = 200;
/// Most lines that the files of a commit gained together whose words are compared.
const MAX_COMPARED_TOGETHER: usize = 1_000;
/// Most words of a line that is compared by them: a bundle may be a single line.
const MAX_WORDS: usize = 200;

/// How often a text has another one, and the lines that have it, without the spaces around them.
#[derive(Default)]
pub(super) struct Mentions {
    pub(super) count: usize,
    lines: Vec<String>,
}

/// A file that has a text more or less often after a commit.
pub(super) struct FileChange<'c> {
    pub(super) file: &'c PickedFile,
    /// How much more or less often.
    times: usize,
    /// The lines that came or went.
    lines: Vec<String>,
}

/// Lines that went, and the words of some of them.
struct Taken<'l> {
    lines: HashSet<&'l str>,
    words: Vec<Vec<String>>,
}

impl Mentions {
    /// Those of a text in another one. A text of several lines is told as if it was one line.
    pub(super) fn of(text: &str, all: &str) -> Self {
        let count = all.matches(text).count();
        let lines = match text.contains('\n') {
            true => vec![text.to_owned(); count],
            false => all.lines().filter(|line| line.contains(text)).map(|line| line.trim().to_owned()).collect(),
        };
        Self { count, lines }
    }

    /// The lines that others do not have, or have less often.
    fn without(self, others: &Self) -> Vec<String> {
        let mut left: HashMap<&str, usize> = HashMap::new();
        for line in &others.lines {
            *left.entry(line).or_default() += 1;
        }
        let is_left = |line: &String| match left.get_mut(line.as_str()) {
            Some(times) if *times > 0 => {
                *times -= 1;
                false
            }
            _ => true,
        };
        self.lines.into_iter().filter(is_left).collect()
    }
}

impl<'c> FileChange<'c> {
    /// What a file lost; `None` if it has the text as often as before, or more often.
    pub(super) fn lost(file: &'c PickedFile, old: Mentions, new: &Mentions) -> Option<Self> {
        let times = old.count.checked_sub(new.count).filter(|times| *times > 0)?;
        Some(Self { file, times, lines: old.without(new) })
    }

    /// What a file gained, as with [`FileChange::lost`].
    pub(super) fn gained(file: &'c PickedFile, old: &Mentions, new: Mentions) -> Option<Self> {
        let times = new.count.checked_sub(old.count).filter(|times| *times > 0)?;
        Some(Self { file, times, lines: new.without(old) })
    }
}

/// What lost most first, and documents last.
pub(super) fn sort_lost(lost: &mut [FileChange<'_>]) {
    lost.sort_by_key(|change| (is_document(change.file), Reverse(change.times)));
}

/// Where a commit put what it took away: the first file that has some of it now, if all of it went somewhere. What a source
/// had does not go to a document.
pub(super) fn destination<'c>(lost: &[FileChange<'_>], gained: &[FileChange<'c>]) -> Option<&'c PickedFile> {
    let of_all = Taken::of(lost.iter());
    let of_documents = Taken::of(lost.iter().filter(|change| is_document(change.file)));
    let went: usize = lost.iter().map(|change| change.lines.len()).sum();
    let (mut came, mut first, mut left) = (0, None, MAX_COMPARED_TOGETHER);
    for change in gained {
        let taken = if is_document(change.file) { &of_documents } else { &of_all };
        let (few, rest) = change.lines.split_at(change.lines.len().min(MAX_COMPARED).min(left));
        left -= few.len();
        let count = few.iter().filter(|line| taken.has_alike(line)).count()
            + rest.iter().filter(|line| taken.lines.contains(line.as_str())).count();
        came += count;
        first = first.or(Some(change.file).filter(|_| count > 0));
    }
    first.filter(|_| came >= went)
}

/// Whether what was removed from a file was removed from a document, such as a changelog.
pub(super) fn is_document(file: &PickedFile) -> bool {
    is_path_of_document(file.old_path.as_str())
}

/// Whether the file at a path is a document, such as a changelog.
pub(super) fn is_path_of_document(path: &str) -> bool {
    path_kind(path) == PathKind::Documentation
}

/// Whether the file at a path is what the project is made of.
pub(super) fn is_path_of_source(path: &str) -> bool {
    file_role(path) == FileRole::Source && path_kind(path) == PathKind::Source
}

impl<'l> Taken<'l> {
    fn of<'c: 'l>(lost: impl Iterator<Item = &'l FileChange<'c>>) -> Self {
        let lines: Vec<&str> = lost.flat_map(|change| &change.lines).map(String::as_str).collect();
        let words = lines.iter().take(MAX_COMPARED).filter_map(|line| words_of(line)).collect();
        Self { lines: lines.into_iter().collect(), words }
    }

    /// Whether a line is one of them, perhaps a little changed.
    fn has_alike(&self, line: &str) -> bool {
        if self.lines.contains(line) {
            return true;
        }
        let Some(other) = words_of(line) else { return false };
        let length = other.len();
        let other: HashSet<String> = other.into_iter().collect();
        self.words.iter().any(|own| {
            let common = own.iter().filter(|word| other.contains(*word)).count();
            common * 3 > own.len() + length
        })
    }
}

/// The words of a line, if it is no longer than lines that people write.
fn words_of(line: &str) -> Option<Vec<String>> {
    Some(words(line)).filter(|words| words.len() <= MAX_WORDS)
}

#[cfg(test)]
mod tests {
    use backstory_model::commit::RepoPath;

    use super::*;

    fn file(path: &str) -> PickedFile {
        let path = RepoPath::from_bytes(path.as_bytes());
        PickedFile { old_path: path.clone(), new_path: path, old: None, new: None }
    }

    /// Whether what a text of one file loses goes to the other one.
    #[track_caller]
    fn check(text: &str, (from, old): (&str, &str), (to, new): (&str, &str), is_moved: bool) {
        let (from, to) = (file(from), file(to));
        let lost = FileChange::lost(&from, Mentions::of(text, old), &Mentions::default()).unwrap();
        let gained = FileChange::gained(&to, &Mentions::default(), Mentions::of(text, new));
        let gained: Vec<FileChange<'_>> = gained.into_iter().collect();
        assert_eq!(destination(&[lost], &gained), Some(&to).filter(|_| is_moved), "{old} -> {new}");
    }

    #[test]
    fn lines_that_are_elsewhere_as_they_were_or_little_changed_moved() {
        let from = ("src/net.py", "    timeout = 30\n");
        check("timeout = 30", from, ("src/limits.py", "timeout = 30\n"), true);
        check("timeout = 30", from, ("src/limits.py", "    self.timeout = 30\n"), true);
        check("30", from, ("src/limits.py", "    retries = 30\n"), false);
        check("timeout = 30", ("src/a.py", "timeout = 30\ntimeout = 30\n"), ("src/b.py", "timeout = 30\n"), false);
        check("a\nb", ("src/a.py", "a\nb\n"), ("src/b.py", "1\na\nb\n"), true);
        check("timeout = 30", from, ("src/limits.py", ""), false);
    }

    #[test]
    fn what_a_document_says_of_a_source_is_not_where_it_went() {
        let from = ("src/pager.py", "        shell=True,\n");
        check("shell=True", from, ("CHANGES.rst", "    lists for subprocess, removing ``shell=True``.\n"), false);
        check("shell=True", from, ("docs/guide.md", "        shell=True,\n"), false);
        check("shell=True", ("CHANGES.rst", "- No ``shell=True``.\n"), ("CHANGES.md", "- No `shell=True`.\n"), true);
    }

    /// Each line with each other one would take minutes here.
    #[test]
    fn of_very_many_files_only_some_lines_are_compared_by_words() {
        let line = |number: usize| {
            let words: Vec<String> = (0..40).map(|word| format!("w{number}n{word}")).collect();
            format!("x {}\n", words.join(" "))
        };
        let old: String = (0..50).map(line).collect();
        let new: String = (1_000..1_200).map(line).collect();
        let from = file("src/a.py");
        let to: Vec<PickedFile> = (0..1_000).map(|number| file(&format!("src/{number}.py"))).collect();
        let lost = FileChange::lost(&from, Mentions::of("x", &old), &Mentions::default()).unwrap();
        let gained = to.iter().filter_map(|to| FileChange::gained(to, &Mentions::default(), Mentions::of("x", &new)));
        assert_eq!(destination(&[lost], &gained.collect::<Vec<_>>()), None);
    }

    #[test]
    fn lines_that_stay_did_not_go() {
        let old = Mentions::of("x", "x = 1\nx = 2\nx = 1\n");
        assert_eq!(old.without(&Mentions::of("x", "x = 1\n")), ["x = 2", "x = 1"]);
    }
}
