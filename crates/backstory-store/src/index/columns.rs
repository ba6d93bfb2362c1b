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
pub(super) fn numbers(column: &ListArray, row: usize) -> &[u32] {
    let Some(numbers) = column.values().as_any().downcast_ref::<UInt32Array>() else { return &[] };
    let start_of = |row: usize| column.value_offsets()[row].unsigned_abs() as usize;
    numbers.values().get(start_of(row)..start_of(row + 1)).unwrap_or_default()
}

/// The texts of a row of a column of lists.
pub(super) fn texts(column: &ListArray, row: usize) -> Vec<String> {
    let values = column.value(row);
    let texts = values.as_any().downcast_ref::<StringArray>();
    texts.map_or_else(Vec::new, |texts| texts.iter().flatten().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::UInt32Type;

    use super::*;

    #[test]
    fn each_row_of_a_column_of_lists_has_its_own_numbers() {
        let rows = [vec![1, 2], vec![], vec![3], vec![4, 5, 6]];
        let rows = rows.map(|row| Some(row.into_iter().map(Some).collect::<Vec<Option<u32>>>()));
        let column = ListArray::from_iter_primitive::<UInt32Type, _, _>(rows);
        let read = |column: &ListArray| -> Vec<Vec<u32>> {
            (0..column.len()).map(|row| numbers(column, row).to_vec()).collect()
        };
        assert_eq!(read(&column), [vec![1, 2], vec![], vec![3], vec![4, 5, 6]]);
        assert_eq!(read(&column.slice(2, 2)), [vec![3], vec![4, 5, 6]]);
    }
}
