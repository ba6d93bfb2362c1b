//! Searches for code alone: their hits are files, each with the parts that answer.
//!
//! A file is ranked by all of it that matches and not by its best part only, by the names in it and its own, and behind
//! others if it only tests, shows or repeats what they do. `docs/benchmarks.md` says what each of these brings.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use backstory_model::{
    document_type::DocumentType,
    file_role::{FileRole, file_role},
    filter::{DocumentKind, Filter},
    id::NodeId,
    terms::{QueryTerms, TermExtractor},
};
use backstory_store::index::DocumentFacts;

use super::{
    SearchRequest,
    evidence::{Candidate, ScoringContext},
};

/// What the next best part of a file adds, compared to the one before.
const DECAY: f32 = 0.4;
/// Parts of a file that are added up, and passages whose nearness is averaged.
const ADDED_UP: usize = 8;
/// Share of that average in how near a file is: what many of its passages say counts more than what one happens to.
const OF_SEVERAL: f32 = 0.6;
/// What counts of a file's words, besides how well its parts match: how much of the query is in one passage,
const IN_ONE_PASSAGE: f32 = 1.0;
/// in all of its passages,
const IN_ALL: f32 = 0.6;
/// in the name of one of its parts,
const IN_NAME: f32 = 0.2;
/// and in its path.
const IN_PATH: f32 = 0.1;

/// Whether a search asks for code and for nothing else. Its filter then lets files through, which have those parts of
/// them that are code.
pub(super) fn narrow_to_files(request: &mut SearchRequest) -> bool {
    let Filter { kinds, document_types, nodes, .. } = &mut request.filter;
    let is_of_code = |kind: &DocumentKind| matches!(kind, DocumentKind::Code | DocumentKind::File);
    let asks_for_code = kinds.contains(&DocumentKind::Code) && kinds.iter().all(is_of_code);
    // What is limited to nodes may be limited to parts of a file.
    if !asks_for_code || !nodes.is_empty() || !request.near.is_empty() {
        return false;
    }
    *kinds = vec![DocumentKind::File];
    if document_types.is_empty() {
        document_types.push(DocumentType::Code);
    }
    true
}

/// How much a file counts, by the part it plays in the repository; all of it if the query asks for such files.
pub(super) fn worth_of_role(asked_for: &[FileRole], facts: &DocumentFacts) -> f32 {
    let role = facts.paths().next().map_or(FileRole::Source, file_role);
    if asked_for.contains(&role) {
        return 1.0;
    }
    match role {
        FileRole::Source => 1.0,
        FileRole::Settings => 0.7,
        FileRole::Example | FileRole::Generated | FileRole::Vendored => 0.45,
        FileRole::Test => 0.3,
    }
}

/// Scores files: `lexical` is the share of BM25 that each document reached, `of_name` in how many documents each term
/// occurs, if the query is nothing but a name.
pub(super) fn score_files(
    candidates: &mut BTreeMap<String, Candidate>,
    facts: &HashMap<String, DocumentFacts>,
    scale: &ScoringContext<'_>,
    lexical: &HashMap<String, f32>,
    of_name: Option<&[u64]>,
) {
    if let Some(frequencies) = of_name {
        drop_unrelated(scale.terms, frequencies, candidates);
    }
    let mut cutter = TermExtractor::default();
    let mut summed: HashMap<String, f32> = HashMap::new();
    for (id, candidate) in &*candidates {
        let mut parts: BTreeSet<&str> = candidate.passages.iter().map(|passage| passage.document.as_str()).collect();
        parts.insert(id);
        let mut reached: Vec<f32> = parts.iter().filter_map(|part| lexical.get(*part)).copied().collect();
        reached.sort_by(|a, b| b.total_cmp(a));
        summed.insert(id.clone(), add_up(&reached));
    }
    average_nearness(candidates);
    spread_nearness(candidates);
    let most = summed.values().copied().fold(f32::MIN_POSITIVE, f32::max);
    for (id, candidate) in candidates {
        let best = candidate.passages.iter().map(|passage| passage.coverage).fold(0.0, f32::max);
        let all = candidate.passages.iter().fold(0, |found, passage| found | passage.found);
        let mut name_of = |text: &str| scale.weights.share(scale.terms.found_in(text, &mut cutter));
        let parts: BTreeSet<&str> = candidate.passages.iter().map(|passage| passage.document.as_str()).collect();
        let named = parts.into_iter().filter_map(entity_name).map(|name| name_of(&name)).fold(0.0, f32::max);
        let path = facts.get(id).and_then(|facts| facts.paths().next()).map_or(0.0, &mut name_of);
        let values = [
            (summed[id] / most, 1.0),
            (best, IN_ONE_PASSAGE),
            (scale.weights.share(all), IN_ALL),
            (named, IN_NAME),
            (path, IN_PATH),
        ];
        let total: f32 = values.iter().map(|(_, weight)| weight).sum();
        candidate.parts.lexical = values.iter().map(|(value, weight)| value * weight).sum::<f32>() / total;
    }
}

/// Leaves out what has too little of a name that nothing has: of `retry_payment_later` more than half of the parts must be
/// there, else it is found by chance.
fn drop_unrelated(terms: &QueryTerms, frequencies: &[u64], candidates: &mut BTreeMap<String, Candidate>) {
    let is_compound = |at: usize| !terms.terms[at].part && terms.terms.get(at + 1).is_some_and(|next| next.part);
    let (wholes, parts): (Vec<usize>, Vec<usize>) = (0..terms.terms.len()).partition(|at| is_compound(*at));
    let is_known = wholes.iter().any(|at| frequencies.get(*at).is_some_and(|documents| *documents > 0));
    if wholes.is_empty() || is_known {
        return;
    }
    let parts: u64 = parts.iter().map(|at| 1 << at).sum();
    candidates.retain(|_, candidate| {
        let found = candidate.passages.iter().fold(0, |found, passage| found | passage.found);
        (found & parts).count_ones() * 2 > parts.count_ones()
    });
}

/// Counts the nearest passages of files, and not only the best two.
fn average_nearness(candidates: &mut BTreeMap<String, Candidate>) {
    for candidate in candidates.values_mut() {
        let mut near: Vec<f32> = candidate.passages.iter().map(|passage| passage.nearness).collect();
        near.sort_by(|a, b| b.total_cmp(a));
        near.truncate(ADDED_UP);
        let average = near.iter().sum::<f32>() / near.len().max(1) as f32;
        candidate.nearness += OF_SEVERAL * (average - candidate.nearness);
    }
}

/// Spreads how near files are to the query over 0 to 1. Models differ in the range of their similarities, which is narrow;
/// words would decide alone.
fn spread_nearness(candidates: &mut BTreeMap<String, Candidate>) {
    let all = || candidates.values().map(|candidate| candidate.nearness);
    let (least, most) = (all().fold(f32::INFINITY, f32::min), all().fold(0.0, f32::max));
    if most > least {
        for candidate in candidates.values_mut() {
            candidate.nearness = (candidate.nearness - least) / (most - least);
        }
    }
}

/// The best value and a decreasing share of each further one, less than twice the best.
fn add_up(values: &[f32]) -> f32 {
    let shares = std::iter::successors(Some(1.0), |share| Some(share * DECAY));
    values.iter().take(ADDED_UP).zip(shares).map(|(value, share)| value * share).sum()
}

/// The name of a part of a file.
fn entity_name(id: &str) -> Option<String> {
    match id.parse() {
        Ok(NodeId::Entity { name, .. }) => Some(name),
        _ => None,
    }
}
