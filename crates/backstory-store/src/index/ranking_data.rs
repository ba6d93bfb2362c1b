//! What ranking reads of documents that were found: how often words occur in them, and terms and vectors of their passages.
//! Looking up a few hundred in the tables takes longer than the rest of a search; in memory they would be most of what a
//! server needs. So they are in a file without a name, of which the system keeps in memory what is read often.

use std::{fs::File, path::Path, sync::Arc};

use arrow::array::RecordBatch;
use backstory_model::terms::{QueryTerms, TermId};

use super::{
    by_name::ByName,
    columns::{Columns, numbers, vector},
    error::IndexError,
    image::{Image, ImageError, ImagePart, ImageRun, ImageWriter},
    maps::{Map, stable_hash},
    names::Names,
    numbered::Name,
    quantized::{decode, encode, to_u32},
    schema::{CONTENT_HASH, DOCUMENT, ID, TERMS, VECTOR},
    scratch::{self, Scratch},
    types::{PassageId, StoredPassage, VectorHit},
    words::WordCounts,
};

/// What fails if the file cannot be written,
const KEEPING: &str = "keep what ranking reads";
/// or not be read.
const READING: &str = "read what ranking reads";
/// Bytes that what is removed may leave in the file until it is written again, if they are half of it.
const MAX_UNUSED_BYTES: u64 = 64 << 20;

/// Counted words and quantized passages by document: some 6 bytes a word and 700 a passage, in a file.
#[derive(Debug)]
pub(super) struct RankingData {
    words: ByName<Part>,
    passages: ByName<Run>,
    names: Names,
    scratch: Scratch,
    /// Bytes of what was removed.
    unused: u64,
}

/// A part of the file. Packed, as there are two for every document.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
struct Part {
    offset: u64,
    bytes: u32,
}

/// The passages of a document.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
struct Run {
    part: Part,
    passages: u32,
    /// A hash of the content hash of the text that they are of.
    text_hash: u64,
}

/// What was found of documents, to be read.
struct Found {
    file: Arc<File>,
    parts: Vec<(String, Part)>,
}

/// The words of documents, to be read.
pub(super) struct FoundWords(Found);

/// The passages of documents, to be read.
pub(super) struct FoundPassages(Found);

/// The passages of documents as they are in the file.
pub(super) struct ReadPassages(Vec<(String, Vec<u8>)>);

/// What is copied to another file, without what was removed.
pub(super) struct Compaction {
    from: Arc<File>,
    to: Scratch,
    words: Vec<(Name, Part)>,
    passages: Vec<(Name, Run)>,
}

/// The other file, and where words and passages of each document are there.
pub(super) struct Compacted {
    scratch: Scratch,
    words: ByName<Part>,
    passages: ByName<Run>,
}

/// Columns that quantized passages are made of.
pub(super) const QUANTIZED_COLUMNS: [&str; 5] = [ID, DOCUMENT, CONTENT_HASH, TERMS, VECTOR];

impl RankingData {
    /// None yet. The file is made in this directory.
    pub(super) fn new(directory: &Path, names: Names) -> Result<Self, IndexError> {
        let scratch = Scratch::new(directory).map_err(IndexError::store(KEEPING))?;
        Ok(Self { words: ByName::with_capacity(0), passages: ByName::with_capacity(0), names, scratch, unused: 0 })
    }

    /// Those of an image.
    pub(super) fn restore(image: &Image, names: Names) -> Result<Self, ImageError> {
        let (path, end) = image.ranking_data();
        let scratch = Scratch::of_file(path, end)?;
        let part = |of: ImagePart| Part { offset: of.offset, bytes: of.bytes };
        let mut words = ByName::with_capacity(image.document_count());
        for of in image.words()? {
            let of = of?;
            words.insert(of.document, part(of));
        }
        let mut runs = ByName::with_capacity(image.run_count());
        for run in image.runs()? {
            let ImageRun { part: of, passages, text_hash } = run?;
            runs.insert(of.document, Run { part: part(of), passages, text_hash });
        }
        Ok(Self { words, passages: runs, names, scratch, unused: image.unused()? })
    }

