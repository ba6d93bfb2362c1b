//! Makes an image and writes it.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    sync::Arc,
};

use arrow::{
    array::{
        ArrayRef, BooleanArray, FixedSizeBinaryArray, Float32Array, Int64Array, LargeStringArray, LargeStringBuilder,
        RecordBatch, UInt32Array, UInt64Array,
    },
    error::ArrowError,
    ipc::writer::StreamWriter,
};
use backstory_model::{digest::SetDigest, terms::TermId};

use super::{
    super::{
        numbered::{HASH, NO_NAME, Name, NumberedDocument},
        scratch,
    },
    FILE, IMAGE, ImagePart, ImageRun, MAGIC, Of, RANKING_FILE, remove,
};

/// How many times as much room as an image takes the disk must have: others need some.
const ROOM: u64 = 4;
/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;

/// What an image is made of.
#[derive(Default)]
pub(in crate::index) struct ImageWriter {
    names: LargeStringBuilder,
    /// What kinds, types and states are called.
    words: Vec<&'static str>,
    documents: Documents,
    groups: Vec<(u32, bool, u64)>,
    digests: Vec<u8>,
    counts: Counts,
    words_of: Parts,
    runs: Runs,
    pending: Pending,
    /// Those of documents, and those of passages.
    places: [PlaceColumns; 2],
}

#[derive(Default)]
struct Documents {
    ids: Vec<u32>,
    threads: Vec<u32>,
    kinds: Vec<u32>,
    projects: Vec<u32>,
    authors: Vec<u32>,
    labels: Vec<u32>,
    states: Vec<u32>,
    created: Vec<i64>,
    importance: Vec<f32>,
    confidential: Vec<bool>,
    paths: Vec<u32>,
    types: Vec<u32>,
    said: Vec<u8>,
}

/// How often terms occur in the documents of groups.
#[derive(Default)]
struct Counts {
    groups: Vec<u32>,
    of_full_text: Vec<bool>,
    terms: Vec<TermId>,
    counts: Vec<u32>,
}

#[derive(Default)]
struct Parts {
    documents: Vec<u32>,
    offsets: Vec<u64>,
    bytes: Vec<u32>,
}

#[derive(Default)]
struct Runs {
    parts: Parts,
    passages: Vec<u32>,
    text_hashes: Vec<u64>,
    unused: u64,
}

#[derive(Default)]
struct Pending {
    documents: Vec<u32>,
    content_hashes: LargeStringBuilder,
}

#[derive(Default)]
struct PlaceColumns {
    addresses: Vec<u64>,
    documents: Vec<u32>,
    row_hashes: Vec<u32>,
    row_addresses: Vec<u64>,
}

impl ImageWriter {
    fn word(&mut self, word: &'static str) -> u32 {
        let at = self.words.iter().position(|known| *known == word).unwrap_or_else(|| {
            self.words.push(word);
            self.words.len() - 1
        });
        u32::try_from(at).unwrap_or(NO_NAME)
    }

    /// Adds a document.
    pub(in crate::index) fn add_document(&mut self, document: &NumberedDocument) {
        let (kind, document_type) = (self.word(document.kind.as_str()), self.word(document.document_type.as_str()));
        let state = document.state.map_or(NO_NAME, |state| self.word(state.as_str()));
        let columns = &mut self.documents;
        columns.ids.push(document.id);
        columns.threads.push(document.thread);
        columns.kinds.push(kind);
        columns.projects.push(document.project);
        columns.authors.push(document.author);
        columns.labels.push(document.labels);
        columns.states.push(state);
        columns.created.push(document.created_at);
        columns.importance.push(document.importance);
        columns.confidential.push(document.confidential);
        columns.paths.push(document.paths);
        columns.types.push(document_type);
        columns.said.extend(document.said);
    }

    /// Adds a group; returns its number.
    pub(in crate::index) fn add_group(
        &mut self,
        (project, confidential): (Name, bool),
        words: u64,
        digest: &SetDigest,
    ) -> u32 {
        self.groups.push((project, confidential, words));
        self.digests.extend(digest.to_bytes());
        u32::try_from(self.groups.len() - 1).unwrap_or(NO_NAME)
    }

    /// Adds in how many documents of a group a term or, of full-text search, a word occurs.
    pub(in crate::index) fn add_count(&mut self, group: u32, of_full_text: bool, term: TermId, count: u32) {
        self.counts.groups.push(group);
        self.counts.of_full_text.push(of_full_text);
        self.counts.terms.push(term);
        self.counts.counts.push(count);
    }

