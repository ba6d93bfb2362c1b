//! The settings of the use cases: forges, embedding, search. The binary's `config` reads them from a file and the
//! environment.

use std::{collections::BTreeMap, ffi::OsString, fmt, path::PathBuf, sync::Arc};

use backstory_model::{
    digest::sha256_hex,
    id::is_project_path,
    link::DEFAULT_CONFIDENCE,
    role::{Roles, ServerRole},
    score::{Parts, Profile},
    tracker::Trackers,
};
use backstory_sources::{code::PassageLimits, forge, git::address::AllowedHosts, redact::Redactor};
use backstory_store::index::IndexOptions;
use globset::GlobSet;
use jiff::SignedDuration;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{
    embed,
    error::{Error, ErrorKind, Result},
    llm, rerank,
};

pub use backstory_model::reference::Forge as ForgeKind;

/// A forge and its projects.
#[derive(Clone, Debug)]
pub struct Forge {
    /// Which forge.
    pub kind: ForgeKind,
    /// How to reach it.
    pub connection: forge::ForgeSettings,
    /// Full paths of the projects to read; `group/*` stands for all projects of a group and the groups in it.
    pub projects: Vec<String>,
    /// What its webhooks must show or be signed with; without it there are none.
    pub webhook_secret: Option<SecretString>,
}

impl Forge {
    /// Address of its pages, without a slash at its end.
    pub fn web_url(&self) -> String {
        forge::web_url(self.kind, &self.connection.base_url)
    }

    /// The groups of which all projects are read.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.projects.iter().filter_map(|project| group_of_pattern(project))
    }

    /// Whether it has a project, by its path or as one of a group.
    pub fn has_project(&self, project: &str) -> bool {
        let is_in = |group: &str| project.strip_prefix(group).is_some_and(|rest| rest.starts_with('/'));
        self.projects.iter().any(|known| known == project) || self.groups().any(is_in)
    }

    /// Whether confidential items of its projects are read.
    pub fn reads_confidential(&self) -> bool {
        self.connection.confidential
    }
}

/// The group of `group/*`, which stands for all its projects.
pub fn group_of_pattern(project: &str) -> Option<&str> {
    project.strip_suffix("/*")
}

/// Whether a text names projects of a forge: `group/project`, or `group/*` for all of a group.
pub fn names_projects(text: &str) -> bool {
    match group_of_pattern(text) {
        Some(group) => is_project_path(group),
        // A path without a group is a user or a group, not a project.
        None => is_project_path(text) && text.contains('/'),
    }
}

/// How hits of a search are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
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

/// Directories of these names hold what builds write.
pub const OUTPUT_DIRECTORIES: [&str; 5] = ["dist", "build", "bin", "target", "coverage"];
/// Largest file that is looked into unless it is configured, in bytes.
pub const DEFAULT_FILE_BYTES: u64 = 1 << 20;
/// Largest file that can be asked to be looked into, in bytes: lines of larger ones are not traced either.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// Patterns of paths.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    set: GlobSet,
    /// As they are written.
    patterns: Vec<String>,
}

impl Globs {
    /// Patterns and what matches them.
    pub fn new(set: GlobSet, patterns: Vec<String>) -> Self {
        Self { set, patterns }
    }

    /// Whether one of them matches a path.
    pub fn is_match(&self, path: &str) -> bool {
        self.set.is_match(path)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }
}

/// Which files are looked into.
#[derive(Clone, Debug, Default)]
pub struct FileRules {
    /// Only files whose path matches; all if there is none. Build output that matches is looked into too.
    pub include: Globs,
    /// Not those whose path matches.
    pub exclude: Globs,
    /// Largest file, in bytes, at most [`MAX_FILE_BYTES`]; that of all repositories, or [`DEFAULT_FILE_BYTES`], if absent.
    pub max_bytes: Option<u64>,
}

impl FileRules {
    fn leaves_out(&self, path: &str) -> bool {
        (!self.include.is_empty() && !self.include.is_match(path)) || self.exclude.is_match(path)
    }

    fn text(&self) -> String {
        format!("{:?} {:?} {:?}", self.include.patterns, self.exclude.patterns, self.max_bytes)
    }
}

/// How repositories are read.
#[derive(Clone, Debug)]
pub struct RepositorySettings {
    /// Hosts that may be cloned from although they are not public.
    pub allowed_hosts: Vec<String>,
    /// Which files are looked into.
    pub files: FileRules,
    /// Names of directories that hold what builds write, which is not looked into.
    pub output_directories: Vec<String>,
    /// Which files of single projects are looked into besides, by full path.
    pub of_projects: BTreeMap<String, FileRules>,
    /// `SSH_AUTH_SOCK`: the agent that holds the keys for ssh addresses.
    pub ssh_agent: Option<OsString>,
    /// A program that becomes git within limits
    /// ([`run_git_child_if_requested`](crate::repository::run_git_child_if_requested)): the running one, if it does so.
    /// Without one git has no limit of memory, and outlives this process if it is killed.
    pub git_child: Option<PathBuf>,
}

