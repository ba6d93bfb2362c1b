//! SPARQL of users: one query over what a handle of the graph shows, within limits of time, memory, rows and bytes.
//! The queries of backstory itself are in `queries`.

mod dataset;
mod guarded;
mod meter;

use std::{
    io::{self, Write},
    sync::Arc,
    thread,
    time::Duration,
};

use backstory_model::{id::NAMESPACE, text::truncate_echo};
use oxigraph::{
    io::{JsonLdProfileSet, RdfFormat, RdfSerializer},
    model::{GraphName, NamedNode, NamedOrBlankNode, Triple},
    sparql::results::{QueryResultsFormat, QueryResultsSerializer},
};
use serde::{Deserialize, Serialize};
use spareval::{QueryEvaluationError, QueryEvaluator, QueryResults};
use spargebra::{Query, SparqlParser};

use super::{
    Cancel, Graph, GraphError,
    quads::{DCTERMS, FOAF, SIOC},
};
use crate::guard::catch_panic;
use dataset::VisibleDataset;
pub(in crate::graph) use dataset::shows_quad;
use meter::{Excess, Meter};

pub use meter::{MAX_MEMORY, MAX_TEXT, MAX_TIME, SparqlLimits};

/// Longest text of a SPARQL query, in bytes.
pub const MAX_QUERY_BYTES: usize = 16 << 10;
/// Most rows or triples that a SPARQL query may answer.
pub const MAX_ANSWER_ROWS: u64 = 100_000;
/// Most bytes of such an answer.
pub const MAX_ANSWER_BYTES: usize = 32 << 20;
/// Most brackets of a SPARQL query that are open at a time.
pub const MAX_NESTING: usize = 64;
/// Most constructs within one another that the parser may have to read twice, each of which doubles its time.
pub const MAX_REREAD: usize = 6;
/// How these constructs begin, besides `!`. The parser tries the form with another argument first.
const REREAD: [&str; 4] = ["regex", "substr", "replace", "group_concat"];
/// Most graphs that a request may name.
pub const MAX_GRAPHS: usize = 100;
/// What parser and evaluator recurse in; only what they use of it is ever taken.
const STACK: usize = 256 << 20;

/// The prefixes that queries need not declare, and that answers use.
pub(super) const PREFIXES: [(&str, &str); 9] = [
    ("bs", NAMESPACE),
    ("dcterms", DCTERMS),
    ("foaf", FOAF),
    ("owl", "http://www.w3.org/2002/07/owl#"),
    ("prov", "http://www.w3.org/ns/prov#"),
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("sioc", SIOC),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
];

/// How an answer is written: tables in the first four, graphs in the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResultFormat {
    /// SPARQL results as JSON.
    Json,
    /// SPARQL results as XML.
    Xml,
    /// Values separated by commas.
    Csv,
    /// Terms separated by tabs.
    Tsv,
    /// Turtle.
    Turtle,
    /// N-Triples.
    NTriples,
    /// JSON-LD.
    JsonLd,
}

impl ResultFormat {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::Json, Self::Xml, Self::Csv, Self::Tsv, Self::Turtle, Self::NTriples, Self::JsonLd];

    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/sparql-results+json",
            Self::Xml => "application/sparql-results+xml",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Tsv => "text/tab-separated-values; charset=utf-8",
            Self::Turtle => "text/turtle; charset=utf-8",
            Self::NTriples => "application/n-triples",
            Self::JsonLd => "application/ld+json",
        }
    }

    fn of_table(self) -> Option<QueryResultsFormat> {
        match self {
            Self::Json => Some(QueryResultsFormat::Json),
            Self::Xml => Some(QueryResultsFormat::Xml),
            Self::Csv => Some(QueryResultsFormat::Csv),
            Self::Tsv => Some(QueryResultsFormat::Tsv),
            Self::Turtle | Self::NTriples | Self::JsonLd => None,
        }
    }

    /// Whether it is one for graphs.
    pub fn is_of_graphs(self) -> bool {
        self.of_table().is_none()
    }
}

/// A query, the graphs that it is asked of, and how its answer may be written.
#[derive(Clone, Debug, Default)]
pub struct SparqlQuery {
    /// The query.
    pub text: String,
    /// The graphs that are the default graph together; all visible ones if neither these nor `named_graphs` are given.
    pub default_graphs: Vec<String>,
    /// The named graphs that can be asked.
    pub named_graphs: Vec<String>,
    /// How it may be written, the best first; any if empty.
    pub formats: Vec<ResultFormat>,
}

/// What a query answered.
#[derive(Clone, Debug)]
pub struct SparqlText {
    /// How it is written.
    pub format: ResultFormat,
    /// The answer.
    pub text: String,
    /// How many rows or triples it has; of an ASK query 1.
    pub rows: u64,
    /// How many quads were read for it.
    pub quads_read: u64,
}

