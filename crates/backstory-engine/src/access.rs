//! Who may request what: checks the scope of a use case, keeps the audit log, and makes, lists and revokes tokens. Reading
//! tokens from requests belongs to the server.
//!
//! The log has what holders of tokens ask for, and what anyone changes: of the owner of the data directory what needs the
//! scope admin, of others at this machine what needs more than read.

mod requests;

use std::{collections::BTreeSet, time::Duration};

use backstory_model::{
    access::{Actor, Expiry, Grant, MAX_PATTERNS, ProjectPattern, Scope, Scopes},
    digest::sha256,
    id::{NodeId, is_project_path},
    text::truncate_echo,
    visibility::Visibility,
};
use backstory_store::ledger::{IssuedToken, NewOperation, NewToken, Operation, OperationFilter};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::{Error, ErrorKind, Result},
    resources::Resources,
    state::access::{ID_LENGTH, PREFIX},
    use_case::{QueryLanguage, UseCase},
};

/// Most tokens that are not revoked.
pub const MAX_SERVER_TOKENS: usize = 1_000;
/// How long a token is valid if nobody says when it ends.
pub const DEFAULT_LIFETIME: SignedDuration = SignedDuration::from_hours(90 * 24);
/// Longest name of a token, in characters.
pub const MAX_NAME: usize = 100;
/// Most operations of one list.
pub const MAX_OPERATIONS: usize = 1_000;
/// How long the audit log keeps an operation.
pub const KEPT: SignedDuration = SignedDuration::from_hours(90 * 24);
/// What the audit log says of the outcome if nobody waited for it.
const CANCELLED: &str = "CANCELLED";
/// How long operations wait to be written together.
const FLUSH: Duration = Duration::from_secs(1);
/// Random bytes of a token.
const RANDOM_BYTES: usize = 32;
/// Most projects that an operation on record names.
const MAX_NAMED: usize = 20;
/// Fields of requests that hold the path of a project, or a list of them.
const PROJECT_FIELDS: [&str; 2] = ["project", "projects"];
/// Fields of requests that hold a reference.
const REFERENCE_FIELDS: [&str; 5] = ["id", "reference", "from", "to", "target"];

/// Makes a token of the server. Its secret is in the answer, and kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CreateToken {
    /// What people call it, at most 100 characters; after its id if absent.
    pub name: Option<String>,
    /// Which projects it shows, 1 to 100 patterns.
    pub projects: Vec<ProjectPattern>,
    /// Whether it shows their confidential items; false if absent.
    #[serde(default)]
    pub confidential: bool,
    /// What it permits; `read` if absent.
    #[serde(default = "default_scopes")]
    pub scopes: Scopes,
    /// When it ends: `12h` or `90d` after it is made, a last day in UTC, an instant, or `never`; if absent, after 90 days, but
    /// no later than the token that makes it.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub expires: Option<Expiry>,
}

fn default_scopes() -> Scopes {
    Scopes::from_iter([Scope::Read])
}

/// A token that was just made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CreatedToken {
    /// What is kept of it.
    pub token: IssuedToken,
    /// What its holder shows; it cannot be read again.
    pub secret: String,
}

/// Lists the tokens that were made, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListTokens {}

/// Revokes a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RevokeToken {
    /// Its id or name.
    pub token: String,
}

/// Lists who asked for what, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListOperations {
    /// Only operations of actors whose names contain this.
    pub actor: Option<String>,
    /// Only operations of this use case.
    pub name: Option<String>,
    /// Only operations that need this scope.
    pub scope: Option<Scope>,
    /// Only operations with a smaller number.
    pub before: Option<i64>,
    /// Most operations, at most 1,000; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

impl UseCase for CreateToken {
    const NAME: &'static str = "create-token";
    const SCOPE: Scope = Scope::Admin;
    const CONCERNS_ALL_PROJECTS: bool = true;
    type Answer = CreatedToken;

    async fn run(self, resources: &Resources) -> Result<CreatedToken> {
        create_token(resources, self).await
    }
}

impl UseCase for ListTokens {
    const NAME: &'static str = "tokens";
    const SCOPE: Scope = Scope::Admin;
    const REPEATABLE: bool = true;
    const CONCERNS_ALL_PROJECTS: bool = true;
    type Answer = Vec<IssuedToken>;

