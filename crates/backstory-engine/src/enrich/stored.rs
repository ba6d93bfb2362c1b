//! What language models wrote about an item, as it is kept.

use backstory_model::{id::NodeId, text::truncate_echo};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    generated::{
        CommitClassification, ThreadNotes,
        results::{classification_by_model, notes_by_model},
    },
    read::{load_items, resolve_id},
    resources::Resources,
    summary::{Summary, find_summary},
    use_case::UseCase,
};

/// Requests what language models wrote about an issue, a merge request, a commit or a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetEnrichments {
    /// Its id.
    pub id: NodeId,
}

/// What language models wrote about an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Enrichments {
    /// What it is about.
    pub id: NodeId,
    /// Its summary.
    pub summary: Option<Summary>,
    /// Of an issue or merge request: decisions, reasons and alternatives.
    pub notes: Option<ThreadNotes>,
    /// Of a commit: its type.
    pub classification: Option<CommitClassification>,
}

impl UseCase for GetEnrichments {
    const NAME: &'static str = "enrichments";
    type Answer = Enrichments;

    async fn run(self, resources: &Resources) -> Result<Enrichments> {
        find_enrichments(resources, self.id).await
    }
}

/// Finds what language models wrote about an item.
///
/// # Errors
/// There is no such item, or the ledger cannot be read.
async fn find_enrichments(resources: &Resources, id: NodeId) -> Result<Enrichments> {
    let id = resolve_id(resources, id).await?;
    if load_items(resources, vec![id.clone()]).await?.is_empty() {
        return Err(Error::new(ErrorKind::NotFound, format!("there is no {}", truncate_echo(&id.to_string()))));
    }
    let (mut summary, mut notes, mut classification) = (None, None, None);
    match &id {
        NodeId::Thread(thread) => {
            summary = find_summary(resources, id.clone()).await?;
            notes = notes_by_model(resources, thread.clone()).await?;
        }
        NodeId::Commit { .. } => {
            summary = find_summary(resources, id.clone()).await?;
            classification = classification_by_model(resources, &id).await?;
        }
        NodeId::File { .. } => summary = find_summary(resources, id.clone()).await?,
        _ => {}
    }
    Ok(Enrichments { id, summary, notes, classification })
}