impl Default for RepositorySettings {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            files: FileRules::default(),
            output_directories: OUTPUT_DIRECTORIES.map(str::to_owned).to_vec(),
            of_projects: BTreeMap::new(),
            ssh_agent: None,
            git_child: None,
        }
    }
}

impl RepositorySettings {
    /// Whether a file of a project is not looked into. `src/bin` holds sources in Rust.
    pub fn leaves_out(&self, project: &str, path: &str) -> bool {
        let own = self.of_projects.get(project);
        if self.files.leaves_out(path) || own.is_some_and(|own| own.leaves_out(path)) {
            return true;
        }
        let is_named = self.files.include.is_match(path) || own.is_some_and(|own| own.include.is_match(path));
        let directories = path.rsplit_once('/').map_or("", |(directories, _)| directories);
        let mut before = "";
        let is_output = directories.split('/').any(|name| {
            let is_source = name == "bin" && before == "src";
            before = name;
            !is_source && self.output_directories.iter().any(|output| output == name)
        });
        is_output && !is_named
    }

    /// Where a forge may be that is not configured: any user of the API can name one.
    pub fn network_of_added_forges(&self) -> forge::AllowedNetwork {
        forge::AllowedNetwork::Public(AllowedHosts::new(&self.allowed_hosts))
    }

    /// Largest file of a project that is looked into, in bytes.
    pub fn max_file_bytes(&self, project: &str) -> u64 {
        let own = self.of_projects.get(project).and_then(|own| own.max_bytes);
        own.or(self.files.max_bytes).unwrap_or(DEFAULT_FILE_BYTES).min(MAX_FILE_BYTES)
    }

    /// A text that is another if other files of a project are looked into.
    pub fn file_rules_hash(&self, project: &str) -> String {
        let own = self.of_projects.get(project).map(FileRules::text).unwrap_or_default();
        sha256_hex(&format!("{} {:?} {own}", self.files.text(), self.output_directories))
    }
}

/// Which states of the index stay on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotSettings {
    /// How many of the newest, besides those that are pinned; 1 to [`MAX_KEPT_SNAPSHOTS`](crate::snapshot::MAX_KEPT_SNAPSHOTS).
    pub keep: usize,
}

impl Default for SnapshotSettings {
    fn default() -> Self {
        Self { keep: DEFAULT_KEPT_SNAPSHOTS }
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

/// Which inferred links are told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSettings {
    /// Least confidence, 0 to 1.
    pub confidence: f32,
}

impl Default for LinkSettings {
    fn default() -> Self {
        Self { confidence: DEFAULT_CONFIDENCE }
    }
}

/// What is told of single people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeopleSettings {
    /// Whether anybody may ask what a person did and what waits for them.
    pub tracking: bool,
    /// User name of the person who uses the command line.
    pub me: Option<String>,
}

impl Default for PeopleSettings {
    fn default() -> Self {
        Self { tracking: true, me: None }
    }
}

/// Everything; without a forge and with nothing but what is bundled by default.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The forges.
    pub forges: Vec<Forge>,
    /// Projects of groups that are not read, by patterns of their paths.
    pub excluded_projects: Globs,
    /// How repositories are read.
    pub repositories: RepositorySettings,
    /// The embedding model.
    pub embedding: embed::Settings,
    /// How hits are ranked.
    pub ranking: Ranking,
    /// The model that reorders hits, if any.
    pub rerank: Option<rerank::Settings>,
    /// The language model; answers are quotations without one.
    pub llm: Option<llm::Settings>,
    /// Which states of the index stay on record.
    pub snapshots: SnapshotSettings,
    /// Which inferred links are told.
    pub links: LinkSettings,
    /// How often a server reads every project.
    pub schedule: Schedule,
    /// What replaces secrets, and which texts it leaves.
    pub redactor: Redactor,
    /// What is not kept.
    pub retention: Retention,
    /// What is told of single people.
    pub people: PeopleSettings,
    /// How files are cut into the pieces that search reads.
    pub chunks: PassageLimits,
    /// How the index finds the nearest vectors, and what it keeps in memory.
    pub index: IndexOptions,
    /// How tickets of other trackers are written.
    pub trackers: Arc<Trackers>,
    /// What this process does.
    pub roles: Roles,
}

impl Settings {
    /// Every project that is named, with its forge; those of groups are not.
    pub fn projects(&self) -> impl Iterator<Item = (&Forge, &str)> {
        let all =
            self.forges.iter().flat_map(|forge| forge.projects.iter().map(move |project| (forge, project.as_str())));
        all.filter(|(_, project)| group_of_pattern(project).is_none())
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

/// States that are kept unless configured otherwise, besides those that are pinned.
pub const DEFAULT_KEPT_SNAPSHOTS: usize = 3;
