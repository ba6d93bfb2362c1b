//! Blame of a file: which commit wrote each of its lines, and where the line was then. How it is computed belongs to
//! `sources::git`.
//!
//! Lines count from 1. The spans of a file cover all its lines in order, without gaps. Neighbors that come from
//! neighboring lines of the same source are one span, so that equal blames have equal spans and equal bytes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::commit::Sha;

mod bytes;
#[cfg(test)]
mod tests;

pub use bytes::{DecodeError, FORMAT};

/// What was seen through, beyond renames and white space, on the way from a line to its origin. A set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OriginFlags(u8);

impl OriginFlags {
    /// Nothing: what `git blame -w` would say.
    pub const NONE: Self = Self(0);
    /// The line was moved: taken away in one place and put elsewhere by the same commit.
    pub const MOVED: Self = Self(1);
    /// The line was copied from where it stayed.
    pub const COPIED: Self = Self(2);
    /// An ignored revision rewrote the line.
    pub const IGNORED: Self = Self(4);
    const ALL: u8 = 7;

    /// Both sets in one.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of the other set is in this one.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// What is in the set.
    pub fn each(self) -> Vec<SeenThrough> {
        let all = [
            (Self::MOVED, SeenThrough::Moved),
            (Self::COPIED, SeenThrough::Copied),
            (Self::IGNORED, SeenThrough::IgnoredRevision),
        ];
        all.into_iter().filter(|(part, _)| self.contains(*part)).map(|(_, name)| name).collect()
    }

    /// The set as bits: 1 moved, 2 copied, 4 ignored.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set with these bits; bits without a meaning are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ALL)
    }
}

/// One thing that was seen through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SeenThrough {
    /// The line was moved.
    Moved,
    /// The line was copied.
    Copied,
    /// An ignored revision rewrote the line.
    #[serde(rename = "ignored revision")]
    IgnoredRevision,
}

impl SeenThrough {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::Copied => "copied",
            Self::IgnoredRevision => "ignored revision",
        }
    }
}

/// Consecutive lines of a file that come from consecutive lines of one version of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlameSpan {
    /// First line in the file.
    pub start: u32,
    /// How many lines, at least one.
    pub lines: u32,
    /// The commit and path that the lines come from: an index into a table that the owner of the spans keeps.
    pub source: u32,
    /// First line in the source.
    pub line: u32,
    /// What was seen through.
    pub seen: OriginFlags,
}

/// Spans that cover the lines 1 to [`lines`](Self::lines) of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct BlameSpans(Vec<BlameSpan>);

impl BlameSpans {
    /// How many lines are covered.
    pub fn lines(&self) -> u32 {
        self.0.last().map_or(0, |span| span.start - 1 + span.lines)
    }

    /// The spans in the order of the lines.
    pub fn as_slice(&self) -> &[BlameSpan] {
        &self.0
    }

    /// Adds lines at the end. Nothing is added beyond `u32::MAX - 1` lines.
    pub fn push(&mut self, lines: u32, source: u32, line: u32, seen: OriginFlags) {
        let start = self.lines() + 1;
        let lines = lines.min(u32::MAX - start);
        if lines == 0 {
            return;
        }
        if let Some(last) = self.0.last_mut()
            && (last.source, last.seen) == (source, seen)
            && last.line.checked_add(last.lines) == Some(line)
        {
            last.lines += lines;
        } else {
            self.0.push(BlameSpan { start, lines, source, line, seen });
        }
    }

    /// The parts of spans that cover these lines, in order; lines that are not covered are left out.
    pub fn slice(&self, start: u32, lines: u32) -> impl Iterator<Item = BlameSpan> + '_ {
        let end = start.saturating_add(lines);
        let first = self.0.partition_point(|span| span.start + span.lines <= start);
        self.0[first..].iter().take_while(move |span| span.start < end).map(move |span| {
            let from = span.start.max(start);
            let to = (span.start + span.lines).min(end);
            BlameSpan { start: from, lines: to - from, line: span.line + (from - span.start), ..*span }
        })
    }

    /// Adds at the end what other spans say of these of their lines, seen through what is given as well.
    pub fn push_slice(&mut self, other: &Self, start: u32, lines: u32, seen: OriginFlags) {
        for span in other.slice(start, lines) {
            self.push(span.lines, span.source, span.line, span.seen.union(seen));
        }
    }

    /// The same spans with every source replaced.
    #[must_use]
    pub fn with_sources(&self, mut source: impl FnMut(u32) -> u32) -> Self {
        let mut spans = Self(Vec::with_capacity(self.0.len()));
        for span in &self.0 {
            spans.push(span.lines, source(span.source), span.line, span.seen);
        }
        spans
    }
}

