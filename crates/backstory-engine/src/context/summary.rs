//! The summary of a context pack in a few sentences: templates around the words of the sources. Summaries by a language
//! model are in [`summary`](crate::summary).

use backstory_model::{
    answer::REFUSAL_SENTENCE,
    edge::Edge,
    id::NodeKind,
    pack::{ContextPack, Mode},
    place::format_place,
    text::capital,
    time::utc_date,
};

use super::{
    evidence::{Evidence, short_node},
    quoted,
};
use crate::trace::{LineOrigin, Trace};

/// What a summary says if nothing answers.
const NOTHING_INDEXED: &str = "Nothing has been indexed yet.";
const NOTHING_GOVERNS: &str =
    "The index has no specification, contract or recorded decision that answers the question.";
const NOTHING_ANSWERS: &str = "Nothing in the index answers the question.";
/// Words of a reason.
const REASON: usize = 60;
/// Passages in which the words of the question are looked for.
const LOOKED: usize = 20;

/// What was found, where it stands, and the best reason that was given.
pub(super) fn summary(mode: Mode, evidence: &Evidence, pack: &ContextPack) -> String {
    let mut sentences = Vec::new();
    if evidence.missing.is_some() {
        // What follows is near the question, and no answer.
        return format!("{REFUSAL_SENTENCE} {}", closest(mode, evidence, pack));
    }
    match &evidence.trace {
        Some(trace) => sentences.push(traced(trace, evidence.lines_left_out)),
        None => sentences.push(closest(mode, evidence, pack)),
    }
    sentences.extend(reason(evidence, pack));
    if evidence.trace.is_none()
        && let Some(code) = pack.code_context.first()
    {
        let name = code.entity.as_ref().map(|entity| format!("{entity}, ")).unwrap_or_default();
        let written = first_sentence(&code.explanation);
        sentences.push(format!("Code: {name}{}. {written}", format_place(&code.path, Some(code.lines))));
    }
    sentences.join(" ")
}

/// Whether a printed pack says that nothing answers.
pub(super) fn finds_nothing(pack: &str) -> bool {
    [REFUSAL_SENTENCE, NOTHING_INDEXED, NOTHING_GOVERNS, NOTHING_ANSWERS].iter().any(|said| pack.contains(said))
}

/// Tells what could not be found.
pub(super) fn missing(evidence: &Evidence, pack: &mut ContextPack) {
    if let Some(trace) = &evidence.trace {
        pack.missing.extend(trace.missing.iter().map(|sentence| capital(sentence)));
    }
    pack.missing.extend(evidence.missing.iter().flatten().map(|sentence| capital(sentence)));
    pack.missing.extend(evidence.warnings.iter().map(|warning| capital(warning)));
    let texts = evidence.found.iter().take(LOOKED).map(|found| found.document.text.as_str());
    let absent = evidence.asked.in_none_of(texts);
    if !evidence.found.is_empty() && !absent.is_empty() && evidence.trace.is_none() {
        pack.missing.push(format!("Nothing that was found has the words: {}", absent.join(", ")));
    }
}

/// Where the code, or the item that was asked about, comes from.
fn traced(trace: &Trace, lines_left_out: u32) -> String {
    let mut text = match (&trace.path, &trace.origin) {
        (Some(path), Some(origin)) if lines_left_out > 0 => written_in_time(trace, path, origin),
        (Some(path), Some(origin)) => written(trace, path, origin),
        (Some(path), None) => format!("No line of {} was written in the time that was asked for.", what(trace, path)),
        _ => trace.chain.first().map_or_else(String::new, |step| {
            let kind = step.node.kind.as_str().replace('_', " ");
            format!("{} is the {kind} “{}”.", short_node(&step.node.id), step.node.title)
        }),
    };
    let of_kind = |kind: NodeKind| {
        let steps = trace.chain.iter().skip(usize::from(trace.path.is_none()));
        let found: Vec<String> = steps
            .filter(|step| step.node.kind == kind && step.edge != Edge::MergedBy)
            .take(2)
            .map(|step| {
                let stated = if step.confidence.is_some() { "probably, by inference, " } else { "" };
                format!("{stated}{} “{}”", short_node(&step.node.id), step.node.title)
            })
            .collect();
        found.join(" and ")
    };
    for (kind, words) in [
        (NodeKind::Commit, "It was done in"),
        (NodeKind::MergeRequest, "It came with the merge request"),
        (NodeKind::Issue, "Behind it is the issue"),
    ] {
        let found = of_kind(kind);
        if !found.is_empty() && (kind != NodeKind::Commit || trace.path.is_none()) {
            text.push_str(&format!(" {words} {found}."));
        }
    }
    if let Some(oldest) = trace.earlier.last() {
        let (count, day) = (trace.earlier.len(), utc_date(oldest.date));
        text.push_str(&match count {
            1 => format!(" It replaced an earlier version of {day}."),
            many => format!(" It replaced {many} earlier versions, the oldest of {day}."),
        });
    }
    text
}

