//! `eval --links`: how many hidden links are recovered, and how many wrongly.

use backstory_engine::{MeasureLinks, model::link::LinkReport};

use super::{
    super::{Session, repos},
    Args,
};
use crate::{client::Client, failure::Result};

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "eval", || Ok(())).await?;
    repos::require_projects(session, &client, args.project.as_slice()).await?;
    let report = client.answer(MeasureLinks { project: args.project.clone() }).await?;
    if args.json {
        return Ok(session.terminal.json(&report)?);
    }
    print(session, &report)
}

fn print(session: &Session, report: &LinkReport) -> Result<()> {
    let terminal = &session.terminal;
    let LinkReport { changes, linked, closing, told, curve } = report;
    terminal.line(format_args!(
        "The latest {changes} merged requests with their stated links hidden: {linked} are linked with an issue, {closing} \
         close one\n"
    ))?;
    terminal.line(format_args!(
        "shown: {} links, {} right (precision {:.2}), {} of {closing} closed issues (recall {:.2})\n",
        told.told, told.right, told.precision, told.closing, told.recall
    ))?;
    terminal.line("CONFIDENCE  SHOWN  RIGHT  PRECISION  RECALL  OF ALL LINKED")?;
    for point in std::iter::once(told).chain(curve) {
        terminal.line(format_args!(
            "{:>10.2}  {:>4}  {:>5}  {:>9.2}  {:>6.2}  {:>13.2}",
            point.confidence, point.told, point.right, point.precision, point.recall, point.recall_any
        ))?;
    }
    Ok(())
}
