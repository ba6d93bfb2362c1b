//! Tests of the classification of changes.

use proptest::prelude::*;

use super::*;

fn file(path: &str, status: FileStatus, added: u32, deleted: u32) -> FileChange<'_> {
    FileChange { path, status, added, deleted }
}

fn modified(path: &str) -> FileChange<'_> {
    file(path, FileStatus::Modified, 10, 3)
}

fn check(subject: &str, files: &[FileChange<'_>], kind: ChangeType, rule: Rule) {
    let found = classify(subject, files);
    assert_eq!((found.main.kind, found.main.rule), (kind, rule), "{subject}: {found:?}");
}

#[test]
fn prefix_decides_first() {
    let source = [modified("src/a.rs")];
    for (subject, kind) in [
        ("feat: cart", ChangeType::Feature),
        ("fix(cart): x", ChangeType::Bugfix),
        ("Fix: x", ChangeType::Bugfix),
        ("perf(core)!: x", ChangeType::Performance),
        ("docs: x", ChangeType::Documentation),
        ("test: x", ChangeType::Test),
        ("build(deps): bump a from 1 to 2", ChangeType::Dependency),
        ("chore(deps): x", ChangeType::Dependency),
        ("fix(deps): x", ChangeType::Dependency),
        ("chore(ci): x", ChangeType::Configuration),
        ("ci: x", ChangeType::Configuration),
        ("style: x", ChangeType::Cleanup),
        ("refactor: x", ChangeType::Refactor),
        ("fix(security): x", ChangeType::Security),
    ] {
        check(subject, &source, kind, Rule::Prefix);
    }
    assert!(classify("feat(api)!: drop v1", &source).breaking);
    check("chore: remove dead code", &source, ChangeType::Cleanup, Rule::Words);
    check("cart: fix a crash", &source, ChangeType::Bugfix, Rule::Words);
}

#[test]
fn files_of_one_purpose_decide_next() {
    check("update", &[modified("README.md"), modified("docs/a.png")], ChangeType::Documentation, Rule::Paths);
    check("fix flakes", &[modified("tests/a.rs")], ChangeType::Test, Rule::Paths);
    check("new versions", &[modified("package.json"), modified("yarn.lock")], ChangeType::Dependency, Rule::Paths);
    check("tweak", &[modified(".github/workflows/ci.yml")], ChangeType::Configuration, Rule::Paths);
    check(
        "bump actions/checkout from 3 to 4",
        &[modified(".github/workflows/ci.yml")],
        ChangeType::Dependency,
        Rule::Paths,
    );
    check("v1.2.3", &[modified("Cargo.toml"), modified("CHANGELOG.md")], ChangeType::Configuration, Rule::Paths);
}

#[test]
fn words_and_shape_decide_the_rest() {
    let source = [modified("src/a.rs")];
    check("Add wish lists", &source, ChangeType::Feature, Rule::Words);
    check("Crash when the cart is empty", &source, ChangeType::Bugfix, Rule::Words);
    check("Rename Cart to Basket", &source, ChangeType::Refactor, Rule::Words);
    check("Speed up the search", &source, ChangeType::Performance, Rule::Words);
    check("Patch CVE-2024-1234", &source, ChangeType::Security, Rule::Words);
    check("Gone", &[file("src/a.rs", FileStatus::Deleted, 0, 90)], ChangeType::Cleanup, Rule::Shape);
    check("Basket", &[file("src/b.rs", FileStatus::Added, 90, 0)], ChangeType::Feature, Rule::Shape);
}

#[test]
fn mixed_changes_have_secondary_types() {
    let files = [modified("src/a.rs"), modified("tests/a.rs"), modified("README.md")];
    let found = classify("fix: x", &files);
    let kinds: Vec<_> = found.secondary.iter().map(|typed| typed.kind).collect();
    assert!(kinds.contains(&ChangeType::Test) && kinds.contains(&ChangeType::Documentation), "{found:?}");
}

#[test]
fn tells_what_files_are_for() {
    for (path, kind) in [
        ("Cargo.lock", PathKind::Manifest),
        ("web/package.json", PathKind::Manifest),
        ("requirements-dev.txt", PathKind::Manifest),
        (".github/workflows/ci.yml", PathKind::Configuration),
        ("vite.config.ts", PathKind::Configuration),
        (".eslintrc", PathKind::Configuration),
        ("docs/guide/index.html", PathKind::Documentation),
        ("CHANGELOG.md", PathKind::Documentation),
        ("LICENSE", PathKind::Documentation),
        ("src/a.test.ts", PathKind::Test),
        ("src/a.ts", PathKind::Source),
        ("locale/en.json", PathKind::Source),
    ] {
        assert_eq!(path_kind(path), kind, "{path}");
    }
}

#[test]
fn names_read_back() {
    for kind in ChangeType::ALL {
        assert_eq!(ChangeType::from_name(kind.as_str()), Some(kind));
    }
}

proptest! {
    #[test]
    fn confidences_are_shares(subject in "\\PC{0,60}", added in 0u32..1000, deleted in 0u32..1000, path in "[a-z./]{0,20}") {
        let found = classify(&subject, &[file(&path, FileStatus::Modified, added, deleted)]);
        for typed in std::iter::once(&found.main).chain(&found.secondary) {
            prop_assert!((0.0..=1.0).contains(&typed.confidence), "{found:?}");
        }
        prop_assert!(found.secondary.iter().all(|typed| typed.kind != found.main.kind));
    }
}
