//! The documents of dashboards: each is one request, and answers its question.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use super::Api;
use crate::{
    support::{Forge, Sandbox},
    trace::world,
};

/// Of a server that has read `acme/shop` from the forge, and its repository.
pub(super) fn whole_world() -> Api {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let (origin, _) = world::repository();
    sandbox.run(&["add", &origin.path().display().to_string(), "--name", world::SHOP]).ok();
    let server = sandbox.serve();
    Api { forge, sandbox, server, http: reqwest::Client::builder().no_proxy().build().unwrap() }
}

/// The variables of each document, and a place of its answer that must not be empty.
fn questions() -> BTreeMap<&'static str, (Value, &'static str)> {
    let (shop, token) = (world::SHOP, world::TOKEN);
    let time = json!({ "from": "2020-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z" });
    BTreeMap::from([
        ("reviews", (json!({ "project": shop, "reviewers": [] }), "/project/waiting/nodes/0/id")),
        ("stale_issues", (json!({ "project": shop, "since": "2024-05-20T00:00:00Z" }), "/project/issues/nodes/0/id")),
        ("co_changes", (json!({ "file": format!("{shop}:{token}") }), "/node/coChanges")),
        ("experts", (json!({ "project": shop, "path": token }), "/project/contributors/0/lastAt")),
        ("line", (json!({ "project": shop, "path": token, "line": 42 }), "/trace/origins/0/file/path")),
        (
            "search",
            (
                json!({ "query": "clock skew of phones", "projects": [shop], "ranking": { "recency": 0.1 } }),
                "/search/hits/0/title",
            ),
        ),
        (
            "recall_near",
            (
                json!({ "near": format!("{shop}!2"), "query": "clock skew of phones", "ranking": { "relationship": 0.2 } }),
                "/search/hits/0/node/id",
            ),
        ),
        (
            "module_changes",
            (json!({ "project": shop, "path": "src/auth", "time": time }), "/project/commits/nodes/0/title"),
        ),
        ("path_to_decision", (json!({ "from": "@janedoe", "to": format!("{shop}#1") }), "/path/nodes/1/id")),
        ("neighborhood", (json!({ "id": format!("{shop}!2") }), "/node/neighborhood/nodes/0/node/id")),
        ("important_code", (json!({ "project": shop }), "/project/entities/nodes/0/name")),
        ("person", (json!({ "username": "johndoe", "time": time }), "/person/commits/nodes/0/title")),
        ("counts_over_time", (json!({ "project": shop, "time": time }), "/project/activity/0/start")),
        ("context_pack", (json!({ "question": "why is there clock skew", "projects": [shop] }), "/contextPack/text")),
        ("governing_documents", (json!({ "question": "what is the shop", "projects": [shop] }), "/contextPack/text")),
        ("operations", (json!({}), "/repositories/0/state")),
        ("project", (json!({ "project": shop }), "/project/people/edges/0/node/name")),
        ("projects", (json!({}), "/projects/nodes/0/id")),
        ("file_to_issues", (json!({ "project": shop, "path": token }), "/project/commits/nodes/0/mergeRequest")),
    ])
}

