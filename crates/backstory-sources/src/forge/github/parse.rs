//! Parses stored payloads of GitHub into model values. Nothing is requested.

use std::collections::BTreeMap;

use backstory_model::{
    entity::{
        Discussion, Issue, Item, ItemKind, Label, MergeRequest, Milestone, Note, NoteKind, Person, Project,
        ProposedFile, Release, State, SystemEvent, Thread,
    },
    id::{ThreadId, is_sha},
    message::closed_by_description,
    reference::{Forge, ReferenceContext},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{details::TIMELINE, payload::PERSON_KEY, position::PositionJson, timeline::EventJson};
use crate::forge::{
    Origin,
    fields::{ParseFailure, discussion_of_key, or_default, parse_part},
};

/// Whether the key of a person is one of GitHub's.
pub(crate) fn is_person_key(key: &str) -> bool {
    key.starts_with(PERSON_KEY)
}

/// What parsing is relative to, from the payload of the project.
pub(crate) fn origin_of_project(json: &Value) -> Option<Origin> {
    let project = json["full_name"].as_str()?;
    let web_url = json["html_url"].as_str()?.trim_end_matches('/');
    let forge_url = web_url.strip_suffix(project)?.strip_suffix('/')?;
    Some(Origin { forge: Forge::GitHub, project: project.to_owned(), forge_url: forge_url.to_owned() })
}

/// The model value of a stored payload.
pub(crate) fn read(kind: ItemKind, origin: &Origin, key: &str, json: &Value) -> Result<Item, ParseFailure> {
    Ok(match kind {
        ItemKind::Project => Item::Project(parse_part::<ProjectJson>(json, "")?.into()),
        ItemKind::Person => Item::Person(parse_part::<PersonJson>(json, "")?.into()),
        ItemKind::Label => Item::Label(parse_part::<LabelJson>(json, "")?.into_label(origin)),
        ItemKind::Milestone => Item::Milestone(parse_part::<MilestoneJson>(json, "")?.into_milestone(origin)),
        ItemKind::Release => Item::Release(parse_part::<ReleaseJson>(json, "")?.into_release(origin)),
        ItemKind::Issue => {
            let IssueJson { issue } = parse_part(json, "")?;
            let id = ThreadId::issue(origin.project.as_str(), issue.number);
            let thread = issue.into_thread(0)?;
            Item::Issue(Issue { id, thread, related: vec![], closed_by_requests: vec![], links: vec![] })
        }
        ItemKind::MergeRequest => Item::MergeRequest(parse_part::<BundleJson>(json, "")?.into_merge_request(origin)?),
        ItemKind::Discussion => {
            let (thread, id) = discussion_of_key(key, origin)?;
            Item::Discussion(DiscussionJson::read(json)?.into_discussion(thread, id, origin))
        }
        kind => return Err(ParseFailure::of_no_forge(kind)),
    })
}

#[derive(Deserialize)]
struct ProjectJson {
    id: u64,
    full_name: String,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    description: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    html_url: String,
    default_branch: Option<String>,
    created_at: Option<Timestamp>,
}

impl From<ProjectJson> for Project {
    fn from(json: ProjectJson) -> Self {
        Self {
            path: json.full_name,
            forge_id: json.id,
            name: json.name,
            description: json.description.filter(|text| !text.is_empty()),
            web_url: json.html_url,
            default_branch: json.default_branch,
            created_at: json.created_at,
        }
    }
}

#[derive(Deserialize)]
struct PersonJson {
    id: u64,
    login: String,
    name: Option<String>,
    html_url: Option<String>,
}

impl From<PersonJson> for Person {
    fn from(json: PersonJson) -> Self {
        let name = json.name.unwrap_or_else(|| json.login.clone());
        Self { username: json.login, forge_id: json.id, name, web_url: json.html_url }
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
        let color = self.color.map(|color| format!("#{}", color.trim_start_matches('#')));
        Label { project: origin.project.clone(), name: self.name, color, description }
    }
}

#[derive(Deserialize)]
struct MilestoneJson {
    number: u64,
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    description: String,
    #[serde(default, deserialize_with = "or_default")]
    state: String,
    html_url: Option<String>,
}

impl MilestoneJson {
    fn into_milestone(self, origin: &Origin) -> Milestone {
        let state = if self.state == "open" { "active".to_owned() } else { self.state };
        Milestone {
            project: origin.project.clone(),
            iid: self.number,
            title: self.title,
            description: self.description,
            state,
            web_url: self.html_url,
        }
    }
}

#[derive(Deserialize)]
struct ReleaseJson {
    tag_name: String,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    author: Option<UserReference>,
    created_at: Option<Timestamp>,
    published_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "or_default")]
    prerelease: bool,
    html_url: Option<String>,
}

