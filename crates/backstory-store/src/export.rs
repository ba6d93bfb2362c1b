//! Tables for other programs: rows of typed cells, written as NDJSON, CSV, an Arrow stream or Parquet, batch by batch.
//! Which rows there are belongs to the engine.

mod columnar;

use std::io;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use columnar::Columnar;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// Text.
    Text,
    /// Texts.
    Texts,
    /// Whole numbers of 64 bits.
    Number,
    /// Numbers with a fraction.
    Decimal,
    /// Yes or no.
    Flag,
    /// Instants, as milliseconds since 1970 in a cell.
    Time,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnType,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Cell {
    /// Nothing.
    Null,
    /// Yes or no.
    Flag(bool),
    /// A number or an instant.
    Number(i64),
    /// A number with a fraction.
    Decimal(f64),
    /// A text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Number(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Decimal(value)
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<Vec<String>> for Cell {
    fn from(value: Vec<String>) -> Self {
        Self::Texts(value)
    }
}

impl From<Timestamp> for Cell {
    fn from(value: Timestamp) -> Self {
        Self::Number(value.as_millisecond())
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TableFormat {
    /// A JSON object a line.
    #[default]
    Ndjson,
    /// Values separated by commas, with a line of names.
    Csv,
    /// An Arrow IPC stream.
    Arrow,
    /// Parquet.
    Parquet,
}

impl TableFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Ndjson, Self::Csv, Self::Arrow, Self::Parquet];

    /// Its name, which files end with.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::Arrow => "arrow",
            Self::Parquet => "parquet",
        }
    }

    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Arrow => "application/vnd.apache.arrow.stream",
            Self::Parquet => "application/vnd.apache.parquet",
        }
    }

    /// Whether people can read it.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Ndjson | Self::Csv)
    }
}

/// Writes a table. What it returns after each batch follows on what it returned before.
pub struct TableEncoder {
    columns: &'static [Column],
    form: Form,
}

enum Form {
    Ndjson,
    /// Whether the names of the columns are still to be written.
    Csv {
        is_new: bool,
    },
    Columnar(Box<Columnar>),
}

impl TableEncoder {
    /// Begins a table.
    ///
    /// # Errors
    /// The format cannot have these columns.
    pub fn new(columns: &'static [Column], format: TableFormat) -> io::Result<Self> {
        let form = match format {
            TableFormat::Ndjson => Form::Ndjson,
            TableFormat::Csv => Form::Csv { is_new: true },
            TableFormat::Arrow => Form::Columnar(Box::new(Columnar::arrow(columns)?)),
            TableFormat::Parquet => Form::Columnar(Box::new(Columnar::parquet(columns)?)),
        };
        Ok(Self { columns, form })
    }

    /// Writes rows and returns the bytes that are complete.
    ///
    /// # Errors
    /// The rows are not of these columns.
    pub fn write(&mut self, rows: &[Vec<Cell>]) -> io::Result<Vec<u8>> {
        let is_odd = |row: &Vec<Cell>| row.len() != self.columns.len();
        if rows.iter().any(is_odd) {
            return Err(io::Error::other("a row has other columns than its table"));
        }
        match &mut self.form {
            Form::Ndjson => {
                let mut text = String::new();
                rows.iter().for_each(|row| write_object(self.columns, row, &mut text));
                Ok(text.into_bytes())
            }
            Form::Csv { is_new } => {
                let mut text = if *is_new { header(self.columns) } else { String::new() };
                *is_new = false;
                rows.iter().for_each(|row| write_line(self.columns, row, &mut text));
                Ok(text.into_bytes())
            }
            Form::Columnar(columnar) => columnar.write(self.columns, rows),
        }
    }

    /// Ends the table and returns its last bytes.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self.form {
            Form::Ndjson | Form::Csv { is_new: false } => Ok(Vec::new()),
            Form::Csv { is_new: true } => Ok(header(self.columns).into_bytes()),
            Form::Columnar(columnar) => columnar.finish(),
        }
    }
}

/// What formulas begin with.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A row as a JSON object.
fn write_object(columns: &[Column], row: &[Cell], text: &mut String) {
    for (place, (column, cell)) in columns.iter().zip(row).enumerate() {
        text.push(if place == 0 { '{' } else { ',' });
        text.push_str(&serde_json::json!(column.name).to_string());
        text.push(':');
        text.push_str(&json_text(*column, cell));
    }
    text.push_str("}\n");
}

fn json_text(column: Column, cell: &Cell) -> String {
    match (column.kind, cell) {
        (ColumnType::Time, Cell::Number(ms)) => serde_json::json!(instant(*ms)).to_string(),
        (_, cell) => serde_json::json!(cell).to_string(),
    }
}

fn instant(ms: i64) -> Option<String> {
    Timestamp::from_millisecond(ms).ok().map(|at| at.to_string())
}

