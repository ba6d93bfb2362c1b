//! Gathers the evidence for a context pack: the chain of a trace, the hits of a search, and what is directly linked to
//! the best of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use backstory_model::{
    document_type::DocumentType,
    edge::Edge,
    filter::{DocumentKind, Filter},
    id::{NodeId, NodeKind, ThreadKind},
    pack::{Mode as PackMode, QuestionTerms},
    question::Question,
};
use backstory_store::{graph::Direction, index::StoredDocument};

use super::{
    About, ContextRequest,
    conditions::{PackConditions, accepts_step},
    evidence::{Evidence, Found, short_node, short_reference},
};
use crate::{
    error::Result,
    introduction::merge_requests_introducing,
    records::commit_record,
    resources::Resources,
    search::{Expansion, Hit, MAX_QUERY, SearchRequest, expand_author_names, search_for_context},
    snapshot::IndexState,
    trace::{LineOrigin, Step, Target, Trace, TraceRequest, trace_origin},
};

/// Tokens of the budget for each hit of the search that is looked at.
pub(super) const TOKENS_PER_HIT: usize = 200;

/// Fewest and most hits that are looked at.
const SEARCHED: (usize, usize) = (12, 50);

/// Earlier versions of lines that are told.
const EARLIER: usize = 5;

/// Issues and merge requests whose links are followed.
const FOLLOWED: usize = 5;

/// Linked items that are added.
const MAX_LINKED: usize = 8;

/// What a linked item is worth of that which led to it.
const LINKED: f32 = 0.7;

/// What a hit of the search is worth where the question was about code: the trace knows better.
const BESIDE_TRACE: f32 = 0.6;

/// What each step of a trace is worth less than the one before it, and the least.
const STEP: (f32, f32) = (0.03, 0.7);

/// Fewest content words of a title that is searched for beside the code that it changed.
const MIN_TITLE: usize = 2;

/// What a part of a hit is worth of the whole.
const PART: f32 = 0.95;

/// Gathers evidence, of the search so many hits, at least and at most [`SEARCHED`].
pub(super) async fn gather_evidence(
    resources: &Resources,
    request: &ContextRequest,
    state: &IndexState,
    hits: usize,
) -> Result<Evidence> {
    let trace = match &request.about {
        About::Query(_) => None,
        About::Target { target, rev } => {
            let of_target = match target {
                Target::Node(id) => id.project(),
                Target::Lines { .. } | Target::Symbol { .. } => None,
            };
            let project = request.filter.project.as_deref().or(of_target);
            let request = TraceRequest {
                project: request.filter.project.clone(),
                target: target.clone(),
                rev: rev.clone().or_else(|| shown_commit(resources, project)),
                earlier: EARLIER,
            };
            Some(trace_origin(resources, request).await?)
        }
    };
    // The search does the same, and warns of names that nothing has.
    let mut filter = request.filter.clone();
    expand_author_names(resources, &mut filter).await?;
    let of_state = |trace: &Trace| state.commits.get(&trace.project).and_then(|commit| commit.parse().ok());
    let at_head = trace.as_ref().is_none_or(|trace| trace.rev.is_none() || trace.rev == of_state(trace));
    let mut evidence = Evidence {
        question: String::new(),
        terms: QuestionTerms::default(),
        asked: QuestionTerms::default(),
        trace,
        found: vec![],
        warnings: vec![],
        merged_as: BTreeMap::new(),
        coverage: state.coverage.clone(),
        at_head,
        narrowing: PackConditions::of(&filter, request.path.as_ref()),
        missing: None,
        lines_left_out: 0,
    };
    apply_conditions(resources, request, &mut evidence).await?;
    // Once it is narrowed: what is left out is not searched for.
    let question = match (&request.about, &evidence.trace) {
        (About::Query(query), _) => query.clone(),
        (About::Target { target, .. }, Some(trace)) => question_of(target, trace),
        (About::Target { .. }, None) => String::new(),
    };
    let code = evidence.trace.as_ref().and_then(|trace| trace.text.as_deref()).unwrap_or_default();
    evidence.terms = QuestionTerms::of(&format!("{question} {code}"));
    evidence.asked = QuestionTerms::of(&question);
    evidence.question = question;
    if request.mode == PackMode::All {
        add_chain(resources, &mut evidence).await?;
    }
    add_hits(resources, request, hits.clamp(SEARCHED.0, SEARCHED.1), &mut evidence).await?;
    if request.mode == PackMode::All && request.path.is_none() {
        add_linked(resources, &mut evidence).await?;
    }
    Ok(evidence)
}

