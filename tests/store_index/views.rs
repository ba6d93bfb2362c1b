//! Views: what a handle shows of another state is what an index shows that holds only that.

use backstory_model::{
    document::Document,
    filter::{DocumentKind, Filter},
    terms::{QueryTerms, term_of},
    visibility::Visibility,
};
use backstory_store::index::{Index, Named, ProjectScope, TextHit, ThreadDocuments, ViewThreads, version_id};

use super::{at, embed, everything, index_of, issue, thread, threads, vector};

/// How many are searched by words.
const LIMIT: usize = 25;

const QUERIES: [&str; 5] = ["common", "rare", "word1 word2 common", "word7", "later"];

/// An issue with words of its own; a later state of it has others.
pub(super) fn document(number: usize, state: &str) -> Document {
    let often = "common ".repeat(1 + number % 4);
    let rare = if number.is_multiple_of(7) { "rare" } else { "" };
    let body = format!("{often} word{} {rare} {state}", number % 11);
    let kind = if number.is_multiple_of(3) { DocumentKind::Commit } else { DocumentKind::Issue };
    Document {
        kind,
        labels: vec![format!("label{}", number % 2), state.to_owned()],
        created_at: at(i64::try_from(number).unwrap() + i64::try_from(state.len()).unwrap()),
        confidential: number.is_multiple_of(5),
        ..issue(&format!("acme/shop#{number}"), &format!("Number {number}"), &body)
    }
}

/// A document in a version, which is a thread of its own.
fn versioned(document: &Document, version: &str) -> Document {
    Document { id: version_id(&document.id, version), ..document.clone() }
}

fn scores(hits: &[TextHit]) -> Vec<f32> {
    hits.iter().map(|hit| hit.score).collect()
}

/// Those before the ones that are as good as the last of a full page: which of these are on it depends on timing.
fn without_last_tie(hits: &[TextHit]) -> &[TextHit] {
    let Some(last) = hits.last().filter(|_| hits.len() == LIMIT) else { return hits };
    &hits[..hits.partition_point(|hit| hit.score > last.score)]
}

pub(super) async fn assert_same(view: &Index, alone: &Index) {
    let filters = [
        everything(),
        Filter { kinds: vec![DocumentKind::Commit], ..everything() },
        Filter { labels: vec!["label1".into()], ..everything() },
        Filter { nodes: vec!["acme/shop#3".into(), "acme/shop#4".into()], ..everything() },
        Filter { after: Some(at(20)), ..everything() },
    ];
    for query in QUERIES {
        for filter in &filters {
            let words = view.search_text(query, filter, LIMIT).await.unwrap();
            let expected = alone.search_text(query, filter, LIMIT).await.unwrap();
            assert_eq!(scores(&words), scores(&expected), "{query} {filter:?}");
            assert_eq!(without_last_tie(&words), without_last_tie(&expected), "{query} {filter:?}");
            let near = view.search_vectors(&vector(query), filter, 50).await.unwrap();
            assert_eq!(near, alone.search_vectors(&vector(query), filter, 50).await.unwrap(), "{query} {filter:?}");
            let ids: Vec<String> = words.into_iter().map(|hit| hit.document).collect();
            assert_eq!(view.documents(&ids).await.unwrap(), alone.documents(&ids).await.unwrap());
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let (vector, terms) = (vector(query), QueryTerms::of(query));
            let scored = async |index: &Index| {
                let mut scored = index.score_passages(&vector, &terms, &ids).await.unwrap();
                scored.sort_by(|a, b| a.document.cmp(&b.document));
                scored
                    .into_iter()
                    .map(|passage| (passage.document, passage.similarity, passage.found))
                    .collect::<Vec<_>>()
            };
            assert_eq!(scored(view).await, scored(alone).await);
        }
        let terms = || query.split(' ').filter_map(term_of);
        assert_eq!(
            view.document_frequencies(ProjectScope::All, terms()),
            alone.document_frequencies(ProjectScope::All, terms())
        );
    }
    assert_eq!(view.coverage(), alone.coverage());
    assert_eq!(view.newest_created_at(), alone.newest_created_at());
    let (labels, all) = (Named::Label, ProjectScope::All);
    assert_eq!(view.known_names(labels, all), alone.known_names(labels, all));
    let page = |index: &Index| index.page(Some("acme/shop#2"), 9, |_, facts| !facts.labels.is_empty());
    assert_eq!(page(view), page(alone));
    let nodes = [("acme/shop#3", 1), ("acme/shop#30", 0)];
    for most in [1, 10] {
        let of_nodes = |index: &Index| index.documents_of(&nodes, most, |_, _| true);
        assert_eq!(of_nodes(view), of_nodes(alone));
    }
}

