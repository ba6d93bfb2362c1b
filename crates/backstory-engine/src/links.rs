//! Keeps inferred links up to date after a sync and when vectors arrive. How a link is judged belongs to `model::link`.
//!
//! Every merge request, and every commit that none introduced, is compared with the issues that were open then. The
//! most likely issue is linked if it is likely enough and no link to any issue is stated. The links depend on the
//! ledger and on which vectors there are, so the digest does not cover them. A new text changes how rare words are, so
//! all are computed again when something has changed (the graph records from which state they were computed); only the
//! difference is written.

pub(crate) mod material;
mod measured;

use backstory_model::{
    id::NodeId,
    link::{LinkCandidate, LinkCorpus},
};
use backstory_store::graph::{Graph, InferredLink};

use crate::{
    error::Result,
    read::list_projects,
    resources::{Resources, blocking},
};
use material::load_link_inputs;

pub use measured::MeasureLinks;

/// Parts into which confidence is divided: more would pretend to know more.
const HUNDREDTHS: f32 = 100.0;
/// Version of how links are found: links that another version found are found again.
const VERSION: u32 = 2;

/// The same for a graph that is not read yet. The caller keeps others from projecting.
pub(crate) async fn refresh_links_of(resources: &Resources, graph: Graph) -> Result<()> {
    let known = graph.clone();
    let (applied, known_basis) =
        blocking(move || Ok((known.applied_seq()?, known.inferred_links_input_digest()?))).await?;
    let basis = links_basis(resources).await?;
    // A graph is loaded in bulk before anything else is written to it: RocksDB has crashed when what it had not
    // flushed yet lay where files came in.
    if applied == 0 || known_basis.as_ref() == Some(&basis) {
        return Ok(());
    }
    let started = std::time::Instant::now();
    let links = infer_links(resources, &graph).await?;
    let found = links.len();
    let changed = blocking(move || Ok(graph.replace_inferred_links(&links, &basis)?)).await?;
    tracing::debug!(found, changed, took = ?started.elapsed(), "inferred links");
    Ok(())
}

/// What the links are found from. Documents of which kinds have vectors is told by their number: any other change
/// of theirs is a change of the ledger.
async fn links_basis(resources: &Resources) -> Result<String> {
    let seq = resources.with_ledger(|ledger| ledger.last_seq()).await?;
    let (least, embedded) = (resources.settings().links.confidence, resources.index().coverage().embedded);
    Ok(format!("{VERSION} {least} {seq} {} {embedded}", resources.embedder().model()))
}

/// Finds the links of all projects, as they are shown.
pub(crate) async fn infer_links(resources: &Resources, graph: &Graph) -> Result<Vec<InferredLink>> {
    let mut links = Vec::new();
    for project in list_projects(resources).await? {
        let material = load_link_inputs(resources, graph, &project.path).await?;
        if material.issues.is_empty() {
            continue;
        }
        let least = resources.settings().links.confidence;
        let found = blocking(move || {
            let corpus = LinkCorpus::new(material.issues, material.changes);
            let stated = &material.stated;
            let unlinked = corpus.links(|change| !stated.is_linked(&change.id), least);
            Ok(unlinked.map(|(change, link)| to_inferred_link(&change.id, &link)).collect::<Vec<_>>())
        });
        links.extend(found.await?);
    }
    Ok(links)
}

/// The inferred links that start or end at nodes, in the order of the nodes.
///
/// # Errors
/// The graph cannot be read.
pub(crate) async fn inferred_links(resources: &Resources, ids: Vec<NodeId>) -> Result<Vec<Vec<InferredLink>>> {
    let graph = resources.graph();
    blocking(move || ids.iter().map(|id| Ok(graph.inferred(id)?)).collect()).await
}

fn to_inferred_link(change: &NodeId, link: &LinkCandidate) -> InferredLink {
    InferredLink {
        from: change.clone(),
        to: link.issue.clone().into(),
        confidence: (link.score.confidence * HUNDREDTHS).round() / HUNDREDTHS,
        evidence: link.score.evidence(),
    }
}
