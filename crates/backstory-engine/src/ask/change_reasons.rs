//! Questions that ask why something was added or removed: the commit that did it, what merged that, and the issues behind
//! them say that, and what is written at other times about the same thing does not. Where they say nothing, the answer
//! says so.

use backstory_model::{
    change_question::{ChangeDirection, ChangeQuestion},
    commit::Sha,
    edge::Edge,
    filter::Filter,
    id::{NodeId, ThreadId, ThreadKind},
    question::{Question, QuestionKind},
    reason::{ReasonFit, ReasonQuestion},
    sentence::PieceKind,
};
use backstory_store::graph::Direction;

use super::{
    facts::find_nodes_of_change,
    reading::Reading,
    select::{Scored, is_quotable, restrict_leads},
    stories::{Role, Story, load_stories_of},
};
use crate::{
    error::Result,
    introduction::{merge_introducing, merge_requests_introducing},
    resources::Resources,
    search::symbols::symbols,
};

/// Merge requests of a commit that are read.
const MAX_REQUESTS: usize = 2;
/// Issues behind commits and merge requests that are read.
const MAX_ISSUES: usize = 5;
/// Fewest words of a clause of a title that may be a reason.
const MIN_CLAUSE: usize = 4;
/// Most commits of a merge whose message is read.
const MAX_BROUGHT: usize = 50;
/// Shortest sentence without words of a reason that may be one, in characters.
const MIN_SENTENCE: usize = 25;

/// What may say why a change was made that a question asks the reason of.
#[derive(Debug)]
pub(super) struct ChangeReasons {
    /// The commits or merge requests that made it.
    changes: Vec<NodeId>,
    /// Merges and merge requests that brought them, and issues that these or the commits close.
    linked: Vec<NodeId>,
}

/// How much a sentence says of the reason, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReasonRank {
    /// It has the words of a reason.
    Reason,
    /// It is of the message of a commit and names what is asked about.
    Named,
    /// It is of the message of a commit.
    Message,
    /// It is of the description of a merge request.
    Description,
    /// It is a title that says more than what was done.
    Title,
}

impl ReasonRank {
    const ALL: [Self; 5] = [Self::Reason, Self::Named, Self::Message, Self::Description, Self::Title];
}

/// Finds what made the change that a question asks the reason of, and adds to what was read for it what is not there yet.
///
/// # Errors
/// A store failed.
pub(super) async fn read_change_reasons(
    resources: &Resources,
    reading: &mut Reading,
    filter: &Filter,
) -> Result<Option<ChangeReasons>> {
    use ChangeDirection::{Added, Removed};
    let asks_reason = |change: &&ChangeQuestion| change.fact.is_none() && matches!(change.direction, Added | Removed);
    let change = reading.change.as_ref().filter(asks_reason).filter(|_| reading.read.kind == QuestionKind::Why);
    let Some(change) = change else { return Ok(None) };
    let (changes, said) = find_nodes_of_change(resources, change, filter).await?;
    if change.direction == ChangeDirection::Removed {
        reading.warnings.extend(said);
    }
    if changes.is_empty() {
        return Ok(None);
    }
    let made = changes.clone();
    let linked = resources.blocking(move |resources| find_linked(resources, &made)).await?;
    let reasons = ChangeReasons { changes, linked };
    let is_read = |id: &NodeId| reading.stories.iter().any(|story| story.id == *id);
    let unread: Vec<NodeId> = reasons.nodes().filter(|id| !is_read(id)).cloned().collect();
    let mut stories = load_stories_of(resources, &unread).await?;
    reading.stories.append(&mut stories);
    Ok(Some(reasons))
}

/// The merges and merge requests that brought commits, and the issues that these or the commits close, of the same project.
fn find_linked(resources: &Resources, changes: &[NodeId]) -> Result<Vec<NodeId>> {
    let mut carriers: Vec<NodeId> = Vec::new();
    for node in changes {
        if let NodeId::Commit { project, sha } = node
            && let Some(sha) = Sha::from_hex(sha.as_bytes())
        {
            let found = merge_requests_introducing(resources, project, sha)?.into_iter().take(MAX_REQUESTS);
            carriers.extend(found.map(|request| NodeId::from(request.id)));
            // Without a forge only its message says what the merge request said; that of many commits says little of each.
            if let Some(merge) = merge_introducing(resources, node)?
                && resources.graph().edges(&merge, Direction::In, Some(Edge::MergedBy))?.len() <= MAX_BROUGHT
            {
                carriers.push(merge);
            }
        }
    }
    let mut issues: Vec<NodeId> = Vec::new();
    for node in changes.iter().chain(&carriers) {
        for edge in [Edge::Fixes, Edge::Closes] {
            for end in resources.graph().edges(node, Direction::Out, Some(edge))? {
                let is_issue = matches!(&end.other, NodeId::Thread(ThreadId { kind: ThreadKind::Issue, .. }));
                if is_issue && issues.len() < MAX_ISSUES && !issues.contains(&end.other) {
                    issues.push(end.other);
                }
            }
        }
    }
    let project = changes.first().and_then(NodeId::project);
    let linked = carriers.iter().chain(&issues).filter(|id| id.project() == project && !changes.contains(id));
    Ok(linked.cloned().collect())
}

