//! Prints a commit: its message, and its type by rules and by a language model.

use backstory_engine::{generated::CommitClassification, model::classify::Rule, show::CommitDetails};

use crate::{
    failure::Result,
    output::{FAINT, STRONG, Terminal, escape_terminal, indented, minute, pluralize},
};

pub(super) fn print(terminal: &Terminal, commit: &CommitDetails) -> Result<()> {
    let message = commit.message.trim();
    let (title, body) = message.split_once('\n').unwrap_or((message, ""));
    terminal.line(format_args!("{FAINT}Commit {}{FAINT:#}", commit.id))?;
    terminal.line(format_args!("{STRONG}{}{STRONG:#}\n", escape_terminal(title)))?;
    for (name, value) in facts(commit) {
        terminal.line(format_args!("{:<15}{}", format!("{name}:"), escape_terminal(&value)))?;
    }
    if !body.trim().is_empty() {
        terminal.line(format_args!("\n{}", escape_terminal(body.trim())))?;
    }
    let count = commit.file_count;
    terminal.line(format_args!("\n{STRONG}{}{STRONG:#}", pluralize(count as u64, "file", "files")))?;
    for file in &commit.files {
        let lines = file.insertions.zip(file.deletions).map(|(added, removed)| format!(" +{added} -{removed}"));
        let line = format!("{} {}{}", file.status.as_str(), escape_terminal(&file.path), lines.unwrap_or_default());
        terminal.line(indented(&line, 2))?;
    }
    if count > commit.files.len() {
        terminal.line(format_args!("  and {} more", count - commit.files.len()))?;
    }
    Ok(())
}

/// The type that the model sees is shown where it differs from that of the rules.
fn facts(commit: &CommitDetails) -> Vec<(&'static str, String)> {
    let by_rules = commit.change_type.map(|kind| {
        let confidence = commit.change_type_confidence.unwrap_or_default();
        let rule = commit.change_type_rule.map_or("rules", Rule::as_str);
        format!("{} ({confidence:.2}, by {rule})", kind.as_str())
    });
    let by_model = commit.model_classification.as_ref();
    let by_model = by_model.filter(|by_model| Some(by_model.found.change_type) != commit.change_type);
    let by_model = by_model.map(|CommitClassification { found, model, .. }| {
        let kind = found.change_type.as_str();
        format!("{kind} ({:.2}, by the language model {}: {})", found.confidence, model.name, found.reason)
    });
    let listed = |names: Vec<String>| Some(names.join(", ")).filter(|names| !names.is_empty());
    let security = listed(commit.security_flags.iter().map(|flag| flag.id.clone()).collect());
    let tickets = listed(commit.tickets.iter().map(ToString::to_string).collect());
    let facts = [
        ("Author", Some(commit.author_name.clone())),
        ("Written", Some(minute(commit.authored_at))),
        ("Type", by_rules),
        ("Or", by_model),
        ("Security", security),
        ("Tickets", tickets),
        ("Lines", Some(format!("+{} -{}", commit.insertions, commit.deletions))),
        ("URL", commit.url.clone()),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
