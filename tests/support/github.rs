//! The projects of the stand-in as GitHub tells them: one number space, comments without threads, a timeline.

use axum::http::{HeaderMap, StatusCode, header};
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};

use super::{
    fixture::{Project, Thread, World},
    forge::{Answer, Query, refuse},
};

/// Merge request `!1` is the pull request of this number, `!2` that of the next.
pub(crate) const FIRST_REQUEST: u64 = 101;

/// A text as it is written where requests have numbers of the one space.
pub(crate) fn one_space(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('!') {
        let digits: String = rest[at + 1..].chars().take_while(char::is_ascii_digit).collect();
        out.push_str(&rest[..at]);
        match digits.parse::<u64>() {
            Ok(iid) => out.push_str(&format!("#{}", iid + FIRST_REQUEST - 1)),
            Err(_) => out.push('!'),
        }
        rest = &rest[at + 1 + digits.len()..];
    }
    out + rest
}

/// The number of `#1` or `!1`.
fn number(short: &str) -> u64 {
    let iid: u64 = short[1..].parse().unwrap();
    if short.starts_with('!') { iid + FIRST_REQUEST - 1 } else { iid }
}

fn seconds(at: &Value) -> Value {
    let Some(at) = at.as_str() else { return Value::Null };
    let at: Timestamp = at.parse().unwrap();
    json!(Timestamp::from_second(at.as_second()).unwrap().to_string())
}

fn user(person: &Value) -> Value {
    if person.is_null() {
        return Value::Null;
    }
    json!({"id": person["id"], "login": person["username"], "html_url": person["web_url"], "type": "User",
        "node_id": "never-to-be-stored"})
}

fn users(people: &Value) -> Vec<Value> {
    people.as_array().unwrap().iter().map(user).collect()
}

