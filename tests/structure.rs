//! The structure of the source code: modules that are siblings do not depend on one another in a circle, and the
//! engine's facade has one `impl` block.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
};

/// Modules whose children refer to one another as the nodes of the graph do, in circles: the crate and the parent.
const MUTUAL_TYPES: [(&str, &str); 2] = [("backstory-server", "graphql"), ("backstory-server", "graphql::code")];

/// A path of modules, and of an item at its end, without `crate`.
type ModulePath = Vec<String>;

/// The modules of a crate as its sources have them, without tests, comments and strings.
struct CrateSources {
    modules: BTreeMap<ModulePath, String>,
    /// Of each module what its `use` declarations bring into it, by name.
    imports: HashMap<ModulePath, HashMap<String, ModulePath>>,
}

/// Siblings that depend on one another, each with what it depends on and an example of a path that says so.
#[derive(Default)]
struct SiblingGraph(BTreeMap<String, BTreeMap<String, String>>);

#[test]
fn sibling_modules_do_not_depend_on_one_another_in_a_circle() {
    let (mut problems, mut mutual) = (Vec::new(), BTreeSet::new());
    for source in crate_sources() {
        let name = source.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        for (parent, graph) in CrateSources::read(&source).sibling_graphs() {
            let parent = parent.join("::");
            for knot in graph.knots() {
                if MUTUAL_TYPES.contains(&(&*name, &*parent)) {
                    mutual.insert(parent.clone());
                } else {
                    problems.push(format!("{name} {parent}:\n{}", graph.describe(&knot)));
                }
            }
        }
    }
    assert!(problems.is_empty(), "modules depend on one another in a circle:\n{}", problems.join("\n"));
    assert_eq!(mutual.len(), MUTUAL_TYPES.len(), "only {mutual:?} have circles; shorten MUTUAL_TYPES");
}

#[test]
fn the_facade_of_the_engine_has_one_impl_block_and_no_module_names_it() {
    let engine = crate_sources().into_iter().find(|source| source.ends_with("backstory-engine/src")).unwrap();
    let sources = CrateSources::read(&engine);
    let facade = vec!["Engine".to_owned()];
    for (module, text) in &sources.modules {
        assert_eq!(text.matches("impl Engine {").count(), usize::from(module.is_empty()), "{module:?}");
        let names_it = paths_in(text).iter().any(|path| sources.absolute(module, path).as_ref() == Some(&facade));
        assert!(!names_it, "{module:?} names the facade; it needs only Resources");
    }
}

#[test]
fn paths_in_comments_strings_and_tests_do_not_count() {
    let text = "use crate::a::{b, c::{self, d as e}}; // crate::f\n/* crate::g */ let h = \"crate::i\"; let j = 'k';\n\
        fn l<'m>() { super::n::o(r#\"crate::p\"#) }\n#[cfg(test)]\nmod tests { use crate::q; }\n";
    let paths: Vec<String> =
        paths_in(&without_tests(&without_text(text)).0).iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["crate::a::b", "crate::a::c::self", "crate::a::c::d", "super::n::o"]);
}

#[test]
fn knots_are_all_siblings_that_reach_one_another() {
    let mut graph = SiblingGraph::default();
    for (from, to) in [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("e", "f"), ("f", "g"), ("g", "e")] {
        graph.add(from, to, String::new());
    }
    let knots: Vec<Vec<String>> = graph.knots().into_iter().map(|knot| knot.into_iter().collect()).collect();
    assert_eq!(knots, [vec!["b", "c"], vec!["e", "f", "g"]]);
}

/// The `src` directories of all crates.
fn crate_sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut sources: Vec<PathBuf> =
        fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    sources.sort();
    sources
}

