//! Constants and variables worth keeping as entities: those at the top level or in a type.

use backstory_model::code::{EntityKind, Language};
use tree_sitter::Node;

use super::{
    define::{body_of, declarator_name, usable_name},
    languages::Binding,
    walk::{BindingScope, FoundDefinition, Walk},
};

/// Most names that one statement binds.
const MAX_NAMES: usize = 64;

impl<'t> Walk<'_, 't> {
    /// Adds what the statement binds, if it is of note.
    pub(super) fn bind(&mut self, node: Node<'t>, binding: Binding) {
        if self.place() == BindingScope::Local || self.is_value() {
            return;
        }
        match binding {
            Binding::Field(kind, field) => {
                let mut cursor = node.walk();
                let names: Vec<_> = node
                    .children_by_field_name(field, &mut cursor)
                    .filter(|name| name.is_named())
                    .take(MAX_NAMES)
                    .collect();
                self.bind_all(node, kind, &names);
            }
            Binding::Declarators => self.declarators(node),
            Binding::Declarator => self.declarator(node),
            Binding::Assignment => self.assignment(node),
            Binding::Member => self.member(node),
            Binding::Descendant(kind, wanted) => {
                let names = named_inside(node, wanted);
                let constant = kind == EntityKind::Variable && self.is_constant(node);
                self.bind_all(node, if constant { EntityKind::Constant } else { kind }, &names);
            }
        }
    }

    /// Whether the walk is inside the value of a constant or variable, where nothing is of note.
    fn is_value(&self) -> bool {
        let kind = self.entity().and_then(|entity| self.out.entities.get(entity as usize)).map(|entity| entity.kind);
        matches!(kind, Some(EntityKind::Constant | EntityKind::Variable))
    }

    fn bind_all(&mut self, node: Node<'t>, kind: EntityKind, names: &[Node<'t>]) {
        if names.is_empty() {
            return;
        }
        let start = self.take_start(node);
        for (at, name) in names.iter().enumerate() {
            let Some(text) = usable_name(self.text(*name).trim_start_matches('$')) else { continue };
            // Bash assigns where others declare: only the first time is of note.
            if text == "_" || (self.spec.language == Language::Bash && self.is_known(&text)) {
                continue;
            }
            let found = FoundDefinition {
                kind,
                name: text,
                name_at: name.byte_range(),
                name_row: name.start_position().row,
                owner: None,
                body: None,
            };
            self.add_from(node, found, start);
            if at + 1 < names.len() {
                self.leave_last();
            }
        }
    }

    fn declarators(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        let declarators: Vec<_> = node.children_by_field_name("declarator", &mut cursor).take(MAX_NAMES).collect();
        let mut names = Vec::new();
        for declarator in declarators {
            let found = declarator_name(declarator);
            let Some(name) = found.node else { continue };
            if found.parameters.is_some() && declarator.kind() != "init_declarator" {
                let (name_at, name_row) = (name.byte_range(), name.start_position().row);
                let Some(name) = usable_name(self.text(name)) else { continue };
                let kind = EntityKind::Declaration;
                self.add(node, FoundDefinition { kind, name, name_at, name_row, owner: None, body: None });
                return;
            }
            names.push(name);
        }
        // Fields of a type are shown with it.
        if self.place() == BindingScope::Type || names.is_empty() {
            return;
        }
        let kind = if self.is_constant(node) { EntityKind::Constant } else { EntityKind::Variable };
        self.bind_all(node, kind, &names);
    }

    /// A name with a value: a function or class if that is one.
    fn declarator(&mut self, node: Node<'t>) {
        let name = node.child_by_field_name("name").or_else(|| node.child_by_field_name("property"));
        let Some(name) = name.filter(|name| !name.kind().ends_with("_pattern")) else { return };
        let value = node.child_by_field_name("value");
        // The call is read as the import that it is.
        if value.is_some_and(|value| self.text(value).starts_with("require(")) {
            return;
        }
        let in_type = self.place() == BindingScope::Type;
        let kind = match value.and_then(function_or_class) {
            Some(kind) => kind,
            // Fields without a value are shown with their type.
            None if in_type && value.is_none() => return,
            None if !in_type && self.is_constant(node) => EntityKind::Constant,
            None => EntityKind::Variable,
        };
        self.bind_value(node, name, value, kind, None);
    }

    /// `Store.prototype.open = function …`.
    fn member(&mut self, node: Node<'t>) {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
            return;
        };
        let Some(kind) = function_or_class(right) else { return };
        let Some(name) = (match left.kind() {
            "member_expression" => left.child_by_field_name("property"),
            "identifier" => Some(left),
            _ => None,
        }) else {
            return;
        };
        let owner = left.child_by_field_name("object").map(|object| self.text(object));
        let owner = owner.map(|owner| owner.strip_suffix(".prototype").unwrap_or(owner));
        let owner =
            owner.filter(|owner| owner.len() < 80 && !matches!(*owner, "exports" | "module" | "module.exports"));
        let owner =
            owner.filter(|owner| owner.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$.".contains(&byte)));
        self.bind_value(node, name, Some(right), kind, owner.map(str::to_owned));
    }

    fn bind_value(
        &mut self,
        node: Node<'t>,
        name: Node<'t>,
        value: Option<Node<'t>>,
        kind: EntityKind,
        owner: Option<String>,
    ) {
        let (name_at, name_row) = (name.byte_range(), name.start_position().row);
        let Some(name) = usable_name(self.text(name)) else { return };
        let body = value.filter(|_| !matches!(kind, EntityKind::Constant | EntityKind::Variable)).and_then(body_of);
        if let Some(value) = value {
            self.accounted = Some(value.id());
        }
        self.add(node, FoundDefinition { kind, name, name_at, name_row, owner, body });
    }

    /// The first assignment to a plain word.
    fn assignment(&mut self, node: Node<'t>) {
        let Some(left) = node.child_by_field_name("left") else { return };
        let wanted = match self.spec.language {
            Language::Ruby => "constant",
            _ => "identifier",
        };
        let name = self.text(left);
        if left.kind() != wanted || self.is_known(name) {
            return;
        }
        let upper = !name.bytes().any(|byte| byte.is_ascii_lowercase());
        let kind = match self.spec.language {
            Language::Ruby => EntityKind::Constant,
            _ if upper => EntityKind::Constant,
            _ => EntityKind::Variable,
        };
        self.bind_all(node, kind, &[left]);
    }

    /// Whether a word before the names says that they are constant.
    fn is_constant(&self, node: Node<'t>) -> bool {
        let statement = match self.spec.language {
            Language::TypeScript | Language::Tsx | Language::JavaScript => node.parent().unwrap_or(node),
            _ => node,
        };
        let text = self.text(statement);
        let end = text.find(['=', ';', '{', '(', '\n']).unwrap_or(text.len());
        let mut words = text.get(..end.min(200)).unwrap_or_default().split_ascii_whitespace();
        words.any(|word| matches!(word, "const" | "constexpr" | "final" | "readonly" | "val"))
    }
}

fn function_or_class(value: Node<'_>) -> Option<EntityKind> {
    match value.kind() {
        "arrow_function" | "function_expression" | "function" | "generator_function" => Some(EntityKind::Function),
        "class" => Some(EntityKind::Class),
        _ => None,
    }
}

/// Names in children of that kind, or in their children.
fn named_inside<'t>(node: Node<'t>, wanted: &str) -> Vec<Node<'t>> {
    let mut names = Vec::new();
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor).take(MAX_NAMES) {
        if child.kind() == wanted {
            names.extend(name_of(child));
            continue;
        }
        let mut inner = child.walk();
        for grandchild in child.named_children(&mut inner).take(MAX_NAMES) {
            if grandchild.kind() == wanted {
                names.extend(name_of(grandchild));
            }
        }
    }
    names.truncate(MAX_NAMES);
    names
}

/// The name of a declarator: its field `name`, its first identifier, or itself.
fn name_of(node: Node<'_>) -> Option<Node<'_>> {
    if let Some(name) = node.child_by_field_name("name") {
        return Some(name);
    }
    if node.kind() == "variable_declaration" {
        let mut cursor = node.walk();
        return node.named_children(&mut cursor).find(|child| child.kind() == "identifier");
    }
    Some(node)
}
