//! Five projects that mention each other, and data directories that hold some of them.

use std::collections::BTreeSet;

use axum::{Json, Router, routing::post};
use backstory_engine::{
    EmbedRequest, embed,
    enrich::EnrichRequest,
    ledger::Branches,
    llm,
    settings::{self, ForgeKind, Settings},
    sources::forge,
    summary::SummarizeRequest,
};
use serde_json::{Value, json};

use crate::support::{Fixture, Forge, Indexed, StandIn, TOKEN as FORGE_TOKEN, settings_with};

/// The projects. The name of one begins like that of another.
pub(super) const PROJECTS: [&str; 5] = ["acme/shop", "acme/shop-admin", "acme/web", "tools/api", "tools/docs"];
/// Issues of each; the last one is confidential.
const ISSUES: usize = 4;
/// Merge requests of each.
const MERGE_REQUESTS: usize = 3;
/// People whom every project mentions. Each has one more, whom only confidential items mention, and one of its own.
const EVERYBODY: [&str; 3] = ["alice", "bob", "carol"];
/// Words that all projects use, the first ones more often.
const WORDS: [&str; 32] = [
    "session", "token", "cache", "order", "login", "retry", "report", "queue", "index", "schema", "upload", "invoice",
    "timeout", "browser", "database", "header", "worker", "payment", "language", "currency", "archive", "template",
    "journal", "keyboard", "lantern", "meadow", "notebook", "orchard", "packet", "quarry", "ribbon", "saddle",
];
/// Numbers in a vector of the stand-in for an embedding model.
const DIMENSION: usize = 48;

/// The forge, the repositories and the models of all projects.
pub(super) struct World {
    forge: Forge,
    repositories: Vec<Fixture>,
    /// Those of each repository, the oldest first.
    commits: Vec<Vec<String>>,
    models: StandIn,
}

/// Makes texts, the same ones for the same seed.
struct Texts {
    words: fastrand::Rng,
    /// Who writes and what refers to what.
    structure: fastrand::Rng,
}

impl Texts {
    fn new(words: u64, structure: u64) -> Self {
        Self { words: fastrand::Rng::with_seed(words), structure: fastrand::Rng::with_seed(structure) }
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.words.usize(..WORDS.len()).min(self.words.usize(..WORDS.len()))]
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    fn sentence(&mut self) -> String {
        format!("The {} keeps its {}, because {} lost the {}.", self.word(), self.word(), self.word(), self.word())
    }

    fn someone(&mut self) -> &'static str {
        EVERYBODY[self.structure.usize(..EVERYBODY.len())]
    }

    /// A reference to an issue or merge request of any project, as one project writes it.
    fn reference(&mut self, project: &str) -> String {
        let other = PROJECTS[self.structure.usize(..PROJECTS.len())];
        let short = match self.structure.bool() {
            true => format!("#{}", 1 + self.structure.usize(..ISSUES)),
            false => format!("!{}", 1 + self.structure.usize(..MERGE_REQUESTS)),
        };
        if other == project { short } else { format!("{other}{short}") }
    }

    fn description(&mut self, project: &str) -> String {
        let (first, second, reference) = (self.sentence(), self.sentence(), self.reference(project));
        format!("{first} {second} See {reference} and ask @{}.", self.someone())
    }
}

/// A time in 2024, later for a larger number.
fn at(number: usize) -> String {
    format!("2024-{:02}-{:02}T{:02}:00:00.000Z", 1 + number / 480, 1 + number / 24 % 20, number % 24)
}

/// The name of somebody whom only one project mentions.
fn own_person(place: usize) -> String {
    format!("own{place}")
}

/// The name of somebody whom only what is confidential in one project mentions.
fn insider(place: usize) -> String {
    format!("insider{place}")
}

fn repository(place: usize, texts: &mut Texts) -> (Fixture, Vec<String>) {
    let (project, mut repository, mut commits) = (PROJECTS[place], Fixture::new(), Vec::new());
    for step in 0..4 {
        let name = texts.someone();
        // One of them is known by an address of which only one project says whose it is.
        repository.author(name, &format!("{name}@{}", if place == 0 { "home.example" } else { "acme.example" }));
        let body = format!(
            "/// {}\npub fn load_session() -> u32 {{\n    step_{step}(parse_order())\n}}\n\nfn step_{step}(value: u32) -> u32 {{\n    value + {step}\n}}\n\nfn parse_order() -> u32 {{\n    {place}\n}}\n",
            texts.sentence(),
        );
        repository.write("src/session.rs", body);
        repository
            .write(format!("src/part_{step}.rs"), format!("// {}\npub fn part_{step}() {{}}\n", texts.sentence()));
        repository.write("docs/design.md", format!("# The {}\n\n{}\n", texts.word(), texts.sentence()));
        let message = format!("{}\n\n{} Closes {}\n", texts.words(4), texts.sentence(), texts.reference(project));
        commits.push(repository.commit_all(message).to_string());
    }
    (repository, commits)
}

