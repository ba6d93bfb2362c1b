//! Measures inferred links: stated ones are hidden and recovered.

use std::collections::{HashMap, HashSet};

use backstory_model::{
    id::NodeId,
    link::{LinkCandidate, LinkCorpus, LinkReport, LinkTrial, TrialResult},
};
use serde::{Deserialize, Serialize};

use super::material::{StatedLinks, load_link_inputs};
use crate::{
    catalog::project_of_questions,
    error::Result,
    resources::{Resources, blocking},
    use_case::{UseCase, Weight},
};

/// Of five merged requests so many are measured, the latest; those before are what weights were learned from.
const MEASURED: usize = 2;

/// Measures inferred links by hiding stated ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasureLinks {
    /// Full path of the project; may be absent where there is only one.
    pub project: Option<String>,
}

impl UseCase for MeasureLinks {
    const NAME: &'static str = "measure-links";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = LinkReport;

    async fn run(self, resources: &Resources) -> Result<LinkReport> {
        measure_links(resources, self.project.as_deref()).await
    }
}

/// Hides the stated links of the latest two fifths of a project's merged requests and measures what is recovered.
///
/// # Errors
/// There is no such project, or a store failed.
async fn measure_links(resources: &Resources, project: Option<&str>) -> Result<LinkReport> {
    let project = project_of_questions(resources, project).await?;
    let material = load_link_inputs(resources, &resources.graph(), &project).await?;
    let least = resources.settings().links.confidence;
    blocking(move || {
        let mut merged: Vec<_> = material.merged.iter().map(|(id, at)| (*at, id)).collect();
        merged.sort();
        let measured: HashSet<&NodeId> =
            merged.iter().rev().take((merged.len() * MEASURED).div_ceil(5)).map(|(_, id)| *id).collect();
        let corpus = LinkCorpus::new(material.issues, material.changes);
        let links = corpus.links(|change| measured.contains(&change.id), 0.0);
        let found: HashMap<&NodeId, LinkCandidate> = links.map(|(change, link)| (&change.id, link)).collect();
        let recovered = |id: &&NodeId| recovered(id, found.get(id), &material.stated);
        Ok(LinkReport::of(&measured.iter().map(recovered).collect::<Vec<_>>(), least))
    })
    .await
}

fn recovered(change: &NodeId, found: Option<&LinkCandidate>, stated: &StatedLinks) -> LinkTrial {
    LinkTrial {
        closes: stated.is_closing(change),
        linked: stated.is_linked(change),
        found: found.map(|link| TrialResult {
            confidence: link.score.confidence,
            closes: stated.closes(change, &link.issue),
            linked: stated.links(change, &link.issue),
        }),
    }
}
