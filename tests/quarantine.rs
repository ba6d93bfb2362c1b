//! One record of a forge that cannot be read: it is put aside and named, everything else goes on, the data directory opens,
//! and a forge that tells it rightly again heals.
//!
//! With `BACKSTORY_FORGE_REPLAY` (see `replay.rs`) the fields of a real project's payloads are broken, otherwise the
//! fixture's; `BACKSTORY_QUARANTINE_CASES` of them (default 16), of each kind of forge. A long form is 500.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use axum::body::Bytes;
use backstory_engine::{
    Engine, Scope, SyncRequest,
    check::{DigestRequest, ProjectionDigest},
    error::Error,
    ledger::{IngestBatch, Ledger, NewItem},
    model::entity::ItemKind,
    settings::{Forge as ForgeSettings, ForgeKind, Settings},
    sources::forge,
    status::SyncStatusRequest,
    task::TaskStatus,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    replay::{self, Replay},
    support::{Fault, Forge, HALF_CHARACTER, Mirror, Place, Sandbox, Stuffing, TOKEN, TOO_LARGE_NUMBER, settings_with},
};

/// How many fields of what a forge says are broken: `BACKSTORY_QUARANTINE_CASES`, 16 without it.
#[expect(clippy::disallowed_methods, reason = "the environment says how many")]
fn cases() -> usize {
    std::env::var("BACKSTORY_QUARANTINE_CASES").map_or(16, |number| number.parse().unwrap())
}

/// An empty quarantine.
const NOTHING: [(String, String); 0] = [];

fn digest(sandbox: &Sandbox) -> String {
    sandbox.run(&["check", "--digest"]).ok().stdout.trim().to_owned()
}

/// A data directory that reads two projects.
fn two_projects(forge: &Forge) -> Sandbox {
    let sandbox = Sandbox::new(forge);
    sandbox.write_config(&format!(
        "data_dir = \"data\"\n[[forge]]\nkind = \"gitlab\"\nbase_url = \"{}\"\ntoken_env = \"SHOP_TOKEN\"\n\
         projects = [\"acme/shop\", \"acme/web\"]\nrequests_per_second = 0\n",
        forge.url
    ));
    sandbox
}

/// Reference and field of everything in quarantine, as `status` tells.
fn put_aside(sandbox: &Sandbox) -> Vec<(String, String)> {
    let status = sandbox.run(&["status", "--json"]).ok().json();
    let items = status["quarantine"]["items"].as_array().unwrap();
    assert_eq!(status["quarantine"]["count"], items.len());
    let text = |item: &Value, key: &str| item[key].as_str().unwrap().to_owned();
    items.iter().map(|item| (text(item, "ref"), text(item, "field"))).collect()
}

/// Breaks a field, reads, looks whether everything else is there, repairs it and reads again.
fn one_fault(target: &str, pointer: &str, value: Option<Value>, reference: &str, field: &str) {
    let what = format!("{target} {pointer} {value:?}");
    let forge = Forge::start();
    let expected = digest(&Sandbox::synced(&forge));
    forge.spoil(target, pointer, value);
    let sandbox = Sandbox::new(&forge);
    let said = sandbox.run(&["sync"]).ok().stdout;
    assert!(said.contains("1 item that cannot be read"), "{what}: {said}");
    let aside = put_aside(&sandbox);
    assert_eq!(aside.len(), 1, "{what}: {aside:?}");
    assert!(aside[0].0.starts_with(reference) && aside[0].1 == field, "{what}: {aside:?}");
    let told = sandbox.run(&["status"]).ok();
    assert!(told.stderr.contains("1 item of a forge cannot be read"), "{what}: {told:?}");
    assert!(told.stdout.contains(&aside[0].0), "{what}: {told:?}");
    sandbox.run(&["show", "acme/shop!2"]).ok();
    sandbox.run(&["search", "login", "--mode", "lexical"]).ok();
    assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true, "{what}");
    forge.repair();
    sandbox.run(&["sync"]).ok();
    assert_eq!(put_aside(&sandbox), NOTHING, "{what}");
    assert_eq!(digest(&sandbox), expected, "{what}");
}

