//! The index: what is applied is found, by its words and by its meaning, and nothing else is.

mod clusters;
mod image;
mod opening;
mod oracle;
mod search;
mod views;

use std::{fs, path::Path};

use backstory_model::{
    digest::sha256_hex,
    document::{Document, DocumentPart},
    entity::State,
    filter::{DocumentKind, Filter},
    text::words,
};
use backstory_store::index::{
    ApplyCounts, Index, IndexError, IndexOptions, ModelTag, NewPassage, NewPassages, ThreadDocuments, Vectors,
};
use jiff::Timestamp;
use tempfile::TempDir;

const DIMENSION: usize = 32;

fn model(name: &str) -> ModelTag {
    ModelTag { name: name.into(), dimension: DIMENSION }
}

async fn open(dir: &TempDir) -> Index {
    Index::open(dir.path(), model("words"), IndexOptions::default()).await.unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

/// An issue with this text.
fn issue(id: &str, title: &str, body: &str) -> Document {
    let text = format!("{title}\n\n{body}");
    Document {
        id: id.into(),
        kind: DocumentKind::Issue,
        project: "acme/shop".into(),
        parent: None,
        title: title.into(),
        url: format!("https://forge/{id}"),
        author: Some("alice".into()),
        labels: vec!["bug".into(), "ui".into()],
        state: Some(State::Opened),
        created_at: at(0),
        updated_at: at(0),
        header: title.into(),
        parts: vec![DocumentPart { attribution: String::new(), body: body.into() }],
        whole_text: text,
        path: None,
        changed: vec![],
        lines: None,
        importance: 0.0,
        confidential: false,
    }
}

/// A discussion of that issue.
fn discussion(of: &Document, id: &str, body: &str) -> Document {
    Document {
        id: format!("{}~{id}", of.id),
        kind: DocumentKind::Discussion,
        parent: Some(of.id.clone()),
        header: format!("[Issue: {}] Discussion", of.title),
        parts: vec![DocumentPart { attribution: "@bob (2024-03-15):".into(), body: body.into() }],
        author: Some("bob".into()),
        whole_text: String::new(),
        ..of.clone()
    }
}

fn thread(documents: &[Document]) -> ThreadDocuments {
    ThreadDocuments { thread: documents[0].id.clone(), documents: documents.to_vec() }
}

fn deleted(thread: &str) -> ThreadDocuments {
    ThreadDocuments { thread: thread.into(), documents: vec![] }
}

/// Every document a thread of its own.
fn threads(documents: &[Document]) -> Vec<ThreadDocuments> {
    documents.iter().map(|document| thread(std::slice::from_ref(document))).collect()
}

/// The direction that a text's words point to: a stand-in for a model, in which equal words mean the same.
fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSION];
    for word in words(text) {
        let at = usize::from_str_radix(&sha256_hex(&word)[..4], 16).unwrap() % DIMENSION;
        vector[at] += 1.0;
    }
    vector[0] += 0.01;
    vector
}

/// One passage for every part of the document.
fn passages(document: &Document) -> NewPassages {
    let texts = document.parts.iter().map(|part| format!("{}\n\n{}", document.header, part.body));
    let passages = texts.map(|text| NewPassage { text_hash: sha256_hex(&text), vector: vector(&text), text });
    NewPassages { document: document.id.clone(), content_hash: document.content_hash(), passages: passages.collect() }
}

async fn embed(index: &Index, documents: &[Document]) {
    let taken = index.replace_passages(documents.iter().map(passages).collect()).await.unwrap();
    assert_eq!(taken, documents.len());
}

/// An index with these documents, each a thread of its own, and their vectors.
async fn index_of(documents: &[Document]) -> (TempDir, Index) {
    let dir = TempDir::new().unwrap();
    let index = open(&dir).await;
    index.apply(threads(documents), 1).await.unwrap();
    embed(&index, documents).await;
    (dir, index)
}

async fn lexical(index: &Index, query: &str, filter: &Filter) -> Vec<String> {
    let hits = index.search_text(query, filter, 50).await.unwrap();
    hits.into_iter().map(|hit| hit.document).collect()
}

