//! Words of a text and the passage that shows why it was found.

use std::collections::BTreeSet;

/// The words of a query, lower case, each once, in order; a word is letters, digits and `_`.
pub fn words(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .filter(|word| seen.insert(word.clone()))
        .collect()
}

/// The part of the text, about `width` characters long, that has most of the query's words, on one line, with `…`
/// where it was cut. Without any of them it is the beginning.
pub fn snippet(text: &str, query: &str, width: usize) -> String {
    let stems: Vec<String> = words(query).iter().filter(|w| w.chars().count() > 2).map(|w| stem(w)).collect();
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let hits: Vec<Option<usize>> = tokens.iter().map(|token| hit(token, &stems)).collect();
    let lengths: Vec<usize> = tokens.iter().map(|token| token.chars().count() + 1).collect();

    let (mut best, mut best_score) = (0..window_end(&lengths, 0, width), 0);
    for start in (0..tokens.len()).filter(|&i| hits[i].is_some()) {
        let range = start..window_end(&lengths, start, width);
        let score = hits[range.clone()].iter().flatten().collect::<BTreeSet<_>>().len();
        if score > best_score {
            (best, best_score) = (range, score);
        }
    }
    // Some words before the first hit make it readable.
    let lead = best.start.min(6);
    if best_score > 0 {
        let start = best.start - lead;
        best = start..window_end(&lengths, start, width);
    }
    let mut shown = tokens[best.clone()].join(" ");
    if shown.chars().count() > width {
        shown = shown.chars().take(width).collect();
        shown.push('…');
    } else if best.end < tokens.len() {
        shown.push('…');
    }
    if best.start > 0 {
        shown.insert(0, '…');
    }
    shown
}

fn window_end(lengths: &[usize], start: usize, width: usize) -> usize {
    let mut total = 0;
    let fits = lengths[start..].iter().take_while(|&&length| {
        total += length;
        total <= width + 1
    });
    (start + fits.count()).max(lengths.len().min(start + 1))
}

/// Which of the stems begins a word of the token.
fn hit(token: &str, stems: &[String]) -> Option<usize> {
    let token = token.to_lowercase();
    stems.iter().position(|stem| {
        token
            .match_indices(stem.as_str())
            .any(|(at, _)| !token[..at].chars().next_back().is_some_and(char::is_alphanumeric))
    })
}

/// The beginning of a word that its forms share: `redesigned` → `redesign`, `caches` → `cach`.
pub(crate) fn stem(word: &str) -> String {
    let suffixes = ["ations", "ation", "ings", "ing", "ies", "ed", "es", "s", "e", "y"];
    let stem = suffixes.iter().find_map(|suffix| word.strip_suffix(suffix).filter(|rest| rest.chars().count() >= 3));
    stem.unwrap_or(word).to_owned()
}

/// The first line of a text, cut to `width` characters with `…`.
pub fn one_line(text: &str, width: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn snippet_shows_where_the_words_are() {
        let filler = "lorem ipsum dolor ".repeat(40);
        let text = format!("{filler} we moved sessions\nto JWT tokens because cookies failed {filler}");
        let shown = snippet(&text, "why JWT token cookie", 80);
        assert!(shown.contains("JWT tokens because cookies failed"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
    }

    #[test]
    fn snippet_without_a_hit_is_the_beginning() {
        assert_eq!(snippet("one two three", "zzz", 80), "one two three");
        assert_eq!(snippet("one two three", "zzz", 8), "one two…");
        assert_eq!(snippet("", "zzz", 8), "");
    }

    proptest! {
        #[test]
        fn snippet_never_panics_or_overflows(text in "\\PC{0,300}", query in "\\PC{0,30}", width in 1usize..80) {
            prop_assert!(snippet(&text, &query, width).chars().count() <= width + 2);
        }
    }
}
