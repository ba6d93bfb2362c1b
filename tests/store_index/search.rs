//! Searching by words and by meaning, with filters.

use backstory_model::{
    document::{Document, DocumentPart},
    document_type::DocumentType,
    entity::State,
    filter::{DocumentKind, Filter},
    terms::{QueryTerms, term_of},
};
use backstory_store::index::{Index, Named, ProjectScope, ThreadDocuments};
use proptest::prelude::*;
use tempfile::TempDir;

use super::{at, deleted, embed, everything, index_of, issue, lexical, open, semantic, threads, vector};

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
        Document { state: Some(State::Merged), ..base(8) },
    ];
    let (_dir, index) = index_of(&documents).await;
    type Keeps = fn(&Document) -> bool;
    let cases: Vec<(Filter, Keeps)> = vec![
        (everything(), |_| true),
        (Filter { kinds: vec![DocumentKind::MergeRequest], ..everything() }, |d| d.kind == DocumentKind::MergeRequest),
        (Filter { kinds: vec![DocumentKind::Issue, DocumentKind::Discussion], ..everything() }, |d| {
            d.kind != DocumentKind::MergeRequest
        }),
        (Filter { authors: vec!["bob".into()], ..everything() }, |d| d.author.as_deref() == Some("bob")),
        (Filter { labels: vec!["ui".into()], ..everything() }, |d| d.labels.contains(&"ui".into())),
        (Filter { labels: vec!["ui".into(), "bug".into()], ..everything() }, |d| d.labels.len() == 2),
        (Filter { labels: vec!["ui".into(), "none".into()], ..everything() }, |_| false),
        (Filter { after: Some(at(3)), ..everything() }, |d| d.created_at >= at(3)),
        (Filter { before: Some(at(3)), ..everything() }, |d| d.created_at < at(3)),
        (Filter { project: Some("acme/other".into()), ..everything() }, |d| d.project == "acme/other"),
        (Filter { state: Some(State::Merged), ..everything() }, |d| d.state == Some(State::Merged)),
        (
            Filter { authors: vec!["alice".into()], after: Some(at(2)), labels: vec!["bug".into()], ..everything() },
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

#[tokio::test]
async fn a_filter_that_all_documents_meet_is_one_for_those_that_come() {
    let one = [issue("a/b#1", "Common", "one")];
    let (_dir, index) = index_of(&one).await;
    let issues = Filter { kinds: vec![DocumentKind::Issue], ..everything() };
    let of_project = Filter { project: Some("acme/shop".into()), ..everything() };
    let commits = Filter { kinds: vec![DocumentKind::Commit], ..everything() };
    let found = async |filter: &Filter| {
        let mut of_both = [lexical(&index, "common", filter).await, semantic(&index, "common", filter).await];
        of_both.iter_mut().for_each(|hits| hits.sort());
        let [words, meaning] = of_both;
        assert_eq!(words, meaning, "{filter:?}");
        words
    };
    assert_eq!(found(&issues).await, ["a/b#1"]);
    assert_eq!(found(&of_project).await, ["a/b#1"]);
    assert!(found(&commits).await.is_empty());

    let more = [
        Document { kind: DocumentKind::Commit, ..issue("a/b@aaaa1111", "Common", "two") },
        Document { project: "acme/other".into(), ..issue("a/c#1", "Common", "three") },
    ];
    index.apply(threads(&more), 2).await.unwrap();
    embed(&index, &more).await;
    assert_eq!(found(&issues).await, ["a/b#1", "a/c#1"]);
    assert_eq!(found(&of_project).await, ["a/b#1", "a/b@aaaa1111"]);
    assert_eq!(found(&commits).await, ["a/b@aaaa1111"]);

    index.apply(vec![deleted("a/b#1"), deleted("a/c#1")], 3).await.unwrap();
    assert!(found(&issues).await.is_empty());
    assert_eq!(found(&commits).await, ["a/b@aaaa1111"]);
}

// Rows 73 and 74 of docs/requirements.md.
#[tokio::test]
async fn names_of_people_and_labels_count_in_any_case() {
    let documents = [
        Document { author: Some("SIPA".into()), labels: vec!["Performance".into()], ..issue("a/b#1", "Common", "one") },
        Document { author: Some("sipa".into()), labels: vec!["performance".into()], ..issue("a/b#2", "Common", "two") },
        Document { author: Some("Ünal".into()), labels: vec![], ..issue("a/b#3", "Common", "three") },
    ];
    let (_dir, index) = index_of(&documents).await;
    let by = |author: &str| Filter { authors: vec![author.into()], ..everything() };
    let labeled = |label: &str| Filter { labels: vec![label.into()], ..everything() };
    for (filter, expected) in [
        (by("Sipa"), vec!["a/b#1", "a/b#2"]),
        (by("üNAL"), vec!["a/b#3"]),
        (by("sip"), vec![]),
        (labeled("PERFORMANCE"), vec!["a/b#1", "a/b#2"]),
        (labeled("perform"), vec![]),
    ] {
        for mut hits in [lexical(&index, "common", &filter).await, semantic(&index, "common", &filter).await] {
            hits.sort();
            assert_eq!(hits, expected, "{filter:?}");
        }
    }
    let known: Vec<String> =
        index.known_names(Named::Label, ProjectScope::All).iter().map(|label| label.to_string()).collect();
    assert_eq!(known, ["Performance", "performance"]);
}

// Row 3 of docs/requirements.md.
/// What a filter lets through is looked for among all documents, not among the best.
#[tokio::test]
async fn a_path_or_a_governing_document_is_found_behind_hundreds_of_better_ones() {
    let file = |id: &str, path: &str, text: &str| Document {
        kind: DocumentKind::File,
        path: Some(path.into()),
        ..issue(id, "Errors", text)
    };
    let mut documents: Vec<Document> = (0..400)
        .map(|n| file(&format!("a/b:src/m{n}.rs"), &format!("src/m{n}.rs"), "errors errors errors errors"))
        .collect();
    documents.push(file("a/b:lib/deep/x.rs", "lib/deep/x.rs", "errors and many more words that make it worse"));
    documents.push(file("a/b:docs/adr/1.md", "docs/adr/0001-errors.md", "errors are told with many words of no use"));
    documents.push(Document {
        kind: DocumentKind::Commit,
        changed: vec!["src/m1.rs".into(), "lib/100%_x'\"/y.rs".into()],
        ..issue("a/b@1", "Errors", "errors in a commit with many words that make it worse")
    });
    let (_dir, index) = index_of(&documents).await;
    let below = |prefix: &str| Filter { paths: vec![prefix.into()], ..everything() };
    let governing = Filter { document_types: DocumentType::GOVERNING.to_vec(), ..everything() };
    let either = Filter { paths: vec!["lib/deep".into(), "docs/".into(), "lib/100%".into()], ..everything() };
    let nodes = Filter { nodes: vec!["a/b@1".into(), "a/b:lib/deep/x.rs".into(), "a/b#9".into()], ..everything() };
    let elsewhere = Filter { projects: vec!["a/c".into(), "a/d".into()], ..everything() };
    for indexed in [false, true] {
        if indexed {
            index.optimize().await.unwrap();
        }
        for (filter, expected) in [
            (below("lib/"), vec!["a/b:lib/deep/x.rs", "a/b@1"]),
            (below("lib/deep"), vec!["a/b:lib/deep/x.rs"]),
            (below("lib/100%_x'\""), vec!["a/b@1"]),
            (below("deep"), vec![]),
            (below("lib/d_ep"), vec![]),
            (governing.clone(), vec!["a/b:docs/adr/1.md"]),
            (either.clone(), vec!["a/b:docs/adr/1.md", "a/b:lib/deep/x.rs", "a/b@1"]),
            (nodes.clone(), vec!["a/b:lib/deep/x.rs", "a/b@1"]),
            (elsewhere.clone(), vec![]),
        ] {
            let words = index.search_text("errors", &filter, 3).await.unwrap();
            let meaning = index.search_vectors(&vector("errors"), &filter, 3).await.unwrap();
            let mut words: Vec<String> = words.into_iter().map(|hit| hit.document).collect();
            let mut meaning: Vec<String> = meaning.into_iter().map(|hit| hit.document).collect();
            words.sort();
            meaning.sort();
            assert_eq!(
                (words, meaning),
                (
                    expected.iter().map(|id| (*id).to_owned()).collect(),
                    expected.iter().map(|id| (*id).to_owned()).collect()
                ),
                "indexed: {indexed}, {filter:?}"
            );
        }
    }
    // The paths follow when a document changes, and are part of the metadata of a document.
    let moved = file("a/b:lib/deep/x.rs", "other/x.rs", "errors and many more words that make it worse");
    index.apply(threads(&[moved]), 2).await.unwrap();
    assert_eq!(lexical(&index, "errors", &below("lib/deep")).await, Vec::<String>::new());
    assert_eq!(semantic(&index, "errors", &below("other/")).await, ["a/b:lib/deep/x.rs"]);
    let facts = index.facts(["a/b:lib/deep/x.rs"]);
    assert_eq!(facts["a/b:lib/deep/x.rs"].paths().collect::<Vec<_>>(), ["other/x.rs"]);
}

/// What is counted of a project is what an index of it alone would count, whatever else there is.
#[tokio::test]
async fn words_are_counted_in_each_project_apart() {
    let of = |project: &str, n: i64, body: &str| Document {
        project: project.into(),
        ..issue(&format!("{project}#{n}"), "Common", body)
    };
    let shop = [of("acme/shop", 1, "database session"), of("acme/shop", 2, "session")];
    let others: Vec<Document> = (0..50).map(|n| of("acme/other", n, "database cache")).collect();
    let ids: Vec<_> = ["database", "session", "cache", "nothing"].map(|word| term_of(word).unwrap()).to_vec();
    let (_alone_dir, alone) = index_of(&shop).await;
    let all: Vec<Document> = shop.iter().chain(&others).cloned().collect();
    let (dir, index) = index_of(&all).await;
    let projects = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let counted =
        |index: &Index, names: &[&str]| index.document_frequencies(ProjectScope::Only(&projects(names)), ids.clone());
    assert_eq!(counted(&index, &["acme/shop"]), alone.document_frequencies(ProjectScope::All, ids.clone()));
    assert_eq!(counted(&index, &["acme/shop"]), (2, vec![1, 2, 0, 0]));
    assert_eq!(counted(&index, &["acme/shop", "acme/other"]), (52, vec![51, 2, 50, 0]));
    assert_eq!(
        counted(&index, &["acme/shop", "acme/other"]),
        index.document_frequencies(ProjectScope::All, ids.clone())
    );
    assert_eq!(counted(&index, &["acme/nothing"]), (0, vec![0, 0, 0, 0]));
    let coverage = |index: &Index| index.coverage_of(ProjectScope::Only(&projects(&["acme/shop"])));
    assert_eq!(coverage(&index), alone.coverage());

    let changed = Document {
        parts: vec![DocumentPart { attribution: String::new(), body: "cache".into() }],
        whole_text: "Common\n\ncache".into(),
        ..shop[1].clone()
    };
    index.apply(threads(&[changed]), 2).await.unwrap();
    index.apply(vec![ThreadDocuments { thread: others[0].id.clone(), documents: vec![] }], 3).await.unwrap();
    let expected = [(2, vec![1, 1, 1, 0]), (49, vec![49, 0, 49, 0])];
    let found = |index: &Index| [counted(index, &["acme/shop"]), counted(index, &["acme/other"])];
    assert_eq!(found(&index), expected);
    assert_eq!((coverage(&index).documents, coverage(&index).embedded, coverage(&index).passages), (2, 1, 1));
    let before = coverage(&index);
    drop(index);
    let index = open(&dir).await;
    assert_eq!(found(&index), expected, "the same after it was opened again");
    assert_eq!(coverage(&index), before);
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
                    Filter { authors: vec![value.clone()], ..everything() },
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
                index.search_text(value, &everything(), 10).await.unwrap();
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
    assert_eq!(index.search_text("thing", &everything(), 0).await.unwrap(), []);
    assert_eq!(index.search_vectors(&vector("thing"), &everything(), 0).await.unwrap(), []);
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
        let hits = index.search_text("body", &everything(), 1000).await.unwrap();
        assert_eq!(hits.len(), 300, "{when}");
        assert!(hits.windows(2).all(|pair| pair[0].document < pair[1].document), "{when}");
        let hits = index.search_vectors(&vector("body"), &everything(), 1000).await.unwrap();
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
    long.parts = ["cats", "dogs", "birds and fish"]
        .map(|body| DocumentPart { attribution: String::new(), body: body.into() })
        .into();
    let (_dir, index) = index_of(&[long, issue("a/b#2", "Short", "dogs and more of them")]).await;
    assert_eq!(index.coverage().passages, 4);
    let hits = index.search_vectors(&vector("Long dogs"), &everything(), 10).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.document.as_str()).collect::<Vec<_>>(), ["a/b#1", "a/b#2"]);
    let query = QueryTerms::of("fish, dogs");
    let passages = index.score_passages(&vector("Long dogs"), &query, &["a/b#1", "a/b#404"]).await.unwrap();
    assert_eq!(passages.len(), 3);
    assert_eq!(Vec::from_iter(index.embedded(["a/b#1", "a/b#404"])), ["a/b#1"]);
    let nearest = passages.iter().max_by(|a, b| a.similarity.total_cmp(&b.similarity)).unwrap();
    assert_eq!((nearest.document.as_str(), nearest.found), ("a/b#1", 0b10));
    assert!((nearest.similarity - 1.0).abs() < 2e-3, "{}", nearest.similarity);
    assert_eq!(index.passage_texts(&[nearest.id]).await.unwrap()[&nearest.id], "Long\n\ndogs");
    assert!((hits[0].score - 1.0).abs() < 1e-3, "{}", hits[0].score);
    assert!(hits[1].score < hits[0].score && hits[1].score > 0.0);

    // As many documents as asked for, however many passages the first ones have.
    let mut many = issue("a/b#3", "Many", "");
    many.parts = (0..400).map(|n| DocumentPart { attribution: String::new(), body: format!("elephant {n}") }).collect();
    index.apply(threads(std::slice::from_ref(&many)), 2).await.unwrap();
    embed(&index, &[many]).await;
    let hits = index.search_vectors(&vector("Many elephant"), &everything(), 3).await.unwrap();
    assert_eq!(hits.len(), 3);
    assert_eq!(hits[0].document, "a/b#3");
}