async fn semantic(index: &Index, query: &str, filter: &Filter) -> Vec<String> {
    let hits = index.search_vectors(&vector(query), filter, 50).await.unwrap();
    hits.into_iter().map(|hit| hit.document).collect()
}

fn everything() -> Filter {
    Filter::default()
}

fn files(dir: &Path) -> Vec<String> {
    let mut files: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path().display().to_string()).collect();
    files.sort();
    files
}

#[tokio::test]
async fn text_is_found_before_it_has_vectors() {
    let dir = TempDir::new().unwrap();
    let index = open(&dir).await;
    let parent = issue("acme/shop#1", "Login fails", "The session cookie is rejected.");
    let reply = discussion(&parent, "d1", "We moved to JWT tokens.");
    index.apply(vec![thread(&[parent.clone(), reply.clone()])], 7).await.unwrap();

    let hits = index.search_text("why JWT?", &everything(), 10).await.unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].document, "acme/shop#1~d1");
    assert_eq!(&*index.facts(["acme/shop#1~d1"])["acme/shop#1~d1"].thread, "acme/shop#1");
    assert_eq!(semantic(&index, "why JWT?", &everything()).await, Vec::<String>::new());
    let coverage = index.coverage();
    assert_eq!((coverage.documents, coverage.embedded, coverage.passages), (2, 0, 0));
    let pending: Vec<_> = index.pending(None, 10).into_iter().map(|document| document.id).collect();
    assert_eq!(pending, ["acme/shop#1", "acme/shop#1~d1"]);
    assert_eq!(index.pending(Some("acme/shop#1"), 10).len(), 1);

    embed(&index, &[parent, reply]).await;
    assert_eq!(semantic(&index, "JWT tokens", &everything()).await[0], "acme/shop#1~d1");
    assert_eq!(index.pending(None, 10), []);
    let coverage = index.coverage();
    assert_eq!((coverage.documents, coverage.embedded, coverage.passages), (2, 2, 2));
    let kinds: Vec<_> = coverage.by_kind.iter().map(|of| (of.kind, of.documents, of.embedded)).collect();
    assert_eq!(kinds, [(DocumentKind::Issue, 1, 1), (DocumentKind::Discussion, 1, 1)]);
}

#[tokio::test]
async fn documents_come_back_as_they_were_in_the_order_asked() {
    let mut a = issue("acme/shop#1", "First", "one");
    a.author = None;
    a.labels = vec![];
    let b = issue("acme/shop#2", "Second", "two");
    let (_dir, index) = index_of(&[a.clone(), b.clone()]).await;
    let ids = ["acme/shop#2".to_owned(), "acme/shop#404".to_owned(), "acme/shop#1".to_owned()];
    let found = index.documents(&ids).await.unwrap();
    assert_eq!(found.iter().map(|document| document.id.as_str()).collect::<Vec<_>>(), ["acme/shop#2", "acme/shop#1"]);
    assert_eq!(found[0].text, "Second\n\ntwo");
    assert_eq!((found[0].facts.author.as_deref(), found[1].facts.author.as_deref()), (Some("alice"), None));
    assert_eq!(
        (found[0].facts.labels.clone(), found[1].facts.labels.clone()),
        (vec!["bug".into(), "ui".into()], vec![])
    );
    assert_eq!(
        (found[0].facts.created_at, found[0].facts.state, found[0].url.as_str()),
        (at(0), Some(State::Opened), "https://forge/acme/shop#2")
    );
    assert_eq!(found[0].content_hash, b.content_hash());
    let ids = ["acme/shop#1".to_owned(), "acme/shop#2".to_owned(), "acme/shop#1".to_owned()];
    let again = index.documents(&ids).await.unwrap();
    assert_eq!(again, [found[1].clone(), found[0].clone(), found[1].clone()], "one may be asked for twice");
}

