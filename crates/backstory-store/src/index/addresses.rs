//! Addresses of rows by their ids, of which a hash is kept: what is read at an address tells whether it is the right one.

use super::maps::stable_hash;

/// The addresses. In order rather than in a map, which would take three times as much memory and most of the time of a start.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    /// In order; equal ones are of different rows.
    hashes: Vec<u32>,
    addresses: Vec<u64>,
}

/// A hash of the id of a row, and its address.
pub(super) type Hashed = (u32, u64);

/// The hash of the id of a row.
pub(super) fn hash_of(id: &str) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "a part of a hash is one")]
    let hash = stable_hash(id.as_bytes()) as u32;
    hash
}

impl Addresses {
    /// Those of an image; `None` if they are not in order.
    pub(super) fn restore(hashes: &[u32], addresses: &[u64]) -> Option<Self> {
        let are_in_order = hashes.is_sorted() && hashes.len() == addresses.len();
        are_in_order.then(|| Self { hashes: hashes.to_vec(), addresses: addresses.to_vec() })
    }

    /// What has this hash: rows with the id, and perhaps others.
    pub(super) fn of(&self, hash: u32) -> &[u64] {
        let start = self.hashes.partition_point(|known| *known < hash);
        let count = self.hashes[start..].iter().take_while(|known| **known == hash).count();
        &self.addresses[start..start + count]
    }

    /// Takes in where rows are now. `is_same` tells whether a known address is that of the same row before.
    pub(super) fn learn(&mut self, mut new: Vec<Hashed>, is_same: impl Fn(u64, u64) -> bool) {
        new.retain(|(hash, address)| {
            let start = self.hashes.partition_point(|known| known < hash);
            let count = self.of(*hash).len();
            let mut known = self.addresses[start..start + count].iter_mut();
            known.find(|known| is_same(**known, *address)).map(|known| *known = *address).is_none()
        });
        new.sort_unstable();
        self.merge(&new);
    }

    /// From the end, so that each is moved once.
    fn merge(&mut self, new: &[Hashed]) {
        let mut known = self.hashes.len();
        let all = known + new.len();
        if self.hashes.capacity() < all {
            // An eighth more than there are, where a list would take twice as much by itself.
            let more = new.len() + all / 8;
            self.hashes.reserve_exact(more);
            self.addresses.reserve_exact(more);
        }
        self.hashes.resize(all, 0);
        self.addresses.resize(all, 0);
        let mut at = all;
        for (hash, address) in new.iter().rev() {
            while known > 0 && self.hashes[known - 1] > *hash {
                (at, known) = (at - 1, known - 1);
                (self.hashes[at], self.addresses[at]) = (self.hashes[known], self.addresses[known]);
            }
            at -= 1;
            (self.hashes[at], self.addresses[at]) = (*hash, *address);
        }
    }

    /// In the order of the hashes.
    pub(super) fn iter(&self) -> impl Iterator<Item = Hashed> {
        self.hashes.iter().copied().zip(self.addresses.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn rows_are_found_where_they_were_learned_last() {
        let mut random = fastrand::Rng::with_seed(1);
        // By its hash and which row it is: addresses end with that.
        let mut expected: BTreeMap<(u32, u64), u64> = BTreeMap::new();
        let mut all = Addresses::default();
        for time in 0..200 {
            let rows: BTreeSet<(u32, u64)> =
                (0..random.usize(..20)).map(|_| (random.u32(..40), random.u64(..3))).collect();
            let new: Vec<Hashed> = rows.iter().map(|(hash, row)| (*hash, time * 10 + row)).collect();
            expected.extend(rows.iter().map(|(hash, row)| ((*hash, *row), time * 10 + row)));
            all.learn(new, |known, new| known % 10 == new % 10);
            for hash in 0..40 {
                let of_hash: BTreeSet<u64> = all.of(hash).iter().copied().collect();
                let expected = expected.range((hash, 0)..=(hash, 9)).map(|(_, address)| *address).collect();
                assert_eq!(of_hash, expected, "time {time}, hash {hash}");
            }
            let (hashes, addresses): (Vec<u32>, Vec<u64>) = all.iter().unzip();
            let again = Addresses::restore(&hashes, &addresses).unwrap();
            assert!(again.iter().eq(all.iter()));
        }
        assert!(Addresses::restore(&[2, 1], &[0, 0]).is_none() && Addresses::restore(&[1], &[]).is_none());
    }
}
