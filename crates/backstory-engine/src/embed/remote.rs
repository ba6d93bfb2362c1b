//! Embedding models behind an address: Ollama's own protocol, and the one of OpenAI that many servers speak.

use std::time::Duration;

use reqwest::{StatusCode, Url};
use serde::{Deserialize, Serialize};

use super::{Provider, Settings, error::EmbedError, tokens, unit};
use crate::transport::{Failure, Purpose, Transport, is_passing};

/// Texts in a request.
const BATCH: usize = 32;
/// Longest time for the vector of a query, attempts included: somebody waits for it.
const QUERY: Duration = Duration::from_secs(15);
/// Longest time to find out whether the provider embeds at all, in which it may have to load the model.
const CHECK: Duration = Duration::from_secs(60);
/// How long Ollama keeps the model in memory after a request, so that queries do not wait for it to be loaded.
const KEEP_ALIVE: &str = "30m";
/// Most numbers in a vector.
const MAX_DIMENSION: usize = 8192;
const PURPOSE: Purpose = Purpose {
    base_url: "embedding.base_url",
    key: "the key of the embedding provider",
    // Ollama loads a model in it, and embeds 32 long texts on a slow machine.
    total: Duration::from_secs(180),
    // 32 vectors of 4,096 numbers, written at length, have three million bytes.
    max_body: 16 << 20,
};

/// What must be known of a model before it is asked.
struct Known {
    /// What its name has in it on any server: `nomic-embed-text:v1.5`, `nomic-ai/nomic-embed-text-v1.5`.
    name: &'static str,
    dimension: usize,
    window: usize,
    /// What the model was trained to see before a text.
    document_prompt: &'static str,
    /// What it was trained to see before a query.
    query_prompt: &'static str,
}

const KNOWN: [Known; 5] = [
    Known {
        name: "nomic-embed-text",
        dimension: 768,
        window: 512,
        document_prompt: "search_document: ",
        query_prompt: "search_query: ",
    },
    Known { name: "all-minilm", dimension: 384, window: 256, document_prompt: "", query_prompt: "" },
    Known {
        name: "mxbai-embed-large",
        dimension: 1024,
        window: 512,
        document_prompt: "",
        query_prompt: "Represent this sentence for searching relevant passages: ",
    },
    Known { name: "text-embedding-3-small", dimension: 1536, window: 512, document_prompt: "", query_prompt: "" },
    Known { name: "text-embedding-3-large", dimension: 3072, window: 512, document_prompt: "", query_prompt: "" },
];
/// Tokens of a text that every model in use reads, though many read more.
const WINDOW: usize = 512;

/// A model behind an address.
pub(super) struct Remote {
    provider: Provider,
    transport: Transport,
    model: String,
    known: Option<&'static Known>,
    configured_dimension: Option<usize>,
}

#[derive(Serialize)]
struct OllamaRequest<'a> {
    model: &'a str,
    input: &'a [String],
    truncate: bool,
    keep_alive: &'a str,
}

#[derive(Deserialize)]
struct OllamaAnswer {
    embeddings: Vec<Vec<f32>>,
}

#[derive(Serialize)]
struct OpenAiRequest<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    data: Vec<OpenAiEmbedding>,
}

#[derive(Deserialize)]
struct OpenAiEmbedding {
    index: usize,
    embedding: Vec<f32>,
}

impl Remote {
    pub(super) fn new(settings: &Settings) -> Result<Self, EmbedError> {
        let (default_url, path, default_model): (_, &[&str], _) = match settings.provider {
            Provider::OpenAi => ("https://api.openai.com/v1", &["embeddings"], "text-embedding-3-small"),
            Provider::Ollama | Provider::Bundled => ("http://127.0.0.1:11434", &["api", "embed"], "nomic-embed-text"),
        };
        let refuse = |setting, problem: String| EmbedError::Configuration { setting, problem };
        let default_url = Url::parse(default_url).map_err(|error| refuse("embedding.base_url", error.to_string()))?;
        let base = settings.base_url.as_ref().unwrap_or(&default_url);
        if base.host() == default_url.host() && settings.provider == Provider::OpenAi && settings.api_key.is_none() {
            return Err(refuse("embedding.provider", "is \"openai\", which needs a key; give one".into()));
        }
        if let Some(dimension) = settings.dimension.filter(|dimension| !(1..=MAX_DIMENSION).contains(dimension)) {
            return Err(refuse("embedding.dimension", format!("is {dimension}, but must be in 1..={MAX_DIMENSION}")));
        }
        let model = settings.model.as_deref().unwrap_or(default_model).trim().trim_end_matches(":latest").to_owned();
        if model.is_empty() {
            return Err(refuse("embedding.model", "is empty; name a model of the provider".into()));
        }
        let transport = Transport::new(PURPOSE, base, path, settings.api_key.clone())?;
        let known = KNOWN.iter().find(|known| model.to_ascii_lowercase().contains(known.name));
        Ok(Self { provider: settings.provider, transport, model, known, configured_dimension: settings.dimension })
    }

    pub(super) fn name(&self) -> String {
        let provider = if self.provider == Provider::OpenAi { "openai" } else { "ollama" };
        format!("{provider}:{}", self.model)
    }

    pub(super) fn dimension(&self) -> Option<usize> {
        self.configured_dimension.or(self.known.map(|known| known.dimension))
    }

    pub(super) fn window(&self) -> usize {
        self.known.map_or(WINDOW, |known| known.window)
    }

