//! The use case that gives every document its vectors. How is in [`vectors`](crate::vectors).

use backstory_model::role::ServerRole;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    error::{Error, ErrorKind, Result},
    refresh::{optimize_index, refresh_links},
    repair::retry_after_repair,
    resources::Resources,
    snapshot::with_snapshot,
    task::{Task, TaskKind},
    use_case::{Scope, UseCase},
    vectors::embed_pending,
};

/// Starts to give every document that has none its vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmbedRequest {}

impl UseCase for EmbedRequest {
    const NAME: &'static str = "embed";
    const SCOPE: Scope = Scope::Sync;
    const CONCERNS_ALL_PROJECTS: bool = true;
    const ROLE: Option<ServerRole> = Some(ServerRole::Embed);
    type Answer = Task;

    async fn run(self, resources: &Resources) -> Result<Task> {
        start_embed(resources)
    }
}

/// Starts to give every document that has none its vectors.
///
/// # Errors
/// It is switched off, or being done already.
fn start_embed(resources: &Resources) -> Result<Task> {
    if resources.embedder().is_off() {
        return Err(Error::new(
            ErrorKind::Configuration,
            "vectors are switched off by provider = \"none\" under [embedding]",
        )
        .with_hint("name another provider, or remove the key"));
    }
    resources.start_task(TaskKind::Embed, false, |resources, reporter| async move {
        let embed = || embed_pending(&resources, None, None, &reporter);
        let done = with_snapshot(&resources, retry_after_repair(&resources, embed)).await?;
        if done.documents > 0 {
            reporter.phase("optimizing the index", None);
            optimize_index(&resources).await?;
        }
        refresh_links(&resources).await?;
        let coverage = resources.index().coverage();
        Ok(json!({
            "documents": done.documents, "passages": done.passages, "reused": done.reused,
            "truncated": done.truncated, "embedded": coverage.embedded, "total": coverage.documents,
        }))
    })
}
