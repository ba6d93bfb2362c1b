//! Questions about a change: what says the opposite answers none of them, and who made one, when and in which release is
//! answered from facts, or not at all.

use std::collections::BTreeSet;

use backstory_model::{
    answer::{Answer, Citation, Method, Statement},
    change_question::{ChangeFact, ChangeQuestion, StatedFit},
    filter::Filter,
    id::{NodeId, ThreadId, ThreadKind},
    sentence::PieceKind,
};

use super::{
    AskEvidence, date_citations,
    evidence::{SURE, share},
    facts::{ChangeFacts, find_change_facts, find_changelog_reason},
    release_names::read_releases,
    select::tells_time,
    stories::Story,
};
use crate::{error::Result, resources::Resources};

/// The passages of each story that say the opposite of what a question presumes: they are about another time.
pub(super) fn opposing_passages(change: &ChangeQuestion, stories: &[Story]) -> Vec<BTreeSet<usize>> {
    stories.iter().map(|story| opposing_passages_of(change, story)).collect()
}

fn opposing_passages_of(change: &ChangeQuestion, story: &Story) -> BTreeSet<usize> {
    let is_prose = |at: &usize| story.passages[*at].kind != PieceKind::Code;
    let fits = (0..story.passages.len()).filter(is_prose);
    let fits: Vec<(usize, StatedFit)> =
        fits.filter_map(|at| Some((at, change.fit_of(story.text(&story.passages[at]))?))).collect();
    let mut opposing: BTreeSet<usize> =
        fits.iter().filter(|(_, fit)| *fit == StatedFit::Opposite).map(|(at, _)| *at).collect();
    // Of what a commit or merge request says of itself all is about what its title says, unless something else is said.
    let is_change = matches!(story.id, NodeId::Commit { .. } | NodeId::Thread(_));
    let title = story.documents.first().and_then(|own| change.fit_of(&own.title));
    let is_own = |at: &usize| story.passages[*at].document == 0;
    let says_so = fits.iter().any(|(at, fit)| is_own(at) && *fit != StatedFit::Opposite);
    if is_change && title == Some(StatedFit::Opposite) && !says_so {
        opposing.extend((0..story.passages.len()).filter(is_own));
    }
    opposing
}

/// Whether a story is that of a commit or merge request.
pub(super) fn is_of_change(story: &Story) -> bool {
    matches!(story.id, NodeId::Commit { .. } | NodeId::Thread(ThreadId { kind: ThreadKind::MergeRequest, .. }))
}

/// Answers why a change was made by what a changelog says, if nothing else that was found gives a reason.
async fn answer_reason(
    resources: &Resources,
    filter: &Filter,
    found: &AskEvidence,
    change: &ChangeQuestion,
) -> Result<Option<Answer>> {
    if !found.lacks_reason {
        return Ok(None);
    }
    let Some(citation) = find_changelog_reason(resources, change, filter).await? else { return Ok(None) };
    let citations = date_citations(resources, vec![Citation { number: 1, ..citation }]).await?;
    let tell = |citation: &Citation| Statement { text: citation.text.clone(), citations: vec![1] };
    Ok(Some(Answer {
        question: found.question.clone(),
        answered: true,
        confidence: 1.0,
        method: Method::Extractive,
        statements: citations.iter().map(tell).collect(),
        citations,
        warnings: found.search_warnings.clone(),
        ..Answer::default()
    }))
}

/// Answers a question about a change from the facts that there are; `None` if it asks for something else. Without a fact
/// only what people said of the time of the change is left of what was found, and commits and merge requests that are surely
/// about the question; or else nothing, with the reason.
///
/// # Errors
/// A store failed.
pub(super) async fn answer_change(
    resources: &Resources,
    filter: &Filter,
    found: &mut AskEvidence,
) -> Result<Option<Answer>> {
    let Some(change) = found.change.clone().filter(|_| !found.is_barred) else { return Ok(None) };
    let Some(fact) = change.fact else { return answer_reason(resources, filter, found, &change).await };
    let ChangeFacts { answer, absence, is_refuted, noted, missing } =
        find_change_facts(resources, &found.question, &change, filter).await?;
    if let Some(mut answer) = answer {
        answer.warnings.extend(found.search_warnings.iter().cloned());
        return Ok(Some(answer));
    }
    // It may be a letter or a sentence that somebody wrote, unless it is known why no fact is told.
    if change.is_written && missing.is_empty() && noted.is_none() {
        return Ok(None);
    }
    let AskEvidence { stories, scored, verdict, warnings, search_warnings, weights, .. } = found;
    let is_dated = matches!(fact, ChangeFact::Time | ChangeFact::Release);
    // What says the opposite is not among them.
    let sure: BTreeSet<usize> = scored
        .iter()
        .filter(|one| is_of_change(&stories[one.story]) && share(weights, &one.around) >= SURE)
        .map(|one| one.story)
        .collect();
    if is_refuted {
        scored.clear();
    }
    let releases = if is_dated { read_releases(resources, filter).await? } else { Vec::new() };
    scored.retain(|one| {
        if sure.contains(&one.story) {
            return true;
        }
        let story = &stories[one.story];
        let text = story.text(&story.passages[one.passage]);
        let names_release = || {
            let mut own = releases.iter().filter(|names| story.id.project() == Some(names.project.as_str()));
            own.any(|names| !names.named_in(text).is_empty())
        };
        let is_stated = change.fit_of(text).is_some_and(|fit| fit != StatedFit::Opposite);
        is_dated && is_stated && (tells_time(text) || names_release())
    });
    let is_quoted = verdict.answerable && !scored.is_empty();
    let noted = noted.map(|said| if is_quoted { said } else { format!("{said}, and nothing more is known about it") });
    let mut missing = absence.into_iter().chain(noted).chain(missing);
    if is_quoted {
        warnings.extend(missing.next().map(|why| format!("{why}; this is what people said")));
        warnings.extend(missing);
        return Ok(None);
    }
    warnings.clone_from(search_warnings);
    verdict.answerable = false;
    verdict.missing.extend(missing);
    Ok(None)
}
