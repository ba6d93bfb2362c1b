//! What a git repository holds, in git's own terms: commits and the files they change, branches and tags. What the
//! ledger keeps of it is in [`repository`](crate::repository).

use std::{borrow::Cow, fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    redaction::{self, SecretCounts},
    word_filter::WordFilter,
};

/// Name of a git object: 20 bytes of SHA-1, written as 40 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha([u8; 20]);

/// A text that is no full object name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an object name; write its 40 hex digits")]
pub struct InvalidSha(String);

impl Sha {
    /// The object name that is all zeros, which git writes for "no object".
    pub const ZERO: Self = Self([0; 20]);

    /// Its first eight digits, for people.
    pub fn short(&self) -> String {
        let mut digits = self.to_string();
        digits.truncate(8);
        digits
    }

    /// From its 20 bytes.
    pub fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Its 20 bytes.
    pub fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// From 40 hex digits; `None` for anything else.
    pub fn from_hex(hex: &[u8]) -> Option<Self> {
        let mut bytes = [0; 20];
        if hex.len() != 40 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
        }
        Some(Self(bytes))
    }
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 40];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.pad(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha {
    type Err = InvalidSha;

    fn from_str(text: &str) -> Result<Self, InvalidSha> {
        Self::from_hex(text.as_bytes()).ok_or_else(|| InvalidSha(text.chars().take(80).collect()))
    }
}

impl Serialize for Sha {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'_, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Sha {
    fn schema_name() -> Cow<'static, str> {
        "Sha".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9a-f]{40}$" })
    }
}

/// A path or reference name of a repository in a form that can be printed and turned back into the same bytes.
///
/// It is the name itself, unless that is not UTF-8, holds a control character or begins with `"`. Then it is the name in
/// double quotes as git quotes it: `\"`, `\\`, `\t`, `\n`, …, and three octal digits for other bytes, as in
/// `"caf\351.txt"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RepoPath(String);

impl RepoPath {
    /// From the bytes that git has.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.starts_with('"') && !text.chars().any(char::is_control) => Self(text.to_owned()),
            _ => Self(quote(bytes)),
        }
    }

    /// From the printed form. Every text is one.
    pub fn from_escaped(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The printed form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The bytes that git has.
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        match unquote(&self.0) {
            Some(bytes) => Cow::Owned(bytes),
            None => Cow::Borrowed(self.0.as_bytes()),
        }
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Bytes that have a letter of their own after the backslash.
const ESCAPES: [(u8, u8); 9] = [
    (b'"', b'"'),
    (b'\\', b'\\'),
    (0x07, b'a'),
    (0x08, b'b'),
    (b'\t', b't'),
    (b'\n', b'n'),
    (0x0b, b'v'),
    (0x0c, b'f'),
    (b'\r', b'r'),
];

fn quote(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 16);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match ESCAPES.iter().find(|(byte, _)| char::from(*byte) == c) {
                Some((_, letter)) => out.extend(['\\', char::from(*letter)]),
                None if c.is_control() => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| octal(&mut out, byte)),
                None => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| octal(&mut out, *byte));
    }
    out.push('"');
    out
}

fn octal(out: &mut String, byte: u8) {
    out.push('\\');
    for shift in [6, 3, 0] {
        out.push(char::from(b'0' + (byte >> shift & 7)));
    }
}

/// The bytes of a quoted name; `None` if it is not quoted.
fn unquote(text: &str) -> Option<Vec<u8>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next()? {
            high @ b'0'..=b'3' => {
                let digits = [high, bytes.next()?, bytes.next()?];
                let digit = |at: usize| digits[at].checked_sub(b'0').filter(|digit| *digit < 8);
                out.push(digit(0)? << 6 | digit(1)? << 3 | digit(2)?);
            }
            letter => out.push(ESCAPES.iter().find(|(_, own)| *own == letter)?.0),
        }
    }
    Some(out)
}

