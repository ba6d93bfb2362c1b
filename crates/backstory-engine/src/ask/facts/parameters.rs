//! Finds when functions got or lost a parameter, by how they are declared before and after the commits that changed their
//! files. A type or a default that a parameter gets later is no parameter.

use std::collections::BTreeSet;

use backstory_model::{
    change_question::{ChangeDirection, ChangeQuestion, ParameterName},
    code::last_part_of_name,
    commit::{ChangeStatus, Commit, FileVersion, RepoPath},
    filter::Filter,
    id::NodeId,
    repository::EntityChangeKind,
};
use backstory_sources::{code::IncrementalAnalyzer, git::objects::Objects};
use jiff::Timestamp;

use super::{
    MadeChange,
    candidates::{NamedCode, is_of_projects_alone, named_nodes, place_of, retain_whole_names},
    order_by_time,
};
use crate::{
    catalog::repositories_of,
    clones::{MAX_TEXT, open_objects},
    error::Result,
    history::{GraphChangeRow, changes_across_renames},
    records::commit_record,
    resources::Resources,
};

/// Most functions of one name that are looked at.
const MAX_FUNCTIONS: usize = 8;
/// Most commits of a file whose versions are read.
const MAX_VERSIONS: usize = 200;
/// Fewest words of a commit of which some may have been left out.
const MANY_WORDS: usize = 200;

/// What a version of a file says of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declared {
    /// There is no such function.
    Nowhere,
    /// It is not known.
    Unknown,
    /// The function has no such parameter.
    Without,
    /// It has it.
    With,
}

/// What a commit did to the declaration of a function.
struct Redeclared {
    sha: String,
    at: Timestamp,
    before: Declared,
    after: Declared,
}

/// The commits that added a parameter to the functions that a question names, or removed it. Says where it still is, if that
/// is asked of what was removed.
pub(super) async fn changes_of_parameter(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let Some(ParameterName { name, function: Some(function) }) = &change.parameter else { return Ok(Vec::new()) };
    let is_told = matches!(change.direction, ChangeDirection::Added | ChangeDirection::Removed);
    if !is_told || !is_of_projects_alone(filter) {
        return Ok(Vec::new());
    }
    let named = NamedCode { name: function, paths: &change.paths };
    let mut found: Vec<(Timestamp, MadeChange)> = Vec::new();
    for project in repositories_of(resources, filter).await? {
        let mut nodes = named.within_paths(named_nodes(resources, &project, function).await?);
        retain_whole_names(&mut nodes, function);
        for node in nodes.into_iter().take(MAX_FUNCTIONS) {
            let redeclared = read_declarations(resources, &node, name).await?;
            let told = if change.direction == ChangeDirection::Removed {
                if redeclared.last().is_some_and(|last| last.after == Declared::With) {
                    missing.push(format!("'{name}' is there now: {}", place_of(&node)));
                    continue;
                }
                find_removal(&redeclared)
            } else {
                find_addition(&redeclared, &introducing_commits(resources, &node).await?)
            };
            let Some(told) = told else { continue };
            let commit = NodeId::commit(&project, &told.sha);
            let made = MadeChange { node: commit, place: Some(place_of(&node)), sentence: None, removal: None };
            found.push((told.at, made));
        }
    }
    order_by_time(&mut found, change.direction, |(at, _)| *at);
    Ok(found.into_iter().map(|(_, made)| made).collect())
}

/// The commits with which a definition came.
async fn introducing_commits(resources: &Resources, node: &NodeId) -> Result<BTreeSet<String>> {
    let changes = changes_across_renames(resources, node).await?;
    let introduced = changes.into_iter().filter(|change| change.kind == EntityChangeKind::Introduced);
    Ok(introduced.map(|change| change.sha).collect())
}

