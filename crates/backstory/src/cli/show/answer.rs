//! What the API tells of an issue, a merge request or a discussion, and how programs get it.

use backstory_engine::{enrich::NotesByModel, model::id::ThreadKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Notes as GraphQL names their fields.
fn model_notes<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<NotesByModel>, D::Error> {
    let Some(mut notes) = Option::<Value>::deserialize(deserializer)? else { return Ok(None) };
    notes["written_at"] = notes["writtenAt"].take();
    for note in notes["notes"].as_array_mut().into_iter().flatten() {
        note["aspect"] = note["aspect"].as_str().unwrap_or_default().to_lowercase().into();
    }
    serde_json::from_value(notes).map(Some).map_err(serde::de::Error::custom)
}

/// What a reference means.
#[derive(Deserialize)]
pub(super) struct ReferenceAnswer {
    pub(super) node: Option<MeantNode>,
}

/// An issue or merge request; of other things there is no id.
#[derive(Deserialize)]
pub(super) struct MeantNode {
    pub(super) id: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ThreadAnswer {
    pub(super) thread: Option<Thread>,
}

#[derive(Deserialize)]
pub(super) struct DiscussionsAnswer {
    pub(super) thread: Option<DiscussionsPart>,
}

#[derive(Deserialize)]
pub(super) struct DiscussionsPart {
    pub(super) discussions: DiscussionsPage,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DiscussionsPage {
    pub(super) nodes: Vec<Discussion>,
    pub(super) page_info: PageInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    pub(super) has_next_page: bool,
    pub(super) end_cursor: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct DiscussionAnswer {
    pub(super) discussion: Option<DiscussionInThread>,
}

#[derive(Deserialize)]
pub(super) struct DiscussionInThread {
    pub(super) thread: Option<Thread>,
    #[serde(flatten)]
    pub(super) discussion: Discussion,
}

/// An issue or merge request; what the operation did not ask for is absent.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Thread {
    pub(super) id: String,
    pub(super) title: Option<String>,
    pub(super) state: Option<String>,
    pub(super) description: Option<String>,
    pub(super) author: Option<Person>,
    pub(super) labels: Vec<Label>,
    pub(super) milestone: Option<Milestone>,
    pub(super) assignees: Vec<Person>,
    pub(super) created_at: Option<Timestamp>,
    pub(super) updated_at: Option<Timestamp>,
    pub(super) closed_at: Option<Timestamp>,
    pub(super) closed_by: Option<Person>,
    pub(super) web_url: Option<String>,
    pub(super) source_branch: Option<String>,
    pub(super) target_branch: Option<String>,
    pub(super) draft: Option<bool>,
    pub(super) reviewers: Vec<Person>,
    pub(super) approved_by: Vec<Person>,
    pub(super) merged_at: Option<Timestamp>,
    pub(super) merged_by: Option<Person>,
    #[serde(default, deserialize_with = "model_notes")]
    pub(super) model_notes: Option<NotesByModel>,
    pub(super) confidential: bool,
    pub(super) out: Edges,
    #[serde(rename = "in")]
    pub(super) into: Edges,
}

#[derive(Deserialize)]
pub(super) struct Person {
    pub(super) username: String,
    #[serde(default)]
    pub(super) name: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Label {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Milestone {
    pub(super) title: Option<String>,
}

/// Edges of a node, the first of them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Edges {
    pub(super) edges: Vec<Edge>,
    pub(super) total_count: usize,
}

#[derive(Deserialize)]
pub(super) struct Edge {
    pub(super) name: String,
    pub(super) node: Node,
    /// Only of a link that nobody stated.
    pub(super) confidence: Option<f64>,
    pub(super) evidence: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Node {
    pub(super) id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Discussion {
    pub(super) id: String,
    pub(super) individual: Option<bool>,
    pub(super) resolvable: Option<bool>,
    pub(super) resolved: Option<bool>,
    pub(super) confidential: bool,
    pub(super) web_url: Option<String>,
    pub(super) notes: Vec<Note>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Note {
    pub(super) id: String,
    pub(super) kind: Option<String>,
    pub(super) author: Option<Person>,
    pub(super) body: Option<String>,
    pub(super) created_at: Option<Timestamp>,
    pub(super) resolved_by: Option<Person>,
    pub(super) position: Option<Position>,
    pub(super) web_url: Option<String>,
}

/// Lines of a diff.
#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Position {
    pub(super) old_path: String,
    pub(super) new_path: String,
    pub(super) old_line_start: Option<u32>,
    pub(super) old_line_end: Option<u32>,
    pub(super) new_line_start: Option<u32>,
    pub(super) new_line_end: Option<u32>,
}

fn username(person: &Option<Person>) -> Option<&str> {
    person.as_ref().map(|person| person.username.as_str())
}

fn usernames(people: &[Person]) -> Vec<&str> {
    people.iter().map(|person| person.username.as_str()).collect()
}

fn lower(name: &Option<String>) -> Option<String> {
    name.as_ref().map(|name| name.to_lowercase())
}

impl Thread {
    pub(super) fn for_programs(&self, kind: ThreadKind, discussions: &[Discussion]) -> Value {
        let mut json = json!({
            "id": self.id,
            "kind": match kind {
                ThreadKind::Issue => "issue",
                ThreadKind::MergeRequest => "merge_request",
            },
            "title": self.title,
            "state": lower(&self.state),
            "author": username(&self.author),
            "labels": self.labels.iter().map(|label| &label.name).collect::<Vec<_>>(),
            "milestone": self.milestone.as_ref().and_then(|milestone| milestone.title.as_ref()),
            "assignees": usernames(&self.assignees),
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "closed_at": self.closed_at,
            "closed_by": username(&self.closed_by),
            "url": self.web_url,
            "description": self.description,
            "discussions": discussions.iter().map(Discussion::for_programs).collect::<Vec<_>>(),
            "edges": { "out": self.out.for_programs(), "in": self.into.for_programs() },
        });
        if self.confidential {
            json["confidential"] = json!(true);
        }
        if let Some(notes) = &self.model_notes {
            json["model_notes"] = json!(notes);
        }
        if kind == ThreadKind::MergeRequest {
            json["source_branch"] = json!(self.source_branch);
            json["target_branch"] = json!(self.target_branch);
            json["draft"] = json!(self.draft);
            json["reviewers"] = json!(usernames(&self.reviewers));
            json["approved_by"] = json!(usernames(&self.approved_by));
            json["merged_at"] = json!(self.merged_at);
            json["merged_by"] = json!(username(&self.merged_by));
        }
        json
    }
}

impl Edges {
    fn for_programs(&self) -> Vec<Value> {
        let for_programs = |edge: &Edge| {
            let mut json = json!({ "name": edge.name, "id": edge.node.id });
            if let Some(confidence) = edge.confidence {
                json["inferred"] = json!(true);
                json["confidence"] = json!(confidence);
                json["evidence"] = json!(edge.evidence);
            }
            json
        };
        self.edges.iter().map(for_programs).collect()
    }
}

impl Discussion {
    fn for_programs(&self) -> Value {
        let mut json = json!({
            "id": self.id,
            "individual": self.individual,
            "resolvable": self.resolvable,
            "resolved": self.resolved,
            "url": self.web_url,
            "notes": self.notes.iter().map(Note::for_programs).collect::<Vec<_>>(),
        });
        if self.confidential {
            json["confidential"] = json!(true);
        }
        json
    }
}

impl DiscussionInThread {
    pub(super) fn for_programs(&self) -> Value {
        let mut json = self.discussion.for_programs();
        json["parent"] = json!(self.thread.as_ref().map(|thread| &thread.id));
        json
    }
}

impl Note {
    fn for_programs(&self) -> Value {
        json!({
            "id": self.id,
            "kind": lower(&self.kind),
            "author": username(&self.author),
            "body": self.body,
            "created_at": self.created_at,
            "resolved_by": username(&self.resolved_by),
            "position": self.position,
            "url": self.web_url,
        })
    }
}