/// Why a query was not answered.
#[derive(Debug, thiserror::Error)]
pub enum SparqlError {
    /// It is not a query that is answered; why.
    #[error("{0}")]
    Refused(String),
    /// It has no such form.
    #[error("{0}")]
    NotAcceptable(&'static str),
    /// It took too long.
    #[error("the query took longer than {} s", .0.as_secs())]
    TooLong(Duration),
    /// It needs or answers too much.
    #[error("{0}")]
    TooLarge(String),
    /// Nobody waits for it any more.
    #[error("the query was cancelled")]
    Cancelled,
    /// The graph cannot be read.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

impl Graph {
    /// Answers a SELECT, ASK, CONSTRUCT or DESCRIBE query over what this handle shows.
    ///
    /// The default graph is the union of all named graphs, in which each triple is once.
    ///
    /// # Errors
    /// It is no query, it exceeds a limit, or the store cannot be read.
    pub fn answer_sparql(
        &self,
        query: &SparqlQuery,
        limits: SparqlLimits,
        cancel: &Cancel,
    ) -> Result<SparqlText, SparqlError> {
        check_text(query)?;
        let meter = Arc::new(Meter::new(limits, cancel.clone()));
        let evaluation = || evaluate(self, query, &meter);
        let outcome = thread::scope(|scope| {
            let thread = thread::Builder::new().name("sparql".to_owned()).stack_size(STACK);
            let running = thread.spawn_scoped(scope, || catch_panic(evaluation));
            running.map(|running| running.join().unwrap_or_else(|_| Err("the evaluator failed".to_owned())))
        });
        let no_thread = |error: io::Error| GraphError::of_store(format!("no thread for a SPARQL query: {error}"));
        let outcome = outcome.map_err(no_thread)?;
        match meter.excess() {
            Some(excess) => Err(excess_error(excess, limits)),
            None => match outcome {
                Ok(Err(SparqlError::Graph(GraphError::Damaged(reason)))) => {
                    self.health.damage.note(&reason);
                    Err(GraphError::Damaged(reason).into())
                }
                Ok(answer) => answer,
                Err(panic) => Err(failed(panic).into()),
            },
        }
    }
}

fn excess_error(excess: Excess, limits: SparqlLimits) -> SparqlError {
    match excess {
        Excess::Time => SparqlError::TooLong(limits.time),
        Excess::Cancelled => SparqlError::Cancelled,
        Excess::Memory => {
            SparqlError::TooLarge(format!("the query needs more than {} MiB of memory", limits.memory >> 20))
        }
        Excess::Text => SparqlError::TooLarge(format!(
            "an expression of the query makes a text of more than {} KiB",
            MAX_TEXT >> 10
        )),
    }
}

fn failed(reason: String) -> GraphError {
    GraphError::Query { query: "of the request", reason }
}

/// Refuses what the parser must not see.
fn check_text(query: &SparqlQuery) -> Result<(), SparqlError> {
    if query.text.len() > MAX_QUERY_BYTES {
        let refusal = format!("the query has {} bytes; at most {MAX_QUERY_BYTES}", query.text.len());
        return Err(SparqlError::Refused(refusal));
    }
    if query.default_graphs.len() + query.named_graphs.len() > MAX_GRAPHS {
        return Err(SparqlError::Refused(format!("the request names more than {MAX_GRAPHS} graphs")));
    }
    check_nesting(&query.text)
}

/// Refuses what the parser would recurse in too deeply or take exponential time for. Texts and comments count as the rest
/// does, since what they are is up to the parser.
fn check_nesting(text: &str) -> Result<(), SparqlError> {
    let (mut depth, mut parentheses, mut deepest) = (0_usize, 0_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'(' => parentheses += 1,
            b')' => parentheses = parentheses.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(parentheses);
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(SparqlError::Refused(format!(
                "more than {MAX_NESTING} brackets of the query are open at a time"
            )));
        }
    }
    let lower = text.to_ascii_lowercase();
    let negations = lower.matches('!').count() - lower.matches("!=").count();
    let reread = negations + REREAD.iter().map(|word| lower.matches(word).count()).sum::<usize>();
    // Each has a parenthesis of its own.
    if reread.min(deepest) > MAX_REREAD {
        return Err(SparqlError::Refused(format!(
            "more than {MAX_REREAD} of !, REGEX, SUBSTR, REPLACE and GROUP_CONCAT may be in one another"
        )));
    }
    Ok(())
}

/// How a query and an update may begin, after their prologue.
const QUERIES: [&str; 4] = ["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"];
const UPDATES: [&str; 11] =
    ["INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH", "USING"];
/// What a refused update says.
const NO_UPDATES: &str = "updates are refused: the graph follows from what forges and repositories say";

/// Says of a text that is no query if it is an update, or does not begin as a query does: the parser tells neither apart.
fn check_beginning(text: &str) -> Result<(), SparqlError> {
    let (at, word) = first_keyword(text);
    let upper = word.to_ascii_uppercase();
    if QUERIES.contains(&upper.as_str()) {
        return Ok(());
    }
    let begins = "a query begins with SELECT, ASK, CONSTRUCT or DESCRIBE";
    if UPDATES.contains(&upper.as_str()) {
        return Err(SparqlError::Refused(format!("{NO_UPDATES}; {begins}")));
    }
    if word.is_empty() && text.get(at..).is_none_or(|rest| rest.trim().is_empty()) {
        return Err(SparqlError::Refused(format!("the query is not SPARQL 1.1: it is missing; {begins}")));
    }
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let found = if word.is_empty() { text[at..].chars().take(1).collect() } else { truncate_echo(word).into_owned() };
    Err(SparqlError::Refused(format!("the query is not SPARQL 1.1: '{found}' at {line}:{column}; {begins}")))
}

/// Where the first word after comments, BASE and PREFIX begins, and the word.
fn first_keyword(text: &str) -> (usize, &str) {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        let end = trimmed.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
        let word = &trimmed[..end];
        let skipped = if trimmed.starts_with('#') {
            trimmed.find(['\n', '\r']).unwrap_or(trimmed.len())
        } else if word.eq_ignore_ascii_case("BASE") || word.eq_ignore_ascii_case("PREFIX") {
            end_of_iri(trimmed)
        } else {
            return (at, word);
        };
        at += skipped;
    }
}

