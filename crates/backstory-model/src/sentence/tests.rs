use proptest::prelude::*;

use super::*;

fn shown(text: &str) -> Vec<&str> {
    split_sentences(text).into_iter().map(|piece| &text[piece.range]).collect()
}

#[test]
fn sentences_end_where_they_end() {
    assert_eq!(
        shown("We use Redis, e.g. for sessions. It is fast! Is it? See v1.2.3 of `a. B`. (Done.)"),
        ["We use Redis, e.g. for sessions.", "It is fast!", "Is it?", "See v1.2.3 of `a. B`.", "(Done.)"]
    );
    assert_eq!(shown("one line\nand the next.\n\nAnother"), ["one line\nand the next.", "Another"]);
    assert_eq!(shown("- first\n- second\n  goes on\n1. third"), ["first", "second\n  goes on", "third"]);
}

#[test]
fn a_row_of_badges_has_only_links() {
    for (text, expected) in [
        ("[![CI](https://ci.example.com/badge.svg)](https://ci.example.com)\n[[中文](https://example.com/zh)]", true),
        ("[Installation](#installation) · [How to use](#use)", true),
        ("![a picture](a.png)", true),
        ("See [the manual](https://example.com).", false),
        ("[We keep sessions in Redis](https://example.com/12)", false),
        ("It is fast.", false),
        ("[`Session`]", false),
        ("", false),
    ] {
        assert_eq!(has_only_links(text), expected, "{text}");
    }
}

/// The pieces with what each is.
fn shown_with_kinds(text: &str) -> Vec<(PieceKind, &str)> {
    split_sentences(text).into_iter().map(|piece| (piece.kind, &text[piece.range])).collect()
}

#[test]
fn each_item_of_a_list_ends_a_sentence() {
    assert_eq!(
        shown(
            "Reasons:\n- fast\n* [x] small\n+   old\n1. one\n  goes on\n2) two\n(3) three\n  • four\n- [ ] five\n\nThe end"
        ),
        ["Reasons:", "fast", "small", "old", "one\n  goes on", "two", "three", "four", "five", "The end"]
    );
    assert_eq!(shown("Two steps\n1. build\n2. run"), ["Two steps", "build", "run"]);
}

#[test]
fn an_item_that_others_said_is_no_sentence() {
    let text = "- our reason\n- > theirs\n* [pre-commit.ci] auto fixes\n- Signed-off-by: A <a@b>\n- ours again";
    assert_eq!(shown(text), ["our reason", "ours again"]);
    let foreign = ["> theirs", "  - > theirs", "* [pre-commit.ci] auto fixes", "<!-- hidden -->", "Acked-by: B"];
    assert!(foreign.into_iter().all(is_foreign));
    assert!(["We use ~~Redis~~", "<br>"].into_iter().all(is_foreign));
    assert!(!["", "- ours", "a > b", "***", "~~~sh"].into_iter().any(is_foreign));
}

#[test]
fn the_end_of_a_line_within_a_paragraph_ends_no_sentence() {
    let message =
        "Send mail from a queue\n\nThe mail server is slow at noon, and\ncustomers should not wait for it. It\nis.\n";
    assert_eq!(
        shown(message),
        [
            "Send mail from a queue",
            "The mail server is slow at noon, and\ncustomers should not wait for it.",
            "It\nis."
        ]
    );
    // What looks like a number of a list may be one of the sentence.
    assert_eq!(shown("It came with version\n8) and stayed"), ["It came with version\n8) and stayed"]);
    assert_eq!(shown("a value of -\n*emphasis* and\n-1"), ["a value of -\n*emphasis* and\n-1"]);
}

#[test]
fn headings_and_rules_without_a_full_stop_end_a_sentence() {
    use PieceKind::{Heading, Prose};
    assert_eq!(
        shown_with_kinds("Title\n=====\nText\n\nOther title\n---\nMore\n# Last #\nEnd"),
        [
            (Heading, "Title"),
            (Prose, "Text"),
            (Heading, "Other title"),
            (Prose, "More"),
            (Heading, "Last #"),
            (Prose, "End")
        ]
    );
    // A sentence is no title, whatever is drawn below it, and neither are several lines or an item.
    assert_eq!(
        shown_with_kinds("It is so.\n---\nOne\nand two\n---\n- item\n---\nlast\n***\nend"),
        ["It is so.", "One\nand two", "item", "last", "end"].map(|text| (Prose, text))
    );
    assert_eq!(
        shown("**Why**\nIt is fast\n\n**How:**\nBy **a** cache"),
        ["**Why**", "It is fast", "**How:**", "By **a** cache"]
    );
    assert_eq!(shown("**A** is **b**\nand c"), ["**A** is **b**\nand c"]);
}

