//! What the ledger keeps of a git repository, one record per item: commits with the code entities they change, what
//! merges introduced, branches and tags, the files at the indexed head and what was inferred about them.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    code::{EntityKind, FileAnalysis, LeftOutReason},
    commit::{Branch, Commit, RepoPath, Sha, Tag},
    id::{NodeId, escape_path},
    item_kind::ItemKind,
    people::IdentityMatch,
    reference::{Forge, ReferenceContext},
    test_files::{TestKind, TestRule},
};

/// A repository: where it is cloned from and how the short references in its messages read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Path or URL that it is cloned from, without credentials.
    pub address: String,
    /// Whose syntax `#12` in its messages follows.
    pub forge: Forge,
    /// Address of the forge, without a slash at its end; empty if it has none.
    pub forge_url: String,
    /// Branch that HEAD points at.
    pub default_branch: Option<RepoPath>,
    /// Whether its history is cut off.
    pub shallow: bool,
}

/// A code entity by its file's path and its qualified name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EntityRef {
    /// Path of its file.
    pub path: RepoPath,
    /// Its qualified name.
    pub name: String,
}

/// What a commit does to a code entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EntityChangeKind {
    /// It was not there before.
    Introduced,
    /// Its code changes, or it moves.
    Modified,
    /// It is not there any more.
    Removed,
}

/// A code entity that a commit changes. White space and comments are no change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityChange {
    /// Which one, as it is called after the commit; before it, if it is removed.
    pub entity: EntityRef,
    /// Kind of entity.
    pub kind: EntityKind,
    /// What happens to it.
    pub change: EntityChangeKind,
    /// What it was called before, if that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<EntityRef>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitRecord {
    /// The commit and its files.
    pub commit: Commit,
    /// The code entities it changes; none for a merge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<EntityChange>,
    /// Abbreviated object names in its message and what they stand for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub named: BTreeMap<String, Sha>,
    /// Whether no indexed branch reaches it any more: history was rewritten.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewritten: bool,
    /// The time that orders it among others if that is not when it was made: a second after the latest of its parents,
    /// which were made in the same second or by a clock that was ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_at: Option<Timestamp>,
}

/// The commits that a merge commit brought to the default branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    /// The merge commit.
    pub sha: Sha,
    /// What it brought, without what a merge among them brought; sorted.
    pub brought: Vec<Sha>,
    /// Numbers of the merge requests that it merged although their forge names another commit; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<u64>,
}

/// A branch that is indexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedBranch {
    /// The branch.
    #[serde(flatten)]
    pub branch: Branch,
    /// Whether it is the default branch.
    pub default: bool,
}

/// A file at the indexed head of the default branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadFile {
    /// Its path.
    pub path: RepoPath,
    /// Its content.
    pub blob: Sha,
    /// Bytes of its content.
    pub bytes: u64,
    /// When it last changed.
    pub changed_at: Timestamp,
    /// Why its content is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOutReason>,
    /// What it contains, unless it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<FileAnalysis>,
}

/// What one piece of code has to do with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeLinkKind {
    /// It calls it.
    Calls,
    /// It imports the file.
    Imports,
    /// It extends it.
    Extends,
    /// It implements it.
    Implements,
}

/// A reference of a file to code whose definition was found by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeLink {
    /// What it says.
    pub kind: CodeLinkKind,
    /// Qualified name of the entity that refers; none for the file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Path of the file that is referred to.
    pub path: String,
    /// Qualified name of the entity that is referred to; none for the file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// How sure it is, 0 to 1.
    pub confidence: f32,
    /// Line of the reference.
    pub line: u32,
}

/// A test of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileTest {
    /// Path of the test.
    pub path: String,
    /// Kind of the test.
    pub kind: TestKind,
    /// Which convention says so.
    pub rule: TestRule,
    /// How sure it is, 0 to 1.
    pub confidence: f32,
}

/// What was found about a file at the indexed head by names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResolvedFileLinks {
    /// Its references.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<CodeLink>,
    /// Its tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<FileTest>,
    /// Entities of it that are tests and call what they test: qualified name of the test, path and name of the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verifies: Vec<(String, String, String)>,
}

/// How often something changed when something else did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoChangedPair {
    /// What changed, a file or an entity by its [`code_key`].
    pub first: String,
    /// What changed with it.
    pub second: String,
    /// Commits in which both changed.
    pub support: u32,
    /// Support divided by the number of changes of the first.
    pub confidence: f32,
}

/// Most commits of one shipment.
pub const MAX_SHIPPED: usize = 1_000_000;

/// The commits that a tag is the first release of: it has them, and no earlier tag does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shipment {
    /// Name of the tag.
    pub tag: RepoPath,
    /// The commits, in the order of their names; of more than [`MAX_SHIPPED`] the first ones.
    pub commits: Vec<Sha>,
}

/// What changes together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoChangedPairs {
    /// The pairs, ordered by their names.
    pub pairs: Vec<CoChangedPair>,
}

