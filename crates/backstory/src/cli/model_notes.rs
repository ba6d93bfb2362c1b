//! Design notes that a language model wrote, as several commands show them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::arguments::lower_case;
use crate::{
    failure::Result,
    output::{FAINT, STRONG, Terminal, day, plain},
};

/// The notes of an issue or merge request.
#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct ModelNotes {
    pub(super) about: String,
    pub(super) notes: Vec<ModelNote>,
    pub(super) model: Model,
    pub(super) written_at: Timestamp,
    pub(super) outdated: bool,
}

#[derive(Deserialize, Serialize)]
pub(super) struct ModelNote {
    #[serde(deserialize_with = "lower_case")]
    pub(super) aspect: String,
    pub(super) text: String,
    pub(super) confidence: f64,
    pub(super) evidence: Vec<String>,
}

/// Who wrote something, and by which prompt.
#[derive(Deserialize, Serialize)]
pub(super) struct Model {
    pub(super) name: String,
    pub(super) prompt: u32,
}

impl ModelNotes {
    /// Prints them with who wrote them, and after each what it stands on.
    pub(super) fn print(&self, terminal: &Terminal) -> Result<()> {
        let (about, name, when) = (plain(&self.about), plain(&self.model.name), day(self.written_at));
        let old = if self.outdated { "; the discussion has changed since" } else { "" };
        terminal.line(format_args!(
            "\n{STRONG}Notes on {about} by a language model{STRONG:#} {FAINT}({name}, {when}{old}){FAINT:#}"
        ))?;
        for note in &self.notes {
            terminal.line(format_args!("  {}: {}", capital(&note.aspect), plain(&note.text)))?;
            terminal.line(format_args!("      {FAINT}{}{FAINT:#}", plain(&note.evidence.join(", "))))?;
        }
        Ok(())
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
