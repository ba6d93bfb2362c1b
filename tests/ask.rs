//! Answers in quotations, refusals, and proving what answers cite.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{Json, Router, http::StatusCode};
use expect_test::expect;
use serde_json::{Value, json};

use crate::{
    cli_repositories::shop,
    support::{Fixture, Forge, Sandbox, StandIn},
};

fn ask(sandbox: &Sandbox, question: &str) -> Value {
    sandbox.run(&["ask", question, "--json"]).ok().json()
}

/// Saves an answer and verifies it; the exit code and what is said.
fn verified(sandbox: &Sandbox, answer: &Value) -> (i32, String) {
    fs::write(sandbox.path().join("answer.json"), answer.to_string()).unwrap();
    let output = sandbox.run(&["verify", "answer.json"]);
    (output.code, output.stdout)
}

#[test]
fn why_is_answered_with_the_words_of_who_decided() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let output = sandbox.run(&["ask", "Why did we choose Redis over Memcached?"]).ok();
    expect![[r#"
        "We choose Redis for three reasons: it survives a restart with its cache, it can expire a whole product by tag, and the rate limiter will need counters that it has built in." [1]
            @alice · 2023-11-07 · in acme/shop#3 Choose a cache for product pages

        Where it stands: merged in acme/shop!1 on 2023-12-01

        Sources:
        - [FORGE]/acme/shop/-/issues/3#note_1016 [1] sha256:88601ddea202
    "#]].assert_eq(&output.stdout);
}

#[test]
fn who_when_and_how_are_answered() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let mut said = String::new();
    for question in [
        "Who wants the signing key to rotate?",
        "How do we migrate the order tables without downtime?",
        "When does test_checkout_total fail?",
        "Why is the expiry of tokens verified by our own check?",
    ] {
        let answer = ask(&sandbox, question);
        let first = &answer["citations"][0];
        let text = first["text"].as_str().unwrap();
        said.push_str(&format!(
            "{question}\n  {} {}: {text}\n  {}\n",
            first["id"], first["author"], answer["standing"]["text"]
        ));
    }
    expect![[r#"
        Who wants the signing key to rotate?
          "acme/shop#1#note_1006" "alice": Security review: fine with me if the signing key rotates every month and the algorithm is pinned, so that nobody can send `alg: none`.
          "merged in acme/shop!2 on 2024-03-22"
        How do we migrate the order tables without downtime?
          "acme/shop#2" "bob": The order tables outgrew MySQL: the nightly report locks them for minutes.
          "acme/shop#2 is still open"
        When does test_checkout_total fail?
          "acme/shop#5" "carol": `test_checkout_total` is flaky: about one run in thirty fails in CI, always shortly before midnight.
          "acme/shop#5 is still open"
        Why is the expiry of tokens verified by our own check?
          "acme/shop!2#note_1034" "johndoe": With our own check we accept 90 seconds of clock skew.
          "merged in acme/shop!2 on 2024-03-22"
    "#]].assert_eq(&said);
}

#[test]
fn answer_for_programs_has_its_documented_shape() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let answer = ask(&sandbox, "Why did we choose Redis over Memcached?");
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&answer),
        [
            "question",
            "answered",
            "confidence",
            "method",
            "model",
            "statements",
            "standing",
            "citations",
            "refusal",
            "warnings"
        ]
    );
    assert_eq!(
        (&answer["answered"], &answer["method"], &answer["refusal"]),
        (&json!(true), &json!("extractive"), &Value::Null)
    );
    let citations = answer["citations"].as_array().unwrap();
    assert!((1..=5).contains(&citations.len()), "{answer:#}");
    for (statement, citation) in answer["statements"].as_array().unwrap().iter().zip(citations) {
        assert_eq!(statement["text"], citation["text"]);
        assert_eq!(statement["citations"], json!([citation["number"]]));
        let (start, end) = (citation["bytes"][0].as_u64().unwrap(), citation["bytes"][1].as_u64().unwrap());
        assert_eq!((end - start) as usize, citation["text"].as_str().unwrap().len());
        assert_eq!(citation["hash"].as_str().unwrap().len(), 64);
    }
}

