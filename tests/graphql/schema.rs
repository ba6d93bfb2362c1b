//! Rules that the schema as a whole keeps.

use std::collections::{BTreeMap, BTreeSet};

/// Lists of nodes, at the root or at nodes, that are no connections, and why: they are as long as what one item says, or
/// say themselves how long they may be.
const WHOLE_LISTS: [(&str, &str); 16] = [
    ("Commit.closes", "`first` says how many"),
    ("Commit.introducedBy", "the nearest merge requests alone, mostly one"),
    ("Commit.onBranches", "of the first 50 branches"),
    ("Commit.parents", "a commit names them, mostly one or two"),
    ("Discussion.notes", "a discussion is read whole; `first` shortens it"),
    ("Discussion.participants", "`first` says how many"),
    ("Issue.assignees", "the forge names them in the issue"),
    ("Issue.closingCommits", "`first` says how many"),
    ("Issue.closingMergeRequests", "mostly one"),
    ("Issue.participants", "`first` says how many"),
    ("MergeRequest.approvedBy", "the forge names them in the merge request"),
    ("MergeRequest.assignees", "the forge names them in the merge request"),
    ("MergeRequest.closes", "the forge names them in the merge request"),
    ("MergeRequest.participants", "`first` says how many"),
    ("MergeRequest.reviewers", "the forge names them in the merge request"),
    ("Query.nodes", "as many as there are ids"),
];
/// Pages of what has one order: edges by name, records by time, parts of a file or commit by their place, documents by
/// reference.
const IN_ONE_ORDER: [&str; 14] = [
    "AuditEntryConnection",
    "ChangeConnection",
    "ChatConnection",
    "CodeDefinitionConnection",
    "EdgeConnection",
    "FileChangeConnection",
    "FileChunkConnection",
    "FileMergeRequestConnection",
    "IndexedDocumentConnection",
    "JobConnection",
    "MessageConnection",
    "NodeChangeConnection",
    "SyntaxFactConnection",
    "WebhookDeliveryConnection",
];
/// Lists that pages of other kinds have an order for, but that are few and always by name.
const BY_NAME: [&str; 2] = ["Issue.labels", "MergeRequest.labels"];
/// Types besides those of nodes that have an id, and what it identifies.
const IDENTIFIED: [(&str, &str); 11] = [
    ("AuditEntry", "a record, by its number"),
    ("Chat", "a conversation, by its number"),
    ("IndexedDocument", "a document of the index, also a section, which is no node"),
    ("Job", "a job, by its number"),
    ("PackManifest", "a manifest, by its hash"),
    ("Release", "a release, by its project and tag"),
    ("Repository", "a repository, by its project"),
    ("Snapshot", "a state of the index, by its hash"),
    ("SyncRun", "a sync on record, by its number"),
    ("Task", "a task, by its number"),
    ("WebhookDelivery", "a webhook, by the forge's id of its delivery"),
];
/// Beginnings and parts of descriptions that say nothing without their neighbors.
const LEANING: [&str; 6] = ["The same", "It.", "Which.", "When.", "Its ", "Their reference"];
/// Days without a time, as packs print them.
const DAYS: [&str; 2] = ["PackEvent.date", "PackItem.date"];
/// Names of fields that are nodes.
const NODE_WORDS: [&str; 22] = [
    "assignee",
    "author",
    "authors",
    "commit",
    "commits",
    "discussion",
    "discussions",
    "file",
    "files",
    "issue",
    "issues",
    "items",
    "label",
    "labels",
    "mergeRequest",
    "mergeRequests",
    "milestone",
    "nodes",
    "parent",
    "person",
    "project",
    "projects",
];
/// Fields that name a node in a text: what packs print.
const NAMES_OF_NODES: [&str; 5] =
    ["Annotation.author", "PackItem.author", "PackNote.author", "PackSources.authors", "PackSources.files"];

