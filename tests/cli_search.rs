//! Search on the command line: results, filters, and what is said when there is less than hoped for.

use axum::{Json, Router, routing::post};
use expect_test::expect;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    cli_repositories::shop,
    support::{Fixture, Forge, Origin, Sandbox, StandIn},
};

fn search(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.run(&[&["search", "--json"], args].concat()).ok().json()
}

fn hits<'a>(found: &'a Value, field: &str) -> Vec<&'a str> {
    found["hits"].as_array().unwrap().iter().map(|hit| hit[field].as_str().unwrap()).collect()
}

/// Documents, and those of them with vectors.
fn covered(found: &Value) -> (u64, u64) {
    let count = |name: &str| found["coverage"][name].as_u64().unwrap();
    (count("documents"), count("embedded"))
}

/// How long it took and how far the scores go is not for a snapshot.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines() {
        let line = match (line.split_once(" search, "), line.rsplit_once(" (")) {
            (Some((before, after)), _) => format!("{before} search, TIME{}", after.split_once('s').unwrap().1),
            (_, Some((before, score))) if line.starts_with('[') && score.ends_with(')') => format!("{before} (SCORE)"),
            _ => line.to_owned(),
        };
        shown.push_str(&line);
        shown.push('\n');
    }
    shown
}

#[test]
fn results_have_title_score_author_day_snippet_and_url() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let found = sandbox.run(&["search", "session cookies", "--mode", "lexical", "--limit", "3"]).ok();
    expect![[r#"
        Found 1 result (lexical search, TIME)

        [1] Issue #1 - Authentication redesign (SCORE)
            @janedoe · 2024-02-28 · acme/shop
            "…to redesign the authentication flow because session cookies do not work in our mobile clients: the web view drops them. Options: - signed JWT access tokens - server-side sessions in a shared store, see #3 @alice please have a look from the…"
            [FORGE]/acme/shop/-/issues/1
            with MR !2 (closes)
    "#]].assert_eq(&without_numbers(&found.stdout));
    assert_eq!(found.stderr, "");
}

// Row 75 of docs/requirements.md.
#[test]
fn json_has_the_fields_that_are_promised_and_no_others() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    let found = search(&sandbox, &["token bucket", "--type=issue", "--type=mr", "--type=discussion"]);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let of_answer: Vec<String> = keys(&found).into_iter().filter(|key| key != "next").collect();
    assert_eq!(of_answer, ["query", "mode", "ranking", "coverage", "took_ms", "understood", "warnings", "hits"]);
    assert_eq!(
        (&found["query"], &found["mode"], &found["warnings"]),
        (&json!("token bucket"), &json!("hybrid"), &json!([]))
    );
    assert_eq!(covered(&found), (25, 25));
    let fields = [
        "id",
        "kind",
        "title",
        "url",
        "author",
        "project",
        "state",
        "labels",
        "created_at",
        "updated_at",
        "snippet",
        "score",
        "parts",
        "why",
        "members",
        "chunk",
        "parent",
    ];
    for hit in found["hits"].as_array().unwrap() {
        let is_discussion = hit["kind"] == "discussion";
        assert_eq!(keys(hit), if is_discussion { &fields[..] } else { &fields[..16] });
        assert!(hit["url"].as_str().unwrap().starts_with(&format!("{}/acme/shop/-/", forge.url)));
        assert!(hit["parts"].as_object().unwrap().values().all(|part| (0.0..=1.0).contains(&part.as_f64().unwrap())));
        if is_discussion {
            assert!(hit["id"].as_str().unwrap().starts_with(&format!("{}~", hit["parent"].as_str().unwrap())));
        }
    }
    let best = &found["hits"][0];
    assert!(best["parts"]["semantic"].is_number() && best["parts"]["lexical"].is_number(), "{best}");
}

