//! Exports: every format has the rows of the lists, over HTTP and on the command line, and no others.

use std::collections::BTreeSet;

use backstory_engine::{
    export::{ExportCursor, ExportFilter, ExportKind, ExportRequest},
    ledger::{IngestBatch, NewItem},
    model::{entity::ItemKind, visibility::Visibility},
    settings::{self, ForgeKind},
    sources::forge,
};
use reqwest::Client;
use serde_json::Value;

use crate::support::{Fixture, Forge, Indexed, PROJECT, Sandbox, problem, settings_with};

/// The rows of NDJSON.
fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[tokio::test]
async fn every_table_is_served_in_every_format() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let http = Client::builder().no_proxy().build().unwrap();
    let url = |what: &str| format!("{}/api/v1/export/{what}", server.url);
    for kind in ExportKind::ALL {
        let what = kind.as_str();
        let ndjson = http.get(url(what)).send().await.unwrap();
        assert_eq!(ndjson.status(), 200, "{what}");
        assert_eq!(ndjson.headers()["content-type"], "application/x-ndjson");
        let wanted = rows(&ndjson.text().await.unwrap());
        let names: Vec<&str> = kind.columns().iter().map(|column| column.name).collect();
        for row in &wanted {
            let found: BTreeSet<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(found, names.iter().copied().collect(), "{what}");
        }
        let csv = http.get(url(what)).query(&[("format", "csv")]).send().await.unwrap().text().await.unwrap();
        assert!(csv.starts_with(&names.join(",")), "{what}: {csv}");
        let parquet = http.get(url(what)).query(&[("format", "parquet")]).send().await.unwrap();
        let disposition = format!("attachment; filename=\"{what}.parquet\"");
        assert_eq!(parquet.headers()["content-disposition"], disposition.as_str());
        let parquet = parquet.bytes().await.unwrap();
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"), "{what}");
        let arrow = http.get(url(what)).query(&[("format", "arrow")]).send().await.unwrap().bytes().await.unwrap();
        assert!(arrow.len() > 100, "{what}");
    }
    let issues = rows(&http.get(url("issues")).send().await.unwrap().text().await.unwrap());
    let opened = http.get(url("issues")).query(&[("state", "opened"), ("project", "acme/shop")]);
    let opened = rows(&opened.send().await.unwrap().text().await.unwrap());
    assert!(!opened.is_empty() && opened.len() <= issues.len());
    assert!(opened.iter().all(|row| row["state"] == "opened"), "{opened:#?}");
    let edges = http.get(url("edges")).query(&[("edge", "AUTHORED")]);
    let edges = rows(&edges.send().await.unwrap().text().await.unwrap());
    assert!(edges.iter().all(|row| row["edge"] == "AUTHORED" && row["inferred"] == false) && !edges.is_empty());

    for (path, parameter, status, words) in [
        ("people", ("format", "csv"), 404, "there is no table of that name"),
        ("issues", ("format", "xls"), 400, "'xls' is not a format"),
        ("issues", ("colour", "red"), 400, "there is no parameter 'colour'"),
        ("files", ("state", "opened"), 400, "files cannot be filtered by state"),
        ("issues", ("project", "acme/nothing"), 400, "is not known"),
    ] {
        let response = http.get(url(path)).query(&[parameter]).send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        let answer: Value = response.json().await.unwrap();
        let message = problem(&answer);
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn a_command_writes_what_the_server_would() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let issues = rows(&sandbox.run(&["export", "issues"]).ok().stdout);
    let listed = sandbox.run(&["list", "issues", "--limit", "1000", "--json"]).ok().json();
    assert_eq!(issues.len(), listed.as_array().unwrap().len());
    let file = sandbox.path().join("issues.parquet");
    let args = ["export", "issues", "--format", "parquet", "--output", file.to_str().unwrap()];
    sandbox.run(&args).ok();
    assert!(std::fs::read(&file).unwrap().starts_with(b"PAR1"));
    assert!(sandbox.run(&args).error(2).ends_with("issues.parquet exists already; name another file"));
    let nowhere = sandbox.run(&["export", "issues", "--output", "none/issues.ndjson"]).error(2).to_owned();
    assert!(
        nowhere.starts_with("cannot write none/issues.ndjson: no such file or directory; name a file"),
        "{nowhere}"
    );
    let nothing = sandbox.run(&["export", "merge_requests", "--author", "carol"]).ok();
    assert_eq!((nothing.stdout.as_str(), nothing.stderr.as_str()), ("", "note: no merge requests found\n"));
    let csv = sandbox.run(&["export", "merge_requests", "--format", "csv"]).ok();
    assert!(csv.stdout.starts_with("ref,project,number,title,state"), "{csv:#?}");
}

#[test]
fn authors_and_labels_that_nothing_has_are_refused_with_the_nearest() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let refused = |args: &[&str]| sandbox.run(&[&["export"][..], args].concat()).error(2).to_owned();
    assert_eq!(refused(&["issues", "--author", "carlo"]), "nothing is by 'carlo'; the nearest name is 'carol'");
    assert_eq!(
        refused(&["merge_requests", "--label", "databse"]),
        "nothing has the label 'databse'; the nearest name is 'database'"
    );
    let both = refused(&["issues", "--author", "bob", "--author", "carlo", "--label", "securty"]);
    assert!(both.contains("'carlo'; the nearest name is 'carol'; nothing has the label 'securty'"), "{both}");
    // In whatever case, as a search takes them.
    let named = |args: &[&str]| rows(&sandbox.run(&[&["export", "issues"][..], args].concat()).ok().stdout).len();
    assert!(named(&["--author", "bob"]) > 0);
    assert_eq!(named(&["--author", "BOB"]), named(&["--author", "bob"]));
    assert_eq!(named(&["--label", "Security"]), named(&["--label", "security"]));
}

