//! What waits for a person, and what they did.

use serde_json::{Value, json};

use crate::support::{Fixture, Forge, Sandbox};

/// The usual fixture with a merge request that waits for a review, and with mentions.
fn fixture() -> String {
    let mut fixture: Value = serde_json::from_str(include_str!("fixtures/acme.json")).unwrap();
    let shop = &mut fixture["projects"][0];
    let request = &mut shop["merge_requests"][2];
    request["draft"] = json!(false);
    request["title"] = json!("Limit requests per API key with a token bucket");
    request["reviewers"] = json!(["bob", "janedoe"]);
    let note = |author: &str, at: &str, body: &str| json!([{ "author": author, "at": at, "body": body }]);
    let issues = &mut shop["issues"];
    issues[5]["discussions"] = json!([note("carol", "2024-05-28T05:00:00.000Z", "@JaneDoe can you reproduce it?")]);
    let answered = [
        note("carol", "2024-05-01T05:00:00.000Z", "@janedoe is there an index on the orders?"),
        note("janedoe", "2024-05-01T06:00:00.000Z", "There is one on the customer."),
    ];
    issues[1]["discussions"].as_array_mut().unwrap().extend(answered);
    fixture.to_string()
}

/// The ids of a list of issues and merge requests, or of notes.
fn ids(list: &Value, field: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|entry| entry[field].as_str().unwrap().to_owned()).collect()
}

// Rows 61 and 81 of docs/requirements.md.
#[test]
fn what_waits_for_somebody_is_told() {
    let forge = Forge::start_with(&fixture());
    let sandbox = Sandbox::synced(&forge);
    let jane = sandbox.run(&["me", "--as", "@JaneDoe", "--json"]).ok().json();
    assert_eq!(jane["person"], "janedoe");
    let waiting = &jane["waiting"];
    assert_eq!(ids(&waiting["to_review"], "id"), ["acme/shop!3"]);
    // She has answered in #2.
    assert_eq!(ids(&waiting["mentioned"], "thread"), ["acme/shop#6"]);
    assert_eq!(waiting["mentioned"][0]["author"], "carol");
    assert!(waiting["mentioned"][0]["text"].as_str().unwrap().contains("can you reproduce it"));

    let alice = sandbox.run(&["person", "alice", "--json"]).ok().json();
    let waiting = &alice["waiting"];
    assert_eq!(ids(&waiting["assigned"], "id"), ["acme/shop!3", "acme/shop#4"]);
    assert!(ids(&waiting["replies"], "thread").contains(&"acme/shop!3".to_owned()), "{waiting}");
    // The one that waits longest comes first.
    assert_eq!(ids(&waiting["stale"], "id"), ["acme/shop#4", "acme/shop!3"]);
    let bob = sandbox.run(&["person", "bob", "--json"]).ok().json();
    // He wrote the last note of the merge request that he reviews.
    assert_eq!(ids(&bob["waiting"]["to_review"], "id"), Vec::<String>::new());
}

#[test]
fn a_note_that_only_quotes_is_shown_as_a_quotation() {
    let mut fixture: Value = serde_json::from_str(include_str!("fixtures/acme.json")).unwrap();
    let quote = json!([{ "author": "bob", "at": "2024-05-28T05:00:00.000Z", "body": "> Lamps are sold out." }]);
    fixture["projects"][0]["issues"][5]["discussions"] = json!([quote]);
    let forge = Forge::start_with(&fixture.to_string());
    let sandbox = Sandbox::synced(&forge);
    let carol = sandbox.run(&["person", "carol", "--json"]).ok().json();
    let replies = carol["waiting"]["replies"].as_array().unwrap();
    let reply = replies.iter().find(|reply| reply["thread"] == "acme/shop#6").unwrap();
    assert_eq!(reply["text"], "> Lamps are sold out.");
}

#[test]
fn the_stalest_is_told_however_much_has_changed_since() {
    let mut fixture: Value = serde_json::from_str(include_str!("fixtures/acme.json")).unwrap();
    let issue = |number: usize| {
        let (day, time) = if number == 1 { ("2023-01-02", 0) } else { ("2024-01-02", number) };
        let at = format!("{day}T{:02}:{:02}:00.000Z", time / 60, time % 60);
        json!({ "title": format!("Order {number} is late"), "description": "", "state": "opened", "author": "bob",
            "assignees": ["carol"], "created_at": at, "updated_at": at })
    };
    let shop = &mut fixture["projects"][0];
    shop["issues"] = (1..=210).map(issue).collect();
    shop["merge_requests"] = json!([]);
    let forge = Forge::start_with(&fixture.to_string());
    let sandbox = Sandbox::synced(&forge);
    let carol = sandbox.run(&["person", "carol", "--limit", "1", "--json"]).ok().json();
    assert_eq!(ids(&carol["waiting"]["stale"], "id"), ["acme/shop#1"]);
}

