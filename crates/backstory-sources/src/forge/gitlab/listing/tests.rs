//! Tests of listing issues and merge requests.

use std::{collections::BTreeMap, sync::Arc};

use backstory_model::reference::Forge;
use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::forge::{
    self, ForgeSettings,
    paging::PER_PAGE,
    stub::{Asked, Reply, Stub},
};

/// Times by id, as the forge has them now.
type Items = Arc<Mutex<BTreeMap<u64, Timestamp>>>;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn items(seconds: impl IntoIterator<Item = i64>) -> Items {
    Arc::new(Mutex::new((1..).zip(seconds.into_iter().map(at)).collect()))
}

fn item(id: u64, updated_at: Timestamp) -> Value {
    json!({"id": id, "iid": id, "updated_at": updated_at.to_string(), "user_notes_count": 3, "confidential": id.is_multiple_of(1000)})
}

/// A page as GitLab gives it, by cursor if that is asked for and offered.
fn page(items: &Items, asked: &Asked, keyset: bool) -> Reply {
    let since: Option<Timestamp> = asked.query("updated_after").map(|at| at.parse().unwrap());
    let items = items.lock();
    let mut rows: Vec<(Timestamp, u64)> = items.iter().map(|(id, at)| (*at, *id)).collect();
    rows.retain(|(at, _)| since.is_none_or(|since| *at >= since));
    rows.sort_unstable();
    let size: usize = asked.query("per_page").unwrap().parse().unwrap();
    let body = |rows: &[(Timestamp, u64)]| Value::Array(rows.iter().map(|(at, id)| item(*id, *at)).collect());
    let dated = |reply: Reply| reply.with("Date", "Sat, 21 Nov 2026 10:30:36 GMT");
    if keyset && asked.query("pagination") == Some("keyset") {
        if let Some((at, id)) = asked.query("cursor").and_then(|cursor| cursor.split_once('|')) {
            let after = (at.parse().unwrap(), id.parse().unwrap());
            rows.retain(|row| *row > after);
        }
        let shown = &rows[..rows.len().min(size)];
        let reply = dated(Reply::json(&body(shown)));
        return match shown.last().filter(|_| rows.len() > size) {
            Some((at, id)) => {
                reply.with("Link", format!("<http://evil.example/steal?cursor={at}%7C{id}&x=y>; rel=\"next\""))
            }
            None => reply,
        };
    }
    let number: usize = asked.query("page").map_or(1, |page| page.parse().unwrap());
    let shown = rows.chunks(size).nth(number - 1).unwrap_or_default();
    let next = if rows.len() > number * size { (number + 1).to_string() } else { String::new() };
    dated(Reply::json(&body(shown)).with("X-Next-Page", next).with("X-Total", rows.len().to_string()))
}

fn client(stub: &Stub) -> forge::Client {
    let settings = ForgeSettings { requests_per_second: 0, retries: 0, ..ForgeSettings::new(stub.url.clone(), None) };
    forge::Client::new(Forge::GitLab, &settings).unwrap()
}

fn serve(items: &Items, keyset: bool) -> Stub {
    let items = items.clone();
    Stub::serve(move |asked| page(&items, asked, keyset))
}

fn list(kind: ThreadKind) -> forge::ThreadList {
    match kind {
        ThreadKind::Issue => forge::ThreadList::Issues,
        ThreadKind::MergeRequest => forge::ThreadList::MergeRequests,
    }
}

/// Every page, with something done after each.
async fn listed(
    stub: &Stub,
    kind: ThreadKind,
    since: Option<Timestamp>,
    mut between: impl FnMut(),
) -> Vec<ThreadsPage> {
    let client = client(stub);
    let mut from = PageStart::Since { since, etag: None };
    let mut pages = Vec::new();
    loop {
        let page = client.threads_page("a/b", list(kind), &from).await.unwrap();
        let next = page.next.clone();
        pages.push(page);
        match next {
            Some(next) => from = PageStart::Next(next),
            None => return pages,
        }
        between();
    }
}

