//! The words of a question or a sentence, with what stands between them, and which of them say that something changed.

use std::ops::Range;

use super::ChangeDirection;
use crate::text::stem;

/// Words of a text that are read, the first ones.
const MAX_WORDS: usize = 400;

/// A word and what stands before it.
#[derive(Clone, Debug)]
pub(super) struct TextWord<'a> {
    /// As it is written.
    pub(super) text: &'a str,
    /// In lower case.
    pub(super) lower: String,
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    /// Whether a sentence or clause ends before it.
    pub(super) follows_stop: bool,
    /// Whether a comma or `&` stands before it.
    pub(super) follows_comma: bool,
    /// Whether a mark stands before it that ends what precedes a title: `fix:`, `[docs]`.
    pub(super) follows_prefix: bool,
    /// Whether it is marked as code.
    pub(super) is_marked: bool,
    /// Whether a quotation mark stands before it.
    pub(super) is_quoted: bool,
    /// Whether it is what the name before it is set to: `False` of `strict=False`, `n` of `--depth=<n>`; or a letter by which
    /// an option beside it is called, too: `d` of `--depth/-d`.
    pub(super) is_value: bool,
    /// Whether it is the first thing that the name before it takes: `path` of `load(path: str)`.
    pub(super) is_taken: bool,
}

impl TextWord<'_> {
    /// The word for comparing: its stem, but a number or a name of code whole.
    pub(super) fn normal(&self) -> String {
        if self.lower.chars().all(char::is_alphabetic) {
            return stem(&self.lower);
        }
        let version = self.lower.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        version.unwrap_or(&self.lower).to_owned()
    }

    /// Whether it looks like a name of code: `load_session`, `getUser`, `src/a.rs`, `Server.start`.
    pub(super) fn looks_like_code(&self) -> bool {
        let mut letters = self.text.chars().zip(self.text.chars().skip(1));
        let has_inner_capital = letters.any(|(one, next)| one.is_lowercase() && next.is_uppercase());
        let is_number = self.text.chars().all(|c| c.is_ascii_digit() || c == '.');
        !is_number
            && (self.is_marked || has_inner_capital || self.text.contains(['_', '/', '.']) || self.text.contains("::"))
    }
}

/// The form of a word that says that something changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerbForm {
    /// `add`
    Base,
    /// `adds`, `adding`
    Other,
    /// `added`
    Past,
    /// `removal`
    Noun,
}

/// A word that says that something changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangeWord {
    /// How.
    pub(super) direction: ChangeDirection,
    /// Its form.
    pub(super) form: VerbForm,
}

/// Whether a word says that something changes, such as `introduced` and `drop`.
pub fn says_change(word: &str) -> bool {
    split_words(word).first().is_some_and(|word| change_word(word).is_some())
}

/// How a word says that something changed; `None` if it does not.
pub(super) fn change_word(word: &TextWord<'_>) -> Option<ChangeWord> {
    use ChangeDirection::{Added, Deprecated, Fixed, Removed};
    use VerbForm::{Base, Noun, Other, Past};
    let (direction, form) = match word.lower.as_str() {
        "add" | "introduce" | "implement" | "create" => (Added, Base),
        "adds" | "adding" | "introduces" | "introducing" | "implements" | "implementing" | "creates" | "creating" => {
            (Added, Other)
        }
        "added" | "introduced" | "implemented" | "created" => (Added, Past),
        "addition" | "introduction" => (Added, Noun),
        "remove" | "drop" | "delete" | "discontinue" | "eliminate" => (Removed, Base),
        "removes" | "removing" | "drops" | "dropping" | "deletes" | "deleting" | "eliminates" | "eliminating" => {
            (Removed, Other)
        }
        "removed" | "dropped" | "deleted" | "discontinued" | "eliminated" => (Removed, Past),
        "removal" | "deletion" => (Removed, Noun),
        "fix" | "repair" | "resolve" => (Fixed, Base),
        "fixes" | "fixing" | "repairs" | "repairing" | "resolves" | "resolving" => (Fixed, Other),
        "fixed" | "repaired" | "resolved" | "corrected" => (Fixed, Past),
        "deprecate" => (Deprecated, Base),
        "deprecates" | "deprecating" => (Deprecated, Other),
        "deprecated" => (Deprecated, Past),
        "deprecation" => (Deprecated, Noun),
        _ => return None,
    };
    Some(ChangeWord { direction, form })
}

