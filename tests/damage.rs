//! Whatever is damaged of graph and index, the next command rebuilds it from the ledger or does not need it, and says so
//! without a panic. What the machine lacks is no damage, and nothing is dropped for it.
//!
//! `BACKSTORY_DAMAGES` says how many files are damaged (24), or `all` of them in every way.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::support::{Fixture, Forge, Output, Sandbox, eventually, skipped};

/// Damages unless the environment says otherwise.
const USUAL: usize = 24;
/// What happens to a file.
const HOW: [&str; 4] = ["zeroed", "cut in half", "one bit flipped", "emptied"];
/// Directories and files that are damaged: not the clones, which a sync checks, nor the lock.
const DAMAGED: [&str; 2] = ["graph", "index"];
/// Two of them find what they look for in the files in question.
const COMMANDS: [&[&str]; 3] =
    [&["search", "redis", "--project", "acme/shop"], &["ask", "Why did we choose Redis over Memcached?"], &["sync"]];

#[expect(clippy::disallowed_methods, reason = "the environment says how long")]
fn asked_for() -> usize {
    let asked = std::env::var("BACKSTORY_DAMAGES").ok();
    asked.map_or(USUAL, |asked| asked.parse().unwrap_or(usize::MAX))
}

/// A forge, a repository and what one data directory holds of them, with vectors.
struct World {
    forge: Forge,
    /// Its files are read when a projection is rebuilt.
    _repository: Fixture,
    sandbox: Sandbox,
    digest: String,
}

impl World {
    fn new() -> Self {
        let (forge, mut repository) = (Forge::start(), Fixture::new());
        repository
            .write("lib.rs", "/// Sums, as the cache in Redis does.\nfn sum(a: u8, b: u8) -> u8 {\n    a + b\n}\n");
        repository.commit_all("Sum\n\nSee #2.");
        let sandbox = Sandbox::new(&forge);
        let path = repository.path().display().to_string();
        sandbox.run(&["add", &path, "--name", "acme/shop"]).ok();
        sandbox.run(&["sync"]).ok();
        sandbox.run(&["embed"]).ok();
        let digest = sandbox.run(&["check", "--digest"]).ok().stdout;
        Self { forge, _repository: repository, sandbox, digest }
    }

    /// A data directory that holds the same.
    fn copy(&self) -> Sandbox {
        let copy = Sandbox::new(&self.forge);
        copy_all(&self.sandbox.data(), &copy.data());
        copy
    }
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    // Nobody else may read them, and it would be told if they might.
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_all(&path, &target);
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}

/// Files below a directory, in order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn damage(path: &Path, how: &str, random: &mut fastrand::Rng) {
    let mut bytes = fs::read(path).unwrap();
    match how {
        "zeroed" => bytes.fill(0),
        "cut in half" => bytes.truncate(bytes.len() / 2),
        "emptied" => bytes.clear(),
        _ if bytes.is_empty() => {}
        _ => {
            let at = random.usize(..bytes.len());
            bytes[at] ^= 1 << random.u8(..8);
        }
    }
    fs::write(path, bytes).unwrap();
}

/// No command shows a panic, whatever it reads.
#[track_caller]
fn quiet(output: Output, when: &str) -> Output {
    assert!(!output.stderr.contains("panicked") && !output.stderr.contains("ran into a bug"), "{when}: {output:#?}");
    output
}

/// Everything is as before: the commands that read and write, and the digest of the graph.
#[track_caller]
fn is_well(world: &World, sandbox: &Sandbox, when: &str) {
    for args in COMMANDS {
        let output = quiet(sandbox.run(args), when);
        assert_eq!(output.code, 0, "{when}: {args:?}: {output:#?}");
    }
    let digest = quiet(sandbox.run(&["check", "--digest"]), when);
    assert_eq!(digest.stdout, world.digest, "{when}: {digest:#?}");
}

