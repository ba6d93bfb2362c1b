//! Nodes instead of references, and code at a revision.

use serde_json::{Value, json};

use super::{Api, texts};
use crate::{
    cli_repositories::shop,
    support::{Forge, Sandbox},
};

// Rows 130 and 149 of docs/requirements.md.
#[tokio::test]
async fn a_file_leads_from_its_lines_to_commits_and_back() {
    let shop = shop();
    let api = Api::of_repository(&shop);
    let head = shop.sha("main").to_string();
    let query = r#"{ node(id: "acme/shop:src/session.py") { id url ... on File {
        content(lines: { first: 5, last: 6 }) { commit { sha } lineCount text lines { first last }
          lineage { spans { lines { first last } commit { title introducedBy { id } onBranches { name } author { id } }
            origin { path } discussionCount } leftOut } }
        contributors { person { id } lineCount commitCount }
        coChanges { node { id } }
        comments { discussion { id } } } }
      project(fullPath: "acme/shop") {
        tree(path: "src") { entries { name kind language file { id } lastCommit { title } } leftOutCount }
        repository { id languages { name fileCount share } head { sha } project { id } }
      } }"#;
    let data = api.data(query).await;
    let content = &data["node"]["content"];
    assert_eq!(data["node"]["id"], "acme/shop:src/session.py");
    assert_eq!(content["commit"]["sha"], json!(head));
    assert_eq!((&content["lineCount"], &content["lines"]), (&json!(7), &json!({ "first": 5, "last": 6 })));
    assert!(content["text"].as_str().unwrap().starts_with("def store(key)"), "{content:#}");
    let span = &content["lineage"]["spans"][0];
    assert_eq!(span["lines"]["first"], 5);
    assert_eq!(span["commit"]["onBranches"], json!([{ "name": "main" }]));
    assert!(span["commit"]["author"]["id"].as_str().unwrap().starts_with('@'), "{span:#}");
    assert_eq!(data["node"]["contributors"][0]["lineCount"], 7);
    let tree = &data["project"]["tree"];
    let entries = texts(&tree["entries"], "/name");
    assert!(entries.contains(&"session.py".to_owned()) && entries.is_sorted(), "{tree:#}");
    assert!(tree["entries"].as_array().unwrap().iter().all(|entry| entry["lastCommit"]["title"].is_string()));
    let repository = &data["project"]["repository"];
    assert_eq!(repository["project"]["id"], "acme/shop");
    assert_eq!(repository["head"]["sha"], json!(head));
    assert_eq!(repository["languages"][0]["name"], "Python");
    let share = repository["languages"][0]["share"].as_f64().unwrap();
    assert!(share > 0.0 && share <= 1.0, "{share}");
}

// Rows 118 and 131 of docs/requirements.md.
#[tokio::test]
async fn hunks_of_a_commit_are_read_from_the_clone() {
    let mut shop = shop();
    shop.author("Ada", "ada@example.com");
    shop.write("src/session.py", "# Sessions.\n\n\ndef load(key):\n    return key\n");
    let changed = shop.commit_all("Load sessions").to_string();
    let api = Api::of_repository(&shop);
    let query = format!(
        r#"{{ node(id: "acme/shop@{changed}") {{ ... on Commit {{ committer {{ id }} committerName fileCount additions deletions changedFiles {{ nodes {{
            file {{ id }} status additions deletions hunks(context: 0) {{ leftOut hunks {{
              oldStart oldLineCount newStart newLineCount lines {{ kind text }} }} }} }} }} }} }} }}"#
    );
    let mut commit = api.data_with(&query, Value::Null).await["node"].take();
    assert_eq!((&commit["committerName"], &commit["fileCount"]), (&json!("Charles Babbage"), &json!(1)), "{commit:#}");
    let files = commit["changedFiles"]["nodes"].take();
    assert_eq!((&commit["additions"], &commit["deletions"]), (&files[0]["additions"], &files[0]["deletions"]));
    let hunks = files[0]["hunks"]["hunks"].as_array().unwrap();
    assert_eq!(
        (&files[0]["file"]["id"], &files[0]["status"]),
        (&json!("acme/shop:src/session.py"), &json!("MODIFIED"))
    );
    assert_eq!(files[0]["hunks"]["leftOut"], Value::Null);
    let count = |kind: &str| {
        let lines = hunks.iter().flat_map(|hunk| hunk["lines"].as_array().unwrap());
        lines.filter(|line| line["kind"] == kind).count()
    };
    assert_eq!(json!(count("ADDED")), files[0]["additions"]);
    assert_eq!(json!(count("REMOVED")), files[0]["deletions"]);
    assert_eq!(count("CONTEXT"), 0);
}

