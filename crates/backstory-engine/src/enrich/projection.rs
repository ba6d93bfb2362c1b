//! Puts generated texts from the ledger into the graph, as a function of the ledger, with which `check` compares them.
//! Texts about an older state of an issue or merge request are left out.

use backstory_model::{digest::sha256_hex, written::GeneratedKind};
use backstory_store::graph::{GeneratedFact, Graph};

use super::kept::{outcome, provenance};
use crate::{Engine, error::Result};

/// Version of how it becomes part of the graph.
const VERSION: u32 = 1;

impl Engine {
    /// Brings what language models wrote in the graph up to what the ledger has. Costs next to nothing if it is.
    pub(crate) async fn refresh_written(&self) -> Result<()> {
        self.retry_after_repair(|| async {
            let _one_at_a_time = self.0.projecting.lock().await;
            let engine = self.with_full_visibility();
            engine.refresh_written_of(engine.graph()).await
        })
        .await
    }

    /// The same for a graph that is not read yet. Whoever calls keeps others from projecting.
    pub(crate) async fn refresh_written_of(&self, graph: Graph) -> Result<()> {
        let engine = self.clone();
        self.blocking(move || {
            let known = graph.written_basis()?;
            let basis = engine.written_basis()?;
            // A graph is loaded in bulk before anything else is written to it.
            if graph.applied_seq()? == 0 || known.filter(|known| !known.is_empty()) == basis {
                return Ok(());
            }
            let changed = graph.replace_generated(&engine.written_facts()?, &basis.unwrap_or_default())?;
            tracing::debug!(changed, "what language models wrote");
            Ok(())
        })
        .await
    }

    /// What it follows from; `None` if nothing was ever written.
    fn written_basis(&self) -> Result<Option<String>> {
        let mut all = String::new();
        for kind in GeneratedKind::ALL {
            self.for_each_generated(kind, |written| {
                all.push_str(&format!("{} {} {}\n", kind.as_str(), written.subject, written.written_at));
                all.push_str(&format!("{} {} {:x?}\n{}\n", written.model, written.prompt, written.input, written.text));
            })?;
        }
        if all.is_empty() {
            return Ok(None);
        }
        Ok(Some(format!("{VERSION} {} {}", self.ledger().last_seq()?, sha256_hex(&all))))
    }

    /// Everything that was written of items as they are now.
    fn written_facts(&self) -> Result<Vec<GeneratedFact>> {
        let mut rows = Vec::new();
        for kind in GeneratedKind::ALL {
            self.for_each_generated(kind, |written| rows.push((kind, written)))?;
        }
        let mut facts = Vec::new();
        for (kind, written) in rows {
            let (Some(outcome), Ok(about)) = (outcome(&written), written.subject.parse()) else { continue };
            if self.is_current(&written, &about)? {
                let (model, input, written_at) = (provenance(&written), written.input, written.written_at);
                facts.push(GeneratedFact { about, kind, model, input, written_at, outcome });
            }
        }
        Ok(facts)
    }

    /// Graphs of what language models wrote that are not as the ledger has it.
    pub(crate) async fn wrong_written(&self) -> Result<Vec<String>> {
        let (engine, graph) = (self.clone(), self.graph());
        self.blocking(move || {
            let wrong = graph.wrong_written(&engine.written_facts()?)?;
            Ok(wrong.into_iter().map(|graph| format!("{graph} is missing or wrong")).collect())
        })
        .await
    }
}
