//! A repository's commits, and questions about them.
//!
//! A question is the first sentence of a changelog's entry that names an issue or request. What answers it: the commits
//! whose message closes that number or says that it carried them, and those that came with them in one merge. Left out
//! are entries whose wording is nearly that of an answer's message, and answers that only change a changelog.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
};

use backstory_engine::{
    model::{
        classify::is_changelog,
        commit::{Commit, Sha},
        eval::{self, changelog},
        message,
        reference::{Forge, ReferenceContext},
        terms::TermExtractor,
    },
    sources::git::{
        Cancel, GitProgram,
        command::GitSettings,
        graph::CommitGraph,
        history::{CommitSelection, HistoryOptions, history},
        objects::Objects,
    },
};

use super::Result;

/// Files of a tree.
const MAX_FILES: usize = 1_000_000;
/// Largest changelog, in bytes.
const MAX_CHANGELOG: u64 = 8 << 20;
/// A question that more commits answer asks for no single change.
const MAX_GOLD: usize = eval::MAX_EXPECTED;
/// Different words that a question needs.
const MIN_TERMS: usize = 3;
/// Questions of one number.
const MAX_OF_NUMBER: usize = 2;
/// From this overlap of wording on an answer gives itself away.
const LEAK: f32 = 0.75;

/// A question and the commits that answer it.
pub(super) struct Question {
    pub(super) text: String,
    pub(super) gold: BTreeSet<Sha>,
    /// How much its wording is that of an answer's message, 0 to 1.
    pub(super) overlap: f32,
}

pub(super) struct Repository {
    project: String,
    /// Everything that the head descends from.
    pub(super) commits: Vec<Commit>,
    at: HashMap<Sha, usize>,
    /// What each merge brought.
    brought: HashMap<Sha, Vec<Sha>>,
    changelogs: Vec<String>,
}

impl Repository {
    pub(super) fn read(project: &str, clone: &Path, head: Sha) -> Result<Self> {
        let (git, cancel) = (GitProgram::find(GitSettings::default())?, Cancel::default());
        let brought = CommitGraph::read(&git, clone, &[head], &cancel)?.commits_by_merge(head);
        let wanted = CommitSelection { tips: &[head], except: &[], known: None };
        let options = HistoryOptions { identifiers: 0, ..HistoryOptions::default() };
        let commits = history(&git, clone, wanted, options, &cancel)?.collect::<std::result::Result<Vec<_>, _>>()?;
        let at = commits.iter().enumerate().map(|(at, commit)| (commit.sha, at)).collect();
        let objects = Objects::open(clone)?;
        let mut changelogs = Vec::new();
        for file in objects.list(head, MAX_FILES)?.files {
            if file.mode.is_file() && is_changelog(file.path.as_str()) {
                let bytes = objects.blob(file.id, MAX_CHANGELOG)?;
                changelogs.push(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        Ok(Self { project: project.to_owned(), commits, at, brought, changelogs })
    }

    /// The questions of a file. Only commits that are there answer.
    pub(super) fn asked_in(&self, text: &str) -> Result<Vec<Question>> {
        let mut terms = TermExtractor::default();
        let mut questions = Vec::new();
        for question in eval::parse_questions(text)?.questions {
            let gold: BTreeSet<Sha> = question.gold.iter().filter_map(|gold| gold.parse().ok()).collect();
            questions.extend(self.question(question.question, gold, &mut terms));
        }
        Ok(questions)
    }

    /// The questions that the changelogs at the head answer.
    pub(super) fn asked_by_changelogs(&self) -> Result<Vec<Question>> {
        let named = self.named();
        let mut terms = TermExtractor::default();
        let mut count: BTreeMap<u64, usize> = BTreeMap::new();
        let mut questions = Vec::new();
        for entry in self.changelogs.iter().flat_map(|text| changelog::entries(text)) {
            let gold = entry.numbers.iter().filter_map(|number| named.get(number)).flatten().copied().collect();
            let Some(question) = self.question(entry.question, gold, &mut terms) else { continue };
            let of_number = count.entry(entry.numbers[0]).or_default();
            if question.overlap >= LEAK
                || terms.distinct(&question.text).len() < MIN_TERMS
                || *of_number == MAX_OF_NUMBER
                || questions.len() == eval::MAX_QUESTIONS
            {
                continue;
            }
            *of_number += 1;
            questions.push(question);
        }
        if questions.is_empty() {
            return Err(format!(
                "{}: no changelog names what a commit closes; give a file with questions",
                self.project
            )
            .into());
        }
        Ok(questions)
    }

    fn question(&self, text: String, mut gold: BTreeSet<Sha>, terms: &mut TermExtractor) -> Option<Question> {
        gold.retain(|sha| self.commit(*sha).is_some_and(|commit| !only_changelogs(commit)));
        let messages = gold.iter().filter_map(|sha| self.commit(*sha)).map(|commit| commit.message.as_str());
        let overlap = messages.map(|message| changelog::overlap(&text, message, terms)).fold(0.0, f32::max);
        (!gold.is_empty() && gold.len() <= MAX_GOLD).then_some(Question { text, gold, overlap })
    }

    fn commit(&self, sha: Sha) -> Option<&Commit> {
        self.at.get(&sha).map(|at| &self.commits[*at])
    }

    /// Commits by the numbers that their messages close or say that carried them, with what came in the same merge.
    fn named(&self) -> HashMap<u64, BTreeSet<Sha>> {
        let merges: HashMap<Sha, Sha> =
            self.brought.iter().flat_map(|(merge, brought)| brought.iter().map(|sha| (*sha, *merge))).collect();
        let by_gitlab = self.commits.iter().any(|commit| commit.message.contains("\nSee merge request "));
        let forge = if by_gitlab { Forge::GitLab } else { Forge::GitHub };
        let context = ReferenceContext { forge, project: &self.project, forge_url: "https://github.com" };
        let mut named: HashMap<u64, BTreeSet<Sha>> = HashMap::new();
        for commit in &self.commits {
            let found = message::parse_references(&commit.message, context);
            let closed = found.closes.iter().map(|closing| &closing.issue);
            let threads = closed.chain(found.introduced_by.iter().map(|carrier| &carrier.request));
            for thread in threads.filter(|thread| thread.project == self.project) {
                let commits = named.entry(thread.iid).or_default();
                commits.insert(commit.sha);
                commits.extend(self.brought.get(&commit.sha).into_iter().flatten());
                commits.extend(merges.get(&commit.sha).filter(|merge| self.is_of_request(**merge)));
            }
        }
        named
    }

    /// Whether a merge joined what was made for one purpose, and not two lines of history.
    fn is_of_request(&self, merge: Sha) -> bool {
        let subject = self.commit(merge).map_or("", Commit::title);
        !subject.starts_with("Merge branch") && !subject.starts_with("Merge remote")
    }
}

fn only_changelogs(commit: &Commit) -> bool {
    !commit.changes.is_empty() && commit.changes.iter().all(|change| is_changelog(change.path.as_str()))
}
