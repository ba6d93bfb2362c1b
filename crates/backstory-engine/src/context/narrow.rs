//! Applies the filter of a request to what comes from traces, links and records instead of a search.

use backstory_model::{edge::Edge, filter::Filter, id::NodeId, repository::CommitRecord};
use backstory_store::index::StoredDocument;
use jiff::Timestamp;

use super::{About, ContextRequest, evidence::Evidence};
use crate::{
    error::Result,
    repository::commit_record,
    resources::Resources,
    search::meets,
    trace::{LineOrigin, Step, Target, Trace},
};

/// The conditions of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct PackConditions {
    /// All but the project, which a chain may leave.
    filter: Filter,
}

impl PackConditions {
    pub(super) fn of(filter: &Filter) -> Self {
        Self { filter: Filter { project: None, ..filter.clone() } }
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
        meets(&self.filter, &document.id, &document.facts)
    }

    /// Whether a part of a document that meets all conditions meets them too, of whatever kind it is.
    pub(super) fn meets_as_part(&self, document: &StoredDocument) -> bool {
        let filter = Filter { kinds: vec![], ..self.filter.clone() };
        meets(&filter, &document.id, &document.facts)
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
    let filter = Filter { kinds: vec![], ..narrowing.filter.clone() };
    // A merge that only repeats its request has no document.
    let own = resources.index().facts([id]).get(id).map(|facts| meets(&filter, id, facts));
    own.unwrap_or_else(|| narrowing.within(record.commit.author.at))
}

/// Leaves out of a trace what does not meet the conditions, but not what was asked about, and notes that.
pub(super) async fn apply_conditions(
    resources: &Resources,
    request: &ContextRequest,
    evidence: &mut Evidence,
) -> Result<()> {
    let narrowing = evidence.narrowing.clone();
    let Some(trace) = evidence.trace.as_mut().filter(|_| !narrowing.is_open()) else { return Ok(()) };
    let ids: Vec<String> = trace.chain.iter().map(|step| step.node.id.to_string()).collect();
    let documents = resources.index().documents(&ids).await?;
    let before = trace.chain.len();
    let asked = match &request.about {
        About::Target { target: Target::Node(id), .. } => Some(id.clone()),
        _ => None,
    };
    let (kept, chain) = (narrowing.clone(), std::mem::take(&mut trace.chain));
    let narrowed = move |resources: &Resources| {
        let mut narrowed = Vec::new();
        for step in chain {
            let id = step.node.id.to_string();
            let meets = match documents.iter().find(|document| document.id == id) {
                Some(document) => kept.meets(document),
                None => accepts_step(resources, &kept, &step)?,
            };
            if meets || asked.as_ref() == Some(&step.node.id) {
                narrowed.push(step);
            }
        }
        Ok(narrowed)
    };
    trace.chain = resources.blocking(narrowed).await?;
    evidence.lines_left_out = narrow_lines(trace, &narrowing);
    match before - trace.chain.len() {
        0 => {}
        1 => evidence.warnings.push("1 item behind it does not meet the filters and is left out".to_owned()),
        many => evidence.warnings.push(format!("{many} items behind it do not meet the filters and are left out")),
    }
    Ok(())
}

/// Whether a step without a document meets the conditions: of such only merges are known well enough.
fn accepts_step(resources: &Resources, narrowing: &PackConditions, step: &Step) -> Result<bool> {
    let NodeId::Commit { project, sha } = &step.node.id else { return Ok(false) };
    let record = commit_record(resources, project, sha)?;
    let lets = |record| accepts_commit(resources, narrowing, &step.node.id.to_string(), &record);
    Ok(step.edge == Edge::MergedBy && record.is_some_and(lets))
}

/// Leaves lines and earlier versions of them out that were not written in time; says how many of the lines.
fn narrow_lines(trace: &mut Trace, narrowing: &PackConditions) -> u32 {
    let count = |origins: &[LineOrigin]| origins.iter().map(|origin| origin.lines).sum::<u32>();
    let all = count(&trace.origins);
    trace.origins.retain(|origin| narrowing.within(origin.date));
    trace.earlier.retain(|version| narrowing.within(version.date));
    if !trace.origin.as_ref().is_some_and(|origin| narrowing.within(origin.date)) {
        let lines_of = |commit| trace.origins.iter().filter(|of| of.commit == commit).map(|of| of.lines).sum::<u32>();
        // Of equal ones the first.
        trace.origin = trace.origins.iter().rev().max_by_key(|origin| lines_of(origin.commit)).cloned();
        if let Some(commit) = trace.origin.as_ref().map(|origin| origin.commit) {
            trace.origin = trace.origins.iter().find(|origin| origin.commit == commit).cloned();
        }
    }
    all - count(&trace.origins)
}
