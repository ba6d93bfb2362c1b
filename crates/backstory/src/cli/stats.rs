//! `stats`: counts everything that is stored, and how much of it has vectors.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Session;
use crate::{client::Client, failure::Result, output::thousands};

const STATS: &str = include_str!("../../../../queries/graphql/stats.graphql");
/// The line below which it is told of each project.
const REPLACED: &str = "Secrets replaced";

/// Show how much there is of everything, and how much of it search by meaning covers
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory stats")]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Answer {
    stats: Stats,
    coverage: Coverage,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed {
    #[serde(flatten)]
    stats: Stats,
    coverage: Coverage,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Stats {
    projects: u64,
    issues: u64,
    merge_requests: u64,
    discussions: u64,
    notes: u64,
    people: u64,
    labels: u64,
    milestones: u64,
    commits: u64,
    files: u64,
    code_entities: u64,
    branches: u64,
    tags: u64,
    design_notes: u64,
    quads: u64,
    model: String,
    redactions: u64,
    secrets: Vec<ProjectSecrets>,
}

/// Secrets that were replaced in everything of a project; `acme/shop: 1 jwt, 2 password` for people.
#[derive(Deserialize, Serialize)]
pub(super) struct ProjectSecrets {
    project: String,
    secrets: Vec<Secrets>,
}

#[derive(Deserialize, Serialize)]
struct Secrets {
    kind: String,
    count: u64,
}

impl ProjectSecrets {
    /// What of a project is in a row.
    pub(super) fn name(&self) -> &str {
        if self.project.is_empty() { "people" } else { &self.project }
    }

    /// How many of which kind.
    pub(super) fn counts(&self) -> String {
        let each = self.secrets.iter().map(|of| format!("{} {}", thousands(of.count), of.kind));
        each.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for ProjectSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.counts())
    }
}

/// Secrets that were replaced, by project.
///
/// # Errors
/// The stores cannot be read.
pub(super) async fn secrets(client: &Client) -> Result<Vec<ProjectSecrets>> {
    Ok(client.run::<Answer>(STATS, json!({})).await?.stats.secrets)
}

#[derive(Deserialize, Serialize)]
struct Coverage {
    documents: u64,
    embedded: u64,
    passages: u64,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "stats", || Ok(())).await?;
    let Answer { stats, coverage } = client.run(STATS, json!({})).await?;
    if args.json {
        return Ok(session.terminal.json(&Printed { stats, coverage })?);
    }
    let Coverage { documents, embedded, passages } = coverage;
    // An empty corpus is covered.
    let percent = (embedded * 100).checked_div(documents).unwrap_or(100);
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
        (REPLACED, thousands(stats.redactions)),
        ("Documents", thousands(documents)),
        (
            "Embedded",
            format!("{} ({percent}%), {} passages by {}", thousands(embedded), thousands(passages), stats.model),
        ),
    ];
    for (name, value) in rows {
        session.terminal.line(format_args!("{:<18}{value}", format!("{name}:")))?;
        if name == REPLACED {
            for of in &stats.secrets {
                session.terminal.line(format_args!("  {of}"))?;
            }
        }
    }
    Ok(())
}
