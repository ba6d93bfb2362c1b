//! Tests of requests, retries and limits.

use serde_json::json;

use super::*;
use crate::{
    forge::stub::{Reply, Stub},
    git::address::AllowedHosts,
};

/// Stands where a token stands; nothing scans for it.
const TOKEN: &str = "not-a-real-token";

const CONVENTIONS: ApiConventions = ApiConventions {
    token_header: "private-token",
    token_prefix: "",
    accept: "application/json",
    headers: &[],
    token: "with the scope read_api",
};

const QUICK_RETRIES: RetryPolicy = RetryPolicy {
    retries: 3,
    first_wait: Duration::from_millis(1),
    max_wait: Duration::from_millis(1),
    ..RETRY_POLICY
};

fn client(base: &Url, timeouts: Timeouts) -> Http {
    let settings = ForgeSettings {
        base_url: base.clone(),
        token: Some(TOKEN.into()),
        requests_per_second: 0,
        retries: 3,
        confidential: false,
        network: AllowedNetwork::Any,
    };
    Http::with_limits(&settings, &CONVENTIONS, timeouts, QUICK_RETRIES, network::system()).unwrap()
}

async fn get(stub: &Stub) -> Result<ForgeResponse, ForgeError> {
    client(&stub.url, TIMEOUTS).get(&["a", "b/c"], &[("secret", "query")], ExpectedJson::List).await
}

/// A server that answers so once and well from then on.
async fn recovers_from(bad: impl Fn() -> Reply + Send + Sync + 'static) {
    let stub = Stub::serve(move |asked| if asked.before == 0 { bad() } else { Reply::json(&json!([1])) });
    let http = client(&stub.url, TIMEOUTS);
    assert_eq!(http.get(&["x"], &[], ExpectedJson::List).await.unwrap().json, json!([1]));
    let metrics = http.metrics();
    assert_eq!((metrics.requests, metrics.retries), (2, 1));
}

#[tokio::test]
async fn transient_failures_are_retried() {
    for status in [408, 429, 500, 502, 503, 504] {
        recovers_from(move || Reply::status(status, "<html>")).await;
    }
    recovers_from(|| Reply::Cut { announced: 1000 }).await;
    recovers_from(|| Reply::Nothing).await;
    recovers_from(|| Reply::status(200, "[1, 2")).await;
    recovers_from(|| Reply::status(200, "[1, 2]]")).await;
    recovers_from(|| Reply::json(&json!({"not": "a list"}))).await;
}

#[tokio::test]
async fn a_server_that_hangs_is_overcome() {
    let stub = Stub::serve(|asked| if asked.before < 2 { Reply::Silence } else { Reply::json(&json!([])) });
    // Long enough for a slow machine to answer the third time.
    let impatient = Timeouts { silence: Duration::from_secs(1), ..TIMEOUTS };
    client(&stub.url, impatient).get(&[], &[], ExpectedJson::List).await.unwrap();
    let impatient = Timeouts { silence: Duration::from_millis(30), ..TIMEOUTS };
    let stub = Stub::serve(|_| Reply::Silence);
    let error = client(&stub.url, impatient).get(&[], &[], ExpectedJson::List).await.unwrap_err();
    assert!(error.to_string().contains("timed out: it does not answer in time"), "{error}");
}

#[tokio::test]
async fn an_answer_that_does_not_end_in_time_is_not_asked_for_again() {
    let impatient = Timeouts { total: Duration::from_secs(1), ..TIMEOUTS };
    let stub = Stub::serve(|_| Reply::Stalled);
    let error = client(&stub.url, impatient).get(&[], &[], ExpectedJson::List).await.unwrap_err();
    assert!(error.to_string().contains("its answer had not come whole after 1 s"), "{error}");
    assert!(error.is_limited_to_item(), "{error}");
    assert_eq!(stub.asked().len(), 1);
    // Where it only stalls, the next attempt may go well.
    let stub = Stub::serve(|asked| if asked.before == 0 { Reply::Stalled } else { Reply::json(&json!([])) });
    let impatient = Timeouts { silence: Duration::from_secs(1), ..TIMEOUTS };
    client(&stub.url, impatient).get(&[], &[], ExpectedJson::List).await.unwrap();
}

#[tokio::test]
async fn headers_that_do_not_end_in_time_are_not_asked_for_again_and_again() {
    // Headers that have not come whole are taken for silence, which is waited for once more.
    for (silence, total, attempts) in [(60, 1, 1), (1, 2, 2)] {
        let (silence, total) = (Duration::from_secs(silence), Duration::from_secs(total));
        let stub = Stub::serve(|_| Reply::Dripping);
        let impatient = Timeouts { silence, total, ..TIMEOUTS };
        let error = client(&stub.url, impatient).get(&[], &[], ExpectedJson::List).await.unwrap_err();
        let said = format!("its answer had not come whole after {} s", total.as_secs());
        assert!(error.to_string().contains(&said), "{error}");
        assert_eq!(stub.asked().len(), attempts);
    }
}

