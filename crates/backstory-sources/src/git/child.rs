//! Starts git: this program runs itself again, limits itself, and becomes git.
//!
//! Limits of a process can only be set from inside it, and what runs between a fork and the program that follows would be
//! unsafe code. So the program named by [`GitSettings::child`](super::command::GitSettings::child) is started with
//! [`FLAG`], calls [`run_git_child_if_requested`], and is replaced by git with these limits:
//!
//! - Its data (heap, stacks, private memory that can be written) is bounded by `RLIMIT_DATA`. Packs that are mapped do not
//!   count; the configuration of every command bounds those.
//! - On Linux it is killed when the thread ends that started it. [`start`] therefore starts all of them on one thread that
//!   lives as long as this process.
//!
//! What git starts itself (`index-pack`, `upload-pack`, `remote-https`) hears of neither. It is in the process group of the
//! command, and the same program, started once with [`WATCH_FLAG`], is told which groups there are and kills those that are
//! left when this process ends, in whatever way.

use std::{
    collections::HashSet,
    ffi::OsString,
    io::{self, BufRead, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread,
};

use parking_lot::Mutex;
use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, getrlimit, kill_process_group, setrlimit};

/// First argument of a program that is to become git.
const FLAG: &str = "--git-child";
/// Only argument of a program that is to end what is left of git when the process ends that started it.
const WATCH_FLAG: &str = "--git-watch";

/// A command that becomes the given one with at most that many bytes of data.
pub(super) fn with_memory_limit(child: &Path, git: &Command, memory: u64) -> Command {
    let mut command = Command::new(child);
    command.arg(FLAG).arg(std::process::id().to_string()).arg(memory.to_string());
    command.arg(git.get_program()).args(git.get_args()).env_clear();
    command.envs(git.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// Becomes git if the arguments of this process ask for that, and returns only what went wrong; or watches over git until
/// there is nothing more to watch. To be called before anything else is done.
pub fn run_git_child_if_requested(arguments: impl IntoIterator<Item = OsString>) -> Option<io::Result<()>> {
    let mut arguments = arguments.into_iter().skip(1);
    let first = arguments.next()?;
    if first == WATCH_FLAG {
        watch(io::stdin().lock());
        return Some(Ok(()));
    }
    (first == FLAG).then(|| Err(become_command(arguments)))
}

/// Becomes the program that the arguments name, bounded by those before it; what went wrong.
fn become_command(mut arguments: impl Iterator<Item = OsString>) -> io::Error {
    let mut number = || arguments.next()?.to_str()?.parse::<u64>().ok();
    let (Some(parent), Some(memory)) = (number(), number()) else {
        return io::Error::other(format!("{FLAG} is for backstory itself"));
    };
    let Some(git) = arguments.next() else { return io::Error::other("there is no program to become") };
    if let Err(error) = bound(parent, memory) {
        return error;
    }
    let error = Command::new(&git).args(arguments).exec();
    io::Error::new(error.kind(), format!("'{}' cannot be run: {error}", git.display()))
}

/// Ties this process to its parent and limits its memory.
fn bound(parent: u64, memory: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // It may have ended before the signal was asked for.
    let is_there = getppid().is_some_and(|found| u64::try_from(found.as_raw_nonzero().get()) == Ok(parent));
    if !is_there {
        return Err(io::Error::other("the process that started git has ended"));
    }
    let allowed = getrlimit(Resource::Data).maximum.map_or(memory, |most| most.min(memory));
    setrlimit(Resource::Data, Rlimit { current: Some(allowed), maximum: Some(allowed) })?;
    Ok(())
}

/// Takes the groups to know of, `+1234` and `-1234`, and kills those that are left when nothing more can come: the process
/// at the other end has ended.
fn watch(told: impl BufRead) {
    let mut groups = HashSet::new();
    for line in told.lines().map_while(Result::ok) {
        let Some((sign, number)) = line.split_at_checked(1) else { continue };
        let Some(group) = number.parse().ok().and_then(Pid::from_raw) else { continue };
        if sign == "+" {
            groups.insert(group);
        } else {
            groups.remove(&group);
        }
    }
    for group in groups {
        // It may have ended meanwhile.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// The process that watches over those that were started, once there is one.
static WATCHER: Mutex<Option<Watcher>> = Mutex::new(None);

/// It ends by itself when its input is closed.
struct Watcher {
    stdin: ChildStdin,
    _process: Child,
}

impl Watcher {
    fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        // A group of its own: what is typed at a terminal is not for it.
        command.arg(WATCH_FLAG).env_clear().process_group(0).current_dir("/");
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let stdin = process.stdin.take().ok_or_else(|| io::Error::other("it has no input"))?;
        Ok(Self { stdin, _process: process })
    }
}

/// Has a group watched over from now on. Without a watcher it is ended by its own end of things alone.
fn watch_over(program: &Path, group: Pid) {
    let mut watcher = WATCHER.lock();
    if watcher.is_none() {
        match Watcher::start(program) {
            Ok(started) => *watcher = Some(started),
            Err(error) => tracing::warn!(%error, "nobody watches over git"),
        }
    }
    tell(&mut watcher, '+', group);
}

/// A group has ended.
pub(super) fn ended(group: Pid) {
    tell(&mut WATCHER.lock(), '-', group);
}

fn tell(watcher: &mut Option<Watcher>, sign: char, group: Pid) {
    let Some(known) = watcher else { return };
    let line = format!("{sign}{}\n", group.as_raw_nonzero());
    if let Err(error) = known.stdin.write_all(line.as_bytes()) {
        // The next command gets another one.
        tracing::debug!(%error, "the process that watches git has ended");
        *watcher = None;
    }
}

/// A command to start, the program that watches over it, and who waits for it.
type Start = (Command, Option<PathBuf>, mpsc::SyncSender<io::Result<Child>>);

/// The way to the thread that starts processes.
static STARTER: Mutex<Option<mpsc::Sender<Start>>> = Mutex::new(None);

/// Starts a process on a thread that lives as long as this process. If a program is named that can watch over it, that is
/// told the process's group.
pub(super) fn start(command: Command, watcher: Option<PathBuf>) -> io::Result<Child> {
    let ended = || io::Error::other("the thread that starts processes has ended");
    let starter = {
        let mut starter = STARTER.lock();
        match &*starter {
            Some(starter) => starter.clone(),
            None => starter.insert(starting_thread()?).clone(),
        }
    };
    let (answer, started) = mpsc::sync_channel(1);
    starter.send((command, watcher, answer)).map_err(|_| ended())?;
    started.recv().map_err(|_| ended())?
}

fn starting_thread() -> io::Result<mpsc::Sender<Start>> {
    let (sender, commands) = mpsc::channel::<Start>();
    thread::Builder::new().name("starts git".to_owned()).spawn(move || {
        for (mut command, watcher, answer) in commands {
            let started = command.spawn();
            if let (Ok(child), Some(program)) = (&started, &watcher) {
                watch_over(program, Pid::from_child(child));
            }
            // Who asked may have gone: then the process ends when its pipes are closed.
            let _ = answer.send(started);
        }
    })?;
    Ok(sender)
}
