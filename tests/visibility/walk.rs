//! Walks over everything that can be read: every field of the GraphQL schema, every address of REST that is read with
//! `GET`, and what subscriptions say, each asked of two servers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The schema, as a client is told.
const INTROSPECTION: &str = "{ __schema { types { name kind fields { name args { name type { kind } defaultValue } \
    type { ...T } } possibleTypes { name } } } } fragment T on __Type { name kind ofType { name kind ofType { name kind \
    ofType { name kind } } } }";
/// How many levels below a root are asked for at once.
const DEPTH: usize = 2;
/// Arguments of fields below the roots that must have some.
const ARGUMENTS: [(&str, &str); 10] = [
    ("activity", "(by: MONTH)"),
    ("file", "(path: \"src/session.rs\")"),
    ("shipped", "(to: \"main\")"),
    ("issue", "(iid: 1)"),
    ("mergeRequest", "(iid: 1)"),
    ("commit", "(rev: \"main\")"),
    ("milestone", "(iid: 1)"),
    ("label", "(name: \"bug\")"),
    ("release", "(tag: \"v1\")"),
    ("groupBy", "(field: AUTHOR)"),
];
/// What files and code entities are grouped by, which have no author.
const GROUPS: [(&str, &str); 2] = [("FileConnection", "(field: LANGUAGE)"), ("CodeEntityConnection", "(field: KIND)")];
/// What a page has of lists below the roots.
const PAGE: &str = "(first: 2)";

/// A field of the schema.
struct Field {
    name: String,
    /// The type that it has, without lists.
    of: String,
    has_page: bool,
    needs_arguments: bool,
}

/// The types of a schema.
pub(super) struct Schema {
    fields: BTreeMap<String, Vec<Field>>,
    possible: BTreeMap<String, Vec<String>>,
}

impl Schema {
    pub(super) fn query() -> &'static str {
        INTROSPECTION
    }

    /// That of an answer to [`query`](Self::query).
    pub(super) fn new(answer: &Value) -> Self {
        let (mut fields, mut possible) = (BTreeMap::new(), BTreeMap::new());
        for of in answer["data"]["__schema"]["types"].as_array().unwrap() {
            let name = of["name"].as_str().unwrap().to_owned();
            if name.starts_with("__") || !matches!(of["kind"].as_str(), Some("OBJECT" | "INTERFACE" | "UNION")) {
                continue;
            }
            let names = |list: &Value| -> Vec<String> {
                list.as_array().into_iter().flatten().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
            };
            if of["kind"] != "OBJECT" {
                possible.insert(name.clone(), names(&of["possibleTypes"]));
            }
            let of_type = of["fields"].as_array().into_iter().flatten().map(Field::new);
            fields.insert(name, of_type.collect());
        }
        Self { fields, possible }
    }

    /// Every field that can be read, as `Type.field`.
    pub(super) fn all(&self) -> BTreeSet<String> {
        let readable = self.fields.iter().filter(|(name, _)| !matches!(name.as_str(), "Mutation" | "Subscription"));
        // What only changes and subscriptions answer.
        let readable = readable.filter(|(name, _)| self.is_reachable(name));
        readable.flat_map(|(name, fields)| fields.iter().map(move |field| format!("{name}.{}", field.name))).collect()
    }

    fn is_reachable(&self, wanted: &str) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec!["Query"]);
        while let Some(name) = open.pop() {
            if !seen.insert(name) {
                continue;
            }
            open.extend(self.possible.get(name).into_iter().flatten().map(String::as_str));
            open.extend(self.fields.get(name).into_iter().flatten().map(|field| field.of.as_str()));
        }
        seen.contains(wanted)
    }

    /// Documents that ask for everything of a root, which stands there with its arguments: one for what it has itself,
    /// and one for each field that leads on. With each the fields that it asks for.
    pub(super) fn documents(&self, root: &str) -> Vec<(String, BTreeSet<String>)> {
        let name = root.split('(').next().unwrap();
        let field = self.fields["Query"].iter().find(|field| field.name == name).unwrap();
        let mut documents = Vec::new();
        let mut add = |leading: Option<&str>| {
            let mut asked = BTreeSet::from([format!("Query.{name}")]);
            let selection = self.selection(&field.of, DEPTH, leading, "", &mut asked);
            documents.push((format!("{{ {root} {selection} }}"), asked));
        };
        add(None);
        for leading in self.leading(&field.of) {
            add(Some(&leading));
        }
        documents
    }

    /// The fields of a type, and of what it may be, that are no leaves.
    fn leading(&self, of: &str) -> BTreeSet<String> {
        let types = self.possible.get(of).into_iter().flatten().map(String::as_str).chain([of]);
        let fields = types.flat_map(|name| &self.fields[name]);
        fields.filter(|field| self.fields.contains_key(&field.of)).map(|field| field.name.clone()).collect()
    }

    /// A selection of a type: its leaves, and below `leading`, or else one level further, what leads on.
    fn selection(
        &self,
        of: &str,
        depth: usize,
        leading: Option<&str>,
        prefix: &str,
        asked: &mut BTreeSet<String>,
    ) -> String {
        let Some(fields) = self.fields.get(of) else { return String::new() };
        let mut parts = vec!["__typename".to_owned()];
        for field in fields {
            let is_leaf = !self.fields.contains_key(&field.of);
            let follows = leading.map_or(prefix.is_empty() && depth < DEPTH, |leading| leading == field.name);
            if (!is_leaf && !follows) || (is_leaf && leading.is_some()) {
                continue;
            }
            let arguments = field.arguments(of);
            if !is_leaf && depth == 0 {
                continue;
            }
            asked.insert(format!("{of}.{}", field.name));
            let below = if is_leaf { String::new() } else { self.selection(&field.of, depth - 1, None, "", asked) };
            let alias = if prefix.is_empty() { String::new() } else { format!("{prefix}_{}: ", field.name) };
            parts.push(format!("{alias}{}{arguments} {below}", field.name));
        }
        // Fields of one name may differ between the types, so each has its own in the answer.
        for possible in self.possible.get(of).into_iter().flatten() {
            let below = self.selection(possible, depth, leading, possible, asked);
            parts.push(format!("... on {possible} {below}"));
        }
        format!("{{ {} }}", parts.join(" "))
    }
}

