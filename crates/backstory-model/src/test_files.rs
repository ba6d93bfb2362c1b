//! Determines which files are tests, of what kind, and what they test, by the conventions of common languages: names
//! and places only, no content.
//!
//! A test's name without what makes it one is its *subject*: `auth` for `auth_test.go`, `tests/test_auth.py`,
//! `AuthTest.java`, `__tests__/auth.ts`. A file is tested by the tests of its language whose subject is its own stem;
//! the nearer one is, the higher its confidence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Most paths that an index holds; further ones are left out.
pub const MAX_PATHS: usize = 2_000_000;
/// Most tests that one file is linked to, most confident first.
pub const MAX_TESTS: usize = 50;

/// Links that are less sure than this are left out.
const LEAST_CONFIDENCE: f32 = 0.1;

/// Kind of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestKind {
    /// Tests one unit of code.
    Unit,
    /// Tests several parts together.
    Integration,
    /// Tests the whole from outside.
    EndToEnd,
}

impl TestKind {
    /// Its name: `unit`, `integration` or `e2e`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::Integration => "integration",
            Self::EndToEnd => "e2e",
        }
    }
}

/// A test of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct TestLink {
    /// Path of the test.
    pub test: String,
    /// Kind of the test.
    pub kind: TestKind,
    /// How sure it is, 0 to 1.
    pub confidence: f32,
    /// Which convention says so.
    pub rule: TestRule,
}

/// Which convention links a test to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestRule {
    /// They stand in one directory, or the test in a directory for tests below it.
    Beside,
    /// Their directories are the same but for the names that divide tests from sources.
    Mirrored,
    /// The test's directory says less than the file's, or more.
    Nested,
    /// Only the names agree, and no other file has this one.
    NameOnly,
    /// The test's subject begins with the file's stem: `test_auth_login.py` for `auth.py`.
    Prefix,
    /// The test is named after an entity of the file.
    Entity,
}

/// Directories that hold tests.
const TEST_DIRS: [&str; 14] = [
    "t",
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "unit",
    "unittest",
    "integration",
    "e2e",
    "functional",
    "it",
    "testing",
    "androidtest",
];
/// Directories in which everything is there for tests.
const TEST_ROOTS: [&str; 9] =
    ["t", "test", "tests", "__tests__", "e2e", "cypress", "androidtest", "integration-tests", "playwright"];
/// Directories that divide sources from the rest and say nothing of what is in them.
const SOURCE_DIRS: [&str; 8] = ["src", "lib", "main", "java", "kotlin", "scala", "groovy", "python"];
/// Directories of what tests need but no tests.
const SUPPORT_DIRS: [&str; 9] =
    ["testdata", "test-data", "__snapshots__", "snapshots", "__mocks__", "mocks", "helpers", "support", "data"];
/// Extensions of programming languages; those of one family test each other.
const FAMILIES: [(&str, &[&str]); 18] = [
    ("js", &["ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts", "vue", "svelte"]),
    ("c", &["c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "m", "mm", "cu"]),
    ("jvm", &["java", "kt", "kts", "scala", "groovy"]),
    ("python", &["py", "pyx", "pyi"]),
    ("rust", &["rs"]),
    ("go", &["go"]),
    ("ruby", &["rb", "rake"]),
    ("php", &["php"]),
    ("dotnet", &["cs", "fs", "vb"]),
    ("swift", &["swift"]),
    ("elixir", &["ex", "exs"]),
    ("dart", &["dart"]),
    ("perl", &["pl", "pm", "t"]),
    ("shell", &["sh", "bash", "bats"]),
    ("haskell", &["hs"]),
    ("clojure", &["clj", "cljs", "cljc"]),
    ("erlang", &["erl"]),
    ("lua", &["lua"]),
];

fn family(extension: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|(_, extensions)| extensions.contains(&extension)).map(|(name, _)| *name)
}

/// A path in its parts.
struct Parts<'a> {
    dirs: Vec<&'a str>,
    /// File name up to its last dot.
    stem: &'a str,
    family: Option<&'static str>,
}

fn parts(path: &str) -> Parts<'_> {
    let (dirs, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    Parts { dirs: dirs.split('/').filter(|dir| !dir.is_empty()).collect(), stem, family: family(extension) }
}

