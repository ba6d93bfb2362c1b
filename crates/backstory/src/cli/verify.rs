//! `verify`: proves every citation of a saved answer again.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

use backstory_engine::{
    ask::{Check, VerifyRequest},
    model::answer::{Answer, Citation, Method},
};
use serde_json::json;

use super::Session;
use crate::{
    client::Client,
    failure::{Failure, Result, reason},
    output::{BAD, GOOD, escape_terminal, pluralize},
};

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 4 << 20;
/// Citations of one request: with the longest quotations they stay below what a server takes.
const BATCH: usize = 20;

/// Verify again that every citation of a saved answer is where it says it is
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory ask \"why did we choose Redis?\" --json > answer.json
  backstory verify answer.json
  backstory ask \"why did we choose Redis?\" --json | backstory verify

Items are read from the ledger, files from the clone at the cited commit; nothing is fetched. Exit code 1 if any
citation fails.")]
pub(super) struct Args {
    /// What 'backstory ask --json' printed; standard input if absent or -
    #[arg(value_name = "ANSWER.json")]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let answer = read(args)?;
    let mut checks = statements(&answer);
    if !answer.citations.is_empty() {
        let client = Client::open(session, "verify", || Ok(())).await?;
        for batch in answer.citations.chunks(BATCH) {
            checks.extend(client.answer(VerifyRequest { citations: batch.to_vec() }).await?);
        }
    }
    let failed = checks.iter().filter(|check| check.problem.is_some()).count();
    if args.json {
        session.terminal.json(&json!({ "ok": failed == 0, "citations": checks }))?;
    } else {
        for check in &checks {
            match &check.problem {
                Some(problem) => session.terminal.line(format_args!(
                    "{BAD}failed{BAD:#} [{}] {}: {}",
                    check.number,
                    escape_terminal(&check.id),
                    escape_terminal(problem)
                ))?,
                None => session.terminal.line(format_args!(
                    "{GOOD}ok{GOOD:#}     [{}] {}",
                    check.number,
                    escape_terminal(&check.id)
                ))?,
            }
        }
        let all = pluralize(answer.citations.len() as u64, "citation", "citations");
        match failed {
            0 => session.terminal.line(format_args!("{all} verified"))?,
            some => {
                session.terminal.line(format_args!("{all}; {} failed", pluralize(some as u64, "check", "checks")))?
            }
        }
    }
    if failed > 0 { Err(Failure::reported()) } else { Ok(()) }
}

/// What is wrong with the answer itself: statements that cite nothing, quotations that are not in their source.
fn statements(answer: &Answer) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut fail = |number: u32, id: &str, problem: String| {
        checks.push(Check { number, id: id.to_owned(), problem: Some(problem) });
    };
    for number in find_duplicate_numbers(&answer.citations) {
        fail(number, "the answer", "two citations have this number".to_owned());
    }
    for (place, statement) in (1..).zip(&answer.statements) {
        if statement.citations.is_empty() {
            fail(0, "the answer", format!("statement {place} cites nothing"));
        }
        for number in &statement.citations {
            let Some(citation) = answer.citation(*number) else {
                fail(*number, "the answer", format!("statement {place} cites it, and it is not there"));
                continue;
            };
            let is_quotation = answer.model.is_none() && answer.method != Method::Facts;
            if is_quotation && citation.text != statement.text {
                fail(*number, &citation.id, format!("statement {place} is not what it quotes"));
            }
        }
    }
    checks
}

fn read(args: &Args) -> Result<Answer> {
    let name = args.file.as_ref().filter(|path| path.as_os_str() != "-");
    let shown = name.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string());
    let mut text = Vec::new();
    let read = match name {
        Some(path) => File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut text)),
        None => io::stdin().lock().take(MAX_FILE + 1).read_to_end(&mut text),
    };
    read.map_err(|error| Failure::usage(format!("{shown} cannot be read: {}", reason(&error))))?;
    if text.len() as u64 > MAX_FILE {
        return Err(Failure::usage(format!("{shown} is larger than {} MiB, so it is not an answer", MAX_FILE >> 20)));
    }
    serde_json::from_slice(&text).map_err(|_| {
        Failure::usage(format!("{shown} is not an answer that 'backstory ask --json' printed; pass that, unchanged"))
    })
}

/// Numbers that two citations have.
fn find_duplicate_numbers(citations: &[Citation]) -> BTreeSet<u32> {
    let mut seen = BTreeSet::new();
    citations.iter().map(|citation| citation.number).filter(|number| !seen.insert(*number)).collect()
}
