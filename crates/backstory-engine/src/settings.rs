//! The settings of the use cases: forges, embedding, search. The binary's `config` reads them from a file and the
//! environment.

use std::{ffi::OsString, fmt, path::PathBuf};

pub use backstory_model::reference::Forge as ForgeKind;
use backstory_model::{
    link::DEFAULT_CONFIDENCE,
    role::{Roles, ServerRole},
    score::{Parts, Profile},
};
use backstory_sources::{forge, redact::Redactor};
use globset::GlobSet;
use jiff::SignedDuration;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{
    embed,
    error::{Error, ErrorKind, Result},
    llm, rerank,
    snapshot::DEFAULT_KEPT,
};

/// A forge and its projects.
#[derive(Clone, Debug)]
pub struct Forge {
    /// Which forge.
    pub kind: ForgeKind,
    /// How to reach it.
    pub connection: forge::Settings,
    /// Full paths of the projects to read.
    pub projects: Vec<String>,
    /// What its webhooks must show or be signed with; without it there are none.
    pub webhook_secret: Option<SecretString>,
}

impl Forge {
    /// Address of its pages, without a slash at its end.
    pub fn web_url(&self) -> String {
        forge::web_url(self.kind, &self.connection.base_url)
    }

    /// Whether confidential items of its projects are read.
    pub fn reads_confidential(&self) -> bool {
        self.connection.confidential
    }
}

/// How hits of a search are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranking {
    /// How the parts become a score.
    pub profile: Profile,
    /// What each part counts, 0 to 1: that of the profile, unless it is set.
    pub weights: Parts,
}

impl fmt::Display for Ranking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.profile.as_str())?;
        for (name, weight) in self.weights.named().into_iter().filter(|(_, weight)| *weight > 0.0) {
            write!(f, " {name} {weight}")?;
        }
        Ok(())
    }
}

impl Default for Ranking {
    fn default() -> Self {
        Profile::Default.into()
    }
}

impl From<Profile> for Ranking {
    fn from(profile: Profile) -> Self {
        Self { profile, weights: profile.weights() }
    }
}

/// How repositories are read.
#[derive(Clone, Debug, Default)]
pub struct Repositories {
    /// Hosts that may be cloned from although they are not public.
    pub allowed_hosts: Vec<String>,
    /// Only files whose path matches are looked into; all if there is none.
    pub include: GlobSet,
    /// Files whose path matches are not looked into.
    pub exclude: GlobSet,
    /// `SSH_AUTH_SOCK`: the agent that holds the keys for ssh addresses.
    pub ssh_agent: Option<OsString>,
    /// A program that becomes git within limits ([`exec_git_if_requested`](crate::repository::become_git)): the running one, if it
    /// does so. Without one git has no limit of memory, and outlives this process if it is killed.
    pub git_child: Option<PathBuf>,
}

/// Which states of the index stay on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// How many of the newest, besides those that are pinned; 1 to [`MAX_KEPT`](crate::snapshot::MAX_KEPT).
    pub keep: usize,
}

impl Default for Snapshots {
    fn default() -> Self {
        Self { keep: DEFAULT_KEPT }
    }
}

/// How often a server reads every project. What is `None` is only done when somebody asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// What is new.
    pub sync: Option<SignedDuration>,
    /// What differs from what the forge lists.
    pub reconcile: Option<SignedDuration>,
    /// Everything.
    pub full: Option<SignedDuration>,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            sync: Some(SignedDuration::from_mins(10)),
            reconcile: Some(SignedDuration::from_hours(24)),
            full: Some(SignedDuration::from_hours(7 * 24)),
        }
    }
}

/// What is not kept although the forge has it. Everything is, unless it is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Closed and merged threads that have not changed for so long leave, until they do.
    pub closed: Option<SignedDuration>,
    /// Bytes of payloads of a project, unpacked, beyond which its oldest closed and merged threads leave, until there is
    /// room.
    pub bytes: Option<u64>,
    /// Commits of a repository that are kept, the newest.
    pub commits: Option<usize>,
}

impl Retention {
    /// Whether there are threads that are not kept.
    pub fn drops_threads(&self) -> bool {
        self.closed.is_some() || self.bytes.is_some()
    }
}

/// Which links that nobody stated are told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// Least confidence, 0 to 1.
    pub confidence: f32,
}

impl Default for Links {
    fn default() -> Self {
        Self { confidence: DEFAULT_CONFIDENCE }
    }
}

/// Everything; without a forge and with nothing but what is bundled by default.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The forges.
    pub forges: Vec<Forge>,
    /// How repositories are read.
    pub repositories: Repositories,
    /// The embedding model.
    pub embedding: embed::Settings,
    /// How hits are ranked.
    pub ranking: Ranking,
    /// The model that reorders hits, if any.
    pub rerank: Option<rerank::Settings>,
    /// The language model; answers are quotations without one.
    pub llm: Option<llm::Settings>,
    /// Which states of the index stay on record.
    pub snapshots: Snapshots,
    /// Which links that nobody stated are told.
    pub links: Links,
    /// How often a server reads every project.
    pub schedule: Schedule,
    /// What replaces secrets, and which texts it leaves.
    pub redactor: Redactor,
    /// What is not kept.
    pub retention: Retention,
    /// What this process does.
    pub roles: Roles,
}

impl Settings {
    /// Every project with its forge.
    pub fn projects(&self) -> impl Iterator<Item = (&Forge, &str)> {
        self.forges.iter().flat_map(|forge| forge.projects.iter().map(move |project| (forge, project.as_str())))
    }

    /// Refuses what this process does not do.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable): it does not have the role.
    pub fn require_role(&self, role: ServerRole) -> Result<()> {
        if self.roles.has(role) {
            return Ok(());
        }
        let what = match role {
            ServerRole::Read => "answer questions",
            ServerRole::Write => "sync or change anything",
            ServerRole::Embed => "make vectors",
        };
        let message = format!("this server does not {what}: it was started with --roles {}", self.roles);
        Err(Error::new(ErrorKind::Unavailable, message)
            .with_hint(format!("restart it with --roles {}", self.roles.with(role))))
    }
}
