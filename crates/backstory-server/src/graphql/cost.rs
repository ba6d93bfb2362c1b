//! What an operation costs: about how many values it reads. One rule holds for every field, so that a new one has a
//! cost too.
//!
//! A field costs one, and what is selected within it costs as often as there are items of a list: as many as `first`
//! or `ids` say. Fields of the query and mutation types, and those that read the stores on their own, cost more. Of
//! fragments that exclude each other by their types only the most expensive one counts.

use std::collections::HashMap;

use async_graphql::{
    Name, Value, Variables,
    parser::types::{Field, OperationDefinition, SelectionSet},
    registry::{MetaField, MetaType, MetaTypeName},
};

use super::{
    page::{DEFAULT_PAGE, MAX_PAGE},
    selection::Selections,
};

/// What a list of nodes without pages is taken to hold: labels, assignees and the like are few.
const FEW: usize = 3;
/// What a query of the graph or the index costs besides what it returns.
const QUERY: usize = 20;
/// What a page of a list costs besides its nodes: it is one range of an index.
const LIST: usize = 5;
/// What reading everything costs.
const EVERYTHING: usize = 1_000;
/// Far above any limit, far below what a sum over a document could overflow.
const MAX_COST: usize = 1 << 32;

/// Fields of the query type that read everything there is.
const READ_EVERYTHING: [&str; 3] = ["check", "digest", "stats"];
/// A type and its field that reads and parses hundreds of files, which takes as long.
const PARSES_FILES: (&str, &str) = ("Project", "definitions");
/// Fields of other types that query the graph or the ledger on their own.
const QUERIES: [&str; 18] = [
    "activity",
    "annotations",
    "centralFiles",
    "coChanges",
    "comments",
    "content",
    "contributors",
    "hunks",
    "contributions",
    "groupBy",
    "messages",
    "modelClassification",
    "modelNotes",
    "neighborhood",
    "onBranches",
    "releases",
    "totalCount",
    "tree",
];
/// Types that are read by a query of their own, whatever field returns them: `chunks`, `definitions`, `documents`, `facts`,
/// `jobs`, `mergeRequests`, `summary` and `version` are cheap where they are of other types.
const QUERIED_TYPES: [&str; 8] = [
    "CodeDefinitionConnection",
    "FileChunkConnection",
    "FileMergeRequestConnection",
    "FileVersion",
    "IndexedDocumentConnection",
    "JobConnection",
    "Summary",
    "SyntaxFactConnection",
];
/// Types and fields of theirs that are queries, as those of the same name of other types are not.
const QUERIES_OF: [(&str, &str); 12] = [
    ("CodeEntity", "definition"),
    ("IssueConnection", "timeToClose"),
    ("MergeRequest", "timeToFirstReview"),
    ("MergeRequestConnection", "timeToFirstReview"),
    ("MergeRequestConnection", "timeToMerge"),
    ("Person", "accounts"),
    ("Person", "addresses"),
    ("Person", "names"),
    ("Project", "commit"),
    ("Project", "release"),
    ("Project", "updatedAt"),
    ("Tag", "release"),
];
/// Types of which one query measures a duration for all that are in a list.
const MEASURED_TYPES: [&str; 2] = ["Group", "PeriodCount"];
/// Fields of these types that are durations.
const DURATIONS: [&str; 3] = ["timeToClose", "timeToFirstReview", "timeToMerge"];
/// Arguments that say how many items a field returns.
const SIZES: [&str; 3] = ["first", "last", "ids"];
/// What is grouped has as many groups as it is asked for.
const GROUPS: &str = "Groups";
/// Types of which there are many in a list without pages: one for each period of a time, entry of a directory, span of lines,
/// comment on a file, earlier version of lines, or node that is gone.
const LONG_LISTS: [&str; 8] =
    ["Activity", "EarlierVersion", "FileComment", "LineOrigin", "LineSpan", "PeriodCount", "RemovedNode", "TreeEntry"];
/// Types and their nodes, of which there are several for each hit of a search.
const NODES_OF_MANY: [(&str, &str); 2] = [("SearchCandidate", "node"), ("SearchFacetValue", "node")];
/// A type and its list of nodes that has as many as a page may.
const LONG_LIST_OF: (&str, &str) = ("Changed", "nodes");
/// The argument of lists of nodes.
const ORDER: &str = "orderBy";
/// Arguments of lists that name a range of revisions, which is read from a clone.
const RANGE: [&str; 2] = ["from", "to"];

/// Returns what an operation costs, given the values of its variables.
pub(super) fn measure(selections: Selections<'_>, operation: &OperationDefinition, variables: &Variables) -> usize {
    let mut meter = CostMeter { selections, operation, variables, known: HashMap::new() };
    meter.cost_of_set(&operation.selection_set.node, selections.root_type(operation.ty), 1)
}

struct CostMeter<'a> {
    selections: Selections<'a>,
    operation: &'a OperationDefinition,
    variables: &'a Variables,
    /// The cost of selection sets, by their address, the type that they select from and the size of the page.
    known: HashMap<(*const SelectionSet, &'a str, usize), usize>,
}

