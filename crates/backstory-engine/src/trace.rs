//! Traces: why code is like this, from lines to the commit that wrote them, the merge request that introduced it, the
//! discussion on that very hunk, and the issue behind it.
//!
//! A trace only reads what a sync has computed. `target` resolves what is asked about, `lines` reads the blame, `chain`
//! finds merge requests, `reasons` ranks discussions and issues, `earlier` follows replaced lines.

pub(crate) mod chain;
mod earlier;
mod lines;
pub(crate) mod node;
pub(crate) mod origins;
mod reasons;
mod requests;
pub(crate) mod solutions;
pub(crate) mod steps;
pub(crate) mod target;
pub(crate) mod text;
pub(crate) mod words;

use std::collections::BTreeSet;

use backstory_model::{
    commit::Sha,
    edge::Edge,
    id::{NodeId, NodeKind, ThreadId, ThreadKind},
    lineage::SeenThrough,
};
use backstory_sources::git::refs;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    clones::clone_path,
    error::{Error, Result},
    generated::{ThreadNotes, results::generated_notes},
    releases::{Release, find_release, first_tag},
    resources::Resources,
    use_case::{UseCase, Weight},
};
use lines::{trace_lines, trace_symbol};
use node::trace_node;
use target::resolve_place;

pub(crate) use lines::{check_line_exists, check_range, signature_and_subject};
pub(crate) use target::Revision;
pub use target::Target;

/// Most lines that are asked about at once.
pub const MAX_LINES: u32 = 10_000;
/// Most earlier versions that are told.
pub const MAX_EARLIER: usize = 100;
/// Earlier versions that are told unless the request says how many.
pub const DEFAULT_EARLIER: usize = 5;
/// Merge requests and issues of which the notes of a language model are told.
const MAX_NOTED: usize = 4;
/// Commits behind lines of which it is looked up when they shipped, the newest.
const MAX_SHIPPED: usize = 100;

/// Traces lines, a symbol or an item to the reasons behind them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceRequest {
    /// Full path of the project; may be absent where there is only one repository.
    pub project: Option<String>,
    /// The lines, symbol or node.
    pub target: Target,
    /// Branch, tag or commit at which the path and lines are; the indexed head if absent.
    pub rev: Option<String>,
    /// Most earlier versions, at most 100; 5 if absent.
    #[serde(default = "default_earlier")]
    pub earlier: usize,
}

/// How fresh the answer is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Indexed {
    /// The indexed commit at the head of the default branch.
    pub commit: Option<Sha>,
    /// When the repository was last fetched and indexed.
    pub synced_at: Option<Timestamp>,
}

/// Where lines come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineOrigin {
    /// First line that was asked about.
    pub start: u32,
    /// How many lines.
    pub lines: u32,
    /// The commit that wrote them.
    pub commit: Sha,
    /// Path of the file then.
    pub path: String,
    /// First line then.
    pub line: u32,
    /// Who wrote them: the name in the commit.
    pub author: String,
    /// When.
    pub date: Timestamp,
    /// First line of the commit's message.
    pub title: String,
    /// What was seen through.
    #[serde(default)]
    pub seen_through: Vec<SeenThrough>,
}

/// A node of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceNode {
    /// Its reference.
    pub id: NodeId,
    /// What it is.
    pub kind: NodeKind,
    /// Its title; of a discussion, who began it and when.
    pub title: String,
    /// Address for people.
    pub url: Option<String>,
}

/// What shows that an edge holds, or why the node matters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Words quoted from the node; null if there are none.
    pub text: Option<String>,
    /// Where they stand, for people.
    pub url: Option<String>,
    /// File that the words are about.
    pub path: Option<String>,
    /// Lines of it, from 1.
    pub lines: Option<(u32, u32)>,
    /// The evidence for an inferred edge, a sentence each, the strongest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// A step from a node to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The edge.
    pub edge: Edge,
    /// The node it starts from; none for the lines themselves.
    pub from: Option<NodeId>,
    /// The node it leads to.
    pub node: TraceNode,
    /// What shows it.
    pub evidence: Evidence,
    /// How likely it is, 0 to 1, if it is inferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
}

