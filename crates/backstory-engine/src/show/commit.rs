//! A commit: its message, its type by rules and by a language model, and the files it changes.

use backstory_model::{
    classify::{self, ChangeType, Rule},
    commit::{ChangeStatus, FileChange, Sha},
    document::commit_url,
    entity::Item,
    id::NodeId,
    repository::Record,
    security::SecurityFlag,
};
use backstory_store::graph::Direction;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    generated::CommitClassification,
    generated::{hundredths, results::classification_by_model},
    read::{load_edges, load_item, not_found},
    resources::Resources,
};

/// Most files of a commit.
const MAX_FILES: usize = 100;

/// A commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommitDetails {
    /// Its id.
    pub id: NodeId,
    /// Object name.
    pub sha: Sha,
    /// The whole message.
    pub message: String,
    /// Name of the author.
    pub author_name: String,
    /// When the change was written.
    pub authored_at: Timestamp,
    /// Type of the change by rules; null for a merge.
    pub change_type: Option<ChangeType>,
    /// Confidence of that, 0 to 1, in hundredths.
    pub change_type_confidence: Option<f32>,
    /// The rule that decided it.
    pub change_type_rule: Option<Rule>,
    /// Type of the change by a language model.
    pub model_classification: Option<CommitClassification>,
    /// What it says of security, each with the line that says it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_flags: Vec<SecurityFlag>,
    /// Tickets of other trackers that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tickets: Vec<NodeId>,
    /// Lines added, compared with the first parent.
    pub insertions: u64,
    /// Lines deleted, compared with the first parent.
    pub deletions: u64,
    /// How many files it changes.
    pub file_count: usize,
    /// The first of them in git's order, at most 100.
    pub files: Vec<FileSummary>,
    /// Address for people; null if the repository has no forge.
    pub url: Option<String>,
}

/// A file that a commit changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSummary {
    /// Path after the commit, or before it if the file is deleted.
    pub path: String,
    /// What the commit does to it.
    pub status: ChangeStatus,
    /// Lines added; null for a binary file.
    pub insertions: Option<u32>,
    /// Lines deleted; null for a binary file.
    pub deletions: Option<u32>,
}

impl From<&FileChange> for FileSummary {
    fn from(change: &FileChange) -> Self {
        Self {
            path: change.path.as_str().to_owned(),
            status: change.status,
            insertions: change.lines.map(|lines| lines.insertions),
            deletions: change.lines.map(|lines| lines.deletions),
        }
    }
}

pub(super) async fn commit_details(resources: &Resources, id: &NodeId) -> Result<CommitDetails> {
    let missing = || not_found("commit", &id.to_string());
    let Some(Item::Repository(of_repository)) = load_item(resources, id.clone()).await? else { return Err(missing()) };
    let Record::Commit(record) = &of_repository.record else { return Err(missing()) };
    let commit = &record.commit;
    let main = classify::classify_commit(commit).map(|classification| classification.main);
    let (insertions, deletions) = commit.line_counts();
    Ok(CommitDetails {
        id: id.clone(),
        sha: commit.sha,
        message: commit.message.clone(),
        author_name: commit.author.name.clone(),
        authored_at: commit.author.at,
        change_type: main.map(|main| main.kind),
        change_type_confidence: main.map(|main| hundredths(main.confidence)),
        change_type_rule: main.map(|main| main.rule),
        model_classification: classification_by_model(resources, id).await?,
        security_flags: classify::security_flags(commit),
        tickets: tickets_of(resources, id).await?,
        insertions,
        deletions,
        file_count: commit.changes.len(),
        files: commit.changes.iter().take(MAX_FILES).map(FileSummary::from).collect(),
        url: Some(commit_url(of_repository.context(), &commit.sha.to_string())).filter(|url| !url.is_empty()),
    })
}

async fn tickets_of(resources: &Resources, id: &NodeId) -> Result<Vec<NodeId>> {
    let edges = load_edges(resources, vec![id.clone()], Direction::Out, None).await?;
    let mut tickets: Vec<NodeId> = edges.into_iter().flatten().map(|end| end.other).collect();
    tickets.retain(|other| matches!(other, NodeId::Ticket(_)));
    tickets.dedup();
    Ok(tickets)
}
