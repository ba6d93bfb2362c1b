//! Conversations on the command line.

use expect_test::expect;
use serde_json::json;

use crate::{
    cli_repositories::shop,
    support::{Forge, Sandbox},
};

#[test]
fn follow_up_is_about_what_was_asked_before() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let said =
        sandbox.run_with_input(&["chat"], "Why did we choose Redis over Memcached?\nand who said so?\n\nnot read\n");
    assert_eq!(said.code, 0, "{said:?}");
    let answers: Vec<&str> = said.stdout.split("> ").skip(1).collect();
    assert_eq!(answers.len(), 2, "{said:?}");
    assert!(answers[1].starts_with("and who said so?") && answers[1].contains("Redis"), "{said:?}");
    assert!(answers[1].contains("@alice wrote it on 2023-11-07, in acme/shop#3 Choose a cache"), "{said:?}");
    // Alone the same question means nothing.
    let alone = sandbox.run_with_input(&["chat"], "and who said so?\n");
    assert!(alone.stdout.contains("I could not find this information"), "{alone:?}");
}

#[test]
fn who_wrote_lines_is_told_by_the_commit_that_wrote_them() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let asked = "Why must rounding not happen in the total of the cart?\nand who wrote it?\nwhen was that?\n";
    let said = sandbox.run_with_input(&["chat"], asked);
    assert_eq!(said.code, 0, "{said:?}");
    let answers: Vec<&str> = said.stdout.split("> ").skip(1).collect();
    let wrote = "Ada Lovelace wrote src/cart.py:";
    assert!(answers[1].contains(wrote) && answers[1].contains(" on 2024-01-01, in commit acme/shop@"), "{said:?}");
    assert!(answers[1].contains("Add the cart"), "{said:?}");
    // That answer has sources too.
    assert!(answers[2].contains("Ada Lovelace wrote it on 2024-01-01, in commit acme/shop@"), "{said:?}");
}

#[test]
fn a_follow_up_names_what_the_last_answer_belongs_to() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let asked = "Why did we choose Redis over Memcached?\nwhere was this discussed?\nwhich merge request was that?\n\
        and which commit?\nwhich issue?\nin which release?\n";
    let said = sandbox.run_with_input(&["chat"], asked);
    assert_eq!(said.code, 0, "{said:?}");
    let answers: Vec<&str> = said.stdout.split("> ").skip(1).collect();
    let holds = |at: usize, sentence: &str| assert!(answers[at].contains(sentence), "{sentence}: {said:?}");
    holds(1, "It was discussed in issue acme/shop#3 Choose a cache for product pages. [1]");
    holds(1, "/acme/shop/-/issues/3#note_1016 [1] · @alice · 2023-11-07");
    holds(2, "It was merge request acme/shop!1 Cache product pages in Redis. [1]");
    holds(2, "/acme/shop/-/merge_requests/1 [1] · @bob · 2023-11-20");
    holds(3, "It was commit acme/shop@a3f1c25e, which has not been read. [1]");
    holds(4, "It was issue acme/shop#3 Choose a cache for product pages. [1]");
    holds(5, "The release of acme/shop#3 Choose a cache for product pages is not known. [1]");
}

#[test]
fn a_follow_up_about_lines_names_their_commit_and_release() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let asked = "Why must rounding not happen in the total of the cart?\nwhich commit?\nin which release was it shipped?\n\
        which merge request?\n";
    let said = sandbox.run_with_input(&["chat"], asked);
    let answers: Vec<&str> = said.stdout.split("> ").skip(1).collect();
    let commit = format!("commit acme/shop@{} Add the cart", &shop.sha("main~1").to_string()[..8]);
    assert!(answers[1].contains(&format!("It was {commit}. [1]")), "{said:?}");
    assert!(answers[1].contains(" [1] · Ada Lovelace · 2024-01-01"), "{said:?}");
    assert!(answers[2].contains(&format!("It first shipped in v1 of 2024-01-01, with {commit}. [1]")), "{said:?}");
    assert!(answers[3].contains(&format!("The merge request of {commit} is not known. [1]")), "{said:?}");
}

