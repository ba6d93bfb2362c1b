//! What was said about the lines of a file: review discussions, carried from the revision that they were written on to
//! the lines as they are at another.
//!
//! A position names lines of a file at the head of a merge request. If the clone has that commit, the lines are followed
//! through a diff of the two contents; lines that were moved are followed through their blame. If it does not, because
//! the branch was rewritten or squashed, lines near those that the merge request introduced are taken.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use backstory_model::{
    commit::{FileDiff, RepoPath, Sha},
    entity::{Discussion, Item, Position},
    id::{NodeId, ThreadId},
    lineage::{Lineage, OriginFlags},
    text::one_line,
};
use backstory_sources::git::text_diff::{TextDiffOptions, Whitespace};
use backstory_store::lists::{DiscussionQuery, PageRequest};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::introductions::Introductions;
use crate::{
    error::{Error, Result},
    read::item_of_node,
    resources::Resources,
    trace::{
        Revision,
        target::{lineage_at, no_such_path, resolve_place},
    },
    use_case::{UseCase, Weight},
};

/// Most discussions of one answer.
pub const MAX_COMMENTS: usize = 500;
/// Most paths that lines of the file had whose discussions are read.
const MAX_PATHS: usize = 20;
/// Most pairs of contents that are compared.
const MAX_DIFFS: usize = 100;
/// Most lines of a position that are followed.
const MAX_LINES: u32 = 1_000;
/// Lines around a position that still are its place, where the file may have changed since.
const NEAR: u32 = 3;
/// Longest beginning of a first note, in characters.
const BEGINNING: usize = 300;

/// Requests the discussions about lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommentsRequest {
    /// Full path of the project; may be absent where there is only one repository.
    #[serde(default)]
    pub project: Option<String>,
    /// Path from the repository's root.
    pub path: String,
    /// Branch, tag or commit; the indexed head if absent.
    #[serde(default)]
    pub rev: Option<String>,
    /// First and last line that they are about; all, and those on lines that are gone, if absent.
    #[serde(default)]
    pub lines: Option<(u32, u32)>,
    /// Whether they are resolved; those that cannot be resolved are neither.
    #[serde(default)]
    pub resolved: Option<bool>,
}

impl UseCase for CommentsRequest {
    const NAME: &'static str = "comments";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = FileComments;

    async fn run(self, resources: &Resources) -> Result<FileComments> {
        resources.blocking(move |resources| list_comments(resources, &self)).await
    }
}

/// The discussions about lines of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileComments {
    /// The file.
    pub file: NodeId,
    /// The commit whose lines are told.
    pub rev: Sha,
    /// In the order of the lines, then those on lines that are gone; within them the newest first.
    pub comments: Vec<FileComment>,
    /// What was not looked at, a sentence each.
    pub left_out: Vec<String>,
}

/// A discussion about lines of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileComment {
    /// The discussion.
    pub discussion: NodeId,
    /// The issue or merge request that it belongs to.
    pub thread: ThreadId,
    /// First and last line at this revision; null if they are gone.
    pub lines: Option<(u32, u32)>,
    /// How the lines were found.
    pub carried: Carried,
    /// Where it was written.
    pub position: CommentPosition,
    /// User name of who began it; null for a deleted account.
    pub author: Option<String>,
    /// When it was begun.
    pub created_at: Timestamp,
    /// The beginning of its first note.
    pub text: String,
    /// How many notes it has.
    pub notes: usize,
    /// Whether it can be resolved.
    pub resolvable: bool,
    /// Whether it is resolved.
    pub resolved: bool,
    /// Address for people.
    pub url: String,
}

impl FileComment {
    /// Whether it is about some of these lines.
    pub(super) fn is_on(&self, first: u32, last: u32) -> bool {
        self.lines.is_some_and(|lines| lines.0 <= last && first <= lines.1)
    }
}