impl ReleaseJson {
    fn into_release(self, origin: &Origin) -> Release {
        Release {
            project: origin.project.clone(),
            name: if self.name.is_empty() { self.tag_name.clone() } else { self.name },
            tag: self.tag_name,
            description: self.body,
            author: login(self.author),
            released_at: self.published_at.or(self.created_at),
            preliminary: self.prerelease,
            web_url: self.html_url,
        }
    }
}

#[derive(Deserialize)]
struct UserReference {
    login: String,
}

fn login(user: Option<UserReference>) -> Option<String> {
    user.map(|user| user.login)
}

fn logins(users: Vec<UserReference>) -> Vec<String> {
    users.into_iter().map(|user| user.login).collect()
}

#[derive(Deserialize)]
struct IssueJson {
    issue: ThreadJson,
}

/// An issue, or a pull request in its issue form.
#[derive(Deserialize)]
struct ThreadJson {
    number: u64,
    #[serde(default, deserialize_with = "or_default")]
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    state: String,
    user: Option<UserReference>,
    #[serde(default, deserialize_with = "or_default")]
    labels: Vec<String>,
    milestone: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    assignees: Vec<UserReference>,
    created_at: Timestamp,
    updated_at: Option<Timestamp>,
    closed_at: Option<Timestamp>,
    closed_by: Option<UserReference>,
    #[serde(default, deserialize_with = "or_default")]
    html_url: String,
    #[serde(default, deserialize_with = "or_default")]
    comments: u64,
    #[serde(default, deserialize_with = "or_default")]
    draft: bool,
    pull_request: Option<MergedJson>,
}

#[derive(Deserialize)]
struct MergedJson {
    merged_at: Option<Timestamp>,
}

impl ThreadJson {
    fn into_thread(self, more_notes: u64) -> Result<Thread, ParseFailure> {
        let is_merged = self.pull_request.is_some_and(|pull| pull.merged_at.is_some());
        let state = match self.state.as_str() {
            "open" => State::Opened,
            "closed" if is_merged => State::Merged,
            "closed" => State::Closed,
            _ => return Err(ParseFailure::at("issue.state", "is unknown")),
        };
        // What is merged is not closed besides.
        let is_closed = state == State::Closed;
        Ok(Thread {
            forge: Forge::GitHub,
            title: self.title,
            description: self.body,
            state,
            author: login(self.user),
            labels: self.labels,
            milestone: self.milestone,
            assignees: logins(self.assignees),
            created_at: self.created_at,
            updated_at: self.updated_at.unwrap_or(self.created_at),
            closed_at: self.closed_at.filter(|_| is_closed),
            closed_by: login(self.closed_by).filter(|_| is_closed),
            web_url: self.html_url,
            notes_count: self.comments + more_notes,
            confidential: false,
        })
    }
}

/// A pull request.
#[derive(Deserialize)]
struct BundleJson {
    issue: ThreadJson,
    pull: PullJson,
    #[serde(default)]
    reviews: Vec<ReviewJson>,
    #[serde(default)]
    files: Vec<ProposedFile>,
}

#[derive(Deserialize)]
struct PullJson {
    head: BranchJson,
    base: BranchJson,
    #[serde(default, deserialize_with = "or_default")]
    requested_reviewers: Vec<UserReference>,
    merged_at: Option<Timestamp>,
    merged_by: Option<UserReference>,
    merge_commit_sha: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    review_comments: u64,
}

#[derive(Deserialize)]
struct BranchJson {
    #[serde(rename = "ref", default, deserialize_with = "or_default")]
    name: String,
    sha: Option<String>,
}

#[derive(Deserialize)]
struct ReviewJson {
    user: Option<UserReference>,
    state: String,
}

