//! `eval`: measures search on questions with known answers.

mod asked;
mod compared;
mod links;
mod pairs;
mod told;

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use backstory_engine::{
    error::ErrorKind,
    eval::{DEFAULT_DEPTH, MAX_DEPTH},
    model::eval::{self, AnsweredQuestion, Drift, IndexState, MAX_FILE, QuestionFile, Report, Retriever},
};
use clap::ValueEnum;
use serde::Serialize;

use super::{Session, repos};
use crate::{
    client::Client,
    failure::{Failure, Result, reason},
};

/// How much a measure may fall below its snapshot, unless the command line says.
const TOLERANCE: f64 = 0.02;

/// Measure how well search answers questions whose answers are known
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory eval questions.yaml
  backstory eval questions.yaml --kind why --leg fused --leg lexical
  backstory eval questions.yaml --snapshot snapshots
  backstory eval questions.yaml --snapshot snapshots --update
  backstory eval --pairs 60
  backstory eval --links --project group/project

FILE is a list of questions, or an object with 'questions', 'project' and 'bounds':

  project: group/project
  bounds:
    fused: { mrr: 0.7, recall@10: 0.9 }
  questions:
    - id: redis
      kind: why
      question: Why did we choose Redis?
      gold: [\"#3\", \"!1\"]

'gold' has the sources that answer: \"#12\", \"!7\", pr:7, issue:12, \"@1a2b3c4\", group/project#12, the address of one
of those, src/auth.rs, src/auth.rs#login, src/auth/ or docs/**; [] if nothing answers. A question with 'path' and
'line_text' or 'symbol' is traced from there by the graph. Other fields are ignored.

recall@N is the share of the expected sources among the first N results, hit@10 the share of questions with any of them
among the first ten, mrr the mean of one divided by the rank of the first; brackets hold 95 % intervals.

The exit code is 1 if a bound is not met, or a measure is lower than in the snapshot by more than the tolerance.")]
pub(super) struct Args {
    /// The questions, as YAML or JSON
    #[arg(value_name = "FILE", required_unless_present_any = ["pairs", "links"])]
    file: Option<PathBuf>,
    /// Ask this many questions made from the project itself, with and without what answers them, and measure whether that is noticed
    #[arg(long, value_name = "N", conflicts_with_all = ["file", "kinds", "legs", "snapshot"],
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: Option<u32>,
    /// Hide the stated links of the latest merged requests: are their issues recovered?
    #[arg(long, conflicts_with_all = ["file", "pairs", "kinds", "legs", "snapshot"])]
    links: bool,
    /// Only questions of this kind (repeatable); bounds are not checked then
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// Only this way of finding (repeatable)
    #[arg(long = "leg", value_enum, value_name = "LEG")]
    legs: Vec<AskedLeg>,
    /// Project that the questions are about, instead of the one in the file
    #[arg(long, value_name = "GROUP/PROJECT")]
    project: Option<String>,
    /// Results of each leg that are looked at
    #[arg(long, value_name = "N", default_value_t = DEFAULT_DEPTH as u32,
        value_parser = clap::value_parser!(u32).range(10..=MAX_DEPTH as i64))]
    limit: u32,
    /// Directory of the snapshot: it is written there if there is none, else compared with what is found now
    #[arg(long, value_name = "DIR", conflicts_with_all = ["kinds", "legs"])]
    snapshot: Option<PathBuf>,
    /// Replace the snapshot, whatever changed
    #[arg(long, requires = "snapshot")]
    update: bool,
    /// How much a measure may be lower than in the snapshot
    #[arg(long, value_name = "SHARE", default_value_t = TOLERANCE, value_parser = parse_share)]
    tolerance: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AskedLeg {
    /// Search by words.
    Lexical,
    /// Search by meaning.
    Semantic,
    /// Links in the graph.
    Graph,
    /// Fused ranks of words and meaning.
    Rrf,
    /// Search as users have it.
    Fused,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed {
    project: String,
    index: IndexState,
    report: Report,
    unmet: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drift: Option<Drift>,
    questions: Vec<AnsweredQuestion>,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let path = match &args.file {
        Some(path) => path,
        None if args.links => return links::run(session, args).await,
        None => return pairs::run(session, args).await,
    };
    let mut file = read(path)?;
    let project = args.project.clone().or(file.project.take());
    let all = args.kinds.is_empty();
    keep_kinds(args, &mut file)?;
    let wanted = if args.legs.is_empty() { Retriever::ALL.to_vec() } else { legs(&args.legs) };

    let client = Client::open(session, "eval", || Ok(())).await?;
    repos::require_projects(session, &client, project.as_slice()).await?;
    let found = asked::ask(&client, &file.questions, project, &wanted, args.limit as usize).await?;
    for warning in &found.warnings {
        session.terminal.warning(warning);
    }
    // Misses are told of what users have, if that was asked.
    let missed = if wanted.contains(&Retriever::Fused) { Retriever::Fused } else { wanted[0] };
    let report = Report::of(&found.answered, missed);
    let unmet = if all { file.bounds.violations(&report) } else { vec![] };
    if !all && !file.bounds.is_empty() {
        session.terminal.note("the bounds are for all kinds of question and are not checked");
    }
    let compared = match &args.snapshot {
        Some(directory) => Some(compared::compare(directory, args, &found, &report)?),
        None => None,
    };

    if args.json {
        let drift = compared.as_ref().and_then(|compared| compared.drift.clone());
        let printed = Printed {
            project: found.project,
            index: found.index,
            report,
            unmet: unmet.clone(),
            drift,
            questions: found.answered,
        };
        session.terminal.json(&printed)?;
    } else {
        told::tell(session, &found, &report, missed)?;
        if let Some(compared) = &compared {
            told::tell_drift(session, compared)?;
        }
    }
    for sentence in &unmet {
        session.terminal.error(sentence);
    }
    let fell = compared.is_some_and(|compared| compared.fell);
    if fell {
        session.terminal.error("a measure fell; pass --update if that is right");
    }
    if unmet.is_empty() && !fell { Ok(()) } else { Err(Failure::reported()) }
}

fn file_name(args: &Args) -> std::path::Display<'_> {
    args.file.as_deref().unwrap_or_else(|| Path::new("the file")).display()
}

