//! References in Markdown, as GitLab reads them: `#12`, `!7`, `group/p#12`, `group/p@1a2b3c4`, SHAs, `@user`, URLs.
//!
//! Code spans and code blocks hold no references.

use std::{collections::BTreeSet, sync::LazyLock};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, TextMergeStream};
use regex::Regex;

use crate::id::{NodeId, ThreadId, ThreadKind, is_project_path, is_sha, is_username};

/// Longest text that is searched for references, in bytes; the rest of a longer one is left alone.
pub const MAX_TEXT: usize = 1 << 20;

/// Where a text stands, which is what its short references are relative to.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Full path of the project.
    pub project: &'a str,
    /// Address of the forge, without a slash at its end, as in `https://gitlab.example.com`.
    pub forge_url: &'a str,
}

/// Address of the forge, told from that of an item of a project: what comes before the project's path.
pub fn forge_url<'a>(web_url: &'a str, project: &str) -> Option<&'a str> {
    let end = web_url.find(&format!("/{project}/-/"))?;
    Some(&web_url[..end])
}

/// Every issue, merge request, note, commit and person that the Markdown text refers to, each once.
pub fn extract(markdown: &str, context: Context<'_>) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    let mut end = markdown.len().min(MAX_TEXT);
    while !markdown.is_char_boundary(end) {
        end -= 1;
    }
    let mut code_blocks = 0u32;
    let events = Parser::new_ext(&markdown[..end], Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    for event in TextMergeStream::new(events) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => code_blocks += 1,
            Event::End(TagEnd::CodeBlock) => code_blocks -= 1,
            Event::Text(text) if code_blocks == 0 => in_plain_text(&text, context, &mut found),
            Event::Start(Tag::Link { dest_url, .. }) => found.extend(in_url(&dest_url, context)),
            _ => {}
        }
    }
    found
}

static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        (?P<url> https?://[^\s<>\[\]"'`]+ )
        | (?P<path> [\w.-]+ (?: / [\w.-]+ )* )? (?P<sigil> [\#!] ) (?P<iid> [0-9]{1,9} ) \b
        | (?P<cpath> [\w.-]+ (?: / [\w.-]+ )+ ) @ (?P<csha> [0-9a-fA-F]{7,40} ) \b
        | @ (?P<user> [\w] [\w.-]* (?: \[bot\] )? )
        | \b (?P<sha> [0-9a-f]{7,40} ) \b
        "#,
    )
    .expect("the pattern is constant")
});

fn in_plain_text(text: &str, context: Context<'_>, found: &mut BTreeSet<NodeId>) {
    for captures in REFERENCE.captures_iter(text) {
        let whole = captures.get(0).expect("group 0 always matches");
        let before = text[..whole.start()].chars().next_back();
        if let Some(url) = captures.name("url") {
            found.extend(in_url(url.as_str(), context));
        } else if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '/' | '#' | '!' | '&' | '@')) {
            // Glued to a word, so not a reference: an entity, an e-mail address, part of a path.
        } else if let (Some(sigil), Some(iid)) = (captures.name("sigil"), captures.name("iid")) {
            let kind = if sigil.as_str() == "#" { ThreadKind::Issue } else { ThreadKind::MergeRequest };
            let project = match captures.name("path") {
                None => Some(context.project.to_owned()),
                Some(path) => resolve_project(path.as_str(), context.project),
            };
            if let (Some(project), Ok(iid)) = (project, iid.as_str().parse()) {
                found.insert(NodeId::Thread(ThreadId { project, kind, iid }));
            }
        } else if let (Some(path), Some(sha)) = (captures.name("cpath"), captures.name("csha")) {
            if is_project_path(path.as_str()) {
                found.insert(NodeId::commit(path.as_str(), sha.as_str()));
            }
        } else if let Some(user) = captures.name("user") {
            let username = user.as_str().trim_end_matches(['.', '-']);
            if is_username(username) {
                found.insert(NodeId::person(username));
            }
        } else if let Some(sha) = captures.name("sha").filter(|sha| looks_like_sha(sha.as_str())) {
            found.insert(NodeId::commit(context.project, sha.as_str()));
        }
    }
}

/// A bare word of hex digits is taken for a commit only if it has both letters and digits, as nearly all SHAs do and
/// numbers and words do not.
fn looks_like_sha(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_alphabetic())
}

/// A path before a sigil is a full project path, or the last part of the project's own.
fn resolve_project(path: &str, own: &str) -> Option<String> {
    if path.contains('/') {
        is_project_path(path).then(|| path.to_owned())
    } else {
        (own.rsplit('/').next() == Some(path)).then(|| own.to_owned())
    }
}

fn in_url(url: &str, context: Context<'_>) -> Vec<NodeId> {
    parse_url(url, context).unwrap_or_default()
}

fn parse_url(url: &str, context: Context<'_>) -> Option<Vec<NodeId>> {
    let url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '*', '_']);
    let path = url.strip_prefix(context.forge_url)?.strip_prefix('/')?;
    let (path, fragment) = path.split_once('#').unwrap_or((path, ""));
    let path = path.split_once('?').map_or(path, |(path, _)| path).trim_end_matches('/');
    let (project, rest) = path.split_once("/-/")?;
    if !is_project_path(project) {
        return None;
    }
    let mut parts = rest.split('/');
    let kind = match parts.next()? {
        "issues" | "work_items" => ThreadKind::Issue,
        "merge_requests" => ThreadKind::MergeRequest,
        "commit" | "commits" => {
            let sha = parts.next()?;
            return is_sha(sha).then(|| vec![NodeId::commit(project, sha)]);
        }
        _ => return None,
    };
    let thread = ThreadId { project: project.to_owned(), kind, iid: parts.next()?.parse().ok()? };
    let note = fragment.strip_prefix("note_").and_then(|id| id.parse().ok());
    let mut found = vec![NodeId::Thread(thread.clone())];
    found.extend(note.map(|id| NodeId::Note { thread, id }));
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(markdown: &str, expected: &[&str]) {
        let context = Context { project: "acme/shop", forge_url: "https://git.example.com" };
        let found: Vec<_> = extract(markdown, context).iter().map(ToString::to_string).collect();
        let mut expected: Vec<_> = expected.to_vec();
        expected.sort_unstable();
        let mut sorted = found.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected, "{markdown}");
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
}
