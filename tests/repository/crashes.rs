//! Syncs that are killed, and origins that change before the next one.

use std::{
    fmt::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::support::FIRST_COMMIT_AT;
use backstory_engine::{Engine, Scope, SyncRequest, ledger::Branches, model::entity::ItemKind, task::TaskStatus};

use crate::support::{Indexed, Origin, PROJECT, settings};

/// The data directory of the process that will be killed.
const CHILD: &str = "BACKSTORY_TEST_SYNC_DATA";
/// How often a sync is killed.
const KILLS: usize = 30;
/// Commits of the repository.
const COMMITS: usize = 240;

/// A generated history in the language of `git fast-import`: merges, renames, several people.
fn generated(commits: usize, random: &mut fastrand::Rng) -> String {
    let mut stream = String::new();
    let mut tip = 0;
    let mut side = None;
    for mark in 1..=commits {
        let at = FIRST_COMMIT_AT + 600 * i64::try_from(mark).unwrap();
        let person = ["Ada <ada@example.com>", "Ada L. <ada@home.example.com>", "Bob <bob@example.com>"][mark % 3];
        let merge = side.filter(|side| mark - side > 3);
        let branches_off = side.is_none() && mark > 5 && random.u8(..5) == 0;
        let message = match (merge, mark % 7) {
            (Some(_), _) => format!("Merge branch 'b{mark}' into 'main'\n\nSee merge request acme/tool!{mark}"),
            (None, 0) => format!("Fix overflow in module {mark}\n\nBecause the sum may wrap.\n\nFixes #{mark}"),
            (None, _) => format!("Change {mark}"),
        };
        let branch = if branches_off { "side" } else { "main" };
        let _ = write!(
            stream,
            "commit refs/heads/{branch}\nmark :{mark}\nauthor {person} {at} +0000\ncommitter {person} {at} +0000\n\
             data {}\n{message}\n",
            message.len()
        );
        if tip > 0 {
            let _ = writeln!(stream, "from :{tip}");
        }
        if let Some(merge) = merge {
            let _ = writeln!(stream, "merge :{merge}");
            side = None;
        }
        for _ in 0..random.usize(1..4) {
            let file = random.usize(0..25);
            let body: String = (0..random.usize(1..6))
                .map(|f| {
                    let value = random.u16(..);
                    format!("def f{file}_{f}(x):\n    total = x * {value}\n    return helper_{f}(total) + {mark}\n\n")
                })
                .collect();
            let _ = write!(stream, "M 100644 inline src/m{file}.py\ndata {}\n{body}\n", body.len());
        }
        if branches_off {
            side = Some(mark);
        } else {
            tip = mark;
        }
    }
    stream.push_str("reset refs/heads/side\nfrom 0000000000000000000000000000000000000000\n");
    stream
}

fn origin(random: &mut fastrand::Rng) -> Origin {
    let origin = Origin::new();
    origin.git_with(["fast-import", "--quiet"], generated(COMMITS, random).as_bytes());
    origin.git(["reset", "--quiet", "--hard"]);
    origin
}

/// The process that is killed: a sync of the data directory that the environment names.
#[tokio::test(flavor = "multi_thread")]
async fn sync_of_a_process_of_its_own() {
    let Some(data) = std::env::var_os(CHILD) else { return };
    let engine = Engine::open(Path::new(&data), settings()).await.unwrap();
    let task = engine.answer(SyncRequest::default()).await.unwrap();
    let mut task = engine.watch_task(task.id).unwrap();
    let ended = task.wait_for(|task| task.status != TaskStatus::Running).await.unwrap();
    assert_eq!(ended.error.as_ref().map(ToString::to_string), None);
}

fn start(data: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["repository::crashes::sync_of_a_process_of_its_own", "--exact"])
        .env(CHILD, data)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a sync at that moment; how long it took if it had ended before.
fn kill_after(data: &Path, moment: Duration) -> Option<Duration> {
    let begun = Instant::now();
    let mut child = start(data);
    while begun.elapsed() < moment {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "the sync failed");
            return Some(begun.elapsed());
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap().success().then(|| begun.elapsed())
}

/// How long a whole sync takes here, in a process of its own.
async fn whole_sync(origin: &Path) -> Duration {
    let indexed = Indexed::added(origin, Branches::All).await;
    let Indexed { data, engine } = indexed;
    drop(engine);
    let begun = Instant::now();
    assert!(start(data.path()).wait().unwrap().success());
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_it_ends_the_same() {
    let mut random = fastrand::Rng::with_seed(20_240_601);
    let origin = origin(&mut random);
    let mut whole = whole_sync(origin.path()).await;
    let expected = Indexed::cold(origin.path(), Branches::All).await.said().await;
    let mut killed = 0;
    let mut round = 0;
    while killed < KILLS {
        round += 1;
        assert!(round < 3 * KILLS, "syncs end before they can be killed");
        let Indexed { data, engine } = Indexed::added(origin.path(), Branches::All).await;
        drop(engine);
        // Several kills after one another: the third begins where the second was.
        for kills in 0..6 {
            let moment = whole.mul_f64(random.f64() * 0.95);
            if let Some(took) = kill_after(data.path(), moment) {
                // The machine was busier before: a sync from the beginning takes no longer than this now.
                whole = if kills == 0 { whole.min(took) } else { whole };
                break;
            }
            killed += 1;
        }
        let indexed = Indexed { engine: Engine::open(data.path(), settings()).await.unwrap(), data };
        indexed.sync().await;
        indexed.said().await.same_as(&expected, &format!("round {round}, {killed} kills"));
        indexed.lineage_is_fresh().await;
        indexed.check().await;
    }
}

/// What a sync that was stopped wrote of one history must not be taken for part of another.
#[tokio::test(flavor = "multi_thread")]
async fn history_is_rewritten_while_a_sync_is_interrupted() {
    for (table, kind) in MOMENTS {
        let when = format!("stopped before it wrote {table} {kind}");
        let mut origin = Origin::new();
        origin
            .write("a.py", "def a():\n    return 1\n")
            .write("b.py", "def b():\n    return a()\n")
            .commit_all("Begin");
        let base = origin.sha("HEAD").to_string();
        let indexed = Indexed::cold(origin.path(), Branches::All).await;
        origin.author("Bob", "bob@example.com");
        origin
            .write("a.py", "def a():\n    return 2\n")
            .write("c.py", "def c():\n    return 3\n")
            .commit_all("Dropped");
        let dropped = origin.sha("HEAD").to_string();
        stop_at(&indexed, table, kind);
        let error = indexed.try_sync(Scope::New).await.unwrap_err();
        assert!(error.message.contains(STOPPED), "{when}: {error}");
        let_go(&indexed);
        // Back to where the last whole sync was, on to something else, and back to what was dropped.
        origin.git(["reset", "--quiet", "--hard", &base]);
        indexed.sync().await;
        let paths = indexed.ledger().keys(PROJECT, ItemKind::File).unwrap();
        assert_eq!(paths, ["a.py", "b.py"], "{when}");
        origin.write("b.py", "def b():\n    return a() + 1\n").commit_all("Instead");
        indexed.sync().await;
        origin.git(["branch", "--force", "again", &dropped]);
        indexed.sync().await;
        assert!(indexed.marked().is_empty(), "{when}");
        indexed.equals_cold(origin.path(), &when).await;
    }
}

/// Tables, and kinds of items, before the first write of which a sync is stopped.
const MOMENTS: &[(&str, &str)] = &[
    ("items", "commit"),
    ("lineage_heads", ""),
    ("items", "identity"),
    ("items", "file"),
    ("items", "file_links"),
    ("derived", ""),
    ("items", "co_change"),
    ("items", "branch"),
];
const STOPPED: &str = "stopped by the test";

fn change_ledger(indexed: &Indexed, statements: &str) {
    let connection = rusqlite::Connection::open(indexed.data.path().join("ledger.sqlite")).unwrap();
    connection.execute_batch(statements).unwrap();
}

/// Lets every write to a table, of a kind of items if one is given, fail from now on.
fn stop_at(indexed: &Indexed, table: &str, kind: &str) {
    let when = if kind.is_empty() { String::new() } else { format!("WHEN NEW.kind = '{kind}'") };
    let stop = format!("BEFORE INSERT ON {table} {when} BEGIN SELECT RAISE(ABORT, '{STOPPED}'); END;");
    change_ledger(indexed, &format!("CREATE TRIGGER stop_insert {stop}"));
    change_ledger(indexed, &format!("CREATE TRIGGER stop_update {}", stop.replace("INSERT", "UPDATE")));
}

fn let_go(indexed: &Indexed) {
    change_ledger(indexed, "DROP TRIGGER stop_insert; DROP TRIGGER stop_update;");
}

/// The last steps of a sync are done by the next one if they were not.
#[tokio::test(flavor = "multi_thread")]
async fn people_are_linked_by_the_next_sync_if_they_were_not() {
    let mut origin = Origin::new();
    origin.author("Ada", "ada@example.com").write("a.py", "a = 1\n").commit_all("Begin");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    origin.author("Ada", "ada@home.example.com").write(".mailmap", "Ada <ada@example.com> <ada@home.example.com>\n");
    origin.commit_all("From home");
    let head = origin.sha("HEAD");
    // Where the tip is noted as indexed, only the people are left to be linked.
    let stop = format!(
        "BEFORE INSERT ON items
         WHEN NEW.kind = 'identity' AND (SELECT indexed FROM repositories) LIKE '%{head}%'
         BEGIN SELECT RAISE(ABORT, '{STOPPED}'); END;"
    );
    change_ledger(&indexed, &format!("CREATE TRIGGER stop_insert {stop}"));
    change_ledger(&indexed, &format!("CREATE TRIGGER stop_update {}", stop.replace("INSERT", "UPDATE")));
    let error = indexed.try_sync(Scope::New).await.unwrap_err();
    assert!(error.message.contains(STOPPED), "{error}");
    let_go(&indexed);
    indexed.sync().await;
    indexed.equals_cold(origin.path(), "people are linked").await;
}
