//! Resolves which code is meant: a path as people write it in their working directory, or a reference.

use std::path::{Component, Path, PathBuf};

use backstory_engine::{
    error::{Error, ErrorKind},
    files::FileRequest,
    locate::{LocateRequest, Location, check_spelling},
    model::{
        commit::Sha,
        id::{NodeId, is_address, is_revision, is_sha},
    },
    person::{DEFAULT_STALE_DAYS, PersonRequest},
    repository::{CommitProjectsRequest, ListRepositories, RepositoryStatus},
    sources::git::{
        checkout::{recent_commits, resolve_commit},
        naming::{discover_repository, host_and_project, objects_directory, origin_url},
    },
    status::SyncStatusRequest,
    trace::Target,
};
use backstory_server::error_table;
use jiff::Timestamp;

use super::{
    Session,
    arguments::{only_project, parse_id},
};
use crate::{
    client::Client,
    config::Config,
    failure::{Failure, Result},
};

/// What is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Code at a path.
    Code(CodePlace),
    /// A commit, merge request, issue or discussion.
    Reference(NodeId),
}

impl Place {
    /// The project of a path as far as it is known, and the target of a request.
    pub(super) fn to_target(&self) -> (Option<String>, Target) {
        let CodePlace { project, path, lines, symbol, .. } = match self {
            Self::Reference(id) => return (None, Target::Node(id.clone())),
            Self::Code(code) => code.clone(),
        };
        let target = match symbol {
            Some(name) => Target::Symbol { path, name },
            None => Target::Lines { path, lines },
        };
        (project, target)
    }
}

/// A path, alone or with lines or a symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CodePlace {
    /// Full path of the project, as far as it is known.
    pub(super) project: Option<String>,
    /// Path from the root of the repository.
    pub(super) path: String,
    /// First and last line.
    pub(super) lines: Option<(u32, u32)>,
    /// Name of a function or type.
    pub(super) symbol: Option<String>,
    /// The file in the working tree, if there is one.
    pub(super) file: Option<PathBuf>,
}

impl CodePlace {
    /// Id of the file or entity; `None` if the project is unknown.
    pub(super) fn id(&self) -> Option<NodeId> {
        let project = self.project.as_ref()?;
        Some(match &self.symbol {
            Some(symbol) => NodeId::entity(project, &self.path, symbol),
            None => NodeId::file(project, &self.path),
        })
    }
}

/// Finds out what a text means.
///
/// # Errors
/// It means nothing, or several things.
pub(super) async fn find(client: &Client, text: &str, project: Option<&str>) -> Result<Place> {
    if let Some(sha) = parse_bare_commit(text) {
        return Ok(Place::Reference(qualify_commit_with_default_project(client, sha, project).await?));
    }
    let repositories = client.answer(ListRepositories {}).await?;
    let here = Here::find(client, &repositories).await;
    let known = |name: &str| repositories.iter().any(|repository| repository.project == name);
    let usual = || usual_project(project, here.as_ref(), &repositories);
    if text.strip_prefix(['#', '!']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        let project = usual()?.ok_or_else(|| ambiguous(text))?;
        return Ok(Place::Reference(parse_id(&format!("{project}{text}"))?));
    }
    let on_disk = Path::new(split(text).0).exists();
    match text.parse::<NodeId>() {
        Ok(NodeId::File { project, path }) if known(&project) => {
            let (path, lines, symbol) = split(&path);
            return Ok(Place::Code(CodePlace {
                project: Some(project),
                path: path.to_owned(),
                lines: range(lines)?,
                symbol: symbol.map(str::to_owned),
                file: None,
            }));
        }
        Ok(NodeId::Entity { project, path, name }) if known(&project) => {
            let written = format!("{path}#{name}");
            let (path, lines, symbol) = split(&written);
            return Ok(Place::Code(CodePlace {
                project: Some(project),
                path: path.to_owned(),
                lines: range(lines)?,
                symbol: symbol.map(str::to_owned),
                file: None,
            }));
        }
        // A forge may have items without a repository here.
        Ok(id @ (NodeId::Thread(_) | NodeId::Discussion { .. } | NodeId::Note { .. } | NodeId::Commit { .. }))
            if !on_disk && !is_path_of(&id, &here) =>
        {
            return Ok(Place::Reference(id));
        }
        _ => {}
    }
    let usual = usual()?;
    let (path, lines, symbol) = split(text);
    if !on_disk && lines.is_none() && symbol.is_none() {
        let own = here.as_ref().filter(|here| here.project == usual);
        if let (Some(project), Some(sha)) = (&usual, own.and_then(|here| here.commit(text))) {
            return Ok(Place::Reference(NodeId::commit(project, &sha.to_string())));
        }
        check_path(client, text, usual.as_ref(), here.as_ref()).await?;
        if !text.contains('/') || is_revision(text) {
            let request = LocateRequest { text: text.to_owned(), project: usual.clone() };
            let Location { project, target } = client.answer(request).await?;
            match target {
                Target::Symbol { path, name } => {
                    return Ok(Place::Code(CodePlace { project, path, symbol: Some(name), ..CodePlace::default() }));
                }
                Target::Node(id @ NodeId::Commit { .. }) => return Ok(Place::Reference(id)),
                _ => {}
            }
        }
    }
    // The files here are not those of another project.
    let here = here.as_ref().filter(|here| here.project.is_none() || here.project == usual);
    let (path, file) = from_root(path, here)?;
    Ok(Place::Code(CodePlace { project: usual, path, lines: range(lines)?, symbol: symbol.map(str::to_owned), file }))
}