#[tokio::test]
async fn retries_end_and_the_error_says_what_is_wrong() {
    let outcome = async |reply: fn() -> Reply| {
        let stub = Stub::serve(move |_| reply());
        let error = get(&stub).await.unwrap_err();
        assert_eq!(stub.asked().len(), 4);
        error
    };
    assert!(matches!(outcome(|| Reply::status(502, "")).await, ForgeError::Server { status: 502, .. }));
    assert!(matches!(outcome(|| Reply::status(429, "")).await, ForgeError::RateLimited { attempts: 4, .. }));
    assert!(matches!(outcome(|| Reply::Cut { announced: 1000 }).await, ForgeError::Unreachable { .. }));
    assert!(matches!(outcome(|| Reply::status(200, "<html>")).await, ForgeError::Malformed { .. }));
}

#[tokio::test]
async fn refusals_are_reported_at_once_and_as_what_they_are() {
    let outcome = async |status: u16, body: &'static str| {
        let stub = Stub::serve(move |_| Reply::status(status, body));
        let error = get(&stub).await.unwrap_err();
        assert_eq!(stub.asked().len(), 1);
        let url = format!("{}a/b%2Fc", stub.url);
        let message = error.to_string();
        assert!(message.contains(&url) && !message.contains("query") && !message.contains(TOKEN), "{message}");
        error
    };
    assert!(matches!(outcome(401, "{}").await, ForgeError::Unauthorized { .. }));
    assert!(matches!(outcome(404, "").await, ForgeError::NotFound { .. }));
    assert!(matches!(outcome(400, "").await, ForgeError::Server { status: 400, .. }));
    assert!(matches!(outcome(403, r#"{"message":"403 Forbidden"}"#).await, ForgeError::Forbidden { reason: None, .. }));
    let scope = outcome(403, r#"{"error":"insufficient_scope","error_description":"wants more"}"#).await;
    assert!(scope.to_string().contains("403 Forbidden: wants more"), "{scope}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    // Nobody else gets its port, and it does not listen.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let closed = socket.local_addr().unwrap();
    let base = format!("http://{closed}").parse().unwrap();
    let error = client(&base, TIMEOUTS).get(&["x"], &[("secret", "query")], ExpectedJson::List).await.unwrap_err();
    let message = error.to_string();
    assert!(message.contains(&format!("http://{closed}/x")) && message.contains("refused"), "{message}");
    assert!(!message.contains("query"), "{message}");
}

#[tokio::test]
async fn redirects_are_followed_on_the_same_server_only() {
    let elsewhere = Stub::serve(|_| Reply::json(&json!([])));
    let target = elsewhere.url.clone();
    let stub = Stub::serve(move |asked| match asked.path.as_str() {
        "/old" => Reply::status(301, "").with("Location", "/new?x=1"),
        "/loop" => Reply::status(302, "").with("Location", "/loop"),
        "/away" => Reply::status(302, "").with("Location", target.as_str()),
        "/file" => Reply::status(302, "").with("Location", "file:///"),
        _ => Reply::json(&json!([asked.path])),
    });
    let http = client(&stub.url, TIMEOUTS);
    assert_eq!(http.get(&["old"], &[], ExpectedJson::List).await.unwrap().json, json!(["/new"]));
    assert!(matches!(http.get(&["loop"], &[], ExpectedJson::List).await, Err(ForgeError::Malformed { .. })));
    let error = http.get(&["away"], &[], ExpectedJson::List).await.unwrap_err();
    assert!(error.to_string().contains("set base_url"), "{error}");
    let error = http.get(&["file"], &[], ExpectedJson::List).await.unwrap_err();
    assert!(error.to_string().contains("redirects to an address of 'file:', where"), "{error}");
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn the_token_is_sent_and_never_shown() {
    let stub = Stub::serve(|_| Reply::json(&json!([])));
    get(&stub).await.unwrap();
    assert_eq!(stub.asked()[0].headers["private-token"], TOKEN);
    let settings = ForgeSettings::new(stub.url.clone(), Some(TOKEN.into()));
    let client = crate::forge::gitlab::Client::new(&settings).unwrap();
    assert!(!format!("{settings:?} {client:?}").contains(TOKEN));
}

#[tokio::test]
async fn answers_that_are_too_large_are_refused() {
    for reply in [|| Reply::Cut { announced: MAX_RESPONSE_BODY + 1 }, || Reply::Unannounced(MAX_RESPONSE_BODY + 1)] {
        let stub = Stub::serve(move |_| reply());
        let error = get(&stub).await.unwrap_err();
        assert!(matches!(error, ForgeError::TooLarge { .. }), "{error}");
        assert_eq!(stub.asked().len(), 1);
    }
}

#[test]
fn base_urls_and_tokens_that_cannot_work_are_refused_with_a_hint() {
    let refused = |url: &str, token: &str| {
        let settings = ForgeSettings::new(url.parse().unwrap(), Some(token.into()));
        let error = Http::new(&settings, &CONVENTIONS).err().unwrap();
        assert!(!error.to_string().contains("hunter"), "{error}");
        error.to_string()
    };
    for url in ["ftp://x/", "https://a:hunter@x/", "https://x/?a=hunter", "https://x/#y", "data:x"] {
        assert!(refused(url, "t").starts_with("base_url "), "{url}");
    }
    for token in ["", " \n", "hunter\n2"] {
        assert!(refused("https://x/", token).contains("token_env"), "{token}");
    }
}

#[test]
fn urls_are_built_below_the_base_with_escapes() {
    for (base, expected) in [
        ("https://x", "https://x/api/a%2Fb%3F?q=%26"),
        ("https://x/", "https://x/api/a%2Fb%3F?q=%26"),
        ("https://x/git/lab/", "https://x/git/lab/api/a%2Fb%3F?q=%26"),
    ] {
        let http = client(&base.parse().unwrap(), TIMEOUTS);
        assert_eq!(http.url(&["api", "a/b?"], &[("q", "&")]).as_str(), expected);
    }
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
}

#[test]
fn respects_retry_after_header_in_every_form() {
    let now: Timestamp = "2026-11-21T10:30:36Z".parse().unwrap();
    let pause = |status: u16, pairs: &[(&'static str, &str)]| {
        let pause = rate_limit(StatusCode::from_u16(status).unwrap(), &headers(pairs), b"", now);
        pause.map(|pause| pause.map(|pause| pause.as_secs()))
    };
    let at = |seconds: i64| (now.as_second() + seconds).to_string();
    assert_eq!(pause(429, &[("retry-after", "7")]), Some(Some(7)));
    assert_eq!(pause(429, &[("retry-after", "Sat, 21 Nov 2026 10:31:06 GMT")]), Some(Some(30)));
    assert_eq!(pause(429, &[("ratelimit-reset", &at(12))]), Some(Some(12)));
    assert_eq!(pause(429, &[("retry-after", "0")]), Some(None));
    assert_eq!(pause(503, &[("retry-after", "7")]), None);
}

#[test]
fn limits_of_github_are_told_from_refusals() {
    let now: Timestamp = "2026-11-21T10:30:36Z".parse().unwrap();
    let limit = |status: u16, pairs: &[(&'static str, &str)], body: &str| {
        let pause = rate_limit(StatusCode::from_u16(status).unwrap(), &headers(pairs), body.as_bytes(), now);
        pause.map(|pause| pause.map(|pause| pause.as_secs()))
    };
    let reset = (now.as_second() + 90).to_string();
    let used_up = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset.as_str())];
    let left = [("x-ratelimit-remaining", "41"), ("x-ratelimit-reset", reset.as_str())];
    assert_eq!(limit(403, &used_up, "{}"), Some(Some(90)));
    assert_eq!(limit(429, &used_up, "{}"), Some(Some(90)));
    assert_eq!(limit(403, &left, r#"{"message": "Resource not accessible"}"#), None);
    assert_eq!(limit(403, &[left[0], ("retry-after", "4")], "{}"), Some(Some(4)));
    let secondary = r#"{"message": "You have exceeded a secondary rate limit."}"#;
    assert_eq!(limit(403, &left, secondary), Some(Some(60)));
    assert_eq!(limit(404, &used_up, "{}"), None);
}

#[tokio::test]
async fn what_did_not_change_has_no_body() {
    let stub = Stub::serve(|asked| match asked.headers.get("if-none-match").map(String::as_str) {
        Some("\"a\"") => Reply::status(304, "").with("ETag", "\"a\""),
        _ => Reply::json(&json!([1])).with("ETag", "\"a\""),
    });
    let http = client(&stub.url, TIMEOUTS);
    let first = http.get(&["x"], &[], ExpectedJson::List).await.unwrap();
    assert_eq!((first.etag.as_deref(), first.json), (Some("\"a\""), json!([1])));
    let again = http.get_if_changed(Some("\"a\""), &["x"], &[], ExpectedJson::List).await.unwrap();
    assert_eq!((again.etag, again.json), (Some("\"a\"".to_owned()), Value::Null));
    let other = http.get_if_changed(Some("\"b\""), &["x"], &[], ExpectedJson::List).await.unwrap();
    assert_eq!(other.json, json!([1]));
}

#[tokio::test]
async fn a_pause_longer_than_a_sync_should_wait_ends_it() {
    let stub = Stub::serve(|_| Reply::status(429, "").with("Retry-After", "86400"));
    let error = get(&stub).await.unwrap_err();
    assert!(error.to_string().contains("86400 s"), "{error}");
    assert_eq!(stub.asked().len(), 1);
}

#[test]
fn paging_is_read_from_headers_and_links_by_their_query_alone() {
    let numbered = headers(&[("x-next-page", "3"), ("x-total", "250"), ("link", "<https://x/?page=9>; rel=\"next\"")]);
    assert_eq!(Paging::of(&numbered), Paging { next_page: Some(3), total: Some(250), told: true, ..Paging::default() });
    assert_eq!(Paging::of(&headers(&[("x-next-page", "")])), Paging { told: true, ..Paging::default() });
    let links = "<https://evil.example/?cursor=first>; rel=\"first\", <https://evil.example/x?cursor=a%3D%3D&id=1>; rel=\"next\"";
    assert_eq!(Paging::of(&headers(&[("link", links)])).cursor.as_deref(), Some("a=="));
    let link = headers(&[("link", "<https://x/?per_page=100&page=4>; rel=next")]);
    assert_eq!(Paging::of(&link).next_page, Some(4));
    let link = headers(&[("link", "<https://x/?page=2>; rel=\"next\", <https://x/?page=19>; rel=\"last\"")]);
    assert_eq!((Paging::of(&link).next_page, Paging::of(&link).last_page), (Some(2), Some(19)));
    for odd in ["", "<", "<x>; rel=\"next\"", "x; rel=\"next\"", "<?cursor>; rel=\"prev\"", ",;,"] {
        let paging = Paging::of(&headers(&[("link", odd)]));
        assert_eq!((paging.next_page, paging.cursor), (None, None), "{odd}");
    }
    assert_eq!(Paging::of(&HeaderMap::new()), Paging::default());
}

#[tokio::test]
async fn an_added_forge_is_reached_at_the_address_that_was_checked_or_not_at_all() {
    let stub = Stub::serve(|_| Reply::json(&json!([])));
    let port = stub.url.port().unwrap();
    let url = format!("http://forge.example:{port}/").parse().unwrap();
    let lookup: Lookup = Arc::new(|_: &str| Ok(vec![std::net::Ipv4Addr::LOCALHOST.into()]));
    let ask = async |allowed: &[&str], lookup: &Lookup| {
        let settings = ForgeSettings {
            network: AllowedNetwork::Public(AllowedHosts::new(allowed)),
            ..ForgeSettings::new(Url::clone(&url), None)
        };
        let http = Http::with_limits(&settings, &CONVENTIONS, TIMEOUTS, QUICK_RETRIES, lookup.clone()).unwrap();
        http.get(&["x"], &[], ExpectedJson::List).await
    };
    // A name that has led to a public address before, and then leads here.
    let error = ask(&[], &lookup).await.unwrap_err();
    assert!(matches!(&error, ForgeError::Config(text) if text.contains("allowed_hosts")), "{error}");
    assert_eq!(stub.asked().len(), 0);
    // No server of names knows it: the client goes where it was told.
    ask(&["forge.example"], &lookup).await.unwrap();
    assert_eq!(stub.asked().len(), 1);

    let literal = ForgeSettings {
        network: AllowedNetwork::Public(AllowedHosts::default()),
        ..ForgeSettings::new(stub.url.clone(), None)
    };
    assert!(Http::new(&literal, &CONVENTIONS).is_err());
    assert_eq!(stub.asked().len(), 1);
}

#[tokio::test]
async fn what_comes_in_one_run_is_bounded() {
    let stub = Stub::serve(|_| Reply::json(&json!([1])));
    let http = client(&stub.url, TIMEOUTS);
    http.inner.received.store(MAX_SYNC_BYTES + 1, Relaxed);
    let error = http.get(&["x"], &[], ExpectedJson::List).await.unwrap_err();
    assert!(error.to_string().contains("more than 16 GiB came from the forge"), "{error}");
    assert!(error.to_string().contains("the next sync continues"), "{error}");
    http.reset_usage();
    http.get(&["x"], &[], ExpectedJson::List).await.unwrap();
}

#[tokio::test]
async fn the_time_of_one_run_is_bounded() {
    let stub = Stub::serve(|_| Reply::json(&json!([1])));
    let http = client(&stub.url, TIMEOUTS);
    *http.inner.deadline.lock() = Instant::now();
    let error = http.get(&["x"], &[], ExpectedJson::List).await.unwrap_err();
    assert!(
        error.to_string().contains("reading one project takes more than 12 hours; what was read is kept"),
        "{error}"
    );
    assert_eq!(stub.asked().len(), 0);
    http.reset_usage();
    http.get(&["x"], &[], ExpectedJson::List).await.unwrap();
}
