//! Context packs: what an agent must know about a question or a piece of code, from search, traces and the repository,
//! within a token budget. Nothing is invented: every sentence is a template around words of the sources.
//!
//! `gather` collects, the other modules read commits and threads and offer the entries of each section, the best
//! first. `model::pack::fit` gives them places within the budget, with the same outcome each time. Passages are cut
//! from the document's canonical text, or from the lines of the file at the indexed commit, so that `verify` can read
//! them again.

mod changes;
mod code;
mod conditions;
mod evidence;
pub(crate) mod gather;
mod items;
mod notes;
mod retrieve;
mod retrieved;
mod summary;
pub(crate) mod verify;

use std::{collections::BTreeMap, time::Duration};

use backstory_model::{
    digest::sha256_hex,
    filter::Filter,
    id::NodeId,
    pack::{
        ContextPack, DEFAULT_TOKENS, Format, MAX_TOKENS, MIN_TOKENS, Manifest, Metadata, Mode, clip, fit_to_budget,
        render,
    },
    place::format_place,
    score::Profile,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    ask::{AskRequest, Missing, find_missing, is_surely_answered},
    error::{Error, ErrorKind, Result},
    resources::{Resources, blocking},
    search::{
        BY_MEANING_ALONE, MAX_LIMIT, MAX_QUERY, check_filter, check_names, check_ranking,
        definitions::{Definitions, NameMatch, find_definitions},
        symbols::{name_asked_alone, symbols},
    },
    settings::Ranking,
    snapshot::{IndexState, MIN_DIGITS, load_state},
    tokens::{self, LineCounter},
    trace::Target,
    use_case::{UseCase, Weight},
    views::at_state,
};
use changes::important_diffs;
use code::{code_context, related_tests};
use gather::{TOKENS_PER_HIT, gather_evidence};
use items::records_of;
use notes::model_notes;
use retrieved::retrieved;

pub use retrieve::{
    Approval, DEFAULT_PASSAGES, DEFAULT_RETRIEVED_TOKENS, MAX_RETRIEVED_TOKENS, RetrieveRequest, Retrieved,
    RetrievedChunk,
};
pub use verify::{ChunkVerification, Source};

/// Longest time a pack may take.
pub const MAX_TIME: Duration = Duration::from_secs(20);
/// Most passages of a pack.
pub const MAX_CHUNKS: usize = 50;
/// How often a pack is rebuilt because the index changed meanwhile.
const ATTEMPTS: usize = 3;
/// Longest prefix of paths, in bytes.
const MAX_PREFIX: usize = 1024;

/// What a pack is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// Words or a question.
    Query(String),
    /// Code, or an item.
    Target {
        /// Which.
        target: Target,
        /// Branch, tag or commit at which a path is; the indexed head if absent.
        rev: Option<String>,
    },
}

/// Requests a context pack: what an agent must know about a question, code or an item, within a budget of tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextRequest {
    /// What it is about.
    pub about: About,
    /// What every section is narrowed to, but for the code or item itself that is asked about; the project is also that of
    /// a path.
    #[serde(default)]
    pub filter: Filter,
    /// Only code and documents whose path starts with this, and commits that change them.
    pub path: Option<String>,
    /// Nodes to which everything that search finds is near.
    #[serde(default)]
    pub near: Vec<NodeId>,
    /// How what search finds is ranked, if not as configured.
    #[serde(default)]
    pub ranking: Option<Ranking>,
    /// What it may hold.
    #[serde(default)]
    pub mode: Mode,
    /// How it is printed: that is what is counted.
    #[serde(default)]
    pub format: Format,
    /// Most tokens, 200 to 100,000; 4,000 if absent.
    #[serde(default = "default_tokens")]
    pub tokens: usize,
    /// Whether it shows changes; true if absent.
    #[serde(default = "crate::limits::default_true")]
    pub diffs: bool,
    /// Whether it names tests; true if absent.
    #[serde(default = "crate::limits::default_true")]
    pub tests: bool,
    /// Id of the state of the index that it must be made from, or its first digits; the current one if absent.
    pub snapshot: Option<String>,
}

const fn default_tokens() -> usize {
    DEFAULT_TOKENS
}

/// The printed form of a context pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrintedPack {
    /// The text whose tokens were counted.
    pub text: String,
}

impl PrintedPack {
    /// Whether it says that nothing answers.
    pub fn finds_nothing(&self) -> bool {
        summary::finds_nothing(&self.text)
    }
}

impl UseCase for ContextRequest {
    const NAME: &'static str = "context";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = PrintedPack;

    async fn run(self, resources: &Resources) -> Result<PrintedPack> {
        Ok(PrintedPack { text: render(&Box::pin(build_pack(resources, self)).await?) })
    }
}

