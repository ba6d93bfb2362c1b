//! Prints lines of files and what commits changed.

use std::fmt::Write as _;

use backstory_engine::{
    files::{CommitDiff, FileHunks, FileText, HunksLeftOut, TextLeftOut},
    model::{
        commit::{Hunk, LineKind},
        place::format_place,
    },
};

use super::{Entry, Page, name};

/// Adds lines of a file to a page.
pub(in crate::mcp) fn print_file(page: &mut Page, file: &FileText) {
    let place = name(&format!("{}:{}", file.project, file.path));
    let Some(text) = &file.text else {
        let why = match file.left_out {
            Some(TextLeftOut::Binary) => "it is not text",
            Some(TextLeftOut::TooLarge) => "it has more than 4 MiB",
            Some(TextLeftOut::SymbolicLink) => "it is a symbolic link",
            None => "its text is left out",
        };
        return page.push(Entry::plain(format!("{place} cannot be shown: {why}")));
    };
    let hash = file.text_hash.as_deref().and_then(|hash| hash.get(..12)).unwrap_or_default();
    let head = format!(
        "{} of {} lines at {} · sha256 of the file {hash}",
        format_place(&place, file.lines),
        file.line_count.unwrap_or_default(),
        file.rev.short(),
    );
    let file_name = file.path.rsplit('/').next().unwrap_or_default();
    let language = file_name.rsplit_once('.').map_or("text", |(_, extension)| extension);
    page.push(Entry::showing(head, language, text));
}

/// Adds what a commit changed to a page, a file each.
pub(in crate::mcp) fn print_diff(page: &mut Page, diff: &CommitDiff) {
    for file in &diff.files {
        page.push(print_hunks(file));
    }
    if diff.left_out > 0 {
        page.push(Entry::plain(format!("{} more files are not compared", diff.left_out)));
    }
}

fn print_hunks(file: &FileHunks) -> Entry {
    let old = file.old_path.as_ref().map(|path| format!(" (was {})", name(path))).unwrap_or_default();
    let note = match file.left_out {
        None => "",
        Some(HunksLeftOut::Binary) => " (not text)",
        Some(HunksLeftOut::TooLarge) => " (too large to be compared)",
        Some(HunksLeftOut::TooManyLines) => " (not all hunks are shown)",
        Some(HunksLeftOut::Submodule) => " (a submodule)",
        Some(HunksLeftOut::NotInClone) => " (not in the clone)",
    };
    let mut text = String::new();
    for hunk in &file.hunks {
        let Hunk { old_start, old_count, new_start, new_count, lines } = hunk;
        let _ = writeln!(text, "@@ -{old_start},{old_count} +{new_start},{new_count} @@");
        for line in lines {
            let sign = match line.kind {
                LineKind::Context => ' ',
                LineKind::Added => '+',
                LineKind::Removed => '-',
            };
            let _ = writeln!(text, "{sign}{}", line.text);
        }
    }
    Entry::showing(format!("{}{old}{note}", name(&file.path)), "diff", &text)
}
