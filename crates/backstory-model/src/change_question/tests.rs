use super::*;

/// What a question asks, and the words that name the subject.
fn read(text: &str) -> Option<(Option<ChangeFact>, ChangeDirection, String)> {
    ChangeQuestion::parse(text).map(|read| (read.fact, read.direction, read.names.join(" ")))
}

#[test]
fn questions_about_changes_of_the_past_are_read() {
    use ChangeDirection::{Added, Fixed, Removed};
    use ChangeFact::{Author, Commit, Release, Time};
    for (text, fact, direction, names) in [
        ("When was XML export removed?", Some(Time), Removed, "XML export"),
        ("Who introduced the retry queue?", Some(Author), Added, "retry queue"),
        ("who has deleted the old importer?", Some(Author), Removed, "importer"),
        ("Who was it that added `parse_header()`?", Some(Author), Added, "parse_header"),
        ("In which release was the --dry-run flag added?", Some(Release), Added, "--dry-run"),
        ("what version dropped the SOAP endpoint", Some(Release), Removed, "SOAP"),
        ("When did we drop support for Ruby 2.7?", Some(Time), Removed, "Ruby 2.7"),
        ("Since when did the project implement support for HTTP/2?", Some(Time), Added, "HTTP/2"),
        ("which commit deletes src/legacy.py?", Some(Commit), Removed, "src/legacy.py"),
        ("In which pull request was Server.start first introduced?", Some(Commit), Added, "Server.start"),
        ("In which release was the crash on empty input fixed?", Some(Release), Fixed, "crash"),
        ("Why was the cache of sessions removed?", None, Removed, "cache sessions"),
        ("why did they add rate limits?", None, Added, "rate limits"),
        ("Who was the first to add TLS support?", Some(Author), Added, "TLS"),
        ("which commit is the one that removed the retry queue?", Some(Commit), Removed, "retry queue"),
        ("When did XML export get removed?", Some(Time), Removed, "XML export"),
        ("do you know when the XML export was removed?", Some(Time), Removed, "XML export"),
        ("Can you tell me who added the retry queue?", Some(Author), Added, "retry queue"),
        ("Since which date has the project dropped Ruby 2.7?", Some(Time), Removed, "Ruby 2.7"),
    ] {
        assert_eq!(read(text), Some((fact, direction, names.to_owned())), "{text}");
    }
}

