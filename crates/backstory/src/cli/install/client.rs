//! The programs that can be set up, as `clients.toml` has them.

use std::{
    env,
    path::{Path, PathBuf},
};

use backstory_engine::error::ErrorKind;
use serde::Deserialize;

use crate::failure::{Failure, Result};

const CLIENTS: &str = include_str!("clients.toml");
/// Variables that name another directory for what is otherwise below one in the home directory.
const MOVED: [(&str, &str); 3] =
    [(".config", "XDG_CONFIG_HOME"), (".codex", "CODEX_HOME"), (".claude", "CLAUDE_CONFIG_DIR")];
/// What moves into a directory with the other files, though it is not in it otherwise.
const BESIDE: (&str, &str) = (".claude.json", "CLAUDE_CONFIG_DIR");

/// A program with an agent in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentClient {
    /// What it is called on the command line.
    pub(super) id: String,
    /// What people call it.
    pub(super) name: String,
    command: String,
    found: Vec<String>,
    config: Vec<String>,
    project_config: Option<String>,
    /// Where in its configuration the servers are.
    pub(super) key: String,
    /// How it writes a server.
    pub(super) entry: EntryShape,
    instructions: Option<String>,
    project_instructions: Option<String>,
    skills: Option<String>,
    hooks: Option<String>,
}

/// How a configuration writes a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EntryShape {
    /// `{command, args}`
    Plain,
    /// `{type: "stdio", command, args}`
    Typed,
    /// `{type: "local", command: [...], enabled: true}`
    Local,
}

/// Where something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum InstallScope {
    /// For this user, in every project
    User,
    /// For everybody who works on the project of the working directory
    Project,
}

/// The files of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientFiles {
    /// With the servers, if there is such a file in this scope.
    pub(super) config: Option<PathBuf>,
    /// That the agent reads in every conversation.
    pub(super) instructions: Option<PathBuf>,
    /// With the skill.
    pub(super) skill: Option<PathBuf>,
    /// With hooks.
    pub(super) hooks: Option<PathBuf>,
}

#[derive(Deserialize)]
struct ClientList {
    client: Vec<AgentClient>,
}

/// All of them.
///
/// # Errors
/// The list in the program is wrong.
pub(super) fn list_clients() -> Result<Vec<AgentClient>> {
    let list: ClientList = toml::from_str(CLIENTS)
        .map_err(|error| Failure::new(ErrorKind::Internal, format!("the list of agents is wrong: {error}")))?;
    Ok(list.client)
}

impl AgentClient {
    /// Whether it is installed: its command is on the path, or it has left something in the home directory.
    pub(super) fn is_installed(&self, home: &Path, path: &[PathBuf]) -> bool {
        self.found.iter().any(|found| in_home(home, found).exists())
            || path.iter().any(|directory| directory.join(&self.command).is_file())
    }

    /// Its files in a scope, of which `root` is the directory.
    pub(super) fn files(&self, scope: InstallScope, root: &Path) -> ClientFiles {
        let place = |path: &String| match scope {
            InstallScope::User => in_home(root, path),
            InstallScope::Project => root.join(path),
        };
        let at = |path: &Option<String>| path.as_ref().map(place);
        let (config, instructions) = match scope {
            InstallScope::User => {
                let known = self.config.iter().map(place).find(|path| path.is_file());
                let has_directory = |path: &PathBuf| path.parent().is_some_and(Path::exists);
                let path = known.or_else(|| self.config.iter().map(place).find(has_directory));
                (path.or_else(|| self.config.first().map(place)), at(&self.instructions))
            }
            InstallScope::Project => (at(&self.project_config), at(&self.project_instructions)),
        };
        ClientFiles {
            config,
            instructions,
            skill: at(&self.skills).map(|skills| skills.join("backstory").join("SKILL.md")),
            hooks: at(&self.hooks),
        }
    }
}

/// Where something below the home directory is for this user.
fn in_home(home: &Path, path: &str) -> PathBuf {
    let named = |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(directory) = named(BESIDE.1).filter(|_| path == BESIDE.0) {
        return directory.join(path);
    }
    let below = |(directory, variable): (&str, &str)| {
        let rest = Path::new(path).strip_prefix(directory).ok()?;
        named(variable).map(|moved| if rest.as_os_str().is_empty() { moved } else { moved.join(rest) })
    };
    MOVED.into_iter().find_map(below).unwrap_or_else(|| home.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_clients_is_well_formed() {
        let clients = list_clients().expect("a list");
        assert!(clients.len() >= 8);
        for client in &clients {
            assert!(!client.config.is_empty() && !client.found.is_empty(), "{}", client.id);
            assert_eq!(clients.iter().filter(|other| other.id == client.id).count(), 1);
        }
    }
}
