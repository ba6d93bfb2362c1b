//! Validates the configuration file and turns it into settings.

mod chunks;
mod index;
mod keys;
mod repositories;
mod server;

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use backstory_engine::{
    embed::{MAX_DIMENSION, MAX_THREADS, Provider},
    index::IndexOptions,
    llm,
    model::access::Grant,
    model::score::Profile,
    model::tracker::{InvalidTracker, MAX_TRACKERS, Tracker, Trackers},
    settings::{
        ForgeKind, Globs, LinkSettings, PeopleSettings, Ranking, RepositorySettings, Retention, Schedule,
        SnapshotSettings, names_projects,
    },
    snapshot::MAX_KEPT_SNAPSHOTS,
    sources::{code::PassageLimits, forge::DEFAULT_REQUESTS_PER_SECOND, redact::MAX_ALLOWED},
};
use backstory_server::{DEFAULT_REQUESTS_PER_MINUTE, Origin, Proxy};
use jiff::SignedDuration;
use toml::Spanned;
use url::Url;

use self::keys::{
    EmbeddingToml, FileToml, ForgeToml, LinksToml, LlmToml, PeopleToml, RerankToml, RetentionToml, SearchToml,
    SyncToml, TrackerToml, WeightsToml,
};
use super::{error::Source, parse_address};
use crate::failure::{Failure, Result};

/// More requests per second than this are a slip of the finger; 0 means no limit.
const MAX_REQUESTS_PER_SECOND: u32 = 10_000;
/// Longer answers of a language model than this are a slip of the finger.
const MAX_ANSWER_TOKENS: u32 = 32_000;
/// Longest time that a language model may be given, in seconds.
const MAX_ANSWER_TIME: u64 = 600;
/// Longest time between two syncs of a schedule, in days.
const MAX_DAYS: u64 = 366;
/// Longest time that closed threads may be kept, in days, unless for ever.
const MAX_KEPT_DAYS: u64 = 36_500;
/// Most commits of a repository that can be asked to be kept.
const MAX_KEPT_COMMITS: u64 = 100_000_000;
/// Most megabytes of a project that can be asked to be kept.
const MAX_KEPT_MEGABYTES: u64 = 1_000_000;
/// Bytes of a megabyte.
const MEGABYTE: u64 = 1_000_000;
/// What access tokens and keys begin with.
const TOKEN_BEGINNINGS: [&str; 10] =
    ["glpat-", "gloas-", "gldt-", "glcbt-", "ghp_", "gho_", "ghs_", "github_pat_", "sk-", "xox"];
/// How long a random text is that could be a token.
const TOKEN_LENGTH: usize = 20;

/// The file, checked.
#[derive(Debug)]
pub(super) struct File {
    pub(super) forges: Vec<Forge>,
    pub(super) excluded_projects: Globs,
    pub(super) repositories: RepositorySettings,
    pub(super) embedding: Embedding,
    pub(super) ranking: Ranking,
    pub(super) rerank: Option<Rerank>,
    pub(super) llm: Option<Llm>,
    pub(super) snapshots: SnapshotSettings,
    pub(super) links: LinkSettings,
    pub(super) schedule: Schedule,
    /// SHA-256 of texts that are no secrets.
    pub(super) allowed: Vec<String>,
    pub(super) retention: Retention,
    pub(super) people: PeopleSettings,
    pub(super) chunks: PassageLimits,
    pub(super) index: IndexOptions,
    pub(super) trackers: Trackers,
    pub(super) data_dir: Option<String>,
    pub(super) listen: Option<SocketAddr>,
    pub(super) server_tokens: Vec<ServerToken>,
    pub(super) allowed_origins: Vec<Origin>,
    pub(super) proxy: Proxy,
    pub(super) requests_per_minute: u32,
}

/// The variable of a token of the server, and what it grants.
#[derive(Debug)]
pub(super) struct ServerToken {
    pub(super) variable: String,
    pub(super) name: String,
    pub(super) grant: Grant,
}

#[derive(Debug)]
pub(super) struct Forge {
    pub(super) kind: ForgeKind,
    pub(super) base_url: Url,
    pub(super) token_env: Option<String>,
    pub(super) webhook_secret_env: Option<String>,
    pub(super) projects: Vec<String>,
    pub(super) requests_per_second: u32,
    pub(super) confidential: bool,
}