#[test]
fn a_fact_may_be_asked_for_at_the_end() {
    use ChangeFact::{Author, Commit, Release, Time};
    for (text, fact, names) in [
        ("Was CVE-2021-32765 fixed, and when?", Time, "CVE-2021-32765"),
        ("was the `leak` of keys fixed and when", Time, "leak keys"),
        ("Did we drop Ruby 2.7, and in which release?", Release, "Ruby 2.7"),
        ("Was dark mode added? If so, when?", Time, "dark mode"),
        ("Has XML export been removed, and by whom?", Author, "XML export"),
        ("Was XML export removed, and who?", Author, "XML export"),
        ("Were rate limits added and in what commit?", Commit, "rate limits"),
        ("Who added dark mode, and when?", Author, "dark mode"),
        ("When was the retry queue removed, and by whom?", Time, "retry queue"),
    ] {
        let read = ChangeQuestion::parse(text).map(|read| (read.fact, read.names.join(" ")));
        assert_eq!(read, Some((Some(fact), names.to_owned())), "{text}");
    }
    let question = ChangeQuestion::parse("Was `load_rows` added, and when?").unwrap();
    assert_eq!((question.subject.as_str(), question.is_code), ("load_rows", true));
    for text in ["Is the leak fixed, and when?", "Was it removed, and when?", "and when?", ","] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn the_end_of_a_use_is_a_removal() {
    use ChangeFact::{Release, Time};
    for (text, fact, names) in [
        ("Why does the shop not use Redis any more?", None, "Redis"),
        ("why doesn't shop use Redis anymore", None, "Redis"),
        ("Why do we no longer support Java 8?", None, "Java 8"),
        ("Why did they stop using Redis?", None, "Redis"),
        ("When did the shop stop supporting Java 8?", Some(Time), "Java 8"),
        ("In which release did we stop shipping the old importer?", Some(Release), "importer"),
    ] {
        assert_eq!(read(text), Some((fact, ChangeDirection::Removed, names.to_owned())), "{text}");
    }
    for text in [
        "Why does the shop not use Redis?",
        "Why does the shop use Redis?",
        "Does the shop no longer use Redis?",
        "Why do orders stop any more?",
        "When does the shop stop?",
        "why did",
        "do",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn who_wrote_code_asks_who_added_it() {
    use ChangeDirection::Added;
    use ChangeFact::Author;
    for (text, names) in [
        ("Who wrote load_session?", "load_session"),
        ("who originally authored the function total?", "total"),
        ("who has written Session?", "Session"),
        ("By whom was load_session written?", "load_session"),
        ("Who did write the retry queue?", "retry queue"),
        ("Who wrote escape?", "escape"),
    ] {
        let read = ChangeQuestion::parse(text).map(|read| (read.fact, read.direction, read.names.join(" ")));
        let expected = if names == "total" { "function total" } else { names };
        assert_eq!(read, Some((Some(Author), Added, expected.to_owned())), "{text}");
        assert!(ChangeQuestion::parse(text).unwrap().is_written, "{text}");
    }
    let code_name = |text: &str| ChangeQuestion::parse(text).unwrap().code_name;
    assert_eq!(code_name("Who wrote escape?").as_deref(), Some("escape"));
    assert_eq!((code_name("Who wrote the parser?"), code_name("Who added escape?")), (None, None));
    assert!(!ChangeQuestion::parse("Who added escape?").unwrap().is_written);
    for text in [
        "Who wrote it?",
        "Who wrote this code?",
        "who wrote the function?",
        "Who wrote about Redis?",
        "Who wrote that Redis is slow?",
        "Who wrote to the list?",
        "Who wrote issue #12?",
        "Who wrote the commit that added it?",
        "Who writes load_session?",
        "When was the log written?",
        "Why was Redis written in C?",
        "Who maintains the parser written in Rust?",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    // In a text such a word says nothing of a change.
    let question = ChangeQuestion::parse("Who added load_session?").unwrap();
    assert_eq!(question.fit_of("We wrote load_session"), None);
}

#[test]
fn what_happens_again_and_again_and_what_names_nothing_is_no_such_question() {
    for text in [
        "When is a session removed from the store?",
        "Who adds labels to issues?",
        "Why do we drop connections?",
        "How do I add a user?",
        "When was it removed?",
        "who added that?",
        "What was decided about Redis?",
        "Remove the cache of sessions",
        "Who reviewed the parser?",
        "When was this project created?",
        "Who created issue #12?",
        "When were merge requests 3 and 4 created?",
        "",
        "when? 🦀 …",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn the_verb_of_a_clause_is_not_that_of_the_question() {
    for text in [
        "Who reviewed the merge request that removed the retry option?",
        "Who reported the bug that was fixed in 2.1?",
        "Who asked for dark mode to be added?",
        "When was the decision to drop Python 2 made?",
        "Does the user who added the entry get notified?",
        "Did users complain when the --legacy flag was removed?",
        "What version of Node is required to create a plugin?",
        "In which release will dark mode be added?",
        "Who can add a label?",
        "When should we drop Python 2?",
        "Which commit broke the build after the cache was removed?",
        "Who said that XML export was dropped?",
        "Who complained about the removed retry option?",
        "Why did users ask whether dark mode was added?",
        "Which version of the library was dropped?",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn a_kind_of_thing_within_a_name_belongs_to_it() {
    for (text, names) in [
        ("Who added type hints?", "type hints"),
        ("Who added file upload?", "file upload"),
        ("When was command completion added?", "command completion"),
        ("When was field validation of forms added?", "field validation forms"),
        ("When was the completion command added?", "completion"),
        ("When was the option --quiet removed?", "--quiet"),
        ("Who added support for type hints?", "type hints"),
        ("Who added the implementation of dark mode?", "dark mode"),
        ("When was class Session removed?", "Session"),
        ("When were the HTTP endpoints dropped?", "HTTP"),
    ] {
        assert_eq!(read(text).map(|(.., names)| names).as_deref(), Some(names), "{text}");
    }
    let question = ChangeQuestion::parse("Who added file upload?").unwrap();
    assert_eq!(question.fit_of("Add file upload"), Some(StatedFit::Same));
    assert_eq!(question.fit_of("Add upload"), None);
    let question = ChangeQuestion::parse("when was the function total removed from src/cart.py?").unwrap();
    assert!(!question.is_code);
    assert_eq!((question.code_name.as_deref(), question.paths), (Some("total"), vec!["src/cart.py".to_owned()]));
    assert_eq!(ChangeQuestion::parse("Who added command completion?").unwrap().code_name, None);
}

#[test]
fn the_word_for_a_kind_of_thing_may_stand_on_either_side_of_its_name() {
    use StatedFit::{Part, Same};
    let fit = |question: &str, sentence: &str| ChangeQuestion::parse(question).unwrap().fit_of(sentence);
    let quoted = "Add module \"cart\" that implements carts and prices (RFC 7)";
    for question in [
        "when was the cart module added",
        "when was module cart added?",
        "When was the \"cart\" module added?",
        "Who introduced the module 'cart'?",
    ] {
        for sentence in [quoted, "Add module cart", "Add an experimental cart module", "shop: add the new cart module"]
        {
            assert_eq!(fit(question, sentence), Some(Same), "{question} {sentence}");
        }
    }
    for (kind, name) in [("flag", "quiet"), ("command", "prune"), ("file", "setup"), ("option", "strict")] {
        let (before, behind) = (format!("Add {kind} {name}"), format!("when was the {name} {kind} added?"));
        assert_eq!(fit(&behind, &before), Some(Same), "{behind} {before}");
    }
    assert_eq!(fit("when was cart added?", quoted), Some(Same));
    assert_eq!(fit("when was cart added?", "Add module cart"), Some(Part));
    let subject = |text: &str| ChangeQuestion::parse(text).unwrap().subject;
    assert_eq!(subject("When was the \"cart\" module added?"), "cart module");
    let elsewhere = ChangeQuestion::parse("When was the cart module added to the shop?").unwrap();
    assert_eq!(elsewhere.fit_of("Add module cart"), None);
    assert_eq!(elsewhere.without_context().fit_of("Add module cart"), Some(Same));
}

#[test]
fn what_an_option_or_ability_is_for_names_it() {
    use ChangeDirection::{Added, Removed};
    use ChangeFact::{Author, Release, Time};
    use StatedFit::{Opposite, Same};
    for (text, fact, direction, names) in [
        ("When was the option to disable colors removed?", Time, Removed, "disable colors"),
        ("Do you know when the option to disable colors was dropped?", Time, Removed, "disable colors"),
        ("Who added the ability to remove labels?", Author, Added, "remove labels"),
        ("In which release was the ability to add labels removed?", Release, Removed, "add labels"),
        ("Who removed the possibility to sort rows?", Author, Removed, "sort rows"),
        ("When was support for adding users dropped?", Time, Removed, "adding users"),
        ("When was the parameter for retries removed?", Time, Removed, "retries"),
        ("When was the flag --no-color to disable colors removed?", Time, Removed, "--no-color"),
    ] {
        assert_eq!(read(text), Some((Some(fact), direction, names.to_owned())), "{text}");
    }
    for text in ["When was the decision to remove labels made?", "Who asked for the option to be added?"] {
        assert_eq!(read(text), None, "{text}");
    }
    let fit = |question: &str, sentence: &str| ChangeQuestion::parse(question).unwrap().fit_of(sentence);
    for (sentence, expected) in [
        ("Remove the option to disable colors", Some(Same)),
        ("Remove option for disabling colors", Some(Same)),
        ("The option to disable colors was removed", Some(Same)),
        ("Add an option to disable colors", Some(Opposite)),
        ("Remove the option to sort rows", None),
        ("Remove the colors", None),
    ] {
        assert_eq!(fit("When was the option to disable colors removed?", sentence), expected, "{sentence}");
    }
    let added = "Who added the ability to remove labels?";
    assert_eq!(fit(added, "Add the ability to remove labels"), Some(Same));
    assert_eq!(fit(added, "Remove labels"), None);
}

#[test]
fn words_that_are_known_to_name_a_release_need_not_be_in_a_sentence() {
    for (text, release) in [
        ("When was XML export removed in v8?", "v8"),
        ("Who removed XML export in version 8?", "version 8"),
        ("Who removed XML export in Shop 8?", "Shop 8"),
    ] {
        let mut question = ChangeQuestion::parse(text).unwrap();
        assert_eq!(question.fit_of("Remove XML export"), None, "{text}");
        question.leave_out_context(release);
        assert_eq!(question.fit_of("Remove XML export"), Some(StatedFit::Same), "{text}");
    }
}

#[test]
fn a_prefix_says_what_was_done_to_what_follows_it() {
    use StatedFit::{Opposite, Part, Same};
    let fit = |question: &str, sentence: &str| ChangeQuestion::parse(question).unwrap().fit_of(sentence);
    for (sentence, expected) in [
        ("feat: dark mode", Some(Same)),
        ("feat(ui)!: dark mode", Some(Same)),
        ("feat(ui, forms): the new dark mode", Some(Same)),
        ("[Added] dark mode", Some(Same)),
        ("feat: dark mode for invoices", Some(Same)),
        ("feat: dark mode toggle", Some(Part)),
        ("Removed: dark mode", Some(Opposite)),
        ("Revert \"feat: dark mode\"", Some(Opposite)),
        ("revert: feat: dark mode", Some(Opposite)),
        ("docs: dark mode", None),
        ("feat: not dark mode", None),
        ("fix: dark mode", None),
    ] {
        assert_eq!(fit("When was dark mode added?", sentence), expected, "{sentence}");
    }
    for (sentence, expected) in [
        ("fix: memory leak in the parser", Some(Same)),
        ("fix(parser): memory leak", Some(Same)),
        ("bugfix: the memory leak of the parser", Some(Same)),
        ("fix: memory leak in the lexer", None),
        ("perf: memory leak in the parser", None),
    ] {
        assert_eq!(fit("When was the memory leak in the parser fixed?", sentence), expected, "{sentence}");
    }
}

#[test]
fn a_fix_of_something_else_that_mentions_the_subject_is_a_part_at_most() {
    let fit = |sentence: &str| ChangeQuestion::parse("When was the session bug fixed?").unwrap().fit_of(sentence);
    for (sentence, expected) in [
        ("Fix the session bug", Some(StatedFit::Same)),
        ("Fix session expiry", Some(StatedFit::Same)),
        ("Fix typo in the session docs", Some(StatedFit::Part)),
        ("Fix session docs", Some(StatedFit::Part)),
        ("fix: crash when a session is closed", Some(StatedFit::Part)),
        ("Fix the cart", None),
    ] {
        assert_eq!(fit(sentence), expected, "{sentence}");
    }
}

#[test]
fn what_is_said_beside_a_subject_may_belong_to_it() {
    for (question, told, elsewhere) in [
        ("Who added shell completion for PowerShell?", "shell completion for PowerShell", ""),
        ("In which release was shell completion for PowerShell added?", "shell completion for PowerShell", ""),
        ("When was the crash on empty input fixed?", "crash on empty input", ""),
        ("Who fixed `open_url` with spaces in 2.1?", "open_url with spaces", "in 2.1"),
        ("When was the leak in the parser fixed in 2.1?", "leak in the parser", "in 2.1"),
        ("Who removed colorama from the shop, and why?", "colorama", "from the shop"),
        ("When was depth added to the reader and tested?", "depth", "to the reader"),
        ("Who removed the retries parameter of fetch?", "retries parameter", ""),
        ("Who added dark mode?", "dark mode", ""),
    ] {
        let read = ChangeQuestion::parse(question).unwrap();
        assert_eq!((read.told.as_str(), read.elsewhere.as_str()), (told, elsewhere), "{question}");
    }
}

#[test]
fn a_pronoun_stands_for_the_subject_of_the_question_before() {
    let read =
        |text: &str| ChangeQuestion::parse_after(text, "Why was the retry queue added?").map(|read| read.subject);
    assert_eq!(read("and when was it removed again?").as_deref(), Some("retry queue"));
    assert_eq!(read("in which release did they drop that?").as_deref(), Some("retry queue"));
    assert_eq!(read("and why?"), None);
    assert_eq!(ChangeQuestion::parse_after("when was it removed?", "Why did we choose Redis?"), None);
}

#[test]
fn names_of_code_are_told_from_words() {
    let is_code = |text: &str| ChangeQuestion::parse(text).unwrap().is_code;
    for text in [
        "Who added load_session?",
        "when was the total function removed?",
        "Who introduced getUser?",
        "when was docs/old.md deleted?",
        "When was `retry` added?",
    ] {
        assert!(is_code(text), "{text}");
    }
    for text in
        ["When was Redis added?", "When was Java 8 support removed?", "when was the class of retry errors added?"]
    {
        assert!(!is_code(text), "{text}");
    }
}

#[test]
fn a_sentence_says_the_same_a_part_or_the_opposite() {
    use StatedFit::{Opposite, Part, Same};
    let removal = ChangeQuestion::parse("When was XML export removed?").unwrap();
    for (sentence, fit) in [
        ("Remove XML export", Some(Same)),
        ("fix(io): remove the deprecated XML export, which nobody used", Some(Same)),
        ("Drop support for XML export and YAML import", Some(Same)),
        ("XML export was removed", Some(Same)),
        ("No longer support XML export", Some(Same)),
        ("Revert \"Add XML export\"", Some(Same)),
        ("Remove XML export of invoices", Some(Part)),
        ("Since nobody used it, we removed XML export", Some(Part)),
        ("Add XML export", Some(Opposite)),
        ("feat: add XML export", Some(Opposite)),
        ("Support XML export", Some(Opposite)),
        ("We added XML export, and it was removed again", None),
        ("We don't remove XML export yet", None),
        ("Add tests for the XML export", None),
        ("Fix the XML export", None),
        ("XML export is slow", None),
        ("", None),
    ] {
        assert_eq!(removal.fit_of(sentence), fit, "{sentence}");
    }
    let version = ChangeQuestion::parse("when was support for Java 8 dropped?").unwrap();
    for (sentence, fit) in [
        ("drop support for Java 8 and 11", Some(Same)),
        ("Drop Java 7, 8 and 9", Some(Same)),
        ("Drop support for Java 11", None),
        ("Remove Java 8 from the matrix", Some(Same)),
        ("Remove Java 8 from the matrix of tests", Some(Part)),
        ("Add support for Java 8", Some(Opposite)),
    ] {
        assert_eq!(version.fit_of(sentence), fit, "{sentence}");
    }
    let support = ChangeQuestion::parse("When was CMake support added?").unwrap();
    for (sentence, fit) in [
        ("build: Add CMake support", Some(Same)),
        ("build: Add CMake option for hiding symbols", Some(Part)),
        ("travis: Add CMake", Some(Part)),
        ("Add warnings across the autotools, CMake, and Bazel support", None),
    ] {
        assert_eq!(support.fit_of(sentence), fit, "{sentence}");
    }
    let fixed = ChangeQuestion::parse("In which release was the crash on empty input fixed?").unwrap();
    assert_eq!(fixed.fit_of("Fix crash when the input is empty"), Some(Same));
    assert_eq!(fixed.fit_of("Fix crash when the disk is full"), None);
    assert_eq!(fixed.fit_of("Add a test for the crash on empty input"), None);
}

#[test]
fn what_is_done_at_a_place_that_is_not_of_the_program_is_done_there_only() {
    use StatedFit::{Part, Same};
    let question = ChangeQuestion::parse("In which release was Java 8 support dropped?").unwrap();
    for (sentence, fit) in [
        ("Remove support for Java 8 in tox.ini", Some(Part)),
        ("Drop Java 8 from .travis.yml", Some(Part)),
        ("Remove Java 8 from `.github/workflows/build.yml`", Some(Part)),
        ("Remove Java 8 from docs/install", Some(Part)),
        ("Drop Java 8 on CI", Some(Part)),
        ("Java 8 was removed from the README", Some(Part)),
        ("Remove Java 8 from the list of docs", Some(Part)),
        ("Remove Java 8 from the parser", Some(Same)),
        ("Drop Java 8 to speed up tests", Some(Same)),
        ("Drop Java 8, which breaks in tests", Some(Same)),
        ("Drop Java 8. It fails in the docs.", Some(Same)),
    ] {
        assert_eq!(question.fit_of(sentence), fit, "{sentence}");
    }
    let question = ChangeQuestion::parse("When was dark mode added to the docs?").unwrap();
    assert_eq!(question.fit_of("Add dark mode to the docs"), Some(Same));
    let question = ChangeQuestion::parse("When was the crash fixed?").unwrap();
    assert_eq!(question.fit_of("Fix the crash in the examples"), Some(Part));
}

#[test]
fn values_and_short_names_of_an_option_are_none_of_its_name() {
    use StatedFit::Same;
    let question = ChangeQuestion::parse("When was --depth added?").unwrap();
    for (sentence, fit) in [
        ("Add --depth=<n> option", Some(Same)),
        ("Add `--depth <n>` option", Some(Same)),
        ("Added: New `--depth <n>`/`-d <n>` option", Some(Same)),
        ("Add `-d`/`--depth` option", Some(Same)),
        ("Add -d, --depth", Some(Same)),
        ("Add --depth (-d)", Some(Same)),
        ("Add the alias `-1` for `--depth=1`", None),
        ("Add --depth - a limit", Some(Same)),
    ] {
        assert_eq!(question.fit_of(sentence), fit, "{sentence}");
    }
    let question = ChangeQuestion::parse("When was the -1 option added?").unwrap();
    assert_eq!(question.fit_of("Add the -1 option"), Some(Same));
}

#[test]
fn what_is_done_to_more_of_a_thing_or_at_more_places_was_done_before() {
    use StatedFit::{Part, Same};
    let fit = |question: &str, sentence: &str| ChangeQuestion::parse(question).unwrap().fit_of(sentence);
    for (sentence, expected) in [
        ("Add retries in other places", Some(Part)),
        ("Added support for retries in some other places", Some(Part)),
        ("Add retries to more clients", Some(Part)),
        ("Add the retries to two additional clients", Some(Part)),
        ("Retries were added to another client", Some(Part)),
        ("Add more retries", Some(Part)),
        ("Add further support for retries", Some(Part)),
        ("Add support for more retries", Some(Part)),
        ("Add checks and more retries", Some(Part)),
        ("Add more checks and retries", Some(Same)),
        ("Add retries to more easily load rows", Some(Same)),
        ("Add retries, in other words patience", Some(Same)),
        ("Add retries. In other places there are none.", Some(Same)),
        ("Add retries to clients", Some(Same)),
        ("Support retries on older systems", Some(Part)),
        ("Support retries on more platforms", Some(Part)),
        ("Add retries to the man page", Some(Part)),
    ] {
        assert_eq!(fit("When were retries added?", sentence), expected, "{sentence}");
    }
    let retries = ChangeQuestion::parse("When were retries added?").unwrap();
    for (title, is_aside) in [
        ("Support retries on more platforms", true),
        ("docs: add retries", true),
        ("Add retries to the man page", true),
        ("Add retries", false),
        ("Add more checks and retries", false),
        ("Remove retries on more platforms", false),
        ("Patience", false),
    ] {
        assert_eq!(retries.is_told_aside(title), is_aside, "{title}");
    }
    assert_eq!(fit("When were `more_rows` added?", "Add `more_rows` to other places"), Some(Part));
    assert_eq!(fit("When were retries added in other places?", "Add retries in other places"), Some(Same));
    assert_eq!(fit("When were more retries added?", "Add more retries"), Some(Same));
    assert_eq!(fit("When was XML export removed?", "Remove XML export from more pages"), Some(Part));
    assert_eq!(fit("When was the crash fixed?", "Fix another crash"), Some(Part));
}

#[test]
fn what_is_done_for_a_test_is_done_there_only() {
    use StatedFit::{Part, Same};
    let fit = |question: &str, sentence: &str| ChangeQuestion::parse(question).unwrap().fit_of(sentence);
    for (sentence, expected) in [
        ("Added placeholders for choice test", Some(Part)),
        ("Add placeholders for the tests", Some(Part)),
        ("Add placeholders for our CI and the shop", Some(Part)),
        ("Add placeholders for the example in the shop", Some(Part)),
        ("Add placeholders for tests", Some(Same)),
        ("Add placeholders for running unit tests", Some(Same)),
        ("Add placeholders for the test runner", Some(Same)),
        ("Add placeholders for the shop, with a test", Some(Same)),
    ] {
        assert_eq!(fit("When were placeholders added?", sentence), expected, "{sentence}");
    }
    let question = "When were placeholders added for the choice test?";
    assert_eq!(fit(question, "Added placeholders for choice test"), Some(Same));
}

#[test]
fn a_name_of_code_may_stand_among_words_for_what_it_is_and_whose() {
    use StatedFit::{Named, Part, Same};
    let fit = |question: &str, sentence: &str| ChangeQuestion::parse(question).unwrap().fit_of(sentence);
    for (question, sentence, expected) in [
        ("Who deprecated load_rows?", "deprecate load_rows attribute", Some(Named)),
        ("Who deprecated load_rows?", "Deprecate `Store.load_rows`.", Some(Named)),
        ("Who deprecated load_rows?", "Deprecate :meth:`Store.load_rows`.", Some(Named)),
        ("Who deprecated load_rows?", "{func}`rows` and {func}`load_rows` are deprecated", Some(Same)),
        ("Who deprecated load_rows?", "Deprecate :func:`load_rows`", Some(Same)),
        ("When was the depth parameter removed?", "Remove deprecated Tree depth parameter", Some(Named)),
        ("When was depth added?", "Add a `depth` `treeReader` configuration member.", Some(Named)),
        ("Who added the depth field?", "Add a `depth` `treeReader` configuration member.", Some(Named)),
        ("When was PostGraph support added?", "Add PostGraph graph dump support", Some(Named)),
        ("When was `case_sensitive` added?", "Add `case_sensitive=False` as an option", Some(Same)),
        ("When was depth added?", "Add a depth reader member", Some(Part)),
        ("Who added load_rows?", "Add load_rows cache", Some(Part)),
        ("Who added load_rows?", "Add a load_rows test", Some(Part)),
        ("Who added load_rows?", "Add load_rows attribute to the docs", Some(Part)),
        ("Who added load_rows?", "Add checks of load_rows", Some(Part)),
        ("Who added load_rows?", "Tidy up the store and add load_rows attribute", Some(Part)),
        ("Who added PostGraph?", "Add PostGraph Store attribute", Some(Part)),
        ("Who added load_rows?", "Add tests for load_rows", None),
        ("Who removed load_rows?", "Fix the removal of load_rows attribute", Some(Part)),
    ] {
        assert_eq!(fit(question, sentence), expected, "{question} {sentence}");
    }
}

#[test]
fn what_is_said_beside_a_subject_may_be_said_within_it_and_be_the_end_of_a_name() {
    let fit = |question: &str, sentence: &str| ChangeQuestion::parse(question).unwrap().fit_of(sentence);
    let question = "who added shell completion for PowerShell?";
    assert_eq!(fit(question, "Add built-in PowerShell shell completion support"), Some(StatedFit::Same));
    assert_eq!(fit(question, "Add shell completion"), None);
    let question = "when was retries added to Command?";
    assert_eq!(fit(question, "Add retries to shop.Command"), Some(StatedFit::Same));
    assert_eq!(fit(question, "Add retries to Group"), None);
    let question = ChangeQuestion::parse("when was colorama removed from shop?").unwrap();
    assert_eq!(question.fit_of("remove colorama"), None);
    assert_eq!(question.within("acme/shop").fit_of("remove colorama"), Some(StatedFit::Same));
}

#[test]
fn a_title_may_have_the_names_of_what_is_asked_about_and_no_verb() {
    let question = ChangeQuestion::parse("Who added fish completion?").unwrap();
    for (title, is_named) in [
        ("fish completion", true),
        ("Fish completion of file names", true),
        ("Introduce completion for fish", true),
        ("Completion", false),
        ("Fix fish completion", false),
        ("Remove fish completion", false),
        ("Test fish completion", false),
        ("clean up the docs of fish completion", false),
        ("Add fish completion example", false),
        ("", false),
    ] {
        assert_eq!(question.is_named_by(title), is_named, "{title}");
    }
    let question = ChangeQuestion::parse("When was Java 8 support dropped?").unwrap();
    assert!(
        question.is_named_by("drop support for Java 8.1 and 9") && !question.is_named_by("drop support for Java 80")
    );
    assert!(is_aside("clean up docs") && is_aside("README.md: dark mode") && !is_aside("clean up"));
}

#[test]
fn a_title_that_is_the_subject_says_that_it_was_added() {
    let question = ChangeQuestion::parse("who added TLS support?").unwrap();
    for (title, fit) in [
        ("TLS support", Some(StatedFit::Same)),
        ("Initial TLS Support (#645)", Some(StatedFit::Same)),
        ("TLS support for clusters", None),
        ("TLS", None),
        ("Document TLS support", None),
    ] {
        assert_eq!(question.fit_of(title), fit, "{title}");
    }
    let question = ChangeQuestion::parse("when was TLS support removed?").unwrap();
    assert_eq!(question.fit_of("TLS support"), None);
    let question = ChangeQuestion::parse("who added the parse_all decorator?").unwrap();
    assert!(question.is_code);
    assert_eq!(question.names, ["parse_all"]);
}

#[test]
fn a_dependency_on_something_and_its_use_are_named_after_it() {
    let question = ChangeQuestion::parse("Why was memoffset removed?").unwrap();
    for title in [
        "Remove memoffset",
        "Remove dependency on memoffset",
        "Drop the memoffset crate",
        "Remove use of memoffset",
        "Remove memoffset dependency (#12)",
    ] {
        assert_eq!(question.fit_of(title), Some(StatedFit::Same), "{title}");
    }
    assert_eq!(question.fit_of("Remove comment on memoffset"), None);
}

#[test]
fn what_is_deprecated_is_neither_added_nor_removed() {
    use ChangeDirection::{Deprecated, Removed};
    use ChangeFact::{Author, Release, Time};
    use StatedFit::{Part, Same};
    for (text, fact, direction) in [
        ("When was XML export deprecated?", Time, Deprecated),
        ("Who deprecated XML export?", Author, Deprecated),
        ("In which release was XML export deprecated in favor of CSV?", Release, Deprecated),
        ("When was the deprecated XML export removed?", Time, Removed),
        ("Who removed the deprecated XML export?", Author, Removed),
    ] {
        assert_eq!(read(text), Some((Some(fact), direction, "XML export".to_owned())), "{text}");
    }
    let question = ChangeQuestion::parse("When was XML export deprecated?").unwrap();
    for (sentence, expected) in [
        ("Deprecate XML export", Some(Same)),
        ("Deprecated: XML export", Some(Same)),
        ("Deprecated XML export in favor of CSV", Some(Same)),
        ("Deprecation of XML export", Some(Same)),
        ("XML export is deprecated, use CSV", Some(Same)),
        ("XML export has been deprecated", Some(Same)),
        ("Deprecate XML export of invoices", Some(Part)),
        ("Deprecated XML export has been removed", None),
        ("Remove the deprecated XML export", None),
        ("Add XML export", None),
    ] {
        assert_eq!(question.fit_of(sentence), expected, "{sentence}");
    }
    let removal = ChangeQuestion::parse("When was XML export removed?").unwrap();
    for sentence in [
        "Remove deprecated XML export",
        "Removed all deprecated XML export",
        "Deprecated XML export has been removed",
        "Removed: deprecated XML export",
    ] {
        assert_eq!(removal.fit_of(sentence), Some(Same), "{sentence}");
    }
    assert_eq!(removal.fit_of("Deprecate XML export"), None);
}

#[test]
fn changelogs_say_it_in_nouns_and_of_support() {
    use StatedFit::{Opposite, Same};
    let fit = |question: &str, sentence: &str| ChangeQuestion::parse(question).unwrap().fit_of(sentence);
    for (question, sentence, expected) in [
        ("When were the login helpers removed?", "Removal of all login helpers", Some(Same)),
        ("When was dark mode added?", "Addition of a dark mode", Some(Same)),
        ("When was dark mode added?", "Introduction of dark mode", Some(Same)),
        ("When was dark mode added?", "\u{2728} Added dark mode", Some(Same)),
        ("When was dark mode removed?", "**Breaking:** Removed dark mode", Some(Same)),
        ("When was dark mode removed?", "Support for dark mode has been dropped", Some(Same)),
        ("When was dark mode removed?", "Support for dark mode and sounds was removed.", Some(Same)),
        ("When was dark mode added?", "Support for dark mode has been dropped", Some(Opposite)),
        ("When was dark mode added?", "Support for dark mode has been added", Some(Same)),
        ("When was dark mode added?", "Support for dark mode", Some(Same)),
        ("When was dark mode removed?", "no longer supports dark mode", Some(Same)),
        ("When was dark mode removed?", "Dark mode is no longer supported", Some(Same)),
        ("When was dark mode removed?", "Dark mode is not supported", None),
    ] {
        assert_eq!(fit(question, sentence), expected, "{question} {sentence}");
    }
}

#[test]
fn a_label_says_what_was_done_to_what_stands_under_it() {
    use ChangeDirection::{Added, Deprecated, Fixed, Removed};
    for (label, expected) in [
        ("Added", Some(Added)),
        ("### Added", Some(Added)),
        ("**Added:**", Some(Added)),
        ("🚀 New features", Some(Added)),
        ("Features", Some(Added)),
        ("New in this release:", Some(Added)),
        ("Bug Fixes", Some(Fixed)),
        ("Security fixes", Some(Fixed)),
        ("Removals", Some(Removed)),
        ("Removed deprecated functions:", Some(Removed)),
        ("Removed features", Some(Removed)),
        ("The following options were removed:", Some(Removed)),
        ("Deprecated", Some(Deprecated)),
        ("Deprecations and removals", None),
        ("Added / Changed", None),
        ("Changed", None),
        ("Not fixed", None),
        ("To be removed:", None),
        ("Removed in favor of:", None),
        ("Added `open`, with:", None),
        ("Added `option`", None),
        ("2.0", None),
        ("Bugs", None),
        ("", None),
    ] {
        assert_eq!(direction_of_label(label), expected, "{label}");
    }
}

#[test]
fn a_parameter_is_one_of_a_function() {
    for (text, name, function) in [
        ("When was the parameter `timeout` added to `get`?", "timeout", Some("get")),
        ("Who added the timeout parameter to the function get?", "timeout", Some("get")),
        ("Who removed the timeout argument of Session.get?", "timeout", Some("Session.get")),
        ("In which release was parameter timeout removed from get()?", "timeout", Some("get")),
        ("When was the `timeout` argument added?", "timeout", None),
    ] {
        let question = ChangeQuestion::parse(text).unwrap();
        let parameter = ParameterName { name: name.to_owned(), function: function.map(str::to_owned) };
        assert_eq!(question.parameter, Some(parameter), "{text}");
    }
    for text in ["When was the --quiet argument added?", "Who added the timeout of get?"] {
        assert_eq!(ChangeQuestion::parse(text).unwrap().parameter, None, "{text}");
    }
    let question = ChangeQuestion::parse("When was the parameter `timeout` added to `get`?").unwrap();
    assert_eq!(question.fit_of("Add a timeout parameter to `get`"), Some(StatedFit::Same));
    assert_eq!(question.fit_of("Add a timeout parameter to `post`"), None);
    assert_eq!(question.fit_of("Add type annotations to `timeout` of `get`"), None);
    assert_eq!(question.fit_of("Add `Get(timeout: int)` to wait less"), Some(StatedFit::Named));
    assert_eq!(question.fit_of("Add `get(retries: int)` to wait less"), None);
    assert_eq!(question.fit_of("Add tests of `get(timeout: int)`"), None);
}

#[test]
fn what_it_was_added_to_or_removed_from_may_be_a_definition() {
    for (text, names, owner) in [
        ("When was `help` added to Argument?", "help", Some("Argument")),
        ("When was `help` of the class Argument removed?", "help", Some("Argument")),
        ("Who removed load_rows from `importer`?", "load_rows", Some("importer")),
        ("When was load_rows added in src/load.py?", "load_rows", Some("src/load.py")),
        ("When was `help` added to the importer?", "help", None),
        ("When was `help` added?", "help", None),
        ("Who added the cache of Redis sessions?", "cache Redis sessions", None),
    ] {
        let question = ChangeQuestion::parse(text).unwrap();
        assert_eq!((question.names.join(" ").as_str(), question.owner.as_deref()), (names, owner), "{text}");
    }
}

#[test]
fn whether_something_was_done_is_told_by_when_it_was() {
    use ChangeDirection::{Added, Removed};
    let time = Some(ChangeFact::Time);
    for (text, direction, names) in [
        ("was load_rows removed?", Removed, "load_rows"),
        ("Is `load_rows` removed?", Removed, "load_rows"),
        ("Is the load function removed?", Removed, "load"),
        ("Has the Argument class been removed?", Removed, "Argument"),
        ("Was XML export dropped from the importer?", Removed, "XML export"),
        ("Did we drop support for Ruby 2.7?", Removed, "Ruby 2.7"),
        ("was dark mode ever added?", Added, "dark mode"),
    ] {
        assert_eq!(read(text), Some((time, direction, names.to_owned())), "{text}");
    }
    for text in [
        "Is a session removed from the store?",
        "Is the cart removed?",
        "Was the cache removed because it was slow?",
        "Was the decision to drop Python 2 made?",
        "Was it decided that the cache is removed?",
        "Is removed code kept?",
        "Was it removed?",
        "Does the importer drop rows?",
        "was?",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}
