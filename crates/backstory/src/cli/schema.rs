//! `schema`: prints the schema of the GraphQL API, or of one use case.

use backstory_engine::{
    model::text::truncate_echo,
    use_case::{UseCase, json_schema},
    use_cases::{Visitor, visit_all},
};
use serde_json::Value;

use super::Session;
use crate::failure::{Failure, Result};

/// Print the schema of the GraphQL API, in SDL, or the JSON Schema of a use case
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory schema > schema.graphql
  backstory schema trace

The JSON Schema of a use case describes what 'POST /api/v1/NAME' takes and answers.")]
pub(super) struct Args {
    /// Name of a use case, as in /api/v1/NAME
    #[arg(value_name = "NAME")]
    use_case: Option<String>,
}

/// Looks for a use case by its name.
struct Search<'a> {
    name: &'a str,
    schema: Option<Value>,
    known: Vec<&'static str>,
}

impl Visitor for Search<'_> {
    fn visit<U: UseCase>(&mut self) {
        self.known.push(U::NAME);
        if U::NAME == self.name {
            self.schema = Some(json_schema::<U>());
        }
    }
}

pub(super) fn run(session: &Session, args: &Args) -> Result<()> {
    let Some(name) = &args.use_case else {
        return Ok(session.terminal.line(backstory_server::sdl().trim_end())?);
    };
    let mut search = Search { name, schema: None, known: Vec::new() };
    visit_all(&mut search);
    let schema = search.schema.ok_or_else(|| {
        Failure::usage(format!("there is no use case '{}'; there are {}", truncate_echo(name), search.known.join(", ")))
    })?;
    Ok(session.terminal.json(&schema)?)
}
