//! Finds the comments that explain why code is as it is.
//!
//! The rules favor precision: a comment must carry a mark that people use for it, or give a reason in words, and must
//! not be something else (a license, an instruction to a tool, code that is commented out). Doc comments describe to
//! users what an item does, in words that elsewhere give reasons (`otherwise`, `must not`), so for them only plain
//! reasons count.

use std::{ops::Range, sync::LazyLock};

use backstory_model::code::{ExplanationKind, ExplanatoryComment, Lines};
use regex::Regex;

use super::{
    comments::{Comment, comment_text, group_adjacent},
    rows::line,
    walk::Walk,
};

/// Longest explanation that is kept, in characters.
pub const MAX_EXPLANATION: usize = 2000;
/// Most explanations of a file.
pub const MAX_EXPLANATIONS: usize = 5_000;
/// Fewest words of a comment that gives a reason.
const MIN_WORDS: usize = 5;

/// Marks, at the beginning of a line of the comment, in capitals, followed by something that shows that they are one.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?mx)
        ^ \W{0,3}
        (?: (?P<note> NOTE S? | NB | N\.B\. | IMPORTANT | WARNING | CAUTION | CAVEAT | ATTENTION )
          | (?P<hack> HACK | KLUDGE | WORKAROUND | QUIRK )
          | (?P<why> WHY | REASON | RATIONALE )
          | (?P<safety> SAFETY | SECURITY | INVARIANT )
          | (?P<xxx> XXX )
          | (?P<fixme> FIXME | BUG )
          | (?P<todo> TODO )
        ) (?: \s* \( (?P<who> [^)\n]{0,80} ) \) )? (?: \s* [:!-] | \s+ | $ )
        | ^ (?: (?P<lower> Note | Nota\ bene | Important | Warning | Caution ) (?: \s+ that \b | \s* : ) )
        | ^ (?: (?P<safe> Safety | Invariant ) \s* : )",
    )
    .expect("the pattern is constant")
});

/// Words that give a reason, wherever they stand.
static REASON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi) \b (?:
            because (?: \s+ of )? | due\ to | work-?\s?arounds? | on\ purpose | purposely | purposefully
          | deliberate (?:ly)? | intentional (?:ly)? | by\ design | (?: for | of )\ historical\ reasons? | historically
          | (?: back | for ) wards?[\s-]compat \w* | for\ (?: performance | compatibility | security | safety )
          | (?: to | which\ would | would\ otherwise )\ (?: avoid | prevent ) | the\ reason | the\ idea\ (?: here\ )? is
          | trade-?\s?offs? | rationale | unfortunately | we\ (?: can(?:no|')t | don't | do\ not | must | need\ to | have\ to )
          | cheaper\ than | faster\ than | safer\ than | simpler\ than | rather\ than | even\ though | despite
          | see\ (?: issue | bug | \#[0-9] | https?:// ) | regression | race\ condition | dead-?lock
        ) \b",
    )
    .expect("the pattern is constant")
});

/// Words that give a reason or a rule inside of code, and tell what an item does in a doc comment. A rule forbids: what
/// must be done is said by the code itself.
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xim)
        \b (?P<reason> so\ that | in\ order\ (?: to | that | for ) | otherwise | instead\ of | since\ (?: we | it | the | this )
          | needed\ (?: for | by | because | to ) | required\ (?: for | by | to ) | to\ make\ sure | to\ ensure | to\ keep ) \b
        | \b (?: must\ (?: not | never ) | mustn't | should\ not | shouldn't | do\ not | cannot\ safely | only\ safe
            | (?: not | un ) safe ) \b
        | (?: ^ | [.;:!?]\s | \(\s? | [,–—-]\s ) (?: (?: please | so | but | and ) \s )? (?: don't | never ) \b",
    )
    .expect("the pattern is constant")
});

/// What is no explanation whatever words it uses.
static NOT_ONE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)
        copyright | \b licen[sc]ed? \b .{0,80} \b (?: under | agreement | mit | apache | bsd | gpl ) | spdx-license
        | \b all\ rights\ reserved | without\ warrant | permission\ is\ hereby | do\ not\ edit | @generated
        | ^ \W* (?: eslint | prettier | tslint | ts-(?: ignore | expect | nocheck ) | @ts- | noqa | nolint | type:\ *ignore
            | pragma | clang-format | pylint | mypy | rubocop | shellcheck | istanbul | c8\ ignore | coverage | go:[a-z]
            | \+build | region | endregion | vim: | -\*- ) \b",
    )
    .expect("the pattern is constant")
});

/// Lines of code that are commented out end like this.
static CODE_LINE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)(?:[;{}]|\)\s*,?|\w\(.*\):?)\s*$").expect("the pattern is constant"));

/// Words at which a closer look begins: a comment without one is none that explains.
static ANY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        &[MARK.as_str(), REASON.as_str(), RULE.as_str()].map(|one| format!("(?:{})", without_names(one))).join("|"),
    )
    .expect("the pattern is constant")
});

/// The pattern with its groups unnamed, so that several can stand in one.
fn without_names(pattern: &str) -> String {
    static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\?P<[a-z]+>").expect("the pattern is constant"));
    NAME.replace_all(pattern, "?:").into_owned()
}

