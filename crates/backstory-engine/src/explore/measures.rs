//! How sure an edge is: how it was found, how likely it is, on how many observations it rests, and since when it can hold.

use std::collections::{HashMap, hash_map::Entry};

use backstory_model::{
    edge::Edge,
    entity::{Item, ItemKind},
    id::{NodeId, ThreadId},
    repository::{CodeLinkKind, Record, ResolvedFileLinks},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::GraphEdge;
use crate::{
    co_changes::{co_changes_in, code_key_of},
    error::Result,
    read::{discussions_of, item_of_node},
    records::{commit_record, parse_if_readable},
    resources::Resources,
};

/// How sure an edge is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EdgeMeasure {
    /// How it was found.
    pub method: EdgeMethod,
    /// How likely it is, 0 to 1; of co-change, the share of the first's changes. `None` if it was stated.
    pub confidence: Option<f32>,
    /// Commits in which both changed; `None` unless it is found by co-change.
    pub support: Option<u32>,
    /// When the younger of its ends came into being, from when on it can hold; `None` if neither end tells.
    pub since: Option<Timestamp>,
}

/// How an edge was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EdgeMethod {
    /// Somebody stated it, at the forge or in the repository.
    Stated,
    /// By the names of definitions, imports and test files.
    Names,
    /// By commits that change both.
    CoChange,
    /// By names and addresses of people.
    Identity,
    /// By words, names, people and time: it is inferred that a change has to do with an issue.
    Similarity,
}

impl EdgeMethod {
    /// How edges of a type are found, but for links that are inferred.
    pub fn of_edge(edge: Edge) -> Self {
        match edge {
            Edge::Calls | Edge::Imports | Edge::Extends | Edge::Implements | Edge::VerifiedBy => Self::Names,
            Edge::CoEvolvesWith => Self::CoChange,
            Edge::SameAs => Self::Identity,
            _ => Self::Stated,
        }
    }
}

/// Measures edges, in their order.
///
/// # Errors
/// A store cannot be read.
pub(crate) async fn measure_edges(resources: &Resources, edges: Vec<GraphEdge>) -> Result<Vec<EdgeMeasure>> {
    resources
        .blocking(move |resources| {
            let mut meter = Meter { resources, times: HashMap::new(), links: HashMap::new() };
            edges.iter().map(|edge| meter.measure(edge)).collect()
        })
        .await
}

struct Meter<'a> {
    resources: &'a Resources,
    /// When nodes came into being.
    times: HashMap<NodeId, Option<Timestamp>>,
    /// What was found about files by names.
    links: HashMap<NodeId, Option<ResolvedFileLinks>>,
}

impl Meter<'_> {
    fn measure(&mut self, edge: &GraphEdge) -> Result<EdgeMeasure> {
        let method = EdgeMethod::of_edge(edge.edge);
        let (confidence, support) = match method {
            EdgeMethod::CoChange => self.co_change(edge)?,
            EdgeMethod::Names => (self.confidence_of_names(edge)?, None),
            EdgeMethod::Stated | EdgeMethod::Identity | EdgeMethod::Similarity => (None, None),
        };
        let since = self.time(&edge.from)?.max(self.time(&edge.to)?);
        Ok(EdgeMeasure { method, confidence, support, since })
    }

    fn co_change(&self, edge: &GraphEdge) -> Result<(Option<f32>, Option<u32>)> {
        let (Some(project), Some(first), Some(second)) =
            (edge.from.project(), code_key_of(&edge.from), code_key_of(&edge.to))
        else {
            return Ok((None, None));
        };
        let table = co_changes_in(self.resources, project)?;
        let pair = table.partners(&first).iter().find(|pair| pair.second == second);
        Ok((pair.map(|pair| pair.confidence), pair.map(|pair| pair.support)))
    }

    fn confidence_of_names(&mut self, edge: &GraphEdge) -> Result<Option<f32>> {
        let (Some((file, from)), Some((NodeId::File { path: target, .. }, to))) =
            (code_place(&edge.from), code_place(&edge.to))
        else {
            return Ok(None);
        };
        let Some(found) = self.links_of(file)? else { return Ok(None) };
        if edge.edge == Edge::VerifiedBy {
            let test = found.tests.iter().find(|test| test.path == target);
            return Ok(test.map(|test| test.confidence));
        }
        let is_kind = |kind: CodeLinkKind| match kind {
            CodeLinkKind::Calls => edge.edge == Edge::Calls,
            CodeLinkKind::Imports => edge.edge == Edge::Imports,
            CodeLinkKind::Extends => edge.edge == Edge::Extends,
            CodeLinkKind::Implements => edge.edge == Edge::Implements,
        };
        let links = found.links.iter();
        let same = links.filter(|link| is_kind(link.kind) && link.path == target && link.from == from && link.to == to);
        Ok(same.map(|link| link.confidence).max_by(f32::total_cmp))
    }

    fn links_of(&mut self, file: NodeId) -> Result<Option<&ResolvedFileLinks>> {
        let slot = match self.links.entry(file) {
            Entry::Occupied(known) => return Ok(known.into_mut().as_ref()),
            Entry::Vacant(slot) => slot,
        };
        let NodeId::File { project, path } = slot.key() else { return Ok(None) };
        let stored = self.resources.ledger().item(project, ItemKind::FileLinks, path)?;
        let found = stored.and_then(|item| match parse_if_readable(self.resources, &item)? {
            Item::Repository(of) => match of.record {
                Record::FileLinks(_, links) => Some(links),
                _ => None,
            },
            _ => None,
        });
        Ok(slot.insert(found).as_ref())
    }

    /// When a node came into being, if it tells.
    fn time(&mut self, id: &NodeId) -> Result<Option<Timestamp>> {
        if let Some(known) = self.times.get(id) {
            return Ok(*known);
        }
        let time = match id {
            NodeId::Commit { project, sha } => {
                commit_record(self.resources, project, sha)?.map(|record| record.commit.committer.at)
            }
            NodeId::Thread(_) => match item_of_node(self.resources, id)? {
                Some(Item::Issue(issue)) => Some(issue.thread.created_at),
                Some(Item::MergeRequest(mr)) => Some(mr.thread.created_at),
                _ => None,
            },
            NodeId::Discussion { thread, id } => self.note_time(thread, |discussion, _| discussion == id)?,
            NodeId::Note { thread, id } => self.note_time(thread, |_, note| note == *id)?,
            _ => None,
        };
        self.times.insert(id.clone(), time);
        Ok(time)
    }

    /// When the first note was written of whose discussion and number something is true.
    fn note_time(&self, thread: &ThreadId, is_it: impl Fn(&str, u64) -> bool) -> Result<Option<Timestamp>> {
        let discussions = discussions_of(self.resources, thread)?;
        let mut notes = discussions.iter().flat_map(|of| of.notes.iter().map(|note| (of.id.as_str(), note)));
        Ok(notes.find(|(discussion, note)| is_it(discussion, note.id)).map(|(_, note)| note.created_at))
    }
}

/// The file that a node is, or is in, and its name there if it is an entity.
fn code_place(id: &NodeId) -> Option<(NodeId, Option<String>)> {
    match id {
        NodeId::File { .. } => Some((id.clone(), None)),
        NodeId::Entity { project, path, name } => Some((NodeId::file(project, path), Some(name.clone()))),
        _ => None,
    }
}
