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
mod share;

use std::{
    io::{Write as _, stderr},
    process::ExitCode,
};

/// What a shell says of a program that cannot be run.
const NOT_RUN: u8 = 127;

fn main() -> ExitCode {
    match backstory_engine::repository::become_git(std::env::args_os()) {
        None => {}
        Some(Ok(())) => return ExitCode::SUCCESS,
        Some(Err(error)) => {
            let _ = writeln!(stderr(), "{error}");
            return ExitCode::from(NOT_RUN);
        }
    }
    output::one_sentence_panics();
    cli::run()
}
