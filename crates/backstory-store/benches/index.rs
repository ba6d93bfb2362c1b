//! Searching an index of 100,000 documents: how long it takes, how much of the exact answer it finds, and how much
//! memory it needs.
//!
//! `cargo bench --profile dev --workspace --bench index [-- DIRECTORY]` prints a table. The index is made in
//! the directory, if it is not there already, else in a temporary one.

#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

mod corpus;

use std::{path::Path, time::Instant};

use backstory_model::{
    entity::State,
    filter::{DocumentKind, Filter},
    terms::QueryTerms,
};
use backstory_store::index::{Index, IndexOptions, ModelTag};
use jiff::Timestamp;

use corpus::{
    DIMENSION, Outcome, PASSAGE, Random, THREADS, Vocabulary, build, directory_argument, head, memory, question, row,
    seed, thread, vector,
};

const QUERIES: usize = 200;
const RECALL_QUERIES: usize = 20;
const LIMIT: usize = 50;
/// Hits whose documents are read.
const SHOWN: usize = 10;

fn filters() -> Vec<(&'static str, Filter)> {
    let all = Filter::default();
    let date = |second| Timestamp::from_second(second).ok();
    vec![
        ("no filter", all.clone()),
        ("issues", Filter { kinds: vec![DocumentKind::Issue], ..all.clone() }),
        ("a rare author", Filter { authors: vec!["author1500".into()], ..all.clone() }),
        ("two labels", Filter { labels: vec!["label-3".into(), "label-7".into()], ..all.clone() }),
        ("a tenth of the time", Filter { after: date(1_500_000_000), before: date(1_530_000_000), ..all.clone() }),
        ("merged", Filter { state: Some(State::Merged), ..all }),
    ]
}

async fn searches(index: &Index, vocabulary: &Vocabulary, when: &str, filter: &Filter) -> Outcome<()> {
    let (mut lexical, mut semantic, mut both) = (vec![], vec![], vec![]);
    for n in 0..QUERIES {
        let (query, vector) = (question(vocabulary, n), vector(9_000_000 + n as u64));
        let start = Instant::now();
        index.search_text(&query, filter, LIMIT).await?;
        lexical.push(start.elapsed());
        let start = Instant::now();
        index.search_vectors(&vector, filter, LIMIT).await?;
        semantic.push(start.elapsed());
        let start = Instant::now();
        tokio::try_join!(index.search_text(&query, filter, LIMIT), index.search_vectors(&vector, filter, LIMIT))?;
        both.push(start.elapsed());
    }
    row(&format!("lexical, {when}"), &lexical);
    row(&format!("semantic, {when}"), &semantic);
    row(&format!("both at once, {when}"), &both);
    Ok(())
}

async fn long_query(index: &Index, vocabulary: &Vocabulary) -> Outcome<()> {
    let mut times = vec![];
    for n in 0..10 {
        let query = vocabulary.text(&mut Random(n), 10_000);
        let start = Instant::now();
        index.search_text(&query, &Filter::default(), LIMIT).await?;
        times.push(start.elapsed());
    }
    row("lexical, query of 10,000 characters", &times);
    Ok(())
}

async fn lookups(index: &Index) -> Outcome<()> {
    let [mut documents, mut compare, mut passages, mut facts] = [const { vec![] }; 4];
    for n in 0..QUERIES {
        let mut random = Random(n as u64);
        let ids: Vec<_> = (0..SHOWN).map(|_| format!("acme/shop#{}", random.below(THREADS / 2) * 2)).collect();
        let start = Instant::now();
        index.documents(&ids).await?;
        documents.push(start.elapsed());
        let names: Vec<&str> = ids.iter().map(String::as_str).collect();
        let start = Instant::now();
        let compared = index.score_passages(&vector(n as u64), &QueryTerms::of("fix the build"), &names).await?;
        compare.push(start.elapsed());
        let start = Instant::now();
        index.passage_texts(&compared.iter().map(|passage| passage.id).collect::<Vec<_>>()).await?;
        passages.push(start.elapsed());
        let start = Instant::now();
        index.facts(names);
        facts.push(start.elapsed());
    }
    row("10 documents by id", &documents);
    row("passages of 10 documents compared", &compare);
    row("their texts", &passages);
    row("facts of 10 documents", &facts);
    Ok(())
}