/// Ends of names of what mostly has one of a few words.
const CLOSED_WORDS: [&str; 25] = [
    "action",
    "category",
    "choice",
    "class",
    "classification",
    "code",
    "command",
    "direction",
    "format",
    "kind",
    "level",
    "method",
    "mode",
    "phase",
    "priority",
    "profile",
    "reason",
    "relation",
    "role",
    "scope",
    "severity",
    "source",
    "state",
    "status",
    "type",
];
/// Texts that have such a name, or whose description lists words, and why they are no enumerations.
const OPEN_WORDS: [(&str, &str); 18] = [
    ("Annotation.kind", "whoever annotates chooses the word"),
    ("Annotation.source", "a program names itself"),
    ("AnnotationInput.kind", "whoever annotates chooses the word"),
    ("AnnotationInput.source", "a program names itself"),
    ("AuditEntry.actor", "tokens have names that people chose"),
    ("AuditEntry.reason", "a person's own words"),
    ("Citation.source", "the place of a text"),
    ("Evidence.reasons", "sentences"),
    ("File.facts(nodeTypes)", "every grammar has types of its own"),
    ("FileVersion.mimeType", "a name of the registry of media types"),
    ("Group.value", "whatever a list is grouped by; the name of an enumeration's value where it is one"),
    ("ModelClassification.reason", "a sentence of a language model"),
    ("Mutation.forget(reason)", "a person's own words"),
    ("Mutation.undoForget(reason)", "a person's own words"),
    ("QuarantinedItem.reason", "says what is wrong with one field"),
    ("Secrets.kind", "a kind that stands in stored texts may be unknown to the program that reads them"),
    ("SyntaxFact.nodeType", "every grammar has types of its own"),
    ("Task.phase", "names the project that is worked on"),
];

/// A field of an object type.
struct Field {
    object: String,
    is_of_node: bool,
    name: String,
    kind: String,
    arguments: Vec<String>,
}

impl Field {
    fn place(&self) -> String {
        format!("{}.{}", self.object, self.name)
    }

    /// The name of its type, without lists and what must not be null.
    fn of(&self) -> &str {
        self.kind.trim_matches(['[', ']', '!'])
    }

    fn is_list(&self) -> bool {
        self.kind.starts_with('[')
    }
}

/// The fields of all object types of the schema in the repository, which another test keeps true. It is printed in one
/// way: fields begin after two spaces, arguments after four.
fn fields() -> Vec<Field> {
    let mut fields = Vec::new();
    let (mut object, mut pending, mut in_description) = (None, String::new(), false);
    let mut arguments = Vec::new();
    for line in include_str!("../../schema/schema.graphql").lines() {
        if line.trim() == "\"\"\"" {
            in_description = !in_description;
        } else if let Some(header) = line.strip_prefix("type ") {
            let name = header.split(' ').next().unwrap().to_owned();
            let is_of_node = header.split([' ', '&']).any(|word| word == "Node");
            object = Some((name, is_of_node));
        } else if line == "}" {
            object = None;
        } else if let (Some((object, is_of_node)), Some(field)) = (&object, line.strip_prefix("  ")) {
            let is_field = !in_description && !field.starts_with([' ', '"']);
            if let Some((argument, _)) = field.strip_prefix("  ").and_then(|field| field.split_once(": "))
                && !in_description
                && !argument.starts_with([' ', '"'])
            {
                arguments.push(argument.to_owned());
                continue;
            }
            let (name, kind) = match field.split_once(": ") {
                Some((")", kind)) => (std::mem::take(&mut pending), kind),
                Some((name, kind)) if is_field => (name.to_owned(), kind),
                _ => {
                    if is_field {
                        pending = field.trim_end_matches('(').to_owned();
                        arguments.clear();
                    }
                    continue;
                }
            };
            let (object, kind) = (object.clone(), kind.to_owned());
            let arguments = std::mem::take(&mut arguments);
            fields.push(Field { object, is_of_node: *is_of_node, name, kind, arguments });
        }
    }
    fields
}

/// Otherwise `... on A { name } ... on B { name }` is refused by clients that validate: fields of the same name must
/// have the same type, whatever object they are of.
#[test]
fn fields_of_the_same_name_have_one_type_in_all_nodes() {
    let mut types: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for field in fields().into_iter().filter(|field| field.is_of_node) {
        types.entry(field.name).or_default().entry(field.kind).or_default().push(field.object);
    }
    assert!(types["id"]["ID!"].len() >= 14 && types["edges"]["EdgeConnection!"].len() >= 14, "{types:#?}");
    // Both are lists of nodes, which may be selected side by side.
    types.remove("mergeRequests");
    types.retain(|_, by_type| by_type.len() > 1);
    assert!(types.is_empty(), "{types:#?}");
}