#[test]
fn a_damaged_file_of_a_projection_is_repaired() {
    let world = World::new();
    let mut random = fastrand::Rng::with_seed(3);
    let data = world.sandbox.data();
    let mut all: Vec<(PathBuf, &str)> = Vec::new();
    let mut manifests: Vec<(PathBuf, &str)> = Vec::new();
    for path in DAMAGED.iter().flat_map(|name| files(&data.join(name))) {
        let file = path.strip_prefix(&data).unwrap().to_owned();
        all.extend(HOW.iter().map(|how| (file.clone(), *how)));
        if file.to_str().unwrap().contains("_versions") {
            manifests.push((file, "one bit flipped"));
        }
    }
    let asked = asked_for();
    if asked < all.len() {
        random.shuffle(&mut all);
        random.shuffle(&mut manifests);
        // Lance reads manifests without a checksum.
        all.splice(0..0, manifests.into_iter().take(asked / 3));
        all.truncate(asked);
    } else {
        // One bit says little.
        for _ in 0..10 {
            all.extend(manifests.iter().cloned());
        }
    }
    for (file, how) in &all {
        let sandbox = world.copy();
        damage(&sandbox.data().join(file), how, &mut random);
        is_well(&world, &sandbox, &format!("{} {how}", file.display()));
    }
}

#[test]
fn a_server_rebuilds_what_proves_damaged_and_goes_on() {
    let world = World::new();
    let sandbox = world.copy();
    let server = sandbox.serve();
    ruin_index(&sandbox);
    eventually("the index is rebuilt", || {
        let output = quiet(sandbox.run(&["search", "redis"]), "while it serves");
        output.code == 0 && output.stdout.contains("acme/shop")
    });
    drop(server);
    is_well(&world, &sandbox, "after it was mended");
}

/// Ruins the files of the index that are read when they are needed; what is open stays readable.
fn ruin_index(sandbox: &Sandbox) {
    for path in files(&sandbox.data().join("index")) {
        if path.to_str().unwrap().contains("documents.lance/data") {
            fs::write(&path, vec![0; 100]).unwrap();
        }
    }
}

/// What a server has said on its standard error.
fn log(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path().join("serve.log")).unwrap()
}

#[test]
fn a_rebuild_that_failed_is_done_later_and_so_is_another() {
    let world = World::new();
    let sandbox = world.copy();
    let server = sandbox.serve();
    let is_found = || {
        let output = quiet(sandbox.run(&["search", "redis"]), "while it serves");
        output.code == 0 && output.stdout.contains("acme/shop")
    };
    // A file in place of the new directory.
    let current =
        fs::read_to_string(sandbox.data().join("index/CURRENT")).map_or(1, |text| text.trim().parse().unwrap());
    let next = sandbox.data().join(format!("index/{}", current + 1));
    fs::write(&next, "").unwrap();
    ruin_index(&sandbox);
    eventually("it is told why it failed", || {
        assert!(!is_found());
        log(&sandbox).contains("could not be rebuilt: a new projection cannot be begun")
    });
    assert!(!log(&sandbox).contains("damaged again"), "{}", log(&sandbox));
    fs::remove_file(&next).unwrap();
    eventually("the index is rebuilt", is_found);
    // Other damage within the hour is repaired too; only the third time it does not help to begin again.
    ruin_index(&sandbox);
    eventually("the index is rebuilt once more", is_found);
    assert!(!log(&sandbox).contains("damaged again"), "{}", log(&sandbox));
    ruin_index(&sandbox);
    eventually("it is told that this does not help", || {
        assert!(!is_found());
        log(&sandbox).contains("rebuilt from the ledger 2 times within an hour")
    });
    drop(server);
    is_well(&world, &sandbox, "after another start");
}

