//! What a question expects: an item, a commit, a file, or a place in the tree of files.

use crate::{
    id::{NodeId, ThreadId, ThreadKind, is_sha},
    reference::{Forge, ReferenceContext, parse_item_url},
    text::truncate_echo,
};

/// A source that answers a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// An issue, merge request, discussion, commit, file or code entity. The name of a commit may be abbreviated.
    Node(NodeId),
    /// Any file below a directory.
    Below {
        /// Full path of the project.
        project: String,
        /// Path of the directory with a slash at its end.
        directory: String,
    },
}

/// A text that names no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' names no source; write #12, !7, issue:12, pr:7, @1a2b3c4, group/project#12, the address of one of those, \
     src/auth.rs, src/auth.rs#login, src/auth/ or docs/**"
)]
pub struct InvalidSource(String);

impl Source {
    /// The source that a text names. What has no project is of that of the context.
    ///
    /// # Errors
    /// It names none.
    pub fn parse(text: &str, context: ReferenceContext<'_>) -> Result<Self, InvalidSource> {
        parse(text.trim(), context).ok_or_else(|| InvalidSource(truncate_echo(text).into_owned()))
    }

    /// Whether a node is this source.
    pub fn matches(&self, id: &NodeId) -> bool {
        match (self, id) {
            (Self::Node(NodeId::Commit { project, sha }), NodeId::Commit { project: other, sha: whole }) => {
                project == other && whole.starts_with(sha.as_str())
            }
            (Self::Node(source), id) => source == id,
            (Self::Below { project, directory }, NodeId::File { project: other, path })
            | (Self::Below { project, directory }, NodeId::Entity { project: other, path, .. }) => {
                project == other && path.starts_with(directory.as_str())
            }
            (Self::Below { .. }, _) => false,
        }
    }
}

fn parse(text: &str, context: ReferenceContext<'_>) -> Option<Source> {
    let project = context.project;
    if text.starts_with("https://") || text.starts_with("http://") {
        return address(text, context).map(Source::Node);
    }
    if let Some((kind, rest)) = text.split_once(':') {
        match kind.to_ascii_lowercase().as_str() {
            "issue" => return thread(project, ThreadKind::Issue, rest),
            "pr" | "mr" => return thread(project, ThreadKind::MergeRequest, rest),
            "commit" => return is_sha(rest).then(|| Source::Node(NodeId::commit(project, rest))),
            _ => {}
        }
    }
    if text.starts_with(['#', '!', '@']) {
        return format!("{project}{text}").parse().ok().filter(is_source).map(Source::Node);
    }
    if is_sha(text) {
        return Some(Source::Node(NodeId::commit(project, text)));
    }
    // Only with a sigil behind the project; without one it is a path.
    if text.contains(['#', '!', '@', ':'])
        && let Some(node) = text.parse().ok().filter(is_source)
    {
        return match node {
            NodeId::File { project, path } => in_tree(&project, &path),
            node => Some(Source::Node(node)),
        };
    }
    in_tree(project, text)
}

fn thread(project: &str, kind: ThreadKind, number: &str) -> Option<Source> {
    let iid = number.parse().ok().filter(|&iid| iid > 0)?;
    Some(Source::Node(NodeId::Thread(ThreadId { project: project.to_owned(), kind, iid })))
}

/// An address at the forge of the project, or at any other that is laid out like one.
fn address(url: &str, context: ReferenceContext<'_>) -> Option<NodeId> {
    let host = url.find("://").map(|at| at + 3)?;
    let end = url[host..].find('/').map(|at| host + at)?;
    let forges = [context.forge_url, &url[..end]];
    let layouts = [Forge::GitLab, Forge::GitHub];
    let all = forges.iter().flat_map(|forge_url| layouts.map(|forge| ReferenceContext { forge, forge_url, ..context }));
    all.filter(|context| !context.forge_url.is_empty()).find_map(|context| parse_item_url(url, context))
}

