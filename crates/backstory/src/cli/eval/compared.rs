//! Reads and writes the snapshot of an evaluation, and compares with it.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use backstory_engine::{
    error::ErrorKind,
    model::eval::{Drift, Report, Snapshot},
};

use super::{Args, asked::Found, read_text};
use crate::failure::{Failure, Result, reason};

/// Largest snapshot that is read, in bytes.
const MAX_SNAPSHOT: u64 = 64 << 20;

/// How what was found compares with the snapshot.
pub(super) struct SnapshotComparison {
    /// The file of the snapshot.
    pub(super) path: PathBuf,
    /// What changed; nothing if there was no snapshot.
    pub(super) drift: Option<Drift>,
    /// Whether the snapshot was written.
    pub(super) written: bool,
    /// Whether a measure fell by more than is tolerated, and nobody said that this is right.
    pub(super) fell: bool,
}

/// Compares what was found with the snapshot in a directory, and writes it if there is none or a new one was asked for.
///
/// # Errors
/// The snapshot cannot be read or written.
pub(super) fn compare(directory: &Path, args: &Args, found: &Found, report: &Report) -> Result<SnapshotComparison> {
    let stem = args.file.as_deref().and_then(Path::file_stem).unwrap_or_default().to_string_lossy();
    let path = directory.join(format!("{stem}.json"));
    let new = Snapshot::of(found.index.clone(), &found.answered, report);
    let drift = read(&path)?.map(|old| new.drift_since(&old, args.tolerance));
    let written = drift.is_none() || args.update;
    if written {
        write(&path, &new)?;
    }
    let fell = !args.update && drift.as_ref().is_some_and(Drift::has_regression);
    Ok(SnapshotComparison { path, drift, written, fell })
}

fn read(path: &Path) -> Result<Option<Snapshot>> {
    if !path.exists() {
        return Ok(None);
    }
    let wrong = |what: String| {
        let message = format!("{}: {what}; remove it to have a new one written", path.display());
        Failure::new(ErrorKind::Invalid, message)
    };
    let text = read_text(path, MAX_SNAPSHOT).map_err(wrong)?;
    serde_json::from_str(&text).map(Some).map_err(|error| wrong(format!("it is not a snapshot: {error}")))
}

/// Writes it beside its place and puts it there, so that there is always a whole one.
fn write(path: &Path, snapshot: &Snapshot) -> Result<()> {
    let unwritable = |error: std::io::Error| {
        let message = format!("{} cannot be written: {}", path.display(), reason(&error));
        Failure::new(ErrorKind::Internal, message)
    };
    let json = serde_json::to_string_pretty(snapshot).map_err(|error| unwritable(error.into()))?;
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(unwritable)?;
    }
    let beside = path.with_extension("json.new");
    let mut file = fs::File::create(&beside).map_err(unwritable)?;
    writeln!(file, "{json}").map_err(unwritable)?;
    fs::rename(&beside, path).map_err(unwritable)
}
