//! What every command works with: the options that all of them take, the configuration, and the terminal.

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
};

use clap::ArgAction;

use crate::{
    config::{Config, ConfigOverrides},
    embedded_server::EmbeddedServer,
    failure::{Failure, Result},
    output::Terminal,
};

/// What every command takes.
#[derive(clap::Args)]
pub(crate) struct GlobalArgs {
    /// Configuration file [default: ./backstory.toml, then $XDG_CONFIG_HOME/backstory/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory of the stores [default: data_dir of the configuration, then $XDG_DATA_HOME/backstory]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Log more: -v what happens, -vv how, -vvv everything
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// What a command works with.
pub(crate) struct Session {
    global: GlobalArgs,
    config: OnceCell<Config>,
    /// Where it writes to.
    pub(crate) terminal: Terminal,
    /// What other commands may ask it.
    pub(crate) share: EmbeddedServer,
}

impl Session {
    /// A session of a command line; nothing is read yet.
    pub(crate) fn new(global: GlobalArgs) -> Self {
        Self { global, config: OnceCell::new(), terminal: Terminal::new(), share: EmbeddedServer::default() }
    }

    /// A session of those words of a command line, which need not be whole, that say where configuration and data are.
    pub(crate) fn from_partial_words(words: &[String]) -> Self {
        let value = |option: &str| {
            let mut found = words.iter().enumerate().filter_map(|(at, word)| Some((at, word.strip_prefix(option)?)));
            found.find_map(|(at, rest)| match rest {
                "" => words.get(at + 1).map(PathBuf::from),
                rest => rest.strip_prefix('=').map(PathBuf::from),
            })
        };
        Self::new(GlobalArgs { config: value("--config"), data_dir: value("--data-dir"), verbose: 0 })
    }

    /// The configuration, read when it is first needed.
    ///
    /// # Errors
    /// There is none, or it is wrong.
    pub(crate) fn config(&self) -> Result<&Config> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let choice =
            ConfigOverrides { config: self.global.config.as_deref(), data_dir: self.global.data_dir.as_deref() };
        let config = Config::load(choice)?;
        Ok(self.config.get_or_init(|| config))
    }

    /// Refuses a data directory that the command line names and that is not there: only what fills one creates it.
    ///
    /// # Errors
    /// It is not there, or the configuration is wrong.
    pub(crate) fn require_data_dir(&self) -> Result<()> {
        let data_dir = &self.config()?.data_dir;
        if self.global.data_dir.is_none() || !matches!(data_dir.try_exists(), Ok(false)) {
            return Ok(());
        }
        let failure = Failure::configuration(format!("there is no data directory at {}", data_dir.display()));
        let hint = "check --data-dir, or create the directory with 'backstory add PATH' or 'backstory sync'";
        Err(Failure { hint: Some(hint.to_owned()), ..failure })
    }

    /// The configuration file that was named, which need not exist.
    pub(crate) fn config_file(&self) -> Option<&Path> {
        self.global.config.as_deref()
    }

    /// The options that say where configuration and data are, as far as they were given.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let config = self.global.config.as_deref().map(|path| ("--config", path));
        let data_dir = self.global.data_dir.as_deref().map(|path| ("--data-dir", path));
        config.into_iter().chain(data_dir)
    }
}
