//! The lines of `doctor` on projects: how fresh each is, whether as much is stored as its forge lists, and what cannot
//! be read.

use backstory_engine::{
    settings::{Forge, ForgeKind},
    sources::forge::{Client as ForgeClient, PageStart, ThreadList},
    status::{ProjectFreshness, SyncStatus, SyncStatusRequest},
};
use jiff::{SignedDuration, Timestamp};

use super::{Report, connection, repos};
use crate::{
    cli::status::{group_failures, quarantine_lines},
    client::Client,
    config::Config,
    output::pluralize,
};

/// How many times as long as its schedule says a project may not have been read.
const LATE: i32 = 3;

/// How many of what a list has are known.
fn known(of: &ProjectFreshness, list: ThreadList) -> u64 {
    match list {
        ThreadList::Issues => of.issues,
        ThreadList::MergeRequests => of.merge_requests,
        ThreadList::Both => of.issues + of.merge_requests,
    }
}

pub(super) async fn check(client: &Client, config: &Config, report: &mut Report) {
    let SyncStatus { freshness, groups, quarantine, .. } = match client.answer(SyncStatusRequest { runs: 0 }).await {
        Ok(status) => status,
        Err(failure) => return report.fail("freshness", failure),
    };
    if let Some((count, lines)) = quarantine_lines(&quarantine) {
        report.warn("quarantine", count);
        lines.iter().for_each(|line| report.warn("quarantine", line));
    }
    group_failures(&groups).for_each(|failure| report.warn("groups", failure));
    let every = config.settings.schedule.sync.filter(|_| client.uses_server());
    for of in freshness {
        let forge = config.settings.forges.iter().find(|forge| forge.projects.contains(&of.project));
        let mut differs = Vec::new();
        if let Some(forge) = forge {
            differs = differences(forge, &of).await;
        }
        let project = &of.project;
        if let Some(forge) = forge.filter(|forge| forge.kind == ForgeKind::GitLab) {
            report.ok("confidential", confidential(forge, &of));
        }
        let failure = repos::failure(&format!("the forge of {project}"), of.failed_at, of.last_error.as_deref());
        if let Some(failure) = failure {
            report.warn("freshness", failure);
        }
        let Some(at) = of.synced_at else {
            report.warn("freshness", format_args!("{project} was never read to the end; 'backstory sync' reads it"));
            continue;
        };
        let age = Timestamp::now().duration_since(at);
        let read = format!("{project} was read {} ago", shown(age));
        if !differs.is_empty() {
            let differs = differs.join("; ");
            let why = "'backstory sync --reconcile' reads the difference, unless those are confidential";
            report.warn("freshness", format_args!("{read}; {differs}; {why}"));
        } else if every.is_some_and(|every| age > every * LATE) {
            let why = "the server should have read it since; 'backstory jobs list' says why not";
            report.warn("freshness", format_args!("{read}; {why}"));
        } else {
            report.ok("freshness", read);
        }
    }
}

/// What is kept of what only some may see.
fn confidential(forge: &Forge, of: &ProjectFreshness) -> String {
    let project = &of.project;
    if !forge.reads_confidential() {
        return format!("confidential issues and internal notes of {project} are left out");
    }
    let issues = pluralize(of.confidential_issues, "confidential issue", "confidential issues");
    let internal = pluralize(of.internal_discussions, "internal discussion", "internal discussions");
    format!("{issues} and {internal} of {project} are kept")
}

/// What the forge lists otherwise than it is known. A forge that does not answer has been told of before.
async fn differences(forge: &Forge, of: &ProjectFreshness) -> Vec<String> {
    let Ok(client) = ForgeClient::new(forge.kind, &connection(forge)) else { return Vec::new() };
    let mut found = Vec::new();
    for list in ThreadList::of(forge.kind) {
        let first = PageStart::Since { since: None, etag: None };
        let Ok(page) = client.threads_page(&of.project, *list, &first).await else { continue };
        let known = known(of, *list);
        match page.total {
            Some(total) if total != known => {
                found.push(format!("the forge lists {total} {}, {known} are known", list.name()))
            }
            _ => {}
        }
    }
    found
}

/// `3 min`, in the largest unit.
fn shown(age: SignedDuration) -> String {
    let seconds = age.as_secs().max(0);
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
