//! Questions about who added or removed something, when and in which release: facts, never the opposite.

use backstory_engine::{
    ask::AskRequest,
    ledger::Branches,
    model::{answer::Method, filter::Filter},
};
use serde_json::{Value, json};

use crate::support::{Fixture, Forge, Indexed, PROJECT, Sandbox};

/// A project of which history and changelog tell what came and went.
fn importer() -> Fixture {
    let mut project = Fixture::new();
    project.write("src/load.py", "def load_rows(path):\n    return open(path)\n");
    project.commit_all("Load rows from files");
    project.author("Grace Hopper", "grace@example.com");
    project.write("src/xml.py", "def export_xml(rows):\n    return [row.upper() for row in rows]\n");
    project.at(1_709_290_800).commit_all("Add XML export\n\nSuppliers ask for it in every second letter.");
    project.git(["tag", "v1.0"]);
    project.write(
        "CHANGES.md",
        "# Changelog\n\n## 2.0 - 2024-06-10\n\n### Java 9.1\n\n- Drop support for Java 8 and 11.\n- We have officially dropped support for Perl.\n- Smaller fixes\n",
    );
    project.commit_all("Begin the next version");
    project.author("Ada Lovelace", "ada@example.com");
    project.remove("src/xml.py");
    project
        .at(1_717_239_600)
        .commit_all("Remove the XML export\n\nNobody has used it since suppliers send spreadsheets.");
    project.git(["tag", "v2.0"]);
    project.write("src/csv.py", "def export_csv(rows):\n    return [row.lower() for row in rows]\n");
    project.commit_all("Add CSV export");
    project
}

pub(crate) fn ask(sandbox: &Sandbox, question: &str) -> Value {
    sandbox.run(&["ask", question, "--json"]).ok().json()
}