// Rows 62 and 82 of docs/requirements.md.
#[test]
fn the_work_of_somebody_is_told_over_time() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let bob = sandbox.run(&["person", "@bob", "--after", "2023-01-01", "--json"]).ok().json();
    assert_eq!(bob["totals"]["merge_requests"], 3);
    let months: Vec<&str> =
        bob["work"]["months"].as_array().unwrap().iter().map(|month| month["start"].as_str().unwrap()).collect();
    assert!(months.is_sorted_by(|later, earlier| later > earlier), "{months:?}");
    assert!(months.contains(&"2023-11-01"), "{months:?}");
    assert!(ids(&bob["work"]["opened"], "id").contains(&"acme/shop!1".to_owned()));
    let late = sandbox.run(&["person", "bob", "--after", "2024-01-01", "--json"]).ok().json();
    assert!(!ids(&late["work"]["opened"], "id").contains(&"acme/shop!1".to_owned()));
    // Totals are of the time that is named, too.
    let opened = |person: &Value| person["totals"]["merge_requests"].as_u64().unwrap();
    let early =
        sandbox.run(&["person", "bob", "--after", "2023-01-01", "--before", "2024-01-01", "--json"]).ok().json();
    assert_eq!(opened(&early) + opened(&late), opened(&bob));
    assert!(opened(&early) > 0 && opened(&late) > 0, "{early:#} {late:#}");
    let all = sandbox.run(&["person", "bob", "--json"]).ok().json();
    assert_eq!(opened(&all), opened(&bob), "without a time they are of everything");
    let year = sandbox.run(&["person", "bob", "--before", "2024-01-01", "--json"]).ok().json();
    assert_eq!(year, early, "it begins a year before its end");
    let empty = sandbox.run(&["person", "bob", "--after", "2024-02-01", "--before", "2024-01-01"]);
    assert_eq!(empty.error(2), "no time is both after 2024-02-01T00:00:00Z and before 2024-01-01T00:00:00Z");
    let printed = sandbox.run(&["person", "bob", "--after", "2023-01-01"]).ok().stdout;
    for piece in ["@bob", "Work by month", "2023-11", "Opened", "acme/shop!1"] {
        assert!(printed.contains(piece), "{piece}: {printed}");
    }
    let idle = sandbox.run(&["person", "bob", "--after", "2026-01-01"]).ok();
    assert!(idle.stderr.contains("no work since 202"), "{idle:?}");
    assert!(idle.stderr.contains("; --after 202"), "{idle:?}");
    let other = sandbox.run(&["person", "alice", "--project", "acme/none"]).error(2).to_owned();
    assert!(other.starts_with("acme/none is not known"), "{other}");
}

#[test]
fn a_review_is_of_the_time_at_which_it_was_given() {
    let mut fixture: Value = serde_json::from_str(include_str!("fixtures/acme.json")).unwrap();
    // Opened on 20 November.
    let discussion = &mut fixture["projects"][0]["merge_requests"][0]["discussions"][0];
    for (note, at) in [(0_usize, "2023-12-01T09:12:00.000Z"), (1, "2023-12-01T10:03:00.000Z")] {
        discussion[note]["at"] = json!(at);
    }
    let forge = Forge::start_with(&fixture.to_string());
    let sandbox = Sandbox::synced(&forge);
    let alice = |after: &str, before: &str| {
        sandbox.run(&["person", "alice", "--after", after, "--before", before, "--json"]).ok().json()["work"].take()
    };
    let december = alice("2023-12-01", "2024-01-01");
    assert_eq!(ids(&december["reviewed"], "id"), ["acme/shop!1"]);
    let month = &december["months"][0];
    assert_eq!((&month["start"], &month["counts"]["reviews"]), (&json!("2023-12-01"), &json!(1)));
    assert_eq!(ids(&alice("2023-11-01", "2023-12-01")["reviewed"], "id"), Vec::<String>::new());
    // Of who was asked and has not written yet only the opening is known.
    let mut fixture: Value = serde_json::from_str(include_str!("fixtures/acme.json")).unwrap();
    fixture["projects"][0]["merge_requests"][0]["reviewers"] = json!(["carol"]);
    let forge = Forge::start_with(&fixture.to_string());
    let november = ["person", "carol", "--after", "2023-11-01", "--before", "2023-12-01", "--json"];
    let carol = Sandbox::synced(&forge).run(&november).ok().json();
    assert_eq!(ids(&carol["work"]["reviewed"], "id"), ["acme/shop!1"]);
}