/// The commit of a project at the state that is shown, if that is another than the current one.
fn shown_commit(resources: &Resources, project: Option<&str>) -> Option<String> {
    let state = resources.state()?;
    match project {
        Some(project) => state.commits.get(project).cloned(),
        None => state.commits.values().next().filter(|_| state.commits.len() == 1).cloned(),
    }
}

/// The items that the trace went along.
async fn add_chain(resources: &Resources, evidence: &mut Evidence) -> Result<()> {
    let Some(trace) = &evidence.trace else { return Ok(()) };
    let ids: Vec<String> = trace.chain.iter().map(|step| step.node.id.to_string()).collect();
    let documents = resources.index().documents(&ids).await?;
    for (at, step) in trace.chain.iter().enumerate() {
        let id = step.node.id.to_string();
        let Some(document) = documents.iter().find(|document| document.id == id) else { continue };
        let relevance = (1.0 - STEP.0 * at as f32).max(STEP.1);
        evidence.found.push(Found {
            document_type: DocumentType::classify(document.facts.kind, None),
            document: document.clone(),
            relevance,
            hint: step.evidence.text.clone(),
            by_meaning: false,
            links: link_of(step),
        });
    }
    Ok(())
}

/// What search finds, within what the request allows.
async fn add_hits(
    resources: &Resources,
    request: &ContextRequest,
    wanted: usize,
    evidence: &mut Evidence,
) -> Result<()> {
    let Some(filter) = filter_of(request) else { return Ok(()) };
    if evidence.question.is_empty() {
        return Ok(());
    }
    let search = SearchRequest {
        query: evidence.question.clone(),
        filter,
        near: request.near.clone(),
        limit: wanted,
        ranking: request.ranking,
        // What is linked to the best hits is added below.
        expansion: Expansion::None,
        ..Default::default()
    };
    let found = Box::pin(search_for_context(resources, search)).await?;
    evidence.warnings.extend(found.warnings);
    let best = found.hits.first().map_or(1.0, |hit| hit.score).max(f32::MIN_POSITIVE);
    let worth = if evidence.trace.is_some() { BESIDE_TRACE } else { 1.0 };
    let known: HashSet<String> = evidence.found.iter().map(|found| found.document.id.clone()).collect();
    for (document, score, hint, by_meaning) in with_parts(resources, found.hits).await? {
        let document_type = DocumentType::classify(document.facts.kind, document.path.as_deref());
        let surrounds_known = evidence.found.iter().any(|found| surrounds(&document, &found.document));
        if known.contains(&document.id) || surrounds_known || !evidence.narrowing.meets_as_part(&document) {
            continue;
        }
        evidence.found.push(Found {
            document_type,
            document,
            relevance: (score / best).clamp(0.0, 1.0) * worth,
            hint: Some(hint),
            by_meaning,
            links: vec![],
        });
    }
    evidence.found.truncate(wanted + evidence.trace.as_ref().map_or(0, |trace| trace.chain.len()));
    Ok(())
}

/// Whether a document is of the same file as another that was found and has all of its lines: it would say the same
/// again, and take the place of one that says something else.
fn surrounds(document: &StoredDocument, found: &StoredDocument) -> bool {
    let is_same_file =
        document.path.is_some() && (&document.facts.project, &document.path) == (&found.facts.project, &found.path);
    let is_around = match (document.lines, found.lines) {
        (None, Some(_)) => true,
        (Some(outer), Some(inner)) => outer.0 <= inner.0 && inner.1 <= outer.1,
        (_, None) => false,
    };
    is_same_file && is_around
}

