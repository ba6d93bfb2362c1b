//! Reads an image. It may have been cut short or changed, so nothing in it is taken for granted.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
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

use super::{
    super::{names::Names, rows::instant, types::DocumentFacts},
    ABSENT, FILE, HASH, ImageError, ImageGroup, ImageRun, MAGIC, Of,
};

/// A document: its id, its facts and a hash of what it says.
pub(in crate::index) type ImageDocument = (Arc<str>, DocumentFacts, [u8; HASH]);

/// An image as it was read.
pub(in crate::index) struct Image {
    names: Vec<Arc<str>>,
    documents: RecordBatch,
    groups: RecordBatch,
    counts: RecordBatch,
    runs: RecordBatch,
    pending: RecordBatch,
    places: [[RecordBatch; 2]; 2],
    /// The file with the passages, and how much of it is theirs.
    passages: (PathBuf, u64),
}

impl Image {
    /// Reads the image of a directory if it has this key; `None` if there is none. Blocks.
    ///
    /// # Errors
    /// It cannot be read, or is of another state.
    pub(in crate::index) fn read(dir: &Path, key: &str, names: &Names) -> Result<Option<Self>, ImageError> {
        let bytes = match fs::read(dir.join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let mut sections = Sections::of(&bytes)?;
        let header = sections.next()?;
        let header = texts(&header, "header")?;
        if header.len() != 3 || header.value(0) != key {
            return Err(ImageError::Outdated);
        }
        let length = header.value(2).parse().map_err(|_| ImageError::Damaged("the length of the passages"))?;
        let path = dir.join(header.value(1));
        if fs::metadata(&path)?.len() != length {
            return Err(ImageError::Damaged("the length of the passages"));
        }
        let written = sections.next()?;
        let written = texts(&written, "name")?;
        let names = names.intern_all((0..written.len()).map(|row| written.value(row)));
        Ok(Some(Self {
            names,
            documents: sections.next()?,
            groups: sections.next()?,
            counts: sections.next()?,
            runs: sections.next()?,
            pending: sections.next()?,
            places: [[sections.next()?, sections.next()?], [sections.next()?, sections.next()?]],
            passages: (path, length),
        }))
    }

    /// How many documents there are.
    pub(in crate::index) fn document_count(&self) -> usize {
        self.documents.num_rows()
    }

    fn name(&self, number: u32) -> Result<&Arc<str>, ImageError> {
        self.names.get(number as usize).ok_or(ImageError::Damaged("the number of a name"))
    }

    fn optional_name(&self, number: u32) -> Result<Option<&Arc<str>>, ImageError> {
        if number == ABSENT { Ok(None) } else { self.name(number).map(Some) }
    }

    /// The documents, each with its id and a hash of what it says.
    pub(in crate::index) fn documents(
        &self,
    ) -> Result<impl Iterator<Item = Result<ImageDocument, ImageError>>, ImageError> {
        let of = &self.documents;
        let column = |name| numbers_of::<UInt32Type>(of, name);
        let (ids, threads, kinds, projects) = (column("id")?, column("thread")?, column("kind")?, column("project")?);
        let (authors, states, paths, types) = (column("author")?, column("state")?, column("paths")?, column("type")?);
        let (created, importance) =
            (numbers_of::<Int64Type>(of, "created")?, numbers_of::<Float32Type>(of, "importance")?);
        let confidential = flags_of(of, "confidential")?;
        let said = hashes_of(of, "said")?;
        let labels = of.column_by_name("labels").and_then(|column| column.as_list_opt::<i32>());
        let labels = labels.ok_or(ImageError::Damaged("the labels"))?;
        let (of_labels, offsets) = (labels.values().as_primitive_opt::<UInt32Type>(), labels.offsets());
        let of_labels = of_labels.ok_or(ImageError::Damaged("the labels"))?;
        Ok((0..of.num_rows()).map(move |row| {
            let kind = DocumentKind::from_name(self.name(kinds.value(row))?);
            let document_type = DocumentType::from_name(self.name(types.value(row))?);
            let state = self.optional_name(states.value(row))?.map(|name| State::from_name(name));
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            let labels = of_labels.values()[range].iter().map(|number| self.name(*number).cloned());
            let facts = DocumentFacts {
                thread: self.name(threads.value(row))?.clone(),
                kind: kind.ok_or(ImageError::Damaged("a kind"))?,
                project: self.name(projects.value(row))?.clone(),
                author: self.optional_name(authors.value(row))?.cloned(),
                labels: labels.collect::<Result<_, _>>()?,
                state: match state {
                    Some(None) => return Err(ImageError::Damaged("a state")),
                    known => known.flatten(),
                },
                created_at: instant(created.value(row)).map_err(|_| ImageError::Damaged("a time"))?,
                importance: importance.value(row),
                confidential: confidential.value(row),
                paths: self.name(paths.value(row))?.clone(),
                document_type: document_type.ok_or(ImageError::Damaged("a type of document"))?,
            };
            let said = said.value(row).try_into().map_err(|_| ImageError::Damaged("a hash"))?;
            Ok((self.name(ids.value(row))?.clone(), facts, said))
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
                project: self.name(projects.value(row))?.clone(),
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

    /// Where the passages of each document are.
    pub(in crate::index) fn runs(&self) -> Result<impl Iterator<Item = Result<ImageRun, ImageError>>, ImageError> {
        let of = &self.runs;
        let column = |name| numbers_of::<UInt32Type>(of, name);
        let (documents, bytes, passages) = (column("document")?, column("bytes")?, column("passages")?);
        let (offsets, hashes) = (numbers_of::<UInt64Type>(of, "offset")?, numbers_of::<UInt64Type>(of, "text_hash")?);
        Ok((0..of.num_rows()).map(move |row| {
            let (offset, bytes) = (offsets.value(row), bytes.value(row));
            if offset.checked_add(u64::from(bytes)).is_none_or(|end| end > self.passages.1) {
                return Err(ImageError::Damaged("the place of a passage"));
            }
            Ok(ImageRun {
                document: self.name(documents.value(row))?.clone(),
                offset,
                bytes,
                passages: passages.value(row),
                text_hash: hashes.value(row),
            })
        }))
    }

    /// How many bytes of the passages are of no use.
    pub(in crate::index) fn unused(&self) -> Result<u64, ImageError> {
        Ok(numbers_of::<UInt64Type>(&self.runs, "unused")?.values().first().copied().unwrap_or_default())
    }

    /// The file with the passages, and how much of it is theirs.
    pub(in crate::index) fn passages(&self) -> (&Path, u64) {
        (&self.passages.0, self.passages.1)
    }

    /// The documents without vectors, with the hashes of their texts.
    pub(in crate::index) fn pending(
        &self,
    ) -> Result<impl Iterator<Item = Result<(&Arc<str>, &str), ImageError>>, ImageError> {
        let documents = numbers_of::<UInt32Type>(&self.pending, "document")?;
        let hashes = texts(&self.pending, "content_hash")?;
        let rows = 0..self.pending.num_rows();
        Ok(rows.map(move |row| Ok((self.name(documents.value(row))?, hashes.value(row)))))
    }

    /// The document of each row of a table.
    pub(in crate::index) fn places(
        &self,
        of: Of,
    ) -> Result<impl Iterator<Item = Result<(u64, Arc<str>), ImageError>>, ImageError> {
        let places = &self.places[of as usize][0];
        let addresses = numbers_of::<UInt64Type>(places, "address")?;
        let documents = numbers_of::<UInt32Type>(places, "document")?;
        let rows = 0..places.num_rows();
        Ok(rows.map(move |row| Ok((addresses.value(row), self.name(documents.value(row))?.clone()))))
    }

    /// The address of each row of a table, by a hash of its id.
    pub(in crate::index) fn rows(&self, of: Of) -> Result<impl Iterator<Item = (u64, u64)>, ImageError> {
        let rows = &self.places[of as usize][1];
        let (hashes, addresses) = (numbers_of::<UInt64Type>(rows, "hash")?, numbers_of::<UInt64Type>(rows, "address")?);
        Ok((0..rows.num_rows()).map(move |row| (hashes.value(row), addresses.value(row))))
    }
}

/// The parts of the file, one after the other.
struct Sections<'a>(&'a [u8]);

impl<'a> Sections<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, ImageError> {
        let (content, sum) = bytes.split_last_chunk::<4>().ok_or(ImageError::Damaged("it is too short"))?;
        if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
            return Err(ImageError::Damaged("its sum"));
        }
        content.strip_prefix(MAGIC).map(Self).ok_or(ImageError::Damaged("its beginning"))
    }

    fn next(&mut self) -> Result<RecordBatch, ImageError> {
        let (length, rest) = self.0.split_first_chunk::<8>().ok_or(ImageError::Damaged("a part is missing"))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (section, rest) = rest.split_at_checked(length).ok_or(ImageError::Damaged("a part is missing"))?;
        self.0 = rest;
        let mut batches = StreamReader::try_new(section, None)?;
        Ok(batches.next().ok_or(ImageError::Damaged("a part is empty"))??)
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