#[test]
fn a_wrong_field_of_a_note_puts_its_discussion_aside_and_nothing_else() {
    let list = "/issues/2/discussions";
    for (field, value, named) in [
        ("created_at", json!(null), "notes[0].created_at"),
        ("created_at", json!("garbage"), "notes[0].created_at"),
        ("id", json!("7"), "notes[0].id"),
        ("author", json!({}), "notes[0].author.username"),
        ("body", json!(7), "notes[0].body"),
        ("position", json!("here"), "notes[0].position"),
        ("type", json!(7), "notes[0].type"),
        ("resolved_by", json!({}), "notes[0].resolved_by.username"),
        ("updated_at", json!("garbage"), "notes[0].updated_at"),
        ("system", json!("no"), "notes[0].system"),
    ] {
        one_fault(list, &format!("/0/notes/0/{field}"), Some(value), "acme/shop#2~", named);
    }
    one_fault(list, "/0/notes/0/created_at", None, "acme/shop#2~", "notes[0].created_at");
    one_fault(list, "/0/id", Some(json!(7)), "acme/shop#2~?", "id");
}

#[test]
fn a_wrong_field_of_an_issue_a_request_a_label_or_a_milestone_puts_that_aside() {
    one_fault("/issues?", "/1/created_at", Some(json!(null)), "acme/shop#", "issue.created_at");
    one_fault("/issues?", "/1/updated_at", Some(json!("garbage")), "acme/shop#", "updated_at");
    one_fault("/issues?", "/1/iid", Some(json!("2")), "acme/shop#?", "iid");
    one_fault("/merge_requests?", "/0/author", Some(json!([])), "acme/shop!", "merge_request.author");
    one_fault("/labels", "/0/name", Some(json!(7)), "label ? of acme/shop", "name");
    one_fault("/milestones", "/0/title", Some(json!(null)), "milestone 1 of acme/shop", "title");
}

/// "No valid JSON", said the parser of the whole list, again and again, and none of it was read.
#[test]
fn a_number_or_character_that_no_parser_reads_puts_its_item_aside_and_nothing_else() {
    for value in [TOO_LARGE_NUMBER, HALF_CHARACTER] {
        one_fault("/issues?", "/1/title", Some(json!(value)), "acme/shop#", "issue.title");
        one_fault("/merge_requests?", "/0/title", Some(json!(value)), "acme/shop!", "merge_request.title");
        one_fault("/issues/2/discussions", "/0/notes/0/body", Some(json!(value)), "acme/shop#2~", "notes[0].body");
    }
    // What is not needed may be anything.
    let forge = Forge::start();
    let expected = digest(&Sandbox::synced(&forge));
    forge.spoil("/issues?", "/1/upvotes", Some(json!(TOO_LARGE_NUMBER)));
    let sandbox = Sandbox::synced(&forge);
    assert_eq!((put_aside(&sandbox), digest(&sandbox)), (NOTHING.to_vec(), expected));
}

#[test]
fn a_project_that_cannot_be_read_fails_with_a_sentence_and_the_others_are_read() {
    for (field, value) in [
        ("web_url", json!(null)),
        ("web_url", json!("")),
        ("web_url", json!("javascript:alert(1)")),
        ("id", json!("1")),
        ("created_at", json!("garbage")),
        ("default_branch", json!(7)),
        ("path_with_namespace", json!("acme/other")),
        ("path_with_namespace", json!("../..")),
        ("path_with_namespace", json!(null)),
    ] {
        let forge = Forge::start();
        forge.spoil("/projects/acme%2Fshop", &format!("/{field}"), Some(value.clone()));
        let sandbox = two_projects(&forge);
        let failed = sandbox.run(&["sync"]);
        assert_ne!(failed.code, 0, "{field} {value}");
        // Progress comes before it.
        let sentence = failed.stderr.lines().last().unwrap();
        assert!(sentence.starts_with("error: ") && sentence.contains("acme/shop"), "{field} {value}: {failed:?}");
        sandbox.run(&["show", "acme/web#1"]).ok();
        sandbox.run(&["status"]).ok();
        forge.repair();
        sandbox.run(&["sync"]).ok();
        sandbox.run(&["show", "acme/shop#1"]).ok();
        assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true, "{field} {value}");
    }
}

