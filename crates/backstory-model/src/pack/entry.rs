//! One entry of a context pack, of whatever section: the text of it that can be cut, and what it cites.

use super::{
    Chunk, CodeContext, ContextPack, DesignNote, HashedEntry, ImportantDiff, KeyItem, PackSources, RelatedTest,
    TimelineEntry, clip, trim::CUT,
};

/// Tokens of the text of the only entry of a small pack, the most that fit.
const TRIMMED: [usize; 5] = [80, 40, 20, 10, 0];

/// An entry of any section.
pub(super) enum Entry {
    KeyItem(KeyItem),
    Timeline(TimelineEntry),
    DesignNote(DesignNote),
    Code(CodeContext),
    Diff(ImportantDiff),
    Test(RelatedTest),
    Chunk(Chunk),
}

impl Entry {
    pub(super) fn sources(&self) -> &PackSources {
        match self {
            Self::KeyItem(of) => &of.sources,
            Self::Timeline(of) => &of.sources,
            Self::DesignNote(of) => &of.sources,
            Self::Code(of) => &of.sources,
            Self::Diff(of) => &of.sources,
            Self::Test(of) => &of.sources,
            Self::Chunk(of) => &of.sources,
        }
    }

    /// The text that can be cut.
    pub(super) fn text(&mut self) -> Option<&mut String> {
        match self {
            Self::KeyItem(of) => Some(&mut of.excerpt),
            Self::Timeline(of) => Some(&mut of.summary),
            Self::DesignNote(of) => Some(&mut of.note),
            Self::Code(of) => Some(&mut of.snippet),
            Self::Diff(of) => Some(&mut of.diff),
            Self::Test(of) => Some(&mut of.description),
            // A piece of it could not be proved.
            Self::Chunk(_) => None,
        }
    }

    /// Cuts its text to so many tokens; what is left of code says which lines it is.
    pub(super) fn cut(&mut self, room: usize, count: &dyn Fn(&str) -> usize) {
        if let Some(text) = self.text() {
            *text = clip(text, room, count);
        }
        if let Self::Code(of) = self {
            let kept = of.snippet.strip_suffix(CUT).unwrap_or(&of.snippet).trim_end().lines().count().max(1);
            of.lines.1 = of.lines.1.min(of.lines.0 + u32::try_from(kept - 1).unwrap_or(u32::MAX));
        }
    }

    /// It with less and less text, and an item in the end without its links and address.
    pub(super) fn shorter(&self, count: &dyn Fn(&str) -> usize) -> Vec<Self> {
        let cut = |room| {
            let mut entry = self.copy();
            entry.cut(room, count);
            entry
        };
        let mut all: Vec<Self> = TRIMMED.into_iter().map(cut).collect();
        if let Self::KeyItem(of) = self {
            all.push(Self::KeyItem(KeyItem { links: vec![], excerpt: String::new(), url: None, ..of.clone() }));
        }
        all
    }

    /// Whether cutting left nothing of it that is worth telling.
    pub(super) fn is_hollow(&self) -> bool {
        match self {
            Self::Timeline(of) => of.summary.is_empty(),
            Self::DesignNote(of) => of.note.is_empty(),
            Self::Code(of) => of.snippet.is_empty(),
            Self::Diff(of) => of.diff.lines().count() < 2,
            _ => false,
        }
    }

    pub(super) fn hashed(&self) -> Vec<HashedEntry> {
        match self {
            Self::KeyItem(of) => vec![HashedEntry { id: of.reference.clone(), content_hash: of.content_hash.clone() }],
            Self::Chunk(of) => vec![HashedEntry { id: of.document.clone(), content_hash: of.content_hash.clone() }],
            _ => vec![],
        }
    }

    pub(super) fn put(self, pack: &mut ContextPack) {
        match self {
            Self::KeyItem(of) => pack.key_items.push(of),
            Self::Timeline(of) => pack.timeline.push(of),
            Self::DesignNote(of) => pack.design_notes.push(of),
            Self::Code(of) => pack.code_context.push(of),
            Self::Diff(of) => pack.important_diffs.push(of),
            Self::Test(of) => pack.related_tests.push(of),
            Self::Chunk(of) => pack.retrieved.push(of),
        }
    }

    pub(super) fn copy(&self) -> Self {
        match self {
            Self::KeyItem(of) => Self::KeyItem(of.clone()),
            Self::Timeline(of) => Self::Timeline(of.clone()),
            Self::DesignNote(of) => Self::DesignNote(of.clone()),
            Self::Code(of) => Self::Code(of.clone()),
            Self::Diff(of) => Self::Diff(of.clone()),
            Self::Test(of) => Self::Test(of.clone()),
            Self::Chunk(of) => Self::Chunk(of.clone()),
        }
    }
}
