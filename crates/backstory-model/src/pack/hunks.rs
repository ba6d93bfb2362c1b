//! Picks the hunks of a file's diff that matter for a question.

use std::fmt::Write as _;

use super::QuestionTerms;
use crate::commit::{Hunk, LineKind};

/// Most lines of a hunk that are shown.
const MAX_LINES: usize = 40;
/// Unchanged or unconcerned lines that are shown around those that matter, in a hunk that is cut.
const AROUND: usize = 6;
/// Longest line that is shown, in characters.
const MAX_WIDTH: usize = 200;

/// The hunks that matter, as they are printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchingHunks {
    /// As `git diff` prints them, cut hunks with `…` where lines are missing.
    pub text: String,
    /// How many hunks there are besides.
    pub left_out: u32,
    /// How many words of the question the shown ones have; lines that were asked for count more.
    pub score: usize,
}

/// The hunks that hold one of the lines, numbered as after the change, or share words with the question; the best ones
/// first in choice and in their own order in print, at most `most`. If none does it is the first hunk alone, with score 0.
pub fn matching_hunks(hunks: &[Hunk], terms: &QuestionTerms, lines: &[(u32, u32)], most: usize) -> MatchingHunks {
    let mut scored: Vec<(usize, usize)> =
        hunks.iter().enumerate().map(|(at, hunk)| (score(hunk, terms, lines), at)).collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    if scored.first().is_some_and(|(best, _)| *best > 0) {
        scored.retain(|(score, _)| *score > 0);
        scored.truncate(most);
    } else {
        scored.truncate(1);
    }
    let total = scored.iter().map(|(score, _)| score).sum();
    let mut chosen: Vec<usize> = scored.into_iter().map(|(_, at)| at).collect();
    chosen.sort_unstable();
    let mut text = String::new();
    for at in &chosen {
        print(&hunks[*at], terms, lines, &mut text);
    }
    let left_out = u32::try_from(hunks.len() - chosen.len()).unwrap_or(u32::MAX);
    MatchingHunks { text: text.trim_end_matches('\n').to_owned(), left_out, score: total }
}

/// Lines that were asked for weigh more than any words.
const ON_LINES: usize = 1000;

fn score(hunk: &Hunk, terms: &QuestionTerms, lines: &[(u32, u32)]) -> usize {
    let last = hunk.new_start + hunk.new_count.saturating_sub(1);
    let on = lines.iter().any(|(first, end)| *first <= last && hunk.new_start <= *end);
    let changed = hunk.lines.iter().filter(|line| line.kind != LineKind::Context);
    let text: Vec<&str> = changed.map(|line| line.text.as_str()).collect();
    usize::from(on) * ON_LINES + terms.count_matches(&text.join("\n"))
}

fn print(hunk: &Hunk, terms: &QuestionTerms, lines: &[(u32, u32)], out: &mut String) {
    let range = |start, count| if count == 1 { format!("{start}") } else { format!("{start},{count}") };
    let (old, new) = (range(hunk.old_start, hunk.old_count), range(hunk.new_start, hunk.new_count));
    let _ = writeln!(out, "@@ -{old} +{new} @@");
    let shown = shown(hunk, terms, lines);
    let mut gap = false;
    for (line, shown) in hunk.lines.iter().zip(shown) {
        if !shown {
            gap = true;
            continue;
        }
        if std::mem::take(&mut gap) {
            out.push_str("…\n");
        }
        let sign = match line.kind {
            LineKind::Context => ' ',
            LineKind::Added => '+',
            LineKind::Removed => '-',
        };
        let text = line.text.trim_end_matches('\r');
        if text.chars().count() > MAX_WIDTH {
            let cut: String = text.chars().take(MAX_WIDTH).collect();
            let _ = writeln!(out, "{sign}{cut}…");
        } else {
            let _ = writeln!(out, "{sign}{text}");
        }
    }
    if gap {
        out.push_str("…\n");
    }
}