/// Where the first IRI of a text ends that stands in no comment; the end of the text if there is none.
fn end_of_iri(text: &str) -> usize {
    let mut at = 0;
    while let Some(found) = text[at..].find(['#', '<']) {
        at += found;
        let rest = &text[at..];
        if rest.starts_with('<') {
            return rest.find('>').map_or(text.len(), |end| at + end + 1);
        }
        at += rest.find(['\n', '\r']).unwrap_or(rest.len());
    }
    text.len()
}

fn parse(text: &str) -> Result<Query, SparqlError> {
    let mut parser = SparqlParser::new();
    for (prefix, iri) in PREFIXES {
        parser = parser.with_prefix(prefix, iri).map_err(|error| failed(error.to_string()))?;
    }
    parser.clone().parse_query(text).or_else(|error| {
        check_beginning(text)?;
        Err(SparqlError::Refused(match parser.parse_update(text) {
            Ok(_) => NO_UPDATES.to_owned(),
            Err(_) => format!("the query is not SPARQL 1.1: {error}"),
        }))
    })
}

fn evaluate(graph: &Graph, query: &SparqlQuery, meter: &Arc<Meter>) -> Result<SparqlText, SparqlError> {
    let mut parsed = parse(&query.text)?;
    guarded::guard_query(&mut parsed).map_err(|refusal| SparqlError::Refused(refusal.to_owned()))?;
    let evaluator = guarded::with_functions(QueryEvaluator::new(), meter);
    let mut prepared = evaluator.prepare(&parsed);
    if !query.default_graphs.is_empty() || !query.named_graphs.is_empty() {
        let defaults = parse_graphs(&query.default_graphs)?.into_iter().map(GraphName::from).collect();
        let named = parse_graphs(&query.named_graphs)?.into_iter().map(NamedOrBlankNode::from).collect();
        prepared.dataset_mut().set_default_graph(defaults);
        prepared.dataset_mut().set_available_named_graphs(named);
    }
    let dataset = VisibleDataset::new(graph, meter.clone())?;
    let results = prepared.execute(dataset).map_err(unanswered)?;
    write_results(results, &query.formats, meter)
}

fn parse_graphs(names: &[String]) -> Result<Vec<NamedNode>, SparqlError> {
    let parse = |name: &String| {
        NamedNode::new(name)
            .map_err(|error| SparqlError::Refused(format!("'{name}' is not the IRI of a graph: {error}")))
    };
    names.iter().map(parse).collect()
}

fn unanswered(error: QueryEvaluationError) -> SparqlError {
    match error {
        QueryEvaluationError::Dataset(error) => match error.downcast::<GraphError>() {
            Ok(error) => SparqlError::Graph(*error),
            Err(error) => SparqlError::Graph(GraphError::of_store(error.to_string())),
        },
        QueryEvaluationError::Cancelled => SparqlError::Cancelled,
        error => SparqlError::Refused(format!("the query cannot be evaluated: {error}")),
    }
}

