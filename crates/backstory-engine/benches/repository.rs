//! A repository from nothing to answers: how long it takes to index it, to find nothing new, and to answer `why`.
//!
//! `cargo bench --profile dev --workspace --bench repository -- REPOSITORY [--lines N]` indexes the repository, a path or
//! an address, into a directory of its own, without vectors, and asks about N lines (1,000) drawn from all files. With
//! `--data-dir DIR` it asks about the repository that is indexed there, with whatever forge data is there too. A machine
//! at work makes single answers slow: compare medians.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints what it measured")]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use backstory_engine::{
    Engine, SyncRequest,
    model::commit::RepoPath,
    repository::{AddRequest, ListRepositories},
    settings::Settings,
    sources::git::objects::Objects,
    trace::{DEFAULT_EARLIER, Target, TraceRequest},
};

/// Phases that take less are not told.
const TOLD: Duration = Duration::from_millis(100);
/// Files of a tree.
const MAX_FILES: usize = 1_000_000;
/// Largest file that is asked about.
const MAX_BYTES: u64 = 4 << 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let option = |name: &str| arguments.iter().skip_while(|argument| *argument != name).nth(1).cloned();
    let lines = option("--lines").and_then(|count| count.parse().ok()).unwrap_or(1000);
    let address = arguments.first().filter(|first| !first.starts_with("--")).cloned();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("there are threads");
    match (address, option("--data-dir")) {
        (_, Some(directory)) => runtime.block_on(ask(Path::new(&directory), lines)),
        (Some(address), None) => runtime.block_on(async {
            let directory = tempfile::tempdir().expect("there is room");
            index(directory.path(), &address).await;
            ask(directory.path(), lines).await;
        }),
        _ => eprintln!("name a repository: cargo bench --profile dev --workspace --bench repository -- REPOSITORY"),
    }
}

async fn index(directory: &Path, address: &str) {
    let engine = Engine::open(directory, Settings::default()).await.expect("it opens");
    let begun = Instant::now();
    let request = AddRequest { address: address.to_owned(), ..AddRequest::default() };
    engine.answer(request).await.expect("it is a repository");
    sync(&engine).await;
    println!("indexed in {:.1?}", begun.elapsed());
    let begun = Instant::now();
    sync(&engine).await;
    println!("nothing new after {:.0?}", begun.elapsed());
}

async fn ask(directory: &Path, lines: usize) {
    let engine = Engine::open(directory, Settings::default()).await.expect("it opens");
    let repository = engine.answer(ListRepositories {}).await.expect("they are listed").remove(0);
    let asked = places(&directory.join("clones"), repository.head.expect("it is indexed"), lines);
    let mut times: Vec<Duration> = Vec::new();
    for (path, line) in asked {
        let target = Target::Lines { path, lines: Some((line, line)) };
        let project = Some(repository.project.clone());
        let request = TraceRequest { project, target, rev: None, earlier: DEFAULT_EARLIER };
        let begun = Instant::now();
        if engine.answer(request).await.is_ok() {
            times.push(begun.elapsed());
        }
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    println!("why: {} lines, p50 {:.1?}, p95 {:.1?}, max {:.1?}", times.len(), at(50), at(95), at(100));
}

async fn sync(engine: &Engine) {
    let task = engine.answer(SyncRequest::default()).await.expect("it starts");
    let mut task = engine.watch_task(task.id).expect("it is there");
    let (mut begun, mut phase) = (Instant::now(), String::new());
    loop {
        let (current, has_ended) = {
            let task = task.borrow_and_update();
            (task.progress.phase.clone(), task.finished_at.is_some())
        };
        if current != phase || has_ended {
            if !phase.is_empty() && begun.elapsed() > TOLD {
                println!("  {phase}: {:.1?}", begun.elapsed());
            }
            (begun, phase) = (Instant::now(), current);
        }
        if has_ended {
            break;
        }
        task.changed().await.expect("it ends");
    }
    if let Some(error) = &task.borrow().error {
        panic!("{error}");
    }
}

/// Lines drawn from all text files, each file as likely as any other, the same ones every time.
fn places(clones: &Path, head: backstory_engine::model::commit::Sha, count: usize) -> Vec<(String, u32)> {
    let clone = std::fs::read_dir(clones).expect("there is a clone").flatten().next().expect("there is a clone").path();
    let objects = Objects::open(&clone).expect("it opens");
    let files: Vec<(RepoPath, u32)> = objects
        .list(head, MAX_FILES)
        .expect("it has files")
        .files
        .into_iter()
        .filter_map(|file| {
            let bytes = objects.blob(file.id, MAX_BYTES).ok()?;
            let text = std::str::from_utf8(&bytes).ok()?;
            Some((file.path, u32::try_from(text.lines().count()).ok().filter(|lines| *lines > 0)?))
        })
        .collect();
    let mut state = 1u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    (0..count)
        .map(|_| {
            let (path, lines) = &files[below(files.len())];
            (path.as_str().to_owned(), 1 + u32::try_from(below(*lines as usize)).unwrap_or(0))
        })
        .collect()
}