/// What the commits that touch a parameter's name did to the declaration of a function, the oldest first; nothing if there
/// are too many.
async fn read_declarations(resources: &Resources, node: &NodeId, parameter: &str) -> Result<Vec<Redeclared>> {
    let NodeId::Entity { project, path, name } = node.clone() else { return Ok(Vec::new()) };
    let mut changes = changes_across_renames(resources, &NodeId::file(&project, &path)).await?;
    changes.reverse();
    let parameter = parameter.to_owned();
    resources
        .blocking(move |resources| {
            let objects = open_objects(resources, &project)?;
            let mut declarations =
                Declarations { objects: &objects, name, parameter, analyzer: IncrementalAnalyzer::new() };
            let mut found = Vec::new();
            for change in changes {
                let Some(record) = commit_record(resources, &project, &change.sha)? else { continue };
                found.extend(declarations.compare(&change, &record.commit));
                if found.len() > MAX_VERSIONS {
                    return Ok(Vec::new());
                }
            }
            Ok(found)
        })
        .await
}

/// Reads how versions of files declare a function.
struct Declarations<'a> {
    objects: &'a Objects,
    /// The qualified name of the function.
    name: String,
    parameter: String,
    analyzer: IncrementalAnalyzer,
}

impl Declarations<'_> {
    /// What a commit did to the declaration; `None` if it does not touch the parameter's name or the file.
    fn compare(&mut self, row: &GraphChangeRow, commit: &Commit) -> Option<Redeclared> {
        let NodeId::File { path, .. } = &row.name else { return None };
        let is_touched = commit.identifiers.iter().any(|word| word.name == self.parameter);
        if !is_touched && commit.identifiers.len() < MANY_WORDS {
            return None;
        }
        let change = commit.changes.iter().find(|change| change.path.as_str() == path.as_str())?;
        let old_path = change.old_path.as_ref().unwrap_or(&change.path);
        // A copy takes nothing from the file that it is one of.
        let old = change.old.filter(|_| change.status != ChangeStatus::Copied);
        let before = self.read(old_path, old);
        let after = self.read(&change.path, change.new);
        Some(Redeclared { sha: row.sha.clone(), at: row.at, before, after })
    }

    fn read(&mut self, path: &RepoPath, version: Option<FileVersion>) -> Declared {
        let Some(version) = version.filter(|version| version.mode.is_file()) else { return Declared::Nowhere };
        let Ok(bytes) = self.objects.blob(version.id, MAX_TEXT) else { return Declared::Unknown };
        let analysis = self.analyzer.analyze(path.as_str(), &bytes);
        let mut entities = analysis.code().map(|code| &code.entities[..]).unwrap_or_default().iter();
        let Some(entity) = entities.find(|entity| entity.qualified_name == self.name) else { return Declared::Nowhere };
        let own = last_part_of_name(&self.name);
        let Some(parameters) = parameters_of(&entity.signature, own) else { return Declared::Unknown };
        let is_there = parameters.into_iter().any(|declared| declares(declared, &self.parameter));
        if is_there { Declared::With } else { Declared::Without }
    }
}

/// The commit that gave a function its parameter, or made the function with it. `None` if the parameter was there before, be
/// it in another place from which the function was moved.
fn find_addition<'a>(redeclared: &'a [Redeclared], introducing: &BTreeSet<String>) -> Option<&'a Redeclared> {
    let first = redeclared.iter().find(|one| one.after == Declared::With)?;
    let is_addition = match first.before {
        Declared::Without => true,
        Declared::Nowhere => introducing.contains(&first.sha),
        Declared::Unknown | Declared::With => false,
    };
    is_addition.then_some(first)
}

/// The last commit that took the parameter from a function.
fn find_removal(redeclared: &[Redeclared]) -> Option<&Redeclared> {
    redeclared.iter().rev().find(|one| (one.before, one.after) == (Declared::With, Declared::Without))
}

