//! What people do at the GitLab stand-in.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    fixture::{Noteable, Project, Thread, World, discussion_id},
    forge::Forge,
};

/// GitLab moves the time of an issue for a note at most this often.
const TOUCH_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

impl Forge {
    /// Lets time pass.
    pub(crate) fn advance(&self, seconds: i64) {
        self.write(|world| world.now += SignedDuration::from_secs(seconds));
    }

    /// Somebody begins a discussion on `acme/shop#1`; its id.
    pub(crate) fn discuss(&self, thread: &str, author: &str, body: &str) -> String {
        self.write(|world| {
            let (author, now) = (world.person(author), world.now.to_string());
            let noteable = noteable(world.thread_mut(thread), thread);
            let note = world.note(noteable, &author, body, &now, false);
            let id = discussion_id(note["id"].as_u64().unwrap());
            let thread = world.thread_mut(thread);
            thread.discussions.push(json!({ "id": id, "individual_note": false, "notes": [note] }));
            thread.noted(1, &now);
            id
        })
    }

    /// The same, as an internal note.
    pub(crate) fn discuss_inside(&self, thread: &str, author: &str, body: &str) -> String {
        let id = self.discuss(thread, author, body);
        self.write(|world| {
            let known = world.thread_mut(thread).discussions.iter_mut().find(|known| known["id"] == id.as_str());
            let note = &mut known.unwrap()["notes"][0];
            (note["internal"], note["confidential"]) = (json!(true), json!(true));
        });
        id
    }

    /// GitLab notes by itself that a text elsewhere mentions an issue or merge request.
    pub(crate) fn mentioned_in(&self, thread: &str, elsewhere: &str) {
        let id = self.discuss(thread, "johndoe", &format!("mentioned in issue {}", split(elsewhere).1));
        self.write(|world| {
            let thread = world.thread_mut(thread);
            let known = thread.discussions.iter_mut().find(|known| known["id"] == id.as_str()).unwrap();
            known["notes"][0]["system"] = json!(true);
            known["individual_note"] = json!(true);
            let count = thread.json["user_notes_count"].as_i64().unwrap();
            thread.json["user_notes_count"] = json!(count - 1);
        });
    }

    /// Somebody comes who was not there.
    pub(crate) fn join(&self, username: &str, name: &str) {
        self.write(|world| {
            let mut json = world.person("johndoe");
            let id = 1000 + world.people.len();
            let web_url = format!("{}/{username}", world.url);
            for (key, value) in
                [("id", json!(id)), ("username", json!(username)), ("name", json!(name)), ("web_url", json!(web_url))]
            {
                json[key] = value;
            }
            world.people.insert(username.to_owned(), json);
        });
    }

    /// Somebody makes an issue confidential, or no longer.
    pub(crate) fn set_confidential(&self, issue: &str, confidential: bool) {
        self.edit(issue, |json| json["confidential"] = json!(confidential));
    }

    /// Somebody relates one issue to another.
    pub(crate) fn relate(&self, issue: &str, other: &str) {
        self.write(|world| {
            for (from, to) in [(issue, other), (other, issue)] {
                world.thread_mut(from).links.push(("relates_to".to_owned(), to.to_owned()));
            }
        });
        self.edit(issue, |_| {});
        self.edit(other, |_| {});
    }

    /// The same, without the time of the issue being moved.
    pub(crate) fn note_unseen(&self, thread: &str, author: &str, body: &str) {
        let updated_at = self.write(|world| world.thread_mut(thread).json["updated_at"].clone());
        self.discuss(thread, author, body);
        self.write(|world| world.thread_mut(thread).json["updated_at"] = updated_at);
    }

    /// Somebody replies in a discussion of `acme/shop#1`; the number of the note.
    pub(crate) fn reply(&self, thread: &str, discussion: &str, author: &str, body: &str) -> u64 {
        self.write(|world| {
            let (author, now) = (world.person(author), world.now.to_string());
            let noteable = noteable(world.thread_mut(thread), thread);
            let note = world.note(noteable, &author, body, &now, false);
            let id = note["id"].as_u64().unwrap();
            let thread = world.thread_mut(thread);
            let discussion = thread.discussions.iter_mut().find(|known| known["id"] == discussion).unwrap();
            discussion["notes"].as_array_mut().unwrap().push(note);
            thread.noted(1, &now);
            id
        })
    }

    /// Somebody deletes a note. GitLab does not move the issue's time for that.
    pub(crate) fn delete_note(&self, thread: &str, note: u64) {
        self.write(|world| {
            let thread = world.thread_mut(thread);
            for discussion in &mut thread.discussions {
                discussion["notes"].as_array_mut().unwrap().retain(|known| known["id"] != note);
            }
            thread.discussions.retain(|discussion| !discussion["notes"].as_array().unwrap().is_empty());
            let notes = thread.json["user_notes_count"].as_i64().unwrap();
            thread.json["user_notes_count"] = json!(notes - 1);
        });
    }

