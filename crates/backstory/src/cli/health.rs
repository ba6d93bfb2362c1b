//! `health`: asks the running server whether it is ready; nothing is opened.

use std::time::Duration;

use backstory_engine::error::ErrorKind;

use super::Session;
use crate::{
    data_dir::DataDir,
    failure::{Failure, Result},
};

/// How long the server may take.
const TIME: Duration = Duration::from_secs(5);

/// Check whether the server of the data directory can answer questions
///
/// Requests /readyz and waits for up to 5 seconds. For health checks of containers and services: nothing is opened or
/// created, and it fails if no server is running.
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory health")]
pub(super) struct Args {}

pub(super) async fn run(session: &Session, _: &Args) -> Result<()> {
    let directory = &session.config()?.data_dir;
    let failed = |message: String| Failure::new(ErrorKind::Upstream, message);
    let server = DataDir::running(directory)
        .ok_or_else(|| failed(format!("no server is running for {}; start 'backstory serve'", directory.display())))?;
    let unreachable = |what: &str| failed(format!("the server (pid {}) at {} {what}", server.pid, server.url));
    let http = reqwest::Client::builder().no_proxy().timeout(TIME).build();
    let http = http.map_err(|error| failed(format!("no HTTP client: {error}")))?;
    let answer = http.get(format!("{}/readyz", server.url)).bearer_auth(server.secret.expose()).send().await;
    match answer {
        Ok(answer) if answer.status().is_success() => {
            Ok(session.terminal.line(format_args!("The server at {} can answer", server.url))?)
        }
        Ok(answer) => Err(unreachable(&format!("is not ready: it answered {}", answer.status().as_u16()))),
        Err(error) if error.is_timeout() => Err(unreachable("does not answer in time")),
        Err(_) => Err(unreachable("cannot be reached")),
    }
}
