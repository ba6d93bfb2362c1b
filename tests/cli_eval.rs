//! How good search is, from the command line: questions with known answers, bounds, snapshots.

use std::{fs, path::Path};

use backstory_engine::{Engine, eval::PairRequest};
use expect_test::expect;
use serde_json::{Value, json};

use crate::{
    cli_repositories::shop,
    support::{Forge, Sandbox, settings},
};

const QUESTIONS: &str = include_str!("fixtures/questions.yaml");

/// A sandbox with the questions that has read both the forge and a repository as `acme/shop`, with vectors.
fn read() -> (Forge, Sandbox) {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["add", &shop().path().display().to_string(), "--name", "acme/shop"]).ok();
    sandbox.run(&["embed"]).ok();
    write(&sandbox, "questions.yaml", QUESTIONS);
    (forge, sandbox)
}

/// A sandbox that has read the forge and knows no vectors.
fn without_vectors() -> Sandbox {
    Sandbox::synced(&Forge::start())
}

fn write(sandbox: &Sandbox, name: &str, text: &str) {
    fs::write(sandbox.path().join(name), text).unwrap();
}

/// The answer for programs, without what differs from run to run.
fn answer(sandbox: &Sandbox, args: &[&str]) -> Value {
    let mut answer = sandbox.run(&[&["eval", "--json"], args].concat()).ok().json();
    forget_times(&mut answer);
    answer
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "took_ms" | "latency_ms"));
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(values) => values.iter_mut().for_each(forget_times),
        _ => {}
    }
}

#[test]
fn questions_of_the_tests_meet_their_bounds_and_do_not_drift() {
    let (_forge, sandbox) = read();
    let snapshots = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/eval").canonicalize().unwrap();
    let directory = snapshots.display().to_string();
    let mut args = vec!["eval", "questions.yaml", "--snapshot", &directory];
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        args.push("--update");
    }
    assert!(snapshots.join("questions.json").exists() || args.contains(&"--update"));
    let output = sandbox.run(&args).ok();
    assert!(output.stdout.contains("Nothing changed since ") || args.contains(&"--update"), "{}", output.stdout);
    for told in ["LEG ", "lexical ", "semantic ", "graph ", "fused ", "FUSED BY KIND ", "identifier "] {
        assert!(output.stdout.lines().any(|line| line.starts_with(told)), "{told}: {}", output.stdout);
    }

    // JSON and YAML say the same, and so do this process and a server.
    let yaml = answer(&sandbox, &["questions.yaml"]);
    let questions = yaml["questions"].as_array().unwrap();
    assert_eq!((questions.len(), &yaml["report"]["answerable"], &yaml["unmet"]), (13, &json!(11), &json!([])));
    let told = |id: &str| questions.iter().find(|question| question["id"] == id).unwrap();
    assert_eq!(told("rounding")["legs"]["graph"]["ranks"], json!([1]), "the trace leads to the issue");
    let ranks = |id: &str| told(id)["legs"]["fused"]["ranks"].as_array().unwrap();
    assert!(ranks("memcached-loses").iter().all(Value::is_u64), "an abbreviated name is enough");
    assert!(ranks("storing").iter().all(Value::is_u64), "a part and a directory are found");
    assert_eq!(told("redis")["refused"], json!(false));
    let as_json: Vec<Value> = questions.iter().map(as_file).collect();
    write(&sandbox, "questions.json", &json!({ "project": "acme/shop", "questions": as_json }).to_string());
    assert_eq!(answer(&sandbox, &["questions.json"])["questions"], yaml["questions"]);
    let _server = sandbox.serve();
    assert_eq!(answer(&sandbox, &["questions.yaml"]), yaml);
}

