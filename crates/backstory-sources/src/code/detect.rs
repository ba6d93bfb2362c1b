//! Detects the kind of a file by its path and first bytes.

use std::sync::LazyLock;

use backstory_model::code::{DocFormat, FileKind, Language};
use regex::bytes::Regex;

/// How much of a header is read to tell C++ from C, in bytes.
const HEADER_PREFIX: usize = 64 * 1024;

/// Extensions of documents; those of code are the languages' own.
const DOCUMENTS: &[(&str, FileKind)] = &[
    ("md", FileKind::Doc(DocFormat::Markdown)),
    ("markdown", FileKind::Doc(DocFormat::Markdown)),
    ("mdx", FileKind::Doc(DocFormat::Markdown)),
    ("adoc", FileKind::Doc(DocFormat::AsciiDoc)),
    ("asciidoc", FileKind::Doc(DocFormat::AsciiDoc)),
    ("rst", FileKind::Doc(DocFormat::ReStructuredText)),
];

const NAMES: &[(&str, FileKind)] = &[
    ("rakefile", FileKind::Code(Language::Ruby)),
    ("gemfile", FileKind::Code(Language::Ruby)),
    ("vagrantfile", FileKind::Code(Language::Ruby)),
    (".bashrc", FileKind::Code(Language::Bash)),
    (".profile", FileKind::Code(Language::Bash)),
    ("readme", FileKind::Doc(DocFormat::Plain)),
    ("changelog", FileKind::Doc(DocFormat::Plain)),
    ("changes", FileKind::Doc(DocFormat::Plain)),
    ("news", FileKind::Doc(DocFormat::Plain)),
    ("authors", FileKind::Doc(DocFormat::Plain)),
    ("contributing", FileKind::Doc(DocFormat::Plain)),
    ("todo", FileKind::Doc(DocFormat::Plain)),
    ("hacking", FileKind::Doc(DocFormat::Plain)),
    ("install", FileKind::Doc(DocFormat::Plain)),
    ("notes", FileKind::Doc(DocFormat::Plain)),
];

/// Programs that a `#!` line may name.
const INTERPRETERS: &[(&str, Language)] = &[
    ("python", Language::Python),
    ("pypy", Language::Python),
    ("bash", Language::Bash),
    ("dash", Language::Bash),
    ("zsh", Language::Bash),
    ("ksh", Language::Bash),
    ("sh", Language::Bash),
    ("node", Language::JavaScript),
    ("deno", Language::TypeScript),
    ("ts-node", Language::TypeScript),
    ("bun", Language::TypeScript),
    ("ruby", Language::Ruby),
    ("php", Language::Php),
    ("kotlin", Language::Kotlin),
];

/// What only C++ has at the beginning of a line.
static CPP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?mx-u)
        ^ [\x20\t]* (?: class \s+ \w+ [^;=()]* \{ | class \s+ \w+ \s* : | namespace \s+ [\w:]+ \s* \{? | namespace \s* \{
            | template \s* < | (?: public | private | protected ) \s* : | using \s+ (?: namespace\b | \w+ \s* = )
            | (?: virtual | constexpr | explicit | friend ) \s )
        | \#\s*include \s* < (?: string | vector | memory | map | cstdint | cstddef | iostream | optional | array ) >",
    )
    .expect("the pattern is constant")
});

/// What kind of file it is, by its name, or by its `#!` line if the name does not tell.
pub fn detect(path: &str, bytes: &[u8]) -> FileKind {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    let extension = lower.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    if name.ends_with(".C") || name.ends_with(".H") {
        return FileKind::Code(Language::Cpp);
    }
    if let Some(extension) = extension {
        if extension == "h" && is_cpp_header(bytes) {
            return FileKind::Code(Language::Cpp);
        }
        if let Some(language) = Language::ALL.into_iter().find(|language| language.extensions().contains(&extension)) {
            return FileKind::Code(language);
        }
        if let Some((_, kind)) = DOCUMENTS.iter().find(|(one, _)| *one == extension) {
            return *kind;
        }
    }
    let stem = lower.strip_suffix(".txt").unwrap_or(&lower);
    if let Some((_, kind)) = NAMES.iter().find(|(one, _)| *one == stem) {
        return *kind;
    }
    if extension.is_none()
        && let Some(language) = interpreter(bytes)
    {
        return FileKind::Code(language);
    }
    FileKind::Text
}

/// A header is C unless something in it can only be C++. What stands between `#ifdef __cplusplus` and its end does not
/// count: C headers have it too, but only `extern "C" {`, which no pattern here matches.
fn is_cpp_header(bytes: &[u8]) -> bool {
    CPP.is_match(&bytes[..bytes.len().min(HEADER_PREFIX)])
}

fn interpreter(bytes: &[u8]) -> Option<Language> {
    let line = bytes.strip_prefix(b"#!")?;
    let line = &line[..line.len().min(200)];
    let line = line.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let program = line.split_ascii_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let program = program.into_iter().find(|word| *word != "env" && !word.starts_with('-') && !word.contains('='))?;
    let program = program.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    INTERPRETERS.iter().find(|(name, _)| *name == program).map(|(_, language)| *language)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, bytes: &str, kind: FileKind) {
        assert_eq!(detect(path, bytes.as_bytes()), kind, "{path}");
    }

    #[test]
    fn kinds_are_told_by_name() {
        check("src/a.rs", "", FileKind::Code(Language::Rust));
        check("A.TSX", "", FileKind::Code(Language::Tsx));
        check("Rakefile", "", FileKind::Code(Language::Ruby));
        check("docs/x.RST", "", FileKind::Doc(DocFormat::ReStructuredText));
        check("README", "", FileKind::Doc(DocFormat::Plain));
        check("README.txt", "", FileKind::Doc(DocFormat::Plain));
        check("Makefile", "", FileKind::Text);
        check(".gitignore", "", FileKind::Text);
        check("a.sh", "", FileKind::Code(Language::Bash));
    }

    #[test]
    fn scripts_are_told_by_their_first_line() {
        check("bin/run", "#!/usr/bin/env python3\n", FileKind::Code(Language::Python));
        check("bin/run", "#! /bin/sh -e\n", FileKind::Code(Language::Bash));
        check("bin/run", "#!/usr/bin/env -S node --x\n", FileKind::Code(Language::JavaScript));
        check("bin/run", "#!/bin/awk\n", FileKind::Text);
        check("bin/run", "#!", FileKind::Text);
    }

    #[test]
    fn headers_are_c_unless_clearly_cpp() {
        check("a.h", "#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(void);\n", FileKind::Code(Language::C));
        check("a.h", "struct class_info { int x; };\n", FileKind::Code(Language::C));
        check("a.h", "namespace a {\nint f();\n}\n", FileKind::Code(Language::Cpp));
        check("a.h", "class A {\npublic:\n};\n", FileKind::Code(Language::Cpp));
        check("a.h", "#include <vector>\n", FileKind::Code(Language::Cpp));
    }
}
