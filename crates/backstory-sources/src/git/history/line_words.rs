//! What is collected of the lines that a commit adds or removes.

use backstory_model::word_filter::WordCollector;

use super::identifiers::Identifiers;

/// The words of one commit.
#[derive(Debug, Default)]
pub(super) struct LineWords {
    /// Those of what people wrote.
    pub(super) identifiers: Identifiers,
    /// Those of all lines that are removed.
    pub(super) removed: WordCollector,
    is_written: bool,
}

impl LineWords {
    /// Starts another file, which people wrote or not.
    pub(super) fn next_file(&mut self, is_written: bool) {
        self.identifiers.next_file();
        self.is_written = is_written;
    }

    /// Takes changed text of the file, without the sign before it. A line may come in parts.
    pub(super) fn take(&mut self, part: &[u8], is_removed: bool) {
        if self.is_written {
            self.identifiers.take(part);
        }
        if is_removed {
            self.removed.take(part);
        }
    }

    /// Ends a line.
    pub(super) fn end_line(&mut self) {
        if self.is_written {
            self.identifiers.take(b"\n");
        }
        self.removed.end_word();
    }
}