#[test]
fn each_row_of_a_table_ends_a_sentence() {
    assert_eq!(
        shown("Times:\n| store | time |\n|:--|--:|\n| Redis | 3 ms |\n| MySQL | 30 ms |\nRedis it is"),
        ["Times:", "| store | time |", "| Redis | 3 ms |", "| MySQL | 30 ms |", "Redis it is"]
    );
}

#[test]
fn a_mark_of_code_that_nothing_closes_hides_nothing() {
    assert_eq!(shown("Don`t wait. It ends."), ["Don`t wait.", "It ends."]);
    assert_eq!(shown("```a. B``` is code. It ends.\n\nNext"), ["```a. B``` is code.", "It ends.", "Next"]);
}

#[test]
fn a_block_of_code_ends_with_at_least_as_many_marks_as_began_it() {
    use PieceKind::{Code, Prose};
    assert_eq!(
        shown_with_kinds("````md\n```sh\nmake. All\n```\n````\nEnd"),
        [(Code, "```sh\nmake. All\n```"), (Prose, "End")]
    );
}

#[test]
fn a_sentence_of_which_a_part_is_struck_out_is_no_piece() {
    assert_eq!(
        shown("We use ~~Redis~~ Valkey. It is fast. ~~It is old.~~ It is small."),
        ["It is fast.", "It is small."]
    );
    assert_eq!(shown("# ~~Old~~ title\n- ~~done\n  with~~\n- not done"), ["not done"]);
    // Neither code nor what single tildes stand before is struck out.
    let plain = "`~~a~~` takes ~5 s of ~6 since HEAD~1..HEAD~2, which ~~ is";
    assert_eq!(shown(plain), [plain]);
    assert_eq!(own_lines("We use ~~Redis~~ Valkey\n~~or not~~\nhere"), "We use  Valkey\nhere");
}

#[test]
fn comments_and_tags_end_what_they_part() {
    assert_eq!(
        shown("It is so. <!-- Say\nwhy. --> It stays <!-- or not --> there."),
        ["It is so.", "It stays", "there."]
    );
    assert_eq!(
        shown("<details>\n<summary>Why. How</summary>\n\nIt is fast.<br>It is small<br/>and\nold\n</details>\nEnd"),
        ["Why.", "How", "It is fast.", "It is small", "and\nold", "End"]
    );
    assert_eq!(shown("# <p align=\"center\">Title</p>"), ["Title"]);
    // A row is shown whole, and so is what only looks like a tag, or is code.
    for text in ["| a<br>b | c |", "H<sub>2</sub>O", "a `<br>` of Vec<Item>"] {
        assert_eq!(shown(text), [text]);
    }
    assert_eq!(
        join_wrapped_lines("| H<sub>2</sub>O<br>or |\n<details>\n`<b>` is\n<b>bold</b>"),
        "| H2O or |\n`<b>` is bold"
    );
    assert_eq!(own_lines("<details>\nIt is <b>fast</b> <!-- really -->\n</details>"), "It is fast ");
}

#[test]
fn diffs_and_commands_without_fences_are_code() {
    use PieceKind::{Code, Prose};
    assert_eq!(
        shown_with_kinds(
            "See:\n@@ -1,3 +1,3 @@ main\n-old. Line\n+New. Line\n \n ```\n\nIt is so.\n$ make \\\n    all\nIt costs\n$ 5"
        ),
        [
            (Prose, "See:"),
            (Code, "@@ -1,3 +1,3 @@ main\n-old. Line\n+New. Line\n \n ```"),
            (Prose, "It is so."),
            (Code, "$ make \\\n    all"),
            (Prose, "It costs\n$ 5"),
        ]
    );
    let diff = "diff --git a/x b/x\nindex 1a2b3c4..5d6e7f8 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\
        \\ No newline at end of file\n+a\n\\ No newline at end of file";
    assert_eq!(shown_with_kinds(&format!("{diff}\nEnd")), [(Code, diff), (Prose, "End")]);
    // Of the second hunk only the beginning was pasted, further in.
    assert_eq!(
        shown_with_kinds("  @@ -1,9 +1,9 @@\n  -a\n   b\n- c\n\nThis is why"),
        [(Code, "  @@ -1,9 +1,9 @@\n  -a\n   b"), (Prose, "c"), (Prose, "This is why")]
    );
    assert_eq!(join_wrapped_lines("So:\n$ make\n$ make install\nand\nall"), "So:\n$ make\n$ make install\nand all");
}

