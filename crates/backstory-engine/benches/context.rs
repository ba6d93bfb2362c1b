//! Context packs: how long they take, and whether every one keeps its budget.
//!
//! `cargo bench --profile dev --workspace --bench context [-- DIRECTORY]` makes 200 packs of generated questions over
//! 100,000 generated documents, in the data directory that the bench `search` fills too. With `-- DIRECTORY --own` it
//! asks about what the data directory really holds: 200 packs in time, then 1,000 with random budgets, each counted.

#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]
#![allow(dead_code, reason = "the corpus is shared")]

#[path = "../../backstory-store/benches/corpus/mod.rs"]
mod corpus;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use backstory_engine::{
    Engine,
    context::{About, ContextRequest},
    embed::Embedder,
    index::{Index, IndexOptions, ModelTag},
    model::{
        filter::Filter,
        pack::{Format, Mode, render},
    },
    repository::{CentralFilesRequest, ListRepositories},
    search::SearchRequest,
    settings::Settings,
    tokens,
    trace::Target,
};
use corpus::{Outcome, Random, Vocabulary, build, head, memory, question, row};

const PACKS: usize = 200;
const BUDGETED: usize = 1000;
/// Packs before those that count: the first ones read the index from disk and the vocabulary of the tokenizer.
const WARM_UP: usize = 20;
/// Titles that questions are made of.
const TITLES: usize = 2000;

fn request(about: About, tokens: usize, format: Format) -> ContextRequest {
    let filter = Filter::default();
    let (mode, path, snapshot) = (Mode::All, None, None);
    let (near, ranking) = (vec![], None);
    ContextRequest { about, filter, path, near, ranking, mode, format, tokens, diffs: true, tests: true, snapshot }
}

async fn fill(data_dir: &Path, vocabulary: &Vocabulary) -> Outcome<()> {
    // An index without a ledger beside it would be refused.
    drop(Engine::open(data_dir, Settings::default()).await?);
    let embedder = Embedder::open(Settings::default().embedding).await?;
    let model = ModelTag { name: embedder.model().to_owned(), dimension: embedder.dimension() };
    let index = Index::open(&data_dir.join("index").join("1"), model, IndexOptions::default()).await?;
    if index.coverage().documents == 0 {
        build(&index, vocabulary).await?;
    }
    Ok(())
}

/// Makes a pack, counts it, and says how long making it took.
async fn pack(engine: &Engine, request: ContextRequest) -> Outcome<(Duration, usize)> {
    let (start, budget) = (Instant::now(), request.tokens);
    let pack = engine.build_pack(request).await?;
    let took = start.elapsed();
    let count = tokens::count(&(render(&pack) + "\n"));
    if count > budget || count != pack.metadata.token_count {
        return Err(format!("a pack of {budget} tokens has {count}, and says {}", pack.metadata.token_count).into());
    }
    Ok((took, count))
}

/// What of the time is the search that a pack begins with.
async fn searches(engine: &Engine, queries: impl Iterator<Item = String>) -> Outcome<()> {
    let mut times = vec![];
    for query in queries {
        let request = SearchRequest { query, limit: 20, ..Default::default() };
        let start = Instant::now();
        engine.search_documents(request).await?;
        times.push(start.elapsed());
    }
    row("the search alone, 20 hits", &times);
    Ok(())
}

async fn generated(data_dir: &Path) -> Outcome<()> {
    let vocabulary = Vocabulary::new();
    fill(data_dir, &vocabulary).await?;
    let engine = Engine::open(data_dir, Settings::default()).await?;
    for (name, tokens, format) in [
        ("4,000 tokens, JSON", 4000, Format::Json),
        ("4,000 tokens, Markdown", 4000, Format::Markdown),
        ("16,000 tokens", 16_000, Format::Json),
    ] {
        let mut times = vec![];
        for number in 0..WARM_UP + PACKS {
            let about = About::Query(question(&vocabulary, number));
            let (took, _) = pack(&engine, request(about, tokens, format)).await?;
            if number >= WARM_UP {
                times.push(took);
            }
        }
        row(name, &times);
    }
    searches(&engine, (WARM_UP..WARM_UP + PACKS).map(|number| question(&vocabulary, number))).await?;
    memory("after the packs");
    Ok(())
}

/// Questions of two titles' words, and lines of files.
async fn subjects(engine: &Engine) -> Outcome<Vec<About>> {
    let mut random = Random(11);
    let mut subjects = Vec::new();
    let statuses = engine.answer(ListRepositories {}).await?;
    let project = statuses.first().map(|of| of.project.clone()).unwrap_or_default();
    let titles: Vec<String> = engine
        .search_documents(SearchRequest {
            query: "fix add test change remove use make check".into(),
            limit: 100,
            ..Default::default()
        })
        .await?
        .hits
        .into_iter()
        .map(|hit| hit.document.title)
        .take(TITLES)
        .collect();
    let words: Vec<&str> = titles.iter().flat_map(|title| title.split_whitespace()).collect();
    let files = engine.answer(CentralFilesRequest { project, limit: 100 }).await?;
    for number in 0..BUDGETED + WARM_UP + PACKS {
        if number % 4 == 3 && !files.is_empty() {
            let path = files[random.below(files.len())].clone();
            let line = 1 + u32::try_from(random.below(40))?;
            subjects.push(About::Target { target: Target::Lines { path, lines: Some((line, line)) }, rev: None });
        } else {
            let count = 1 + random.below(9);
            let text: Vec<&str> = (0..count).map(|_| words[random.below(words.len())]).collect();
            subjects.push(About::Query(text.join(" ")));
        }
    }
    Ok(subjects)
}

async fn own(data_dir: &Path) -> Outcome<()> {
    let engine = Engine::open(data_dir, Settings::default()).await?;
    let subjects = subjects(&engine).await?;
    let (mut queries, mut lines) = (vec![], vec![]);
    for (number, about) in subjects.iter().take(WARM_UP + PACKS).enumerate() {
        // A file may have fewer lines.
        let Ok((took, _)) = pack(&engine, request(about.clone(), 4000, Format::Json)).await else { continue };
        if number >= WARM_UP {
            if matches!(about, About::Query(_)) { queries.push(took) } else { lines.push(took) }
        }
    }
    row("questions, 4,000 tokens", &queries);
    row("lines, 4,000 tokens", &lines);
    let texts = subjects.iter().take(WARM_UP + PACKS).filter_map(|about| match about {
        About::Query(text) => Some(text.clone()),
        About::Target { .. } => None,
    });
    searches(&engine, texts).await?;
    let mut random = Random(5);
    let (mut kept, mut used) = (0usize, 0.0);
    for about in subjects.into_iter().skip(WARM_UP + PACKS) {
        let tokens = 200 + random.below(8000);
        let format = if random.below(2) == 0 { Format::Json } else { Format::Markdown };
        let is_line = matches!(about, About::Target { .. });
        match pack(&engine, request(about, tokens, format)).await {
            Ok((_, count)) => {
                kept += 1;
                used += count as f64 / tokens as f64;
            }
            Err(_) if is_line => {}
            Err(error) => return Err(error),
        }
    }
    println!("{kept} packs with random budgets, none over; {:.0} % of the budgets used", used * 100.0 / kept as f64);
    memory("after the packs");
    Ok(())
}

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    head();
    match arguments.as_slice() {
        [directory, own_data] if own_data == "--own" => runtime.block_on(own(Path::new(directory))),
        [directory] => runtime.block_on(generated(Path::new(directory))),
        _ => runtime.block_on(generated(tempfile::tempdir()?.path())),
    }
}
