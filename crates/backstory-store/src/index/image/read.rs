//! Reads an image. It may have been cut short or changed, so nothing in it is taken for granted.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read as _, Seek as _},
    path::{Path, PathBuf},
};

use arrow::{
    array::{
        Array as _, AsArray as _, BooleanArray, FixedSizeBinaryArray, LargeStringArray, PrimitiveArray, RecordBatch,
    },
    datatypes::{ArrowPrimitiveType, Float32Type, Int64Type, UInt32Type, UInt64Type},
    ipc::reader::StreamReader,
};
use backstory_model::{
    digest::SetDigest, document_type::DocumentType, entity::State, filter::DocumentKind, terms::TermId,
};
use crc32fast::Hasher;

use super::{
    super::{
        addresses::Addresses,
        numbered::{NO_NAME, Name, NumberedDocument},
        rows::instant,
    },
    FILE, ImageError, ImageGroup, ImagePart, ImageRun, MAGIC, Of,
};

/// Bytes of the sum at the end of the file.
const SUM: u64 = 4;
/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// An image as it was read. Its names have the numbers that they get in memory.
pub(in crate::index) struct Image {
    names: LargeStringArray,
    /// What kinds, types and states are called.
    labels: LargeStringArray,
    documents: RecordBatch,
    groups: RecordBatch,
    counts: RecordBatch,
    words: RecordBatch,
    runs: RecordBatch,
    unused: RecordBatch,
    pending: RecordBatch,
    places: [[RecordBatch; 2]; 2],
    /// The file with what ranking reads, and how much of it that is.
    ranking: (PathBuf, u64),
}

