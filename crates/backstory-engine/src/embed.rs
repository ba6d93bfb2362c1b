//! Embedding models: texts to vectors, by the model inside the binary, by Ollama, or by any server that speaks the
//! OpenAI protocol. Which documents get vectors is in `embedding`.

mod bundled;
mod foreground;
mod recent;
mod remote;
mod tokens;

use std::{fmt, sync::Arc, thread::available_parallelism};

use backstory_sources::http::redact_url;
use backstory_store::index::ModelTag;
use reqwest::Url;
use secrecy::SecretString;

pub use foreground::ForegroundGuard;

use bundled::{Bundled, EmbedPriority};
use foreground::ForegroundGate;
use recent::RecentQueries;
use remote::Remote;

use crate::provider::ProviderError;

/// Most threads of the bundled model.
pub const MAX_THREADS: usize = 64;
/// Most numbers in a vector.
pub const MAX_DIMENSION: usize = 8192;

/// Who turns texts into vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// A model inside the binary, with int8 weights. Needs no network.
    #[default]
    Bundled,
    /// An Ollama server.
    Ollama,
    /// A server that speaks the OpenAI protocol.
    OpenAi,
    /// Nobody: texts are found by their words alone.
    None,
}

/// Which model, and how to reach it.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Who turns texts into vectors.
    pub provider: Provider,
    /// Name of the model, as the provider calls it; by default `snowflake-arctic-embed-s-int8` of those that are bundled,
    /// `nomic-embed-text` with Ollama and `text-embedding-3-small` with OpenAI.
    pub model: Option<String>,
    /// Address of the provider: `http://127.0.0.1:11434` is the default with Ollama, `https://api.openai.com/v1` with
    /// OpenAI.
    pub base_url: Option<Url>,
    /// Key that is sent to the provider as a bearer token.
    pub api_key: Option<SecretString>,
    /// Numbers in a vector. Asked of an OpenAI-compatible server; of others it must be what the model gives.
    pub dimension: Option<usize>,
    /// Threads that the bundled model uses; by default one per core.
    pub threads: Option<usize>,
}

/// Turns texts into vectors of length 1. Clones share the model and its connections.
#[derive(Clone)]
pub struct Embedder(Arc<Inner>);

struct Inner {
    model: String,
    dimension: usize,
    window: usize,
    engine: Engine,
    foreground: ForegroundGate,
    recent: RecentQueries,
}

enum Engine {
    Bundled(Bundled),
    Remote(Remote),
    /// No text gets a vector. Model and dimension are those of the bundled one, so that its vectors are used again
    /// when it is turned on.
    Off,
    /// No text gets a vector: the provider did not say how long its vectors are, for this reason.
    Unknown(ProviderError),
}

impl Embedder {
    /// Checks the settings. The bundled model is loaded when it is first used, and a provider is not asked anything
    /// before that, unless the dimension of its model is neither configured nor known.
    ///
    /// # Errors
    /// The settings contradict themselves, or the provider does not tell the dimension.
    pub async fn open(settings: Settings) -> Result<Self, ProviderError> {
        let (foreground, recent) = (ForegroundGate::default(), RecentQueries::default());
        let inner = match settings.provider {
            Provider::Bundled => bundled(&settings, foreground)?,
            Provider::None => Inner { engine: Engine::Off, ..bundled(&settings, foreground)? },
            Provider::Ollama | Provider::OpenAi => {
                let remote = Remote::new(&settings)?;
                let dimension = match remote.dimension() {
                    Some(dimension) => dimension,
                    None => remote.probe().await?,
                };
                let (model, window) = (remote.name(), remote.window());
                Inner { model, dimension, window, engine: Engine::Remote(remote), foreground, recent }
            }
        };
        Ok(Self(Arc::new(inner)))
    }

