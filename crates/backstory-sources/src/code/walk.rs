//! One walk over a syntax tree, which finds everything that a source file contains. What each kind of node means is in
//! [`super::languages`].

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
};

use backstory_model::code::{Call, CodeAnalysis, Entity, EntityKind, Import, Language, Supertype};
use tree_sitter::{Node, Tree, TreeCursor};

use super::{
    comments::{Comment, doc_comment},
    hash,
    languages::{LanguageSpec, NodeRole},
    rows::{end_row, line, lines},
};

/// Deepest nesting of nodes that is looked into.
const MAX_DEPTH: usize = 512;
/// Most entities of a file.
pub const MAX_ENTITIES: usize = 20_000;
/// Most calls of a file.
pub const MAX_CALLS: usize = 50_000;
/// Most imports of a file, and most bases of its types.
pub const MAX_IMPORTS: usize = 10_000;
/// Most comments of a file.
pub const MAX_COMMENTS: usize = 50_000;

/// What a name that is bound at some point belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BindingScope {
    /// The file, a module or a namespace.
    Open,
    /// A type.
    Type,
    /// A function or a test: what is bound in it is local.
    Local,
}

/// A definition, or a block like `impl`, that the walk is inside of.
pub(super) struct Scope {
    depth: usize,
    pub(super) entity: Option<u32>,
    pub(super) place: BindingScope,
    /// Qualified name of what is defined inside, up to its own name.
    pub(super) prefix: String,
    hashed: Range<usize>,
    left_out: Range<usize>,
    first_comment: usize,
}

/// Attributes and wrappers that stand before the next definition.
#[derive(Clone, Copy)]
struct Lead {
    depth: usize,
    /// Where the first attribute or wrapper begins.
    first: usize,
    first_row: usize,
    /// Where the definition begins, if a wrapper says so.
    start: Option<(usize, usize)>,
}

/// What precedes a definition.
#[derive(Clone, Copy)]
pub(super) struct DefinitionStart {
    /// Where its attributes begin, or itself if it has none.
    pub(super) first: usize,
    pub(super) first_row: usize,
    /// Where itself begins.
    pub(super) byte: usize,
    pub(super) row: usize,
}

/// A definition that has been recognized.
pub(super) struct FoundDefinition<'t> {
    pub(super) kind: EntityKind,
    pub(super) name: String,
    /// Where the name stands; empty if it is not written.
    pub(super) name_at: Range<usize>,
    pub(super) name_row: usize,
    /// What the name says that it belongs to, as in `Store::open`.
    pub(super) owner: Option<String>,
    pub(super) body: Option<Node<'t>>,
}

pub(super) struct Walk<'s, 't> {
    pub(super) spec: &'static LanguageSpec,
    pub(super) path: &'s str,
    pub(super) source: &'s str,
    pub(super) test_path: bool,
    pub(super) out: CodeAnalysis,
    pub(super) comments: Vec<Comment>,
    /// For every entity the row on which its attributes or itself begin.
    pub(super) first_rows: Vec<u32>,
    pub(super) scopes: Vec<Scope>,
    /// A node that another one has already accounted for.
    pub(super) accounted: Option<usize>,
    cursor: TreeCursor<'t>,
    depth: usize,
    lead: Option<Lead>,
    names: HashMap<String, u32>,
    /// The entities after the first one of each name that stands more than once.
    repeated: BTreeMap<String, Vec<u32>>,
    /// For every entity whether it only declares what another one of its name defines.
    stubs: Vec<bool>,
    calls_seen: HashSet<(Option<u32>, u64)>,
}

impl<'s, 't> Walk<'s, 't> {
    pub(super) fn new(spec: &'static LanguageSpec, path: &'s str, source: &'s str, tree: &'t Tree) -> Self {
        Self {
            spec,
            path,
            source,
            test_path: super::testing::is_test_path(path),
            out: empty(spec.language),
            comments: Vec::new(),
            first_rows: Vec::new(),
            scopes: Vec::new(),
            accounted: None,
            cursor: tree.walk(),
            depth: 0,
            lead: None,
            names: HashMap::new(),
            repeated: BTreeMap::new(),
            stubs: Vec::new(),
            calls_seen: HashSet::new(),
        }
    }

