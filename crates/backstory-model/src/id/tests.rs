//! Tests of ids and IRIs.

use proptest::prelude::*;

use super::*;

#[test]
fn reads_what_it_prints() {
    for text in [
        "acme/shop",
        "group/sub.group/project",
        "acme/shop#12",
        "acme/shop!7",
        "acme/shop!7~6a9c1750b37d",
        "acme/shop#12#note_302",
        "acme/shop@1a2b3c4",
        "acme/shop:src/a b/ü.rs",
        "acme/shop:src/a%23%25.rs",
        "acme/shop:src/a%7E12",
        "acme/shop:src/a.rs#Store::open~2",
        "acme/shop:src/a.rs~12",
        "acme/shop@1a2b3c4~5",
        "acme/shop@refs/heads/feature/x",
        "acme/shop@refs/tags/v1.0",
        "acme/shop~to do",
        "acme/shop%3",
        "@alice@example.com",
        "@alice",
        "@dependabot[bot]",
        "^PROJ-77",
        "^bug#12",
    ] {
        let id: NodeId = text.parse().unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!(NodeId::from_iri(&id.iri()), Some(id), "{text}");
    }
}

#[test]
fn refuses_what_is_no_reference() {
    for text in [
        "",
        "#12",
        "!7",
        "acme/shop#",
        "acme/shop#x",
        "acme/shop#1x",
        "a//b#1",
        "@",
        "acme/shop@xyz",
        "a b",
        "^",
        "^a b",
    ] {
        assert!(text.parse::<NodeId>().is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn iri_round_trips_any_label_and_path(name in "\\PC{1,40}", path in "[^\\x00]{1,40}") {
        for id in [
            NodeId::Label { project: "a/b".into(), name: name.clone() },
            NodeId::file("a/b", path.clone()),
            NodeId::entity("a/b", path.clone(), name.clone()),
            NodeId::DesignNote { project: "a/b".into(), source: NoteSource::File(path.clone()), line: 7 },
        ] {
            prop_assert_eq!(NodeId::from_iri(&id.iri()), Some(id.clone()));
            let mut iri = id.iri().into_bytes().into_iter();
            let allowed = iri.all(|b| b > b' ' && !b"<>\"{}|\\^`".contains(&b));
            prop_assert!(allowed);
        }
    }

    #[test]
    fn paths_read_back(path in "[a-z~#%0-9E/]{1,12}", name in "[a-z:~0-9]{1,8}") {
        let source = NoteSource::File(path.clone());
        for id in [
            NodeId::file("a/b", path.clone()),
            NodeId::entity("a/b", path.clone(), name.clone()),
            NodeId::DesignNote { project: "a/b".into(), source, line: 7 },
        ] {
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }
    }

    #[test]
    fn parse_never_panics(text in "\\PC{0,60}") {
        let _ = text.parse::<NodeId>();
    }
}

#[test]
fn revisions_are_what_git_writes_and_nothing_that_searches() {
    for text in ["HEAD", "HEAD~3", "v1.0.0", "main^", "main^2~1", "release/1.2"] {
        assert!(is_revision(text), "{text}");
    }
    for text in ["", ":/fix", "HEAD^{/fix}", "main@{1}", "~3", "a b", "main:src/a.rs", "-x"] {
        assert!(!is_revision(text), "{text}");
    }
}