// Rows 26 and 38 of docs/requirements.md.
#[test]
fn a_hit_says_where_its_best_piece_stands_and_which_model_embedded_it() {
    let mut origin = Fixture::new();
    let filler: String = (0..60).map(|number| format!("Line {number} of the guide says nothing of it.\n")).collect();
    origin.write("docs/guide.md", format!("# Guide\n\n{filler}\nPelicans are counted at sunset.\n"));
    let head = origin.commit_all("Count pelicans").to_string();
    let sandbox = Sandbox::indexed(&origin);
    let find = |text: &str, kind: &str| {
        let found = search(&sandbox, &[text, "--type", kind, "--mode", "lexical"]);
        found["hits"][0]["chunk"].clone()
    };
    let section = find("pelicans sunset", "section");
    assert_eq!((&section["commit"], &section["lines"][1]), (&json!(head), &json!(64)), "{section}");
    assert!(section["lines"][0].as_u64().unwrap() > 40, "{section}");
    assert_eq!(section["embedding_model"], Value::Null);
    assert!(section["tokens"].as_u64().unwrap() > 3 && section["chunk_id"].is_string(), "{section}");
    let commit = find("pelicans", "commit");
    assert_eq!((&commit["commit"], &commit["document_type"]), (&json!(head), &json!("commit")), "{commit}");
    sandbox.run(&["embed"]).ok();
    assert_eq!(find("pelicans sunset", "section")["embedding_model"], "snowflake-arctic-embed-s-int8");
}

#[test]
fn filters_are_met_by_every_result() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let found =
        |more: &[&str]| search(&sandbox, &[&["redis cache limit authentication", "--limit", "50"], more].concat());
    assert!(hits(&found(&[]), "id").len() > 2);
    assert!(hits(&found(&["--type", "mr"]), "kind").iter().all(|kind| *kind == "merge_request"));
    let kinds = found(&["--type", "issue", "--type=discussion"]);
    assert!(hits(&kinds, "kind").iter().all(|kind| *kind != "merge_request") && !hits(&kinds, "id").is_empty());
    let alice = found(&["--author", "@alice"]);
    assert!(hits(&alice, "author").iter().all(|author| *author == "alice") && hits(&alice, "id").len() > 1);
    assert_eq!(hits(&found(&["--author", "ALICE"]), "id"), hits(&alice, "id"), "in any case");
    let label = |label: &str| found(&["--label", label]);
    assert_eq!(hits(&label("Performance"), "id"), hits(&label("performance"), "id"));
    assert!(!hits(&label("Performance"), "id").is_empty());
    let nearest = sandbox.run(&["search", "redis", "--label", "performence", "--author", "alise"]).ok().stderr;
    assert!(nearest.contains("nothing has the label 'performence'; the nearest name is 'performance'"), "{nearest}");
    assert!(nearest.contains("nothing is by 'alise'; the nearest name is 'alice'"), "{nearest}");
    // A part of a name stands for whom nobody else is called by.
    let part = found(&["--author", "Ng"]);
    assert_eq!(hits(&part, "id"), hits(&alice, "id"));
    assert_eq!(part["warnings"][0], "'Ng' is taken for Alice Ng");
    let several = found(&["--author", "Doe"])["warnings"][0].take();
    assert_eq!(several, "nothing is by 'Doe' alone; did you mean Jane Doe, John Doe?");
    let after = found(&["--after", "2024-03-01"]);
    assert!(hits(&after, "created_at").iter().all(|at| *at >= "2024-03-01") && !hits(&after, "id").is_empty());
    let before = found(&["--before", "2024"]);
    assert!(hits(&before, "created_at").iter().all(|at| *at < "2024") && !hits(&before, "id").is_empty());
    let both = found(&["--label", "performance", "--label", "security"]);
    let of = |id: &&str| id.starts_with("acme/shop#4") || id.starts_with("acme/shop!3");
    assert!(hits(&both, "id").iter().all(of) && !hits(&both, "id").is_empty(), "a result has all labels");
    assert!(hits(&found(&["--state", "merged"]), "id").iter().all(|id| id.starts_with("acme/shop!")));
    assert_eq!(hits(&found(&["--project", "acme/shop"]), "id").len(), hits(&found(&[]), "id").len());
}