impl Image {
    /// Reads the image of a directory if it has this key; `None` if there is none. Blocks.
    ///
    /// # Errors
    /// It cannot be read, or is of another state.
    pub(in crate::index) fn read(dir: &Path, key: &str) -> Result<Option<Self>, ImageError> {
        let file = match File::open(dir.join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut sections = Sections::of(file)?;
        let header = sections.next()?;
        let header = texts(&header, "header")?;
        if header.len() != 3 || header.value(0) != key {
            return Err(ImageError::Outdated);
        }
        let length = header.value(2).parse().map_err(|_| ImageError::Damaged("the length of what ranking reads"))?;
        let path = dir.join(header.value(1));
        if fs::metadata(&path)?.len() != length {
            return Err(ImageError::Damaged("the length of what ranking reads"));
        }
        Ok(Some(Self {
            names: texts(&sections.next()?, "name")?.clone(),
            labels: texts(&sections.next()?, "word")?.clone(),
            documents: sections.next()?,
            groups: sections.next()?,
            counts: sections.next()?,
            words: sections.next()?,
            runs: sections.next()?,
            unused: sections.next()?,
            pending: sections.next()?,
            places: [[sections.next()?, sections.next()?], [sections.next()?, sections.next()?]],
            ranking: (path, length),
        }))
    }

    /// How many documents there are.
    pub(in crate::index) fn document_count(&self) -> usize {
        self.documents.num_rows()
    }

    /// How many names there are.
    pub(in crate::index) fn name_count(&self) -> usize {
        self.names.len()
    }

    /// A name by its number.
    pub(in crate::index) fn name(&self, number: Name) -> &str {
        self.names.value(number as usize)
    }

    /// All names, one after the other, and where each ends.
    pub(in crate::index) fn names(&self) -> Result<(&str, impl ExactSizeIterator<Item = usize>), ImageError> {
        let damaged = || ImageError::Damaged("the names");
        let text = std::str::from_utf8(self.names.value_data()).map_err(|_| damaged())?;
        let ends = &self.names.value_offsets()[1..];
        let is_end = |end: &i64| usize::try_from(*end).is_ok_and(|end| text.is_char_boundary(end));
        if self.names.value_offsets()[0] != 0 || !ends.is_sorted() || !ends.iter().all(is_end) {
            return Err(damaged());
        }
        Ok((text, ends.iter().map(|end| usize::try_from(*end).unwrap_or(usize::MAX))))
    }

    /// A number, if it is one of a name.
    fn number(&self, number: u32) -> Result<Name, ImageError> {
        if (number as usize) < self.names.len() { Ok(number) } else { Err(ImageError::Damaged("the number of a name")) }
    }

    fn optional_number(&self, number: u32) -> Result<Name, ImageError> {
        if number == NO_NAME { Ok(NO_NAME) } else { self.number(number) }
    }

    /// The documents.
    pub(in crate::index) fn documents(
        &self,
    ) -> Result<impl Iterator<Item = Result<NumberedDocument, ImageError>>, ImageError> {
        let of = &self.documents;
        let column = |name| numbers_of::<UInt32Type>(of, name);
        let (ids, threads, kinds, projects) = (column("id")?, column("thread")?, column("kind")?, column("project")?);
        let (authors, states, paths, types) = (column("author")?, column("state")?, column("paths")?, column("type")?);
        let (labels, confidential) = (column("labels")?, flags_of(of, "confidential")?);
        let (created, importance) =
            (numbers_of::<Int64Type>(of, "created")?, numbers_of::<Float32Type>(of, "importance")?);
        let said = hashes_of(of, "said")?;
        let (mut kind_of, mut type_of) = (known(DocumentKind::from_name), known(DocumentType::from_name));
        let mut state_of = known(State::from_name);
        Ok((0..of.num_rows()).map(move |row| {
            let created_at = created.value(row);
            instant(created_at).map_err(|_| ImageError::Damaged("a time"))?;
            let state = states.value(row);
            Ok(NumberedDocument {
                id: self.number(ids.value(row))?,
                thread: self.number(threads.value(row))?,
                project: self.number(projects.value(row))?,
                author: self.optional_number(authors.value(row))?,
                labels: self.optional_number(labels.value(row))?,
                paths: self.number(paths.value(row))?,
                created_at,
                importance: importance.value(row),
                kind: kind_of(self, kinds.value(row))?,
                document_type: type_of(self, types.value(row))?,
                state: (state != NO_NAME).then(|| state_of(self, state)).transpose()?,
                confidential: confidential.value(row),
                said: said.value(row).try_into().map_err(|_| ImageError::Damaged("a hash"))?,
            })
        }))
    }

    /// The groups, in the order of their numbers.
    pub(in crate::index) fn groups(&self) -> Result<Vec<ImageGroup>, ImageError> {
        let of = &self.groups;
        let (projects, words) = (numbers_of::<UInt32Type>(of, "project")?, numbers_of::<UInt64Type>(of, "words")?);
        let (confidential, digests) = (flags_of(of, "confidential")?, hashes_of(of, "digest")?);
        let group = |row: usize| {
            let digest = digests.value(row).try_into().map_err(|_| ImageError::Damaged("a digest"))?;
            Ok(ImageGroup {
                project: self.number(projects.value(row))?,
                confidential: confidential.value(row),
                words: words.value(row),
                digest: SetDigest::from_bytes(&digest),
            })
        };
        (0..of.num_rows()).map(group).collect()
    }

    /// In how many documents of which group a term occurs, and whether it is one of full-text search.
    pub(in crate::index) fn counts(&self) -> Result<impl Iterator<Item = (usize, bool, TermId, u32)>, ImageError> {
        let column = |name| numbers_of::<UInt32Type>(&self.counts, name);
        let (groups, terms, counts) = (column("group")?, column("term")?, column("count")?);
        let of_full_text = flags_of(&self.counts, "of_full_text")?;
        let rows = 0..self.counts.num_rows();
        Ok(rows
            .map(move |row| (groups.value(row) as usize, of_full_text.value(row), terms.value(row), counts.value(row))))
    }

    /// How many documents have passages.
    pub(in crate::index) fn run_count(&self) -> usize {
        self.runs.num_rows()
    }

    /// Where the passages of each document are.
    pub(in crate::index) fn runs(&self) -> Result<impl Iterator<Item = Result<ImageRun, ImageError>>, ImageError> {
        let passages = numbers_of::<UInt32Type>(&self.runs, "passages")?;
        let hashes = numbers_of::<UInt64Type>(&self.runs, "text_hash")?;
        let parts = self.parts(&self.runs)?.zip(passages.values()).zip(hashes.values());
        Ok(parts.map(|((part, passages), hash)| Ok(ImageRun { part: part?, passages: *passages, text_hash: *hash })))
    }

    /// Where the words of each document are.
    pub(in crate::index) fn words(&self) -> Result<impl Iterator<Item = Result<ImagePart, ImageError>>, ImageError> {
        self.parts(&self.words)
    }

    fn parts<'a>(
        &'a self,
        of: &'a RecordBatch,
    ) -> Result<impl Iterator<Item = Result<ImagePart, ImageError>> + 'a, ImageError> {
        let column = |name| numbers_of::<UInt32Type>(of, name);
        let (documents, bytes) = (column("document")?, column("bytes")?);
        let offsets = numbers_of::<UInt64Type>(of, "offset")?;
        Ok((0..of.num_rows()).map(move |row| {
            let (offset, bytes) = (offsets.value(row), bytes.value(row));
            if offset.checked_add(u64::from(bytes)).is_none_or(|end| end > self.ranking.1) {
                return Err(ImageError::Damaged("the place of words or of a passage"));
            }
            Ok(ImagePart { document: self.number(documents.value(row))?, offset, bytes })
        }))
    }

    /// How many bytes of what ranking reads are of no use.
    pub(in crate::index) fn unused(&self) -> Result<u64, ImageError> {
        Ok(numbers_of::<UInt64Type>(&self.unused, "unused")?.values().first().copied().unwrap_or_default())
    }

    /// The file with what ranking reads, and how much of it that is.
    pub(in crate::index) fn ranking_data(&self) -> (&Path, u64) {
        (&self.ranking.0, self.ranking.1)
    }

    /// The documents without vectors, with the hashes of their texts.
    pub(in crate::index) fn pending(
        &self,
    ) -> Result<impl Iterator<Item = Result<(&str, &str), ImageError>>, ImageError> {
        let documents = numbers_of::<UInt32Type>(&self.pending, "document")?;
        let hashes = texts(&self.pending, "content_hash")?;
        let rows = 0..self.pending.num_rows();
        Ok(rows.map(move |row| Ok((self.name(self.number(documents.value(row))?), hashes.value(row)))))
    }

    /// The document of each row of a table.
    pub(in crate::index) fn places(
        &self,
        of: Of,
    ) -> Result<impl Iterator<Item = Result<(u64, Name), ImageError>>, ImageError> {
        let places = &self.places[of as usize][0];
        let addresses = numbers_of::<UInt64Type>(places, "address")?;
        let documents = numbers_of::<UInt32Type>(places, "document")?;
        let rows = 0..places.num_rows();
        Ok(rows.map(move |row| Ok((addresses.value(row), self.number(documents.value(row))?))))
    }

    /// The address of each row of a table, by its id.
    pub(in crate::index) fn rows(&self, of: Of) -> Result<Addresses, ImageError> {
        let rows = &self.places[of as usize][1];
        let (hashes, addresses) = (numbers_of::<UInt32Type>(rows, "hash")?, numbers_of::<UInt64Type>(rows, "address")?);
        Addresses::restore(hashes.values(), addresses.values()).ok_or(ImageError::Damaged("the order of rows"))
    }
}