/// An `Int` has 32 bits, and clients that are strict refuse more.
#[test]
fn what_may_be_large_is_no_int() {
    let large = ["bytes", "contentsBytes", "quads", "ledgerSeq", "graphSeq", "indexSeq"];
    let mut found = Vec::new();
    for field in fields() {
        if large.contains(&field.name.as_str()) && !field.kind.starts_with('[') {
            assert_eq!(field.kind.trim_end_matches('!'), "BigInt", "{}.{}", field.object, field.name);
            found.push(field.name);
        }
    }
    assert!(large.iter().all(|name| found.iter().any(|other| other == name)), "{found:?}");
}

/// The types that are nodes, and the interfaces of nodes.
fn node_types(fields: &[Field]) -> BTreeSet<&str> {
    let own = fields.iter().filter(|field| field.is_of_node).map(|field| field.object.as_str());
    own.chain(["Node", "Thread"]).collect()
}

fn is_whole(field: &Field) -> bool {
    WHOLE_LISTS.iter().any(|(place, _)| *place == field.place())
}

#[test]
fn lists_of_nodes_are_connections_with_an_order() {
    let fields = fields();
    let nodes = node_types(&fields);
    let mut wrong = Vec::new();
    for field in &fields {
        let is_connection = field.of().ends_with("Connection");
        let is_own = field.is_of_node || field.object == "Query";
        if field.is_list() && nodes.contains(field.of()) && is_own && !is_whole(field) {
            wrong.push(format!("{} is a plain list", field.place()));
        }
        if is_connection && !IN_ONE_ORDER.contains(&field.of()) && !BY_NAME.contains(&&*field.place()) {
            let lacks = ["first", "after", "last", "before", "orderBy"];
            let lacks: Vec<&str> =
                lacks.into_iter().filter(|name| !field.arguments.iter().any(|own| own == name)).collect();
            if !lacks.is_empty() {
                wrong.push(format!("{} lacks {lacks:?}", field.place()));
            }
        }
    }
    assert!(fields.iter().filter(|field| field.of().ends_with("Connection")).count() > 40);
    let is_used = |place: &&str| fields.iter().any(|field| field.place() == **place && field.is_list());
    let unused: Vec<&str> = WHOLE_LISTS.iter().map(|(place, _)| *place).filter(|place| !is_used(place)).collect();
    assert!(unused.is_empty(), "no such lists: {unused:?}");
    assert!(WHOLE_LISTS.iter().all(|(_, reason)| !reason.is_empty()));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn times_are_times() {
    let wrong: Vec<String> = fields()
        .iter()
        .filter(|field| field.name.ends_with("At") || ["date", "start", "since", "until"].contains(&&*field.name))
        .filter(|field| field.of() == "String" && !DAYS.contains(&&*field.place()))
        .map(Field::place)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn no_text_refers_to_a_node() {
    let wrong: Vec<String> = fields()
        .iter()
        .filter(|field| NODE_WORDS.contains(&&*field.name) && ["String", "ID"].contains(&field.of()))
        .map(Field::place)
        .filter(|place| !NAMES_OF_NODES.contains(&&**place))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn what_has_an_id_is_identified_by_it() {
    let fields = fields();
    let nodes = node_types(&fields);
    let with_id: Vec<&Field> = fields.iter().filter(|field| field.name == "id").collect();
    let is_identified = |name: &str| IDENTIFIED.iter().any(|(own, _)| *own == name);
    let wrong: Vec<String> = with_id
        .iter()
        .filter(|field| field.kind != "ID!" || !(nodes.contains(&*field.object) || is_identified(&field.object)))
        .map(|field| field.place())
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let unused: Vec<&str> = IDENTIFIED
        .map(|(name, _)| name)
        .into_iter()
        .filter(|name| with_id.iter().all(|of| of.object != *name))
        .collect();
    assert!(unused.is_empty(), "no such types have an id: {unused:?}");
    assert!(IDENTIFIED.iter().all(|(_, what)| !what.is_empty()));
}

/// Otherwise one that fails takes all others of the operation with it.
#[test]
fn fields_of_the_query_type_are_nullable() {
    let fields = fields();
    let of_query: Vec<&Field> = fields.iter().filter(|field| field.object == "Query").collect();
    let wrong: Vec<&str> =
        of_query.iter().filter(|field| field.kind.ends_with('!')).map(|field| field.name.as_str()).collect();
    assert!(wrong.is_empty() && of_query.len() > 30, "{wrong:?}");
}

/// A number that has the name of a list is taken for the list.
#[test]
fn counts_do_not_have_the_names_of_lists() {
    let fields = fields();
    let scalars = ["String", "ID", "Int", "Float", "Boolean", "DateTime", "BigInt", "JSON"];
    let lists: BTreeSet<&str> = fields
        .iter()
        .filter(|field| (field.is_list() && !scalars.contains(&field.of())) || field.of().ends_with("Connection"))
        .map(|field| field.name.as_str())
        .collect();
    assert!(lists.contains("commits") && lists.contains("lines"), "{lists:?}");
    let wrong: Vec<String> = fields
        .iter()
        .filter(|field| ["Int", "BigInt"].contains(&field.of()) && !field.is_list() && lists.contains(&*field.name))
        .map(Field::place)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A field of an input type.
struct InputField {
    input: String,
    description: String,
    name: String,
    kind: String,
}

/// What stands before each description of the schema, and the description on one line.
fn descriptions() -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut block: Option<(usize, Vec<&str>)> = None;
    for (number, line) in include_str!("../../schema/schema.graphql").lines().enumerate() {
        let line = line.trim();
        match (&mut block, line) {
            (Some(_), "\"\"\"") => {
                let (start, lines) = block.take().unwrap();
                found.push((start, lines.join(" ")));
            }
            (Some((_, lines)), line) => lines.push(line),
            (None, "\"\"\"") => block = Some((number, Vec::new())),
            (None, line) => {
                if let Some(text) = line.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                    found.push((number, text.to_owned()));
                }
            }
        }
    }
    found
}

fn input_fields() -> Vec<InputField> {
    let descriptions: BTreeMap<usize, String> = descriptions().into_iter().collect();
    let (mut fields, mut input, mut last, mut in_block) = (Vec::new(), None, 0, false);
    for (number, line) in include_str!("../../schema/schema.graphql").lines().enumerate() {
        if line.trim() == "\"\"\"" {
            if !in_block {
                last = number;
            }
            in_block = !in_block;
        } else if line.trim().starts_with('"') && !in_block {
            last = number;
        } else if let Some(header) = line.strip_prefix("input ") {
            input = Some(header.trim_end_matches(" {").to_owned());
        } else if line == "}" {
            input = None;
        } else if let (Some(input), Some((name, kind)), false) = (&input, line.trim().split_once(": "), in_block) {
            let (input, name, kind) = (input.clone(), name.to_owned(), kind.to_owned());
            fields.push(InputField { input, description: descriptions[&last].clone(), name, kind });
        }
    }
    fields
}

#[test]
fn descriptions_stand_alone() {
    let all = descriptions();
    let wrong: Vec<&(usize, String)> = all
        .iter()
        .filter(|(_, text)| text.chars().count() < 10 || LEANING.iter().any(|leaning| text.starts_with(leaning)))
        .collect();
    assert!(wrong.is_empty() && all.len() > 1_000, "{wrong:#?}");
}

#[test]
fn filters_say_what_an_empty_list_means() {
    let fields = input_fields();
    let lists = fields.iter().filter(|field| field.input.ends_with("Filter") && field.kind.starts_with('['));
    let wrong: Vec<String> = lists
        .clone()
        .filter(|field| !field.description.contains("if absent or empty"))
        .map(|field| format!("{}.{}", field.input, field.name))
        .collect();
    assert!(wrong.is_empty() && lists.count() > 40, "{wrong:?}");
}

#[test]
fn orders_name_a_field_and_may_name_a_direction() {
    let fields = input_fields();
    let orders: BTreeSet<&str> =
        fields.iter().map(|field| field.input.as_str()).filter(|input| input.ends_with("Order")).collect();
    assert!(orders.len() >= 10, "{orders:?}");
    for order in orders {
        let own = fields.iter().filter(|field| field.input == order);
        let shown: Vec<String> = own.map(|field| format!("{}: {}", field.name, field.kind)).collect();
        let field = format!("field: {order}Field!");
        assert_eq!(shown, ["direction: OrderDirection".to_owned(), field], "{order}");
    }
}

/// A text: a field of an object, interface or input type, or an argument of a field.
struct Text {
    place: String,
    name: String,
    description: String,
}

impl Text {
    /// Whether its name or description looks like that of a closed set of words.
    fn is_suspect(&self) -> bool {
        let quoted = self.description.split('`').skip(1).step_by(2);
        let is_word = |text: &&str| text.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '_');
        ends_in_closed_word(&self.name) || quoted.filter(is_word).count() > 1
    }
}

fn ends_in_closed_word(name: &str) -> bool {
    let singular = [Some(name), name.strip_suffix('s'), name.strip_suffix("es")];
    singular.into_iter().flatten().any(|name| {
        CLOSED_WORDS.iter().any(|word| {
            let capitalized = format!("{}{}", word[..1].to_uppercase(), &word[1..]);
            name == *word || name.ends_with(&capitalized)
        })
    })
}

fn texts() -> Vec<Text> {
    let (mut found, mut owner, mut field, mut in_description) = (Vec::new(), "", "", false);
    let mut description = String::new();
    for line in include_str!("../../schema/schema.graphql").lines() {
        let text = line.trim_start();
        if text == "\"\"\"" {
            in_description = !in_description;
        } else if in_description || text.starts_with('"') {
            description.push_str(text);
            description.push(' ');
        } else {
            let description = std::mem::take(&mut description);
            if let Some(header) = ["type ", "input ", "interface "].iter().find_map(|word| line.strip_prefix(word)) {
                owner = header.split(' ').next().unwrap();
            } else if let Some(name) = text.strip_suffix('(') {
                field = name;
            } else if let Some((name, kind)) = text.split_once(": ") {
                // What follows is a default value, or the comma behind an argument.
                let of = kind.split([' ', ',']).next().unwrap().trim_matches(['[', ']', '!']);
                let name = if name == ")" { field } else { name };
                let is_argument = line.starts_with("    ");
                let place = if is_argument { format!("{owner}.{field}({name})") } else { format!("{owner}.{name}") };
                if of == "String" {
                    found.push(Text { place, name: name.to_owned(), description });
                }
            }
        }
    }
    found
}

#[test]
fn words_of_closed_sets_are_enumerations() {
    let texts = texts();
    let suspect: Vec<&str> = texts.iter().filter(|text| text.is_suspect()).map(|text| text.place.as_str()).collect();
    let is_open = |place: &str| OPEN_WORDS.iter().any(|(own, _)| *own == place);
    let wrong: Vec<&&str> = suspect.iter().filter(|place| !is_open(place)).collect();
    assert!(wrong.is_empty(), "make them enumerations, or say in OPEN_WORDS why not: {wrong:#?}");
    let unused: Vec<&str> = OPEN_WORDS.iter().map(|(place, _)| *place).filter(|own| !suspect.contains(own)).collect();
    assert!(unused.is_empty(), "no such texts: {unused:?}");
    assert!(OPEN_WORDS.iter().all(|(_, reason)| !reason.is_empty()) && texts.len() > 300);
    for (name, is_closed) in [("nodeTypes", true), ("statuses", true), ("class", true), ("sourceBranch", false)] {
        assert_eq!(ends_in_closed_word(name), is_closed, "{name}");
    }
}

/// `Person`, `Discussion` and `Note` are classes of other ontologies.
#[test]
fn every_class_of_the_graph_has_a_name_in_counts() {
    let own = include_str!("../../schema/backstory.ttl").lines();
    let own = own.filter_map(|line| line.strip_prefix("bs:")?.strip_suffix(" a rdfs:Class ;"));
    let spelled = |class: &str| {
        let mut name = String::new();
        for letter in class.chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
        name
    };
    let classes: BTreeSet<String> = own.chain(["Person", "Discussion", "Note"]).map(spelled).collect();
    let (_, rest) = include_str!("../../schema/schema.graphql").split_once("enum NodeClass {\n").unwrap();
    let (values, _) = rest.split_once("\n}").unwrap();
    let values = values.lines().map(str::trim).filter(|line| !line.starts_with('"'));
    assert_eq!(values.map(str::to_owned).collect::<BTreeSet<String>>(), classes);
}