#[test]
fn the_nearest_path_is_named_of_one_that_no_file_has() {
    let sandbox = Sandbox::indexed(&shop());
    let warned = |prefix: &str| search(&sandbox, &["cart", "--path", prefix])["warnings"][0].take();
    assert_eq!(warned("nope/"), "no file begins with 'nope/'");
    assert_eq!(warned("srcs/"), "no file begins with 'srcs/'; the nearest path is 'src/'");
    assert_eq!(warned("cart.py"), "no file begins with 'cart.py'; the nearest path is 'src/cart.py'");
    let below = search(&sandbox, &["nothing of it", "--path", "src/", "--mode", "lexical"]);
    assert!(!below["warnings"].to_string().contains("no file begins"), "{below}");
    expect!["nothing is known about acme/shop:lib/cart.py; the nearest path is 'src/cart.py'"]
        .assert_eq(sandbox.run(&["search", "cart", "--near", "lib/cart.py"]).error(1));
    expect!["nothing is known about acme/shop:zzz.rs"]
        .assert_eq(sandbox.run(&["search", "cart", "--near", "acme/shop:zzz.rs"]).error(1));
    // A repository without files has no path that is near.
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let found = search(&sandbox, &["redis", "--path", "nope/"]);
    assert_eq!(found["warnings"][0], "no file begins with 'nope/'");
}

#[test]
fn a_part_of_a_name_joins_nobody_by_an_address_that_many_have_nor_by_how_often_one_is_written() {
    let mut shop = Fixture::new();
    let mut commit = |name: &str, email: &str| {
        shop.author(name, email);
        shop.write("src/cart.rs", format!("// By {name}.\n"));
        shop.commit_all("Change the cart");
    };
    for name in ["Alice Chen", "Bob Chen"] {
        commit(name, "root@acme.example");
    }
    for initial in ["A", "B", "C", "D", "E", "F", "G"] {
        commit(&format!("Ann {initial}. Smith"), "ann@acme.example");
    }
    let sandbox = Sandbox::indexed(&shop);
    let warning = |author: &str| search(&sandbox, &["cart", "--author", author])["warnings"][0].take();
    assert_eq!(warning("Chen"), "nothing is by 'Chen' alone; did you mean Alice Chen, Bob Chen?");
    assert_eq!(warning("Smith"), "'Smith' is taken for Ann A. Smith");
    let mut other = shop;
    other.author("Zoe Smith", "zoe@acme.example");
    other.commit_all("Sell lamps in the cart");
    let sandbox = Sandbox::indexed(&other);
    let several = search(&sandbox, &["cart", "--author", "Smith"])["warnings"][0].take();
    assert_eq!(several, "nothing is by 'Smith' alone; did you mean Ann A. Smith, Zoe Smith?");
    // Who wrote it is known by address there; what was typed is a name.
    let nearest = search(&sandbox, &["cart", "--author", "Zoe Smiht"])["warnings"][0].take();
    assert_eq!(nearest, "nothing is by 'Zoe Smiht'; the nearest name is 'Zoe Smith'");
    let unknown = search(&sandbox, &["cart", "--author", "Wolfgang Quux"])["warnings"][0].take();
    assert_eq!(unknown, "nothing is by 'Wolfgang Quux'", "no name is near");
    other.author("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com");
    other.write("src/cart.rs", "// By a program.\n");
    other.commit_all("Bump the cart");
    let sandbox = Sandbox::indexed(&other);
    let program = search(&sandbox, &["cart", "--author", "dependabot"])["warnings"][0].take();
    assert_eq!(program, "'dependabot' is taken for dependabot[bot]");
}

