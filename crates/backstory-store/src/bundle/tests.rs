//! Bundles: what they bring, and that nothing else is taken for one.

use super::*;

/// A directory that looks like a data directory.
fn data_dir() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (path, text) in [
        ("lock", "1"),
        ("server.json", "{}"),
        ("graph/1/CURRENT", "graph"),
        ("graph/1/LOCK", ""),
        ("index/1/documents.lance/data/a.lance", "index"),
        ("index/1/image.arrow", "image"),
        ("clones/acme%2Fshop.git/HEAD", "ref: refs/heads/main\n"),
        ("clones/acme%2Fshop.git/config", "[core]\n\tsshCommand = evil\n"),
        ("clones/acme%2Fshop.git/hooks/post-checkout", "evil"),
        ("clones/acme%2Fshop.git/objects/pack/pack-1.pack", "pack"),
        ("clones/acme%2Fshop.git/objects/info/alternates", "/etc"),
    ] {
        let path = directory.path().join(path);
        create_parent(&path).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    drop(Ledger::open(&directory.path().join(LEDGER)).expect("a ledger"));
    directory
}

fn bundle(directory: &tempfile::TempDir) -> (PathBuf, BundleSize) {
    let file = directory.path().join("x.bundle");
    let stage = Stage::prepare(directory.path(), &directory.path().join("stage"), &[]).expect("a stage");
    let size = write_bundle(&stage, &file, "1", "d").expect("a bundle");
    drop(stage);
    assert!(!directory.path().join("stage").exists());
    (file, size)
}

/// Room for every bundle of these tests.
const FREE: u64 = 1 << 30;

#[test]
fn bundle_brings_the_files_of_a_data_directory_and_nothing_else() {
    let source = data_dir();
    let (file, size) = bundle(&source);
    assert_eq!(size.files, 5);
    let target = source.path().join("target");
    let (header, read) = read_bundle(&file, &target, FREE).expect("files");
    assert_eq!((header.digest.as_str(), read), ("d", size));
    let text = |path: &str| fs::read_to_string(target.join(path)).ok();
    assert_eq!(text("index/1/documents.lance/data/a.lance").as_deref(), Some("index"));
    assert_eq!(text("clones/acme%2Fshop.git/config").as_deref(), Some(CLONE_CONFIG));
    for absent in ["lock", "server.json", "graph/1/LOCK", "clones/acme%2Fshop.git/hooks/post-checkout"] {
        assert_eq!(text(absent), None, "{absent}");
    }
    assert_eq!(text("clones/acme%2Fshop.git/objects/info/alternates"), None);
}

#[test]
fn tokens_in_the_ledger_of_a_bundle_are_not_taken_over() {
    let source = data_dir();
    let file = source.path().join("x.bundle");
    let stage = Stage::prepare(source.path(), &source.path().join("stage"), &[]).expect("a stage");
    let tokens = |ledger: &Path| {
        let connection = rusqlite::Connection::open(ledger).expect("a ledger");
        connection.query_row("SELECT COUNT(*) FROM tokens", [], |row| row.get::<_, i64>(0)).expect("a count")
    };
    let insert =
        "INSERT INTO tokens (id, name, hash, grants, created_at, created_by) VALUES ('a', 'b', x'00', '{}', 0, 'c')";
    rusqlite::Connection::open(stage.ledger()).expect("a ledger").execute(insert, []).expect("a row");
    assert_eq!(tokens(&stage.ledger()), 1);
    write_bundle(&stage, &file, "1", "d").expect("a bundle");
    let target = source.path().join("target");
    read_bundle(&file, &target, FREE).expect("files");
    assert_eq!(tokens(&target.join(LEDGER)), 0);
}

#[test]
fn what_is_no_bundle_or_damaged_is_refused_and_leaves_nothing() {
    let source = data_dir();
    let (file, _) = bundle(&source);
    let target = source.path().join("target");
    let good = fs::read(&file).expect("bytes");
    let refused = |bytes: &[u8]| {
        fs::write(&file, bytes).expect("a file");
        let error = read_bundle(&file, &target, FREE).expect_err("an error").to_string();
        assert!(!target.exists());
        error
    };
    assert_eq!(refused(b"SQLite format 3\0 and more of it"), "it is not a backstory bundle");
    assert_eq!(refused(b""), "it is not a backstory bundle");
    assert!(refused(b"backstory bundle 9\nwhatever").starts_with("it is a bundle of another format"));
    for end in [MAGIC.len(), good.len() / 2, good.len() - 1] {
        assert!(refused(&good[..end]).starts_with("it is damaged"), "{end}");
    }
    for at in (MAGIC.len()..good.len()).step_by((good.len() / 200).max(7)) {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        fs::write(&file, &bad).expect("a file");
        // A flag that does not matter may have changed; then the files are as they were.
        if read_bundle(&file, &target, FREE).is_ok() {
            assert_eq!(fs::read(target.join("graph/1/CURRENT")).expect("a file"), b"graph");
            fs::remove_dir_all(&target).expect("removed");
        }
        assert!(!target.exists());
    }
}

