//! Applies the filter of a request to what comes from traces, links and records instead of a search.

use backstory_model::{edge::Edge, filter::Filter, id::NodeId, repository::CommitRecord};
use backstory_store::index::StoredDocument;
use jiff::Timestamp;

use crate::{error::Result, records::commit_record, resources::Resources, search::PreparedFilter, trace::Step};

/// The conditions of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct PackConditions {
    /// All but the project, which a chain may leave.
    filter: Filter,
    /// The same for documents,
    of_documents: PreparedFilter,
    /// and for those of any kind.
    of_any_kind: PreparedFilter,
    /// Beginnings of paths, of which a change that is shown has one; any if empty.
    paths: Vec<String>,
}

impl PackConditions {
    pub(super) fn of(filter: &Filter, path: Option<&String>) -> Self {
        let paths = path.map_or_else(|| filter.paths.clone(), |path| vec![path.clone()]);
        let filter = Filter { project: None, projects: Vec::new(), ..filter.clone() };
        let of_documents = PreparedFilter::of(&filter);
        let of_any_kind = PreparedFilter::of(&Filter { kinds: Vec::new(), ..filter.clone() });
        Self { filter, of_documents, of_any_kind, paths }
    }

    /// Whether a change of a file may be shown.
    pub(super) fn shows_change_of(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|beginning| path.starts_with(beginning.as_str()))
    }

    /// Whether it lets everything through.
    pub(super) fn is_open(&self) -> bool {
        self.filter == Filter::default()
    }

    /// Whether a time is within what was asked for.
    pub(super) fn within(&self, at: Timestamp) -> bool {
        self.filter.after.is_none_or(|after| at >= after) && self.filter.before.is_none_or(|before| at < before)
    }

    /// Whether a document meets all conditions.
    pub(super) fn meets(&self, document: &StoredDocument) -> bool {
        self.of_documents.is_met_by(&document.id, &document.facts)
    }

    /// Whether a part of a document that meets all conditions meets them too, of whatever kind it is.
    pub(super) fn meets_as_part(&self, document: &StoredDocument) -> bool {
        self.of_any_kind.is_met_by(&document.id, &document.facts)
    }
}

/// Whether a commit meets the conditions, of which the kind of document is none: it stands for its changes.
pub(super) fn accepts_commit(
    resources: &Resources,
    narrowing: &PackConditions,
    id: &str,
    record: &CommitRecord,
) -> bool {
    if narrowing.is_open() {
        return true;
    }
    // A merge that only repeats its request has no document.
    let own = resources.index().facts([id]).get(id).map(|facts| narrowing.of_any_kind.is_met_by(id, facts));
    own.unwrap_or_else(|| narrowing.within(record.commit.author.at))
}

/// Whether a step without a document meets the conditions: of such only merges are known well enough.
pub(super) fn accepts_step(resources: &Resources, narrowing: &PackConditions, step: &Step) -> Result<bool> {
    let NodeId::Commit { project, sha } = &step.node.id else { return Ok(false) };
    let record = commit_record(resources, project, sha)?;
    let lets = |record| accepts_commit(resources, narrowing, &step.node.id.to_string(), &record);
    Ok(step.edge == Edge::MergedBy && record.is_some_and(lets))
}
