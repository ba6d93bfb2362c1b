//! Releases: the tags of a repository, with what the forge says about them, and in which one a commit first shipped.

use backstory_model::{
    commit::{ObjectKind, Sha, Tag},
    edge::Edge,
    entity::{Item, ItemKind, Release as ForgeRelease},
    id::NodeId,
    repository::Record,
};
use backstory_store::graph::Direction;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    read::item_of_node,
    records::{commit_record, parse_if_readable},
    resources::Resources,
};

/// A release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Release {
    /// Its node: the tag.
    pub id: NodeId,
    /// Name of the tag.
    pub tag: String,
    /// What the forge calls it; null if the forge has no release of the tag.
    pub name: Option<String>,
    /// When the forge released it; otherwise when the tag was made; otherwise when its commit was.
    pub at: Option<Timestamp>,
    /// The commit that the tag points at; null if the repository does not have the tag.
    pub commit: Option<Sha>,
    /// Whether it is a pre-release, or planned.
    pub preliminary: bool,
    /// Who released or tagged it: user name or address.
    pub author: Option<String>,
    /// Its notes, as the forge has them.
    pub description: Option<String>,
    /// Address for people.
    pub url: Option<String>,
}

/// What tells of a release.
struct Sources {
    /// Its tag, if the repository has it.
    tag: Option<Tag>,
    /// What the forge says of it.
    of_forge: Option<ForgeRelease>,
}

impl Sources {
    /// When the forge released it; otherwise when the tag was made.
    fn date(&self) -> Option<Timestamp> {
        let released_at = self.of_forge.as_ref().and_then(|release| release.released_at);
        released_at.or_else(|| Some(tagger(self.tag.as_ref()?)?.1))
    }
}

fn read_sources(resources: &Resources, project: &str, tag: &str) -> Result<Sources> {
    let own = match item_of_node(resources, &tag_node(project, tag))? {
        Some(Item::Repository(record)) => match record.record {
            Record::Tag(tag) => Some(tag),
            _ => None,
        },
        _ => None,
    };
    let stored = resources.ledger().item(project, ItemKind::Release, tag)?;
    let of_forge = match stored.and_then(|stored| parse_if_readable(resources, &stored)) {
        Some(Item::Release(release)) => Some(release),
        _ => None,
    };
    Ok(Sources { tag: own, of_forge })
}

fn tag_node(project: &str, tag: &str) -> NodeId {
    NodeId::Tag { project: project.to_owned(), name: tag.to_owned() }
}

/// Whether forge or tag tell when a release came: its commit may be years older.
pub(crate) fn is_dated(resources: &Resources, project: &str, tag: &str) -> Result<bool> {
    Ok(read_sources(resources, project, tag)?.date().is_some())
}

/// The release of a tag; `None` if neither repository nor forge have it.
pub(crate) fn find_release(resources: &Resources, project: &str, tag: &str) -> Result<Option<Release>> {
    let sources = read_sources(resources, project, tag)?;
    let mut at = sources.date();
    let Sources { tag: own, of_forge } = sources;
    if own.is_none() && of_forge.is_none() {
        return Ok(None);
    }
    let commit = own.as_ref().filter(|tag| tag.kind == ObjectKind::Commit).map(|tag| tag.target);
    let tagger = own.as_ref().and_then(tagger);
    if at.is_none()
        && let Some(commit) = commit
    {
        at = commit_record(resources, project, &commit.to_string())?.map(|record| record.commit.committer.at);
    }
    let of_forge = of_forge.as_ref();
    Ok(Some(Release {
        id: tag_node(project, tag),
        tag: tag.to_owned(),
        name: of_forge.map(|release| release.name.clone()),
        at,
        commit,
        preliminary: of_forge.is_some_and(|release| release.preliminary),
        author: of_forge.and_then(|release| release.author.clone()).or(tagger.map(|(who, _)| who)),
        description: of_forge.map(|release| release.description.clone()).filter(|text| !text.is_empty()),
        url: of_forge.and_then(|release| release.web_url.clone()),
    }))
}

/// Who made an annotated tag, and when.
fn tagger(tag: &Tag) -> Option<(String, Timestamp)> {
    let signature = tag.annotation.as_ref()?.tagger.as_ref()?;
    Some((backstory_model::repository::identity_key(&signature.name, &signature.email), signature.at))
}

/// The release in which a commit first shipped; `None` if no tag has it.
pub(crate) fn first_release(resources: &Resources, project: &str, commit: &str) -> Result<Option<Release>> {
    match first_tag(resources, project, commit)? {
        Some((project, tag)) => find_release(resources, &project, &tag),
        None => Ok(None),
    }
}

/// Project and name of the tag with which a commit first shipped; `None` if no tag has it.
pub(crate) fn first_tag(resources: &Resources, project: &str, commit: &str) -> Result<Option<(String, String)>> {
    let commit = NodeId::commit(project, commit);
    let edges = resources.graph().edges(&commit, Direction::Out, Some(Edge::ShippedIn))?;
    match edges.into_iter().next().map(|end| end.other) {
        Some(NodeId::Tag { project, name }) => Ok(Some((project, name))),
        _ => Ok(None),
    }
}