/// An earlier version of the line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlierVersion {
    /// The commit that wrote it.
    pub commit: Sha,
    /// Path of the file then.
    pub path: String,
    /// First line then.
    pub line: u32,
    /// How many lines.
    pub lines: u32,
    /// Who wrote it: the name in the commit.
    pub author: String,
    /// When.
    pub date: Timestamp,
    /// First line of the commit's message.
    pub title: String,
    /// The lines as they were.
    pub text: String,
    /// Merge requests that carried the commit.
    pub merge_requests: Vec<ThreadId>,
    /// The commit that replaced it.
    pub replaced_by: Sha,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trace {
    /// Full path of the project.
    pub project: String,
    /// Path that was asked about.
    pub path: Option<String>,
    /// First line that was asked about.
    pub line: Option<u32>,
    /// Last line that was asked about.
    pub end_line: Option<u32>,
    /// Qualified name of the symbol that was asked about.
    pub symbol: Option<String>,
    /// The commit at which they are.
    pub rev: Option<Sha>,
    /// The lines, at most a few.
    pub text: Option<String>,
    /// How fresh the answer is.
    pub indexed: Indexed,
    /// Where most of the lines come from.
    pub origin: Option<LineOrigin>,
    /// Where all of them come from, in order.
    pub origins: Vec<LineOrigin>,
    /// From the lines to the reasons, the best first.
    pub chain: Vec<Step>,
    /// The merge requests, the most relevant first.
    pub merge_requests: Vec<ThreadId>,
    /// The issues, the most relevant first.
    pub issues: Vec<ThreadId>,
    /// The discussions, the most relevant first.
    pub discussions: Vec<NodeId>,
    /// Earlier versions, the newest first.
    pub earlier: Vec<EarlierVersion>,
    /// Design notes that a language model wrote of these merge requests and issues, apart from what people said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_notes: Vec<ThreadNotes>,
    /// The release in which the last of what wrote the lines first shipped; absent if some of that has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_release: Option<Release>,
    /// Whether the repository has not been read to its end yet, so that more may be behind the lines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// What could not be found, a sentence each.
    pub missing: Vec<String>,
}

const fn default_earlier() -> usize {
    DEFAULT_EARLIER
}

impl UseCase for TraceRequest {
    const NAME: &'static str = "trace";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Trace;

    async fn run(self, resources: &Resources) -> Result<Trace> {
        trace_origin(resources, self).await
    }
}

impl TraceNode {
    fn new(id: NodeId, title: impl Into<String>, url: Option<String>) -> Self {
        Self { kind: id.kind(), id, title: title.into(), url }
    }
}

impl Trace {
    fn add(&mut self, step: Step) {
        if self.chain.iter().any(|known| known.node.id == step.node.id) {
            return;
        }
        match &step.node.id {
            NodeId::Thread(thread) if thread.kind == ThreadKind::MergeRequest => {
                self.merge_requests.push(thread.clone());
            }
            NodeId::Thread(thread) => self.issues.push(thread.clone()),
            NodeId::Discussion { .. } => self.discussions.push(step.node.id.clone()),
            _ => {}
        }
        self.chain.push(step);
    }

    /// The lines that these commits wrote.
    fn origins_of(&self, commits: &[Sha]) -> Vec<LineOrigin> {
        self.origins.iter().filter(|origin| commits.contains(&origin.commit)).cloned().collect()
    }

    fn add_gap(&mut self, sentence: String) {
        if !self.missing.contains(&sentence) {
            self.missing.push(sentence);
        }
    }

    /// Notes that a commit belongs to no merge request: several commits in one sentence.
    fn miss_merge_request(&mut self, commit: &str) {
        let parts = |sentence: &str| -> Option<String> {
            let rest = sentence.strip_prefix("commits ").or_else(|| sentence.strip_prefix("commit "))?;
            let names = rest.strip_suffix(NO_REQUEST).or_else(|| rest.strip_suffix(NO_REQUESTS))?;
            Some(names.to_owned())
        };
        let known = self.missing.iter_mut().find_map(|sentence| parts(sentence).map(|names| (sentence, names)));
        match known {
            Some((_, names)) if names.split(", ").any(|name| name == commit) => {}
            Some((sentence, names)) => *sentence = format!("commits {names}, {commit}{NO_REQUESTS}"),
            None => self.missing.push(format!("commit {commit}{NO_REQUEST}")),
        }
    }
}

/// What is said of one commit, and of several, that no merge request carried.
const NO_REQUEST: &str = " belongs to no merge request in the index";
const NO_REQUESTS: &str = " belong to no merge request in the index";

/// Answers why code is as it is, or what is behind a commit, merge request or issue.
///
/// # Errors
/// What is asked about does not exist, or a store failed.
pub(crate) async fn trace_origin(resources: &Resources, request: TraceRequest) -> Result<Trace> {
    if request.earlier > MAX_EARLIER {
        return Err(Error::invalid(format!(
            "{} earlier versions were asked for; at most {MAX_EARLIER} can be listed",
            request.earlier
        )));
    }
    resources
        .blocking(move |resources| {
            let mut trace = trace_now(resources, &request)?;
            tell_cut_history(resources, &mut trace);
            tell_partial(&mut trace);
            trace.model_notes = notes_of_trace(resources, &trace)?;
            add_first_release(resources, &mut trace)?;
            Ok(trace)
        })
        .await
}

