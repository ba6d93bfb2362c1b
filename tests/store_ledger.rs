//! The ledger through its public surface.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use backstory_model::{
    access::{Actor, Caller, Scope},
    alias::PersonNames,
    commit::Sha,
    entity::ItemKind,
    id::ThreadId,
    visibility::Visibility,
};
use backstory_store::ledger::{
    ABANDONED_AFTER, AuditAction, Branches, ChatLimits, Cursor, Delivery, DeliveryCursor, ErasureTarget, GeneratedText,
    IngestBatch, JobKind, JobPriority, Ledger, LedgerError, MAX_QUARANTINED, NewItem, NewJob, NewMessage,
    NewQuarantined, Outcome, REMOVED_ANSWER_TEXT, RepositoryEntry, RetriedItem, Role, RunStatus, Snapshot,
    SnapshotStats, SnapshotStatus,
};
use jiff::Timestamp;
use serde_json::json;

/// As many conversations as anybody begins here.
const CHATS: ChatLimits = ChatLimits { in_all: 10, of_maker: 5 };

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn item(kind: ItemKind, key: &str, thread: Option<&str>, payload: &str) -> NewItem {
    NewItem {
        project: "acme/shop".into(),
        kind,
        key: key.into(),
        thread: thread.map(Into::into),
        updated_at: Some(at(100)),
        secrets: Default::default(),
        confidential: false,
        payload: payload.into(),
    }
}

fn page(items: Vec<NewItem>) -> IngestBatch {
    IngestBatch { items, fetched_at: at(200), ..IngestBatch::default() }
}

#[test]
fn creates_the_file_and_applies_migrations_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.sqlite");
    for _ in 0..2 {
        let ledger = Ledger::open(&path).unwrap();
        assert_eq!(ledger.last_seq().unwrap(), 0);
        assert_eq!(ledger.check().unwrap(), Vec::<String>::new());
    }
    // The first bytes after the header's 18: 2 and 2 say that the file is in WAL mode.
    assert_eq!(std::fs::read(&path).unwrap()[18..20], [2, 2]);
}

/// A ledger of every schema version that is read, compressed. Each has two items, a cursor and a sync run.
const LEDGERS: [(i64, &[u8]); 8] = [
    (7, include_bytes!("fixtures/ledgers/7.sqlite.zst")),
    (8, include_bytes!("fixtures/ledgers/8.sqlite.zst")),
    (9, include_bytes!("fixtures/ledgers/9.sqlite.zst")),
    (10, include_bytes!("fixtures/ledgers/10.sqlite.zst")),
    (11, include_bytes!("fixtures/ledgers/11.sqlite.zst")),
    (12, include_bytes!("fixtures/ledgers/12.sqlite.zst")),
    (13, include_bytes!("fixtures/ledgers/13.sqlite.zst")),
    (14, include_bytes!("fixtures/ledgers/14.sqlite.zst")),
];

/// The version of a ledger's schema, and the text of all that is in it.
fn schema(path: &Path) -> (i64, Vec<(String, Option<String>)>) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let version = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    (version, rows.map(Result::unwrap).collect())
}

#[test]
fn ledgers_of_earlier_versions_keep_their_rows_and_get_the_schema_of_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let new = directory.path().join("new.sqlite");
    drop(Ledger::open(&new).unwrap());
    for (version, packed) in LEDGERS {
        let path = directory.path().join(format!("{version}.sqlite"));
        std::fs::write(&path, zstd::decode_all(packed).unwrap()).unwrap();
        assert_eq!(schema(&path).0, version);
        let ledger = Ledger::open(&path).unwrap();
        assert_eq!(schema(&path), schema(&new), "from {version}");

        assert_eq!(ledger.check().unwrap(), Vec::<String>::new(), "from {version}");
        assert_eq!(ledger.last_seq().unwrap(), 2, "from {version}");
        let kept = ledger.item("acme/shop", ItemKind::Issue, "#1").unwrap().unwrap();
        assert_eq!(kept.payload.as_deref(), Some(br#"{"title":"kept"}"#.as_slice()), "from {version}");
        assert_eq!(ledger.item("acme/shop", ItemKind::Issue, "#2").unwrap(), None, "from {version}");
        assert!(ledger.cursor("acme/shop", ItemKind::Issue).unwrap().is_some(), "from {version}");
        let runs = ledger.runs(9).unwrap();
        assert_eq!((runs.len(), &runs[0].projects), (1, &None), "from {version}");
        assert_eq!(ledger.quarantine(9).unwrap().0, u64::from(version > 7));
        assert_eq!(ledger.failures().unwrap().len(), usize::from(version > 8));
    }
}

#[test]
fn refuses_schemas_of_programs_that_are_newer_or_too_old() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.sqlite");
    drop(Ledger::open(&path).unwrap());
    let (newest, _) = schema(&path);
    for version in [-1, 1, 6, newest + 1, 99] {
        rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", version).unwrap();
        let error = Ledger::open(&path).err().unwrap();
        let is_named = match error {
            LedgerError::Newer { found, known } => version > newest && (found, known) == (version, newest),
            LedgerError::Outdated { found, oldest: 7 } => version < 7 && found == version,
            _ => false,
        };
        assert!(is_named, "{error}");
    }
}

