//! Language models: text by Ollama, or by any server that speaks the OpenAI protocol. Nothing depends on one; a model
//! only words what was found.

mod protocol;

use std::{fmt, sync::Arc, time::Duration};

use reqwest::Url;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::provider::{Lines, ProviderClient, ProviderContext, ProviderError, Server};

/// Longest text of a model that is read, in bytes.
pub const MAX_TEXT: usize = 32 << 10;
/// Largest answer, in bytes: every few letters of a stream come in a message of their own.
const MAX_BODY: usize = 8 << 20;
/// Longest time for an answer, unless configured otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// Most tokens of an answer, unless configured otherwise.
pub const MAX_TOKENS: u32 = 500;
/// Most tokens of a day, unless configured otherwise.
pub const DAILY_TOKENS: u64 = 200_000;

/// Who runs the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// An Ollama server.
    Ollama,
    /// A server that speaks the OpenAI protocol.
    OpenAi,
}

/// Which model, how to reach it, and how much of it may be used.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who runs the model.
    pub provider: Provider,
    /// Name of the model, as the provider calls it.
    pub model: String,
    /// Address of the provider: `http://127.0.0.1:11434` is the default with Ollama, `https://api.openai.com/v1` with
    /// OpenAI.
    pub base_url: Option<Url>,
    /// Key that is sent to the provider as a bearer token.
    pub api_key: Option<SecretString>,
    /// Longest time for an answer.
    pub timeout: Duration,
    /// Most tokens of an answer.
    pub max_tokens: u32,
    /// Most tokens of a day in UTC, of questions and answers together.
    pub daily_tokens: u64,
}

/// What a model is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What it shall do.
    pub system: String,
    /// What it shall do it with.
    pub user: String,
    /// JSON schema of the answer, to which servers that can do so hold the model; any text if absent.
    pub schema: Option<serde_json::Value>,
}

/// What a model wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The text.
    pub text: String,
    /// Tokens of question and answer, if the provider tells.
    pub tokens: Option<u64>,
}

/// A language model. Clones share its connections.
#[derive(Clone)]
pub struct ChatModel(Arc<Inner>);

struct Inner {
    settings: Settings,
    client: ProviderClient,
}

impl ChatModel {
    /// Checks the settings; the provider is not asked anything yet.
    ///
    /// # Errors
    /// The settings contradict themselves.
    pub fn open(mut settings: Settings) -> Result<Self, ProviderError> {
        let (server, path): (_, &[&str]) = match settings.provider {
            Provider::OpenAi => (Server::OpenAi, &["chat", "completions"]),
            Provider::Ollama => (Server::Ollama, &["api", "chat"]),
        };
        settings.model = settings.model.trim().to_owned();
        let context = ProviderContext {
            server,
            table: "llm",
            task: "answer",
            alternative: "",
            model: settings.model.clone(),
            total: settings.timeout,
            max_body: MAX_BODY,
        };
        let client = ProviderClient::new(context, settings.base_url.as_ref(), path, settings.api_key.clone())?;
        Ok(Self(Arc::new(Inner { settings, client })))
    }

    /// Its name, to be recorded with what it writes: `ollama:llama3.2`.
    pub fn name(&self) -> String {
        self.0.client.qualified_model()
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// What it writes, whole.
    ///
    /// # Errors
    /// The provider does not answer, refuses, or answers wrongly.
    pub async fn complete(&self, prompt: &Prompt) -> Result<Completion, ProviderError> {
        protocol::complete(&self.0.settings, &self.0.client, prompt).await
    }

    /// What it writes, in parts as they come.
    ///
    /// # Errors
    /// The provider does not answer, refuses, or answers wrongly.
    pub async fn stream(&self, prompt: &Prompt) -> Result<Stream<'_>, ProviderError> {
        let lines = protocol::stream(&self.0.settings, &self.0.client, prompt).await?;
        Ok(Stream { model: self, lines, tokens: None, length: 0, ended: false })
    }
}

impl fmt::Debug for ChatModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatModel").field("model", &self.name()).finish_non_exhaustive()
    }
}

/// What a model writes, in parts.
pub struct Stream<'a> {
    model: &'a ChatModel,
    lines: Lines<'a>,
    tokens: Option<u64>,
    length: usize,
    ended: bool,
}

impl Stream<'_> {
    /// The next part; `None` behind the last.
    ///
    /// # Errors
    /// The stream broke off, or is none.
    pub async fn next(&mut self) -> Result<Option<String>, ProviderError> {
        let provider = self.model.0.settings.provider;
        while !self.ended {
            let line = self.lines.next().await?;
            let Some(line) = line else { return Err(self.malformed("it breaks off before its end")) };
            let part = protocol::part(provider, &line).map_err(|reason| self.malformed(&reason))?;
            self.ended = part.ended;
            self.tokens = part.tokens.or(self.tokens);
            self.length += part.text.len();
            if self.length > MAX_TEXT {
                return Err(self.malformed(&format!("its text is longer than {} KiB", MAX_TEXT >> 10)));
            }
            if !part.text.is_empty() {
                return Ok(Some(part.text));
            }
        }
        Ok(None)
    }

    /// Tokens of question and answer, if the provider told by the end.
    pub fn tokens(&self) -> Option<u64> {
        self.tokens
    }

    fn malformed(&self, reason: &str) -> ProviderError {
        self.model.0.client.malformed(reason)
    }
}
