//! `search`: finds issues, merge requests, discussions, commits and code.

use backstory_engine::{
    model::{
        entity::State,
        filter::{DocumentKind, Filter},
        id::NodeId,
        place::format_place,
        score::Profile,
    },
    search::{CandidateRanks, Facets, HitSummary, Member, Mode, SearchRequest, SearchResponse},
    settings::Ranking,
};
use jiff::Timestamp;

use super::{
    Session,
    arguments::{Weights, called, parse_time, parse_user},
    place, repos, task,
};
use crate::{
    client::Client,
    failure::Result,
    output::{FAINT, STRONG, day, escape_terminal, pluralize},
};

/// Members of a story that are named.
const MAX_MEMBERS: usize = 4;

/// Find issues, merge requests, discussions, commits and code by words and by meaning
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory search \"why did we choose Redis\"
  backstory search authentication --type mr --after 2024-01-01
  backstory search performance --label bug --label critical
  backstory search \"retry with backoff\" --type code --type commit
  backstory search \"why a limit\" --near group/project:src/retry.rs --path src/
  backstory search expiry --weight recency=1 --explain
  backstory search \"session timeout\" --ref v1.2
  backstory search redis --mode lexical --json

All projects are searched, even from within a clone; --project restricts the search to one.")]
pub(super) struct Args {
    /// Words or a question
    query: String,
    /// Only this kind (repeatable)
    #[arg(long = "type", alias = "kind", value_enum, value_name = "KIND")]
    kinds: Vec<DocumentKind>,
    /// Only what this user opened, started or wrote
    #[arg(long, value_name = "USER", value_parser = parse_user)]
    author: Option<String>,
    /// Only with this label (repeatable: with all of them)
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// Only what was opened, started or committed then or later, like 2024-03-15 or 2024-03
    #[arg(long, value_name = "DATE", value_parser = parse_time)]
    after: Option<Timestamp>,
    /// Only what was opened, started or committed before that
    #[arg(long, value_name = "DATE", value_parser = parse_time)]
    before: Option<Timestamp>,
    /// Only of this project
    #[arg(long, value_name = "GROUP/PROJECT")]
    project: Option<String>,
    /// Search the files and commits of this branch, tag or commit, which must be indexed: see 'backstory add --ref'
    #[arg(long = "ref", value_name = "REF")]
    revision: Option<String>,
    /// Search what the index held in this state, as 'backstory snapshots list' shows it
    #[arg(long, value_name = "ID", conflicts_with = "revision")]
    snapshot: Option<String>,
    /// Only with this state; a discussion has that of its issue or merge request
    #[arg(long, value_enum)]
    state: Option<State>,
    /// What to compare the query with
    #[arg(long, value_enum, default_value_t = Mode::Hybrid)]
    mode: Mode,
    /// How to rank results, if not as configured
    #[arg(long, value_enum, conflicts_with = "weights")]
    profile: Option<Profile>,
    #[command(flatten)]
    weights: Weights,
    /// Only what is at most two links from this: PATH, a commit, group/project!7, a person (repeatable)
    #[arg(long, value_name = "REF")]
    near: Vec<String>,
    /// Only what has an annotation with this tag, see 'backstory annotate' (repeatable: with all of them)
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only files whose paths start with this, and commits that change them (repeatable)
    #[arg(long = "path", value_name = "PREFIX")]
    paths: Vec<String>,
    /// Only files in this language, like rust or c++, and commits that change them (repeatable)
    #[arg(long = "language", value_name = "LANGUAGE")]
    languages: Vec<String>,
    /// Show what each result's score is made of, and which words, meaning or links proposed it
    #[arg(long)]
    explain: bool,
    /// Count the candidates by project, kind, author, label and path
    #[arg(long)]
    facets: bool,
    /// Most results
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
    limit: u8,
    /// Continue after a page: the token in its last line
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "search", || Ok(())).await?;
    repos::require_projects(session, &client, args.project.as_slice()).await?;
    let mut request = request(args)?;
    for text in &args.near {
        request.near.push(place::find_near(session, &client, text, args.project.as_deref()).await?);
    }
    let found = client.answer(request).await?;
    if args.json {
        return Ok(session.terminal.json(&found)?);
    }
    for warning in &found.warnings {
        session.terminal.warning(warning);
    }
    for note in &found.understood {
        session.terminal.note(note);
    }
    let is_syncing = found.hits.is_empty() && task::note_running_sync(&session.terminal, &client).await?;
    if is_syncing && found.coverage.documents == 0 {
        // There is nothing to do but wait.
        return Ok(());
    }
    print(session, &found, args.explain)
}

fn request(args: &Args) -> Result<SearchRequest> {
    let ranking = args.weights.ranking()?.or_else(|| args.profile.map(Ranking::from));
    Ok(SearchRequest {
        query: args.query.clone(),
        filter: Filter {
            kinds: args.kinds.clone(),
            authors: args.author.iter().cloned().collect(),
            labels: args.labels.clone(),
            after: args.after,
            before: args.before,
            project: args.project.clone(),
            state: args.state,
            paths: args.paths.clone(),
            languages: args.languages.clone(),
            revision: args.revision.clone(),
            snapshot: args.snapshot.clone(),
            ..Filter::default()
        },
        tags: args.tags.clone(),
        mode: args.mode,
        limit: args.limit.into(),
        after: args.page_token.clone(),
        ranking,
        rerank: true,
        facets: args.facets,
        explain: args.explain,
        without_chunks: !args.json,
        ..SearchRequest::default()
    })
}