impl Field {
    fn new(field: &Value) -> Self {
        let mut of = &field["type"];
        while !of["ofType"].is_null() {
            of = &of["ofType"];
        }
        let arguments = field["args"].as_array().unwrap();
        let is_needed =
            |argument: &&Value| argument["type"]["kind"] == "NON_NULL" && argument["defaultValue"].is_null();
        Self {
            name: field["name"].as_str().unwrap().to_owned(),
            of: of["name"].as_str().unwrap().to_owned(),
            has_page: arguments.iter().any(|argument| argument["name"] == "first"),
            needs_arguments: arguments.iter().any(|argument| is_needed(&argument)),
        }
    }

    /// Arguments to ask with.
    fn arguments(&self, of: &str) -> &'static str {
        let of_type = GROUPS.iter().find(|(name, _)| self.name == "groupBy" && *name == of);
        let known = of_type.or(ARGUMENTS.iter().find(|(name, _)| *name == self.name)).map(|(_, known)| *known);
        match self.needs_arguments {
            true => known.unwrap_or_else(|| panic!("{of}.{} needs arguments; say which", self.name)),
            false if self.has_page => PAGE,
            false => "",
        }
    }
}

/// The fields of `Query` that are asked for, with their arguments.
pub(super) fn roots(projects: &[&str]) -> Vec<String> {
    let mut roots: Vec<String> = [
        "activity(by: MONTH)",
        "ask(question: \"why does the session keep its token\")",
        "audit",
        "chat(id: 1)",
        // Numbers of changes count those of all projects, so another test compares what changed.
        "changes",
        "chats",
        "commits(first: 3)",
        "compareSnapshots(from: \"abcd\", to: \"abce\")",
        // All that is found has room.
        "contextPack(about: { query: \"why does the order keep its session\" }, options: { tokens: 100000 })",
        "coverage",
        "digest",
        "discussions(first: 3)",
        "entities(first: 3)",
        "files(first: 3)",
        "issues(first: 3)",
        "job(id: 1)",
        "jobs",
        "mergeRequests(first: 3)",
        "people(first: 9)",
        "person(username: \"alice\")",
        "person(username: \"own1\")",
        "person(username: \"insider2\")",
        "projects(first: 9)",
        "repositories",
        "search(query: \"session token\", first: 5)",
        "snapshot(id: \"abcd\")",
        "snapshots",
        "stats",
        "syncStatus",
        // Tasks are those of a directory.
        "task(id: 999)",
        "tasks",
        "verify(citations: [])",
        "viewer",
        "webhookDeliveries",
    ]
    .map(str::to_owned)
    .to_vec();
    for project in projects {
        let file = format!("{project}:src/session.rs");
        roots.extend([
            format!("discussion(id: \"{project}#1~1\")"),
            format!("entity(name: \"load_session\", project: \"{project}\")"),
            format!("file(project: \"{project}\", path: \"src/session.rs\")"),
            format!("history(id: \"{file}\", first: 3)"),
            format!("issue(id: \"{project}#1\")"),
            format!("issue(id: \"{project}#4\")"),
            format!("mergeRequest(id: \"{project}!1\")"),
            format!("node(id: \"{project}!2\")"),
            format!("node(id: \"{file}#load_session\")"),
            format!("nodes(ids: [\"{project}\", \"{file}\", \"{project}#2\"])"),
            format!("path(from: \"{file}\", to: \"{project}#1\")"),
            format!("project(fullPath: \"{project}\")"),
            format!("trace(id: \"{project}!1\")"),
            format!("trace(project: \"{project}\", path: \"src/session.rs\", line: 2)"),
        ]);
    }
    roots
}

