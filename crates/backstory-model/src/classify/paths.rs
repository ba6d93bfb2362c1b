//! Determines what a changed file is, by its path.

use crate::test_files::belongs_to_tests;

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathKind {
    /// Says which dependencies there are, and what the package is.
    Manifest,
    /// Settings of tools, builds and pipelines.
    Configuration,
    /// A test, or what only tests need.
    Test,
    /// Text for people.
    Documentation,
    /// Everything else.
    Source,
}

const MANIFESTS: [&str; 39] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "lerna.json",
    "cargo.toml",
    "cargo.lock",
    "go.mod",
    "go.sum",
    "go.work.sum",
    "pipfile",
    "pipfile.lock",
    "poetry.lock",
    "pyproject.toml",
    "uv.lock",
    "pdm.lock",
    "setup.py",
    "gemfile",
    "gemfile.lock",
    "composer.json",
    "composer.lock",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "gradle.lockfile",
    "libs.versions.toml",
    "mix.exs",
    "mix.lock",
    "package.swift",
    "package.resolved",
    "pubspec.yaml",
    "pubspec.lock",
    "flake.lock",
    "module.bazel.lock",
];
const DOCUMENT_NAMES: [&str; 12] = [
    "readme",
    "changelog",
    "changes",
    "license",
    "licence",
    "copying",
    "authors",
    "contributors",
    "contributing",
    "notice",
    "history",
    "security",
];
const DOCUMENT_EXTENSIONS: [&str; 8] = ["md", "mdx", "rst", "adoc", "asciidoc", "markdown", "tex", "texi"];
const DOCUMENT_DIRS: [&str; 5] = ["docs", "doc", "documentation", "man", "website"];
const CONFIGURATION_DIRS: [&str; 12] = [
    ".github",
    ".gitlab",
    ".circleci",
    ".buildkite",
    ".vscode",
    ".idea",
    ".husky",
    ".devcontainer",
    ".changeset",
    ".cargo",
    ".yarn",
    "ci",
];
const CONFIGURATION_NAMES: [&str; 18] = [
    "dockerfile",
    "makefile",
    "gnumakefile",
    "jenkinsfile",
    "justfile",
    "procfile",
    "vagrantfile",
    "rakefile",
    "codeowners",
    "cmakelists.txt",
    "configure.ac",
    "makefile.am",
    "build.bazel",
    "build",
    "workspace",
    "module.bazel",
    "codecov.yml",
    "renovate.json",
];
const CONFIGURATION_EXTENSIONS: [&str; 10] =
    ["bzl", "cmake", "nix", "ini", "cfg", "conf", "properties", "editorconfig", "mk", "dockerfile"];

/// What the file at a path is for.
pub fn path_kind(path: &str) -> PathKind {
    let lower = path.to_ascii_lowercase();
    let mut dirs: Vec<&str> = lower.split('/').collect();
    let name = dirs.pop().unwrap_or_default();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let project_file = matches!(extension, "csproj" | "fsproj" | "vbproj" | "gemspec" | "podspec" | "lock");
    let requirements = extension == "txt" && (stem.starts_with("requirements") || dirs.ends_with(&["requirements"]));
    if MANIFESTS.contains(&name) || project_file || requirements {
        return PathKind::Manifest;
    }
    if dirs.iter().any(|dir| CONFIGURATION_DIRS.contains(dir)) {
        return PathKind::Configuration;
    }
    if belongs_to_tests(path) {
        return PathKind::Test;
    }
    let document = DOCUMENT_EXTENSIONS.contains(&extension)
        || DOCUMENT_NAMES.contains(&stem)
        || (extension == "txt" && dirs.is_empty() && !CONFIGURATION_NAMES.contains(&name))
        || dirs.iter().any(|dir| DOCUMENT_DIRS.contains(dir));
    if document {
        return PathKind::Documentation;
    }
    let settings = name.starts_with('.')
        || CONFIGURATION_NAMES.contains(&name)
        || CONFIGURATION_NAMES.contains(&stem)
        || CONFIGURATION_EXTENSIONS.contains(&extension)
        || name.contains(".config.")
        || name.starts_with("tsconfig")
        || name.starts_with("docker-compose")
        || (matches!(extension, "yml" | "yaml" | "toml" | "json" | "json5") && dirs.is_empty());
    if settings { PathKind::Configuration } else { PathKind::Source }
}

/// Directories of which each file tells one change.
const CHANGELOG_DIRS: [&str; 8] =
    ["changelog", "changelogs", "changelog.d", "changes", "news", "newsfragments", "announce", ".changeset"];
/// Names of files that tell what changed, without extension.
const CHANGELOG_NAMES: [&str; 7] =
    ["changelog", "change_log", "changes", "news", "history", "release-notes", "release_notes"];
/// Files that programs write, besides lock files: their names and the ends of their names.
const GENERATED_NAMES: [&str; 7] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "package.resolved",
];
const GENERATED_ENDS: [&str; 8] = [".lock", ".lockb", ".svg", ".min.js", ".min.css", ".js.map", ".css.map", ".snap"];

/// Whether the file at a path tells people what changed from release to release.
pub fn is_changelog(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (dirs, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let text = DOCUMENT_EXTENSIONS.contains(&extension) || matches!(extension, "" | "txt");
    // Those of one change are often called by its number.
    let one_change = text || name.starts_with(|first: char| first.is_ascii_digit());
    (text && CHANGELOG_NAMES.contains(&stem))
        || (one_change && dirs.split('/').any(|dir| CHANGELOG_DIRS.contains(&dir)))
}

/// Whether the file at a path is written by a program.
pub fn is_generated(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit_once('/').map_or(lower.as_str(), |(_, name)| name);
    GENERATED_NAMES.contains(&name) || GENERATED_ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changelogs_and_generated_files_are_told_by_their_names() {
        for path in ["CHANGELOG.md", "NEWS", "doc/en/changelog.rst", "changelog/123.bugfix", "a/newsfragments/x.md"] {
            assert!(is_changelog(path), "{path}");
        }
        for path in ["src/history.rs", "src/changes/mod.rs", "docs/news.html", "README.md"] {
            assert!(!is_changelog(path), "{path}");
        }
        for path in ["Cargo.lock", "web/package-lock.json", "go.sum", "a/logo.svg", "dist/app.min.js"] {
            assert!(is_generated(path), "{path}");
        }
        assert!(!is_generated("src/lock.rs") && !is_generated("package.json"));
    }
}
