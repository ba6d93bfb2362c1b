//! Tests of blame.

use std::{collections::BTreeMap, process::Command, sync::Arc};

use backstory_model::{
    commit::Sha,
    lineage::{BlameOrigin, Lineage, OriginFlags},
};
use fastrand::Rng;
use git2::{FileMode, Oid, Repository, Signature, Time, build::TreeUpdateBuilder};
use proptest::prelude::*;
use tempfile::TempDir;

use super::{
    BlameResult, CommitReplaced, FileOutcome, LinesBlame, Mode, Options, Previous, TipBlame, Untraced, assemble::hash,
    blame_file_at, blame_lines_at, compute_all, update_incrementally,
};

type Tree = BTreeMap<String, Vec<u8>>;
type Files = BTreeMap<Arc<str>, Option<FileOutcome>>;

/// A repository in a directory of its own.
struct History {
    directory: TempDir,
    repository: Repository,
    commits: Vec<(Oid, Tree)>,
}

impl History {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let repository = Repository::init_bare(directory.path()).unwrap();
        Self { directory, repository, commits: Vec::new() }
    }

    /// Adds a commit with these files and returns its place.
    fn commit(&mut self, parents: &[usize], tree: Tree) -> usize {
        let mut update = TreeUpdateBuilder::new();
        for (path, text) in &tree {
            update.upsert(path.as_str(), self.repository.blob(text).unwrap(), FileMode::Blob);
        }
        let builder = self.repository.treebuilder(None).unwrap();
        let empty = self.repository.find_tree(builder.write().unwrap()).unwrap();
        let id = update.create_updated(&self.repository, &empty).unwrap();
        let tree_object = self.repository.find_tree(id).unwrap();
        let time = Time::new(1_700_000_000 + self.commits.len() as i64, 0);
        let author = Signature::new("A", "a@example.com", &time).unwrap();
        let parents: Vec<_> =
            parents.iter().map(|at| self.repository.find_commit(self.commits[*at].0).unwrap()).collect();
        let parents: Vec<_> = parents.iter().collect();
        let id = self.repository.commit(None, &author, &author, "m", &tree_object, &parents).unwrap();
        self.commits.push((id, tree));
        self.commits.len() - 1
    }

    fn hash(&self, at: usize) -> Sha {
        hash(self.commits[at].0)
    }

    fn fresh(&self, tips: &[usize], options: &Options) -> (BlameResult, Vec<CommitReplaced>) {
        let tips: Vec<_> = tips.iter().map(|at| self.hash(*at)).collect();
        let mut told = Vec::new();
        let found = compute_all(self.directory.path(), &tips, options, &mut |replaced| told.push(replaced)).unwrap();
        (found, told)
    }

    fn lineage(&self, tip: usize, path: &str, mode: Mode) -> Lineage {
        match self.fresh(&[tip], &options(mode)).0.tips[0].files[path].clone() {
            Some(FileOutcome::Traced(lineage)) => Lineage::clone(&lineage),
            other => panic!("{path} is {other:?}"),
        }
    }

    /// What git says of each line.
    fn blame(&self, tip: usize, path: &str) -> Vec<(Sha, String, u32)> {
        let output = Command::new("git")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .arg("-C")
            .arg(self.directory.path())
            .args(["blame", "-w", "--line-porcelain", &self.hash(tip).to_string(), "--", path])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = Vec::new();
        let mut head = None;
        for line in text.lines() {
            let mut words = line.split(' ');
            if let Some(path) = line.strip_prefix("filename ") {
                let (commit, line) = head.take().unwrap();
                lines.push((commit, path.to_owned(), line));
            } else if let Some(commit) = words.next().and_then(|word| word.parse::<Sha>().ok()) {
                head = Some((commit, words.next().unwrap().parse().unwrap()));
            }
        }
        lines
    }
}

fn options(mode: Mode) -> Options {
    Options { mode, threads: 1, ..Options::default() }
}

