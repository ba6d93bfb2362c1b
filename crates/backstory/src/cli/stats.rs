//! `stats`: counts everything that is stored, and how much of it has vectors.

use backstory_engine::{
    index::{Coverage, VECTORS_TO_INDEX},
    stats::{NO_MODEL, ProjectSecrets, StatsRequest, VectorSearch},
};

use super::Session;
use crate::{
    client::Client,
    failure::Result,
    output::{pluralize, thousands},
};

/// The line below which it is told of each project.
const REPLACED: &str = "Secrets replaced";

/// Show how many items of each kind there are, and how much of them search by meaning covers
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory stats")]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Counts places by the kind of secret: `jwt in 1 place, password in 2 places`.
pub(super) fn count_kinds(secrets: &ProjectSecrets) -> String {
    let each = secrets.secrets.iter();
    let each = each.map(|secret| format!("{} in {}", secret.kind, pluralize(secret.count, "place", "places")));
    each.collect::<Vec<_>>().join(", ")
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "stats", || Ok(())).await?;
    let stats = client.answer(StatsRequest {}).await?;
    if args.json {
        return Ok(session.terminal.json(&stats)?);
    }
    let Coverage { documents, embedded, passages, .. } = stats.coverage;
    // An empty corpus is covered.
    let percent = (embedded * 100).checked_div(documents).unwrap_or(100);
    let source = match stats.model.as_str() {
        NO_MODEL => "; the embedding provider is none".to_owned(),
        model => format!(" by {model}"),
    };
    let rows = [
        ("Projects", thousands(stats.projects)),
        ("Issues", thousands(stats.issues)),
        ("Merge Requests", thousands(stats.merge_requests)),
        ("Discussions", thousands(stats.discussions)),
        ("Notes", thousands(stats.notes)),
        ("People", thousands(stats.people)),
        ("Labels", thousands(stats.labels)),
        ("Milestones", thousands(stats.milestones)),
        ("Commits", thousands(stats.commits)),
        ("Files", thousands(stats.files)),
        ("Code Entities", thousands(stats.code_entities)),
        ("Branches", thousands(stats.branches)),
        ("Tags", thousands(stats.tags)),
        ("Design Notes", thousands(stats.design_notes)),
        ("Statements", thousands(stats.quads)),
        (REPLACED, format!("in {}", pluralize(stats.redactions, "place", "places"))),
        ("Documents", thousands(documents)),
        ("Embedded", format!("{} ({percent}%), {} passages{source}", thousands(embedded), thousands(passages))),
    ];
    for (name, value) in rows {
        session.terminal.line(format_args!("{:<18}{value}", format!("{name}:")))?;
        if name == REPLACED {
            for secrets in &stats.secrets {
                session.terminal.line(format_args!("  {}: {}", secrets.project, count_kinds(secrets)))?;
            }
        }
    }
    if stats.model != NO_MODEL {
        let found = describe_vector_search(stats.vector_search, passages);
        session.terminal.line(format_args!("{:<18}{found}", "Vector search:"))?;
    }
    Ok(())
}

/// How the nearest of so many vectors are found: `in 48 clusters, one for every 1,000 vectors`.
fn describe_vector_search(of: VectorSearch, vectors: u64) -> String {
    let VectorSearch { clusters, probes, refine } = of;
    let mut text = match clusters {
        Some(clusters) if probes >= clusters as usize => "in all clusters".to_owned(),
        Some(clusters) => format!("in {probes} of {}", pluralize(clusters.into(), "cluster", "clusters")),
        None => format!("in {}, one for every 1,000 vectors", pluralize(probes as u64, "cluster", "clusters")),
    };
    if vectors < VECTORS_TO_INDEX {
        text = format!("all {} compared; from {} on, {text}", thousands(vectors), thousands(VECTORS_TO_INDEX));
    }
    if refine > 0 {
        text.push_str(&format!("; {refine} times as many as wanted compared exactly"));
    }
    text
}
