//! States of the index on record: when they are, how long they stay, and how they differ.

use backstory_engine::{
    EmbedRequest, Scope,
    error::{ErrorKind, Result},
    ledger::{Branches, Ledger, Snapshot, SnapshotStats, SnapshotStatus},
    snapshot::{
        CompareSnapshots, Comparison, GetSnapshot, ListSnapshots, MAX_COMPARED, PinSnapshot, PruneSnapshots,
        SnapshotReport,
    },
    status::CoverageRequest,
};
use expect_test::expect;

use crate::support::{Indexed, Origin, Sandbox, settings};

fn ids(list: &[SnapshotReport]) -> Vec<String> {
    list.iter().map(|of| of.id.clone()).collect()
}

async fn compare(indexed: &Indexed, from: &str, to: &str, limit: usize) -> Result<Comparison> {
    let request = CompareSnapshots { from: from.to_owned(), to: to.to_owned(), limit };
    indexed.engine.answer(request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_that_changes_something_puts_a_state_on_record() {
    let mut origin = Origin::new();
    let first = origin.write("src/a.rs", "pub fn a() -> u32 {\n    1\n}\n").commit_all("Begin");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let list = indexed.engine.answer(ListSnapshots {}).await.unwrap();
    assert_eq!(list.recorded.len(), 1);
    let one = list.recorded[0].clone();
    assert_eq!((one.id.as_str(), one.status, one.pinned), (list.current.as_str(), SnapshotStatus::Completed, false));
    assert_eq!(one.commits.iter().map(|of| &of.sha).collect::<Vec<_>>(), [&first.to_string()]);
    assert_eq!(
        (one.stats.documents, one.stats.embedded),
        (indexed.engine.answer(CoverageRequest {}).await.unwrap().documents, 0)
    );
    // Nothing new, nothing on record.
    indexed.sync().await;
    assert_eq!(indexed.engine.answer(ListSnapshots {}).await.unwrap().recorded, list.recorded);
    // The same from the beginning is the same state, wherever it is.
    let cold = Indexed::cold(origin.path(), Branches::Default).await;
    assert_eq!(cold.engine.load_state().await.unwrap().id, one.id);
    indexed.try_sync(Scope::Full).await.unwrap();
    assert_eq!(ids(&indexed.engine.answer(ListSnapshots {}).await.unwrap().recorded), [one.id.as_str()]);
    // Vectors make it another state, in which search answers otherwise.
    let task = indexed.engine.answer(EmbedRequest {}).await.unwrap();
    indexed.end_of(&task).await.unwrap();
    let embedded = indexed.engine.answer(ListSnapshots {}).await.unwrap();
    assert_ne!(embedded.current, one.id);
    assert_eq!(embedded.recorded.len(), 2);
    let compared = compare(&indexed, &one.id, &embedded.current, 0).await.unwrap();
    assert_eq!((compared.added.count, compared.removed.count, compared.changed.count), (0, 0, 0));
    assert_eq!(compared.unchanged, one.stats.documents);
}

#[tokio::test(flavor = "multi_thread")]
async fn old_states_go_and_pinned_ones_stay() {
    let mut origin = Origin::new();
    origin.write("src/a.rs", "pub fn a() -> u32 {\n    1\n}\n").commit_all("Begin");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let first = indexed.engine.load_state().await.unwrap().id;
    let pinned = indexed.engine.answer(PinSnapshot { id: first[..6].to_owned(), pinned: true }).await.unwrap();
    assert!(pinned.pinned && pinned.id == first);
    let mut all = vec![first.clone()];
    for step in 0..5 {
        origin.write("src/b.rs", format!("pub fn b() -> u32 {{\n    {step}\n}}\n")).commit_all(format!("Step {step}"));
        indexed.sync().await;
        all.push(indexed.engine.load_state().await.unwrap().id);
    }
    let kept = |ids: &[String]| all.iter().map(|id| ids.contains(id)).collect::<Vec<_>>();
    let recorded = indexed.engine.answer(ListSnapshots {}).await.unwrap().recorded;
    assert_eq!(kept(&ids(&recorded)), [true, false, false, true, true, true]);
    let compared = compare(&indexed, &all[3], &all[5], 1).await.unwrap();
    assert_eq!((compared.added.count, compared.removed.count, compared.changed.count), (2, 0, 1));
    assert_eq!(compared.changed.documents, ["acme/tool:src/b.rs#b"]);
    assert_eq!(compared.added.documents.len(), 1, "as many as were asked for");
    let back = compare(&indexed, &all[5], &first, MAX_COMPARED).await.unwrap();
    assert!(back.removed.documents.contains(&"acme/tool:src/b.rs".to_owned()), "{back:?}");
    assert_eq!(back.added.count, 0);
    indexed.engine.answer(PinSnapshot { id: first.clone(), pinned: false }).await.unwrap();
    assert_eq!(indexed.engine.answer(PruneSnapshots::default()).await.unwrap(), [first.as_str()]);
    assert_eq!(indexed.engine.answer(PruneSnapshots::default()).await.unwrap(), Vec::<String>::new());
    let gone = compare(&indexed, &first, &all[5], 0).await.unwrap_err();
    assert_eq!(gone.kind, ErrorKind::NotFound);
    assert_eq!(indexed.engine.answer(GetSnapshot { id: "zz".to_owned() }).await.unwrap_err().kind, ErrorKind::Invalid);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_without_records_gets_one_when_it_is_opened() {
    let mut origin = Origin::new();
    origin.write("src/a.rs", "pub fn a() -> u32 {\n    1\n}\n").commit_all("Begin");
    let Indexed { data, engine } = Indexed::cold(origin.path(), Branches::Default).await;
    let known = engine.answer(ListSnapshots {}).await.unwrap();
    drop(engine);
    let ledger = Ledger::open(&data.path().join("ledger.sqlite")).unwrap();
    ledger.delete_snapshots(&ids(&known.recorded)).unwrap();
    drop(ledger);
    let engine = backstory_engine::Engine::open(data.path(), settings()).await.unwrap();
    let again = engine.answer(ListSnapshots {}).await.unwrap();
    assert_eq!(again.current, known.current);
    assert_eq!(ids(&again.recorded), ids(&known.recorded));
}

#[test]
fn a_record_of_many_documents_is_small() {
    let ledger = Ledger::in_memory().unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    let mut documents: Vec<(String, [u8; 8])> = (0..20_000)
        .map(|number| {
            let id = match number % 3 {
                0 => format!("group/project@{:040x}", random.u128(..)),
                1 => format!("group/project!{}~{:040x}", number % 2000, random.u128(..)),
                _ => format!("group/project:src/part{}/file{number}.rs#function_{number}", number % 40),
            };
            (id, random.u64(..).to_be_bytes())
        })
        .collect();
    documents.sort();
    let snapshot = Snapshot {
        id: "0123456789abcdef".into(),
        created_at: "2024-06-03T12:00:00Z".parse().unwrap(),
        status: SnapshotStatus::Failed,
        ledger_seq: 7,
        model: "model".into(),
        commits: [("group/project".to_owned(), "1a2b".to_owned())].into(),
        stats: SnapshotStats { documents: 20_000, ..SnapshotStats::default() },
        pinned: false,
        last_error: Some("the forge went away".into()),
        contents_bytes: 0,
        confidential: false,
        kept: true,
    };
    assert!(ledger.put_snapshot(&snapshot, &documents).unwrap());
    assert!(!ledger.put_snapshot(&snapshot, &documents).unwrap());
    let stored = ledger.snapshot(&snapshot.id).unwrap().unwrap();
    assert!((100_000..1_000_000).contains(&stored.contents_bytes), "{}", stored.contents_bytes);
    assert_eq!(Snapshot { contents_bytes: 0, ..stored }, snapshot);
    assert_eq!(ledger.snapshot_documents(&snapshot.id).unwrap().unwrap(), documents);
    assert_eq!(ledger.snapshot_documents("other").unwrap(), None);
}

#[test]
fn the_command_line_lists_pins_and_compares() {
    let mut origin = Origin::new();
    origin.write("src/a.rs", "pub fn a() -> u32 {\n    1\n}\n").commit_all("Begin");
    let sandbox = Sandbox::indexed(&origin);
    let list = || sandbox.run(&["snapshots", "list", "--json"]).ok().json();
    let first = list()["current"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.run(&["snapshots", "pin", &first[..8]]).ok().stdout, format!("Pinned {first}\n"));
    origin.write("src/a.rs", "pub fn a() -> u32 {\n    2\n}\n").commit_all("Count on");
    sandbox.run(&["sync"]).ok();
    let second = list()["current"].as_str().unwrap().to_owned();
    let compared = sandbox.run(&["snapshots", "compare", &first, &second]).ok();
    let sha = origin.sha("HEAD").to_string();
    expect![[r"
        From FIRST to SECOND
        1 document added
          + acme/shop@HEAD
        0 documents removed
        1 document changed
          ~ acme/shop:src/a.rs#a
        2 documents unchanged
    "]]
    .assert_eq(&compared.stdout.replace(&first, "FIRST").replace(&second, "SECOND").replace(&sha, "HEAD"));
    let table = sandbox.run(&["snapshots", "list"]).ok().stdout;
    assert!(table.lines().any(|line| line.starts_with(&first) && line.ends_with("pinned")), "{table}");
    assert!(table.lines().any(|line| line.starts_with(&second) && line.ends_with("current")), "{table}");
    let shown = sandbox.run(&["snapshots", "show", &second]).ok().stdout;
    assert!(shown.contains("current") && shown.contains(&sha), "{shown}");
    assert_eq!(sandbox.run(&["snapshots", "unpin", &first]).ok().stdout, format!("Unpinned {first}\n"));
    assert_eq!(sandbox.run(&["snapshots", "prune"]).ok().stdout, "0 snapshots were deleted\n");
    sandbox.write_config("data_dir = \"data\"\n[snapshots]\nkeep = 0\n");
    expect!["backstory.toml:3: keep is 0; it must be 1 to 1000"]
        .assert_eq(sandbox.run(&["snapshots", "list"]).error(3));
}
