//! Determines the type of a change by rules: one main type and the others that apply, each with its confidence and
//! rule.
//!
//! Rules are applied in order: the prefix of Conventional Commits, the files that changed, then the words of the
//! subject together with the shape of the diff. The types that a language model gives are in
//! [`generated`](crate::generated).

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::{
    commit::{self, ChangeStatus, Commit},
    security::{self, SecurityFlag},
};

mod paths;
mod words;

#[cfg(test)]
mod tests;

pub use paths::{PathKind, is_changelog, is_generated, path_kind};

/// Most files of a change that are looked at.
pub const MAX_FILES: usize = 10_000;
/// Types that are less sure than this are not listed beside the main one.
const LEAST_SECONDARY: f32 = 0.2;

/// Type of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChangeType {
    /// Fixes incorrect behavior.
    Bugfix,
    /// Adds something new.
    Feature,
    /// Restructures without changing behavior.
    Refactor,
    /// Makes it faster or smaller.
    Performance,
    /// Closes a hole.
    Security,
    /// Changes texts for people only.
    Documentation,
    /// Changes tests only.
    Test,
    /// Changes dependencies.
    Dependency,
    /// Changes settings, builds, pipelines and releases.
    Configuration,
    /// Removes what is dead, formats.
    Cleanup,
}

impl ChangeType {
    /// All types.
    pub const ALL: [Self; 10] = [
        Self::Bugfix,
        Self::Feature,
        Self::Refactor,
        Self::Performance,
        Self::Security,
        Self::Documentation,
        Self::Test,
        Self::Dependency,
        Self::Configuration,
        Self::Cleanup,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bugfix => "bugfix",
            Self::Feature => "feature",
            Self::Refactor => "refactor",
            Self::Performance => "performance",
            Self::Security => "security",
            Self::Documentation => "documentation",
            Self::Test => "test",
            Self::Dependency => "dependency",
            Self::Configuration => "configuration",
            Self::Cleanup => "cleanup",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileStatus {
    /// It is new.
    Added,
    /// It was changed in place.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another path.
    Renamed,
}

/// A file of a change.
#[derive(Clone, Copy, Debug)]
pub struct FileChange<'a> {
    /// Its path; for a file that is gone, the last it had.
    pub path: &'a str,
    /// What happened to it.
    pub status: FileStatus,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub deleted: u32,
}

/// Which rule decided a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// The subject's prefix, as in `fix(cart): …`.
    Prefix,
    /// What the files are for.
    Paths,
    /// The words of the subject.
    Words,
    /// The shape of the diff.
    Shape,
    /// No rule matched: the most common type.
    Default,
}

impl Rule {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prefix => "prefix",
            Self::Paths => "paths",
            Self::Words => "words",
            Self::Shape => "shape",
            Self::Default => "default",
        }
    }
}

/// A type that a change has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TypeGuess {
    /// The type.
    pub kind: ChangeType,
    /// How sure it is, 0 to 1.
    pub confidence: f32,
    /// Which rule decided.
    pub rule: Rule,
}

/// What a change is.
#[derive(Clone, Debug, PartialEq)]
pub struct Classification {
    /// Its main type.
    pub main: TypeGuess,
    /// Others that it has as well, most confident first.
    pub secondary: Vec<TypeGuess>,
    /// Whether the subject's prefix marks it as breaking.
    pub breaking: bool,
}

/// The type of a commit; none of a merge, which changes what the commits it brought did.
pub fn classify_commit(commit: &Commit) -> Option<Classification> {
    if commit.is_merge() {
        return None;
    }
    let files: Vec<FileChange<'_>> = commit.changes.iter().map(FileChange::from).collect();
    Some(classify(commit.title(), &files))
}

/// What a commit says of security: identifiers in its message, and that its type is security.
pub fn security_flags(commit: &Commit) -> Vec<SecurityFlag> {
    let mut flags = security::security_flags(&commit.message);
    if classify_commit(commit).is_some_and(|found| found.main.kind == ChangeType::Security) {
        flags.push(security::classified(commit.title()));
    }
    flags
}

impl<'a> From<&'a commit::FileChange> for FileChange<'a> {
    fn from(change: &'a commit::FileChange) -> Self {
        let status = match change.status {
            ChangeStatus::Added | ChangeStatus::Copied => FileStatus::Added,
            ChangeStatus::Modified | ChangeStatus::TypeChanged => FileStatus::Modified,
            ChangeStatus::Deleted => FileStatus::Deleted,
            ChangeStatus::Renamed => FileStatus::Renamed,
        };
        let lines = change.lines.unwrap_or_default();
        Self { path: change.path.as_str(), status, added: lines.insertions, deleted: lines.deletions }
    }
}