#[test]
fn what_was_known_of_an_item_stays_while_its_forge_tells_it_wrongly() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let (before, known) = (digest(&sandbox), sandbox.run(&["show", "acme/shop#2"]).ok().stdout);
    forge.spoil("/projects/acme%2Fshop", "/web_url", Some(json!("")));
    forge.spoil("/issues/2/discussions", "/0/notes/0/created_at", Some(json!(null)));
    forge.spoil("/issues/2/discussions", "/1/id", Some(json!(7)));
    forge.spoil("/labels", "/0/name", Some(json!(null)));
    sandbox.run(&["sync", "--full"]).ok();
    assert_eq!(sandbox.run(&["show", "acme/shop#2"]).ok().stdout, known);
    assert_eq!(digest(&sandbox), before);
    let aside: BTreeSet<String> = put_aside(&sandbox).into_iter().map(|(_, field)| field).collect();
    let expected = ["id", "name", "notes[0].created_at", "web_url"];
    assert_eq!(aside, expected.map(str::to_owned).into());
    let doctor = sandbox.run(&["doctor"]);
    assert!(doctor.stdout.contains("! quarantine"), "{doctor:?}");
    // Reading what is new tries them again.
    sandbox.run(&["sync"]).ok();
    assert_eq!(put_aside(&sandbox).len(), 4);
    forge.repair();
    sandbox.run(&["sync"]).ok();
    assert_eq!(put_aside(&sandbox), NOTHING);
    assert_eq!(digest(&sandbox), before);
}

#[test]
fn what_goes_leaves_the_quarantine_too() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    forge.advance(3600);
    for issue in ["acme/shop#2", "acme/shop#3"] {
        forge.discuss(issue, "carol", "Something new.");
    }
    forge.spoil("/issues/2/discussions", "/0/notes/0/created_at", Some(json!(null)));
    forge.spoil("/issues/3/discussions", "/0/notes/0/created_at", Some(json!(null)));
    sandbox.run(&["sync"]).ok();
    assert_eq!(put_aside(&sandbox).len(), 2);
    sandbox.run(&["forget", "acme/shop#3"]).ok();
    assert_eq!(put_aside(&sandbox).len(), 1);
    forge.delete("acme/shop#2");
    sandbox.run(&["sync"]).ok();
    assert_eq!(put_aside(&sandbox), NOTHING);
}

/// A data directory with what an older version stored and this one cannot read: a note, the project and an issue.
fn left_by_an_older_version(forge: &Forge) -> Sandbox {
    let sandbox = Sandbox::synced(forge);
    let path = sandbox.data().join("ledger.sqlite");
    let ledger = Ledger::open(&path).unwrap();
    let bad = |kind, key: &str, thread: Option<&str>, spoil: fn(&mut Value)| {
        let stored = ledger.item("acme/shop", kind, key).unwrap().unwrap();
        let mut payload: Value = serde_json::from_slice(&stored.payload.unwrap()).unwrap();
        spoil(&mut payload);
        NewItem {
            project: "acme/shop".into(),
            kind,
            key: key.into(),
            thread: thread.map(str::to_owned),
            updated_at: stored.updated_at,
            secrets: BTreeMap::new(),
            confidential: false,
            payload: payload.to_string().into_bytes(),
        }
    };
    let discussion = ledger.keys_with_prefix("acme/shop", ItemKind::Discussion, "#2~", 1).unwrap().remove(0);
    let items = vec![
        bad(ItemKind::Discussion, &discussion, Some("#2"), |json| json["notes"][0]["created_at"] = Value::Null),
        bad(ItemKind::Project, "project", None, |json| json["web_url"] = json!("")),
        bad(ItemKind::Issue, "#3", Some("#3"), |json| json["issue"]["author"] = json!([])),
    ];
    ledger.ingest(&IngestBatch { items, fetched_at: Timestamp::now(), ..IngestBatch::default() }).unwrap();
    drop(ledger);
    // No older version looked whether what it stored can be read.
    let looked = rusqlite::Connection::open(&path).unwrap();
    looked.execute_batch("DELETE FROM parsers; DELETE FROM quarantine").unwrap();
    sandbox
}