/// Every command says what happened and what to do, and changes nothing.
#[test]
fn an_empty_ledger_beside_projections_is_no_new_one() {
    let world = World::new();
    let backup = world.sandbox.path().join("backup.sqlite");
    world.sandbox.run(&["backup", backup.to_str().unwrap()]).ok();
    for how in ["removed", "emptied", "zeroed", "replaced by a new one"] {
        let sandbox = world.copy();
        let ledger = sandbox.data().join("ledger.sqlite");
        match how {
            "removed" => fs::remove_file(&ledger).unwrap(),
            "emptied" => fs::write(&ledger, "").unwrap(),
            "zeroed" => fs::write(&ledger, vec![0; fs::metadata(&ledger).unwrap().len() as usize]).unwrap(),
            _ => {
                let new = Sandbox::new(&world.forge);
                new.run(&["status"]);
                fs::copy(new.data().join("ledger.sqlite"), &ledger).unwrap();
            }
        }
        let before = [files(&sandbox.data().join("graph")), files(&sandbox.data().join("index"))].concat().len();
        for args in [&["search", "redis"] as &[&str], &["sync"], &["sync", "--full"], &["rebuild"]] {
            let output = quiet(sandbox.run(args), how);
            let said = output.error(1);
            assert!(said.contains("ledger.sqlite is empty, but the graph and the index beside it"), "{how}: {said}");
            assert!(said.contains("backstory restore") && said.contains("data/graph"), "{how}: {said}");
        }
        let after = [files(&sandbox.data().join("graph")), files(&sandbox.data().join("index"))].concat().len();
        assert!(after >= before, "{how}: files are gone");
        // Either way that it names leads out.
        if how == "emptied" {
            for name in DAMAGED {
                fs::remove_dir_all(sandbox.data().join(name)).unwrap();
            }
            sandbox.run(&["sync"]).ok();
            let issues = |of: &Sandbox| of.run(&["count", "issues"]).ok().stdout;
            assert_eq!(issues(&sandbox), issues(&world.sandbox));
        } else {
            sandbox.run(&["restore", backup.to_str().unwrap()]).ok();
            is_well(&world, &sandbox, how);
        }
    }
}

/// "check" was green over the graph of another ledger.
#[test]
fn projections_of_another_ledger_are_rebuilt() {
    let world = World::new();
    let other = Sandbox::new(&world.forge);
    other.run(&["sync"]).ok();
    for name in DAMAGED {
        let sandbox = world.copy();
        let projection = sandbox.data().join(name);
        fs::remove_dir_all(&projection).unwrap();
        copy_all(&other.data().join(name), &projection);
        let output = quiet(sandbox.run(&["check", "--digest"]), name);
        assert!(
            output.stderr.contains(&format!("the {name} has more than the ledger, or belongs to another one")),
            "{output:#?}"
        );
        assert_eq!(output.stdout, world.digest, "{name}");
        is_well(&world, &sandbox, name);
        // Of one that is on no record nothing is known, from then on it is.
        fs::remove_file(projection.join("LEDGER")).unwrap();
        let output = quiet(sandbox.run(&["check", "--digest"]), name);
        assert!(!output.stderr.contains("rebuilt"), "{output:#?}");
        assert!(projection.join("LEDGER").is_file(), "{name}");
    }
}

