//! `search`: finds issues, merge requests, discussions, commits and code.

use std::collections::BTreeMap;

use backstory_engine::model::id::NodeId;
use clap::ValueEnum;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Session,
    arguments::{State, called, lower_case, parse_time, parse_user},
    repos,
};
use crate::{
    client::Client,
    failure::Result,
    output::{FAINT, STRONG, day, plain},
};

/// Members of a story that are named.
const MAX_MEMBERS: usize = 4;
const SEARCH: &str = include_str!("../../../../queries/graphql/search.graphql");

/// Find issues, merge requests, discussions, commits and code by words and by meaning
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory search \"why did we choose Redis\"
  backstory search authentication --type mr --after 2024-01-01
  backstory search performance --label bug --label critical
  backstory search \"retry with backoff\" --type code --type commit
  backstory search redis --mode lexical --json")]
pub(super) struct Args {
    /// Words or a question
    query: String,
    /// Only this kind, several times for several
    #[arg(long = "type", value_enum, value_name = "KIND")]
    kinds: Vec<Kind>,
    /// Only what this user began
    #[arg(long, value_name = "USER", value_parser = parse_user)]
    author: Option<String>,
    /// Only with this label, several times for all of several
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// Only begun then or later, like 2024-03-15 or 2024-03
    #[arg(long, value_name = "DATE", value_parser = parse_time)]
    after: Option<String>,
    /// Only begun earlier than that
    #[arg(long, value_name = "DATE", value_parser = parse_time)]
    before: Option<String>,
    /// Only of this project
    #[arg(long, value_name = "GROUP/PROJECT")]
    project: Option<String>,
    /// Only with this state; a discussion has that of its issue or merge request
    #[arg(long, value_enum)]
    state: Option<State>,
    /// What to compare the query with
    #[arg(long, value_enum, default_value_t = Mode::Hybrid)]
    mode: Mode,
    /// How results are ranked, if not as configured
    #[arg(long, value_enum)]
    profile: Option<Profile>,
    /// Show what each result's score is made of
    #[arg(long)]
    explain: bool,
    /// Most results
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
    limit: u8,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Kind {
    Issue,
    /// Merge request.
    #[value(alias = "merge-request", alias = "merge_request")]
    Mr,
    /// Thread of notes.
    Discussion,
    Commit,
    /// What a file says of itself.
    File,
    /// Function, type or other definition.
    Code,
    /// Section of a document.
    Section,
}

impl Kind {
    /// Its name in the API.
    pub(super) fn api_name(self) -> &'static str {
        match self {
            Self::Issue => "ISSUE",
            Self::Mr => "MERGE_REQUEST",
            Self::Discussion => "DISCUSSION",
            Self::Commit => "COMMIT",
            Self::File => "FILE",
            Self::Code => "CODE",
            Self::Section => "SECTION",
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Profile {
    /// Meaning and words.
    Default,
    /// New and important things first.
    Gitmemory,
    /// Fused ranks of meaning and words.
    Rrf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// Words and meaning.
    Hybrid,
    /// Words.
    Lexical,
    /// Meaning.
    Semantic,
}

#[derive(Deserialize)]
struct Answer {
    search: Found,
}

/// How many documents vector search can find.
#[derive(Deserialize, Serialize)]
struct Coverage {
    documents: u64,
    embedded: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Found {
    query: String,
    #[serde(deserialize_with = "lower_case")]
    mode: String,
    coverage: Coverage,
    took_ms: f64,
    understood: Vec<String>,
    warnings: Vec<String>,
    hits: Vec<Hit>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Hit {
    id: String,
    #[serde(deserialize_with = "lower_case")]
    kind: String,
    title: String,
    url: Option<String>,
    /// Of code and documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Of code and documents: first and last.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<(u32, u32)>,
    author: Option<String>,
    #[serde(skip_serializing)]
    project: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    snippet: String,
    score: f32,
    #[serde(deserialize_with = "by_name")]
    parts: BTreeMap<String, f32>,
    why: Vec<String>,
    members: Vec<Member>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    confidential: bool,
}

#[derive(Deserialize, Serialize)]
struct Member {
    id: String,
    relation: String,
}

#[derive(Deserialize)]
struct Part {
    name: String,
    score: f32,
}

fn by_name<'de, D: serde::Deserializer<'de>>(parts: D) -> std::result::Result<BTreeMap<String, f32>, D::Error> {
    Ok(Vec::<Part>::deserialize(parts)?.into_iter().map(|part| (part.name, part.score)).collect())
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "search", || Ok(())).await?;
    repos::require_projects(session, &client, args.project.as_slice()).await?;
    let Answer { search: found } = client.run(SEARCH, variables(args)).await?;
    if args.json {
        return Ok(session.terminal.json(&found)?);
    }
    for warning in &found.warnings {
        session.terminal.warning(warning);
    }
    for note in &found.understood {
        session.terminal.note(note);
    }
    print(session, &found, args.explain)
}

fn variables(args: &Args) -> Value {
    let mode = match args.mode {
        Mode::Hybrid => "HYBRID",
        Mode::Lexical => "LEXICAL",
        Mode::Semantic => "SEMANTIC",
    };
    json!({
        "query": args.query,
        "filter": {
            "kinds": args.kinds.iter().map(|kind| kind.api_name()).collect::<Vec<_>>(),
            "author": args.author,
            "labels": args.labels,
            "after": args.after,
            "before": args.before,
            "project": args.project,
            "state": args.state.map(State::api_name),
        },
        "mode": mode,
        "ranking": args.profile.map(|profile| json!({ "profile": profile_name(profile) })),
        "first": args.limit,
    })
}

fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Profile::Default => "DEFAULT",
        Profile::Gitmemory => "GITMEMORY",
        Profile::Rrf => "RRF",
    }
}

fn print(session: &Session, found: &Found, explain: bool) -> Result<()> {
    let terminal = &session.terminal;
    let how = format!("{} search, {:.2}s", found.mode, found.took_ms / 1000.0);
    match found.hits.len() {
        0 if found.coverage.documents == 0 => {
            return Ok(terminal.line("Nothing has been read yet; 'backstory sync' reads the configured projects, 'backstory add PATH' a repository.")?);
        }
        0 => {
            let query = plain(&found.query);
            return Ok(terminal.line(format_args!(
                "No results for \"{query}\" ({how}). Other words or fewer conditions may find more."
            ))?);
        }
        1 => terminal.line(format_args!("Found 1 result ({how})"))?,
        many => terminal.line(format_args!("Found {many} results ({how})"))?,
    }
    for (rank, hit) in (1..).zip(&found.hits) {
        terminal.line(format_args!(
            "\n[{rank}] {STRONG}{}{STRONG:#} ({}{})\n    {FAINT}{}{} · {}{FAINT:#}\n    \"{}\"",
            plain(&heading(hit)),
            score(hit.score),
            if hit.confidential { ", confidential" } else { "" },
            author(hit),
            day(hit.created_at),
            hit.project,
            plain(&hit.snippet),
        ))?;
        if let Some(url) = &hit.url {
            terminal.line(format_args!("    {}", plain(url)))?;
        }
        if !hit.members.is_empty() {
            terminal.line(format_args!("    {FAINT}with {}{FAINT:#}", plain(&members(hit))))?;
        }
        if explain {
            terminal.line(format_args!("    {FAINT}{}{FAINT:#}", plain(&hit.why.join(" · "))))?;
        }
    }
    Ok(())
}

/// `@alice · `, `ada@example.com · `; nothing for code, which many wrote.
fn author(hit: &Hit) -> String {
    match (&hit.author, &hit.path) {
        (Some(address), _) if address.contains('@') => format!("{} · ", plain(address)),
        (Some(name), _) => format!("@{} · ", plain(name)),
        (None, Some(_)) => String::new(),
        (None, None) => "@deleted · ".to_owned(),
    }
}

/// `MR !847`, `Commit 1a2b3c4d`
fn name(id: &str) -> String {
    match id.parse() {
        Ok(NodeId::Thread(thread)) => called(&thread),
        Ok(NodeId::Commit { sha, .. }) => format!("Commit {}", sha.get(..8).unwrap_or(&sha)),
        _ => id.to_owned(),
    }
}

/// `MR !847 - Refactor auth`, `Discussion on Issue #234`, `Commit 1a2b3c4d - Fix it`, `src/auth.rs:12-40 - login`
fn heading(hit: &Hit) -> String {
    match (&hit.path, &hit.parent) {
        (Some(path), None) => path.clone(),
        (Some(path), Some(_)) => {
            let lines = hit.lines.map(|(first, last)| format!(":{first}-{last}")).unwrap_or_default();
            format!("{path}{lines} - {}", hit.title)
        }
        (None, Some(parent)) => format!("Discussion on {}", name(parent)),
        (None, None) => format!("{} - {}", name(&hit.id), hit.title),
    }
}

/// `MR !7 (closes), Commit 1a2b3c4d (part of)`
fn members(hit: &Hit) -> String {
    let named =
        |member: &Member| format!("{} ({})", name(&member.id), member.relation.to_lowercase().replace('_', " "));
    let mut named: Vec<String> = hit.members.iter().take(MAX_MEMBERS).map(named).collect();
    if hit.members.len() > MAX_MEMBERS {
        named.push(format!("{} more", hit.members.len() - MAX_MEMBERS));
    }
    named.join(", ")
}

/// Two digits that tell hits apart: fused ranks are small numbers, weighted scores go up to 1.
fn score(score: f32) -> String {
    if score < 0.1 { format!("{score:.4}") } else { format!("{score:.2}") }
}
