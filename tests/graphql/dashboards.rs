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
        ("lead_times", (json!({ "project": shop, "time": time }), "/project/mergeRequests/timeToMerge/median")),
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

#[tokio::test]
async fn how_long_reviews_merges_and_closing_took_is_told_in_seconds() {
    let mut fixture: Value = serde_json::from_str(include_str!("../fixtures/acme.json")).unwrap();
    let program = json!({ "username": "renovate-bot", "name": "Renovate" });
    fixture["people"].as_array_mut().unwrap().push(program);
    // Neither a program nor the author reviews it.
    let note = |author: &str, at: &str| json!([{ "author": author, "at": at, "body": "Buckets are per key." }]);
    let notes = [note("renovate-bot", "2024-05-17T08:01:00.000Z"), note("alice", "2024-05-17T09:00:00.000Z")];
    fixture["projects"][0]["merge_requests"][2]["discussions"].as_array_mut().unwrap().extend(notes);
    let api = Api::of(Forge::start_with(&fixture.to_string()));
    let query = "{ project(fullPath: \"acme/shop\") {
        mergeRequests(orderBy: { field: NUMBER, direction: ASC }) { nodes { timeToFirstReview timeToMerge } }
        issues(orderBy: { field: NUMBER, direction: ASC }) { nodes { timeToClose } } } }";
    let project = api.data(query).await["project"].take();
    let times = |list: &str, field: &str| -> Vec<Option<u64>> {
        project[list]["nodes"].as_array().unwrap().iter().map(|node| node[field].as_u64()).collect()
    };
    let merged = [Some(977_400), Some(1_062_300), None, None, None];
    assert_eq!(times("mergeRequests", "timeToMerge"), merged, "{project:#}");
    let reviewed = [Some(83_520), Some(187_200), Some(345_600), Some(348_305), Some(84_540)];
    assert_eq!(times("mergeRequests", "timeToFirstReview"), reviewed, "{project:#}");
    let closed = [Some(2_012_700), None, Some(2_179_800), None, None, None];
    assert_eq!(times("issues", "timeToClose"), closed, "{project:#}");
}

/// The durations of some items: median, 90th percentile and mean, if there are any.
fn durations(count: u64, figures: &[u64]) -> Value {
    let (median, p90, mean) = (figures.first(), figures.get(1), figures.get(2));
    json!({ "count": count, "median": median, "p90": p90, "mean": mean, "complete": true })
}

/// A group of merge requests with their durations.
fn group(value: &str, count: u64, durations: &Value) -> Value {
    json!({ "value": value, "count": count, "timeToMerge": durations })
}

/// A period of merge requests with the durations of those that are counted in it.
fn period(start: &str, count: u64, durations: &Value) -> Value {
    json!({ "start": format!("{start}T00:00:00Z"), "count": count, "timeToMerge": durations })
}

/// A project in which four merge requests were merged, after 977,400, 1,062,300, 0 and 345,600 seconds.
fn four_merged() -> Api {
    let mut fixture: Value = serde_json::from_str(include_str!("../fixtures/acme.json")).unwrap();
    let requests = &mut fixture["projects"][0]["merge_requests"];
    // The first of these was merged before it was opened.
    for (place, merged_at) in [(2_usize, "2024-05-17T07:00:00.000Z"), (3, "2024-05-06T13:44:55.900Z")] {
        requests[place]["state"] = json!("merged");
        requests[place]["merged_at"] = json!(merged_at);
    }
    Api::of(Forge::start_with(&fixture.to_string()))
}

