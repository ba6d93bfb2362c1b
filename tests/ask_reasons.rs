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