#[test]
fn part_of_a_name_is_a_word_of_it_or_an_address_without_its_host() {
    let mut shop = Fixture::new();
    for (name, email) in [
        ("Carl A Dunham", "carl@acme.example"),
        ("Ada Lovelace", "ann@acme.example"),
        ("Una Cor", "38422348+umarcor@users.noreply.github.com"),
        ("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com"),
        ("renovate[bot]", "29139614+renovate[bot]@users.noreply.github.com"),
    ] {
        shop.author(name, email);
        shop.write("src/cart.rs", format!("// By {name}.\n"));
        shop.commit_all("Change the cart");
    }
    let sandbox = Sandbox::indexed(&shop);
    let warning = |author: &str| search(&sandbox, &["cart", "--author", author])["warnings"][0].take();
    // An initial is nobody's name.
    assert_eq!(warning("a"), "nothing is by 'a'");
    assert_eq!(warning("ann"), "'ann' is taken for ann@acme.example");
    assert_eq!(warning("umarcor"), "'umarcor' is taken for 38422348+umarcor@users.noreply.github.com");
    assert_eq!(warning("bot"), "nothing is by 'bot' alone; did you mean dependabot[bot], renovate[bot]?");
    assert_eq!(warning("dependabot"), "'dependabot' is taken for dependabot[bot]");
    // What a search is near to is found by the same names.
    let near = |name: &str| hits(&search(&sandbox, &["cart", "--near", name, "--mode", "lexical"]), "id").len();
    assert!(near("@umarcor") > 0 && near("@dependabot") > 0);
    let unclear = sandbox.run(&["search", "cart", "--near", "@bot"]).error(1).to_owned();
    assert!(unclear.starts_with("more than one person is known as bot; did you mean 2"), "{unclear}");
    let unknown = sandbox.run(&["search", "cart", "--near", "@adalovelace"]).error(1).to_owned();
    assert_eq!(unknown, "nobody is known as adalovelace; did you mean Ada Lovelace?");
}

#[test]
fn conditions_that_nothing_meets_are_told() {
    let sandbox = Sandbox::indexed(&shop());
    let told = |args: &[&str]| {
        let found = search(&sandbox, &[&["cart", "--mode", "lexical"], args].concat());
        assert!(hits(&found, "id").is_empty(), "{found:#}");
        found["warnings"][0].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(told(&["--language", "ruby"]), "no file is in Ruby; there are files in Python");
    assert!(
        told(&["--type", "issue", "--type", "mr"]).starts_with("there are no issues or merge requests; there are ")
    );
    assert_eq!(told(&["--state", "merged"]), "nothing has the state merged; no issue or merge request is indexed");
    assert_eq!(told(&["--tag", "nope"]), "nothing that is searched has an annotation with the tag 'nope'");
    assert_eq!(told(&["--after", "2999"]), "nothing meets all conditions of this search together");
    let met = search(&sandbox, &["cart", "--type", "code", "--language", "py"]);
    assert!(!met["warnings"].to_string().contains("there are"), "{met:#}");
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let locked = search(&sandbox, &["redis", "--state", "locked"])["warnings"][0].take();
    assert!(locked.as_str().unwrap().starts_with("nothing has the state locked; there are "), "{locked}");
}

#[test]
fn a_line_beyond_the_end_of_a_file_is_refused() {
    let mut shop = Fixture::new();
    shop.write("src/cart.py", "def total():\n    return 7\n");
    shop.commit_all("Add up");
    let sandbox = Sandbox::indexed(&shop);
    let near = |place: &str| sandbox.run(&["search", "total", "--near", place, "--mode", "lexical"]);
    near("acme/shop:src/cart.py:2").ok();
    expect!["src/cart.py has 2 lines; there is no line 99999"].assert_eq(near("acme/shop:src/cart.py:99999").error(2));
}

#[test]
fn a_license_at_the_beginning_of_a_file_is_not_what_is_shown_of_it() {
    let mut shop = Fixture::new();
    let license =
        "# Copyright 2024 Acme\n#\n# Licensed under the Apache License: you may use this cart as you like.\n\n";
    shop.write("src/cart.py", format!("{license}# Prices of the cart.\nTAX = 7\nLAMP = 12\n"));
    shop.commit_all("Sell lamps");
    let sandbox = Sandbox::indexed(&shop);
    let shown = |query: &str| {
        let found = search(&sandbox, &[query, "--type", "file", "--mode", "lexical"]);
        hits(&found, "snippet")[0].to_owned()
    };
    let snippet = shown("cart");
    assert!(snippet.contains("Prices of the cart") && !snippet.contains("Copyright"), "{snippet}");
    assert!(shown("license of the cart").contains("Licensed under"));
}

#[test]
fn trailers_are_no_part_of_what_is_shown_of_a_commit() {
    let mut shop = Fixture::new();
    shop.write("src/cart.py", "TAX = 7\n");
    let trailers = "Reviewed-by: Bo <bo@example.com>\nCo-authored-by: Al <al@example.com>\n";
    shop.commit_all(format!("Round the tax of lamps\n\nHalf a cent was lost with each lamp.\n\n{trailers}"));
    shop.write("src/cart.py", "TAX = 19\n");
    shop.commit_all(format!("Raise the duty\n\n{trailers}"));
    let sandbox = Sandbox::indexed(&shop);
    let shown = |query: &str| {
        let found = search(&sandbox, &[query, "--type", "commit", "--mode", "lexical"]);
        hits(&found, "snippet")[0].to_owned()
    };
    let snippet = shown("tax of lamps");
    assert!(snippet.ends_with("lost with each lamp."), "{snippet}");
    assert_eq!(shown("duty"), "Raise the duty");
    let pack = sandbox.run(&["context", "why is the tax of lamps rounded?", "--format", "json"]).ok().json();
    let items = pack["key_items"].as_array().unwrap();
    let item = items.iter().find(|item| item["title"] == "Round the tax of lamps").unwrap();
    assert_eq!(item["excerpt"], "Half a cent was lost with each lamp.");
}

#[test]
fn scores_are_0_to_1() {
    let mut shop = Fixture::new();
    shop.write("src/pay.py", "def retry_payment(order):\n    return order\n");
    shop.commit_all("Pay again");
    let sandbox = Sandbox::indexed(&shop);
    let found = search(&sandbox, &["retry_payment"]);
    let scores: Vec<f64> = found["hits"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)) && scores[0] > 0.99, "{scores:?}");
}

