//! Adds and removes repositories.

use std::path::Path;

use backstory_model::{entity::ItemKind, id::is_project_path, reference::Forge, text::truncate_echo};
use backstory_sources::{
    forge,
    git::{
        address::{Address, AllowedHosts, resolve},
        naming::{host_and_project, origin_url, project_from_directory},
    },
};
use backstory_store::ledger::{Branches, ErasureTarget, ForgeAddress, RepositoryEntry};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    RepositoryStatus,
    further_refs::{check_origin_has, with_refs},
    lock_repositories,
    people::{link_people, rebuild_identities},
    recognize::find_project_of_clone,
    repository_status,
};
use crate::{
    catalog::{known_projects, unknown_repository},
    clones::{clone_path, close_clone, find_git},
    error::{Error, ErrorKind, Result},
    records::evict_repository_record,
    refresh::{catch_up, refresh_links, refresh_written},
    resources::Resources,
    snapshot::with_snapshot,
    task::other_work,
    use_case::{Scope, UseCase, Weight},
};

/// Adds a repository to those that are indexed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AddRequest {
    /// Path on this machine, absolute, or a `https`, `http` or `ssh` address.
    pub address: String,
    /// Full path of the project; taken from the address if absent.
    pub name: Option<String>,
    /// Which branches.
    #[serde(default)]
    pub branches: Branches,
    /// Further branches, tags and commits whose files are indexed too, besides those that were named before.
    #[serde(default)]
    pub refs: Vec<String>,
    /// Which of those that were named before are indexed no more.
    #[serde(default)]
    pub dropped_refs: Vec<String>,
    /// Which forge it is on, whose issues and merge requests are read too. Told from the host of an address, if that is
    /// one that is configured or well known; read from nowhere otherwise.
    pub forge: Option<Forge>,
    /// How many commits of each branch to clone, without tags; 0 for the whole history. If absent, it stays as it was,
    /// and a new repository is cloned with its whole history.
    #[serde(default)]
    pub depth: Option<u32>,
}

impl AddRequest {
    /// The branches of a repository that had these: one that changes further refs or the depth, and names none, keeps them.
    fn branches_after(&self, known: &Branches) -> Branches {
        let changes_others = self.depth.is_some() || !self.refs.is_empty() || !self.dropped_refs.is_empty();
        if changes_others && self.branches == Branches::Default { known.clone() } else { self.branches.clone() }
    }
}

/// Forges that everybody knows, by their host.
pub(super) const WELL_KNOWN: [(&str, Forge); 2] = [("github.com", Forge::GitHub), ("gitlab.com", Forge::GitLab)];

impl UseCase for AddRequest {
    const NAME: &'static str = "add-repository";
    const SCOPE: Scope = Scope::Admin;
    type Answer = RepositoryStatus;

    async fn run(self, resources: &Resources) -> Result<RepositoryStatus> {
        add_repository(resources, self).await
    }
}

/// Removes a repository, its clone and everything known from it; answers how many items were removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemoveRepository {
    /// Full path of the project.
    pub project: String,
}

impl UseCase for RemoveRepository {
    const NAME: &'static str = "remove-repository";
    const SCOPE: Scope = Scope::Admin;
    const WEIGHT: Weight = Weight::Long;
    /// How many items were taken away.
    type Answer = u64;

    async fn run(self, resources: &Resources) -> Result<u64> {
        remove_repository(resources, &self.project).await
    }
}

