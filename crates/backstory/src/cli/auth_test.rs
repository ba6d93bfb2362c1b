//! `auth-test`: shows whose token is used at each forge.

use backstory_engine::{
    error::Error,
    settings::ForgeKind,
    sources::forge::{self, Client, ForgeError, required_token},
};
use serde::Serialize;

use super::Session;
use crate::{
    config,
    failure::{Failure, Result},
    output::escape_terminal,
};

/// How often a request that failed for a transient reason is tried again.
pub(super) const RETRIES: u32 = 1;

/// Show whose token is used at each forge
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory auth-test")]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Authenticated {
    forge: String,
    username: String,
    name: String,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let configured = session.config()?;
    configured.require_tokens(&[])?;
    let mut found = Vec::new();
    for (forge, token) in configured.forges() {
        let url = config::address(forge);
        let Some(variable) = &token.variable else {
            return Err(Failure::configuration(format!(
                "{url} is read without a token; name the variable that holds one as token_env to read more than public \
                 projects"
            )));
        };
        // Somebody waits for the answer.
        let connection = forge::ForgeSettings { retries: RETRIES, ..forge.connection.clone() };
        let client = Client::new(forge.kind, &connection).map_err(Error::from)?;
        let account = client.current_user().await.map_err(|error| refusal(error, forge.kind, url, variable))?;
        found.push(Authenticated { forge: url.to_owned(), username: account.username, name: account.name });
    }
    if args.json {
        return Ok(session.terminal.json(&found)?);
    }
    if found.is_empty() {
        let path = configured.path.display();
        return Ok(session.terminal.line(format_args!(
            "No forge is configured in {path}, so there is no token to test; 'backstory init' writes a configuration with \
             one"
        ))?);
    }
    let several = found.len() > 1;
    for Authenticated { forge, username, name } in &found {
        let place = if several { format!(" at {forge}") } else { String::new() };
        session.terminal.line(escape_terminal(&format!("Authenticated as @{username} ({name}){place}")))?;
    }
    Ok(())
}

/// Names the variable, which the client of the forge does not know.
pub(super) fn refusal(error: ForgeError, kind: ForgeKind, url: &str, variable: &str) -> Failure {
    match error {
        ForgeError::Unauthorized { .. } => Failure::configuration(format!(
            "{url} refuses the token in {variable} (401 Unauthorized); create one {} and put it into that environment \
             variable",
            required_token(kind)
        )),
        other => Error::from(other).into(),
    }
}
