//! `ask`: answers a question with quotes, or says what is missing.

use backstory_engine::{
    ask::AskRequest,
    model::{
        answer::{Answer, Citation, Method, Statement},
        filter::Filter,
        id::NodeId,
        sentence::join_wrapped_lines,
    },
};

use super::{Session, repos, task};
use crate::{
    client::Client,
    failure::Result,
    output::{FAINT, STRONG, Terminal, day, escape_terminal, indented},
};

/// Hex digits of a hash that are shown.
const SHORT_HASH: usize = 12;

/// Answer a question, strictly from what was read, with the evidence
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory ask \"why did we choose Redis over memcached?\"
  backstory ask \"who came up with the token bucket?\" --project group/project
  backstory ask \"in which release was the token bucket added?\"
  backstory ask \"why is the expiry checked twice?\" --json > answer.json && backstory verify answer.json

All projects are asked, even from within a clone; --project restricts the question to one.
Who added, removed or fixed something, when and in which release, is answered from commits, merge requests and tags. Without a
language model other answers are made of quotations. If there is not enough evidence, it says so instead.")]
pub(super) struct Args {
    /// The question
    question: String,
    /// Only from this project
    #[arg(long, value_name = "GROUP/PROJECT")]
    project: Option<String>,
    /// Quote, even if a language model is configured
    #[arg(long)]
    no_model: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let before = || if args.no_model { Ok(()) } else { session.config()?.require_llm_key() };
    let client = Client::open(session, "ask", before).await?;
    repos::require_projects(session, &client, args.project.as_slice()).await?;
    let request = AskRequest {
        question: args.question.clone(),
        before: None,
        filter: Filter { project: args.project.clone(), ..Filter::default() },
        model: !args.no_model,
        ranking: None,
    };
    let answer = client.answer(request).await?;
    if args.json {
        return Ok(session.terminal.json(&answer)?);
    }
    for warning in &answer.warnings {
        session.terminal.warning(escape_terminal(warning));
    }
    if answer.refusal.is_some() {
        task::note_running_sync(&session.terminal, &client).await?;
    }
    print(&session.terminal, &answer)
}

fn print(terminal: &Terminal, answer: &Answer) -> Result<()> {
    if let Some(refusal) = &answer.refusal {
        terminal.line(&refusal.sentence)?;
        terminal.line(format_args!("\n{FAINT}I {}.{FAINT:#}", escape_terminal(&refusal.searched)))?;
        for missing in &refusal.missing {
            terminal.line(format_args!("- {}", escape_terminal(missing)))?;
        }
        return Ok(());
    }
    match answer.method {
        Method::Extractive => quotations(terminal, answer)?,
        Method::Model => sentences(terminal, answer)?,
        Method::Facts => facts(terminal, answer)?,
    }
    if let Some(standing) = &answer.standing {
        terminal.line(format_args!("\nWhere it stands: {}", escape_terminal(&standing.text)))?;
    }
    terminal.line(format_args!("\n{STRONG}Sources:{STRONG:#}"))?;
    for citation in &answer.citations {
        terminal.line(source(citation))?;
    }
    Ok(())
}

fn quotations(terminal: &Terminal, answer: &Answer) -> Result<()> {
    for (place, statement) in answer.statements.iter().enumerate() {
        let cited = statement.citations.first().and_then(|number| answer.citation(*number));
        if place > 0 {
            terminal.line("")?;
        }
        let numbers = numbers(&statement.citations);
        match cited {
            Some(code) if code.path.is_some() => {
                let text = statement.text.replace('\t', "    ");
                terminal.line(format_args!("{} {numbers}", indented(&escape_terminal(&text), 4)))?;
            }
            _ => {
                // Further lines are indented, so that none of them looks like a line of the answer.
                let text = join_wrapped_lines(&statement.text).replace('\n', "\n ");
                terminal.line(format_args!("\"{}\" {numbers}", escape_terminal(&text)))?;
            }
        }
        if let Some(cited) = cited {
            terminal.line(format_args!("    {FAINT}{}{FAINT:#}", escape_terminal(&said(cited))))?;
        }
    }
    Ok(())
}

fn sentences(terminal: &Terminal, answer: &Answer) -> Result<()> {
    let sentence =
        |statement: &Statement| format!("{} {}", escape_terminal(&statement.text), numbers(&statement.citations));
    let text: Vec<String> = answer.statements.iter().map(sentence).collect();
    terminal.line(text.join(" "))?;
    if let Some(model) = &answer.model {
        terminal.line(format_args!("    {FAINT}worded by {}{FAINT:#}", escape_terminal(&model.name)))?;
    }
    Ok(())
}

/// Sentences, each with the texts that show what it says.
fn facts(terminal: &Terminal, answer: &Answer) -> Result<()> {
    for (place, statement) in answer.statements.iter().enumerate() {
        if place > 0 {
            terminal.line("")?;
        }
        terminal.line(format_args!("{} {}", escape_terminal(&statement.text), numbers(&statement.citations)))?;
        for cited in statement.citations.iter().filter_map(|number| answer.citation(*number)) {
            let text = cited.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let (text, said) = (escape_terminal(&text), said(cited));
            terminal.line(format_args!("    {FAINT}\"{text}\" · {}{FAINT:#}", escape_terminal(&said)))?;
        }
    }
    Ok(())
}

fn numbers(citations: &[u32]) -> String {
    citations.iter().map(|number| format!("[{number}]")).collect()
}

/// `@alice · 2024-03-01 · in acme/shop!7 Use Redis`
fn said(citation: &Citation) -> String {
    let (when, place) = (day(citation.at), citation.location());
    let text = match citation.id.parse() {
        Ok(NodeId::Note { .. } | NodeId::Thread(_)) => {
            format!("{} · {when} · in {place}", citation.display_author().unwrap_or_else(|| "@deleted".to_owned()))
        }
        Ok(NodeId::Commit { .. }) => {
            format!("{} · {when} · in {place}", citation.display_author().unwrap_or_else(|| "somebody".to_owned()))
        }
        _ => {
            let commit = citation.commit.as_deref().and_then(|commit| commit.get(..8)).unwrap_or_default();
            format!("{place} · at {commit}, last changed {when}")
        }
    };
    let mark = if citation.confidential { " · confidential" } else { "" };
    format!("{text}{mark}")
}

/// `- src/a.rs:45-88 [1] sha256:1a2b3c4d5e6f`
fn source(citation: &Citation) -> String {
    let hash: String = citation.document.chars().take(SHORT_HASH).collect();
    let number = citation.number;
    let mark = if citation.confidential { " confidential" } else { "" };
    format!("- {} [{number}] {FAINT}sha256:{hash}{mark}{FAINT:#}", escape_terminal(&citation.source().to_string()))
}
