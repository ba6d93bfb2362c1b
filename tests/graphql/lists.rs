//! Lists: pages from both ends, orders, filters, totals and aggregates.

use serde_json::{Value, json};

use super::{Api, dashboards::whole_world, texts};

/// The lists of a project, each with an order, and what identifies a node.
const LISTS: [(&str, &str, &str); 11] = [
    ("issues", "{ field: CREATED, direction: ASC }", "id"),
    ("mergeRequests", "{ field: NOTES }", "id"),
    ("discussions", "{ field: CREATED }", "id"),
    ("commits", "{ field: AUTHORED }", "id"),
    ("files", "{ field: PATH }", "id"),
    ("entities", "{ field: NAME }", "id"),
    ("people", "{ field: COMMITS }", "id"),
    ("branches", "{ field: NAME, direction: DESC }", "id"),
    ("tags", "{ field: NAME }", "id"),
    ("labels", "{ field: NAME, direction: DESC }", "id"),
    ("milestones", "{ field: NUMBER }", "id"),
];

#[tokio::test]
async fn pages_from_both_ends_hold_every_item_once() {
    let api = whole_world();
    for (list, order, key) in LISTS {
        let query = format!(
            "query ($first: Int, $after: String, $last: Int, $before: String) {{ project(fullPath: \"acme/shop\") {{
               {list}(orderBy: {order}, first: $first, after: $after, last: $last, before: $before) {{ totalCount
                 nodes {{ {key} }} edges {{ cursor }}
                 pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }} }}"
        );
        let page = async |variables: Value| api.data_with(&query, variables).await["project"][list].take();
        let whole = page(json!({ "first": 100 })).await;
        let expected = texts(&whole["nodes"], "/id");
        assert_eq!(whole["totalCount"], expected.len(), "{list}");
        assert!(list == "tags" || !expected.is_empty(), "{list}");
        for is_forward in [true, false] {
            let (size, cursor) = if is_forward { ("first", "after") } else { ("last", "before") };
            let (mut found, mut at) = (Vec::new(), Value::Null);
            loop {
                let page = page(json!({ size: 2, cursor: at })).await;
                let nodes = texts(&page["nodes"], "/id");
                let place = if is_forward { found.len() } else { 0 };
                found.splice(place..place, nodes);
                let info = &page["pageInfo"];
                let (more, end, behind) = if is_forward {
                    ("hasNextPage", "endCursor", "hasPreviousPage")
                } else {
                    ("hasPreviousPage", "startCursor", "hasNextPage")
                };
                assert_eq!(info[behind], !at.is_null(), "{list}: {page:#}");
                if info[more] == false {
                    break;
                }
                at = info[end].clone();
                assert!(found.len() <= expected.len(), "{list} does not end: {found:?}");
            }
            assert_eq!(found, expected, "{list} {size}");
        }
        // A cursor is one of its list and order.
        if let Some(cursor) = whole["edges"][0]["cursor"].as_str() {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
            assert!(cursor.chars().all(is_plain), "{list}: {cursor} cannot be pasted into a document");
            let other = if list == "issues" { "mergeRequests" } else { "issues" };
            let query = format!("query ($after: String) {{ {other}(after: $after) {{ nodes {{ id }} }} }}");
            let answer = api.answer(&query, json!({ "after": cursor })).await;
            assert_eq!(answer["errors"][0]["extensions"]["code"], "INVALID", "{list}: {answer}");
        }
    }
}

