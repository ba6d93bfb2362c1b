//! The MIME types of files, by what kind of file they are and by their names.

use crate::code::{DocFormat, FileKind, Language};

/// Ends of names and the types that they stand for, of what is neither code nor documentation.
const BY_EXTENSION: [(&str, &str); 22] = [
    ("json", "application/json"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("xml", "application/xml"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("sql", "application/sql"),
    ("graphql", "application/graphql"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("wasm", "application/wasm"),
    ("ttf", "font/ttf"),
];

/// The MIME type of a file of that kind; what is neither text nor known by its name is `application/octet-stream`.
pub fn mime_type(path: &str, kind: FileKind, is_text: bool) -> &'static str {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
    let by_name = BY_EXTENSION.iter().find(|(known, _)| *known == extension).map(|(_, mime)| *mime);
    match kind {
        _ if !is_text => by_name.unwrap_or("application/octet-stream"),
        FileKind::Code(language) => of_language(language),
        FileKind::Doc(DocFormat::Markdown) => "text/markdown",
        FileKind::Doc(DocFormat::ReStructuredText) => "text/x-rst",
        FileKind::Doc(DocFormat::AsciiDoc) => "text/asciidoc",
        FileKind::Doc(DocFormat::Plain) | FileKind::Text => by_name.unwrap_or("text/plain"),
    }
}

fn of_language(language: Language) -> &'static str {
    match language {
        Language::Rust => "text/x-rust",
        Language::Go => "text/x-go",
        Language::Python => "text/x-python",
        Language::TypeScript | Language::Tsx => "text/x-typescript",
        Language::JavaScript => "text/javascript",
        Language::Java => "text/x-java",
        Language::C => "text/x-c",
        Language::Cpp => "text/x-c++",
        Language::CSharp => "text/x-csharp",
        Language::Ruby => "text/x-ruby",
        Language::Php => "application/x-httpd-php",
        Language::Kotlin => "text/x-kotlin",
        Language::Bash => "application/x-sh",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_follow_from_kind_and_name() {
        for (path, kind, is_text, mime) in [
            ("src/a.rs", FileKind::Code(Language::Rust), true, "text/x-rust"),
            ("README.md", FileKind::Doc(DocFormat::Markdown), true, "text/markdown"),
            ("a/config.YML", FileKind::Text, true, "application/yaml"),
            ("LICENSE", FileKind::Text, true, "text/plain"),
            ("logo.png", FileKind::Text, false, "image/png"),
            ("data.bin", FileKind::Text, false, "application/octet-stream"),
        ] {
            assert_eq!(mime_type(path, kind, is_text), mime, "{path}");
        }
    }
}