#[tokio::test]
async fn pairs_are_made_from_what_was_said_with_all_that_answers_them() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["add", &shop().path().display().to_string(), "--name", "acme/shop"]).ok();
    let engine = Engine::open(&sandbox.data(), settings()).await.unwrap();
    let made = engine.answer(PairRequest { project: None, count: 20 }).await.unwrap();
    assert_eq!(made, engine.answer(PairRequest { project: Some("acme/shop".to_owned()), count: 20 }).await.unwrap());
    let told: Vec<String> = made.iter().map(|pair| format!("{} {}", pair.question, pair.evidence.join(" "))).collect();
    expect![[r#"
        Why was auth refactored to use JWT tokens? acme/shop!2 acme/shop#1 acme/shop@1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d acme/shop@77aa88bb99cc00dd11ee22ff33aa44bb55cc66dd acme/shop@a26daafce971013ff179695e1d281e446a7790c9
        What was said about test_checkout_total? acme/shop!5 acme/shop#5
        What was decided in !5? acme/shop!5 acme/shop#5
        Which merge request closed #3? acme/shop!1 acme/shop#3 acme/shop@a3f1c25e7d904b68f2c1e5a7d3b90f46c8e2d175
        Where was it said that "MySQL stays the source of truth until the switch, and a job repeats what PostgreSQL missed"? acme/shop!4 acme/shop#2
        Why were the order tables moved from MySQL to PostgreSQL? acme/shop!4 acme/shop#2
        What was said about PostgreSQL? acme/shop!4 acme/shop#2
        What was decided in !1? acme/shop!1 acme/shop#3 acme/shop@a3f1c25e7d904b68f2c1e5a7d3b90f46c8e2d175
        Which merge request closed #1? acme/shop!2 acme/shop#1 acme/shop@1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d acme/shop@77aa88bb99cc00dd11ee22ff33aa44bb55cc66dd acme/shop@a26daafce971013ff179695e1d281e446a7790c9
        Where was it said that "Yes: pages are tagged with their product, and the price job expires the tag"? acme/shop!1 acme/shop#3 acme/shop@a3f1c25e7d904b68f2c1e5a7d3b90f46c8e2d175
        Why were product pages cached in Redis? acme/shop!1 acme/shop#3 acme/shop@a3f1c25e7d904b68f2c1e5a7d3b90f46c8e2d175
        What was decided in #1? acme/shop!2 acme/shop#1 acme/shop@1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d acme/shop@77aa88bb99cc00dd11ee22ff33aa44bb55cc66dd acme/shop@a26daafce971013ff179695e1d281e446a7790c9
        Where was it said that "A fixed window lets twice the limit through at its edges"? acme/shop!3 acme/shop#4
        Why was the checkout test retried? acme/shop!5 acme/shop#5
        What was decided in #4? acme/shop!3 acme/shop#4
        Where was it said that "I think we should move to JWT-based auth because the session cookies are causing issues with our mobile clients"? acme/shop!2 acme/shop#1 acme/shop@1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d acme/shop@77aa88bb99cc00dd11ee22ff33aa44bb55cc66dd acme/shop@a26daafce971013ff179695e1d281e446a7790c9
        Why were requests limited per API key with a token bucket? acme/shop!3 acme/shop#4
        What was decided in #5? acme/shop!5 acme/shop#5
        Where was it said that "The test computes the delivery day from the local clock and the shop from UTC"? acme/shop!5 acme/shop#5
        What was decided in #2? acme/shop!4 acme/shop#2"#]].assert_eq(&told.join("\n"));
    let error = engine.answer(PairRequest { project: None, count: 1001 }).await.unwrap_err();
    assert_eq!(error.to_string(), "1001 pairs were asked for; it must be 1 to 1000");
}

/// A question of an answer, as it stands in a file.
fn as_file(question: &Value) -> Value {
    let mut file = json!({});
    for field in ["id", "question", "kind", "gold"] {
        file[field] = question[field].clone();
    }
    let place = match question["id"].as_str().unwrap() {
        "rounding" => json!({ "path": "src/cart.py", "line_text": "return load(key)" }),
        "storing" => json!({ "path": "src/session.py", "symbol": "store" }),
        _ => json!({}),
    };
    file.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
    file
}

#[test]
fn misses_and_unmet_bounds_are_told() {
    let sandbox = without_vectors();
    write(
        &sandbox,
        "q.yaml",
        r##"
bounds:
  fused: { mrr: 0.9, recall@1: 0.5 }
  lexical: { mrr: 0.1 }
  refusal: { recall: 0.8 }
questions:
  - { id: redis, kind: why, question: Why Redis?, gold: ["#3"] }
  - { id: wrong, kind: who, question: Who keeps the counters in Redis?, gold: ["#99", "docs/"] }
"##,
    );
    let output = sandbox.run(&["eval", "q.yaml", "--leg", "fused", "--leg", "lexical"]);
    assert_eq!(output.code, 1, "{output:?}");
    expect![[r#"
        warning: 25 of 25 documents have no vectors yet; text search covers them
        warning: question wrong: #99 is not in the index
        warning: question wrong: docs/ is not in the index
        error: fused mrr is 0.2500; at least 0.9 is required
        error: fused recall@1 is 0.0000; at least 0.5 is required
        error: refusal recall was not measured; at least 0.8 is required
    "#]]
    .assert_eq(&output.stderr);
    let misses: Vec<&str> = output.stdout.split("\n\n").last().unwrap().lines().collect();
    assert_eq!(misses[..2], ["Not first in fused", "  -  Who keeps the counters in Redis? wrong wants #99, docs/"]);
    assert!(misses[2].starts_with("     first: acme/shop"), "{misses:?}");

    // Bounds are for all questions.
    let output = sandbox.run(&["eval", "q.yaml", "--kind", "why", "--leg", "lexical"]).ok();
    assert!(output.stdout.starts_with("1 question about acme/shop, 0 without an answer"), "{output:?}");
    assert_eq!(output.stderr, "note: the bounds are for all kinds of question and are not checked\n");
}

#[test]
fn a_snapshot_is_written_compared_and_replaced() {
    let sandbox = without_vectors();
    let question = |id: &str, text: &str| json!({ "id": id, "question": text, "gold": ["#3"] });
    write(
        &sandbox,
        "q.json",
        &json!([question("a", "Redis or Memcached: which?"), question("b", "Redis or Memcached?")]).to_string(),
    );
    let eval = |more: &[&str]| sandbox.run(&[&["eval", "q.json", "--snapshot", "kept"], more].concat());
    let output = eval(&[]).ok();
    assert!(output.stderr.ends_with("note: wrote kept/q.json\n"), "{output:?}");
    let path = sandbox.path().join("kept/q.json");
    let kept = fs::read_to_string(&path).unwrap();
    let unchanged = eval(&[]).ok();
    assert!(unchanged.stdout.ends_with("\nNothing changed since kept/q.json.\n"), "{unchanged:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), kept);

    // Another question that finds nothing, where there was one that did.
    write(
        &sandbox,
        "q.json",
        &json!([question("a", "Redis or Memcached: which?"), question("b", "xyznonexistent")]).to_string(),
    );
    let output = eval(&[]);
    assert_eq!(output.code, 1);
    let drift: Vec<&str> =
        output.stdout.lines().skip_while(|line| !line.starts_with("Changed since")).skip(1).collect();
    assert!(drift.contains(&"  fused mrr: 1.0000 → 0.5000 (fell)"), "{drift:?}");
    assert!(drift.contains(&"  b in lexical: rank 1 → -"), "{drift:?}");
    assert!(output.stderr.ends_with("error: a measure fell; pass --update if that is right\n"), "{output:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), kept);
    assert_eq!(eval(&["--tolerance", "0.5"]).code, 0, "half of it is tolerated");
    let drift = &eval(&["--json", "--update"]).ok().json()["drift"];
    assert!(
        drift["moved"].as_array().unwrap().contains(&json!({ "question": "b", "leg": "fused", "old": 1, "new": null }))
    );
    assert!(eval(&[]).ok().stdout.ends_with("\nNothing changed since kept/q.json.\n"));

    write(&sandbox, "kept/q.json", "[]");
    let said = eval(&[]).stderr;
    let said = said.lines().last().unwrap();
    assert!(said.starts_with("error: kept/q.json: it is not a snapshot: "), "{said}");
    assert!(said.ends_with("; remove it to have a new one written"), "{said}");
}

#[test]
fn what_is_wrong_with_the_questions_is_said() {
    let sandbox = without_vectors();
    let error = |text: &str, args: &[&str], code: i32| {
        write(&sandbox, "q.yaml", text);
        sandbox.run(&[&["eval", "q.yaml"], args].concat()).error(code).to_owned()
    };
    let fine = "- { id: a, kind: why, question: Why Redis?, gold: [pr:1] }";
    assert_eq!(
        error("- { id: a, question: Why?, gold: [docs/*.md] }", &[], 2),
        "q.yaml: question a: 'docs/*.md' names no source; write #12, !7, issue:12, pr:7, @1a2b3c4, group/project#12, \
         the address of one of those, src/auth.rs, src/auth.rs#login, src/auth/ or docs/**"
    );
    let said = error("- { id: a, question: Why?, gold: [#1] }", &[], 2);
    assert!(
        said.starts_with("q.yaml: it is not valid YAML: ") && said.contains("wants quotes around \"#12\""),
        "{said}"
    );
    assert_eq!(
        error("question: Why?", &[], 2),
        "q.yaml: it has no 'questions'; give it a list of them, or be that list"
    );
    assert_eq!(error(fine, &["--kind", "who"], 2), "q.yaml has no question of kind 'who'; it has why");
    assert!(error(fine, &["--project", "acme/other"], 2).contains("acme/other"));
    assert!(error(&format!("project: acme/other\nquestions: [{}]", &fine[2..]), &[], 2).contains("acme/other"));
    let long = "x".repeat(2001);
    let said = error(&format!("- {{ question: {long}, gold: [] }}"), &[], 2);
    assert_eq!(said, "q.yaml: question 1: 'question' has 2001 characters; at most 2000 are allowed");
    let said = sandbox.run(&["eval", "none.yaml"]);
    assert_eq!(said.error(2), "none.yaml: it cannot be read: no such file or directory");
    fs::write(sandbox.path().join("q.yaml"), [0xff, 0xfe]).unwrap();
    assert_eq!(sandbox.run(&["eval", "q.yaml"]).error(2), "q.yaml: it is not UTF-8 text");
    let said = sandbox.run(&["eval", "q.yaml", "--snapshot", "x", "--kind", "why"]);
    assert_eq!(said.code, 2, "a snapshot is of all questions: {said:?}");
}
