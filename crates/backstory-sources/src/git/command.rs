//! The `git` command: no hooks, templates, prompts, user configuration, redirects or submodules, within limits.
//!
//! The configuration of a command is passed in its environment, which only the same user can read; arguments can be
//! read by everybody on the machine. A command runs in a process group of its own, so that what it starts ends with it,
//! with a limit of memory, and all of it ends with this process ([`child`](super::child)).

use std::{
    ffi::{OsStr, OsString},
    fmt,
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use tempfile::NamedTempFile;

use super::child;

mod process;

pub use process::{Killer, Process};

/// Oldest git that understands what is asked of it here.
pub const MIN_VERSION: (u32, u32) = (2, 39);
/// Where git and what it starts are looked for, unless the caller says otherwise.
pub const DEFAULT_SEARCH_PATH: &str = "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin";
/// Most bytes of data that a command may have, unless it is given less.
pub const MAX_MEMORY: u64 = 2 << 30;
/// How often a running command is looked after.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);
/// How long `git version` may take.
const VERSION_TIME: Duration = Duration::from_secs(20);

/// Why a git command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no such program.
    #[error("'{program}' cannot be run: {source}; install git {}.{} or newer, or configure where it is", MIN_VERSION.0, MIN_VERSION.1)]
    Missing {
        /// The program that was asked for.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is older than [`MIN_VERSION`], or does not say what it is.
    #[error("git {}.{} or newer is needed, this one says '{found}'", MIN_VERSION.0, MIN_VERSION.1)]
    TooOld {
        /// What it says of itself.
        found: String,
    },
    /// It ended with an error.
    #[error("git {command} failed ({status}): {stderr}")]
    Failed {
        /// The subcommand.
        command: String,
        /// How it ended.
        status: String,
        /// What it said, without credentials.
        stderr: String,
    },
    /// It took too long and was ended.
    #[error("git {command} was ended after {} seconds, the longest it may take", limit.as_secs())]
    TimedOut {
        /// The subcommand.
        command: String,
        /// The limit.
        limit: Duration,
    },
    /// It asked for more memory than it may have.
    #[error("git {command} needs more than the {} MB of memory that it may have", limit / 1_000_000)]
    OutOfMemory {
        /// The subcommand.
        command: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// It wrote more than it may and was ended.
    #[error("git {command} was ended: it wrote more than {limit} bytes")]
    TooMuchOutput {
        /// The subcommand.
        command: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// It needed more room on disk than it may and was ended.
    #[error("git {command} was ended: the clone grew over {limit} bytes; raise the size limit if it may be that large")]
    TooLarge {
        /// The subcommand.
        command: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The caller gave up.
    #[error("git {command} was cancelled")]
    Cancelled {
        /// The subcommand.
        command: String,
    },
    /// Talking to it failed.
    #[error("git {command}: {source}")]
    Io {
        /// The subcommand.
        command: String,
        /// What the system says.
        source: io::Error,
    },
}

/// Lets a caller end what runs on another thread. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends every command that was given this or a clone of it, within a tenth of a second.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// How long a command may run and how much it may write.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest it may run.
    pub time: Duration,
    /// Most it may write to standard output, in bytes.
    pub output: usize,
}

/// What of the caller's environment git gets to see.
#[derive(Clone, Debug)]
pub struct GitSettings {
    /// Name or path of the program.
    pub program: OsString,
    /// `PATH` of the command: where git, ssh and their parts are found.
    pub search_path: OsString,
    /// `SSH_AUTH_SOCK`: the agent that holds the keys for ssh addresses.
    pub ssh_agent: Option<OsString>,
    /// A program that calls [`run_git_child_if_requested`](child::run_git_child_if_requested) before it does anything
    /// else. Without one, commands have a limit of time only, and outlive this process if it is killed.
    pub child: Option<PathBuf>,
}

impl Default for GitSettings {
    fn default() -> Self {
        Self { program: "git".into(), search_path: DEFAULT_SEARCH_PATH.into(), ssh_agent: None, child: None }
    }
}

/// A git program that was found and is new enough. Clones are cheap.
#[derive(Clone, Debug)]
pub struct GitProgram {
    settings: GitSettings,
    version: (u32, u32),
}

/// What a command may reach. Everything else is refused by git itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkAccess {
    /// The repository it runs in.
    Nothing,
    /// A repository on this machine.
    Local,
    /// `http`
    Http,
    /// `https`
    Https,
    /// `ssh`
    Ssh,
}

impl NetworkAccess {
    fn protocol(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Local => "file",
            Self::Http => "http",
            Self::Https => "https",
            Self::Ssh => "ssh",
        }
    }
}

/// What bounds the memory of every command, also of those that git starts in a repository of this machine: windows into
/// packs, and files that are never held whole or compared line by line.
const BOUNDS: [(&str, &str); 4] = [
    ("core.packedGitWindowSize", "32m"),
    ("core.packedGitLimit", "256m"),
    ("core.bigFileThreshold", "8m"),
    ("pack.windowMemory", "128m"),
];

/// Configuration of every command.
const HARDENING: [(&str, &str); 24] = [
    ("safe.directory", "*"),
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("credential.helper", ""),
    ("init.templateDir", ""),
    ("protocol.allow", "never"),
    ("http.followRedirects", "false"),
    ("http.sslVerify", "true"),
    ("http.lowSpeedLimit", "100"),
    ("http.lowSpeedTime", "60"),
    ("transfer.bundleURI", "false"),
    ("transfer.fsckObjects", "true"),
    ("fetch.fsckObjects", "true"),
    ("fetch.recurseSubmodules", "false"),
    ("submodule.recurse", "false"),
    ("fetch.unpackLimit", "1"),
    ("fetch.writeCommitGraph", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.defaultBranchName", "false"),
    ("log.showSignature", "false"),
    ("i18n.logOutputEncoding", "UTF-8"),
];

/// Faults of old commits that harm nobody and that many well known repositories have.
const TOLERATED: [&str; 10] = [
    "zeroPaddedFilemode",
    "badTimezone",
    "badDate",
    "badDateOverflow",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "badEmail",
    "nulInCommit",
];

impl GitProgram {
    /// Looks for git and asks for its version.
    ///
    /// # Errors
    /// If it is missing or older than [`MIN_VERSION`].
    pub fn find(mut settings: GitSettings) -> Result<Self, GitError> {
        // Run as given, to find out whether there is such a program.
        let child = settings.child.take();
        let mut git = Self { settings, version: MIN_VERSION };
        let limits = Limits { time: VERSION_TIME, output: 4096 };
        let output = git.command(None, NetworkAccess::Nothing, "version").run(limits, &Cancel::default())?;
        let found = String::from_utf8_lossy(&output).trim().to_owned();
        git.version = parse_version(&found)
            .filter(|version| *version >= MIN_VERSION)
            .ok_or(GitError::TooOld { found: found.chars().take(80).collect() })?;
        git.settings.child = child;
        Ok(git)
    }

    /// Its version, as in `(2, 47)`.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// A command, hardened, in the given bare repository or in none.
    pub fn command(&self, repository: Option<&Path>, reach: NetworkAccess, name: &str) -> GitCommand {
        let mut command = Command::new(&self.settings.program);
        command.env_clear().env("PATH", &self.settings.search_path);
        for (key, value) in [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", ""),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_ALLOW_PROTOCOL", reach.protocol()),
            ("HOME", "/nonexistent"),
            ("GIT_DEFAULT_HASH", "sha1"),
            ("GIT_DEFAULT_REF_FORMAT", "files"),
            ("LC_ALL", "C"),
            ("TZ", "UTC"),
        ] {
            command.env(key, value);
        }
        if let (NetworkAccess::Ssh, Some(agent)) = (reach, &self.settings.ssh_agent) {
            command.env("SSH_AUTH_SOCK", agent);
        }
        if let Some(repository) = repository {
            // Commands run elsewhere; a path that cannot be made absolute is that of no repository.
            command.env("GIT_DIR", std::path::absolute(repository).unwrap_or_default());
        }
        command.arg(name);
        let child = self.settings.child.clone();
        let name = name.to_owned();
        let is_local = reach == NetworkAccess::Local;
        let mut command =
            GitCommand { command, child, is_local, memory: MAX_MEMORY, name, configured: 0, secrets: Vec::new() };
        for (key, value) in HARDENING.iter().chain(&BOUNDS).copied() {
            command = command.config(key, value);
        }
        for fault in TOLERATED {
            command = command.config(&format!("fetch.fsck.{fault}"), "ignore");
        }
        command
    }
}

/// Configuration that also reaches what git itself starts in the repository of a local path, where configuration from the
/// environment does not count.
fn write_local_configuration() -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    let bounds = BOUNDS.iter().filter_map(|(key, value)| Some((key.split_once('.')?, value)));
    let bounds: String = bounds.map(|((section, key), value)| format!("[{section}]\n\t{key} = {value}\n")).collect();
    // The sparse algorithm goes into each directory as often as it occurs, which may be without end.
    write!(file, "[safe]\n\tdirectory = *\n[pack]\n\tuseSparse = false\n{bounds}")?;
    Ok(file)
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.strip_prefix("git version ")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// A command that has not started yet.
pub struct GitCommand {
    command: Command,
    child: Option<PathBuf>,
    is_local: bool,
    memory: u64,
    name: String,
    configured: usize,
    secrets: Vec<String>,
}

impl fmt::Debug for GitCommand {
    /// The name alone: the environment holds credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitCommand").field("name", &self.name).finish_non_exhaustive()
    }
}

