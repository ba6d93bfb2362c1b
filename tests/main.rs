//! Tests through the public surface.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ask;
mod ask_model;
mod cli;
mod cli_bad_input;
mod cli_chat;
mod cli_eval;
mod cli_repositories;
mod cli_search;
mod cli_serve;
mod cli_why;
mod config;
mod context;
mod durability;
mod embed;
mod enrich;
mod forget;
mod github;
mod graphql;
mod links;
mod operations;
mod replay;
mod repository;
mod repository_shapes;
mod search_commits;
mod search_rerank;
mod secrets;
mod snapshots;
mod soak;
mod store_graph;
mod store_index;
mod store_ledger;
mod support;
mod sync;
mod trace;
mod worker;
