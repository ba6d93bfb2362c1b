//! Traces of lines that many commits wrote: ranks the merge requests of all of them by their discussions on those lines
//! or the file, follows the best, and says how many were examined.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use backstory_model::{
    commit::Sha,
    edge::Edge,
    id::{NodeId, ThreadId},
};
use backstory_store::graph::Direction;

use super::{
    Trace,
    origins::{OriginCommits, follow_origin_commit},
    reasons::{LineRelevance, relevance_to_lines},
    words::CodeWords,
};
use crate::{error::Result, introduction::merge_requests_introducing, resources::Resources};

/// Commits and merge requests that are told of lines that come from more.
pub(super) const MAX_TRACED: usize = 3;
/// Commits whose merge requests are looked up, those with most lines.
const MAX_COMMITS: usize = 500;
/// Merge requests whose discussions are read: those with most comments on the file, then those with most lines.
const MAX_READ: usize = 40;

/// A merge request that brought lines.
#[derive(Default)]
struct IntroducingRequest {
    /// How many.
    lines: u32,
    /// The commits that wrote them, those with most lines first.
    commits: Vec<Sha>,
    /// Comments on the file, under any of the names that it had when the lines were written.
    comments: usize,
    /// What its discussions say of the lines.
    told: LineRelevance,
}

/// Goes on from the merge requests whose discussions say most about the lines, then from the commits that wrote most
/// of them, and says how many were looked at.
pub(super) fn follow_merge_requests(
    resources: &Resources,
    written: &OriginCommits<'_>,
    words: &CodeWords,
    trace: &mut Trace,
) -> Result<()> {
    let (mut requests, alone) = merge_requests_of(resources, written)?;
    count_comments(resources, written.project, trace, &mut requests)?;
    let mut ranked: Vec<(ThreadId, IntroducingRequest)> = requests.into_iter().collect();
    ranked.sort_by_key(|(_, request)| Reverse((request.comments, request.lines)));
    for (id, request) in ranked.iter_mut().take(MAX_READ) {
        request.told = relevance_to_lines(resources, id, &trace.origins_of(&request.commits), words)?;
    }
    ranked.sort_by_key(|(_, request)| Reverse((request.told, request.lines)));
    trace.missing.push(coverage_sentence(written.commits.len(), ranked.len(), alone));
    let mut followed = 0;
    // A request whose discussions say nothing of the lines is as good as its commit.
    for (_, request) in ranked.iter().filter(|(_, request)| request.told > LineRelevance::default()).take(MAX_TRACED) {
        let Some((first, others)) = request.commits.split_first() else { continue };
        follow_origin_commit(resources, written, *first, others, words, trace)?;
        followed += 1;
    }
    for (_, commit) in &written.commits {
        if followed == MAX_TRACED {
            break;
        }
        let is_told = ranked.iter().any(|(_, of)| of.told > LineRelevance::default() && of.commits.contains(commit));
        if !is_told {
            follow_origin_commit(resources, written, *commit, &[], words, trace)?;
            followed += 1;
        }
    }
    Ok(())
}

/// The merge requests that brought the commits, and how many commits came with none.
fn merge_requests_of(
    resources: &Resources,
    written: &OriginCommits<'_>,
) -> Result<(BTreeMap<ThreadId, IntroducingRequest>, usize)> {
    let mut requests: BTreeMap<ThreadId, IntroducingRequest> = BTreeMap::new();
    let mut alone = 0;
    for (lines, commit) in written.commits.iter().take(MAX_COMMITS) {
        let carriers = merge_requests_introducing(resources, written.project, *commit)?;
        let Some(carrier) = carriers.into_iter().next() else {
            alone += 1;
            continue;
        };
        let request = requests.entry(carrier.id).or_default();
        request.lines += lines;
        request.commits.push(*commit);
    }
    Ok((requests, alone))
}

/// Counts the comments of each request on the file.
fn count_comments(
    resources: &Resources,
    project: &str,
    trace: &Trace,
    requests: &mut BTreeMap<ThreadId, IntroducingRequest>,
) -> Result<()> {
    let then = trace.origins.iter().map(|origin| origin.path.as_str());
    let paths: BTreeSet<&str> = then.chain(trace.path.as_deref()).collect();
    let mut comments: BTreeMap<ThreadId, usize> = BTreeMap::new();
    for path in paths {
        for end in resources.graph().edges(&NodeId::file(project, path), Direction::In, Some(Edge::CommentsOn))? {
            if let NodeId::Note { thread, .. } | NodeId::Discussion { thread, .. } = end.other {
                *comments.entry(thread).or_default() += 1;
            }
        }
    }
    for (id, request) in requests {
        request.comments = comments.get(id).copied().unwrap_or(0);
    }
    Ok(())
}

/// What was looked at, as a sentence.
fn coverage_sentence(commits: usize, requests: usize, alone: usize) -> String {
    let seen = commits.min(MAX_COMMITS);
    let of_all = if seen < commits { format!("{seen} of the {commits}") } else { format!("all {commits}") };
    let requests = match requests {
        0 => {
            return format!(
                "the lines come from {commits} commits; {of_all} commits were looked at, and none came with a merge \
                 request; shown are those with most lines"
            );
        }
        1 => "1 merge request".to_owned(),
        many => format!("{many} merge requests"),
    };
    let without = match alone {
        0 => String::new(),
        1 => ", and 1 commit came with none".to_owned(),
        many => format!(", and {many} commits came with none"),
    };
    format!(
        "the lines come from {commits} commits; {of_all} commits and their {requests} were looked at{without}; shown are \
         those whose discussions say most about the lines, then those with most lines"
    )
}
