//! What a server does with callers that have shown nothing, or ask for more than it can do.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{Forge, Model, Sandbox, Says, Server};

/// Longest time that anything which must happen may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// How many searches are asked for at once; more of them if the environment says so.
const SEARCHES: usize = 400;
/// By how many MB the memory of a server may grow because of them.
const MORE_MEMORY: u64 = 150;
const SEARCHES_VARIABLE: &str = "BACKSTORY_SEARCHES";

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream
}

/// A connection that has sent something.
fn sent(server: &Server, text: &str) -> TcpStream {
    let mut stream = connect(server);
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// What comes back until the connection is closed. One that is reset is closed too.
fn rest(mut stream: TcpStream) -> String {
    let mut bytes = vec![];
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("the connection was not closed: {error}"),
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn health(server: &Server) -> String {
    rest(sent(server, "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"))
}

#[test]
fn connections_that_say_nothing_or_half_a_request_keep_nobody_out() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve_after("ulimit -n 256");
    let body =
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{";
    let beginnings = ["", "GET /healthz HTTP/1.1\r\nhost: local", body];
    let held: Vec<TcpStream> = beginnings.iter().cycle().take(300).map(|text| sent(&server, text)).collect();
    let begun = Instant::now();
    let answer = health(&server);
    let took = begun.elapsed();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(sandbox.run(&["count", "issues"]).ok().stdout, "Issues: 6\n");
    drop(held);
    assert!(health(&server).starts_with("HTTP/1.1 200"));
}

#[test]
fn headers_and_bodies_that_take_too_long_are_cut_off() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let begun = Instant::now();
    let silent = connect(&server);
    let headers = sent(&server, "GET /healthz HTTP/1.1\r\nhost: local");
    let mut slow = sent(
        &server,
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n",
    );
    // A byte at a time is no reason to wait for longer.
    let mut drip = slow.try_clone().unwrap();
    let dripping = std::thread::spawn(move || {
        while begun.elapsed() < DEADLINE && drip.write_all(b" ").is_ok() {
            std::thread::park_timeout(Duration::from_millis(500));
        }
    });
    let mut status = [0; 12];
    slow.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 408");
    let took = begun.elapsed();
    assert!(took > Duration::from_secs(14) && took < Duration::from_secs(40), "{took:?}");
    drop(slow);
    dripping.join().unwrap();
    assert_eq!(rest(silent), "");
    assert_eq!(rest(headers), "");
    assert!(begun.elapsed() < DEADLINE);
}

#[test]
fn webhooks_are_refused_before_their_bodies_are_read() {
    let forge = Forge::start();
    let mut sandbox = Sandbox::synced(&forge);
    let post = |server: &Server, forge: &str, header: &str| {
        let request = format!("POST /webhooks/{forge} HTTP/1.1\r\nhost: x\r\n{header}content-length: 9000000\r\n\r\n");
        let mut stream = sent(server, &request);
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        String::from_utf8_lossy(&status[9..]).into_owned()
    };
    let server = sandbox.serve();
    assert_eq!(post(&server, "gitlab", "x-gitlab-token: any\r\n"), "404");
    drop(server);
    sandbox.write_config(&format!(
        "data_dir = \"data\"\n\
         [[forge]]\nkind = \"gitlab\"\nbase_url = \"{0}\"\nwebhook_secret_env = \"HOOK_SECRET\"\n\
         [[forge]]\nkind = \"github\"\nbase_url = \"{0}\"\nwebhook_secret_env = \"HOOK_SECRET\"\n",
        forge.url
    ));
    sandbox.set("HOOK_SECRET", "hook-secret");
    let server = sandbox.serve();
    assert_eq!(post(&server, "gitlab", "x-gitlab-token: wrong\r\n"), "401");
    assert_eq!(post(&server, "gitlab", ""), "401");
    assert_eq!(post(&server, "github", ""), "401");
    assert_eq!(post(&server, "github", "x-hub-signature-256: sha256=abc\r\n"), "401");
}

/// Memory of a process that is resident, in MB.
fn resident(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1000
}

/// Thirty seconds is what an operation may take; four questions wait ten each for a model that does not answer.
#[tokio::test]
async fn an_operation_that_takes_too_long_is_a_timeout() {
    let (forge, model) = (Forge::start(), Model::start());
    let sandbox = Sandbox::synced(&forge);
    sandbox.configure(&format!("\n[search.rerank]\nmodel = \"judge\"\nbase_url = \"{}/v1\"\n", model.url));
    model.will(vec![Says::Nothing; 20]);
    let server = sandbox.serve();
    let question = json!({ "id": "a", "question": "Why did we choose Redis?", "gold": ["#3"] });
    let evaluation = json!({ "questions": vec![question; 6], "legs": ["lexical"], "depth": 50 });
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let begun = Instant::now();
    let request = http.post(format!("{}/api/v1/evaluate", server.url)).json(&evaluation).timeout(DEADLINE);
    let response = request.send().await.unwrap();
    let (status, took) = (response.status(), begun.elapsed());
    let answer: serde_json::Value = response.json().await.unwrap();
    assert_eq!(status, 504, "{answer}");
    assert_eq!(answer["code"], "TIMEOUT", "{answer}");
    assert_eq!(answer["detail"], "the answer took longer than 30 s");
    assert_eq!(answer["hint"], "ask for less at once");
    assert!(took >= Duration::from_secs(30), "{took:?}");
    assert!(!model.asked().is_empty());
    assert!(health(&server).starts_with("HTTP/1.1 200"));
}

#[test]
fn connections_that_say_nothing_are_told_why_they_are_closed() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve_after("ulimit -n 256");
    let silent: Vec<TcpStream> = (0..400).map(|_| connect(&server)).collect();
    for (number, stream) in silent.into_iter().take(100).enumerate() {
        let answer = rest(stream);
        let is_refusal = answer.starts_with("HTTP/1.1 503 ") && answer.contains("retry-after: ");
        assert!(is_refusal, "connection {number}: {answer:?}");
    }
    assert!(health(&server).starts_with("HTTP/1.1 200"));
}