/// How central code is, by who refers to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CodeRanks {
    /// Files and entities by their [`code_key`], each with its PageRank in millionths; the most central ones.
    pub ranks: BTreeMap<String, u64>,
}

/// A person as commits know them, by an e-mail address, or by a name where there is no address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommitIdentity {
    /// The address in lower case, or the name.
    pub key: String,
    /// Names beside the address, sorted.
    pub names: Vec<String>,
    /// The person they are: a user name, or the key of another identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// The least sure reason for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<IdentityMatch>,
}

impl CommitIdentity {
    /// What two projects know of the same person; where both say who that is, this one is right.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.names.extend(other.names);
        self.names.sort_unstable();
        self.names.dedup();
        if self.same_as.is_none() {
            (self.same_as, self.because) = (other.same_as, other.because);
        }
        self
    }
}

/// One unit of the ledger about a repository.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The repository itself.
    Repository(Repository),
    /// A commit.
    Commit(Box<CommitRecord>),
    /// What a merge brought.
    Merge(Merge),
    /// A branch.
    Branch(IndexedBranch),
    /// A tag.
    Tag(Tag),
    /// What a tag is the first release of.
    Shipment(Shipment),
    /// A file at the indexed head.
    File(Box<HeadFile>),
    /// What was found about the file at a path.
    FileLinks(RepoPath, ResolvedFileLinks),
    /// What changes together.
    CoChanges(CoChangedPairs),
    /// How central code is.
    Importance(CodeRanks),
}

/// A record and the repository it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct RepositoryItem {
    /// Full path of the project.
    pub project: String,
    /// The repository.
    pub repository: Arc<Repository>,
    /// The record.
    pub record: Record,
}

impl RepositoryItem {
    /// How references in messages read.
    pub fn context(&self) -> ReferenceContext<'_> {
        ReferenceContext { forge: self.repository.forge, project: &self.project, forge_url: &self.repository.forge_url }
    }

    /// The node that the record is of.
    pub fn id(&self) -> NodeId {
        let project = self.project.clone();
        match &self.record {
            Record::Repository(_) | Record::CoChanges(_) | Record::Importance(_) => NodeId::Project(project),
            Record::Commit(record) => NodeId::commit(project, &record.commit.sha.to_string()),
            Record::Merge(merge) => NodeId::commit(project, &merge.sha.to_string()),
            Record::Branch(branch) => NodeId::Branch { project, name: branch.branch.name.as_str().to_owned() },
            Record::Tag(tag) => NodeId::Tag { project, name: tag.name.as_str().to_owned() },
            Record::Shipment(shipment) => NodeId::Tag { project, name: shipment.tag.as_str().to_owned() },
            Record::File(file) => NodeId::file(project, file.path.as_str()),
            Record::FileLinks(path, _) => NodeId::file(project, path.as_str()),
        }
    }
}

/// Reads the payload of a record. Repositories, and people, are not read here.
///
/// # Errors
/// It is not one of that kind.
pub fn parse(kind: ItemKind, key: &str, payload: &[u8]) -> Result<Record, serde_json::Error> {
    Ok(match kind {
        ItemKind::Repository => Record::Repository(serde_json::from_slice(payload)?),
        ItemKind::Commit => Record::Commit(serde_json::from_slice(payload)?),
        ItemKind::Merge => Record::Merge(serde_json::from_slice(payload)?),
        ItemKind::Branch => Record::Branch(serde_json::from_slice(payload)?),
        ItemKind::Tag => Record::Tag(serde_json::from_slice(payload)?),
        ItemKind::Shipment => Record::Shipment(serde_json::from_slice(payload)?),
        ItemKind::File => Record::File(serde_json::from_slice(payload)?),
        ItemKind::FileLinks => Record::FileLinks(RepoPath::from_escaped(key), serde_json::from_slice(payload)?),
        ItemKind::CoChange => Record::CoChanges(serde_json::from_slice(payload)?),
        ItemKind::Importance => Record::Importance(serde_json::from_slice(payload)?),
        _ => return Err(serde::de::Error::custom(format!("{} is nothing of a repository", kind.as_str()))),
    })
}

/// How a record names a file or an entity of it: as ids do, without the project.
pub fn code_key(path: &str, entity: Option<&str>) -> String {
    match entity {
        Some(name) => format!("{}#{name}", escape_path(path)),
        None => escape_path(path),
    }
}

/// The node that such a name stands for.
pub fn code_node_id(project: &str, name: &str) -> NodeId {
    format!("{project}:{name}").parse().unwrap_or_else(|_| NodeId::file(project, name))
}

/// The key of who a signature names: the address in lower case, or the name if that is none.
pub fn identity_key(name: &str, email: &str) -> String {
    let email = email.trim().to_lowercase();
    if crate::id::is_address(&email) {
        return email;
    }
    let name: String = name.chars().filter(|c| !c.is_control()).take(200).collect();
    let name = name.split_whitespace().collect::<Vec<_>>().join(".").to_lowercase();
    // Nobody's user name has this host.
    format!("{}@unknown", if name.is_empty() { "nobody" } else { &name })
}
