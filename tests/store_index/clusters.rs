//! The index on vectors that ten thousand of them get.

use backstory_model::{digest::sha256_hex, document::Document};
use backstory_store::index::{Index, IndexOptions, NewPassage, NewPassages};
use tempfile::TempDir;

use super::{DIMENSION, everything, issue, model, threads};

const DOCUMENTS: usize = 1_000;
const PASSAGES: usize = 10;

/// A vector near one of fifty centers.
fn vector(random: &mut fastrand::Rng) -> Vec<f32> {
    let mut center = fastrand::Rng::with_seed(random.u64(..50));
    (0..DIMENSION).map(|_| center.f32() - 0.5 + 0.3 * (random.f32() - 0.5)).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// An index with many vectors, tidied up.
async fn index_of(documents: &[(Document, Vec<Vec<f32>>)], options: IndexOptions) -> (TempDir, Index) {
    let dir = TempDir::new().unwrap();
    let index = Index::open(dir.path(), model("words"), options).await.unwrap();
    index.apply(documents.iter().flat_map(|(of, _)| threads(std::slice::from_ref(of))).collect(), 1).await.unwrap();
    let passages = documents.iter().map(|(of, vectors)| NewPassages {
        document: of.id.clone(),
        content_hash: of.content_hash(),
        passages: (0..)
            .zip(vectors)
            .map(|(number, vector)| {
                let text = format!("{} {number}", of.id);
                NewPassage { text_hash: sha256_hex(&text), text, vector: vector.clone() }
            })
            .collect(),
    });
    assert_eq!(index.replace_passages(passages.collect()).await.unwrap(), documents.len());
    index.optimize().await.unwrap();
    (dir, index)
}

#[tokio::test]
async fn the_nearest_of_many_vectors_are_found_in_clusters() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut document = |number: usize| {
        (issue(&format!("a/b#{number}"), "Title", "body"), (0..PASSAGES).map(|_| vector(&mut random)).collect())
    };
    let documents: Vec<(Document, Vec<Vec<f32>>)> = (0..DOCUMENTS).map(&mut document).collect();
    let query = vector(&mut fastrand::Rng::with_seed(2));
    let mut exact: Vec<(f32, &str)> = documents
        .iter()
        .map(|(of, vectors)| (vectors.iter().map(|own| cosine(own, &query)).fold(-1.0, f32::max), of.id.as_str()))
        .collect();
    exact.sort_by(|a, b| b.0.total_cmp(&a.0));

    let (_dir, index) = index_of(&documents, IndexOptions { refine: 4, ..IndexOptions::default() }).await;
    let found = index.search_vectors(&query, &everything(), 10).await.unwrap();
    for (hit, (score, id)) in found.iter().zip(&exact) {
        assert_eq!(hit.document, *id, "{found:?}");
        assert!((hit.score - score).abs() < 1e-4, "{} instead of {score}: compared exactly", hit.score);
    }
    assert_eq!(found.len(), 10);

    let (_dir, index) = index_of(&documents, IndexOptions::default()).await;
    let found = index.search_vectors(&query, &everything(), 10).await.unwrap();
    assert!(
        found.iter().all(|hit| exact.iter().any(|(score, id)| *id == hit.document && (hit.score - score).abs() < 0.01))
    );
    let right = found.iter().filter(|hit| exact[..10].iter().any(|(_, id)| *id == hit.document)).count();
    assert!(right >= 8, "{found:?} instead of {:?}", &exact[..10]);
    assert_eq!(index.search_vectors(&query, &everything(), DOCUMENTS).await.unwrap().len(), DOCUMENTS);

    let few = IndexOptions { clusters: Some(100), probes: 1, ..IndexOptions::default() };
    let (_dir, index) = index_of(&documents, few).await;
    let found = index.search_vectors(&query, &everything(), DOCUMENTS).await.unwrap().len();
    assert!((1..DOCUMENTS).contains(&found), "{found}: what one cluster has");
}
