//! Shortens texts where it does not hurt: after lines and sentences.

/// What stands where something was cut off.
pub(super) const CUT: char = '…';

/// The longest beginning of a text that has at most `room` tokens and ends with a line or a sentence, with `…` behind it
/// if something is missing. If not even the first sentence fits it ends with a word; if none fits it is empty. `count`
/// tells how many tokens a text has.
pub fn clip(text: &str, room: usize, count: &dyn Fn(&str) -> usize) -> String {
    let text = text.trim_end();
    // A token has at least one byte: what is short enough need not be counted.
    if text.len() <= room {
        return text.to_owned();
    }
    let sentences =
        ends(text, |c, next| c == '\n' || (matches!(c, '.' | '!' | '?') && next.is_some_and(char::is_whitespace)));
    let whole = longest(text, sentences.iter().copied().chain([text.len()]), room, count);
    if whole == Some(text.len()) {
        return text.to_owned();
    }
    let room = room.saturating_sub(1);
    if let Some(cut) = longest(text, sentences.into_iter(), room, count) {
        // Where lines count, what stands behind a line is one of its own.
        let between = if text[..cut].ends_with('\n') { '\n' } else { ' ' };
        return format!("{}{between}{CUT}", text[..cut].trim_end());
    }
    let words = ends(text, |c, next| !c.is_whitespace() && next.is_some_and(char::is_whitespace));
    longest(text, words.into_iter(), room, count)
        .map(|cut| format!("{}{CUT}", text[..cut].trim_end()))
        .unwrap_or_default()
}

/// Where the characters end that a text may be cut behind.
fn ends(text: &str, is_end: impl Fn(char, Option<char>) -> bool) -> Vec<usize> {
    let mut chars = text.char_indices().peekable();
    let mut ends = Vec::new();
    while let Some((at, c)) = chars.next() {
        if is_end(c, chars.peek().map(|(_, next)| *next)) {
            ends.push(at + c.len_utf8());
        }
    }
    ends
}

/// The last of the places, which grow, up to which the text fits. Only about as much is counted as fits.
fn longest(text: &str, ends: impl Iterator<Item = usize>, room: usize, count: &dyn Fn(&str) -> usize) -> Option<usize> {
    let (mut used, mut start, mut fitting) = (0, 0, Vec::new());
    for end in ends {
        used += count(text[start..end].trim_end());
        if used > room {
            break;
        }
        fitting.push(end);
        start = end;
    }
    // Joined, parts may count for more than by themselves.
    fitting.into_iter().rev().find(|end| count(text[..*end].trim_end()) <= room)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> usize {
        text.split_whitespace().count()
    }

    #[test]
    fn cuts_behind_sentences_and_lines() {
        let text = "One two three. Four five!\nSix seven eight nine. Ten eleven twelve";
        assert_eq!(clip(text, 20, &words), text);
        assert_eq!(clip(text, 11, &words), "One two three. Four five!\nSix seven eight nine. …");
        assert_eq!(clip(text, 7, &words), "One two three. Four five!\n…");
        assert_eq!(clip(text, 4, &words), "One two three. …");
        assert_eq!(clip(text, 3, &words), "One two…");
        assert_eq!(clip("1.5 is a number. And this", 5, &words), "1.5 is a number. …");
        assert_eq!(clip("word", 0, &words), "");
    }

    proptest! {
        #[test]
        fn never_longer_and_always_a_beginning(text in "([a-zü]{1,5}[.!]?[ \n]){0,80}", room in 0usize..60) {
            let clipped = clip(&text, room, &words);
            prop_assert!(words(&clipped) <= room.max(1));
            prop_assert!(text.starts_with(clipped.trim_end_matches(['…', ' ', '\n'])));
        }
    }
}
