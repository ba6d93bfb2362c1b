//! The Model Context Protocol: six tools, a resource template and three prompts for agents, over standard input and output
//! or HTTP.
//!
//! `definitions` says what there is, `arguments` reads what a tool is called with, `tools` asks the engine's use cases, and
//! `text` prints their answers within a budget of tokens. `protocol` alone names the library that speaks the protocol.
//! Decision 0032 in `docs/decisions` says why there are so few tools, and why they answer with text alone.

mod arguments;
mod definitions;
mod lines;
mod prompts;
mod protocol;
mod text;
mod tools;

use std::future::Future;

use backstory_engine::{error::Result, map_lines::MapLinesRequest, use_case::UseCase};

pub use definitions::{LegacyToolNames, build_function_definitions};
pub(crate) use protocol::answer_http;
pub use protocol::serve_stdio;
pub use text::render_decision;

/// What answers the use cases that the tools ask: the engine of this process for one caller, or another process.
pub trait Backend: Clone + Send + Sync + 'static {
    /// Answers a request, as far as the caller may see and do.
    fn answer<U: UseCase>(&self, request: U) -> impl Future<Output = Result<U::Answer>> + Send;

    /// The project that is meant where none is named: that of the working directory, if there is one.
    ///
    /// # Errors
    /// The working directory is a clone that is not indexed, so that no project is meant.
    fn usual_project(&self) -> impl Future<Output = Result<Option<String>>> + Send {
        std::future::ready(Ok(None))
    }

    /// A path below the working directory's repository as it is from its root; any other text as it is.
    fn within_checkout(&self, text: String) -> impl Future<Output = String> + Send {
        std::future::ready(text)
    }

    /// What finds lines of the working directory at the indexed commit; `None` if there is no such file of that project.
    fn checked_out(
        &self,
        _project: Option<&str>,
        _path: &str,
        _lines: (u32, u32),
    ) -> impl Future<Output = Option<MapLinesRequest>> + Send {
        std::future::ready(None)
    }
}

/// How far a tool is with what takes long.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// What it does.
    pub(crate) phase: String,
    /// How many are done,
    pub(crate) done: u64,
    /// and of how many.
    pub(crate) total: Option<u64>,
}

/// Where a tool says how far it is; what nobody waits for is dropped.
pub(crate) type Steps = tokio::sync::mpsc::Sender<Step>;
