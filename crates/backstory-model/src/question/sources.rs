//! Questions that ask something of the sources of an answer, and nothing else.

use super::{Question, QuestionKind};
use crate::text::words;

/// Words of a question that asks who wrote something, or when.
const WRITING: [&str; 13] = [
    "wrote",
    "written",
    "write",
    "author",
    "added",
    "add",
    "committed",
    "commit",
    "introduced",
    "introduce",
    "decided",
    "changed",
    "posted",
];
/// What may stand beside the word for what is asked: `in which merge request was it merged?`
const BESIDE: [&str; 6] = ["merge", "merged", "pull", "discussed", "released", "shipped"];
/// Words of a question that asks who looked at a change.
const REVIEWING: [&str; 11] = [
    "review",
    "reviewed",
    "reviewer",
    "reviewers",
    "approve",
    "approved",
    "approver",
    "approvers",
    "accepted",
    "merge",
    "merged",
];
/// Words for files.
const FILES: [&str; 4] = ["file", "files", "path", "paths"];
/// Words for what a change does to them.
const CHANGING: [&str; 10] =
    ["change", "changed", "changes", "touch", "touched", "modify", "modified", "affect", "affected", "commit"];
/// Words for code.
const CODE: [&str; 7] = ["code", "diff", "patch", "lines", "source", "implementation", "snippet"];
/// Words of a question that wants to see something.
const SHOWING: [&str; 6] = ["show", "see", "look", "display", "print", "give"];
/// Words for where something stands.
const STATES: [&str; 18] = [
    "case", "true", "valid", "open", "opened", "closed", "merged", "hold", "holds", "current", "state", "status",
    "stand", "stands", "landed", "done", "resolved", "accepted",
];

/// What is asked of the sources of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceQuestion {
    /// Who wrote them, and when.
    Writer,
    /// Which commit.
    Commit,
    /// Which merge request.
    MergeRequest,
    /// Which issue.
    Issue,
    /// Where it was discussed.
    Discussion,
    /// In which release it shipped.
    Release,
    /// Which files were changed.
    Files,
    /// The code itself.
    Code,
    /// Who reviewed, approved or merged it.
    Reviewer,
    /// Where it stands, and whether it still holds.
    State,
}

impl SourceQuestion {
    /// Reads a question.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let read = Question::parse(text);
        let terms: Vec<String> = read.terms.iter().map(|term| term.word.to_lowercase()).collect();
        let are_all = |known: &[&[&str]]| terms.iter().all(|term| known.iter().any(|list| has(list, term)));
        let asked = Self::of_effect(&words(text), &terms);
        if asked.is_some() {
            return asked;
        }
        match read.kind {
            QuestionKind::Who if !terms.is_empty() && are_all(&[&REVIEWING]) => Some(Self::Reviewer),
            QuestionKind::Who | QuestionKind::When => are_all(&[&WRITING]).then_some(Self::Writer),
            QuestionKind::What => Self::named_in(text, &terms),
            QuestionKind::Why | QuestionKind::How => None,
        }
    }

    /// Whether a word, in lower case, is for what sources are or belong to, and for nothing that a question is about.
    pub(super) fn is_about_sources(word: &str) -> bool {
        Self::of_noun(word).is_some() || has(&FILES, word) || has(&CODE, word) || has(&CHANGING, word)
    }

    /// What a question with these words and terms asks of what a change did, or of where it stands.
    fn of_effect(words: &[String], terms: &[String]) -> Option<Self> {
        let said = |word: &str| words.iter().any(|own| own == word);
        let is_any = |list: &[&str]| terms.iter().any(|term| has(list, term));
        let are_all = |known: &[&[&str]]| terms.iter().all(|term| known.iter().any(|list| has(list, term)));
        let points = ["it", "its", "this", "that", "these", "those", "they"].into_iter().any(said);
        let is_first = |known: &[&str]| {
            words.iter().find(|word| !has(&["and", "so", "but", "please"], word)).is_some_and(|word| has(known, word))
        };
        let asks_what = said("what") || said("which");
        if asks_what && is_any(&FILES) && are_all(&[&FILES, &CHANGING]) {
            return Some(Self::Files);
        }
        // `which change was that?` asks for a name.
        if said("what") && points && said("did") && is_any(&CHANGING) && are_all(&[&CHANGING]) {
            return Some(Self::Files);
        }
        let is_shown = is_any(&CODE) || (said("show") && is_any(&CHANGING));
        let begins = is_first(&SHOWING) || is_first(&["can", "could", "let", "what", "where"]);
        if is_shown && begins && are_all(&[&CODE, &SHOWING, &CHANGING]) {
            return Some(Self::Code);
        }
        let begins = is_first(&["is", "was", "are", "were", "does", "did", "has", "have"]);
        if begins && points && !terms.is_empty() && are_all(&[&["released", "shipped"]]) {
            return Some(Self::Release);
        }
        let is_asked = begins && points && (!terms.is_empty() || said("still") || said("so"));
        let is_named = (asks_what || said("where")) && is_any(&["state", "status", "stand", "stands"]);
        ((is_asked || is_named) && are_all(&[&STATES])).then_some(Self::State)
    }

    /// What a question with these terms asks for. `What is the issue?` and `what was decided?` ask for what was said, not
    /// for where.
    fn named_in(text: &str, terms: &[String]) -> Option<Self> {
        let words = words(text);
        let asks = words.iter().position(|word| matches!(word.as_str(), "which" | "what" | "where"))?;
        let next = words.get(asks + 1).map_or("", String::as_str);
        let names = |word: &str| terms.iter().any(|term| term == word);
        let is_known = |term: &String| {
            Self::of_noun(term).is_some() || WRITING.contains(&term.as_str()) || BESIDE.contains(&term.as_str())
        };
        if !terms.iter().all(is_known) {
            return None;
        }
        let noun = terms.iter().find_map(|term| Self::of_noun(term));
        match words[asks].as_str() {
            "which" => noun.or_else(|| names("merge").then_some(Self::MergeRequest)),
            "where" => {
                let verb = (names("discussed") || names("decided")).then_some(Self::Discussion);
                noun.or(verb).filter(|named| *named == Self::Discussion)
            }
            _ if Self::of_noun(next).is_some() || matches!(next, "merge" | "pull") => noun,
            _ if words.iter().any(|word| word == "the") && !names("change") => {
                noun.filter(|named| matches!(named, Self::Commit | Self::MergeRequest))
            }
            _ => None,
        }
    }

    /// What a noun, in lower case, stands for.
    fn of_noun(word: &str) -> Option<Self> {
        Some(match word {
            "commit" | "commits" | "change" | "revision" => Self::Commit,
            "request" | "requests" | "mr" | "mrs" | "pr" | "prs" => Self::MergeRequest,
            "issue" | "issues" | "ticket" | "tickets" => Self::Issue,
            "discussion" | "discussions" | "thread" | "threads" => Self::Discussion,
            "release" | "releases" | "version" => Self::Release,
            _ => return None,
        })
    }
}

fn has(list: &[&str], word: &str) -> bool {
    list.contains(&word)
}
