//! The configuration: a TOML file and the environment variables that it names. Nothing else reads the environment.

mod error;
mod file;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    io::{self, Read as _},
    net::SocketAddr,
    path::{Path, PathBuf},
};

use backstory_engine::{
    embed, llm,
    model::{access::Grant, digest::sha256_hex, role::Roles},
    rerank,
    settings::{Forge, RepositorySettings, Settings},
    sources::{
        forge,
        redact::{Redactor, add_configured_secrets},
    },
};
use backstory_server::{Origin, Proxy};
use secrecy::{ExposeSecret, SecretString};

use crate::failure::{Failure, Result, reason};
use error::Source;
use file::File;

/// Name of the file in the working directory.
pub(crate) const FILE: &str = "backstory.toml";
/// Most bytes of the file.
const MAX_FILE: u64 = 1 << 20;
/// Address of the server, unless configured otherwise.
pub(crate) const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7373);

/// The configuration.
pub(crate) struct Config {
    /// The file.
    pub(crate) path: PathBuf,
    /// SHA-256 of the file, which tells whether a running server has read the same one.
    pub(crate) digest: String,
    /// What the use cases are told.
    pub(crate) settings: Settings,
    /// Where the stores are.
    pub(crate) data_dir: PathBuf,
    /// Address of the server.
    pub(crate) listen: SocketAddr,
    /// What the server's clients must show one of.
    pub(crate) server_tokens: Vec<ServerToken>,
    /// Other sites whose pages may use the server.
    pub(crate) allowed_origins: Vec<Origin>,
    /// What is between clients and the server.
    pub(crate) proxy: Proxy,
    /// Most requests of one token in a minute; 0 for no limit.
    pub(crate) requests_per_minute: u32,
    /// Of each forge, in the order of the settings.
    pub(crate) forge_tokens: Vec<Credential>,
    /// What the webhooks of each forge must show, in the same order.
    pub(crate) webhook_secrets: Vec<Credential>,
    /// Of the embedding provider.
    pub(crate) embedding_key: Credential,
    /// Of the reranking provider.
    pub(crate) rerank_key: Credential,
    /// Of the language model's provider.
    pub(crate) llm_key: Credential,
}

/// A token of the server, and what it grants.
#[derive(Clone, Debug)]
pub(crate) struct ServerToken {
    pub(crate) credential: Credential,
    pub(crate) name: String,
    pub(crate) grant: Grant,
}

/// A secret that an environment variable holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credential {
    /// Name of the variable; `None` if none is configured.
    pub(crate) variable: Option<String>,
    /// What it holds; `None` if it is not set, or empty.
    pub(crate) secret: Option<SecretString>,
}

impl From<file::ServerToken> for ServerToken {
    fn from(token: file::ServerToken) -> Self {
        Self { credential: Credential::of(Some(token.variable)), name: token.name, grant: token.grant }
    }
}

impl Credential {
    fn of(variable: Option<String>) -> Self {
        let secret = variable.as_deref().and_then(environment).map(SecretString::from);
        add_configured_secrets(secret.as_ref().map(ExposeSecret::expose_secret));
        Self { variable, secret }
    }

    /// Name of the variable that should be set but is not.
    pub(crate) fn missing_variable(&self) -> Option<&str> {
        self.variable.as_deref().filter(|_| self.secret.is_none())
    }
}

/// Which configuration, as the command line says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConfigOverrides<'a> {
    /// The file, instead of the usual places.
    pub(crate) config: Option<&'a Path>,
    /// The data directory, instead of the configured one.
    pub(crate) data_dir: Option<&'a Path>,
}

