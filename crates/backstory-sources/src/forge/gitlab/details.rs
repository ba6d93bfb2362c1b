//! Fetches what belongs to an issue or merge request: its discussions, links and closing merge requests.

use std::collections::BTreeSet;

use backstory_model::{commit::ChangeStatus, entity::ProposedFile};
use serde_json::{Value, json};

use super::{
    client::Client,
    payload::{self, Discussions},
};
use crate::forge::{
    ForgeError, MAX_PROPOSED_PAGES, ParsedList, Payload, ThreadDetails, ThreadKind, ThreadListing,
    paging::{limited_to_item, sorted_files},
    people::PersonPayloads,
};

impl Client {
    /// Reads the discussions of an issue or merge request, what it closes or is closed by, and who approved it.
    pub(crate) async fn details(&self, project: &str, listing: &ThreadListing) -> Result<ThreadDetails, ForgeError> {
        let iid = listing.iid.to_string();
        match listing.kind {
            ThreadKind::Issue => self.issue(&["projects", project, "issues", &iid], listing).await,
            ThreadKind::MergeRequest => {
                self.merge_request(&["projects", project, "merge_requests", &iid], listing).await
            }
        }
    }

    async fn issue(&self, path: &[&str], listing: &ThreadListing) -> Result<ThreadDetails, ForgeError> {
        let of = |list| [path, &[list]].concat();
        let has_requests = listing.payload["merge_requests_count"].as_u64() != Some(0);
        let about_requests = async |list| match has_requests {
            true => self.optional_list(&of(list)).await,
            false => Ok(Vec::new()),
        };
        let (discussions, links) = (of("discussions"), of("links"));
        let (discussions, links, related, closed_by) = tokio::try_join!(
            self.list(&discussions),
            self.optional_list(&links),
            about_requests("related_merge_requests"),
            about_requests("closed_by"),
        )?;
        let hidden = listing.is_confidential();
        let bundle = |issue: Value| {
            json!({
                "issue": issue,
                "related_merge_requests": references(&related, hidden),
                "closed_by": references(&closed_by, hidden),
                "links": issue_links(&links, hidden),
            })
        };
        Ok(gather(listing, discussions, PersonPayloads::default(), self.reads_confidential(), bundle))
    }

    async fn merge_request(&self, path: &[&str], listing: &ThreadListing) -> Result<ThreadDetails, ForgeError> {
        let of = |list| [path, &[list]].concat();
        let (discussions, approvals, closes) = (of("discussions"), of("approvals"), of("closes_issues"));
        let (discussions, mut approvals, closes, files) = tokio::try_join!(
            self.list(&discussions),
            self.optional_object(&approvals),
            self.optional_list(&closes),
            self.proposed_files(path, listing),
        )?;
        let mut people = PersonPayloads::default();
        let approved_by = approvers(&mut approvals, &mut people);
        let bundle = |merge_request: Value| {
            let mut bundle = json!({
                "merge_request": merge_request,
                "approved_by": approved_by,
                "closes_issues": references(&closes, listing.is_confidential()),
            });
            if !files.is_empty() {
                bundle["files"] = json!(files);
            }
            bundle
        };
        Ok(gather(listing, discussions, people, self.reads_confidential(), bundle))
    }

    /// The files that a merge request would change; none of one that is merged, whose commits tell, and none if the forge
    /// tells too much or not.
    async fn proposed_files(&self, path: &[&str], listing: &ThreadListing) -> Result<Vec<ProposedFile>, ForgeError> {
        if listing.payload["merged_at"].is_string() || listing.payload["state"] == "merged" {
            return Ok(Vec::new());
        }
        let diffs = limited_to_item(self.first_items(&[path, &["diffs"]].concat(), MAX_PROPOSED_PAGES).await)?;
        Ok(sorted_files(diffs.iter().filter_map(proposed_file)))
    }
}

fn proposed_file(diff: &Value) -> Option<ProposedFile> {
    let path = diff["new_path"].as_str().filter(|path| !path.is_empty())?;
    let old_path = diff["old_path"].as_str().filter(|old| !old.is_empty() && *old != path).map(str::to_owned);
    let is = |flag: &str| diff[flag] == Value::Bool(true);
    let status = match () {
        () if is("new_file") => ChangeStatus::Added,
        () if is("deleted_file") => ChangeStatus::Deleted,
        () if is("renamed_file") => ChangeStatus::Renamed,
        () => ChangeStatus::Modified,
    };
    Some(ProposedFile { path: path.to_owned(), old_path, status })
}

