//! All projects of a group, found at each sync.

use serde_json::{Value, json};

use crate::support::{Forge, NO_SCHEDULE, Sandbox, TOKEN_ENV, eventually};

fn fixture(archived: bool) -> String {
    let mut fixture: Value = serde_json::from_str(include_str!("fixtures/acme.json")).unwrap();
    let mut other = fixture["projects"][1].clone();
    other["path"] = json!("acme/old/api");
    other["id"] = json!(77);
    other["archived"] = json!(archived);
    fixture["projects"].as_array_mut().unwrap().push(other);
    fixture.to_string()
}

fn configure(sandbox: &Sandbox, forge: &Forge, projects: &str) {
    sandbox.write_config(&format!(
        "data_dir = \"data\"\n{NO_SCHEDULE}[[forge]]\nkind = \"gitlab\"\nbase_url = \"{}\"\ntoken_env = \"{TOKEN_ENV}\"\n\
         requests_per_second = 0\n{projects}\n",
        forge.url
    ));
}

/// The projects that `status` knows, each with whether it is archived.
fn known(sandbox: &Sandbox) -> Vec<(String, bool)> {
    let status = sandbox.run(&["sync-status", "--json"]).ok().json();
    let of = |project: &Value| {
        (project["project"].as_str().unwrap().to_owned(), project["archived"].as_bool().unwrap_or(false))
    };
    status["freshness"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn all_projects_of_a_group_are_read_but_for_those_that_are_excluded() {
    let forge = Forge::start_with(&fixture(true));
    let sandbox = Sandbox::new(&forge);
    configure(&sandbox, &forge, "projects = [\"acme/*\"]");
    sandbox.run(&["sync"]).ok();
    let named = |path: &str, archived: bool| (path.to_owned(), archived);
    let all = [named("acme/old/api", true), named("acme/shop", false), named("acme/web", false)];
    assert_eq!(known(&sandbox), all);
    assert!(sandbox.run(&["show", "acme/web#1"]).ok().stdout.contains("The sign-in page flickers"));
    let doctor = sandbox.run(&["doctor"]).ok().stdout;
    assert!(doctor.contains("acme/* has 3 projects"), "{doctor}");
    // It is as if each had been named.
    let digest = |sandbox: &Sandbox| sandbox.run(&["check", "--digest"]).ok().stdout;
    let other = Sandbox::new(&forge);
    configure(&other, &forge, "projects = [\"acme/shop\", \"acme/web\", \"acme/old/api\"]");
    other.run(&["sync"]).ok();
    assert_eq!(digest(&sandbox), digest(&other));

    configure(&sandbox, &forge, "projects = [\"acme/*\"]\nexclude = [\"acme/old/**\"]");
    sandbox.run(&["sync"]).ok();
    let found = known(&sandbox).into_iter().map(|(project, _)| project).collect::<Vec<_>>();
    assert_eq!(found, ["acme/shop", "acme/web"]);
}

#[test]
fn a_group_that_is_not_there_is_told_and_keeps_nothing_else_from_being_read() {
    let forge = Forge::start_with(&fixture(false));
    let sandbox = Sandbox::new(&forge);
    configure(&sandbox, &forge, "projects = [\"nobody/*\", \"acme/shop\"]");
    let failed = sandbox.run(&["sync"]);
    assert_eq!(failed.code, 1, "{failed:#?}");
    assert!(failed.stderr.contains("nobody/*"), "{failed:#?}");
    assert_eq!(known(&sandbox), [("acme/shop".to_owned(), false)]);
    assert!(!sandbox.run(&["list", "issues", "--project", "acme/shop"]).ok().stdout.is_empty());
}

/// Every sync failed over a project that nobody had named.
#[test]
fn a_forgotten_project_of_a_group_keeps_nothing_from_being_read() {
    let forge = Forge::start_with(&fixture(false));
    let sandbox = Sandbox::new(&forge);
    configure(&sandbox, &forge, "projects = [\"acme/*\"]");
    sandbox.run(&["sync"]).ok();
    let before = known(&sandbox).len();
    sandbox.run(&["forget", "acme/web"]).ok();
    sandbox.run(&["sync"]).ok();
    assert_eq!(known(&sandbox).len(), before - 1);
    sandbox.run(&["forget", "--undo", "acme/web"]).ok();
    sandbox.run(&["sync"]).ok();
    assert_eq!(known(&sandbox).len(), before);
}

/// An address names its project itself.
#[test]
fn an_address_is_understood_among_several_projects() {
    let forge = Forge::start_with(&fixture(false));
    let sandbox = Sandbox::new(&forge);
    configure(&sandbox, &forge, "projects = [\"acme/*\"]");
    sandbox.run(&["sync"]).ok();
    assert!(known(&sandbox).len() > 1);
    let address = format!("{}/acme/shop/-/issues/1", forge.url);
    let found = sandbox.run(&["search", &address, "--json"]).ok().json();
    assert_eq!(found["hits"][0]["id"], "acme/shop#1", "{found:#}");
    sandbox.run(&["context", &address]).ok();
}

#[test]
fn a_group_that_is_added_is_read_with_its_new_projects() {
    let forge = Forge::start_with(&fixture(true));
    let sandbox = Sandbox::new(&forge);
    configure(&sandbox, &forge, "projects = []\nexclude = [\"acme/web\"]");
    let added = sandbox.run(&["add", "--group", &format!("{}/acme", forge.url)]).ok();
    assert!(added.stdout.starts_with("Added acme/*: 2 projects; "), "{added:#?}");
    assert!(added.stderr.contains("archived: acme/old/api"), "{added:#?}");
    assert_eq!(known(&sandbox), [("acme/old/api".to_owned(), true), ("acme/shop".to_owned(), false)]);
    // It is as if the configuration had named it.
    let digest = |sandbox: &Sandbox| sandbox.run(&["check", "--digest"]).ok().stdout;
    let other = Sandbox::new(&forge);
    configure(&other, &forge, "projects = [\"acme/*\"]\nexclude = [\"acme/web\"]");
    other.run(&["sync"]).ok();
    assert_eq!(digest(&sandbox), digest(&other));
    // A later sync reads the group again, and what is not excluded any more.
    configure(&sandbox, &forge, "projects = []");
    sandbox.run(&["sync"]).ok();
    assert_eq!(known(&sandbox).len(), 3);

    let failed = sandbox.run(&["add", "--group", &format!("{}/nobody", forge.url)]);
    assert!(failed.code != 0 && failed.stderr.contains("nobody"), "{failed:#?}");
    let failed = sandbox.run(&["add", "--group", "https://git.example.com/acme"]);
    assert_eq!(failed.code, 2, "{failed:#?}");
    assert!(failed.stderr.contains("nothing tells which forge git.example.com is"), "{failed:#?}");
}

/// A job of a visible project failed over a hidden group, and named it.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_cannot_be_read_is_named_only_to_those_who_see_all_projects() {
    let forge = Forge::start_with(&fixture(false));
    let sandbox = Sandbox::new(&forge);
    configure(&sandbox, &forge, "projects = [\"nobody/*\", \"acme/shop\"]");
    let failed = sandbox.run(&["sync"]);
    assert_eq!(failed.code, 1, "{failed:#?}");
    let made = sandbox.run(&["token", "create", "--json", "--projects", "acme/*", "--scopes", "sync"]).ok().json();
    let server = sandbox.serve();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = async |name: &str, body: Value| -> Value {
        let request = http.post(format!("{}/api/v1/{name}", server.url)).json(&body);
        let response = request.bearer_auth(made["secret"].as_str().unwrap()).send().await.unwrap();
        assert_eq!(response.status(), 200, "{name}");
        response.json().await.unwrap()
    };
    let job = post("queue-job", json!({ "kind": "sync", "project": "acme/shop" })).await;
    eventually("the end of the job", || {
        let job = sandbox.run(&["jobs", "list", "--json"]).ok().json()[0]["status"].clone();
        job == "succeeded" || job == "failed"
    });
    let job = post("job", json!({ "id": job["id"] })).await;
    assert_eq!((&job["status"], &job["error"]), (&json!("succeeded"), &Value::Null), "{job:#}");
    for (name, body) in [
        ("jobs", json!({ "limit": 9 })),
        ("sync-status", json!({ "runs": 9 })),
        ("repositories", json!({})),
        ("tasks", json!({})),
    ] {
        let answer = post(name, body).await;
        assert!(!answer.to_string().contains("nobody"), "{name}: {answer:#}");
    }
    let status = sandbox.run(&["sync-status", "--json"]).ok().json();
    assert_eq!(status["groups"][0]["group"], "nobody/*", "{status:#}");
    let status = sandbox.run(&["status"]).ok();
    assert!(status.stderr.contains("the group nobody/* could not be read on"), "{status:#?}");
    drop(server);
    configure(&sandbox, &forge, "projects = [\"acme/shop\"]");
    sandbox.run(&["sync"]).ok();
    assert_eq!(sandbox.run(&["sync-status", "--json"]).ok().json()["groups"], Value::Null);
}
