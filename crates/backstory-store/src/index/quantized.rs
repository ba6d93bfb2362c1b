//! Quantized passages: terms and vector of every passage, for ranking. Looking up a few hundred of them in the table takes
//! longer than the rest of a search; in memory they would be most of what a server needs. So they are in a file without a
//! name, of which the system keeps in memory what is read often.

use std::{
    collections::HashMap,
    fs::File,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::Path,
    sync::Arc,
};

use arrow::array::RecordBatch;
use backstory_model::terms::{QueryTerms, TermId};

use super::{
    columns::{Columns, numbers, vector},
    error::IndexError,
    names::Names,
    schema::{CONTENT_HASH, DOCUMENT, ID, TERMS, VECTOR},
    scratch::{self, Scratch},
    types::{PassageId, StoredPassage},
};

/// Largest magnitude of a number of a quantized vector.
const LARGEST: f32 = 127.0;
/// Bytes before the vector and the terms of an encoded passage.
const HEADER: usize = 48;
/// Bytes of removed passages that may lie in the file before it is written again, if they are half of it.
const MOST_UNUSED: u64 = 64 << 20;

/// The quantized passages by document: some 700 bytes each, in a file.
#[derive(Debug)]
pub(super) struct QuantizedPassages {
    documents: HashMap<Arc<str>, Run>,
    names: Names,
    scratch: Scratch,
    /// Bytes of what was removed.
    unused: u64,
}

/// Where the passages of a document are.
#[derive(Clone, Copy, Debug)]
struct Run {
    at: u64,
    bytes: u32,
    passages: u32,
    /// A hash of the content hash of the text that they are of.
    text: u64,
}

/// The passages of documents, to be read.
pub(super) struct FoundPassages {
    file: Arc<File>,
    runs: Vec<(String, Run)>,
}

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
        let scratch = Scratch::new(directory).map_err(refused)?;
        Ok(Self { documents: HashMap::new(), names, scratch, unused: 0 })
    }

    /// Adds the passages of a batch, which has [`QUANTIZED_COLUMNS`]. Returns the documents that then have passages of
    /// different texts.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<Vec<String>, IndexError> {
        let columns = Columns(batch);
        let [ids, documents, texts] = [columns.text(ID)?, columns.text(DOCUMENT)?, columns.text(CONTENT_HASH)?];
        let (terms, vectors) = (columns.lists(TERMS)?, columns.vectors(VECTOR)?);
        let mut rows: HashMap<&str, Vec<usize>> = HashMap::new();
        for row in 0..batch.num_rows() {
            rows.entry(documents.value(row)).or_default().push(row);
        }
        let (mut bytes, mut runs, mut ambiguous) = (Vec::new(), Vec::new(), Vec::new());
        for (document, rows) in rows {
            let (start, text) = (bytes.len(), hash_of(texts.value(rows[0])));
            let mut is_ambiguous = rows.iter().any(|row| hash_of(texts.value(*row)) != text);
            let mut passages = rows.len();
            if let Some(known) = self.documents.get(document) {
                bytes.extend(read(self.scratch.file(), *known).map_err(refused)?);
                passages += known.passages as usize;
                is_ambiguous |= known.text != text;
            }
            for row in rows {
                let id = PassageId::of_hex(ids.value(row)).ok_or_else(|| IndexError::Store {
                    action: "read a passage",
                    reason: format!("'{}' is no id of a passage", ids.value(row)),
                })?;
                encode(id, &vector(vectors, row), &numbers(terms, row), &mut bytes);
            }
            let at = self.scratch.end() + start as u64;
            runs.push((document, Run { at, bytes: to_u32(bytes.len() - start), passages: to_u32(passages), text }));
            ambiguous.extend(is_ambiguous.then(|| document.to_owned()));
        }
        self.scratch.append(&bytes).map_err(refused)?;
        for (document, run) in runs {
            let before = self.documents.insert(self.names.of(document), run);
            self.unused += before.map_or(0, |before| u64::from(before.bytes));
        }
        Ok(ambiguous)
    }

    /// How many passages of a document there are.
    pub(super) fn count(&self, document: &str) -> u64 {
        self.documents.get(document).map_or(0, |run| u64::from(run.passages))
    }

    /// Whether a document has passages, and then whether they are of the text with this content hash.
    pub(super) fn are_of(&self, document: &str, content_hash: &str) -> Option<bool> {
        self.documents.get(document).map(|run| run.text == hash_of(content_hash))
    }

    /// The documents that have passages.
    pub(super) fn documents(&self) -> impl Iterator<Item = &str> {
        self.documents.keys().map(|document| &**document)
    }

    /// The passages of documents are gone: nothing of them is left in the file.
    pub(super) fn remove(&mut self, documents: &[&str]) -> Result<(), IndexError> {
        for document in documents {
            let Some(run) = self.documents.remove(*document) else { continue };
            self.unused += u64::from(run.bytes);
            self.scratch.erase(run.at, run.bytes as usize).map_err(refused)?;
        }
        if self.unused > MOST_UNUSED && self.unused > self.scratch.end() / 2 {
            self.compact().map_err(refused)?;
        }
        Ok(())
    }

    fn compact(&mut self) -> io::Result<()> {
        let mut scratch = self.scratch.another()?;
        for run in self.documents.values_mut() {
            let bytes = read(self.scratch.file(), *run)?;
            run.at = scratch.end();
            scratch.append(&bytes)?;
        }
        (self.scratch, self.unused) = (scratch, 0);
        Ok(())
    }

    /// The passages of documents, of those that have any.
    pub(super) fn find(&self, documents: &[&str]) -> FoundPassages {
        let found = documents.iter().filter_map(|of| Some(((*of).to_owned(), *self.documents.get(*of)?)));
        FoundPassages { file: self.scratch.file().clone(), runs: found.collect() }
    }
}