#[tokio::test]
async fn a_view_is_the_index_of_what_it_shows() {
    let now: Vec<Document> =
        (0..40).map(|number| document(number, if number < 15 { "later" } else { "same" })).collect();
    let (_dir, index) = index_of(&now).await;
    // Of what changed, some was otherwise and some was not there; some of what was there is gone.
    let before: Vec<Document> = (0..8).chain(100..104).map(|number| document(number, "before")).collect();
    let versions: Vec<Document> = before.iter().map(|document| versioned(document, "s7")).collect();
    index.apply(threads(&versions), 1).await.unwrap();
    embed(&index, &versions).await;
    let shown: Vec<Document> = before.iter().cloned().chain(now[15..].iter().cloned()).collect();
    let (_other, alone) = index_of(&shown).await;
    let differing = ViewThreads {
        hidden: now[..15].iter().chain(&before).map(|document| document.id.clone()).collect(),
        versions: before.iter().map(|document| version_id(&document.id, "s7")).collect(),
        urls: None,
    };
    let (_third, without) = index_of(&now).await;
    for optimized in [false, true] {
        if optimized {
            index.optimize().await.unwrap();
        }
        assert!(index.find_view("before").is_none() || optimized);
        let view = index.make_view("before", index.change_count(), differing.clone()).await.unwrap();
        assert_eq!(view.difference(), (12, 15));
        for visibility in [Visibility::everything(), Visibility::public()] {
            let shown = index.with_view(Some(view.clone())).with_visibility(visibility.clone());
            assert_same(&shown, &alone.with_visibility(visibility.clone())).await;
            // Versions change nothing of the current state.
            assert_same(&index.with_visibility(visibility.clone()), &without.with_visibility(visibility)).await;
        }
        assert_eq!((index.digest(), index.fingerprints()), (without.digest(), without.fingerprints()));
    }
    // A change makes another view necessary; a version that goes leaves nothing.
    assert!(index.find_view("before").is_some());
    let gone = before.iter().map(|document| version_id(&document.id, "s7"));
    let gone = gone.map(|thread| ThreadDocuments { thread, documents: vec![] }).collect();
    assert_eq!(index.apply(gone, 2).await.unwrap().deleted, 12);
    assert!(index.find_view("before").is_none());
    assert_eq!((index.version_documents(), index.version_threads().len()), (0, 0));
    assert_same(&index, &without).await;
}

#[tokio::test]
async fn versions_are_there_again_when_the_index_is_opened() {
    let now = document(1, "now");
    let (dir, index) = index_of(std::slice::from_ref(&now)).await;
    let version = versioned(&document(1, "before"), "s1");
    index.apply(threads(std::slice::from_ref(&version)), 1).await.unwrap();
    embed(&index, &[version]).await;
    let (known, coverage) = (index.version_threads(), index.coverage());
    drop(index);
    let index = super::open(&dir).await;
    assert_eq!((index.version_threads(), index.coverage()), (known, coverage));
    assert_eq!((index.version_documents(), index.coverage().documents), (1, 1));
    index.apply(vec![thread(std::slice::from_ref(&now))], 2).await.unwrap();
    assert_eq!(index.version_documents(), 1, "the current document is another thread");
}
