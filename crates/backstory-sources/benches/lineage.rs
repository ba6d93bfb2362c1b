//! Lineage of a real history, timed and compared with `git blame`.
//!
//! `cargo bench --profile dev --workspace --bench lineage -- <what> <bare clone> [more]`, where what is
//! `plain`, `through`, `replay [commits] [step]`, `at [path]` or `file <path>`, which compares with nothing.

#![expect(clippy::print_stdout, reason = "a benchmark reports")]

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use backstory_model::{
    commit::Sha,
    lineage::{Lineage, OriginFlags},
};
use backstory_sources::git::lineage::{
    BlameResult, FileOutcome, LinesBlame, Mode, Options, Previous, TipBlame, blame_file_at, blame_lines_at,
    compute_all, update_incrementally,
};
use parking_lot::Mutex;

type Files = BTreeMap<Arc<str>, Option<FileOutcome>>;
/// Commit, path and line that git names for a line.
type Blamed = (Sha, String, u32);

/// How many lines that differ from git are shown.
const SHOWN: usize = 40;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let argument = |at: usize| arguments.get(at).map(String::as_str);
    let number = |at: usize, otherwise| argument(at).and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (Some(what), Some(repository)) = (argument(0), argument(1).map(PathBuf::from)) else {
        println!("nothing to do: name what to measure and a bare clone, as the head of this file says");
        return;
    };
    match what {
        "plain" => plain(&repository),
        "through" => through(&repository),
        "replay" => replay(&repository, number(2, 300), number(3, 10)),
        "at" => one_file(&repository, argument(2)),
        "file" => file_alone(&repository, argument(2).unwrap_or_default()),
        _ => println!("{what} is none of plain, through, replay, at and file"),
    }
}

fn git(repository: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git").arg("-C").arg(repository).args(arguments).output().expect("git runs");
    output.stdout
}

fn head(repository: &Path) -> Sha {
    let text = String::from_utf8(git(repository, &["rev-parse", "HEAD"])).expect("a hash is text");
    text.trim().parse().expect("HEAD is a commit")
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = work();
    println!("{what}: {:.3} s, peak resident {} MiB", started.elapsed().as_secs_f64(), peak_resident() / 1024);
    result
}

/// In KiB.
fn peak_resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
}

fn options(mode: Mode) -> Options {
    Options { mode, ..Options::default() }
}

fn computed(repository: &Path, tip: Sha, mode: Mode) -> Files {
    let mut places = 0;
    let found = timed(&format!("fresh, {mode:?}"), || {
        compute_all(repository, &[tip], &options(mode), &mut |replaced| {
            places += replaced.files.iter().map(|file| file.replaced.len()).sum::<usize>();
        })
    });
    let mut found = found.expect("the clone is whole");
    println!("  {places} places replaced, {} commits ignored", found.ignored.len());
    let files = found.tips.remove(0).files;
    let lineages = || files.values().filter_map(|file| traced(file.as_ref()));
    let (spans, lines) = lineages()
        .fold((0, 0), |(spans, lines), lineage| (spans + lineage.spans().as_slice().len(), lines + lineage.lines()));
    let bytes: usize = lineages().map(|lineage| lineage.to_bytes().len()).sum();
    println!("  {} files, {lines} lines, {spans} spans, {bytes} bytes", files.len());
    files
}

fn traced(file: Option<&FileOutcome>) -> Option<&Lineage> {
    match file {
        Some(FileOutcome::Traced(lineage)) => Some(lineage),
        _ => None,
    }
}

fn by_line(lineage: &Lineage) -> Vec<(Blamed, OriginFlags)> {
    let origins = lineage.origins(1, lineage.lines());
    let lines = origins.flat_map(|origin| {
        (0..origin.lines)
            .map(move |at| ((origin.source.commit, origin.source.path.to_string(), origin.line + at), origin.seen))
    });
    lines.collect()
}

