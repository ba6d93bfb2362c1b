//! From lines to the commits that wrote them.

use std::collections::BTreeMap;

use backstory_model::{
    commit::{RepoPath, Sha, Signature},
    lineage::BlameOrigin,
    repository::CommitRecord,
};
use jiff::Timestamp;

use super::{
    LineOrigin, MAX_LINES, Trace, TraceRequest,
    earlier::earlier_versions,
    origins::{OriginCommits, follow_origin_commit},
    requests::{MAX_TRACED, follow_merge_requests},
    target::{Revision, find_symbol, origins_at},
    text::redacted_lines,
    words::CodeWords,
};
use crate::{
    clones::clean_text,
    error::{Error, Result},
    records::commit_record,
    resources::Resources,
};

/// Lines that are shown.
const SHOWN: usize = 12;

pub(super) fn trace_lines(
    resources: &Resources,
    request: &TraceRequest,
    place: &Revision,
    path: &str,
    lines: Option<(u32, u32)>,
) -> Result<Trace> {
    if let Some((first, last)) = lines {
        check_range(first, last)?;
    }
    let (first, last) = lines.unwrap_or((1, MAX_LINES));
    let wanted = (first, last.min(first.saturating_add(MAX_LINES)));
    let (count, origins) = origins_at(resources, place, path, wanted)?;
    let range = checked(path, lines, count)?;
    let mut trace = begin_trace(resources, place, path, range);
    // A whole file is asked about by its path alone.
    if lines.is_none() {
        (trace.line, trace.end_line, trace.text) = (None, None, None);
    }
    follow_lines(resources, request, place, origins, &mut trace)?;
    Ok(trace)
}

pub(super) fn trace_symbol(
    resources: &Resources,
    request: &TraceRequest,
    place: &Revision,
    path: &str,
    name: &str,
) -> Result<Trace> {
    let symbol = find_symbol(resources, place, path, name)?;
    let lines = (symbol.lines.first, symbol.lines.last);
    let (count, origins) = origins_at(resources, place, path, lines)?;
    let range = checked(path, Some(lines), count)?;
    let mut trace = begin_trace(resources, place, path, range);
    trace.symbol = Some(symbol.qualified_name);
    follow_lines(resources, request, place, origins, &mut trace)?;
    Ok(trace)
}

fn begin_trace(resources: &Resources, place: &Revision, path: &str, (first, last): (u32, u32)) -> Trace {
    let text = place.objects.entry(place.commit, &RepoPath::from_escaped(path)).and_then(|entry| {
        let until = (last as usize).min(first as usize + SHOWN - 1);
        redacted_lines(resources, place, entry.id, first as usize..until + 1)
    });
    Trace {
        project: place.project().to_owned(),
        path: Some(path.to_owned()),
        line: Some(first),
        end_line: Some(last),
        rev: Some(place.commit),
        indexed: place.indexed(),
        text: text.ok(),
        ..Trace::default()
    }
}

/// What git says of a commit that is not kept, without secrets and with aliases for people who were forgotten.
pub(crate) fn signature_and_subject(
    resources: &Resources,
    place: &Revision,
    commit: Sha,
) -> Result<(Signature, String)> {
    let Ok((mut author, title)) = place.objects.author_and_subject(commit) else {
        let nobody =
            Signature { name: String::new(), email: String::new(), at: Timestamp::default(), offset_minutes: 0 };
        return Ok((nobody, String::new()));
    };
    let aliases = resources.ledger().aliases();
    author.name = match aliases.for_signature(&author.name, &author.email) {
        Some(alias) => alias.to_owned(),
        None => clean_text(resources, author.name.as_bytes()),
    };
    let title = clean_text(resources, title.as_bytes());
    Ok((author, aliases.replace_message(&title).unwrap_or(title)))
}

/// From the lines to the commits that wrote most of them, and on from there.
fn follow_lines(
    resources: &Resources,
    request: &TraceRequest,
    place: &Revision,
    origins: Vec<BlameOrigin>,
    trace: &mut Trace,
) -> Result<()> {
    let mut records: BTreeMap<Sha, Option<CommitRecord>> = BTreeMap::new();
    let mut shares: BTreeMap<Sha, u32> = BTreeMap::new();
    for origin in origins {
        let commit = origin.source.commit;
        if let std::collections::btree_map::Entry::Vacant(slot) = records.entry(commit) {
            slot.insert(commit_record(resources, place.project(), &commit.to_string())?);
        }
        *shares.entry(commit).or_default() += origin.lines;
        let record = records.get(&commit).and_then(Option::as_ref);
        let (author, title) = match record {
            Some(record) => (record.commit.author.clone(), record.commit.title().to_owned()),
            None => signature_and_subject(resources, place, commit)?,
        };
        trace.origins.push(LineOrigin {
            start: origin.start,
            lines: origin.lines,
            commit,
            path: origin.source.path.to_string(),
            line: origin.line,
            author: author.name,
            date: author.at,
            title,
            seen_through: origin.seen.each(),
        });
    }
    let mut commits: Vec<(u32, Sha)> = shares.into_iter().map(|(commit, lines)| (lines, commit)).collect();
    // Most lines first, then the newest.
    let date = |commit: &Sha| records.get(commit).and_then(|record| Some(record.as_ref()?.commit.author.at));
    commits.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| date(&b.1).cmp(&date(&a.1))).then(a.1.cmp(&b.1)));
    let of = |commit: Sha| trace.origins.iter().find(|origin| origin.commit == commit).cloned();
    trace.origin = commits.first().and_then(|(_, commit)| of(*commit));
    let words = CodeWords::of(trace.text.as_deref().unwrap_or_default(), trace.symbol.as_deref());
    let written = OriginCommits { project: place.project(), commits, records };
    if written.commits.len() <= MAX_TRACED {
        for (_, commit) in &written.commits {
            follow_origin_commit(resources, &written, *commit, &[], &words, trace)?;
        }
    } else {
        follow_merge_requests(resources, &written, &words, trace)?;
    }
    if let Some(origin) = trace.origin.clone() {
        trace.earlier = earlier_versions(resources, place, &origin, request.earlier)?;
    }
    Ok(())
}

fn checked(path: &str, lines: Option<(u32, u32)>, count: u32) -> Result<(u32, u32)> {
    if count == 0 {
        return Err(Error::invalid(format!("{path} is empty; it has no lines to explain")));
    }
    let Some((first, last)) = lines else { return Ok((1, count.min(MAX_LINES))) };
    check_range(first, last)?;
    check_line_exists(path, first, count)?;
    check_line_exists(path, last, count)?;
    if last - first >= MAX_LINES {
        return Err(
            Error::invalid(format!("{first}-{last} are more than {MAX_LINES} lines")).with_hint("ask about fewer")
        );
    }
    Ok((first, last))
}

/// Refuses a line beyond the end of a file.
pub(crate) fn check_line_exists(path: &str, line: u32, count: u32) -> Result<()> {
    if line <= count {
        return Ok(());
    }
    let lines = if count == 1 { "line" } else { "lines" };
    Err(Error::invalid(format!("{path} has {count} {lines}; there is no line {line}")))
}

/// Refuses lines that cannot be.
pub(crate) fn check_range(first: u32, last: u32) -> Result<()> {
    if first == 0 {
        return Err(Error::invalid("there is no line 0").with_hint("lines count from 1"));
    }
    if last < first {
        return Err(Error::invalid(format!("the range {first}-{last} ends before it begins"))
            .with_hint(format!("write {last}-{first}")));
    }
    Ok(())
}