/// How the lines of a comment were found at another revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Carried {
    /// The lines themselves were followed.
    Exact,
    /// The commit it was written on is not in the clone; lines of its merge request near the position were taken.
    Near,
    /// The lines are gone, or cannot be followed.
    Outdated,
}

/// Where on a diff a comment was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommentPosition {
    /// Path of the file then.
    pub path: String,
    /// First and last line then; null on removed lines or the file as a whole.
    pub lines: Option<(u32, u32)>,
    /// The commit that has these lines.
    pub commit: Option<String>,
}

/// Returns the discussions about lines of a file.
///
/// # Errors
/// There is no such file or revision, or a store cannot be read.
fn list_comments(resources: &Resources, request: &CommentsRequest) -> Result<FileComments> {
    if request.lines.is_some_and(|(first, last)| first == 0 || last < first) {
        return Err(Error::invalid("lines count from 1, the first one first"));
    }
    let place = resolve_place(resources, request.project.as_deref(), request.rev.as_deref())?;
    let path = request.path.as_str();
    let lineage = lineage_at(resources, &place, path)?;
    let Ok(entry) = place.objects.entry(place.commit, &RepoPath::from_escaped(path)) else {
        return Err(no_such_path(resources, &place, path)?);
    };
    let introductions = Introductions::find(resources, place.project(), &lineage)?;
    let mut found = comments_at(resources, &place, path, entry.id, &lineage, &introductions)?;
    if let Some((first, last)) = request.lines {
        found.comments.retain(|comment| comment.is_on(first, last));
    }
    if let Some(resolved) = request.resolved {
        found.comments.retain(|comment| comment.resolvable && comment.resolved == resolved);
    }
    Ok(found)
}

/// The discussions about a file, whose content is `blob`.
pub(super) fn comments_at(
    resources: &Resources,
    place: &Revision,
    path: &str,
    blob: Sha,
    lineage: &Lineage,
    introductions: &Introductions,
) -> Result<FileComments> {
    let names = Names::of(path, lineage);
    let query = DiscussionQuery {
        projects: vec![place.project().to_owned()],
        paths: names.all.iter().take(MAX_PATHS).cloned().collect(),
        ..DiscussionQuery::default()
    };
    let request = PageRequest { first: MAX_COMMENTS, ..PageRequest::default() };
    let page = resources.ledger().lists().discussions(&query, &request, resources.visibility())?;
    let mut carrier = Carrier { place, blob, lineage, introductions, names: &names, maps: HashMap::new() };
    let mut comments = Vec::new();
    for row in &page.rows {
        let Some(Item::Discussion(discussion)) = item_of_node(resources, &row.node_id())? else { continue };
        let Some(position) = discussion.notes.iter().find_map(|note| note.position.as_ref()) else { continue };
        let (lines, carried) = carrier.carry(&discussion.thread, position);
        comments.extend(describe_comment(&discussion, position, lines, carried));
    }
    comments.sort_by(|a, b| {
        let place = |comment: &FileComment| (comment.lines.is_none(), comment.lines);
        place(a).cmp(&place(b)).then_with(|| b.created_at.cmp(&a.created_at))
    });
    let mut left_out = Vec::new();
    if page.next.is_some() {
        left_out.push(format!("discussions older than the newest {MAX_COMMENTS} about the file"));
    }
    if names.all.len() > MAX_PATHS {
        left_out.push(format!("discussions on {} of the paths that lines came from", names.all.len() - MAX_PATHS));
    }
    if carrier.maps.len() >= MAX_DIFFS {
        left_out.push(format!("lines in more than {MAX_DIFFS} versions of the file"));
    }
    Ok(FileComments { file: NodeId::file(place.project(), path), rev: place.commit, comments, left_out })
}

