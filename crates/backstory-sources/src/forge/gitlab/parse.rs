//! Parses stored payloads of GitLab into model values. Nothing is requested.

use backstory_model::{
    entity::{
        Discussion, Issue, Item, ItemKind, Label, LinkKind, MergeRequest, Milestone, Note, NoteKind, Person, Project,
        ProposedFile, Release, State, SystemEvent, Thread,
    },
    id::{NodeId, ThreadId, ThreadKind, is_sha},
    reference::Forge,
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{position::PositionJson, system_note};
use crate::forge::{
    Origin,
    fields::{ParseFailure, discussion_of_key, or_default, parse_part},
};

/// The model value of a stored payload.
pub(crate) fn read(kind: ItemKind, origin: &Origin, key: &str, json: &Value) -> Result<Item, ParseFailure> {
    Ok(match kind {
        ItemKind::Project => Item::Project(parse_part::<ProjectJson>(json, "")?.into()),
        ItemKind::Person => Item::Person(parse_part::<PersonJson>(json, "")?.into()),
        ItemKind::Label => Item::Label(parse_part::<LabelJson>(json, "")?.into_label(origin)),
        ItemKind::Milestone => Item::Milestone(parse_part::<MilestoneJson>(json, "")?.into_milestone(origin)),
        ItemKind::Release => Item::Release(parse_part::<ReleaseJson>(json, "")?.into_release(origin)),
        ItemKind::Issue => Item::Issue(parse_part::<IssueJson>(json, "")?.into_issue(origin)?),
        ItemKind::MergeRequest => Item::MergeRequest(merge_request(json, origin)?),
        ItemKind::Discussion => {
            let (thread, _) = discussion_of_key(key, origin)?;
            Item::Discussion(parse_part::<DiscussionJson>(json, "")?.into_discussion(thread, origin))
        }
        kind => return Err(ParseFailure::of_no_forge(kind)),
    })
}

/// What parsing is relative to, from the payload of the project.
pub(crate) fn origin_of_project(json: &Value) -> Option<Origin> {
    let project = json["path_with_namespace"].as_str()?;
    let web_url = json["web_url"].as_str()?.trim_end_matches('/');
    let forge_url = web_url.strip_suffix(project)?.strip_suffix('/')?;
    Some(Origin { forge: Forge::GitLab, project: project.to_owned(), forge_url: forge_url.to_owned() })
}

#[derive(Deserialize)]
struct ProjectJson {
    id: u64,
    path_with_namespace: String,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    description: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    web_url: String,
    default_branch: Option<String>,
    created_at: Option<Timestamp>,
}

impl From<ProjectJson> for Project {
    fn from(json: ProjectJson) -> Self {
        Self {
            path: json.path_with_namespace,
            forge_id: json.id,
            name: json.name,
            description: json.description.filter(|text| !text.is_empty()),
            web_url: json.web_url,
            default_branch: json.default_branch,
            created_at: json.created_at,
        }
    }
}

#[derive(Deserialize)]
struct PersonJson {
    id: u64,
    username: String,
    name: Option<String>,
    web_url: Option<String>,
}

impl From<PersonJson> for Person {
    fn from(json: PersonJson) -> Self {
        let name = json.name.unwrap_or_else(|| json.username.clone());
        Self { username: json.username, forge_id: json.id, name, web_url: json.web_url }
    }
}

#[derive(Deserialize)]
struct LabelJson {
    name: String,
    color: Option<String>,
    description: Option<String>,
}

impl LabelJson {
    fn into_label(self, origin: &Origin) -> Label {
        let description = self.description.filter(|text| !text.is_empty());
        Label { project: origin.project.clone(), name: self.name, color: self.color, description }
    }
}

#[derive(Deserialize)]
struct MilestoneJson {
    iid: u64,
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    description: String,
    #[serde(default, deserialize_with = "or_default")]
    state: String,
    web_url: Option<String>,
}

impl MilestoneJson {
    fn into_milestone(self, origin: &Origin) -> Milestone {
        Milestone {
            project: origin.project.clone(),
            iid: self.iid,
            title: self.title,
            description: self.description,
            state: self.state,
            web_url: self.web_url,
        }
    }
}

#[derive(Deserialize)]
struct ReleaseJson {
    tag_name: String,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    description: String,
    author: Option<UserReference>,
    created_at: Option<Timestamp>,
    released_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "or_default")]
    upcoming_release: bool,
    web_url: Option<String>,
}

impl ReleaseJson {
    fn into_release(self, origin: &Origin) -> Release {
        Release {
            project: origin.project.clone(),
            name: if self.name.is_empty() { self.tag_name.clone() } else { self.name },
            tag: self.tag_name,
            description: self.description,
            author: username(self.author),
            released_at: self.released_at.or(self.created_at),
            preliminary: self.upcoming_release,
            web_url: self.web_url,
        }
    }
}

