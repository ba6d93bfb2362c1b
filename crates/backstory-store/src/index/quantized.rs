//! Quantized passages: terms and vector of every passage, for ranking. Looking up a few hundred of them in the table takes
//! longer than the rest of a search; in memory they would be most of what a server needs. So they are in a file without a
//! name, of which the system keeps in memory what is read often.

use std::{fs::File, path::Path, sync::Arc};

use arrow::array::RecordBatch;
use backstory_model::terms::{QueryTerms, TermId};

use super::{
    columns::{Columns, numbers, vector},
    error::IndexError,
    image::{Image, ImageError, ImageRun, ImageWriter},
    maps::{Map, stable_hash},
    names::Names,
    numbered::Name,
    schema::{CONTENT_HASH, DOCUMENT, ID, TERMS, VECTOR},
    scratch::{self, Scratch},
    types::{PassageId, StoredPassage},
};

/// Largest magnitude of a number of a quantized vector.
const LARGEST: f32 = 127.0;
/// Bytes before the vector and the terms of an encoded passage.
const HEADER: usize = 48;
/// What fails if the file cannot be written.
const KEEPING: &str = "keep quantized passages";
/// Bytes that removed passages may leave in the file until it is written again, if they are half of it.
const MAX_UNUSED_BYTES: u64 = 64 << 20;

/// The quantized passages by document: some 700 bytes each, in a file.
#[derive(Debug)]
pub(super) struct QuantizedPassages {
    documents: Map<Name, Run>,
    names: Names,
    scratch: Scratch,
    /// Bytes of what was removed.
    unused: u64,
}

/// Where the passages of a document are.
#[derive(Clone, Copy, Debug)]
struct Run {
    offset: u64,
    bytes: u32,
    passages: u32,
    /// A hash of the content hash of the text that they are of.
    text_hash: u64,
}

/// The passages of documents, to be read.
pub(super) struct FoundPassages {
    file: Arc<File>,
    runs: Vec<(String, Run)>,
}

/// The passages of documents as they are in the file.
pub(super) struct ReadPassages(Vec<(String, Vec<u8>)>);

/// What is copied to another file, without what was removed.
pub(super) struct Compaction {
    from: Arc<File>,
    to: Scratch,
    runs: Vec<(Name, Run)>,
}

/// The other file, and where the passages of each document are there.
pub(super) struct Compacted(Scratch, Vec<(Name, Run)>);

/// A passage: eight bits for each number of its vector, which is right to about 0.001 of a cosine, and its terms.
struct QuantizedPassage<'a> {
    id: PassageId,
    /// A hash of the vector.
    order: u32,
    /// What makes the product with a vector of length 1 a cosine.
    scale: f32,
    /// Numbers with a sign, one a byte.
    vector: &'a [u8],
    terms: Vec<TermId>,
}

/// Columns that quantized passages are made of.
pub(super) const QUANTIZED_COLUMNS: [&str; 5] = [ID, DOCUMENT, CONTENT_HASH, TERMS, VECTOR];

impl QuantizedPassages {
    /// None yet. The file is made in this directory.
    pub(super) fn new(directory: &Path, names: Names) -> Result<Self, IndexError> {
        let scratch = Scratch::new(directory).map_err(IndexError::store(KEEPING))?;
        Ok(Self { documents: Map::default(), names, scratch, unused: 0 })
    }

    /// Those of an image.
    pub(super) fn restore(image: &Image, names: Names) -> Result<Self, ImageError> {
        let (path, end) = image.passages();
        let scratch = Scratch::of_file(path, end)?;
        let mut documents = Map::with_capacity_and_hasher(image.run_count(), ahash::RandomState::default());
        for run in image.runs()? {
            let ImageRun { document, offset, bytes, passages, text_hash } = run?;
            documents.insert(document, Run { offset, bytes, passages, text_hash });
        }
        Ok(Self { documents, names, scratch, unused: image.unused()? })
    }

