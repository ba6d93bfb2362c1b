//! Mean reciprocal ranks, and how surely one side's are higher.

/// Hits that are looked at.
pub(super) const DEPTH: usize = 10;
/// Samples with repetition, of which the interval is made.
const SAMPLES: usize = 10_000;

/// Ranks of the first right answer to a question, from 1.
pub(super) struct Outcome {
    pub(super) own: Option<usize>,
    pub(super) other: Option<usize>,
}

fn reciprocal(rank: Option<usize>) -> f64 {
    rank.map_or(0.0, |rank| 1.0 / rank as f64)
}

pub(super) fn print_head() {
    println!("MRR and a right answer among the first {DEPTH}: search / BM25 and MiniLM, joined by RRF");
    println!("{:<30} {:>9} {:>13} {:>11} {:>28}", "", "questions", "MRR", "hit@10", "difference of MRR, 95%");
}

/// Prints what was measured of some questions.
pub(super) fn print_line(name: &str, outcomes: &[Outcome]) {
    let mean = |value: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(value).sum::<f64>() / outcomes.len().max(1) as f64;
    let (own, other) = (mean(&|of| reciprocal(of.own)), mean(&|of| reciprocal(of.other)));
    let hit = |rank: Option<usize>| f64::from(u8::from(rank.is_some()));
    let (own_hit, other_hit) = (mean(&|of| hit(of.own)), mean(&|of| hit(of.other)));
    let differences: Vec<f64> = outcomes.iter().map(|of| reciprocal(of.own) - reciprocal(of.other)).collect();
    let (low, high) = interval(&differences);
    println!(
        "{name:<30} {:>9} {own:>7.3}/{other:.3} {own_hit:>6.2}/{other_hit:.2} {:>12.3} ({low:.3} to {high:.3})",
        outcomes.len(),
        own - other,
    );
}

/// The middle 95 of 100 means of samples with repetition.
fn interval(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let mut state = 1u64;
    let mut any = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values[(state >> 33) as usize % values.len()]
    };
    let mut means: Vec<f64> =
        (0..SAMPLES).map(|_| (0..values.len()).map(|_| any()).sum::<f64>() / values.len() as f64).collect();
    means.sort_by(f64::total_cmp);
    (means[SAMPLES / 40], means[SAMPLES - SAMPLES / 40 - 1])
}
