//! Makes questions from the project itself, with what answers them.

use std::collections::BTreeSet;

use backstory_model::{
    edge::Edge,
    entity::{Item, ItemKind, State, Thread},
    eval::{MAX_PAIRS, Pair, PairKind, PairSource, pairs},
    filter::Filter,
    id::{NodeId, ThreadId},
    question::Question,
    sentence::{split_sentences, stems},
    text::stem,
};
use backstory_store::{graph::Direction, index::StoredDocument};
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
/// Documents that are looked at, to see whether other stories answer too.
const MAX_ELSEWHERE: usize = 40;
/// How many more questions are made than wanted, as some have answers elsewhere.
const SPARE: usize = 2;

/// Makes questions from a project, each with what answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairRequest {
    /// Full path of the project; may be absent where there is only one.
    pub project: Option<String>,
    /// Most questions, 1 to 1,000.
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
        let is_only_there = match pair.kind {
            PairKind::Identifier => is_identifier_only_there(resources, &project, &pair).await?,
            PairKind::Title => is_title_only_there(resources, &project, &pair).await?,
            _ => true,
        };
        if is_only_there {
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

/// Whether no document beside the evidence has the identifier that a question is about, in whatever case and number: who asks
/// about `XoShiRo256` is answered by what says `xoshiro256`.
async fn is_identifier_only_there(resources: &Resources, project: &str, pair: &Pair) -> Result<bool> {
    let identifier = pair.question.trim_end_matches('?').rsplit(' ').next().unwrap_or_default();
    let others = documents_elsewhere(resources, project, pair, identifier).await?;
    let stem = stem(&identifier.to_lowercase());
    Ok(!others.iter().any(|document| document.text.contains(identifier) || stems(&document.text).contains(&stem)))
}

/// Whether no passage beside the evidence has every word of a question that is made from a title: `Why was a typo fixed?`
/// is answered in many places.
async fn is_title_only_there(resources: &Resources, project: &str, pair: &Pair) -> Result<bool> {
    let question = Question::parse(&pair.question);
    let says_all = |document: &StoredDocument| {
        let title = stems(&document.title);
        let pieces = split_sentences(&document.text);
        let mut windows = (0..pieces.len())
            .map(|at| pieces[at.saturating_sub(1)].range.start..pieces[(at + 1).min(pieces.len() - 1)].range.end);
        windows.any(|bytes| {
            let found = stems(&document.text[bytes]).union(&title).cloned().collect();
            question.found_in(&found).into_iter().all(|found| found)
        })
    };
    let others = documents_elsewhere(resources, project, pair, &pair.question).await?;
    Ok(!others.iter().any(says_all))
}

/// The documents beside the evidence that a text search finds first.
async fn documents_elsewhere(
    resources: &Resources,
    project: &str,
    pair: &Pair,
    query: &str,
) -> Result<Vec<StoredDocument>> {
    let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
    let index = resources.index();
    let hits = index.search_text(query, &filter, MAX_ELSEWHERE).await?;
    let ids: Vec<String> = hits.into_iter().map(|hit| hit.document).collect();
    let mut documents = index.documents(&ids).await?;
    documents.retain(|document| !pair.evidence.iter().any(|id| **id == *document.facts.thread));
    Ok(documents)
}
