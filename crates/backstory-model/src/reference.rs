//! Parses references in Markdown as the forges do: `#12`, `!7`, `GH-12`, `group/p#12`, `group/p@1a2b3c4`, SHAs,
//! `@user`, URLs.
//!
//! Code spans and code blocks hold no references. On GitHub issues and pull requests share their numbers: `#12` is
//! parsed as an issue there, whichever it is; [`SharedNumbers`](crate::numbers::SharedNumbers) resolves it.

use std::{collections::BTreeSet, ops::Range, sync::LazyLock};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, TextMergeStream};
use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};

use crate::id::{NodeId, ThreadId, ThreadKind, is_project_path, is_sha, is_username};

/// Longest text that is searched for references, in bytes; the rest of a longer one is left alone.
pub const MAX_TEXT: usize = 1 << 20;

/// Most block quotes and list items within each other; the rest of a text with more is left alone.
pub const MAX_NESTING: usize = 64;

/// How much text is searched at once for the next reference, in bytes. What is longer is none.
const REACH: usize = 4 << 10;
/// Longest reference that is found wherever it begins, in bytes.
const LONGEST: usize = 2 << 10;

/// Whose syntax a text follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Forge {
    /// GitLab.
    GitLab,
    /// GitHub.
    GitHub,
}

/// Where a text stands, which is what its short references are relative to.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceContext<'a> {
    /// Whose syntax it follows.
    pub forge: Forge,
    /// Full path of the project.
    pub project: &'a str,
    /// Address of the forge, without a slash at its end, as in `https://gitlab.example.com`.
    pub forge_url: &'a str,
}

impl Forge {
    /// Address of the forge, told from that of an item of a project: what comes before the project's path.
    pub fn url_in<'a>(self, web_url: &'a str, project: &str) -> Option<&'a str> {
        let end = match self {
            Self::GitLab => web_url.find(&format!("/{project}/-/"))?,
            Self::GitHub => web_url.find(&format!("/{project}/"))?,
        };
        Some(&web_url[..end])
    }

    /// Whether issues and merge requests share their numbers.
    pub fn shares_numbers(self) -> bool {
        self == Self::GitHub
    }

    /// Its name, as the configuration writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitLab => "gitlab",
            Self::GitHub => "github",
        }
    }
}

/// Every issue, merge request, note, commit and person that the Markdown text refers to, each once.
pub fn extract(markdown: &str, context: ReferenceContext<'_>) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    let mut code_blocks = 0u32;
    let events = Parser::new_ext(parsable(searched(markdown)), Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    for event in TextMergeStream::new(events) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => code_blocks += 1,
            Event::End(TagEnd::CodeBlock) => code_blocks -= 1,
            Event::Text(text) if code_blocks == 0 => in_plain_text(&text, context, Siblings::Unknown, &mut found),
            Event::Start(Tag::Link { dest_url, .. }) => found.extend(in_url(&dest_url, context)),
            _ => {}
        }
    }
    found
}

/// What a path without a slash names, as in `web#5`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Siblings {
    /// The project itself or nothing: it may be a word, as in `C#7`.
    Unknown,
    /// A project beside it in the same group.
    Named,
}

/// References of a text that is known to be no Markdown, such as a part of a commit message.
pub(crate) fn extract_plain(text: &str, context: ReferenceContext<'_>, siblings: Siblings) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    in_plain_text(searched(text), context, siblings, &mut found);
    found
}

/// The byte ranges of code spans and fenced code blocks; indented text is not taken for code.
pub(crate) fn fenced_code(markdown: &str) -> Vec<Range<usize>> {
    Parser::new(parsable(searched(markdown)))
        .into_offset_iter()
        .filter(|(event, _)| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_)))))
        .map(|(_, range)| range)
        .collect()
}