#[tokio::test]
async fn files_of_a_large_commit_are_read_page_by_page() {
    let mut shop = shop();
    for number in 0..250 {
        shop.write(format!("many/{number:03}.txt"), format!("{number}\n"));
    }
    let large = shop.commit_all("Add many files").to_string();
    let api = Api::of_repository(&shop);
    let query = "query ($id: ID!, $after: String) { node(id: $id) { ... on Commit { fileCount
        changedFiles(first: 100, after: $after) { totalCount nodes { path } pageInfo { hasNextPage endCursor } } } } }";
    let (id, mut after, mut paths, mut pages) = (format!("acme/shop@{large}"), Value::Null, Vec::new(), 0);
    loop {
        let data = api.data_with(query, json!({ "id": id, "after": after })).await;
        let page = &data["node"]["changedFiles"];
        assert_eq!((&data["node"]["fileCount"], &page["totalCount"]), (&json!(250), &json!(250)));
        paths.extend(texts(&page["nodes"], "/path"));
        pages += 1;
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }
    let expected: Vec<String> = (0..250).map(|number| format!("many/{number:03}.txt")).collect();
    assert_eq!((pages, paths), (3, expected));
    let from_end = "query ($id: ID!) { node(id: $id) { ... on Commit { changedFiles(last: 2) { nodes { path } } } } }";
    let last = api.data_with(from_end, json!({ "id": id })).await;
    assert_eq!(texts(&last["node"]["changedFiles"]["nodes"], "/path"), ["many/248.txt", "many/249.txt"]);
    let wrong =
        format!("{{ node(id: \"{id}\") {{ ... on Commit {{ changedFiles(after: \"many\") {{ totalCount }} }} }} }}");
    let (code, message) = api.error(&wrong).await;
    assert!(code == "INVALID" && message.contains("is not a cursor of this list"), "{code}: {message}");
}

#[tokio::test]
async fn commits_of_a_range_of_revisions_are_listed() {
    let shop = shop();
    let api = Api::of_repository(&shop);
    let [first, cart, head] = ["main~2", "main~1", "main"].map(|rev| shop.sha(rev).to_string());
    let query = r#"query ($first: String, $after: String) { project(fullPath: "acme/shop") {
        range: commits(from: $first, to: "v1", first: 1, after: $after) { totalCount nodes { sha } pageInfo { endCursor } }
        narrowed: commits(from: $first, filter: { paths: ["src"], authors: ["nobody", "charles@example.com"] }) { nodes { sha } }
        inside: commits(from: $first, to: "main", filter: { paths: ["src"] }, orderBy: { field: AUTHORED }) { nodes { sha }
          groupBy(field: CHANGE_TYPE) { groups { count } complete } }
        reached: commits(to: $first) { totalCount nodes { sha } }
        same: commits(from: "main", to: "v1") { totalCount nodes { sha } }
        reversed: commits(from: "main", to: $first) { totalCount } } }"#;
    let project = api.data_with(query, json!({ "first": first })).await["project"].take();
    let range = &project["range"];
    assert_eq!((&range["totalCount"], texts(&range["nodes"], "/sha")), (&json!(2), vec![head.clone()]));
    assert_eq!(texts(&project["inside"]["nodes"], "/sha"), [cart.as_str()]);
    assert_eq!(project["inside"]["groupBy"], json!({ "groups": [{ "count": 1 }], "complete": true }));
    assert!(texts(&project["narrowed"]["nodes"], "/sha").iter().all(|sha| *sha == cart), "{project:#}");
    assert_eq!(
        (&project["reached"]["totalCount"], texts(&project["reached"]["nodes"], "/sha")),
        (&json!(1), vec![first.clone()])
    );
    assert_eq!(project["same"], json!({ "totalCount": 0, "nodes": [] }));
    assert_eq!(project["reversed"]["totalCount"], 0);
    let after = &range["pageInfo"]["endCursor"];
    let next = api.data_with(query, json!({ "first": first, "after": after })).await;
    assert_eq!(texts(&next["project"]["range"]["nodes"], "/sha"), [cart.as_str()]);

    for arguments in [r#"from: "v9""#, r#"from: "v1", to: "v9""#] {
        let query = format!(r#"{{ project(fullPath: "acme/shop") {{ commits({arguments}) {{ totalCount }} }} }}"#);
        let (code, message) = api.error(&query).await;
        assert!(
            code == "NOT_FOUND" && message.contains("'v9' is not a branch, tag or commit of acme/shop"),
            "{code}: {message}"
        );
    }
}

