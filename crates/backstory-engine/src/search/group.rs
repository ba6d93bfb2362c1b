//! Result groups: what belongs together in the graph is one hit.
//!
//! A commit belongs to the merge request that introduced it, and an issue to what closed it. Commits belong to the
//! merge that introduced them, and one that matches represents the group in place of the merge.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use backstory_model::{
    commit::Sha,
    edge::Edge,
    filter::{DocumentKind, Filter},
    id::{NodeId, ThreadId, ThreadKind},
    terms::TermWeights,
};
use backstory_store::graph::Direction;

use super::{
    Member, SearchRequest,
    evidence::Candidate,
    expand::{Expansion, Relations, add_relations, graph_candidates, relate, relation_of},
    facts_of, id_of,
    order::RankingContext,
    prepared_filter::PreparedFilter,
};
use crate::{error::Result, resources::Resources, walk::Reached};

/// Hits whose place in the graph is looked up.
const LOOKED_UP: usize = 20;
/// Commits whose merge request is looked up, the strongest.
const CARRIED: usize = 12;
/// Deepest nesting of merges that is followed.
const MAX_MERGES: usize = 2;
/// Hits before the first one that only the graph found.
pub(super) const UNMIXED: usize = 10;
/// How many times as much as its score it counts how strongly the graph ties such a hit to the others: they have few
/// words of the query, or none.
const TIE: f32 = 5.0;
/// Least share of a query's words that a passage has if it has all of them, as near as rounding tells.
const ALL_WORDS: f32 = 0.95;
/// Words that are told of those that were found.
const MAX_WORDS: usize = 6;

/// A document that leads, and what belongs to it.
pub(super) struct ResultGroup {
    pub(super) lead: String,
    pub(super) members: Vec<Member>,
    pub(super) candidate: Candidate,
    pub(super) score: f32,
    /// What a reranking model says of it.
    pub(super) reranked: Option<f32>,
    /// How the graph ties it to what the query names, to what the search is near to, or to other hits.
    pub(super) reached: Option<Reached>,
}

/// The stories of a search.
pub(super) struct Stories {
    /// The best first.
    pub(super) stories: Vec<ResultGroup>,
    /// How documents are tied to the strongest, if the graph was walked.
    pub(super) relations: Option<Relations>,
}

impl ResultGroup {
    /// The document that is shown: of a file the part that answers, if such parts are asked for.
    pub(super) fn displayed_document<'a>(&'a self, order: &RankingContext<'_>, kinds: &[DocumentKind]) -> &'a str {
        let kind_of = |id: &str| order.facts.get(id).map(|facts| facts.kind);
        let is_asked_for = |id: &str| {
            let is_of_kind = kind_of(id).is_some_and(|kind| kinds.contains(&kind));
            order.understood.only_code || kinds.is_empty() || is_of_kind
        };
        match self.candidate.passages.first() {
            Some(best) if kind_of(&self.lead) == Some(DocumentKind::File) && is_asked_for(&best.document) => {
                &best.document
            }
            _ => &self.lead,
        }
    }

    /// Why it is here, in words.
    pub(super) fn why(&self, order: &RankingContext<'_>, weights: &TermWeights) -> Vec<String> {
        let parts = self.candidate.parts;
        let mut why = Vec::new();
        if parts.semantic > 0.0 {
            why.push(format!("semantic {:.2}", parts.semantic));
        }
        if parts.lexical > 0.0 {
            let found = self.candidate.passages.first().map_or(0, |best| best.found);
            let mut words: Vec<(f32, &str)> = order
                .understood
                .terms
                .terms
                .iter()
                .enumerate()
                .filter(|(at, term)| found >> at & 1 == 1 && !term.part)
                .map(|(at, term)| (weights.of(at), term.word.as_str()))
                .collect();
            words.sort_by(|a, b| b.0.total_cmp(&a.0));
            let words: Vec<&str> = words.into_iter().take(MAX_WORDS).map(|(_, word)| word).collect();
            let words = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
            why.push(format!("lexical {:.2}{words}", parts.lexical));
        }
        why.extend(self.reranked.map(|judgment| format!("reranked {judgment:.2}")));
        if parts.recency > 0.0 {
            why.push(format!("recency {:.2}", parts.recency));
        }
        if parts.importance > 0.0 {
            why.push(format!("importance {:.2}", parts.importance));
        }
        if parts.author > 0.0 {
            why.push("by somebody the query names".to_owned());
        }
        if order.understood.named.iter().any(|id| id_of(id) == self.lead) {
            why.push("named in the query".to_owned());
        } else if order.understood.share_meant(&self.lead) > 0.0 {
            why.push("defines what the query names".to_owned());
        }
        if let Some(reached) = &self.reached {
            let edges = reached.path.iter().map(|edge| format!("{} {} {}", edge.from, edge.edge.name(), edge.to));
            let edges = edges.collect::<Vec<_>>().join(", ");
            if !edges.is_empty() {
                why.push(format!("relationship {:.2}: {edges}", reached.strength));
            } else if order.is_near && parts.relationship > 0.0 {
                why.push(format!("relationship {:.2}: what the search is near to", reached.strength));
            }
        }
        why
    }
}

