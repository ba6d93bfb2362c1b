//! `backup`: writes a copy of the ledger to a file.

use std::{fs, path::PathBuf};

use backstory_engine::backup::BackupRequest;
use clap::value_parser;

use super::Session;
use crate::{
    client::Client,
    failure::{Failure, Result, reason},
    output::plain,
};

/// Write a copy of the ledger to a file, also while a server runs
///
/// The ledger is all that cannot be made anew: graph and index are made from it, repositories are cloned again. It holds
/// what private projects say: keep the copy as safe as the data directory.
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory backup /var/backups/backstory-$(date +%F).sqlite")]
pub(super) struct Args {
    /// The file, which must not be there yet
    #[arg(value_name = "FILE", value_parser = value_parser!(PathBuf))]
    file: PathBuf,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let shown = args.file.display();
    if args.file.exists() {
        return Err(Failure::configuration(format!("{shown} is there already; name another file")));
    }
    let client = Client::open(session, "backup", || Ok(())).await?;
    let backup = client.answer(BackupRequest {}).await?;
    let failed = |error: &std::io::Error| {
        let path = plain(&backup.path.to_string_lossy());
        Failure::configuration(format!("{shown} cannot be written: {}; the copy is {path}", reason(error)))
    };
    // The server writes into its data directory only; who runs this command may write elsewhere.
    if let Err(error) = fs::rename(&backup.path, &args.file) {
        fs::copy(&backup.path, &args.file).map_err(|_| failed(&error))?;
        fs::remove_file(&backup.path).map_err(|error| failed(&error))?;
    }
    let (megabytes, seq) = (backup.bytes as f64 / 1e6, backup.ledger_seq);
    Ok(session.terminal.line(format_args!("Wrote {shown}: {megabytes:.1} MB, up to change {seq} of the ledger"))?)
}