// Rows 139 and 141 of docs/requirements.md.
#[tokio::test]
async fn lists_are_filtered_by_each_condition() {
    let api = Api::new();
    for (list, filter, expected) in [
        ("issues", "{ assignees: \"carol\" }", vec!["#2", "#5"]),
        ("issues", "{ assigned: false }", vec!["#3", "#6"]),
        ("issues", "{ labels: { any: [\"auth\", \"bug\"] } }", vec!["#1", "#5"]),
        ("issues", "{ labels: { all: [\"performance\", \"security\"] } }", vec!["#4"]),
        ("issues", "{ labels: { any: [\"performance\"], none: [\"security\"] } }", vec!["#3"]),
        ("issues", "{ milestones: [1] }", vec!["#3"]),
        ("issues", "{ created: { from: \"2024-03-01T00:00:00Z\", to: \"2024-05-01T00:00:00Z\" } }", vec!["#2", "#4"]),
        ("issues", "{ states: OPENED, staleSince: \"2024-05-17T00:00:00Z\" }", vec!["#2", "#5"]),
        ("issues", "{ closed: { from: \"2024-01-01T00:00:00Z\" } }", vec!["#1"]),
        ("issues", "{ linked: false }", vec!["#6"]),
        ("mergeRequests", "{ reviewers: [\"@BOB\", \"carol\"] }", vec!["!3", "!5"]),
        ("mergeRequests", "{ approvedBy: \"alice\" }", vec!["!1"]),
        ("mergeRequests", "{ reviewers: \"alice\", notApprovedBy: \"alice\" }", vec![]),
        ("mergeRequests", "{ reviewRequested: \"@JaneDoe\" }", vec!["!2"]),
        ("mergeRequests", "{ reviewRequested: \"janedoe\", notApprovedBy: \"janedoe\" }", vec![]),
        // He wrote in !3, and nothing says that he was asked.
        ("mergeRequests", "{ reviewRequested: \"bob\", states: OPENED }", vec![]),
        ("mergeRequests", "{ draft: true }", vec!["!3"]),
        ("mergeRequests", "{ merged: { from: \"2024-01-01T00:00:00Z\" } }", vec!["!2"]),
        ("mergeRequests", "{ linked: true, states: MERGED }", vec!["!1", "!2"]),
    ] {
        let query = format!("{{ {list}(filter: {filter}) {{ totalCount atLeast nodes {{ id }} }} }}");
        let found = api.data(&query).await[list].take();
        let mut ids = texts(&found["nodes"], "/id");
        ids.sort();
        let expected: Vec<String> = expected.into_iter().map(|id| format!("acme/shop{id}")).collect();
        assert_eq!(ids, expected, "{filter}");
        assert_eq!((&found["totalCount"], &found["atLeast"]), (&json!(expected.len()), &json!(false)), "{filter}");
    }
}

#[tokio::test]
async fn an_empty_list_in_a_filter_is_no_condition() {
    let api = whole_world();
    let everywhere = "projects: [], states: [], authors: [], assignees: [], participants: [], mentions: [],
        milestones: [], labels: { any: [], all: [], none: [] }";
    for (list, filter) in [
        ("issues", everywhere.to_owned()),
        (
            "mergeRequests",
            format!("{everywhere}, reviewers: [], reviewRequested: [], approvedBy: [], notApprovedBy: []"),
        ),
        ("discussions", "projects: [], authors: [], participants: [], mentions: [], paths: []".to_owned()),
        ("commits", "projects: [], kinds: [], authors: [], paths: [], changeTypes: []".to_owned()),
        ("files", "projects: [], paths: [], languages: [], documentTypes: []".to_owned()),
        ("entities", "projects: [], names: [], kinds: [], paths: []".to_owned()),
        ("people", "projects: []".to_owned()),
    ] {
        let query =
            format!("{{ all: {list} {{ totalCount }} empty: {list}(filter: {{ {filter} }}) {{ totalCount }} }}");
        let data = api.data(&query).await;
        assert_eq!(data["empty"], data["all"], "{list}");
        assert!(data["all"]["totalCount"].as_u64() > Some(0), "{list}");
    }
    let query = "{ issue(id: \"acme/shop#1\") { all: edges { totalCount } empty: edges(names: []) { totalCount }
        around: neighborhood { nodes { distance } } nothing: neighborhood(names: []) { nodes { distance } } }
        all: path(from: \"acme/shop#1\", to: \"@janedoe\") { nodes { id } }
        empty: path(from: \"acme/shop#1\", to: \"@janedoe\", names: []) { nodes { id } }
        one: search(query: \"redis\", mode: LEXICAL) { hits { documentId } }
        other: search(query: \"redis\", mode: LEXICAL, filter: { projects: [], kinds: [], authors: [], allLabels: [],
          pathPrefixes: [], languages: [], documentTypes: [], nodes: [], exclude: [], near: [], tags: [] }) {
          hits { documentId } } }";
    let data = api.data(query).await;
    assert_eq!(data["issue"]["empty"], data["issue"]["all"], "{data:#}");
    assert_eq!(data["issue"]["nothing"], data["issue"]["around"], "{data:#}");
    assert_eq!(data["empty"], data["all"], "{data:#}");
    assert_eq!(data["one"], data["other"], "{data:#}");
    assert!(!data["one"]["hits"].as_array().unwrap().is_empty(), "{data:#}");
}

