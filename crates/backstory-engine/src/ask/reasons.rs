//! Questions that ask why: what gives a reason is quoted before what only says again what the question presumes. Where
//! nothing else was found, the answer says where that is written and that no reason is.

use std::collections::BTreeSet;

use backstory_model::{
    id::NodeId,
    reason::{ReasonFit, ReasonQuestion, may_explain},
    sentence::{PieceKind, are_of_paragraph},
};

use super::{
    changes::is_of_change,
    evidence::{SURE, share},
    select::{Scored, is_quotable, restrict_leads},
    stories::{Passage, Role, Story},
};

/// Shortest sentence without words of a reason that may be one beside what it is the reason of, in characters.
const MIN_BESIDE: usize = 25;

/// Puts what gives a reason before the rest, where the best piece is code or only says again what the question presumes.
/// Returns what the reader must know if there is no reason.
///
/// A sentence counts that is as surely about the question as the best piece and has the words of a reason, or that stands
/// beside a restating one in the message of a commit or in a discussion.
pub(super) fn prefer_reasons(
    question: &str,
    weights: &[f32],
    stories: &[Story],
    scored: &mut [Scored],
) -> Option<String> {
    let question = ReasonQuestion::parse(question);
    let best = scored.iter().find(|one| is_quotable(one, stories))?;
    let is_stated = |one: &Scored| {
        let passage = passage_of(one, stories);
        passage.kind != PieceKind::Code && passage.role != Role::Definition
    };
    let fit_of = |one: &Scored| question.fit_of(stories[one.story].text(passage_of(one, stories)));
    let is_code = passage_of(best, stories).kind == PieceKind::Code;
    if !is_code && (!is_stated(best) || fit_of(best) != ReasonFit::Restatement) {
        return None;
    }
    let least = share(weights, &best.around).min(SURE);
    // Titles are among them: a message may go on with the reason.
    let fits: Vec<Option<ReasonFit>> = scored.iter().map(|one| is_stated(one).then(|| fit_of(one))).collect();
    let restating: BTreeSet<(usize, usize)> = scored
        .iter()
        .zip(&fits)
        .filter(|(_, fit)| **fit == Some(ReasonFit::Restatement))
        .map(|(one, _)| (one.story, one.passage))
        .collect();
    let may_lead = |one: &Scored| is_quotable(one, stories) && share(weights, &one.around) >= least;
    let leads: Vec<bool> = scored
        .iter()
        .zip(&fits)
        .map(|(one, fit)| match fit {
            Some(ReasonFit::Reason) => may_lead(one),
            Some(ReasonFit::Other) => may_lead(one) && stands_beside(one, stories, &restating),
            Some(ReasonFit::Restatement) | None => false,
        })
        .collect();
    if leads.contains(&true) {
        restrict_leads(scored, &leads);
        return None;
    }
    if is_code {
        return Some("what is quoted is code; no text that was found gives a reason".to_owned());
    }
    // Of several places the commit or merge request says most of what was done.
    let is_restating = |one: &&Scored| restating.contains(&(one.story, one.passage));
    let of_change = scored.iter().filter(is_restating).find(|one| is_of_change(&stories[one.story]));
    let place = describe_place(of_change.unwrap_or(best), stories);
    Some(format!("{place} says that it is so, but no reason is written there"))
}

fn passage_of<'a>(one: &Scored, stories: &'a [Story]) -> &'a Passage {
    &stories[one.story].passages[one.passage]
}

/// Whether a sentence stands in the message of a commit that restates the question too, in a discussion or description
/// directly beside a sentence that does, or in a file behind one in its paragraph, of which it tells more.
fn stands_beside(one: &Scored, stories: &[Story], restating: &BTreeSet<(usize, usize)>) -> bool {
    let story = &stories[one.story];
    let own = &story.passages[one.passage];
    let text = story.text(own);
    if text.chars().count() < MIN_BESIDE || text.trim_end().ends_with('?') {
        return false;
    }
    match story.id {
        NodeId::Commit { .. } => restating.range((one.story, 0)..(one.story + 1, 0)).next().is_some(),
        NodeId::Thread(_) => [one.passage.wrapping_sub(1), one.passage + 1].into_iter().any(|at| {
            let is_same = story.passages.get(at).is_some_and(|other| other.document == own.document);
            is_same && restating.contains(&(one.story, at))
        }),
        NodeId::File { .. } => {
            let before = one.passage.checked_sub(1).filter(|at| restating.contains(&(one.story, *at)));
            let whole = &story.documents[own.document].text;
            let is_beside = |at: usize| are_of_paragraph(whole, &story.passages[at].range, &own.range);
            before.is_some_and(is_beside) && may_explain(text)
        }
        _ => false,
    }
}