/// Puts a repository on the list of those that a sync reads. One that is there already gets the new branches.
///
/// # Errors
/// The address is refused, it is no repository, or another one has its name.
async fn add_repository(resources: &Resources, request: AddRequest) -> Result<RepositoryStatus> {
    resources
        .blocking(move |resources| {
            find_git(resources)?;
            let address = request.address.trim();
            check_path(resources, address)?;
            let checked = check_address(resources, address)?;
            check_place(resources, address, &checked)?;
            let (address, origin) = match &checked {
                Address::Local(path) => (path.display().to_string(), origin_url(path)),
                Address::Remote(_) => (address.to_owned(), Some(address.to_owned())),
            };
            let project = name_project(resources, request.name.clone(), &address, &checked, origin.as_deref())?;
            check_visible(resources, &project)?;
            check_name(resources, &project, origin.as_deref())?;
            if resources.ledger().is_forgotten(&ErasureTarget::Project(project.clone()))? {
                return Err(Error::new(ErrorKind::Conflict, format!("{project} was forgotten"))
                    .with_hint(format!("'backstory forget --undo {project}' lets it be read again")));
            }
            let forge = forge_to_read(resources, &project, &checked, origin.as_deref(), request.forge)?;
            check_origin_has(resources, &project, &checked, &request.branches, &request.refs)?;
            let _held = resources.shared.listing.lock();
            let known = resources.ledger().repository(&project)?;
            let wanted_depth = |known: &RepositoryEntry| {
                request.depth.map_or(known.depth, |depth| Some(depth).filter(|depth| *depth > 0))
            };
            let is_cloned_again =
                known.as_ref().is_some_and(|known| known.address == address && wanted_depth(known) != known.depth);
            // Until the entry is stored: a sync would clone with the depth of before.
            let _nobody_reads = is_cloned_again.then(|| lock_repositories(resources));
            let entry = match known {
                Some(known) if known.address == address => {
                    let forge = forge.or(known.forge.clone());
                    let branches = redact_branches(resources, request.branches_after(&known.branches));
                    let depth = wanted_depth(&known);
                    if is_cloned_again {
                        drop_clone(resources, &known.project)?;
                    }
                    let refs = with_refs(resources, &known.refs, &request.refs, &request.dropped_refs)?;
                    RepositoryEntry { branches, refs, forge, depth, ..known }
                }
                Some(known) => {
                    return Err(Error::new(
                        ErrorKind::Conflict,
                        format!("{project} is already the repository at {}", known.address),
                    )
                    .with_hint(format!(
                        "add this one as another project with 'backstory add --name NAME', or remove that one with \
                         'backstory remove {project}'"
                    )));
                }
                None => RepositoryEntry {
                    project,
                    address,
                    branches: redact_branches(resources, request.branches),
                    refs: with_refs(resources, &[], &request.refs, &request.dropped_refs)?,
                    forge,
                    depth: request.depth.filter(|depth| *depth > 0),
                    added_at: Timestamp::now(),
                    synced_at: None,
                    indexed: Default::default(),
                    unreachable: Default::default(),
                },
            };
            resources.ledger().put_repository(&entry)?;
            repository_status(resources, entry)
        })
        .await
}

/// The project of a repository: as it was named, as its origin is called, or as the directory is.
fn name_project(
    resources: &Resources,
    name: Option<String>,
    address: &str,
    checked: &Address,
    origin: Option<&str>,
) -> Result<String> {
    match name {
        Some(name) if is_project_path(&name) => return Ok(name),
        Some(name) => {
            return Err(Error::invalid(format!("'{}' is not the path of a project", truncate_echo(&name)))
                .with_hint("write group/project or a single name"));
        }
        None => {}
    }
    if let Some((_, path)) = origin.and_then(host_and_project) {
        return Ok(path.to_owned());
    }
    let known = match checked {
        Address::Local(path) => find_project_of_clone(resources, path)?,
        Address::Remote(_) => None,
    };
    Ok(known.unwrap_or_else(|| project_from_directory(Path::new(address))))
}

/// Refuses every path, before anything of it is known, to those who see only some projects: what is on the server's
/// machine belongs to none of them.
fn check_path(resources: &Resources, address: &str) -> Result<()> {
    if resources.visibility().allows_all_projects() || !Address::is_path(address) {
        return Ok(());
    }
    let message = format!("{} may not add a repository by its path", resources.actor());
    Err(Error::new(ErrorKind::Forbidden, message))
}

/// Refuses a project that the caller would not see.
fn check_visible(resources: &Resources, project: &str) -> Result<()> {
    if resources.visibility().allows_project(project) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Forbidden, format!("{} may not add {project}", resources.actor())))
}

/// Refuses, to those who see only some projects, a name that is not that of the address: the server reads with credentials
/// of its own, which may show it projects that they must not see.
fn check_name(resources: &Resources, project: &str, origin: Option<&str>) -> Result<()> {
    let is_own_name = origin.and_then(host_and_project).is_some_and(|(_, path)| path == project);
    if resources.visibility().allows_all_projects() || is_own_name {
        return Ok(());
    }
    let message = format!("{} may not add a repository under another name than its own", resources.actor());
    Err(Error::new(ErrorKind::Forbidden, message))
}

