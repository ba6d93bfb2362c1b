//! The section `[repositories]`: which hosts may be cloned from, and which files are looked into.

use std::{collections::BTreeMap, net::IpAddr};

use backstory_engine::{
    model::id::is_project_path,
    settings::{FileRules, Globs, MAX_FILE_BYTES, RepositorySettings},
};
use globset::{GlobBuilder, GlobSetBuilder};
use toml::Spanned;

use super::{
    super::error::Source,
    keys::{RepositoriesToml, RepositoryToml},
};
use crate::failure::Result;

impl Source<'_> {
    pub(super) fn repositories(self, repositories: RepositoriesToml) -> Result<RepositorySettings> {
        let usual = RepositorySettings::default();
        let mut of_projects = BTreeMap::new();
        for RepositoryToml { path, include, exclude, max_file_bytes } in repositories.project {
            if !is_project_path(path.get_ref()) {
                let what = format!("path: '{}' is not the path of a project; write group/project", path.get_ref());
                return Err(self.error_at(path.span(), what));
            }
            let rules = self.file_rules(&include, &exclude, max_file_bytes)?;
            if of_projects.insert(path.get_ref().clone(), rules).is_some() {
                return Err(self.error_at(path.span(), format!("path: {} is named twice; keep one", path.get_ref())));
            }
        }
        let output_directories = match repositories.output_directories {
            Some(names) => names.into_iter().map(|name| self.directory_name(name)).collect::<Result<_>>()?,
            None => usual.output_directories.clone(),
        };
        Ok(RepositorySettings {
            allowed_hosts: repositories.allowed_hosts.into_iter().map(|host| self.host(host)).collect::<Result<_>>()?,
            files: self.file_rules(&repositories.include, &repositories.exclude, repositories.max_file_bytes)?,
            output_directories,
            of_projects,
            ..usual
        })
    }

    fn file_rules(
        self,
        include: &[Spanned<String>],
        exclude: &[Spanned<String>],
        max_bytes: Option<Spanned<u64>>,
    ) -> Result<FileRules> {
        if let Some(wrong) = max_bytes.as_ref().filter(|bytes| !(1..=MAX_FILE_BYTES).contains(bytes.get_ref())) {
            let what = format!("max_file_bytes is {}; it must be 1 to {MAX_FILE_BYTES}", wrong.get_ref());
            return Err(self.error_at(wrong.span(), what));
        }
        Ok(FileRules {
            include: self.globs("include", include)?,
            exclude: self.globs("exclude", exclude)?,
            max_bytes: max_bytes.map(Spanned::into_inner),
        })
    }

    fn directory_name(self, name: Spanned<String>) -> Result<String> {
        if name.get_ref().is_empty() || name.get_ref().contains('/') {
            let what = format!("output_directories: '{}' is not the name of a directory, like dist", name.get_ref());
            return Err(self.error_at(name.span(), what));
        }
        Ok(name.into_inner())
    }

    /// The name or address of a host, alone.
    fn host(self, host: Spanned<String>) -> Result<String> {
        let text = host.get_ref().as_str();
        let is_address = text.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_name =
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
        if is_address || is_name {
            return Ok(host.into_inner());
        }
        let what = format!(
            "allowed_hosts: '{text}' is not a host; write its name or address alone, like git.example.com, without a \
             scheme, a port or a path"
        );
        Err(self.error_at(host.span(), what))
    }

    pub(super) fn globs(self, key: &str, globs: &[Spanned<String>]) -> Result<Globs> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            let built = GlobBuilder::new(glob.get_ref()).literal_separator(true).build();
            set.add(built.map_err(|error| self.error_at(glob.span(), format!("{key}: {}", error.kind())))?);
        }
        let set = set.build().map_err(|error| self.file_error(format!("{key}: {}", error.kind())))?;
        Ok(Globs::new(set, globs.iter().map(|glob| glob.get_ref().clone()).collect()))
    }
}
