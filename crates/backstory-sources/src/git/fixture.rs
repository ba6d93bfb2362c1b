//! Makes small repositories for tests with the `git` command: fixed people and dates, so fixed object names.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use backstory_model::commit::Sha;
use tempfile::TempDir;

/// Seconds since the epoch of the first commit: 2024-01-01T00:00:00Z. Each further one is an hour later.
pub const FIRST_COMMIT_AT: i64 = 1_704_067_200;

/// A repository with a working tree in a temporary directory.
///
/// Everything panics on failure: a test that cannot make its repository has nothing to say.
#[derive(Debug)]
pub struct Fixture {
    dir: TempDir,
    clock: i64,
    author: (String, String),
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new()
    }
}

impl Fixture {
    /// An empty repository whose branch is `main`.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let author = ("Ada Lovelace".to_owned(), "ada@example.com".to_owned());
        let fixture = Self { dir, clock: FIRST_COMMIT_AT, author };
        fixture.git(["init", "--quiet", "--initial-branch=main", "--template=", "."]);
        fixture
    }

    /// Where the working tree is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where the repository itself is.
    pub fn git_dir(&self) -> PathBuf {
        self.dir.path().join(".git")
    }

    /// Who writes the next commits.
    pub fn author(&mut self, name: &str, email: &str) -> &mut Self {
        self.author = (name.to_owned(), email.to_owned());
        self
    }

    /// Sets the clock, in seconds since the epoch.
    pub fn at(&mut self, seconds: i64) -> &mut Self {
        self.clock = seconds;
        self
    }

    /// A git command in the repository, with the clock, author and nothing of the user's configuration.
    pub fn command(&self) -> Command {
        let mut command = Command::new("git");
        let date = format!("{} +0130", self.clock);
        command.current_dir(self.path());
        for (name, value) in [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", &self.author.0),
            ("GIT_AUTHOR_EMAIL", &self.author.1),
            ("GIT_AUTHOR_DATE", &date),
            ("GIT_COMMITTER_NAME", "Charles Babbage"),
            ("GIT_COMMITTER_EMAIL", "charles@example.com"),
            ("GIT_COMMITTER_DATE", &date),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "protocol.file.allow"),
            ("GIT_CONFIG_VALUE_0", "always"),
        ] {
            command.env(name, value);
        }
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs git and returns what it wrote.
    pub fn git<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Vec<u8> {
        self.git_with(arguments, b"")
    }

    /// Runs git with an input and returns what it wrote.
    pub fn git_with<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Vec<u8> {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("git can be run");
        let mut stdin = child.stdin.take().expect("the input is piped");
        let input = input.to_owned();
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("git ends");
        writer.join().expect("the input is written");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Like [`git`](Self::git), as text without the line end.
    pub fn say<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> String {
        String::from_utf8(self.git(arguments)).expect("the output is UTF-8").trim_end().to_owned()
    }

    /// The object that a name stands for.
    pub fn sha(&self, name: &str) -> Sha {
        self.say(["rev-parse", "--verify", name]).parse().expect("rev-parse gives an object name")
    }

    /// Writes a file of the working tree. The path is as git has it, in bytes.
    pub fn write(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(OsStr::from_bytes(path.as_ref()));
        fs::create_dir_all(path.parent().expect("the path is below the working tree"))
            .expect("directories can be made");
        fs::write(path, content).expect("the file can be written");
        self
    }

    /// Removes a file of the working tree.
    pub fn remove(&self, path: impl AsRef<[u8]>) -> &Self {
        fs::remove_file(self.path().join(OsStr::from_bytes(path.as_ref()))).expect("the file is there");
        self
    }

    /// Commits the whole working tree, even if nothing has changed, and moves the clock on.
    pub fn commit_all(&mut self, message: impl AsRef<[u8]>) -> Sha {
        self.git(["add", "--all"]);
        self.commit_index(message, &[])
    }

    /// Commits what is in the index as a merge of the given further parents.
    pub fn commit_index(&mut self, message: impl AsRef<[u8]>, more_parents: &[Sha]) -> Sha {
        let tree = self.say(["write-tree"]);
        let mut arguments = vec!["commit-tree".to_owned(), tree];
        let head = self.command().args(["rev-parse", "--verify", "--quiet", "HEAD"]).output().expect("git can be run");
        if head.status.success() {
            arguments.extend(["-p".to_owned(), String::from_utf8_lossy(&head.stdout).trim().to_owned()]);
        }
        for parent in more_parents {
            arguments.extend(["-p".to_owned(), parent.to_string()]);
        }
        let sha = String::from_utf8(self.git_with(arguments, message.as_ref())).expect("an object name is ASCII");
        let sha: Sha = sha.trim().parse().expect("commit-tree gives an object name");
        self.git(["update-ref", "HEAD", &sha.to_string()]);
        self.clock += 3600;
        sha
    }

    /// Writes an object as it is, valid or not, and returns its name.
    pub fn raw_object(&self, kind: &str, content: impl AsRef<[u8]>) -> Sha {
        let arguments = ["hash-object", "-t", kind, "-w", "--literally", "--stdin"];
        let sha = String::from_utf8(self.git_with(arguments, content.as_ref())).expect("an object name is ASCII");
        sha.trim().parse().expect("hash-object gives an object name")
    }

    /// Puts a file of any mode into the index, without the working tree: a submodule, for one.
    pub fn index(&self, mode: &str, id: Sha, path: &str) -> &Self {
        self.git(["update-index", "--add", "--cacheinfo", &format!("{mode},{id},{path}")]);
        self
    }

    /// Goes to another branch, made from HEAD if it is new.
    pub fn switch(&self, branch: &str) -> &Self {
        let known = self.command().args(["rev-parse", "--verify", "--quiet", branch]).output().expect("git can be run");
        let make: &[&str] = if known.status.success() { &[] } else { &["--create"] };
        self.git([&["switch", "--quiet"], make, &[branch]].concat());
        self
    }

    /// Overwrites the bytes of a loose object with something that is no object.
    pub fn corrupt(&self, id: Sha) -> &Self {
        let hex = id.to_string();
        let file = self.git_dir().join("objects").join(&hex[..2]).join(&hex[2..]);
        fs::remove_file(&file).expect("the object is loose");
        fs::write(file, b"this is not an object").expect("the object can be written");
        self
    }
}
