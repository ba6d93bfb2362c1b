//! The command line: the list of commands and a file for each. A command parses arguments, sends a request of the
//! engine through [`Client`](crate::client::Client), and prints the answer.

mod add;
mod arguments;
mod ask;
mod auth_test;
mod backup;
mod chat;
mod check;
mod context;
mod count;
mod doctor;
mod embed;
mod enrich;
mod entity;
mod eval;
mod forget;
mod health;
mod history;
mod init;
mod jobs;
mod list;
mod model_notes;
mod neighborhood;
mod path;
mod place;
mod rebuild;
mod remove;
mod repos;
mod restore;
mod schema;
mod search;
mod serve;
mod show;
mod snapshots;
mod stats;
mod status;
mod summarize;
mod sync;
mod sync_status;
mod task;
mod up;
mod verify;
mod why;

use std::{cell::OnceCell, path::PathBuf, process::ExitCode, time::Duration};

use backstory_engine::error::ErrorKind;
use clap::{ArgAction, Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::{
    config::{Choice, Config},
    failure::{Failure, Result},
    output::{Beside, Terminal},
    share::Share,
};

/// Exit code of clap for a wrong command line, and of every command for what makes no sense.
const USAGE: u8 = 2;
/// How long steps that are under way may take when a command ends early.
const LAST_STEPS: Duration = Duration::from_secs(5);

/// Why is this code like this? Finds the discussion behind a decision.
///
/// backstory reads the history and code of git repositories and the issues, merge requests and discussions of GitLab
/// and GitHub projects, keeps them in a directory of its own, and answers from there: by words, by meaning and along the links
/// between them.
#[derive(Parser)]
#[command(
    name = "backstory",
    version,
    after_long_help = "\
Examples:
  backstory up
  backstory add https://gitlab.example.com/group/project.git
  backstory init --base-url https://gitlab.example.com --project group/project
  backstory sync
  backstory search \"why did we choose Redis\"
  backstory show 'group/project#12'

Exit codes: 0 done, 1 failed, 2 wrong command line, 3 wrong configuration or credentials."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(clap::Args)]
struct Global {
    /// Configuration file [default: ./backstory.toml, then $XDG_CONFIG_HOME/backstory/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory of the stores [default: data_dir of the configuration, then $XDG_DATA_HOME/backstory]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Log more: -v what happens, -vv how, -vvv everything
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
}

#[derive(Subcommand)]
enum Command {
    Up(up::Args),
    Add(add::Args),
    Repos(repos::Args),
    Remove(remove::Args),
    Forget(forget::Args),
    Status(status::Args),
    Init(init::Args),
    AuthTest(auth_test::Args),
    Doctor(doctor::Args),
    Sync(sync::Args),
    SyncStatus(sync_status::Args),
    Jobs(jobs::Args),
    Embed(embed::Args),
    List(list::Args),
    Count(count::Args),
    Show(show::Args),
    Search(search::Args),
    Why(why::Args),
    Ask(ask::Args),
    Chat(chat::Args),
    Verify(verify::Args),
    Summarize(summarize::Args),
    Enrich(enrich::Args),
    Context(context::Args),
    History(history::Args),
    Entity(entity::Args),
    Neighborhood(neighborhood::Args),
    Path(path::Args),
    Eval(eval::Args),
    Stats(stats::Args),
    Snapshots(snapshots::Args),
    Check(check::Args),
    Rebuild(rebuild::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Serve(serve::Args),
    Health(health::Args),
    Schema(schema::Args),
}

/// What a command works with.
pub(crate) struct Session {
    global: Global,
    config: OnceCell<Config>,
    /// Where it writes to.
    pub(crate) terminal: Terminal,
    /// What other commands may ask it.
    pub(crate) share: Share,
}

impl Session {
    /// The configuration, read when it is first needed.
    ///
    /// # Errors
    /// There is none, or it is wrong.
    pub(crate) fn config(&self) -> Result<&Config> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let choice = Choice { config: self.global.config.as_deref(), data_dir: self.global.data_dir.as_deref() };
        let config = Config::load(choice)?;
        Ok(self.config.get_or_init(|| config))
    }
}

/// Does what the command line asks for.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(refuse(&error)),
    };
    log(&cli);
    let session =
        Session { global: cli.global, config: OnceCell::new(), terminal: Terminal::new(), share: Share::default() };
    let done = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let done = runtime.block_on(async {
                let done = execute(&session, cli.command).await;
                session.share.end().await;
                done
            });
            runtime.shutdown_timeout(LAST_STEPS);
            done
        }
        Err(error) => Err(Failure::new(ErrorKind::Internal, format!("no threads can be started: {error}"))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(&session.terminal);
            ExitCode::from(failure.code)
        }
    }
}

