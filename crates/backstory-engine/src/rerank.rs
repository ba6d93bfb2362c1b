//! Reranks the best hits with a model that reads question and passage together, by the interface `rerank` that vLLM,
//! llama.cpp, Jina, Cohere and others offer. Nothing depends on it: without a response hits keep their order.

use std::{fmt, time::Duration};

use reqwest::Url;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::transport::{Failure, Purpose, Refused, Transport};

/// Hits whose order the model judges, the best.
pub const RERANKED: usize = 20;
/// Longest part of a passage that the model reads, in characters: such models read some 512 tokens.
const MAX_TEXT: usize = 2000;
/// Longest time for an answer, attempts included: somebody waits for it.
const DEADLINE: Duration = Duration::from_secs(10);
const PURPOSE: Purpose = Purpose {
    base_url: "search.rerank.base_url",
    key: "the key of the reranking provider",
    total: DEADLINE,
    max_body: 1 << 20,
};

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
    transport: Transport,
    model: String,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{setting} {problem}")]
pub struct RerankSettingError {
    setting: &'static str,
    problem: String,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    query: &'a str,
    documents: Vec<String>,
    top_n: usize,
    return_documents: bool,
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
        f.debug_struct("Reranker").field("model", &self.model).finish_non_exhaustive()
    }
}

impl Reranker {
    /// Checks the settings; the provider is not asked anything yet.
    pub(crate) fn open(settings: Settings) -> Result<Self, RerankSettingError> {
        let Settings { model, base_url, api_key } = settings;
        let transport = Transport::new(PURPOSE, &base_url, &["rerank"], api_key)
            .map_err(|Refused { setting, problem }| RerankSettingError { setting, problem })?;
        Ok(Self { transport, model })
    }

    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// How well each text answers the query, in the order of the texts; only comparable within one answer.
    ///
    /// # Errors
    /// What went wrong and what to do, in a sentence.
    pub(crate) async fn judge(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>, String> {
        let documents: Vec<String> = texts.iter().map(|text| text.chars().take(MAX_TEXT).collect()).collect();
        let request = Request { model: &self.model, query, top_n: documents.len(), documents, return_documents: false };
        let url = self.transport.base();
        let answer: Answer = match tokio::time::timeout(DEADLINE, self.transport.post(&request)).await {
            Ok(answer) => answer.map_err(|failure| match failure {
                Failure::Silence { reason, .. } => format!("{url} does not answer: {reason}"),
                Failure::Status { status, reason, .. } => format!("{url} refuses (HTTP {}): {reason}", status.as_u16()),
                Failure::Malformed(reason) => format!("the answer of {url} cannot be used: {reason}"),
            })?,
            Err(_) => return Err(format!("{url} did not answer within {} s", DEADLINE.as_secs())),
        };
        let mut scores = vec![None; texts.len()];
        for Judged { index, relevance_score } in answer.results {
            let score = scores.get_mut(index).filter(|_| relevance_score.is_finite());
            *score.ok_or_else(|| format!("{url} judged what it was not asked about"))? = Some(relevance_score);
        }
        let all: Option<Vec<f32>> = scores.into_iter().collect();
        all.ok_or_else(|| format!("{url} did not judge every passage"))
    }
}
