//! Measures inferred links by hiding stated ones.

use serde::{Deserialize, Serialize};

/// What was recovered for a change whose stated links were hidden.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkTrial {
    /// Whether it closes an issue, as was stated.
    pub closes: bool,
    /// Whether it is linked with an issue, as was stated.
    pub linked: bool,
    /// The most likely issue; `None` if it has no candidates.
    pub found: Option<TrialResult>,
}

/// The most likely issue of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialResult {
    /// How likely it is.
    pub confidence: f32,
    /// Whether it is one that the change closes.
    pub closes: bool,
    /// Whether it is one that the change is linked with.
    pub linked: bool,
}

/// How good the links are that have at least some confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkCurvePoint {
    /// Least confidence.
    pub confidence: f32,
    /// Links that are told.
    pub told: u64,
    /// Of these, those that were stated, in whatever way.
    pub right: u64,
    /// Of these, those that were stated as closing.
    pub closing: u64,
    /// Share of those told that are right; 1 if none are told.
    pub precision: f64,
    /// Share of the changes that close an issue for which one of these is told.
    pub recall: f64,
    /// Share of the changes that are linked with an issue for which one of these is told.
    pub recall_any: f64,
}

/// What was recovered of hidden links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkReport {
    /// Changes whose links were hidden, also those that have none: a link of one of those is wrong.
    pub changes: u64,
    /// Of these, those that are linked with an issue.
    pub linked: u64,
    /// Of these, those that close one.
    pub closing: u64,
    /// What is told by default.
    pub told: LinkCurvePoint,
    /// The same for other confidences, the highest first.
    pub curve: Vec<LinkCurvePoint>,
}

/// Confidences of the curve.
const STEPS: u8 = 20;

impl LinkReport {
    /// Measures links that have at least the confidence `least`.
    pub fn of(recovered: &[LinkTrial], least: f32) -> Self {
        let count = |of: &dyn Fn(&LinkTrial) -> bool| recovered.iter().filter(|one| of(one)).count() as u64;
        let (linked, closing) = (count(&|one| one.linked), count(&|one| one.closes));
        let told = |one: &LinkTrial, least: f32| one.found.filter(|found| found.confidence >= least);
        let point = |least: f32| {
            let all = count(&|one| told(one, least).is_some());
            let right = count(&|one| told(one, least).is_some_and(|found| found.linked));
            let closes = count(&|one| told(one, least).is_some_and(|found| found.closes));
            LinkCurvePoint {
                confidence: least,
                told: all,
                right,
                closing: closes,
                precision: if all == 0 { 1.0 } else { share(right, all) },
                recall: share(closes, closing),
                recall_any: share(right, linked),
            }
        };
        Self {
            changes: recovered.len() as u64,
            linked,
            closing,
            told: point(least),
            curve: (1..STEPS).rev().map(|step| point(f32::from(step) / f32::from(STEPS))).collect(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of changes are far below 2^52")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(linked: bool, closes: bool, confidence: f32, right: bool) -> LinkTrial {
        let found = TrialResult { confidence, closes: right && closes, linked: right };
        LinkTrial { closes, linked, found: Some(found) }
    }

    #[test]
    fn a_link_of_a_change_without_any_is_wrong() {
        let recovered = [
            change(true, true, 0.95, true),
            change(true, false, 0.8, true),
            change(false, false, 0.85, false),
            change(true, true, 0.3, true),
            LinkTrial { closes: false, linked: false, found: None },
        ];
        let report = LinkReport::of(&recovered, 0.75);
        assert_eq!((report.changes, report.linked, report.closing), (5, 3, 2));
        assert_eq!((report.told.told, report.told.right, report.told.closing), (3, 2, 1));
        assert!((report.told.precision - 2.0 / 3.0).abs() < 1e-9 && (report.told.recall - 0.5).abs() < 1e-9);
        let told: Vec<u64> = report.curve.iter().map(|point| point.told).collect();
        assert!(told.is_sorted(), "a lower confidence tells no fewer: {told:?}");
    }

    #[test]
    fn nothing_to_recover_is_no_error() {
        let report = LinkReport::of(&[], 0.75);
        assert_eq!((report.told.told, report.told.recall), (0, 0.0));
        assert!((report.told.precision - 1.0).abs() < 1e-9);
    }
}