/// Documents of the exact answer that the search finds.
async fn recall(index: &Index, vocabulary: &Vocabulary) -> Outcome<()> {
    let cosine = |a: &[f32], b: &[f32]| {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let queries: Vec<_> = (0..RECALL_QUERIES as u64).map(|n| vector(9_000_000 + n)).collect();
    let mut exact: Vec<Vec<(f32, String)>> = vec![vec![]; RECALL_QUERIES];
    for number in 0..THREADS {
        for document in thread(vocabulary, number, 0).documents {
            let vectors: Vec<_> =
                (0..document.text().len().div_ceil(PASSAGE)).map(|n| vector(seed(&document.id, n))).collect();
            for (query, best) in queries.iter().zip(&mut exact) {
                let score = vectors.iter().map(|vector| cosine(query, vector)).fold(f32::MIN, f32::max);
                best.push((score, document.id.clone()));
                if best.len() > 20 * LIMIT {
                    best.sort_by(|a, b| b.0.total_cmp(&a.0));
                    best.truncate(LIMIT);
                }
            }
        }
    }
    let mut found = 0;
    for (query, best) in queries.iter().zip(&mut exact) {
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        best.truncate(LIMIT);
        let hits = index.search_vectors(query, &Filter::default(), LIMIT).await?;
        found += hits.iter().filter(|hit| best.iter().any(|(_, id)| *id == hit.document)).count();
    }
    println!("{:<44} {:.4}", "semantic, recall of the exact 50", found as f64 / (RECALL_QUERIES * LIMIT) as f64);
    Ok(())
}

async fn changes(index: &Index, vocabulary: &Vocabulary) -> Outcome<()> {
    let mut applying = vec![];
    for edition in 1..=10 {
        let threads = (0..100).map(|n| thread(vocabulary, n * 97 + edition as usize, edition)).collect();
        let start = Instant::now();
        index.apply(threads, 1_000 + edition).await?;
        applying.push(start.elapsed());
        if edition == 1 {
            let unindexed = index.unindexed().await?;
            searches(index, vocabulary, &format!("{unindexed} documents unindexed"), &Filter::default()).await?;
        }
    }
    row("apply 100 changed threads", &applying);
    let unindexed = index.unindexed().await?;
    let start = Instant::now();
    index.optimize().await?;
    row(&format!("optimize, {unindexed} documents unindexed"), &[start.elapsed()]);
    Ok(())
}

async fn run(dir: &Path) -> Outcome<()> {
    let vocabulary = Vocabulary::new();
    head();
    let model = ModelTag { name: "generated".into(), dimension: DIMENSION };
    let start = Instant::now();
    let mut index = Index::open(dir, model.clone(), IndexOptions::default()).await?;
    if index.coverage().documents == 0 {
        build(&index, &vocabulary).await?;
        memory("after the build");
        drop(index);
        let start = Instant::now();
        index = Index::open(dir, model, IndexOptions::default()).await?;
        row("open", &[start.elapsed()]);
    } else {
        row("open", &[start.elapsed()]);
    }
    memory("after opening");
    let coverage = index.coverage();
    let disk = index.size_on_disk()? >> 20;
    println!("{} documents, {} passages, {disk} MiB on disk", coverage.documents, coverage.passages);
    for (name, filter) in filters() {
        searches(&index, &vocabulary, name, &filter).await?;
    }
    long_query(&index, &vocabulary).await?;
    lookups(&index).await?;
    memory("after the searches");
    recall(&index, &vocabulary).await?;
    changes(&index, &vocabulary).await?;
    memory("after the changes");
    println!("{:<44} {} MiB", "on disk", index.size_on_disk()? >> 20);
    Ok(())
}

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match directory_argument() {
        Some(dir) => runtime.block_on(run(Path::new(&dir))),
        None => runtime.block_on(run(tempfile::tempdir()?.path())),
    }
}