/// The sentences of an answer from facts, which verifies.
#[track_caller]
pub(crate) fn facts(sandbox: &Sandbox, question: &str) -> String {
    let answer = ask(sandbox, question);
    assert_eq!((&answer["answered"], &answer["method"]), (&json!(true), &json!("facts")), "{question}: {answer:#}");
    let verified = sandbox.run_with_input(&["verify"], &answer.to_string());
    assert_eq!(verified.code, 0, "{verified:?}");
    let statements = answer["statements"].as_array().unwrap().iter();
    statements.map(|statement| statement["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

/// What a refusal says is missing.
#[track_caller]
pub(crate) fn missing(sandbox: &Sandbox, question: &str) -> Vec<String> {
    let answer = ask(sandbox, question);
    assert_eq!((&answer["answered"], &answer["citations"]), (&json!(false), &json!([])), "{question}: {answer:#}");
    let missing = answer["refusal"]["missing"].as_array().unwrap().iter();
    missing.map(|sentence| sentence.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_removal_is_told_by_the_commit_that_removed_and_an_addition_by_the_one_that_added() {
    let project = importer();
    let sandbox = Sandbox::indexed(&project);
    let short = |name: &str| project.sha(name).to_string()[..8].to_owned();
    let (added, removed) = (short("v1.0"), short("v2.0"));
    assert_eq!(
        facts(&sandbox, "When was XML export removed?"),
        format!(
            "Ada Lovelace removed XML export on 2024-06-01, in commit acme/shop@{removed} Remove the XML export; it first \
             shipped in v2.0 of 2024-06-01."
        )
    );
    for question in ["Who added XML export?", "In which release was the XML export introduced?"] {
        let said = facts(&sandbox, question);
        let expected = format!("in commit acme/shop@{added} Add XML export; it first shipped in v1.0 of 2024-03-01.");
        assert!(said.starts_with("Grace Hopper added ") && said.ends_with(&expected), "{question}: {said}");
    }
    let said = facts(&sandbox, "in which release was CSV export added?");
    assert!(said.ends_with("Add CSV export; no release has it yet."), "{said}");
    let shown = sandbox.run(&["ask", "When was XML export removed?"]).ok().stdout;
    assert!(shown.contains("\n    \"Remove the XML export\" · Ada Lovelace · 2024-06-01 · in commit "), "{shown}");
}

#[test]
fn code_is_told_by_its_history_and_not_by_what_commits_say() {
    let project = importer();
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "Who introduced load_rows?");
    assert!(said.starts_with("Ada Lovelace added load_rows (src/load.py#load_rows) on "), "{said}");
    assert!(said.contains(" Load rows from files; it first shipped in v1.0 of "), "{said}");
    let said = facts(&sandbox, "when was the function export_xml removed?");
    assert!(
        said.starts_with("Ada Lovelace removed function export_xml (src/xml.py#export_xml) on 2024-06-01"),
        "{said}"
    );
    let said = facts(&sandbox, "who deleted src/xml.py?");
    assert!(said.starts_with("Ada Lovelace removed src/xml.py on 2024-06-01"), "{said}");
    let refused = missing(&sandbox, "when was load_rows removed?");
    assert!(refused.iter().any(|why| why == "'load_rows' is there now: src/load.py#load_rows"), "{refused:?}");
}

#[test]
fn who_wrote_code_is_told_as_who_added_it() {
    let project = importer();
    let sandbox = Sandbox::indexed(&project);
    let added = facts(&sandbox, "Who added load_rows?");
    assert!(added.starts_with("Ada Lovelace added load_rows (src/load.py#load_rows) on "), "{added}");
    for question in ["Who wrote load_rows?", "who originally authored load_rows", "Who created load_rows?"] {
        assert_eq!(facts(&sandbox, question), added, "{question}");
    }
    let said = facts(&sandbox, "Who wrote the XML export?");
    assert!(said.starts_with("Grace Hopper added XML export on 2024-03-01, in commit "), "{said}");
    // What nothing knows as a change may be a text.
    let answer = ask(&sandbox, "Who wrote letters about spreadsheets?");
    assert_ne!(answer["method"], "facts", "{answer:#}");
    assert!(!answer["warnings"].to_string().contains("this is what people said"), "{answer:#}");
}

#[test]
fn of_a_name_what_is_there_is_told_and_of_what_is_gone_that_it_was_removed() {
    let mut project = importer();
    let short = |sha: String| sha[..8].to_owned();
    let (added, removed) = (short(project.sha("v1.0").to_string()), short(project.sha("v2.0").to_string()));
    project.write("src/old.py", "def from_text(text):\n    return [line.strip() for line in text.splitlines()]\n");
    project.commit_all("Read lines of a text");
    project.remove("src/old.py");
    project.commit_all("Remove what reads lines");
    project.author("Grace Hopper", "grace@example.com");
    let environment = "class Environment:\n    def from_text(self, text):\n        self.count += 1\n        \
                       return self.parser.parse(text, strict=True)\n";
    project.write("src/environment.py", environment);
    project.commit_all("Parse texts");
    project.write("src/short.py", "def show_short(rows):\n    print(rows[:3])\n");
    project.commit_all("Show few rows");
    project.remove("src/short.py");
    project.commit_all("Show all rows");
    project.git(["tag", "v3.0"]);
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "Who added from_text?");
    assert!(said.starts_with("Grace Hopper added from_text (src/environment.py#Environment.from_text) on "), "{said}");
    assert!(!said.contains("src/old.py") && !said.contains("removed"), "{said}");
    let said = facts(&sandbox, "Who added from_text in src/old.py?");
    assert!(
        said.contains("(src/old.py#from_text)") && said.contains(" Read lines of a text; no release had it; "),
        "{said}"
    );
    assert_eq!(
        facts(&sandbox, "Who added export_xml?"),
        format!(
            "Grace Hopper added export_xml (src/xml.py#export_xml) on 2024-03-01, in commit acme/shop@{added} Add XML \
             export; it first shipped in v1.0 of 2024-03-01; it was removed on 2024-06-01, in commit acme/shop@{removed} \
             Remove the XML export."
        )
    );
    let said = facts(&sandbox, "In which release was show_short added?");
    assert!(said.contains("; no release had it; it was removed on "), "{said}");
}

#[test]
fn a_changelog_tells_the_version_and_its_day() {
    let project = importer();
    let sandbox = Sandbox::indexed(&project);
    for question in ["when was Java 8 support dropped?", "In which version was support for Java 11 removed?"] {
        let said = facts(&sandbox, question);
        assert!(said.ends_with(" was removed in version 2.0 of 2024-06-10, as CHANGES.md:7 says."), "{said}");
    }
    let said = facts(&sandbox, "When was support for Perl dropped?");
    assert!(said.ends_with(" was removed in version 2.0 of 2024-06-10, as CHANGES.md:8 says."), "{said}");
    let said = facts(&sandbox, "Was support for Perl dropped, and when?");
    assert!(said.ends_with(" was removed in version 2.0 of 2024-06-10, as CHANGES.md:8 says."), "{said}");
    let refused = missing(&sandbox, "who dropped support for Java 8?");
    assert!(refused.iter().any(|why| why.contains("CHANGES.md:7 says, and nothing more is known")), "{refused:?}");
}

#[test]
fn of_what_a_changelog_says_the_whole_is_told_and_not_that_nothing_more_is_known_where_more_is_quoted() {
    let mut project = importer();
    project.write("CHANGES.md", "# Changelog\n\n## 3.0 - 2024-08-01\n\n- Fix uploads for folders.\n");
    project.at(1_723_000_000).commit_all("Begin another version");
    project.write("src/load.py", "def load_rows(path):\n    return list(open(path))\n");
    project.commit_all("Uploads of folders work again, fixing the queue");
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "When were uploads for folders fixed?");
    assert_eq!(said, "uploads for folders was fixed in version 3.0 of 2024-08-01, as CHANGES.md:5 says.");
    let answer = ask(&sandbox, "Who fixed uploads for folders?");
    assert_eq!(answer["answered"], true, "{answer:#}");
    let warnings = answer["warnings"].to_string();
    let said = format!("{}; this is what people said", said.trim_end_matches('.'));
    assert!(warnings.contains(&said), "{answer:#}");
    assert!(!warnings.contains("nothing more is known"), "{answer:#}");
}

#[test]
fn a_changelog_may_say_it_in_other_words() {
    let mut project = importer();
    let lines = [
        "- Removal of all login helpers",
        "- ⚠️ Shop has officially dropped support for Tcl 8. ⚠️",
        "- **Breaking:** Shop no longer supports Ada 95.",
        "- ✨ Support for voice search has been added.",
        "- Deprecation of fax orders",
        "- Shop sends no headers to other hosts. (CVE-2018-18074)",
        "- CVE-2023-32681: proxies saw passwords",
        "- Adds safe wrappers (CVE-2020-7105, #747) (Ann)",
        "- Deprecate {meth}`Store.load_orders`. It is slow.",
        "- The old names remain with a `DeprecationWarning`: `call`, and `safe_call`.",
    ];
    project.write("CHANGES.md", format!("# Changelog\n\n## 3.0 - 2024-08-01\n\n{}\n", lines.join("\n")));
    project.at(1_723_000_000).commit_all("Begin another version");
    let sandbox = Sandbox::indexed(&project);
    for (question, verb, line) in [
        ("When were the login helpers removed?", "removed", 5),
        ("When was support for Tcl 8 dropped?", "removed", 6),
        ("In which version was Ada 95 support removed?", "removed", 7),
        ("When was voice search added?", "added", 8),
        ("When were fax orders deprecated?", "deprecated", 9),
        ("When was CVE-2018-18074 fixed?", "fixed", 10),
        ("In which release was CVE-2023-32681 fixed?", "fixed", 11),
        ("When was CVE-2020-7105 fixed?", "fixed", 12),
        ("When was load_orders deprecated?", "deprecated", 13),
        ("In which release was safe_call deprecated?", "deprecated", 14),
    ] {
        let said = facts(&sandbox, question);
        let expected = format!(" {verb} in version 3.0 of 2024-08-01, as CHANGES.md:{line} says.");
        assert!(said.ends_with(&expected), "{question}: {said}");
    }
}

#[test]
fn an_item_of_a_changelog_has_the_verb_of_what_it_stands_under() {
    let mut project = importer();
    project.write(
        "CHANGES.md",
        "# Changelog\n\n## 3.0 - 2024-08-01\n\n### Added\n\n- Voice search\n- `--dry-run`: shows what would be done\n\n\
         ### Removed\n\n- Telegrams\n\n### Notes\n\n- Fixed:\n  - Crash on empty orders\n- Carrier pigeons\n",
    );
    project.at(1_723_000_000).commit_all("Begin another version");
    let sandbox = Sandbox::indexed(&project);
    for (question, verb, line) in [
        ("When was voice search added?", "added", 7),
        ("In which release was `--dry-run` added?", "added", 8),
        ("When were telegrams removed?", "removed", 12),
        ("When was the crash on empty orders fixed?", "fixed", 17),
    ] {
        let said = facts(&sandbox, question);
        let expected = format!(" {verb} in version 3.0 of 2024-08-01, as CHANGES.md:{line} says.");
        assert!(said.ends_with(&expected), "{question}: {said}");
    }
    for question in ["When was voice search removed?", "When were carrier pigeons added?", "When were pigeons fixed?"] {
        assert_ne!(ask(&sandbox, question)["method"], "facts", "{question}");
    }
}

#[test]
fn a_module_is_known_by_its_name_on_either_side_of_the_word_for_it() {
    let mut project = importer();
    project.write("src/prices.py", "def price(row):\n    return row\n");
    project.at(1_720_000_000).commit_all("Add module \"basket\" that implements prices (RFC 7)");
    let sandbox = Sandbox::indexed(&project);
    for question in
        ["when was the basket module added", "When was module basket added?", "Who added the \"basket\" module?"]
    {
        let said = facts(&sandbox, question);
        assert!(said.starts_with("Ada Lovelace added ") && said.contains(" on 2024-07-03, in commit "), "{said}");
        assert!(said.contains(" Add module \"basket\" that implements prices"), "{said}");
    }
    // What says it of something else may be what is meant.
    let answer = ask(&sandbox, "When was the basket module added to the warehouse?");
    assert_ne!(answer["method"], "facts", "{answer:#}");
    let said = answer.to_string();
    assert!(
        said.contains(
            "says in so many words that 'basket module' was added to the warehouse; the nearest is commit acme/shop@"
        ),
        "{answer:#}"
    );
}

#[test]
fn an_option_is_known_by_what_it_is_for() {
    let mut project = importer();
    project.write("src/print.py", "def show(rows):\n    print(rows)\n");
    project.commit_all("Add an option to disable colors");
    project.write("src/print.py", "def show(rows):\n    return print(rows)\n");
    project.at(1_720_000_000).commit_all("Remove the option to disable colors");
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "when was the option to disable colors removed?");
    assert!(said.starts_with("Ada Lovelace removed option to disable colors on 2024-07-03, in commit "), "{said}");
    let said = facts(&sandbox, "Who added the option to disable colors?");
    assert!(said.contains(" Add an option to disable colors; "), "{said}");
    let refused = missing(&sandbox, "When was the option to sort rows removed?");
    assert!(refused.iter().any(|why| why.ends_with(" that 'option to sort rows' was removed")), "{refused:?}");
}

#[test]
fn a_release_is_known_by_its_first_number() {
    let mut project = importer();
    project.write("CHANGES.md", "# Changelog\n\n## Version 3\n\n- Drop support for Ruby 2.7.\n");
    project.at(1_720_000_000).commit_all("Begin another version");
    project.git(["tag", "v3.0.0"]);
    let sandbox = Sandbox::indexed(&project);
    for question in [
        "when was XML export removed in v2?",
        "Who removed XML export in version 2?",
        "who removed the XML export in Shop 2?",
    ] {
        let said = facts(&sandbox, question);
        assert!(said.ends_with("Remove the XML export; it first shipped in v2.0 of 2024-06-01."), "{question}: {said}");
    }
    let said = facts(&sandbox, "in which release was support for Ruby 2.7 dropped?");
    assert!(said.ends_with(" was removed in version 3 of 2024-07-03, as CHANGES.md:5 says."), "{said}");
    let answer = ask(&sandbox, "Why was XML export removed in v2?");
    assert!(answer["citations"].to_string().contains("Nobody has used it since"), "{answer:#}");
    assert!(answer["warnings"].to_string().contains("no text mentions the release 'v2'"), "{answer:#}");
    // There is no such release.
    let refused = missing(&sandbox, "Why was XML export removed in v7?");
    assert!(refused[0].starts_with("'v7' occurs nowhere"), "{refused:?}");
}

#[test]
fn of_very_many_definitions_one_is_told_by_its_file() {
    let mut project = Fixture::new();
    for number in 0..30 {
        let text = format!("def handle_row(row):\n    return row + {number}\n");
        project.write(format!("src/part{number:02}.py"), text);
    }
    project.commit_all("Handle the rows");
    let sandbox = Sandbox::indexed(&project);
    let refused = missing(&sandbox, "Who added handle_row?");
    let advice = "30 definitions are called 'handle_row'; name one with its file, as 'handle_row in src/part00.py'";
    assert!(refused.iter().any(|why| why == advice), "{refused:?}");
    let said = facts(&sandbox, "Who added handle_row in src/part07.py?");
    assert!(said.starts_with("Ada Lovelace added handle_row (src/part07.py#handle_row) on "), "{said}");
    let refused = missing(&sandbox, "When was handle_row removed?");
    assert!(refused.iter().any(|why| why.ends_with(" and 27 more")), "{refused:?}");
}

#[test]
fn without_the_fact_it_is_refused_and_the_opposite_is_never_quoted() {
    let project = importer();
    let sandbox = Sandbox::indexed(&project);
    for question in
        ["When was CSV export removed?", "who removed the CSV export?", "in which release was CSV export dropped?"]
    {
        let refused = missing(&sandbox, question);
        assert!(refused.iter().any(|why| why.contains("CSV export' was removed")), "{question}: {refused:?}");
    }
    missing(&sandbox, "When was Java 9 support dropped?");
    // A reason is no matter of facts, but what says the opposite gives none.
    let answer = ask(&sandbox, "Why was CSV export removed?");
    assert!(!answer["citations"].to_string().contains("Add CSV export"), "{answer:#}");
    let answer = ask(&sandbox, "Why was XML export removed?");
    assert!(
        answer["citations"].to_string().contains("Nobody has used it since suppliers send spreadsheets."),
        "{answer:#}"
    );
    assert!(!answer["citations"].to_string().contains("Suppliers ask for it in every second letter."), "{answer:#}");
}

#[test]
fn a_commit_that_surely_answers_is_quoted_where_no_fact_is_known() {
    let mut project = importer();
    project.write("src/load.py", "def load_rows(path):\n    return list(open(path))\n");
    project
        .commit_all("Speed up imports\n\nThe importer gained a parallel mode, which was added as one core took a day.");
    let sandbox = Sandbox::indexed(&project);
    let answer = ask(&sandbox, "Who added the parallel mode of the importer?");
    assert_eq!((&answer["answered"], &answer["method"]), (&json!(true), &json!("extractive")), "{answer:#}");
    assert!(answer["citations"][0]["text"].as_str().unwrap().contains("gained a parallel mode"), "{answer:#}");
    assert!(answer["warnings"].to_string().contains("this is what people said"), "{answer:#}");
}

#[test]
fn a_follow_up_in_a_chat_is_about_the_same_thing() {
    let project = importer();
    let sandbox = Sandbox::indexed(&project);
    let said = sandbox.run_with_input(&["chat"], "Why was XML export added?\nand when was it removed?\n");
    assert_eq!(said.code, 0, "{said:?}");
    let answers: Vec<&str> = said.stdout.split("> ").skip(1).collect();
    assert!(answers[1].contains("Ada Lovelace removed XML export on 2024-06-01, in commit acme/shop@"), "{said:?}");
}

#[test]
fn what_a_forge_knows_nothing_of_is_no_fact() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    for question in ["When is the signing key rotated?", "Who wants the signing key to rotate?"] {
        assert_ne!(ask(&sandbox, question)["method"], "facts", "{question}");
    }
    for question in ["Who created issue #3?", "When was acme/shop#3 resolved?", "When was !2 created?"] {
        let answer = ask(&sandbox, question);
        assert_eq!(answer["answered"], true, "{question}: {answer:#}");
        assert_ne!(answer["method"], "facts", "{question}");
    }
    let refused = missing(&sandbox, "Who removed the rate limiter?");
    assert_eq!(
        refused.last().unwrap(),
        "no commit, merge request or changelog says in so many words that 'rate limiter' was removed"
    );
}