impl GitCommand {
    /// What git gets to see, for tests.
    #[cfg(test)]
    pub(super) fn environment(&self) -> Vec<String> {
        self.command.get_envs().filter_map(|(_, value)| Some(value?.to_string_lossy().into_owned())).collect()
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets a value of git's configuration for this command.
    #[must_use]
    pub fn config(mut self, key: &str, value: &str) -> Self {
        let at = self.configured;
        self.configured += 1;
        self.command.env(format!("GIT_CONFIG_KEY_{at}"), key);
        self.command.env(format!("GIT_CONFIG_VALUE_{at}"), value);
        self.command.env("GIT_CONFIG_COUNT", self.configured.to_string());
        self
    }

    /// Sets the most bytes of data that it may have, instead of [`MAX_MEMORY`].
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Names a text that must never be part of an error.
    #[must_use]
    pub fn secret(mut self, text: &str) -> Self {
        self.secrets.push(text.to_owned());
        self
    }

    /// How ssh is called.
    #[must_use]
    pub fn ssh_command(mut self, command: &str) -> Self {
        self.command.env("GIT_SSH_COMMAND", command).env("GIT_SSH_VARIANT", "ssh");
        self
    }

    /// Runs it to its end and returns what it wrote.
    ///
    /// # Errors
    /// If it cannot be run, fails, passes a limit, or is cancelled.
    pub fn run(self, limits: Limits, cancel: &Cancel) -> Result<Vec<u8>, GitError> {
        self.run_watched(Vec::new(), limits, cancel, || Ok(()))
    }

    /// Like [`run`](Self::run), with an input.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with(self, input: Vec<u8>, limits: Limits, cancel: &Cancel) -> Result<Vec<u8>, GitError> {
        self.run_watched(input, limits, cancel, || Ok(()))
    }