fn by_line(lineage: &Lineage) -> Vec<(Sha, String, u32)> {
    let lines = lineage.origins(1, lineage.lines()).flat_map(|origin| {
        (0..origin.lines).map(move |at| (origin.source.commit, origin.source.path.to_string(), origin.line + at))
    });
    lines.collect()
}

fn text(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

fn tree(files: &[(&str, &[&str])]) -> Tree {
    files.iter().map(|(path, lines)| ((*path).to_owned(), text(lines))).collect()
}

/// A line of few words, so that texts repeat themselves as code does.
fn random_line(random: &mut Rng) -> Vec<u8> {
    let indent = " ".repeat(random.usize(0..4));
    match random.u32(0..10) {
        0 => b"}\n".to_vec(),
        1 => b"\n".to_vec(),
        2..5 => format!("{indent}call({});\n", random.u32(0..6)).into_bytes(),
        _ => {
            format!("{indent}let value_{} = compute(number_{});\n", random.u32(0..300), random.u32(0..300)).into_bytes()
        }
    }
}

fn random_edit(random: &mut Rng, tree: &mut Tree) {
    let paths = ["a.rs", "b.rs", "d/a.rs", "d/c.rs", "e/f/g.rs"];
    let path = paths[random.usize(0..paths.len())].to_owned();
    let mut lines: Vec<Vec<u8>> = tree
        .get(&path)
        .map(|text| text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect())
        .unwrap_or_default();
    let start = random.usize(0..=lines.len());
    let end = (start + random.usize(0..8)).min(lines.len());
    match random.u32(0..12) {
        0 => drop(tree.remove(&path)),
        1 | 2 => {
            let other = paths[random.usize(0..paths.len())];
            if let Some(text) = tree.remove(&path) {
                tree.insert(other.to_owned(), text);
            }
            return;
        }
        3 => lines[start..end].iter_mut().for_each(|line| line.insert(0, b'\t')),
        4 | 5 => {
            let moved: Vec<_> = lines.drain(start..end).collect();
            let other = tree.entry(paths[random.usize(0..paths.len())].to_owned()).or_default();
            if other.last().is_none_or(|byte| *byte == b'\n') {
                other.extend(moved.concat());
            }
        }
        6 => drop(lines.drain(start..end)),
        7 if lines.last().is_some_and(|line| line.len() > 1) => {
            lines.last_mut().unwrap().pop();
        }
        _ => {
            let new: Vec<_> = (0..random.usize(1..15)).map(|_| random_line(random)).collect();
            lines.splice(start..end, new);
        }
    }
    tree.insert(path, lines.concat());
}

fn random_history(seed: u64, commits: usize) -> History {
    let mut random = Rng::with_seed(seed);
    let mut history = History::new();
    for at in 0..commits {
        let parents: Vec<usize> = match at {
            0 => Vec::new(),
            _ => {
                let count = [1, 1, 1, 2, 2, 3][random.usize(0..6)];
                let mut parents: Vec<_> = (0..count).map(|_| at - 1 - random.usize(0..at.min(5))).collect();
                parents.dedup();
                parents
            }
        };
        let mut tree = Tree::new();
        for parent in &parents {
            for (path, text) in &history.commits[*parent].1 {
                // A merge takes a file from either side, or some lines of each.
                match tree.get(path) {
                    Some(_) if random.bool() => {}
                    Some(other) if random.u32(0..3) == 0 => {
                        let half = |text: &[u8], skip: bool| {
                            let lines: Vec<_> = text.split_inclusive(|b| *b == b'\n').collect();
                            let cut = lines.len() / 2;
                            (if skip { &lines[cut..] } else { &lines[..cut] }).concat()
                        };
                        let mixed = [half(other, false), half(text, true)].concat();
                        tree.insert(path.clone(), mixed);
                    }
                    _ => drop(tree.insert(path.clone(), text.clone())),
                }
            }
        }
        let edits = if parents.len() > 1 { random.usize(0..2) } else { random.usize(1..4) };
        for _ in 0..edits {
            random_edit(&mut random, &mut tree);
        }
        history.commit(&parents, tree);
    }
    history
}

fn apply(tip: &TipBlame, known: &BTreeMap<Sha, Files>) -> Files {
    let mut files = tip.base.map(|base| known[&base].clone()).unwrap_or_default();
    for (path, file) in &tip.files {
        match file {
            Some(file) => files.insert(Arc::clone(path), Some(file.clone())),
            None => files.remove(path),
        };
    }
    files
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plain_lineage_is_what_git_blame_says(seed in any::<u64>()) {
        let history = random_history(seed, 24);
        for tip in [23, 17] {
            let found = history.fresh(&[tip], &options(Mode::Plain)).0;
            let files = &found.tips[0].files;
            let expected: Vec<_> = history.commits[tip].1.keys().map(String::as_str).collect();
            prop_assert_eq!(files.keys().map(|path| &**path).collect::<Vec<_>>(), expected);
            for (path, file) in files {
                let Some(FileOutcome::Traced(lineage)) = file else { panic!("{path} is {file:?}") };
                prop_assert_eq!(by_line(lineage), history.blame(tip, path), "{} at {}", path, tip);
            }
        }
    }

    #[test]
    fn an_update_gives_what_is_computed_from_scratch(seed in any::<u64>(), plain in any::<bool>(), ignores in any::<bool>()) {
        let mut random = Rng::with_seed(seed);
        let history = random_history(seed, 40);
        let mut options = options(if plain { Mode::Plain } else { Mode::SeeThrough });
        if ignores {
            options.ignored = (0..4).map(|_| history.hash(random.usize(0..40))).collect();
        }
        let mut tips = |count: usize| -> Vec<usize> { (0..count).map(|_| random.usize(0..40)).collect() };
        let (old_tips, new_tips) = (tips(2), tips(3));
        let old = history.fresh(&old_tips, &options).0;
        let known: BTreeMap<_, _> =
            old.tips.iter().map(|tip| (tip.tip, apply(tip, &BTreeMap::new()))).collect();
        let mut file = |tip: Sha, path: &str| known[&tip].get(path).cloned().flatten();
        let tips: Vec<_> = old.tips.iter().map(|tip| tip.tip).collect();
        let mut previous = Previous { tips: &tips, ignored: &old.ignored, file: &mut file };
        let wanted: Vec<_> = new_tips.iter().map(|at| history.hash(*at)).collect();
        let mut told = Vec::new();
        let updated =
            update_incrementally(history.directory.path(), &mut previous, &wanted, &options, &mut |it| told.push(it)).unwrap();
        let (whole, all_told) = history.fresh(&new_tips, &options);
        for (updated, whole) in updated.tips.iter().zip(&whole.tips) {
            prop_assert_eq!(apply(updated, &known), whole.files.clone());
        }
        for told in told {
            prop_assert!(all_told.contains(&told), "{:?} is told differently", told);
        }
    }

    #[test]
    fn one_file_alone_is_as_among_all(seed in any::<u64>(), plain in any::<bool>()) {
        let history = random_history(seed, 24);
        let options = options(if plain { Mode::Plain } else { Mode::SeeThrough });
        for tip in [23, 12] {
            let found = history.fresh(&[tip], &options).0;
            for (path, file) in &found.tips[0].files {
                let alone = blame_file_at(history.directory.path(), history.hash(tip), path, &found.ignored, &options).unwrap();
                prop_assert_eq!(&alone, file);
            }
        }
    }

    #[test]
    fn lines_alone_are_as_in_their_file(seed in any::<u64>(), plain in any::<bool>()) {
        let history = random_history(seed, 24);
        let options = options(if plain { Mode::Plain } else { Mode::SeeThrough });
        let found = history.fresh(&[23], &options).0;
        let mut random = Rng::with_seed(seed);
        for (path, file) in &found.tips[0].files {
            let lines = match file {
                Some(FileOutcome::Traced(lineage)) => lineage.lines(),
                _ => 3,
            };
            let (first, count) = (random.u32(1..=lines + 1), random.u32(1..=lines + 1));
            let asked = (&**path, first, count);
            let alone = blame_lines_at(history.directory.path(), history.hash(23), asked, &found.ignored, &options).unwrap();
            match (file, alone) {
                (Some(FileOutcome::Traced(all)), Some(LinesBlame { file_lines, outcome: FileOutcome::Traced(alone) })) => {
                    prop_assert_eq!(file_lines, all.lines());
                    let of_all: Vec<_> = all.origins(first, count).collect();
                    let of_lines: Vec<_> = alone.origins(1, count).map(|origin| BlameOrigin { start: origin.start + first - 1, ..origin }).collect();
                    prop_assert_eq!(of_lines, of_all);
                }
                (file, alone) => prop_assert_eq!(alone.map(|alone| alone.outcome), file.clone()),
            }
        }
    }
}

#[test]
fn a_moved_block_is_from_where_it_was() {
    let block: &[&str] = &["fn compute_the_answer() -> u32 {", "    let answer = forty_two();", "    answer", "}"];
    let mut history = History::new();
    let filler: Vec<String> = (0..20).map(|at| format!("filler line {at}")).collect();
    let filler: Vec<&str> = filler.iter().map(String::as_str).collect();
    history.commit(&[], tree(&[("a.rs", &[block, &filler].concat()), ("b.rs", &filler[..5])]));
    history.commit(&[0], tree(&[("a.rs", &filler), ("b.rs", &[&filler[..5], block].concat())]));
    assert_eq!(history.lineage(1, "b.rs", Mode::Plain).origin(6).unwrap().source.commit, history.hash(1));
    let origin = history.lineage(1, "b.rs", Mode::SeeThrough).origin(6).unwrap();
    assert_eq!((origin.source.commit, &*origin.source.path, origin.line), (history.hash(0), "a.rs", 1));
    assert_eq!((origin.lines, origin.seen), (1, OriginFlags::MOVED));
}

#[test]
fn a_copied_block_says_so_and_a_short_one_is_new() {
    let block: &[&str] = &["fn compute_the_answer_to_everything() {", "    call_the_function();", "}"];
    let mut history = History::new();
    history.commit(&[], tree(&[("a.rs", block)]));
    let copied = [block, &["", "x = 1", ""], block, &["x = 1"]].concat();
    history.commit(&[0], tree(&[("a.rs", &copied)]));
    let lineage = history.lineage(1, "a.rs", Mode::SeeThrough);
    let origin = lineage.origin(8).unwrap();
    assert_eq!((origin.source.commit, origin.line, origin.seen), (history.hash(0), 2, OriginFlags::COPIED));
    assert_eq!(lineage.origin(10).unwrap().source.commit, history.hash(1));
}

#[test]
fn an_idiom_that_stands_elsewhere_too_is_new_where_it_is_written_again() {
    let old: &[&str] = &[
        "int connect_to(Context *c) {",
        "    if (!(c->flags & SESSION_CONNECTED)) {",
        "        return -1;",
        "    }",
        "    begin_the_first_handshake(c);",
        "}",
    ];
    let new: &[&str] = &["int read_from(Context *c) {", old[1], old[2], old[3], "    fill_buffer(c);", old[2], "}"];
    let mut history = History::new();
    history.commit(&[], tree(&[("net.c", old)]));
    history.commit(&[0], tree(&[("net.c", &[old, &[""], new].concat())]));
    let lineage = history.lineage(1, "net.c", Mode::SeeThrough);
    for line in [9, 10, 13] {
        assert_eq!(lineage.origin(line).unwrap().source.commit, history.hash(1), "line {line}");
    }
    // A single short line is not taken for one that went away elsewhere either.
    let moved = [old[0], old[2], old[3], old[4], old[5], "", new[0], "    wait_for_it(c);", old[1]];
    history.commit(&[0], tree(&[("net.c", &moved)]));
    let origin = history.lineage(2, "net.c", Mode::SeeThrough).origin(9).unwrap();
    assert_eq!((origin.source.commit, origin.seen), (history.hash(2), OriginFlags::NONE));
}

#[test]
fn an_ignored_commit_passes_its_lines_on() {
    let mut history = History::new();
    history.commit(&[], tree(&[("a.js", &["let a = 'x'", "let b = 'y'", "done()"])]));
    let formatted: &[&str] = &["let a = \"x\";", "let b = \"y\";", "", "done();"];
    history.commit(&[0], tree(&[("a.js", formatted)]));
    let list = format!("# formatting\n{}\n", history.hash(1));
    let mut listed = tree(&[("a.js", formatted)]);
    listed.insert(".git-blame-ignore-revs".to_owned(), list.into_bytes());
    history.commit(&[1], listed);
    let lineage = history.lineage(2, "a.js", Mode::SeeThrough);
    let origin = lineage.origin(4).unwrap();
    assert_eq!((origin.source.commit, origin.line, origin.seen), (history.hash(0), 3, OriginFlags::IGNORED));
    assert_eq!(lineage.origin(3).unwrap().source.commit, history.hash(1), "an added line stays with its commit");
    assert_eq!(history.lineage(2, "a.js", Mode::Plain).origin(1).unwrap().source.commit, history.hash(1));
}

#[test]
fn what_a_commit_replaced_is_told_once() {
    let mut history = History::new();
    history.commit(&[], tree(&[("a", &["one", "two", "three"])]));
    history.commit(&[0], tree(&[("a", &["one", "2", "three"])]));
    history.commit(&[1], tree(&[("a", &["zwei", "three", "four"])]));
    let told = history.fresh(&[2], &options(Mode::Plain)).1;
    assert_eq!(told.iter().map(|told| told.commit).collect::<Vec<_>>(), [history.hash(1), history.hash(2)]);
    let places = &told[1].files[0].replaced;
    assert_eq!(places.iter().map(|place| (place.start, place.lines)).collect::<Vec<_>>(), [(1, 1), (3, 1)]);
    let old: Vec<_> = places[0].old.iter().map(|old| (old.start, old.lines, old.source.commit, old.line)).collect();
    assert_eq!(old, [(1, 1, history.hash(0), 1), (2, 1, history.hash(1), 2)]);
    assert!(places[1].old.is_empty());
}

#[test]
fn what_is_not_text_is_named_but_not_traced() {
    let mut history = History::new();
    let mut files = tree(&[("text", &["one"])]);
    files.insert("image".to_owned(), b"\x89PNG\0\x01".to_vec());
    files.insert("large".to_owned(), vec![b'x'; 2000]);
    history.commit(&[], files);
    let options = Options { max_file_bytes: 1000, ..options(Mode::SeeThrough) };
    let found = history.fresh(&[0], &options).0;
    let files = &found.tips[0].files;
    assert_eq!(files["image"], Some(FileOutcome::Untraced(Untraced::Binary)));
    assert_eq!(files["large"], Some(FileOutcome::Untraced(Untraced::TooLarge)));
    assert!(matches!(files["text"], Some(FileOutcome::Traced(_))));
}

#[test]
fn a_clone_that_is_not_there_is_an_error() {
    let directory = TempDir::new().unwrap();
    let nothing = compute_all(directory.path(), &[], &Options::default(), &mut |_| {});
    assert!(nothing.unwrap_err().to_string().contains("clone the repository again"));
}
