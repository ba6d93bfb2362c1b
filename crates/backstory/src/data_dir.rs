//! The data directory: one process at a time holds its lock, and the others find that process there.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use backstory_engine::error::ErrorKind;
use rustix::{
    fs::{Mode, OFlags},
    process::umask,
};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;

use crate::{
    failure::{Failure, Result, reason},
    output::Terminal,
};

/// Who may read the data: it holds what private projects say.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// The permissions that are taken from other users of a file.
const OTHERS: u32 = 0o077;
/// The files and directories that tell whether the others were written by a program that let others read them.
const MARKER_ENTRIES: [&str; 3] = ["ledger.sqlite", "clones", "backups"];
/// Held by the process that has the stores open, with its number and command inside.
const LOCK: &str = "lock";
/// Where that process can be reached.
const SERVER: &str = "server.json";
/// The commands that are servers.
pub(crate) const SERVE: &str = "serve";
pub(crate) const UP: &str = "up";
/// The command that answers an agent for as long as that works.
pub(crate) const MCP: &str = "mcp";
/// What every server's address begins with.
pub(crate) const SCHEME: &str = "http://";
/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;
/// How long a command waits for another to end.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it waits before it says so.
const NOTICE_AFTER: Duration = Duration::from_millis(500);
/// Time between two looks at the lock, which cannot be waited for without blocking.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// A data directory that exists and can be written to.
#[derive(Clone, Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
}

/// A process that has the stores open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LockOwner {
    /// Its number.
    pub(crate) pid: u32,
    /// What it does: `sync`.
    pub(crate) command: String,
}

/// A process that can be asked: a server, or a command that answers others while it has the stores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Server {
    /// Number of its process.
    pub(crate) pid: u32,
    /// What it does: `serve`, `sync`. Absent, like the next, from what older versions write, of which only servers do.
    #[serde(default = "usual_command")]
    pub(crate) command: String,
    /// How long it answers.
    #[serde(default)]
    pub(crate) role: ServerKind,
    /// Where it listens: `http://127.0.0.1:7373`, without a path.
    pub(crate) url: String,
    /// Version of the program.
    pub(crate) version: String,
    /// SHA-256 of the configuration file that it has read.
    pub(crate) config: String,
    /// What commands show it that can read this: they see everything, as they could read the stores themselves.
    pub(crate) secret: ProcessSecret,
}

/// A random text that every process makes for itself that answers others. Only who owns the data directory can read it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ProcessSecret(String);

impl ProcessSecret {
    fn new() -> io::Result<Self> {
        let mut random = [0; SECRET_BYTES];
        getrandom::fill(&mut random)?;
        Ok(Self(hex::encode(random)))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ProcessSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProcessSecret")
    }
}

/// How long a process answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ServerKind {
    /// Until somebody ends it.
    #[default]
    Server,
    /// While it is at work on something of its own.
    Command,
}

fn usual_command() -> String {
    SERVE.to_owned()
}

impl Server {
    /// Whether it is a server, which goes on until somebody ends it.
    pub(crate) fn is_long_running(&self) -> bool {
        self.role == ServerKind::Server
    }

    /// Whether it takes on long work of others: what ends with its own work does not.
    pub(crate) fn takes_work(&self) -> bool {
        self.is_long_running() || self.command == MCP
    }

    /// Which process it is.
    pub(crate) fn holder(&self) -> LockOwner {
        LockOwner { pid: self.pid, command: self.command.clone() }
    }
}

/// What a command wants of the process that has the stores, if that is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimIntent {
    /// Answers, which every process gives that has the stores open.
    Answers,
    /// Long work, which a server takes on, or a command that answers an agent: others end when their own work is done.
    Work,
}

/// Who has the stores.
#[derive(Debug)]
pub(crate) enum Claim {
    /// This process, until it ends.
    Own,
    /// Another, which does what is wanted.
    Server(Server),
    /// Another, which does not.
    Busy(LockOwner),
}

