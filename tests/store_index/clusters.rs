//! The index on vectors that ten thousand of them get.

use backstory_model::{digest::sha256_hex, document::Document, filter::Filter};
use backstory_store::index::{Index, IndexOptions, NewPassage, NewPassages, ThreadDocuments};
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

/// Documents with the vectors of their passages, ten thousand of these.
fn documents() -> Vec<(Document, Vec<Vec<f32>>)> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut document = |number: usize| {
        (issue(&format!("a/b#{number}"), "Title", "body"), (0..PASSAGES).map(|_| vector(&mut random)).collect())
    };
    (0..DOCUMENTS).map(&mut document).collect()
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
    let (documents, query) = (documents(), vector(&mut fastrand::Rng::with_seed(2)));
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
}

#[tokio::test]
async fn what_a_filter_lets_through_is_found_in_any_cluster() {
    let (mut documents, query) = (documents(), vector(&mut fastrand::Rng::with_seed(2)));
    let opposite: Vec<f32> = query.iter().map(|number| -number).collect();
    for number in 0..3 {
        let document = Document { project: "c/d".to_owned(), ..issue(&format!("c/d#{number}"), "Title", "body") };
        documents.push((document, vec![opposite.clone()]));
    }
    for refine in [0, 4] {
        let options = IndexOptions { probes: 1, refine, ..IndexOptions::default() };
        let (_dir, index) = index_of(&documents, options).await;
        let filter = Filter { projects: vec!["c/d".to_owned()], ..everything() };
        let found = index.search_vectors(&query, &filter, 10).await.unwrap();
        let ids: Vec<&str> = found.iter().map(|hit| hit.document.as_str()).collect();
        assert_eq!(ids, ["c/d#0", "c/d#1", "c/d#2"], "{refine}");
        assert!(found.iter().all(|hit| (hit.score + 1.0).abs() < 0.01), "{refine}: {found:?}");
    }
}

#[tokio::test]
async fn other_clusters_are_made_when_an_index_is_tidied_up() {
    let (documents, query) = (documents(), vector(&mut fastrand::Rng::with_seed(2)));
    let (dir, index) = index_of(&documents, IndexOptions { probes: 1, ..IndexOptions::default() }).await;
    let of_ten = index.search_vectors(&query, &everything(), DOCUMENTS).await.unwrap().len();
    drop(index);
    let many = IndexOptions { clusters: Some(100), probes: 1, ..IndexOptions::default() };
    let index = Index::open(dir.path(), model("words"), many).await.unwrap();
    assert_eq!(index.search_vectors(&query, &everything(), DOCUMENTS).await.unwrap().len(), of_ten);
    index.optimize().await.unwrap();
    let of_hundred = index.search_vectors(&query, &everything(), DOCUMENTS).await.unwrap().len();
    assert!(
        (1..DOCUMENTS).contains(&of_hundred) && of_hundred * 2 < of_ten,
        "{of_hundred}, {of_ten}: what one cluster has"
    );

    // With fewer than ten thousand there is no index, and all are compared.
    let gone: Vec<Document> = documents[..DOCUMENTS / 10].iter().map(|(of, _)| of.clone()).collect();
    let gone = threads(&gone).into_iter().map(|thread| ThreadDocuments { documents: Vec::new(), ..thread });
    index.apply(gone.collect(), 2).await.unwrap();
    index.optimize().await.unwrap();
    let left = index.search_vectors(&query, &everything(), DOCUMENTS).await.unwrap().len();
    assert_eq!(left, DOCUMENTS - DOCUMENTS / 10, "the only cluster that is looked into would not have all");
}