    /// Somebody gives an issue or merge request another title.
    pub(crate) fn edit_title(&self, thread: &str, title: &str) {
        self.edit(thread, |json| json["title"] = json!(title));
    }

    /// Somebody puts a label on an issue or merge request.
    pub(crate) fn add_label(&self, thread: &str, label: &str) {
        self.edit(thread, |json| json["labels"].as_array_mut().unwrap().push(json!(label)));
    }

    /// Somebody makes a label and puts it on an issue or merge request.
    pub(crate) fn new_label(&self, thread: &str, name: &str) {
        self.write(|world| {
            let label = json!({
                "id": world.next_id(), "name": name, "color": "#dc143c", "text_color": "#FFFFFF", "description": name,
            });
            world.project_mut(split(thread).0).labels.push(label);
        });
        self.add_label(thread, name);
    }

    /// The forge calls a discussion by an id of another form.
    pub(crate) fn call_discussion(&self, thread: &str, discussion: &str, id: &str) {
        self.write(|world| {
            let known = world.thread_mut(thread).discussions.iter_mut().find(|known| known["id"] == discussion);
            known.unwrap()["id"] = json!(id);
        });
    }

    /// Somebody closes an issue or merge request.
    pub(crate) fn close(&self, thread: &str, by: &str) {
        let (person, now) = self.write(|world| (world.person(by), world.now.to_string()));
        self.edit(thread, |json| {
            json["state"] = json!("closed");
            json["closed_at"] = json!(now);
            json["closed_by"] = person;
        });
    }

    /// Somebody opens an issue; its reference.
    pub(crate) fn new_issue(&self, project: &str, author: &str, title: &str, description: &str) -> String {
        self.write(|world| {
            let (id, author, now, url) =
                (world.next_id(), world.person(author), world.now.to_string(), world.url.clone());
            let project = world.project_mut(project);
            let numbers = project.threads.keys().filter_map(|key| key.strip_prefix('#')?.parse::<u64>().ok());
            let iid = numbers.max().unwrap_or(0) + 1;
            let full = format!("{}#{iid}", project.path);
            let json = json!({
                "id": id, "iid": iid, "project_id": project.id, "title": title, "description": description,
                "state": "opened", "created_at": now, "updated_at": now, "closed_at": null, "closed_by": null,
                "labels": [], "milestone": null, "assignees": [], "author": author, "user_notes_count": 0,
                "merge_requests_count": 0, "confidential": false, "issue_type": "issue",
                "web_url": format!("{url}/{}/-/issues/{iid}", project.path),
                "references": { "short": format!("#{iid}"), "relative": format!("#{iid}"), "full": full },
            });
            let thread = Thread {
                json,
                discussions: vec![],
                approved_by: vec![],
                closing: vec![],
                links: vec![],
                diffs: vec![],
            };
            project.threads.insert(format!("#{iid}"), thread);
            full
        })
    }

    /// Somebody opens a merge request that mentions no issue; its reference.
    pub(crate) fn new_merge_request(&self, project: &str, author: &str, title: &str, description: &str) -> String {
        self.write(|world| {
            let (id, author, now, url) =
                (world.next_id(), world.person(author), world.now.to_string(), world.url.clone());
            let project = world.project_mut(project);
            let iid = project.threads.keys().filter(|key| key.starts_with('!')).count() + 1;
            let full = format!("{}!{iid}", project.path);
            let json = json!({
                "id": id, "iid": iid, "project_id": project.id, "title": title, "description": description,
                "state": "opened", "created_at": now, "updated_at": now, "closed_at": null, "closed_by": null,
                "labels": [], "milestone": null, "assignees": [], "author": author, "user_notes_count": 0,
                "source_branch": format!("change-{iid}"), "target_branch": "main", "draft": false, "reviewers": [],
                "merged_at": null, "merged_by": null, "merge_user": null, "sha": null, "merge_commit_sha": null,
                "squash_commit_sha": null, "web_url": format!("{url}/{}/-/merge_requests/{iid}", project.path),
                "references": { "short": format!("!{iid}"), "relative": format!("!{iid}"), "full": full },
            });
            let thread = Thread {
                json,
                discussions: vec![],
                approved_by: vec![],
                closing: vec![],
                links: vec![],
                diffs: vec![],
            };
            project.threads.insert(format!("!{iid}"), thread);
            full
        })
    }

    /// Somebody pushes to a merge request: it would now change these files, each with its old and new path and a flag of
    /// GitLab, `new_file`, `deleted_file`, `renamed_file` or an empty one.
    pub(crate) fn push(&self, request: &str, files: &[(&str, &str, &str)]) {
        let diff = |(old, new, flag): &(&str, &str, &str)| {
            let is = |name: &str| name == *flag;
            json!({
                "old_path": old, "new_path": new, "a_mode": "100644", "b_mode": "100644", "diff": "@@ -1 +1 @@\n-a\n+b\n",
                "new_file": is("new_file"), "deleted_file": is("deleted_file"), "renamed_file": is("renamed_file"),
                "collapsed": false, "too_large": false,
            })
        };
        self.write(|world| world.thread_mut(request).diffs = files.iter().map(diff).collect());
        self.edit(request, |_| {});
    }