fn ids(pages: &[ThreadsPage]) -> Vec<u64> {
    pages.iter().flat_map(|page| &page.threads).map(|listing| listing.id).collect()
}

#[tokio::test]
async fn fetches_all_pages_when_multiple_exist() {
    let items = items(0..250);
    for (kind, keyset) in [(ThreadKind::Issue, true), (ThreadKind::Issue, false), (ThreadKind::MergeRequest, false)] {
        let stub = serve(&items, keyset);
        let pages = listed(&stub, kind, None, || {}).await;
        assert_eq!(ids(&pages), (1..=250).collect::<Vec<_>>());
        assert_eq!(pages.iter().map(|page| page.total).collect::<Vec<_>>(), [Some(250), None, None]);
        assert_eq!(pages[0].forge_time.to_string(), "2026-11-21T10:30:36Z");
        assert_eq!(pages[0].threads[0].notes_count, 3);
    }
}

#[tokio::test]
async fn respects_per_page_parameter() {
    let stub = serve(&items(0..250), false);
    let pages = listed(&stub, ThreadKind::MergeRequest, None, || {}).await;
    assert!(pages.iter().all(|page| page.threads.len() <= PER_PAGE));
    for asked in stub.asked() {
        assert_eq!(asked.query("per_page"), Some("100"));
        assert_eq!((asked.query("order_by"), asked.query("sort")), (Some("updated_at"), Some("asc")));
        assert_eq!(asked.query("with_labels_details"), Some("true"));
    }
}

#[tokio::test]
async fn stops_when_empty_page_returned() {
    for keyset in [true, false] {
        let stub = serve(&items([]), keyset);
        for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
            let pages = listed(&stub, kind, None, || {}).await;
            assert_eq!((pages.len(), ids(&pages).len()), (1, 0));
        }
        assert_eq!(stub.asked().len(), 2);
    }
    // Even if it claims that there is more.
    let stub = Stub::serve(|_| Reply::json(&json!([])).with("X-Next-Page", "2"));
    assert_eq!(listed(&stub, ThreadKind::MergeRequest, None, || {}).await.len(), 1);
}

#[tokio::test]
async fn begins_with_what_was_updated_at_the_given_time() {
    for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
        let stub = serve(&items(0..250), true);
        assert_eq!(ids(&listed(&stub, kind, Some(at(248)), || {}).await), [249, 250]);
        assert_eq!(stub.asked().len(), 1);
    }
}

#[tokio::test]
async fn many_items_of_one_time_are_listed_each_once() {
    for run in [99, 100, 101, 150, 200, 450] {
        let seconds = (0..50).chain(std::iter::repeat_n(50, run)).chain(51..90);
        let stub = serve(&items(seconds), false);
        let listed = ids(&listed(&stub, ThreadKind::MergeRequest, None, || {}).await);
        assert_eq!(listed, (1..=89 + run as u64).collect::<Vec<_>>(), "{run}");
    }
}

#[tokio::test]
async fn a_whole_list_of_one_time_is_listed_each_once() {
    for count in [100, 200, 350] {
        let stub = serve(&items(std::iter::repeat_n(7, count)), false);
        let pages = listed(&stub, ThreadKind::MergeRequest, Some(at(7)), || {}).await;
        assert_eq!(ids(&pages), (1..=count as u64).collect::<Vec<_>>());
    }
}