/// What git says of every line of the file at HEAD.
fn blame(repository: &Path, path: &str, flags: &[&str]) -> Vec<Blamed> {
    let mut arguments = vec!["blame", "--line-porcelain"];
    arguments.extend_from_slice(flags);
    arguments.extend_from_slice(&["HEAD", "--", path]);
    let output = git(repository, &arguments);
    let mut lines = Vec::new();
    let mut current: Option<(Sha, u32)> = None;
    for line in output.split(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        if line.first() == Some(&b'\t') {
            current = None;
        } else if let Some((commit, at)) = current {
            if let Some(path) = text.strip_prefix("filename ") {
                lines.push((commit, path.to_owned(), at));
            }
        } else {
            let mut words = text.split(' ');
            let commit = words.next().and_then(|word| word.parse().ok());
            current = commit.zip(words.next().and_then(|word| word.parse().ok()));
        }
    }
    lines
}

/// What git says of all the files, on two threads.
fn blames(repository: &Path, files: &[Arc<str>], flags: &[&str]) -> HashMap<Arc<str>, Vec<Blamed>> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(HashMap::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let lines = blame(repository, path, flags);
                    found.lock().insert(Arc::clone(path), lines);
                }
            });
        }
    });
    found.into_inner()
}

fn plain(repository: &Path) {
    let files = computed(repository, head(repository), Mode::Plain);
    let paths: Vec<_> =
        files.iter().filter(|file| traced(file.1.as_ref()).is_some()).map(|file| Arc::clone(file.0)).collect();
    let blamed = timed("git blame -w of each file", || blames(repository, &paths, &["-w"]));
    let (mut lines, mut wrong, mut shown) = (0, 0, 0);
    for path in &paths {
        let ours = traced(files[path].as_ref()).map(by_line).unwrap_or_default();
        let theirs = &blamed[path];
        lines += ours.len();
        wrong += ours.len().abs_diff(theirs.len());
        for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            if ours.0 != *theirs {
                wrong += 1;
                shown += 1;
                if shown <= SHOWN {
                    println!("  {path}:{} is {:?}, git says {theirs:?}", at + 1, ours.0);
                }
            }
        }
    }
    println!("{wrong} of {lines} lines differ from git blame -w ({:.4} % equal)", percent(lines - wrong, lines));
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn through(repository: &Path) {
    let tip = head(repository);
    let plain = computed(repository, tip, Mode::Plain);
    let through = computed(repository, tip, Mode::SeeThrough);
    let differ = |path: &&Arc<str>| plain[*path] != through[*path];
    let paths: Vec<_> = plain.keys().filter(differ).cloned().collect();
    let blamed =
        timed("git blame -w -M -C of each file that differs", || blames(repository, &paths, &["-w", "-M", "-C"]));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut shown = 0;
    for path in &paths {
        let of = |files: &Files| traced(files[path].as_ref()).map(by_line).unwrap_or_default();
        for (at, ((plain, _), (ours, seen))) in of(&plain).into_iter().zip(of(&through)).enumerate() {
            let Some(theirs) = blamed[path].get(at) else { continue };
            let verdict = match (ours == plain, *theirs == plain) {
                (true, true) => continue,
                (false, _) if ours == *theirs => "seen through as git does",
                (false, true) => "seen through by us alone",
                (true, false) => "seen through by git alone",
                (false, false) => "seen through by both, to other places",
            };
            *counts.entry(verdict).or_default() += 1;
            if verdict != "seen through as git does" && at % 37 == 0 && shown < SHOWN {
                shown += 1;
                println!("  {verdict}: {path}:{} {ours:?} {seen:?}, git {theirs:?}, plain {plain:?}", at + 1);
            }
        }
    }
    println!("lines in files that differ: {counts:?}");
}

fn apply(files: &mut Files, tip: TipBlame) {
    if tip.base.is_none() {
        files.clear();
    }
    for (path, file) in tip.files {
        match file {
            Some(file) => files.insert(path, Some(file)),
            None => files.remove(&path),
        };
    }
}

fn updated(repository: &Path, old: (&BlameResult, &Files), old_tip: Sha, tip: Sha) -> (BlameResult, Duration) {
    let started = Instant::now();
    let mut file = |_: Sha, path: &str| old.1.get(path).cloned().flatten();
    let mut previous = Previous { tips: &[old_tip], ignored: &old.0.ignored, file: &mut file };
    let found = update_incrementally(repository, &mut previous, &[tip], &options(Mode::SeeThrough), &mut |_| {});
    (found.expect("the clone is whole"), started.elapsed())
}

