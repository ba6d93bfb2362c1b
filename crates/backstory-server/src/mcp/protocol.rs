//! The protocol itself. No other file names the library that speaks it, so that its next version is a matter of this one.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::Request,
    response::{IntoResponse as _, Response},
};
use backstory_engine::error::{Error, ErrorKind, Result};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
        GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult, ListResourceTemplatesResult,
        ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptMessage,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents, ResourceTemplate, Role,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::{RequestContext, ServerInitializeError},
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, stdio_pipes,
        streamable_http_server::session::never::NeverSessionManager,
    },
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    Backend, LegacyToolNames, Step,
    definitions::{self, INSTRUCTIONS},
    lines::{ScreenedLines, screen_lines},
    prompts, tools,
};

/// What the addresses of resources begin with.
const SCHEME: &str = "backstory:///";
/// Tokens of a resource.
const RESOURCE_TOKENS: usize = 10_000;
/// How long the last answers may take to be written.
const LAST_WRITES: Duration = Duration::from_secs(5);
/// Steps that wait to be told.
const WAITING_STEPS: usize = 16;

/// Speaks the protocol over standard input and output until the client ends it.
///
/// # Errors
/// The client does not speak the protocol, or the streams failed.
pub async fn serve_stdio<B: Backend>(backend: B, names: LegacyToolNames) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Error::new(ErrorKind::Upstream, format!("the client: {error}"));
    let (stdin, stdout) = stdio_pipes();
    let ScreenedLines { input, output, reading, writing } = screen_lines(stdin, stdout);
    let served = match rmcp::serve_server(Handler { backend, names }, (input, output)).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| failed(&error)),
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(failed(&error)),
    };
    reading.abort();
    // What was answered is written before the process ends; a client that reads nothing is not waited for.
    let _ = tokio::time::timeout(LAST_WRITES, writing).await;
    served
}

/// Answers one request of the protocol over HTTP. There are no sessions: each request stands for itself. Who may send it,
/// and from where, was decided before.
pub(crate) async fn answer_http<B: Backend>(backend: B, names: LegacyToolNames, request: Request<Body>) -> Response {
    let handler = Handler { backend, names };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
    service.handle(request).await.map(Body::new).into_response()
}

/// What answers a client.
#[derive(Clone)]
struct Handler<B> {
    backend: B,
    names: LegacyToolNames,
}

impl<B: Backend> ServerHandler for Handler<B> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("backstory", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS.trim_end())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<ListToolsResult, ErrorData> {
        let tools = definitions::list(self.names).into_iter().map(Value::Object).collect();
        Ok(ListToolsResult::with_all_items(serde_json::from_value::<Vec<Tool>>(tools).map_err(wrong_definition)?))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let (steps, mut taken) = mpsc::channel(WAITING_STEPS);
        let arguments = request.arguments.unwrap_or_default();
        if let Err(error) = definitions::check_name(self.names, &request.name) {
            return Ok(CallToolResult::error(vec![ContentBlock::text(error.to_string())]).into());
        }
        let token = context.meta.get_progress_token();
        let call = tools::call(&self.backend, &request.name, arguments, &steps);
        let mut call = std::pin::pin!(call);
        let mut told = 0.0;
        let answer = loop {
            tokio::select! {
                answer = &mut call => break answer,
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the call was cancelled", None));
                }
                Some(step) = taken.recv() => {
                    let Some(token) = &token else { continue };
                    told += 1.0;
                    let progress = ProgressNotificationParam::new(token.clone(), told).with_message(message(&step));
                    // A client that does not listen misses it.
                    let _ = context.peer.notify_progress(progress).await;
                }
            }
        };
        Ok(match answer {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        }
        .into())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(
            serde_json::from_value::<Vec<Prompt>>(prompts::list()).map_err(wrong_definition)?,
        ))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<GetPromptResponse, ErrorData> {
        let (steps, _taken) = mpsc::channel(WAITING_STEPS);
        let arguments = request.arguments.unwrap_or_default();
        let text = prompts::text(&self.backend, &request.name, &arguments, &steps).await;
        let text = text.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new(format!("{SCHEME}{{ref}}"), "reference")
            .with_title("What a reference names")
            .with_description(
                "acme/shop!7, acme/shop#12, acme/shop@1a2b3c4 or acme/shop:src/a.rs:10-80, as `read` gives it",
            );
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<ReadResourceResponse, ErrorData> {
        let unknown = |why: String| ErrorData::resource_not_found(why, None);
        let reference = request.uri.strip_prefix(SCHEME).and_then(decode_percent);
        let reference = reference
            .ok_or_else(|| unknown(format!("write the address as {SCHEME} and a reference, like acme/shop!7")))?;
        let text = tools::read_reference(&self.backend, &reference, RESOURCE_TOKENS).await;
        let text = text.map_err(|error| unknown(error.to_string()))?;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }
}

/// What the program itself says is not what the library takes.
#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn wrong_definition(error: serde_json::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// `acme/shop issues 12/34`
fn message(step: &Step) -> String {
    let total = step.total.map(|total| format!("/{total}")).unwrap_or_default();
    format!("{} {}{total}", step.phase, step.done)
}

/// A text in which bytes may be written as `%2F`; `None` if what they stand for is no text.
fn decode_percent(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_of_a_resource_may_be_encoded() {
        assert_eq!(decode_percent("acme%2Fshop%217").as_deref(), Some("acme/shop!7"));
        assert_eq!(decode_percent("acme/shop:src/a%20b.rs").as_deref(), Some("acme/shop:src/a b.rs"));
        assert_eq!(decode_percent("100%").as_deref(), Some("100%"));
        assert_eq!(decode_percent("%ff"), None);
    }
}
