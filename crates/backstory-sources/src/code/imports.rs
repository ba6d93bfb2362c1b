//! Imports as written; which files they may mean is in [`super::candidates`].

use backstory_model::code::{Import, ImportedName, Language};
use tree_sitter::Node;

use super::{candidates, rows::line, signature::collapse, walk::Walk};

/// Longest module or path that is kept, in characters.
const MAX_MODULE: usize = 300;
/// Most names that one import takes.
const MAX_NAMES: usize = 256;
/// Deepest nesting of braces in Rust's `use`.
const MAX_NESTING: usize = 16;

impl<'t> Walk<'_, 't> {
    /// Adds what a node imports.
    pub(super) fn import(&mut self, node: Node<'t>) {
        let line = line(node.start_position().row);
        let text = self.text(node);
        match self.spec.language {
            Language::Rust if node.kind() == "mod_item" => {
                let Some(name) = node.child_by_field_name("name") else { return };
                self.imported(&format!("self::{}", self.text(name)), whole(self.text(name)), line);
            }
            Language::Rust => {
                let Some(argument) = node.child_by_field_name("argument") else { return };
                for (module, names) in use_tree(self.text(argument)) {
                    self.imported(&module, names, line);
                }
            }
            Language::Python => self.python_import(node, line),
            Language::Go => {
                let Some(path) = node.child_by_field_name("path") else { return };
                let module = unquoted(self.text(path));
                let local = node.child_by_field_name("name").map_or_else(
                    || module.rsplit('/').next().unwrap_or(module).to_owned(),
                    |name| self.text(name).to_owned(),
                );
                self.imported(module, whole(&local), line);
            }
            Language::TypeScript | Language::Tsx | Language::JavaScript => self.javascript_import(node, line),
            Language::C | Language::Cpp => {
                let Some(path) = node.child_by_field_name("path") else { return };
                self.imported(self.text(path).trim_matches('"'), Vec::new(), line);
            }
            Language::Ruby | Language::Bash => {
                let argument = node.child_by_field_name("arguments").or_else(|| node.child_by_field_name("argument"));
                let Some(argument) = argument else { return };
                let module = unquoted(self.text(argument).trim_matches(['(', ')']));
                // What is put together at run time names no file.
                let relative = self.spec.language == Language::Ruby && text.starts_with("require_relative");
                let module = if relative { format!("./{module}") } else { module.to_owned() };
                self.imported(&module, Vec::new(), line);
            }
            Language::Php => self.php_import(node, line),
            Language::Java | Language::Kotlin | Language::CSharp => {
                for (module, names) in dotted(text) {
                    self.imported(&module, names, line);
                }
            }
        }
    }

    fn imported(&mut self, module: &str, mut names: Vec<ImportedName>, line: u32) {
        let module = collapse(module, MAX_MODULE);
        if module.is_empty() {
            return;
        }
        names.truncate(MAX_NAMES);
        let candidates = candidates::import_candidates(self.spec.language, self.path, &module);
        self.add_import(Import { module, names, candidates, line });
    }

    fn python_import(&mut self, node: Node<'t>, line: u32) {
        let module = node.child_by_field_name("module_name");
        let mut cursor = node.walk();
        let mut names = Vec::new();
        for name in node.children_by_field_name("name", &mut cursor).take(MAX_NAMES) {
            let alias = name.child_by_field_name("alias").map(|alias| self.text(alias));
            let written = self.text(name.child_by_field_name("name").unwrap_or(name));
            if module.is_none() {
                let local = alias.unwrap_or(written);
                self.imported(written, whole(local), line);
            } else {
                names.push(named(written, alias.unwrap_or(written)));
            }
        }
        if let Some(module) = module {
            if names.is_empty() {
                names = whole("*");
            }
            self.imported(self.text(module), names, line);
        }
    }

    fn javascript_import(&mut self, node: Node<'t>, line: u32) {
        if node.kind() == "call_expression" {
            let argument = node.child_by_field_name("arguments").and_then(|arguments| arguments.named_child(0));
            let Some(argument) = argument.filter(|argument| argument.kind() == "string") else { return };
            let target = node.parent().filter(|parent| parent.kind() == "variable_declarator");
            let target = target.and_then(|parent| parent.child_by_field_name("name")).map(|name| self.text(name));
            let names = match target {
                Some(list) if list.starts_with('{') => in_braces(list, ":"),
                Some(name) => whole(name),
                None => Vec::new(),
            };
            self.imported(unquoted(self.text(argument)), names, line);
            return;
        }
        let Some(source) = node.child_by_field_name("source") else { return };
        let module = unquoted(self.text(source)).to_owned();
        let text = self.text(node);
        let clause = text.get(..source.start_byte() - node.start_byte()).unwrap_or_default();
        let clause = clause.trim_start_matches("export").trim_start_matches("import").trim();
        let clause = clause.strip_prefix("type ").unwrap_or(clause);
        let clause = clause.strip_suffix("from").unwrap_or(clause).trim();
        let mut names = Vec::new();
        if let Some(open) = clause.find('{') {
            names = in_braces(&clause[open..], " as ");
        }
        for part in clause.split('{').next().unwrap_or_default().split(',').map(str::trim) {
            match part.strip_prefix("* as ") {
                Some(local) => names.extend(whole(local.trim())),
                None if part == "*" => names.extend(whole("*")),
                None if !part.is_empty() => names.push(named("default", part)),
                None => {}
            }
        }
        self.imported(&module, names, line);
    }

    fn php_import(&mut self, node: Node<'t>, line: u32) {
        let text = self.text(node);
        if node.kind() != "namespace_use_declaration" {
            // Most paths are put together with `__DIR__`; the literal part tells the file.
            let Some(path) = text.split(['\'', '"']).nth(1) else { return };
            let relative = text.contains("__DIR__") || path.starts_with('.');
            let path = path.trim_start_matches('/');
            let module = if relative { format!("./{}", path.trim_start_matches("./")) } else { path.to_owned() };
            self.imported(&module, Vec::new(), line);
            return;
        }
        let text = text.trim_start_matches("use").trim_end_matches(';').trim();
        let text = text.strip_prefix("function ").or(text.strip_prefix("const ")).unwrap_or(text).trim();
        let (prefix, list) = match text.split_once('{') {
            Some((prefix, list)) => (prefix.trim(), list.trim_end_matches('}')),
            None => ("", text),
        };
        for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()).take(MAX_NAMES) {
            let (path, alias) = part.split_once(" as ").unwrap_or((part, part.rsplit('\\').next().unwrap_or(part)));
            let path = format!("{prefix}{}", path.trim());
            let name = path.rsplit('\\').next().unwrap_or_default().to_owned();
            self.imported(&path, vec![named(&name, alias.trim())], line);
        }
    }

    /// Adds what a module passes on: `export … from "…"`.
    pub(super) fn reexport(&mut self, node: Node<'t>) {
        if node.kind() == "export_statement" && node.child_by_field_name("source").is_some() {
            self.javascript_import(node, line(node.start_position().row));
        }
    }
}

