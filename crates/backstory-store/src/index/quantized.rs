//! A quantized passage: its terms, and its vector with eight bits a number, for ranking.

use backstory_model::terms::TermId;

use super::{maps::stable_hash, types::PassageId};

/// Largest magnitude of a number of a quantized vector.
const LARGEST: f32 = 127.0;
/// Products that are added side by side, which a processor does at once.
const LANES: usize = 16;
/// Bytes before the vector and the terms of an encoded passage.
const HEADER: usize = 48;

/// A passage: eight bits for each number of its vector, which is right to about 0.001 of a cosine, and its terms.
pub(super) struct QuantizedPassage<'a> {
    pub(super) id: PassageId,
    /// A hash of the vector.
    pub(super) order: u32,
    /// What makes the product with a vector of length 1 a cosine.
    scale: f32,
    /// Numbers with a sign, one a byte.
    vector: &'a [u8],
    pub(super) terms: Vec<TermId>,
}

impl QuantizedPassage<'_> {
    /// Cosine of the angle to a vector of length 1.
    pub(super) fn cosine(&self, vector: &[f32]) -> f32 {
        let product = |own: u8, other: f32| f32::from(i8::from_ne_bytes([own])) * other;
        let (own, own_rest) = self.vector.as_chunks::<LANES>();
        let (other, other_rest) = vector.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for (own, other) in own.iter().zip(other) {
            for (sum, (own, other)) in sums.iter_mut().zip(own.iter().zip(other)) {
                *sum += product(*own, *other);
            }
        }
        let rest = own_rest.iter().zip(other_rest).map(|(own, other)| product(*own, *other)).sum::<f32>();
        self.scale * (sums.iter().sum::<f32>() + rest)
    }
}

/// Numbers of passages, of their terms, and of their bytes.
pub(super) fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Appends a passage: a header, its vector, its terms.
pub(super) fn encode(id: PassageId, vector: &[f32], terms: &[TermId], to: &mut Vec<u8>) {
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
pub(super) fn decode<'a>(rest: &mut &'a [u8]) -> Option<QuantizedPassage<'a>> {
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
