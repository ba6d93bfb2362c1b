//! Context packs: what is in them, that they fit, that they are the same each time, and that they can be proved.

use backstory_engine::{
    Engine,
    context::{About, ContextRequest, RetrieveRequest, Source},
    error::ErrorKind,
    ledger::Branches,
    model::{
        commit::Sha,
        digest::sha256_hex,
        document_type::DocumentType,
        filter::{DocumentKind, Filter},
        pack::{ContextPack, Format, Mode, Section, chunk::ChunkRef, compare_chunks, render},
    },
    tokens,
    trace::Target,
};
use expect_test::{expect, expect_file};
use serde_json::Value;

use crate::{
    cli_repositories::shop,
    support::{Indexed, Origin, PROJECT, Sandbox, settings},
    trace::world::{self, World},
};

fn request(about: About) -> ContextRequest {
    ContextRequest {
        about,
        filter: Filter::default(),
        path: None,
        near: vec![],
        ranking: None,
        mode: Mode::All,
        format: Format::Markdown,
        tokens: 20_000,
        diffs: true,
        tests: true,
        snapshot: None,
    }
}

fn question(text: &str) -> ContextRequest {
    request(About::Query(text.to_owned()))
}

fn place(target: Target) -> ContextRequest {
    let filter = Filter { project: Some(world::SHOP.to_owned()), ..Filter::default() };
    ContextRequest { filter, ..request(About::Target { target, rev: None }) }
}

fn line_42() -> ContextRequest {
    place(Target::Lines { path: world::TOKEN.to_owned(), lines: Some((42, 42)) })
}

