//! Typed access to the columns of a batch that a query returned.

use arrow::{
    array::{
        Array, BooleanArray, FixedSizeListArray, Float32Array, Int64Array, ListArray, RecordBatch, StringArray,
        UInt32Array,
    },
    datatypes::Float32Type,
};

use super::error::IndexError;

/// The columns of a batch by name.
pub(super) struct Columns<'a>(pub(super) &'a RecordBatch);

impl<'a> Columns<'a> {
    pub(super) fn text(&self, name: &'static str) -> Result<&'a StringArray, IndexError> {
        self.typed(name)
    }

    pub(super) fn integer(&self, name: &'static str) -> Result<&'a Int64Array, IndexError> {
        self.typed(name)
    }

    pub(super) fn flag(&self, name: &'static str) -> Result<&'a BooleanArray, IndexError> {
        self.typed(name)
    }

    pub(super) fn float(&self, name: &'static str) -> Result<&'a Float32Array, IndexError> {
        self.typed(name)
    }

    pub(super) fn lists(&self, name: &'static str) -> Result<&'a ListArray, IndexError> {
        self.typed(name)
    }

    pub(super) fn vectors(&self, name: &'static str) -> Result<&'a FixedSizeListArray, IndexError> {
        self.typed(name)
    }

    fn typed<T: Array + 'static>(&self, name: &'static str) -> Result<&'a T, IndexError> {
        self.0.column_by_name(name).and_then(|column| column.as_any().downcast_ref()).ok_or_else(|| IndexError::Store {
            action: "read a column",
            reason: format!("{name} is not as it should be"),
        })
    }
}

/// A vector of a column, empty if it is no vector of `f32`.
pub(super) fn vector(column: &FixedSizeListArray, row: usize) -> Vec<f32> {
    let values = column.value(row);
    values
        .as_any()
        .downcast_ref::<arrow::array::PrimitiveArray<Float32Type>>()
        .map_or_else(Vec::new, |v| v.values().to_vec())
}

/// The numbers of a row of a column of lists.
pub(super) fn numbers(column: &ListArray, row: usize) -> Vec<u32> {
    let values = column.value(row);
    values.as_any().downcast_ref::<UInt32Array>().map_or_else(Vec::new, |numbers| numbers.values().to_vec())
}

/// The texts of a row of a column of lists.
pub(super) fn texts(column: &ListArray, row: usize) -> Vec<String> {
    let values = column.value(row);
    let texts = values.as_any().downcast_ref::<StringArray>();
    texts.map_or_else(Vec::new, |texts| texts.iter().flatten().map(str::to_owned).collect())
}
