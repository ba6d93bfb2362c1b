//! What operations cost, and that every answer says so.

use serde_json::{Value, json};

use super::Api;

/// All types of nodes, each with a selection.
fn of_each_type(selection: &str) -> String {
    let types = [
        "Project",
        "Issue",
        "MergeRequest",
        "Discussion",
        "Note",
        "Commit",
        "Branch",
        "Tag",
        "File",
        "CodeEntity",
        "DesignNote",
        "Label",
        "Milestone",
        "Person",
    ];
    types.map(|name| format!("... on {name} {{ {selection} }} ")).concat()
}

#[tokio::test]
async fn of_fragments_that_exclude_each_other_the_most_expensive_counts() {
    let api = Api::new();
    let cost = async |query: &str, variables: Value| {
        let answer = api.answer(query, variables).await;
        assert!(answer["errors"].is_null(), "{query}: {answer:#}");
        assert_eq!(answer["extensions"]["cost"]["limit"], 5000, "{answer:#}");
        answer["extensions"]["cost"]["value"].as_u64().unwrap()
    };
    let node = |selection: &str| format!("{{ node(id: \"acme/shop#1\") {{ {selection} }} }}");
    let plain = cost(&node("... on Issue { title }"), Value::Null).await;
    for same in [
        "... on Issue { title } ... on Project { fullPath }",
        "... on Project { fullPath } ... on Issue { title }",
        "... on Thread { title }",
        "... on Node { ... on Issue { title } }",
    ] {
        assert_eq!(cost(&node(same), Value::Null).await, plain, "{same}");
    }
    assert_eq!(cost(&node("... on Issue { title } ... on Thread { state }"), Value::Null).await, plain + 1);
    assert_eq!(cost(&node("... on Issue { title state } ... on Project { fullPath }"), Value::Null).await, plain + 1);
    let spread =
        format!("{} fragment I on Issue {{ title }} fragment P on Project {{ fullPath name }}", node("...I ...P"));
    assert_eq!(cost(&spread, Value::Null).await, plain + 1);

    // Two hops around any node.
    let inner = of_each_type("edges(first: 5) { nodes { id } }");
    let outer = of_each_type(&format!("edges(first: 5) {{ nodes {{ id {inner} }} }}"));
    let hops = cost(&node(&outer), Value::Null).await;
    assert!(hops < 200, "{hops}");

    // The size of a page counts for its nodes only, wherever it is given.
    let page = "query ($first: Int = 10) { issues(first: $first) { totalCount nodes { id } } }";
    let (ten, twenty) = (cost(page, Value::Null).await, cost(page, json!({ "first": 20 })).await);
    assert_eq!(twenty - ten, 10);
    let usual = cost("{ issues { totalCount nodes { id } } }", Value::Null).await;
    assert_eq!(usual, twenty, "the schema names the usual size");
    let ids = cost("{ nodes(ids: [\"a\", \"b\"]) { id } }", Value::Null).await;
    assert_eq!(cost("{ nodes(ids: \"a\") { id } }", Value::Null).await, ids - 1);
    for (name, list) in [
        ("Issue", "participants"),
        ("MergeRequest", "participants"),
        ("Discussion", "participants"),
        ("Issue", "closingCommits"),
        ("Commit", "closes"),
    ] {
        let of = |arguments: &str| node(&format!("... on {name} {{ {list}{arguments} {{ id }} }}"));
        let (one, many) = (cost(&of("(first: 1)"), Value::Null).await, cost(&of("(first: 100)"), Value::Null).await);
        assert_eq!(many - one, 99, "{name}.{list}");
        assert_eq!(cost(&of(""), Value::Null).await - one, 19, "{name}.{list}");
    }
    // What is read of each person on its own costs as much as a query.
    let people = |field: &str| format!("{{ people(first: 10) {{ nodes {{ {field} }} }} }}");
    let plain = cost(&people("username"), Value::Null).await;
    for field in ["names", "accounts", "addresses"] {
        assert_eq!(cost(&people(field), Value::Null).await - plain, 190, "{field}");
    }
    assert!(cost("{ digest { value } }", Value::Null).await > 1000);
}

#[tokio::test]
async fn a_duration_costs_one_query_for_all_groups_and_one_for_each_merge_request() {
    let api = Api::new();
    let cost =
        async |query: String| api.answer(&query, Value::Null).await["extensions"]["cost"]["value"].as_u64().unwrap();
    let groups = |fields: &str| {
        format!(
            "{{ mergeRequests(first: 0) {{ groupBy(field: AUTHOR, first: 50) {{ groups {{ value {fields} }} }} }} }}"
        )
    };
    let values = cost(groups("")).await;
    assert_eq!(cost(groups("timeToFirstReview { median }")).await - values, 20 + 2 * 50);
    let twice = "timeToFirstReview { median } timeToMerge { count } again: timeToMerge { count }";
    assert_eq!(cost(groups(twice)).await - values, 2 * 20 + 3 * 2 * 50);
    let nodes = |field: &str| format!("{{ mergeRequests(first: 10) {{ nodes {{ {field} }} }} }}");
    assert_eq!(cost(nodes("timeToFirstReview")).await - cost(nodes("timeToMerge")).await, 19 * 10);
}

#[tokio::test]
async fn a_refused_operation_says_what_it_would_have_cost() {
    let api = Api::new();
    let query = "{ issues(first: 100) { nodes { edges(first: 100) { nodes { id } } } } }";
    let answer = api.answer(query, Value::Null).await;
    assert_eq!(answer["errors"][0]["extensions"]["code"], "INVALID", "{answer}");
    let value = answer["extensions"]["cost"]["value"].as_u64().unwrap();
    assert!(value > 5000, "{answer}");
    let message = answer["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains(&format!("about {value} values; at most 5000")), "{message}");
}