/// Fills the first page of a table with what can be none.
fn ruin(ledger: &Path, table: &str) {
    let connection = rusqlite::Connection::open(ledger).unwrap();
    let query = "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    let root: i64 = connection.query_row(query, [table], |row| row.get(0)).unwrap();
    let size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0)).unwrap();
    drop(connection);
    let (begin, size) = (usize::try_from((root - 1) * size).unwrap(), usize::try_from(size).unwrap());
    let mut bytes = std::fs::read(ledger).unwrap();
    bytes[begin..begin + size].fill(0xff);
    std::fs::write(ledger, bytes).unwrap();
}

/// Only what was met while it was opened was told with what to do.
#[test]
fn damage_that_is_met_later_is_told_with_what_to_do() {
    for table in ["items", "list_threads"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.sqlite");
        let first = page(vec![item(ItemKind::Issue, "#1", Some("#1"), "{}")]);
        Ledger::open(&path).unwrap().ingest(&first).unwrap();
        ruin(&path, table);
        let ledger = Ledger::open(&path).unwrap();
        let read = match table {
            "items" => ledger.item("acme/shop", ItemKind::Issue, "#1").map(drop),
            _ => ledger.lists().digests(&Visibility::everything()).map(drop),
        };
        let error = read.unwrap_err();
        assert!(matches!(error, LedgerError::Damaged { .. }), "{table}: {error:?}");
        let said = error.to_string();
        assert!(
            said.contains("ledger.sqlite is not a ledger or is damaged (database disk image is malformed)"),
            "{said}"
        );
        assert!(said.contains("restore it from a backup"), "{said}");
    }
}

