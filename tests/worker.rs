//! What a server does by itself: webhooks, the schedule, jobs, and how it ends.

use std::time::{Duration, Instant};

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use crate::support::{Fault, Forge, Sandbox, Server, Signal, eventually, signal};

const SECRET: &str = "hook-secret";

/// A project that was read, whose forge may send webhooks.
fn hooked(forge: &Forge) -> Sandbox {
    let mut sandbox = Sandbox::new(forge);
    sandbox.configure("webhook_secret_env = \"HOOK_SECRET\"\n");
    sandbox.set("HOOK_SECRET", SECRET);
    sandbox.run(&["sync"]).ok();
    sandbox
}

struct Hooks<'a> {
    server: &'a Server,
    http: Client,
    runtime: tokio::runtime::Runtime,
}

impl<'a> Hooks<'a> {
    fn of(server: &'a Server) -> Self {
        let http = Client::builder().no_proxy().build().unwrap();
        Self { server, http, runtime: tokio::runtime::Runtime::new().unwrap() }
    }

    fn post(&self, forge: &str, headers: &[(&str, &str)], body: String) -> (StatusCode, Value) {
        self.post_to(&format!("webhooks/{forge}"), headers, body)
    }

    fn post_to(&self, path: &str, headers: &[(&str, &str)], body: String) -> (StatusCode, Value) {
        let request = self.http.post(format!("{}/{path}", self.server.url)).body(body);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        self.runtime.block_on(async {
            let response = request.send().await.unwrap();
            (response.status(), response.json().await.unwrap())
        })
    }

    /// Delivers a payload as a GitLab does.
    fn deliver(&self, id: &str, secret: &str, payload: &Value) -> (StatusCode, Value) {
        let headers = [("x-gitlab-token", secret), ("idempotency-key", id), ("x-gitlab-event", "Note Hook")];
        self.post("gitlab", &headers, payload.to_string())
    }

    fn accepted(&self, id: &str, payload: &Value) -> String {
        let (status, answer) = self.deliver(id, SECRET, payload);
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer["status"].as_str().unwrap().to_owned()
    }
}

fn note_on_issue(iid: u64) -> Value {
    json!({"object_kind": "note", "project": {"path_with_namespace": "acme/shop"}, "issue": {"iid": iid}})
}

fn jobs(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.run(&["jobs", "list", "--json"]).ok().json().as_array().unwrap().clone()
}

/// Kind, subject and status of every job, oldest first.
fn told(sandbox: &Sandbox) -> Vec<String> {
    let word = |job: &Value, key: &str| job[key].as_str().unwrap_or("-").to_owned();
    let line = |job: &Value| format!("{} {} {}", word(job, "kind"), word(job, "subject"), word(job, "status"));
    jobs(sandbox).iter().rev().map(line).collect()
}

fn is_found(sandbox: &Sandbox, word: &str) -> bool {
    let found = sandbox.run(&["search", word, "--mode", "lexical", "--json"]).ok().json();
    !found["hits"].as_array().unwrap().is_empty()
}

fn digest(sandbox: &Sandbox) -> String {
    sandbox.run(&["check", "--digest"]).ok().stdout.trim().to_owned()
}

// Rows 11 and 12 of docs/requirements.md.
#[test]
fn a_webhook_has_its_issue_read_again_once() {
    let forge = Forge::start();
    let sandbox = hooked(&forge);
    let server = sandbox.serve();
    let hooks = Hooks::of(&server);
    forge.advance(3600);
    forge.discuss("acme/shop#2", "carol", "The quokka migration plan was approved.");
    // The forge tells nothing until the webhook has its answer.
    forge.hold();
    assert_eq!(hooks.accepted("one", &note_on_issue(2)), "queued");
    let waiting = told(&sandbox);
    assert!(waiting == ["refetch #2 queued"] || waiting == ["refetch #2 running"], "{waiting:?}");
    forge.release();
    eventually("the note", || is_found(&sandbox, "quokka"));
    assert_eq!(hooks.accepted("one", &note_on_issue(2)), "known", "it was delivered again");
    eventually("the end of the job", || told(&sandbox) == ["refetch #2 succeeded"]);
    assert_eq!(jobs(&sandbox)[0]["summary"]["changed"]["discussion"], 1);
    // The delivery is on record, with the job that it caused. Its payload is not kept.
    let (status, deliveries) =
        hooks.post_to("api/v1/deliveries", &[("content-type", "application/json")], json!({ "limit": 10 }).to_string());
    assert_eq!(status, StatusCode::OK, "{deliveries}");
    let delivery = &deliveries[0];
    let told = ["id", "event", "repository"].map(|field| delivery[field].as_str().unwrap());
    assert_eq!(told, ["one", "Note Hook", "acme/shop"]);
    assert_eq!(delivery["job"], jobs(&sandbox)[0]["id"], "{delivery}");
    assert!(delivery["received_at"].is_string() && delivery["processed_at"].is_string(), "{delivery}");
    assert!(delivery["error"].is_null() && delivery["payload"].is_null(), "{delivery}");
    // The graph is what a first sync makes of it.
    assert_eq!(digest(&sandbox), digest(&Sandbox::synced(&forge)));
}

