//! Cuts files into passages for search: lines that are shown and indexed together.

use backstory_model::code::{CodeAnalysis, Content, DocAnalysis, EntityKind, FileAnalysis, Lines, Passage};

/// Most lines of a constant or declaration that gets no passage of its own.
const SHORT: u32 = 5;
/// Deepest nesting at which an entity is cut at those inside.
const MAX_DEPTH: usize = 32;

/// How long passages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most lines of a passage.
    pub lines: u32,
    /// Lines that windows over other text share with the one before.
    pub overlap: u32,
    /// Most passages of a file.
    pub passages: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lines: 60, overlap: 10, passages: 5_000 }
    }
}

/// The passages of a file, in order. Those of code share no lines; every line of the file is in one, unless there are
/// more than the limit.
pub fn passages(file: &FileAnalysis, limits: Limits) -> Vec<Passage> {
    let limits = Limits { lines: limits.lines.max(1), overlap: limits.overlap.min(limits.lines.max(1) - 1), ..limits };
    let mut cutter = Cutter { limits, out: Vec::new() };
    match &file.content {
        Content::Code(code) => cutter.code(code, file.line_count),
        Content::Doc(doc) => cutter.doc(doc),
        Content::Text => cutter.windows(1, file.line_count, None, None, limits.overlap),
    }
    cutter.out.truncate(limits.passages);
    cutter.out
}

struct Cutter {
    limits: Limits,
    out: Vec<Passage>,
}

impl Cutter {
    fn doc(&mut self, doc: &DocAnalysis) {
        for (section, at) in doc.sections.iter().zip(0u32..) {
            self.windows(section.lines.first, section.lines.last, None, Some(at), self.limits.overlap);
        }
    }

    /// Every line belongs to the smallest entity around it that is worth a passage; an entity that fits is not cut.
    fn code(&mut self, code: &CodeAnalysis, line_count: u32) {
        if line_count == 0 {
            return;
        }
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); code.entities.len()];
        let (mut top, mut open): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        for (entity, at) in code.entities.iter().zip(0u32..) {
            let single = matches!(entity.kind, EntityKind::Constant | EntityKind::Variable | EntityKind::Declaration);
            // Short statements read better together than one by one.
            if single && entity.lines.count() <= SHORT {
                continue;
            }
            // What an entity belongs to may stand elsewhere, so the lines decide.
            let around = |held: &u32| code.entities[*held as usize].lines.last >= entity.lines.last;
            while open.last().is_some_and(|held| !around(held)) {
                open.pop();
            }
            match open.last() {
                Some(held) => children[*held as usize].push(at),
                None => top.push(at),
            }
            open.push(at);
        }
        self.span(code, &children, Lines::new(1, line_count), None, &top, 0);
    }

    /// Cuts the lines of an entity, or of the file, at the entities inside.
    fn span(
        &mut self,
        code: &CodeAnalysis,
        children: &[Vec<u32>],
        lines: Lines,
        entity: Option<u32>,
        inner: &[u32],
        depth: usize,
    ) {
        let mut next = lines.first;
        for child in inner {
            let Some(of) = code.entities.get(*child as usize) else { continue };
            // What precedes an entity directly, its comments and attributes, is read with it.
            let first = of.lines.first.max(next);
            let last = of.lines.last.min(lines.last);
            if first > last {
                continue;
            }
            let lead = self.lead(of.doc.as_deref(), first, next);
            if lead > next {
                self.windows(next, lead - 1, entity, None, 0);
            }
            let whole = Lines::new(lead, last);
            let grandchildren = children.get(*child as usize).map_or(&[][..], Vec::as_slice);
            if whole.count() <= self.limits.lines || grandchildren.is_empty() || depth > MAX_DEPTH {
                self.windows(whole.first, whole.last, Some(*child), None, 0);
            } else {
                self.span(code, children, whole, Some(*child), grandchildren, depth + 1);
            }
            next = last + 1;
        }
        if next <= lines.last {
            self.windows(next, lines.last, entity, None, 0);
        }
    }

    /// The line at which an entity's passage begins: that of its doc comment if nothing else is in between.
    fn lead(&self, doc: Option<&str>, first: u32, free_from: u32) -> u32 {
        let lines = doc.map_or(0, |doc| u32::try_from(doc.lines().count()).unwrap_or(u32::MAX));
        first.saturating_sub(lines.min(self.limits.lines / 2)).max(free_from)
    }

    fn windows(&mut self, first: u32, last: u32, entity: Option<u32>, section: Option<u32>, overlap: u32) {
        let mut at = first;
        while at <= last && self.out.len() < self.limits.passages {
            let end = last.min(at.saturating_add(self.limits.lines - 1));
            self.out.push(Passage { lines: Lines::new(at, end), entity, section });
            if end == last {
                break;
            }
            at = end + 1 - overlap;
        }
    }
}

#[cfg(test)]
mod tests;
