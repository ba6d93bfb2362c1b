//! Determines what is a test in code, by the conventions of languages and their test frameworks. Which files are tests
//! is in `model::test_files`.

use backstory_model::code::{Entity, EntityKind, Language, TestRole};

/// Whether files at that path are tests by its directories or its name.
pub(super) fn is_test_path(path: &str) -> bool {
    let (directories, file) = path.rsplit_once('/').unwrap_or(("", path));
    let in_directory = directories.split('/').any(|part| {
        matches!(part, "test" | "tests" | "spec" | "specs" | "__tests__" | "testing" | "Tests")
            || part.ends_with("_tests")
    });
    if in_directory {
        return true;
    }
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    let lower = stem.to_ascii_lowercase();
    ["test_", "tests_"].iter().any(|start| lower.starts_with(start))
        || ["_test", "_tests", ".test", ".spec", "_spec", "-test", ".tests"].iter().any(|end| lower.ends_with(end))
        || matches!(lower.as_str(), "test" | "tests" | "conftest")
        || (matches!(extension, "java" | "kt" | "cs" | "php")
            && ["Test", "Tests", "IT"].iter().any(|end| stem.ends_with(end)))
}

/// What an entity of that kind and name has to do with tests; `lead` is what stands from its attributes to its name.
pub(super) fn role(language: Language, test_path: bool, kind: EntityKind, name: &str, lead: &str) -> TestRole {
    match kind {
        EntityKind::TestCase => return TestRole::Test,
        EntityKind::TestSuite => return TestRole::Container,
        _ => {}
    }
    let callable = matches!(kind, EntityKind::Function | EntityKind::Method);
    let test = callable && is_test(language, test_path, name, lead);
    let container = match language {
        Language::Rust => kind == EntityKind::Module && lead.contains("cfg(test)"),
        Language::Python => kind == EntityKind::Class && test_path && name.starts_with("Test"),
        _ => false,
    };
    match (test, container) {
        (true, _) => TestRole::Test,
        (_, true) => TestRole::Container,
        _ => TestRole::None,
    }
}

fn is_test(language: Language, test_path: bool, name: &str, lead: &str) -> bool {
    let has = |marks: &[&str]| !lead.is_empty() && marks.iter().any(|mark| lead.contains(mark));
    match language {
        Language::Rust => {
            has(&["#[test]", "::test]", "::test(", "#[rstest", "#[test_case", "#[quickcheck", "#[bench]"])
        }
        Language::Go => {
            let rest = ["Test", "Benchmark", "Fuzz", "Example"].iter().find_map(|start| name.strip_prefix(start));
            test_path && rest.is_some_and(|rest| !rest.starts_with(|first: char| first.is_lowercase()))
        }
        Language::Python | Language::Ruby => test_path && name.starts_with("test"),
        Language::Java | Language::Kotlin => {
            has(&["@Test", "@ParameterizedTest", "@RepeatedTest", "@TestFactory", "@TestTemplate", "@Property"])
        }
        Language::CSharp => has(&["[Test", "[Fact", "[Theory", "[DataTestMethod"]),
        Language::Php => has(&["#[Test", "@test"]) || (test_path && name.starts_with("test")),
        Language::C | Language::Cpp | Language::Bash => {
            test_path && (name.starts_with("test_") || name.ends_with("_test") || name.ends_with("_tests"))
        }
        Language::TypeScript | Language::Tsx | Language::JavaScript => false,
    }
}

/// Whether it is a test or holds some.
pub(super) fn is_test_code(role: TestRole) -> bool {
    role != TestRole::None
}

/// Marks what holds tests as their container, up to the outermost.
pub(super) fn mark_containers(entities: &mut [Entity]) {
    // Most are held by what comes before them, so one pass backwards is nearly always enough; a method in Go or Rust may
    // come before its type, and types are held by modules that come before both.
    for at in (0..entities.len()).rev() {
        let Some(parent) = entities[at].parent.filter(|_| is_test_code(entities[at].test)) else {
            continue;
        };
        if let Some(parent) = entities.get_mut(parent as usize)
            && parent.test == TestRole::None
            && (parent.kind.is_type() || matches!(parent.kind, EntityKind::Module | EntityKind::Namespace))
        {
            parent.test = TestRole::Container;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_tests() {
        for path in
            ["tests/a.rs", "src/a_test.go", "a.test.ts", "b.spec.tsx", "src/FooTest.java", "test_x.py", "src/tests.c"]
        {
            assert!(is_test_path(path), "{path}");
        }
        for path in ["src/latest.py", "contest/a.c", "src/testimony.rs", "attest.go"] {
            assert!(!is_test_path(path), "{path}");
        }
    }

    #[test]
    fn names_and_attributes_of_tests() {
        let role = |language, name, lead| role(language, true, EntityKind::Function, name, lead);
        assert_eq!(role(Language::Rust, "opens", "#[tokio::test]\nasync fn "), TestRole::Test);
        assert_eq!(role(Language::Rust, "opens", "fn "), TestRole::None);
        assert_eq!(role(Language::Go, "TestOpen", "func "), TestRole::Test);
        assert_eq!(role(Language::Go, "Testing", "func "), TestRole::None);
        assert_eq!(role(Language::Java, "opens", "@Test\npublic void "), TestRole::Test);
        assert_eq!(role(Language::CSharp, "Opens", "[Fact]\npublic void "), TestRole::Test);
    }
}
