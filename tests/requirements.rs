//! The table of requirements: every test that it names exists and names its row.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// How many rows there are.
const ROWS: usize = 159;
/// Most rows that may be declined.
const MAX_DECLINED: usize = 12;
const DECISION: &str = "decisions/0034-what-is-declined.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows, each with its number and what shows it.
fn rows() -> Vec<(usize, String)> {
    let text = fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let cells = |line: &str| {
        let cells: Vec<String> = line.replace("\\|", "¦").split('|').map(|cell| cell.trim().to_owned()).collect();
        Some((cells.get(1)?.parse().ok()?, cells.get(4)?.clone()))
    };
    text.lines().filter_map(cells).collect()
}

/// The source file that a test is in, and the name of its function.
fn source_of(test: &str) -> Option<(PathBuf, String)> {
    let (directory, path) = match test.strip_prefix("unit:") {
        Some(unit) => {
            let (krate, path) = unit.split_once(' ')?;
            (root().join("crates").join(krate).join("src"), path)
        }
        None => (root().join("tests"), test),
    };
    let mut modules: Vec<&str> = path.split("::").collect();
    let function = modules.pop()?;
    while !modules.is_empty() {
        let file = directory.join(modules.join("/")).with_extension("rs");
        if fs::read_to_string(&file).is_ok_and(|text| text.contains(&format!("fn {function}("))) {
            return Some((file, function.to_owned()));
        }
        modules.pop();
    }
    None
}

/// The rows that the comment before a test names.
fn rows_of(file: &Path, function: &str) -> BTreeSet<usize> {
    let text = fs::read_to_string(file).unwrap();
    let before = text.split(&format!("fn {function}(")).next().unwrap();
    let mut lines: Vec<&str> = before.lines().collect();
    // The beginning of the function's own line.
    lines.pop();
    let comment = lines.iter().rev().map(|line| line.trim()).take_while(|line| line.starts_with(['#', '/']));
    let named = comment.filter(|line| line.starts_with("// Row") && line.ends_with(" of docs/requirements.md."));
    named.flat_map(|line| line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok())).collect()
}

#[test]
fn every_row_is_there_once_and_says_what_shows_it() {
    let rows = rows();
    assert_eq!(rows.iter().map(|(row, _)| *row).collect::<Vec<_>>(), (1..=ROWS).collect::<Vec<_>>());
    let declined = rows.iter().filter(|(_, shown)| shown.contains(DECISION)).count();
    assert!(declined <= MAX_DECLINED, "{declined} rows are declined");
    let decision = fs::read_to_string(root().join("docs").join(DECISION)).unwrap();
    for (row, shown) in &rows {
        let is_test = shown.starts_with('`') && shown.ends_with('`');
        let is_declined = shown.contains(DECISION);
        assert!(is_test || is_declined, "row {row}: {shown}");
        let reasons = decision.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
        let mut numbers = reasons.flat_map(|numbers| numbers.split(", ")).filter_map(|number| number.parse().ok());
        assert_eq!(numbers.any(|number: usize| number == *row), is_declined, "row {row} in {DECISION}");
    }
}

#[test]
fn every_test_that_is_named_exists_and_names_its_row() {
    let mut problems = Vec::new();
    for (row, shown) in rows() {
        let Some(test) = shown.strip_prefix('`').and_then(|shown| shown.strip_suffix('`')) else { continue };
        match source_of(test) {
            None => problems.push(format!("row {row}: there is no test {test}")),
            Some((file, function)) if !rows_of(&file, &function).contains(&row) => {
                problems.push(format!("row {row}: the comment of {test} does not name it"));
            }
            Some(_) => {}
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_test_names_a_row_that_does_not_name_it() {
    let shown: BTreeMap<usize, String> = rows().into_iter().collect();
    for (row, test) in &shown {
        let Some(test) = test.strip_prefix('`').and_then(|test| test.strip_suffix('`')) else { continue };
        let (file, function) = source_of(test).unwrap();
        for named in rows_of(&file, &function) {
            let other = shown.get(&named).map(String::as_str).unwrap_or_default();
            assert!(other.contains(&function), "{test} names row {named} beside {row}, which says {other}");
        }
    }
}