    async fn run(self, resources: &Resources) -> Result<Vec<IssuedToken>> {
        Ok(resources.shared.access.list())
    }
}

impl UseCase for RevokeToken {
    const NAME: &'static str = "revoke-token";
    const SCOPE: Scope = Scope::Admin;
    const CONCERNS_ALL_PROJECTS: bool = true;
    type Answer = IssuedToken;

    async fn run(self, resources: &Resources) -> Result<IssuedToken> {
        revoke_token(resources, &self.token).await
    }
}

impl UseCase for ListOperations {
    const NAME: &'static str = "operations";
    const SCOPE: Scope = Scope::Admin;
    const REPEATABLE: bool = true;
    const CONCERNS_ALL_PROJECTS: bool = true;
    type Answer = Vec<Operation>;

    async fn run(self, resources: &Resources) -> Result<Vec<Operation>> {
        flush(resources).await?;
        let Self { actor, name, scope, before, limit } = self;
        let filter = OperationFilter { actor, name, scope, before };
        resources.with_ledger(move |ledger| ledger.operations(&filter, limit.min(MAX_OPERATIONS))).await
    }
}

/// Answers a request if its caller may make it, and records it.
pub(crate) async fn answer<U: UseCase>(resources: &Resources, request: U) -> Result<U::Answer> {
    let recording = begin_recording(resources, &request);
    Box::pin(answer_recorded::<U, _>(resources, recording, request.run(resources))).await
}

/// Begins to record a request, if its caller is one whose requests are recorded.
pub(crate) fn begin_recording<U: UseCase>(resources: &Resources, request: &U) -> Option<Recording> {
    let is_recorded = is_recorded(resources.actor(), U::SCOPE);
    is_recorded.then(|| Recording::new(resources, describe_request(resources, request)))
}

/// Does the work for a request, which is not begun yet, if its caller may make it, and ends its recording.
pub(crate) async fn answer_recorded<U: UseCase, T>(
    resources: &Resources,
    recording: Option<Recording>,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let answer = match check_scope::<U>(resources) {
        Ok(()) => work.await,
        Err(error) => Err(error),
    };
    if let Some(recording) = recording {
        recording.end(answer.as_ref().err().map(|error| error.kind));
        // What was changed is on record before anybody is told of it.
        if U::SCOPE != Scope::Read
            && let Err(error) = flush(resources).await
        {
            tracing::error!(%error, "the audit log cannot be written");
        }
    }
    answer
}

/// An operation that is put on record when it ends, also if nobody waits for that any more.
pub struct Recording {
    resources: Resources,
    operation: Option<NewOperation>,
}

impl Recording {
    fn new(resources: &Resources, operation: NewOperation) -> Self {
        Self { resources: resources.clone(), operation: Some(operation) }
    }