#[tokio::test]
async fn code_entities_are_told_at_every_revision() {
    let mut shop = shop();
    let token = format!("glpat-{}", "aB3dE6gH9jK2mN5pQ8sT");
    let old = shop.sha("main").to_string();
    let text = format!(
        "def load(key, token):\n    \"\"\"Loads with {token}.\"\"\"\n    return key\n\n\ndef keep(key):\n    return key\n"
    );
    shop.write("src/session.py", text);
    shop.write("src/test_session.py", "def test_load():\n    assert True\n");
    shop.write("node_modules/left/pad.js", "function pad() {}\n");
    let between = shop.commit_all("Keep sessions").to_string();
    shop.remove("src/session.py");
    shop.commit_all("Drop sessions");
    let api = Api::of_repository(&shop);
    let definition = "commit { sha } name path file { id } kind signature doc lines { first last } isTest";
    let query = format!(
        r#"{{ file(project: "acme/shop", path: "src/session.py") {{
            old: definitions(rev: "{old}") {{ totalCount commit {{ sha }} leftOut nodes {{ {definition} entity {{ id }} }} }}
            between: definitions(rev: "{between}", filter: {{ names: ["LOAD"] }}) {{ nodes {{ name signature doc }} }} }} }}"#
    );
    let data = api.data(&query).await;
    let found = &data["file"]["old"];
    assert_eq!(
        (&found["totalCount"], &found["leftOut"], &found["commit"]["sha"]),
        (&json!(2), &json!([]), &json!(old))
    );
    assert_eq!(
        found["nodes"][1],
        json!({ "commit": { "sha": old }, "name": "store", "path": "src/session.py", "kind": "FUNCTION",
            "file": { "id": "acme/shop:src/session.py" }, "signature": "def store(key)", "doc": "Keeps it.",
            "lines": { "first": 5, "last": 7 }, "isTest": false, "entity": { "id": "acme/shop:src/session.py#store" } })
    );
    let load = &data["file"]["between"]["nodes"];
    assert_eq!((load.as_array().unwrap().len(), &load[0]["signature"]), (1, &json!("def load(key, token)")));
    assert!(!data.to_string().contains(&token), "{data:#}");

    let query = format!(
        r#"{{ project(fullPath: "acme/shop") {{
            all: definitions(rev: "{between}") {{ totalCount nodes {{ name path }} leftOut }}
            tests: definitions(rev: "{between}", path: "src/", filter: {{ test: true, kinds: [FUNCTION] }}) {{ nodes {{ name }} }}
            page: definitions(path: "src", rev: "{between}", first: 1) {{ nodes {{ name }} pageInfo {{ hasNextPage }} }}
            now: definitions(path: "src") {{ nodes {{ name }} }} }} }}"#
    );
    let project = api.data(&query).await["project"].take();
    assert_eq!(texts(&project["all"]["nodes"], "/name"), ["total", "load", "keep", "test_load"], "{project:#}");
    assert_eq!(project["all"]["leftOut"], json!([]));
    assert_eq!(texts(&project["tests"]["nodes"], "/name"), ["test_load"]);
    assert_eq!(project["page"], json!({ "nodes": [{ "name": "total" }], "pageInfo": { "hasNextPage": true } }));
    assert_eq!(texts(&project["now"]["nodes"], "/name"), ["total", "test_load"]);

    let entity = r#"{ node(id: "acme/shop:src/cart.py#total") { ... on CodeEntity { lines { first last }
        now: definition { lines { first last } isTest } old: definition(rev: "main~1") { kind } } } }"#;
    let node = api.data(entity).await["node"].take();
    assert_eq!(node["now"], json!({ "lines": node["lines"], "isTest": false }));
    assert_eq!(node["old"]["kind"], "FUNCTION");
    for (field, said) in [
        (r#"definitions(rev: "v9") { totalCount }"#, "'v9' is not a branch, tag or commit of acme/shop"),
        (r#"definitions(path: "lib") { totalCount }"#, "there is no file lib in acme/shop"),
    ] {
        let query = format!(r#"{{ project(fullPath: "acme/shop") {{ {field} }} }}"#);
        let (code, message) = api.error(&query).await;
        assert!(code == "NOT_FOUND" && message.contains(said), "{code}: {message}");
    }
}

#[tokio::test]
async fn edges_say_how_sure_they_are() {
    let api = Api::new();
    let query = r#"{ node(id: "acme/shop!2") { ... on MergeRequest {
        edges(names: [CLOSES]) { edges { name inferred method confidence support since } }
        neighborhood(names: [CLOSES]) { edges { name method since from { id } to { id } } } } } }"#;
    let node = api.data(query).await["node"].take();
    let edge = &node["edges"]["edges"][0];
    let stated =
        json!({ "name": "CLOSES", "inferred": false, "method": "STATED", "confidence": null, "support": null });
    for (name, value) in stated.as_object().unwrap() {
        assert_eq!(edge[name], *value, "{edge:#}");
    }
    assert!(edge["since"].as_str().unwrap().starts_with("2024-"), "{edge:#}");
    assert_eq!(node["neighborhood"]["edges"][0]["since"], edge["since"]);
}

