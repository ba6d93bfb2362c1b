//! `file`: shows what backstory knows of a file at a revision, the chunks that search reads of it, and its syntax tree.

use backstory_engine::{
    files::{ChunksRequest, Fact, FactsRequest, FileChunk, FileVersion},
    model::{id::NodeId, place::format_lines},
};

use super::{
    Session,
    place::{self, Place},
};
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{FAINT, STRONG, Terminal, escape_terminal, minute, pluralize},
};

/// Show a file at a revision: hashes, language, grammar; the chunks that search reads, or nodes of its syntax tree
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory file src/auth.rs
  backstory file src/auth.rs --chunks --rev v1.2
  backstory file group/project:src/auth.rs --facts
  backstory file src/auth.rs --node-type function_item --node-type call_expression --json")]
pub(super) struct Args {
    /// PATH
    #[arg(value_name = "PATH")]
    path: String,
    /// Project of the path, if it cannot be inferred
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Branch, tag or commit [default: the indexed head]
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// Show the chunks that search reads
    #[arg(long, conflicts_with_all = ["facts", "node_types"])]
    chunks: bool,
    /// Show definitions, bindings, imports and comments of its syntax tree
    #[arg(long)]
    facts: bool,
    /// Show nodes of this type of its syntax tree, as the grammar names it (repeatable)
    #[arg(long = "node-type", value_name = "TYPE")]
    node_types: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "file", || Ok(())).await?;
    let place = place::find(&client, &args.path, args.project.as_deref()).await?;
    let code = if let Place::Code(code) = place { code.id() } else { None };
    let Some(NodeId::File { project, path }) = code else {
        return Err(Failure::usage(format!(
            "'{}' is not a file of a repository; write PATH, and --project",
            args.path
        )));
    };
    let (project, rev, terminal) = (Some(project), args.rev.clone(), &session.terminal);
    if args.facts || !args.node_types.is_empty() {
        let found = client.answer(FactsRequest { project, path, rev, node_types: args.node_types.clone() }).await?;
        if args.json {
            return Ok(terminal.json(&found)?);
        }
        let headings = ["lines", "node type", "field", "text"];
        terminal.table(&headings, &[], found.facts.iter().map(|fact| fact_row(terminal, fact)).collect())?;
        return tell_rest(terminal, found.left_out, "node", "nodes");
    }
    let found = client.answer(ChunksRequest { project, path, rev }).await?;
    if args.json {
        return Ok(terminal.json(&found)?);
    }
    if !args.chunks {
        print_version(terminal, &found.file)?;
        let chunks = (found.chunks.len() + found.left_out) as u64;
        let excluded = found.excluded.map(|why| format!(", left out: {}", why.as_str())).unwrap_or_default();
        return Ok(terminal.line(format_args!("{}{excluded}", pluralize(chunks, "chunk", "chunks")))?);
    }
    for chunk in &found.chunks {
        print_chunk(terminal, chunk)?;
    }
    tell_rest(terminal, found.left_out, "chunk", "chunks")
}

fn fact_row(terminal: &Terminal, fact: &Fact) -> Vec<String> {
    let first_line = fact.text.lines().next().unwrap_or_default();
    vec![
        format_lines(fact.lines),
        fact.node_type.clone(),
        fact.field.clone().unwrap_or_default(),
        terminal.title(first_line),
    ]
}

fn tell_rest(terminal: &Terminal, left_out: usize, one: &str, many: &str) -> Result<()> {
    if left_out > 0 {
        terminal.note(format_args!("{} are not shown", pluralize(left_out as u64, one, many)));
    }
    Ok(())
}

fn print_version(terminal: &Terminal, file: &FileVersion) -> Result<()> {
    terminal.line(format_args!(
        "{STRONG}{}{STRONG:#} {FAINT}at {}{FAINT:#}",
        escape_terminal(&file.path),
        file.rev.short()
    ))?;
    let count = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let changed = file.last_commit.as_ref().map(|of| format!("{} {} {}", minute(of.date), of.sha.short(), of.title));
    let facts = [
        ("Type", file.mime_type.clone()),
        ("Language", file.language.clone().unwrap_or_default()),
        ("Grammar", file.grammar.clone().unwrap_or_default()),
        ("Bytes", file.bytes.to_string()),
        ("Lines", count(file.line_count.map(u64::from))),
        ("Tokens", count(file.tokens.map(|tokens| tokens as u64))),
        ("Blob", file.blob.to_string()),
        ("SHA-256", file.content_hash.clone().unwrap_or_default()),
        ("Changed", changed.unwrap_or_default()),
    ];
    for (name, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
        terminal.line(format_args!("{:<10}{}", format!("{name}:"), escape_terminal(&value)))?;
    }
    Ok(())
}

fn print_chunk(terminal: &Terminal, chunk: &FileChunk) -> Result<()> {
    let lines = format_lines(chunk.lines);
    let tokens = pluralize(chunk.tokens as u64, "token", "tokens");
    let model = chunk.embedding_model.as_deref().unwrap_or("no vector");
    terminal.line(format_args!(
        "{STRONG}{lines}{STRONG:#} {} {FAINT}{} {tokens}, {model}{FAINT:#}",
        escape_terminal(&chunk.title),
        &chunk.chunk_id[..chunk.chunk_id.len().min(12)],
    ))?;
    Ok(())
}
