//! Reads what changes together from the ledger.

use std::sync::Arc;

use backstory_model::{
    cochange::Thresholds,
    entity::{Item, ItemKind},
    id::NodeId,
    repository::{Record, code_key},
};

use crate::{error::Result, records::each_item, resources::Resources, state::co_changes::CoChangeTable};

/// What a pair must reach to be kept.
pub(crate) const THRESHOLDS: Thresholds = Thresholds { support: 3, confidence: 0.3 };
/// Records of pairs that a project has: files and entities.
const MAX_RECORDS: usize = 10;

/// What changes together in a project.
pub(crate) fn co_changes_in(resources: &Resources, project: &str) -> Result<Arc<CoChangeTable>> {
    if !resources.visibility().allows_project(project) {
        return Ok(Arc::default());
    }
    let seq = resources.ledger().last_seq()?;
    if let Some(known) = resources.shared.co_changes.lock().get(seq, project) {
        return Ok(known);
    }
    let mut pairs = Vec::new();
    each_item(resources, project, ItemKind::CoChange, MAX_RECORDS, |item| {
        if let Item::Repository(of) = item
            && let Record::CoChanges(changes) = of.record
        {
            pairs.extend(changes.pairs);
        }
    })?;
    let table = Arc::new(CoChangeTable::new(pairs.into_iter()));
    resources.shared.co_changes.lock().keep(seq, project, &table);
    Ok(table)
}

/// How records of co-change name a node; `None` for what is neither file nor entity.
pub(crate) fn code_key_of(id: &NodeId) -> Option<String> {
    match id {
        NodeId::File { path, .. } => Some(code_key(path, None)),
        NodeId::Entity { path, name, .. } => Some(code_key(path, Some(name))),
        _ => None,
    }
}