/// What the name of a test is the test of; `None` if the name is not that of a test, `Some("")` if it is one but names no
/// more, as `tests.rs`.
fn subject_of_name(stem: &str, family: &str) -> Option<String> {
    let lower = stem.to_ascii_lowercase();
    if matches!(lower.as_str(), "test" | "tests" | "spec") {
        return Some(String::new());
    }
    // auth.test.ts, auth.integration.spec.ts, app.e2e-spec.ts, login.cy.ts
    if family == "js" {
        let marks = [".test", ".spec", ".cy", ".e2e-spec", ".e2e", ".unit", ".integration", ".int", "-spec", "-test"];
        let (mut rest, mut cut) = (lower.as_str(), false);
        while let Some(shorter) = marks.iter().find_map(|mark| rest.strip_suffix(mark)) {
            (rest, cut) = (shorter, true);
        }
        if cut {
            return Some(stem[..rest.len()].to_owned());
        }
    }
    let suffixes = ["_test", "_tests", "_spec", "_unittest", "-test", "-tests", "_e2e", "_integration_test", "_it"];
    if let Some(suffix) = suffixes.iter().filter(|suffix| lower.ends_with(*suffix)).max_by_key(|suffix| suffix.len()) {
        return Some(stem[..stem.len() - suffix.len()].to_owned());
    }
    if let Some(prefix) = ["test_", "test-", "spec_"].iter().find(|prefix| lower.starts_with(*prefix)) {
        return Some(stem[prefix.len()..].to_owned());
    }
    // AuthTest, AuthTests, AuthSpec, AuthIT; TestAuth
    let camel = ["IntegrationTests", "IntegrationTest", "UnitTest", "Tests", "Test", "TestCase", "Spec", "IT"];
    let cut = camel.iter().find_map(|suffix| stem.strip_suffix(suffix));
    if let Some(rest) = cut.filter(|rest| rest.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())) {
        return Some(rest.to_owned());
    }
    let rest = stem.strip_prefix("Test").filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    if let Some(rest) = rest {
        return Some(rest.to_owned());
    }
    (family == "perl" && lower.ends_with(".t")).then(|| stem.to_owned())
}

/// Subject of a test; `None` if the path is no test.
fn subject(path: &str, parts: &Parts<'_>) -> Option<String> {
    let family = parts.family?;
    let support = parts.dirs.iter().any(|dir| {
        let dir = dir.to_ascii_lowercase();
        SUPPORT_DIRS.contains(&dir.as_str()) || dir.contains("fixture")
    });
    if let Some(subject) = subject_of_name(parts.stem, family) {
        return Some(subject).filter(|_| !support || !subject_is_support(parts.stem));
    }
    let in_tests = parts.dirs.iter().any(|dir| TEST_ROOTS.contains(&dir.to_ascii_lowercase().as_str()))
        || (family == "perl" && path.ends_with(".t"));
    // Java and its kin keep helpers beside tests, and name every test as one; Rust puts parts of a test into `tests/x/`.
    let named = matches!(family, "jvm" | "go" | "python" | "ruby" | "php" | "dotnet" | "elixir" | "dart");
    let helper = support || subject_is_support(parts.stem);
    (in_tests && !named && !helper).then(|| parts.stem.to_owned())
}

fn subject_is_support(stem: &str) -> bool {
    let lower = stem.to_ascii_lowercase();
    ["helper", "util", "setup", "conftest", "common", "fixture", "mock", "support", "__init__"]
        .iter()
        .any(|word| lower.contains(word))
        || lower == "mod"
        || lower == "main"
}

/// Kind of the test at a path; `None` if there is none, as for what tests only need.
pub fn test_kind(path: &str) -> Option<TestKind> {
    let parts = parts(path);
    subject(path, &parts)?;
    let lower = path.to_ascii_lowercase();
    let has_dir = |names: &[&str]| parts.dirs.iter().any(|dir| names.contains(&dir.to_ascii_lowercase().as_str()));
    let name = lower.rsplit('/').next().unwrap_or_default();
    let end_to_end = ["e2e", "end-to-end", "end2end", "cypress", "playwright", "acceptance", "selenium", "system"];
    if has_dir(&end_to_end) || [".e2e", "_e2e", "-e2e", ".cy.", "e2e_"].iter().any(|mark| name.contains(mark)) {
        return Some(TestKind::EndToEnd);
    }
    let together = ["integration", "integration-tests", "integration_tests", "integrationtest", "it", "functional"];
    let rust_crate_test = parts.family == Some("rust")
        && parts.dirs.contains(&"tests")
        && parts.dirs.iter().rposition(|dir| *dir == "tests") > parts.dirs.iter().rposition(|dir| *dir == "src");
    let named = parts.stem.ends_with("IT") || name.contains("integration") || name.contains(".int.");
    if has_dir(&together) || rust_crate_test || named {
        return Some(TestKind::Integration);
    }
    Some(TestKind::Unit)
}