    /// Adds where the words of a document are.
    pub(in crate::index) fn add_words(&mut self, part: &ImagePart) {
        self.words_of.push(part);
    }

    /// Adds where the passages of a document are.
    pub(in crate::index) fn add_run(&mut self, run: &ImageRun) {
        self.runs.parts.push(&run.part);
        self.runs.passages.push(run.passages);
        self.runs.text_hashes.push(run.text_hash);
    }

    /// Says how many bytes of what ranking reads are of no use.
    pub(in crate::index) fn set_unused(&mut self, bytes: u64) {
        self.runs.unused = bytes;
    }

    /// Adds a document without vectors.
    pub(in crate::index) fn add_pending(&mut self, document: Name, content_hash: &str) {
        self.pending.documents.push(document);
        self.pending.content_hashes.append_value(content_hash);
    }

    /// Adds the document of a row.
    pub(in crate::index) fn add_place(&mut self, of: Of, address: u64, document: Name) {
        let columns = &mut self.places[of as usize];
        columns.addresses.push(address);
        columns.documents.push(document);
    }

    /// Adds the address of a row by a hash of its id. They come in the order of these.
    pub(in crate::index) fn add_row(&mut self, of: Of, hash: u32, address: u64) {
        let columns = &mut self.places[of as usize];
        columns.row_hashes.push(hash);
        columns.row_addresses.push(address);
    }

    /// Writes the image with so many bytes of what ranking reads, in place of any other. Nothing is left if that fails. Blocks.
    pub(in crate::index) fn write(self, dir: &Path, key: &str, ranking: (&File, u64)) -> io::Result<()> {
        remove(dir)?;
        self.write_files(dir, key, ranking).inspect_err(|_| drop(remove(dir)))
    }

    fn write_files(self, dir: &Path, key: &str, (ranking, length): (&File, u64)) -> io::Result<()> {
        let name = format!("{RANKING_FILE}{:016x}", fastrand::u64(..));
        let bytes = self.encode(&[key, &name, &length.to_string()]).map_err(io::Error::other)?;
        let disk = rustix::fs::statvfs(dir)?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) / ROOM < length + bytes.len() as u64 {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the disk has little room"));
        }
        copy(ranking, length, &dir.join(&name))?;
        // A reader of this file finds the other one complete.
        let mut file = tempfile::Builder::new().prefix(IMAGE).tempfile_in(dir)?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        file.persist(dir.join(FILE)).map_err(|error| error.error)?;
        File::open(dir)?.sync_all()
    }

    /// Takes in the names of all that was added, of which `text` gives those of numbers in memory. In the image they have
    /// numbers from 0.
    pub(in crate::index) fn add_names<'a>(&mut self, text: impl Fn(Name) -> &'a str) {
        let mut numbers: Vec<u32> = Vec::new();
        let mut next = 0;
        let [of_documents, of_passages] = &mut self.places;
        let documents = &mut self.documents;
        let columns = [
            &mut documents.ids,
            &mut documents.threads,
            &mut documents.projects,
            &mut documents.authors,
            &mut documents.labels,
            &mut documents.paths,
            &mut self.words_of.documents,
            &mut self.runs.parts.documents,
            &mut self.pending.documents,
            &mut of_documents.documents,
            &mut of_passages.documents,
        ];
        let of_groups = self.groups.iter_mut().map(|(project, ..)| project);
        for name in columns.into_iter().flatten().chain(of_groups).filter(|name| **name != NO_NAME) {
            let at = *name as usize;
            if numbers.len() <= at {
                numbers.resize(at + 1, NO_NAME);
            }
            if numbers[at] == NO_NAME {
                self.names.append_value(text(*name));
                numbers[at] = next;
                next += 1;
            }
            *name = numbers[at];
        }
    }

    fn encode(mut self, header: &[&str]) -> Result<Vec<u8>, ArrowError> {
        let names: ArrayRef = Arc::new(self.names.finish());
        let words: ArrayRef = Arc::new(LargeStringArray::from(std::mem::take(&mut self.words)));
        let of_groups: Vec<(u32, bool, u64)> = std::mem::take(&mut self.groups);
        let groups = batch(vec![
            ("project", numbers(of_groups.iter().map(|group| group.0).collect())),
            ("confidential", flags(of_groups.iter().map(|group| group.1).collect())),
            ("words", longs(of_groups.iter().map(|group| group.2).collect())),
            ("digest", hashes(self.digests, SetDigest::BYTES)?),
        ])?;
        let Counts { groups: of, of_full_text, terms, counts } = self.counts;
        let counts = batch(vec![
            ("group", numbers(of)),
            ("of_full_text", flags(of_full_text)),
            ("term", numbers(terms)),
            ("count", numbers(counts)),
        ])?;
        let words_of = batch(self.words_of.columns())?;
        let Runs { parts, passages, text_hashes, unused } = self.runs;
        let mut columns = parts.columns();
        columns.extend([("passages", numbers(passages)), ("text_hash", longs(text_hashes))]);
        let runs = batch(columns)?;
        let unused = batch(vec![("unused", longs(vec![unused]))])?;
        let Pending { documents, mut content_hashes } = self.pending;
        let content_hashes: ArrayRef = Arc::new(content_hashes.finish());
        let pending = batch(vec![("document", numbers(documents)), ("content_hash", content_hashes)])?;
        let header: ArrayRef = Arc::new(LargeStringArray::from(header.to_vec()));
        let mut batches =
            vec![batch(vec![("header", header)])?, batch(vec![("name", names)])?, batch(vec![("word", words)])?];
        batches.extend([self.documents.batch()?, groups, counts, words_of, runs, unused, pending]);
        for PlaceColumns { addresses, documents, row_hashes, row_addresses } in self.places {
            batches.push(batch(vec![("address", longs(addresses)), ("document", numbers(documents))])?);
            batches.push(batch(vec![("hash", numbers(row_hashes)), ("address", longs(row_addresses))])?);
        }
        let mut bytes = MAGIC.to_vec();
        for batch in batches {
            let mut section = StreamWriter::try_new(Vec::new(), &batch.schema())?;
            section.write(&batch)?;
            let section = section.into_inner()?;
            bytes.extend((section.len() as u64).to_le_bytes());
            bytes.extend(section);
        }
        let sum = crc32fast::hash(&bytes);
        bytes.extend(sum.to_le_bytes());
        Ok(bytes)
    }
}

