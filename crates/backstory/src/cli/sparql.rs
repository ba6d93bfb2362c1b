//! `sparql`: answers a SPARQL query over the graph.

use std::{fs, io::Read as _, path::PathBuf};

use backstory_engine::{
    error::ErrorKind,
    graph::sparql::{MAX_QUERY_BYTES, ResultFormat},
    sparql::SparqlRequest,
};
use clap::ValueEnum;

use super::Session;
use crate::{
    client::Client,
    failure::{Failure, Result, reason},
};

/// Answer a SPARQL query over the graph
///
/// SELECT, ASK, CONSTRUCT and DESCRIBE are answered. The default graph is the union of all named graphs; the prefixes bs,
/// dcterms, foaf, owl, prov, rdf, rdfs, sioc and xsd need not be declared.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory sparql 'SELECT ?issue ?title { ?issue a bs:Issue ; dcterms:title ?title } LIMIT 5' --format csv
  backstory sparql 'DESCRIBE <urn:backstory:node:group/project/-/issues/12>'
  backstory sparql --file query.rq")]
pub(super) struct Args {
    /// The query
    #[arg(required_unless_present = "file")]
    query: Option<String>,
    /// Read the query from a file, '-' for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    file: Option<PathBuf>,
    /// How to write the answer [default: json for tables, turtle for graphs]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

/// How an answer is written.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Json,
    Xml,
    Csv,
    Tsv,
    Turtle,
    Ntriples,
    Jsonld,
}

impl From<Format> for ResultFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Xml => Self::Xml,
            Format::Csv => Self::Csv,
            Format::Tsv => Self::Tsv,
            Format::Turtle => Self::Turtle,
            Format::Ntriples => Self::NTriples,
            Format::Jsonld => Self::JsonLd,
        }
    }
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let query = match &args.file {
        Some(file) => read_query(file)?,
        None => args.query.clone().unwrap_or_default(),
    };
    let client = Client::open(session, "sparql", || Ok(())).await?;
    let formats = args.format.map(ResultFormat::from).into_iter().collect();
    let answer = client.answer(SparqlRequest { query, formats, ..SparqlRequest::default() }).await?;
    Ok(session.terminal.data(&answer.text)?)
}

fn read_query(file: &PathBuf) -> Result<String> {
    let unread = |error: std::io::Error| {
        Failure::new(ErrorKind::Invalid, format!("cannot read the query from '{}': {}", file.display(), reason(&error)))
    };
    let mut text = String::new();
    // One byte more than is allowed tells that there are too many.
    let most = MAX_QUERY_BYTES as u64 + 1;
    if file.as_os_str() == "-" {
        std::io::stdin().lock().take(most).read_to_string(&mut text).map_err(unread)?;
    } else {
        fs::File::open(file).map_err(unread)?.take(most).read_to_string(&mut text).map_err(unread)?;
    }
    Ok(text)
}
