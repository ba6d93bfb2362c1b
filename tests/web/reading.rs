//! Reading in a browser: long lines and files, going back, the keyboard, and a server that goes away.

use std::fmt::Write as _;

use serde_json::json;

use super::{ENTER, PHONE, world, world_of};
use crate::{
    cli_repositories::shop,
    support::{Browser, Fixture, Forge, Sandbox, Server},
};

/// A file that is longer and wider than any window, its lines, and the columns of its longest line.
const LONG: &str = "src/long.py";
const LINES: usize = 4000;
const COLUMNS: usize = 200;
/// A line far down in it.
const DEEP: usize = 3700;
/// Fewest columns of code that are seen while a trace is shown; how wide one is depends on the font.
const COLUMNS_BESIDE: u64 = 55;

/// A server that knows a repository with a long file.
fn world_with_long_file() -> (Forge, Fixture, Sandbox, Server) {
    let mut shop = shop();
    let mut text = format!("NAME = \"{}\"\n", "x".repeat(COLUMNS));
    for line in 2..=LINES {
        writeln!(text, "RATE_{line} = {line}").unwrap();
    }
    shop.write(LONG, text);
    shop.commit_all("Add rates");
    world_of(shop)
}

/// A condition: that line is in the window.
fn is_seen(line: usize) -> String {
    format!(
        "const box = document.getElementById('L{line}')?.getBoundingClientRect();
         return box !== undefined && box.top > 0 && box.bottom < innerHeight"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_line_is_read_to_its_end_and_the_gutter_stays() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world_with_long_file();
    let address = format!("{}/ui/file/acme/shop/-/{LONG}", server.url);
    for is_narrow in [false, true] {
        if is_narrow {
            browser.be_narrow(PHONE).await;
        }
        browser.open(&address).await;
        let wider = "const code = document.querySelector('.code');
            return code !== null && code.scrollWidth > code.clientWidth";
        browser.until("the code is wider than its place", wider).await;
        let end = "const code = document.querySelector('.code');
            code.scrollLeft = code.scrollWidth;
            const text = document.createRange();
            text.selectNodeContents(code.querySelector('#L1'));
            const [box, line] = [code, text].map(one => one.getBoundingClientRect());
            const gutter = code.querySelector('.gutter').getBoundingClientRect();
            return code.scrollLeft > 0 && line.right <= box.right && Math.abs(gutter.left - box.left) < 2";
        browser.until("the end of the line, beside the gutter", end).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_of_a_line_leads_to_it_however_far_down_it_is() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world_with_long_file();
    browser.open(&format!("{}/ui/file/acme/shop/-/{LONG}#L{DEEP}", server.url)).await;
    browser.until("the line is seen", &is_seen(DEEP)).await;
    let all = format!("return document.querySelectorAll('.code .line').length >= {LINES}");
    browser.until("all lines are drawn", &all).await;
    assert_eq!(browser.run(&is_seen(DEEP)).await, json!(true), "what is drawn above does not move it");
    let selected = format!("return document.querySelector('#L{DEEP}.selected') !== null");
    assert_eq!(browser.run(&selected).await, json!(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_leads_to_where_the_reader_was() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world_with_long_file();
    browser.open(&format!("{}/ui/file/acme/shop/-/{LONG}", server.url)).await;
    browser.run("window.scrollTo(0, 20000)").await;
    browser.until("far down", "return scrollY === 20000").await;
    browser.click(".crumbs a", "src").await;
    browser
        .until("the directory, from its top", "return document.querySelector('.directory') !== null && scrollY === 0")
        .await;
    browser.run("history.back()").await;
    browser.until("the file, far down", "return document.querySelector('.code') !== null && scrollY === 20000").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_leaves_the_code_its_room_or_is_below_it() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    for width in [1800, 1400, 1280, 1100, 1000] {
        browser.be_narrow(width).await;
        browser.open(&format!("{}/ui/file/acme/shop/-/src/session.py#L7", server.url)).await;
        browser.until_says(".side-panel", "memcached loses every session").await;
        let columns = "const text = document.createRange();
            text.selectNodeContents(document.querySelector('#L1'));
            const box = text.getBoundingClientRect();
            const panel = document.querySelector('.side-panel');
            const isBelow = getComputedStyle(panel).position === 'fixed';
            const end = document.querySelector('.code').getBoundingClientRect().right;
            const right = isBelow ? end : Math.min(end, panel.getBoundingClientRect().left);
            return Math.floor((right - box.left) / (box.width / text.toString().trimEnd().length))";
        let columns = browser.run(columns).await.as_u64().unwrap();
        assert!(columns >= COLUMNS_BESIDE, "{columns} columns of code in a window of {width} pixels");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn code_in_hits_is_code() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    browser.open(&format!("{}/ui/search?q=flaky%20checkout%20test", server.url)).await;
    let code =
        "return [...document.querySelectorAll('.hit-text code')].some(e => e.innerText === 'test_checkout_total')";
    browser.until("what stood between backticks", code).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn enter_follows_the_link_that_has_the_focus() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    browser.open(&format!("{}/ui/search?q=session", server.url)).await;
    browser.press(None, "j").await;
    let focused = "return document.activeElement?.closest('.hit.chosen') !== null
        && document.activeElement.classList.contains('row-link')";
    browser.until("the first hit has the focus", focused).await;
    let target = browser.run("return document.activeElement.pathname").await;
    browser.press(None, ENTER).await;
    browser.until("the hit", &format!("return location.pathname === {target}")).await;
    browser.run("history.back()").await;
    browser.until("the hits again", "return document.querySelector('.hit') !== null").await;
    browser
        .run("[...document.querySelectorAll('.hit .byline a')].find(link => link.innerText === 'trace').focus()")
        .await;
    browser.press(None, ENTER).await;
    browser.until("the trace", "return location.pathname.startsWith('/ui/why/')").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_is_told_beside_what_was_known() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    browser.open(&format!("{}/ui/jobs", server.url)).await;
    let away = "const answer = window.fetch;
        window.isAway = true;
        window.fetch = (...request) => (window.isAway ? Promise.reject(new TypeError('away')) : answer(...request));";
    browser.run(away).await;
    browser.until_says(".notice", "Not updated: the server does not answer.").await;
    assert_eq!(browser.run("return document.querySelector('.coverage') !== null").await, json!(true));
    assert_eq!(browser.run("return document.querySelector('.failed[role=alert]')").await, json!(null));
    browser.run("window.isAway = false").await;
    let told = "return ![...document.querySelectorAll('.notice')].some(one => one.innerText.includes('Not updated'))";
    browser.until("it answers again", told).await;
}
