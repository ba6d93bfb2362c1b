//! A generated corpus, of 100,000 documents unless a bench takes another number, with the word frequencies and lengths of a real one, the same every time, and
//! how its measurements are printed.

#![allow(dead_code, reason = "not every bench measures everything")]

use std::time::{Duration, Instant};

use backstory_model::{
    digest::sha256_hex,
    document::{Document, DocumentPart},
    entity::State,
    filter::DocumentKind,
};
use backstory_store::index::{Index, NewPassage, NewPassages, ThreadDocuments};
use jiff::Timestamp;

pub(crate) const DOCUMENTS: usize = 100_000;
/// An issue or merge request and its discussions.
const DOCUMENTS_PER_THREAD: usize = 4;
pub(crate) const THREADS: usize = DOCUMENTS / DOCUMENTS_PER_THREAD;
const VOCABULARY: usize = 40_000;
const STOP_WORDS: usize = 30;
pub(crate) const DIMENSION: usize = 384;
const CLUSTERS: u64 = 400;
/// Passages are cut at about this many characters.
pub(crate) const PASSAGE: usize = 900;

/// SplitMix64: the same numbers every time, and any of them without those before.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Between 0 and 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normally distributed around 0.
    fn bell(&mut self) -> f32 {
        let bits = self.next();
        let sum: u64 = (0..4).map(|part| (bits >> (16 * part)) & 0xffff).sum();
        (sum as f32 / 65_536.0 - 2.0) * 1.73
    }
}

/// Words, the n-th of them 1/n times as frequent as the first.
pub(crate) struct Vocabulary {
    words: Vec<String>,
    cumulated: Vec<f64>,
}

impl Vocabulary {
    pub(crate) fn new() -> Self {
        let mut random = Random(1);
        let syllables =
            ["ba", "co", "di", "fu", "ge", "hi", "jo", "ka", "lo", "mu", "ne", "pi", "ro", "sa", "tu", "va"];
        let word = |n: usize| {
            let mut word: String = (0..2 + n % 3).map(|_| syllables[random.below(syllables.len())]).collect();
            if n.is_multiple_of(11) {
                word = format!("{word}_{}", syllables[n % syllables.len()]);
            }
            format!("{word}{}", if n.is_multiple_of(7) { "ing" } else { "" })
        };
        let words = (0..VOCABULARY).map(word).collect();
        let mut total = 0.0;
        let cumulated = (1..=VOCABULARY).map(|rank| {
            total += 1.0 / rank as f64;
            total
        });
        Self { words, cumulated: cumulated.collect() }
    }

    fn word(&self, random: &mut Random) -> &str {
        let at = random.share() * self.cumulated[VOCABULARY - 1];
        &self.words[self.cumulated.partition_point(|&sum| sum < at).min(VOCABULARY - 1)]
    }

    /// A word that is not one of the most frequent: those stand for the stop words, which no query looks up.
    pub(crate) fn telling_word(&self, random: &mut Random) -> &str {
        loop {
            let word = self.word(random);
            if !self.words[..STOP_WORDS].iter().any(|stop| stop == word) {
                return word;
            }
        }
    }

    pub(crate) fn text(&self, random: &mut Random, characters: usize) -> String {
        let mut text = String::new();
        while text.len() < characters {
            text.push_str(self.word(random));
            text.push(' ');
        }
        text
    }
}

pub(crate) fn thread(vocabulary: &Vocabulary, number: usize, edition: u64) -> ThreadDocuments {
    let mut random = Random(number as u64 * 1_000 + edition * 0xabcd_ef01);
    let is_issue = number.is_multiple_of(2);
    let id = format!("acme/shop{}{number}", if is_issue { '#' } else { '!' });
    let created_at = Timestamp::from_second(1_400_000_000 + random.below(300_000_000) as i64).unwrap_or_default();
    let title = vocabulary.text(&mut random, 40);
    let labels = (0..30).filter(|_| random.below(20) == 0).map(|label| format!("label-{label}")).collect();
    // Most texts are short, some are long: 60 to 2,000 characters.
    let length = |random: &mut Random| (60.0 * (2_000.0f64 / 60.0).powf(random.share())) as usize;
    let body = |random: &mut Random| {
        let length = length(random);
        vec![DocumentPart { attribution: String::new(), body: vocabulary.text(random, length) }]
    };
    let parent = Document {
        id: id.clone(),
        kind: if is_issue { DocumentKind::Issue } else { DocumentKind::MergeRequest },
        project: "acme/shop".into(),
        parent: None,
        title: title.clone(),
        url: format!("https://forge/{number}"),
        author: Some(format!("author{}", (2_000.0f64).powf(random.share()) as usize)),
        labels,
        state: Some(State::ALL[random.below(3)]),
        created_at,
        updated_at: created_at,
        header: title,
        parts: body(&mut random),
        whole_text: String::new(),
        path: None,
        changed: vec![],
        lines: None,
        importance: 0.0,
        confidential: false,
    };
    let mut documents = vec![parent.clone()];
    for reply in 1..DOCUMENTS_PER_THREAD {
        documents.push(Document {
            id: format!("{id}~{reply}"),
            kind: DocumentKind::Discussion,
            parent: Some(id.clone()),
            header: format!("[{id}: {}] Discussion", parent.title),
            author: Some(format!("author{}", (2_000.0f64).powf(random.share()) as usize)),
            parts: body(&mut random),
            ..parent.clone()
        });
    }
    documents[0].whole_text = documents.iter().map(Document::text).collect::<Vec<_>>().join("\n\n");
    ThreadDocuments { thread: id, documents }
}