    /// Adds to an image where they are. Returns the file with their bytes, and how many of these there are.
    pub(super) fn save(&self, image: &mut ImageWriter) -> (Arc<File>, u64) {
        let image_part = |document, Part { offset, bytes }: Part| ImagePart { document, offset, bytes };
        self.words.iter().for_each(|(document, part)| image.add_words(&image_part(document, *part)));
        for (document, &Run { part, passages, text_hash }) in self.passages.iter() {
            image.add_run(&ImageRun { part: image_part(document, part), passages, text_hash });
        }
        image.set_unused(self.unused);
        (self.scratch.file().clone(), self.scratch.end())
    }

    /// Puts the words of documents in place of those that they had.
    pub(super) fn put_words<'a>(
        &mut self,
        documents: impl IntoIterator<Item = (&'a str, &'a [TermId], &'a [u32])>,
    ) -> Result<(), IndexError> {
        let (mut bytes, mut parts) = (Vec::new(), Vec::new());
        for (document, words, counts) in documents {
            let (start, name) = (bytes.len(), self.names.intern(document));
            encode_words(words, counts, &mut bytes);
            let part = Part { offset: self.scratch.end() + start as u64, bytes: to_u32(bytes.len() - start) };
            let known = self.words.get(name).filter(|known| known.bytes == part.bytes);
            // A search may be about to read what is the same.
            match known.map(|known| read(self.scratch.file(), *known)).transpose()? {
                Some(known) if known == bytes[start..] => bytes.truncate(start),
                _ => parts.push((name, part)),
            }
        }
        self.scratch.append(&bytes).map_err(IndexError::store(KEEPING))?;
        for (document, part) in parts {
            if let Some(before) = self.words.insert(document, part) {
                self.erase(before)?;
            }
        }
        Ok(())
    }

    /// Documents are gone: nothing of their words is left in the file.
    pub(super) fn remove_words(&mut self, documents: &[&str]) -> Result<(), IndexError> {
        for document in documents {
            if let Some(part) = self.names.find(document).and_then(|document| self.words.remove(document)) {
                self.erase(part)?;
            }
        }
        Ok(())
    }

    /// The words of documents, of those that there are.
    pub(super) fn find_words(&self, documents: &[&str]) -> FoundWords {
        FoundWords(self.found(documents, |document| self.words.get(document).copied()))
    }

    fn found(&self, documents: &[&str], part: impl Fn(Name) -> Option<Part>) -> Found {
        let found = documents.iter().filter_map(|of| Some(((*of).to_owned(), part(self.names.find(of)?)?)));
        Found { file: self.scratch.file().clone(), parts: found.collect() }
    }

