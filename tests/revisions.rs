//! Further branches, tags and commits of a repository, and recorded states of the index: a search limited to one is the
//! search of a data directory that holds nothing else.

use std::ffi::OsString;

use backstory_engine::{
    EmbedRequest, Projection, RebuildRequest, Scope,
    context::{About, ContextRequest, RetrieveRequest, Retrieved},
    error::{Error, ErrorKind},
    ledger::Branches,
    model::{
        commit::Sha,
        filter::{DocumentKind, Filter},
        pack::{Format, Mode as PackMode},
        score::Profile,
    },
    repository::{AddRef, DropRef},
    search::{Expansion, HitSummary, ListDocuments, Mode, SearchRequest, SearchResponse},
    settings::Ranking,
    snapshot::{GetSnapshot, ListSnapshots, PinSnapshot, PruneSnapshots, SnapshotReport},
    stats::StatsRequest,
};
use serde_json::{Value, json};

use crate::support::{Indexed, Origin, PROJECT, Sandbox};

/// Questions whose words are in some files and commits of each revision, more often in some than in others.
const QUESTIONS: [&str; 7] = [
    "how long does a session last",
    "retry with a backoff",
    "load_session",
    "limits of requests",
    "where is the cache cleared",
    "voucher",
    "release notes",
];

fn code(names: &[&str], word: &str) -> String {
    let function = |name: &&str| {
        format!(
            "/// Does what {word} needs: {name}.\npub fn {name}(limit: u32) -> u32 {{\n    limit + {} // {word}\n}}\n\n",
            word.len()
        )
    };
    names.iter().map(function).collect()
}

/// What a repository has at its tips.
struct Tips {
    main: Sha,
    release: Sha,
    old: Sha,
}

/// A repository whose branches have files in common, files that differ, files of their own, and a fix that was made twice.
fn branched() -> (Origin, Tips) {
    let mut origin = Origin::new();
    origin.write(
        "README.md",
        "# Tool\n\nRelease notes are in docs. A session lasts one hour.\n\n## Limits\n\nTen requests.\n",
    );
    origin.write("src/session.rs", code(&["load_session", "end_session"], "session"));
    origin.write("src/retry.rs", code(&["retry", "wait"], "backoff"));
    origin.commit_all("Begin with sessions and retries");
    origin.write("src/cache.rs", code(&["clear_cache", "load_session_from_cache"], "cache"));
    let old = origin.commit_all("Cache sessions");
    origin.git(["tag", "v1.0"]);
    origin.switch("release");
    origin.write("src/limits.rs", code(&["limit_requests"], "limits"));
    origin.write("src/retry.rs", code(&["retry", "wait", "give_up"], "backoff after some retries"));
    origin.commit_all("Limit requests in the release");
    // The same fix on both branches, at another time.
    origin.write("src/session.rs", code(&["load_session", "end_session", "renew_session"], "a session that lasts"));
    let release = origin.commit_all("Renew sessions, for the release");
    origin.git(["checkout", "--quiet", "main"]);
    origin.remove("src/cache.rs");
    origin.write("src/voucher.rs", code(&["redeem_voucher"], "voucher"));
    origin.commit_all("Vouchers in place of the cache");
    origin.write("src/session.rs", code(&["load_session", "end_session", "renew_session"], "a session that lasts"));
    origin.write("docs/release.md", "# Release notes\n\nVouchers, and sessions that are renewed.\n");
    let main = origin.commit_all("Renew sessions");
    (origin, Tips { main, release, old })
}

/// A data directory that holds only what a commit reaches.
async fn only(origin: &Origin, commit: Sha) -> Indexed {
    let head = origin.say(["symbolic-ref", "HEAD"]);
    origin.git(["branch", "--force", "alone", commit.to_string().as_str()]);
    origin.git(["symbolic-ref", "HEAD", "refs/heads/alone"]);
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    origin.git(["symbolic-ref", "HEAD", head.trim()]);
    origin.git(["branch", "--quiet", "-D", "alone"]);
    indexed
}

