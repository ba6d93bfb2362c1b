//! backstory over HTTP: `/api/v1` for commands, the GraphQL API, webhooks of forges, probes and metrics, and who may
//! use them; and the Model Context Protocol, also over standard input and output.
//!
//! What a question means and how it is answered belongs to the engine; the command line and the configuration file belong
//! to the program.
#![recursion_limit = "256"] // what the engine awaits is nested deep

mod cursor;
pub mod error_table;
mod graphql;
mod http;
pub mod mcp;
mod queue;

pub use graphql::{Limits, sdl};
pub use http::{
    API, Access, DEFAULT_REQUESTS_PER_MINUTE, MIN_TOKEN, Network, Origin, Proxy, TOKEN_HINT, Token, listen, openapi,
    serve, stop_signal, wait_for_stop,
};