fn issue(place: usize, number: usize, texts: &mut Texts) -> Value {
    let project = PROJECTS[place];
    let is_confidential = number == ISSUES - 1;
    let author = if is_confidential { insider(place) } else { texts.someone().to_owned() };
    let time = at(place * 100 + number * 10);
    let note = |texts: &mut Texts, by: &str| json!([{"author": by, "at": time, "body": texts.description(project)}]);
    json!({
        "title": texts.words(4), "description": texts.description(project), "state": "opened", "author": author,
        "assignees": [if is_confidential { insider(place) } else { own_person(place) }],
        "labels": [texts.word().split_at(3).0, "bug"], "created_at": time, "updated_at": at(place * 100 + number * 10 + 5),
        "links": [{"type": "relates_to", "to": texts.reference(project).replace('!', "#")}],
        "merge_requests": [format!("!{}", 1 + number % MERGE_REQUESTS)],
        "discussions": [note(texts, "alice"), note(texts, &author)],
    })
}

fn merge_request(place: usize, number: usize, commits: &[String], texts: &mut Texts) -> Value {
    let (project, time) = (PROJECTS[place], at(place * 100 + 50 + number * 10));
    let author = texts.someone();
    // The last one waits for its review.
    let is_merged = number < MERGE_REQUESTS - 1;
    let merged = |value: Value| if is_merged { value } else { Value::Null };
    json!({
        "title": texts.words(5), "description": texts.description(project),
        "state": if is_merged { "merged" } else { "opened" }, "author": author,
        "reviewers": [texts.someone()], "approved_by": if is_merged { vec!["carol"] } else { vec![] }, "labels": ["bug"],
        "source_branch": "topic", "target_branch": "main", "created_at": time,
        "updated_at": at(place * 100 + 58 + number * 10),
        "merged_at": merged(json!(at(place * 100 + 57 + number * 10))), "merged_by": merged(json!("bob")),
        "merge_commit_sha": merged(json!(commits[number])), "sha": commits[number],
        "closes": [texts.reference(project).replace('!', "#")],
        "discussions": [[{
            "author": "alice", "at": time, "body": texts.description(project),
            "position": {"path": "src/session.rs", "lines": [2, 3]},
        }]],
    })
}

