//! The status of a decision: merged, closed, open, committed.

use backstory_model::{
    answer::Standing,
    entity::{Issue, Item, MergeRequest, State},
    id::{NodeId, ThreadId},
    repository::Record,
    time::utc_date,
};

use crate::{error::Result, introduction::merge_requests_introducing, read::item_of_node, resources::Resources};

/// Where what an item is about stands; `None` for what has no state.
pub(crate) fn decision_status(resources: &Resources, id: &NodeId) -> Result<Option<Standing>> {
    match item_of_node(resources, id)? {
        Some(Item::MergeRequest(mr)) => Ok(Some(of_merge_request(&mr))),
        Some(Item::Issue(issue)) => issue_status(resources, &issue).map(Some),
        Some(Item::Repository(of)) => match &of.record {
            Record::Commit(record) => {
                let carrier = merge_requests_introducing(resources, &of.project, record.commit.sha)?.into_iter().next();
                let carrier = match carrier {
                    Some(carrier) => merge_request_status(resources, &carrier.id)?,
                    None => None,
                };
                if let Some(mr) = carrier {
                    return Ok(Some(of_merge_request(&mr)));
                }
                let (sha, at) = (record.commit.sha.to_string(), record.commit.committer.at);
                let text = format!("committed as {} on {}", &sha[..8], utc_date(at));
                Ok(Some(Standing { text, id: id.to_string(), url: None }))
            }
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

fn issue_status(resources: &Resources, issue: &Issue) -> Result<Standing> {
    for request in &issue.closed_by_requests {
        if let Some(mr) = merge_request_status(resources, request)? {
            return Ok(of_merge_request(&mr));
        }
    }
    let text = match (issue.thread.state, issue.thread.closed_at) {
        (State::Opened, _) => format!("{} is still open", issue.id),
        (_, Some(at)) => format!("{} was closed on {}", issue.id, utc_date(at)),
        (_, None) => format!("{} was closed", issue.id),
    };
    Ok(Standing { text, id: issue.id.to_string(), url: address(&issue.thread.web_url) })
}

fn merge_request_status(resources: &Resources, id: &ThreadId) -> Result<Option<MergeRequest>> {
    Ok(match item_of_node(resources, &id.clone().into())? {
        Some(Item::MergeRequest(mr)) if mr.merged_at.is_some() => Some(mr),
        _ => None,
    })
}

fn of_merge_request(mr: &MergeRequest) -> Standing {
    let text = match (mr.thread.state, mr.merged_at, mr.thread.closed_at) {
        (_, Some(at), _) => format!("merged in {} on {}", mr.id, utc_date(at)),
        (State::Opened, ..) => format!("{} is still open", mr.id),
        (State::Merged, ..) => format!("merged in {}", mr.id),
        (_, None, Some(at)) => format!("{} was closed without a merge on {}", mr.id, utc_date(at)),
        (_, None, None) => format!("{} was closed without a merge", mr.id),
    };
    Standing { text, id: mr.id.to_string(), url: address(&mr.thread.web_url) }
}

fn address(url: &str) -> Option<String> {
    Some(url.to_owned()).filter(|url| !url.is_empty())
}