#[test]
fn a_follow_up_asks_what_a_commit_changed_and_whether_it_still_holds() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let asked = "Why are sessions kept in Redis rather than in memcached?\nwhich commit was that?\nwhich files did it change?\n\
        show me the code\nis it still so?\nwho reviewed it?\n";
    let said = sandbox.run_with_input(&["chat"], asked);
    assert_eq!(said.code, 0, "{said:?}");
    let answers: Vec<&str> = said.stdout.split("> ").skip(1).collect();
    let holds = |at: usize, text: &str| assert!(answers[at].contains(text), "{text}: {said:?}");
    let commit = format!("commit acme/shop@{} feat: keep sessions in Redis", &shop.sha("main~2").to_string()[..8]);
    holds(2, &format!("It changed 2 files, in {commit}: README.md (new, +3 −0), src/session.py (new, +7 −0). [1]"));
    holds(3, "    def load(key):\n");
    holds(3, &format!("This is src/session.py:1-7, from {commit}."));
    holds(4, "src/session.py:1-7 still says so, at the indexed head ");
    holds(5, "The reviewer of src/session.py:1-7 is not known.");
}

#[test]
fn a_follow_up_asks_who_reviewed_a_merge_request_and_where_it_stands() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let asked = "Why did we choose Redis over Memcached?\nis that still so?\nand who reviewed it?\n";
    let said = sandbox.run_with_input(&["chat"], asked);
    let answers: Vec<&str> = said.stdout.split("> ").skip(1).collect();
    assert!(answers[1].contains("Where it stands: merged in acme/shop!1 on 2023-12-01. [1]"), "{said:?}");
    let reviews = "Merge request acme/shop!1 Cache product pages in Redis: reviewed by @alice, approved by @alice, merged by @bob.";
    assert!(answers[2].contains(reviews), "{said:?}");
}

#[test]
fn a_follow_up_with_a_pronoun_is_searched_with_what_was_asked_before() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let asked = "Why did we choose Redis over Memcached?\nwhat hit rate did it have in the staging test?\n";
    let said = sandbox.run_with_input(&["chat"], asked);
    let answers: Vec<&str> = said.stdout.split("> ").skip(1).collect();
    assert!(answers[1].contains("The hit rate in the staging test was 94 %."), "{said:?}");
}

#[test]
fn a_follow_up_with_words_of_its_own_is_asked_with_them() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let asked = "Why did we choose Redis over Memcached?\nand what about its hit rate?\n";
    let said = sandbox.run_with_input(&["chat"], asked);
    let answers: Vec<&str> = said.stdout.split("> ").skip(1).collect();
    assert!(answers[1].contains("The hit rate in the staging test was 94 %."), "{said:?}");
    assert!(answers[1].contains(" · @carol · 2023-11-08"), "{said:?}");
}

#[test]
fn chats_are_kept_listed_continued_and_forgotten() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    expect!["There are no chats; 'backstory chat' starts one.\n"]
        .assert_eq(&sandbox.run(&["chat", "--list"]).ok().stdout);
    let first = sandbox.run_with_input(&["chat", "--project", "acme/shop"], "Why token bucket?\n");
    assert!(first.stderr.contains("note: this is chat 1; 'backstory chat --continue 1' continues it\n"), "{first:?}");
    sandbox.run_with_input(&["chat"], "");
    let chats = sandbox.run(&["chat", "--list", "--json"]).ok().json();
    let of = |field: &str| chats.as_array().unwrap().iter().map(|chat| chat[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("id"), ["2", "1"]);
    assert_eq!(of("message_count"), [json!(0), json!(2)]);
    assert_eq!(of("title"), [json!(null), json!("Why token bucket?")]);
    assert_eq!(of("created_by"), [json!("owner"), json!("owner")]);
    let _server = sandbox.serve();
    let second = sandbox.run_with_input(&["chat", "--continue", "1"], "Why did we choose Redis over Memcached?\n");
    assert!(second.stdout.starts_with("> Why token bucket?\n"), "{second:?}");
    assert!(second.stdout.contains("> Why did we choose Redis over Memcached?\n"), "{second:?}");
    assert_eq!(sandbox.run(&["chat", "--remove", "1"]).ok().stdout, "Deleted chat 1\n");
    expect!["there is no chat 1; 'backstory chat --list' lists them"]
        .assert_eq(sandbox.run(&["chat", "--remove", "1"]).error(1));
    sandbox.run(&["chat", "--continue", "1"]).error(1);
}

#[test]
fn secrets_in_questions_are_not_kept() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let token = format!("glpat-{}", "a1B2c3D4e5F6g7H8i9J0");
    let said = sandbox.run_with_input(&["chat"], &format!("Why is {token} our token bucket?\n"));
    assert_eq!(said.code, 0, "{said:?}");
    let again = sandbox.run_with_input(&["chat", "--continue", "1"], "");
    assert!(again.stdout.contains("[redacted:gitlab-token:"), "{again:?}");
    for file in std::fs::read_dir(sandbox.data()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(token.len()).any(|window| window == token.as_bytes()), "{}", path.display());
        }
    }
}
