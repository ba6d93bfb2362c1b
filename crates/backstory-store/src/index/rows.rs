//! Converts documents and passages to rows and back.

use std::{collections::HashMap, sync::Arc};

use arrow::{
    array::{
        Array as _, ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int64Array, ListBuilder, RecordBatch,
        StringArray, StringBuilder, UInt32Builder,
    },
    datatypes::{DataType, SchemaRef},
};
use backstory_model::{
    digest::sha256_hex,
    document::Document,
    document_type::DocumentType,
    entity::State,
    filter::DocumentKind,
    terms::{TermExtractor, TermId},
    visibility::Visibility,
};
use jiff::Timestamp;

use super::{
    columns::{Columns, texts},
    error::IndexError,
    schema::{
        AUTHOR, CONFIDENTIAL, CONTENT_HASH, CREATED_AT, DOCUMENT, DOCUMENT_TYPE, FILTER_COLUMNS, ID, KIND, LABELS,
        LINE_END, LINE_START, PATH, PATHS, PROJECT, STATE, TEXT, THREAD, TITLE, UPDATED_AT, URL, VECTOR, VERSIONED,
        documents_schema,
    },
    types::{DocumentFacts, NewPassage, StoredDocument},
    version_ids::is_version,
    words::{DocumentWords, WordCounts},
};

/// The columns of a document that filters look at; its passages have them too.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Filterable {
    pub(super) thread: String,
    pub(super) kind: DocumentKind,
    pub(super) project: String,
    pub(super) author: Option<String>,
    pub(super) labels: Vec<String>,
    pub(super) state: Option<State>,
    pub(super) created_at: i64,
    pub(super) confidential: bool,
    /// Paths of its files, a line end before and after each; empty if it has none.
    pub(super) paths: String,
    pub(super) document_type: DocumentType,
}

/// A row of `documents`.
#[derive(Clone, Debug)]
pub(super) struct DocumentRow {
    pub(super) id: String,
    pub(super) filterable: Filterable,
    pub(super) content_hash: String,
    pub(super) row_hash: String,
    updated_at: i64,
    title: String,
    url: String,
    path: Option<String>,
    lines: Option<(u32, u32)>,
    text: String,
    search_text: String,
    /// The different terms of its own text, and of the other words by which it can be found.
    terms: Vec<TermId>,
    /// The words by which full-text search finds it.
    words: WordCounts,
    pub(super) importance: f32,
}

impl DocumentRow {
    /// `count_words` cuts texts as full-text search does.
    pub(super) fn new(
        thread: &str,
        document: &Document,
        cutter: &mut TermExtractor,
        count_words: &mut impl FnMut(&str) -> Result<WordCounts, IndexError>,
    ) -> Result<Self, IndexError> {
        let text = document.text();
        // The words of an issue's discussions are counted with those.
        let is_thread = matches!(document.kind, DocumentKind::Issue | DocumentKind::MergeRequest);
        let search_text = if document.whole_text.is_empty() { text.clone() } else { document.whole_text.clone() };
        let mut row = Self {
            id: document.id.clone(),
            filterable: Filterable {
                thread: thread.to_owned(),
                kind: document.kind,
                project: document.project.clone(),
                author: document.author.clone(),
                labels: document.labels.clone(),
                state: document.state,
                created_at: document.created_at.as_millisecond(),
                confidential: document.confidential,
                paths: paths_of(document),
                document_type: DocumentType::classify(document.kind, document.path.as_deref()),
            },
            content_hash: sha256_hex(&text),
            row_hash: String::new(),
            updated_at: document.updated_at.as_millisecond(),
            title: document.title.clone(),
            url: document.url.clone(),
            path: document.path.clone(),
            lines: document.lines,
            terms: cutter.distinct(if is_thread { &text } else { &search_text }),
            words: count_words(&search_text)?,
            importance: document.importance,
            text,
            search_text,
        };
        row.row_hash = row.hash();
        Ok(row)
    }

    /// Its id, its words and how often each occurs.
    pub(super) fn counted_words(&self) -> (&str, &[TermId], &[u32]) {
        (&self.id, &self.words.words, &self.words.counts)
    }