/// Reads what labels stand for, of which there are few: that of the row before is remembered.
fn known<T: Copy>(from_name: fn(&str) -> Option<T>) -> impl FnMut(&Image, u32) -> Result<T, ImageError> {
    let mut last: Option<(u32, T)> = None;
    move |image, number| match last {
        Some((known, value)) if known == number => Ok(value),
        _ => {
            let label = ((number as usize) < image.labels.len()).then(|| image.labels.value(number as usize));
            let value = label.and_then(from_name).ok_or(ImageError::Damaged("a kind, a type or a state"))?;
            last = Some((number, value));
            Ok(value)
        }
    }
}

/// The parts of the file, one after the other.
struct Sections {
    file: BufReader<File>,
    /// Bytes that are left before the sum.
    left: u64,
}

impl Sections {
    /// Reads the file twice rather than to hold all of it beside what is made of it: first only to see whether it is whole.
    fn of(mut file: File) -> Result<Self, ImageError> {
        let (mut sum, mut piece) = (Hasher::new(), vec![0; PIECE]);
        let mut left = file.metadata()?.len().checked_sub(SUM).ok_or(ImageError::Damaged("it is too short"))?;
        let content = left;
        while left > 0 {
            let length = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
            file.read_exact(&mut piece[..length])?;
            sum.update(&piece[..length]);
            left -= length as u64;
        }
        let mut expected = [0; SUM as usize];
        file.read_exact(&mut expected)?;
        if sum.finalize() != u32::from_le_bytes(expected) {
            return Err(ImageError::Damaged("its sum"));
        }
        file.rewind()?;
        let mut file = BufReader::with_capacity(PIECE, file);
        let mut beginning = [0; MAGIC.len()];
        file.read_exact(&mut beginning)?;
        if beginning != *MAGIC {
            return Err(ImageError::Damaged("its beginning"));
        }
        let left = content.checked_sub(MAGIC.len() as u64).ok_or(ImageError::Damaged("its beginning"))?;
        Ok(Self { file, left })
    }

    fn next(&mut self) -> Result<RecordBatch, ImageError> {
        let missing = || ImageError::Damaged("a part is missing");
        let mut length = [0; 8];
        self.left = self.left.checked_sub(length.len() as u64).ok_or_else(missing)?;
        self.file.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        self.left = self.left.checked_sub(length).ok_or_else(missing)?;
        let mut section = self.file.by_ref().take(length);
        let batch =
            StreamReader::try_new(&mut section, None)?.next().ok_or(ImageError::Damaged("a part is empty"))??;
        io::copy(&mut section, &mut io::sink())?;
        Ok(batch)
    }
}

fn numbers_of<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<&'a PrimitiveArray<T>, ImageError> {
    batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<T>()).ok_or(ImageError::Damaged(name))
}

fn flags_of<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a BooleanArray, ImageError> {
    batch.column_by_name(name).and_then(|column| column.as_boolean_opt()).ok_or(ImageError::Damaged(name))
}

fn hashes_of<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a FixedSizeBinaryArray, ImageError> {
    batch.column_by_name(name).and_then(|column| column.as_fixed_size_binary_opt()).ok_or(ImageError::Damaged(name))
}

fn texts<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a LargeStringArray, ImageError> {
    batch.column_by_name(name).and_then(|column| column.as_string_opt::<i64>()).ok_or(ImageError::Damaged(name))
}
