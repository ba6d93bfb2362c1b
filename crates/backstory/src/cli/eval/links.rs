//! `eval --links`: how many hidden links are recovered, and how many wrongly.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    super::{Session, repos},
    Args,
};
use crate::{client::Client, failure::Result};

const RECOVERED_LINKS: &str = include_str!("../../../../../queries/graphql/recovered_links.graphql");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    recovered_links: Recovered,
}

/// What `--json` prints.
#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Recovered {
    changes: u64,
    linked: u64,
    closing: u64,
    told: Point,
    curve: Vec<Point>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Point {
    confidence: f64,
    told: u64,
    right: u64,
    closing: u64,
    precision: f64,
    recall: f64,
    recall_any: f64,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "eval", || Ok(())).await?;
    repos::require_projects(session, &client, args.project.as_slice()).await?;
    let Answer { recovered_links: found } = client.run(RECOVERED_LINKS, json!({ "project": args.project })).await?;
    if args.json {
        return Ok(session.terminal.json(&found)?);
    }
    tell(session, &found)
}

fn tell(session: &Session, found: &Recovered) -> Result<()> {
    let terminal = &session.terminal;
    let Recovered { changes, linked, closing, told, .. } = found;
    terminal.line(format_args!(
        "The latest {changes} merged requests with their stated links hidden: {linked} are linked with an issue, {closing} \
         close one\n"
    ))?;
    terminal.line(format_args!(
        "told: {} links, {} right (precision {:.2}), {} of {closing} closed issues (recall {:.2})\n",
        told.told, told.right, told.precision, told.closing, told.recall
    ))?;
    terminal.line("CONFIDENCE  TOLD  RIGHT  PRECISION  RECALL  OF ALL LINKED")?;
    for point in std::iter::once(told).chain(&found.curve) {
        terminal.line(format_args!(
            "{:>10.2}  {:>4}  {:>5}  {:>9.2}  {:>6.2}  {:>13.2}",
            point.confidence, point.told, point.right, point.precision, point.recall, point.recall_any
        ))?;
    }
    Ok(())
}
