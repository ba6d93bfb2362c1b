//! The values that the metrics of an evaluation must reach.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Metric, Refusal, Report, Retriever};

/// What bounds of refusals stand under.
pub const REFUSAL_GROUP: &str = "refusal";

/// What the measures must reach.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The least of each measure of each leg.
    pub legs: BTreeMap<Retriever, BTreeMap<Metric, f64>>,
    /// Of refusals: the least precision and recall, the most false ones.
    pub refusal: BTreeMap<&'static str, f64>,
}

/// A share of the questions, as a report tells it of refusals.
type Share = fn(&Refusal) -> Option<f64>;

/// What is measured of refusals, and whether more of it is better.
const REFUSALS: [(&str, Share, bool); 3] = [
    ("precision", |refusal| refusal.precision, true),
    ("recall", |refusal| refusal.recall, true),
    ("false", |refusal| refusal.r#false, false),
];

impl Bounds {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.legs.is_empty() && self.refusal.is_empty()
    }

    /// Reads `{fused: {mrr: 0.7}, refusal: {recall: 0.8, false: 0.1}}`.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(groups) = value else { return Err("'bounds' is not an object".to_owned()) };
        let mut bounds = Self::default();
        for (group, limits) in groups {
            let Value::Object(limits) = limits else {
                return Err(format!("the bounds of '{group}' are not an object"));
            };
            for (name, limit) in limits {
                let limit = limit.as_f64().filter(|limit| (0.0..=1.0).contains(limit));
                let limit = limit.ok_or_else(|| format!("the bound {group} {name} is not a number from 0 to 1"))?;
                bounds.add(group, name, limit)?;
            }
        }
        Ok(bounds)
    }

    fn add(&mut self, group: &str, name: &str, limit: f64) -> Result<(), String> {
        let unknown = |kind: &str, known: Vec<&str>| {
            format!("the bound {group} {name} is of no {kind} that there is: {}", known.join(", "))
        };
        if group == REFUSAL_GROUP {
            let known = REFUSALS.map(|(name, ..)| name);
            let found = known.into_iter().find(|known| *known == name);
            self.refusal.insert(found.ok_or_else(|| unknown("measure", known.to_vec()))?, limit);
            return Ok(());
        }
        let legs = Retriever::ALL.map(Retriever::as_str).into_iter().chain([REFUSAL_GROUP]).collect();
        let leg = Retriever::from_name(group).ok_or_else(|| unknown("leg", legs))?;
        let measures = Metric::ALL.map(Metric::as_str).to_vec();
        let measure = Metric::from_name(name).ok_or_else(|| unknown("measure", measures))?;
        self.legs.entry(leg).or_default().insert(measure, limit);
        Ok(())
    }

    /// A sentence for every bound that a report does not meet. Legs that were not asked are left out.
    pub fn violations(&self, report: &Report) -> Vec<String> {
        let mut unmet = Vec::new();
        for (leg, least) in &self.legs {
            let Some(scored) = report.legs.get(leg) else { continue };
            for (measure, least) in least {
                let mean = scored.measures.get(measure).map_or(0.0, |estimate| estimate.mean);
                if mean < *least {
                    unmet.push(format!(
                        "{} {} is {mean:.4}; at least {least} is required",
                        leg.as_str(),
                        measure.as_str()
                    ));
                }
            }
        }
        for (name, share, more) in REFUSALS {
            let Some(limit) = self.refusal.get(name) else { continue };
            let wanted = if more { "least" } else { "most" };
            match report.refusal.as_ref().and_then(share) {
                None => unmet.push(format!("{REFUSAL_GROUP} {name} was not measured; at {wanted} {limit} is required")),
                Some(share) if (more && share < *limit) || (!more && share > *limit) => {
                    unmet.push(format!("{REFUSAL_GROUP} {name} is {share:.4}; at {wanted} {limit} is required"));
                }
                Some(_) => {}
            }
        }
        unmet
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::eval::{Estimate, RetrieverScore};

    #[test]
    fn tells_every_bound_that_is_not_met() {
        let bounds = Bounds::read(&json!({
            "fused": { "mrr": 0.7, "recall@10": 0.5 },
            "graph": { "mrr": 0.9 },
            "refusal": { "recall": 0.8, "false": 0.1, "precision": 0.3 },
        }))
        .unwrap();
        let estimate = Estimate { mean: 0.654_321, low: 0.0, high: 1.0 };
        let measures = Metric::ALL.map(|measure| (measure, estimate)).into();
        let mut report = Report::default();
        report.legs.insert(Retriever::Fused, RetrieverScore { measures, ..RetrieverScore::default() });
        assert_eq!(
            bounds.violations(&report),
            [
                "fused mrr is 0.6543; at least 0.7 is required",
                "refusal precision was not measured; at least 0.3 is required",
                "refusal recall was not measured; at least 0.8 is required",
                "refusal false was not measured; at most 0.1 is required",
            ]
        );
        report.refusal =
            Some(Refusal { precision: Some(0.3), recall: Some(0.75), r#false: Some(0.2), ..Refusal::default() });
        assert_eq!(
            bounds.violations(&report)[1..],
            ["refusal recall is 0.7500; at least 0.8 is required", "refusal false is 0.2000; at most 0.1 is required",]
        );
        assert!(Bounds::default().violations(&report).is_empty());
    }

    #[test]
    fn refuses_bounds_that_mean_nothing() {
        let wrong = |value| Bounds::read(&value).unwrap_err();
        assert_eq!(wrong(json!([])), "'bounds' is not an object");
        assert_eq!(wrong(json!({ "fused": 1 })), "the bounds of 'fused' are not an object");
        assert_eq!(wrong(json!({ "fused": { "mrr": 74 } })), "the bound fused mrr is not a number from 0 to 1");
        assert_eq!(
            wrong(json!({ "fuse": { "mrr": 0.7 } })),
            "the bound fuse mrr is of no leg that there is: lexical, semantic, graph, rrf, fused, refusal"
        );
        assert_eq!(
            wrong(json!({ "fused": { "map": 0.7 } })),
            "the bound fused map is of no measure that there is: recall@1, recall@3, recall@10, hit@10, mrr, ndcg@10"
        );
        assert_eq!(
            wrong(json!({ "refusal": { "mrr": 0.7 } })),
            "the bound refusal mrr is of no measure that there is: precision, recall, false"
        );
    }
}
