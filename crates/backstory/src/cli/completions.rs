//! `completions`: prints what makes a shell complete commands and options. The shell asks the program itself, so what it
//! proposes is always what this version has.

use clap::{Arg, Command, CommandFactory as _, ValueEnum};

use super::{Cli, Session};
use crate::failure::Result;

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

/// Print what makes a shell complete commands and options
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

pub(super) fn propose(session: &Session, words: &Words) -> Result<()> {
    for (name, description) in proposals(&words.words) {
        session.terminal.line(format_args!("{name}\t{description}"))?;
    }
    Ok(())
}

/// What could stand in place of the last word, with a description.
fn proposals(words: &[String]) -> Vec<(String, String)> {
    let mut root = Cli::command();
    root.build();
    let (last, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let mut command = &root;
    let mut option: Option<&Arg> = None;
    let mut place = 0;
    for word in before {
        if option.take().is_some() {
            continue;
        }
        if word.starts_with('-') {
            option = find_option(command, word).filter(|arg| arg.get_action().takes_values() && !word.contains('='));
        } else if let Some(inner) = command.find_subcommand(word) {
            command = inner;
        } else {
            place += 1;
        }
    }
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
