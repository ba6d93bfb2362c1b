//! What is too much is refused, with a code and before anything is read.

use serde_json::{Value, json};

use super::Api;

/// The body of a request for a query.
fn body(query: &str) -> String {
    json!({ "query": query }).to_string()
}

#[tokio::test]
async fn what_is_too_much_is_refused() {
    let api = Api::new();
    let deep = format!("{{ {} id {} }}", "issues { nodes { project { ".repeat(5), "} } } ".repeat(5));
    let aliases = |count: usize| -> String { (0..count).map(|i| format!("a{i}: __typename ")).collect() };
    // Each fragment uses the next one twice: a few kilobytes that stand for billions of fields.
    let doubling: String = (0..30).map(|i| format!("fragment F{i} on Query {{ ...F{0} ...F{0} }} ", i + 1)).collect();
    let bomb = format!("{{ ...F0 }} {doubling} fragment F30 on Query {{ __typename }}");
    let types = "fields { type { ".repeat(4) + "name" + &" } }".repeat(4);
    for (query, part) in [
        (deep.as_str(), "levels deep; at most 12"),
        ("{ issues(first: 100) { nodes { edges(first: 100) { nodes { id } } } } }", "at most 5000"),
        (&format!("{{ {} }}", aliases(51)), "renames 51 fields; at most 50"),
        (&format!("{{ {} }}", "__typename ".repeat(5001)), "selects 5001 fields; at most 5000"),
        (&bomb, "fields; at most 5000"),
        ("{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }", "uses itself"),
        (&format!("{{ __schema {{ types {{ {types} }} }} }}"), "lists deep; at most 3"),
        (&"{a".repeat(60_000), "nests brackets more than 32 deep"),
        (&format!("query ($a: String = {}) {{ a }}", "[".repeat(60_000)), "nests brackets more than 32 deep"),
        (&format!("{{ __typename {} }}", "@skip(if: false) ".repeat(6)), "directives"),
        ("{ issues(first: 101) { nodes { id } } }", "'first' is 101; it must be 0 to 100"),
        ("{ issues(first: -1) { nodes { id } } }", "'first' is -1"),
        ("{ issues(after: \"x\") { nodes { id } } }", "'x' is not a cursor of this list"),
        (
            "{ mergeRequests(after: \"2024-01-01T00:00:00Z acme/shop#1\") { nodes { id } } }",
            "is not a cursor of this list",
        ),
        ("{ projects(after: \"x\") { nodes { id } } }", "is not a cursor of this list"),
        ("{ issues(last: 101) { nodes { id } } }", "'last' is 101; it must be 0 to 100"),
        ("{ issues(first: 2, last: 2) { nodes { id } } }", "pages are read forward"),
        ("{ issues(after: \"WyJpc3N1ZXMgQ3JlYXRlZCIsMSwiYWNtZS9zaG9wIiwxXQ\") { nodes { id } } }", "is not a cursor"),
        ("{ issues(after: \"[\\\"issues Created\\\",1,\\\"acme/shop\\\",1]\") { nodes { id } } }", "is not a cursor"),
        (
            "{ person(username: \"alice\") { issues(filter: { authors: \"bob\" }) { totalCount } } }",
            "leave 'authors' out of the filter",
        ),
        ("{ node(id: \"acme/shop\") { ... on Project { edges(after: \"x\") { nodes { id } } } } }", "is not a cursor"),
        ("{ syncStatus(runs: 101) { ledgerSeq } }", "it must be 0 to 100"),
        ("{ search(query: \"x\", first: 101) { query } }", "100"),
        (&format!("{{ search(query: \"{}\") {{ query }} }}", "x".repeat(10_000)), "2000"),
        ("{ check: nothing }", "Unknown field"),
        ("{", "expected"),
        ("", "'query' is missing"),
        (" ", "'query' is missing"),
        ("subscription { taskProgress(id: \"1\") { id } }", "not supported on this transport"),
    ] {
        let (code, message) = api.error(query).await;
        let shown = &query[..query.len().min(100)];
        assert_eq!(code, "INVALID", "{shown}: {message}");
        assert!(message.contains(part), "{shown}: {message}");
    }
    let (_, told) = api.error(&format!("{{ {} }}", aliases(51))).await;
    assert!(told.contains("ask in several requests, or for counts by 'groupBy'"), "{told}");
    let empty = api.http.post(api.url("/graphql")).json(&json!({})).send().await.unwrap();
    let empty: Value = empty.json().await.unwrap();
    assert_eq!(empty["errors"][0]["message"], "'query' is missing: the text of an operation", "{empty}");
    // As many as are allowed.
    api.data(&format!("{{ {} }}", aliases(50))).await;
    // Brackets in texts and comments do not count.
    let texts = format!(
        "{{ search(query: \"{0}\", filter: {{ authors: \"\"\"{0}\"\"\" }}) {{ query }} }} # {0}",
        "[".repeat(99)
    );
    api.data(&texts).await;
}

