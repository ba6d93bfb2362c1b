//! Filters as expressions over the columns of a table. Values are never formatted into text, so none can be read as an
//! expression.
//!
//! Both retrievers apply the same conditions. A path is matched in a column with the paths of a file or of what a
//! commit changes, row by row. Names of authors and labels match in any case, since [`facts`](super::facts) knows their
//! spelling.

use backstory_model::filter::Filter;
use lancedb::{
    datafusion::{arrow::datatypes::DataType, common::ScalarValue, functions_nested::expr_fn::array_has_any},
    expr::{DfExpr as Expr, col, contains, is_in, lit},
};

use super::{
    facts::{Facts, Named},
    schema::{AUTHOR, CONFIDENTIAL, CREATED_AT, DOCUMENT_TYPE, KIND, LABELS, PATHS, PROJECT, STATE, THREAD, VERSIONED},
    types::{beginning, end},
    view::Selection,
};

/// Most values in one condition of a query.
pub(super) const VALUES_PER_QUERY: usize = 1000;

/// What rows of either table must meet.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// Nothing: all do.
    All,
    /// This.
    Some(Box<Expr>),
    /// What none can meet: nobody has that name, or nothing is of that kind.
    None,
}

/// What rows must meet to pass the filter and to be visible. Names count in whatever case, as the documents in `facts`
/// write them. `id` is the column with the id of the document.
pub(super) fn condition(filter: &Filter, selection: Selection<'_>, facts: &Facts, id: &str) -> Condition {
    let visibility = selection.visibility;
    let mut all = Vec::new();
    // Of a view, what is found is looked at one by one.
    if selection.view.is_none() && facts.has_versions() {
        all.push(col(VERSIONED).eq(lit(false)));
    }
    if !visibility.shows_confidential() && facts.has_confidential(visibility) {
        all.push(col(CONFIDENTIAL).eq(lit(false)));
    }
    if !visibility.allows_all_projects() {
        let projects = facts.projects(visibility);
        if projects.is_empty() {
            return Condition::None;
        }
        all.push(any_of(PROJECT, projects.iter().map(String::as_str)));
    }
    if !filter.kinds.is_empty() {
        if !facts.kinds().any(|kind| filter.kinds.contains(kind)) {
            return Condition::None;
        }
        // What all meet need not be looked up.
        if !facts.kinds().all(|kind| filter.kinds.contains(kind)) {
            all.push(any_of(KIND, filter.kinds.iter().map(|kind| kind.as_str())));
        }
    }
    if !filter.authors.is_empty() {
        let written: Vec<&str> =
            filter.authors.iter().flat_map(|author| facts.written(Named::Author, author)).collect();
        if written.is_empty() {
            return Condition::None;
        }
        all.push(any_of(AUTHOR, written));
    }
    for label in &filter.labels {
        let written: Vec<_> = facts.written(Named::Label, label).map(ScalarValue::from).collect();
        if written.is_empty() {
            return Condition::None;
        }
        let written = ScalarValue::List(ScalarValue::new_list_nullable(&written, &DataType::Utf8));
        all.push(array_has_any(col(LABELS), lit(written)));
    }
    if let Some(after) = filter.after {
        all.push(col(CREATED_AT).gt_eq(lit(after.as_millisecond())));
    }
    if let Some(before) = filter.before {
        all.push(col(CREATED_AT).lt(lit(before.as_millisecond())));
    }
    if let Some(project) = filter.project.as_ref().filter(|project| !facts.is_all_of(project)) {
        all.push(col(PROJECT).eq(lit(project.as_str())));
    }
    if let Some(state) = filter.state {
        all.push(col(STATE).eq(lit(state.as_str())));
    }
    if !filter.projects.is_empty() {
        all.push(any_of(PROJECT, filter.projects.iter().map(String::as_str)));
    }
    if !filter.document_types.is_empty() {
        all.push(any_of(DOCUMENT_TYPE, filter.document_types.iter().map(|document_type| document_type.as_str())));
    }
    let below = |prefix: &String| contains(col(PATHS), lit(beginning(prefix)));
    all.extend(filter.paths.iter().map(below).reduce(Expr::or));
    let ends = |extension: &str| contains(col(PATHS), lit(end(extension)));
    all.extend(filter.extensions().into_iter().map(ends).reduce(Expr::or));
    if !filter.nodes.is_empty() {
        all.push(is_of_nodes(&filter.nodes, selection, id));
    }
    all.into_iter().reduce(Expr::and).map_or(Condition::All, |all| Condition::Some(Box::new(all)))
}

/// Rows of documents that are one of these nodes, or a part of one.
fn is_of_nodes(nodes: &[String], selection: Selection<'_>, id: &str) -> Expr {
    let of_nodes = |column| any_of(column, nodes.iter().map(String::as_str));
    let mut is_of_nodes = of_nodes(id).or(of_nodes(THREAD));
    if let Some(view) = selection.view {
        let rows: Vec<&str> = nodes.iter().filter_map(|node| view.row_of(node)).map(|row| &**row).collect();
        let threads: Vec<&str> = nodes.iter().filter_map(|node| view.version_of(node)).collect();
        for (column, values) in [(id, rows), (THREAD, threads)].into_iter().filter(|(_, values)| !values.is_empty()) {
            is_of_nodes = is_of_nodes.or(any_of(column, values));
        }
    }
    is_of_nodes
}

/// The column has one of these values.
pub(super) fn any_of<'a>(column: &str, values: impl IntoIterator<Item = &'a str>) -> Expr {
    is_in(col(column), values.into_iter().map(lit).collect())
}