    /// Puts it on record with its outcome: how it failed, if it did.
    pub fn end(mut self, failure: Option<ErrorKind>) {
        if let Some(operation) = self.operation.take() {
            record(&self.resources, NewOperation { outcome: describe_outcome(failure), ..operation });
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(operation) = self.operation.take() {
            record(&self.resources, NewOperation { outcome: CANCELLED.to_owned(), ..operation });
        }
    }
}

/// Says whether the caller may make a request, before it is read. A refusal is put on record.
pub(crate) fn permit<U: UseCase>(resources: &Resources) -> Result<()> {
    let checked = check_scope::<U>(resources);
    if checked.is_err() && is_recorded(resources.actor(), U::SCOPE) {
        let operation = NewOperation {
            at: Timestamp::now(),
            actor: resources.actor().to_string(),
            name: U::NAME.to_owned(),
            scope: U::SCOPE,
            projects: Vec::new(),
            request: None,
            outcome: describe_outcome(Some(ErrorKind::Forbidden)),
        };
        record(resources, operation);
    }
    checked
}

/// Refuses what the caller may not do.
fn check_scope<U: UseCase>(resources: &Resources) -> Result<()> {
    require_scope(resources, U::NAME, U::SCOPE)?;
    if U::CONCERNS_ALL_PROJECTS && !resources.visibility().allows_all_projects() {
        let message = format!("'{}' concerns all projects; {} sees only some", U::NAME, resources.actor());
        return Err(Error::new(ErrorKind::Forbidden, message));
    }
    Ok(())
}

/// Refuses what needs a scope that the caller has not.
pub(crate) fn require_scope(resources: &Resources, what: &str, scope: Scope) -> Result<()> {
    let (who, scopes) = (resources.actor(), resources.scopes());
    if scopes.permit(scope) {
        return Ok(());
    }
    let has = if scopes.is_empty() { "none".to_owned() } else { scopes.to_string() };
    let message = format!("'{what}' needs the scope {}; {who} has {has}", scope.as_str());
    Err(Error::new(ErrorKind::Forbidden, message).with_hint("'backstory token create --scopes' makes a token that may"))
}

/// Whether the audit log has what somebody does that needs a scope.
fn is_recorded(who: &Actor, scope: Scope) -> bool {
    match who {
        Actor::Token { .. } => true,
        Actor::Local => scope > Scope::Read,
        Actor::Owner => scope == Scope::Admin,
        Actor::Nobody => false,
    }
}

fn describe_request<U: UseCase>(resources: &Resources, request: &U) -> NewOperation {
    // What cannot be written as JSON could not have been read either.
    let mut json = serde_json::to_value(request).unwrap_or_default();
    drop_nulls(&mut json);
    let operation = describe_json(resources, U::NAME, json, U::QUERY_LANGUAGE);
    NewOperation { scope: U::SCOPE, request: operation.request.filter(|_| U::IS_LOGGED), ..operation }
}

/// An operation that reads, as JSON, without an outcome.
fn describe_json(resources: &Resources, name: &str, mut json: Value, language: Option<QueryLanguage>) -> NewOperation {
    let mut projects = BTreeSet::new();
    collect_projects(&json, &mut projects);
    if let (Some(language), Some(Value::String(query))) = (language, json.get_mut("query")) {
        *query = requests::without_comments(query, language);
    }
    resources.redactor().redact_json(&mut json);
    NewOperation {
        at: Timestamp::now(),
        actor: resources.actor().to_string(),
        name: name.to_owned(),
        scope: Scope::Read,
        projects: projects.into_iter().take(MAX_NAMED).collect(),
        request: Some(requests::write(json)),
        outcome: String::new(),
    }
}

/// `ok`, or the code of a failure.
fn describe_outcome(failure: Option<ErrorKind>) -> String {
    let code = failure.and_then(|kind| serde_json::to_value(kind).ok()?.as_str().map(str::to_owned));
    code.unwrap_or_else(|| "ok".to_owned())
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The projects that a request names, in fields of their own or in references.
fn collect_projects(value: &Value, projects: &mut BTreeSet<String>) {
    let mut take = |field: &str, text: &str| {
        if PROJECT_FIELDS.contains(&field) && is_project_path(text) {
            projects.insert(text.to_owned());
        } else if REFERENCE_FIELDS.contains(&field) {
            projects.extend(text.parse::<NodeId>().ok().and_then(|id| id.project().map(str::to_owned)));
        }
    };
    let Value::Object(fields) = value else { return };
    for (field, value) in fields {
        match value {
            Value::String(text) => take(field, text),
            Value::Array(values) => values.iter().filter_map(Value::as_str).for_each(|text| take(field, text)),
            _ => {}
        }
    }
    fields.values().for_each(|value| collect_projects(value, projects));
}

/// Begins to record an operation of GraphQL, if its caller is one whose questions are recorded: its name if it has one, its
/// document and the variables. Of one that may change something only that there was one: the use cases that it asks for are
/// recorded by themselves, without what must not be kept.
pub(crate) fn record_graphql(
    resources: &Resources,
    name: Option<&str>,
    document: &str,
    mut variables: Value,
) -> Option<Recording> {
    if !is_recorded(resources.actor(), Scope::Read) {
        return None;
    }
    // Those that the document does not name have no effect.
    if let Value::Object(fields) = &mut variables {
        fields.retain(|variable, _| document.contains(&format!("${variable}")));
    }
    let mut json = serde_json::json!({ "operation": name, "query": document, "variables": variables });
    drop_nulls(&mut json);
    let mut operation = describe_json(resources, "graphql", json, Some(QueryLanguage::GraphQl));
    if requests::is_mutation(document, name) {
        (operation.request, operation.projects) = (None, Vec::new());
    }
    Some(Recording::new(resources, operation))
}

fn record(resources: &Resources, operation: NewOperation) {
    if resources.shared.access.push(operation) {
        flush_soon(resources);
    }
}

/// Remembers that a token is used now.
pub(crate) fn record_token_use(resources: &Resources, id: &str) {
    if resources.shared.access.push_use(id, Timestamp::now()) {
        flush_soon(resources);
    }
}

fn flush_soon(resources: &Resources) {
    // Without one everything is about to end, which writes it.
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    let resources = resources.clone();
    runtime.spawn(async move {
        tokio::time::sleep(FLUSH).await;
        if let Err(error) = flush(&resources).await {
            tracing::error!(%error, "the audit log cannot be written");
        }
    });
}

/// Writes what waits for the audit log, also what another flush writes already. Operations that cannot be written wait for the
/// next flush, and that is an error.
pub(crate) async fn flush(resources: &Resources) -> Result<()> {
    let _one_at_a_time = resources.shared.access.flushing.lock().await;
    let pending = resources.shared.access.take();
    if pending.dropped > 0 {
        tracing::error!(operations = pending.dropped, "the audit log lacks operations: too many came at once");
    }
    if pending.operations.is_empty() && pending.used.is_empty() {
        return Ok(());
    }
    let keep_since = Timestamp::now().checked_sub(KEPT).unwrap_or(Timestamp::MIN);
    let operations = pending.operations.clone();
    let written = resources
        .with_ledger(move |ledger| {
            ledger.record_token_use(&pending.used.into_iter().collect::<Vec<_>>())?;
            ledger.add_operations(&pending.operations, keep_since)
        })
        .await;
    if written.is_err() {
        resources.shared.access.put_back(operations);
    }
    written
}

/// Returns what a grant shows of the projects that there are now.
pub(crate) async fn visibility_of(resources: &Resources, grant: &Grant) -> Result<Visibility> {
    if !grant.needs_known_projects() {
        return Ok(grant.visibility([]));
    }
    let stored = resources.with_ledger(|ledger| ledger.project_paths()).await?;
    let configured = resources.settings().projects().map(|(_, project)| project);
    Ok(grant.visibility(stored.iter().map(String::as_str).chain(configured)))
}

/// Makes a token.
///
/// # Errors
/// It would grant more than its maker has, its name is taken or wrong, it has ended already, or there are too many.
async fn create_token(resources: &Resources, request: CreateToken) -> Result<CreatedToken> {
    let now = Timestamp::now();
    let CreateToken { name, projects, confidential, scopes, expires } = request;
    let expires = expires.map_or_else(|| Some(default_end(resources, now)), |expires| expires.end(now));
    let grant = Grant { projects, confidential, scopes, expires };
    check_grant(resources, &grant, now)?;
    let (id, secret) = random_token()?;
    let name = name.unwrap_or_else(|| id.clone());
    check_name(&name)?;
    let hash = sha256(secret.as_bytes());
    let new = NewToken { id: id.clone(), name: name.clone(), hash, grant, created_at: now };
    if !resources.with_ledger(move |ledger| ledger.add_token(&new, MAX_SERVER_TOKENS)).await? {
        return Err(not_added(resources, &name));
    }
    reload(resources).await?;
    let made = resources.shared.access.valid(&id, now);
    let token = made.ok_or_else(|| Error::internal(format!("the token {id} was not kept")))?;
    Ok(CreatedToken { token, secret })
}

/// Why a token of a name was not kept.
fn not_added(resources: &Resources, name: &str) -> Error {
    let is_it = |token: &IssuedToken| token.name == name && token.revoked_at.is_none();
    if resources.shared.access.list().iter().any(is_it) {
        return Error::new(ErrorKind::Conflict, format!("there is a token '{name}' already"))
            .with_hint(format!("choose another name, or revoke that one: 'backstory token revoke {name}'"));
    }
    Error::new(ErrorKind::Conflict, format!("there are {MAX_SERVER_TOKENS} tokens, and no more are kept"))
        .with_hint("revoke one that nobody uses: 'backstory token list'")
}

/// When a token ends if nobody says so: no later than the token that makes it.
fn default_end(resources: &Resources, now: Timestamp) -> Timestamp {
    let end = now + DEFAULT_LIFETIME;
    resources.expires().map_or(end, |own| own.min(end))
}

/// Refuses to grant more than the one has who grants it.
fn check_grant(resources: &Resources, grant: &Grant, now: Timestamp) -> Result<()> {
    if grant.projects.is_empty() {
        return Err(Error::invalid("a token without patterns of projects shows nothing")
            .with_hint("name one, such as 'group/project', or '**' for all"));
    }
    if grant.projects.len() > MAX_PATTERNS {
        return Err(Error::invalid(format!("a token has at most {MAX_PATTERNS} patterns of projects")));
    }
    if grant.scopes.is_empty() {
        return Err(Error::invalid("a token without scopes permits nothing").with_hint("name one, such as 'read'"));
    }
    if grant.is_expired(now) {
        return Err(Error::invalid("the token would have expired already").with_hint("choose a later time"));
    }
    // A token that ends makes none that outlives it.
    let is_in_time = resources.expires().is_none_or(|end| grant.expires.is_some_and(|expires| expires <= end));
    if !is_in_time {
        let message = format!("{} cannot grant for longer than they may themselves", resources.actor());
        return Err(Error::new(ErrorKind::Forbidden, message).with_hint("choose an earlier end"));
    }
    let is_covered =
        resources.scopes().cover(&grant.scopes) && (!grant.confidential || resources.visibility().shows_confidential());
    if is_covered {
        return Ok(());
    }
    let message = format!("{} cannot grant more than they have", resources.actor());
    Err(Error::new(ErrorKind::Forbidden, message).with_hint("leave out scopes, or 'confidential'"))
}

fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '@' | '/');
    if !name.trim().is_empty() && name.chars().count() <= MAX_NAME && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Error::invalid(format!("'{}' is not a name for a token", truncate_echo(name)))
        .with_hint(format!("use at most {MAX_NAME} letters, digits, spaces, '-', '_', '.', '@' and '/'")))
}