/// Which lines of a hunk are shown: all of a short one; of a long one those that matter and some around them.
fn shown(hunk: &Hunk, terms: &QuestionTerms, lines: &[(u32, u32)]) -> Vec<bool> {
    let count = hunk.lines.len();
    if count <= MAX_LINES {
        return vec![true; count];
    }
    let mut number = hunk.new_start;
    let mut weights = Vec::with_capacity(count);
    for line in &hunk.lines {
        let is_new = line.kind != LineKind::Removed;
        let asked = is_new && lines.iter().any(|(first, last)| (*first..=*last).contains(&number));
        let changed = usize::from(line.kind != LineKind::Context);
        weights.push(usize::from(asked) * ON_LINES + terms.count_matches(&line.text) * (1 + changed));
        number += u32::from(is_new);
    }
    let mut best: Vec<usize> = (0..count).filter(|at| weights[*at] > 0).collect();
    best.sort_by(|a, b| weights[*b].cmp(&weights[*a]).then(a.cmp(b)));
    if best.is_empty() {
        best.push(hunk.lines.iter().position(|line| line.kind != LineKind::Context).unwrap_or(0));
    }
    let mut shown = vec![false; count];
    let mut left = MAX_LINES;
    for at in best {
        for near in &mut shown[at.saturating_sub(AROUND)..(at + AROUND + 1).min(count)] {
            if left > 0 && !*near {
                *near = true;
                left -= 1;
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;
    use crate::commit::DiffLine;

    fn hunk(start: u32, lines: &[&str]) -> Hunk {
        let lines: Vec<DiffLine> = lines
            .iter()
            .map(|line| DiffLine {
                kind: match line.chars().next() {
                    Some('+') => LineKind::Added,
                    Some('-') => LineKind::Removed,
                    _ => LineKind::Context,
                },
                text: line[1..].to_owned(),
            })
            .collect();
        let count = |kind| u32::try_from(lines.iter().filter(|line| line.kind != kind).count()).unwrap();
        let (old_count, new_count) = (count(LineKind::Added), count(LineKind::Removed));
        Hunk { old_start: start, old_count, new_start: start, new_count, lines }
    }

    #[test]
    fn hunks_about_the_question_are_kept() {
        let hunks = [
            hunk(1, &[" a", "+include stdio", " b"]),
            hunk(10, &[" c", "-old_leeway = 0", "+leeway = 90", " d"]),
            hunk(30, &[" e", "+unrelated", " f"]),
        ];
        let found = matching_hunks(&hunks, &QuestionTerms::of("why a leeway of 90 seconds"), &[], 5);
        expect![[r"
            @@ -10,3 +10,3 @@
             c
            -old_leeway = 0
            +leeway = 90
             d"]]
        .assert_eq(&found.text);
        assert_eq!(found.left_out, 2);
        let found = matching_hunks(&hunks, &QuestionTerms::of("zzz"), &[(31, 31)], 5);
        assert!(found.text.contains("+unrelated") && !found.text.contains("leeway"), "{}", found.text);
        let found = matching_hunks(&hunks, &QuestionTerms::of("zzz"), &[], 5);
        assert_eq!((found.score, found.left_out), (0, 2));
        assert!(found.text.contains("stdio"));
        assert_eq!(matching_hunks(&[], &QuestionTerms::of("zzz"), &[], 5), MatchingHunks::default());
    }

    #[test]
    fn a_long_hunk_is_cut_around_what_matters() {
        let lines: Vec<String> =
            (0..200).map(|at| if at == 120 { "+the leeway".to_owned() } else { format!("+line {at}") }).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let found = matching_hunks(&[hunk(1, &lines)], &QuestionTerms::of("leeway"), &[], 5);
        expect![[r"
            @@ -1,0 +1,200 @@
            …
            +line 114
            +line 115
            +line 116
            +line 117
            +line 118
            +line 119
            +the leeway
            +line 121
            +line 122
            +line 123
            +line 124
            +line 125
            +line 126
            …"]]
        .assert_eq(&found.text);
    }

    proptest! {
        #[test]
        fn never_many_lines(sizes in prop::collection::vec(1usize..150, 0..6), word in "[abc]{3}", most in 1usize..4) {
            let hunks: Vec<Hunk> = sizes.iter().zip(0u32..).map(|(size, at)| {
                hunk(at * 200 + 1, &vec!["+abc"; *size])
            }).collect();
            let found = matching_hunks(&hunks, &QuestionTerms::of(&word), &[], most);
            prop_assert!(found.text.lines().count() <= most * (MAX_LINES * 2 + 2));
            prop_assert!(found.left_out as usize <= hunks.len());
        }
    }
}
