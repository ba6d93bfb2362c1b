//! Finds the commits that change how often a text occurs in files, as `git log -S` does, among commits that the caller
//! chooses. Files that only move are left out; merges are not looked at.

use std::{
    collections::VecDeque,
    num::NonZero,
    panic::resume_unwind,
    path::Path,
    thread::{self, available_parallelism},
};

use backstory_model::commit::{FileMode, RepoPath, Sha};

use super::command::{Cancel, GitError, GitProgram, Limits, NetworkAccess};

/// Longest text that is looked for, in bytes.
pub const MAX_TEXT: usize = 4096;
/// Largest file whose content is looked at, in bytes.
const MAX_FILE: u64 = 8 << 20;
/// Most processes of git at once.
const MAX_PROCESSES: usize = 4;
/// Fewer commits are not worth a process of their own.
const LEAST_OF_PROCESS: usize = 16;

/// A commit that changes how often a text occurs in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PickedCommit {
    /// The commit.
    pub sha: Sha,
    /// Those files.
    pub files: Vec<PickedFile>,
}

/// A file in which a text occurs more or less often after a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PickedFile {
    /// Path before the commit; of an added file, after it.
    pub old_path: RepoPath,
    /// Path after the commit; of a deleted file, before it.
    pub new_path: RepoPath,
    /// Content before; `None` if there was no such file.
    pub old: Option<Sha>,
    /// Content after; `None` if there is no such file.
    pub new: Option<Sha>,
}

/// Which of the commits change how often the text occurs in a file, in the order in which they are given. Of many, git
/// compares some on each core.
///
/// # Errors
/// Git fails, takes longer than the limits or writes more, or writes what cannot be read.
pub fn pick_commits(
    git: &GitProgram,
    clone: &Path,
    text: &str,
    commits: &[Sha],
    limits: Limits,
    cancel: &Cancel,
) -> Result<Vec<PickedCommit>, GitError> {
    let cores = available_parallelism().map_or(1, NonZero::get).min(MAX_PROCESSES);
    let of_each = commits.len().div_ceil(cores).max(LEAST_OF_PROCESS);
    thread::scope(|scope| {
        let parts =
            commits.chunks(of_each).map(|part| scope.spawn(move || pick_part(git, clone, text, part, limits, cancel)));
        let running: Vec<_> = parts.collect();
        let picked = running.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok(picked.collect::<Result<Vec<_>, _>>()?.concat())
    })
}

fn pick_part(
    git: &GitProgram,
    clone: &Path,
    text: &str,
    commits: &[Sha],
    limits: Limits,
    cancel: &Cancel,
) -> Result<Vec<PickedCommit>, GitError> {
    let input: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
    let command = git
        .command(Some(clone), NetworkAccess::Nothing, "diff-tree")
        .config("core.bigFileThreshold", &MAX_FILE.to_string())
        .args(["--stdin", "--root", "-r", "--raw", "-z", "--no-abbrev", "-M", "--no-textconv"])
        .arg(format!("-S{text}"));
    let output = command.run_with(input.into_bytes(), limits, cancel)?;
    parse(&output).ok_or_else(|| GitError::Failed {
        command: "diff-tree".to_owned(),
        status: "done".to_owned(),
        stderr: "what it writes is not understood".to_owned(),
    })
}

/// Paths of the text files of a commit in which a line of text occurs, below a path if one is given.
///
/// # Errors
/// Git fails, takes longer than the limits or writes more.
pub fn files_containing(
    git: &GitProgram,
    clone: &Path,
    commit: Sha,
    line: &str,
    below: Option<&str>,
    limits: Limits,
    cancel: &Cancel,
) -> Result<Vec<RepoPath>, GitError> {
    let command = git.command(Some(clone), NetworkAccess::Nothing, "grep");
    let command = command.args(["--files-with-matches", "-I", "--fixed-strings", "-z", "-e", line]);
    let command = command.arg(commit.to_string()).arg("--");
    // A path is no pattern.
    let command = command.args(below.map(|path| format!(":(literal){path}")));
    let output = match command.run(limits, cancel) {
        // There are none.
        Err(GitError::Failed { status, .. }) if status == "exit status: 1" => return Ok(Vec::new()),
        output => output?,
    };
    let prefix = format!("{commit}:");
    let paths = output.split(|byte| *byte == 0).filter_map(|path| path.strip_prefix(prefix.as_bytes()));
    Ok(paths.map(RepoPath::from_bytes).collect())
}