#[tokio::test]
async fn applying_the_same_again_writes_nothing() {
    let dir = TempDir::new().unwrap();
    let index = open(&dir).await;
    let documents: Vec<_> = (0..20).map(|n| issue(&format!("a/b#{n}"), "Same", &format!("text {n}"))).collect();
    let first = index.apply(threads(&documents), 5).await.unwrap();
    assert_eq!(first, ApplyCounts { written: 20, unchanged: 0, deleted: 0 });
    embed(&index, &documents).await;

    let tables = [dir.path().join("documents.lance"), dir.path().join("passages.lance")];
    let data = || tables.iter().map(|table| (files(&table.join("data")), files(&table.join("_versions")).len()));
    index.apply(threads(&documents), 5).await.unwrap();
    let before: Vec<_> = data().collect();
    let again = index.apply(threads(&documents), 5).await.unwrap();
    assert_eq!(again, ApplyCounts { written: 0, unchanged: 20, deleted: 0 });
    assert_eq!(data().collect::<Vec<_>>(), before);
    assert_eq!(index.coverage().embedded, 20);
}

#[tokio::test]
async fn changed_text_replaces_the_old_one_and_asks_for_new_vectors() {
    let old = issue("a/b#1", "Login", "cookies are eaten");
    let other = issue("a/b#2", "Other", "cookies elsewhere");
    let (_dir, index) = index_of(&[old.clone(), other.clone()]).await;
    let new = Document { updated_at: at(9), ..issue("a/b#1", "Login", "tokens are eaten") };
    let applied = index.apply(threads(&[new.clone(), other]), 2).await.unwrap();
    assert_eq!(applied, ApplyCounts { written: 1, unchanged: 1, deleted: 0 });

    assert_eq!(lexical(&index, "cookies", &everything()).await, ["a/b#2"]);
    assert_eq!(lexical(&index, "tokens", &everything()).await, ["a/b#1"]);
    assert_eq!(semantic(&index, "cookies", &everything()).await, ["a/b#2"]);
    let pending = index.pending(None, 10);
    assert_eq!(
        pending.iter().map(|p| (p.id.as_str(), &p.content_hash)).collect::<Vec<_>>(),
        [("a/b#1", &new.content_hash())]
    );

    // Vectors of the text it no longer has are refused.
    assert_eq!(index.replace_passages(vec![passages(&old)]).await.unwrap(), 0);
    assert_eq!(index.coverage().embedded, 1);
    embed(&index, &[new]).await;
    assert_eq!(index.coverage().embedded, 2);
}

#[tokio::test]
async fn changed_labels_are_searched_without_embedding_again() {
    let old = issue("a/b#1", "Login", "cookies are eaten");
    let (_dir, index) = index_of(&[old.clone(), issue("a/b#2", "Other", "cookies elsewhere")]).await;
    index.optimize().await.unwrap();
    let new = Document { labels: vec!["wontfix".into()], state: Some(State::Closed), updated_at: at(9), ..old };
    let applied = index.apply(threads(&[new]), 2).await.unwrap();
    assert_eq!(applied, ApplyCounts { written: 1, unchanged: 0, deleted: 0 });

    assert_eq!(index.pending(None, 10), []);
    assert_eq!(index.coverage().passages, 2);
    for filter in [
        Filter { labels: vec!["wontfix".into()], ..everything() },
        Filter { state: Some(State::Closed), ..everything() },
    ] {
        assert_eq!(lexical(&index, "cookies", &filter).await, ["a/b#1"]);
        assert_eq!(semantic(&index, "cookies", &filter).await, ["a/b#1"]);
    }
    let old_label = Filter { labels: vec!["bug".into()], ..everything() };
    assert_eq!(semantic(&index, "cookies", &old_label).await, ["a/b#2"]);
}

