//! How an index is searched and what it keeps in memory.

/// How an index finds the nearest vectors, and how much of what it reads it keeps in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// Clusters of vectors when these are clustered; one for every thousand of them if absent.
    pub clusters: Option<u32>,
    /// Clusters that a search looks into, those nearest to what it looks for.
    pub probes: usize,
    /// How many times as many vectors as are wanted are read and compared exactly; with 0 none is.
    pub refine: u32,
    /// Most bytes that are kept of the files of the tables: search indexes, and what is known of files.
    pub cache_bytes: usize,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { clusters: None, probes: 48, refine: 0, cache_bytes: 320 << 20 }
    }
}
