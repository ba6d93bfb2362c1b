//! `schema`: prints the schema of the GraphQL API.

use super::Session;
use crate::failure::Result;

/// Print the schema of the GraphQL API, in SDL
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory schema > schema.graphql")]
pub(super) struct Args {}

pub(super) fn run(session: &Session, _: &Args) -> Result<()> {
    Ok(session.terminal.line(backstory_server::sdl().trim_end())?)
}
