//! `remove`: removes a git repository, its clone and everything known from it. Erasure is `forget`.

use backstory_engine::repository::RemoveRepository;

use super::Session;
use crate::{
    client::Client,
    failure::Result,
    output::{escape_terminal, pluralize},
};

/// Remove a git repository, its clone and everything known from it
///
/// What a forge says about the project stays. 'backstory forget' erases that too, for good.
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory remove group/project")]
pub(super) struct Args {
    /// The project, as 'backstory repos' lists it
    #[arg(value_name = "PROJECT")]
    project: String,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "remove", || Ok(())).await?;
    let gone = client.answer(RemoveRepository { project: args.project.clone() }).await?;
    let (project, gone) = (escape_terminal(&args.project), pluralize(gone, "object was", "objects were"));
    Ok(session.terminal.line(format_args!("Removed {project} with its clone; {gone} deleted"))?)
}
