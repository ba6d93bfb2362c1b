//! Setting up agents: what is written into their files, twice, and taking it back.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Stdio,
};

use backstory_engine::tokens;
use expect_test::expect;
use serde_json::{Value, json};

use crate::{
    cli_repositories::shop,
    support::{Sandbox, eventually},
};

/// Files of users, each with something of its own in it.
const FILES: [(&str, &str); 13] = [
    (
        ".claude.json",
        "{\n  \"numStartups\": 12,\n  \"mcpServers\": {\n    \"other\": {\"command\": \"other\"}\n  },\n  \"theme\": \"dark\"\n}\n",
    ),
    (".claude/settings.json", "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": []}]}}"),
    (".claude/CLAUDE.md", "# Mine\n\nBe brief."),
    (
        ".codex/config.toml",
        "# The model\nmodel = \"m\" # fast\n\n[mcp_servers.other]\ncommand = \"other\"\n\n[tui]\ntheme = 'x'\n",
    ),
    (".cursor/mcp.json", "{}"),
    (".config/Code/User/mcp.json", "// Servers\n{\n\t\"servers\": {\n\t\t// none yet\n\t},\n\t\"inputs\": [],\n}\n"),
    (".gemini/settings.json", "{\r\n  \"theme\": \"x\"\r\n}\r\n"),
    (".gemini/GEMINI.md", "# Gemini\n\n"),
    (".config/opencode/opencode.json", "{ \"$schema\": \"https://opencode.ai/config.json\" }\n"),
    (".config/opencode/AGENTS.md", "- Use tabs\n"),
    (".codeium/windsurf/mcp_config.json", ""),
    (".codeium/windsurf/memories/global_rules.md", "one line, no end"),
    (
        ".config/zed/settings.json",
        "// Zed settings\n{\n  \"vim_mode\": true, // yes\n  /* fonts */\n  \"buffer_font_size\": 15\n}\n",
    ),
];

fn home(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join("home")
}

/// A home directory in which eight agents were used.
fn used() -> Sandbox {
    let sandbox = Sandbox::empty();
    for (path, text) in FILES {
        let path = home(&sandbox).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    sandbox
}

/// Every file below a directory with its bytes, without the receipt.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                // A link may lead to nothing.
                found.insert(path.clone(), fs::read(path).unwrap_or_default());
            }
        }
    }
    found
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn eight_agents_are_set_up_twice_and_taken_back_to_the_byte() {
    let sandbox = used();
    let before = files(&home(&sandbox));
    sandbox.run(&["install", "--hooks"]).ok();
    let first = files(&home(&sandbox));
    assert_ne!(first, before);
    let again = sandbox.run(&["install", "--hooks"]).ok();
    assert!(
        again.stdout.lines().all(|line| !line.starts_with("  ") || line.ends_with("is as it should be")),
        "{again:?}"
    );
    assert_eq!(files(&home(&sandbox)), first, "a second time changes nothing");
    let program = env!("CARGO_BIN_EXE_backstory");
    for (path, key) in
        [(".claude.json", "mcpServers"), (".cursor/mcp.json", "mcpServers"), (".gemini/settings.json", "mcpServers")]
    {
        let entry = &json_of(&home(&sandbox).join(path))[key]["backstory"];
        assert_eq!((&entry["command"], &entry["args"]), (&json!(program), &json!(["mcp"])), "{path}");
    }
    let claude = json_of(&home(&sandbox).join(".claude.json"));
    assert_eq!((&claude["mcpServers"]["other"]["command"], &claude["theme"]), (&json!("other"), &json!("dark")));
    let hooks = json_of(&home(&sandbox).join(".claude/settings.json"));
    assert_eq!(hooks["hooks"]["PreToolUse"][1]["hooks"][0]["command"], json!(format!("{program} hook")));
    let codex = fs::read_to_string(home(&sandbox).join(".codex/config.toml")).unwrap();
    assert!(codex.starts_with("# The model\nmodel = \"m\" # fast\n"), "{codex}");
    assert!(codex.contains("[mcp_servers.backstory]\ncommand = "), "{codex}");
    let zed = fs::read_to_string(home(&sandbox).join(".config/zed/settings.json")).unwrap();
    assert!(zed.contains("// yes") && zed.contains("/* fonts */") && zed.contains("context_servers"), "{zed}");
    assert!(home(&sandbox).join(".claude/skills/backstory/SKILL.md").exists());
    sandbox.run(&["install", "--uninstall"]).ok();
    assert_eq!(files(&home(&sandbox)), before);
    for created in [".claude/skills", ".agents", ".codex/AGENTS.md"] {
        assert!(!home(&sandbox).join(created).exists(), "{created}");
    }
}

