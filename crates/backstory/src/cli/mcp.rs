//! `mcp`: answers agents over standard input and output, or prints what they may call.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use backstory_engine::{
    error::{Error, ErrorKind, Result as EngineResult},
    map_lines::MapLinesRequest,
    use_case::UseCase,
};
use backstory_server::mcp::{Backend, LegacyToolNames, build_function_definitions, serve_stdio};
use clap::ValueEnum;
use futures::{StreamExt as _, future::LocalBoxFuture, stream::FuturesUnordered};
use tokio::sync::{mpsc, oneshot};

use super::{Session, checkout, place};
use crate::{
    client::Client,
    data_dir::MCP,
    failure::{Failure, Result},
};

/// Calls that wait for their turn.
const WAITING: usize = 64;

/// Answer agents that speak the Model Context Protocol, over standard input and output
///
/// A running server answers the calls; without one, this command opens the stores and answers other commands too.
/// 'backstory install' writes it into the configuration of Claude Code, Codex, Cursor and others.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory mcp
  backstory mcp --print-tools
  claude mcp add backstory -- backstory mcp

A server answers the same protocol over HTTP, at /mcp.")]
pub(super) struct Args {
    /// Also give the tools the names that older designs have for them: gitmemory_query, atlas_search, retrieve_context …
    #[arg(long, value_enum, value_name = "SPELLING", num_args = 0..=1, require_equals = true,
        default_missing_value = "plain")]
    seed_names: Option<Spelling>,
    /// Print the tools as definitions of functions, in JSON, and exit
    #[arg(long)]
    print_tools: bool,
}

/// How the other names of the tools are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Spelling {
    /// atlas_search
    Plain,
    /// atlas.search, which several clients refuse together with all other tools
    Dotted,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let names = match args.seed_names {
        None => LegacyToolNames::None,
        Some(Spelling::Plain) => LegacyToolNames::Plain,
        Some(Spelling::Dotted) => {
            session.terminal.warning(
                "several clients refuse a whole server if the name of one tool has a dot; without =dotted it has none",
            );
            LegacyToolNames::Dotted
        }
    };
    if args.print_tools {
        return Ok(session.terminal.json(&build_function_definitions(names))?);
    }
    let client = Client::open(session, MCP, || Ok(())).await?;
    let (calls, mut waiting) = mpsc::channel(WAITING);
    let stop = backstory_server::stop_signal()?;
    let served = serve_stdio(Asking { calls, here: Arc::default() }, names);
    let mut served = std::pin::pin!(served);
    let mut stop = std::pin::pin!(stop);
    let mut running = FuturesUnordered::new();
    loop {
        tokio::select! {
            done = &mut served => return Ok(done?),
            () = &mut stop => return Ok(()),
            Some(call) = waiting.recv() => running.push(answer(&client, call)),
            Some(()) = running.next(), if !running.is_empty() => {}
        }
    }
}

/// A request on its way to the client, which belongs to one thread.
type Call = Box<dyn for<'a> FnOnce(&'a Client) -> LocalBoxFuture<'a, ()> + Send>;

fn boxed(call: impl for<'a> FnOnce(&'a Client) -> LocalBoxFuture<'a, ()> + Send + 'static) -> Call {
    Box::new(call)
}

async fn answer(client: &Client, call: Call) {
    call(client).await;
}

/// Has the client answer what tools ask.
#[derive(Clone)]
struct Asking {
    calls: mpsc::Sender<Call>,
    /// The project of the working directory and where its checkout begins, once it is found.
    here: Arc<OnceLock<(String, PathBuf)>>,
}

impl Asking {
    /// Has the client do something.
    ///
    /// # Errors
    /// It failed, or the command is about to end.
    async fn send<T: Send + 'static>(
        &self,
        ask: impl for<'a> FnOnce(&'a Client) -> LocalBoxFuture<'a, Result<T>> + Send + 'static,
    ) -> EngineResult<T> {
        let ending = || Error::new(ErrorKind::Unavailable, "the command is about to end");
        let (reply, answer) = oneshot::channel();
        let call = boxed(move |client| {
            Box::pin(async move {
                // The client may have given up.
                let _ = reply.send(ask(client).await);
            })
        });
        self.calls.send(call).await.map_err(|_| ending())?;
        let answer = answer.await.map_err(|_| ending())?;
        answer.map_err(Failure::into_error)
    }

    /// The project of the working directory and its checkout; `None` outside of repositories and while nothing is indexed.
    ///
    /// # Errors
    /// The repository is not indexed, which may change while this command runs.
    async fn here(&self) -> EngineResult<Option<(String, PathBuf)>> {
        if let Some(here) = self.here.get() {
            return Ok(Some(here.clone()));
        }
        let here = self.send(|client| Box::pin(place::project_here(client))).await?;
        Ok(here.map(|here| self.here.get_or_init(|| here).clone()))
    }
}

impl Backend for Asking {
    async fn answer<U: UseCase>(&self, request: U) -> EngineResult<U::Answer> {
        self.send(move |client| Box::pin(client.answer(request))).await
    }

    async fn usual_project(&self) -> EngineResult<Option<String>> {
        Ok(self.here().await?.map(|(project, _)| project))
    }

    async fn within_checkout(&self, text: String) -> String {
        let Ok(Some((_, root))) = self.here().await else { return text };
        let relative = root.to_str().and_then(|root| text.strip_prefix(root)?.strip_prefix('/'));
        relative.map_or(text.clone(), str::to_owned)
    }

    async fn checked_out(&self, project: Option<&str>, path: &str, lines: (u32, u32)) -> Option<MapLinesRequest> {
        let (here, root) = self.here().await.ok()??;
        if project != Some(here.as_str()) {
            return None;
        }
        let path = path.to_owned();
        tokio::task::spawn_blocking(move || checkout::request(&root, Some(here), &path, lines)).await.ok().flatten()
    }
}