/// Whether a path is a test or something that only tests need: fixtures, snapshots, helpers.
pub fn belongs_to_tests(path: &str) -> bool {
    let parts = parts(path);
    let roots = |dir: &&str| {
        let dir = dir.to_ascii_lowercase();
        TEST_ROOTS.contains(&dir.as_str())
            || matches!(dir.as_str(), "testdata" | "__snapshots__" | "__mocks__" | "spec")
    };
    subject(path, &parts).is_some() || parts.dirs.iter().any(roots) || parts.stem == "conftest"
}

/// Lower case words joined by `_`, so that `UserService`, `user-service` and `user_service` are equal.
fn normalized(stem: &str) -> String {
    let mut out = String::with_capacity(stem.len() + 4);
    let mut before = '_';
    for c in stem.chars() {
        if c.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit()) {
            out.push('_');
        }
        out.extend(if matches!(c, '-' | '.' | ' ') { '_'.to_lowercase() } else { c.to_lowercase() });
        before = c;
    }
    out.trim_matches('_').to_owned()
}

/// The directories that say what a file is about.
fn about<'a>(dirs: &[&'a str]) -> Vec<&'a str> {
    let plain = |dir: &&&str| {
        let lower = dir.to_ascii_lowercase();
        !TEST_DIRS.contains(&lower.as_str()) && !SOURCE_DIRS.contains(&lower.as_str())
    };
    dirs.iter().filter(plain).copied().collect()
}

/// A test, as the index keeps it.
struct Test {
    path: String,
    kind: TestKind,
}

