//! `list`

use clap::ValueEnum;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Session,
    arguments::{State, parse_user, short},
    repos,
};
use crate::{
    client::Client,
    failure::Result,
    output::{minute, plain},
};

const ISSUES: &str = include_str!("../../../../queries/graphql/issues.graphql");
const MERGE_REQUESTS: &str = include_str!("../../../../queries/graphql/merge_requests.graphql");

/// Most items of one request.
const PAGE: usize = 100;

/// List issues or merge requests, the one that changed last first
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory list issues --limit 10
  backstory list mrs --state merged --author johndoe
  backstory list issues --project group/project --label bug --json")]
pub(super) struct Args {
    /// What to list
    #[arg(value_enum)]
    what: What,
    /// Only of this project
    #[arg(long, value_name = "GROUP/PROJECT")]
    project: Option<String>,
    /// Only those that stand there
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Only those that this user opened
    #[arg(long, value_name = "USER", value_parser = parse_user)]
    author: Option<String>,
    /// Only those with this label
    #[arg(long)]
    label: Option<String>,
    /// Most to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    Issues,
    /// Merge requests.
    #[value(alias = "merge-requests", alias = "merge_requests")]
    Mrs,
}

#[derive(Deserialize)]
struct Answer {
    list: Page,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    nodes: Vec<Node>,
    page_info: PageInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    id: String,
    iid: u64,
    title: Option<String>,
    state: Option<String>,
    author: Option<Person>,
    labels: Vec<Label>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    web_url: Option<String>,
    source_branch: Option<String>,
    target_branch: Option<String>,
}

#[derive(Deserialize)]
struct Person {
    username: String,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

/// An issue or merge request for programs.
#[derive(Serialize)]
struct Item {
    id: String,
    iid: u64,
    title: String,
    state: String,
    author: Option<String>,
    labels: Vec<String>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_branch: Option<String>,
}

impl From<Node> for Item {
    fn from(node: Node) -> Self {
        Self {
            id: node.id,
            iid: node.iid,
            title: node.title.unwrap_or_default(),
            state: node.state.unwrap_or_default().to_lowercase(),
            author: node.author.map(|author| author.username),
            labels: node.labels.into_iter().map(|label| label.name).collect(),
            created_at: node.created_at,
            updated_at: node.updated_at,
            url: node.web_url.unwrap_or_default(),
            source_branch: node.source_branch,
            target_branch: node.target_branch,
        }
    }
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "list", || Ok(())).await?;
    repos::require_projects(session, &client, args.project.as_slice()).await?;
    let (items, warnings) = read(&client, args).await?;
    warnings.iter().for_each(|warning| session.terminal.note(warning));
    if args.json {
        return Ok(session.terminal.json(&items)?);
    }
    if items.is_empty() {
        let what = if args.what == What::Issues { "issues" } else { "merge requests" };
        return Ok(session.terminal.line(format_args!("No {what} found."))?);
    }
    print(session, args.what, &items)
}

/// What is listed, and what to say of names that nothing has.
async fn read(client: &Client, args: &Args) -> Result<(Vec<Item>, Vec<String>)> {
    let query = if args.what == What::Issues { ISSUES } else { MERGE_REQUESTS };
    let filter = json!({
        "project": args.project, "state": args.state.map(State::api_name), "author": args.author, "label": args.label,
    });
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let mut items: Vec<Item> = Vec::new();
    let mut warnings = Vec::new();
    let mut after: Option<String> = None;
    while items.len() < limit {
        let first = (limit - items.len()).min(PAGE);
        let variables = json!({ "filter": filter, "first": first, "after": after });
        let (Answer { list }, told) = client.run_warned(query, variables).await?;
        warnings.extend(told);
        items.extend(list.nodes.into_iter().map(Item::from));
        match list.page_info.end_cursor.filter(|_| list.page_info.has_next_page) {
            Some(end) => after = Some(end),
            None => break,
        }
    }
    Ok((items, warnings))
}

fn print(session: &Session, what: What, items: &[Item]) -> Result<()> {
    // Numbers alone are clear within one project only.
    let several = session.config()?.settings.projects().count() > 1;
    let mut headings = vec!["iid", "title", "state", "author"];
    headings.extend((what == What::Mrs).then_some("branch"));
    headings.push("updated");
    let row = |item: &Item| {
        let mut row = vec![
            if several { item.id.clone() } else { short(&item.id).to_owned() },
            session.terminal.title(&item.title),
            item.state.clone(),
            format!("@{}", item.author.as_deref().unwrap_or("deleted")),
        ];
        row.extend(item.source_branch.as_deref().filter(|_| what == What::Mrs).map(plain));
        row.push(item.updated_at.map(minute).unwrap_or_default());
        row
    };
    Ok(session.terminal.table(&headings, &[], items.iter().map(row).collect())?)
}
