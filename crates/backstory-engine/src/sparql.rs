//! SPARQL queries over the graph, and single nodes as RDF, as far as a visibility shows them.

use std::time::{Duration, Instant};

use backstory_model::id::NodeId;
use backstory_store::graph::{
    Cancel,
    sparql::{ResultFormat, SparqlError, SparqlLimits, SparqlQuery},
};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{
    error::{Error, ErrorKind, Result, message},
    read::resolve_id,
    resources::{Resources, blocking},
    use_case::{QueryLanguage, UseCase, Weight},
};

/// Most SPARQL queries that are evaluated at a time, since each may hold as much memory as `MAX_MEMORY` of the graph says.
const MAX_RUNNING: usize = 2;
/// How long a query waits for others to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// From when on a query is logged as slow.
const SLOW: Duration = Duration::from_secs(1);
/// The right to evaluate a query.
static TURNS: Semaphore = Semaphore::const_new(MAX_RUNNING);

/// Requests the answer to a SPARQL query: SELECT, ASK, CONSTRUCT or DESCRIBE.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparqlRequest {
    /// The query.
    pub query: String,
    /// IRIs of the named graphs that are the default graph together; all if neither these nor `named_graphs` are given.
    #[serde(default)]
    pub default_graphs: Vec<String>,
    /// IRIs of the named graphs that the query can ask with GRAPH.
    #[serde(default)]
    pub named_graphs: Vec<String>,
    /// How the answer may be written, the best first; empty for JSON of a table and Turtle of a graph.
    #[serde(default)]
    pub formats: Vec<ResultFormat>,
}

/// The answer to a SPARQL query.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparqlAnswer {
    /// How it is written.
    pub format: ResultFormat,
    /// The answer in this format.
    pub text: String,
    /// How many rows or triples it has.
    pub rows: u64,
    /// How long that took.
    pub took_ms: u64,
}

impl UseCase for SparqlRequest {
    const NAME: &'static str = "sparql";
    const WEIGHT: Weight = Weight::Heavy;
    const QUERY_LANGUAGE: Option<QueryLanguage> = Some(QueryLanguage::Sparql);
    type Answer = SparqlAnswer;

    async fn run(self, resources: &Resources) -> Result<SparqlAnswer> {
        answer_sparql(resources, self).await
    }
}

/// Requests what is known of a node, as RDF.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DescribeRequest {
    /// The node.
    pub id: NodeId,
    /// A format for graphs; `turtle` if absent.
    #[serde(default = "default_format")]
    pub format: ResultFormat,
}

const fn default_format() -> ResultFormat {
    ResultFormat::Turtle
}

/// What is known of a node, as RDF.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Description {
    /// The node, with its id in full.
    pub id: NodeId,
    /// How it is written.
    pub format: ResultFormat,
    /// The graph in this format.
    pub text: String,
}

impl UseCase for DescribeRequest {
    const NAME: &'static str = "describe";
    type Answer = Description;

    async fn run(self, resources: &Resources) -> Result<Description> {
        describe_node(resources, self).await
    }
}

/// Stops a query when nobody waits for it any more.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Answers a query at one sequence number. It ends when its future is dropped.
///
/// # Errors
/// It is no query that is answered, it exceeds a limit, or the graph cannot be read.
async fn answer_sparql(resources: &Resources, request: SparqlRequest) -> Result<SparqlAnswer> {
    let started = Instant::now();
    let SparqlRequest { query, default_graphs, named_graphs, formats } = request;
    let query = SparqlQuery { text: query, default_graphs, named_graphs, formats };
    let cancel = CancelOnDrop(Cancel::default());
    let step = || {
        let (graph, query, cancel) = (resources.graph(), query.clone(), cancel.0.clone());
        async move {
            let turn = take_turn().await?;
            let evaluate = move || {
                // It is given back when the evaluation has ended, not when nobody waits for it any more.
                let _turn = turn;
                graph.answer_sparql(&query, SparqlLimits::default(), &cancel).map_err(sparql_error)
            };
            blocking(evaluate).await
        }
    };
    let answer = resources.at_one_sequence_number(step).await?;
    let took = started.elapsed();
    if took >= SLOW {
        // Not in the answer: it would tell how much there is that must not show.
        let (rows, quads) = (answer.rows, answer.quads_read);
        tracing::warn!(ms = took.as_millis(), rows, quads, query = message(&query.text), "a slow SPARQL query");
    }
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    Ok(SparqlAnswer { format: answer.format, text: answer.text, rows: answer.rows, took_ms })
}

async fn take_turn() -> Result<SemaphorePermit<'static>> {
    match tokio::time::timeout(PATIENCE, TURNS.acquire()).await {
        Ok(Ok(turn)) => Ok(turn),
        _ => Err(Error::new(ErrorKind::Busy, "too many SPARQL queries are being evaluated")
            .with_hint("ask again in a few seconds")),
    }
}

/// Describes a node.
///
/// # Errors
/// Nothing is known of it, the format is none for graphs, or the graph cannot be read.
async fn describe_node(resources: &Resources, request: DescribeRequest) -> Result<Description> {
    let DescribeRequest { id, format } = request;
    if !format.is_of_graphs() {
        return Err(Error::invalid("a node is described in Turtle, N-Triples or JSON-LD"));
    }
    let id = resolve_id(resources, id).await?;
    let graph = resources.graph();
    let node = id.clone();
    let text = blocking(move || graph.describe(&node, format).map_err(sparql_error)).await?;
    let unknown = || Error::new(ErrorKind::NotFound, format!("nothing is known about {id}"));
    Ok(Description { text: text.ok_or_else(unknown)?, id, format })
}

fn sparql_error(error: SparqlError) -> Error {
    match error {
        SparqlError::Graph(error) => error.into(),
        SparqlError::TooLong(_) => {
            Error::new(ErrorKind::Timeout, error.to_string()).with_hint("bind more of its variables, or add LIMIT")
        }
        SparqlError::TooLarge(_) => {
            Error::invalid(error.to_string()).with_hint("bind more of its variables, or add LIMIT")
        }
        SparqlError::Cancelled => Error::new(ErrorKind::Timeout, error.to_string()),
        SparqlError::Refused(_) | SparqlError::NotAcceptable(_) => Error::invalid(error.to_string()),
    }
}
