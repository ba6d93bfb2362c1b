//! Orders candidates: weighs their parts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use backstory_model::{
    filter::{DocumentKind, Filter},
    score::{Mode, Parts, Profile, RRF_K, fuse_ranks, sorted},
};
use backstory_store::index::DocumentFacts;

use super::{
    WEIGHT_OF_NEAR,
    evidence::{Candidate, ScoredPassage, ScoringContext, group_by_document},
    prepared_filter::PreparedFilter,
    query::ParsedQuery,
};
use crate::settings::Ranking;

/// What is named in the query comes first.
const DIRECT: f32 = 1.0;
/// How much the meaning of a commit counts, compared to that of others: many messages sound alike.
const MEANING_OF_COMMIT: f32 = 0.55;
/// What candidates are ordered by.
pub(super) struct RankingContext<'a> {
    pub(super) ranking: Ranking,
    pub(super) mode: Mode,
    pub(super) understood: &'a ParsedQuery,
    pub(super) scale: &'a ScoringContext<'a>,
    /// Vector of the query; empty without one.
    pub(super) vector: &'a [f32],
    pub(super) facts: HashMap<String, DocumentFacts>,
    /// Whether the search is near to nodes.
    pub(super) is_near: bool,
}

impl RankingContext<'_> {
    /// What each part counts: a leg that is not used counts nothing.
    pub(super) fn weights(&self) -> Parts {
        let weights = self.ranking.weights;
        match self.mode {
            Mode::Hybrid => weights,
            Mode::Lexical => Parts { semantic: 0.0, lexical: weights.lexical.max(f32::EPSILON), ..weights },
            Mode::Semantic => Parts { lexical: 0.0, semantic: weights.semantic.max(f32::EPSILON), ..weights },
        }
    }

    /// Adds the parts that do not depend on the passages, as far as they have a weight.
    pub(super) fn complete(&self, candidates: &mut BTreeMap<String, Candidate>) {
        let weights = self.weights();
        for (id, candidate) in candidates {
            let Some(facts) = self.facts.get(id.as_str()) else { continue };
            if weights.recency > 0.0 {
                candidate.parts.recency = self.scale.recency(facts.created_at);
            }
            if weights.importance > 0.0 {
                candidate.parts.importance = facts.importance;
            }
            if weights.author > 0.0 {
                let people = &self.understood.people;
                let named = facts.author.as_deref().is_some_and(|author| people.iter().any(|name| name == author));
                candidate.parts.author = f32::from(u8::from(named));
            }
        }
    }

    /// Best first.
    pub(super) fn ranked(&self, candidates: &BTreeMap<String, Candidate>) -> Vec<(String, f32)> {
        if self.ranking.profile == Profile::Rrf && self.mode == Mode::Hybrid {
            let leg = |part: fn(&Candidate) -> f32| {
                let scored = candidates.iter().map(|(id, of)| (id.clone(), part(of)));
                let ranked = sorted(scored.filter(|(_, score)| *score > 0.0));
                ranked.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
            };
            let mut legs = vec![leg(|of| of.parts.lexical), leg(|of| of.nearness)];
            if self.weights().relationship > 0.0 {
                legs.push(leg(|of| of.parts.relationship));
            }
            return fuse_ranks(&legs, RRF_K);
        }
        let weights = self.weights();
        let has_vectors = candidates.values().any(|of| of.nearness > 0.0);
        // Where only the meaning counts, words stand for it as long as there are no vectors at all.
        let by_words = weights.lexical == 0.0 && weights.semantic > 0.0 && !has_vectors;
        let weights = if by_words { Parts { lexical: weights.semantic, semantic: 0.0, ..weights } } else { weights };
        let weights = self.bounded(weights);
        let scored = candidates.iter().map(|(id, of)| (id.clone(), self.score(id, of, weights)));
        match self.only_part().filter(|_| !by_words) {
            Some(part) => self.ranked_by(part, candidates),
            None => sorted(scored.filter(|(_, score)| *score > 0.0)),
        }
    }

    /// Weights that are no profile's, in proportion if they could make more than 1 of a score, as those can that add up to more, or
    /// of code where it is asked for: what is shown is at most 1, and must tell hits apart.
    fn bounded(&self, weights: Parts) -> Parts {
        let most = weights.sum() * self.understood.largest_prior();
        if most > 1.0 && !self.has_usual_weights() { weights.divided_by(most) } else { weights }
    }

    /// Whether the weights are those of the profile, or of a search near to nodes by that profile.
    fn has_usual_weights(&self) -> bool {
        let of_profile = self.ranking.profile.weights();
        let of_near = Parts { relationship: of_profile.relationship.max(WEIGHT_OF_NEAR), ..of_profile };
        [of_profile, of_near].contains(&self.ranking.weights)
    }

    /// By words and meaning, whatever has a weight: best first. What the query means by its name is as good as the best.
    pub(super) fn by_relevance<'c>(
        &self,
        candidates: impl Iterator<Item = (&'c str, &'c Candidate)>,
    ) -> Vec<(&'c str, f32)> {
        let weights = Profile::Default.weights();
        let mut ranked = sorted(candidates.map(|(id, of)| (id, self.weighted_sum(id, of, weights))));
        let best = ranked.first().map_or(0.0, |(_, score)| *score);
        ranked.iter_mut().for_each(|(id, score)| *score = score.max(best * self.understood.share_meant(id)));
        sorted(ranked)
    }

    fn score(&self, id: &str, of: &Candidate, weights: Parts) -> f32 {
        DIRECT * self.understood.share_meant(id) + self.weighted_sum(id, of, weights)
    }

    fn weighted_sum(&self, id: &str, of: &Candidate, weights: Parts) -> f32 {
        let kind = self.facts.get(id).map(|facts| facts.kind);
        let prior = self.facts.get(id).map_or(1.0, |facts| self.understood.prior(facts));
        // One leg alone is not weighed against the other.
        let is_weighed = kind == Some(DocumentKind::Commit) && self.mode == Mode::Hybrid;
        let weights = if is_weighed { of_commit(weights) } else { weights };
        let parts = Parts { semantic: of.nearness, ..of.parts };
        prior * parts.score(&weights)
    }

    /// The part that alone has a weight.
    fn only_part(&self) -> Option<usize> {
        let weights = self.ranking.weights.named();
        let mut weighed = weights.iter().enumerate().filter(|(_, (_, weight))| *weight > 0.0);
        weighed.next().map(|(part, _)| part).filter(|_| weighed.next().is_none())
    }

    /// In the order of one part, and nothing else; equal ones in the usual order.
    fn ranked_by(&self, part: usize, candidates: &BTreeMap<String, Candidate>) -> Vec<(String, f32)> {
        let usual = sorted(candidates.iter().map(|(id, of)| (id, self.score(id, of, Profile::Default.weights()))));
        let value = |id: &String| candidates.get(id).map_or(0.0, |of| of.parts.named()[part].1);
        let mut ranked: Vec<_> = usual.into_iter().map(|(id, _)| (id.clone(), value(id))).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked
    }
}

