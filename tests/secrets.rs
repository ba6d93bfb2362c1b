//! Secrets that people leave everywhere reach no file, no log and no answer.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use expect_test::expect;
use rusqlite::{Connection, OpenFlags, types::ValueRef};
use serde_json::{Value, json};

use crate::support::{Forge, Origin, Sandbox, TOKEN, problem};

/// What is planted, by where. Put together here, so that no scanner takes this file for a leak.
fn secrets() -> BTreeMap<&'static str, String> {
    let random = |seed: u64, count: usize| -> String {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| random.alphanumeric()).collect()
    };
    let hex = |seed: u64, count: usize| -> String {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| random.digit(16)).collect()
    };
    BTreeMap::from([
        ("title", format!("gh{}_{}", "p", random(1, 36))),
        ("description", format!("AK{}{}", "IA", "QX7ZB2MFK5WJ3TRG")),
        ("merge request", format!("sk_{}_{}", "live", random(2, 24))),
        ("note", format!("xo{}-{}-{}", "xb", "240817263514", random(3, 24))),
        ("reply", random(4, 40)),
        ("review", format!("np{}_{}", "m", random(5, 36))),
        ("commit title", format!("gl{}-{}", "pat", random(6, 20))),
        ("commit message", format!("SG.{}.{}", random(7, 22), random(8, 43))),
        ("code", format!("hv{}.{}", "s", random(9, 90))),
        ("code that is gone", hex(10, 32)),
        ("key", random(11, 64)),
        ("settings", format!("Blue{}!{}", "73", random(12, 4))),
        ("address", format!("Zebra{}", random(13, 9))),
        ("branch", format!("gl{}-{}", "dt", random(14, 20))),
        ("tag", format!("lin_{}_{}", "api", random(15, 40))),
        ("annotation", format!("pu{}-{}", "l", hex(16, 40))),
        ("question", format!("gs{}_{}", "k", random(17, 52))),
        ("request", format!("r{}_{}", "8", random(18, 37))),
        ("label", format!("gl{}-{}", "pat", random(19, 20))),
        ("discussion", format!("gl{}-{}", "pat", random(20, 21))),
        ("user", format!("gl{}-{}", "pat", random(21, 22))),
        ("author", format!("gl{}-{}", "pat", random(22, 23))),
        ("mail", format!("gl{}-{}", "pat", random(23, 24))),
        ("glued", format!("gl{}-{}", "pat", random(24, 25))),
        ("path", format!("gl{}-{}", "pat", random(25, 20))),
        ("path that is gone", format!("gl{}-{}", "pat", random(26, 20))),
    ])
}

