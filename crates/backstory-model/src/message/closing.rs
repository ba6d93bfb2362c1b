//! Finds the issues that a forge closes, by the patterns that it documents.
//!
//! GitLab matches its default `issue_closing_pattern` against the raw message: code spans and quotes do not protect,
//! lists close every issue of theirs. GitHub takes one reference for each keyword and leaves code alone. Both close
//! what a sentence says is *not* closed. Neither looks inside other words.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;

use super::MAX_FINDINGS;
use crate::{
    id::{NodeId, ThreadId, ThreadKind},
    reference::{Forge, ReferenceContext, Siblings, extract_plain, fenced_code},
};

/// An issue that a commit closes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedIssue {
    /// The issue.
    pub issue: ThreadId,
    /// What the verb says of the change.
    pub kind: ClosingVerb,
}

/// What a closing verb says of the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClosingVerb {
    /// The issue is done with: close, resolve, implement.
    Closes,
    /// The issue was something wrong: fix.
    Fixes,
}

/// GitLab's default pattern with its `%{issue_ref}` filled in. The last letter of an address is not one of `?!.,:`. What
/// may stand between references is written so that no alternatives begin alike: the regex crate would factor that out,
/// and then prefer a shorter match.
static GITLAB: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        \b (?P<verb> [Cc]los(?:e[sd]?|ing) | [Ff]ix(?:e[sd]|ing)? | [Rr]esolv(?:e[sd]?|ing) | [Ii]mplement(?:s|ed|ing)? )
        :? \x20+
        (?P<list> (?:
            (?: issues? \x20+ )?
            (?: https?://[^\s>]{0,299}[^\s>?!.,:] | (?: (?: (?: [\w.-]+/ )* [\w.-]+ )? \# | GL- ) [0-9]+ \b (?: \+s? )? )
            (?: \x20* , (?: \x20+ and \x20+ | \x20* ) | \x20+ and \x20+ | \x20* )
            | [A-Z][A-Z0-9_]+-[0-9]+
        )+ )",
    )
    .expect("the pattern is constant")
});

static GITHUB: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)
        \b (?P<verb> close[sd]? | fix(?:e[sd])? | resolve[sd]? ) :? [\x20\t]+
        (?P<list> https?://\S+ | [\w.-]+/[\w.-]+\#[0-9]+\b | \#[0-9]+\b | GH-[0-9]+\b )",
    )
    .expect("the pattern is constant")
});

/// The issues that the message closes, sorted; one that is both fixed and closed counts as fixed.
pub(super) fn find(message: &str, context: ReferenceContext<'_>) -> Vec<ClosedIssue> {
    let (pattern, code) = match context.forge {
        Forge::GitLab => (&GITLAB, Vec::new()),
        Forge::GitHub => (&GITHUB, fenced_code(message)),
    };
    let mut found: BTreeMap<ThreadId, ClosingVerb> = BTreeMap::new();
    for captures in pattern.captures_iter(message).take(MAX_FINDINGS) {
        let (verb, list) = (&captures["verb"], &captures["list"]);
        let start = captures.get(0).map_or(0, |whole| whole.start());
        // Spans and blocks are in order and apart.
        let before = code[..code.partition_point(|range| range.start <= start)].last();
        if before.is_some_and(|range| range.contains(&start)) {
            continue;
        }
        let kind = if verb.starts_with(['f', 'F']) { ClosingVerb::Fixes } else { ClosingVerb::Closes };
        for issue in extract_plain(list, context, Siblings::Named).into_iter().filter_map(|id| closable(id, context)) {
            let entry = found.entry(issue).or_insert(kind);
            *entry = kind.max(*entry);
        }
    }
    found.into_iter().map(|(issue, kind)| ClosedIssue { issue, kind }).take(MAX_FINDINGS).collect()
}

/// GitLab closes issues only; on GitHub a pull request can be closed too.
fn closable(id: NodeId, context: ReferenceContext<'_>) -> Option<ThreadId> {
    match id {
        NodeId::Thread(thread) if thread.kind == ThreadKind::Issue || context.forge == Forge::GitHub => Some(thread),
        _ => None,
    }
}