/// Who did something to a commit or tag, and when.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Signature {
    /// Name as written, or as the mailmap has it.
    pub name: String,
    /// E-mail address as written, or as the mailmap has it.
    pub email: String,
    /// The instant; the epoch if the commit has none that can be read.
    pub at: Timestamp,
    /// Minutes east of UTC of the clock it was taken from.
    pub offset_minutes: i16,
}

/// Kind and permissions of an entry of a tree, as git's octal number: `100644`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileMode(u32);

impl FileMode {
    /// An ordinary file.
    pub const FILE: Self = Self(0o100_644);
    /// A symbolic link; its blob holds the target.
    pub const SYMLINK: Self = Self(0o120_000);
    /// A directory.
    pub const TREE: Self = Self(0o040_000);
    /// A submodule; its id is a commit of another repository.
    pub const SUBMODULE: Self = Self(0o160_000);

    /// From git's number.
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// From octal digits; `None` for anything else.
    pub fn from_octal(digits: &[u8]) -> Option<Self> {
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() <= 7)?;
        u32::from_str_radix(digits, 8).ok().map(Self)
    }

    /// Git's number.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Whether it is a file with content of its own, executable or not.
    pub fn is_file(self) -> bool {
        self.0 & 0o170_000 == 0o100_000
    }

    /// Whether it is a symbolic link.
    pub fn is_symlink(self) -> bool {
        self.0 & 0o170_000 == Self::SYMLINK.0
    }

    /// Whether it is a submodule.
    pub fn is_submodule(self) -> bool {
        self.0 & 0o170_000 == Self::SUBMODULE.0
    }

    /// Whether it is a file that can be executed.
    pub fn is_executable(self) -> bool {
        self.is_file() && self.0 & 0o100 != 0
    }
}

impl fmt::Display for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06o}", self.0)
    }
}

impl fmt::Debug for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for FileMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FileMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        Self::from_octal(text.as_bytes()).ok_or_else(|| de::Error::custom(format!("'{text}' is not a file mode")))
    }
}

/// What a commit does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeStatus {
    /// It was not there before.
    Added,
    /// Its content or permissions change.
    Modified,
    /// It is not there any more.
    Deleted,
    /// It moves to another path, possibly with edits.
    Renamed,
    /// It is made from another file, which stays.
    Copied,
    /// It becomes another kind: file, symbolic link, submodule.
    TypeChanged,
}

impl ChangeStatus {
    /// Its name, `type_changed`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::Copied => "copied",
            Self::TypeChanged => "type_changed",
        }
    }
}

/// One side of a change: the blob (or the submodule's commit) and its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileVersion {
    /// The blob, or the commit of a submodule.
    pub id: Sha,
    /// Kind and permissions.
    pub mode: FileMode,
}

/// How many lines a change adds and removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LineCounts {
    /// Lines that are only in the new version.
    pub insertions: u32,
    /// Lines that are only in the old version.
    pub deletions: u32,
}

/// One file that a commit changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Path after the commit; of a deleted file, before it.
    pub path: RepoPath,
    /// Path before the commit if it is another: of a renamed or copied file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<RepoPath>,
    /// What happens to it.
    pub status: ChangeStatus,
    /// How much of a renamed or copied file stays, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<u8>,
    /// Before; `None` if it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<FileVersion>,
    /// After; `None` if it is not there any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<FileVersion>,
    /// Lines added and removed; `None` for a binary file and where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineCounts>,
}

impl FileChange {
    /// Whether one side of it is a submodule.
    pub fn is_submodule(&self) -> bool {
        [self.old, self.new].iter().flatten().any(|version| version.mode.is_submodule())
    }

    /// Whether one side of it is a symbolic link.
    pub fn is_symlink(&self) -> bool {
        [self.old, self.new].iter().flatten().any(|version| version.mode.is_symlink())
    }
}

/// A word of the lines that a commit adds or removes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedIdentifier {
    /// The word as it is written.
    pub name: String,
    /// How often it stands on those lines.
    pub count: u32,
}

