//! Every SPARQL query, one file each in `queries/`; its header gives its inputs and columns.
//!
//! `bs:isVisible(?graph)` is true for named graphs that the caller may see. Every query but the checks has to ask it.

/// A query.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// Its file in `queries/`.
    pub file: &'static str,
    /// SPARQL.
    pub text: &'static str,
}

macro_rules! query {
    ($file:literal) => {
        Query { file: $file, text: include_str!(concat!("../../../../queries/", $file)) }
    };
}

/// Commits that changed a file or code entity, newest first.
pub const CHANGES: Query = query!("changes.rq");
/// Code entities that commits removed, by their name.
pub const REMOVED_ENTITIES: Query = query!("removed_entities.rq");
/// How many nodes of each class there are.
pub const NODE_COUNTS: Query = query!("node_counts.rq");

/// A rule that the graph must meet: the query finds what breaks it, in the column `node`.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// What must hold, as a sentence.
    pub rule: &'static str,
    /// Finds nodes for which it does not.
    pub query: Query,
}

/// Every rule.
pub const CHECKS: &[Check] = &[
    Check { rule: "every note belongs to a discussion", query: query!("checks/note_without_discussion.rq") },
    Check { rule: "every discussion has a note", query: query!("checks/discussion_without_note.rq") },
    Check {
        rule: "a comment that nobody can reply to is the only note of its discussion",
        query: query!("checks/individual_discussion_with_several_notes.rq"),
    },
    Check {
        rule: "every discussion belongs to one issue or merge request that exists",
        query: query!("checks/discussion_without_thread.rq"),
    },
    Check { rule: "no discussion ends before it begins", query: query!("checks/discussion_ends_before_it_begins.rq") },
    Check {
        rule: "every issue and merge request belongs to a project that exists",
        query: query!("checks/thread_without_project.rq"),
    },
    Check {
        rule: "every issue and merge request has a title, a state, a number and times",
        query: query!("checks/thread_incomplete.rq"),
    },
    Check { rule: "every label that is used exists", query: query!("checks/label_unknown.rq") },
    Check { rule: "every milestone that is used exists", query: query!("checks/milestone_unknown.rq") },
    Check {
        rule: "every author exists; one who was renamed at the forge does after 'backstory sync --full'",
        query: query!("checks/author_unknown.rq"),
    },
    Check { rule: "every address is an http address", query: query!("checks/link_invalid.rq") },
    Check { rule: "only diff notes stand on files", query: query!("checks/position_without_diff_note.rq") },
    Check { rule: "every branch points at a commit that is known", query: query!("checks/branch_without_commit.rq") },
    Check {
        rule: "every commit's parents are known, unless its history is cut off",
        query: query!("checks/commit_without_parent.rq"),
    },
    Check { rule: "every code entity is in a file", query: query!("checks/entity_without_file.rq") },
];
