//! Seed 4: indexing and searching files.

use serde_json::json;

use super::has;
use crate::{
    rest::Rest,
    support::{Fixture, Sandbox},
};

fn repository() -> Fixture {
    let mut repository = Fixture::new();
    repository.write(
        "src/session.rs",
        "/// Keeps a session for an hour, because tokens live as long.\npub fn keep() -> u32 {\n    3600\n}\n",
    );
    repository.write("docs/session.md", "# Sessions\n\nA session lasts an hour.\n");
    repository.commit_all("Sessions last an hour");
    repository
}

// Rows 16 and 17 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn seed4_enrich_accepts_a_file() {
    let repository = repository();
    let sandbox = Sandbox::indexed(&repository);
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    let name = rest.get("/repos", "/repos").await[0]["project"].as_str().unwrap().to_owned();
    let file = json!({ "repository": name, "ref": "main", "path": "src/session.rs", "contentHash": "abc", "metadata": { "from": "ui" } });
    let (status, accepted) = rest.send("post", "/api/enrich", "/api/enrich", Some(&file)).await;
    assert_eq!(status, 202, "{accepted:#}");
    has(&accepted, &["id", "status", "repository", "ref", "path", "contentHash", "metadata"]);
    let job = format!("/api/v1/jobs/{}", accepted["id"].as_str().unwrap());
    rest.get("/api/v1/jobs/{id}", &job).await;
    for (changed, status) in [(json!({ "repository": "acme/none" }), 404), (json!({ "ref": "later" }), 404)] {
        let mut wrong = file.clone();
        wrong.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        assert_eq!(rest.send("post", "/api/enrich", "/api/enrich", Some(&wrong)).await.0, status, "{wrong:#}");
    }
}

// Row 19 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn seed4_search_ranks_files_with_what_is_known_of_them() {
    let repository = repository();
    let sandbox = Sandbox::indexed(&repository);
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    let address = "/api/search?query=how+long+does+a+session+last&limit=5&pathPrefix=docs&kinds[]=section&kinds[]=file";
    let found = rest.get("/api/search", address).await;
    let items = found["items"].as_array().unwrap();
    assert!(!items.is_empty(), "{found:#}");
    for item in items {
        has(item, &["id", "kind", "repository", "path", "score", "summary", "tags", "commit"]);
        assert!(item["path"].as_str().unwrap().starts_with("docs"), "{item:#}");
    }
    let none = rest.get("/api/search", "/api/search?query=session&tags[]=bug").await;
    assert_eq!(none["items"], json!([]));
}