/// The beginning of the text that is searched.
fn searched(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The beginning of a Markdown text, up to a line that may begin the block quote or list item number [`MAX_NESTING`] within
/// each other. The parser goes through all that are open for each empty line: 200 kB made for that take it 20 seconds.
pub fn parsable(markdown: &str) -> &str {
    let mut end = 0;
    for line in markdown.split_inclusive('\n') {
        let opened = std::iter::successors(behind_mark(line), |rest| behind_mark(rest)).count();
        // In a list, each further level stands two columns to the right at least.
        let levels = (line.len() - line.trim_start().len()) / 2;
        if opened > 0 && levels + opened > MAX_NESTING {
            break;
        }
        end += line.len();
    }
    &markdown[..end]
}

/// What follows the mark of a block quote or a list item.
fn behind_mark(text: &str) -> Option<&str> {
    let text = text.trim_start();
    if let Some(quoted) = text.strip_prefix('>') {
        return Some(quoted);
    }
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let marks: &[char] = if number.len() < text.len() { &['.', ')'] } else { &['-', '*', '+'] };
    number.strip_prefix(marks).filter(|item| item.is_empty() || item.starts_with([' ', '\t', '\n', '\r']))
}

/// Where a word ends is told by ASCII: the regex crate is far slower where it must know all letters for that.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        (?P<url> https?://[^\s<>\[\]"'`]+ )
        | (?P<path> [\w.-]+ (?: / [\w.-]+ )* )? (?P<sigil> [\#!] ) (?P<iid> [0-9]{1,9} ) (?-u:\b)
        | (?P<cpath> [\w.-]+ (?: / [\w.-]+ )+ ) @ (?P<csha> [0-9a-fA-F]{7,40} ) (?-u:\b)
        | @ (?P<user> [\w] [\w.-]* (?: \[bot\] )? )
        | (?-u:\b) (?P<initials> [Gg] [HhLl] ) - (?P<number> [0-9]{1,9} ) (?-u:\b)
        | (?-u:\b) (?P<sha> [0-9a-f]{7,40} ) (?-u:\b)
        "#,
    )
    .expect("the pattern is constant")
});

/// What may be a reference, in order. A path may go on to the end of the text before it turns out to be none, again and
/// again where something else stands in it; so each search stops after [`REACH`].
fn references(text: &str) -> impl Iterator<Item = Captures<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let stop = text.floor_char_boundary(at.saturating_add(REACH));
            let Some(captures) = REFERENCE.captures_at(&text[..stop], at) else {
                at = if stop == text.len() { stop } else { text.floor_char_boundary(stop - LONGEST) };
                continue;
            };
            let whole = captures.get(0)?.range();
            // It may go on where the search stopped.
            if whole.end == stop && stop < text.len() {
                at = if whole.start > at { whole.start } else { stop };
                continue;
            }
            at = whole.end;
            return Some(captures);
        }
        None
    })
}

fn in_plain_text(text: &str, context: ReferenceContext<'_>, siblings: Siblings, found: &mut BTreeSet<NodeId>) {
    for captures in references(text) {
        let whole = captures.get(0).expect("group 0 always matches");
        let before = text[..whole.start()].chars().next_back();
        let after = &text[whole.end()..];
        if let Some(url) = captures.name("url") {
            found.extend(in_url(url.as_str(), context));
        } else if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '/' | '#' | '!' | '&' | '@')) {
            // Glued to a word, so not a reference: an entity, an e-mail address, part of a path.
        } else if captures.name("user").is_none() && after.starts_with(char::is_alphanumeric) {
            // The same behind it, with a letter that is not ASCII.
        } else if let (Some(sigil), Some(iid)) = (captures.name("sigil"), captures.name("iid")) {
            let path = captures.name("path").map(|path| path.as_str());
            // A line of a stack trace, `#1 0x00007f…`, or a number that was cut.
            if !after.trim_start_matches(' ').starts_with("0x") && !after.starts_with('…') {
                found.extend(thread(path, sigil.as_str(), iid.as_str(), context, siblings));
            }
        } else if let (Some(path), Some(sha)) = (captures.name("cpath"), captures.name("csha")) {
            if is_project_path(path.as_str()) {
                found.insert(NodeId::commit(path.as_str(), sha.as_str()));
            }
        } else if let Some(user) = captures.name("user") {
            found.extend(person(user.as_str(), after, context.forge));
        } else if let (Some(initials), Some(number)) = (captures.name("initials"), captures.name("number")) {
            let issue = match context.forge {
                Forge::GitLab => initials.as_str() == "GL",
                Forge::GitHub => initials.as_str().eq_ignore_ascii_case("GH"),
            };
            if issue && before != Some('-') {
                found.extend(thread(None, "#", number.as_str(), context, siblings));
            }
        } else if let Some(sha) = captures.name("sha")
            && looks_like_sha(sha.as_str())
            && stands_alone(&text[..whole.start()], after)
        {
            found.insert(NodeId::commit(context.project, sha.as_str()));
        }
    }
}

