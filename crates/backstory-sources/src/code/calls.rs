//! Calls, and calls that mean something else: test blocks and imports.

use backstory_model::code::{EntityKind, Language, TestRole};
use tree_sitter::Node;

use super::walk::{FoundDefinition, Walk};

/// Longest qualifier that is kept, in bytes.
pub const MAX_QUALIFIER: usize = 80;
/// Longest name of a callee, in bytes.
const MAX_CALLEE: usize = 120;
/// Stands for a qualifier that is an expression.
pub const EXPRESSION: &str = "…";

impl<'t> Walk<'_, 't> {
    /// A call whose callee is in one field; whether to look inside.
    pub(super) fn call(&mut self, node: Node<'t>, field: &str) -> bool {
        let callee = if field.is_empty() { first_callee(node) } else { node.child_by_field_name(field) };
        let Some(callee) = callee else { return true };
        let text = self.text(callee);
        if matches!(self.spec.language, Language::TypeScript | Language::Tsx | Language::JavaScript) {
            if matches!(text, "require" | "import") {
                self.import(node);
                return true;
            }
            if let Some(role) = block_of_tests(text)
                && self.test_block(node, role)
            {
                return true;
            }
        }
        if self.spec.language == Language::Bash && matches!(text, "source" | ".") {
            self.import(node);
            return false;
        }
        if let Some((qualifier, name)) = split_callee(text) {
            self.add_call(name, qualifier, callee.end_position().row);
        }
        true
    }

    /// A call whose receiver and name are in two fields; whether to look inside.
    pub(super) fn call_on(&mut self, node: Node<'t>, receiver: &str, name: &str) -> bool {
        let Some(name) = node.child_by_field_name(name) else { return true };
        let receiver = node.child_by_field_name(receiver);
        let text = self.text(name);
        if self.spec.language == Language::Ruby {
            if receiver.is_none() && matches!(text, "require" | "require_relative" | "load" | "autoload") {
                self.import(node);
                return false;
            }
            if matches!(text, "include" | "extend" | "prepend") && receiver.is_none() {
                self.include_mixin(node);
                return false;
            }
            if let Some(role) = block_of_tests(text).filter(|_| node.child_by_field_name("block").is_some())
                && self.test_block(node, role)
            {
                return true;
            }
        }
        if text.len() > MAX_CALLEE || text.is_empty() {
            return true;
        }
        let qualifier = receiver.map(|receiver| self.text(receiver)).map(|text| as_path(text).unwrap_or(EXPRESSION));
        self.add_call(text, qualifier, name.start_position().row);
        true
    }

    /// Inside a macro call a word directly before parentheses is called.
    pub(super) fn call_in_tokens(&mut self, node: Node<'t>) {
        let start = node.start_byte();
        if self.source.as_bytes().get(start) != Some(&b'(') {
            return;
        }
        let before = self.source.get(..start).unwrap_or_default();
        let from = before
            .bytes()
            .rev()
            .take(MAX_CALLEE)
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.'))
            .count();
        let Some(text) = before.get(start - from..) else { return };
        if let Some((qualifier, name)) = split_callee(text.trim_start_matches([':', '.'])) {
            let keyword =
                matches!(name, "if" | "match" | "while" | "for" | "in" | "return" | "fn" | "let" | "Some" | "Ok");
            let is_name = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
            if is_name && !keyword {
                self.add_call(name, qualifier, node.start_position().row);
            }
        }
    }

    /// `describe("…", …)` and its like; whether it is one.
    fn test_block(&mut self, node: Node<'t>, role: TestRole) -> bool {
        let Some(arguments) = node.child_by_field_name("arguments") else { return false };
        let Some(title) = arguments.named_child(0) else { return false };
        let is_title = matches!(title.kind(), "string" | "template_string" | "constant" | "scope_resolution");
        let has_block = node.child_by_field_name("block").is_some() || arguments.named_child_count() > 1;
        if !is_title || !has_block {
            return false;
        }
        let text = self.text(title).trim_matches(['"', '\'', '`']);
        let Some(name) = super::define::usable_name(text) else { return false };
        let kind = if role == TestRole::Test { EntityKind::TestCase } else { EntityKind::TestSuite };
        let (name_at, name_row) = (title.byte_range(), title.start_position().row);
        let body = node.child_by_field_name("block").or_else(|| last_argument(arguments));
        self.add(node, FoundDefinition { kind, name, name_at, name_row, owner: None, body });
        true
    }
}

