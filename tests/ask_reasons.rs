//! Questions that ask why: a reason goes before what only says again what is asked, and where no reason is written, that is
//! said.

use serde_json::Value;

use crate::support::{Fixture, Sandbox};

/// What is said where something is found that gives no reason.
const NO_REASON: &str = "says that it is so, but no reason is written there";

/// A project whose documentation says that a class is deprecated, and whose history does in these words.
fn commands(deprecation: &str) -> Fixture {
    let mut project = Fixture::new();
    project.write("src/core.py", "class MultiCommand:\n    pass\n");
    project.commit_all("Add MultiCommand");
    project.write("docs/api.md", "# API\n\nMultiCommand is deprecated.\n");
    project.commit_all(deprecation);
    project
}

#[track_caller]
fn answer(sandbox: &Sandbox, question: &str) -> Value {
    let answer = sandbox.run(&["ask", question, "--json"]).ok().json();
    assert_eq!(answer["answered"], true, "{question}: {answer:#}");
    let verified = sandbox.run_with_input(&["verify"], &answer.to_string());
    assert_eq!(verified.code, 0, "{verified:?}");
    answer
}

#[test]
fn without_a_written_reason_the_change_is_named_and_the_reader_warned() {
    let project = commands("Deprecate MultiCommand");
    let sandbox = Sandbox::indexed(&project);
    let said = answer(&sandbox, "Why was MultiCommand deprecated?");
    let commit = project.sha("main").to_string();
    let warning = format!("commit acme/shop@{} Deprecate MultiCommand {NO_REASON}", &commit[..8]);
    let warnings = said["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|one| one.as_str() == Some(warning.as_str())), "{said:#}");
    assert!(said["citations"].to_string().contains("MultiCommand is deprecated."), "{said:#}");
    // What asks for no reason lacks none.
    let said = answer(&sandbox, "Is MultiCommand deprecated?");
    assert!(!said["warnings"].to_string().contains(NO_REASON), "{said:#}");
}

#[test]
fn a_reason_in_other_words_goes_before_what_restates_the_question() {
    for reason in [
        "Two classes for one thing confused readers, because a group does all of it.",
        "A group can do all that it did.",
    ] {
        let sandbox = Sandbox::indexed(&commands(&format!("Deprecate MultiCommand\n\n{reason}")));
        let said = answer(&sandbox, "Why was MultiCommand deprecated?");
        assert_eq!(said["citations"][0]["text"], reason, "{said:#}");
        assert!(!said["warnings"].to_string().contains(NO_REASON), "{said:#}");
    }
}

#[test]
fn the_sentence_behind_a_quotation_that_may_give_the_reason_is_quoted_with_it() {
    let mut project = Fixture::new();
    let lines = "Lengths less than -1 and those above the limit of the machine are now protocol errors. This is consistent \
                 with the specification. Rows may be long.";
    project.write("README.md", format!("# Lengths\n\n{lines}\n"));
    project.commit_all("Begin");
    let sandbox = Sandbox::indexed(&project);
    let said = answer(&sandbox, "Why are lengths less than -1 protocol errors?");
    let quoted = said["citations"][0]["text"].as_str().unwrap();
    assert!(quoted.ends_with("are now protocol errors. This is consistent with the specification."), "{said:#}");
}

#[test]
fn a_changelog_may_give_the_reason() {
    let mut project = Fixture::new();
    project.write("src/load.py", "def load_rows(path):\n    return open(path)\n");
    project.commit_all("Begin");
    let line = "- Deprecate {meth}`Store.load_rows`. It relies on the current directory, which threads share.";
    project.write("CHANGES.md", format!("# Changelog\n\n## 2.0 - 2024-06-10\n\n{line}\n- Smaller fixes\n"));
    project.write("src/load.py", "def load_rows(path):\n    return list(open(path))\n");
    project.commit_all("Deprecate load_rows");
    let sandbox = Sandbox::indexed(&project);
    let said = answer(&sandbox, "Why was load_rows deprecated?");
    assert!(
        said["citations"].to_string().contains("It relies on the current directory, which threads share."),
        "{said:#}"
    );
    assert!(!said["warnings"].to_string().contains(NO_REASON), "{said:#}");
}

/// A project in which a function came with this message, and was changed since.
fn loader(addition: &str) -> (Fixture, String, String) {
    let mut project = Fixture::new();
    project.write("src/load.py", "def load_rows(path):\n    return open(path)\n");
    let added = project.commit_all(addition).to_string();
    project.write("src/load.py", "def load_rows(path):\n    return list(open(path))\n");
    let changed = project.commit_all(
        "Speed up load_rows\n\nload_rows was slow, because what was added for it read each line of a file twice.",
    );
    (project, added, changed.to_string())
}

#[test]
fn why_something_was_added_is_answered_by_the_commit_that_added_it() {
    let reason = "Suppliers send files every morning, because the mail took days.";
    let (project, added, changed) = loader(&format!("Load rows from files\n\n{reason}"));
    let sandbox = Sandbox::indexed(&project);
    for question in ["Why was load_rows added?", "why did they introduce the function load_rows?"] {
        let said = answer(&sandbox, question);
        assert_eq!(said["citations"][0]["text"], reason, "{question}: {said:#}");
        assert_eq!(said["citations"][0]["id"], format!("acme/shop@{added}"), "{question}");
        assert!(!said["citations"].to_string().contains(&changed), "{question}: {said:#}");
        assert!(!said["warnings"].to_string().contains("no reason is written"), "{question}: {said:#}");
    }
}

#[test]
fn a_message_without_words_of_a_reason_is_one_where_it_names_what_was_added() {
    let mut project = Fixture::new();
    project.write("src/theme.css", "body { background: black }\n");
    project.commit_all(
        "Add dark mode\n\nNight shifts read the orders on bright screens.\n\nReviewed-by: Bo <bo@example.com>",
    );
    project.write("src/theme.css", "body { background: black; color: white }\n");
    project.commit_all("Fix dark mode\n\nDark mode was unreadable, because letters were added in black.");
    let sandbox = Sandbox::indexed(&project);
    let said = answer(&sandbox, "Why was dark mode added?");
    assert_eq!(said["citations"][0]["text"], "Night shifts read the orders on bright screens.", "{said:#}");
    assert_eq!(said["citations"].as_array().unwrap().len(), 1, "{said:#}");
}

#[test]
fn where_the_commit_that_added_something_gives_no_reason_a_later_one_is_said_to_be_later() {
    let (project, added, changed) = loader("Load rows from files");
    let sandbox = Sandbox::indexed(&project);
    let said = answer(&sandbox, "Why was load_rows added?");
    assert_eq!(said["citations"][0]["id"], format!("acme/shop@{changed}"), "{said:#}");
    let warning = format!(
        "no reason is written in commit acme/shop@{} Load rows from files, which added load_rows; what is quoted was \
         written later",
        &added[..8]
    );
    assert!(said["warnings"].as_array().unwrap().iter().any(|one| one.as_str() == Some(warning.as_str())), "{said:#}");
}

#[test]
fn why_something_was_removed_is_answered_by_the_commit_that_removed_it() {
    let (mut project, added, _) = loader("Load rows from files\n\nSuppliers send files, because the mail took days.");
    let reason = "Suppliers use the API by now, so that nobody called it.";
    project.write("src/load.py", "def send_rows(rows):\n    return len(rows)\n");
    let removed = project.commit_all(format!("Remove load_rows\n\n{reason}")).to_string();
    let sandbox = Sandbox::indexed(&project);
    for question in ["Why was load_rows removed?", "why did they drop load_rows"] {
        let said = answer(&sandbox, question);
        assert_eq!(said["citations"][0]["text"], reason, "{question}: {said:#}");
        assert_eq!(said["citations"][0]["id"], format!("acme/shop@{removed}"), "{question}");
        assert!(!said["citations"].to_string().contains(&added), "{question}: {said:#}");
    }
    let found = sandbox.run(&["search", "def load_rows"]).ok().stderr;
    assert!(found.contains(&format!("load_rows was removed in acme/shop@{}", &removed[..8])), "{found}");
    let unknown = sandbox.run(&["entity", "load_rows"]);
    assert!(unknown.stderr.contains(&format!("was removed in acme/shop@{}", &removed[..8])), "{unknown:?}");
    assert!(unknown.stderr.contains("'backstory removed load_rows' tells more"), "{unknown:?}");
    let said = answer(&sandbox, "Where is load_rows defined?");
    assert!(said["statements"][0]["text"].as_str().unwrap().contains("removed load_rows"), "{said:#}");
    assert!(said["warnings"].to_string().contains("nothing is named load_rows now"), "{said:#}");
}

#[test]
fn the_message_of_the_merge_that_brought_a_commit_may_give_the_reason() {
    let reason = "Suppliers send files every morning, because the mail took days.";
    let mut project = Fixture::new();
    project.write("README.md", "# Shop\n");
    let base = project.commit_all("Begin");
    project.switch("rows");
    project.write("src/load.py", "def load_rows(path):\n    return open(path)\n");
    let added = project.commit_all("Load rows from files");
    project.switch("main");
    assert_eq!(project.sha("main"), base);
    project.write("src/load.py", "def load_rows(path):\n    return open(path)\n");
    project.git(["add", "."]);
    let merge = project.commit_index(format!("Merge branch 'rows'\n\n{reason}"), &[added]).to_string();
    let sandbox = Sandbox::indexed(&project);
    let said = answer(&sandbox, "Why was load_rows added?");
    assert_eq!(said["citations"][0]["text"], reason, "{said:#}");
    assert_eq!(said["citations"][0]["id"], format!("acme/shop@{merge}"), "{said:#}");
    // A pack about the code has it, too: no merge request says the same.
    let pack = sandbox.run(&["context", "load_rows"]).ok().stdout;
    assert!(pack.contains("Merge branch 'rows'") && pack.contains(reason), "{pack}");
}

#[test]
fn of_a_message_about_several_things_the_piece_that_names_the_one_is_quoted() {
    let mut project = Fixture::new();
    project.write("src/cells.py", "class ArcCell:\n    pass\n\n\nclass MsQueue:\n    pass\n");
    project.commit_all("Begin");
    project.write("src/cells.py", "LEFT = 1\n");
    let (of_queue, of_cell) =
        ("MsQueue has no reason to exist beside SegQueue.", "ArcCell takes a lock for each access of a reader.");
    project.commit_all(format!("Remove ArcCell and MsQueue\n\n{of_queue}\n\n{of_cell}"));
    let sandbox = Sandbox::indexed(&project);
    for (name, reason) in [("ArcCell", of_cell), ("MsQueue", of_queue)] {
        let said = answer(&sandbox, &format!("Why was {name} removed?"));
        // What stands beside it may be quoted with it.
        assert!(said["citations"][0]["text"].as_str().unwrap().contains(reason), "{said:#}");
    }
}

#[test]
fn a_title_may_give_the_reason() {
    let mut project = Fixture::new();
    project.write("src/pika.py", "def send_by_pika(order):\n    return order\n");
    project.commit_all("Begin");
    project.remove("src/pika.py");
    project.write("README.md", "# Shop\n");
    let title = "Remove send_by_pika, wait until pika comes out of its experimental state";
    project.commit_all(title);
    let sandbox = Sandbox::indexed(&project);
    let said = answer(&sandbox, "Why was send_by_pika removed?");
    assert_eq!(said["citations"][0]["text"], title, "{said:#}");
    assert!(!said["warnings"].to_string().contains("no reason"), "{said:#}");
}