/// A version of a file: what a line comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileRevision {
    /// The commit that wrote the line.
    pub commit: Sha,
    /// The path that the file had in that commit.
    #[serde(with = "shared_text")]
    pub path: Arc<str>,
}

/// Lines and where they come from, by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlameOrigin {
    /// First line in the file that was asked about.
    pub start: u32,
    /// How many lines.
    pub lines: u32,
    /// The version of a file that they were written in.
    pub source: FileRevision,
    /// First line in that version.
    pub line: u32,
    /// What was seen through.
    pub seen: OriginFlags,
}

/// Lineage of all lines of one file at one commit.
///
/// The sources stand in the order in which the spans first name them, each once, so that equal lineages are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Parts", try_from = "Parts")]
pub struct Lineage {
    sources: Vec<FileRevision>,
    spans: BlameSpans,
}

impl Lineage {
    /// The lineage that the spans tell, with the sources that their indices stand for.
    pub fn new(spans: &BlameSpans, mut source: impl FnMut(u32) -> FileRevision) -> Self {
        let mut sources = Vec::new();
        let mut known = std::collections::HashMap::new();
        let spans = spans.with_sources(|id| {
            *known.entry(id).or_insert_with(|| {
                sources.push(source(id));
                u32::try_from(sources.len() - 1).unwrap_or(u32::MAX)
            })
        });
        Self { sources, spans }
    }

    /// How many lines the file has.
    pub fn lines(&self) -> u32 {
        self.spans.lines()
    }

    /// The spans; their sources are indices into [`sources`](Self::sources).
    pub fn spans(&self) -> &BlameSpans {
        &self.spans
    }

    /// The versions of files that lines come from.
    pub fn sources(&self) -> &[FileRevision] {
        &self.sources
    }

    /// Where these lines come from, in order; lines that the file does not have are left out.
    pub fn origins(&self, start: u32, lines: u32) -> impl Iterator<Item = BlameOrigin> + '_ {
        self.spans.slice(start, lines).map(|span| BlameOrigin {
            start: span.start,
            lines: span.lines,
            source: self.sources[span.source as usize].clone(),
            line: span.line,
            seen: span.seen,
        })
    }

    /// Where one line comes from; none if the file has no such line.
    pub fn origin(&self, line: u32) -> Option<BlameOrigin> {
        self.origins(line, 1).next()
    }

    /// Spans that may break a rule, made into a lineage if they break none.
    fn checked(sources: &[FileRevision], spans: impl IntoIterator<Item = BlameSpan>) -> Result<Self, DecodeError> {
        let mut built = BlameSpans::default();
        for (at, span) in spans.into_iter().enumerate() {
            let line_end = u64::from(span.line) + u64::from(span.lines);
            let end = u64::from(built.lines()) + u64::from(span.lines);
            if span.lines == 0 || span.line == 0 || line_end > u64::from(u32::MAX) || end >= u64::from(u32::MAX) {
                return Err(DecodeError::Span { at });
            }
            if span.start != built.lines() + 1 || span.source as usize >= sources.len() {
                return Err(DecodeError::Span { at });
            }
            built.push(span.lines, span.source, span.line, span.seen);
        }
        let lineage = Self::new(&built, |id| sources[id as usize].clone());
        Ok(lineage)
    }
}

/// What a lineage is in formats that serde writes.
#[derive(Serialize, Deserialize)]
struct Parts {
    sources: Vec<FileRevision>,
    spans: Vec<BlameSpan>,
}

impl From<Lineage> for Parts {
    fn from(lineage: Lineage) -> Self {
        Self { sources: lineage.sources, spans: lineage.spans.0 }
    }
}

impl TryFrom<Parts> for Lineage {
    type Error = DecodeError;

    fn try_from(parts: Parts) -> Result<Self, DecodeError> {
        Self::checked(&parts.sources, parts.spans)
    }
}

/// Lines that a commit put in place of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacedHunk {
    /// First new line; if there are none, the line before which the old ones stood.
    pub start: u32,
    /// How many new lines; 0 if old ones were only taken away.
    pub lines: u32,
    /// Where the old lines come from, in order; their `start` counts in the file before the commit. Empty if lines
    /// were only added.
    pub old: Vec<BlameOrigin>,
    /// Whether there were more old lines than are told.
    pub capped: bool,
}

/// What a commit replaced in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacedHunks {
    /// Path after the commit.
    #[serde(with = "shared_text")]
    pub path: Arc<str>,
    /// Path before it, in the parent that the lines were compared with.
    #[serde(with = "shared_text")]
    pub old_path: Arc<str>,
    /// The places in the order of their lines.
    pub replaced: Vec<ReplacedHunk>,
}

/// A shared text is a text in every format.
mod shared_text {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(deserializer).map(Arc::from)
    }
}
