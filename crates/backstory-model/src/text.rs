//! Words of a text, snippets, and the forms in which foreign text may occur in messages and on terminals.

use std::{borrow::Cow, collections::BTreeSet};

/// Most characters of what somebody wrote that a message repeats.
pub const MAX_ECHO: usize = 200;
/// How far from there a word may begin that is left out rather than cut: half a token is not recognized as one.
const WORD: usize = 64;

/// The words of a query, lower case, each once, in order; a word is letters, digits and `_`.
pub fn words(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .filter(|word| seen.insert(word.clone()))
        .collect()
}

/// The text with its first letter in upper case.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The part of the text, about `width` characters long, that has most of the query's words, on one line, with `…`
/// where it was cut. Without any of them it is the beginning.
pub fn snippet(text: &str, query: &str, width: usize) -> String {
    let stems = query_stems(query);
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
    // Where the end is shown, as much before it as there is room for.
    while best.end == tokens.len() && best.start > 0 && window_end(&lengths, best.start - 1, width) == tokens.len() {
        best.start -= 1;
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

/// The part of a text of several blocks that has most of the query's words: as many whole blocks as fit in about `width`
/// characters, a line for each, with `…` where others were left out. A block that does not fit is cut like a [`snippet`].
pub fn snippet_of_blocks(blocks: &[String], query: &str, width: usize) -> String {
    if let [only] = blocks {
        return snippet(only, query, width);
    }
    let stems = query_stems(query);
    let mut hits: Vec<BTreeSet<usize>> = Vec::with_capacity(blocks.len());
    for block in blocks {
        hits.push(block.split_whitespace().filter_map(|token| hit(token, &stems)).collect());
    }
    let lengths: Vec<usize> = blocks.iter().map(|block| block.chars().count() + 1).collect();
    let (mut best, mut best_score) = (0..window_end(&lengths, 0, width), 0);
    for start in 0..blocks.len() {
        let range = start..window_end(&lengths, start, width);
        let score = hits[range.clone()].iter().flatten().collect::<BTreeSet<_>>().len();
        if score > best_score {
            (best, best_score) = (range, score);
        }
    }
    let shown =
        |block: &String| if block.chars().count() > width { snippet(block, query, width) } else { block.clone() };
    let mut text = blocks[best.clone()].iter().map(shown).collect::<Vec<_>>().join("\n");
    // A block that is cut says so itself.
    if best.start > 0 && !text.starts_with('…') {
        text.insert_str(0, "…\n");
    }
    if best.end < blocks.len() && !text.ends_with('…') {
        text.push_str("\n…");
    }
    text
}

/// The stems of the words of a query that are looked for in a text.
fn query_stems(query: &str) -> Vec<String> {
    words(query).iter().filter(|word| word.chars().count() > 2).map(|word| stem(word)).collect()
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

/// The beginning of a word, in lower case, that its forms share: `redesigned` → `redesign`, `caches` → `cach`,
/// `stopped` → `stop`, `written` → `writ`.
pub fn stem(word: &str) -> String {
    const SUFFIXES: [&str; 10] = ["ations", "ation", "ings", "ing", "ies", "ed", "es", "s", "e", "y"];
    // Participles: rewritten, forgotten; `flatten` is none.
    if let Some(rest) = word.strip_suffix("ten").filter(|rest| rest.ends_with("it") || rest.ends_with("ot")) {
        return rest.to_owned();
    }
    let cut = |suffix: &'static str| Some((word.strip_suffix(suffix)?, suffix));
    let cuts = SUFFIXES.into_iter().filter_map(cut);
    let Some((rest, suffix)) = cuts.into_iter().find(|(rest, _)| rest.chars().count() >= 3) else {
        return word.to_owned();
    };
    let mut end = rest.chars().rev();
    let doubled = matches!((end.next(), end.next()), (Some(a), Some(b)) if a == b && !"aeiouls".contains(a));
    let rest = if doubled && matches!(suffix, "ed" | "ing" | "ings") { &rest[..rest.len() - 1] } else { rest };
    rest.to_owned()
}

/// Whether a text with these stems has a word; longer forms of a long word count.
pub fn has_stem(stems: &BTreeSet<String>, stem: &str) -> bool {
    const LONG: usize = 5;
    if stems.contains(stem) {
        return true;
    }
    let next = stems.range(stem.to_owned()..).next();
    stem.chars().count() >= LONG && next.is_some_and(|next| next.starts_with(stem))
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

/// What somebody wrote, as a message repeats it: at most [`MAX_ECHO`] characters, with `…` where it was cut.
pub fn truncate_echo(text: &str) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(MAX_ECHO) else { return Cow::Borrowed(text) };
    let head = &text[..end];
    let words = head.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_'));
    let kept = if words.len() + WORD >= head.len() { words } else { head };
    Cow::Owned(format!("{kept}…"))
}

/// A text with every word of more than [`MAX_ECHO`] characters cut to that many: for messages that repeat what somebody
/// wrote in the words of another program.
pub fn truncate_long_words(text: &str) -> Cow<'_, str> {
    if text.split(char::is_whitespace).all(|word| word.len() <= MAX_ECHO) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(MAX_ECHO * 4);
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        shown.push_str(&truncate_echo(word));
        shown.push_str(&piece[word.len()..]);
    }
    Cow::Owned(shown)
}

/// A text in which nothing commands a terminal or changes the order in which it reads: control characters, and those for
/// the direction of writing, are shown as `\u{1b}`. Line feeds and tabs stay; a carriage return before a line feed goes.
pub fn escape_control_characters(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control_character) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' if letters.peek() == Some(&'\n') => {}
            hidden if is_control_character(hidden) => shown.extend(hidden.escape_unicode()),
            letter => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character is not for the eye: controls (C0, C1) but for line feed and tab, and controls of direction.
pub fn is_control_character(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && !matches!(c, '\n' | '\t'))
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
    fn snippet_shows_all_that_there_is_room_for() {
        let note = "33314ca: can we remove this since it is already done inside the function?";
        assert_eq!(snippet(note, "function", 80), note);
        assert_eq!(snippet(note, "function", 40), "…it is already done inside the function?");
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["write", "writes", "writing", "written"][..],
            &["rewrite", "rewritten"],
            &["forgot", "forgotten"],
            &["stop", "stops", "stopped"],
            &["flatten", "flattened", "flattening"],
        ] {
            assert!(forms.iter().all(|form| stem(form) == stem(forms[0])), "{forms:?}");
        }
    }

    #[test]
    fn snippet_without_a_hit_is_the_beginning() {
        assert_eq!(snippet("one two three", "zzz", 80), "one two three");
        assert_eq!(snippet("one two three", "zzz", 8), "one two…");
        assert_eq!(snippet("", "zzz", 8), "");
    }

    #[test]
    fn an_echo_is_short_and_ends_with_a_word() {
        assert_eq!(truncate_echo("short"), "short");
        let words = echo_of(&"some words ".repeat(1000));
        assert!(words.ends_with("words …") && words.chars().count() <= MAX_ECHO + 1, "{words}");
        assert_eq!(echo_of(&"x".repeat(1000)), format!("{}…", "x".repeat(MAX_ECHO)));
        let token = format!("{} gl{}-abcdefghijklmnopqrstuvwxyz", "é".repeat(180), "pat");
        assert_eq!(echo_of(&token), format!("{} …", "é".repeat(180)));
        let message = format!("'{}' is not known; known projects: a/b\n", "x".repeat(1000));
        assert_eq!(truncate_long_words(&message), format!("'{}… is not known; known projects: a/b\n", "x".repeat(199)));
    }

    fn echo_of(text: &str) -> String {
        truncate_echo(text).into_owned()
    }

    #[test]
    fn what_commands_a_terminal_is_shown() {
        assert_eq!(escape_control_characters("a\r\n\tb é"), "a\n\tb é");
        assert_eq!(
            escape_control_characters("\u{1b}]0;x\u{7}\r\u{7f}\u{9b}\u{202e}"),
            r"\u{1b}]0;x\u{7}\u{d}\u{7f}\u{9b}\u{202e}"
        );
        assert!(matches!(escape_control_characters("plain é\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn of_blocks_whole_ones_are_shown_on_lines_of_their_own() {
        let blocks =
            ["Two things:", "- the cart is locked", "- the queue waits", "Then it goes on."].map(str::to_owned);
        assert_eq!(snippet_of_blocks(&blocks, "zzz", 400), blocks.join("\n"));
        assert_eq!(snippet_of_blocks(&blocks, "zzz", 40), "Two things:\n- the cart is locked\n…");
        assert_eq!(snippet_of_blocks(&blocks, "why does the queue wait", 30), "…\n- the queue waits\n…");
        assert_eq!(snippet_of_blocks(&blocks, "queue", 5), "…\n- the…");
        assert_eq!(snippet_of_blocks(&blocks[..1], "zzz", 5), "Two…");
        assert_eq!(snippet_of_blocks(&[], "zzz", 5), "");
    }

    proptest! {
        #[test]
        fn snippet_never_panics_or_overflows(text in "\\PC{0,300}", query in "\\PC{0,30}", width in 1usize..80) {
            prop_assert!(snippet(&text, &query, width).chars().count() <= width + 2);
        }
    }
}