fn thread(
    path: Option<&str>,
    sigil: &str,
    iid: &str,
    context: ReferenceContext<'_>,
    siblings: Siblings,
) -> Option<NodeId> {
    let kind = if sigil == "#" { ThreadKind::Issue } else { ThreadKind::MergeRequest };
    if kind == ThreadKind::MergeRequest && context.forge == Forge::GitHub {
        return None;
    }
    let project = match path {
        None => context.project.to_owned(),
        Some(path) => resolve_project(path, context, siblings)?,
    };
    let iid = iid.parse().ok().filter(|&iid| iid > 0)?;
    Some(NodeId::Thread(ThreadId { project, kind, iid }))
}

/// A name with a slash after it is the scope of a package, or a team.
fn person(user: &str, after: &str, forge: Forge) -> Option<NodeId> {
    let username = user.trim_end_matches(['.', '-']);
    let possible = match forge {
        Forge::GitLab => is_username(username),
        Forge::GitHub => is_username(username) && !username.contains(['_', '.']) && username.len() <= 64,
    };
    (possible && !(after.starts_with('/') && username.len() == user.len())).then(|| NodeId::person(username))
}

/// A bare word of hex digits is taken for a commit only if it has both letters and digits, as nearly all SHAs do and
/// numbers and words do not. 32 digits are an MD5 sum.
pub(crate) fn looks_like_sha(word: &str) -> bool {
    word.len() != 32
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_alphabetic())
        && is_sha(word)
}

/// Whether what is around a word of hex digits is not glued to it, as in a UUID, a version or a file name. A range of
/// commits, `1a2b3c4..5d6e7f8`, is no such thing.
fn stands_alone(before: &str, after: &str) -> bool {
    let glued = |joint: Option<char>, next: Option<char>| {
        matches!(joint, Some('-' | '.' | '+')) && next.is_some_and(char::is_alphanumeric)
    };
    let (mut left, mut right) = (before.chars().rev(), after.chars());
    !glued(left.next(), left.next()) && !glued(right.next(), right.next())
}

/// A path before a sigil is a full project path, the last part of the project's own, or a project beside it.
fn resolve_project(path: &str, context: ReferenceContext<'_>, siblings: Siblings) -> Option<String> {
    if path.contains('/') {
        let depth = path.split('/').count();
        return (is_project_path(path) && (context.forge == Forge::GitLab || depth == 2)).then(|| path.to_owned());
    }
    let (group, name) = context.project.rsplit_once('/').unwrap_or(("", context.project));
    if name == path {
        return Some(context.project.to_owned());
    }
    // One letter is more likely the name of a language.
    let sibling = siblings == Siblings::Named && context.forge == Forge::GitLab && !group.is_empty() && path.len() > 1;
    (sibling && is_project_path(path)).then(|| format!("{group}/{path}"))
}

fn in_url(url: &str, context: ReferenceContext<'_>) -> Vec<NodeId> {
    parse_url(url, context).unwrap_or_default()
}