#[tokio::test]
async fn a_directory_in_a_filter_may_end_with_a_slash() {
    let api = whole_world();
    for list in ["commits", "files", "entities", "discussions"] {
        let aggregates = match list {
            "files" => "groupBy(field: LANGUAGE) { groups { value count } }",
            "entities" => "groupBy(field: KIND) { groups { value count } }",
            _ => "activity(by: YEAR) { periods { start count } }",
        };
        let of = async |paths: &str| {
            let query = format!(
                "{{ {list}(filter: {{ projects: \"acme/shop\", {paths} }}, first: 100) {{
                   totalCount nodes {{ id }} {aggregates} }} }}"
            );
            api.data(&query).await[list].take()
        };
        let (plain, all) = (of("paths: \"src\"").await, of("paths: []").await);
        assert!(plain["totalCount"].as_u64() > Some(0), "{list}: {plain:#}");
        assert_eq!(of("paths: [\"src/\"]").await, plain, "{list}");
        assert_eq!(of("paths: [\"./src//\", \"no/such\"]").await, plain, "{list}");
        let query = format!("{{ {list}(first: 0, filter: {{ paths: \"srx/\" }}) {{ totalCount }} }}");
        let warnings = api.answer(&query, Value::Null).await["extensions"]["warnings"].take();
        assert_eq!(warnings, json!(["nothing is at or below the path 'srx'; the nearest path is 'src/'"]), "{list}");
        for whole in ["paths: [\"\"]", "paths: [\"/\"]", "paths: [\".\"]", "paths: [\"src\", \"./\"]"] {
            assert_eq!(of(whole).await, all, "{list} {whole}");
        }
    }
}

#[tokio::test]
async fn lists_are_grouped_by_project_and_code_by_what_it_is() {
    let api = whole_world();
    let query = "{ issues { groupBy(field: PROJECT) { groups { value count node { id } } complete } totalCount }
        mergeRequests { groupBy(field: PROJECT) { groups { value count node { id } } complete } totalCount }
        discussions { groupBy(field: PROJECT) { groups { value count node { id } } complete } totalCount }
        commits { groupBy(field: PROJECT) { groups { value count node { id } } complete } totalCount }
        files { groupBy(field: LANGUAGE) { groups { value count } } types: groupBy(field: DOCUMENT_TYPE) {
          groups { value count } } totalCount }
        entities { groupBy(field: KIND) { groups { value count } complete } totalCount } }";
    let data = api.data(query).await;
    let sum = |groups: &Value| -> u64 {
        groups["groups"].as_array().unwrap().iter().map(|group| group["count"].as_u64().unwrap()).sum()
    };
    for list in ["issues", "mergeRequests", "discussions", "commits"] {
        let groups = &data[list]["groupBy"];
        assert_eq!(groups["groups"][0]["node"]["id"], groups["groups"][0]["value"], "{data:#}");
        assert_eq!(json!(sum(groups)), data[list]["totalCount"], "{data:#}");
    }
    assert_eq!(json!(sum(&data["files"]["types"])), data["files"]["totalCount"], "{data:#}");
    assert!(texts(&data["files"]["groupBy"]["groups"], "/value").contains(&"Rust".to_owned()), "{data:#}");
    assert_eq!(json!(sum(&data["entities"]["groupBy"])), data["entities"]["totalCount"], "{data:#}");
}

// Row 71 of docs/requirements.md.
#[tokio::test]
async fn lists_are_ordered() {
    let api = Api::new();
    for (list, field, pointer) in [
        ("issues", "CREATED", "/createdAt"),
        ("issues", "CLOSED", "/closedAt"),
        ("mergeRequests", "UPDATED", "/updatedAt"),
        ("mergeRequests", "CREATED", "/createdAt"),
    ] {
        for direction in ["ASC", "DESC"] {
            let query = format!(
                "{{ {list}(orderBy: {{ field: {field}, direction: {direction} }}, first: 100) {{
                   nodes {{ createdAt updatedAt closedAt }} }} }}"
            );
            let times = texts(&api.data(&query).await[list]["nodes"], pointer);
            let is_ordered = |a: &String, b: &String| if direction == "ASC" { a <= b } else { a >= b };
            assert!(times.len() >= 2 && times.is_sorted_by(is_ordered), "{list} {field} {direction}: {times:?}");
        }
    }
    let merged = "{ mergeRequests(orderBy: { field: MERGED }) { totalCount nodes { id } } }";
    let merged = api.data(merged).await["mergeRequests"].take();
    assert_eq!(texts(&merged["nodes"], "/id"), ["acme/shop!2", "acme/shop!1"], "others were not merged");
}

