//! `show`: shows an issue, merge request, discussion or commit.

mod answer;
mod commit;
mod page;

use backstory_engine::{
    error::ErrorKind,
    model::id::{NodeId, ThreadId, ThreadKind},
    read::not_found,
};
use serde_json::json;

use super::{Session, arguments::parse_reference};
use crate::{
    client::Client,
    failure::{Failure, Result},
};
use answer::{Discussion, DiscussionAnswer, DiscussionsAnswer, ReferenceAnswer, Thread, ThreadAnswer};

const ISSUE: &str = include_str!("../../../../queries/graphql/issue.graphql");
const ISSUE_DISCUSSIONS: &str = include_str!("../../../../queries/graphql/issue_discussions.graphql");
const MERGE_REQUEST: &str = include_str!("../../../../queries/graphql/merge_request.graphql");
const MERGE_REQUEST_DISCUSSIONS: &str = include_str!("../../../../queries/graphql/merge_request_discussions.graphql");
const REFERENCE: &str = include_str!("../../../../queries/graphql/reference.graphql");
const DISCUSSION: &str = include_str!("../../../../queries/graphql/discussion.graphql");

/// Show an issue or merge request with its discussions and links, a single discussion, or a commit
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory show 'group/project#12'
  backstory show 'group/project!7' --json
  backstory show issue 12
  backstory show group/project@1a2b3c4

Without a project, or --project, the only configured one is meant. Quote what has # or !, which shells read otherwise.")]
pub(super) struct Args {
    /// group/project#12, group/project!7, #12, !7, issue 12, mr 7, the id of a discussion, or group/project@1a2b3c4
    #[arg(required = true, num_args = 1..=2, value_name = "REFERENCE")]
    reference: Vec<String>,
    /// Project that a number without one is of
    #[arg(long, value_name = "GROUP/PROJECT")]
    project: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let id = parse_reference(&args.reference, args.project.as_deref(), session.config()?)?;
    match &id {
        NodeId::Thread(thread) => show_thread(session, args, thread).await,
        NodeId::Discussion { .. } => show_discussion(session, args, &id).await,
        NodeId::Commit { .. } => commit::show(session, args, &id).await,
        _ => Err(Failure::usage(format!(
            "{id} is neither an issue, nor a merge request, nor a discussion, nor a commit; write group/project#12, \
             group/project!7 or group/project@1a2b3c4"
        ))),
    }
}

async fn show_thread(session: &Session, args: &Args, id: &ThreadId) -> Result<()> {
    let client = Client::open(session, "show", || Ok(())).await?;
    let (id, thread) = match find(&client, id).await? {
        Some(thread) => (id.clone(), thread),
        None => {
            let what = what(id.kind).0;
            let meant = meant(&client, id).await?.ok_or_else(|| not_found(what, &id.to_string()))?;
            let thread = find(&client, &meant).await?.ok_or_else(|| not_found(what, &id.to_string()))?;
            (meant, thread)
        }
    };
    let discussions = all_discussions(&client, what(id.kind).2, &id.clone().into()).await?;
    if args.json {
        return Ok(session.terminal.json(&thread.for_programs(id.kind, &discussions))?);
    }
    page::print_thread(&session.terminal, id.kind, &thread, &discussions)
}

/// What it is called, and how it and its discussions are asked for.
fn what(kind: ThreadKind) -> (&'static str, &'static str, &'static str) {
    match kind {
        ThreadKind::Issue => ("issue", ISSUE, ISSUE_DISCUSSIONS),
        ThreadKind::MergeRequest => ("merge request", MERGE_REQUEST, MERGE_REQUEST_DISCUSSIONS),
    }
}

async fn find(client: &Client, id: &ThreadId) -> Result<Option<Thread>> {
    let answer: ThreadAnswer = client.run(what(id.kind).1, json!({ "ref": id.to_string() })).await?;
    Ok(answer.thread)
}

/// The other that a number can mean, if it does.
async fn meant(client: &Client, id: &ThreadId) -> Result<Option<ThreadId>> {
    let answer: ReferenceAnswer = client.run(REFERENCE, json!({ "ref": id.to_string() })).await?;
    Ok(match answer.node.and_then(|node| node.id?.parse().ok()) {
        Some(NodeId::Thread(meant)) if meant != *id => Some(meant),
        _ => None,
    })
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
