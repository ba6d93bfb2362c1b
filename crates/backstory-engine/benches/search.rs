//! A whole search over 100,000 documents, the vector of the query included: how long it takes, and how much memory the
//! process needs.
//!
//! `cargo bench --profile dev --workspace --bench search [-- DIRECTORY]` prints a table. The data directory is filled,
//! if it is not there already, else a temporary one. `backstory serve --data-dir DIRECTORY` can serve it.

#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "../../backstory-store/benches/corpus/mod.rs"]
mod corpus;

use std::{path::Path, time::Instant};

use backstory_engine::{
    Engine,
    embed::Embedder,
    index::{Index, ModelTag},
    model::filter::{DocumentKind, Filter},
    search::{Mode, SearchRequest},
    settings::Settings,
};
use corpus::{Outcome, Vocabulary, build, directory_argument, head, memory, question, row};

const QUERIES: usize = 200;
/// Searches before those that count: the first ones read the index from disk.
const WARM_UP: usize = 20;
const LIMIT: usize = 10;

async fn fill(data_dir: &Path, vocabulary: &Vocabulary) -> Outcome<()> {
    let embedder = Embedder::open(Settings::default().embedding).await?;
    let model = ModelTag { name: embedder.model().to_owned(), dimension: embedder.dimension() };
    let index = Index::open(&data_dir.join("index").join("1"), model).await?;
    if index.coverage().documents == 0 {
        build(&index, vocabulary).await?;
    }
    Ok(())
}

async fn searches(engine: &Engine, vocabulary: &Vocabulary, name: &str, mode: Mode, filter: &Filter) -> Outcome<()> {
    let mut times = vec![];
    for number in 0..WARM_UP + QUERIES {
        let request = SearchRequest {
            query: question(vocabulary, number),
            filter: filter.clone(),
            mode,
            limit: LIMIT,
            ..SearchRequest::default()
        };
        let start = Instant::now();
        let found = engine.search_documents(request).await?;
        if number >= WARM_UP {
            times.push(start.elapsed());
        }
        if found.mode != mode {
            return Err(format!("a {} search became {}", mode.as_str(), found.mode.as_str()).into());
        }
    }
    row(name, &times);
    Ok(())
}

async fn run(data_dir: &Path) -> Outcome<()> {
    let vocabulary = Vocabulary::new();
    head();
    fill(data_dir, &vocabulary).await?;
    let start = Instant::now();
    let engine = Engine::open(data_dir, Settings::default()).await?;
    row("open", &[start.elapsed()]);
    let mut embedding = vec![];
    for number in 0..QUERIES {
        let query = question(&vocabulary, number);
        let start = Instant::now();
        engine.embedder().embed_query(&query).await?;
        embedding.push(start.elapsed());
    }
    row("vector of a query", &embedding);
    let all = Filter::default();
    let issues = Filter { kinds: vec![DocumentKind::Issue], ..all.clone() };
    searches(&engine, &vocabulary, "lexical", Mode::Lexical, &all).await?;
    searches(&engine, &vocabulary, "semantic", Mode::Semantic, &all).await?;
    searches(&engine, &vocabulary, "hybrid", Mode::Hybrid, &all).await?;
    searches(&engine, &vocabulary, "hybrid, issues only", Mode::Hybrid, &issues).await?;
    memory("after the searches");
    Ok(())
}

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match directory_argument() {
        Some(directory) => runtime.block_on(run(Path::new(&directory))),
        None => runtime.block_on(run(tempfile::tempdir()?.path())),
    }
}