#[test]
fn text_is_found_before_it_has_vectors_and_the_result_says_so() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let found = sandbox.run(&["search", "redis"]).ok();
    assert!(found.stdout.starts_with("Found "), "{found:?}");
    assert_eq!(found.stderr, "warning: 25 of 25 documents have no vectors yet; text search covers them\n");
    assert_eq!(covered(&search(&sandbox, &["redis"])), (25, 0));
}

#[test]
fn falls_back_to_text_when_the_provider_does_not_answer() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    // Vectors of another model do not count; the fallback concerns the query's own.
    sandbox.configure("[embedding]\nprovider = \"ollama\"\nbase_url = \"http://127.0.0.1:9\"\n");
    let found = sandbox.run(&["search", "redis"]).ok();
    assert!(found.stdout.starts_with("Found "), "{found:?}");
    sandbox.run(&["search", "redis", "--mode", "lexical"]).ok();
}

/// A provider of a model that nobody knows.
fn start_provider() -> StandIn {
    let embed = |Json(body): Json<Value>| async move {
        let texts = body["input"].as_array().cloned().unwrap_or_default();
        let vector = |text: &Value| vec![text.as_str().map_or(1.0, |text| 1.0 + f32::from(text.len() as u16)); 48];
        let vectors: Vec<Vec<f32>> = texts.iter().map(vector).collect();
        Json(json!({ "embeddings": vectors }))
    };
    StandIn::start(|_| Router::new().route("/api/embed", post(embed)))
}

/// No command opened the stores while it was down.
#[test]
fn a_provider_that_is_down_and_has_a_model_that_is_not_known_keeps_no_command_from_the_stores() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    let configure = |model: &str, url: &str| {
        let lines = format!("provider = \"ollama\"\nmodel = \"{model}\"\nbase_url = \"{url}\"\n");
        sandbox.configure(&format!("[embedding]\n{lines}"));
    };
    // It has never said how long its vectors are.
    let down = "http://127.0.0.1:9";
    configure("words", down);
    let synced = sandbox.run(&["sync"]).ok();
    assert!(synced.stderr.contains("the embedding model is not known: Ollama at http://127.0.0.1:9"), "{synced:?}");
    assert!(sandbox.run(&["search", "redis"]).ok().stdout.starts_with("Found "));
    let doctor = sandbox.run(&["doctor"]).ok();
    assert!(doctor.stdout.contains("! embedding") && doctor.stdout.contains("! stores"), "{doctor:?}");
    sandbox.run(&["forget", "acme/shop#5"]).ok();
    // It has.
    let provider = start_provider();
    configure("words", &provider.url);
    sandbox.run(&["embed"]).ok();
    let (documents, embedded) = covered(&search(&sandbox, &["redis"]));
    assert_eq!(documents, embedded);
    drop(provider);
    configure("words", down);
    let found = sandbox.run(&["search", "redis"]).ok();
    assert!(!found.stderr.contains("not known"), "{found:?}");
    assert_eq!(covered(&search(&sandbox, &["redis"])), (documents, embedded));
    // Another one leaves it the vectors that it has.
    configure("other", down);
    let found = sandbox.run(&["search", "redis"]).ok();
    assert!(found.stderr.contains("the embedding model is not known"), "{found:?}");
    configure("words", down);
    assert_eq!(covered(&search(&sandbox, &["redis"])), (documents, embedded));
}