#[test]
fn a_file_is_called_by_its_name_and_that_of_its_directory() {
    let mut project = Fixture::new();
    project.write("shop/transport/memory.py", "def send():\n    return 0\n");
    project.write("shop/transport/SQS.py", "def send():\n    return 1\n");
    project.author("Ann", "ann@example.com");
    project.commit_all("Send orders through queues");
    project.author("Bo", "bo@example.com");
    project.write("shop/transport/SQS.py", "def send():\n    return 2\n");
    project.commit_all("Add SQS transport to the documentation");
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "Who added the SQS transport?");
    assert!(said.starts_with("Ann added SQS transport"), "{said}");
    let refused = missing(&sandbox, "When was the SQS transport removed?").join("\n");
    assert!(refused.contains("there now: shop/transport/SQS.py"), "{refused}");

    project.remove("shop/transport/SQS.py");
    project.commit_all("Tidy up");
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "Who removed the SQS transport?");
    assert!(said.starts_with("Bo removed SQS transport"), "{said}");
}

#[test]
fn an_option_is_no_file_and_came_before_its_man_page_and_further_platforms() {
    let mut project = Fixture::new();
    project.author("Ann", "ann@example.com");
    project.write(
        "shop/filter/size.py",
        "def size():
    return 0
",
    );
    project.commit_all("Split the filters into files");
    project.author("Bo", "bo@example.com");
    project.write(
        "shop/cli.py",
        "OPTIONS = ['-s', '--size']
",
    );
    project.commit_all("Add `-s`/`--size <bytes>` filter option");
    project.author("Cy", "cy@example.com");
    project.write(
        "shop.1", "--size
",
    );
    project.commit_all("Add --size filter option to the man page");
    project.write(
        "shop/cli.py",
        "OPTIONS = ['-s', '--size'] * 1
",
    );
    project.commit_all(
        "Support --size filter option on more platforms

Implement `--size` by other means.",
    );
    project.write(
        "README.md",
        "[![CI](https://ci.example.com/badge.svg)](https://ci.example.com)

A shop sorts orders.
",
    );
    project.commit_all("Tell of the shop");
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "Who added the --size filter option?");
    assert!(said.starts_with("Bo added --size"), "{said}");
    let answer = sandbox.run(&["ask", "How does the shop sort orders?"]).ok().stdout;
    assert!(answer.contains("A shop sorts orders.") && !answer.contains("badge"), "{answer}");
}

