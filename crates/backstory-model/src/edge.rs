//! The types of edges: the names that people see and the RDF properties that they are stored as.

use std::{collections::HashMap, sync::LazyLock};

use serde::{Deserialize, Serialize};

use crate::id::NAMESPACE;

const DCTERMS: &str = "http://purl.org/dc/terms/";
const OWL: &str = "http://www.w3.org/2002/07/owl#";
const SIOC: &str = "http://rdfs.org/sioc/ns#";

/// Edges by the IRIs of their properties, of which each statement that is read has one.
static BY_IRI: LazyLock<HashMap<String, Edge>> =
    LazyLock::new(|| Edge::ALL.into_iter().map(|edge| (edge.iri(), edge)).collect());

/// An edge from one node to another. `schema/backstory.ttl` says what each means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
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
    /// Commit → file or code entity whose lines it changes.
    Modifies,
    /// Commit → file or code entity that it adds.
    Introduces,
    /// Commit → file or code entity that it removes.
    Removes,
    /// Merge request that is not merged → file that it would change.
    Proposes,
    /// File or code entity → what it became when it was renamed or moved.
    ReplacedBy,
    /// Commit → commit that builds on it.
    ParentOf,
    /// Commit → merge commit that introduced it to the default branch.
    MergedBy,
    /// Commit → the tag of the first release that has it.
    ShippedIn,
    /// Person → commit that they made of another's change.
    Committed,
    /// Commit → issue, or commit that introduced the fault.
    Fixes,
    /// Commit → commit or merge request that it undoes.
    Reverts,
    /// Commit → commit that it repeats.
    CherryPickOf,
    /// Branch or tag → commit.
    PointsAt,
    /// File or code entity → code entity in it.
    Contains,
    /// Code entity or file → code entity; found by name.
    Calls,
    /// File → file; found by name.
    Imports,
    /// Type → type; found by name.
    Implements,
    /// Type → type; found by name.
    Extends,
    /// File or code entity → test; found by name and calls.
    VerifiedBy,
    /// File or code entity → what often changes in the same commit.
    CoEvolvesWith,
    /// Person by address → person by user name, or by a smaller address.
    SameAs,
}

impl Edge {
    /// Every edge.
    pub const ALL: [Self; 40] = [
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
        Self::Modifies,
        Self::Introduces,
        Self::Removes,
        Self::Proposes,
        Self::ReplacedBy,
        Self::ParentOf,
        Self::MergedBy,
        Self::ShippedIn,
        Self::Committed,
        Self::Fixes,
        Self::Reverts,
        Self::CherryPickOf,
        Self::PointsAt,
        Self::Contains,
        Self::Calls,
        Self::Imports,
        Self::Implements,
        Self::Extends,
        Self::VerifiedBy,
        Self::CoEvolvesWith,
        Self::SameAs,
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
            Self::Modifies => "MODIFIES",
            Self::Introduces => "INTRODUCES",
            Self::Removes => "REMOVES",
            Self::Proposes => "PROPOSES",
            Self::ReplacedBy => "REPLACED_BY",
            Self::ParentOf => "PARENT_OF",
            Self::MergedBy => "MERGED_BY",
            Self::ShippedIn => "SHIPPED_IN",
            Self::Committed => "COMMITTED",
            Self::Fixes => "FIXES",
            Self::Reverts => "REVERTS",
            Self::CherryPickOf => "CHERRY_PICK_OF",
            Self::PointsAt => "POINTS_AT",
            Self::Contains => "CONTAINS",
            Self::Calls => "CALLS",
            Self::Imports => "IMPORTS",
            Self::Implements => "IMPLEMENTS",
            Self::Extends => "EXTENDS",
            Self::VerifiedBy => "VERIFIED_BY",
            Self::CoEvolvesWith => "CO_EVOLVES_WITH",
            Self::SameAs => "SAME_AS",
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
            Self::AssignedTo => (NAMESPACE, "assignedTo"),
            Self::WasAssignedTo => (NAMESPACE, "wasAssignedTo"),
            Self::ReviewRequested => (NAMESPACE, "reviewRequested"),
            Self::Reviewed => (NAMESPACE, "reviewed"),
            Self::Approved => (NAMESPACE, "approved"),
            Self::Resolved => (NAMESPACE, "resolved"),
            Self::Closes => (NAMESPACE, "closes"),
            Self::CommentsOn => (NAMESPACE, "commentsOn"),
            Self::Labeled => (NAMESPACE, "labeled"),
            Self::InMilestone => (NAMESPACE, "inMilestone"),
            Self::MergedAs => (NAMESPACE, "mergedAs"),
            Self::RelatesTo => (NAMESPACE, "relatesTo"),
            Self::Blocks => (NAMESPACE, "blocks"),
            Self::Duplicates => (NAMESPACE, "duplicates"),
            Self::Modifies => (NAMESPACE, "modifies"),
            Self::Introduces => (NAMESPACE, "introduces"),
            Self::Removes => (NAMESPACE, "removes"),
            Self::Proposes => (NAMESPACE, "proposes"),
            Self::ReplacedBy => (NAMESPACE, "replacedBy"),
            Self::ParentOf => (NAMESPACE, "parentOf"),
            Self::MergedBy => (NAMESPACE, "mergedByCommit"),
            Self::ShippedIn => (NAMESPACE, "shippedIn"),
            Self::Committed => (NAMESPACE, "committer"),
            Self::Fixes => (NAMESPACE, "fixes"),
            Self::Reverts => (NAMESPACE, "reverts"),
            Self::CherryPickOf => (NAMESPACE, "cherryPickOf"),
            Self::PointsAt => (NAMESPACE, "pointsAt"),
            Self::Contains => (NAMESPACE, "contains"),
            Self::Calls => (NAMESPACE, "calls"),
            Self::Imports => (NAMESPACE, "imports"),
            Self::Implements => (NAMESPACE, "implements"),
            Self::Extends => (NAMESPACE, "extends"),
            Self::VerifiedBy => (NAMESPACE, "verifiedBy"),
            Self::CoEvolvesWith => (NAMESPACE, "coEvolvesWith"),
            Self::SameAs => (OWL, "sameAs"),
        };
        format!("{namespace}{local}")
    }

    /// The edge a property stands for.
    pub fn from_iri(iri: &str) -> Option<Self> {
        BY_IRI.get(iri).copied()
    }

    /// Whether the property points from the edge's end to its start, as `dcterms:creator` does for AUTHORED.
    pub fn is_reversed(self) -> bool {
        matches!(self, Self::Authored | Self::Committed)
    }

    /// Whether it is inferred: found by names, counts or likeness.
    pub fn is_inferred(self) -> bool {
        use Edge::{Calls, CoEvolvesWith, Extends, Implements, Imports, SameAs, VerifiedBy};
        matches!(self, Calls | Imports | Implements | Extends | VerifiedBy | CoEvolvesWith | SameAs)
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
            assert_eq!(serde_json::to_value(edge).unwrap_or_default(), edge.name());
        }
        assert_eq!(Edge::from_iri("http://purl.org/dc/terms/title"), None);
    }
}