/// What the graph says of the hits.
#[derive(Default)]
struct Links {
    /// Pairs that are one story: an issue and what closed it.
    same: Vec<(String, String, Edge)>,
}

impl Links {
    /// Whether a commit is a merge that brought the other.
    fn brought(&self, merge: &str, commit: &str) -> bool {
        self.same.iter().any(|(from, to, edge)| *edge == Edge::MergedBy && from == commit && to == merge)
    }
}

/// Ranks candidates and folds what belongs together. `scope` is how documents are tied to the nodes that the search is
/// limited to, if it is. Where the relationship has a weight, the neighborhood of the
/// strongest ones is walked first, and what only that finds is ranked with the others.
pub(super) async fn group_results(
    resources: &Resources,
    candidates: BTreeMap<String, Candidate>,
    order: &mut RankingContext<'_>,
    request: &SearchRequest,
    scope: Option<Relations>,
) -> Result<Stories> {
    let filter = &request.filter;
    let (mut candidates, mut carried) = fold_commits_into_merge_requests(resources, candidates, order, filter).await?;
    order.complete(&mut candidates);
    let named = &order.understood.named;
    let mut relations: Relations = named.iter().map(|id| (id_of(id), Reached::start())).collect();
    let is_walked = scope.is_some() || order.weights().relationship > 0.0;
    if is_walked {
        if let Some(scope) = scope {
            relations.extend(scope);
        } else {
            let ranked = order.by_relevance(candidates.iter().map(|(id, of)| (id.as_str(), of)));
            relations = relate(resources, &ranked, named).await?;
            if request.expansion == Expansion::Neighbors {
                let known = candidates.keys().map(String::as_str).collect();
                let found = graph_candidates(resources, &relations, &known, order, filter).await?;
                candidates.extend(found);
            }
        }
        add_relations(&mut candidates, &relations);
    }
    let ranked = order.ranked(&candidates);
    let mut looked_up: Vec<NodeId> = ranked.iter().take(LOOKED_UP).filter_map(|(id, _)| id.parse().ok()).collect();
    looked_up.retain(|id| matches!(id, NodeId::Thread(_) | NodeId::Commit { .. }));
    let links = resources.blocking(move |resources| load_links(resources, &looked_up)).await?;
    let mut stories: Vec<ResultGroup> = Vec::new();
    let mut leader: HashMap<String, usize> = HashMap::new();
    for (id, score) in ranked {
        let Some(mut candidate) = candidates.remove(&id) else { continue };
        // Of a file the definition that is asked for is shown.
        candidate.passages.sort_by_key(|passage| !order.understood.definitions.contains_key(&passage.document));
        let others = links.same.iter().filter_map(|(a, b, edge)| match () {
            () if *a == id => Some((b, *edge)),
            () if *b == id => Some((a, *edge)),
            () => None,
        });
        let others: Vec<_> = others.collect();
        if let Some((at, edge)) = others.iter().find_map(|(other, edge)| Some((*leader.get(*other)?, *edge))) {
            // What did the work says more than the merge that brought it, unless that alone says all that was asked for.
            let says_all = |of: &Candidate| order.understood.has_every_term(of.passages.iter().map(|of| of.found));
            let merge_says_more = says_all(&stories[at].candidate) && !says_all(&candidate);
            if links.brought(&stories[at].lead, &id) && !merge_says_more {
                stories[at].set_representative(&id, candidate);
            } else {
                stories[at].join(&id, edge, candidate);
            }
            leader.insert(id, at);
            continue;
        }
        // Commits of one merge belong together even if that was not found itself.
        for (merge, _) in others.iter().filter(|(_, edge)| *edge == Edge::MergedBy) {
            leader.entry((*merge).clone()).or_insert(stories.len());
        }
        leader.insert(id.clone(), stories.len());
        let members = others.iter().filter_map(|(other, relation)| Member::new(other, *relation));
        let members = members.chain(carried.remove(&id).unwrap_or_default());
        let members = members.collect::<BTreeSet<_>>().into_iter().collect();
        let reached = relation_of(&id, &candidate, &relations).cloned();
        stories.push(ResultGroup { lead: id, members, candidate, score, reranked: None, reached });
    }
    Ok(Stories { stories, relations: is_walked.then_some(relations) })
}

