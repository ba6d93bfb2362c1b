//! Embedding models behind an address: Ollama's own protocol, and the one of OpenAI that many servers speak.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::{MAX_DIMENSION, Provider, Settings, normalize, tokens};
use crate::provider::{ProviderClient, ProviderContext, ProviderError, Server};

/// Texts in a request.
const BATCH: usize = 32;
/// Longest time for the vector of a query, attempts included: somebody waits for it.
const QUERY: Duration = Duration::from_secs(15);
/// Longest time to find out whether the provider embeds at all, in which it may have to load the model.
const CHECK: Duration = Duration::from_secs(60);
/// How long Ollama keeps the model in memory after a request, so that queries do not wait for it to be loaded.
const KEEP_ALIVE: &str = "30m";
/// Longest time for an answer, in which Ollama loads a model, and embeds 32 long texts on a slow machine.
const TOTAL: Duration = Duration::from_secs(180);
/// Largest answer, in bytes: 32 vectors of 4,096 numbers, written at length, have three million.
const MAX_ANSWER: usize = 16 << 20;

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
    client: ProviderClient,
    known: Option<&'static Known>,
    configured_dimension: Option<usize>,
}

#[derive(Deserialize)]
struct OllamaAnswer {
    embeddings: Vec<Vec<f32>>,
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
    pub(super) fn new(settings: &Settings) -> Result<Self, ProviderError> {
        let (server, path, default_model): (_, &[&str], _) = match settings.provider {
            Provider::OpenAi => (Server::OpenAi, &["embeddings"], "text-embedding-3-small"),
            Provider::Ollama | Provider::Bundled | Provider::None => {
                (Server::Ollama, &["api", "embed"], "nomic-embed-text")
            }
        };
        if let Some(dimension) = settings.dimension.filter(|dimension| !(1..=MAX_DIMENSION).contains(dimension)) {
            let problem = format!("is {dimension}, but must be in 1..={MAX_DIMENSION}");
            return Err(ProviderError::setting("embedding.dimension", problem));
        }
        let model = settings.model.as_deref().unwrap_or(default_model).trim().trim_end_matches(":latest");
        let known = KNOWN.iter().find(|known| model.to_ascii_lowercase().contains(known.name));
        let context = ProviderContext {
            server,
            table: "embedding",
            task: "embed",
            alternative: "; embedding.provider = \"bundled\" needs no server",
            model: model.to_owned(),
            total: TOTAL,
            max_body: MAX_ANSWER,
        };
        let client = ProviderClient::new(context, settings.base_url.as_ref(), path, settings.api_key.clone())?;
        Ok(Self { client, known, configured_dimension: settings.dimension })
    }

    pub(super) fn name(&self) -> String {
        self.client.qualified_model()
    }

    pub(super) fn dimension(&self) -> Option<usize> {
        self.configured_dimension.or(self.known.map(|known| known.dimension))
    }

    pub(super) fn window(&self) -> usize {
        self.known.map_or(WINDOW, |known| known.window)
    }

    /// Asks for a vector to see how long it is.
    pub(super) async fn probe(&self) -> Result<usize, ProviderError> {
        let vectors = self.client.within(CHECK, self.ask(&["dimension".to_owned()])).await?;
        let dimension = vectors.first().map_or(0, Vec::len);
        if (1..=MAX_DIMENSION).contains(&dimension) {
            return Ok(dimension);
        }
        Err(self.client.malformed(&format!("a vector has {dimension} dimensions")))
    }

    /// Whether the model embeds a text.
    pub(super) async fn check(&self, text: &str, dimension: usize) -> Result<(), ProviderError> {
        self.client.within(CHECK, self.embed(vec![text.to_owned()], "", dimension)).await.map(drop)
    }

    /// The vectors of texts, in their order.
    pub(super) async fn documents(&self, texts: &[String], dimension: usize) -> Result<Vec<Vec<f32>>, ProviderError> {
        let prompt = self.known.map_or("", |known| known.document_prompt);
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            vectors.extend(self.embed(batch.to_vec(), prompt, dimension).await?);
        }
        Ok(vectors)
    }

    /// The vector of a query.
    pub(super) async fn query(&self, text: &str, dimension: usize) -> Result<Vec<f32>, ProviderError> {
        let prompt = self.known.map_or("", |known| known.query_prompt);
        let mut vectors = self.client.within(QUERY, self.embed(vec![text.to_owned()], prompt, dimension)).await?;
        vectors.pop().ok_or_else(|| self.client.malformed("no vector for a query"))
    }

    async fn embed(&self, texts: Vec<String>, prompt: &str, dimension: usize) -> Result<Vec<Vec<f32>>, ProviderError> {
        let window = self.window();
        let prompt = prompt.to_owned();
        let cut = move || {
            let cut = |text: &String| Ok(format!("{prompt}{}", tokens::fit(text, window)?));
            texts.iter().map(cut).collect::<Result<Vec<String>, ProviderError>>()
        };
        let texts = tokio::task::spawn_blocking(cut).await.map_err(ProviderError::bundled)??;
        let vectors = self.ask(&texts).await?;
        let check = |vector: Vec<f32>| {
            let got = vector.len();
            if got != dimension {
                return Err(ProviderError::WrongDimension { model: self.name(), expected: dimension, got });
            }
            normalize(vector).ok_or_else(|| self.client.malformed("a vector has no direction"))
        };
        vectors.into_iter().map(check).collect()
    }

    /// Asks for the vectors of texts as they stand.
    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ProviderError> {
        let context = &self.client.context;
        let mut request = json!({ "model": context.model, "input": texts });
        let vectors: Vec<Vec<f32>> = if context.server == Server::OpenAi {
            request["encoding_format"] = "float".into();
            if let Some(dimension) = self.configured_dimension {
                request["dimensions"] = dimension.into();
            }
            let OpenAiAnswer { mut data } = self.client.post(&request).await?;
            data.sort_by_key(|embedding| embedding.index);
            data.into_iter().map(|embedding| embedding.embedding).collect()
        } else {
            request["truncate"] = true.into();
            request["keep_alive"] = KEEP_ALIVE.into();
            let OllamaAnswer { embeddings } = self.client.post(&request).await?;
            embeddings
        };
        if vectors.len() != texts.len() {
            return Err(self.client.malformed(&format!("{} vectors for {} texts", vectors.len(), texts.len())));
        }
        Ok(vectors)
    }
}
