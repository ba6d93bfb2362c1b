//! What the API tells of git repositories and what is in them.

use serde_json::{Value, json};

use crate::{
    cli_repositories::shop,
    graphql::Api,
    merged_requests::{SHOP, Shop},
    support::{Fixture, Forge, NO_SCHEDULE, Sandbox},
};

impl Api {
    /// Of a server that has read nothing but a repository, as `acme/shop`.
    pub(super) fn of_repository(repository: &Fixture) -> Self {
        let sandbox = Sandbox::indexed(repository);
        sandbox.write_config(NO_SCHEDULE);
        let server = sandbox.serve();
        Self { forge: Forge::start(), sandbox, server, http: reqwest::Client::builder().no_proxy().build().unwrap() }
    }
}

// Rows 91, 100 and 137 of docs/requirements.md.
#[tokio::test]
async fn repositories_tell_how_they_stand() {
    let shop = shop();
    let api = Api::of_repository(&shop);
    let data = api
        .data(
            "{ repositories { id project { id } address state lastError branchSelection { which names } addedAt syncedAt defaultBranch { name } head { sha }
               indexed { branch { name } commit { sha } } commitCount fileCount rewrittenCount centralFiles(first: 2) { path current } } }",
        )
        .await;
    let repository = &data["repositories"][0];
    let head = shop.sha("main").to_string();
    for (pointer, value) in [
        ("/id", json!("acme/shop@repository")),
        ("/project/id", json!("acme/shop")),
        ("/state", json!("READY")),
        ("/lastError", json!(null)),
        ("/address", json!(shop.path().canonicalize().unwrap().display().to_string())),
        ("/branchSelection", json!({ "which": "DEFAULT", "names": [] })),
        ("/defaultBranch/name", json!("main")),
        ("/head/sha", json!(head)),
        ("/indexed", json!([{ "branch": { "name": "main" }, "commit": { "sha": head } }])),
        ("/commitCount", json!(3)),
        ("/fileCount", json!(3)),
        ("/rewrittenCount", json!(0)),
        ("/centralFiles/0", json!({ "path": "src/session.py", "current": true })),
    ] {
        assert_eq!(repository.pointer(pointer), Some(&value), "{pointer}: {repository:#}");
    }
    assert!(repository["syncedAt"].as_str() > repository["addedAt"].as_str(), "{repository:#}");
}

#[tokio::test]
async fn nodes_of_a_repository_tell_what_they_are() {
    let shop = shop();
    let api = Api::of_repository(&shop);
    let first = shop.sha("main~2").to_string();
    let head = shop.sha("main").to_string();
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename known
        ... on Commit { title authorName authorEmail authoredAt committedAt parents { sha } changeType additions deletions
          rewritten fileCount changedFiles(first: 5) { nodes { path oldPath status additions deletions } } url message }
        ... on File { current language lineCount bytes blob leftOut url }
        ... on Branch { tip { sha } isDefault committedAt }
        ... on CodeEntity { kind signature lines { first last } doc }
        ... on DesignNote { line text lines { first last } }
    } }";
    let ids = [
        format!("acme/shop@{head}"),
        "acme/shop:src/session.py".to_owned(),
        "acme/shop:README.md".to_owned(),
        "acme/shop@refs/heads/main".to_owned(),
        "acme/shop:src/session.py#store".to_owned(),
        "acme/shop:src/cart.py~5".to_owned(),
        format!("acme/shop@{first}~3"),
    ];
    let nodes = api.data_with(query, json!({ "ids": ids })).await["nodes"].take();
    let parent = shop.sha("main~1").to_string();
    let expected = [
        json!({
            "__typename": "Commit", "known": true, "title": "docs: the read-me is an introduction",
            "message": "docs: the read-me is an introduction", "authorName": "Grace Hopper",
            "authorEmail": "grace@example.com", "authoredAt": "2024-01-01T02:00:00Z",
            "committedAt": "2024-01-01T02:00:00Z", "parents": [{ "sha": parent }], "changeType": "DOCUMENTATION",
            "additions": 0, "deletions": 0, "rewritten": false, "fileCount": 1, "url": null,
            "changedFiles": { "nodes": [
                { "path": "INTRO.md", "oldPath": "README.md", "status": "RENAMED", "additions": 0, "deletions": 0 }] },
        }),
        json!({
            "__typename": "File", "known": true, "current": true, "language": "Python", "lineCount": 7, "bytes": 90,
            "blob": shop.sha("main:src/session.py").to_string(), "leftOut": null, "url": null,
        }),
        json!({
            "__typename": "File", "known": true, "current": false, "language": null, "lineCount": null, "bytes": null,
            "blob": null, "leftOut": null, "url": null,
        }),
        json!({ "__typename": "Branch", "known": true, "tip": { "sha": head }, "isDefault": true,
            "committedAt": "2024-01-01T02:00:00Z" }),
        json!({
            "__typename": "CodeEntity", "known": true, "kind": "FUNCTION", "signature": "def store(key)",
            "lines": { "first": 5, "last": 7 }, "doc": "Keeps it.",
        }),
        json!({
            "__typename": "DesignNote", "known": true, "line": 5, "lines": { "first": 5, "last": 5 },
            "text": "NOTE: rounding must not happen here, because taxes are rounded per line",
        }),
        json!({
            "__typename": "DesignNote", "known": true, "line": 3, "lines": { "first": 3, "last": 3 },
            "text": "Rather than in memcached, because memcached loses every session on a restart.",
        }),
    ];
    for (node, expected) in nodes.as_array().unwrap().iter().zip(expected) {
        assert_eq!(*node, expected);
    }
}