/// A commit and what it changes against its first parent, or against nothing if it has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Its name.
    pub sha: Sha,
    /// Its tree.
    pub tree: Sha,
    /// Its parents, the first one first. At the edge of a shallow clone they are named but not there.
    pub parents: Vec<Sha>,
    /// Who wrote the change.
    pub author: Signature,
    /// Who made the commit.
    pub committer: Signature,
    /// The whole message, in Unicode.
    pub message: String,
    /// The files it changes, ordered as git orders them.
    pub changes: Vec<FileChange>,
    /// Words of the lines it adds and removes, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identifiers: Vec<TouchedIdentifier>,
    /// How many secrets of which kind stand in the lines it adds and removes, as far as those were looked at for words.
    #[serde(default, skip_serializing_if = "SecretCounts::is_empty")]
    pub secrets: SecretCounts,
    /// The words of the lines that it removes; `None` if not all of them are known. Filters of an older kind, which did not
    /// have how words begin and end, had another name.
    #[serde(default, rename = "removed_words_and_edges", skip_serializing_if = "Option::is_none")]
    pub removed_words: Option<WordFilter>,
    /// Why `changes` say less than they should: too many files, or a blob that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
}

impl Commit {
    /// First line of the message.
    pub fn title(&self) -> &str {
        self.message.trim_start().lines().next().unwrap_or_default().trim_end()
    }

    /// Lines that it adds and removes in all its files.
    pub fn line_counts(&self) -> (u64, u64) {
        let lines = self.changes.iter().filter_map(|change| change.lines);
        lines.fold((0, 0), |(insertions, deletions), lines| {
            (insertions + u64::from(lines.insertions), deletions + u64::from(lines.deletions))
        })
    }

    /// How many secrets of which kind its message and its lines had.
    pub fn secret_counts(&self) -> SecretCounts {
        let mut all = redaction::count_markers([self.message.as_str()]);
        for (rule, count) in &self.secrets {
            *all.entry(rule.clone()).or_default() += count;
        }
        all
    }

    /// Whether it has more than one parent.
    pub fn is_merge(&self) -> bool {
        self.parents.len() > 1
    }
}

/// A branch and its newest commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Name without `refs/heads/`.
    pub name: RepoPath,
    /// The commit it points at.
    pub tip: Sha,
}

/// What kind of object something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// A commit.
    Commit,
    /// A directory.
    Tree,
    /// A file's content.
    Blob,
    /// An annotated tag.
    Tag,
}

/// What an annotated tag says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagAnnotation {
    /// The tag object.
    pub id: Sha,
    /// Who tagged it; very old tags do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tagger: Option<Signature>,
    /// The whole message, in Unicode.
    pub message: String,
}

/// A tag and what it stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// Name without `refs/tags/`.
    pub name: RepoPath,
    /// The object at the end of the chain of annotations.
    pub target: Sha,
    /// Its kind; nearly always a commit.
    pub kind: ObjectKind,
    /// What the annotation says; `None` for a lightweight tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotation: Option<TagAnnotation>,
}

/// Which versions a line of a diff is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// In both versions.
    Context,
    /// In the new version only.
    Added,
    /// In the old version only.
    Removed,
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffLine {
    /// Where it stands.
    pub kind: LineKind,
    /// The line without its `\n`; a `\r` before that stays. What is not UTF-8 is replaced.
    pub text: String,
}

/// Lines that changed, and some around them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hunk {
    /// Number of the first line in the old version, from 1; of the line before the hunk if it has no lines there.
    pub old_start: u32,
    /// Lines of the old version.
    pub old_count: u32,
    /// Number of the first line in the new version, from 1; of the line before the hunk if it has no lines there.
    pub new_start: u32,
    /// Lines of the new version.
    pub new_count: u32,
    /// The lines in the order in which git shows them.
    pub lines: Vec<DiffLine>,
}

/// How one version of a file differs from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FileDiff {
    /// One of them is no text.
    Binary,
    /// One of them is larger than is compared.
    TooLarge,
    /// Both are text.
    Text {
        /// What differs, from top to bottom.
        hunks: Vec<Hunk>,
        /// Hunks that are left out at the end because there are too many lines.
        left_out: usize,
    },
}

#[cfg(test)]
mod tests;
