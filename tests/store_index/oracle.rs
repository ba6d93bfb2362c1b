//! The index against simpler things that must agree with it.

use std::collections::BTreeMap;

use backstory_model::{
    document::{Document, DocumentPart},
    filter::{DocumentKind, Filter},
    text::words,
};
use backstory_store::index::{Index, ThreadDocuments};
use tempfile::TempDir;

use super::{at, deleted, discussion, embed, everything, issue, open, thread, threads, vector};

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

/// BM25 as the textbook has it.
fn bm25(documents: &[Document], query: &str) -> BTreeMap<String, f32> {
    let mut scores = BTreeMap::new();
    let tokens: Vec<Vec<&str>> = documents.iter().map(|d| d.whole_text.split_whitespace().collect()).collect();
    let average = tokens.iter().map(Vec::len).sum::<usize>() as f32 / documents.len() as f32;
    for word in words(query) {
        let frequency = tokens.iter().filter(|tokens| tokens.contains(&word.as_str())).count() as f32;
        let idf = (1.0 + (documents.len() as f32 - frequency + 0.5) / (frequency + 0.5)).ln();
        for (document, tokens) in documents.iter().zip(&tokens) {
            let count = tokens.iter().filter(|token| **token == word).count() as f32;
            if count > 0.0 {
                let norm = 1.2 * (1.0 - 0.75 + 0.75 * tokens.len() as f32 / average);
                *scores.entry(document.id.clone()).or_default() += idf * 2.2 * count / (count + norm);
            }
        }
    }
    scores
}

fn passes(document: &Document, filter: &Filter) -> bool {
    (filter.kinds.is_empty() || filter.kinds.contains(&document.kind))
        && (filter.authors.is_empty() || document.author.as_ref().is_some_and(|author| filter.authors.contains(author)))
        && filter.labels.iter().all(|label| document.labels.contains(label))
        && filter.after.is_none_or(|after| document.created_at >= after)
        && filter.before.is_none_or(|before| document.created_at < before)
}

fn some_filter(random: &mut Random) -> Filter {
    match random.below(6) {
        0 => everything(),
        1 => Filter { kinds: vec![DocumentKind::ALL[random.below(3)]], ..everything() },
        2 => Filter { authors: vec![format!("author{}", random.below(40))], ..everything() },
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
        let hits = index.search_text(&query, &filter, limit).await.unwrap();
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
        let mut expected = index.search_text(&query, &everything(), 1000).await.unwrap();
        let asked = words(&query);
        let matching = documents.iter().filter(|d| words(&d.whole_text).iter().any(|word| asked.contains(word)));
        assert_eq!(expected.len(), matching.count(), "{query}");
        expected.retain(|hit| passes(by_id[hit.document.as_str()], &filter));
        let hits = index.search_text(&query, &filter, limit).await.unwrap();
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
            let labels: Vec<&str> = document.facts.labels.iter().map(|label| &**label).collect();
            assert_eq!(
                (&document.text, labels),
                (&expected.text(), expected.labels.iter().map(String::as_str).collect())
            );
        }
        let mut found = lexical_ids(index, "always").await;
        found.sort();
        assert_eq!(found, ids);
        let hits = index.search_vectors(&vector("always"), &everything(), 1000).await.unwrap();
        let mut found: Vec<_> = hits.iter().map(|hit| hit.document.clone()).collect();
        found.sort();
        assert_eq!(found, self.embedded.keys().cloned().collect::<Vec<_>>());
        for label in 0..3 {
            let labels = vec![format!("label{label}")];
            let filter = Filter { labels: labels.clone(), ..everything() };
            let hits = index.search_vectors(&vector("always"), &filter, 1000).await.unwrap();
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
    index.search_text(query, &everything(), 1000).await.unwrap().into_iter().map(|hit| hit.document).collect()
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
        reply.parts.extend(
            (0..random.below(3)).map(|n| DocumentPart { attribution: String::new(), body: format!("more {n}") }),
        );
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
