//! Packages and modules that source files make or belong to, by what the languages agree on about paths.

/// Directories that hold sources and are no part of a package's name.
const SOURCE_ROOTS: [&str; 6] = ["src", "lib", "app", "tests", "test", "python"];
/// Directories after which the packages of the JVM begin.
const JVM_ROOTS: [&str; 4] = ["java", "kotlin", "scala", "groovy"];

/// The package or module of a source file: `com.acme.auth` for Java and Kotlin, `acme.auth` for Python, `auth::token` for
/// Rust, the directory for other languages. `None` for what is no source file, and at the root of a repository.
pub fn package_of(path: &str) -> Option<String> {
    let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, extension) = file.rsplit_once('.')?;
    let directories: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    let name = match extension {
        "java" | "kt" | "kts" | "scala" | "groovy" => jvm_package(&directories),
        "py" | "pyi" => python_module(&directories, stem),
        "rs" => rust_module(&directories, stem),
        _ => directory.to_owned(),
    };
    (!name.is_empty()).then_some(name)
}

fn jvm_package(directories: &[&str]) -> String {
    let root = directories.iter().rposition(|directory| JVM_ROOTS.contains(directory));
    let root = root.or_else(|| directories.iter().rposition(|directory| *directory == "src"));
    directories[root.map_or(0, |root| root + 1)..].join(".")
}

fn python_module(directories: &[&str], stem: &str) -> String {
    let root = directories.first().is_some_and(|first| SOURCE_ROOTS.contains(first));
    let mut parts = directories[usize::from(root)..].to_vec();
    if stem != "__init__" {
        parts.push(stem);
    }
    parts.join(".")
}

/// The path of a module within its crate; the name of the crate's directory for its root.
fn rust_module(directories: &[&str], stem: &str) -> String {
    let root = directories.iter().rposition(|directory| SOURCE_ROOTS.contains(directory));
    let mut parts = directories[root.map_or(0, |root| root + 1)..].to_vec();
    if !["mod", "lib", "main"].contains(&stem) {
        parts.push(stem);
    }
    if parts.is_empty() {
        let parent = root.and_then(|root| root.checked_sub(1)).map(|parent| directories[parent]);
        return parent.unwrap_or("crate").to_owned();
    }
    parts.join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_follow_from_paths() {
        let cases = [
            ("src/main/java/com/acme/auth/Token.java", Some("com.acme.auth")),
            ("app/src/main/kotlin/com/acme/App.kt", Some("com.acme")),
            ("src/acme/auth/token.py", Some("acme.auth.token")),
            ("acme/__init__.py", Some("acme")),
            ("crates/shop/src/auth/token.rs", Some("auth::token")),
            ("crates/shop/src/lib.rs", Some("shop")),
            ("src/main.rs", Some("crate")),
            ("internal/auth/token.go", Some("internal/auth")),
            ("include/secp256k1.h", Some("include")),
            ("main.c", None),
            ("LICENSE", None),
        ];
        for (path, expected) in cases {
            assert_eq!(package_of(path).as_deref(), expected, "{path}");
        }
    }
}
