//! Searching an index of 100,000 documents: how long it takes, how much of the exact answer it finds, and how much
//! memory it needs.
//!
//! `cargo bench --profile dev -p backstory-store --bench index [-- DIRECTORY]` prints a table. The index is made in
//! the directory, if it is not there already, else in a temporary one.

#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use backstory_model::{
    digest::sha256_hex,
    document::{Document, Part},
    entity::State,
    filter::{DocumentKind, Filter},
};
use backstory_store::index::{Index, ModelTag, NewPassage, NewPassages, ThreadDocuments};
use jiff::Timestamp;

const DOCUMENTS: usize = 100_000;
/// An issue or merge request and its discussions.
const DOCUMENTS_PER_THREAD: usize = 4;
const THREADS: usize = DOCUMENTS / DOCUMENTS_PER_THREAD;
const VOCABULARY: usize = 40_000;
const STOP_WORDS: usize = 30;
const DIMENSION: usize = 384;
const CLUSTERS: u64 = 400;
/// Passages are cut at about this many characters.
const PASSAGE: usize = 900;
const QUERIES: usize = 200;
const RECALL_QUERIES: usize = 20;
const LIMIT: usize = 50;

/// SplitMix64: the same numbers every time, and any of them without those before.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
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
struct Vocabulary {
    words: Vec<String>,
    cumulated: Vec<f64>,
}

