//! Tests of resolving references.

use super::*;
use crate::code::analyze;

/// Links as `path#name -> path#name confidence`.
fn links(files: &[(&str, &str)]) -> Vec<String> {
    let analyses: Vec<_> = files.iter().map(|(path, source)| (*path, analyze(path, source.as_bytes()))).collect();
    let tree: BTreeMap<&str, &FileAnalysis> = analyses.iter().map(|(path, analysis)| (*path, analysis)).collect();
    let resolved = resolve(&tree);
    let name = |end: LinkEnd| {
        let path = &resolved.paths[end.file as usize];
        let code = tree[path.as_str()].code();
        let entity = end.entity.and_then(|entity| code.and_then(|code| code.entities.get(entity as usize)));
        entity.map_or_else(|| path.clone(), |entity| format!("{path}#{}", entity.qualified_name))
    };
    let kind = |kind| match kind {
        LinkKind::Calls => "calls",
        LinkKind::Imports => "imports",
        LinkKind::Extends => "extends",
        LinkKind::Implements => "implements",
    };
    let line = |link: &Link| format!("{} {} {} {}", name(link.from), kind(link.kind), name(link.to), link.confidence);
    resolved.links.iter().map(line).collect()
}

#[test]
fn python_is_resolved_through_imports() {
    let found = links(&[
        (
            "src/shop/store.py",
            "from .disk import save as put\nfrom . import walk\nfrom shop.base import Base\nclass Store(Base):\n    def open(self):\n        put()\n        walk.go()\n        self.close()\n        helper()\n    def close(self): pass\ndef helper(): pass\n",
        ),
        ("src/shop/disk.py", "def save(): pass\n"),
        ("src/shop/walk.py", "def go(): pass\n"),
        ("src/shop/base.py", "class Base: pass\n"),
        ("src/other/disk.py", "def save(): pass\ndef go(): pass\nclass Base: pass\n"),
    ]);
    for expected in [
        "src/shop/store.py imports src/shop/disk.py 0.95",
        "src/shop/store.py imports src/shop/walk.py 0.95",
        "src/shop/store.py imports src/shop/base.py 0.95",
        "src/shop/store.py#Store.open calls src/shop/disk.py#save 0.9",
        "src/shop/store.py#Store.open calls src/shop/walk.py#go 0.9",
        "src/shop/store.py#Store.open calls src/shop/store.py#Store.close 0.95",
        "src/shop/store.py#Store.open calls src/shop/store.py#helper 0.95",
        "src/shop/store.py#Store extends src/shop/base.py#Base 0.9",
    ] {
        assert!(found.iter().any(|link| link == expected), "{expected}: {found:#?}");
    }
    assert_eq!(found.len(), 8, "{found:#?}");
}

#[test]
fn rust_is_resolved_through_use() {
    let found = links(&[
        ("src/lib.rs", "mod store;\nuse crate::store::Store;\nfn run() { Store::make(); store::help(); }\n"),
        (
            "src/store.rs",
            "pub struct Store;\nimpl Store { pub fn make() { Self::check(); } fn check() {} }\npub fn help() {}\nstruct Other;\nimpl Other { fn make() {} }\n",
        ),
    ]);
    for expected in [
        "src/lib.rs imports src/store.rs 0.95",
        "src/lib.rs#run calls src/store.rs#Store::make 0.9",
        "src/lib.rs#run calls src/store.rs#help 0.9",
        "src/store.rs#Store::make calls src/store.rs#Store::check 0.95",
    ] {
        assert!(found.iter().any(|link| link == expected), "{expected}: {found:#?}");
    }
    assert_eq!(found.len(), 4, "{found:#?}");
}

#[test]
fn declarations_stand_for_definitions() {
    let found = links(&[
        ("include/a.h", "int go(void);\n"),
        ("src/a.c", "#include \"../include/a.h\"\nint go(void) { return 1; }\n"),
        ("tests/t.c", "#include \"../include/a.h\"\nint main(void) { return go(); }\n"),
    ]);
    assert!(found.contains(&"tests/t.c#main calls src/a.c#go 0.9".to_owned()), "{found:#?}");
}

#[test]
fn what_could_mean_several_things_is_left_out() {
    let found = links(&[
        ("a/x.go", "package a\nfunc run() { make_it(); only() }\n"),
        ("b/y.go", "package b\nfunc make_it() {}\nfunc only() {}\n"),
        ("c/z.go", "package c\nfunc make_it() {}\n"),
        ("a/w.go", "package a\nfunc twin() {}\n"),
        ("a/v.go", "package a\nfunc other() { twin() }\n"),
        ("d/p.py", "def f(): only()\n"),
    ]);
    assert_eq!(found, ["a/v.go#other calls a/w.go#twin 0.7", "a/x.go#run calls b/y.go#only 0.5"]);
}
