//! The sections and keys of the configuration file, as they are written.

use backstory_engine::{embed::Provider, llm, model::score::Profile};
use serde::Deserialize;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileToml {
    pub(super) data_dir: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) forge: Vec<Spanned<ForgeToml>>,
    #[serde(default)]
    pub(super) repositories: RepositoriesToml,
    #[serde(default)]
    pub(super) embedding: EmbeddingToml,
    #[serde(default)]
    pub(super) search: SearchToml,
    pub(super) llm: Option<LlmToml>,
    #[serde(default)]
    pub(super) snapshots: SnapshotsToml,
    #[serde(default)]
    pub(super) index: IndexToml,
    #[serde(default)]
    pub(super) links: LinksToml,
    #[serde(default)]
    pub(super) sync: SyncToml,
    #[serde(default)]
    pub(super) redact: RedactToml,
    #[serde(default)]
    pub(super) retention: RetentionToml,
    #[serde(default)]
    pub(super) tracker: Vec<TrackerToml>,
    #[serde(default)]
    pub(super) people: PeopleToml,
    #[serde(default)]
    pub(super) server: ServerToml,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ForgeToml {
    pub(super) kind: Spanned<String>,
    pub(super) base_url: Spanned<String>,
    pub(super) token_env: Option<Spanned<String>>,
    pub(super) webhook_secret_env: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) projects: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) exclude: Vec<Spanned<String>>,
    pub(super) requests_per_second: Option<Spanned<u32>>,
    pub(super) confidential: Option<Spanned<bool>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RepositoriesToml {
    pub(super) allowed_hosts: Vec<Spanned<String>>,
    pub(super) include: Vec<Spanned<String>>,
    pub(super) exclude: Vec<Spanned<String>>,
    pub(super) max_file_bytes: Option<Spanned<u64>>,
    pub(super) output_directories: Option<Vec<Spanned<String>>>,
    pub(super) project: Vec<RepositoryToml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RepositoryToml {
    pub(super) path: Spanned<String>,
    #[serde(default)]
    pub(super) include: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) exclude: Vec<Spanned<String>>,
    pub(super) max_file_bytes: Option<Spanned<u64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct EmbeddingToml {
    pub(super) provider: Provider,
    pub(super) model: Option<Spanned<String>>,
    pub(super) base_url: Option<Spanned<String>>,
    pub(super) api_key_env: Option<Spanned<String>>,
    pub(super) dimension: Option<Spanned<usize>>,
    pub(super) threads: Option<Spanned<usize>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SearchToml {
    pub(super) profile: Profile,
    pub(super) weights: Option<Spanned<WeightsToml>>,
    pub(super) rerank: Option<RerankToml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RerankToml {
    pub(super) model: Spanned<String>,
    pub(super) base_url: Spanned<String>,
    pub(super) api_key_env: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WeightsToml {
    pub(super) semantic: Option<f32>,
    pub(super) lexical: Option<f32>,
    pub(super) recency: Option<f32>,
    pub(super) importance: Option<f32>,
    pub(super) relationship: Option<f32>,
    pub(super) author: Option<f32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LlmToml {
    pub(super) provider: llm::Provider,
    pub(super) model: Spanned<String>,
    pub(super) base_url: Option<Spanned<String>>,
    pub(super) api_key_env: Option<Spanned<String>>,
    pub(super) timeout_seconds: Option<Spanned<u64>>,
    pub(super) max_tokens: Option<Spanned<u32>>,
    pub(super) daily_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SnapshotsToml {
    pub(super) keep: Option<Spanned<usize>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct IndexToml {
    pub(super) clusters: Option<Spanned<usize>>,
    pub(super) probes: Option<Spanned<usize>>,
    pub(super) refine: Option<Spanned<usize>>,
    pub(super) chunks: ChunksToml,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ChunksToml {
    pub(super) code: ChunkSizeToml,
    pub(super) documentation: ChunkSizeToml,
    pub(super) text: ChunkSizeToml,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ChunkSizeToml {
    pub(super) lines: Option<Spanned<u32>>,
    pub(super) characters: Option<Spanned<u32>>,
    pub(super) overlap: Option<Spanned<u32>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LinksToml {
    pub(super) confidence: Option<Spanned<f32>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SyncToml {
    pub(super) every_minutes: Option<Spanned<u64>>,
    pub(super) reconcile_hours: Option<Spanned<u64>>,
    pub(super) full_days: Option<Spanned<u64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RedactToml {
    pub(super) allow: Vec<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RetentionToml {
    pub(super) days: Option<Spanned<u64>>,
    pub(super) commits: Option<Spanned<u64>>,
    pub(super) megabytes: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrackerToml {
    pub(super) pattern: Spanned<String>,
    pub(super) url: Spanned<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PeopleToml {
    pub(super) tracking: Option<bool>,
    pub(super) me: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ServerToml {
    pub(super) listen: Option<Spanned<String>>,
    pub(super) token_env: Option<Spanned<String>>,
    pub(super) tokens: Vec<TokenToml>,
    pub(super) allowed_origins: Vec<Spanned<String>>,
    pub(super) public_url: Option<Spanned<String>>,
    pub(super) trusted_proxies: Vec<Spanned<String>>,
    pub(super) requests_per_minute: Option<u32>,
    pub(super) memory: Option<Spanned<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenToml {
    pub(super) env: Spanned<String>,
    pub(super) name: Option<String>,
    pub(super) projects: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(super) scopes: Vec<Spanned<String>>,
    pub(super) expires: Option<Spanned<String>>,
}
