//! `check`: checks the stores against each other. Configuration and forges are checked by `doctor`.

use backstory_engine::check::{CheckReport, CheckRequest, DigestRequest, Finding};

use super::Session;
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{BAD, GOOD, escape_terminal, thousands},
};

/// Check that everything that is stored is sound and consistent
///
/// Ends with the digest of graph and lists: it is the same however they came about, by many small syncs or a rebuild.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n  backstory check\n  backstory check --digest")]
pub(super) struct Args {
    /// Print the digest of graph and lists only
    #[arg(long)]
    digest: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "check", || Ok(())).await?;
    let terminal = &session.terminal;
    if args.digest {
        let digest = client.answer(DigestRequest {}).await?;
        if args.json {
            terminal.json(&digest)?;
        } else {
            terminal.line(digest.digest)?;
        }
        return Ok(());
    }
    let report = client.answer(CheckRequest {}).await?;
    if args.json {
        terminal.json(&report)?;
    } else {
        print(session, &report)?;
    }
    if report.ok { Ok(()) } else { Err(Failure::reported()) }
}

fn print(session: &Session, report: &CheckReport) -> Result<()> {
    let CheckReport { findings, digest, quads, rows, .. } = report;
    for Finding { rule, problems } in findings {
        if problems.is_empty() {
            session.terminal.line(format_args!("{GOOD}✓{GOOD:#} {rule}"))?;
        } else {
            session.terminal.line(format_args!("{BAD}✗{BAD:#} {rule}"))?;
        }
        for problem in problems {
            session.terminal.line(format_args!("    {}", escape_terminal(problem)))?;
        }
    }
    let broken = findings.iter().filter(|finding| !finding.problems.is_empty()).count();
    let (statements, rows) = (thousands(*quads), thousands(*rows));
    session.terminal.line(format_args!("Digest: {digest} over {statements} statements and {rows} rows"))?;
    if broken > 0 {
        session.terminal.error(format_args!(
            "{broken} of {} rules do not hold; 'backstory rebuild' rebuilds graph, lists and index, 'backstory sync --full' \
             reads everything again",
            findings.len()
        ));
    }
    Ok(())
}