#[test]
fn a_data_directory_with_what_an_older_version_stored_opens_and_heals() {
    let forge = Forge::start();
    let expected = digest(&Sandbox::synced(&forge));
    let sandbox = left_by_an_older_version(&forge);
    for command in [&["repos"][..], &["status"], &["stats"], &["show", "acme/shop#2"], &["rebuild"], &["doctor"]] {
        let output = sandbox.run(command);
        assert!(output.code == 0 || command == ["doctor"], "{command:?}: {output:?}");
        assert!(!output.stderr.contains("rebuilt"), "{command:?}: {output:?}");
    }
    let aside: Vec<String> = put_aside(&sandbox).into_iter().map(|(_, field)| field).collect();
    assert_eq!(aside.len(), 3, "{aside:?}");
    sandbox.run(&["sync"]).ok();
    assert_eq!(put_aside(&sandbox), NOTHING);
    assert_eq!(digest(&sandbox), expected);
    assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true);
}

#[test]
fn what_an_older_version_stored_can_be_forgotten_or_read_again_at_once() {
    let forge = Forge::start();
    let whole = Sandbox::synced(&forge);
    // The first command opens the stores.
    let sandbox = left_by_an_older_version(&forge);
    sandbox.run(&["sync", "--full"]).ok();
    assert_eq!(put_aside(&sandbox), NOTHING);
    assert_eq!(digest(&sandbox), digest(&whole));
    // With a note that cannot be read, with one that can not be read itself, and beside both.
    for thread in ["acme/shop#2", "acme/shop#3", "acme/shop!2"] {
        let without = Sandbox::synced(&forge);
        without.run(&["forget", thread]).ok();
        let sandbox = left_by_an_older_version(&forge);
        let told = sandbox.run(&["forget", thread, "--json"]).ok().json();
        assert_eq!(told["verified"]["found"], 0, "{thread}: {told:#}");
        assert_eq!(sandbox.run(&["show", thread]).code, 1, "{thread}");
        assert!(put_aside(&sandbox).iter().all(|(reference, _)| !reference.starts_with(thread)), "{thread}");
        sandbox.run(&["sync"]).ok();
        assert_eq!(put_aside(&sandbox), NOTHING, "{thread}");
        assert_eq!(digest(&sandbox), digest(&without), "{thread}");
        assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true, "{thread}");
    }
}

fn zeros(count: usize) -> Stuffing {
    let body = format!("[{}0]", "0,".repeat(count - 1));
    Stuffing { body: Bytes::from(body), headers: vec![] }
}