fn describe_comment(
    discussion: &Discussion,
    position: &Position,
    lines: Option<(u32, u32)>,
    carried: Carried,
) -> Option<FileComment> {
    let first = discussion.notes.first()?;
    Some(FileComment {
        discussion: discussion.node_id(),
        thread: discussion.thread.clone(),
        lines,
        carried,
        position: CommentPosition {
            path: position.new_path.clone(),
            lines: position.new_lines,
            commit: position.head_sha.clone(),
        },
        author: first.author.clone(),
        created_at: first.created_at,
        text: one_line(&first.body, BEGINNING),
        notes: discussion.notes.len(),
        resolvable: discussion.is_resolvable(),
        resolved: discussion.is_resolved(),
        url: discussion.web_url.clone(),
    })
}

/// The paths that lines of a file had.
struct Names {
    /// Those of the file itself: now and before renames.
    own: BTreeSet<String>,
    /// Those first, then those that lines were moved or copied from.
    all: Vec<String>,
}

impl Names {
    fn of(path: &str, lineage: &Lineage) -> Self {
        let mut own = BTreeSet::from([path.to_owned()]);
        let mut others = BTreeSet::new();
        for span in lineage.spans().as_slice() {
            let source = lineage.sources()[span.source as usize].path.to_string();
            let is_moved = span.seen.contains(OriginFlags::MOVED) || span.seen.contains(OriginFlags::COPIED);
            if is_moved {
                others.insert(source)
            } else {
                own.insert(source)
            };
        }
        let mut all = vec![path.to_owned()];
        all.extend(own.iter().filter(|name| *name != path).cloned());
        all.extend(others.into_iter().filter(|name| !own.contains(name)));
        Self { own, all }
    }
}

/// Follows lines of other revisions to a file.
struct Carrier<'a> {
    place: &'a Revision,
    /// Content of the file.
    blob: Sha,
    lineage: &'a Lineage,
    introductions: &'a Introductions,
    names: &'a Names,
    /// By the two contents; `None` if they cannot be compared.
    maps: HashMap<(Sha, Sha), Option<Arc<LineMap>>>,
}