#[test]
fn lines_of_a_paragraph_are_joined_and_others_are_not() {
    let text = "We use  Redis:\n- it is\n  fast\n- it expires\n\nThe\nend.\n> said\n> so\n```\na  b\n\n  c\n```\nSigned-off-by: A <a@b.c>\n";
    assert_eq!(
        join_wrapped_lines(text),
        "We use Redis:\n- it is fast\n- it expires\nThe end.\n> said\n> so\n```\na  b\n  c\n```\nSigned-off-by: A <a@b.c>"
    );
    assert_eq!(join_wrapped_lines("one\nand two.\nThree"), "one and two. Three");
    assert_eq!(join_wrapped_lines(" \n"), "");
}

#[test]
fn items_that_follow_the_rest_of_an_item_are_not_joined() {
    assert_eq!(join_wrapped_lines("Very\n  2. small"), "Very\n2. small");
    assert_eq!(
        join_wrapped_lines("and\n   very.\n2) It is\n   small\n(3) and old"),
        "and very.\n2) It is small\n(3) and old"
    );
    // The next paragraph is none of an item.
    assert_eq!(
        join_wrapped_lines("Very\n\nIt came with version\n8) and stayed"),
        "Very\nIt came with version 8) and stayed"
    );
    // The first line may be a title.
    assert_eq!(join_wrapped_lines("**Why**\nIt is\nfast"), "**Why**\nIt is fast");
    assert_eq!(join_wrapped_lines("Why\n===\nIt is\nfast"), "Why\n===\nIt is fast");
}

#[test]
fn several_items_are_quoted_with_the_marker_of_the_first() {
    let text = "Reasons:\n  1. fast. Very\n  2. small\n\nThe end";
    let quoted = |from: &str, to: &str| {
        let (start, end) = (text.find(from).unwrap(), text.find(to).unwrap() + to.len());
        &text[include_list_marker(text, start..end)]
    };
    assert_eq!(quoted("fast", "small"), "1. fast. Very\n  2. small");
    // One item is quoted without it, and nothing else has one.
    assert_eq!(quoted("fast", "Very"), "fast. Very");
    assert_eq!(quoted("Very", "small"), "Very\n  2. small");
    assert_eq!(quoted("Reasons", "small"), "Reasons:\n  1. fast. Very\n  2. small");
    assert_eq!(include_list_marker("  * a\n  * b", 0..11), 0..11);
}

#[test]
fn blocks_of_code_are_quoted_with_their_fences() {
    let text = "Pass a function:\n```py\ndef gen():\n    yield 1\n\n```\n\nor an object:\n  ~~~\n  gen()\n  run()\n  ~~~\nThe end";
    let quoted = |from: &str, to: &str| {
        let (start, end) = (text.find(from).unwrap(), text.find(to).unwrap() + to.len());
        &text[include_fences(text, &(start..end))]
    };
    let first = "```py\ndef gen():\n    yield 1\n\n```";
    assert_eq!(quoted("def", "yield 1"), first);
    assert_eq!(quoted("Pass", "yield 1"), format!("Pass a function:\n{first}"));
    let second = "or an object:\n  ~~~\n  gen()\n  run()\n  ~~~";
    assert_eq!(quoted("def", "object:"), format!("{first}\n\nor an object:"));
    assert_eq!(quoted("or an", "run()"), second);
    // What ends within a block ends there, and prose has no fences.
    assert_eq!(quoted("  gen()\n  run", "gen()\n"), "~~~\n  gen()\n");
    assert_eq!(quoted("or an", "object:"), "or an object:");
    assert_eq!(quoted("The end", "The end"), "The end");
    assert_eq!(include_fences("Run:\n```\nmake", &(9..13)), 5..13);
    assert_eq!(
        join_wrapped_lines(quoted("def", "run()")),
        "```py\ndef gen():\n    yield 1\n```\nor an object:\n~~~\n  gen()\n  run()\n~~~"
    );
}