/// The parameters of a function as its declaration writes them; `None` if the declaration is cut off or has no list of them.
fn parameters_of<'a>(signature: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let is_word =
        |at: &usize| !signature[..*at].ends_with(is_part) && !signature[*at + name.len()..].starts_with(is_part);
    let from = signature.match_indices(name).map(|(at, _)| at).find(is_word)? + name.len();
    let (mut depth, mut is_quoted, mut start) = (0_usize, false, None);
    let mut before = name.chars().next_back().unwrap_or(' ');
    let mut found = Vec::new();
    for (at, c) in signature[from..].char_indices().map(|(at, c)| (from + at, c)) {
        // Of types: neither a comparison nor an arrow.
        let opens = matches!(c, '(' | '[' | '{') || (c == '<' && is_part(before));
        let closes = matches!(c, ')' | ']' | '}') || (c == '>' && !matches!(before, '-' | '=' | ' '));
        before = c;
        if c == '"' {
            is_quoted = !is_quoted;
        }
        if is_quoted {
            continue;
        }
        if c == '(' && depth == 0 && start.is_none() {
            start = Some(at + 1);
        }
        if opens {
            depth += 1;
        }
        if closes {
            depth = depth.saturating_sub(1);
        }
        let Some(own) = start else { continue };
        let ends = closes && depth == 0;
        if ends || (c == ',' && depth == 1) {
            found.push(&signature[own..at]);
            start = Some(at + 1);
        }
        if ends {
            return Some(found);
        }
    }
    None
}

/// Whether a parameter as it is written has a name: neither its type nor its default does.
fn declares(parameter: &str, name: &str) -> bool {
    let own = parameter.split('=').next().unwrap_or(parameter);
    // `std::string name` has its type first.
    let is_end = |at: &usize| !own[*at + 1..].starts_with(':') && !own[..*at].ends_with(':');
    let end = own.match_indices(':').map(|(at, _)| at).find(is_end).unwrap_or(own.len());
    own[..end].split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$')).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_function_are_told_from_types_and_defaults() {
        for (signature, name, has) in [
            ("def get(url, timeout)", "get", Some(true)),
            ("def get(url, *, timeout: float | None = None) -> Page", "get", Some(true)),
            ("def get(self, url, **options)", "get", Some(false)),
            ("def get(url, wait=timeout)", "get", Some(false)),
            ("def get(url: timeout = (1, 2), sep=\",\")", "get", Some(false)),
            ("fn get<F: Fn(u8)>(url: &str, mut timeout: Duration) -> Page", "get", Some(true)),
            ("fn get(timeouts: HashMap<u8, timeout>) -> u8", "get", Some(false)),
            ("func (c *Client) Get(url string, timeout time.Duration) error", "Get", Some(true)),
            ("Page get(std::string url, std::chrono::seconds timeout)", "get", Some(true)),
            ("get(url: string, timeout?: number): Promise<Page>", "get", Some(true)),
            ("const get = (url, { timeout, retries = 3 }) =>", "get", Some(true)),
            ("def get(url, retries: int = 3, prox", "get", None),
            ("def get", "get", None),
            ("def forget(timeout)", "get", None),
        ] {
            let parameters = parameters_of(signature, name);
            let found = parameters.map(|parameters| parameters.into_iter().any(|one| declares(one, "timeout")));
            assert_eq!(found, has, "{signature}");
        }
    }

    #[test]
    fn a_parameter_came_with_the_commit_before_which_it_was_not_there() {
        use Declared::{Nowhere, Unknown, With, Without};
        let versions = |steps: &[(Declared, Declared)]| {
            let told = |(number, (before, after)): (usize, &(Declared, Declared))| Redeclared {
                sha: number.to_string(),
                at: Timestamp::UNIX_EPOCH,
                before: *before,
                after: *after,
            };
            steps.iter().enumerate().map(told).collect::<Vec<_>>()
        };
        let introducing = BTreeSet::from(["0".to_owned()]);
        for (steps, added, removed) in [
            (vec![(Without, With), (With, With)], Some("0"), None),
            (vec![(Nowhere, Without), (Without, With), (With, Without)], Some("1"), Some("2")),
            (vec![(Nowhere, With), (With, With)], Some("0"), None),
            // It was moved there, or was there before.
            (vec![(Nowhere, Without), (Nowhere, With)], None, None),
            (vec![(With, With), (With, Without)], None, Some("1")),
            (vec![(Unknown, With)], None, None),
            (vec![], None, None),
        ] {
            let redeclared = versions(&steps);
            let sha = |one: Option<&Redeclared>| one.map(|one| one.sha.clone());
            let told = (sha(find_addition(&redeclared, &introducing)), sha(find_removal(&redeclared)));
            assert_eq!(told, (added.map(str::to_owned), removed.map(str::to_owned)), "{steps:?}");
        }
    }
}