/// A bundle of these files, whose header says that they have these bytes.
fn forged(directory: &Path, files: &[(&str, u64, &[u8])]) -> PathBuf {
    let file = directory.join("forged.bundle");
    let mut out = File::create(&file).expect("a file");
    out.write_all(MAGIC).expect("bytes");
    let mut out = zstd::Encoder::new(out, LEVEL).expect("an encoder");
    let named = files.iter().map(|(path, bytes, _)| BundledFile { path: (*path).to_owned(), bytes: *bytes }).collect();
    let header = BundleHeader { version: "1".to_owned(), digest: "d".to_owned(), projects: vec![], files: named };
    let text = serde_json::to_vec(&header).expect("JSON");
    out.write_all(&(text.len() as u64).to_le_bytes()).expect("bytes");
    out.write_all(&text).expect("bytes");
    let mut hashes = Vec::new();
    for (path, _, content) in files {
        hashes.extend_from_slice(&sha256(path.as_bytes()));
        hashes.extend_from_slice(&sha256(content));
        out.write_all(&sha256(content)).expect("bytes");
        out.write_all(content).expect("bytes");
    }
    out.write_all(&sha256(&hashes)).expect("bytes");
    out.finish().expect("a file");
    file
}

#[test]
fn forged_bundles_write_nothing_outside_and_no_more_than_there_is_room_for() {
    const X: &[u8] = b"x";
    let directory = tempfile::tempdir().expect("a directory");
    let target = directory.path().join("target");
    let refused = |files: &[(&str, u64, &[u8])]| {
        let error = read_bundle(&forged(directory.path(), files), &target, FREE).expect_err("an error");
        assert!(!target.exists());
        error.to_string()
    };
    let ledger = ("ledger.sqlite", 6, &b"ledger"[..]);
    assert_eq!(refused(&[ledger, ("../x", 1, X)]), "it has the file '../x', which no data directory has");
    assert_eq!(
        refused(&[ledger, ("clones/a.git/config", 1, X)]),
        "it has the file 'clones/a.git/config', which no data directory has"
    );
    assert!(refused(&[ledger, ("graph/1/x", FREE, X)]).contains("the disk has room for"));
    assert!(refused(&[ledger, ("graph/1/x", u64::MAX, X)]).starts_with("it has 18446744073709551615 bytes"));
    assert!(refused(&[ledger, ledger]).contains("ledger.sqlite"), "the same file twice");
    assert!(refused(&[ledger, ("graph/x", 1, X), ("graph/x/y", 1, X)]).contains("graph/x"));
    assert_eq!(refused(&[("graph/x", 1, X)]), "it is damaged: it has no ledger");
    assert_eq!(refused(&[ledger]), "it is damaged: its ledger is none of backstory");
    assert!(!directory.path().join("x").exists());
}

#[test]
fn ledger_that_acts_by_itself_is_refused() {
    let source = data_dir();
    let ledger = source.path().join(LEDGER);
    rusqlite::Connection::open(&ledger)
        .and_then(|ledger| ledger.execute_batch("CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END"))
        .expect("a trigger");
    let (file, _) = bundle(&source);
    let error = read_bundle(&file, &source.path().join("target"), FREE).expect_err("an error");
    assert_eq!(error.to_string(), "it is damaged: its ledger is none of backstory");
}

#[test]
fn bundle_of_one_project_has_its_clone_and_no_other() {
    let source = data_dir();
    let ledger = rusqlite::Connection::open(source.path().join(LEDGER)).expect("a database");
    ledger
        .execute_batch(
            "INSERT INTO items (project, kind, key, seq, fetched_at, hash) VALUES
                 ('acme/shop', 'issue', '#1', 1, 0, x''), ('acme/till', 'issue', '#1', 2, 0, x'')",
        )
        .expect("rows");
    drop(ledger);
    let clone = source.path().join("clones/acme%2Ftill.git/HEAD");
    create_parent(&clone).expect("a directory");
    fs::write(clone, "ref: refs/heads/main\n").expect("a file");
    let at = source.path().join("stage");
    let unknown = Stage::prepare(source.path(), &at, &["acme/absent".to_owned()]).expect_err("an error");
    assert_eq!(unknown.to_string(), "nothing is stored of the project 'acme/absent'");
    let stage = Stage::prepare(source.path(), &at, &["acme/shop".to_owned()]).expect("a stage");
    assert!(!stage.is_whole());
    let file = source.path().join("x.bundle");
    write_bundle(&stage, &file, "1", "d").expect("a bundle");
    let target = source.path().join("target");
    let (header, _) = read_bundle(&file, &target, FREE).expect("files");
    assert_eq!(header.projects, ["acme/shop"]);
    assert!(target.join("clones/acme%2Fshop.git/objects/pack/pack-1.pack").exists());
    assert!(target.join("index/1/documents.lance/data/a.lance").exists());
    assert!(!target.join("clones/acme%2Ftill.git").exists() && !target.join("graph").exists());
    let both = ["acme/till".to_owned(), "acme/shop".to_owned()];
    drop(stage);
    assert!(Stage::prepare(source.path(), &at, &both).expect("a stage").is_whole());
}

#[test]
fn only_paths_of_a_data_directory_are_allowed() {
    for path in ["ledger.sqlite", "graph/1/CURRENT", "index/LEDGER", "clones/a.git/refs/heads/main"] {
        assert!(is_allowed(path), "{path}");
    }
    for path in [
        "../ledger.sqlite",
        "/etc/passwd",
        "graph/../../x",
        "graph//x",
        "lock",
        "config.toml",
        "clones/a.git/config",
        "clones/a.git/hooks/x",
        "clones/a.git/objects/info/alternates",
        "clones/a/HEAD",
        "",
    ] {
        assert!(!is_allowed(path), "{path}");
    }
}
