//! `backup`: writes a copy of the ledger to a file.

use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use backstory_engine::backup::BackupRequest;
use clap::value_parser;

use super::Session;
use crate::{
    client::Client,
    failure::{Failure, Result, reason},
    output::escape_terminal,
};

/// Write a copy of the ledger to a file, even while a server is running
///
/// The ledger is all that cannot be rebuilt: graph and index are made from it, repositories are cloned again. It holds
/// the texts of private projects: keep the copy as safe as the data directory.
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory backup /var/backups/backstory-$(date +%F).sqlite")]
pub(super) struct Args {
    /// The file, which must not exist yet
    #[arg(value_name = "FILE", value_parser = value_parser!(PathBuf))]
    file: PathBuf,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let shown = args.file.display();
    if args.file.exists() {
        return Err(Failure::configuration(format!("{shown} exists already; name another file")));
    }
    let failed = |error: &io::Error| {
        let advice = "name a file in a directory that exists and that you may write to";
        Failure::configuration(format!("{shown} cannot be written: {}; {advice}", reason(error)))
    };
    check_writable(&args.file).map_err(|error| failed(&error))?;
    let client = Client::open(session, "backup", || Ok(())).await?;
    let backup = client.answer(BackupRequest {}).await?;
    let moved = move_file(&backup.path, &args.file);
    // A copy that stays holds what somebody may want to be forgotten.
    if let Err(error) = discard(&backup.path) {
        let path = escape_terminal(&backup.path.to_string_lossy());
        session.terminal.warning(format_args!("a copy stays in {path}: {}; remove it", reason(&error)));
    }
    moved.map_err(|error| failed(&error))?;
    let (megabytes, seq) = (backup.bytes as f64 / 1e6, backup.ledger_seq);
    Ok(session.terminal.line(format_args!("Wrote {shown}: {megabytes:.1} MB, up to change {seq} of the ledger"))?)
}

/// Whether a file can be created there, which is tried out before the ledger is copied.
fn check_writable(file: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(file)?;
    fs::remove_file(file)
}

/// Moves a file, also to another file system: the server writes into its data directory only, who runs this command may
/// write elsewhere. Nothing is left at the target if that fails.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    if fs::rename(from, to).is_ok() {
        return Ok(());
    }
    let copied = fs::copy(from, to);
    if copied.is_err() {
        discard(to)?;
    }
    copied.map(drop)
}

/// Removes a file, if it is there.
fn discard(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