/// Refuses a path that depends on where this process was started, and what is in the data directory.
fn check_place(resources: &Resources, address: &str, checked: &Address) -> Result<()> {
    let Address::Local(path) = checked else { return Ok(()) };
    let what = if Path::new(address).is_relative() {
        "is not absolute; give the whole path"
    } else if resources.shared.data_dir.canonicalize().is_ok_and(|data| path.starts_with(data)) {
        "is in the data directory; give the repository that it is a clone of"
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("'{}' {what}", truncate_echo(address))))
}

/// Names of branches as they are kept: without secrets.
fn redact_branches(resources: &Resources, branches: Branches) -> Branches {
    match branches {
        Branches::Selected(names) => {
            Branches::Selected(names.iter().map(|name| resources.redactor().redact(name).0.into_owned()).collect())
        }
        all => all,
    }
}

/// Forgets a repository, its clone and everything known from it.
///
/// # Errors
/// There is none of that name, or a sync is running.
async fn remove_repository(resources: &Resources, project: &str) -> Result<u64> {
    let project = project.to_owned();
    let removed = project.clone();
    let busy = |task: &crate::task::Task| {
        task.kind == crate::task::TaskKind::Sync && task.status == crate::task::TaskStatus::Running
    };
    let gone = resources
        .blocking(move |resources| {
            let check_known = || match resources.ledger().repository(&project)? {
                Some(_) => Ok(()),
                None => Err(unknown_repository(resources, &project)),
            };
            // First of all, so that names of what is not there tell nothing of what is under way.
            check_known()?;
            if resources.tasks().list().iter().any(busy) {
                let conflict = Error::new(ErrorKind::Conflict, "a sync is running");
                return Err(if resources.sees_tasks() {
                    conflict.with_hint("wait for it, then remove the repository")
                } else {
                    other_work()
                });
            }
            // A sync that was stopped may still be writing.
            let _nobody_reads = lock_repositories(resources);
            check_known()?;
            let resources = &resources.with_full_visibility();
            let gone = resources.ledger().remove_repository_and_added_forge(&project, Timestamp::now())?;
            drop_clone(resources, &project)?;
            rebuild_identities(resources)?;
            Ok(gone)
        })
        .await?;
    forget_jobs(resources, &removed).await?;
    let project_again = async {
        link_people(resources).await?;
        catch_up(resources, None).await?;
        refresh_links(resources).await?;
        refresh_written(resources).await
    };
    with_snapshot(resources, project_again).await?;
    Ok(gone)
}

/// Takes a repository off the list whose first sync found nothing that could be read; whether it did.
pub(crate) async fn unregister_if_empty(resources: &Resources, project: &str) -> Result<bool> {
    let failed = project.to_owned();
    let is_forgotten = resources
        .blocking(move |resources| {
            let is_empty = resources.ledger().keys(&failed, ItemKind::Commit)?.is_empty();
            if is_empty {
                resources.ledger().remove_repository_and_added_forge(&failed, Timestamp::now())?;
                drop_clone(resources, &failed)?;
            }
            Ok(is_empty)
        })
        .await?;
    if is_forgotten {
        forget_jobs(resources, project).await?;
    }
    Ok(is_forgotten)
}

/// Takes what was to be done for a project out of the queue, if nothing of it can be read any more.
async fn forget_jobs(resources: &Resources, project: &str) -> Result<()> {
    if known_projects(resources).await?.contains(project) {
        return Ok(());
    }
    let project = project.to_owned();
    resources.with_ledger(move |ledger| ledger.remove_jobs(&project)).await
}

/// Removes the clone of a repository, if there is one, and what is remembered of it.
pub(crate) fn drop_clone(resources: &Resources, project: &str) -> Result<()> {
    close_clone(resources, project);
    evict_repository_record(resources, project);
    remove_clone(&clone_path(resources, project))
}

pub(super) fn check_address(resources: &Resources, address: &str) -> Result<Address> {
    let allowed = AllowedHosts::new(&resources.settings().repositories.allowed_hosts);
    Ok(Address::check(address, &allowed, resolve)?)
}

