//! Requests of every reading use case, with names that the world has.

use std::collections::{BTreeMap, BTreeSet};

use backstory_engine::{
    Engine, MeasureLinks,
    ask::{AskRequest, VerifyRequest},
    changes::ChangesRequest,
    chat::{ListChats, ListMessages},
    check::DigestRequest,
    code::{EntityRequest, FileMergeRequests, HistoryRequest},
    context::{About, ContextRequest, RetrieveRequest},
    enrich::{GetEnrichments, ListAnnotations},
    eval::{EvaluationRequest, PairRequest},
    explore::{NeighborhoodRequest, PathRequest},
    export::{ExportFilter, ExportKind, ExportRequest},
    files::{
        ChunksRequest, CoChangeRequest, CommentsRequest, ContributorsRequest, DiffRequest, FactsRequest, FileRequest,
        TreeRequest,
    },
    forget::AuditRequest,
    graph::sparql::ResultFormat,
    locate::LocateRequest,
    map_lines::MapLinesRequest,
    model::{
        commit::Sha,
        eval::{Question, Retriever},
        filter::Filter,
        id::{NodeId, ThreadKind},
        pack,
    },
    person::PersonRequest,
    removed::RemovedRequest,
    repository::{CentralFilesRequest, CommitProjectsRequest, ListRepositories},
    search::{ListDocuments, Mode, SearchRequest},
    shipped::{ListReleases, ShippedRequest},
    show::ShowRequest,
    snapshot::{CompareSnapshots, GetSnapshot, ListSnapshots},
    sparql::{DescribeRequest, SparqlRequest},
    stats::StatsRequest,
    status::{CoverageRequest, SyncStatusRequest},
    summary::SummarizeRequest,
    threads::{ListThreads, ThreadFilter},
    trace::{Target, TraceRequest},
    use_case::UseCase,
    worker::{GetJob, GetTask, ListJobs, ListTasks},
};
use serde_json::{Value, json};

use super::world::{PROJECTS, World};