/// Says of code whose repository was not read to the end yet that more may be behind it.
fn tell_partial(trace: &mut Trace) {
    trace.partial = trace.path.is_some() && trace.indexed.commit.is_none();
    if trace.partial {
        trace.add_gap(format!(
            "{} is still being indexed: what is behind the commits is told as far as it has been read",
            trace.project
        ));
    }
}

/// Says of lines of a commit at which the history of the clone begins that an older one may have written them.
fn tell_cut_history(resources: &Resources, trace: &mut Trace) {
    if trace.origins.is_empty() {
        return;
    }
    let begins = refs::boundary(&clone_path(resources, &trace.project));
    let cut: BTreeSet<Sha> =
        trace.origins.iter().map(|origin| origin.commit).filter(|commit| begins.contains(commit)).collect();
    let Some(first) = cut.first() else { return };
    trace.add_gap(format!(
        "the clone has no history before {}, so older commits may have written the lines; 'backstory add ADDRESS --depth 0' \
         reads all there is",
        first.short()
    ));
}

fn notes_of_trace(resources: &Resources, trace: &Trace) -> Result<Vec<ThreadNotes>> {
    let threads = trace.merge_requests.iter().chain(&trace.issues);
    let notes = threads.take(MAX_NOTED).map(|thread| generated_notes(resources, thread));
    notes.filter_map(Result::transpose).collect()
}

/// Adds the release that has the last of what wrote the lines, or of what is behind a merge request or issue. Says so if only
/// some of the lines have shipped.
fn add_first_release(resources: &Resources, trace: &mut Trace) -> Result<()> {
    let (mut tags, mut unshipped) = (Vec::new(), None);
    for (project, sha) in newest_commits(trace) {
        match first_tag(resources, &project, &sha)? {
            Some(tag) if tags.contains(&tag) => {}
            Some(tag) => tags.push(tag),
            None => unshipped = unshipped.or(Some(sha)),
        }
    }
    let mut last: Option<Release> = None;
    for (project, tag) in tags {
        let Some(release) = find_release(resources, &project, &tag)? else { continue };
        if last.as_ref().is_none_or(|last| last.at < release.at) {
            last = Some(release);
        }
    }
    match (unshipped, last) {
        (None, last) => trace.first_release = last,
        (Some(sha), Some(last)) => {
            let short = sha.get(..8).unwrap_or(&sha);
            trace.add_gap(format!("{short} is in no release yet; the last of the other lines shipped in {}", last.tag));
        }
        (Some(_), None) => {}
    }
    Ok(())
}

/// The commits that wrote the lines, the newest first, else the first commit of the chain: projects and names.
fn newest_commits(trace: &Trace) -> Vec<(String, String)> {
    let mut commits: Vec<(Timestamp, Sha)> = trace.origins.iter().map(|origin| (origin.date, origin.commit)).collect();
    if commits.is_empty() {
        let first = trace.chain.iter().find_map(|step| match &step.node.id {
            NodeId::Commit { project, sha } => Some((project.clone(), sha.clone())),
            _ => None,
        });
        return first.into_iter().collect();
    }
    commits.sort_unstable_by(|a, b| b.cmp(a));
    commits.dedup();
    let newest = commits.into_iter().take(MAX_SHIPPED);
    newest.map(|(_, sha)| (trace.project.clone(), sha.to_string())).collect()
}

fn trace_now(resources: &Resources, request: &TraceRequest) -> Result<Trace> {
    match &request.target {
        Target::Node(id) => match id {
            NodeId::File { project, path } => {
                let place = resolve_place(resources, Some(project), request.rev.as_deref())?;
                trace_lines(resources, request, &place, path, None)
            }
            NodeId::Entity { project, path, name } => {
                let place = resolve_place(resources, Some(project), request.rev.as_deref())?;
                trace_symbol(resources, request, &place, path, name)
            }
            id => trace_node(resources, id),
        },
        Target::Lines { path, lines } => {
            let place = resolve_place(resources, request.project.as_deref(), request.rev.as_deref())?;
            trace_lines(resources, request, &place, path, *lines)
        }
        Target::Symbol { path, name } => {
            let place = resolve_place(resources, request.project.as_deref(), request.rev.as_deref())?;
            trace_symbol(resources, request, &place, path, name)
        }
    }
}