#[test]
fn a_module_came_with_its_file_whatever_texts_say_of_its_name() {
    let mut project = Fixture::new();
    project.write("shop/cart.py", "def total(rows):\n    return sum(rows)\n");
    project.write("shop/orders/__init__.py", "def send(rows):\n    return rows\n");
    project.author("Ann", "ann@example.com");
    project.commit_all("Sell things");
    project.author("Bo", "bo@example.com");
    project.write("shop/types.py", "class Session:\n    cart = None\n");
    project.commit_all("Add cart module to the types");
    project.write("shop/types.py", "class Session:\n    cart = 0\n");
    project.commit_all("Remove 11 redundant calls across the stock, cart, and orders modules");
    project.write("ci.sh", "true\n");
    project.commit_all("travis: Add gift wrapping");
    let sandbox = Sandbox::indexed(&project);
    for (question, place) in [
        ("Who added the cart module?", "(shop/cart.py)"),
        ("Who added the module cart?", "(shop/cart.py)"),
        ("Who added the orders package?", "(shop/orders)"),
    ] {
        let said = facts(&sandbox, question);
        assert!(said.starts_with("Ann added ") && said.contains(place), "{said}");
    }
    for (question, place) in
        [("When was the cart module removed?", "shop/cart.py"), ("When was the orders module removed?", "shop/orders")]
    {
        let answer = ask(&sandbox, question);
        assert_ne!(answer["method"], "facts", "{answer:#}");
        assert!(answer.to_string().contains(&format!("is there now: {place}")), "{answer:#}");
    }
    // What its title places in the pipeline.
    assert_ne!(ask(&sandbox, "When was gift wrapping added?")["method"], "facts");
    assert!(facts(&sandbox, "When was gift wrapping added to travis?").starts_with("Bo added gift wrapping"));
}

