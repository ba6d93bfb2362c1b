//! Starts git: this program runs itself again, limits itself, and becomes git.
//!
//! Limits of a process can only be set from inside it, and what runs between a fork and the program that follows would be
//! unsafe code. So the program named by [`GitSettings::child`](super::command::GitSettings::child) is started with
//! [`FLAG`], calls [`become_git`], and is replaced by git with these limits:
//!
//! - Its data (heap, stacks, private memory that can be written) is bounded by `RLIMIT_DATA`. Packs that are mapped do not
//!   count; the configuration of every command bounds those.
//! - On Linux it is killed when the thread ends that started it. [`start`] therefore starts all of them on one thread that
//!   lives as long as this process. Elsewhere a process whose parent was killed runs until its pipes break or its time is up.

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command},
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use rustix::process::{Resource, Rlimit, getppid, getrlimit, setrlimit};

/// First argument of a program that is to become git.
const FLAG: &str = "--git-child";

/// A command that becomes the given one with at most that many bytes of data.
pub(super) fn bounded(child: &Path, git: &Command, memory: u64) -> Command {
    let mut command = Command::new(child);
    command.arg(FLAG).arg(std::process::id().to_string()).arg(memory.to_string());
    command.arg(git.get_program()).args(git.get_args()).env_clear();
    command.envs(git.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// Becomes git if the arguments of this process ask for that; then it returns only what went wrong. To be called before
/// anything else is done.
pub fn become_git(arguments: impl IntoIterator<Item = OsString>) -> Option<io::Error> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != FLAG {
        return None;
    }
    let mut number = || arguments.next()?.to_str()?.parse::<u64>().ok();
    let (Some(parent), Some(memory)) = (number(), number()) else {
        return Some(io::Error::other(format!("{FLAG} is for backstory itself")));
    };
    let Some(git) = arguments.next() else { return Some(io::Error::other("there is no program to become")) };
    if let Err(error) = bound(parent, memory) {
        return Some(error);
    }
    let error = Command::new(&git).args(arguments).exec();
    Some(io::Error::new(error.kind(), format!("'{}' cannot be run: {error}", git.display())))
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

/// A command to start, and who waits for it.
type Start = (Command, mpsc::SyncSender<io::Result<Child>>);

/// The way to the thread that starts processes.
static STARTER: Mutex<Option<mpsc::Sender<Start>>> = Mutex::new(None);

/// Starts a process on a thread that lives as long as this process.
pub(super) fn start(command: Command) -> io::Result<Child> {
    let ended = || io::Error::other("the thread that starts processes has ended");
    let starter = {
        let mut starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
        match &*starter {
            Some(starter) => starter.clone(),
            None => starter.insert(starting_thread()?).clone(),
        }
    };
    let (answer, started) = mpsc::sync_channel(1);
    starter.send((command, answer)).map_err(|_| ended())?;
    started.recv().map_err(|_| ended())?
}

fn starting_thread() -> io::Result<mpsc::Sender<Start>> {
    let (sender, commands) = mpsc::channel::<Start>();
    thread::Builder::new().name("starts git".to_owned()).spawn(move || {
        for (mut command, answer) in commands {
            // Who asked may have gone: then the process ends when its pipes are closed.
            let _ = answer.send(command.spawn());
        }
    })?;
    Ok(sender)
}
