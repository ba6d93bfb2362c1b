//! `me`: prints what waits for you, and what you did.

use backstory_engine::sources::git::naming::{discover_repository, user_email};

use super::{
    Session,
    arguments::parse_user,
    person::{self, PersonOptions},
};
use crate::failure::{Failure, Result};

/// Show what is waiting for you: assigned, to review, mentioned, answered, stale; and what you did
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory me
  backstory me --project group/project --stale-days 14
  backstory me --as johndoe --json

You are the person that 'me' under [people] names, or else the one whose address git uses for commits in the current directory.")]
pub(super) struct Args {
    /// Your user name at the forge
    #[arg(long = "as", value_name = "USER", value_parser = parse_user)]
    name: Option<String>,
    #[command(flatten)]
    shown: PersonOptions,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let name = args.name.clone().or_else(|| session.config().ok()?.settings.people.me.clone()).or_else(own_address);
    let unknown = "who are you? Use --as USER, or set 'me' under [people] in the configuration";
    let name = name.ok_or_else(|| Failure::usage(unknown))?;
    person::show(session, "me", args.shown.about(name)).await
}

/// The address with which git makes commits where the user stands.
fn own_address() -> Option<String> {
    user_email(&discover_repository(&std::env::current_dir().ok()?)?)
}
