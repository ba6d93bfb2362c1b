//! `annotate`: writes something about a node, with tags, and shows what was written.

use std::collections::BTreeMap;

use backstory_engine::{
    enrich::{AnnotateRequest, AnnotatedNode, Annotation, AnnotationChange, ChangeAnnotation, ListAnnotations},
    model::place::describe_lines,
};

use super::{
    Session,
    place::{self, NodePlace},
};
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{FAINT, STRONG, Terminal, escape_terminal, minute},
};

/// Annotate a file, a function, a commit, an issue or a merge request, with tags; or show annotations
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory annotate src/auth.rs 'Do not change the order: the cache depends on it' --tag fragile
  backstory annotate 'group/project!7' 'Reviewed for the audit' --kind review --tag audit-2027 --approved
  backstory annotate group/project:src/auth.rs
  backstory annotate --tag fragile
  backstory annotate group/project:src/auth.rs --remove 1
  backstory search 'why the order' --tag fragile")]
pub(super) struct Args {
    /// PATH, PATH:10-20, PATH#SYMBOL, a symbol, a commit, #12, !7, a person, or a whole reference like group/project!7
    #[arg(value_name = "REFERENCE")]
    reference: Option<String>,
    /// What to write about it; without it, its annotations are shown
    #[arg(value_name = "TEXT", requires = "reference")]
    text: Option<String>,
    /// A tag (repeatable)
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Kind of annotation, in a word [default: note]
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// What made it [default: person]
    #[arg(long, value_name = "NAME", requires = "text")]
    source: Option<String>,
    /// The text in a sentence
    #[arg(long, value_name = "TEXT", requires = "text")]
    summary: Option<String>,
    /// Mark it as approved
    #[arg(long, requires = "text")]
    approved: bool,
    /// Remove the annotation with this number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["text", "approve"], requires = "reference")]
    remove: Option<u32>,
    /// Approve the annotation with this number
    #[arg(long, value_name = "NUMBER", conflicts_with = "text", requires = "reference")]
    approve: Option<u32>,
    /// Project of the reference, if it cannot be inferred
    #[arg(long, value_name = "PROJECT", requires = "reference")]
    project: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "annotate", || Ok(())).await?;
    let terminal = &session.terminal;
    let (id, lines) = match &args.reference {
        Some(reference) => {
            let NodePlace { id, lines } =
                place::find_node(session, &client, reference, args.project.as_deref()).await?;
            (Some(id), lines)
        }
        None => (None, None),
    };
    let change = args.remove.map(|number| (number, AnnotationChange::Remove));
    let change = change.or(args.approve.map(|number| (number, AnnotationChange::Approve)));
    let (kind, tags) = (args.kind.clone(), args.tags.clone());
    match (id, &args.text, change) {
        (Some(id), Some(text), _) => {
            let request = AnnotateRequest {
                id: id.clone(),
                kind,
                source: args.source.clone(),
                content: text.clone(),
                summary: args.summary.clone(),
                tags,
                lines,
                metadata: BTreeMap::new(),
                approved: args.approved,
            };
            let annotation = client.answer(request).await?;
            if args.json {
                return Ok(terminal.json(&annotation)?);
            }
            Ok(terminal.line(format_args!("Annotated {} ({})", escape_terminal(&id.to_string()), annotation.number))?)
        }
        (Some(id), None, Some((number, change))) => {
            let annotations = client.answer(ChangeAnnotation { id: id.clone(), number, change }).await?;
            if args.json {
                return Ok(terminal.json(&annotations)?);
            }
            print_node(terminal, &AnnotatedNode { id, annotations })
        }
        (id, None, _) => {
            let found = client.answer(ListAnnotations { id, tags, kinds: kind.into_iter().collect() }).await?;
            if args.json {
                return Ok(terminal.json(&found)?);
            }
            if found.is_empty() {
                return Ok(terminal.line("No annotation matches.")?);
            }
            found.iter().try_for_each(|node| print_node(terminal, node))
        }
        (None, Some(_), _) => Err(Failure::usage("say what the text is about")),
    }
}

fn print_node(terminal: &Terminal, node: &AnnotatedNode) -> Result<()> {
    terminal.line(format_args!("{STRONG}{}{STRONG:#}", escape_terminal(&node.id.to_string())))?;
    node.annotations.iter().try_for_each(|annotation| print(terminal, annotation))
}

fn print(terminal: &Terminal, annotation: &Annotation) -> Result<()> {
    let Annotation { number, kind, source, content, tags, approved, created_at, lines, .. } = annotation;
    let tags: String = tags.iter().map(|tag| format!(" [{tag}]")).collect();
    let approved = if *approved { ", approved" } else { "" };
    let lines = lines.map_or_else(String::new, |lines| format!(", {}", describe_lines(lines)));
    let (when, who) = (minute(*created_at), escape_terminal(&annotation.author));
    terminal.line(format_args!(
        "  {number} {}{} {FAINT}{}, {who}, {when}{lines}{approved}{FAINT:#}",
        escape_terminal(kind),
        escape_terminal(&tags),
        escape_terminal(source),
    ))?;
    terminal.line(format_args!("    {}", escape_terminal(content)))?;
    Ok(())
}
