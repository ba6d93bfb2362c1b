//! Opening what another run, another model, another version or a power cut left.

use std::{fs, path::Path};

use backstory_model::{document::Document, filter::Filter};
use backstory_store::index::{Index, IndexError, IndexOptions, ModelTag, Vectors};
use tempfile::TempDir;

use super::{embed, everything, files, index_of, issue, lexical, model, open, passages, semantic, threads};

#[tokio::test]
async fn another_model_keeps_the_vectors_until_it_brings_its_own() {
    let document = issue("a/b#1", "Title", "body");
    for other in [model("other"), ModelTag { name: "words".into(), dimension: 4 }] {
        let (dir, index) = index_of(std::slice::from_ref(&document)).await;
        drop(index);
        let index = Index::open(dir.path(), other.clone(), IndexOptions::default()).await.unwrap();
        assert_eq!(index.model_changed(), Some(model("words")));
        assert_eq!((index.coverage().embedded, index.coverage().passages, index.pending(None, 9).len()), (0, 0, 1));
        let query = vec![1.0; other.dimension];
        assert_eq!(index.search_vectors(&query, &everything(), 10).await.unwrap(), []);
        let hash = passages(&document).passages[0].text_hash.clone();
        assert!(index.vectors_by_text_hash(std::slice::from_ref(&hash)).await.unwrap().is_empty());
        assert_eq!(lexical(&index, "body", &everything()).await, ["a/b#1"]);

        // It was a mistake: nothing is lost, and changes made meanwhile are there.
        let relabelled = Document { labels: vec!["new".into()], ..document.clone() };
        let added = issue("a/b#2", "Added", "later");
        index.apply(threads(&[relabelled.clone(), added.clone()]), 2).await.unwrap();
        index.optimize().await.unwrap();
        drop(index);
        let index = open(&dir).await;
        assert_eq!(index.model_changed(), None);
        assert_eq!((index.coverage().embedded, index.coverage().documents), (1, 2));
        let labeled = Filter { labels: vec!["new".into()], ..everything() };
        assert_eq!(semantic(&index, "body", &labeled).await, ["a/b#1"]);
        drop(index);

        let index = Index::open(dir.path(), other.clone(), IndexOptions::default()).await.unwrap();
        let mut renewed = passages(&added);
        renewed.passages[0].vector = query.clone();
        index.replace_passages(vec![renewed]).await.unwrap();
        assert_eq!(index.model_changed(), None);
        assert_eq!((index.coverage().embedded, index.coverage().passages), (1, 1));
        assert_eq!(index.search_vectors(&query, &everything(), 10).await.unwrap()[0].document, "a/b#2");
        drop(index);
        let index = Index::open(dir.path(), other, IndexOptions::default()).await.unwrap();
        assert_eq!((index.model_changed(), index.coverage().embedded), (None, 1));
    }
}

#[tokio::test]
async fn what_was_applied_is_there_after_reopening() {
    let dir = TempDir::new().unwrap();
    // No character of the path means anything.
    let path = dir.path().join("a dir%20 with #? & ünïcode");
    let index = Index::open(&path, model("words"), IndexOptions::default()).await.unwrap();
    assert_eq!(index.applied_seq().await.unwrap(), 0);
    let documents = [issue("a/b#1", "Title", "body"), issue("a/b#2", "Title", "other")];
    index.apply(threads(&documents), 41).await.unwrap();
    index.apply(vec![], 42).await.unwrap();
    embed(&index, &documents[..1]).await;
    let coverage = index.coverage();
    drop(index);

    let index = Index::open(&path, model("words"), IndexOptions::default()).await.unwrap();
    assert_eq!(index.applied_seq().await.unwrap(), 42);
    assert_eq!(index.coverage(), coverage);
    assert_eq!(index.pending(None, 10)[0].id, "a/b#2");
    assert_eq!(lexical(&index, "body", &everything()).await, ["a/b#1"]);
    assert!(index.size_on_disk().unwrap() > 1000);
    index.optimize().await.unwrap();
    assert_eq!((index.applied_seq().await.unwrap(), index.unindexed().await.unwrap()), (42, 0));
}

/// Every file below a directory whose path contains the text.
pub(super) fn files_below(dir: &Path, containing: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path, containing));
        } else if path.to_str().unwrap().contains(containing) {
            found.push(path);
        }
    }
    found
}

