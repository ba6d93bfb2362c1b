//! BM25 (k1 1.5, b 0.75) over chunks of fixed size, as a common tool has it: words in lower case, identifiers whole and in
//! parts, no stemming. A file ranks where its best chunk does.

use std::collections::{HashMap, HashSet};

/// Lines of a chunk.
const CHUNK: usize = 40;
const K1: f64 = 1.5;
const B: f64 = 0.75;

struct Chunk {
    path: String,
    words: HashMap<String, u32>,
    length: f64,
}

/// The chunks of all files.
#[derive(Default)]
pub(super) struct Baseline {
    chunks: Vec<Chunk>,
    /// In how many chunks a word occurs.
    frequencies: HashMap<String, u32>,
}

impl Baseline {
    pub(super) fn add(&mut self, path: &str, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        for lines in lines.chunks(CHUNK) {
            let mut words: HashMap<String, u32> = HashMap::new();
            let all = split(&lines.join("\n"));
            let length = all.len() as f64;
            for word in all {
                *words.entry(word).or_default() += 1;
            }
            for word in words.keys() {
                *self.frequencies.entry(word.clone()).or_default() += 1;
            }
            self.chunks.push(Chunk { path: path.to_owned(), words, length });
        }
    }

    /// The paths of the best files, the best first.
    pub(super) fn files(&self, query: &str, limit: usize) -> Vec<String> {
        let mut seen = HashSet::new();
        let asked: Vec<String> = split(query).into_iter().filter(|word| seen.insert(word.clone())).collect();
        let count = self.chunks.len() as f64;
        let mean = self.chunks.iter().map(|chunk| chunk.length).sum::<f64>() / count.max(1.0);
        let mut best: HashMap<&str, f64> = HashMap::new();
        for chunk in &self.chunks {
            let score = asked.iter().map(|word| {
                let often = f64::from(chunk.words.get(word).copied().unwrap_or(0));
                let of = f64::from(self.frequencies.get(word).copied().unwrap_or(0));
                let weight = (1.0 + (count - of + 0.5) / (of + 0.5)).ln();
                weight * often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * chunk.length / mean))
            });
            let score: f64 = score.sum();
            let known = best.entry(&chunk.path).or_default();
            *known = known.max(score);
        }
        let mut ranked: Vec<(&str, f64)> = best.into_iter().filter(|(_, score)| *score > 0.0).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        ranked.into_iter().take(limit).map(|(path, _)| path.to_owned()).collect()
    }
}

/// The words of a text in lower case; of identifiers also their parts.
fn split(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
        let mut parts: Vec<String> = Vec::new();
        let mut before = '_';
        for c in word.chars() {
            if c != '_' && (before == '_' || (c.is_uppercase() && !before.is_uppercase())) {
                parts.push(String::new());
            }
            if let (Some(part), true) = (parts.last_mut(), c != '_') {
                part.extend(c.to_lowercase());
            }
            before = c;
        }
        if parts.len() > 1 {
            found.push(word.to_lowercase());
        }
        found.extend(parts);
    }
    found
}