/// Opening a pipe waits until somebody writes to it.
#[test]
fn a_pipe_in_the_place_of_a_file_is_no_reason_to_wait() {
    let world = World::new();
    let pipe = |path: &Path| {
        if path.is_file() {
            fs::remove_file(path).unwrap();
        }
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let mut places: Vec<String> = DAMAGED.iter().map(|name| format!("{name}/CURRENT")).collect();
    for name in DAMAGED {
        let all = files(&world.sandbox.data().join(name));
        let inner = all.iter().map(|file| file.strip_prefix(world.sandbox.data()).unwrap().display().to_string());
        let inner: Vec<String> = inner.filter(|file| file.contains("/1/")).collect();
        places.extend([inner[0].clone(), inner[inner.len() / 2].clone()]);
    }
    for place in places {
        let sandbox = world.copy();
        pipe(&sandbox.data().join(&place));
        is_well(&world, &sandbox, &place);
    }
    for (name, said) in [("ledger.sqlite", "is not a file"), ("lock", "it is a link or not a file")] {
        let sandbox = world.copy();
        pipe(&sandbox.data().join(name));
        let output = quiet(sandbox.run(&["search", "redis"]), name);
        assert!(output.code != 0 && output.stderr.contains(said), "{name}: {output:#?}");
    }
}

/// What it leads to was overwritten.
#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let world = World::new();
    let sandbox = world.copy();
    let precious = sandbox.path().join("precious");
    let link = |name: &str| {
        fs::write(&precious, "precious").unwrap();
        let path = sandbox.data().join(name);
        drop(fs::remove_file(&path));
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        path
    };
    let lock = link("lock");
    let output = quiet(sandbox.run(&["search", "redis"]), "lock");
    assert!(output.code != 0 && output.stderr.contains("it is a link or not a file"), "{output:#?}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    fs::remove_file(lock).unwrap();
    sandbox.run(&["backup", "copy.sqlite"]).ok();
    for name in ["restored", "ledger.restoring.sqlite", "graph/CURRENT.new"] {
        link(name);
        sandbox.run(&["restore", "copy.sqlite"]).ok();
        is_well(&world, &sandbox, name);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious", "{name}");
    }
    link("server.json.new");
    drop(sandbox.serve());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

/// Two processes had it open, each with the lock of a directory of its own.
#[test]
fn a_link_in_the_place_of_the_ledger_is_refused_and_one_to_the_data_directory_is_not() {
    let world = World::new();
    let sandbox = world.copy();
    let (own, aside) = (sandbox.data().join("ledger.sqlite"), sandbox.path().join("aside.sqlite"));
    fs::rename(&own, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &own).unwrap();
    for command in [&["search", "redis"][..], &["sync"]] {
        let output = quiet(sandbox.run(command), "ledger");
        assert!(output.code != 0 && output.stderr.contains("ledger.sqlite is a link"), "{output:#?}");
    }
    fs::remove_file(&own).unwrap();
    fs::rename(&aside, &own).unwrap();
    let (data, moved) = (sandbox.data(), sandbox.path().join("moved"));
    fs::rename(&data, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &data).unwrap();
    is_well(&world, &sandbox, "data directory");
}

/// All directories that it leads to were removed as old generations.
#[test]
fn a_link_in_the_place_of_a_projection_is_refused_and_nothing_behind_it_removed() {
    let world = World::new();
    for name in DAMAGED {
        let sandbox = world.copy();
        let elsewhere = sandbox.path().join("elsewhere");
        for directory in ["kept", "2"] {
            fs::create_dir_all(elsewhere.join(directory)).unwrap();
        }
        let (own, aside) = (sandbox.data().join(name), sandbox.path().join("aside"));
        fs::rename(&own, &aside).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &own).unwrap();
        for command in [&["search", "redis"][..], &["rebuild"], &["sync"]] {
            let output = quiet(sandbox.run(command), name);
            assert!(output.code != 0 && output.stderr.contains("it is a link"), "{name}: {output:#?}");
        }
        assert!(elsewhere.join("kept").is_dir() && elsewhere.join("2").is_dir());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 2);
        fs::remove_file(&own).unwrap();
        fs::rename(&aside, &own).unwrap();
        // What stands beside the generations stays, too.
        fs::create_dir_all(own.join("kept")).unwrap();
        is_well(&world, &sandbox, name);
        assert!(own.join("kept").is_dir());
    }
}

/// Runs a command of a shell in a data directory that is on a disk of its own, and its output; `None` if that cannot be had.
fn on_a_small_disk(sandbox: &Sandbox, megabytes: u64, script: &str) -> Option<Output> {
    let program = sandbox.command(&[]).get_program().to_owned();
    let saved = sandbox.path().join("saved");
    if !saved.exists() {
        copy_all(&sandbox.data(), &saved);
    }
    let disk = format!("mount -t tmpfs -o size={megabytes}m tmpfs data || exit 99; cp -a saved/. data/; {script}");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &disk]).arg(program);
    command.current_dir(sandbox.path()).env_clear().stdin(Stdio::null());
    command.envs(sandbox.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let output = command.output().ok()?;
    let is_refused = output.status.code() == Some(99) || String::from_utf8_lossy(&output.stderr).contains("unshare");
    (!is_refused).then(|| sandbox.output(&output))
}

#[test]
fn a_full_disk_can_be_read_and_nothing_is_dropped() {
    let world = World::new();
    let sandbox = world.copy();
    let size = files(&sandbox.data()).iter().map(|file| fs::metadata(file).unwrap().len() + 4096).sum::<u64>();
    let megabytes = (size >> 20) + 8;
    let fill = "dd if=/dev/zero of=data/full bs=4k 2>/dev/null";
    let script = format!("{fill}; \"$0\" search redis && \"$0\" show 'acme/shop#3' && \"$0\" sync");
    let Some(output) = on_a_small_disk(&sandbox, megabytes, &script) else {
        skipped("a full disk cannot be tried, as 'unshare' or 'mount' is refused here");
        return;
    };
    let output = quiet(output, "full");
    assert!(output.stdout.contains("acme/shop#3"), "{output:#?}");
    assert!(output.stderr.contains("there is no room left on the disk"), "{output:#?}");
    assert!(!output.stderr.contains("rebuilt") && !output.stderr.contains("damaged"), "{output:#?}");
    let script = format!(
        "{fill}; \"$0\" search redis >/dev/null; \"$0\" sync >/dev/null; rm data/full; \"$0\" sync >/dev/null; \"$0\" check --digest"
    );
    let output = quiet(on_a_small_disk(&sandbox, megabytes + 32, &script).unwrap(), "with room again");
    assert_eq!(output.stdout, world.digest, "{output:#?}");
    assert!(!output.stderr.contains("rebuilt"), "{output:#?}");
}

