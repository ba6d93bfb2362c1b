//! Estimates how much there is to compare in a commit.
//!
//! Comparing two texts that differ in every line takes eight seconds for half a million lines on each side, so lines
//! are counted first. The count depends on contents alone: every run leaves out the same commits.

use git2::Odb;

use super::trees::{Differences, Kind};

/// Largest file that is compared line by line, in bytes.
pub(super) const MAX_FILE: usize = 4 << 20;
/// Most lines of the files that one commit changes, before and after together, that are compared.
pub(super) const MAX_LINES: u64 = 2_000_000;
/// Largest file of which it is looked whether it is text.
const MAX_LOOKED_AT: usize = 64 << 20;
/// How far into a file git looks for a zero byte, which makes it binary.
const BINARY_PROBE: usize = 8000;
/// Files of fewer bytes are taken to have a line for each [`BYTES_OF_LINE`].
const SMALL: usize = 64 << 10;
const BYTES_OF_LINE: u64 = 32;

/// What comparing the files of a commit takes.
#[derive(Debug, Default)]
pub(super) struct DiffCost {
    /// Lines of those that are compared, before and after together; counted until they are more than [`MAX_LINES`].
    pub(super) lines: u64,
    /// Files that are not compared because they are larger than [`MAX_FILE`], without those that are no text.
    pub(super) large_files: u64,
    /// The first of them, by its place in the differences.
    pub(super) first_large: Option<usize>,
}

impl DiffCost {
    /// Whether it is more than is compared.
    pub(super) fn exceeds_limits(&self) -> bool {
        self.lines > MAX_LINES
    }
}

/// What comparing takes. A file that is new or gone takes nothing.
pub(super) fn estimate(odb: &Odb<'_>, differences: &Differences) -> Result<DiffCost, git2::Error> {
    let mut load = DiffCost::default();
    for (at, difference) in differences.found.iter().enumerate() {
        let (Some((Kind::File, old)), Some((Kind::File, new))) = (difference.old, difference.new) else { continue };
        let sizes = [odb.read_header(old)?.0, odb.read_header(new)?.0];
        if sizes.iter().any(|size| *size > MAX_FILE) {
            if sizes[1] > MAX_LOOKED_AT || !is_binary(odb.read(new)?.data()) {
                load.large_files += 1;
                load.first_large.get_or_insert(at);
            }
            continue;
        }
        for (id, size) in [old, new].into_iter().zip(sizes) {
            if load.exceeds_limits() {
                break;
            }
            load.lines += if size < SMALL {
                size as u64 / BYTES_OF_LINE
            } else {
                memchr::memchr_iter(b'\n', odb.read(id)?.data()).count() as u64
            };
        }
    }
    Ok(load)
}

fn is_binary(content: &[u8]) -> bool {
    memchr::memchr(0, &content[..content.len().min(BINARY_PROBE)]).is_some()
}
