//! Schema of the two tables: their columns, their indexes, and the version in their metadata, which is there from the
//! table's first commit on.

use std::{collections::HashMap, sync::Arc};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use lancedb::index::{
    Index,
    scalar::{BTreeIndexBuilder, BitmapIndexBuilder, FtsIndexBuilder, LabelListIndexBuilder},
};

use super::{error::IndexFormatVersion, types::ModelTag};

/// The format this program reads and writes. A change of the columns, or of what stands in them, raises `schema`, a
/// change of [`analyzer`] raises `analyzer`.
pub(super) const FORMAT: IndexFormatVersion = IndexFormatVersion { schema: 12, analyzer: 1 };

pub(super) const DOCUMENTS: &str = "documents";
pub(super) const PASSAGES: &str = "passages";

pub(super) const ID: &str = "id";
pub(super) const THREAD: &str = "thread";
pub(super) const KIND: &str = "kind";
pub(super) const PROJECT: &str = "project";
pub(super) const AUTHOR: &str = "author";
pub(super) const LABELS: &str = "labels";
pub(super) const STATE: &str = "state";
pub(super) const CREATED_AT: &str = "created_at";
pub(super) const CONFIDENTIAL: &str = "confidential";
/// Paths of its files, a line end before and after each.
pub(super) const PATHS: &str = "paths";
pub(super) const DOCUMENT_TYPE: &str = "document_type";
/// Whether it is a version of a document beside the current one.
pub(super) const VERSIONED: &str = "versioned";
pub(super) const UPDATED_AT: &str = "updated_at";
pub(super) const TITLE: &str = "title";
pub(super) const URL: &str = "url";
pub(super) const TEXT: &str = "text";
pub(super) const SEARCH_TEXT: &str = "search_text";
pub(super) const CONTENT_HASH: &str = "content_hash";
pub(super) const ROW_HASH: &str = "row_hash";
pub(super) const PATH: &str = "path";
pub(super) const LINE_START: &str = "line_start";
pub(super) const LINE_END: &str = "line_end";
pub(super) const TERMS: &str = "terms";
/// The different words by which full-text search finds it, how often each occurs, and how many they are together.
pub(super) const WORDS: &str = "words";
pub(super) const WORD_COUNTS: &str = "word_counts";
pub(super) const WORD_TOTAL: &str = "word_total";
pub(super) const IMPORTANCE: &str = "importance";
pub(super) const DOCUMENT: &str = "document";
pub(super) const TEXT_HASH: &str = "text_hash";
pub(super) const VECTOR: &str = "vector";

/// Columns of both tables that a filter looks at, in their order.
pub(super) const FILTER_COLUMNS: [&str; 11] =
    [THREAD, KIND, PROJECT, AUTHOR, LABELS, STATE, CREATED_AT, CONFIDENTIAL, PATHS, DOCUMENT_TYPE, VERSIONED];

/// Longest term that is indexed, in bytes: commit and content hashes are found, encoded blobs are not.
pub(super) const MAX_TERM: usize = 100;

const META_SCHEMA: &str = "backstory:schema";
const META_ANALYZER: &str = "backstory:analyzer";
const META_MODEL: &str = "backstory:model";

/// How text becomes terms. Identifiers are kept whole and cut at `_` and at changes of case, `secp256k1` is one
/// term, words are stemmed, stop words left out.
pub(super) fn analyzer() -> FtsIndexBuilder {
    FtsIndexBuilder::code()
        .split_identifiers(true)
        .preserve_original(true)
        .split_on_numerics(false)
        .index_operators(false)
        .stem(true)
        .remove_stop_words(true)
        .lower_case(true)
        .ascii_folding(true)
        .max_token_length(Some(MAX_TERM))
}

pub(super) fn documents_schema() -> SchemaRef {
    let mut fields = vec![text(ID)];
    fields.extend(filter_fields());
    fields.push(Field::new(UPDATED_AT, DataType::Int64, false));
    fields.extend([TITLE, URL, TEXT, SEARCH_TEXT, CONTENT_HASH, ROW_HASH].map(text));
    fields.push(Field::new(PATH, DataType::Utf8, true));
    fields.extend([LINE_START, LINE_END].map(|name| Field::new(name, DataType::Int64, true)));
    fields.extend([TERMS, WORDS, WORD_COUNTS].map(numbers_field));
    fields.push(Field::new(WORD_TOTAL, DataType::Int64, false));
    fields.push(Field::new(IMPORTANCE, DataType::Float32, false));
    let metadata = [(META_SCHEMA, FORMAT.schema.to_string()), (META_ANALYZER, FORMAT.analyzer.to_string())];
    with_metadata(fields, metadata)
}