#[test]
fn every_change_gets_the_next_sequence_number_and_no_change_gets_none() {
    let ledger = Ledger::in_memory().unwrap();
    let first = page(vec![item(ItemKind::Issue, "#1", Some("#1"), "{}"), item(ItemKind::Label, "bug", None, "{}")]);
    assert_eq!(ledger.ingest(&first).unwrap().total(), 2);
    assert_eq!(ledger.ingest(&first).unwrap().total(), 0);
    assert_eq!(ledger.last_seq().unwrap(), 2);
    let changed = page(vec![item(ItemKind::Issue, "#1", Some("#1"), r#"{"a":1}"#)]);
    assert_eq!(ledger.ingest(&changed).unwrap().of(ItemKind::Issue), 1);
    let after: Vec<_> = ledger.changes_after(0, 10).unwrap().into_iter().map(|item| (item.seq, item.key)).collect();
    assert_eq!(after, [(2, "bug".to_owned()), (3, "#1".to_owned())]);
    assert_eq!(ledger.changes_after(2, 10).unwrap()[0].payload.as_deref(), Some(br#"{"a":1}"#.as_slice()));
    assert_eq!(
        ledger.changed_threads_after(0, 10).unwrap(),
        [(2, "acme/shop".to_owned(), None), (3, "acme/shop".to_owned(), Some("#1".to_owned()))]
    );
}

#[test]
fn the_newest_change_that_is_visible_is_that_of_the_visible_projects() {
    let ledger = Ledger::in_memory().unwrap();
    let of = |projects: &[&str]| Visibility::of_projects(projects.iter().copied());
    let last = |visibility: Visibility| ledger.with_visibility(visibility).last_visible_seq().unwrap();
    assert_eq!((last(of(&["acme/shop"])), last(Visibility::public())), (0, 0));
    let in_project = |project: &str, key: &str, confidential: bool| NewItem {
        project: project.to_owned(),
        confidential,
        ..item(ItemKind::Issue, key, Some(key), "{}")
    };
    let items = vec![
        in_project("acme/shop", "#1", false),
        in_project("acme/web", "#1", false),
        in_project("acme/shop", "#2", true),
        in_project("tools/api", "#1", true),
    ];
    ledger.ingest(&page(items)).unwrap();
    let (shop, both, others) = (of(&["acme/shop"]), of(&["acme/shop", "acme/web"]), of(&["acme/other"]));
    assert_eq!((last(shop.clone()), last(shop.with_confidential())), (1, 3));
    assert_eq!((last(both.clone()), last(both.with_confidential())), (2, 3));
    assert_eq!((last(others), last(of(&[])), last(Visibility::public())), (0, 0, 2));
    assert_eq!(ledger.last_visible_seq().unwrap(), 4);
}

#[test]
fn discussions_that_a_complete_thread_no_longer_has_are_gone() {
    let ledger = Ledger::in_memory().unwrap();
    let thread = Some("#1");
    let all = vec![
        item(ItemKind::Issue, "#1", thread, "{}"),
        item(ItemKind::Discussion, "#1~a", thread, "{}"),
        item(ItemKind::Discussion, "#1~b", thread, "{}"),
    ];
    ledger.ingest(&page(all.clone())).unwrap();
    let mut fewer = page(all[..2].to_vec());
    fewer.complete_threads = vec![("acme/shop".into(), "#1".into())];
    assert_eq!(ledger.ingest(&fewer).unwrap().of(ItemKind::Discussion), 1);
    let keys: Vec<_> = ledger.thread("acme/shop", "#1").unwrap().into_iter().map(|item| item.key).collect();
    assert_eq!(keys, ["#1~a", "#1"]);
    let tombstone = ledger.changes_after(3, 10).unwrap().remove(0);
    assert_eq!((tombstone.key.as_str(), tombstone.payload), ("#1~b", None));
    // It comes back when the forge has it again.
    assert_eq!(ledger.ingest(&page(all)).unwrap().of(ItemKind::Discussion), 1);
}

#[test]
fn cursor_is_committed_with_its_page_and_reset_on_demand() {
    let ledger = Ledger::in_memory().unwrap();
    let cursor = Cursor { updated_at: at(100), id: 7 };
    let mut page = page(vec![item(ItemKind::Issue, "#1", Some("#1"), "{}")]);
    page.cursor = Some(("acme/shop".into(), ItemKind::Issue, cursor));
    ledger.ingest(&page).unwrap();
    assert_eq!(ledger.cursor("acme/shop", ItemKind::Issue).unwrap(), Some(cursor));
    assert_eq!(ledger.cursor("acme/shop", ItemKind::MergeRequest).unwrap(), None);
    ledger.reset_cursors("acme/shop").unwrap();
    assert_eq!(ledger.cursor("acme/shop", ItemKind::Issue).unwrap(), None);
}

#[test]
fn cursor_does_not_advance_when_its_page_fails() {
    let ledger = Ledger::in_memory().unwrap();
    let mut page = page(vec![item(ItemKind::Issue, "#1", Some("#1"), "{}")]);
    page.items[0].payload = vec![b' '; backstory_store::ledger::MAX_PAYLOAD + 1];
    page.cursor = Some(("acme/shop".into(), ItemKind::Issue, Cursor { updated_at: at(100), id: 7 }));
    assert!(ledger.ingest(&page).is_err());
    assert_eq!(ledger.cursor("acme/shop", ItemKind::Issue).unwrap(), None);
}

#[test]
fn runs_are_recorded_and_those_of_a_dead_process_recognized() {
    let ledger = Ledger::in_memory().unwrap();
    let good = ledger.begin_run("sync", &[], at(1)).unwrap();
    ledger.finish_run(good, None, &json!({"changed": 3}), at(2)).unwrap();
    let bad = ledger.begin_run("sync", &["acme/shop".to_owned()], at(3)).unwrap();
    ledger.finish_run(bad, Some("401"), &json!({}), at(4)).unwrap();
    let dead = ledger.begin_run("sync --full", &[], at(5)).unwrap();
    assert_eq!(ledger.run(dead).unwrap().unwrap().status, RunStatus::Running);
    assert_eq!(ledger.fail_stale_runs("interrupted", at(6)).unwrap(), 1);
    let runs = ledger.runs(10).unwrap();
    let seen: Vec<_> =
        runs.iter().map(|run| (run.command.as_str(), run.status.as_str(), run.error.is_some())).collect();
    assert_eq!(seen, [("sync --full", "failed", true), ("sync", "failed", true), ("sync", "succeeded", false)]);
    assert_eq!(runs[1].projects, Some(vec!["acme/shop".to_owned()]));
    assert_eq!(runs[2].projects, Some(Vec::new()), "all");
    ledger.forget(&ErasureTarget::Project("acme/shop".into()), &[], None, at(7)).unwrap();
    let projects: Vec<_> = ledger.runs(10).unwrap().into_iter().map(|run| run.projects).collect();
    assert_eq!(projects, [Some(Vec::new()), None, Some(Vec::new())]);
}

#[test]
fn adding_and_indexing_a_repository_do_not_undo_each_other() {
    let ledger = Ledger::in_memory().unwrap();
    let tip = Sha::from_bytes([7; 20]);
    let tips = BTreeMap::from([("main".to_owned(), tip)]);
    let listed = RepositoryEntry {
        project: "acme/shop".into(),
        address: "/srv/shop".into(),
        branches: Branches::Default,
        refs: vec!["v1.0".into()],
        forge: None,
        depth: None,
        added_at: at(1),
        synced_at: None,
        indexed: BTreeMap::new(),
        unreachable: BTreeSet::new(),
    };
    ledger.put_repository(&listed).unwrap();
    // Other branches are asked for while a sync is running.
    ledger.put_repository(&RepositoryEntry { branches: Branches::All, ..listed.clone() }).unwrap();
    ledger.record_indexed("acme/shop", &tips, at(2)).unwrap();
    ledger.set_unreachable("acme/shop", &BTreeSet::from([tip])).unwrap();
    let known = ledger.repository("acme/shop").unwrap().unwrap();
    assert_eq!((&known.branches, known.synced_at, &known.indexed), (&Branches::All, Some(at(2)), &tips));
    // What was known when the list was read is older than what the sync recorded.
    ledger.put_repository(&listed).unwrap();
    let known = ledger.repository("acme/shop").unwrap().unwrap();
    assert_eq!((known.branches, known.indexed, known.unreachable.len()), (Branches::Default, tips.clone(), 1));
    // A sync that ends late does not bring back what was removed.
    ledger.remove_repository_and_added_forge("acme/shop", at(3)).unwrap();
    ledger.record_indexed("acme/shop", &tips, at(4)).unwrap();
    assert_eq!(ledger.repositories().unwrap(), []);
}

fn first_issue() -> ErasureTarget {
    ErasureTarget::Thread(ThreadId::issue("acme/shop", 1))
}

fn person(id: u64, username: &str) -> NewItem {
    let payload = json!({"id": id, "name": username, "username": username}).to_string();
    item(ItemKind::Person, &id.to_string(), None, &payload)
}

#[test]
fn what_may_be_read_again_is_read_from_the_beginning() {
    let ledger = Ledger::in_memory().unwrap();
    ledger.forget(&first_issue(), &[], None, at(1)).unwrap();
    let mut page = page(vec![item(ItemKind::Issue, "#2", Some("#2"), "{}")]);
    page.cursor = Some(("acme/shop".into(), ItemKind::Issue, Cursor { updated_at: at(100), id: 7 }));
    ledger.ingest(&page).unwrap();
    assert!(ledger.undo_forget(&first_issue(), None, at(2)).unwrap());
    assert_eq!(ledger.cursor("acme/shop", ItemKind::Issue).unwrap(), None);
}

#[test]
fn people_whom_only_something_forgotten_names_are_left_out() {
    let ledger = Ledger::in_memory().unwrap();
    ledger.ingest(&page(vec![person(4, "dave")])).unwrap();
    ledger.forget(&first_issue(), &[], None, at(1)).unwrap();
    let by = |id: u64, username: &str| json!({"author": {"id": id, "username": username}}).to_string();
    let request = json!({"author": {"id": 2, "username": "bob"}, "approved_by": ["carol"]}).to_string();
    ledger
        .ingest(&page(vec![
            item(ItemKind::Issue, "#1", Some("#1"), &by(1, "alice")),
            item(ItemKind::Discussion, "#1~a", Some("#1"), &by(4, "dave")),
            item(ItemKind::MergeRequest, "!1", Some("!1"), &request),
            person(1, "alice"),
            person(2, "bob"),
            person(3, "carol"),
            person(4, "dave"),
        ]))
        .unwrap();
    assert_eq!(ledger.keys("acme/shop", ItemKind::Person).unwrap(), ["2", "3", "4"]);
    assert_eq!(ledger.keys("acme/shop", ItemKind::Issue).unwrap(), Vec::<String>::new());
}

#[test]
fn an_answer_that_comes_late_is_not_kept() {
    let ledger = Ledger::in_memory().unwrap();
    let chat = ledger.add_chat(None, "owner", CHATS, at(1)).unwrap().unwrap();
    ledger.forget(&first_issue(), &[], None, at(2)).unwrap();
    let names = PersonNames { id: "alice".into(), ..PersonNames::default() };
    let (_, alias) = ledger.forget_person(&names, None, at(2)).unwrap();
    let asked = |text: &str| NewMessage { role: Role::User, text: text.into(), answer: None };
    let answered = |reference: &str| {
        let answer = json!({"citations": [{"id": reference, "author": "alice", "title": "alice"}], "standing": null});
        NewMessage { role: Role::Assistant, text: "As @alice said".into(), answer: Some(answer.to_string().into()) }
    };
    let messages =
        [asked("What of one?"), answered("acme/shop#1#note_3"), asked("What of 10?"), answered("acme/shop#10")];
    ledger.add_messages(chat, &messages, 10, at(3)).unwrap();
    let kept = ledger.messages(chat, 0, 10).unwrap();
    let texts: Vec<&str> = kept.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, [REMOVED_ANSWER_TEXT, REMOVED_ANSWER_TEXT, "What of 10?", &format!("As @{alias} said")]);
    let answers: Vec<_> = kept.iter().filter_map(|message| message.answer.as_deref()).collect();
    let [answer] = answers[..] else { panic!("{answers:?}") };
    let answer: serde_json::Value = serde_json::from_slice(answer).unwrap();
    assert_eq!(answer["citations"][0], json!({"id": "acme/shop#10", "author": alias, "title": "alice"}));
}

#[test]
fn what_a_model_writes_late_is_not_kept() {
    let ledger = Ledger::in_memory().unwrap();
    let written = |subject: &str, text: &str| GeneratedText {
        kind: "summary".into(),
        subject: subject.into(),
        model: "test".into(),
        prompt: 1,
        input: [0; 32],
        text: text.into(),
        written_at: at(1),
    };
    let text_of = |subject: &str| ledger.generated("summary", subject).unwrap().map(|written| written.text);
    // Only a whole word is a name.
    for (subject, text) in
        [("acme/shop#1", "Al did it."), ("acme/shop#2", "It was also done."), ("acme/shop#3", "One.")]
    {
        ledger.put_generated(&written(subject, text)).unwrap();
    }
    let names = PersonNames { id: "al".into(), ..PersonNames::default() };
    let (erased, alias) = ledger.forget_person(&names, None, at(2)).unwrap();
    assert_eq!((erased.written, text_of("acme/shop#1")), (1, None));
    assert!(text_of("acme/shop#2").is_some() && text_of("acme/shop#3").is_some());

    ledger.forget(&first_issue(), &[], None, at(2)).unwrap();
    ledger.forget(&ErasureTarget::Project("acme/cart".into()), &[], None, at(2)).unwrap();
    for (subject, expected) in [
        ("acme/shop#1", None),
        ("acme/cart!3", None),
        ("acme/cart@1111111111111111111111111111111111111111", None),
        ("acme/shop#10", Some(format!("@{alias} asked."))),
    ] {
        ledger.put_generated(&written(subject, "@al asked.")).unwrap();
        assert_eq!(text_of(subject), expected, "{subject}");
    }
}

#[test]
fn what_was_found_once_is_not_gone_because_nobody_knows_it_any_more() {
    let ledger = Ledger::in_memory().unwrap();
    let forget = |verified: Option<bool>| {
        let audit = ledger.forget(&first_issue(), &[], None, at(1)).unwrap().audit;
        ledger.finish_erasure(audit, &json!({"items": 0}), verified).unwrap();
        ledger.audit(None, None, 1).unwrap().remove(0).verified
    };
    assert_eq!(forget(None), None);
    assert_eq!(ledger.unfinished_erasures().unwrap(), Vec::<String>::new());
    assert_eq!(forget(Some(false)), Some(false));
    assert_eq!([forget(None), forget(None)], [Some(false); 2]);
    assert_eq!(forget(Some(true)), Some(true));
    assert_eq!(forget(None), None);
    forget(Some(false));
    ledger.undo_forget(&first_issue(), None, at(2)).unwrap();
    assert_eq!(forget(None), None);
    ledger.forget(&first_issue(), &[], None, at(3)).unwrap();
    assert_eq!(ledger.unfinished_erasures().unwrap(), ["acme/shop#1"]);
}

#[test]
fn what_is_not_kept_does_not_replace_what_was_forgotten() {
    let ledger = Ledger::in_memory().unwrap();
    ledger.forget(&first_issue(), &[], None, at(1)).unwrap();
    for number in 0..1_003 {
        let key = format!("#{number}");
        ledger.ingest(&page(vec![item(ItemKind::Issue, &key, Some(&key), "{}")])).unwrap();
        let gone = [("acme/shop".to_owned(), ItemKind::Issue, key)];
        ledger.retire("acme/shop", &gone, &[], &json!({"items": 1}), at(2)).unwrap();
    }
    let retired = ledger.audit(Some(AuditAction::Retire), None, 2_000).unwrap();
    assert_eq!(retired.len(), 1_000, "the newest");
    assert_eq!(ledger.audit(Some(AuditAction::Retire), Some(retired[0].id), 1).unwrap(), retired[1..2]);
    let forgotten = ledger.audit(Some(AuditAction::Forget), None, 100).unwrap();
    assert_eq!(forgotten.len(), 1);
    assert_eq!(ledger.audit(None, Some(retired[999].id), 10).unwrap(), forgotten);
}

fn put_aside(kind: ItemKind, key: &str, thread: Option<&str>) -> NewQuarantined {
    NewQuarantined {
        project: "acme/shop".into(),
        kind,
        key: key.into(),
        thread: thread.map(Into::into),
        field: "notes[0].created_at".into(),
        reason: "is null, not a timestamp string".into(),
        confidential: false,
    }
}

fn quarantined(ledger: &Ledger) -> Vec<String> {
    let (count, rows) = ledger.quarantine(100).unwrap();
    assert_eq!(count, rows.len() as u64);
    rows.into_iter().map(|row| row.of.key).collect()
}

#[test]
fn what_cannot_be_read_is_put_aside_with_its_page_and_what_was_stored_of_it_stays() {
    let ledger = Ledger::in_memory().unwrap();
    let thread = Some("#1");
    let items = vec![item(ItemKind::Issue, "#1", thread, "{}"), item(ItemKind::Discussion, "#1~a", thread, "{}")];
    ledger.ingest(&page(items)).unwrap();
    let read_again = |put_aside: Vec<NewQuarantined>, items: Vec<NewItem>, second: i64| {
        let (project, thread) = ("acme/shop".to_owned(), "#1".to_owned());
        let page = IngestBatch {
            items,
            put_aside,
            fetched_at: at(second),
            complete_threads: vec![(project.clone(), thread.clone())],
            retried: vec![RetriedItem::Thread(project, thread)],
            ..IngestBatch::default()
        };
        ledger.ingest(&page).unwrap();
    };
    let both = vec![put_aside(ItemKind::Discussion, "#1~a", thread), put_aside(ItemKind::Discussion, "#1~b", thread)];
    read_again(both.clone(), vec![], 300);
    assert_eq!(quarantined(&ledger), ["#1~a", "#1~b"]);
    assert!(ledger.item("acme/shop", ItemKind::Discussion, "#1~a").unwrap().is_some(), "as it was");
    // One can be read, of the other it is tried again.
    read_again(vec![both[1].clone()], vec![item(ItemKind::Discussion, "#1~a", thread, "{}")], 400);
    let rows = ledger.quarantine_of("acme/shop").unwrap();
    let times: Vec<_> = rows.iter().map(|row| (row.of.key.as_str(), row.first_seen, row.last_tried)).collect();
    assert_eq!(times, [("#1~b", at(300), at(400))]);
    // The forge has it no more.
    read_again(vec![], vec![], 500);
    assert_eq!(quarantined(&ledger), Vec::<String>::new());
    // What goes takes along what was put aside of it.
    read_again(both, vec![], 600);
    ledger.tombstone(&[("acme/shop".into(), ItemKind::Issue, "#1".into())], at(700)).unwrap();
    assert_eq!(quarantined(&ledger), Vec::<String>::new());
}

#[test]
fn what_comes_as_confidential_and_cannot_be_read_is_hidden_as_it_was_stored_before() {
    let ledger = Ledger::in_memory().unwrap();
    let thread = Some("#1");
    let items = vec![item(ItemKind::Issue, "#1", thread, "{}"), item(ItemKind::Discussion, "#1~a", thread, "{}")];
    ledger.ingest(&page(items)).unwrap();
    let open = ledger.with_visibility(Visibility::public());
    let hidden = NewQuarantined { confidential: true, ..put_aside(ItemKind::Issue, "#1", thread) };
    ledger.ingest(&IngestBatch { put_aside: vec![hidden], fetched_at: at(300), ..IngestBatch::default() }).unwrap();
    assert!(open.thread("acme/shop", "#1").unwrap().is_empty());
    assert_eq!(ledger.thread("acme/shop", "#1").unwrap().len(), 2);
    assert_eq!((quarantined(&open), quarantined(&ledger)), (vec![], vec!["#1".to_owned()]));
}

#[test]
fn a_ledger_that_was_read_only_can_be_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.sqlite");
    drop(Ledger::open(&path).unwrap());
    // What SQLite leaves beside a file that it may only read.
    let beside = ["ledger.sqlite-wal", "ledger.sqlite-shm"].map(|name| directory.path().join(name));
    for file in &beside {
        fs::write(file, []).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o400)).unwrap();
    }
    let ledger = Ledger::open(&path).unwrap();
    ledger.ingest(&page(vec![item(ItemKind::Issue, "#1", Some("#1"), "{}")])).unwrap();
    for file in &beside {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o200, 0o200, "{}", file.display());
    }
}