impl CrateSources {
    fn read(source: &Path) -> Self {
        let mut modules = BTreeMap::new();
        let mut tests = BTreeSet::new();
        for file in rust_files(source) {
            let relative = file.strip_prefix(source).unwrap().with_extension("");
            let mut module: ModulePath = relative.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            if ["lib", "main"].contains(&module.join("/").as_str()) || module.last().is_some_and(|name| name == "mod") {
                module.pop();
            }
            let (text, names) = without_tests(&without_text(&fs::read_to_string(&file).unwrap()));
            tests.extend(names.into_iter().map(|name| [module.clone(), vec![name]].concat()));
            modules.insert(module, text);
        }
        modules.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        let mut sources = Self { modules, imports: HashMap::new() };
        for (module, text) in &sources.modules {
            let mut names = HashMap::new();
            for declaration in text.split("use ").skip(1) {
                let mut leaves = Vec::new();
                read_tree(declaration, &[], &mut leaves);
                for (path, alias) in leaves {
                    let own = path.iter().rfind(|part| *part != "self").cloned();
                    if let (Some(path), Some(name)) = (sources.absolute(module, &path), alias.or(own)) {
                        names.insert(name, path);
                    }
                }
            }
            sources.imports.insert(module.clone(), names);
        }
        sources
    }

    /// A path as written in a module as one from the root of the crate; `None` if it leads to another crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<ModulePath> {
        let mut base = module.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (base, rest) = (vec![], &path[1..]),
            "super" | "self" => {
                while let Some(first @ ("super" | "self")) = rest.first().map(String::as_str) {
                    if first == "super" {
                        base.pop();
                    }
                    rest = &rest[1..];
                }
            }
            child if self.modules.contains_key(&[module, &[child.to_owned()]].concat()) => {}
            _ => return None,
        }
        base.extend(rest.iter().filter(|part| *part != "self").cloned());
        Some(base)
    }

    /// The module that has what a path leads to, past what other modules import or export again.
    fn resolve(&self, path: &[String], depth: usize) -> ModulePath {
        let mut module = ModulePath::new();
        for (place, part) in path.iter().enumerate() {
            let child = [&module[..], std::slice::from_ref(part)].concat();
            if self.modules.contains_key(&child) {
                module = child;
                continue;
            }
            let import = self.imports.get(&module).and_then(|names| names.get(part));
            return match import {
                Some(import) if import[..] != path[..=place] && depth > 0 => {
                    self.resolve(&[import, &path[place + 1..]].concat(), depth - 1)
                }
                _ => module,
            };
        }
        module
    }

    /// For each parent module the graph of its children. A parent and its own children may name each other.
    fn sibling_graphs(&self) -> BTreeMap<ModulePath, SiblingGraph> {
        const DEPTH: usize = 8;
        let mut graphs: BTreeMap<ModulePath, SiblingGraph> = BTreeMap::new();
        for (module, text) in &self.modules {
            for path in paths_in(text).iter().filter_map(|path| self.absolute(module, path)) {
                let target = self.resolve(&path, DEPTH);
                let shared = module.iter().zip(&target).take_while(|(one, other)| one == other).count();
                if let (Some(from), Some(to)) = (module.get(shared), target.get(shared)) {
                    let example = format!("{} uses {}", module.join("::"), path.join("::"));
                    graphs.entry(module[..shared].to_vec()).or_default().add(from, to, example);
                }
            }
        }
        graphs
    }
}

impl SiblingGraph {
    fn add(&mut self, from: &str, to: &str, example: String) {
        self.0.entry(from.to_owned()).or_default().entry(to.to_owned()).or_insert(example);
    }

    fn reachable(&self, from: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![from];
        while let Some(next) = waiting.pop() {
            for to in self.0.get(next).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(to.clone()) {
                    waiting.push(to);
                }
            }
        }
        reached
    }

    /// Groups of siblings of which each reaches each.
    fn knots(&self) -> BTreeSet<BTreeSet<String>> {
        let reached: BTreeMap<&String, BTreeSet<String>> =
            self.0.keys().map(|name| (name, self.reachable(name))).collect();
        let knot = |name: &String| -> BTreeSet<String> {
            reached[name]
                .iter()
                .filter(|other| reached.get(other).is_some_and(|back| back.contains(name)))
                .cloned()
                .collect()
        };
        self.0.keys().map(knot).filter(|knot| knot.len() > 1).collect()
    }

    fn describe(&self, knot: &BTreeSet<String>) -> String {
        let edges = knot.iter().flat_map(|from| self.0[from].iter().map(move |(to, example)| (from, to, example)));
        let edges = edges.filter(|(_, to, _)| knot.contains(*to));
        edges.map(|(from, to, example)| format!("  {from} → {to}: {example}\n")).collect()
    }
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Source code without comments, strings and characters.
fn without_text(source: &str) -> String {
    let mut code = String::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let after_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => quoted_length(rest),
            'r' if !after_word => raw_string_length(rest).unwrap_or(0),
            '\'' => character_length(rest),
            _ => 0,
        };
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.push(' ');
            rest = &rest[length..];
        }
    }
    code
}

fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (place, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return place + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

fn raw_string_length(text: &str) -> Option<usize> {
    let hashes = text[1..].chars().take_while(|c| *c == '#').count();
    let begin = 1 + hashes;
    if !text[begin..].starts_with('"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    text[begin + 1..].find(&end).map(|place| begin + 1 + place + end.len())
}

/// The length of a character with its quotes; 0 for a lifetime.
fn character_length(text: &str) -> usize {
    let mut inner = text[1..].char_indices();
    match inner.next() {
        Some((_, '\\')) => text[3..].find('\'').map_or(0, |end| end + 4),
        Some((_, c)) if text[1 + c.len_utf8()..].starts_with('\'') => c.len_utf8() + 2,
        _ => 0,
    }
}

/// Code without what is compiled for tests only, and the names of modules in files of their own that are.
fn without_tests(code: &str) -> (String, Vec<String>) {
    let mut kept = String::new();
    let mut names = Vec::new();
    let mut rest = code;
    while let Some(begin) = rest.find("#[cfg(") {
        let end = begin + rest[begin..].find(']').unwrap() + 1;
        if !rest[begin..end].contains("test") {
            kept.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        kept.push_str(&rest[..begin]);
        let item = &rest[end..];
        let (block, statement) = (item.find('{').unwrap_or(item.len()), item.find(';').unwrap_or(item.len()));
        if statement < block {
            names.extend(item[..statement].rsplit_once("mod ").map(|(_, name)| name.trim().to_owned()));
            rest = &item[statement + 1..];
        } else {
            rest = &item[block_end(item, block)..];
        }
    }
    kept.push_str(rest);
    (kept, names)
}

/// Where the block ends that begins at a brace.
fn block_end(code: &str, begin: usize) -> usize {
    let mut depth = 0;
    for (place, c) in code.char_indices().skip_while(|(place, _)| *place < begin) {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return place + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// All paths in code that begin with `crate`, `super` or `self`, those of `use` trees one by one.
fn paths_in(code: &str) -> Vec<ModulePath> {
    let mut leaves = Vec::new();
    for root in ["crate", "super", "self"] {
        for (place, _) in code.match_indices(root) {
            let is_word = !code[..place].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            if is_word && code[place + root.len()..].trim_start().starts_with("::") {
                read_tree(&code[place..], &[], &mut leaves);
            }
        }
    }
    leaves.into_iter().map(|(path, _)| path).collect()
}

/// Reads a path or a `use` tree that code begins with, and adds its leaves with their aliases. Returns what follows.
fn read_tree<'a>(code: &'a str, prefix: &[String], leaves: &mut Vec<(ModulePath, Option<String>)>) -> &'a str {
    let mut path = prefix.to_vec();
    let mut rest = code.trim_start();
    loop {
        if let Some(mut inner) = rest.strip_prefix('{') {
            loop {
                inner = inner.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
                if inner.is_empty() || inner.starts_with('}') {
                    return inner.get(1..).unwrap_or_default();
                }
                let after = read_tree(inner, &path, leaves);
                // Whatever is no path is passed over.
                inner =
                    if after.len() < inner.len() { after } else { &inner[inner.chars().next().unwrap().len_utf8()..] };
            }
        }
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if length == 0 {
            break;
        }
        path.push(rest[..length].to_owned());
        rest = &rest[length..];
        match rest.trim_start().strip_prefix("::") {
            Some(next) => rest = next.trim_start(),
            None => break,
        }
    }
    if path.len() == prefix.len() {
        return rest;
    }
    let alias = rest.trim_start().strip_prefix("as ").map(|after| {
        let length = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
        rest = &after[length..];
        after[..length].to_owned()
    });
    leaves.push((path, alias));
    rest
}
