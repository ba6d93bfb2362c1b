//! Parses timelines: the events of an issue or pull request besides comments and reviews, as far as they link things.

use backstory_model::{
    entity::SystemEvent,
    id::{NodeId, ThreadId, ThreadKind, is_project_path, is_sha},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::payload::replace_people;
use crate::forge::people::{PersonPayloads, select_keys};

/// What stands elsewhere, or tells only who gets mail.
const LEFT_OUT: [&str; 8] = [
    "commented",
    "reviewed",
    "committed",
    "line-commented",
    "commit-commented",
    "subscribed",
    "unsubscribed",
    "mentioned",
];
const EVENT: [&str; 10] = [
    "actor",
    "assignee",
    "commit_id",
    "created_at",
    "event",
    "id",
    "lock_reason",
    "rename",
    "requested_reviewer",
    "state_reason",
];

/// An entry of a timeline as it is kept; `None` if it is not.
pub(super) fn event(json: &Value, people: &mut PersonPayloads) -> Option<Value> {
    let name = json["event"].as_str()?;
    if LEFT_OUT.contains(&name) {
        return None;
    }
    let mut event = select_keys(json, &EVENT);
    if let Some(label) = json["label"].get("name") {
        event["label"] = label.clone();
    }
    if let Some(milestone) = json["milestone"].get("title") {
        event["milestone"] = milestone.clone();
    }
    if let Some(repository) = json["commit_url"].as_str().and_then(|url| repository_in(url, "/commits/")) {
        event["repository"] = json!(repository);
    }
    if name == "cross-referenced" {
        event["source"] = json!(source(&json["source"]["issue"])?.to_string());
    }
    replace_people(&mut event, people);
    Some(event)
}

/// The issue or pull request that mentions another.
fn source(issue: &Value) -> Option<ThreadId> {
    let project = match issue["repository"]["full_name"].as_str() {
        Some(name) => name,
        None => repository_in(issue["repository_url"].as_str()?, "")?,
    };
    let kind = if issue["pull_request"].is_object() { ThreadKind::MergeRequest } else { ThreadKind::Issue };
    Some(ThreadId { project: project.to_owned(), kind, iid: issue["number"].as_u64()? })
}

/// The repository in an address of the API, `…/repos/acme/shop` and what follows.
fn repository_in<'a>(url: &'a str, next: &str) -> Option<&'a str> {
    let path = &url[url.find("/repos/")? + "/repos/".len()..];
    let end = if next.is_empty() { path.len() } else { path.find(next)? };
    Some(&path[..end]).filter(|path| is_project_path(path) && path.split('/').count() == 2)
}

#[derive(Deserialize)]
pub(super) struct EventJson {
    event: String,
    commit_id: Option<String>,
    repository: Option<String>,
    source: Option<String>,
    assignee: Option<UserReference>,
    requested_reviewer: Option<UserReference>,
}

#[derive(Deserialize)]
struct UserReference {
    login: String,
}

impl EventJson {
    /// What it says, as far as it links things. `project` is the one whose timeline it is on.
    pub(super) fn into_system_event(self, project: &str) -> Option<SystemEvent> {
        let commit = || {
            let sha = self.commit_id.as_deref().filter(|sha| is_sha(sha))?;
            Some(NodeId::commit(self.repository.as_deref().unwrap_or(project), sha))
        };
        match self.event.as_str() {
            "referenced" => commit().map(SystemEvent::MentionedIn),
            "closed" => commit().map(SystemEvent::ClosedBy),
            "cross-referenced" => self.source?.parse().ok().map(SystemEvent::MentionedIn),
            "assigned" => self.assignee.map(|user| SystemEvent::AssignedTo(user.login)),
            "review_requested" => self.requested_reviewer.map(|user| SystemEvent::ReviewRequested(user.login)),
            _ => None,
        }
    }
}
