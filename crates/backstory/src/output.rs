//! Output for people and programs: lines, tables, JSON and progress. Results go to standard output; notes, errors and
//! progress to standard error.

use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write},
    sync::LazyLock,
    time::{Duration, Instant},
};

use anstyle::{AnsiColor, Style};
use backstory_engine::{
    guard,
    model::text::{escape_control_characters, is_control_character, one_line},
    sources::redact::redact,
};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use console::Term;
use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

/// What stands out.
pub(crate) const STRONG: Style = Style::new().bold();
/// What may be overlooked.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// What is well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What deserves attention.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
/// What is wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Longest title in a table on a terminal; a file gets all of it.
const TITLE: usize = 72;
/// Columns whose cells may take several lines on a narrow terminal.
const WRAPPED: [&str; 5] = ["title", "address", "author", "branch", "as"];
/// Narrowest and widest line of a quotation on a terminal, in characters.
const QUOTE_WIDTH: (usize, usize) = (30, 120);
/// Most bytes of a line of the log, or of several that are written at once; the rest is left out.
const MAX_WRITTEN: usize = 64 << 10;
/// Time between two lines of progress where there is no terminal to draw on.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Where a command writes to.
#[derive(Clone, Copy)]
pub(crate) struct Terminal {
    /// Whether a person sees standard output.
    interactive: bool,
}

impl Terminal {
    /// That of this process.
    pub(crate) fn new() -> Self {
        Self { interactive: io::stdout().is_terminal() }
    }

    /// Writes a line, or several, of the result.
    pub(crate) fn line(&self, text: impl Display) -> io::Result<()> {
        writeln!(anstream::stdout().lock(), "{text}")
    }

    /// Columns of the terminal; `None` where there is none.
    fn width(&self) -> Option<u16> {
        let size = if self.interactive { Term::stdout().size_checked() } else { None };
        size.map(|(_rows, columns)| columns)
    }

    /// Writes somebody's words in quotation marks, moved to the right; on a terminal in lines that fit.
    pub(crate) fn quote(&self, text: &str, by: usize) -> io::Result<()> {
        let (least, most) = QUOTE_WIDTH;
        let width = self.width().map(|width| usize::from(width).saturating_sub(by + 1).clamp(least, most));
        let mut quoted = format!("\"{}\"", escape_terminal(text));
        if let Some(width) = width {
            quoted = wrap(&quoted, width);
        }
        self.line(indented(&quoted, by))
    }