/// What only the graph finds, walking from the leading documents: the most strongly tied first, those that have more of
/// the query before others.
pub(super) async fn stories_of_graph(
    resources: &Resources,
    ordinary: &[ResultGroup],
    relations: &Relations,
    order: &mut RankingContext<'_>,
    filter: &Filter,
) -> Result<Vec<ResultGroup>> {
    let members: Vec<String> =
        ordinary.iter().flat_map(|story| &story.members).map(|member| id_of(&member.id)).collect();
    let known = ordinary.iter().map(|story| story.lead.as_str()).chain(members.iter().map(String::as_str)).collect();
    let candidates = graph_candidates(resources, relations, &known, order, filter).await?;
    let scores: BTreeMap<String, f32> = order.ranked(&candidates).into_iter().collect();
    let mut stories: Vec<ResultGroup> = Vec::new();
    for (id, candidate) in candidates {
        let score = scores.get(&id).copied().unwrap_or(0.0);
        let reached = relation_of(&id, &candidate, relations).cloned();
        stories.push(ResultGroup { lead: id, members: Vec::new(), candidate, score, reranked: None, reached });
    }
    let worth = |story: &ResultGroup| story.score + TIE * story.candidate.parts.relationship;
    stories.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then_with(|| a.lead.cmp(&b.lead)));
    Ok(stories)
}

/// Puts what only the graph found behind the first hits: two of them for each other one.
pub(super) fn behind(ordinary: Vec<ResultGroup>, of_graph: Vec<ResultGroup>) -> Vec<ResultGroup> {
    let (mut ordinary, mut of_graph) = (ordinary.into_iter(), of_graph.into_iter());
    let mut stories: Vec<ResultGroup> = ordinary.by_ref().take(UNMIXED).collect();
    loop {
        let next = [of_graph.next(), of_graph.next(), ordinary.next()];
        if next.iter().all(Option::is_none) {
            return stories;
        }
        stories.extend(next.into_iter().flatten());
    }
}

/// Puts what only the graph found among the other hits, the best first.
pub(super) fn by_score(ordinary: Vec<ResultGroup>, of_graph: Vec<ResultGroup>) -> Vec<ResultGroup> {
    let mut stories: Vec<ResultGroup> = ordinary.into_iter().chain(of_graph).collect();
    stories.sort_by(|a, b| b.score.total_cmp(&a.score));
    stories
}