/// Items change between pages, at random, also within long runs of one time: none may be missed, and the last listing
/// of each shows it as it is at the end.
#[tokio::test]
async fn items_that_change_while_they_are_listed_hide_no_others() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let spread = [1, 3, 40, 400][seed as usize % 4];
        let items = items((0..random.i64(150..500)).map(|_| random.i64(0..spread)));
        let keyset = seed % 8 == 0;
        let stub = serve(&items, keyset);
        let mut now = 1000;
        let change = || {
            let mut items = items.lock();
            for _ in 0..random.usize(0..130) {
                let id = random.u64(1..=items.len() as u64);
                now += i64::from(random.bool());
                // Late in the run nothing changes any more, or it would never end.
                if now < 1600 {
                    items.insert(id, at(now));
                }
            }
        };
        let kind = if keyset { ThreadKind::Issue } else { ThreadKind::MergeRequest };
        let pages = listed(&stub, kind, None, change).await;
        let last: BTreeMap<u64, Timestamp> =
            pages.iter().flat_map(|page| &page.threads).map(|listing| (listing.id, listing.updated_at)).collect();
        let items = items.lock();
        assert_eq!(last.keys().collect::<Vec<_>>(), items.keys().collect::<Vec<_>>(), "seed {seed}");
        let unchanged = items.iter().filter(|(_, time)| **time < at(1000));
        for (id, time) in unchanged {
            assert_eq!(last[id], *time, "seed {seed}");
        }
    }
}

#[tokio::test]
async fn a_cursor_is_taken_from_a_link_and_sent_to_the_forge_only() {
    let stub = serve(&items(0..150), true);
    let pages = listed(&stub, ThreadKind::Issue, Some(at(0)), || {}).await;
    assert_eq!(ids(&pages).len(), 150);
    let last = stub.asked().pop().unwrap();
    assert!(last.query("cursor").is_some() && last.query("x").is_none());
    assert_eq!(
        (last.path.as_str(), last.query("updated_after")),
        ("/api/v4/projects/a%2Fb/issues", Some("2023-11-14T22:13:20Z"))
    );
}

