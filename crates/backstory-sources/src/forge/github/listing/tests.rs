//! Tests of listing issues and pull requests.

use serde_json::json;

use super::*;
use crate::forge::{
    ForgeSettings,
    stub::{Asked, Reply, Stub},
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn item(number: u64, second: i64) -> Value {
    let mut item = json!({"id": 9_000 + number, "number": number, "updated_at": at(second).to_string(), "comments": 2});
    if number.is_multiple_of(3) {
        item["pull_request"] = json!({"merged_at": null});
    }
    item
}

/// A page as GitHub gives it of items that were updated a second apart.
fn page(asked: &Asked, count: u64) -> Reply {
    assert_eq!(asked.path, "/api/v3/repos/acme/shop/issues");
    for (name, value) in [("state", "all"), ("sort", "updated"), ("direction", "asc")] {
        assert_eq!(asked.query(name), Some(value));
    }
    let since: Option<Timestamp> = asked.query("since").map(|at| at.parse().unwrap());
    let mut rows: Vec<u64> = (1..=count).collect();
    rows.retain(|number| since.is_none_or(|since| at(*number as i64) >= since));
    let number = |name: &str| asked.query(name).unwrap().parse::<usize>().unwrap();
    let (size, current) = (number("per_page"), number("page"));
    let pages = rows.len().div_ceil(size);
    let shown = rows.chunks(size).nth(current - 1).unwrap_or_default();
    let body: Vec<Value> = shown.iter().map(|&number| item(number, number as i64)).collect();
    let reply = Reply::json(&Value::Array(body)).with("ETag", format!("W/\"{since:?}\""));
    match current < pages {
        true => reply.with(
            "Link",
            format!(
                "<http://evil.example/x?page={}>; rel=\"next\", <http://evil.example/x?page={pages}>; rel=\"last\"",
                current + 1
            ),
        ),
        false => reply,
    }
}

fn client(stub: &Stub) -> Client {
    Client::new(&ForgeSettings { requests_per_second: 0, retries: 0, ..ForgeSettings::new(stub.url.clone(), None) })
        .unwrap()
}

fn since(second: Option<i64>, etag: Option<&str>) -> PageStart {
    PageStart::Since { since: second.map(at), etag: etag.map(str::to_owned) }
}

#[tokio::test]
async fn issues_and_pull_requests_are_listed_together_page_by_page() {
    let stub = Stub::serve(|asked| page(asked, 250));
    let (client, mut from, mut listed, mut totals) = (client(&stub), since(None, None), vec![], vec![]);
    loop {
        let page = client.page("acme/shop", &from).await.unwrap();
        totals.push(page.total);
        assert_eq!(page.etag, None, "one page alone names no list of several");
        listed.extend(page.threads);
        match page.next {
            Some(next) => from = PageStart::Next(next),
            None => break,
        }
    }
    assert_eq!(totals, [Some(250), None, None]);
    assert_eq!(listed.iter().map(|listing| listing.iid).collect::<Vec<_>>(), (1..=250).collect::<Vec<_>>());
    assert_eq!((listed[0].kind, listed[2].kind), (ThreadKind::Issue, ThreadKind::MergeRequest));
    assert_eq!((listed[0].id, listed[0].notes_count), (9_001, 2));
}

#[tokio::test]
async fn a_list_that_is_as_it_was_is_not_sent_again() {
    let stub = Stub::serve(|asked| match asked.headers.get("if-none-match") {
        Some(etag) if asked.query("since").is_some() => Reply::status(304, "").with("ETag", etag.as_str()),
        _ => page(asked, 50),
    });
    let first = client(&stub).page("acme/shop", &since(Some(49), None)).await.unwrap();
    assert_eq!(first.threads.len(), 2);
    let again = client(&stub).page("acme/shop", &since(Some(49), first.etag.as_deref())).await.unwrap();
    assert_eq!((again.threads.len(), again.next, again.etag), (0, None, first.etag));
}

#[tokio::test]
async fn items_that_cannot_be_put_in_order_are_named_and_paths_that_are_none_are_errors() {
    let stub = Stub::serve(|_| {
        Reply::json(&json!([
            {"id": 1, "number": 2, "updated_at": "yesterday"},
            {"id": 1, "number": 3, "updated_at": "2024-03-15T10:00:00Z", "pull_request": 7},
        ]))
    });
    let page = client(&stub).page("acme/shop", &since(None, None)).await.unwrap();
    let wrong: Vec<_> = page.unreadable.iter().map(|wrong| (wrong.key.as_str(), wrong.field.as_str())).collect();
    assert_eq!(wrong, [("#2", "updated_at"), ("#3", "pull_request")]);
    let error = client(&stub).page("acme/group/shop", &since(None, None)).await.unwrap_err();
    assert!(error.to_string().contains("write owner/name"), "{error}");
}

#[tokio::test]
async fn the_token_is_sent_as_a_bearer_and_none_is_needed() {
    let stub = Stub::serve(|asked| page(asked, 1));
    client(&stub).page("acme/shop", &since(None, None)).await.unwrap();
    let settings = ForgeSettings::new(stub.url.clone(), Some("not-a-real-token".into()));
    let with_token = Client::new(&settings).unwrap();
    with_token.page("acme/shop", &since(None, None)).await.unwrap();
    let asked = stub.asked();
    assert_eq!(asked[0].headers.get("authorization"), None);
    assert_eq!(asked[1].headers["authorization"], "Bearer not-a-real-token");
    assert_eq!(asked[1].headers["x-github-api-version"], "2022-11-28");
    assert!(!format!("{with_token:?}").contains("not-a-real-token"));
}
