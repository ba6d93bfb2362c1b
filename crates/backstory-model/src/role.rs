//! The roles of a server: what it does of all that can be done with the stores.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

/// A part of what can be done with the stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum ServerRole {
    /// Answer questions
    Read,
    /// Sync by schedule, webhook and request, and make other changes
    Write,
    /// Make vectors in the background
    Embed,
}

impl ServerRole {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Embed];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Embed => "embed",
        }
    }
}

/// The roles of a process: all of them, unless it is a server that was told otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Roles(BTreeSet<ServerRole>);

impl Roles {
    /// Whether it has a role.
    pub fn has(&self, role: ServerRole) -> bool {
        self.0.contains(&role)
    }

    /// Whether it has all of them.
    pub fn is_all(&self) -> bool {
        self.0.len() == ServerRole::ALL.len()
    }

    /// The same and one more.
    #[must_use]
    pub fn with(&self, role: ServerRole) -> Self {
        self.0.iter().copied().chain([role]).collect()
    }
}

impl Default for Roles {
    fn default() -> Self {
        ServerRole::ALL.into_iter().collect()
    }
}

impl FromIterator<ServerRole> for Roles {
    fn from_iter<I: IntoIterator<Item = ServerRole>>(roles: I) -> Self {
        Self(roles.into_iter().collect())
    }
}

impl fmt::Display for Roles {
    /// As an argument: `read,embed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(","))
    }
}