impl DataDir {
    /// The directory of that path, which is created if it is absent.
    ///
    /// # Errors
    /// It cannot be created or written to.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let refused = |error: io::Error| {
            Failure::configuration(format!(
                "the data directory {} cannot be used: {}; make it a directory that you may write to, or name another \
                 with --data-dir or data_dir in the configuration",
                path.display(),
                // What mkdir says of a file.
                if path.is_file() { "it is a file".to_owned() } else { reason(&error) }
            ))
        };
        // Also for what libraries and git write, and for copies that are put elsewhere.
        umask(Mode::RWXG | Mode::RWXO);
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path).map_err(refused)?;
        let directory = Self { path: path.to_owned() };
        directory.lock_file().map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => directory.cannot_lock(&error),
            _ => refused(error),
        })?;
        Ok(directory)
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn lock_file(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
        // It is written to, so it must be the file that it seems to be; opening a pipe does not wait for another.
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
        let path = self.path.join(LOCK);
        let other = || io::Error::new(io::ErrorKind::InvalidInput, "it is a link or not a file; remove it");
        let file = options.open(&path).map_err(|error| if path.is_symlink() { other() } else { error })?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(other()) }
    }

    fn cannot_lock(&self, error: &io::Error) -> Failure {
        let path = self.path.join(LOCK);
        Failure::new(ErrorKind::Internal, format!("{} cannot be locked: {}", path.display(), reason(error)))
    }

    /// Takes the stores for this process, unless another has them. If that one does what is wanted, it can be asked;
    /// otherwise this waits a few seconds for its end.
    ///
    /// # Errors
    /// The lock cannot be used.
    pub(crate) async fn claim(&self, command: &str, want: ClaimIntent, terminal: &Terminal) -> Result<Claim> {
        let failed = |error: io::Error| self.cannot_lock(&error);
        let mut file = self.lock_file().map_err(failed)?;
        let begun = Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    self.take(&mut file, command).map_err(failed)?;
                    self.tighten(terminal);
                    // Held until the process ends: stores may write in the background when a command is done.
                    std::mem::forget(file);
                    return Ok(Claim::Own);
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            let holder = holder(&mut file);
            if let Some(server) = self.server(holder.as_ref())
                && (want == ClaimIntent::Answers || server.takes_work())
                && is_reachable(&server).await
            {
                return Ok(Claim::Server(server));
            }
            if begun.elapsed() > LOCK_TIMEOUT {
                let unknown = || LockOwner { pid: 0, command: "another command".to_owned() };
                return Ok(Claim::Busy(holder.unwrap_or_else(unknown)));
            }
            if begun.elapsed() > NOTICE_AFTER && !told {
                told = true;
                let who = holder.map_or_else(|| "another command".to_owned(), |holder| holder.to_string());
                terminal.note(format_args!("waiting for {who} to end"));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Takes the files of this directory from others, and says so if others could read them.
    fn tighten(&self, terminal: &Terminal) {
        let could_read = is_open_to_others(&self.path);
        let telling = MARKER_ENTRIES.iter().map(|name| self.path.join(name));
        if !could_read && !telling.into_iter().any(|path| is_open_to_others(&path)) {
            return;
        }
        let path = self.path.display();
        match tighten(&self.path) {
            Ok(()) if could_read => {
                terminal.note(format_args!("others could read files in {path}; they cannot any more"))
            }
            Ok(()) => {}
            Err(error) => terminal.note(format_args!(
                "others may read files in {path}, and that cannot be changed: {}; its owner can: chmod -R go= {path}",
                reason(&error)
            )),
        }
    }

    fn take(&self, file: &mut File, command: &str) -> io::Result<()> {
        let holder = LockOwner { pid: std::process::id(), command: command.to_owned() };
        file.set_len(0)?;
        file.rewind()?;
        match file.write_all(serde_json::to_string(&holder)?.as_bytes()) {
            // The lock holds all the same; others are only not told who has it.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {}
            done => done?,
        }
        // Left by a server that could not end well.
        match fs::remove_file(self.path.join(SERVER)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The process that has the stores now, if it can be asked; `None` also while nobody has them.
    ///
    /// # Errors
    /// The lock cannot be used.
    pub(crate) async fn current_server(&self) -> Result<Option<Server>> {
        if self.is_free()? {
            return Ok(None);
        }
        let holder = self.lock_file().ok().and_then(|mut file| holder(&mut file));
        let Some(server) = self.server(holder.as_ref()) else { return Ok(None) };
        Ok(is_reachable(&server).await.then_some(server))
    }

    /// Whether nobody has the stores.
    ///
    /// # Errors
    /// The lock cannot be used.
    pub(crate) fn is_free(&self) -> Result<bool> {
        let file = self.lock_file().map_err(|error| self.cannot_lock(&error))?;
        match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(self.cannot_lock(&error)),
        }
    }

    /// The server that the holder of the lock is.
    fn server(&self, holder: Option<&LockOwner>) -> Option<Server> {
        let path = self.path.join(SERVER);
        if !path.is_file() {
            return None;
        }
        let server: Server = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (server.pid == holder?.pid).then_some(server)
    }

    /// The server of a data directory, if there is one. Nothing is created, and nobody waited for.
    pub(crate) fn running(path: &Path) -> Option<Server> {
        let directory = Self { path: path.to_owned() };
        let path = directory.path.join(LOCK);
        let mut lock = path.is_file().then(|| File::open(path).ok())??;
        directory.server(holder(&mut lock).as_ref())
    }

    /// Lets others find this process, which answers at that address.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub(crate) fn announce(
        &self,
        role: ServerKind,
        command: &str,
        url: &str,
        config: &str,
    ) -> Result<ServerAnnouncement> {
        let failed = |error: io::Error| {
            let path = self.path.join(SERVER);
            Failure::new(ErrorKind::Internal, format!("{} cannot be written: {}", path.display(), reason(&error)))
        };
        let secret = ProcessSecret::new().map_err(failed)?;
        let server = Server {
            pid: std::process::id(),
            command: command.to_owned(),
            role,
            url: url.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            config: config.to_owned(),
            secret,
        };
        let (new, path) = (self.path.join("server.json.new"), self.path.join(SERVER));
        let write = || {
            // Left by a process that ended in between. A link in its place is not followed.
            match fs::remove_file(&new) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&new)?;
            file.write_all(serde_json::to_string(&server)?.as_bytes())?;
            // In one step: nobody reads half of it.
            fs::rename(&new, &path)
        };
        write().map_err(failed)?;
        Ok(ServerAnnouncement { path, secret: server.secret.0.into() })
    }
}

