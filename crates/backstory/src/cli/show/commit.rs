//! Prints a commit: its message, and its type by rules and by a language model.

use backstory_engine::{
    model::{answer::Provenance, id::NodeId},
    read::not_found,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    super::{Session, arguments::lower_case},
    Args,
};
use crate::{
    client::Client,
    failure::Result,
    output::{FAINT, STRONG, Terminal, counted, indented, minute, plain},
};

const COMMIT: &str = include_str!("../../../../../queries/graphql/commit.graphql");

#[derive(Deserialize)]
struct Answer {
    node: Option<Commit>,
}

/// What is known of a commit; nothing of one that is only mentioned.
#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Commit {
    id: String,
    sha: String,
    message: Option<String>,
    author_name: Option<String>,
    authored_at: Option<Timestamp>,
    change_type: Option<String>,
    change_type_confidence: Option<f64>,
    change_type_rule: Option<String>,
    model_classification: Option<Classification>,
    insertions: Option<u64>,
    deletions: Option<u64>,
    file_count: Option<u64>,
    files: Option<Vec<File>>,
    url: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Classification {
    #[serde(deserialize_with = "lower_case")]
    change_type: String,
    confidence: f64,
    reason: String,
    model: Provenance,
    written_at: Timestamp,
}

#[derive(Deserialize, Serialize)]
struct File {
    path: String,
    #[serde(deserialize_with = "lower_case")]
    status: String,
    insertions: Option<u32>,
    deletions: Option<u32>,
}

pub(super) async fn show(session: &Session, args: &Args, id: &NodeId) -> Result<()> {
    let client = Client::open(session, "show", || Ok(())).await?;
    let Answer { node } = client.run(COMMIT, json!({ "ref": id.to_string() })).await?;
    let known = node.filter(|commit| commit.message.is_some());
    let mut commit = known.ok_or_else(|| not_found("commit", &id.to_string()))?;
    commit.change_type = commit.change_type.map(|name| name.to_lowercase());
    if args.json {
        return Ok(session.terminal.json(&commit)?);
    }
    print(&session.terminal, &commit)
}

fn print(terminal: &Terminal, commit: &Commit) -> Result<()> {
    let message = commit.message.as_deref().unwrap_or_default().trim();
    let (title, body) = message.split_once('\n').unwrap_or((message, ""));
    terminal.line(format_args!("{FAINT}Commit {}{FAINT:#}", commit.id))?;
    terminal.line(format_args!("{STRONG}{}{STRONG:#}\n", plain(title)))?;
    for (name, value) in facts(commit) {
        terminal.line(format_args!("{:<15}{}", format!("{name}:"), plain(&value)))?;
    }
    if !body.trim().is_empty() {
        terminal.line(format_args!("\n{}", plain(body.trim())))?;
    }
    let files = commit.files.as_deref().unwrap_or_default();
    let count = commit.file_count.unwrap_or(0);
    terminal.line(format_args!("\n{STRONG}{}{STRONG:#}", counted(count, "file", "files")))?;
    for file in files {
        let lines = file.insertions.zip(file.deletions).map(|(added, removed)| format!(" +{added} -{removed}"));
        let line = format!("{} {}{}", file.status, plain(&file.path), lines.unwrap_or_default());
        terminal.line(indented(&line, 2))?;
    }
    if count > files.len() as u64 {
        terminal.line(format_args!("  and {} more", count - files.len() as u64))?;
    }
    Ok(())
}

/// The type that the model sees is told where it differs from that of the rules.
fn facts(commit: &Commit) -> Vec<(&'static str, String)> {
    let by_rules = commit.change_type.as_ref().map(|name| {
        let confidence = commit.change_type_confidence.unwrap_or_default();
        format!("{name} ({confidence:.2}, by {})", commit.change_type_rule.as_deref().unwrap_or("rules"))
    });
    let by_model =
        commit.model_classification.as_ref().filter(|of| Some(&of.change_type) != commit.change_type.as_ref());
    let by_model = by_model.map(|of| {
        format!("{} ({:.2}, by the language model {}: {})", of.change_type, of.confidence, of.model.name, of.reason)
    });
    let lines = commit.insertions.zip(commit.deletions).map(|(added, removed)| format!("+{added} -{removed}"));
    let facts = [
        ("Author", commit.author_name.clone()),
        ("Written", commit.authored_at.map(minute)),
        ("Type", by_rules),
        ("Or", by_model),
        ("Lines", lines),
        ("URL", commit.url.clone()),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
