//! The data directory: one process at a time has it, and the others find that process if it is a server.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use backstory_engine::error::ErrorKind;
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
/// Held by the process that has the stores open, with its number and command inside.
const LOCK: &str = "lock";
/// Where that process can be reached, if it is a server.
const SERVER: &str = "server.json";
/// The commands that are servers.
pub(crate) const SERVE: &str = "serve";
pub(crate) const UP: &str = "up";
/// What every server's address begins with.
pub(crate) const SCHEME: &str = "http://";
/// Where random bytes come from.
const RANDOM: &str = "/dev/urandom";
/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;
/// How long a command waits for another to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it waits before it says so.
const SILENCE: Duration = Duration::from_millis(500);
/// Time between two looks at the lock, which cannot be waited for without blocking.
const LOOK: Duration = Duration::from_millis(25);

/// A data directory that exists and can be written to.
#[derive(Clone, Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
}

/// A process that has the stores open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Holder {
    /// Its number.
    pub(crate) pid: u32,
    /// What it does: `sync`.
    pub(crate) command: String,
}

/// A server that can be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Server {
    /// Number of its process.
    pub(crate) pid: u32,
    /// Where it listens: `http://127.0.0.1:7373`, without a path.
    pub(crate) url: String,
    /// Version of the program.
    pub(crate) version: String,
    /// SHA-256 of the configuration file that it has read.
    pub(crate) config: String,
    /// What commands show it that can read this: they see everything, as they could read the stores themselves.
    pub(crate) secret: OwnSecret,
}

/// A random text, made anew by every server. Only who owns the data directory can read it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct OwnSecret(String);

impl OwnSecret {
    fn new() -> io::Result<Self> {
        let mut random = [0; SECRET_BYTES];
        File::open(RANDOM)?.read_exact(&mut random)?;
        Ok(Self(random.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for OwnSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnSecret")
    }
}

/// Who has the stores.
#[derive(Debug)]
pub(crate) enum Claim {
    /// This process, until it ends.
    Own,
    /// A server.
    Server(Server),
    /// A command that answers nobody.
    Busy(Holder),
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
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path).map_err(refused)?;
        let directory = Self { path: path.to_owned() };
        directory.lock_file().map_err(refused)?;
        Ok(directory)
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn lock_file(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(self.path.join(LOCK))
    }

    /// Takes the stores for this process, unless another has them. If that one is a server, it can be asked; otherwise
    /// this waits a few seconds for its end.
    ///
    /// # Errors
    /// The lock cannot be used.
    pub(crate) async fn claim(&self, command: &str, terminal: &Terminal) -> Result<Claim> {
        let failed = |error: io::Error| {
            let path = self.path.join(LOCK);
            Failure::new(ErrorKind::Internal, format!("{} cannot be locked: {}", path.display(), reason(&error)))
        };
        let mut file = self.lock_file().map_err(failed)?;
        let begun = Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    self.take(&mut file, command).map_err(failed)?;
                    // Held until the process ends: stores may write in the background when a command is done.
                    std::mem::forget(file);
                    return Ok(Claim::Own);
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            let holder = holder(&mut file);
            if let Some(server) = self.server(holder.as_ref())
                && is_reachable(&server).await
            {
                return Ok(Claim::Server(server));
            }
            if begun.elapsed() > PATIENCE {
                let unknown = || Holder { pid: 0, command: "another command".to_owned() };
                return Ok(Claim::Busy(holder.unwrap_or_else(unknown)));
            }
            if begun.elapsed() > SILENCE && !told {
                told = true;
                let who = holder.map_or_else(|| "another command".to_owned(), |holder| holder.to_string());
                terminal.note(format_args!("waiting for {who} to end"));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn take(&self, file: &mut File, command: &str) -> io::Result<()> {
        let holder = Holder { pid: std::process::id(), command: command.to_owned() };
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(serde_json::to_string(&holder)?.as_bytes())?;
        // Left by a server that could not end well.
        match fs::remove_file(self.path.join(SERVER)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The server that the holder of the lock is.
    fn server(&self, holder: Option<&Holder>) -> Option<Server> {
        let server: Server = serde_json::from_slice(&fs::read(self.path.join(SERVER)).ok()?).ok()?;
        (server.pid == holder?.pid).then_some(server)
    }

    /// Lets others find the server that this process is.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub(crate) fn announce(&self, url: &str, config: &str) -> Result<Announcement> {
        let failed = |error: io::Error| {
            let path = self.path.join(SERVER);
            Failure::new(ErrorKind::Internal, format!("{} cannot be written: {}", path.display(), reason(&error)))
        };
        let secret = OwnSecret::new().map_err(failed)?;
        let server = Server {
            pid: std::process::id(),
            url: url.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            config: config.to_owned(),
            secret,
        };
        let (new, path) = (self.path.join("server.json.new"), self.path.join(SERVER));
        let write = || {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&new)?;
            file.write_all(serde_json::to_string(&server)?.as_bytes())?;
            // In one step: nobody reads half of it.
            fs::rename(&new, &path)
        };
        write().map_err(failed)?;
        Ok(Announcement { path, secret: server.secret.0.into() })
    }
}

/// Others can find the server, until this is dropped.
pub(crate) struct Announcement {
    path: PathBuf,
    secret: SecretString,
}

impl Announcement {
    /// What they show.
    pub(crate) fn secret(&self) -> &SecretString {
        &self.secret
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the server's address stays behind");
        }
    }
}

impl Holder {
    /// Whether it is a server, though none that can be asked yet.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self.command.as_str(), SERVE | UP)
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "backstory {} (pid {})", self.command, self.pid)
    }
}

fn holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    serde_json::from_str(&text).ok()
}

async fn is_reachable(server: &Server) -> bool {
    let Some(address) = server.url.strip_prefix(SCHEME) else { return false };
    matches!(tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await, Ok(Ok(_)))
}