#[test]
fn it_is_switched_off_by_one_setting() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.configure("[people]\ntracking = false\n");
    for command in [&["me", "--as", "bob"][..], &["person", "@bob"]] {
        let error = sandbox.run(command).error(1).to_owned();
        assert!(error.contains("what single people do is not shown by this server"), "{error}");
    }
    sandbox.configure("[people]\nme = \"@bob\"\n");
    assert_eq!(sandbox.run(&["me", "--json"]).ok().json()["person"], "bob");
    let unknown = sandbox.run(&["person", "nobody-of-that-name"]).error(1).to_owned();
    assert!(unknown.contains("nobody is known as nobody-of-that-name"), "{unknown}");
}

#[test]
fn somebody_is_found_by_a_part_of_a_name_that_nobody_else_has() {
    let mut shop = Fixture::new();
    for (name, email) in [
        ("Ada Lovelace", "ann@acme.example"),
        ("Ada Byron", "byron@acme.example"),
        ("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com"),
    ] {
        shop.author(name, email);
        shop.write("src/cart.rs", format!("// By {name}.\n"));
        shop.commit_all("Change the cart");
    }
    let sandbox = Sandbox::indexed(&shop);
    let person = |name: &str| sandbox.run(&["person", name, "--json"]).ok().json()["person"].take();
    for name in ["Ada Lovelace", "lovelace", "ann", "@ANN"] {
        assert_eq!(person(name), "ann@acme.example", "{name}");
    }
    for name in ["dependabot", "dependabot[bot]", "bot"] {
        assert_eq!(person(name), "49699333+dependabot[bot]@users.noreply.github.com", "{name}");
    }
    let several = sandbox.run(&["person", "Ada"]).error(1).to_owned();
    assert_eq!(several, "more than one person is known as Ada; did you mean ann@acme.example, byron@acme.example?");
    let typo = sandbox.run(&["person", "Ada Lovelase"]).error(1).to_owned();
    assert_eq!(typo, "nobody is known as Ada Lovelase; did you mean Ada Lovelace?");
    assert!(sandbox.run(&["person", "a"]).error(1).starts_with("nobody is known as a"));
}

#[test]
fn a_noreply_address_says_whose_a_commit_is_if_it_is_of_the_projects_own_forge() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let mut shop = Fixture::new();
    for (name, host) in [("Al", "127.0.0.1"), ("Mallory", "github.com")] {
        shop.author(name, &format!("alice@users.noreply.{host}"));
        shop.write(format!("{name}.txt"), name);
        shop.commit_all(format!("Add what {name} wrote"));
    }
    sandbox.run(&["add", &shop.path().display().to_string(), "--name", "acme/shop"]).ok();
    sandbox.run(&["sync"]).ok();
    let alice = sandbox.run(&["person", "alice", "--json"]).ok().json();
    assert_eq!(alice["identities"], json!(["alice@users.noreply.127.0.0.1"]), "{alice:#}");
}

#[test]
fn a_user_name_says_whose_a_commit_is_if_only_one_author_has_it() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let mut shop = Fixture::new();
    for (name, email) in
        [("JaneDoe", "jane@private.example"), ("johndoe", "john@one.example"), ("johndoe", "john@two.example")]
    {
        shop.author(name, email);
        shop.write(format!("{email}.txt"), name);
        shop.commit_all(format!("Add what {email} wrote"));
    }
    sandbox.run(&["add", &shop.path().display().to_string(), "--name", "acme/shop"]).ok();
    sandbox.run(&["sync"]).ok();
    let identities = |name: &str| sandbox.run(&["person", name, "--json"]).ok().json()["identities"].take();
    assert_eq!(identities("janedoe"), json!(["jane@private.example"]));
    assert_eq!(identities("johndoe"), json!([]));
}