async fn embed(indexed: &Indexed) {
    let task = indexed.engine.answer(EmbedRequest {}).await.unwrap();
    indexed.end_of(&task).await.unwrap();
}

fn at(revision: &str) -> Filter {
    Filter { revision: Some(revision.to_owned()), ..Filter::default() }
}

fn at_snapshot(id: &str) -> Filter {
    Filter { snapshot: Some(id.to_owned()), ..Filter::default() }
}

async fn search(indexed: &Indexed, request: SearchRequest) -> SearchResponse<HitSummary> {
    indexed.engine.answer(request).await.unwrap()
}

/// Everything that is told of a search but how long it took, and of who wrote how much only what all wrote: who is one person
/// follows from all commits that are indexed.
fn told(mut found: SearchResponse<HitSummary>) -> Value {
    let facets = found.facets.iter_mut().flat_map(|facets| &mut facets.facets);
    for authors in facets.filter(|facet| facet.name == "author") {
        let count = authors.values.iter().map(|author| author.count).sum();
        authors.values.truncate(1);
        for author in &mut authors.values {
            (author.value, author.count) = (String::new(), count);
        }
    }
    let mut json = serde_json::to_value(found).unwrap();
    json.as_object_mut().unwrap().retain(|name, _| !["took_ms", "next"].contains(&name.as_str()));
    json
}

/// A search limited to a state is the search of what holds nothing else: by words and by meaning, of everything and of code,
/// by one profile and another, with what is counted.
async fn assert_equal(indexed: &Indexed, filter: Filter, alone: &Indexed) {
    assert_equal_for(&QUESTIONS, indexed, filter, alone).await;
}

async fn assert_equal_for(questions: &[&str], indexed: &Indexed, filter: Filter, alone: &Indexed) {
    for question in questions {
        for kinds in [vec![], vec![DocumentKind::Code], vec![DocumentKind::Commit], vec![DocumentKind::Section]] {
            for (mode, profile) in [
                (Mode::Hybrid, Profile::Default),
                (Mode::Hybrid, Profile::Rrf),
                (Mode::Lexical, Profile::Default),
                (Mode::Semantic, Profile::Default),
            ] {
                let request = |filter: Filter| SearchRequest {
                    query: (*question).to_owned(),
                    filter: Filter { kinds: kinds.clone(), ..filter },
                    mode,
                    ranking: Some(Ranking::from(profile)),
                    limit: 50,
                    expansion: Expansion::None,
                    facets: true,
                    explain: true,
                    ..SearchRequest::default()
                };
                let limited = told(search(indexed, request(filter.clone())).await);
                let expected = told(search(alone, request(Filter::default())).await);
                assert_eq!(limited, expected, "{question} {kinds:?} {mode:?} {profile:?} {filter:?}");
            }
        }
    }
    let list = |filter: Filter| ListDocuments { filter, limit: 500, after: None };
    let limited = indexed.engine.answer(list(filter)).await.unwrap();
    assert_eq!(limited, alone.engine.answer(list(Filter::default())).await.unwrap());
    assert!(limited.total > 5, "{limited:?}");
}

async fn versions(indexed: &Indexed) -> u64 {
    indexed.engine.answer(StatsRequest {}).await.unwrap().versions
}

async fn add_ref(indexed: &Indexed, name: &str) {
    indexed.engine.answer(AddRef { project: PROJECT.to_owned(), name: name.to_owned() }).await.unwrap();
}