fn named(name: &str, local: &str) -> ImportedName {
    ImportedName { name: collapse(name, MAX_MODULE), local: collapse(local, MAX_MODULE) }
}

fn whole(local: &str) -> Vec<ImportedName> {
    vec![named("*", local)]
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\'', '`'])
}

/// `{ a, b as c }` with what stands between a name and its local name.
fn in_braces(text: &str, between: &str) -> Vec<ImportedName> {
    let inner = text.trim_start_matches('{').split('}').next().unwrap_or_default();
    let parts = inner.split(',').map(str::trim).filter(|part| !part.is_empty()).take(MAX_NAMES);
    parts
        .map(|part| {
            let part = part.strip_prefix("type ").unwrap_or(part);
            let (name, local) = part.split_once(between).unwrap_or((part, part));
            named(name.trim(), local.trim())
        })
        .collect()
}

/// `import a.b.C as D;`, `using A.B;` and `using X = A.B;`.
fn dotted(text: &str) -> Vec<(String, Vec<ImportedName>)> {
    let words: Vec<&str> = text.trim_end_matches(';').split_ascii_whitespace().collect();
    let is_keyword = |word: &&str| !matches!(*word, "import" | "using" | "static" | "global" | "unsafe");
    let words: Vec<&str> = words.into_iter().filter(is_keyword).collect();
    let (path, alias) = match words.as_slice() {
        [alias, "=", path] => (*path, Some(*alias)),
        [path, "as", alias] => (*path, Some(*alias)),
        [path, ..] => (*path, None),
        [] => return Vec::new(),
    };
    let last = path.rsplit('.').next().unwrap_or(path);
    let name = if last == "*" { "*" } else { last };
    vec![(path.to_owned(), vec![named(name, alias.unwrap_or(last))])]
}

