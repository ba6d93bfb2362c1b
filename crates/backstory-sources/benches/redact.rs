//! How fast secrets are looked for in texts, and what is found.
//!
//! `cargo bench --profile dev --workspace --bench redact -- PATH...` reads files, and all files below directories, and
//! looks into them whole and in pieces as long as a document usually is.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::{fs, hint::black_box, path::Path, time::Instant};

use backstory_sources::redact::{Redactions, redact};

/// Length of a piece, in bytes.
const PIECE: usize = 3000;
/// Rounds, of which the fastest counts.
const ROUNDS: usize = 5;

fn read(path: &Path, texts: &mut Vec<String>) {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| !path.is_symlink()).for_each(|path| read(&path, texts));
    } else {
        texts.push(String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
    }
}

fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(PIECE.min(rest.len())));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn measure(what: &str, texts: &[&str]) {
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let mut best = f64::INFINITY;
    let mut found = Redactions::default();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        found = Redactions::default();
        for text in texts {
            found.merge(&black_box(redact(text)).1);
        }
        best = best.min(started.elapsed().as_secs_f64());
    }
    println!("{what}: {:.0} MB/s, {bytes} bytes in {} texts; found {found}", bytes as f64 / 1e6 / best, texts.len());
}

fn main() {
    let mut texts = Vec::new();
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    arguments.for_each(|path| read(Path::new(&path), &mut texts));
    measure("whole", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    measure("pieces", &texts.iter().flat_map(|text| pieces(text)).collect::<Vec<_>>());
}