fn last_argument(arguments: Node<'_>) -> Option<Node<'_>> {
    let last = u32::try_from(arguments.named_child_count().checked_sub(1)?).ok()?;
    arguments.named_child(last)
}

/// The callee of a node that has no field for it.
fn first_callee(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).find(|child| !child.kind().contains("comment") && child.kind() != "arguments")
}

/// What a callee of that name makes of its block.
fn block_of_tests(callee: &str) -> Option<TestRole> {
    let callee = callee.strip_prefix("RSpec.").unwrap_or(callee);
    let (word, rest) = callee.split_once('.').unwrap_or((callee, ""));
    if rest.len() > 40 {
        return None;
    }
    match word {
        "describe" | "suite" | "context" | "fdescribe" | "xdescribe" | "feature" | "shared_examples" => {
            Some(TestRole::Container)
        }
        "it" | "test" | "specify" | "fit" | "xit" | "scenario" | "bench" => Some(TestRole::Test),
        _ => None,
    }
}

/// The qualifier and the name of a callee as written, as `std::mem` and `take`.
pub(super) fn split_callee(text: &str) -> Option<(Option<&str>, &str)> {
    let text = without_type_arguments(text.trim_end()).trim_end_matches(['!', '?', ':', '.']);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80;
    let length = text.bytes().rev().take(MAX_CALLEE + 1).take_while(|byte| is_word(*byte)).count();
    if length == 0 || length > MAX_CALLEE {
        return None;
    }
    let at = text.len() - length;
    let (before, name) = (text.get(..at)?, text.get(at..)?);
    // A shell command may be called `apt-get` or `./configure`.
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let before = before.trim_end();
    if before.is_empty() {
        return Some((None, name));
    }
    let trimmed = before
        .strip_suffix("::")
        .or_else(|| before.strip_suffix("->"))
        .or_else(|| before.strip_suffix("?."))
        .or_else(|| before.strip_suffix("!."))
        .or_else(|| before.strip_suffix('.'))
        .or_else(|| before.strip_suffix('\\'))
        .or_else(|| before.strip_suffix('#'));
    match trimmed {
        Some("") => Some((None, name)),
        Some(qualifier) => Some((Some(as_path(qualifier).unwrap_or(EXPRESSION)), name)),
        None if before.ends_with(['-', '/']) => Some((None, text)),
        // `new Name`, `*name`, `(name`.
        None => Some((None, name)),
    }
}

/// The text if it is a short path of names.
fn as_path(text: &str) -> Option<&str> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_$@:.->?!<>&*\\".contains(&byte) || byte >= 0x80;
    (!text.is_empty() && text.len() <= MAX_QUALIFIER && text.bytes().all(is_part)).then_some(text)
}

/// `parse::<u8>` and `list.of<T>` without what is in angle brackets at the end.
fn without_type_arguments(text: &str) -> &str {
    if !text.ends_with('>') {
        return text;
    }
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate().rev() {
        match byte {
            b'>' => depth += 1,
            b'<' => {
                depth -= 1;
                if depth == 0 {
                    return text.get(..at).unwrap_or(text);
                }
            }
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_are_split() {
        for (text, qualifier, name) in [
            ("open", None, "open"),
            ("std::mem::take", Some("std::mem"), "take"),
            ("self.store.open", Some("self.store"), "open"),
            ("a->b", Some("a"), "b"),
            ("parse::<Vec<u8>>", None, "parse"),
            ("x.parse::<u8>", Some("x"), "parse"),
            ("f(a, b).run", Some("…"), "run"),
            ("a?.b", Some("a"), "b"),
            ("println!", None, "println"),
            ("apt-get", None, "apt-get"),
            ("größe.messen", Some("größe"), "messen"),
        ] {
            assert_eq!(split_callee(text), Some((qualifier, name)), "{text}");
        }
        assert_eq!(split_callee("(a + b)"), None);
        assert_eq!(split_callee(""), None);
        assert_eq!(split_callee(">>>"), None);
    }
}