#[test]
fn without_evidence_it_says_so_and_what_is_missing() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    expect![[r#"
        I could not find this information in the repository based on the indexed files.

        I searched 25 documents.
        - 'Kafka' occurs nowhere in what was indexed
    "#]]
    .assert_eq(&sandbox.run(&["ask", "Why was Kafka chosen as the message broker?"]).ok().stdout);
    for question in ["Which zebras graze on Neptune?", "xyzzy plugh", "Why?"] {
        let answer = ask(&sandbox, question);
        assert_eq!(
            (&answer["answered"], &answer["statements"], &answer["citations"]),
            (&json!(false), &json!([]), &json!([])),
            "{question}"
        );
        assert_eq!(
            answer["refusal"]["sentence"],
            "I could not find this information in the repository based on the indexed files."
        );
    }
    let nothing = Sandbox::empty();
    assert_eq!(ask(&nothing, "Why did we choose Redis?")["answered"], false);
}

#[test]
fn where_something_is_defined_is_answered_by_the_definitions_that_lead_a_search() {
    let mut project = Fixture::new();
    let environment = "import os\n\n\nclass Environment:\n    \"\"\"What templates share.\"\"\"\n\n    \
                       def escape(self, text):\n        return text\n";
    project.write("src/environment.py", environment);
    let test = "class Environment:\n    pass\n\n\ndef execute_c(text):\n    return Environment()\n";
    project.write("tests/test_environment.py", test);
    project.write("docs/guide.md", "# Guide\n\nThe Environment is defined once, and escape is defined by it.\n");
    project.commit_all("Add environments, where escape is implemented");
    let sandbox = Sandbox::indexed(&project);
    let mut said = String::new();
    for question in
        ["where is Environment defined?", "Where is the escape method implemented?", "where is `execute_c()` declared?"]
    {
        let answer = ask(&sandbox, question);
        assert_eq!((&answer["answered"], &answer["method"]), (&json!(true), &json!("facts")), "{question}: {answer:#}");
        assert_eq!(verified(&sandbox, &answer).0, 0, "{question}");
        said.push_str(&format!("{question}\n"));
        for (statement, citation) in
            answer["statements"].as_array().unwrap().iter().zip(answer["citations"].as_array().unwrap())
        {
            said.push_str(&format!("  {} {}\n", statement["text"].as_str().unwrap(), citation["text"]));
        }
    }
    expect![[r#"
        where is Environment defined?
          Environment is defined in src/environment.py:4-8. "class Environment:"
          Environment is defined in tests/test_environment.py:1-2. "class Environment:"
        Where is the escape method implemented?
          Environment.escape is defined in src/environment.py:7-8. "def escape(self, text):"
        where is `execute_c()` declared?
          execute_c is defined in tests/test_environment.py:5-6. "def execute_c(text):"
    "#]]
    .assert_eq(&said);
    // A word that names no definition is a word, and so is what asks for more than a place.
    for question in ["where is the guide defined?", "where is Environment defined in the guide?"] {
        assert_ne!(ask(&sandbox, question)["method"], "facts", "{question}");
    }
}

/// A project that says little about many things, so that any question finds something about one of its words.
fn storefront() -> Fixture {
    let mut project = Fixture::new();
    let commits = [
        ("server.go", "Hash passwords before they are stored\n\nA stolen table must not show them."),
        ("cart.go", "Rewrite the cart\n\nThe old one was too slow because it locked every row."),
        ("parse.go", "Borrow a trick from Haskell in the parser\n\nLazy lists make the code shorter."),
        ("cache.go", "Keep pages in a cache\n\nRendering takes 300 ms, and pages seldom change."),
        ("retry.go", "Retry payments three times\n\nThe bank drops connections at midnight."),
        ("mail.go", "Send mail from a queue\n\nThe customer should not wait for the mail server."),
        ("log.go", "Write logs as JSON\n\nThe collector cannot parse anything else."),
        ("tax.go", "Round taxes per line\n\nThe law wants it so."),
    ];
    for (file, message) in commits {
        project.write(file, "package shop\n");
        project.commit_all(message);
    }
    project
}

#[test]
fn a_false_premise_is_refused_with_what_is_missing() {
    let sandbox = Sandbox::indexed(&storefront());
    let check = |embedded: bool| {
        let only_by_words =
            [("why does the cart lock a row of the garden?", "'garden' occurs nowhere in what was indexed")];
        // A name alone can bring the meaning near: then the answer warns.
        let only_by_words = only_by_words.into_iter().filter(|_| !embedded);
        for (question, missing) in only_by_words.chain([
            ("why was the cart rewritten in Haskell?", "'cart', 'rewritten' together with the rest"),
            ("why does the cart lock a row of the vtable?", "'vtable' occurs nowhere in what was indexed"),
            ("Why was the cache moved to kafka?", "'kafka'"),
            ("Why are passwords encrypted by the collector at midnight?", "together with the rest"),
        ]) {
            let answer = ask(&sandbox, question);
            assert_eq!(
                (&answer["answered"], &answer["citations"]),
                (&json!(false), &json!([])),
                "{question}: {answer:#}"
            );
            assert!(answer["refusal"]["missing"][0].as_str().unwrap().contains(missing), "{answer:#}");
        }
        for (question, quote) in [
            ("why was the cart rewritten?", "too slow because it locked every row"),
            ("Why do we retry payments?", "The bank drops connections at midnight."),
            ("Why is mail sent from a queue?", "should not wait for the mail server"),
        ] {
            let answer = ask(&sandbox, question);
            let said = answer["citations"].to_string();
            assert!(said.contains(quote), "{question}: {answer:#}");
        }
    };
    check(false);
    sandbox.run(&["embed"]).ok();
    check(true);
}

#[test]
fn what_has_no_vectors_yet_answers_beside_what_has() {
    let mut project = storefront();
    let sandbox = Sandbox::indexed(&project);
    sandbox.run(&["embed"]).ok();
    project.write("coupon.go", "package shop\n");
    project.commit_all("Drop the coupon table\n\nNobody redeemed one after the spring sale.");
    sandbox.run(&["sync"]).ok();
    let answer = ask(&sandbox, "Why did we get rid of the coupon table in our shop?");
    assert!(answer["citations"].to_string().contains("Nobody redeemed one"), "{answer:#}");
}

#[test]
fn what_could_not_be_compared_by_meaning_is_said() {
    // A model that takes nothing but questions from then on.
    let is_busy = Arc::new(AtomicBool::new(false));
    let answer = {
        let is_busy = Arc::clone(&is_busy);
        move |Json(body): Json<Value>| {
            let texts = body["input"].as_array().map_or(1, Vec::len);
            let is_refused = is_busy.load(Ordering::Relaxed) && !body["input"].to_string().contains("Why");
            let vectors = json!({ "model": "m", "embeddings": vec![[1.0, 1.0]; texts] });
            std::future::ready(if is_refused { Err(StatusCode::BAD_REQUEST) } else { Ok(Json(vectors)) })
        }
    };
    let model = StandIn::start(|_| Router::new().fallback(answer));
    let sandbox = Sandbox::indexed(&storefront());
    sandbox.write_config(&format!("[embedding]\nprovider = \"ollama\"\nmodel = \"m\"\nbase_url = \"{}\"\n", model.url));
    sandbox.run(&["embed"]).ok();
    let warnings = || ask(&sandbox, "Why are pages kept in a cache?")["warnings"].to_string();
    assert!(!warnings().contains("by their words alone"), "{}", warnings());
    is_busy.store(true, Ordering::Relaxed);
    assert!(warnings().contains("by their words alone"), "{}", warnings());
}

#[test]
fn a_word_with_a_typo_is_read_as_the_nearest_name_with_a_warning() {
    let sandbox = Sandbox::indexed(&storefront());
    let answer = ask(&sandbox, "Why are passwrods hashed before they are stored?");
    assert_eq!(answer["answered"], true, "{answer:#}");
    let warning = "'passwrods' occurs nowhere in what was indexed; the nearest name is 'passwords'";
    assert!(answer["warnings"].to_string().contains(warning), "{answer:#}");
}

#[test]
fn a_refusal_says_where_the_work_of_somebody_is_told() {
    let mut project = storefront();
    project.author("Grete Sandmann", "grete@example.com").write("ship.go", "package shop\n");
    project.commit_all("Ship parcels at noon");
    let sandbox = Sandbox::indexed(&project);
    for question in ["how many commits has Grete Sandmann?", "How many commits has Sandmann?"] {
        let answer = ask(&sandbox, question);
        assert_eq!(answer["answered"], false, "{question}: {answer:#}");
        let missing: Vec<&str> =
            answer["refusal"]["missing"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let told = "what Grete Sandmann did is told by 'backstory person \"Grete Sandmann\"'";
        assert_eq!(missing.iter().filter(|said| said.ends_with(told)).count(), 1, "{question}: {missing:?}");
        assert!(!missing.iter().any(|said| said.contains("Sandmann' occurs nowhere")), "{question}: {missing:?}");
    }
}

#[test]
fn code_commits_and_documents_are_quoted_with_their_lines() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let output = sandbox.run(&["ask", "Why must rounding not happen in the total of the cart?"]).ok();
    let head = shop.sha("main").to_string();
    expect![[r#"
                # NOTE: rounding must not happen here, because taxes are rounded per line [1]
            src/cart.py:5 · at [HEAD], last changed 2024-01-01

        Sources:
        - src/cart.py:5 [1] sha256:1877608686e4
    "#]]
    .assert_eq(&output.stdout.replace(&head[..8], "[HEAD]"));
    let answer = ask(&sandbox, "Why are sessions kept in Redis rather than in memcached?");
    let first = &answer["citations"][0];
    assert!(first["id"].as_str().unwrap().starts_with("acme/shop@"), "{answer:#}");
    assert!(first["text"].as_str().unwrap().contains("memcached loses every session on a restart"), "{first}");
    assert_eq!(verified(&sandbox, &answer).0, 0);
}

#[test]
fn quoted_lines_are_dated_by_who_wrote_them_and_not_by_their_file() {
    let mut shop = shop();
    let cart = fs::read_to_string(shop.path().join("src/cart.py")).unwrap();
    shop.write("src/cart.py", format!("{cart}\n\ndef items(key):\n    return []\n"));
    shop.at(1_893_456_000).commit_all("List the items");
    let sandbox = Sandbox::indexed(&shop);
    let answer = ask(&sandbox, "Why must rounding not happen in the total of the cart?");
    let first = &answer["citations"][0];
    assert_eq!((&first["path"], &first["lines"]), (&json!("src/cart.py"), &json!([5, 5])), "{answer:#}");
    assert!(first["at"].as_str().unwrap().starts_with("2024-01-01"), "{first:#}");
}

/// A server in Go whose comments say why, and commits whose titles sound like it.
fn go_server() -> Fixture {
    let mut server = Fixture::new();
    server.write(
        "http.go",
        "// Package app serves pages.\npackage app\n\nimport \"time\"\n\n// Server answers requests.\ntype Server struct {\n\
         \ttimeout time.Duration\n}\n\n// New makes a server that listens nowhere yet.\nfunc New() *Server {\n\
         \t// The read timeout is thirty seconds because the load balancer closes idle\n\t// connections after a minute.\n\
         \treturn &Server{timeout: 30 * time.Second}\n}\n\n// Start accepts connections until the context ends.\n\
         func (s *Server) Start(address string) error {\n\treturn s.listen(address)\n}\n",
    );
    server.commit_all("feat: first version of Server with New and Start");
    server.write(
        "main.go",
        "package app\n\n// Run makes the server of the shop and starts it.\nfunc Run() error {\n\tserver := New()\n\
         \treturn server.Start(\":8080\")\n}\n",
    );
    server.commit_all("feat: main starts the server");
    server.write("client.go", "package app\n\nimport \"time\"\n\nvar readTimeout = 45 * time.Second\n");
    server.commit_all("fix: raise read timeout to 45 seconds");
    server
}

#[test]
fn a_comment_that_answers_wins_over_the_title_of_a_commit() {
    let sandbox = Sandbox::indexed(&go_server());
    let answer = ask(&sandbox, "Why is the read timeout thirty seconds?");
    let citations = answer["citations"].as_array().unwrap();
    assert_eq!(citations[0]["path"], "http.go", "{answer:#}");
    assert!(citations[0]["text"].as_str().unwrap().contains("because the load balancer closes idle"), "{answer:#}");
    assert!(citations.iter().all(|citation| !citation["path"].is_null()), "no title: {answer:#}");
    assert_eq!(verified(&sandbox, &answer).0, 0);
}

#[test]
fn what_a_definition_does_is_told_by_its_own_comment() {
    let sandbox = Sandbox::indexed(&go_server());
    for question in ["What does Server.Start do?", "What does the method Start do?"] {
        let answer = ask(&sandbox, question);
        let first = &answer["citations"][0];
        assert_eq!((&first["path"], &first["lines"][0]), (&json!("http.go"), &json!(18)), "{question}: {answer:#}");
        assert!(first["text"].as_str().unwrap().starts_with("// Start accepts connections"), "{answer:#}");
        assert_eq!(verified(&sandbox, &answer).0, 0);
    }
}

#[test]
fn wrong_questions_are_explained() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    expect!["the question is empty; say what you want to know"].assert_eq(sandbox.run(&["ask", " "]).error(2));
    expect!["the question has 2001 characters; at most 2000 are allowed"]
        .assert_eq(sandbox.run(&["ask", &"x".repeat(2001)]).error(2));
    sandbox.run(&["ask", "why", "--project", "acme/nothing"]).error(2);
    for question in ["\u{1}\u{202e}", "🦀🦀🦀", "SELECT * FROM items; --", "\"' OR 1=1", &"wörd ".repeat(300)] {
        sandbox.run(&["ask", question, "--json"]).ok();
    }
}

#[test]
fn citations_are_proved_again_from_ledger_and_clone() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["add", &shop().path().display().to_string(), "--name", "acme/tool"]).ok();
    for question in
        ["Why did we choose Redis over Memcached?", "Why must rounding not happen in the total?", "Why token bucket?"]
    {
        let answer = ask(&sandbox, question);
        assert_eq!(answer["answered"], true, "{question}");
        let (code, said) = verified(&sandbox, &answer);
        assert_eq!(code, 0, "{said}");
        let piped = sandbox.run_with_input(&["verify", "--json"], &answer.to_string()).ok().json();
        assert_eq!(piped["ok"], true);
    }
    // The index is not needed.
    let answer = ask(&sandbox, "Why did we choose Redis over Memcached?");
    let _server = sandbox.serve();
    assert_eq!(verified(&sandbox, &answer).0, 0);
}

#[test]
fn whatever_is_changed_in_an_answer_is_noticed() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let answer = ask(&sandbox, "Why did we choose Redis over Memcached?");
    let mut said = String::new();
    let mut changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut answer = answer.clone();
        change(&mut answer);
        let (code, output) = verified(&sandbox, &answer);
        assert_eq!(code, 1, "{name}: {output}");
        let failed: Vec<&str> = output.lines().filter(|line| line.starts_with("failed")).collect();
        said.push_str(&format!("{name}: {}\n", failed.join("; ")));
    };
    changed("text", &|answer| {
        answer["citations"][0]["text"] = json!("Memcached is better.");
        answer["statements"][0]["text"] = json!("Memcached is better.");
    });
    changed("statement", &|answer| answer["statements"][0]["text"] = json!("Memcached is better."));
    changed("bytes", &|answer| {
        let bytes = answer["citations"][0]["bytes"].as_array().unwrap().iter().map(|b| b.as_u64().unwrap() + 1);
        answer["citations"][0]["bytes"] = bytes.collect();
    });
    changed("document", &|answer| answer["citations"][0]["document"] = json!("0".repeat(64)));
    changed("author", &|answer| answer["citations"][0]["author"] = json!("mallory"));
    changed("time", &|answer| answer["citations"][0]["at"] = json!("2020-01-01T00:00:00Z"));
    changed("reference", &|answer| answer["citations"][0]["id"] = json!("acme/shop#999"));
    changed("no reference", &|answer| answer["citations"][0]["id"] = json!("nonsense"));
    changed("no citation", &|answer| answer["statements"][0]["citations"] = json!([]));
    changed("unknown citation", &|answer| answer["statements"][0]["citations"] = json!([77]));
    expect![[r#"
        text: failed [1] acme/shop#3#note_1016: the quoted text has another SHA-256 than the citation says
        statement: failed [1] acme/shop#3#note_1016: statement 1 is not what it quotes
        bytes: failed [1] acme/shop#3#note_1016: the text is at bytes 0-172, not where the citation says
        document: failed [1] acme/shop#3#note_1016: the document was changed since: its SHA-256 is another
        author: failed [1] acme/shop#3#note_1016: it was written by alice
        time: failed [1] acme/shop#3#note_1016: it was written at 2023-11-07T09:45:00Z
        reference: failed [1] acme/shop#999: it is not in the ledger
        no reference: failed [1] nonsense: it is not in the ledger
        no citation: failed [0] the answer: statement 1 cites nothing
        unknown citation: failed [77] the answer: statement 1 cites it, and it is not there
    "#]]
    .assert_eq(&said);
    fs::write(sandbox.path().join("answer.json"), "{}").unwrap();
    expect!["answer.json is not an answer that 'backstory ask --json' printed; pass that, unchanged"]
        .assert_eq(sandbox.run(&["verify", "answer.json"]).error(2));
    expect!["none.json cannot be read: no such file or directory"]
        .assert_eq(sandbox.run(&["verify", "none.json"]).error(2));
}

#[test]
fn a_tampered_store_does_not_verify() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let answer = ask(&sandbox, "Why did we choose Redis over Memcached?");
    let id = answer["citations"][0]["id"].as_str().unwrap().to_owned();
    assert!(id.contains("#note_"), "{id}");
    let ledger = rusqlite::Connection::open(sandbox.data().join("ledger.sqlite")).unwrap();
    let tamper = |from: &str, to: &str| {
        let mut rows = ledger.prepare("SELECT id, payload FROM items WHERE kind = 'discussion'").unwrap();
        let rows: Vec<(i64, Vec<u8>)> =
            rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
        let mut changed = 0;
        for (row, packed) in rows {
            let json = String::from_utf8(zstd::bulk::decompress(&packed, 1 << 20).unwrap()).unwrap();
            if json.contains(from) {
                let packed = zstd::bulk::compress(json.replace(from, to).as_bytes(), 3).unwrap();
                changed += ledger
                    .execute("UPDATE items SET payload = ?2 WHERE id = ?1", rusqlite::params![row, packed])
                    .unwrap();
            }
        }
        assert_eq!(changed, 1);
    };
    // What is quoted, then something beside it: both are noticed.
    tamper("it survives a restart", "it is a fashion");
    let (code, said) = verified(&sandbox, &answer);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("its payload in the ledger has another SHA-256 than when it was stored"), "{said}");
    tamper("it is a fashion", "it survives a restart");
    assert_eq!(verified(&sandbox, &answer).0, 0);
    tamper("2023-11-07T09:45:00.000Z", "2023-11-07T09:46:00.000Z");
    assert_eq!(verified(&sandbox, &answer).0, 1);
}

