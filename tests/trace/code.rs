//! What happened to files and code entities, and who did it.

use backstory_engine::{
    code::{Change, CommitSummary, EntityDetails, EntityRequest, History, HistoryRequest},
    error::Result,
    graph::Direction,
    ledger::Branches,
    model::entity::ItemKind,
};
use expect_test::expect;
use serde_json::Value;

use super::world::{SHOP, World};
use crate::support::{FIRST_COMMIT_AT, Indexed, Origin, PROJECT};

async fn changes(indexed: &Indexed, id: &str, skip: usize, limit: usize) -> Result<History> {
    indexed.engine.answer(HistoryRequest { id: id.parse().unwrap(), skip, limit }).await
}

async fn history(indexed: &Indexed, id: &str) -> String {
    let history = changes(indexed, id, 0, 50).await.unwrap();
    assert!(!history.has_more);
    let line = |change: &Change| format!("{:?} {} — {}", change.kind, change.name, change.commit.title);
    history.changes.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn format_entity(entity: &EntityDetails) -> String {
    let title = |commit: &Option<CommitSummary>| commit.as_ref().map_or("-".to_owned(), |commit| commit.title.clone());
    let mut text = format!(
        "{} at {:?}: {} changes, first {}, last {}",
        entity.id,
        entity.lines,
        entity.changes,
        title(&entity.introduced),
        title(&entity.last_changed)
    );
    for neighbors in &entity.neighbors {
        let nodes: Vec<String> = neighbors.nodes.iter().map(ToString::to_string).collect();
        let arrow = if neighbors.direction == Direction::Out { "->" } else { "<-" };
        text += &format!("\n  {arrow} {} {}", neighbors.edge.name(), nodes.join(", "));
    }
    text
}

fn named(name: &str) -> EntityRequest {
    EntityRequest { name: name.to_owned(), project: None, limit: 10 }
}

async fn entities(indexed: &Indexed, name: &str) -> String {
    let entities = indexed.engine.answer(named(name)).await.unwrap();
    entities.iter().map(format_entity).collect::<Vec<_>>().join("\n")
}

const SCALE: &str = "\
def scale(value):
    \"\"\"Scales, because the device counts in tenths.\"\"\"
    scaled = value * 10
    return min(scaled, 1000)
";

/// Two files and a function that change their names.
fn renamed() -> Origin {
    let mut origin = Origin::new();
    origin.write("src/zeta.py", SCALE).commit_all("Begin");
    origin.write("src/zeta.py", SCALE.replace("1000", "2000")).commit_all("Larger");
    // To a name that comes before the old one, and to one that comes after.
    origin.git(["mv", "src/zeta.py", "src/alpha.py"]);
    origin.commit_all("Call it alpha");
    origin.write("src/alpha.py", SCALE.replace("1000", "3000")).commit_all("Larger still");
    origin.git(["mv", "src/alpha.py", "src/omega.py"]);
    origin.commit_all("Call it omega");
    // Something else takes the first name.
    origin.write("src/zeta.py", "def other():\n    return 'something else entirely'\n").commit_all("Another zeta");
    origin
        .write("src/zeta.py", "def other():\n    return 'something else altogether'\n")
        .commit_all("Change the other zeta");
    // A function moves into another file, and one goes away.
    origin.write("src/omega.py", "LIMIT = 3000\n").write("src/scaling.py", SCALE.replace("1000", "3000"));
    origin.write("src/use.py", "from scaling import scale\n\n\ndef run(value):\n    return scale(value)\n");
    origin.write(
        "tests/test_scaling.py",
        "from src.scaling import scale\n\n\ndef test_scale():\n    assert scale(1) == 10\n",
    );
    origin.commit_all("Scaling has a file of its own");
    origin.git(["rm", "--quiet", "src/zeta.py"]);
    origin.commit_all("Nobody needs it");
    origin
}

/// One branch renames a file, the other one adds a class to it: no commit but the merge has the class in the renamed file.
#[tokio::test(flavor = "multi_thread")]
async fn a_history_goes_on_where_a_merge_brought_the_rename_of_the_file() {
    let class = |value: &str| format!("\n\nclass Source:\n    name = {value}\n    order = [name]\n");
    let mut origin = Origin::new();
    origin.write("src/scale.py", SCALE).commit_all("Begin");
    origin.switch("stable");
    origin.git(["mv", "src/scale.py", "src/tool.py"]);
    origin.commit_all("Call it tool");
    origin.switch("main");
    origin.write("src/scale.py", format!("{SCALE}{}", class("1"))).commit_all("Tell sources apart");
    origin.git(["merge", "--quiet", "--no-ff", "-m", "Merge branch 'stable'", "stable"]);
    origin.write("src/tool.py", format!("{SCALE}{}", class("2"))).commit_all("Name the source");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    expect![[r#"
        Modified acme/tool:src/tool.py#Source — Name the source
        Introduced acme/tool:src/scale.py#Source — Tell sources apart"#]]
    .assert_eq(&history(&indexed, &format!("{PROJECT}:src/tool.py#Source")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_follow_names() {
    let origin = renamed();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let mut said = Vec::new();
    for id in ["src/omega.py", "src/alpha.py", "src/zeta.py", "src/scaling.py#scale", "src/zeta.py#other"] {
        said.push(format!("{id}\n{}", history(&indexed, &format!("{PROJECT}:{id}")).await));
    }
    expect![[r#"
        src/omega.py
        Modified acme/tool:src/omega.py — Scaling has a file of its own
        Modified acme/tool:src/omega.py — Call it omega
        Modified acme/tool:src/alpha.py — Larger still
        Modified acme/tool:src/alpha.py — Call it alpha
        Modified acme/tool:src/zeta.py — Larger
        Introduced acme/tool:src/zeta.py — Begin

        src/alpha.py
        Removed acme/tool:src/alpha.py — Call it omega
        Modified acme/tool:src/alpha.py — Larger still
        Modified acme/tool:src/alpha.py — Call it alpha
        Modified acme/tool:src/zeta.py — Larger
        Introduced acme/tool:src/zeta.py — Begin

        src/zeta.py
        Removed acme/tool:src/zeta.py — Nobody needs it
        Modified acme/tool:src/zeta.py — Change the other zeta
        Introduced acme/tool:src/zeta.py — Another zeta
        Removed acme/tool:src/zeta.py — Call it alpha
        Modified acme/tool:src/zeta.py — Larger
        Introduced acme/tool:src/zeta.py — Begin

        src/scaling.py#scale
        Modified acme/tool:src/scaling.py#scale — Scaling has a file of its own
        Modified acme/tool:src/omega.py#scale — Call it omega
        Modified acme/tool:src/alpha.py#scale — Larger still
        Modified acme/tool:src/alpha.py#scale — Call it alpha
        Modified acme/tool:src/zeta.py#scale — Larger
        Introduced acme/tool:src/zeta.py#scale — Begin

        src/zeta.py#other
        Removed acme/tool:src/zeta.py#other — Nobody needs it
        Modified acme/tool:src/zeta.py#other — Change the other zeta
        Introduced acme/tool:src/zeta.py#other — Another zeta"#]]
    .assert_eq(&said.join("\n\n"));
    let mut said = Vec::new();
    for name in ["scale", "acme/tool:src/zeta.py#other"] {
        said.push(entities(&indexed, name).await);
    }
    expect![[r#"
        acme/tool:src/scaling.py#scale at Some((1, 4)): 6 changes, first Begin, last Scaling has a file of its own
          <- REPLACED_BY acme/tool:src/omega.py#scale
          <- CONTAINS acme/tool:src/scaling.py
          <- CALLS acme/tool:src/use.py#run, acme/tool:tests/test_scaling.py#test_scale
          -> VERIFIED_BY acme/tool:tests/test_scaling.py#test_scale

        acme/tool:src/zeta.py#other at None: 3 changes, first Another zeta, last Nobody needs it"#]]
    .assert_eq(&said.join("\n\n"));
    let gone = indexed.engine.answer(named("nothing_of_that_name")).await.unwrap_err();
    expect!["there is no code entity nothing_of_that_name in the index; check the reference, or run 'backstory sync' if it is new"].assert_eq(&gone.to_string());
    let gone = changes(&indexed, &format!("{PROJECT}:src/never.py"), 0, 5).await.unwrap_err();
    expect!["there is no file acme/tool:src/never.py in the index; check the reference, or run 'backstory sync' if it is new"].assert_eq(&gone.to_string());
    // Pages are parts of the whole.
    let id = format!("{PROJECT}:src/omega.py");
    let all = changes(&indexed, &id, 0, 50).await.unwrap();
    for at in 0..all.changes.len() {
        let page = changes(&indexed, &id, at, 1).await.unwrap();
        assert_eq!(page.changes[0].commit, all.changes[at].commit);
        assert_eq!(page.has_more, at + 1 < all.changes.len());
    }
}

/// Makes the next commit at the same time as the first one.
fn in_the_same_second(origin: &mut Origin) -> &mut Origin {
    origin.at(FIRST_COMMIT_AT);
    origin
}

// Row 132 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn commits_of_one_second_are_ordered_by_ancestry() {
    let mut origin = Origin::new();
    let body = |limit: usize| SCALE.replace("1000", &limit.to_string());
    for step in 1..=6 {
        in_the_same_second(&mut origin).write("src/zeta.py", body(step)).commit_all(format!("Step {step}"));
        // Between two that change the file stands one that does not.
        in_the_same_second(&mut origin).write("NEWS", step.to_string()).commit_all("News");
    }
    origin.git(["mv", "src/zeta.py", "src/alpha.py"]);
    in_the_same_second(&mut origin).commit_all("Call it alpha");
    in_the_same_second(&mut origin)
        .write("src/zeta.py", "def other():\n    return 'else'\n")
        .commit_all("Another zeta");
    in_the_same_second(&mut origin).write("src/alpha.py", body(7)).commit_all("Step 7");
    // By a clock that is a day behind.
    origin.at(FIRST_COMMIT_AT - 86_400);
    origin.write("src/alpha.py", body(8)).commit_all("Step 8");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let id = format!("{PROJECT}:src/alpha.py#scale");
    let changes = changes(&indexed, &id, 0, 50).await.unwrap().changes;
    let titles: Vec<&str> = changes.iter().map(|change| change.commit.title.as_str()).collect();
    expect![[r#"
        [
            "Step 8",
            "Step 7",
            "Call it alpha",
            "Step 6",
            "Step 5",
            "Step 4",
            "Step 3",
            "Step 2",
            "Step 1",
        ]
    "#]]
    .assert_debug_eq(&titles);
    let card = entities(&indexed, "scale").await;
    assert!(card.contains("9 changes, first Step 1, last Step 8"), "{card}");
    // What has the old name later is something else.
    let file = history(&indexed, &format!("{PROJECT}:src/alpha.py")).await;
    assert!(!file.contains("Another zeta"), "{file}");
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_joined_over_the_mailmap_and_the_forge() {
    let world = World::new().await;
    let ledger = world.ledger();
    let mut said = Vec::new();
    for key in ledger.keys(SHOP, ItemKind::Identity).unwrap() {
        let payload = ledger.item(SHOP, ItemKind::Identity, &key).unwrap().unwrap().payload.unwrap();
        said.push(serde_json::from_slice::<Value>(&payload).unwrap().to_string());
    }
    expect![[r#"
        {"key":"carol@acme.example","names":["Carol Weiss"],"same_as":"carol","because":"user_name"}
        {"key":"charles@example.com","names":["Charles Babbage"]}
        {"key":"jane@acme.example","names":["Jane Doe"],"same_as":"janedoe","because":"user_name"}
        {"key":"john@acme.example","names":["John Doe"],"same_as":"johndoe","because":"user_name"}
        {"key":"john@home.example","names":["jdoe"],"same_as":"johndoe","because":"user_name"}"#]]
    .assert_eq(&said.join("\n"));
}
