//! Generated classifications and notes of before, for people.

use backstory_model::{
    answer::Provenance,
    digest::sha256,
    generated::{GeneratedKind, GeneratedNote, GenerationOutcome, ModelClassification},
    id::{NodeId, ThreadId},
};
use backstory_store::ledger::GeneratedText;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::design_notes::thread_input;
use crate::{error::Result, records::commit_record, resources::Resources};

/// Rows of the ledger that are read at once.
const BATCH: usize = 1000;

/// The type of a commit according to a language model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommitClassification {
    /// The type.
    #[serde(flatten)]
    pub found: ModelClassification,
    /// Who wrote it.
    pub model: Provenance,
    /// When.
    pub written_at: Timestamp,
}

/// Design notes of an issue or merge request that a language model wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadNotes {
    /// The issue or merge request.
    pub about: ThreadId,
    /// The notes, at least one.
    pub notes: Vec<GeneratedNote>,
    /// Who wrote them.
    pub model: Provenance,
    /// When.
    pub written_at: Timestamp,
    /// Whether what they are about has changed since.
    pub outdated: bool,
}

/// The type of a commit as a language model saw it; `None` if none was asked, or could say.
///
/// # Errors
/// The ledger cannot be read.
pub(crate) async fn classification_by_model(
    resources: &Resources,
    commit: &NodeId,
) -> Result<Option<CommitClassification>> {
    let subject = commit.to_string();
    let kept = resources.with_ledger(move |ledger| ledger.generated(GeneratedKind::Classification.as_str(), &subject));
    let Some(written) = kept.await? else { return Ok(None) };
    let Some(GenerationOutcome::Classification(found)) = outcome(&written) else { return Ok(None) };
    Ok(Some(CommitClassification { found, model: provenance(&written), written_at: written.written_at }))
}

/// The design notes that a language model wrote of an issue or merge request; `None` if it wrote none.
///
/// # Errors
/// The ledger cannot be read.
pub(crate) async fn notes_by_model(resources: &Resources, id: ThreadId) -> Result<Option<ThreadNotes>> {
    resources.blocking(move |resources| generated_notes(resources, &id)).await
}

pub(crate) fn generated_notes(resources: &Resources, id: &ThreadId) -> Result<Option<ThreadNotes>> {
    let kept = resources.ledger().generated(GeneratedKind::DesignNotes.as_str(), &id.to_string())?;
    let Some(written) = kept else { return Ok(None) };
    match outcome(&written) {
        Some(GenerationOutcome::DesignNotes(notes)) if !notes.is_empty() => Ok(Some(ThreadNotes {
            about: id.clone(),
            notes,
            model: provenance(&written),
            written_at: written.written_at,
            outdated: !is_current(resources, &written, &id.clone().into())?,
        })),
        _ => Ok(None),
    }
}

/// Whether what was written is about the item as it is now. A commit never changes.
pub(super) fn is_current(resources: &Resources, written: &GeneratedText, about: &NodeId) -> Result<bool> {
    match about {
        NodeId::Thread(id) => {
            let input = thread_input(resources, id)?;
            Ok(input.is_some_and(|input| sha256(input.prompt().user.as_bytes()) == written.input))
        }
        NodeId::Commit { project, sha } => Ok(commit_record(resources, project, sha)?.is_some()),
        _ => Ok(false),
    }
}

/// What a row says; `None` if another version of the program wrote it in another shape.
pub(super) fn outcome(written: &GeneratedText) -> Option<GenerationOutcome> {
    serde_json::from_str(&written.text).ok()
}

pub(super) fn provenance(written: &GeneratedText) -> Provenance {
    Provenance { name: written.model.clone(), prompt: written.prompt }
}

/// Everything of a kind that was written, in the order of what it is about.
pub(crate) fn for_each_generated(
    resources: &Resources,
    kind: GeneratedKind,
    mut take: impl FnMut(GeneratedText),
) -> Result<()> {
    let mut after = String::new();
    loop {
        let rows = resources.ledger().list_generated(kind.as_str(), &after, BATCH)?;
        let Some(last) = rows.last() else { return Ok(()) };
        after.clone_from(&last.subject);
        rows.into_iter().for_each(&mut take);
    }
}
