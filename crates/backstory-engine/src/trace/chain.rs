//! From a commit to the merge request that introduced it, and from there to what was said.

use std::collections::BTreeSet;

use backstory_model::{
    commit::{ChangeStatus, Sha},
    document::commit_url,
    edge::Edge,
    entity::{Item, MergeRequest},
    id::{NodeId, ThreadId, ThreadKind},
    message,
    reference::Context,
    repository::CommitRecord,
    text::{snippet, words},
};
use backstory_store::graph::Direction;

use super::{
    Evidence, LineOrigin, Step, Trace, TraceNode,
    reasons::{discussions_about, issue_step, issues_of, solutions_of},
    target::resolve_place,
};
use crate::{
    error::{Error, Result},
    quarantine::parse_if_readable,
    read::{ledger_key, not_found},
    records::resolve_thread_kind,
    repository::{commit_record, repository_record},
    resources::Resources,
};

/// Merge requests of a commit that are followed.
const MAX_CARRIERS: usize = 2;
/// Deepest nesting of merges that is followed.
const MAX_MERGES: usize = 4;
/// Length of quoted text, in characters.
pub(super) const QUOTED: usize = 400;
/// Shortest word that tells one thing from another.
const MIN_WORD: usize = 4;

/// Words of the code that is asked about, by which texts about it are recognised.
pub(super) struct Words {
    words: BTreeSet<String>,
    symbol: Option<String>,
}

/// Words that stand in code of any kind.
const COMMON: &[&str] = &[
    "bool",
    "case",
    "char",
    "class",
    "const",
    "else",
    "enum",
    "false",
    "float",
    "from",
    "func",
    "function",
    "here",
    "impl",
    "import",
    "include",
    "int32",
    "int64",
    "interface",
    "long",
    "match",
    "none",
    "null",
    "package",
    "private",
    "public",
    "return",
    "self",
    "short",
    "size",
    "static",
    "string",
    "struct",
    "switch",
    "that",
    "then",
    "this",
    "true",
    "type",
    "uint32",
    "uint64",
    "unsigned",
    "void",
    "when",
    "while",
    "with",
];

impl Words {
    pub(super) fn of(text: &str, symbol: Option<&str>) -> Self {
        let telling = |word: &String| word.chars().count() >= MIN_WORD && !COMMON.contains(&word.as_str());
        let symbol = symbol.map(|symbol| symbol.rsplit(['.', ':']).next().unwrap_or(symbol).to_lowercase());
        Self { words: words(text).into_iter().filter(telling).collect(), symbol }
    }

    /// How many of the words a text has.
    pub(super) fn shared(&self, text: &str) -> usize {
        let found: BTreeSet<String> = words(text).into_iter().collect();
        self.words.intersection(&found).count()
    }

    /// Whether a text names the symbol.
    pub(super) fn names_symbol(&self, text: &str) -> bool {
        self.symbol.as_ref().is_some_and(|symbol| words(text).contains(symbol))
    }

    /// The words as a query.
    pub(super) fn query(&self) -> String {
        let mut query = self.words.iter().cloned().collect::<Vec<_>>().join(" ");
        if let Some(symbol) = &self.symbol {
            query.push(' ');
            query.push_str(symbol);
        }
        query
    }
}

/// A merge request that brought a commit.
pub(crate) struct Carrier {
    pub(crate) id: ThreadId,
    /// The commit it was merged as, if that is another.
    merge: Option<NodeId>,
    edge: Edge,
}

/// The merge requests that brought a commit, the nearest first.
pub(crate) fn merge_requests_introducing(resources: &Resources, project: &str, commit: Sha) -> Result<Vec<Carrier>> {
    let own = NodeId::commit(project, &commit.to_string());
    let mut found: Vec<Carrier> = Vec::new();
    let mut add = |carrier: Carrier| {
        if !found.iter().any(|known| known.id == carrier.id) {
            found.push(carrier);
        }
    };
    for id in merged_as(resources, &own)? {
        add(Carrier { id, merge: None, edge: Edge::MergedAs });
    }
    for id in resources.graph().nodes_with_property("headCommit", &commit.to_string())? {
        if let NodeId::Thread(id) = id
            && id.kind == ThreadKind::MergeRequest
            && is_merged(resources, &id)?
        {
            add(Carrier { id, merge: None, edge: Edge::PartOf });
        }
    }
    let mut commit = own;
    for _ in 0..MAX_MERGES {
        let merges = resources.graph().edges(&commit, Direction::Out, Some(Edge::MergedBy))?;
        let Some(merge) = merges.into_iter().next().map(|end| end.other) else { break };
        for id in merged_as(resources, &merge)? {
            add(Carrier { id, merge: Some(merge.clone()), edge: Edge::MergedAs });
        }
        commit = merge;
    }
    Ok(found)
}

