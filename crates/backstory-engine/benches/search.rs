//! A whole search over 100,000 or another number of generated documents, the vector of the query included: how long it
//! takes, how soon the first one is answered, and how much memory the process needs.
//!
//! `cargo bench --profile dev --workspace --bench search [-- DIRECTORY] [DOCUMENTS] [--model=NAME]` prints a table, and fails
//! if a bound is missed. The data directory is filled by another process, if it is not there already, else a temporary one.
//! `backstory serve --data-dir DIRECTORY` can serve it.

#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "../../backstory/src/allocator.rs"]
mod allocator;
#[path = "../../backstory-store/benches/corpus/mod.rs"]
mod corpus;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

use backstory_engine::{
    Engine,
    embed::Embedder,
    index::{Index, IndexOptions, ModelTag},
    model::filter::{DocumentKind, Filter},
    search::{Mode, SearchRequest},
    settings::Settings,
};
use corpus::{Outcome, Vocabulary, build_of, directory_argument, documents_argument, head, memory, question, row};

const QUERIES: usize = 200;
/// Searches before those that count: the first ones read the index from disk.
const WARM_UP: usize = 20;
const LIMIT: usize = 10;
/// Up to so many documents, the 95th percentile of a hybrid search in milliseconds.
const SEARCH_BOUNDS: [(usize, f64); 2] = [(100_000, 15.0), (1_000_000, 40.0)];
/// Most milliseconds from opening the directory to the first answer.
const FIRST_ANSWER: f64 = 1_000.0;
/// Most memory, in MiB.
const MEMORY: f64 = 1_536.0;
const MODEL: &str = "--model=";
/// Has the process fill a directory and end.
const FILL: &str = "--fill";

/// The argument that names a model.
fn model_argument() -> Option<String> {
    std::env::args().find(|argument| argument.starts_with(MODEL))
}

/// The usual settings, with the model that is named.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.embedding.model = model_argument().map(|argument| argument[MODEL.len()..].to_owned());
    settings
}

async fn fill(data_dir: &Path, vocabulary: &Vocabulary, documents: usize) -> Outcome<()> {
    // An index without a ledger beside it would be refused.
    drop(Engine::open(data_dir, settings()).await?);
    let embedder = Embedder::open(settings().embedding).await?;
    let model = ModelTag { name: embedder.model().to_owned(), dimension: embedder.dimension() };
    let index = Index::open(&data_dir.join("index").join("1"), model, IndexOptions::default()).await?;
    if index.coverage().documents == 0 {
        build_of(&index, vocabulary, documents).await?;
    }
    Ok(())
}

/// Fills a directory in another process, so that its memory is not counted.
fn fill_apart(data_dir: &Path, documents: usize) -> Outcome<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(model_argument()).arg(data_dir).arg(documents.to_string()).arg(FILL);
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("the directory was not filled: {status}").into()) }
}

async fn searches(engine: &Engine, vocabulary: &Vocabulary, name: &str, mode: Mode, filter: &Filter) -> Outcome<f64> {
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
    Ok(row(name, &times))
}

async fn run(data_dir: &Path, documents: usize) -> Outcome<Vec<String>> {
    let vocabulary = Vocabulary::new();
    head();
    fill_apart(data_dir, documents)?;
    let all = Filter::default();
    let start = Instant::now();
    let engine = Engine::open(data_dir, settings()).await?;
    row("open", &[start.elapsed()]);
    let request = SearchRequest { query: question(&vocabulary, QUERIES), limit: LIMIT, ..SearchRequest::default() };
    engine.search_documents(request).await?;
    let first_answer = row("open, and the first search", &[start.elapsed()]);
    let mut embedding = vec![];
    for number in 0..QUERIES {
        let query = question(&vocabulary, number);
        let start = Instant::now();
        engine.embedder().embed_query(&query).await?;
        embedding.push(start.elapsed());
    }
    row("vector of a query", &embedding);
    let issues = Filter { kinds: vec![DocumentKind::Issue], ..all.clone() };
    searches(&engine, &vocabulary, "lexical", Mode::Lexical, &all).await?;
    searches(&engine, &vocabulary, "semantic", Mode::Semantic, &all).await?;
    let hybrid = searches(&engine, &vocabulary, "hybrid", Mode::Hybrid, &all).await?;
    searches(&engine, &vocabulary, "hybrid, issues only", Mode::Hybrid, &issues).await?;
    let memory = memory("after the searches");
    let most = SEARCH_BOUNDS.into_iter().find(|(most, _)| documents <= *most).map(|(_, bound)| bound);
    let figures = [
        ("p95 of a hybrid search, in ms", hybrid, most),
        ("first answer, in ms", first_answer, Some(FIRST_ANSWER)),
        ("memory, in MiB", memory, Some(MEMORY)),
    ];
    let missed = figures.into_iter().filter_map(|(name, figure, bound)| {
        let bound = bound.filter(|bound| figure > *bound)?;
        Some(format!("{name}: {figure:.1} is more than {bound}"))
    });
    Ok(missed.collect())
}

fn main() -> Outcome<ExitCode> {
    if allocator::VARIABLES.iter().any(|(name, _)| std::env::var_os(name).is_none()) {
        let mut command = Command::new(std::env::current_exe()?);
        let status = command.args(std::env::args_os().skip(1)).envs(allocator::VARIABLES).status()?;
        return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let documents = documents_argument();
    let temporary = tempfile::tempdir()?;
    let directory = directory_argument().map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    if std::env::args().any(|argument| argument == FILL) {
        runtime.block_on(fill(&directory, &Vocabulary::new(), documents))?;
        return Ok(ExitCode::SUCCESS);
    }
    let missed = runtime.block_on(run(&directory, documents))?;
    missed.iter().for_each(|missed| println!("MISSED: {missed}"));
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