/// The forge to read beside a repository: the one that was asked for, or that its address is of.
fn forge_to_read(
    resources: &Resources,
    project: &str,
    address: &Address,
    origin: Option<&str>,
    asked: Option<Forge>,
) -> Result<Option<ForgeAddress>> {
    if resources.settings().projects().any(|(_, known)| known == project) {
        return Ok(None);
    }
    let place = origin.and_then(|origin| Some((origin, host_and_project(origin)?)));
    let Some((origin, (host, path))) = place else {
        return match asked {
            None => Ok(None),
            Some(forge) => {
                let message = format!("{project} has no address that says where its {} is", forge.as_str());
                Err(Error::invalid(message).with_hint("add it by its address there"))
            }
        };
    };
    // An ssh address has no port, or another one.
    let host_name = host.split(':').next().unwrap_or(host);
    let configured = resources.settings().forges.iter().find(|forge| {
        let url = forge.web_url();
        authority_of(&url) == host || host_of(&url) == host_name && !origin.starts_with("http")
    });
    // What a clone on this machine says of itself is no wish to read something from elsewhere.
    let kind = match (asked, address) {
        (Some(kind), _) => kind,
        (None, Address::Local(_)) => return Ok(None),
        (None, Address::Remote(_)) => {
            let well_known = WELL_KNOWN.iter().find(|(known, _)| *known == host_name).map(|(_, kind)| *kind);
            match configured.map(|forge| forge.kind).or(well_known) {
                Some(kind) => kind,
                None => return Ok(None),
            }
        }
    };
    if path != project {
        return match asked {
            None => Ok(None),
            Some(_) => {
                let message = format!("the forge calls it {path}, so it cannot be read as {project}");
                Err(Error::invalid(message).with_hint("leave --name out"))
            }
        };
    }
    if let Some(forge) = configured.filter(|forge| forge.kind == kind) {
        return Ok(Some(ForgeAddress { kind, base_url: forge.connection.base_url.to_string() }));
    }
    let base_url = match origin {
        origin if origin.starts_with("http://") => format!("http://{host}"),
        origin if origin.starts_with("https://") => format!("https://{host}"),
        _ => format!("https://{host_name}"),
    };
    let url = base_url.parse().map_err(|error| {
        Error::invalid(format!(
            "{project} has an origin without the address of a {}, '{}': {error}",
            kind.as_str(),
            truncate_echo(&base_url)
        ))
        .with_hint("add it by its address there")
    })?;
    resources.settings().repositories.network_of_added_forges().check(&url)?;
    Ok(Some(ForgeAddress { kind, base_url }))
}

/// Whose syntax the messages of a repository follow, and the forge's address.
pub(super) fn forge_of(resources: &Resources, entry: &RepositoryEntry, address: &Address) -> (Forge, String) {
    if let Some((forge, _)) = resources.settings().projects().find(|(_, known)| *known == entry.project) {
        return (forge.kind, forge.web_url());
    }
    if let Some((forge, base_url)) = entry.forge.as_ref().and_then(|of| Some((of.kind, of.base_url.parse().ok()?))) {
        return (forge, forge::web_url(forge, &base_url));
    }
    let origin = match address {
        Address::Local(path) => origin_url(path),
        Address::Remote(_) => Some(entry.address.clone()),
    };
    match origin.as_deref().and_then(host_and_project) {
        // A project of another name has other addresses.
        Some((host, path)) if path == entry.project => {
            let forge = if host.contains("github") { Forge::GitHub } else { Forge::GitLab };
            (forge, format!("https://{host}"))
        }
        Some((host, _)) if host.contains("github") => (Forge::GitHub, String::new()),
        _ => (Forge::GitLab, String::new()),
    }
}

/// Host and port of an address.
pub(super) fn authority_of(url: &str) -> &str {
    url.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default())
}

/// Host of an address, without the port and the brackets of a number.
pub(super) fn host_of(url: &str) -> &str {
    let authority = authority_of(url);
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((number, _)) => number,
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// Removes a clone, if there is one.
fn remove_clone(clone: &Path) -> Result<()> {
    match std::fs::remove_dir_all(clone) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::internal(format!("the clone {} cannot be removed: {error}", clone.display())))
        }
        _ => Ok(()),
    }
}