/// A new token: its id, and its text, which begins with that.
fn random_token() -> Result<(String, String)> {
    let mut random = [0; ID_LENGTH / 2 + RANDOM_BYTES];
    getrandom::fill(&mut random)
        .map_err(|error| Error::internal(format!("the system gives no random numbers: {error}")))?;
    let digits = hex::encode(random);
    let (id, secret) = digits.split_at(ID_LENGTH);
    Ok((id.to_owned(), format!("{PREFIX}{id}_{secret}")))
}

/// Revokes a token by its id or name.
///
/// # Errors
/// There is none that is not revoked.
async fn revoke_token(resources: &Resources, named: &str) -> Result<IssuedToken> {
    // Not those in memory: there it may be revoked already, while the ledger could not be written.
    let known: Vec<IssuedToken> =
        resources.with_ledger(|ledger| ledger.tokens()).await?.into_iter().map(|(token, _)| token).collect();
    let valid = || known.iter().filter(|token| token.revoked_at.is_none());
    let token = valid().find(|token| token.id == named).or_else(|| valid().find(|token| token.name == named));
    let missing = || {
        Error::new(ErrorKind::NotFound, format!("there is no token '{}'", truncate_echo(named)))
            .with_hint("'backstory token list' shows those that there are")
    };
    let (id, now) = (token.ok_or_else(missing)?.id.clone(), Timestamp::now());
    let of = id.clone();
    // Even if the ledger cannot be written, this process refuses it.
    resources.shared.access.revoke(&id, now);
    resources.with_ledger(move |ledger| ledger.revoke_token(&of, now)).await.map_err(|error| {
        let message = format!("token {id} is refused by this process only: {}", error.message);
        Error { message, ..error }
    })?;
    reload(resources).await?;
    resources.shared.access.list().into_iter().find(|token| token.id == id).ok_or_else(missing)
}

/// Takes the tokens of the ledger into memory.
async fn reload(resources: &Resources) -> Result<()> {
    flush(resources).await?;
    let _one_at_a_time = resources.shared.access.reloading.lock().await;
    let tokens = resources.with_ledger(|ledger| ledger.tokens()).await?;
    resources.shared.access.replace(tokens);
    Ok(())
}
