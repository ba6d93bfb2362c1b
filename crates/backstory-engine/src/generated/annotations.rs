//! What people and programs wrote about nodes: annotations, with tags by which they and their nodes are found. Those of a
//! node are one row of the ledger, beside what language models wrote about it; they are deleted with it.

use std::collections::BTreeMap;

use backstory_model::id::NodeId;
use backstory_store::ledger::GeneratedText;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    resources::Resources,
};

/// What they are called in the ledger.
const KIND: &str = "annotations";
/// Version of the shape that they are kept in.
const SHAPE: u32 = 1;
/// Rows of the ledger that are read at once.
const BATCH: usize = 1000;

/// What somebody wrote about a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Annotation {
    /// Its number among those of the node, from 1.
    pub number: u32,
    /// What it is: `note`, `summary`, `review`, or another word.
    pub kind: String,
    /// What made it: `person`, or the name of a program.
    pub source: String,
    /// What it says.
    pub content: String,
    /// The same in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Tags, in lower case, sorted.
    #[serde(default)]
    pub tags: Vec<String>,
    /// First and last line of a file that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// More of it, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Whether somebody has approved it.
    #[serde(default)]
    pub approved: bool,
    /// Who wrote it down.
    pub author: String,
    /// When.
    pub created_at: Timestamp,
}

/// The annotations of a node that is visible, in the order in which they were written.
pub(crate) fn annotations_of(resources: &Resources, id: &NodeId) -> Result<Vec<Annotation>> {
    // What belongs to no project, such as a person, is written about for those who see all of them.
    let is_of_visible = id.project().is_some() || resources.visibility().allows_all_projects();
    // A discussion is visible if that is which it is in.
    if !is_of_visible || !resources.graph().exists(id)? {
        return Ok(vec![]);
    }
    let kept = resources.ledger().generated(KIND, &id.to_string())?;
    Ok(kept.map(|written| read(&written)).unwrap_or_default())
}

/// Keeps the annotations of a node in place of those that it had.
///
/// # Errors
/// The node belongs to no project, and the caller sees only some; or the ledger cannot be written.
pub(crate) fn put_annotations(resources: &Resources, id: &NodeId, annotations: &[Annotation]) -> Result<()> {
    if id.project().is_none() && !resources.visibility().allows_all_projects() {
        let message = format!("{id} belongs to no project; {} sees only some", resources.actor());
        return Err(Error::new(ErrorKind::Forbidden, message));
    }
    let text = serde_json::to_string(annotations)
        .map_err(|error| Error::internal(format!("the annotations of {id} cannot be kept: {error}")))?;
    let written = GeneratedText {
        kind: KIND.to_owned(),
        subject: id.to_string(),
        model: "annotations".to_owned(),
        prompt: SHAPE,
        input: [0; 32],
        text,
        written_at: Timestamp::from_millisecond(Timestamp::now().as_millisecond()).unwrap_or_default(),
    };
    Ok(resources.ledger().put_generated(&written)?)
}

/// Every visible node that has an annotation with all of these tags, with those annotations, by reference.
pub(crate) fn annotated_nodes(resources: &Resources, tags: &[String]) -> Result<Vec<(NodeId, Vec<Annotation>)>> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let rows = resources.ledger().list_generated(KIND, &after, BATCH)?;
        let Some(last) = rows.last() else { return Ok(found) };
        after.clone_from(&last.subject);
        for row in rows {
            let Ok(id) = row.subject.parse::<NodeId>() else { continue };
            let has_all = |of: &Annotation| tags.iter().all(|tag| of.tags.contains(tag));
            if !read(&row).iter().any(has_all) {
                continue;
            }
            // What is listed may be hidden from the reader.
            let mut own = annotations_of(resources, &id)?;
            own.retain(has_all);
            if !own.is_empty() {
                found.push((id, own));
            }
        }
    }
}

/// A tag as it is kept and compared.
pub(crate) fn normal_tag(tag: &str) -> String {
    tag.trim().to_lowercase()
}

/// What a row says; nothing if another version of the program wrote it in another shape.
fn read(written: &GeneratedText) -> Vec<Annotation> {
    serde_json::from_str(&written.text).unwrap_or_default()
}
