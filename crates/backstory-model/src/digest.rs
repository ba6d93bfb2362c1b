//! SHA-256, and a digest of a set of lines that does not depend on their order.

use sha2::{Digest as _, Sha256};

/// Sum, modulo 2²⁵⁶, of the SHA-256 of every line added. Equal multisets have equal digests in whatever order they
/// are met, so a store can be digested in one pass without sorting it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetDigest {
    sum: [u64; 4],
    count: u64,
}

impl SetDigest {
    /// How many bytes [`Self::to_bytes`] returns.
    pub const BYTES: usize = 40;

    /// Everything that it is, to be kept.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let numbers = self.sum.iter().chain([&self.count]);
        bytes.chunks_exact_mut(8).zip(numbers).for_each(|(to, number)| to.copy_from_slice(&number.to_le_bytes()));
        bytes
    }

    /// What [`Self::to_bytes`] was made of.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let number = |at: usize| bytes[8 * at..].iter().take(8).rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
        Self { sum: std::array::from_fn(number), count: number(4) }
    }

    /// Adds a line.
    pub fn add(&mut self, line: &[u8]) {
        self.add_limbs(limbs(line));
        self.count += 1;
    }

    /// Takes away a line that was added.
    pub fn remove(&mut self, line: &[u8]) {
        let mut borrow = false;
        for (limb, value) in self.sum.iter_mut().zip(limbs(line)) {
            let (rest, under) = limb.overflowing_sub(value);
            let (rest, below) = rest.overflowing_sub(u64::from(borrow));
            (*limb, borrow) = (rest, under || below);
        }
        self.count = self.count.saturating_sub(1);
    }

    /// Adds all lines of another digest.
    pub fn merge(&mut self, other: &Self) {
        self.add_limbs(other.sum);
        self.count += other.count;
    }

    fn add_limbs(&mut self, limbs: impl IntoIterator<Item = u64>) {
        let mut carry = 0u128;
        for (limb, value) in self.sum.iter_mut().zip(limbs) {
            let total = u128::from(*limb) + u128::from(value) + carry;
            *limb = total as u64;
            carry = total >> 64;
        }
    }

    /// How many lines were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// 64 hex digits.
    pub fn hex(&self) -> String {
        self.sum.iter().rev().map(|limb| format!("{limb:016x}")).collect()
    }
}

/// SHA-256 of a line as a number, the lowest limb first.
fn limbs(line: &[u8]) -> impl Iterator<Item = u64> {
    let hash: [u8; 32] = Sha256::digest(line).into();
    (0..4).map(move |limb| {
        hash[limb * 8..limb * 8 + 8].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    })
}

/// SHA-256 of a text, 64 hex digits.
pub fn sha256_hex(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

/// SHA-256 of bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The namespace of addresses in RFC 9562.
const URL_NAMESPACE: [u8; 16] =
    [0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8];

/// A UUID of version 5 that follows from the full path of a project.
pub fn project_uuid(project: &str) -> String {
    let mut context = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
    context.update(&URL_NAMESPACE);
    context.update(project.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&context.finish().as_ref()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = hex::encode(bytes);
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn computes_sha256_consistently() {
        assert_eq!(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    proptest! {
        #[test]
        fn order_does_not_matter_but_every_line_does(mut lines in prop::collection::vec("[a-c]{0,3}", 1..20)) {
            let digest = |lines: &[String]| {
                let mut digest = SetDigest::default();
                lines.iter().for_each(|line| digest.add(line.as_bytes()));
                digest.hex()
            };
            let forward = digest(&lines);
            lines.reverse();
            prop_assert_eq!(&forward, &digest(&lines));
            let mut kept = SetDigest::default();
            lines.iter().for_each(|line| kept.add(line.as_bytes()));
            for line in ["x", "y", "z"] {
                kept.add(line.as_bytes());
            }
            for line in ["z", "x", "y"] {
                kept.remove(line.as_bytes());
            }
            prop_assert_eq!(&forward, &kept.hex());
            let (first, second) = lines.split_at(lines.len() / 2);
            let mut parts = SetDigest::default();
            for part in [second, first] {
                let mut digest = SetDigest::default();
                part.iter().for_each(|line| digest.add(line.as_bytes()));
                parts.merge(&digest);
            }
            prop_assert_eq!(&parts, &kept);
            lines.pop();
            prop_assert_ne!(&forward, &digest(&lines));
        }
    }
}
