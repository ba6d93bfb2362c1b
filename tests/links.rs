//! Inferred links: found, told as such, and gone when somebody states one or the issue is closed or deleted.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{Forge, Sandbox};

const TITLE: &str = "Basket total is wrong after ninety items";
const DESCRIPTION: &str = "The basket adds up prices in eight bits, so BASKET_TOTAL wraps around after ninety items.";

/// An issue on which bob, who is going to solve it, commented.
fn issue(forge: &Forge) -> String {
    let issue = forge.new_issue("acme/shop", "alice", TITLE, DESCRIPTION);
    forge.advance(3600);
    forge.discuss(&issue, "bob", "I can have a look at the sum of the prices.");
    forge.advance(2 * 86_400);
    issue
}

/// A merge request of bob's that says what it does, but not which issue it is about.
fn request(forge: &Forge) -> String {
    let text = "Adds up the prices of all basket items in 64 bits, as BASKET_TOTAL wrapped around after ninety items.";
    let request = forge.new_merge_request("acme/shop", "bob", "Compute the basket total with wide integers", text);
    forge.advance(3600);
    request
}

fn sync(sandbox: &Sandbox) {
    sandbox.run(&["sync"]).ok();
}

/// The inferred links of an issue or merge request.
fn inferred(sandbox: &Sandbox, reference: &str) -> Vec<Value> {
    let shown = sandbox.run(&["show", reference, "--json"]).ok().json();
    let edges = ["out", "in"].into_iter().flat_map(|side| shown["edges"][side].as_array().unwrap().clone());
    edges.filter(|edge| edge["inferred"] == true).collect()
}

fn digest(sandbox: &Sandbox) -> String {
    sandbox.run(&["check", "--digest"]).ok().stdout.trim().to_owned()
}

/// The name of the other end, without what the stand-in counts again in every test.
fn other(links: &[Value]) -> Vec<&str> {
    links.iter().map(|link| link["id"].as_str().unwrap()).collect()
}

#[test]
fn merge_request_without_a_link_gets_the_most_likely_issue_with_what_speaks_for_it() {
    let forge = Forge::start();
    let (issue, request) = (issue(&forge), request(&forge));
    let sandbox = Sandbox::synced(&forge);
    let links = inferred(&sandbox, &request);
    expect![[r#"
        [
          {
            "name": "RELATES_TO",
            "id": "acme/shop#7",
            "inferred": true,
            "confidence": 0.99,
            "evidence": [
              "shares the words basket, items, ninety, total (0.60)",
              "begun 2 days after the last word on the issue",
              "its author had commented on the issue"
            ]
          }
        ]"#]]
    .assert_eq(&serde_json::to_string_pretty(&links).unwrap());
    assert_eq!(other(&inferred(&sandbox, &issue)), [request.as_str()], "the issue tells it too");

    let shown = sandbox.run(&["show", &request]).ok().stdout;
    let line = shown.lines().find(|line| line.contains("Inferred")).unwrap_or_default().to_owned();
    expect!["Inferred:      acme/shop#7 (0.99: shares the words basket, items, ninety, total (0.60); begun 2 days after the last word on the issue; its author had commented on the issue)"].assert_eq(&line);
    let why = sandbox.run(&["why", &request]).ok().stdout;
    assert!(why.contains(TITLE) && why.contains("(inferred, 0."), "{why}");
    let chain = sandbox.run(&["why", &issue, "--json"]).ok().json()["chain"].clone();
    let step = chain.as_array().unwrap().iter().find(|step| step["node"]["id"] == json!(request)).unwrap().clone();
    assert_eq!((&step["edge"], &step["confidence"]), (&json!("RELATES_TO"), &links[0]["confidence"]));
    assert_eq!(step["evidence"]["reasons"], links[0]["evidence"]);
    // A search does not take one for a part of the other.
    let found = sandbox.run(&["search", "basket total ninety items", "--json"]).ok().json();
    let ids: Vec<&str> = found["hits"].as_array().unwrap().iter().filter_map(|hit| hit["id"].as_str()).collect();
    assert!(ids.contains(&issue.as_str()) && ids.contains(&request.as_str()), "{ids:?}");
}

#[test]
fn stated_link_of_any_kind_takes_the_place_of_what_is_inferred() {
    let forge = Forge::start();
    let (issue, request) = (issue(&forge), request(&forge));
    let sandbox = Sandbox::synced(&forge);
    assert_eq!(other(&inferred(&sandbox, &request)), [issue.as_str()]);
    let short = issue.split_once('#').unwrap().1;
    forge.edit_description(&request, &format!("Wide sums for the basket total. See #{short}."));
    sync(&sandbox);
    assert!(inferred(&sandbox, &request).is_empty() && inferred(&sandbox, &issue).is_empty());
    forge.advance(3600);
    forge.edit_description(&request, "Wide sums of all prices for the BASKET_TOTAL after ninety items.");
    sync(&sandbox);
    assert_eq!(other(&inferred(&sandbox, &request)), [issue.as_str()], "the link is no longer stated");
}

#[test]
fn issue_that_was_closed_before_is_not_what_a_merge_request_is_about() {
    let forge = Forge::start();
    let issue = issue(&forge);
    forge.close(&issue, "alice");
    forge.advance(3600);
    let request = request(&forge);
    let sandbox = Sandbox::synced(&forge);
    assert!(inferred(&sandbox, &request).is_empty());
}

#[test]
fn deleted_issue_takes_its_inferred_link_along() {
    let forge = Forge::start();
    let (issue, request) = (issue(&forge), request(&forge));
    let sandbox = Sandbox::synced(&forge);
    assert_eq!(other(&inferred(&sandbox, &request)), [issue.as_str()]);
    forge.delete(&issue);
    sandbox.run(&["sync", "--full"]).ok();
    assert!(inferred(&sandbox, &request).is_empty());
    assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true);
}

#[test]
fn incremental_syncs_a_rebuild_and_a_first_sync_infer_the_same_and_no_digest_shows_it() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let issue = issue(&forge);
    sync(&sandbox);
    let request = request(&forge);
    sync(&sandbox);
    let links = inferred(&sandbox, &request);
    assert_eq!(other(&links), [issue.as_str()]);
    let stated = digest(&sandbox);

    let cold = Sandbox::synced(&forge);
    assert_eq!((inferred(&cold, &request), digest(&cold)), (links.clone(), stated.clone()), "a first sync");
    sandbox.run(&["rebuild"]).ok();
    assert_eq!((inferred(&sandbox, &request), digest(&sandbox)), (links, stated.clone()), "a rebuild");

    let none = Sandbox::new(&forge);
    none.configure("[links]\nconfidence = 1.0\n");
    sync(&none);
    assert_eq!((inferred(&none, &request), digest(&none)), (vec![], stated), "none are told");
}