fn header(columns: &[Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    format!("{}\r\n", names.join(","))
}

/// A row as a line of CSV; several texts are a JSON array in one value. A text that spreadsheets would take for a formula
/// begins with an apostrophe.
fn write_line(columns: &[Column], row: &[Cell], text: &mut String) {
    for (place, (column, cell)) in columns.iter().zip(row).enumerate() {
        if place > 0 {
            text.push(',');
        }
        match (column.kind, cell) {
            (_, Cell::Null) => {}
            (ColumnType::Time, Cell::Number(ms)) => text.push_str(&instant(*ms).unwrap_or_default()),
            (_, Cell::Text(value)) if value.starts_with(FORMULA) => write_quoted(&format!("'{value}"), text),
            (_, Cell::Text(value)) => write_quoted(value, text),
            (_, Cell::Texts(values)) => write_quoted(&serde_json::json!(values).to_string(), text),
            (_, cell) => text.push_str(&serde_json::json!(cell).to_string()),
        }
    }
    text.push_str("\r\n");
}

/// Quotes a value if it must be; an empty text always, since no value at all is nothing.
fn write_quoted(value: &str, text: &mut String) {
    if value.is_empty() || value.contains([',', '"', '\n', '\r']) || value.starts_with(' ') || value.ends_with(' ') {
        text.push('"');
        text.push_str(&value.replace('"', "\"\""));
        text.push('"');
    } else {
        text.push_str(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_a_formula_of_a_spreadsheet() {
        let mut text = String::new();
        for value in ["=HYPERLINK(\"http://evil.example\")", "+1", "-1", "@sum", "\t=1", "\r=1", "a=1", "'=1"] {
            write_line(&[Column { name: "title", kind: ColumnType::Text }], &[value.into()], &mut text);
        }
        let expected = "\"'=HYPERLINK(\"\"http://evil.example\"\")\"\r\n'+1\r\n'-1\r\n'@sum\r\n'\t=1\r\n\"'\r=1\"\r\na=1\r\n'=1\r\n";
        assert_eq!(text, expected);
    }

    const COLUMNS: &[Column] = &[
        Column { name: "title", kind: ColumnType::Text },
        Column { name: "labels", kind: ColumnType::Texts },
        Column { name: "notes", kind: ColumnType::Number },
        Column { name: "rank", kind: ColumnType::Decimal },
        Column { name: "draft", kind: ColumnType::Flag },
        Column { name: "at", kind: ColumnType::Time },
    ];

    fn rows() -> Vec<Vec<Cell>> {
        let at = Timestamp::from_second(1_700_000_000).unwrap_or_default();
        vec![
            vec![
                "a, \"b\"\n".into(),
                vec!["x".to_owned(), "y,z".to_owned()].into(),
                3_u64.into(),
                0.5.into(),
                true.into(),
                at.into(),
            ],
            vec![Cell::Null, Vec::new().into(), Cell::Null, Cell::Null, false.into(), Cell::Null],
        ]
    }

    fn written(format: TableFormat) -> io::Result<Vec<u8>> {
        let mut writer = TableEncoder::new(COLUMNS, format)?;
        let mut bytes = writer.write(&rows())?;
        bytes.extend(writer.write(&rows())?);
        bytes.extend(writer.finish()?);
        Ok(bytes)
    }

    #[test]
    fn text_formats_have_a_line_for_each_row() -> io::Result<()> {
        let ndjson = String::from_utf8_lossy(&written(TableFormat::Ndjson)?).into_owned();
        let first = r#"{"title":"a, \"b\"\n","labels":["x","y,z"],"notes":3,"rank":0.5,"draft":true,"at":"2023-11-14T22:13:20Z"}"#;
        assert_eq!(ndjson.lines().next(), Some(first));
        assert_eq!(ndjson.lines().count(), 4);
        let csv = String::from_utf8_lossy(&written(TableFormat::Csv)?).into_owned();
        let wanted = "title,labels,notes,rank,draft,at\r\n\"a, \"\"b\"\"\n\",\"[\"\"x\"\",\"\"y,z\"\"]\",3,0.5,true,2023-11-14T22:13:20Z\r\n,[],,,false,\r\n";
        assert!(csv.starts_with(wanted), "{csv}");
        assert_eq!(csv.matches("title,labels").count(), 1);
        Ok(())
    }

    #[test]
    fn columnar_formats_are_read_back() -> io::Result<()> {
        let stream = written(TableFormat::Arrow)?;
        assert_eq!(columnar::tests::count_arrow_rows(&stream), 4);
        let parquet = written(TableFormat::Parquet)?;
        assert_eq!((&parquet[..4], &parquet[parquet.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
        assert_eq!(columnar::tests::count_parquet_rows(&parquet), 4);
        Ok(())
    }

    /// Bytes of memory that this process has.
    fn resident() -> io::Result<u64> {
        let pages = std::fs::read_to_string("/proc/self/statm")?;
        Ok(pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default() * 4096)
    }

    #[test]
    fn a_million_rows_take_the_memory_of_a_row_group() -> io::Result<()> {
        const ROWS: u64 = 1_000_000;
        const BATCH: u64 = 1_000;
        let at = Timestamp::from_second(1_700_000_000).unwrap_or_default();
        let row = |number: u64| -> Vec<Cell> {
            let title = format!("The session of cart {number} is lost, and nobody knows why");
            vec![
                title.into(),
                vec!["bug".to_owned(), format!("cart-{number}")].into(),
                number.into(),
                0.5.into(),
                true.into(),
                at.into(),
            ]
        };
        for format in [TableFormat::Arrow, TableFormat::Parquet] {
            let mut writer = TableEncoder::new(COLUMNS, format)?;
            let (before, mut most, mut bytes) = (resident()?, 0, 0);
            for first in (0..ROWS).step_by(BATCH as usize) {
                let rows: Vec<Vec<Cell>> = (first..first + BATCH).map(row).collect();
                bytes += writer.write(&rows)?.len();
                most = most.max(resident()?);
            }
            bytes += writer.finish()?.len();
            assert!(bytes > 1_000_000, "{format:?}: {bytes}");
            assert!(most.saturating_sub(before) <= 300_000_000, "{format:?}: {before} and {most} bytes of memory");
        }
        Ok(())
    }

    #[test]
    fn cells_survive_the_wire() -> serde_json::Result<()> {
        for row in rows() {
            let text = serde_json::to_string(&row)?;
            assert_eq!(serde_json::from_str::<Vec<Cell>>(&text)?, row);
        }
        Ok(())
    }
}