#[tokio::test]
async fn variables_are_what_their_operation_defines() {
    let api = Api::new();
    let states = "query ($s: [State!]!) { issues(filter: { states: $s }, first: 0) { totalCount } }";
    let first = "query ($first: Int = 1) { issues(first: $first) { totalCount } }";
    let filter = "query ($filter: IssueFilter) { issues(filter: $filter) { totalCount } }";
    for (query, variables, expected) in [
        (states, json!({}), "the variable $s has no value; its type is [State!]!"),
        (states, json!({ "s": null }), "the variable $s has no value; its type is [State!]!"),
        (states, json!({ "s": ["OPENED", null] }), "the variable $s[1] has no value; its type is State!"),
        (states, json!({ "s": "OPEN" }), "the variable $s is \"OPEN\"; its type is State"),
        (first, json!({ "first": "2" }), "the variable $first is \"2\"; its type is Int"),
        (filter, json!({ "filter": 1 }), "the variable $filter is 1; its type is IssueFilter"),
        (filter, json!({ "filter": { "labels": { "any": [1] } } }), "the variable $filter.labels.any[0] is 1"),
    ] {
        let answer = api.answer(query, variables).await;
        let error = &answer["errors"][0];
        assert_eq!((&error["extensions"]["code"], &answer["data"]), (&json!("INVALID"), &Value::Null), "{answer}");
        assert!(error["message"].as_str().unwrap().starts_with(expected), "{answer}");
    }
    let hint = api.answer(states, json!({ "s": "OPEN" })).await["errors"][0]["extensions"]["hint"].take();
    assert!(hint.as_str().unwrap().starts_with("its values are "), "{hint}");
    for (query, variables) in [
        (states, json!({ "s": "OPENED" })),
        (states, json!({ "s": [] })),
        (first, json!({})),
        (first, json!({ "first": null })),
        (filter, json!({ "filter": { "labels": { "any": "bug" } } })),
        ("query A { __typename }", json!({ "other": 1 })),
    ] {
        api.data_with(query, variables).await;
    }
    // Only those of the operation that is executed.
    let request = json!({ "query": format!("query A {{ __typename }} {}", states.replace("query", "query B")),
        "operationName": "A" });
    let response = api.http.post(api.url("/graphql")).json(&request).send().await.unwrap();
    assert_eq!(response.json::<Value>().await.unwrap()["data"], json!({ "__typename": "Query" }));
}

