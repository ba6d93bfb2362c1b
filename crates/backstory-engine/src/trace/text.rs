//! Lines of files as they are shown.

use std::ops::Range;

use backstory_model::commit::Sha;
use backstory_sources::git::objects::ObjectError;

use super::target::Revision;
use crate::{clones::clean_text, resources::Resources};

/// Lines before and after those that are shown in which a secret is looked for: no key in use has more.
const AROUND: usize = 150;

/// Largest file whose lines are shown, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// Lines of a file as they are shown: without secrets, also those of which they are a part, their ends as everywhere.
pub(crate) fn redacted_lines(
    resources: &Resources,
    place: &Revision,
    blob: Sha,
    wanted: Range<usize>,
) -> std::result::Result<String, ObjectError> {
    let around = wanted.start.saturating_sub(AROUND).max(1)..wanted.end + AROUND;
    let lines = place.objects.read_lines(blob, around.clone(), MAX_FILE)?;
    let clean = clean_text(resources, lines.text.as_bytes());
    let own = clean.lines().skip(wanted.start.max(1) - around.start).take(wanted.len());
    Ok(own.collect::<Vec<_>>().join("\n").trim_end_matches('\n').to_owned())
}