#[test]
fn an_edited_text_and_a_moved_line_are_told_apart_from_lost_ones() {
    let mut shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let answer = ask(&sandbox, "Why must rounding not happen in the total of the cart?");
    let file = answer["citations"].as_array().unwrap().iter().find(|c| !c["path"].is_null()).unwrap().clone();
    // The file moves on; what was cited stays at its commit.
    shop.write("src/cart.py", "# nothing\n");
    shop.commit_all("Empty the cart");
    sandbox.run(&["sync"]).ok();
    assert_eq!(verified(&sandbox, &answer).0, 0);
    // At another commit it is not there, or stands elsewhere.
    let at = |commit: &str, lines: Value| {
        let mut answer = answer.clone();
        let citations = answer["citations"].as_array_mut().unwrap();
        let cited = citations.iter_mut().find(|c| c["number"] == file["number"]).unwrap();
        (cited["commit"], cited["lines"]) = (json!(commit), lines);
        verified(&sandbox, &answer)
    };
    let (code, said) = at(&shop.sha("main").to_string(), file["lines"].clone());
    assert!(code == 1 && said.contains("the text is not in the document"), "{said}");
    let (code, said) = at(file["commit"].as_str().unwrap(), json!([1, 2]));
    assert!(code == 1 && said.contains("the lines are not those of the bytes"), "{said}");
    let (code, said) = at(&"0".repeat(40), file["lines"].clone());
    assert_eq!(code, 1, "{said}");
}

#[test]
fn what_a_question_names_must_be_there() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let missing = |question: &str| ask(&sandbox, question)["refusal"]["missing"].clone();
    assert_eq!(ask(&sandbox, "What was decided in !2?")["answered"], true);
    assert_eq!(missing("What was decided in !99?"), serde_json::json!(["acme/shop!99 is not in the index"]));
    let quoted = missing("Where was it said that \"Redis is the slowest of all stores\"?");
    let unsaid = "\u{201c}Redis is the slowest of all stores\u{201d} is said in none of the texts that fit best";
    assert_eq!(quoted, serde_json::json!([unsaid]));
}