    /// Like [`run_with`](Self::run_with); `watch` is called ten times a second and ends the command by an error.
    ///
    /// # Errors
    /// As [`run`](Self::run), and what `watch` says.
    pub fn run_watched(
        self,
        input: Vec<u8>,
        limits: Limits,
        cancel: &Cancel,
        mut watch: impl FnMut() -> Result<(), GitError>,
    ) -> Result<Vec<u8>, GitError> {
        let started = Instant::now();
        let mut process = self.spawn()?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        // A command that fails early does not read its input; its own error says why.
        let writer = stdin.map(|mut stdin| thread::spawn(move || drop(stdin.write_all(&input))));
        let (sender, receiver) = mpsc::sync_channel(1);
        thread::spawn(move || {
            let mut output = Vec::new();
            let limit = limits.output as u64;
            let read = stdout.map_or(Ok(0), |stdout| stdout.take(limit + 1).read_to_end(&mut output));
            drop(sender.send(read.map(|_| output)));
        });
        let name = process.name.clone();
        let mut output = None;
        let status = loop {
            match receiver.recv_timeout(WATCH_INTERVAL) {
                Ok(read) => output = Some(read.map_err(|source| GitError::Io { command: name.clone(), source })?),
                // The reader is done, so there is nothing left to wait for but the end of the process.
                Err(RecvTimeoutError::Disconnected) => thread::park_timeout(Duration::from_millis(1)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if output.as_ref().is_some_and(|output| output.len() > limits.output) {
                return Err(GitError::TooMuchOutput { command: name, limit: limits.output });
            }
            // Whatever it has left behind ends with it, and so does what that may still have written.
            if let (Some(status), Some(_)) = (process.ended()?, &output) {
                break status;
            }
            if cancel.is_cancelled() {
                return Err(GitError::Cancelled { command: name });
            }
            if started.elapsed() > limits.time {
                return Err(GitError::TimedOut { command: name, limit: limits.time });
            }
            watch()?;
        };
        if let Some(writer) = writer {
            drop(writer.join());
        }
        if status.success() { Ok(output.unwrap_or_default()) } else { Err(process.failure(status)) }
    }

    /// Starts it with its input and output in the caller's hands. Dropping the process ends it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn(mut self) -> Result<Process, GitError> {
        // It goes when the process ends, not with ours, which may end without cleaning up.
        let mut configuration = None;
        if self.is_local {
            let io = |source| GitError::Io { command: self.name.clone(), source };
            let file = configuration.insert(write_local_configuration().map_err(io)?);
            self.command.env("GIT_CONFIG_GLOBAL", file.path());
        }
        let program = self.command.get_program().to_string_lossy().into_owned();
        let mut command = match &self.child {
            Some(child) => child::with_memory_limit(child, &self.command, self.memory),
            None => self.command,
        };
        command.process_group(0).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = child::start(command, self.child).map_err(|source| GitError::Missing { program, source })?;
        Ok(Process::new(started, self.name, self.memory, self.secrets, configuration))
    }
}

#[cfg(test)]
mod tests;