    /// Says as which commit a merge request was merged.
    pub(crate) fn set_merge_commit(&self, request: &str, sha: &str) {
        self.edit(request, |json| json["merge_commit_sha"] = json!(sha));
    }

    /// Says with which commit the branch of a merge request ends.
    pub(crate) fn set_head(&self, request: &str, sha: &str) {
        self.edit(request, |json| json["sha"] = json!(sha));
    }

    /// Somebody gives an issue or merge request another description.
    pub(crate) fn edit_description(&self, thread: &str, description: &str) {
        self.edit(thread, |json| json["description"] = json!(description));
    }

    /// Somebody deletes an issue or merge request.
    pub(crate) fn delete(&self, thread: &str) {
        self.write(|world| {
            let (project, short) = split(thread);
            world.project_mut(project).threads.remove(short).unwrap();
        });
    }

    /// Somebody resolves the discussions of a merge request.
    pub(crate) fn resolve(&self, thread: &str, by: &str) {
        self.write(|world| {
            let by = world.person(by);
            for note in world.thread_mut(thread).notes_mut().filter(|note| note["resolvable"] == true) {
                note["resolved"] = json!(true);
                note["resolved_by"] = by.clone();
            }
        });
        self.edit(thread, |json| json["blocking_discussions_resolved"] = json!(true));
    }

    /// Somebody moves an issue to another project: it is opened there, and closed here. Its reference there.
    pub(crate) fn move_issue(&self, issue: &str, to: &str, by: &str) -> String {
        let text =
            |key: &str| self.write(|world| world.thread_mut(issue).json[key].as_str().unwrap_or_default().to_owned());
        let moved = self.new_issue(to, by, &text("title"), &text("description"));
        self.discuss(issue, by, &format!("moved to {moved}"));
        let id = self.write(|world| {
            let note = world.thread_mut(issue).notes_mut().last().unwrap();
            note["system"] = json!(true);
            world.thread_mut(&moved).json["id"].clone()
        });
        self.edit(issue, |json| json["moved_to_id"] = id);
        self.close(issue, by);
        moved
    }

    /// Somebody takes another user name, which moves no time. Here they are still known by the first one.
    pub(crate) fn rename(&self, person: &str, username: &str) {
        self.write(|world| {
            let (id, page) = (world.person(person)["id"].clone(), format!("{}/{username}", world.url));
            let threads = world.projects.iter_mut().flat_map(|project| project.threads.values_mut());
            let of_threads = threads.flat_map(|thread| {
                let Thread { json, discussions, approved_by, .. } = thread;
                discussions.iter_mut().chain(approved_by).chain([json])
            });
            for json in of_threads.chain(world.people.values_mut()) {
                each_object(json, &mut |object| {
                    if object["id"] == id && object["username"].is_string() {
                        object["username"] = json!(username);
                        object["web_url"] = json!(page);
                    }
                });
            }
        });
    }

    fn edit(&self, thread: &str, change: impl FnOnce(&mut Value)) {
        self.write(|world| {
            let now = world.now.to_string();
            let json = &mut world.thread_mut(thread).json;
            change(json);
            json["updated_at"] = json!(now);
        });
    }
}

impl World {
    fn project_mut(&mut self, path: &str) -> &mut Project {
        self.projects.iter_mut().find(|project| project.path == path).unwrap()
    }

    fn thread_mut(&mut self, reference: &str) -> &mut Thread {
        let (project, short) = split(reference);
        self.project_mut(project).threads.get_mut(short).unwrap()
    }
}

impl Thread {
    fn notes_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.discussions.iter_mut().flat_map(|discussion| discussion["notes"].as_array_mut().unwrap())
    }

    fn noted(&mut self, notes: i64, now: &str) {
        let count = self.json["user_notes_count"].as_i64().unwrap();
        self.json["user_notes_count"] = json!(count + notes);
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        if time(now).duration_since(time(self.json["updated_at"].as_str().unwrap())) >= TOUCH_INTERVAL {
            self.json["updated_at"] = json!(now);
        }
    }
}

fn each_object(json: &mut Value, show: &mut impl FnMut(&mut Value)) {
    if json.is_object() {
        show(json);
    }
    match json {
        Value::Object(map) => map.values_mut().for_each(|value| each_object(value, show)),
        Value::Array(values) => values.iter_mut().for_each(|value| each_object(value, show)),
        _ => {}
    }
}

/// `acme/shop#1` as project and `#1`.
fn split(reference: &str) -> (&str, &str) {
    reference.split_at(reference.find(['#', '!']).unwrap())
}

fn noteable(thread: &Thread, reference: &str) -> Noteable {
    let number = |key: &str| thread.json[key].as_u64().unwrap();
    let sigil = if reference.contains('#') { '#' } else { '!' };
    Noteable { sigil, iid: number("iid"), id: number("id"), project: number("project_id") }
}
