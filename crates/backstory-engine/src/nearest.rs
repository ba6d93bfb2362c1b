//! Names that are like one that nothing has: of people, labels, paths, revisions and code. What is told of them, and which
//! names there are, belongs to those who ask.

/// Letters of a name for each of which there may be one typo, for a name with fewer typos to be nearer.
const LETTERS_PER_TYPO: usize = 3;
/// Likeness from which a name may be meant by another, however many typos it has.
const ALIKE: f64 = 0.7;
/// Longest name that is compared letter by letter, in bytes.
const MAX_LENGTH: usize = 200;
/// Most similar names that an error tells.
pub(crate) const NAMED: usize = 5;
/// Most letters in which a path that is meant may differ from the one that was written.
const MAX_TYPOS: usize = 3;
/// Most names that are compared letter by letter.
const MAX_COMPARED: usize = 100_000;

/// Most typos for which a name may stand for another one.
pub(crate) fn allowed_typos(name: &str) -> usize {
    name.chars().count().div_ceil(LETTERS_PER_TYPO)
}

/// How much two names are alike whatever their case, 0 to 1; names that are too long are like none.
pub(crate) fn likeness(one: &str, other: &str) -> f64 {
    let is_long = |name: &str| name.len() > MAX_LENGTH;
    if is_long(one) || is_long(other) { 0.0 } else { strsim::jaro_winkler(&plain(one), &plain(other)) }
}

/// Whether somebody who wrote one name may mean another: it has few typos, or looks much like it and is not much longer
/// unless it begins with it.
pub(crate) fn may_be_meant(one: &str, other: &str) -> bool {
    if one.len() > MAX_LENGTH || other.len() > MAX_LENGTH {
        return false;
    }
    let (wanted, known) = (plain(one), plain(other));
    let (length, of_known) = (wanted.chars().count(), known.chars().count());
    // Any letter is a typo of any other.
    if length < 2 {
        return wanted == known;
    }
    let is_of_its_size = length.max(of_known) <= 2 * length.min(of_known);
    let is_beginning = length >= LETTERS_PER_TYPO && known.starts_with(&wanted);
    strsim::osa_distance(&wanted, &known) <= allowed_typos(one)
        || (is_of_its_size || is_beginning) && likeness(one, other) >= ALIKE
}

/// The names that differ least from one that is not there, the most similar first. Half of a short one says nothing.
pub(crate) fn most_similar<'a>(names: &'a [String], absent: &str) -> Vec<&'a str> {
    let max_typos = MAX_TYPOS.min((absent.len() / 2).saturating_sub(1));
    within_typos(absent, names.iter().map(String::as_str), max_typos, NAMED)
}

/// The names with at most so many typos, those with the fewest first, equal ones by name. Neither case nor `/` around a
/// name counts.
pub(crate) fn within_typos<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    max_typos: usize,
    most: usize,
) -> Vec<&'a str> {
    let wanted = plain(name);
    if wanted.len() > MAX_LENGTH {
        return Vec::new();
    }
    let length = wanted.chars().count();
    // Each letter more or less is a typo.
    let may_be_near =
        |other: &&str| other.len() <= MAX_LENGTH && plain(other).chars().count().abs_diff(length) <= max_typos;
    let compared = known.into_iter().filter(may_be_near).take(MAX_COMPARED);
    let rated = compared.map(|other| (strsim::osa_distance(&wanted, &plain(other)), other));
    let mut near: Vec<(usize, &str)> = rated.filter(|(typos, _)| *typos <= max_typos).collect();
    near.sort_unstable();
    near.into_iter().take(most).map(|(_, other)| other).collect()
}

/// The names that are most like one: those with the fewest typos first, unless all have too many. Names that are too long are
/// like none.
pub(crate) fn most_alike<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let is_short = |name: &str| name.len() <= MAX_LENGTH;
    if !is_short(name) {
        return Vec::new();
    }
    let (wanted, max_typos) = (name.to_lowercase(), allowed_typos(name));
    let rate = |other: &str| {
        let lower = other.to_lowercase();
        let typos = strsim::osa_distance(&wanted, &lower);
        ((max_typos + 1).saturating_sub(typos), strsim::jaro_winkler(&wanted, &lower))
    };
    let compared = known.into_iter().filter(|other| is_short(other));
    let mut rated: Vec<_> = compared.map(|other| (rate(other), other)).collect();
    rated.sort_by(|(a, name), (b, other)| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(other.cmp(name)));
    rated.into_iter().take(most).map(|(_, other)| other).collect()
}

/// A name in lower case, without `/` around it.
fn plain(name: &str) -> String {
    name.trim_matches('/').to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_few_typos_come_first_and_others_not_at_all() {
        let known = ["session", "sessions", "Sesion/", "mission", "cart"];
        assert_eq!(within_typos("sesion", known, 2, 9), ["Sesion/", "session", "sessions"]);
        assert_eq!(within_typos("sesion", known, 2, 1), ["Sesion/"]);
        assert!(within_typos("payment", known, allowed_typos("payment"), 9).is_empty());
        assert!(within_typos(&"x".repeat(1000), known, 400, 9).is_empty());
    }

    #[test]
    fn something_is_most_alike_however_unlike() {
        let known = ["alice", "bob", "carol"];
        assert_eq!(most_alike("Alcie", known, 2)[0], "alice");
        assert_eq!(most_alike("zzz", known, 2).len(), 2);
        let long = "z".repeat(1000);
        assert!(most_alike("zzz", [], 2).is_empty() && most_alike(&long, known, 2).is_empty());
        assert_eq!(most_alike("zzz", [long.as_str(), "zz"], 2), ["zz"]);
        assert!(may_be_meant("bgu", "bug") && may_be_meant("dependa", "dependabot"));
        assert!(!may_be_meant("Wolfgang Quux", "Zoe Smith") && !may_be_meant("zzz", "alice"));
        // What is only longer, or of one letter, is somebody else.
        assert!(!may_be_meant("ann", "Anentropic") && !may_be_meant("a", "b") && !may_be_meant("", "b"));
        assert!(may_be_meant("perf", "performance"));
        assert!(likeness("docs", "Docs/") > 0.99 && likeness("docs", &"d".repeat(1000)) < 0.01);
    }
}