    /// Adds the passages of a batch, which has [`QUANTIZED_COLUMNS`]. Returns the documents that then have passages of
    /// different texts.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<Vec<String>, IndexError> {
        let columns = Columns(batch);
        let [ids, documents, texts] = [columns.text(ID)?, columns.text(DOCUMENT)?, columns.text(CONTENT_HASH)?];
        let (terms, vectors) = (columns.lists(TERMS)?, columns.vectors(VECTOR)?);
        let mut rows: Map<&str, Vec<usize>> = Map::default();
        for row in 0..batch.num_rows() {
            rows.entry(documents.value(row)).or_default().push(row);
        }
        let (mut bytes, mut runs, mut ambiguous) = (Vec::new(), Vec::new(), Vec::new());
        for (document, rows) in rows {
            let (start, text_hash) = (bytes.len(), stable_hash(texts.value(rows[0]).as_bytes()));
            let mut is_ambiguous = rows.iter().any(|row| stable_hash(texts.value(*row).as_bytes()) != text_hash);
            let mut passages = rows.len();
            if let Some(known) = self.run(document) {
                bytes.extend(read(self.scratch.file(), known.part)?);
                passages += known.passages as usize;
                is_ambiguous |= known.text_hash != text_hash;
            }
            for row in rows {
                let id = PassageId::of_hex(ids.value(row)).ok_or_else(|| IndexError::Store {
                    action: "read a passage",
                    reason: format!("'{}' is not the id of a passage", ids.value(row)),
                })?;
                encode(id, &vector(vectors, row), numbers(terms, row), &mut bytes);
            }
            let offset = self.scratch.end() + start as u64;
            let (bytes, passages) = (to_u32(bytes.len() - start), to_u32(passages));
            runs.push((document, Run { part: Part { offset, bytes }, passages, text_hash }));
            ambiguous.extend(is_ambiguous.then(|| document.to_owned()));
        }
        self.scratch.append(&bytes).map_err(IndexError::store(KEEPING))?;
        for (document, run) in runs {
            if let Some(before) = self.passages.insert(self.names.intern(document), run) {
                self.erase(before.part)?;
            }
        }
        Ok(ambiguous)
    }

    fn run(&self, document: &str) -> Option<Run> {
        self.passages.get(self.names.find(document)?).copied()
    }

    /// How many passages of a document there are.
    pub(super) fn count(&self, document: &str) -> u64 {
        self.run(document).map_or(0, |run| u64::from(run.passages))
    }

    /// Whether a document has passages, and then whether they are of the text with this content hash.
    pub(super) fn are_of(&self, document: &str, content_hash: &str) -> Option<bool> {
        self.run(document).map(|run| run.text_hash == stable_hash(content_hash.as_bytes()))
    }

    /// The names of all documents that it has something of.
    pub(super) fn names(&self) -> impl Iterator<Item = Name> {
        self.documents().chain(self.words.iter().map(|(document, _)| document))
    }

    /// The documents that have passages.
    pub(super) fn documents(&self) -> impl Iterator<Item = Name> {
        self.passages.iter().map(|(document, _)| document)
    }

    /// The passages of documents are gone: nothing of them is left in the file.
    pub(super) fn remove(&mut self, documents: &[&str]) -> Result<(), IndexError> {
        for document in documents {
            if let Some(run) = self.names.find(document).and_then(|document| self.passages.remove(document)) {
                self.erase(run.part)?;
            }
        }
        Ok(())
    }

    fn erase(&mut self, part: Part) -> Result<(), IndexError> {
        let Part { offset, bytes } = part;
        self.unused += u64::from(bytes);
        self.scratch.erase(offset, bytes as usize).map_err(IndexError::store(KEEPING))
    }

    /// A copy without what was removed, if that is worth it. Nothing may be added or removed until it
    /// [ends](Self::end_compaction).
    pub(super) fn begin_compaction(&self) -> Option<Compaction> {
        let is_worth_it = self.unused > MAX_UNUSED_BYTES && self.unused > self.scratch.end() / 2;
        if !is_worth_it && !self.scratch.is_in_memory() {
            return None;
        }
        let words = self.words.iter().map(|(document, part)| (document, *part)).collect();
        let passages = self.passages.iter().map(|(document, run)| (document, *run)).collect();
        Some(Compaction { from: self.scratch.file().clone(), to: self.scratch.another().ok()?, words, passages })
    }

    /// Uses a copy instead of what it was made from.
    pub(super) fn end_compaction(&mut self, Compacted { scratch, words, passages }: Compacted) {
        (self.scratch, self.words, self.passages, self.unused) = (scratch, words, passages, 0);
    }

    /// The passages of documents, of those that have any.
    pub(super) fn find(&self, documents: &[&str]) -> FoundPassages {
        FoundPassages(self.found(documents, |document| self.passages.get(document).map(|run| run.part)))
    }
}

impl Compaction {
    /// Copies. Blocks.
    pub(super) fn run(mut self) -> Result<Compacted, IndexError> {
        self.words.sort_unstable_by_key(|(_, part)| part.offset);
        self.passages.sort_unstable_by_key(|(_, run)| run.part.offset);
        let mut copy = |part: Part| {
            let (bytes, offset) = (read(&self.from, part)?, self.to.end());
            self.to.append(&bytes).map_err(IndexError::store(KEEPING))?;
            Ok::<_, IndexError>(Part { offset, ..part })
        };
        for (_, part) in &mut self.words {
            *part = copy(*part)?;
        }
        for (_, run) in &mut self.passages {
            *run = Run { part: copy(run.part)?, ..*run };
        }
        let (words, passages) = (self.words.into_iter().collect(), self.passages.into_iter().collect());
        Ok(Compacted { scratch: self.to, words, passages })
    }
}

impl Found {
    fn read(self) -> impl Iterator<Item = Result<(String, Vec<u8>), IndexError>> {
        let Self { file, parts } = self;
        parts.into_iter().map(move |(document, part)| Ok((document, read(&file, part)?)))
    }
}

