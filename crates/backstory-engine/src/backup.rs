//! Copies the ledger, and puts a copy in its place. The ledger is all that cannot be computed again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read as _, Seek as _},
    path::{Path, PathBuf},
};

use backstory_model::role::ServerRole;
use backstory_store::ledger::{AuditAction, Ledger, LedgerError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    resources::{LEDGER, Resources, blocking},
    use_case::{Scope, UseCase, Weight},
};

/// Directory of copies, in the data directory.
const DIRECTORY: &str = "backups";
/// What the ledger is called that was there before another was put in its place, without number and ending.
const BEFORE: &str = "ledger.before-restore";
/// Most of them that are kept; then none is replaced any more.
const MAX_REPLACED: usize = 100;
/// Most records of what was forgotten that are compared.
const MAX_DECISIONS: usize = 100_000;
/// Most copies in the data directory.
const MAX_BACKUPS: usize = 100;
/// What SQLite keeps beside a database: its log, and what processes share.
const LOGS: [&str; 2] = ["-wal", "-shm"];
/// What every database of SQLite begins with.
const DATABASE_HEADER: &[u8; 16] = b"SQLite format 3\0";
const NO_LEDGER: &str = "it is not a ledger of backstory";
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
    const CONCERNS_ALL_PROJECTS: bool = true;
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
    blocking(move || {
        fs::create_dir_all(&directory).map_err(unusable(&directory))?;
        if fs::read_dir(&directory).map_err(unusable(&directory))?.count() >= MAX_BACKUPS {
            let message = format!("there are {MAX_BACKUPS} copies in {} already", directory.display());
            return Err(Error::new(ErrorKind::Conflict, message).with_hint("move them elsewhere, or delete old ones"));
        }
        let ledger_seq = ledger.last_seq()?;
        ledger.backup(&path)?;
        let bytes = fs::metadata(&path).map_err(unusable(&path))?.len();
        Ok(Backup { path, bytes, ledger_seq })
    })
    .await
}

/// A ledger that was put in place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Its newest change.
    pub ledger_seq: u64,
    /// Where the ledger is that was there before, if there was one.
    pub replaced: Option<PathBuf>,
    /// What only the ledger that was there had decided, as far as it can be read.
    pub undone: Undone,
}

/// What was decided since a copy was made, and holds no more once that is in place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// What was forgotten.
    pub forgotten: Vec<String>,
    /// Names of tokens that were made.
    pub made_tokens: Vec<String>,
    /// Names of tokens that were revoked.
    pub revoked_tokens: Vec<String>,
}

/// Puts a copy in place of the ledger of a data directory that nobody has open. The ledger that was there is kept beside
/// it. Graph and index are rebuilt when they are opened.
///
/// # Errors
/// It is no whole ledger, was written by a newer program, or a file cannot be read or written. The ledger is as it was.
pub fn restore(file: &Path, data_dir: &Path) -> Result<Restored> {
    let fresh = data_dir.join("ledger.restoring.sqlite");
    let checked = copy(file, &fresh).and_then(|()| Ok((check(&fresh, file)?, unused_name(data_dir)?)));
    if checked.is_err() {
        remove_if_there(&fresh)?;
    }
    // What SQLite leaves beside a copy that it cannot read.
    for log in LOGS {
        remove_if_there(&with_suffix(&fresh, log))?;
    }
    let ((ledger_seq, decided), kept) = checked?;
    File::open(&fresh).and_then(|file| file.sync_all()).map_err(unusable(&fresh))?;
    let ledger = data_dir.join(LEDGER);
    // Before anything changes: a process that opens it from now on must not use graph and index as those of this ledger.
    let marker = data_dir.join(RESTORED);
    replace_file(&marker).and_then(|file| file.sync_all()).map_err(unusable(&marker))?;
    let (mut replaced, mut undone) = (None, Undone::default());
    if ledger.exists() {
        // What its log holds goes into the file when that is closed; a log that is left goes with it.
        let before = Ledger::open(&ledger).and_then(|ledger| Decisions::of(&ledger));
        undone = before.map(|before| before.without(&decided)).unwrap_or_default();
        fs::rename(&ledger, &kept).map_err(unusable(&ledger))?;
        let log = with_suffix(&ledger, LOGS[0]);
        if log.exists() {
            fs::rename(&log, with_suffix(&kept, LOGS[0])).map_err(unusable(&log))?;
        }
        replaced = Some(kept);
    }
    for log in LOGS {
        remove_if_there(&with_suffix(&ledger, log))?;
    }
    fs::rename(&fresh, &ledger).map_err(unusable(&ledger))?;
    Ok(Restored { ledger_seq, replaced, undone })
}

