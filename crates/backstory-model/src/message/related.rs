//! Finds the earlier changes that a commit reverts, picks or corrects.

use std::sync::LazyLock;

use regex::Regex;

use super::{MAX_FINDINGS, Message, introduction::requests};
use crate::reference::{Forge, ReferenceContext, looks_like_sha};

/// An earlier change, as a message names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RelatedChange {
    /// By its SHA.
    Commit {
        /// Project it is in.
        project: String,
        /// Its SHA, whole or abbreviated, lower case.
        sha: String,
    },
    /// By the request that carried it.
    Request(crate::id::ThreadId),
    /// By its subject only.
    Subject(String),
}

/// A commit that amends or corrects an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// How.
    pub kind: CorrectionKind,
    /// What.
    pub target: RelatedChange,
    /// Subject of the target, where the message tells that beside its SHA.
    pub subject: Option<String>,
}

/// How a commit amends or corrects an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CorrectionKind {
    /// `fixup! subject`: to be melted into it.
    Fixup,
    /// `squash! subject`: to be melted into it with its message.
    Squash,
    /// `amend! subject`: to replace its message.
    Amend,
    /// `Fixes: 1a2b3c4 ("subject")`: the earlier commit brought the fault.
    Fixes,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

static REVERTS_COMMIT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix) \b reverts? \s+ (?: the \s+ )? (?: merge \s+ )? (?P<word> commits? \s+ )?
        (?P<shas> [0-9a-f]{7,40} \b (?: (?: \s* , \s* (?: and \s+ )? | \s+ and \s+ | \s* & \s* ) [0-9a-f]{7,40} \b )* )",
    )
});
static REVERTS_REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\breverts?\s+(?P<word>merge request|pull request|MR|PR)?\s*(?P<ref>https?://\S+|[\w./-]*[#!][0-9]+\b)",
    )
});
static REVERT_SUBJECT: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^Reverts?:?\s+["“](?P<subject>.+)["”]"#));
static CONVENTIONAL_REVERT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^revert(?:\([^)]*\))?!?:\s+"?(?P<subject>.+?)"?$"#));
static PICKED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?im)^\s*\((?:cherry[ -]picked|backported) from (?:(?:commit|rev)\s+(?P<sha>[0-9a-f]{7,40})|merge request\s+(?P<ref>\S+?))[ );,]",
    )
});
static UPSTREAM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?m)^(?:commit (?P<sha>[0-9a-f]{12,40}) upstream\.?|\[ Upstream commit (?P<sha2>[0-9a-f]{12,40}) \])$")
});
static AUTOSQUASH: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?P<word>fixup|squash|amend)! +(?P<subject>\S.*)$"));
static FIXES_COMMIT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?im)^\s*Fixes:?\s+(?:commit\s+)?(?P<sha>[0-9a-f]{7,40})\b(?:\s*,?\s*\(?\s*["“](?P<subject>[^"”\n]+)["”]\)?|\s*$)"#,
    )
});

/// What the commit undoes: commits and requests by their names, else by the subject that is quoted.
pub(super) fn reverts(parts: &Message, message: &str, context: ReferenceContext<'_>) -> Vec<RelatedChange> {
    let mut found = Vec::new();
    for captures in REVERTS_COMMIT.captures_iter(message) {
        // Without the word `commit` an abbreviation must look like one.
        let plain = captures.name("word").is_some();
        let shas = captures["shas"].split(|c: char| !c.is_ascii_hexdigit()).filter(|word| word.len() >= 7);
        shas.filter(|sha| plain || looks_like_sha(&sha.to_ascii_lowercase()))
            .for_each(|sha| push(&mut found, commit(context, sha)));
    }
    for captures in REVERTS_REQUEST.captures_iter(message) {
        // A bare number can be an issue: GitHub writes the whole name.
        let named = captures.name("word").is_some() || captures["ref"].contains(['/', '!']);
        for request in requests(&captures["ref"], context).into_iter().filter(|_| named) {
            push(&mut found, RelatedChange::Request(request));
        }
    }
    if found.is_empty() {
        let captures = REVERT_SUBJECT.captures(&parts.subject).or_else(|| CONVENTIONAL_REVERT.captures(&parts.subject));
        found.extend(captures.map(|captures| RelatedChange::Subject(captures["subject"].to_owned())));
    }
    found
}

/// What the commit repeats.
pub(super) fn cherry_picks(message: &str, context: ReferenceContext<'_>) -> Vec<RelatedChange> {
    let mut found = Vec::new();
    for captures in PICKED.captures_iter(message) {
        if let Some(sha) = captures.name("sha") {
            push(&mut found, commit(context, sha.as_str()));
        } else if context.forge == Forge::GitLab
            && let Some(text) = captures.name("ref")
        {
            requests(text.as_str(), context).into_iter().for_each(|id| push(&mut found, RelatedChange::Request(id)));
        }
    }
    for captures in UPSTREAM.captures_iter(message) {
        let sha = captures.name("sha").or_else(|| captures.name("sha2"));
        sha.into_iter().for_each(|sha| push(&mut found, commit(context, sha.as_str())));
    }
    found
}

/// What the commit amends or corrects.
pub(super) fn corrections(parts: &Message, message: &str, context: ReferenceContext<'_>) -> Vec<Correction> {
    let mut found: Vec<Correction> = Vec::new();
    if let Some(captures) = AUTOSQUASH.captures(&parts.subject) {
        let kind = match &captures["word"] {
            "fixup" => CorrectionKind::Fixup,
            "squash" => CorrectionKind::Squash,
            _ => CorrectionKind::Amend,
        };
        // A fixup of a fixup is one of the first commit.
        let mut subject = captures.name("subject").map_or("", |subject| subject.as_str());
        while let Some(inner) = squashed(subject) {
            subject = inner;
        }
        let target = match looks_like_sha(subject) {
            true => commit(context, subject),
            false => RelatedChange::Subject(subject.to_owned()),
        };
        found.push(Correction { kind, target, subject: None });
    }
    for captures in FIXES_COMMIT.captures_iter(message) {
        let subject = captures.name("subject").map(|subject| subject.as_str().to_owned());
        let target = commit(context, &captures["sha"]);
        let sure = subject.is_some() || looks_like_sha(&captures["sha"].to_ascii_lowercase());
        if sure && found.len() < MAX_FINDINGS && !found.iter().any(|other| other.target == target) {
            found.push(Correction { kind: CorrectionKind::Fixes, target, subject });
        }
    }
    found
}

/// The subject behind one more `fixup! `.
fn squashed(subject: &str) -> Option<&str> {
    let rest = ["fixup! ", "squash! ", "amend! "].into_iter().find_map(|word| subject.strip_prefix(word))?;
    Some(rest.trim_start_matches(' ')).filter(|rest| rest.starts_with(|c: char| !c.is_whitespace()))
}

fn commit(context: ReferenceContext<'_>, sha: &str) -> RelatedChange {
    RelatedChange::Commit { project: context.project.to_owned(), sha: sha.to_ascii_lowercase() }
}

fn push(found: &mut Vec<RelatedChange>, earlier: RelatedChange) {
    if found.len() < MAX_FINDINGS && !found.contains(&earlier) {
        found.push(earlier);
    }
}