#[test]
fn a_conversation_is_visible_to_those_who_see_as_much_as_those_who_asked() {
    let ledger = Ledger::in_memory().unwrap();
    let of = |projects: &[&str]| ledger.with_visibility(Visibility::of_projects(projects.iter().copied()));
    let (one, two, other) = (of(&["acme/shop"]), of(&["acme/shop", "acme/web"]), of(&["acme/web"]));
    let sees = |chat: i64| {
        let shown = |ledger: &Ledger| ledger.chat(chat).unwrap().is_some() && ledger.chats(None, 9).unwrap().len() == 1;
        [&other, &one, &two, &ledger].map(shown)
    };
    let ask = |ledger: &Ledger, chat: i64| {
        let said = NewMessage { role: Role::User, text: "why?".to_owned(), answer: None };
        ledger.add_messages(chat, &[said], 9, at(100)).unwrap().is_some()
    };
    let chat = one.add_chat(Some("acme/shop"), "owner", CHATS, at(100)).unwrap().unwrap();
    assert_eq!(sees(chat), [false, true, true, true], "nobody has asked");
    assert!(ask(&one, chat) && !ask(&other, chat));
    assert_eq!(sees(chat), [false, true, true, true]);
    assert!(ask(&two, chat));
    assert_eq!(sees(chat), [false, false, true, true]);
    assert!(one.messages(chat, 0, 9).unwrap().is_empty() && two.messages(chat, 0, 9).unwrap().len() == 2);
    assert!(ask(&ledger, chat));
    assert_eq!(sees(chat), [false, false, false, true]);
    assert!(!one.remove_chat(chat).unwrap() && ledger.remove_chat(chat).unwrap());
}

