//! Copies the ledger, and puts a copy in its place. The ledger is all that cannot be computed again.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use backstory_model::role::ServerRole;
use backstory_store::ledger::Ledger;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    resources::LEDGER,
    resources::Resources,
    use_case::{Scope, UseCase, Weight},
};

/// Directory of copies, in the data directory.
const DIRECTORY: &str = "backups";
/// The ledger that was there before another was put in its place.
const BEFORE: &str = "ledger.before-restore.sqlite";
/// There as long as graph and index are those of another ledger.
pub(crate) const RESTORED: &str = "restored";

/// A copy of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Backup {
    /// The file, in the data directory.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The newest change that is in it, or one before.
    pub ledger_seq: u64,
}

/// Writes a copy of the ledger into the data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackupRequest {}

impl UseCase for BackupRequest {
    const NAME: &'static str = "backup";
    const SCOPE: Scope = Scope::Admin;
    const ROLE: Option<ServerRole> = None;
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Backup;

    async fn run(self, resources: &Resources) -> Result<Backup> {
        backup(resources).await
    }
}

/// Writes a copy of the ledger into the data directory, while everything goes on.
///
/// # Errors
/// It cannot be written.
pub(crate) async fn backup(resources: &Resources) -> Result<Backup> {
    let (ledger, directory) = (resources.ledger().clone(), resources.shared.data_dir.join(DIRECTORY));
    let path = directory.join(format!("ledger-{}.sqlite", Timestamp::now().as_millisecond()));
    resources
        .blocking(move |_| {
            fs::create_dir_all(&directory).map_err(unusable(&directory))?;
            let ledger_seq = ledger.last_seq()?;
            ledger.backup(&path)?;
            let bytes = fs::metadata(&path).map_err(unusable(&path))?.len();
            Ok(Backup { path, bytes, ledger_seq })
        })
        .await
}

/// Puts a copy in place of the ledger of a data directory that nobody has open; the number of its newest change. The
/// ledger that was there is kept beside it. Graph and index are made anew when they are opened.
///
/// # Errors
/// It is no whole ledger, was written by a newer program, or a file cannot be read or written. The ledger is as it was.
pub fn restore(file: &Path, data_dir: &Path) -> Result<u64> {
    let fresh = data_dir.join("ledger.restoring.sqlite");
    copy(file, &fresh)?;
    let checked = check(&fresh, file);
    if checked.is_err() {
        fs::remove_file(&fresh).map_err(unusable(&fresh))?;
    }
    let seq = checked?;
    File::open(&fresh).and_then(|file| file.sync_all()).map_err(unusable(&fresh))?;
    let ledger = data_dir.join(LEDGER);
    // Before anything changes: whoever opens it from now on must not take graph and index for those of this ledger.
    File::create(data_dir.join(RESTORED)).and_then(|file| file.sync_all()).map_err(unusable(data_dir))?;
    if ledger.exists() {
        // What its log holds goes into the file when that is closed.
        drop(Ledger::open(&ledger));
        fs::rename(&ledger, data_dir.join(BEFORE)).map_err(unusable(&ledger))?;
    }
    for log in ["ledger.sqlite-wal", "ledger.sqlite-shm"].map(|log| data_dir.join(log)) {
        match fs::remove_file(&log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(&log)(error)),
            _ => {}
        }
    }
    fs::rename(&fresh, &ledger).map_err(unusable(&ledger))?;
    Ok(seq)
}

/// Copies a file, not who may read it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from).map_err(unusable(from))?;
    let mut target = File::create(to).map_err(unusable(to))?;
    io::copy(&mut source, &mut target).map_err(unusable(from))?;
    Ok(())
}

/// Number of the newest change of a ledger that is whole.
fn check(path: &Path, named: &Path) -> Result<u64> {
    let wrong =
        |kind: ErrorKind, what: String| Error::new(kind, format!("{} cannot be restored: {what}", named.display()));
    let ledger =
        Ledger::open(path).map_err(|error| wrong(Error::from(error).kind, "it is no ledger of this program".into()))?;
    let problems = ledger.check()?;
    match problems.into_iter().next() {
        Some(problem) => Err(wrong(ErrorKind::Configuration, problem)),
        None => Ok(ledger.last_seq()?),
    }
}

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |error| Error::new(ErrorKind::Configuration, format!("{path} cannot be used: {error}"))
}
