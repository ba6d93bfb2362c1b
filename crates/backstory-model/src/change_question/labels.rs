//! Labels that say what was done to all that stands under them, as the headings of changelogs do.

use super::{
    CLAUSES, ChangeDirection,
    statements::NEGATIONS,
    subject::{is_among, names_nothing},
    words::{TextWord, change_word, split_words},
};

/// Most words of a label.
const MAX_WORDS: usize = 8;
/// What a label may have beside words for what was done and to what kind of thing.
const BESIDE: &str = "following breaking security major minor notable various release version";
/// Words for what came, unless a label says that something else was done to it.
const NEW: &str = "new feature features";

/// What a text says was done to what stands under it, and to nothing else: `Added`, `Bug fixes`, `The following functions were
/// removed:`.
pub fn direction_of_label(text: &str) -> Option<ChangeDirection> {
    let words = split_words(text);
    if words.len() > MAX_WORDS || words.iter().any(says_otherwise) {
        return None;
    }
    let mut direction: Option<ChangeDirection> = None;
    for word in &words {
        let Some(said) = direction_of_word(word) else {
            if !names_nothing(word) && !is_among(BESIDE, &word.lower) {
                return None;
            }
            continue;
        };
        // As in `Removed deprecated functions`.
        if direction.is_some_and(|known| known != said) && word.lower != "deprecated" {
            return None;
        }
        direction = direction.or(Some(said));
    }
    let is_new = || words.iter().any(|word| is_among(NEW, &word.lower));
    direction.or_else(|| is_new().then_some(ChangeDirection::Added))
}

/// Whether a word makes of a label a clause, one of several things or the opposite: `To be removed`, `Added and changed`, `Not
/// fixed`.
fn says_otherwise(word: &TextWord<'_>) -> bool {
    let is_joint = matches!(word.lower.as_str(), "and" | "or");
    is_joint || word.follows_comma || is_among(NEGATIONS, &word.lower) || is_among(CLAUSES, &word.lower)
}

fn direction_of_word(word: &TextWord<'_>) -> Option<ChangeDirection> {
    match word.lower.as_str() {
        "additions" => Some(ChangeDirection::Added),
        "removals" | "deletions" => Some(ChangeDirection::Removed),
        "bugfix" | "bugfixes" | "hotfixes" => Some(ChangeDirection::Fixed),
        "deprecations" => Some(ChangeDirection::Deprecated),
        _ => change_word(word).map(|word| word.direction),
    }
}
