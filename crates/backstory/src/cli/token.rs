//! `token`: makes, lists and revokes tokens of the server, and shows who asked for what.

use backstory_engine::{
    access::{CreateToken, ListOperations, ListTokens, MAX_OPERATIONS, RevokeToken},
    ledger::{IssuedToken, Operation},
    model::access::{Expiry, Grant, ProjectPattern},
};
use clap::Subcommand;
use jiff::Timestamp;

use super::Session;
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{escape_terminal, minute},
};

/// Create, list and revoke tokens: who may see which projects of the server, and do what
///
/// A token shows the projects that its patterns match, and nothing else. Once there is a token, everyone but
/// commands of the data directory's owner must show one. What holders of tokens ask, and what others change, is on record
/// for 90 days.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory token create --name ci --projects 'group/*' --scopes read,sync --expires 90d
  backstory token create --projects '**' --scopes read,confidential --expires never
  backstory token list
  backstory token revoke ci
  backstory token log --actor ci")]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Create a token; it is shown once
    Create {
        /// Name of the token [default: its id]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// The projects that it shows: group/project, group/*, group/** with subgroups, or ** for all (repeatable)
        #[arg(long, required = true, value_name = "PATTERN", value_delimiter = ',')]
        projects: Vec<ProjectPattern>,
        /// What it permits: read, sync (starts syncs), admin (changes and deletes); confidential shows confidential items
        #[arg(long, value_name = "SCOPE", value_delimiter = ',', default_value = "read")]
        scopes: Vec<String>,
        /// When it expires: 90d or 12h from now, a last day like 2027-01-31, an instant, or never [default: 90d]
        #[arg(long, value_name = "TIME")]
        expires: Option<Expiry>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List tokens
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token at once
    Revoke {
        /// Id or name of the token
        #[arg(value_name = "TOKEN")]
        token: String,
    },
    /// Show who asked for what, newest first
    Log {
        /// Only operations of actors whose name contains this
        #[arg(long, value_name = "NAME")]
        actor: Option<String>,
        /// Only this operation
        #[arg(long, value_name = "NAME")]
        operation: Option<String>,
        /// Most operations to list
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
        first: u16,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "token", || Ok(())).await?;
    let terminal = &session.terminal;
    match &args.what {
        What::Create { name, projects, scopes, expires, json } => {
            let words = scopes.iter().map(String::as_str);
            let (scopes, confidential) = Grant::parse_scopes(words).map_err(Failure::usage)?;
            let (name, projects, expires) = (name.clone(), projects.clone(), *expires);
            let is_first = !has_tokens(session, &client).await?;
            let made = client.answer(CreateToken { name, projects, confidential, scopes, expires }).await?;
            if *json {
                return Ok(terminal.json(&made)?);
            }
            terminal.note("this is shown once; anyone who has it sees what the token shows");
            if is_first {
                terminal.note("from here on every request to the server needs a token, even from this machine");
            }
            Ok(terminal.line(&made.secret)?)
        }
        What::List { json } => {
            let tokens = client.answer(ListTokens {}).await?;
            if *json { Ok(terminal.json(&tokens)?) } else { list(session, &tokens) }
        }
        What::Revoke { token } => {
            let revoked = client.answer(RevokeToken { token: token.clone() }).await?;
            terminal.line(format_args!("{} ({}) is not valid any more", escape_terminal(&revoked.name), revoked.id))?;
            if !has_tokens(session, &client).await? {
                terminal.note(
                    "it was the last token: everyone on this machine is answered without one again, unless the server \
                     listens on an address that others reach, which then answers nobody without a new one",
                );
            }
            Ok(())
        }
        What::Log { actor, operation, first, json } => {
            let limit = usize::from(*first).min(MAX_OPERATIONS);
            let request = ListOperations { actor: actor.clone(), name: operation.clone(), limit, ..Default::default() };
            let operations = client.answer(request).await?;
            if *json { Ok(terminal.json(&operations)?) } else { log(session, &operations) }
        }
    }
}

/// Whether there is a token that is not revoked, so that every request must show one.
async fn has_tokens(session: &Session, client: &Client) -> Result<bool> {
    let is_configured = !session.config()?.server_tokens.is_empty();
    Ok(is_configured || client.answer(ListTokens {}).await?.iter().any(|token| token.revoked_at.is_none()))
}

fn list(session: &Session, tokens: &[IssuedToken]) -> Result<()> {
    if tokens.is_empty() {
        return Ok(session.terminal.line("No tokens; 'backstory token create' makes one.")?);
    }
    let now = Timestamp::now();
    let time = |at: Option<Timestamp>| at.map_or_else(|| "never".to_owned(), minute);
    let row = |token: &IssuedToken| {
        let patterns: Vec<String> = token.grant.projects.iter().map(ToString::to_string).collect();
        let confidential = if token.grant.confidential { ",confidential" } else { "" };
        let state = match token.revoked_at {
            Some(at) => format!("revoked {}", minute(at)),
            None if token.grant.is_expired(now) => "expired".to_owned(),
            None => String::new(),
        };
        vec![
            token.id.clone(),
            escape_terminal(&token.name),
            patterns.join(" "),
            format!("{}{confidential}", token.grant.scopes),
            minute(token.created_at),
            time(token.grant.expires),
            time(token.last_used_at),
            state,
        ]
    };
    let headings = ["id", "name", "projects", "scopes", "created", "expires", "last used", ""];
    Ok(session.terminal.table(&headings, &[], tokens.iter().map(row).collect())?)
}

fn log(session: &Session, operations: &[Operation]) -> Result<()> {
    if operations.is_empty() {
        return Ok(session.terminal.line("Nothing is on record.")?);
    }
    let row = |operation: &Operation| {
        vec![
            minute(operation.at),
            escape_terminal(&operation.actor),
            operation.name.clone(),
            operation.projects.join(" "),
            operation.outcome.clone(),
            session.terminal.title(operation.request.as_deref().unwrap_or_default()),
        ]
    };
    let headings = ["at", "who", "operation", "projects", "outcome", "request"];
    Ok(session.terminal.table(&headings, &[], operations.iter().map(row).collect())?)
}
