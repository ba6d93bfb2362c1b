//! The projects, repositories and forges that are configured or were added.

use std::collections::BTreeSet;

use backstory_model::{filter::Filter, id::NodeId, text::truncate_echo};
use backstory_sources::forge;

use crate::{
    error::{Error, ErrorKind, Result},
    groups::{forges_with_groups, known_groups},
    read::forgotten_error,
    resources::Resources,
    settings::{Forge, group_of_pattern},
};

/// Most repositories in which a name is looked for.
const MAX_REPOSITORIES: usize = 20;

/// The forges with projects to read.
pub(crate) struct Forges {
    pub(crate) usable: Vec<Forge>,
    /// Projects whose forge has an address that is none, and what to say of that.
    pub(crate) unusable: Vec<(String, Error)>,
}

/// Every visible project that can be synced: of a forge, of a repository, or of both.
pub(crate) async fn known_projects(resources: &Resources) -> Result<BTreeSet<String>> {
    let mut known: BTreeSet<String> = resources.settings().projects().map(|(_, project)| project.to_owned()).collect();
    let groups = known_groups(resources).await?;
    let forges = forges_with_groups(resources).await?;
    let of_groups = forges.iter().flat_map(|forge| groups.projects_of(forge));
    known.extend(of_groups.map(|project| project.path));
    let repositories = resources.with_ledger(|ledger| ledger.repositories()).await?;
    known.extend(repositories.into_iter().map(|entry| entry.project));
    known.retain(|project| resources.visibility().allows_project(project));
    Ok(known)
}

/// The repositories of the projects that a filter lets through, at most [`MAX_REPOSITORIES`].
pub(crate) async fn repositories_of(resources: &Resources, filter: &Filter) -> Result<Vec<String>> {
    let is_asked = |project: &String| match &filter.project {
        Some(own) => own == project,
        None => filter.projects.is_empty() || filter.projects.contains(project),
    };
    let entries = resources.with_ledger(|ledger| ledger.repositories()).await?;
    Ok(entries.into_iter().map(|entry| entry.project).filter(is_asked).take(MAX_REPOSITORIES).collect())
}

/// The forges that are configured, and those of repositories that were added with theirs. One with an address that is
/// none is not among them: a sync says so of its project.
pub(crate) async fn list_forges(resources: &Resources) -> Result<Vec<Forge>> {
    Ok(all_forges(resources).await?.usable)
}

pub(crate) async fn all_forges(resources: &Resources) -> Result<Forges> {
    let mut unusable = Vec::new();
    let groups = known_groups(resources).await?;
    let mut forges = forges_with_groups(resources).await?;
    for forge in &mut forges {
        let found = groups.projects_of(forge);
        forge.projects.retain(|project| group_of_pattern(project).is_none());
        forge.projects.extend(found.into_iter().map(|project| project.path));
    }
    for entry in resources.with_ledger(|ledger| ledger.repositories()).await? {
        let Some(added) = entry.forge else { continue };
        if forges.iter().any(|forge| forge.projects.contains(&entry.project)) {
            continue;
        }
        let base_url = match added.base_url.parse() {
            Ok(url) => url,
            Err(error) => {
                let (project, address) = (entry.project, truncate_echo(&added.base_url));
                let message = format!("'{address}' is not the address of a forge: {error}");
                let error = Error::new(ErrorKind::Configuration, message)
                    .with_hint(format!("remove the repository with 'backstory remove {project}' and add it again"));
                unusable.push((project, error));
                continue;
            }
        };
        let web_url = forge::web_url(added.kind, &base_url);
        match forges.iter_mut().find(|forge| forge.kind == added.kind && forge.web_url() == web_url) {
            Some(forge) => forge.projects.push(entry.project),
            None => forges.push(Forge {
                kind: added.kind,
                connection: forge::ForgeSettings {
                    network: resources.settings().repositories.network_of_added_forges(),
                    ..forge::ForgeSettings::new(base_url, None)
                },
                projects: vec![entry.project],
                webhook_secret: None,
            }),
        }
    }
    Ok(Forges { usable: forges, unusable })
}

pub(crate) fn forgotten(project: &str) -> Error {
    Error::new(ErrorKind::Configuration, format!("{project} was forgotten, so it is not read")).with_hint(format!(
        "remove it from the configuration, or let it be read again with 'backstory forget --undo {project}'"
    ))
}

pub(crate) fn unknown_project(project: &str, known: &BTreeSet<String>) -> Error {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Error::invalid(format!("{} is not known", truncate_echo(project)))
        .with_hint(format!("known projects: {}", known.join(", ")))
}

pub(crate) async fn check_project(resources: &Resources, project: Option<&str>) -> Result<()> {
    let Some(project) = project else { return Ok(()) };
    let known = known_projects(resources).await?;
    if known.contains(project) {
        return Ok(());
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(Error::invalid(format!("{} is not known", truncate_echo(project)))
        .with_hint(format!("known projects: {}", known.join(", "))))
}

/// The project that is named, or the only one.
pub(crate) async fn project_of_questions(resources: &Resources, named: Option<&str>) -> Result<String> {
    let known = known_projects(resources).await?;
    let all = || known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    match named {
        Some(named) if known.contains(named) => Ok(named.to_owned()),
        Some(named) => Err(Error::invalid(format!("{} is not known", truncate_echo(named)))
            .with_hint(format!("known projects: {}", all()))),
        None if known.len() == 1 => Ok(all()),
        None if known.is_empty() => Err(Error::invalid("there is no project to ask about")
            .with_hint("configure one, or 'backstory add' a repository")),
        None => Err(Error::invalid("the questions name no project")
            .with_hint(format!("say which one they are about: {}", all()))),
    }
}

pub(crate) fn unknown_repository(resources: &Resources, project: &str) -> Error {
    if let Ok(Some(error)) = forgotten_error(resources, &NodeId::Project(project.to_owned())) {
        return error;
    }
    let known: Vec<String> =
        resources.ledger().repositories().unwrap_or_default().into_iter().map(|of| of.project).collect();
    let known = if known.is_empty() { "there is none yet".to_owned() } else { format!("known: {}", known.join(", ")) };
    Error::new(ErrorKind::NotFound, format!("there is no repository {}", truncate_echo(project))).with_hint(known)
}