/// Addresses of REST for every path of the document that is read with `GET`.
///
/// # Panics
/// It is not known what to ask of a path.
pub(super) fn addresses(document: &Value, projects: &[&str]) -> Vec<String> {
    let mut addresses = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        // Tasks are those of a directory.
        if operations["get"].is_null() || path == "/api/v1/tasks/{id}" {
            continue;
        }
        for project in projects {
            addresses.extend(of_path(path, project));
        }
    }
    addresses.into_iter().collect()
}

fn of_path(path: &str, project: &str) -> Vec<String> {
    let encoded = project.replace('/', "%2F");
    let filled = |query: &str| vec![format!("{path}{query}")];
    match path {
        "/api/v1/why" => {
            ["%231", "!1", ":src/session.rs:2"].iter().map(|end| format!("{path}?target={project}{end}")).collect()
        }
        "/api/v1/search" => filled("?query=session+token&mode=lexical&limit=20&facets=true"),
        "/api/search" => {
            [String::new(), format!("&repository={project}")].map(|end| format!("{path}?query=session{end}")).to_vec()
        }
        "/api/v1/context" => filled(&format!("?query=session+order&project={project}&tokens=100000")),
        "/api/v1/history" => filled(&format!("?target=src/session.rs&project={project}")),
        "/api/v1/entities" => filled("?name=load_session"),
        "/api/v1/people/{name}" => {
            ["alice", "own1", "own3", "insider2"].map(|name| format!("/api/v1/people/{name}")).to_vec()
        }
        "/api/v1/nodes/{id}" | "/api/v1/enrichments/{id}" | "/graph/{reference}" => {
            let base = path.split('{').next().unwrap();
            ["", "%231", "%234", "!1", ":src/session.rs", ":src/session.rs%23load_session"]
                .map(|end| format!("{base}{project}{end}"))
                .to_vec()
        }
        "/api/v1/issues" | "/api/v1/merge-requests" => vec![path.to_owned(), format!("{path}?project={project}")],
        "/api/v1/graph/neighbors" => filled(&format!("?id={project}%231&depth=2")),
        "/api/v1/graph/path" => filled(&format!("?from={project}%231&to=acme/shop%231")),
        "/api/v1/repositories/{project}" => vec![format!("/api/v1/repositories/{project}")],
        "/repos/{repo_id}" | "/repos/{repo_id}/status" | "/api/index/repos/{repo_id}" => {
            vec![path.replace("{repo_id}", &encoded)]
        }
        "/api/v1/export/{what}" => ["issues", "merge_requests", "discussions", "commits", "files", "edges"]
            .iter()
            .flat_map(|what| [format!("/api/v1/export/{what}"), format!("/api/v1/export/{what}?project={project}")])
            .collect(),
        "/sparql" => filled("?query=SELECT+*+%7B+?s+a+?class+%7D+ORDER+BY+?s+?class"),
        _ if path.contains('{') => ["1", "7", "abcd"].iter().map(|id| fill(path, id)).collect(),
        _ => vec![path.to_owned()],
    }
}

/// A path with something in place of its parameters.
fn fill(path: &str, value: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { value } else { part });
    parts.collect::<Vec<_>>().join("/")
}
