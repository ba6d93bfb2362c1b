//! `restore`: puts a copy of the ledger in place of the ledger.

use std::path::PathBuf;

use backstory_engine::{backup, error::ErrorKind};
use clap::value_parser;

use super::Session;
use crate::{
    data_dir::{Claim, ClaimIntent, DataDir},
    failure::{Failure, Result},
    output::escape_terminal,
};

/// Most names of what a restored copy does not know that are told.
const MAX_NAMED: usize = 20;

/// Replace the ledger with a copy that 'backstory backup' wrote
///
/// Graph and index are rebuilt from it by the next command, vectors of unchanged text are kept; the next sync reads
/// what is new since. The ledger that was there is kept beside it. What was forgotten since the copy was made is there
/// again, and tokens are those of the copy; the output names both. No server may be running.
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory restore /var/backups/backstory-2026-11-22.sqlite")]
pub(super) struct Args {
    /// The copy
    #[arg(value_name = "FILE", value_parser = value_parser!(PathBuf))]
    file: PathBuf,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let directory = DataDir::open(&session.config()?.data_dir)?;
    let in_use =
        |who: String| Err(Failure::new(ErrorKind::Conflict, format!("{who} has the ledger open; stop it first")));
    match directory.claim("restore", ClaimIntent::Work, &session.terminal).await? {
        Claim::Own => {}
        Claim::Server(server) => return in_use(format!("the server at {} (pid {})", server.url, server.pid)),
        Claim::Busy(holder) => return in_use(holder.to_string()),
    }
    let (file, data_dir) = (args.file.clone(), directory.path().to_owned());
    let restored = tokio::task::spawn_blocking(move || backup::restore(&file, &data_dir)).await;
    let restored = restored.map_err(|error| Failure::new(ErrorKind::Internal, error.to_string()))??;
    let shown = args.file.display();
    let seq = restored.ledger_seq;
    session.terminal.line(format_args!("Restored {shown}, up to change {seq} of the ledger"))?;
    if let Some(replaced) = restored.replaced {
        let path = escape_terminal(&replaced.to_string_lossy());
        session.terminal.note(format_args!("the ledger that was there is {path}"));
    }
    let backup::Undone { forgotten, made_tokens, revoked_tokens } = &restored.undone;
    let undone = [
        (forgotten, "is there again, though it was forgotten since that copy was made; 'backstory forget' forgets it"),
        (revoked_tokens, "is a valid token again, though it was revoked since; 'backstory token revoke' revokes it"),
        (made_tokens, "is not a token any more, since it was created later"),
    ];
    for (names, what) in undone {
        for name in names.iter().take(MAX_NAMED) {
            session.terminal.warning(format_args!("{} {what}", escape_terminal(name)));
        }
        if names.len() > MAX_NAMED {
            session.terminal.warning(format_args!("the same is true of {} more", names.len() - MAX_NAMED));
        }
    }
    session.terminal.note("graph and index are rebuilt when they are next opened; 'backstory sync' reads what is new");
    Ok(())
}
