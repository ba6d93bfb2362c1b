//! Selects the files that are analyzed, by path and content. Ignored files need no rule: what `.gitignore` names is not
//! in a commit's tree.

use std::sync::LazyLock;

use backstory_model::code::{FileKind, FileSelection, LeftOutReason};
use regex::bytes::Regex;

use super::detect::detect;

/// How much of a file is looked at for NUL bytes and invalid UTF-8, in bytes.
const BINARY_PREFIX: usize = 8 * 1024;
/// How much of a file's beginning is looked at for the marks of programs that write code, in bytes.
const MARK_PREFIX: usize = 4 * 1024;
/// Of the bytes looked at, one in this many may be invalid UTF-8.
const INVALID_SHARE: usize = 10;
/// Mean length of the lines of a file that no person wrote, in bytes.
const LONG_MEAN: usize = 500;
/// Length of one line, of a file mostly made of it, that no person wrote, in bytes.
const LONG_LINE: usize = 5_000;

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of a file.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 1 << 20 }
    }
}

/// Directories that hold what others wrote.
const VENDORED: &[&str] = &[
    "vendor",
    "vendored",
    "node_modules",
    "bower_components",
    "third_party",
    "third-party",
    "thirdparty",
    "3rdparty",
    "externals",
    "site-packages",
    ".yarn",
    "Pods",
    "Carthage",
];

/// Directories that hold what programs wrote.
const GENERATED: &[&str] = &["__snapshots__", "__generated__", "generated", ".next", "__pycache__"];

/// Files that programs write.
const GENERATED_NAMES: &[&str] = &[
    "cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "poetry.lock",
    "pdm.lock",
    "uv.lock",
    "pipfile.lock",
    "composer.lock",
    "gemfile.lock",
    "go.sum",
    "flake.lock",
    "packages.lock.json",
    "podfile.lock",
    "mix.lock",
    "gradle.lockfile",
];

/// Ends of names of files that programs write.
const GENERATED_ENDS: &[&str] = &[
    ".min.js",
    ".min.css",
    ".snap",
    ".map",
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    "_pb2.py",
    "_pb2_grpc.py",
    ".g.dart",
    ".designer.cs",
    ".generated.cs",
    ".g.cs",
    ".svg",
    ".ambr",
];

/// What programs write at the top of files that they write.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi-u)
        @generated \b
        | \b code \s+ generated \b .{0,200} \b do \s+ not \s+ edit
        | \b (?: auto-? | automatically \s | machine[\s-] ) \s? generated \b .{0,120} (?: \b by \b | do\ not\ | \. | \n )
        | \b generated \s+ (?: by | with | from | using ) \b .{0,120} \b do \s+ not \s+ (?: edit | modify | change )
        | \b do \s+ not \s+ edit \b .{0,120} \b generated
        | \b (?: this \s+ file | file ) \s+ (?: was | is | has \s been ) \s+ (?: auto | automatically \s | machine )? -? \s? generated \b",
    )
    .expect("the pattern is constant")
});

/// Whether a file is read.
pub fn select(path: &str, bytes: &[u8], limits: Limits) -> FileSelection {
    match left_out(path, bytes, limits) {
        Some(reason) => FileSelection::LeftOut(reason),
        None => FileSelection::Include,
    }
}

/// Whether the path alone says that the file is left out, before its bytes are read.
pub fn left_out_by_path(path: &str) -> Option<LeftOutReason> {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    if directories.split('/').any(|part| VENDORED.contains(&part)) {
        return Some(LeftOutReason::Vendored);
    }
    if directories.split('/').any(|part| GENERATED.contains(&part)) {
        return Some(LeftOutReason::Generated);
    }
    let lower = name.to_ascii_lowercase();
    let generated = GENERATED_NAMES.contains(&lower.as_str()) || GENERATED_ENDS.iter().any(|end| lower.ends_with(end));
    generated.then_some(LeftOutReason::Generated)
}

