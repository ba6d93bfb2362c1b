//! How glibc hands out memory to commands that run for long. A bench includes this file, so that it measures the same.

/// What glibc reads as it starts: how many parts memory is handed out from, and from which size on in bytes a block is one
/// by itself, which goes back to the system as soon as it is free.
pub(crate) const VARIABLES: [(&str, &str); 2] = [("MALLOC_ARENA_MAX", "2"), ("MALLOC_MMAP_THRESHOLD_", "1000000")];