#[tokio::test]
async fn a_trace_is_walked_on_in_the_same_request() {
    let api = Api::new();
    let query = r#"{ trace(id: "acme/shop!2") { project { fullPath } issues { iid title author { username } }
        chain { edge from { id } node { __typename id url } title } mergeRequests { id state } } }"#;
    let trace = api.data(query).await["trace"].take();
    assert_eq!(trace["project"]["fullPath"], "acme/shop");
    assert_eq!(trace["issues"][0]["iid"], 1);
    assert!(trace["issues"][0]["title"].is_string());
    assert!(texts(&trace["chain"], "/node/id").contains(&"acme/shop#1".to_owned()), "{trace:#}");
}

// Rows 64 and 79 of docs/requirements.md.
#[tokio::test]
async fn merge_requests_in_progress_are_found_by_their_files() {
    let forge = Forge::start();
    let open = forge.new_merge_request("acme/shop", "alice", "Limit sign-in attempts", "Three of them.");
    let files = [
        ("src/login.rs", "src/login.rs", ""),
        ("src/limit.rs", "src/limit.rs", "new_file"),
        ("src/old.rs", "src/gone/old.rs", "renamed_file"),
    ];
    forge.push(&open, &files);
    let closed = forge.new_merge_request("acme/shop", "bob", "Another try", "");
    forge.push(&closed, &files[..1]);
    forge.advance(60);
    forge.close(&closed, "bob");
    let api = Api::of(forge);
    let of_file = async |path: &str, states: &str| {
        let query = format!(
            "{{ node(id: \"acme/shop:{path}\") {{ ... on File {{ known mergeRequests(states: {states}) {{
                totalCount nodes {{ id }} }} }} }} }}"
        );
        let data = api.data(&query).await;
        assert_eq!(data["node"]["known"], true, "{path}");
        texts(&data["node"]["mergeRequests"]["nodes"], "/id")
    };
    assert_eq!(of_file("src/login.rs", "null").await, [closed.as_str(), &open]);
    assert_eq!(of_file("src/login.rs", "[OPENED]").await, [open.as_str()]);
    assert_eq!(of_file("src/login.rs", "[MERGED]").await, [""; 0]);
    assert_eq!(of_file("src/limit.rs", "null").await, [open.as_str()]);
    // Under the name that it has and under the one that it would get.
    assert_eq!(of_file("src/old.rs", "null").await, [open.as_str()]);
    assert_eq!(of_file("src/gone/old.rs", "null").await, [open.as_str()]);

    let query =
        format!("{{ node(id: \"{open}\") {{ ... on MergeRequest {{ proposedFiles {{ path oldPath status }} }} }} }}");
    let told = api.data(&query).await;
    assert_eq!(
        told["node"]["proposedFiles"],
        json!([
            {"path": "src/gone/old.rs", "oldPath": "src/old.rs", "status": "RENAMED"},
            {"path": "src/limit.rs", "oldPath": null, "status": "ADDED"},
            {"path": "src/login.rs", "oldPath": null, "status": "MODIFIED"},
        ])
    );
    let shown = api.sandbox.run(&["show", &open]).ok().stdout;
    assert!(shown.contains("src/gone/old.rs (renamed), src/limit.rs (added), src/login.rs"), "{shown}");

    // Once a push has dropped a file, nothing of it is left; the digest is that of a first sync.
    api.forge.advance(3600);
    api.forge.push(&open, &files[..1]);
    api.sandbox.run(&["sync"]).ok();
    assert_eq!(of_file("src/login.rs", "[OPENED]").await, [open.as_str()]);
    let gone = api.data("{ node(id: \"acme/shop:src/limit.rs\") { ... on File { known } } }").await;
    assert_eq!(gone["node"], Value::Null);
    let digest = |sandbox: &Sandbox| sandbox.run(&["check", "--digest"]).ok().stdout;
    assert_eq!(digest(&api.sandbox), digest(&Sandbox::synced(&api.forge)));
}