/// Runs a sync with 1 GB for data; its exit code and what it said.
fn sync_in_one_gigabyte(sandbox: &Sandbox) -> (i32, String) {
    let command = sandbox.command(&["sync"]);
    let mut bounded = std::process::Command::new("sh");
    bounded.args(["-c", "ulimit -d 1000000; exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    bounded.current_dir(sandbox.path()).env_clear();
    bounded.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = bounded.output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn an_answer_that_is_small_on_the_wire_and_large_in_memory_stops_nothing_else() {
    let forge = Forge::start();
    let expected = digest(&{
        let sandbox = two_projects(&forge);
        sandbox.run(&["sync"]).ok();
        sandbox
    });
    // A list of issues: its project is not read, the other one is.
    forge.stuff("/projects/acme%2Fshop/issues?", zeros(30 << 20));
    let sandbox = two_projects(&forge);
    let (code, said) = sync_in_one_gigabyte(&sandbox);
    assert!(code != 0 && said.contains("too large to read"), "{said}");
    sandbox.run(&["show", "acme/web#1"]).ok();
    // The discussions of an issue: it is put aside, the others are read.
    forge.repair();
    forge.stuff("/issues/2/discussions", zeros(30 << 20));
    let (code, said) = sync_in_one_gigabyte(&sandbox);
    assert_eq!(code, 0, "{said}");
    assert_eq!(put_aside(&sandbox), [("acme/shop#2".to_owned(), String::new())]);
    sandbox.run(&["show", "acme/shop#3"]).ok();
    forge.repair();
    sandbox.run(&["sync"]).ok();
    assert_eq!(put_aside(&sandbox), NOTHING);
    assert_eq!(digest(&sandbox), expected);
}

/// It waited for requests that others had under way, and these for it.
#[test]
fn an_item_that_is_read_by_itself_does_not_wait_for_those_after_it() {
    let forge = Forge::start();
    let reference = forge.new_issue("acme/shop", "alice", "Much to say", "See the comments.");
    for number in 0..60 {
        forge.new_issue("acme/shop", "alice", &format!("Issue {number}"), "Little to say.");
    }
    let number = reference.rsplit('#').next().unwrap();
    // More than is read beside others.
    forge.stuff(&format!("/issues/{number}/discussions"), zeros(5 << 20));
    let sandbox = two_projects(&forge);
    sandbox.run(&["sync"]).ok();
    assert_eq!(put_aside(&sandbox), [(reference, String::new())]);
    sandbox.run(&["search", "Issue 59", "--project", "acme/shop"]).ok();
    forge.repair();
    sandbox.run(&["sync"]).ok();
    assert_eq!(put_aside(&sandbox), NOTHING);
}

#[test]
fn lists_without_an_end_end() {
    let forge = Forge::start();
    let sandbox = two_projects(&forge);
    // One page, again and again, without a word about the next.
    forge.stuff("/projects/acme%2Fshop/merge_requests?", zeros(500_000));
    forge.asked();
    let failed = sandbox.run(&["sync"]);
    assert!(failed.code != 0 && failed.stderr.contains("500000 items on a page"), "{failed:?}");
    assert!(forge.asked().len() < 200);
    sandbox.run(&["show", "acme/web#1"]).ok();
    forge.repair();
    let page: Vec<Value> = (1..=100).map(|id| json!({"id": format!("{id:040x}"), "notes": []})).collect();
    let body = Bytes::from(json!(page).to_string());
    forge.stuff("/issues/2/discussions", Stuffing { body, headers: vec![] });
    sandbox.run(&["sync", "--full"]).ok();
    assert!(forge.asked().len() < 400);
    assert_eq!(put_aside(&sandbox), [("acme/shop#2".to_owned(), String::new())]);
    forge.repair();
    sandbox.run(&["sync"]).ok();
    assert_eq!(put_aside(&sandbox), NOTHING);
    assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true);
}

/// Who reads a forge, each time in a process of its own as far as the stores can tell.
struct Reader {
    data: tempfile::TempDir,
    settings: Settings,
}

impl Reader {
    fn new(kind: ForgeKind, url: &str, project: &str) -> Self {
        let mut connection = forge::ForgeSettings::new(url.parse().unwrap(), Some(TOKEN.into()));
        (connection.requests_per_second, connection.retries) = (0, 0);
        let projects = vec![project.to_owned()];
        let settings = settings_with(vec![ForgeSettings { kind, connection, projects, webhook_secret: None }]);
        Self { data: tempfile::tempdir().unwrap(), settings }
    }

    /// Opens the stores, does something and closes them.
    fn open<T>(&self, work: impl AsyncFnOnce(&Engine) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let engine = Engine::open(self.data.path(), self.settings.clone()).await.unwrap();
            assert_eq!(engine.notices(), Vec::<String>::new());
            work(&engine).await
        })
    }

    /// Project, kind and key of everything that can be told apart of a project.
    fn threads(&self) -> BTreeSet<String> {
        let ledger = Ledger::open(&ledger_of(self.data.path())).unwrap();
        let counts = ledger.counts().unwrap();
        let kinds = [ItemKind::Issue, ItemKind::MergeRequest, ItemKind::Discussion];
        let of = counts.into_keys().filter(|(_, kind)| kinds.contains(kind));
        of.flat_map(|(project, kind)| ledger.keys(&project, kind).unwrap()).collect()
    }
}

fn ledger_of(data: &Path) -> std::path::PathBuf {
    data.join("ledger.sqlite")
}

async fn sync(engine: &Engine, scope: Scope) -> Result<Value, Error> {
    let task = engine.answer(SyncRequest { scope, ..SyncRequest::default() }).await?;
    let mut task = engine.watch_task(task.id).unwrap();
    let ended = task.wait_for(|task| task.status != TaskStatus::Running).await.unwrap().clone();
    ended.error.map_or(Ok(ended.summary), Err)
}

/// A first sync of a project, and the digest that it ends with.
fn first_sync(forge: &Forge) -> (Reader, ProjectionDigest) {
    let reader = Reader::new(ForgeKind::GitLab, &forge.url, "acme/shop");
    let digest = reader.open(async |engine| {
        sync(engine, Scope::New).await.unwrap();
        engine.answer(DigestRequest {}).await.unwrap()
    });
    (reader, digest)
}