#[test]
fn vectors_that_come_later_count() {
    let forge = Forge::start();
    let (issue, request) = (issue(&forge), request(&forge));
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    let links = inferred(&sandbox, &request);
    assert_eq!(other(&links), [issue.as_str()]);
    let evidence = links[0]["evidence"].as_array().unwrap();
    assert!(evidence.iter().any(|part| part.as_str().unwrap().starts_with("their texts mean")), "{evidence:?}");
    sandbox.run(&["rebuild", "index"]).ok();
    assert_eq!(inferred(&sandbox, &request), links, "the index rebuilt reuses its vectors");
}

#[test]
fn hidden_links_are_recovered_and_counted() {
    let sandbox = Sandbox::synced(&Forge::start());
    let report = sandbox.run(&["eval", "--links", "--project", "acme/shop", "--json"]).ok().json();
    assert!(report["changes"].as_u64().unwrap() > 0, "{report}");
    let told: Vec<u64> =
        report["curve"].as_array().unwrap().iter().map(|point| point["told"].as_u64().unwrap()).collect();
    assert!(told.is_sorted(), "a lower confidence tells no fewer: {told:?}");
    expect![[r#"
        The latest 1 merged requests with their stated links hidden: 1 are linked with an issue, 1 close one

        shown: 0 links, 0 right (precision 1.00), 0 of 1 closed issues (recall 0.00)

        CONFIDENCE  SHOWN  RIGHT  PRECISION  RECALL  OF ALL LINKED
              0.82     0      0       1.00    0.00           0.00
              0.95     0      0       1.00    0.00           0.00
              0.90     0      0       1.00    0.00           0.00
              0.85     0      0       1.00    0.00           0.00
              0.80     0      0       1.00    0.00           0.00
              0.75     0      0       1.00    0.00           0.00
              0.70     0      0       1.00    0.00           0.00
              0.65     0      0       1.00    0.00           0.00
              0.60     0      0       1.00    0.00           0.00
              0.55     0      0       1.00    0.00           0.00
              0.50     0      0       1.00    0.00           0.00
              0.45     0      0       1.00    0.00           0.00
              0.40     0      0       1.00    0.00           0.00
              0.35     1      1       1.00    1.00           1.00
              0.30     1      1       1.00    1.00           1.00
              0.25     1      1       1.00    1.00           1.00
              0.20     1      1       1.00    1.00           1.00
              0.15     1      1       1.00    1.00           1.00
              0.10     1      1       1.00    1.00           1.00
              0.05     1      1       1.00    1.00           1.00
    "#]]
    .assert_eq(&sandbox.run(&["eval", "--links", "--project", "acme/shop"]).ok().stdout);
}