/// The type of a change by the subject of its commit and its files.
pub fn classify(subject: &str, files: &[FileChange<'_>]) -> Classification {
    let files = &files[..files.len().min(MAX_FILES)];
    let (prefix, rest) = split_prefix(subject);
    let kinds: Vec<PathKind> = files.iter().map(|file| path_kind(file.path)).collect();
    let said = words::weights(rest);
    let by_prefix = prefix.as_ref().and_then(|prefix| of_prefix(prefix, rest, &kinds));
    let by_paths = of_paths(&kinds, &said, rest);
    let by_weights = of_weights(said, files, &kinds);
    let main = by_prefix.or(by_paths).unwrap_or(by_weights[0]);
    let mut secondary: Vec<TypeGuess> = Vec::new();
    let candidates = by_paths.into_iter().chain(by_weights).chain(mixed(&kinds));
    for typed in candidates.filter(|typed| typed.kind != main.kind && typed.confidence >= LEAST_SECONDARY) {
        match secondary.iter_mut().find(|other| other.kind == typed.kind) {
            Some(other) if other.confidence < typed.confidence => *other = typed,
            Some(_) => {}
            None => secondary.push(typed),
        }
    }
    secondary.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.kind.cmp(&b.kind)));
    Classification { main, secondary, breaking: prefix.is_some_and(|prefix| prefix.breaking) }
}

/// The prefix of a Conventional Commit.
struct Prefix {
    /// Lower case.
    word: String,
    /// Lower case, empty if there is none.
    scope: String,
    breaking: bool,
}

static PREFIX: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<word>[A-Za-z][A-Za-z-]{1,20}) ?(?:\((?P<scope>[^)]{0,80})\))?(?P<bang>!)?: *(?P<rest>\S.*)$")
        .expect("the pattern is constant")
});

/// Words that are prefixes; others before a colon are names of parts of the code.
const PREFIXES: [(&str, Option<ChangeType>); 48] = [
    ("feat", Some(ChangeType::Feature)),
    ("feature", Some(ChangeType::Feature)),
    ("feats", Some(ChangeType::Feature)),
    ("enhancement", Some(ChangeType::Feature)),
    ("enhance", Some(ChangeType::Feature)),
    ("fix", Some(ChangeType::Bugfix)),
    ("fixes", Some(ChangeType::Bugfix)),
    ("bugfix", Some(ChangeType::Bugfix)),
    ("bug", Some(ChangeType::Bugfix)),
    ("hotfix", Some(ChangeType::Bugfix)),
    ("refactor", Some(ChangeType::Refactor)),
    ("refact", Some(ChangeType::Refactor)),
    ("refactoring", Some(ChangeType::Refactor)),
    ("perf", Some(ChangeType::Performance)),
    ("performance", Some(ChangeType::Performance)),
    ("optimize", Some(ChangeType::Performance)),
    ("security", Some(ChangeType::Security)),
    ("sec", Some(ChangeType::Security)),
    ("docs", Some(ChangeType::Documentation)),
    ("doc", Some(ChangeType::Documentation)),
    ("documentation", Some(ChangeType::Documentation)),
    ("typo", Some(ChangeType::Documentation)),
    ("changelog", Some(ChangeType::Documentation)),
    ("test", Some(ChangeType::Test)),
    ("tests", Some(ChangeType::Test)),
    ("testing", Some(ChangeType::Test)),
    ("deps", Some(ChangeType::Dependency)),
    ("dep", Some(ChangeType::Dependency)),
    ("dependencies", Some(ChangeType::Dependency)),
    ("bump", Some(ChangeType::Dependency)),
    ("ci", Some(ChangeType::Configuration)),
    ("cd", Some(ChangeType::Configuration)),
    ("build", Some(ChangeType::Configuration)),
    ("config", Some(ChangeType::Configuration)),
    ("conf", Some(ChangeType::Configuration)),
    ("infra", Some(ChangeType::Configuration)),
    ("tooling", Some(ChangeType::Configuration)),
    ("workflow", Some(ChangeType::Configuration)),
    ("release", Some(ChangeType::Configuration)),
    ("style", Some(ChangeType::Cleanup)),
    ("cleanup", Some(ChangeType::Cleanup)),
    ("lint", Some(ChangeType::Cleanup)),
    ("format", Some(ChangeType::Cleanup)),
    ("chore", None),
    ("types", None),
    ("dx", None),
    ("wip", None),
    ("revert", None),
];