    /// What was found.
    pub(super) fn into_analysis(mut self) -> CodeAnalysis {
        self.name_implementations();
        self.out
    }

    /// Gives the plain name to the implementation where declarations of the same name stand before it, as overloads do.
    fn name_implementations(&mut self) {
        if self.repeated.is_empty() {
            return;
        }
        let entities = &mut self.out.entities;
        // From the last to the first, so that the first one of a name stays.
        let by_name = entities.iter().enumerate().rev().map(|(at, entity)| (entity.qualified_name.as_str(), at as u32));
        let firsts: HashMap<&str, u32> = by_name.collect();
        let mut renamed: HashMap<u32, String> = HashMap::new();
        for (name, others) in &self.repeated {
            let Some(first) = firsts.get(name.as_str()).copied() else { continue };
            let is_stub = |index: u32| self.stubs.get(index as usize).copied().unwrap_or_default();
            let Some(implementation) = others.iter().copied().rfind(|other| !is_stub(*other)) else { continue };
            if !is_stub(first) {
                continue;
            }
            renamed.insert(implementation, name.clone());
            let declarations = std::iter::once(first).chain(others.iter().copied());
            for (number, index) in (2..).zip(declarations.filter(|index| *index != implementation)) {
                renamed.insert(index, format!("{name}~{number}"));
            }
        }
        if renamed.is_empty() {
            return;
        }
        let old: Vec<String> = entities.iter().map(|entity| entity.qualified_name.clone()).collect();
        for at in 0..entities.len() {
            let own = renamed.remove(&(at as u32)).unwrap_or_else(|| old[at].clone());
            // What stands inside is called after it, overloads too.
            let parent = entities[at].parent.map(|parent| parent as usize).filter(|parent| *parent < at);
            let rest = parent.and_then(|parent| Some((parent, own.strip_prefix(&old[parent])?)));
            let name = rest.map(|(parent, rest)| format!("{}{rest}", entities[parent].qualified_name));
            entities[at].qualified_name = name.unwrap_or(own);
        }
    }

    /// Visits every node once, parents first.
    pub(super) fn run(&mut self) {
        loop {
            let node = self.cursor.node();
            let enter = self.visit(node);
            if enter && self.depth < MAX_DEPTH && self.cursor.goto_first_child() {
                self.depth += 1;
                continue;
            }
            self.out.truncated |= enter && self.depth >= MAX_DEPTH;
            loop {
                self.leave();
                if self.cursor.goto_next_sibling() {
                    break;
                }
                if !self.cursor.goto_parent() {
                    return;
                }
                self.depth -= 1;
            }
        }
    }

    /// Takes note of a node; whether to look inside.
    fn visit(&mut self, node: Node<'t>) -> bool {
        let role = self.spec.role(node.kind_id());
        if self.depth > 0 && self.lead.is_some_and(|lead| self.depth <= lead.depth) {
            self.end_lead(role, node);
        }
        match role {
            NodeRole::Transparent => true,
            NodeRole::Opaque => false,
            NodeRole::Comment => {
                self.comment(node);
                false
            }
            NodeRole::Attribute => {
                self.attribute(node);
                false
            }
            NodeRole::Wrapper => {
                self.wrapper(node);
                self.reexport(node);
                true
            }
            NodeRole::Define(definition) => {
                if let Some(found) = self.definition(node, definition) {
                    self.add(node, found);
                }
                true
            }
            NodeRole::Bind(binding) => {
                self.bind(node, binding);
                true
            }
            NodeRole::Implement => {
                self.implement(node);
                true
            }
            NodeRole::Call(field) => self.call(node, field),
            NodeRole::CallOn(receiver, name) => self.call_on(node, receiver, name),
            NodeRole::Tokens => {
                self.call_in_tokens(node);
                true
            }
            NodeRole::Import => {
                self.import(node);
                false
            }
            NodeRole::Base(kind) => {
                self.add_supertypes(node, kind);
                true
            }
            NodeRole::Embed => {
                self.embed(node);
                true
            }
        }
    }