fn legs(asked: &[AskedLeg]) -> Vec<Retriever> {
    let leg = |asked: &AskedLeg| match asked {
        AskedLeg::Lexical => Retriever::Lexical,
        AskedLeg::Semantic => Retriever::Semantic,
        AskedLeg::Graph => Retriever::Graph,
        AskedLeg::Rrf => Retriever::Rrf,
        AskedLeg::Fused => Retriever::Fused,
    };
    let asked: Vec<Retriever> = asked.iter().map(leg).collect();
    Retriever::ALL.into_iter().filter(|leg| asked.contains(leg)).collect()
}

/// A share, 0 to 1.
fn parse_share(text: &str) -> std::result::Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("'{text}' is not a number from 0 to 1, like 0.02"))
}

/// Reads the questions.
fn read(path: &Path) -> Result<QuestionFile> {
    let wrong = |what: &str| Failure::usage(format!("{}: {what}", path.display()));
    let text = read_text(path, MAX_FILE as u64).map_err(|what| wrong(&what))?;
    eval::parse_questions(&text).map_err(|what| wrong(&what))
}

/// Reads a text file of at most `limit` bytes.
fn read_text(path: &Path, limit: u64) -> std::result::Result<String, String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {}", reason(&error));
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(format!("it has more than {limit} bytes, which is the most that is read"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// Leaves the questions of the kinds that are wanted.
fn keep_kinds(args: &Args, file: &mut QuestionFile) -> Result<()> {
    if args.kinds.is_empty() {
        return Ok(());
    }
    for kind in &args.kinds {
        if !file.questions.iter().any(|question| question.kind == *kind) {
            let mut known: Vec<&str> = file.questions.iter().map(|question| question.kind.as_str()).collect();
            known.sort_unstable();
            known.dedup();
            let known = known.join(", ");
            let message = format!("{} has no question of kind '{kind}'; it has {known}", file_name(args));
            return Err(Failure::new(ErrorKind::Invalid, message));
        }
    }
    file.questions.retain(|question| args.kinds.contains(&question.kind));
    Ok(())
}