#[derive(Debug)]
pub(super) struct Embedding {
    pub(super) provider: Provider,
    pub(super) model: Option<String>,
    pub(super) base_url: Option<Url>,
    pub(super) api_key_env: Option<String>,
    pub(super) dimension: Option<usize>,
    pub(super) threads: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Rerank {
    pub(super) model: String,
    pub(super) base_url: Url,
    pub(super) api_key_env: Option<String>,
}

#[derive(Debug)]
pub(super) struct Llm {
    pub(super) provider: llm::Provider,
    pub(super) model: String,
    pub(super) base_url: Option<Url>,
    pub(super) api_key_env: Option<String>,
    pub(super) timeout: Duration,
    pub(super) max_tokens: u32,
    pub(super) daily_tokens: u64,
}

impl File {
    /// Reads the file.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub(super) fn parse(source: Source<'_>) -> Result<Self> {
        let file: FileToml = toml::from_str(source.text).map_err(|error| source.parse_error(&error))?;
        let excluded: Vec<Spanned<String>> =
            file.forge.iter().flat_map(|forge| forge.get_ref().exclude.iter().cloned()).collect();
        let excluded_projects = source.globs("exclude", &excluded)?;
        let forges = file.forge.into_iter().map(|forge| source.forge(forge)).collect::<Result<Vec<_>>>()?;
        if let Some(empty) = file.data_dir.as_ref().filter(|path| path.get_ref().trim().is_empty()) {
            return Err(source.error_at(empty.span(), "data_dir is empty; name a directory, or remove the key"));
        }
        source.no_project_twice(&forges)?;
        let listen = file.server.listen.map(|listen| {
            parse_address(listen.get_ref()).map_err(|wrong| source.error_at(listen.span(), format!("listen: {wrong}")))
        });
        Ok(Self {
            forges: forges.into_iter().map(|(forge, _)| forge).collect(),
            excluded_projects,
            repositories: source.repositories(file.repositories)?,
            embedding: source.embedding(file.embedding)?,
            ranking: source.ranking(&file.search)?,
            rerank: file.search.rerank.map(|rerank| source.rerank(rerank)).transpose()?,
            llm: file.llm.map(|llm| source.llm(llm)).transpose()?,
            snapshots: source
                .bounded("keep", file.snapshots.keep, MAX_KEPT_SNAPSHOTS)?
                .map_or_else(SnapshotSettings::default, |keep| SnapshotSettings { keep }),
            links: source.links(&file.links)?,
            schedule: source.schedule(file.sync)?,
            allowed: source.allowed(file.redact.allow)?,
            retention: source.retention(file.retention)?,
            people: source.people(file.people)?,
            chunks: source.chunks(&file.index.chunks)?,
            index: source.index_options(&file.index, file.server.memory.as_ref())?,
            trackers: source.trackers(file.tracker)?,
            data_dir: file.data_dir.map(Spanned::into_inner),
            listen: listen.transpose()?,
            server_tokens: source.server_tokens(file.server.token_env, file.server.tokens)?,
            allowed_origins: source.allowed_origins(file.server.allowed_origins)?,
            proxy: source.proxy(file.server.public_url, file.server.trusted_proxies)?,
            requests_per_minute: file.server.requests_per_minute.unwrap_or(DEFAULT_REQUESTS_PER_MINUTE),
        })
    }
}

/// A project's path and where it stands.
type Place = (String, std::ops::Range<usize>);

