//! What people come to the page for, done in a browser from the first page on.

use serde_json::json;

use super::world;
use crate::{
    cli_repositories::shop,
    support::{Browser, Model, Sandbox},
};

/// A repository that a person types the path of.
fn origin(sandbox: &Sandbox) -> String {
    let path = sandbox.path().join("shop.git").display().to_string();
    shop().git(["clone", "--quiet", "--bare", ".", path.as_str()]);
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn who_decided_about_a_line_is_found_from_the_first_page_in_four_clicks() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    browser.open(&server.url).await;
    browser.click("a", "all files of acme/shop").await;
    browser.click(".directory a", "src").await;
    browser.click(".directory a", "session.py").await;
    browser.click(".reason-title", "keep sessions in Redis").await;
    browser.until_says(".side-panel", "memcached loses every session").await;
    browser.until_says(".side-panel", "Written by Ada Lovelace").await;
}

// Rows 85, 87, 111, 112, 113, 114 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_added_watched_and_talked_about() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let sandbox = Sandbox::empty();
    let path = origin(&sandbox);
    let server = sandbox.serve();
    browser.open(&format!("{}/ui/ask", server.url)).await;
    browser.click(".ask-side summary", "Add a repository").await;
    browser.enter(".ask-side input[name=address]", &path).await;
    browser.until_says(".ask-side .started", "succeeded").await;
    browser.click(".ask-side a", "Ask about it").await;
    browser.until_says("h1", "about shop").await;
    let question = "why are sessions kept in Redis rather than in memcached?";
    browser.enter(".ask-form textarea", question).await;
    browser.until_says(".statement", "memcached loses every session").await;
    browser.until_says(".ask-form button", "New question").await;
    browser.enter(".ask-form textarea", "why must rounding not happen in the cart?").await;
    browser.until_says(".turn.user", question).await;
    browser.until_says(".turn.user", "why must rounding not happen").await;
    browser.until("two answers", "return document.querySelectorAll('.turn.assistant').length === 2").await;
    browser.click(".source-card button", "Quote").await;
    browser.until_says(".source-card .quote", "memcached").await;
    browser.click(".source-card button", "Verify").await;
    browser.until_says(".source-card", "The source says exactly this").await;
    // Another visit finds the conversation with its repository.
    browser.open(&format!("{}/ui/ask?project=shop", server.url)).await;
    browser.click(".chat-entry a", "why are sessions kept").await;
    browser.until("both questions", "return document.querySelectorAll('.turn.user').length === 2").await;
}

// Rows 31, 32, 33, 34 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn a_card_says_how_a_repository_stands_and_queues_jobs() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, mut shop, _sandbox, server) = world();
    shop.write("src/tax.py", "RATE = 19\n");
    let head = shop.commit_all("Add the tax").to_string();
    browser.open(&server.url).await;
    browser.click(".card button", "Index now").await;
    browser.until_says(".card .started", "succeeded").await;
    browser.until_says(".card", &head[..8]).await;
    browser.until_says(".card", "last sync succeeded").await;
    let counted = "return fetch('/api/v1/sync-status', { method: 'POST', body: '{\"runs\":1}',
            headers: { 'content-type': 'application/json' } }).then(answer => answer.json()).then(status => {
                const passages = status.freshness[0].passages;
                const says = card => card.innerText.includes(`${passages} passages`);
                return passages > 0 && [...document.querySelectorAll('.card')].some(says);
            })";
    browser.until("passages are counted as vectors are computed", counted).await;
    browser.click(".card button", "Reindex").await;
    browser.until_says(".confirm", "Nothing is lost").await;
    browser.click(".confirm button", "Reindex").await;
    browser.until_says(".card", "last reindex succeeded").await;
    drop(shop);
    browser.click(".card button", "Index now").await;
    browser.until_says(".card .notice.warn", "It is tried again at the next sync").await;
    browser.open(&format!("{}/ui/snapshots", server.url)).await;
    browser.click("button", "Delete old snapshots").await;
    browser.enter(".confirm input", "delete").await;
    let gone = "return ![...document.querySelectorAll('button')].some(e => e.innerText.includes('Delete old'))";
    browser.until("old snapshots are gone", gone).await;
    browser.until_says("table", "current").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn past_syncs_name_their_projects() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    browser.open(&format!("{}/ui/jobs", server.url)).await;
    let named =
        "const section = [...document.querySelectorAll('section')].find(one => one.innerText.startsWith('Past syncs'));
        const projects = [...(section?.querySelectorAll('tbody tr') ?? [])].map(row => row.cells[1].innerText);
        return projects.includes('all') && projects.includes('acme/shop')";
    browser.until("the projects of past syncs", named).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_language_model_is_offered_only_where_there_is_one() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let model = Model::start();
    let (_forge, _shop, sandbox, server) = world();
    let [file, item] = ["/ui/file/acme/shop/-/src/session.py", "/ui/item/acme/shop%231"];
    let offered = "return [...document.querySelectorAll('button')].some(e => /Enrich|Summarize/.test(e.innerText))";
    browser.open(&format!("{}{file}", server.url)).await;
    browser.until_says(".file-head button", "Index now").await;
    assert_eq!(browser.run(offered).await, json!(false));
    browser.open(&format!("{}{item}", server.url)).await;
    assert_eq!(browser.run(offered).await, json!(false));
    drop(server);
    sandbox.configure(&model.config("openai"));
    let server = sandbox.serve();
    browser.open(&format!("{}{file}", server.url)).await;
    browser.until_says(".file-head button", "Enrich").await;
    browser.open(&format!("{}{item}", server.url)).await;
    browser.until_says(".item-side button", "Summarize").await;
}