/// Makes a context pack. The same request on the same state of the index gives the same bytes.
///
/// # Errors
/// The request is wrong, what it is about does not exist, the named snapshot is not the current state, it takes
/// longer than [`MAX_TIME`], or a store failed.
pub(crate) async fn build_pack(resources: &Resources, request: ContextRequest) -> Result<ContextPack> {
    let mut request = checked(request)?;
    // Says of what state it is also where that is the current one.
    let resources = &at_state_of_pack(resources, &mut request.filter, request.snapshot.as_deref()).await?;
    if let About::Query(query) = &mut request.about {
        *query = resources.redactor().redact(query).0.into_owned();
    }
    match tokio::time::timeout(MAX_TIME, Box::pin(build_contents(resources, &request))).await {
        Ok(done) => done,
        Err(_) => {
            Err(Error::new(ErrorKind::Timeout, format!("the context pack took longer than {} s", MAX_TIME.as_secs()))
                .with_hint("narrow the question down"))
        }
    }
}

async fn build_contents(resources: &Resources, request: &ContextRequest) -> Result<ContextPack> {
    let mut attempt = 1;
    loop {
        let state = load_state(resources).await?;
        let mut pack = Box::pin(gather(resources, request, &state)).await?;
        let changed = load_state(resources).await?.id != state.id;
        if changed && attempt < ATTEMPTS {
            attempt += 1;
            continue;
        }
        if changed {
            pack.missing.push("the index changed while this was put together; ask again when the sync ends".to_owned());
        }
        let budget = request.tokens;
        return blocking(move || {
            let counter = LineCounter::default();
            Ok(fit_to_budget(pack, budget, &|text| counter.count(text)))
        })
        .await;
    }
}

/// Everything that could be in the pack, the best first.
async fn gather(resources: &Resources, request: &ContextRequest, state: &IndexState) -> Result<ContextPack> {
    let (resolved, said) = resolve_symbol(resources, request).await?;
    let mut evidence = gather_evidence(resources, &resolved, state, resolved.tokens / TOKENS_PER_HIT).await?;
    evidence.warnings.extend(said);
    let missing = Box::pin(find_missing_of(resources, &resolved, &evidence)).await?;
    evidence.warnings.extend(missing.warning.map(str::to_owned));
    evidence.missing = missing.sentences.filter(|_| evidence.coverage.documents > 0);
    // What is near to words that nothing has is no evidence for anything.
    let is_nonsense = evidence.warnings.iter().any(|warning| warning == BY_MEANING_ALONE);
    if is_nonsense && evidence.missing.is_some() && evidence.trace.is_none() {
        evidence.found.clear();
    }
    let mut pack = build_metadata(resources, request, state, &evidence.question).await?;
    let (request, state) = (resolved, state.clone());
    resources
        .blocking(move |resources| {
            fill(resources, &request, &state, &evidence, &mut pack)?;
            Ok(pack)
        })
        .await
}

/// Where the question is only the name of code, the code is meant, and what belongs to it is in its project. Also returns
/// what to say of its name and of its namesakes.
async fn resolve_symbol(resources: &Resources, request: &ContextRequest) -> Result<(ContextRequest, Vec<String>)> {
    let mut resolved = request.clone();
    let name = match &request.about {
        // What governs says so in words, and not in code.
        About::Query(query) if request.mode == Mode::All => name_asked_alone(query),
        About::Query(_) | About::Target { .. } => None,
    };
    let Some(asked) = name else { return Ok((resolved, Vec::new())) };
    let Definitions { first, others, name_match } = find_definitions(resources, asked, &request.filter).await?;
    let name = asked.name;
    let mut ids = first.into_iter().map(|definition| definition.id);
    // What is only spelled like a single word may be meant by nobody.
    let Some(id) = ids.next().filter(|_| name_match == NameMatch::Exact || !symbols(name).is_empty()) else {
        return Ok((resolved, Vec::new()));
    };
    let mut namesakes: Vec<String> = ids.map(|id| id.to_string()).collect();
    namesakes.extend((others > 0).then(|| format!("{others} more")));
    let mut said: Vec<String> = name_match.describe(name).into_iter().collect();
    said.extend((!namesakes.is_empty()).then(|| format!("{name}: it is also defined as {}", namesakes.join(", "))));
    resolved.filter.project = id.project().map(str::to_owned);
    resolved.about = About::Target { target: Target::Node(id), rev: None };
    Ok((resolved, said))
}