#[tokio::test]
async fn lists_are_grouped_and_counted_over_time() {
    let api = Api::new();
    let query = "{ project(fullPath: \"acme/shop\") {
        issues(first: 0) { groupBy(field: LABEL, first: 2) { groups { value count node { id ... on Label { color } } } complete } }
        open: issues(filter: { states: OPENED }, first: 0) {
          groupBy(field: ASSIGNEE) { groups { value count node { id ... on Person { name } } } complete }
          activity(by: MONTH) { periods { start count } complete } }
        mergeRequests(first: 0) { groupBy(field: MILESTONE) { groups { count node { ... on Milestone { title } } } } }
        activity(by: MONTH, time: { from: \"2024-05-01T00:00:00Z\", to: \"2024-06-01T00:00:00Z\" }) {
          start issuesOpened issuesClosed mergeRequestsOpened mergeRequestsMerged }
      } issues { groupBy(field: STATE) { groups { value count } } } }";
    let data = api.data(query).await;
    let project = &data["project"];
    let labels = &project["issues"]["groupBy"];
    assert_eq!(labels["complete"], false, "{labels:#}");
    assert_eq!(labels["groups"].as_array().unwrap().len(), 2);
    let first = &labels["groups"][0];
    assert_eq!((&first["count"], &first["node"]["id"]), (&json!(2), &json!("acme/shop~performance")), "{labels:#}");
    let assignees = &project["open"]["groupBy"];
    assert_eq!(assignees["complete"], true);
    assert_eq!(
        assignees["groups"][0],
        json!({ "value": "carol", "count": 2, "node": { "id": "@carol", "name": "Carol Weiss" } })
    );
    assert_eq!(
        project["open"]["activity"]["periods"],
        json!([
            { "start": "2024-03-01T00:00:00Z", "count": 1 },
            { "start": "2024-04-01T00:00:00Z", "count": 1 },
            { "start": "2024-05-01T00:00:00Z", "count": 2 },
        ])
    );
    assert_eq!(project["mergeRequests"]["groupBy"]["groups"][0]["count"], 2, "{project:#}");
    assert_eq!(
        project["activity"],
        json!([{ "start": "2024-05-01T00:00:00Z", "issuesOpened": 2, "issuesClosed": 0, "mergeRequestsOpened": 3,
                 "mergeRequestsMerged": 0 }])
    );
    let states = json!([{ "value": "OPENED", "count": 4 }, { "value": "CLOSED", "count": 2 }]);
    assert_eq!(data["issues"]["groupBy"]["groups"], states);
    let (code, message) = api.error("{ issues { groupBy(field: MILESTONE) { complete } } }").await;
    assert!(code == "INVALID" && message.contains("restrict the list to one project"), "{message}");
}

#[tokio::test]
async fn values_of_groups_are_named_as_filters_take_them() {
    let api = whole_world();
    for (list, by, filter) in [
        ("issues", "STATE", "states"),
        ("mergeRequests", "STATE", "states"),
        ("commits", "CHANGE_TYPE", "changeTypes"),
        ("files", "DOCUMENT_TYPE", "documentTypes"),
        ("entities", "KIND", "kinds"),
    ] {
        let query =
            format!("{{ {list} {{ groupBy(field: {by}) {{ groups {{ value count node {{ id }} }} complete }} }} }}");
        let groups = api.data(&query).await[list]["groupBy"].take();
        assert!(groups["complete"] == true && !groups["groups"].as_array().unwrap().is_empty(), "{list}: {groups:#}");
        for group in groups["groups"].as_array().unwrap() {
            let value = group["value"].as_str().unwrap();
            let query = format!("{{ {list}(filter: {{ {filter}: {value} }}) {{ totalCount }} }}");
            assert_eq!(api.data(&query).await[list]["totalCount"], group["count"], "{list} {value}");
            assert_eq!(group["node"], Value::Null, "{list} {value}");
        }
    }
    let facets = "{ search(query: \"redis\", mode: LEXICAL) { facets { facets { name values { value count } } }
        hits { kind parts { name } } weights { name } } }";
    let found = api.data(facets).await["search"].take();
    assert_eq!(texts(&found["facets"]["facets"], "/name"), ["PROJECT", "KIND", "AUTHOR", "LABEL", "PATH"]);
    let kinds = texts(&found["facets"]["facets"][1]["values"], "/value");
    assert!(kinds.contains(&found["hits"][0]["kind"].as_str().unwrap().to_owned()), "{found:#}");
    let parts = ["SEMANTIC", "LEXICAL", "RECENCY", "IMPORTANCE", "RELATIONSHIP", "AUTHOR"];
    assert_eq!(texts(&found["hits"][0]["parts"], "/name"), parts);
    assert_eq!(texts(&found["weights"], "/name"), parts);
    let scores =
        "{ search(query: \"redis\", mode: LEXICAL, ranking: { lexical: 0.3, author: 0.1 }) { weights { name score }
        hits { score parts { score } } }
        fused: search(query: \"redis\", mode: LEXICAL, ranking: { profile: RRF }) { profile weights { name } } }";
    let data = api.data(scores).await;
    assert_eq!(data["fused"], json!({ "profile": "RRF", "weights": [] }));
    let weights = &data["search"]["weights"];
    assert_eq!((&weights[1]["score"], &weights[5]["score"]), (&json!(0.3), &json!(0.1)), "{weights:#}");
    let hit = &data["search"]["hits"][0];
    for score in [&hit["score"], &hit["parts"][1]["score"]] {
        let digits = score.to_string().split_once('.').map_or(0, |(_, digits)| digits.len());
        assert!(score.is_number() && digits <= 12, "more digits than 32 bits have: {hit:#}");
    }
}

