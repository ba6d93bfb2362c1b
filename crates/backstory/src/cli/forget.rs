//! `forget`: erases an issue, merge request, project or person, undoes that, and lists audit records. `remove` only
//! stops indexing a repository.

use backstory_engine::{
    forget::{AuditRequest, ForgetRequest, MAX_AUDIT, UndoForget},
    ledger::{AuditAction, AuditEntry, ForgottenKind},
    task::TaskKind,
};
use clap::ValueEnum;
use serde_json::Value;

use super::{Session, task};
use crate::{
    client::Client,
    failure::Result,
    output::{escape_terminal, minute, pluralize, thousands},
};

/// Erase something from everything that is stored, for good
///
/// Its texts are erased from the ledger, the graph, the search index, summaries, answers that cited it, and the files on
/// disk; it is not read again. Afterwards pieces of its texts are searched for everywhere, and the command fails if one is
/// left. Texts of others that mention or quote it stay as they are; the output names them. A project must be removed from
/// the configuration first.
///
/// For a person, an alias replaces user name, names and addresses wherever the forge or commits name them, or somebody
/// mentions them as @name or by an address, now and in whatever is read later; only keyed hashes tell who it is. What
/// they wrote stays. The clones keep what the repositories have; in what is shown from them, the alias is used too.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory forget group/project#12 --reason 'a customer asked for it'
  backstory forget group/project!7
  backstory forget group/project
  backstory forget @user
  backstory forget @user@example.com
  backstory forget --undo group/project#12
  backstory forget --list
  backstory forget --list --action forget")]
