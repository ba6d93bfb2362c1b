//! Requests to providers of language models and their responses, whole or in parts.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Completion, MAX_TEXT, Prompt, Provider, Settings};
use crate::transport::{Failure, Lines, Transport};

/// How long Ollama keeps the model in memory after a request.
const KEEP_ALIVE: &str = "30m";
/// Tokens that Ollama makes room for: passages, question and answer.
const OLLAMA_CONTEXT: u32 = 8192;

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct OpenAiRequest<'a> {
    model: &'a str,
    messages: [Message<'a>; 2],
    temperature: f32,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
}

#[derive(Serialize)]
struct OllamaRequest<'a> {
    model: &'a str,
    messages: [Message<'a>; 2],
    options: OllamaOptions,
    keep_alive: &'static str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'a Value>,
}

#[derive(Serialize)]
struct OllamaOptions {
    temperature: f32,
    num_predict: u32,
    num_ctx: u32,
}

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

fn messages(prompt: &Prompt) -> [Message<'_>; 2] {
    [Message { role: "system", content: &prompt.system }, Message { role: "user", content: &prompt.user }]
}

fn openai<'a>(settings: &'a Settings, prompt: &'a Prompt, stream: bool) -> OpenAiRequest<'a> {
    OpenAiRequest {
        model: &settings.model,
        messages: messages(prompt),
        temperature: 0.0,
        max_tokens: settings.max_tokens,
        stream,
        response_format: prompt.schema.as_ref().map(|schema| {
            json!({ "type": "json_schema", "json_schema": { "name": "answer", "strict": true, "schema": schema } })
        }),
    }
}

fn ollama<'a>(settings: &'a Settings, prompt: &'a Prompt, stream: bool) -> OllamaRequest<'a> {
    let options = OllamaOptions { temperature: 0.0, num_predict: settings.max_tokens, num_ctx: OLLAMA_CONTEXT };
    OllamaRequest {
        model: &settings.model,
        messages: messages(prompt),
        options,
        keep_alive: KEEP_ALIVE,
        stream,
        format: prompt.schema.as_ref(),
    }
}

/// Asks for the whole answer.
pub(super) async fn complete(
    settings: &Settings,
    transport: &Transport,
    prompt: &Prompt,
) -> Result<Completion, Failure> {
    let completion = match settings.provider {
        Provider::OpenAi => {
            let answer: OpenAiAnswer = transport.post(&openai(settings, prompt, false)).await?;
            let tokens = answer.usage.map(|usage| usage.total_tokens);
            let choice = answer.choices.into_iter().next();
            Completion { text: choice.and_then(|choice| choice.message.content).unwrap_or_default(), tokens }
        }
        Provider::Ollama => {
            let answer: OllamaAnswer = transport.post(&ollama(settings, prompt, false)).await?;
            let tokens = answer.tokens();
            Completion { text: answer.message.content.unwrap_or_default(), tokens }
        }
    };
    match completion.text.len() {
        0 => Err(Failure::Malformed("it has no text".to_owned())),
        length if length > MAX_TEXT => {
            Err(Failure::Malformed(format!("its text is longer than {} KiB", MAX_TEXT >> 10)))
        }
        _ => Ok(completion),
    }
}

/// Asks for the answer in parts.
pub(super) async fn stream<'a>(
    settings: &Settings,
    transport: &'a Transport,
    prompt: &Prompt,
) -> Result<Lines<'a>, Failure> {
    match settings.provider {
        Provider::OpenAi => transport.lines(&openai(settings, prompt, true)).await,
        Provider::Ollama => transport.lines(&ollama(settings, prompt, true)).await,
    }
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
