//! backstory over HTTP: `/api/v1` for commands, the GraphQL API, webhooks of forges, probes and metrics, and who may
//! use them.
//!
//! What a question means and how it is answered belongs to the engine; the command line and the configuration file belong
//! to the program.

pub mod error_table;
mod graphql;
mod http;
mod queue;

pub use graphql::{Limits, sdl};
pub use http::{API, Access, MAKE_TOKEN, MIN_TOKEN, Origin, Token, listen, serve, stop_signal, until};