    /// Adds to an image where they are. Returns the file with their bytes, and how many of these there are.
    pub(super) fn save(&self, image: &mut ImageWriter) -> (Arc<File>, u64) {
        for (document, Run { offset, bytes, passages, text_hash }) in &self.documents {
            let (document, offset, bytes, passages) = (*document, *offset, *bytes, *passages);
            image.add_run(&ImageRun { document, offset, bytes, passages, text_hash: *text_hash });
        }
        image.set_unused(self.unused);
        (self.scratch.file().clone(), self.scratch.end())
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
                bytes.extend(read(self.scratch.file(), known)?);
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
            runs.push((document, Run { offset, bytes, passages, text_hash }));
            ambiguous.extend(is_ambiguous.then(|| document.to_owned()));
        }
        self.scratch.append(&bytes).map_err(IndexError::store(KEEPING))?;
        for (document, run) in runs {
            if let Some(before) = self.documents.insert(self.names.intern(document), run) {
                self.erase(before)?;
            }
        }
        Ok(ambiguous)
    }

    fn run(&self, document: &str) -> Option<Run> {
        self.documents.get(&self.names.find(document)?).copied()
    }

    /// How many passages of a document there are.
    pub(super) fn count(&self, document: &str) -> u64 {
        self.run(document).map_or(0, |run| u64::from(run.passages))
    }

    /// Whether a document has passages, and then whether they are of the text with this content hash.
    pub(super) fn are_of(&self, document: &str, content_hash: &str) -> Option<bool> {
        self.run(document).map(|run| run.text_hash == stable_hash(content_hash.as_bytes()))
    }

    /// The documents that have passages.
    pub(super) fn documents(&self) -> impl Iterator<Item = Name> {
        self.documents.keys().copied()
    }

    /// The passages of documents are gone: nothing of them is left in the file.
    pub(super) fn remove(&mut self, documents: &[&str]) -> Result<(), IndexError> {
        for document in documents {
            if let Some(run) = self.names.find(document).and_then(|document| self.documents.remove(&document)) {
                self.erase(run)?;
            }
        }
        Ok(())
    }

    fn erase(&mut self, run: Run) -> Result<(), IndexError> {
        self.unused += u64::from(run.bytes);
        self.scratch.erase(run.offset, run.bytes as usize).map_err(IndexError::store(KEEPING))
    }

    /// A copy without what was removed, if that is worth it. Nothing may be added or removed until it
    /// [ends](Self::end_compaction).
    pub(super) fn begin_compaction(&self) -> Option<Compaction> {
        let is_worth_it = self.unused > MAX_UNUSED_BYTES && self.unused > self.scratch.end() / 2;
        if !is_worth_it && !self.scratch.is_in_memory() {
            return None;
        }
        let runs = self.documents.iter().map(|(document, run)| (*document, *run));
        Some(Compaction { from: self.scratch.file().clone(), to: self.scratch.another().ok()?, runs: runs.collect() })
    }

    /// Uses a copy instead of what it was made from.
    pub(super) fn end_compaction(&mut self, Compacted(scratch, runs): Compacted) {
        self.documents = runs.into_iter().collect();
        (self.scratch, self.unused) = (scratch, 0);
    }

    /// The passages of documents, of those that have any.
    pub(super) fn find(&self, documents: &[&str]) -> FoundPassages {
        let found = documents.iter().filter_map(|of| Some(((*of).to_owned(), self.run(of)?)));
        FoundPassages { file: self.scratch.file().clone(), runs: found.collect() }
    }
}

impl Compaction {
    /// Copies. Blocks.
    pub(super) fn run(mut self) -> Result<Compacted, IndexError> {
        self.runs.sort_unstable_by_key(|(_, run)| run.offset);
        for (_, run) in &mut self.runs {
            let bytes = read(&self.from, *run)?;
            run.offset = self.to.end();
            self.to.append(&bytes).map_err(IndexError::store(KEEPING))?;
        }
        Ok(Compacted(self.to, self.runs))
    }
}

impl FoundPassages {
    /// Reads them. Blocks.
    pub(super) fn read(self) -> Result<ReadPassages, IndexError> {
        let passages = self.runs.into_iter().map(|(document, run)| Ok((document, read(&self.file, run)?)));
        Ok(ReadPassages(passages.collect::<Result<_, IndexError>>()?))
    }
}