/// Why the text of a comment is taken for an explanation, if it is.
pub(super) fn kind_of(text: &str, is_doc: bool) -> Option<ExplanationKind> {
    if !ANY.is_match(text) || NOT_ONE.is_match(text) {
        return None;
    }
    let words =
        text.split_ascii_whitespace().filter(|word| word.bytes().any(|byte| byte.is_ascii_alphabetic())).count();
    if let Some(found) = MARK.captures(text) {
        let is = |group: &str| found.name(group).is_some();
        let reasons = || REASON.is_match(text) || RULE.is_match(text);
        let kind = match () {
            () if is("note") || is("lower") => Some(ExplanationKind::Note).filter(|_| words > 2),
            () if is("hack") => Some(ExplanationKind::Hack),
            () if is("why") => Some(ExplanationKind::Why).filter(|_| words > 2),
            () if is("safety") || is("safe") => Some(ExplanationKind::Safety).filter(|_| words > 2),
            () if is("xxx") => Some(ExplanationKind::Xxx).filter(|_| words > 2),
            () if is("fixme") => Some(ExplanationKind::Fixme).filter(|_| words > 2),
            // A plan explains why something is so only if it gives a reason.
            () => Some(ExplanationKind::Todo).filter(|_| words >= MIN_WORDS && reasons()),
        };
        if kind.is_some() {
            return kind;
        }
    }
    if words < MIN_WORDS || is_code(text) {
        return None;
    }
    if REASON.is_match(text) {
        return Some(ExplanationKind::Reason);
    }
    if is_doc {
        return None;
    }
    let rule = RULE.captures(text)?;
    Some(if rule.name("reason").is_some() { ExplanationKind::Reason } else { ExplanationKind::Rule })
}

/// Whether at least half of the lines look like code.
fn is_code(text: &str) -> bool {
    let lines = text.lines().count();
    CODE_LINE.find_iter(text).count() * 2 > lines
}

impl Walk<'_, '_> {
    /// Adds the comments that explain.
    pub(super) fn explain(&mut self) {
        let comments = std::mem::take(&mut self.comments);
        let mut open: Vec<u32> = Vec::new();
        let mut next = 0usize;
        for run in group_adjacent(&comments) {
            let Some((lines, rows)) = extent(&comments[run.clone()]) else { continue };
            // Entities are in the order in which they begin, so those around a line make a stack.
            while let Some(entity) = self.out.entities.get(next).filter(|entity| entity.lines.first <= lines.first) {
                open.retain(|held| self.out.entities[*held as usize].lines.last >= entity.lines.first);
                open.push(u32::try_from(next).unwrap_or(u32::MAX));
                next += 1;
            }
            let before = self.documented_by(next, rows.end);
            let inside = || {
                open.iter().rev().copied().find(|held| self.out.entities[*held as usize].lines.contains(lines.first))
            };
            let entity = before.or_else(inside);
            if self.out.explanations.len() >= MAX_EXPLANATIONS {
                self.out.truncated = true;
                break;
            }
            let text = comment_text(&comments[run], self.source, MAX_EXPLANATION);
            if let Some(kind) = kind_of(&text, before.is_some()) {
                self.out.explanations.push(ExplanatoryComment { kind, text, lines, entity });
            }
        }
        self.comments = comments;
    }

    /// The entity that begins directly below a row, among those that begin after it.
    fn documented_by(&self, next: usize, row: usize) -> Option<u32> {
        // Attributes may stand between, so the entity may begin later than its first row says.
        let candidate = self.first_rows.get(next)?;
        (*candidate as usize == row).then(|| u32::try_from(next).ok())?
    }
}

/// The lines of a run, and its rows with the end excluded.
fn extent(run: &[Comment]) -> Option<(Lines, Range<usize>)> {
    let (first, last) = (run.first()?, run.last()?);
    Some((Lines::new(line(first.first_row), line(last.last_row)), first.first_row..last.last_row + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, kind: Option<ExplanationKind>) {
        assert_eq!(kind_of(text, false), kind, "{text}");
    }

    #[test]
    fn marks_are_seen() {
        check("NOTE: the order of these two matters", Some(ExplanationKind::Note));
        check("Note that the lock is held here", Some(ExplanationKind::Note));
        check("HACK", Some(ExplanationKind::Hack));
        check("SAFETY: the pointer is not null", Some(ExplanationKind::Safety));
        check("XXX this is quadratic", Some(ExplanationKind::Xxx));
        check("FIXME(bob): leaks on error", Some(ExplanationKind::Fixme));
        check("Opens it.\n\nWHY: two readers at once", Some(ExplanationKind::Why));
    }

    #[test]
    fn todo_needs_a_reason() {
        check("TODO: add tests", None);
        check("TODO(bob): use the new call, because this one is slow", Some(ExplanationKind::Todo));
    }

    #[test]
    fn reasons_and_rules_are_seen() {
        check("Sort first, because the index needs it", Some(ExplanationKind::Reason));
        check("We deliberately swallow the error here", Some(ExplanationKind::Reason));
        check("Do not reorder these fields, they are part of the ABI", Some(ExplanationKind::Rule));
        check("Copy it, so that the caller may change it", Some(ExplanationKind::Reason));
    }

    #[test]
    fn what_is_something_else_is_not_seen() {
        check("increment the counter by one each time", None);
        check("because", None);
        check("Copyright 2020 A. Do not remove this line because of it", None);
        check("eslint-disable-next-line no-console because we must", None);
        check("if (x) { return otherwise(x); }\nfoo(bar, because, of, it);", None);
        check("note the time of each event here", None);
    }

    #[test]
    fn doc_comments_need_a_plain_reason() {
        assert_eq!(kind_of("Returns the value, otherwise nothing at all", true), None);
        assert_eq!(kind_of("The value must not be empty when called", true), None);
        assert_eq!(kind_of("Takes a copy because callers change it", true), Some(ExplanationKind::Reason));
    }
}