#[test]
fn a_conversation_that_a_token_began_is_for_its_holder_and_for_administrators() {
    let ledger = Ledger::in_memory().unwrap();
    let of = |name: &str, scope: Scope| {
        let (who, visibility) = (Actor::Token { id: name.into(), name: name.into() }, Visibility::public());
        ledger.with_caller(&Caller { who, visibility, scopes: [scope].into_iter().collect(), expires: None })
    };
    let (ann, ben, keeper) = (of("ann", Scope::Read), of("ben", Scope::Sync), of("keeper", Scope::Admin));
    let chat = ann.add_chat(Some("acme/shop"), &ann.actor().to_string(), CHATS, at(100)).unwrap().unwrap();
    let said = || [NewMessage { role: Role::User, text: "why?".to_owned(), answer: None }];
    assert_eq!(ben.add_messages(chat, &said(), 9, at(100)).unwrap(), None);
    assert_eq!(ann.add_messages(chat, &said(), 9, at(100)).unwrap(), Some(1));
    assert!(ben.chat(chat).unwrap().is_none() && ben.chats(None, 9).unwrap().is_empty());
    assert!(ben.messages(chat, 0, 9).unwrap().is_empty() && !ben.remove_chat(chat).unwrap());
    for reader in [&ann, &keeper, &ledger] {
        let shown = reader.chat(chat).unwrap().unwrap();
        assert_eq!(shown.created_by.as_deref(), Some("token ann"));
        assert_eq!((reader.chats(None, 9).unwrap(), reader.messages(chat, 0, 9).unwrap().len()), (vec![shown], 1));
    }
    // Those of the machine's own user are for administrators too, and nobody knows whose the oldest are.
    let own = ledger.add_chat(None, "owner", CHATS, at(100)).unwrap().unwrap();
    assert!(ann.chat(own).unwrap().is_none() && keeper.chat(own).unwrap().is_some());
    assert!(keeper.remove_chat(chat).unwrap());
}