impl Config {
    /// Reads the configuration. Without a file no project is configured and everything else is as usual.
    ///
    /// # Errors
    /// The file that was chosen does not exist, or it is wrong.
    #[expect(clippy::too_many_lines, reason = "a line for each part of the configuration")]
    pub(crate) fn load(choice: ConfigOverrides<'_>) -> Result<Self> {
        let (path, text) = match choice.config.map(Path::to_owned).or_else(find) {
            Some(path) => (path.clone(), read(&path)?),
            None => (PathBuf::from(FILE), String::new()),
        };
        let file = File::parse(Source { path: &path, text: &text })?;
        let forge_tokens: Vec<Credential> =
            file.forges.iter().map(|forge| Credential::of(forge.token_env.clone())).collect();
        let webhook_secrets: Vec<Credential> =
            file.forges.iter().map(|forge| Credential::of(forge.webhook_secret_env.clone())).collect();
        let embedding_key = Credential::of(file.embedding.api_key_env);
        let rerank_key = Credential::of(file.rerank.as_ref().and_then(|rerank| rerank.api_key_env.clone()));
        let llm_key = Credential::of(file.llm.as_ref().and_then(|llm| llm.api_key_env.clone()));
        let data_dir = choose_data_dir(choice.data_dir, file.data_dir.as_deref(), &path)?;
        let credentials = forge_tokens.iter().zip(&webhook_secrets);
        let forges = file.forges.into_iter().zip(credentials).map(|(forge, (token, webhook_secret))| Forge {
            kind: forge.kind,
            connection: forge::ForgeSettings {
                requests_per_second: forge.requests_per_second,
                confidential: forge.confidential,
                ..forge::ForgeSettings::new(forge.base_url, token.secret.clone())
            },
            projects: forge.projects,
            webhook_secret: webhook_secret.secret.clone(),
        });
        let settings = Settings {
            forges: forges.collect(),
            excluded_projects: file.excluded_projects,
            repositories: RepositorySettings {
                ssh_agent: environment("SSH_AUTH_SOCK").map(OsString::from),
                git_child: this_program(),
                ..file.repositories
            },
            embedding: embed::Settings {
                provider: file.embedding.provider,
                model: file.embedding.model,
                base_url: file.embedding.base_url,
                api_key: embedding_key.secret.clone(),
                dimension: file.embedding.dimension,
                threads: file.embedding.threads,
            },
            ranking: file.ranking,
            rerank: file.rerank.map(|rerank| rerank::Settings {
                model: rerank.model,
                base_url: rerank.base_url,
                api_key: rerank_key.secret.clone(),
            }),
            llm: file.llm.map(|llm| model(llm, &llm_key)),
            snapshots: file.snapshots,
            links: file.links,
            schedule: file.schedule,
            redactor: Redactor::new(file.allowed),
            retention: file.retention,
            people: file.people,
            chunks: file.chunks,
            index: file.index,
            trackers: file.trackers.into(),
            roles: Roles::default(),
        };
        Ok(Self {
            digest: sha256_hex(&text),
            settings,
            data_dir,
            listen: file.listen.unwrap_or(LISTEN),
            server_tokens: file.server_tokens.into_iter().map(ServerToken::from).collect(),
            allowed_origins: file.allowed_origins,
            proxy: file.proxy,
            requests_per_minute: file.requests_per_minute,
            forge_tokens,
            webhook_secrets,
            embedding_key,
            rerank_key,
            llm_key,
            path,
        })
    }

    /// Every forge with its token.
    pub(crate) fn forges(&self) -> impl Iterator<Item = (&Forge, &Credential)> {
        self.settings.forges.iter().zip(&self.forge_tokens)
    }

    /// Refuses to go on without the tokens of the forges that have these projects; of all forges if none is named.
    ///
    /// # Errors
    /// The variable of a token is not set.
    pub(crate) fn require_tokens(&self, projects: &[String]) -> Result<()> {
        let concerned = |forge: &Forge| projects.is_empty() || forge.projects.iter().any(|p| projects.contains(p));
        match self
            .forges()
            .filter(|(forge, _)| concerned(forge))
            .find_map(|(forge, token)| Some((forge, token.missing_variable()?)))
        {
            Some((forge, variable)) => Err(Failure::configuration(missing_variable(
                variable,
                &format!("a token for {} {}", address(forge), forge::required_token(forge.kind)),
            ))),
            None => Ok(()),
        }
    }

    /// Refuses to go on without the key of the embedding provider.
    ///
    /// # Errors
    /// Its variable is not set.
    pub(crate) fn require_embedding_key(&self) -> Result<()> {
        match self.embedding_key.missing_variable() {
            Some(variable) => {
                Err(Failure::configuration(missing_variable(variable, "the key of the embedding provider")))
            }
            None => Ok(()),
        }
    }

    /// Refuses to go on without the key of the language model's provider.
    ///
    /// # Errors
    /// Its variable is not set.
    pub(crate) fn require_llm_key(&self) -> Result<()> {
        match self.llm_key.missing_variable() {
            Some(variable) => {
                Err(Failure::configuration(missing_variable(variable, "the key of the language model's provider")))
            }
            None => Ok(()),
        }
    }

