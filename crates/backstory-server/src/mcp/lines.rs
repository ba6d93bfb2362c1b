//! The lines of standard input before the library reads them: answers what is no JSON, and requests of a client that has not
//! said who it is, since the library ignores the former and tells of the latter only what is missing in it.

use std::{io, sync::Arc};

use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
        duplex,
    },
    sync::Mutex,
    task::JoinHandle,
};

/// Longest line that is read, in bytes, as the library has it.
const MAX_LINE: usize = 16 << 20;
/// Bytes on their way to or from the library.
const BUFFER: usize = 64 << 10;
/// What may be asked before it is known who asks.
const FREE_METHODS: [&str; 3] = ["initialize", "ping", "server/discover"];
/// What a request says of itself in versions of the protocol in which each stands for itself.
const VERSION_FIELD: &str = "io.modelcontextprotocol/protocolVersion";
/// Codes of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Standard input and output as the library gets them.
pub(super) struct ScreenedLines {
    /// What the library reads.
    pub(super) input: DuplexStream,
    /// What it writes.
    pub(super) output: DuplexStream,
    /// Reads standard input; it ends with it.
    pub(super) reading: JoinHandle<()>,
    /// Writes to standard output; it ends when the library has written everything.
    pub(super) writing: JoinHandle<()>,
}

/// Begins to screen lines.
pub(super) fn screen_lines<R, W>(input: R, output: W) -> ScreenedLines
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let output = Arc::new(Mutex::new(output));
    let (passed, library_input) = duplex(BUFFER);
    let (library_output, answers) = duplex(BUFFER);
    // A stream that fails is at its end.
    let reading = tokio::spawn({
        let output = output.clone();
        async move { drop(pass_lines(input, passed, &output).await) }
    });
    let writing = tokio::spawn(async move { drop(write_answers(answers, &output).await) });
    ScreenedLines { input: library_input, output: library_output, reading, writing }
}

/// Passes lines on to the library, but for those that are answered here.
async fn pass_lines<R, W>(input: R, mut passed: DuplexStream, output: &Mutex<W>) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut input = BufReader::new(input);
    let mut is_known = false;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut input).take(MAX_LINE as u64).read_until(b'\n', &mut line).await?;
        if read == 0 {
            return Ok(());
        }
        if line.len() >= MAX_LINE && !line.ends_with(b"\n") {
            skip_line(&mut input).await?;
            let message = format!("a message has more than {} MiB", MAX_LINE >> 20);
            write_line(output, &error(&Value::Null, PARSE_ERROR, &message)).await?;
            continue;
        }
        match refuse(&line, &mut is_known) {
            Some(refusal) => write_line(output, &refusal).await?,
            None => passed.write_all(&line).await?,
        }
    }
}

/// Reads up to the end of a line.
async fn skip_line(input: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let available = input.fill_buf().await?;
        let end = available.iter().position(|byte| *byte == b'\n');
        let (length, is_done) = (end.map_or(available.len(), |end| end + 1), end.is_some() || available.is_empty());
        input.consume(length);
        if is_done {
            return Ok(());
        }
    }
}

/// Writes what the library answers, a line at a time.
async fn write_answers<W: AsyncWrite + Unpin>(answers: DuplexStream, output: &Mutex<W>) -> io::Result<()> {
    let mut answers = BufReader::new(answers);
    let mut line = Vec::new();
    while answers.read_until(b'\n', &mut line).await? > 0 {
        write_line(output, &line).await?;
        line.clear();
    }
    Ok(())
}

async fn write_line<W: AsyncWrite + Unpin>(output: &Mutex<W>, line: &[u8]) -> io::Result<()> {
    let mut output = output.lock().await;
    output.write_all(line).await?;
    output.flush().await
}

/// The answer to a line that is not passed on; `None` if it is. Notes whether the client has said who it is.
fn refuse(line: &[u8], is_known: &mut bool) -> Option<Vec<u8>> {
    let text = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if text.trim_ascii().is_empty() {
        return None;
    }
    let message: Value = match serde_json::from_slice(text) {
        Ok(message) => message,
        Err(_) => {
            return Some(error(&Value::Null, PARSE_ERROR, "expected a message in JSON on a line of its own"));
        }
    };
    let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Value::as_str)) else {
        return None;
    };
    *is_known |= method == "initialize";
    let stands_for_itself = message.pointer("/params/_meta").is_some_and(|meta| meta.get(VERSION_FIELD).is_some());
    if *is_known || stands_for_itself || FREE_METHODS.contains(&method) {
        return None;
    }
    let wanted = format!("call 'initialize' first, or send '{VERSION_FIELD}' in '_meta' of every request");
    Some(error(id, INVALID_REQUEST, &wanted))
}

/// An error of JSON-RPC, as a line.
fn error(id: &Value, code: i32, message: &str) -> Vec<u8> {
    let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
    format!("{error}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str, is_known: &mut bool) -> Value {
        refuse(line.as_bytes(), is_known).map_or(Value::Null, |line| serde_json::from_slice(&line).expect("JSON"))
    }

    #[test]
    fn only_what_the_library_does_not_explain_is_refused() {
        let mut is_known = false;
        assert_eq!(refused("{ \"id\"\n", &mut is_known)["error"]["code"], PARSE_ERROR);
        let list = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
        let early = refused(list, &mut is_known);
        assert_eq!((&early["id"], &early["error"]["code"]), (&json!(7), &json!(INVALID_REQUEST)));
        let own = json!({ "id": 1, "method": "tools/list", "params": { "_meta": { VERSION_FIELD: "2026-07-28" } } });
        for passed in ["\n", r#"{"method":"notifications/x"}"#, &own.to_string(), r#"{"id":1,"method":"ping"}"#] {
            assert_eq!(refused(passed, &mut is_known), Value::Null, "{passed}");
        }
        assert_eq!(refused(r#"{"id":1,"method":"initialize"}"#, &mut is_known), Value::Null);
        assert_eq!(refused(list, &mut is_known), Value::Null);
    }
}
