//! The projects of groups that are configured as `group/*` or were added: found out at each sync, and known in between.

use std::collections::BTreeMap;

use backstory_sources::forge::{self, Client, GroupProject};
use backstory_store::ledger::{ErasureTarget, ForgeAddress, LedgerError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    error::{Error, Result},
    resources::Resources,
    settings::Forge,
};

/// Name of it in the ledger, under no project.
const NAME: &str = "groups";
/// Name of what was added, in the ledger, under no project.
const ADDED: &str = "added_groups";
/// Name of what could not be asked for, in the ledger, under no project.
const FAILED: &str = "group_failures";
/// Most groups that can be added.
const MAX_ADDED: usize = 100;
/// Most projects of one group.
const MAX_PROJECTS: usize = 10_000;

/// What was found of each group, by the address of its forge and its path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct KnownGroups(BTreeMap<String, Vec<GroupProject>>);

impl KnownGroups {
    /// The projects of a forge's groups, sorted, each once, without those that it names itself.
    pub(crate) fn projects_of(&self, forge: &Forge) -> Vec<GroupProject> {
        let of_group = |group: &str| self.0.get(&key(forge, group)).into_iter().flatten().cloned();
        let mut projects: Vec<GroupProject> = forge.groups().flat_map(of_group).collect();
        projects.retain(|project| !forge.projects.contains(&project.path));
        projects.sort_by(|a, b| a.path.cmp(&b.path));
        projects.dedup_by(|a, b| a.path == b.path);
        projects
    }
}

/// A group that was added, not configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AddedGroup {
    /// The forge that has it.
    pub(crate) forge: ForgeAddress,
    /// Its path.
    pub(crate) group: String,
}

/// A group that could not be asked for its projects when a sync last tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupFailure {
    /// `group/*`
    pub group: String,
    /// When that was.
    pub at: Timestamp,
    /// Why.
    pub error: String,
}

async fn added_groups(resources: &Resources) -> Result<Vec<AddedGroup>> {
    Ok(read(resources.with_full_visibility().with_ledger(|ledger| ledger.aggregate("", ADDED)).await?))
}

/// A forge with that group alone; `None` if it has no address that can be read.
fn forge_of(resources: &Resources, added: &AddedGroup) -> Option<Forge> {
    let base_url = added.forge.base_url.parse().ok()?;
    let network = resources.settings().repositories.network_of_added_forges();
    let connection = forge::ForgeSettings { network, ..forge::ForgeSettings::new(base_url, None) };
    let projects = vec![format!("{}/*", added.group)];
    Some(Forge { kind: added.forge.kind, connection, projects, webhook_secret: None })
}

fn is_same_forge(one: &Forge, other: &Forge) -> bool {
    one.kind == other.kind && one.web_url() == other.web_url()
}

/// The forges that are configured, with the groups that were added, and those that were added with a group.
pub(crate) async fn forges_with_groups(resources: &Resources) -> Result<Vec<Forge>> {
    let mut forges = resources.settings().forges.clone();
    for added in added_groups(resources).await? {
        let Some(new) = forge_of(resources, &added) else { continue };
        match forges.iter_mut().find(|forge| is_same_forge(forge, &new)) {
            Some(forge) if forge.projects.contains(&new.projects[0]) => {}
            Some(forge) => forge.projects.extend(new.projects),
            None => forges.push(new),
        }
    }
    Ok(forges)
}

/// Has all projects of a group read from now on; those that it has, without those that are excluded.
///
/// # Errors
/// The forge has no such group or cannot be asked, or too many groups were added.
pub(crate) async fn add_group(resources: &Resources, added: AddedGroup) -> Result<Vec<GroupProject>> {
    let no_address = || Error::invalid(format!("the forge of {} has no address", added.group));
    let mut forge = forge_of(resources, &added).ok_or_else(no_address)?;
    if let Some(known) = resources.settings().forges.iter().find(|known| is_same_forge(known, &forge)) {
        forge.connection = known.connection.clone();
    }
    let projects = projects_of_group(resources, &forge, &added.group).await?;
    let (key, found) = (key(&forge, &added.group), projects.clone());
    resources
        .blocking(move |resources| {
            resources.ledger().update_aggregate("", ADDED, |stored| with_group(stored, added))?;
            resources.ledger().update_aggregate("", NAME, |stored| {
                let mut known: KnownGroups = read(stored);
                known.0.insert(key, found);
                Ok::<_, Error>(write(&known))
            })
        })
        .await?;
    Ok(projects)
}

