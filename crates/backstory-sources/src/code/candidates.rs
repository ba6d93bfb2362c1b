//! Which files of a repository an import may mean. Which definition it names is found in [`super::resolve`].

use backstory_model::code::Language;

/// Most candidates of one import.
const MAX_CANDIDATES: usize = 12;

/// Files that an import of `module` in the file at `path` may mean, most likely first. One that begins with `**/` may
/// stand in any directory.
pub(super) fn import_candidates(language: Language, path: &str, module: &str) -> Vec<String> {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut found = match language {
        Language::Rust => rust(path, directory, module),
        Language::Python => python(directory, module),
        Language::TypeScript | Language::Tsx | Language::JavaScript => javascript(directory, module),
        Language::C | Language::Cpp => c(directory, module),
        Language::Go => go(module),
        Language::Java => java(module, &["java"]),
        Language::Kotlin => java(module, &["kt", "java"]),
        Language::CSharp => Vec::new(),
        Language::Ruby => ruby(directory, module),
        Language::Php => php(directory, module),
        Language::Bash => bash(directory, module),
    };
    found.truncate(MAX_CANDIDATES);
    found
}

/// A path relative to a directory, without `.` and `..`; `None` if it leaves the repository.
pub(super) fn resolve_relative(directory: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn rust(path: &str, directory: &str, module: &str) -> Vec<String> {
    let mut parts: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    let stem = path.rsplit('/').next().and_then(|file| file.strip_suffix(".rs")).unwrap_or_default();
    // `a.rs` and `a/mod.rs` are the same module: its children stand in `a/`.
    let children = match stem {
        "mod" | "lib" | "main" => directory.to_owned(),
        stem => resolve_relative(directory, stem).unwrap_or_default(),
    };
    let root = match directory.rfind("src") {
        Some(at)
            if directory[at..].starts_with("src")
                && (directory.len() == at + 3 || directory[at + 3..].starts_with('/')) =>
        {
            directory[..at + 3].to_owned()
        }
        _ => directory.to_owned(),
    };
    let base = match parts.first().copied() {
        Some("crate") => {
            parts.remove(0);
            root
        }
        Some("self") => {
            parts.remove(0);
            children
        }
        Some("super") => {
            let mut base = children;
            while parts.first() == Some(&"super") {
                parts.remove(0);
                base = resolve_relative(&base, "..").unwrap_or_default();
            }
            base
        }
        Some("std" | "core" | "alloc") | None => return Vec::new(),
        Some(other) => {
            // Another crate of the workspace, or a module beside.
            let mut found = modules(&resolve_relative(&children, "").unwrap_or_default(), &parts, "");
            let name = other.replace('_', "-");
            for crate_name in [name.as_str(), other] {
                found.extend(modules(&format!("{crate_name}/src"), &parts[1..], "**/"));
                found.push(format!("**/{crate_name}/src/lib.rs"));
            }
            found.dedup();
            return found;
        }
    };
    let mut found = modules(&base, &parts, "");
    if parts.is_empty() {
        found.extend([
            format!("{base}.rs"),
            format!("{base}/mod.rs"),
            format!("{base}/lib.rs"),
            format!("{base}/main.rs"),
        ]);
    }
    for path in &mut found {
        *path = path.trim_start_matches('/').to_owned();
    }
    found
}

/// Files of the module at these names, and of the module that holds its last name.
fn modules(base: &str, parts: &[&str], any: &str) -> Vec<String> {
    let mut found = Vec::new();
    for length in (1..=parts.len()).rev().take(2) {
        let inner = parts[..length].join("/");
        let Some(path) = resolve_relative(base, &inner) else { continue };
        found.extend([format!("{any}{path}.rs"), format!("{any}{path}/mod.rs")]);
    }
    found
}

fn python(directory: &str, module: &str) -> Vec<String> {
    let dots = module.bytes().take_while(|byte| *byte == b'.').count();
    let inner = module[dots..].trim().replace('.', "/");
    let files = |base: &str| match (base, inner.as_str()) {
        (base, "") => vec![format!("{base}/__init__.py")],
        ("", inner) => vec![format!("{inner}.py"), format!("{inner}/__init__.py")],
        (base, inner) => vec![format!("{base}/{inner}.py"), format!("{base}/{inner}/__init__.py")],
    };
    if dots == 0 {
        let mut found = files("");
        found.extend(files("src"));
        if !directory.is_empty() {
            found.extend(files(directory));
        }
        found.extend(files("**"));
        return found;
    }
    let up = "../".repeat(dots - 1);
    let Some(base) = resolve_relative(directory, &up) else { return Vec::new() };
    files(&base).into_iter().map(|path| path.trim_start_matches('/').to_owned()).collect()
}

fn javascript(directory: &str, module: &str) -> Vec<String> {
    if !module.starts_with('.') {
        return Vec::new();
    }
    let Some(path) = resolve_relative(directory, module) else { return Vec::new() };
    let mut found = Vec::new();
    // TypeScript imports `./a.js` and means `./a.ts`.
    for (written, meant) in [(".js", ".ts"), (".jsx", ".tsx"), (".mjs", ".mts"), (".cjs", ".cts")] {
        if let Some(stem) = path.strip_suffix(written) {
            found.extend([format!("{stem}{meant}"), path.clone()]);
        }
    }
    if found.is_empty() && [".ts", ".tsx", ".json", ".vue", ".mts"].iter().any(|end| path.ends_with(end)) {
        found.push(path.clone());
    }
    for extension in ["ts", "tsx", "js", "jsx", "mjs", "d.ts"] {
        found.push(format!("{path}.{extension}"));
    }
    for extension in ["ts", "tsx", "js"] {
        found.push(format!("{path}/index.{extension}").trim_start_matches('/').to_owned());
    }
    found
}

fn c(directory: &str, module: &str) -> Vec<String> {
    let name = module.trim_matches(['<', '>']);
    let system = module.starts_with('<');
    let mut found = Vec::new();
    if !system {
        found.extend(resolve_relative(directory, name));
    }
    if !name.starts_with('.') {
        found.extend([format!("include/{name}"), format!("src/{name}"), name.to_owned()]);
        if !system || name.contains('/') {
            found.push(format!("**/{name}"));
        }
    }
    found.dedup();
    found
}

/// A package of Go is a directory: `**/a/b/` with its files.
fn go(module: &str) -> Vec<String> {
    let parts: Vec<&str> = module.split('/').filter(|part| !part.is_empty()).collect();
    if !parts.first().is_some_and(|first| first.contains('.')) || parts.len() < 3 {
        return Vec::new();
    }
    // The host, the owner and the repository come first.
    if parts.len() == 3 {
        return vec![String::from("*.go")];
    }
    vec![format!("{}/*.go", parts[3..].join("/")), format!("**/{}/*.go", parts[3..].join("/"))]
}

fn java(module: &str, extensions: &[&str]) -> Vec<String> {
    let parts: Vec<&str> = module.trim_end_matches(".*").split('.').collect();
    let mut found = Vec::new();
    // The last part may be a member of the type that the part before it names.
    for length in [parts.len(), parts.len().saturating_sub(1)] {
        if length < 2 {
            continue;
        }
        for extension in extensions {
            found.push(format!("**/{}.{extension}", parts[..length].join("/")));
        }
    }
    found
}

fn ruby(directory: &str, module: &str) -> Vec<String> {
    let file = if module.ends_with(".rb") { module.to_owned() } else { format!("{module}.rb") };
    if module.starts_with('.') {
        return resolve_relative(directory, &file).into_iter().collect();
    }
    vec![format!("lib/{file}"), file.clone(), format!("**/lib/{file}")]
}

fn php(directory: &str, module: &str) -> Vec<String> {
    if module.contains('\\') {
        let parts: Vec<&str> = module.split('\\').filter(|part| !part.is_empty()).collect();
        // The first parts of a namespace usually stand for a directory with another name.
        return (0..parts.len().min(3)).map(|from| format!("**/{}.php", parts[from..].join("/"))).collect();
    }
    resolve_relative(directory, module).into_iter().collect()
}

fn bash(directory: &str, module: &str) -> Vec<String> {
    // A variable at the front is nearly always the script's own directory.
    let path = match module.rsplit_once(['}', ')', '"']) {
        Some((_, rest)) => rest.trim_start_matches('/'),
        None if module.starts_with('$') => module.split_once('/').map_or("", |(_, rest)| rest),
        None => module,
    };
    if path.is_empty() || path.contains(['$', '*', '`']) {
        return Vec::new();
    }
    let mut found: Vec<String> = resolve_relative(directory, path).into_iter().collect();
    found.extend([path.trim_start_matches("./").to_owned()]);
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: Language, path: &str, module: &str, expected: &str) {
        let found = import_candidates(language, path, module);
        assert!(found.iter().any(|found| found == expected), "{module} in {path}: {found:?}");
        assert!(found.len() <= MAX_CANDIDATES);
    }

    #[test]
    fn files_are_found() {
        check(Language::Rust, "crates/a/src/lib.rs", "self::code", "crates/a/src/code.rs");
        check(Language::Rust, "crates/a/src/code.rs", "self::walk", "crates/a/src/code/walk.rs");
        check(Language::Rust, "crates/a/src/code/walk.rs", "crate::id", "crates/a/src/id.rs");
        check(Language::Rust, "crates/a/src/code/walk.rs", "super::hash", "crates/a/src/code/hash.rs");
        check(Language::Rust, "crates/a/src/code/walk.rs", "super", "crates/a/src/code.rs");
        check(Language::Rust, "x/src/lib.rs", "backstory_model::code", "**/backstory-model/src/code.rs");
        check(Language::Python, "src/click/core.py", ".types", "src/click/types.py");
        check(Language::Python, "src/click/a/b.py", "..types", "src/click/types.py");
        check(Language::Python, "src/click/core.py", ".", "src/click/__init__.py");
        check(Language::Python, "tests/a.py", "click.core", "src/click/core.py");
        check(Language::TypeScript, "src/v4/a.ts", "../core/index.js", "src/core/index.ts");
        check(Language::TypeScript, "a.ts", "./b", "b.ts");
        check(Language::C, "src/a.c", "../include/b.h", "include/b.h");
        check(Language::C, "src/a.c", "b.h", "src/b.h");
        check(Language::Go, "a.go", "github.com/spf13/cobra/doc", "doc/*.go");
        check(Language::Java, "A.java", "com.x.Foo", "**/com/x/Foo.java");
        check(Language::Ruby, "lib/a/b.rb", "./c", "lib/a/c.rb");
        check(Language::Bash, "bin/run", "$(dirname \"$0\")/lib.sh", "bin/lib.sh");
    }

    #[test]
    fn paths_that_leave_the_repository_mean_nothing() {
        assert_eq!(resolve_relative("a", "../../b"), None);
        assert!(import_candidates(Language::TypeScript, "a.ts", "../../b").is_empty());
    }
}
