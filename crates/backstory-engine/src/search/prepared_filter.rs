//! A filter as documents are held against it: what follows from it alone is prepared once, since some searches look at all
//! documents that there are.

use std::collections::HashSet;

use backstory_model::filter::{Filter, lower_case};
use backstory_store::index::{DocumentFacts, PathPart};

/// A filter, prepared for many documents.
#[derive(Clone, Debug, Default)]
pub(crate) struct PreparedFilter {
    filter: Filter,
    /// In lower case.
    authors: HashSet<String>,
    /// In lower case.
    labels: Vec<String>,
    paths: Vec<PathPart>,
    /// Those of the languages.
    extensions: Vec<PathPart>,
    nodes: HashSet<String>,
    excluded: HashSet<String>,
}

impl PreparedFilter {
    pub(crate) fn of(filter: &Filter) -> Self {
        Self {
            authors: filter.authors.iter().map(|author| lower_case(author).into_owned()).collect(),
            labels: filter.labels.iter().map(|label| lower_case(label).into_owned()).collect(),
            paths: filter.paths.iter().map(|prefix| PathPart::beginning(prefix)).collect(),
            extensions: filter.extensions().into_iter().map(PathPart::extension).collect(),
            nodes: filter.nodes.iter().cloned().collect(),
            excluded: filter.exclude.iter().cloned().collect(),
            filter: filter.clone(),
        }
    }

    /// Whether a document meets all conditions.
    pub(crate) fn is_met_by(&self, id: &str, facts: &DocumentFacts) -> bool {
        let filter = &self.filter;
        let has_part = |part: &PathPart| facts.has_path_with(part);
        (filter.kinds.is_empty() || filter.kinds.contains(&facts.kind))
            && (filter.document_types.is_empty() || filter.document_types.contains(&facts.document_type))
            && filter.after.is_none_or(|after| facts.created_at >= after)
            && filter.before.is_none_or(|before| facts.created_at < before)
            && filter.project.as_deref().is_none_or(|project| *project == *facts.project)
            && (filter.projects.is_empty() || filter.projects.iter().any(|project| **project == *facts.project))
            && filter.state.is_none_or(|state| facts.state == Some(state))
            && (self.nodes.is_empty() || is_of(&self.nodes, id, facts))
            && !self.excludes(id, facts)
            && (self.authors.is_empty() || facts.author.as_deref().is_some_and(|own| self.is_author(own)))
            && self.labels.iter().all(|label| facts.labels.iter().any(|own| lower_case(own) == *label))
            && (self.paths.is_empty() || self.paths.iter().any(has_part))
            && (filter.languages.is_empty() || self.extensions.iter().any(has_part))
    }

    /// Whether a document is left out whatever else it is.
    pub(crate) fn excludes(&self, id: &str, facts: &DocumentFacts) -> bool {
        is_of(&self.excluded, id, facts)
    }

    fn is_author(&self, name: &str) -> bool {
        self.authors.contains(&*lower_case(name))
    }
}

/// Whether a document is one of these, or a part of one.
fn is_of(nodes: &HashSet<String>, id: &str, facts: &DocumentFacts) -> bool {
    nodes.contains(id) || nodes.contains(&*facts.thread)
}