#[tokio::test]
async fn an_instance_that_refuses_cursors_is_read_without() {
    let items = items(0..150);
    let refusing = items.clone();
    let stub = Stub::serve(move |asked| match asked.query("pagination") {
        Some(_) => Reply::status(405, r#"{"error":"Keyset pagination is not yet available for this type of request"}"#),
        None => page(&refusing, asked, false),
    });
    let client = client(&stub);
    for requests in [2, 1] {
        let before = stub.asked().len();
        client
            .threads_page("a/b", forge::ThreadList::Issues, &PageStart::Since { since: Some(at(100)), etag: None })
            .await
            .unwrap();
        assert_eq!(stub.asked().len() - before, requests);
    }
    assert_eq!(ids(&listed(&stub, ThreadKind::Issue, None, || {}).await).len(), 150);
}

#[tokio::test]
async fn a_page_that_leads_to_itself_is_an_error() {
    let rows: Vec<Value> = (1..=100).map(|id| item(id, at(0))).collect();
    let rows = Value::Array(rows);
    let stub = Stub::serve(move |_| Reply::json(&rows).with("Link", "</x?cursor=again>; rel=\"next\""));
    let client = client(&stub);
    let first = client
        .threads_page("a/b", forge::ThreadList::Issues, &PageStart::Since { since: None, etag: None })
        .await
        .unwrap();
    let again = PageStart::Next(first.next.unwrap());
    let error = client.threads_page("a/b", forge::ThreadList::Issues, &again).await.unwrap_err();
    assert!(error.to_string().contains("gives itself"), "{error}");
}

#[tokio::test]
async fn pages_that_go_in_a_circle_are_an_error() {
    // Two cursors in turn.
    let rows = |from: u64| Value::Array((from..from + 100).map(|id| item(id, at(0))).collect());
    let stub = Stub::serve(move |asked| match asked.query("cursor") {
        Some("a") => Reply::json(&rows(101)).with("Link", "</x?cursor=b>; rel=\"next\""),
        _ => Reply::json(&rows(1)).with("Link", "</x?cursor=a>; rel=\"next\""),
    });
    let error = all(&stub, forge::ThreadList::Issues).await.unwrap_err();
    assert!(error.to_string().contains("given before"), "{error}");
    assert!(stub.asked().len() < 6);
    // One page whatever is asked for, without a word about the next.
    let stub = Stub::serve(move |_| Reply::json(&rows(1)));
    let error = all(&stub, forge::ThreadList::MergeRequests).await.unwrap_err();
    assert!(error.to_string().contains("given before"), "{error}");
    assert!(stub.asked().len() < 6);
    // More than a page has.
    let zeros = json!(vec![0; 500_000]);
    let stub = Stub::serve(move |_| Reply::json(&zeros));
    let error = all(&stub, forge::ThreadList::MergeRequests).await.unwrap_err();
    assert!(error.to_string().contains("500000 items"), "{error}");
    assert_eq!(stub.asked().len(), 1);
}

async fn all(stub: &Stub, list: forge::ThreadList) -> Result<(), ForgeError> {
    let client = client(stub);
    let mut from = PageStart::Since { since: None, etag: None };
    while let Some(next) = client.threads_page("a/b", list, &from).await?.next {
        from = PageStart::Next(next);
    }
    Ok(())
}

#[tokio::test]
async fn confidential_issues_are_left_out_and_named() {
    // Those with ids 1000 and 2000 are.
    let stub = serve(&items(0..2050), true);
    let pages = listed(&stub, ThreadKind::Issue, Some(at(998)), || {}).await;
    let listed = ids(&pages);
    assert!(listed.contains(&999) && !listed.contains(&1000) && listed.contains(&2001));
    let confidential: Vec<u64> = pages.iter().flat_map(|page| page.confidential.clone()).collect();
    assert_eq!(confidential, [1000, 2000]);
}

#[tokio::test]
async fn a_page_of_nothing_but_confidential_issues_is_skipped() {
    let hidden: Vec<Value> = (1..=100).map(|id| item(id * 1000, at(0))).collect();
    let stub = Stub::serve(move |asked| match asked.query("cursor") {
        None => Reply::json(&json!(hidden)).with("Link", "</x?cursor=c>; rel=\"next\"").with("X-Total", "101"),
        Some(_) => Reply::json(&json!([item(1, at(1))])),
    });
    let pages = listed(&stub, ThreadKind::Issue, None, || {}).await;
    assert_eq!((pages.len(), ids(&pages), pages[0].confidential.len()), (1, vec![1], 100));
    assert_eq!(pages[0].total, Some(101));
}

#[tokio::test]
async fn items_that_cannot_be_told_apart_or_put_in_order_are_named_beside_the_others() {
    let good = item(7, at(0));
    let with = |key: &str, value: Value| {
        let mut item = item(8, at(1));
        item[key] = value;
        item
    };
    for (broken, key, field) in [
        (json!(1), "#?", "iid"),
        (with("iid", json!("8")), "#?", "iid"),
        (with("id", json!(-1)), "#8", "id"),
        (with("updated_at", Value::Null), "#8", "updated_at"),
        (with("confidential", json!("yes")), "#8", "confidential"),
    ] {
        let page = json!([broken, good]);
        let stub = Stub::serve(move |_| Reply::json(&page));
        let pages = listed(&stub, ThreadKind::Issue, None, || {}).await;
        assert_eq!(ids(&pages), [7]);
        let wrong = &pages[0].unreadable[0];
        assert_eq!((wrong.key.as_str(), wrong.field.as_str(), wrong.has_key), (key, field, key == "#8"));
    }
    // Of one that is not to be seen nothing is told.
    let mut hidden = with("updated_at", Value::Null);
    hidden["confidential"] = json!(true);
    let stub = Stub::serve(move |_| Reply::json(&json!([hidden, good])));
    let pages = listed(&stub, ThreadKind::Issue, None, || {}).await;
    assert_eq!((&pages[0].confidential[..], pages[0].unreadable.len()), (&[8][..], 0));
}