    /// What it adds to how often words occur.
    pub(super) fn document_words(&self) -> DocumentWords {
        DocumentWords { terms: self.terms.clone(), words: self.words.words.clone(), total: self.words.total() }
    }

    /// SHA-256 over every column. A length stands before every value, so that no two rows run into the same text.
    fn hash(&self) -> String {
        let of = &self.filterable;
        let (created_at, updated_at) = (of.created_at.to_string(), self.updated_at.to_string());
        let importance = self.importance.to_string();
        let state = of.state.map_or("", State::as_str);
        let lines = self.lines.map(|(first, last)| format!("{first}-{last}")).unwrap_or_default();
        let mut values = vec![self.id.as_str(), &of.thread, of.kind.as_str(), &of.project, state];
        values.extend([self.path.as_deref().unwrap_or_default(), &lines, &importance, &of.paths]);
        let flag = |is: bool| if is { "1" } else { "0" };
        values.extend([of.author.as_deref().unwrap_or_default(), flag(of.author.is_some()), flag(of.confidential)]);
        values.extend([created_at.as_str(), &updated_at, &self.title, &self.url, &self.text, &self.search_text]);
        values.extend(of.labels.iter().map(String::as_str));
        let mut whole = String::new();
        for value in values {
            whole.push_str(&value.len().to_string());
            whole.push(':');
            whole.push_str(value);
        }
        sha256_hex(&whole)
    }
}

/// What a [`PATHS`] column has: no path has a line end.
fn paths_of(document: &Document) -> String {
    let paths = document.path.iter().chain(&document.changed).filter(|path| !path.contains('\n'));
    let mut all: String = paths.flat_map(|path| ["\n", path.as_str()]).collect();
    if !all.is_empty() {
        all.push('\n');
    }
    all
}

/// Rows of `documents` as a batch.
pub(super) fn documents_batch(rows: &[&DocumentRow]) -> Result<RecordBatch, IndexError> {
    let filterable: Vec<_> = rows.iter().map(|row| &row.filterable).collect();
    let mut columns = vec![column(rows, |row| &row.id)];
    columns.extend(FILTER_COLUMNS.map(|name| filter_column(name, &filterable)));
    columns.push(Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.updated_at))));
    columns.extend([
        column(rows, |row| &row.title),
        column(rows, |row| &row.url),
        column(rows, |row| &row.text),
        column(rows, |row| &row.search_text),
        column(rows, |row| &row.content_hash),
        column(rows, |row| &row.row_hash),
        Arc::new(rows.iter().map(|row| row.path.as_deref()).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| row.lines.map(|lines| i64::from(lines.0))).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.lines.map(|lines| i64::from(lines.1))).collect::<Int64Array>()),
        numbers_column(rows.iter().map(|row| row.terms.as_slice())),
        numbers_column(rows.iter().map(|row| row.words.words.as_slice())),
        numbers_column(rows.iter().map(|row| row.words.counts.as_slice())),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.words.total().cast_signed()))),
        Arc::new(Float32Array::from_iter_values(rows.iter().map(|row| row.importance))),
    ]);
    RecordBatch::try_new(documents_schema(), columns).map_err(IndexError::store("form rows of documents"))
}

fn numbers_column<'a>(rows: impl Iterator<Item = &'a [u32]>) -> ArrayRef {
    let mut numbers = ListBuilder::new(UInt32Builder::new());
    for row in rows {
        numbers.values().append_slice(row);
        numbers.append(true);
    }
    Arc::new(numbers.finish())
}

fn column<'a, T>(rows: &[&'a T], value: impl Fn(&'a T) -> &'a String) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(rows.iter().map(|row| value(row))))
}

