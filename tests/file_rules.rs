//! Which files are looked into, and what is left without vectors.

use std::{collections::BTreeMap, fs};

use backstory_engine::{
    embed::{self, Provider},
    ledger::Branches,
    search::{Mode, SearchRequest},
    settings::{FileRules, RepositorySettings, Settings},
};

use crate::support::{Indexed, Origin, PROJECT, Sandbox, settings};

/// A repository with sources, build output and a large file.
fn origin() -> Origin {
    let mut origin = Origin::new();
    for path in ["src/a.py", "dist/bundle.py", "build/gen.py", "bin/thing.py", "target/x.py", "coverage/y.py"] {
        origin.write(path, "def handle(event):\n    return event\n");
    }
    origin.write("src/bin/tool.rs", "fn main() {}\n").write("docs/bin.md", "# Bin\n\nWhat stands in bin.\n");
    origin.write("src/large.py", "LIMIT = 1\n".repeat(400));
    origin.commit_all("Begin");
    origin
}

async fn indexed(origin: &Origin, repositories: RepositorySettings) -> Indexed {
    let indexed = Indexed::empty(Settings { repositories, ..settings() }).await;
    indexed.add(origin.path(), PROJECT, Branches::Default).await.unwrap();
    indexed.sync().await;
    indexed
}

/// Paths of the files that are not looked into, with the reason.
async fn left_out(indexed: &Indexed) -> BTreeMap<String, String> {
    let prefix = format!("{PROJECT} file ");
    let said = indexed.said().await;
    let files = said.items.iter().filter_map(|(key, file)| Some((key.strip_prefix(&prefix)?.to_owned(), file)));
    files.filter_map(|(path, file)| Some((path, file["left_out"].as_str()?.to_owned()))).collect()
}

async fn paths(indexed: &Indexed) -> Vec<String> {
    left_out(indexed).await.into_keys().collect()
}

// Rows 47 and 99 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn what_builds_write_is_left_out_unless_it_is_asked_for() {
    let origin = origin();
    let usual = indexed(&origin, RepositorySettings::default()).await;
    let output = ["bin/thing.py", "build/gen.py", "coverage/y.py", "dist/bundle.py", "target/x.py"];
    assert_eq!(paths(&usual).await, output);
    assert_eq!(left_out(&usual).await["dist/bundle.py"], "excluded");
    let all = RepositorySettings { output_directories: vec![], ..RepositorySettings::default() };
    assert_eq!(paths(&indexed(&origin, all).await).await, Vec::<String>::new());
}

// Row 36 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn files_above_the_configured_size_are_left_out() {
    let origin = origin();
    let files = FileRules { max_bytes: Some(1000), ..FileRules::default() };
    let small = indexed(&origin, RepositorySettings { files, ..RepositorySettings::default() }).await;
    assert_eq!(left_out(&small).await["src/large.py"], "too_large");
    let usual = indexed(&origin, RepositorySettings::default()).await;
    assert_eq!(left_out(&usual).await.get("src/large.py"), None);
}

