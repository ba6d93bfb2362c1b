//! BM25 (k1 1.2, b 0.75) over whole conversations by the same full-text engine and tokenizer, the nearest piece of each by
//! all-MiniLM-L6-v2, and both rankings joined by reciprocal rank fusion.

use std::{collections::HashMap, path::Path};

use backstory_engine::{
    embed::{Embedder, Settings},
    index::{Index, IndexOptions, ModelTag, ThreadDocuments},
    model::{eval::Question, filter::Filter},
};

use super::{Result, document, measure::DEPTH};

const MODEL: &str = "all-MiniLM-L6-v2-int8";
/// Words of a piece, which the model reads whole.
const WORDS: usize = 150;
/// Conversations of each ranking that are joined.
const RANKED: usize = 100;
/// The constant of reciprocal rank fusion.
const K: f64 = 60.0;

pub(super) struct Baseline {
    text: Index,
    embedder: Embedder,
    /// The vectors of each conversation's pieces.
    pieces: Vec<(String, Vec<Vec<f32>>)>,
}

impl Baseline {
    pub(super) async fn build(directory: &Path, conversations: Vec<(String, String)>) -> Result<Self> {
        let text =
            Index::open(directory, ModelTag { name: "none".to_owned(), dimension: 1 }, IndexOptions::default()).await?;
        let documents =
            |(id, text): &(String, String)| ThreadDocuments { thread: id.clone(), documents: vec![document(id, text)] };
        text.apply(conversations.iter().map(documents).collect(), 1).await?;
        text.optimize().await?;
        let embedder = Embedder::open(Settings { model: Some(MODEL.to_owned()), ..Settings::default() }).await?;
        let mut pieces = Vec::new();
        for (id, text) in conversations {
            let words: Vec<&str> = text.split_whitespace().collect();
            let texts: Vec<String> = words.chunks(WORDS).map(|words| words.join(" ")).collect();
            pieces.push((id, embedder.embed_documents(&texts).await?));
        }
        Ok(Self { text, embedder, pieces })
    }

    /// Rank of the first right answer, from 1.
    pub(super) async fn rank(&self, question: &Question) -> Result<Option<usize>> {
        let words = self.text.search_text(&question.question, &Filter::default(), RANKED).await?;
        let words = words.iter().map(|hit| hit.document.as_str());
        let vector = self.embedder.embed_query(&question.question).await?;
        let cosine = |piece: &Vec<f32>| piece.iter().zip(&vector).map(|(a, b)| a * b).sum::<f32>();
        let nearest = |(id, pieces): &'_ (String, Vec<Vec<f32>>)| {
            (pieces.iter().map(cosine).fold(f32::MIN, f32::max), id.clone())
        };
        let mut near: Vec<(f32, String)> = self.pieces.iter().map(nearest).collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut joined: HashMap<&str, f64> = HashMap::new();
        let mut add = |(place, id)| *joined.entry(id).or_default() += 1.0 / (K + place as f64 + 1.0);
        words.enumerate().for_each(&mut add);
        near.iter().take(RANKED).map(|(_, id)| id.as_str()).enumerate().for_each(&mut add);
        let mut joined: Vec<(&str, f64)> = joined.into_iter().collect();
        joined.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let is_right = |(id, _): &(&str, f64)| question.gold.iter().any(|gold| id.ends_with(gold.as_str()));
        Ok(joined.iter().take(DEPTH).position(is_right).map(|at| at + 1))
    }
}
