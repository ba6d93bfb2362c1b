//! The design notes of a context pack: reasons in the words of those who gave them, then those of a language model.

use backstory_model::{
    filter::DocumentKind,
    id::NodeId,
    message::{self, DesignNote as Reason},
    pack::{DesignNote, PackSources},
};

use super::{
    evidence::{Evidence, Found, short_reference},
    items::{Records, is_covered_by_merge_request, person, sources_of},
};
use crate::{error::Result, generated::results::generated_notes, resources::Resources};

/// Documents in which reasons are looked for.
const MAX_DOCUMENTS: usize = 10;
/// Longest text in which reasons are looked for, in bytes.
const MAX_TEXT: usize = 16 << 10;
/// Reasons that are told.
const MAX_NOTES: usize = 20;
/// What a word of the question is worth.
const WORD: f32 = 0.04;
/// Of the documents found first, so many are told the reasons of that share no word with the question.
const TRUSTED: usize = 2;

/// The reasons, first those that share most words with the question.
pub(super) fn design_notes(evidence: &Evidence, records: &Records) -> Vec<DesignNote> {
    let mut notes: Vec<(usize, f32, DesignNote)> = Vec::new();
    let told = |found: &&Found| !found.is_of_file() && !is_covered_by_merge_request(evidence, found, records);
    let documents = evidence.found.iter().filter(told).take(MAX_DOCUMENTS);
    for (at, found) in documents.enumerate() {
        for (author, reason) in reasons_of(found, records) {
            let shared = evidence.terms.count_matches(&reason.text);
            if shared == 0 && at >= TRUSTED {
                continue;
            }
            let author = author.or_else(|| found.document.facts.author.as_deref().map(person));
            let mut sources = sources_of(found);
            sources.authors = author.iter().cloned().collect();
            let note = DesignNote {
                source: short_reference(&found.document.id),
                note: reason.text.trim().to_owned(),
                relevance: relevance(&reason, shared),
                author,
                written_by: None,
                confidential: found.document.facts.confidential,
                sources,
            };
            if !notes.iter().any(|(.., known)| known.note == note.note) {
                notes.push((shared, found.relevance, note));
            }
        }
    }
    // How well the whole answers weighs most.
    let weight = |shared: usize, relevance: f32| shared.min(8) as f32 * WORD + relevance;
    notes.sort_by(|a, b| weight(b.0, b.1).total_cmp(&weight(a.0, a.1)).then_with(|| a.2.note.cmp(&b.2.note)));
    notes.into_iter().map(|(.., note)| note).take(MAX_NOTES).collect()
}

/// The notes that a language model wrote of the issues and merge requests that were found, the best first. Those of
/// an older state are left out: a pack has only what can be proved.
pub(super) fn model_notes(resources: &Resources, evidence: &Evidence) -> Result<Vec<DesignNote>> {
    let mut threads: Vec<&Found> = Vec::new();
    for found in evidence.found.iter().filter(|found| !found.is_of_file()).take(MAX_DOCUMENTS) {
        if !threads.iter().any(|known| known.thread() == found.thread()) {
            threads.push(found);
        }
    }
    let public = resources.with_visibility(resources.visibility().clone().without_confidential());
    let mut notes = Vec::new();
    for (at, found) in threads.into_iter().enumerate() {
        let Ok(NodeId::Thread(id)) = found.thread().parse() else { continue };
        let Some(written) = generated_notes(resources, &id)?.filter(|written| !written.outdated) else { continue };
        for note in written.notes {
            let shared = evidence.terms.count_matches(&note.text);
            if shared == 0 && at >= TRUSTED {
                continue;
            }
            notes.push(DesignNote {
                source: note.evidence.first().cloned().unwrap_or_else(|| id.to_string()),
                relevance: format!("a {} that a language model found there", note.aspect.as_str()),
                note: note.text,
                author: None,
                written_by: Some(written.model.name.clone()),
                confidential: public.ledger().is_hidden(&id)?,
                sources: PackSources { items: vec![id.to_string()], ..PackSources::default() },
            });
        }
    }
    notes.truncate(MAX_NOTES);
    Ok(notes)
}

/// The paragraphs of a document that give reasons, each with who wrote it if that stands in the text.
fn reasons_of(found: &Found, records: &Records) -> Vec<(Option<String>, Reason)> {
    if let Some(record) = records.commits.get(&found.document.id) {
        let author = Some(record.commit.author.name.clone());
        return message::design_notes(&record.commit.message).into_iter().map(|note| (author.clone(), note)).collect();
    }
    let body = found.body();
    let text = &body[..body.floor_char_boundary(MAX_TEXT)];
    if found.document.facts.kind != DocumentKind::Discussion {
        return message::design_notes(&format!("Title\n\n{text}")).into_iter().map(|note| (None, note)).collect();
    }
    let mut reasons = Vec::new();
    for (author, note) in notes_of(text) {
        let found = message::design_notes(&format!("Title\n\n{note}"));
        reasons.extend(found.into_iter().map(|reason| (Some(author.to_owned()), reason)));
    }
    reasons
}

/// The notes of a discussion's text, each with its author: `@alice (2024-03-15):` stands before each.
fn notes_of(text: &str) -> Vec<(&str, String)> {
    let mut notes: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        match attribution(line) {
            Some(author) => notes.push((author, String::new())),
            None => {
                if let Some((_, body)) = notes.last_mut() {
                    body.push_str(line);
                    body.push('\n');
                }
            }
        }
    }
    notes
}

fn attribution(line: &str) -> Option<&str> {
    let rest = line.strip_suffix("):")?;
    let (author, date) = rest.rsplit_once(" (")?;
    let is_date = date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    (author.starts_with('@') && !author.contains(' ') && is_date).then_some(author)
}

fn relevance(reason: &Reason, shared: usize) -> String {
    let cue = reason.cues.first().copied().unwrap_or("reason");
    match shared {
        0 => format!("gives a reason ({cue})"),
        1 => format!("gives a reason ({cue}) and has 1 word of the question"),
        many => format!("gives a reason ({cue}) and has {many} words of the question"),
    }
}