#[test]
fn what_was_removed_and_is_there_again_is_said_to_be() {
    let mut project = Fixture::new();
    project.write("src/a.py", "def load_rows(path):\n    return open(path)\n");
    project.commit_all("Begin");
    project.write("src/a.py", "LEFT = 1\n");
    project.commit_all("Tidy up");
    project.write("src/b.py", "def load_rows(path):\n    return open(path)\n");
    project.commit_all("Bring it back");
    let sandbox = Sandbox::indexed(&project);
    let answer = ask(&sandbox, "When was load_rows removed?");
    assert!(answer["warnings"].to_string().contains("there now, elsewhere or again: src/b.py#load_rows"), "{answer:#}");
}

#[test]
fn what_is_there_by_just_its_name_was_not_removed_whatever_texts_say() {
    let mut project = Fixture::new();
    project.write(
        "shop/state.py",
        "class Session:\n    def load(self):\n        return 1\n\n\nclass Basket:\n    rows = 1\n",
    );
    project.commit_all("Begin");
    project.write("shop/notes.py", "NOTES = 1\n");
    project.commit_all("Remove the session class from the notes");
    project.write("shop/notes.py", "NOTES = 2\n");
    project.commit_all("Remove Session");
    project.write("shop/state.py", "class Session:\n    def load(self):\n        return 1\n");
    project.author("Bo", "bo@example.com");
    project.commit_all("Remove Basket");
    let sandbox = Sandbox::indexed(&project);
    for question in [
        "when was the Session class removed?",
        "Who removed Session?",
        "Has the Session class been removed?",
        "Is the Session class removed?",
    ] {
        let refused = missing(&sandbox, question);
        assert!(refused.iter().any(|why| why == "'Session' is there now: shop/state.py#Session"), "{refused:?}");
    }
    let refused = missing(&sandbox, "was Session.load removed?");
    assert!(refused.iter().any(|why| why == "'Session.load' is there now: shop/state.py#Session.load"), "{refused:?}");
    for question in ["When was the Basket class removed?", "Was the Basket class removed?"] {
        let said = facts(&sandbox, question);
        assert!(said.starts_with("Bo removed Basket class (shop/state.py#Basket) on "), "{said}");
    }
}

