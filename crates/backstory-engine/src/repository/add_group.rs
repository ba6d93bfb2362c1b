//! Adds a group: all its projects at a forge are read, new ones as they come.

use backstory_model::{id::is_project_path, reference::Forge, text::truncate_echo};
use backstory_sources::{forge::GroupProject, git::naming::host_and_project};
use backstory_store::ledger::ForgeAddress;
use serde::{Deserialize, Serialize};

use super::add::{WELL_KNOWN, authority_of, host_of};
use crate::{
    error::{Error, ErrorKind, Result},
    groups::{AddedGroup, add_group},
    resources::Resources,
    use_case::{Scope, UseCase},
};

/// Adds a group, all of whose projects are read, new ones too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AddGroup {
    /// Its address at the forge, or its path if one forge is configured.
    pub address: String,
    /// Which forge it is on. Told from the host of an address, if that is one that is configured or well known.
    #[serde(default)]
    pub forge: Option<Forge>,
}

impl UseCase for AddGroup {
    const NAME: &'static str = "add-group";
    const SCOPE: Scope = Scope::Admin;
    type Answer = GroupProjects;

    async fn run(self, resources: &Resources) -> Result<GroupProjects> {
        add(resources, &self).await
    }
}

/// The projects of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupProjects {
    /// Path of the group.
    pub group: String,
    /// Full paths of its projects.
    pub projects: Vec<String>,
    /// Those of them that are archived: they are read, and do not change any more.
    pub archived: Vec<String>,
}

async fn add(resources: &Resources, request: &AddGroup) -> Result<GroupProjects> {
    if !resources.visibility().allows_all_projects() {
        let message = format!("{} may not add all projects of a group", resources.actor());
        return Err(Error::new(ErrorKind::Forbidden, message));
    }
    let added = find_group(resources, request.address.trim().trim_end_matches("/*"), request.forge)?;
    let group = added.group.clone();
    let found: Vec<GroupProject> = add_group(resources, added).await?;
    let archived = found.iter().filter(|project| project.archived).map(|project| project.path.clone()).collect();
    Ok(GroupProjects { group, projects: found.into_iter().map(|project| project.path).collect(), archived })
}

/// Which group of which forge an address or path is of.
fn find_group(resources: &Resources, address: &str, asked: Option<Forge>) -> Result<AddedGroup> {
    let configured = &resources.settings().forges;
    if !address.contains("://") {
        if !is_project_path(address) {
            return Err(Error::invalid(format!("'{}' is not the path of a group", truncate_echo(address)))
                .with_hint("write group, or its address like https://gitlab.example.com/group"));
        }
        let [only] = configured.as_slice() else {
            return Err(Error::invalid(format!("which forge has the group {}?", truncate_echo(address)))
                .with_hint("give its address, like https://gitlab.example.com/group"));
        };
        let forge = ForgeAddress { kind: only.kind, base_url: only.connection.base_url.to_string() };
        return Ok(AddedGroup { forge, group: address.to_owned() });
    }
    let wrong = || Error::invalid(format!("'{}' is not the address of a group", truncate_echo(address)));
    let (host, group) = host_and_project(address).ok_or_else(wrong)?;
    let known = configured.iter().find(|forge| authority_of(&forge.web_url()) == host);
    let well_known = WELL_KNOWN.iter().find(|(known, _)| *known == host_of(address)).map(|(_, kind)| *kind);
    let Some(kind) = asked.or(known.map(|forge| forge.kind)).or(well_known) else {
        return Err(Error::invalid(format!("nothing tells which forge {} is", truncate_echo(host)))
            .with_hint("say it with --forge gitlab or --forge github"));
    };
    let base_url = match known.filter(|forge| forge.kind == kind) {
        Some(forge) => forge.connection.base_url.to_string(),
        None => {
            let base = format!("{}://{host}", if address.starts_with("http://") { "http" } else { "https" });
            let url = base.parse().map_err(|_| wrong())?;
            resources.settings().repositories.network_of_added_forges().check(&url)?;
            base
        }
    };
    Ok(AddedGroup { forge: ForgeAddress { kind, base_url }, group: group.to_owned() })
}