/// What the parts of a commit count where those of others count so much.
fn of_commit(weights: Parts) -> Parts {
    Parts { semantic: weights.semantic * MEANING_OF_COMMIT, ..weights }
}

/// What is ranked: documents that meet the filter, each with its passages and those of its parts.
pub(super) fn build_candidates(
    measured: Vec<ScoredPassage>,
    facts: &HashMap<String, DocumentFacts>,
    lexical: &HashMap<String, f32>,
    filter: &Filter,
) -> BTreeMap<String, Candidate> {
    let prepared = PreparedFilter::of(filter);
    let wanted = |id: &str| facts.get(id).is_some_and(|facts| prepared.is_met_by(id, facts));
    let whole_of = |id: &str| {
        let Some(of) = facts.get(id) else { return vec![] };
        let whole = &*of.thread;
        let mut wholes = Vec::new();
        if wanted(whole) {
            wholes.push(whole.to_owned());
        }
        // A part is a hit of its own where parts are asked for, or where its whole is not.
        let alone = filter.kinds.contains(&of.kind) || (filter.kinds.is_empty() && wholes.is_empty());
        if whole != id && alone && wanted(id) {
            wholes.push(id.to_owned());
        }
        wholes
    };
    let candidate = |(id, passages): (String, Vec<ScoredPassage>)| {
        let facts = facts.get(id.as_str())?;
        // Of code, the part that has most of the words is evidence for the file.
        let parts = passages.iter().map(|passage| passage.document.as_str()).collect::<BTreeSet<_>>();
        let of_parts = parts.iter().filter(|_| facts.kind == DocumentKind::File).filter_map(|part| lexical.get(*part));
        let reached = lexical.get(&id).into_iter().chain(of_parts).copied().fold(0.0, f32::max);
        let candidate = Candidate::new(&id, facts, passages, reached);
        Some((id, candidate))
    };
    group_by_document(measured, whole_of).into_iter().filter_map(candidate).collect()
}
