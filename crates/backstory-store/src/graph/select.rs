//! Answers the queries of `queries/`: values that are bound to their variables, and the rows of an answer.

use backstory_model::id::NodeId;
use oxigraph::{
    model::{Literal, NamedNode, Term, vocab::xsd},
    sparql::{CancellationToken, QueryEvaluationError, QueryResults, Variable},
};

use super::{Graph, GraphError, MAX_ROWS, quads, queries::Query};

/// Stops a query that takes too long.
#[derive(Clone, Default)]
pub struct Cancel(CancellationToken);

impl Cancel {
    /// Stops the query.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether it was stopped.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// A value bound to a variable of a query.
#[derive(Clone, Debug)]
pub enum Value {
    /// A node.
    Node(NodeId),
    /// A class or property, by its IRI.
    Iri(String),
    /// A string.
    Text(String),
    /// A number.
    Number(i64),
    /// An instant.
    Instant(jiff::Timestamp),
}

impl Value {
    /// Stands for every node where a query takes a node or any.
    pub fn any() -> Self {
        Self::Iri("urn:backstory:any".to_owned())
    }
}

impl From<Value> for Term {
    fn from(value: Value) -> Self {
        match value {
            Value::Node(id) => quads::node(&id).into(),
            Value::Iri(iri) => NamedNode::new_unchecked(iri).into(),
            Value::Text(text) => Literal::new_simple_literal(text).into(),
            Value::Number(number) => Literal::from(number).into(),
            Value::Instant(at) => Literal::new_typed_literal(at.to_string(), xsd::DATE_TIME).into(),
        }
    }
}

/// A row of an answer.
#[derive(Clone, Debug)]
pub struct Row(Vec<(String, Term)>);

impl Row {
    fn term(&self, column: &str) -> Option<&Term> {
        self.0.iter().find(|(name, _)| name == column).map(|(_, term)| term)
    }

    /// The node in a column.
    pub fn node(&self, column: &str) -> Option<NodeId> {
        match self.term(column)? {
            Term::NamedNode(iri) => NodeId::from_iri(iri.as_str()),
            _ => None,
        }
    }

    /// The text in a column: of a literal its value, of an IRI itself.
    pub fn text(&self, column: &str) -> Option<&str> {
        match self.term(column)? {
            Term::NamedNode(iri) => Some(iri.as_str()),
            Term::Literal(literal) => Some(literal.value()),
            Term::BlankNode(_) => None,
        }
    }

    /// The number in a column.
    pub fn number(&self, column: &str) -> Option<i64> {
        self.text(column)?.parse().ok()
    }
}

impl Graph {
    /// Answers one of the queries in `queries/`, over all items' graphs, at most [`MAX_ROWS`] rows.
    ///
    /// # Errors
    /// The query was cancelled, or the store refused.
    pub fn select(&self, query: Query, bind: Vec<(&str, Value)>, cancel: &Cancel) -> Result<Vec<Row>, GraphError> {
        self.guarded(|| {
            let failed = |reason: String| GraphError::Query { query: query.file, reason };
            let mut prepared = self
                .evaluator()
                .with_cancellation_token(cancel.0.clone())
                .parse_query(query.text)
                .map_err(|error| failed(error.to_string()))?;
            prepared.dataset_mut().set_default_graph_as_union();
            for (name, value) in bind {
                let variable = Variable::new(name).map_err(|error| failed(error.to_string()))?;
                prepared = prepared.substitute_variable(variable, Term::from(value));
            }
            let unanswered = |error: QueryEvaluationError| match error {
                QueryEvaluationError::Dataset(error) => GraphError::of_store(error.to_string()),
                error => failed(error.to_string()),
            };
            let results = prepared.on_store(&self.store).execute().map_err(unanswered)?;
            let QueryResults::Solutions(solutions) = results else {
                return Err(failed("it is no SELECT query".into()));
            };
            let row = |solution: oxigraph::sparql::QuerySolution| {
                Row(solution.iter().map(|(name, term)| (name.as_str().to_owned(), term.clone())).collect())
            };
            solutions.take(MAX_ROWS).map(|solution| solution.map(row).map_err(unanswered)).collect()
        })
    }
}
