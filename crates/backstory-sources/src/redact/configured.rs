//! The secrets of this process's own configuration. They are replaced wherever they appear, whatever they look like: a
//! forge or a proxy may repeat the token that it was sent.

use std::{ops::Range, sync::Arc};

use aho_corasick::{AhoCorasick, MatchKind};
use parking_lot::RwLock;

use super::Kind;

/// What they are called.
pub(super) const KIND: Kind =
    Kind { id: "configured-secret", description: "A token, key or secret of this program's configuration" };
/// Least bytes of one: what is shorter is a word that texts have.
const MIN_LENGTH: usize = 8;

/// Those of the process, which holds for every text and message of it.
static CONFIGURED: RwLock<Option<Arc<Configured>>> = RwLock::new(None);

struct Configured {
    secrets: Vec<String>,
    automaton: AhoCorasick,
}

/// Adds secrets that are replaced in every text from now on; those of fewer than 8 bytes are not.
pub fn add_configured_secrets<'s>(secrets: impl IntoIterator<Item = &'s str>) {
    let mut configured = CONFIGURED.write();
    let mut all = configured.as_ref().map(|known| known.secrets.clone()).unwrap_or_default();
    all.extend(secrets.into_iter().map(str::trim).filter(|secret| secret.len() >= MIN_LENGTH).map(str::to_owned));
    all.sort();
    all.dedup();
    // One that begins like another is replaced whole.
    let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&all);
    if let Ok(automaton) = automaton
        && !all.is_empty()
    {
        *configured = Some(Arc::new(Configured { secrets: all, automaton }));
    }
}

/// Where they are in a text, in order and apart from each other.
pub(super) fn find_configured(text: &str) -> Vec<Range<usize>> {
    let Some(configured) = CONFIGURED.read().clone() else { return Vec::new() };
    configured.automaton.find_iter(text).map(|found| found.range()).collect()
}