impl FoundWords {
    /// Reads them; of what was erased meanwhile there are none. Blocks.
    pub(super) fn read(self) -> impl Iterator<Item = Result<(String, WordCounts), IndexError>> {
        self.0.read().map(|found| found.map(|(document, bytes)| (document, decode_words(&bytes))))
    }
}

impl FoundPassages {
    /// Reads them. Blocks.
    pub(super) fn read(self) -> Result<ReadPassages, IndexError> {
        Ok(ReadPassages(self.0.read().collect::<Result<_, _>>()?))
    }
}

impl ReadPassages {
    /// How near the best passage of each document is, by cosine.
    pub(super) fn nearest(self, vector: &[f32]) -> Vec<VectorHit> {
        let vector = of_length_one(vector);
        let best = |(document, bytes): (String, Vec<u8>)| {
            let mut rest = bytes.as_slice();
            let passages = std::iter::from_fn(|| decode(&mut rest).map(|passage| passage.cosine(&vector)));
            passages.reduce(f32::max).map(|score| VectorHit { document, score })
        };
        self.0.into_iter().filter_map(best).collect()
    }

    /// How they stand to a query.
    pub(super) fn compare(self, vector: &[f32], terms: &QueryTerms) -> Vec<StoredPassage> {
        let vector = of_length_one(vector);
        let mut compared = Vec::new();
        for (document, bytes) in self.0 {
            let mut rest = bytes.as_slice();
            while let Some(passage) = decode(&mut rest) {
                compared.push(StoredPassage {
                    id: passage.id,
                    order: passage.order,
                    document: document.clone(),
                    similarity: passage.cosine(&vector),
                    found: terms.found_among(&passage.terms),
                });
            }
        }
        compared
    }
}

fn of_length_one(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.iter().map(|number| number / length.max(f32::MIN_POSITIVE)).collect()
}

fn read(file: &File, Part { offset, bytes }: Part) -> Result<Vec<u8>, IndexError> {
    let mut read = vec![0; bytes as usize];
    scratch::read_at(file, offset, &mut read).map_err(IndexError::store(READING))?;
    Ok(read)
}

/// Appends words in the order of their numbers, and how often each occurs: in six bytes, as more than 65,535 times changes no
/// score.
fn encode_words(words: &[TermId], counts: &[u32], to: &mut Vec<u8>) {
    for (word, count) in words.iter().zip(counts) {
        to.extend(word.to_le_bytes());
        to.extend(u16::try_from(*count).unwrap_or(u16::MAX).to_le_bytes());
    }
}

fn decode_words(bytes: &[u8]) -> WordCounts {
    let words = bytes.chunks_exact(6).filter(|word| word[4..] != [0, 0]);
    let of = |word: &[u8]| {
        let count = u16::from_le_bytes([word[4], word[5]]);
        (TermId::from_le_bytes([word[0], word[1], word[2], word[3]]), u32::from(count))
    };
    let (words, counts) = words.map(of).unzip();
    WordCounts { words, counts }
}

#[cfg(test)]
mod tests {
    use arrow::{
        array::{ArrayRef, FixedSizeListArray, ListArray, StringArray},
        datatypes::{Float32Type, UInt32Type},
    };

    use super::*;

