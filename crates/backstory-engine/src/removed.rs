//! What was removed: the commit by which a file, a symbol or a text disappeared, with the merge request, discussions and
//! issues behind it. What only moved is followed to where it went.
//!
//! `fate` follows files and symbols over the graph, which knows what each commit removed; `text` looks for a text in the
//! changes of commits, the newest first, for a bounded time.

mod fate;
mod moves;
mod text;

use backstory_model::{
    commit::Sha,
    id::{NodeId, ThreadId},
};
use serde::{Deserialize, Serialize};

use crate::{
    code::CommitSummary,
    error::{Error, Result},
    history::find_symbols,
    limits::check_limit,
    resources::Resources,
    trace::{Indexed, LineOrigin, Step, Trace, chain::follow_commit, target::resolve_place, words::CodeWords},
    use_case::{UseCase, Weight},
};

use text::TextSearch;

pub(crate) use fate::removals_of_nodes;

pub use text::{MAX_REMOVED_SEARCH_TIME, MAX_SEARCHED_COMMITS};

/// Longest text, in bytes.
pub const MAX_TEXT: usize = 2000;
/// Shortest text, in characters.
pub const MIN_TEXT: usize = 3;
/// Most removals of one answer.
pub const MAX_REMOVALS: usize = 20;
/// Removals that are told unless the request says how many.
pub const DEFAULT_REMOVALS: usize = 1;

/// Requests the commits by which something disappeared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemovedRequest {
    /// What disappeared: text of one or more lines, the name of a symbol, or the path of a file.
    pub text: String,
    /// Full path of the project; may be absent where there is only one repository.
    #[serde(default)]
    pub project: Option<String>,
    /// The file or directory it was in, also by an earlier name.
    #[serde(default)]
    pub path: Option<String>,
    /// Most removals, at most 20. If a name of symbols went from the sources after them, that commit is told besides.
    #[serde(default = "default_removals")]
    pub limit: usize,
}

fn default_removals() -> usize {
    DEFAULT_REMOVALS
}

/// What is known of a disappearance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Removals {
    /// Full path of the project.
    pub project: String,
    /// The text, symbol or path that was asked for.
    pub text: String,
    /// Where it was looked for.
    pub path: Option<String>,
    /// How fresh the answer is.
    pub indexed: Indexed,
    /// Removals, the newest first.
    pub removals: Vec<Removal>,
    /// Moves on the way, the newest first: commits that took it from one place to another.
    pub moves: Vec<Move>,
    /// Where the indexed head has it, at most a few places.
    pub present: Vec<Occurrence>,
    /// In how many commits a text was looked for.
    pub searched_commits: usize,
    /// What could not be found, a sentence each.
    pub missing: Vec<String>,
}

/// A commit that removed something, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Removal {
    /// The file or symbol, as it was called last; null for a text.
    pub node: Option<NodeId>,
    /// The commit.
    pub commit: CommitSummary,
    /// Its first parent, which still has what was removed.
    pub parent: Option<Sha>,
    /// Path of the file then.
    pub path: String,
    /// First of the removed lines in the file before; null for a whole file or symbol.
    pub line: Option<u32>,
    /// The lines that were removed there, at most a few.
    pub removed: Option<String>,
    /// The lines that took their place, at most a few.
    pub replacement: Option<String>,
    /// In how many other files of the same commit it was removed too.
    pub other_files: usize,
    /// From the commit to the reasons, the best first.
    pub chain: Vec<Step>,
    /// Merge requests that introduced the commit, the nearest first.
    pub merge_requests: Vec<ThreadId>,
    /// Issues behind it.
    pub issues: Vec<ThreadId>,
    /// Discussions about it, the most relevant first.
    pub discussions: Vec<NodeId>,
}

/// A commit that moved something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Move {
    /// The commit.
    pub commit: CommitSummary,
    /// Where it was before: a path, or a path and the name of a symbol.
    pub from: String,
    /// Where it was afterwards.
    pub to: String,
}

/// A place of the indexed head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Occurrence {
    /// Path of the file.
    pub path: String,
    /// First line; null for a whole file or symbol.
    pub line: Option<u32>,
}

impl UseCase for RemovedRequest {
    const NAME: &'static str = "removed";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Removals;

    async fn run(self, resources: &Resources) -> Result<Removals> {
        find_removals(resources, self).await
    }
}

impl Removal {
    fn new(commit: CommitSummary, path: String) -> Self {
        Self {
            node: None,
            commit,
            parent: None,
            path,
            line: None,
            removed: None,
            replacement: None,
            other_files: 0,
            chain: Vec::new(),
            merge_requests: Vec::new(),
            issues: Vec::new(),
            discussions: Vec::new(),
        }
    }

