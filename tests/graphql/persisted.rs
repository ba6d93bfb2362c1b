//! Persisted operations.

use backstory_engine::model::digest::sha256_hex;
use serde_json::{Value, json};

use super::Api;

async fn ask(api: &Api, query: Option<&str>, hash: &str) -> Value {
    let named = json!({ "persistedQuery": { "version": 1, "sha256Hash": hash } });
    let mut body = json!({ "extensions": named, "variables": { "id": "acme/shop#1" } });
    if let Some(query) = query {
        body["query"] = json!(query);
    }
    api.http.post(api.url("/graphql")).json(&body).send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn a_document_that_was_sent_once_is_named_by_its_hash() {
    let api = Api::new();
    let query = "query ($id: ID!) { issue(id: $id) { title } }";
    let hash = sha256_hex(query);
    let unknown = ask(&api, None, &hash).await;
    let error = &unknown["errors"][0];
    assert_eq!(error["message"], "PersistedQueryNotFound", "{unknown:#}");
    assert_eq!(error["extensions"]["code"], "PERSISTED_QUERY_NOT_FOUND");
    let sent = ask(&api, Some(query), &hash).await;
    assert_eq!(sent["data"]["issue"]["title"], "Authentication redesign", "{sent:#}");
    assert_eq!(ask(&api, None, &hash.to_uppercase()).await, sent);

    let other = ask(&api, Some("{ __typename }"), &hash).await;
    assert_eq!(other["errors"][0]["extensions"]["code"], "INVALID", "{other:#}");
    let short = ask(&api, None, "12").await;
    assert!(short["errors"][0]["message"].as_str().unwrap().contains("64 hex digits"), "{short:#}");
}
