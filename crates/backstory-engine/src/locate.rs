//! Finds out what a text means that somebody wrote: lines, a file, a symbol, a commit, an issue, a merge request or a
//! discussion. What stands in a working directory is no business of this module: paths begin at the repository's root.

use std::collections::BTreeSet;

use backstory_model::{
    code::EntityKind,
    commit::RepoPath,
    id::{NodeId, is_revision, is_sha},
    text::truncate_echo,
};
use serde::{Deserialize, Serialize};

use crate::{
    catalog::{check_project, known_projects},
    code::EntityRequest,
    error::{Error, ErrorKind, Result},
    read::resolve_id,
    resources::Resources,
    search::find_named,
    trace::{Target, target::resolve_place},
    use_case::UseCase,
};

/// Longest text, in characters.
pub const MAX_TEXT: usize = 2000;
/// Most definitions of a name that an error lists.
const MAX_LISTED: usize = 5;

/// Locates the code or the item that a text names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LocateRequest {
    /// `src/a.rs:42`, `src/a.rs:40-60`, `src/a.rs#login`, `login`, `src/a.rs`, `1a2b3c4`, `#12`, `!7`, `acme/shop!7`, or the
    /// address of one of them at its forge.
    pub text: String,
    /// Full path of the project, if the text does not name one; the only project if absent.
    pub project: Option<String>,
}

/// What a text means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Location {
    /// Full path of the project of a path, as far as it is known.
    pub project: Option<String>,
    /// What is meant.
    pub target: Target,
}

impl Location {
    /// The file or code entity that it is or is in; `None` if it is neither, or its project is unknown.
    pub fn code_id(&self) -> Option<NodeId> {
        match &self.target {
            Target::Lines { path, .. } => Some(NodeId::file(self.project.as_ref()?, path)),
            Target::Symbol { path, name } => Some(NodeId::entity(self.project.as_ref()?, path, name)),
            Target::Node(id @ (NodeId::File { .. } | NodeId::Entity { .. })) => Some(id.clone()),
            Target::Node(_) => None,
        }
    }
}

impl UseCase for LocateRequest {
    const NAME: &'static str = "locate";
    type Answer = Location;

    async fn run(self, resources: &Resources) -> Result<Location> {
        locate(resources, self).await
    }
}

/// Whether a text names code or an item, and is no question: one word that has a `/`, `:` or `#` in it, or reads as a
/// reference.
pub fn is_location(text: &str) -> bool {
    if text.is_empty() || text.contains(char::is_whitespace) {
        return false;
    }
    let numbered = text.strip_prefix(['#', '!']).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    let sha = text.strip_prefix('@').unwrap_or(text);
    let is_address = text.contains("://");
    let named = text.rsplit_once([':', '#']).is_some_and(|(path, rest)| !path.is_empty() && !rest.is_empty());
    // `and/or` is no path, `src/and` may be one: a path has a file's name or names of its own.
    let is_path = text.contains('/') && !is_address && text.rsplit('/').next().is_some_and(|name| !name.is_empty());
    let reference = matches!(
        text.parse::<NodeId>(),
        Ok(NodeId::Thread(_) | NodeId::Discussion { .. } | NodeId::Note { .. } | NodeId::Commit { .. })
    );
    let hex = is_sha(sha) && sha.bytes().any(|byte| byte.is_ascii_digit());
    numbered || hex || reference || is_path || (named && !is_address && !text.contains("::"))
}

/// A path, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathText<'a> {
    /// The path.
    pub path: &'a str,
    /// First and last line.
    pub lines: Option<(u32, u32)>,
    /// Name of a function or type.
    pub symbol: Option<&'a str>,
}

/// Splits `src/a.rs:12-20`, `src/a.rs#L12-L20` and `src/a.rs#login`.
pub fn split_path(text: &str) -> PathText<'_> {
    let plain = PathText { path: text, lines: None, symbol: None };
    if let Some((path, part)) = text.rsplit_once('#').filter(|(path, part)| !path.is_empty() && !part.is_empty()) {
        let lines = part.strip_prefix('L').and_then(parse_lines);
        return PathText { path, lines, symbol: lines.is_none().then_some(part) };
    }
    match text.rsplit_once(':') {
        Some((path, part)) if !path.is_empty() => {
            parse_lines(part).map_or(plain, |lines| PathText { path, lines: Some(lines), symbol: None })
        }
        _ => plain,
    }
}

/// `12`, `12-20`, `L12-L20`
fn parse_lines(text: &str) -> Option<(u32, u32)> {
    let number = |text: &str| text.strip_prefix('L').unwrap_or(text).parse::<u32>().ok();
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((number(first)?, number(last)?))
}