fn print(session: &Session, found: &SearchResponse<HitSummary>, explain: bool) -> Result<()> {
    let terminal = &session.terminal;
    let how = format!("{} search, {:.2}s", found.mode.as_str(), found.took_ms / 1000.0);
    match found.hits.len() {
        0 if found.coverage.documents == 0 => {
            return Ok(terminal.line("Nothing has been read yet; 'backstory sync' reads the configured projects, 'backstory add PATH' a repository.")?);
        }
        0 => {
            let query = escape_terminal(&found.query);
            return Ok(terminal.line(format_args!(
                "No results for \"{query}\" ({how}). Other words or fewer conditions may find more."
            ))?);
        }
        1 => terminal.line(format_args!("Found 1 result ({how})"))?,
        many => terminal.line(format_args!("Found {many} results ({how})"))?,
    }
    for (rank, hit) in (1..).zip(&found.hits) {
        terminal.line(format_args!(
            "\n[{rank}] {STRONG}{}{STRONG:#} ({}{})\n    {FAINT}{}{} · {}{FAINT:#}",
            escape_terminal(&heading(hit)),
            score(hit.score),
            if hit.confidential { ", confidential" } else { "" },
            author(hit),
            day(hit.created_at),
            hit.project,
        ))?;
        terminal.quote(&hit.snippet, 4)?;
        if let Some(url) = &hit.url {
            terminal.line(format_args!("    {}", escape_terminal(url)))?;
        }
        if !hit.members.is_empty() {
            terminal.line(format_args!("    {FAINT}with {}{FAINT:#}", escape_terminal(&members(hit))))?;
        }
        if explain {
            terminal.line(format_args!("    {FAINT}{}{FAINT:#}", escape_terminal(&hit.why.join(" · "))))?;
            terminal.line(format_args!("    {FAINT}{}{FAINT:#}", escape_terminal(&ranks(hit, &found.candidates))))?;
        }
    }
    if let Some(facets) = &found.facets {
        print_facets(session, facets)?;
    }
    if let Some(next) = &found.next {
        terminal.line(format_args!("\n{FAINT}More with --page-token {next}{FAINT:#}"))?;
    }
    Ok(())
}

/// `proposed by words 3, meaning 12`: its places in each, and those of what belongs to it if it was not proposed itself.
fn ranks(hit: &HitSummary, candidates: &[CandidateRanks]) -> String {
    let Some(own) = candidates.iter().find(|candidate| candidate.id == hit.id) else {
        return "proposed by what belongs to it".to_owned();
    };
    let legs = [("words", own.words), ("meaning", own.vectors), ("links", own.graph)];
    let places: Vec<String> = legs.into_iter().filter_map(|(leg, place)| Some(format!("{leg} {}", place?))).collect();
    format!("proposed by {}", places.join(", "))
}

/// A line for each facet: `kind: issue 12, commit 3`
fn print_facets(session: &Session, facets: &Facets) -> Result<()> {
    let count = pluralize(facets.documents as u64, "candidate", "candidates");
    let more = if facets.is_lower_bound { "; more were found, these are the best" } else { "" };
    session.terminal.line(format_args!("\n{STRONG}{count}{STRONG:#}{more}"))?;
    for facet in facets.facets.iter().filter(|facet| !facet.values.is_empty()) {
        let mut values: Vec<String> =
            facet.values.iter().map(|value| format!("{} {}", value.value, value.count)).collect();
        if facet.left_out > 0 {
            values.push(format!("{} more", facet.left_out));
        }
        session.terminal.line(format_args!("  {}: {}", facet.name, escape_terminal(&values.join(", "))))?;
    }
    Ok(())
}

/// `@alice · `, `Ada Lovelace · `; nothing for code, which many wrote.
fn author(hit: &HitSummary) -> String {
    if let Some(name) = &hit.author_name {
        return format!("{} · ", escape_terminal(name));
    }
    match (&hit.author, &hit.path) {
        (Some(address), _) if address.contains('@') => format!("{} · ", escape_terminal(address)),
        (Some(name), _) => format!("@{} · ", escape_terminal(name)),
        (None, Some(_)) => String::new(),
        (None, None) => "@deleted · ".to_owned(),
    }
}

/// `MR !847`, `Commit 1a2b3c4d`
fn name(id: &NodeId) -> String {
    match id {
        NodeId::Thread(thread) => called(thread),
        NodeId::Commit { sha, .. } => format!("Commit {}", sha.get(..8).unwrap_or(sha)),
        _ => id.to_string(),
    }
}

/// `MR !847 - Refactor auth`, `Discussion on Issue #234`, `Commit 1a2b3c4d - Fix it`, `src/auth.rs:12-40 - login`
fn heading(hit: &HitSummary) -> String {
    match (&hit.path, &hit.parent) {
        (Some(path), None) => path.clone(),
        (Some(path), Some(_)) => {
            format!("{} - {}", format_place(path, hit.lines), hit.title)
        }
        (None, Some(parent)) => format!("Discussion on {}", name(parent)),
        (None, None) => format!("{} - {}", name(&hit.id), hit.title),
    }
}

/// `MR !7 (closes), Commit 1a2b3c4d (part of)`
fn members(hit: &HitSummary) -> String {
    let named =
        |member: &Member| format!("{} ({})", name(&member.id), member.relation.name().to_lowercase().replace('_', " "));
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
