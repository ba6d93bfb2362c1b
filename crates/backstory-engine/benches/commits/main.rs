//! Finding the commit that fixed an issue, among all commits of a repository, by a sentence that says what was wrong:
//! the product's search for commits against BM25 over messages and paths.
//!
//! `cargo bench --profile dev --workspace --bench commits -- CLONE[=QUESTIONS.json]... [--data-dir DIRECTORY]` takes
//! clones of repositories, bare or not. Each is indexed into a directory of its own, below the one that is given or a
//! temporary one, its commits alone, with vectors. Questions are made of the clone's changelogs (see `questions`), or
//! read from a file of the form that `backstory eval` reads.
//!
//! No document is changed for it: questions hold no number of an issue, so that a number in a message helps nobody, and
//! neither side reads what changed in a changelog.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints what it measured")]

mod baseline;
mod measure;
mod questions;

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use backstory_engine::{
    EmbedRequest, Engine, SyncRequest,
    model::{
        commit::Sha,
        filter::{DocumentKind, Filter},
    },
    repository::{AddRequest, ListRepositories},
    search::{Hit, SearchRequest},
    settings::{FileRules, Globs, RepositorySettings, Settings},
    task::{Task, TaskStatus},
};
use globset::{Glob, GlobSet};
use measure::{DEPTH, Outcomes, Row};
use questions::{Question, Repository};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A repository and, perhaps, the file with its questions.
struct Case {
    clone: PathBuf,
    questions: Option<PathBuf>,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut cases, mut kept) = (Vec::new(), None);
    while let Some(argument) = arguments.next() {
        match argument.split_once('=') {
            _ if argument == "--data-dir" => kept = arguments.next().map(PathBuf::from),
            Some((clone, file)) => cases.push(Case { clone: clone.into(), questions: Some(file.into()) }),
            None => cases.push(Case { clone: argument.into(), questions: None }),
        }
    }
    if cases.is_empty() {
        eprintln!("name clones: cargo bench --profile dev --workspace --bench commits -- CLONE[=QUESTIONS.json]...");
        return Ok(());
    }
    let temporary = tempfile::tempdir()?;
    let directory = kept.unwrap_or_else(|| temporary.path().to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut rows = Vec::new();
    measure::head();
    for case in &cases {
        let row = runtime.block_on(run(case, &directory))?;
        row.print();
        rows.push(row);
    }
    measure::summary(&rows);
    Ok(())
}

async fn run(case: &Case, directory: &Path) -> Result<Row> {
    let clone = case.clone.canonicalize()?;
    let name = clone.file_name().map_or_else(|| "repository".into(), |name| name.to_string_lossy().into_owned());
    let directory = directory.join(name.trim_end_matches(".git"));
    std::fs::create_dir_all(&directory)?;
    let engine = Engine::open(&directory, settings()?).await?;
    let project = index(&engine, &clone).await?;
    let clones = std::fs::read_dir(directory.join("clones"))?;
    let clone = clones.flatten().next().ok_or("there is no clone")?.path();
    let head =
        engine.answer(ListRepositories {}).await?.first().and_then(|of| of.head).ok_or("it has no default branch")?;
    let repository = Repository::read(&project, &clone, head)?;
    let questions = match &case.questions {
        Some(file) => repository.asked_in(&std::fs::read_to_string(file)?)?,
        None => repository.asked_by_changelogs()?,
    };
    let words = baseline::Baseline::build(&directory.join("baseline"), &repository).await?;
    let mut row = Row::new(project.clone(), repository.commits.len());
    for question in &questions {
        let own = first_of(&search(&engine, &project, question).await?, question);
        let other = words.rank(question).await?;
        row.add(question.overlap, &Outcomes { own, other });
    }
    Ok(row)
}

/// The commits and their vectors; what is there already stays.
async fn index(engine: &Engine, clone: &Path) -> Result<String> {
    let request = AddRequest { address: clone.display().to_string(), ..AddRequest::default() };
    let project = engine.answer(request).await?.project;
    ended(engine, &engine.answer(SyncRequest::default()).await?).await?;
    ended(engine, &engine.answer(EmbedRequest {}).await?).await?;
    Ok(project)
}

async fn ended(engine: &Engine, task: &Task) -> Result<()> {
    let mut task = engine.watch_task(task.id).ok_or("a task is gone")?;
    let ended = task.wait_for(|task| task.status != TaskStatus::Running).await?;
    match &ended.error {
        Some(error) => Err(error.to_string().into()),
        None => Ok(()),
    }
}

async fn search(engine: &Engine, project: &str, question: &Question) -> Result<Vec<Hit>> {
    let filter = Filter { kinds: vec![DocumentKind::Commit], project: Some(project.to_owned()), ..Filter::default() };
    let request = SearchRequest { query: question.text.clone(), filter, limit: DEPTH, ..SearchRequest::default() };
    Ok(engine.search_documents(request).await?.hits)
}

/// Rank of the first hit that answers, from 1. A hit answers if its own commit does: what it stands for besides does not
/// count.
fn first_of(hits: &[Hit], question: &Question) -> Option<usize> {
    let answers = |hit: &Hit| {
        let sha = hit.document.id.rsplit_once('@').and_then(|(_, sha)| sha.parse::<Sha>().ok());
        sha.is_some_and(|sha| question.gold.contains(&sha))
    };
    hits.iter().position(answers).map(|at| at + 1)
}

fn settings() -> Result<Settings> {
    // No file is looked into: only commits are searched.
    let include = GlobSet::builder().add(Glob::new("/none")?).build()?;
    let files = FileRules { include: Globs::new(include, vec!["/none".to_owned()]), ..FileRules::default() };
    let repositories = RepositorySettings { files, ..RepositorySettings::default() };
    Ok(Settings { repositories, ..Settings::default() })
}
