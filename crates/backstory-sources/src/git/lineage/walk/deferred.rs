//! Files of old commits that new commits descend from: resolved only as far as their lines turn out to matter.
//!
//! Most of those lines reach a tip whose blame is known without a change; that blame then gives their origin.

use std::{collections::HashSet, sync::Arc};

use backstory_model::lineage::{BlameSpan, BlameSpans, OriginFlags};
use git2::Oid;

use super::{
    super::{
        Error,
        assemble::{BlameEntry, Interner, hash},
        hunks::line_count,
        objects::{Kind, RepoPath, Text},
    },
    BackwardWalk, MAX_LIFTING_TIPS,
};

/// Most files of old commits whose history is walked; if more are needed, one pass over all files is quicker.
const MAX_WALKS: usize = 6;

/// A file of an old commit.
pub(super) struct Deferred {
    pub(super) commit: Oid,
    pub(super) path: RepoPath,
    /// The lines whose origin a known tip tells, in order.
    pub(super) told: Option<Vec<BlameSpan>>,
    pub(super) all: Option<BlameEntry>,
}

/// Where a walk ends that only asks which lines of a commit's file came through to a tip.
pub(super) struct Boundary {
    pub(super) commit: Oid,
    pub(super) path: RepoPath,
    pub(super) between: HashSet<Oid>,
    /// The source that stands for the commit's file, and the one that stands for all else.
    pub(super) source: u32,
    pub(super) elsewhere: u32,
}

