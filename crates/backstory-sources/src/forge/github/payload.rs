//! What is kept of GitHub's responses: little of the much that they repeat, and nothing that changes although the
//! object does not. Equal objects become equal bytes, whichever request they came from.

use backstory_model::entity::ItemKind;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::forge::{
    Payload, UnreadableItem,
    people::{PersonPayloads, select_keys},
};

/// What the key of a person begins with: the numbers of people are those of their forge.
pub(super) const PERSON_KEY: &str = "github:";

const PROJECT: [&str; 10] = [
    "archived",
    "clone_url",
    "created_at",
    "default_branch",
    "description",
    "fork",
    "full_name",
    "html_url",
    "id",
    "name",
];
const LABEL: [&str; 4] = ["color", "description", "id", "name"];
/// Its `updated_at` and counts change with every issue that is put into it.
const MILESTONE: [&str; 9] =
    ["closed_at", "created_at", "description", "due_on", "html_url", "id", "number", "state", "title"];
const RELEASE: [&str; 7] = ["body", "created_at", "html_url", "name", "prerelease", "published_at", "tag_name"];
const PERSON: [&str; 5] = ["html_url", "id", "login", "name", "type"];
/// Of an issue, or a pull request in its issue form.
const THREAD: [&str; 19] = [
    "assignees",
    "body",
    "closed_at",
    "closed_by",
    "comments",
    "created_at",
    "draft",
    "html_url",
    "id",
    "labels",
    "locked",
    "milestone",
    "number",
    "pull_request",
    "state",
    "state_reason",
    "title",
    "updated_at",
    "user",
];
/// Of a pull request, what its issue form has not.
const PULL: [&str; 10] = [
    "additions",
    "base",
    "changed_files",
    "commits",
    "deletions",
    "head",
    "merged_at",
    "merged_by",
    "requested_reviewers",
    "review_comments",
];
const COMMENT: [&str; 20] = [
    "body",
    "commit_id",
    "created_at",
    "diff_hunk",
    "html_url",
    "id",
    "in_reply_to_id",
    "line",
    "original_commit_id",
    "original_line",
    "original_start_line",
    "path",
    "pull_request_review_id",
    "side",
    "start_line",
    "start_side",
    "state",
    "subject_type",
    "updated_at",
    "user",
];

pub(super) fn project(json: &Value) -> Payload {
    payload(ItemKind::Project, "project", select_keys(json, &PROJECT))
}

pub(super) fn label(json: &Value) -> Result<Payload, UnreadableItem> {
    match json["name"].as_str() {
        Some(name) => Ok(payload(ItemKind::Label, name, select_keys(json, &LABEL))),
        None => Err(UnreadableItem::new(ItemKind::Label, "", None, "name", "is not a string")),
    }
}

pub(super) fn milestone(json: &Value) -> Result<Payload, UnreadableItem> {
    match json["number"].as_u64() {
        Some(number) => Ok(payload(ItemKind::Milestone, &number.to_string(), select_keys(json, &MILESTONE))),
        None => Err(UnreadableItem::new(ItemKind::Milestone, "", None, "number", "is not a whole number")),
    }
}

/// A release, with who made it.
pub(super) fn release(json: &Value) -> Result<Payload, UnreadableItem> {
    let Some(tag) = json["tag_name"].as_str() else {
        return Err(UnreadableItem::new(ItemKind::Release, "", None, "tag_name", "is not a string"));
    };
    let mut release = select_keys(json, &RELEASE);
    if json["author"].is_object() {
        release["author"] = select_keys(&json["author"], &["id", "login"]);
    }
    Ok(payload(ItemKind::Release, tag, release))
}

fn payload(kind: ItemKind, key: &str, json: Value) -> Payload {
    Payload { kind, key: key.to_owned(), updated_at: instant(&json["updated_at"]), confidential: false, json }
}

pub(super) fn instant(json: &Value) -> Option<Timestamp> {
    json.as_str()?.parse().ok()
}

/// An issue, or a pull request in its issue form, with the names of its labels and a reference to its milestone, so that
/// a new color does not change it; and its labels and milestone.
pub(super) fn thread(json: &Value, people: &mut PersonPayloads) -> (Value, Vec<Payload>, Vec<Payload>) {
    let mut thread = select_keys(json, &THREAD);
    let labels = json["labels"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut names: Vec<&str> =
        labels.iter().filter_map(|label| label.as_str().or_else(|| label["name"].as_str())).collect();
    names.sort_unstable();
    thread["labels"] = json!(names);
    thread["milestone"] = json["milestone"].get("number").cloned().unwrap_or(Value::Null);
    if json["pull_request"].is_object() {
        thread["pull_request"] = select_keys(&json["pull_request"], &["merged_at"]);
    }
    if let Some(Value::Array(assignees)) = thread.get_mut("assignees") {
        assignees.sort_by_key(|user| user["id"].as_u64());
    }
    replace_people(&mut thread, people);
    // Whether they can be read is told where all of them are.
    let labels = labels.iter().filter_map(|found| label(found).ok()).collect();
    (thread, labels, milestone(&json["milestone"]).into_iter().collect())
}

/// A pull request without what its issue form has.
pub(super) fn pull(json: &Value, people: &mut PersonPayloads) -> Value {
    let mut pull = select_keys(json, &PULL);
    pull["head"] = select_keys(&json["head"], &["ref", "sha"]);
    // The tip of the target branch moves without the request.
    pull["base"] = select_keys(&json["base"], &["ref"]);
    if json["merged_at"].is_string() {
        // Before the merge it is that of an attempt.
        pull["merge_commit_sha"] = json["merge_commit_sha"].clone();
    }
    if let Some(Value::Array(reviewers)) = pull.get_mut("requested_reviewers") {
        reviewers.sort_by_key(|user| user["id"].as_u64());
    }
    replace_people(&mut pull, people);
    pull
}

/// A comment, a comment on the diff or a review.
pub(super) fn comment(json: &Value, people: &mut PersonPayloads) -> Value {
    let mut comment = select_keys(json, &COMMENT);
    replace_people(&mut comment, people);
    comment
}

/// Leaves references in the places of people, so that a new display name does not change what they wrote.
pub(super) fn replace_people(json: &mut Value, people: &mut PersonPayloads) {
    match json {
        Value::Object(map) if is_person(map) => {
            people.add(format!("{PERSON_KEY}{}", map["id"]), select_keys(json, &PERSON));
            *json = select_keys(json, &["id", "login"]);
        }
        Value::Object(map) => map.values_mut().for_each(|value| replace_people(value, people)),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_people(item, people)),
        _ => {}
    }
}

fn is_person(map: &Map<String, Value>) -> bool {
    map.get("id").is_some_and(Value::is_u64) && map.get("login").is_some_and(Value::is_string)
}