#[derive(Deserialize)]
struct UserReference {
    username: String,
}

fn username(user: Option<UserReference>) -> Option<String> {
    user.map(|user| user.username)
}

fn usernames(users: Vec<UserReference>) -> Vec<String> {
    users.into_iter().map(|user| user.username).collect()
}

#[derive(Deserialize)]
struct MilestoneReference {
    iid: u64,
    project_id: Option<u64>,
}

/// A label as its name or with details.
#[derive(Deserialize)]
#[serde(untagged)]
enum LabelReference {
    Name(String),
    Details { name: String },
}

/// What issues and merge requests have in common.
#[derive(Deserialize)]
struct ThreadJson {
    iid: u64,
    #[serde(default, deserialize_with = "or_default")]
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    description: String,
    state: String,
    author: Option<UserReference>,
    #[serde(default, deserialize_with = "or_default")]
    labels: Vec<LabelReference>,
    milestone: Option<MilestoneReference>,
    #[serde(default, deserialize_with = "or_default")]
    assignees: Vec<UserReference>,
    created_at: Timestamp,
    updated_at: Option<Timestamp>,
    closed_at: Option<Timestamp>,
    closed_by: Option<UserReference>,
    #[serde(default, deserialize_with = "or_default")]
    web_url: String,
    #[serde(default, deserialize_with = "or_default")]
    user_notes_count: u64,
}

impl ThreadJson {
    /// `at` is where it stands in the payload.
    fn into_thread(self, at: &str, internal_notes: u64) -> Result<Thread, ParseFailure> {
        let state = State::from_name(&self.state);
        let state = state.ok_or_else(|| ParseFailure::at(&format!("{at}.state"), "is unknown"))?;
        let name = |label| match label {
            LabelReference::Name(name) | LabelReference::Details { name } => name,
        };
        let mut labels: Vec<String> = self.labels.into_iter().map(name).collect();
        labels.sort();
        labels.dedup();
        Ok(Thread {
            forge: Forge::GitLab,
            title: self.title,
            description: self.description,
            state,
            author: username(self.author),
            labels,
            // One of a group has a number in the group, not in the project.
            milestone: self.milestone.filter(|milestone| milestone.project_id.is_some()).map(|milestone| milestone.iid),
            assignees: usernames(self.assignees),
            created_at: self.created_at,
            updated_at: self.updated_at.unwrap_or(self.created_at),
            closed_at: self.closed_at,
            closed_by: username(self.closed_by),
            web_url: self.web_url,
            notes_count: self.user_notes_count.saturating_sub(internal_notes),
            // The ledger knows.
            confidential: false,
        })
    }
}

#[derive(Deserialize)]
struct IssueJson {
    issue: ThreadJson,
    #[serde(default)]
    related_merge_requests: Vec<String>,
    #[serde(default)]
    closed_by: Vec<String>,
    #[serde(default)]
    links: Vec<LinkJson>,
    #[serde(default)]
    internal_notes: u64,
}

#[derive(Deserialize)]
struct LinkJson {
    link_type: String,
    #[serde(rename = "ref")]
    reference: String,
}

fn thread_id(reference: &str) -> Option<ThreadId> {
    match reference.parse() {
        Ok(NodeId::Thread(thread)) => Some(thread),
        _ => None,
    }
}

fn thread_ids(references: &[String]) -> Vec<ThreadId> {
    references.iter().filter_map(|reference| thread_id(reference)).collect()
}

impl IssueJson {
    fn into_issue(self, origin: &Origin) -> Result<Issue, ParseFailure> {
        let link = |link: &LinkJson| {
            let kind = match link.link_type.as_str() {
                "relates_to" => LinkKind::RelatesTo,
                "blocks" => LinkKind::Blocks,
                "is_blocked_by" => LinkKind::BlockedBy,
                _ => return None,
            };
            Some((kind, thread_id(&link.reference)?))
        };
        Ok(Issue {
            id: ThreadId::issue(origin.project.as_str(), self.issue.iid),
            related: thread_ids(&self.related_merge_requests),
            closed_by_requests: thread_ids(&self.closed_by),
            links: self.links.iter().filter_map(link).collect(),
            thread: self.issue.into_thread("issue", self.internal_notes)?,
        })
    }
}

/// What stands beside a merge request in its payload.
#[derive(Deserialize)]
struct MergeRequestJson {
    #[serde(default)]
    approved_by: Vec<String>,
    #[serde(default)]
    closes_issues: Vec<String>,
    #[serde(default)]
    files: Vec<ProposedFile>,
    #[serde(default)]
    internal_notes: u64,
}

