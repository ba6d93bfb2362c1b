//! What is kept of GitLab's responses: everything except what changes although the object does not, or depends on the
//! token of the request. Equal objects become equal bytes, whichever request they came from.

use backstory_model::entity::ItemKind;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::forge::{
    Payload, UnreadableItem,
    people::{PersonPayloads, select_keys},
};

/// Keys dropped wherever they stand in an issue, a merge request or a note.
const VOLATILE: [&str; 16] = [
    "_links",
    "appliable",
    "avatar_url",
    "blocking_discussions_resolved",
    "commands_changes",
    "description_html",
    "detailed_merge_status",
    "diverged_commits_count",
    "expired",
    "first_contribution",
    "has_conflicts",
    "merge_status",
    "subscribed",
    "user",
    "user_can_approve",
    "user_has_approved",
];
/// All that is kept of a project: the rest counts activity, belongs to the token or is secret.
const PROJECT: [&str; 14] = [
    "archived",
    "created_at",
    "default_branch",
    "description",
    "http_url_to_repo",
    "id",
    "merge_method",
    "name",
    "name_with_namespace",
    "path_with_namespace",
    "squash_option",
    "topics",
    "visibility",
    "web_url",
];
const LABEL: [&str; 4] = ["color", "description", "id", "name"];
const MILESTONE: [&str; 11] = [
    "created_at",
    "description",
    "due_date",
    "id",
    "iid",
    "project_id",
    "start_date",
    "state",
    "title",
    "updated_at",
    "web_url",
];
/// Its assets are counted and signed again on every request.
const RELEASE: [&str; 6] = ["created_at", "description", "name", "released_at", "tag_name", "upcoming_release"];
const MILESTONE_REFERENCE: [&str; 4] = ["group_id", "id", "iid", "project_id"];
const PERSON: [&str; 4] = ["id", "name", "username", "web_url"];

pub(super) fn project(json: &Value) -> Payload {
    payload(ItemKind::Project, "project", select_keys(json, &PROJECT))
}

pub(super) fn label(json: &Value) -> Result<Payload, UnreadableItem> {
    match json["name"].as_str() {
        Some(name) => Ok(payload(ItemKind::Label, name, select_keys(json, &LABEL))),
        None => Err(UnreadableItem::new(ItemKind::Label, "", None, "name", "is not a string")),
    }
}

/// A milestone of a project; nothing of one of a group: those have numbers of their own that would collide.
pub(super) fn milestone(json: &Value) -> Result<Option<Payload>, UnreadableItem> {
    let wrong = |key: Option<&str>, field| {
        UnreadableItem::new(ItemKind::Milestone, "", key, field, "is not a whole number that is not negative")
    };
    let key = json["iid"].as_u64().map(|iid| iid.to_string());
    match (&json["project_id"], key) {
        (Value::Null, _) => Ok(None),
        (project, key) if !project.is_u64() => Err(wrong(key.as_deref(), "project_id")),
        (_, Some(key)) => Ok(Some(payload(ItemKind::Milestone, &key, select_keys(json, &MILESTONE)))),
        (_, None) => Err(wrong(None, "iid")),
    }
}

/// A release, with who made it and its address.
pub(super) fn release(json: &Value) -> Result<Payload, UnreadableItem> {
    let Some(tag) = json["tag_name"].as_str() else {
        return Err(UnreadableItem::new(ItemKind::Release, "", None, "tag_name", "is not a string"));
    };
    let mut release = select_keys(json, &RELEASE);
    if json["author"].is_object() {
        release["author"] = select_keys(&json["author"], &["id", "username"]);
    }
    release["web_url"] = json["_links"]["self"].clone();
    Ok(payload(ItemKind::Release, tag, release))
}

fn payload(kind: ItemKind, key: &str, json: Value) -> Payload {
    Payload { kind, key: key.to_owned(), updated_at: instant(&json["updated_at"]), confidential: false, json }
}

fn instant(json: &Value) -> Option<Timestamp> {
    json.as_str()?.parse().ok()
}

/// Leaves an issue or merge request with the sorted names of its labels, so that a new color does not change it.
pub(super) fn take_labels(thread: &mut Value) -> Vec<Payload> {
    let Some(Value::Array(labels)) = thread.get_mut("labels").map(Value::take) else {
        return Vec::new();
    };
    // Whether they can be read is told where all labels are.
    let payloads = labels.iter().filter_map(|found| label(found).ok()).collect();
    let mut names: Vec<&str> =
        labels.iter().filter_map(|label| label.as_str().or_else(|| label["name"].as_str())).collect();
    names.sort_unstable();
    thread["labels"] = json!(names);
    payloads
}

