//! Parses a commit message: subject, body and trailers; the issues it closes, the merge request that introduced it, the
//! commits it reverts, picks or corrects; what else it mentions, and why the change was made.
//!
//! No language model is asked: each finding names the words or the pattern that it comes from.

use std::collections::{BTreeSet, HashSet};

use crate::{
    id::{NodeId, ThreadId},
    reference::{ReferenceContext, extract},
};

mod closing;
mod introduction;
mod rationale;
mod related;
mod trailer;

#[cfg(test)]
mod tests;

pub use closing::{ClosedIssue, ClosingVerb};
pub use introduction::{IntroducingMention, MentionPattern, MergedBranch};
pub use rationale::{DesignNote, MAX_NOTES, design_notes};
pub use related::{Correction, CorrectionKind, RelatedChange};
pub use trailer::Trailer;

/// Longest message that is read, in bytes; the rest of a longer one is left alone.
pub const MAX_MESSAGE: usize = crate::reference::MAX_TEXT;
/// Most findings of one kind.
pub const MAX_FINDINGS: usize = 1000;

/// A commit message in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The first paragraph on one line.
    pub subject: String,
    /// What stands between the subject and the trailers, without empty lines at its ends; `\n` between lines.
    pub body: String,
    /// Number of the body's first line in the message, from 1.
    pub body_line: u32,
    /// Trailers in order, as git reads them.
    pub trailers: Vec<Trailer>,
}

impl Message {
    /// Takes a message apart.
    pub fn parse(message: &str) -> Self {
        let lines = lines(message);
        let Some(first) = lines.iter().position(|line| !is_blank(line)) else {
            return Self { subject: String::new(), body: String::new(), body_line: 1, trailers: Vec::new() };
        };
        let title = lines[first..].iter().take_while(|line| !is_blank(line)).count();
        let subject = lines[first..first + title].iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        let block = trailer::find_block(&lines);
        let end = lines[..block.start].iter().rposition(|line| !is_blank(line)).map_or(0, |last| last + 1);
        let start = (first + title..end).find(|&at| !is_blank(lines[at])).unwrap_or(end);
        let trailers = trailer::parse(&lines[block.clone()], block.start);
        let body = lines.get(start..end).unwrap_or_default().join("\n");
        Self { subject, body, body_line: line_number(start), trailers }
    }
}

/// The trailers of a text, as git reads them in a commit message.
pub(crate) fn find_trailers(text: &str) -> Vec<Trailer> {
    let lines = lines(text);
    let block = trailer::find_block(&lines);
    trailer::parse(&lines[block.clone()], block.start)
}

/// What a commit message says of other things. Every list is without duplicates, and what stands in one of the others
/// is not among the mentions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageReferences {
    /// Issues that the forge closes when the commit gets to the default branch, sorted. On GitHub a number may be that
    /// of a pull request.
    pub closes: Vec<ClosedIssue>,
    /// Requests that brought the commit, most confident first.
    pub introduced_by: Vec<IntroducingMention>,
    /// The branches that a merge commit joined, as far as the subject tells.
    pub merged_branch: Option<MergedBranch>,
    /// What the commit undoes.
    pub reverts: Vec<RelatedChange>,
    /// What the commit repeats on another branch.
    pub cherry_picks: Vec<RelatedChange>,
    /// What the commit amends or corrects.
    pub corrects: Vec<Correction>,
    /// Issues, requests, notes, commits and people that are only mentioned.
    pub mentions: BTreeSet<NodeId>,
}

/// Reads a commit message, given where the commit is.
pub fn parse_references(message: &str, context: ReferenceContext<'_>) -> MessageReferences {
    let message = normalized(message);
    let parts = Message::parse(&message);
    let (introduced_by, merged_branch) = introduction::find(&parts, context);
    let mut closes = closing::find(&message, context);
    let carriers: HashSet<(&str, u64)> = introduced_by.iter().map(|carrier| number(&carrier.request)).collect();
    closes.retain(|closing| !carriers.contains(&number(&closing.issue)));
    let reverts = related::reverts(&parts, &message, context);
    let cherry_picks = related::cherry_picks(&message, context);
    let corrects = related::corrections(&parts, &message, context);
    let mut findings = MessageReferences {
        closes,
        introduced_by,
        merged_branch,
        reverts,
        cherry_picks,
        corrects,
        mentions: BTreeSet::new(),
    };
    let named = Named::by(&findings);
    let mentions = extract(&message, context).into_iter().filter(|id| !named.has(id)).take(MAX_FINDINGS).collect();
    findings.mentions = mentions;
    findings
}

/// The merge requests that a commit message names as those that brought the commit, most confident first, and the
/// branches that a merge commit joined: what [`parse_references`] finds of these, without the rest.
pub fn parse_introduction(
    message: &str,
    context: ReferenceContext<'_>,
) -> (Vec<IntroducingMention>, Option<MergedBranch>) {
    introduction::find(&Message::parse(&normalized(message)), context)
}

/// The issues that the description of a merge request closes, sorted. On GitHub a number may be that of a pull request.
pub fn closed_by_description(description: &str, context: ReferenceContext<'_>) -> Vec<ThreadId> {
    closing::find(&normalized(description), context).into_iter().map(|closing| closing.issue).collect()
}

/// What the lists of findings name, to be looked up.
struct Named<'a> {
    /// Projects and numbers: an issue and a pull request of one number are the same on GitHub.
    numbers: HashSet<(&'a str, u64)>,
    commits: BTreeSet<&'a str>,
}

impl<'a> Named<'a> {
    fn by(findings: &'a MessageReferences) -> Self {
        let corrected = findings.corrects.iter().map(|correction| &correction.target);
        let earlier = || findings.reverts.iter().chain(&findings.cherry_picks).chain(corrected.clone());
        let requests = earlier().filter_map(|earlier| match earlier {
            RelatedChange::Request(id) => Some(id),
            _ => None,
        });
        let commits = earlier().filter_map(|earlier| match earlier {
            RelatedChange::Commit { sha, .. } => Some(sha.as_str()),
            _ => None,
        });
        let threads = findings.closes.iter().map(|closing| &closing.issue);
        let threads = threads.chain(findings.introduced_by.iter().map(|carrier| &carrier.request)).chain(requests);
        Self { numbers: threads.map(number).collect(), commits: commits.collect() }
    }

    /// Whether one of the lists has the node, or the commit of which it is an abbreviation.
    fn has(&self, id: &NodeId) -> bool {
        match id {
            NodeId::Thread(thread) => self.numbers.contains(&number(thread)),
            NodeId::Commit { sha, .. } => {
                let longer = self.commits.range(sha.as_str()..).next().is_some_and(|named| named.starts_with(sha));
                longer || (1..sha.len()).any(|end| sha.get(..end).is_some_and(|part| self.commits.contains(part)))
            }
            _ => false,
        }
    }
}

fn number(thread: &ThreadId) -> (&str, u64) {
    (&thread.project, thread.iid)
}

/// With `\n` between its lines and no longer than what is read.
fn normalized(message: &str) -> String {
    let mut end = message.len().min(MAX_MESSAGE);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message[..end].replace("\r\n", "\n")
}

fn lines(message: &str) -> Vec<&str> {
    message.lines().collect()
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Number of the line at an index, from 1.
fn line_number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}