/// Its project failed at every sync, and the cursor never passed it.
#[test]
fn an_item_whose_discussions_the_forge_cannot_give_is_put_aside_and_heals() {
    let forge = Forge::start();
    let (whole, expected) = first_sync(&forge);
    forge.fail(Fault::Status(500), "/issues/2/discussions", usize::MAX);
    let reader = Reader::new(ForgeKind::GitLab, &forge.url, "acme/shop");
    let aside = reader.open(async |engine| {
        for _ in 0..2 {
            sync(engine, Scope::New).await.unwrap();
        }
        engine.answer(SyncStatusRequest { runs: 0 }).await.unwrap().quarantine
    });
    let named: Vec<_> = aside.items.iter().map(|item| (item.reference.as_str(), item.field.as_str())).collect();
    assert_eq!(named, [("acme/shop#2", "")], "{aside:?}");
    assert!(aside.items[0].reason.contains("/issues/2/discussions answered 500"), "{aside:?}");
    let mut others = whole.threads();
    others.retain(|key| !key.starts_with("#2~") && *key != "#2");
    assert_eq!(reader.threads(), others);
    forge.repair();
    let (aside, digest) = reader.open(async |engine| {
        sync(engine, Scope::New).await.unwrap();
        let aside = engine.answer(SyncStatusRequest { runs: 0 }).await.unwrap().quarantine;
        (aside, engine.answer(DigestRequest {}).await.unwrap())
    });
    assert_eq!((aside.count, digest), (0, expected));
}

#[test]
fn a_forge_that_fails_for_many_items_fails_the_project() {
    let forge = Forge::start();
    for number in 0..40 {
        forge.new_issue("acme/shop", "alice", &format!("Issue {number}"), "Little to say.");
    }
    let (_, expected) = first_sync(&forge);
    forge.fail(Fault::Status(502), "/discussions", usize::MAX);
    let reader = Reader::new(ForgeKind::GitLab, &forge.url, "acme/shop");
    reader.open(async |engine| {
        let error = sync(engine, Scope::New).await.unwrap_err();
        assert!(error.message.contains("answered 502"), "{error}");
        let aside = engine.answer(SyncStatusRequest { runs: 0 }).await.unwrap().quarantine;
        assert!(aside.count <= 20, "{aside:?}");
        forge.repair();
        sync(engine, Scope::New).await.unwrap();
        let aside = engine.answer(SyncStatusRequest { runs: 0 }).await.unwrap().quarantine;
        assert_eq!((aside.count, engine.answer(DigestRequest {}).await.unwrap()), (0, expected));
    });
}

/// Every field of every object in an answer.
fn places(target: &str, json: &Value, pointer: &str, found: &mut Vec<Place>) {
    match json {
        Value::Object(map) => {
            for (name, value) in map {
                let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                found.push(Place { target: target.to_owned(), pointer: pointer.clone(), value: value.clone() });
                places(target, value, &pointer, found);
            }
        }
        Value::Array(items) => {
            for (number, value) in items.iter().enumerate() {
                places(target, value, &format!("{pointer}/{number}"), found);
            }
        }
        _ => {}
    }
}

/// The same for all places of one type and field: numbers are left out.
fn sort_of(place: &Place) -> String {
    let path = place.target.split('?').next().unwrap();
    let general =
        |part: &str| if part.bytes().any(|byte| byte.is_ascii_digit()) { "*".to_owned() } else { part.to_owned() };
    let parts = path.split('/').chain(place.pointer.split('/')).map(general);
    parts.collect::<Vec<_>>().join("/")
}

/// The number of the issue or merge request that a place is of, if it is of one.
fn owner(place: &Place, answers: &BTreeMap<String, Value>) -> Option<u64> {
    let path = place.target.split('?').next().unwrap();
    let mut parts = path.split('/').skip_while(|part| !["issues", "merge_requests", "pulls"].contains(part));
    parts.next()?;
    match parts.next() {
        Some(number) => number.parse().ok(),
        None => {
            let item = &answers[&place.target][place.pointer.split('/').nth(1)?.parse::<usize>().ok()?];
            item["iid"].as_u64().or_else(|| item["number"].as_u64())
        }
    }
}

fn number_of(key: &str) -> u64 {
    key[1..].split('~').next().unwrap().parse().unwrap()
}

