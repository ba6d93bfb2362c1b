//! Tests of fitting packs into budgets.

use proptest::prelude::*;

use super::{
    super::{CodeContext, DesignNote, ImportantDiff, KeyItem, PackSources, RelatedTest, TimelineEntry},
    *,
};
use crate::{digest::sha256_hex, document_type::DocumentType, pack::chunk::chunk_id};

/// Pieces of four bytes: finer than any real tokenizer joins words.
fn count(text: &str) -> usize {
    text.len().div_ceil(4)
}

fn sources(number: usize) -> PackSources {
    PackSources { commits: vec![format!("acme/shop@{number:012x}")], ..PackSources::default() }
}

fn chunk(number: usize, text: &str) -> Chunk {
    let text = format!("{number} {text}");
    Chunk {
        chunk_id: chunk_id("acme/shop", None, "x", 0, &sha256_hex(&text)),
        document_type: DocumentType::ALL[number % 9],
        document: format!("acme/shop#{number}"),
        title: "Title".into(),
        repository: "acme/shop".into(),
        commit: None,
        path: None,
        url: Some("https://git.example.com/acme/shop/-/issues/1".into()),
        lines: (1, 9),
        index: 0,
        score: 1.0 / (number + 1) as f64,
        embedding_model: Some("model".into()),
        is_section: false,
        confidential: false,
        content_hash: sha256_hex("whole"),
        sources: sources(number),
        text,
    }
}

fn full(format: Format, entries: usize, text: &str, query: &str) -> ContextPack {
    let mut pack = ContextPack { format, summary: text.repeat(2), ..ContextPack::default() };
    pack.metadata.query = query.to_owned();
    pack.metadata.snapshot = "0123456789abcdef".into();
    pack.manifest.query = query.to_owned();
    pack.missing = vec![text.to_owned()];
    for number in 0..entries {
        let (sources, date) = (sources(number), format!("2024-01-{:02}", 28 - number % 28));
        pack.key_items.push(KeyItem {
            reference: format!("acme/shop#{number}"),
            title: "Title".into(),
            excerpt: text.into(),
            content_hash: sha256_hex(text),
            sources: sources.clone(),
            ..KeyItem::default()
        });
        pack.timeline.push(TimelineEntry {
            date,
            summary: text.into(),
            sources: sources.clone(),
            ..Default::default()
        });
        pack.design_notes.push(DesignNote { note: text.into(), sources: sources.clone(), ..Default::default() });
        pack.code_context.push(CodeContext { snippet: text.into(), sources: sources.clone(), ..Default::default() });
        let diff = format!("@@ -1 +1 @@\n+{text}");
        pack.important_diffs.push(ImportantDiff { diff, sources: sources.clone(), ..Default::default() });
        pack.related_tests.push(RelatedTest { description: text.into(), sources, ..Default::default() });
        pack.retrieved.push(chunk(number, text));
    }
    pack
}

#[test]
fn with_room_nothing_is_left_out_and_nothing_cut() {
    for format in [Format::Json, Format::Markdown] {
        let pack = fit_to_budget(full(format, 5, "Some words. And more.", "why"), 100_000, &count);
        assert!(pack.left_out.is_empty());
        assert_eq!(pack.manifest.counts.values().sum::<usize>(), 35);
        assert_eq!(pack.metadata.token_count, count(&(render(&pack) + "\n")));
        assert!(pack.timeline.is_sorted_by(|a, b| a.date <= b.date));
        assert!(pack.retrieved.is_sorted_by(|a, b| compare_chunks(a, b).is_le()));
        assert_eq!(pack.provenance.commits.len(), 5);
        assert_eq!(pack.manifest.chunks.len(), 5);
    }
}

#[test]
fn more_room_is_served_in_order_and_what_is_left_out_is_counted() {
    let text = "A sentence of a few words that say why. ".repeat(20);
    for budget in [400, 1000, 2000, 4000, 8000] {
        let pack = fit_to_budget(full(Format::Markdown, 12, &text, "why"), budget, &count);
        assert!(pack.metadata.token_count <= budget && pack.metadata.token_count > budget / 2, "{budget}");
        for section in Section::ALL {
            let shown = pack.manifest.counts.get(&section).copied().unwrap_or(0);
            assert_eq!(shown + pack.left_out.get(&section).copied().unwrap_or(0), 12, "{budget} {section:?}");
        }
        assert!(!pack.key_items.is_empty() && pack.key_items.len() <= 5);
        let whole = |chunk: &Chunk| chunk.text.ends_with(text.as_str());
        assert!(pack.retrieved.iter().all(whole), "a passage is whole or not there");
    }
}

#[test]
fn little_room_holds_the_best_item_trimmed() {
    let text = "A sentence of a few words that say why. ".repeat(20);
    let mut all = full(Format::Markdown, 12, &text, "why");
    for (number, item) in all.key_items.iter_mut().enumerate() {
        item.title = format!("{number} A title that takes some of the room that there is, as titles do");
        item.url = Some(format!("https://git.example.com/acme/shop/-/issues/{number}"));
    }
    for budget in [230, 260, 300] {
        let pack = fit_to_budget(all.clone(), budget, &count);
        assert!(pack.metadata.token_count <= budget, "{budget}");
        assert_eq!(
            pack.key_items.first().map(|item| item.reference.as_str()),
            Some("acme/shop#0"),
            "{budget}: {pack:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn never_more_than_the_budget(
        entries in 0usize..15, text in "([a-zü`\"\\\\]{0,9}[.!]?[ \n]{1,2}){0,60}", query in "\\PC{0,300}",
        budget in 200usize..6000, json in any::<bool>(),
    ) {
        let format = if json { Format::Json } else { Format::Markdown };
        let all = full(format, entries, &text, &query);
        let pack = fit_to_budget(all.clone(), budget, &count);
        let printed = render(&pack) + "\n";
        prop_assert!(count(&printed) <= budget, "{} of {budget}: {printed}", count(&printed));
        prop_assert_eq!(count(&printed), pack.metadata.token_count);
        prop_assert_eq!(printed, render(&fit_to_budget(all, budget, &count)) + "\n");
    }
}
