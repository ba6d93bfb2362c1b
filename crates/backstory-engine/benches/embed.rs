//! How fast the bundled model is: passages a second with two threads, and how long a query takes, alone and beside
//! passages. `embed_onnxruntime.py` beside this file measures the same passages with ONNX Runtime.
//!
//! `cargo bench --profile dev --workspace --bench embed -- [--rounds N] [--threads N] [--model=NAME]`
//!
//! Without `-p backstory` the dependencies get other features, and all of them are compiled once more.
#![allow(clippy::print_stdout, reason = "a benchmark reports on standard output")]

use std::time::{Duration, Instant};

use backstory_engine::{
    embed::{Embedder, Settings},
    provider::ProviderError,
};

const PASSAGES: usize = 200;
/// Words of a passage; they make 110 tokens in the mean.
const WORDS: std::ops::RangeInclusive<u64> = 52..=154;
const QUERIES: usize = 60;

/// The same passages everywhere: a linear congruential generator picks words from a list.
struct Passages {
    words: Vec<&'static str>,
    state: u64,
}

impl Passages {
    fn new() -> Self {
        Self { words: include_str!("words.txt").split_whitespace().collect(), state: 1 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound
    }

    fn word(&mut self) -> &'static str {
        let at = self.below(self.words.len() as u64);
        self.words[at as usize]
    }

    fn text(&mut self, words: u64) -> String {
        let words: Vec<&str> = (0..words).map(|_| self.word()).collect();
        words.join(" ")
    }

    fn passage(&mut self) -> String {
        let words = WORDS.start() + self.below(WORDS.end() - WORDS.start() + 1);
        self.text(words)
    }
}

fn argument(name: &str, default: usize) -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1).and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// The value that a share of all values does not exceed.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

async fn queries(embedder: &Embedder, texts: &[String], pause: Duration) -> Result<Vec<f64>, ProviderError> {
    let mut times = Vec::new();
    for text in texts {
        tokio::time::sleep(pause).await;
        let started = Instant::now();
        embedder.embed_query(text).await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times)
}

async fn run() -> Result<(), ProviderError> {
    let (rounds, threads) = (argument("--rounds", 5), argument("--threads", 2));
    let mut source = Passages::new();
    let passages: Vec<String> = (0..PASSAGES).map(|_| source.passage()).collect();
    // Different ones: the vector of a query that was asked before is remembered.
    let [short, others] = [(); 2].map(|()| (0..QUERIES).map(|_| source.text(8)).collect::<Vec<_>>());
    let model = std::env::args().find_map(|argument| argument.strip_prefix("--model=").map(str::to_owned));
    let embedder = Embedder::open(Settings { threads: Some(threads), model, ..Settings::default() }).await?;
    let started = Instant::now();
    embedder.check().await?;
    let load = started.elapsed().as_secs_f64() * 1e3;
    let tokens: usize = passages.iter().map(|text| embedder.count_tokens(text)).sum();

    let mut speeds = Vec::new();
    for _ in 0..rounds.max(1) {
        let started = Instant::now();
        embedder.embed_in_background(&passages).await?;
        speeds.push(PASSAGES as f64 / started.elapsed().as_secs_f64());
    }
    let mut alone = queries(&embedder, &short, Duration::ZERO).await?;
    let background = {
        let embedder = embedder.clone();
        tokio::spawn(async move {
            loop {
                if let Err(error) = embedder.embed_in_background(&passages).await {
                    return error;
                }
            }
        })
    };
    let mut beside = queries(&embedder, &others, Duration::from_millis(20)).await?;
    background.abort();
    println!(
        "{{\"passages_per_second\":{:.1},\"tokens_per_passage\":{},\"threads\":{threads},\"load_ms\":{load:.0},\
         \"query_p50_ms\":{:.1},\"query_p95_ms\":{:.1},\"query_beside_passages_p50_ms\":{:.1},\
         \"query_beside_passages_p95_ms\":{:.1}}}",
        quantile(&mut speeds, 0.5),
        tokens / PASSAGES,
        quantile(&mut alone, 0.5),
        quantile(&mut alone, 0.95),
        quantile(&mut beside, 0.5),
        quantile(&mut beside, 0.95),
    );
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), ProviderError> {
    run().await
}