/// A commit that a merge request introduced is evidence for that: the strongest become parts of their merge requests,
/// which may not have been found themselves. Also returns what became part of what.
async fn fold_commits_into_merge_requests(
    resources: &Resources,
    mut candidates: BTreeMap<String, Candidate>,
    order: &mut RankingContext<'_>,
    filter: &Filter,
) -> Result<(BTreeMap<String, Candidate>, HashMap<String, Vec<Member>>)> {
    let ranked = order.ranked(&candidates).into_iter().filter_map(|(id, _)| id.parse().ok());
    let commits: Vec<(String, Sha)> = ranked
        .filter_map(|id| match id {
            NodeId::Commit { project, sha } => Some((project, sha.parse().ok()?)),
            _ => None,
        })
        .take(CARRIED)
        .collect();
    let carriers = resources.blocking(move |resources| {
        let carrier = |(project, sha): (String, Sha)| {
            let commit = NodeId::commit(&project, &sha.to_string());
            Ok(introducing_merge_request(resources, &commit)?.map(|carrier| (commit.to_string(), carrier.to_string())))
        };
        commits.into_iter().filter_map(|commit| carrier(commit).transpose()).collect::<Result<Vec<_>>>()
    });
    let mut carried: HashMap<String, Vec<Member>> = HashMap::new();
    let carriers = carriers.await?;
    let ids: Vec<String> = carriers.iter().map(|(_, carrier)| carrier.clone()).collect();
    order.facts.extend(facts_of(&resources.index(), &ids));
    let (mut raised, prepared) = (Vec::new(), PreparedFilter::of(filter));
    for (commit, carrier) in carriers {
        let Some(facts) = order.facts.get(&carrier).filter(|facts| prepared.is_met_by(&carrier, facts)) else {
            continue;
        };
        let Some(own) = candidates.remove(&commit) else { continue };
        let known = candidates.remove(&carrier).unwrap_or_default();
        let says_all = order.understood.has_several_words() && own.passages.iter().any(|of| of.coverage >= ALL_WORDS);
        raised.extend(says_all.then(|| (carrier.clone(), own.parts, own.nearness)));
        candidates.insert(carrier.clone(), known.with(&carrier, facts, own.passages));
        carried.entry(carrier).or_default().extend(Member::new(&commit, Edge::PartOf));
    }
    // What has a commit that alone says all that was asked for ranks as high as that by itself.
    for (carrier, parts, nearness) in raised {
        candidates.entry(carrier).and_modify(|candidate| candidate.raise_to(parts, nearness));
    }
    Ok((candidates, carried))
}

/// The merge request that a commit was merged as, or that brought it in. What traces tell besides, of requests whose
/// commits were rewritten, would take longer than the search.
fn introducing_merge_request(resources: &Resources, commit: &NodeId) -> Result<Option<ThreadId>> {
    let graph = resources.graph();
    let mut commit = commit.clone();
    for _ in 0..=MAX_MERGES {
        for end in graph.edges(&commit, Direction::In, Some(Edge::MergedAs))? {
            match end.other {
                NodeId::Thread(id) if !resources.hides(&NodeId::Thread(id.clone())) => return Ok(Some(id)),
                _ => {}
            }
        }
        let merges = graph.edges(&commit, Direction::Out, Some(Edge::MergedBy))?;
        let Some(merge) = merges.into_iter().find(|merge| !resources.hides(&merge.other)) else { break };
        commit = merge.other;
    }
    Ok(None)
}

/// The links of nodes.
fn load_links(resources: &Resources, ids: &[NodeId]) -> Result<Links> {
    let graph = resources.graph();
    let mut links = Links::default();
    for id in ids {
        let (edge, direction) = match id {
            NodeId::Thread(ThreadId { kind: ThreadKind::MergeRequest, .. }) => (Edge::Closes, Direction::Out),
            NodeId::Thread(ThreadId { kind: ThreadKind::Issue, .. }) => (Edge::Closes, Direction::In),
            _ => (Edge::MergedBy, Direction::Out),
        };
        for end in graph.edges(id, direction, Some(edge))?.into_iter().filter(|end| !resources.hides(&end.other)) {
            links.same.push((id_of(id), id_of(&end.other), edge));
        }
    }
    Ok(links)
}

impl ResultGroup {
    /// Takes in a hit that belongs to it.
    fn join(&mut self, id: &str, edge: Edge, other: Candidate) {
        if let Some(member) = Member::new(id, edge)
            && !self.members.iter().any(|known| known.id == member.id)
        {
            self.members.push(member);
            self.members.sort();
        }
        self.candidate.passages.extend(other.passages);
    }

    /// Lets a commit lead that the leading merge brought: the story keeps its rank and shows the commit's words first.
    fn set_representative(&mut self, id: &str, other: Candidate) {
        let merge = std::mem::replace(&mut self.lead, id.to_owned());
        let leader = id.parse::<NodeId>().ok();
        self.members.retain(|member| Some(&member.id) != leader.as_ref());
        self.members.extend(Member::new(&merge, Edge::MergedBy));
        self.members.sort();
        let of_merge = std::mem::replace(&mut self.candidate.passages, other.passages);
        self.candidate.passages.extend(of_merge);
    }
}

impl Member {
    /// `None` if the id is not a reference.
    fn new(id: &str, relation: Edge) -> Option<Self> {
        Some(Self { id: id.parse().ok()?, relation })
    }
}
