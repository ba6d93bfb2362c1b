//! The section `[index.chunks]`: how long the pieces of files are that search reads.

use backstory_engine::sources::code::{PassageLimits, PassageSize};
use toml::Spanned;

use super::{
    super::error::Source,
    keys::{ChunkSizeToml, ChunksToml},
};
use crate::failure::Result;

/// Most lines of a piece.
const MAX_LINES: u32 = 1_000;
/// Most characters of a piece, and the least where there is a limit.
const CHARACTERS: std::ops::RangeInclusive<u32> = 200..=50_000;

impl Source<'_> {
    pub(super) fn chunks(self, chunks: &ChunksToml) -> Result<PassageLimits> {
        let usual = PassageLimits::default();
        Ok(PassageLimits {
            code: self.chunk_size(&chunks.code, usual.code)?,
            documentation: self.chunk_size(&chunks.documentation, usual.documentation)?,
            text: self.chunk_size(&chunks.text, usual.text)?,
            ..usual
        })
    }

    fn chunk_size(self, size: &ChunkSizeToml, usual: PassageSize) -> Result<PassageSize> {
        let value = |given: &Option<Spanned<u32>>, usual: u32| given.as_ref().map_or(usual, |given| *given.get_ref());
        let lines = value(&size.lines, usual.lines);
        let found = PassageSize {
            lines,
            characters: value(&size.characters, usual.characters),
            overlap: value(&size.overlap, usual.overlap.min(lines.saturating_sub(1))),
        };
        if let Some(given) = size.lines.as_ref().filter(|given| !(1..=MAX_LINES).contains(given.get_ref())) {
            let what = format!("lines is {}; it must be 1 to {MAX_LINES}", given.get_ref());
            return Err(self.error_at(given.span(), what));
        }
        let is_wrong = |given: &&Spanned<u32>| *given.get_ref() != 0 && !CHARACTERS.contains(given.get_ref());
        if let Some(given) = size.characters.as_ref().filter(is_wrong) {
            let (least, most) = (CHARACTERS.start(), CHARACTERS.end());
            let what = format!("characters is {}; it must be {least} to {most}, or 0 for no limit", given.get_ref());
            return Err(self.error_at(given.span(), what));
        }
        if let Some(given) = size.overlap.as_ref().filter(|given| *given.get_ref() >= found.lines) {
            let what = format!("overlap is {}; it must be less than lines, {}", given.get_ref(), found.lines);
            return Err(self.error_at(given.span(), what));
        }
        Ok(found)
    }
}
