//! Code at a revision: directories, texts, where lines come from, what was said about them, who knows them.

use backstory_engine::{
    error::ErrorKind,
    files::{
        Carried, CoChangeRequest, CommentsRequest, ContributorsRequest, DirectoryTree, FileRequest, FileText,
        TextLeftOut, TreeEntryKind, TreeRequest,
    },
    ledger::Branches,
    model::{digest::sha256_hex, id::NodeId},
};

use crate::{
    support::{Indexed, Origin, PROJECT},
    trace::world::{EXPIRY, SHOP, TOKEN, World},
};

async fn tree(world: &World, path: &str, rev: Option<&str>) -> DirectoryTree {
    let request = TreeRequest {
        project: Some(SHOP.to_owned()),
        path: path.to_owned(),
        rev: rev.map(str::to_owned),
        last_commits: true,
    };
    world.engine.answer(request).await.unwrap()
}

fn file(path: &str) -> FileRequest {
    FileRequest { project: Some(SHOP.to_owned()), path: path.to_owned(), lineage: true, ..FileRequest::default() }
}

fn comments(path: &str) -> CommentsRequest {
    CommentsRequest { project: Some(SHOP.to_owned()), path: path.to_owned(), ..CommentsRequest::default() }
}

fn shown(tree: &DirectoryTree) -> Vec<String> {
    let entries = tree.entries.iter();
    entries
        .map(|entry| {
            let title = entry.last_commit.as_ref().map_or("-", |commit| commit.title.as_str());
            format!("{:?} {} {} {title}", entry.kind, entry.path, entry.language.as_deref().unwrap_or("-"))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_is_listed_with_the_last_commit_of_each_entry() {
    let world = World::new().await;
    let root = tree(&world, "", None).await;
    assert_eq!(
        shown(&root),
        [
            "Directory src - Name the leeway",
            "File .mailmap - Name the leeway",
            "SymbolicLink LIESMICH.md - Begin",
            "File README.md - Begin",
            "File empty.txt - Begin",
            "File logo.png - Begin",
            "Submodule vendor - Begin",
        ]
    );
    assert_eq!((root.left_out, root.indexed.commit), (0, Some(root.rev)));
    let auth = tree(&world, "src/auth/", None).await;
    assert_eq!((shown(&auth), auth.path.as_str()), (vec![format!("File {TOKEN} Rust Name the leeway")], "src/auth"));
    assert_eq!(auth.entries[0].file, Some(NodeId::file(SHOP, TOKEN)));
    let before = tree(&world, "src", Some(&world.skew)).await;
    assert_eq!(shown(&before), ["Directory src/auth - -", "File src/claims.rs Rust -"], "only heads are looked up");
    let request = TreeRequest { project: Some(SHOP.to_owned()), path: TOKEN.to_owned(), ..TreeRequest::default() };
    let error = world.engine.answer(request).await.unwrap_err();
    assert_eq!((error.kind, error.message), (ErrorKind::Invalid, format!("{TOKEN} is not a directory")));
}

/// Spans as `lines commit merge request issues discussions`.
fn spans(file: &FileText) -> Vec<String> {
    let lineage = file.lineage.as_ref().unwrap();
    let title = |id: &NodeId| lineage.commits.iter().find(|commit| commit.id == *id).unwrap().title.clone();
    let span = |span: &backstory_engine::files::LineSpan| {
        let merge_request = span.merge_request.as_ref().map_or("-".to_owned(), |id| id.local_reference());
        let issues: Vec<String> = span.issues.iter().map(|id| id.local_reference()).collect();
        let (first, last) = (span.start, span.start + span.lines - 1);
        format!("{first}-{last} {} {merge_request} {issues:?} {}", title(&span.commit), span.discussions)
    };
    lineage.spans.iter().map(span).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_tells_where_all_its_lines_come_from() {
    let world = World::new().await;
    let answer = world.engine.answer(file(TOKEN)).await.unwrap();
    let content = std::fs::read_to_string(world.origin.path().join(TOKEN)).unwrap();
    assert_eq!(answer.text.as_deref(), Some(content.trim_end()));
    assert_eq!(answer.text_hash, Some(sha256_hex(&content)));
    let count = u32::try_from(content.lines().count()).unwrap();
    assert_eq!((answer.line_count, answer.lines, answer.bytes), (Some(count), Some((1, count)), content.len() as u64));
    assert_eq!((answer.kind, answer.language.as_deref()), (TreeEntryKind::File, Some("Rust")));
    let told = spans(&answer);
    assert_eq!(told.len(), 3, "{told:#?}");
    assert!(told[0].starts_with("1-41 Check tokens ourselves !2 [\"#1\"]"), "{told:#?}");
    assert!(told[1].starts_with("42-42 Name the leeway - [\"#5\"]"), "{told:#?}");
    assert!(told[2].starts_with(&format!("43-{count} Check tokens ourselves !2")), "{told:#?}");
    let lineage = answer.lineage.unwrap();
    let ids: Vec<String> = lineage.merge_requests.iter().map(|mr| mr.id.to_string()).collect();
    assert_eq!(ids, ["acme/shop!2"]);
    assert!(lineage.merge_requests[0].discussions > 0);
    assert_eq!(lineage.commits.iter().map(|commit| commit.lines).sum::<u32>(), count);
    assert_eq!(lineage.left_out, Vec::<String>::new());
    let part = world.engine.answer(FileRequest { lines: Some((41, 42)), ..file(TOKEN) }).await.unwrap();
    assert_eq!((part.lines, part.text.unwrap().lines().count()), (Some((41, 42)), 2));
    let lines: Vec<(u32, u32)> = part.lineage.unwrap().spans.iter().map(|span| (span.start, span.lines)).collect();
    assert_eq!(lines, [(41, 1), (42, 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_lists_its_symbols_and_is_blamed_plainly_on_request() {
    let world = World::new().await;
    let asked = FileRequest { symbols: true, plain: true, ..file(TOKEN) };
    let answer = world.engine.answer(asked).await.unwrap();
    let text = answer.text.as_deref().unwrap();
    assert!(!answer.symbols.is_empty());
    for symbol in &answer.symbols {
        let line = text.lines().nth(symbol.lines.0 as usize - 1).unwrap();
        let definition: Vec<&str> = text.lines().skip(symbol.lines.0 as usize - 1).take(3).collect();
        assert!(definition.iter().any(|line| line.contains(&symbol.name)), "{symbol:?} begins with {line}");
        assert!(symbol.lines.0 <= symbol.lines.1 && Some(symbol.lines.1) <= answer.line_count, "{symbol:?}");
    }
    assert!(answer.symbols.is_sorted_by_key(|symbol| symbol.lines.0), "{:#?}", answer.symbols);
    let spans = answer.lineage.unwrap().spans;
    assert_eq!(spans.iter().map(|span| span.lines).sum::<u32>(), answer.line_count.unwrap());
    assert!(spans.iter().all(|span| span.seen_through.is_empty()), "{spans:#?}");
    let silent = world.engine.answer(file(TOKEN)).await.unwrap();
    assert_eq!(silent.symbols, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_lines_have_kinds_on_request() {
    let world = World::new().await;
    let asked = |path: &str, lines| FileRequest { highlight: true, lines, ..file(path) };
    let whole = world.engine.answer(asked(TOKEN, None)).await.unwrap();
    let highlight = whole.highlight.unwrap();
    let text = whole.text.unwrap();
    assert_eq!(highlight.lines.len(), text.lines().count());
    let number = |kind: &str| highlight.kinds.iter().position(|name| name == kind).unwrap();
    let words: Vec<&str> = text
        .lines()
        .zip(&highlight.lines)
        .flat_map(|(line, spans)| spans.chunks(3).map(move |span| (line, span)))
        .filter(|(_, span)| span[2] as usize == number("keyword"))
        .map(|(line, span)| &line[span[0] as usize..(span[0] + span[1]) as usize])
        .collect();
    assert!(words.contains(&"fn"), "{words:?}");
    let part = world.engine.answer(asked(TOKEN, Some((41, 42)))).await.unwrap();
    assert_eq!(part.highlight.unwrap().lines, highlight.lines[40..42]);
    assert_eq!(world.engine.answer(asked("empty.txt", None)).await.unwrap().highlight, None);
    assert_eq!(world.engine.answer(file(TOKEN)).await.unwrap().highlight, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_without_text_say_why_and_wrong_requests_are_refused() {
    let world = World::new().await;
    for (path, left_out) in
        [("logo.png", Some(TextLeftOut::Binary)), ("LIESMICH.md", Some(TextLeftOut::SymbolicLink)), ("empty.txt", None)]
    {
        let answer = world.engine.answer(file(path)).await.unwrap();
        assert_eq!((answer.left_out, answer.lineage), (left_out, None), "{path}");
        assert_eq!(answer.text, left_out.is_none().then(String::new), "{path}");
    }
    let wrong = [
        (FileRequest { lines: Some((0, 1)), ..file(TOKEN) }, "0-1 is not a range of lines"),
        (FileRequest { lines: Some((3, 2)), ..file(TOKEN) }, "3-2 is not a range of lines"),
        (FileRequest { lines: Some((900, 901)), ..file(TOKEN) }, "src/auth/token.rs has "),
        (file("src"), "src is a directory"),
        (file("src/nothing.rs"), "there is no file src/nothing.rs"),
        (file("../secret"), "'../secret' is outside of the repository"),
        (FileRequest { rev: Some("nothing".to_owned()), ..file(TOKEN) }, "'nothing' is not a branch, tag or commit"),
    ];
    for (request, expected) in wrong {
        let error = world.engine.answer(request).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

// Row 80 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn comments_are_carried_to_the_lines_as_they_are() {
    let mut world = World::new().await;
    let all = world.engine.answer(comments(TOKEN)).await.unwrap();
    assert!(!all.comments.is_empty());
    let place = |carried: Carried| all.comments.iter().filter(move |comment| comment.carried == carried);
    for comment in place(Carried::Near) {
        let (position, lines) = (comment.position.lines.unwrap(), comment.lines.unwrap());
        assert!(position.0.abs_diff(lines.0) <= 3, "{comment:?}");
    }
    assert!(place(Carried::Outdated).all(|comment| comment.lines.is_none()));
    let on_lines: Vec<_> = all.comments.iter().filter(|comment| comment.lines.is_some()).collect();
    assert!(!on_lines.is_empty(), "{all:#?}");
    let (first, last) = on_lines[0].lines.unwrap();
    let narrowed =
        world.engine.answer(CommentsRequest { lines: Some((first, last)), ..comments(TOKEN) }).await.unwrap();
    assert!(narrowed.comments.contains(on_lines[0]));
    assert!(narrowed.comments.iter().all(|comment| comment.lines.is_some()));
    let resolved = world.engine.answer(CommentsRequest { resolved: Some(true), ..comments(TOKEN) }).await.unwrap();
    assert!(resolved.comments.iter().all(|comment| comment.resolved));

    // The lines get a file of their own, and the discussion follows them.
    world.move_expiry().await;
    let moved = world.engine.answer(comments(EXPIRY)).await.unwrap();
    assert!(moved.comments.iter().any(|comment| comment.lines.is_some()), "{moved:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn contributors_are_those_who_wrote_lines_or_reviewed() {
    let world = World::new().await;
    let ask = |path: &str| ContributorsRequest { project: Some(SHOP.to_owned()), path: path.to_owned(), limit: 10 };
    let known = world.engine.answer(ask(TOKEN)).await.unwrap();
    let content = std::fs::read_to_string(world.origin.path().join(TOKEN)).unwrap();
    let lines: u32 = known.people.iter().filter_map(|person| person.lines).sum();
    assert_eq!(lines as usize, content.lines().count());
    assert_eq!(known.commits, 3);
    assert!(known.people[0].lines > Some(30), "{known:#?}");
    assert!(known.people.iter().any(|person| person.reviews == 1), "{known:#?}");
    let directory = world.engine.answer(ask("src")).await.unwrap();
    assert_eq!(directory.commits, 4);
    assert!(directory.people.iter().all(|person| person.lines.is_none()));
    let error = world.engine.answer(ask("lib")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

// Row 134 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn co_change_has_support_and_confidence() {
    let mut origin = Origin::new();
    for number in 0..4 {
        origin.write("src/a.rs", format!("fn a() {{ {number} }}\n"));
        if number > 0 {
            origin.write("src/b.rs", format!("fn b() {{ {number} }}\n"));
        }
        origin.git(["add", "--all"]);
        origin.commit_index(format!("Change {number}"), &[]);
    }
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let request = |path: &str| CoChangeRequest { id: NodeId::file(PROJECT, path), limit: 10, min_support: 3 };
    let ask = async |path: &str| indexed.engine.answer(request(path)).await.unwrap();
    let of_a = ask("src/a.rs").await;
    assert_eq!(of_a.left_out, 0);
    let told: Vec<_> = of_a.changed.iter().map(|of| (of.id.to_string(), of.support, of.confidence)).collect();
    assert_eq!(told, [(format!("{PROJECT}:src/b.rs"), 3, 0.75)]);
    assert_eq!(ask("src/b.rs").await.changed[0].confidence, 1.0);
    let rarer = indexed.engine.answer(CoChangeRequest { min_support: 4, ..request("src/a.rs") }).await.unwrap();
    assert_eq!((rarer.changed, rarer.left_out), (vec![], 0));
    let wrong = [
        CoChangeRequest { id: "@alice".parse().unwrap(), ..request("src/a.rs") },
        CoChangeRequest { min_support: 2, ..request("src/a.rs") },
    ];
    for request in wrong {
        assert_eq!(indexed.engine.answer(request).await.unwrap_err().kind, ErrorKind::Invalid);
    }
}
