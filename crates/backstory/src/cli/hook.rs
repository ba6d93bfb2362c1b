//! `hook`: called by an agent before it uses a tool; tells it the decision behind the code that it is about to change or
//! blame. It says nothing rather than to be late or to fail: the agent goes on in any case.

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use backstory_engine::{
    model::place::format_place,
    trace::{Trace, TraceRequest},
};
use backstory_server::mcp::render_decision;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Session, checkout, place};
use crate::{
    client::{Client, LockOwnerClient},
    data_dir::DataDir,
    failure::Result,
};

/// How long the decision is waited for: with what it takes to start and to print, the agent waits 300 ms at most.
const PATIENCE: Duration = Duration::from_millis(250);
/// Largest call that is read, in bytes.
const MAX_CALL: u64 = 1 << 20;
/// Tokens of what is told.
const TOKENS: usize = 220;
/// Options of git before the command whose value is a word of its own.
const WITH_VALUE: [&str; 4] = ["-c", "--git-dir", "--work-tree", "--namespace"];
/// Words of a command that are looked at.
const MAX_WORDS: usize = 200;
/// Options of 'git log' that follow code.
const FOLLOWING: [&str; 4] = ["-S", "-G", "-L", "--follow"];

/// Tell an agent the decision behind the code that it is about to change
///
/// Its hooks call this; 'backstory install --hooks' sets them up.
#[derive(clap::Args)]
#[command(hide = true)]
pub(super) struct Args {}

/// What an agent is about to do.
#[derive(Deserialize)]
struct ToolCall {
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    cwd: Option<PathBuf>,
}

pub(super) async fn run(session: &Session, _args: &Args) -> Result<()> {
    let told = tokio::time::timeout(PATIENCE, decision(session)).await;
    if let Ok(Some(text)) = told {
        let answer = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "additionalContext": text } });
        // Nobody is there to be told that it cannot be written.
        let _ = session.terminal.line(answer);
    }
    Ok(())
}

/// The decision behind the code of a call, if a process that has the stores knows one in time.
async fn decision(session: &Session) -> Option<String> {
    let call = tokio::task::spawn_blocking(read_call).await.ok()??;
    let cwd = call.cwd.clone().or_else(|| std::env::current_dir().ok())?;
    let what = code_of(&call, &cwd)?;
    let server = DataDir::running(&session.config().ok()?.data_dir)?;
    let client = Client::of_lock_owner(LockOwnerClient::new(server).ok()?);
    // Paths of calls begin there.
    std::env::set_current_dir(&cwd).ok()?;
    let place = place::find(&client, &what, None).await.ok()?;
    let mapped = checkout::map_place(&client, &place).await.ok()?;
    if mapped.as_ref().is_some_and(|mapped| mapped.lines.is_none()) {
        return None;
    }
    let (place, rev) = checkout::at_index(place, mapped.as_ref());
    let (project, target) = place.to_target();
    let trace = client.answer(TraceRequest { project, target, rev, earlier: 0 }).await.ok()?;
    is_telling(&trace).then(|| render_decision(&trace, TOKENS))
}

fn read_call() -> Option<ToolCall> {
    let mut text = String::new();
    io::stdin().take(MAX_CALL).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whether a trace has a reason in it, in somebody's words.
fn is_telling(trace: &Trace) -> bool {
    trace.chain.iter().any(|step| step.evidence.text.as_deref().is_some_and(|text| !text.trim().is_empty()))
}

/// The code that a call is about, as `why` takes it.
fn code_of(call: &ToolCall, cwd: &Path) -> Option<String> {
    let text = |name: &str| call.tool_input.get(name).and_then(Value::as_str);
    match call.tool_name.as_str() {
        "Bash" => code_of_command(text("command")?, cwd),
        "Edit" => edited(cwd, text("file_path")?, text("old_string")?),
        "MultiEdit" => edited(cwd, text("file_path")?, call.tool_input["edits"][0]["old_string"].as_str()?),
        "Write" => Some(text("file_path")?.to_owned()),
        _ => None,
    }
}

/// The lines that an edit replaces.
fn edited(cwd: &Path, path: &str, old: &str) -> Option<String> {
    let content = std::fs::read_to_string(cwd.join(path)).ok()?;
    let start = content.find(old).filter(|_| !old.trim().is_empty())?;
    let first = u32::try_from(content[..start].matches('\n').count()).ok()? + 1;
    let last = first + u32::try_from(old.trim_end_matches('\n').matches('\n').count()).ok()?;
    Some(format_place(path, Some((first, last))))
}

/// The code that the first `git blame`, or `git log` that follows code, of a command line is about: that of
/// `git blame -L 10,20 src/a.rs`, `cd src && git --no-pager log -L :login:a.rs` or `git -C lib log --follow a.rs`.
fn code_of_command(command: &str, cwd: &Path) -> Option<String> {
    let mut directory = cwd.to_owned();
    for words in split_commands(command) {
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["cd", to] => directory = directory.join(to),
            ["git", rest @ ..] => {
                if let Some(code) = code_of_git(rest, &directory) {
                    return Some(code);
                }
            }
            _ => {}
        }
    }
    None
}