#[tokio::test]
async fn vanished_documents_and_threads_are_not_found_any_more() {
    let dir = TempDir::new().unwrap();
    let index = open(&dir).await;
    let parent = issue("a/b#1", "Login", "cookies");
    let replies = [discussion(&parent, "x", "cookies first"), discussion(&parent, "y", "cookies second")];
    let all = [parent.clone(), replies[0].clone(), replies[1].clone()];
    index.apply(vec![thread(&all)], 1).await.unwrap();
    embed(&index, &all).await;

    let applied = index.apply(vec![thread(&[parent, replies[1].clone()])], 2).await.unwrap();
    assert_eq!(applied, ApplyCounts { written: 0, unchanged: 2, deleted: 1 });
    for hits in [lexical(&index, "cookies", &everything()).await, semantic(&index, "cookies", &everything()).await] {
        assert!(!hits.contains(&"a/b#1~x".to_owned()) && hits.len() == 2, "{hits:?}");
    }
    let applied = index.apply(vec![deleted("a/b#1"), deleted("a/b#404")], 3).await.unwrap();
    assert_eq!(applied, ApplyCounts { written: 0, unchanged: 0, deleted: 2 });
    assert_eq!(lexical(&index, "cookies", &everything()).await, Vec::<String>::new());
    assert_eq!(semantic(&index, "cookies", &everything()).await, Vec::<String>::new());
    let coverage = index.coverage();
    assert_eq!((coverage.documents, coverage.embedded, coverage.passages), (0, 0, 0));
}

#[tokio::test]
async fn vectors_are_known_by_their_text_even_after_a_change() {
    let mut document = issue("a/b#1", "Title", "first");
    document.parts.push(DocumentPart { attribution: String::new(), body: "second".into() });
    let (dir, index) = index_of(std::slice::from_ref(&document)).await;
    let hashes: Vec<_> = passages(&document).passages.into_iter().map(|passage| passage.text_hash).collect();
    let known = index.vectors_by_text_hash(&hashes).await.unwrap();
    assert_eq!(known.len(), 2);
    assert_eq!(known[&hashes[1]], vector("Title\n\nsecond"));
    assert!(index.vectors_by_text_hash(&[sha256_hex("never embedded")]).await.unwrap().is_empty());

    let old = Vectors::open(dir.path(), &model("words")).await.unwrap().unwrap();
    assert_eq!(old.find(&hashes).await.unwrap(), known);
    assert!(Vectors::open(dir.path(), &model("other")).await.unwrap().is_none());
    assert!(Vectors::open(&dir.path().join("none"), &model("words")).await.unwrap().is_none());

    // The first part is as before; only the second must be embedded.
    document.parts[1].body = "third".into();
    index.apply(threads(&[document]), 2).await.unwrap();
    assert_eq!(index.coverage().passages, 0);
    assert_eq!(index.vectors_by_text_hash(&hashes[..1]).await.unwrap()[&hashes[0]], vector("Title\n\nfirst"));
}

#[tokio::test]
async fn vectors_that_the_model_cannot_make_are_refused() {
    let document = issue("a/b#1", "Title", "body");
    let (_dir, index) = index_of(std::slice::from_ref(&document)).await;
    for bad in [vec![1.0; DIMENSION - 1], vec![f32::NAN; DIMENSION], vec![0.0; DIMENSION]] {
        let error = index.search_vectors(&bad, &everything(), 10).await.unwrap_err();
        assert!(matches!(error, IndexError::Vector { .. }), "{error}");
        let mut given = passages(&document);
        given.passages[0].vector = bad;
        let error = index.replace_passages(vec![given]).await.unwrap_err();
        assert!(error.to_string().contains("a/b#1") && error.to_string().contains("words"), "{error}");
    }
    assert_eq!(index.coverage().embedded, 1);
}

#[tokio::test]
async fn searches_go_on_while_it_is_written() {
    let documents: Vec<_> = (0..200).map(|n| issue(&format!("a/b#{n}"), "Common", &format!("text {n}"))).collect();
    let (_dir, index) = index_of(&documents).await;
    let writer = tokio::spawn({
        let index = index.clone();
        async move {
            for round in 0..5 {
                let changed: Vec<_> =
                    (0..200).map(|n| issue(&format!("a/b#{n}"), "Common", &format!("round {round}"))).collect();
                index.apply(threads(&changed), round).await.unwrap();
                index.optimize().await.unwrap();
            }
        }
    });
    while !writer.is_finished() {
        assert_eq!(index.search_text("common", &everything(), 1000).await.unwrap().len(), 200);
        index.search_vectors(&vector("common"), &everything(), 10).await.unwrap();
        tokio::task::yield_now().await;
    }
    writer.await.unwrap();
}
