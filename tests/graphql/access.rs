//! Who may use the server, and what its page needs.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

use super::Api;
use crate::support::{Forge, Sandbox};

/// Longest time that the server may take to say something.
const DEADLINE: Duration = Duration::from_secs(60);

/// A token of the API.
const TOKEN: &str = "open-sesame-open-sesame";

/// A WebSocket connection.
pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>);

impl Socket {
    /// Connects; the status of the refusal if there is one.
    pub(crate) async fn connect(url: &str, headers: &[(&'static str, &str)]) -> Result<Self, u16> {
        let mut request = format!("{url}/graphql/ws").replace("http://", "ws://").into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse().unwrap());
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        match connect_async(request).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(tokio_tungstenite::tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message; `None` when the connection is closed.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        match tokio::time::timeout(DEADLINE, self.0.next()).await.unwrap() {
            Some(Ok(Message::Text(text))) => Some(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Close(_)) | Err(_)) | None => None,
            Some(Ok(other)) => panic!("{other:?}"),
        }
    }
}

/// The status of an answer to a small query.
async fn status(api: &Api, headers: &[(&'static str, &str)]) -> u16 {
    let mut request = api.http.post(api.url("/graphql")).json(&json!({ "query": "{ __typename }" }));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn without_a_token_only_this_machine_is_answered() {
    let api = Api::new();
    let own = api.server.url.clone();
    for (headers, expected) in [
        (vec![], 200),
        (vec![("host", "localhost")], 200),
        (vec![("host", "localhost:1234")], 200),
        (vec![("host", "[::1]:7373")], 200),
        // A name that somebody made lead to this machine.
        (vec![("host", "evil.example")], 403),
        (vec![("host", "localhost.evil.example")], 403),
        (vec![("host", "127.0.0.1.evil.example:7373")], 403),
        (vec![("host", "192.0.2.1")], 403),
        (vec![("host", "x@localhost")], 403),
        // What is between client and server may believe another of them.
        (vec![("host", "localhost"), ("host", "evil.example")], 400),
        (vec![("host", "localhost"), ("host", "localhost")], 400),
        // A page of another site in the user's browser.
        (vec![("origin", own.as_str())], 200),
        (vec![("origin", "http://evil.example")], 403),
        (vec![("origin", "http://127.0.0.1:1")], 403),
        (vec![("origin", "null")], 403),
    ] {
        assert_eq!(status(&api, &headers).await, expected, "{headers:?}");
    }
    // What such a page embeds comes without its origin; a link of it may lead to a page, which holds no data.
    for (path, site, mode, expected) in [
        ("/api/v1/stats", "cross-site", "no-cors", 403),
        ("/api/v1/stats", "same-site", "navigate", 403),
        ("/api/v1/stats", "same-origin", "cors", 200),
        ("/api/v1/stats", "none", "navigate", 200),
        ("/sparql?query=ASK%7B%7D", "cross-site", "no-cors", 403),
        ("/graphql?query=%7B__typename%7D", "cross-site", "navigate", 403),
        ("/graphql", "cross-site", "navigate", 200),
        ("/", "cross-site", "navigate", 200),
        ("/", "cross-site", "no-cors", 403),
    ] {
        let request = api.http.get(api.url(path)).header("sec-fetch-site", site).header("sec-fetch-mode", mode);
        assert_eq!(request.send().await.unwrap().status(), expected, "{path} {site} {mode}");
    }
    assert_eq!(Socket::connect(&own, &[("origin", "http://evil.example")]).await.err(), Some(403));
    assert!(Socket::connect(&own, &[("origin", &own)]).await.is_ok());
    let page = api.http.get(api.url("/graphql")).header("host", "evil.example").send().await.unwrap();
    assert_eq!(page.status(), 403);
    for path in ["/healthz", "/readyz"] {
        for (host, expected) in [("localhost", 200), ("evil.example", 403), ("x@localhost", 403)] {
            let answer = api.http.get(api.url(path)).header("host", host).send().await.unwrap();
            assert_eq!(answer.status(), expected, "{path} {host}");
        }
    }
    let ready: Value = api.http.get(api.url("/readyz")).send().await.unwrap().json().await.unwrap();
    assert_eq!(ready, json!({ "status": "ready" }), "what the stores hold is not for everybody");
}

#[tokio::test]
async fn with_a_token_it_must_be_shown() {
    let forge = Forge::start();
    let mut sandbox = Sandbox::new(&forge);
    sandbox.configure("\n[server]\ntoken_env = \"API_TOKEN\"\n");
    sandbox.set("API_TOKEN", TOKEN);
    let server = sandbox.serve();
    let api = Api { forge, sandbox, server, http: reqwest::Client::builder().no_proxy().build().unwrap() };
    let right = ("authorization", "Bearer open-sesame-open-sesame");
    assert_eq!(status(&api, &[right]).await, 200);
    // A client with the token may come from anywhere.
    assert_eq!(
        status(&api, &[right, ("host", "backstory.example"), ("origin", "https://dashboard.example")]).await,
        200
    );
    for wrong in
        ["Bearer open", "Bearer open-sesame-open-sesame!", "Bearer ", "Basic open-sesame-open-sesame", TOKEN, ""]
    {
        assert_eq!(status(&api, &[("authorization", wrong)]).await, 401, "{wrong}");
    }
    for (path, expected) in [("/graphql", 200), ("/graphql/assets/start.js", 200), ("/nothing", 401), ("/healthz", 200)]
    {
        assert_eq!(api.http.get(api.url(path)).send().await.unwrap().status(), expected, "{path}");
    }
    let response = api.http.post(api.url("/graphql")).send().await.unwrap();
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    assert_eq!(response.json::<Value>().await.unwrap()["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");

    let url = &api.server.url;
    let init = |payload: Value| json!({ "type": "connection_init", "payload": payload });
    // A browser cannot set headers: the token may come with the first message.
    for (headers, payload, accepted) in [
        (vec![right], json!({}), true),
        (vec![], json!({ "Authorization": "Bearer open-sesame-open-sesame" }), true),
        (vec![], json!({ "Authorization": "Bearer wrong" }), false),
        (vec![], json!({}), false),
    ] {
        let mut socket = Socket::connect(url, &headers).await.ok().unwrap();
        socket.send(init(payload.clone())).await;
        let first = socket.next().await;
        assert_eq!(first, accepted.then(|| json!({ "type": "connection_ack" })), "{headers:?} {payload}");
    }
    assert_eq!(Socket::connect(url, &[("authorization", "Bearer wrong")]).await.err(), Some(401));
}

/// A server that wants [`TOKEN`].
fn guarded() -> Api {
    let forge = Forge::start();
    let mut sandbox = Sandbox::new(&forge);
    sandbox.configure("\n[server]\ntoken_env = \"API_TOKEN\"\n");
    sandbox.set("API_TOKEN", TOKEN);
    sandbox.run(&["sync"]).ok();
    let server = sandbox.serve();
    Api { forge, sandbox, server, http: reqwest::Client::builder().no_proxy().build().unwrap() }
}

#[tokio::test]
async fn wrong_tokens_are_counted_and_then_not_looked_at() {
    let api = guarded();
    let right = ("authorization", "Bearer open-sesame-open-sesame");
    assert_eq!(status(&api, &[right]).await, 200);
    let mut refusals = vec![];
    for number in 0..30 {
        let guess = format!("Bearer guess-number-{number}-of-many");
        let request = api.http.post(api.url("/graphql")).header("authorization", guess).json(&json!({}));
        let response = request.send().await.unwrap();
        refusals.push(response.status().as_u16());
        if response.status() == 429 {
            let wait: u64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=3).contains(&wait), "{wait}");
            assert!(response.json::<Value>().await.unwrap()["errors"][0]["message"].is_string());
        }
    }
    // On a slow machine some are made good meanwhile.
    assert!(count(&refusals, 401) >= 20 && count(&refusals, 429) >= 1, "{refusals:?}");
    assert_eq!(count(&refusals, 401) + count(&refusals, 429), refusals.len());
    assert_eq!(status(&api, &[right]).await, 200, "who was known before is not shut out by neighbors");
    // Nor is who owns the data directory.
    assert_eq!(api.sandbox.run(&["count", "issues"]).ok().stdout, "Issues: 6\n");
}

fn count(statuses: &[u16], wanted: u16) -> usize {
    statuses.iter().filter(|status| **status == wanted).count()
}

#[tokio::test]
async fn sockets_without_a_token_do_not_keep_out_those_that_have_one() {
    let api = guarded();
    let url = &api.server.url;
    let mut silent = vec![];
    for _ in 0..70 {
        silent.push(Socket::connect(url, &[]).await.ok().unwrap());
    }
    // The oldest give way to the newest.
    assert_eq!(silent[0].next().await, None);
    let right = ("authorization", "Bearer open-sesame-open-sesame");
    let mut own = Socket::connect(url, &[right]).await.ok().unwrap();
    own.send(json!({ "type": "connection_init" })).await;
    assert_eq!(own.next().await, Some(json!({ "type": "connection_ack" })));
    let mut browser = Socket::connect(url, &[]).await.ok().unwrap();
    browser.send(json!({ "type": "connection_init", "payload": { "Authorization": right.1 } })).await;
    assert_eq!(browser.next().await, Some(json!({ "type": "connection_ack" })));
    // The last that says nothing is closed too, if only after a while.
    assert_eq!(silent.last_mut().unwrap().next().await, None);
    assert_eq!(status(&api, &[right]).await, 200);
}

#[tokio::test]
async fn operations_of_a_socket_are_counted() {
    let api = Api::new();
    api.forge.hold();
    let id = api.data("mutation { sync { id } }").await["sync"]["id"].as_str().unwrap().to_owned();
    let mut socket = Socket::connect(&api.server.url, &[]).await.ok().unwrap();
    socket.send(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.next().await, Some(json!({ "type": "connection_ack" })));
    let query = "subscription ($id: ID!) { taskProgress(id: $id) { status } }";
    for number in 0..17 {
        let payload = json!({ "query": query, "variables": { "id": id } });
        socket.send(json!({ "id": number.to_string(), "type": "subscribe", "payload": payload })).await;
    }
    let refused = loop {
        let message = socket.next().await.unwrap();
        if !message["payload"]["errors"].is_null() || message["type"] == "error" {
            break message;
        }
    };
    assert!(refused.to_string().contains("BUSY") && refused.to_string().contains("16 operations"), "{refused}");
    // One that ends makes room.
    socket.send(json!({ "id": "0", "type": "complete" })).await;
    let payload = json!({ "query": "{ __typename }" });
    socket.send(json!({ "id": "last", "type": "subscribe", "payload": payload })).await;
    loop {
        let message = socket.next().await.unwrap();
        if message["id"] == "last" {
            assert_eq!(message["payload"]["data"]["__typename"], "Query", "{message}");
            break;
        }
    }
    api.forge.release();
}

#[tokio::test]
async fn the_query_page_needs_no_network() {
    let api = Api::new();
    let get = |path: String| {
        let request = api.http.get(api.url(&path));
        async move {
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), 200, "{path}");
            (response.headers().clone(), response.text().await.unwrap())
        }
    };
    let (headers, page) = get("/graphql".to_owned()).await;
    assert!(headers["content-type"].to_str().unwrap().starts_with("text/html"));
    assert!(headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
    let mut files = 0;
    for attribute in ["src=\"", "href=\"/"] {
        for rest in page.split(attribute).skip(1) {
            let path = rest.split('"').next().unwrap();
            let (_, content) = get(format!("/{}", path.trim_start_matches('/'))).await;
            assert!(!content.is_empty());
            files += 1;
        }
    }
    assert_eq!(files, 5);
    let (_, start) = get("/graphql/assets/start.js".to_owned()).await;
    assert!(!page.contains("://") && !start.contains("://"));
    let missing = api.http.get(api.url("/graphql/assets/nothing.js")).send().await.unwrap();
    assert_eq!(missing.status(), 404);
}

#[tokio::test]
async fn a_server_that_is_told_to_end_closes_its_connections() {
    let api = Api::new();
    let mut socket = Socket::connect(&api.server.url, &[]).await.ok().unwrap();
    socket.send(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.next().await, Some(json!({ "type": "connection_ack" })));
    let Api { server, .. } = api;
    let stopped = tokio::task::spawn_blocking(move || server.stop());
    assert_eq!(socket.next().await, None);
    assert_eq!(stopped.await.unwrap().0, Some(0));
}

/// A server with that section of the configuration.
fn configured(section: &str) -> Api {
    let forge = Forge::start();
    let mut sandbox = Sandbox::new(&forge);
    sandbox.configure(section);
    sandbox.set("API_TOKEN", TOKEN);
    let server = sandbox.serve();
    Api { forge, sandbox, server, http: reqwest::Client::builder().no_proxy().build().unwrap() }
}

/// The headers about origins of the answer to a request from a page of an origin, and its status.
async fn shared(request: reqwest::RequestBuilder, origin: &str) -> (u16, Vec<String>) {
    let response = request.header("origin", origin).send().await.unwrap();
    let headers = response.headers().iter();
    let header = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
        let is_shared = name.as_str().starts_with("access-control-") || name.as_str() == "vary";
        is_shared.then(|| format!("{name}: {}", value.to_str().unwrap()))
    };
    let mut headers: Vec<String> = headers.filter_map(header).collect();
    headers.sort();
    (response.status().as_u16(), headers)
}

#[tokio::test]
async fn pages_of_configured_origins_are_answered() {
    const ORIGINS: &str = "allowed_origins = [\"https://grafana.example.com\", \"http://localhost:3000\"]\n";
    const READABLE: [&str; 3] = [
        "access-control-allow-origin: https://grafana.example.com",
        "access-control-expose-headers: etag, preference-applied, retry-after, x-request-id",
        "vary: origin",
    ];
    let grafana = "https://grafana.example.com";
    let api = configured(&format!("\n[server]\ntoken_env = \"API_TOKEN\"\n{ORIGINS}"));
    let preflight = |api: &Api, path: &str| {
        let request = api.http.request(reqwest::Method::OPTIONS, api.url(path));
        let request = request.header("access-control-request-method", "POST");
        request.header("access-control-request-headers", "authorization,content-type")
    };
    let post = |api: &Api| api.http.post(api.url("/graphql")).json(&json!({ "query": "{ __typename }" }));
    for path in ["/graphql", "/api/v1/stats"] {
        let (status, headers) = shared(preflight(&api, path), grafana).await;
        assert_eq!(status, 204, "{path}");
        let permitted = [
            "access-control-allow-headers: authorization, content-type, if-none-match, prefer, x-request-id",
            "access-control-allow-methods: GET, POST, DELETE",
            READABLE[0],
            READABLE[1],
            "access-control-max-age: 3600",
            READABLE[2],
        ];
        assert_eq!(headers, permitted, "{path}");
    }
    // Only preflight requests need no token, and a refusal can be read too.
    assert_eq!(shared(post(&api), grafana).await, (401, READABLE.map(str::to_owned).to_vec()));
    assert_eq!(shared(post(&api).bearer_auth(TOKEN), grafana).await, (200, READABLE.map(str::to_owned).to_vec()));
    for other in [
        "https://grafana.example.com.evil.example",
        "https://grafana.example.com:8443",
        "http://grafana.example.com",
        "https://GRAFANA.example.com",
        "null",
        "*",
    ] {
        let vary = vec!["vary: origin".to_owned()];
        assert_eq!(shared(preflight(&api, "/graphql"), other).await, (401, vary.clone()), "{other}");
        assert_eq!(shared(post(&api).bearer_auth(TOKEN), other).await, (200, vary), "{other}");
    }

    // Without a token pages of those origins are answered on this machine, and no others.
    let api = configured(&format!("\n[server]\n{ORIGINS}"));
    assert_eq!(shared(post(&api), grafana).await.0, 200);
    assert_eq!(shared(post(&api), "https://evil.example").await.0, 403);
    assert_eq!(shared(post(&api).header("host", "evil.example"), grafana).await.0, 403);

    // Nobody is, unless it is configured.
    let api = configured("");
    assert_eq!(shared(preflight(&api, "/graphql"), grafana).await, (403, Vec::new()));
}

#[tokio::test]
async fn without_a_token_nobody_behind_a_proxy_is_answered() {
    let api = configured("");
    assert_eq!(status(&api, &[]).await, 200);
    // A proxy on this machine may write any Host.
    for header in [
        "x-forwarded-for",
        "x-forwarded-host",
        "x-real-ip",
        "forwarded",
        "via",
        "x-forwarded-proto",
        "cf-connecting-ip",
    ] {
        assert_eq!(status(&api, &[(header, "203.0.113.9")]).await, 403, "{header}");
    }
    assert_eq!(api.http.get(api.url("/healthz")).header("via", "1.1 proxy").send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn wrong_tokens_behind_a_trusted_proxy_are_counted_for_each_client() {
    let api = configured("\n[server]\ntoken_env = \"API_TOKEN\"\ntrusted_proxies = [\"127.0.0.0/8\"]\n");
    let from = |client: &'static str| ("x-forwarded-for", client);
    let mut refusals = Vec::new();
    for _ in 0..30 {
        refusals.push(status(&api, &[("authorization", "Bearer a-guess-that-is-wrong"), from("203.0.113.1")]).await);
    }
    assert!(count(&refusals, 429) >= 1, "{refusals:?}");
    let right = ("authorization", "Bearer open-sesame-open-sesame");
    assert_eq!(status(&api, &[right, from("203.0.113.1")]).await, 429);
    assert_eq!(status(&api, &[right, from("203.0.113.2")]).await, 200);
    // What the client wrote itself stands before what the proxy adds.
    assert_eq!(status(&api, &[right, from("203.0.113.2, 203.0.113.1")]).await, 429);
}

#[tokio::test]
async fn a_session_is_for_pages_of_the_address_that_browsers_know() {
    let api = configured("\n[server]\ntoken_env = \"API_TOKEN\"\npublic_url = \"https://code.example.com\"\n");
    let (own, other) = (("origin", "https://code.example.com"), ("origin", "https://wiki.example.com"));
    let sign_in = |origin: (&'static str, &'static str)| {
        api.http.post(api.url("/session")).header(origin.0, origin.1).json(&json!({ "token": TOKEN })).send()
    };
    assert_eq!(sign_in(other).await.unwrap().status(), 403);
    let response = sign_in(own).await.unwrap();
    assert_eq!(response.status(), 200);
    let cookie = response.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-") && cookie.ends_with("; Secure"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    // Another subdomain can set the cookie without the prefix.
    let planted = ("cookie", cookie.strip_prefix("__Host-").unwrap());
    assert_eq!(status(&api, &[planted, own]).await, 401);
    let signed_out = api.http.delete(api.url("/session")).header(own.0, own.1).header(planted.0, planted.1);
    let signed_out = signed_out.send().await.unwrap();
    assert_eq!((signed_out.status().as_u16(), signed_out.headers().get_all("set-cookie").iter().count()), (204, 2));
    let cookie = ("cookie", cookie.as_str());
    assert_eq!(status(&api, &[cookie, own]).await, 200);
    assert_eq!(status(&api, &[cookie, other]).await, 403);
    assert_eq!(status(&api, &[cookie]).await, 403);
    // Browsers send the cookie of a site also for pages of its other ports and subdomains.
    assert!(Socket::connect(&api.server.url, &[cookie, own]).await.is_ok());
    assert_eq!(Socket::connect(&api.server.url, &[cookie, other]).await.err(), Some(403));
}

/// Signs in from an address; the cookie, or the status of the refusal.
async fn sign_in(api: &Api, token: &str, from: &str) -> Result<String, u16> {
    let request = api.http.post(api.url("/session")).header("x-forwarded-for", from).json(&json!({ "token": token }));
    let response = request.send().await.unwrap();
    if response.status() != 200 {
        return Err(response.status().as_u16());
    }
    let cookie = response.headers()["set-cookie"].to_str().unwrap();
    Ok(cookie.split(';').next().unwrap().to_owned())
}

#[tokio::test]
async fn a_session_outlasts_wrong_tokens_of_others_at_its_address() {
    let api = configured("\n[server]\ntoken_env = \"API_TOKEN\"\ntrusted_proxies = [\"127.0.0.0/8\"]\n");
    let cookie = sign_in(&api, TOKEN, "203.0.113.2").await.unwrap();
    let shared = ("x-forwarded-for", "203.0.113.1");
    let mut refusals = vec![];
    for _ in 0..30 {
        refusals.push(status(&api, &[("authorization", "Bearer a-guess-that-is-wrong"), shared]).await);
    }
    assert!(count(&refusals, 429) >= 1, "{refusals:?}");
    let own = ("origin", api.server.url.as_str());
    let cookie = ("cookie", cookie.as_str());
    assert_eq!(status(&api, &[cookie, own, shared]).await, 200);
    assert_eq!(status(&api, &[cookie, own, ("x-forwarded-for", "203.0.113.2")]).await, 200);
}

#[tokio::test]
async fn a_token_ends_its_own_sessions_and_signs_in_so_often() {
    let api = configured("\n[server]\ntoken_env = \"API_TOKEN\"\nrequests_per_minute = 300\n");
    let other = api.sandbox.run(&["token", "create", "--json", "--projects", "**"]).ok().json();
    let own = ("origin", api.server.url.as_str());
    let kept = sign_in(&api, other["secret"].as_str().unwrap(), "127.0.0.1").await.unwrap();
    let mut cookies = vec![];
    for _ in 0..17 {
        cookies.push(sign_in(&api, TOKEN, "127.0.0.1").await.unwrap());
    }
    assert_eq!(status(&api, &[("cookie", &cookies[0]), own]).await, 401);
    assert_eq!(status(&api, &[("cookie", &cookies[1]), own]).await, 200);
    let mut refusals = vec![];
    for _ in 0..60 {
        refusals.extend(sign_in(&api, TOKEN, "127.0.0.1").await.err());
    }
    assert!(count(&refusals, 429) >= 1 && count(&refusals, 429) == refusals.len(), "{refusals:?}");
    assert_eq!(status(&api, &[("cookie", &kept), own]).await, 200);
}

#[tokio::test]
async fn a_token_has_a_part_of_the_sockets() {
    let api = guarded();
    let url = &api.server.url;
    let right = ("authorization", "Bearer open-sesame-open-sesame");
    let mut own = vec![];
    for _ in 0..8 {
        own.push(Socket::connect(url, &[right]).await.ok().unwrap());
    }
    assert_eq!(Socket::connect(url, &[right]).await.err(), Some(503));
    let other = api.sandbox.run(&["token", "create", "--json", "--projects", "**"]).ok().json();
    let other = format!("Bearer {}", other["secret"].as_str().unwrap());
    assert!(Socket::connect(url, &[("authorization", &other)]).await.is_ok());
    // The first message of a browser is no way around it.
    let mut browser = Socket::connect(url, &[]).await.ok().unwrap();
    browser.send(json!({ "type": "connection_init", "payload": { "Authorization": right.1 } })).await;
    assert_eq!(browser.next().await, None);
}