/// The simple commands of a command line, as words without their quotes. What is substituted stays as it is written.
fn split_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        let is_end = quote.is_none() && (c.is_whitespace() || matches!(c, '|' | '&' | ';' | '<' | '>' | '(' | ')'));
        if is_end {
            if let (Some(word), Some(words)) = (word.take(), commands.last_mut())
                && words.len() < MAX_WORDS
            {
                words.push(word);
            }
            if c == '\n' || !c.is_whitespace() {
                commands.push(Vec::new());
            }
            continue;
        }
        let word = word.get_or_insert_default();
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => word.extend(characters.next()),
            _ => word.push(c),
        }
    }
    if let (Some(word), Some(words)) = (word, commands.last_mut()) {
        words.push(word);
    }
    commands
}

/// The code that a command of git is about, which runs in a directory; `None` if it does not follow code.
fn code_of_git(words: &[&str], directory: &Path) -> Option<String> {
    let mut directory = directory.to_owned();
    let mut words = words.iter().copied();
    let command = loop {
        match words.next()? {
            "-C" => directory = directory.join(words.next()?),
            option if WITH_VALUE.contains(&option) => drop(words.next()),
            option if option.starts_with('-') => {}
            command => break command,
        }
    };
    let words: Vec<&str> = words.collect();
    let follows = |word: &&str| FOLLOWING.iter().any(|option| word.starts_with(option));
    if command != "blame" && (command != "log" || !words.iter().any(follows)) {
        return None;
    }
    let mut lines = None;
    let mut path = None;
    let mut rest = words.into_iter();
    while let Some(word) = rest.next() {
        if let Some(range) = word.strip_prefix("-L") {
            let range = if range.is_empty() { rest.next()? } else { range };
            let (found, of) = split_range(range);
            (lines, path) = (found, of.map(|of| directory.join(of)).or(path));
        } else if matches!(word, "-S" | "-G") {
            // Their words stand beside them.
            rest.next();
        } else if !word.starts_with('-') {
            // A revision or the value of an option is no file.
            path = Some(directory.join(word)).filter(|path| path.is_file()).or(path);
        }
    }
    let path = path?.to_str()?.to_owned();
    Some(match lines {
        Some(Lines::Range(first, last)) => format_place(&path, Some((first, last))),
        Some(Lines::Symbol(name)) => format!("{path}#{name}"),
        None => path,
    })
}

/// What follows `-L`.
#[derive(Debug, PartialEq, Eq)]
enum Lines<'a> {
    Range(u32, u32),
    Symbol(&'a str),
}

/// Splits `10,20`, `10,+5`, `10,20:src/a.rs` and `:login:src/a.rs`.
fn split_range(text: &str) -> (Option<Lines<'_>>, Option<&str>) {
    if let Some(rest) = text.strip_prefix(':') {
        let (name, path) = rest.rsplit_once(':').map_or((rest, None), |(name, path)| (name, Some(path)));
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        return (is_name.then_some(Lines::Symbol(name)), path);
    }
    let (range, path) = text.split_once(':').map_or((text, None), |(range, path)| (range, Some(path)));
    let (first, last) = range.split_once(',').unwrap_or((range, range));
    let first: Option<u32> = first.parse().ok();
    let last = match last.strip_prefix('+') {
        Some(count) => first
            .zip(count.parse().ok())
            .and_then(|(first, count): (u32, u32)| first.checked_add(count.checked_sub(1)?)),
        None => last.parse().ok(),
    };
    (first.zip(last).map(|(first, last)| Lines::Range(first, last)), path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_commands_is_found() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        std::fs::create_dir(root.join("src")).expect("a directory");
        std::fs::write(root.join("src/a.rs"), "").expect("a file");
        let found = |command: &str| code_of_command(command, root);
        let expected = |rest: &str| Some(format!("{}{rest}", root.join("src/a.rs").display()));
        for command in [
            "git blame -L 10,20 src/a.rs",
            "git blame -L10,+11 -- 'src/a.rs' | head -3",
            "git --no-pager blame -w HEAD~3 -L 10,20 src/a.rs 2>&1",
            "git log -L 10,20:src/a.rs",
            "cd src && git log --oneline -L10,20:a.rs -n 5",
            "echo hello; git -C src -c core.pager=cat blame -L 10,20 a.rs -e",
        ] {
            assert_eq!(found(command), expected(":10-20"), "{command}");
        }
        assert_eq!(found("git log -L :login:src/a.rs"), expected("#login"));
        assert_eq!(found("git log --follow -n 5 src/a.rs"), expected(""));
        assert_eq!(found("git log -S 'two words' src/a.rs -n 5"), expected(""));
        for command in [
            "git log src/a.rs",
            "git log -S words",
            "git status",
            "grep -L 10 src/a.rs",
            "git blame src/absent.rs",
            "git blame -L",
            "git -C",
            "cargo test",
            "'",
            "",
        ] {
            assert_eq!(found(command), None, "{command}");
        }
    }
}