/// Reads what `diff-tree --stdin --raw -z` writes; `None` if it is something else.
fn parse(output: &[u8]) -> Option<Vec<PickedCommit>> {
    let mut fields: VecDeque<&[u8]> = output.split(|byte| *byte == 0).collect();
    let mut commits: Vec<PickedCommit> = Vec::new();
    while let Some(field) = fields.pop_front() {
        let Some(raw) = field.strip_prefix(b":") else {
            if field.is_empty() && fields.is_empty() {
                break;
            }
            commits.push(PickedCommit { sha: Sha::from_hex(field)?, files: Vec::new() });
            continue;
        };
        let mut words = raw.split(|byte| *byte == b' ');
        let modes = [FileMode::from_octal(words.next()?)?, FileMode::from_octal(words.next()?)?];
        let blobs = [Sha::from_hex(words.next()?)?, Sha::from_hex(words.next()?)?];
        let status = *words.next()?.first()?;
        let old_path = RepoPath::from_bytes(fields.pop_front()?);
        let new_path =
            if matches!(status, b'R' | b'C') { RepoPath::from_bytes(fields.pop_front()?) } else { old_path.clone() };
        if modes.iter().any(|mode| mode.is_submodule() || mode.is_symlink()) {
            continue;
        }
        let [old, new] = blobs.map(|blob| Some(blob).filter(|blob| blob.as_bytes().iter().any(|byte| *byte != 0)));
        // What a copy is made of stays.
        let old = old.filter(|_| status != b'C');
        commits.last_mut()?.files.push(PickedFile { old_path, new_path, old, new });
    }
    Some(commits)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::git::{command::GitSettings, fixture::Fixture};

    fn picked(origin: &Fixture, text: &str) -> Vec<(String, Vec<String>)> {
        let git = GitProgram::find(GitSettings::default()).unwrap();
        let commits: Vec<Sha> =
            origin.say(["rev-list", "--topo-order", "HEAD"]).lines().map(|sha| sha.parse().unwrap()).collect();
        let limits = Limits { time: Duration::from_secs(60), output: 1 << 20 };
        let found = pick_commits(&git, &origin.git_dir(), text, &commits, limits, &Cancel::default()).unwrap();
        let describe = |file: PickedFile| {
            let sign = |side: Option<Sha>| if side.is_some() { "+" } else { "-" };
            format!("{}{} {}{}", sign(file.old), file.old_path.as_str(), sign(file.new), file.new_path.as_str())
        };
        let title = |sha: Sha| origin.say(["log", "-1", "--format=%s", &sha.to_string()]);
        found.into_iter().map(|commit| (title(commit.sha), commit.files.into_iter().map(describe).collect())).collect()
    }

    #[test]
    fn picks_what_git_log_picks() {
        let mut origin = Fixture::new();
        let text = |line: &str| format!("one\ntwo\nthree\nfour\nfive\n{line}six\n");
        origin.write("src/a b.c", text("timeout = 30;\n"));
        origin.commit_all("Begin");
        origin.git(["mv", "src/a b.c", "src/moved.c"]);
        origin.commit_all("Move the file");
        origin.write("src/other.c", "nothing\n");
        origin.commit_all("Something else");
        origin.write("src/moved.c", text("")).write("lib.c", "timeout = 30;\n");
        origin.commit_all("Move the line");
        origin.write("lib.c", "timeout = 45;\n");
        origin.commit_all("Raise it");
        let at = |title: &str, files: &[&str]| {
            (title.to_owned(), files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            picked(&origin, "timeout = 30;"),
            [
                at("Raise it", &["+lib.c +lib.c"]),
                at("Move the line", &["-lib.c +lib.c", "+src/moved.c +src/moved.c"]),
                at("Begin", &["-src/a b.c +src/a b.c"]),
            ]
        );
        let log = origin.say(["log", "--format=%s", "-Stimeout = 30;"]);
        assert_eq!(log.lines().collect::<Vec<_>>(), ["Raise it", "Move the line", "Begin"]);
        assert_eq!(picked(&origin, "absent"), []);
        // Texts that look like options or patterns are texts.
        assert_eq!(picked(&origin, "-45.*"), []);
    }

    #[test]
    fn lines_are_found_in_the_files_of_a_commit() {
        let mut origin = Fixture::new();
        origin.write("a.c", "x = [1];\n").write("dir/b.c", "x = [1];\n").write("logo", b"x = [1];\0");
        let commit = origin.commit_all("Begin");
        origin.remove("a.c");
        origin.commit_all("End");
        let git = GitProgram::find(GitSettings::default()).unwrap();
        let limits = Limits { time: Duration::from_secs(60), output: 1 << 20 };
        let find = |line: &str, below: Option<&str>| {
            let found = files_containing(&git, &origin.git_dir(), commit, line, below, limits, &Cancel::default());
            found.unwrap().iter().map(|path| path.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(find("x = [1];", None), ["a.c", "dir/b.c"]);
        assert_eq!(find("x = [1];", Some("dir")), ["dir/b.c"]);
        assert_eq!(find("x = [1];", Some("*")), Vec::<String>::new());
        assert_eq!(find("absent", None), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_git_s_output_is_refused() {
        assert_eq!(parse(b""), Some(vec![]));
        for wrong in [&b"x\0"[..], b":100644\0", b":100644 100644 a b M\0a\0"] {
            assert_eq!(parse(wrong), None);
        }
    }
}