fn gather(
    listing: &ThreadListing,
    discussions: Vec<Value>,
    mut people: PersonPayloads,
    keeps_internal: bool,
    bundle: impl FnOnce(Value) -> Value,
) -> ThreadDetails {
    let Trimmed { json: thread, labels, milestones } = trim(listing, &mut people);
    let short = format!("{}{}", listing.kind.sigil(), listing.iid);
    let mut read =
        Discussions { thread: &short, keeps_internal, internal_notes: 0, people, insiders: PersonPayloads::default() };
    let read_all = discussions.into_iter().filter_map(|discussion| read.payload(discussion).transpose());
    let ParsedList { payloads: mut discussions, mut unreadable } = ParsedList::of(read_all);
    let mut seen = BTreeSet::new();
    discussions.retain(|discussion| seen.insert(discussion.key.clone()));
    let Discussions { internal_notes, mut people, insiders, .. } = read;
    people.add_confidential(insiders);
    let mut people = people.into_payloads();
    let mut json = bundle(thread);
    let confidential = listing.is_confidential();
    if confidential {
        // So is everything in it.
        discussions.iter_mut().chain(&mut people).for_each(|payload| payload.confidential = true);
        unreadable.iter_mut().for_each(|wrong| wrong.confidential = true);
    } else if internal_notes > 0 {
        // The forge counts them, those who may not see them should not.
        json["internal_notes"] = json!(internal_notes);
    }
    json.sort_all_objects();
    let (kind, updated_at) = (listing.kind.into(), Some(listing.updated_at));
    let thread = Payload { kind, key: short, updated_at, confidential, json };
    ThreadDetails { thread, discussions, unreadable, people, labels, milestones, internal_notes }
}

/// Whether a stored issue or merge request has what the list says about it.
pub(crate) fn has_listed(stored: &Value, listing: &ThreadListing) -> bool {
    let field = match listing.kind {
        ThreadKind::Issue => "issue",
        ThreadKind::MergeRequest => "merge_request",
    };
    let mut json = trim(listing, &mut PersonPayloads::default()).json;
    json.sort_all_objects();
    stored.get(field) == Some(&json)
}

struct Trimmed {
    json: Value,
    labels: Vec<Payload>,
    milestones: Vec<Payload>,
}

fn trim(listing: &ThreadListing, people: &mut PersonPayloads) -> Trimmed {
    let mut json = listing.payload.clone();
    let labels = payload::take_labels(&mut json);
    let milestones = payload::take_milestone(&mut json);
    payload::trim_thread(&mut json, people);
    Trimmed { json, labels, milestones }
}

/// Full references of issues or merge requests, `group/project!7`, sorted. Those of another tracker have none. What all may
/// see names nothing `hidden`: the confidential issue names it from its side, if it is read.
fn references(items: &[Value], hidden: bool) -> BTreeSet<&str> {
    items.iter().filter_map(|item| reference(item, hidden)).collect()
}

fn reference(item: &Value, hidden: bool) -> Option<&str> {
    if item["confidential"] == Value::Bool(true) && !hidden { None } else { item["references"]["full"].as_str() }
}

fn issue_links(links: &[Value], hidden: bool) -> Vec<Value> {
    let links: BTreeSet<(&str, &str)> =
        links.iter().filter_map(|link| Some((reference(link, hidden)?, link["link_type"].as_str()?))).collect();
    links.into_iter().map(|(reference, kind)| json!({"link_type": kind, "ref": reference})).collect()
}

fn approvers(approvals: &mut Value, people: &mut PersonPayloads) -> BTreeSet<String> {
    let Some(Value::Array(approved_by)) = approvals.get_mut("approved_by").map(Value::take) else {
        return BTreeSet::new();
    };
    let usernames = approved_by.into_iter().filter_map(|mut approval| {
        let mut user = approval.get_mut("user")?.take();
        payload::replace_person(&mut user, people);
        Some(user["username"].as_str()?.to_owned())
    });
    usernames.collect()
}

#[cfg(test)]
mod tests;
