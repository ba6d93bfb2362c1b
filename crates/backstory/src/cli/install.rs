//! `install`: sets up agents so that they ask backstory, and takes that back.

mod client;
mod edit;
mod receipt;

use std::{
    env,
    path::{Path, PathBuf},
};

use backstory_engine::sources::git::naming::discover_repository;

use super::Session;
use crate::{
    failure::{Failure, Result, reason},
    output::{FAINT, escape_terminal},
};
use client::{AgentClient, ClientFiles, InstallScope, list_clients};
use edit::{Change, ConflictPolicy};
use receipt::{Edit, EditKind, Receipt, UndoOutcome, read_text, require_below};

pub(super) use edit::ServerCommand;

const SKILL: &str = include_str!("install/SKILL.md");

/// Set up agents so that they ask backstory: Claude Code, Codex, Cursor, VS Code, Gemini CLI, opencode, Windsurf, Zed
///
/// For each agent that is found, writes the MCP server into its configuration, the skill, and a marked block into the
/// file of instructions that it reads in every conversation. Comments and order are kept. --uninstall removes exactly
/// what was written.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory install
  backstory install --dry-run
  backstory install --client claude --client codex --hooks
  backstory install --scope project
  backstory install --uninstall")]
pub(super) struct Args {
    /// Only this agent (repeatable); one that is not found is set up too
    #[arg(long = "client", value_name = "AGENT")]
    clients: Vec<String>,
    /// Where to write it
    #[arg(long, value_enum, default_value_t = InstallScope::User)]
    scope: InstallScope,
    /// Also tell the agent the decision behind code that it is about to change or blame, where it has such hooks
    #[arg(long)]
    hooks: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Remove what was written
    #[arg(long, conflicts_with = "hooks")]
    uninstall: bool,
}

/// Where things are.
struct Places {
    home: PathBuf,
    receipt: PathBuf,
    scope: InstallScope,
    /// Directory of the scope.
    root: PathBuf,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<()> {
    let places = Places::find(args.scope)?;
    let clients = choose(args, &places)?;
    if args.uninstall {
        return uninstall(session, args, &places, &clients);
    }
    let command = server_command(session)?;
    let mut receipt = Receipt::read(&places.receipt)?;
    let mut failed = 0;
    for client in &clients {
        session.terminal.line(&client.name)?;
        for (path, what) in wanted(client, args, &places, &command) {
            let done = places
                .require(&path)
                .and_then(|()| write(session, args, client, &command, (&path, what), &mut receipt));
            // What was written before it is noted whatever comes after it.
            if !args.dry_run {
                receipt.write(&places.receipt)?;
            }
            if let Err(failure) = done {
                // The reader of the output has seen enough.
                if failure.message.is_none() {
                    return Err(failure);
                }
                failed += 1;
                session.terminal.error(format_args!("{}: {}", path.display(), failure.sentence()));
            }
        }
    }
    if failed > 0 {
        return Err(Failure::reported());
    }
    if !args.dry_run {
        session.terminal.note("restart the agents; 'backstory doctor' tries the command that they start");
    }
    Ok(())
}

impl Places {
    fn find(scope: InstallScope) -> Result<Self> {
        let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let home = home.ok_or_else(|| Failure::configuration("HOME is not set, so no configuration can be found"))?;
        let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let state = state.unwrap_or_else(|| home.join(".local/state"));
        let root = match scope {
            InstallScope::User => home.clone(),
            InstallScope::Project => {
                let here = env::current_dir().ok();
                here.and_then(|here| discover_repository(&here)).ok_or_else(|| {
                    Failure::usage("there is no repository here; run this in one, or use --scope user")
                })?
            }
        };
        Ok(Self { receipt: state.join("backstory").join("installed.json"), home, scope, root })
    }