impl World {
    /// Made of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self::with_words(seed, [seed; PROJECTS.len()])
    }

    /// Made of a seed, with the words of each project made of one of its own. What refers to what follows from the first.
    pub(super) fn with_words(seed: u64, words: [u64; PROJECTS.len()]) -> Self {
        let texts = |(place, words): (u64, u64)| Texts::new(words * 10 + place, seed * 10 + place);
        let mut all: Vec<Texts> = (0..).zip(words).map(texts).collect();
        let (mut repositories, mut all_commits, mut projects) = (Vec::new(), Vec::new(), Vec::new());
        let mut people: Vec<String> = EVERYBODY.map(str::to_owned).to_vec();
        // Whose token it is.
        people.push("johndoe".to_owned());
        for (place, path) in PROJECTS.into_iter().enumerate() {
            let texts = &mut all[place];
            let (repository, commits) = repository(place, texts);
            repositories.push(repository);
            people.extend([own_person(place), insider(place)]);
            let label = |name: &str| json!({"name": name, "color": "#ff0000", "description": null});
            let mut labels: BTreeSet<&str> = WORDS.iter().map(|word| word.split_at(3).0).collect();
            labels.insert("bug");
            projects.push(json!({
                "path": path, "id": 5 + place, "description": texts.sentence(), "milestones": [],
                "labels": labels.into_iter().map(label).collect::<Vec<_>>(),
                "issues": (0..ISSUES).map(|number| issue(place, number, texts)).collect::<Vec<_>>(),
                "merge_requests":
                    (0..MERGE_REQUESTS).map(|number| merge_request(place, number, &commits, texts)).collect::<Vec<_>>(),
            }));
            all_commits.push(commits);
        }
        let people: Vec<Value> =
            people.iter().map(|name| json!({"username": name, "name": format!("{name} of the team")})).collect();
        let forge = Forge::start_with(&json!({"people": people, "projects": projects}).to_string());
        for (place, path) in PROJECTS.into_iter().enumerate() {
            forge.set_confidential(&format!("{path}#{ISSUES}"), true);
            forge.discuss_inside(&format!("{path}#1"), &insider(place), &all[place].description(path));
        }
        forge.advance(600);
        Self { forge, repositories, commits: all_commits, models: start_models() }
    }

    /// The commits of a project's repository, the oldest first.
    pub(super) fn commits(&self, project: &str) -> &[String] {
        let place = PROJECTS.iter().position(|path| *path == project).unwrap();
        &self.commits[place]
    }

    /// Address of the forge.
    pub(super) fn url(&self) -> &str {
        &self.forge.url
    }

    /// A text without the places on this machine where the world is.
    pub(super) fn without_places(&self, text: &str) -> String {
        let text = text.replace(&self.forge.url, "[forge]");
        let paths = self.repositories.iter().map(|repository| repository.path().display().to_string());
        paths.fold(text, |text, path| text.replace(&path, "[repository]"))
    }

    /// A data directory that holds some of the projects, with all vectors.
    pub(super) async fn directory(&self, projects: &[&str]) -> Indexed {
        let url = self.forge.url.parse().unwrap();
        let connection = forge::ForgeSettings {
            requests_per_second: 0,
            confidential: true,
            ..forge::ForgeSettings::new(url, Some(FORGE_TOKEN.into()))
        };
        let forge = settings::Forge {
            kind: ForgeKind::GitLab,
            connection,
            projects: projects.iter().map(|project| (*project).to_owned()).collect(),
            webhook_secret: None,
        };
        let embedding = embed::Settings {
            provider: embed::Provider::Ollama,
            model: Some("words".to_owned()),
            base_url: Some(self.models.url.parse().unwrap()),
            dimension: Some(DIMENSION),
            ..embed::Settings::default()
        };
        let model = llm::Settings {
            provider: llm::Provider::Ollama,
            model: "quoter".to_owned(),
            base_url: embedding.base_url.clone(),
            api_key: None,
            timeout: llm::DEFAULT_TIMEOUT,
            max_tokens: llm::MAX_TOKENS,
            daily_tokens: 1 << 40,
        };
        let settings = Settings { embedding, llm: Some(model), ..settings_with(vec![forge]) };
        let directory = Indexed::empty(settings).await;
        for (project, repository) in PROJECTS.iter().zip(&self.repositories) {
            if projects.contains(project) {
                directory.add(repository.path(), project, Branches::Default).await.unwrap();
            }
        }
        directory.sync().await;
        let task = directory.engine.answer(EmbedRequest {}).await.unwrap();
        directory.end_of(&task).await.unwrap();
        let task = directory.engine.answer(EnrichRequest::default()).await.unwrap();
        let written = directory.end_of(&task).await.unwrap();
        let is_some = |what: &str| written[what].as_u64().is_some_and(|count| count > 0);
        assert!(is_some("commits") && is_some("notes") && written["failed"] == 0, "{written}");
        for project in projects {
            // All of which a summary is asked for later: none must be written while answers are compared.
            for short in ["#1".to_owned(), format!("#{ISSUES}"), "!1".to_owned(), "!3".to_owned()] {
                let id = format!("{project}{short}").parse().unwrap();
                directory.engine.answer(SummarizeRequest { id }).await.unwrap();
            }
        }
        directory.check().await;
        directory
    }
}

/// Starts a stand-in for an embedding model, of which a text has the same vector whatever it is embedded with, and for a
/// language model, which quotes what it is given.
fn start_models() -> StandIn {
    let embed = |Json(body): Json<Value>| async move {
        let texts = body["input"].as_array().cloned().unwrap_or_default();
        let vectors: Vec<_> = texts.iter().map(|text| vector(text.as_str().unwrap_or_default())).collect();
        Json(json!({"model": "words", "embeddings": vectors}))
    };
    let write = |Json(body): Json<Value>| async move {
        let prompt = body["messages"][1]["content"].as_str().unwrap_or_default();
        Json(json!({"message": {"content": quote(prompt)}, "done": true, "prompt_eval_count": 1, "eval_count": 1}))
    };
    StandIn::start(|_| Router::new().route("/api/embed", post(embed)).route("/api/chat", post(write)))
}

/// How often each word of a text occurs, the words spread over the numbers.
fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSION];
    vector[0] = 0.1;
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = word.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        vector[hash as usize % DIMENSION] += 1.0;
    }
    vector
}

/// What a language model answers that only quotes: in the shape that the prompt asks for.
fn quote(prompt: &str) -> String {
    let mut passages = (1_u32..).zip(prompt.split("<<<passage [").skip(1));
    let cited = passages.find_map(|(number, passage)| Some((number, first_sentence(passage)?)));
    match cited {
        Some((number, text)) if prompt.ends_with("Notes:") => {
            json!({"notes": [{"about": "reason", "text": text, "evidence": [number]}]}).to_string()
        }
        Some((number, text)) => format!("{} [{number}].", text.trim_end_matches('.')),
        None if prompt.starts_with("<<<commit>>>") => {
            json!({"type": "feature", "confidence": 0.5, "reason": first_sentence(prompt)}).to_string()
        }
        None => first_sentence(prompt).unwrap_or("NOT FOUND").to_owned(),
    }
}

/// The first sentence of those that [`Texts::sentence`] makes.
fn first_sentence(text: &str) -> Option<&str> {
    let text = &text[text.find("The ")?..];
    Some(&text[..=text.find('.')?])
}
