//! Prints an evaluation for people.

use std::collections::BTreeMap;

use backstory_engine::model::eval::{Drift, Metric, Refusal, Report, Retriever, RetrieverScore};

use super::{asked::Found, compared::SnapshotComparison};
use crate::{
    cli::Session,
    failure::Result,
    output::{FAINT, STRONG, escape_terminal, pluralize},
};

/// Prints how well each retriever does, each kind of question, and what was missed.
pub(super) fn tell(session: &Session, found: &Found, report: &Report, missed: Retriever) -> Result<()> {
    let terminal = &session.terminal;
    let unanswerable = report.questions - report.answerable;
    terminal.line(format_args!(
        "{} about {}, {} without an answer; means with 95 % intervals {FAINT}({} documents, {} with vectors of {}, \
         ranking {}){FAINT:#}",
        pluralize(report.questions as u64, "question", "questions"),
        found.project,
        unanswerable,
        found.index.documents,
        found.index.embedded,
        found.index.model,
        found.index.ranking,
    ))?;
    terminal.line("")?;
    let told = Retriever::ALL.iter().filter_map(|leg| Some((leg.as_str().to_owned(), report.legs.get(leg)?)));
    table(session, "leg", told.map(|(leg, scored)| (leg, None, scored)))?;
    if report.kinds.len() > 1 {
        terminal.line("")?;
        let of_kind = |(kind, legs): (&String, &BTreeMap<Retriever, RetrieverScore>)| {
            legs.get(&missed).map(|scored| (escape_terminal(kind), Some(scored.questions), scored.clone()))
        };
        let rows: Vec<_> = report.kinds.iter().filter_map(of_kind).collect();
        let heading = format!("{} by kind", missed.as_str());
        table(session, &heading, rows.iter().map(|(kind, questions, scored)| (kind.clone(), *questions, scored)))?;
    }
    if let Some(refusal) = &report.refusal {
        terminal.line("")?;
        tell_refusal(session, refusal)?;
    }
    tell_misses(session, report, missed)
}

/// A line for each name: the measures with their intervals, and how long it took.
fn table<'a>(
    session: &Session,
    what: &str,
    rows: impl Iterator<Item = (String, Option<usize>, &'a RetrieverScore)>,
) -> Result<()> {
    let mut counted = false;
    let mut lines = Vec::new();
    for (name, questions, scored) in rows {
        let mut line = vec![name];
        if let Some(questions) = questions {
            counted = true;
            line.push(questions.to_string());
        }
        line.extend(Metric::ALL.into_iter().map(|measure| measured(scored, measure)));
        if questions.is_none() {
            line.push(format!("{:.0}/{:.0} ms", scored.latency_ms.p50, scored.latency_ms.p95));
        }
        lines.push(line);
    }
    let mut headings = vec![what];
    if counted {
        headings.push("questions");
    }
    headings.extend(Metric::ALL.map(Metric::as_str));
    if !counted {
        headings.push("p50/p95");
    }
    let numbers = headings[1..].to_vec();
    Ok(session.terminal.table(&headings, &numbers, lines)?)
}

/// `0.673 (.54-.80)`
fn measured(scored: &RetrieverScore, measure: Metric) -> String {
    scored.measures.get(&measure).map_or_else(String::new, |estimate| {
        let end = |value: f64| format!("{value:.2}").trim_start_matches('0').to_owned();
        format!("{:.3} ({}-{})", estimate.mean, end(estimate.low), end(estimate.high))
    })
}

fn tell_refusal(session: &Session, refusal: &Refusal) -> Result<()> {
    let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.3}"));
    let row =
        vec![refusal.refused.to_string(), share(refusal.precision), share(refusal.recall), share(refusal.r#false)];
    let headings = ["refused", "precision", "recall", "false"];
    Ok(session.terminal.table(&headings, &headings, vec![row])?)
}

fn tell_misses(session: &Session, report: &Report, missed: Retriever) -> Result<()> {
    let terminal = &session.terminal;
    if report.misses.is_empty() {
        return Ok(());
    }
    terminal.line(format_args!("\n{STRONG}Not first in {}{STRONG:#}", missed.as_str()))?;
    for miss in &report.misses {
        let rank = miss.rank.map_or("-".to_owned(), |rank| rank.to_string());
        terminal.line(format_args!(
            "{rank:>3}  {} {FAINT}{} wants {}{FAINT:#}",
            escape_terminal(&miss.question),
            escape_terminal(&miss.id),
            escape_terminal(&miss.gold.join(", ")),
        ))?;
        if let Some(first) = &miss.first {
            terminal.line(format_args!(
                "     {FAINT}first: {} {}{FAINT:#}",
                escape_terminal(&first.id),
                escape_terminal(&first.title)
            ))?;
        }
    }
    Ok(())
}

/// Prints what changed since the snapshot was taken.
pub(super) fn tell_drift(session: &Session, compared: &SnapshotComparison) -> Result<()> {
    let terminal = &session.terminal;
    let path = compared.path.display();
    if let Some(drift) = &compared.drift {
        if drift.is_empty() {
            terminal.line(format_args!("\nNothing changed since {path}."))?;
        } else {
            terminal.line(format_args!("\n{STRONG}Changed since {path}{STRONG:#}"))?;
            tell_changes(session, drift)?;
        }
    }
    if compared.written {
        terminal.note(format_args!("wrote {path}"));
    }
    Ok(())
}

fn tell_changes(session: &Session, drift: &Drift) -> Result<()> {
    let terminal = &session.terminal;
    if let Some(old) = &drift.index {
        terminal.line(format_args!(
            "  the index had {} documents, {} with vectors of {}, ranking {}",
            old.documents, old.embedded, old.model, old.ranking
        ))?;
    }
    for (what, questions) in [("new", &drift.added), ("gone", &drift.removed)] {
        if !questions.is_empty() {
            terminal.line(format_args!("  {what}: {}", escape_terminal(&questions.join(", "))))?;
        }
    }
    for change in &drift.measures {
        let (leg, measure) = (change.leg.as_str(), change.measure.as_str());
        let fell = if change.fell { " (fell)" } else { "" };
        terminal.line(format_args!("  {leg} {measure}: {:.4} → {:.4}{fell}", change.old, change.new))?;
    }
    let rank = |rank: Option<u32>| rank.map_or("-".to_owned(), |rank| rank.to_string());
    for moved in &drift.moved {
        let (question, leg) = (escape_terminal(&moved.question), moved.leg.as_str());
        terminal.line(format_args!("  {question} in {leg}: rank {} → {}", rank(moved.old), rank(moved.new)))?;
    }
    Ok(())
}