// Row 25 of docs/requirements.md.
#[test]
fn rules_of_one_project_hold_for_it_alone_and_count_at_the_next_sync() {
    let origin = origin();
    let sandbox = Sandbox::empty();
    let configure = |text: &str| sandbox.write_config(&format!("data_dir = \"data\"\n{text}"));
    let path = origin.path().display().to_string();
    configure("");
    for name in ["acme/one", "acme/two"] {
        sandbox.run(&["add", &path, "--name", name]).ok();
    }
    let hits = |project: &str, text: &str| {
        let found = sandbox.run(&["search", text, "--project", project, "--mode", "lexical", "--json"]).ok().json();
        let hits = found["hits"].as_array().unwrap().iter().filter(|hit| hit["kind"] != "commit");
        hits.map(|hit| hit["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(hits("acme/one", "handle event").iter().any(|id| id.starts_with("acme/one:src/a.py")));
    configure(
        "[[repositories.project]]\npath = \"acme/one\"\nexclude = [\"src/a.py\"]\n\
         [[repositories.project]]\npath = \"acme/two\"\ninclude = [\"src/**\", \"dist/**\"]\nmax_file_bytes = 1000\n",
    );
    sandbox.run(&["sync"]).ok();
    assert!(!hits("acme/one", "handle event").iter().any(|id| id.contains("src/a.py")));
    let two = hits("acme/two", "handle event");
    assert!(
        two.iter().any(|id| id.contains("src/a.py")) && two.iter().any(|id| id.contains("dist/bundle.py")),
        "{two:?}"
    );
    assert!(!hits("acme/two", "limit").iter().any(|id| id.contains("large.py")));
    for (wrong, said) in [
        ("max_file_bytes = 0\n", "max_file_bytes is 0; it must be 1 to 4194304"),
        ("output_directories = [\"a/b\"]\n", "output_directories: 'a/b' is not the name of a directory, like dist"),
        ("[[repositories.project]]\npath = \"a b\"\n", "path: 'a b' is not the path of a project"),
    ] {
        configure(&format!("[repositories]\n{wrong}"));
        let error = sandbox.run(&["repos"]).error(3).to_owned();
        assert!(error.contains(said), "{error}");
    }
}

// Row 52 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_provider_texts_are_found_by_their_words() {
    let origin = origin();
    let embedding = embed::Settings { provider: Provider::None, ..embed::Settings::default() };
    let indexed = Indexed::empty(Settings { embedding, ..settings() }).await;
    indexed.add(origin.path(), PROJECT, Branches::Default).await.unwrap();
    indexed.sync().await;
    let refused = indexed.engine.answer(backstory_engine::EmbedRequest {}).await;
    assert!(refused.is_err_and(|error| error.message.contains("vectors are switched off")));
    let request =
        |mode: Mode| SearchRequest { query: "handle event".to_owned(), mode, limit: 10, ..Default::default() };
    let found = indexed.engine.search_documents(request(Mode::Hybrid)).await.unwrap();
    assert!(!found.hits.is_empty() && found.warnings.is_empty(), "{:?}", found.warnings);
    assert_eq!(found.coverage.embedded, 0);
    let refused = indexed.engine.search_documents(request(Mode::Semantic)).await;
    assert!(refused.is_err_and(|error| error.message.contains("embedding.provider")));
}

// Rows 48 and 97 of docs/requirements.md.
#[test]
fn a_section_over_the_size_is_split_and_sizes_are_configured() {
    let mut origin = Origin::new();
    let words = "one two three four five six seven eight nine ten";
    let section: String = (0..90).map(|number| format!("Step {number}: {words}.\n")).collect();
    origin.write("README.md", format!("# Shop\n\nA shop.\n\n## Install\n\n{section}\nThen water the marmoset.\n"));
    origin.commit_all("Begin");
    let sandbox = Sandbox::empty();
    let configure = |text: &str| sandbox.write_config(&format!("data_dir = \"data\"\n{text}"));
    configure("");
    sandbox.run(&["add", &origin.path().display().to_string(), "--name", PROJECT]).ok();
    // The section that names it, with its first and last line and how many characters these have.
    let readme = fs::read_to_string(origin.path().join("README.md")).unwrap();
    let hit = || {
        let search = ["search", "water the marmoset", "--mode", "lexical", "--type", "section", "--json"];
        let found = sandbox.run(&search).ok().json();
        let hit = &found["hits"][0];
        let line = |at: usize| usize::try_from(hit["lines"][at].as_u64().unwrap()).unwrap();
        let lines: Vec<&str> = readme.lines().skip(line(0) - 1).take(line(1) + 1 - line(0)).collect();
        (hit["id"].as_str().unwrap().to_owned(), line(0), line(1), lines.join("\n").chars().count())
    };
    let (id, first, last, length) = hit();
    assert!(id.starts_with(&format!("{PROJECT}:README.md#Install~")), "{id}");
    assert_eq!(last, readme.lines().count());
    assert!(first > 50 && (1000..=2500).contains(&length), "{first}-{last}: {length} characters");

    configure("[index.chunks]\ndocumentation = { lines = 1000, characters = 0 }\n");
    let told = sandbox.run(&["status"]).ok();
    assert!(told.stderr.contains("files are cut otherwise than when the index was made"), "{told:#?}");
    let (id, first, last, length) = hit();
    assert_eq!((id, first, last), (format!("{PROJECT}:README.md#Install"), 5, readme.lines().count()));
    assert!(length > 4000, "{length}");
    assert!(!sandbox.run(&["status"]).ok().stderr.contains("cut otherwise"));

    for (wrong, said) in [
        ("code = { lines = 0 }", "lines is 0; it must be 1 to 1000"),
        ("text = { characters = 10 }", "characters is 10; it must be 200 to 50000, or 0 for no limit"),
        ("text = { lines = 5, overlap = 5 }", "overlap is 5; it must be less than lines, 5"),
    ] {
        configure(&format!("[index.chunks]\n{wrong}\n"));
        let error = sandbox.run(&["repos"]).error(3).to_owned();
        assert!(error.contains(said), "{error}");
    }
}