/// The groups that were added, and one more.
fn with_group(stored: Option<Vec<u8>>, added: AddedGroup) -> Result<Vec<u8>> {
    let mut all: Vec<AddedGroup> = read(stored);
    if !all.contains(&added) {
        if all.len() >= MAX_ADDED {
            return Err(Error::invalid(format!("{MAX_ADDED} groups were added; more cannot be"))
                .with_hint("name them under [[forge]] in the configuration"));
        }
        all.push(added);
    }
    Ok(write(&all))
}

/// What was stored; what cannot be read is found out by the next sync.
fn read<T: DeserializeOwned + Default>(stored: Option<Vec<u8>>) -> T {
    stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn write<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn key(forge: &Forge, group: &str) -> String {
    format!("{} {group}", forge.web_url())
}

/// What is known of all groups, as everybody may use it who may see their projects.
pub(crate) async fn known_groups(resources: &Resources) -> Result<KnownGroups> {
    Ok(read(resources.with_full_visibility().with_ledger(|ledger| ledger.aggregate("", NAME)).await?))
}

/// The groups that could not be asked for, to those who see all projects: a group names what others may not see.
pub(crate) async fn group_failures(resources: &Resources) -> Result<Vec<GroupFailure>> {
    if !resources.visibility().allows_all_projects() {
        return Ok(Vec::new());
    }
    Ok(read(resources.with_full_visibility().with_ledger(|ledger| ledger.aggregate("", FAILED)).await?))
}

/// Keeps on record which groups could not be asked for.
async fn record_failures(resources: &Resources, failures: Vec<GroupFailure>) -> Result<()> {
    if failures.is_empty() && group_failures(&resources.with_full_visibility()).await?.is_empty() {
        return Ok(());
    }
    resources.with_ledger(move |ledger| ledger.put_aggregate("", FAILED, &write(&failures))).await
}

/// Asks forges for the projects of their groups. A group that cannot be asked for keeps those that were known, and is put
/// on record: the first failure is told.
///
/// # Errors
/// The ledger cannot be read or written.
pub(crate) async fn discover_projects(resources: &Resources) -> Result<Option<Error>> {
    let forges = forges_with_groups(resources).await?;
    if forges.iter().all(|forge| forge.groups().next().is_none()) {
        record_failures(resources, Vec::new()).await?;
        return Ok(None);
    }
    let known = known_groups(resources).await?;
    let (mut found, mut failures, mut failed) = (KnownGroups::default(), Vec::new(), None);
    for forge in &forges {
        for group in forge.groups() {
            let key = key(forge, group);
            let projects = match projects_of_group(resources, forge, group).await {
                Ok(projects) => projects,
                Err(error) => {
                    let (group, at) = (format!("{group}/*"), Timestamp::now());
                    failures.push(GroupFailure { group: group.clone(), at, error: error.to_string() });
                    failed = failed.or(Some(error.about(&group)));
                    known.0.get(&key).cloned().unwrap_or_default()
                }
            };
            found.0.insert(key, projects);
        }
    }
    record_failures(resources, failures).await?;
    if found != known {
        let update = move |stored| {
            // A group that was added meanwhile stays.
            let mut now: KnownGroups = read(stored);
            now.0.retain(|group, _| !known.0.contains_key(group));
            now.0.extend(found.0);
            Ok(write(&now))
        };
        resources.with_ledger(move |ledger| ledger.update_aggregate::<LedgerError>("", NAME, update)).await?;
    }
    Ok(failed)
}

/// What a forge has of a group, without what is excluded or was forgotten.
async fn projects_of_group(resources: &Resources, forge: &Forge, group: &str) -> Result<Vec<GroupProject>> {
    let mut projects = Client::new(forge.kind, &forge.connection)?.group_projects(group).await?;
    projects.retain(|project| !resources.settings().excluded_projects.is_match(&project.path));
    projects.truncate(MAX_PROJECTS);
    resources
        .with_ledger(move |ledger| {
            let mut read = Vec::new();
            for project in projects {
                if !ledger.is_forgotten(&ErasureTarget::Project(project.path.clone()))? {
                    read.push(project);
                }
            }
            Ok(read)
        })
        .await
}
