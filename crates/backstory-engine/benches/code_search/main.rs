//! Finding the files that answer a question about code, by `search --type code`: against BM25 over chunks of the same
//! files, which plain tools have.
//!
//! `cargo bench --profile dev --workspace --bench code_search -- [--data-dir DIRECTORY] [--vectors] [--each]
//! CLONE=QUESTIONS.json...` takes clones of repositories, bare or not, whose head is the commit that the question file
//! names (`git clone --bare`, then `git update-ref refs/heads/BRANCH COMMIT`). Each is indexed into a directory of its
//! own, below the one that is given or a temporary one. With `--vectors` they are embedded and searched by meaning too;
//! else by words alone. `--each` prints every question with what was found first.
//!
//! The questions are beside this file: `hiredis`, `kombu` and `got` may be looked at while ranking is worked on, `raft` and
//! `crossbeam` are held out. Labels were made by reading the sources.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints what it measured")]
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

mod baseline;
mod measure;
mod questions;

use std::{
    collections::HashSet,
    error::Error,
    path::{Path, PathBuf},
};

use backstory_engine::{
    EmbedRequest, Engine, SyncRequest,
    model::{
        commit::{RepoPath, Sha},
        document_type::DocumentType,
        filter::{DocumentKind, Filter},
        id::NodeId,
    },
    repository::{AddRequest, ListRepositories},
    search::{ListDocuments, MAX_DOCUMENTS, Mode, SearchRequest},
    settings::Settings,
    sources::git::objects::Objects,
    task::{Task, TaskStatus},
};
use baseline::Baseline;
use measure::{DEPTH, Outcome};
use questions::{Question, QuestionFile};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Largest file of which chunks are made, in bytes.
const MAX_TEXT: u64 = 1 << 20;
/// Hits that are asked for: some may be of one file.
const HITS: usize = 50;

/// How the bench is run.
struct Arguments {
    cases: Vec<(PathBuf, PathBuf)>,
    directory: Option<PathBuf>,
    mode: Mode,
    /// Whether every question is told.
    each: bool,
}

fn arguments() -> Arguments {
    let mut given = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut arguments = Arguments { cases: Vec::new(), directory: None, mode: Mode::Lexical, each: false };
    while let Some(argument) = given.next() {
        match (argument.as_str(), argument.split_once('=')) {
            ("--data-dir", _) => arguments.directory = given.next().map(PathBuf::from),
            ("--vectors", _) => arguments.mode = Mode::Hybrid,
            ("--each", _) => arguments.each = true,
            (_, Some((clone, questions))) => arguments.cases.push((clone.into(), questions.into())),
            (_, None) => eprintln!("{argument}: write CLONE=QUESTIONS.json"),
        }
    }
    arguments
}

fn main() -> Result<()> {
    let arguments = arguments();
    if arguments.cases.is_empty() {
        eprintln!("name clones: cargo bench --profile dev --workspace --bench code_search -- CLONE=QUESTIONS.json...");
        return Ok(());
    }
    let temporary = tempfile::tempdir()?;
    let directory = arguments.directory.clone().unwrap_or_else(|| temporary.path().to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut outcomes = Vec::new();
    measure::head();
    for (clone, questions) in &arguments.cases {
        let measured = runtime.block_on(run(clone, questions, &directory, &arguments))?;
        let name = questions.file_stem().unwrap_or_default().to_string_lossy();
        measure::line(&name, &measured.iter().collect::<Vec<_>>());
        outcomes.extend(measured);
    }
    measure::summary(&outcomes);
    Ok(())
}

async fn run(clone: &Path, questions: &Path, directory: &Path, arguments: &Arguments) -> Result<Vec<Outcome>> {
    let file = QuestionFile::read(questions)?;
    let directory = directory.join(questions.file_stem().unwrap_or_default());
    std::fs::create_dir_all(&directory)?;
    let engine = Engine::open(&directory, Settings::default()).await?;
    let address = clone.canonicalize()?.display().to_string();
    let request = AddRequest { address, name: Some("bench/code".to_owned()), ..AddRequest::default() };
    let project = engine.answer(request).await?.project;
    ended(&engine, &engine.answer(SyncRequest::default()).await?).await?;
    if arguments.mode == Mode::Hybrid {
        ended(&engine, &engine.answer(EmbedRequest {}).await?).await?;
    }
    let head =
        engine.answer(ListRepositories {}).await?.first().and_then(|of| of.head).ok_or("it has no default branch")?;
    if head.to_string() != file.commit {
        return Err(format!("{}: its head is {head}; the questions are about {}", clone.display(), file.commit).into());
    }
    let chunks = chunks(&engine, clone, head).await?;
    let mut outcomes = Vec::new();
    for question in &file.questions {
        let own = search(&engine, &project, question, arguments.mode).await?;
        let other = chunks.files(&question.question, DEPTH);
        let outcome = Outcome {
            kind: question.kind.clone(),
            own: measure::ndcg(&own, &question.files),
            other: measure::ndcg(&other, &question.files),
        };
        if arguments.each {
            tell(question, &outcome, &own);
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn tell(question: &Question, outcome: &Outcome, files: &[String]) {
    println!("  {} {:.2}/{:.2} {}", question.id, outcome.own, outcome.other, question.question);
    let grade = |file: &String| question.files.get(file).copied().unwrap_or(0);
    let first: Vec<String> = files.iter().take(5).map(|file| format!("{file} ({})", grade(file))).collect();
    println!("       {}", first.join(", "));
}

async fn ended(engine: &Engine, task: &Task) -> Result<()> {
    let mut task = engine.watch_task(task.id).ok_or("a task is gone")?;
    let ended = task.wait_for(|task| task.status != TaskStatus::Running).await?;
    match &ended.error {
        Some(error) => Err(error.to_string().into()),
        None => Ok(()),
    }
}

/// The chunks of all files of code that search has.
async fn chunks(engine: &Engine, clone: &Path, head: Sha) -> Result<Baseline> {
    let objects = Objects::open(clone)?;
    let mut baseline = Baseline::default();
    let filter =
        Filter { kinds: vec![DocumentKind::File], document_types: vec![DocumentType::Code], ..Filter::default() };
    let mut after = None;
    loop {
        let request = ListDocuments { filter: filter.clone(), limit: MAX_DOCUMENTS, after };
        let page = engine.answer(request).await?;
        for path in page.documents.iter().filter_map(|document| document.path.as_ref()) {
            let bytes = objects.file(head, &RepoPath::from_escaped(path), MAX_TEXT)?;
            baseline.add(path, &String::from_utf8_lossy(&bytes));
        }
        after = page.documents.last().map(|document| document.id.to_string()).filter(|_| page.has_more);
        if after.is_none() {
            return Ok(baseline);
        }
    }
}

/// The files that search finds, the best first.
async fn search(engine: &Engine, project: &str, question: &Question, mode: Mode) -> Result<Vec<String>> {
    let filter = Filter { kinds: vec![DocumentKind::Code], project: Some(project.to_owned()), ..Filter::default() };
    let request =
        SearchRequest { query: question.question.clone(), filter, mode, limit: HITS, ..SearchRequest::default() };
    let hits = engine.search_documents(request).await?.hits;
    let mut seen = HashSet::new();
    let path = |id: &str| match id.parse() {
        Ok(NodeId::Entity { path, .. } | NodeId::File { path, .. }) => Some(path.to_string()),
        _ => None,
    };
    Ok(hits.iter().filter_map(|hit| path(&hit.document.id)).filter(|path| seen.insert(path.clone())).collect())
}
