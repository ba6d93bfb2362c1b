//! A long scripted history, read after each of its steps.

use backstory_engine::ledger::Branches;

use super::{Reached, compare};
use crate::support::{Indexed, Origin, names};

/// How often everything is compared with a fresh data directory.
const EVERY: usize = 10;

/// A function long enough to be known again elsewhere.
fn function(name: &str, factor: u32) -> String {
    format!(
        "/// Scales by {factor}, because the sensor counts in parts of {factor}.\npub fn {name}(value: u32) -> u32 {{\n    \
         let scaled = value.saturating_mul({factor});\n    let rounded = (scaled + 50) / 100;\n    rounded.min(MAX)\n}}\n"
    )
}

fn file(functions: &[(&str, u32)]) -> String {
    let functions: Vec<String> = functions.iter().map(|(name, factor)| function(name, *factor)).collect();
    format!("const MAX: u32 = 1000;\n\n{}", functions.join("\n"))
}

/// The origin and what its steps share.
struct Story {
    origin: Origin,
}

impl Story {
    fn on(&mut self, branch: &str) -> &mut Self {
        self.origin.switch(branch);
        self
    }

    fn as_person(&mut self, name: &str, email: &str) -> &mut Self {
        self.origin.author(name, email);
        self
    }

    fn put(&mut self, path: &str, content: impl AsRef<[u8]>) -> &mut Self {
        self.origin.write(path, content);
        self
    }

    fn moved(&mut self, from: &str, to: &str) -> &mut Self {
        std::fs::create_dir_all(self.origin.path().join(to).parent().unwrap()).unwrap();
        self.origin.git(["mv", from, to]);
        self
    }

    fn commit(&mut self, message: &str) -> String {
        self.origin.commit_all(message).to_string()
    }

    /// Merges a branch into the one that is checked out; where both changed a file, theirs is taken.
    fn merge(&mut self, branch: &str, message: &str) {
        let other = self.origin.sha(branch);
        self.origin.git(["merge", "--quiet", "--no-ff", "--no-commit", "-X", "theirs", branch]);
        self.origin.commit_index(message, &[other]);
        self.origin.git(["reset", "--quiet", "--hard"]);
    }

    fn reset(&mut self, to: &str) {
        self.origin.git(["reset", "--quiet", "--hard", to]);
    }

    fn named(&self, rev: &str) -> String {
        self.origin.sha(rev).to_string()
    }

    fn git(&mut self, arguments: &[&str]) {
        self.origin.git(arguments);
    }
}

type Step = fn(&mut Story);

