//! Finding the issue or merge request that answers a question: `search` against what a script of a hundred lines does, BM25
//! over whole conversations and all-MiniLM-L6-v2 over pieces of them, joined by reciprocal rank fusion.
//!
//! `cargo bench --profile dev --workspace --bench threads -- [--each] DATA_DIR=QUESTIONS.yaml...` takes data directories whose
//! projects were synced and embedded, and files of questions as `backstory eval` reads them. `--each` prints every question
//! with both ranks.
//!
//! The questions beside this file are about three public repositories of the IETF, whose issues and pull requests stand in
//! `archive.json` on their branch `gh-pages`. Who wrote them had read the discussions and had never seen the product.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints what it measured")]

mod baseline;
mod measure;

use std::{error::Error, path::PathBuf};

use backstory_engine::{
    Engine,
    eval::EvaluationRequest,
    model::{
        document::Document,
        eval::{Question, QuestionFile, Retriever, parse_questions},
        filter::{DocumentKind, Filter},
        id::NodeId,
    },
    search::{ListDocuments, MAX_DOCUMENTS},
    settings::{Forge, ForgeKind, Settings},
    show::{NodeDetails, ShowRequest},
    sources::forge::ForgeSettings,
};
use baseline::Baseline;
use measure::{DEPTH, Outcome};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let each = given.iter().any(|argument| argument == "--each");
    let cases: Vec<(PathBuf, PathBuf)> = given
        .iter()
        .filter_map(|argument| argument.split_once('='))
        .map(|(data, questions)| (data.into(), questions.into()))
        .collect();
    if cases.is_empty() {
        eprintln!(
            "name data directories: cargo bench --profile dev --workspace --bench threads -- DATA_DIR=QUESTIONS.yaml..."
        );
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut all = Vec::new();
    measure::print_head();
    for (data, questions) in cases {
        let text = std::fs::read_to_string(&questions)?;
        let file = parse_questions(&text).map_err(|error| format!("{}: {error}", questions.display()))?;
        let outcomes = runtime.block_on(run(data, &file, each))?;
        measure::print_line(file.project.as_deref().unwrap_or_default(), &outcomes);
        all.extend(outcomes);
    }
    measure::print_line("all", &all);
    Ok(())
}

async fn run(data: PathBuf, file: &QuestionFile, each: bool) -> Result<Vec<Outcome>> {
    let project = file.project.as_deref().ok_or("the questions name no project")?;
    let engine = Engine::open(&data, settings(project)?).await?;
    let conversations = read_conversations(&engine, project).await?;
    let directory = tempfile::tempdir()?;
    let baseline = Baseline::build(directory.path(), conversations).await?;
    let mut outcomes = Vec::new();
    for question in &file.questions {
        let outcome =
            Outcome { own: own_rank(&engine, project, question).await?, other: baseline.rank(question).await? };
        if each {
            let rank = |rank: Option<usize>| rank.map_or("-".to_owned(), |rank| rank.to_string());
            println!("  {:<8} {:>3} {:>3}  {}", question.id, rank(outcome.own), rank(outcome.other), question.question);
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Those of a data directory with a project of a forge, which is not asked for anything.
fn settings(project: &str) -> Result<Settings> {
    let connection = ForgeSettings::new("http://127.0.0.1:1".parse()?, None);
    let forge = Forge { kind: ForgeKind::GitLab, connection, projects: vec![project.to_owned()], webhook_secret: None };
    Ok(Settings { forges: vec![forge], ..Settings::default() })
}

/// Rank of the first right answer of search, from 1.
async fn own_rank(engine: &Engine, project: &str, question: &Question) -> Result<Option<usize>> {
    let request = EvaluationRequest {
        project: Some(project.to_owned()),
        questions: vec![question.clone()],
        legs: vec![Retriever::Fused],
        depth: DEPTH,
    };
    let evaluated = engine.answer(request).await?.questions.pop().ok_or("a question was not asked")?;
    if !evaluated.unknown.is_empty() {
        return Err(format!("{}: there is no {}", question.id, evaluated.unknown.join(", ")).into());
    }
    let first = evaluated.legs.get(&Retriever::Fused).and_then(|answer| answer.first());
    Ok(first.map(usize::try_from).transpose()?)
}

/// All issues and merge requests, each with everything that was said in it.
async fn read_conversations(engine: &Engine, project: &str) -> Result<Vec<(String, String)>> {
    let kinds = vec![DocumentKind::Issue, DocumentKind::MergeRequest];
    let filter = Filter { kinds, project: Some(project.to_owned()), ..Filter::default() };
    let (mut conversations, mut after) = (Vec::new(), None);
    loop {
        let request = ListDocuments { filter: filter.clone(), limit: MAX_DOCUMENTS, after };
        let page = engine.answer(request).await?;
        for document in &page.documents {
            let id: NodeId = document.id.to_string().parse()?;
            let NodeDetails::Thread(thread) = engine.answer(ShowRequest { id }).await? else { continue };
            let notes = thread.discussions.iter().flat_map(|discussion| &discussion.notes);
            let said: Vec<&str> = notes.map(|note| note.body.as_str()).collect();
            let text = format!("{}\n\n{}\n\n{}", thread.summary.title, thread.description, said.join("\n\n"));
            conversations.push((document.id.to_string(), text));
        }
        after = page.documents.last().map(|document| document.id.to_string()).filter(|_| page.has_more);
        if after.is_none() {
            return Ok(conversations);
        }
    }
}

/// A document of nothing but a text.
fn document(id: &str, text: &str) -> Document {
    Document {
        id: id.to_owned(),
        kind: DocumentKind::Issue,
        project: "baseline".to_owned(),
        parent: None,
        title: String::new(),
        url: String::new(),
        author: None,
        labels: vec![],
        state: None,
        created_at: jiff::Timestamp::UNIX_EPOCH,
        updated_at: jiff::Timestamp::UNIX_EPOCH,
        header: String::new(),
        parts: vec![],
        whole_text: text.to_owned(),
        path: None,
        changed: vec![],
        lines: None,
        importance: 0.0,
        confidential: false,
    }
}
