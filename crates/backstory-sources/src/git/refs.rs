//! Branches, tags, the heads of merge requests and the default branch of a clone.

use std::path::{Path, PathBuf};

use backstory_model::commit::{Branch, ObjectKind, RepoPath, Sha, Tag, TagAnnotation};
use git2::{ObjectType, Oid, Repository};

use super::commit_object::parse_tag;

/// Most references of a repository that are read.
const MAX_REFS: usize = 1_000_000;
/// Most annotated tags that stand on one another.
const MAX_TAG_CHAIN: usize = 16;

/// Why references cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RefsError {
    /// The clone or its list of references cannot be read.
    #[error("the references of '{}' cannot be read: {said}", path.display())]
    Unreadable {
        /// The clone.
        path: PathBuf,
        /// What libgit2 says.
        said: String,
    },
    /// There are too many.
    #[error("'{}' has more than {MAX_REFS} references", path.display())]
    TooMany {
        /// The clone.
        path: PathBuf,
    },
}

/// The newest commit of a merge request, as a forge keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeRequestHead {
    /// Number within the project.
    pub iid: u64,
    /// The commit.
    pub tip: Sha,
}

/// The references of a clone, each kind in order of names or numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// Name of the branch that HEAD points at, whether that branch is there or not; `None` if HEAD is detached.
    pub default_branch: Option<RepoPath>,
    /// Below `refs/heads/`, if they are commits.
    pub branches: Vec<Branch>,
    /// Below `refs/tags/`, if what they stand on is there.
    pub tags: Vec<Tag>,
    /// Below `refs/merge-requests/` and `refs/pull/`.
    pub merge_requests: Vec<MergeRequestHead>,
    /// Names of references whose object is not there, or that are another kind of object than they should be.
    pub broken: Vec<RepoPath>,
}

impl Refs {
    /// The commits of all branches and tags, each once, in order.
    pub fn tips(&self) -> Vec<Sha> {
        let tags = self.tags.iter().filter(|tag| tag.kind == ObjectKind::Commit).map(|tag| tag.target);
        let mut tips: Vec<Sha> = self.branches.iter().map(|branch| branch.tip).chain(tags).collect();
        tips.sort_unstable();
        tips.dedup();
        tips
    }

    /// Like [`tips`](Self::tips), with the heads of merge requests.
    pub fn all_tips(&self) -> Vec<Sha> {
        let mut tips = self.tips();
        tips.extend(self.merge_requests.iter().map(|head| head.tip));
        tips.sort_unstable();
        tips.dedup();
        tips
    }
}

/// Reads the references of a bare repository.
///
/// # Errors
/// If they cannot be listed, or are too many.
pub fn read(clone: &Path) -> Result<Refs, RefsError> {
    let unreadable =
        |error: git2::Error| RefsError::Unreadable { path: clone.to_owned(), said: error.message().to_owned() };
    let repository = super::open_clone(clone).map_err(unreadable)?;
    let mut refs = Refs::default();
    if let Ok(head) = repository.find_reference("HEAD")
        && let Ok(Some(target)) = head.symbolic_target_bytes().map_or(Ok::<_, ()>(None), |target| Ok(Some(target)))
    {
        refs.default_branch = target.strip_prefix(b"refs/heads/").map(RepoPath::from_bytes);
    }
    for (count, reference) in repository.references().map_err(unreadable)?.enumerate() {
        if count >= MAX_REFS {
            return Err(RefsError::TooMany { path: clone.to_owned() });
        }
        let reference = reference.map_err(unreadable)?;
        let name = reference.name_bytes();
        let target = reference.target().or_else(|| reference.resolve().ok()?.target());
        if target.and_then(|target| add(&mut refs, &repository, name, target)).is_none() {
            refs.broken.push(RepoPath::from_bytes(name));
        }
    }
    refs.branches.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    refs.tags.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    refs.merge_requests.sort_unstable_by_key(|head| (head.iid, head.tip));
    refs.merge_requests.dedup();
    refs.broken.sort_unstable();
    Ok(refs)
}

/// The commits of a shallow clone whose parents are cut off, in order; none of a whole one.
pub fn boundary(clone: &Path) -> Vec<Sha> {
    let bytes = std::fs::read(clone.join("shallow")).unwrap_or_default();
    let mut commits: Vec<Sha> = bytes.split(|byte| *byte == b'\n').filter_map(Sha::from_hex).collect();
    commits.sort_unstable();
    commits
}

/// Adds a reference to what it belongs to; `None` if its object is not what it should be.
fn add(refs: &mut Refs, repository: &Repository, name: &[u8], target: Oid) -> Option<()> {
    // Whether it can be read to its end does not matter here.
    let commit = || {
        let (_, kind) = repository.odb().ok()?.read_header(target).ok()?;
        (kind == ObjectType::Commit).then(|| sha(target))
    };
    if let Some(name) = name.strip_prefix(b"refs/heads/") {
        refs.branches.push(Branch { name: RepoPath::from_bytes(name), tip: commit()? });
    } else if let Some(name) = name.strip_prefix(b"refs/tags/") {
        refs.tags.push(tag(repository, name, target)?);
    } else if let Some(iid) = merge_request(name) {
        refs.merge_requests.push(MergeRequestHead { iid, tip: commit()? });
    }
    Some(())
}

