//! Requests to providers of language models and their responses, whole or in parts.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Completion, MAX_TEXT, Prompt, Provider, Settings};
use crate::provider::{Lines, ProviderClient, ProviderError};

/// How long Ollama keeps the model in memory after a request.
const KEEP_ALIVE: &str = "30m";
/// Tokens that Ollama makes room for: passages, question and answer.
const OLLAMA_CONTEXT: u32 = 8192;

#[derive(Deserialize)]
struct OpenAiAnswer {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice {
    message: Said,
    delta: Said,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    content: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    total_tokens: u64,
}

#[derive(Deserialize)]
struct OllamaAnswer {
    #[serde(default)]
    message: Said,
    #[serde(default)]
    done: bool,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<String>,
}

impl OllamaAnswer {
    fn tokens(&self) -> Option<u64> {
        Some(self.prompt_eval_count.unwrap_or(0) + self.eval_count?)
    }
}

fn request(settings: &Settings, prompt: &Prompt, stream: bool) -> Value {
    let messages = [("system", &prompt.system), ("user", &prompt.user)];
    let messages = messages.map(|(role, content)| json!({ "role": role, "content": content }));
    let mut request = json!({ "model": settings.model, "messages": messages, "stream": stream });
    let schema = prompt.schema.as_ref();
    match settings.provider {
        Provider::OpenAi => {
            request["temperature"] = 0.0.into();
            request["max_tokens"] = settings.max_tokens.into();
            if let Some(schema) = schema {
                let named = json!({ "name": "answer", "strict": true, "schema": schema });
                request["response_format"] = json!({ "type": "json_schema", "json_schema": named });
            }
        }
        Provider::Ollama => {
            let most = settings.max_tokens;
            request["options"] = json!({ "temperature": 0.0, "num_predict": most, "num_ctx": OLLAMA_CONTEXT });
            request["keep_alive"] = KEEP_ALIVE.into();
            if let Some(schema) = schema {
                request["format"] = schema.clone();
            }
        }
    }
    request
}

/// Asks for the whole answer.
pub(super) async fn complete(
    settings: &Settings,
    client: &ProviderClient,
    prompt: &Prompt,
) -> Result<Completion, ProviderError> {
    let request = request(settings, prompt, false);
    let completion = match settings.provider {
        Provider::OpenAi => {
            let answer: OpenAiAnswer = client.post(&request).await?;
            let tokens = answer.usage.map(|usage| usage.total_tokens);
            let choice = answer.choices.into_iter().next();
            Completion { text: choice.and_then(|choice| choice.message.content).unwrap_or_default(), tokens }
        }
        Provider::Ollama => {
            let answer: OllamaAnswer = client.post(&request).await?;
            let tokens = answer.tokens();
            Completion { text: answer.message.content.unwrap_or_default(), tokens }
        }
    };
    match completion.text.len() {
        0 => Err(client.malformed("it has no text")),
        length if length > MAX_TEXT => {
            Err(client.malformed(&format!("its text is longer than {} KiB", MAX_TEXT >> 10)))
        }
        _ => Ok(completion),
    }
}

/// Asks for the answer in parts.
pub(super) async fn stream<'a>(
    settings: &Settings,
    client: &'a ProviderClient,
    prompt: &Prompt,
) -> Result<Lines<'a>, ProviderError> {
    client.lines(&request(settings, prompt, true)).await
}

/// What a line of a stream says.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) tokens: Option<u64>,
    pub(super) ended: bool,
}

/// Reads a line of a stream.
///
/// # Errors
/// What is wrong with it.
pub(super) fn part(provider: Provider, line: &str) -> Result<Part, String> {
    let unreadable = |error: serde_json::Error| error.to_string();
    match provider {
        Provider::OpenAi => {
            // Empty lines stand between events; lines that begin with a colon keep the connection open.
            let Some(data) = line.strip_prefix("data:").map(str::trim) else { return Ok(Part::default()) };
            if data == "[DONE]" {
                return Ok(Part { ended: true, ..Part::default() });
            }
            let answer: OpenAiAnswer = serde_json::from_str(data).map_err(unreadable)?;
            let tokens = answer.usage.map(|usage| usage.total_tokens);
            let choice = answer.choices.into_iter().next().unwrap_or_default();
            let text = choice.delta.content.unwrap_or_default();
            Ok(Part { text, tokens, ended: choice.finish_reason.is_some() })
        }
        Provider::Ollama if line.is_empty() => Ok(Part::default()),
        Provider::Ollama => {
            let answer: OllamaAnswer = serde_json::from_str(line).map_err(unreadable)?;
            if let Some(error) = answer.error {
                return Err(error);
            }
            let (tokens, ended) = (answer.tokens(), answer.done);
            Ok(Part { text: answer.message.content.unwrap_or_default(), tokens, ended })
        }
    }
}
