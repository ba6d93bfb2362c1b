//! A running git command: its input, output and messages, and its end.

use std::{
    io::Read,
    process::{Child, ChildStdin, ChildStdout, ExitStatus},
    sync::{Arc, LazyLock, mpsc},
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use regex::Regex;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tempfile::NamedTempFile;

use super::GitError;
use crate::{git::child, redact::redact};

/// How long the rest of standard error is waited for when a command has failed.
const STDERR_TIME: Duration = Duration::from_secs(1);
/// Most that is kept of what a command says on standard error, in bytes.
const MAX_STDERR: usize = 16 * 1024;
/// What git says when it gets no more memory.
const OUT_OF_MEMORY: [&str; 2] = ["Out of memory", "Cannot allocate memory"];

/// Reads everything and keeps the last of it.
fn keep_end(mut pipe: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = pipe.read(&mut buffer) {
        let mut kept = kept.lock();
        kept.extend_from_slice(&buffer[..read]);
        if kept.len() > MAX_STDERR {
            let excess = kept.len() - MAX_STDERR;
            kept.drain(..excess);
        }
    }
}

/// A running command. It ends, with all it has started, when this is dropped.
pub struct Process {
    /// What it reads; taken by the thread that writes it.
    pub stdin: Option<ChildStdin>,
    /// What it writes; taken by the thread that reads it.
    pub stdout: Option<ChildStdout>,
    child: Child,
    pub(super) name: String,
    memory: u64,
    secrets: Vec<String>,
    stderr: Arc<Mutex<Vec<u8>>>,
    reader: mpsc::Receiver<()>,
    ended: Option<ExitStatus>,
    /// Removed when it is dropped.
    _configuration: Option<NamedTempFile>,
}

impl Process {
    /// Takes over a process whose three pipes are open.
    pub(super) fn new(
        mut child: Child,
        name: String,
        memory: u64,
        secrets: Vec<String>,
        configuration: Option<NamedTempFile>,
    ) -> Self {
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let (all_read, reader) = mpsc::sync_channel(1);
        if let Some(pipe) = child.stderr.take() {
            let kept = Arc::clone(&stderr);
            thread::spawn(move || {
                keep_end(pipe, &kept);
                let _ = all_read.send(());
            });
        }
        Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            child,
            name,
            memory,
            secrets,
            stderr,
            reader,
            ended: None,
            _configuration: configuration,
        }
    }

    /// How it ended; `None` while it runs. What it has started and left behind is ended too.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>, GitError> {
        if self.ended.is_none() && self.end_rest(WaitIdOptions::NOHANG) {
            self.ended = self.child.try_wait().map_err(|source| GitError::Io { command: self.name.clone(), source })?;
        }
        Ok(self.ended)
    }

    /// Ends what is left of its group once it has ended itself; says whether it has. Its number is free for others only
    /// when its end was taken notice of, so that is not done here.
    fn end_rest(&self, how: WaitIdOptions) -> bool {
        let process = Pid::from_child(&self.child);
        let ended = loop {
            match waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | how) {
                Err(rustix::io::Errno::INTR) => {}
                // The usual way to wait says what is wrong.
                Err(_) => return true,
                Ok(status) => break status.is_some(),
            }
        };
        if ended {
            self.killer().kill();
        }
        ended
    }

    /// A handle that ends it from another thread.
    pub fn killer(&self) -> Killer {
        Killer(Pid::from_child(&self.child))
    }

    /// Waits for its end. For a process whose output has been read to the end.
    ///
    /// # Errors
    /// If it failed.
    pub fn finish(mut self) -> Result<(), GitError> {
        self.stdin = None;
        self.end_rest(WaitIdOptions::empty());
        let status = self.child.wait().map_err(|source| GitError::Io { command: self.name.clone(), source })?;
        self.ended = Some(status);
        if status.success() { Ok(()) } else { Err(self.failure(status)) }
    }

    pub(super) fn failure(&self, status: ExitStatus) -> GitError {
        // What git has started may hold the pipe for longer; what has been said by then is enough.
        let _ = self.reader.recv_timeout(STDERR_TIME);
        let stderr = self.stderr.lock();
        let stderr = clean_message(&String::from_utf8_lossy(&stderr), &self.secrets);
        if OUT_OF_MEMORY.iter().any(|said| stderr.contains(said)) {
            return GitError::OutOfMemory { command: self.name.clone(), limit: self.memory };
        }
        GitError::Failed { command: self.name.clone(), status: status.to_string(), stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.ended() {
            self.killer().kill();
            drop(self.child.wait());
        }
        child::ended(Pid::from_child(&self.child));
    }
}

/// Ends a process from another thread. Only valid while the [`Process`] lives.
#[derive(Clone, Copy, Debug)]
pub struct Killer(Pid);

impl Killer {
    /// Ends it and all it has started.
    pub fn kill(self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

/// What git said, on one line, without credentials.
fn clean_message(stderr: &str, secrets: &[String]) -> String {
    static USER_INFO: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)([a-z][a-z0-9+.-]*://)[^\s/@']*@").expect("the pattern is constant"));
    let mut text = stderr.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret.as_str(), "[credential]");
    }
    let text = USER_INFO.replace_all(&text, "$1");
    let (text, _) = redact(&text);
    let lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "it did not say why".to_owned() } else { lines.join("; ") }
}