/// What a question lacks to be answered. What is asked of a part of the repository may be answered elsewhere in it.
async fn find_missing_of(
    resources: &Resources,
    request: &ContextRequest,
    evidence: &evidence::Evidence,
) -> Result<Missing> {
    let Filter { project, projects, .. } = request.filter.clone();
    let of_projects = Filter { project, projects, ..Filter::default() };
    let is_narrow = request.path.is_some()
        || !request.near.is_empty()
        || request.mode != Mode::All
        || request.filter != of_projects;
    let About::Query(question) = &request.about else { return Ok(Missing::default()) };
    // Of another state the texts of files are not those that would be read.
    if is_narrow || resources.has_view() {
        return Ok(Missing::default());
    }
    let (question, filter) = (question.clone(), request.filter.clone());
    let said = evidence
        .found
        .iter()
        .map(|found| format!("{} {}", found.document.title, found.hint.as_deref().unwrap_or_default()));
    if is_surely_answered(resources, &question, &filter, said).await? {
        return Ok(Missing::default());
    }
    find_missing(resources, AskRequest { question, filter, ranking: request.ranking, ..AskRequest::default() }).await
}

fn fill(
    resources: &Resources,
    request: &ContextRequest,
    state: &IndexState,
    evidence: &evidence::Evidence,
    pack: &mut ContextPack,
) -> Result<()> {
    let mut files = code::Files::new(resources, state);
    pack.retrieved = retrieved(resources, evidence, &mut files)?;
    if request.mode == Mode::All {
        let records = records_of(resources, evidence)?;
        pack.key_items = items::key_items(evidence, &records);
        pack.timeline = items::timeline(evidence, &records);
        pack.design_notes = notes::design_notes(evidence, &records);
        let by_model = model_notes(resources, evidence)?;
        if !by_model.is_empty() {
            // They are no part of the state of the index.
            let all: Vec<&str> = by_model.iter().map(|note| note.note.as_str()).collect();
            let hash = sha256_hex(&all.join("\n"));
            pack.manifest.parameters.insert("notes_by_model".to_owned(), hash);
            pack.design_notes.extend(by_model);
        }
        pack.code_context = code_context(resources, evidence, &mut files)?;
        if request.diffs {
            pack.important_diffs = important_diffs(resources, evidence, &records)?;
        }
        if request.tests {
            pack.related_tests = related_tests(resources, pack)?;
        }
    }
    summary::missing(evidence, pack);
    pack.summary = summary::summary(request.mode, evidence, pack);
    Ok(())
}

/// What the pack is, and what makes it again.
async fn build_metadata(
    resources: &Resources,
    request: &ContextRequest,
    state: &IndexState,
    question: &str,
) -> Result<ContextPack> {
    let timestamp = Some(snapshot_time(resources, &state.id).await?);
    let query = describe_target(&request.about);
    let project = request.filter.project.clone();
    let mut parameters = parameters(request);
    parameters.insert("searched".to_owned(), question.to_owned());
    if let Some(revision) = resources.state().and_then(|state| state.revision.clone()) {
        parameters.insert("ref".to_owned(), revision);
    }
    let metadata = Metadata {
        query: query.clone(),
        repository: project,
        generated_at: timestamp,
        token_count: 0,
        token_budget: request.tokens,
        tokenizer: tokens::TOKENIZER.to_owned(),
        snapshot: state.id.clone(),
    };
    let manifest = Manifest {
        query,
        parameters,
        snapshot: state.id.clone(),
        timestamp,
        commits: state.commits.clone(),
        embedding_model: resources.embedder().model().to_owned(),
        documents: state.coverage.documents,
        embedded: state.coverage.embedded,
        tokenizer: tokens::TOKENIZER.to_owned(),
        weights: weights(request.ranking.unwrap_or(resources.settings().ranking)),
        ..Manifest::default()
    };
    Ok(ContextPack { format: request.format, metadata, manifest, ..ContextPack::default() })
}

/// When a state was reached: when it was put on record or, while vectors are being made, when the last sync ended that
/// led to it.
async fn snapshot_time(resources: &Resources, id: &str) -> Result<Timestamp> {
    if let Some(at) = resources.state().and_then(|state| state.recorded_at) {
        return Ok(at);
    }
    let id = id.to_owned();
    resources
        .with_ledger(move |ledger| {
            if let Some(recorded) = ledger.snapshot(&id)? {
                return Ok(recorded.created_at);
            }
            let run = ledger.runs(1)?.pop();
            let synced = ledger.repositories()?.into_iter().filter_map(|entry| entry.synced_at).max();
            let synced = synced.max(ledger.last_synced()?);
            let last = run.map(|run| run.finished_at.unwrap_or(run.started_at)).max(synced);
            Ok(last.unwrap_or_else(Timestamp::now))
        })
        .await
}