/// Requests by the name of their use case.
#[derive(Default)]
pub(super) struct Requests(pub(super) BTreeMap<&'static str, Vec<Value>>);

impl Requests {
    pub(super) fn add<U: UseCase>(&mut self, request: U) {
        self.0.entry(U::NAME).or_default().push(serde_json::to_value(request).unwrap());
    }

    /// Requests about all projects, whether they are visible or not.
    pub(super) fn all(world: &World) -> Self {
        let mut requests = Self::default();
        requests.add_lookups();
        requests.add_searches();
        requests.add_people();
        requests.add_changes(None);
        requests.add_locations(world, None);
        for project in PROJECTS {
            requests.add_of_project(project);
            requests.add_commits(world, project);
            requests.add_changes(Some(project));
            requests.add_locations(world, Some(project));
        }
        requests
    }

    /// What needs no project.
    fn add_lookups(&mut self) {
        self.add(StatsRequest {});
        self.add(CoverageRequest {});
        self.add(DigestRequest {});
        self.add(SyncStatusRequest { runs: 10 });
        self.add(ListRepositories {});
        self.add(ListJobs { limit: 10, ..ListJobs::default() });
        self.add(GetJob { id: 1 });
        self.add(RetrieveRequest {
            query: "why does the session keep its token".to_owned(),
            limit: 50,
            tokens: 50_000,
            ..RetrieveRequest::default()
        });
        self.add(AuditRequest { action: None, before: None, limit: 10 });
        for what in [ExportKind::Issues, ExportKind::MergeRequests, ExportKind::Discussions] {
            self.add(ExportRequest { what, filter: ExportFilter::default(), after: None, limit: 1000 });
        }
        self.add(ListChats { before: None, limit: 10 });
        self.add(ListMessages { chat: 1, after: 0, limit: 10 });
        self.add(ListTasks {});
        self.add(GetTask { id: 1 });
        self.add(ListSnapshots {});
        self.add(GetSnapshot { id: "abcd".to_owned() });
        self.add(CompareSnapshots { from: "abcd".to_owned(), to: "abce".to_owned(), limit: 5 });
        self.add(VerifyRequest { citations: vec![] });
        let queries = [
            "SELECT ?g ?s ?p ?o { GRAPH ?g { ?s ?p ?o } } ORDER BY ?g ?s ?p ?o",
            "SELECT ?s ?p ?o { ?s ?p ?o } ORDER BY ?s ?p ?o",
            "SELECT ?g { GRAPH ?g {} } ORDER BY ?g",
            "SELECT (COUNT(*) AS ?n) { ?issue a bs:Issue }",
            "SELECT ?a ?b { ?a (dcterms:references|bs:closes)+ ?b } ORDER BY ?a ?b",
            "ASK { <urn:backstory:node:tools/api/-/issues/1> ?p ?o }",
        ];
        for query in queries.map(str::to_owned) {
            self.add(SparqlRequest { query, ..SparqlRequest::default() });
        }
        for name in ["load_session", "parse_order", "src/session.rs#load_session", "nothing"] {
            self.add(EntityRequest { name: name.to_owned(), project: None, limit: 20 });
        }
        for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
            let filters = [
                ThreadFilter::default(),
                ThreadFilter { author: Some("Alice".to_owned()), ..ThreadFilter::default() },
                ThreadFilter { author: Some("own1".to_owned()), ..ThreadFilter::default() },
                ThreadFilter { label: Some("bug".to_owned()), ..ThreadFilter::default() },
            ];
            for filter in filters {
                self.add(ListThreads { kind, filter, limit: 5, after: None });
            }
        }
    }

    /// Searches, questions and packs over all that is visible.
    fn add_searches(&mut self) {
        let queries = [
            "why does the session keep its token",
            "cache retry",
            "load_session",
            "acme/web#1 and tools/api!2",
            "lantern orchard saddle",
            "the team",
        ];
        for query in queries {
            for mode in [Mode::Hybrid, Mode::Lexical, Mode::Semantic] {
                self.add(SearchRequest { query: query.to_owned(), mode, limit: 20, ..SearchRequest::default() });
            }
            self.add(AskRequest { question: query.to_owned(), ..AskRequest::default() });
        }
        let by = |author: &str| Filter { authors: vec![author.to_owned()], ..Filter::default() };
        for filter in [by("alice"), by("own2"), by("insider0"), by("bob@home.example")] {
            let query = "session order".to_owned();
            self.add(SearchRequest { query, filter, limit: 20, ..SearchRequest::default() });
        }
        self.add(context(About::Query("why does the order keep its session".to_owned()), None));
    }

    /// What people did and what waits for them.
    fn add_people(&mut self) {
        let mut names = ["alice", "@Bob", "carol", "bob@home.example", "alice@acme.example", "nobody"].to_vec();
        names.extend(["own0", "own3", "insider0", "insider4", "johndoe"]);
        let mut of_some = vec![vec![], PROJECTS[..2].to_vec()];
        of_some.extend(PROJECTS.map(|project| vec![project]));
        for name in names {
            for projects in &of_some {
                self.add(PersonRequest {
                    name: name.to_owned(),
                    projects: projects.iter().map(|project| (*project).to_owned()).collect(),
                    after: Some(jiff::Timestamp::UNIX_EPOCH),
                    before: None,
                    stale_days: 30,
                    limit: 20,
                });
            }
        }
    }

    /// What changed, and what was removed.
    fn add_changes(&mut self, project: Option<&str>) {
        let project = project.map(str::to_owned);
        for path in [None, Some("src/session.rs"), Some("src"), Some("src/part_2.rs"), Some("src/nothing.rs")] {
            for symbol in [None, path.map(|_| "load_session".to_owned())] {
                let path = path.map(str::to_owned);
                self.add(ChangesRequest { project: project.clone(), path, symbol, after: None, limit: 20 });
            }
        }
        for text in ["step_1", "step_0(parse_order())", "src/part_1.rs", "parse_order", "never there"] {
            for path in [None, Some("src/session.rs"), Some("docs")] {
                let path = path.map(str::to_owned);
                self.add(RemovedRequest { text: text.to_owned(), project: project.clone(), path, limit: 3 });
            }
        }
    }

    /// What texts mean, and where lines of a working tree are.
    fn add_locations(&mut self, world: &World, project: Option<&str>) {
        let texts = "src/session.rs:2 src/part_1.rs load_session step_3 part_2 nothing #1 #4 !2 #99";
        let mut texts: Vec<String> = texts.split(' ').map(str::to_owned).collect();
        for other in PROJECTS {
            let (commit, address) = (&world.commits(other)[1], world.url());
            texts.extend([
                format!("{other}#1"),
                format!("{other}!3"),
                format!("{other}:src/session.rs"),
                format!("{other}@{}", &commit[..10]),
                commit[..12].to_owned(),
                format!("{address}/{other}/-/issues/4"),
                format!("{address}/{other}/-/merge_requests/1"),
            ]);
        }
        let project = project.map(str::to_owned);
        for text in texts {
            self.add(LocateRequest { text, project: project.clone() });
        }
        for other in PROJECTS {
            let commits: Vec<Sha> = world.commits(other).iter().rev().map(|sha| sha.parse().unwrap()).collect();
            for path in ["src/session.rs", "src/nothing.rs"] {
                let text = "// new\npub fn load_session() -> u32 {\n    step_2(parse_order())\n}\n".to_owned();
                let (path, lines) = (path.to_owned(), (1, 3));
                let (project, commits) = (project.clone(), commits.clone());
                self.add(MapLinesRequest {
                    project,
                    path,
                    lines,
                    text,
                    committed: None,
                    commits,
                    earlier_paths: vec![],
                });
            }
        }
    }

    /// What is known of commits, and what language models wrote of them and of issues and merge requests.
    fn add_commits(&mut self, world: &World, project: &str) {
        let commits = world.commits(project);
        for sha in commits {
            self.add(CommitProjectsRequest { sha: sha.parse().unwrap() });
        }
        for sha in [&commits[1], &commits[3], &commits[2][..10]] {
            let id = NodeId::commit(project, sha);
            self.add(GetEnrichments { id: id.clone() });
            self.add(ShowRequest { id: id.clone() });
            self.add(DescribeRequest { id: id.clone(), format: ResultFormat::NTriples });
            self.add(DiffRequest { id: id.clone(), paths: vec![], context: 3 });
            self.add(TraceRequest { project: None, target: Target::Node(id), rev: None, earlier: 2 });
        }
        for short in ["#1", "#2", "#4", "!1", "!3", "!99"] {
            self.add(GetEnrichments { id: format!("{project}{short}").parse().unwrap() });
        }
    }

    fn add_of_project(&mut self, project: &str) {
        let (named, filter) = (project.to_owned(), Filter { project: Some(project.to_owned()), ..Filter::default() });
        for query in ["why does the login lose its report", "queue index schema"] {
            let request = SearchRequest {
                query: query.to_owned(),
                filter: filter.clone(),
                limit: 10,
                ..SearchRequest::default()
            };
            self.add(request);
            self.add(AskRequest { question: query.to_owned(), filter: filter.clone(), ..AskRequest::default() });
        }
        for short in ["#1", "#4", "!1", "!3"] {
            let id: NodeId = format!("{project}{short}").parse().unwrap();
            self.add(ShowRequest { id: id.clone() });
            self.add(DescribeRequest { id: id.clone(), format: ResultFormat::NTriples });
            self.add(SummarizeRequest { id: id.clone() });
            self.add(GetEnrichments { id: id.clone() });
            self.add(TraceRequest { project: None, target: Target::Node(id), rev: None, earlier: 2 });
        }
        let file = NodeId::file(project, "src/session.rs");
        let entity = NodeId::entity(project, "src/session.rs", "load_session");
        for id in [file.clone(), entity.clone(), NodeId::Project(named.clone()), NodeId::person("alice")] {
            self.add(NeighborhoodRequest { id: id.clone(), depth: 2, edges: BTreeSet::new(), limit: 50, totals: true });
            self.add(PathRequest { from: file.clone(), to: id, edges: BTreeSet::new(), max_length: 4 });
        }
        self.add(FileMergeRequests { id: file.clone(), states: vec![] });
        for id in [file, entity] {
            self.add(HistoryRequest { id: id.clone(), skip: 0, limit: 10 });
            let target = Target::Node(id);
            self.add(TraceRequest { project: Some(named.clone()), target, rev: None, earlier: 2 });
        }
        let (path, name) = ("src/session.rs".to_owned(), "load_session".to_owned());
        let targets = [
            Target::Lines { path: path.clone(), lines: Some((2, 4)) },
            Target::Symbol { path: path.clone(), name },
            Target::Lines { path: "src/nothing.rs".to_owned(), lines: None },
        ];
        for target in targets {
            self.add(TraceRequest { project: Some(named.clone()), target, rev: None, earlier: 2 });
        }
        let target = Target::Lines { path, lines: Some((2, 4)) };
        self.add(context(About::Target { target, rev: None }, Some(project)));
        self.add(CentralFilesRequest { project: named.clone(), limit: 10 });
        self.add_code(&named);
        self.add(MeasureLinks { project: Some(named.clone()) });
        self.add(PairRequest { project: Some(named.clone()), count: 5 });
        let question = Question {
            id: "one".to_owned(),
            question: "why does the session keep its token".to_owned(),
            kind: String::new(),
            gold: vec![format!("{project}#1")],
            path: None,
            line_text: None,
            symbol: None,
        };
        let legs = [Retriever::Fused, Retriever::Graph, Retriever::Lexical, Retriever::Rrf, Retriever::Semantic];
        self.add(EvaluationRequest {
            project: Some(named.clone()),
            questions: vec![question],
            legs: legs.to_vec(),
            depth: 5,
        });
        self.add(ListReleases { project: named.clone(), limit: 10 });
        self.add(ShippedRequest { project: Some(named.clone()), from: None, to: "main".to_owned() });
        self.add(ListThreads {
            kind: ThreadKind::Issue,
            filter: ThreadFilter { project: Some(named), ..ThreadFilter::default() },
            limit: 2,
            after: None,
        });
    }

    /// What names a project, or leaves out which.
    fn add_names(&mut self, project: &str) {
        let named = Some(project.to_owned());
        let places = [
            "#1",
            "!2",
            "src/session.rs:2",
            "src/session.rs#load_session",
            "load_session",
            "parse_order",
            "src/none.rs",
        ];
        for text in places.map(str::to_owned) {
            self.add(LocateRequest { text: format!("{project}{text}"), project: None });
            self.add(LocateRequest { text: text.clone(), project: named.clone() });
            self.add(LocateRequest { text, project: None });
        }
        for (path, symbol) in
            [(None, None), (Some("src/session.rs"), None), (Some("src/session.rs"), Some("load_session"))]
        {
            let (path, symbol) = (path.map(str::to_owned), symbol.map(str::to_owned));
            self.add(ChangesRequest { project: named.clone(), path, symbol, after: None, limit: 10 });
        }
        for (text, path) in [("step_0", None), ("parse_order", Some("src/session.rs")), ("src/part_0.rs", None)] {
            let path = path.map(str::to_owned);
            self.add(RemovedRequest { text: text.to_owned(), project: named.clone(), path, limit: 5 });
        }
        for name in ["alice", "own1", "insider2", "bob@home.example", "nobody"] {
            let request = json!({ "name": name, "projects": [project], "after": "2024-01-01T00:00:00Z" });
            self.add(serde_json::from_value::<PersonRequest>(request).unwrap());
        }
        self.add(MapLinesRequest {
            project: named,
            path: "src/session.rs".to_owned(),
            lines: (2, 4),
            text: "/// Loads.\npub fn load_session() -> u32 {\n    step_3(parse_order())\n}\n".to_owned(),
            committed: None,
            commits: vec![],
            earlier_paths: vec![],
        });
    }

    /// What is asked of the code of a project.
    fn add_code(&mut self, project: &str) {
        self.add_names(project);
        let (project, path) = (Some(project.to_owned()), "src/session.rs".to_owned());
        self.add(ListAnnotations { id: Some(NodeId::file(project.as_deref().unwrap(), &path)), ..Default::default() });
        self.add(ListAnnotations::default());
        self.add(ChunksRequest { project: project.clone(), path: path.clone(), rev: None });
        let node_types = vec!["function_item".to_owned()];
        self.add(FactsRequest { project: project.clone(), path: path.clone(), rev: None, node_types });
        let filter = Filter { project: project.clone(), ..Filter::default() };
        self.add(ListDocuments { filter, limit: 100, after: None });
        for directory in ["", "src", "lib"] {
            let (path, last_commits) = (directory.to_owned(), true);
            self.add(TreeRequest { project: project.clone(), path, rev: None, last_commits });
            let path = directory.to_owned();
            self.add(ContributorsRequest { project: project.clone(), path, limit: 10 });
        }
        let id = NodeId::file(project.as_deref().unwrap(), &*path);
        self.add(CoChangeRequest { id, limit: 10, min_support: 3 });
        let id = NodeId::commit(project.as_deref().unwrap(), "1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b");
        self.add(DiffRequest { id, paths: vec![], context: 3 });
        self.add(ContributorsRequest { project: project.clone(), path: path.clone(), limit: 10 });
        self.add(CommentsRequest { project: project.clone(), path: path.clone(), ..CommentsRequest::default() });
        self.add(FileRequest { project, path, lineage: true, ..FileRequest::default() });
    }
}

fn context(about: About, project: Option<&str>) -> ContextRequest {
    ContextRequest {
        about,
        filter: Filter { project: project.map(str::to_owned), ..Filter::default() },
        path: None,
        near: vec![],
        ranking: None,
        mode: pack::Mode::All,
        format: pack::Format::Json,
        // All that is found has room: how much fits depends on the tokens of the present time.
        tokens: 100_000,
        diffs: true,
        tests: true,
        snapshot: None,
    }
}

/// The citations of an answer to a caller who sees everything.
pub(super) async fn citations(engine: &Engine) -> Vec<backstory_engine::model::answer::Citation> {
    let mut citations = Vec::new();
    for project in PROJECTS {
        let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
        let question = "why does the session keep its token".to_owned();
        let answer = engine.answer(AskRequest { question, filter, ..AskRequest::default() }).await.unwrap();
        citations.extend(answer.citations);
    }
    citations
}
