//! Tests of the analysis on small files of every language.

use std::fmt::Write as _;

use backstory_model::code::{ContentAnalysis, FileAnalysis, TestRole};
use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

mod compiled;
mod scripted;

/// Everything that was found, a line for each.
pub(super) fn render(analysis: &FileAnalysis) -> String {
    let mut out = String::new();
    let Some(code) = analysis.code() else { return format!("{:?}\n", analysis.content) };
    if let Some(doc) = &code.doc {
        writeln!(out, "doc: {doc}").unwrap();
    }
    let name =
        |entity: Option<u32>| entity.map_or("-", |entity| code.entities[entity as usize].qualified_name.as_str());
    for entity in &code.entities {
        write!(out, "{}-{} {:?} {}", entity.lines.first, entity.lines.last, entity.kind, entity.qualified_name)
            .unwrap();
        if entity.name_line != entity.lines.first {
            write!(out, " name:{}", entity.name_line).unwrap();
        }
        if entity.parent.is_some() {
            write!(out, " in {}", name(entity.parent)).unwrap();
        }
        if entity.test != TestRole::None {
            write!(out, " {:?}", entity.test).unwrap();
        }
        write!(out, " | {}", entity.signature).unwrap();
        if let Some(doc) = &entity.doc {
            write!(out, " | {}", doc.replace('\n', "/")).unwrap();
        }
        out.push('\n');
    }
    for call in &code.calls {
        let qualifier = call.qualifier.as_deref().map(|qualifier| format!("{qualifier} ")).unwrap_or_default();
        writeln!(out, "{}: {} calls {qualifier}{}", call.line, name(call.from), call.name).unwrap();
    }
    for import in &code.imports {
        let names: Vec<String> = import.names.iter().map(|name| format!("{}={}", name.local, name.name)).collect();
        writeln!(out, "{}: imports {} {}", import.line, import.module, names.join(",")).unwrap();
    }
    for heritage in &code.heritage {
        writeln!(out, "{}: {} {:?} {}", heritage.line, heritage.subject, heritage.kind, heritage.name).unwrap();
    }
    for note in &code.explanations {
        let text = note.text.replace('\n', "/");
        writeln!(out, "{}-{} {:?} {}: {text}", note.lines.first, note.lines.last, note.kind, name(note.entity))
            .unwrap();
    }
    if code.truncated || code.syntax_errors {
        writeln!(out, "truncated: {}, errors: {}", code.truncated, code.syntax_errors).unwrap();
    }
    out
}

#[expect(clippy::needless_pass_by_value, reason = "so that a test reads as one expression")]
pub(super) fn check(path: &str, source: &str, expected: Expect) {
    let unix = analyze(path, source.as_bytes());
    expected.assert_eq(&render(&unix));
    let windows = analyze(path, source.replace('\n', "\r\n").as_bytes());
    let kinds = |analysis: &FileAnalysis| {
        let entities = analysis.code().map(|code| code.entities.clone()).unwrap_or_default();
        entities
            .into_iter()
            .map(|entity| (entity.qualified_name, entity.lines, entity.doc, entity.body_hash))
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&windows), kinds(&unix), "lines that end in CRLF");
}

#[test]
fn bytes_that_are_not_utf8_leave_lines_as_they_are() {
    let analysis =
        analyze("a.c", b"/* caf\xe9\xff */\n\nint caf\xe9(void)\n{\n  return 1;\n}\nint next(void) { return 2; }\n");
    let code = analysis.code().unwrap();
    assert_eq!(analysis.line_count, 7);
    let next = code.entities.iter().find(|entity| entity.name == "next").unwrap();
    assert_eq!((next.lines.first, next.lines.last), (7, 7));
}

#[test]
fn bodies_are_compared_without_layout_and_comments() {
    let hash = |source: &str| analyze("a.rs", source.as_bytes()).code().unwrap().entities[0].body_hash;
    let plain = hash("fn one() { let x = 1; x + 2 }");
    assert_eq!(hash("fn two() {\n    // Because.\n    let x = 1;\n    x + 2 /* two */\n}\n"), plain);
    assert_ne!(hash("fn one() { let x = 1; x + 3 }"), plain);
}

#[test]
fn deep_nesting_ends() {
    for (path, open) in
        [("a.c", "{("), ("a.py", "["), ("a.js", "(()=>{"), ("a.rs", "{{"), ("a.kt", "{"), ("a.rb", "[(")]
    {
        let analysis = analyze(path, open.repeat(20_000).as_bytes());
        assert!(analysis.code().is_some());
    }
}

#[test]
fn other_files_have_lines() {
    assert_eq!(analyze("a.txt", b"a\nb").line_count, 2);
    assert_eq!(analyze("a.txt", b"a\nb\n").line_count, 2);
    assert_eq!(analyze("a.txt", b"").line_count, 0);
    assert!(matches!(analyze("a.toml", b"a = 1").content, ContentAnalysis::Text));
}

/// Pieces of code that mean something in one language or another.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("fn a() {"),
        Just("}"),
        Just("class A:\n"),
        Just("  def b(self):\n"),
        Just("/* x"),
        Just("*/"),
        Just("// because\n"),
        Just("#define X(a) a\n"),
        Just("namespace n {"),
        Just("template<"),
        Just("\"\"\""),
        Just("'"),
        Just("<?php "),
        Just("import {a} from './b';\n"),
        Just("use a::{b, c};\n"),
        Just("describe('x', () => {"),
        Just("impl A for B {"),
        Just("é\u{2028}"),
        Just("\r\n"),
        Just("\n\n"),
        Just("foo(bar, baz)"),
        Just("::"),
        Just("end\n"),
        Just("\0"),
    ]
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_panics_and_ranges_hold(pieces in prop::collection::vec(piece(), 0..60), which in 0..Language::ALL.len()) {
        let source = pieces.concat();
        let analysis = analyze_as(FileKind::Code(Language::ALL[which]), "src/a", source.as_bytes());
        let code = analysis.code().unwrap();
        let mut names = std::collections::HashSet::new();
        for entity in &code.entities {
            prop_assert!(entity.lines.first >= 1 && entity.lines.last <= analysis.line_count.max(1));
            prop_assert!(names.insert(entity.qualified_name.clone()), "{} twice", entity.qualified_name);
            prop_assert!(entity.parent.is_none_or(|parent| (parent as usize) < code.entities.len()));
        }
        prop_assert_eq!(&analyze_as(FileKind::Code(Language::ALL[which]), "src/a", source.as_bytes()), &analysis);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400), which in 0..Language::ALL.len()) {
        let analysis = analyze_as(FileKind::Code(Language::ALL[which]), "a", &bytes);
        prop_assert!(analysis.code().is_some());
        select("a.c", &bytes, Limits::default());
    }
}