/// Where a piece stands, as a list of sources tells it.
fn describe_place(one: &Scored, stories: &[Story]) -> String {
    let (story, passage) = (&stories[one.story], passage_of(one, stories));
    story.documents[passage.document].cite(0, passage.range.clone()).location()
}

#[cfg(test)]
mod tests {
    use backstory_model::{
        id::ThreadId,
        question::Question,
        sentence::{split_sentences, stems},
    };
    use jiff::Timestamp;

    use super::*;
    use crate::{ask::select::score_by_words, citations::CitedDocument};

    const QUESTION: &str = "Why was MultiCommand deprecated?";

    fn story(id: NodeId, title: &str, text: &str) -> Story {
        let passages = split_sentences(text)
            .into_iter()
            .map(|piece| Passage {
                document: 0,
                stems: stems(&text[piece.range.clone()]),
                kind: piece.kind,
                role: Role::Anywhere,
                range: piece.range,
            })
            .collect();
        let document = CitedDocument {
            id: id.clone(),
            title: title.to_owned(),
            url: None,
            author: None,
            at: Timestamp::UNIX_EPOCH,
            file: None,
            heading: 0,
            text: text.to_owned(),
            confidential: false,
        };
        Story { id, documents: vec![document], passages, fit: None }
    }

    fn commit(text: &str) -> Story {
        let title = text.lines().next().unwrap_or_default();
        story(NodeId::commit("acme/shop", &"1a".repeat(20)), title, text)
    }

    fn issue(text: &str) -> Story {
        story(ThreadId::issue("acme/shop", 7).into(), "Commands", text)
    }

    /// The text of the best piece, and what the reader must know.
    fn preferred(stories: &[Story]) -> (String, Option<String>) {
        let question = Question::parse(QUESTION);
        let weights = vec![1.0; question.terms.len()];
        let mut scored = score_by_words(&question, &weights, stories);
        let warning = prefer_reasons(QUESTION, &weights, stories, &mut scored);
        let best = &scored[0];
        (stories[best.story].text(passage_of(best, stories)).to_owned(), warning)
    }

    #[test]
    fn a_reason_goes_before_what_only_restates_the_question() {
        for reason in
            ["Two classes confused readers, because a group does the same.", "A group can do all that it did."]
        {
            let told = commit(&format!("Deprecate MultiCommand\n\n{reason}"));
            assert_eq!(preferred(&[issue("MultiCommand is deprecated."), told]), (reason.to_owned(), None));
        }
        let discussed = issue("MultiCommand is deprecated.\n\nA group can do all that it did.");
        assert_eq!(preferred(&[discussed]), ("A group can do all that it did.".to_owned(), None));
    }

    #[test]
    fn in_a_file_the_sentence_behind_one_that_restates_the_question_may_give_the_reason() {
        let file = |text: &str| story(NodeId::file("acme/shop", "CHANGES.md"), "CHANGES.md", text);
        let told = file("MultiCommand is deprecated. It is no more than a copy of Group.");
        assert_eq!(preferred(&[told]), ("It is no more than a copy of Group.".to_owned(), None));
        for apart in
            ["- MultiCommand is deprecated.\n- It is faster to sort rows.", "MultiCommand is deprecated. Rows sort."]
        {
            assert!(preferred(&[file(apart)]).1.is_some(), "{apart}");
        }
    }

    #[test]
    fn without_a_reason_the_change_is_named() {
        let stated = || issue("MultiCommand is deprecated.\n\nOr is MultiCommand deprecated?");
        let named =
            "commit acme/shop@1a1a1a1a Deprecate MultiCommand says that it is so, but no reason is written there";
        assert_eq!(preferred(&[stated(), commit("Deprecate MultiCommand")]).1.as_deref(), Some(named));
        // A reason for something else is none.
        let elsewhere = issue("Parsers are slow because they read three times.");
        let named = "acme/shop#7 Commands says that it is so, but no reason is written there";
        assert_eq!(preferred(&[stated(), elsewhere]).1.as_deref(), Some(named));
    }

    #[test]
    fn what_tells_more_than_the_question_stays_first() {
        let text = "MultiCommand was deprecated together with BaseCommand, parsers, prompts, pagers and progress bars.";
        let other = commit("Speed up parsers\n\nMultiCommand read twice, because of a cache.");
        assert_eq!(preferred(&[issue(text), other]), (text.to_owned(), None));
    }
}