#[test]
fn a_conversation_that_nobody_began_to_use_makes_room_and_one_that_was_just_begun_does_not() {
    let ledger = Ledger::in_memory().unwrap();
    let limits = ChatLimits { in_all: 10, of_maker: 1 };
    let begin = |second: i64| ledger.add_chat(None, "owner", limits, at(second)).unwrap();
    let first = begin(1000).unwrap();
    assert_eq!(begin(1001), None, "somebody is about to ask in it");
    assert!(ledger.chat(first).unwrap().is_some());
    let later = 1000 + ABANDONED_AFTER.as_secs();
    let second = begin(later).unwrap();
    assert!(second > first, "whoever has it open must not ask in another");
    assert_eq!(ledger.chat(first).unwrap(), None);
    let said = NewMessage { role: Role::User, text: "why?".to_owned(), answer: None };
    ledger.add_messages(second, &[said], 9, at(later)).unwrap();
    assert_eq!(begin(2 * later), None);
}

#[test]
fn no_more_than_so_many_items_of_a_project_are_put_aside() {
    let ledger = Ledger::in_memory().unwrap();
    let put_aside = (0..=MAX_QUARANTINED).map(|number| put_aside(ItemKind::Label, &number.to_string(), None)).collect();
    let page = IngestBatch { put_aside, fetched_at: at(300), ..IngestBatch::default() };
    let error = ledger.ingest(&page).unwrap_err();
    assert!(matches!(&error, LedgerError::Quarantine { project, .. } if project == "acme/shop"), "{error}");
    assert_eq!(quarantined(&ledger), Vec::<String>::new(), "nothing of the page");
    ledger.quarantine_items(&page.put_aside, at(300)).unwrap();
    assert_eq!(ledger.quarantine(1).unwrap().0, MAX_QUARANTINED);
}

