//! The image that an index is opened from says what its tables say, and is gone before anything else is written.

use std::{fs, path::Path};

use backstory_model::document::Document;
use backstory_store::index::{Index, IndexError, IndexOptions, version_id};
use tempfile::TempDir;

use super::{
    deleted, embed, index_of, model, open,
    opening::{copy, files_below},
    threads,
    views::{assert_same, document},
};

/// So many documents have an image.
const MANY: usize = 520;

/// An index with many documents, most of which have vectors, and one of a version.
async fn many() -> (TempDir, Vec<Document>) {
    let documents: Vec<Document> = (0..MANY).map(|number| document(number, "first")).collect();
    let (dir, index) = index_of(&documents[..MANY - 10]).await;
    index.apply(threads(&documents[MANY - 10..]), 2).await.unwrap();
    let version = Document { id: version_id("acme/shop#1", "s7"), ..documents[1].clone() };
    index.apply(threads(std::slice::from_ref(&version)), 3).await.unwrap();
    embed(&index, &[version]).await;
    index.optimize().await.unwrap();
    (dir, documents)
}

/// The name of the file with the passages of an image, which differs from image to image.
#[track_caller]
fn image(dir: &Path) -> String {
    let files = files_below(dir, "image.ranking.");
    assert_eq!((files.len(), files_below(dir, "image.arrow").len()), (1, 1), "{files:?}");
    files[0].display().to_string()
}

/// An index of what another has, opened from its tables.
async fn from_tables(dir: &Path) -> (TempDir, Index) {
    let other = TempDir::new().unwrap();
    let path = other.path().join("index");
    copy(dir, &path);
    files_below(&path, "image.").iter().for_each(|file| fs::remove_file(file).unwrap());
    let index = Index::open(&path, model("words"), IndexOptions::default()).await.unwrap();
    (other, index)
}

/// Asserts that what an index says is what its tables say.
async fn assert_true(index: &Index, dir: &Path) {
    let (_other, expected) = from_tables(dir).await;
    assert_same(index, &expected).await;
    assert_eq!(index.digest(), expected.digest());
    assert_eq!(index.fingerprints(), expected.fingerprints());
    assert_eq!(index.pending(None, 1_000), expected.pending(None, 1_000));
    assert_eq!(index.version_threads(), expected.version_threads());
}

#[tokio::test]
async fn an_index_opened_from_its_image_says_what_its_tables_say() {
    let (dir, documents) = many().await;
    let first = image(dir.path());
    let index = open(&dir).await;
    assert_eq!(image(dir.path()), first, "it was not written again");
    assert_eq!(index.pending(None, 1_000).len(), 10);
    assert_true(&index, dir.path()).await;
    // It goes on from there.
    let changed: Vec<Document> = (0..40).map(|number| document(number, "second")).collect();
    index.apply(threads(&changed), 4).await.unwrap();
    assert!(files_below(dir.path(), "image.").is_empty(), "what it says is not so any more");
    embed(&index, &changed).await;
    embed(&index, &documents[MANY - 10..]).await;
    index.apply(vec![deleted("acme/shop#41")], 5).await.unwrap();
    assert_true(&index, dir.path()).await;
    index.optimize().await.unwrap();
    let second = image(dir.path());
    assert_ne!(second, first);
    index.optimize().await.unwrap();
    assert_eq!(image(dir.path()), second, "nothing changed");
    drop(index);
    let index = open(&dir).await;
    assert!(index.pending(None, 1_000).is_empty());
    assert_true(&index, dir.path()).await;
}

#[tokio::test]
async fn an_image_of_other_tables_or_with_a_flipped_bit_is_of_no_use() {
    let (dir, _) = many().await;
    let (kept, first) = (TempDir::new().unwrap(), image(dir.path()));
    let old = kept.path().join("old");
    copy(dir.path(), &old);
    let index = open(&dir).await;
    index.apply(vec![deleted("acme/shop#41")], 4).await.unwrap();
    drop(index);
    for file in files_below(&old, "image.") {
        fs::copy(&file, dir.path().join(file.file_name().unwrap())).unwrap();
    }
    let index = open(&dir).await;
    let second = image(dir.path());
    assert_ne!(second, first);
    assert_true(&index, dir.path()).await;
    drop(index);

    let whole = dir.path().join("image.arrow");
    let mut bytes = fs::read(&whole).unwrap();
    for at in [20, bytes.len() / 2, bytes.len() - 2] {
        bytes[at] ^= 4;
        fs::write(&whole, &bytes).unwrap();
        let before = image(dir.path());
        let index = open(&dir).await;
        assert_ne!(image(dir.path()), before, "byte {at}");
        assert_true(&index, dir.path()).await;
        drop(index);
        bytes = fs::read(&whole).unwrap();
    }
    fs::write(image(dir.path()), "short").unwrap();
    let index = open(&dir).await;
    assert_true(&index, dir.path()).await;
}

#[tokio::test]
async fn damage_of_the_tables_is_noticed_where_there_is_an_image() {
    for of in ["documents.lance/data", "passages.lance/data"] {
        for harm in [|file: &Path| fs::remove_file(file).unwrap(), |file: &Path| fs::write(file, "short").unwrap()] {
            let (dir, _) = many().await;
            image(dir.path());
            files_below(dir.path(), of).iter().for_each(|file| harm(file));
            let error = Index::open(dir.path(), model("words"), IndexOptions::default()).await.unwrap_err();
            assert!(matches!(error, IndexError::Damaged { .. }), "{of}: {error}");
        }
    }
}

#[tokio::test]
async fn nothing_of_what_was_deleted_is_left_in_an_image() {
    let (dir, _) = many().await;
    let index = open(&dir).await;
    let secret = document(9_999, "hunter2");
    index.apply(threads(std::slice::from_ref(&secret)), 4).await.unwrap();
    index.optimize().await.unwrap();
    let says = |dir: &Path| {
        let files = files_below(dir, "image.");
        assert_eq!(files.len(), 2);
        files.iter().any(|file| {
            let bytes = fs::read(file).unwrap();
            bytes.windows(14).any(|part| part == b"acme/shop#9999")
        })
    };
    assert!(says(dir.path()));
    // Its row is known from now on.
    assert_eq!(index.documents(std::slice::from_ref(&secret.id)).await.unwrap().len(), 1);
    index.apply(vec![deleted(&secret.id)], 5).await.unwrap();
    assert!(files_below(dir.path(), "image.").is_empty());
    index.optimize().await.unwrap();
    assert!(files_below(dir.path(), "image.").is_empty(), "another one so soon is not worth it");
    drop(index);
    open(&dir).await.optimize().await.unwrap();
    assert!(!says(dir.path()));
}