#[test]
fn words_are_stemmed_and_identifiers_found_in_parts() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    for (query, expected) in [
        ("migrating databases", "acme/shop!4"),
        ("test_checkout_total", "acme/shop#5"),
        ("checkout_total", "acme/shop#5"),
    ] {
        let found = search(&sandbox, &[query, "--mode", "lexical"]);
        assert!(hits(&found, "id").contains(&expected), "{query}: {found:#}");
    }
}

#[test]
fn semantic_search_finds_what_is_said_in_other_words() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    let found = search(&sandbox, &["login overhaul for phones and tablets", "--mode", "semantic"]);
    assert!(hits(&found, "id")[..3].iter().any(|id| id.starts_with("acme/shop#1")), "{found:#}");
    assert_eq!(found["mode"], "semantic");
}

#[test]
fn what_belongs_together_is_one_result() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let found = search(&sandbox, &["delivery day of the checkout test", "--mode", "lexical"]);
    let best = &found["hits"][0];
    assert_eq!((&best["id"], &best["members"][0]["id"]), (&json!("acme/shop#5"), &json!("acme/shop!5")), "{found:#}");
    assert!(!hits(&found, "id").contains(&"acme/shop!5"), "{found:#}");
    let explained = sandbox.run(&["search", "delivery day", "--mode", "lexical", "--limit=1", "--explain"]).ok().stdout;
    assert!(explained.contains("lexical 0.") && explained.contains(": delivery, day"), "{explained}");
}

#[test]
fn what_the_query_names_comes_first_and_its_words_for_time_are_conditions() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let found = search(&sandbox, &["what about !3 and redis", "--mode", "lexical"]);
    assert_eq!(hits(&found, "id")[0], "acme/shop!3", "{found:#}");
    assert_eq!(found["understood"], json!(["acme/shop!3 is named in the query"]));
    let found = search(&sandbox, &["redis cache since 2024-03", "--mode", "lexical"]);
    assert!(hits(&found, "created_at").iter().all(|at| *at >= "2024-03") && !hits(&found, "id").is_empty());
}

// Row 102 of docs/requirements.md.
#[test]
fn the_name_of_a_function_finds_its_definition_before_its_callers() {
    let mut shop = Fixture::new();
    shop.write("src/pay.py", "def retry_payment(order):\n    return order\n");
    shop.commit_all("Pay again");
    for name in ["cart", "basket", "order", "refund", "voucher"] {
        let call = format!("    retry_payment({name})\n").repeat(6);
        shop.write(format!("src/{name}.py"), format!("def {name}_again({name}):\n    # retry_payment\n{call}"));
        shop.commit_all(format!("retry_payment: call retry_payment of {name}"));
    }
    let sandbox = Sandbox::indexed(&shop);
    let definition = "acme/shop:src/pay.py#retry_payment";
    for query in [&["retry_payment"][..], &["retry_payment()", "--type=code"], &["where is retry_payment implemented?"]]
    {
        let found = search(&sandbox, query);
        assert_eq!(hits(&found, "id")[0], definition, "{query:?}: {found:#}");
    }
    // Of what was said about it a question is not about the place.
    let found = search(&sandbox, &["why do we call retry_payment of voucher"]);
    assert_ne!(hits(&found, "id")[0], definition, "{found:#}");
}