impl Parts {
    fn push(&mut self, part: &ImagePart) {
        self.documents.push(part.document);
        self.offsets.push(part.offset);
        self.bytes.push(part.bytes);
    }

    fn columns(self) -> Vec<(&'static str, ArrayRef)> {
        vec![("document", numbers(self.documents)), ("offset", longs(self.offsets)), ("bytes", numbers(self.bytes))]
    }
}

impl Documents {
    fn batch(self) -> Result<RecordBatch, ArrowError> {
        let created: ArrayRef = Arc::new(Int64Array::from(self.created));
        let importance: ArrayRef = Arc::new(Float32Array::from(self.importance));
        batch(vec![
            ("id", numbers(self.ids)),
            ("thread", numbers(self.threads)),
            ("kind", numbers(self.kinds)),
            ("project", numbers(self.projects)),
            ("author", numbers(self.authors)),
            ("labels", numbers(self.labels)),
            ("state", numbers(self.states)),
            ("created", created),
            ("importance", importance),
            ("confidential", flags(self.confidential)),
            ("paths", numbers(self.paths)),
            ("type", numbers(self.types)),
            ("said", hashes(self.said, HASH)?),
        ])
    }
}

fn batch(columns: Vec<(&'static str, ArrayRef)>) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter(columns)
}

fn numbers(values: Vec<u32>) -> ArrayRef {
    Arc::new(UInt32Array::from(values))
}

fn longs(values: Vec<u64>) -> ArrayRef {
    Arc::new(UInt64Array::from(values))
}

fn flags(values: Vec<bool>) -> ArrayRef {
    Arc::new(BooleanArray::from(values))
}

fn hashes(bytes: Vec<u8>, length: usize) -> Result<ArrayRef, ArrowError> {
    let length = i32::try_from(length).unwrap_or(i32::MAX);
    Ok(Arc::new(FixedSizeBinaryArray::try_new(length, bytes.into(), None)?))
}

/// Copies the first bytes of a file to another one, and sees to it that they are on the disk.
fn copy(from: &File, length: u64, to: &Path) -> io::Result<()> {
    let mut to = File::create_new(to)?;
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < length {
        let part = usize::try_from(length - at).map_or(PIECE, |left| left.min(PIECE));
        scratch::read_at(from, at, &mut piece[..part])?;
        to.write_all(&piece[..part])?;
        at += part as u64;
    }
    to.sync_all()
}
