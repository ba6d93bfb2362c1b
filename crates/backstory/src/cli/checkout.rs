//! The checkout that the user stands in: finds lines of its files at the indexed commit.

use std::path::Path;

use backstory_engine::{
    map_lines::{MapLinesRequest, MappedLines},
    sources::git::{checkout::read_file, naming::discover_repository},
    trace::Trace,
};

use super::place::{CodePlace, Place};
use crate::{client::Client, failure::Result, output::Terminal};

/// Where the lines of a place are at the indexed commit; `None` if it names no lines of a file in a working tree.
///
/// # Errors
/// The lines are not there, or nothing answers.
pub(super) async fn map_place(client: &Client, place: &Place) -> Result<Option<MappedLines>> {
    let Place::Code(CodePlace { project, path, lines: Some(lines), file: Some(file), .. }) = place else {
        return Ok(None);
    };
    let root = file.parent().and_then(discover_repository);
    let Some(root) = root else { return Ok(None) };
    let (project, path, lines) = (project.clone(), path.clone(), *lines);
    // Git may look through the whole working tree.
    let request = tokio::task::spawn_blocking(move || request(&root, project, &path, lines)).await.ok().flatten();
    let Some(request) = request else { return Ok(None) };
    client.answer(request).await.map(Some)
}

/// What is asked of lines of a working tree; `None` if there is no such text in it.
pub(super) fn request(root: &Path, project: Option<String>, path: &str, lines: (u32, u32)) -> Option<MapLinesRequest> {
    let file = read_file(root, path)?;
    Some(MapLinesRequest {
        project,
        path: path.to_owned(),
        lines,
        text: file.text,
        committed: file.committed,
        commits: file.commits,
        earlier_paths: file.earlier_paths,
    })
}

/// Says how lines were found.
pub(super) fn note(terminal: &Terminal, mapped: &MappedLines) {
    for note in &mapped.notes {
        terminal.note(note);
    }
}

/// The place with its lines as they are at the indexed commit, and the revision at which they are these.
pub(super) fn at_index(place: Place, mapped: Option<&MappedLines>) -> (Place, Option<String>) {
    match (place, mapped) {
        (Place::Code(code), Some(mapped)) => {
            let path = mapped.path.clone().unwrap_or(code.path);
            (Place::Code(CodePlace { lines: mapped.lines.or(code.lines), path, ..code }), mapped.rev.clone())
        }
        (place, _) => (place, None),
    }
}

/// The trace of lines that are all new: nothing but why it is empty.
pub(super) fn trace_of_new(place: &Place, mapped: &MappedLines) -> Trace {
    let Place::Code(code) = place else { return Trace::default() };
    Trace {
        project: code.project.clone().unwrap_or_default(),
        path: Some(code.path.clone()),
        line: code.lines.map(|(first, _)| first),
        end_line: code.lines.map(|(_, last)| last),
        missing: mapped.notes.clone(),
        ..Trace::default()
    }
}