/// Plants them; the issue and the merge request that are new.
fn plant(forge: &Forge, origin: &mut Origin, secrets: &BTreeMap<&str, String>) -> [String; 2] {
    let of = |place: &str| &secrets[place];
    let description = format!("It fails with this:\n\n```\nAWS_ACCESS_KEY_ID={}\n```\n", of("description"));
    let issue = forge.new_issue("acme/shop", "alice", &format!("Login with {} fails", of("title")), &description);
    let request = format!("Pay for baskets\n\n    stripe.key = \"{}\"\n", of("merge request"));
    let merge_request = forge.new_merge_request("acme/shop", "bob", "Pay for baskets", &request);
    let log = format!("2026-11-02 WARN slack: denied token={}", of("note"));
    let discussion = forge.discuss(&issue, "carol", &format!("The log of the payment service:\n```\n{log}\n```"));
    let curl = format!("`curl -H 'Authorization: Bearer {}' https://api.example.com`", of("reply"));
    forge.reply(&issue, &discussion, "bob", &curl);
    // Names that become keys.
    forge.new_label(&issue, of("label"));
    forge.join(of("user"), "Somebody");
    let named = forge.discuss(&issue, of("user"), &format!("It is the_token{}!", of("glued")));
    forge.call_discussion(&issue, &named, of("discussion"));
    forge.discuss(&merge_request, "alice", &format!("Is {} still the token for packages?", of("review")));
    origin.write(
        "src/payment.py",
        format!(
            "# How the payment service is reached\nVAULT = \"{}\"\n\ndef pay(basket):\n    return VAULT\n",
            of("code")
        ),
    );
    origin.write("config/weather.yml", format!("weather:\n  api_key: {}\n", of("code that is gone")));
    // Names of directories and files, one of which is moved on.
    let refund = "import payment\n\ndef refund(basket):\n    return payment.pay(basket)\n";
    origin.write(format!("src/{}/refund.py", of("path")), refund);
    origin
        .write(format!("docs/{}.md", of("path that is gone")), "# Plan\n\nThe payment service is reached directly.\n");
    origin.commit_all(format!(
        "Reach the payment service with {}\n\nIts mails need {}.\n",
        of("commit title"),
        of("commit message")
    ));
    let key =
        format!("-----{} RSA PRIVATE KEY-----\n{}\n{}\n-----END RSA PRIVATE KEY-----", "BEGIN", of("key"), of("key"));
    origin.write(
        "src/sign.py",
        format!("# Signs what is paid\nKEY = \"\"\"{key}\"\"\"\n\ndef sign(basket):\n    return KEY\n"),
    );
    origin.git(["mv", &format!("docs/{}.md", of("path that is gone")), "docs/plan.md"]);
    origin.author(&format!("Ada {}", of("author")), &format!("{}@example.com", of("mail")));
    origin.write("config/weather.yml", "weather:\n  api_key: ${WEATHER_API_KEY}\n");
    let address = format!("postgres://app:{}@db/shop", of("address"));
    origin.write("README.md", format!("# Payment\n\nSet `DB_PASSWORD={}`, then open {address}.\n", of("settings")));
    origin.commit_all("Sign what is paid, take the key of the weather service from the environment");
    origin.author("Ada Lovelace", "ada@example.com");
    origin.git([
        "tag",
        "--annotate",
        &format!("v1-{}", of("tag")),
        "-m",
        &format!("Release with {}", of("annotation")),
    ]);
    origin.switch(&format!("fix/{}", of("branch")));
    origin.commit_all("Fix the payment service");
    origin.git(["checkout", "--quiet", "main"]);
    [issue, merge_request]
}

/// A text in which secrets are looked for, and where it comes from.
struct Seen(Vec<(String, Vec<u8>)>);

impl Seen {
    fn add(&mut self, from: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.push((from.into(), bytes.into()));
    }

    /// Which secrets are in what was seen, in plain text, base64 and UTF-16.
    fn leaks(&self, secrets: &BTreeMap<&'static str, String>) -> Vec<String> {
        let mut leaks = Vec::new();
        for (place, secret) in secrets {
            for (how, form) in forms(secret) {
                let found = self.0.iter().filter(|(_, bytes)| memchr::memmem::find(bytes, &form).is_some());
                leaks.extend(found.map(|(from, _)| format!("{place} in {from}, {how}")));
            }
        }
        leaks
    }
}

fn forms(secret: &str) -> Vec<(&'static str, Vec<u8>)> {
    let utf16 = |bytes: fn(u16) -> [u8; 2]| secret.encode_utf16().flat_map(bytes).collect();
    let mut forms = vec![
        ("plain", secret.as_bytes().to_vec()),
        ("UTF-16 LE", utf16(u16::to_le_bytes)),
        ("UTF-16 BE", utf16(u16::to_be_bytes)),
    ];
    for shift in 0..3 {
        // Whatever stands before and after changes the first and last letters.
        let coded = BASE64_STANDARD.encode(format!("{}{secret}", &"   "[..shift]));
        let (from, to) = (if shift == 0 { 0 } else { 4 }, coded.len() / 4 * 4 - 4);
        forms.push(("base64", coded.as_bytes()[from..to].to_vec()));
    }
    forms
}

