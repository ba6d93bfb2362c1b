//! Missing resources: what the machine lacks when a store cannot work although its files are sound. Damage is in
//! [`guard`](crate::guard).

use std::fmt;

use rustix::process::{Resource, getrlimit};

/// How many files this process may have open.
pub fn descriptor_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Something that a store needs and cannot have now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingResource {
    /// Room on the disk, a quota or a limit on the size of files included.
    Disk,
    /// File descriptors.
    Descriptors,
    /// Memory.
    Memory,
    /// The permission to read or write.
    Permission,
}

/// Numbers of the operating system's errors, as the standard library prints them, and what the C library says of them,
/// as RocksDB prints it.
const SIGNS: [(MissingResource, &[&str]); 4] = [
    (
        MissingResource::Disk,
        &[
            "(os error 28)",
            "No space left on device",
            "Space limit reached",
            "(os error 122)",
            "Disk quota exceeded",
            "(os error 27)",
            "File too large",
            "database or disk is full",
        ],
    ),
    (MissingResource::Descriptors, &["(os error 24)", "(os error 23)", "Too many open files", "file descriptors"]),
    (MissingResource::Memory, &["(os error 12)", "Cannot allocate memory", "Memory limit reached"]),
    (
        MissingResource::Permission,
        &[
            "(os error 13)",
            "(os error 1)",
            "(os error 30)",
            "Permission denied",
            "Operation not permitted",
            "Read-only file system",
            "attempt to write a readonly database",
        ],
    ),
];

impl MissingResource {
    /// What a store's error message says is lacking; `None` if it says something else.
    pub fn from_message(message: &str) -> Option<Self> {
        let says = |signs: &[&str]| signs.iter().any(|sign| message.contains(sign));
        SIGNS.into_iter().find(|(_, signs)| says(signs)).map(|(lack, _)| lack)
    }
}

impl fmt::Display for MissingResource {
    /// What is lacking and what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disk => "there is no room left on the disk; make room there",
            Self::Descriptors => "too many files are open; allow more of them, with 'ulimit -n' for example",
            Self::Memory => "there is not enough memory; allow more of it",
            Self::Permission => "its files may not be read and written; change their owner or permissions",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_every_store_are_told_from_damage() {
        for (message, lack) in [
            (
                "IO error: No space left on device: While appending to file: /d/graph/1/000012.log",
                MissingResource::Disk,
            ),
            (
                "LanceError(IO): Generic LocalFileSystem error: write: No space left on device (os error 28)",
                MissingResource::Disk,
            ),
            ("File too large (os error 27)", MissingResource::Disk),
            ("database or disk is full", MissingResource::Disk),
            (
                "IO error: While open a file for random read: /d/graph/1/9.sst: Too many open files",
                MissingResource::Descriptors,
            ),
            ("Oxigraph needs at least 96 file descriptors when reserving 48", MissingResource::Descriptors),
            ("IO error: While opendir: /d/graph/1: Permission denied", MissingResource::Permission),
        ] {
            assert_eq!(MissingResource::from_message(message), Some(lack), "{message}");
        }
        for message in ["Corruption: block checksum mismatch", "Not found: /d/index/1/data/a.lance (os error 2)"] {
            assert_eq!(MissingResource::from_message(message), None, "{message}");
        }
    }
}