// Rows 7, 8, 10, 23, 27, 37 and 49 of docs/requirements.md.
#[tokio::test]
async fn what_search_reads_of_a_file_is_told_at_every_revision() {
    let mut shop = shop();
    let old = shop.sha("main").to_string();
    shop.write("src/session.py", "import os\n\n\ndef load(key):\n    # Why: it is kept.\n    return os.environ[key]\n");
    let new = shop.commit_all("Load from the environment").to_string();
    let api = Api::of_repository(&shop);
    api.sandbox.run(&["embed"]).ok();
    let file = async |selection: &str| {
        let query = format!(r#"{{ node(id: "acme/shop:src/session.py") {{ ... on File {{ {selection} }} }} }}"#);
        api.data(&query).await["node"].take()
    };
    let version = "commit { sha } contentHash bytes lineCount tokenCount language mimeType documentType grammar \
                   lastCommit { sha } changedAt blob";
    let found = file(&format!(r#"now: version {{ {version} }} before: version(rev: "{old}") {{ {version} }}"#)).await;
    let (now, before) = (&found["now"], &found["before"]);
    assert_eq!((&now["commit"]["sha"], &before["commit"]["sha"]), (&json!(new), &json!(old)));
    assert_eq!((&now["lineCount"], &before["lineCount"]), (&json!(6), &json!(7)));
    assert_eq!(
        (&now["language"], &now["mimeType"], &now["documentType"]),
        (&json!("Python"), &json!("text/x-python"), &json!("CODE"))
    );
    assert!(now["grammar"].as_str().unwrap().starts_with("tree-sitter-"), "{now:#}");
    assert_eq!((&now["lastCommit"]["sha"], &before["lastCommit"]), (&json!(new), &Value::Null), "{found:#}");
    assert!(now["tokenCount"].as_u64().unwrap() > 10 && now["contentHash"] != before["contentHash"], "{found:#}");

    let chunk =
        "totalCount nodes { chunkId index lines { first last } tokenCount text textHash kind title embeddingModel }";
    let found = file(&format!(r#"now: chunks {{ {chunk} }} before: chunks(rev: "{old}") {{ {chunk} }}"#)).await;
    let models = texts(&found["now"]["nodes"], "/embeddingModel");
    assert!(models.iter().all(|model| model.contains("arctic")), "{found:#}");
    assert!(found["before"]["nodes"].as_array().unwrap().iter().all(|chunk| chunk["embeddingModel"].is_null()));
    // They have the ids under which a search finds them.
    let hits = api.sandbox.run(&["search", "load environ", "--type", "code", "--json"]).ok().json();
    let hit = hits["hits"][0]["chunk"]["chunk_id"].as_str().unwrap().to_owned();
    assert!(texts(&found["now"]["nodes"], "/chunkId").contains(&hit), "{hit}: {found:#}");
    assert!(!texts(&found["before"]["nodes"], "/chunkId").contains(&hit));
    let ends =
        found["before"]["nodes"].as_array().unwrap().iter().map(|chunk| chunk["lines"]["last"].as_u64().unwrap());
    assert_eq!(ends.max(), Some(7));

    let fact = "totalCount nodes { nodeType text lines { first last } field }";
    let found =
        file(&format!(r#"facts {{ {fact} }} calls: facts(rev: "{old}", nodeTypes: ["call"]) {{ {fact} }}"#)).await;
    assert_eq!(texts(&found["facts"]["nodes"], "/nodeType"), ["import_statement", "function_definition", "comment"]);
    assert_eq!(
        found["calls"]["nodes"],
        json!([{ "nodeType": "call", "text": "store(key)", "lines": { "first": 2, "last": 2 }, "field": null }])
    );
    let (code, message) =
        api.error(r#"{ node(id: "acme/shop:src/session.py") { ... on File { facts(nodeTypes: ["call_expression"]) { totalCount } } } }"#).await;
    assert_eq!(code, "INVALID");
    assert!(message.contains("no node type 'call_expression'"), "{message}");

    let query = r#"{ project(fullPath: "acme/shop") {
        all: documents { totalCount }
        code: documents(kinds: [CODE], pathPrefixes: ["src/session"], documentTypes: [CODE]) { totalCount pageInfo { hasNextPage }
          nodes { id kind path lines { first last } contentHash tokenCount bytes updatedAt embeddingModel } } } }"#;
    let project = api.data(query).await["project"].take();
    assert_eq!(texts(&project["code"]["nodes"], "/id"), ["acme/shop:src/session.py#load"], "{project:#}");
    assert!(project["all"]["totalCount"].as_u64().unwrap() > 5, "{project:#}");

    let told = api.sandbox.run(&["file", "acme/shop:src/session.py"]).ok().stdout;
    assert!(told.contains("text/x-python") && told.contains("tree-sitter-python"), "{told}");
    let told = api.sandbox.run(&["file", "acme/shop:src/session.py", "--rev", &old, "--node-type", "call"]).ok().stdout;
    assert!(told.contains("store(key)"), "{told}");
    let told = api.sandbox.run(&["file", "acme/shop:src/session.py", "--chunks"]).ok().stdout;
    assert!(told.contains("load") && told.contains(&hit[..12]), "{told}");
}

// Rows 96 and 133 of docs/requirements.md.
#[tokio::test]
async fn code_entities_tell_their_package_and_tests_their_kind() {
    let mut shop = shop();
    shop.write("internal/cart/total.go", "package cart\n\n// Total adds up.\nfunc Total() int {\n\treturn 1\n}\n");
    shop.write("tests/e2e/test_checkout.py", "def test_checkout():\n    assert True\n");
    shop.write("tests/integration/test_stock.py", "def test_stock():\n    assert True\n");
    shop.write("tests/unit/test_cart.py", "def test_cart():\n    assert True\n");
    shop.commit_all("Count and check");
    let api = Api::of_repository(&shop);
    let entity = async |id: &str| {
        let query = format!(r#"{{ node(id: "acme/shop:{id}") {{ ... on CodeEntity {{ package testKind }} }} }}"#);
        api.data(&query).await["node"].take()
    };
    let total = entity("internal/cart/total.go#Total").await;
    assert!(total["package"].as_str().unwrap().ends_with("cart"), "{total}");
    assert_eq!(total["testKind"], Value::Null);
    for (id, kind) in [
        ("tests/e2e/test_checkout.py#test_checkout", "END_TO_END"),
        ("tests/integration/test_stock.py#test_stock", "INTEGRATION"),
        ("tests/unit/test_cart.py#test_cart", "UNIT"),
    ] {
        assert_eq!(entity(id).await["testKind"], kind, "{id}");
    }
}

// Rows 1, 4 and 9 of docs/requirements.md.
#[tokio::test]
async fn files_are_annotated_by_hand_and_found_by_tag() {
    let shop = shop();
    let api = Api::of_repository(&shop);
    let file = "acme/shop:src/session.py";
    let token = format!("glpat-{}", "aB3dE6gH9jK2mN5pQ8sT");
    let text = format!("Keep the order, or {token} leaks.");
    let said =
        api.sandbox.run(&["annotate", file, &text, "--tag", "Fragile", "--kind", "review", "--source", "audit"]).ok();
    assert_eq!(said.stdout, format!("Annotated {file} (1)\n"));
    let words = api.sandbox.run(&["annotate", file, "Wait.", "--kind", "two words"]);
    assert_eq!(words.error(2), "the kind 'two words' has several words; write it in one, like review or audit-result");
    let mutation = format!(
        r#"mutation {{ annotate(id: "{file}", annotation: {{ content: "Loads sessions.", summary: "Loads.", tags: ["overview"],
            lines: {{ first: 1, last: 2 }} }}) {{ number author createdAt }} }}"#
    );
    assert_eq!(api.data(&mutation).await["annotate"]["number"], 2);
    let query = format!(
        r#"{{ node(id: "{file}") {{ ... on File {{ facts {{ totalCount }} language
            annotations {{ number kind source content summary tags lines {{ first last }} approved }}
            fragile: annotations(tags: ["FRAGILE"]) {{ number }} }} }} }}"#
    );
    let node = api.data(&query).await["node"].take();
    assert_eq!(
        node["annotations"][1],
        json!({ "number": 2, "kind": "note", "source": "person", "content": "Loads sessions.", "summary": "Loads.",
            "tags": ["overview"], "lines": { "first": 1, "last": 2 }, "approved": false })
    );
    let first = &node["annotations"][0];
    assert_eq!(
        (&first["kind"], &first["source"], &first["tags"]),
        (&json!("review"), &json!("audit"), &json!(["fragile"]))
    );
    assert!(!first["content"].as_str().unwrap().contains(&token), "{first}");
    assert_eq!(node["fragile"], json!([{ "number": 1 }]));

    // A search for a tag finds that file and its parts alone.
    let found = api
        .data(
            r#"{ search(query: "session load", filter: { tags: ["fragile"] }) { hits { documentId documentType } } }"#,
        )
        .await;
    let ids = texts(&found["search"]["hits"], "/documentId");
    assert!(!ids.is_empty() && ids.iter().all(|id| id.starts_with(file)), "{found:#}");
    assert!(texts(&found["search"]["hits"], "/documentType").iter().all(|of| of == "CODE"), "{found:#}");
    let none = api
        .data(r#"{ search(query: "session load", filter: { tags: ["fragile", "overview"] }) { hits { documentId } } }"#)
        .await;
    assert_eq!(none["search"]["hits"], json!([]));

    let listed = api.sandbox.run(&["annotate", "--tag", "fragile", "--json"]).ok().json();
    assert_eq!((&listed[0]["id"], listed.as_array().unwrap().len()), (&json!(file), 1));
    let approved = api.sandbox.run(&["annotate", file, "--approve", "2", "--json"]).ok().json();
    assert_eq!(approved[1]["approved"], true);
    let left = api.sandbox.run(&["annotate", file, "--remove", "1", "--json"]).ok().json();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["number"]), (1, &json!(2)));
    api.sandbox.run(&["annotate", "acme/shop:src/nothing.py", "Nobody reads this."]).error(1);
    for (number, place) in [(3, "acme/shop:src/session.py:1-2"), (4, "acme/shop:src/session.py#L1-L2")] {
        let said = api.sandbox.run(&["annotate", place, "These two lines."]).ok();
        assert_eq!(said.stdout, format!("Annotated {file} ({number})\n"));
        let shown = api.sandbox.run(&["annotate", file]).ok().stdout;
        assert_eq!(shown.matches("lines 1-2").count(), number - 1, "{shown}");
    }
}

