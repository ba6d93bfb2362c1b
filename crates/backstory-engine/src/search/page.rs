//! Cursors of pages: where the next page begins, of which request, and which state of the stores it was of.

use backstory_model::digest::sha256_hex;

use super::SearchRequest;
use crate::{
    error::{Error, Result},
    resources::Resources,
};

/// Most hits that may come before a page. No search has so many.
const MAX_START: usize = 1_000_000;
/// Hex digits of a digest in a cursor.
const DIGITS: usize = 12;

/// Which part of all hits is asked for.
pub(super) struct Page {
    /// How many hits come before it.
    pub(super) start: usize,
    /// Digest of the request, without what differs from page to page.
    request: String,
    /// The state of the stores.
    state: String,
    /// Whether the stores have changed since the page before.
    pub(super) is_of_older_state: bool,
}

impl Page {
    /// Reads the cursor of a request.
    ///
    /// # Errors
    /// It belongs to another search, or none.
    pub(super) async fn of(resources: &Resources, request: &SearchRequest) -> Result<Self> {
        let state = state(resources).await?;
        let of_page = SearchRequest { after: None, limit: 0, facets: false, explain: false, ..request.clone() };
        let text = serde_json::to_string(&of_page).map_err(|error| Error::invalid(error.to_string()))?;
        let shown = resources.state().map_or("", |state| &state.name);
        let digest = short(&sha256_hex(&format!("{text}{shown}")));
        let Some(cursor) = &request.after else {
            return Ok(Self { start: 0, request: digest, state, is_of_older_state: false });
        };
        let wrong = |what| {
            Error::invalid(format!("the cursor {what}")).with_hint("take it from the page before, with the same search")
        };
        let mut fields = cursor.splitn(3, '-');
        let start = fields.next().and_then(|start| start.parse().ok()).filter(|start| *start <= MAX_START);
        let (Some(start), Some(of), Some(before)) = (start, fields.next(), fields.next()) else {
            return Err(wrong("cannot be read"));
        };
        if of != digest {
            return Err(wrong("belongs to another search"));
        }
        Ok(Self { start, is_of_older_state: before != state, request: digest, state })
    }

    /// The cursor of the page after so many hits.
    pub(super) fn next(&self, start: usize) -> String {
        format!("{start}-{}-{}", self.request, self.state)
    }
}

/// What the order of hits depends on: the documents, their vectors, and the graph. It says nothing of what the caller does
/// not see: not how many changes there were, and not that there was one.
async fn state(resources: &Resources) -> Result<String> {
    let index = resources.index();
    let (digest, passages) = (index.digest(), index.coverage().passages);
    let (newest, is_applied) = resources
        .blocking(|resources| {
            let newest = resources.ledger().last_visible_seq()?;
            Ok((newest, resources.graph().applied_seq()? >= newest))
        })
        .await?;
    Ok(short(&sha256_hex(&format!("{newest} {is_applied} {passages} {digest}"))))
}

fn short(digest: &str) -> String {
    digest.chars().take(DIGITS).collect()
}
