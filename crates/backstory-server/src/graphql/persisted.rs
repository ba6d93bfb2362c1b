//! Persisted operations: clients send a document once, and name it by its hash from then on, as Apollo's automatic
//! persisted queries do. A document is known to those who see the same as who sent it: to others it might tell a name.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use async_graphql::{Request, ServerError, Value};
use backstory_engine::{
    error::ErrorKind,
    model::{digest::sha256_hex, visibility::Visibility},
};
use parking_lot::Mutex;

use crate::error_table;

/// Most documents that are remembered.
const MAX_DOCUMENTS: usize = 1_000;
/// Most bytes of documents that are remembered.
const MAX_BYTES: usize = 8 << 20;
/// Where a request names the document.
const EXTENSION: &str = "persistedQuery";
/// What clients expect to read, to send the document and its hash then.
const NOT_FOUND: (&str, &str) = ("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND");

/// The documents that were sent with their hash.
#[derive(Default)]
pub(super) struct PersistedDocuments(Mutex<Documents>);

/// What its senders see, and its hash.
type DocumentKey = (Visibility, String);

#[derive(Default)]
struct Documents {
    by_key: HashMap<DocumentKey, Arc<str>>,
    /// The keys, the first that was sent first.
    sent: VecDeque<DocumentKey>,
    bytes: usize,
}

impl Documents {
    fn remember(&mut self, key: DocumentKey, document: &str) {
        if document.len() > MAX_BYTES || self.by_key.contains_key(&key) {
            return;
        }
        self.bytes += document.len();
        self.sent.push_back(key.clone());
        self.by_key.insert(key, document.into());
        while self.sent.len() > MAX_DOCUMENTS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.sent.pop_front() else { break };
            self.bytes -= self.by_key.remove(&oldest).map_or(0, |document| document.len());
        }
    }
}

impl PersistedDocuments {
    /// Gives a request the document that it names, or remembers the one that it sends with its hash. Other requests stay as
    /// they are.
    ///
    /// # Errors
    /// The document is not known, or has another hash.
    pub(super) fn complete(&self, request: &mut Request, visibility: &Visibility) -> Result<(), ServerError> {
        let Some(named) = request.extensions.get(EXTENSION) else { return Ok(()) };
        let hash = sha256_of(named)?;
        if request.query.is_empty() {
            let document = self.0.lock().by_key.get(&(visibility.clone(), hash)).cloned();
            request.query = document.ok_or_else(|| error(NOT_FOUND.0, NOT_FOUND.1))?.to_string();
            return Ok(());
        }
        if sha256_hex(&request.query) != hash {
            return Err(invalid("the document has another SHA-256 than 'sha256Hash' says; send that of the very text"));
        }
        self.0.lock().remember((visibility.clone(), hash), &request.query);
        Ok(())
    }
}

/// The hash that a request names.
fn sha256_of(named: &Value) -> Result<String, ServerError> {
    let expected = "expected \"persistedQuery\": { \"version\": 1, \"sha256Hash\": \"64 hex digits\" }";
    let Value::Object(fields) = named else { return Err(invalid(expected)) };
    let is_first = matches!(fields.get("version"), Some(Value::Number(version)) if version.as_u64() == Some(1));
    match fields.get("sha256Hash") {
        Some(Value::String(hash))
            if is_first && hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            Ok(hash.to_ascii_lowercase())
        }
        _ => Err(invalid(expected)),
    }
}

fn invalid(message: &str) -> ServerError {
    error(message, error_table::code(ErrorKind::Invalid))
}

fn error(message: &str, code: &str) -> ServerError {
    let mut error = ServerError::new(message, None);
    error.extensions.get_or_insert_default().set(error_table::CODE, code);
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(query: &str, hash: &str) -> Request {
        let mut request = Request::new(query);
        let named = serde_json::json!({ "version": 1, "sha256Hash": hash });
        let named = Value::from_json(named).expect("it is JSON");
        request.extensions.insert(EXTENSION.to_owned(), named);
        request
    }

    #[test]
    fn the_oldest_documents_are_dropped_and_bytes_are_bounded() {
        let known = PersistedDocuments::default();
        let large = "#".repeat(MAX_BYTES / 4);
        for number in 0..5 {
            let document = format!("{{ stats{number} {{ issues }} }} {large}");
            let mut sent = request(&document, &sha256_hex(&document));
            known.complete(&mut sent, &Visibility::everything()).expect("the hash is right");
        }
        let documents = known.0.lock();
        assert!(documents.bytes <= MAX_BYTES, "{}", documents.bytes);
        assert_eq!((documents.sent.len(), documents.by_key.len()), (3, 3));
    }

    #[test]
    fn a_document_is_known_to_those_who_see_the_same() {
        let (known, document) = (PersistedDocuments::default(), "{ project(fullPath: \"acme/secret\") { name } }");
        let hash = sha256_hex(document);
        let all = Visibility::everything();
        known.complete(&mut request(document, &hash), &all).expect("the hash is right");
        let mut named = request("", &hash);
        known.complete(&mut named, &all).expect("it is known");
        assert_eq!(named.query, document);
        let some = Visibility::of_projects(["acme/shop"]);
        assert!(known.complete(&mut request("", &hash), &some).is_err());
    }

    #[test]
    fn a_hash_must_be_one_and_that_of_the_document() {
        let known = PersistedDocuments::default();
        for (query, hash) in [("{ a }", "12"), ("{ a }", &*sha256_hex("{ b }")), ("", &*sha256_hex("{ b }"))] {
            assert!(known.complete(&mut request(query, hash), &Visibility::everything()).is_err(), "{query} {hash}");
        }
        let mut plain = Request::new("{ a }");
        known.complete(&mut plain, &Visibility::everything()).expect("it names none");
        assert_eq!(plain.query, "{ a }");
    }
}