#[test]
fn who_merged_a_change_did_not_make_it() {
    let mut project = Fixture::new();
    project.write("src/play.py", "def play(song):\n    return song\n");
    project.commit_all("Begin");
    let mut bring = |branch: &str, titles: &[&str], message: &str| {
        project.switch(branch);
        project.author("Ann", "ann@example.com");
        for (number, title) in titles.iter().enumerate() {
            project.write(format!("src/{branch}{number}.py"), format!("NAME = '{title}'\n"));
            project.commit_all(title);
        }
        project.switch("main");
        project.author("merge-script", "merge@example.com");
        project.git(["merge", "--quiet", "--no-ff", "-m", message, branch]);
    };
    bring("quiet", &["Work in progress"], "Merge acme/shop: Add quiet mode");
    bring("loud", &["Louder", "Louder still"], "Add loud mode");
    bring("both", &["Unrelated", "Introduce mixed mode of songs"], "Add mixed mode");
    bring(
        "fast",
        &["Tidy up", "fast mode", "Faster", "Fix fast mode"],
        "Merge pull request #7\n\nAdd support for fast mode",
    );
    bring("slow", &["Slower", "clean up docs"], "Add slow mode");
    let sandbox = Sandbox::indexed(&project);
    for (question, title) in [
        ("Who added quiet mode?", "Work in progress"),
        ("Who added loud mode?", "Louder still"),
        ("Who added mixed mode?", "Introduce mixed mode of songs"),
        ("Who added fast mode?", " fast mode."),
        ("Who added slow mode?", "Slower"),
    ] {
        let said = facts(&sandbox, question);
        assert!(said.starts_with("Ann added ") && said.contains(title), "{question}: {said}");
    }
}

