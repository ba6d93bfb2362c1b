//! A directory with a configuration, in which the program is run.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use rustix::process::{Pid, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    Fixture, Signal,
    forge::{Forge, TOKEN},
};

/// Name of the variable with the token.
pub(crate) const TOKEN_ENV: &str = "SHOP_TOKEN";

/// A directory of its own, with a configuration and an environment.
pub(crate) struct Sandbox {
    directory: TempDir,
    forge: String,
    environment: Vec<(String, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Output {
    /// What it wrote to standard output; paths, addresses and times replaced.
    pub(crate) stdout: String,
    /// What it wrote to standard error, in the same way, with the hint of an error on its line.
    pub(crate) stderr: String,
    /// Its exit code; -1 if a signal ended it.
    pub(crate) code: i32,
    raw: String,
}

impl Output {
    /// The output of a command that succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    /// The message of a command that failed with that code, without `error: `. It must be one sentence on one line,
    /// and nothing else may stand on either stream.
    #[track_caller]
    pub(crate) fn error(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{self:#?}");
        assert_eq!(self.stdout, "", "{self:#?}");
        let message = self.stderr.strip_prefix("error: ").unwrap_or_else(|| panic!("{self:#?}"));
        let message = message.strip_suffix('\n').unwrap_or_else(|| panic!("{self:#?}"));
        assert!(!message.contains('\n') && !message.contains("Error {"), "{self:#?}");
        message
    }

    /// Standard output as JSON, nothing replaced.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.raw).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// No command takes as long, on the slowest machine.
const LONGEST_RUN: Duration = Duration::from_mins(10);

/// A line of a configuration: a server does what it is asked for and nothing else.
pub(crate) const NO_SCHEDULE: &str = "sync = { every_minutes = 0, reconcile_hours = 0, full_days = 0 }\n";

impl Sandbox {
    /// One that reads `acme/shop` from the forge.
    pub(crate) fn new(forge: &Forge) -> Self {
        let sandbox = Self {
            directory: tempfile::tempdir().unwrap(),
            forge: forge.url.clone(),
            environment: vec![(TOKEN_ENV.to_owned(), TOKEN.to_owned())],
        };
        sandbox.configure("");
        sandbox
    }

    /// One that reads `acme/shop` from the forge as a GitHub, without a token.
    pub(crate) fn github(forge: &Forge) -> Self {
        let sandbox = Self::new(forge);
        sandbox.write_config(&format!(
            "data_dir = \"data\"\n{NO_SCHEDULE}[[forge]]\nkind = \"github\"\nbase_url = \"{}\"\nprojects = [\"acme/shop\"]\n\
             requests_per_second = 0\n",
            forge.url
        ));
        sandbox
    }

    /// One without a configuration.
    pub(crate) fn empty() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), forge: "http://forge.invalid".to_owned(), environment: vec![] }
    }

    /// One that has read a repository as `acme/shop`, and nothing else.
    pub(crate) fn indexed(repository: &Fixture) -> Self {
        let sandbox = Self::empty();
        sandbox.run(&["add", &repository.path().display().to_string(), "--name", "acme/shop"]).ok();
        sandbox
    }

    /// One that has read `acme/shop`, and knows no vectors yet.
    pub(crate) fn synced(forge: &Forge) -> Self {
        let sandbox = Self::new(forge);
        sandbox.run(&["sync"]).ok();
        sandbox
    }

    /// Writes the usual configuration and something more behind it.
    pub(crate) fn configure(&self, more: &str) {
        self.write_config(&format!(
            "data_dir = \"data\"\n{NO_SCHEDULE}[[forge]]\nkind = \"gitlab\"\nbase_url = \"{}\"\ntoken_env = \"{TOKEN_ENV}\"\n\
             projects = [\"acme/shop\"]\nrequests_per_second = 0\n{more}",
            self.forge
        ));
    }

    /// Writes a configuration.
    pub(crate) fn write_config(&self, text: &str) {
        fs::write(self.path().join("backstory.toml"), text).unwrap();
    }

    /// Sets an environment variable.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Removes an environment variable.
    pub(crate) fn unset(&mut self, name: &str) {
        self.environment.retain(|(known, _)| known != name);
    }

    /// Its directory.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where the stores are.
    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// The program, ready to be started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backstory"));
        command.args(args);
        self.prepared(command)
    }

    /// The program, ready to be started by a shell that does something before.
    pub(crate) fn command_after(&self, first: &str, args: &[&str]) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{first} && exec \"$@\""), "sh", env!("CARGO_BIN_EXE_backstory")]).args(args);
        self.prepared(command)
    }

    fn prepared(&self, mut command: Command) -> Command {
        command
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path().join("home"))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end; one that does not end by itself is killed, so that only its own test fails.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let child = self.spawn(args);
        let (id, (ended, end)) = (child.id(), mpsc::channel::<()>());
        let watch = thread::spawn(move || {
            if end.recv_timeout(LONGEST_RUN) == Err(RecvTimeoutError::Timeout) {
                signal(id, Signal::KILL);
            }
        });
        let output = child.wait_with_output().unwrap();
        drop(ended);
        watch.join().unwrap();
        self.output(&output)
    }

    /// Runs the program with something to read.
    #[track_caller]
    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Output {
        let mut child = self.start(args, Stdio::piped());
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        self.output(&child.wait_with_output().unwrap())
    }

    /// Starts the program.
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.start(args, Stdio::null())
    }

    fn start(&self, args: &[&str], stdin: Stdio) -> Child {
        self.command(args).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// How a program that was started ended.
    pub(crate) fn output(&self, output: &std::process::Output) -> Output {
        let raw = String::from_utf8(output.stdout.clone()).unwrap();
        let stderr = String::from_utf8(output.stderr.clone()).unwrap();
        // What is wrong and what to do, as one sentence.
        let stderr = stderr.replace("\nhint: ", "; ");
        Output { stdout: self.tidy(&raw), stderr: self.tidy(&stderr), code: output.status.code().unwrap_or(-1), raw }
    }

    /// A text with `[DIR]` for the directory and `[FORGE]` for the forge.
    fn tidy(&self, text: &str) -> String {
        text.replace(&self.forge, "[FORGE]").replace(&self.path().display().to_string(), "[DIR]")
    }

    /// Starts a server for the data and waits until it listens.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// The same, with more arguments.
    pub(crate) fn serve_with(&self, more: &[&str]) -> Server {
        self.started(self.command(&[&["serve", "--listen", "127.0.0.1:0"], more].concat()))
    }

    /// The same, by a shell that does something before.
    pub(crate) fn serve_after(&self, first: &str) -> Server {
        self.started(self.command_after(first, &["serve", "--listen", "127.0.0.1:0"]))
    }

    fn started(&self, mut command: Command) -> Server {
        let log = fs::File::create(self.path().join("serve.log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let log = || fs::read_to_string(self.path().join("serve.log")).unwrap();
        let url = line.strip_prefix("Listening on ").and_then(|rest| rest.split(' ').next());
        let url = url.unwrap_or_else(|| panic!("the server says '{line}' and {}", log())).to_owned();
        Server { child, stdout, url }
    }
}

/// A server, until it is dropped.
pub(crate) struct Server {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    /// Its address, without a slash at the end.
    pub(crate) url: String,
}

impl Server {
    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, and waits until it has; its exit code and what it said since it listens.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        signal(self.child.id(), Signal::TERM);
        let mut said = String::new();
        self.stdout.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process that the test started.
pub(crate) fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
}