// Rows 53, 54 and 57 of docs/requirements.md.
#[tokio::test]
async fn every_question_of_a_dashboard_is_one_request() {
    let api = whole_world();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../queries/graphql/dashboards");
    let mut questions = questions();
    let mut failed = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (variables, place) = questions.remove(name).unwrap_or_else(|| panic!("{name} has no variables here"));
        let answer = api.answer(&fs::read_to_string(&path).unwrap(), variables).await;
        let found = answer["data"].pointer(place);
        let is_there = found.is_some_and(|found| !matches!(found, Value::Null) && *found != json!(""));
        if !answer["errors"].is_null() || (!is_there && name != "file_to_issues") {
            failed.push(format!("{name} has nothing at {place}: {answer:#}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(questions.is_empty(), "no documents of {:?}", questions.keys());
}

/// What stands in `docs/grafana/backstory.json` for a query: its document, its variables and where its rows are.
struct Target {
    document: String,
    variables: Value,
    root: String,
    columns: Vec<String>,
}

impl Target {
    /// With the variables of the dashboard as they are in the test's world.
    fn new(of: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{of:#}")).to_owned();
        let body = &of["url_options"];
        let mut variables = text(&body["body_graphql_variables"]);
        for (name, value) in [
            ("${selected_project}", world::SHOP),
            ("${selected_path}", world::TOKEN),
            ("${__from:date:iso}", "2024-05-20T00:00:00.000Z"),
            ("${__to:date:iso}", "2100-01-01T00:00:00.000Z"),
        ] {
            variables = variables.replace(name, value);
        }
        assert!(!variables.contains('$'), "{variables}");
        Self {
            document: text(&body["body_graphql_query"]),
            variables: serde_json::from_str(&variables).unwrap(),
            root: format!("/{}", text(&of["root_selector"]).replace('.', "/")),
            columns: of["columns"].as_array().unwrap().iter().map(|column| text(&column["selector"])).collect(),
        }
    }

    /// The dashboard's panels and variables that ask something, by their titles and names.
    fn all(dashboard: &Value) -> Vec<(String, Self)> {
        let mut found = Vec::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                found.push((panel["title"].as_str().unwrap().to_owned(), Self::new(target)));
            }
        }
        for variable in dashboard["templating"]["list"].as_array().unwrap() {
            let query = &variable["query"]["infinityQuery"];
            if !query.is_null() {
                found.push((variable["name"].as_str().unwrap().to_owned(), Self::new(query)));
            }
        }
        found
    }

    /// What is wrong with the answer.
    fn check(&self, answer: &Value, may_be_empty: bool) -> Result<(), String> {
        if !answer["errors"].is_null() {
            return Err(format!("fails: {answer:#}"));
        }
        let rows = answer.pointer(&self.root).and_then(Value::as_array);
        let rows = rows.ok_or_else(|| format!("has no rows at {}: {answer:#}", self.root))?;
        if rows.is_empty() && !may_be_empty {
            return Err(format!("has no rows: {answer:#}"));
        }
        for row in rows {
            if let Some(column) = self.columns.iter().find(|column| !has_column(row, column)) {
                return Err(format!("has no {column} in {row:#}"));
            }
        }
        Ok(())
    }
}

/// Whether a row has a column, or is null where it could be in it.
fn has_column(row: &Value, column: &str) -> bool {
    let mut place = row;
    for name in column.split('.') {
        match place.get(name) {
            Some(inner) => place = inner,
            None => return place.is_null(),
        }
    }
    true
}

#[tokio::test]
async fn the_dashboard_for_grafana_asks_documents_that_answer_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dashboard = fs::read_to_string(root.join("docs/grafana/backstory.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let entries = fs::read_dir(root.join("queries/graphql/dashboards")).unwrap();
    let documents: Vec<String> = entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    let own: Vec<&str> = dashboard["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    let api = whole_world();
    let targets = Target::all(&dashboard);
    assert!(targets.len() >= 9, "{}", targets.len());
    for (title, target) in targets {
        assert!(documents.contains(&target.document), "{title}: no such document in queries/graphql/dashboards");
        // Grafana replaces its variables in documents too.
        let replaced = own.iter().find(|name| target.document.contains(&format!("${name}")));
        assert_eq!(replaced, None, "{title}: a variable of the document has the name of one of the dashboard");
        let answer = api.answer(&target.document, target.variables.clone()).await;
        let may_be_empty = ["Changes together", "Jobs"].contains(&title.as_str());
        target.check(&answer, may_be_empty).unwrap_or_else(|problem| panic!("{title} {problem}"));
    }
}

#[tokio::test]
async fn commits_lead_to_merge_requests_and_their_issues() {
    let api = whole_world();
    let query = "query ($path: [String!]) { project(fullPath: \"acme/shop\") {
        commits(filter: { paths: $path, kinds: [COMMIT] }, orderBy: { field: COMMITTED, direction: ASC }) {
          totalCount nodes { title mergeRequest { id closes { id } } } } }
        mergeRequest(id: \"acme/shop!2\") { commits(filter: { kinds: [COMMIT] }) { totalCount nodes { title } } } }";
    let data = api.data_with(query, json!({ "path": ["src/auth"] })).await;
    let commits = &data["project"]["commits"];
    assert_eq!(commits["totalCount"], 3, "{data:#}");
    assert_eq!(
        commits["nodes"][0]["mergeRequest"],
        json!({ "id": "acme/shop!2", "closes": [{ "id": "acme/shop#1" }] })
    );
    assert_eq!(commits["nodes"][2]["mergeRequest"], Value::Null, "{data:#}");
    assert_eq!(data["mergeRequest"]["commits"]["totalCount"], 2, "{data:#}");
}

// Row 79 of docs/requirements.md.
#[tokio::test]
async fn a_file_tells_its_commits_their_merge_requests_its_entities_and_discussions() {
    let api = whole_world();
    let query = "query ($id: ID!) { node(id: $id) { ... on File {
        commits(first: 10, filter: { introduced: true, kinds: COMMIT }) { totalCount nodes { title mergeRequest { id } } }
        entities(orderBy: { field: NAME }) { totalCount nodes { path name } }
        discussions { totalCount nodes { thread { id } } } } } }";
    let id = format!("{}:{}", world::SHOP, world::TOKEN);
    let file = api.data_with(query, json!({ "id": id })).await["node"].take();
    let commits = file["commits"]["nodes"].as_array().unwrap();
    assert!(!commits.is_empty() && file["commits"]["totalCount"] == commits.len(), "{file:#}");
    assert!(commits.iter().any(|commit| commit["mergeRequest"]["id"] == "acme/shop!2"), "{file:#}");
    let entities = file["entities"]["nodes"].as_array().unwrap();
    assert!(!entities.is_empty() && entities.iter().all(|entity| entity["path"] == world::TOKEN), "{file:#}");
    assert_eq!(file["discussions"]["totalCount"], file["discussions"]["nodes"].as_array().unwrap().len());
    let other = format!(
        "{{ node(id: \"{id}\") {{ ... on File {{ commits(filter: {{ paths: \"src\" }}) {{ totalCount }} }} }} }}"
    );
    let (code, message) = api.error(&other).await;
    assert!(code == "INVALID" && message.contains("leave 'paths' out"), "{message}");
}

// Row 53 of docs/requirements.md.
#[tokio::test]
async fn recall_by_vector_near_a_node_leads_on_in_the_same_request() {
    let api = whole_world();
    // The server may be making vectors by itself, and one that does refuses to be asked for them.
    while api.sandbox.run(&["embed"]).code != 0 {}
    let document = include_str!("../../queries/graphql/dashboards/recall_near.graphql");
    let ranking = json!({ "semantic": 1, "lexical": 0, "recency": 0, "importance": 0, "relationship": 0, "author": 0 });
    let near = format!("{}!2", world::SHOP);
    let variables = json!({ "near": near, "query": "how long a session lasts", "ranking": ranking, "first": 50 });
    let found = api.data_with(document, variables).await["search"].take();
    let hits = found["hits"].as_array().unwrap();
    let part = |hit: &Value, name: &str| {
        let parts = hit["parts"].as_array().unwrap();
        parts.iter().find(|part| part["name"] == name).unwrap()["score"].as_f64().unwrap()
    };
    let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.len() > 1 && scores[0] > 0.0 && scores.is_sorted_by(|a, b| a >= b), "{found:#}");
    for hit in hits {
        assert_eq!(hit["score"].as_f64(), Some(part(hit, "SEMANTIC")), "{hit:#}");
        assert!(part(hit, "RELATIONSHIP") > 0.0, "it is near the node: {hit:#}");
    }
    // The hits are nodes that are walked on from.
    let of = |id: &str| hits.iter().find(|hit| hit["node"]["id"] == id).unwrap_or_else(|| panic!("no {id}: {found:#}"));
    assert_eq!(of("acme/shop!2")["node"]["closes"][0]["id"], "acme/shop#1");
    assert_eq!(of("acme/shop#3")["node"]["closingMergeRequests"][0]["id"], "acme/shop!1");
}