#[test]
fn a_name_is_known_among_words_for_what_it_is_and_whose() {
    let mut project = Fixture::new();
    let mut commit = |author: &str, file: &str, title: &str| {
        project.write(format!("src/{file}.txt"), title);
        project.author(author, &format!("{author}@example.com"));
        project.commit_all(title);
    };
    commit("Ada", "one", "Add tests for depth");
    commit("Ann", "two", "Add a `depth` `treeReader` configuration member.");
    commit("Bo", "three", "remove colorama");
    commit("Cy", "four", "Add built-in PowerShell shell completion support");
    let sandbox = Sandbox::indexed(&project);
    for (question, said) in [
        ("When was depth added?", "Ann added depth on "),
        ("Who added the depth field?", "Ann added depth field on "),
        ("Who removed colorama from shop?", "Bo removed colorama on "),
        ("Who added shell completion for PowerShell?", "Cy added shell completion"),
        ("When was PowerShell support added?", "Cy added PowerShell support on "),
    ] {
        let told = facts(&sandbox, question);
        assert!(told.starts_with(said), "{question}: {told}");
    }
}

#[test]
fn a_dependency_is_removed_with_its_use() {
    let mut project = Fixture::new();
    project.write("Cargo.toml", "[dependencies]\nmemoffset = \"0.6\"\n");
    project.commit_all("Begin");
    project.write("Cargo.toml", "[dependencies]\n");
    project.author("Bo", "bo@example.com");
    project.commit_all("Remove dependency on memoffset");
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "Who removed memoffset?");
    assert!(said.starts_with("Bo removed memoffset"), "{said}");
}

