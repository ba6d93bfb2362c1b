//! Tests of running git.

use super::*;

fn limits() -> Limits {
    Limits { time: Duration::from_secs(20), output: 1 << 20 }
}

fn git() -> GitProgram {
    GitProgram::find(GitSettings::default()).unwrap()
}

/// A program that stands for git: it answers `version`, and does what the script says otherwise.
fn program(dir: &Path, script: &str) -> GitSettings {
    let path = dir.join("git");
    let version = "if [ \"$1\" = version ]; then echo git version 2.47.0; exit; fi";
    // Written by another process: what another test starts just now would have the file open too, and a program that is
    // open for writing cannot be run.
    let mut writer = std::process::Command::new("sh");
    let writer = writer.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(&path).stdin(Stdio::piped()).spawn();
    let mut writer = writer.unwrap();
    write!(writer.stdin.take().unwrap(), "#!/bin/sh\n{version}\n{script}\n").unwrap();
    assert!(writer.wait().unwrap().success());
    GitSettings { program: path.into_os_string(), ..GitSettings::default() }
}

#[test]
fn a_missing_or_old_git_is_named() {
    let missing = GitSettings { program: "/nonexistent/git".into(), ..GitSettings::default() };
    let text = GitProgram::find(missing).unwrap_err().to_string();
    assert!(text.contains("/nonexistent/git") && text.contains("install git 2.39"), "{text}");
    for (found, version) in [
        ("git version 2.47.3", Some((2, 47))),
        ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
        ("git version 1.8", Some((1, 8))),
        ("hub 2.14", None),
        ("", None),
    ] {
        assert_eq!(parse_version(found), version, "{found}");
    }
    assert!(git().version() >= MIN_VERSION);
}

#[test]
fn the_environment_is_ours_alone() {
    let dir = tempfile::tempdir().unwrap();
    let git = GitProgram::find(program(dir.path(), "env")).unwrap();
    let secret = git.command(None, NetworkAccess::Https, "x").config("http.extraHeader", "Authorization: t0p");
    let output = String::from_utf8(secret.run(limits(), &Cancel::default()).unwrap()).unwrap();
    let names: Vec<&str> = output.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    for name in names {
        let known =
            name.starts_with("GIT_") || ["PATH", "HOME", "LC_ALL", "TZ", "PWD", "SHLVL", "_", "OLDPWD"].contains(&name);
        assert!(known, "{name} is handed on");
    }
    for line in
        ["GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https", "HOME=/nonexistent"]
    {
        assert!(output.contains(line), "{line}");
    }
    assert!(output.contains("=Authorization: t0p"));
}

#[test]
fn configuration_reaches_git() {
    for (key, expected) in HARDENING.iter().chain(&BOUNDS).filter(|(_, value)| !value.is_empty()) {
        let command = git().command(None, NetworkAccess::Nothing, "config").args(["--get", key]);
        let output = command.run(limits(), &Cancel::default()).unwrap();
        assert_eq!(String::from_utf8_lossy(&output).trim(), *expected, "{key}");
    }
}

#[test]
fn errors_say_what_git_said_without_credentials() {
    let dir = tempfile::tempdir().unwrap();
    let script = "echo \"fatal: https://joe:hunter2@example.com/x: token t0psecret refused\" >&2; exit 128";
    let git = GitProgram::find(program(dir.path(), script)).unwrap();
    let command = git.command(None, NetworkAccess::Https, "fetch").secret("t0psecret");
    let text = command.run(limits(), &Cancel::default()).unwrap_err().to_string();
    assert!(text.contains("git fetch failed (exit status: 128): fatal: https://example.com/x"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("t0psecret") && !text.contains("joe"), "{text}");
}

#[test]
fn limits_end_a_command_and_what_it_started() {
    let dir = tempfile::tempdir().unwrap();
    // The child of the child would keep the pipe open if it lived on.
    let git = GitProgram::find(program(dir.path(), "sleep 1000 & sleep 1000")).unwrap();
    let short = Limits { time: Duration::from_millis(200), ..limits() };
    let error = git.command(None, NetworkAccess::Nothing, "fetch").run(short, &Cancel::default()).unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error}");

    let cancel = Cancel::default();
    cancel.cancel();
    let error = git.command(None, NetworkAccess::Nothing, "fetch").run(limits(), &cancel).unwrap_err();
    assert!(matches!(error, GitError::Cancelled { .. }), "{error}");

    let full = || Err(GitError::TooLarge { command: "fetch".to_owned(), limit: 1 });
    let command = git.command(None, NetworkAccess::Nothing, "fetch");
    let error = command.run_watched(Vec::new(), limits(), &Cancel::default(), full).unwrap_err();
    assert!(matches!(error, GitError::TooLarge { .. }), "{error}");

    // One that ends by itself leaves nothing behind that would be waited for.
    let git = GitProgram::find(program(dir.path(), "sleep 1000 & exit 3")).unwrap();
    let error = git.command(None, NetworkAccess::Nothing, "fetch").run(limits(), &Cancel::default()).unwrap_err();
    assert!(matches!(error, GitError::Failed { .. }), "{error}");

    let git = GitProgram::find(program(dir.path(), "yes")).unwrap();
    let small = Limits { output: 100, ..limits() };
    let error = git.command(None, NetworkAccess::Nothing, "log").run(small, &Cancel::default()).unwrap_err();
    assert!(matches!(error, GitError::TooMuchOutput { limit: 100, .. }), "{error}");
}

#[test]
fn input_is_handed_over_and_a_command_may_ignore_it() {
    let dir = tempfile::tempdir().unwrap();
    let input = vec![b'x'; 300_000];
    let git = GitProgram::find(program(dir.path(), "wc -c")).unwrap();
    let output =
        git.command(None, NetworkAccess::Nothing, "x").run_with(input.clone(), limits(), &Cancel::default()).unwrap();
    assert_eq!(String::from_utf8_lossy(&output).trim(), "300000");
    let git = GitProgram::find(program(dir.path(), "exit 3")).unwrap();
    let error =
        git.command(None, NetworkAccess::Nothing, "x").run_with(input, limits(), &Cancel::default()).unwrap_err();
    assert!(error.to_string().contains("it did not say why"), "{error}");
}
