//! Looks for a text in what commits removed, the newest commit first. A commit that takes a text out of one file and puts
//! its lines into another moves it: the search goes on where they went.

use std::{
    cmp::Reverse,
    panic::resume_unwind,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use backstory_model::{
    commit::{FileDiff, Hunk, LineKind, RepoPath, Sha},
    word_filter::certain_words,
};
use backstory_sources::git::{
    Cancel, GitError,
    command::{GitProgram, Limits},
    pickaxe::{PickedCommit, PickedFile, files_containing, pick_commits},
    text_diff::TextDiffOptions,
};
use backstory_store::lists::{self, CommitKind, CommitQuery, PageRequest, TimeRange};
use jiff::Timestamp;

use super::{
    Move, Occurrence, Removal, Removals, RemovedRequest, explain,
    fate::paths_of,
    moves::{FileChange, Mentions, destination, is_document, is_path_of_document, is_path_of_source, sort_lost},
};
use crate::{
    clones::{MAX_TEXT as MAX_FILE, clean_text, clone_path, find_git},
    code::CommitSummary,
    error::Result,
    history::is_within,
    records::commit_record,
    resources::Resources,
    trace::target::Revision,
};

/// Longest search.
pub const MAX_REMOVED_SEARCH_TIME: Duration = Duration::from_secs(25);
/// Most commits that are searched.
pub const MAX_SEARCHED_COMMITS: usize = 200_000;
/// Commits that git compares at first; each further time twice as many, up to [`MAX_BATCH`].
const FIRST_BATCH: usize = 125;
const MAX_BATCH: usize = lists::MAX_PAGE;
/// Commits of a batch that git compares before it is seen whether more are needed.
const FIRST_PART: usize = 64;
/// Most that git may write of one batch, in bytes.
const MAX_OUTPUT: usize = 64 << 20;
/// Most moves that are told and followed.
const MAX_MOVES: usize = 8;
/// Most places of the head that are told.
const MAX_PRESENT: usize = 5;
/// Commits that are searched behind the first one that removed the text from documents alone.
const MAX_BEHIND_DOCUMENTS: usize = 5_000;
/// Most lines that are told of what was removed, and of what took its place.
const MAX_LINES: usize = 12;

/// A search for a text.
pub(super) struct TextSearch {
    place: Revision,
    text: String,
    /// The file and its other names, or the directory; empty for the whole repository.
    paths: Vec<String>,
    /// Renames of the file since.
    renames: Vec<Move>,
    limit: usize,
    deadline: Instant,
    /// Commits that are older than this one are left out.
    since: Option<Timestamp>,
    searched: usize,
    /// Whether removals from documents count only if there are too few others.
    documents_last: bool,
    /// Such removals: the commits and their files.
    set_aside: Vec<(Sha, Vec<PickedFile>)>,
    /// How many commits had been looked at before the first of them.
    set_aside_at: Option<usize>,
    /// From how many sources a commit must have removed the text at least to count.
    least_sources: usize,
}

/// What a commit did to a text.
enum Effect {
    /// It occurs as often, more often, or nobody knows.
    Kept,
    /// It is gone from the first file, to the second one.
    Moved(PickedFile, PickedFile),
    /// It is gone from these files.
    Removed(Vec<PickedFile>),
    /// The time ended before all files were read.
    Unfinished,
}

impl TextSearch {
    /// A search of a request at a place.
    pub(super) async fn new(resources: &Resources, place: Revision, request: &RemovedRequest) -> Result<Self> {
        let (paths, renames) = match &request.path {
            Some(path) => paths_of(resources, place.project(), path).await?,
            None => Default::default(),
        };
        Ok(Self {
            place,
            text: request.text.clone(),
            paths,
            renames,
            limit: request.limit,
            deadline: Instant::now() + MAX_REMOVED_SEARCH_TIME,
            since: None,
            searched: 0,
            // Changelogs have names of code for long, and lose them when somebody edits them.
            documents_last: request.path.is_none() && !request.text.contains(char::is_whitespace),
            set_aside: Vec::new(),
            set_aside_at: None,
            least_sources: 0,
        })
    }

    /// Adds the removals of the text to what is known.
    pub(super) fn run(mut self, resources: &Resources, mut found: Removals) -> Result<Removals> {
        found.moves.append(&mut self.renames);
        let head = self.head_search(resources, &self.paths)?;
        // Each waits for git; the two can use a core each.
        let (files, is_over) = thread::scope(|scope| {
            let files = scope.spawn(|| head.run());
            let is_over = self.search(resources, &mut found);
            (files.join().unwrap_or_else(|panic| resume_unwind(panic)), is_over)
        });
        let mut is_over = is_over?;
        self.add_present(resources, files?, &mut found);
        // What left these files has gone on from where it went.
        while found.removals.is_empty() && !self.paths.is_empty() && found.moves.len() < MAX_MOVES && !is_over {
            let Some(last) = found.moves.first().filter(|last| !self.paths.contains(&last.to)) else { break };
            let (to, since) = (last.to.clone(), last.commit.date);
            let files = self.head_search(resources, std::slice::from_ref(&to))?.run()?;
            self.add_present(resources, files, &mut found);
            self.paths.push(to);
            self.since = Some(since);
            is_over = self.search(resources, &mut found)?;
        }
        self.add_set_aside(resources, &mut found)?;
        found.searched_commits = self.searched;
        if is_over {
            let seconds = MAX_REMOVED_SEARCH_TIME.as_secs();
            found.missing.push(format!(
                "the search ended after {} commits, the newest, as it may take {seconds} s; name the file or directory",
                self.searched
            ));
        }
        Ok(found)
    }

    /// Adds the commit that removed a name from most of the sources that had it, if that was after the removals of what had
    /// that name: a library that is gone may have given its name to a variable.
    pub(super) fn add_last_mention(mut self, resources: &Resources, mut found: Removals) -> Result<Removals> {
        let Some(files) = self.head_search(resources, &[])?.run()? else { return Ok(found) };
        let left = files.iter().filter(|path| is_path_of_source(path.as_str())).count();
        // What many sources have is in use.
        if left >= MAX_PRESENT {
            return Ok(found);
        }
        (self.limit, self.least_sources) = (1, left + 1);
        self.since = found.removals.first().map(|newest| newest.commit.date);
        let mut last = Removals { project: found.project.clone(), ..Removals::default() };
        self.search(resources, &mut last)?;
        last.removals.retain(|removal| found.removals.iter().all(|known| known.commit.sha != removal.commit.sha));
        last.removals.append(&mut found.removals);
        found.removals = last.removals;
        found.searched_commits = self.searched;
        Ok(found)
    }

    /// Searches commits until there are enough removals; whether it ended early. Moves come before those that are known:
    /// what is searched later continued from there.
    fn search(&mut self, resources: &Resources, found: &mut Removals) -> Result<bool> {
        let mut passed: Vec<Move> = Vec::new();
        let is_over = self.search_batches(resources, found, &mut passed);
        passed.append(&mut found.moves);
        found.moves = passed;
        is_over
    }

    fn search_batches(&mut self, resources: &Resources, found: &mut Removals, passed: &mut Vec<Move>) -> Result<bool> {
        let (git, clone) = (find_git(resources)?, clone_path(resources, self.place.project()));
        let query = CommitQuery {
            projects: vec![self.place.project().to_owned()],
            kinds: vec![CommitKind::Commit],
            paths: self.paths.clone(),
            committed: TimeRange { from: self.since, to: None },
            ..CommitQuery::default()
        };
        // Few commits have these words, so git has little to do, and is started once for those of several pages.
        let words = certain_words(&self.text);
        let first = if words.is_empty() { FIRST_BATCH } else { MAX_BATCH };
        let mut page = PageRequest { first, after: None, ..PageRequest::default() };
        let (mut waiting, mut looked_at) = (Vec::new(), 0);
        loop {
            let lists = resources.ledger().lists();
            let names = lists.commit_names(&query, &page, resources.visibility())?;
            looked_at += names.rows.len();
            waiting.extend(lists.commits_that_may_remove(self.place.project(), names.rows, &words)?);
            page.after = names.next;
            let is_end = page.after.is_none() || self.searched + looked_at >= MAX_SEARCHED_COMMITS;
            if !is_end && !words.is_empty() && waiting.len() < FIRST_PART {
                continue;
            }
            tracing::debug!(looked_at, commits = waiting.len(), "commits that may remove the text");
            for commits in growing_parts(&std::mem::take(&mut waiting), FIRST_PART) {
                let Some(time) = self.deadline.checked_duration_since(Instant::now()) else { return Ok(true) };
                let limits = Limits { time, output: MAX_OUTPUT };
                let picked = match pick_commits(&git, &clone, &self.text, commits, limits, &Cancel::default()) {
                    Err(GitError::TimedOut { .. }) => return Ok(true),
                    picked => picked?,
                };
                if !self.judge_all(resources, &picked, found, passed)? {
                    return Ok(true);
                }
                if found.removals.len() >= self.limit {
                    break;
                }
            }
            self.searched += std::mem::take(&mut looked_at);
            let is_enough = self.set_aside_at.is_some_and(|at| self.searched > at + MAX_BEHIND_DOCUMENTS);
            if found.removals.len() >= self.limit || is_end || is_enough {
                return Ok(self.searched >= MAX_SEARCHED_COMMITS);
            }
            page.first = (page.first * 2).min(MAX_BATCH);
        }
    }

    /// Adds what commits did to the text, until there are enough removals; whether there was time for that.
    fn judge_all(
        &mut self,
        resources: &Resources,
        picked: &[PickedCommit],
        found: &mut Removals,
        passed: &mut Vec<Move>,
    ) -> Result<bool> {
        for commit in picked {
            match self.judge(resources, commit)? {
                Effect::Unfinished => return Ok(false),
                Effect::Kept => {}
                Effect::Moved(from, to) if passed.len() < MAX_MOVES => {
                    let is_told = found.moves.iter().any(|told| told.commit.sha == commit.sha);
                    if let Some(commit) = self.summary(resources, commit.sha)?.filter(|_| !is_told) {
                        let name = |path: &RepoPath| resources.redact_name(path.as_str());
                        let (from, to) = (name(&from.old_path), name(&to.new_path));
                        passed.push(Move { commit, from, to });
                    }
                }
                Effect::Moved(..) => {}
                Effect::Removed(files) if self.documents_last && files.iter().all(is_document) => {
                    self.set_aside_at.get_or_insert(self.searched);
                    if self.set_aside.len() < self.limit {
                        self.set_aside.push((commit.sha, files));
                    }
                }
                Effect::Removed(files) if count_sources(&files) < self.least_sources => {}
                Effect::Removed(files) => self.add_removal(resources, commit.sha, &files, found)?,
            }
            if found.removals.len() >= self.limit {
                break;
            }
        }
        Ok(true)
    }

    /// What a commit did to the text, as everybody may read it: without secrets.
    fn judge(&self, resources: &Resources, commit: &PickedCommit) -> Result<Effect> {
        let (mut lost, mut gained) = (Vec::new(), Vec::new());
        for file in &commit.files {
            if Instant::now() >= self.deadline {
                return Ok(Effect::Unfinished);
            }
            let (Some(old), Some(new)) = (self.mentions(resources, file.old)?, self.mentions(resources, file.new)?)
            else {
                continue;
            };
            if new.count > old.count {
                gained.extend(FileChange::gained(file, &old, new));
            } else if self.is_wanted(file.old_path.as_str()) {
                lost.extend(FileChange::lost(file, old, &new));
            }
        }
        sort_lost(&mut lost);
        Ok(match (lost.first(), destination(&lost, &gained)) {
            (None, _) => Effect::Kept,
            (Some(from), Some(to)) => Effect::Moved(from.file.clone(), to.clone()),
            _ => Effect::Removed(lost.into_iter().map(|change| change.file.clone()).collect()),
        })
    }

    /// Where a file has the text; `None` if it is too large to tell.
    fn mentions(&self, resources: &Resources, blob: Option<Sha>) -> Result<Option<Mentions>> {
        let Some(blob) = blob else { return Ok(Some(Mentions::default())) };
        match self.place.objects.blob(blob, MAX_FILE) {
            Ok(bytes) => Ok(Some(Mentions::of(&self.text, &clean_text(resources, &bytes)))),
            Err(backstory_sources::git::objects::ObjectError::TooLarge { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn is_wanted(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|wanted| is_within(path, wanted))
    }

    fn summary(&self, resources: &Resources, sha: Sha) -> Result<Option<CommitSummary>> {
        let project = self.place.project();
        let record = commit_record(resources, project, &sha.to_string())?;
        Ok(record.map(|record| CommitSummary::new(project, &record)))
    }

    fn add_removal(&self, resources: &Resources, sha: Sha, files: &[PickedFile], found: &mut Removals) -> Result<()> {
        let (Some(file), Some(commit)) = (files.first(), self.summary(resources, sha)?) else { return Ok(()) };
        let mut removal = Removal::new(commit, resources.redact_name(file.old_path.as_str()));
        removal.other_files = files.len() - 1;
        let options = TextDiffOptions { context: 0, ..TextDiffOptions::default() };
        let diff = self.place.objects.text_diff(file.old, file.new, options, &|bytes| clean_text(resources, bytes))?;
        if let FileDiff::Text { hunks, .. } = diff {
            self.describe(&hunks, &mut removal);
        }
        explain(resources, self.place.project(), &mut removal)?;
        found.removals.push(removal);
        Ok(())
    }

    /// Adds the removals from documents if those from other files are too few, and says nothing of moves of documents if there
    /// are others.
    fn add_set_aside(&mut self, resources: &Resources, found: &mut Removals) -> Result<()> {
        if self.documents_last && !found.removals.is_empty() {
            found.moves.retain(|of| !is_path_of_document(&of.from));
        }
        for (sha, files) in std::mem::take(&mut self.set_aside) {
            if found.removals.len() < self.limit {
                self.add_removal(resources, sha, &files, found)?;
            }
        }
        if self.documents_last {
            found.removals.sort_by_key(|removal| Reverse(removal.commit.date));
        }
        Ok(())
    }

    /// Adds the removed lines and those that took their place.
    fn describe(&self, hunks: &[Hunk], removal: &mut Removal) {
        let line = longest_line(&self.text);
        for hunk in hunks {
            let of_kind = |kind: LineKind| -> Vec<&str> {
                hunk.lines.iter().filter(|line| line.kind == kind).map(|line| line.text.as_str()).collect()
            };
            let old = of_kind(LineKind::Removed);
            let Some(at) = old.iter().position(|removed| removed.contains(line)) else { continue };
            // The line itself is among those that are told.
            let first = if at < MAX_LINES { 0 } else { at };
            removal.line = u32::try_from(at).ok().map(|at| hunk.old_start + at);
            removal.removed = Some(joined(&old[first..]));
            removal.replacement = Some(joined(&of_kind(LineKind::Added))).filter(|text| !text.trim().is_empty());
            return;
        }
    }

    /// A search of the indexed head below some paths, or anywhere if there are none.
    fn head_search(&self, resources: &Resources, paths: &[String]) -> Result<HeadSearch> {
        Ok(HeadSearch {
            git: find_git(resources)?,
            clone: clone_path(resources, self.place.project()),
            commit: self.place.commit,
            line: longest_line(&self.text).to_owned(),
            paths: paths.to_vec(),
            deadline: self.deadline,
        })
    }

    /// Adds where files of the indexed head have the text; they are `None` if not all could be searched.
    fn add_present(&self, resources: &Resources, files: Option<Vec<RepoPath>>, found: &mut Removals) {
        let Some(files) = files else {
            found.missing.push("not all files of the indexed head were searched for the text".to_owned());
            return;
        };
        for path in files {
            if found.present.len() >= MAX_PRESENT {
                return;
            }
            let new = self.occurrence(resources, &path).filter(|new| !found.present.contains(new));
            found.present.extend(new);
        }
    }

    /// Where a file of the indexed head has the text.
    fn occurrence(&self, resources: &Resources, path: &RepoPath) -> Option<Occurrence> {
        let bytes = self.place.objects.file(self.place.commit, path, MAX_FILE).ok()?;
        let text = clean_text(resources, &bytes);
        let at = text.find(&self.text)?;
        let line = text[..at].matches('\n').count() + 1;
        Some(Occurrence { path: resources.redact_name(path.as_str()), line: u32::try_from(line).ok() })
    }
}

/// What is needed to find the files of a commit that have a line.
struct HeadSearch {
    git: GitProgram,
    clone: PathBuf,
    commit: Sha,
    line: String,
    /// Empty for all files.
    paths: Vec<String>,
    deadline: Instant,
}

impl HeadSearch {
    /// The files; `None` if that took too long.
    fn run(&self) -> Result<Option<Vec<RepoPath>>> {
        let below: Vec<Option<&str>> = match self.paths.as_slice() {
            [] => vec![None],
            paths => paths.iter().map(|path| Some(path.as_str())).collect(),
        };
        let mut all = Vec::new();
        for below in below {
            let time = self.deadline.saturating_duration_since(Instant::now());
            let limits = Limits { time: time.max(Duration::from_millis(100)), output: MAX_OUTPUT };
            let cancel = Cancel::default();
            match files_containing(&self.git, &self.clone, self.commit, &self.line, below, limits, &cancel) {
                Err(GitError::TimedOut { .. }) => return Ok(None),
                files => all.extend(files?),
            }
        }
        Ok(Some(all))
    }
}

/// Parts of a list, each four times as long as the one before: the newest removal is mostly among the first.
fn growing_parts<T>(mut all: &[T], mut first: usize) -> Vec<&[T]> {
    let mut parts = Vec::new();
    while !all.is_empty() {
        let (part, rest) = all.split_at(first.min(all.len()));
        parts.push(part);
        (all, first) = (rest, first * 4);
    }
    parts
}

/// How many of some files are sources.
fn count_sources(files: &[PickedFile]) -> usize {
    files.iter().filter(|file| is_path_of_source(file.old_path.as_str())).count()
}

fn longest_line(text: &str) -> &str {
    text.lines().map(str::trim).max_by_key(|line| line.len()).unwrap_or(text)
}

fn joined(lines: &[&str]) -> String {
    let shown = lines[..lines.len().min(MAX_LINES)].join("\n");
    if lines.len() > MAX_LINES { format!("{shown}\n…") } else { shown }
}