impl World {
    pub(super) fn github(&self, parts: &[&str], query: &Query, headers: &HeaderMap) -> Answer {
        if let ["users", group, "repos"] = parts {
            let named =
                |json: &Value| json!({ "full_name": json["path_with_namespace"], "archived": json["archived"] });
            return page(&self.of_group(group).iter().map(named).collect::<Vec<_>>(), query);
        }
        let ["repos", owner, name, rest @ ..] = parts else { return refuse(StatusCode::NOT_FOUND) };
        let path = format!("{owner}/{name}");
        let Some(project) = self.projects.iter().find(|project| project.path == path) else {
            return refuse(StatusCode::NOT_FOUND);
        };
        let object = |json: Value| (StatusCode::OK, HeaderMap::new(), json);
        let answer = match rest {
            [] => Some(object(json!({
                "id": project.id, "full_name": path, "name": name, "description": project.json["description"],
                "default_branch": "main", "html_url": project.json["web_url"], "created_at": "2022-01-10T08:00:00Z",
                "pushed_at": self.now.to_string(), "permissions": {"admin": true},
            }))),
            ["labels"] => Some(page(&project.labels.iter().map(label).collect::<Vec<_>>(), query)),
            ["milestones"] => Some(page(&project.milestones.iter().map(milestone).collect::<Vec<_>>(), query)),
            ["issues"] => Some(self.github_list(project, query)),
            ["issues", number] => {
                thread(project, number).map(|(short, thread)| object(self.github_issue(project, short, thread)))
            }
            ["issues", number, "timeline"] => {
                thread(project, number).map(|(short, thread)| page(&self.timeline(project, short, thread), query))
            }
            ["pulls", number] => thread(project, number).map(|(_, thread)| object(pull(thread))),
            ["pulls", number, "files"] => thread(project, number)
                .map(|(_, thread)| page(&thread.diffs.iter().map(file).collect::<Vec<_>>(), query)),
            ["pulls", number, "comments"] => thread(project, number).map(|(_, thread)| page(&on_diff(thread), query)),
            _ => None,
        };
        let (status, mut answered, json) = answer.unwrap_or_else(|| refuse(StatusCode::NOT_FOUND));
        let etag =
            format!("W/\"{:x}\"", json.to_string().bytes().fold(7u64, |sum, b| sum.wrapping_mul(31) + u64::from(b)));
        let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == etag.as_bytes());
        answered.insert(header::ETAG, etag.parse().unwrap());
        if status == StatusCode::OK && known {
            (StatusCode::NOT_MODIFIED, answered, Value::Null)
        } else {
            (status, answered, json)
        }
    }

    fn github_list(&self, project: &Project, query: &Query) -> Answer {
        assert_eq!(
            (query.get("sort"), query.get("direction"), query.get("state")),
            (Some("updated"), Some("asc"), Some("all"))
        );
        let since = query.get("since").map(|since| since.parse::<Timestamp>().unwrap());
        let mut items: Vec<Value> =
            project.threads.iter().map(|(short, thread)| self.github_issue(project, short, thread)).collect();
        let at = |item: &Value| item["updated_at"].as_str().unwrap().parse::<Timestamp>().unwrap();
        items.retain(|item| since.is_none_or(|since| at(item) >= since));
        items.sort_by_key(|item| (at(item), item["id"].as_u64()));
        page(&items, query)
    }

    fn github_issue(&self, project: &Project, short: &str, thread: &Thread) -> Value {
        let json = &thread.json;
        let is_request = short.starts_with('!');
        let named = |name: &Value| label(project.labels.iter().find(|label| label["name"] == *name).unwrap());
        let kind = if is_request { "pull" } else { "issues" };
        let closed_at = if json["merged_at"].is_null() { &json["closed_at"] } else { &json["merged_at"] };
        let comments = thread.notes().filter(|note| note["position"].is_null()).count();
        let mut issue = json!({
            "id": json["id"], "number": number(short), "title": json["title"],
            "body": json["description"].as_str().map(one_space),
            "state": if json["state"] == "opened" { "open" } else { "closed" }, "user": user(&json["author"]),
            "labels": json["labels"].as_array().unwrap().iter().map(named).collect::<Vec<_>>(),
            "milestone": if json["milestone"].is_null() { Value::Null } else { milestone(&json["milestone"]) },
            "assignees": users(&json["assignees"]), "created_at": seconds(&json["created_at"]),
            "updated_at": seconds(&json["updated_at"]), "closed_at": seconds(closed_at),
            "closed_by": user(&json["closed_by"]), "comments": comments, "draft": json["draft"] == true,
            "html_url": format!("{}/{}/{kind}/{}", self.url, project.path, number(short)),
            "reactions": {"total_count": 3}, "author_association": "MEMBER",
        });
        if is_request {
            issue["pull_request"] = json!({"url": "x", "merged_at": seconds(&json["merged_at"])});
        }
        issue
    }

    /// What happened, comments and reviews among it.
    fn timeline(&self, project: &Project, short: &str, thread: &Thread) -> Vec<Value> {
        let mut entries = Vec::new();
        for note in thread.all_notes() {
            let body = note["body"].as_str().unwrap();
            let mut entry =
                json!({"id": note["id"], "actor": user(&note["author"]), "created_at": seconds(&note["created_at"])});
            if note["system"] == true {
                let more = self.event(project, body);
                entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            } else if note["position"].is_null() {
                let kind = if short.starts_with('!') { "pull" } else { "issues" };
                entry["event"] = json!("commented");
                entry["user"] = user(&note["author"]);
                entry["body"] = json!(one_space(body));
                entry["updated_at"] = seconds(&note["updated_at"]);
                entry["html_url"] = json!(format!(
                    "{}/{}/{kind}/{}#issuecomment-{}",
                    self.url,
                    project.path,
                    number(short),
                    note["id"]
                ));
            } else {
                continue;
            }
            entries.push(entry);
        }
        // Who approved has said so in a review.
        for approval in &thread.approved_by {
            let at = thread.json["created_at"].as_str().unwrap().parse::<Timestamp>().unwrap() + 1.hour();
            entries.push(
                json!({"id": 5, "event": "reviewed", "state": "approved", "user": user(&approval["user"]), "body": "",
                "submitted_at": at.to_string()}),
            );
        }
        entries
    }

    /// A system note as an event.
    fn event(&self, project: &Project, body: &str) -> Value {
        let person = || self.person(body.rsplit('@').next().unwrap());
        let mentioned = |text: &str| {
            let at = text.find(['#', '!'])?;
            let short: String = text[at..].chars().take_while(|c| c.is_ascii_digit() || "#!".contains(*c)).collect();
            let source = project.threads.get(&short)?;
            let mut issue = self.github_issue(project, &short, source);
            issue["repository_url"] = json!(format!("{}/api/v3/repos/{}", self.url, project.path));
            Some(issue)
        };
        match body {
            _ if body.starts_with("assigned to ") => json!({"event": "assigned", "assignee": user(&person())}),
            _ if body.starts_with("requested review from ") => {
                json!({"event": "review_requested", "requested_reviewer": user(&person())})
            }
            _ if body.starts_with("mentioned in commit ") => {
                let sha = body.rsplit(' ').next().unwrap();
                json!({"event": "referenced", "commit_id": sha,
                    "commit_url": format!("{}/api/v3/repos/{}/commits/{sha}", self.url, project.path)})
            }
            _ if body.starts_with("mentioned in ") => {
                json!({"event": "cross-referenced", "source": {"type": "issue", "issue": mentioned(body)}})
            }
            _ if body.starts_with("closed") => json!({"event": "closed", "commit_id": null}),
            _ => json!({"event": "subscribed"}),
        }
    }
}

