//! License headers: files begin with them, and they say nothing of what a file does.

use std::sync::LazyLock;

use backstory_model::filter::DocumentKind;
use regex::Regex;

/// Comments at the beginning of a file that are looked at.
const MAX_COMMENTS: usize = 3;
/// Comments that end somewhere, and those that each line begins.
const BLOCKS: [(&str, &str); 2] = [("/*", "*/"), ("<!--", "-->")];
const LINES: [&str; 4] = ["//", "#", "--", ";"];

/// What only a comment about the license says.
static LICENSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\bcopyright\b|spdx-license|\blicen[sc]ed\s+(?:under|to)\b|\ball rights reserved\b|\bpermission is hereby\b",
    )
    .expect("the pattern is constant")
});
static ASKS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)copyright|licen[sc]|spdx").expect("the pattern is constant"));

/// Whether a query asks for licenses.
pub(super) fn is_asked_for(query: &str) -> bool {
    ASKS.is_match(query)
}

/// The text of a document of that kind without the license that it begins with; empty if there is nothing else.
pub(super) fn without_license(kind: DocumentKind, text: &str) -> &str {
    match kind {
        DocumentKind::File | DocumentKind::Code => without_header(text),
        // In texts `#` begins a heading.
        DocumentKind::Issue
        | DocumentKind::MergeRequest
        | DocumentKind::Discussion
        | DocumentKind::Commit
        | DocumentKind::Section => text,
    }
}

fn without_header(text: &str) -> &str {
    let mut rest = text.trim_start();
    for _ in 0..MAX_COMMENTS {
        let (comment, after) = rest.split_at(length_of_comment(rest));
        if !LICENSE.is_match(comment) {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

/// Length of the comment that a text begins with, up to a line that is none; 0 if it begins with something else.
fn length_of_comment(text: &str) -> usize {
    if let Some((_, end)) = BLOCKS.iter().find(|(begin, _)| text.starts_with(begin)) {
        // A passage may be cut within it.
        return text.find(end).map_or(text.len(), |at| at + end.len());
    }
    let Some(marker) = LINES.iter().find(|marker| text.starts_with(**marker)) else { return 0 };
    let lines = text.split_inclusive('\n').take_while(|line| line.trim_start().starts_with(marker));
    lines.map(str::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_license_at_the_beginning_of_a_file_is_left_out_and_nothing_else() {
        let shown = |text| without_license(DocumentKind::File, text);
        for text in [
            "// Copyright 2024 Acme\n//\n// Licensed under the MIT License.\n\n// Sells lamps.\npackage shop\n",
            "/* Copyright 2024 Acme\n\n   All rights reserved. */\n// Sells lamps.\npackage shop\n",
            "// SPDX-License-Identifier: MIT\n\n/* Copyright 2024 Acme */\n\n// Sells lamps.\npackage shop\n",
        ] {
            assert_eq!(shown(text), "// Sells lamps.\npackage shop\n", "{text}");
        }
        for text in ["// Sells lamps.\n\n// Copyright is ours.\n", "import license\n", ""] {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown("# Copyright 2024 Acme\n"), "");
        assert_eq!(shown("/* Copyright 2024 Acme\n * and"), "");
        assert_eq!(without_license(DocumentKind::Section, "# Copyright\n\nOurs."), "# Copyright\n\nOurs.");
        assert!(is_asked_for("which license") && is_asked_for("Copyright header") && !is_asked_for("cart"));
    }
}