#[test]
fn a_definition_is_found_however_many_use_its_name() {
    let mut shop = Fixture::new();
    // Long, and with the name in it once.
    let body: String = (0..60).map(|line| format!("        basket.append(order.line{line})\n")).collect();
    shop.write("src/till.py", format!("class Till:\n    def settle_account(self, order):\n{body}"));
    for number in 0..90 {
        let call = "    settle_account(order)\n".repeat(3);
        shop.write(format!("src/use{number}.py"), format!("def settle_account_{number}(order):\n{call}"));
    }
    shop.commit_all("Settle accounts");
    let sandbox = Sandbox::indexed(&shop);
    for query in ["settle_account", "Till.settle_account", "where is settle_account defined?"] {
        let found = search(&sandbox, &[query]);
        assert_eq!(hits(&found, "id")[0], "acme/shop:src/till.py#Till.settle_account", "{query}: {found:#}");
    }
}

#[test]
fn profiles_rank_by_other_things() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    let score = |profile: &str| {
        let found = search(&sandbox, &["redis cache", "--profile", profile]);
        found["hits"][0]["score"].as_f64().unwrap()
    };
    // Ranks that are fused reach 2 / 61 at most; weighted parts much more.
    assert!(score("rrf") < 0.04 && score("default") > 0.2 && score("gitmemory") > 0.2);
}

#[test]
fn parts_without_a_weight_are_not_computed() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    for (profile, is_computed) in [("default", false), ("gitmemory", true)] {
        let found = search(&sandbox, &["what came of #1 and its redis cache", "--profile", profile, "--limit", "50"]);
        for part in ["recency", "importance", "relationship"] {
            let hits = found["hits"].as_array().unwrap().iter();
            // Of what only the graph found the relationship is told.
            let of_legs = hits.filter(|hit| hit["reached_by"].is_null() || is_computed);
            let values = of_legs.map(|hit| hit["parts"][part].as_f64().unwrap());
            assert_eq!(values.fold(0.0, f64::max) > 0.0, is_computed, "{profile} {part}: {found:#}");
        }
    }
}

#[test]
fn before_there_are_vectors_words_count_with_every_profile() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    for profile in ["default", "gitmemory", "rrf"] {
        let found = search(&sandbox, &["choose a cache for product pages", "--profile", profile]);
        assert_eq!(hits(&found, "id")[0], "acme/shop#3", "{profile}: {found:#}");
    }
}

#[test]
fn while_vectors_are_made_words_stand_for_those_that_are_missing() {
    let forge = Forge::start();
    forge.new_issue("acme/shop", "alice", "libgmp is slow on Windows", "Multiplication takes twice as long there.");
    forge.new_issue("acme/shop", "bob", "libgmp is missing on Alpine", "The build stops there.");
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    forge.advance(60);
    let id = forge.new_issue("acme/shop", "alice", "Remove libgmp", "Nothing needs it any more.");
    sandbox.run(&["sync"]).ok();
    let found = search(&sandbox, &["remove libgmp"]);
    let (documents, embedded) = covered(&found);
    assert!(embedded > 0 && embedded < documents, "{found:#}");
    assert_eq!(hits(&found, "id")[0], id, "{found:#}");
    // What is shown of it is no estimate.
    assert_eq!(found["hits"][0]["parts"]["semantic"], 0.0, "{found:#}");
}

// Rows 72, 76 and 159 of docs/requirements.md.
#[test]
fn a_query_that_means_nothing_finds_nothing_by_its_vector_either() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    for query in ["xyznonexistent123", "qwertyuiop asdfghjkl zxcvbnm"] {
        for mode in ["hybrid", "semantic"] {
            let found = sandbox.run(&["search", query, "--mode", mode]).ok();
            assert!(found.stdout.starts_with(&format!("No results for \"{query}\"")), "{mode}: {found:#?}");
        }
    }
    // What is near in meaning is found, without a word in common.
    let found = search(&sandbox, &["refused sign-ins", "--mode", "semantic"]);
    assert!(!hits(&found, "id").is_empty(), "{found:#}");
}

