//! Makes questions from the project itself, with what answers them.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    edge::Edge,
    entity::{Item, ItemKind, State, Thread},
    eval::{MAX_PAIRS, Pair, PairKind, PairSource, pairs},
    filter::Filter,
    id::{NodeId, ThreadId},
};
use backstory_store::graph::Direction;
use serde::{Deserialize, Serialize};

use crate::{
    catalog::project_of_questions,
    error::{Error, Result},
    read::{load_discussions, load_edges, project_parts},
    resources::Resources,
    use_case::{UseCase, Weight},
};

/// What the drawing of questions begins with.
const SEED: u64 = 0x9a17;
/// Most issues and merge requests that questions are made from, those with the lowest numbers.
const MAX_SOURCES: usize = 20_000;
/// Documents with an identifier that are looked at, to see whether other stories have it too.
const MAX_WITH_IDENTIFIER: usize = 20;
/// How many more questions are made than wanted, as some have answers elsewhere.
const SPARE: usize = 2;

/// Makes questions from a project, each with what answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairRequest {
    /// Full path of the project; may be absent where there is only one.
    pub project: Option<String>,
    /// Most questions, 1 to [`MAX_PAIRS`].
    pub count: usize,
}

impl UseCase for PairRequest {
    const NAME: &'static str = "question-pairs";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Vec<Pair>;

    async fn run(self, resources: &Resources) -> Result<Vec<Pair>> {
        question_pairs(resources, self.project.as_deref(), self.count).await
    }
}

/// At most `count` questions about a project, the same every time, each with the issues, merge requests and commits
/// that answer it.
///
/// # Errors
/// There is no such project, the count is 0 or above [`MAX_PAIRS`], or a store failed.
async fn question_pairs(resources: &Resources, project: Option<&str>, count: usize) -> Result<Vec<Pair>> {
    if count == 0 || count > MAX_PAIRS {
        return Err(Error::invalid(format!("{count} pairs were asked for; it must be 1 to {MAX_PAIRS}")));
    }
    let project = project_of_questions(resources, project).await?;
    let sources = pair_sources(resources, &project).await?;
    let mut kept = Vec::new();
    for mut pair in pairs(&sources, count.saturating_mul(SPARE).min(MAX_PAIRS), SEED) {
        if kept.len() == count {
            break;
        }
        add_commits(resources, &project, &mut pair).await?;
        if pair.kind != PairKind::Identifier || is_only_there(resources, &project, &pair).await? {
            kept.push(pair);
        }
    }
    Ok(kept)
}

/// What questions can be made from.
async fn pair_sources(resources: &Resources, project: &str) -> Result<Vec<PairSource>> {
    let mut threads: Vec<(ThreadId, Thread)> = Vec::new();
    for kind in [ItemKind::Issue, ItemKind::MergeRequest] {
        let parts = project_parts(resources, kind, BTreeSet::from([project.to_owned()])).await?;
        threads.extend(parts.into_values().flatten().filter_map(|item| match item {
            Item::Issue(issue) => Some((issue.id, issue.thread)),
            Item::MergeRequest(mr) => Some((mr.id, mr.thread)),
            _ => None,
        }));
    }
    threads.sort_by(|a, b| a.0.cmp(&b.0));
    threads.truncate(MAX_SOURCES);
    let ids: Vec<ThreadId> = threads.iter().map(|(id, _)| id.clone()).collect();
    let mut notes = load_discussions(resources, ids.clone()).await?;
    let nodes = ids.into_iter().map(NodeId::Thread).collect();
    let closed = load_edges(resources, nodes, Direction::Out, Some(Edge::Closes)).await?;
    let source = |((id, thread), edges): ((ThreadId, Thread), Vec<_>)| {
        let said = notes.remove(&id).unwrap_or_default().into_iter().flat_map(|discussion| discussion.notes);
        let texts = std::iter::once(thread.description).chain(said.map(|note| note.body)).collect();
        let issue = |end: backstory_store::graph::AdjacentEdge| match end.other {
            NodeId::Thread(issue) if issue.project == project => Some(issue),
            _ => None,
        };
        let closes = edges.into_iter().filter_map(issue).collect();
        PairSource { id, title: thread.title, texts, closes, closed: thread.state == State::Closed }
    };
    Ok(threads.into_iter().zip(closed).map(source).collect())
}

/// The commits of a story say the same once more.
async fn add_commits(resources: &Resources, project: &str, pair: &mut Pair) -> Result<()> {
    let nodes: Vec<NodeId> = pair.evidence.iter().filter_map(|id| id.parse().ok()).collect();
    let mut commits = BTreeSet::new();
    for direction in [Direction::Out, Direction::In] {
        let edges = load_edges(resources, nodes.clone(), direction, None).await?;
        let ends = edges.into_iter().flatten().map(|end| end.other);
        let own = |end: &NodeId| matches!(end, NodeId::Commit { project: of, .. } if of == project);
        commits.extend(ends.filter(own).map(|commit| commit.to_string()));
    }
    // A merge that carried a request brought commits of its own.
    let merges: Vec<NodeId> = commits.iter().filter_map(|id| id.parse().ok()).collect();
    let brought = load_edges(resources, merges, Direction::In, Some(Edge::MergedBy)).await?;
    commits.extend(brought.into_iter().flatten().map(|end| end.other.to_string()));
    pair.evidence.extend(commits);
    Ok(())
}

/// Whether no document beside the evidence has the identifier that a question is about.
async fn is_only_there(resources: &Resources, project: &str, pair: &Pair) -> Result<bool> {
    let identifier = pair.question.trim_end_matches('?').rsplit(' ').next().unwrap_or_default();
    let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
    let index = resources.index();
    let hits = index.search_text(identifier, &filter, MAX_WITH_IDENTIFIER).await?;
    let ids: Vec<String> = hits.into_iter().map(|hit| hit.document).collect();
    let wholes: BTreeMap<String, String> = index
        .facts(ids.iter().map(String::as_str))
        .into_iter()
        .map(|(id, facts)| (id.to_owned(), facts.thread.to_string()))
        .collect();
    let elsewhere = |id: &String| wholes.get(id).is_none_or(|whole| !pair.evidence.contains(whole));
    let others: Vec<String> = ids.iter().filter(|id| elsewhere(id)).cloned().collect();
    Ok(!index.documents(&others).await?.iter().any(|document| document.text.contains(identifier)))
}
