//! Embedding: the bundled model computes what ONNX Runtime computes, and providers behind an address are spoken to as
//! they expect, whatever they answer.

use std::{
    collections::VecDeque,
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use backstory_engine::{
    embed::{Embedder, Provider, Settings},
    provider::ProviderError,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../backstory-engine/models");
/// The bundled model that is used unless another is named,
const ARCTIC: &str = "snowflake-arctic-embed-s-int8";
/// and the other one, for which a query is a text like any other.
const MINI: &str = "all-MiniLM-L6-v2-int8";

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

async fn bundled() -> Embedder {
    Embedder::open(Settings { threads: Some(2), ..Settings::default() }).await.unwrap()
}

async fn named(model: &str) -> Embedder {
    let settings = Settings { threads: Some(2), model: Some(model.to_owned()), ..Settings::default() };
    Embedder::open(settings).await.unwrap()
}

async fn refused(settings: Settings) -> String {
    let error = Embedder::open(settings).await.unwrap_err();
    assert!(error.is_configuration(), "{error:?}");
    error.to_string()
}

#[test]
fn vendored_model_files_are_the_published_ones() {
    let sum = |directory: &Path, file: &str| {
        let bytes = fs::read(directory.join(file)).unwrap();
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let (mini, arctic) = ("all-minilm-l6-v2", "snowflake-arctic-embed-s");
    let sums = [
        (mini, "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"),
        (mini, "tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        (arctic, "model.onnx", "64076662ee1517974e9033ce4f3d9acf1d4147eed9b964e76af0c8b57aa93b6a"),
        (arctic, "center.f32", "a38ba70613e675b0c434a3fa5f075a3ed60d76ec0b8c04e751fa5eb01086559f"),
    ];
    for (model, file, expected) in sums {
        let directory = Path::new(MODELS).join(model);
        assert_eq!(sum(&directory, file), expected, "{model}: {file}");
        let readme = fs::read_to_string(directory.join("README.md")).unwrap();
        assert!(readme.contains(expected), "the README of {model} does not tell the sum of {file}");
    }
}

/// Texts, how many tokens they have, and how their vectors begin when ONNX Runtime 1.31 computes them by the other model.
const REFERENCE: [(&str, usize, [f32; 8]); 5] = [
    ("Why is this code like this?", 7, [-0.0045, 0.1025, 0.0115, 0.0320, 0.0214, -0.0296, 0.1104, 0.0044]),
    (
        "Use a constant-time scalar multiplication, so that the key does not leak through timing.",
        19,
        [-0.0346, 0.0530, -0.0318, 0.0116, -0.1370, -0.0639, -0.0158, -0.0237],
    ),
    (
        "fn parse_cursor(page: &str) -> Result<Cursor, Error> { page.parse() }",
        33,
        [-0.0853, 0.0306, 0.0108, -0.0293, -0.0075, -0.0247, -0.0475, 0.0336],
    ),
    (
        "Größere Änderung: Zeitüberschreitung beim Öffnen der Datenbank 数据库 ☃",
        27,
        [-0.0576, 0.0998, 0.0524, 0.0419, 0.0329, 0.0344, -0.0308, 0.0209],
    ),
    ("+1", 2, [-0.1782, 0.0079, -0.0247, 0.0781, 0.0468, -0.0498, 0.1291, 0.0336]),
];

#[tokio::test]
async fn the_other_bundled_model_is_used_if_it_is_named() {
    let embedder = named(MINI).await;
    assert_eq!((embedder.model(), embedder.dimension(), embedder.window()), (MINI, 384, 256));
    let texts: Vec<String> = REFERENCE.iter().map(|(text, ..)| (*text).to_owned()).collect();
    let vectors = embedder.embed_documents(&texts).await.unwrap();
    assert_eq!(vectors.len(), REFERENCE.len());
    for ((text, tokens, beginning), vector) in REFERENCE.iter().zip(&vectors) {
        assert_eq!(embedder.count_tokens(text), *tokens, "{text}");
        assert_eq!(vector.len(), 384);
        assert!((dot(vector, vector) - 1.0).abs() < 1e-4, "{text}");
        for (expected, got) in beginning.iter().zip(vector) {
            assert!((expected - got).abs() < 1e-3, "{text}: {beginning:?}, got {:?}", &vector[..8]);
        }
        // Alone or beside others that are padded: the same vector.
        let alone = embedder.embed_query(text).await.unwrap();
        assert!(dot(vector, &alone) > 0.9999, "{text}");
    }
    embedder.check().await.unwrap();
}

/// The same texts by the first model, centered, as ONNX Runtime 1.20 computes them.
const REFERENCE_OF_ARCTIC: [[f32; 8]; 5] = [
    [-0.0066, -0.0378, -0.0343, 0.0544, 0.0121, -0.0652, -0.0205, 0.0545],
    [-0.0654, -0.0733, -0.0091, 0.0373, -0.0224, 0.0159, -0.0665, 0.0325],
    [-0.0649, 0.0075, -0.0329, 0.0552, -0.0079, -0.0824, -0.0502, 0.0164],
    [0.0110, 0.0051, -0.0827, 0.0433, 0.0075, 0.0076, -0.0118, 0.0661],
    [0.0205, -0.0514, -0.0534, 0.0561, 0.0642, -0.0203, -0.0694, 0.0622],
];

#[tokio::test]
async fn bundled_model_computes_what_onnxruntime_computes() {
    let embedder = bundled().await;
    assert_eq!((embedder.model(), embedder.dimension(), embedder.window()), (ARCTIC, 384, 256));
    let texts: Vec<String> = REFERENCE.iter().map(|(text, ..)| (*text).to_owned()).collect();
    let vectors = embedder.embed_documents(&texts).await.unwrap();
    for ((text, expected), vector) in texts.iter().zip(REFERENCE_OF_ARCTIC).zip(&vectors) {
        assert!((dot(vector, vector) - 1.0).abs() < 1e-4, "{text}");
        for (expected, got) in expected.iter().zip(vector) {
            assert!((expected - got).abs() < 1e-3, "{text}: {expected:?}, got {:?}", &vector[..8]);
        }
        let alone = embedder.embed_documents(std::slice::from_ref(text)).await.unwrap();
        assert!(dot(vector, &alone[0]) > 0.9999, "the texts beside it do not count: {text}");
    }
}

#[tokio::test]
async fn bundled_model_takes_any_number_of_texts_of_any_length() {
    let embedder = named(MINI).await;
    assert!(embedder.embed_documents(&[]).await.unwrap().is_empty());
    let texts: Vec<String> = (0..40).map(|i| format!("{i} {}", "branch ".repeat(i * 7 % 41))).collect();
    let vectors = embedder.embed_documents(&texts).await.unwrap();
    for (text, vector) in texts.iter().zip(&vectors).step_by(7) {
        assert!(dot(vector, &embedder.embed_query(text).await.unwrap()) > 0.9999, "{text}");
    }
    let window = "word ".repeat(256);
    let odd = [String::new(), " \n".into(), format!("{window} more"), "x".repeat(1 << 20), "é".repeat(1 << 16)];
    let vectors = embedder.embed_documents(&odd).await.unwrap();
    assert!(dot(&vectors[2], &embedder.embed_query(&window).await.unwrap()) > 0.9999, "what is behind the window");
    assert!(vectors.iter().all(|vector| (dot(vector, vector) - 1.0).abs() < 1e-4));
}

#[tokio::test]
async fn bundled_model_puts_like_meanings_together() {
    let embedder = bundled().await;
    let texts = ["the login fails after the token has expired", "a recipe for bread with olives"].map(str::to_owned);
    let vectors = embedder.embed_documents(&texts).await.unwrap();
    let query = embedder.embed_query("authentication breaks when the session times out").await.unwrap();
    assert!(dot(&query, &vectors[0]) > dot(&query, &vectors[1]) + 0.2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_queries_of_a_process_have_the_vectors_that_later_ones_have() {
    let (fresh, used) = (bundled().await, bundled().await);
    used.embed_documents(&["A basket".to_owned()]).await.unwrap();
    for query in ["why is it cached", "who reviews this", "token expiry", "the total of a basket", "a later one"] {
        assert_eq!(fresh.embed_query(query).await.unwrap(), used.embed_query(query).await.unwrap(), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bundled_query_does_not_wait_for_texts_that_are_being_embedded() {
    let embedder = bundled().await;
    embedder.check().await.unwrap();
    let texts: Vec<String> =
        (0..200).map(|i| format!("{i} {}", "discussion of the merge request ".repeat(30))).collect();
    let background = {
        let embedder = embedder.clone();
        tokio::spawn(async move { embedder.embed_in_background(&texts).await })
    };
    for _ in 0..5 {
        embedder.embed_query("merge request").await.unwrap();
    }
    // Nor do texts for which somebody waits.
    let few: Vec<String> = (0..8).map(|i| format!("{i} merge request")).collect();
    embedder.embed_documents(&few).await.unwrap();
    assert!(!background.is_finished());
    // What nobody waits for any more is given up, so that the next texts have the threads.
    background.abort();
    assert!(background.await.unwrap_err().is_cancelled());
    embedder.check().await.unwrap();
}

#[tokio::test]
async fn contradictory_settings_are_explained() {
    let bundled = Settings::default;
    let url = || Some("http://127.0.0.1:1/".parse().unwrap());
    let cases = [
        (
            Settings { model: Some("bert".into()), ..bundled() },
            "the bundled models are snowflake-arctic-embed-s-int8 and all-M",
        ),
        (Settings { base_url: url(), ..bundled() }, "embedding.base_url is http://127.0.0.1:1, but the bundled model"),
        (Settings { dimension: Some(768), ..bundled() }, "embedding.dimension is 768, but the bundled model has 384"),
        (Settings { threads: Some(0), ..bundled() }, "embedding.threads is 0, but must be in 1..=64"),
        (Settings { provider: Provider::OpenAi, ..bundled() }, "is \"openai\", which needs a key"),
        (
            Settings { provider: Provider::Ollama, base_url: Some("ftp://host/".parse().unwrap()), ..bundled() },
            "embedding.base_url is ftp://host, but must begin with http:// or https://",
        ),
        (
            Settings { provider: Provider::Ollama, dimension: Some(0), ..bundled() },
            "embedding.dimension is 0, but must be in 1..=8192",
        ),
        (Settings { provider: Provider::Ollama, model: Some(" ".into()), ..bundled() }, "embedding.model is empty"),
        (
            Settings { provider: Provider::OpenAi, base_url: url(), api_key: Some("a\nb".into()), ..bundled() },
            "check for a stray line break",
        ),
    ];
    for (settings, expected) in cases {
        let message = refused(settings).await;
        assert!(message.contains(expected), "{message}");
    }
    let with_password = "http://me:hunter2@127.0.0.1/".parse().unwrap();
    let message =
        refused(Settings { provider: Provider::Ollama, base_url: Some(with_password), ..Settings::default() }).await;
    assert!(message.contains("has a user or password in it") && !message.contains("hunter2"), "{message}");
}

#[test]
fn providers_are_named_in_lower_case() {
    let names = json!(["bundled", "ollama", "openai", "none"]);
    let providers: Vec<Provider> = serde_json::from_value(names.clone()).unwrap();
    assert_eq!(providers, [Provider::Bundled, Provider::Ollama, Provider::OpenAi, Provider::None]);
    assert_eq!(serde_json::to_value(&providers).unwrap(), names);
}

// ---- providers behind an address ----

/// A request as the provider saw it.
#[derive(Clone, Debug)]
struct Seen {
    path: String,
    headers: HeaderMap,
    body: Value,
}

impl Seen {
    fn inputs(&self) -> Vec<&str> {
        self.body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
    }
}

/// A provider that gives prepared answers first and proper ones of some dimension after that.
#[derive(Clone)]
struct Stub {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    prepared: Arc<Mutex<VecDeque<Response>>>,
    dimension: usize,
}

impl Stub {
    async fn start(dimension: usize) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stub = Self { url, seen: Arc::default(), prepared: Arc::default(), dimension };
        let router = Router::new().fallback(Self::answer).with_state(stub.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        stub
    }

    async fn answer(State(stub): State<Self>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
        let body: Value = serde_json::from_slice(&body).unwrap();
        let seen = Seen { path: uri.path().to_owned(), headers, body };
        let texts: Vec<String> = seen.inputs().into_iter().map(str::to_owned).collect();
        stub.seen.lock().push(seen);
        if let Some(prepared) = stub.prepared.lock().pop_front() {
            return prepared;
        }
        let vectors = texts.iter().map(|text| stub.vector(text));
        let answer = if uri.path().ends_with("/api/embed") {
            json!({"model": "m", "embeddings": vectors.collect::<Vec<_>>()})
        } else {
            // Servers need not keep the order: `index` tells it.
            let data = vectors.enumerate().map(|(index, embedding)| json!({"index": index, "embedding": embedding}));
            json!({"object": "list", "data": data.rev().collect::<Vec<_>>()})
        };
        axum::Json(answer).into_response()
    }

    /// Not of length 1, and different for different texts.
    fn vector(&self, text: &str) -> Vec<f32> {
        let seed = text.bytes().fold(7_u32, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        (0..self.dimension).map(|i| ((seed >> (i % 24)) % 17) as f32 + 1.0).collect()
    }

    fn prepare(&self, answers: impl IntoIterator<Item = Response>) {
        self.prepared.lock().extend(answers);
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    fn settings(&self, provider: Provider) -> Settings {
        let base_url = if provider == Provider::OpenAi { format!("{}/v1", self.url) } else { self.url.clone() };
        Settings { provider, base_url: Some(base_url.parse().unwrap()), ..Settings::default() }
    }

    async fn ollama(&self) -> Embedder {
        Embedder::open(self.settings(Provider::Ollama)).await.unwrap()
    }
}

/// An answer that asks for a retry at once.
fn busy(status: StatusCode) -> Response {
    (status, [(header::RETRY_AFTER, "0")], "try later").into_response()
}

#[tokio::test]
async fn connects_to_the_ollama_api() {
    let stub = Stub::start(768).await;
    let embedder = stub.ollama().await;
    assert_eq!((embedder.model(), embedder.dimension(), embedder.window()), ("ollama:nomic-embed-text", 768, 512));
    assert!(stub.seen().is_empty(), "what is known of a model need not be asked");
    embedder.check().await.unwrap();
    let seen = stub.seen();
    assert_eq!(seen[0].path, "/api/embed");
    assert_eq!(seen[0].body["model"], "nomic-embed-text");
    assert_eq!(seen[0].body["keep_alive"], "30m");
    assert!(!seen[0].headers.contains_key(header::AUTHORIZATION));
}

#[tokio::test]
async fn generates_an_embedding_of_768_dimensions_for_a_text() {
    let stub = Stub::start(768).await;
    let embedder = stub.ollama().await;
    let vectors = embedder.embed_documents(&["some text".to_owned()]).await.unwrap();
    let query = embedder.embed_query("some text").await.unwrap();
    assert_eq!((vectors.len(), vectors[0].len(), query.len()), (1, 768, 768));
    assert!((dot(&vectors[0], &vectors[0]) - 1.0).abs() < 1e-4, "vectors have length 1");
    // nomic-embed-text is trained to be told which of the two a text is.
    let inputs: Vec<Vec<String>> =
        stub.seen().iter().map(|seen| seen.inputs().into_iter().map(str::to_owned).collect()).collect();
    assert_eq!(inputs, [["search_document: some text"], ["search_query: some text"]]);
}

#[tokio::test]
async fn batches_requests_of_32_and_keeps_the_order() {
    let stub = Stub::start(768).await;
    let texts: Vec<String> = (0..70).map(|i| format!("text {i}")).collect();
    let vectors = stub.ollama().await.embed_documents(&texts).await.unwrap();
    assert_eq!(stub.seen().iter().map(|seen| seen.inputs().len()).collect::<Vec<_>>(), [32, 32, 6]);
    for (text, vector) in texts.iter().zip(&vectors) {
        let raw = stub.vector(&format!("search_document: {text}"));
        assert!(dot(&raw, vector) / dot(&raw, &raw).sqrt() > 0.9999, "{text}");
    }
}

#[tokio::test]
async fn text_is_cut_to_the_window_of_the_model() {
    let stub = Stub::start(768).await;
    stub.ollama().await.embed_query(&"many words ".repeat(1000)).await.unwrap();
    assert_eq!(stub.seen()[0].inputs()[0].matches("many words").count(), 256);
}

#[tokio::test]
async fn handles_connection_failure_gracefully() {
    // Nobody else gets its port, and it does not listen.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let closed = socket.local_addr().unwrap();
    let base_url = Some(format!("http://{closed}").parse().unwrap());
    let settings = Settings { provider: Provider::Ollama, base_url, ..Settings::default() };
    let embedder = Embedder::open(settings).await.unwrap();
    let started = Instant::now();
    for result in [embedder.check().await, embedder.embed_query("q").await.map(drop)] {
        let error = result.unwrap_err();
        assert!(matches!(error, ProviderError::Unavailable { .. }), "{error:?}");
        assert!(!error.is_configuration());
        let message = error.to_string();
        assert!(message.starts_with(&format!("Ollama at http://{closed} is unavailable: ")), "{message}");
        assert!(message.contains("start it with 'ollama serve'") && message.contains("\"bundled\""), "{message}");
    }
    assert!(started.elapsed() < Duration::from_secs(5), "a closed port is known at once");
}

#[tokio::test]
async fn transient_failures_are_retried_twice() {
    let stub = Stub::start(768).await;
    let embedder = stub.ollama().await;
    stub.prepare([busy(StatusCode::TOO_MANY_REQUESTS), busy(StatusCode::BAD_GATEWAY)]);
    embedder.embed_query("q").await.unwrap();
    assert_eq!(stub.seen().len(), 3);
    // What was asked lately is not asked for again, whether or not somebody answers.
    embedder.embed_query("q").await.unwrap();
    assert_eq!(stub.seen().len(), 3);
    stub.prepare((0..3).map(|_| busy(StatusCode::SERVICE_UNAVAILABLE)));
    let error = embedder.embed_query("another").await.unwrap_err();
    assert_eq!(stub.seen().len(), 6);
    assert!(
        matches!(&error, ProviderError::Unavailable { reason, .. } if reason == "HTTP 503: try later"),
        "{error:?}"
    );
    // A provider that wants a longer rest than anybody waits for is not asked again.
    stub.prepare([(StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "3600")], "quota").into_response()]);
    assert!(embedder.embed_query("a third").await.is_err());
    assert_eq!(stub.seen().len(), 7);
}

#[tokio::test]
async fn missing_ollama_model_is_explained() {
    let stub = Stub::start(768).await;
    let answer = axum::Json(json!({"error": "model \"nomic-embed-text\" not found, try pulling it first"}));
    stub.prepare([(StatusCode::NOT_FOUND, answer).into_response()]);
    let error = stub.ollama().await.check().await.unwrap_err();
    assert!(error.is_configuration());
    let message = error.to_string();
    assert!(message.contains("not found, try pulling it first; run 'ollama pull nomic-embed-text'"), "{message}");
    assert_eq!(stub.seen().len(), 1, "asking again would not help");
}

#[tokio::test]
async fn dimension_of_an_unknown_model_is_asked_for() {
    let stub = Stub::start(100).await;
    let settings = Settings { model: Some("snowflake:latest".into()), ..stub.settings(Provider::Ollama) };
    let embedder = Embedder::open(settings.clone()).await.unwrap();
    assert_eq!((embedder.model(), embedder.dimension(), stub.seen().len()), ("ollama:snowflake", 100, 1));
    let embedder = Embedder::open(Settings { dimension: Some(99), ..settings }).await.unwrap();
    let error = embedder.check().await.unwrap_err();
    assert!(matches!(error, ProviderError::WrongDimension { expected: 99, got: 100, .. }), "{error:?}");
    assert!(error.to_string().contains("set embedding.dimension = 100"), "{error}");
}

#[tokio::test]
async fn speaks_the_openai_protocol() {
    let stub = Stub::start(1536).await;
    let settings = Settings { api_key: Some("sk-secret".into()), ..stub.settings(Provider::OpenAi) };
    assert!(!format!("{settings:?}").contains("sk-secret"));
    let embedder = Embedder::open(settings.clone()).await.unwrap();
    assert_eq!((embedder.model(), embedder.dimension()), ("openai:text-embedding-3-small", 1536));
    let texts = ["one".to_owned(), "two".to_owned()];
    let vectors = embedder.embed_documents(&texts).await.unwrap();
    for (text, vector) in texts.iter().zip(&vectors) {
        let raw = stub.vector(text);
        assert!(dot(&raw, vector) / dot(&raw, &raw).sqrt() > 0.9999, "{text}");
    }
    let seen = stub.seen();
    assert_eq!(seen[0].path, "/v1/embeddings");
    assert_eq!(seen[0].headers[header::AUTHORIZATION], "Bearer sk-secret");
    assert!(seen[0].body.get("dimensions").is_none());
    let embedder = Embedder::open(Settings { dimension: Some(256), ..settings }).await.unwrap();
    embedder.check().await.unwrap_err();
    assert_eq!(stub.seen()[1].body["dimensions"], 256);
}

#[tokio::test]
async fn wrong_key_is_explained_and_never_shown() {
    let stub = Stub::start(1536).await;
    let settings = Settings { api_key: Some("sk-secret".into()), ..stub.settings(Provider::OpenAi) };
    let embedder = Embedder::open(settings).await.unwrap();
    let answer = axum::Json(json!({"error": {"message": "Incorrect API key provided: sk-secret."}}));
    stub.prepare([(StatusCode::UNAUTHORIZED, answer).into_response()]);
    let error = embedder.embed_query("q").await.unwrap_err();
    assert!(error.is_configuration());
    let message = format!("{error} {error:?} {embedder:?}");
    assert!(message.contains("(HTTP 401): Incorrect API key provided: [key].; check the key"), "{message}");
    assert!(!message.contains("sk-secret"), "{message}");
}

#[tokio::test]
async fn answers_that_are_no_embeddings_are_explained() {
    let stub = Stub::start(768).await;
    let embedder = stub.ollama().await;
    let answer = |body: String| ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    let cases = [
        ("<html>a proxy</html>".to_owned(), "expected value"),
        (json!({"embedding": [1.0]}).to_string(), "missing field `embeddings`"),
        (json!({"embeddings": []}).to_string(), "0 vectors for 1 texts"),
        (json!({"embeddings": [vec![0.0; 768]]}).to_string(), "a vector has no direction"),
        (json!({"embeddings": [vec![Value::Null; 768]]}).to_string(), "invalid type: null"),
        (" ".repeat(17 << 20), "it is longer than 16 MiB"),
    ];
    for (body, expected) in cases {
        stub.prepare([answer(body)]);
        let error = embedder.embed_query("q").await.unwrap_err();
        assert!(matches!(error, ProviderError::Malformed { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let stub = Stub::start(768).await;
    let target = Stub::start(768).await;
    stub.prepare([(StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, target.url.clone())]).into_response()]);
    let error = stub.ollama().await.embed_query("q").await.unwrap_err();
    assert!(error.to_string().contains("set embedding.base_url to the target"), "{error}");
    assert!(target.seen().is_empty());
}
