//! Digests of the tables: equal rows have equal digests, however they came about.

use backstory_model::{digest::SetDigest, visibility::Visibility};
use rusqlite::{Connection, types::ValueRef};

use super::{Lists, columns::text, schema::TABLES, select::Reader};
use crate::ledger_error::LedgerError;

/// The digest of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDigest {
    /// Its name.
    pub table: &'static str,
    /// 64 hex digits.
    pub digest: String,
    /// How many rows it covers.
    pub rows: u64,
}

impl Lists {
    /// The digest of every table, over the rows that a reader may see. Reads all of them, while others read and write.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn digests(&self, visibility: &Visibility) -> Result<Vec<TableDigest>, LedgerError> {
        self.read(|connection| digest_tables(connection, Some(Reader(visibility))))
    }
}

/// The digest of every table; without a reader, of all rows.
pub(super) fn digest_tables(
    connection: &Connection,
    reader: Option<Reader<'_>>,
) -> Result<Vec<TableDigest>, LedgerError> {
    let mut digests = Vec::new();
    for (table, confidential) in TABLES {
        let hides = confidential.filter(|_| reader.is_some_and(|reader| !reader.shows_confidential()));
        let condition = hides.map(|column| format!(" WHERE NOT {column}")).unwrap_or_default();
        let mut statement = connection.prepare(&format!("SELECT * FROM {table}{condition}"))?;
        let project = statement.column_index("project")?;
        let columns = statement.column_count();
        let (mut digest, mut line) = (SetDigest::default(), Vec::new());
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let project = text(row, project)?;
            if reader.is_some_and(|reader| !reader.shows_project(project)) {
                continue;
            }
            line.clear();
            for column in 0..columns {
                write_value(&mut line, row.get_ref(column)?);
            }
            digest.add(&line);
        }
        digests.push(TableDigest { table, digest: digest.hex(), rows: digest.count() });
    }
    Ok(digests)
}

/// A value so that no two rows are written alike.
fn write_value(line: &mut Vec<u8>, value: ValueRef<'_>) {
    let (kind, bytes): (u8, &[u8]) = match value {
        ValueRef::Null => (0, &[]),
        ValueRef::Integer(number) => {
            line.push(1);
            line.extend(number.to_le_bytes());
            return;
        }
        ValueRef::Real(number) => {
            line.push(2);
            line.extend(number.to_bits().to_le_bytes());
            return;
        }
        ValueRef::Text(text) => (3, text),
        ValueRef::Blob(blob) => (4, blob),
    };
    line.push(kind);
    line.extend((bytes.len() as u64).to_le_bytes());
    line.extend(bytes);
}