    /// What was gathered before a definition is dropped when something else comes.
    fn end_lead(&mut self, role: NodeRole, node: Node<'_>) {
        let keeps = matches!(
            role,
            NodeRole::Comment | NodeRole::Attribute | NodeRole::Define(_) | NodeRole::Bind(_) | NodeRole::Implement
        );
        if !keeps && node.is_named() && !matches!(role, NodeRole::Wrapper) {
            self.lead = None;
        } else if let (NodeRole::Wrapper, Some(lead)) = (role, self.lead)
            && lead.start.is_some()
        {
            self.lead = None;
        }
    }

    fn leave(&mut self) {
        while let Some(scope) = self.scopes.pop_if(|scope| scope.depth == self.depth) {
            self.finish(&scope);
        }
        if self.lead.is_some_and(|lead| self.depth < lead.depth || (lead.start.is_some() && self.depth == lead.depth)) {
            self.lead = None;
        }
    }

    fn attribute(&mut self, node: Node<'_>) {
        match &mut self.lead {
            Some(lead) => {
                // Decorators may stand inside of what wraps the definition; it begins behind them.
                let next = node.next_sibling();
                lead.start = lead.start.and(next).map(|next| (next.start_byte(), next.start_position().row));
            }
            None => {
                self.lead = Some(Lead {
                    depth: self.depth,
                    first: node.start_byte(),
                    first_row: node.start_position().row,
                    start: None,
                });
            }
        }
    }

    fn wrapper(&mut self, node: Node<'_>) {
        let start = Some((node.start_byte(), node.start_position().row));
        match &mut self.lead {
            Some(lead) => {
                if lead.start.is_none() {
                    lead.start = start;
                    lead.depth = self.depth;
                }
            }
            None => {
                self.lead = Some(Lead {
                    depth: self.depth,
                    first: node.start_byte(),
                    first_row: node.start_position().row,
                    start,
                });
            }
        }
    }

    fn comment(&mut self, node: Node<'_>) {
        if self.comments.len() < MAX_COMMENTS {
            self.comments.push(Comment::new(node, self.source));
        } else {
            self.out.truncated = true;
        }
    }

    /// Where a definition begins; takes what was gathered before it.
    pub(super) fn take_start(&mut self, node: Node<'_>) -> DefinitionStart {
        let own = self.after_modifiers(node);
        let position = (node.start_byte(), node.start_position().row);
        match self.lead.take() {
            Some(lead) => {
                let (byte, row) = lead.start.unwrap_or(own);
                DefinitionStart { first: lead.first, first_row: lead.first_row, byte, row }
            }
            None => DefinitionStart { first: position.0, first_row: position.1, byte: own.0, row: own.1 },
        }
    }

    /// Where a definition begins that holds its own annotations: behind them.
    fn after_modifiers(&self, node: Node<'_>) -> (usize, usize) {
        let own = (node.start_byte(), node.start_position().row);
        if !matches!(self.spec.language, Language::Java | Language::Kotlin | Language::CSharp | Language::Php) {
            return own;
        }
        let mut at = node.child(0);
        while let Some(child) = at {
            at = match child.kind() {
                "modifiers" => child.child(0).or_else(|| child.next_sibling()),
                "annotation" | "marker_annotation" | "attribute_list" | "comment" | "line_comment"
                | "block_comment" => {
                    child.next_sibling().or_else(|| child.parent().and_then(|parent| parent.next_sibling()))
                }
                _ => return (child.start_byte(), child.start_position().row),
            };
        }
        own
    }