#[tokio::test]
async fn names_of_a_filter_are_limited() {
    let api = Api::new();
    let of = |author: usize, label: usize, labels: usize| json!({ "authors": ["ä".repeat(author)], "allLabels": vec!["ö".repeat(label); labels] });
    let search =
        "query ($filter: SearchFilter!) { search(query: \"redis\", filter: $filter, mode: LEXICAL) { warnings } }";
    let ask = "query ($filter: DocumentFilter!) { ask(question: \"why redis\", filter: $filter) { answered } }";
    let pack = "query ($filter: PackFilter!) { contextPack(about: { query: \"redis\" }, filter: $filter) { text } }";
    let of_code =
        "query ($filter: PackFilter!) { contextPack(about: { id: \"acme/shop#1\" }, filter: $filter) { text } }";
    for query in [search, ask, pack, of_code] {
        for (filter, expected) in [
            (of(201, 1, 1), "a name in the filter has 201 characters; at most 200 are allowed"),
            (of(1, 250_000 / 2, 1), "a name in the filter has 125000 characters; at most 200 are allowed"),
            (of(1, 1, 101), "101 labels were given; at most 100 are allowed"),
        ] {
            let answer = api.answer(query, json!({ "filter": filter })).await;
            assert_eq!(answer["errors"][0]["message"], expected, "{query}");
            assert_eq!(answer["errors"][0]["extensions"]["code"], "INVALID", "{query}");
        }
    }
    // As many as are allowed; the first of those that nothing has are told.
    let found = api.data_with(search, json!({ "filter": of(200, 200, 100) })).await;
    let warnings = found["search"]["warnings"].as_array().unwrap();
    let absent = warnings.iter().filter(|warning| warning.as_str().unwrap().starts_with("nothing "));
    assert_eq!(absent.count(), 10, "{warnings:?}");

    for (field, of, filter) in [
        ("issues", "IssueFilter", json!({ "authors": ["ä".repeat(201)] })),
        ("mergeRequests", "MergeRequestFilter", json!({ "labels": { "none": ["ä".repeat(201)] } })),
    ] {
        for query in [
            format!("query ($filter: {of}!) {{ {field}(filter: $filter) {{ nodes {{ id }} }} }}"),
            format!("query ($filter: {of}!) {{ {field}(first: 0, filter: $filter) {{ totalCount }} }}"),
            format!(
                "query ($filter: {of}!) {{ project(fullPath: \"acme/shop\") {{ {field}(filter: $filter) {{ nodes {{ id }} }} }} }}"
            ),
        ] {
            let answer = api.answer(&query, json!({ "filter": filter })).await;
            assert_eq!(answer["errors"][0]["extensions"]["code"], "INVALID", "{query}: {answer}");
            let message = answer["errors"][0]["message"].as_str().unwrap();
            assert_eq!(message, "a name in the filter has 201 characters; at most 200 are allowed", "{query}");
        }
    }
    for (filter, part) in [
        (json!({ "authors": vec!["a"; 101] }), "101 people were given; at most 100 are allowed"),
        (json!({ "projects": vec!["acme/shop"; 101] }), "101 projects were given; at most 100 are allowed"),
        (json!({ "paths": ["a/".repeat(3000)] }), "is longer than 4096 bytes"),
    ] {
        let query = "query ($filter: CommitFilter!) { commits(filter: $filter) { totalCount nodes { id } } }";
        let answer = api.answer(query, json!({ "filter": filter })).await;
        let message = answer["errors"][0]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn ids_of_nodes_are_limited() {
    let api = Api::new();
    let ids = vec!["acme/shop"; 101];
    let answer = api.answer("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", json!({ "ids": ids })).await;
    assert_eq!(answer["errors"][0]["extensions"]["code"], "INVALID");
    assert_eq!(answer["errors"][0]["message"], "101 ids were given; at most 100 are allowed");
}

#[tokio::test]
async fn what_is_no_request_has_a_status_of_its_own() {
    let api = Api::new();
    let batch = format!("[{}]", body("{ __typename }"));
    let large = format!("{{\"query\":\"{{ __typename }}\",\"more\":\"{}\"}}", "x".repeat(256 << 10));
    let json_type = "application/json";
    for (content_type, body, status, code) in [
        (json_type, "{\"query\":", 400, "INVALID"),
        (json_type, "\"query\"", 400, "INVALID"),
        (json_type, &batch, 400, "INVALID"),
        (json_type, &large, 413, "TOO_LARGE"),
        ("text/plain", &body("{ __typename }"), 415, "INVALID"),
        ("application/x-www-form-urlencoded", "query=%7B__typename%7D", 415, "INVALID"),
    ] {
        let request = api.http.post(api.url("/graphql")).header("content-type", content_type).body(body.to_owned());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{}", &body[..body.len().min(100)]);
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["errors"][0]["extensions"]["code"], code);
    }
    for (method, path, status) in [("PUT", "/graphql", 405), ("GET", "/nothing", 404), ("POST", "/", 405)] {
        let response = api.http.request(method.parse().unwrap(), api.url(path)).send().await.unwrap();
        assert_eq!(response.status(), status, "{method} {path}");
    }
}

/// What GraphiQL asks first: types within types are followed deeper than a query for data may go.
#[tokio::test]
async fn introspection_is_allowed() {
    let api = Api::new();
    let of_type = "kind name ofType { ".repeat(8) + "kind name" + &" }".repeat(8);
    let query = format!(
        "{{ __schema {{ queryType {{ name }} types {{ ...Full }} directives {{ name args {{ ...Input }} }} }} }}
         fragment Full on __Type {{ kind name description
           fields(includeDeprecated: true) {{ name description args {{ ...Input }} type {{ ...Ref }} isDeprecated }}
           inputFields {{ ...Input }} interfaces {{ ...Ref }} enumValues {{ name description }} possibleTypes {{ ...Ref }} }}
         fragment Input on __InputValue {{ name description type {{ ...Ref }} defaultValue }}
         fragment Ref on __Type {{ {of_type} }}"
    );
    let data = api.data(&query).await;
    let types = data["__schema"]["types"].as_array().unwrap();
    // Every type, field and argument says what it is, but for what the language has.
    let own = |kind: &&Value| {
        let name = kind["name"].as_str().unwrap();
        !name.starts_with("__") && !["Boolean", "Float", "ID", "Int", "String"].contains(&name)
    };
    let described = |thing: &Value, of: &str| assert!(thing["description"].is_string(), "{of}: {}", thing["name"]);
    let list = |thing: &Value, name: &str| thing[name].as_array().cloned().unwrap_or_default();
    for kind in types.iter().filter(own) {
        let name = kind["name"].as_str().unwrap();
        described(kind, "type");
        for field in list(kind, "fields").iter().chain(&list(kind, "inputFields")).chain(&list(kind, "enumValues")) {
            described(field, name);
            list(field, "args").iter().for_each(|argument| described(argument, name));
        }
    }
}

#[tokio::test]
async fn a_value_that_an_enumeration_lacks_is_answered_with_those_that_it_has() {
    let api = Api::new();
    let answer = api.answer("{ issues(filter: { states: OPEN }) { totalCount } }", Value::Null).await;
    let hint = &answer["errors"][0]["extensions"]["hint"];
    assert_eq!(*hint, "its values are OPENED, CLOSED, MERGED, LOCKED", "{answer:#}");
}