fn left_out(path: &str, bytes: &[u8], limits: Limits) -> Option<LeftOutReason> {
    if bytes.is_empty() {
        return Some(LeftOutReason::Empty);
    }
    if let Some(reason) = left_out_by_path(path) {
        return Some(reason);
    }
    if is_binary(&bytes[..bytes.len().min(BINARY_PREFIX)]) {
        return Some(LeftOutReason::Binary);
    }
    if is_generated(path, bytes) {
        return Some(LeftOutReason::Generated);
    }
    (bytes.len() > limits.bytes).then_some(LeftOutReason::TooLarge)
}

fn is_binary(prefix: &[u8]) -> bool {
    if prefix.contains(&0) {
        return true;
    }
    let invalid: usize = prefix.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    invalid * INVALID_SHARE > prefix.len()
}

fn is_generated(path: &str, bytes: &[u8]) -> bool {
    if !matches!(detect(path, bytes), FileKind::Code(_)) {
        return false;
    }
    let prefix = &bytes[..bytes.len().min(MARK_PREFIX)];
    // A code generator mentions it too, so only a comment at the top counts.
    if MARK.find(prefix).is_some_and(|found| stands_in_leading_comment(&prefix[..found.start()])) {
        return true;
    }
    is_minified(bytes)
}

/// Whether everything before is comments, blank lines and what comes before all code.
fn stands_in_leading_comment(before: &[u8]) -> bool {
    let mut in_block = false;
    for line in before.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if in_block {
            in_block = !line.ends_with(b"*/");
            continue;
        }
        let starts = |mark: &[u8]| line.starts_with(mark);
        if starts(b"/*") {
            in_block = !line.ends_with(b"*/");
        } else if !(line.is_empty()
            || starts(b"//")
            || starts(b"#")
            || starts(b"*")
            || starts(b"<?")
            || starts(b"\"\"\""))
        {
            return false;
        }
    }
    true
}

/// Whether the lines are so long that no person wrote them.
fn is_minified(bytes: &[u8]) -> bool {
    if bytes.len() < LONG_MEAN {
        return false;
    }
    let (mut lines, mut longest) = (0usize, 0usize);
    for line in bytes.split(|byte| *byte == b'\n') {
        lines += 1;
        longest = longest.max(line.len());
    }
    bytes.len() / lines > LONG_MEAN || (longest > LONG_LINE && longest * 2 > bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, bytes: &[u8], reason: Option<LeftOutReason>) {
        assert_eq!(left_out(path, bytes, Limits { bytes: 10_000 }), reason, "{path}");
    }

    #[test]
    fn code_and_text_are_read() {
        check("src/a.rs", b"fn a() {}\n", None);
        check("src/generator.rs", b"fn a() {}\n// Code generated by this. DO NOT EDIT.\n", None);
        check("a.py", b"x = '@generated'\n", None);
        check("latin.c", b"/* gr\xfc\xdfe */ int caf\xe9 = 1; int more = 2;\n", None);
    }

    #[test]
    fn the_rest_is_left_out_for_a_reason() {
        check("a", b"", Some(LeftOutReason::Empty));
        check("a.png", b"\x89PNG\0\0", Some(LeftOutReason::Binary));
        check("a.dat", b"\xff\xfe\xfd\xfcabc", Some(LeftOutReason::Binary));
        check("x/node_modules/a.js", b"a", Some(LeftOutReason::Vendored));
        check("vendor/github.com/a.go", b"a", Some(LeftOutReason::Vendored));
        check("Cargo.lock", b"a", Some(LeftOutReason::Generated));
        check("a.go", b"// Code generated by x. DO NOT EDIT.\npackage a\n", Some(LeftOutReason::Generated));
        check("a.c", b"/* Hi\n * This file was automatically generated by x.\n */\n", Some(LeftOutReason::Generated));
        check("a.js", &b"var a=1;".repeat(900), Some(LeftOutReason::Generated));
        check("a.rs", &b"// Long enough.\n".repeat(1000), Some(LeftOutReason::TooLarge));
    }
}
