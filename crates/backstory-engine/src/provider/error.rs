//! Why a model gave no answer.

use std::fmt;

/// Why a model gave no answer, and what to do about it. Displayed, it is both in one sentence.
#[derive(Clone, Debug)]
pub enum ProviderError {
    /// The settings contradict themselves or ask for what does not exist.
    Configuration {
        /// Name of the setting in the configuration file.
        setting: String,
        /// What is wrong with it and what would be right.
        problem: String,
    },
    /// The provider does not answer, or says that it cannot answer now.
    Unavailable {
        /// Who, and where.
        provider: String,
        /// What happened.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The provider answers that it will not do this: no such model, wrong key, text it does not take.
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
    Malformed {
        /// Who, and where.
        provider: String,
        /// What is wrong with the answer.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The model's vectors have another length than they should have.
    WrongDimension {
        /// Name of the model.
        model: String,
        /// What was configured or is known of the model.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// The bundled model failed, which no input should make it do.
    Bundled {
        /// What happened.
        reason: String,
    },
    /// The tokens of the day are used up.
    Budget {
        /// How many there are.
        limit: u64,
    },
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem())?;
        match self.remedy() {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ProviderError {}

impl ProviderError {
    /// What is wrong.
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::Configuration { setting, problem } => format!("{setting} {problem}"),
            Self::Unavailable { provider, reason, .. } => format!("{provider} is unavailable: {reason}"),
            Self::Rejected { provider, task, status, reason, .. } => {
                format!("{provider} refuses to {task} (HTTP {status}): {reason}")
            }
            Self::Malformed { provider, reason, .. } => {
                format!("{provider} gave an answer that cannot be used: {reason}")
            }
            Self::WrongDimension { model, expected, got } => {
                format!("{model} gives vectors of {got} dimensions, but {expected} were expected")
            }
            Self::Bundled { reason } => format!("the bundled embedding model failed: {reason}"),
            Self::Budget { limit } => format!("the language model's {limit} tokens of this day are used up"),
        }
    }

    /// What to do about it, where the problem does not say it.
    pub(crate) fn remedy(&self) -> Option<String> {
        match self {
            Self::Configuration { .. } => None,
            Self::Unavailable { remedy, .. } | Self::Rejected { remedy, .. } | Self::Malformed { remedy, .. } => {
                Some(remedy.clone())
            }
            Self::WrongDimension { got, .. } => Some(format!("set embedding.dimension = {got}, or use another model")),
            Self::Bundled { .. } => Some("please report this".to_owned()),
            Self::Budget { .. } => Some("raise llm.daily_tokens, or wait for midnight UTC".to_owned()),
        }
    }

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