    /// Refuses a file outside of the repository, to which a link in it may lead: others have written what is in it.
    fn require(&self, path: &Path) -> Result<()> {
        match self.scope {
            InstallScope::User => Ok(()),
            InstallScope::Project => require_below(&self.root, path),
        }
    }
}

/// The clients that are named, or those that are installed.
fn choose(args: &Args, places: &Places) -> Result<Vec<AgentClient>> {
    let all = list_clients()?;
    let ids = || all.iter().map(|client| client.id.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(unknown) = args.clients.iter().find(|id| *id != "all" && !all.iter().any(|client| client.id == **id)) {
        return Err(Failure::usage(format!(
            "there is no agent '{}'; name one of {}, or all",
            escape_terminal(unknown),
            ids()
        )));
    }
    let path: Vec<PathBuf> = env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    let is_wanted = |client: &&AgentClient| match args.clients.as_slice() {
        // What was written for one that is gone is taken back too.
        [] => args.uninstall || client.is_installed(&places.home, &path),
        named => named.iter().any(|id| *id == client.id || id == "all"),
    };
    let found: Vec<AgentClient> = all.iter().filter(is_wanted).cloned().collect();
    if found.is_empty() {
        return Err(Failure::usage(format!("no agent was found; name one with --client: {}", ids())));
    }
    Ok(found)
}

/// What a client starts: this program, with the configuration and data directory that it was given.
fn server_command(session: &Session) -> Result<ServerCommand> {
    let own = env::current_exe().and_then(|own| own.canonicalize());
    let own =
        own.map_err(|error| Failure::configuration(format!("this program cannot be found: {}", reason(&error))))?;
    let path: Vec<PathBuf> = env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    let is_own = |directory: &PathBuf| directory.join("backstory").canonicalize().is_ok_and(|found| found == own);
    let program = if path.iter().any(is_own) { "backstory".to_owned() } else { own.display().to_string() };
    let mut args = vec!["mcp".to_owned()];
    for (name, value) in session.places() {
        // An agent starts the command somewhere else.
        let value = value.canonicalize().or_else(|_| std::path::absolute(value)).unwrap_or_else(|_| value.to_owned());
        args.extend([name.to_owned(), value.display().to_string()]);
    }
    Ok(ServerCommand { program, args })
}

/// The files that a client gets, and what is written into each.
fn wanted(client: &AgentClient, args: &Args, places: &Places, command: &ServerCommand) -> Vec<(PathBuf, EditKind)> {
    let ClientFiles { config, instructions, skill, hooks } = client.files(args.scope, &places.root);
    let hook = EditKind::Hook { command: hook_command(command) };
    let config = config.map(|path| (path, EditKind::Entry { key: client.key.clone() }));
    let skill = skill.map(|path| (path, EditKind::Skill));
    let instructions = instructions.map(|path| (path, EditKind::Block));
    let hooks = hooks.filter(|_| args.hooks).map(|path| (path, hook));
    [config, skill, instructions, hooks].into_iter().flatten().collect()
}

/// What an agent runs before it uses a tool.
fn hook_command(command: &ServerCommand) -> String {
    let mut words = vec![command.program.clone(), "hook".to_owned()];
    words.extend(command.args.iter().skip(1).cloned());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,-".contains(c);
    let quote = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

fn write(
    session: &Session,
    args: &Args,
    client: &AgentClient,
    command: &ServerCommand,
    (path, what): (&Path, EditKind),
    receipt: &mut Receipt,
) -> Result<()> {
    let old = read_text(path)?;
    let text = old.as_deref().unwrap_or_default();
    let existing = if receipt.has(path, &what) { ConflictPolicy::Replace } else { ConflictPolicy::Keep };
    let change = match &what {
        EditKind::Entry { key } if path.extension().is_some_and(|extension| extension == "toml") => {
            edit::add_toml_entry(text, key, command, existing)?
        }
        EditKind::Entry { key } => edit::add_json_entry(text, key, client.entry, command, existing)?,
        EditKind::Hook { command } => edit::add_hook(text, command, receipt.other_hooks(path, command))?,
        EditKind::Block => edit::add_block(text),
        EditKind::Skill if text == SKILL => Change::Nothing,
        EditKind::Skill if old.is_some() && existing == ConflictPolicy::Keep => Change::KeepsOther,
        EditKind::Skill => Change::Text(SKILL.to_owned()),
    };
    let new = match change {
        Change::Text(new) => new,
        Change::Nothing => {
            return Ok(session
                .terminal
                .line(format_args!("  {} {FAINT}is as it should be{FAINT:#}", path.display()))?);
        }
        Change::KeepsOther => {
            let kept = "has a 'backstory' that something else wrote, which is left alone";
            return Ok(session.terminal.line(format_args!("  {} {FAINT}{kept}{FAINT:#}", path.display()))?);
        }
    };
    if args.dry_run {
        session.terminal.line(format_args!("  {} would get", path.display()))?;
        for line in Edit::between(path, what, old.as_deref(), &new).inserted().lines() {
            session.terminal.line(format_args!("    {}", escape_terminal(line)))?;
        }
        return Ok(());
    }
    receipt.write_file(path, what, old.as_deref(), &new)?;
    Ok(session.terminal.line(format_args!("  {}", path.display()))?)
}

/// Takes back what was written for clients, the last first.
fn uninstall(session: &Session, args: &Args, places: &Places, clients: &[AgentClient]) -> Result<()> {
    let mut receipt = Receipt::read(&places.receipt)?;
    let files = |client: &AgentClient| {
        let ClientFiles { config, instructions, skill, hooks } = client.files(args.scope, &places.root);
        [config, instructions, skill, hooks].into_iter().flatten().collect::<Vec<_>>()
    };
    let files: Vec<PathBuf> = clients.iter().flat_map(files).collect();
    let remove = |edit: &Edit, text: &str| match &edit.what {
        EditKind::Entry { key } if edit.path.extension().is_some_and(|extension| extension == "toml") => {
            edit::remove_toml_entry(text, key)
        }
        EditKind::Entry { key } => edit::remove_json_entry(text, key),
        EditKind::Hook { command } => edit::remove_hook(text, command),
        EditKind::Block => Ok(edit::remove_block(text)),
        EditKind::Skill => Ok(None),
    };
    let mut count = 0;
    let mut failed: Vec<PathBuf> = Vec::new();
    for edit in receipt.edits().filter(|edit| files.contains(&edit.path)) {
        if !failed.contains(&edit.path)
            && let Err(failure) = places.require(&edit.path)
        {
            session.terminal.error(failure.sentence());
            failed.push(edit.path.clone());
        }
    }
    loop {
        if args.dry_run {
            break;
        }
        let is_wanted = |edit: &Edit| files.contains(&edit.path) && !failed.contains(&edit.path);
        let Some((edit, undone)) = receipt.undo_last(is_wanted, remove) else { break };
        receipt.write(&places.receipt)?;
        count += 1;
        let how = match undone {
            Ok(UndoOutcome::Exactly) => "is as it was",
            Ok(UndoOutcome::Partly) => "has changed since; only what was written is gone",
            Ok(UndoOutcome::Nothing) => "has nothing of it any more",
            // The others are taken back all the same.
            Err(failure) => {
                session.terminal.error(format_args!("{}: {}", edit.path.display(), failure.sentence()));
                failed.push(edit.path);
                continue;
            }
        };
        session.terminal.line(format_args!("{} {FAINT}{how}{FAINT:#}", edit.path.display()))?;
    }
    if !failed.is_empty() {
        return Err(Failure::reported());
    }
    if args.dry_run {
        for edit in receipt.edits().filter(|edit| files.contains(&edit.path)) {
            count += 1;
            session.terminal.line(format_args!("{} would be as it was", edit.path.display()))?;
        }
    }
    if count == 0 {
        session.terminal.note("nothing was written there that could be removed");
    }
    Ok(())
}

/// The commands that agents start, by the files that 'backstory install' wrote them into; `None` if there is none any more.
///
/// # Errors
/// What was written cannot be read.
pub(super) fn installed_commands() -> Result<Vec<(PathBuf, Option<ServerCommand>)>> {
    // Without a home directory nothing was written.
    let Ok(places) = Places::find(InstallScope::User) else { return Ok(Vec::new()) };
    let receipt = Receipt::read(&places.receipt)?;
    let mut found: Vec<(PathBuf, Option<ServerCommand>)> = Vec::new();
    for edit in receipt.edits() {
        let EditKind::Entry { key } = &edit.what else { continue };
        if found.iter().any(|(path, _)| *path == edit.path) {
            continue;
        }
        let text = read_text(&edit.path)?.unwrap_or_default();
        found.push((edit.path.clone(), edit::read_command(&edit.path, &text, key)));
    }
    Ok(found)
}