pub(super) fn passages_schema(model: &ModelTag) -> SchemaRef {
    let mut fields = vec![text(ID), text(DOCUMENT)];
    fields.extend(filter_fields());
    fields.extend([CONTENT_HASH, TEXT, TEXT_HASH].map(text));
    fields.extend([numbers_field(TERMS), Field::new(VECTOR, vector_type(model.dimension), false)]);
    let metadata = [
        (META_SCHEMA, FORMAT.schema.to_string()),
        (META_ANALYZER, FORMAT.analyzer.to_string()),
        (META_MODEL, model.name.clone()),
    ];
    with_metadata(fields, metadata)
}

pub(super) fn vector_type(dimension: usize) -> DataType {
    let dimension = i32::try_from(dimension).unwrap_or(i32::MAX);
    DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Float32, true)), dimension)
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, false)
}

fn numbers_field(name: &str) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new("item", DataType::UInt32, true))), false)
}

fn filter_fields() -> impl Iterator<Item = Field> {
    FILTER_COLUMNS.into_iter().map(|name| match name {
        AUTHOR | STATE => Field::new(name, DataType::Utf8, true),
        LABELS => Field::new(name, DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))), false),
        CREATED_AT => Field::new(name, DataType::Int64, false),
        CONFIDENTIAL | VERSIONED => Field::new(name, DataType::Boolean, false),
        _ => text(name),
    })
}

fn with_metadata<const N: usize>(fields: Vec<Field>, metadata: [(&str, String); N]) -> SchemaRef {
    let metadata: HashMap<_, _> = metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

/// The version that a table was written with; `None` if it does not say.
pub(super) fn format_of(table: &Schema) -> Option<IndexFormatVersion> {
    let number = |key: &str| table.metadata().get(key)?.parse().ok();
    Some(IndexFormatVersion { schema: number(META_SCHEMA)?, analyzer: number(META_ANALYZER)? })
}

/// The model whose vectors `passages` holds; `None` if it does not say.
pub(super) fn model_of(passages: &Schema) -> Option<ModelTag> {
    let DataType::FixedSizeList(_, dimension) = passages.field_with_name(VECTOR).ok()?.data_type() else {
        return None;
    };
    Some(ModelTag { name: passages.metadata().get(META_MODEL)?.clone(), dimension: usize::try_from(*dimension).ok()? })
}

/// The indexes that `documents` has from the beginning; the vector index comes with the number of vectors.
pub(super) fn documents_indexes() -> Vec<(&'static str, Index)> {
    let mut indexes = vec![(ID, btree())];
    indexes.extend(filter_indexes());
    indexes.push((SEARCH_TEXT, Index::FTS(analyzer())));
    indexes
}

/// The indexes that `passages` has from the beginning.
pub(super) fn passages_indexes() -> Vec<(&'static str, Index)> {
    let mut indexes = vec![(ID, btree()), (DOCUMENT, btree()), (TEXT_HASH, btree())];
    indexes.extend(filter_indexes());
    indexes
}

/// Paths are read one after the other.
fn filter_indexes() -> impl Iterator<Item = (&'static str, Index)> {
    FILTER_COLUMNS.into_iter().filter(|name| *name != PATHS).map(|name| match name {
        KIND | PROJECT | STATE | CONFIDENTIAL | DOCUMENT_TYPE | VERSIONED => {
            (name, Index::Bitmap(BitmapIndexBuilder::default()))
        }
        LABELS => (name, Index::LabelList(LabelListIndexBuilder::default())),
        _ => (name, btree()),
    })
}

fn btree() -> Index {
    Index::BTree(BTreeIndexBuilder::default())
}

/// Name of the index on a column.
pub(super) fn index_name(column: &str) -> String {
    format!("{column}_idx")
}
