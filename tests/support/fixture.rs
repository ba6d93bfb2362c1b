//! The projects of the GitLab stand-in: read from a short form, told in GitLab's own.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

/// The usual fixture.
pub(super) const ACME: &str = include_str!("../fixtures/acme.json");

#[derive(Deserialize)]
struct Fixture {
    people: Vec<PersonFixture>,
    projects: Vec<ProjectFixture>,
}

#[derive(Deserialize)]
struct PersonFixture {
    username: String,
    name: String,
}

#[derive(Deserialize)]
struct ProjectFixture {
    path: String,
    id: u64,
    description: Option<String>,
    #[serde(default)]
    archived: bool,
    labels: Vec<Value>,
    milestones: Vec<MilestoneFixture>,
    issues: Vec<ThreadFixture>,
    merge_requests: Vec<ThreadFixture>,
}

#[derive(Deserialize)]
struct MilestoneFixture {
    title: String,
    state: String,
    description: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ThreadFixture {
    title: String,
    description: Option<String>,
    state: String,
    author: String,
    assignees: Vec<String>,
    reviewers: Vec<String>,
    approved_by: Vec<String>,
    labels: Vec<String>,
    milestone: Option<usize>,
    draft: bool,
    source_branch: String,
    target_branch: String,
    created_at: String,
    updated_at: String,
    closed_at: Option<String>,
    closed_by: Option<String>,
    merged_at: Option<String>,
    merged_by: Option<String>,
    sha: Option<String>,
    merge_commit_sha: Option<String>,
    squash_commit_sha: Option<String>,
    closes: Vec<String>,
    merge_requests: Vec<String>,
    links: Vec<LinkFixture>,
    discussions: Vec<Vec<NoteFixture>>,
}

#[derive(Deserialize)]
struct LinkFixture {
    r#type: String,
    to: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoteFixture {
    author: String,
    at: String,
    body: String,
    #[serde(default)]
    system: bool,
    #[serde(default)]
    individual: bool,
    resolved_by: Option<String>,
    position: Option<PositionFixture>,
}

#[derive(Deserialize)]
struct PositionFixture {
    path: String,
    lines: Option<[u32; 2]>,
    old_lines: Option<[u32; 2]>,
}

/// Everything the stand-in knows.
pub(super) struct World {
    /// Its own address.
    pub(super) url: String,
    /// Its clock.
    pub(super) now: Timestamp,
    /// Everybody, by user name.
    pub(super) people: BTreeMap<String, Value>,
    /// The projects.
    pub(super) projects: Vec<Project>,
    last_id: u64,
}

pub(super) struct Project {
    pub(super) id: u64,
    pub(super) path: String,
    pub(super) json: Value,
    pub(super) labels: Vec<Value>,
    pub(super) milestones: Vec<Value>,
    /// Issues and merge requests by `#1` and `!1`.
    pub(super) threads: BTreeMap<String, Thread>,
}

/// An issue or merge request.
pub(super) struct Thread {
    /// As a list shows it, labels by name.
    pub(super) json: Value,
    pub(super) discussions: Vec<Value>,
    pub(super) approved_by: Vec<Value>,
    /// References of the issues that it closes, or of the merge requests that close it.
    pub(super) closing: Vec<String>,
    pub(super) links: Vec<(String, String)>,
    /// What it would change, as GitLab tells it.
    pub(super) diffs: Vec<Value>,
}

impl World {
    /// A fixture, as JSON, at an address and a time.
    pub(super) fn new(url: &str, now: Timestamp, fixture: &str) -> Self {
        let fixture: Fixture = serde_json::from_str(fixture).unwrap();
        let mut world = Self { url: url.to_owned(), now, people: BTreeMap::new(), projects: Vec::new(), last_id: 1000 };
        for (id, person) in (11..).zip(fixture.people) {
            let json = json!({
                "id": id, "username": person.username, "name": person.name, "state": "active", "locked": false,
                "avatar_url": format!("{url}/avatars/{id}.png"), "web_url": format!("{url}/{}", person.username),
            });
            world.people.insert(person.username, json);
        }
        for project in fixture.projects {
            let project = world.project(project);
            world.projects.push(project);
        }
        world
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn person(&self, username: &str) -> Value {
        self.people.get(username).unwrap_or_else(|| panic!("nobody is called {username}")).clone()
    }

    fn maybe(&self, username: Option<&String>) -> Value {
        username.map_or(Value::Null, |username| self.person(username))
    }

    fn all(&self, usernames: &[String]) -> Vec<Value> {
        usernames.iter().map(|username| self.person(username)).collect()
    }

    fn project(&mut self, fixture: ProjectFixture) -> Project {
        let ProjectFixture { path, id, .. } = fixture;
        let web_url = format!("{}/{path}", self.url);
        let name = path.rsplit('/').next().unwrap();
        let json = json!({
            "id": id, "name": name, "name_with_namespace": path.replace('/', " / "), "path": name,
            "path_with_namespace": path, "description": fixture.description, "default_branch": "main",
            "created_at": "2022-01-10T08:00:00.000Z", "web_url": web_url, "visibility": "private",
            "http_url_to_repo": format!("{web_url}.git"), "archived": fixture.archived, "star_count": 3,
            "last_activity_at": self.now.to_string(), "runners_token": "never-to-be-stored",
        });
        let labels = (21..).zip(fixture.labels).map(|(id, mut label)| {
            label["id"] = json!(id);
            label["text_color"] = json!("#FFFFFF");
            label
        });
        let milestones = (1..).zip(fixture.milestones).map(|(iid, milestone)| {
            json!({
                "id": id * 100 + iid, "iid": iid, "project_id": id, "title": milestone.title,
                "description": milestone.description, "state": milestone.state, "due_date": null, "start_date": null,
                "created_at": "2023-10-01T00:00:00.000Z", "updated_at": "2023-10-01T00:00:00.000Z", "expired": false,
                "web_url": format!("{web_url}/-/milestones/{iid}"),
            })
        });
        let mut project = Project {
            labels: labels.collect(),
            milestones: milestones.collect(),
            threads: BTreeMap::new(),
            id,
            path,
            json,
        };
        for (sigil, threads) in [('#', fixture.issues), ('!', fixture.merge_requests)] {
            for (iid, thread) in (1..).zip(threads) {
                let thread = self.thread(&project, sigil, iid, &thread);
                project.threads.insert(format!("{sigil}{iid}"), thread);
            }
        }
        project
    }

    fn thread(&mut self, project: &Project, sigil: char, iid: u64, fixture: &ThreadFixture) -> Thread {
        let mut json = self.thread_json(project, sigil, iid, fixture);
        if sigil == '!' {
            let merged_by = self.maybe(fixture.merged_by.as_ref());
            let more = json!({
                "source_branch": fixture.source_branch, "target_branch": fixture.target_branch, "draft": fixture.draft,
                "work_in_progress": fixture.draft, "reviewers": self.all(&fixture.reviewers),
                "merged_at": fixture.merged_at, "merged_by": merged_by, "merge_user": merged_by, "sha": fixture.sha,
                "merge_commit_sha": fixture.merge_commit_sha, "squash_commit_sha": fixture.squash_commit_sha,
                "merge_status": "can_be_merged", "detailed_merge_status": "mergeable", "has_conflicts": false,
            });
            json.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        } else {
            json["merge_requests_count"] = json!(fixture.merge_requests.len());
            json["confidential"] = json!(false);
            json["issue_type"] = json!("issue");
        }
        let noteable = Noteable { sigil, iid, id: json["id"].as_u64().unwrap(), project: project.id };
        let discussions = fixture.discussions.iter().map(|notes| self.discussion(noteable, notes)).collect();
        // What another project has is written with its path.
        let full = |reference: &String| match reference.contains('/') {
            true => reference.clone(),
            false => format!("{}{reference}", project.path),
        };
        let approved_by = fixture.approved_by.iter();
        Thread {
            json,
            discussions,
            approved_by: approved_by.map(|username| json!({"user": self.person(username)})).collect(),
            closing: fixture.closes.iter().chain(&fixture.merge_requests).map(full).collect(),
            links: fixture.links.iter().map(|link| (link.r#type.clone(), full(&link.to))).collect(),
            diffs: Vec::new(),
        }
    }

    fn thread_json(&mut self, project: &Project, sigil: char, iid: u64, fixture: &ThreadFixture) -> Value {
        let kind = if sigil == '#' { "issues" } else { "merge_requests" };
        let notes = fixture.discussions.iter().flatten().filter(|note| !note.system).count();
        let milestone = fixture.milestone.map_or(Value::Null, |iid| project.milestones[iid - 1].clone());
        let id = self.next_id();
        json!({
            "id": id, "iid": iid, "project_id": project.id, "title": fixture.title,
            "description": fixture.description, "state": fixture.state, "created_at": fixture.created_at,
            "updated_at": fixture.updated_at, "closed_at": fixture.closed_at,
            "closed_by": self.maybe(fixture.closed_by.as_ref()), "labels": fixture.labels, "milestone": milestone,
            "assignees": self.all(&fixture.assignees), "author": self.person(&fixture.author),
            "user_notes_count": notes, "upvotes": 0, "downvotes": 0, "subscribed": true,
            "web_url": format!("{}/{}/-/{kind}/{iid}", self.url, project.path),
            "references": {
                "short": format!("{sigil}{iid}"), "relative": format!("{sigil}{iid}"),
                "full": format!("{}{sigil}{iid}", project.path),
            },
        })
    }

    fn discussion(&mut self, noteable: Noteable, notes: &[NoteFixture]) -> Value {
        let individual = notes[0].individual || notes[0].system;
        let notes: Vec<Value> = notes.iter().map(|note| self.note_of(noteable, note, individual)).collect();
        let id = discussion_id(notes[0]["id"].as_u64().unwrap());
        json!({ "id": id, "individual_note": individual, "notes": notes })
    }

    fn note_of(&mut self, noteable: Noteable, fixture: &NoteFixture, individual: bool) -> Value {
        let author = self.person(&fixture.author);
        let mut note = self.note(noteable, &author, &fixture.body, &fixture.at, individual);
        note["system"] = json!(fixture.system);
        if noteable.sigil == '!' && !individual {
            note["resolvable"] = json!(true);
            note["resolved"] = json!(fixture.resolved_by.is_some());
            note["resolved_by"] = self.maybe(fixture.resolved_by.as_ref());
            note["resolved_at"] = fixture.resolved_by.as_ref().map_or(Value::Null, |_| json!(fixture.at));
        }
        if let Some(position) = &fixture.position {
            note["type"] = json!("DiffNote");
            note["position"] = position.json();
        }
        note
    }

    pub(super) fn note(&mut self, noteable: Noteable, author: &Value, body: &str, at: &str, individual: bool) -> Value {
        json!({
            "id": self.next_id(), "type": if individual { Value::Null } else { json!("DiscussionNote") },
            "body": body, "author": author, "created_at": at, "updated_at": at, "system": false,
            "noteable_id": noteable.id, "noteable_iid": noteable.iid, "project_id": noteable.project,
            "noteable_type": if noteable.sigil == '#' { "Issue" } else { "MergeRequest" },
            "resolvable": false, "confidential": false, "internal": false, "attachment": null,
        })
    }
}

/// What a note stands on.
#[derive(Clone, Copy)]
pub(super) struct Noteable {
    pub(super) sigil: char,
    pub(super) iid: u64,
    pub(super) id: u64,
    pub(super) project: u64,
}

/// Forty hex digits, like those of GitLab.
pub(super) fn discussion_id(first_note: u64) -> String {
    format!("{:08x}{:032x}", first_note * 0x9e37, first_note)
}

impl PositionFixture {
    fn json(&self) -> Value {
        let (sha, head) = ("1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222");
        let end = |at: usize| {
            let line = |lines: Option<[u32; 2]>| lines.map(|lines| lines[at]);
            let kind = if self.lines.is_some() { "new" } else { "old" };
            json!({"type": kind, "old_line": line(self.old_lines), "new_line": line(self.lines)})
        };
        json!({
            "position_type": "text", "base_sha": sha, "start_sha": sha, "head_sha": head, "old_path": self.path,
            "new_path": self.path, "old_line": self.old_lines.map(|lines| lines[1]),
            "new_line": self.lines.map(|lines| lines[1]), "line_range": { "start": end(0), "end": end(1) },
        })
    }
}
