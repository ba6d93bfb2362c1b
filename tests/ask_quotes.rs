//! Where quotations begin and end, and how they are printed.

use crate::support::{Fixture, Sandbox};

/// What is quoted for a question about a project with one commit, and what is printed, up to who wrote it.
#[track_caller]
fn quotes(message: &str, question: &str) -> (Vec<String>, String) {
    let mut project = Fixture::new();
    project.write("main.go", "package shop\n");
    project.commit_all(message);
    let sandbox = Sandbox::indexed(&project);
    let answer = sandbox.run(&["ask", question, "--json"]).ok().json();
    let verified = sandbox.run_with_input(&["verify"], &answer.to_string());
    assert_eq!(verified.code, 0, "{verified:?}");
    let citations = answer["citations"].as_array().unwrap();
    let quoted = citations.iter().map(|citation| citation["text"].as_str().unwrap().to_owned()).collect();
    let printed = sandbox.run(&["ask", question]).ok().stdout;
    (quoted, printed.split_once("\n    ").unwrap().0.to_owned())
}

#[test]
fn items_of_a_list_are_quoted_as_items() {
    let (quoted, printed) = quotes(
        "Send mail from a queue\n\n- Customers should not wait for the mail server\n- The mail server should not see bursts of mail",
        "Why is mail sent from a queue?",
    );
    let both = "- Customers should not wait for the mail server\n- The mail server should not see bursts of mail";
    assert_eq!(quoted, [both]);
    assert_eq!(printed, format!("\"{}\" [1]", both.replace('\n', "\n ")));
}

#[test]
fn a_list_is_quoted_with_what_introduces_it() {
    let (quoted, printed) = quotes(
        "Choose Redis for sessions\n\nWe choose Redis over memcached because:\n\n1. it survives restarts\n2. it can expire keys\n3. operations know it already\n\nTested on staging.",
        "Why did we choose Redis over memcached?",
    );
    let items = "1. it survives restarts\n2. it can expire keys\n3. operations know it already";
    assert_eq!(quoted[0], format!("We choose Redis over memcached because:\n\n{items}"));
    let shown = format!("\"We choose Redis over memcached because:\n {}\" [1]", items.replace('\n', "\n "));
    assert!(printed.starts_with(&shown), "{printed}");
}

#[test]
fn the_head_of_a_table_is_not_quoted() {
    let (quoted, _) = quotes(
        "Choose Redis for sessions\n\nWe compared these stores for sessions:\n\n| Store for sessions | Restarts |\n|---|:--|\n| Redis | survives |\n",
        "Which stores for sessions were compared?",
    );
    assert_eq!(quoted[0], "We compared these stores for sessions:");
    assert!(!quoted.iter().any(|quote| quote.contains("Store for sessions")), "{quoted:?}");
}

#[test]
fn a_sentence_of_one_word_is_not_quoted() {
    let mut project = Fixture::new();
    project.write("main.go", "package shop\n");
    project.commit_all("nits");
    let sandbox = Sandbox::indexed(&project);
    let answer = sandbox.run(&["ask", "Why nits?", "--json"]).ok().json();
    assert_eq!(answer["answered"], false, "{answer:#}");
    let (quoted, _) = quotes("Keep rows\n\nBecause of rows.", "Why were rows kept?");
    assert!(quoted[0].contains("Because of rows."), "{quoted:?}");
}

#[test]
fn paragraphs_are_printed_as_paragraphs() {
    let (quoted, printed) = quotes(
        "Write logs as JSON\n\nLogs in JSON should need no grammar\n\nJSON logs should stay readable for people",
        "Why are logs JSON?",
    );
    assert_eq!(quoted, ["Logs in JSON should need no grammar\n\nJSON logs should stay readable for people"]);
    assert_eq!(printed, "\"Logs in JSON should need no grammar\n JSON logs should stay readable for people\" [1]");
}

#[test]
fn a_sentence_that_is_wrapped_is_quoted_whole_and_printed_on_one_line() {
    let (quoted, printed) = quotes(
        "Keep pages in a cache\n\nPages seldom change, and rendering each of them for each\ncustomer takes three hundred milliseconds",
        "Why are pages in a cache?",
    );
    assert_eq!(
        quoted,
        ["Pages seldom change, and rendering each of them for each\ncustomer takes three hundred milliseconds"]
    );
    assert_eq!(
        printed,
        "\"Pages seldom change, and rendering each of them for each customer takes three hundred milliseconds\" [1]"
    );
}

#[test]
fn what_others_said_is_not_quoted_between_the_words_of_somebody_else() {
    let (first, second) =
        ("Customers should not wait for the mail server", "The mail server should not see bursts of mail");
    for other in ["> Should mail go away?", "- > Should mail go away?", "* [pre-commit.ci] auto fixes"] {
        let message = format!("Send mail from a queue\n\n{first}\n\n{other}\n\n{second}");
        let (quoted, printed) = quotes(&message, "Why is mail sent from a queue?");
        assert_eq!(quoted, [first, second], "{other}");
        assert_eq!(printed, format!("\"{first}\" [1]"));
    }
}