fn filter_column(name: &str, rows: &[&Filterable]) -> ArrayRef {
    match name {
        THREAD => column(rows, |row| &row.thread),
        KIND => Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.kind.as_str()))),
        PROJECT => column(rows, |row| &row.project),
        AUTHOR => Arc::new(rows.iter().map(|row| row.author.as_deref()).collect::<StringArray>()),
        STATE => Arc::new(rows.iter().map(|row| row.state.map(State::as_str)).collect::<StringArray>()),
        CREATED_AT => Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.created_at))),
        CONFIDENTIAL => Arc::new(rows.iter().map(|row| Some(row.confidential)).collect::<BooleanArray>()),
        VERSIONED => Arc::new(rows.iter().map(|row| Some(is_version(&row.thread))).collect::<BooleanArray>()),
        PATHS => column(rows, |row| &row.paths),
        DOCUMENT_TYPE => Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.document_type.as_str()))),
        _ => {
            let mut labels = ListBuilder::new(StringBuilder::new());
            for row in rows {
                row.labels.iter().for_each(|label| labels.values().append_value(label));
                labels.append(true);
            }
            Arc::new(labels.finish())
        }
    }
}

/// Passages of one document, with what their rows need to know of it.
pub(super) struct DocumentPassages<'a> {
    pub(super) document: &'a str,
    pub(super) content_hash: &'a str,
    pub(super) filterable: &'a Filterable,
    pub(super) passages: &'a [NewPassage],
}