// Row 101 of docs/requirements.md.
#[test]
fn how_to_run_or_install_something_is_answered_by_the_readme() {
    let mut origin = Origin::new();
    origin.write("README.md", "# Shop\n\nA shop.\n\n## Running\n\nRun `docker compose up`, then open the page.\n");
    origin.write("docs/guide.md", "# Guide\n\n## Install\n\nInstall it with `make install`.\n");
    origin.write("install.py", "def install(target):\n    return run(target)\n");
    origin.commit_all(
        "Install docker images\n\nRun docker and install what it needs; how to run docker is in install.py.",
    );
    origin.write("src/run.py", "def run(docker):\n    return docker\n");
    origin.commit_all("Run docker in the job\n\nHow do I run it with docker: run it.");
    let sandbox = Sandbox::empty();
    sandbox.write_config("data_dir = \"data\"\n");
    sandbox.run(&["add", &origin.path().display().to_string(), "--name", "acme/shop"]).ok();
    let first = |query: &str| hits(&search(&sandbox, &[query]), "id")[0].to_owned();
    let check = || {
        assert!(first("how do I run it with docker").starts_with("acme/shop:README.md"));
        assert!(first("install").starts_with("acme/shop:docs/guide.md"));
    };
    check();
    sandbox.run(&["embed"]).ok();
    check();
}

#[test]
fn nothing_found_is_no_failure() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let found = sandbox.run(&["search", "xyznonexistent123", "--mode", "lexical"]).ok();
    expect![[r#"
        No results for "xyznonexistent123" (lexical search, TIME). Other words or fewer conditions may find more.
    "#]]
    .assert_eq(&without_numbers(&found.stdout));
    let nothing = Sandbox::new(&forge).run(&["search", "redis"]).ok();
    expect![[r#"
        Nothing has been read yet; 'backstory sync' reads the configured projects, 'backstory add PATH' a repository.
    "#]]
    .assert_eq(&nothing.stdout);
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Golden {
    query: String,
    expected: Vec<String>,
    max_rank: usize,
}

#[test]
fn golden_queries_return_known_items() {
    let golden: Vec<Golden> = serde_json::from_str(include_str!("fixtures/golden-queries.json")).unwrap();
    assert_eq!(golden.len(), 10);
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    let _server = sandbox.serve();
    for Golden { query, expected, max_rank } in golden {
        let found = search(&sandbox, &[&query]);
        // A discussion counts for what it is about.
        let ids = hits(&found, "id").into_iter().map(|id| id.split('~').next().unwrap().to_owned());
        let rank = ids.clone().position(|id| expected.contains(&id)).map_or(usize::MAX, |place| place + 1);
        assert!(rank <= max_rank, "{query}: {:?}", ids.collect::<Vec<_>>());
    }
}

#[test]
fn the_nearest_name_is_the_one_with_the_fewest_typos() {
    let forge = Forge::start();
    for label in ["build", "docs", "user-documentation"] {
        forge.new_label("acme/shop#6", label);
    }
    let sandbox = Sandbox::synced(&forge);
    for (label, nearest) in [("bgu", "bug"), ("dcos", "docs")] {
        let noted = sandbox.run(&["list", "issues", "--label", label]).ok().stderr;
        assert_eq!(noted, format!("note: nothing has the label '{label}'; the nearest name is '{nearest}'\n"));
    }
}

#[test]
fn a_page_token_holds_whatever_is_annotated_meanwhile_and_one_beyond_all_hits_is_refused() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let tag = |id: &str| sandbox.run(&["annotate", id, "To be read again.", "--tag", "later"]).ok();
    for id in ["acme/shop#1", "acme/shop#2"] {
        tag(id);
    }
    let args = ["session database", "--tag", "later", "--mode", "lexical", "--limit", "1"];
    let first = search(&sandbox, &args);
    let next = first["next"].as_str().unwrap();
    tag("acme/shop#4");
    let second = search(&sandbox, &[&args[..], &["--page-token", next]].concat());
    assert_ne!(hits(&first, "id"), hits(&second, "id"));
    let (_, search_and_state) = next.split_once('-').unwrap();
    let beyond = format!("{}-{search_and_state}", usize::MAX);
    let refused = sandbox.run(&[&["search"], &args[..], &["--page-token", &beyond]].concat());
    assert!(refused.error(2).contains("the cursor cannot be read"), "{refused:?}");
}
