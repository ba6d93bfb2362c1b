//! Histories of every odd shape: read step by step they say the same as read at once, and nothing is wrong with them.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use backstory_engine::{
    Scope,
    ledger::Branches,
    model::commit::Sha,
    repository::{AddRequest, RemoveRepository},
};

use crate::support::{FIRST_COMMIT_AT, Indexed, Origin, PROJECT, names};

/// One data directory with the default branch of an origin and one with all its branches.
struct Both {
    default: Indexed,
    all: Indexed,
}

impl Both {
    async fn of(origin: &Path) -> Self {
        Self {
            default: Indexed::cold(origin, Branches::Default).await,
            all: Indexed::cold(origin, Branches::All).await,
        }
    }

    async fn sync(&self) {
        self.default.sync().await;
        self.all.sync().await;
    }

    async fn equal_cold(&self, origin: &Path, when: &str) {
        self.default.equals_cold(origin, &format!("default branch, {when}")).await;
        self.all.equals_cold(origin, &format!("all branches, {when}")).await;
    }
}

fn rust(name: &str, body: &str) -> String {
    format!(
        "/// Does {name}.\npub fn {name}(input: &str) -> String {{\n    let trimmed = input.trim();\n    {body}\n}}\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn merges_of_every_kind() {
    let mut origin = Origin::new();
    origin.write("src/a.rs", rust("first", "trimmed.to_owned()")).commit_all("Begin");
    let both = Both::of(origin.path()).await;
    // An octopus.
    let mut tips = Vec::new();
    for name in ["one", "two", "three"] {
        origin.git(["switch", "--quiet", "main"]);
        origin.switch(name);
        origin.write(format!("src/{name}.rs"), rust(name, "trimmed.to_uppercase()"));
        tips.push(origin.commit_all(format!("Add {name}")));
        both.sync().await;
    }
    origin.git(["switch", "--quiet", "main"]);
    origin.git(["read-tree", "-m", "-u", "one"]);
    for name in ["two", "three"] {
        origin.git(["checkout", name, "--", &format!("src/{name}.rs")]);
    }
    origin.commit_index("Merge branches 'one', 'two' and 'three'", &tips);
    origin.git(["checkout", "--quiet", "--force", "main"]);
    both.sync().await;
    // Nothing changes.
    origin.commit_all("Nothing to see");
    both.sync().await;
    // A history with a root of its own.
    origin.git(["switch", "--quiet", "--orphan", "island"]);
    let island = origin.write("island.py", "def palm():\n    return 'coconut'\n").commit_all("Another beginning");
    both.sync().await;
    origin.git(["switch", "--quiet", "main"]);
    origin.git(["checkout", "island", "--", "island.py"]);
    origin.commit_index("Merge the island", &[island]);
    both.sync().await;
    // A merge that changes lines of its own.
    origin.switch("evil");
    let evil = origin.write("src/a.rs", rust("first", "trimmed.to_lowercase()")).commit_all("Lower");
    origin.git(["switch", "--quiet", "main"]);
    origin.write("src/a.rs", rust("first", "trimmed.repeat(2)")).commit_all("Twice");
    both.sync().await;
    origin.write("src/a.rs", rust("first", "trimmed.to_lowercase().repeat(2)"));
    origin.git(["add", "--all"]);
    origin.commit_index("Merge branch 'evil'", &[evil]);
    both.sync().await;
    both.equal_cold(origin.path(), "merges").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_whose_times_do_not_tell_their_order() {
    let mut origin = Origin::new();
    origin.write("src/a.rs", rust("first", "trimmed.to_owned()")).commit_all("Begin");
    let both = Both::of(origin.path()).await;
    let at = FIRST_COMMIT_AT;
    for (step, time) in [at, at, at - 86_400, at + 10 * 86_400, at + 1].into_iter().enumerate() {
        origin.at(time);
        origin.switch("feature").write("src/b.rs", rust("second", &format!("trimmed.repeat({step})")));
        let tip = origin.commit_all(format!("Step {step}"));
        origin.git(["switch", "--quiet", "main"]);
        origin.git(["checkout", "feature", "--", "src/b.rs"]);
        origin.at(time);
        origin.commit_index(format!("Merge step {step}"), &[tip]);
        both.sync().await;
    }
    both.equal_cold(origin.path(), "clocks").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_every_kind() {
    let mut origin = Origin::new();
    origin
        .write("src/a.rs", rust("first", "trimmed.to_owned()"))
        .write("README.md", "# Tool\n\nA tool.\n")
        .commit_all("Begin");
    let both = Both::of(origin.path()).await;
    // Renamed with an edit, then back.
    origin.git(["mv", "src/a.rs", "src/b.rs"]);
    origin.write("src/b.rs", rust("first", "trimmed.to_owned() + \"!\"")).commit_all("Rename");
    both.sync().await;
    origin.git(["mv", "src/b.rs", "src/a.rs"]);
    origin.commit_all("Rename back");
    both.sync().await;
    // Only the mode.
    origin.write("run.sh", "#!/bin/sh\nset -eu\nexec tool \"$@\"\n").commit_all("A script");
    origin.git(["update-index", "--chmod=+x", "run.sh"]);
    origin.commit_index("Make it executable", &[]);
    origin.git(["checkout", "--quiet", "--force", "main"]);
    both.sync().await;
    // A file becomes a symbolic link, a directory, a submodule, and a file again.
    origin.write("thing", "a file\n").commit_all("A file");
    both.sync().await;
    fs::remove_file(origin.path().join("thing")).unwrap();
    symlink("src/a.rs", origin.path().join("thing")).unwrap();
    origin.commit_all("A link");
    both.sync().await;
    fs::remove_file(origin.path().join("thing")).unwrap();
    origin.write("thing/inside.rs", rust("inside", "trimmed.to_owned()")).commit_all("A directory");
    both.sync().await;
    fs::remove_dir_all(origin.path().join("thing")).unwrap();
    origin.git(["rm", "--quiet", "--cached", "-r", "thing"]);
    let elsewhere: Sha = "1111111111111111111111111111111111111111".parse().unwrap();
    origin.write(".gitmodules", "[submodule \"thing\"]\n\tpath = thing\n\turl = https://example.com/thing\n");
    origin.git(["add", ".gitmodules"]);
    origin.index("160000", elsewhere, "thing").commit_index("A submodule", &[]);
    both.sync().await;
    let moved: Sha = "2222222222222222222222222222222222222222".parse().unwrap();
    origin.index("160000", moved, "thing").commit_index("A newer submodule", &[]);
    both.sync().await;
    origin.git(["rm", "--quiet", "--cached", "thing"]);
    origin.write("thing", "a file\nonce more\n").commit_all("A file again");
    both.sync().await;
    both.equal_cold(origin.path(), "kinds of files").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_and_names_of_every_kind() {
    let mut origin = Origin::new();
    origin.write("dos.py", "def dos():\r\n    return 1\r\n").write("no_end", "no line end").write("empty", "");
    origin.commit_all("Begin\r\n\r\nWith carriage returns.\r\n");
    let both = Both::of(origin.path()).await;
    origin.write("dos.py", "def dos():\r\n    return 2\r\n").commit_all("Two");
    both.sync().await;
    // Line ends only: no line changes hands.
    origin.write("dos.py", "def dos():\n    return 2\n").commit_all("Unix");
    both.sync().await;
    // Names and messages in other encodings.
    origin
        .write(b"src/caf\xe9.c", "int caf(void)\n{\n    return 1;\n}\n")
        .write("src/ü ö#~1%.rs", rust("odd", "trimmed.into()"));
    origin
        .author("J\u{fc}rgen <\u{1f600}>", "JUERGEN@Example.COM")
        .commit_all(b"Umlauts: \xfc\xf6 \xff\xfe and a NUL-less end".as_slice());
    both.sync().await;
    origin.write(b"src/caf\xe9.c", "int caf(void)\n{\n    return 2;\n}\n");
    origin.author("Nobody", "").commit_all("");
    both.sync().await;
    origin.git(["mv", "src/ü ö#~1%.rs", "src/plain.rs"]);
    origin.author("Ada Lovelace", "ada@example.com").commit_all("A plain name");
    both.sync().await;
    // Bytes that are no text, and very many lines.
    origin.write("image.bin", [0u8, 159, 146, 150, 0, 255].repeat(100)).commit_all("An image");
    let many: String = (0..50_000).map(|line| format!("{} = {line}\n", ["alpha", "beta", "gamma"][line % 3])).collect();
    origin.write("many.txt", &many).commit_all("Fifty thousand lines");
    both.sync().await;
    origin.write("many.txt", many.replace("beta = 25000\n", "beta = changed\n").replace("= 31000\n", "= other\n"));
    origin.write("image.bin", "now it is text\n").commit_all("Two of them change");
    both.sync().await;
    // An abbreviated name of a commit that is known only later.
    origin.switch("side");
    let side = origin.write("side.txt", "side\n").commit_all("On the side").to_string();
    origin.git(["switch", "--quiet", "main"]);
    origin.write("picked.txt", "side\n").commit_all(format!("On main\n\n(cherry picked from commit {})", &side[..10]));
    both.sync().await;
    origin.git(["checkout", "side", "--", "side.txt"]);
    origin.commit_index("Merge branch 'side'", &[side.parse().unwrap()]);
    both.sync().await;
    both.equal_cold(origin.path(), "contents and names").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn references_of_every_kind() {
    let mut origin = Origin::new();
    let root = origin.write("src/a.rs", rust("first", "trimmed.to_owned()")).commit_all("Begin");
    let both = Both::of(origin.path()).await;
    origin.git(["tag", "light"]);
    origin.git(["tag", "-a", "-m", "The first release", "v1.0"]);
    origin.git(["tag", "-a", "-m", "A tag of a tag", "of-tag", "v1.0"]);
    origin.git(["tag", "blob", "HEAD:src/a.rs"]);
    origin.git(["tag", "tree", "HEAD^{tree}"]);
    origin.git(["tag", "-a", "-m", "A tree, annotated", "annotated-tree", "HEAD^{tree}"]);
    both.sync().await;
    // A tag on what no branch reaches.
    origin.switch("gone");
    origin.write("gone.txt", "gone\n").commit_all("Only a tag reaches it");
    origin.git(["tag", "kept"]);
    origin.git(["switch", "--quiet", "main"]);
    origin.git(["branch", "-D", "--quiet", "gone"]);
    both.sync().await;
    // A branch becomes a directory of branches and the other way round.
    origin.git(["branch", "topic"]);
    both.sync().await;
    origin.git(["branch", "-D", "--quiet", "topic"]);
    origin.switch("topic/one");
    origin.write("one.txt", "1\n").commit_all("One");
    both.sync().await;
    origin.git(["branch", "topic/two", &root.to_string()]);
    both.sync().await;
    origin.git(["switch", "--quiet", "main"]);
    origin.git(["merge", "--quiet", "--ff-only", "topic/one"]);
    origin.git(["branch", "-D", "--quiet", "topic/one", "topic/two"]);
    origin.git(["branch", "topic"]);
    both.sync().await;
    // Tags move and go away.
    origin.write("src/a.rs", rust("first", "trimmed.to_uppercase()")).commit_all("Upper");
    origin.git(["tag", "--force", "light"]);
    origin.git(["tag", "-d", "blob"]);
    both.sync().await;
    assert_eq!(both.all.marked(), names(&[]));
    both.equal_cold(origin.path(), "references").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn default_branch_moves_to_another() {
    let mut origin = Origin::new();
    origin.write("src/a.rs", rust("first", "trimmed.to_owned()")).write("only-main.txt", "old\n").commit_all("Begin");
    let side = origin.switch("side").sha("HEAD");
    origin.git(["switch", "--quiet", "main"]);
    origin.write(".mailmap", "Ada <ada@example.com> <ada@old.example.com>\n").commit_all("Names");
    origin.git(["switch", "--quiet", "side"]);
    let one = origin
        .write("src/a.rs", rust("first", "trimmed.repeat(3)"))
        .author("Ada L", "ada@old.example.com")
        .commit_all("Thrice");
    origin.git(["switch", "--quiet", "main"]);
    origin.commit_index("Merge branch 'side'", &[one]);
    origin.git(["checkout", "--quiet", "--force", "main"]);
    let both = Both::of(origin.path()).await;
    assert_ne!(side, one);
    origin.git(["switch", "--quiet", "side"]);
    both.all.sync().await;
    both.all.equals_cold(origin.path(), "side is the default branch").await;
    origin.write("src/b.rs", rust("second", "trimmed.repeat(4)")).commit_all("Second");
    both.all.sync().await;
    // HEAD points at a commit, at nothing, and at main again.
    origin.git(["checkout", "--quiet", "--detach", "main"]);
    both.all.sync().await;
    both.all.equals_cold(origin.path(), "HEAD is detached").await;
    origin.git(["symbolic-ref", "HEAD", "refs/heads/nowhere"]);
    both.all.sync().await;
    both.all.equals_cold(origin.path(), "HEAD points nowhere").await;
    origin.git(["symbolic-ref", "HEAD", "refs/heads/main"]);
    both.sync().await;
    both.equal_cold(origin.path(), "main again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn default_branch_moves_on_to_what_was_elsewhere() {
    let mut origin = Origin::new();
    origin.write("src/a.rs", rust("first", "trimmed.to_owned()")).commit_all("Begin");
    origin.switch("ahead");
    origin.write("src/b.rs", rust("second", "trimmed.to_owned()")).commit_all("Second");
    origin.git(["switch", "--quiet", "main"]);
    let both = Both::of(origin.path()).await;
    // No commit is new to who has all branches.
    origin.git(["merge", "--quiet", "--ff-only", "ahead"]);
    both.sync().await;
    both.equal_cold(origin.path(), "fast-forward").await;
    // Other branches wait, and the default one is another that descends from it.
    origin.switch("next");
    origin.write("src/c.rs", rust("third", "trimmed.to_owned()")).commit_all("Third");
    both.sync().await;
    both.equal_cold(origin.path(), "next is the default branch").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_to_read_is_said_and_the_first_commit_is_read() {
    let mut origin = Origin::new();
    let indexed = Indexed::added(origin.path(), Branches::Default).await;
    let error = indexed.try_sync(Scope::New).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "acme/tool has no commit on any branch yet; there is nothing to index before the first one; the repository was \
         not kept, so add it again when that is put right"
    );
    indexed.check().await;
    origin.write("a.txt", "a\n").commit_all("Begin");
    indexed.add(origin.path(), "acme/tool", Branches::Default).await.unwrap();
    indexed.sync().await;
    indexed.equals_cold(origin.path(), "the first commit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shallow_origin_becomes_deeper() {
    let mut whole = Origin::new();
    for step in 0..6 {
        let body = format!("trimmed.repeat({step})");
        whole.write("src/a.rs", rust("first", &body)).write(format!("src/f{step}.rs"), rust("other", &body));
        whole.commit_all(format!("Step {step}"));
    }
    let directory = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(directory.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(command.args(["-c", "protocol.file.allow=always"]).args(arguments).status().unwrap().success());
    };
    git(&["clone", "--quiet", "--depth=2", &format!("file://{}", whole.path().display()), "shallow"]);
    let origin = directory.path().join("shallow");
    let indexed = Indexed::cold(&origin, Branches::Default).await;
    indexed.equals_cold(&origin, "two commits").await;
    whole.write("src/a.rs", rust("first", "String::new()")).commit_all("One more");
    git(&["-C", "shallow", "pull", "--quiet", "--ff-only"]);
    indexed.sync().await;
    indexed.equals_cold(&origin, "one more").await;
    git(&["-C", "shallow", "fetch", "--quiet", "--deepen=2"]);
    indexed.sync().await;
    indexed.equals_cold(&origin, "two more below").await;
    git(&["-C", "shallow", "fetch", "--quiet", "--unshallow"]);
    indexed.sync().await;
    indexed.equals_cold(&origin, "all of it").await;
}

/// All commits before the boundary were said to be on no branch any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_depth_that_comes_later_rewrites_no_history() {
    let mut origin = Origin::new();
    for step in 0..5 {
        origin.write("src/a.rs", rust("first", &format!("trimmed.repeat({step})"))).commit_all(format!("Step {step}"));
    }
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let address = origin.path().display().to_string();
    let of_depth = |depth| {
        let (address, name) = (address.clone(), Some(PROJECT.to_owned()));
        indexed.engine.answer(AddRequest { address, name, depth: Some(depth), ..AddRequest::default() })
    };
    for depth in [2, 1, 0] {
        of_depth(depth).await.unwrap();
        indexed.sync().await;
        assert_eq!(indexed.marked(), [""; 0], "depth {depth}");
    }
    indexed.equals_cold(origin.path(), "all of it again").await;
    // What is left behind is marked all the same.
    of_depth(2).await.unwrap();
    indexed.sync().await;
    origin.git(["reset", "--quiet", "--hard", "HEAD~1"]);
    origin.write("src/a.rs", rust("first", "String::new()")).commit_all("Another fifth");
    indexed.sync().await;
    assert_eq!(indexed.marked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_stays_of_a_repository_that_is_removed() {
    let (mut one, mut other) = (Origin::new(), Origin::new());
    one.write("a.rs", rust("a", "trimmed.to_owned()")).commit_all("One");
    other.author("Grace Hopper", "grace@example.com");
    other.write("b.rs", rust("b", "trimmed.to_owned()")).commit_all("Other");
    let indexed = Indexed::cold(one.path(), Branches::Default).await;
    let before = indexed.said().await;
    indexed.add(other.path(), "acme/other", Branches::Default).await.unwrap();
    indexed.sync().await;
    indexed.check().await;
    indexed.engine.answer(RemoveRepository { project: "acme/other".to_owned() }).await.unwrap();
    before.same_as(&indexed.said().await, "the other is removed");
    indexed.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_replaced_before_they_are_stored() {
    let secret = format!("{}{}", "glpat", "-Zx9Kq2LmN4pR7sT1vW3y");
    let mut origin = Origin::new();
    origin.write("config.py", format!("TOKEN = '{secret}'\n")).commit_all(format!("Use {secret} for now"));
    origin.author(&format!("Ada {secret}"), "ada@example.com");
    origin.write("config.py", format!("TOKEN = '{secret}'  # rotate\n")).commit_all("Rotate");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let shown = indexed.said().await;
    let names = &shown.items["acme/tool identity ada@example.com"]["names"];
    assert_eq!(names.as_array().unwrap().len(), 2, "{names}");
    let Indexed { data, engine } = indexed;
    drop(engine);
    // Payloads are compressed, so the ledger is read and not its file.
    let said = serde_json::to_string(&shown.items).unwrap();
    assert!(said.contains("[redacted:") && !said.contains(&secret), "{said}");
    let mut directories = vec![data.path().join("graph"), data.path().join("index")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{}", path.display());
        }
    }
}