/// The hits, each followed by the discussions, commits and parts that support it, with what they are worth and
/// their words.
async fn with_parts(resources: &Resources, hits: Vec<Hit>) -> Result<Vec<(StoredDocument, f32, String, bool)>> {
    let passages = hits.iter().flat_map(|hit| &hit.passages).map(|passage| passage.document.clone());
    let parts: Vec<String> = passages.collect::<BTreeSet<_>>().into_iter().collect();
    let parts: HashMap<String, StoredDocument> =
        resources.index().documents(&parts).await?.into_iter().map(|part| (part.id.clone(), part)).collect();
    let mut all: Vec<(StoredDocument, f32, String, bool)> = Vec::new();
    for hit in hits {
        let by_meaning = hit.parts.semantic > 0.0;
        let mut seen = HashSet::from([hit.document.id.clone()]);
        let (score, passages) = (hit.score, hit.passages);
        all.push((hit.document, score, hit.snippet, by_meaning));
        for passage in passages {
            if let Some(part) = parts.get(&passage.document)
                && seen.insert(passage.document)
            {
                all.push((part.clone(), score * PART, passage.text, passage.similarity > 0.0));
            }
        }
    }
    Ok(all)
}

/// What closed the issues, and was closed or merged by the merge requests, that were found first.
async fn add_linked(resources: &Resources, evidence: &mut Evidence) -> Result<()> {
    let mut threads: Vec<(String, f32)> = Vec::new();
    for found in &evidence.found {
        let thread = found.thread();
        if !found.is_of_file() && !threads.iter().any(|(known, _)| known == thread) && threads.len() < FOLLOWED {
            threads.push((thread.to_owned(), found.relevance));
        }
    }
    let asked = threads.clone();
    let links = resources.blocking(move |resources| links_of(resources, &asked)).await?;
    let known: HashSet<&str> = evidence.found.iter().map(|found| found.document.id.as_str()).collect();
    let mut new: Vec<String> = Vec::new();
    for link in &links {
        if !known.contains(link.to.as_str()) && !new.contains(&link.to) && new.len() < MAX_LINKED {
            new.push(link.to.clone());
        }
    }
    let mut documents = resources.index().documents(&new).await?;
    documents.retain(|document| evidence.narrowing.meets(document));
    for document in documents {
        let worth = links.iter().filter(|link| link.to == document.id).map(|link| link.worth).fold(0.0, f32::max);
        evidence.found.push(Found {
            document_type: DocumentType::classify(document.facts.kind, None),
            document,
            relevance: worth * LINKED,
            hint: None,
            by_meaning: false,
            links: vec![],
        });
    }
    for link in links {
        if link.edge == Edge::MergedAs {
            evidence.merged_as.entry(link.from.clone()).or_insert(link.to.clone());
        }
        for found in &mut evidence.found {
            let (other, said) = match &found.document.id {
                id if *id == link.from => (&link.to, Some(link.forward_label())),
                id if *id == link.to => (&link.from, link.backward_label()),
                _ => continue,
            };
            // One word on each is enough.
            let other = short_reference(other);
            let is_new = !found.links.iter().any(|known| known.ends_with(&other));
            found.links.extend(said.filter(|_| is_new));
        }
    }
    // Equal ones stay in the order in which they were found.
    evidence.found.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
    Ok(())
}

fn links_of(resources: &Resources, threads: &[(String, f32)]) -> Result<Vec<Link>> {
    let graph = resources.graph();
    let mut links = Vec::new();
    for (id, worth) in threads {
        let Ok(node) = id.parse::<NodeId>() else { continue };
        let wanted: &[(Edge, Direction)] = match &node {
            NodeId::Thread(thread) if thread.kind == ThreadKind::Issue => {
                &[(Edge::Closes, Direction::In), (Edge::Fixes, Direction::In)]
            }
            NodeId::Thread(_) => &[(Edge::Closes, Direction::Out), (Edge::MergedAs, Direction::Out)],
            NodeId::Commit { .. } => &[(Edge::Fixes, Direction::Out)],
            _ => &[],
        };
        for (edge, direction) in wanted {
            for end in graph.edges(&node, *direction, Some(*edge))? {
                let (from, to) = (id.clone(), end.other.to_string());
                links.push(Link { edge: *edge, direction: *direction, from, to, worth: *worth });
            }
        }
        if let NodeId::Commit { project, sha } = &node
            && let Some(record) = commit_record(resources, project, sha)?
        {
            for carrier in merge_requests_introducing(resources, project, record.commit.sha)?.into_iter().take(1) {
                let (from, to) = (id.clone(), carrier.id.to_string());
                links.push(Link { edge: Edge::PartOf, direction: Direction::Out, from, to, worth: *worth });
            }
        }
    }
    Ok(links)
}

