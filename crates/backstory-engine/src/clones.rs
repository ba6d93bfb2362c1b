//! Clones of repositories: where they are, their objects, and text that is read from them.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use backstory_model::{code::Lines, commit::Sha, reference::Forge};
use backstory_sources::git::{
    address::Address,
    clone::Credential,
    command::{GitProgram, GitSettings},
    objects::Objects,
};

use crate::{
    error::{Error, ErrorKind, Result},
    read::not_found,
    resources::Resources,
    settings,
};

/// Largest file that lines are read of, in bytes; the sync reads none that is larger.
pub(crate) const MAX_TEXT: u64 = 4 << 20;

/// The token of the forge that an address belongs to: one at the same host and port, reached by the same scheme.
pub(crate) fn credential_for(resources: &Resources, address: &Address) -> Option<Credential> {
    let Address::Remote(remote) = address else { return None };
    if !remote.may_receive_token() {
        return None;
    }
    let is_at = |forge: &&settings::Forge| remote.has_origin(&forge.web_url());
    let forge = resources.settings().forges.iter().find(is_at)?;
    let username = match forge.kind {
        Forge::GitLab => "oauth2",
        Forge::GitHub => "x-access-token",
    };
    Some(Credential { username: username.to_owned(), token: forge.connection.token.clone()? })
}

/// Lines of a file's content, joined with line feeds, without the secrets in them; empty if there are no such lines.
///
/// # Errors
/// The clone has no such content, or more than [`MAX_TEXT`] bytes of it.
pub(crate) async fn read_lines(resources: &Resources, project: &str, blob: Sha, lines: Lines) -> Result<String> {
    let project = project.to_owned();
    resources
        .blocking(move |resources| {
            let bytes = open_objects(resources, &project)?.blob(blob, MAX_TEXT)?;
            let text = clean_text(resources, &bytes);
            let before = lines.first.saturating_sub(1) as usize;
            let text: Vec<&str> = text.lines().skip(before).take(lines.count() as usize).collect();
            Ok(text.join("\n"))
        })
        .await
}

/// The text of a file, without the secrets in it, with aliases for people who were forgotten, and with all its lines.
pub(crate) fn clean_text(resources: &Resources, bytes: &[u8]) -> String {
    let text = match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => resources.redactor().redact_file(text).0.into_owned(),
        Cow::Owned(text) => resources.redactor().redact_file(&text).0.into_owned(),
    };
    resources.ledger().aliases().replace_text(&text).unwrap_or(text)
}

/// Where the clone of a project's repository is.
pub(crate) fn clone_path(resources: &Resources, project: &str) -> PathBuf {
    let name = project.replace('%', "%25").replace('/', "%2F");
    resources.shared.data_dir.join("clones").join(format!("{name}.git"))
}

/// Whether the repository of a project has a clone, be it damaged. A ledger that was restored elsewhere has none.
pub(crate) fn has_clone(resources: &Resources, project: &str) -> bool {
    clone_path(resources, project).exists()
}

/// The objects of a project's repository. They stay open.
pub(crate) fn open_objects(resources: &Resources, project: &str) -> Result<Arc<Objects>> {
    if !resources.visibility().allows_project(project) {
        return Err(not_found("repository", project));
    }
    let mut open = resources.shared.objects.lock();
    if let Some(objects) = open.get(project) {
        return Ok(objects.clone());
    }
    if !has_clone(resources, project) {
        let message = format!("the clone of {project} is missing; 'backstory sync {project}' clones it again");
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    let objects = Arc::new(Objects::open(&clone_path(resources, project))?);
    open.insert(project.to_owned(), objects.clone());
    Ok(objects)
}

pub(crate) fn close_clone(resources: &Resources, project: &str) {
    resources.shared.objects.lock().remove(project);
}

/// The git program, looked for once.
pub(crate) fn find_git(resources: &Resources) -> Result<GitProgram> {
    if let Some(git) = resources.shared.git.get() {
        return Ok(git.clone());
    }
    let repositories = &resources.settings().repositories;
    let (ssh_agent, child) = (repositories.ssh_agent.clone(), repositories.git_child.clone());
    let settings = GitSettings { ssh_agent, child, ..Default::default() };
    let found = GitProgram::find(settings).map_err(|error| Error::caused_by(ErrorKind::Configuration, error))?;
    Ok(resources.shared.git.get_or_init(|| found).clone())
}