    /// The place of the removed lines, for finding discussions about it.
    fn origin(&self, line: u32) -> LineOrigin {
        let lines = self.removed.as_deref().map_or(1, |text| text.lines().count().max(1));
        LineOrigin {
            start: line,
            lines: u32::try_from(lines).unwrap_or(1),
            commit: self.commit.sha,
            path: self.path.clone(),
            line,
            author: self.commit.author.clone(),
            date: self.commit.date,
            title: self.commit.title.clone(),
            seen_through: Vec::new(),
        }
    }
}

/// Finds the commits by which something disappeared.
///
/// # Errors
/// The request makes no sense, the repository is not known, or a store failed.
async fn find_removals(resources: &Resources, request: RemovedRequest) -> Result<Removals> {
    let request = check(request)?;
    let (project, rev) = (request.project.clone(), None::<String>);
    let place =
        resources.blocking(move |resources| resolve_place(resources, project.as_deref(), rev.as_deref())).await?;
    let mut found = Removals {
        project: place.project().to_owned(),
        text: request.text.clone(),
        path: request.path.clone(),
        indexed: place.indexed(),
        ..Removals::default()
    };
    let path = request.path.as_deref();
    let symbols = find_symbols(resources, &found.project, &request.text, path, &mut found.missing).await?;
    let noted = found.missing.len();
    removals_of_nodes(resources, symbols, request.limit, &mut found).await?;
    let is_told = !found.removals.is_empty() || !found.present.is_empty() || found.missing.len() > noted;
    // A name that the head has as it stands is told; its text would be found in every change of a caller.
    if !is_told {
        let search = TextSearch::new(resources, place, &request).await?;
        found = resources.blocking(move |resources| search.run(resources, found)).await?;
    } else if may_have_been_mentioned_since(&request, &found) {
        let search = TextSearch::new(resources, place, &request).await?;
        found = resources.blocking(move |resources| search.add_last_mention(resources, found)).await?;
    }
    if found.removals.is_empty() && found.present.is_empty() && found.missing.is_empty() {
        let within = request.path.map(|path| format!(" in {path}")).unwrap_or_default();
        found
            .missing
            .push(format!("no commit of the indexed branches removed that{within}; merges were not looked at"));
    }
    Ok(found)
}

/// Whether a name was looked for everywhere, and nothing is left of the symbols of that name.
fn may_have_been_mentioned_since(request: &RemovedRequest, found: &Removals) -> bool {
    let is_symbol = |removal: &Removal| matches!(removal.node, Some(NodeId::Entity { .. }));
    request.path.is_none()
        && request.text.chars().all(|c| c.is_alphanumeric() || c == '_')
        && found.present.is_empty()
        && found.removals.iter().all(is_symbol)
}

fn check(mut request: RemovedRequest) -> Result<RemovedRequest> {
    let text = request.text.trim();
    if text.chars().count() < MIN_TEXT {
        return Err(Error::invalid(format!("the text is shorter than {MIN_TEXT} characters"))
            .with_hint("quote more of the line, or name the symbol or file"));
    }
    if text.len() > MAX_TEXT || text.contains('\0') {
        return Err(Error::invalid(format!("the text has more than {MAX_TEXT} bytes, or a NUL in it"))
            .with_hint("quote one line of it"));
    }
    check_limit(request.limit, MAX_REMOVALS)?;
    let path = request.path.as_deref().map(|path| path.trim_matches('/').to_owned());
    request.path = path.filter(|path| !path.is_empty() && path != ".");
    request.text = text.to_owned();
    Ok(request)
}

/// Adds what is behind the commit of a removal.
fn explain(resources: &Resources, project: &str, removal: &mut Removal) -> Result<()> {
    let sha = removal.commit.sha.to_string();
    let Some(record) = crate::records::commit_record(resources, project, &sha)? else { return Ok(()) };
    let symbol = match &removal.node {
        Some(NodeId::Entity { name, .. }) => Some(name.as_str()),
        _ => None,
    };
    let words = CodeWords::of(removal.removed.as_deref().unwrap_or_default(), symbol);
    let origin = removal.line.map(|line| removal.origin(line));
    let mut trace = Trace { project: project.to_owned(), ..Trace::default() };
    follow_commit(resources, project, &record, origin.as_slice(), &words, &mut trace)?;
    removal.parent = record.commit.parents.first().copied();
    removal.chain = trace.chain;
    removal.merge_requests = trace.merge_requests;
    removal.issues = trace.issues;
    removal.discussions = trace.discussions;
    Ok(())
}
