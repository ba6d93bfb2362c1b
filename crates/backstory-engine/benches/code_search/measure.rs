//! Normalized discounted cumulative gain of the first ten files.

use super::questions::Grades;

/// Files that are looked at.
pub(super) const DEPTH: usize = 10;
/// The kinds of questions, in the order in which they are told.
const KINDS: [&str; 3] = ["natural", "architecture", "symbol"];

/// What was measured of one question: the product and BM25.
pub(super) struct Outcome {
    pub(super) kind: String,
    pub(super) own: f64,
    pub(super) other: f64,
}

/// NDCG@10 of files in their order.
pub(super) fn ndcg(files: &[String], grades: &Grades) -> f64 {
    let gain = |grade: u32| f64::from(2u32.saturating_pow(grade) - 1);
    let discount = |at: usize| ((at + 2) as f64).log2();
    let found = files.iter().take(DEPTH).enumerate();
    let reached: f64 = found.map(|(at, file)| gain(grades.get(file).copied().unwrap_or(0)) / discount(at)).sum();
    let mut ideal: Vec<u32> = grades.values().copied().collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let best: f64 = ideal.into_iter().take(DEPTH).enumerate().map(|(at, grade)| gain(grade) / discount(at)).sum();
    reached / best.max(f64::MIN_POSITIVE)
}

pub(super) fn head() {
    println!("NDCG@10 by file: search for code / BM25 over chunks, and how many times that is");
    println!("{:<28} {:>9} {:>13} {:>6}", "", "questions", "", "times");
}

/// Prints the mean of all questions, of one kind if it is named.
pub(super) fn line(name: &str, outcomes: &[&Outcome]) {
    let mean = |value: fn(&Outcome) -> f64| {
        outcomes.iter().map(|outcome| value(outcome)).sum::<f64>() / outcomes.len().max(1) as f64
    };
    let (own, other) = (mean(|of| of.own), mean(|of| of.other));
    let times = own / other.max(f64::MIN_POSITIVE);
    println!("{name:<28} {:>9} {own:>6.3}/{other:.3} {times:>6.3}", outcomes.len());
}

/// All questions, and each kind.
pub(super) fn summary(outcomes: &[Outcome]) {
    line("all", &outcomes.iter().collect::<Vec<_>>());
    for kind in KINDS {
        line(&format!("  {kind}"), &outcomes.iter().filter(|of| of.kind == kind).collect::<Vec<_>>());
    }
}