/// The code that was asked about.
fn what(trace: &Trace, path: &str) -> String {
    match (&trace.symbol, trace.line, trace.end_line) {
        (Some(symbol), ..) => format!("{symbol} in {path}"),
        (None, Some(first), last) => format_place(path, Some((first, last.unwrap_or(first)))),
        _ => path.to_owned(),
    }
}

/// Who wrote those of the lines that were written in the time that was asked for.
fn written_in_time(trace: &Trace, path: &str, origin: &LineOrigin) -> String {
    let lines = match trace.origins.iter().map(|origin| origin.lines).sum::<u32>() {
        1 => "1 line".to_owned(),
        many => format!("{many} lines"),
    };
    let (commit, author) = (&origin.commit.to_string()[..12], &origin.author);
    let (what, title, day) = (what(trace, path), &origin.title, utc_date(origin.date));
    format!(
        "{lines} of {what} were written in the time that was asked for, most of them by {author} in {commit} “{title}” \
         ({day})."
    )
}

fn written(trace: &Trace, path: &str, origin: &LineOrigin) -> String {
    let what = what(trace, path);
    let mut commits: Vec<_> = trace.origins.iter().map(|origin| origin.commit).collect();
    commits.sort_unstable();
    commits.dedup();
    let (commit, author) = (&origin.commit.to_string()[..12], &origin.author);
    let (title, day) = (&origin.title, utc_date(origin.date));
    match commits.len() {
        0 | 1 => format!("{what} was written by {author} in {commit} “{title}” ({day})."),
        many => {
            format!("{what} was written in {many} commits, most of it by {author} in {commit} “{title}” ({day}).")
        }
    }
}

/// The item that is nearest to the question.
fn closest(mode: Mode, evidence: &Evidence, pack: &ContextPack) -> String {
    let Some(item) = pack.key_items.first() else {
        return match pack.retrieved.first() {
            Some(chunk) => {
                let kind = chunk.document_type.as_str().replace('_', " ");
                format!("Closest to the question is the {kind} {} “{}”.", chunk.document, chunk.title)
            }
            None if evidence.coverage.documents == 0 => NOTHING_INDEXED.to_owned(),
            None if mode == Mode::GoverningDocsOnly => NOTHING_GOVERNS.to_owned(),
            None => NOTHING_ANSWERS.to_owned(),
        };
    };
    let kind = item.kind.replace('_', " ");
    let state = item.state.as_ref().map(|state| format!(", {state}")).unwrap_or_default();
    let author = item.author.as_ref().map(|author| format!(" by {author}")).unwrap_or_default();
    let (reference, title, date) = (&item.reference, &item.title, &item.date);
    let links = if item.links.is_empty() { String::new() } else { format!(", {}", item.links.join(", ")) };
    format!("Closest to the question is the {kind} {reference} “{title}”{author} ({date}{state}){links}.")
}

/// The best reason that was given in what answers best, else the words of that.
fn reason(evidence: &Evidence, pack: &ContextPack) -> Option<String> {
    let first = pack.key_items.first();
    // Of a trace every step leads to the reason; of a search only what was found first surely does.
    let leads_there = |reference: &str| match &evidence.trace {
        Some(trace) => trace.chain.iter().any(|step| is_part(reference, &short_node(&step.node.id))),
        None => first.is_some_and(|item| is_part(reference, &item.reference)),
    };
    let given = pack.design_notes.iter().filter(|note| note.written_by.is_none());
    if let Some(note) = { given }.find(|note| leads_there(&note.source)) {
        let author = note.author.as_ref().map_or("Somebody", String::as_str);
        return Some(format!("{author} gave as a reason: “{}” ({}).", quoted(&note.note, REASON), note.source));
    }
    let mut told = pack.key_items.iter().filter(|item| leads_there(&item.reference));
    let item = told.find(|item| !item.excerpt.is_empty())?;
    let what = if first.is_some_and(|first| first.reference == item.reference) { "It" } else { &item.reference };
    Some(format!("{what} says: “{}”", quoted(&item.excerpt, REASON)))
}

/// Whether a reference is that of an item or of a part of it: `acme/shop!7#note_1` of `acme/shop!7`, `acme/shop!70` not.
fn is_part(reference: &str, item: &str) -> bool {
    reference.strip_prefix(item).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |at| &text[..=at])
}
