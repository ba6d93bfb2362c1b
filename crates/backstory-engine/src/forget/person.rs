//! Forgetting a person: an alias takes the place of their name wherever a forge names or somebody mentions them. What
//! they wrote stays; so does what commits say of their authors, since the clones say it too.

use backstory_model::{
    entity::ItemKind,
    id::{NodeId, is_username},
};
use backstory_store::scan::Pieces;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::verify::Verification;
use crate::{
    Engine,
    error::{Error, ErrorKind, Result},
    task::Reporter,
};

/// What is said of what stays.
const STAYS: &str = "what they wrote stays, under the alias; so do the names and addresses that commits and files have, \
                     which the clones have too";

impl Engine {
    /// The user name as the forge writes it.
    pub(super) async fn check_person(&self, username: &str) -> Result<String> {
        if let Some(person) = self.person(username).await? {
            return Ok(person.username);
        }
        let name = username.to_owned();
        let listed = self.ledger_step(move |ledger| Ok(ledger.aliases()?.of(&name).is_some())).await?;
        if listed && is_username(username) {
            return Ok(username.to_owned());
        }
        let message = format!("nobody is known as @{username}; write the user name that the forge has");
        Err(Error::new(ErrorKind::NotFound, message))
    }

    pub(super) async fn forget_person(
        &self,
        username: String,
        reason: Option<String>,
        reporter: &Reporter,
    ) -> Result<Value> {
        let before = self.extent().await?;
        let work = self.replace_person(username.clone(), reason, reporter);
        let (erased, alias) = self.recorded(work).await?;
        self.ledger_step(|ledger| ledger.compact()).await?;
        let removed = self.removed(&erased, before).await?;
        reporter.phase("looking whether anything is left", None);
        let engine = self.clone();
        let found = self.blocking(move || engine.verify_person(&username)).await?;
        let told = json!({
            "subject": alias, "kind": "person", "removed": removed,
            "verified": {
                "pieces": PIECES, "searches": 0, "statements": found.statements, "files": found.files,
                "bytes": found.bytes, "found": 0,
            },
            "also_in": [], "stays": STAYS,
        });
        self.end_forget(&alias, erased.audit, removed, &found).await?;
        Ok(told)
    }

    async fn replace_person(
        &self,
        username: String,
        reason: Option<String>,
        reporter: &Reporter,
    ) -> Result<(backstory_store::ledger::Erased, String)> {
        reporter.phase("replacing the name in the ledger", None);
        let replaced = self
            .ledger_step(move |ledger| ledger.forget_person(&username, reason.as_deref(), Timestamp::now()))
            .await?;
        self.make_anew_without(None, reporter).await?;
        Ok(replaced)
    }

    /// Whether an item still names a person, and whether their node or a reference to them is left anywhere.
    fn verify_person(&self, username: &str) -> Result<Verification> {
        let aliases = self.ledger().aliases()?;
        let mut found = Verification::default();
        self.each_stored(|item, json| {
            let mut json = json.clone();
            let replaced = match item.kind {
                ItemKind::Identity => 0,
                kind if kind.is_of_repository() => aliases.replace_mentions(&mut json),
                _ => aliases.replace(&mut json),
            };
            if replaced > 0 {
                found.left.push(format!("{} {} {} of the ledger", item.project, item.kind.as_str(), item.key));
            }
        })?;
        self.look_everywhere(&Pieces::new(pieces(username).iter().map(String::as_str)), found)
    }
}

/// How many pieces are looked for.
const PIECES: usize = 3;

/// What names a person in payloads and in the graph.
fn pieces(username: &str) -> [String; PIECES] {
    [
        format!("\"username\":\"{username}\""),
        format!("\"login\":\"{username}\""),
        format!("<{}>", NodeId::person(username).iri()),
    ]
}
