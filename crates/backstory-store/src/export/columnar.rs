//! Tables as Arrow batches: an IPC stream, or Parquet.

use std::{
    io::{self, Write},
    sync::Arc,
};

use arrow::{
    array::{
        ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, RecordBatch, StringBuilder,
        TimestampMillisecondBuilder,
    },
    datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit},
    ipc::writer::StreamWriter,
};
use parking_lot::Mutex;
use parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};

use super::{Cell, Column, ColumnType};

/// Rows of a row group of Parquet, which is held in memory until it is complete.
const ROW_GROUP: usize = 50_000;
/// Bytes of a row group, if its rows are large.
const ROW_GROUP_BYTES: usize = 32 << 20;

/// A table that is being written.
pub(super) struct Columnar {
    schema: SchemaRef,
    sink: Sink,
    writer: Writer,
}

enum Writer {
    Arrow(StreamWriter<Sink>),
    Parquet(ArrowWriter<Sink>),
}

/// Bytes that were written and not taken yet.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock())
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Columnar {
    pub(super) fn arrow(columns: &[Column]) -> io::Result<Self> {
        let (schema, sink) = (schema(columns), Sink::default());
        let writer = StreamWriter::try_new(sink.clone(), &schema).map_err(io::Error::other)?;
        Ok(Self { schema, sink, writer: Writer::Arrow(writer) })
    }

    pub(super) fn parquet(columns: &[Column]) -> io::Result<Self> {
        let (schema, sink) = (schema(columns), Sink::default());
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
            .build();
        let writer = ArrowWriter::try_new(sink.clone(), schema.clone(), Some(properties)).map_err(io::Error::other)?;
        Ok(Self { schema, sink, writer: Writer::Parquet(writer) })
    }

    pub(super) fn write(&mut self, columns: &[Column], rows: &[Vec<Cell>]) -> io::Result<Vec<u8>> {
        if !rows.is_empty() {
            let arrays = columns.iter().enumerate().map(|(place, column)| array(column.kind, rows, place)).collect();
            let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(io::Error::other)?;
            match &mut self.writer {
                Writer::Arrow(writer) => writer.write(&batch).map_err(io::Error::other)?,
                Writer::Parquet(writer) => writer.write(&batch).map_err(io::Error::other)?,
            }
        }
        Ok(self.sink.take())
    }

    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        match self.writer {
            Writer::Arrow(mut writer) => writer.finish().map_err(io::Error::other)?,
            Writer::Parquet(writer) => drop(writer.close().map_err(io::Error::other)?),
        }
        Ok(self.sink.take())
    }
}

fn schema(columns: &[Column]) -> SchemaRef {
    let kind = |kind: ColumnType| match kind {
        ColumnType::Text => DataType::Utf8,
        ColumnType::Texts => DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))),
        ColumnType::Number => DataType::Int64,
        ColumnType::Decimal => DataType::Float64,
        ColumnType::Flag => DataType::Boolean,
        ColumnType::Time => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
    };
    let fields: Vec<Field> = columns.iter().map(|column| Field::new(column.name, kind(column.kind), true)).collect();
    Arc::new(Schema::new(fields))
}

/// The cells of one column; one of another type is nothing.
fn array(kind: ColumnType, rows: &[Vec<Cell>], place: usize) -> ArrayRef {
    let cells = rows.iter().map(|row| &row[place]);
    let number = |cell: &Cell| match cell {
        Cell::Number(number) => Some(*number),
        _ => None,
    };
    match kind {
        ColumnType::Text => {
            let mut builder = StringBuilder::new();
            for cell in cells {
                match cell {
                    Cell::Text(text) => builder.append_value(text),
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        ColumnType::Texts => {
            let mut builder = ListBuilder::new(StringBuilder::new());
            for cell in cells {
                let is_some = matches!(cell, Cell::Texts(_));
                if let Cell::Texts(texts) = cell {
                    texts.iter().for_each(|text| builder.values().append_value(text));
                }
                builder.append(is_some);
            }
            Arc::new(builder.finish())
        }
        ColumnType::Number => {
            let mut builder = Int64Builder::new();
            cells.for_each(|cell| builder.append_option(number(cell)));
            Arc::new(builder.finish())
        }
        ColumnType::Decimal => {
            let mut builder = Float64Builder::new();
            for cell in cells {
                builder.append_option(match cell {
                    Cell::Decimal(value) => Some(*value),
                    Cell::Number(value) => Some(*value as f64),
                    _ => None,
                });
            }
            Arc::new(builder.finish())
        }
        ColumnType::Flag => {
            let mut builder = BooleanBuilder::new();
            for cell in cells {
                builder.append_option(if let Cell::Flag(flag) = cell { Some(*flag) } else { None });
            }
            Arc::new(builder.finish())
        }
        ColumnType::Time => {
            let mut builder = TimestampMillisecondBuilder::new().with_timezone("UTC");
            cells.for_each(|cell| builder.append_option(number(cell)));
            Arc::new(builder.finish())
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use arrow::ipc::reader::StreamReader;
    use parquet::file::metadata::ParquetMetaDataReader;

    pub(in crate::export) fn count_arrow_rows(stream: &[u8]) -> usize {
        let reader = StreamReader::try_new(stream, None);
        reader.into_iter().flatten().map(|batch| batch.map_or(0, |batch| batch.num_rows())).sum()
    }

    pub(in crate::export) fn count_parquet_rows(file: &[u8]) -> i64 {
        // The length of the footer, and then the footer, are at the end.
        let length = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap_or_default()) as usize;
        let footer = &file[file.len() - 8 - length..file.len() - 8];
        let metadata = ParquetMetaDataReader::decode_metadata(footer);
        metadata.map_or(0, |metadata| metadata.file_metadata().num_rows())
    }
}
