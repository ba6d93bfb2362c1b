//! Puts generated texts from the ledger into the graph, as a function of the ledger, with which `check` compares them.
//! Texts about an older state of an issue or merge request are left out.

use backstory_model::{digest::sha256_hex, generated::GeneratedKind};
use backstory_store::graph::{GeneratedFact, Graph};

use super::results::{for_each_generated, is_current, outcome, provenance};
use crate::{error::Result, resources::Resources};

/// Version of how it becomes part of the graph.
const VERSION: u32 = 1;

/// The same for a graph that is not read yet. The caller keeps others from projecting.
pub(crate) async fn refresh_written_of(resources: &Resources, graph: Graph) -> Result<()> {
    resources
        .blocking(move |resources| {
            let known = graph.generated_input_digest()?;
            let basis = written_basis(resources)?;
            // A graph is loaded in bulk before anything else is written to it.
            if graph.applied_seq()? == 0 || known.filter(|known| !known.is_empty()) == basis {
                return Ok(());
            }
            let changed = graph.replace_generated(&written_facts(resources)?, &basis.unwrap_or_default())?;
            tracing::debug!(changed, "what language models wrote");
            Ok(())
        })
        .await
}

/// What it follows from; `None` if nothing was ever written.
fn written_basis(resources: &Resources) -> Result<Option<String>> {
    let mut all = String::new();
    for kind in GeneratedKind::ALL {
        for_each_generated(resources, kind, |written| {
            all.push_str(&format!("{} {} {}\n", kind.as_str(), written.subject, written.written_at));
            all.push_str(&format!("{} {} {:x?}\n{}\n", written.model, written.prompt, written.input, written.text));
        })?;
    }
    if all.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!("{VERSION} {} {}", resources.ledger().last_seq()?, sha256_hex(&all))))
}

/// Everything that was written of items as they are now.
fn written_facts(resources: &Resources) -> Result<Vec<GeneratedFact>> {
    let mut rows = Vec::new();
    for kind in GeneratedKind::ALL {
        for_each_generated(resources, kind, |written| rows.push((kind, written)))?;
    }
    let mut facts = Vec::new();
    for (kind, written) in rows {
        let (Some(outcome), Ok(about)) = (outcome(&written), written.subject.parse()) else { continue };
        if is_current(resources, &written, &about)? {
            let (model, input, written_at) = (provenance(&written), written.input, written.written_at);
            facts.push(GeneratedFact { about, kind, model, input, written_at, outcome });
        }
    }
    Ok(facts)
}

/// Graphs of what language models wrote that are not as the ledger has it.
pub(crate) async fn wrong_written(resources: &Resources) -> Result<Vec<String>> {
    let graph = resources.graph();
    resources
        .blocking(move |resources| {
            let wrong = graph.mismatched_generated(&written_facts(resources)?)?;
            Ok(wrong.into_iter().map(|graph| format!("{graph} is missing or wrong")).collect())
        })
        .await
}
