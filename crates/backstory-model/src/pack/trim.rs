//! Shortening texts where it does not hurt: behind lines and sentences.

/// What stands where something was cut off.
pub(super) const CUT: char = '…';

/// The longest beginning of a text that has at most `room` tokens and ends with a line or a sentence, with `…` behind it
/// if something is missing. If not even the first sentence fits it ends with a word; if none fits it is empty. `count`
/// tells how many tokens a text has.
pub fn clip(text: &str, room: usize, count: &dyn Fn(&str) -> usize) -> String {
    let text = text.trim_end();
    // A token has at least one byte: what is short enough need not be counted.
    if text.len() <= room || count(text) <= room {
        return text.to_owned();
    }
    let room = room.saturating_sub(1);
    let ends = |is_end: &dyn Fn(char, Option<char>) -> bool| -> Vec<usize> {
        let mut chars = text.char_indices().peekable();
        let mut ends = Vec::new();
        while let Some((at, c)) = chars.next() {
            if is_end(c, chars.peek().map(|(_, next)| *next)) {
                ends.push(at + c.len_utf8());
            }
        }
        ends
    };
    let sentences =
        ends(&|c, next| c == '\n' || (matches!(c, '.' | '!' | '?') && next.is_some_and(char::is_whitespace)));
    let fits = |end: usize| count(text[..end].trim_end()) <= room;
    if let Some(cut) = longest(&sentences, &fits) {
        // Where lines count, what stands behind a line is one of its own.
        let between = if text[..cut].ends_with('\n') { '\n' } else { ' ' };
        return format!("{}{between}{CUT}", text[..cut].trim_end());
    }
    let words = ends(&|c, next| !c.is_whitespace() && next.is_some_and(char::is_whitespace));
    longest(&words, &fits).map(|cut| format!("{}{CUT}", text[..cut].trim_end())).unwrap_or_default()
}

/// The last of the places, which grow, that fits.
fn longest(ends: &[usize], fits: &dyn Fn(usize) -> bool) -> Option<usize> {
    let count = ends.partition_point(|end| fits(*end));
    count.checked_sub(1).map(|last| ends[last])
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
        assert_eq!(clip(text, 7, &words), "One two three. Four five! …");
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