    /// Adds a definition and enters it.
    pub(super) fn add(&mut self, node: Node<'t>, found: FoundDefinition<'t>) -> Option<u32> {
        let start = self.take_start(node);
        self.add_from(node, found, start)
    }

    /// Adds a definition that begins there and enters it.
    pub(super) fn add_from(
        &mut self,
        node: Node<'t>,
        found: FoundDefinition<'t>,
        start: DefinitionStart,
    ) -> Option<u32> {
        if self.out.entities.len() >= MAX_ENTITIES {
            self.out.truncated = true;
            return None;
        }
        let index = u32::try_from(self.out.entities.len()).ok()?;
        let kind = self.kind_in_place(found.kind, found.owner.is_some());
        let lead = self.source.get(start.first..found.name_at.start.max(start.first)).unwrap_or_default();
        let test = super::testing::role(self.spec.language, self.test_path, kind, &found.name, lead);
        let qualified_name = self.qualified(&found.name, found.owner.as_deref(), index);
        self.stubs.push(is_stub(self.spec.language, kind, found.body, self.source));
        let place = match kind {
            EntityKind::Module | EntityKind::Namespace => BindingScope::Open,
            kind if kind.is_type() => BindingScope::Type,
            EntityKind::Constant | EntityKind::Variable => BindingScope::Type,
            _ => BindingScope::Local,
        };
        let end = end_row(node);
        let mut signature = super::signature::extract_signature(self.source, start.byte..node.end_byte(), found.body);
        if kind.is_type() && signature.starts_with("typedef") && found.body.is_some() {
            signature = format!("{signature} {{ … }} {}", found.name);
        }
        let entity = Entity {
            kind,
            signature,
            doc: doc_comment(self.spec.language, &self.comments, self.source, start.first_row, found.body),
            lines: lines(start.row, end),
            name_line: line(found.name_row),
            parent: self.scopes.iter().rev().find_map(|scope| scope.entity),
            test,
            body_hash: 0,
            body_size: 0,
            name: found.name,
            qualified_name: qualified_name.clone(),
        };
        let hashed = found.body.map_or(start.byte..node.end_byte(), |body| body.byte_range());
        self.out.entities.push(entity);
        self.first_rows.push(u32::try_from(start.first_row).unwrap_or(u32::MAX));
        let left_out = if found.body.is_some() { 0..0 } else { found.name_at };
        self.enter(Some(index), place, qualified_name, hashed, left_out);
        self.base_of_field(node, index);
        Some(index)
    }

    /// Enters a definition or a block that names what is defined inside.
    pub(super) fn enter(
        &mut self,
        entity: Option<u32>,
        place: BindingScope,
        prefix: String,
        hashed: Range<usize>,
        left_out: Range<usize>,
    ) {
        let first_comment = self.comments.partition_point(|comment| comment.range.end <= hashed.start);
        self.scopes.push(Scope { depth: self.depth, entity, place, prefix, hashed, left_out, first_comment });
    }

    /// Leaves what was entered last.
    pub(super) fn leave_last(&mut self) {
        if let Some(scope) = self.scopes.pop() {
            self.finish(&scope);
        }
    }

    fn finish(&mut self, scope: &Scope) {
        let Some(entity) = scope.entity else { return };
        let (hash, size) = hash::hash_code(
            self.source.as_bytes(),
            scope.hashed.clone(),
            scope.left_out.clone(),
            self.comments[scope.first_comment.min(self.comments.len())..].iter().map(|comment| comment.range.clone()),
        );
        if let Some(entity) = self.out.entities.get_mut(entity as usize) {
            entity.body_hash = hash;
            entity.body_size = size;
        }
    }

    /// A function in a type is a method.
    fn kind_in_place(&self, kind: EntityKind, owned: bool) -> EntityKind {
        let in_type = owned || self.place() == BindingScope::Type;
        match kind {
            EntityKind::Function if in_type => EntityKind::Method,
            kind => kind,
        }
    }

