//! GraphQL types of summaries by a language model.

use async_graphql::{Context, Result, SimpleObject};
use backstory_engine::{
    model::id::NodeId,
    summary::{self, SummarizeRequest},
};

use super::{answer::Provenance, loaders, scalar::DateTime};

/// What a language model wrote about an issue, merge request, commit or file.
#[derive(SimpleObject)]
pub(crate) struct Summary {
    /// Text of the summary. Sentences with a number or identifier that does not occur in what is summarized are left
    /// out; nothing else is checked.
    text: String,
    /// Model that wrote the summary.
    model: Provenance,
    /// When the summary was written.
    written_at: DateTime,
    /// Whether what is summarized has changed since.
    outdated: bool,
}

impl From<summary::Summary> for Summary {
    fn from(summary: summary::Summary) -> Self {
        Self {
            text: summary.text,
            model: summary.model.into(),
            written_at: summary.written_at.into(),
            outdated: summary.outdated,
        }
    }
}

/// The summary that was made of an issue, merge request, commit or file.
pub(super) async fn of(ctx: &Context<'_>, id: &NodeId) -> Result<Option<Summary>> {
    Ok(loaders::engine(ctx)?.find_summary(id.clone()).await?.map(Summary::from))
}

/// Summarizes an issue, merge request, commit or file.
pub(super) async fn make(ctx: &Context<'_>, reference: &str) -> Result<Summary> {
    let request = SummarizeRequest { id: reference.parse()? };
    Ok(loaders::engine(ctx)?.answer(request).await?.into())
}
