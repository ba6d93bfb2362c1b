//! `bundle`: hands a finished index over: the data directory in one file, and back.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use backstory_engine::{
    bundle::{BundleError, Stage, read_bundle, write_bundle},
    check::DigestRequest,
    error::ErrorKind,
};
use clap::value_parser;
use serde_json::Value;

use super::Session;
use crate::{
    client::Client,
    data_dir::{Claim, ClaimIntent, DataDir, Server},
    failure::{Failure, Result, reason},
    output::{escape_terminal, thousands},
};

/// Hand over a finished index: ledger, clones, graph and index in one file
///
/// A colleague, a sandbox of an agent or CI starts from it instead of reading everything again. It holds the texts of
/// private projects: keep it as safe as the data directory. Conversations, tokens, jobs and the records of who did what are
/// not in it.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory bundle export shop.bundle
  backstory bundle export shop.bundle --project acme/shop
  backstory bundle import shop.bundle --data-dir ~/.local/share/backstory")]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Write all projects, or some, to a file; no server may be running
    Export {
        /// The file, which must not exist yet
        #[arg(value_name = "FILE", value_parser = value_parser!(PathBuf))]
        file: PathBuf,
        /// Only this project (repeatable); graph and index are rebuilt for it [default: all]
        #[arg(long = "project", value_name = "PROJECT")]
        projects: Vec<String>,
    },
    /// Create a data directory from a file; there must be none yet
    Import {
        /// The file
        #[arg(value_name = "FILE", value_parser = value_parser!(PathBuf))]
        file: PathBuf,
    },
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    match &args.action {
        Action::Export { file, projects } => export(session, file, projects).await,
        Action::Import { file } => import(session, file).await,
    }
}

async fn export(session: &Session, file: &Path, projects: &[String]) -> Result<()> {
    if file.exists() {
        return Err(Failure::configuration(format!("{} exists already; name another file", file.display())));
    }
    session.require_data_dir()?;
    let directory = DataDir::open(&session.config()?.data_dir)?;
    let in_use =
        |who: String| Err(Failure::new(ErrorKind::Conflict, format!("{who} has the stores open; stop it first")));
    if let Some(server) = directory.current_server().await?.filter(Server::takes_work) {
        return in_use(server.holder().to_string());
    }
    // Computing the digest brings everything up to date first, and leaves the stores closed.
    let digest = read_digest(session, directory.path())?;
    match directory.claim("bundle", ClaimIntent::Work, &session.terminal).await? {
        Claim::Own => {}
        Claim::Server(server) => return in_use(server.holder().to_string()),
        Claim::Busy(holder) => return in_use(holder.to_string()),
    }
    let beside = stage_beside(file);
    let (from, at, wanted) = (directory.path().to_owned(), beside, projects.to_vec());
    let staged = tokio::task::spawn_blocking(move || Stage::prepare(&from, &at, &wanted)).await.map_err(bug)?;
    let stage = staged.map_err(|error| match error {
        BundleError::UnknownProject(_) => Failure::usage(format!("{error}; 'backstory status' lists all")),
        error => refused(file, &error),
    })?;
    let digest = if stage.is_whole() { digest } else { read_digest(session, stage.directory())? };
    let (to, version) = (file.to_owned(), env!("CARGO_PKG_VERSION"));
    let named = stage.projects().join(", ");
    let written = tokio::task::spawn_blocking(move || write_bundle(&stage, &to, version, &digest)).await;
    let size = written.map_err(bug)?.map_err(|error| refused(file, &error))?;
    let (files, megabytes) = (thousands(size.files as u64), size.bytes as f64 / 1e6);
    let packed = fs::metadata(file).map_or(0.0, |found| found.len() as f64 / 1e6);
    session.terminal.line(format_args!(
        "Wrote {}: {}; {files} files, {megabytes:.1} MB in {packed:.1} MB, sha256 {}",
        file.display(),
        escape_terminal(&named),
        size.hash
    ))?;
    Ok(())
}