#[tokio::test]
async fn lines_beyond_the_end_of_a_file_are_not_annotated() {
    let shop = shop();
    let api = Api::of_repository(&shop);
    let file = "acme/shop:src/session.py";
    let head = shop.sha("main").short();
    let said = "src/session.py has 7 lines; there is no line 8";
    let refused = api.sandbox.run(&["annotate", "acme/shop:src/session.py:6-8", "Beyond the end."]);
    assert_eq!(refused.error(2), format!("{said}; lines are those of {head}, the indexed commit"));
    let mutation = format!(
        r#"mutation {{ annotate(id: "{file}", annotation: {{ content: "Beyond the end.",
            lines: {{ first: 6, last: 8 }} }}) {{ number }} }}"#
    );
    assert!(api.error(&mutation).await.1.contains(said));
    assert_eq!(api.sandbox.run(&["annotate", file]).ok().stdout, "No annotation matches.\n");
    api.sandbox.run(&["annotate", "acme/shop:src/session.py:6-7", "The last two."]).ok();
}

// Row 67 of docs/requirements.md.
#[tokio::test]
async fn a_project_tells_when_something_of_it_last_changed() {
    let api = Api::new();
    let query = r#"{ project(fullPath: "acme/shop") { defaultBranch url createdAt updatedAt } }"#;
    let before = api.data(query).await["project"].take();
    assert_eq!(before["defaultBranch"], "main");
    api.forge.advance(3600);
    api.forge.new_issue("acme/shop", "bob", "Gift cards", "");
    api.sandbox.run(&["sync"]).ok();
    let after = api.data(query).await["project"].take();
    let time = |project: &Value, field: &str| project[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(time(&before, "createdAt") < time(&before, "updatedAt"), "{before}");
    assert!(time(&before, "updatedAt") < time(&after, "updatedAt"), "{after}");
}
