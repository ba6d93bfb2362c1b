//! What was removed: texts, symbols and files, with moves seen through.

use backstory_engine::{
    ledger::Branches,
    model::id::NodeId,
    removed::{Removal, Removals, RemovedRequest},
};

use crate::{
    support::{Indexed, Origin, PROJECT, Sandbox},
    trace::world::{SHOP, TOKEN, World},
};

fn about(text: &str, path: Option<&str>) -> RemovedRequest {
    RemovedRequest { text: text.to_owned(), project: None, path: path.map(str::to_owned), limit: 1 }
}

async fn removed(indexed: &Indexed, text: &str, path: Option<&str>) -> Removals {
    indexed.engine.answer(about(text, path)).await.unwrap()
}

/// The commit of each removal, and the path it was removed from.
fn commits(found: &Removals) -> Vec<(&str, &str)> {
    found.removals.iter().map(|removal| (removal.commit.title.as_str(), removal.path.as_str())).collect()
}

fn moves(found: &Removals) -> Vec<(&str, &str, &str)> {
    found.moves.iter().map(|of| (of.commit.title.as_str(), of.from.as_str(), of.to.as_str())).collect()
}

fn present(found: &Removals) -> Vec<(&str, Option<u32>)> {
    found.present.iter().map(|at| (at.path.as_str(), at.line)).collect()
}

const CLIENT: &str = "\
def connect(host):
    \"\"\"Connects.\"\"\"
    retries = 3
    timeout = 30
    return open_socket(host, retries, timeout)


def legacy_login(user):
    return ask_password(user)
";