/// Finds out what a text means.
///
/// # Errors
/// It means nothing, or several things.
async fn locate(resources: &Resources, request: LocateRequest) -> Result<Location> {
    let text = request.text.trim();
    if text.is_empty() || text.chars().count() > MAX_TEXT {
        return Err(Error::invalid("what is asked about is empty or too long").with_hint("write src/a.rs:42 or #12"));
    }
    check_project(resources, request.project.as_deref()).await?;
    let known = known_projects(resources).await?;
    let only = known.first().filter(|_| known.len() == 1);
    let usual = request.project.as_ref().or(only).cloned();
    if text.contains("://") {
        return locate_address(resources, text, usual).await;
    }
    if is_short_reference(text) {
        let Some(project) = usual else { return Err(ambiguous(text, &known)) };
        let sigil = if is_sha(text) { "@" } else { "" };
        let id: NodeId = format!("{project}{sigil}{}", text.to_ascii_lowercase())
            .parse()
            .map_err(|error| Error::invalid(format!("{error}")).with_hint("write #12, !7 or a commit"))?;
        return Ok(node(resolve_id(resources, id).await?));
    }
    match text.parse::<NodeId>() {
        Ok(NodeId::File { project, path }) if known.contains(&project) => {
            return Ok(code_location(Some(project), &split_path(&path)));
        }
        Ok(NodeId::Entity { project, path, name }) if known.contains(&project) => {
            return Ok(code_location(Some(project), &split_path(&format!("{path}#{name}"))));
        }
        Ok(id @ (NodeId::Thread(_) | NodeId::Discussion { .. } | NodeId::Note { .. } | NodeId::Commit { .. }))
            if id.project().is_some_and(|project| known.contains(project)) =>
        {
            return Ok(node(resolve_id(resources, id).await?));
        }
        _ => {}
    }
    let place = split_path(text.strip_prefix("./").unwrap_or(text));
    if place.symbol.is_none()
        && place.lines.is_none()
        && !text.contains('/')
        && let Some(location) = locate_symbol(resources, text, usual.as_deref()).await?
    {
        return Ok(location);
    }
    if place.symbol.is_none() && place.lines.is_none() {
        if let Some(location) = locate_revision(resources, text, usual.as_deref()).await? {
            return Ok(location);
        }
        if let Err(error) = check_spelling(place.path)
            && !is_path(resources, place.path, usual.as_deref()).await?
        {
            return Err(error);
        }
    }
    Ok(code_location(usual, &place))
}

/// Whether a text that reads like a path with something after it is a path as it stands: the indexed head has it, or it is
/// one of a project that is not known, which the caller says when it looks for the file.
async fn is_path(resources: &Resources, text: &str, project: Option<&str>) -> Result<bool> {
    let (text, project) = (text.to_owned(), project.map(str::to_owned));
    resources
        .blocking(move |resources| {
            let (path, part) = text.rsplit_once(':').unwrap_or((text.as_str(), ""));
            let is_of_project = path.contains('/')
                && !part.starts_with(|c: char| c.is_ascii_digit())
                && matches!(text.parse::<NodeId>(), Ok(NodeId::File { .. }));
            let Ok(head) = resolve_place(resources, project.as_deref(), None) else { return Ok(is_of_project) };
            let has = |path: &str| head.objects.entry(head.commit, &RepoPath::from_escaped(path)).is_ok();
            Ok(has(&text) || is_of_project && !has(path))
        })
        .await
}

/// The commit of a branch, a tag or a revision that follows from one; `None` if there is a file of that name, or nothing.
async fn locate_revision(resources: &Resources, text: &str, project: Option<&str>) -> Result<Option<Location>> {
    if !is_revision(text) {
        return Ok(None);
    }
    let (text, project) = (text.to_owned(), project.map(str::to_owned));
    resources
        .blocking(move |resources| {
            let head = match resolve_place(resources, project.as_deref(), None) {
                Ok(head) => head,
                // The caller, which looks for the file, says what is wrong.
                Err(_) => return Ok(None),
            };
            if head.objects.entry(head.commit, &RepoPath::from_escaped(&text)).is_ok() {
                return Ok(None);
            }
            match resolve_place(resources, Some(head.project()), Some(&text)) {
                Ok(place) => Ok(Some(node(NodeId::commit(place.project(), &place.commit.to_string())))),
                Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        })
        .await
}

/// Refuses a path with lines or a symbol after it that are written in another way than backstory reads them. It may be a path
/// all the same, which [`LocateRequest`] finds out.
///
/// # Errors
/// It says how they are written.
pub fn check_spelling(text: &str) -> Result<()> {
    let Some((path, part)) = text.rsplit_once(':') else { return Ok(()) };
    let is_file = path.rsplit('/').next().is_some_and(|name| name.trim_start_matches('.').contains('.'));
    if !is_file || path.ends_with(':') || path.contains("://") || part.contains('/') {
        return Ok(());
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let written = match part.split_once([',', ':', '+']) {
        Some((first, last)) if is_number(first) && is_number(last) => format!("{path}:{first}-{last}"),
        _ if is_number(part.split('-').next().unwrap_or_default()) || part.is_empty() => format!("{path}:12-20"),
        _ => format!("{path}#{part}"),
    };
    let message = format!("'{}' names no lines and no symbol of a file", truncate_echo(text));
    Err(Error::invalid(message).with_hint(format!("write {}", truncate_echo(&written))))
}

/// The issue, merge request or commit of an address at its forge.
async fn locate_address(resources: &Resources, text: &str, usual: Option<String>) -> Result<Location> {
    let named = find_named(resources, text, usual.as_deref()).await?;
    named.into_iter().next().map(node).ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            format!("'{}' is not the address of a known issue or merge request", truncate_echo(text)),
        )
        .with_hint("write its reference, like acme/shop!7")
    })
}

