//! Tests of document metadata in memory.

use backstory_model::document_type::DocumentType;

use std::collections::{BTreeSet, HashSet};

use super::{
    super::{
        types::PathPart,
        view::{Selection, View},
    },
    *,
};

fn by(author: &str, label: &str) -> Filterable {
    Filterable {
        thread: "a/b#1".to_owned(),
        kind: DocumentKind::Issue,
        project: "a/b".to_owned(),
        author: Some(author.to_owned()),
        labels: vec![label.to_owned()],
        state: None,
        created_at: 0,
        confidential: false,
        paths: String::new(),
        document_type: DocumentType::Issue,
    }
}

#[test]
fn names_are_known_as_long_as_a_document_has_them() {
    let names = Names::default();
    let mut facts = Facts::new(names.clone());
    let written = |facts: &Facts, what: Named, name: &str| -> Vec<String> {
        facts.written(what, name).map(str::to_owned).collect()
    };
    facts.insert("a/b#1", &by("Ann", "UI"), 0.0, "").unwrap();
    facts.insert("a/b#2", &by("ann", "UI"), 0.0, "").unwrap();
    assert_eq!(written(&facts, Named::Author, "ANN"), ["Ann", "ann"]);
    assert_eq!(written(&facts, Named::Label, "ui"), ["UI"]);
    facts.insert("a/b#1", &by("bob", "API"), 0.0, "").unwrap();
    assert_eq!(written(&facts, Named::Author, "ANN"), ["ann"]);
    assert_eq!(written(&facts, Named::Label, "ui"), ["UI"]);
    facts.remove("a/b#2");
    assert_eq!(written(&facts, Named::Author, "ANN"), [""; 0]);
    assert_eq!(written(&facts, Named::Label, "ui"), [""; 0]);

    let version = version_id("a/b#1", "main");
    let of_version = Filterable { thread: version.clone(), ..by("cid", "API") };
    facts.insert_version(&version, &of_version, 0.0).unwrap();
    assert_eq!(written(&facts, Named::Author, "Cid"), ["cid"]);
    facts.remove(&version);
    assert_eq!(written(&facts, Named::Author, "Cid"), [""; 0]);
    assert_eq!(written(&facts, Named::Label, "api"), ["API"]);
    let mut used = vec![false; names.read().len()];
    facts.mark_names(&mut used);
    names.retain(&used);
    assert_eq!(["Ann", "cid", "bob", "a/b#1"].map(|name| names.find(name).is_some()), [false, false, true, true]);
    assert_eq!(facts.get("a/b#1").unwrap().author.as_deref(), Some("bob"));
}

#[test]
fn parts_of_paths_are_found_at_their_places() {
    let mut facts = Facts::new(Names::default());
    let of = Filterable { paths: "\nsrc/a.rs\nREADME.md\n".to_owned(), ..by("ann", "UI") };
    facts.insert("a/b#1", &of, 0.0, "").unwrap();
    let has = |part: PathPart| facts.get("a/b#1").unwrap().has_path_with(&part);
    for (prefix, expected) in
        [("src/", true), ("src/a.rs", true), ("READ", true), ("", true), ("rc/", false), ("a.rs", false)]
    {
        assert_eq!(has(PathPart::beginning(prefix)), expected, "{prefix}");
    }
    for (extension, expected) in [("rs", true), ("md", true), ("s", false), ("a", false)] {
        assert_eq!(has(PathPart::extension(extension)), expected, "{extension}");
    }
}

#[test]
fn the_newest_document_is_one_that_is_shown() {
    let mut facts = Facts::new(Names::default());
    let of = |number: u32, version: &str, created_at: i64| {
        let id = format!("a/b#{number}{version}");
        (id.clone(), Filterable { thread: id, created_at, ..by("ann", "UI") })
    };
    for (number, created_at) in [(1, 5), (2, 9), (3, 9)] {
        let (id, filterable) = of(number, "", created_at);
        facts.insert(&id, &filterable, 0.0, "").unwrap();
    }
    let visibility = Visibility::everything();
    let newest = |facts: &Facts, view: &View| {
        let selection = Selection { visibility: &visibility, view: Some(view) };
        facts.newest(selection).map(Timestamp::as_millisecond)
    };
    let mut view = View::default();
    assert_eq!(newest(&facts, &view), Some(9));
    for (hidden, expected) in [("a/b#2", 9), ("a/b#3", 5)] {
        view.hidden.insert(hidden.to_owned());
        assert_eq!(newest(&facts, &view), Some(expected));
    }
    let (row, filterable) = of(2, "\nmain", 7);
    facts.insert_version(&row, &filterable, 0.0).unwrap();
    view.rows.insert("a/b#2".into(), row.into());
    assert_eq!(newest(&facts, &view), Some(7));
}

#[test]
fn the_documents_of_a_thread_are_itself_and_its_parts() {
    let mut facts = Facts::new(Names::default());
    for (id, thread) in [("a/b#1", "a/b#1"), ("a/b#1~d", "a/b#1"), ("a/b#2", "a/b#2"), ("a/b#3", "a/b#9")] {
        facts.insert(id, &Filterable { thread: thread.to_owned(), ..by("ann", "UI") }, 0.0, "").unwrap();
    }
    let of = |threads: &[&str]| -> BTreeSet<String> {
        let threads = threads.iter().map(|thread| (*thread).to_owned()).collect();
        facts.of_threads(&threads).into_iter().map(|(id, _)| id.to_string()).collect()
    };
    let ids = |ids: &[&str]| -> BTreeSet<String> { ids.iter().map(|id| (*id).to_owned()).collect() };
    assert_eq!(of(&["a/b#1", "a/b#4"]), ids(&["a/b#1", "a/b#1~d"]));
    assert_eq!(of(&["a/b#9"]), ids(&["a/b#3"]));
    assert_eq!(of(&["a/b#3"]), ids(&[]), "it is of another thread");
}

#[test]
fn parts_of_a_thread_come_and_go_in_any_order() {
    let mut facts = Facts::new(Names::default());
    let of_thread = |thread: &str| Filterable { thread: thread.to_owned(), ..by("ann", "UI") };
    let mut expected: BTreeMap<String, &str> = BTreeMap::new();
    // Numbers of documents that come to a thread, move to the other one or go, in an order that is as good as any.
    let mut step = 1u64;
    for _ in 0..2_000 {
        step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let id = format!("a/b#{}", (step >> 33) % 12);
        match (step >> 40) % 3 {
            0 => {
                facts.remove(&id);
                expected.remove(&id);
            }
            at => {
                let thread = ["a/b#1", "a/b#2"][at as usize - 1];
                facts.insert(&id, &of_thread(thread), 0.0, "").unwrap();
                expected.insert(id, thread);
            }
        }
        for thread in ["a/b#1", "a/b#2"] {
            let found = facts.of_threads(&HashSet::from([thread.to_owned()]));
            let mut found: Vec<String> = found.into_iter().map(|(id, _)| id.to_string()).collect();
            found.sort_unstable();
            let expected = expected.iter().filter(|(_, of)| **of == thread).map(|(id, _)| id.clone());
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
        assert_eq!(facts.count(), expected.len());
    }
}