/// Steps along the first parents, each with all that was merged, and after some a jump to another place.
fn replay(repository: &Path, commits: usize, step: usize) {
    let count = commits.to_string();
    let listed = git(repository, &["rev-list", "--first-parent", "-n", &count, "HEAD"]);
    let mut tips: Vec<Sha> = String::from_utf8_lossy(&listed).lines().filter_map(|line| line.parse().ok()).collect();
    tips.reverse();
    let tips: Vec<_> = tips.into_iter().step_by(step.max(1)).collect();
    let Some(first) = tips.first().copied() else { return };
    let mut state =
        compute_all(repository, &[first], &options(Mode::SeeThrough), &mut |_| {}).expect("the clone is whole");
    let mut files = Files::new();
    apply(&mut files, state.tips.remove(0));
    let (mut times, mut wrong, mut old_tip) = (Vec::new(), 0, first);
    for tip in &tips[1..] {
        let (mut found, time) = updated(repository, (&state, &files), old_tip, *tip);
        apply(&mut files, found.tips.remove(0));
        let whole =
            compute_all(repository, &[*tip], &options(Mode::SeeThrough), &mut |_| {}).expect("the clone is whole");
        let equal = whole.tips[0].files == files;
        wrong += usize::from(!equal);
        println!("  {tip}: {:.3} s{}", time.as_secs_f64(), if equal { "" } else { ", NOT as fresh" });
        times.push(time);
        (state, old_tip) = (found, *tip);
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let most = times.last().copied().unwrap_or_default();
    println!("{} steps of {step}: {wrong} not as fresh; median {median:?}, most {most:?}", times.len());
    let (mut found, time) = updated(repository, (&state, &files), old_tip, first);
    apply(&mut files, found.tips.remove(0));
    println!("  back to {first}: {:.3} s, {} files", time.as_secs_f64(), files.len());
}

/// As a question is answered about a commit that no lineage is kept of.
fn file_alone(repository: &Path, path: &str) {
    let tip = head(repository);
    for mode in [Mode::Plain, Mode::SeeThrough] {
        let found = timed(&format!("{path}, {mode:?}"), || blame_file_at(repository, tip, path, &[], &options(mode)));
        let Ok(Some(FileOutcome::Traced(lineage))) = found else {
            println!("not traced: {found:?}");
            continue;
        };
        let middle = lineage.lines().div_ceil(2);
        let line = timed(&format!("line {middle} of {}", lineage.lines()), || {
            blame_lines_at(repository, tip, (path, middle, 1), &[], &options(mode))
        });
        let Ok(Some(LinesBlame { outcome: FileOutcome::Traced(alone), .. })) = line else {
            println!("not traced: {line:?}");
            continue;
        };
        let origin = alone.origin(1).map(|origin| (origin.source, origin.line));
        assert_eq!(origin, lineage.origin(middle).map(|origin| (origin.source, origin.line)), "the same origin");
    }
}

fn one_file(repository: &Path, path: Option<&str>) {
    let tip = head(repository);
    let files = computed(repository, tip, Mode::SeeThrough);
    let ignored = fresh_ignored(repository, tip);
    let mut wrong = 0;
    for (name, file) in files.iter().filter(|file| path.is_none_or(|path| **file.0 == *path)) {
        let started = Instant::now();
        let found =
            blame_file_at(repository, tip, name, &ignored, &options(Mode::SeeThrough)).expect("the clone is whole");
        println!("  {name}: {:.3} s", started.elapsed().as_secs_f64());
        wrong += usize::from(found != *file);
    }
    println!("{wrong} files not as fresh");
}

fn fresh_ignored(repository: &Path, tip: Sha) -> Vec<Sha> {
    let mut previous = Previous { tips: &[tip], ignored: &[], file: &mut |_, _| None };
    let options = options(Mode::SeeThrough);
    update_incrementally(repository, &mut previous, &[tip], &options, &mut |_| {})
        .map(|found| found.ignored)
        .unwrap_or_default()
}