    /// The same although the provider does not tell the dimension, for a reason that [`open`](Self::open) gave.
    ///
    /// If the stored vectors are of the same model it is theirs, and the provider is asked again for the next vector.
    /// Otherwise the stored model, or the bundled one if nothing is stored, stands for it, so that an index can be opened
    /// and keeps what it has; every text is refused for that reason.
    ///
    /// # Errors
    /// The settings contradict themselves.
    pub(crate) fn open_unasked(
        settings: &Settings,
        stored: Option<ModelTag>,
        reason: ProviderError,
    ) -> Result<Self, ProviderError> {
        let (foreground, recent) = (ForegroundGate::default(), RecentQueries::default());
        let remote = Remote::new(settings)?;
        let (model, window) = (remote.name(), remote.window());
        let inner = match stored {
            Some(ModelTag { name, dimension }) if name == model => {
                Inner { model, dimension, window, engine: Engine::Remote(remote), foreground, recent }
            }
            Some(ModelTag { name, dimension }) => {
                Inner { model: name, dimension, window, engine: Engine::Unknown(reason), foreground, recent }
            }
            None => Inner { engine: Engine::Unknown(reason), ..bundled(&Settings::default(), foreground)? },
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Why the provider did not say how long its vectors are, so that no text gets one until it is opened again.
    pub(crate) fn unknown_because(&self) -> Option<&ProviderError> {
        match &self.0.engine {
            Engine::Unknown(reason) => Some(reason),
            Engine::Bundled(_) | Engine::Remote(_) | Engine::Off => None,
        }
    }

    /// Name of the model, to be recorded with its vectors: `all-MiniLM-L6-v2-int8`, `ollama:nomic-embed-text`.
    pub fn model(&self) -> &str {
        &self.0.model
    }

    /// Whether texts get no vectors.
    pub fn is_off(&self) -> bool {
        matches!(self.0.engine, Engine::Off)
    }

    /// How near two texts are whose vectors have this cosine, on one scale for all bundled models. Of others it is the cosine
    /// itself.
    pub fn nearness(&self, cosine: f32) -> f32 {
        match &self.0.engine {
            Engine::Bundled(model) => model.nearness(cosine),
            Engine::Remote(_) | Engine::Off | Engine::Unknown(_) => cosine,
        }
    }

    /// Numbers in a vector.
    pub fn dimension(&self) -> usize {
        self.0.dimension
    }

    /// Most tokens of a text that count; what is behind them is not read.
    pub fn window(&self) -> usize {
        self.0.window
    }

    /// How many tokens a text has. It is exact for the bundled model; of others it is an estimate by the bundled
    /// model's tokenizer, whose vocabulary is smaller than most.
    pub fn count_tokens(&self, text: &str) -> usize {
        tokens::count(text)
    }

    /// The vectors of any number of texts, in their order, for somebody who waits for them.
    ///
    /// # Errors
    /// The provider does not answer, refuses, or answers wrongly. What it answered before that is lost.
    pub async fn embed_documents(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ProviderError> {
        self.documents(texts, EmbedPriority::Foreground).await
    }

    /// The same for background work: the bundled model works at a low priority, and waits while somebody else
    /// [waits for an answer](Self::enter_foreground).
    ///
    /// # Errors
    /// Those of [`Self::embed_documents`].
    pub async fn embed_in_background(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ProviderError> {
        self.documents(texts, EmbedPriority::Background).await
    }

    /// Says that somebody waits for an answer, until that is dropped.
    pub fn enter_foreground(&self) -> ForegroundGuard {
        self.0.foreground.enter()
    }

    async fn documents(&self, texts: &[String], urgency: EmbedPriority) -> Result<Vec<Vec<f32>>, ProviderError> {
        match &self.0.engine {
            Engine::Bundled(bundled) => bundled.documents(texts, urgency).await,
            Engine::Remote(remote) => remote.documents(texts, self.0.dimension).await,
            Engine::Off => Err(off()),
            Engine::Unknown(reason) => Err(reason.clone()),
        }
    }

    /// The vector of a query. It does not wait for texts that are being embedded.
    ///
    /// # Errors
    /// The provider does not answer within seconds, refuses, or answers wrongly.
    pub async fn embed_query(&self, text: &str) -> Result<Vec<f32>, ProviderError> {
        if let Some(vector) = self.0.recent.get(text) {
            return Ok(vector);
        }
        let vector = match &self.0.engine {
            Engine::Bundled(bundled) => bundled.query(text).await?,
            Engine::Remote(remote) => remote.query(text, self.0.dimension).await?,
            Engine::Off => return Err(off()),
            Engine::Unknown(reason) => return Err(reason.clone()),
        };
        self.0.recent.insert(text, &vector);
        Ok(vector)
    }

    /// Whether a text can be embedded now; takes as long as the provider needs to load its model.
    ///
    /// # Errors
    /// What [`Self::embed_documents`] would report.
    pub async fn check(&self) -> Result<(), ProviderError> {
        let text = "Why is this code like this?";
        match &self.0.engine {
            Engine::Bundled(bundled) => bundled.query(text).await.map(drop),
            Engine::Remote(remote) => remote.check(text, self.0.dimension).await,
            Engine::Off => Ok(()),
            Engine::Unknown(reason) => Err(reason.clone()),
        }
    }
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedder").field("model", &self.0.model).finish_non_exhaustive()
    }
}

fn off() -> ProviderError {
    ProviderError::setting(
        "embedding.provider",
        "is \"none\", so nothing is found by its meaning; name another".to_owned(),
    )
}

fn bundled(settings: &Settings, foreground: ForegroundGate) -> Result<Inner, ProviderError> {
    let refuse = |setting, problem: String| Err(ProviderError::setting(setting, problem));
    let [default, ..] = &bundled::MODELS;
    let named = |name: &str| bundled::MODELS.iter().find(|model| model.name == name);
    let Some(model) = settings.model.as_deref().map_or(Some(default), named) else {
        let names = bundled::MODELS.each_ref().map(|model| model.name).join(" and ");
        let model = settings.model.as_deref().unwrap_or_default();
        return refuse(
            "embedding.model",
            format!("is {model:?}, but the bundled models are {names}; set embedding.provider for another"),
        );
    };
    if let Some(url) = &settings.base_url {
        let url = redact_url(url);
        return refuse("embedding.base_url", format!("is {url}, but the bundled model runs in process; remove it"));
    }
    if let Some(dimension) = settings.dimension.filter(|dimension| *dimension != bundled::DIMENSION) {
        let right = bundled::DIMENSION;
        return refuse("embedding.dimension", format!("is {dimension}, but the bundled model has {right}; remove it"));
    }
    let threads = match settings.threads {
        Some(threads) if !(1..=MAX_THREADS).contains(&threads) => {
            return refuse("embedding.threads", format!("is {threads}, but must be in 1..={MAX_THREADS}"));
        }
        Some(threads) => threads,
        None => available_parallelism().map_or(1, usize::from).min(MAX_THREADS),
    };
    Ok(Inner {
        model: model.name.to_owned(),
        dimension: bundled::DIMENSION,
        window: bundled::WINDOW,
        engine: Engine::Bundled(Bundled::new(model, threads, foreground.clone())),
        foreground,
        recent: RecentQueries::default(),
    })
}

/// The vector of length 1 with the same direction, if there is one.
fn normalize(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if !length.is_normal() {
        return None;
    }
    for x in &mut vector {
        *x /= length;
    }
    Some(vector)
}