/// All rows of an export, read in batches of so many.
async fn read(indexed: &Indexed, visibility: Visibility, what: ExportKind, limit: usize) -> Vec<String> {
    let engine = indexed.engine.with_visibility(visibility);
    let (mut found, mut after): (_, Option<ExportCursor>) = (Vec::new(), None);
    loop {
        let request = ExportRequest { what, filter: ExportFilter::default(), after, limit };
        let batch = engine.answer(request).await.unwrap();
        found.extend(batch.rows.iter().map(|row| serde_json::to_string(row).unwrap()));
        match batch.next {
            Some(next) => after = Some(next),
            None => return found,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_of_any_size_have_the_same_rows_and_hide_what_is_hidden() {
    let mut repository = Fixture::new();
    for step in 0..12 {
        repository.write(format!("src/part_{step}.rs"), format!("pub fn part_{step}() {{}}\n"));
        repository.commit_all(format!("Add part {step}"));
    }
    let indexed = Indexed::cold(repository.path(), backstory_engine::ledger::Branches::default()).await;
    for what in [ExportKind::Commits, ExportKind::Files, ExportKind::Edges] {
        let all = read(&indexed, Visibility::everything(), what, 1000).await;
        assert!(all.len() >= 12, "{what:?}: {all:#?}");
        for limit in [1, 5] {
            let batches = read(&indexed, Visibility::everything(), what, limit).await;
            assert_eq!(batches, all, "{what:?} in batches of {limit}");
        }
        let hidden = Visibility::of_projects(["acme/other"]);
        assert!(read(&indexed, hidden, what, 1000).await.is_empty(), "{what:?}");
    }
    let wrong = ExportRequest {
        what: ExportKind::Files,
        filter: ExportFilter::default(),
        after: Some(ExportCursor::Item(1)),
        limit: 10,
    };
    assert!(indexed.engine.answer(wrong).await.is_err());
}

#[test]
fn a_title_is_no_formula_of_a_spreadsheet() {
    let forge = Forge::start();
    forge.spoil("/issues?", "/0/title", Some(Value::from("=HYPERLINK(\"http://evil.example\")")));
    let sandbox = Sandbox::synced(&forge);
    let csv = sandbox.run(&["export", "issues", "--format", "csv"]).ok();
    assert!(csv.stdout.contains("\"'=HYPERLINK("), "{csv:#?}");
    let ndjson = sandbox.run(&["export", "issues"]).ok();
    assert!(ndjson.stdout.contains("\"=HYPERLINK("), "{ndjson:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn edges_of_what_the_graph_has_not_applied_yet_are_exported_too() {
    let mut repository = Fixture::new();
    repository.write("src/a.rs", "pub fn a() {}\n");
    repository.commit_all("Begin");
    repository.git(["tag", "v1"]);
    let indexed = Indexed::cold(repository.path(), backstory_engine::ledger::Branches::default()).await;
    let ledger = indexed.ledger();
    let tag = ledger.item(PROJECT, ItemKind::Tag, "v1").unwrap().unwrap();
    let payload = String::from_utf8(tag.payload.unwrap()).unwrap().replace("v1", "v2");
    let item = NewItem {
        project: PROJECT.to_owned(),
        kind: ItemKind::Tag,
        key: "v2".to_owned(),
        thread: None,
        updated_at: None,
        secrets: Default::default(),
        confidential: false,
        payload: payload.into(),
    };
    ledger.ingest(&IngestBatch { items: vec![item], fetched_at: tag.fetched_at, ..IngestBatch::default() }).unwrap();
    let edges = read(&indexed, Visibility::everything(), ExportKind::Edges, 1000).await;
    assert!(edges.iter().any(|edge| edge.contains("v2")), "{edges:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_of_some_projects_leaves_the_graph_of_the_others_whole() {
    let forge = Forge::start();
    forge.new_issue("acme/shop", "bob", "Names a request", "It is !2 that did it.");
    let connection =
        forge::ForgeSettings { requests_per_second: 0, ..forge::ForgeSettings::new(forge.url.parse().unwrap(), None) };
    let projects = vec!["acme/shop".to_owned()];
    let github = settings::Forge { kind: ForgeKind::GitHub, connection, projects, webhook_secret: None };
    let indexed = Indexed::empty(settings_with(vec![github])).await;
    indexed.sync().await;
    // The number is just a number from then on, also where a hidden text has it.
    let request = ("acme/shop".to_owned(), ItemKind::MergeRequest, "!102".to_owned());
    assert_eq!(indexed.ledger().tombstone(&[request], jiff::Timestamp::UNIX_EPOCH).unwrap(), 1);
    let other = Visibility::of_projects(["acme/other"]);
    assert_eq!(read(&indexed, other, ExportKind::Edges, 1000).await, [""; 0]);
    assert_eq!(indexed.digest().await, indexed.rebuild_graph().await);
}
