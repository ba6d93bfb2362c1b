//! `completions`: prints what makes a shell complete commands and options. The shell asks the program itself, so what it
//! proposes is always what this version has.

use std::time::Duration;

use backstory_engine::{graph::sparql::ResultFormat, sparql::SparqlRequest};
use clap::{Arg, Command, CommandFactory as _, ValueEnum};

use super::{Cli, Session};
use crate::{
    client::{Client, LockOwnerClient},
    data_dir::DataDir,
    failure::Result,
    output::escape_terminal,
};

/// Most names that are read from the stores.
const MAX_NAMES: usize = 50;

/// How long names are waited for: somebody looks at the incomplete line meanwhile.
const PATIENCE: Duration = Duration::from_millis(500);

/// Longest description beside a proposal, in characters.
const MAX_DESCRIPTION: usize = 80;

const BASH: &str = r#"_backstory() {
    local IFS=$'\n'
    COMPREPLY=($(backstory complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _backstory backstory"#;
const ZSH: &str = r#"#compdef backstory
_backstory() {
    local -a found
    found=(${(f)"$(backstory complete -- "${(@)words[2,CURRENT]}" 2>/dev/null | sed -e 's/:/\\:/g' -e 's/\t/:/')"})
    if (( $#found )); then _describe 'backstory' found; else _files; fi
}
if [ "$funcstack[1]" = "_backstory" ]; then _backstory "$@"; else compdef _backstory backstory; fi"#;
const FISH: &str = r#"function __backstory_complete
    set -l words (commandline -opc) (commandline -ct)
    backstory complete -- $words[2..-1] 2>/dev/null
end
complete -c backstory -f -n 'test -n "$(__backstory_complete)"' -a '(__backstory_complete)'"#;

/// Print the script that makes a shell complete commands and options
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory completions bash > ~/.local/share/bash-completion/completions/backstory
  backstory completions zsh > ~/.zfunc/_backstory
  backstory completions fish > ~/.config/fish/completions/backstory.fish")]
pub(super) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Print what could stand in place of the last word, a proposal with its description a line
#[derive(clap::Args)]
#[command(hide = true)]
pub(super) struct Words {
    /// The words after the program's name; the last one is incomplete
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<()> {
    Ok(session.terminal.line(match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
    })?)
}

pub(super) async fn propose(session: &Session, words: &Words) -> Result<()> {
    let mut found = proposals(&words.words);
    if found.is_empty() {
        // A shell has nowhere to show why there is none.
        found = known_names(&words.words).await.unwrap_or_default();
    }
    for (name, description) in found {
        session.terminal.line(format_args!("{}\t{description}", escape_terminal(&name)))?;
    }
    Ok(())
}

/// The tags or definitions that could stand in place of the last word, where the command takes one and a process that has the
/// stores open tells them in time.
async fn known_names(words: &[String]) -> Result<Vec<(String, String)>> {
    let mut root = Cli::command();
    root.build();
    let incomplete = Incomplete::parse(&root, words);
    let (class, description) = match (incomplete.command.get_name(), incomplete.place) {
        ("shipped", 0) => ("Tag", "tag"),
        ("entity", 0) => ("CodeEntity", "definition"),
        _ => return Ok(Vec::new()),
    };
    if incomplete.option.is_some() || incomplete.last.starts_with('-') {
        return Ok(Vec::new());
    }
    // Of a range the second revision is completed.
    let end = incomplete.last.rfind("..").filter(|_| class == "Tag").map_or(0, |at| at + 2);
    let (before, prefix) = incomplete.last.split_at(end);
    if prefix.contains(['"', '\\', '\n', '\r']) {
        return Ok(Vec::new());
    }
    let session = Session::from_partial_words(words);
    let Some(server) = DataDir::running(&session.config()?.data_dir) else { return Ok(Vec::new()) };
    let client = Client::of_lock_owner(LockOwnerClient::new(server)?);
    let query = format!(
        "SELECT DISTINCT ?name {{ ?node a bs:{class} ; dcterms:title ?name FILTER(STRSTARTS(?name, \"{prefix}\")) }} \
         ORDER BY ?name LIMIT {MAX_NAMES}"
    );
    let request = SparqlRequest { query, formats: vec![ResultFormat::Tsv], ..SparqlRequest::default() };
    let Ok(answer) = tokio::time::timeout(PATIENCE, client.answer(request)).await else { return Ok(Vec::new()) };
    // A line for each, after that of the heading.
    let names = answer?.text;
    let names = names.lines().skip(1).map(|line| line.trim_matches('"')).filter(|name| is_plain(name));
    Ok(names.map(|name| (format!("{before}{name}"), description.to_owned())).collect())
}

/// Whether a name means itself to every shell. Bash inserts proposals as they are, and who writes to a repository chooses what
/// its tags are called.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || "_./:@%+=,-#~".contains(c))
}

/// A command line whose last word is not complete.
struct Incomplete<'a> {
    /// The command that it calls.
    command: &'a Command,
    /// The option whose value the last word is.
    option: Option<&'a Arg>,
    /// How many words without a dash stand before the last one.
    place: usize,
    /// The last word.
    last: &'a str,
}

impl<'a> Incomplete<'a> {
    fn parse(root: &'a Command, words: &'a [String]) -> Self {
        let (last, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
        let mut found = Self { command: root, option: None, place: 0, last };
        for word in before {
            if found.option.take().is_some() {
                continue;
            }
            if word.starts_with('-') {
                found.option = find_option(found.command, word)
                    .filter(|arg| arg.get_action().takes_values() && !word.contains('='));
            } else if let Some(inner) = found.command.find_subcommand(word) {
                found.command = inner;
            } else {
                found.place += 1;
            }
        }
        found
    }
}

/// What could stand in place of the last word, with a description.
fn proposals(words: &[String]) -> Vec<(String, String)> {
    let mut root = Cli::command();
    root.build();
    let Incomplete { command, option, place, last } = Incomplete::parse(&root, words);
    let all: Vec<(String, String)> = if let Some(option) = option {
        values(option)
    } else if last.starts_with('-') {
        command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(long_option).collect()
    } else if command.has_subcommands() {
        let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        shown.map(|inner| (inner.get_name().to_owned(), describe(inner.get_about()))).collect()
    } else {
        command.get_positionals().nth(place).map(values).unwrap_or_default()
    };
    all.into_iter().filter(|(name, _)| name.starts_with(last)).collect()
}

fn find_option<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.split('=').next().unwrap_or(word);
    command.get_arguments().find(|arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| name.strip_prefix('-') == Some(short.to_string().as_str())),
    })
}