#[tokio::test]
async fn lists_and_their_groups_tell_how_long_their_items_took() {
    let api = four_merged();
    let query = "{ project(fullPath: \"acme/shop\") {
        mergeRequests(first: 0) { timeToMerge { ...D }
          authors: groupBy(field: AUTHOR) { groups { value count timeToMerge { ...D } timeToClose { ...D } } complete }
          labels: groupBy(field: LABEL) { groups { value count timeToMerge { ...D } } } }
        labeled: mergeRequests(first: 0, filter: { labels: { any: [\"PERFORMANCE\", \"database\"] } }) {
          timeToMerge { ...D } }
        closed: mergeRequests(first: 0, filter: { states: CLOSED }) { timeToMerge { ...D } }
        issues(first: 0) { timeToClose { ...D }
          groupBy(field: STATE) { groups { value count timeToClose { ...D } timeToMerge { ...D } } }
          activity(by: YEAR) { periods { timeToFirstReview { ...D } } } }
        discussions(first: 0) { groupBy(field: PROJECT) { groups { timeToMerge { ...D } timeToClose { ...D } } } } } }
        fragment D on Durations { count median p90 mean complete }";
    let project = api.data(query).await["project"].take();
    let merged = &project["mergeRequests"];
    assert_eq!(merged["timeToMerge"], durations(4, &[661_500, 1_036_830, 596_325]), "{project:#}");
    let mut authors = [
        group("bob", 3, &durations(2, &[661_500, 914_220, 661_500])),
        group("alice", 1, &durations(1, &[0, 0, 0])),
        group("johndoe", 1, &durations(1, &[1_062_300, 1_062_300, 1_062_300])),
    ];
    for author in &mut authors {
        author["timeToClose"] = Value::Null;
    }
    assert_eq!(merged["authors"], json!({ "groups": authors, "complete": true }));
    let labels = [
        group("performance", 2, &durations(2, &[488_700, 879_660, 488_700])),
        group("auth", 1, &durations(1, &[1_062_300, 1_062_300, 1_062_300])),
        group("database", 1, &durations(1, &[345_600, 345_600, 345_600])),
        group("flaky-test", 1, &durations(0, &[])),
        group("security", 1, &durations(1, &[0, 0, 0])),
    ];
    assert_eq!(merged["labels"], json!({ "groups": labels }));
    assert_eq!(project["labeled"]["timeToMerge"], durations(3, &[345_600, 851_040, 441_000]));
    assert_eq!(project["closed"]["timeToMerge"], durations(0, &[]));
    let closed = durations(2, &[2_096_250, 2_163_090, 2_096_250]);
    assert_eq!(project["issues"]["timeToClose"], closed);
    let states = json!([
        { "value": "OPENED", "count": 4, "timeToClose": durations(0, &[]), "timeToMerge": null },
        { "value": "CLOSED", "count": 2, "timeToClose": closed, "timeToMerge": null },
    ]);
    assert_eq!(project["issues"]["groupBy"]["groups"], states);
    let years = project["issues"]["activity"]["periods"].as_array().unwrap();
    assert!(!years.is_empty() && years.iter().all(|year| year["timeToFirstReview"].is_null()), "{project:#}");
    let discussions = json!([{ "timeToMerge": null, "timeToClose": null }]);
    assert_eq!(project["discussions"]["groupBy"]["groups"], discussions);
}

#[tokio::test]
async fn a_period_tells_how_long_the_items_took_that_are_counted_in_it() {
    let api = four_merged();
    let query = "query ($time: DateRange) { mergeRequests(first: 0, filter: { merged: $time }) {
        merged: activity(by: MONTH, of: MERGED) { periods { start count timeToMerge { ...D } } complete }
        opened: activity(by: YEAR) { periods { start count timeToMerge { ...D } } } } }
        fragment D on Durations { count median p90 mean complete }";
    let (december, march) = (
        period("2023-12-01", 1, &durations(1, &[977_400, 977_400, 977_400])),
        period("2024-03-01", 1, &durations(1, &[1_062_300, 1_062_300, 1_062_300])),
    );
    let found = api.data(query).await["mergeRequests"].take();
    let months = [
        december,
        period("2024-01-01", 0, &durations(0, &[])),
        period("2024-02-01", 0, &durations(0, &[])),
        march.clone(),
        period("2024-04-01", 0, &durations(0, &[])),
        period("2024-05-01", 2, &durations(2, &[172_800, 311_040, 172_800])),
    ];
    assert_eq!(found["merged"], json!({ "periods": months, "complete": true }));
    // One of those that were opened in 2024 was not merged.
    let years = [
        period("2023-01-01", 1, &durations(1, &[977_400, 977_400, 977_400])),
        period("2024-01-01", 4, &durations(3, &[345_600, 918_960, 469_300])),
    ];
    assert_eq!(found["opened"], json!({ "periods": years }));

    let time = json!({ "from": "2024-02", "to": "2024-04" });
    let found = api.data_with(query, json!({ "time": time })).await["mergeRequests"].take();
    let months = [period("2024-02-01", 0, &durations(0, &[])), march];
    assert_eq!(found["merged"], json!({ "periods": months, "complete": true }));
}

