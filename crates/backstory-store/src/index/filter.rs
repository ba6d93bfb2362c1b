//! Conditions as expressions. No text is ever made of a value, so none can be taken for a condition.

use backstory_model::filter::Filter;
use lancedb::{
    datafusion::{arrow::datatypes::DataType, common::ScalarValue, functions_nested::expr_fn::array_has_all},
    expr::{DfExpr as Expr, col, is_in, lit},
};

use super::schema::{AUTHOR, CONFIDENTIAL, CREATED_AT, KIND, LABELS, PROJECT, STATE};

/// What rows of either table must meet to pass the filter, and to be open if nothing else is wanted; `None` if all do.
pub(super) fn condition(filter: &Filter, only_open: bool) -> Option<Expr> {
    let mut all = Vec::new();
    if only_open {
        all.push(col(CONFIDENTIAL).eq(lit(false)));
    }
    if !filter.kinds.is_empty() {
        all.push(any_of(KIND, filter.kinds.iter().map(|kind| kind.as_str())));
    }
    if let Some(author) = &filter.author {
        all.push(col(AUTHOR).eq(lit(author.as_str())));
    }
    if !filter.labels.is_empty() {
        let labels: Vec<_> = filter.labels.iter().map(|label| ScalarValue::from(label.as_str())).collect();
        let labels = ScalarValue::List(ScalarValue::new_list_nullable(&labels, &DataType::Utf8));
        all.push(array_has_all(col(LABELS), lit(labels)));
    }
    if let Some(after) = filter.after {
        all.push(col(CREATED_AT).gt_eq(lit(after.as_millisecond())));
    }
    if let Some(before) = filter.before {
        all.push(col(CREATED_AT).lt(lit(before.as_millisecond())));
    }
    if let Some(project) = &filter.project {
        all.push(col(PROJECT).eq(lit(project.as_str())));
    }
    if let Some(state) = filter.state {
        all.push(col(STATE).eq(lit(state.as_str())));
    }
    all.into_iter().reduce(Expr::and)
}

/// The column has one of these values.
pub(super) fn any_of<'a>(column: &str, values: impl IntoIterator<Item = &'a str>) -> Expr {
    is_in(col(column), values.into_iter().map(lit).collect())
}