/// The resources at the state that a pack must be made from.
async fn at_state_of_pack(resources: &Resources, filter: &mut Filter, snapshot: Option<&str>) -> Result<Resources> {
    let snapshot = snapshot.map(|id| id.trim().to_ascii_lowercase());
    // The current state need not be on record.
    let is_current = match &snapshot {
        Some(id) if id.len() >= MIN_DIGITS => load_state(resources).await?.id.starts_with(id),
        _ => false,
    };
    filter.snapshot = filter.snapshot.take().or(snapshot.filter(|_| !is_current));
    at_state(resources, filter).await
}

fn checked(mut request: ContextRequest) -> Result<ContextRequest> {
    check_names(&request.filter)?;
    if !(MIN_TOKENS..=MAX_TOKENS).contains(&request.tokens) {
        return Err(Error::invalid(format!(
            "a pack of {} tokens was asked for; it must be {MIN_TOKENS} to {MAX_TOKENS}",
            request.tokens
        )));
    }
    if let About::Query(query) = &mut request.about {
        *query = query.trim().to_owned();
        let length = query.chars().count();
        if length == 0 {
            return Err(Error::invalid("the question is empty").with_hint("say what the pack should be about"));
        }
        if length > MAX_QUERY {
            return Err(Error::invalid(format!(
                "the question has {length} characters; at most {MAX_QUERY} are allowed"
            )));
        }
    }
    if let Some(path) = &mut request.path {
        *path = path.trim().trim_start_matches("./").trim_start_matches('/').to_owned();
        if path.is_empty() || path.len() > MAX_PREFIX {
            return Err(Error::invalid(format!("the prefix of paths is empty or longer than {MAX_PREFIX} bytes"))
                .with_hint("write one like src/auth"));
        }
    }
    check_filter(&request.filter)?;
    if let Some(ranking) = &request.ranking {
        check_ranking(ranking)?;
    }
    Ok(request)
}

/// What was asked, as a person writes it.
fn describe_target(about: &About) -> String {
    let (target, rev) = match about {
        About::Query(query) => return query.clone(),
        About::Target { target, rev } => (target, rev),
    };
    let mut text = match target {
        Target::Lines { path, lines } => format_place(path, *lines),
        Target::Symbol { path, name } => format!("{path}#{name}"),
        Target::Node(id) => id.to_string(),
    };
    if let Some(rev) = rev {
        text.push_str(&format!(" at {rev}"));
    }
    text
}

/// Every parameter by its name, those that are absent left out.
fn parameters(request: &ContextRequest) -> BTreeMap<String, String> {
    let name = |value: serde_json::Result<serde_json::Value>| {
        value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let joined = |values: Vec<String>| Some(values.join(",")).filter(|values| !values.is_empty());
    let filter = &request.filter;
    let all = [
        ("format", Some(name(serde_json::to_value(request.format)))),
        ("mode", Some(name(serde_json::to_value(request.mode)))),
        ("tokens", Some(request.tokens.to_string())),
        ("diffs", Some(request.diffs.to_string())),
        ("tests", Some(request.tests.to_string())),
        ("kinds", joined(filter.kinds.iter().map(|kind| kind.as_str().to_owned()).collect())),
        ("path", request.path.clone()),
        ("near", joined(request.near.iter().map(ToString::to_string).collect())),
        ("paths", joined(filter.paths.clone())),
        ("languages", joined(filter.languages.clone())),
        ("document_types", joined(filter.document_types.iter().map(|of| of.as_str().to_owned()).collect())),
        ("nodes", joined(filter.nodes.clone())),
        ("exclude", joined(filter.exclude.clone())),
        ("projects", joined(filter.projects.clone())),
        ("project", filter.project.clone()),
        ("author", joined(filter.authors.clone())),
        ("labels", joined(filter.labels.clone())),
        ("state", filter.state.map(|state| state.as_str().to_owned())),
        ("after", filter.after.map(|at| at.to_string())),
        ("before", filter.before.map(|at| at.to_string())),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// What counts how much in the ranking.
fn weights(ranking: Ranking) -> BTreeMap<String, f64> {
    if ranking.profile == Profile::Rrf {
        return [("reciprocal_rank_k".to_owned(), 60.0)].into();
    }
    let weight = |(name, weight): (&str, f32)| (name.to_owned(), (f64::from(weight) * 1e4).round() / 1e4);
    ranking.weights.named().into_iter().map(weight).collect()
}

/// Words that are quoted: on one line, and not too many.
fn quoted(text: &str, most: usize) -> String {
    let words = |text: &str| text.split_whitespace().count();
    clip(&text.split_whitespace().collect::<Vec<_>>().join(" "), most, &words)
}

/// A score as it is told: three digits, so that it does not change with the last ones.
fn round_score(score: f32) -> f64 {
    (f64::from(score.clamp(0.0, 1.0)) * 1000.0).round() / 1000.0
}

const _: () = assert!(MAX_CHUNKS <= MAX_LIMIT);