/// Refuses a path with lines or a symbol after it that are written in another way than backstory reads them, unless the
/// index says that it is a path with a colon in it.
async fn check_path(client: &Client, text: &str, project: Option<&String>, here: Option<&Here>) -> Result<()> {
    let Err(error) = check_spelling(text) else { return Ok(()) };
    if text.rsplit_once(':').is_some_and(|(path, _)| Path::new(path).exists()) {
        return Err(error.into());
    }
    let (text, _) = from_root(text, here)?;
    client.answer(LocateRequest { text, project: project.cloned() }).await?;
    Ok(())
}

/// A node, and which lines of it are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodePlace {
    /// What is meant.
    pub(super) id: NodeId,
    /// First and last line of a file.
    pub(super) lines: Option<(u32, u32)>,
}

impl From<NodeId> for NodePlace {
    fn from(id: NodeId) -> Self {
        Self { id, lines: None }
    }
}

/// Finds out which node a text means: what [`find`] finds, a project, a person by user name, address or full name, or
/// whatever else has an id.
///
/// # Errors
/// It means nothing, or several things.
pub(super) async fn find_node(
    session: &Session,
    client: &Client,
    text: &str,
    project: Option<&str>,
) -> Result<NodePlace> {
    let is_number = text.strip_prefix(['#', '!']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if is_number {
        return Ok(match project {
            Some(project) => parse_id(&format!("{project}{text}"))?.into(),
            None => qualify_thread_with_default_project(client, text, session.config()?).await?.into(),
        });
    }
    if !Path::new(split(text).0).exists()
        && parse_bare_commit(text).is_none()
        && let Some(id) = find_named_node(client, text).await?
    {
        return Ok(id.into());
    }
    match find(client, text, project).await? {
        Place::Reference(id) => Ok(id.into()),
        Place::Code(code) => {
            // A word that names no code may name somebody.
            let is_there = code.symbol.is_some() || code.file.as_ref().is_some_and(|file| file.exists());
            let mut hint = None;
            if !is_there && !text.contains(['/', '.', ':', '#']) {
                match find_person(client, text).await {
                    Ok(id) => return Ok(id.into()),
                    Err(failure) => hint = failure.hint.filter(|hint| hint.starts_with("did you mean")),
                }
            }
            match code.id() {
                Some(id) => Ok(NodePlace { id, lines: code.lines }),
                None => Err(Failure {
                    hint: hint.map(|hint| format!("if a person is meant, {hint}")),
                    ..ambiguous_path(text)
                }),
            }
        }
    }
}

/// Finds out which node a search is near to, as [`find_node`] does.
///
/// # Errors
/// It means nothing, or several things, or the file has no such lines.
pub(super) async fn find_near(session: &Session, client: &Client, text: &str, project: Option<&str>) -> Result<NodeId> {
    let NodePlace { id, lines } = find_node(session, client, text, project).await?;
    let (NodeId::File { project, path }, Some((first, _))) = (&id, lines) else { return Ok(id) };
    // The file here may be longer than the one that is indexed.
    if has_lines(Path::new(split(text).0), first) {
        return Ok(id);
    }
    let request = FileRequest { project: Some(project.clone()), path: path.clone(), lines, ..FileRequest::default() };
    match client.answer(request).await {
        Err(failure) if failure.code == error_table::exit_code(ErrorKind::Invalid) => Err(failure),
        // Of a file that cannot be read the search tells whether it is known.
        Ok(_) | Err(_) => Ok(id),
    }
}

/// Whether a file is there and has so many lines.
fn has_lines(file: &Path, count: u32) -> bool {
    std::fs::read(file)
        .is_ok_and(|bytes| count > 0 && bytes.iter().filter(|byte| **byte == b'\n').count() >= count as usize)
}

/// Whether a project is indexed, with or without a repository.
async fn is_known_project(client: &Client, path: &str) -> Result<bool> {
    let repositories = client.answer(ListRepositories {}).await?;
    if repositories.iter().any(|repository| repository.project == path) {
        return Ok(true);
    }
    let status = client.answer(SyncStatusRequest { runs: 1 }).await?;
    Ok(status.freshness.iter().any(|of| of.project == path))
}

/// The node of a text that is a whole id, but for code, commits, issues and merge requests, or that names a person.
async fn find_named_node(client: &Client, text: &str) -> Result<Option<NodeId>> {
    match text.parse::<NodeId>() {
        Ok(NodeId::Project(path)) => {
            let is_known = path.contains('/') && is_known_project(client, &path).await?;
            Ok(is_known.then_some(NodeId::Project(path)))
        }
        // `HEAD~3` is written like a label.
        Ok(NodeId::Label { project, name }) => {
            let is_label = !is_revision(text) || is_known_project(client, &project).await?;
            Ok(is_label.then_some(NodeId::Label { project, name }))
        }
        Ok(
            NodeId::File { .. }
            | NodeId::Entity { .. }
            | NodeId::Commit { .. }
            | NodeId::Thread(_)
            | NodeId::Discussion { .. }
            | NodeId::Note { .. },
        ) => Ok(None),
        Ok(id) => Ok(Some(id)),
        // What people did may not be shown, but who wrote something may.
        Err(_) if is_address(text) && !text.contains(['/', ':', '#']) => {
            Ok(Some(find_person(client, text).await.unwrap_or_else(|_| NodeId::person(text))))
        }
        Err(_) if text.contains(char::is_whitespace) && !text.contains(['/', '.', ':', '#']) => {
            find_person(client, text).await.map(Some)
        }
        Err(_) => Ok(None),
    }
}

/// The node of a person, as 'person' finds them.
///
/// # Errors
/// Nobody has that name, several do, or what people did is not shown.
async fn find_person(client: &Client, name: &str) -> Result<NodeId> {
    let request = PersonRequest {
        name: name.to_owned(),
        projects: Vec::new(),
        // Only who it is is of interest.
        after: Some(Timestamp::now()),
        before: None,
        stale_days: DEFAULT_STALE_DAYS,
        limit: 0,
    };
    Ok(NodeId::person(client.answer(request).await?.person))
}

/// The project that is given, that of the repository in which the user stands, or the only one; `None` if there is none.
///
/// # Errors
/// There are several, or they cannot be listed.
pub(super) async fn infer_project(client: &Client, project: Option<&str>) -> Result<Option<String>> {
    let repositories = client.answer(ListRepositories {}).await?;
    let here = Here::find(client, &repositories).await;
    let inferred = usual_project(project, here.as_ref(), &repositories)?;
    if inferred.is_none() && !repositories.is_empty() {
        let names: Vec<&str> = repositories.iter().map(|repository| repository.project.as_str()).collect();
        let hint = format!("say which one with --project: {}", names.join(", "));
        return Err(Error::new(ErrorKind::Invalid, "several repositories are indexed").with_hint(hint).into());
    }
    Ok(inferred)
}

/// The project of the repository in which the user stands, and the root of the checkout; `None` outside of repositories and
/// while nothing is indexed.
///
/// # Errors
/// The repository is not indexed, or the repositories cannot be listed.
pub(super) async fn project_here(client: &Client) -> Result<Option<(String, PathBuf)>> {
    let Some(root) = root_here() else { return Ok(None) };
    let repositories = client.answer(ListRepositories {}).await?;
    if repositories.is_empty() {
        return Ok(None);
    }
    let Here { root, project } = Here::at_root(client, root, &repositories).await;
    let project = project.ok_or_else(|| not_indexed(&root))?;
    Ok(Some((project, root)))
}

/// Finds the commit of an object name without its project: of the project that is meant, or where the user stands.
///
/// # Errors
/// It could be of several projects.
pub(super) async fn qualify_commit_with_default_project(
    client: &Client,
    sha: &str,
    project: Option<&str>,
) -> Result<NodeId> {
    let repositories = client.answer(ListRepositories {}).await?;
    let here = Here::find(client, &repositories).await;
    let text = format!("@{sha}");
    let project = usual_project(project, here.as_ref(), &repositories)?.ok_or_else(|| ambiguous(&text))?;
    parse_id(&format!("{project}{text}"))
}

/// Finds the issue or merge request of a number without its project, `#12`: of the repository in which the user stands, of
/// the only project that is configured, or of the only repository.
///
/// # Errors
/// It could be of several projects, or it is no number.
pub(super) async fn qualify_thread_with_default_project(
    client: &Client,
    number: &str,
    config: &Config,
) -> Result<NodeId> {
    let repositories = client.answer(ListRepositories {}).await?;
    let here = Here::find(client, &repositories).await;
    let is_configured = config.settings.projects().next().is_some();
    let candidates: &[RepositoryStatus] = if is_configured { &[] } else { &repositories };
    let usual = usual_project(None, here.as_ref(), candidates)?;
    let project = usual.map_or_else(|| only_project(config, number).map(str::to_owned), Ok)?;
    parse_id(&format!("{project}{number}"))
}

/// The object name in `1a2b3c4` or `@1a2b3c4`; `None` if the text is something else, or there is a file of that name.
pub(super) fn parse_bare_commit(text: &str) -> Option<&str> {
    let sha = text.strip_prefix('@').unwrap_or(text);
    (is_sha(sha) && !Path::new(text).exists()).then_some(sha)
}

/// A revision of a project; if the user stands in a clone of it, with what is checked out there in place of `HEAD`.
///
/// # Errors
/// The repositories cannot be listed.
pub(super) async fn resolve_head(client: &Client, rev: Option<&str>, project: Option<&str>) -> Result<Option<String>> {
    let Some(rev) = rev else { return Ok(None) };
    let mut commit = None;
    if project.is_some() && rev.starts_with("HEAD") && is_revision(rev) {
        let repositories = client.answer(ListRepositories {}).await?;
        let here = Here::find(client, &repositories).await.filter(|here| here.project.as_deref() == project);
        commit = here.and_then(|here| resolve_commit(&here.root, rev));
    }
    Ok(Some(commit.map_or_else(|| rev.to_owned(), |sha| sha.to_string())))
}

/// The project that is meant, that of the repository in which the user stands, or, outside of a repository, the only one.
///
/// # Errors
/// The user stands in a repository that is not one of these, and nothing names another.
fn usual_project(
    project: Option<&str>,
    here: Option<&Here>,
    repositories: &[RepositoryStatus],
) -> Result<Option<String>> {
    let found = match (project, here, repositories) {
        (Some(project), ..) => Some(project),
        (None, Some(Here { project: Some(project), .. }), _) => Some(project.as_str()),
        (None, _, []) => None,
        (None, Some(here), _) => return Err(not_indexed(&here.root)),
        (None, None, [only]) => Some(only.project.as_str()),
        (None, None, _) => None,
    };
    Ok(found.map(str::to_owned))
}

fn not_indexed(root: &Path) -> Failure {
    let hint = "run 'backstory add .', or name an indexed project with --project";
    Error::new(ErrorKind::NotFound, format!("this clone is not indexed: {}", root.display())).with_hint(hint).into()
}

/// The failure of a reference without its project, such as `#12`.
fn ambiguous(text: &str) -> Failure {
    Failure::usage(format!("say with --project which project {text} belongs to, or write it as group/project{text}"))
}

/// The failure of a path without its project.
fn ambiguous_path(path: &str) -> Failure {
    Failure::usage(format!(
        "say with --project which project '{path}' belongs to, or write it as 'group/project:{path}'"
    ))
}

/// `src/a.rs#12` could be an issue of a project `src/a.rs`; where there is such a file it is that.
fn is_path_of(id: &NodeId, here: &Option<Here>) -> bool {
    let (Some(project), Some(here)) = (id.project(), here) else { return false };
    here.root.join(project).exists()
}

/// The repository that the user stands in.
struct Here {
    root: PathBuf,
    project: Option<String>,
}

impl Here {
    async fn find(client: &Client, repositories: &[RepositoryStatus]) -> Option<Self> {
        Some(Self::at_root(client, root_here()?, repositories).await)
    }

    async fn at_root(client: &Client, root: PathBuf, repositories: &[RepositoryStatus]) -> Self {
        let project = match find_by_address(&root, repositories) {
            Some(repository) => Some(repository.project.clone()),
            None => recognize(client, &root, repositories).await,
        };
        Self { root, project }
    }

    /// The commit of a revision that follows from what is checked out, like `HEAD~3`.
    fn commit(&self, text: &str) -> Option<Sha> {
        let is_own = is_revision(text) && (text == "HEAD" || text.contains(['~', '^']));
        if is_own { resolve_commit(&self.root, text) } else { None }
    }
}

/// The root of the repository that the user stands in.
fn root_here() -> Option<PathBuf> {
    discover_repository(&std::env::current_dir().ok()?)?.canonicalize().ok()
}

/// The repository that a checkout is, shares its objects with as another working tree of it, or was cloned from.
fn find_by_address<'a>(root: &Path, repositories: &'a [RepositoryStatus]) -> Option<&'a RepositoryStatus> {
    let origin = origin_url(root);
    let named = origin.as_deref().and_then(host_and_project);
    let source = origin.as_deref().and_then(|origin| root.join(origin).canonicalize().ok());
    let objects = |path: &Path| objects_directory(path)?.canonicalize().ok();
    let own = objects(root);
    // The first that holds of any repository decides.
    let rules: [&dyn Fn(&RepositoryStatus) -> bool; 5] = [
        &|of| Path::new(&of.address) == root,
        &|of| named.is_some_and(|(_, project)| project == of.project),
        &|of| named.is_some() && named == host_and_project(&of.address),
        &|of| source.as_deref() == Some(Path::new(&of.address)),
        &|of| own.is_some() && own == objects(Path::new(&of.address)),
    ];
    rules.into_iter().find_map(|holds| repositories.iter().find(|of| holds(of)))
}

