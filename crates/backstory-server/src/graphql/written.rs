//! GraphQL types of what language models wrote about commits, issues and merge requests, with its provenance.

use async_graphql::{Context, Enum, Result, SimpleObject};
use backstory_engine::{
    enrich::EnrichRequest,
    generated::ThreadNotes,
    model::{
        generated::{self, GeneratedKind, GeneratedNote},
        id::{NodeId, ThreadId},
    },
};

use super::{
    answer::Provenance, edge::hundredths, loaders, names::ChangeType, node::Node, page, scalar::DateTime,
    search::node_of, task::Task, thread::Thread,
};

/// What a language model can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "GeneratedKind")]
pub(crate) enum Enrichment {
    /// The type of the change that each commit is.
    Classification,
    /// What was decided in each issue and merge request, why, and what was rejected.
    DesignNotes,
}

/// What a note is about.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "generated::NoteAspect")]
pub(crate) enum NoteAspect {
    /// What was decided.
    Decision,
    /// Why it was decided.
    Reason,
    /// What was rejected.
    Alternative,
}

/// The type of a commit according to a language model.
#[derive(SimpleObject)]
pub(crate) struct ModelClassification {
    /// Type of the change.
    change_type: ChangeType,
    /// How sure the model says it is, 0 to 1.
    confidence: f64,
    /// Reason in one sentence by the model. Its numbers and identifiers occur in the commit; nothing else is checked.
    reason: String,
    /// Model that classified the commit.
    model: Provenance,
    /// When the model classified the commit.
    written_at: DateTime,
}

/// Design notes of an issue or merge request that a language model wrote.
#[derive(SimpleObject)]
pub(crate) struct ModelNotes {
    /// Issue or merge request that the notes are about.
    about: Thread,
    /// Notes that the model wrote.
    notes: Vec<ModelNote>,
    /// Model that wrote the notes.
    model: Provenance,
    /// When the notes were written.
    written_at: DateTime,
    /// Whether what the notes are about has changed since.
    outdated: bool,
}

/// A design note that a language model wrote.
#[derive(SimpleObject)]
pub(crate) struct ModelNote {
    /// What the note is about: a decision, a reason or an alternative.
    aspect: NoteAspect,
    /// Text of the note, in words of the model. Its numbers and identifiers, and most of its words, occur in what it
    /// cites.
    text: String,
    /// Share of the note's words that occur in what it cites, 0 to 1.
    confidence: f64,
    /// What the note cites: notes, or the issue or merge request for its description.
    evidence: Vec<Node>,
}

impl From<ThreadNotes> for ModelNotes {
    fn from(of: ThreadNotes) -> Self {
        Self {
            about: of.about.into(),
            notes: of.notes.into_iter().map(ModelNote::from).collect(),
            model: of.model.into(),
            written_at: of.written_at.into(),
            outdated: of.outdated,
        }
    }
}

impl From<GeneratedNote> for ModelNote {
    fn from(note: GeneratedNote) -> Self {
        Self {
            aspect: note.aspect.into(),
            text: note.text,
            confidence: hundredths(note.confidence),
            evidence: note.evidence.iter().filter_map(|id| node_of(id)).collect(),
        }
    }
}

/// The type of a commit as a language model saw it.
pub(super) async fn classification(ctx: &Context<'_>, commit: &NodeId) -> Result<Option<ModelClassification>> {
    let kept = loaders::engine(ctx)?.classification_by_model(commit).await?;
    Ok(kept.map(|kept| ModelClassification {
        change_type: kept.found.change_type.into(),
        confidence: hundredths(kept.found.confidence),
        reason: kept.found.reason,
        model: kept.model.into(),
        written_at: kept.written_at.into(),
    }))
}

/// The design notes that a language model wrote of an issue or merge request.
pub(super) async fn notes(ctx: &Context<'_>, id: &ThreadId) -> Result<Option<ModelNotes>> {
    Ok(loaders::engine(ctx)?.notes_by_model(id.clone()).await?.map(ModelNotes::from))
}

/// Starts to have a language model write what is missing.
pub(super) async fn start(
    ctx: &Context<'_>,
    projects: Vec<String>,
    what: Option<Enrichment>,
    limit: Option<i32>,
) -> Result<Task> {
    let limit = limit.map(|limit| {
        usize::try_from(limit).map_err(|_| page::invalid(format!("the limit is {limit}; it must be 0 or more")))
    });
    let request = EnrichRequest { projects, what: what.map(Into::into), limit: limit.transpose()? };
    Ok(loaders::engine(ctx)?.answer(request).await?.into())
}
