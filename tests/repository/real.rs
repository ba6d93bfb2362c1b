//! A real repository, if `BACKSTORY_TEST_REPOSITORY` names a bare clone: its history is given to an origin bit by bit.

use std::{path::PathBuf, process::Command};

use backstory_engine::ledger::Branches;

use crate::support::Indexed;

/// How many positions of its first-parent history are read one after the other.
const POSITIONS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn real_repository_read_bit_by_bit() {
    let Some(source) = std::env::var_os("BACKSTORY_TEST_REPOSITORY").map(PathBuf::from) else { return };
    let directory = tempfile::tempdir().unwrap();
    let origin = directory.path().join("origin.git");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&origin).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let cloned = Command::new("git").args(["clone", "--quiet", "--bare"]).arg(&source).arg(&origin).status().unwrap();
    assert!(cloned.success());
    let head = git(&["symbolic-ref", "HEAD"]);
    let line = git(&["rev-list", "--first-parent", "--reverse", "HEAD"]);
    let line: Vec<&str> = line.lines().collect();
    // Only the one branch is there, so that its commits arrive bit by bit.
    let refs = git(&["for-each-ref", "--format=%(refname)"]);
    for name in refs.lines().filter(|name| *name != head) {
        git(&["update-ref", "-d", name]);
    }
    // The second half: the beginning is read at once.
    let count = POSITIONS.min(line.len());
    let positions = (1..=count).map(|at| line[line.len() / 2 + (line.len() - line.len() / 2) * at / count - 1]);
    let mut indexed = None;
    for (number, position) in positions.enumerate() {
        git(&["update-ref", &head, position]);
        let indexed = match &mut indexed {
            Some(indexed) => indexed,
            none => none.insert(Indexed::added(&origin, Branches::Default).await),
        };
        indexed.sync().await;
        assert_eq!(indexed.digest().await, indexed.rebuild_graph().await, "position {number}: {position}");
    }
    indexed.unwrap().equals_cold(&origin, "at the end").await;
}