#[test]
fn what_came_from_a_test_was_added_with_its_move_to_the_sources() {
    let mut project = Fixture::new();
    let body = "    before = path\n    after = before.strip().lower()\n    return [before, after, before + after]\n";
    project.write("tests/test_files.py", format!("def isolated_files(path):\n{body}"));
    project.commit_all("Test files");
    project.remove("tests/test_files.py");
    project.write("src/files.py", format!("def isolated_files(path):\n{body}"));
    project.write("tests/test_more.py", "def isolated_files():\n    return 1\n");
    project.author("Bo", "bo@example.com");
    project.commit_all("Let others isolate files");
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "When was `isolated_files` added?");
    assert!(said.starts_with("Bo added isolated_files (src/files.py#isolated_files) on "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn of_removals_of_a_file_on_several_branches_the_one_that_shipped_first_is_told_first() {
    let mut project = Fixture::new();
    project.write("setup.py", "NAME = 'shop'\nVERSION = '1.0'\n");
    project.commit_all("Begin");
    project.switch("stable");
    project.switch("main");
    project.remove("setup.py");
    project.author("Ann", "ann@example.com");
    project.at(1_709_290_800).commit_all("Build in another way");
    project.switch("stable");
    project.remove("setup.py");
    project.author("Bo", "bo@example.com");
    project.at(1_717_239_600).commit_all("Update project files");
    project.git(["tag", "v1.1"]);
    project.switch("main");
    project.git(["merge", "--quiet", "--no-ff", "-m", "Merge stable", "stable"]);
    project.write("shop.py", "NAME = 'shop'\n");
    project.at(1_727_239_600).commit_all("Name it");
    project.git(["tag", "v2.0"]);
    let sandbox = Sandbox::indexed(&project);
    let said = facts(&sandbox, "When was setup.py removed?");
    let told: Vec<&str> = said.lines().collect();
    assert_eq!(told.len(), 2, "{said}");
    assert!(
        told[0].starts_with("Bo removed setup.py on ") && told[0].contains("it first shipped in v1.1 of "),
        "{said}"
    );
    assert!(
        told[1].starts_with("Ann removed setup.py on ") && told[1].contains("it first shipped in v2.0 of "),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_told_only_if_nothing_but_its_project_is_asked_for() {
    let project = importer();
    let indexed = Indexed::cold(project.path(), Branches::Default).await;
    let of_project = Filter { project: Some(PROJECT.to_owned()), ..Filter::default() };
    let excluded = format!("{PROJECT}@{}", project.sha("v2.0"));
    for (filter, is_told) in [
        (of_project.clone(), true),
        (Filter { authors: vec!["Grace Hopper".to_owned()], ..of_project.clone() }, false),
        (Filter { before: Some("2024-04-01T00:00:00Z".parse().unwrap()), ..of_project.clone() }, false),
        (Filter { exclude: vec![excluded], ..of_project }, false),
    ] {
        let question = "When was 2.0 released?".to_owned();
        let request = AskRequest { question, filter: filter.clone(), ..AskRequest::default() };
        let answer = indexed.engine.answer(request).await.unwrap();
        assert_eq!(answer.answered && answer.method == Method::Facts, is_told, "{filter:?}: {answer:?}");
    }
}

#[test]
fn when_a_release_came_is_told_by_its_tag() {
    let mut project = importer();
    project.at(1_727_239_600).git(["tag", "--annotate", "-m", "Next", "v3.0"]);
    let sandbox = Sandbox::indexed(&project);
    let short = |name: &str| project.say(["rev-parse", format!("{name}^{{commit}}").as_str()])[..8].to_owned();
    for question in ["When was 2.0 released?", "when was shop v2.0 released?", "When did version 2 come out?"] {
        let commit = short("v2.0");
        let expected = format!(
            "v2.0 does not say when it was tagged, or by whom; its commit is of 2024-06-01: commit acme/shop@{commit} \
             Remove the XML export."
        );
        assert_eq!(facts(&sandbox, question), expected, "{question}");
    }
    let said = facts(&sandbox, "Who tagged v3.0?");
    assert!(said.starts_with("v3.0 was released on 2024-09-25, tagged by Charles Babbage; it is commit "), "{said}");
    let refused = missing(&sandbox, "When was 2.1 released?");
    assert_eq!(refused, ["no tag or release is called 2.1; the nearest are v2.0, v1.0, v3.0"]);
}
