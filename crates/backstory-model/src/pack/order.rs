//! The order of passages in a pack.

use std::cmp::Ordering;

use super::Chunk;

/// How many buckets there are between 0 and 1.
const BUCKETS: f64 = 10.0;

/// Which tenth a score is in: 0 for scores below 0.1, 9 for 0.9 to 1. Within a tenth scores are not told apart, because
/// the last digits of a similarity are noise.
pub fn score_bucket(score: f64) -> u8 {
    let bucket = (score * BUCKETS).floor().clamp(0.0, BUCKETS - 1.0);
    // 0 to 9; what is no number is 0.
    bucket as u8
}

/// Order of two passages: what governs comes before what discusses, then the better tenth, then the id.
pub fn compare_chunks(a: &Chunk, b: &Chunk) -> Ordering {
    (a.document_type.cmp(&b.document_type))
        .then_with(|| score_bucket(b.score).cmp(&score_bucket(a.score)))
        .then_with(|| a.chunk_id.cmp(&b.chunk_id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::document_type::DocumentType;

    fn chunk(kind: usize, score: f64, id: u8) -> Chunk {
        Chunk {
            chunk_id: format!("{id:02x}"),
            document_type: DocumentType::ALL[kind],
            document: String::new(),
            title: String::new(),
            repository: String::new(),
            commit: None,
            path: None,
            url: None,
            lines: (1, 1),
            index: 0,
            score,
            embedding_model: None,
            is_section: false,
            confidential: false,
            content_hash: String::new(),
            sources: Default::default(),
            text: String::new(),
        }
    }

    #[test]
    fn buckets_are_tenths() {
        let scores = [-1.0, 0.0, 0.05, 0.1, 0.19, 0.95, 1.0, 7.0, f64::NAN];
        assert_eq!(scores.map(score_bucket), [0, 0, 0, 1, 1, 9, 9, 9, 0]);
    }

    proptest! {
        #[test]
        fn type_then_tenth_then_id(chunks in prop::collection::vec((0usize..9, 0.0f64..=1.0, any::<u8>()), 0..40)) {
            let mut chunks: Vec<Chunk> = chunks.into_iter().map(|(kind, score, id)| chunk(kind, score, id)).collect();
            chunks.sort_by(compare_chunks);
            let mut turned: Vec<Chunk> = chunks.iter().rev().cloned().collect();
            turned.sort_by(compare_chunks);
            let keys = |chunks: &[Chunk]| -> Vec<(DocumentType, u8, String)> {
                chunks.iter().map(|c| (c.document_type, 9 - score_bucket(c.score), c.chunk_id.clone())).collect()
            };
            prop_assert!(keys(&chunks).is_sorted());
            prop_assert_eq!(keys(&chunks), keys(&turned));
        }
    }
}