    /// Refuses a project that is neither configured nor among those that were added.
    ///
    /// # Errors
    /// It is not, and which are.
    pub(crate) fn require_project(&self, project: &str, added: &[&str]) -> Result<()> {
        let known: BTreeSet<&str> =
            self.settings.projects().map(|(_, known)| known).chain(added.iter().copied()).collect();
        if known.contains(project) {
            return Ok(());
        }
        let hint = match error::nearest(project, known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None if known.is_empty() => "'backstory add PATH' adds a repository".to_owned(),
            None => format!("known projects: {}", Vec::from_iter(known).join(", ")),
        };
        let path = self.path.display();
        Err(Failure::usage(format!(
            "the project {project} is neither configured in {path} nor a repository that was added; {hint}"
        )))
    }
}

fn model(llm: file::Llm, key: &Credential) -> llm::Settings {
    llm::Settings {
        provider: llm.provider,
        model: llm.model,
        base_url: llm.base_url,
        api_key: key.secret.clone(),
        timeout: llm.timeout,
        max_tokens: llm.max_tokens,
        daily_tokens: llm.daily_tokens,
    }
}

/// Address of a forge, as people write it.
pub(crate) fn address(forge: &Forge) -> &str {
    forge.connection.base_url.as_str().trim_end_matches('/')
}

/// The sentence for a variable that must be set.
pub(crate) fn missing_variable(variable: &str, what: &str) -> String {
    format!("the environment variable {variable} is not set; put {what} into it: export {variable}=...")
}

/// Value of an environment variable; an empty one counts as none.
#[expect(clippy::disallowed_methods, reason = "this is the place that reads the environment")]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The running program, also after another has taken its place on disk.
fn this_program() -> Option<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Some(running.to_owned()) } else { std::env::current_exe().ok() }
}

/// The file in the working directory, or else the personal one.
fn find() -> Option<PathBuf> {
    let personal = home_for("XDG_CONFIG_HOME", ".config").map(|home| home.join("backstory/config.toml"));
    std::iter::once(PathBuf::from(FILE)).chain(personal).find(|path| path.exists())
}

fn read(path: &Path) -> Result<String> {
    let name = path.display();
    read_file(path).map_err(|error| {
        Failure::configuration(match error.kind() {
            io::ErrorKind::NotFound => {
                format!("the configuration {name} does not exist; run 'backstory init --config {name}' to write it")
            }
            io::ErrorKind::InvalidData => format!("the configuration {name} is not text in UTF-8; save it as UTF-8"),
            io::ErrorKind::FileTooLarge => {
                format!("the configuration {name} is larger than {} KiB; name another file", MAX_FILE >> 10)
            }
            io::ErrorKind::InvalidInput => format!("the configuration {name} is not a regular file; name another one"),
            _ => format!("the configuration {name} cannot be read: {}", reason(&error)),
        })
    })
}

/// The text of a regular file. Devices and pipes may have no end.
fn read_file(path: &Path) -> io::Result<String> {
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

/// The directory that a variable names, or that one of the home directory.
fn home_for(variable: &str, usual: &str) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let named = environment(variable).map(PathBuf::from).and_then(absolute);
    named.or_else(|| environment("HOME").map(|home| Path::new(&home).join(usual)))
}

/// The data directory: the one that was chosen, else the configured one, which is relative to the file.
fn choose_data_dir(chosen: Option<&Path>, configured: Option<&str>, file: &Path) -> Result<PathBuf> {
    match (chosen, configured) {
        (Some(chosen), _) => Ok(chosen.to_owned()),
        (None, Some(configured)) => below(file.parent().unwrap_or(Path::new("")), configured),
        (None, None) => default_data_dir(),
    }
}

/// A path of the configuration file: relative to the file, `~/` is the home directory.
fn below(directory: &Path, path: &str) -> Result<PathBuf> {
    let Some(rest) = path.strip_prefix("~/") else { return Ok(directory.join(path)) };
    let home = environment("HOME").ok_or_else(|| {
        Failure::configuration(format!("data_dir is {path}, but HOME is not set; write the whole path"))
    })?;
    Ok(Path::new(&home).join(rest))
}

fn default_data_dir() -> Result<PathBuf> {
    home_for("XDG_DATA_HOME", ".local/share").map(|home| home.join("backstory")).ok_or_else(|| {
        Failure::configuration("there is no place for the data: HOME is not set; name a directory with --data-dir")
    })
}

/// Reads `127.0.0.1:7373`, `[::1]:7373` or `localhost:7373`.
///
/// # Errors
/// What an address looks like.
pub(crate) fn parse_address(text: &str) -> std::result::Result<SocketAddr, String> {
    let numeric = text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    numeric.parse().map_err(|_| format!("'{text}' is not an address to listen on; write 127.0.0.1:7373"))
}
