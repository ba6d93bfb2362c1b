//! Supertypes: what types extend, implement or embed.

use backstory_model::code::{Language, Supertype, SupertypeKind};
use tree_sitter::Node;

use super::{
    define::{MAX_ENTITY_NAME_CHARS, base_name},
    languages::base_field,
    rows::line,
    walk::{BindingScope, Walk},
};

/// Most bases of one type.
const MAX_BASES: usize = 64;

impl<'t> Walk<'_, 't> {
    /// Names in a clause such as `extends A, B`.
    pub(super) fn add_supertypes(&mut self, node: Node<'t>, kind: SupertypeKind) {
        let Some(entity) = self.entity() else { return };
        if self.place() != BindingScope::Type {
            return;
        }
        let row = node.start_position().row;
        let csharp = self.spec.language == Language::CSharp;
        for name in names(self.text(node)) {
            // C# writes both in one list; interfaces are told by their name.
            let is_interface = csharp && name.starts_with('I') && name[1..].starts_with(|c: char| c.is_uppercase());
            let kind = if is_interface { SupertypeKind::Implements } else { kind };
            self.based(Some(entity), kind, name, row);
        }
    }

    /// What a field of the definition says that it builds on.
    pub(super) fn base_of_field(&mut self, node: Node<'t>, entity: u32) {
        let Some(field) = base_field(self.spec.language) else { return };
        let is_type = self.out.entities.get(entity as usize).is_some_and(|entity| entity.kind.is_type());
        let Some(bases) = node.child_by_field_name(field).filter(|_| is_type) else { return };
        let row = bases.start_position().row;
        let text = self.text(bases).trim_matches(['(', ')', ':']);
        let separated = if self.spec.language == Language::Rust { text.replace('+', ",") } else { text.to_owned() };
        for name in names(&separated) {
            if !name.contains(['=', '\'', '?']) {
                self.based(Some(entity), SupertypeKind::Extends, name, row);
            }
        }
    }

    /// A type that the enclosing type embeds.
    pub(super) fn embed(&mut self, node: Node<'t>) {
        if self.place() != BindingScope::Type || node.child_by_field_name("name").is_some() {
            return;
        }
        let text = self.text(node);
        let text = text.split('`').next().unwrap_or(text).trim();
        if text.contains(['|', '~', '{', '(']) {
            return;
        }
        let (entity, row) = (self.entity(), node.start_position().row);
        self.based(entity, SupertypeKind::Extends, base_name(text), row);
    }

    /// `include Name` in a Ruby class.
    pub(super) fn include_mixin(&mut self, node: Node<'t>) {
        let Some(arguments) = node.child_by_field_name("arguments") else { return };
        let (entity, row) = (self.entity(), node.start_position().row);
        if self.place() == BindingScope::Local || entity.is_none() {
            return;
        }
        for name in names(self.text(arguments)) {
            if name.starts_with(|first: char| first.is_uppercase()) {
                self.based(entity, SupertypeKind::Extends, name, row);
            }
        }
    }

    /// The trait of an `impl`.
    pub(super) fn implemented(&mut self, node: Node<'t>, subject: &str) {
        self.add_heritage(Supertype {
            entity: None,
            subject: subject.to_owned(),
            kind: SupertypeKind::Implements,
            name: base_name(self.text(node)),
            line: line(node.start_position().row),
        });
    }

    fn based(&mut self, entity: Option<u32>, kind: SupertypeKind, name: String, row: usize) {
        let subject =
            entity.and_then(|entity| self.out.entities.get(entity as usize)).map(|entity| entity.name.clone());
        let Some(subject) = subject.filter(|_| !name.is_empty()) else { return };
        self.add_heritage(Supertype { entity, subject, kind, name, line: line(row) });
    }
}

/// Names in a list with commas, without keywords, arguments and type arguments.
fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'<' | b'[' | b'{' => depth += 1,
            b')' | b'>' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                names.extend(name(&text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
        if names.len() >= MAX_BASES {
            return names;
        }
    }
    names.extend(name(&text[start..]));
    names
}

fn name(part: &str) -> Option<String> {
    let is_keyword = |word: &str| {
        matches!(
            word,
            "extends"
                | "implements"
                | "public"
                | "private"
                | "protected"
                | "virtual"
                | "use"
                | "<"
                | ":"
                | "by"
                | "dyn"
        )
    };
    let part = part.trim_start_matches(['<', ' ']);
    let end = part.find(['<', '(', '[', '{', '\n']).filter(|at| *at > 0);
    let word = part[..end.unwrap_or(part.len())].split_ascii_whitespace().find(|word| !is_keyword(word))?;
    let word = word.trim_matches([':', ';', '<', '(', ')', '"', '*', '&']);
    (!word.is_empty() && word.chars().count() <= MAX_ENTITY_NAME_CHARS).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_listed() {
        for (text, expected) in [
            ("extends Store<K, V>", vec!["Store"]),
            (": public A, private b::C<D>", vec!["A", "b::C"]),
            ("implements A, B<C, D>", vec!["A", "B"]),
            ("Base, metaclass=Meta", vec!["Base", "metaclass=Meta"]),
            ("Base(1), Other by other", vec!["Base", "Other"]),
            ("< Struct.new(:a)", vec!["Struct.new"]),
            ("", vec![]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn names_are_bounded_in_characters_not_bytes() {
        let longest = "\u{436}".repeat(MAX_ENTITY_NAME_CHARS);
        assert_eq!(names(&format!("extends {longest}")), [longest.as_str()]);
        assert!(names(&format!("extends {longest}\u{436}")).is_empty());
    }
}
