//! The web interface: how it is served, sessions of browsers, and every screen in a real one.

mod reading;
mod tasks;

use std::{fs, io::Read as _, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::{
    cli_repositories::shop,
    support::{Browser, Fixture, Forge, Sandbox, Server},
};

/// A token of the server.
const TOKEN: &str = "open-sesame-open-sesame";
/// Keys of WebDriver.
const CONTROL: char = '\u{e009}';
const ENTER: &str = "\u{e007}";
/// Width of a small phone.
const PHONE: u32 = 360;
/// Least contrast of text.
const CONTRAST: f64 = 4.5;

/// Addresses of all screens, and words that each must show.
const SCREENS: [(&str, &str); 19] = [
    ("/", "acme/shop"),
    ("/ui/search", "What are you looking for?"),
    ("/ui/search?q=session", "session"),
    ("/ui/search?q=xyzzyplugh&mode=lexical", "Nothing was found"),
    ("/ui/file/acme/shop/-/", "src"),
    ("/ui/file/acme/shop/-/src/session.py", "Redis"),
    ("/ui/file/acme/shop/-/src/session.py#L7", "Why session.py, line 7"),
    ("/ui/why/acme/shop:src/session.py?lines=7", "memcached loses every session"),
    ("/ui/items?kind=issue", "Issues"),
    ("/ui/item/acme/shop%231", "acme/shop"),
    ("/ui/ask?q=why%20Redis", "Conversations"),
    ("/ui/graph/acme/shop%231", "Edges"),
    ("/ui/history/acme/shop:src/session.py", "Author"),
    ("/ui/people", "Lines added"),
    ("/ui/people/@alice", "Merge requests"),
    ("/ui/jobs", "Index & jobs"),
    ("/ui/ranking?q=session", "Weights"),
    ("/ui/snapshots", "The index is at"),
    ("/ui/agents", "backstory install"),
];

/// A server that knows issues, merge requests and the repository of the shop.
fn world() -> (Forge, Fixture, Sandbox, Server) {
    world_of(shop())
}

/// The same with another repository of the shop.
fn world_of(shop: Fixture) -> (Forge, Fixture, Sandbox, Server) {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    sandbox.run(&["add", &shop.path().display().to_string(), "--name", "acme/shop"]).ok();
    sandbox.run(&["sync"]).ok();
    let server = sandbox.serve();
    (forge, shop, sandbox, server)
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

/// A server that asks for a token.
fn server_with_token() -> (Sandbox, Server) {
    let mut sandbox = Sandbox::empty();
    sandbox.set("TOKEN", TOKEN);
    sandbox.write_config("data_dir = \"data\"\n[server]\ntoken_env = \"TOKEN\"\n");
    let server = sandbox.serve();
    (sandbox, server)
}

#[tokio::test]
async fn the_page_is_at_every_address_and_may_load_nothing_from_elsewhere() {
    let (_sandbox, server) = server_with_token();
    let http = reqwest::Client::builder().no_proxy().no_gzip().build().unwrap();
    let mut page = String::new();
    for address in ["/", "/ui", "/ui/search?q=a", "/ui/file/acme/shop/-/src/a.rs"] {
        let response = http.get(format!("{}{address}", server.url)).send().await.unwrap();
        assert_eq!(response.status(), 200, "{address}");
        let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.contains("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(response.headers()["cache-control"], "no-cache", "{address}");
        assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8", "{address}");
        assert_eq!(response.headers()["vary"], "accept-encoding", "{address}");
        page = response.text().await.unwrap();
        let request = http.get(format!("{}{address}", server.url)).header("accept-encoding", "gzip");
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-encoding"], "gzip", "{address}");
        assert_eq!(response.headers()["cache-control"], "no-cache", "{address}");
        let compressed = response.bytes().await.unwrap();
        let mut unpacked = String::new();
        GzDecoder::new(&compressed[..]).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, page, "{address}");
    }
    let sources = page.split('"').filter(|part| part.contains("/ui/-/")).map(str::to_owned).collect::<Vec<_>>();
    assert!(sources.len() > 5, "{page}");
    for source in &sources {
        let request = http.get(format!("{}{source}", server.url)).header("accept-encoding", "gzip");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{source}");
        assert!(response.headers()["cache-control"].to_str().unwrap().contains("immutable"), "{source}");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{source}");
    }
    let version = sources[0].split('/').nth(3).unwrap();
    for wrong in
        ["/ui/-/0000/app.js".to_owned(), format!("/ui/-/{version}/../Cargo.toml"), format!("/ui/-/{version}/a")]
    {
        let response = http.get(format!("{}{wrong}", server.url)).send().await.unwrap();
        assert_ne!(response.headers()["content-type"], "text/javascript; charset=utf-8", "{wrong}");
    }
    let stats = http.post(format!("{}/api/v1/stats", server.url)).json(&json!({})).send().await.unwrap();
    assert_eq!(stats.status(), 401, "the page is for all, the data are not");
}

#[tokio::test]
async fn a_token_becomes_a_session_that_only_the_servers_own_pages_can_use() {
    let (_sandbox, server) = server_with_token();
    let (http, session) = (client(), format!("{}/session", server.url));
    let described: Value = http.get(&session).send().await.unwrap().json().await.unwrap();
    assert_eq!(described, json!({ "granted": false, "scope": null, "needs_token": true }));
    let wrong = http.post(&session).json(&json!({ "token": "not-a-token-of-this-server" })).send().await.unwrap();
    assert_eq!(wrong.status(), 401);
    let foreign = http.post(&session).header("origin", "https://evil.example.com").json(&json!({ "token": TOKEN }));
    assert_eq!(foreign.send().await.unwrap().status(), 403);
    let right = http.post(&session).json(&json!({ "token": TOKEN })).send().await.unwrap();
    assert_eq!(right.status(), 200);
    let set = right.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(set.contains("HttpOnly; SameSite=Strict"), "{set}");
    let cookie = set.split(';').next().unwrap();
    let mine = http.get(&session).header("cookie", cookie).header("origin", &server.url).send().await.unwrap();
    let mine: Value = mine.json().await.unwrap();
    let known = json!({ "granted": true, "scope": "admin", "needs_token": true, "language_model": false });
    assert_eq!(mine, known);
    let stats = |origin: Option<&str>| {
        let request = http.post(format!("{}/api/v1/stats", server.url)).header("cookie", cookie).json(&json!({}));
        origin.into_iter().fold(request, |request, origin| request.header("origin", origin)).send()
    };
    assert_eq!(stats(Some(&server.url)).await.unwrap().status(), 200);
    assert_eq!(stats(Some("https://evil.example.com")).await.unwrap().status(), 403);
    assert_eq!(stats(None).await.unwrap().status(), 403);
    let closed = http.delete(&session).header("cookie", cookie).header("origin", &server.url).send().await.unwrap();
    assert_eq!(closed.status(), 204);
    assert_eq!(stats(Some(&server.url)).await.unwrap().status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_screen_is_complete_without_an_error_or_a_request_elsewhere() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    for (address, words) in SCREENS {
        browser.open(&format!("{}{address}", server.url)).await;
        let found = format!("return document.body.innerText.includes({})", json!(words));
        browser.until(&format!("'{words}' at {address}"), &found).await;
        let failed =
            browser.run("return [...document.querySelectorAll('.failed[role=alert]')].map(e => e.innerText)").await;
        assert_eq!(failed, json!([]), "{address}");
        let console = browser.console().await;
        assert!(console.is_empty(), "{address}: {console:#?}");
        let loaded = "return performance.getEntriesByType('resource').map(entry => new URL(entry.name).origin)";
        for origin in browser.run(loaded).await.as_array().unwrap() {
            assert_eq!(origin.as_str().unwrap(), server.url, "{address}");
        }
        let wide = "return Math.max(0, document.documentElement.scrollWidth - innerWidth)";
        assert_eq!(browser.run(wide).await, json!(0), "{address} is wider than its window");
        let nameless = "return [...document.querySelectorAll('button, a[href], input, select, textarea')]
            .filter(e => !(e.innerText.trim() || e.textContent.trim() || e.ariaLabel || e.title || e.labels?.length))
            .map(e => e.outerHTML)";
        assert_eq!(browser.run(nameless).await, json!([]), "{address}: nothing says what these are");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn screens_fit_a_phone() {
    let Some(browser) = Browser::start(500, 800).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    browser.be_narrow(PHONE).await;
    for (address, _) in SCREENS {
        browser.open(&format!("{}{address}", server.url)).await;
        let wide = "return Math.max(0, document.documentElement.scrollWidth - innerWidth)";
        assert_eq!(browser.run(wide).await, json!(0), "{address} is wider than its window");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_serious_in_light_and_on_a_phone_in_dark() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    let mut faults = Vec::new();
    for theme in ["light", "dark"] {
        browser.open(&server.url).await;
        browser.run(&format!("localStorage.setItem('backstory.theme', '{theme}')")).await;
        if theme == "dark" {
            browser.be_narrow(PHONE).await;
        }
        for (address, _) in SCREENS {
            browser.open(&format!("{}{address}", server.url)).await;
            let found = browser.serious_faults().await;
            faults.extend(found.iter().map(|fault| format!("{theme} {address}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_leads_from_the_first_page_to_a_trace() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    browser.open(&server.url).await;
    browser.press(Some(CONTROL), "k").await;
    browser.until("the palette", "return document.activeElement?.getAttribute('role') === 'combobox'").await;
    browser.press(None, "src/session.py:7").await;
    let offered = "return document.querySelector('.palette .chosen')?.innerText.includes('src/session.py:7') === true";
    browser.until("the file is offered", offered).await;
    browser.press(None, ENTER).await;
    let traced = "return document.querySelector('.side-panel')?.innerText.includes('memcached loses') === true";
    browser.until("the trace is beside the file", traced).await;
    browser.press(None, "?").await;
    browser.until("the keys", "return document.querySelector('dialog')?.innerText.includes('Next run of lines')").await;
}

/// Addresses of the pictures that `scripts/screenshots` makes, with a script that goes before.
const PICTURES: [(&str, &str, &str); 12] = [
    ("projects", "/", ""),
    ("search", "/ui/search?q=session", ""),
    ("file", "/ui/file/acme/shop/-/src/session.py#L7", ""),
    ("trace", "/ui/why/acme/shop:src/session.py?lines=7", ""),
    ("item", "/ui/item/acme/shop!2", ""),
    ("commit", "/ui/history/acme/shop:src/session.py", ""),
    ("ask", "/ui/ask?q=why%20are%20sessions%20kept%20in%20Redis", ""),
    ("graph", "/ui/graph/acme/shop!2", ""),
    ("jobs", "/ui/jobs", ""),
    ("ranking", "/ui/ranking?q=session", ""),
    ("file-dark", "/ui/file/acme/shop/-/src/session.py#L7", "localStorage.setItem('backstory.theme', 'dark')"),
    ("agents", "/ui/agents", "localStorage.setItem('backstory.theme', 'system')"),
];

#[tokio::test(flavor = "multi_thread")]
async fn screens_are_pictured_where_that_is_asked_for() {
    let Some(directory) = std::env::var_os("BACKSTORY_SCREENSHOTS") else { return };
    let Some(browser) = Browser::start(1280, 860).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    browser.open(&server.url).await;
    for (name, address, before) in PICTURES {
        browser.run(before).await;
        browser.open(&format!("{}{address}", server.url)).await;
        let picture = BASE64.decode(browser.screenshot().await).unwrap();
        fs::write(Path::new(&directory).join(format!("{name}.png")), picture).unwrap();
    }
}

#[test]
fn text_has_enough_contrast_on_every_surface() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let style = fs::read_to_string(root.join("crates/backstory-server/web/style/base.css")).unwrap();
    let color = |name: &str| {
        let declared = style.split_once(&format!("--{name}: light-dark(")).unwrap().1.split_once(')').unwrap().0;
        let (light, dark) = declared.split_once(", ").unwrap();
        [luminance(light), luminance(dark)]
    };
    for text in ["ink", "muted", "link", "good", "warn", "bad", "merged", "model"] {
        for surface in ["paper", "panel", "raised", "hover", "chosen", "mark"] {
            for (one, other) in color(text).into_iter().zip(color(surface)) {
                let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
                assert!(contrast >= CONTRAST, "{text} on {surface}: {contrast:.2}");
            }
        }
    }
}

/// Relative luminance of a color such as `#1a1e24`, as WCAG defines it.
fn luminance(color: &str) -> f64 {
    let channel = |from: usize| {
        let value = f64::from(u8::from_str_radix(&color[from..from + 2], 16).unwrap()) / 255.0;
        if value <= 0.039_28 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}