// Row 150 of docs/requirements.md.
#[test]
fn what_somebody_waits_for_goes_first_but_not_for_ever() {
    let ledger = Ledger::in_memory().unwrap();
    let sync = |project: &str| NewJob { kind: JobKind::Sync, project: project.to_owned(), subject: None };
    for (second, project) in [(100, "acme/api"), (200, "acme/shop"), (300, "acme/web")] {
        ledger.queue_job(&sync(project), at(second), at(second)).unwrap();
    }
    let due = |now: i64| -> Vec<(String, JobPriority)> {
        let jobs = ledger.due_jobs(&[JobKind::Sync], at(now), 9).unwrap();
        jobs.into_iter().map(|job| (job.job.project, job.priority)).collect()
    };
    let order = |now: i64| -> Vec<String> { due(now).into_iter().map(|(project, _)| project).collect() };
    assert_eq!(order(400), ["acme/api", "acme/shop", "acme/web"]);
    let waiting = ledger.queue_requested_job(&sync("acme/web"), at(400)).unwrap();
    assert_eq!(due(400)[0], ("acme/web".to_owned(), JobPriority::Requested));
    assert_eq!(order(400), ["acme/web", "acme/api", "acme/shop"]);
    // The schedule does not take that back, and it waits once only.
    assert_eq!(ledger.queue_job(&sync("acme/web"), at(500), at(500)).unwrap(), waiting);
    assert_eq!(due(500)[0], ("acme/web".to_owned(), JobPriority::Requested));
    // Whatever is requested all day: what waits for more than six hours has its turn.
    let late = 400 + 7 * 3600;
    ledger.cancel_job(waiting, at(late)).unwrap();
    ledger.queue_requested_job(&sync("acme/web"), at(late)).unwrap();
    assert_eq!(order(late), ["acme/api", "acme/shop", "acme/web"]);
}

#[test]
fn why_a_job_failed_is_told_of_webhooks_only_to_those_whom_the_list_of_jobs_tells() {
    let ledger = Ledger::in_memory().unwrap();
    let delivery = Delivery {
        forge: "https://git.example.com".to_owned(),
        id: "delivery-1".to_owned(),
        event: "Note Hook".to_owned(),
        project: Some("acme/shop".to_owned()),
        sender: None,
    };
    let subject = Some("#12".to_owned());
    let job = NewJob { kind: JobKind::Refetch, project: "acme/shop".to_owned(), subject };
    ledger.record_delivery(&delivery, &[job], at(100)).unwrap();
    let id = ledger.jobs(None, &[], None, 9).unwrap()[0].id;
    ledger.begin_jobs(&[id], at(101)).unwrap();
    ledger.end_jobs(&[id], &Outcome::Failed("acme/shop#12 cannot be read".to_owned()), at(102)).unwrap();
    let errors = |ledger: &Ledger| {
        let of_deliveries = ledger.list_deliveries(&[], None, 9).unwrap()[0].error.clone();
        (of_deliveries, ledger.jobs(None, &[], None, 9).unwrap()[0].error.clone())
    };
    let error = Some("acme/shop#12 cannot be read".to_owned());
    assert_eq!(errors(&ledger), (error.clone(), error));
    // Nobody knows that the issue is open to all.
    assert_eq!(errors(&ledger.with_visibility(Visibility::public())), (None, None));
}

