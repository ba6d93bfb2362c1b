//! The index: what is applied is found, by its words and by its meaning, and nothing else is.

use std::{collections::BTreeMap, fs, path::Path};

use backstory_model::{
    digest::sha256_hex,
    document::{Document, Part},
    entity::State,
    filter::{DocumentKind, Filter},
    text::words,
};
use backstory_store::index::{
    Applied, Index, IndexError, ModelTag, NewPassage, NewPassages, TEXT_BOOST, TITLE_BOOST, ThreadDocuments, Vectors,
};
use jiff::Timestamp;
use proptest::prelude::*;
use tempfile::TempDir;

const DIMENSION: usize = 32;

fn model(name: &str) -> ModelTag {
    ModelTag { name: name.into(), dimension: DIMENSION }
}

async fn open(dir: &TempDir) -> Index {
    Index::open(dir.path(), model("words")).await.unwrap()
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
        state: State::Opened,
        created_at: at(0),
        updated_at: at(0),
        header: title.into(),
        parts: vec![Part { attribution: String::new(), body: body.into() }],
        whole_text: text,
    }
}

/// A discussion of that issue.
fn discussion(of: &Document, id: &str, body: &str) -> Document {
    Document {
        id: format!("{}~{id}", of.id),
        kind: DocumentKind::Discussion,
        parent: Some(of.id.clone()),
        header: format!("[Issue: {}] Discussion", of.title),
        parts: vec![Part { attribution: "@bob (2024-03-15):".into(), body: body.into() }],
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
    let taken = index.add_passages(documents.iter().map(passages).collect()).await.unwrap();
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
    let hits = index.lexical(query, filter, 50).await.unwrap();
    hits.into_iter().map(|hit| hit.document).collect()
}

async fn semantic(index: &Index, query: &str, filter: &Filter) -> Vec<String> {
    let hits = index.semantic(&vector(query), filter, 50).await.unwrap();
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

    let hits = index.lexical("why JWT?", &everything(), 10).await.unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!((hits[0].document.as_str(), hits[0].thread.as_str()), ("acme/shop#1~d1", "acme/shop#1"));
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
    assert_eq!((found[0].author.as_deref(), found[1].author.as_deref()), (Some("alice"), None));
    assert_eq!((found[0].labels.clone(), found[1].labels.clone()), (vec!["bug".into(), "ui".into()], vec![]));
    assert_eq!(
        (found[0].created_at, found[0].state, found[0].url.as_str()),
        (at(0), State::Opened, "https://forge/acme/shop#2")
    );
    assert_eq!(found[0].content_hash, b.content_hash());
}

#[tokio::test]
async fn applying_the_same_again_writes_nothing() {
    let dir = TempDir::new().unwrap();
    let index = open(&dir).await;
    let documents: Vec<_> = (0..20).map(|n| issue(&format!("a/b#{n}"), "Same", &format!("text {n}"))).collect();
    let first = index.apply(threads(&documents), 5).await.unwrap();
    assert_eq!(first, Applied { written: 20, unchanged: 0, deleted: 0 });
    embed(&index, &documents).await;

    let tables = [dir.path().join("documents.lance"), dir.path().join("passages.lance")];
    let data = || tables.iter().map(|table| (files(&table.join("data")), files(&table.join("_versions")).len()));
    index.apply(threads(&documents), 5).await.unwrap();
    let before: Vec<_> = data().collect();
    let again = index.apply(threads(&documents), 5).await.unwrap();
    assert_eq!(again, Applied { written: 0, unchanged: 20, deleted: 0 });
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
    assert_eq!(applied, Applied { written: 1, unchanged: 1, deleted: 0 });

    assert_eq!(lexical(&index, "cookies", &everything()).await, ["a/b#2"]);
    assert_eq!(lexical(&index, "tokens", &everything()).await, ["a/b#1"]);
    assert_eq!(semantic(&index, "cookies", &everything()).await, ["a/b#2"]);
    let pending = index.pending(None, 10);
    assert_eq!(
        pending.iter().map(|p| (p.id.as_str(), &p.content_hash)).collect::<Vec<_>>(),
        [("a/b#1", &new.content_hash())]
    );

    // Vectors of the text it no longer has are refused.
    assert_eq!(index.add_passages(vec![passages(&old)]).await.unwrap(), 0);
    assert_eq!(index.coverage().embedded, 1);
    embed(&index, &[new]).await;
    assert_eq!(index.coverage().embedded, 2);
}

#[tokio::test]
async fn changed_labels_are_searched_without_embedding_again() {
    let old = issue("a/b#1", "Login", "cookies are eaten");
    let (_dir, index) = index_of(&[old.clone(), issue("a/b#2", "Other", "cookies elsewhere")]).await;
    index.optimize().await.unwrap();
    let new = Document { labels: vec!["wontfix".into()], state: State::Closed, updated_at: at(9), ..old };
    let applied = index.apply(threads(&[new]), 2).await.unwrap();
    assert_eq!(applied, Applied { written: 1, unchanged: 0, deleted: 0 });

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
    assert_eq!(applied, Applied { written: 0, unchanged: 2, deleted: 1 });
    for hits in [lexical(&index, "cookies", &everything()).await, semantic(&index, "cookies", &everything()).await] {
        assert!(!hits.contains(&"a/b#1~x".to_owned()) && hits.len() == 2, "{hits:?}");
    }
    let applied = index.apply(vec![deleted("a/b#1"), deleted("a/b#404")], 3).await.unwrap();
    assert_eq!(applied, Applied { written: 0, unchanged: 0, deleted: 2 });
    assert_eq!(lexical(&index, "cookies", &everything()).await, Vec::<String>::new());
    assert_eq!(semantic(&index, "cookies", &everything()).await, Vec::<String>::new());
    let coverage = index.coverage();
    assert_eq!((coverage.documents, coverage.embedded, coverage.passages), (0, 0, 0));
}

#[tokio::test]
async fn each_filter_narrows_both_searches() {
    let base =
        |n: i64| Document { created_at: at(n), ..issue(&format!("a/b#{n}"), "Common", &format!("word number{n}")) };
    let documents = [
        base(0),
        Document { kind: DocumentKind::MergeRequest, ..base(1) },
        Document { kind: DocumentKind::Discussion, ..base(2) },
        Document { author: Some("bob".into()), ..base(3) },
        Document { author: None, ..base(4) },
        Document { labels: vec!["ui".into()], ..base(5) },
        Document { labels: vec![], ..base(6) },
        Document { project: "acme/other".into(), ..base(7) },
        Document { state: State::Merged, ..base(8) },
    ];
    let (_dir, index) = index_of(&documents).await;
    type Keeps = fn(&Document) -> bool;
    let cases: Vec<(Filter, Keeps)> = vec![
        (everything(), |_| true),
        (Filter { kinds: vec![DocumentKind::MergeRequest], ..everything() }, |d| d.kind == DocumentKind::MergeRequest),
        (Filter { kinds: vec![DocumentKind::Issue, DocumentKind::Discussion], ..everything() }, |d| {
            d.kind != DocumentKind::MergeRequest
        }),
        (Filter { author: Some("bob".into()), ..everything() }, |d| d.author.as_deref() == Some("bob")),
        (Filter { labels: vec!["ui".into()], ..everything() }, |d| d.labels.contains(&"ui".into())),
        (Filter { labels: vec!["ui".into(), "bug".into()], ..everything() }, |d| d.labels.len() == 2),
        (Filter { labels: vec!["ui".into(), "none".into()], ..everything() }, |_| false),
        (Filter { after: Some(at(3)), ..everything() }, |d| d.created_at >= at(3)),
        (Filter { before: Some(at(3)), ..everything() }, |d| d.created_at < at(3)),
        (Filter { project: Some("acme/other".into()), ..everything() }, |d| d.project == "acme/other"),
        (Filter { state: Some(State::Merged), ..everything() }, |d| d.state == State::Merged),
        (
            Filter { author: Some("alice".into()), after: Some(at(2)), labels: vec!["bug".into()], ..everything() },
            |d| d.author.as_deref() == Some("alice") && d.created_at >= at(2) && d.labels.contains(&"bug".into()),
        ),
    ];
    for indexed in [false, true] {
        if indexed {
            index.optimize().await.unwrap();
            assert_eq!(index.unindexed().await.unwrap(), 0);
        }
        for (filter, keeps) in &cases {
            let expected: Vec<_> = documents.iter().filter(|d| keeps(d)).map(|d| d.id.clone()).collect();
            for mut hits in [lexical(&index, "common", filter).await, semantic(&index, "common", filter).await] {
                hits.sort();
                assert_eq!(hits, expected, "indexed: {indexed}, {filter:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    /// A value of a filter is compared, never interpreted.
    #[test]
    fn filter_values_match_themselves_and_nothing_else(values in prop::collection::vec("\\PC{0,12}", 1..12)) {
        let mut values = values;
        values.extend(["' OR 1=1 --", "it''s", "a\"b", "a`b", "100%", "back\\slash", "'; DROP TABLE documents", "NULL", "💥'"].map(String::from));
        let documents: Vec<_> = values.iter().enumerate().map(|(n, value)| Document {
            author: Some(value.clone()),
            labels: vec![value.clone()],
            project: value.clone(),
            ..issue(&format!("a/b#{n}'"), "Common", value)
        }).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (_dir, index) = index_of(&documents).await;
            for value in &values {
                let expected: Vec<_> = documents.iter().filter(|d| d.project == *value).map(|d| d.id.clone()).collect();
                let filters = [
                    Filter { author: Some(value.clone()), ..everything() },
                    Filter { labels: vec![value.clone()], ..everything() },
                    Filter { project: Some(value.clone()), ..everything() },
                ];
                for filter in filters {
                    for mut hits in [lexical(&index, "common", &filter).await, semantic(&index, "common", &filter).await] {
                        hits.sort_by_key(|id| expected.iter().position(|e| e == id));
                        prop_assert_eq!(&hits, &expected, "{:?}", filter);
                    }
                }
                let found = index.documents(&expected).await.unwrap();
                prop_assert_eq!(found.len(), expected.len());
                // Nor is a query.
                index.lexical(value, &everything(), 10).await.unwrap();
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn words_are_found_in_all_their_forms() {
    let (_dir, index) = index_of(&[
        issue("a/b#1", "Searching", "The caches were invalidated by redesigned handlers, naïvely."),
        issue("a/b#2", "Unrelated", "Nothing of that kind."),
    ])
    .await;
    for query in ["search", "searches", "searching", "cache", "CACHE", "invalidate", "handler", "naive", "redesigning?"]
    {
        assert_eq!(lexical(&index, query, &everything()).await, ["a/b#1"], "{query}");
    }
}

#[tokio::test]
async fn identifiers_are_found_whole_and_in_parts() {
    let sha = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d";
    let texts = [
        ("a/b#1", "calls getUserName() twice".to_owned()),
        ("a/b#2", "sets user_name to null".to_owned()),
        ("a/b#3", "secp256k1_ecdsa_sign is slow".to_owned()),
        ("a/b#4", "see src/auth/login.rs for it".to_owned()),
        ("a/b#5", "XMLHttpRequest in std::vector<Foo>".to_owned()),
        ("a/b#6", format!("broken since {sha}")),
    ];
    let documents: Vec<_> = texts.iter().map(|(id, text)| issue(id, "Title", text)).collect();
    let (_dir, index) = index_of(&documents).await;
    for indexed in [false, true] {
        if indexed {
            index.optimize().await.unwrap();
        }
        for (query, first) in [
            ("getUserName", "a/b#1"),
            ("getusername", "a/b#1"),
            ("get", "a/b#1"),
            ("user_name", "a/b#2"),
            ("secp256k1_ecdsa_sign", "a/b#3"),
            ("secp256k1", "a/b#3"),
            ("ecdsa", "a/b#3"),
            ("src/auth/login.rs", "a/b#4"),
            ("login.rs", "a/b#4"),
            ("auth", "a/b#4"),
            ("XMLHttpRequest", "a/b#5"),
            ("http", "a/b#5"),
            ("vector", "a/b#5"),
            (sha, "a/b#6"),
        ] {
            let hits = lexical(&index, query, &everything()).await;
            assert_eq!(hits.first().map(String::as_str), Some(first), "{query}: {hits:?}");
        }
        let mut both = lexical(&index, "user", &everything()).await;
        both.sort();
        assert_eq!(both, ["a/b#1", "a/b#2"]);
    }
}

#[tokio::test]
async fn query_without_a_word_to_search_for_has_no_hits() {
    let dir = TempDir::new().unwrap();
    let index = open(&dir).await;
    assert_eq!(lexical(&index, "anything", &everything()).await, Vec::<String>::new());
    assert_eq!(semantic(&index, "anything", &everything()).await, Vec::<String>::new());
    index.apply(threads(&[issue("a/b#1", "The and of", "it is the thing")]), 1).await.unwrap();
    for query in ["", "   ", "the and of", "?!…", "\"\"", "AND OR NOT", &"x".repeat(10_000), "💥"] {
        assert_eq!(lexical(&index, query, &everything()).await, Vec::<String>::new(), "{query:.20}");
    }
    assert_eq!(index.lexical("thing", &everything(), 0).await.unwrap(), []);
    assert_eq!(index.semantic(&vector("thing"), &everything(), 0).await.unwrap(), []);
}

#[tokio::test]
async fn query_is_words_and_no_syntax() {
    let (_dir, index) = index_of(&[issue("a/b#1", "Tokens", "alpha beta"), issue("a/b#2", "Other", "gamma")]).await;
    for query in [
        "alpha AND missing",
        "\"alpha missing\"",
        "+alpha -beta",
        "title:alpha",
        "alpha*",
        "(alpha",
        "alpha^2",
        "alpha~1 /x/",
    ] {
        assert_eq!(lexical(&index, query, &everything()).await, ["a/b#1"], "{query}");
    }
    let long = format!("{} gamma", "missing".repeat(3)) + &" filler".repeat(1500);
    assert_eq!(lexical(&index, &long, &everything()).await, ["a/b#2"]);
}

#[tokio::test]
async fn hits_with_equal_scores_are_ordered_by_id() {
    let documents: Vec<_> = (0..300).rev().map(|n| issue(&format!("a/b#{n:03}"), "Same title", "same body")).collect();
    let (dir, index) = index_of(&documents).await;
    let expected: Vec<_> = (0..50).map(|n| format!("a/b#{n:03}")).collect();
    let check = async |index: &Index, when: &str| {
        let hits = index.lexical("body", &everything(), 1000).await.unwrap();
        assert_eq!(hits.len(), 300, "{when}");
        assert!(hits.windows(2).all(|pair| pair[0].document < pair[1].document), "{when}");
        let hits = index.semantic(&vector("body"), &everything(), 1000).await.unwrap();
        assert_eq!(hits.iter().take(50).map(|hit| hit.document.clone()).collect::<Vec<_>>(), expected, "{when}");
        assert!(hits.iter().all(|hit| hit.score == hits[0].score));
    };
    check(&index, "unindexed").await;
    index.optimize().await.unwrap();
    check(&index, "indexed").await;
    drop(index);
    check(&open(&dir).await, "reopened").await;
}

#[tokio::test]
async fn best_passage_stands_for_its_document() {
    let mut long = issue("a/b#1", "Long", "");
    long.parts =
        ["cats", "dogs", "birds and fish"].map(|body| Part { attribution: String::new(), body: body.into() }).into();
    let (_dir, index) = index_of(&[long, issue("a/b#2", "Short", "dogs and more of them")]).await;
    assert_eq!(index.coverage().passages, 4);
    let hits = index.semantic(&vector("Long dogs"), &everything(), 10).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.document.as_str()).collect::<Vec<_>>(), ["a/b#1", "a/b#2"]);
    assert_eq!(hits[0].text, "Long\n\ndogs");
    assert!((hits[0].score - 1.0).abs() < 1e-3, "{}", hits[0].score);
    assert!(hits[1].score < hits[0].score && hits[1].score > 0.0);

    // As many documents as asked for, however many passages the first ones have.
    let mut many = issue("a/b#3", "Many", "");
    many.parts = (0..400).map(|n| Part { attribution: String::new(), body: format!("elephant {n}") }).collect();
    index.apply(threads(std::slice::from_ref(&many)), 2).await.unwrap();
    embed(&index, &[many]).await;
    let hits = index.semantic(&vector("Many elephant"), &everything(), 3).await.unwrap();
    assert_eq!(hits.len(), 3);
    assert_eq!(hits[0].document, "a/b#3");
}

#[tokio::test]
async fn vectors_are_known_by_their_text_even_after_a_change() {
    let mut document = issue("a/b#1", "Title", "first");
    document.parts.push(Part { attribution: String::new(), body: "second".into() });
    let (dir, index) = index_of(std::slice::from_ref(&document)).await;
    let hashes: Vec<_> = passages(&document).passages.into_iter().map(|passage| passage.text_hash).collect();
    let known = index.known_vectors(&hashes).await.unwrap();
    assert_eq!(known.len(), 2);
    assert_eq!(known[&hashes[1]], vector("Title\n\nsecond"));
    assert!(index.known_vectors(&[sha256_hex("never embedded")]).await.unwrap().is_empty());

    let old = Vectors::open(dir.path(), &model("words")).await.unwrap().unwrap();
    assert_eq!(old.find(&hashes).await.unwrap(), known);
    assert!(Vectors::open(dir.path(), &model("other")).await.unwrap().is_none());
    assert!(Vectors::open(&dir.path().join("none"), &model("words")).await.unwrap().is_none());

    // The first part is as before; only the second must be embedded.
    document.parts[1].body = "third".into();
    index.apply(threads(&[document]), 2).await.unwrap();
    assert_eq!(index.coverage().passages, 0);
    assert_eq!(index.known_vectors(&hashes[..1]).await.unwrap()[&hashes[0]], vector("Title\n\nfirst"));
}

#[tokio::test]
async fn vectors_that_the_model_cannot_make_are_refused() {
    let document = issue("a/b#1", "Title", "body");
    let (_dir, index) = index_of(std::slice::from_ref(&document)).await;
    for bad in [vec![1.0; DIMENSION - 1], vec![f32::NAN; DIMENSION], vec![0.0; DIMENSION]] {
        let error = index.semantic(&bad, &everything(), 10).await.unwrap_err();
        assert!(matches!(error, IndexError::Vector { .. }), "{error}");
        let mut given = passages(&document);
        given.passages[0].vector = bad;
        let error = index.add_passages(vec![given]).await.unwrap_err();
        assert!(error.to_string().contains("a/b#1") && error.to_string().contains("words"), "{error}");
    }
    assert_eq!(index.coverage().embedded, 1);
}

#[tokio::test]
async fn another_model_keeps_the_vectors_until_it_brings_its_own() {
    let document = issue("a/b#1", "Title", "body");
    for other in [model("other"), ModelTag { name: "words".into(), dimension: 4 }] {
        let (dir, index) = index_of(std::slice::from_ref(&document)).await;
        drop(index);
        let index = Index::open(dir.path(), other.clone()).await.unwrap();
        assert_eq!(index.model_changed(), Some(model("words")));
        assert_eq!((index.coverage().embedded, index.coverage().passages, index.pending(None, 9).len()), (0, 0, 1));
        let query = vec![1.0; other.dimension];
        assert_eq!(index.semantic(&query, &everything(), 10).await.unwrap(), []);
        let hash = passages(&document).passages[0].text_hash.clone();
        assert!(index.known_vectors(std::slice::from_ref(&hash)).await.unwrap().is_empty());
        assert_eq!(lexical(&index, "body", &everything()).await, ["a/b#1"]);

        // It was a mistake: nothing is lost, and changes made meanwhile are there.
        let relabelled = Document { labels: vec!["new".into()], ..document.clone() };
        let added = issue("a/b#2", "Added", "later");
        index.apply(threads(&[relabelled.clone(), added.clone()]), 2).await.unwrap();
        index.optimize().await.unwrap();
        drop(index);
        let index = open(&dir).await;
        assert_eq!(index.model_changed(), None);
        assert_eq!((index.coverage().embedded, index.coverage().documents), (1, 2));
        let labelled = Filter { labels: vec!["new".into()], ..everything() };
        assert_eq!(semantic(&index, "body", &labelled).await, ["a/b#1"]);
        drop(index);

        let index = Index::open(dir.path(), other.clone()).await.unwrap();
        let mut renewed = passages(&added);
        renewed.passages[0].vector = query.clone();
        index.add_passages(vec![renewed]).await.unwrap();
        assert_eq!(index.model_changed(), None);
        assert_eq!((index.coverage().embedded, index.coverage().passages), (1, 1));
        assert_eq!(index.semantic(&query, &everything(), 10).await.unwrap()[0].document, "a/b#2");
        drop(index);
        let index = Index::open(dir.path(), other).await.unwrap();
        assert_eq!((index.model_changed(), index.coverage().embedded), (None, 1));
    }
}

#[tokio::test]
async fn what_was_applied_is_there_after_reopening() {
    let dir = TempDir::new().unwrap();
    // No character of the path means anything.
    let path = dir.path().join("a dir%20 with #? & ünïcode");
    let index = Index::open(&path, model("words")).await.unwrap();
    assert_eq!(index.applied_seq().await.unwrap(), 0);
    let documents = [issue("a/b#1", "Title", "body"), issue("a/b#2", "Title", "other")];
    index.apply(threads(&documents), 41).await.unwrap();
    index.apply(vec![], 42).await.unwrap();
    embed(&index, &documents[..1]).await;
    let coverage = index.coverage();
    drop(index);

    let index = Index::open(&path, model("words")).await.unwrap();
    assert_eq!(index.applied_seq().await.unwrap(), 42);
    assert_eq!(index.coverage(), coverage);
    assert_eq!(index.pending(None, 10)[0].id, "a/b#2");
    assert_eq!(lexical(&index, "body", &everything()).await, ["a/b#1"]);
    assert!(index.size_on_disk().unwrap() > 1000);
    index.optimize().await.unwrap();
    assert_eq!((index.applied_seq().await.unwrap(), index.unindexed().await.unwrap()), (42, 0));
}

/// Every file below a directory whose path contains the text.
fn files_below(dir: &Path, containing: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path, containing));
        } else if path.to_str().unwrap().contains(containing) {
            found.push(path);
        }
    }
    found
}

#[tokio::test]
async fn damage_is_noticed_when_opening() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 5] = [
        ("manifests cut short", |dir| {
            files_below(dir, "documents.lance/_versions").iter().for_each(|file| fs::write(file, "").unwrap());
        }),
        ("manifests gone", |dir| fs::remove_dir_all(dir.join("documents.lance/_versions")).unwrap()),
        ("a data file gone", |dir| {
            files_below(dir, "documents.lance/data").iter().for_each(|file| fs::remove_file(file).unwrap());
        }),
        ("a data file of passages cut short", |dir| {
            files_below(dir, "passages.lance/data").iter().for_each(|file| fs::write(file, "short").unwrap());
        }),
        ("documents gone", |dir| fs::remove_dir_all(dir.join("documents.lance")).unwrap()),
    ];
    for (what, harm) in harms {
        let (dir, index) = index_of(&[issue("a/b#1", "Title", "body")]).await;
        drop(index);
        harm(dir.path());
        let error = Index::open(dir.path(), model("words")).await.expect_err(what);
        assert!(matches!(error, IndexError::Damaged { .. }), "{what}: {error}");
        let sentence = error.to_string();
        assert!(sentence.contains(dir.path().to_str().unwrap()) && sentence.contains("rebuild index"), "{sentence}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Index::open(file.path(), model("words")).await.unwrap_err();
    assert!(matches!(error, IndexError::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn passages_that_a_power_cut_took_back_are_noticed() {
    let (dir, index) = index_of(&[issue("a/b#1", "Title", "body")]).await;
    let versions = dir.path().join("passages.lance/_versions");
    let before = files(&versions);
    index.apply(threads(&[Document { labels: vec![], ..issue("a/b#1", "Title", "body") }]), 2).await.unwrap();
    drop(index);
    for file in files(&versions).iter().filter(|file| !before.contains(file)) {
        fs::remove_file(file).unwrap();
    }
    let error = Index::open(dir.path(), model("words")).await.unwrap_err();
    assert!(matches!(error, IndexError::Damaged { .. }), "{error}");
}

/// Changes the version that `documents` says it has.
fn set_schema_version(dir: &Path, version: u8) {
    let key = b"backstory:schema\x12\x01";
    let mut patched = 0;
    for file in files_below(dir, "documents.lance/_versions") {
        let mut bytes = fs::read(&file).unwrap();
        for at in 0..bytes.len().saturating_sub(key.len()) {
            if bytes[at..].starts_with(key) {
                bytes[at + key.len()] = version;
                patched += 1;
            }
        }
        fs::write(&file, bytes).unwrap();
    }
    assert!(patched > 0);
}

#[tokio::test]
async fn index_of_another_version_is_not_opened() {
    let (dir, index) = index_of(&[issue("a/b#1", "Title", "body")]).await;
    drop(index);
    set_schema_version(dir.path(), b'9');
    let error = Index::open(dir.path(), model("words")).await.unwrap_err();
    assert!(matches!(error, IndexError::Newer { .. }), "{error}");
    assert!(error.to_string().contains("format 9."), "{error}");
    set_schema_version(dir.path(), b'0');
    let error = Index::open(dir.path(), model("words")).await.unwrap_err();
    assert!(matches!(error, IndexError::Outdated { .. }), "{error}");
    // A rebuild can still take over its vectors.
    let vectors = Vectors::open(dir.path(), &model("words")).await.unwrap().unwrap();
    let hash = passages(&issue("a/b#1", "Title", "body")).passages[0].text_hash.clone();
    assert_eq!(vectors.find(&[hash]).await.unwrap().len(), 1);
}

/// A small generator of numbers, the same ones every time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    /// A word of a vocabulary in which few words are frequent. No stemmer changes it.
    fn word(&mut self) -> String {
        let rank = self.below(60).min(self.below(60)).min(self.below(60));
        format!("w{rank}x")
    }

    fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

fn generated(random: &mut Random, count: usize) -> Vec<Document> {
    let kinds = DocumentKind::ALL;
    (0..count)
        .map(|n| {
            let (title, longest) = (1 + random.below(6), 1 + random.below(80));
            let length = 1 + random.below(longest);
            let (title, body) = (random.text(title), random.text(length));
            Document {
                kind: kinds[random.below(3)],
                author: Some(format!("author{}", random.below(40))),
                labels: (0..3).filter(|_| random.below(2) == 0).map(|label| format!("label{label}")).collect(),
                created_at: at(random.below(1000) as i64),
                ..issue(&format!("a/b#{n:04}"), &title, &body)
            }
        })
        .collect()
}

/// BM25 as the textbook has it, over the two fields.
fn bm25(documents: &[Document], query: &str) -> BTreeMap<String, f32> {
    let mut scores = BTreeMap::new();
    type Field = fn(&Document) -> &str;
    let fields: [(f32, Field); 2] = [(TEXT_BOOST, |d| &d.whole_text), (TITLE_BOOST, |d| &d.title)];
    for (boost, field) in fields {
        let tokens: Vec<Vec<&str>> = documents.iter().map(|d| field(d).split_whitespace().collect()).collect();
        let average = tokens.iter().map(Vec::len).sum::<usize>() as f32 / documents.len() as f32;
        for word in words(query) {
            let frequency = tokens.iter().filter(|tokens| tokens.contains(&word.as_str())).count() as f32;
            let idf = (1.0 + (documents.len() as f32 - frequency + 0.5) / (frequency + 0.5)).ln();
            for (document, tokens) in documents.iter().zip(&tokens) {
                let count = tokens.iter().filter(|token| **token == word).count() as f32;
                if count > 0.0 {
                    let norm = 1.2 * (1.0 - 0.75 + 0.75 * tokens.len() as f32 / average);
                    *scores.entry(document.id.clone()).or_default() += boost * idf * 2.2 * count / (count + norm);
                }
            }
        }
    }
    scores
}

fn passes(document: &Document, filter: &Filter) -> bool {
    (filter.kinds.is_empty() || filter.kinds.contains(&document.kind))
        && filter.author.as_ref().is_none_or(|author| document.author.as_ref() == Some(author))
        && filter.labels.iter().all(|label| document.labels.contains(label))
        && filter.after.is_none_or(|after| document.created_at >= after)
        && filter.before.is_none_or(|before| document.created_at < before)
}

fn some_filter(random: &mut Random) -> Filter {
    match random.below(6) {
        0 => everything(),
        1 => Filter { kinds: vec![DocumentKind::ALL[random.below(3)]], ..everything() },
        2 => Filter { author: Some(format!("author{}", random.below(40))), ..everything() },
        3 => Filter { labels: vec!["label0".into(), "label2".into()], ..everything() },
        4 => Filter { after: Some(at(random.below(1000) as i64)), ..everything() },
        _ => Filter { before: Some(at(random.below(100) as i64)), labels: vec!["label1".into()], ..everything() },
    }
}

/// Lance has been seen to lose the best hits with some limits and filters.
#[tokio::test]
async fn top_hits_are_those_of_a_plain_bm25() {
    let mut random = Random(42);
    let documents = generated(&mut random, 600);
    let dir = TempDir::new().unwrap();
    let index = open(&dir).await;
    index.apply(threads(&documents), 1).await.unwrap();
    index.optimize().await.unwrap();
    for _ in 0..120 {
        let length = 1 + random.below(6);
        let (query, filter, limit) = (random.text(length), some_filter(&mut random), 1 + random.below(30));
        let scores = bm25(&documents, &query);
        let mut expected: Vec<_> =
            documents.iter().filter(|d| passes(d, &filter)).filter_map(|d| scores.get(&d.id)).copied().collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        expected.truncate(limit);
        let hits = index.lexical(&query, &filter, limit).await.unwrap();
        let found: Vec<_> = hits.iter().map(|hit| hit.score).collect();
        assert_eq!(found.len(), expected.len(), "{query} {filter:?} {limit}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 0.01 * expected, "{query} {filter:?} {limit}\n{found:?}\n{expected:?}");
        }
        for hit in &hits {
            assert!((hit.score - scores[&hit.document]).abs() < 0.01 * hit.score, "{query} {hit:?}");
        }
    }
}

/// A filter and a limit only ever take hits away: when the full-text index has many parts, when some documents are not
/// in it, when documents were changed and deleted, and when it is in one piece again.
#[tokio::test]
async fn filter_and_limit_only_take_hits_away() {
    let mut random = Random(7);
    let mut documents = generated(&mut random, 900);
    let dir = TempDir::new().unwrap();
    let index = open(&dir).await;
    for part in documents.chunks(60) {
        index.apply(threads(part), 1).await.unwrap();
    }
    let gone: Vec<_> = documents.drain(10..30).map(|document| deleted(&document.id)).collect();
    index.apply(gone, 2).await.unwrap();
    assert_eq!(index.unindexed().await.unwrap(), 0);
    hits_are_consistent(&index, &documents, &mut random, 1e-5).await;

    for n in (0..400).step_by(10) {
        documents[n] = Document { id: documents[n].id.clone(), ..generated(&mut random, 1).remove(0) };
    }
    index.apply(threads(&documents), 3).await.unwrap();
    assert_eq!(index.unindexed().await.unwrap(), 40);
    // How rare a word is, is told from the rows in the full-text index and those that are read besides.
    hits_are_consistent(&index, &documents, &mut random, 0.05).await;
    index.optimize().await.unwrap();
    assert_eq!(index.unindexed().await.unwrap(), 0);
    hits_are_consistent(&index, &documents, &mut random, 1e-5).await;
}

async fn hits_are_consistent(index: &Index, documents: &[Document], random: &mut Random, tolerance: f32) {
    let by_id: BTreeMap<_, _> = documents.iter().map(|d| (d.id.as_str(), d)).collect();
    for _ in 0..50 {
        let length = 1 + random.below(5);
        let (query, filter, limit) = (random.text(length), some_filter(random), 1 + random.below(30));
        let mut expected = index.lexical(&query, &everything(), 1000).await.unwrap();
        let asked = words(&query);
        let matching = documents.iter().filter(|d| words(&d.whole_text).iter().any(|word| asked.contains(word)));
        assert_eq!(expected.len(), matching.count(), "{query}");
        expected.retain(|hit| passes(by_id[hit.document.as_str()], &filter));
        let hits = index.lexical(&query, &filter, limit).await.unwrap();
        let found: BTreeMap<_, _> = hits.iter().map(|hit| (hit.document.as_str(), hit.score)).collect();
        assert_eq!(found.len(), limit.min(expected.len()), "{query} {filter:?} {limit}");
        let worst = hits.last().map_or(0.0, |hit| hit.score);
        for hit in expected {
            let score = found.get(hit.document.as_str()).copied();
            let is_like = |score: f32| (score - hit.score).abs() <= tolerance * hit.score;
            assert!(
                score.map_or(hit.score <= worst * (1.0 + tolerance), is_like),
                "{query} {filter:?} {limit}\n{hit:?} {score:?} {worst}"
            );
        }
    }
}

/// What the index should have, kept as simply as possible.
#[derive(Default)]
struct Mirror {
    documents: BTreeMap<String, Document>,
    embedded: BTreeMap<String, String>,
}

impl Mirror {
    fn replace(&mut self, threads: &[ThreadDocuments]) {
        for thread in threads {
            self.documents.retain(|id, _| *id != thread.thread && !id.starts_with(&format!("{}~", thread.thread)));
            self.documents.extend(thread.documents.iter().map(|document| (document.id.clone(), document.clone())));
        }
        let documents = &self.documents;
        self.embedded.retain(|id, hash| documents.get(id).is_some_and(|document| document.content_hash() == *hash));
    }

    async fn check(&self, index: &Index) {
        let ids: Vec<_> = self.documents.keys().cloned().collect();
        let stored = index.documents(&ids).await.unwrap();
        assert_eq!(stored.len(), ids.len());
        for (document, expected) in stored.iter().zip(self.documents.values()) {
            assert_eq!((&document.text, &document.labels), (&expected.text(), &expected.labels));
        }
        let mut found = lexical_ids(index, "always").await;
        found.sort();
        assert_eq!(found, ids);
        let hits = index.semantic(&vector("always"), &everything(), 1000).await.unwrap();
        let mut found: Vec<_> = hits.iter().map(|hit| hit.document.clone()).collect();
        found.sort();
        assert_eq!(found, self.embedded.keys().cloned().collect::<Vec<_>>());
        for label in 0..3 {
            let labels = vec![format!("label{label}")];
            let filter = Filter { labels: labels.clone(), ..everything() };
            let hits = index.semantic(&vector("always"), &filter, 1000).await.unwrap();
            let has = |id: &&String| self.documents[*id].labels.contains(&labels[0]);
            assert_eq!(hits.len(), self.embedded.keys().filter(has).count());
        }
        let coverage = index.coverage();
        let embedded = |id: &String| self.embedded.contains_key(id);
        let passages: usize = self.embedded.keys().map(|id| self.documents[id].parts.len()).sum();
        assert_eq!(coverage.documents, ids.len() as u64);
        assert_eq!(coverage.embedded, self.embedded.len() as u64);
        assert_eq!(coverage.passages, passages as u64);
        let pending: Vec<_> = index.pending(None, usize::MAX).into_iter().map(|document| document.id).collect();
        assert_eq!(pending, ids.into_iter().filter(|id| !embedded(id)).collect::<Vec<_>>());
    }
}

async fn lexical_ids(index: &Index, query: &str) -> Vec<String> {
    index.lexical(query, &everything(), 1000).await.unwrap().into_iter().map(|hit| hit.document).collect()
}

fn some_thread(random: &mut Random) -> ThreadDocuments {
    let id = format!("a/b#{}", random.below(25));
    if random.below(6) == 0 {
        return deleted(&id);
    }
    let mut parent = issue(&id, "Always", &format!("text {}", random.below(3)));
    parent.labels = (0..3).filter(|_| random.below(2) == 0).map(|label| format!("label{label}")).collect();
    let mut documents = vec![parent.clone()];
    for n in 0..random.below(4) {
        let mut reply = discussion(&parent, &format!("d{n}"), &format!("note {}", random.below(3)));
        reply
            .parts
            .extend((0..random.below(3)).map(|n| Part { attribution: String::new(), body: format!("more {n}") }));
        documents.push(reply);
    }
    thread(&documents)
}

#[tokio::test]
async fn any_sequence_of_writes_leaves_what_it_should() {
    let dir = TempDir::new().unwrap();
    let (mut index, mut mirror, mut random) = (open(&dir).await, Mirror::default(), Random(3));
    for step in 0..60 {
        match random.below(10) {
            0..=4 => {
                let mut batch: Vec<_> = (0..1 + random.below(6)).map(|_| some_thread(&mut random)).collect();
                batch.sort_by(|a, b| a.thread.cmp(&b.thread));
                batch.dedup_by(|a, b| a.thread == b.thread);
                mirror.replace(&batch);
                index.apply(batch, step).await.unwrap();
                assert_eq!(index.applied_seq().await.unwrap(), step);
            }
            5..=7 => {
                // Some that are pending, and sometimes one that is not.
                let count = random.below(8);
                let mut ids: Vec<_> = index.pending(None, count).into_iter().map(|document| document.id).collect();
                ids.extend(mirror.embedded.keys().take(random.below(2)).cloned());
                let documents: Vec<_> = ids.iter().map(|id| mirror.documents[id].clone()).collect();
                embed(&index, &documents).await;
                mirror.embedded.extend(documents.iter().map(|document| (document.id.clone(), document.content_hash())));
            }
            8 => index.optimize().await.unwrap(),
            _ => {
                drop(index);
                index = open(&dir).await;
            }
        }
        mirror.check(&index).await;
    }
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
        assert_eq!(index.lexical("common", &everything(), 1000).await.unwrap().len(), 200);
        index.semantic(&vector("common"), &everything(), 10).await.unwrap();
        tokio::task::yield_now().await;
    }
    writer.await.unwrap();
}