/// `src/auth.rs`, `src/auth.rs#login`, `src/auth/`, `src/auth/**`
fn in_tree(project: &str, path: &str) -> Option<Source> {
    let project = project.to_owned();
    let directory = path.strip_suffix("**").unwrap_or(path);
    let outside = path.starts_with('/') || path.split('/').any(|part| part == "..");
    if directory.is_empty() || outside || directory.contains(['*', '\n']) {
        return None;
    }
    if directory.ends_with('/') {
        return Some(Source::Below { project, directory: directory.to_owned() });
    }
    match path.split_once('#') {
        _ if directory != path => None,
        Some((path, name)) if !path.is_empty() && !name.is_empty() => {
            Some(Source::Node(NodeId::entity(project, path, name)))
        }
        Some(_) => None,
        None => Some(Source::Node(NodeId::file(project, path))),
    }
}

/// What search can find.
fn is_source(id: &NodeId) -> bool {
    matches!(
        id,
        NodeId::Thread(_)
            | NodeId::Discussion { .. }
            | NodeId::Commit { .. }
            | NodeId::File { .. }
            | NodeId::Entity { .. }
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CONTEXT: ReferenceContext<'_> =
        ReferenceContext { forge: Forge::GitLab, project: "acme/shop", forge_url: "https://git.example.com/gitlab" };

    fn named(text: &str) -> String {
        match Source::parse(text, CONTEXT) {
            Ok(Source::Node(node)) => node.to_string(),
            Ok(Source::Below { project, directory }) => format!("{project}:{directory}…"),
            Err(_) => "nothing".to_owned(),
        }
    }

    #[test]
    fn reads_every_form() {
        for (text, expected) in [
            ("acme/web#12", "acme/web#12"),
            (" #12 ", "acme/shop#12"),
            ("!7", "acme/shop!7"),
            ("!7~6a9c17", "acme/shop!7~6a9c17"),
            ("pr:7", "acme/shop!7"),
            ("MR:7", "acme/shop!7"),
            ("issue:12", "acme/shop#12"),
            ("commit:1a2b3c4", "acme/shop@1a2b3c4"),
            ("@1A2B3C4", "acme/shop@1a2b3c4"),
            ("1a2b3c4", "acme/shop@1a2b3c4"),
            ("acme/web@1a2b3c4", "acme/web@1a2b3c4"),
            ("src/auth.rs", "acme/shop:src/auth.rs"),
            ("README", "acme/shop:README"),
            ("src/auth.rs#login", "acme/shop:src/auth.rs#login"),
            ("acme/web:src/auth.rs#Session::open", "acme/web:src/auth.rs#Session::open"),
            ("src/auth/", "acme/shop:src/auth/…"),
            ("docs/**", "acme/shop:docs/…"),
            ("acme/web:docs/", "acme/web:docs/…"),
            ("https://git.example.com/gitlab/acme/web/-/issues/3#note_9", "acme/web#3"),
            ("https://git.example.com/gitlab/acme/shop/-/commit/1a2b3c4", "acme/shop@1a2b3c4"),
            ("https://github.com/acme/shop/pull/7", "acme/shop!7"),
            ("https://gitlab.com/acme/group/shop/-/merge_requests/7/diffs", "acme/group/shop!7"),
        ] {
            assert_eq!(named(text), expected, "{text}");
        }
    }

    #[test]
    fn refuses_what_names_nothing() {
        for text in [
            "",
            "#",
            "#x",
            "!7x",
            "@alice",
            "issue:x",
            "pr:0",
            "docs/*.md",
            "**",
            "a**",
            "/etc/passwd",
            "../x",
            "https://git.example.com",
            "https://git.example.com/acme/shop",
            "src/a.rs#",
        ] {
            assert_eq!(named(text), "nothing", "{text}");
        }
    }

    #[test]
    fn a_node_is_a_source_or_is_not() {
        let is = |source: &str, id: &str| Source::parse(source, CONTEXT).unwrap().matches(&id.parse().unwrap());
        assert!(is("#12", "acme/shop#12") && !is("#12", "acme/shop!12") && !is("#12", "acme/web#12"));
        assert!(is("1a2b3c4", "acme/shop@1a2b3c4d5e6f") && !is("1a2b3c4d5e6f", "acme/shop@1a2b3c4"));
        assert!(is("src/", "acme/shop:src/auth.rs") && is("src/**", "acme/shop:src/auth.rs#login"));
        assert!(!is("src/", "acme/shop:src") && !is("src/", "acme/web:src/auth.rs") && !is("src/", "acme/shop#12"));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,60}") {
            let _ = Source::parse(&text, CONTEXT);
        }
    }
}
