//! Errors of language models.

use super::Provider;
use crate::transport::{Failure, Refused, is_passing};

/// Why a language model wrote nothing, and what to do about it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ChatError {
    /// The settings contradict themselves or ask for what does not exist.
    #[error("{setting} {problem}")]
    Configuration {
        /// Name of the setting, as it stands in the configuration file.
        setting: &'static str,
        /// What is wrong with it and what would be right.
        problem: String,
    },
    /// The provider does not answer, or says that it cannot answer now.
    #[error("{provider} at {url} is unavailable: {reason}; check that it runs and that llm.base_url is its address")]
    Unavailable {
        /// Who.
        provider: Provider,
        /// Where.
        url: String,
        /// What happened.
        reason: String,
    },
    /// The provider answers that it will not do this: no such model, wrong key, text too long.
    #[error("{provider} at {url} refuses to answer (HTTP {status}): {reason}; {remedy}")]
    Rejected {
        /// Who.
        provider: Provider,
        /// Where.
        url: String,
        /// HTTP status.
        status: u16,
        /// The provider's own words.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The provider's answer is not what its interface promises.
    #[error("{provider} at {url} gave an answer that cannot be used: {reason}; check llm.base_url")]
    Malformed {
        /// Who.
        provider: Provider,
        /// Where.
        url: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// The tokens of the day are used up.
    #[error(
        "the language model's {limit} tokens of this day are used up; raise llm.daily_tokens, or wait for midnight UTC"
    )]
    Budget {
        /// How many there are.
        limit: u64,
    },
}

impl ChatError {
    /// Whether the configuration or the credentials must change before another attempt can succeed.
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Configuration { .. } | Self::Rejected { .. })
    }

    pub(super) fn of(provider: Provider, model: &str, url: &str, failure: Failure) -> Self {
        let url = url.to_owned();
        match failure {
            Failure::Silence { reason, .. } => Self::Unavailable { provider, url, reason },
            Failure::Status { status, reason, .. } if is_passing(status) => {
                Self::Unavailable { provider, url, reason: format!("HTTP {}: {reason}", status.as_u16()) }
            }
            Failure::Status { status, reason, .. } => {
                let remedy = match status.as_u16() {
                    401 | 403 => "check the key, and whether it may use this model".to_owned(),
                    404 if provider == Provider::Ollama => format!("run 'ollama pull {model}'"),
                    404 => format!("check llm.base_url and that there is a model {model}"),
                    300..=399 => "redirects are not followed; set llm.base_url to the target".to_owned(),
                    _ => format!("check llm.model ({model}) and what the server's own log says"),
                };
                Self::Rejected { provider, url, status: status.as_u16(), reason, remedy }
            }
            Failure::Malformed(reason) => Self::Malformed { provider, url, reason },
        }
    }
}

impl From<Refused> for ChatError {
    fn from(refused: Refused) -> Self {
        Self::Configuration { setting: refused.setting, problem: refused.problem }
    }
}
