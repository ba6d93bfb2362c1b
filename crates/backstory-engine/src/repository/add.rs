//! Adding and removing repositories.

use std::path::Path;

use backstory_model::{id::is_project_path, reference::Forge};
use backstory_sources::git::{
    address::{Address, AllowedHosts, resolve},
    clone::Credential,
    naming::{host_and_project, of_directory, origin_of},
};
use backstory_store::ledger::{Branches, RepositoryEntry};
use jiff::Timestamp;

use crate::{
    Engine,
    error::{Error, ErrorKind, Result},
    settings,
};

/// A repository to index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddRequest {
    /// Path on this machine, absolute, or a `https`, `http` or `ssh` address.
    pub address: String,
    /// Full path of the project that it is to be; told from the address if absent.
    pub name: Option<String>,
    /// Which branches.
    pub branches: Branches,
}

impl Engine {
    /// Puts a repository on the list of those that a sync reads. One that is there already gets the new branches.
    ///
    /// # Errors
    /// The address is refused, it is no repository, or another one has its name.
    pub async fn add_repository(&self, request: AddRequest) -> Result<RepositoryEntry> {
        let engine = self.clone();
        self.blocking(move || {
            engine.git()?;
            let address = request.address.trim();
            let checked = engine.check_address(address)?;
            let (address, origin) = match &checked {
                Address::Local(path) => (path.display().to_string(), origin_of(path)),
                Address::Remote(_) => (address.to_owned(), Some(address.to_owned())),
            };
            let told = || origin.as_deref().and_then(host_and_project).map(|(_, path)| path.to_owned());
            let project = match request.name {
                Some(name) if is_project_path(&name) => name,
                Some(name) => {
                    return Err(Error::invalid(format!(
                        "'{name}' is no path of a project; write group/project or a single name"
                    )));
                }
                None => told().unwrap_or_else(|| of_directory(Path::new(&address))),
            };
            let entry = match engine.ledger().repository(&project)? {
                Some(known) if known.address == address => RepositoryEntry { branches: request.branches, ..known },
                Some(known) => {
                    return Err(Error::new(
                        ErrorKind::Conflict,
                        format!(
                            "{project} is already the repository at {}; add this one as another project with \
                             'backstory add --name NAME', or remove that one with 'backstory remove {project}'",
                            known.address
                        ),
                    ));
                }
                None => RepositoryEntry {
                    project,
                    address,
                    branches: request.branches,
                    added_at: Timestamp::now(),
                    synced_at: None,
                    indexed: Default::default(),
                    rewritten: Default::default(),
                },
            };
            engine.ledger().put_repository(&entry)?;
            Ok(entry)
        })
        .await
    }

    /// Forgets a repository, its clone and everything known from it.
    ///
    /// # Errors
    /// There is none of that name, or a sync is at work.
    pub async fn remove_repository(&self, project: &str) -> Result<u64> {
        let project = project.to_owned();
        let busy = |task: &crate::task::Task| {
            task.kind == crate::task::TaskKind::Sync && task.status == crate::task::TaskStatus::Running
        };
        if self.all_tasks().iter().any(busy) {
            return Err(Error::new(ErrorKind::Conflict, "a sync is at work; wait for it, then remove the repository"));
        }
        let engine = self.clone();
        let gone = self
            .blocking(move || {
                // A sync that was stopped may still be writing.
                let _nobody_reads = engine.reading();
                if engine.ledger().repository(&project)?.is_none() {
                    return Err(engine.unknown_repository(&project));
                }
                let gone = engine.ledger().remove_repository(&project, Timestamp::now())?;
                engine.forget_objects(&project);
                engine.forget_repository_record(&project);
                remove_clone(&engine.clone_of(&project))?;
                engine.forget_identities()?;
                Ok(gone)
            })
            .await?;
        let project_anew = async {
            self.link_people().await?;
            self.catch_up(None).await?;
            self.refresh_links().await
        };
        self.recorded(project_anew).await?;
        Ok(gone)
    }

    /// Takes a repository off the list whose first sync found nothing that could be read.
    pub(crate) async fn forget_failed(&self, project: &str) -> Result<()> {
        let (engine, project) = (self.clone(), project.to_owned());
        self.blocking(move || {
            if engine.ledger().keys(&project, backstory_model::entity::ItemKind::Commit)?.is_empty() {
                engine.ledger().remove_repository(&project, Timestamp::now())?;
                engine.forget_objects(&project);
                engine.forget_repository_record(&project);
                remove_clone(&engine.clone_of(&project))?;
            }
            Ok(())
        })
        .await
    }

    pub(super) fn check_address(&self, address: &str) -> Result<Address> {
        let allowed = AllowedHosts::new(&self.settings().repositories.allowed_hosts);
        Ok(Address::check(address, &allowed, resolve)?)
    }

    pub(crate) fn unknown_repository(&self, project: &str) -> Error {
        let known: Vec<String> =
            self.ledger().repositories().unwrap_or_default().into_iter().map(|of| of.project).collect();
        let known =
            if known.is_empty() { "there is none yet".to_owned() } else { format!("known: {}", known.join(", ")) };
        Error::new(ErrorKind::NotFound, format!("there is no repository {project}; {known}"))
    }

    /// Whose syntax the messages of a repository follow, and the forge's address.
    pub(super) fn forge_of(&self, project: &str, address: &Address, text: &str) -> (Forge, String) {
        if let Some((forge, _)) = self.settings().projects().find(|(_, known)| *known == project) {
            return (Forge::GitLab, forge.connection.base_url.as_str().trim_end_matches('/').to_owned());
        }
        let origin = match address {
            Address::Local(path) => origin_of(path),
            Address::Remote(_) => Some(text.to_owned()),
        };
        match origin.as_deref().and_then(host_and_project) {
            // A project of another name has other addresses.
            Some((host, path)) if path == project => {
                let forge = if host.contains("github") { Forge::GitHub } else { Forge::GitLab };
                (forge, format!("https://{host}"))
            }
            Some((host, _)) if host.contains("github") => (Forge::GitHub, String::new()),
            _ => (Forge::GitLab, String::new()),
        }
    }

    /// The token of the forge that an address belongs to.
    pub(super) fn credential_for(&self, address: &Address) -> Option<Credential> {
        let Address::Remote(remote) = address else { return None };
        if !remote.may_have_token() {
            return None;
        }
        let of_host = |forge: &&settings::Forge| forge.connection.base_url.host_str() == Some(remote.host());
        let forge = self.settings().forges.iter().find(of_host)?;
        Some(Credential { username: "oauth2".to_owned(), token: forge.connection.token.clone()? })
    }
}

/// Removes a clone, if there is one.
pub(super) fn remove_clone(clone: &Path) -> Result<()> {
    match std::fs::remove_dir_all(clone) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::internal(format!("the clone {} cannot be removed: {error}", clone.display())))
        }
        _ => Ok(()),
    }
}