/// Count, median and mean of durations in seconds.
fn figures(mut seconds: Vec<u64>) -> Value {
    seconds.sort_unstable();
    let count = seconds.len();
    let median = (count > 0).then(|| (seconds[(count - 1) / 2] + seconds[count / 2]) / 2);
    let mean = (count > 0).then(|| seconds.iter().sum::<u64>() / count as u64);
    json!({ "count": count, "median": median, "mean": mean, "complete": true })
}

#[tokio::test]
async fn first_reviews_of_a_list_are_those_of_its_merge_requests_one_by_one() {
    let forge = Forge::start();
    forge.join("renovate-bot", "Renovate");
    // Nobody reviews the first; its author and a program write to the second before somebody else does.
    let ignored = forge.new_merge_request("acme/shop", "alice", "Sell gift cards", "");
    let noted = forge.new_merge_request("acme/shop", "alice", "Sell vouchers", "");
    for (author, body) in [("alice", "It is ready."), ("renovate-bot", "Two updates wait."), ("carol", "Why now?")] {
        forge.advance(1_001);
        forge.discuss(&noted, author, body);
    }
    let api = Api::of(forge);
    let listed = api.data("{ mergeRequests { nodes { id createdAt author { username } } } }").await;
    let (mut all, mut missing): (Vec<u64>, Vec<String>) = (Vec::new(), Vec::new());
    let mut groups: BTreeMap<(&str, String), (u64, Vec<u64>)> = BTreeMap::new();
    for node in listed["mergeRequests"]["nodes"].as_array().unwrap() {
        let text = |pointer: &str| node.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        let query = format!("{{ mergeRequest(id: \"{}\") {{ timeToFirstReview }} }}", text("/id"));
        let seconds = api.data(&query).await["mergeRequest"]["timeToFirstReview"].as_u64();
        all.extend(seconds);
        missing.extend(seconds.is_none().then(|| text("/id")));
        let year = format!("{}-01-01T00:00:00Z", &text("/createdAt")[..4]);
        for key in [("author", text("/author/username")), ("year", year)] {
            let (count, of_group) = groups.entry(key).or_default();
            *count += 1;
            of_group.extend(seconds);
        }
    }
    assert_eq!((all.len(), missing), (6, vec![ignored]));
    assert!(all.contains(&3_003), "{all:?}");

    let query = "{ mergeRequests(first: 0) { timeToFirstReview { ...D } timeToMerge { count }
          groupBy(field: AUTHOR) { groups { value count timeToFirstReview { ...D } } }
          activity(by: YEAR) { periods { start count timeToFirstReview { ...D } } } } }
        fragment D on Durations { count median mean complete }";
    let found = api.data(query).await["mergeRequests"].take();
    assert_eq!(found["timeToFirstReview"], figures(all), "{found:#}");
    assert_eq!(found["timeToMerge"]["count"], 2);
    let mut grouped = BTreeMap::new();
    for (list, kind, name) in [("/groupBy/groups", "author", "value"), ("/activity/periods", "year", "start")] {
        for group in found.pointer(list).unwrap().as_array().unwrap() {
            let key = (kind, group[name].as_str().unwrap().to_owned());
            grouped.insert(key, (group["count"].as_u64().unwrap(), group["timeToFirstReview"].clone()));
        }
    }
    // Periods without merge requests are there too.
    grouped.retain(|_, (count, _)| *count > 0);
    let expected: BTreeMap<_, _> =
        groups.into_iter().map(|(key, (count, seconds))| (key, (count, figures(seconds)))).collect();
    assert_eq!(grouped, expected);
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
