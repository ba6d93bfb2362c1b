//! Where the first right answer stood, as recall and mean reciprocal rank.

/// Hits that are looked at.
pub(super) const DEPTH: usize = 10;
/// Overlaps of wording, below which questions are told apart.
const OVERLAPS: [(f32, f32); 3] = [(0.0, 0.3), (0.3, 0.5), (0.5, 1.01)];

/// Ranks of the first right answer to a question, from 1.
pub(super) struct Outcomes {
    pub(super) own: Option<usize>,
    pub(super) other: Option<usize>,
}

/// Ranks of all answers of one side.
#[derive(Clone, Debug, Default)]
struct Ranks(Vec<Option<usize>>);

impl Ranks {
    #[expect(clippy::cast_precision_loss, reason = "counts of questions are small")]
    fn mean(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.0.iter().flatten().map(|rank| value(*rank)).sum::<f64>() / self.0.len().max(1) as f64
    }

    /// Recall at 1, 3 and 10 and the mean reciprocal rank.
    #[expect(clippy::cast_precision_loss, reason = "ranks are small")]
    fn measures(&self) -> [f64; 4] {
        let recall = |depth: usize| self.mean(|rank| f64::from(u8::from(rank <= depth)));
        [recall(1), recall(3), recall(DEPTH), self.mean(|rank| 1.0 / rank as f64)]
    }
}

/// What was measured on a repository.
pub(super) struct Row {
    name: String,
    commits: usize,
    questions: Vec<(f32, Outcomes)>,
}

impl Row {
    pub(super) fn new(name: String, commits: usize) -> Self {
        Self { name, commits, questions: Vec::new() }
    }

    pub(super) fn add(&mut self, overlap: f32, outcomes: &Outcomes) {
        let Outcomes { own, other } = *outcomes;
        self.questions.push((overlap, Outcomes { own, other }));
    }

    /// Both sides' measures, of the questions whose overlap is in a range.
    fn measures(&self, from: f32, to: f32) -> (usize, [f64; 4], [f64; 4]) {
        let some = self.questions.iter().filter(|(overlap, _)| (from..to).contains(overlap));
        let (mut own, mut other) = (Ranks::default(), Ranks::default());
        for (_, outcomes) in some {
            own.0.push(outcomes.own);
            other.0.push(outcomes.other);
        }
        (own.0.len(), own.measures(), other.measures())
    }

    pub(super) fn print(&self) {
        let (count, own, other) = self.measures(0.0, f32::INFINITY);
        line(&format!("{}, {} commits", self.name, self.commits), &count.to_string(), own, other);
    }
}

pub(super) fn head() {
    println!(
        "recall of the commit that answers, and mean reciprocal rank: search for commits / BM25 over message and paths"
    );
    println!(
        "{:<40} {:>9} {:>11} {:>11} {:>6} {:>11} {:>11}",
        "", "questions", "at 1", "at 3", "times", "at 10", "MRR"
    );
}

fn line(name: &str, count: &str, own: [f64; 4], other: [f64; 4]) {
    let pair = |at: usize| format!("{:.3}/{:.3}", own[at], other[at]);
    let times = own[1] / other[1].max(f64::MIN_POSITIVE);
    println!("{name:<40} {count:>9} {:>11} {:>11} {times:>6.3} {:>11} {:>11}", pair(0), pair(1), pair(2), pair(3));
}

/// Means over the repositories, of all questions and by how much their wording is that of the message.
pub(super) fn summary(rows: &[Row]) {
    let mean = |name: &str, (from, to): (f32, f32)| {
        let measured: Vec<_> = rows.iter().map(|row| row.measures(from, to)).filter(|(count, ..)| *count > 0).collect();
        let count: usize = measured.iter().map(|(count, ..)| count).sum();
        #[expect(clippy::cast_precision_loss, reason = "repositories are few")]
        let repositories = measured.len().max(1) as f64;
        let mut means = [[0.0; 4]; 2];
        for (_, own, other) in &measured {
            for at in 0..4 {
                means[0][at] += own[at] / repositories;
                means[1][at] += other[at] / repositories;
            }
        }
        line(name, &count.to_string(), means[0], means[1]);
    };
    mean("mean", (0.0, f32::INFINITY));
    for range in OVERLAPS {
        mean(&format!("  wording shared {:.1} to {:.1}", range.0, range.1.min(1.0)), range);
    }
}
