//! How fast source files are read, and what is found in them.
//!
//! `cargo bench --profile dev --workspace --bench code -- DIRECTORY [--rounds N] [--definitions FILE] [--no-limits] [--versions]` reads
//! every file of a directory that is not left out, `N` times, and says how long the fastest round took, by language.
//! `--versions` takes files in the order of their paths for versions of files and compares reading them so and alone.
//! `--definitions` writes one line for each entity: path, line of the name, kind and name, with tabs between them.
//! `compare_with_ctags.py` beside this file makes use of that.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use backstory_model::code::{FileAnalysis, FileKind, FileSelection};
use backstory_sources::code::{IncrementalAnalyzer, Limits, PassageLimits, analyze, detect, passages, resolve, select};

struct Arguments {
    directory: PathBuf,
    rounds: usize,
    definitions: Option<PathBuf>,
    explanations: Option<PathBuf>,
    limits: Limits,
    versions: bool,
}

fn arguments() -> Option<Arguments> {
    let mut arguments = Arguments {
        directory: PathBuf::new(),
        rounds: 3,
        definitions: None,
        explanations: None,
        limits: Limits::default(),
        versions: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--bench" => {}
            "--rounds" => arguments.rounds = words.next()?.parse().ok()?,
            "--definitions" => arguments.definitions = Some(words.next()?.into()),
            "--explanations" => arguments.explanations = Some(words.next()?.into()),
            "--versions" => arguments.versions = true,
            "--no-limits" => arguments.limits.bytes = usize::MAX,
            directory => arguments.directory = directory.into(),
        }
    }
    arguments.directory.is_dir().then_some(arguments)
}

fn read(directory: &Path, root: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    let mut entries: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() && entry.file_name() != ".git" {
            read(&path, root, files);
        } else if kind.is_file() {
            files.push((path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()));
        }
    }
}

fn main() {
    let Some(arguments) = arguments() else {
        println!("name a directory: cargo bench --profile dev --workspace --bench code -- DIRECTORY");
        return;
    };
    let mut files = Vec::new();
    read(&arguments.directory, &arguments.directory, &mut files);
    let all = files.len();
    let begun = Instant::now();
    files.retain(|(path, bytes)| select(path, bytes, arguments.limits) == FileSelection::Include);
    println!("{all} files, {} left after {:?}", files.len(), begun.elapsed());

    if arguments.versions {
        return versions(&files);
    }
    let mut best: BTreeMap<String, (usize, usize, Duration)> = BTreeMap::new();
    let mut analyses: BTreeMap<&str, FileAnalysis> = BTreeMap::new();
    for _ in 0..arguments.rounds {
        let mut round: BTreeMap<String, (usize, usize, Duration)> = BTreeMap::new();
        for (path, bytes) in &files {
            let begun = Instant::now();
            let analysis = black_box(analyze(path, bytes));
            let took = begun.elapsed();
            let name = match detect(path, bytes) {
                FileKind::Code(language) => language.name().to_owned(),
                other => format!("{other:?}"),
            };
            for name in [name, String::from("all")] {
                let sum = round.entry(name).or_default();
                *sum = (sum.0 + 1, sum.1 + bytes.len(), sum.2 + took);
            }
            analyses.insert(path, analysis);
        }
        for (name, sum) in round {
            let known = best.entry(name).or_insert(sum);
            if sum.2 < known.2 {
                *known = sum;
            }
        }
    }
    for (name, (count, bytes, took)) in &best {
        let seconds = took.as_secs_f64().max(1e-9);
        let (rate, speed) = (*count as f64 / seconds, *bytes as f64 / seconds / 1e6);
        println!(
            "{name:24} {count:6} files {:9.3} MB {seconds:8.3} s {rate:8.0} files/s {speed:6.2} MB/s",
            *bytes as f64 / 1e6
        );
    }
    tell(&analyses, &arguments);
}

/// Files are versions of files in order: reads them as such, and each alone, and compares.
fn versions(files: &[(String, Vec<u8>)]) {
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let (mut history, mut alone, mut different, mut flawed) = (Duration::ZERO, Duration::ZERO, 0, 0);
    let mut reader = IncrementalAnalyzer::new();
    for (path, bytes) in files {
        let begun = Instant::now();
        let one = black_box(reader.analyze(path, bytes));
        history += begun.elapsed();
        let begun = Instant::now();
        let other = black_box(analyze(path, bytes));
        alone += begun.elapsed();
        if one != other {
            different += 1;
            println!("different: {path}");
        }
        flawed += usize::from(other.code().is_some_and(|code| code.syntax_errors));
    }
    let speed = |took: Duration| bytes as f64 / took.as_secs_f64() / 1e6;
    println!(
        "{} versions, {:.1} MB, {flawed} with syntax errors, {different} different",
        files.len(),
        bytes as f64 / 1e6
    );
    println!("alone {alone:?} {:.2} MB/s, as versions {history:?} {:.2} MB/s", speed(alone), speed(history));
}

fn tell(analyses: &BTreeMap<&str, FileAnalysis>, arguments: &Arguments) {
    let (mut entities, mut calls, mut notes, mut truncated) = (0, 0, 0, 0);
    let (mut definitions, mut explanations) = (String::new(), String::new());
    for (path, analysis) in analyses {
        let Some(code) = analysis.code() else { continue };
        entities += code.entities.len();
        calls += code.calls.len();
        notes += code.explanations.len();
        truncated += usize::from(code.truncated);
        for entity in &code.entities {
            writeln!(
                definitions,
                "{path}\t{}\t{:?}\t{}\t{:?}",
                entity.name_line, entity.kind, entity.name, entity.test
            )
            .unwrap();
        }
        for note in &code.explanations {
            writeln!(explanations, "{path}:{} {:?}: {}", note.lines.first, note.kind, note.text.replace('\n', " "))
                .unwrap();
        }
    }
    println!("{entities} entities, {calls} calls, {notes} explanations, {truncated} files truncated");
    let begun = Instant::now();
    let tree = analyses.iter().map(|(path, analysis)| (*path, analysis)).collect();
    let resolved = resolve(&tree);
    let mut by_kind: BTreeMap<String, usize> = BTreeMap::new();
    for link in &resolved.links {
        *by_kind.entry(format!("{:?} {}", link.kind, link.confidence)).or_default() += 1;
    }
    println!("resolved in {:?}: {by_kind:?}", begun.elapsed());
    let begun = Instant::now();
    let count: usize = analyses.values().map(|analysis| passages(analysis, "", PassageLimits::default()).len()).sum();
    println!("{count} passages in {:?}", begun.elapsed());
    if let Some(file) = &arguments.definitions {
        fs::write(file, definitions).unwrap();
    }
    if let Some(file) = &arguments.explanations {
        fs::write(file, explanations).unwrap();
    }
}