fn long_option(arg: &Arg) -> Option<(String, String)> {
    Some((format!("--{}", arg.get_long()?), describe(arg.get_help())))
}

/// The values that an argument takes, if they are listed.
fn values(arg: &Arg) -> Vec<(String, String)> {
    let shown = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
    shown.map(|value| (value.get_name().to_owned(), describe(value.get_help()))).collect()
}

fn describe(text: Option<&clap::builder::StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    text.lines().next().unwrap_or_default().chars().take(MAX_DESCRIPTION).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        proposals(&words).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn names_that_a_shell_would_execute_are_not_plain() {
        for name in ["v1", "release/2.0-rc.1+build", "Session::load", "größe"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["v9;sh", "v9$(sh)", "v9`sh`", "v9|sh", "v9&", "a b", "a'b", "a*", "a{b,c}", "v9>x"] {
            assert!(!is_plain(name), "{name}");
        }
    }

    #[test]
    fn commands_options_and_values_are_proposed() {
        assert_eq!(names(&["sea"]), ["search"]);
        assert!(names(&[]).contains(&"why".to_owned()) && !names(&[]).contains(&"hook".to_owned()));
        assert_eq!(names(&["bundle", "ex"]), ["export"]);
        assert_eq!(names(&["--data-dir", "/tmp", "bundle", "im"]), ["import"]);
        assert_eq!(names(&["why", "src/a.rs", "--pro"]), ["--project"]);
        assert_eq!(names(&["install", "--scope", ""]), ["user", "project"]);
        assert_eq!(names(&["completions", ""]), ["bash", "zsh", "fish"]);
        assert_eq!(names(&["why", ""]), Vec::<String>::new(), "a path, which the shell completes");
        assert_eq!(names(&["install", "--client", "c"]), Vec::<String>::new());
    }
}