/// The definition of a bare name; `None` if nothing has that name.
async fn locate_symbol(resources: &Resources, text: &str, project: Option<&str>) -> Result<Option<Location>> {
    let request = EntityRequest { name: text.to_owned(), project: project.map(str::to_owned), limit: MAX_LISTED + 1 };
    let found = match request.run(resources).await {
        Ok(found) => found,
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Invalid) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut current: Vec<_> = found.into_iter().filter(|entity| entity.current).collect();
    // A header that only declares it is not meant while something defines it.
    if current.iter().any(|entity| entity.kind != Some(EntityKind::Declaration)) {
        current.retain(|entity| entity.kind != Some(EntityKind::Declaration));
    }
    match current.as_slice() {
        [] => Ok(None),
        [only] => {
            let target = Target::Symbol { path: only.path.clone(), name: only.name.clone() };
            Ok(Some(Location { project: Some(only.project.clone()), target }))
        }
        several => {
            let names = several.iter().take(MAX_LISTED).map(|of| format!("{}#{}", of.path, of.name));
            let names: Vec<String> = names.collect();
            Err(Error::invalid(format!("'{}' is defined in several places", truncate_echo(text)))
                .with_hint(format!("say which one: {}", names.join(", "))))
        }
    }
}

fn code_location(project: Option<String>, place: &PathText<'_>) -> Location {
    let path = place.path.to_owned();
    let target = match place.symbol {
        Some(name) => Target::Symbol { path, name: name.to_owned() },
        None => Target::Lines { path, lines: place.lines },
    };
    Location { project, target }
}

fn node(id: NodeId) -> Location {
    Location { project: id.project().map(str::to_owned), target: Target::Node(id) }
}

/// `#12`, `!7`, `!7#note_3`, `@1a2b3c4`, `1a2b3c4`
fn is_short_reference(text: &str) -> bool {
    let numbered = text.strip_prefix(['#', '!']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    numbered || is_sha(text.strip_prefix('@').unwrap_or(text))
}

fn ambiguous(text: &str, known: &BTreeSet<String>) -> Error {
    let message = format!("it is not clear which project '{}' belongs to", truncate_echo(text));
    if known.is_empty() {
        return Error::new(ErrorKind::NotFound, "nothing is indexed yet").with_hint("run 'backstory add .'");
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Error::invalid(message).with_hint(format!("name the project, one of {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_split_from_lines_and_symbol() {
        let split = |text| {
            let place = split_path(text);
            (place.path.to_owned(), place.lines, place.symbol.map(str::to_owned))
        };
        assert_eq!(split("src/a.rs"), ("src/a.rs".into(), None, None));
        assert_eq!(split("src/a.rs:42"), ("src/a.rs".into(), Some((42, 42)), None));
        assert_eq!(split("src/a.rs:40-60"), ("src/a.rs".into(), Some((40, 60)), None));
        assert_eq!(split("src/a.rs#L40-L60"), ("src/a.rs".into(), Some((40, 60)), None));
        assert_eq!(split("src/a.rs#L40"), ("src/a.rs".into(), Some((40, 40)), None));
        assert_eq!(split("src/a.rs#Login"), ("src/a.rs".into(), None, Some("Login".into())));
        assert_eq!(split("src/a.rs#Type::method"), ("src/a.rs".into(), None, Some("Type::method".into())));
        assert_eq!(split("std::mem::swap"), ("std::mem::swap".into(), None, None));
        assert_eq!(split("src/a.rs:"), ("src/a.rs:".into(), None, None));
    }

    #[test]
    fn lines_and_symbols_that_are_written_otherwise_are_told_how() {
        let hint = |text| check_spelling(text).unwrap_err().hint.unwrap();
        assert_eq!(hint("src/net.c:120,125"), "write src/net.c:120-125");
        assert_eq!(hint("net.c:connect"), "write net.c#connect");
        assert_eq!(hint("core.py:Context.invoke"), "write core.py#Context.invoke");
        assert_eq!(hint("net.c:12-x"), "write net.c:12-20");
        for text in ["std::mem", "acme/shop:src/a.rs", "https://example.com:80", "a:b", "src/a.rs", "a.rs::b"] {
            assert!(check_spelling(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn question_is_no_place() {
        for text in ["why", "and what then", "std::mem", "https://example.com/a", "and/or is fine", ""] {
            assert!(!is_location(text), "{text}");
        }
        for text in ["src/a.rs", "src/a.rs:4", "a.rs#login", "#12", "!7", "acme/shop!7", "1a2b3c4", "@1a2b3c4"] {
            assert!(is_location(text), "{text}");
        }
    }
}
