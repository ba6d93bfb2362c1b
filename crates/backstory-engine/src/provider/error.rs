//! Why a model gave no answer.

use std::fmt;

/// Why a model gave no answer, and what to do about it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProviderError {
    /// The settings contradict themselves or ask for what does not exist.
    #[error("{setting} {problem}")]
    Configuration {
        /// Name of the setting in the configuration file.
        setting: String,
        /// What is wrong with it and what would be right.
        problem: String,
    },
    /// The provider does not answer, or says that it cannot answer now.
    #[error("{provider} is unavailable: {reason}; {remedy}")]
    Unavailable {
        /// Who, and where.
        provider: String,
        /// What happened.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The provider answers that it will not do this: no such model, wrong key, text it does not take.
    #[error("{provider} refuses to {task} (HTTP {status}): {reason}; {remedy}")]
    Rejected {
        /// Who, and where.
        provider: String,
        /// What it was asked to do.
        task: &'static str,
        /// HTTP status.
        status: u16,
        /// The provider's own words.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The provider's answer is not what its interface promises.
    #[error("{provider} gave an answer that cannot be used: {reason}; {remedy}")]
    Malformed {
        /// Who, and where.
        provider: String,
        /// What is wrong with the answer.
        reason: String,
        /// What to do.
        remedy: String,
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
    Bundled {
        /// What happened.
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

impl ProviderError {
    /// Whether the configuration or the credentials must change before another attempt can succeed.
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Configuration { .. } | Self::Rejected { .. } | Self::WrongDimension { .. })
    }

    /// A setting that cannot be used.
    pub(crate) fn setting(setting: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Configuration { setting: setting.into(), problem: problem.into() }
    }

    /// A failure of the bundled model.
    pub(crate) fn bundled(reason: impl fmt::Display) -> Self {
        Self::Bundled { reason: reason.to_string() }
    }
}
