//! Verifies citations against ledger and clones, without a network: both hashes, author and time, and the hash with
//! which the ledger stored the payload. Passages of context packs are verified in `context::verify`.

use backstory_model::{
    answer::Citation,
    commit::Sha,
    digest::sha256_hex,
    entity::{Item, ItemKind},
    id::NodeId,
    place::describe_lines,
};
use serde::{Deserialize, Serialize};

use crate::{
    citations::{CitedDocument, cited_document},
    error::{Error, Result},
    read::ledger_key,
    records::parse_item,
    resources::Resources,
    use_case::{UseCase, Weight},
};

/// Most citations that are verified at once.
pub const MAX_CITATIONS: usize = 100;

/// Verifies citations; answered in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyRequest {
    /// The citations, at most 100.
    pub citations: Vec<Citation>,
}

impl UseCase for VerifyRequest {
    const NAME: &'static str = "verify";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Vec<Check>;

    async fn run(self, resources: &Resources) -> Result<Vec<Check>> {
        verify_citations(resources, self.citations).await
    }
}

/// Whether a citation holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Its number.
    pub number: u32,
    /// Reference of the document that it names.
    pub id: String,
    /// Why it does not hold; null if it does.
    pub problem: Option<String>,
}

/// Verifies citations, in their order.
///
/// # Errors
/// There are more than [`MAX_CITATIONS`], or the ledger cannot be read at all.
async fn verify_citations(resources: &Resources, citations: Vec<Citation>) -> Result<Vec<Check>> {
    if citations.len() > MAX_CITATIONS {
        return Err(Error::invalid(format!(
            "{} citations were given; at most {MAX_CITATIONS} are verified at once",
            citations.len()
        )));
    }
    resources
        .blocking(move |resources| {
            let check = |citation: &Citation| Check {
                number: citation.number,
                id: citation.id.clone(),
                // A part of the store that cannot be read proves nothing.
                problem: verify_citation(resources, citation).unwrap_or_else(|error| Some(error.to_string())),
            };
            Ok(citations.iter().map(check).collect())
        })
        .await
}

fn verify_citation(resources: &Resources, citation: &Citation) -> Result<Option<String>> {
    if sha256_hex(&citation.text) != citation.hash {
        return Ok(Some("the quoted text has another SHA-256 than the citation says".to_owned()));
    }
    let Ok(id) = citation.id.parse::<NodeId>() else {
        return Ok(Some(format!("'{}' is not a reference", citation.id)));
    };
    let commit = match citation.commit.as_deref().map(str::parse::<Sha>).transpose() {
        Ok(commit) => commit,
        Err(_) => return Ok(Some("the commit is not an object name".to_owned())),
    };
    if matches!(id, NodeId::File { .. }) && commit.is_none() {
        return Ok(Some("a file is cited without the commit".to_owned()));
    }
    if let Some(problem) = payload_mismatch(resources, &id)? {
        return Ok(Some(problem));
    }
    let Some(document) = cited_document(resources, &id, commit)? else {
        return Ok(Some("it is not in the ledger".to_owned()));
    };
    Ok(compare(citation, &document))
}

/// What is wrong with the item that a node belongs to.
fn payload_mismatch(resources: &Resources, id: &NodeId) -> Result<Option<String>> {
    let (project, kind, key) = match id {
        NodeId::Note { thread, id: note } => {
            // A note stands in its discussion's payload.
            let items = resources.ledger().thread(&thread.project, &thread.local_reference())?;
            let holds = |item: &&backstory_store::ledger::StoredItem| {
                item.kind == ItemKind::Discussion
                    && matches!(parse_item(resources, item), Ok(Item::Discussion(of)) if of.notes.iter().any(|n| n.id == *note))
            };
            match items.iter().find(holds) {
                Some(item) => (item.project.clone(), item.kind, item.key.clone()),
                None => return Ok(None),
            }
        }
        // Objects of a clone are named by their hashes, and reading one checks its hash.
        NodeId::File { .. } => return Ok(None),
        id => match ledger_key(id) {
            Some(key) => key,
            None => return Ok(Some("nothing of that kind can be cited".to_owned())),
        },
    };
    Ok(match resources.ledger().verify_hash(&project, kind, &key)? {
        Some(false) => Some("its payload in the ledger has another SHA-256 than when it was stored".to_owned()),
        Some(true) | None => None,
    })
}

/// What about a citation is not as the document says.
fn compare(citation: &Citation, document: &CitedDocument) -> Option<String> {
    let range = usize::try_from(citation.bytes.0).ok()?..usize::try_from(citation.bytes.1).ok()?;
    if document.text.get(range.clone()) != Some(citation.text.as_str()) {
        return Some(match document.text.find(&citation.text) {
            Some(at) => {
                let now = at..at + citation.text.len();
                let place = match (&document.file, document.lines_of(&now)) {
                    (Some(_), lines) => format!("in {}", describe_lines(lines)),
                    (None, _) => format!("at bytes {}-{}", now.start, now.end),
                };
                format!("the text is {place}, not where the citation says")
            }
            None => "the text is not in the document, which was changed since or is another".to_owned(),
        });
    }
    if sha256_hex(&document.text) != citation.document {
        return Some("the document was changed since: its SHA-256 is another".to_owned());
    }
    let lines = document.file.as_ref().map(|_| document.lines_of(&range));
    if lines != citation.lines {
        return Some("the lines are not those of the bytes".to_owned());
    }
    if document.file.as_ref().map(|(_, path)| path) != citation.path.as_ref() {
        return Some("the path is not that of the reference".to_owned());
    }
    if document.author != citation.author {
        let author = document.author.as_deref().unwrap_or("nobody who is known");
        return Some(format!("it was written by {author}"));
    }
    // When a file last changed moves on with its head.
    if document.file.is_none() && document.at != citation.at {
        return Some(format!("it was written at {}", document.at));
    }
    None
}
