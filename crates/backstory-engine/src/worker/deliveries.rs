//! The webhooks that were received, without their payloads.

use backstory_model::role::ServerRole;
use backstory_store::ledger::{DeliveryCursor, ReceivedDelivery};
use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    pages::check_projects,
    read::MAX_PAGE,
    resources::Resources,
    use_case::{Scope, UseCase},
};

/// Lists webhooks that were received, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListDeliveries {
    /// Full paths of projects: only those about them. All if there are none.
    #[serde(default)]
    pub projects: Vec<String>,
    /// Only those behind this place of the list.
    pub before: Option<DeliveryCursor>,
    /// Most of them, at most 1,000; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

impl UseCase for ListDeliveries {
    const NAME: &'static str = "deliveries";
    // They name who writes where, also of what is confidential.
    const SCOPE: Scope = Scope::Admin;
    const REPEATABLE: bool = true;
    const ROLE: Option<ServerRole> = None;
    type Answer = Vec<ReceivedDelivery>;

    async fn run(self, resources: &Resources) -> Result<Vec<ReceivedDelivery>> {
        let Self { projects, before, limit } = self;
        check_projects(resources, &projects).await?;
        resources
            .with_ledger(move |ledger| ledger.list_deliveries(&projects, before.as_ref(), limit.min(MAX_PAGE)))
            .await
    }
}
