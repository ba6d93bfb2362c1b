//! `embed`: computes the missing vectors.

use std::time::Instant;

use backstory_engine::{EmbedRequest, task::TaskKind};

use super::{Session, task};
use crate::{
    client::Client,
    failure::Result,
    output::{duration, pluralize},
};

/// Make the vectors that search by meaning needs, for every document that has none
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory embed")]
pub(super) struct Args {
    /// All documents that have no vectors: the default
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let config = session.config()?;
    let client = Client::open_for_work(session, "embed", || config.require_embedding_key()).await?;
    let begun = Instant::now();
    let waiting = task::coverage(&client).await?.waiting();
    let begin = async {
        // A server may be making them already.
        match task::running(&client, TaskKind::Embed).await? {
            Some(task) => Ok(task),
            None => client.answer(EmbedRequest {}).await,
        }
    };
    let summary = task::follow(&client, TaskKind::Embed, Box::pin(begin)).await?;
    if args.json {
        return Ok(session.terminal.json(&summary)?);
    }
    let count = |key: &str| summary[key].as_u64().unwrap_or(0);
    if waiting == 0 && count("documents") == 0 {
        return Ok(session.terminal.line("0 documents to embed")?);
    }
    session.terminal.line(format_args!(
        "{} embedded ({}, {} known already) in {}",
        pluralize(count("documents"), "document", "documents"),
        pluralize(count("passages"), "passage", "passages"),
        count("reused"),
        duration(begun.elapsed())
    ))?;
    if count("truncated") > 0 {
        session.terminal.note(format_args!(
            "{} too long for a vector of all its text; text search finds the middle too",
            pluralize(count("truncated"), "document is", "documents are")
        ));
    }
    Ok(())
}
