//! Errors of embedding.

use super::Provider;

/// Why a text could not be embedded, and what to do about it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EmbedError {
    /// The settings contradict themselves or ask for what does not exist.
    #[error("{setting} {problem}")]
    Configuration {
        /// Name of the setting, as it stands in the configuration file.
        setting: &'static str,
        /// What is wrong with it and what would be right.
        problem: String,
    },
    /// The provider does not answer, or says that it cannot answer now.
    #[error("{provider} at {url} is unavailable: {reason}; {remedy}")]
    Unavailable {
        /// Who.
        provider: Provider,
        /// Where.
        url: String,
        /// What happened.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The provider answers that it will not do this: no such model, wrong key, text it does not take.
    #[error("{provider} at {url} refuses to embed (HTTP {status}): {reason}; {remedy}")]
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
    #[error("{provider} at {url} gave an answer that is not a list of embeddings: {reason}; check embedding.base_url")]
    Malformed {
        /// Who.
        provider: Provider,
        /// Where.
        url: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// The model's vectors have another length than they should have.
    #[error(
        "{model} gives vectors of {got} dimensions, but {expected} were expected; set embedding.dimension = {got}, or \
         use another model"
    )]
    WrongDimension {
        /// Name of the model.
        model: String,
        /// What was configured or is known of the model.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// The bundled model failed, which no input should make it do.
    #[error("the bundled embedding model failed: {reason}; please report this")]
    Model {
        /// What happened.
        reason: String,
    },
}

impl EmbedError {
    /// Whether the configuration or the credentials must change before another attempt can succeed.
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Configuration { .. } | Self::Rejected { .. } | Self::WrongDimension { .. })
    }

    /// A failure of the bundled model.
    pub(super) fn model(reason: impl std::fmt::Display) -> Self {
        Self::Model { reason: reason.to_string() }
    }
}

impl From<crate::transport::Refused> for EmbedError {
    fn from(refused: crate::transport::Refused) -> Self {
        Self::Configuration { setting: refused.setting, problem: refused.problem }
    }
}
