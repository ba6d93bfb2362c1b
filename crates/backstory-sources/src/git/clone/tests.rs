//! Tests of cloning and fetching.

use super::*;
use crate::git::{command::GitSettings, fixture::Fixture};

fn git() -> GitProgram {
    GitProgram::find(GitSettings::default()).unwrap()
}

fn request<'a>(address: &'a Address, directory: &'a Path) -> CloneRequest<'a> {
    CloneRequest { address, directory, more_refs: &[], depth: None, credential: None, limits: CloneLimits::default() }
}

fn refs_of(directory: &Path) -> String {
    let limits = Limits { time: Duration::from_secs(20), output: 1 << 20 };
    let output =
        git().command(Some(directory), NetworkAccess::Nothing, "for-each-ref").run(limits, &Cancel::default()).unwrap();
    String::from_utf8(output).unwrap()
}

/// A listing of a directory with sizes and times, to tell that nothing was written.
fn listing(path: &Path) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
    let mut all = Vec::new();
    for_each_file(path, |file, bytes| {
        all.push((file.to_owned(), bytes, fs::metadata(file).unwrap().modified().unwrap()))
    });
    all.sort();
    all
}

#[test]
fn a_clone_follows_its_origin_and_leaves_it_alone() {
    let mut origin = Fixture::new();
    origin.write("a", "1\n");
    origin.commit_all("one");
    origin.git(["tag", "v1"]);
    origin.git(["update-ref", "refs/merge-requests/7/head", "HEAD"]);
    origin.switch("feature/x");
    origin.write("b", "1\n");
    let feature = origin.commit_all("two");
    origin.switch("main");
    let before = listing(origin.path());
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("clones/shop.git");
    let address = Address::local(origin.path()).unwrap();
    let more_refs = ["refs/merge-requests/*/head".to_owned()];
    let request = CloneRequest { more_refs: &more_refs, ..request(&address, &directory) };
    let state = clone(&git(), request, &Cancel::default()).unwrap();
    assert_eq!((state.default_branch.as_deref(), state.empty, state.shallow), (Some("main"), false, false));
    assert!(state.bytes > 0);
    assert_eq!(refs_of(&directory), String::from_utf8(origin.git(["for-each-ref"])).unwrap());
    assert_eq!(listing(origin.path()), before);
    assert!(!directory.join("hooks").exists());
    assert!(matches!(clone(&git(), request, &Cancel::default()), Err(CloneError::Exists { .. })));

    // A branch becomes a directory of branches, a tag moves, the default branch is another one.
    origin.git(["branch", "-D", "feature/x"]);
    origin.git(["branch", "feature", &feature.to_string()]);
    origin.write("a", "2\n");
    origin.commit_all("three");
    origin.git(["tag", "--force", "v1"]);
    origin.git(["branch", "-m", "main", "trunk"]);
    let state = fetch(&git(), request, &Cancel::default()).unwrap();
    assert_eq!(state.default_branch.as_deref(), Some("trunk"));
    assert_eq!(refs_of(&directory), String::from_utf8(origin.git(["for-each-ref"])).unwrap());
    assert_eq!(fs::read_dir(home.path().join("clones")).unwrap().count(), 1);
}

#[test]
fn empty_and_shallow_repositories_say_so() {
    let home = tempfile::tempdir().unwrap();
    let mut origin = Fixture::new();
    let directory = home.path().join("empty.git");
    let address = Address::local(origin.path()).unwrap();
    let state = clone(&git(), request(&address, &directory), &Cancel::default()).unwrap();
    assert!(state.empty && state.default_branch.is_none());
    origin.write("a", "1\n");
    origin.commit_all("one");
    origin.write("a", "2\n");
    origin.commit_all("two");
    let state = fetch(&git(), request(&address, &directory), &Cancel::default()).unwrap();
    assert!(!state.empty && state.default_branch.as_deref() == Some("main"));

    let shallow = home.path().join("shallow");
    let url = format!("file://{}", origin.path().display());
    origin.git(["clone", "--quiet", "--depth=1", &url, shallow.to_str().unwrap()]);
    let address = Address::local(&shallow).unwrap();
    let state = clone(&git(), request(&address, &home.path().join("shallow.git")), &Cancel::default()).unwrap();
    assert!(state.shallow && !state.empty);
}

#[test]
fn a_repository_of_somebody_else_is_cloned() {
    let mut origin = Fixture::new();
    origin.write("a", "1\n");
    origin.commit_all("one");
    let mut all = vec![origin.path().to_owned(), origin.git_dir()];
    for_each_file(&origin.git_dir(), |file, _| all.push(file.to_owned()));
    if all.iter().any(|path| std::os::unix::fs::chown(path, Some(54_321), Some(54_321)).is_err()) {
        // Only root can give a file away, so only root can try this.
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let address = Address::local(origin.path()).unwrap();
    let state = clone(&git(), request(&address, &home.path().join("x.git")), &Cancel::default()).unwrap();
    assert!(!state.empty);
}

#[test]
fn what_is_no_repository_or_damaged_is_told_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("x.git");
    let fake = home.path().join("fake");
    fs::create_dir_all(fake.join(".git")).unwrap();
    let address = Address::local(&fake).unwrap();
    let error = clone(&git(), request(&address, &target), &Cancel::default()).unwrap_err();
    assert!(matches!(error, CloneError::NotARepository { .. }), "{error}");

    let mut origin = Fixture::new();
    origin.write("a", "1\n");
    origin.commit_all("one");
    let address = Address::local(origin.path()).unwrap();
    clone(&git(), request(&address, &target), &Cancel::default()).unwrap();
    let before = refs_of(&target);
    origin.write("a", "2\n");
    origin.commit_all("two");
    let blob = origin.sha("HEAD:a");
    origin.corrupt(blob);
    let error = fetch(&git(), request(&address, &target), &Cancel::default()).unwrap_err();
    assert!(matches!(error, CloneError::Corrupt { .. }), "{error}");
    assert_eq!(refs_of(&target), before);
    let error = clone(&git(), request(&address, &home.path().join("y.git")), &Cancel::default()).unwrap_err();
    assert!(matches!(error, CloneError::Corrupt { .. }), "{error}");
    assert!(!home.path().join("y.git").exists());
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
}

