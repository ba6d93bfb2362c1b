//! Places in files, in the form in which commands take them: `src/a.rs:5`, `src/a.rs:5-9`.

/// A path with its first and last line, or alone.
pub fn format_place(path: &str, lines: Option<(u32, u32)>) -> String {
    lines.map_or_else(|| path.to_owned(), |lines| format!("{path}:{}", format_lines(lines)))
}

/// A first and a last line: `5-9`, or `5` if they are the same or the last one is before the first.
pub fn format_lines((first, last): (u32, u32)) -> String {
    if last > first { format!("{first}-{last}") } else { first.to_string() }
}

/// A first and a last line in a sentence: `line 5`, `lines 5-9`.
pub fn describe_lines(lines: (u32, u32)) -> String {
    let noun = if lines.1 > lines.0 { "lines" } else { "line" };
    format!("{noun} {}", format_lines(lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_line_is_no_range() {
        for (lines, place) in [
            (None, "src/a.rs"),
            (Some((5, 5)), "src/a.rs:5"),
            (Some((5, 9)), "src/a.rs:5-9"),
            (Some((5, 4)), "src/a.rs:5"),
        ] {
            assert_eq!(format_place("src/a.rs", lines), place);
        }
        assert_eq!((describe_lines((5, 5)), describe_lines((5, 9))), ("line 5".to_owned(), "lines 5-9".to_owned()));
    }
}