impl<'a> CostMeter<'a> {
    /// The cost of an object of the type that costs most. `page` is the size of the page if the type is a connection.
    fn cost_of_set(&mut self, set: &'a SelectionSet, type_name: &'a str, page: usize) -> usize {
        let key = (std::ptr::from_ref(set), type_name, page);
        if set.items.is_empty() {
            return 0;
        }
        if let Some(cost) = self.known.get(&key) {
            return *cost;
        }
        let mut most = 0;
        for object in self.selections.object_types(type_name) {
            let fields = self.selections.fields(set, object);
            let cost = fields.into_iter().map(|field| self.cost_of_field(object, field, page)).sum();
            most = most.max(cost);
        }
        self.known.insert(key, most.min(MAX_COST));
        most.min(MAX_COST)
    }

    fn cost_of_field(&mut self, parent: &'a str, field: &'a Field, page: usize) -> usize {
        let name = field.name.node.as_str();
        let fields = self.selections.registry.types.get(parent).and_then(MetaType::fields);
        // Validation refuses fields that do not exist.
        let Some(meta) = fields.and_then(|fields| fields.get(name)) else { return 1 };
        let returned = MetaTypeName::concrete_typename(&meta.ty);
        let size = self.size(meta, field);
        let is_list = MetaTypeName::create(&meta.ty).is_list();
        let is_root = parent == self.selections.root_type(self.operation.ty);
        let (times, inner_page) = if is_connection(returned) {
            (1, size.unwrap_or(DEFAULT_PAGE))
        } else if is_list && is_connection(parent) {
            (page, 1)
        } else if is_list && (LONG_LISTS.contains(&returned) || (parent, name) == LONG_LIST_OF) {
            (MAX_PAGE, 1)
        } else if NODES_OF_MANY.contains(&(parent, name)) {
            (FEW, 1)
        } else if let Some(size) = size {
            (size, 1)
        } else if is_list && is_root {
            (DEFAULT_PAGE, 1)
        } else if is_list && self.is_node(returned) {
            (FEW, 1)
        } else {
            (1, 1)
        };
        let own = match name {
            _ if name.starts_with("__") => 1,
            _ if is_root && READ_EVERYTHING.contains(&name) => EVERYTHING,
            _ if (parent, name) == PARSES_FILES => EVERYTHING,
            _ if is_root || QUERIES.contains(&name) => QUERY,
            _ if QUERIED_TYPES.contains(&returned) || QUERIES_OF.contains(&(parent, name)) => QUERY,
            _ if meta.args.contains_key(ORDER) && RANGE.iter().any(|name| field.get_argument(name).is_some()) => QUERY,
            _ if meta.args.contains_key(ORDER) => LIST,
            _ => 1,
        };
        let durations = self.count_durations(field, returned) * QUERY;
        let child = self.cost_of_set(&field.selection_set.node, returned, inner_page);
        child.saturating_mul(times).min(MAX_COST) + own + durations
    }

    /// How many durations a field selects of the groups or periods that it returns; each is a query.
    fn count_durations(&self, field: &'a Field, returned: &str) -> usize {
        if !MEASURED_TYPES.contains(&returned) {
            return 0;
        }
        let fields = self.selections.fields(&field.selection_set.node, returned);
        DURATIONS.iter().filter(|name| fields.iter().any(|selected| selected.name.node.as_str() == **name)).count()
    }

    /// How many items a field is asked for; `None` if it has no argument for that.
    fn size(&self, meta: &MetaField, field: &Field) -> Option<usize> {
        let mut usual = None;
        for (name, argument) in SIZES.iter().filter_map(|name| Some((name, meta.args.get(*name)?))) {
            if let Some(size) = self.given_size(field, name) {
                return Some(size.min(MAX_PAGE));
            }
            let default = argument.default_value.as_deref().and_then(|value| value.parse().ok());
            usual = usual.or(Some(default.unwrap_or(DEFAULT_PAGE)));
        }
        usual.map(|size| size.min(MAX_PAGE))
    }

    fn given_size(&self, field: &Field, name: &str) -> Option<usize> {
        let given = field.get_argument(name)?.node.clone();
        match given.into_const_with(|name| self.variable(&name).ok_or(())).ok()? {
            // A size that is out of bounds is refused when the field is read, with a message that tells why.
            Value::Number(size) => size.as_i64().map(|size| usize::try_from(size).unwrap_or(0)),
            Value::List(ids) => Some(ids.len()),
            Value::Null => None,
            // A single value stands for a list of one.
            _ => Some(1),
        }
    }

    fn variable(&self, name: &Name) -> Option<Value> {
        let definition =
            self.operation.variable_definitions.iter().find(|definition| definition.node.name.node == *name);
        let default = || definition.and_then(|definition| definition.node.default_value());
        self.variables.get(name).or_else(default).cloned()
    }

    fn is_node(&self, type_name: &str) -> bool {
        let node = self.selections.registry.types.get("Node");
        type_name == "Node" || type_name == "Thread" || node.is_some_and(|node| node.is_possible_type(type_name))
    }
}

fn is_connection(type_name: &str) -> bool {
    type_name.ends_with("Connection") || type_name == GROUPS
}
