//! `init`: writes a configuration with comments.

use std::{
    fs::OpenOptions,
    io::{self, BufRead as _, ErrorKind, IsTerminal as _, Write},
    path::{Path, PathBuf},
};

use backstory_engine::settings::names_projects;
use url::Url;

use super::Session;
use crate::{
    config::FILE,
    failure::{Failure, Result, reason},
    output::escape_terminal,
};

const TOKEN_ENV: &str = "GITLAB_TOKEN";

/// Write a configuration, with comments
///
/// On a terminal, asks for what the options leave out. Writes ./backstory.toml, or the file that --config names.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory init
  backstory init --base-url https://gitlab.example.com --project group/one --project group/two")]
pub(super) struct Args {
    /// Address of the GitLab instance
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Name of the environment variable that holds the access token [default: GITLAB_TOKEN]
    #[arg(long, value_name = "NAME")]
    token_env: Option<String>,
    /// Full path of a project (repeatable)
    #[arg(long = "project", value_name = "GROUP/PROJECT")]
    projects: Vec<String>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// What the file is about.
struct Answers {
    base_url: String,
    token_env: String,
    projects: Vec<String>,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<()> {
    let path = session.config_file().map_or_else(|| PathBuf::from(FILE), Path::to_path_buf);
    let exists = || {
        let path = path.display();
        Failure::usage(format!("{path} exists already; edit it, or pass --force to overwrite it"))
    };
    if path.exists() && !args.force {
        return Err(exists());
    }
    let answers = ask(args)?;
    let mut options = OpenOptions::new();
    options.write(true);
    if args.force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let written = options.open(&path).and_then(|mut file| file.write_all(text(&answers).as_bytes()));
    match written {
        Ok(()) => Ok(session.terminal.line(next_steps(&path, &answers))?),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(exists()),
        Err(error) => Err(Failure::configuration(format!("{} cannot be written: {}", path.display(), reason(&error)))),
    }
}

fn next_steps(path: &Path, answers: &Answers) -> String {
    format!(
        "Wrote {}. Put a token with the scope read_api into {} and check everything with 'backstory doctor'; then \
         'backstory sync' reads the projects.",
        path.display(),
        answers.token_env
    )
}

fn ask(args: &Args) -> Result<Answers> {
    let interactive = io::stdin().is_terminal() && io::stderr().is_terminal();
    let base_url = match &args.base_url {
        Some(url) => check_url(url)?,
        None if interactive => prompt("Address of the GitLab instance", Some("https://gitlab.com"), check_url)?,
        None => return Err(missing("--base-url https://gitlab.example.com")),
    };
    let projects = match args.projects.as_slice() {
        [] if interactive => prompt("Full paths of the projects, with spaces between them", None, |text| {
            check_projects(text.split([' ', ',']).filter(|path| !path.is_empty()))
        })?,
        [] => return Err(missing("--project group/project")),
        projects => check_projects(projects.iter().map(String::as_str))?,
    };
    let token_env = match &args.token_env {
        Some(name) => check_variable(name)?,
        None if interactive && args.base_url.is_none() => {
            prompt("Environment variable that holds the access token", Some(TOKEN_ENV), check_variable)?
        }
        None => TOKEN_ENV.to_owned(),
    };
    Ok(Answers { base_url, token_env, projects })
}

fn missing(option: &str) -> Failure {
    Failure::usage(format!("nothing can be asked without a terminal; pass {option}"))
}

/// Asks until the answer can be used. The questions go to standard error, as all that is no result.
fn prompt<T>(question: &str, usual: Option<&str>, check: impl Fn(&str) -> Result<T>) -> Result<T> {
    loop {
        let hint = usual.map(|usual| format!(" [{usual}]")).unwrap_or_default();
        write!(anstream::stderr(), "{question}{hint}: ")?;
        let mut answer = String::new();
        if io::stdin().lock().read_line(&mut answer)? == 0 {
            return Err(Failure::usage("the input ended before all questions were answered; nothing was written"));
        }
        let answer = Some(answer.trim()).filter(|answer| !answer.is_empty()).or(usual).unwrap_or_default();
        match check(answer) {
            Ok(value) => return Ok(value),
            Err(failure) => writeln!(anstream::stderr(), "{}", escape_terminal(&failure.sentence()))?,
        }
    }
}

fn check_url(text: &str) -> Result<String> {
    match text.parse::<Url>() {
        Ok(url)
            if matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none() =>
        {
            Ok(url.as_str().trim_end_matches('/').to_owned())
        }
        _ => Err(Failure::usage("the address of the GitLab instance must be like https://gitlab.example.com")),
    }
}

fn check_projects<'a>(paths: impl Iterator<Item = &'a str>) -> Result<Vec<String>> {
    let mut projects: Vec<String> = Vec::new();
    for path in paths {
        if !names_projects(path) {
            let what =
                format!("'{path}' is not the path of a project; write group/project, or group/* for all of a group");
            return Err(Failure::usage(what));
        }
        if !projects.iter().any(|known| known == path) {
            projects.push(path.to_owned());
        }
    }
    if projects.is_empty() {
        Err(Failure::usage("at least one project is needed, like group/project"))
    } else {
        Ok(projects)
    }
}

fn check_variable(name: &str) -> Result<String> {
    let valid = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    // What is no such name may be a token, which is not repeated.
    if valid {
        Ok(name.to_owned())
    } else {
        Err(Failure::usage(
            "expected the name of an environment variable, in capitals like GITLAB_TOKEN, not the token itself",
        ))
    }
}

fn text(answers: &Answers) -> String {
    let projects: Vec<String> = answers.projects.iter().map(|path| format!("{path:?}")).collect();
    TEMPLATE
        .replace("{base_url}", &answers.base_url)
        .replace("{token_env}", &answers.token_env)
        .replace("{projects}", &projects.join(", "))
}

const TEMPLATE: &str = r#"# Configuration of backstory. 'backstory doctor' checks it.

# Where the stores are; relative paths begin at this file.
# data_dir = "~/.local/share/backstory"

# A forge and the projects to read from it. Repeat [[forge]] for another.
[[forge]]
kind = "gitlab"
base_url = "{base_url}"
# Name of the environment variable that holds a token with the scope read_api. The token itself never stands in a file.
token_env = "{token_env}"
projects = [{projects}]
# Most requests in a second; 0 for no limit.
requests_per_second = 10
# Name of the variable that holds the secret of webhooks, which this forge sends to /webhooks/gitlab.
# webhook_secret_env = "HOOK_SECRET"
# Read confidential issues and internal notes too; only tokens with that scope see them, see [server].
# confidential = true

# What 'backstory serve' does by itself, for each project; 0 for never.
[sync]
# Reads what is new.
every_minutes = 10
# Compares all that the forge lists with what is known; drops what is gone.
reconcile_hours = 24
# Reads everything again.
full_days = 7

# What is not kept; 0 keeps all.
# [retention]
# Closed issues and merge requests that have not changed for so many days.
# days = 0
# Of each repository all but so many commits, the newest.
# commits = 0
# Of each project the oldest closed issues and merge requests, until it fits.
# megabytes = 0

# Git repositories are added with 'backstory add PATH|URL'; this is how they are read.
# [repositories]
# Hosts on a private network that may be cloned from all the same: names or addresses.
# allowed_hosts = ["git.example.internal"]
# Only files whose path matches one of these patterns are looked into; all if there is none.
# include = ["src/**", "docs/**"]
# Files that are not looked into.
# exclude = ["**/testdata/**"]

[embedding]
# bundled: a small model inside backstory. ollama: a server of Ollama. openai: any server that speaks its protocol.
# none: no vectors, so that texts are found by their words alone.
provider = "bundled"
# model = "nomic-embed-text"
# base_url = "http://127.0.0.1:11434"
# api_key_env = "OPENAI_API_KEY"
# Numbers in a vector, if the model offers several.
# dimension = 768
# Threads of the bundled model, 1 to 64; one for each core if not given.
# threads = 4

[search]
# default, gitmemory (new and important things count much) or rrf (ranks of text and vectors are fused).
profile = "default"
# What each part of a score counts, 0 to 1.
# weights = { semantic = 0.5, lexical = 0.5, recency = 0.0, importance = 0.0, relationship = 0.0, author = 0.1 }
# A model that reorders the best 20 hits of search and ask, on any server with /rerank. Context packs keep the order of the
# index, so that the same state gives the same pack.
# [search.rerank]
# model = "bge-reranker-v2-m3"
# base_url = "http://127.0.0.1:8080/v1"
# api_key_env = "RERANK_KEY"

# A language model that words answers and writes summaries, of ollama or openai; there is none without this section.
# [llm]
# provider = "ollama"
# model = "llama3.2"
# base_url = "http://127.0.0.1:11434"
# api_key_env = "MODEL_KEY"
# Longest time for an answer, most tokens of an answer, and most tokens of a day.
# timeout_seconds = 120
# max_tokens = 500
# daily_tokens = 200000

# States of the index that can be searched, the current one among them, besides pinned ones.
# [snapshots]
# keep = 3

# How the nearest of 10,000 vectors or more are found: in so many clusters, one for every 1,000 vectors if not given, of which
# a search looks into some; and how many times as many vectors as are wanted are compared exactly.
# [index]
# clusters = 500
# probes = 48
# refine = 0

# How files are cut into the pieces that search reads: most lines and characters (0 for no limit), and lines of overlap.
# [index.chunks]
# code = { lines = 60, characters = 0, overlap = 0 }
# documentation = { lines = 60, characters = 2000, overlap = 3 }
# text = { lines = 60, characters = 0, overlap = 10 }

# Least confidence of links to issues that are inferred; 1 for no such links.
# [links]
# confidence = 0.82

# Tickets of another tracker that texts name: a pattern of its keys, and their pages. Repeat [[tracker]] for another.
# [[tracker]]
# pattern = "[A-Z][A-Z0-9]+-[0-9]+"
# url = "https://jira.example.com/browse/{key}"

# [people]
# Whether 'backstory me' and 'backstory person' show what somebody does.
# tracking = true
# Your user name at the forge; the address that git makes commits with if not given.
# me = "johndoe"

# SHA-256 of texts that look like secrets but are not.
# [redact]
# allow = []

[server]
listen = "127.0.0.1:7373"
# Name of the variable that holds the token which clients must show. Needed if others than this machine can connect.
# token_env = "BACKSTORY_TOKEN"
# Megabytes that are kept of the files of the index.
# memory = 320
# Requests of one token in a minute; 0 for no limit.
# requests_per_minute = 3000
# Tokens that see some projects only, or confidential items. 'backstory token create' makes others without a restart.
# [[server.tokens]]
# env = "BACKSTORY_INSIDER_TOKEN"
# projects = ["group/*"]
# scopes = ["read", "confidential"]
# expires = "2027-12-31"
"#;