/// The number in `refs/merge-requests/7/head` or `refs/pull/7/head`.
fn merge_request(name: &[u8]) -> Option<u64> {
    let name = std::str::from_utf8(name).ok()?;
    let rest = name.strip_prefix("refs/merge-requests/").or_else(|| name.strip_prefix("refs/pull/"))?;
    rest.strip_suffix("/head")?.parse().ok()
}

/// Follows a tag to what it stands on. Of several annotations the outermost counts.
fn tag(repository: &Repository, name: &[u8], mut target: Oid) -> Option<Tag> {
    let odb = repository.odb().ok()?;
    let mut annotation = None;
    for _ in 0..MAX_TAG_CHAIN {
        let (_, kind) = odb.read_header(target).ok()?;
        let kind = match kind {
            ObjectType::Commit => ObjectKind::Commit,
            ObjectType::Tree => ObjectKind::Tree,
            ObjectType::Blob => ObjectKind::Blob,
            _ => {
                let object = odb.read(target).ok()?;
                let next = object.data().strip_prefix(b"object ")?.get(..40)?;
                annotation.get_or_insert_with(|| {
                    let read = parse_tag(object.data());
                    TagAnnotation { id: sha(target), tagger: read.tagger, message: read.message }
                });
                target = Oid::from_bytes(Sha::from_hex(next)?.as_bytes()).ok()?;
                continue;
            }
        };
        return Some(Tag { name: RepoPath::from_bytes(name), target: sha(target), kind, annotation });
    }
    None
}

/// The same name in the model's type.
pub(super) fn sha(id: Oid) -> Sha {
    Sha::from_bytes(id.as_bytes().try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Fixture;

    #[test]
    fn every_kind_of_reference_is_read() {
        let mut origin = Fixture::new();
        origin.write("a", "content\n");
        let one = origin.commit_all("one");
        let (blob, tree) = (origin.sha("HEAD:a"), origin.sha("HEAD^{tree}"));
        origin.switch("feature/x");
        let two = origin.commit_all("two");
        origin.git(["tag", "light", &one.to_string()]);
        origin.git(["tag", "--annotate", "v1", "-m", "Release 1\n\nNotes", &one.to_string()]);
        origin.git(["tag", "--annotate", "signed-off", "-m", "outer", "v1"]);
        origin.git(["tag", "blob", &blob.to_string()]);
        origin.git(["tag", "tree", &tree.to_string()]);
        origin.git(["tag", "--annotate", "blob-note", "-m", "about a blob", &blob.to_string()]);
        origin.git(["update-ref", "refs/merge-requests/12/head", &two.to_string()]);
        origin.git(["update-ref", "refs/pull/3/head", &one.to_string()]);
        let refs = read(&origin.git_dir()).unwrap();
        assert_eq!(refs.default_branch.as_ref().unwrap().as_str(), "feature/x");
        let branches: Vec<_> = refs.branches.iter().map(|branch| (branch.name.as_str(), branch.tip)).collect();
        assert_eq!(branches, [("feature/x", two), ("main", one)]);
        let tags: Vec<_> = refs.tags.iter().map(|tag| (tag.name.as_str(), tag.kind, tag.target)).collect();
        let expected = [
            ("blob", ObjectKind::Blob, blob),
            ("blob-note", ObjectKind::Blob, blob),
            ("light", ObjectKind::Commit, one),
            ("signed-off", ObjectKind::Commit, one),
            ("tree", ObjectKind::Tree, tree),
            ("v1", ObjectKind::Commit, one),
        ];
        assert_eq!(tags, expected);
        let release = refs.tags[5].annotation.as_ref().unwrap();
        assert_eq!(release.message, "Release 1\n\nNotes\n");
        assert_eq!(release.tagger.as_ref().unwrap().email, "charles@example.com");
        assert_eq!(refs.tags[3].annotation.as_ref().unwrap().message, "outer\n");
        let heads: Vec<_> = refs.merge_requests.iter().map(|head| (head.iid, head.tip)).collect();
        assert_eq!(heads, [(3, one), (12, two)]);
        assert_eq!(refs.tips(), {
            let mut both = vec![one, two];
            both.sort();
            both
        });
        assert!(refs.broken.is_empty());
    }

    #[test]
    fn empty_detached_and_broken_repositories() {
        let mut origin = Fixture::new();
        let refs = read(&origin.git_dir()).unwrap();
        assert_eq!((refs.default_branch.unwrap().as_str(), refs.branches.len()), ("main", 0));
        let one = origin.commit_all("one");
        origin.git(["checkout", "--quiet", "--detach"]);
        std::fs::write(origin.git_dir().join("refs/heads/gone"), "1234567890123456789012345678901234567890\n").unwrap();
        let refs = read(&origin.git_dir()).unwrap();
        assert_eq!(refs.default_branch, None);
        assert_eq!(refs.branches, [Branch { name: RepoPath::from_escaped("main"), tip: one }]);
        assert_eq!(refs.broken, [RepoPath::from_escaped("refs/heads/gone")]);
        assert!(matches!(read(std::path::Path::new("/nonexistent")), Err(RefsError::Unreadable { .. })));
    }
}
