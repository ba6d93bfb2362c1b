//! GitHub: what it tells of a project makes the graph that GitLab's telling makes, and its numbers, limits and validators
//! are understood.

use std::collections::BTreeSet;

use backstory_store::{generations::Generations, graph::Graph, ledger::Ledger};
use expect_test::expect;
use serde_json::json;

use crate::{
    cli_repositories::shop,
    support::{FIRST_REQUEST, Fault, Fixture, Forge, Sandbox, TOKEN, one_space},
};

fn synced(forge: &Forge) -> Sandbox {
    let sandbox = Sandbox::github(forge);
    sandbox.run(&["sync"]).ok();
    sandbox
}

fn digest(sandbox: &Sandbox) -> String {
    sandbox.run(&["check", "--digest"]).ok().stdout.trim().to_owned()
}

/// Everything in the graph of a data directory, a line each.
pub(crate) fn lines(data: &std::path::Path) -> BTreeSet<String> {
    let graph = Graph::open(&Generations::open(data.join("graph")).unwrap().current()).unwrap();
    graph.statements().map(Result::unwrap).collect()
}

/// Subject, property and object of everything in the graph of a data directory.
pub(crate) fn statements(data: &std::path::Path) -> Vec<[String; 3]> {
    let triple = |line: String| {
        let mut parts = line.splitn(3, ' ');
        let (subject, property) = (parts.next().unwrap().to_owned(), parts.next().unwrap().to_owned());
        // The graph's name is the last word.
        let (object, _graph) = parts.next().unwrap().rsplit_once(' ').unwrap();
        [subject, property, object.to_owned()]
    };
    lines(data).into_iter().map(triple).collect()
}

/// What the two forges must say alike: no discussions, which GitHub has only on diffs, none of what it does not tell
/// (links of issues,
/// resolved threads, the commit that a diff starts from, names beside user names), one number space.
fn alike(sandbox: &Sandbox, gitlab: bool) -> BTreeSet<String> {
    // The stand-in squashes what it merges here, and GitHub tells of one commit.
    const SQUASHED: &str = "/commits/1a2b3c4d5e6f";
    const NOT_TOLD: [&str; 10] = [
        "#link>",
        "#relatesTo>",
        "#isResolved>",
        "#resolvable>",
        "#resolved>",
        "#baseCommit>",
        "#noteKind>",
        "reply_of>",
        "#iid>",
        "0.1/name>",
    ];
    let renumber = |term: &str| match (gitlab, term.split_once("/-/merge_requests/")) {
        (true, Some((before, rest))) => {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap();
            let iid: u64 = rest[..end].parse().unwrap();
            format!("{before}/-/merge_requests/{}{}", iid + FIRST_REQUEST - 1, &rest[end..])
        }
        _ => term.to_owned(),
    };
    statements(&sandbox.data())
        .into_iter()
        .filter(|statement| !NOT_TOLD.iter().any(|end| statement[1].ends_with(end)))
        .filter(|[subject, _, object]| {
            ["/discussions/", SQUASHED].iter().all(|part| !subject.contains(part) && !object.contains(part))
        })
        .map(|statement| statement.map(|term| renumber(&term)).join(" "))
        .collect()
}

#[test]
fn the_same_project_is_the_same_graph_from_either_forge() {
    let forge = Forge::start();
    let (gitlab, github) = (Sandbox::synced(&forge), synced(&forge));
    let (expected, found) = (alike(&gitlab, true), alike(&github, false));
    let missing: Vec<_> = expected.difference(&found).collect();
    let more: Vec<_> = found.difference(&expected).collect();
    // Requests that GitLab links with an issue although their descriptions do not say that they close it.
    let linked = [(103, 4), (104, 2), (105, 5)].map(|(request, issue)| {
        let node = |kind: &str, iid: u64| format!("<urn:backstory:node:acme/shop/-/{kind}/{iid}>");
        format!("{} <urn:backstory:ns#closes> {}", node("merge_requests", request), node("issues", issue))
    });
    assert_eq!(missing, linked.iter().collect::<Vec<_>>());
    assert!(more.is_empty(), "{more:#?}");
    assert!(found.len() > 300, "{}", found.len());
    assert_eq!(github.run(&["check", "--json"]).ok().json()["ok"], true);
}