impl FoundPassages {
    /// How they stand to a query.
    pub(super) fn compare(self, vector: &[f32], terms: &QueryTerms) -> Result<Vec<StoredPassage>, IndexError> {
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        let vector: Vec<f32> = vector.iter().map(|number| number / length.max(f32::MIN_POSITIVE)).collect();
        let mut compared = Vec::new();
        for (document, run) in self.runs {
            let bytes = read(&self.file, run).map_err(refused)?;
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
        Ok(compared)
    }
}

impl QuantizedPassage<'_> {
    /// Cosine of the angle to a vector of length 1.
    fn cosine(&self, vector: &[f32]) -> f32 {
        let product = |(own, other): (&u8, &f32)| f32::from(i8::from_ne_bytes([*own])) * other;
        self.scale * self.vector.iter().zip(vector).map(product).sum::<f32>()
    }
}

fn refused(error: io::Error) -> IndexError {
    IndexError::store("keep passages for ranking")(error)
}

/// Numbers of passages, of their terms, and of their bytes.
fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn read(file: &File, run: Run) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; run.bytes as usize];
    scratch::read_at(file, run.at, &mut bytes)?;
    Ok(bytes)
}

/// Appends a passage: a header, its vector, its terms.
fn encode(id: PassageId, vector: &[f32], terms: &[TermId], to: &mut Vec<u8>) {
    let (vector, scale) = shortened(vector);
    let mut hasher = DefaultHasher::new();
    vector.hash(&mut hasher);
    #[expect(clippy::cast_possible_truncation, reason = "a part of a hash is one")]
    let order = hasher.finish() as u32;
    to.extend(id.0);
    to.extend(order.to_le_bytes());
    to.extend(scale.to_le_bytes());
    [vector.len(), terms.len()].into_iter().for_each(|count| to.extend(to_u32(count).to_le_bytes()));
    to.extend(vector.iter().map(|number| number.to_le_bytes()[0]));
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
    use super::*;

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
