//! Random strings for the corpus.

use fastrand::Rng;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";

fn of(r: &mut Rng, alphabets: &[&str], count: usize) -> String {
    let all: Vec<char> = alphabets.concat().chars().collect();
    (0..count).map(|_| all[r.usize(..all.len())]).collect()
}

pub(super) fn hex(r: &mut Rng, count: usize) -> String {
    of(r, &[DIGITS, "abcdef"], count)
}

pub(super) fn digits(r: &mut Rng, count: usize) -> String {
    of(r, &[DIGITS], count)
}

pub(super) fn letters(r: &mut Rng, count: usize) -> String {
    of(r, &[LOWER, UPPER], count)
}

pub(super) fn lower(r: &mut Rng, count: usize) -> String {
    of(r, &[LOWER, DIGITS], count)
}

/// Capitals and the digits of base 32.
pub(super) fn capitals(r: &mut Rng, count: usize) -> String {
    of(r, &[UPPER, "234567"], count)
}

pub(super) fn mixed(r: &mut Rng, count: usize) -> String {
    of(r, &[LOWER, UPPER, DIGITS], count)
}

/// Letters and digits, and inside also `-` and `_`.
pub(super) fn mixed_signs(r: &mut Rng, count: usize) -> String {
    format!("{}{}{}", mixed(r, 1), of(r, &[LOWER, UPPER, DIGITS, "-_"], count - 2), mixed(r, 1))
}

/// Letters and digits, and inside also `+` and `/`.
pub(super) fn base64(r: &mut Rng, count: usize) -> String {
    format!("{}{}{}", mixed(r, 1), of(r, &[LOWER, UPPER, DIGITS, "+/"], count - 2), mixed(r, 1))
}

pub(super) fn uuid(r: &mut Rng) -> String {
    format!("{}-{}-4{}-a{}-{}", hex(r, 8), hex(r, 4), hex(r, 3), hex(r, 3), hex(r, 12))
}
