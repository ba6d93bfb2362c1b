//! What queries of all lists have in common.

use backstory_model::visibility::Visibility;

use super::{
    Lists,
    code::{EntityQuery, EntityRow, FileQuery, FileRow},
    commits::{CommitQuery, CommitRow},
    discussions::{DiscussionQuery, DiscussionRow},
    people::{PersonQuery, PersonRow},
    planning::{LabelQuery, LabelRow, MilestoneQuery, MilestoneRow},
    projects::{ProjectQuery, ProjectRow},
    refs::{RefKey, RefQuery},
    select::{Page, PageRequest, Total},
    threads::{ThreadQuery, ThreadRow},
};
use crate::ledger_error::LedgerError;

/// Requests rows of any list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListQuery {
    /// Issues or merge requests.
    Threads(Box<ThreadQuery>),
    /// Discussions.
    Discussions(Box<DiscussionQuery>),
    /// Commits.
    Commits(Box<CommitQuery>),
    /// Files.
    Files(Box<FileQuery>),
    /// Code entities.
    Entities(Box<EntityQuery>),
    /// Branches or tags.
    Refs(Box<RefQuery>),
    /// Labels.
    Labels(Box<LabelQuery>),
    /// Milestones.
    Milestones(Box<MilestoneQuery>),
    /// Projects.
    Projects(Box<ProjectQuery>),
    /// People.
    People(Box<PersonQuery>),
}

/// Whose names a query has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Those of people.
    Person,
    /// Those of labels.
    Label,
}

/// A query of one list.
pub trait RowQuery: Clone + Into<ListQuery> + Send + 'static {
    /// What the list has.
    type Row: Send + 'static;

    /// A page of it.
    ///
    /// # Errors
    /// The database cannot be read.
    fn page(
        &self,
        lists: &Lists,
        request: &PageRequest,
        visibility: &Visibility,
    ) -> Result<Page<Self::Row>, LedgerError>;

    /// How many rows it selects: from the record if it has one filter at most, else counted up to [`MAX_COUNTED`](super::MAX_COUNTED).
    ///
    /// # Errors
    /// The database cannot be read.
    fn total(&self, lists: &Lists, visibility: &Visibility) -> Result<Total, LedgerError> {
        let none = PageRequest { with_total: true, ..PageRequest::default() };
        Ok(self.page(lists, &none, visibility)?.total.unwrap_or_default())
    }

    /// Full paths of the projects it is restricted to.
    fn projects(&self) -> &[String];

    /// Names of people and labels in it.
    fn names(&mut self) -> Vec<(Named, &mut Vec<String>)>;

    /// Paths of files and directories in it; `None` if it is not filtered by such.
    fn paths(&mut self) -> Option<&mut Vec<String>> {
        None
    }

    /// Other texts in it: paths, names of entities and languages, parts of names.
    fn texts(&self) -> Vec<&[String]>;
}

/// A query with the list that it is of, the method that reads a page of it, and where it has texts.
macro_rules! row_query {
    (
        $query:ident => $list:ident, $row:ident, $page:ident,
        projects: $($projects:ident).+,
        people: [$($($person:ident).+),*],
        labels: [$($($label:ident).+),*],
        texts: [$($text:ident),*]
        $(, paths: $paths:ident)? $(,)?
    ) => {
        impl RowQuery for $query {
            type Row = $row;

            fn page(
                &self,
                lists: &Lists,
                request: &PageRequest,
                visibility: &Visibility,
            ) -> Result<Page<$row>, LedgerError> {
                lists.$page(self, request, visibility)
            }

            fn projects(&self) -> &[String] {
                &self.$($projects).+
            }

            fn names(&mut self) -> Vec<(Named, &mut Vec<String>)> {
                vec![
                    $((Named::Person, &mut self.$($person).+),)*
                    $((Named::Label, &mut self.$($label).+),)*
                ]
            }

            $(
                fn paths(&mut self) -> Option<&mut Vec<String>> {
                    Some(&mut self.$paths)
                }
            )?

            fn texts(&self) -> Vec<&[String]> {
                vec![$(self.$text.as_slice()),*]
            }
        }

        impl From<$query> for ListQuery {
            fn from(query: $query) -> Self {
                Self::$list(Box::new(query))
            }
        }
    };
}

row_query! {
    ThreadQuery => Threads, ThreadRow, threads,
    projects: filter.projects,
    people: [
        filter.authors, filter.assignees, filter.reviewers, filter.asked, filter.approvers, filter.no_approver,
        filter.participants, filter.mentioned
    ],
    labels: [filter.any_label, filter.all_labels, filter.no_label],
    texts: [],
}
row_query! {
    DiscussionQuery => Discussions, DiscussionRow, discussions,
    projects: projects,
    people: [authors, participants, mentioned],
    labels: [],
    texts: [paths],
    paths: paths,
}
row_query! {
    CommitQuery => Commits, CommitRow, commits,
    projects: projects,
    people: [authors],
    labels: [],
    texts: [paths],
    paths: paths,
}
row_query! {
    FileQuery => Files, FileRow, files,
    projects: projects,
    people: [],
    labels: [],
    texts: [paths, languages],
    paths: paths,
}
row_query! {
    EntityQuery => Entities, EntityRow, entities,
    projects: projects,
    people: [],
    labels: [],
    texts: [paths, names],
    paths: paths,
}
row_query! { RefQuery => Refs, RefKey, refs, projects: projects, people: [], labels: [], texts: [text] }
row_query! { LabelQuery => Labels, LabelRow, labels, projects: projects, people: [], labels: [], texts: [text] }
row_query! { MilestoneQuery => Milestones, MilestoneRow, milestones, projects: projects, people: [], labels: [], texts: [text] }
row_query! { ProjectQuery => Projects, ProjectRow, projects, projects: projects, people: [], labels: [], texts: [text] }
row_query! { PersonQuery => People, PersonRow, people, projects: projects, people: [], labels: [], texts: [text] }
