//! How the index is searched: keys of the sections `[index]` and `[server]`.

use std::ops::RangeInclusive;

use backstory_engine::index::IndexOptions;
use toml::Spanned;

use super::{super::error::Source, keys::IndexToml};
use crate::failure::Result;

/// Clusters of vectors, and how many of them a search looks into.
const CLUSTERS: RangeInclusive<usize> = 1..=4_096;
/// How many times as many vectors as are wanted are compared exactly.
const REFINE: RangeInclusive<usize> = 0..=100;
/// Megabytes that are kept of the files of the index.
const MEGABYTES: RangeInclusive<usize> = 16..=1_048_576;

impl Source<'_> {
    pub(super) fn index_options(self, index: &IndexToml, memory: Option<&Spanned<usize>>) -> Result<IndexOptions> {
        let usual = IndexOptions::default();
        let within = |key: &str, given: Option<&Spanned<usize>>, range: RangeInclusive<usize>| match given {
            Some(given) if !range.contains(given.get_ref()) => {
                let (least, most) = range.into_inner();
                Err(self.error_at(given.span(), format!("{key} is {}; it must be {least} to {most}", given.get_ref())))
            }
            given => Ok(given.map(|given| *given.get_ref())),
        };
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(IndexOptions {
            clusters: within("clusters", index.clusters.as_ref(), CLUSTERS)?.map(small),
            probes: within("probes", index.probes.as_ref(), CLUSTERS)?.unwrap_or(usual.probes),
            refine: within("refine", index.refine.as_ref(), REFINE)?.map_or(usual.refine, small),
            cache_bytes: within("memory", memory, MEGABYTES)?.map_or(usual.cache_bytes, |megabytes| megabytes << 20),
        })
    }
}