/// A point near the center of one of the clusters.
pub(crate) fn vector(seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    let mut center = Random(u64::MAX - random.next() % CLUSTERS);
    (0..DIMENSION).map(|_| center.bell() + 0.8 * random.bell()).collect()
}

pub(crate) fn seed(document: &str, passage: usize) -> u64 {
    u64::from_str_radix(&sha256_hex(&format!("{document}/{passage}"))[..15], 16).unwrap_or_default()
}

fn passages(document: &Document) -> NewPassages {
    let text = document.text();
    let pieces: Vec<&str> = (0..text.len().div_ceil(PASSAGE))
        .map(|n| text.get(n * PASSAGE..((n + 1) * PASSAGE).min(text.len())).unwrap_or_default())
        .collect();
    let passages = pieces.into_iter().enumerate().map(|(number, piece)| NewPassage {
        text: piece.to_owned(),
        text_hash: sha256_hex(piece),
        vector: vector(seed(&document.id, number)),
    });
    NewPassages { document: document.id.clone(), content_hash: document.content_hash(), passages: passages.collect() }
}

pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Fills an index with the corpus.
pub(crate) async fn build(index: &Index, vocabulary: &Vocabulary) -> Outcome<()> {
    build_of(index, vocabulary, DOCUMENTS).await
}

/// Fills an index with so many documents of the corpus.
pub(crate) async fn build_of(index: &Index, vocabulary: &Vocabulary, documents: usize) -> Outcome<()> {
    let all = documents / DOCUMENTS_PER_THREAD;
    let (mut applying, mut embedding) = (Duration::ZERO, Duration::ZERO);
    for from in (0..all).step_by(500) {
        let threads: Vec<_> = (from..(from + 500).min(all)).map(|number| thread(vocabulary, number, 0)).collect();
        let passages = threads.iter().flat_map(|thread| thread.documents.iter().map(passages)).collect();
        let start = Instant::now();
        // No ledger stands behind it: an engine would take later changes for those of another one.
        index.apply(threads, 0).await?;
        applying += start.elapsed();
        let start = Instant::now();
        index.replace_passages(passages).await?;
        embedding += start.elapsed();
    }
    row("apply all, 500 threads each", &[applying]);
    row("add all vectors, 2,000 documents each", &[embedding]);
    let start = Instant::now();
    index.optimize().await?;
    row("optimize all", &[start.elapsed()]);
    Ok(())
}

/// Prints how long something took; returns the 95th percentile in milliseconds.
pub(crate) fn row(what: &str, times: &[Duration]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |share: usize| sorted[(sorted.len() - 1) * share / 100].as_secs_f64() * 1_000.0;
    println!("{what:<44} {:>6} {:>9.2} {:>9.2} {:>9.2}", times.len(), at(50), at(95), at(100));
    at(95)
}

/// Prints how much memory the process has; returns the most that it had, in MiB.
pub(crate) fn memory(when: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u32>().ok()).unwrap_or_default() / 1024
    };
    println!("{when:<44} resident {} MiB, at most {} MiB", field("VmRSS"), field("VmHWM"));
    f64::from(field("VmHWM"))
}

/// A question of two to seven telling words.
pub(crate) fn question(vocabulary: &Vocabulary, number: usize) -> String {
    let mut random = Random(7_000_000 + number as u64);
    let words = 2 + random.below(6);
    (0..words).map(|_| vocabulary.telling_word(&mut random)).collect::<Vec<_>>().join(" ")
}

/// The head of the table that [`row`] fills.
pub(crate) fn head() {
    println!("{:<44} {:>6} {:>9} {:>9} {:>9}", "", "runs", "p50 ms", "p95 ms", "max ms");
}

/// The first argument that is no option and no number.
pub(crate) fn directory_argument() -> Option<String> {
    std::env::args().skip(1).find(|argument| !argument.starts_with("--") && argument.parse::<usize>().is_err())
}

/// The first argument that is a number: how many documents the corpus has.
pub(crate) fn documents_argument() -> usize {
    std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(DOCUMENTS)
}
