//! The command line: the list of commands and a file for each. A command parses arguments, sends a request of the
//! engine through [`Client`](crate::client::Client), and prints the answer.

mod add;
mod annotate;
mod arguments;
mod ask;
mod auth_test;
mod backup;
mod bundle;
mod chat;
mod check;
mod checkout;
mod completions;
mod context;
mod count;
mod doctor;
mod embed;
mod enrich;
mod entity;
mod eval;
mod export;
mod file;
mod forget;
mod health;
mod history;
mod hook;
mod init;
mod install;
mod jobs;
mod list;
mod mcp;
mod me;
mod model_notes;
mod neighborhood;
mod nodes;
mod path;
mod person;
mod place;
mod rebuild;
mod remove;
mod removed;
mod repos;
mod restore;
mod schema;
mod search;
mod serve;
mod shipped;
mod show;
mod snapshots;
mod sparql;
mod stats;
mod status;
mod summarize;
mod sync;
mod sync_status;
mod task;
mod token;
mod up;
mod verify;
mod why;

use std::{process::ExitCode, time::Duration};

use backstory_engine::error::ErrorKind;
use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::{
    failure::{Failure, Result},
    output::{Stderr, Terminal},
    resources,
    session::{GlobalArgs, Session},
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

Exit codes: 0 done, 1 failed, 2 wrong command line, 3 wrong configuration or credentials, 130 interrupted."
)]
struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
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
    Removed(removed::Args),
    Ask(ask::Args),
    Chat(chat::Args),
    Verify(verify::Args),
    Summarize(summarize::Args),
    Enrich(enrich::Args),
    Annotate(annotate::Args),
    Context(context::Args),
    History(history::Args),
    Entity(entity::Args),
    File(file::Args),
    Me(me::Args),
    Person(person::Args),
    Neighborhood(neighborhood::Args),
    Path(path::Args),
    Shipped(shipped::Args),
    Sparql(sparql::Args),
    Export(export::Args),
    Eval(eval::Args),
    Stats(stats::Args),
    Snapshots(snapshots::Args),
    Check(check::Args),
    Rebuild(rebuild::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Bundle(bundle::Args),
    Token(token::Args),
    Serve(serve::Args),
    Mcp(mcp::Args),
    Install(install::Args),
    Hook(hook::Args),
    Health(health::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    Complete(completions::Words),
}

impl Command {
    /// Whether it writes much or runs until it is stopped.
    fn takes_long(&self) -> bool {
        matches!(
            self,
            Self::Up(_)
                | Self::Add(_)
                | Self::Sync(_)
                | Self::Embed(_)
                | Self::Enrich(_)
                | Self::Rebuild(_)
                | Self::Forget(_)
                | Self::Restore(_)
                | Self::Bundle(_)
                | Self::Serve(_)
                | Self::Mcp(_)
        )
    }
}

/// Does what the command line asks for.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(refuse(&error)),
    };
    log(&cli);
    if cli.command.takes_long() {
        resources::hold_little_back();
        resources::allow_open_files();
    }
    // What the hook is doing when its time is over is not waited for.
    let last_steps = if matches!(cli.command, Command::Hook(_)) { Duration::ZERO } else { LAST_STEPS };
    let session = Session::new(cli.global);
    let done = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let done = runtime.block_on(async {
                let done = Box::pin(execute(&session, cli.command)).await;
                session.share.end().await;
                done
            });
            runtime.shutdown_timeout(last_steps);
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
        Command::Removed(args) => removed::run(session, &args).await,
        Command::Ask(args) => ask::run(session, &args).await,
        Command::Chat(args) => chat::run(session, &args).await,
        Command::Verify(args) => verify::run(session, &args).await,
        Command::Summarize(args) => summarize::run(session, &args).await,
        Command::Enrich(args) => enrich::run(session, &args).await,
        Command::Annotate(args) => annotate::run(session, &args).await,
        Command::Context(args) => context::run(session, &args).await,
        Command::History(args) => history::run(session, &args).await,
        Command::Entity(args) => entity::run(session, &args).await,
        Command::File(args) => file::run(session, &args).await,
        Command::Me(args) => me::run(session, &args).await,
        Command::Person(args) => person::run(session, &args).await,
        Command::Neighborhood(args) => neighborhood::run(session, &args).await,
        Command::Path(args) => path::run(session, &args).await,
        Command::Shipped(args) => shipped::run(session, &args).await,
        Command::Sparql(args) => sparql::run(session, &args).await,
        Command::Export(args) => export::run(session, &args).await,
        Command::Eval(args) => eval::run(session, &args).await,
        Command::Stats(args) => stats::run(session, &args).await,
        Command::Snapshots(args) => snapshots::run(session, &args).await,
        Command::Check(args) => check::run(session, &args).await,
        Command::Rebuild(args) => rebuild::run(session, &args).await,
        Command::Backup(args) => backup::run(session, &args).await,
        Command::Restore(args) => restore::run(session, &args).await,
        Command::Bundle(args) => bundle::run(session, &args).await,
        Command::Token(args) => token::run(session, &args).await,
        Command::Serve(args) => serve::run(session, &args).await,
        Command::Mcp(args) => Box::pin(mcp::run(session, &args)).await,
        Command::Install(args) => install::run(session, &args),
        Command::Hook(args) => hook::run(session, &args).await,
        Command::Health(args) => health::run(session, &args).await,
        Command::Schema(args) => schema::run(session, &args),
        Command::Completions(args) => completions::run(session, &args),
        Command::Complete(args) => completions::propose(session, &args).await,
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
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Stderr).with_target(false);
    if serves {
        subscriber.init();
    } else {
        subscriber.without_time().init();
    }
}