/// Others can find the server, until this is dropped.
pub(crate) struct ServerAnnouncement {
    path: PathBuf,
    secret: SecretString,
}

impl ServerAnnouncement {
    /// What they show.
    pub(crate) fn secret(&self) -> &SecretString {
        &self.secret
    }
}

impl Drop for ServerAnnouncement {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the server's address stays behind");
        }
    }
}

impl LockOwner {
    /// Whether it is a server, though none that can be asked yet.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self.command.as_str(), SERVE | UP)
    }

    /// Whether it is a command that syncs.
    pub(crate) fn is_sync_command(&self) -> bool {
        matches!(self.command.as_str(), "sync" | "add")
    }
}

impl std::fmt::Display for LockOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "backstory {} (pid {})", self.command, self.pid)
    }
}

fn is_open_to_others(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|of| !of.is_symlink() && of.permissions().mode() & OTHERS != 0)
}

/// Takes a file from others, or a directory and all that is in it. What a link leads to stays as it is.
fn tighten(path: &Path) -> io::Result<()> {
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let of = fs::symlink_metadata(&path)?;
        if of.is_symlink() {
            continue;
        }
        let mut permissions = of.permissions();
        if permissions.mode() & OTHERS != 0 {
            permissions.set_mode(permissions.mode() & !OTHERS);
            fs::set_permissions(&path, permissions)?;
        }
        if of.is_dir() {
            for entry in fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        }
    }
    Ok(())
}

fn holder(file: &mut File) -> Option<LockOwner> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    serde_json::from_str(&text).ok()
}

async fn is_reachable(server: &Server) -> bool {
    let Some(address) = server.url.strip_prefix(SCHEME) else { return false };
    matches!(tokio::time::timeout(LOCK_TIMEOUT, TcpStream::connect(address)).await, Ok(Ok(_)))
}