#[test]
fn what_others_said_is_no_piece() {
    let text = "> Why?\n\nBecause of it.\n\nSigned-off-by: A <a@b.c>\n<!-- say\nmore -->\n# Title\n```sh\nmake\n```\n";
    assert_eq!(shown(text), ["Because of it.", "Title", "make"]);
    let kinds: Vec<PieceKind> = split_sentences(text).into_iter().map(|piece| piece.kind).collect();
    assert_eq!(kinds, [PieceKind::Prose, PieceKind::Heading, PieceKind::Code]);
}

#[test]
fn what_programs_say_of_their_commits_is_no_piece() {
    let text =
        "Fix it.\n* [pre-commit.ci] auto fixes\nfor more information, see https://pre-commit.ci\n\n[arm] Use it.";
    assert_eq!(shown(text), ["Fix it.", "[arm] Use it."]);
}

#[test]
fn trailers_that_only_name_something_are_no_pieces() {
    let message = "Keep sessions in Redis\n\nThey were lost at noon.\n\n\
        Fixes: #12, acme/shop!7 and SHOP-3\nFixes: 1a2b3c4d5e6f (\"session: keep it\")\nCloses: https://example.com/12\n\
        See-also: https://example.com/a\n  https://example.com/b\nChange-Id: I8a1b2c3d\nLink:\thttps://example.com/c\n\
        Cc: Bob\nSuggested-by: Carol\nCommit-Queue: Ann Lee <ann@example.com>\nSigned-off-by: Al <al@example.com>\n\n";
    assert_eq!(shown(message), ["Keep sessions in Redis", "They were lost at noon."]);
}

#[test]
fn each_trailer_with_words_is_a_piece() {
    let message = "Keep sessions in Redis\n\nFixes: the loss of sessions\nBREAKING-CHANGE: keys of v1 are lost,\n \
        so people log in again\nRefs: #3\n  SHOP-4\nBefore: #5\nRelease-note: sessions stay\nTested-on: Linux 6\n";
    assert_eq!(
        shown(message),
        [
            "Keep sessions in Redis",
            "Fixes: the loss of sessions",
            "BREAKING-CHANGE: keys of v1 are lost,\n so people log in again",
            "Before: #5",
            "Release-note: sessions stay",
            "Tested-on: Linux 6",
        ]
    );
    // Between those that git itself wrote, other lines may stand.
    let message = "Title\n\nFixes: the loss\nBREAKING CHANGE: keys\nof v1\nSigned-off-by: Al <al@example.com>";
    assert_eq!(shown(message), ["Title", "Fixes: the loss", "BREAKING CHANGE: keys\nof v1"]);
    let quoted = "Fixes: the loss\nRefs: #3\nRelease-note: sessions\n  stay";
    assert_eq!(join_wrapped_lines(quoted), "Fixes: the loss\nRefs: #3\nRelease-note: sessions stay");
}

#[test]
fn what_looks_like_a_trailer_elsewhere_is_none() {
    // The first paragraph, one above another, one with other lines.
    assert_eq!(shown("Fixes: #12"), ["Fixes: #12"]);
    assert_eq!(shown("Title\n\nFixes: #12\nLink: #13\n\nThe end"), ["Title", "Fixes: #12\nLink: #13", "The end"]);
    assert_eq!(shown("Title\n\nIt is so\nFixes: #12"), ["Title", "It is so\nFixes: #12"]);
    assert_eq!(shown("Title\n\nFixes: #12\nit is so"), ["Title", "Fixes: #12\nit is so"]);
    assert_eq!(shown("Title\n\n```\nFixes: #12\nLink: #13"), ["Title", "Fixes: #12\nLink: #13"]);
}

#[test]
fn stems_have_parts_of_identifiers() {
    let found = stems("The getUserName of load_session caches");
    for stem in ["user", "nam", "load", "session", "cach"] {
        assert!(found.contains(stem), "{stem}: {found:?}");
    }
    assert!(!found.contains("the"));
}