/// A way from one item to another.
pub(crate) struct Link {
    edge: Edge,
    direction: Direction,
    from: String,
    to: String,
    /// How relevant the item is that it starts from.
    worth: f32,
}

impl Link {
    /// What it says of where it starts.
    fn forward_label(&self) -> String {
        let to = short_reference(&self.to);
        match (self.edge, self.direction) {
            (Edge::Closes | Edge::Fixes, Direction::In) => format!("closed by {to}"),
            (Edge::Closes | Edge::Fixes, Direction::Out) => format!("closes {to}"),
            (Edge::MergedAs, _) => format!("merged as {to}"),
            _ => format!("part of {to}"),
        }
    }

    /// What it says of where it ends.
    fn backward_label(&self) -> Option<String> {
        let from = short_reference(&self.from);
        match (self.edge, self.direction) {
            (Edge::Closes | Edge::Fixes, Direction::In) => Some(format!("closes {from}")),
            (Edge::Closes | Edge::Fixes, Direction::Out) => Some(format!("closed by {from}")),
            (Edge::MergedAs, _) => Some(format!("merge of {from}")),
            // The commits of a merge request are many.
            _ => None,
        }
    }
}

/// What a step of a trace says of its node.
fn link_of(step: &Step) -> Vec<String> {
    let Some(from) = &step.from else { return vec![] };
    let from = short_node(from);
    if let Some(confidence) = step.confidence {
        return vec![format!("probably about the same as {from} ({confidence:.2}), inferred")];
    }
    let said = match step.edge {
        Edge::Closes | Edge::Fixes if step.node.kind == NodeKind::Issue => format!("closed by {from}"),
        Edge::Closes | Edge::Fixes => format!("closes {from}"),
        Edge::MergedAs | Edge::PartOf if step.node.kind == NodeKind::MergeRequest => format!("brought {from}"),
        Edge::CommentsOn => format!("on these lines, in {from}"),
        Edge::PartOf => format!("in {from}"),
        Edge::MergedBy => format!("merged {from}"),
        _ => return vec![],
    };
    vec![said]
}

/// What search is narrowed to; `None` if nothing can be found.
fn filter_of(request: &ContextRequest) -> Option<Filter> {
    use DocumentKind::{Code, Commit, File, Section};
    let mut filter = request.filter.clone();
    if let Some(path) = &request.path {
        filter.paths = vec![path.clone()];
    }
    if request.mode == PackMode::GoverningDocsOnly {
        filter.document_types = DocumentType::GOVERNING.to_vec();
    }
    let allowed: &[DocumentKind] = match (request.mode, &request.path) {
        (PackMode::GoverningDocsOnly, _) => &[File, Code, Section],
        (PackMode::All, Some(_)) => &[File, Code, Section, Commit],
        (PackMode::All, None) => return Some(filter),
    };
    if filter.kinds.is_empty() {
        filter.kinds = allowed.to_vec();
    } else {
        filter.kinds.retain(|kind| allowed.contains(kind));
        if filter.kinds.is_empty() {
            return None;
        }
    }
    Some(filter)
}

/// What to search for besides a trace: what the code is called and what those say who changed it.
fn question_of(target: &Target, trace: &Trace) -> String {
    let mut words: Vec<&str> = Vec::new();
    match target {
        Target::Symbol { name, .. } | Target::Node(NodeId::Entity { name, .. }) => words.push(name),
        Target::Lines { path, .. } | Target::Node(NodeId::File { path, .. }) => {
            words.push(path.rsplit('/').next().unwrap_or(path));
        }
        Target::Node(_) => {}
    }
    let is_code = trace.path.is_some();
    let titled = trace
        .chain
        .iter()
        .filter(|step| matches!(step.node.kind, NodeKind::Commit | NodeKind::MergeRequest | NodeKind::Issue))
        .map(|step| step.node.title.as_str());
    // What is called `saved` says nothing of the code.
    let says_something = |title: &&str| !is_code || Question::parse(title).terms.len() >= MIN_TITLE;
    words.extend(titled.filter(says_something).take(if is_code { 2 } else { 1 }));
    words.join(" ").chars().take(MAX_QUERY).collect()
}

/// Leaves out of a trace what does not meet the conditions, but not what was asked about, and notes that.
async fn apply_conditions(resources: &Resources, request: &ContextRequest, evidence: &mut Evidence) -> Result<()> {
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