/// The issue, merge request or commit that an address is of.
pub(crate) fn parse_item_url(url: &str, context: ReferenceContext<'_>) -> Option<NodeId> {
    parse_url(url, context)?.into_iter().next()
}

fn parse_url(url: &str, context: ReferenceContext<'_>) -> Option<Vec<NodeId>> {
    let url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '*', '_']);
    let path = url.strip_prefix(context.forge_url)?.strip_prefix('/')?;
    let (path, fragment) = path.split_once('#').unwrap_or((path, ""));
    let path = path.split_once('?').map_or(path, |(path, _)| path).trim_end_matches('/');
    let (project, rest) = match context.forge {
        Forge::GitLab => split_gitlab_path(path)?,
        Forge::GitHub => split_github_path(path)?,
    };
    if !is_project_path(project) {
        return None;
    }
    let mut parts = rest.split('/');
    let kind = match parts.next()? {
        "issues" | "work_items" => ThreadKind::Issue,
        "merge_requests" | "pull" => ThreadKind::MergeRequest,
        "commit" | "commits" => {
            let sha = parts.next()?;
            return is_sha(sha).then(|| vec![NodeId::commit(project, sha)]);
        }
        _ => return None,
    };
    let thread = ThreadId { project: project.to_owned(), kind, iid: parts.next()?.parse().ok()? };
    let note = ["note_", "issuecomment-", "discussion_r", "pullrequestreview-"]
        .iter()
        .find_map(|prefix| fragment.strip_prefix(prefix));
    let note = note.and_then(|id| id.parse().ok());
    let mut found = vec![NodeId::Thread(thread.clone())];
    found.extend(note.map(|id| NodeId::Note { thread, id }));
    Some(found)
}

/// Project, or group, and what comes after it. Old addresses have no `-` between the two.
fn split_gitlab_path(path: &str) -> Option<(&str, &str)> {
    if let Some((owner, rest)) = path.split_once("/-/") {
        return Some((owner.strip_prefix("groups/").unwrap_or(owner), rest));
    }
    let end = ["/issues/", "/merge_requests/", "/commit/"].iter().find_map(|part| path.find(part))?;
    Some((&path[..end], &path[end + 1..]))
}