    /// Passages of documents: number of the passage, document, content hash of its text.
    fn batch(passages: &[(u8, &str, &str)]) -> RecordBatch {
        let text = |value: fn(&(u8, &str, &str)) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(passages.iter().map(value)))
        };
        let terms = passages.iter().map(|(number, ..)| Some([Some(u32::from(*number))]));
        let vectors = passages.iter().map(|(number, ..)| Some([Some(1.0), Some(f32::from(*number))]));
        let columns: [(&str, ArrayRef); 5] = [
            (ID, text(|(number, ..)| format!("{number:02x}").repeat(32))),
            (DOCUMENT, text(|(_, document, _)| (*document).to_owned())),
            (CONTENT_HASH, text(|(.., hash)| (*hash).to_owned())),
            (TERMS, Arc::new(ListArray::from_iter_primitive::<UInt32Type, _, _>(terms))),
            (VECTOR, Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn ids(found: FoundPassages) -> Vec<(String, u8)> {
        let compared = found.read().unwrap().compare(&[1.0, 0.0], &QueryTerms::of(""));
        compared.into_iter().map(|passage| (passage.document, passage.id.0[0])).collect()
    }

    #[test]
    fn words_and_passages_are_found_until_they_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let mut all = RankingData::new(directory.path(), Names::default()).unwrap();
        let of_words = |all: &RankingData, documents: &[&str]| -> Vec<(String, WordCounts)> {
            all.find_words(documents).read().map(Result::unwrap).collect()
        };
        let counted = |words: &[TermId], counts: &[u32]| WordCounts { words: words.to_vec(), counts: counts.to_vec() };
        all.put_words([("a", [1, 2].as_slice(), [3, 70_000].as_slice()), ("b", &[9], &[1])]).unwrap();
        let before = all.find_words(&["a"]);
        all.put_words([("a", [5].as_slice(), [6].as_slice()), ("e", &[], &[])]).unwrap();
        assert_eq!(before.read().map(Result::unwrap).collect::<Vec<_>>(), [("a".to_owned(), WordCounts::default())]);
        let (same, end) = (all.find_words(&["a"]), all.scratch.end());
        all.put_words([("a", [5].as_slice(), [6].as_slice())]).unwrap();
        assert_eq!(same.read().map(Result::unwrap).collect::<Vec<_>>(), [("a".to_owned(), counted(&[5], &[6]))]);
        assert_eq!(all.scratch.end(), end, "what is the same is not written");
        all.put_words([("c", [1, 2].as_slice(), [3, 70_000].as_slice())]).unwrap();
        all.remove_words(&["b", "x"]).unwrap();
        let kept_words = vec![
            ("a".to_owned(), counted(&[5], &[6])),
            ("c".to_owned(), counted(&[1, 2], &[3, 65_535])),
            ("e".to_owned(), WordCounts::default()),
        ];
        assert_eq!(of_words(&all, &["a", "b", "c", "e", "x"]), kept_words);
        let of = |document: &str, numbers: &[u8]| -> Vec<(String, u8)> {
            numbers.iter().map(|number| (document.to_owned(), *number)).collect()
        };
        assert!(all.add(&batch(&[(1, "a", "x"), (2, "b", "y"), (3, "a", "x")])).unwrap().is_empty());
        assert!(all.add(&batch(&[(4, "a", "x")])).unwrap().is_empty());
        assert_eq!(all.add(&batch(&[(5, "b", "z")])).unwrap(), ["b"]);
        assert_eq!(all.add(&batch(&[(6, "c", "p"), (7, "c", "q")])).unwrap(), ["c"]);
        assert_eq!((all.count("a"), all.count("b"), all.count("d")), (3, 2, 0));
        assert_eq!((all.are_of("a", "x"), all.are_of("a", "y"), all.are_of("d", "x")), (Some(true), Some(false), None));
        assert_eq!(ids(all.find(&["a", "b", "d"])), [of("a", &[1, 3, 4]), of("b", &[2, 5])].concat());

        let (before, kept) = (all.find(&["a"]), all.find(&["b"]));
        all.remove(&["a", "d"]).unwrap();
        assert_eq!(ids(all.find(&["a", "c"])), of("c", &[6, 7]));
        assert_eq!(ids(before), [], "it was erased");
        let mut written = vec![0; usize::try_from(all.scratch.end()).unwrap()];
        scratch::read_at(all.scratch.file(), 0, &mut written).unwrap();
        assert!(!written.windows(32).any(|bytes| [1, 3, 4].iter().any(|number| bytes == [*number; 32])));

        assert!(all.begin_compaction().is_none());
        all.unused += MAX_UNUSED_BYTES;
        let compacted = all.begin_compaction().unwrap().run().unwrap();
        all.end_compaction(compacted);
        assert!(all.scratch.end() < written.len() as u64 * 2 / 3);
        assert_eq!(ids(all.find(&["b", "c"])), [of("b", &[2, 5]), of("c", &[6, 7])].concat());
        assert_eq!(ids(kept), of("b", &[2, 5]), "who has the file before can read it");
        assert_eq!(of_words(&all, &["a", "b", "c", "e", "x"]), kept_words);
    }
}