#[tokio::test]
async fn periods_without_items_are_told_between_others() {
    let api = whole_world();
    let query = "{ issues(first: 0) { totalCount activity(by: WEEK) { periods { start count } complete } }
        commits(first: 0) { activity(by: MONTH) { periods { start count } } }
        discussions(first: 0) { activity(by: DAY) { periods { start count } } }
        project(fullPath: \"acme/shop\") { activity(by: WEEK) { start issuesOpened commitsMade } } }";
    let data = api.data(query).await;
    let day = |period: &Value| -> jiff::Timestamp { period["start"].as_str().unwrap().parse().unwrap() };
    let issues = data["issues"]["activity"]["periods"].as_array().unwrap();
    for periods in [issues, data["project"]["activity"].as_array().unwrap()] {
        let is_a_week = |pair: &[Value]| day(&pair[1]).duration_since(day(&pair[0])).as_hours() == 7 * 24;
        assert!(periods.len() > 2 && periods.windows(2).all(is_a_week), "{periods:#?}");
    }
    let counts: Vec<u64> = issues.iter().map(|period| period["count"].as_u64().unwrap()).collect();
    assert!(counts.contains(&0) && counts[0] > 0 && counts[counts.len() - 1] > 0, "{issues:#?}");
    assert_eq!(
        (json!(counts.iter().sum::<u64>()), &data["issues"]["activity"]["complete"]),
        (data["issues"]["totalCount"].clone(), &json!(true))
    );
    for list in ["commits", "discussions"] {
        let periods = data[list]["activity"]["periods"].as_array().unwrap();
        assert!(periods.iter().any(|period| period["count"].as_u64() > Some(0)), "{list}: {periods:#?}");
        assert!(periods.len() <= 1_000, "{list}");
    }
}

#[tokio::test]
async fn values_of_facets_are_named_as_filters_take_them() {
    const KIND: usize = 1;
    const AUTHOR: usize = 2;
    let api = whole_world();
    let query = "query ($filter: SearchFilter) { search(query: \"token expiry\", mode: LEXICAL, filter: $filter) {
        facets { facets { values { value node { id ... on Person { name } } } } } } }";
    let values = async |filter: Value, property: usize| {
        let mut found = api.data_with(query, json!({ "filter": filter })).await;
        found["search"]["facets"]["facets"][property]["values"].take()
    };
    for (property, name) in [(KIND, "kinds"), (AUTHOR, "authors")] {
        let all = texts(&values(Value::Null, property).await, "/value");
        assert!(all.len() > 1, "{name}: {all:?}");
        for value in all {
            let narrowed = texts(&values(json!({ name: [value] }), property).await, "/value");
            assert_eq!(narrowed, [value.as_str()], "{name}");
        }
    }
    assert_eq!(texts(&values(json!({ "kinds": ["CODE"] }), KIND).await, "/value"), ["CODE"]);
    // He has an account and two addresses.
    let authors = values(Value::Null, AUTHOR).await;
    let john = authors.as_array().unwrap().iter().find(|author| author["value"] == "johndoe");
    assert_eq!(john.map(|john| &john["node"]), Some(&json!({ "id": "@johndoe", "name": "John Doe" })), "{authors:#}");
    assert!(!texts(&authors, "/value").iter().any(|value| value.starts_with("john@")), "{authors:#}");
}

