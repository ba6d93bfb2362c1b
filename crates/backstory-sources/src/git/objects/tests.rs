//! Tests of reading objects.

use super::*;
use crate::git::fixture::Fixture;

fn path(text: &str) -> RepoPath {
    RepoPath::from_escaped(text)
}

#[test]
fn files_are_found_by_commit_and_path() {
    let mut origin = Fixture::new();
    origin.write("src/lib.rs", "one\ntwo\nthree\n").write(b"caf\xe9/-x\ny", "odd\n").write("empty", "");
    std::os::unix::fs::symlink("src/lib.rs", origin.path().join("link")).unwrap();
    origin.git(["add", "--all"]);
    let module = Sha::from_bytes([9; 20]);
    origin.index("160000", module, "vendor/module");
    let commit = origin.commit_index("all", &[]);
    let objects = Objects::open(&origin.git_dir()).unwrap();
    assert_eq!(objects.file(commit, &path("src/lib.rs"), 100).unwrap(), b"one\ntwo\nthree\n");
    assert_eq!(objects.file(commit, &RepoPath::from_bytes(b"caf\xe9/-x\ny"), 100).unwrap(), b"odd\n");
    assert_eq!(objects.file(commit, &path("link"), 100).unwrap(), b"src/lib.rs");
    assert!(objects.entry(commit, &path("src")).unwrap().mode == FileMode::TREE);
    for absent in ["", "src/", "src/lib", "src/lib.rs/x", "/src", "nope", "vendor/module/x"] {
        let error = objects.entry(commit, &path(absent)).unwrap_err();
        assert!(matches!(error, ObjectError::NoSuchPath { .. }), "{absent}: {error}");
    }
    assert!(matches!(objects.file(commit, &path("src"), 100), Err(ObjectError::OtherKind { .. })));
    assert!(matches!(objects.file(commit, &path("vendor/module"), 100), Err(ObjectError::OtherKind { .. })));
    assert!(matches!(objects.file(commit, &path("src/lib.rs"), 5), Err(ObjectError::TooLarge { size: 14, .. })));
    assert!(matches!(objects.entry(module, &path("x")), Err(ObjectError::Absent(id)) if id == module));

    let files = objects.list(commit, 100).unwrap().files;
    let listed: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.mode.to_string(), file.size)).collect();
    let expected = [
        (r#""caf\351/-x\ny""#, "100644", Some(4)),
        ("empty", "100644", Some(0)),
        ("link", "120000", Some(10)),
        ("src/lib.rs", "100644", Some(14)),
        ("vendor/module", "160000", None),
    ];
    assert_eq!(listed, expected.map(|(path, mode, size)| (path, mode.to_owned(), size)));
    let few = objects.list(commit, 3).unwrap();
    assert_eq!((few.files.len(), few.left_out), (3, 2));
    assert_eq!(few.named, [path("src/"), path("vendor/")]);
}

#[test]
fn lines_are_counted_from_one() {
    let origin = Fixture::new();
    let blob = origin.raw_object("blob", "one\r\ntwo\nthree");
    let empty = origin.raw_object("blob", "");
    let objects = Objects::open(&origin.git_dir()).unwrap();
    for (wanted, text, first, count) in [
        (1..2, "one\r\n", 1, 1),
        (2..4, "two\nthree", 2, 2),
        (0..100, "one\r\ntwo\nthree", 1, 3),
        (3..100, "three", 3, 1),
        (4..9, "", 4, 0),
        (2..2, "", 2, 0),
        #[allow(clippy::reversed_empty_ranges)]
        (3..1, "", 3, 0),
    ] {
        let lines = objects.read_lines(blob, wanted.clone(), 100).unwrap();
        assert_eq!(lines, Lines { text: text.to_owned(), first, count, total: 3 }, "{wanted:?}");
    }
    assert_eq!(objects.read_lines(empty, 1..9, 100).unwrap().total, 0);
}

#[test]
fn objects_have_kinds() {
    let mut origin = Fixture::new();
    origin.write("a", "1\n");
    let one = origin.commit_all("one");
    origin.git(["tag", "--annotate", "v1", "-m", "note"]);
    let objects = Objects::open(&origin.git_dir()).unwrap();
    for (id, kind) in [
        (one, Some(ObjectKind::Commit)),
        (origin.sha("HEAD^{tree}"), Some(ObjectKind::Tree)),
        (origin.sha("HEAD:a"), Some(ObjectKind::Blob)),
        (origin.sha("refs/tags/v1"), Some(ObjectKind::Tag)),
        (Sha::from_bytes([7; 20]), None),
    ] {
        assert_eq!(objects.kind(id).unwrap(), kind);
    }
}

#[test]
fn many_threads_read_and_see_what_is_new() {
    let mut origin = Fixture::new();
    let ids: Vec<_> = (0..40).map(|n| origin.raw_object("blob", format!("content {n}\n"))).collect();
    let objects = Objects::open(&origin.git_dir()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (n, id) in ids.iter().enumerate() {
                    assert_eq!(objects.blob(*id, 100).unwrap(), format!("content {n}\n").into_bytes());
                }
            });
        }
    });
    origin.write("a", "late\n");
    let late = origin.commit_all("late");
    origin.git(["repack", "-a", "-d", "-q"]);
    assert_eq!(objects.file(late, &path("a"), 100).unwrap(), b"late\n");
    let damaged = origin.raw_object("blob", "soon damaged");
    origin.corrupt(damaged);
    assert!(matches!(objects.blob(damaged, 100), Err(ObjectError::Unreadable { .. })));
    assert!(matches!(Objects::open(Path::new("/nonexistent")), Err(ObjectError::Unreadable { .. })));
}