impl Source<'_> {
    fn forge(self, forge: Spanned<ForgeToml>) -> Result<(Forge, Vec<Place>)> {
        let forge = forge.into_inner();
        let kind = self.kind(&forge.kind)?;
        let example = match kind {
            ForgeKind::GitLab => "https://gitlab.example.com",
            ForgeKind::GitHub => "https://github.com",
        };
        let base_url = self.address("base_url", &forge.base_url, example)?;
        let token_env = self.variable("token_env", forge.token_env)?;
        let webhook_secret_env = self.variable("webhook_secret_env", forge.webhook_secret_env)?;
        let mut places = Vec::new();
        for project in forge.projects {
            let span = project.span();
            let path = project.into_inner();
            if !names_projects(&path) {
                let what = format!(
                    "projects: '{path}' is not the path of a project; write group/project, or group/* for all of a group"
                );
                return Err(self.error_at(span, what));
            }
            places.push((path, span));
        }
        let requests_per_second = match forge.requests_per_second {
            Some(limit) if *limit.get_ref() > MAX_REQUESTS_PER_SECOND => {
                let what = format!(
                    "requests_per_second is {}; it must be 0 (no limit) to {MAX_REQUESTS_PER_SECOND}",
                    limit.get_ref()
                );
                return Err(self.error_at(limit.span(), what));
            }
            Some(limit) => limit.into_inner(),
            None => DEFAULT_REQUESTS_PER_SECOND,
        };
        if let Some(on) = forge.confidential.as_ref().filter(|on| *on.get_ref() && kind == ForgeKind::GitHub) {
            return Err(self.error_at(on.span(), "confidential: GitHub has no confidential issues; remove the key"));
        }
        let confidential = forge.confidential.is_some_and(Spanned::into_inner);
        let projects = places.iter().map(|(path, _)| path.clone()).collect();
        let forge =
            Forge { kind, base_url, token_env, webhook_secret_env, projects, requests_per_second, confidential };
        Ok((forge, places))
    }

    fn kind(self, kind: &Spanned<String>) -> Result<ForgeKind> {
        match kind.get_ref().as_str() {
            "gitlab" => Ok(ForgeKind::GitLab),
            "github" => Ok(ForgeKind::GitHub),
            other => {
                let what = format!("kind is '{other}', but only 'gitlab' and 'github' can be read");
                Err(self.error_at(kind.span(), what))
            }
        }
    }

    fn no_project_twice(self, forges: &[(Forge, Vec<Place>)]) -> Result<()> {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (path, span) in forges.iter().flat_map(|(_, places)| places) {
            if seen.insert(path, span.start).is_some() {
                return Err(self.error_at(span.clone(), format!("projects: {path} is named twice; keep one")));
            }
        }
        Ok(())
    }

    fn embedding(self, embedding: EmbeddingToml) -> Result<Embedding> {
        let example = match embedding.provider {
            Provider::OpenAi => "https://api.openai.com/v1",
            Provider::Bundled | Provider::Ollama | Provider::None => "http://127.0.0.1:11434",
        };
        if let Some(model) = embedding.model.as_ref().filter(|model| model.get_ref().trim().is_empty()) {
            return Err(self.error_at(model.span(), "model is empty; name one, or remove the key for the usual one"));
        }
        let base_url = embedding.base_url.map(|url| self.address("base_url", &url, example)).transpose()?;
        Ok(Embedding {
            provider: embedding.provider,
            model: embedding.model.map(Spanned::into_inner),
            base_url,
            api_key_env: self.variable("api_key_env", embedding.api_key_env)?,
            dimension: self.bounded("dimension", embedding.dimension, MAX_DIMENSION)?,
            threads: self.bounded("threads", embedding.threads, MAX_THREADS)?,
        })
    }

    fn rerank(self, rerank: RerankToml) -> Result<Rerank> {
        if rerank.model.get_ref().trim().is_empty() {
            return Err(self.error_at(rerank.model.span(), "model is empty; name a model of the provider"));
        }
        Ok(Rerank {
            model: rerank.model.into_inner(),
            base_url: self.address("base_url", &rerank.base_url, "http://127.0.0.1:8080/v1")?,
            api_key_env: self.variable("api_key_env", rerank.api_key_env)?,
        })
    }

    fn llm(self, llm: LlmToml) -> Result<Llm> {
        let example = match llm.provider {
            llm::Provider::OpenAi => "https://api.openai.com/v1",
            llm::Provider::Ollama => "http://127.0.0.1:11434",
        };
        if llm.model.get_ref().trim().is_empty() {
            return Err(self.error_at(llm.model.span(), "model is empty; name a model of the provider"));
        }
        let seconds = match &llm.timeout_seconds {
            Some(seconds) if !(1..=MAX_ANSWER_TIME).contains(seconds.get_ref()) => {
                let what = format!("timeout_seconds is {}; it must be 1 to {MAX_ANSWER_TIME}", seconds.get_ref());
                return Err(self.error_at(seconds.span(), what));
            }
            other => other.as_ref().map(|seconds| *seconds.get_ref()),
        };
        let max_tokens = match &llm.max_tokens {
            Some(tokens) if !(1..=MAX_ANSWER_TOKENS).contains(tokens.get_ref()) => {
                let what = format!("max_tokens is {}; it must be 1 to {MAX_ANSWER_TOKENS}", tokens.get_ref());
                return Err(self.error_at(tokens.span(), what));
            }
            other => other.as_ref().map(|tokens| *tokens.get_ref()),
        };
        Ok(Llm {
            provider: llm.provider,
            model: llm.model.into_inner(),
            base_url: llm.base_url.map(|url| self.address("base_url", &url, example)).transpose()?,
            api_key_env: self.variable("api_key_env", llm.api_key_env)?,
            timeout: seconds.map_or(llm::DEFAULT_TIMEOUT, Duration::from_secs),
            max_tokens: max_tokens.unwrap_or(llm::MAX_TOKENS),
            daily_tokens: llm.daily_tokens.unwrap_or(llm::DAILY_TOKENS),
        })
    }

    fn bounded(self, key: &str, value: Option<Spanned<usize>>, max: usize) -> Result<Option<usize>> {
        let Some(value) = value else { return Ok(None) };
        if (1..=max).contains(value.get_ref()) {
            return Ok(Some(value.into_inner()));
        }
        Err(self.error_at(value.span(), format!("{key} is {}; it must be 1 to {max}", value.get_ref())))
    }

    /// Digests of texts that are no secrets. The texts themselves must not stand in a file.
    fn allowed(self, digests: Vec<Spanned<String>>) -> Result<Vec<String>> {
        if digests.len() > MAX_ALLOWED {
            return Err(self.file_error(format!("allow: there are more than {MAX_ALLOWED} texts; remove some")));
        }
        let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if let Some(wrong) = digests.iter().find(|digest| !is_digest(digest.get_ref())) {
            let what = "allow: this is not the SHA-256 of a text, 64 hexadecimal digits in lower case; \
                        write what this prints: printf %s 'THE TEXT' | sha256sum";
            return Err(self.error_at(wrong.span(), what));
        }
        Ok(digests.into_iter().map(Spanned::into_inner).collect())
    }

    fn links(self, links: &LinksToml) -> Result<LinkSettings> {
        let Some(confidence) = &links.confidence else { return Ok(LinkSettings::default()) };
        if !(0.0..=1.0).contains(confidence.get_ref()) {
            let what = format!("confidence is {}; it must be 0 to 1", confidence.get_ref());
            return Err(self.error_at(confidence.span(), what));
        }
        Ok(LinkSettings { confidence: *confidence.get_ref() })
    }

    fn schedule(self, sync: SyncToml) -> Result<Schedule> {
        let usual = Schedule::default();
        Ok(Schedule {
            sync: self.every("every_minutes", sync.every_minutes, 60, usual.sync)?,
            reconcile: self.every("reconcile_hours", sync.reconcile_hours, 60 * 60, usual.reconcile)?,
            full: self.every("full_days", sync.full_days, 24 * 60 * 60, usual.full)?,
        })
    }

    /// How long closed threads are kept, how many commits, and how much in all; 0 stands for all.
    fn retention(self, retention: RetentionToml) -> Result<Retention> {
        let days = self.kept("days", retention.days, MAX_KEPT_DAYS)?;
        let commits = self.kept("commits", retention.commits, MAX_KEPT_COMMITS)?;
        let megabytes = self.kept("megabytes", retention.megabytes, MAX_KEPT_MEGABYTES)?;
        Ok(Retention {
            closed: days.map(|days| SignedDuration::from_hours((days * 24).cast_signed())),
            bytes: megabytes.map(|megabytes| megabytes * MEGABYTE),
            commits: commits.and_then(|commits| usize::try_from(commits).ok()),
        })
    }

    /// What is told of single people.
    fn people(self, people: PeopleToml) -> Result<PeopleSettings> {
        let usual = PeopleSettings::default();
        let name = |me: Spanned<String>| match me.get_ref().trim().trim_start_matches('@') {
            "" => Err(self.error_at(me.span(), "me is empty; write your user name at the forge, or remove the key")),
            name => Ok(name.to_owned()),
        };
        Ok(PeopleSettings { tracking: people.tracking.unwrap_or(usual.tracking), me: people.me.map(name).transpose()? })
    }

    /// How tickets of other trackers are written.
    fn trackers(self, trackers: Vec<TrackerToml>) -> Result<Trackers> {
        let mut built = Vec::new();
        for TrackerToml { pattern, url } in trackers {
            let wrong = |error: InvalidTracker| {
                let span = if matches!(error, InvalidTracker::Url(_)) { url.span() } else { pattern.span() };
                self.error_at(span, error.to_string())
            };
            if built.len() == MAX_TRACKERS {
                return Err(wrong(InvalidTracker::TooMany));
            }
            built.push(Tracker::new(pattern.get_ref(), url.get_ref()).map_err(wrong)?);
        }
        Trackers::new(built).map_err(|error| self.file_error(error.to_string()))
    }

    /// How much of something is kept; `None` for all of it.
    fn kept(self, key: &str, value: Option<Spanned<u64>>, most: u64) -> Result<Option<u64>> {
        let Some(value) = value else { return Ok(None) };
        match *value.get_ref() {
            0 => Ok(None),
            count if count <= most => Ok(Some(count)),
            count => {
                Err(self.error_at(value.span(), format!("{key} is {count}; it must be 0 (all is kept) to {most}")))
            }
        }
    }

    /// A time between two syncs, in units of so many seconds; 0 stands for never.
    fn every(
        self,
        key: &str,
        value: Option<Spanned<u64>>,
        unit: u64,
        usual: Option<SignedDuration>,
    ) -> Result<Option<SignedDuration>> {
        let Some(value) = value else { return Ok(usual) };
        let max = MAX_DAYS * 24 * 60 * 60 / unit;
        match *value.get_ref() {
            0 => Ok(None),
            count if count <= max => Ok(Some(SignedDuration::from_secs((count * unit).cast_signed()))),
            count => Err(self.error_at(value.span(), format!("{key} is {count}; it must be 0 (never) to {max}"))),
        }
    }

    fn ranking(self, search: &SearchToml) -> Result<Ranking> {
        let mut ranking = Ranking::from(search.profile);
        let Some(given) = &search.weights else { return Ok(ranking) };
        if search.profile == Profile::Rrf {
            let what = "weights do not count with profile = \"rrf\"; remove one of the two";
            return Err(self.error_at(given.span(), what));
        }
        let WeightsToml { semantic, lexical, recency, importance, relationship, author } = *given.get_ref();
        let weights = &mut ranking.weights;
        for (weight, given) in [
            (&mut weights.semantic, semantic),
            (&mut weights.lexical, lexical),
            (&mut weights.recency, recency),
            (&mut weights.importance, importance),
            (&mut weights.relationship, relationship),
            (&mut weights.author, author),
        ] {
            *weight = given.unwrap_or(*weight);
        }
        let within = weights.named().iter().all(|(_, weight)| (0.0..=1.0).contains(weight));
        if !within || weights.semantic + weights.lexical == 0.0 {
            return Err(self.error_at(given.span(), "weights must be 0 to 1, and semantic and lexical not both 0"));
        }
        Ok(ranking)
    }

    fn address(self, key: &str, text: &Spanned<String>, example: &str) -> Result<Url> {
        let wrong = |what: &str| Err(self.error_at(text.span(), format!("{key} {what}; write it like {example}")));
        let Ok(url) = text.get_ref().trim().parse::<Url>() else { return wrong("is not an address") };
        if !matches!(url.scheme(), "http" | "https") {
            return wrong("must begin with https:// or http://");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return wrong("holds a user name or password, which must not stand in a file");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return wrong("must not have a query or a fragment");
        }
        Ok(url)
    }

    /// The name of an environment variable. A text that may be a secret is not repeated.
    fn variable(self, key: &str, name: Option<Spanned<String>>) -> Result<Option<String>> {
        let Some(name) = name else { return Ok(None) };
        let wrong = |what: String| -> Failure { self.error_at(name.span(), what) };
        let text = name.get_ref();
        if looks_like_a_secret(text) {
            return Err(wrong(format!(
                "{key} looks like a token itself; write the name of the environment variable that holds it, not the \
                 token, and revoke the token if others could read this file"
            )));
        }
        let mut chars = text.chars();
        let begins = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if !begins || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(wrong(format!(
                "{key} is not the name of an environment variable; write one like GITLAB_TOKEN"
            )));
        }
        Ok(Some(name.into_inner()))
    }
}

fn looks_like_a_secret(text: &str) -> bool {
    let has = |class: fn(&char) -> bool| text.chars().any(|c| class(&c));
    let random = text.len() >= TOKEN_LENGTH
        && has(char::is_ascii_lowercase)
        && has(char::is_ascii_uppercase)
        && has(char::is_ascii_digit);
    random || TOKEN_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}