#[test]
fn objects_that_fsck_forbids_do_not_get_in() {
    let origin = Fixture::new();
    let blob = origin.raw_object("blob", "x");
    let mut tree = b"100644 .git\0".to_vec();
    tree.extend_from_slice(blob.as_bytes());
    let tree = origin.raw_object("tree", tree);
    let commit = origin.say(["commit-tree", &tree.to_string(), "-m", "evil"]);
    origin.git(["update-ref", "HEAD", &commit]);
    let home = tempfile::tempdir().unwrap();
    let address = Address::local(origin.path()).unwrap();
    let error = clone(&git(), request(&address, &home.path().join("x.git")), &Cancel::default()).unwrap_err();
    assert!(matches!(&error, CloneError::Forbidden { object, .. } if *object == tree.to_string()), "{error}");
    let said = error.to_string();
    assert!(said.contains("(hasDotgit: contains '.git')") && said.contains("git filter-repo"), "{said}");
    let tree = origin.raw_object("tree", "not a tree");
    let commit = origin.raw_object("commit", format!("tree {tree}\nauthor x\n\nm"));
    fs::write(origin.git_dir().join("refs/heads/bad"), format!("{commit}\n")).unwrap();
    let error = clone(&git(), request(&address, &home.path().join("y.git")), &Cancel::default()).unwrap_err();
    assert!(matches!(error, CloneError::Corrupt { .. } | CloneError::Git(_)), "{error}");
    assert!(!home.path().join("y.git").exists());
}

#[test]
fn limits_patterns_locks_and_leftovers() {
    let mut origin = Fixture::new();
    origin.write("a", "1\n");
    origin.commit_all("one");
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("x.git");
    let address = Address::local(origin.path()).unwrap();
    let small = CloneLimits { bytes: 10, ..CloneLimits::default() };
    let error =
        clone(&git(), CloneRequest { limits: small, ..request(&address, &target) }, &Cancel::default()).unwrap_err();
    assert!(matches!(error, CloneError::Git(GitError::TooLarge { .. })), "{error}");
    assert!(!target.exists());
    for wrong in ["heads/*", "refs/a:refs/b", "refs/*/x/*", "-refs/x", "refs/../x", "refs/replace/*", "^refs/x"] {
        let more_refs = [wrong.to_owned()];
        let wrong = CloneRequest { more_refs: &more_refs, ..request(&address, &target) };
        assert!(matches!(clone(&git(), wrong, &Cancel::default()), Err(CloneError::Refspec(_))));
    }
    clone(&git(), request(&address, &target), &Cancel::default()).unwrap();
    let held = lock(&target).unwrap();
    assert!(matches!(fetch(&git(), request(&address, &target), &Cancel::default()), Err(CloneError::Busy { .. })));
    drop(held);
    fs::write(target.join("packed-refs.lock"), "").unwrap();
    fs::write(target.join("refs/heads/main.lock"), "").unwrap();
    fs::write(target.join("objects/pack/tmp_pack_1"), "").unwrap();
    origin.write("a", "2\n");
    origin.commit_all("two");
    fetch(&git(), request(&address, &target), &Cancel::default()).unwrap();
    assert!(refs_of(&target).contains(&origin.sha("HEAD").to_string()));
    assert!(!target.join("objects/pack/tmp_pack_1").exists());
}

#[test]
fn tokens_are_sent_encrypted_to_the_host_alone() {
    let address =
        Address::check("https://example.com/a", &Default::default(), |_, _| Ok(vec![[1, 1, 1, 1].into()])).unwrap();
    let credential = Credential { username: "oauth2".to_owned(), token: "t0psecret".to_owned().into() };
    let directory = Path::new("/nonexistent");
    let request = CloneRequest { credential: Some(&credential), ..request(&address, directory) };
    let command = transfer(&git(), None, request, "fetch").unwrap();
    let environment = command.environment();
    for value in [
        "http.https://example.com/.extraHeader",
        "Authorization: Basic b2F1dGgyOnQwcHNlY3JldA==",
        "example.com:443:1.1.1.1",
    ] {
        assert!(environment.iter().any(|set| set == value), "{value}");
    }
    assert!(!format!("{command:?}").contains("b2F1dGgy"));
    let address =
        Address::check("http://example.com/a", &Default::default(), |_, _| Ok(vec![[1, 1, 1, 1].into()])).unwrap();
    let request = CloneRequest { address: &address, ..request };
    assert!(matches!(transfer(&git(), None, request, "fetch"), Err(CloneError::TokenInTheClear { .. })));
}
