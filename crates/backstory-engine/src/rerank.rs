//! Reranks the best hits with a model that reads question and passage together, by the interface `rerank` that vLLM,
//! llama.cpp, Jina, Cohere and others offer. Nothing depends on it: without a response hits keep their order.

use std::{fmt, time::Duration};

use reqwest::Url;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;

use crate::provider::{ProviderClient, ProviderContext, ProviderError, Server};

/// Hits whose order the model judges, the best.
pub const MAX_RERANKED: usize = 20;
/// Longest part of a passage that the model reads, in characters: such models read some 512 tokens.
const MAX_TEXT: usize = 2000;
/// Longest time for an answer, attempts included: somebody waits for it.
const DEADLINE: Duration = Duration::from_secs(10);
/// Largest answer, in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// Which model and how to reach it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the model, as the provider calls it.
    pub model: String,
    /// Address below which the provider has `rerank`: `http://127.0.0.1:8080/v1`.
    pub base_url: Url,
    /// Key that is sent to the provider as a bearer token.
    pub api_key: Option<SecretString>,
}

/// A model that orders passages.
pub(crate) struct Reranker {
    client: ProviderClient,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Judged>,
}

#[derive(Deserialize)]
struct Judged {
    index: usize,
    relevance_score: f32,
}

impl fmt::Debug for Reranker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reranker").field("model", &self.model()).finish_non_exhaustive()
    }
}

impl Reranker {
    /// Checks the settings; the provider is not asked anything yet.
    pub(crate) fn open(settings: Settings) -> Result<Self, ProviderError> {
        let Settings { model, base_url, api_key } = settings;
        let context = ProviderContext {
            server: Server::Reranker,
            table: "search.rerank",
            task: "rank",
            alternative: "",
            model,
            total: DEADLINE,
            max_body: MAX_ANSWER,
        };
        Ok(Self { client: ProviderClient::new(context, Some(&base_url), &["rerank"], api_key)? })
    }

    pub(crate) fn model(&self) -> &str {
        &self.client.context.model
    }

    /// How well each text answers the query, in the order of the texts; only comparable within one answer.
    ///
    /// # Errors
    /// The provider does not answer within seconds, refuses, or answers wrongly.
    pub(crate) async fn score(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>, ProviderError> {
        let documents: Vec<String> = texts.iter().map(|text| text.chars().take(MAX_TEXT).collect()).collect();
        let request = json!({
            "model": self.model(), "query": query, "documents": documents, "top_n": texts.len(), "return_documents": false,
        });
        let answer: Answer = self.client.within(DEADLINE, self.client.post(&request)).await?;
        let mut scores = vec![None; texts.len()];
        for Judged { index, relevance_score } in answer.results {
            let score = scores.get_mut(index).filter(|_| relevance_score.is_finite());
            let score = score.ok_or_else(|| self.client.malformed("it judges what was not asked about"))?;
            *score = Some(relevance_score);
        }
        let all: Option<Vec<f32>> = scores.into_iter().collect();
        all.ok_or_else(|| self.client.malformed("it does not judge every passage"))
    }
}
