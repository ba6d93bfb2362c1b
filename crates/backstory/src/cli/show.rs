//! `show`: shows an issue, merge request, discussion or commit.

mod commit;
mod page;

use backstory_engine::show::{NodeDetails, ShowRequest};

use super::{
    Session,
    arguments::{Reference, parse_reference},
    place,
};
use crate::{client::Client, failure::Result};

/// Show an issue or merge request with its discussions and links, a single discussion, or a commit
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory show 'group/project#12'
  backstory show 'group/project!7' --json
  backstory show issue 12
  backstory show group/project@1a2b3c4
  backstory show 1a2b3c4

A number without a project belongs to the project of --project, of the clone that you are in, or to the only one.
Quote references with # or !, which shells interpret.")]
pub(super) struct Args {
    /// group/project#12, group/project!7, #12, !7, issue 12, mr 7, the id of a discussion, group/project@1a2b3c4, or 1a2b3c4
    #[arg(required = true, num_args = 1..=2, value_name = "REFERENCE")]
    reference: Vec<String>,
    /// Project that the number belongs to
    #[arg(long, value_name = "GROUP/PROJECT")]
    project: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let project = args.project.as_deref();
    let bare_commit = match &args.reference[..] {
        [word] => place::parse_bare_commit(word),
        _ => None,
    };
    let open = || Client::open(session, "show", || Ok(()));
    let (client, id) = match bare_commit {
        Some(sha) => {
            let client = open().await?;
            let id = place::qualify_commit_with_default_project(&client, sha, project).await?;
            (client, id)
        }
        None => {
            // What is no reference is refused before the stores are opened.
            let reference = parse_reference(&args.reference, project)?;
            let client = open().await?;
            let id = match reference {
                Reference::Whole(id) => id,
                Reference::Number(number) => {
                    place::qualify_thread_with_default_project(&client, &number, session.config()?).await?
                }
            };
            (client, id)
        }
    };
    let node = client.answer(ShowRequest { id }).await?;
    let terminal = &session.terminal;
    if args.json {
        return Ok(terminal.json(&node)?);
    }
    match &node {
        NodeDetails::Thread(thread) => page::print_thread(terminal, thread),
        NodeDetails::Discussion(discussion) => page::print_single_discussion(terminal, discussion),
        NodeDetails::Commit(commit) => commit::print(terminal, commit),
    }
}