#[test]
fn pages_of_webhooks_lose_none_that_came_at_the_same_time() {
    let ledger = Ledger::in_memory().unwrap();
    for forge in ["https://git.example.com", "https://github.com"] {
        for number in 0..5 {
            let delivery = Delivery {
                forge: forge.to_owned(),
                id: format!("delivery-{number}"),
                event: "push".to_owned(),
                project: Some("acme/shop".to_owned()),
                sender: None,
            };
            ledger.record_delivery(&delivery, &[], at(100 + number / 4)).unwrap();
        }
    }
    let all = ledger.list_deliveries(&[], None, 100).unwrap();
    assert_eq!(all.len(), 10);
    assert_eq!(ledger.list_deliveries(&["acme/shop".to_owned()], None, 100).unwrap(), all);
    assert!(ledger.list_deliveries(&["acme/other".to_owned()], None, 100).unwrap().is_empty());
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let page = ledger.list_deliveries(&[], before.as_ref(), 3).unwrap();
        let Some(last) = page.last() else { break };
        before = Some(DeliveryCursor::from(last));
        found.extend(page);
    }
    assert_eq!(found, all);
}

/// A state that nothing has changed since.
fn state(id: &str, seq: u64) -> Snapshot {
    Snapshot {
        id: id.into(),
        created_at: at(i64::try_from(seq).unwrap()),
        status: SnapshotStatus::Completed,
        ledger_seq: seq,
        model: "model".into(),
        commits: BTreeMap::new(),
        stats: SnapshotStats::default(),
        pinned: false,
        last_error: None,
        contents_bytes: 0,
        confidential: false,
        kept: true,
    }
}

#[test]
fn what_items_were_is_kept_as_long_as_a_state_needs_it() {
    let ledger = Ledger::in_memory().unwrap();
    let issue = |text: &str| item(ItemKind::Issue, "#1", Some("#1"), &json!({ "text": text }).to_string());
    let put = |items: Vec<NewItem>| ledger.ingest(&page(items)).unwrap();
    let texts = |seq: u64| -> Vec<String> {
        let items = ledger.thread_at("acme/shop", "#1", seq).unwrap();
        items.into_iter().map(|item| String::from_utf8(item.payload.unwrap()).unwrap()).collect()
    };
    put(vec![issue("first")]);
    let first = ledger.last_seq().unwrap();
    // Nothing is kept for nobody.
    put(vec![issue("second")]);
    let second = ledger.last_seq().unwrap();
    assert_eq!(ledger.version_bytes(first).unwrap(), 0);
    assert!(ledger.put_snapshot(&state("aaaaaaaa", second), &[]).unwrap());
    put(vec![issue("third")]);
    put(vec![issue("fourth")]);
    let fourth = ledger.last_seq().unwrap();
    let changed = |seq: u64| -> Vec<Option<u64>> {
        ledger.threads_changed_after(seq).unwrap().into_iter().map(|changed| changed.version).collect()
    };
    assert_eq!((changed(second), changed(fourth)), (vec![Some(second)], vec![]));
    assert_eq!(
        (texts(second), texts(fourth)),
        (vec![r#"{"text":"second"}"#.to_owned()], vec![r#"{"text":"fourth"}"#.to_owned()])
    );
    assert!(ledger.version_bytes(second).unwrap() > 0);
    // A state that something has changed since cannot be kept any more.
    assert!(ledger.put_snapshot(&state("bbbbbbbb", second), &[]).unwrap());
    let kept: Vec<bool> = ["aaaaaaaa", "bbbbbbbb"].map(|id| ledger.snapshot(id).unwrap().unwrap().kept).into();
    assert_eq!(kept, [true, false]);
    ledger.put_snapshot(&state("cccccccc", fourth), &[]).unwrap();
    put(vec![issue("fifth")]);
    ledger.delete_snapshots(&["aaaaaaaa".to_owned()]).unwrap();
    assert_eq!((texts(second).len(), texts(fourth).len()), (0, 1), "only what the other state needs");
    // What is forgotten, or deleted at the forge, is in no state.
    ledger.forget(&first_issue(), &[], None, at(10)).unwrap();
    assert_eq!((texts(fourth).len(), ledger.version_bytes(fourth).unwrap()), (0, 0));
    let other = || item(ItemKind::Issue, "#2", Some("#2"), "{}");
    put(vec![other()]);
    let last = ledger.last_seq().unwrap();
    ledger.put_snapshot(&state("dddddddd", last), &[]).unwrap();
    ledger.tombstone(&[("acme/shop".to_owned(), ItemKind::Issue, "#2".to_owned())], at(11)).unwrap();
    assert_eq!(ledger.version_bytes(last).unwrap(), 0);
    // A file that a commit removes stays in the history of its repository.
    put(vec![item(ItemKind::File, "a.rs", Some(":a.rs"), "{}")]);
    let last = ledger.last_seq().unwrap();
    ledger.put_snapshot(&state("eeeeeeee", last), &[]).unwrap();
    ledger.tombstone(&[("acme/shop".to_owned(), ItemKind::File, "a.rs".to_owned())], at(12)).unwrap();
    assert_eq!(ledger.thread_at("acme/shop", ":a.rs", last).unwrap().len(), 1);
}