impl Thread {
    fn all_notes(&self) -> impl Iterator<Item = &Value> {
        self.discussions.iter().flat_map(|discussion| discussion["notes"].as_array().unwrap())
    }

    fn notes(&self) -> impl Iterator<Item = &Value> {
        self.all_notes().filter(|note| note["system"] != true)
    }
}

fn thread<'a>(project: &'a Project, wanted: &str) -> Option<(&'a str, &'a Thread)> {
    let wanted: u64 = wanted.parse().ok()?;
    project.threads.iter().find(|(short, _)| number(short) == wanted).map(|(short, thread)| (short.as_str(), thread))
}

fn label(label: &Value) -> Value {
    json!({"id": label["id"], "name": label["name"], "description": label["description"], "default": false,
        "color": label["color"].as_str().unwrap().trim_start_matches('#')})
}

fn milestone(milestone: &Value) -> Value {
    let state = if milestone["state"] == "active" { "open" } else { "closed" };
    json!({"id": milestone["id"], "number": milestone["iid"], "title": milestone["title"], "state": state,
        "description": milestone["description"], "created_at": "2023-10-01T00:00:00Z", "open_issues": 4,
        "html_url": milestone["web_url"].as_str().unwrap().replace("/-/milestones/", "/milestone/")})
}

fn pull(thread: &Thread) -> Value {
    let json = &thread.json;
    let merge = if json["squash_commit_sha"].is_null() { "merge_commit_sha" } else { "squash_commit_sha" };
    json!({
        "head": {"ref": json["source_branch"], "sha": json["sha"]}, "base": {"ref": json["target_branch"], "sha": "moves"},
        "merged_at": seconds(&json["merged_at"]), "merged_by": user(&json["merged_by"]),
        "merge_commit_sha": json[merge], "requested_reviewers": users(&json["reviewers"]),
        "review_comments": on_diff(thread).len(), "mergeable_state": "unknown",
    })
}

/// A file that a request would change.
fn file(diff: &Value) -> Value {
    let status = match diff {
        diff if diff["new_file"] == true => "added",
        diff if diff["deleted_file"] == true => "removed",
        diff if diff["renamed_file"] == true => "renamed",
        _ => "modified",
    };
    let mut file = json!({"filename": diff["new_path"], "status": status, "patch": diff["diff"], "changes": 2});
    if status == "renamed" {
        file["previous_filename"] = diff["old_path"].clone();
    }
    file
}

/// The notes on the diff, those of a discussion as replies to its first.
fn on_diff(thread: &Thread) -> Vec<Value> {
    let mut comments = Vec::new();
    for discussion in &thread.discussions {
        let notes = discussion["notes"].as_array().unwrap();
        for note in notes.iter().filter(|note| !note["position"].is_null()) {
            let (position, range) = (&note["position"], &note["position"]["line_range"]);
            let (side, line) =
                if position["new_line"].is_null() { ("LEFT", "old_line") } else { ("RIGHT", "new_line") };
            let start = &range["start"][line];
            let start = if *start == position[line] { &Value::Null } else { start };
            let mut comment = json!({
                "id": note["id"], "user": user(&note["author"]), "body": one_space(note["body"].as_str().unwrap()),
                "created_at": seconds(&note["created_at"]), "updated_at": seconds(&note["updated_at"]),
                "html_url": format!("{}#discussion_r{}", thread.json["web_url"].as_str().unwrap(), note["id"]),
                "path": position["new_path"], "side": side, "line": position[line], "original_line": position[line],
                "start_side": if start.is_null() { Value::Null } else { json!(side) }, "start_line": start,
                "original_start_line": start, "commit_id": position["head_sha"], "original_commit_id": position["head_sha"],
                "diff_hunk": "@@ -1 +1 @@",
            });
            if note["id"] != notes[0]["id"] {
                comment["in_reply_to_id"] = notes[0]["id"].clone();
            }
            comments.push(comment);
        }
    }
    comments
}

/// A numbered page.
fn page(items: &[Value], query: &Query) -> Answer {
    let (number, size) = (query.number("page", 1), query.number("per_page", 30).min(100));
    let pages = items.len().div_ceil(size);
    let start = ((number - 1) * size).min(items.len());
    let mut headers = HeaderMap::new();
    if number < pages {
        let link = format!("<http://x/?page={}>; rel=\"next\", <http://x/?page={pages}>; rel=\"last\"", number + 1);
        headers.insert(header::LINK, link.parse().unwrap());
    }
    (StatusCode::OK, headers, json!(items[start..(start + size).min(items.len())]))
}