pub(super) struct Args {
    /// An issue or merge request, group/project#12 or group/project!7, a project, group/project, or a person, @user or
    /// @user@example.com
    #[arg(value_name = "REF", required_unless_present = "list", conflicts_with = "list")]
    reference: Option<String>,
    /// Reason, which is kept on record
    #[arg(long, value_name = "TEXT", conflicts_with = "list")]
    reason: Option<String>,
    /// Let the next sync read it again
    #[arg(long, conflicts_with = "list")]
    undo: bool,
    /// List what was forgotten, and what is not kept any more: the newest 100, newest first
    #[arg(long)]
    list: bool,
    /// List only what was forgotten, what may be read again, or what is not kept any more
    #[arg(long, requires = "list")]
    action: Option<Action>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Action {
    Forget,
    Undo,
    Retire,
}

impl From<Action> for AuditAction {
    fn from(action: Action) -> Self {
        match action {
            Action::Forget => Self::Forget,
            Action::Undo => Self::Undo,
            Action::Retire => Self::Retire,
        }
    }
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let Some(reference) = &args.reference else {
        let client = Client::open(session, "forget", || Ok(())).await?;
        return list(session, &client, args).await;
    };
    let client = Client::open_for_work(session, "forget", || Ok(())).await?;
    let (reference, reason) = (reference.clone(), args.reason.clone());
    if args.undo {
        let entry = client.answer(UndoForget { reference, reason }).await?;
        if args.json {
            return Ok(session.terminal.json(&entry)?);
        }
        let (subject, how) = (
            escape_terminal(&entry.subject),
            if entry.kind == ForgottenKind::Person { "'backstory sync --full'" } else { "the next sync" },
        );
        return Ok(session.terminal.line(format_args!("{subject} may be read again; {how} does it"))?);
    }
    let begin = client.answer(ForgetRequest { reference, reason });
    let summary = task::follow(&client, TaskKind::Forget, Box::pin(begin)).await?;
    if args.json {
        return Ok(session.terminal.json(&summary)?);
    }
    tell(session, &summary)
}

fn tell(session: &Session, summary: &Value) -> Result<()> {
    let terminal = &session.terminal;
    let (removed, verified) = (&summary["removed"], &summary["verified"]);
    let subject = escape_terminal(summary["subject"].as_str().unwrap_or_default());
    if let Some(before) = summary["forgotten_before"]["at"].as_str().and_then(|at| at.parse().ok()) {
        terminal.line(format_args!(
            "{subject} was forgotten before, at {}: ledger, graph and index have nothing by that reference",
            minute(before)
        ))?;
        return Ok(terminal.line("What it said is kept nowhere, so its texts cannot be looked for again")?);
    }
    terminal.line(format_args!("Forgot {subject}: {}", parts(removed).join(", ")))?;
    let count = |name: &str| verified[name].as_u64().unwrap_or(0);
    let held: Vec<&str> = summary["held_before"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match (count("pieces"), held.is_empty()) {
        (0, true) => terminal.line("The ledger had no text of its own that could be looked for afterwards")?,
        (0, false) => {
            let held = escape_terminal(&held.join(", ")).to_string();
            terminal.line(format_args!("Verified: what still held pieces of its texts is gone: {held}"))?;
        }
        (looked_for, _) => terminal.line(format_args!(
            "Verified: none of {} of its texts is left in {}",
            pluralize(looked_for, "piece", "pieces"),
            searched_places(verified).join(", ")
        ))?,
    }
    let others: Vec<&str> = summary["also_in"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if let Some(stays) = summary["stays"].as_str() {
        terminal.note(stays);
    }
    if !others.is_empty() {
        terminal.note(format_args!("others say some of the same, and stay: {}", escape_terminal(&others.join(", "))));
    }
    Ok(())
}

/// `3 searches`, `the ledger`, `12 files (4,096 bytes)`: where pieces of erased texts were looked for.
fn searched_places(verified: &Value) -> Vec<String> {
    let count = |name: &str| verified[name].as_u64().unwrap_or(0);
    let (searches, statements, files) = (count("searches"), count("statements"), count("files"));
    let mut places = Vec::new();
    if searches > 0 {
        places.push(pluralize(searches, "search", "searches"));
    }
    places.push("the ledger".to_owned());
    if statements > 0 {
        places.push(pluralize(statements, "statement of the graph", "statements of the graph"));
    }
    if files > 0 {
        places.push(format!("{} ({} bytes)", pluralize(files, "file", "files"), thousands(count("bytes"))));
    }
    places
}

/// `9 items, 5 documents`: what was erased.
fn parts(counts: &Value) -> Vec<String> {
    const NAMES: [(&str, &str, &str); 9] = [
        ("items", "item", "items"),
        ("commits", "commit", "commits"),
        ("people", "profile of a person", "profiles of people"),
        ("statements", "statement", "statements"),
        ("documents", "document", "documents"),
        ("summaries", "summary", "summaries"),
        ("answers", "answer", "answers"),
        ("jobs", "job", "jobs"),
        ("recorded_documents", "entry of recorded snapshots", "entries of recorded snapshots"),
    ];
    let told = NAMES.iter().map(|(key, one, many)| (counts[*key].as_u64().unwrap_or(0), one, many));
    let told: Vec<String> =
        told.filter(|(count, ..)| *count > 0).map(|(count, one, many)| pluralize(count, one, many)).collect();
    if told.is_empty() { vec!["there was nothing left of it".to_owned()] } else { told }
}

async fn list(session: &Session, client: &Client, args: &Args) -> Result<()> {
    let action = args.action.map(AuditAction::from);
    let audit = client.answer(AuditRequest { action, before: None, limit: MAX_AUDIT }).await?;
    let terminal = &session.terminal;
    if args.json {
        return Ok(terminal.json(&audit)?);
    }
    if audit.is_empty() {
        return Ok(terminal.line("Nothing was forgotten.")?);
    }
    let row = |entry: &AuditEntry| {
        let is_empty = |counts: &Value| counts.as_object().is_none_or(|counts| counts.is_empty());
        let has_counts = entry.verified.is_some() || !is_empty(&entry.counts);
        let removed = has_counts.then(|| parts(&entry.counts).join(", "));
        let verified = match (entry.action, entry.verified) {
            (AuditAction::Undo | AuditAction::Retire, _) => "",
            (_, Some(true)) => "yes",
            (_, Some(false)) => "no",
            (_, None) if removed.is_none() => "not ended",
            (_, None) => "not known",
        };
        vec![
            minute(entry.at),
            entry.action.as_str().to_owned(),
            escape_terminal(&entry.subject),
            verified.to_owned(),
            removed.unwrap_or_default(),
            escape_terminal(entry.actor.as_deref().unwrap_or_default()),
            escape_terminal(entry.reason.as_deref().unwrap_or_default()),
        ]
    };
    Ok(terminal.table(
        &["at", "", "subject", "verified", "removed", "by", "reason"],
        &[],
        audit.iter().map(row).collect(),
    )?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_that_were_not_searched_are_not_told() {
        let all = json!({ "searches": 1, "statements": 1200, "files": 2, "bytes": 4096 });
        let told = ["1 search", "the ledger", "1,200 statements of the graph", "2 files (4,096 bytes)"];
        assert_eq!(searched_places(&all), told);
        assert_eq!(searched_places(&json!({ "searches": 0 })), ["the ledger"]);
    }
}
