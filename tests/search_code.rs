//! Searching for code alone: hits are files, in the order in which somebody who asks for code wants them.

use std::collections::BTreeSet;

use backstory_engine::{
    ledger::Branches,
    model::filter::{DocumentKind, Filter},
    search::ListDocuments,
};
use serde_json::{Value, json};

use crate::support::{Fixture, Indexed, Sandbox};

fn search(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.run(&[&["search", "--json", "--mode", "lexical"], args].concat()).ok().json()
}

fn code(sandbox: &Sandbox, query: &str) -> Value {
    search(sandbox, &[query, "--type", "code"])
}

fn paths(found: &Value) -> Vec<&str> {
    found["hits"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect()
}

fn ids(found: &Value) -> Vec<&str> {
    found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

/// A shop whose sources, tests and examples say the same.
fn shop() -> Sandbox {
    let mut shop = Fixture::new();
    let cart = "def add_voucher(cart, voucher):\n    cart.vouchers.append(voucher)\n\n\n\
                def drop_voucher(cart, voucher):\n    cart.vouchers.remove(voucher)\n\n\n\
                def count_vouchers(cart):\n    return len(cart.vouchers)\n";
    shop.write("src/cart.py", cart);
    shop.write("tests/test_cart.py", cart.replace("def ", "def test_").replace("cart.", "voucher cart."));
    shop.write("examples/cart.py", cart.replace("add", "add_example"));
    shop.write("src/invoice.py", "def print_invoice(order):\n    # a voucher is a line of its own\n    return order\n");
    shop.write("src/currency.rs", "money! {\n    Euro, \"EUR\", cents;\n    Yen, \"JPY\", none;\n}\n");
    shop.write("docs/vouchers.md", "# Vouchers\n\nA voucher of a cart lowers its total. Vouchers expire.\n");
    shop.commit_all("Carts have vouchers");
    Sandbox::indexed(&shop)
}

#[test]
fn a_file_is_one_hit_and_shows_the_part_that_answers() {
    let sandbox = shop();
    let found = code(&sandbox, "drop a voucher of the cart");
    let mut all = paths(&found);
    assert_eq!(ids(&found)[0], "acme/shop:src/cart.py#drop_voucher", "{found:#}");
    assert!(!all.contains(&"docs/vouchers.md"), "documents are no code: {found:#}");
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "{found:#}");
}

#[test]
fn sources_stand_before_tests_and_examples_unless_the_query_asks_for_those() {
    let sandbox = shop();
    let first = |query: &str| paths(&code(&sandbox, query))[0].to_owned();
    assert_eq!(paths(&code(&sandbox, "voucher cart"))[..1], ["src/cart.py"]);
    assert_eq!(first("which test adds a voucher to the cart"), "tests/test_cart.py");
    assert_eq!(first("an example that adds a voucher to the cart"), "examples/cart.py");
}

#[test]
fn a_file_without_functions_is_found_too() {
    let sandbox = shop();
    assert_eq!(ids(&code(&sandbox, "Euro cents")), ["acme/shop:src/currency.rs"]);
}

#[test]
fn a_file_with_several_parts_that_match_stands_before_one_with_a_single_part() {
    let mut shop = Fixture::new();
    let part = |name: &str| format!("def {name}(order):\n    # refund of the payment\n    return order.total\n\n\n");
    shop.write("src/alpha.py", part("one"));
    shop.write("src/beta.py", ["two", "three", "four", "five"].map(part).concat());
    shop.commit_all("Give money back");
    let sandbox = Sandbox::indexed(&shop);
    assert_eq!(paths(&code(&sandbox, "refund payment")), ["src/beta.py", "src/alpha.py"]);
}

#[test]
fn a_name_after_a_word_like_class_or_alone_is_that_of_a_definition() {
    let mut shop = Fixture::new();
    shop.write("src/models.py", "class Parcel:\n    def weigh(self):\n        return self.grams\n");
    for number in 0..6 {
        let uses = "    parcel = Parcel()\n    parcel.weigh()\n".repeat(4);
        shop.write(format!("src/parcel_{number}.py"), format!("def send_parcel_{number}():\n    # Parcel\n{uses}"));
    }
    shop.commit_all("Send parcels");
    let sandbox = Sandbox::indexed(&shop);
    for query in ["where is the class Parcel", "Parcel", "which file has struct Parcel"] {
        let found = code(&sandbox, query);
        assert_eq!(paths(&found)[0], "src/models.py", "{query}: {found:#}");
    }
}

#[test]
fn the_beginning_of_a_definition_or_another_spelling_leads_to_it() {
    let mut shop = Fixture::new();
    shop.write("src/raft.go", "package raft\n\n// Parcel is sent.\ntype Parcel struct {\n\tgrams int\n}\n\nfunc (p *Parcel) Parcel() int {\n\treturn p.grams // Parcel Parcel\n}\n");
    // Of a short class there is one document for all of it.
    let body: String = (0..60).map(|line| format!("        self.append(order.line{line})\n")).collect();
    shop.write("src/pool.py", format!("class ConnectionPool:\n    def run_leader(self):\n{body}"));
    for number in 0..3 {
        let uses = "    parcel = Parcel()\n    connection.pool()\n    run(leader)\n".repeat(4);
        shop.write(format!("src/use_{number}.py"), format!("def send_parcel_{number}():\n    # Parcel\n{uses}"));
    }
    shop.commit_all("Send parcels");
    let sandbox = Sandbox::indexed(&shop);
    for query in ["class Parcel", "type Parcel struct {", "struct Parcel"] {
        for kind in [&[][..], &["--type", "code"]] {
            let found = search(&sandbox, &[&[query], kind].concat());
            assert_eq!(ids(&found)[0], "acme/shop:src/raft.go#Parcel", "{query}: {found:#}");
        }
    }
    // Words that only sound like the beginning of a definition are words.
    for query in ["function connectionpool", "type parcel"] {
        assert_eq!(search(&sandbox, &[query])["understood"], json!([]), "{query}");
    }
    for (query, id) in [
        ("connectionpool", "ConnectionPool"),
        ("run_Leader", "ConnectionPool.run_leader"),
        ("Connection_poOl", "ConnectionPool"),
    ] {
        let found = code(&sandbox, query);
        assert_eq!(ids(&found)[0], format!("acme/shop:src/pool.py#{id}"), "{found:#}");
        assert!(found["understood"].to_string().contains("a different spelling is taken for it"), "{found:#}");
    }
}

#[test]
fn a_name_as_it_is_used_leads_to_what_it_stands_for() {
    let mut shop = Fixture::new();
    shop.write(
        "src/pool.py",
        "LIMIT = 7\n\n\nclass Pool:\n    size = LIMIT\n\n    def fill(self, water):\n        return self.size\n",
    );
    shop.write("tests/test_pool.py", "def fill(pool):\n    return pool.fill(7)\n");
    shop.write("src/swim.py", "def swim(pool):\n    # the pool, the LIMIT of size\n    pool.fill(7)\n".repeat(3));
    shop.commit_all("Fill the pool");
    let sandbox = Sandbox::indexed(&shop);
    for (query, name) in [
        ("Pool.fill(water)", "Pool.fill"),
        ("Pool::fill", "Pool.fill"),
        ("pool.fill()", "Pool.fill"),
        ("&aqua.Pool{", "Pool"),
        ("Pool class", "Pool"),
        ("where is fill defined?", "Pool.fill"),
        ("Pool", "Pool"),
        ("LIMIT", "LIMIT, line 1"),
    ] {
        let found = search(&sandbox, &[query]);
        assert_eq!(found["hits"][0]["path"], "src/pool.py", "{query}: {found:#}");
        let said = found["understood"].to_string();
        assert!(said.contains(&format!("acme/shop:src/pool.py#{name}")), "{query}: {said}");
    }
    let said = search(&sandbox, &["aqua.fill"])["understood"][0].clone();
    assert_eq!(said, "nothing is named aqua.fill; what is named fill is taken for it");
    for query in ["class Lake", "def drain_lake(", "lake.drain()", "&lake.Lake{"] {
        assert_eq!(ids(&search(&sandbox, &[query])), [""; 0], "{query}");
    }
    let shown = sandbox.run(&["entity", "pool.fill()"]).ok().stdout;
    assert!(shown.starts_with("Pool.fill method acme/shop src/pool.py:7-8"), "{shown}");
}

#[test]
fn many_definitions_of_a_name_are_counted_and_those_of_sources_lead() {
    let mut shop = Fixture::new();
    for number in 0..8 {
        shop.write(format!("tests/test_{number}.py"), format!("def weigh(parcel):\n    return parcel.{number}\n"));
        let body: String = (0..60).map(|line| format!("        self.append(parcel.line{line})\n")).collect();
        shop.write(format!("src/scale_{number}.py"), format!("class Scale{number}:\n    def weigh(self):\n{body}"));
    }
    shop.commit_all("Weigh parcels");
    let sandbox = Sandbox::indexed(&shop);
    let found = code(&sandbox, "weigh");
    assert!(paths(&found)[..5].iter().all(|path| path.starts_with("src/")), "{found:#}");
    assert!(found["understood"].to_string().contains("besides these there are 11 of that name"), "{found:#}");
    assert!(found["hits"][0]["why"].to_string().contains("defines what the query names"), "{found:#}");
    let shown = sandbox.run(&["entity", "weigh"]).ok();
    assert!(shown.stderr.contains("more have that name; --limit shows up to 50"), "{}", shown.stderr);
    assert!(!shown.stdout.contains("tests/"), "{}", shown.stdout);
    let all = sandbox.run(&["entity", "weigh", "--limit", "16"]).ok();
    assert!(!all.stderr.contains("more have that name"), "{}", all.stderr);
}

#[test]
fn all_kinds_are_no_condition_and_files_are_files() {
    let sandbox = shop();
    let all = ["issue", "merge-request", "discussion", "commit", "file", "code", "section"];
    let named: Vec<&str> = all.iter().flat_map(|kind| ["--type", kind]).collect();
    let query = "drop a voucher of the cart";
    let (named, unnamed) = (search(&sandbox, &[&[query][..], &named].concat()), search(&sandbox, &[query]));
    assert_eq!(ids(&named), ids(&unnamed));
    let files = search(&sandbox, &[query, "--type", "file"]);
    assert!(!ids(&files).is_empty() && ids(&files).iter().all(|id| !id.contains('#')), "{files:#}");
}

#[test]
fn what_nothing_says_has_no_hits() {
    let sandbox = shop();
    for query in ["qwertyuiop asdfghjkl", "qwertyuiop_asdfghjkl", "qwertyuiopAsdfghjkl()", "`Qwertyuiop::asdfghjkl`"] {
        for kind in [&[][..], &["--type", "code"], &["--type", "commit"]] {
            let found = search(&sandbox, &[&[query], kind].concat());
            assert_eq!(ids(&found), [""; 0], "{query} {kind:?}");
        }
    }
    // Of a name that nothing has, more than half must be known.
    assert_eq!(ids(&code(&sandbox, "qwertyuiop_voucher")), [""; 0]);
    assert_eq!(paths(&code(&sandbox, "add_voucher_again"))[0], "src/cart.py");
    sandbox.run(&["embed"]).ok();
    let found = sandbox.run(&["search", "--json", "qwertyuiop_asdfghjkl"]).ok().json();
    assert_eq!(ids(&found), [""; 0], "meaning finds no name that does not exist: {found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn language_and_path_narrow_a_search_on_every_face() {
    let sandbox = shop();
    let on_command_line = |args: &[&str]| {
        let found = search(&sandbox, &[&["cart voucher euro cents"], args].concat());
        paths(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(on_command_line(&["--type", "code", "--language", "rust"]), ["src/currency.rs"]);
    let python = on_command_line(&["--type", "code", "--language", "Python", "--path", "src/"]);
    assert!(!python.is_empty() && python.iter().all(|path| path.starts_with("src/") && path.ends_with(".py")));
    let refused = sandbox.run(&["search", "cart", "--language", "klingon"]);
    assert!(refused.stderr.contains("there is no language 'klingon'"), "{}", refused.stderr);
    assert!(refused.stderr.contains("languages are Rust, Go,"), "{}", refused.stderr);

    let server = sandbox.serve();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let query = "query=cart+voucher+euro+cents&mode=lexical&kinds=code&languages=rust&paths=src/";
    let found: Value =
        http.get(format!("{}/api/v1/search?{query}", server.url)).send().await.unwrap().json().await.unwrap();
    assert_eq!(ids(&found), ["acme/shop:src/currency.rs"], "{found:#}");
    let filter = json!({ "kinds": ["code"], "languages": ["rs"] });
    let request = json!({ "query": "cart voucher euro cents", "mode": "lexical", "limit": 10, "filter": filter, "rerank": false });
    let url = format!("{}/api/v1/search", server.url);
    let found: Value = http.post(url).json(&request).send().await.unwrap().json().await.unwrap();
    assert_eq!(ids(&found), ["acme/shop:src/currency.rs"], "{found:#}");
    let query = r#"{ search(query: "cart voucher euro cents", mode: LEXICAL, filter: { kinds: [CODE], languages: ["Rust"] })
        { hits { documentId } } }"#;
    let url = format!("{}/graphql", server.url);
    let found: Value = http.post(url).json(&json!({ "query": query })).send().await.unwrap().json().await.unwrap();
    assert!(found.to_string().contains("src/currency.rs") && !found.to_string().contains("cart.py"), "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_listed_page_by_page_as_all_at_once() {
    let mut repository = Fixture::new();
    for part in 0..5 {
        repository.write(format!("src/part_{part}.rs"), format!("pub fn part_{part}() {{}}\n"));
    }
    repository.commit_all("Add parts");
    let indexed = Indexed::cold(repository.path(), Branches::default()).await;
    let all = indexed.engine.answer(ListDocuments { limit: 500, ..ListDocuments::default() }).await.unwrap();
    assert!(all.documents.len() > 5 && all.documents.len() == all.total && !all.has_more, "{all:#?}");
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = indexed.engine.answer(ListDocuments { limit: 2, after, ..ListDocuments::default() }).await.unwrap();
        assert_eq!((page.total, page.has_more), (all.total, found.len() + 2 < all.total));
        after = page.documents.last().map(|document| document.id.to_string());
        found.extend(page.documents);
        if !page.has_more {
            break;
        }
    }
    assert_eq!(found, all.documents);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_listed_by_each_condition() {
    let mut repository = Fixture::new();
    repository.write("src/cart.rs", "pub fn cart() {}\n");
    repository.write("tools/cart.py", "def cart():\n    pass\n");
    repository.commit_all("Add carts");
    repository.author("Bob", "bob@example.com");
    repository.write("docs/cart.md", "# Carts\n\nA cart has lines.\n");
    repository.commit_all("Describe carts");
    let indexed = Indexed::cold(repository.path(), Branches::default()).await;
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
    let any = Filter::default;
    for (filter, expected) in [
        (Filter { languages: texts(&["RUST", "py"]), ..any() }, "Add carts, src/cart.rs, tools/cart.py"),
        (Filter { paths: texts(&["docs/", "src/c"]), ..any() }, "Add carts, Describe carts, docs/cart.md, src/cart.rs"),
        (Filter { authors: texts(&["Ada@Example.com"]), ..any() }, "Add carts"),
        (Filter { nodes: texts(&["acme/tool:src/cart.rs"]), ..any() }, "src/cart.rs"),
        (Filter { languages: texts(&["rust"]), exclude: texts(&["acme/tool:src/cart.rs"]), ..any() }, "Add carts"),
        (Filter { labels: texts(&["ui"]), ..any() }, ""),
    ] {
        let request = ListDocuments { filter: filter.clone(), limit: 500, after: None };
        let listed = indexed.engine.answer(request).await.unwrap().documents.into_iter();
        // A part of a file stands for the file.
        let names = listed.map(|of| match of.kind {
            DocumentKind::Commit => of.title,
            _ => of.parent.trim_start_matches("acme/tool:").to_owned(),
        });
        let names = names.collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>();
        assert_eq!(names.join(", "), expected, "{filter:?}");
    }
}