impl ChangeReasons {
    fn nodes(&self) -> impl Iterator<Item = &NodeId> {
        self.changes.iter().chain(&self.linked)
    }

    /// Whether a story is one of those that may say why.
    pub(super) fn has(&self, story: &Story) -> bool {
        self.nodes().any(|id| *id == story.id)
    }

    /// Puts what gives the reason before the rest. Returns whether anything does; what only says again what is asked does not.
    pub(super) fn put_reasons_first(&self, reading: &Reading, scored: &mut [Scored]) -> bool {
        let Reading { query, read, stories, change, .. } = reading;
        let Some(change) = change else { return false };
        let reason = ReasonQuestion::parse(query);
        let rank = |one: &Scored| {
            let story = Some(&stories[one.story]).filter(|story| self.has(story) && is_quotable(one, stories))?;
            let is_carrier = self.linked.contains(&story.id) && matches!(story.id, NodeId::Commit { .. });
            rank_piece(&reason, read, change, story, (one.passage, is_carrier))
        };
        let ranks: Vec<Option<ReasonRank>> = scored.iter().map(rank).collect();
        for wanted in ReasonRank::ALL {
            let leads: Vec<bool> = ranks.iter().map(|rank| *rank == Some(wanted)).collect();
            if leads.contains(&true) {
                restrict_leads(scored, &leads);
                return true;
            }
        }
        false
    }

    /// What the reader must know where nothing gives the reason: that, and whether what is quoted instead was written later.
    pub(super) fn describe_silence(
        &self,
        change: &ChangeQuestion,
        stories: &[Story],
        scored: &[Scored],
    ) -> Option<String> {
        let own = self.changes.iter().find_map(|id| stories.iter().find(|story| story.id == *id))?;
        let own = own.documents.first()?;
        let quoted = scored.iter().find(|one| is_quotable(one, stories));
        if quoted.is_some_and(|one| self.changes.contains(&stories[one.story].id)) {
            return None;
        }
        let is_later = quoted.is_some_and(|one| {
            let story = &stories[one.story];
            let document = &story.documents[story.passages[one.passage].document];
            document.file.is_none() && document.at > own.at
        });
        let later = if is_later { "; what is quoted was written later" } else { "" };
        let (place, verb, subject) = (own.cite(0, 0..0).location(), change.direction.verb(), &change.subject);
        Some(format!("no reason is written in {place}, which {verb} {subject}{later}"))
    }
}

/// How much a piece of a story says of the reason; `None` if nothing. Of the message of a merge, a `carrier`, much may be
/// about something else.
fn rank_piece(
    reason: &ReasonQuestion,
    question: &Question,
    change: &ChangeQuestion,
    story: &Story,
    (passage, is_carrier): (usize, bool),
) -> Option<ReasonRank> {
    let own = &story.passages[passage];
    let text = story.text(own);
    if own.kind != PieceKind::Prose || text.trim_end().ends_with('?') {
        return None;
    }
    let is_of_name = |word: &str| change.names.iter().any(|name| name.to_lowercase().contains(&word.to_lowercase()));
    let is_named = |found: &[bool]| {
        let mut terms = question.terms.iter().zip(found);
        terms.all(|(term, found)| *found || !is_of_name(&term.word))
    };
    let names_it = is_named(&question.found_in(&own.stems));
    // Much may have come together with it, and what names other code is about that.
    let names_another = || !names_it && !symbols(text).is_empty();
    let is_of_story = || is_named(&story.found(question));
    // A comment may be about anything else.
    let is_description = own.document == 0;
    match reason.fit_of(text) {
        ReasonFit::Reason if names_it => Some(ReasonRank::Reason),
        ReasonFit::Reason if is_description && !names_another() => Some(ReasonRank::Reason),
        ReasonFit::Other if is_description && own.role == Role::Subject => {
            (names_it && !is_carrier && has_clause(text)).then_some(ReasonRank::Title)
        }
        ReasonFit::Other if is_description && text.chars().count() >= MIN_SENTENCE && is_of_story() => {
            // The message of a merge may have the title of what is merged before what that says.
            let is_title = is_carrier && !text.trim_end().ends_with('.');
            match &story.id {
                NodeId::Commit { .. } if is_title => None,
                NodeId::Commit { .. } if names_it => Some(ReasonRank::Named),
                NodeId::Commit { .. } => Some(ReasonRank::Message),
                NodeId::Thread(ThreadId { kind: ThreadKind::MergeRequest, .. }) => Some(ReasonRank::Description),
                _ => None,
            }
        }
        ReasonFit::Reason | ReasonFit::Other | ReasonFit::Restatement => None,
    }
}

/// Whether a title goes on with some words behind a comma or the like: `Drop pika, wait until it is stable`.
fn has_clause(title: &str) -> bool {
    let rest = title.split_once([',', ';']).or_else(|| title.split_once(" - "));
    rest.is_some_and(|(_, rest)| rest.split_whitespace().count() >= MIN_CLAUSE)
}