/// The prefix, if the subject has one, and what comes after it.
fn split_prefix(subject: &str) -> (Option<Prefix>, &str) {
    let Some(captures) = PREFIX.captures(subject) else { return (None, subject) };
    let word = captures["word"].to_ascii_lowercase();
    if !PREFIXES.iter().any(|(known, _)| *known == word) {
        return (None, subject);
    }
    let scope = captures.name("scope").map_or(String::new(), |scope| scope.as_str().to_ascii_lowercase());
    let rest = captures.name("rest").map_or("", |rest| rest.as_str());
    (Some(Prefix { word, scope, breaking: captures.name("bang").is_some() }), rest)
}

fn of_prefix(prefix: &Prefix, rest: &str, kinds: &[PathKind]) -> Option<TypeGuess> {
    let named = PREFIXES.iter().find(|(word, _)| *word == prefix.word).and_then(|(_, kind)| *kind);
    let (kind, confidence) = match (prefix.word.as_str(), prefix.scope.as_str()) {
        (_, scope) if is_scope(scope, &["deps", "deps-dev", "dep", "dependencies", "deps/"]) => {
            (ChangeType::Dependency, 0.97)
        }
        ("fix", scope) if is_scope(scope, &["security", "sec"]) => (ChangeType::Security, 0.95),
        ("fix", "docs" | "doc" | "readme") => (ChangeType::Documentation, 0.9),
        ("fix", "ci" | "build" | "release") if !kinds.contains(&PathKind::Source) => (ChangeType::Configuration, 0.85),
        ("chore" | "build", scope) => match scope {
            "docs" | "doc" | "readme" | "changelog" => (ChangeType::Documentation, 0.9),
            "test" | "tests" => (ChangeType::Test, 0.9),
            "ci" | "release" | "config" | "build" | "docker" | "cd" | "tooling" => (ChangeType::Configuration, 0.95),
            "lint" | "format" | "style" | "cleanup" => (ChangeType::Cleanup, 0.9),
            _ if said_dependency(rest, kinds) => (ChangeType::Dependency, 0.9),
            _ => (named?, 0.85),
        },
        _ => (named?, 0.97),
    };
    Some(TypeGuess { kind, confidence, rule: Rule::Prefix })
}

fn is_scope(scope: &str, names: &[&str]) -> bool {
    scope.split([',', '/', ' ']).any(|part| names.contains(&part))
}

fn said_dependency(rest: &str, kinds: &[PathKind]) -> bool {
    let said = words::weights(rest);
    said[ChangeType::Dependency as usize] >= 2.0 && !kinds.contains(&PathKind::Source)
}

/// Files that all serve one purpose decide the type, unless the words clearly say otherwise.
fn of_paths(kinds: &[PathKind], said: &[f32; 10], rest: &str) -> Option<TypeGuess> {
    let has = |kind| kinds.contains(&kind);
    let weight = |kind: ChangeType| said[kind as usize];
    let typed = |kind, confidence| Some(TypeGuess { kind, confidence, rule: Rule::Paths });
    if kinds.is_empty() || has(PathKind::Source) {
        return None;
    }
    let (manifest, settings) = (has(PathKind::Manifest), has(PathKind::Configuration));
    let (tests, documents) = (has(PathKind::Test), has(PathKind::Documentation));
    match (manifest, settings, tests, documents) {
        (false, false, false, true) => typed(ChangeType::Documentation, 0.93),
        (false, false, true, false) => typed(ChangeType::Test, 0.9),
        (_, _, false, _) if weight(ChangeType::Configuration) >= 4.0 || is_version(rest) => {
            typed(ChangeType::Configuration, 0.9)
        }
        (_, _, _, _) if weight(ChangeType::Dependency) >= 2.0 => typed(ChangeType::Dependency, 0.92),
        (true, false, false, false) => typed(ChangeType::Dependency, 0.7),
        (false, true, false, false) => typed(ChangeType::Configuration, 0.88),
        (true, true, false, false) => typed(ChangeType::Configuration, 0.7),
        (false, false, true, true) => typed(ChangeType::Test, 0.6),
        _ => None,
    }
}

/// A subject that is only a version: `v1.2.3`.
fn is_version(subject: &str) -> bool {
    let version = subject.trim().trim_start_matches(['v', 'V']);
    version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains(' ') && version.contains('.')
}