/// What a ledger says was forgotten, and its tokens by id: the name, and whether it was revoked.
struct Decisions {
    forgotten: BTreeSet<String>,
    tokens: BTreeMap<String, (String, bool)>,
}

impl Decisions {
    fn of(ledger: &Ledger) -> std::result::Result<Self, LedgerError> {
        let (mut forgotten, mut seen) = (BTreeSet::new(), BTreeSet::new());
        // The newest first: what was taken off the list again is not forgotten.
        for entry in ledger.audit(None, None, MAX_DECISIONS)? {
            let is_newest = seen.insert(entry.subject.clone());
            if is_newest && entry.action == AuditAction::Forget {
                forgotten.insert(entry.subject);
            }
        }
        let tokens =
            ledger.tokens()?.into_iter().map(|(token, _)| (token.id, (token.name, token.revoked_at.is_some())));
        Ok(Self { forgotten, tokens: tokens.collect() })
    }

    /// What of it another one does not have.
    fn without(self, other: &Self) -> Undone {
        let mut undone =
            Undone { forgotten: (&self.forgotten - &other.forgotten).into_iter().collect(), ..Undone::default() };
        for (id, (name, is_revoked)) in self.tokens {
            match other.tokens.get(&id) {
                None if !is_revoked => undone.made_tokens.push(name),
                Some((_, false)) if is_revoked => undone.revoked_tokens.push(name),
                _ => {}
            }
        }
        undone
    }
}

/// A path for a ledger that is replaced, where nothing is yet.
fn unused_name(data_dir: &Path) -> Result<PathBuf> {
    let numbered = (2..=MAX_REPLACED).map(|number| format!("{BEFORE}-{number}"));
    let names = std::iter::once(BEFORE.to_owned()).chain(numbered);
    let mut paths = names.map(|name| data_dir.join(format!("{name}.sqlite")));
    paths.find(|path| path.symlink_metadata().is_err()).ok_or_else(|| {
        let what = format!("{} holds {MAX_REPLACED} ledgers that were replaced; remove some", data_dir.display());
        Error::new(ErrorKind::Configuration, what)
    })
}

/// Copies a file that begins as a database does, and not who may read it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let found = fs::metadata(from).map_err(unusable(from))?;
    // Before it is opened: a pipe would wait for a writer.
    if !found.is_file() {
        return Err(not_restorable(from, ErrorKind::Configuration, "it is not a file"));
    }
    let mut source = File::open(from).map_err(unusable(from))?;
    let mut header = [0; DATABASE_HEADER.len()];
    let is_database = source.read_exact(&mut header).is_ok() && header == *DATABASE_HEADER;
    if !is_database {
        return Err(not_restorable(from, ErrorKind::Internal, NO_LEDGER));
    }
    source.rewind().map_err(unusable(from))?;
    let mut target = replace_file(to).map_err(unusable(to))?;
    io::copy(&mut source.take(found.len()), &mut target).map_err(unusable(to))?;
    Ok(())
}

/// A new file in place of whatever is there; a link there is not followed.
fn replace_file(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(path)
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(path)(error)),
        _ => Ok(()),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

fn not_restorable(file: &Path, kind: ErrorKind, what: &str) -> Error {
    Error::new(kind, format!("{} cannot be restored: {what}", file.display()))
}

/// Number of the newest change of a ledger that is whole, and what it decided.
fn check(path: &Path, named: &Path) -> Result<(u64, Decisions)> {
    // First, as opening makes a new ledger of an empty database.
    if !Ledger::is_ledger(path).unwrap_or(false) {
        return Err(not_restorable(named, ErrorKind::Internal, NO_LEDGER));
    }
    let ledger = Ledger::open(path).map_err(|error| {
        let error = Error::from(error);
        not_restorable(named, error.kind, &error.message)
    })?;
    match ledger.check()?.first() {
        Some(problem) => Err(not_restorable(named, ErrorKind::Configuration, problem)),
        None => Ok((ledger.last_seq()?, Decisions::of(&ledger)?)),
    }
}

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let what = format!("{} cannot be used", path.display());
    move |error| {
        let error = Error::of_files(&what, &error);
        if error.kind == ErrorKind::Internal { Error { kind: ErrorKind::Configuration, ..error } } else { error }
    }
}