    /// What a name bound here belongs to.
    pub(super) fn place(&self) -> BindingScope {
        self.scopes.last().map_or(BindingScope::Open, |scope| scope.place)
    }

    /// The entity that the walk is in.
    pub(super) fn entity(&self) -> Option<u32> {
        self.scopes.last().and_then(|scope| scope.entity)
    }

    /// Whether an entity of that name was found in this place already.
    pub(super) fn is_known(&self, name: &str) -> bool {
        match self.scopes.last() {
            None => self.names.contains_key(name),
            Some(scope) => self.names.contains_key(&[&scope.prefix, self.spec.language.separator(), name].concat()),
        }
    }

    /// The name with those of what it stands in, made unique.
    fn qualified(&mut self, name: &str, owner: Option<&str>, index: u32) -> String {
        let separator = self.spec.language.separator();
        let mut qualified = String::with_capacity(name.len() + 32);
        if let Some(scope) = self.scopes.last().filter(|scope| !scope.prefix.is_empty()) {
            qualified.push_str(&scope.prefix);
            qualified.push_str(separator);
        }
        if let Some(owner) = owner {
            qualified.push_str(owner);
            qualified.push_str(separator);
        }
        qualified.push_str(name);
        let count = self.names.entry(qualified.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            let number = *count;
            self.repeated.entry(qualified.clone()).or_default().push(index);
            qualified.push('~');
            qualified.push_str(&number.to_string());
            self.names.insert(qualified.clone(), 1);
        }
        qualified
    }

    /// Adds a call unless the same entity makes it already.
    pub(super) fn add_call(&mut self, name: &str, qualifier: Option<&str>, row: usize) {
        let from = self.entity();
        let key = hash::hash_words(&[qualifier.unwrap_or_default(), name]);
        if !self.calls_seen.insert((from, key)) {
            return;
        }
        if self.out.calls.len() >= MAX_CALLS {
            self.out.truncated = true;
            return;
        }
        self.out.calls.push(Call {
            from,
            name: name.to_owned(),
            qualifier: qualifier.map(str::to_owned),
            line: line(row),
        });
    }

    pub(super) fn add_import(&mut self, import: Import) {
        if self.out.imports.len() < MAX_IMPORTS {
            self.out.imports.push(import);
        } else {
            self.out.truncated = true;
        }
    }

    pub(super) fn add_heritage(&mut self, heritage: Supertype) {
        if self.out.heritage.len() < MAX_IMPORTS {
            self.out.heritage.push(heritage);
        } else {
            self.out.truncated = true;
        }
    }

    /// The node's text.
    pub(super) fn text(&self, node: Node<'_>) -> &'s str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }
}

/// Whether a function only says how it is called: it has no body, or in Python one of `...` and a doc string.
fn is_stub(language: Language, kind: EntityKind, body: Option<Node<'_>>, source: &str) -> bool {
    if !matches!(kind, EntityKind::Function | EntityKind::Method) {
        return false;
    }
    let Some(body) = body else { return true };
    let says_nothing = |statement: Node<'_>| {
        let text = source.get(statement.byte_range()).unwrap_or_default().trim();
        let is_text = statement.named_child(0).is_some_and(|child| child.kind() == "string");
        statement.kind() == "comment" || text == "..." || (statement.kind() == "expression_statement" && is_text)
    };
    language == Language::Python
        && (0..body.named_child_count()).all(|at| body.named_child(at as _).is_none_or(says_nothing))
}

/// An analysis without anything in it.
pub(super) fn empty(language: Language) -> CodeAnalysis {
    CodeAnalysis {
        language,
        doc: None,
        entities: Vec::new(),
        calls: Vec::new(),
        imports: Vec::new(),
        heritage: Vec::new(),
        explanations: Vec::new(),
        syntax_errors: false,
        truncated: false,
    }
}
