//! Recognizes code that stands in a text without fences: diffs and commands.

/// How lines of a diff begin that stand around its hunks.
const DIFF_HEADERS: [&str; 8] = [
    "@@ -",
    "diff --git a/",
    "--- a/",
    "+++ b/",
    "--- /dev/null",
    "+++ /dev/null",
    "new file mode 1",
    "deleted file mode 1",
];
/// Least digits of an abbreviated hash.
const MIN_HASH: usize = 7;

/// Reads the lines of a text, the first one first.
#[derive(Debug, Default)]
pub(super) struct UnfencedReader {
    /// The hunk that is under way.
    hunk: Option<Hunk>,
    /// Whether the line before is one of a command that goes on.
    command_goes_on: bool,
}

/// A hunk, with how much of it is to come.
#[derive(Debug)]
struct Hunk {
    /// Bytes by which all of its lines are indented.
    indent: usize,
    /// Lines of the old version.
    old: usize,
    /// Lines of the new version.
    new: usize,
}

impl UnfencedReader {
    /// Reads the next line, and returns whether it is code.
    pub(super) fn read(&mut self, line: &str) -> bool {
        if self.hunk.as_mut().is_some_and(|hunk| hunk.read(line)) {
            return true;
        }
        let text = line.trim();
        self.hunk = Hunk::parse_header(line);
        let is_command = self.command_goes_on || is_command(text);
        self.command_goes_on = is_command && text.ends_with('\\');
        is_command || self.hunk.is_some() || is_diff_header(text)
    }

    /// Whether lines of a hunk are to come.
    pub(super) fn is_within_hunk(&self) -> bool {
        self.hunk.as_ref().is_some_and(|hunk| hunk.old > 0 || hunk.new > 0)
    }
}

impl Hunk {
    /// The hunk that a line begins: `@@ -1,2 +3,4 @@`.
    fn parse_header(line: &str) -> Option<Self> {
        let (old, rest) = line.trim().strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        Some(Self { indent: indent_of(line), old: count_lines(old)?, new: count_lines(new)? })
    }

    /// Reads the next line, and returns whether it is one of the hunk.
    fn read(&mut self, line: &str) -> bool {
        if indent_of(line) < self.indent && !line.trim().is_empty() {
            return false;
        }
        let (old, new) = match line.as_bytes().get(self.indent) {
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            // `\ No newline at end of file`
            Some(b'\\') => (0, 0),
            // Of an empty line the blank that begins it may be lost.
            Some(b' ' | b'\t' | b'\r' | b'\n') | None => (1, 1),
            Some(_) => return false,
        };
        if self.old < old || self.new < new {
            return false;
        }
        self.old -= old;
        self.new -= new;
        true
    }
}

/// Bytes of white space that a line begins with.
fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// How many lines a range has: `3,4` is four from the third, `3` is one.
fn count_lines(range: &str) -> Option<usize> {
    let (first, count) = range.split_once(',').unwrap_or((range, "1"));
    first.parse::<usize>().ok()?;
    count.parse().ok()
}

/// Whether a line of a diff stands around its hunks.
fn is_diff_header(text: &str) -> bool {
    let hashes = text.strip_prefix("index ").and_then(|hashes| hashes.split_once(".."));
    let is_hash = |hash: &str| hash.len() >= MIN_HASH && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    DIFF_HEADERS.iter().any(|beginning| text.starts_with(*beginning)) || hashes.is_some_and(|(old, _)| is_hash(old))
}

/// Whether a line is a command behind a prompt: `$ make`, but not `$ 5`.
fn is_command(text: &str) -> bool {
    text.strip_prefix("$ ").is_some_and(|command| !command.starts_with(|c: char| c.is_ascii_digit()))
}