fn write_results(
    results: QueryResults<'_>,
    formats: &[ResultFormat],
    meter: &Meter,
) -> Result<SparqlText, SparqlError> {
    let is_graph = matches!(results, QueryResults::Graph(_));
    let mut fitting = formats.iter().copied().filter(|format| format.is_of_graphs() == is_graph);
    let format = match fitting.next() {
        Some(format) => format,
        None if formats.is_empty() && is_graph => ResultFormat::Turtle,
        None if formats.is_empty() => ResultFormat::Json,
        None if is_graph => {
            return Err(SparqlError::NotAcceptable(
                "a CONSTRUCT or DESCRIBE query answers Turtle, N-Triples or JSON-LD",
            ));
        }
        None => return Err(SparqlError::NotAcceptable("a SELECT or ASK query answers JSON, XML, CSV or TSV")),
    };
    let mut rows = 0;
    let mut count = || {
        rows += 1;
        if rows <= MAX_ANSWER_ROWS { Ok(()) } else { Err(too_many_rows()) }
    };
    let written = match results {
        QueryResults::Graph(triples) => {
            let triples = triples.map(|triple| {
                count()?;
                triple.map_err(unanswered)
            });
            write_triples(format, triples)?
        }
        QueryResults::Boolean(value) => {
            count()?;
            let serializer = QueryResultsSerializer::from_format(table_format(format));
            serializer.serialize_boolean_to_writer(BoundedText::default(), value).map_err(unwritten)?
        }
        QueryResults::Solutions(solutions) => {
            let variables = solutions.variables().to_vec();
            let serializer = QueryResultsSerializer::from_format(table_format(format));
            let mut writer =
                serializer.serialize_solutions_to_writer(BoundedText::default(), variables).map_err(unwritten)?;
            for solution in solutions {
                let solution = solution.map_err(unanswered)?;
                count()?;
                writer.serialize(&solution).map_err(unwritten)?;
            }
            writer.finish().map_err(unwritten)?
        }
    };
    Ok(SparqlText { format, text: written.into_text()?, rows, quads_read: meter.quads() })
}

fn table_format(format: ResultFormat) -> QueryResultsFormat {
    format.of_table().unwrap_or(QueryResultsFormat::Json)
}

fn too_many_rows() -> SparqlError {
    SparqlError::TooLarge(format!("the answer has more than {MAX_ANSWER_ROWS} rows"))
}

/// Writes triples as a graph.
pub(super) fn write_triples(
    format: ResultFormat,
    triples: impl IntoIterator<Item = Result<Triple, SparqlError>>,
) -> Result<BoundedText, SparqlError> {
    let format = match format {
        ResultFormat::NTriples => RdfFormat::NTriples,
        ResultFormat::JsonLd => RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() },
        _ => RdfFormat::Turtle,
    };
    let mut serializer = RdfSerializer::from_format(format);
    for (prefix, iri) in PREFIXES {
        serializer = serializer.with_prefix(prefix, iri).map_err(|error| failed(error.to_string()))?;
    }
    let mut writer = serializer.for_writer(BoundedText::default());
    for triple in triples {
        writer.serialize_triple(&triple?).map_err(unwritten)?;
    }
    writer.finish().map_err(unwritten)
}

#[expect(clippy::needless_pass_by_value, reason = "errors are mapped with it")]
fn unwritten(error: io::Error) -> SparqlError {
    if error.kind() == io::ErrorKind::FileTooLarge {
        return SparqlError::TooLarge(format!("the answer has more than {} MiB", MAX_ANSWER_BYTES >> 20));
    }
    failed(error.to_string()).into()
}

/// An answer while it is written: at most [`MAX_ANSWER_BYTES`] bytes.
#[derive(Default)]
pub(super) struct BoundedText(Vec<u8>);

impl BoundedText {
    pub(super) fn into_text(self) -> Result<String, SparqlError> {
        String::from_utf8(self.0).map_err(|error| failed(error.to_string()).into())
    }
}

impl Write for BoundedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_ANSWER_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_of_a_query_is_found_behind_its_prologue() {
        for (text, word) in [
            ("SELECT * {}", "SELECT"),
            ("# why > what\nBASE <urn:a#b>\nPREFIX s: # a > b\r\n<urn:x#>ask {}", "ask"),
            ("PREFIX s: <urn:x#> # <urn:y>\nCLEAR ALL", "CLEAR"),
            ("PREFIX s: # <urn:x#>", ""),
            ("PREFIX s: <urn:x#", ""),
            ("", ""),
        ] {
            assert_eq!(first_keyword(text).1, word, "{text}");
        }
    }
}
