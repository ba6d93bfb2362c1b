//! The stored form of a file's blame: a version, then tables of paths, commits and sources, then the spans, all numbers
//! as varints.

use std::sync::Arc;

use super::{BlameSpan, FileRevision, Lineage, OriginFlags};
use crate::commit::Sha;

/// The version of the format, its first byte.
pub const FORMAT: u8 = 1;

/// Bytes, or values, that are no lineage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The first byte is another version.
    #[error("a blame of format {found} cannot be read, only {FORMAT}; compute the blame again")]
    Format {
        /// The version that was found.
        found: u8,
    },
    /// The bytes end too early, go on too long or hold a number or text that cannot be.
    #[error("the bytes of a blame are damaged at {at}; compute the blame again")]
    Damaged {
        /// Where, in bytes from the start.
        at: usize,
    },
    /// A span does not follow the one before it, is empty or names a source that is not there.
    #[error("span {at} of a blame breaks a rule; compute the blame again")]
    Span {
        /// Which span, counted from 0.
        at: usize,
    },
}

impl Lineage {
    /// The lineage as bytes; equal lineages have equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut paths: Table<&str> = Table::default();
        let mut commits: Table<Sha> = Table::default();
        let sources: Vec<_> =
            self.sources.iter().map(|source| (commits.index(source.commit), paths.index(&*source.path))).collect();
        let mut bytes = vec![FORMAT];
        put(&mut bytes, paths.items.len() as u64);
        for path in paths.items {
            put(&mut bytes, path.len() as u64);
            bytes.extend_from_slice(path.as_bytes());
        }
        put(&mut bytes, commits.items.len() as u64);
        for commit in commits.items {
            bytes.extend_from_slice(commit.as_bytes());
        }
        put(&mut bytes, sources.len() as u64);
        for (commit, path) in sources {
            put(&mut bytes, commit);
            put(&mut bytes, path);
        }
        put(&mut bytes, self.spans.as_slice().len() as u64);
        for span in self.spans.as_slice() {
            put(&mut bytes, u64::from(span.lines));
            put(&mut bytes, u64::from(span.source) << 3 | u64::from(span.seen.bits()));
            let ahead = i64::from(span.line) - i64::from(span.start);
            put(&mut bytes, (ahead << 1 ^ ahead >> 63).cast_unsigned());
        }
        bytes
    }

    /// The lineage that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// The bytes are of another version or were damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader { bytes, at: 0 };
        let found = *reader.take(1)?.first().unwrap_or(&0);
        if found != FORMAT {
            return Err(DecodeError::Format { found });
        }
        let paths = reader.list(|reader| {
            let length = reader.size()?;
            let at = reader.at;
            let text = std::str::from_utf8(reader.take(length)?).map_err(|_| DecodeError::Damaged { at })?;
            Ok(Arc::<str>::from(text))
        })?;
        let commits = reader.list(|reader| {
            let at = reader.at;
            reader.take(20)?.try_into().map(Sha::from_bytes).map_err(|_| DecodeError::Damaged { at })
        })?;
        let sources = reader.list(|reader| {
            let at = reader.at;
            let (commit, path) = (reader.size()?, reader.size()?);
            let damaged = DecodeError::Damaged { at };
            let commit = *commits.get(commit).ok_or(damaged.clone())?;
            Ok(FileRevision { commit, path: Arc::clone(paths.get(path).ok_or(damaged)?) })
        })?;
        let mut start = 1u32;
        let spans = reader.list(|reader| {
            let at = reader.at;
            let damaged = DecodeError::Damaged { at };
            let lines = u32::try_from(reader.number()?).map_err(|_| damaged.clone())?;
            let source = reader.number()?;
            let zigzag = reader.number()?;
            let ahead = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
            let line = ahead.checked_add(i64::from(start)).ok_or(damaged.clone())?;
            let line = u32::try_from(line).map_err(|_| damaged.clone())?;
            let seen = OriginFlags::from_bits((source & 7) as u8);
            let source = u32::try_from(source >> 3).map_err(|_| damaged.clone())?;
            let span = BlameSpan { start, lines, source, line, seen };
            start = start.checked_add(lines).ok_or(damaged)?;
            Ok(span)
        })?;
        if reader.at != bytes.len() {
            return Err(DecodeError::Damaged { at: reader.at });
        }
        Self::checked(&sources, spans)
    }
}

/// Items in the order in which they were first met.
struct Table<T> {
    items: Vec<T>,
    known: std::collections::HashMap<T, u64>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { items: Vec::new(), known: std::collections::HashMap::new() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Table<T> {
    fn index(&mut self, item: T) -> u64 {
        *self.known.entry(item).or_insert_with(|| {
            self.items.push(item);
            self.items.len() as u64 - 1
        })
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let damaged = DecodeError::Damaged { at: self.at };
        let end = self.at.checked_add(length).ok_or(damaged.clone())?;
        let taken = self.bytes.get(self.at..end).ok_or(damaged)?;
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, DecodeError> {
        let at = self.at;
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(DecodeError::Damaged { at })
    }

    fn size(&mut self) -> Result<usize, DecodeError> {
        let at = self.at;
        usize::try_from(self.number()?).map_err(|_| DecodeError::Damaged { at })
    }

    /// A count and that many items, each of which takes at least one byte.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, DecodeError>) -> Result<Vec<T>, DecodeError> {
        let at = self.at;
        let count = self.size()?;
        if count > self.bytes.len() - self.at {
            return Err(DecodeError::Damaged { at });
        }
        (0..count).map(|_| item(self)).collect()
    }
}