fn split_github_path(path: &str) -> Option<(&str, &str)> {
    let owner_end = path.find('/')?;
    let end = owner_end + 1 + path[owner_end + 1..].find('/')?;
    Some((&path[..end], &path[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(markdown: &str, expected: &[&str]) {
        check_on(Forge::GitLab, markdown, expected);
    }

    fn check_on(forge: Forge, markdown: &str, expected: &[&str]) {
        let context = ReferenceContext { forge, project: "acme/shop", forge_url: "https://git.example.com" };
        let found: Vec<_> = extract(markdown, context).iter().map(ToString::to_string).collect();
        let mut expected: Vec<_> = expected.to_vec();
        expected.sort_unstable();
        let mut sorted = found.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected, "{markdown}");
    }

    #[test]
    fn deep_nesting_costs_no_time() {
        // Takes the parser minutes, were it given all of it.
        let one_line = format!("#1\n\n{}```\n{}#2", "- ".repeat(200_000), "\n".repeat(400_000));
        check(&one_line, &["acme/shop#1"]);
        let mut lines: String = (0..1_000).map(|level| format!("{}- * + 1. a\n", "  ".repeat(level * 4))).collect();
        lines.truncate(500_000);
        check(&format!("> #1\n\n{lines}{}", "\n".repeat(500_000)), &["acme/shop#1"]);
        let usual = "> > - 1. * #1\n\n----- ----- -----\n\n|---|---|\n\n#2";
        assert_eq!(parsable(usual), usual);
    }

    #[test]
    fn finds_short_and_full_references() {
        check("See #12, !7.", &["acme/shop#12", "acme/shop!7"]);
        check("(#12)", &["acme/shop#12"]);
        check("other/group/p#3 and shop#4 and acme/web!5", &["other/group/p#3", "acme/shop#4", "acme/web!5"]);
        check("**#12** _!7_", &["acme/shop#12", "acme/shop!7"]);
        check("- [ ] #1\n- [x] #2", &["acme/shop#1", "acme/shop#2"]);
        check("| a | b |\n|---|---|\n| #1 | !2 |", &["acme/shop#1", "acme/shop!2"]);
    }

    #[test]
    fn finds_people() {
        check("@alice, @bob_b: @carol-c. (@dave)", &["@alice", "@bob_b", "@carol-c", "@dave"]);
        check("mail a@example.com or bob@host", &[]);
    }

    #[test]
    fn finds_commits() {
        check("since 1a2b3c4d and acme/web@ABCDEF1", &["acme/shop@1a2b3c4d", "acme/web@abcdef1"]);
        check("not 1234567 nor defaced nor 0x1a2b3c4d5e", &[]);
        check(&"1a".repeat(32), &[]);
    }

    #[test]
    fn finds_urls_of_the_forge_only() {
        check("https://git.example.com/acme/shop/-/issues/12", &["acme/shop#12"]);
        check(
            "[x](https://git.example.com/a/b/c/-/merge_requests/7/diffs?x=1#note_99).",
            &["a/b/c!7", "a/b/c!7#note_99"],
        );
        check("https://git.example.com/acme/shop/-/commit/1a2b3c4d5e,", &["acme/shop@1a2b3c4d5e"]);
        check("https://elsewhere.example.com/acme/shop/-/issues/12 http://x/#12 /path#3", &[]);
        check("https://git.example.com/acme/shop/-/work_items/4", &["acme/shop#4"]);
    }

    #[test]
    fn ignores_code_and_what_is_glued_to_words() {
        check("`#12` and\n\n    !7 @alice\n\n```c\n#13 @bob\n```\n", &[]);
        check("PR#12 &#39; foo#4 x!5 ##6 C#7", &[]);
        check("# 12 heading\n#hash", &[]);
    }

    #[test]
    fn reads_github_syntax() {
        let check = |markdown, expected: &[&str]| check_on(Forge::GitHub, markdown, expected);
        check("#12, GH-13, gh-14 and acme/web#15", &["acme/shop#12", "acme/shop#13", "acme/shop#14", "acme/web#15"]);
        check("!7 a/b/c#1 shopping#2 GL-3", &[]);
        check("https://git.example.com/acme/web/issues/3#issuecomment-99", &["acme/web#3", "acme/web#3#note_99"]);
        check("https://git.example.com/acme/web/pull/4/files", &["acme/web!4"]);
        check("https://git.example.com/acme/web/commit/1a2b3c4d", &["acme/web@1a2b3c4d"]);
        check("https://git.example.com/acme https://git.example.com/acme/web/wiki", &[]);
        check("thanks @octo-cat, @a_b and @acme/team", &["@octo-cat"]);
    }

    #[test]
    fn reads_old_and_group_addresses_of_gitlab() {
        check("https://git.example.com/acme/shop/issues/12", &["acme/shop#12"]);
        check("https://git.example.com/groups/acme/-/work_items/4", &["acme#4"]);
        check("GL-12 and GH-13", &["acme/shop#12"]);
    }

    #[test]
    fn tells_commits_from_other_words_of_hex_digits() {
        check("1a2b3c4..5d6e7f8", &["acme/shop@1a2b3c4", "acme/shop@5d6e7f8"]);
        check("550e8400-e29b-41d4-a716-446655440000, d41d8cd98f00b204e9800998ecf8427e, 1a2b3c4.patch, v1-1a2b3c4", &[]);
        check("in 1a2b3c4.", &["acme/shop@1a2b3c4"]);
    }

    #[test]
    fn ignores_scopes_and_stack_traces() {
        check("bump @types/node, ask @alice", &["@alice"]);
        check("#0  0x00007ffff7 in main\n#1 0x0000 in f", &[]);
    }
}