#[test]
fn what_has_changed_since_is_kept_without_what_was_written() {
    let sandbox = used();
    sandbox.run(&["install", "--client", "claude", "--client", "codex"]).ok();
    let path = home(&sandbox).join(".claude.json");
    let edited = fs::read_to_string(&path).unwrap().replace("dark", "light");
    fs::write(&path, edited).unwrap();
    let codex = home(&sandbox).join(".codex/config.toml");
    fs::write(&codex, format!("{}\n[more]\nx = 1\n", fs::read_to_string(&codex).unwrap())).unwrap();
    let output = sandbox.run(&["install", "--uninstall"]).ok();
    assert!(output.stdout.contains("only what was written is gone"), "{output:?}");
    let claude = json_of(&path);
    assert_eq!(
        claude,
        json!({ "numStartups": 12, "mcpServers": { "other": { "command": "other" } }, "theme": "light" })
    );
    let codex = fs::read_to_string(&codex).unwrap();
    assert!(!codex.contains("backstory") && codex.contains("[more]") && codex.contains("# The model"), "{codex}");
}

#[test]
fn dry_run_writes_nothing_and_shows_everything() {
    let sandbox = used();
    let before = files(&home(&sandbox));
    let output = sandbox.run(&["install", "--dry-run", "--client", "cursor"]).ok();
    assert!(output.stdout.contains("would get") && output.stdout.contains("\"backstory\""), "{output:?}");
    assert_eq!(files(&home(&sandbox)), before);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let sandbox = used();
    let mut child = sandbox
        .command(&["install", "--dry-run", "--client", "claude", "--client", "cursor"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn entry_of_somebody_else_and_what_cannot_be_parsed_are_left_alone() {
    let sandbox = used();
    let own = "{\"mcpServers\": {\"backstory\": {\"url\": \"https://backstory.acme.example/mcp\"}}}\n";
    fs::write(home(&sandbox).join(".cursor/mcp.json"), own).unwrap();
    sandbox.run(&["install", "--client", "cursor"]).ok();
    assert_eq!(fs::read_to_string(home(&sandbox).join(".cursor/mcp.json")).unwrap(), own);
    let kept = sandbox.run(&["install", "--client", "cursor"]).ok();
    assert!(kept.stdout.contains("has a 'backstory' that something else wrote, which is left alone"), "{kept:?}");
    fs::write(home(&sandbox).join(".claude.json"), "{ \"mcpServers\": ").unwrap();
    let output = sandbox.run(&["install", "--client", "claude"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains(".claude.json: it is not valid JSON"), "{output:?}");
    assert_eq!(fs::read_to_string(home(&sandbox).join(".claude.json")).unwrap(), "{ \"mcpServers\": ");
    // The others are written all the same.
    assert!(home(&sandbox).join(".claude/skills/backstory/SKILL.md").exists());
}

#[test]
fn files_with_crlf_links_and_their_permissions_stay_what_they_are() {
    let sandbox = used();
    let home = home(&sandbox);
    for (path, text) in [
        (".codex/config.toml", "# The model\r\nmodel = \"m\"\r\n\r\n[tui]\r\ntheme = 'x'\r\n"),
        (".claude/CLAUDE.md", "# Mine\r\n\r\nBe brief.\r\n"),
        (".cursor/mcp.json", "{\r\n  \"mcpServers\": {}\r\n}"),
    ] {
        fs::write(home.join(path), text).unwrap();
    }
    // Dotfiles that are kept elsewhere, one of which is not there yet.
    fs::create_dir_all(home.join("dotfiles")).unwrap();
    fs::rename(home.join(".claude.json"), home.join("dotfiles/claude.json")).unwrap();
    fs::set_permissions(home.join("dotfiles/claude.json"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("dotfiles/claude.json", home.join(".claude.json")).unwrap();
    symlink("../dotfiles/new/AGENTS.md", home.join(".codex/AGENTS.md")).unwrap();
    let before = files(&home);
    sandbox.run(&["install", "--hooks"]).ok();
    for path in [".codex/config.toml", ".claude/CLAUDE.md", ".cursor/mcp.json"] {
        let text = fs::read_to_string(home.join(path)).unwrap();
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{path}: {text:?}");
    }
    assert!(home.join(".claude.json").is_symlink() && home.join(".codex/AGENTS.md").is_symlink());
    assert!(fs::read_to_string(home.join("dotfiles/new/AGENTS.md")).unwrap().contains("Ask backstory"));
    let mode = fs::metadata(home.join("dotfiles/claude.json")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o640);
    sandbox.run(&["install", "--uninstall"]).ok();
    assert_eq!(files(&home), before);
    assert!(home.join(".codex/AGENTS.md").is_symlink() && !home.join("dotfiles/new").exists());
}

#[test]
fn read_only_file_is_left_alone_and_the_others_are_not() {
    let sandbox = used();
    let home = home(&sandbox);
    let cursor = home.join(".cursor/mcp.json");
    fs::set_permissions(&cursor, fs::Permissions::from_mode(0o444)).unwrap();
    let before = files(&home);
    let output = sandbox.run(&["install"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("mcp.json cannot be written: it is read-only"), "{output:?}");
    assert_eq!(fs::read_to_string(&cursor).unwrap(), "{}");
    assert!(json_of(&home.join(".gemini/settings.json"))["mcpServers"]["backstory"].is_object());
    // One that has become read-only keeps what was written, and is taken back later.
    let gemini = home.join(".gemini/settings.json");
    fs::set_permissions(&gemini, fs::Permissions::from_mode(0o444)).unwrap();
    let output = sandbox.run(&["install", "--uninstall"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("settings.json cannot be written: it is read-only"), "{output:?}");
    fs::set_permissions(&gemini, fs::Permissions::from_mode(0o644)).unwrap();
    sandbox.run(&["install", "--uninstall"]).ok();
    assert_eq!(files(&home), before);
}

#[test]
fn hook_of_another_place_of_the_program_is_replaced() {
    let sandbox = used();
    let settings = home(&sandbox).join(".claude/settings.json");
    let before = fs::read_to_string(&settings).unwrap();
    sandbox.run(&["install", "--client", "claude", "--hooks"]).ok();
    sandbox.run(&["install", "--client", "claude", "--hooks", "--data-dir", "elsewhere"]).ok();
    let hooks = json_of(&settings);
    let hooks = hooks["hooks"]["PreToolUse"].as_array().unwrap();
    assert_eq!(hooks.len(), 2, "the user's and one of backstory: {hooks:?}");
    assert!(hooks[1]["hooks"][0]["command"].as_str().unwrap().ends_with("elsewhere"), "{hooks:?}");
    sandbox.run(&["install", "--uninstall"]).ok();
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
}

#[test]
fn a_command_that_somebody_added_to_the_hook_stays() {
    let sandbox = used();
    let settings = home(&sandbox).join(".claude/settings.json");
    sandbox.run(&["install", "--client", "claude", "--hooks"]).ok();
    let mut changed = json_of(&settings);
    let own = json!({ "type": "command", "command": "make lint" });
    changed["hooks"]["PreToolUse"][1]["hooks"].as_array_mut().unwrap().push(own.clone());
    fs::write(&settings, changed.to_string()).unwrap();
    sandbox.run(&["install", "--uninstall"]).ok();
    assert_eq!(json_of(&settings)["hooks"]["PreToolUse"][1]["hooks"], json!([own]));
}

#[test]
fn text_between_a_stray_mark_and_the_block_is_kept() {
    let sandbox = used();
    let instructions = home(&sandbox).join(".claude/CLAUDE.md");
    fs::write(&instructions, "<!-- backstory:start -->\nMine.\n").unwrap();
    sandbox.run(&["install", "--client", "claude"]).ok();
    sandbox.run(&["install", "--client", "claude"]).ok();
    let text = fs::read_to_string(&instructions).unwrap();
    assert!(text.starts_with("<!-- backstory:start -->\nMine.\n"), "{text}");
    assert_eq!(text.matches("Ask backstory").count(), 1, "{text}");
    fs::write(&instructions, format!("{text}More.\n")).unwrap();
    sandbox.run(&["install", "--uninstall"]).ok();
    assert_eq!(fs::read_to_string(&instructions).unwrap(), "<!-- backstory:start -->\nMine.\n\nMore.\n");
}

#[test]
fn directories_that_variables_name_are_used() {
    let sandbox = used();
    let moved = sandbox.path().join("moved");
    fs::create_dir_all(moved.join("zed")).unwrap();
    fs::create_dir_all(moved.join("codex")).unwrap();
    let mut install = sandbox.command(&["install", "--client", "zed", "--client", "codex"]);
    install.env("XDG_CONFIG_HOME", &moved).env("CODEX_HOME", moved.join("codex"));
    sandbox.output(&install.output().unwrap()).ok();
    assert!(json_of(&moved.join("zed/settings.json"))["context_servers"]["backstory"].is_object());
    assert!(fs::read_to_string(moved.join("codex/config.toml")).unwrap().contains("mcp_servers.backstory"));
    let mut uninstall = sandbox.command(&["install", "--uninstall"]);
    uninstall.env("XDG_CONFIG_HOME", &moved).env("CODEX_HOME", moved.join("codex"));
    sandbox.output(&uninstall.output().unwrap()).ok();
    assert!(!moved.join("zed/settings.json").exists() && !moved.join("codex/config.toml").exists());
}

#[test]
fn without_a_home_nothing_is_written() {
    let sandbox = Sandbox::empty();
    let mut install = sandbox.command(&["install", "--client", "claude"]);
    let output = sandbox.output(&install.env_remove("HOME").output().unwrap());
    expect!["HOME is not set, so no configuration can be found"].assert_eq(output.error(3));
}

#[test]
fn unknown_agent_is_refused_with_those_that_are_known() {
    let sandbox = Sandbox::empty();
    expect![
        "there is no agent 'emacs'; name one of claude, codex, cursor, vscode, gemini, opencode, windsurf, zed, or all"
    ]
    .assert_eq(sandbox.run(&["install", "--client", "emacs"]).error(2));
    expect![
        "no agent was found; name one with --client: claude, codex, cursor, vscode, gemini, opencode, windsurf, zed"
    ]
    .assert_eq(sandbox.run(&["install"]).error(2));
}

#[test]
fn doctor_starts_the_command_that_was_written_and_asks_it() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    sandbox.run(&["install", "--client", "cursor", "--client", "codex"]).ok();
    let doctor = sandbox.run(&["doctor"]);
    assert_eq!(doctor.stdout.matches("answered why about acme/shop:src/").count(), 2, "{doctor:?}");
    fs::write(home(&sandbox).join(".cursor/mcp.json"), "{\"mcpServers\": {\"backstory\": {\"command\": \"/absent\"}}}")
        .unwrap();
    let doctor = sandbox.run(&["doctor"]);
    assert!(doctor.stdout.contains("'/absent': no such file or directory"), "{doctor:?}");
}

#[test]
fn hook_tells_the_decision_if_a_server_knows_one_and_nothing_otherwise() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let path = shop.path().join("src/session.py");
    let edit = json!({
        "hook_event_name": "PreToolUse", "tool_name": "Edit", "cwd": shop.path(),
        "tool_input": { "file_path": path, "old_string": "    \"\"\"Keeps it.\"\"\"\n    return key\n", "new_string": "" },
    });
    let blame = json!({
        "tool_name": "Bash", "cwd": shop.path(), "tool_input": { "command": "git blame -L 5,7 src/session.py | head" },
    });
    let told = |call: &Value| sandbox.run_with_input(&["hook"], &call.to_string()).ok().stdout;
    assert_eq!(told(&edit), "", "nobody has the stores open");
    assert_eq!(sandbox.run_with_input(&["hook"], "no JSON").ok().stdout, "");
    let _server = sandbox.serve();
    for call in [edit, blame] {
        let mut said = String::new();
        // A slow machine may be later than the agent waits.
        eventually("the decision", || {
            said = told(&call);
            !said.is_empty()
        });
        let said: Value = serde_json::from_str(&said).unwrap();
        let text = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(text.contains("memcached loses every session"), "{text}");
        assert!(tokens::count(text) <= 220, "{text}");
    }
    let other = json!({ "tool_name": "Bash", "cwd": shop.path(), "tool_input": { "command": "cargo test" } });
    assert_eq!(told(&other), "");
}

#[test]
fn links_of_a_repository_lead_to_nothing_outside_of_it() {
    let sandbox = used();
    let shop = shop();
    let outside = sandbox.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("mcp.json"), "{}").unwrap();
    symlink(outside.join("mcp.json"), shop.path().join(".mcp.json")).unwrap();
    symlink(&outside, shop.path().join(".cursor")).unwrap();
    symlink("absent/../../../escaped.md", shop.path().join("CLAUDE.md")).unwrap();
    symlink("docs/agents.md", shop.path().join("AGENTS.md")).unwrap();
    let before = files(&outside);
    let install = |more: &[&str]| {
        let args = ["install", "--scope", "project", "--client", "claude", "--client", "cursor", "--client", "codex"];
        let mut command = sandbox.command(&[&args, more].concat());
        sandbox.output(&command.current_dir(shop.path()).output().unwrap())
    };
    let output = install(&[]);
    assert_eq!(output.code, 1, "{output:?}");
    for path in [".mcp.json", ".cursor/mcp.json", "CLAUDE.md"] {
        assert!(output.stderr.contains(&format!("{path} points outside of ")), "{path}: {output:?}");
    }
    assert_eq!(files(&outside), before);
    assert!(!shop.path().join("absent").exists());
    // A link within the repository is one of its own files.
    assert!(fs::read_to_string(shop.path().join("docs/agents.md")).unwrap().contains("Ask backstory"));
    install(&["--uninstall"]).ok();
    assert!(!shop.path().join("docs/agents.md").exists());
    assert_eq!(files(&outside), before);
}

#[test]
fn the_command_of_a_hook_is_one_command_whatever_its_paths_are() {
    let sandbox = used();
    let settings = home(&sandbox).join(".claude/settings.json");
    for (name, is_quoted) in
        [("plain-1", false), ("a;b", true), ("a&b", true), ("a|b", true), ("a`b", true), ("a(b", true)]
    {
        sandbox.run(&["install", "--client", "claude", "--hooks", "--data-dir", name]).ok();
        let hooks = json_of(&settings);
        let command = hooks["hooks"]["PreToolUse"][1]["hooks"][0]["command"].as_str().unwrap();
        assert_eq!(command.ends_with(&format!("{name}'")), is_quoted, "{command}");
    }
}
