//! `check`: checks the stores against each other. Configuration and forges are checked by `doctor`.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Session;
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{BAD, GOOD, plain, thousands},
};

const CHECK: &str = include_str!("../../../../queries/graphql/check.graphql");
const DIGEST: &str = include_str!("../../../../queries/graphql/digest.graphql");

/// Check that everything that is stored is sound and agrees
///
/// Ends with the digest of the graph: it is the same however the graph came about, by many small syncs or a rebuild.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n  backstory check\n  backstory check --digest")]
pub(super) struct Args {
    /// Print the digest of the graph only
    #[arg(long)]
    digest: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct CheckAnswer {
    check: Report,
}

#[derive(Deserialize)]
struct DigestAnswer {
    digest: Digest,
}

#[derive(Deserialize)]
struct Report {
    ok: bool,
    findings: Vec<Finding>,
    digest: Digest,
}

#[derive(Deserialize, Serialize)]
struct Finding {
    rule: String,
    problems: Vec<String>,
}

#[derive(Deserialize)]
struct Digest {
    value: String,
    quads: u64,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "check", || Ok(())).await?;
    if args.digest {
        let DigestAnswer { digest } = client.run(DIGEST, json!({})).await?;
        if args.json {
            session.terminal.json(&json!({ "digest": digest.value, "quads": digest.quads }))?;
        } else {
            session.terminal.line(digest.value)?;
        }
        return Ok(());
    }
    let CheckAnswer { check } = client.run(CHECK, json!({})).await?;
    let Report { ok, findings, digest } = check;
    if args.json {
        let report = json!({ "ok": ok, "findings": findings, "digest": digest.value, "quads": digest.quads });
        session.terminal.json(&report)?;
    } else {
        tell(session, &findings, &digest)?;
    }
    if ok { Ok(()) } else { Err(Failure::reported()) }
}

fn tell(session: &Session, findings: &[Finding], digest: &Digest) -> Result<()> {
    for Finding { rule, problems } in findings {
        if problems.is_empty() {
            session.terminal.line(format_args!("{GOOD}✓{GOOD:#} {rule}"))?;
        } else {
            session.terminal.line(format_args!("{BAD}✗{BAD:#} {rule}"))?;
        }
        for problem in problems {
            session.terminal.line(format_args!("    {}", plain(problem)))?;
        }
    }
    let broken = findings.iter().filter(|finding| !finding.problems.is_empty()).count();
    session.terminal.line(format_args!("Digest: {} over {} statements", digest.value, thousands(digest.quads)))?;
    if broken > 0 {
        session.terminal.error(format_args!(
            "{broken} of {} rules do not hold; 'backstory rebuild' makes graph and index anew, 'backstory sync --full' \
             reads everything again",
            findings.len()
        ));
    }
    Ok(())
}
