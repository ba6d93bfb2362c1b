//! One issue, merge request, discussion or commit with all that belongs to it.

mod commit;
mod thread;

use backstory_model::{id::NodeId, text::truncate_echo};
use serde::{Deserialize, Serialize};

pub use self::{
    commit::{CommitDetails, FileSummary},
    thread::{
        DiffPosition, DiscussionDetails, DiscussionWithParent, EdgeDetails, MergeRequestDetails, NoteDetails,
        ThreadDetails, ThreadEdges,
    },
};
use crate::{
    error::{Error, Result},
    read::resolve_id,
    resources::Resources,
    use_case::UseCase,
};
use commit::commit_details;
use thread::{discussion_of_note, discussion_with_parent, thread_details};

/// Requests an issue, merge request, discussion or commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShowRequest {
    /// Its id, or that of a note of the discussion. That of a commit may be abbreviated; where issues and merge requests share their numbers, either may be
    /// given for the other.
    pub id: NodeId,
}

impl UseCase for ShowRequest {
    const NAME: &'static str = "show";
    type Answer = NodeDetails;

    async fn run(self, resources: &Resources) -> Result<NodeDetails> {
        show_node(resources, self).await
    }
}

/// The node that was asked for. Its id says in JSON which it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum NodeDetails {
    /// An issue or merge request.
    Thread(Box<ThreadDetails>),
    /// A discussion.
    Discussion(Box<DiscussionWithParent>),
    /// A commit.
    Commit(Box<CommitDetails>),
}

/// Returns an issue, merge request, discussion or commit with all that belongs to it.
///
/// # Errors
/// It does not exist or is something else, or a store cannot be read.
async fn show_node(resources: &Resources, request: ShowRequest) -> Result<NodeDetails> {
    let id = resolve_id(resources, request.id).await?;
    match &id {
        NodeId::Thread(thread) => Ok(NodeDetails::Thread(Box::new(thread_details(resources, thread).await?))),
        NodeId::Discussion { thread, .. } => {
            Ok(NodeDetails::Discussion(Box::new(discussion_with_parent(resources, &id, thread).await?)))
        }
        NodeId::Note { thread, id: note } => {
            Ok(NodeDetails::Discussion(Box::new(discussion_of_note(resources, thread, *note).await?)))
        }
        NodeId::Commit { .. } => Ok(NodeDetails::Commit(Box::new(commit_details(resources, &id).await?))),
        other => {
            let id = other.to_string();
            Err(Error::invalid(format!(
                "{} is neither an issue, nor a merge request, nor a discussion, nor a commit",
                truncate_echo(&id)
            ))
            .with_hint("write group/project#12, group/project!7 or group/project@1a2b3c4"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads_back(json: &str) -> NodeDetails {
        let node: NodeDetails = serde_json::from_str(json).expect("a node");
        let written = serde_json::to_value(&node).expect("JSON");
        assert_eq!(written, serde_json::from_str::<serde_json::Value>(json).expect("JSON"));
        node
    }

    #[test]
    fn json_of_each_kind_reads_back() {
        let issue = r#"{"id":"acme/shop#1","iid":1,"title":"T","state":"closed","author":"ann","labels":["a"],
            "created_at":"2024-02-28T09:00:00Z","updated_at":"2024-03-22T16:05:00Z","url":"u","kind":"issue",
            "milestone":null,"assignees":[],"closed_at":null,"closed_by":null,"description":"",
            "discussions":[{"id":"acme/shop#1~d1","individual":false,"resolvable":false,"resolved":false,"url":"u",
              "notes":[{"id":"acme/shop#1#note_1","kind":"comment","author":null,"body":"b",
                "created_at":"2024-02-28T09:00:00Z","resolved_by":null,"position":null,"url":"u"}]}],
            "edges":{"out":[{"name":"RELATES_TO","id":"acme/shop!2","inferred":true,"confidence":0.5,"evidence":["e"]}],
              "in":[]}}"#;
        let NodeDetails::Thread(thread) = reads_back(issue) else { panic!("an issue") };
        assert_eq!(thread.merge_request, None);

        let of_request = r#""kind":"merge_request","source_branch":"a","target_branch":"b","draft":true,"reviewers":[],
            "approved_by":["bob"],"merged_at":null,"merged_by":null"#;
        let request = issue.replace(r#""kind":"issue""#, of_request).replace("acme/shop#1", "acme/shop!1");
        let NodeDetails::Thread(thread) = reads_back(&request) else { panic!("a merge request") };
        assert_eq!(thread.merge_request.map(|mr| mr.draft), Some(true));

        let discussion = r#"{"id":"acme/shop!1~d1","individual":true,"resolvable":false,"resolved":false,"url":"u",
            "notes":[],"parent":"acme/shop!1","parent_title":"T"}"#;
        assert!(matches!(reads_back(discussion), NodeDetails::Discussion(_)));

        let commit = r#"{"id":"acme/shop@1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b",
            "sha":"1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b","message":"m","author_name":"Ann",
            "authored_at":"2024-02-28T09:00:00Z","change_type":"bugfix","change_type_confidence":0.5,
            "change_type_rule":"prefix","model_classification":{"change_type":"feature","confidence":0.5,"reason":"r",
            "model":{"name":"n","prompt":1},"written_at":"2024-02-28T09:00:00Z"},"insertions":1,"deletions":0,
            "file_count":1,"files":[{"path":"a","status":"type_changed","insertions":1,"deletions":null}],"url":null}"#;
        assert!(matches!(reads_back(commit), NodeDetails::Commit(_)));
    }
}