/// Every file but the clones: those hold the repository's own bytes.
fn files(directory: &Path, seen: &mut Seen) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().unwrap() != "clones" {
                files(&path, seen);
            }
        } else {
            seen.add(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
}

/// Every value of every table, unpacked where it is packed.
fn ledger(path: &PathBuf, seen: &mut Seen) -> usize {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let tables: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let mut unpacked = 0;
    for table in tables {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                match row.get_ref(column).unwrap() {
                    ValueRef::Text(text) => seen.add(format!("ledger {table}"), text),
                    ValueRef::Blob(blob) => {
                        seen.add(format!("ledger {table}"), blob);
                        if let Ok(plain) = zstd::stream::decode_all(blob) {
                            unpacked += 1;
                            seen.add(format!("ledger {table}, unpacked"), plain);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    unpacked
}

/// What the command line prints, alone or through a server.
fn commands(sandbox: &Sandbox, threads: &[String; 2], secrets: &BTreeMap<&str, String>, seen: &mut Seen) {
    let [issue, merge_request] = threads.each_ref().map(String::as_str);
    let mut run = |args: &[&str]| {
        let output = sandbox.run(args);
        // What was asked for is repeated where nothing was found.
        let echo = format!("No results for \"{}\"", args.get(1).unwrap_or(&""));
        let shown = output.stdout.replace(&echo, "No results");
        seen.add(format!("{args:?}"), format!("{shown}\n{}", output.stderr));
    };
    for args in [
        &["list", "issues"][..],
        &["list", "mrs", "--json"],
        &["status"],
        &["repos", "--json"],
        &["stats"],
        &["doctor"],
        &["check"],
        &["show", issue],
        &["show", issue, "--json"],
        &["show", merge_request, "--json"],
        &["why", "src/payment.py:2", "--project", "acme/shop"],
        &["why", "src/sign.py:3", "--project", "acme/shop", "--json"],
        &["why", "config/weather.yml:2", "--project", "acme/shop"],
        &["why", "src/payment.py#pay", "--project", "acme/shop"],
        &["why", "docs/plan.md:3", "--project", "acme/shop"],
        &["history", "docs/plan.md", "--project", "acme/shop"],
        &["history", "config/weather.yml", "--project", "acme/shop"],
        &["entity", "pay"],
        &["context", "how is the payment service reached", "--tokens", "8000"],
        &["context", "src/sign.py:1-6", "--project", "acme/shop"],
        &["context", "config/weather.yml:2", "--project", "acme/shop"],
        &["ask", "why does the login fail with the payment service?"],
        &["ask", "how is the payment service reached?", "--json"],
        &["snapshots", "list"],
    ] {
        run(args);
    }
    for secret in secrets.values() {
        run(&["search", secret, "--limit", "20"]);
    }
    run(&["ask", &format!("why do we use {} here?", secrets["question"])]);
    run(&["context", &format!("what is {} for", secrets["question"])]);
    // A file of which only its path is a secret.
    let left_out = format!("src/{}/refund.py", secrets["path"]);
    for args in [&["why", &format!("{left_out}:1")][..], &["history", &left_out], &["entity", "refund"]] {
        run(&[args, &["--project", "acme/shop"]].concat());
    }
    for place in ["payment service", "weather api key", "sign what is paid", "Release", "leak"] {
        run(&["search", place, "--json"]);
    }
    // What does not exist, and what cannot be read.
    run(&["show", &format!("acme/shop@{}", secrets["request"])]);
    run(&["why", &secrets["request"], "--project", &secrets["request"]]);
    let chat = sandbox.run_with_input(&["chat"], &format!("Why is {} used?\n", secrets["question"]));
    seen.add("chat", format!("{}{}", chat.stdout, chat.stderr));
}

async fn api(url: &str, secrets: &BTreeMap<&str, String>, seen: &mut Seen) -> Value {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut warned = Value::Null;
    for query in [
        "{ issues(first: 8) { nodes { id title description securityWarning secrets { kind description count }
             labels(first: 3) { nodes { name } } discussions(first: 4) { nodes { notes(first: 4) { body securityWarning secrets { kind } } } } } } }"
            .to_owned(),
        "{ mergeRequests(first: 8) { nodes { id title description securityWarning secrets { kind } } } }".to_owned(),
        "{ stats { redactionCount secrets { project { id } secrets { kind count } } } }".to_owned(),
        "{ repositories { project branches } }".to_owned(),
        format!("{{ search(query: \"{}\") {{ hits {{ documentId }} }} }}", secrets["request"]),
        format!("{{ nonsense(query: \"{}\") }}", secrets["request"]),
        format!("{{ issue(id: \"{}\") {{ id }} }}", secrets["request"]),
        format!("query {} {{ __typename", secrets["request"]),
    ] {
        let answer = http.post(format!("{url}/graphql")).json(&json!({ "query": query })).send().await.unwrap();
        let text = answer.text().await.unwrap();
        if query.starts_with("{ issues") {
            warned = serde_json::from_str(&text).unwrap();
        }
        seen.add(query, text);
    }
    let refused = http.post(format!("{url}/graphql")).body(format!("{{\"query\": {}", secrets["request"])).send();
    seen.add("a request that is not JSON", refused.await.unwrap().text().await.unwrap());
    warned
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_secrets_reach_no_file_no_log_and_no_answer() {
    let (forge, mut origin, secrets) = (Forge::start(), Origin::new(), secrets());
    let threads = plant(&forge, &mut origin, &secrets);
    let rev = origin.sha("main").to_string();
    let sandbox = Sandbox::new(&forge);
    let mut seen = Seen(Vec::new());
    let path = origin.path().display().to_string();
    for args in
        [&["add", &path, "--name", "acme/shop", "--all-branches", "-vvv"][..], &["sync", "-vvv"], &["embed", "-vvv"]]
    {
        let output = sandbox.run(args).ok();
        seen.add(format!("{args:?}"), format!("{}\n{}", output.stdout, output.stderr));
    }
    commands(&sandbox, &threads, &secrets, &mut seen);
    let server = sandbox.serve_with(&["-vvv"]);
    let warned = api(&server.url, &secrets, &mut seen).await;
    commands(&sandbox, &threads, &secrets, &mut seen);
    // What is at another commit is read from the clone.
    let traced = sandbox.run(&["why", "docs/plan.md:3", "--project", "acme/shop", "--rev", &rev, "--json"]).ok();
    assert!(traced.stdout.contains("docs/[redacted:gitlab-token:26].md"), "{traced:#?}");
    seen.add("a trace at a commit", traced.stdout);
    let refused = sandbox.run(&["why", &format!("src/{}/refund.py:1", secrets["path"]), "--project", "acme/shop"]);
    assert!(refused.error(2).contains("refund.py is left out, as its path holds"), "{refused:#?}");
    let repositories = sandbox.run(&["repos", "--json"]).ok().json();
    let named = "1 path is left out, named by what looks like a secret: src/[redacted:gitlab-token:26]/refund.py";
    assert_eq!(repositories[0]["left_out"], json!([named]));
    assert_eq!(server.stop().0, Some(0));
    seen.add("the log of the server", fs::read(sandbox.path().join("serve.log")).unwrap());
    files(&sandbox.data(), &mut seen);
    assert!(ledger(&sandbox.data().join("ledger.sqlite"), &mut seen) > 20);
    let leaks = seen.leaks(&secrets);
    assert!(leaks.is_empty(), "{} leaks in {} texts:\n{}", leaks.len(), seen.0.len(), leaks.join("\n"));
    // The texts are there, without them.
    let all: String = seen.0.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect();
    for kind in
        ["github-token:40", "aws-access-key:20", "vault-token:94", "private-key:", "gitlab-token:26", "url-password:14"]
    {
        assert!(all.contains(&format!("[redacted:{kind}")), "{kind}");
    }
    let nodes = warned["data"]["issues"]["nodes"].as_array().unwrap_or_else(|| panic!("{warned:#}"));
    let of = |reference: &str| nodes.iter().find(|node| node["id"] == reference).unwrap();
    let issue = of(&threads[0]);
    assert_eq!(issue["securityWarning"], true, "{warned:#}");
    expect![[r#"[{"kind":"aws-access-key","description":"id of an access key of AWS","count":1},{"kind":"github-token","description":"token of GitHub: personal, fine-grained, OAuth, app, refresh","count":1}]"#]]
        .assert_eq(&issue["secrets"].to_string());
    assert_eq!(issue["discussions"]["nodes"][0]["notes"][0]["secrets"], json!([{ "kind": "slack-token" }]));
    assert_eq!(of("acme/shop#1")["securityWarning"], false);
    assert_eq!(issue["labels"]["nodes"], json!([{ "name": "[redacted:gitlab-token:26]" }]));
}

/// It looks like no secret; a proxy may repeat what it was sent.
#[test]
fn the_token_of_a_forge_that_repeats_it_is_stored_nowhere() {
    let forge = Forge::start();
    let issue = forge.new_issue("acme/shop", "alice", &format!("Denied: {TOKEN}"), &format!("PRIVATE-TOKEN: {TOKEN}"));
    forge.discuss(&issue, "carol", &format!("It was sent as {TOKEN}, see below"));
    let sandbox = Sandbox::new(&forge);
    let mut seen = Seen(Vec::new());
    for args in [&["sync", "-vvv"][..], &["show", &issue, "--json"], &["search", "denied", "--json"]] {
        let output = sandbox.run(args);
        seen.add(format!("{args:?}"), format!("{}\n{}", output.stdout, output.stderr));
    }
    assert!(sandbox.run(&["show", &issue]).ok().stdout.contains("[redacted:configured-secret:11]"));
    files(&sandbox.data(), &mut seen);
    ledger(&sandbox.data().join("ledger.sqlite"), &mut seen);
    let leaks = seen.leaks(&BTreeMap::from([("token", TOKEN.to_owned())]));
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}

#[test]
fn a_label_whose_name_is_a_secret_stays_one_label() {
    let (forge, secrets) = (Forge::start(), secrets());
    forge.new_label("acme/shop#1", &secrets["label"]);
    forge.add_label("acme/shop#2", &secrets["label"]);
    let sandbox = Sandbox::synced(&forge);
    let digest = || sandbox.run(&["check", "--digest", "--json"]).ok().json()["digest"].clone();
    let first = digest();
    let labeled = sandbox.run(&["list", "issues", "--label", "[redacted:gitlab-token:26]"]).ok().stdout;
    assert_eq!(labeled.lines().filter(|line| line.starts_with('#')).count(), 2, "{labeled}");
    sandbox.run(&["sync", "--full"]).ok();
    assert_eq!(digest(), first);
    sandbox.run(&["check"]).ok();
    let key = |key: &str| {
        let ledger =
            Connection::open_with_flags(sandbox.data().join("ledger.sqlite"), OpenFlags::SQLITE_OPEN_READ_ONLY);
        let query = "SELECT COUNT(*) FROM items WHERE kind = 'label' AND key = ?1";
        ledger.unwrap().query_row(query, [key], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((key("[redacted:gitlab-token:26]"), key(&secrets["label"])), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn long_input_is_answered_at_once_and_repeated_in_part() {
    let sandbox = Sandbox::empty();
    let server = sandbox.serve();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let long = format!("gl{}-", "pat").repeat(3500);
    let name = "a1234567890".repeat(2000);
    // Without a word that is long by itself.
    let plain = "a b c ".repeat(3400);
    let repeated = |message: &str| {
        message.matches("glpat-").count() * 6
            + message.matches("a1234567890").count() * 11
            + message.matches("a b c ").count() * 6
    };
    for body in [
        json!({ "query": format!("{{ project(fullPath: \"{long}\") {{ fullPath }} }}") }),
        json!({ "query": format!("{{ issue(id: \"{long}\") {{ id }} }}") }),
        json!({ "query": format!("{{ search(query: \"{long}\") {{ hits {{ documentId }} }} }}") }),
        json!({ "query": format!("{{ search(query: \"x\", filter: {{ projects: \"{long}\" }}) {{ hits {{ documentId }} }} }}") }),
        json!({ "query": format!("{{ job(id: \"{long} {long}\") {{ id }} }}") }),
        json!({ "query": format!("{{ project(fullPath: \"{long}\") {{ {name} }} }}") }),
        json!({ "query": format!("{{ project(fullPath: \"{long}\"") }),
        json!({ "query": format!("{{ {name} }}") }),
        json!({ "query": "query Q($p: Int!) { project(fullPath: $p) { fullPath } }", "variables": { "p": long } }),
        json!({ "query": "{ __typename }", "operationName": name }),
        json!({ "query": format!("{{ project(fullPath: \"{plain}\") {{ fullPath }} }}") }),
        json!({ "query": format!("{{ search(query: \"x\", filter: {{ created: {{ from: \"{plain}\" }} }}) {{ hits {{ documentId }} }} }}") }),
    ] {
        let started = std::time::Instant::now();
        let answer = async {
            let answer = http.post(format!("{}/graphql", server.url)).json(&body).send().await.unwrap();
            answer.json::<Value>().await.unwrap()
        };
        let health = async {
            let health = http.get(format!("{}/healthz", server.url)).send().await.unwrap();
            (health.status(), started.elapsed())
        };
        let (answer, (status, healthy)) = tokio::join!(answer, health);
        let took = started.elapsed();
        assert_eq!(status, 200);
        assert!(healthy.as_secs_f64() < 1.0 && took.as_secs_f64() < 1.0, "{healthy:?} {took:?} {answer:.300}");
        for error in answer["errors"].as_array().unwrap_or_else(|| panic!("{answer:.300}")) {
            let message = error["message"].as_str().unwrap();
            assert!(repeated(message) <= 200 && message.chars().count() <= 1000, "{message}");
        }
    }
    let plain = plain.replace(' ', "+");
    for parameter in ["format=", "state=", "edge=", "after=", ""] {
        let answer = http.get(format!("{}/api/v1/export/issues?{parameter}{plain}", server.url)).send().await.unwrap();
        assert_eq!(answer.status(), 400, "{parameter}");
        let message = problem(&answer.json::<Value>().await.unwrap());
        assert!(repeated(&message) <= 200 && message.chars().count() <= 1000, "{parameter}: {message}");
    }
}

#[test]
fn commits_are_flagged_for_their_message_and_their_lines() {
    let mut origin = Origin::new();
    let secrets = secrets();
    origin.write("a.py", format!("VAULT = \"{}\"\n", secrets["code"])).commit_all("Add the address");
    origin.write("a.py", "VAULT = None\n").commit_all(format!("Forget {}", secrets["commit title"]));
    origin.write("a.py", "VAULT = 1\n").commit_all("Count");
    let sandbox = Sandbox::indexed(&origin);
    let stats = sandbox.run(&["stats"]).ok().stdout;
    expect![[r#"
        Secrets replaced: in 3 places
          acme/shop: gitlab-token in 1 place, vault-token in 2 places
    "#]]
    .assert_eq(
        &stats
            .lines()
            .filter(|line| line.contains("Secrets") || line.starts_with("  "))
            .fold(String::new(), |all, line| all + line + "\n"),
    );
    let doctor = sandbox.run(&["doctor"]).stdout;
    assert!(
        doctor.contains("in acme/shop secrets were replaced: gitlab-token in 1 place, vault-token in 2 places"),
        "{doctor}"
    );
}

/// As after an update that knows more kinds.
#[test]
fn what_is_a_secret_by_now_is_replaced_in_what_was_read_before() {
    let (forge, mut origin, secrets) = (Forge::start(), Origin::new(), secrets());
    let token = &secrets["title"];
    origin.write("README.md", format!("# Robots\n\nRobots take {token} to work.\n"));
    origin.write("robots.py", format!("def robots():\n    # Robots take {token} to work\n    return 1\n"));
    origin.commit_all(format!("Let robots work\n\nRobots take {token} to work."));
    forge.discuss("acme/shop#2", "carol", &format!("Robots take {token} to work."));
    let sandbox = Sandbox::new(&forge);
    let digest = backstory_engine::model::digest::sha256_hex(token);
    sandbox.configure(&format!("\n[redact]\nallow = [\"{digest}\"]\n"));
    sandbox.run(&["add", &origin.path().display().to_string(), "--name", "acme/shop"]).ok();
    sandbox.run(&["sync"]).ok();
    let texts = || [&["search", "robots work"][..], &["show", "#2"]].map(|args| sandbox.run(args).ok().stdout);
    for text in texts() {
        assert!(text.contains(token), "{text}");
    }
    sandbox.configure("");
    sandbox.run(&["sync", "--full"]).ok();
    sandbox.run(&["rebuild", "index"]).ok();
    for text in texts() {
        assert!(!text.contains(token) && text.contains("[redacted:"), "{text}");
    }
}

#[test]
fn what_is_allowed_is_kept() {
    let forge = Forge::start();
    let secrets = secrets();
    let token = &secrets["title"];
    forge.discuss("acme/shop#2", "carol", &format!("This one is for tests: {token}"));
    forge.discuss("acme/shop#2", "carol", &format!("So is this: {} backstory:allow", secrets["note"]));
    let sandbox = Sandbox::new(&forge);
    let digest = backstory_engine::model::digest::sha256_hex(token);
    sandbox.configure(&format!("\n[redact]\nallow = [\"{digest}\"]\n"));
    sandbox.run(&["sync"]).ok();
    let shown = sandbox.run(&["show", "#2"]).ok().stdout;
    assert!(shown.contains(token) && shown.contains(&secrets["note"]), "{shown}");
    sandbox.configure(&format!("\n[redact]\nallow = [\"{token}\"]\n"));
    expect!["backstory.toml:11: allow: this is not the SHA-256 of a text, 64 hexadecimal digits in lower case; write what this prints: printf %s 'THE TEXT' | sha256sum"]
        .assert_eq(sandbox.run(&["sync"]).error(3));
}