#[tokio::test]
async fn unknown_nodes_tell_nothing() {
    let mut shop = shop();
    shop.commit_all("Mentions 0badc0de1 and nothing else");
    let api = Api::of_repository(&shop);
    let query = r#"{ node(id: "acme/shop@0badc0de1") { known ... on Commit {
        title message authorName parents { sha } changeType changedFiles { nodes { path } } rewritten url } } }"#;
    let node = api.data(query).await["node"].take();
    let object = node.as_object().unwrap();
    assert!(object.iter().all(|(name, value)| name == "known" || value.is_null()), "{node:#}");
    assert_eq!(node["known"], Value::Bool(false));
}

#[tokio::test]
async fn addresses_of_a_forge_lead_there() {
    let shop = shop();
    shop.git(["remote", "add", "origin", "https://gitlab.example.com/acme/shop.git"]);
    let api = Api::of_repository(&shop);
    let head = shop.sha("main").to_string();
    let query = format!(
        r#"{{ nodes(ids: ["acme/shop@{head}", "acme/shop:src/cart.py"]) {{ ... on Commit {{ url }} ... on File {{ url }} }} }}"#
    );
    let nodes = api.data(&query).await["nodes"].take();
    assert_eq!(nodes[0]["url"], format!("https://gitlab.example.com/acme/shop/-/commit/{head}"));
    assert_eq!(nodes[1]["url"], "https://gitlab.example.com/acme/shop/-/blob/main/src/cart.py");
}

#[tokio::test]
async fn repositories_are_added_and_removed() {
    let shop = shop();
    let api = Api::of_repository(&shop);
    let other = crate::cli_repositories::shop();
    let add =
        "mutation ($address: String!) { addRepository(address: $address, name: \"acme/other\", branches: [\"next\"]) {
        project { id } branchSelection { which names } syncedAt head { sha } commitCount } }";
    let address = other.path().display().to_string();
    let added = api.data_with(add, json!({ "address": address })).await["addRepository"].take();
    let branches = json!({ "which": "SELECTED", "names": ["next"] });
    let expected = json!({
        "project": { "id": "acme/other" }, "branchSelection": branches, "syncedAt": null, "head": null,
        "commitCount": 0,
    });
    assert_eq!(added, expected);
    let own = api.sandbox.path().join("home/.local/share/backstory/clones/acme%2Fshop.git").canonicalize().unwrap();
    for (address, said) in [(own.to_str().unwrap(), "is in the data directory"), (".", "'.' is not ")] {
        let again = format!("mutation {{ addRepository(address: \"{address}\", name: \"acme/again\") {{ address }} }}");
        let (code, message) = api.error(&again).await;
        assert!(code == "INVALID" && message.contains(said), "{code}: {message}");
    }
    let both = "mutation { addRepository(address: \"/\", branches: [\"next\"], allBranches: true) { address } }";
    assert_eq!(
        api.error(both).await,
        ("INVALID".to_owned(), "name branches or ask for all of them, not both".to_owned())
    );
    let removed = api.data("mutation { removeRepository(project: \"acme/shop\") }").await;
    assert!(removed["removeRepository"].as_u64() > Some(10), "{removed}");
    let (code, _) = api.error("mutation { removeRepository(project: \"acme/shop\") }").await;
    assert_eq!(code, "NOT_FOUND");
    let left = api.data("{ repositories { project { id } } }").await;
    assert_eq!(left["repositories"], json!([{ "project": { "id": "acme/other" } }]));
    assert!(api.sandbox.run(&["sync"]).ok().stdout.contains("1 repository"), "the server reads what was added");
}

#[tokio::test]
async fn a_merge_request_that_was_merged_by_hand_has_the_merge_its_commits_and_its_files() {
    let shop = Shop::new();
    shop.tell();
    let Shop { forge, origin, auth_merge, cache_merge, .. } = shop;
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["add", origin.path().to_str().unwrap(), "--name", SHOP]).ok();
    sandbox.run(&["sync"]).ok();
    let server = sandbox.serve();
    let api = Api { forge, sandbox, server, http: reqwest::Client::builder().no_proxy().build().unwrap() };
    let query = "query ($id: ID!) { mergeRequest(id: $id) {
        mergeCommit { sha } commits { totalCount } changedFiles { totalCount nodes { path } } } }";
    for (id, merge, files) in [
        ("acme/shop!2", auth_merge, ["src/expiry.rs", "src/token.rs"]),
        ("acme/shop!1", cache_merge, ["src/pages.rs", "src/prices.rs"]),
    ] {
        let request = api.data_with(query, json!({ "id": id })).await["mergeRequest"].take();
        let expected = json!({
            "mergeCommit": { "sha": merge.to_string() },
            // The merge and the two that it brought.
            "commits": { "totalCount": 3 },
            "changedFiles": { "totalCount": 2, "nodes": files.map(|path| json!({ "path": path })) },
        });
        assert_eq!(request, expected, "{id}");
    }
}
