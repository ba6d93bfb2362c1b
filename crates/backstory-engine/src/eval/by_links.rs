//! The graph as a retriever: what it leads to from the line or symbol of a question, or from the first results of
//! search.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    commit::RepoPath,
    eval::Question,
    id::NodeId,
    score::{RRF_K, sorted},
};
use backstory_store::{graph::Direction, index::StoredDocument};

use super::{
    MAX_DEPTH,
    by_search::{Found, retrieve_by_search},
};
use crate::{
    error::{ErrorKind, Result},
    read::load_edges,
    resources::Resources,
    search::Mode,
    trace::{
        Target, Trace, TraceRequest,
        target::{find_symbol, resolve_place},
        trace_origin,
    },
};

/// Results of search from which links are followed.
const CANDIDATES: usize = 10;
/// Links that are followed from one of them, in each direction.
const MAX_LINKS: usize = 500;
/// Largest file in which a line is looked for, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Merge requests and issues that a trace of the line or symbol tells, in its order; of a question about neither,
/// what the first results of search are linked to.
pub(super) async fn retrieve_by_links(
    resources: &Resources,
    project: &str,
    question: &Question,
    warnings: &mut BTreeSet<String>,
) -> Result<Vec<Found>> {
    match find_target(resources, project, question).await? {
        Some(target) => {
            let request = TraceRequest { project: Some(project.to_owned()), target, rev: None, earlier: 0 };
            Ok(told(&trace_origin(resources, request).await?))
        }
        None => {
            if let Some(path) = &question.path {
                warnings.insert(format!("question {}: what it is about is not in {path} any more", question.id));
            }
            neighbors(resources, project, &question.question, warnings).await
        }
    }
}

/// The first line with that text in the file at the indexed head, else the symbol, if they are there.
async fn find_target(resources: &Resources, project: &str, question: &Question) -> Result<Option<Target>> {
    let Some(path) = question.path.clone() else { return Ok(None) };
    let project = project.to_owned();
    let (line, symbol) = (question.line_text.clone(), question.symbol.clone());
    resources
        .blocking(move |resources| {
            let place = resolve_place(resources, Some(&project), None)?;
            if let Some(wanted) = line {
                let bytes = match place.objects.file(place.commit, &RepoPath::from_escaped(&path), MAX_BYTES) {
                    Ok(bytes) => bytes,
                    Err(_) => return Ok(None),
                };
                let text = String::from_utf8_lossy(&bytes);
                let at = text.lines().position(|line| line.trim() == wanted.trim());
                if let Some(line) = at.and_then(|at| u32::try_from(at + 1).ok()) {
                    return Ok(Some(Target::Lines { path, lines: Some((line, line)) }));
                }
            }
            let Some(name) = symbol else { return Ok(None) };
            match find_symbol(resources, &place, &path, &name) {
                Ok(_) => Ok(Some(Target::Symbol { path, name })),
                Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        })
        .await
}

/// A step of a walk from the first results of search, each as likely as its rank makes it, along any of its links.
async fn neighbors(
    resources: &Resources,
    project: &str,
    question: &str,
    warnings: &mut BTreeSet<String>,
) -> Result<Vec<Found>> {
    let candidates =
        retrieve_by_search(resources, project, question, (Mode::Hybrid, None), CANDIDATES, warnings).await?;
    let nodes: Vec<NodeId> = candidates.iter().filter_map(|found| found.id.parse().ok()).collect();
    let leaving = load_edges(resources, nodes.clone(), Direction::Out, None).await?;
    let arriving = load_edges(resources, nodes, Direction::In, None).await?;
    let mut scores: BTreeMap<String, f32> = BTreeMap::new();
    for ((rank, leaving), arriving) in (1u16..).zip(leaving).zip(arriving) {
        let edges = leaving.into_iter().take(MAX_LINKS).chain(arriving.into_iter().take(MAX_LINKS));
        let ends = edges.map(|end| match end.other {
            NodeId::Discussion { thread, .. } | NodeId::Note { thread, .. } => NodeId::Thread(thread),
            other => other,
        });
        let ends: BTreeSet<NodeId> = ends.filter(is_story).collect();
        for end in &ends {
            *scores.entry(end.to_string()).or_default() += 1.0 / (RRF_K + f32::from(rank)) / ends.len() as f32;
        }
    }
    let index = resources.index();
    let known = index.facts(scores.keys().map(String::as_str));
    let of_project = |id: &String| known.get(id.as_str()).is_some_and(|facts| &*facts.project == project);
    let ranked = sorted(scores.iter().filter(|(id, _)| of_project(id)).map(|(id, score)| (id.clone(), *score)));
    let ids: Vec<String> = ranked.iter().take(MAX_DEPTH).map(|(id, _)| id.clone()).collect();
    let documents = index.documents(&ids).await?;
    let scored = documents.into_iter().map(|document| {
        let score = scores.get(&document.id).copied().unwrap_or_default();
        found(document, score)
    });
    Ok(scored.collect())
}

/// Whether a node is what people wrote and not code: that is what questions are answered by.
fn is_story(node: &NodeId) -> bool {
    matches!(node, NodeId::Thread(_) | NodeId::Commit { .. })
}

fn found(document: StoredDocument, score: f32) -> Found {
    let nodes = document.id.parse().into_iter().collect();
    Found { id: document.id, title: document.title, score: f64::from(score), nodes }
}

/// The merge requests and issues of a trace.
fn told(trace: &Trace) -> Vec<Found> {
    let nodes = trace.chain.iter().map(|step| &step.node).filter(|node| matches!(node.id, NodeId::Thread(_)));
    let found = |(rank, node): (u16, &crate::trace::TraceNode)| Found {
        id: node.id.to_string(),
        title: node.title.clone(),
        score: 1.0 / f64::from(rank),
        nodes: vec![node.id.clone()],
    };
    (1u16..).zip(nodes).take(MAX_DEPTH).map(found).collect()
}