#[tokio::test]
async fn every_period_of_a_range_is_told() {
    let api = Api::new();
    let query = "query ($time: DateRange!) { activity(by: WEEK, time: $time) { start issuesOpened }
        mergeRequests(first: 0, filter: { merged: $time }) {
          activity(by: WEEK, of: MERGED) { periods { start count } complete } } }";
    let weeks = ["2090-02-27", "2090-03-06", "2090-03-13"].map(|day| format!("{day}T00:00:00Z"));
    let time = json!({ "from": "2090-03-01T00:00:00Z", "to": "2090-03-20T00:00:00Z" });
    let data = api.data_with(query, json!({ "time": time })).await;
    let none: Vec<Value> = weeks.iter().map(|start| json!({ "start": start, "issuesOpened": 0 })).collect();
    assert_eq!(data["activity"], json!(none));
    let none: Vec<Value> = weeks.iter().map(|start| json!({ "start": start, "count": 0 })).collect();
    assert_eq!(data["mergeRequests"]["activity"], json!({ "periods": none, "complete": true }));
}

#[tokio::test]
async fn a_person_is_one_under_all_names() {
    let api = whole_world();
    let query = "query ($name: String!) { person(username: $name) { id accounts addresses names
        contributions { issueCount mergeRequestCount reviewCount commitCount }
        here: contributions(projects: [\"acme/shop\"]) { commitCount } all: contributions(projects: []) { commitCount }
        mergeRequests { nodes { id } } reviews { nodes { id } } commits(filter: { kinds: [COMMIT] }) { totalCount }
        assignedIssues { nodes { id } } } }";
    let john = api.data_with(query, json!({ "name": "JOHNDOE" })).await["person"].take();
    assert_eq!(john["accounts"], json!(["johndoe"]), "{john:#}");
    assert!(texts(&john["addresses"], "").contains(&"john@acme.example".to_owned()), "{john:#}");
    assert_eq!(john["contributions"]["commitCount"], 3, "{john:#}");
    assert_eq!((&john["here"]["commitCount"], &john["all"]["commitCount"]), (&json!(3), &json!(3)), "{john:#}");
    assert_eq!(john["commits"]["totalCount"], 3, "{john:#}");
    assert_eq!(texts(&john["mergeRequests"]["nodes"], "/id"), ["acme/shop!2"]);
    assert_eq!(texts(&john["assignedIssues"]["nodes"], "/id"), ["acme/shop#1"]);
    for name in ["john@acme.example", "JOHN@acme.example", "John Doe", "john doe", "@johndoe"] {
        assert_eq!(api.data_with(query, json!({ "name": name })).await["person"], john, "{name}");
        let lists = "query ($names: [String!]) { commits(filter: { kinds: [COMMIT], authors: $names }) { totalCount }
            mergeRequests(filter: { authors: $names }) { nodes { id } } }";
        let found = api.data_with(lists, json!({ "names": [name] })).await;
        assert_eq!(
            (&found["commits"]["totalCount"], &found["mergeRequests"]),
            (&json!(3), &john["mergeRequests"]),
            "{name}"
        );
    }
    assert_eq!(api.data_with(query, json!({ "name": "Doe" })).await["person"], Value::Null);
    let none = "{ commits(filter: { authors: \"John Doa\" }) { nodes { id } } }";
    let warnings = api.answer(none, Value::Null).await["extensions"]["warnings"].take();
    assert_eq!(warnings, json!(["nothing is by 'John Doa'; the nearest name is 'John Doe'"]));

    let people = "query ($text: String) { people(filter: { text: $text }, orderBy: { field: COMMITS }) { totalCount
        edges { contributions { commitCount } node { id contributions { commitCount } } } } }";
    let all = api.data_with(people, Value::Null).await["people"].take();
    assert_eq!(all["edges"][0]["node"]["id"], "@johndoe", "{all:#}");
    for edge in all["edges"].as_array().unwrap() {
        assert_eq!(edge["contributions"], edge["node"]["contributions"], "in all projects: {edge:#}");
    }
    let ids = texts(&all["edges"], "/node/id");
    assert!(!ids.iter().any(|id| id.starts_with("@john@")), "his addresses are nobody else: {ids:?}");
    let found = api.data_with(people, json!({ "text": "DOE" })).await["people"].take();
    assert_eq!(found["totalCount"], 2, "{found:#}");
    let unknown = "{ person(username: \"alice\") { contributions(projects: [\"acme/nothing\"]) { commitCount } } }";
    assert_eq!(api.error(unknown).await.0, "INVALID");
    // What else is asked about the person is answered.
    let beside = "{ person(username: \"alice\") { id contributions(projects: [\"acme/nothing\"]) { commitCount } } }";
    let person = api.answer(beside, Value::Null).await["data"]["person"].take();
    assert_eq!((&person["id"], &person["contributions"]), (&json!("@alice"), &Value::Null));

    // One of a list has the same names as one that is asked for by name, also if the list is of one project.
    let told = "id names accounts addresses";
    let query = format!(
        "{{ people(filter: {{ text: \"doe\" }}) {{ nodes {{ {told} }} }}
           here: people(filter: {{ projects: [\"acme/shop\"], text: \"doe\" }}) {{ nodes {{ {told} }} }}
           person(username: \"johndoe\") {{ {told} }} }}"
    );
    let data = api.data(&query).await;
    for list in ["people", "here"] {
        let listed = data[list]["nodes"].as_array().unwrap().iter().find(|person| person["id"] == "@johndoe");
        assert_eq!(listed, Some(&data["person"]), "{list}");
    }
}

#[tokio::test]
async fn nodes_have_lists_of_their_own() {
    let api = Api::new();
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Label { issues { nodes { id } } }
        ... on Milestone { issues { nodes { id } } mergeRequests { nodes { id } } }
        ... on MergeRequest { discussions(filter: { resolved: true }) { totalCount nodes { resolved } } } } }";
    let ids = ["acme/shop~auth", "acme/shop%1", "acme/shop!2"];
    let nodes = api.data_with(query, json!({ "ids": ids })).await["nodes"].take();
    assert_eq!(nodes[0]["issues"]["nodes"], json!([{ "id": "acme/shop#1" }]));
    assert_eq!(nodes[1]["issues"]["nodes"], json!([{ "id": "acme/shop#3" }]));
    assert_eq!(nodes[1]["mergeRequests"]["nodes"], json!([{ "id": "acme/shop!1" }]));
    assert_eq!(nodes[2]["discussions"], json!({ "totalCount": 1, "nodes": [{ "resolved": true }] }));
    let mentioned =
        "{ person(username: \"alice\") { mentionedInIssues { totalCount } reviewRequests { totalCount } } }";
    assert!(api.data(mentioned).await["person"]["mentionedInIssues"]["totalCount"].is_u64());
}

#[tokio::test]
async fn what_a_list_costs_follows_the_size_of_its_page_from_either_end() {
    let api = Api::new();
    let cost =
        async |query: &str| api.answer(query, Value::Null).await["extensions"]["cost"]["value"].as_u64().unwrap();
    let forward = cost("{ issues(first: 90) { nodes { id title } } }").await;
    assert_eq!(cost("{ issues(last: 90) { nodes { id title } } }").await, forward);
    assert!(forward >= 180, "{forward}");
    let groups = cost("{ issues(first: 0) { groupBy(field: AUTHOR, first: 50) { groups { value count } } } }").await;
    assert!(groups >= 100, "{groups}");
    let plain = cost("{ issues(first: 0) { pageInfo { hasNextPage } } }").await;
    let durations = cost("{ issues(first: 0) { timeToClose { median } } }").await;
    assert!(durations >= plain + 19, "{durations} {plain}");
    assert!(cost("{ activity(by: DAY) { start commitsMade } }").await >= 200);
}

#[tokio::test]
async fn labels_milestones_references_and_projects_are_filtered_and_ordered() {
    let api = whole_world();
    let numbers = |list: &Value, pointer: &str| -> Vec<u64> {
        list["nodes"].as_array().unwrap().iter().map(|node| node.pointer(pointer).unwrap().as_u64().unwrap()).collect()
    };
    let query = "{ project(fullPath: \"acme/shop\") {
        issues: labels(orderBy: { field: ISSUES }) { nodes { name issues(first: 0) { totalCount } } }
        ascending: labels(orderBy: { field: MERGE_REQUESTS, direction: ASC }) {
          nodes { mergeRequests(first: 0) { totalCount } } }
        signing: labels(filter: { text: \"SIGNING IN\" }) { totalCount nodes { name } }
        titles: milestones(orderBy: { field: TITLE, direction: DESC }) { nodes { title } }
        closed: milestones(filter: { states: CLOSED }) { totalCount nodes { state title } }
        branches(orderBy: { field: DATE }) { nodes { name tip { committedAt } } }
        main: branches(filter: { text: \"AI\" }) { totalCount nodes { name } }
        none: tags(filter: { text: \"no such tag\" }) { totalCount nodes { name } }
        releases(orderBy: { field: TAG }) { totalCount nodes { tag { name } } }
      }
      shop: projects(filter: { text: \"SHOP\" }, orderBy: { field: ISSUES }) { totalCount nodes { fullPath } }
      updated: projects(orderBy: { field: UPDATED }) { totalCount nodes { fullPath } }
      nothing: projects(filter: { text: \"no such project\" }) { totalCount nodes { fullPath } }
      viewer { projects(orderBy: { field: COMMITS }) { nodes { fullPath } } } }";
    let data = api.data(query).await;
    let project = &data["project"];
    let issues = numbers(&project["issues"], "/issues/totalCount");
    assert!(issues[0] == 2 && issues.is_sorted_by(|a, b| a >= b), "{issues:?}");
    assert!(numbers(&project["ascending"], "/mergeRequests/totalCount").is_sorted(), "{project:#}");
    assert_eq!(project["signing"], json!({ "totalCount": 1, "nodes": [{ "name": "auth" }] }));
    assert_eq!(texts(&project["titles"]["nodes"], "/title"), ["v2.0", "v1.9"]);
    assert_eq!(project["closed"], json!({ "totalCount": 1, "nodes": [{ "state": "CLOSED", "title": "v1.9" }] }));
    let times = texts(&project["branches"]["nodes"], "/tip/committedAt");
    assert!(!times.is_empty() && times.is_sorted_by(|a, b| a >= b), "{times:?}");
    assert_eq!(project["main"], json!({ "totalCount": 1, "nodes": [{ "name": "main" }] }));
    assert_eq!(project["none"], json!({ "totalCount": 0, "nodes": [] }));
    assert!(data["shop"]["totalCount"].as_u64() >= Some(1), "{data:#}");
    assert!(texts(&data["shop"]["nodes"], "/fullPath").iter().all(|path| path.contains("shop")), "{data:#}");
    assert_eq!(data["updated"]["nodes"].as_array().unwrap().len() as u64, data["updated"]["totalCount"]);
    assert_eq!(data["nothing"], json!({ "totalCount": 0, "nodes": [] }));
    assert_eq!(texts(&data["viewer"]["projects"]["nodes"], "/fullPath").len() as u64, data["updated"]["totalCount"]);
}

/// Every issue has one edge to its project, so list and graph of one state differ by what else has.
#[tokio::test]
async fn lists_and_graph_of_one_answer_are_of_one_state() {
    let api = Api::new();
    let query = "{ project(fullPath: \"acme/shop\") { issues(first: 0) { totalCount }
        edges(names: PART_OF, direction: IN, first: 0) { totalCount } } }";
    let counts = async || {
        let data = api.data(query).await;
        let count = |pointer| data.pointer(pointer).and_then(Value::as_u64).unwrap();
        (count("/project/issues/totalCount"), count("/project/edges/totalCount"))
    };
    let (before, linked) = counts().await;
    for round in 1..=4 {
        api.forge.advance(3600);
        (0..5).for_each(|number| drop(api.forge.new_issue("acme/shop", "bob", &format!("Gift card {number}"), "")));
        let task = api.data("mutation { sync { id } }").await["sync"]["id"].as_str().unwrap().to_owned();
        let status = format!("{{ task(id: \"{task}\") {{ status }} }}");
        loop {
            let is_running = api.data(&status).await["task"]["status"] == "RUNNING";
            let (issues, edges) = counts().await;
            assert_eq!(edges - linked, issues - before);
            if !is_running {
                assert_eq!(issues, before + 5 * round);
                break;
            }
        }
    }
}

#[tokio::test]
async fn times_of_filters_may_be_dates() {
    let api = Api::new();
    let query = "{ day: issues(filter: { created: { from: \"2024-03-05\", to: \"2024-04\" } }) { nodes { id } }
        year: search(query: \"redis\", mode: LEXICAL, filter: { created: { from: \"2024\" } }) { hits { createdAt } } }";
    let data = api.data(query).await;
    assert_eq!(texts(&data["day"]["nodes"], "/id"), ["acme/shop#2"]);
    assert!(texts(&data["year"]["hits"], "/createdAt").iter().all(|at| at.as_str() >= "2024"), "{data:#}");
    let (code, message) = api.error("{ issues(filter: { created: { from: \"yesterday\" } }) { totalCount } }").await;
    assert!(code == "INVALID" && message.starts_with("'yesterday' is not a date"), "{message}");
    assert!(!message.contains("parsing") && !message.contains("ThreadConditions"), "{message}");
    for range in ["{ from: \"2024-05\", to: \"2024-05-01\" }", "{ from: \"2024-05\", to: \"2024\" }"] {
        let query = format!("{{ issues(first: 0, filter: {{ created: {range} }}) {{ totalCount }} }}");
        let (code, message) = api.error(&query).await;
        assert!(
            code == "INVALID" && message.contains("which is not after its start, 2024-05-01T00:00:00Z"),
            "{message}"
        );
    }
}
