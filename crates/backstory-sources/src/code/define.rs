//! Definitions: which syntax nodes are one, of what kind, and what their names are.

use backstory_model::code::{EntityKind, Language};
use tree_sitter::Node;

use super::{
    languages::{Definition, Name, Refine},
    signature::collapse,
    walk::{BindingScope, FoundDefinition, Walk},
};

/// Longest name of an entity, in characters.
pub const MAX_ENTITY_NAME_CHARS: usize = 200;
/// Deepest nesting of C declarators that is looked into.
const MAX_DECLARATORS: usize = 16;

/// Macros that C++ test frameworks define tests with.
const TEST_MACROS: [&str; 8] = [
    "TEST",
    "TEST_F",
    "TEST_P",
    "TYPED_TEST",
    "TEST_CASE",
    "TEST_METHOD",
    "BOOST_AUTO_TEST_CASE",
    "BOOST_FIXTURE_TEST_CASE",
];

impl<'t> Walk<'_, 't> {
    /// What the node defines, if it does.
    pub(super) fn definition(&mut self, node: Node<'t>, definition: Definition) -> Option<FoundDefinition<'t>> {
        if self.accounted == Some(node.id()) {
            return None;
        }
        let mut kind = self.refine(node, definition)?;
        let mut owner = None;
        let name_node = match definition.name {
            Name::Field(field) => node.child_by_field_name(field)?,
            Name::Receiver => {
                owner = node.child_by_field_name("receiver").and_then(|receiver| receiver_type(self.text(receiver)));
                node.child_by_field_name("name")?
            }
            Name::Declarator => return self.declared_function(node, kind),
            Name::Fixed(name) => {
                let body = body_of(node);
                let row = node.start_position().row;
                return Some(FoundDefinition {
                    kind,
                    name: name.to_owned(),
                    name_at: 0..0,
                    name_row: row,
                    owner,
                    body,
                });
            }
        };
        let mut name = self.text(name_node);
        if matches!(self.spec.language, Language::TypeScript | Language::Tsx | Language::JavaScript) {
            name = name.trim_matches(['"', '\'', '`']);
        }
        if matches!(self.spec.language, Language::Ruby | Language::Cpp)
            && let Some((before, last)) = name.rsplit_once("::")
        {
            owner = Some(before.to_owned()).filter(|before| !before.is_empty());
            name = last;
        }
        if kind == EntityKind::Method
            && self.place() != BindingScope::Type
            && owner.is_none()
            && !self.is_object_method()
        {
            kind = EntityKind::Function;
        }
        let name = usable_name(name)?;
        let body = body_of(node);
        Some(FoundDefinition {
            kind,
            name,
            name_at: name_node.byte_range(),
            name_row: name_node.start_position().row,
            owner,
            body,
        })
    }

    /// Methods stand in objects too, which are no types.
    fn is_object_method(&self) -> bool {
        matches!(self.spec.language, Language::TypeScript | Language::Tsx | Language::JavaScript | Language::Go)
    }

    fn refine(&mut self, node: Node<'t>, definition: Definition) -> Option<EntityKind> {
        match definition.refine {
            Refine::No => Some(definition.kind),
            Refine::Has(field) => {
                if node.child_by_field_name(field).is_some() {
                    return Some(definition.kind);
                }
                if definition.kind == EntityKind::Module {
                    self.import(node);
                }
                None
            }
            Refine::Field(field, kinds) => {
                let inner = node.child_by_field_name(field)?.kind();
                Some(kinds.iter().find(|(kind, _)| *kind == inner).map_or(definition.kind, |(_, kind)| *kind))
            }
            Refine::Keyword(kinds) => {
                let mut cursor = node.walk();
                let found = node.children(&mut cursor).take(8).find_map(|child| {
                    let word = self.text(child);
                    kinds.iter().find(|(keyword, _)| word.split_ascii_whitespace().any(|word| word == *keyword))
                });
                Some(found.map_or(definition.kind, |(_, kind)| *kind))
            }
            Refine::Typedef => Some(self.typedef(node)),
        }
    }

    /// `typedef struct { … } name;` defines a struct of that name.
    fn typedef(&mut self, node: Node<'t>) -> EntityKind {
        let Some(inner) = node.child_by_field_name("type") else { return EntityKind::TypeAlias };
        let kind = match inner.kind() {
            "struct_specifier" => EntityKind::Struct,
            "union_specifier" => EntityKind::Union,
            "enum_specifier" => EntityKind::Enum,
            _ => return EntityKind::TypeAlias,
        };
        if inner.child_by_field_name("body").is_none() {
            return EntityKind::TypeAlias;
        }
        let tag = inner.child_by_field_name("name").map(|name| self.text(name));
        let alias = node.child_by_field_name("declarator").and_then(|declarator| declarator_name(declarator).node);
        if tag.is_none() || tag == alias.map(|alias| self.text(alias)) {
            self.accounted = Some(inner.id());
            kind
        } else {
            EntityKind::TypeAlias
        }
    }

    /// A definition whose name is inside of a declarator.
    fn declared_function(&self, node: Node<'t>, kind: EntityKind) -> Option<FoundDefinition<'t>> {
        let found = declarator_name(node.child_by_field_name("declarator")?);
        let name_node = found.node?;
        let (owner, name) = split_qualified(self.text(name_node));
        let is_test = kind == EntityKind::Function && TEST_MACROS.contains(&name);
        let (kind, name) = match found.parameters {
            Some(parameters) if is_test => (EntityKind::TestCase, test_name(self.text(parameters))?),
            _ => (kind, usable_name(name)?),
        };
        let body = node.child_by_field_name("body");
        let body = body.or_else(|| node.child_by_field_name("type").and_then(|of| of.child_by_field_name("body")));
        let (name_at, name_row) = (name_node.byte_range(), name_node.start_position().row);
        Some(FoundDefinition { kind, name, name_at, name_row, owner, body })
    }

    /// Enters a block such as `impl Trait for Type`.
    pub(super) fn implement(&mut self, node: Node<'t>) {
        let _ = self.take_start(node);
        let Some(of) = node.child_by_field_name("type") else { return };
        let subject = base_name(self.text(of));
        if let Some(implemented) = node.child_by_field_name("trait") {
            self.implemented(implemented, &subject);
        }
        let prefix = match self.scopes.last().filter(|scope| !scope.prefix.is_empty()) {
            Some(scope) => [&scope.prefix, self.spec.language.separator(), &subject].concat(),
            None => subject,
        };
        self.enter(None, BindingScope::Type, prefix, 0..0, 0..0);
    }
}

/// The name itself if it can be one: white space collapsed, not empty, not too long.
pub(super) fn usable_name(name: &str) -> Option<String> {
    let name = collapse(name, MAX_ENTITY_NAME_CHARS);
    (!name.is_empty()).then_some(name)
}

/// The body of a definition.
pub(super) fn body_of(node: Node<'_>) -> Option<Node<'_>> {
    if let Some(body) = node.child_by_field_name("body") {
        return Some(body);
    }
    if let Some(body) = node.child_by_field_name("accessors") {
        return Some(body);
    }
    let inner = node.child_by_field_name("type");
    match inner.map(|inner| inner.kind()) {
        Some("struct_type") => return inner.and_then(|inner| inner.named_child(0)),
        Some("interface_type") => return inner,
        _ => {}
    }
    let last = u32::try_from(node.named_child_count().checked_sub(1)?).ok()?;
    node.named_child(last).filter(|child| child.kind().ends_with("_body"))
}

/// What a declarator declares.
pub(super) struct Declarator<'t> {
    pub(super) node: Option<Node<'t>>,
    /// The parameters, if it is a function.
    pub(super) parameters: Option<Node<'t>>,
}

/// Looks for the name inside a C declarator, through pointers, arrays and parameters.
pub(super) fn declarator_name(declarator: Node<'_>) -> Declarator<'_> {
    let (mut at, mut parameters) = (declarator, None);
    for _ in 0..MAX_DECLARATORS {
        let next = match at.kind() {
            "identifier"
            | "field_identifier"
            | "type_identifier"
            | "qualified_identifier"
            | "operator_name"
            | "destructor_name"
            | "operator_cast"
            | "template_function"
            | "primitive_type" => {
                return Declarator { node: Some(at), parameters };
            }
            "function_declarator" => {
                // The innermost list of parameters is that of the function, unless a pointer to it is declared.
                let inner = at.child_by_field_name("declarator");
                if inner.is_some_and(|inner| inner.kind() != "parenthesized_declarator") {
                    parameters = at.child_by_field_name("parameters");
                }
                inner
            }
            _ => at.child_by_field_name("declarator").or_else(|| at.named_child(0)),
        };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    Declarator { node: None, parameters }
}

/// `A::B::c` as `A::B` and `c`.
fn split_qualified(text: &str) -> (Option<String>, &str) {
    let plain =
        text.split_once('<').map_or(text, |(before, _)| if before.contains("operator") { text } else { before });
    if text.len() != plain.len() && !text.ends_with('>') {
        // Type arguments stand before the last part: `Store<T>::open`.
        let mut depth = 0usize;
        let mut cut = None;
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'<' => depth += 1,
                b'>' => depth = depth.saturating_sub(1),
                b':' if depth == 0 && text[at..].starts_with("::") => cut = Some(at),
                _ => {}
            }
        }
        return match cut {
            Some(at) => (Some(base_name(&text[..at])), &text[at + 2..]),
            None => (None, text),
        };
    }
    match plain.rsplit_once("::") {
        Some((owner, name)) if !owner.is_empty() => (Some(collapse(owner, MAX_ENTITY_NAME_CHARS)), name),
        Some((_, name)) => (None, name),
        None => (None, plain),
    }
}

/// `(s *Store[T])` as `Store`.
fn receiver_type(text: &str) -> Option<String> {
    let inner = text.trim().trim_start_matches('(').trim_end_matches(')').trim();
    let name = inner.rsplit_once([' ', '*']).map_or(inner, |(_, name)| name);
    let name = if inner.contains('[') { inner.split_once('[').map_or(name, |(before, _)| before) } else { name };
    let name = name.rsplit([' ', '*']).next().unwrap_or(name).trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// A type's name without references, type arguments and white space: `&'a Store<T>` is `Store`.
pub(super) fn base_name(text: &str) -> String {
    let text = text.trim_start_matches(['&', '*', '(', ' ']);
    let text = text.strip_prefix("dyn ").unwrap_or(text);
    let end = text.find(['<', '[', '(', '{', '\n']).unwrap_or(text.len());
    let name = text[..end].trim();
    let name = if name.starts_with('\'') { name.split_once(' ').map_or(name, |(_, name)| name) } else { name };
    collapse(name.rsplit(' ').next().unwrap_or(name), MAX_ENTITY_NAME_CHARS)
}

/// `(Suite, Name)` as `Suite.Name`; `("some text")` as the text.
fn test_name(parameters: &str) -> Option<String> {
    let inner = parameters.trim_start_matches('(').trim_end_matches(')');
    let parts: Vec<&str> = inner.splitn(3, ',').take(2).map(|part| part.trim().trim_matches('"')).collect();
    usable_name(&parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_are_stripped() {
        for (text, name) in [
            ("Store<T>", "Store"),
            ("&'a mut Store", "Store"),
            ("Box<dyn Fn()>", "Box"),
            ("std::fmt::Display", "std::fmt::Display"),
            ("dyn Any", "Any"),
        ] {
            assert_eq!(base_name(text), name);
        }
        for (text, name) in [("(s *Store)", "Store"), ("(Store)", "Store"), ("(s Store[K, V])", "Store")] {
            assert_eq!(receiver_type(text).as_deref(), Some(name));
        }
    }

    #[test]
    fn qualified_names_are_split() {
        for (text, owner, name) in [
            ("open", None, "open"),
            ("Store::open", Some("Store"), "open"),
            ("a::Store<T>::open", Some("a::Store"), "open"),
            ("Store::operator<", Some("Store"), "operator<"),
            ("::open", None, "open"),
        ] {
            assert_eq!(split_qualified(text), (owner.map(str::to_owned), name));
        }
    }
}
