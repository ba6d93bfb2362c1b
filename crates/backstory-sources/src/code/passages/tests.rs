//! Tests of cutting files into passages.

use backstory_model::code::FileKind;
use proptest::prelude::*;

use super::*;
use crate::code::{analyze, analyze_as};

fn limits(lines: u32, overlap: u32) -> PassageLimits {
    let size = PassageSize { lines, characters: 0, overlap };
    PassageLimits { code: PassageSize { overlap: 0, ..size }, documentation: size, text: size, passages: 10_000 }
}

fn cut(path: &str, source: &str, lines: u32) -> Vec<(u32, u32, String)> {
    let analysis = analyze(path, source.as_bytes());
    let limits = limits(lines, 2);
    let name = |entity: Option<u32>| match (entity, analysis.code()) {
        (Some(entity), Some(code)) => code.entities[entity as usize].qualified_name.clone(),
        _ => String::new(),
    };
    passages(&analysis, source, limits)
        .into_iter()
        .map(|one| (one.lines.first, one.lines.last, name(one.entity)))
        .collect()
}

fn expect(found: &[(u32, u32, String)], expected: &[(u32, u32, &str)]) {
    let found: Vec<_> = found.iter().map(|(first, last, name)| (*first, *last, name.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn entities_that_fit_are_whole() {
    let source = "import os\n\nX = 1\n\n# Opens.\ndef a():\n    pass\n\nclass B:\n    def c(self):\n        pass\n";
    expect(&cut("a.py", source, 10), &[(1, 4, ""), (5, 7, "a"), (8, 8, ""), (9, 11, "B")]);
}

#[test]
fn large_ones_are_cut_at_those_inside_or_by_lines() {
    let source = "class B:\n    x = 1\n    def c(self):\n        pass\n    def d(self):\n        a\n        b\n        c\n        d\n";
    expect(&cut("a.py", source, 4), &[(1, 2, "B"), (3, 4, "B.c"), (5, 8, "B.d"), (9, 9, "B.d")]);
}

#[test]
fn text_is_cut_with_overlap() {
    expect(&cut("a.txt", &"x\n".repeat(10), 5), &[(1, 5, ""), (4, 8, ""), (7, 10, "")]);
    expect(&cut("a.txt", "", 5), &[]);
}

#[test]
fn sections_are_cut_by_their_characters_with_overlap() {
    let section: String = (0..12).map(|number| format!("Line {number} {}\n", "words ".repeat(10))).collect();
    let source = format!("# Short\n\nOne line.\n\n# Long\n{section}");
    let analysis = analyze("README.md", source.as_bytes());
    let size = PassageSize { lines: 60, characters: 300, overlap: 1 };
    let found = passages(&analysis, &source, PassageLimits { documentation: size, ..PassageLimits::default() });
    let lines: Vec<(u32, u32, Option<u32>)> =
        found.iter().map(|one| (one.lines.first, one.lines.last, one.section)).collect();
    assert_eq!(lines[0], (1, 4, Some(0)));
    assert!(lines.len() > 3, "{lines:?}");
    for pair in lines[1..].windows(2) {
        assert_eq!(pair[1].0, pair[0].1, "one line is shared: {lines:?}");
    }
    let text: Vec<&str> = source.split('\n').collect();
    for (first, last, _) in &lines {
        let length: usize = text[*first as usize - 1..*last as usize].iter().map(|line| line.chars().count()).sum();
        assert!(length <= 300, "{first}-{last} has {length}");
    }
    // One line is taken however long it is.
    let long = format!("# T\n{}\n{}\n", "x".repeat(900), "y".repeat(900));
    let analysis = analyze("README.md", long.as_bytes());
    let found = passages(&analysis, &long, PassageLimits { documentation: size, ..PassageLimits::default() });
    assert_eq!(found.iter().map(|one| one.lines.last).collect::<Vec<_>>(), [1, 2, 3]);
}

proptest! {
    #[test]
    fn every_line_of_code_is_in_exactly_one(
        pieces in prop::collection::vec(prop_oneof![
            Just("def a():\n"), Just("    def b(self):\n"), Just("        pass\n"), Just("class C:\n"), Just("\n"),
            Just("# x\n"), Just("x = 1\n"), Just("    '''d\n    e'''\n"),
        ], 0..40),
        lines in 1u32..12,
    ) {
        let source = pieces.concat();
        let kind = FileKind::Code(backstory_model::code::Language::Python);
        let analysis = analyze_as(kind, "a.py", source.as_bytes());
        let found = passages(&analysis, &source, limits(lines, 0));
        let mut next = 1;
        for passage in found {
            prop_assert_eq!(passage.lines.first, next);
            prop_assert!(passage.lines.count() <= lines);
            next = passage.lines.last + 1;
        }
        prop_assert_eq!(next, analysis.line_count + 1);
    }
}
