//! Fetches what belongs to an issue or pull request: its timeline, reviews and comments.

use std::collections::BTreeMap;

use backstory_model::{commit::ChangeStatus, entity::ProposedFile};
use serde_json::{Value, json};

use super::{
    client::{Client, below},
    payload, timeline,
};
use crate::forge::{
    ForgeError, ItemKind, MAX_PROPOSED_PAGES, Payload, ThreadDetails, ThreadKind, ThreadListing, UnreadableItem,
    paging::{first_pages, limited_to_item, sorted_files},
    people::{PersonPayloads, select_keys},
};

/// Begin the ids of discussions, as they do those of places on GitHub's pages.
const COMMENT: &str = "issuecomment-";
const REVIEW: &str = "pullrequestreview-";
const DIFF: &str = "discussion_r";
/// Id of the discussion that holds what happened.
pub(super) const TIMELINE: &str = "timeline";

impl Client {
    /// Reads the timeline, which has comments and reviews too, and of a pull request what its issue form has not and the
    /// comments on its diff.
    pub(crate) async fn details(&self, project: &str, listing: &ThreadListing) -> Result<ThreadDetails, ForgeError> {
        let number = listing.iid.to_string();
        let timeline_path = ["issues", number.as_str(), "timeline"];
        let timeline = self.list(project, &timeline_path, &[]);
        if listing.kind == ThreadKind::Issue {
            return Ok(gather(listing, None, &timeline.await?, &[]));
        }
        let pull_path = ["pulls", number.as_str()];
        let (timeline, pull) = tokio::try_join!(timeline, self.object(project, &pull_path))?;
        let comments = match pull.json["review_comments"].as_u64() {
            Some(0) => vec![],
            _ => self.list(project, &["pulls", number.as_str(), "comments"], &[]).await?,
        };
        let mut details = gather(listing, Some(&pull.json), &timeline, &comments);
        if !pull.json["merged_at"].is_string() {
            let files = self.proposed_files(project, &number).await?;
            if !files.is_empty() {
                details.thread.json["files"] = json!(files);
                details.thread.json.sort_all_objects();
            }
        }
        Ok(details)
    }

    /// The files that a pull request would change; none if the forge tells too much or not.
    async fn proposed_files(&self, project: &str, number: &str) -> Result<Vec<ProposedFile>, ForgeError> {
        let path = below(project, &["pulls", number, "files"])?;
        let files = limited_to_item(first_pages(&self.http, &path, MAX_PROPOSED_PAGES).await)?;
        Ok(sorted_files(files.iter().filter_map(proposed_file)))
    }
}

fn proposed_file(file: &Value) -> Option<ProposedFile> {
    let path = file["filename"].as_str().filter(|path| !path.is_empty())?;
    let old_path = file["previous_filename"].as_str().filter(|old| !old.is_empty() && *old != path).map(str::to_owned);
    let status = match file["status"].as_str() {
        Some("added") => ChangeStatus::Added,
        Some("removed") => ChangeStatus::Deleted,
        Some("renamed") => ChangeStatus::Renamed,
        Some("copied") => ChangeStatus::Copied,
        _ => ChangeStatus::Modified,
    };
    Some(ProposedFile { path: path.to_owned(), old_path, status })
}

/// Whether a stored issue or pull request has what the list says about it.
pub(crate) fn has_listed(stored: &Value, listing: &ThreadListing) -> bool {
    let (mut json, _, _) = payload::thread(&listing.payload, &mut PersonPayloads::default());
    json.sort_all_objects();
    stored.get("issue") == Some(&json)
}