impl Carrier<'_> {
    fn carry(&mut self, thread: &ThreadId, position: &Position) -> (Option<(u32, u32)>, Carried) {
        let Some((first, last)) = position.new_lines else { return (None, Carried::Outdated) };
        let last = last.min(first.saturating_add(MAX_LINES - 1));
        let head = position.head_sha.as_deref().and_then(|sha| Sha::from_hex(sha.as_bytes()));
        let then = head.and_then(|head| self.content(head, &position.new_path));
        let found = match then {
            Some(then) => {
                let is_same_file = self.names.own.contains(&position.new_path);
                let direct = is_same_file.then(|| self.follow(then, self.blob, (first, last))).flatten();
                direct
                    .or_else(|| self.follow_origins(thread, &position.new_path, then, (first, last)))
                    .map(|lines| (Some(lines), Carried::Exact))
            }
            None => {
                let near = self.find_near(thread, &position.new_path, (first, last));
                near.map(|lines| (Some(lines), Carried::Near))
            }
        };
        found.unwrap_or((None, Carried::Outdated))
    }

    fn content(&self, commit: Sha, path: &str) -> Option<Sha> {
        let entry = self.place.objects.entry(commit, &RepoPath::from_escaped(path)).ok()?;
        entry.mode.is_file().then_some(entry.id)
    }

    /// The first and last of the lines that are still there in another content.
    fn follow(&mut self, old: Sha, new: Sha, (first, last): (u32, u32)) -> Option<(u32, u32)> {
        let map = self.line_map(old, new)?;
        let mut lines = (first..=last).filter_map(|line| map.follow(line));
        let start = lines.next()?;
        Some((start, lines.next_back().unwrap_or(start)))
    }

    /// Lines that the merge request introduced, followed from the commit it was commented on to the one that wrote them,
    /// and from there by blame.
    fn follow_origins(&mut self, thread: &ThreadId, path: &str, then: Sha, lines: (u32, u32)) -> Option<(u32, u32)> {
        let lineage = self.lineage;
        for span in lineage.spans().as_slice() {
            let source = &lineage.sources()[span.source as usize];
            if *source.path != *path || self.introductions.merge_request(source.commit) != Some(thread) {
                continue;
            }
            let Some(written) = self.content(source.commit, path) else { continue };
            let Some((first, last)) = self.follow(then, written, lines) else { continue };
            let (from, to) = (first.max(span.line), last.min(span.line + span.lines - 1));
            if from <= to {
                return Some((span.start + (from - span.line), span.start + (to - span.line)));
            }
        }
        None
    }

    /// Lines that the merge request introduced on that path, on the position or the nearest to it.
    fn find_near(&self, thread: &ThreadId, path: &str, (first, last): (u32, u32)) -> Option<(u32, u32)> {
        let spans = self.lineage.spans().as_slice().iter();
        let near = spans.filter_map(|span| {
            let source = &self.lineage.sources()[span.source as usize];
            let is_of_thread = self.introductions.merge_request(source.commit) == Some(thread);
            let end = span.line + span.lines - 1;
            let apart = first.saturating_sub(end).max(span.line.saturating_sub(last));
            (*source.path == *path && is_of_thread && apart <= NEAR).then_some((apart, span))
        });
        let (_, span) = near.min_by_key(|(apart, span)| (*apart, span.start))?;
        let end = span.line + span.lines - 1;
        let (from, to) = (first.clamp(span.line, end), last.clamp(span.line, end));
        Some((span.start + (from - span.line), span.start + (to - span.line)))
    }

    fn line_map(&mut self, old: Sha, new: Sha) -> Option<Arc<LineMap>> {
        if let Some(known) = self.maps.get(&(old, new)) {
            return known.clone();
        }
        if self.maps.len() >= MAX_DIFFS {
            return None;
        }
        let options = TextDiffOptions { context: 0, whitespace: Whitespace::Ignored, ..TextDiffOptions::default() };
        // Only numbers of lines are kept of it, so nothing has to be redacted.
        let as_it_is = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let diff = self.place.objects.text_diff(Some(old), Some(new), options, &as_it_is);
        let map = match diff {
            Ok(FileDiff::Text { hunks, left_out: 0 }) => Some(Arc::new(LineMap::new(
                hunks.iter().map(|hunk| (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count)),
            ))),
            _ => None,
        };
        self.maps.insert((old, new), map.clone());
        map
    }
}

/// Which line of one content is which of another, by the places where they differ.
struct LineMap(Vec<Difference>);

/// Lines that were replaced.
struct Difference {
    /// The first old line that is replaced, or before which lines were added.
    start: u32,
    /// The first old line after them.
    end: u32,
    /// The new line that it is.
    new_end: u32,
}

impl LineMap {
    /// From hunks without context, as old start and count, new start and count.
    fn new(hunks: impl Iterator<Item = (u32, u32, u32, u32)>) -> Self {
        let differences = hunks.map(|(old, old_count, new, new_count)| {
            // Without lines on a side, the hunk comes after the line that it names there.
            let start = old + u32::from(old_count == 0);
            let new_start = new + u32::from(new_count == 0);
            Difference { start, end: start + old_count, new_end: new_start + new_count }
        });
        Self(differences.collect())
    }

    /// The new number of a line; `None` if it was replaced.
    fn follow(&self, line: u32) -> Option<u32> {
        let before = self.0.partition_point(|difference| difference.start <= line);
        let Some(difference) = before.checked_sub(1).map(|at| &self.0[at]) else { return Some(line) };
        (line >= difference.end).then(|| difference.new_end + (line - difference.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_followed_past_what_was_added_and_removed() {
        // Two lines are added after line 2, lines 5 and 6 become one, line 9 is removed.
        let map = LineMap::new([(2, 0, 3, 2), (5, 2, 7, 1), (9, 1, 9, 0)].into_iter());
        let followed: Vec<Option<u32>> = (1..=10).map(|line| map.follow(line)).collect();
        let expected = [Some(1), Some(2), Some(5), Some(6), None, None, Some(8), Some(9), None, Some(10)];
        assert_eq!(followed, expected);
    }
}
