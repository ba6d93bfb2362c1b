//! Cuts files into passages for search: lines that are shown and indexed together.

use backstory_model::code::{CodeAnalysis, ContentAnalysis, DocAnalysis, EntityKind, FileAnalysis, Lines, Passage};

/// Most lines of a constant or declaration that gets no passage of its own.
const SHORT: u32 = 5;
/// Deepest nesting at which an entity is cut at those inside.
const MAX_DEPTH: usize = 32;

/// How long the passages of one kind of file are. One line is always taken, however long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageSize {
    /// Most lines of a passage, at least 1.
    pub lines: u32,
    /// Most characters of a passage; 0 for any number.
    pub characters: u32,
    /// Lines that a passage shares with the one before where a text is cut that is longer; at most half of that one.
    pub overlap: u32,
}

/// How long passages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageLimits {
    /// Those of code: a code entity that is no longer is not cut.
    pub code: PassageSize,
    /// Those of documentation: a section that is no longer is not cut.
    pub documentation: PassageSize,
    /// Those of other text.
    pub text: PassageSize,
    /// Most passages of a file.
    pub passages: usize,
}

impl Default for PassageLimits {
    fn default() -> Self {
        Self {
            code: PassageSize { lines: 60, characters: 0, overlap: 0 },
            documentation: PassageSize { lines: 60, characters: 2000, overlap: 3 },
            text: PassageSize { lines: 60, characters: 0, overlap: 10 },
            passages: 5_000,
        }
    }
}

/// The passages of a file with that text, in order. Every line of the file is in one, unless there are more than the
/// limit.
pub fn passages(file: &FileAnalysis, text: &str, limits: PassageLimits) -> Vec<Passage> {
    let size = match &file.content {
        ContentAnalysis::Code(_) => limits.code,
        ContentAnalysis::Doc(_) => limits.documentation,
        ContentAnalysis::Text => limits.text,
    };
    let size = PassageSize { lines: size.lines.max(1), ..size };
    let length = |line: &str| u32::try_from(line.chars().count()).unwrap_or(u32::MAX);
    let lengths = if size.characters == 0 { Vec::new() } else { text.split('\n').map(length).collect() };
    let mut cutter = Cutter { size, lengths, most: limits.passages, out: Vec::new() };
    match &file.content {
        ContentAnalysis::Code(code) => cutter.code(code, file.line_count),
        ContentAnalysis::Doc(doc) => cutter.doc(doc),
        ContentAnalysis::Text => cutter.windows(1, file.line_count, None, None),
    }
    cutter.out.truncate(limits.passages);
    cutter.out
}

struct Cutter {
    size: PassageSize,
    /// Characters of each line; empty if any number is allowed.
    lengths: Vec<u32>,
    most: usize,
    out: Vec<Passage>,
}

impl Cutter {
    fn doc(&mut self, doc: &DocAnalysis) {
        for (section, at) in doc.sections.iter().zip(0u32..) {
            self.windows(section.lines.first, section.lines.last, None, Some(at));
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
                self.windows(next, lead - 1, entity, None);
            }
            let whole = Lines::new(lead, last);
            let grandchildren = children.get(*child as usize).map_or(&[][..], Vec::as_slice);
            if self.end(whole.first, whole.last) == whole.last || grandchildren.is_empty() || depth > MAX_DEPTH {
                self.windows(whole.first, whole.last, Some(*child), None);
            } else {
                self.span(code, children, whole, Some(*child), grandchildren, depth + 1);
            }
            next = last + 1;
        }
        if next <= lines.last {
            self.windows(next, lines.last, entity, None);
        }
    }

    /// The line at which an entity's passage begins: that of its doc comment if nothing else is in between.
    fn lead(&self, doc: Option<&str>, first: u32, free_from: u32) -> u32 {
        let lines = doc.map_or(0, |doc| u32::try_from(doc.lines().count()).unwrap_or(u32::MAX));
        first.saturating_sub(lines.min(self.size.lines / 2)).max(free_from)
    }

    /// The last line of the passage that begins at a line, of lines up to another.
    fn end(&self, first: u32, last: u32) -> u32 {
        let end = last.min(first.saturating_add(self.size.lines - 1));
        let mut characters = 0u32;
        for line in first..=end {
            let length = self.lengths.get(line.saturating_sub(1) as usize).copied().unwrap_or(0);
            characters = characters.saturating_add(length);
            if self.size.characters > 0 && characters > self.size.characters && line > first {
                return line - 1;
            }
        }
        end
    }

    fn windows(&mut self, first: u32, last: u32, entity: Option<u32>, section: Option<u32>) {
        let mut at = first;
        while at <= last && self.out.len() < self.most {
            let end = self.end(at, last);
            self.out.push(Passage { lines: Lines::new(at, end), entity, section });
            if end == last {
                break;
            }
            let overlap = self.size.overlap.min((end + 1 - at) / 2);
            at = end + 1 - overlap;
        }
    }
}

#[cfg(test)]
mod tests;