/// Sends a request and returns the status of the answer, whether it says when to try again, and its body. A server that has
/// no room answers without reading, so what cannot be sent is no error.
async fn exchange(address: &str, request: &str) -> (u16, bool, serde_json::Value) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let sent = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { panic!("no answer: {sent:?}, {ended:?}, {answer}") };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase().contains("retry-after:"), serde_json::from_str(body).unwrap_or_default())
}

#[tokio::test]
async fn searches_at_once_are_answered_or_refused_in_time() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    // Or the server would load the model meanwhile.
    sandbox.run(&["embed"]).ok();
    let server = sandbox.serve();
    let asked = std::env::var_os(SEARCHES_VARIABLE).map(|count| count.to_str().unwrap().parse().unwrap());
    let address = server.url.trim_start_matches("http://").to_owned();
    let request = |path: &str, body: &Value| {
        let body = body.to_string();
        format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let operation = json!({ "query": "{ search(query: \"session cookies\", mode: LEXICAL) { hits { score } } }" });
    let use_case = json!({ "query": "session cookies", "mode": "lexical", "limit": 10, "rerank": false });
    let requests = [request("/graphql", &operation), request("/api/v1/search", &use_case)];
    let search = |number: usize| {
        let (address, request) = (address.clone(), requests[number % requests.len()].clone());
        tokio::spawn(async move {
            let begun = Instant::now();
            let answer = tokio::time::timeout(DEADLINE, exchange(&address, &request)).await;
            let (status, again, answer) = answer.unwrap_or_else(|_| panic!("search {number} has no answer"));
            (status, again, answer, begun.elapsed())
        })
    };
    for number in 0..requests.len() {
        assert_eq!(search(number).await.unwrap().0, 200, "{number}");
    }
    let before = resident(&server);
    let under_way: Vec<_> = (0..asked.unwrap_or(SEARCHES)).map(search).collect();
    let (mut answered, mut refused) = (0, 0);
    for search in under_way {
        let (status, again, answer, took) = search.await.unwrap();
        match status {
            200 => {
                assert!(answer["errors"].is_null(), "{answer}");
                answered += 1;
            }
            503 => {
                // There may be no room for as much as the request.
                let code = if answer["errors"].is_null() { &answer } else { &answer["errors"][0]["extensions"] };
                assert!(again && (answer.is_null() || code["code"] == "BUSY"), "{answer}");
                refused += 1;
            }
            other => panic!("{other}: {answer}"),
        }
        // Others may use the machine too, unless this was asked for.
        let most = if asked.is_some() { 5 } else { 20 };
        assert!(took < Duration::from_secs(most), "{status} after {took:?}");
    }
    // Many processors may be done with the first ones before the last have come.
    let is_too_much = std::thread::available_parallelism().unwrap().get() <= 8;
    assert!(answered > 0 && (refused > 0 || !is_too_much), "{answered} were answered, {refused} refused");
    let (status, ..) = search(0).await.unwrap();
    assert_eq!(status, 200, "the queue is empty again");
    let after = resident(&server);
    assert!(after <= before + MORE_MEMORY, "{before} MB before, {after} MB after");
}

#[test]
fn the_token_of_a_forge_is_not_shown_at_another_port_of_its_host() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    sandbox.configure("[repositories]\nallowed_hosts = [\"127.0.0.1\"]\n");
    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}/acme/shop.git", other.local_addr().unwrap());
    let listening = std::thread::spawn(move || {
        let mut heard = vec![];
        for stream in other.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let (mut text, mut piece) = (String::new(), [0; 4096]);
            while !text.contains("\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => text += &String::from_utf8_lossy(&piece[..count]),
                }
            }
            if text.starts_with("GET /end ") {
                break;
            }
            heard.push(text);
            // The client may have left.
            let _ = stream.write_all(b"HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        }
        heard
    });
    let added = sandbox.run(&["add", &address, "--name", "acme/other"]);
    assert_eq!(added.code, 1, "{added:?}");
    let end = address.trim_start_matches("http://").split('/').next().unwrap();
    TcpStream::connect(end).unwrap().write_all(b"GET /end HTTP/1.1\r\n\r\n").unwrap();
    let heard = listening.join().unwrap();
    assert!(heard.iter().any(|request| request.contains("/acme/shop.git/info/refs")), "{heard:?}");
    for request in heard {
        assert!(!request.to_lowercase().contains("authorization"), "{request}");
    }
}