impl BundleJson {
    fn into_merge_request(self, origin: &Origin) -> Result<MergeRequest, ParseFailure> {
        let Self { issue, pull, reviews, files } = self;
        let sha = |sha: Option<String>| sha.filter(|sha| is_sha(sha));
        let context = ReferenceContext { forge: Forge::GitHub, project: &origin.project, forge_url: &origin.forge_url };
        let author = issue.user.as_ref().map(|user| user.login.clone());
        let requested = logins(pull.requested_reviewers);
        Ok(MergeRequest {
            id: ThreadId::merge_request(origin.project.as_str(), issue.number),
            source_branch: pull.head.name,
            target_branch: pull.base.name,
            draft: issue.draft,
            reviewers: reviewers(requested.clone(), &reviews, author.as_deref()),
            requested_reviewers: Some(requested),
            approved_by: approved_by(&reviews),
            merged_at: pull.merged_at,
            merged_by: login(pull.merged_by),
            head_sha: sha(pull.head.sha),
            merge_commit_sha: sha(pull.merge_commit_sha),
            // The one above is that commit too.
            squash_commit_sha: None,
            closes: closed_by_description(&issue.body, context),
            files,
            thread: issue.into_thread(pull.review_comments)?,
        })
    }
}

/// Who is asked for a review and who gave one; answering comments on one's own request is none.
fn reviewers(requested: Vec<String>, reviews: &[ReviewJson], author: Option<&str>) -> Vec<String> {
    let mut found = requested;
    for reviewer in reviews.iter().filter_map(|review| review.user.as_ref()) {
        if Some(reviewer.login.as_str()) != author && !found.contains(&reviewer.login) {
            found.push(reviewer.login.clone());
        }
    }
    found
}

/// Those whose last verdict is an approval; a comment is no verdict.
fn approved_by(reviews: &[ReviewJson]) -> Vec<String> {
    let mut last: BTreeMap<&String, &str> = BTreeMap::new();
    for review in reviews.iter().filter(|review| !review.state.eq_ignore_ascii_case("commented")) {
        if let Some(reviewer) = &review.user {
            last.insert(&reviewer.login, review.state.as_str());
        }
    }
    last.into_iter().filter(|(_, state)| state.eq_ignore_ascii_case("approved")).map(|(who, _)| who.clone()).collect()
}

/// A thread of comments, or what happened.
struct DiscussionJson {
    comments: Vec<(CommentJson, PositionJson)>,
    events: Vec<EventJson>,
}

#[derive(Deserialize)]
struct EventsJson {
    #[serde(default)]
    events: Vec<EventJson>,
}

#[derive(Deserialize)]
struct CommentJson {
    id: u64,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    user: Option<UserReference>,
    created_at: Timestamp,
    updated_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "or_default")]
    html_url: String,
}

impl DiscussionJson {
    // A comment and its position are one object. They are read one by one, not flattened: then the field that is wrong
    // can be named.
    fn read(json: &Value) -> Result<Self, ParseFailure> {
        let comments = match json.get("comments") {
            None => &[],
            Some(Value::Array(comments)) => comments.as_slice(),
            Some(_) => return Err(ParseFailure::at("comments", "is not a list")),
        };
        let comment = |(number, comment): (usize, &Value)| {
            let at = format!("comments[{number}]");
            Ok((parse_part(comment, &at)?, parse_part(comment, &at)?))
        };
        let comments = comments.iter().enumerate().map(comment).collect::<Result<_, ParseFailure>>()?;
        Ok(Self { comments, events: parse_part::<EventsJson>(json, "")?.events })
    }

    fn into_discussion(self, thread: ThreadId, id: &str, origin: &Origin) -> Discussion {
        let on_diff = id.starts_with("discussion_r");
        let mut events: Vec<SystemEvent> = Vec::new();
        for event in self.events.into_iter().filter_map(|event| event.into_system_event(&origin.project)) {
            if !events.contains(&event) {
                events.push(event);
            }
        }
        Discussion {
            id: id.to_owned(),
            forge: Forge::GitHub,
            individual: !on_diff && id != TIMELINE,
            web_url: self.comments.first().map(|(first, _)| first.html_url.clone()).unwrap_or_default(),
            notes: self.comments.into_iter().map(|(comment, at)| comment.into_note(at, on_diff)).collect(),
            events,
            thread,
            confidential: false,
        }
    }
}

impl CommentJson {
    fn into_note(self, position: PositionJson, on_diff: bool) -> Note {
        let position = position.into_position().filter(|_| on_diff);
        Note {
            id: self.id,
            kind: match &position {
                Some(_) => NoteKind::Diff,
                None if on_diff => NoteKind::Discussion,
                None => NoteKind::Comment,
            },
            author: login(self.user),
            body: self.body,
            created_at: self.created_at,
            updated_at: self.updated_at.unwrap_or(self.created_at),
            // Whether a thread is resolved is told by another API alone.
            resolvable: false,
            resolved: false,
            resolved_by: None,
            resolved_at: None,
            position,
        }
    }
}

#[cfg(test)]
mod tests;