#[test]
fn a_sync_with_nothing_new_is_one_request_and_then_one_that_costs_nothing() {
    let forge = Forge::start();
    let sandbox = synced(&forge);
    let before = digest(&sandbox);
    for _ in 0..2 {
        forge.asked();
        let again = sandbox.run(&["sync", "--json"]).ok().json();
        assert_eq!(again["changed"], json!({}));
        let asked = forge.asked();
        assert!(asked.len() == 1 && asked[0].contains("since="), "{asked:?}");
    }
    assert_eq!(digest(&sandbox), before);
    // The validator hides nothing that comes later.
    forge.advance(3600);
    forge.discuss("acme/shop#2", "carol", "The quokka migration plan was approved.");
    sandbox.run(&["sync"]).ok();
    let found = sandbox.run(&["search", "quokka", "--mode", "lexical", "--json"]).ok().json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn incremental_and_full_syncs_end_alike() {
    let forge = Forge::start();
    let sandbox = synced(&forge);
    for step in 0..4 {
        forge.advance(3600);
        match step {
            0 => drop(forge.new_issue(
                "acme/shop",
                "bob",
                "Sessions again",
                "See !2, #1 and GH-3; #9 does not exist yet.",
            )),
            1 => forge.edit_title("acme/shop!2", "JWT, finally"),
            2 => drop(forge.discuss("acme/shop!2", "carol", "As acme/shop#4 says.")),
            _ => forge.close("acme/shop#2", "bob"),
        }
        sandbox.run(&["sync"]).ok();
        assert_eq!(digest(&sandbox), digest(&synced(&forge)), "step {step}");
    }
    let before = digest(&sandbox);
    sandbox.run(&["rebuild"]).ok();
    assert_eq!(digest(&sandbox), before);
}

#[test]
fn a_number_means_what_has_it_whenever_that_became_known() {
    let forge = Forge::start();
    let sandbox = synced(&forge);
    forge.advance(3600);
    let issue = forge.new_issue("acme/shop", "bob", "Names a request", "It is !2 that did it.");
    sandbox.run(&["sync"]).ok();
    let refers = |sandbox: &Sandbox| {
        let subject = format!("/-/issues/{}>", issue.rsplit('#').next().unwrap());
        let found = statements(&sandbox.data()).into_iter();
        let found = found.filter(|[s, p, _]| s.ends_with(&subject) && p.ends_with("/references>"));
        found
            .map(|[_, _, object]| object.rsplit("/-/").next().unwrap().trim_end_matches('>').to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(refers(&sandbox), ["merge_requests/102"]);
    // The request goes away: the number is again just a number, as for who never knew it.
    forge.delete("acme/shop!2");
    sandbox.run(&["sync", "--full"]).ok();
    assert_eq!(refers(&sandbox), ["issues/102"]);
    assert_eq!(digest(&sandbox), digest(&synced(&forge)));
}

#[test]
fn whatever_a_number_is_called_it_is_found() {
    let forge = Forge::start();
    let sandbox = synced(&forge);
    let request = format!("acme/shop#{}", FIRST_REQUEST + 1);
    for command in ["why", "show"] {
        let shown = sandbox.run(&[command, &request]).ok().stdout;
        assert!(shown.contains("Refactor auth to use JWT tokens"), "{shown}");
    }
    let address = format!("{}/acme/shop/pull/102", forge.url);
    for query in ["what was GH-102 about", "#102", address.as_str()] {
        let found = sandbox.run(&["search", query, "--mode", "lexical", "--json"]).ok().json();
        assert_eq!(found["hits"][0]["id"], "acme/shop!102", "{query}: {found}");
    }
    assert_eq!(one_space("see !2!"), "see #102!");
}

#[test]
fn limits_are_waited_for_or_end_the_sync_with_a_hint() {
    let forge = Forge::start();
    let expected = digest(&synced(&forge));
    for fault in [Fault::RateLimited, Fault::Status(502), Fault::Truncated, Fault::Reset, Fault::SecondaryLimit] {
        for target in ["/issues?", "/timeline", "/labels", "/pulls/"] {
            forge.fail(fault, target, 2);
        }
        assert_eq!(digest(&synced(&forge)), expected, "{fault:?}");
    }
    let sandbox = Sandbox::github(&forge);
    forge.fail(Fault::UsedUp, "/pulls/104", 1);
    let failed = sandbox.run(&["sync"]);
    assert!(failed.code == 1 && failed.stderr.contains("limits requests"), "{failed:?}");
    assert!(failed.stderr.contains("name a token under [[forge]]") && !failed.stderr.contains(TOKEN), "{failed:?}");
    sandbox.run(&["sync"]).ok();
    assert_eq!(digest(&sandbox), expected);
}

#[test]
fn a_repository_is_added_with_its_forge_and_a_line_leads_to_what_was_said() {
    let forge = Forge::start();
    let shop = shop();
    shop.git(["remote", "add", "origin", &format!("{}/acme/shop.git", forge.url)]);
    let sandbox = Sandbox::empty();
    sandbox.write_config("data_dir = \"data\"\n[repositories]\nallowed_hosts = [\"127.0.0.1\"]\n");
    sandbox.run(&["add", &shop.path().display().to_string(), "--forge", "github"]).ok();
    assert!(forge.asked().iter().any(|asked| asked.contains("/api/v3/repos/acme/shop/issues")));
    let why = sandbox.run(&["why", "src/cart.py#total"]).ok().stdout;
    assert!(why.contains("Authentication redesign"), "{why}");
    // What came with it goes with it.
    sandbox.run(&["remove", "acme/shop"]).ok();
    assert_eq!(sandbox.run(&["count", "--json"]).ok().json()["issues"], 0);
}

/// Commits something to both repositories and reads all, though a forge may not be asked; what was said about that.
#[track_caller]
fn synced_without(forge: &Forge, sandbox: &Sandbox, repositories: [&mut Fixture; 2]) -> String {
    for repository in repositories {
        let tax = format!("def tax():\n    return '{}'\n", repository.sha("HEAD"));
        repository.write("src/tax.py", tax);
        repository.commit_all("Add a tax");
    }
    let commits = || {
        let repositories = sandbox.run(&["repos", "--json"]).ok().json();
        repositories.as_array().unwrap().iter().map(|of| of["commits"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let before = commits();
    forge.asked();
    let failed = sandbox.run(&["sync"]);
    assert_eq!(failed.code, 3, "{failed:?}");
    assert_eq!(forge.asked(), [""; 0]);
    assert_eq!(commits(), before.iter().map(|count| count + 1).collect::<Vec<_>>(), "{failed:?}");
    let status = sandbox.run(&["status"]).ok().stderr;
    assert!(status.contains("the forge of acme/shop could not be read on "), "{status}");
    sandbox.run(&["sync", "acme/tool"]).ok();
    failed.stderr.lines().last().unwrap().to_owned()
}

#[test]
fn a_forge_that_may_not_be_asked_keeps_nothing_else_from_being_read() {
    let (forge, mut shop, mut tool) = (Forge::start(), shop(), shop());
    let (_, port) = forge.url.rsplit_once(':').unwrap();
    let sandbox = Sandbox::empty();
    let allow = |hosts: &str| {
        sandbox.write_config(&format!("data_dir = \"data\"\n[repositories]\nallowed_hosts = [{hosts}]\n"));
    };
    allow("");
    sandbox.run(&["add", &tool.path().display().to_string(), "--name", "acme/tool"]).ok();
    let path = shop.path().display().to_string();
    // By its number as by a name that leads to it.
    for host in ["127.0.0.1", "localhost"] {
        allow("\"127.0.0.1\", \"localhost\"");
        shop.git(["config", "remote.origin.url", &format!("http://{host}:{port}/acme/shop.git")]);
        sandbox.run(&["add", &path, "--forge", "github"]).ok();
        assert!(!forge.asked().is_empty());
        allow("");
        let told = synced_without(&forge, &sandbox, [&mut shop, &mut tool]);
        let what = format!("error: acme/shop: host '{host}' is at ");
        let why = "which is this machine; if that is intended, name the host in allowed_hosts under [repositories] in the \
                   configuration";
        assert!(told.starts_with(&what) && told.ends_with(why), "{told}");
    }
    // Nothing writes such an address any more.
    let ledger = Ledger::open(&sandbox.data().join("ledger.sqlite")).unwrap();
    let mut entry = ledger.repository("acme/shop").unwrap().unwrap();
    entry.forge.as_mut().unwrap().base_url = "http://[::1".to_owned();
    ledger.put_repository(&entry).unwrap();
    drop(ledger);
    expect!["error: acme/shop: 'http://[::1' is not the address of a forge: invalid IPv6 address; remove the repository with 'backstory remove acme/shop' and add it again"]
        .assert_eq(&synced_without(&forge, &sandbox, [&mut shop, &mut tool]));
}

#[test]
fn a_forge_that_may_not_be_asked_is_not_added() {
    let (forge, shop) = (Forge::start(), shop());
    let sandbox = Sandbox::empty();
    let refused = |origin: &str| {
        shop.git(["config", "remote.origin.url", origin]);
        let refused = sandbox.run(&["add", &shop.path().display().to_string(), "--forge", "github"]);
        assert_eq!(sandbox.run(&["repos", "--json"]).ok().json(), json!([]), "{origin}");
        refused.error(2).to_owned()
    };
    expect!["host '127.0.0.1' is at 127.0.0.1, which is this machine; if that is intended, name the host in allowed_hosts under [repositories] in the configuration"]
        .assert_eq(&refused(&format!("{}/acme/shop.git", forge.url)));
    expect!["host '10.0.0.1' is at 10.0.0.1, which is a private network; if that is intended, name the host in allowed_hosts under [repositories] in the configuration"]
        .assert_eq(&refused("http://10.0.0.1/group/project"));
    expect!["host '::1' is at ::1, which is this machine; if that is intended, name the host in allowed_hosts under [repositories] in the configuration"]
        .assert_eq(&refused("https://[::1]/group/project.git"));
    expect!["group/project has an origin without the address of a github, 'http://[::1': invalid IPv6 address; add it by its address there"]
        .assert_eq(&refused("http://[::1/group/project"));
    assert_eq!(forge.asked(), [""; 0]);
}

#[test]
fn a_forge_that_cannot_be_told_or_read_under_another_name_is_refused() {
    let shop = shop();
    let sandbox = Sandbox::empty();
    let path = shop.path().display().to_string();
    let refused = sandbox.run(&["add", &path, "--name", "acme/shop", "--forge", "github"]);
    assert!(refused.stderr.contains("has no address that says where its github is"), "{refused:?}");
    shop.git(["remote", "add", "origin", "https://github.com/acme/shop.git"]);
    let refused = sandbox.run(&["add", &path, "--name", "acme/other", "--forge", "github"]);
    assert!(refused.stderr.contains("the forge calls it acme/shop"), "{refused:?}");
}