/// Where what is handed over is prepared: beside the bundle, where there must be room for it anyway.
fn stage_beside(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".stage-{}", std::process::id()));
    file.with_file_name(name)
}

async fn import(session: &Session, file: &Path) -> Result<()> {
    let data_dir = session.config()?.data_dir.clone();
    let shown = data_dir.display();
    if !is_unused(&data_dir) {
        return Err(Failure::configuration(format!(
            "{shown} is in use already; name another directory with --data-dir"
        )));
    }
    let cannot =
        |error: std::io::Error| Failure::configuration(format!("{shown} cannot be created: {}", reason(&error)));
    let parent = data_dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(cannot)?;
    let name = data_dir.file_name().unwrap_or_default().to_string_lossy();
    let beside = parent.join(format!("{name}.import-{}", std::process::id()));
    let (from, to) = (file.to_owned(), beside.clone());
    let disk = rustix::fs::statvfs(parent).map_err(|error| cannot(error.into()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let read = tokio::task::spawn_blocking(move || read_bundle(&from, &to, free)).await.map_err(bug)?;
    let (header, size) = read.map_err(|error| refused(file, &error))?;
    // It is there whole, or not at all.
    let moved = remove_empty(&data_dir).and_then(|()| fs::rename(&beside, &data_dir));
    if let Err(error) = moved {
        // The reason is told already.
        let _ = fs::remove_dir_all(&beside);
        return Err(cannot(error));
    }
    let client = Client::open(session, "bundle", || Ok(())).await?;
    let digest = client.answer(DigestRequest {}).await?.digest;
    if digest != header.digest {
        let message = format!("the digest is {digest}, that of the bundle {}", header.digest);
        return Err(Failure {
            hint: Some("run 'backstory rebuild'".to_owned()),
            ..Failure::new(ErrorKind::Internal, message)
        });
    }
    let (files, megabytes) = (thousands(size.files as u64), size.bytes as f64 / 1e6);
    session.terminal.line(format_args!(
        "Imported {} into {shown}: {files} files, {megabytes:.1} MB, digest {digest}",
        escape_terminal(&header.projects.join(", ")),
    ))?;
    Ok(())
}

/// The digest of a data directory, by another process of this program, which brings everything up to date first.
fn read_digest(session: &Session, data_dir: &Path) -> Result<String> {
    let failed = |why: String| Failure::new(ErrorKind::Internal, format!("'backstory check --digest': {why}"));
    let own = std::env::current_exe().map_err(|error| failed(reason(&error)))?;
    let mut command = Command::new(own);
    command.args(["check", "--digest", "--json", "--data-dir"]).arg(data_dir).stdin(Stdio::null());
    for (name, value) in session.places().filter(|(name, _)| *name != "--data-dir") {
        command.arg(name).arg(value);
    }
    let output = command.output().map_err(|error| failed(reason(&error)))?;
    if !output.status.success() {
        // It has said why, in its own words.
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or("it failed");
        return Err(failed(said.to_owned()));
    }
    let digest: Value = serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
    digest["digest"].as_str().map(str::to_owned).ok_or_else(|| failed("there is no digest".to_owned()))
}

/// Whether there is no data directory, or an empty one.
fn is_unused(data_dir: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(data_dir) else { return !data_dir.exists() };
    entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == "lock"))
}

fn remove_empty(data_dir: &Path) -> std::io::Result<()> {
    if !data_dir.exists() {
        return Ok(());
    }
    match fs::remove_file(data_dir.join("lock")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::remove_dir(data_dir)
}

fn refused(file: &Path, error: &BundleError) -> Failure {
    Failure::configuration(format!("{}: {error}", file.display()))
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn bug(error: tokio::task::JoinError) -> Failure {
    Failure::new(ErrorKind::Internal, error.to_string())
}