/// A pack as it is printed, without what differs from run to run.
fn told(world: &World, pack: &ContextPack) -> String {
    let text = render(pack).replace(&world.forge.url, "FORGE");
    let (body, _) = text.rsplit_once("\n---\n").unwrap();
    format!("{body}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_reads() {
    let world = World::new().await;
    let asked = world.engine.build_pack(question("why is a clock skew accepted when tokens expire")).await.unwrap();
    expect_file!["context/question.md"].assert_eq(&told(&world, &asked));
    let line = world.engine.build_pack(line_42()).await.unwrap();
    expect_file!["context/line.md"].assert_eq(&told(&world, &line));
    let issue = world.engine.build_pack(place(Target::Node("acme/shop#1".parse().unwrap()))).await.unwrap();
    expect_file!["context/issue.md"].assert_eq(&told(&world, &issue));
    let bare = ContextRequest { diffs: false, tests: false, ..line_42() };
    let bare = world.engine.build_pack(bare).await.unwrap();
    assert!(bare.important_diffs.is_empty() && bare.related_tests.is_empty() && !line.important_diffs.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manifest_says_what_was_read() {
    let world = World::new().await;
    let wanted = ContextRequest { format: Format::Json, ..question("why is a clock skew accepted when tokens expire") };
    let pack = world.engine.build_pack(wanted).await.unwrap();
    let json: Value = serde_json::from_str(&render(&pack)).unwrap();
    let mut manifest = json["manifest"].clone();
    assert_eq!(manifest["snapshot"], json["metadata"]["snapshot"]);
    assert_eq!(manifest["timestamp"], json["metadata"]["generated_at"]);
    for chunk in json["retrieved"].as_array().unwrap() {
        let hash = sha256_hex(chunk["text"].as_str().unwrap());
        let is_it = |known: &&Value| known["id"] == chunk["chunk_id"] && known["content_hash"] == hash.as_str();
        assert!(manifest["chunks"].as_array().unwrap().iter().any(|known| is_it(&known)), "{chunk}");
        for field in ["chunk_id", "document", "document_type", "repository", "lines", "score"] {
            assert!(!chunk[field].is_null(), "{field} of {chunk}");
        }
        assert!(chunk["url"].is_string() || chunk["commit"].is_string() && chunk["path"].is_string(), "{chunk}");
    }
    for (field, shown) in [("id", "ID"), ("snapshot", "SNAPSHOT"), ("timestamp", "TIME")] {
        assert!(manifest[field].is_string(), "{field}");
        manifest[field] = shown.into();
    }
    // Ids and hashes are told apart above; which items they are of is told here.
    for list in ["items", "chunks"] {
        for of in manifest[list].as_array_mut().unwrap() {
            assert_eq!(of["content_hash"].as_str().unwrap().len(), 64);
            of["content_hash"] = "HASH".into();
            if list == "chunks" {
                assert_eq!(of["id"].as_str().unwrap().len(), 64);
                of["id"] = "ID".into();
            }
        }
    }
    expect_file!["context/manifest.json"].assert_eq(&(serde_json::to_string_pretty(&manifest).unwrap() + "\n"));
    assert!(pack.retrieved.is_sorted_by(|a, b| compare_chunks(a, b).is_le()));
}

#[tokio::test(flavor = "multi_thread")]
async fn never_more_tokens_than_asked_for() {
    let world = World::new().await;
    let mut random = fastrand::Rng::with_seed(7);
    let words: Vec<&str> =
        "why token expire session Redis clock skew {\"} ```` verify_expiry müde 時計 algorithm \u{1f980} cookie\nmobile the a"
            .split(' ')
            .collect();
    let (mut full, mut asked) = (0, 0);
    for _ in 0..60 {
        let text: Vec<&str> = (0..random.usize(1..40)).map(|_| words[random.usize(0..words.len())]).collect();
        let tokens = *random.choice(&[200, 211, 250, 400, 999, 1000, 1500, 4000]).unwrap();
        let format = if random.bool() { Format::Json } else { Format::Markdown };
        let about = if random.u8(0..5) == 0 { line_42() } else { question(&text.join(" ")) };
        let pack = world.engine.build_pack(ContextRequest { tokens, format, ..about }).await.unwrap();
        let count = tokens::count(&(render(&pack) + "\n"));
        assert!(count <= tokens, "{count} of {tokens} for {}", text.join(" "));
        assert_eq!(count, pack.metadata.token_count);
        asked += usize::from(tokens >= 1000);
        full += usize::from(tokens >= 1000 && count * 10 >= tokens * 7);
    }
    assert!(full * 2 > asked, "most of the budget is used: {full} of {asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_passage_can_be_proved() {
    let mut world = World::new().await;
    let pack = world.engine.build_pack(line_42()).await.unwrap();
    let kinds: std::collections::BTreeSet<DocumentType> = pack.retrieved.iter().map(|of| of.document_type).collect();
    for kind in [DocumentType::Code, DocumentType::MergeRequest, DocumentType::Discussion, DocumentType::Commit] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    for chunk in &pack.retrieved {
        let proof = world.engine.verify_chunk(&chunk.reference()).await.unwrap();
        assert!(proof.holds && proof.chunk_id == chunk.chunk_id, "{chunk:?} {proof:?}");
        assert_eq!(proof.source, if chunk.path.is_some() { Source::Clone } else { Source::Ledger });
        let other = ChunkRef { text_hash: sha256_hex("something else"), ..chunk.reference() };
        assert!(!world.engine.verify_chunk(&other).await.unwrap().holds);
    }
    // What stood in a file stands there for ever at that commit, though the file is another now.
    let code = pack.retrieved.iter().find(|of| of.path.as_deref() == Some(world::TOKEN)).unwrap().reference();
    world.move_expiry().await;
    assert!(world.engine.verify_chunk(&code).await.unwrap().holds);
    let gone = ChunkRef { document: "acme/shop#4711".into(), path: None, commit: None, ..code.clone() };
    assert_eq!(world.engine.verify_chunk(&gone).await.unwrap().text, None);
    let nowhere = ChunkRef { path: Some("no/such.rs".into()), ..code.clone() };
    assert_eq!(world.engine.verify_chunk(&nowhere).await.unwrap().text, None);
    for wrong in [
        ChunkRef { lines: (0, 1), ..code.clone() },
        ChunkRef { commit: None, ..code.clone() },
        ChunkRef { document: "no reference!".into(), path: None, ..code },
    ] {
        assert_eq!(world.engine.verify_chunk(&wrong).await.unwrap_err().kind, ErrorKind::Invalid);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_pack_holds_the_best_item_trimmed() {
    let world = World::new().await;
    for format in [Format::Markdown, Format::Json] {
        let wanted =
            |tokens| ContextRequest { tokens, format, ..question("why is a clock skew accepted when tokens expire") };
        let large = world.engine.build_pack(wanted(4_000)).await.unwrap();
        let small = world.engine.build_pack(wanted(300)).await.unwrap();
        let held: Vec<&str> = small.key_items.iter().map(|item| item.reference.as_str()).collect();
        assert_eq!(held, [large.key_items[0].reference.as_str()], "{}", render(&small));
        assert!(tokens::count(&(render(&small) + "\n")) <= 300);
    }
}

// Row 129 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn a_pack_always_says_when_what_it_is_made_from_was_indexed() {
    let world = World::new().await;
    // While vectors are being made no state is on record.
    let ledger = rusqlite::Connection::open(world.data.path().join("ledger.sqlite")).unwrap();
    assert!(ledger.execute("DELETE FROM index_snapshots", []).unwrap() > 0);
    let pack = world.engine.build_pack(line_42()).await.unwrap();
    assert!(pack.metadata.generated_at.is_some() && pack.manifest.timestamp == pack.metadata.generated_at);
    assert_eq!(render(&pack), render(&world.engine.build_pack(line_42()).await.unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_line_stands_in_two_passages() {
    let mut origin = governed();
    let body: String = (0..40).map(|line| format!("    let code_{line} = report_code({line});\n")).collect();
    origin.write(
        "src/codes.rs",
        format!("//! Codes of errors.\n\n/// Reports every code.\npub fn report_all() {{\n{body}}}\n"),
    );
    origin.commit_all("Report every code");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let mut shown = 0;
    for asked in ["report every code of errors", "errors", "report_code", "Codes of errors"] {
        let pack = indexed.engine.build_pack(question(asked)).await.unwrap();
        for (at, one) in pack.retrieved.iter().enumerate() {
            let beside = pack.retrieved[..at].iter().filter(|other| other.path.is_some() && other.path == one.path);
            for other in beside {
                assert!(one.lines.1 < other.lines.0 || other.lines.1 < one.lines.0, "{asked}: {one:?} {other:?}");
                shown += 1;
            }
        }
    }
    assert!(shown > 0, "some file has several passages");
}

/// A repository with documents that govern and others.
fn governed() -> Origin {
    let mut origin = Origin::new();
    origin.write(
        "docs/adr/0001-errors.md",
        "# Errors\n\nErrors must be reported with a code, because clients read codes.\n",
    );
    origin.write("docs/spec/errors.md", "# Reporting errors\n\nAn error has a code and a message.\n");
    origin.write("docs/contracts/api.md", "# Errors of the API\n\nEvery error answer holds the code.\n");
    origin.write("docs/guide.md", "# Errors\n\nHow errors are reported with a code, by example.\n");
    origin.write(
        "src/errors.rs",
        "/// Reports an error with its code.\npub fn report(code: u32) -> u32 {\n    code\n}\n",
    );
    origin.commit_all("Report errors with a code");
    origin
}

#[tokio::test(flavor = "multi_thread")]
async fn what_governs_comes_first_and_may_come_alone() {
    let origin = governed();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let asked = question("how must errors be reported with a code");
    let types =
        |pack: &ContextPack| pack.retrieved.iter().map(|of| of.document_type.as_str()).collect::<Vec<_>>().join(" ");
    let all = indexed.engine.build_pack(asked.clone()).await.unwrap();
    expect!["spec contract adr doc code commit"].assert_eq(&types(&all));
    let governing = ContextRequest { mode: Mode::GoverningDocsOnly, ..asked.clone() };
    let governing = indexed.engine.build_pack(governing).await.unwrap();
    expect!["spec contract adr"].assert_eq(&types(&governing));
    let nothing_else = [Section::KeyItems, Section::CodeContext, Section::ImportantDiffs, Section::DesignNotes];
    assert!(nothing_else.iter().all(|section| !governing.manifest.counts.contains_key(section)));
    // Below a prefix.
    let below = ContextRequest { path: Some("./src".into()), ..asked.clone() };
    let below = indexed.engine.build_pack(below).await.unwrap();
    expect!["code commit"].assert_eq(&types(&below));
    let changed = |pack: &ContextPack| pack.important_diffs.iter().map(|of| of.path.clone()).collect::<Vec<_>>();
    assert!(changed(&all).iter().any(|path| !path.starts_with("src/")), "{:?}", changed(&all));
    assert_eq!(changed(&below), ["src/errors.rs"]);
    let kinds = Filter { kinds: vec![DocumentKind::Commit], ..Filter::default() };
    let commits = indexed.engine.build_pack(ContextRequest { filter: kinds, ..asked.clone() }).await.unwrap();
    expect!["commit"].assert_eq(&types(&commits));
    // Two that exclude each other find nothing, and say so.
    let issues = Filter { kinds: vec![DocumentKind::Issue], ..Filter::default() };
    let none = ContextRequest { filter: issues, mode: Mode::GoverningDocsOnly, ..asked };
    let none = indexed.engine.build_pack(none).await.unwrap();
    expect!["The index has no specification, contract or recorded decision that answers the question."]
        .assert_eq(&none.summary);
}

// Row 45 of docs/requirements.md.
/// What is narrowed is looked for among everything, not among the first hundred hits.
#[tokio::test(flavor = "multi_thread")]
async fn what_governs_or_stands_below_a_path_is_found_behind_hundreds_of_others() {
    let mut origin = Origin::new();
    for number in 0..150 {
        let text = format!("# Errors, codes\n\nErrors report codes: error code {number}, errors, codes.\n");
        origin.write(format!("notes/errors-{number}.md"), text);
    }
    origin.commit_all("Report errors with codes");
    origin.write("docs/adr/0001-failures.md", "# Failures\n\nOf all things that fail, each is told with many more words than others need, and then the errors have their codes too, since clients ask for them.\n");
    origin.write("lib/failures.md", "# Failures\n\nOf all the things that a library may say when it fails, of which there are many more than anybody wants to know, it reports the codes of errors last.\n");
    origin.commit_all("Say what fails");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let asked = question("report errors with codes");
    let paths = |pack: &ContextPack| {
        let paths = pack.retrieved.iter().filter_map(|of| of.path.clone());
        paths.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    let governing = ContextRequest { mode: Mode::GoverningDocsOnly, ..asked.clone() };
    assert_eq!(paths(&indexed.engine.build_pack(governing).await.unwrap()), "docs/adr/0001-failures.md");
    let below = ContextRequest { path: Some("lib".into()), ..asked };
    assert_eq!(paths(&indexed.engine.build_pack(below).await.unwrap()), "lib/failures.md");
}

// Row 143 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn filters_hold_for_every_section_of_a_pack_about_code() {
    let mut world = World::new().await;
    world.add_checks().await;
    let whole = || place(Target::Lines { path: world::TOKEN.to_owned(), lines: None });
    let all = world.engine.build_pack(whole()).await.unwrap();
    assert!(all.timeline.iter().any(|entry| entry.date != "2024-01-01"), "{:?}", all.timeline);
    // The commits that added checks were made from five o'clock on; the issues and requests are older or newer.
    let (after, before) = ("2024-01-01T05:00:00Z".parse().unwrap(), "2024-01-02T00:00:00Z".parse().unwrap());
    let filter = Filter { after: Some(after), before: Some(before), ..whole().filter };
    let narrowed = world.engine.build_pack(ContextRequest { filter, ..whole() }).await.unwrap();
    assert!(!narrowed.key_items.is_empty() && !narrowed.important_diffs.is_empty(), "{narrowed:?}");
    assert!(narrowed.timeline.iter().all(|entry| entry.date == "2024-01-01"), "{:?}", narrowed.timeline);
    for item in &narrowed.key_items {
        assert!(item.kind == "commit" && item.title.starts_with("Check the "), "{item:?}");
    }
    assert!(narrowed.important_diffs.iter().all(|diff| diff.explanation.contains("Check the ")), "{narrowed:?}");
    assert!(narrowed.design_notes.is_empty(), "{:?}", narrowed.design_notes);
    assert!(narrowed.summary.starts_with("320 lines of src/auth/token.rs were written in the time"), "{narrowed:?}");
    assert!(narrowed.missing.iter().any(|said| said.contains("do not meet the filters")), "{:?}", narrowed.missing);
    // Nothing is newer.
    let later = Filter { after: Some(before), ..whole().filter };
    let later = world.engine.build_pack(ContextRequest { filter: later, ..line_42() }).await.unwrap();
    assert!(later.summary.starts_with("No line of src/auth/token.rs:42 was written in the time"), "{}", later.summary);
    assert!(later.timeline.iter().all(|entry| entry.date.as_str() > "2024-01-01"), "{:?}", later.timeline);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_author_may_be_named_in_any_way() {
    let mut origin = governed();
    origin.author("Alice Smith", "alice@example.org");
    origin.write("src/more.rs", "/// Errors with a code, once more.\npub fn more() {}\n");
    origin.commit_all("Report more errors with a code");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let kinds = vec![DocumentKind::Commit];
    let by = async |author: &str| {
        let asked = question("errors with a code");
        let filter = Filter { authors: vec![author.to_owned()], kinds: kinds.clone(), ..asked.filter.clone() };
        let pack = indexed.engine.build_pack(ContextRequest { filter, ..asked }).await.unwrap();
        pack.key_items.into_iter().map(|item| item.title).collect::<Vec<_>>()
    };
    assert_eq!(by("ALICE SMITH").await, ["Report more errors with a code"]);
    assert_eq!(by("alice@example.org").await, ["Report more errors with a code"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_bytes_each_time_also_after_a_restart() {
    let origin = governed();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let asked = ContextRequest { format: Format::Json, ..question("errors with a code") };
    let lines = Target::Lines { path: "src/errors.rs".into(), lines: Some((2, 3)) };
    let filter = Filter { project: Some(PROJECT.into()), ..Filter::default() };
    let code = ContextRequest { filter, ..request(About::Target { target: lines, rev: None }) };
    let both = async |engine: &Engine| {
        let (one, other) =
            (engine.build_pack(asked.clone()).await.unwrap(), engine.build_pack(code.clone()).await.unwrap());
        (render(&one), render(&other))
    };
    let first = both(&indexed.engine).await;
    assert_eq!(first, both(&indexed.engine).await);
    let named = ContextRequest { snapshot: Some(indexed.engine.load_state().await.unwrap().id), ..asked.clone() };
    assert_eq!(first.0, render(&indexed.engine.build_pack(named).await.unwrap()));
    let Indexed { data, engine } = indexed;
    drop(engine);
    let engine = Engine::open(data.path(), settings()).await.unwrap();
    assert_eq!(first, both(&engine).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_requests_are_refused() {
    let mut origin = governed();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let asked = question("errors");
    let refused = async |request: ContextRequest| {
        let error = indexed.engine.build_pack(request).await.unwrap_err();
        format!("{:?}: {error}", error.kind)
    };
    let old = indexed.engine.load_state().await.unwrap().id;
    origin.write("docs/guide.md", "# Other\n").commit_all("Say something else");
    indexed.sync().await;
    let new = indexed.engine.load_state().await.unwrap().id;
    let mut said = Vec::new();
    for wrong in [
        ContextRequest { tokens: 199, ..asked.clone() },
        ContextRequest { tokens: 100_001, ..asked.clone() },
        question(" "),
        question(&"x".repeat(2001)),
        ContextRequest { path: Some("/".into()), ..asked.clone() },
        ContextRequest { snapshot: Some("nonsense".into()), ..asked.clone() },
        ContextRequest { snapshot: Some("0123456789abcdef".into()), ..asked.clone() },
        ContextRequest { filter: Filter { project: Some("no/such".into()), ..Filter::default() }, ..asked.clone() },
        request(About::Target { target: Target::Lines { path: "no/such.rs".into(), lines: None }, rev: None }),
    ] {
        said.push(refused(wrong).await);
    }
    expect_file!["context/errors.txt"].assert_eq(&(said.join("\n") + "\n"));
    let of_old =
        indexed.engine.build_pack(ContextRequest { snapshot: Some(old.clone()), ..asked.clone() }).await.unwrap();
    let of_new =
        indexed.engine.build_pack(ContextRequest { snapshot: Some(new.clone()), ..asked.clone() }).await.unwrap();
    assert_eq!((&of_old.manifest.snapshot, &of_new.manifest.snapshot), (&old, &new));
    assert_ne!(of_old.manifest.commits, of_new.manifest.commits);
    // Its record alone does not tell what it held.
    let ledger = indexed.ledger();
    ledger.delete_snapshots(std::slice::from_ref(&old)).unwrap();
    let gone = refused(ContextRequest { snapshot: Some(old.clone()), ..asked }).await;
    assert!(gone.starts_with("NotFound") && gone.contains(&old), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_in_no_pack() {
    let mut origin = Origin::new();
    let key =
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAvUJ4zQ4V3mmRlzC8Y1V7uT3GQm\n-----END RSA PRIVATE KEY-----\n";
    let token = format!("glpat-{}", "a1B2c3D4e5F6g7H8i9J0");
    origin.write(
        "src/keys.py",
        format!("# The signing key of the shop\nKEY = \"\"\"{key}\"\"\"\n\ndef sign(text):\n    return text\n"),
    );
    origin.write(
        "src/forge.py",
        format!("# The token of the forge\nTOKEN = \"{token}\"\n\ndef fetch(url):\n    return url\n"),
    );
    let sha: Sha = origin.commit_all("Sign with the key and fetch with the token");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    for about in [
        question("signing key and token of the forge"),
        request(About::Target {
            target: Target::Lines { path: "src/forge.py".into(), lines: Some((1, 2)) },
            rev: None,
        }),
        request(About::Target { target: Target::Lines { path: "src/keys.py".into(), lines: Some((2, 4)) }, rev: None }),
        request(About::Target { target: Target::Node(format!("{PROJECT}@{sha}").parse().unwrap()), rev: None }),
    ] {
        let text = render(&indexed.engine.build_pack(about).await.unwrap());
        assert!(!text.contains(&token) && !text.contains("MIIEow"), "{text}");
    }
}

#[test]
fn the_command_line_prints_the_pack() {
    let origin = governed();
    let sandbox = Sandbox::indexed(&origin);
    let text = sandbox.run(&["context", "how are errors reported", "--tokens", "800"]).ok();
    assert!(text.stdout.starts_with("# Context: how are errors reported\n"), "{text:?}");
    assert!(tokens::count(&text.stdout) <= 800);
    assert_eq!(text.stdout, sandbox.run(&["context", "how are errors reported", "--tokens", "800"]).ok().stdout);
    let json = sandbox.run(&["context", "src/errors.rs#report", "--format", "json", "--no-diffs", "--no-tests"]).ok();
    assert_eq!(json.json()["metadata"]["query"], "src/errors.rs#report");
    assert_eq!(json.json()["code_context"][0]["entity"], "report");
    assert!(tokens::count(&json.stdout) <= 4000);
    let governing =
        sandbox.run(&["context", "errors", "--mode", "governing-docs-only", "--format", "json"]).ok().json();
    let types: Vec<&Value> = governing["retrieved"].as_array().unwrap().iter().map(|of| &of["document_type"]).collect();
    assert_eq!(types, ["spec", "contract", "adr"]);
    let wrong = sandbox.run(&["context", "errors", "--snapshot", "0000"]);
    expect!["there is no snapshot 0000; 'backstory snapshots list' shows those that are kept"]
        .assert_eq(wrong.error(1));
    let server = sandbox.serve();
    let there = sandbox.run(&["context", "how are errors reported", "--tokens", "800"]).ok();
    assert!(there.stdout.starts_with("# Context: how are errors reported\n"), "{there:?}");
    drop(server);
}

// Rows 126 and 138 of docs/requirements.md.
#[test]
fn words_are_questions_and_names_are_places() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let _server = sandbox.serve();
    let asked = |what: &str| sandbox.run(&["context", what, "--format", "json"]);
    for place in [
        "src/auth.rs:42",
        "src/auth.rs:42-60",
        "auth.rs:42",
        "src/auth.rs#login",
        "src/auth.rs",
        "#12",
        "!7",
        "@1a2b3c4",
        "1a2b3c4d",
        "acme/shop!7",
        "acme/shop@1a2b3c4",
        "acme/shop:src/a.rs#login",
    ] {
        let output = asked(place);
        assert!(output.code == 1 && output.error(1).starts_with("there is no "), "{place}: {output:?}");
    }
    for question in [
        "why do tokens expire",
        "authentication",
        "secp256k1_ecdsa_verify",
        "Session::login",
        "defaced",
        "why src/auth.rs:42",
        "https://example.com/x",
        "what about acme/shop!7",
        "why:",
    ] {
        assert_eq!(asked(question).ok().json()["metadata"]["query"], question);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_passages_are_retrieved_as_are_asked_for() {
    let mut origin = Origin::new();
    for tenant in 0..40 {
        let text = format!("# Tenant {tenant}\n\nThe session of tenant {tenant} ends after {tenant} idle minutes.\n");
        origin.write(format!("docs/tenant_{tenant}.md"), text);
    }
    origin.commit_all("Say when sessions end");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let request = |limit| RetrieveRequest {
        query: "when does the session of a tenant end".to_owned(),
        limit,
        tokens: 50_000,
        ..RetrieveRequest::default()
    };
    let few = indexed.engine.answer(request(3)).await.unwrap();
    assert_eq!(few.chunks.len(), 3, "{few:#?}");
    let many = indexed.engine.answer(request(40)).await.unwrap();
    assert!(many.chunks.len() > 12, "{} of {}", many.chunks.len(), many.left_out);
}