    /// Writes the result for programs.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        if !text.contains(is_control_character) {
            return self.line(text);
        }
        // JSON escapes some control characters by itself; all others stand in strings too.
        let mut shown = String::with_capacity(text.len() + 64);
        for c in text.chars() {
            if is_control_character(c) { shown.push_str(&format!("\\u{:04x}", u32::from(c))) } else { shown.push(c) }
        }
        self.line(shown)
    }

    /// Writes a result in a format of its own: as it is to a program, without what a terminal would act on to a person.
    pub(crate) fn data(&self, text: &str) -> io::Result<()> {
        if !self.interactive {
            let mut stdout = io::stdout().lock();
            stdout.write_all(text.as_bytes())?;
            return if text.ends_with('\n') { stdout.flush() } else { writeln!(stdout) };
        }
        text.lines().try_for_each(|line| self.line(escape_terminal(line)))
    }

    /// Writes a table: a line of headings and the rows. The columns that are named hold numbers.
    pub(crate) fn table(&self, headings: &[&str], numbers: &[&str], rows: Vec<Vec<String>>) -> io::Result<()> {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_header(headings.iter().map(|heading| heading.to_uppercase()));
        table.add_rows(
            rows.into_iter().map(|row| row.into_iter().map(|cell| escape_terminal(&cell)).collect::<Vec<_>>()),
        );
        for (column, heading) in table.column_iter_mut().zip(headings) {
            column.set_padding((0, 2));
            if numbers.contains(heading) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        if let Some(width) = self.width() {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
            for (column, _) in table.column_iter_mut().zip(headings).filter(|(_, name)| !WRAPPED.contains(*name)) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let mut out = anstream::stdout().lock();
        for (place, line) in table.lines().enumerate() {
            let line = line.trim_end();
            if place == 0 { writeln!(out, "{STRONG}{line}{STRONG:#}")? } else { writeln!(out, "{line}")? }
        }
        Ok(())
    }

    /// A title as it fits a table.
    pub(crate) fn title(&self, text: &str) -> String {
        escape_terminal(&one_line(text, if self.interactive { TITLE } else { usize::MAX }))
    }

    /// Prints what is worth knowing besides the result.
    pub(crate) fn note(&self, text: impl Display) {
        labeled("note", FAINT, text);
    }

    /// Prints what makes the result less than it should be.
    pub(crate) fn warning(&self, text: impl Display) {
        labeled("warning", WARNING, text);
    }

    /// Prints why there is no result.
    pub(crate) fn error(&self, text: impl Display) {
        labeled("error", BAD, text);
    }

    /// Prints what to do about an error.
    pub(crate) fn hint(&self, text: impl Display) {
        labeled("hint", STRONG, text);
    }
}

/// Writes a line to standard error, above the bars that are drawn there. There is nowhere to report a failure to.
fn aside(text: impl Display) {
    let _ = writeln!(Stderr, "{text}");
}

/// A message of a kind, which may quote anything.
fn labeled(what: &str, style: Style, text: impl Display) {
    aside(format_args!("{style}{what}:{style:#} {}", escape_control_characters(&text.to_string())));
}

/// The bars on the terminal; hidden where there is none.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Standard error, without spoiling the bars. Logs go there too.
pub(crate) struct Stderr;

impl Write for Stderr {
    /// Secrets are replaced in what is written at once, which is a line of a log, or several.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let shown = String::from_utf8_lossy(&text[..text.len().min(MAX_WRITTEN)]);
        let (clean, _) = redact(&shown);
        BARS.suspend(|| anstream::stderr().lock().write_all(clean.as_bytes())).map(|()| text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        anstream::stderr().flush()
    }

    fn write_fmt(&mut self, arguments: std::fmt::Arguments<'_>) -> io::Result<()> {
        // One write, so that no other line gets between its parts.
        self.write_all(arguments.to_string().as_bytes())
    }
}

/// How far long work is, and how fast it goes.
pub(crate) struct Progress {
    shown: Shown,
    pace: Pace,
}

/// How progress is shown: a bar on a terminal, now and then a line elsewhere.
enum Shown {
    /// On a terminal.
    Bar(ProgressBar),
    /// In a file or a pipe.
    Lines {
        /// The phase that was told last.
        told: String,
        /// How much had been done then.
        done: u64,
        /// When.
        at: Instant,
        /// Whether the last step had a note.
        noted: bool,
    },
}

/// How fast a phase goes.
struct Pace {
    phase: String,
    /// How much had been done when it began.
    start: u64,
    /// How long it has been at work, without the time in which it waited.
    worked: Duration,
    /// When the last step was shown, and whether it waited for something then.
    last: (Instant, bool),
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { phase: String::new(), start: 0, worked: Duration::ZERO, last: (now, false) }
    }

    /// Takes in a step, and estimates how long the rest of its phase takes; `None` if that cannot be told.
    fn estimate(&mut self, step: &Step<'_>, now: Instant) -> Option<Duration> {
        if self.phase != step.phase {
            *self = Self { phase: step.phase.to_owned(), start: step.done, ..Self::new(now) };
        }
        let (last, waited) = self.last;
        if !waited {
            self.worked += now.saturating_duration_since(last);
        }
        // What is worth knowing about a step is what it waits for.
        self.last = (now, step.note.is_some());
        let advanced = step.done.saturating_sub(self.start);
        let left = step.total?.saturating_sub(step.done);
        let seconds = self.worked.as_secs_f64() / advanced as f64 * left as f64;
        (advanced > 0 && left > 0).then(|| Duration::from_secs_f64(seconds))
    }
}

/// One step of long work.
pub(crate) struct Step<'a> {
    /// What is being done.
    pub(crate) phase: &'a str,
    /// How many of them are done.
    pub(crate) done: u64,
    /// How many there are, if that is known.
    pub(crate) total: Option<u64>,
    /// What is worth knowing about it.
    pub(crate) note: Option<&'a str>,
}

impl Progress {
    /// Nothing is done yet.
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        let shown = if io::stderr().is_terminal() {
            // Nothing is drawn before the first step.
            Shown::Bar(ProgressBar::hidden())
        } else {
            Shown::Lines { told: String::new(), done: 0, at: now, noted: false }
        };
        Self { shown, pace: Pace::new(now) }
    }

    /// Shows how far it is now.
    pub(crate) fn show(&mut self, step: &Step<'_>) {
        let left = self.pace.estimate(step, Instant::now());
        match &mut self.shown {
            Shown::Bar(bar) => draw(bar, step, left),
            Shown::Lines { told, done, at, noted } => {
                let advanced = *done != step.done && at.elapsed() > LINE_INTERVAL;
                // The text of a note may count down; that there is one is news once.
                let news = *told != step.phase || advanced || (step.note.is_some() && !*noted);
                *noted = step.note.is_some();
                if news && !step.phase.is_empty() && step.total != Some(0) {
                    (*told, *done, *at) = (step.phase.to_owned(), step.done, Instant::now());
                    aside(line(step, left));
                }
            }
        }
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        if let Shown::Bar(bar) = &self.shown {
            remove(bar);
        }
    }
}