/// No command opened the stores.
#[test]
fn an_old_generation_that_cannot_be_removed_is_no_reason_to_refuse() {
    let world = World::new();
    let sandbox = world.copy();
    let size = files(&sandbox.data()).iter().map(|file| fs::metadata(file).unwrap().len() + 4096).sum::<u64>();
    // What is mounted is not removed.
    let mount = |name: &str| format!("mkdir data/{name}/9; mount -t tmpfs tmpfs data/{name}/9 || exit 99; ");
    let script = format!("{}\"$0\" search redis; \"$0\" check --digest", DAMAGED.map(mount).concat());
    let Some(output) = on_a_small_disk(&sandbox, (size >> 20) + 32, &script) else {
        skipped("a directory that cannot be removed cannot be tried, as 'unshare' or 'mount' is refused here");
        return;
    };
    let output = quiet(output, "mounted");
    assert_eq!(output.code, 0, "{output:#?}");
    assert!(output.stdout.starts_with("Found ") && output.stdout.ends_with(&world.digest), "{output:#?}");
}

#[test]
fn a_copy_for_which_there_is_no_room_is_refused_for_that() {
    let world = World::new();
    let sandbox = world.copy();
    let size = files(&sandbox.data()).iter().map(|file| fs::metadata(file).unwrap().len() + 4096).sum::<u64>();
    let script = "dd if=/dev/zero of=data/full bs=4k 2>/dev/null; \"$0\" backup copy.sqlite";
    let Some(output) = on_a_small_disk(&sandbox, (size >> 20) + 8, script) else {
        skipped("a full disk cannot be tried, as 'unshare' or 'mount' is refused here");
        return;
    };
    let output = quiet(output, "full");
    assert!(output.code != 0 && output.stderr.contains("there is no room left on the disk"), "{output:#?}");
    assert!(!output.stderr.contains("locked"), "{output:#?}");
}

#[test]
fn too_few_descriptors_are_told_and_nothing_is_dropped() {
    let world = World::new();
    let sandbox = world.copy();
    let program = sandbox.command(&[]).get_program().to_owned();
    let limited = |sandbox: &Sandbox, descriptors: u32, args: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"")]).arg(&program).args(args);
        command.current_dir(sandbox.path()).env_clear().stdin(Stdio::null());
        command.envs(sandbox.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
        quiet(sandbox.output(&command.output().unwrap()), &format!("{descriptors} descriptors"))
    };
    let mut refused = 0;
    for descriptors in [64, 97, 128, 256] {
        for args in COMMANDS {
            let output = limited(&sandbox, descriptors, args);
            assert!(!output.stderr.contains("rebuilt"), "{descriptors}: {output:#?}");
            if output.code != 0 {
                refused += 1;
                assert!(!output.stderr.contains("damaged"), "{descriptors}: {output:#?}");
            }
        }
    }
    let output = limited(&sandbox, 64, &["search", "redis"]);
    assert!(output.error(1).contains("too many files are open"), "{output:#?}");
    assert!(refused >= COMMANDS.len(), "{refused}");
    is_well(&world, &sandbox, "with more descriptors");
    // Graph and index are open twice meanwhile: it is done to the end or not begun.
    let output = limited(&sandbox, 128, &["forget", "acme/shop#3"]);
    assert!(output.code != 0 && output.stderr.contains("too many files are open"), "{output:#?}");
    is_well(&world, &sandbox, "after nothing was forgotten");
    let output = limited(&sandbox, 256, &["forget", "acme/shop#3"]);
    assert_eq!(output.code, 0, "{output:#?}");
    assert_eq!(sandbox.run(&["show", "acme/shop#3"]).code, 1);
}
