//! Tests of what messages say, as `tests/data/commit_messages.toml` lists it, and of what parsing must keep.

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::reference::Forge;

#[derive(Deserialize)]
struct Table {
    case: Vec<Case>,
}

/// A message and everything it says; what is left out is expected to be empty.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    forge: String,
    message: String,
    #[serde(default)]
    closes: Vec<String>,
    #[serde(default)]
    fixes: Vec<String>,
    #[serde(default)]
    merged: Vec<String>,
    #[serde(default)]
    reverts: Vec<String>,
    #[serde(default)]
    picks: Vec<String>,
    #[serde(default)]
    corrects: Vec<String>,
    #[serde(default)]
    mentions: Vec<String>,
}

impl Case {
    fn expected(&self) -> BTreeSet<String> {
        let lists = [
            ("closes", &self.closes),
            ("fixes", &self.fixes),
            ("merged", &self.merged),
            ("reverts", &self.reverts),
            ("picks", &self.picks),
            ("corrects", &self.corrects),
            ("mentions", &self.mentions),
        ];
        lists.iter().flat_map(|(name, list)| list.iter().map(move |id| format!("{name} {id}"))).collect()
    }

    fn found(&self) -> BTreeSet<String> {
        let (forge, forge_url) = match self.forge.as_str() {
            "gitlab" => (Forge::GitLab, "https://gitlab.example.com"),
            "github" => (Forge::GitHub, "https://github.com"),
            other => panic!("no forge '{other}'"),
        };
        let found = parse_references(&self.message, ReferenceContext { forge, project: "acme/shop", forge_url });
        let earlier = |earlier: &RelatedChange| match earlier {
            RelatedChange::Commit { project, sha } => format!("{project}@{sha}"),
            RelatedChange::Request(id) => id.to_string(),
            RelatedChange::Subject(subject) => format!("\"{subject}\""),
        };
        let mut lines = BTreeSet::new();
        for closing in &found.closes {
            let verb = if closing.kind == ClosingVerb::Fixes { "fixes" } else { "closes" };
            lines.insert(format!("{verb} {}", closing.issue));
        }
        lines.extend(found.introduced_by.iter().map(|carrier| format!("merged {}", carrier.request)));
        lines.extend(found.reverts.iter().map(|target| format!("reverts {}", earlier(target))));
        lines.extend(found.cherry_picks.iter().map(|target| format!("picks {}", earlier(target))));
        lines.extend(found.corrects.iter().map(|correction| format!("corrects {}", earlier(&correction.target))));
        lines.extend(found.mentions.iter().map(|id| format!("mentions {id}")));
        lines
    }
}

fn table() -> Vec<Case> {
    let table: Table = toml::from_str(include_str!("../../../../tests/data/commit_messages.toml")).unwrap();
    table.case
}

#[test]
fn finds_what_the_forges_document_and_nothing_else() {
    let cases = table();
    assert!(cases.len() >= 140, "{} cases", cases.len());
    for forge in ["gitlab", "github"] {
        let (mut right, mut extra, mut missing) = (0, Vec::new(), Vec::new());
        for case in cases.iter().filter(|case| case.forge == forge) {
            let (expected, found) = (case.expected(), case.found());
            right += expected.intersection(&found).count();
            extra.extend(found.difference(&expected).map(|line| format!("{line} in {:?}", case.message)));
            missing.extend(expected.difference(&found).map(|line| format!("{line} in {:?}", case.message)));
        }
        let of = |others: usize| right as f64 / (right + others) as f64;
        let (precision, recall) = (of(extra.len()), of(missing.len()));
        assert!(right >= 70 && precision >= 0.99 && recall >= 0.99, "{forge}: {extra:#?} {missing:#?}");
        assert!(extra.is_empty() && missing.is_empty(), "{forge}: extra {extra:#?} missing {missing:#?}");
    }
}

#[test]
fn takes_a_message_apart() {
    let message = "Add login\n over two lines\n\nBody one.\n\nBody two.\n\nFixes: #4\nSigned-off-by: Ann Lee\n <ann@example.com>\n";
    let parts = Message::parse(message);
    assert_eq!(parts.subject, "Add login over two lines");
    assert_eq!((parts.body.as_str(), parts.body_line), ("Body one.\n\nBody two.", 4));
    let trailers: Vec<_> = parts.trailers.iter().map(|t| (t.key.as_str(), t.value.as_str(), t.line)).collect();
    assert_eq!(trailers, [("Fixes", "#4", 8), ("Signed-off-by", "Ann Lee <ann@example.com>", 9)]);
    assert_eq!(parts.trailers[1].identity(), Some(("Ann Lee", "ann@example.com")));
}