/// The project of a checkout that no address tells: the only one that has the checked out commit, or, if none has it, the only
/// one whose indexed head is below it.
///
/// An older commit that both have proves nothing: projects that began as clones of the same repository share such commits.
async fn recognize(client: &Client, root: &Path, repositories: &[RepositoryStatus]) -> Option<String> {
    let commits = recent_commits(root);
    let sha = *commits.first()?;
    let mut found = client.answer(CommitProjectsRequest { sha }).await.ok()?;
    if found.is_empty() {
        let is_below = |of: &&RepositoryStatus| of.indexed.iter().any(|tip| commits.contains(&tip.sha));
        found.extend(repositories.iter().filter(is_below).map(|of| of.project.clone()));
    }
    if found.len() == 1 { found.pop() } else { None }
}

/// A path, and what follows it: `:12-20`, `#L12-L20` as forges write it, or `#name`.
fn split(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let is_range = |range: &str| !range.is_empty() && range.chars().all(|c| c.is_ascii_digit() || c == '-' || c == 'L');
    if let Some((path, symbol)) = text.rsplit_once('#').filter(|(path, symbol)| !path.is_empty() && !symbol.is_empty())
    {
        return match symbol.strip_prefix('L').filter(|rest| is_range(rest)) {
            Some(lines) => (path, Some(lines), None),
            None => (path, None, Some(symbol)),
        };
    }
    match text.rsplit_once(':') {
        Some((path, lines)) if !path.is_empty() && is_range(lines) => (path, Some(lines), None),
        _ => (text, None, None),
    }
}

