//! Quantized passages in memory: terms and vector of every passage, for ranking. Looking up a few hundred of them in
//! the table takes longer than the rest of a search.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use arrow::array::RecordBatch;
use backstory_model::terms::{QueryTerms, TermId};

use super::{
    columns::{Columns, numbers, vector},
    error::IndexError,
    schema::{DOCUMENT, ID, TERMS, VECTOR},
    types::{PassageId, StoredPassage},
};

/// Largest magnitude of a number of a quantized vector.
const LARGEST: f32 = 127.0;

/// The quantized passages by document: some 700 bytes each.
#[derive(Debug, Default)]
pub(super) struct QuantizedPassages {
    documents: HashMap<Box<str>, Vec<QuantizedPassage>>,
}

/// A passage: eight bits for each number of its vector, which is right to about 0.001 of a cosine, and its terms.
#[derive(Debug)]
struct QuantizedPassage {
    id: PassageId,
    /// A hash of the vector.
    order: u32,
    vector: Box<[i8]>,
    /// What makes the product with a vector of length 1 a cosine.
    scale: f32,
    terms: Box<[TermId]>,
}

/// Columns that quantized passages are made of.
pub(super) const QUANTIZED_COLUMNS: [&str; 4] = [ID, DOCUMENT, TERMS, VECTOR];

impl QuantizedPassages {
    /// Adds the passages of a batch, which has [`QUANTIZED_COLUMNS`].
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<(), IndexError> {
        let columns = Columns(batch);
        let [ids, documents] = [columns.text(ID)?, columns.text(DOCUMENT)?];
        let (terms, vectors) = (columns.lists(TERMS)?, columns.vectors(VECTOR)?);
        for row in 0..batch.num_rows() {
            let (vector, scale) = shortened(&vector(vectors, row));
            let id = PassageId::of_hex(ids.value(row)).ok_or_else(|| IndexError::Store {
                action: "read a passage",
                reason: format!("'{}' is no id of a passage", ids.value(row)),
            })?;
            let (order, terms) = (order_of(&vector), numbers(terms, row).into());
            let passage = QuantizedPassage { id, order, vector, scale, terms };
            match self.documents.get_mut(documents.value(row)) {
                Some(known) => known.push(passage),
                None => {
                    self.documents.insert(documents.value(row).into(), vec![passage]);
                }
            }
        }
        Ok(())
    }

    /// How many passages of a document there are.
    pub(super) fn count(&self, document: &str) -> u64 {
        self.documents.get(document).map_or(0, |passages| passages.len() as u64)
    }

    /// The passages of documents are gone.
    pub(super) fn remove(&mut self, documents: &[&str]) {
        for document in documents {
            self.documents.remove(*document);
        }
    }

    /// How the passages of documents stand to a query, of those that have any.
    pub(super) fn compare(&self, vector: &[f32], terms: &QueryTerms, documents: &[&str]) -> Vec<StoredPassage> {
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        let vector: Vec<f32> = vector.iter().map(|number| number / length.max(f32::MIN_POSITIVE)).collect();
        let quantized = documents.iter().filter_map(|document| Some((*document, self.documents.get(*document)?)));
        let compared = quantized.flat_map(|(document, quantized)| {
            let vector = &vector;
            quantized.iter().map(move |passage| StoredPassage {
                id: passage.id,
                order: passage.order,
                document: document.to_owned(),
                similarity: passage.cosine(vector),
                found: terms.found_among(&passage.terms),
            })
        });
        compared.collect()
    }
}

impl QuantizedPassage {
    /// Cosine of the angle to a vector of length 1.
    fn cosine(&self, vector: &[f32]) -> f32 {
        self.scale * self.vector.iter().zip(vector).map(|(own, other)| f32::from(*own) * other).sum::<f32>()
    }
}

fn order_of(vector: &[i8]) -> u32 {
    let mut hasher = DefaultHasher::new();
    vector.hash(&mut hasher);
    #[expect(clippy::cast_possible_truncation, reason = "a part of a hash is one")]
    let order = hasher.finish() as u32;
    order
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
            let (vector, scale) = shortened(&a);
            let passage = QuantizedPassage { id: PassageId([0; 32]), order: 0, vector, scale, terms: Box::default() };
            let length = dot(&b, &b).sqrt();
            let unit: Vec<f32> = b.iter().map(|number| number / length).collect();
            assert!((passage.cosine(&unit) - exact).abs() < 0.002, "{} {exact}", passage.cosine(&unit));
        }
        assert_eq!(shortened(&[0.0, 0.0]).0.as_ref(), [0, 0]);
    }
}
