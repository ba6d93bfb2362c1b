//! backstory: why is this code like this? The command line and the server.

mod cli;
mod client;
mod config;
mod data_dir;
mod error_table;
mod failure;
mod graphql;
mod http;
mod output;

use std::process::ExitCode;

fn main() -> ExitCode {
    output::one_sentence_panics();
    cli::run()
}
