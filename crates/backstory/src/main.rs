//! The program `backstory`: command line, configuration and data directory. HTTP and GraphQL are in `backstory-server`.

#![recursion_limit = "256"] // what LanceDB awaits is nested deep

mod allocator;
mod cli;
mod client;
mod config;
mod data_dir;
mod embedded_server;
mod failure;
mod output;
mod resources;
mod session;

use std::{
    io::{Write as _, stderr},
    process::ExitCode,
};

/// What a shell says of a program that cannot be run.
const NOT_RUN: u8 = 127;

fn main() -> ExitCode {
    match backstory_engine::repository::run_git_child_if_requested(std::env::args_os()) {
        None => {}
        Some(Ok(())) => return ExitCode::SUCCESS,
        Some(Err(error)) => {
            let _ = writeln!(stderr(), "{error}");
            return ExitCode::from(NOT_RUN);
        }
    }
    output::install_panic_hook();
    cli::run()
}