// Rows 2 and 14 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_limited_to_a_ref_is_that_of_a_directory_that_holds_only_it() {
    let (origin, tips) = branched();
    let indexed = Indexed::added(origin.path(), Branches::Default).await;
    let first = origin.sha("v1.0~1").to_string();
    for name in ["release", "refs/tags/v1.0", &first] {
        add_ref(&indexed, name).await;
    }
    indexed.sync().await;
    embed(&indexed).await;
    let commits =
        [("main", tips.main), ("release", tips.release), ("v1.0", tips.old), (&first, first.parse().unwrap())];
    for (name, commit) in commits {
        let alone = only(&origin, commit).await;
        embed(&alone).await;
        assert_equal(&indexed, at(name), &alone).await;
        // By its object name too.
        assert_equal(&indexed, at(&commit.to_string()), &alone).await;
    }
    indexed.check().await;
}

/// Three commits of a real repository beside its head, if `BACKSTORY_TEST_REPOSITORY` names a clone of one. The questions
/// are the titles of its commits.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_limited_to_a_commit_of_a_real_repository_is_that_of_a_directory_that_holds_only_it() {
    let Some(source) = std::env::var_os("BACKSTORY_TEST_REPOSITORY") else { return };
    let origin = Origin::new();
    let fetch = ["fetch", "--quiet", "--no-tags", "--update-head-ok"].map(OsString::from);
    origin.git(fetch.into_iter().chain([source, "HEAD:refs/heads/main".into()]));
    let history = origin.say(["log", "--first-parent", "--reverse", "--format=%H %s", "main"]);
    let history: Vec<(&str, &str)> = history.lines().filter_map(|line| line.split_once(' ')).collect();
    let commits = [1, 2, 3].map(|quarter| history[history.len() * quarter / 4].0);
    let questions: Vec<&str> = (0..12).map(|twelfth| history[history.len() * twelfth / 12].1).collect();
    let indexed = Indexed::added(origin.path(), Branches::Default).await;
    for commit in commits {
        add_ref(&indexed, commit).await;
    }
    indexed.sync().await;
    embed(&indexed).await;
    for commit in commits {
        let alone = only(&origin, commit.parse().unwrap()).await;
        embed(&alone).await;
        assert_equal_for(&questions, &indexed, at(commit), &alone).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refs_that_move_are_followed_and_what_follows_from_the_ledger_is_the_same_again() {
    let (mut origin, _) = branched();
    let indexed = Indexed::added(origin.path(), Branches::Default).await;
    for name in ["release", "v1.0"] {
        add_ref(&indexed, name).await;
    }
    indexed.sync().await;
    origin.write("src/retry.rs", code(&["retry", "wait"], "backoff that doubles"));
    origin.commit_all("Double the backoff");
    origin.git(["checkout", "--quiet", "release"]);
    origin.write("src/limits.rs", code(&["limit_requests", "limit_users"], "limits"));
    origin.remove("README.md");
    origin.commit_all("Limit users");
    origin.git(["checkout", "--quiet", "main"]);
    // What one branch takes over from the other.
    let release = origin.sha("release");
    origin.write("src/limits.rs", code(&["limit_requests", "limit_users"], "limits"));
    origin.git(["add", "--all"]);
    let merge = origin.commit_index("Merge branch 'release'", &[release]);
    indexed.sync().await;
    embed(&indexed).await;
    let cold = Indexed::added(origin.path(), Branches::Default).await;
    for name in ["release", "v1.0"] {
        add_ref(&cold, name).await;
    }
    cold.sync().await;
    // But for those of the state before.
    indexed.engine.answer(PruneSnapshots { keep: Some(1) }).await.unwrap();
    assert_eq!(versions(&indexed).await, versions(&cold).await);
    indexed.said().await.same_as(&cold.said().await, "after the refs moved");
    for (name, commit) in [("release", release), ("v1.0", origin.sha("v1.0")), ("main", merge)] {
        let alone = only(&origin, commit).await;
        embed(&alone).await;
        assert_equal(&indexed, at(name), &alone).await;
        let task = indexed.engine.answer(RebuildRequest { projection: Projection::Index }).await.unwrap();
        indexed.end_of(&task).await.unwrap();
        assert_equal(&indexed, at(name), &alone).await;
    }
    indexed.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_differs_is_kept_and_goes_with_the_last_ref_that_has_it() {
    let (origin, tips) = branched();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let all = || told_of(&indexed, "session", Filter { kinds: vec![DocumentKind::Code], ..Filter::default() });
    let before = all().await;
    assert_eq!(versions(&indexed).await, 0);
    // What main was a while ago has one file that main has not, and others as they were.
    add_ref(&indexed, "v1.0").await;
    indexed.sync().await;
    let of_tag = versions(&indexed).await;
    // Two files with two functions each: cache.rs and session.rs. The others are the same.
    assert_eq!(of_tag, 6);
    // The same commit by another name adds nothing.
    add_ref(&indexed, &tips.old.to_string()).await;
    indexed.sync().await;
    assert_eq!(versions(&indexed).await, of_tag);
    assert_eq!(all().await, before, "a search of the default branch is what it was");
    let project = PROJECT.to_owned();
    indexed.engine.answer(DropRef { project: project.clone(), name: "v1.0".to_owned() }).await.unwrap();
    indexed.sync().await;
    assert_eq!(versions(&indexed).await, of_tag, "another name still has it");
    let error = refused(&indexed, at("v1.0")).await;
    assert_eq!(error.kind, ErrorKind::NotFound, "{error}");
    indexed.engine.answer(DropRef { project, name: tips.old.to_string() }).await.unwrap();
    indexed.sync().await;
    assert_eq!(versions(&indexed).await, 0);
    assert_eq!(all().await, before);
    indexed.check().await;
}

async fn told_of(indexed: &Indexed, query: &str, filter: Filter) -> Value {
    told(
        search(indexed, SearchRequest { query: query.to_owned(), filter, limit: 20, ..SearchRequest::default() }).await,
    )
}

async fn refused(indexed: &Indexed, filter: Filter) -> Error {
    let request = SearchRequest { query: "session".to_owned(), filter, limit: 5, ..SearchRequest::default() };
    indexed.engine.answer(request).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ref_that_is_not_indexed_is_told_with_those_that_are() {
    let (origin, _) = branched();
    let indexed = Indexed::added(origin.path(), Branches::Default).await;
    add_ref(&indexed, "release").await;
    add_ref(&indexed, "v9").await;
    indexed.sync().await;
    let error = refused(&indexed, at("v1.0")).await;
    assert_eq!(error.kind, ErrorKind::NotFound);
    let told = error.to_string();
    assert!(told.starts_with("'v1.0' is not an indexed branch, tag or commit; indexed are main, release; "), "{told}");
    let both = Filter { snapshot: Some("1a2b3c4d".to_owned()), ..at("release") };
    assert_eq!(refused(&indexed, both).await.kind, ErrorKind::Invalid);
    let bad = AddRef { project: PROJECT.to_owned(), name: "--upload-pack=x".to_owned() };
    assert_eq!(indexed.engine.answer(bad).await.unwrap_err().kind, ErrorKind::Invalid);
    let repositories = indexed.engine.answer(backstory_engine::repository::ListRepositories {}).await.unwrap();
    let (left_out, address) = (&repositories[0].left_out, &repositories[0].address);
    let expected = format!(
        "it has no branch, tag or commit v9, so that is not indexed; 'backstory add {address} --drop-ref v9' drops it"
    );
    assert_eq!(left_out, &[expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_pack_at_a_ref_is_made_from_its_tree() {
    let (origin, tips) = branched();
    let indexed = Indexed::added(origin.path(), Branches::Default).await;
    add_ref(&indexed, "v1.0").await;
    indexed.sync().await;
    let request = |filter: Filter| ContextRequest {
        about: About::Query("where is the cache of sessions cleared".to_owned()),
        filter,
        path: None,
        near: vec![],
        ranking: None,
        mode: PackMode::All,
        format: Format::Json,
        tokens: 6000,
        diffs: false,
        tests: true,
        snapshot: None,
    };
    let pack = indexed.engine.build_pack(request(at("v1.0"))).await.unwrap();
    assert_eq!(pack.manifest.commits[PROJECT], tips.old.to_string());
    assert_eq!(pack.manifest.parameters["ref"], "v1.0");
    let paths: Vec<&str> = pack.code_context.iter().map(|code| code.path.as_str()).collect();
    assert!(paths.contains(&"src/cache.rs"), "{paths:?}");
    assert!(
        pack.code_context.iter().all(|code| code.commit == tips.old.to_string() && code.explanation.contains("in "))
    );
    let of_files = pack.retrieved.iter().filter(|chunk| chunk.path.is_some());
    assert!(
        of_files.clone().count() > 0 && of_files.into_iter().all(|chunk| chunk.commit == Some(tips.old.to_string()))
    );
    let later = ["voucher", "docs/release.md", &tips.main.to_string()[..10]];
    let text = serde_json::to_string(&pack).unwrap();
    assert!(later.iter().all(|word| !text.contains(word)), "{text}");
    // Now the file is gone.
    let now = indexed.engine.build_pack(request(Filter::default())).await.unwrap();
    assert!(now.code_context.iter().all(|code| code.path != "src/cache.rs"));
}

/// The newest state on record.
async fn newest(indexed: &Indexed) -> SnapshotReport {
    let list = indexed.engine.answer(ListSnapshots {}).await.unwrap();
    list.recorded.into_iter().find(|state| state.current).unwrap()
}

// Rows 50 and 51 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_snapshots_and_pinned_ones_are_searched_as_they_were() {
    let (mut origin, _) = branched();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    embed(&indexed).await;
    let mut states = vec![(newest(&indexed).await.id, only(&origin, origin.sha("main")).await)];
    indexed.engine.answer(PinSnapshot { id: states[0].0.clone(), pinned: true }).await.unwrap();
    for step in 0..4 {
        origin.write("src/session.rs", code(&["load_session", "end_session"], &format!("session number {step}")));
        if step == 1 {
            origin.remove("src/retry.rs");
        } else {
            let path = if step == 2 { "src/retry.rs".to_owned() } else { format!("src/step{step}.rs") };
            origin.write(path, code(&["retry"], "backoff again"));
        }
        origin.commit_all(format!("Step {step} of sessions"));
        indexed.sync().await;
        embed(&indexed).await;
        states.push((newest(&indexed).await.id, only(&origin, origin.sha("main")).await));
    }
    let recorded = indexed.engine.answer(ListSnapshots {}).await.unwrap().recorded;
    let known: Vec<bool> = states.iter().map(|(id, _)| recorded.iter().any(|state| state.id == *id)).collect();
    // Each step put two states on record, one before and one after its vectors came.
    assert_eq!((known[0], known[1], known[4]), (true, false, true), "{known:?}");
    for (id, alone) in states.iter().filter(|(id, _)| recorded.iter().any(|state| state.id == *id)) {
        embed(alone).await;
        assert_equal(&indexed, at_snapshot(id), alone).await;
    }
    assert_eq!(refused(&indexed, at_snapshot(&states[1].0)).await.kind, ErrorKind::NotFound);
    let first = indexed.engine.answer(GetSnapshot { id: states[0].0.clone() }).await.unwrap();
    // Two files and what is in them, of which the newest version is current: what was is kept in some hundred bytes.
    assert!(first.searchable && first.changed > 2 && (100..20_000).contains(&first.kept_bytes), "{first:?}");
    let task = indexed.engine.answer(RebuildRequest { projection: Projection::Index }).await.unwrap();
    indexed.end_of(&task).await.unwrap();
    assert_equal(&indexed, at_snapshot(&states[0].0), &states[0].1).await;
    indexed.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_a_snapshot_has_goes_with_it() {
    let (mut origin, _) = branched();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let first = newest(&indexed).await.id;
    indexed.engine.answer(PinSnapshot { id: first.clone(), pinned: true }).await.unwrap();
    origin.write("src/session.rs", code(&["load_session"], "other session"));
    origin.commit_all("Change sessions");
    indexed.sync().await;
    let kept = indexed.engine.answer(GetSnapshot { id: first.clone() }).await.unwrap();
    // The file and its three functions.
    assert_eq!(versions(&indexed).await, 4);
    assert!(kept.kept_bytes > 0);
    let retrieve = |snapshot: &str| RetrieveRequest {
        query: "renew_session".to_owned(),
        snapshot: Some(snapshot.to_owned()),
        limit: 5,
        tokens: 2000,
        ..RetrieveRequest::default()
    };
    let found: Retrieved = indexed.engine.answer(retrieve(&first)).await.unwrap();
    assert_eq!(found.snapshot, first);
    assert!(found.chunks.iter().any(|chunk| chunk.document.ends_with("#renew_session")), "{found:?}");
    indexed.engine.answer(PinSnapshot { id: first.clone(), pinned: false }).await.unwrap();
    assert_eq!(indexed.engine.answer(PruneSnapshots { keep: Some(1) }).await.unwrap(), [first.as_str()]);
    assert_eq!(versions(&indexed).await, 0);
    assert_eq!(indexed.ledger().version_bytes(kept.ledger_seq).unwrap(), 0);
    assert_eq!(indexed.engine.answer(retrieve(&first)).await.unwrap_err().kind, ErrorKind::NotFound);
    indexed.try_sync(Scope::Full).await.unwrap();
    assert_eq!(versions(&indexed).await, 0);
}

#[test]
fn the_command_line_searches_refs_and_snapshots() {
    let (mut origin, tips) = branched();
    let sandbox = Sandbox::empty();
    sandbox.run(&["add", origin.path().to_str().unwrap(), "--name", "acme/shop", "--ref", "v1.0"]).ok();
    let hits = |args: &[&str]| -> Vec<String> {
        let search = ["search", "--json", "--mode", "lexical", "clear cache", "--type", "code"];
        let found = sandbox.run(&[&search, args].concat()).ok().json();
        found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(hits(&["--ref", "v1.0"])[0], "acme/shop:src/cache.rs#clear_cache");
    assert!(hits(&[]).iter().all(|id| !id.contains("cache.rs")), "{:?}", hits(&[]));
    let shown =
        sandbox.run(&["why", "src/cache.rs:2", "--project", "acme/shop", "--rev", "v1.0", "--json"]).ok().json();
    assert_eq!(shown["rev"], json!(tips.old.to_string()));
    let first = sandbox.run(&["snapshots", "list", "--json"]).ok().json()["current"].as_str().unwrap().to_owned();
    origin.remove("src/voucher.rs");
    origin.commit_all("No more vouchers");
    sandbox.run(&["sync"]).ok();
    let vouchers = |args: &[&str]| {
        let found =
            sandbox.run(&[&["search", "--json", "redeem_voucher", "--type", "code"], args].concat()).ok().json();
        found["hits"].as_array().unwrap().len()
    };
    assert_eq!((vouchers(&["--snapshot", &first]), vouchers(&[])), (1, 0));
    let shown = sandbox.run(&["snapshots", "show", &first]).ok().stdout;
    assert!(shown.contains("can be searched; "), "{shown}");
    sandbox.run(&["add", origin.path().to_str().unwrap(), "--name", "acme/shop", "--drop-ref", "v1.0"]).ok();
    let refused = sandbox.run(&["search", "cache", "--ref", "v1.0"]);
    let error = refused.error(1);
    assert!(error.contains("'v1.0' is not an indexed branch, tag or commit; indexed are main"), "{error}");
}