/// Every type by the words of the subject and the shape of the diff, most confident first. Confidence is the share of a type
/// in the exponentials of all weights.
fn of_weights(said: [f32; 10], files: &[FileChange<'_>], kinds: &[PathKind]) -> Vec<TypeGuess> {
    let shape = shape(files, kinds);
    let total = |at: usize| said[at] + shape[at];
    let sum: f32 = (0..10).map(|at| total(at).exp()).sum();
    let mut typed: Vec<TypeGuess> = ChangeType::ALL
        .into_iter()
        .map(|kind| {
            let at = kind as usize;
            let rule = match (said[at], shape[at]) {
                (words, shape) if words <= 0.0 && shape <= 0.0 => Rule::Default,
                (words, shape) if words >= shape => Rule::Words,
                _ => Rule::Shape,
            };
            TypeGuess { kind, confidence: total(at).exp() / sum, rule }
        })
        .collect();
    typed.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.kind.cmp(&b.kind)));
    typed
}

/// How much the shape of the diff supports each type.
fn shape(files: &[FileChange<'_>], kinds: &[PathKind]) -> [f32; 10] {
    let mut weights = [0.0; 10];
    let mut add = |kind: ChangeType, weight: f32| weights[kind as usize] += weight;
    // Most changes to code are fixes, then features.
    add(ChangeType::Bugfix, 0.8);
    add(ChangeType::Feature, 0.2);
    if files.is_empty() {
        return weights;
    }
    let of = |wanted: PathKind| files.iter().zip(kinds).filter(move |(_, kind)| **kind == wanted).map(|(file, _)| file);
    let lines = |wanted| of(wanted).map(|file| u64::from(file.added) + u64::from(file.deleted)).sum::<u64>();
    let sum: u64 = files.iter().map(|file| u64::from(file.added) + u64::from(file.deleted)).sum();
    let (added, deleted) = files.iter().fold((0u64, 0u64), |(added, deleted), file| {
        (added + u64::from(file.added), deleted + u64::from(file.deleted))
    });
    let share = |wanted| (lines(wanted) * 100).checked_div(sum).unwrap_or(0) as f32 / 100.0;
    let source = of(PathKind::Source).count();
    if added == 0 && deleted > 0 {
        add(ChangeType::Cleanup, 1.6);
    }
    if files.iter().all(|file| file.status == FileStatus::Renamed) {
        add(ChangeType::Refactor, 1.5);
    }
    let new_source = of(PathKind::Source).any(|file| file.status == FileStatus::Added);
    if new_source {
        add(ChangeType::Feature, 1.0);
        add(ChangeType::Refactor, 0.3);
    }
    if source > 0 && of(PathKind::Test).next().is_some() {
        add(ChangeType::Bugfix, 0.7);
        add(ChangeType::Feature, 0.6);
    }
    if source > 0 && sum <= 12 {
        add(ChangeType::Bugfix, 0.3);
    }
    if added >= 60 && added > deleted * 4 {
        add(ChangeType::Feature, 0.7);
    }
    if source > 0 && deleted > 10 && added < deleted * 2 && deleted < added * 3 {
        add(ChangeType::Refactor, 0.7);
    }
    if source >= 8 && deleted > 0 {
        add(ChangeType::Refactor, 0.8);
    }
    if deleted > 20 && deleted > added * 3 {
        add(ChangeType::Cleanup, 0.5);
        add(ChangeType::Refactor, 0.5);
    }
    add(ChangeType::Documentation, 1.2 * share(PathKind::Documentation));
    add(ChangeType::Test, 1.2 * share(PathKind::Test) * if source == 0 { 1.0 } else { 0.2 });
    add(ChangeType::Configuration, 1.6 * share(PathKind::Configuration));
    add(ChangeType::Dependency, if source == 0 { 1.0 } else { 0.4 } * share(PathKind::Manifest));
    weights
}

/// What else a change has, when its files serve several purposes.
fn mixed(kinds: &[PathKind]) -> Vec<TypeGuess> {
    let beside = [
        (PathKind::Documentation, ChangeType::Documentation, 0.4),
        (PathKind::Test, ChangeType::Test, 0.5),
        (PathKind::Manifest, ChangeType::Dependency, 0.3),
        (PathKind::Configuration, ChangeType::Configuration, 0.3),
    ];
    let present = beside.into_iter().filter(|(path, _, _)| kinds.contains(path));
    present.map(|(_, kind, confidence)| TypeGuess { kind, confidence, rule: Rule::Paths }).collect()
}
