//! The lines of `doctor` on agents: each command that 'backstory install' wrote is started as the agent starts it, and
//! asked one `why`.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use backstory_engine::{
    error::ErrorKind,
    repository::{CentralFilesRequest, ListRepositories},
};
use serde_json::{Value, json};

use super::Report;
use crate::{
    cli::install::{self, ServerCommand},
    client::Client,
    failure::{Failure, Result, reason},
};

/// How long a command may take to start and answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// A version of the protocol that every server of backstory speaks.
const VERSION: &str = "2025-06-18";

pub(super) async fn check(client: &Client, report: &mut Report) {
    let installed = match install::installed_commands() {
        Ok(installed) => installed,
        Err(failure) => return report.fail("agent", failure),
    };
    if installed.is_empty() {
        return;
    }
    let Some(target) = find_target(client).await else {
        let count = installed.len();
        return report
            .warn("agent", format_args!("no code is indexed that the commands in {count} files could be asked about"));
    };
    for (file, command) in installed {
        let shown = file.display().to_string();
        let Some(command) = command else {
            report.warn("agent", format_args!("{shown} has no entry any more; 'backstory install' writes it again"));
            continue;
        };
        let asked = target.clone();
        let tried = tokio::task::spawn_blocking(move || ask_why(&command, &asked)).await;
        match tried.unwrap_or_else(|error| Err(Failure::new(ErrorKind::Internal, error.to_string()))) {
            Ok(took) => {
                let took = took.as_secs_f64();
                report.ok("agent", format_args!("the command in {shown} answered why about {target} in {took:.1} s"));
            }
            Err(failure) => {
                let hint = Some("'backstory install' writes the command again".to_owned());
                report.fail(
                    "agent",
                    Failure { hint, ..Failure::new(ErrorKind::Upstream, format!("{shown}: {}", failure.sentence())) },
                );
            }
        }
    }
}

/// A line that `why` can be asked about; `None` if no code is indexed.
async fn find_target(client: &Client) -> Option<String> {
    for repository in client.answer(ListRepositories {}).await.ok()? {
        let request = CentralFilesRequest { project: repository.project.clone(), limit: 1 };
        let files = client.answer(request).await.ok().unwrap_or_default();
        if let Some(path) = files.first() {
            return Some(format!("{}:{path}:1", repository.project));
        }
    }
    None
}

/// Starts a command and asks it; how long that took.
fn ask_why(command: &ServerCommand, target: &str) -> Result<Duration> {
    let failed = |why: String| Failure::new(ErrorKind::Upstream, format!("'{}': {why}", command.program));
    let started = Instant::now();
    let mut process = Command::new(&command.program);
    let process =
        process.args(&command.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut process = Running(process.map_err(|error| failed(reason(&error)))?);
    let client = json!({ "name": "backstory doctor", "version": env!("CARGO_PKG_VERSION") });
    let hello = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client });
    let call = json!({ "name": "why", "arguments": { "target": target } });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
    ];
    let (mut stdin, stdout) =
        process.0.stdin.take().zip(process.0.stdout.take()).ok_or_else(|| failed("no pipes".to_owned()))?;
    let (found, answer) = mpsc::channel();
    // It ends with the process, which is killed at the latest when this function returns.
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(std::io::Result::ok) {
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == json!(2) {
                // Nobody waits any more.
                let _ = found.send(message);
                return;
            }
        }
    });
    for message in messages {
        writeln!(stdin, "{message}").map_err(|error| failed(reason(&error)))?;
    }
    let answer = answer.recv_timeout(PATIENCE).map_err(|_| failed("it did not answer".to_owned()))?;
    let text = answer["result"]["content"][0]["text"].as_str();
    match (text, answer["result"]["isError"].as_bool()) {
        (Some(_), Some(false) | None) => Ok(started.elapsed()),
        (Some(text), Some(true)) => Err(failed(text.to_owned())),
        (None, _) => {
            Err(failed(answer["error"]["message"].as_str().unwrap_or("it answered something else").to_owned()))
        }
    }
}

/// A process that ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