#[test]
fn prose_is_quoted_without_code_tables_and_images() {
    let text = "It loops:\n```rust\nloop {}\n```\n| store | time |\n|---|---|\n| Redis | 3 ms |\n\n![build](https://a.b/c.svg)\n\
        [![score](https://a.b/d)](https://a.b/e)\nSee [the report][1].\n- at noon\n- at night\n  too\n\n\
        [1]: https://a.b/1\n[//]: # (end)\n";
    assert_eq!(own_blocks(text), ["It loops: See [the report][1].", "- at noon", "- at night too"]);
    assert_eq!(own_blocks("![a](b) shows it\n[arm]: use it"), ["![a](b) shows it [arm]: use it"]);
    assert!(own_blocks("| a | b |\n|---|---|").is_empty());
    assert_eq!(first_prose_line("| a | b |\n|---|---|\n\nIt is so").as_deref(), Some("It is so"));
}

#[test]
fn code_is_quoted_line_by_line_where_there_is_no_prose() {
    assert_eq!(own_blocks("```suggestion\nif late {\n    retry();\n\n}\n```\n"), ["if late {", "    retry();", "}"]);
    assert_eq!(own_blocks("> Why?\n\n$ make\n"), ["$ make"]);
}

#[test]
fn what_is_folded_is_quoted_only_where_there_is_nothing_else() {
    let folded = "<details>\n<summary>Notes</summary>\n\n- It is fast\n<DETAILS>\nold\n</DETAILS>\n</details>\n";
    assert_eq!(
        own_blocks(&format!("Bumps it.\n\n{folded}\nThe end, as `<details>` says")),
        ["Bumps it. The end, as `<details>` says"]
    );
    assert_eq!(own_blocks(folded), ["Notes", "- It is fast", "old"]);
}

/// Each line with each of them would take minutes here.
#[test]
fn very_much_that_programs_say_takes_no_time() {
    let text = format!("Begin\n\n{}\nEnd", "---\na:\n...\n".repeat(40_000));
    assert_eq!(own_blocks(&text), ["Begin End"]);
}

#[test]
fn what_programs_say_to_programs_is_not_quoted() {
    let message = "Bumps [x](https://a.b/x) from 1 to 2.\n- [Notes](https://a.b/n)\n\n---\nupdated-dependencies:\n\
        - dependency-name: x\n  dependency-type: direct:production\n...\n\nSigned-off-by: dependabot[bot] <a@b.c>";
    assert_eq!(own_blocks(message), ["Bumps [x](https://a.b/x) from 1 to 2.", "- [Notes](https://a.b/n)"]);
    assert!(!own_lines(message).contains("dependency"));
    // Below a rule somebody may go on, and YAML in a block is code.
    assert_eq!(own_blocks("One\n\n---\nNote: two\n\nand so on\n...\n"), ["One Note: two and so on ..."]);
    assert_eq!(own_blocks("```\n---\na: b\n...\n```"), ["---", "a: b", "..."]);
    let bot = "Bumps it.\n\nDependabot will resolve any conflicts with this PR as long as you don't alter it yourself.";
    assert_eq!(own_blocks(bot), ["Bumps it."]);
}

proptest! {
    #[test]
    fn pieces_lie_in_the_text_in_order(
        text in "([a-z.!?>#|` \n-]|é|```|<!--|~~|<br>|<b>|@@ -1,3 \\+1 @@\n|\\$ ){0,200}"
    ) {
        let mut end = 0;
        for piece in split_sentences(&text) {
            prop_assert!(piece.range.start >= end && piece.range.end > piece.range.start);
            end = piece.range.end;
            prop_assert!(!text[piece.range].is_empty());
        }
    }

    #[test]
    fn joining_lines_changes_no_word(text in "([a-z.!?>#|*` \n=-]|1\\. |é|```|<!--){0,200}") {
        let joined = join_wrapped_lines(&text);
        prop_assert!(joined.split_whitespace().eq(text.split_whitespace()));
    }

    #[test]
    fn a_list_marker_is_all_that_is_included(text in "([a-z. \n*-]|1\\. ){0,60}", from in 0usize..60, to in 0usize..60) {
        let range = from.min(text.len())..to.clamp(from, 60).min(text.len());
        let included = include_list_marker(&text, range.clone());
        prop_assert_eq!(included.end, range.end);
        prop_assert!(included.start <= range.start);
        prop_assert!(!text[included.start..range.start].contains(char::is_alphabetic));
    }
}