fn merged_as(resources: &Resources, commit: &NodeId) -> Result<Vec<ThreadId>> {
    let edges = resources.graph().edges(commit, Direction::In, Some(Edge::MergedAs))?;
    Ok(edges
        .into_iter()
        .filter_map(|end| match end.other {
            NodeId::Thread(id) => Some(id),
            _ => None,
        })
        .collect())
}

fn is_merged(resources: &Resources, id: &ThreadId) -> Result<bool> {
    Ok(matches!(item_of_node(resources, &id.clone().into())?, Some(Item::MergeRequest(mr)) if mr.merged_at.is_some()))
}

/// The item that a node is.
pub(crate) fn item_of_node(resources: &Resources, id: &NodeId) -> Result<Option<Item>> {
    let Some((project, kind, key)) = ledger_key(id) else { return Ok(None) };
    Ok(resources.ledger().item(&project, kind, &key)?.and_then(|item| parse_if_readable(resources, &item)))
}

pub(super) fn follow_commit(
    resources: &Resources,
    project: &str,
    record: &CommitRecord,
    origins: &[LineOrigin],
    words: &Words,
    trace: &mut Trace,
) -> Result<()> {
    let own = commit_step(resources, project, record, origins, words)?;
    let id = own.node.id.clone();
    trace.add(own);
    if record.rewritten {
        trace.miss(format!("commit {} is on no indexed branch any more: history was rewritten", record.commit.sha));
    }
    let carriers = merge_requests_introducing(resources, project, record.commit.sha)?;
    if carriers.is_empty() {
        let short = &record.commit.sha.to_string()[..7];
        trace.miss(format!("commit {short} belongs to no merge request in the index"));
    }
    let mut concerned = vec![NodeId::commit(project, &record.commit.sha.to_string())];
    for carrier in carriers.into_iter().take(MAX_CARRIERS) {
        let mut from = id.clone();
        if let Some(merge) = &carrier.merge {
            if let Some(step) = merge_step(resources, project, merge, &from)? {
                trace.add(step);
            }
            from = merge.clone();
        }
        follow_merge_request(resources, &carrier, &from, origins, words, trace)?;
        concerned.push(carrier.id.into());
    }
    issues_of(resources, &concerned, words, trace)
}

pub(super) fn commit_step(
    resources: &Resources,
    project: &str,
    record: &CommitRecord,
    origins: &[LineOrigin],
    words: &Words,
) -> Result<Step> {
    let commit = &record.commit;
    let origin = origins.first();
    let change = commit
        .changes
        .iter()
        .find(|change| origin.is_some_and(|origin| change.path.as_str() == origin.path))
        .map(|change| change.status);
    let edge = match change {
        Some(ChangeStatus::Added | ChangeStatus::Copied) => Edge::Introduces,
        _ => Edge::Modifies,
    };
    let notes = message::design_notes(&commit.message);
    let body = message::Message::parse(&commit.message).body;
    // The reason that names the code, else the first reason, else the beginning.
    let best = notes.iter().max_by_key(|note| (words.shared(&note.text), std::cmp::Reverse(note.first_line)));
    let text = best.map_or(body.as_str(), |note| note.text.as_str());
    let node = commit_node(resources, project, record)?;
    Ok(Step {
        edge,
        from: None,
        evidence: Evidence {
            text: Some(snippet(text, &words.query(), QUOTED)).filter(|text| !text.is_empty()),
            url: node.url.clone(),
            path: origin.map(|origin| origin.path.clone()),
            lines: origin.map(|origin| (origin.line, origin.line + origin.lines - 1)),
            ..Evidence::default()
        },
        node,
        confidence: None,
    })
}