fn draw(bar: &mut ProgressBar, step: &Step<'_>, left: Option<Duration>) {
    let prefix = escape_terminal(step.phase);
    if bar.prefix() != prefix || bar.length() != step.total {
        // A new one, because what is changed one by one is also drawn one by one.
        remove(bar);
        let new = ProgressBar::with_draw_target(step.total, ProgressDrawTarget::stderr());
        *bar = BARS.add(new.with_style(style(step)).with_prefix(prefix));
    }
    let mut message = String::new();
    if step.total.is_none() && step.done > 0 {
        message.push_str(&format!("  {}", thousands(step.done)));
    }
    if let Some(left) = left {
        message.push_str(&format!("  ETA {:#}", HumanDuration(left)));
    }
    if let Some(note) = step.note {
        message.push_str(&format!("  ({})", escape_terminal(note)));
    }
    bar.set_position(step.done);
    bar.set_message(message);
    bar.tick();
}

fn style(step: &Step<'_>) -> ProgressStyle {
    let template = if step.total.is_some() { "{prefix}  {bar:30} {pos}/{len}{msg}" } else { "{spinner} {prefix}{msg}" };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("━╸ ")
}

fn remove(bar: &ProgressBar) {
    bar.finish_and_clear();
    BARS.remove(bar);
}

fn line(step: &Step<'_>, left: Option<Duration>) -> String {
    let mut line = escape_terminal(step.phase);
    if let Some(total) = step.total {
        line.push_str(&format!(": {}/{}", thousands(step.done), thousands(total)));
        if let Some(left) = left {
            line.push_str(&format!(", about {} left", duration(left)));
        }
    } else if step.done > 0 {
        line.push_str(&format!(": {}", thousands(step.done)));
    }
    if let Some(note) = step.note {
        line.push_str(&format!(" ({})", escape_terminal(note)));
    }
    line
}

/// `1,234`
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 issue`, `2 issues`
pub(crate) fn pluralize(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

/// `0.4 s`, `42 s`, `3 min 20 s`, `2 h 5 min`
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `2024-03-15 10:00`, in UTC.
pub(crate) fn minute(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M").to_string()
}

/// `2024-03-15`, in UTC.
pub(crate) fn day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string()
}

/// A text of somebody else, in which what would command the terminal is shown instead.
pub(crate) fn escape_terminal(text: &str) -> String {
    escape_control_characters(text).into_owned()
}

/// Text whose lines have at most so many characters, broken between words; a longer word stays whole.
fn wrap(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut current = String::new();
        let mut length = 0;
        for word in line.split(' ') {
            let letters = word.chars().count();
            if length > 0 && length + 1 + letters > width {
                lines.push(std::mem::take(&mut current));
                length = 0;
            } else if length > 0 || !current.is_empty() {
                current.push(' ');
                length += 1;
            }
            current.push_str(word);
            length += letters;
        }
        lines.push(current);
    }
    lines.join("\n")
}

/// Text with every line moved to the right.
pub(crate) fn indented(text: &str, by: usize) -> String {
    let margin = " ".repeat(by);
    let lines = text.lines().map(|line| if line.is_empty() { String::new() } else { format!("{margin}{line}") });
    lines.collect::<Vec<_>>().join("\n")
}

/// A panic is a bug, unless a damaged store is the reason, and the person before the terminal cannot read a stack trace: they get one sentence.
pub(crate) fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        if guard::is_expected_panic(panic.location()) {
            tracing::debug!("a damaged store: {panic}");
            return;
        }
        let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
        let what = panic.payload_as_str().unwrap_or("it gave no reason").replace('\n', " ");
        Terminal::new().error(format_args!(
            "backstory ran into a bug{place} ({}); nothing that was stored is lost, please report it",
            escape_terminal(&what)
        ));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrap("one two three", 7), "one two\nthree");
        assert_eq!(wrap("a-word-that-is-long and\n\nmore", 8), "a-word-that-is-long\nand\n\nmore");
        assert_eq!(wrap("", 8), "");
    }

    #[test]
    fn time_in_which_work_waits_says_nothing_about_the_rest() {
        let begun = Instant::now();
        let mut pace = Pace::new(begun);
        let mut left = |seconds: u64, done: u64, note: Option<&str>| {
            let step = Step { phase: "acme/shop issues", done, total: Some(11), note };
            pace.estimate(&step, begun + Duration::from_secs(seconds)).map(|left| left.as_secs())
        };
        assert_eq!(left(0, 0, None), None, "nothing is done yet");
        assert_eq!(left(1, 0, Some("rate limited")), None);
        assert_eq!(left(31, 1, None), Some(10), "one took a second");
        assert_eq!(left(35, 6, None), Some(4));
        assert_eq!(left(36, 11, None), None, "nothing is left");
    }
}
