//! Tests of the blame of a file and its stored form.

use proptest::prelude::*;

use super::*;

fn source(id: u32) -> FileRevision {
    let mut hash = [7; 20];
    hash[..4].copy_from_slice(&(id / 3).to_be_bytes());
    FileRevision { commit: Sha::from_bytes(hash), path: format!("dir/file{}.rs", id % 5).into() }
}

fn spans() -> impl Strategy<Value = BlameSpans> {
    prop::collection::vec((1u32..50, 0u32..9, 1u32..1000, 0u8..8), 0..30).prop_map(|parts| {
        let mut spans = BlameSpans::default();
        for (lines, source, line, seen) in parts {
            spans.push(lines, source, line, OriginFlags::from_bits(seen));
        }
        spans
    })
}

/// One entry a line: the law that all arithmetic is measured by.
fn by_line(spans: &BlameSpans) -> Vec<(u32, u32, u32, OriginFlags)> {
    let span = |span: &BlameSpan| {
        let span = *span;
        (0..span.lines).map(move |at| (span.start + at, span.source, span.line + at, span.seen))
    };
    spans.as_slice().iter().flat_map(span).collect()
}

proptest! {
    #[test]
    fn bytes_come_back(spans in spans()) {
        let lineage = Lineage::new(&spans, source);
        let bytes = lineage.to_bytes();
        prop_assert_eq!(&Lineage::from_bytes(&bytes).unwrap(), &lineage);
        let json = serde_json::to_string(&lineage).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Lineage>(&json).unwrap(), &lineage);
    }

    #[test]
    fn damaged_bytes_are_refused_or_read_but_never_panic(spans in spans(), at in 0usize..400, to in any::<u8>()) {
        let mut bytes = Lineage::new(&spans, source).to_bytes();
        let at = at % bytes.len();
        bytes[at] = to;
        if let Ok(lineage) = Lineage::from_bytes(&bytes) {
            prop_assert_eq!(Lineage::from_bytes(&lineage.to_bytes()).unwrap(), lineage);
        }
        prop_assert!(Lineage::from_bytes(&bytes[..at]).is_err());
    }

    #[test]
    fn spans_cover_all_lines_once_and_never_two_could_be_one(spans in spans()) {
        let lines = by_line(&spans);
        prop_assert!(lines.iter().zip(1..).all(|(line, at)| line.0 == at));
        prop_assert_eq!(lines.len(), spans.lines() as usize);
        for pair in spans.as_slice().windows(2) {
            let follows = pair[0].line + pair[0].lines == pair[1].line;
            prop_assert!(!(follows && pair[0].source == pair[1].source && pair[0].seen == pair[1].seen));
        }
    }

    #[test]
    fn a_slice_is_the_lines_it_names(spans in spans(), start in 1u32..600, lines in 0u32..600) {
        let sliced: Vec<_> = spans.slice(start, lines).flat_map(|span| {
            (0..span.lines).map(move |at| (span.start + at, span.source, span.line + at, span.seen))
        }).collect();
        let expected: Vec<_> = by_line(&spans).into_iter().filter(|line| (start..start + lines).contains(&line.0)).collect();
        prop_assert_eq!(sliced, expected);
    }

    #[test]
    fn cutting_anywhere_and_joining_gives_the_same(spans in spans(), cut in 0u32..600) {
        let mut joined = BlameSpans::default();
        joined.push_slice(&spans, 1, cut, OriginFlags::NONE);
        joined.push_slice(&spans, cut + 1, u32::MAX - cut, OriginFlags::NONE);
        prop_assert_eq!(joined, spans);
    }

    #[test]
    fn the_number_of_a_source_does_not_matter(spans in spans()) {
        let renumbered = spans.with_sources(|id| 1000 - id);
        prop_assert_eq!(Lineage::new(&spans, source), Lineage::new(&renumbered, |id| source(1000 - id)));
    }
}

#[test]
fn an_origin_names_commit_path_and_line() {
    let mut spans = BlameSpans::default();
    spans.push(3, 0, 10, OriginFlags::NONE);
    spans.push(2, 4, 7, OriginFlags::MOVED);
    let lineage = Lineage::new(&spans, source);
    let origin = lineage.origin(5).unwrap();
    assert_eq!((origin.source, origin.line, origin.seen), (source(4), 8, OriginFlags::MOVED));
    assert_eq!(lineage.origin(6), None);
    assert_eq!(lineage.origins(3, 2).map(|origin| origin.lines).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn another_format_is_refused() {
    assert_eq!(Lineage::from_bytes(&[9, 0, 0, 0, 0]), Err(DecodeError::Format { found: 9 }));
    assert_eq!(Lineage::from_bytes(&[]), Err(DecodeError::Damaged { at: 0 }));
}

#[test]
fn spans_that_overlap_are_refused() {
    let json = r#"{"sources":[{"commit":"0000000000000000000000000000000000000000","path":"a"}],
        "spans":[{"start":1,"lines":2,"source":0,"line":1,"seen":0},{"start":2,"lines":1,"source":0,"line":9,"seen":0}]}"#;
    assert!(serde_json::from_str::<Lineage>(json).is_err());
}