fn commit_node(resources: &Resources, project: &str, record: &CommitRecord) -> Result<TraceNode> {
    let repository = repository_record(resources, project)?;
    let sha = record.commit.sha.to_string();
    let url = repository.map(|repository| {
        commit_url(Context { forge: repository.forge, project, forge_url: &repository.forge_url }, &sha)
    });
    let id = NodeId::commit(project, &sha);
    Ok(TraceNode::new(id, record.commit.title(), url.filter(|url| !url.is_empty())))
}

fn merge_step(resources: &Resources, project: &str, merge: &NodeId, from: &NodeId) -> Result<Option<Step>> {
    let NodeId::Commit { sha, .. } = merge else { return Ok(None) };
    let Some(record) = commit_record(resources, project, sha)? else { return Ok(None) };
    let node = commit_node(resources, project, &record)?;
    let evidence = Evidence { url: node.url.clone(), ..Evidence::default() };
    Ok(Some(Step { edge: Edge::MergedBy, from: Some(from.clone()), node, evidence, confidence: None }))
}

fn follow_merge_request(
    resources: &Resources,
    carrier: &Carrier,
    from: &NodeId,
    origins: &[LineOrigin],
    words: &Words,
    trace: &mut Trace,
) -> Result<()> {
    let id: NodeId = carrier.id.clone().into();
    let Some(Item::MergeRequest(mr)) = item_of_node(resources, &id)? else {
        trace.miss(format!("merge request {id} carried it but is not in the index; sync its project to read it"));
        trace.add(Step {
            edge: carrier.edge,
            from: Some(from.clone()),
            node: TraceNode::new(id, String::new(), None),
            evidence: Evidence::default(),
            confidence: None,
        });
        return Ok(());
    };
    trace.add(merge_request_step(&mr, carrier.edge, Some(from), words));
    discussions_about(resources, &mr, origins, words, trace)
}

/// What is behind a node that is no code.
pub(super) fn trace_node(resources: &Resources, id: &NodeId) -> Result<Trace> {
    let mut trace = Trace { project: id.project().unwrap_or_default().to_owned(), ..Trace::default() };
    if let Ok(place) = resolve_place(resources, id.project(), None) {
        trace.indexed = place.indexed();
    }
    match &resolve_thread_kind(resources, id.clone())? {
        NodeId::Commit { project, sha } => {
            let record = commit_record(resources, project, sha)?.ok_or_else(|| not_found("commit", &id.to_string()))?;
            trace.rev = Some(record.commit.sha);
            let words = Words::of(record.commit.title(), None);
            follow_commit(resources, project, &record, &[], &words, &mut trace)?;
        }
        NodeId::Thread(thread) => trace_thread(resources, thread, &mut trace)?,
        NodeId::Discussion { thread, .. } | NodeId::Note { thread, .. } => trace_thread(resources, thread, &mut trace)?,
        other => {
            return Err(Error::invalid(format!("{other} has no reasons behind it"))
                .with_hint("ask about code, a commit, a merge request or an issue"));
        }
    }
    Ok(trace)
}

fn trace_thread(resources: &Resources, thread: &ThreadId, trace: &mut Trace) -> Result<()> {
    let id: NodeId = thread.clone().into();
    match item_of_node(resources, &id)? {
        Some(Item::MergeRequest(mr)) => {
            let words = Words::of(&mr.thread.title, None);
            trace.add(merge_request_step(&mr, Edge::MergedAs, None, &words));
            discussions_about(resources, &mr, &[], &words, trace)?;
            issues_of(resources, &[id], &words, trace)
        }
        Some(Item::Issue(issue)) => {
            let words = Words::of(&issue.thread.title, None);
            trace.add(issue_step(&issue, Edge::References, None, &words));
            solutions_of(resources, &id, &words, trace)
        }
        _ => Err(not_found("issue or merge request", &id.to_string())),
    }
}

pub(super) fn merge_request_node(mr: &MergeRequest) -> TraceNode {
    TraceNode::new(mr.id.clone().into(), &*mr.thread.title, Some(mr.thread.web_url.clone()))
}

fn merge_request_step(mr: &MergeRequest, edge: Edge, from: Option<&NodeId>, words: &Words) -> Step {
    Step {
        edge,
        from: from.cloned(),
        node: merge_request_node(mr),
        evidence: Evidence {
            text: Some(snippet(&mr.thread.description, &words.query(), QUOTED)).filter(|text| !text.is_empty()),
            url: Some(mr.thread.web_url.clone()),
            ..Evidence::default()
        },
        confidence: None,
    }
}