/// Prints what is wrong with the command line, or the help that it asks for.
fn refuse(error: &clap::Error) -> u8 {
    let rendered = error.render().to_string();
    match (error.kind(), rendered.strip_prefix("error: ")) {
        // A sentence of our own that needs no hint at the help.
        (clap::error::ErrorKind::ValueValidation, Some(text)) => {
            Terminal::new().error(text.lines().next().unwrap_or_default());
        }
        // It repeats the command line.
        (_, Some(text)) => Terminal::new().error(text.trim_end()),
        // Nothing more can be said if even this cannot be printed.
        _ => drop(error.print()),
    }
    if error.use_stderr() { USAGE } else { 0 }
}

async fn execute(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Up(args) => up::run(session, &args).await,
        Command::Add(args) => add::run(session, &args).await,
        Command::Repos(args) => repos::run(session, &args).await,
        Command::Remove(args) => remove::run(session, &args).await,
        Command::Forget(args) => forget::run(session, &args).await,
        Command::Status(args) => status::run(session, &args).await,
        Command::Init(args) => init::run(session, &args),
        Command::AuthTest(args) => auth_test::run(session, &args).await,
        Command::Doctor(args) => doctor::run(session, &args).await,
        Command::Sync(args) => sync::run(session, &args).await,
        Command::SyncStatus(args) => sync_status::run(session, &args).await,
        Command::Jobs(args) => jobs::run(session, &args).await,
        Command::Embed(args) => embed::run(session, &args).await,
        Command::List(args) => list::run(session, &args).await,
        Command::Count(args) => count::run(session, &args).await,
        Command::Show(args) => show::run(session, &args).await,
        Command::Search(args) => search::run(session, &args).await,
        Command::Why(args) => why::run(session, &args).await,
        Command::Ask(args) => ask::run(session, &args).await,
        Command::Chat(args) => chat::run(session, &args).await,
        Command::Verify(args) => verify::run(session, &args).await,
        Command::Summarize(args) => summarize::run(session, &args).await,
        Command::Enrich(args) => enrich::run(session, &args).await,
        Command::Context(args) => context::run(session, &args).await,
        Command::History(args) => history::run(session, &args).await,
        Command::Entity(args) => entity::run(session, &args).await,
        Command::Neighborhood(args) => neighborhood::run(session, &args).await,
        Command::Path(args) => path::run(session, &args).await,
        Command::Eval(args) => eval::run(session, &args).await,
        Command::Stats(args) => stats::run(session, &args).await,
        Command::Snapshots(args) => snapshots::run(session, &args).await,
        Command::Check(args) => check::run(session, &args).await,
        Command::Rebuild(args) => rebuild::run(session, &args).await,
        Command::Backup(args) => backup::run(session, &args).await,
        Command::Restore(args) => restore::run(session, &args).await,
        Command::Serve(args) => serve::run(session, &args).await,
        Command::Health(args) => health::run(session, &args).await,
        Command::Schema(args) => schema::run(session, &args),
    }
}

/// Logs go to standard error. A failed operation of a command is that command's error and needs no log; that of a
/// server's client is seen nowhere else.
fn log(cli: &Cli) {
    let serves = matches!(cli.command, Command::Serve(_) | Command::Up(_));
    let (ours, others) = match cli.global.verbose {
        0 => ("warn", "off"),
        1 => ("info", "error"),
        2 => ("debug", "warn"),
        _ => ("trace", "debug"),
    };
    let api = if serves { ours } else { "off" };
    let filter = EnvFilter::new(format!("{others},backstory={ours},backstory_server::graphql={api}"));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Beside).with_target(false);
    if serves {
        subscriber.init();
    } else {
        subscriber.without_time().init();
    }
}
