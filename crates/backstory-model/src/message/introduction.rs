//! Finds the merge request that a commit message names as the one that introduced the commit. What forge and graph say
//! about it belongs to `engine::trace`.

use std::sync::LazyLock;

use regex::Regex;

use super::{MAX_FINDINGS, Message};
use crate::{
    id::{NodeId, ThreadId, ThreadKind},
    reference::{Forge, ReferenceContext, Siblings, extract_plain},
};

/// A request that brought a commit.
#[derive(Clone, Debug, PartialEq)]
pub struct IntroducingMention {
    /// The request.
    pub request: ThreadId,
    /// What in the message says so.
    pub pattern: MentionPattern,
}

impl IntroducingMention {
    /// How sure it is, 0 to 1.
    pub fn confidence(&self) -> f32 {
        self.pattern.confidence()
    }
}

/// What in a message names the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MentionPattern {
    /// `See merge request group/project!7`, which GitLab writes.
    SeeMergeRequest,
    /// `Merge pull request #12 from owner/branch`, which GitHub writes.
    MergePullRequest,
    /// A trailer: `PR-URL`, `Pull-Request`, `Merge-Request`, `Part-of`.
    Trailer,
    /// `Merge #12: title` or `Auto merge of #12 - branch`, which merge scripts write.
    MergeScript,
    /// `Closes #12 from owner/branch` or `PR Close #12`, which merge scripts write.
    ClosesRequest,
    /// `Title (#12)` or `Title (!7)`, which a squash writes and people copy.
    SubjectSuffix,
}

impl MentionPattern {
    /// How sure it is, 0 to 1.
    pub fn confidence(self) -> f32 {
        match self {
            Self::SeeMergeRequest | Self::MergePullRequest | Self::Trailer => 1.0,
            Self::MergeScript | Self::ClosesRequest => 0.95,
            Self::SubjectSuffix => 0.9,
        }
    }
}

/// The branches that a merge commit joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedBranch {
    /// Branch that was merged.
    pub source: String,
    /// Branch it was merged into; git leaves the default branch out.
    pub target: Option<String>,
}

/// Keys of trailers that name the request, lower case.
const TRAILERS: [&str; 8] =
    ["pr-url", "pull-request", "pull-request-url", "merge-request", "merge-request-url", "part-of", "pr", "mr"];

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

static SEE_MERGE_REQUEST: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^See merge request:?[ \t]+(?P<ref>\S+)[ \t]*$"));
static MERGE_PULL_REQUEST: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^Merge pull request (?P<ref>#[0-9]+) (?:from|in) (?P<branch>\S+)"));
static MERGE_SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?:Auto|Rollup) merge of (?P<one>#[0-9]+) - |Merge (?P<list>(?:[\w.-]+/[\w.-]+)?#[0-9]+(?: #[0-9]+)*)(?::|$))",
    )
});
static CLOSES_REQUEST: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^(?:Closes (?P<from>#[0-9]+) from [\w.-]+/\S+?\.?|PR Close (?P<pr>#[0-9]+))$"));
static SUFFIX: LazyLock<Regex> = LazyLock::new(|| pattern(r"\S \((?P<ref>[#!][0-9]+)\)$"));
static MERGE_BRANCH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^Merge (?:remote-tracking )?branch '(?P<source>[^']+)'(?: of \S+)?(?: into '?(?P<target>[^'\s]+)'?)?$")
});

/// The requests, most confident first, and the branches of a merge commit.
pub(super) fn find(
    message: &Message,
    context: ReferenceContext<'_>,
) -> (Vec<IntroducingMention>, Option<MergedBranch>) {
    let mut found: Vec<IntroducingMention> = Vec::new();
    let mut add = |text: &str, pattern: MentionPattern| {
        for request in requests(text, context) {
            if found.len() < MAX_FINDINGS && !found.iter().any(|carrier| carrier.request == request) {
                found.push(IntroducingMention { request, pattern });
            }
        }
    };
    match context.forge {
        Forge::GitLab => {
            if let Some(captures) = SEE_MERGE_REQUEST.captures_iter(&message.body).last() {
                add(&captures["ref"], MentionPattern::SeeMergeRequest);
            }
        }
        Forge::GitHub => {
            if let Some(captures) = MERGE_PULL_REQUEST.captures(&message.subject) {
                add(&captures["ref"], MentionPattern::MergePullRequest);
            }
        }
    }
    for trailer in &message.trailers {
        if TRAILERS.contains(&trailer.key.to_ascii_lowercase().as_str()) {
            add(trailer.value.trim_matches(['<', '>']), MentionPattern::Trailer);
        }
    }
    if context.forge == Forge::GitHub {
        if let Some(captures) = MERGE_SCRIPT.captures(&message.subject) {
            let list = captures.name("one").or_else(|| captures.name("list"));
            add(list.map_or("", |list| list.as_str()), MentionPattern::MergeScript);
        }
        if let Some(captures) = CLOSES_REQUEST.captures_iter(&message.body).last() {
            let number = captures.name("from").or_else(|| captures.name("pr"));
            add(number.map_or("", |number| number.as_str()), MentionPattern::ClosesRequest);
        }
    }
    // The suffix is weak evidence: beside stronger evidence it is a mention.
    if found.is_empty()
        && let Some(captures) = SUFFIX.captures(&whole_title(message))
    {
        let request = requests(&captures["ref"], context).into_iter().next();
        let right_sigil = context.forge == Forge::GitHub || captures["ref"].starts_with('!');
        found.extend(
            request
                .filter(|_| right_sigil)
                .map(|request| IntroducingMention { request, pattern: MentionPattern::SubjectSuffix }),
        );
    }
    (found, merged_branch(&message.subject))
}

/// GitHub breaks a long title with `…` at the end of the subject and at the beginning of the body.
fn whole_title(message: &Message) -> String {
    let rest = message.body.lines().next().and_then(|line| line.strip_prefix('…'));
    match (message.subject.strip_suffix('…'), rest) {
        (Some(start), Some(rest)) => format!("{start}{rest}"),
        _ => message.subject.clone(),
    }
}

/// The requests that a text names. On GitHub a bare number is taken for that of a pull request.
pub(super) fn requests(text: &str, context: ReferenceContext<'_>) -> Vec<ThreadId> {
    let request = |id| match id {
        NodeId::Thread(thread) if context.forge == Forge::GitHub => {
            Some(ThreadId { kind: ThreadKind::MergeRequest, ..thread })
        }
        NodeId::Thread(thread) if thread.kind == ThreadKind::MergeRequest => Some(thread),
        _ => None,
    };
    extract_plain(text, context, Siblings::Named).into_iter().filter_map(request).collect()
}

fn merged_branch(subject: &str) -> Option<MergedBranch> {
    if let Some(captures) = MERGE_PULL_REQUEST.captures(subject) {
        let branch = &captures["branch"];
        let source = branch.split_once('/').map_or(branch, |(_, source)| source).to_owned();
        return Some(MergedBranch { source, target: None });
    }
    let captures = MERGE_BRANCH.captures(subject)?;
    let target = captures.name("target").map(|target| target.as_str().to_owned());
    Some(MergedBranch { source: captures["source"].to_owned(), target })
}
