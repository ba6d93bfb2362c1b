//! `show`

mod answer;
mod page;

use backstory_engine::{
    error::ErrorKind,
    model::id::{NodeId, ThreadKind},
    read::not_found,
};
use serde_json::json;

use super::{Session, arguments::parse_reference};
use crate::{
    client::Client,
    failure::{Failure, Result},
};
use answer::{Discussion, DiscussionAnswer, DiscussionsAnswer, Thread, ThreadAnswer};

const ISSUE: &str = include_str!("../../../../queries/graphql/issue.graphql");
const ISSUE_DISCUSSIONS: &str = include_str!("../../../../queries/graphql/issue_discussions.graphql");
const MERGE_REQUEST: &str = include_str!("../../../../queries/graphql/merge_request.graphql");
const MERGE_REQUEST_DISCUSSIONS: &str = include_str!("../../../../queries/graphql/merge_request_discussions.graphql");
const DISCUSSION: &str = include_str!("../../../../queries/graphql/discussion.graphql");

/// Show an issue or merge request with its discussions and links, or a single discussion
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory show 'group/project#12'
  backstory show 'group/project!7' --json
  backstory show issue 12

Without a project the only configured one is meant. Quote what has # or !, which shells read otherwise.")]
pub(super) struct Args {
    /// group/project#12, group/project!7, #12, !7, issue 12, mr 7, or the id of a discussion
    #[arg(required = true, num_args = 1..=2, value_name = "REFERENCE")]
    reference: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let id = parse_reference(&args.reference, session.config()?)?;
    match &id {
        NodeId::Thread(thread) => show_thread(session, args, &id, thread.kind).await,
        NodeId::Discussion { .. } => show_discussion(session, args, &id).await,
        _ => Err(Failure::usage(format!(
            "{id} is neither an issue, nor a merge request, nor a discussion; write group/project#12 or group/project!7"
        ))),
    }
}

async fn show_thread(session: &Session, args: &Args, id: &NodeId, kind: ThreadKind) -> Result<()> {
    let (what, query, discussions) = match kind {
        ThreadKind::Issue => ("issue", ISSUE, ISSUE_DISCUSSIONS),
        ThreadKind::MergeRequest => ("merge request", MERGE_REQUEST, MERGE_REQUEST_DISCUSSIONS),
    };
    let client = Client::open(session, "show", || Ok(())).await?;
    let answer: ThreadAnswer = client.run(query, json!({ "ref": id.to_string() })).await?;
    let thread = answer.thread.ok_or_else(|| not_found(what, &id.to_string()))?;
    let discussions = all_discussions(&client, discussions, id).await?;
    if args.json {
        return Ok(session.terminal.json(&thread.for_programs(kind, &discussions))?);
    }
    page::print_thread(&session.terminal, kind, &thread, &discussions)
}

async fn all_discussions(client: &Client, query: &str, id: &NodeId) -> Result<Vec<Discussion>> {
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let answer: DiscussionsAnswer = client.run(query, json!({ "ref": id.to_string(), "after": after })).await?;
        let gone = || Failure::new(ErrorKind::NotFound, format!("{id} was deleted while it was being read"));
        let page = answer.thread.ok_or_else(gone)?.discussions;
        all.extend(page.nodes);
        match page.page_info.end_cursor.filter(|_| page.page_info.has_next_page) {
            Some(end) => after = Some(end),
            None => return Ok(all),
        }
    }
}

async fn show_discussion(session: &Session, args: &Args, id: &NodeId) -> Result<()> {
    let client = Client::open(session, "show", || Ok(())).await?;
    let answer: DiscussionAnswer = client.run(DISCUSSION, json!({ "ref": id.to_string() })).await?;
    let found = answer.discussion.ok_or_else(|| not_found("discussion", &id.to_string()))?;
    if args.json {
        return Ok(session.terminal.json(&found.for_programs())?);
    }
    let Thread { id: parent, title, .. } = found.thread.unwrap_or_default();
    session.terminal.line(format_args!("Discussion on {parent} - {}\n", page::title(title.as_deref())))?;
    page::print_discussion(&session.terminal, &found.discussion)
}
