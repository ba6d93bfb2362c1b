//! `eval --pairs`: refusals, on questions made from the project itself.

use std::collections::{BTreeMap, BTreeSet};

use backstory_engine::{
    ask::AskRequest,
    eval::PairRequest,
    model::{
        eval::{Pair, PairKind, PairReport, Verdict},
        filter::Filter,
    },
};
use serde::Serialize;

use super::{
    super::{Session, repos},
    Args,
};
use crate::{
    client::Client,
    failure::Result,
    output::{Progress, Step},
};

/// Points of the curve that are shown, evenly over the sureness.
const SHOWN: usize = 10;

/// What `--json` prints.
#[derive(Serialize)]
struct Printed {
    all: PairReport,
    by_kind: BTreeMap<&'static str, PairReport>,
    questions: Vec<AskedTwice>,
}

#[derive(Serialize)]
struct AskedTwice {
    kind: PairKind,
    question: String,
    before: Verdict,
    after: Verdict,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "eval", || Ok(())).await?;
    repos::require_projects(session, &client, args.project.as_slice()).await?;
    let request = PairRequest { project: args.project.clone(), count: args.pairs.unwrap_or_default() as usize };
    let pairs = client.answer(request).await?;
    let (mut progress, total) = (Progress::new(), pairs.len());
    let mut questions = Vec::with_capacity(total);
    for (done, pair) in pairs.into_iter().enumerate() {
        progress.show(&Step { phase: "pairs", done: done as u64, total: Some(total as u64), note: None });
        let Pair { kind, question, evidence } = pair;
        let before = ask(&client, args, &question, vec![]).await?;
        let after = ask(&client, args, &question, evidence).await?;
        questions.push(AskedTwice { kind, question, before, after });
    }
    progress.clear();
    let report = |kind: Option<PairKind>| {
        let of_kind = questions.iter().filter(|of| kind.is_none_or(|kind| of.kind == kind));
        PairReport::of(&of_kind.map(|of| (of.before, of.after)).collect::<Vec<_>>())
    };
    let kinds: BTreeSet<PairKind> = questions.iter().map(|of| of.kind).collect();
    let by_kind = kinds.into_iter().map(|kind| (kind.as_str(), report(Some(kind)))).collect();
    let printed = Printed { all: report(None), by_kind, questions };
    if args.json {
        return Ok(session.terminal.json(&printed)?);
    }
    tell(session, &printed)
}

async fn ask(client: &Client, args: &Args, question: &str, exclude: Vec<String>) -> Result<Verdict> {
    let filter = Filter { project: args.project.clone(), exclude, ..Filter::default() };
    let answer = client.answer(AskRequest { question: question.to_owned(), filter, ..AskRequest::default() }).await?;
    Ok(Verdict { refused: !answer.answered, confidence: f64::from(answer.confidence) })
}

fn tell(session: &Session, printed: &Printed) -> Result<()> {
    let terminal = &session.terminal;
    if printed.questions.is_empty() {
        terminal
            .line("No questions can be made: they are made of issues and merge requests, of which there are too few")?;
        return Ok(());
    }
    terminal.line(format_args!(
        "{} questions made from the project, asked with what answers them and without\n",
        printed.all.pairs
    ))?;
    terminal.line("MADE FROM   QUESTIONS  REFUSED WITH  REFUSED WITHOUT")?;
    let all = std::iter::once(("all", &printed.all));
    for (kind, report) in printed.by_kind.iter().map(|(kind, report)| (*kind, report)).chain(all) {
        terminal.line(format_args!(
            "{kind:<11} {:>9}  {:>12.2}  {:>15.2}",
            report.pairs, report.refused_before, report.refused_after
        ))?;
    }
    terminal.line("\nIf only the fit of the evidence decided:\nLEAST FIT  REFUSED WITH  REFUSED WITHOUT")?;
    let curve = &printed.all.curve;
    for point in curve.iter().step_by(curve.len().div_ceil(SHOWN).max(1)) {
        terminal.line(format_args!("{:>9.2}  {:>12.2}  {:>15.2}", point.confidence, point.before, point.after))?;
    }
    Ok(())
}
