//! Parses what `git diff-tree --stdin --raw -p -U1 -z` writes, as it arrives.
//!
//! For every commit: its name and NUL; for every change `:modes ids status` NUL path NUL [path NUL]; then, if there was
//! one, NUL and a patch for each change in the same order. git repeats a line that is no object name unchanged and
//! writes all pending output first: this marks the end of a batch.

use std::io::{self, Read};

use backstory_model::{
    classify::{is_changelog, is_generated},
    commit::{ChangeStatus, FileChange, FileMode, FileVersion, LineCounts, RepoPath, Sha},
};

use super::line_words::LineWords;

/// Most files of one commit that are kept; the others are counted.
pub(super) const MAX_CHANGES: usize = 50_000;
/// Longest path and longest record, in bytes.
const MAX_RECORD: usize = 64 * 1024;
/// Bytes that are read at once.
const BUFFER: usize = 128 * 1024;

/// What is wrong with the stream.
#[derive(Debug)]
pub(super) enum StreamError {
    /// It ended where something should follow.
    Ended,
    /// It holds something else than it should.
    Unexpected(&'static str),
    /// It cannot be read.
    Io(io::Error),
}

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The stream and what of it was read ahead.
pub(super) struct DiffStream<R> {
    source: R,
    buffer: Box<[u8]>,
    at: usize,
    end: usize,
}

/// The changes of one commit, and how many more than [`MAX_CHANGES`] there were.
pub(super) struct Changes {
    pub(super) kept: Vec<FileChange>,
    pub(super) left_out: usize,
}

impl<R: Read> DiffStream<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; BUFFER].into_boxed_slice(), at: 0, end: 0 }
    }

    /// Reads the line that was given as the end of a batch.
    pub(super) fn expect_line(&mut self, line: &[u8]) -> Result<(), StreamError> {
        let found = self.record(b'\n')?;
        if found == line { Ok(()) } else { Err(StreamError::Unexpected("the end of a batch is missing")) }
    }

    /// Reads what the given commit changes. `words` gets the changed lines if there is one, file by file.
    pub(super) fn commit(&mut self, sha: Sha, words: &mut Option<LineWords>) -> Result<Changes, StreamError> {
        if Sha::from_hex(&self.record(0)?) != Some(sha) {
            return Err(StreamError::Unexpected("another commit than the one asked for"));
        }
        let mut changes = Changes { kept: Vec::new(), left_out: 0 };
        // How many patches follow, and whether they are of a change that is kept.
        let mut patches = Vec::new();
        while self.peek::<1>()? == b":" {
            let change = self.change()?;
            // A file that becomes a link is a patch that deletes and one that adds.
            patches.push(if change.status == ChangeStatus::TypeChanged { 2_u8 } else { 1 });
            if changes.kept.len() < MAX_CHANGES {
                changes.kept.push(change);
            } else {
                changes.left_out += 1;
            }
        }
        if self.peek::<1>()? == b"\0" {
            self.at += 1;
            for (index, count) in patches.into_iter().enumerate() {
                let change = changes.kept.get_mut(index);
                let text = change.as_ref().is_some_and(|change| count == 1 && is_plain(change) && is_written(change));
                let mut lines = Some(LineCounts::default());
                for _ in 0..count {
                    if let Some(words) = words {
                        words.next_file(text);
                    }
                    self.patch(&mut lines, words.as_mut())?;
                }
                if let Some(change) = change {
                    change.lines = lines;
                }
            }
        }
        // Something always follows. Git that fails writes what it has, which may look whole.
        if self.peek::<1>()?.is_empty() {
            return Err(StreamError::Ended);
        }
        Ok(changes)
    }

    /// `:100644 100644 <id> <id> R086` NUL path NUL path NUL
    fn change(&mut self) -> Result<FileChange, StreamError> {
        const WRONG: StreamError = StreamError::Unexpected("a change in another form");
        let record = self.record(0)?;
        let mut fields = record.strip_prefix(b":").ok_or(WRONG)?.split(|b| *b == b' ');
        let mut mode = || fields.next().and_then(FileMode::from_octal).ok_or(WRONG);
        let (old_mode, new_mode) = (mode()?, mode()?);
        let mut id = || fields.next().and_then(Sha::from_hex).ok_or(WRONG);
        let (old_id, new_id) = (id()?, id()?);
        let (letter, score) = fields.next().and_then(|status| status.split_first()).ok_or(WRONG)?;
        let status = match letter {
            b'A' => ChangeStatus::Added,
            b'D' => ChangeStatus::Deleted,
            b'R' => ChangeStatus::Renamed,
            b'C' => ChangeStatus::Copied,
            b'T' => ChangeStatus::TypeChanged,
            b'M' => ChangeStatus::Modified,
            _ => return Err(WRONG),
        };
        let moved = matches!(status, ChangeStatus::Renamed | ChangeStatus::Copied);
        let similarity = std::str::from_utf8(score).ok().filter(|_| moved).and_then(|score| score.parse().ok());
        let first = RepoPath::from_bytes(&self.record(0)?);
        let (path, old_path) =
            if moved { (RepoPath::from_bytes(&self.record(0)?), Some(first)) } else { (first, None) };
        let version = |mode: FileMode, id| (mode.bits() != 0).then_some(FileVersion { id, mode });
        let (old, new) = (version(old_mode, old_id), version(new_mode, new_id));
        Ok(FileChange { path, old_path, status, similarity, old, new, lines: None })
    }

    /// One patch: `diff --git`, lines about the files, hunks. The content of hunks is counted, never looked at to find
    /// their end.
    fn patch(&mut self, lines: &mut Option<LineCounts>, mut words: Option<&mut LineWords>) -> Result<(), StreamError> {
        match self.peek::<5>()? {
            b"diff " => {}
            [_, _, _, _, _] => return Err(StreamError::Unexpected("a patch is missing")),
            _ => return Err(StreamError::Ended),
        }
        self.line(|_| ())?;
        loop {
            match self.peek::<5>()? {
                b"old m" | b"new m" | b"new f" | b"delet" | b"copy " | b"renam" | b"simil" | b"dissi" | b"index"
                | b"\\ No " => self.line(|_| ())?,
                [b'-', b'-', b'-', b' ', _] | [b'+', b'+', b'+', b' ', _] => self.line(|_| ())?,
                b"Binar" => {
                    self.line(|_| ())?;
                    *lines = None;
                    if let Some(words) = words.as_deref_mut() {
                        words.removed.give_up();
                    }
                }
                [b'@', b'@', ..] => self.hunk(lines, words.as_deref_mut())?,
                _ => return Ok(()),
            }
        }
    }

    /// `@@ -1,2 +3 @@ text` and its lines.
    fn hunk(&mut self, lines: &mut Option<LineCounts>, mut words: Option<&mut LineWords>) -> Result<(), StreamError> {
        const WRONG: StreamError = StreamError::Unexpected("a hunk in another form");
        let mut header = [0; 64];
        let mut filled = 0;
        self.line(|part| {
            let taken = part.len().min(header.len() - filled);
            header[filled..filled + taken].copy_from_slice(&part[..taken]);
            filled += taken;
        })?;
        let mut ranges = header[..filled].split(|b| *b == b' ').skip(1);
        let mut count = |sign: u8| {
            let range = ranges.next().and_then(|range| range.strip_prefix(&[sign]))?;
            let count = range.iter().position(|b| *b == b',').map_or(&b"1"[..], |comma| &range[comma + 1..]);
            std::str::from_utf8(count).ok()?.parse::<u32>().ok()
        };
        let (mut old, mut new) = (count(b'-').ok_or(WRONG)?, count(b'+').ok_or(WRONG)?);
        let mut counts = lines.unwrap_or_default();
        while old > 0 || new > 0 {
            let [sign] = *self.peek::<1>()? else { return Err(StreamError::Ended) };
            match sign {
                b' ' => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
                b'-' => (old, counts.deletions) = (old.saturating_sub(1), counts.deletions.saturating_add(1)),
                b'+' => (new, counts.insertions) = (new.saturating_sub(1), counts.insertions.saturating_add(1)),
                b'\\' => {}
                _ => return Err(WRONG),
            }
            self.at += 1;
            match words.as_deref_mut() {
                Some(words) if matches!(sign, b'-' | b'+') => {
                    let is_removed = sign == b'-';
                    self.line(|part| words.take(part, is_removed))?;
                    words.end_line();
                }
                _ => self.line(|_| ())?,
            }
        }
        *lines = lines.map(|_| counts);
        Ok(())
    }

    /// The next bytes, which stay; fewer only at the end.
    fn peek<const N: usize>(&mut self) -> Result<&[u8], StreamError> {
        while self.end - self.at < N {
            if self.fill()? == 0 {
                break;
            }
        }
        Ok(&self.buffer[self.at..self.end.min(self.at + N)])
    }

    /// Reads more behind what is there. The buffer always has room, as only short pieces are waited for.
    fn fill(&mut self) -> Result<usize, StreamError> {
        if self.at == self.end {
            (self.at, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.buffer.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let read = read?;
                    self.end += read;
                    return Ok(read);
                }
            }
        }
    }

    /// Everything before the given byte, which is read too.
    fn record(&mut self, end: u8) -> Result<Vec<u8>, StreamError> {
        let mut record = Vec::new();
        loop {
            let ahead = &self.buffer[self.at..self.end];
            let found = memchr::memchr(end, ahead);
            record.extend_from_slice(&ahead[..found.unwrap_or(ahead.len())]);
            self.at += found.map_or(ahead.len(), |at| at + 1);
            if record.len() > MAX_RECORD {
                return Err(StreamError::Unexpected("a path that is too long"));
            }
            if found.is_some() {
                return Ok(record);
            }
            if self.fill()? == 0 {
                return Err(StreamError::Ended);
            }
        }
    }

    /// Hands on the rest of the line, in parts if it is long, without the line end.
    fn line(&mut self, mut call: impl FnMut(&[u8])) -> Result<(), StreamError> {
        loop {
            let ahead = &self.buffer[self.at..self.end];
            let found = memchr::memchr(b'\n', ahead);
            call(&ahead[..found.unwrap_or(ahead.len())]);
            self.at += found.map_or(ahead.len(), |at| at + 1);
            if found.is_some() {
                return Ok(());
            }
            if self.fill()? == 0 {
                return Err(StreamError::Ended);
            }
        }
    }
}

/// Whether both sides that are there are ordinary files.
fn is_plain(change: &FileChange) -> bool {
    [change.old, change.new].iter().flatten().all(|version| version.mode.is_file())
}

/// Whether its words are those of the change: not what a program wrote, nor what tells people of many changes.
fn is_written(change: &FileChange) -> bool {
    let path = change.path.as_str();
    !is_generated(path) && !is_changelog(path)
}