/// `a::{b, c::{d as e, self}}` as one module with its names for each list.
fn use_tree(text: &str) -> Vec<(String, Vec<ImportedName>)> {
    let mut out: Vec<(String, Vec<ImportedName>)> = Vec::new();
    expand(text.trim(), "", 0, &mut out);
    out
}

fn expand(text: &str, prefix: &str, depth: usize, out: &mut Vec<(String, Vec<ImportedName>)>) {
    if depth > MAX_NESTING || out.len() > MAX_NAMES {
        return;
    }
    if let Some(open) = text.find('{') {
        let inner = text[open + 1..].trim_end().trim_end_matches('}');
        let inner = if text.trim_end().ends_with('}') {
            let end = text.trim_end().len() - 1;
            text.get(open + 1..end).unwrap_or(inner)
        } else {
            inner
        };
        let prefix = format!("{prefix}{}", text[..open].trim());
        for part in at_top_level(inner) {
            expand(part, &prefix, depth + 1, out);
        }
        return;
    }
    let (path, alias) = text.split_once(" as ").unwrap_or((text, ""));
    let path = format!("{prefix}{}", path.trim());
    let (module, name) = path.rsplit_once("::").unwrap_or(("", &path));
    let (module, name) = match name {
        "self" => (module, "*"),
        "*" => (module, "*"),
        name if module.is_empty() => (name, "*"),
        name => (module, name),
    };
    let local = match alias.trim() {
        "" if name == "*" && path.ends_with('*') => "*",
        "" if name == "*" => module.rsplit("::").next().unwrap_or(module),
        "" => name,
        alias => alias,
    };
    let imported = named(name, local);
    match out.iter_mut().rev().find(|(known, _)| known == module) {
        Some((_, names)) if names.len() < MAX_NAMES => names.push(imported),
        Some(_) => {}
        None => out.push((module.to_owned(), vec![imported])),
    }
}

/// The parts of a list that commas outside of braces separate.
fn at_top_level(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts.truncate(MAX_NAMES);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(modules: Vec<(String, Vec<ImportedName>)>) -> Vec<String> {
        let names = |names: Vec<ImportedName>| {
            names.into_iter().map(|name| format!("{}={}", name.local, name.name)).collect::<Vec<_>>().join(",")
        };
        modules.into_iter().map(|(module, imported)| format!("{module} {}", names(imported))).collect()
    }

    #[test]
    fn trees_of_use_are_expanded() {
        assert_eq!(flat(use_tree("a::b::c")), ["a::b c=c"]);
        assert_eq!(
            flat(use_tree("crate::{a::{self, b as c}, d::*, e}")),
            ["crate::a a=*,c=b", "crate::d *=*", "crate e=e"]
        );
        assert_eq!(flat(use_tree("serde")), ["serde serde=*"]);
        assert_eq!(flat(use_tree("{{{")), Vec::<String>::new());
    }

    #[test]
    fn dotted_imports_are_read() {
        assert_eq!(flat(dotted("import a.b.C;")), ["a.b.C C=C"]);
        assert_eq!(flat(dotted("import static a.b.C.*;")), ["a.b.C.* *=*"]);
        assert_eq!(flat(dotted("using X = A.B;")), ["A.B X=B"]);
        assert_eq!(flat(dotted("import a.b as c")), ["a.b c=b"]);
    }
}