#[tokio::test]
async fn damage_is_noticed_when_opening() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 5] = [
        ("manifests cut short", |dir| {
            files_below(dir, "documents.lance/_versions").iter().for_each(|file| fs::write(file, "").unwrap());
        }),
        ("manifests gone", |dir| fs::remove_dir_all(dir.join("documents.lance/_versions")).unwrap()),
        ("a data file gone", |dir| {
            files_below(dir, "documents.lance/data").iter().for_each(|file| fs::remove_file(file).unwrap());
        }),
        ("a data file of passages cut short", |dir| {
            files_below(dir, "passages.lance/data").iter().for_each(|file| fs::write(file, "short").unwrap());
        }),
        ("documents gone", |dir| fs::remove_dir_all(dir.join("documents.lance")).unwrap()),
    ];
    for (what, harm) in harms {
        let (dir, index) = index_of(&[issue("a/b#1", "Title", "body")]).await;
        drop(index);
        harm(dir.path());
        let error = Index::open(dir.path(), model("words"), IndexOptions::default()).await.expect_err(what);
        assert!(matches!(error, IndexError::Damaged { .. }), "{what}: {error}");
        let sentence = error.to_string();
        assert!(sentence.contains(dir.path().to_str().unwrap()) && sentence.contains("rebuild index"), "{sentence}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Index::open(file.path(), model("words"), IndexOptions::default()).await.unwrap_err();
    assert!(matches!(error, IndexError::Damaged { .. }), "{error}");
}

/// Copies a directory.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}

/// Lance panics where some bits of a manifest are others; here that is an error like any other.
#[tokio::test]
async fn a_flipped_bit_is_damage_or_nothing_and_never_a_panic() {
    let documents = [issue("a/b#1", "Title", "body"), issue("a/b#2", "Other", "words")];
    let (dir, index) = index_of(&documents).await;
    index.optimize().await.unwrap();
    drop(index);
    let newest = |table: &str| {
        let mut manifests = files_below(dir.path(), &format!("{table}.lance/_versions"));
        manifests.sort();
        // The newest has the smallest name.
        manifests.swap_remove(0)
    };
    let mut random = fastrand::Rng::with_seed(11);
    let mut damaged = 0;
    for turn in 0..60 {
        let manifest = newest(["documents", "passages"][turn % 2]);
        let copied = TempDir::new().unwrap();
        copy(dir.path(), copied.path());
        let path = copied.path().join(manifest.strip_prefix(dir.path()).unwrap());
        let mut bytes = fs::read(&path).unwrap();
        let (at, bit) = (random.usize(..bytes.len()), random.u8(..8));
        bytes[at] ^= 1 << bit;
        fs::write(&path, bytes).unwrap();
        let when = format!("{} byte {at} bit {bit}", path.display());
        let index = match Index::open(copied.path(), model("words"), IndexOptions::default()).await {
            Ok(index) => index,
            Err(IndexError::Damaged { .. } | IndexError::Outdated { .. }) => {
                damaged += 1;
                continue;
            }
            Err(error) => panic!("{when}: {error}"),
        };
        let found = index.search_text("body", &everything(), 5).await.map(drop);
        let found = found.and(index.search_vectors(&super::vector("body"), &everything(), 5).await.map(drop));
        let found = found.and(index.apply(threads(&documents), 7).await.map(drop));
        match found {
            Ok(()) => assert_eq!(index.damage(), None, "{when}"),
            Err(error) => {
                damaged += 1;
                assert!(matches!(error, IndexError::Damaged { .. }), "{when}: {error}");
                assert!(index.damage().is_some(), "{when}");
            }
        }
    }
    assert!(damaged > 5, "{damaged} of 60 were noticed");
}

#[tokio::test]
async fn passages_that_a_power_cut_took_back_are_noticed() {
    let (dir, index) = index_of(&[issue("a/b#1", "Title", "body")]).await;
    let versions = dir.path().join("passages.lance/_versions");
    let before = files(&versions);
    index.apply(threads(&[Document { labels: vec![], ..issue("a/b#1", "Title", "body") }]), 2).await.unwrap();
    drop(index);
    for file in files(&versions).iter().filter(|file| !before.contains(file)) {
        fs::remove_file(file).unwrap();
    }
    let error = Index::open(dir.path(), model("words"), IndexOptions::default()).await.unwrap_err();
    assert!(matches!(error, IndexError::Damaged { .. }), "{error}");
}

/// Changes the version that a table says it has.
fn set_schema_version(dir: &Path, table: &str, version: [u8; 2]) {
    let key = b"backstory:schema\x12\x02";
    let mut patched = 0;
    for file in files_below(dir, &format!("{table}.lance/_versions")) {
        let mut bytes = fs::read(&file).unwrap();
        for at in 0..bytes.len().saturating_sub(key.len()) {
            if bytes[at..].starts_with(key) {
                bytes[at + key.len()..][..version.len()].copy_from_slice(&version);
                patched += 1;
            }
        }
        fs::write(&file, bytes).unwrap();
    }
    assert!(patched > 0);
}

#[tokio::test]
async fn index_of_another_version_is_not_opened() {
    let (dir, index) = index_of(&[issue("a/b#1", "Title", "body")]).await;
    drop(index);
    set_schema_version(dir.path(), "documents", *b"09");
    let error = Index::open(dir.path(), model("words"), IndexOptions::default()).await.unwrap_err();
    assert!(matches!(error, IndexError::Outdated { .. }), "{error}");
    // A rebuild can still take over its vectors.
    let vectors = Vectors::open(dir.path(), &model("words")).await.unwrap().unwrap();
    let hash = passages(&issue("a/b#1", "Title", "body")).passages[0].text_hash.clone();
    assert_eq!(vectors.find(&[hash]).await.unwrap().len(), 1);
}