/// A line, a function and a file that move and then go away.
fn moving() -> Origin {
    let mut origin = Origin::new();
    origin.write("src/client.py", CLIENT).write("docs/old.md", "# Old\n\nUse the telephone.\n").commit_all("Begin");
    origin.git(["mv", "src/client.py", "src/net.py"]);
    origin.commit_all("Call it net");
    origin.write("src/net.py", CLIENT.replace("    timeout = 30\n", "    timeout = limit()\n"));
    origin.write("src/limits.py", "def limit():\n    timeout = 30\n    return timeout\n");
    origin.commit_all("Limits have a file of their own");
    origin
        .write("src/net.py", CLIENT.replace("    timeout = 30\n", "    timeout = limit()\n").replace("= 3\n", "= 5\n"));
    origin.commit_all("Try more often\n\nThree attempts were not enough on trains.");
    origin.write("src/limits.py", "def limit():\n    return 45\n").commit_all("Raise the limit");
    let net = CLIENT.replace("    timeout = 30\n", "    timeout = limit()\n").replace("= 3\n", "= 5\n");
    let (rest, _) = net.split_once("\n\ndef legacy_login").unwrap();
    origin.write("src/net.py", rest).remove("docs/old.md");
    origin.commit_all("Drop what nobody uses");
    origin
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commit_that_removed_a_line_is_found_with_what_took_its_place() {
    let origin = moving();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let found = removed(&indexed, "retries = 3", None).await;
    assert_eq!(commits(&found), [("Try more often", "src/net.py")]);
    let Removal { line, removed, replacement, .. } = &found.removals[0];
    assert_eq!((*line, removed.as_deref()), (Some(3), Some("    retries = 3")));
    assert_eq!(replacement.as_deref(), Some("    retries = 5"));
    let quoted = found.removals[0].chain[0].evidence.text.as_deref().unwrap();
    assert!(quoted.contains("not enough on trains"), "{quoted}");
    assert_eq!((found.present.len(), found.missing.len()), (0, 0));

    let head = removed_nothing(&indexed, "retries = 5").await;
    assert_eq!(present(&head), [("src/net.py", Some(3))]);
    let never = removed_nothing(&indexed, "retries = 7").await;
    assert_eq!(never.missing.len(), 1, "{:?}", never.missing);
    assert!(never.searched_commits >= 6);
}

async fn removed_nothing(indexed: &Indexed, text: &str) -> Removals {
    let found = removed(indexed, text, None).await;
    assert_eq!(commits(&found), []);
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_moved_are_followed_to_where_they_were_removed() {
    let origin = moving();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let everywhere = removed(&indexed, "timeout = 30", None).await;
    assert_eq!(commits(&everywhere), [("Raise the limit", "src/limits.py")]);
    // From the first name of the file over its rename and over the move of the line.
    for path in ["src/client.py", "src/net.py"] {
        let found = removed(&indexed, "timeout = 30", Some(path)).await;
        assert_eq!(commits(&found), [("Raise the limit", "src/limits.py")], "{path}");
        let passed = moves(&found);
        assert!(passed.contains(&("Limits have a file of their own", "src/net.py", "src/limits.py")), "{passed:?}");
    }
    let directory = removed(&indexed, "retries = 3", Some("src")).await;
    assert_eq!(commits(&directory), [("Try more often", "src/net.py")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_a_changelog_mentions_did_not_go_there() {
    let mut origin = Origin::new();
    let pager = |shell: &str| format!("def pager(command):\n    return popen(command, {shell})\n");
    origin.write("src/pager.py", pager("shell=True")).write("CHANGES.md", "# Changes\n").commit_all("Begin");
    origin.write("src/pager.py", pager("shell=False"));
    origin.write("CHANGES.md", "# Changes\n\n- Pages without `shell=True`.\n").commit_all("Page without a shell");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    for path in [None, Some("src/pager.py")] {
        let found = removed(&indexed, "shell=True", path).await;
        assert_eq!(commits(&found), [("Page without a shell", "src/pager.py")], "{path:?}");
        assert_eq!(moves(&found), [], "{path:?}");
    }
}

/// A variable has the name of a library, whose use ended later.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_in_the_sources_after_its_symbol_is_told_of_both() {
    let mut origin = Origin::new();
    let with = |import: &str| format!("def echo(text):\n    {import}\n    return write(text)\n");
    origin.write("src/compat.py", "tintlib = None\n\n\ndef strip(text):\n    return text\n");
    origin.write("src/echo.py", with("import tintlib")).write("CHANGES.md", "# Changes\n\nUse tintlib.\n");
    origin.commit_all("Begin");
    origin.write("src/compat.py", "def strip(text):\n    return text\n").commit_all("Check types");
    origin.write("src/echo.py", with("import sys")).commit_all("Drop the library");
    origin.write("CHANGES.md", "# Changes\n").commit_all("Shorten the changelog");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let both = removed(&indexed, "tintlib", None).await;
    assert_eq!(commits(&both), [("Drop the library", "src/echo.py"), ("Check types", "src/compat.py")]);
    let within = removed(&indexed, "tintlib", Some("CHANGES.md")).await;
    assert_eq!(commits(&within), [("Shorten the changelog", "CHANGES.md")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_a_changelog_loses_later_was_removed_from_the_source() {
    let mut origin = Origin::new();
    let run = |parameter: &str| format!("def run(command{parameter}):\n    return command()\n");
    origin.write("src/run.py", run(", mix_errors=True")).write("CHANGES.rst", "Changes\n").commit_all("Begin");
    origin.write("src/run.py", run("")).write("CHANGES.rst", "Changes\n\nWithout ``mix_errors``.\n");
    origin.commit_all("Keep errors apart");
    origin.write("CHANGES.rst", "Changes\n").commit_all("Shorten the changelog");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    assert_eq!(commits(&removed(&indexed, "mix_errors", None).await), [("Keep errors apart", "src/run.py")]);
    let all = indexed.engine.answer(RemovedRequest { limit: 5, ..about("mix_errors", None) }).await.unwrap();
    let newest_first = [("Shorten the changelog", "CHANGES.rst"), ("Keep errors apart", "src/run.py")];
    assert_eq!(commits(&all), newest_first);
}

#[tokio::test(flavor = "multi_thread")]
async fn symbols_and_files_are_found_by_name() {
    let origin = moving();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let symbol = removed(&indexed, "legacy_login", None).await;
    assert_eq!(commits(&symbol), [("Drop what nobody uses", "src/net.py")]);
    assert_eq!(symbol.removals[0].node, Some(NodeId::entity(PROJECT, "src/net.py", "legacy_login")));
    let file = removed(&indexed, "docs/old.md", None).await;
    assert_eq!(commits(&file), [("Drop what nobody uses", "docs/old.md")]);
    let renamed = removed_nothing(&indexed, "src/client.py").await;
    assert_eq!(present(&renamed), [("src/net.py", None)]);
    assert_eq!(moves(&renamed), [("Call it net", "src/client.py", "src/net.py")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_is_found_by_its_last_part_by_more_of_its_name_and_by_nothing_else() {
    let mut origin = Origin::new();
    let class = |name: &str| format!("class {name}:\n    def flush(self):\n        return self.rows\n\n\n");
    origin.write("src/store.py", [class("Cache"), class("Queue")].concat()).commit_all("Begin");
    origin.write("src/store.py", class("Queue")).commit_all("Drop the cache");
    origin.write("src/store.py", "LEFT = 1\n").commit_all("Drop the queue");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    for (name, title) in
        [("Cache.flush", "Drop the cache"), ("Queue.flush", "Drop the queue"), ("Cache", "Drop the cache")]
    {
        assert_eq!(commits(&removed(&indexed, name, None).await), [(title, "src/store.py")], "{name}");
    }
    let request = RemovedRequest { limit: 5, ..about("flush", Some("src/store.py")) };
    let both = indexed.engine.answer(request).await.unwrap();
    assert_eq!(commits(&both), [("Drop the queue", "src/store.py"), ("Drop the cache", "src/store.py")]);
    let names: Vec<String> = both.removals.iter().map(|removal| removal.node.as_ref().unwrap().to_string()).collect();
    assert_eq!(names, ["acme/tool:src/store.py#Queue.flush", "acme/tool:src/store.py#Cache.flush"]);
    // The end of a name is none.
    assert!(removed(&indexed, "lush", None).await.removals.iter().all(|removal| removal.node.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn places_of_the_head_are_told_once_where_a_text_is_followed_out_of_a_directory() {
    let mut origin = Origin::new();
    let with = |name: &str| format!("def {name}():\n    retries = 3\n    return {name}\n");
    for name in ["a", "b", "c"] {
        origin.write(format!("src/{name}.py"), with(name));
    }
    origin.commit_all("Begin");
    origin.write("src/c.py", "def c():\n    return c\n").write("lib/c.py", "def d():\n    retries = 3\n");
    origin.commit_all("Retry in the library");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let found = removed(&indexed, "retries = 3", Some("src")).await;
    assert_eq!(moves(&found), [("Retry in the library", "src/c.py", "lib/c.py")]);
    assert_eq!(present(&found), [("src/a.py", Some(2)), ("src/b.py", Some(2)), ("lib/c.py", Some(2))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_merge_brought_to_another_path_or_dropped_is_not_told_to_be_where_it_was() {
    let mut origin = Origin::new();
    let function = |name: &str| format!("def {name}(text):\n    first = text.strip()\n    return first.{name}()\n\n\n");
    let plain = [function("upper"), function("split")].concat();
    origin.write("src/a.py", &plain).commit_all("Begin");
    origin.switch("rows");
    let rows = [plain.clone(), function("lower"), function("title")].concat();
    let tip = origin.write("src/a.py", rows).commit_all("Add functions");
    origin.git(["switch", "--quiet", "main"]);
    origin.git(["mv", "src/a.py", "src/b.py"]);
    origin.commit_all("Call it b");
    origin.write("src/b.py", [plain, function("lower")].concat());
    origin.git(["add", "--all"]);
    origin.commit_index("Merge branch 'rows'", &[tip]);
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let brought = removed_nothing(&indexed, "src/a.py#lower").await;
    assert_eq!(moves(&brought), [("Call it b", "src/a.py#lower", "src/b.py#lower")]);
    assert_eq!(present(&brought), [("src/b.py#lower", None)]);
    let dropped = removed_nothing(&indexed, "src/a.py#title").await;
    assert_eq!(present(&dropped), []);
    let said = "src/b.py#title is not in the indexed head, but no commit that was read removed it: a merge may have";
    assert_eq!(dropped.missing, [said]);
}

/// The same name was removed in another project so often that this one's did not come up.
#[tokio::test(flavor = "multi_thread")]
async fn symbols_of_other_projects_hide_none() {
    let methods = |count: usize| {
        let class = |n: usize| format!("class C{n:03}:\n    def legacy_login(self):\n        return {n}\n\n\n");
        (0..count).map(class).collect::<String>()
    };
    let (mut own, mut other) = (Origin::new(), Origin::new());
    own.write("src/z.py", methods(1)).commit_all("Begin");
    own.write("src/z.py", "LEFT = 1\n").commit_all("Drop the class");
    other.write("src/a.py", methods(250)).commit_all("Begin");
    other.write("src/a.py", "LEFT = 1\n").commit_all("Drop them all");
    let indexed = Indexed::cold(own.path(), Branches::Default).await;
    indexed.add(other.path(), "acme/all", Branches::Default).await.unwrap();
    indexed.sync().await;
    let request = RemovedRequest { project: Some(PROJECT.to_owned()), ..about("legacy_login", None) };
    let found = indexed.engine.answer(request).await.unwrap();
    assert_eq!(commits(&found), [("Drop the class", "src/z.py")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_has_its_merge_request_and_issue() {
    let world = World::new().await;
    let request = RemovedRequest { project: Some(SHOP.to_owned()), ..about("claims.expires_at > now", Some(TOKEN)) };
    let found = world.engine.answer(request).await.unwrap();
    assert_eq!(commits(&found), [("Accept a little clock skew when tokens expire", TOKEN)]);
    let removal = &found.removals[0];
    assert_eq!(removal.commit.sha.to_string(), world.skew);
    assert_eq!(removal.merge_requests.iter().map(ToString::to_string).collect::<Vec<_>>(), ["acme/shop!2"]);
    assert!(removal.issues.iter().any(|issue| issue.to_string() == "acme/shop#1"), "{:?}", removal.issues);
    assert!(!removal.discussions.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_not_found_and_what_makes_no_sense_is_refused() {
    let mut origin = Origin::new();
    let token = format!("glpat-{}", "a1B2c3D4e5F6g7H8i9J0");
    origin.write("conf.py", format!("token = '{token}'\nurl = 'x'\n")).commit_all("Begin");
    origin.write("conf.py", "url = 'x'\n").commit_all("Without the token");
    let [own, other] = ["own", "other"].map(|name| format!("keys/{token}/{name}.py"));
    origin.write(&own, "moves = 'twice'\nleft = 'here'\n").commit_all("Name a directory after it");
    origin.write(&own, "url = 'y'\n").write(&other, "moves = 'twice'\n").commit_all("Move a line, drop another");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    removed_nothing(&indexed, &token).await;
    removed_nothing(&indexed, &token[..12]).await;
    let dropped = removed(&indexed, "left = 'here'", None).await;
    let moved = removed_nothing(&indexed, "moves = 'twice'").await;
    assert_eq!((dropped.removals.len(), moved.moves.len()), (1, 1));
    let paths = [&dropped.removals[0].path, &moved.moves[0].from, &moved.moves[0].to];
    assert!(paths.iter().all(|path| path.starts_with("keys/[redacted:")), "{paths:?}");
    for (text, limit) in [("a", 1), ("", 1), ("whole line", 0), ("whole line", 1000)] {
        let refused = indexed.engine.answer(RemovedRequest { limit, ..about(text, None) }).await;
        assert!(refused.is_err(), "{text:?} {limit}");
    }
}

#[test]
fn the_command_prints_removal_move_and_head() {
    let origin = moving();
    let sandbox = Sandbox::empty();
    sandbox.run(&["add", &origin.path().display().to_string(), "--name", PROJECT]).ok();
    let printed = sandbox.run(&["removed", "retries = 3"]).ok().stdout;
    for piece in ["Removed from src/net.py:3 by ", "Try more often", "-     retries = 3", "+     retries = 5"] {
        assert!(printed.contains(piece), "{piece}: {printed}");
    }
    let printed = sandbox.run(&["removed", "src/client.py"]).ok().stdout;
    assert!(printed.contains("src/client.py -> src/net.py") && printed.contains("head has it at"), "{printed}");
    let json = sandbox.run(&["removed", "timeout = 30", "src/net.py", "--json"]).ok().json();
    assert_eq!(json["removals"][0]["path"], "src/limits.py");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_is_changed_while_it_moves_is_followed() {
    let login = |call: &str| {
        format!(
            "def legacy_login(user):\n    password = ask_password(user)\n    session = {call}\n    return session\n"
        )
    };
    let mut origin = Origin::new();
    let both = format!("{CLIENT}\n\n{}", login("open_session(user, password)"));
    origin.write("src/client.py", both.replacen("def legacy_login", "def other_login", 1)).commit_all("Begin");
    origin.write("src/client.py", CLIENT.replacen("def legacy_login", "def other_login", 1));
    origin.write("src/login.py", login("open_session(user, password, ttl=60)")).commit_all("Split the client");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let found = removed_nothing(&indexed, "src/client.py#legacy_login").await;
    assert_eq!(present(&found), [("src/login.py#legacy_login", None)]);
    let moved = ("Split the client", "src/client.py#legacy_login", "src/login.py#legacy_login");
    assert_eq!(moves(&found), [moved]);
}

/// Merges that keep what their first parent has, whatever a later commit of the other one did.
#[tokio::test(flavor = "multi_thread")]
async fn of_branches_that_were_merged_the_head_tells_which_one_was_followed() {
    let connect =
        |retries: u8| format!("def connect(host):\n    retries = {retries}\n    return ask(host, retries)\n\n\n");
    let close = "def close(socket):\n    return socket.close()\n";
    let mut origin = Origin::new();
    origin.write("src/net.py", connect(3) + close).write("src/old.py", "LEFT = 1\n");
    let begin = origin.commit_all("Begin");
    origin.write("src/net.py", close).commit_all("Drop what nobody calls");
    origin.git(["switch", "--quiet", "--create", "side", &begin.to_string()]);
    let side = origin.write("src/net.py", connect(5) + close).commit_all("Try more often");
    origin.switch("main").commit_index("Merge the attempts", &[side]);
    origin.switch("without").remove("src/old.py");
    let without = origin.commit_all("Try without");
    origin.switch("main").commit_index("Merge, and keep the file", &[without]);
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    assert_eq!(commits(&removed(&indexed, "connect", None).await), [("Drop what nobody calls", "src/net.py")]);
    let kept = removed_nothing(&indexed, "src/old.py").await;
    assert_eq!(present(&kept), [("src/old.py", None)]);
}