const STEPS: &[(&str, Step)] = &[
    ("two files", |s| {
        s.put("src/scale.rs", file(&[("scale", 3), ("shrink", 5)])).put("README.md", "# Tool\n\nScales.\n");
        s.commit("Begin\n\nScaling is done in whole numbers, because the device has no floating point unit.");
    }),
    ("a third", |s| {
        s.put("src/grow.rs", file(&[("grow", 7)])).commit("Add grow, see #1");
    }),
    ("a test", |s| {
        s.put("tests/scale.rs", "use tool::scale;\n\n#[test]\nfn scales() {\n    assert_eq!(scale(100), 3);\n}\n");
        s.commit("Test scale");
    }),
    ("one function changes", |s| {
        s.put("src/scale.rs", file(&[("scale", 4), ("shrink", 5)])).commit("fix: scale by four\n\nFixes #2");
    }),
    ("work on a branch", |s| {
        s.on("feature").put("src/scale.rs", file(&[("scale", 4), ("shrink", 6)])).commit("Shrink more");
    }),
    ("more work on it", |s| {
        s.as_person("Grace Hopper", "grace@example.com").put("src/new.rs", file(&[("fresh", 9)]));
        s.commit("Add fresh");
    }),
    ("main goes on", |s| {
        s.on("main").put("src/grow.rs", file(&[("grow", 8)])).commit("Grow by eight");
    }),
    ("merged as GitLab does", |s| {
        s.merge(
            "feature",
            "Merge branch 'feature' into 'main'\n\nShrink more\n\nCloses #3\n\nSee merge request acme/tool!4",
        );
    }),
    ("the branch goes away", |s| s.git(&["branch", "-D", "--quiet", "feature"])),
    ("a rename", |s| {
        s.moved("src/grow.rs", "src/growth/grow.rs").commit("Move grow into a directory");
    }),
    ("a rename with a change", |s| {
        s.moved("src/new.rs", "src/fresh.rs").put("src/fresh.rs", file(&[("fresh", 10)])).commit("Rename new");
    }),
    ("a function moves to another file", |s| {
        s.put("src/scale.rs", file(&[("scale", 4)])).put("src/shrink.rs", file(&[("shrink", 6)]));
        s.commit("Give shrink a file of its own");
    }),
    ("a revert", |s| {
        let last = s.named("HEAD");
        s.put("src/scale.rs", file(&[("scale", 4), ("shrink", 6)]));
        s.origin.remove("src/shrink.rs");
        s.commit(&format!("Revert \"Give shrink a file of its own\"\n\nThis reverts commit {last}."));
    }),
    ("the revert is reverted", |s| {
        let last = s.named("HEAD");
        s.put("src/scale.rs", file(&[("scale", 4)])).put("src/shrink.rs", file(&[("shrink", 6)]));
        s.commit(&format!("Reapply\n\nThis reverts commit {}.", &last[..9]));
    }),
    ("nothing changes", |s| drop(s.commit("Trigger the build"))),
    ("two branches at once", |s| {
        s.on("left").put("left.txt", "left\n").commit("Left");
        s.git(&["switch", "--quiet", "main"]);
        s.on("right").put("right.txt", "right\n").commit("Right");
        s.git(&["switch", "--quiet", "main"]);
    }),
    ("merged as GitHub does", |s| s.merge("left", "Merge pull request #5 from acme/left\n\nLeft")),
    ("and the other", |s| s.merge("right", "Merge branch 'right' into 'main'\n\nRight\n\nSee merge request !6")),
    ("squashed", |s| {
        s.put("src/squash.rs", file(&[("squash", 2)])).commit("Squash (#7)\n\n* first\n* second");
    }),
    ("a mailmap", |s| {
        s.put(".mailmap", "Grace Hopper <grace@example.com> <hopper@navy.example.com>\n").commit("Names");
    }),
    ("the same person elsewhere", |s| {
        s.as_person("G. Hopper", "hopper@navy.example.com").put("navy.txt", "compiler\n").commit("From the navy");
        s.as_person("Ada Lovelace", "ada@example.com");
    }),
    ("a branch that waits", |s| {
        s.on("slow").put("src/slow.rs", file(&[("slow", 11)])).commit("Slow work");
        s.git(&["switch", "--quiet", "main"]);
    }),
    ("main goes on again", |s| drop(s.put("README.md", "# Tool\n\nScales and grows.\n").commit("docs: grow"))),
    ("a merge of main into the branch", |s| {
        s.on("slow").merge("main", "Merge branch 'main' into slow");
        s.git(&["switch", "--quiet", "main"]);
    }),
    ("a commit names one of the branch", |s| {
        let slow = s.named("slow^");
        s.put("picked.txt", "picked\n").commit(&format!("Pick\n\n(cherry picked from commit {})", &slow[..8]));
    }),
    ("the branch on main, main on the branch: a foxtrot", |s| {
        // Who pulls and then pushes makes their own line the first parent.
        s.on("slow").merge("main", "Merge branch 'main' of example.com:acme/tool");
        s.git(&["switch", "--quiet", "main"]);
        s.git(&["merge", "--quiet", "--ff-only", "slow"]);
    }),
    ("after the foxtrot", |s| drop(s.put("after.txt", "after\n").commit("After"))),
    ("another branch for the default", |s| {
        s.on("next").put("src/next.rs", file(&[("next", 12)])).commit("Next");
    }),
    ("main without being the default", |s| {
        s.on("main").put("main.txt", "main\n").commit("On main");
        s.git(&["switch", "--quiet", "next"]);
    }),
    ("the default goes on", |s| drop(s.put("src/next.rs", file(&[("next", 13)])).commit("Next by thirteen"))),
    ("main is merged and the default again", |s| {
        s.on("main").merge("next", "Merge branch 'next' into 'main'\n\nNext\n\nSee merge request acme/tool!8");
    }),
    ("two commits that will be dropped", |s| {
        s.put("src/drop.rs", file(&[("dropped", 14)])).commit("To be dropped");
        s.put("src/scale.rs", file(&[("scale", 15)])).commit("To be dropped too");
        s.git(&["branch", "backup"]);
        s.git(&["update-ref", "refs/keep/backup", "backup"]);
    }),
    ("a branch that holds them goes away", |s| s.git(&["branch", "-D", "--quiet", "backup"])),
    ("dropped by force", |s| s.reset("HEAD~2")),
    ("another history instead", |s| {
        s.put("src/scale.rs", file(&[("scale", 16)])).commit("Scale by sixteen");
    }),
    ("it goes on", |s| drop(s.put("src/instead.rs", file(&[("instead", 17)])).commit("Instead"))),
    ("amended", |s| {
        s.reset("HEAD~1");
        s.put("src/instead.rs", file(&[("instead", 18)])).commit("Instead, amended");
    }),
    ("a merge among what is left", |s| {
        s.on("late").put("late.txt", "late\n").commit("Late");
        s.git(&["switch", "--quiet", "main"]);
        s.merge("late", "Merge pull request #9 from acme/late");
    }),
    ("files go away", |s| {
        s.git(&["rm", "--quiet", "navy.txt", "picked.txt"]);
        s.commit("Remove what nobody needs");
    }),
    ("one comes back", |s| drop(s.put("navy.txt", "compiler\n").commit("Bring the navy back"))),
    ("what was dropped is merged back", |s| {
        s.merge("refs/keep/backup", "Merge what was dropped");
    }),
    ("what was amended too", |s| {
        let amended = s.origin.say(["reflog", "--format=%H %gs"]);
        // Without a reflog the commit is still there: it is the only one with this title.
        let all = s.origin.say(["fsck", "--no-progress", "--unreachable", "--no-reflogs"]);
        let commits = all.lines().filter_map(|line| line.strip_prefix("unreachable commit "));
        let lost: Vec<String> = commits.map(str::to_owned).collect();
        assert!(!lost.is_empty(), "{amended}");
        for lost in lost {
            s.git(&["tag", "--force", "lost", &lost]);
            s.merge("lost", "Merge what was amended");
        }
        s.git(&["tag", "-d", "lost"]);
    }),
    ("spaces only", |s| {
        let wide = file(&[("scale", 16)]).replace("    ", "  ");
        s.put("src/scale.rs", wide).commit("style: narrower");
    }),
    ("which is to be ignored", |s| {
        let last = s.named("HEAD");
        s.put(".git-blame-ignore-revs", format!("# style\n{last}\n")).commit("Ignore the style commit");
    }),
    ("and no longer", |s| {
        s.git(&["rm", "--quiet", ".git-blame-ignore-revs"]);
        s.commit("Do not ignore it");
    }),
    ("a copy", |s| {
        s.put("src/copy.rs", file(&[("grow", 8)])).commit("Copy grow");
    }),
    ("a long line of merges", |s| {
        for number in 0..4 {
            let branch = format!("many/{number}");
            s.on(&branch).put(&format!("many/{number}.txt"), "many\n").commit(&format!("Many {number}"));
            s.git(&["switch", "--quiet", "main"]);
            s.merge(
                &branch,
                &format!("Merge branch '{branch}' into 'main'\n\nSee merge request acme/tool!{}", 20 + number),
            );
        }
    }),
    ("an older clock", |s| {
        s.origin.at(1_600_000_000);
        s.put("src/squash.rs", file(&[("squash", 19)])).commit("From a machine whose clock is wrong");
        s.origin.at(1_710_000_000);
    }),
    ("a clock as it should be", |s| drop(s.put("src/squash.rs", file(&[("squash", 20)])).commit("Squash by twenty"))),
    ("a rename onto a name that was free", |s| {
        s.moved("src/squash.rs", "src/new.rs").commit("Squash is the new new");
    }),
    ("two files change their names", |s| {
        s.moved("src/new.rs", "src/tmp.rs").moved("src/fresh.rs", "src/new.rs").moved("src/tmp.rs", "src/fresh.rs");
        s.commit("Swap");
    }),
    ("the end", |s| drop(s.put("CHANGELOG.md", "# Changes\n\nAll of it.\n").commit("Release 1.0"))),
];

async fn read_after_each_step(branches: Branches) {
    let mut story = Story { origin: Origin::new() };
    let mut indexed = None;
    let mut reached = Reached::default();
    for (number, (what, step)) in (1..).zip(STEPS) {
        step(&mut story);
        let indexed = match &mut indexed {
            Some(indexed) => indexed,
            none => none.insert(Indexed::added(story.origin.path(), branches.clone()).await),
        };
        indexed.sync().await;
        reached.note(&story.origin, indexed).await;
        let left = reached.left();
        let when = format!("{branches:?}, step {number}: {what}");
        assert_eq!(indexed.marked(), left, "{when}");
        assert_eq!(names(&indexed.entry().unreachable.into_iter().collect::<Vec<_>>()), left, "{when}");
        if number % EVERY == 0 || number == STEPS.len() {
            compare(indexed, &story.origin, &left, &when).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn default_branch_read_after_each_step() {
    assert!(STEPS.len() >= 50);
    read_after_each_step(Branches::Default).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_branches_read_after_each_step() {
    read_after_each_step(Branches::All).await;
}