/// How a question says that somebody wrote something; `None` if a word does not. In other sentences such a word tells of
/// letters and files as well, so there it says of no change.
pub(super) fn writing_word(word: &TextWord<'_>) -> Option<ChangeWord> {
    let form = match word.lower.as_str() {
        "write" => VerbForm::Base,
        "wrote" | "written" | "authored" => VerbForm::Past,
        _ => return None,
    };
    Some(ChangeWord { direction: ChangeDirection::Added, form })
}

/// The words of a text, the first [`MAX_WORDS`]. Names of code, versions and paths are words whole.
pub(super) fn split_words(text: &str) -> Vec<TextWord<'_>> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut words = Vec::new();
    let mut gap = 0;
    let mut at = 0;
    let mut role = "";
    while at < text.len() && words.len() < MAX_WORDS {
        let rest = &text[at..];
        let option = if rest.starts_with("--") && rest[2..].starts_with(char::is_alphabetic) { 2 } else { 0 };
        if option == 0 && !rest.starts_with(is_plain) {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let end = at + option + length_of_word(&rest[option..], is_plain);
        if is_role(text, &(at..end)) {
            role = &text[at - 1..=end];
            at = end;
            continue;
        }
        // A call names a function, and ends no clause.
        let (between, word) = (text[gap..at].replace(role, "").replace("()", ""), &text[at..end]);
        // Nor does the dot of `.env`.
        let is_hidden = |before: &&str| before.is_empty() || before.ends_with(|c: char| c.is_whitespace() || c == '`');
        let stops = between.strip_suffix('.').filter(is_hidden).unwrap_or(&between);
        words.push(TextWord {
            text: word,
            lower: word.to_lowercase(),
            range: at..end,
            follows_stop: stops.contains(['.', ';', ':', '!', '?', '(', ')', '[', ']', '—', '–'])
                || stops.contains(" - "),
            follows_comma: between.contains([',', '&']),
            follows_prefix: between.contains([':', ']']) || (between.contains(')') && words.len() < 2),
            is_marked: between.ends_with('`') && text[end..].starts_with(['`', '(', '=']),
            is_quoted: between.ends_with(['"', '\'', '“', '‘']),
            is_value: between == "=" || is_of_option(&words, &between, (word, &text[end..])),
            is_taken: between == "(",
        });
        (gap, at, role) = (end, end, "");
    }
    words
}

/// Whether a word stands for a value of the option before it, or is the short name of an option beside it.
fn is_of_option(before: &[TextWord<'_>], between: &str, (word, behind): (&str, &str)) -> bool {
    let is_long = |text: &str| text.starts_with("--");
    let follows_option = before.iter().rfind(|word| !word.is_value).is_some_and(|word| is_long(word.text));
    let is_placeholder = between.ends_with('<') && behind.starts_with('>');
    let is_short = word.len() == 1 && between.ends_with('-') && !between.ends_with("--");
    let are_marks = |c: char| matches!(c, '`' | '/' | '|' | ',' | '(' | ')' | '>' | '-' | ' ');
    let joins = |text: &str| text.chars().all(are_marks) && !text.contains(" - ");
    let leads_to_option = || behind.find("--").is_some_and(|at| joins(&behind[..at]));
    (is_placeholder && follows_option) || (is_short && ((follows_option && joins(between)) || leads_to_option()))
}

/// Whether a word only says of what kind the code is that is marked behind it, as `func` of {func}`open` and :func:`open`.
fn is_role(text: &str, word: &Range<usize>) -> bool {
    let is_between = |mark: char, end: &str| text[..word.start].ends_with(mark) && text[word.end..].starts_with(end);
    is_between('{', "}`") || is_between(':', ":`")
}

/// Bytes of the word that a text begins with: other marks belong to it if they stand between two of its letters.
fn length_of_word(text: &str, is_plain: impl Fn(char) -> bool) -> usize {
    let mut end = 0;
    loop {
        let rest = &text[end..];
        end += rest.find(|c| !is_plain(c)).unwrap_or(rest.len());
        let rest = &text[end..];
        let marks = rest.find(&is_plain).unwrap_or(rest.len());
        let joins = matches!(&rest[..marks], "." | "-" | "/" | "::" | "'" | "’" | "->" | "+") && marks < rest.len();
        if !joins {
            return end;
        }
        end += marks;
    }
}