// Row 24 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_chosen_and_indexed() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, mut shop, _sandbox, server) = world();
    browser.open(&format!("{}/ui/file/acme/shop/-/src/session.py", server.url)).await;
    browser.click("button", "Symbols").await;
    browser.until_says(".symbol-row", "store").await;
    shop.write("src/session.py", "def load(key):\n    return store(key)\n\n\ndef drop(key):\n    return None\n");
    shop.commit_all("Sessions can be dropped");
    browser.click("button", "Index now").await;
    browser.until_says(".started", "succeeded").await;
    browser.until_says(".symbol-row", "drop").await;
    browser.until_says(".code", "Sessions can be dropped").await;
    browser.click("button", "Through moves").await;
    browser.until("blamed plainly", "return new URLSearchParams(location.search).get('blame') === 'plain'").await;
    browser.until_complete("blamed plainly").await;
    browser.until_says(".code", "Sessions can be dropped").await;
}

// Row 35 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn candidates_of_a_search_are_explained_and_ranked_by_other_weights() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    browser.open(&format!("{}/ui/ranking?q=session", server.url)).await;
    let places = "return [...document.querySelectorAll('tbody tr')].map(row => row.innerText)";
    assert!(browser.run(places).await.as_array().unwrap().len() > 2);
    let nothing = "for (const slider of document.querySelectorAll('.sliders input')) {
            slider.value = slider.closest('label').innerText.includes('recency') ? 1 : 0;
            slider.dispatchEvent(new Event('input', { bubbles: true }));
        }
        return true";
    browser.until("sliders", nothing).await;
    browser.until_says("button", "Reset").await;
    browser.click("button", "Reset").await;
    browser.click("tbody input[type=checkbox]", "answers it").await;
    browser.until_says(".ranking", "1 marked").await;
}

// Row 83 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn relations_are_a_picture_a_table_and_a_path() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let (_forge, _shop, _sandbox, server) = world();
    browser.open(&format!("{}/ui/graph/acme/shop%231", server.url)).await;
    let edges = browser.run("return document.querySelectorAll('.graph .edge').length").await.as_u64().unwrap();
    assert!(edges > 0);
    browser.click("button", "As a table").await;
    let rows = format!("return document.querySelectorAll('tbody tr').length === {edges}");
    browser.until("a row for each edge", &rows).await;
    browser.open(&format!("{}/ui/graph/acme/shop%231?to=acme/shop:src/cart.py", server.url)).await;
    browser.until_says(".path", "src/cart.py").await;
}

// Row 115 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_is_said_with_what_to_do() {
    let Some(browser) = Browser::start(1360, 900).await else { return };
    let sandbox = Sandbox::empty();
    let server = sandbox.serve();
    browser.open(&server.url).await;
    browser.until_says(".empty", "Nothing is indexed yet").await;
    browser.enter(".add input", "/nowhere/at/all").await;
    let said =
        "return [...document.querySelectorAll('.add [role=alert]')].some(e => e.innerText.includes('/nowhere/at/all'))";
    browser.until("the error names the path", said).await;
    browser.enter(".add input", &origin(&sandbox)).await;
    browser.until("progress or its end", "return document.querySelector('.add .started') !== null").await;
    browser.until_says(".add .started", "succeeded").await;
    browser.until_says(".card .badge", "ready").await;
    browser.open(&format!("{}/ui/file/shop/-/src/nothing.py", server.url)).await;
    browser.until_says(".failed", "no file src/nothing.py").await;
    assert_eq!(browser.run("return document.querySelector('.failed button') !== null").await, json!(true));
}