/// Somebody with a token who asks for webhooks.
struct Asker<'a> {
    hooks: &'a Hooks<'a>,
    authorization: String,
}

impl<'a> Asker<'a> {
    fn new(hooks: &'a Hooks<'a>, sandbox: &Sandbox, projects: &str, scopes: &str) -> Self {
        let made = sandbox.run(&["token", "create", "--json", "--projects", projects, "--scopes", scopes]).ok().json();
        Self { hooks, authorization: format!("Bearer {}", made["secret"].as_str().unwrap()) }
    }

    /// The answer to a query of `webhookDeliveries` with arguments.
    fn ask(&self, arguments: &str) -> Value {
        let query = format!(
            "{{ webhookDeliveries{arguments} {{
                nodes {{ id forge event project {{ id }} sender {{ username }} receivedAt processedAt error
                    job {{ id kind subject {{ id }} status }} }}
                pageInfo {{ endCursor hasNextPage }} }} }}"
        );
        let headers = [("content-type", "application/json"), ("authorization", &*self.authorization)];
        let (status, answer) = self.hooks.post_to("graphql", &headers, json!({ "query": query }).to_string());
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer
    }

    /// The ids of the deliveries, sorted: they may have come in the same millisecond.
    fn ids(&self, arguments: &str) -> Vec<String> {
        let answer = self.ask(arguments);
        assert!(answer["errors"].is_null(), "{answer:#}");
        let nodes = answer["data"]["webhookDeliveries"]["nodes"].as_array().unwrap().iter();
        let mut ids: Vec<String> = nodes.map(|node| node["id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    }
}

#[test]
fn webhooks_are_listed_in_graphql_to_those_who_administer_their_projects() {
    let forge = Forge::start();
    let sandbox = hooked(&forge);
    let server = sandbox.serve();
    let hooks = Hooks::of(&server);
    for (id, iid) in [("one", 1), ("two", 2)] {
        let mut payload = note_on_issue(iid);
        payload["user"] = json!({ "username": "carol" });
        assert_eq!(hooks.accepted(id, &payload), "queued");
    }
    let elsewhere =
        json!({"object_kind": "note", "project": {"path_with_namespace": "acme/other"}, "issue": {"iid": 1}});
    assert_eq!(hooks.accepted("three", &elsewhere), "ignored");
    eventually("the end of the jobs", || told(&sandbox).iter().all(|job| job.ends_with(" succeeded")));

    let keeper = Asker::new(&hooks, &sandbox, "**", "admin");
    assert_eq!(keeper.ids(""), ["one", "three", "two"]);
    assert_eq!(keeper.ids("(projects: \"acme/shop\")"), ["one", "two"]);
    let answer = keeper.ask("");
    let nodes = answer["data"]["webhookDeliveries"]["nodes"].as_array().unwrap();
    let of = |id: &str| nodes.iter().find(|node| node["id"] == id).unwrap();
    let (own, ignored) = (of("two"), of("three"));
    assert_eq!((&own["event"], &own["forge"]), (&json!("Note Hook"), &ignored["forge"]), "{own:#}");
    assert_eq!((&own["project"]["id"], &own["sender"]["username"]), (&json!("acme/shop"), &json!("carol")), "{own:#}");
    assert!(own["receivedAt"].is_string() && own["processedAt"].is_string() && own["error"].is_null(), "{own:#}");
    let job = &own["job"];
    assert!(job["id"].as_str().unwrap().starts_with("job/") && job["status"] == "SUCCEEDED", "{own:#}");
    assert_eq!((&job["kind"], &job["subject"]["id"]), (&json!("REFETCH"), &json!("acme/shop#2")), "{own:#}");
    assert!(["project", "sender", "processedAt", "job"].iter().all(|field| ignored[field].is_null()), "{ignored:#}");

    let first = keeper.ask("(first: 2)");
    let page = &first["data"]["webhookDeliveries"];
    assert_eq!((page["nodes"].as_array().unwrap().len(), &page["pageInfo"]["hasNextPage"]), (2, &json!(true)));
    let rest = keeper.ids(&format!("(first: 2, after: {})", page["pageInfo"]["endCursor"]));
    assert!(rest.len() == 1 && page["nodes"].as_array().unwrap().iter().all(|node| node["id"] != *rest[0]), "{rest:?}");
    let wrong = keeper.ask("(after: \"12\")");
    assert!(wrong["errors"][0]["message"].as_str().unwrap().contains("is not a cursor of this list"), "{wrong:#}");

    assert_eq!(Asker::new(&hooks, &sandbox, "acme/*", "admin").ids(""), ["one", "two"]);
    assert_eq!(Asker::new(&hooks, &sandbox, "tools/**", "admin").ids(""), Vec::<String>::new());
    let refused = Asker::new(&hooks, &sandbox, "acme/*", "read").ask("");
    assert_eq!(refused["errors"][0]["extensions"]["code"], "FORBIDDEN", "{refused:#}");
    assert!(refused["data"]["webhookDeliveries"].is_null(), "{refused:#}");
}

#[test]
fn a_webhook_tells_that_something_is_gone() {
    let forge = Forge::start();
    let sandbox = hooked(&forge);
    let server = sandbox.serve();
    forge.delete("acme/shop#2");
    assert_eq!(Hooks::of(&server).accepted("one", &note_on_issue(2)), "queued");
    eventually("the end of the issue", || sandbox.run(&["show", "#2"]).code == 1);
    assert_eq!(digest(&sandbox), digest(&Sandbox::synced(&forge)));
}

#[test]
fn a_webhook_does_not_bring_back_what_was_forgotten() {
    let forge = Forge::start();
    let sandbox = hooked(&forge);
    sandbox.run(&["forget", "acme/shop#2"]).ok();
    let before = digest(&sandbox);
    let server = sandbox.serve();
    forge.advance(3600);
    forge.discuss("acme/shop#2", "carol", "The quokka migration plan was approved.");
    forge.asked();
    assert_eq!(Hooks::of(&server).accepted("one", &note_on_issue(2)), "queued");
    eventually("the end of the job", || told(&sandbox) == ["refetch #2 succeeded"]);
    assert_eq!(forge.asked(), Vec::<String>::new(), "it is not even fetched");
    assert_eq!(digest(&sandbox), before);
}

#[test]
fn a_webhook_tells_that_something_becomes_confidential() {
    let forge = Forge::start();
    forge.join("mallorquin", "Xaverine Insider");
    let keeping = || {
        let mut sandbox = Sandbox::new(&forge);
        sandbox.configure("webhook_secret_env = \"HOOK_SECRET\"\nconfidential = true\n");
        sandbox.set("HOOK_SECRET", SECRET);
        sandbox.run(&["sync"]).ok();
        sandbox
    };
    let sandbox = keeping();
    let server = sandbox.serve();
    let hooks = Hooks::of(&server);
    let question = "{ open: issue(id: \"acme/shop#2\") { title } hidden: issue(id: \"acme/shop#7\") { title } \
                    person(username: \"mallorquin\") { name } }";
    // Without the scope.
    let seen = || {
        let (_, answer) =
            hooks.post_to("graphql", &[("content-type", "application/json")], json!({ "query": question }).to_string());
        ["open", "hidden", "person"].map(|field| !answer["data"][field].is_null())
    };
    assert_eq!(seen(), [true, false, false]);

    let told = |number: u64, name: &str| {
        forge.advance(600);
        assert_eq!(hooks.accepted(name, &note_on_issue(number)), "queued");
    };
    // Somebody who is met where only some may look,
    assert_eq!(forge.new_issue("acme/shop", "mallorquin", "The tangerine outage", "It was the cache."), "acme/shop#7");
    forge.set_confidential("acme/shop#7", true);
    told(7, "one");
    eventually("the confidential issue", || sandbox.run(&["show", "acme/shop#7"]).code == 0);
    eventually("the end of the first", || jobs(&sandbox).iter().all(|job| job["status"] == "succeeded"));
    assert_eq!(seen(), [true, false, false]);
    // then where all may,
    forge.discuss("acme/shop#2", "mallorquin", "The kangaroo plan is to dual write.");
    told(2, "two");
    eventually("the person", || seen() == [true, false, true]);
    // which then only some may.
    forge.set_confidential("acme/shop#2", true);
    told(2, "three");
    eventually("the end of what all may see", || seen() == [false, false, false]);
    assert!(sandbox.run(&["show", "acme/shop#2"]).ok().stdout.contains("kangaroo"));
    forge.set_confidential("acme/shop#7", false);
    told(7, "four");
    eventually("the issue", || seen() == [false, true, true]);
    eventually("the end of the jobs", || jobs(&sandbox).iter().all(|job| job["status"] == "succeeded"));
    assert_eq!(digest(&sandbox), digest(&keeping()));
}

#[test]
fn a_webhook_that_is_not_genuine_does_nothing() {
    let forge = Forge::start();
    let sandbox = hooked(&forge);
    let server = sandbox.serve();
    let hooks = Hooks::of(&server);
    let (status, answer) = hooks.deliver("one", "wrong", &note_on_issue(2));
    assert_eq!((status, &answer["code"]), (StatusCode::UNAUTHORIZED, &json!("UNAUTHENTICATED")));
    let (status, answer) = hooks.deliver("two", SECRET, &json!("no object"));
    assert_eq!((status, &answer["status"]), (StatusCode::OK, &json!("ignored")));
    let elsewhere =
        json!({"object_kind": "note", "project": {"path_with_namespace": "acme/other"}, "issue": {"iid": 1}});
    assert_eq!(hooks.accepted("three", &elsewhere), "ignored");
    assert_eq!(hooks.post("github", &[], "{}".to_owned()).0, StatusCode::NOT_FOUND, "no GitHub is configured");
    let broken = hooks.post("gitlab", &[("x-gitlab-token", SECRET)], "no JSON".to_owned());
    assert_eq!(broken.0, StatusCode::BAD_REQUEST);
    assert_eq!(told(&sandbox), Vec::<String>::new());
}

#[test]
fn a_push_has_the_project_synced() {
    let forge = Forge::start();
    let sandbox = hooked(&forge);
    let server = sandbox.serve();
    forge.advance(3600);
    forge.discuss("acme/shop#2", "carol", "The quokka migration plan was approved.");
    let push = json!({"object_kind": "push", "project": {"path_with_namespace": "acme/shop"}});
    assert_eq!(Hooks::of(&server).accepted("one", &push), "queued");
    eventually("the sync", || told(&sandbox) == ["sync - succeeded"]);
    assert!(is_found(&sandbox, "quokka"));
}

#[test]
fn a_reconciliation_finds_what_no_sync_can() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    forge.advance(3600);
    forge.note_unseen("acme/shop#2", "carol", "The quokka migration plan was approved.");
    forge.delete("acme/shop#1");
    sandbox.run(&["sync"]).ok();
    assert!(!is_found(&sandbox, "quokka"), "the forge does not say that the issue changed");
    forge.asked();
    let server = sandbox.serve();
    sandbox.run(&["jobs", "start", "reconcile", "acme/shop"]).ok();
    eventually("the reconciliation", || told(&sandbox) == ["reconcile - succeeded"]);
    drop(server);
    let asked = forge.asked();
    assert!(!asked.iter().any(|request| request.contains("/issues/3/")), "what is known is not read again: {asked:?}");
    assert!(is_found(&sandbox, "quokka"));
    assert_eq!(sandbox.run(&["show", "#1"]).code, 1);
    assert_eq!(digest(&sandbox), digest(&Sandbox::synced(&forge)));
}

#[test]
fn the_schedule_begins_with_a_sync_and_queues_the_rest() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    let config = std::fs::read_to_string(sandbox.path().join("backstory.toml")).unwrap();
    sandbox.write_config(
        &config.replace("every_minutes = 0, reconcile_hours = 0", "every_minutes = 10, reconcile_hours = 24"),
    );
    let server = sandbox.serve();
    let expected = ["sync - succeeded", "reconcile - queued", "sync - queued"];
    eventually("the schedule", || told(&sandbox) == expected);
    assert_eq!(sandbox.run(&["count", "issues"]).ok().stdout, "Issues: 6\n");
    let jobs = jobs(&sandbox);
    let at = |job: &Value, key: &str| job[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let wait = at(&jobs[0], "due_at").duration_since(at(&jobs[2], "started_at"));
    assert_eq!(wait.as_mins(), 10);
    // A job that waits can be cancelled, and is not done; the schedule puts the next one into the queue.
    let id = &jobs[1]["id"].to_string();
    assert_eq!(sandbox.run(&["jobs", "cancel", id]).ok().stdout, format!("Job {id} is cancelled\n"));
    let error = sandbox.run(&["jobs", "cancel", id]);
    assert!(error.error(1).contains("is cancelled"), "{error:?}");
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn a_job_at_work_when_the_server_ends_is_done_by_the_next() {
    for how in [Signal::TERM, Signal::KILL] {
        let forge = Forge::start();
        let sandbox = Sandbox::synced(&forge);
        forge.advance(3600);
        forge.discuss("acme/shop#2", "carol", "The quokka migration plan was approved.");
        forge.asked();
        forge.hold();
        let server = sandbox.serve();
        sandbox.run(&["jobs", "start", "sync", "acme/shop"]).ok();
        eventually("the forge being asked", || forge.was_asked());
        assert_eq!(told(&sandbox), ["sync - running"]);
        let ended = Instant::now();
        if how == Signal::TERM {
            assert_eq!(server.stop().0, Some(0));
            assert!(ended.elapsed() < Duration::from_secs(30), "{:?}", ended.elapsed());
            assert_eq!(told(&sandbox), ["sync - queued"]);
        } else {
            signal(server.pid(), how);
            drop(server);
        }
        forge.release();
        let _server = sandbox.serve();
        eventually("the sync", || told(&sandbox) == ["sync - succeeded"]);
        assert_eq!(jobs(&sandbox)[0]["attempts"], 1, "being interrupted is no attempt");
        assert!(is_found(&sandbox, "quokka"));
    }
}

#[test]
fn a_job_at_work_can_be_stopped() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let _server = sandbox.serve();
    forge.asked();
    forge.hold();
    sandbox.run(&["jobs", "start", "sync", "acme/shop"]).ok();
    eventually("the forge being asked", || forge.was_asked());
    let id = jobs(&sandbox)[0]["id"].to_string();
    sandbox.run(&["jobs", "cancel", &id]).ok();
    forge.release();
    assert_eq!(told(&sandbox), ["sync - cancelled"]);
    sandbox.run(&["jobs", "start", "sync", "acme/shop"]).ok();
    eventually("another sync", || told(&sandbox) == ["sync - cancelled", "sync - succeeded"]);
}

#[test]
fn a_failure_that_will_not_pass_is_not_tried_again() {
    let forge = Forge::start();
    let sandbox = hooked(&forge);
    let server = sandbox.serve();
    forge.fail(Fault::Status(401), "/api/v4/", 1);
    assert_eq!(Hooks::of(&server).accepted("one", &note_on_issue(2)), "queued");
    eventually("the end of the job", || told(&sandbox) == ["refetch #2 failed"]);
    let job = &jobs(&sandbox)[0];
    assert_eq!(job["attempts"], 1);
    assert!(job["error"].as_str().unwrap().contains("refuses the token"), "{job}");
    // What failed is asked for again by the next webhook.
    assert_eq!(Hooks::of(&server).accepted("two", &note_on_issue(2)), "queued");
    eventually("the other job", || told(&sandbox) == ["refetch #2 failed", "refetch #2 succeeded"]);
}

#[test]
fn without_a_server_nothing_is_put_into_the_queue() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let refused = sandbox.run(&["jobs", "start", "sync", "acme/shop"]);
    assert!(refused.error(1).contains("start 'backstory serve'"), "{refused:?}");
    assert_eq!(
        sandbox.run(&["jobs", "list"]).ok().stdout,
        "No jobs; 'backstory serve' starts some as soon as it runs.\n"
    );
}