/// What a merge request has and an issue has not.
#[derive(Deserialize)]
struct ChangeJson {
    #[serde(default, deserialize_with = "or_default")]
    source_branch: String,
    #[serde(default, deserialize_with = "or_default")]
    target_branch: String,
    #[serde(default, deserialize_with = "or_default")]
    draft: bool,
    #[serde(default, deserialize_with = "or_default")]
    work_in_progress: bool,
    #[serde(default, deserialize_with = "or_default")]
    reviewers: Vec<UserReference>,
    merged_at: Option<Timestamp>,
    merge_user: Option<UserReference>,
    merged_by: Option<UserReference>,
    sha: Option<String>,
    merge_commit_sha: Option<String>,
    squash_commit_sha: Option<String>,
}

// What it shares with an issue is read by itself, not flattened into it: then the field that is wrong can be named.
fn merge_request(json: &Value, origin: &Origin) -> Result<MergeRequest, ParseFailure> {
    const AT: &str = "merge_request";
    let own = &json[AT];
    let (thread, change): (ThreadJson, ChangeJson) = (parse_part(own, AT)?, parse_part(own, AT)?);
    let beside: MergeRequestJson = parse_part(json, "")?;
    let sha = |sha: Option<String>| sha.filter(|sha| is_sha(sha));
    Ok(MergeRequest {
        id: ThreadId::merge_request(origin.project.as_str(), thread.iid),
        thread: thread.into_thread(AT, beside.internal_notes)?,
        source_branch: change.source_branch,
        target_branch: change.target_branch,
        draft: change.draft || change.work_in_progress,
        reviewers: usernames(change.reviewers),
        // Who reviews unasked becomes a reviewer too.
        requested_reviewers: None,
        approved_by: beside.approved_by,
        merged_at: change.merged_at,
        // The second is the older name of the first.
        merged_by: username(change.merge_user.or(change.merged_by)),
        head_sha: sha(change.sha),
        merge_commit_sha: sha(change.merge_commit_sha),
        squash_commit_sha: sha(change.squash_commit_sha),
        closes: thread_ids(&beside.closes_issues),
        files: beside.files,
    })
}

#[derive(Deserialize)]
struct DiscussionJson {
    id: String,
    #[serde(default, deserialize_with = "or_default")]
    individual_note: bool,
    notes: Vec<NoteJson>,
}

#[derive(Deserialize)]
struct NoteJson {
    id: u64,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    author: Option<UserReference>,
    created_at: Timestamp,
    updated_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "or_default")]
    system: bool,
    #[serde(default, deserialize_with = "or_default")]
    resolvable: bool,
    #[serde(default, deserialize_with = "or_default")]
    resolved: bool,
    resolved_by: Option<UserReference>,
    resolved_at: Option<Timestamp>,
    position: Option<PositionJson>,
}

impl DiscussionJson {
    fn into_discussion(self, thread: ThreadId, origin: &Origin) -> Discussion {
        let web_url = self.web_url(&thread, origin);
        let (system, written): (Vec<_>, Vec<_>) = self.notes.into_iter().partition(|note| note.system);
        let mut events: Vec<SystemEvent> = Vec::new();
        for event in system.iter().flat_map(|note| system_note::events(&note.body, &origin.project)) {
            if !events.contains(&event) {
                events.push(event);
            }
        }
        Discussion {
            id: self.id,
            thread,
            forge: Forge::GitLab,
            individual: self.individual_note,
            notes: written.into_iter().map(NoteJson::into_note).collect(),
            events,
            web_url,
            confidential: false,
        }
    }

    fn web_url(&self, thread: &ThreadId, origin: &Origin) -> String {
        let list = match thread.kind {
            ThreadKind::Issue => "issues",
            ThreadKind::MergeRequest => "merge_requests",
        };
        let url = format!("{}/{}/-/{list}/{}", origin.forge_url, thread.project, thread.iid);
        match self.notes.iter().find(|note| !note.system).or(self.notes.first()) {
            Some(first) => format!("{url}#note_{}", first.id),
            None => url,
        }
    }
}

impl NoteJson {
    fn into_note(self) -> Note {
        Note {
            id: self.id,
            kind: match self.kind.as_deref() {
                Some("DiscussionNote") => NoteKind::Discussion,
                Some("DiffNote" | "LegacyDiffNote") => NoteKind::Diff,
                _ => NoteKind::Comment,
            },
            author: username(self.author),
            body: self.body,
            created_at: self.created_at,
            updated_at: self.updated_at.unwrap_or(self.created_at),
            resolvable: self.resolvable,
            resolved: self.resolved,
            resolved_by: username(self.resolved_by),
            resolved_at: self.resolved_at,
            position: self.position.and_then(PositionJson::into_position),
        }
    }
}

#[cfg(test)]
mod tests;