impl ReadPassages {
    /// How they stand to a query.
    pub(super) fn compare(self, vector: &[f32], terms: &QueryTerms) -> Vec<StoredPassage> {
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        let vector: Vec<f32> = vector.iter().map(|number| number / length.max(f32::MIN_POSITIVE)).collect();
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

impl QuantizedPassage<'_> {
    /// Cosine of the angle to a vector of length 1.
    fn cosine(&self, vector: &[f32]) -> f32 {
        let product = |(own, other): (&u8, &f32)| f32::from(i8::from_ne_bytes([*own])) * other;
        self.scale * self.vector.iter().zip(vector).map(product).sum::<f32>()
    }
}

/// Numbers of passages, of their terms, and of their bytes.
fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn read(file: &File, run: Run) -> Result<Vec<u8>, IndexError> {
    let mut bytes = vec![0; run.bytes as usize];
    scratch::read_at(file, run.offset, &mut bytes).map_err(IndexError::store("read quantized passages"))?;
    Ok(bytes)
}

/// Appends a passage: a header, its vector, its terms.
fn encode(id: PassageId, vector: &[f32], terms: &[TermId], to: &mut Vec<u8>) {
    let (vector, scale) = shortened(vector);
    let vector: Vec<u8> = vector.iter().map(|number| number.to_le_bytes()[0]).collect();
    #[expect(clippy::cast_possible_truncation, reason = "a part of a hash is one")]
    let order = stable_hash(&vector) as u32;
    to.extend(id.0);
    to.extend(order.to_le_bytes());
    to.extend(scale.to_le_bytes());
    [vector.len(), terms.len()].into_iter().for_each(|count| to.extend(to_u32(count).to_le_bytes()));
    to.extend(vector);
    terms.iter().for_each(|term| to.extend(term.to_le_bytes()));
}

/// The next passage. None is left where the bytes were erased meanwhile.
fn decode<'a>(rest: &mut &'a [u8]) -> Option<QuantizedPassage<'a>> {
    let (header, after) = rest.split_at_checked(HEADER)?;
    let id: [u8; 32] = header[..32].try_into().ok()?;
    let [order, scale, numbers, terms] = std::array::from_fn(|at| {
        let start = 32 + 4 * at;
        [header[start], header[start + 1], header[start + 2], header[start + 3]]
    });
    let (vector, after) = after.split_at_checked(u32::from_le_bytes(numbers) as usize)?;
    let (terms, after) = after.split_at_checked(4 * u32::from_le_bytes(terms) as usize)?;
    *rest = after;
    let terms = terms.chunks_exact(4).map(|term| TermId::from_le_bytes([term[0], term[1], term[2], term[3]]));
    let (order, scale) = (u32::from_le_bytes(order), f32::from_le_bytes(scale));
    (id != [0; 32]).then(|| QuantizedPassage { id: PassageId(id), order, scale, vector, terms: terms.collect() })
}

/// A vector with eight bits a number, and what makes the product of that with a vector of length 1 a cosine.
fn shortened(vector: &[f32]) -> (Box<[i8]>, f32) {
    let largest = vector.iter().fold(0.0f32, |largest, number| largest.max(number.abs())).max(f32::MIN_POSITIVE);
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    #[expect(clippy::cast_possible_truncation, reason = "at most 127 in magnitude")]
    let numbers = vector.iter().map(|number| (number / largest * LARGEST).round() as i8).collect();
    (numbers, largest / LARGEST / length)
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
    fn passages_are_found_until_they_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let mut all = QuantizedPassages::new(directory.path(), Names::default()).unwrap();
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
        assert!(all.scratch.end() < written.len() as u64 / 2 + 1);
        assert_eq!(ids(all.find(&["b", "c"])), [of("b", &[2, 5]), of("c", &[6, 7])].concat());
        assert_eq!(ids(kept), of("b", &[2, 5]), "who has the file before can read it");
    }

    #[test]
    fn shortened_vectors_keep_their_direction() {
        let numbers = |seed: u32| -> Vec<f32> {
            (0..384u32).map(|at| ((at.wrapping_mul(2_654_435_761) ^ seed) % 2001) as f32 / 1000.0 - 1.0).collect()
        };
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        for seed in 1..50 {
            let (a, b) = (numbers(seed * 7919), numbers(seed * 104_729));
            let exact = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
            let mut bytes = Vec::new();
            encode(PassageId([1; 32]), &a, &[7, 9], &mut bytes);
            let mut rest = bytes.as_slice();
            let passage = decode(&mut rest).unwrap();
            assert_eq!((passage.terms.as_slice(), rest), ([7, 9].as_slice(), [].as_slice()));
            let length = dot(&b, &b).sqrt();
            let unit: Vec<f32> = b.iter().map(|number| number / length).collect();
            assert!((passage.cosine(&unit) - exact).abs() < 0.002, "{} {exact}", passage.cosine(&unit));
        }
        assert_eq!(shortened(&[0.0, 0.0]).0.as_ref(), [0, 0]);
    }
}
