//! The edge vocabulary: the names people see and the properties they are stored as.

use crate::id::NS;

const DCTERMS: &str = "http://purl.org/dc/terms/";
const SIOC: &str = "http://rdfs.org/sioc/ns#";

/// An edge from one node to another. `schema/backstory.ttl` says what each means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Edge {
    /// Person → what they wrote.
    Authored,
    /// Item → person.
    AssignedTo,
    /// Item → person, at some time.
    WasAssignedTo,
    /// Merge request → person, at some time.
    ReviewRequested,
    /// Person → merge request.
    Reviewed,
    /// Person → merge request.
    Approved,
    /// Person → discussion.
    Resolved,
    /// Merge request or commit → issue.
    Closes,
    /// Text → person.
    Mentions,
    /// Text → issue, merge request, commit.
    References,
    /// Discussion → issue or merge request; note → discussion; issue → project.
    PartOf,
    /// Note → the note before it.
    RepliesTo,
    /// Note → file.
    CommentsOn,
    /// Issue or merge request → label.
    Labeled,
    /// Issue or merge request → milestone.
    InMilestone,
    /// Merge request → commit.
    MergedAs,
    /// Issue ↔ issue or merge request.
    RelatesTo,
    /// Issue → issue.
    Blocks,
    /// Issue → issue.
    Duplicates,
}

impl Edge {
    /// Every edge.
    pub const ALL: [Self; 19] = [
        Self::Authored,
        Self::AssignedTo,
        Self::WasAssignedTo,
        Self::ReviewRequested,
        Self::Reviewed,
        Self::Approved,
        Self::Resolved,
        Self::Closes,
        Self::Mentions,
        Self::References,
        Self::PartOf,
        Self::RepliesTo,
        Self::CommentsOn,
        Self::Labeled,
        Self::InMilestone,
        Self::MergedAs,
        Self::RelatesTo,
        Self::Blocks,
        Self::Duplicates,
    ];

    /// Its name, upper case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Authored => "AUTHORED",
            Self::AssignedTo => "ASSIGNED_TO",
            Self::WasAssignedTo => "WAS_ASSIGNED_TO",
            Self::ReviewRequested => "REVIEW_REQUESTED",
            Self::Reviewed => "REVIEWED",
            Self::Approved => "APPROVED",
            Self::Resolved => "RESOLVED",
            Self::Closes => "CLOSES",
            Self::Mentions => "MENTIONS",
            Self::References => "REFERENCES",
            Self::PartOf => "PART_OF",
            Self::RepliesTo => "REPLIES_TO",
            Self::CommentsOn => "COMMENTS_ON",
            Self::Labeled => "LABELED",
            Self::InMilestone => "IN_MILESTONE",
            Self::MergedAs => "MERGED_AS",
            Self::RelatesTo => "RELATES_TO",
            Self::Blocks => "BLOCKS",
            Self::Duplicates => "DUPLICATES",
        }
    }

    /// The edge of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|edge| edge.name() == name)
    }

    /// IRI of the property it is stored as.
    pub fn iri(self) -> String {
        let (namespace, local) = match self {
            Self::Authored => (DCTERMS, "creator"),
            Self::References => (DCTERMS, "references"),
            Self::PartOf => (DCTERMS, "isPartOf"),
            Self::Mentions => (SIOC, "mentions"),
            Self::RepliesTo => (SIOC, "reply_of"),
            Self::AssignedTo => (NS, "assignedTo"),
            Self::WasAssignedTo => (NS, "wasAssignedTo"),
            Self::ReviewRequested => (NS, "reviewRequested"),
            Self::Reviewed => (NS, "reviewed"),
            Self::Approved => (NS, "approved"),
            Self::Resolved => (NS, "resolved"),
            Self::Closes => (NS, "closes"),
            Self::CommentsOn => (NS, "commentsOn"),
            Self::Labeled => (NS, "labeled"),
            Self::InMilestone => (NS, "inMilestone"),
            Self::MergedAs => (NS, "mergedAs"),
            Self::RelatesTo => (NS, "relatesTo"),
            Self::Blocks => (NS, "blocks"),
            Self::Duplicates => (NS, "duplicates"),
        };
        format!("{namespace}{local}")
    }

    /// The edge a property stands for.
    pub fn from_iri(iri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|edge| edge.iri() == iri)
    }

    /// Whether the property points from the edge's end to its start, as `dcterms:creator` does for AUTHORED.
    pub fn reversed(self) -> bool {
        self == Self::Authored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_properties_are_unique_and_read_back() {
        for edge in Edge::ALL {
            assert_eq!(Edge::from_name(edge.name()), Some(edge));
            assert_eq!(Edge::from_iri(&edge.iri()), Some(edge));
        }
    }
}