/// The tests among a set of paths, to be asked for those of a file.
pub struct TestIndex {
    /// Tests by family of their language and subject.
    tests: BTreeMap<(&'static str, String), Vec<Test>>,
    /// How many files that are no tests have a stem.
    sources: BTreeMap<(&'static str, String), usize>,
}

impl TestIndex {
    /// Takes in the paths of a repository; their order does not matter.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut index = Self { tests: BTreeMap::new(), sources: BTreeMap::new() };
        for path in paths.into_iter().take(MAX_PATHS) {
            let parts = parts(path);
            let Some(family) = parts.family else { continue };
            if let Some(kind) = test_kind(path) {
                let subject = subject(path, &parts).unwrap_or_default();
                let subject = own_stem(&subject, &parts.dirs);
                index.tests.entry((family, subject)).or_default().push(Test { path: path.to_owned(), kind });
            } else {
                *index.sources.entry((family, own_stem(parts.stem, &parts.dirs))).or_default() += 1;
            }
        }
        index
    }

    /// Tests of a file, most confident first; none for a test.
    pub fn tests_of(&self, path: &str) -> Vec<TestLink> {
        let parts = parts(path);
        let Some(family) = parts.family.filter(|_| test_kind(path).is_none()) else { return Vec::new() };
        let stem = own_stem(parts.stem, &parts.dirs);
        let key = (family, stem.clone());
        let namesakes = self.sources.get(&key).copied().unwrap_or(1).max(1);
        let mut found: Vec<TestLink> = Vec::new();
        for test in self.tests.get(&key).into_iter().flatten() {
            found.extend(near(&parts.dirs, test, namesakes));
        }
        let longer = format!("{stem}_");
        let range = self.tests.range((family, longer.clone())..);
        let prefixed = range.take_while(|((other, subject), _)| *other == family && subject.starts_with(&longer));
        for ((_, subject), tests) in prefixed.take(MAX_TESTS) {
            // A longer name that another file has is that file's.
            if self.sources.contains_key(&(family, subject.clone())) {
                continue;
            }
            let near_enough = tests.iter().filter_map(|test| near(&parts.dirs, test, namesakes));
            found.extend(near_enough.filter(|link| link.rule <= TestRule::Nested).map(|link| TestLink {
                confidence: link.confidence * 0.6,
                rule: TestRule::Prefix,
                ..link
            }));
        }
        sorted(found)
    }

    /// Tests of an entity of a file, a class or function by its plain name: those named after it, then those of the
    /// file.
    pub fn tests_of_entity(&self, path: &str, name: &str) -> Vec<TestLink> {
        let parts = parts(path);
        let mut found = self.tests_of(path);
        for link in &mut found {
            link.confidence *= 0.8;
        }
        let subject = normalized(name);
        if let Some(family) = parts.family.filter(|_| subject.len() > 3 && test_kind(path).is_none()) {
            let tests = self.tests.get(&(family, subject)).into_iter().flatten();
            let links = tests.filter_map(|test| near(&parts.dirs, test, 1));
            found.extend(links.map(|link| TestLink {
                confidence: link.confidence * 0.95,
                rule: TestRule::Entity,
                ..link
            }));
        }
        sorted(found)
    }
}

/// The name that a file goes by: that of its directory, if its own is the same everywhere.
fn own_stem(stem: &str, dirs: &[&str]) -> String {
    let stem = normalized(stem);
    if matches!(stem.as_str(), "" | "mod" | "index" | "init") {
        return about(dirs).last().map_or(stem, |dir| normalized(dir));
    }
    stem
}

/// The link to a test whose name agrees, by how near it stands.
fn near(dirs: &[&str], test: &Test, namesakes: usize) -> Option<TestLink> {
    let test_parts = parts(&test.path);
    let (source_about, test_about) = (about(dirs), about(&test_parts.dirs));
    let is_test_dir = |dir: &&str| TEST_DIRS.contains(&dir.to_ascii_lowercase().as_str());
    let below = test_parts.dirs.strip_prefix(dirs).is_some_and(|rest| rest.iter().all(is_test_dir));
    let among = f32::from(u16::try_from(namesakes).unwrap_or(u16::MAX));
    // `auth/tests.rs` is beside `auth.rs` as well as beside `auth/mod.rs`.
    let (rule, confidence) = if below {
        (TestRule::Beside, 0.98)
    } else if source_about == test_about {
        (TestRule::Mirrored, 0.95)
    } else if source_about.ends_with(&test_about) || test_about.ends_with(&source_about) {
        (TestRule::Nested, 0.9 / among)
    } else if test_about.starts_with(&source_about) || source_about.starts_with(&test_about) {
        (TestRule::Nested, 0.8 / among)
    } else if namesakes == 1 {
        (TestRule::NameOnly, 0.5)
    } else {
        return None;
    };
    Some(TestLink { test: test.path.clone(), kind: test.kind, confidence, rule })
}

/// Most confident first, each test once.
fn sorted(mut links: Vec<TestLink>) -> Vec<TestLink> {
    links.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.test.cmp(&b.test)));
    let mut seen = std::collections::BTreeSet::new();
    links.retain(|link| link.confidence >= LEAST_CONFIDENCE && seen.insert(link.test.clone()));
    links.truncate(MAX_TESTS);
    links
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(paths: &[&str], file: &str, expected: &[&str]) {
        let index = TestIndex::new(paths.iter().copied());
        let found: Vec<_> = index.tests_of(file).into_iter().map(|link| link.test).collect();
        assert_eq!(found, expected, "{file}");
    }

    #[test]
    fn links_tests_by_the_conventions_of_each_language() {
        for (file, test) in [
            ("src/auth.rs", "tests/auth.rs"),
            ("src/auth.rs", "src/auth/tests.rs"),
            ("src/auth/mod.rs", "src/auth/tests.rs"),
            ("crates/a/src/auth.rs", "crates/a/tests/auth.rs"),
            ("pkg/foo.go", "pkg/foo_test.go"),
            ("src/x.ts", "src/x.test.ts"),
            ("src/x.tsx", "src/x.spec.ts"),
            ("src/x.ts", "src/__tests__/x.ts"),
            ("src/x.ts", "src/__tests__/x.test.ts"),
            ("src/cart/index.ts", "src/cart/cart.test.ts"),
            ("src/Button.vue", "test/unit/Button.spec.js"),
            ("packages/a/src/x.ts", "packages/a/test/x.test.ts"),
            ("a/b.py", "tests/test_b.py"),
            ("a/b.py", "tests/a/test_b.py"),
            ("a/b.py", "a/tests/test_b.py"),
            ("a/cart/__init__.py", "tests/test_cart.py"),
            ("src/main/java/com/a/Foo.java", "src/test/java/com/a/FooTest.java"),
            ("src/main/java/com/a/Foo.java", "src/test/java/com/a/FooIT.java"),
            ("src/main/kotlin/a/Foo.kt", "src/test/kotlin/a/FooTests.kt"),
            ("lib/auth.rb", "spec/auth_spec.rb"),
            ("app/models/user.rb", "spec/models/user_spec.rb"),
            ("app/models/user.rb", "test/models/user_test.rb"),
            ("src/Foo.php", "tests/FooTest.php"),
            ("Shop/Cart.cs", "Shop.Tests/CartTests.cs"),
            ("src/net/url.cc", "src/net/url_unittest.cc"),
            ("lib/cart.ex", "test/cart_test.exs"),
            ("lib/cart.dart", "test/cart_test.dart"),
            ("Sources/Shop/Cart.swift", "Tests/ShopTests/CartTests.swift"),
        ] {
            check(&[file, test], file, &[test]);
        }
    }

    #[test]
    fn nearer_tests_have_more_confidence_and_names_alone_are_not_enough_twice() {
        let paths = ["a/x.go", "b/x.go", "a/x_test.go", "c/y.py", "d/y.py", "tests/test_y.py", "tests/test_y_more.py"];
        let index = TestIndex::new(paths);
        assert_eq!(index.tests_of("a/x.go")[0].rule, TestRule::Beside);
        assert!(index.tests_of("b/x.go").is_empty());
        let links = index.tests_of("c/y.py");
        assert_eq!(links[0].confidence, 0.45, "two files go by that name");
        assert_eq!((links[1].test.as_str(), links[1].rule), ("tests/test_y_more.py", TestRule::Prefix));
        assert!(index.tests_of("tests/test_y.py").is_empty());
    }

    #[test]
    fn finds_tests_named_after_an_entity() {
        let paths = ["src/services.py", "tests/test_user_service.py", "tests/test_services.py"];
        let index = TestIndex::new(paths);
        let links = index.tests_of_entity("src/services.py", "UserService");
        assert_eq!(links.len(), 2);
        assert_eq!((links[0].test.as_str(), links[0].rule), ("tests/test_user_service.py", TestRule::Entity));
    }

    #[test]
    fn other_languages_and_files_are_not_linked() {
        check(&["src/a.rs", "tests/a.py", "tests/b.rs"], "src/a.rs", &[]);
        check(&["README.md", "tests/readme.rs"], "README.md", &[]);
    }

    #[test]
    fn tells_tests_and_their_kinds() {
        for (path, kind) in [
            ("src/x.test.ts", Some(TestKind::Unit)),
            ("pkg/foo_test.go", Some(TestKind::Unit)),
            ("src/a/tests.rs", Some(TestKind::Unit)),
            ("tests/auth.rs", Some(TestKind::Integration)),
            ("test/integration/a_test.go", Some(TestKind::Integration)),
            ("src/test/java/FooIT.java", Some(TestKind::Integration)),
            ("e2e/login.spec.ts", Some(TestKind::EndToEnd)),
            ("cypress/login.cy.ts", Some(TestKind::EndToEnd)),
            ("src/app.e2e-spec.ts", Some(TestKind::EndToEnd)),
            ("t/basic.t", Some(TestKind::Unit)),
            ("src/latest.js", None),
            ("src/Contest.java", None),
            ("src/testify.go", None),
            ("src/unit.rs", None),
            ("tests/support/mod.rs", None),
            ("tests/conftest.py", None),
            ("tests/fixtures/a.json", None),
            ("src/test/java/Builder.java", None),
            ("docs/test.md", None),
        ] {
            assert_eq!(test_kind(path), kind, "{path}");
        }
        for path in ["tests/fixtures/a.json", "tests/support/mod.rs", "pkg/testdata/x.txt", "src/x.test.ts"] {
            assert!(belongs_to_tests(path), "{path}");
        }
        assert!(!belongs_to_tests("src/latest.js"));
    }

    proptest! {
        #[test]
        fn order_of_the_paths_does_not_matter(mut paths in prop::collection::btree_set("(src|tests|a)/(test_)?[a-c]{1,2}(_test)?\\.(py|rs|go)", 0..20)
            .prop_map(|set| set.into_iter().collect::<Vec<_>>()).prop_shuffle())
        {
            let answers = |paths: &[String]| {
                let index = TestIndex::new(paths.iter().map(String::as_str));
                let mut sorted: Vec<_> = paths.to_vec();
                sorted.sort();
                sorted.iter().map(|path| index.tests_of(path)).collect::<Vec<_>>()
            };
            let before = answers(&paths);
            paths.sort();
            prop_assert_eq!(before, answers(&paths));
        }
    }
}
