//! What changes together with a file or code entity.

use backstory_model::{id::NodeId, repository::code_node_id, text::truncate_echo};
use serde::{Deserialize, Serialize};

use crate::{
    co_changes::{THRESHOLDS, co_changes_in, code_key_of},
    error::{Error, Result},
    read::not_found,
    resources::Resources,
    use_case::UseCase,
};

/// Most files or entities of one answer.
pub const MAX_CO_CHANGED: usize = 200;
/// Fewest commits in which both changed, unless a request asks for more.
pub const LEAST_SUPPORT: u32 = THRESHOLDS.support;

/// Requests what changes together with a file or code entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoChangeRequest {
    /// The file or code entity.
    pub id: NodeId,
    /// Most files or entities, at most 200; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
    /// Fewest commits in which both changed, 3 or more; 3 if absent.
    #[serde(default = "least_support")]
    pub min_support: u32,
}

const fn least_support() -> u32 {
    LEAST_SUPPORT
}

impl UseCase for CoChangeRequest {
    const NAME: &'static str = "co-change";
    type Answer = CoChangeAnswer;

    async fn run(self, resources: &Resources) -> Result<CoChangeAnswer> {
        resources.blocking(move |resources| find_co_changed(resources, &self)).await
    }
}

/// What changes together with a file or code entity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoChangeAnswer {
    /// The most confident first, then those with most support.
    pub changed: Vec<CoChanged>,
    /// How many there are besides.
    pub left_out: usize,
}

/// What changes together with something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoChanged {
    /// A file or code entity.
    pub id: NodeId,
    /// Commits in which both changed; those that change very much do not count.
    pub support: u32,
    /// Support divided by the number of changes of what was asked about, 0 to 1.
    pub confidence: f32,
}

/// Returns what changes together with a file or code entity: what did in three commits and three of ten changes.
///
/// # Errors
/// Nothing is known of it, or the ledger cannot be read.
fn find_co_changed(resources: &Resources, request: &CoChangeRequest) -> Result<CoChangeAnswer> {
    let id = &request.id;
    let name = id.to_string();
    let (Some(project), Some(code)) = (id.project(), code_key_of(id)) else {
        return Err(Error::invalid(format!("{} is not a file or code entity", truncate_echo(&name)))
            .with_hint("write group/project:src/a.rs"));
    };
    if request.limit > MAX_CO_CHANGED {
        return Err(Error::invalid(format!("{} were asked for; at most {MAX_CO_CHANGED}", request.limit)));
    }
    if request.min_support < LEAST_SUPPORT {
        let message = format!("the least support is {}; it must be {LEAST_SUPPORT} or more", request.min_support);
        return Err(Error::invalid(message).with_hint("pairs that changed together in fewer commits are not kept"));
    }
    if !resources.graph().exists(id)? {
        return Err(not_found("file or code entity", &name));
    }
    let table = co_changes_in(resources, project)?;
    let pairs = table.partners(&code).iter().filter(|pair| pair.support >= request.min_support);
    let changed = pairs.clone().take(request.limit).map(|pair| CoChanged {
        id: code_node_id(project, &pair.second),
        support: pair.support,
        confidence: pair.confidence,
    });
    Ok(CoChangeAnswer { changed: changed.collect(), left_out: pairs.count().saturating_sub(request.limit) })
}