impl Vocabulary {
    fn new() -> Self {
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
    fn telling_word(&self, random: &mut Random) -> &str {
        loop {
            let word = self.word(random);
            if !self.words[..STOP_WORDS].iter().any(|stop| stop == word) {
                return word;
            }
        }
    }

    fn text(&self, random: &mut Random, characters: usize) -> String {
        let mut text = String::new();
        while text.len() < characters {
            text.push_str(self.word(random));
            text.push(' ');
        }
        text
    }
}

fn thread(vocabulary: &Vocabulary, number: usize, edition: u64) -> ThreadDocuments {
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
        vec![Part { attribution: String::new(), body: vocabulary.text(random, length) }]
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
        state: State::ALL[random.below(3)],
        created_at,
        updated_at: created_at,
        header: title,
        parts: body(&mut random),
        whole_text: String::new(),
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

/// A point near the centre of one of the clusters.
fn vector(seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    let mut centre = Random(u64::MAX - random.next() % CLUSTERS);
    (0..DIMENSION).map(|_| centre.bell() + 0.8 * random.bell()).collect()
}

fn seed(document: &str, passage: usize) -> u64 {
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

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

async fn build(index: &Index, vocabulary: &Vocabulary) -> Outcome<()> {
    let (mut applying, mut embedding) = (Duration::ZERO, Duration::ZERO);
    for (step, from) in (0..THREADS).step_by(500).enumerate() {
        let threads: Vec<_> = (from..(from + 500).min(THREADS)).map(|number| thread(vocabulary, number, 0)).collect();
        let passages = threads.iter().flat_map(|thread| thread.documents.iter().map(passages)).collect();
        let start = Instant::now();
        index.apply(threads, step as u64).await?;
        applying += start.elapsed();
        let start = Instant::now();
        index.add_passages(passages).await?;
        embedding += start.elapsed();
    }
    row("apply all, 500 threads each", &[applying]);
    row("add all vectors, 2,000 documents each", &[embedding]);
    let start = Instant::now();
    index.optimize().await?;
    row("optimize all", &[start.elapsed()]);
    Ok(())
}

fn row(what: &str, times: &[Duration]) {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |share: usize| sorted[(sorted.len() - 1) * share / 100].as_secs_f64() * 1_000.0;
    println!("{what:<44} {:>6} {:>9.2} {:>9.2} {:>9.2}", times.len(), at(50), at(95), at(100));
}

fn memory(when: &str) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() / 1024
    };
    println!("{when:<44} resident {} MiB, at most {} MiB", field("VmRSS"), field("VmHWM"));
}

fn filters() -> Vec<(&'static str, Filter)> {
    let all = Filter::default();
    let date = |second| Timestamp::from_second(second).ok();
    vec![
        ("no filter", all.clone()),
        ("issues", Filter { kinds: vec![DocumentKind::Issue], ..all.clone() }),
        ("a rare author", Filter { author: Some("author1500".into()), ..all.clone() }),
        ("two labels", Filter { labels: vec!["label-3".into(), "label-7".into()], ..all.clone() }),
        ("a tenth of the time", Filter { after: date(1_500_000_000), before: date(1_530_000_000), ..all.clone() }),
        ("merged", Filter { state: Some(State::Merged), ..all }),
    ]
}

async fn searches(index: &Index, vocabulary: &Vocabulary, when: &str, filter: &Filter) -> Outcome<()> {
    let (mut lexical, mut semantic, mut both) = (vec![], vec![], vec![]);
    for n in 0..QUERIES {
        let mut random = Random(7_000_000 + n as u64);
        let words = 2 + random.below(6);
        let query: Vec<&str> = (0..words).map(|_| vocabulary.telling_word(&mut random)).collect();
        let (query, vector) = (query.join(" "), vector(9_000_000 + n as u64));
        let start = Instant::now();
        index.lexical(&query, filter, LIMIT).await?;
        lexical.push(start.elapsed());
        let start = Instant::now();
        index.semantic(&vector, filter, LIMIT).await?;
        semantic.push(start.elapsed());
        let start = Instant::now();
        tokio::try_join!(index.lexical(&query, filter, LIMIT), index.semantic(&vector, filter, LIMIT))?;
        both.push(start.elapsed());
    }
    row(&format!("lexical, {when}"), &lexical);
    row(&format!("semantic, {when}"), &semantic);
    row(&format!("both at once, {when}"), &both);
    Ok(())
}

async fn long_query(index: &Index, vocabulary: &Vocabulary) -> Outcome<()> {
    let mut times = vec![];
    for n in 0..10 {
        let query = vocabulary.text(&mut Random(n), 10_000);
        let start = Instant::now();
        index.lexical(&query, &Filter::default(), LIMIT).await?;
        times.push(start.elapsed());
    }
    row("lexical, query of 10,000 characters", &times);
    Ok(())
}

async fn lookups(index: &Index) -> Outcome<()> {
    let (mut documents, mut coverage) = (vec![], vec![]);
    for n in 0..QUERIES {
        let mut random = Random(n as u64);
        let ids: Vec<_> = (0..LIMIT).map(|_| format!("acme/shop#{}", random.below(THREADS / 2) * 2)).collect();
        let start = Instant::now();
        index.documents(&ids).await?;
        documents.push(start.elapsed());
        let start = Instant::now();
        index.coverage();
        coverage.push(start.elapsed());
    }
    row("50 documents by id", &documents);
    row("coverage", &coverage);
    Ok(())
}

/// Documents of the exact answer that the search finds.
async fn recall(index: &Index, vocabulary: &Vocabulary) -> Outcome<()> {
    let cosine = |a: &[f32], b: &[f32]| {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let queries: Vec<_> = (0..RECALL_QUERIES as u64).map(|n| vector(9_000_000 + n)).collect();
    let mut exact: Vec<Vec<(f32, String)>> = vec![vec![]; RECALL_QUERIES];
    for number in 0..THREADS {
        for document in thread(vocabulary, number, 0).documents {
            let vectors: Vec<_> =
                (0..document.text().len().div_ceil(PASSAGE)).map(|n| vector(seed(&document.id, n))).collect();
            for (query, best) in queries.iter().zip(&mut exact) {
                let score = vectors.iter().map(|vector| cosine(query, vector)).fold(f32::MIN, f32::max);
                best.push((score, document.id.clone()));
                if best.len() > 20 * LIMIT {
                    best.sort_by(|a, b| b.0.total_cmp(&a.0));
                    best.truncate(LIMIT);
                }
            }
        }
    }
    let mut found = 0;
    for (query, best) in queries.iter().zip(&mut exact) {
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        best.truncate(LIMIT);
        let hits = index.semantic(query, &Filter::default(), LIMIT).await?;
        found += hits.iter().filter(|hit| best.iter().any(|(_, id)| *id == hit.document)).count();
    }
    println!("{:<44} {:.4}", "semantic, recall of the exact 50", found as f64 / (RECALL_QUERIES * LIMIT) as f64);
    Ok(())
}

async fn changes(index: &Index, vocabulary: &Vocabulary) -> Outcome<()> {
    let mut applying = vec![];
    for edition in 1..=10 {
        let threads = (0..100).map(|n| thread(vocabulary, n * 97 + edition as usize, edition)).collect();
        let start = Instant::now();
        index.apply(threads, 1_000 + edition).await?;
        applying.push(start.elapsed());
        if edition == 1 {
            let unindexed = index.unindexed().await?;
            searches(index, vocabulary, &format!("{unindexed} documents unindexed"), &Filter::default()).await?;
        }
    }
    row("apply 100 changed threads", &applying);
    let unindexed = index.unindexed().await?;
    let start = Instant::now();
    index.optimize().await?;
    row(&format!("optimize, {unindexed} documents unindexed"), &[start.elapsed()]);
    Ok(())
}

async fn run(dir: &Path) -> Outcome<()> {
    let vocabulary = Vocabulary::new();
    println!("{:<44} {:>6} {:>9} {:>9} {:>9}", "", "runs", "p50 ms", "p95 ms", "max ms");
    let model = ModelTag { name: "generated".into(), dimension: DIMENSION };
    let start = Instant::now();
    let mut index = Index::open(dir, model.clone()).await?;
    if index.coverage().documents == 0 {
        build(&index, &vocabulary).await?;
        memory("after the build");
        drop(index);
        let start = Instant::now();
        index = Index::open(dir, model).await?;
        row("open", &[start.elapsed()]);
    } else {
        row("open", &[start.elapsed()]);
    }
    memory("after opening");
    let coverage = index.coverage();
    let disk = index.size_on_disk()? >> 20;
    println!("{} documents, {} passages, {disk} MiB on disk", coverage.documents, coverage.passages);
    for (name, filter) in filters() {
        searches(&index, &vocabulary, name, &filter).await?;
    }
    long_query(&index, &vocabulary).await?;
    lookups(&index).await?;
    memory("after the searches");
    recall(&index, &vocabulary).await?;
    changes(&index, &vocabulary).await?;
    memory("after the changes");
    println!("{:<44} {} MiB", "on disk", index.size_on_disk()? >> 20);
    Ok(())
}

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        Some(dir) => runtime.block_on(run(Path::new(&dir))),
        None => runtime.block_on(run(tempfile::tempdir()?.path())),
    }
}
