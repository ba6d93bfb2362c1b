//! Hits in the order of a reranking model, and without it when it fails.

use serde_json::{Value, json};

use crate::support::{Forge, Model, Sandbox, Says};

const QUERY: &[&str] = &["search", "session cookies or redis cache", "--json"];

fn sandbox(forge: &Forge, model: &Model) -> Sandbox {
    let sandbox = Sandbox::synced(forge);
    sandbox.run(&["embed"]).ok();
    sandbox.configure(&format!("\n[search.rerank]\nmodel = \"judge\"\nbase_url = \"{}/v1\"\n", model.url));
    sandbox
}

fn ids(found: &Value) -> Vec<&str> {
    found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

#[test]
fn the_model_orders_the_best_hits() {
    let (forge, model) = (Forge::start(), Model::start());
    let sandbox = sandbox(&forge, &model);
    model.will([Says::Status(400)]);
    let before = sandbox.run(QUERY).ok().json();
    let (first, last) = (ids(&before)[0].to_owned(), ids(&before).last().unwrap().to_string());
    assert_ne!(first, last);
    let title = before["hits"].as_array().unwrap().last().unwrap()["title"].as_str().unwrap().to_owned();
    model.asked();

    model.prefer(&[&title]);
    let found = sandbox.run(QUERY).ok().json();
    assert_eq!(ids(&found)[0], last, "{found:#}");
    assert_eq!(found["understood"], json!(["the best hits are in the order of judge"]));
    assert_eq!(found["warnings"], json!([]));
    let scores: Vec<f64> = found["hits"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let asked = model.asked().pop().unwrap();
    assert_eq!((asked.path.as_str(), &asked.body["model"]), ("/v1/rerank", &json!("judge")));
    assert_eq!(asked.body["query"], QUERY[1]);
    assert!(!asked.body["documents"].as_array().unwrap().is_empty());
}

#[test]
fn without_its_answer_the_order_is_as_it_was() {
    let (forge, model) = (Forge::start(), Model::start());
    let sandbox = sandbox(&forge, &model);
    for says in [Says::Status(401), Says::Garbage("{}".into()), Says::Garbage(r#"{"results":[]}"#.into())] {
        model.will([says]);
        let found = sandbox.run(QUERY).ok().json();
        let warning = found["warnings"][0].as_str().unwrap();
        assert!(warning.ends_with("; the order of the hits is that without reranking"), "{warning}");
        assert!(!ids(&found).is_empty());
    }
}

#[test]
fn what_is_wrong_with_its_settings_is_said() {
    let forge = Forge::start();
    for (settings, wrong) in [
        ("model = \" \"\nbase_url = \"http://127.0.0.1:1/v1\"", "model is empty"),
        ("model = \"judge\"", "missing key 'base_url'"),
        ("model = \"judge\"\nbase_url = \"ftp://127.0.0.1\"", "base_url"),
    ] {
        let sandbox = Sandbox::new(&forge);
        sandbox.configure(&format!("\n[search.rerank]\n{settings}\n"));
        let failed = sandbox.run(QUERY);
        assert!(failed.code != 0 && failed.stderr.contains(wrong), "{}", failed.stderr);
    }
}