/// A value of another type, or one that makes no sense; `None` takes the field out.
fn broken(random: &mut fastrand::Rng, value: &Value) -> Option<Value> {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1.5),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("garbage"),
        json!("\u{0}\u{1b}[2J"),
        json!("9999-12-31T23:59:59Z"),
        json!([]),
        json!([0]),
        json!([[[]]]),
        json!({}),
        json!({"": 0}),
    ];
    let others: Vec<Value> = values.into_iter().filter(|other| other != value).collect();
    let drawn = random.usize(..=others.len());
    others.get(drawn).cloned()
}

/// Breaks drawn fields of what a project's forge answers, one at a time.
fn break_fields(kind: ForgeKind, upstream: &str, path: &str, project: &str, cases: usize) {
    let mirror = Mirror::of(upstream);
    let url = format!("{}{path}", mirror.url);
    let whole = Reader::new(kind, &url, project);
    let expected = whole.open(async |engine| {
        sync(engine, Scope::New).await.unwrap();
        sync(engine, Scope::Full).await.unwrap();
        engine.answer(DigestRequest {}).await.unwrap()
    });
    let threads = whole.threads();
    assert!(threads.len() > 20, "{threads:?}");
    let answers = mirror.answers();
    let mut sorts: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for (target, json) in &answers {
        let mut found = Vec::new();
        places(target, json, "", &mut found);
        for place in found {
            sorts.entry(sort_of(&place)).or_default().push(place);
        }
    }
    let sorts: Vec<Vec<Place>> = sorts.into_values().collect();
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    for case in 0..cases {
        let sort = &sorts[random.usize(..sorts.len())];
        let place = &sort[random.usize(..sort.len())];
        let value = broken(&mut random, &place.value);
        let what = format!("seed {seed}, case {case}: {} {} = {value:?}", place.target, place.pointer);
        let reader = Reader::new(kind, &url, project);
        let is_later = random.bool();
        if is_later {
            reader.open(async |engine| sync(engine, Scope::New).await.unwrap());
        }
        mirror.break_at(place, value);
        let scope = if is_later { Scope::Full } else { Scope::New };
        let done = reader.open(async |engine| sync(engine, scope).await);
        let owner = owner(place, &answers);
        let is_of_project = owner.is_none() && answers[&place.target].is_object();
        if let Err(error) = &done {
            assert!(is_of_project, "{what}: {error}");
            assert!(error.message.lines().count() == 1 && error.message.len() < 1000, "{what}: {error}");
        }
        let left = reader.threads();
        if done.is_ok() || is_later {
            let others = threads.iter().filter(|key| Some(number_of(key)) != owner);
            let missing: Vec<_> = others.filter(|key| !left.contains(*key)).collect();
            assert!(missing.is_empty(), "{what}: {missing:?}");
        }
        mirror.repair();
        let (aside, digest) = reader.open(async |engine| {
            sync(engine, Scope::New).await.unwrap_or_else(|error| panic!("{what}: {error}"));
            let aside = engine.answer(SyncStatusRequest { runs: 0 }).await.unwrap().quarantine;
            sync(engine, Scope::Full).await.unwrap_or_else(|error| panic!("{what}: {error}"));
            (aside, engine.answer(DigestRequest {}).await.unwrap())
        });
        assert_eq!(aside.count, 0, "{what}: {aside:?}");
        assert_eq!(digest, expected, "{what}");
    }
}

#[test]
fn whatever_field_of_gitlab_breaks_the_others_are_there_and_it_heals() {
    match Replay::start(&["--limit", "12", "--seed", "3"]) {
        Some(replay) => break_fields(ForgeKind::GitLab, replay.url(), "", replay::PROJECT, cases()),
        None => {
            let forge = Forge::start();
            break_fields(ForgeKind::GitLab, &forge.url, "", "acme/shop", cases());
        }
    }
}

#[test]
fn whatever_field_of_github_breaks_the_others_are_there_and_it_heals() {
    match Replay::start(&["--limit", "12", "--seed", "3"]) {
        Some(replay) => break_fields(ForgeKind::GitHub, replay.url(), "/github", replay::PROJECT, cases()),
        None => {
            let forge = Forge::start();
            break_fields(ForgeKind::GitHub, &forge.url, "", "acme/shop", cases());
        }
    }
}