/// Rows of `passages` as a batch.
pub(super) fn passages_batch(
    schema: &SchemaRef,
    documents: &[DocumentPassages<'_>],
) -> Result<RecordBatch, IndexError> {
    let rows: Vec<_> = documents
        .iter()
        .flat_map(|of| of.passages.iter().enumerate().map(move |(number, passage)| (of, number, passage)))
        .collect();
    let text = |value: &dyn Fn(&(&DocumentPassages<'_>, usize, &NewPassage)) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(value)))
    };
    let filterable: Vec<_> = rows.iter().map(|(of, _, _)| of.filterable).collect();
    let mut cutter = TermExtractor::default();
    let terms: Vec<Vec<TermId>> = rows.iter().map(|(_, _, passage)| cutter.distinct(&passage.text)).collect();
    let mut columns = vec![
        text(&|(of, number, passage)| passage_id(of.document, *number, &passage.text_hash)),
        text(&|(of, _, _)| of.document.to_owned()),
    ];
    columns.extend(FILTER_COLUMNS.map(|name| filter_column(name, &filterable)));
    columns.extend([
        text(&|(of, _, _)| of.content_hash.to_owned()),
        text(&|(_, _, passage)| passage.text.clone()),
        text(&|(_, _, passage)| passage.text_hash.clone()),
        numbers_column(terms.iter().map(Vec::as_slice)),
    ]);
    let numbers =
        Float32Array::from_iter_values(rows.iter().flat_map(|(_, _, passage)| passage.vector.iter().copied()));
    columns.push(vectors(schema, numbers)?);
    RecordBatch::try_new(schema.clone(), columns).map_err(IndexError::store("form rows of passages"))
}

fn vectors(schema: &SchemaRef, numbers: Float32Array) -> Result<ArrayRef, IndexError> {
    let refuse =
        || IndexError::Store { action: "form rows of passages", reason: "the vector column is missing".into() };
    let DataType::FixedSizeList(item, dimension) = schema.field_with_name(VECTOR).map_err(|_| refuse())?.data_type()
    else {
        return Err(refuse());
    };
    let vectors = FixedSizeListArray::try_new(item.clone(), *dimension, Arc::new(numbers), None);
    Ok(Arc::new(vectors.map_err(IndexError::store("form rows of passages"))?))
}

fn passage_id(document: &str, number: usize, text_hash: &str) -> String {
    sha256_hex(&format!("{document}\n{number}\n{text_hash}"))
}

/// The batch of passages with the filter columns of their documents; `None` if they have them already.
pub(super) fn with_filter_columns(
    passages: &RecordBatch,
    documents: &HashMap<&str, &Filterable>,
) -> Result<Option<RecordBatch>, IndexError> {
    let ids = Columns(passages).text(DOCUMENT)?;
    let Some(filterable) = ids.iter().map(|id| documents.get(id?).copied()).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let schema = passages.schema();
    let mut columns = passages.columns().to_vec();
    for name in FILTER_COLUMNS {
        let at = schema.index_of(name).map_err(IndexError::store("read a column"))?;
        columns[at] = filter_column(name, &filterable);
    }
    let renewed = RecordBatch::try_new(schema, columns).map_err(IndexError::store("form rows of passages"))?;
    Ok((renewed != *passages).then_some(renewed))
}

/// Columns of a [`StoredDocument`] that its [`DocumentFacts`] do not have.
pub(super) const STORED_COLUMNS: [&str; 10] =
    [ID, UPDATED_AT, TITLE, URL, TEXT, CONTENT_HASH, PATH, LINE_START, LINE_END, CONFIDENTIAL];

/// Reads what [`STORED_COLUMNS`] selected; leaves out documents that are gone by now, or not visible any more.
pub(super) fn stored_documents(
    batch: &RecordBatch,
    facts: &HashMap<Arc<str>, DocumentFacts>,
    visibility: &Visibility,
) -> Result<Vec<StoredDocument>, IndexError> {
    let columns = Columns(batch);
    let [ids, titles, urls, texts] = [columns.text(ID)?, columns.text(TITLE)?, columns.text(URL)?, columns.text(TEXT)?];
    let (updated, hashes) = (columns.integer(UPDATED_AT)?, columns.text(CONTENT_HASH)?);
    let (paths, first, last) = (columns.text(PATH)?, columns.integer(LINE_START)?, columns.integer(LINE_END)?);
    let line = |lines: &Int64Array, row| lines.is_valid(row).then(|| u32::try_from(lines.value(row)).ok()).flatten();
    let confidential = columns.flag(CONFIDENTIAL)?;
    let document = |row| {
        // What is known of it may be a moment older than what is read.
        let of = facts.get(ids.value(row))?.clone();
        if !visibility.allows(&of.project, confidential.value(row)) {
            return None;
        }
        Some(instant(updated.value(row)).map(|updated_at| StoredDocument {
            id: ids.value(row).to_owned(),
            facts: of,
            updated_at,
            title: titles.value(row).to_owned(),
            url: urls.value(row).to_owned(),
            text: texts.value(row).to_owned(),
            content_hash: hashes.value(row).to_owned(),
            path: paths.is_valid(row).then(|| paths.value(row).to_owned()),
            lines: line(first, row).zip(line(last, row)),
        }))
    };
    (0..batch.num_rows()).filter_map(document).collect()
}

/// Reads the columns that filters look at.
pub(super) fn filterables(batch: &RecordBatch) -> Result<Vec<Filterable>, IndexError> {
    let columns = Columns(batch);
    let (threads, projects, authors) = (columns.text(THREAD)?, columns.text(PROJECT)?, columns.text(AUTHOR)?);
    let (kinds, states) = (columns.text(KIND)?, columns.text(STATE)?);
    let (labels, created) = (columns.lists(LABELS)?, columns.integer(CREATED_AT)?);
    let confidential = columns.flag(CONFIDENTIAL)?;
    let (paths, document_types) = (columns.text(PATHS)?, columns.text(DOCUMENT_TYPE)?);
    (0..batch.num_rows())
        .map(|row| {
            Ok(Filterable {
                thread: threads.value(row).to_owned(),
                kind: kind(kinds.value(row))?,
                project: projects.value(row).to_owned(),
                author: authors.is_valid(row).then(|| authors.value(row).to_owned()),
                labels: texts(labels, row),
                state: states.is_valid(row).then(|| state(states.value(row))).transpose()?,
                created_at: created.value(row),
                confidential: confidential.value(row),
                paths: paths.value(row).to_owned(),
                document_type: document_type(document_types.value(row))?,
            })
        })
        .collect()
}

fn kind(name: &str) -> Result<DocumentKind, IndexError> {
    DocumentKind::from_name(name).ok_or_else(|| unknown("kind", name))
}

fn document_type(name: &str) -> Result<DocumentType, IndexError> {
    DocumentType::from_name(name).ok_or_else(|| unknown("type of document", name))
}

fn state(name: &str) -> Result<State, IndexError> {
    State::from_name(name).ok_or_else(|| unknown("state", name))
}

fn unknown(what: &str, name: &str) -> IndexError {
    IndexError::Store { action: "read a document", reason: format!("'{name}' is not a {what}") }
}

pub(super) fn instant(milliseconds: i64) -> Result<Timestamp, IndexError> {
    Timestamp::from_millisecond(milliseconds).map_err(IndexError::store("read a time"))
}