fn gather(listing: &ThreadListing, pull: Option<&Value>, timeline: &[Value], on_diff: &[Value]) -> ThreadDetails {
    let mut people = PersonPayloads::default();
    let (issue, labels, milestones) = payload::thread(&listing.payload, &mut people);
    let mut json = json!({ "issue": issue });
    if let Some(pull) = pull {
        json["pull"] = payload::pull(pull, &mut people);
        json["reviews"] = reviews(timeline, &mut people);
        // That of the request itself may be one of an attempt, if it was merged long ago.
        if let Some(merged) =
            timeline.iter().rfind(|event| event["event"] == "merged" && event["commit_id"].is_string())
        {
            json["pull"]["merge_commit_sha"] = merged["commit_id"].clone();
        }
    }
    json.sort_all_objects();
    let key = format!("{}{}", listing.kind.sigil(), listing.iid);
    let (discussions, unreadable) = discussions(&key, timeline, on_diff, &mut people);
    let thread =
        Payload { kind: listing.kind.into(), key, updated_at: Some(listing.updated_at), confidential: false, json };
    ThreadDetails {
        thread,
        discussions,
        unreadable,
        people: people.into_payloads(),
        labels,
        milestones,
        internal_notes: 0,
    }
}

/// Who reviewed, with which outcome, in order. Those that are not submitted yet are their author's alone.
fn reviews(timeline: &[Value], people: &mut PersonPayloads) -> Value {
    let reviews = timeline.iter().filter(|event| event["event"] == "reviewed" && event["state"] != "pending");
    let review = |event: &Value| {
        let mut review = select_keys(event, &["id", "state", "submitted_at", "user"]);
        payload::replace_people(&mut review, people);
        review
    };
    Value::Array(reviews.map(review).collect())
}

/// Every comment and every review with a text by itself, comments on the diff as the threads they are in, and what
/// happened.
fn discussions(
    thread: &str,
    timeline: &[Value],
    on_diff: &[Value],
    people: &mut PersonPayloads,
) -> (Vec<Payload>, Vec<UnreadableItem>) {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut events = Vec::new();
    let mut unreadable = Vec::new();
    let mut nameless = |kind: &str| {
        let before = format!("{thread}~{kind}");
        let is_known = unreadable.iter().any(|known: &UnreadableItem| known.key.starts_with(&before));
        if !is_known {
            unreadable.push(UnreadableItem::new(ItemKind::Discussion, &before, None, "id", "is not a whole number"));
        }
    };
    for entry in timeline {
        let has_text = entry["body"].as_str().is_some_and(|body| !body.is_empty());
        let id = entry["id"].as_u64();
        match (entry["event"].as_str(), id) {
            (Some("commented"), Some(id)) => {
                found.insert(format!("{COMMENT}{id}"), vec![payload::comment(entry, people)]);
            }
            (Some("reviewed"), Some(id)) if has_text && entry["state"] != "pending" => {
                let mut review = payload::comment(entry, people);
                review["created_at"] = entry["submitted_at"].clone();
                found.insert(format!("{REVIEW}{id}"), vec![review]);
            }
            (Some("commented"), None) => nameless(COMMENT),
            (Some("reviewed"), None) if has_text && entry["state"] != "pending" => nameless(REVIEW),
            _ => events.extend(timeline::event(entry, people)),
        }
    }
    for comment in on_diff {
        let Some(root) = comment["in_reply_to_id"].as_u64().or_else(|| comment["id"].as_u64()) else {
            nameless(DIFF);
            continue;
        };
        found.entry(format!("{DIFF}{root}")).or_default().push(payload::comment(comment, people));
    }
    let threads = found.into_iter().map(|(id, mut comments)| {
        let at = |comment: &Value| payload::instant(&comment["created_at"]);
        comments.sort_by_key(|comment| (at(comment), comment["id"].as_u64()));
        comments.dedup_by_key(|comment| comment["id"].as_u64());
        discussion(thread, &id, json!({ "comments": comments }))
    });
    let mut threads: Vec<Payload> = threads.collect();
    if !events.is_empty() {
        threads.push(discussion(thread, TIMELINE, json!({ "events": events })));
    }
    (threads, unreadable)
}

fn discussion(thread: &str, id: &str, mut json: Value) -> Payload {
    json.sort_all_objects();
    let comments = json["comments"].as_array().map(Vec::as_slice).unwrap_or_default();
    let updated_at = comments.iter().filter_map(|comment| payload::instant(&comment["updated_at"])).max();
    Payload { kind: ItemKind::Discussion, key: format!("{thread}~{id}"), updated_at, confidential: false, json }
}

#[cfg(test)]
mod tests;