    /// Asks for a vector to see how long it is.
    pub(super) async fn probe(&self) -> Result<usize, EmbedError> {
        let vectors = self.within(CHECK, self.ask(&["dimension".to_owned()])).await?;
        let dimension = vectors.first().map_or(0, Vec::len);
        if (1..=MAX_DIMENSION).contains(&dimension) {
            return Ok(dimension);
        }
        Err(self.malformed(format!("a vector has {dimension} dimensions")))
    }

    /// Whether the model embeds a text.
    pub(super) async fn check(&self, text: &str, dimension: usize) -> Result<(), EmbedError> {
        self.within(CHECK, self.embed(vec![text.to_owned()], "", dimension)).await.map(drop)
    }

    /// The vectors of texts, in their order.
    pub(super) async fn documents(&self, texts: &[String], dimension: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let prompt = self.known.map_or("", |known| known.document_prompt);
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            vectors.extend(self.embed(batch.to_vec(), prompt, dimension).await?);
        }
        Ok(vectors)
    }

    /// The vector of a query.
    pub(super) async fn query(&self, text: &str, dimension: usize) -> Result<Vec<f32>, EmbedError> {
        let prompt = self.known.map_or("", |known| known.query_prompt);
        let mut vectors = self.within(QUERY, self.embed(vec![text.to_owned()], prompt, dimension)).await?;
        vectors.pop().ok_or_else(|| self.malformed("no vector for a query".into()))
    }

    async fn within<T>(
        &self,
        limit: Duration,
        step: impl Future<Output = Result<T, EmbedError>>,
    ) -> Result<T, EmbedError> {
        let late = || self.unavailable(format!("no answer within {} s", limit.as_secs()));
        tokio::time::timeout(limit, step).await.unwrap_or_else(|_| Err(late()))
    }

    async fn embed(&self, texts: Vec<String>, prompt: &str, dimension: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let window = self.window();
        let prompt = prompt.to_owned();
        let cut = move || {
            let cut = |text: &String| Ok(format!("{prompt}{}", tokens::fit(text, window)?));
            texts.iter().map(cut).collect::<Result<Vec<String>, EmbedError>>()
        };
        let texts = tokio::task::spawn_blocking(cut).await.map_err(EmbedError::model)??;
        let vectors = self.ask(&texts).await?;
        let check = |vector: Vec<f32>| {
            if vector.len() != dimension {
                return Err(EmbedError::WrongDimension { model: self.name(), expected: dimension, got: vector.len() });
            }
            unit(vector).ok_or_else(|| self.malformed("a vector has no direction".into()))
        };
        vectors.into_iter().map(check).collect()
    }

    /// Asks for the vectors of texts as they stand.
    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let model = &self.model;
        let answer = if self.provider == Provider::OpenAi {
            let dimensions = self.configured_dimension;
            let request = OpenAiRequest { model, input: texts, encoding_format: "float", dimensions };
            self.transport.post(&request).await.map(|answer: OpenAiAnswer| {
                let mut data = answer.data;
                data.sort_by_key(|embedding| embedding.index);
                data.into_iter().map(|embedding| embedding.embedding).collect()
            })
        } else {
            let request = OllamaRequest { model, input: texts, truncate: true, keep_alive: KEEP_ALIVE };
            self.transport.post(&request).await.map(|answer: OllamaAnswer| answer.embeddings)
        };
        let vectors: Vec<Vec<f32>> = answer.map_err(|failure| self.error(failure))?;
        if vectors.len() != texts.len() {
            return Err(self.malformed(format!("{} vectors for {} texts", vectors.len(), texts.len())));
        }
        Ok(vectors)
    }

    fn error(&self, failure: Failure) -> EmbedError {
        match failure {
            Failure::Silence { reason, .. } => self.unavailable(reason),
            Failure::Status { status, reason, .. } if is_passing(status) => {
                self.unavailable(format!("HTTP {}: {reason}", status.as_u16()))
            }
            Failure::Status { status, reason, .. } => EmbedError::Rejected {
                provider: self.provider,
                url: self.transport.base().to_owned(),
                status: status.as_u16(),
                reason,
                remedy: self.remedy(status),
            },
            Failure::Malformed(reason) => self.malformed(reason),
        }
    }

    fn unavailable(&self, reason: String) -> EmbedError {
        let start = match self.provider {
            Provider::OpenAi => "check that it runs and that embedding.base_url is its address",
            Provider::Ollama | Provider::Bundled => "start it with 'ollama serve', or set embedding.base_url",
        };
        EmbedError::Unavailable {
            provider: self.provider,
            url: self.transport.base().to_owned(),
            reason,
            remedy: format!("{start}; embedding.provider = \"bundled\" needs no server"),
        }
    }

    /// What to do about an answer that will be the same next time.
    fn remedy(&self, status: StatusCode) -> String {
        let model = &self.model;
        let openai = self.provider == Provider::OpenAi;
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "check the key, and whether it may use embeddings".to_owned()
            }
            StatusCode::NOT_FOUND if openai => format!("check embedding.base_url and that there is a model {model}"),
            StatusCode::NOT_FOUND => format!("run 'ollama pull {model}'; Ollama must be version 0.3 or newer"),
            status if status.is_redirection() => {
                "redirects are not followed; set embedding.base_url to the target".to_owned()
            }
            _ => format!("check embedding.model ({model}) and what the server's own log says"),
        }
    }

    fn malformed(&self, reason: String) -> EmbedError {
        EmbedError::Malformed { provider: self.provider, url: self.transport.base().to_owned(), reason }
    }
}