/// Files of old commits whose lineage is needed in part at most.
impl BackwardWalk<'_> {
    /// Stands for the file of an old commit until it is known which of its lines matter.
    pub(super) fn deferred(&mut self, names: &mut Interner, commit: Oid, path: &RepoPath) -> Result<BlameEntry, Error> {
        let tree = self.planner.objects.commit(commit)?.tree;
        let Some((Kind::File, content)) = self.planner.objects.entry(tree, path)? else { return Ok(BlameEntry::Gone) };
        let text = match self.planner.objects.text(content)? {
            Text::Lines(text) => text,
            Text::Untraced(why) => return Ok(BlameEntry::Untraced(why)),
        };
        let source = names.add_placeholder(commit, path);
        let deferred = Deferred { commit, path: Arc::clone(path), told: None, all: None };
        self.deferred.insert(source, deferred);
        Ok(whole(&text, source))
    }

    /// The spans without what is deferred in them.
    pub(in super::super) fn resolved(&mut self, names: &mut Interner, leaf: &BlameEntry) -> Result<BlameEntry, Error> {
        let BlameEntry::Traced(spans) = leaf else { return Ok(leaf.clone()) };
        if spans.as_slice().iter().all(|span| !self.deferred.contains_key(&span.source)) {
            return Ok(leaf.clone());
        }
        let mut resolved = BlameSpans::default();
        for span in spans.as_slice() {
            for part in self.resolved_span(names, *span)? {
                resolved.push(part.lines, part.source, part.line, part.seen);
            }
        }
        Ok(BlameEntry::Traced(Arc::new(resolved)))
    }

    /// The span, or the parts of the same lines that say where they truly come from.
    pub(in super::super) fn resolved_span(
        &mut self,
        names: &mut Interner,
        span: BlameSpan,
    ) -> Result<Vec<BlameSpan>, Error> {
        let Some(deferred) = self.deferred.get(&span.source) else { return Ok(vec![span]) };
        let (commit, path) = (deferred.commit, Arc::clone(&deferred.path));
        if deferred.all.is_none() && deferred.told.is_none() {
            let told = self.told_by_tips(names, commit, &path, span.source)?;
            if let Some(deferred) = self.deferred.get_mut(&span.source) {
                deferred.told = Some(told);
            }
        }
        let part = |part: BlameSpan| BlameSpan {
            start: span.start + (part.start - span.line),
            seen: part.seen.union(span.seen),
            ..part
        };
        if let Some(Deferred { told: Some(told), all: None, .. }) = self.deferred.get(&span.source) {
            let parts: Vec<BlameSpan> = cut(told, span.line, span.lines).map(part).collect();
            if parts.iter().map(|part| part.lines).sum::<u32>() == span.lines {
                return Ok(parts);
            }
        }
        if self.deferred.get(&span.source).is_some_and(|deferred| deferred.all.is_none()) {
            let all = self.all(names, commit, &path)?;
            if let Some(deferred) = self.deferred.get_mut(&span.source) {
                deferred.all = Some(all);
            }
        }
        match self.deferred.get(&span.source).and_then(|deferred| deferred.all.as_ref()) {
            Some(BlameEntry::Traced(all)) => Ok(all.slice(span.line, span.lines).map(part).collect()),
            _ => Ok(vec![span]),
        }
    }

    /// All lines of a file of an old commit.
    fn all(&mut self, names: &mut Interner, commit: Oid, path: &RepoPath) -> Result<BlameEntry, Error> {
        self.walks += 1;
        if self.walks > MAX_WALKS
            && self.fork_files.is_none()
            && let Some(compute_all) = &self.compute_all
        {
            let found = compute_all(&self.forks)?;
            self.fork_files = Some(found.into_iter().map(|found| (found.tip, found.files)).collect());
        }
        let id = names.path(path);
        let fork_files = self.fork_files.as_ref().and_then(|fork_files| fork_files.get(&hash(commit)));
        match fork_files.and_then(|files| files.get(names.text(id))).cloned().flatten() {
            Some(file) => Ok(names.take_entry(&file)),
            None => {
                // What stands in for the file must not be taken for what it stands for.
                let found = std::mem::take(&mut self.found);
                let leaf = self.walked(names, commit, path);
                self.found = found;
                leaf
            }
        }
    }

    /// What known tips say about the lines of a commit's file that came through to them untouched.
    fn told_by_tips(
        &mut self,
        names: &mut Interner,
        commit: Oid,
        path: &RepoPath,
        source: u32,
    ) -> Result<Vec<BlameSpan>, Error> {
        let mut told: Vec<BlameSpan> = Vec::new();
        let mut tips: Vec<Oid> = self.tips.iter().copied().collect();
        tips.sort_unstable();
        for tip in tips.into_iter().take(MAX_LIFTING_TIPS) {
            let Some(between) = self.between(commit, tip)? else { continue };
            let Some(BlameEntry::Traced(known)) = self.at_tip(names, tip, path) else { continue };
            let elsewhere = names.add_placeholder(tip, path);
            let between = between.iter().copied().collect();
            self.boundary = Some(Boundary { commit, path: Arc::clone(path), between, source, elsewhere });
            let found = std::mem::take(&mut self.found);
            let came_through = self.walked(names, tip, path);
            self.found = found;
            self.boundary = None;
            let BlameEntry::Traced(came_through) = came_through? else { continue };
            let untouched =
                came_through.as_slice().iter().filter(|span| (span.source, span.seen) == (source, OriginFlags::NONE));
            told.extend(untouched.flat_map(|span| {
                let parts = known.slice(span.start, span.lines);
                parts.map(|part| BlameSpan { start: span.line + (part.start - span.start), ..part })
            }));
        }
        told.sort_by_key(|span| (span.start, std::cmp::Reverse(span.lines)));
        let mut end = 0;
        told.retain(|span| {
            let is_new = span.start >= end;
            if is_new {
                end = span.start + span.lines;
            }
            is_new
        });
        Ok(told)
    }

    /// What stands for a file where a bounded walk ends; none if it goes on.
    pub(super) fn at_boundary(
        &mut self,
        commit: Oid,
        path: &RepoPath,
        content: Oid,
    ) -> Result<Option<BlameEntry>, Error> {
        let Some(boundary) = self.boundary.as_ref().filter(|boundary| !boundary.between.contains(&commit)) else {
            return Ok(None);
        };
        let is_asked = (commit, path) == (boundary.commit, &boundary.path);
        let source = if is_asked { boundary.source } else { boundary.elsewhere };
        Ok(Some(match self.planner.objects.text(content)? {
            Text::Lines(text) => whole(&text, source),
            Text::Untraced(why) => BlameEntry::Untraced(why),
        }))
    }
}

/// All lines of a text, from one source.
fn whole(text: &[u8], source: u32) -> BlameEntry {
    let mut spans = BlameSpans::default();
    spans.push(line_count(text), source, 1, OriginFlags::NONE);
    BlameEntry::Traced(Arc::new(spans))
}

/// The parts of spans, in order but with gaps, that cover these lines.
fn cut(spans: &[BlameSpan], start: u32, lines: u32) -> impl Iterator<Item = BlameSpan> + '_ {
    let end = start + lines;
    let first = spans.partition_point(|span| span.start + span.lines <= start);
    spans[first..].iter().take_while(move |span| span.start < end).map(move |span| {
        let from = span.start.max(start);
        BlameSpan {
            start: from,
            lines: (span.start + span.lines).min(end) - from,
            line: span.line + (from - span.start),
            ..*span
        }
    })
}
