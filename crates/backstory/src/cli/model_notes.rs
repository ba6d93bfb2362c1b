//! Prints design notes that a language model wrote, for several commands.

use backstory_engine::{generated::ThreadNotes, model::text::capital};

use crate::{
    failure::Result,
    output::{FAINT, STRONG, Terminal, day, escape_terminal},
};

/// Prints the notes of an issue or merge request, with who wrote them, and after each what it rests on.
pub(super) fn print(terminal: &Terminal, of: &ThreadNotes) -> Result<()> {
    let (about, name, when) = (&of.about, escape_terminal(&of.model.name), day(of.written_at));
    let old = if of.outdated { "; the discussion has changed since" } else { "" };
    terminal.line(format_args!(
        "\n{STRONG}Notes on {about} by a language model{STRONG:#} {FAINT}({name}, {when}{old}){FAINT:#}"
    ))?;
    for note in &of.notes {
        terminal.line(format_args!("  {}: {}", capital(note.aspect.as_str()), escape_terminal(&note.text)))?;
        terminal.line(format_args!("      {FAINT}{}{FAINT:#}", escape_terminal(&note.evidence.join(", "))))?;
    }
    Ok(())
}