fn range(lines: Option<&str>) -> Result<Option<(u32, u32)>> {
    let Some(lines) = lines else { return Ok(None) };
    let number = |text: &str| text.trim_start_matches('L').parse::<u32>().ok();
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    match (number(first), number(last)) {
        (Some(first), Some(last)) => Ok(Some((first, last))),
        _ => Err(Failure::usage(format!("'{lines}' is not a range of lines; write PATH:12 or PATH:12-20"))),
    }
}

/// A path from the root of the repository, of one that is relative to where the user stands.
fn from_root(path: &str, here: Option<&Here>) -> Result<(String, Option<PathBuf>)> {
    let asked = Path::new(path);
    let Some(here) = here else { return Ok((path.trim_start_matches("./").to_owned(), None)) };
    let current = std::env::current_dir().and_then(|current| current.canonicalize());
    let current = current.unwrap_or_else(|_| here.root.clone());
    let absolute = normal(&current.join(asked));
    match absolute.strip_prefix(&here.root) {
        // What is not there may still be in the indexed commit, as it is written.
        Ok(_) if !absolute.exists() && here.root.join(asked).exists() => {
            Ok((path.to_owned(), Some(here.root.join(asked))))
        }
        Ok(inside) => Ok((inside.to_string_lossy().into_owned(), Some(absolute.clone()))),
        Err(_) if asked.is_absolute() || path.starts_with("..") => Err(Failure::usage(format!(
            "{path} is outside of the repository {}; name a file in it",
            here.root.display()
        ))),
        Err(_) => Ok((path.to_owned(), None)),
    }
}

/// Without `.` and `..`, as far as names alone tell.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