#[test]
fn knows_trailers_as_git_does() {
    let keys =
        |message: &str| Message::parse(message).trailers.iter().map(|t| t.key.clone()).collect::<Vec<_>>().join(" ");
    assert_eq!(keys("fix: subject"), "", "the subject is no trailer");
    assert_eq!(keys("s\n\nbody\nRefs: #1"), "", "not every line is one");
    assert_eq!(keys("s\n\nbody\nRefs: #1\nSigned-off-by: A <a@b.c>"), "Refs Signed-off-by", "git wrote one");
    assert_eq!(keys("s\n\na\nb\nc\nd\ne\nSigned-off-by: A <a@b.c>"), "", "less than a quarter");
    assert_eq!(keys("s\n\nRefs: #1\n\nbody"), "", "not the last paragraph");
    assert_eq!(keys("s\n\nRefs: #1\n\n\n"), "Refs");
    assert_eq!(keys("s\n\nRefs: #1\n\nConflicts:\n\ta.rs"), "Refs", "a list of conflicts is no text");
    assert_eq!(keys("s\n\nChange-Id : I1\nAcked-by:B"), "Change-Id Acked-by");
    assert_eq!(keys("s\n\nsee https://x: y"), "", "a key has no spaces in it");
    assert_eq!(keys("s\n\n(cherry picked from commit 1a2b3c4)\nsome words\nRefs: #1"), "Refs");
}

#[test]
fn says_which_pattern_names_the_request() {
    let context = ReferenceContext { forge: Forge::GitHub, project: "acme/shop", forge_url: "https://github.com" };
    let pattern =
        |message: &str| parse_references(message, context).introduced_by.first().map(|carrier| carrier.pattern);
    assert_eq!(pattern("Merge pull request #1 from a/b"), Some(MentionPattern::MergePullRequest));
    assert_eq!(pattern("Title (#1)"), Some(MentionPattern::SubjectSuffix));
    assert_eq!(pattern("Title (#1)\n\nPR-URL: https://github.com/acme/shop/pull/2"), Some(MentionPattern::Trailer));
    assert_eq!(pattern("Title #1"), None);
    let branch =
        parse_references("Merge branch 'fix/a' into 'main'\n\nSee merge request !1", context).merged_branch.unwrap();
    assert_eq!((branch.source.as_str(), branch.target.as_deref()), ("fix/a", Some("main")));
    let branch = parse_references("Merge pull request #1 from ann/fix/a", context).merged_branch.unwrap();
    assert_eq!((branch.source.as_str(), branch.target), ("fix/a", None));
}

fn noted(message: &str) -> Vec<(u32, u32)> {
    design_notes(message).iter().map(|note| (note.first_line, note.last_line)).collect()
}

#[test]
fn finds_paragraphs_that_say_why() {
    let message = "Retry sign-in\n\nAdds a retry.\n\nThree attempts, because the provider drops about one\nrequest in a hundred under load.\n\nSee the handbook.\n";
    assert_eq!(noted(message), [(5, 6)]);
    assert_eq!(design_notes(message)[0].cues, ["because"]);
    assert_eq!(noted("s\n\nWe must not cache this: the token is bound to the address.\n"), [(3, 3)]);
    assert_eq!(
        noted(
            "s\n\n- short item\n- keep the old path as well, since otherwise the clients that were not updated would fail\n"
        ),
        [(4, 4)]
    );
}

#[test]
fn takes_no_other_text_for_a_note() {
    for body in [
        "because of this",
        "- Add the option foo instead of bar\n- Remove baz",
        "> we decided to do this because the old one was too slow for everybody",
        "```\nfailed because the server did not answer in time at all\n```",
        "    failed because the server did not answer in time at all",
        "2024-01-02 request failed because the server did not answer in time\n2024-01-02 retry",
        "<!-- Please say why, because otherwise nobody will understand this change later -->",
        "- [ ] I have added tests so that the change is covered in the long run and for good",
        "Bumps [foo](x) from 1 to 2 because of a security release notes entry that is here.",
        "Signed-off-by: Because Of <so.that@example.com>",
        "This adds a button to the page and a link to the footer of it.",
    ] {
        assert!(noted(&format!("subject\n\n{body}")).is_empty(), "{body}");
    }
}

proptest! {
    #[test]
    fn reads_any_message_without_panic_and_keeps_its_lines(message in "([a-zA-Z#!:@ '\"().0-9-]{0,12}\n{0,2}){0,20}") {
        let context = ReferenceContext { forge: Forge::GitHub, project: "acme/shop", forge_url: "https://github.com" };
        let _ = parse_references(&message, context);
        let parts = Message::parse(&message);
        let lines: Vec<&str> = message.lines().collect();
        for (at, line) in parts.body.lines().enumerate() {
            prop_assert_eq!(lines[parts.body_line as usize - 1 + at], line);
        }
        for note in design_notes(&message) {
            let range = note.first_line as usize - 1..note.last_line as usize;
            prop_assert_eq!(lines[range].join("\n"), note.text);
        }
    }
}