/// Leaves an issue or merge request with a reference to its milestone.
pub(super) fn take_milestone(thread: &mut Value) -> Vec<Payload> {
    let Some(slot) = thread.get_mut("milestone").filter(|slot| slot.is_object()) else {
        return Vec::new();
    };
    let payloads = milestone(slot).ok().flatten().into_iter().collect();
    *slot = select_keys(slot, &MILESTONE_REFERENCE);
    payloads
}

/// Drops what is volatile from an issue or merge request and replaces its people by references.
pub(super) fn trim_thread(thread: &mut Value, people: &mut PersonPayloads) {
    trim(thread, people);
    // GitLab gives them in no particular order.
    for key in ["assignees", "reviewers"] {
        if let Some(Value::Array(users)) = thread.get_mut(key) {
            users.sort_by_key(|user| user["id"].as_u64());
        }
    }
}

/// What is kept of discussions.
pub(super) struct Discussions<'a> {
    /// Key of the issue or merge request they belong to.
    pub(super) thread: &'a str,
    /// Whether internal notes are kept.
    pub(super) keeps_internal: bool,
    /// How many of these there are.
    pub(super) internal_notes: u64,
    /// The people in those that everybody may see,
    pub(super) people: PersonPayloads,
    /// and in the others.
    pub(super) insiders: PersonPayloads,
}

impl Discussions<'_> {
    /// A discussion, without its internal notes unless they are kept; `None` if nothing is left. With one that is kept all
    /// of it is confidential: what replies to an internal note is internal.
    ///
    /// # Errors
    /// It has no id, no list of notes, or a note that does not say who may see it.
    pub(super) fn payload(&mut self, mut json: Value) -> Result<Option<Payload>, UnreadableItem> {
        let id = json["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        let wrong = |field: &str, reason: &str| {
            UnreadableItem::new(ItemKind::Discussion, &format!("{}~", self.thread), id.as_deref(), field, reason)
        };
        let Some(notes) = json.get_mut("notes").and_then(Value::as_array_mut) else {
            return Err(wrong("notes", "is not a list"));
        };
        for (number, note) in notes.iter().enumerate() {
            for flag in INTERNAL {
                if !(note[flag].is_null() || note[flag].is_boolean()) {
                    return Err(wrong(&format!("notes[{number}].{flag}"), "is not a boolean"));
                }
            }
        }
        let internal = notes.iter().filter(|note| is_internal(note)).count() as u64;
        if !self.keeps_internal {
            notes.retain(|note| !is_internal(note));
        }
        let confidential = self.keeps_internal && internal > 0;
        let Some(id) = &id else {
            if notes.is_empty() {
                self.internal_notes += internal;
                return Ok(None);
            }
            return Err(UnreadableItem { confidential, ..wrong("id", "is not a string") });
        };
        let key = format!("{}~{id}", self.thread);
        self.internal_notes += internal;
        if notes.is_empty() {
            return Ok(None);
        }
        let updated_at = notes.iter().filter_map(|note| instant(&note["updated_at"])).max();
        trim(&mut json, if confidential { &mut self.insiders } else { &mut self.people });
        json.sort_all_objects();
        Ok(Some(Payload { kind: ItemKind::Discussion, key, updated_at, confidential, json }))
    }
}

/// Where a note says that it is internal. The second is the older name of the first.
const INTERNAL: [&str; 2] = ["internal", "confidential"];

fn is_internal(note: &Value) -> bool {
    INTERNAL.iter().any(|flag| note[flag] == Value::Bool(true))
}
fn trim(json: &mut Value, people: &mut PersonPayloads) {
    match json {
        Value::Object(map) if is_person(map) => replace_person(json, people),
        Value::Object(map) => {
            map.retain(|key, _| !VOLATILE.contains(&key.as_str()));
            map.values_mut().for_each(|value| trim(value, people));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| trim(item, people)),
        _ => {}
    }
}

fn is_person(map: &Map<String, Value>) -> bool {
    map.get("id").is_some_and(Value::is_u64) && map.get("username").is_some_and(Value::is_string)
}

/// Leaves a reference in place of a person, so that a new display name does not change what they wrote.
pub(super) fn replace_person(json: &mut Value, people: &mut PersonPayloads) {
    let Some(id) = json["id"].as_u64() else { return };
    people.add(id.to_string(), select_keys(json, &PERSON));
    *json = json!({"id": id, "username": json["username"]});
}
